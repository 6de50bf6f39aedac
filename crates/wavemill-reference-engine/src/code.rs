//! The blocks of a thread, facts about their guest instructions, and how often they were entered.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use wavemill_ir::{Block, FaultKind, Inst, Terminator, Uni};
use wavemill_machine::{BlockCount, BlockSource, RegisterCounts};

use crate::operation::is_unsupported;

/// Number of operations that a thread keeps; beyond it, the thread forgets all blocks.
const MAX_OPERATIONS: usize = 1 << 19;

/// A guest instruction of a block.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    /// Its operations.
    pub(crate) operations: Range<usize>,
    /// The instruction does nothing, because the wave lacks a register that it writes.
    pub(crate) nullified: bool,
    /// No engine supports one of its operations.
    pub(crate) unsupported: bool,
    /// Active lanes are counted before it: it is the first one, or the one before it may have
    /// changed them.
    counted: bool,
}

/// A block.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) block: Arc<Block>,
    pub(crate) guests: Vec<Guest>,
    key: (u64, u32),
}

fn changes_active_lanes(inst: &Inst) -> bool {
    inst.writes().any(|cell| [Uni::ACTIVE.into(), Uni::ACTIVE.plus(1).into()].contains(&cell))
}

impl Code {
    pub(crate) fn new(block: Arc<Block>, key: (u64, u32), counts: RegisterCounts) -> Code {
        let mut guests = Vec::new();
        let (mut first, mut counted) = (0, true);
        // A block without guest instructions consists of its end.
        for number in 0..block.guest.len().max(1) {
            let end = block.insts.partition_point(|inst| inst.guest as usize <= number);
            let insts = &block.insts[first..end];
            guests.push(Guest {
                operations: first..end,
                nullified: counts.nullifies(insts),
                unsupported: insts.iter().any(|inst| is_unsupported(inst, counts)),
                counted,
            });
            first = end;
            counted = insts.iter().any(changes_active_lanes);
        }
        Code { block, guests, key }
    }

    /// Whether there is no code at its beginning: a wave that gets there enters nothing.
    fn is_nothing(&self) -> bool {
        let Block { insts, guest, terminator, .. } = &*self.block;
        insts.is_empty() && guest.len() <= 1 && *terminator == Terminator::Fault(FaultKind::NoCode)
    }
}

/// How often a block was entered, and the active lanes before its guest instructions.
#[derive(Clone, Debug, Default)]
struct Count {
    entered: u64,
    lanes: Vec<(u32, u64)>,
}

/// The blocks of a thread.
pub(crate) struct Blocks<'a> {
    source: &'a dyn BlockSource,
    counts: RegisterCounts,
    context_key: u32,
    generation: u64,
    known: HashMap<(u64, u32), Arc<Code>>,
    operations: usize,
    made: usize,
    counted: Option<HashMap<(u64, u32), Count>>,
}

impl<'a> Blocks<'a> {
    /// The source of the blocks.
    pub(crate) fn source(&self) -> &'a dyn BlockSource {
        self.source
    }

    pub(crate) fn new(source: &'a dyn BlockSource, counts: RegisterCounts, counting: bool) -> Self {
        Blocks {
            source,
            counts,
            context_key: source.context_key(),
            generation: source.generation(),
            known: HashMap::new(),
            operations: 0,
            made: 0,
            counted: counting.then(HashMap::new),
        }
    }

    fn forget(&mut self) {
        self.known.clear();
        self.operations = 0;
    }

    /// Forgets all blocks if the source's code has changed.
    pub(crate) fn follow_source(&mut self) {
        let generation = self.source.generation();
        if generation != self.generation {
            self.forget();
            self.generation = generation;
        }
    }

    /// Makes the source check whether code has changed.
    pub(crate) fn invalidate(&mut self) {
        self.source.refresh();
        self.follow_source();
    }

    fn key(&self, pc: u64, context: u32) -> (u64, u32) {
        (pc, context & self.context_key)
    }

    /// A block that another engine has begun to run.
    pub(crate) fn outside(&mut self, block: Arc<Block>, pc: u64, context: u32) -> Code {
        let code = Code::new(block, self.key(pc, context), self.counts);
        self.begin_count(&code);
        code
    }

    /// The block at an address under a context.
    pub(crate) fn at(&mut self, pc: u64, context: u32) -> Arc<Code> {
        let key = self.key(pc, context);
        if let Some(code) = self.known.get(&key) {
            return code.clone();
        }
        if self.operations >= MAX_OPERATIONS {
            self.forget();
        }
        let block = self.source.block(pc, key.1);
        self.operations += block.insts.len() + 1;
        self.made += 1;
        let code = Arc::new(Code::new(block, key, self.counts));
        self.known.insert(key, code.clone());
        self.begin_count(&code);
        code
    }

    /// Registers where in the block active lanes are counted, even if no wave gets there.
    fn begin_count(&mut self, code: &Code) {
        if let Some(counted) = &mut self.counted
            && !code.is_nothing()
        {
            let count = counted.entry(code.key).or_default();
            for (number, guest) in (0..).zip(&code.guests) {
                if guest.counted && !count.lanes.iter().any(|(n, _)| *n == number) {
                    count.lanes.push((number, 0));
                }
                if guest.unsupported && !guest.nullified {
                    break;
                }
            }
            count.lanes.sort_unstable();
        }
    }

    /// Counts the active lanes before a guest instruction, and entries before the first one.
    pub(crate) fn count(&mut self, code: &Code, number: usize, active: u64) {
        let Some(counted) = &mut self.counted else { return };
        if !code.guests[number].counted || code.is_nothing() {
            return;
        }
        let count = counted.entry(code.key).or_default();
        count.entered += u64::from(number == 0);
        if let Some((_, lanes)) = count.lanes.iter_mut().find(|(n, _)| *n as usize == number) {
            *lanes += u64::from(active.count_ones());
        }
    }

    /// Number of blocks prepared.
    pub(crate) fn made(&self) -> usize {
        self.made
    }

    /// The counts.
    pub(crate) fn block_counts(&self) -> Vec<BlockCount> {
        let counted = self.counted.iter().flatten();
        let count = |((pc, context), count): (&(u64, u32), &Count)| {
            let Count { entered, lanes } = count.clone();
            BlockCount { pc: *pc, context: *context, entered, lanes }
        };
        counted.map(count).collect()
    }
}
