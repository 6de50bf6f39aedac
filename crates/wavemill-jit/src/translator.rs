//! Units of machine code, kept from launch to launch.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wavemill_interpreter::translate::{Blocks, Translator, Unit};
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
}

/// Makes units, and keeps them.
pub(crate) struct UnitTranslator {
    patience: u64,
    leave_before: Option<u32>,
    cache: Mutex<Cache>,
}

impl std::fmt::Debug for UnitTranslator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UnitTranslator(patience {})", self.patience)
    }
}

impl UnitTranslator {
    pub(crate) fn new(patience: u64, leave_before: Option<u32>) -> Self {
        UnitTranslator { patience, leave_before, cache: Mutex::default() }
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

    fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Option<Arc<Unit>> {
        let key = Key { position, context: blocks.context(), counts: blocks.counts() };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = cache.units.get(&key).map_or(&[][..], Vec::as_slice);
        if let Some(found) = versions.iter().find(|kept| is_same(&kept.blocks, blocks)) {
            return Some(Arc::clone(&found.unit));
        }
        let plan = Plan::new(position, blocks)?;
        let emitted = match emit(&plan, self.leave_before) {
            Ok(emitted) => emitted,
            Err(error) => {
                debug_assert!(false, "the code for {position:#x} cannot be encoded: {error}");
                return None;
            }
        };
        let code = Arc::new(MachineCode::new(&emitted.bytes).ok()?);
        let unit = Arc::new(Unit { entry: code.entry(), links: emitted.links, code });
        let blocks = plan.blocks.iter().map(|block| Arc::clone(&block.compiled.block)).collect();
        if cache.bytes > MAX_BYTES {
            *cache = Cache::default();
        }
        // A mapping is whole pages.
        cache.bytes += emitted.bytes.len().next_multiple_of(4096);
        let versions = cache.units.entry(key).or_default();
        if versions.len() == MAX_VERSIONS {
            versions.remove(0);
        }
        versions.push(Kept { blocks, unit: Arc::clone(&unit) });
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use wavemill_interpreter::Tier;
    use wavemill_interpreter::translate::Compiled;
    use wavemill_ir::{BlockBuilder, MemType, MemoryScope, Op, Operand, Row, ScalarOp, Space, Terminator};
    use wavemill_ir::{Uni, Width};

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
    }

    fn moves(value: u64) -> Arc<Block> {
        let mut b = BlockBuilder::new(0x1000);
        b.begin_guest(0x1000);
        b.scalar(ScalarOp::Mov, Width::W32, Uni(0), &[Operand::Const(value)]);
        Arc::new(b.finish(0x1004, Terminator::End))
    }

    #[test]
    fn units_are_kept_for_what_they_were_made_of() {
        let translator = UnitTranslator::new(1, None);
        let counts = RegisterCounts::of_rows([4, 0]);
        let mut source = Source { block: moves(1), host_operations: 1, counts, context: 0 };
        let first = translator.translate(0x1000, &mut source).unwrap();
        // An equal block elsewhere in memory is the same code.
        source.block = moves(1);
        assert!(Arc::ptr_eq(&first, &translator.translate(0x1000, &mut source).unwrap()));
        let mut all = vec![first];
        let mut is_new = |source: &mut Source| {
            let unit = translator.translate(0x1000, source).unwrap();
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
        assert!(Arc::ptr_eq(&all[0], &translator.translate(0x1000, &mut source).unwrap()));
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
        let plan = Plan::new(0x1000, &mut source).unwrap();
        assert!(matches!(plan.blocks[0].how[..], [How::Call]));
        source.host_operations = 1;
        let plan = Plan::new(0x1000, &mut source).unwrap();
        assert!(matches!(plan.blocks[0].how[..], [How::Access(_)]));
    }
}
