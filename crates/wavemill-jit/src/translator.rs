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
