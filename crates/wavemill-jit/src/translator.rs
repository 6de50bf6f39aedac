//! Units of machine code, kept from launch to launch.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wavemill_interpreter::translate::{Blocks, Translation, Translator, Unit};
use wavemill_ir::Block;
use wavemill_machine::registers::RegisterCounts;

use crate::code::MachineCode;
use crate::emit::emit;
use crate::planted::PlantedError;
use crate::shapes::{Addresses, Known};
use crate::unit::Plan;

/// Guest instructions of a block up to which the whole patience counts.
const SHORT_BLOCK: u64 = 16;

/// Where a unit begins, and for which waves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    position: u64,
    context: u32,
    counts: RegisterCounts,
    /// They follow their start.
    for_start: bool,
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

/// A unit with what it was made of.
struct Kept {
    blocks: Vec<Arc<Block>>,
    addresses: Option<Arc<Addresses>>,
    unit: Arc<Unit>,
}

impl Kept {
    /// Whether it was made of the same.
    fn is_of(&self, addresses: Option<&Arc<Addresses>>, blocks: &mut dyn Blocks) -> bool {
        self.addresses.as_ref().map(Arc::as_ptr) == addresses.map(Arc::as_ptr)
            && is_same(&self.blocks, blocks)
    }
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
    Some((Kept { blocks, addresses: plan.addresses.clone(), unit }, emitted.bytes.len()))
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
    /// An error that tests want in the code, and how often it has been planted.
    error: Option<PlantedError>,
    planted: AtomicUsize,
    cache: Shared,
    /// What is known of the addresses in programs.
    known: Known,
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
        let planted = AtomicUsize::new(0);
        UnitTranslator {
            patience,
            leave_before,
            error: None,
            planted,
            cache: Shared::default(),
            known: Known::default(),
            worker: None,
        }
    }

    /// Makes units in a thread.
    pub(crate) fn in_background(patience: u64) -> Self {
        let cache = Shared::default();
        let worker = Worker::start(Arc::clone(&cache));
        UnitTranslator { cache, worker, ..UnitTranslator::new(patience, None) }
    }

    /// The same with an error in the code.
    pub(crate) fn with_error(self, error: PlantedError) -> Self {
        UnitTranslator { error: Some(error), ..self }
    }

    /// How often the error has been planted.
    pub(crate) fn planted(&self) -> usize {
        self.planted.load(Ordering::Relaxed)
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
        let cache = lock(&self.cache);
        let is_known = [true, false].iter().any(|for_start| {
            let key = Key { position: block.start, context, counts, for_start: *for_start };
            cache.units.contains_key(&key)
        });
        if is_known {
            return 1;
        }
        // Long blocks are worth it sooner.
        (self.patience * SHORT_BLOCK / block.guest.len().max(1) as u64).clamp(1, self.patience)
    }

    fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation {
        let addresses = self.known.addresses(blocks);
        let for_start = addresses.is_some();
        let key = Key { position, context: blocks.context(), counts: blocks.counts(), for_start };
        let versions = lock(&self.cache).units.get(&key).cloned().unwrap_or_default();
        // Without the lock: blocks that are looked at may be compiled, which asks for patience.
        if let Some(found) = versions.iter().find(|kept| kept.is_of(addresses.as_ref(), blocks)) {
            return Translation::Unit(Arc::clone(&found.unit));
        }
        let mut cache = lock(&self.cache);
        let Some(worker) = &self.worker else {
            let made = Plan::new(position, blocks, addresses).and_then(|mut plan| {
                if let Some(error) = self.error {
                    self.planted.fetch_add(error.plant(&mut plan), Ordering::Relaxed);
                }
                make(&plan, self.leave_before)
            });
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
        let plan = Plan::new(position, blocks, addresses);
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

#[cfg(test)]
mod tests {
    use wavemill_interpreter::Tier;
    use wavemill_interpreter::translate::Compiled;
    use wavemill_ir::{BlockBuilder, MemType, MemoryScope, Op, Operand, Row, ScalarOp, Space, Terminator};
    use wavemill_ir::{Uni, Width};
    use wavemill_machine::engine::Start;

    use super::*;
    use crate::unit::How;

    /// A block, of whose operations each has so many host operations.
    struct Source {
        block: Arc<Block>,
        host_operations: u32,
        counts: RegisterCounts,
        context: u32,
    }

    impl Blocks for Source {
        fn block(&mut self, position: u64) -> Option<Compiled> {
            let block = Arc::clone(&self.block);
            let (operations, supported) = (block.insts.len(), block.insts.len() as u32);
            let host_operations = vec![self.host_operations; operations];
            (position == block.start).then_some(Compiled { block, host_operations, supported })
        }

        fn counts(&self) -> RegisterCounts {
            self.counts
        }

        fn tier(&self) -> Tier {
            Tier::Avx512
        }

        fn context(&self) -> u32 {
            self.context
        }

        fn start(&self) -> Option<&Start> {
            None
        }

        fn lifted(&mut self, _: u64) -> Arc<Block> {
            Arc::clone(&self.block)
        }
    }

    fn moves(value: u64) -> Arc<Block> {
        let mut b = BlockBuilder::new(0x1000);
        b.begin_guest(0x1000);
        b.scalar(ScalarOp::Mov, Width::W32, Uni(0), &[Operand::Const(value)]);
        Arc::new(b.finish(0x1004, Terminator::End))
    }

    fn unit(translation: Translation) -> Arc<Unit> {
        match translation {
            Translation::Unit(unit) => unit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn units_are_kept_for_what_they_were_made_of() {
        let translator = UnitTranslator::new(1, None);
        let counts = RegisterCounts::of_rows([4, 0]);
        let mut source = Source { block: moves(1), host_operations: 1, counts, context: 0 };
        let first = unit(translator.translate(0x1000, &mut source));
        // An equal block elsewhere in memory is the same code.
        source.block = moves(1);
        assert!(Arc::ptr_eq(&first, &unit(translator.translate(0x1000, &mut source))));
        let mut all = vec![first];
        let mut is_new = |source: &mut Source| {
            let unit = unit(translator.translate(0x1000, source));
            assert!(all.iter().all(|old| !Arc::ptr_eq(old, &unit)));
            all.push(unit);
        };
        source.block = moves(2);
        is_new(&mut source);
        source.counts = RegisterCounts::of_rows([8, 0]);
        is_new(&mut source);
        source.context = 1;
        is_new(&mut source);
        // The first one is still there.
        let mut source = Source { block: moves(1), host_operations: 1, counts, context: 0 };
        assert!(Arc::ptr_eq(&all[0], &unit(translator.translate(0x1000, &mut source))));
    }

    /// The interpreter puts a fence before it, which nothing else does.
    #[test]
    fn a_load_with_a_fence_is_for_the_handlers() {
        let mut block = Block::clone(&moves(1));
        let inst = &mut block.insts[0];
        inst.op = Op::Load(Space::Global, MemType::Dwords(1));
        (inst.dst[0], inst.src[0]) = (Row(2).into(), Row(0).into());
        inst.attrs.scope = MemoryScope::Agent;
        let counts = RegisterCounts::of_rows([4, 0]);
        let mut source = Source { block: Arc::new(block), host_operations: 2, counts, context: 0 };
        let plan = Plan::new(0x1000, &mut source, None).unwrap();
        assert!(matches!(plan.blocks[0].how[..], [How::Call]));
        source.host_operations = 1;
        let plan = Plan::new(0x1000, &mut source, None).unwrap();
        assert!(matches!(plan.blocks[0].how[..], [How::Access(_)]));
    }
}
