//! Requests of waves to the host (ROCm's device library, `__ockl_hostcall_internal`).
//!
//! A buffer has packets, at least one for each resident wave. A wave takes a packet from the stack
//! of free ones and writes a request of 8 words for each active lane. It pushes the packet on the
//! stack of ready ones, and waits until the host clears the packet's ready flag. Then the first two
//! words of each lane are the answer.
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
//! The engine calls [`Hostcalls::poll`] between the turns of waves. The buffer's contents may be
//! forged: the host accesses only guest memory, and always terminates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use wavemill_machine::MemoryMap;

use super::{Sink, printf};
use crate::Result;
use crate::buffer::Buffer;
use crate::guest::DeviceInner;

/// Offset of the signal that is rung; the buffer's own words are before it.
const DOORBELL: u64 = 64;
const HEADERS: u64 = 128;
const HEADER: u64 = 24;
const LANE: u64 = 64;
const PAYLOAD: u64 = 64 * LANE;
const READY_STACK: u64 = 32;

/// Most bytes of all unfinished messages together.
const MAX_PENDING: usize = 256 << 20;
/// Bytes that a message costs in addition to its contents.
const MESSAGE: usize = 64;

/// Services that waves request.
mod service {
    /// Call a function of the host program.
    pub(super) const CALL: u32 = 1;
    /// Print, in several messages if necessary.
    pub(super) const PRINT: u32 = 2;
    /// Allocate or free device memory.
    pub(super) const MEMORY: u32 = 3;
    /// Report of an address sanitizer.
    pub(super) const SANITIZER: u32 = 4;
}

/// Partly received messages.
type Pending = BTreeMap<u64, Vec<u8>>;

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    /// Bytes in them.
    bytes: usize,
    /// Number of the next message.
    next: u64,
    /// Notes that have been reported already.
    told: BTreeSet<String>,
}

/// The buffer of a launch, and the state of its requests.
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

/// The little-endian word at an offset of bytes that are long enough.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

impl<'a> Hostcalls<'a> {
    /// A buffer for this many waves at once.
    pub(crate) fn new(device: &'a Arc<DeviceInner>, waves: u64, sink: Sink<'a>) -> Result<Self> {
        let packets = waves.max(2);
        let mask = packets.next_power_of_two() - 1;
        let payloads = (HEADERS + HEADER * packets).next_multiple_of(LANE);
        let buffer = Buffer::internal(device, "hostcall buffer", payloads + PAYLOAD * packets, 4096)?;
        let base = buffer.address();
        // The free stack: each packet points to the one before it. Pointers must not be 0, so the
        // pointer to packet 0 has a reuse count of 1.
        let pointer = |n: u64| if n == 0 { mask + 1 } else { n };
        let headers: Vec<u64> =
            (0..packets).flat_map(|n| [if n == 0 { 0 } else { pointer(n - 1) }, 0, 0]).collect();
        buffer.write(HEADERS / 8, &headers)?;
        let words = [base + HEADERS, base + payloads, base + DOORBELL, pointer(packets - 1), 0, mask];
        buffer.write(0, &words)?;
        // A signal with a value but no mailbox, so that no interrupt is raised (`amd_signal_t`).
        buffer.write_bytes(DOORBELL, &1u64.to_le_bytes())?;
        Ok(Hostcalls {
            packets,
            mask,
            payloads: base + payloads,
            device,
            sink,
            buffer,
            state: Mutex::default(),
        })
    }

    /// Guest address of the buffer.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Answers the pending requests; returns whether there were any.
    pub(crate) fn poll(&self, map: &MemoryMap) -> bool {
        let top = self.buffer.address() + READY_STACK;
        let mut waiting = [0; 8];
        if !map.read(top, &mut waiting) || waiting == [0; 8] {
            return false;
        }
        let mut state = self.lock();
        let Some(mut pointer @ 1..) = map.swap_u64(top, 0) else { return false };
        // A cyclic stack stops after the number of packets.
        for _ in 0..self.packets {
            let number = pointer & self.mask;
            if number >= self.packets {
                self.tell(
                    &mut state,
                    format!("hostcall packet {number}, but there are only {}", self.packets),
                );
                return true;
            }
            pointer = self.packet(map, &mut state, number);
            if pointer == 0 {
                return true;
            }
        }
        self.tell(&mut state, "an endless list of hostcall packets".to_owned());
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
            // In the same allocation as the request.
            let _ = map.write(slot, &answer);
        }
        // The wave continues; the packet is no longer ours. A thread that sees the flag sees all
        // earlier writes.
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
                self.tell(
                    state,
                    format!("a call of the host's function at {first:#x}, but there is no host program"),
                );
                [0; 2]
            }
            service::SANITIZER => {
                self.tell(state, "an address sanitizer report, which is not supported".to_owned());
                [0; 2]
            }
            other => {
                self.tell(state, format!("hostcall service {other}, which is unknown"));
                [0; 2]
            }
        }
    }

    /// Reports an unsupported request, once.
    fn tell(&self, state: &mut State, what: String) {
        // A kernel that makes up requests gets a short list.
        if state.told.len() < 64 && state.told.insert(what.clone()) {
            self.sink.note(format_args!("the kernel requested {what}"));
        }
    }

    /// Receives a part of a message. Its descriptor has flags for the first part (bit 0) and the
    /// last (bit 1), the number of words that follow (bits 5 to 7), and the number of the message
    /// (from bit 8 on), which the host chooses.
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
            self.tell(state, "the rest of a printf message that has no start".to_owned());
            return u64::MAX;
        };
        let words = words.get(..length).unwrap_or_default();
        let cost = words.len() + usize::from(begin) * MESSAGE;
        if cost <= room {
            message.extend_from_slice(words);
            state.bytes += cost;
        }
        if cost > room {
            // A message that has just begun has not been counted.
            let counted = state.pending.remove(&number).filter(|_| !begin);
            state.bytes -= counted.map_or(0, |m| m.len() + MESSAGE);
            self.tell(
                state,
                format!("more than {MAX_PENDING} bytes of unfinished printf messages, which are lost"),
            );
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
                self.tell(state, "printf in an unknown form".to_owned());
                u64::MAX
            }
        }
    }

    /// Frees the memory at an address, or allocates memory; returns its address, or 0.
    fn memory(&self, state: &mut State, address: u64, size: u64) -> u64 {
        let mut heap = self.device.heap.lock().unwrap_or_else(|e| e.into_inner());
        let Some(heap) = heap.as_mut() else { return 0 };
        if address == 0 {
            let found = heap.allocate(size);
            if found.is_none() {
                let have = heap.size();
                self.tell(
                    state,
                    format!(
                        "more memory than is free in the device heap of {have} bytes; malloc returned a null pointer"
                    ),
                );
            }
            return found.unwrap_or(0);
        }
        if !heap.free(address) {
            self.tell(
                state,
                format!("to free {address:#x}, which malloc did not return or which was already freed"),
            );
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Heap, Output};
    use super::*;
    use crate::{Device, TargetId};

    fn device() -> Device {
        Device::new(&TargetId::parse("gfx942").unwrap()).unwrap()
    }

    /// Acts as device code does.
    struct Wave<'a> {
        calls: &'a Hostcalls<'a>,
        map: Arc<MemoryMap>,
    }

    impl Wave<'_> {
        fn get(&self, address: u64) -> u64 {
            let mut bytes = [0; 8];
            assert!(self.map.read(address, &mut bytes));
            u64::from_le_bytes(bytes)
        }

        fn set(&self, address: u64, value: u64) {
            assert!(self.map.write(address, &value.to_le_bytes()));
        }

        /// Takes a packet off the free stack and pushes it as a request of these lanes. Returns
        /// header and payload.
        fn push(&self, service: u32, lanes: &[(u64, [u64; 8])]) -> (u64, u64) {
            let buffer = self.calls.address();
            let [headers, payloads, top, mask] = [0, 8, 24, 40].map(|at| self.get(buffer + at));
            assert_ne!(top, 0, "no free packet is left");
            let (header, payload) = (headers + HEADER * (top & mask), payloads + PAYLOAD * (top & mask));
            self.set(buffer + 24, self.get(header));
            self.set(header, self.get(buffer + READY_STACK));
            self.set(header + 8, lanes.iter().map(|(lane, _)| 1 << lane).sum());
            self.set(header + 16, u64::from(service) | 1 << 32);
            for (lane, request) in lanes {
                for (n, word) in request.iter().enumerate() {
                    self.set(payload + LANE * lane + 8 * n as u64, *word);
                }
            }
            self.set(buffer + READY_STACK, top);
            (header, payload)
        }

        /// Sends a request, and returns the answers.
        fn ask(&self, service: u32, lanes: &[(u64, [u64; 8])]) -> Vec<[u64; 2]> {
            let (header, payload) = self.push(service, lanes);
            assert!(self.calls.poll(&self.map));
            assert_eq!(self.get(header + 16), u64::from(service), "the ready flag is cleared");
            // The packet returns to the free stack with its reuse count incremented.
            let buffer = self.calls.address();
            let (number, mask) = ((header - self.get(buffer)) / HEADER, self.get(buffer + 40));
            self.set(header, self.get(buffer + 24));
            self.set(buffer + 24, number + mask + 1);
            lanes.iter().map(|(lane, _)| [0, 8].map(|at| self.get(payload + LANE * lane + at))).collect()
        }
    }

    /// Runs with a wave on a new buffer; returns the output.
    fn with_wave(heap: Option<u64>, test: impl FnOnce(&Wave<'_>)) -> Vec<String> {
        let heard = Mutex::new(Vec::new());
        let listen = |output: Output<'_>| {
            heard.lock().unwrap().push(match output {
                Output::Stdout(text) => format!("out {}", String::from_utf8_lossy(text)),
                Output::Stderr(text) => format!("err {}", String::from_utf8_lossy(text)),
                Output::Note(text) => format!("note {text}"),
            });
        };
        let device = device();
        if let Some(size) = heap {
            *device.0.heap.lock().unwrap() = Some(Heap::new(&device.0.memory, size).unwrap());
        }
        let calls = Hostcalls::new(&device.0, 3, Sink(Some(&listen))).unwrap();
        let map = device.0.memory.snapshot();
        test(&Wave { calls: &calls, map });
        heard.into_inner().unwrap()
    }

    fn text(text: &[u8; 8]) -> u64 {
        u64::from_le_bytes(*text)
    }

    #[test]
    fn messages_of_several_parts_are_put_together() {
        let heard = with_wave(None, |wave| {
            assert!(!wave.calls.poll(&wave.map), "nobody has asked");
            // Two lanes begin, with one word each: the control word.
            let begin = 1 | 1 << 5;
            let ids = wave.ask(2, &[(0, [begin, 0, 0, 0, 0, 0, 0, 0]), (63, [begin, 1, 0, 0, 0, 0, 0, 0])]);
            let ids = [ids[0][0] >> 8, ids[1][0] >> 8];
            assert_ne!(ids[0], ids[1]);
            let more = |id: u64, words: u64, end: u64| id << 8 | words << 5 | end << 1;
            // The second one ends first.
            let last = wave.ask(2, &[(63, [more(ids[1], 2, 1), text(b"%d err\n\0"), 7, 9, 9, 9, 9, 9])]);
            assert_eq!(last[0][0], 6);
            wave.ask(2, &[(0, [more(ids[0], 1, 0), text(b"%d+%d\n\0\0"), 0, 0, 0, 0, 0, 0])]);
            let last = wave.ask(2, &[(0, [more(ids[0], 2, 1), 1, 2, 0, 0, 0, 0, 0])]);
            assert_eq!(last[0][0], 4);
            // The message no longer exists.
            assert_eq!(wave.ask(2, &[(0, [more(ids[0], 2, 1), 1, 2, 0, 0, 0, 0, 0])])[0][0], u64::MAX);
        });
        assert_eq!(
            heard,
            [
                "err 7 err\n",
                "out 1+2\n",
                "note the kernel requested the rest of a printf message that has no start"
            ]
        );
    }

    #[test]
    fn memory_is_handed_out() {
        let heard = with_wave(Some(1 << 20), |wave| {
            let ask = |address, size| wave.ask(3, &[(5, [address, size, 0, 0, 0, 0, 0, 0])])[0][0];
            let a = ask(0, 5000);
            assert!(a > 0 && a % 4096 == 0 && ask(0, 1) >= a + 5000);
            assert_eq!(ask(a, 0), 0);
            assert_eq!(ask(0, 4096), a);
            assert_eq!(ask(0, u64::MAX), 0);
            assert_eq!(ask(1234, 0), 0);
        });
        assert_eq!(
            heard,
            [
                "note the kernel requested more memory than is free in the device heap of 1048576 bytes; malloc returned a null pointer",
                "note the kernel requested to free 0x4d2, which malloc did not return or which was already freed",
            ]
        );
    }

    #[test]
    fn what_is_not_served_is_told_once() {
        let heard = with_wave(None, |wave| {
            for _ in 0..3 {
                assert_eq!(wave.ask(1, &[(0, [0x1000, 1, 2, 3, 4, 5, 6, 7])]), [[0; 2]]);
                assert_eq!(wave.ask(4, &[(0, [1; 8])]), [[0; 2]]);
                assert_eq!(wave.ask(77, &[(0, [1; 8]), (1, [1; 8])]), [[0; 2]; 2]);
                // There is no heap.
                assert_eq!(wave.ask(3, &[(0, [0, 64, 0, 0, 0, 0, 0, 0])])[0][0], 0);
            }
        });
        assert_eq!(
            heard,
            [
                "note the kernel requested a call of the host's function at 0x1000, but there is no host program",
                "note the kernel requested an address sanitizer report, which is not supported",
                "note the kernel requested hostcall service 77, which is unknown",
            ]
        );
    }

    #[test]
    fn several_packets_wait_on_the_stack() {
        let heard = with_wave(None, |wave| {
            let packets = [1, 2, 3].map(|n| wave.push(77 + n, &[]).0);
            assert!(wave.calls.poll(&wave.map));
            for (n, header) in packets.into_iter().enumerate() {
                assert_eq!(wave.get(header + 16), 78 + n as u64);
            }
            assert!(!wave.calls.poll(&wave.map));
        });
        assert_eq!(heard, [""; 0]);
    }

    #[test]
    fn forged_stacks_end() {
        let heard = with_wave(None, |wave| {
            // A packet that follows itself, and an invalid one.
            let (header, _) = wave.push(77, &[]);
            wave.set(header, wave.get(wave.calls.address() + READY_STACK));
            assert!(wave.calls.poll(&wave.map));
            wave.set(wave.calls.address() + READY_STACK, 3);
            assert!(wave.calls.poll(&wave.map));
        });
        assert_eq!(
            heard,
            [
                "note the kernel requested an endless list of hostcall packets",
                "note the kernel requested hostcall packet 3, but there are only 3",
            ]
        );
    }

    #[test]
    fn forged_buffers_do_no_harm() {
        with_wave(Some(1 << 20), |wave| {
            let size = wave.calls.buffer.size();
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            for round in 0..2000 {
                for at in (READY_STACK..size.min(512)).step_by(8) {
                    let small = random() % 8;
                    wave.set(wave.calls.address() + at, if round % 2 == 0 { random() } else { small });
                }
                // Existing services, for all lanes, with descriptors of every kind.
                for packet in 0..3 {
                    let header = wave.calls.address() + HEADERS + HEADER * packet;
                    wave.set(header + 8, random());
                    wave.set(header + 16, (random() % 5) | (1 << 32));
                    for lane in 0..64 {
                        let word = if round % 3 == 0 { random() } else { random() % 4096 };
                        wave.set(wave.calls.payloads + PAYLOAD * packet + LANE * lane, word);
                    }
                }
                wave.calls.poll(&wave.map);
            }
        });
    }
}
