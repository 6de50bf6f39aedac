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

/// Where a unit begins, and for which waves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    position: u64,
    context: u32,
    counts: RegisterCounts,
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
    units: HashMap<Key, Vec<Kept>>,
    /// Bytes of all units made since the cache was empty.
    bytes: usize,
    /// What the thread for units works on.
    pending: HashSet<Key>,
    /// What there is no machine code for.
    failed: HashSet<Key>,
}

impl Cache {
    /// A unit that was made of blocks which are still the same.
    fn find(&self, key: Key, blocks: &mut dyn Blocks) -> Option<Arc<Unit>> {
        let versions = self.units.get(&key)?;
        let found = versions.iter().find(|kept| is_same(&kept.blocks, blocks));
        found.map(|kept| Arc::clone(&kept.unit))
    }

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
        versions.push(kept);
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
    fn patience(&self) -> u64 {
        self.patience
    }

    fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation {
        let key = Key { position, context: blocks.context(), counts: blocks.counts() };
        let mut cache = lock(&self.cache);
        if let Some(unit) = cache.find(key, blocks) {
            return Translation::Unit(unit);
        }
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
        if cache.pending.contains(&key) || cache.pending.len() >= MAX_PENDING {
            return Translation::Later;
        }
        cache.pending.insert(key);
        drop(cache);
        match Plan::new(position, blocks).map(|plan| worker.jobs.send((key, plan)).is_ok()) {
            Some(true) => Translation::Later,
            // No code, or no thread any more.
            _ => {
                lock(&self.cache).pending.remove(&key);
                Translation::Never
            }
        }
    }
}
