//! Code of a device: where it is, and its blocks once they are lifted.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use wavemill_engine::{BlockSource, MemoryMap};
use wavemill_ir::Block;
use wavemill_isa::Target;
use wavemill_lift::gcn::{Context, lift_block};

/// A range of guest memory that holds code.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub start: u64,
    pub end: u64,
    /// Functions in it: first address, end, name; sorted by address.
    pub functions: Arc<Vec<(u64, u64, String)>>,
    /// Source positions, if the code object has debug information.
    pub lines: Option<Arc<crate::report::Lines>>,
    /// Whether the code reads the floating-point exceptions in TRAPSTS.
    pub reads_exceptions: bool,
}

impl Region {
    /// The function that holds an address, and the address's offset in it.
    pub(crate) fn function(&self, pc: u64) -> Option<(&str, u64)> {
        let index = self.functions.partition_point(|(start, _, _)| *start <= pc).checked_sub(1)?;
        let (start, end, name) = &self.functions[index];
        (pc < *end).then(|| (name.as_str(), pc - start))
    }
}

/// All code of a device.
#[derive(Debug)]
pub(crate) struct Code {
    target: Target,
    regions: RwLock<Vec<Region>>,
    blocks: RwLock<HashMap<(u64, u32), Arc<Block>>>,
}

impl Code {
    pub(crate) fn new(target: Target) -> Self {
        Code { target, regions: RwLock::default(), blocks: RwLock::default() }
    }

    /// The instruction set.
    pub(crate) fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn add(&self, region: Region) {
        self.regions.write().unwrap_or_else(|e| e.into_inner()).push(region);
    }

    /// Forgets the code in a range.
    pub(crate) fn remove(&self, start: u64, end: u64) {
        self.regions.write().unwrap_or_else(|e| e.into_inner()).retain(|r| r.end <= start || r.start >= end);
        self.blocks
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .retain(|(pc, _), _| !(start..end).contains(pc));
    }

    /// Whether any code reads the floating-point exceptions in TRAPSTS.
    pub(crate) fn reads_exceptions(&self) -> bool {
        self.regions.read().unwrap_or_else(|e| e.into_inner()).iter().any(|r| r.reads_exceptions)
    }

    /// The region that holds an address.
    pub(crate) fn region(&self, pc: u64) -> Option<Region> {
        let regions = self.regions.read().unwrap_or_else(|e| e.into_inner());
        regions.iter().find(|r| (r.start..r.end).contains(&pc)).cloned()
    }

    /// Code bytes at an address, at most 16.
    pub(crate) fn fetch(&self, map: &MemoryMap, pc: u64) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        let Some(region) = self.region(pc) else { return (bytes, 0) };
        let n = (region.end - pc).min(16) as usize;
        let n = if map.read(pc, &mut bytes[..n]) { n } else { 0 };
        (bytes, n)
    }

    /// The block at an address under a value of MODE.
    pub(crate) fn block(&self, map: &MemoryMap, pc: u64, mode: u32) -> Arc<Block> {
        if let Some(block) = self.blocks.read().unwrap_or_else(|e| e.into_inner()).get(&(pc, mode)) {
            return block.clone();
        }
        let context = Context { target: self.target, mode };
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let (bytes, n) = self.fetch(map, at);
            *into = bytes;
            n
        };
        let block = Arc::new(lift_block(&context, pc, &mut fetch));
        let mut blocks = self.blocks.write().unwrap_or_else(|e| e.into_inner());
        blocks.entry((pc, mode)).or_insert(block).clone()
    }
}

/// Code of a device as it stands in guest memory at the start of a launch.
#[derive(Debug)]
pub(crate) struct LoadedCode<'a> {
    pub code: &'a Code,
    pub map: &'a MemoryMap,
}

impl BlockSource for LoadedCode<'_> {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        self.code.block(self.map, pc, mode)
    }

    fn watches_exceptions(&self) -> bool {
        self.code.reads_exceptions()
    }
}
