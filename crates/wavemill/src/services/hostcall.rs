//! Requests of waves to the host (ROCm's device library, `__ockl_hostcall_internal`).
//!
//! A buffer has packets, at least one for each resident wave. A wave takes a packet from the stack of free ones, writes a
//! request of 8 words for each active lane, pushes the packet on the stack of ready ones, and waits until the host has
//! cleared the packet's ready flag; then the first two words of each lane are the answer.
//!
//! | offset | | |
//! |---|---|---|
//! | 0 | u64 | address of the headers |
//! | 8 | u64 | address of the payloads |
//! | 16 | u64 | doorbell, a signal |
//! | 24 | u64 | top of the free stack |
//! | 32 | u64 | top of the ready stack |
//! | 40 | u64 | mask of the number of a packet in a pointer to it; the bits above count reuses |
//!
//! A header is the next packet of its stack (u64), the mask of active lanes (u64), the service (u32) and the control
//! word (u32), whose lowest bit is the ready flag. A payload is 64 lanes of 8 words.
//!
//! The engine asks [`Hostcalls::poll`] between the turns of waves. All that is in the buffer may be forged: whatever it
//! says, only guest memory is touched, and not for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use wavemill_engine::MemoryMap;

use super::{Sink, printf};
use crate::Result;
use crate::buffer::Buffer;
use crate::device::DeviceInner;

/// The signal that is rung; the buffer's own words are before it.
const DOORBELL: u64 = 64;
const HEADERS: u64 = 128;
const HEADER: u64 = 24;
const LANE: u64 = 64;
const PAYLOAD: u64 = 64 * LANE;
const READY_STACK: u64 = 32;

/// Bytes that unfinished messages may have together.
const MAX_PENDING: usize = 256 << 20;
/// What a message costs beside its bytes.
const MESSAGE: usize = 64;

/// What waves ask for.
mod service {
    /// Call a function of the host program.
    pub(super) const CALL: u32 = 1;
    /// Print, in several messages if need be.
    pub(super) const PRINT: u32 = 2;
    /// Allocate or free device memory.
    pub(super) const MEMORY: u32 = 3;
    /// Report of an address sanitizer.
    pub(super) const SANITIZER: u32 = 4;
}

/// A message of which a part has arrived.
type Pending = BTreeMap<u64, Vec<u8>>;

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    /// Bytes in them.
    bytes: usize,
    /// Number of the next message.
    next: u64,
    /// What has been told already.
    told: BTreeSet<String>,
}

/// The buffer of a launch, and what is known of its requests.
#[derive(Debug)]
pub(crate) struct Hostcalls<'a> {
    buffer: Buffer,
    packets: u64,
    mask: u64,
    payloads: u64,
    device: &'a Arc<DeviceInner>,
    sink: Sink<'a>,
    state: Mutex<State>,
}

/// A little-endian word out of bytes that are long enough.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

impl<'a> Hostcalls<'a> {
    /// A buffer for so many waves at once.
    pub(crate) fn new(device: &'a Arc<DeviceInner>, waves: u64, sink: Sink<'a>) -> Result<Self> {
        let packets = waves.max(2);
        let mask = packets.next_power_of_two() - 1;
        let payloads = (HEADERS + HEADER * packets).next_multiple_of(LANE);
        let buffer = Buffer::internal(device, "hostcall buffer", payloads + PAYLOAD * packets, 4096)?;
        let base = buffer.address();
        // The free stack: each packet points to the one before it. Pointers must not be 0, so that to packet 0 has a
        // reuse count of 1.
        let pointer = |n: u64| if n == 0 { mask + 1 } else { n };
        for n in 1..packets {
            buffer.write_bytes(HEADERS + HEADER * n, &pointer(n - 1).to_le_bytes())?;
        }
        let words =
            [base + HEADERS, base + payloads, base + DOORBELL, pointer(packets - 1), 0, mask];
        buffer.write(0, &words)?;
        // A signal of a kind that has a value; without a mailbox, nobody is interrupted (`amd_signal_t`).
        buffer.write_bytes(DOORBELL, &1u64.to_le_bytes())?;
        Ok(Hostcalls { packets, mask, payloads: base + payloads, device, sink, buffer, state: Mutex::default() })
    }

    /// Guest address of the buffer.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Answers the requests that are there; whether there were some.
    pub(crate) fn poll(&self, map: &MemoryMap) -> bool {
        let top = self.buffer.address() + READY_STACK;
        let mut waiting = [0; 8];
        if !map.read(top, &mut waiting) || waiting == [0; 8] {
            return false;
        }
        let mut state = self.lock();
        let Some(mut pointer @ 1..) = map.swap_u64(top, 0) else { return false };
        // A stack that runs in circles ends where it must have ended.
        for _ in 0..self.packets {
            let number = pointer & self.mask;
            if number >= self.packets {
                self.tell(&mut state, format!("a hostcall packet {number} of {} that there are", self.packets));
                return true;
            }
            pointer = self.packet(map, &mut state, number);
            if pointer == 0 {
                return true;
            }
        }
        self.tell(&mut state, "a stack of hostcall packets that never ends".to_owned());
        true
    }

    /// Answers one packet. Returns the pointer to the next one.
    fn packet(&self, map: &MemoryMap, state: &mut State, number: u64) -> u64 {
        let address = self.buffer.address() + HEADERS + HEADER * number;
        let mut header = [0; HEADER as usize];
        if !map.read(address, &mut header) {
            return 0;
        }
        let (next, active, control) = (word(&header, 0), word(&header, 8), word(&header, 16));
        let service = control as u32;
        for lane in (0..64).filter(|lane| active >> lane & 1 == 1) {
            let slot = self.payloads + PAYLOAD * number + LANE * lane;
            let mut request = [0; LANE as usize];
            if !map.read(slot, &mut request) {
                continue;
            }
            let [first, second] = self.answer(state, service, &request);
            let mut answer = [0; 16];
            answer[..8].copy_from_slice(&first.to_le_bytes());
            answer[8..].copy_from_slice(&second.to_le_bytes());
            // In the same allocation as what was read.
            let _ = map.write(slot, &answer);
        }
        // The wave goes on; the packet is no longer ours. Everything before this is seen by who sees the flag.
        let _ = map.swap_u64(address + 16, control & !(1 << 32));
        next
    }

    /// The first two words of the answer to a lane.
    fn answer(&self, state: &mut State, service: u32, request: &[u8; LANE as usize]) -> [u64; 2] {
        let [first, second] = [0, 8].map(|at| word(request, at));
        match service {
            service::PRINT => [self.print(state, first, &request[8..]), second],
            service::MEMORY => [self.memory(state, first, second), second],
            service::CALL => {
                self.tell(state, format!("a call of the host's function at {first:#x}: there is no host program"));
                [0; 2]
            }
            service::SANITIZER => {
                self.tell(state, "a report of an address sanitizer".to_owned());
                [0; 2]
            }
            other => {
                self.tell(state, format!("hostcall service {other}, which is not known"));
                [0; 2]
            }
        }
    }

    /// Notes that something was asked for that there is not, once.
    fn tell(&self, state: &mut State, what: String) {
        // A kernel that makes up requests is not worth a list of all of them.
        if state.told.len() < 64 && state.told.insert(what.clone()) {
            self.sink.note(format_args!("the kernel asked for {what}"));
        }
    }

    /// A part of a message. Its descriptor has flags for the first part (bit 0) and the last (bit 1), the number of words
    /// that follow (bits 5 to 7), and the number of the message (from bit 8 on), which the host chooses.
    fn print(&self, state: &mut State, descriptor: u64, words: &[u8]) -> u64 {
        let (begin, end) = (descriptor & 1 == 1, descriptor & 2 == 2);
        let length = (descriptor >> 5 & 7) as usize * 8;
        let number = match begin {
            true => {
                state.next = (state.next + 1) & ((1 << 56) - 1);
                state.pending.insert(state.next, Vec::new());
                state.next
            }
            false => descriptor >> 8,
        };
        let room = MAX_PENDING - state.bytes;
        let Some(message) = state.pending.get_mut(&number) else {
            self.tell(state, "printf with a message that it has not begun".to_owned());
            return u64::MAX;
        };
        let words = words.get(..length).unwrap_or_default();
        let cost = words.len() + usize::from(begin) * MESSAGE;
        if cost <= room {
            message.extend_from_slice(words);
            state.bytes += cost;
        }
        if cost > room {
            // A message that just began has not been counted.
            let counted = state.pending.remove(&number).filter(|_| !begin);
            state.bytes -= counted.map_or(0, |m| m.len() + MESSAGE);
            self.tell(state, format!("more than {MAX_PENDING} bytes of unfinished printf messages; they are lost"));
            return u64::MAX;
        }
        if !end {
            return number << 8 | descriptor & 0xfe;
        }
        let message = state.pending.remove(&number).unwrap_or_default();
        state.bytes = state.bytes.saturating_sub(message.len() + MESSAGE);
        // The first word is the control word, whose lowest bit asks for the standard error.
        match message.split_at_checked(8) {
            Some((control, rest)) if word(control, 0) <= 1 => {
                printf::message(&self.sink, word(control, 0) == 1, rest) as u64
            }
            _ => {
                self.tell(state, "printf in a form that is not known".to_owned());
                u64::MAX
            }
        }
    }

    /// Frees the memory at an address, or allocates some; returns its address, or 0.
    fn memory(&self, state: &mut State, address: u64, size: u64) -> u64 {
        let mut heap = self.device.heap.lock().unwrap_or_else(|e| e.into_inner());
        let Some(heap) = heap.as_mut() else { return 0 };
        if address == 0 {
            let found = heap.allocate(size);
            if found.is_none() {
                let have = heap.size();
                self.tell(
                    state,
                    format!("memory that the device heap of {have} bytes has not; malloc returned a null pointer"),
                );
            }
            return found.unwrap_or(0);
        }
        if !heap.free(address) {
            self.tell(state, format!("freeing {address:#x}, which malloc did not return or which was freed before"));
        }
        0
    }
}
