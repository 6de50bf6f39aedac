//! Units of machine code, kept from launch to launch.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wavemill_interpreter::translate::{Blocks, Translation, Translator, Unit};
use wavemill_ir::Block;
use wavemill_machine::registers::RegisterCounts;

use crate::code::MachineCode;
use crate::emit::emit;
use crate::unit::Plan;

/// Guest instructions of a block up to which the whole patience counts.
const SHORT_BLOCK: u64 = 16;

/// Where a unit begins, and for which waves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    position: u64,
    context: u32,
    counts: RegisterCounts,
}

impl Key {
    fn is_of_same_waves(self, other: Key) -> bool {
        Key { position: 0, ..self } == Key { position: 0, ..other }
    }
}

/// Bytes of machine code that are kept. Beyond it, all of it is dropped, except what a launch still runs.
const MAX_BYTES: usize = 64 << 20;
/// Units of one key that are kept: those of different code at one position.
const MAX_VERSIONS: usize = 4;

/// A unit with the blocks that it was made of.
struct Kept {
    blocks: Vec<Arc<Block>>,
    unit: Arc<Unit>,
}

/// The units that are kept.
#[derive(Default)]
struct Cache {
    units: HashMap<Key, Vec<Arc<Kept>>>,
    /// Bytes of all units made since the cache was empty.
    bytes: usize,
    /// What the thread for units works on, with the positions of the blocks.
    pending: HashMap<Key, HashSet<u64>>,
    /// What there is no machine code for.
    failed: HashSet<Key>,
}

impl Cache {
    fn keep(&mut self, key: Key, kept: Kept, bytes: usize) {
        if self.bytes > MAX_BYTES {
            self.units.clear();
            self.bytes = 0;
        }
        // A mapping is whole pages.
        self.bytes += bytes.next_multiple_of(4096);
        let versions = self.units.entry(key).or_default();
        if versions.len() == MAX_VERSIONS {
            versions.remove(0);
        }
        versions.push(Arc::new(kept));
    }
}

type Shared = Arc<Mutex<Cache>>;

fn lock(cache: &Shared) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Emits the code of a plan.
fn make(plan: &Plan, leave_before: Option<u32>) -> Option<(Kept, usize)> {
    let emitted = match emit(plan, leave_before) {
        Ok(emitted) => emitted,
        Err(error) => {
            debug_assert!(false, "the code cannot be encoded: {error}");
            return None;
        }
    };
    let code = Arc::new(MachineCode::new(&emitted.bytes).ok()?);
    let unit = Arc::new(Unit { entry: code.entry(), links: emitted.links, code });
    let blocks = plan.blocks.iter().map(|block| Arc::clone(&block.compiled.block)).collect();
    Some((Kept { blocks, unit }, emitted.bytes.len()))
}

/// The thread that makes units.
struct Worker {
    jobs: Sender<(Key, Plan)>,
}

/// Plans that wait for the thread, at most.
const MAX_PENDING: usize = 64;

impl Worker {
    /// `None` if the system has no thread for it.
    fn start(cache: Shared) -> Option<Worker> {
        let (jobs, received) = channel::<(Key, Plan)>();
        let work = move || {
            for (key, plan) in received {
                let made = make(&plan, None);
                let mut cache = lock(&cache);
                cache.pending.remove(&key);
                match made {
                    Some((kept, bytes)) => cache.keep(key, kept, bytes),
                    None => drop(cache.failed.insert(key)),
                }
            }
        };
        std::thread::Builder::new().name("wavemill-jit".to_owned()).spawn(work).ok()?;
        Some(Worker { jobs })
    }
}

/// Makes units, and keeps them.
pub(crate) struct UnitTranslator {
    patience: u64,
    leave_before: Option<u32>,
    cache: Shared,
    /// Makes units while waves go on; without it, waves wait for them.
    worker: Option<Worker>,
}

impl std::fmt::Debug for UnitTranslator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UnitTranslator(patience {})", self.patience)
    }
}

impl UnitTranslator {
    /// Makes units when they are asked for.
    pub(crate) fn new(patience: u64, leave_before: Option<u32>) -> Self {
        UnitTranslator { patience, leave_before, cache: Shared::default(), worker: None }
    }

    /// Makes units in a thread.
    pub(crate) fn in_background(patience: u64) -> Self {
        let cache = Shared::default();
        let worker = Worker::start(Arc::clone(&cache));
        UnitTranslator { patience, leave_before: None, cache, worker }
    }

    /// Number of units that are kept.
    pub(crate) fn units(&self) -> usize {
        lock(&self.cache).units.values().map(Vec::len).sum()
    }
}

/// Whether code is still what a unit was made of.
fn is_same(kept: &[Arc<Block>], blocks: &mut dyn Blocks) -> bool {
    kept.iter().all(|old| {
        let now = blocks.block(old.start);
        now.is_some_and(|now| Arc::ptr_eq(&now.block, old) || now.block == *old)
    })
}

impl Translator for UnitTranslator {
    fn patience(&self, block: &Block, context: u32, counts: RegisterCounts) -> u64 {
        if self.worker.is_none() {
            return self.patience;
        }
        let key = Key { position: block.start, context, counts };
        if lock(&self.cache).units.contains_key(&key) {
            return 1;
        }
        // Long blocks are worth it sooner.
        (self.patience * SHORT_BLOCK / block.guest.len().max(1) as u64).clamp(1, self.patience)
    }

    fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation {
        let key = Key { position, context: blocks.context(), counts: blocks.counts() };
        let versions = lock(&self.cache).units.get(&key).cloned().unwrap_or_default();
        // Without the lock: blocks that are looked at may be compiled, which asks for patience.
        if let Some(found) = versions.iter().find(|kept| is_same(&kept.blocks, blocks)) {
            return Translation::Unit(Arc::clone(&found.unit));
        }
        let mut cache = lock(&self.cache);
        let Some(worker) = &self.worker else {
            let made = Plan::new(position, blocks).and_then(|plan| make(&plan, self.leave_before));
            let Some((kept, bytes)) = made else { return Translation::Never };
            let unit = Arc::clone(&kept.unit);
            cache.keep(key, kept, bytes);
            return Translation::Unit(unit);
        };
        if cache.failed.contains(&key) {
            return Translation::Never;
        }
        // A unit that is being made often has the block, too.
        let is_covered = cache.pending.iter().any(|(other, positions)| {
            *other == key || (other.is_of_same_waves(key) && positions.contains(&position))
        });
        if is_covered || cache.pending.len() >= MAX_PENDING {
            return Translation::Later;
        }
        cache.pending.insert(key, HashSet::new());
        drop(cache);
        let plan = Plan::new(position, blocks);
        let mut cache = lock(&self.cache);
        if let Some(plan) = plan {
            cache.pending.insert(key, plan.blocks.iter().map(|block| block.compiled.block.start).collect());
            if worker.jobs.send((key, plan)).is_ok() {
                return Translation::Later;
            }
        }
        // No code, or no thread any more.
        cache.pending.remove(&key);
        Translation::Never
    }
}
