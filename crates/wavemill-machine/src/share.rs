//! The global data share and the synchronization state of a device, which all waves share.

use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use wavemill_ir::SyncOp;

use crate::memory::HostBlock;
use crate::raw;

/// Bytes of the global data share.
pub const GDS_BYTES: u32 = 64 << 10;
/// Resources for synchronization: six bits name one (Vega ISA 12.13).
pub const SYNC_RESOURCES: u32 = 64;
/// Orders of turns, the "packers" of the manual (Vega ISA 12.13).
pub const ORDERS: usize = 4;
/// The counter of a resource has 12 bits. *Modelled*: no manual gives its width.
const COUNTER: u32 = 0xfff;
/// A turn has 11 bits (AMDGPUUsage, "Work-Group Info": `ordered_append_term[10:0]`).
pub const TURNS: u32 = 1 << 11;

/// State that belongs to a device and outlives its launches. It is all zero at first.
#[derive(Debug)]
pub struct Share {
    /// The global data share, once it has been used.
    data: OnceLock<HostBlock>,
    resources: Mutex<[Resource; SYNC_RESOURCES as usize]>,
    /// Number whose turn it is, in each order.
    turns: [AtomicU32; ORDERS],
    /// Number of times that waits may have ended.
    releases: AtomicU64,
}

impl Default for Share {
    fn default() -> Self {
        let resources = Mutex::new(std::array::from_fn(|_| Resource::default()));
        Share { data: OnceLock::new(), resources, turns: Default::default(), releases: AtomicU64::new(0) }
    }
}

/// A counter with a queue.
#[derive(Debug, Default)]
struct Resource {
    counter: u32,
    /// Waves that wait, in the order of their arrival. Waves that no longer exist drop out.
    queue: VecDeque<(SyncOp, Weak<AtomicBool>)>,
    /// Number of waves that it has let continue.
    released: u64,
}

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SyncWait {
    /// Other waves at a barrier.
    Barrier {
        /// The resource, 0..64.
        resource: u32,
        /// Waves that still have to arrive.
        missing: u32,
    },
    /// A counter that is 0.
    Counter {
        /// The resource, 0..64.
        resource: u32,
    },
    /// Its turn.
    Turn {
        /// The order, 0..4.
        order: u32,
        /// Its number.
        number: u32,
        /// The number whose turn it is.
        turn: u32,
    },
}

/// A wait that has begun.
#[derive(Debug)]
pub struct Hold {
    share: Weak<Share>,
    kind: HoldKind,
}

#[derive(Debug)]
enum HoldKind {
    /// In the queue of a resource; set when the wave may continue.
    Resource {
        op: SyncOp,
        resource: u32,
        datum: u32,
        released: Arc<AtomicBool>,
    },
    Turn {
        order: u32,
        number: u32,
    },
}

impl Hold {
    /// Whether the wave may continue.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match &self.kind {
            HoldKind::Resource { released, .. } => released.load(Acquire),
            HoldKind::Turn { order, number } => {
                self.share.upgrade().is_none_or(|share| share.turn(*order) == *number)
            }
        }
    }

    /// What the wave waits for.
    #[must_use]
    pub fn wait(&self) -> SyncWait {
        let share = self.share.upgrade();
        match self.kind {
            HoldKind::Resource { op: SyncOp::Barrier, resource, .. } => {
                let counter = share.map_or(0, |share| share.resources()[resource as usize].counter);
                SyncWait::Barrier { resource, missing: counter + 1 }
            }
            HoldKind::Resource { op: SyncOp::Gather, resource, datum, .. } => {
                let gathered = share.map_or(0, |share| share.resources()[resource as usize].gathered());
                SyncWait::Barrier { resource, missing: datum.saturating_sub(gathered) }
            }
            HoldKind::Resource { resource, .. } => SyncWait::Counter { resource },
            HoldKind::Turn { order, number } => {
                let turn = share.map_or(number, |share| share.turn(order));
                SyncWait::Turn { order, number, turn }
            }
        }
    }
}

impl Resource {
    /// Lets waves continue that wait in an operation, in the order of their arrival, as long as
    /// `may` allows it.
    fn release(&mut self, op: SyncOp, mut may: impl FnMut(&mut u32) -> bool) {
        let (counter, count) = (&mut self.counter, &mut self.released);
        self.queue.retain(|(waits, wave)| {
            let Some(released) = wave.upgrade() else { return false };
            let leaves = *waits == op && may(counter);
            if leaves {
                released.store(true, Release);
                *count += 1;
            }
            !leaves
        });
    }

    /// Waves that wait until the counter is not 0 continue as long as it is not.
    fn serve(&mut self) {
        self.release(SyncOp::Lower, |counter| {
            let positive = *counter > 0;
            *counter -= u32::from(positive);
            positive
        });
    }

    /// Whether waves wait until the counter is not 0.
    fn has_waiting(&self) -> bool {
        self.queue.iter().any(|(op, wave)| *op == SyncOp::Lower && wave.strong_count() > 0)
    }

    /// Waves that wait for others there.
    fn gathered(&self) -> u32 {
        let waits =
            |(op, wave): &&(SyncOp, Weak<AtomicBool>)| *op == SyncOp::Gather && wave.strong_count() > 0;
        self.queue.iter().filter(waits).count() as u32
    }

    /// Performs an operation; returns whether the wave must wait (Vega ISA 12.13).
    fn perform(&mut self, op: SyncOp, datum: u32) -> bool {
        match op {
            SyncOp::Init => self.counter = datum & COUNTER,
            SyncOp::Raise | SyncOp::RaiseBy => {
                let by = if op == SyncOp::Raise { 1 } else { datum };
                self.counter = self.counter.wrapping_add(by) & COUNTER;
                self.serve();
            }
            SyncOp::ReleaseAll => {
                if self.has_waiting() {
                    self.release(SyncOp::Lower, |_| true);
                    self.counter = 0;
                }
            }
            SyncOp::Lower => {
                if self.counter == 0 || self.has_waiting() {
                    return true;
                }
                self.counter -= 1;
            }
            SyncOp::Barrier => {
                if self.counter > 0 {
                    self.counter -= 1;
                    return true;
                }
                self.counter = datum & COUNTER;
                self.release(SyncOp::Barrier, |_| true);
            }
            SyncOp::Gather => {
                if self.gathered() + 1 < datum {
                    return true;
                }
                self.release(SyncOp::Gather, |_| true);
            }
            SyncOp::Turn | SyncOp::Pass => {}
        }
        false
    }
}

impl Share {
    fn resources(&self) -> MutexGuard<'_, [Resource; SYNC_RESOURCES as usize]> {
        self.resources.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The number whose turn it is in an order.
    fn turn(&self, order: u32) -> u32 {
        self.turns[order as usize % ORDERS].load(Acquire)
    }

    /// Begins a launch: it is the turn of number 0 in all orders.
    pub(crate) fn begin(&self) {
        for turn in &self.turns {
            turn.store(0, Relaxed);
        }
        self.has_released();
    }

    /// A number that changes after a wait may have ended. A wait that was not over after the number
    /// was read goes on as long as the number stays the same.
    pub(crate) fn releases(&self) -> u64 {
        self.releases.load(Acquire)
    }

    /// Records that waits may have ended, behind the change that ends them.
    fn has_released(&self) {
        self.releases.fetch_add(1, Release);
    }

    /// Sets the counter of a resource, as an instruction of a kernel does ([`SyncOp::Init`]).
    pub fn init(&self, resource: u32, value: u32) {
        self.resources()[(resource % SYNC_RESOURCES) as usize].perform(SyncOp::Init, value);
    }

    /// Performs an operation of a wave: `source` and `constant` name the resource or the turn, as
    /// [`Op::Sync`](wavemill_ir::Op::Sync) says. Returns whether the wave continues. Otherwise it
    /// must wait: it repeats the operation with the same `hold` when [`Hold::is_over`].
    #[must_use]
    pub fn sync(
        self: &Arc<Self>,
        hold: &mut Option<Hold>,
        op: SyncOp,
        (source, constant): (u32, i32),
        datum: u32,
    ) -> bool {
        if let Some(begun) = hold {
            if !begun.is_over() {
                return false;
            }
            *hold = None;
            return true;
        }
        let order = constant as u32 % ORDERS as u32;
        let wait = match op {
            SyncOp::Turn => {
                let number = source % TURNS;
                (self.turn(order) != number).then_some(HoldKind::Turn { order, number })
            }
            SyncOp::Pass => {
                let next = |turn: u32| Some((turn + 1) % TURNS);
                let _ = self.turns[order as usize].fetch_update(Release, Relaxed, next);
                self.has_released();
                None
            }
            _ => {
                let resource = (source >> 16).wrapping_add_signed(constant) % SYNC_RESOURCES;
                let mut resources = self.resources();
                let state = &mut resources[resource as usize];
                let before = state.released;
                let waits = state.perform(op, datum);
                if state.released != before {
                    self.has_released();
                }
                waits.then(|| {
                    let released = Arc::new(AtomicBool::new(false));
                    state.queue.push_back((op, Arc::downgrade(&released)));
                    HoldKind::Resource { op, resource, datum, released }
                })
            }
        };
        *hold = wait.map(|kind| Hold { share: Arc::downgrade(self), kind });
        hold.is_none()
    }

    /// Host pointer of the global data share, which is zeroed at first; it has [`GDS_BYTES`]. Waves
    /// on several host threads may access it at once. `None` if the host has no memory for it.
    #[must_use]
    pub fn data(&self) -> Option<*mut u8> {
        if let Some(block) = self.data.get() {
            return Some(block.ptr());
        }
        let block = HostBlock::on_heap(GDS_BYTES as usize, 256)?;
        // Another thread may have been faster.
        let _ = self.data.set(block);
        self.data.get().map(HostBlock::ptr)
    }

    /// Copies bytes of the global data share to the host; `false` if they are not all in it.
    #[must_use]
    pub fn read(&self, offset: u32, into: &mut [u8]) -> bool {
        let Some(host) = self.bytes(offset, into.len()) else { return false };
        // SAFETY: the bytes are inside the block, which lives as long as this.
        unsafe { raw::read_bytes(host, into) };
        true
    }

    /// Copies bytes of the host to the global data share; `false` if there is no room at the offset.
    #[must_use]
    pub fn write(&self, offset: u32, from: &[u8]) -> bool {
        let Some(host) = self.bytes(offset, from.len()) else { return false };
        // SAFETY: as above.
        unsafe { raw::write_bytes(host, from) };
        true
    }

    /// Host pointer of bytes of the global data share, if it has all of them.
    fn bytes(&self, offset: u32, size: usize) -> Option<*mut u8> {
        let left = GDS_BYTES.checked_sub(offset)?;
        (size <= left as usize).then(|| self.data().map(|data| data.wrapping_add(offset as usize)))?
    }

    /// Bytes that a digest covers.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.data.get().map_or(0, |_| GDS_BYTES.into())
    }

    /// Adds the contents of the global data share to a digest.
    pub(crate) fn digest(&self, digest: u64) -> u64 {
        match self.data.get() {
            // SAFETY: the block has this many bytes, and lives as long as this.
            Some(block) => unsafe { raw::digest(block.ptr(), GDS_BYTES as usize, digest) },
            None => digest,
        }
    }
}

/// The bytes that an access to the global data share may touch: the base, and the end of the bytes
/// from there that `source` allows (Vega ISA 3.7).
#[must_use]
pub fn gds_window(source: u32) -> (u64, u64) {
    let (base, size) = (u64::from(source >> 16), u64::from(source & 0xffff));
    (base, (base + size).min(GDS_BYTES.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wave that performs an operation on resource 5, again and again until it continues.
    struct Waves {
        share: Arc<Share>,
        holds: Vec<Option<Hold>>,
    }

    impl Waves {
        fn new(count: usize) -> Waves {
            let holds = (0..count).map(|_| None).collect();
            Waves { share: Arc::default(), holds }
        }

        fn sync(&mut self, wave: usize, op: SyncOp, datum: u32) -> bool {
            self.share.sync(&mut self.holds[wave], op, (3 << 16, 2), datum)
        }

        /// The waves that may continue, which then have.
        fn released(&mut self) -> Vec<usize> {
            let over = |n: &usize| self.holds[*n].as_ref().is_some_and(Hold::is_over);
            let released: Vec<usize> = (0..self.holds.len()).filter(over).collect();
            released.iter().for_each(|n| assert!(self.sync(*n, SyncOp::Lower, 0)));
            released
        }
    }

    #[test]
    fn waves_meet_at_a_barrier_and_set_the_size_of_the_next_one() {
        let mut waves = Waves::new(4);
        assert!(waves.sync(0, SyncOp::Init, 3));
        for (size, next) in [(4, 1), (2, 3), (4, 3)] {
            for wave in 0..size - 1 {
                assert!(!waves.sync(wave, SyncOp::Barrier, 9), "{size} {wave}");
                let missing = (size - 1 - wave) as u32;
                let wait = SyncWait::Barrier { resource: 5, missing };
                assert_eq!(waves.holds[wave].as_ref().unwrap().wait(), wait);
                assert_eq!(waves.released(), []);
            }
            assert!(waves.sync(size - 1, SyncOp::Barrier, next));
            assert_eq!(waves.released(), (0..size - 1).collect::<Vec<_>>());
        }
        // A barrier that was not initialised does not wait.
        assert!(waves.share.clone().sync(&mut None, SyncOp::Barrier, (0, 0), 0));
    }

    #[test]
    fn waves_gather_in_any_number() {
        let mut waves = Waves::new(4);
        for size in [3, 4, 2] {
            for wave in 0..size - 1 {
                assert!(!waves.sync(wave, SyncOp::Gather, size as u32));
                let wait = SyncWait::Barrier { resource: 5, missing: (size - 1 - wave) as u32 };
                assert_eq!(waves.holds[wave].as_ref().unwrap().wait(), wait);
                assert_eq!(waves.released(), []);
            }
            assert!(waves.sync(size - 1, SyncOp::Gather, size as u32));
            assert_eq!(waves.released(), (0..size - 1).collect::<Vec<_>>());
        }
        for alone in [0, 1] {
            assert!(waves.sync(0, SyncOp::Gather, alone));
        }
    }

    #[test]
    fn semaphores_release_waves_in_the_order_of_their_arrival() {
        let mut waves = Waves::new(6);
        assert!(waves.sync(0, SyncOp::Init, 1));
        assert!(waves.sync(0, SyncOp::Lower, 0));
        for wave in [2, 0, 4, 1, 3] {
            assert!(!waves.sync(wave, SyncOp::Lower, 0));
        }
        assert!(waves.sync(5, SyncOp::Raise, 0));
        assert_eq!(waves.released(), [2]);
        assert!(waves.sync(5, SyncOp::RaiseBy, 2));
        assert_eq!(waves.released(), [0, 4]);
        // A wave that no longer exists takes nothing.
        waves.holds[1] = None;
        assert!(waves.sync(5, SyncOp::ReleaseAll, 0));
        assert_eq!(waves.released(), [3]);
        assert!(!waves.sync(5, SyncOp::Lower, 0));
        assert!(waves.sync(0, SyncOp::RaiseBy, 3));
        assert_eq!(waves.released(), [5]);
        // Without waves, it has no effect: 2 are left.
        assert!(waves.sync(0, SyncOp::ReleaseAll, 0));
        assert!(waves.sync(1, SyncOp::Lower, 0) && waves.sync(2, SyncOp::Lower, 0));
        assert!(!waves.sync(3, SyncOp::Lower, 0));
    }

    #[test]
    fn turns_follow_their_order() {
        let share = Arc::<Share>::default();
        let (mut first, mut second) = (None, None);
        assert!(!share.sync(&mut second, SyncOp::Turn, (0xabcd_0001, 6), 0));
        let wait = SyncWait::Turn { order: 2, number: 1, turn: 0 };
        assert_eq!(second.as_ref().unwrap().wait(), wait);
        assert!(share.sync(&mut first, SyncOp::Turn, (0, 2), 0));
        assert!(!second.as_ref().unwrap().is_over());
        assert!(share.sync(&mut first, SyncOp::Pass, (0, 2), 0));
        assert!(share.sync(&mut second, SyncOp::Turn, (1, 2), 0));
        assert!(share.sync(&mut None, SyncOp::Turn, (0, 1), 0), "another order");
        share.begin();
        assert!(share.sync(&mut first, SyncOp::Turn, (0, 2), 0));
    }

    #[test]
    fn host_accesses_stay_inside() {
        let share = Share::default();
        let mut bytes = [1; 4];
        assert!(share.read(GDS_BYTES - 4, &mut bytes) && bytes == [0; 4]);
        assert!(share.write(8, &[1, 2, 3, 4]) && share.read(6, &mut bytes));
        assert_eq!(bytes, [0, 0, 1, 2]);
        assert!(!share.read(GDS_BYTES - 3, &mut bytes) && !share.write(u32::MAX, &[0]));
        assert_eq!(gds_window(0xfff0_0020), (0xfff0, 0x1_0000));
        assert_eq!(gds_window(0x0010_0020), (0x10, 0x30));
    }
}
