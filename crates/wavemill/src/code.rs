//! Code of a device: the regions that hold it, and its lifted blocks.

mod clauses;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use wavemill_ir::{Block, FaultKind, Terminator, Uni};
use wavemill_isa::cayman::BrokenRule;
use wavemill_isa::gcn::{self, decode};
use wavemill_isa::{Family, Target};
use wavemill_lift::Lift;
use wavemill_lift::cayman::Cayman;
use wavemill_lift::gcn::{Context, Gcn, MatrixRule};
use wavemill_machine::{BlockSource, MemoryMap};

pub(crate) use clauses::{ClauseInstruction, Content};
use clauses::{Clauses, Programs};

/// A range of guest memory that holds code.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub start: u64,
    pub end: u64,
    /// Functions in it: first address, end, name; sorted by address.
    pub functions: Arc<Vec<(u64, u64, String)>>,
    /// Source positions, if the code object has debug information.
    pub lines: Option<Arc<crate::lines::Lines>>,
    /// Whether the code reads the floating-point exceptions in TRAPSTS.
    pub reads_exceptions: bool,
}

impl Region {
    /// The function that holds an address, and the offset in it. A function whose size the source
    /// omits extends to the next function.
    pub(crate) fn function(&self, pc: u64) -> Option<(&str, u64)> {
        let index = self.functions.partition_point(|(start, _, _)| *start <= pc).checked_sub(1)?;
        let (start, end, name) = &self.functions[index];
        (pc < *end || end == start).then(|| (name.as_str(), pc - start))
    }

    /// The function that ends before an address outside all functions, if only padding separates
    /// them: its start, end and name.
    pub(crate) fn in_front_of(&self, pc: u64) -> Option<&(u64, u64, String)> {
        let index = self.functions.partition_point(|(start, _, _)| *start <= pc).checked_sub(1)?;
        let function = &self.functions[index];
        (function.1 <= pc && pc - function.1 < PADDING).then_some(function)
    }

    /// Start of the instructions that lead up to an address outside all functions: the end of the
    /// last function before it, or the start of the region.
    pub(crate) fn gap(&self, pc: u64) -> u64 {
        let before = self.functions.partition_point(|(start, _, _)| *start <= pc);
        let ends = self.functions.iter().take(before).map(|(_, end, _)| *end);
        ends.filter(|end| *end <= pc).max().unwrap_or(self.start).next_multiple_of(4)
    }
}

/// Padding after a function, up to the next one or for the chip's instruction prefetch, has fewer
/// bytes than this.
const PADDING: u64 = 512;
/// Unit of guest memory that is compared with the bytes that blocks were lifted from.
const PAGE: u64 = 4096;
/// Most IR operations to keep (some 60 MiB); beyond that, lifting starts again.
const MAX_INSTS: usize = 1 << 18;

/// Whether no instruction can begin at an address. Instructions consist of dwords, so a jump
/// between dword boundaries is an error.
pub(crate) fn is_misaligned(pc: u64) -> bool {
    !pc.is_multiple_of(4)
}

/// A block and the pages it was lifted from, as keys of [`Lifted::pages`].
#[derive(Debug)]
struct CachedBlock {
    block: Arc<Block>,
    pages: Box<[u64]>,
}

/// Lifted blocks and the bytes they were lifted from.
#[derive(Debug, Default)]
struct Lifted {
    blocks: HashMap<(u64, u32), CachedBlock>,
    /// The bytes that blocks were lifted from, by page; the key is the guest address of the first
    /// byte. A page covers only the part that is code.
    pages: HashMap<u64, Box<[u8]>>,
    /// IR operations of all blocks.
    insts: usize,
}

impl Lifted {
    /// Keeps the blocks for which `keep` holds.
    fn retain(&mut self, keep: impl Fn(&u64, &CachedBlock) -> bool) {
        self.blocks.retain(|(pc, _), cached| keep(pc, cached));
        self.insts = self.blocks.values().map(|cached| cached.block.insts.len()).sum();
    }

    /// Pages whose bytes differ from memory now.
    fn changed(&self, map: &MemoryMap) -> Vec<u64> {
        self.pages
            .iter()
            .filter(|(start, bytes)| !map.holds(**start, bytes))
            .map(|(start, _)| *start)
            .collect()
    }
}

/// All code of a device.
#[derive(Debug)]
pub(crate) struct Code {
    target: Target,
    lifter: Box<dyn Lift>,
    /// How GCN and CDNA are lifted.
    gcn: Gcn,
    /// The programs of a family with clauses.
    programs: Arc<Programs>,
    regions: RwLock<Vec<Region>>,
    lifted: RwLock<Lifted>,
    max_insts: usize,
    /// Changes whenever blocks that may be in use are forgotten.
    generation: AtomicU64,
}

impl Code {
    pub(crate) fn new(target: Target, sramecc: bool, matrix: MatrixRule) -> Self {
        let programs = Arc::new(Programs::default());
        let gcn = Gcn { target, sramecc, matrix };
        let lifter: Box<dyn Lift> = match target.family() {
            Family::Gcn => Box::new(gcn),
            Family::Cayman => Box::new(Clauses(programs.clone())),
        };
        Code {
            target,
            lifter,
            gcn,
            programs,
            regions: RwLock::default(),
            lifted: RwLock::default(),
            max_insts: MAX_INSTS,
            generation: AtomicU64::new(0),
        }
    }

    /// Whether code reads the floating-point exceptions of its wave.
    pub(crate) fn looks_at_exceptions(&self, code: &[u8]) -> bool {
        self.lifter.reads_exceptions(code)
    }

    /// Adds a program of a family with clauses, at guest addresses. Its code is in a region.
    pub(crate) fn add_program(&self, range: Range<u64>, program: Cayman) {
        self.programs.add(range, program);
    }

    /// The guest address of the code that a PC names.
    pub(crate) fn address(&self, pc: u64) -> u64 {
        self.lifter.address(pc)
    }

    pub(crate) fn add(&self, region: Region) {
        self.regions.write().unwrap_or_else(|e| e.into_inner()).push(region);
        // Waves that run may get there.
        self.next_generation();
    }

    /// Adds a region if no other region has some of it. The result is whether it was added.
    pub(crate) fn add_apart(&self, region: Region) -> bool {
        let mut regions = self.regions.write().unwrap_or_else(|e| e.into_inner());
        let apart = regions.iter().all(|r| r.end <= region.start || r.start >= region.end);
        if apart {
            regions.push(region);
            self.next_generation();
        }
        apart
    }

    fn lifted(&self) -> RwLockWriteGuard<'_, Lifted> {
        self.lifted.write().unwrap_or_else(|e| e.into_inner())
    }

    fn next_generation(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Forgets the code in a range.
    pub(crate) fn remove(&self, start: u64, end: u64) {
        self.regions.write().unwrap_or_else(|e| e.into_inner()).retain(|r| r.end <= start || r.start >= end);
        let mut lifted = self.lifted();
        lifted.pages.retain(|page, _| !(start..end).contains(page));
        lifted.retain(|pc, _| !(start..end).contains(&self.lifter.address(*pc)));
        self.programs.remove(&(start..end));
    }

    /// Forgets blocks whose code has been overwritten since.
    pub(crate) fn refresh(&self, map: &MemoryMap) {
        // Most often nothing has changed, so no thread has to wait.
        if self.lifted.read().unwrap_or_else(|e| e.into_inner()).changed(map).is_empty() {
            return;
        }
        let mut lifted = self.lifted();
        let changed = lifted.changed(map);
        lifted.pages.retain(|page, _| !changed.contains(page));
        lifted.retain(|_, cached| !cached.pages.iter().any(|page| changed.contains(page)));
        self.next_generation();
    }

    /// A number that changes when the code may have changed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether any code reads the floating-point exceptions in TRAPSTS.
    pub(crate) fn reads_exceptions(&self) -> bool {
        self.regions.read().unwrap_or_else(|e| e.into_inner()).iter().any(|r| r.reads_exceptions)
    }

    /// The region that holds the code of a PC.
    pub(crate) fn region(&self, pc: u64) -> Option<Region> {
        let pc = self.address(pc);
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

    /// The context of GCN or CDNA code in a MODE.
    pub(crate) fn context(&self, mode: u32) -> Context {
        self.gcn.context(mode)
    }

    /// The instruction of GCN or CDNA at a PC.
    pub(crate) fn gcn(&self, map: &MemoryMap, pc: u64) -> Option<gcn::Inst> {
        if self.target.family() != Family::Gcn {
            return None;
        }
        let (bytes, n) = self.fetch(map, pc);
        decode(self.target, &bytes[..n]).ok()
    }

    /// The instruction at a PC of a family with clauses.
    pub(crate) fn in_clause(&self, map: &MemoryMap, pc: u64) -> Option<ClauseInstruction> {
        if self.target.family() != Family::Cayman {
            return None;
        }
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let (bytes, n) = self.fetch(map, at);
            *into = bytes;
            n
        };
        self.programs.read(pc, &mut fetch)
    }

    /// The rules that an instruction breaks, of a family with clauses.
    pub(crate) fn broken_rules(&self, map: &MemoryMap, inst: &ClauseInstruction) -> Vec<BrokenRule> {
        self.programs.broken_rules(map, inst)
    }

    /// The text of the instruction at a PC.
    pub(crate) fn text(&self, map: &MemoryMap, pc: u64) -> Option<String> {
        match self.target.family() {
            Family::Gcn => self.gcn(map, pc).as_ref().map(crate::report::text),
            Family::Cayman => self.in_clause(map, pc).as_ref().map(ClauseInstruction::text),
        }
    }

    /// Bytes from the instruction at an address to the next. A dword that is none counts as one.
    pub(crate) fn size_at(&self, map: &MemoryMap, at: u64) -> u64 {
        match self.target.family() {
            Family::Gcn => self.gcn(map, at).map_or(4, |inst| inst.size() as u64),
            // A unit of addresses.
            Family::Cayman => 8,
        }
    }

    /// First byte of the page of code that holds an address; the page is added to `pages` if it is
    /// missing.
    fn page(&self, map: &MemoryMap, pages: &mut HashMap<u64, Box<[u8]>>, pc: u64) -> Option<u64> {
        let region = self.region(pc)?;
        let start = (pc & !(PAGE - 1)).max(region.start);
        if let Entry::Vacant(slot) = pages.entry(start) {
            let end = ((pc & !(PAGE - 1)).saturating_add(PAGE)).min(region.end);
            let mut bytes = vec![0; (end - start) as usize];
            if !map.read(start, &mut bytes) {
                return None;
            }
            slot.insert(bytes.into());
        }
        Some(start)
    }

    /// The block at a position under a context.
    pub(crate) fn block(&self, map: &MemoryMap, pc: u64, context: u32) -> Arc<Block> {
        let mode = context & self.lifter.context_key();
        let lifted = self.lifted.read().unwrap_or_else(|e| e.into_inner());
        if let Some(cached) = lifted.blocks.get(&(pc, mode)) {
            return cached.block.clone();
        }
        drop(lifted);
        // Other threads wait, so that a block is lifted once, from the pages recorded in `lifted`.
        let mut lifted = self.lifted();
        if let Some(cached) = lifted.blocks.get(&(pc, mode)) {
            return cached.block.clone();
        }
        if lifted.insts >= self.max_insts {
            // The pages are forgotten too, so a later change to blocks in use would go unnoticed.
            *lifted = Lifted::default();
            self.next_generation();
        }
        let mut used: Vec<u64> = Vec::new();
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let mut n = 0;
            if is_misaligned(at) {
                return n;
            }
            while n < into.len() {
                let at = at.wrapping_add(n as u64);
                let Some(start) = self.page(map, &mut lifted.pages, at) else { break };
                if !used.contains(&start) {
                    used.push(start);
                }
                let code = &lifted.pages[&start][(at - start) as usize..];
                let some = code.len().min(into.len() - n);
                into[n..n + some].copy_from_slice(&code[..some]);
                n += some;
            }
            n
        };
        let block = Arc::new(self.lifter.block(pc, mode, &mut fetch));
        // A module may be loaded later where there is no code now.
        if block.terminator != Terminator::Fault(FaultKind::NoCode) {
            lifted.insts += block.insts.len();
            let cached = CachedBlock { block: block.clone(), pages: used.into() };
            lifted.blocks.insert((pc, mode), cached);
        }
        block
    }
}

/// Code of a device as guest memory holds it at the start of a launch.
#[derive(Debug)]
pub(crate) struct LoadedCode<'a> {
    pub code: &'a Code,
    pub map: &'a MemoryMap,
}

impl BlockSource for LoadedCode<'_> {
    fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
        self.code.block(self.map, pc, mode)
    }

    /// Keeps nothing: an engine that steps keeps what it needs.
    fn single(&self, pc: u64, context: u32) -> Arc<Block> {
        let context = context & self.context_key();
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            if is_misaligned(at) {
                return 0;
            }
            let (bytes, n) = self.code.fetch(self.map, at);
            *into = bytes;
            n
        };
        Arc::new(self.code.lifter.instruction(pc, context, &mut fetch))
    }

    fn context_key(&self) -> u32 {
        self.code.lifter.context_key()
    }

    fn exceptions(&self) -> Option<Uni> {
        self.code.lifter.exceptions().filter(|_| self.code.reads_exceptions())
    }

    fn generation(&self) -> u64 {
        self.code.generation()
    }

    fn refresh(&self) {
        self.code.refresh(self.map);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use wavemill_machine::{
        FaultCause, Grid, GuestMemory, Registers, RunError, RunOptions, WaveInit, WaveSnapshot, run,
    };

    use super::*;
    use crate::registers;

    /// `s_movk_i32 s20, value`.
    fn movk(value: u16) -> u32 {
        0xb014_0000 | u32::from(value)
    }
    const RETURN: u32 = 0xbe80_1d1e; // s_setpc_b64 s[30:31]
    const CALL: u32 = 0xbe9e_1e00; // s_swappc_b64 s[30:31], s[0:1]
    const KEEP_FIRST: u32 = 0xbe95_0014; // s_mov_b32 s21, s20
    const KEEP_SECOND: u32 = 0xbe96_0014; // s_mov_b32 s22, s20
    const OVERWRITE: [u32; 2] = [0xc042_0280, 0]; // s_store_dword s10, s[0:1], 0x0
    const WAIT: u32 = 0xbf8c_c07f; // s_waitcnt lgkmcnt(0)
    const INVALIDATE: u32 = 0xbf93_0000; // s_icache_inv
    const TRAP: u32 = 0xbf92_0002; // s_trap 2
    const NOP: u32 = 0xbf80_0000; // s_nop 0
    const END: u32 = 0xbf81_0000; // s_endpgm

    /// Memory with code in its own allocations.
    struct Loaded {
        memory: GuestMemory,
        code: Code,
    }

    impl Loaded {
        fn new() -> Self {
            Loaded {
                memory: GuestMemory::default(),
                code: Code::new(Target::Gfx906, false, MatrixRule::Exact),
            }
        }

        fn add(&self, words: &[u32]) -> u64 {
            let size = 4 * words.len() as u64;
            let start = self.memory.allocate("code", size, 256).unwrap();
            self.write(start, words);
            let region = Region {
                start,
                end: start + size,
                functions: Arc::default(),
                lines: None,
                reads_exceptions: false,
            };
            self.code.add(region);
            start
        }

        fn write(&self, at: u64, words: &[u32]) {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            self.memory.write(at, &bytes).unwrap();
        }

        fn block(&self, pc: u64, mode: u32) -> Arc<Block> {
            self.code.block(&self.memory.snapshot(), pc, mode)
        }

        /// Launches a wave at `main` that finds `callee` in s[0:1] and `word` in s10, until it traps.
        fn launch(&self, main: u64, callee: u64, word: u32) -> WaveSnapshot {
            struct Init(u64, u32);
            impl WaveInit for Init {
                fn work_items(&self, _: [u32; 3]) -> u32 {
                    64
                }
                fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
                    regs.set_uni64(Uni(0), self.0);
                    regs.set_uni(Uni(10), self.1);
                }
            }
            let map = self.memory.snapshot();
            self.code.refresh(&map);
            let grid = Grid {
                map: &map,
                source: &LoadedCode { code: &self.code, map: &map },
                init: &Init(callee, word),
                workgroups: [1, 1, 1],
                waves_per_group: 1,
                registers: registers::counts(registers::MAX_SGPRS, 4, 0),
                lds_size: 0,
                lds_granule: 0,
                scratch_size: 0,
                entry: main,
                context: 0,
                resident: 1,
            };
            let options = RunOptions { threads: NonZeroUsize::new(1), ..RunOptions::default() };
            match run(&grid, &wavemill_interpreter::Interpreter::new(), &options) {
                Err(RunError::Fault(fault)) if fault.cause == FaultCause::Trap(2) => *fault.snapshot,
                other => panic!("expected the trap, got {other:?}"),
            }
        }
    }

    #[test]
    fn code_that_a_wave_overwrites_runs_behind_the_invalidation() {
        let loaded = Loaded::new();
        let callee = loaded.add(&[movk(1), RETURN]);
        let [store, offset] = OVERWRITE;
        let main =
            loaded.add(&[CALL, KEEP_FIRST, store, offset, WAIT, INVALIDATE, CALL, KEEP_SECOND, TRAP, END]);
        let after = loaded.launch(main, callee, movk(2));
        assert_eq!(after.cells[21..23], [1, 2]);
        // The next launch finds the bytes that this launch overwrote.
        let after = loaded.launch(main, callee, movk(3));
        assert_eq!(after.cells[21..23], [2, 3]);
    }

    #[test]
    fn code_that_the_host_overwrites_runs_in_the_next_launch() {
        let loaded = Loaded::new();
        let callee = loaded.add(&[movk(1), RETURN]);
        let main = loaded.add(&[CALL, TRAP, END]);
        assert_eq!(loaded.launch(main, callee, 0).cells[20], 1);
        loaded.write(callee, &[movk(7)]);
        assert_eq!(loaded.launch(main, callee, 0).cells[20], 7);
    }

    #[test]
    fn blocks_on_other_pages_stay() {
        let loaded = Loaded::new();
        // A block of two pages, one block on the second page alone, and one elsewhere.
        let mut words = vec![NOP; 1500];
        words[1499] = END;
        let long = loaded.add(&words);
        let other = loaded.add(&[END]);
        let starts = [long + 4 * 900, long + 4 * 1400, other];
        let before = starts.map(|pc| loaded.block(pc, 0));
        loaded.write(long + 4 * 950, &[movk(1)]);
        let generation = loaded.code.generation.load(Ordering::Relaxed);
        loaded.code.refresh(&loaded.memory.snapshot());
        assert_ne!(loaded.code.generation.load(Ordering::Relaxed), generation);
        let after = starts.map(|pc| loaded.block(pc, 0));
        let same: Vec<bool> = before.iter().zip(&after).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
        assert_eq!(same, [false, true, true]);
        assert_ne!(before[0], after[0]);
        // Nothing has changed since.
        let generation = loaded.code.generation.load(Ordering::Relaxed);
        loaded.code.refresh(&loaded.memory.snapshot());
        assert_eq!(loaded.code.generation.load(Ordering::Relaxed), generation);
    }

    #[test]
    fn only_the_bits_of_mode_that_matter_make_another_block() {
        let loaded = Loaded::new();
        let pc = loaded.add(&[END]);
        let block = loaded.block(pc, 0x3f0);
        let other = 0x0018_03f0 | 1 << 10;
        assert!(Arc::ptr_eq(&block, &loaded.block(pc, other)), "LOD_CLAMPED and memory exceptions");
        assert!(!Arc::ptr_eq(&block, &loaded.block(pc, 0x13f0)), "float exceptions");
        assert!(!Arc::ptr_eq(&block, &loaded.block(pc, 0x3f1)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut loaded = Loaded::new();
        loaded.code.max_insts = 10;
        let mut words = [movk(1); 100];
        words[99] = END;
        let pc = loaded.add(&words);
        for n in 0..100 {
            loaded.block(pc + 4 * n, 0);
            let lifted = loaded.code.lifted();
            assert_eq!(lifted.insts, lifted.blocks.values().map(|c| c.block.insts.len()).sum::<usize>());
            assert!(lifted.blocks.len() <= 10 && lifted.insts < 10 + 100, "{}", lifted.insts);
        }
        assert!(loaded.code.generation.load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn code_may_come_to_where_there_was_none() {
        let loaded = Loaded::new();
        let start = loaded.memory.allocate("later", 4, 256).unwrap();
        loaded.write(start, &[END]);
        assert_eq!(loaded.block(start, 0).terminator, Terminator::Fault(FaultKind::NoCode));
        loaded.code.add(Region {
            start,
            end: start + 4,
            functions: Arc::default(),
            lines: None,
            reads_exceptions: false,
        });
        assert_eq!(loaded.block(start, 0).terminator, Terminator::End);
    }
}
