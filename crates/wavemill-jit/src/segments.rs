//! Runs of operations with strip code, which may be done for one strip after the other.
//!
//! No strip code moves data between strips, so the strips of a row can be computed in any order. What strips have in
//! common are cells: no operation of a segment reads a cell that another one writes, but a mask by strips.

use std::collections::HashSet;

use wavemill_ir::{FloatOp, FloatType, Op, Operand};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use crate::lir::{Refused, Src, Step, Strip};
use crate::unit::{How, UnitBlock, changes_active};

/// A run of operations of a block.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Numbers of the operations with strip code.
    pub strips: Vec<usize>,
    /// Numbers of the operations on cells among them, which can be done before all others.
    pub scalars: Vec<usize>,
    /// Number of the operation after it.
    pub end: usize,
    /// Pairs of cells that receive masks.
    pub masks: Vec<u32>,
    /// Whether it leaves anything to the interpreter for what numbers in rows are.
    pub refuses: bool,
    /// Cells with the bits that are for the interpreter.
    pub refused_bits: Vec<(u32, u32)>,
}

/// The cells of a segment so far, by their offsets in the register file.
#[derive(Default)]
struct Cells {
    /// Cells that are read as numbers.
    read: HashSet<u32>,
    /// Pairs that are read as masks before the segment writes them.
    masks_read: HashSet<u32>,
    /// Pairs that are written.
    masks_written: HashSet<u32>,
}

fn overlap(a: u32, b: u32) -> bool {
    a.abs_diff(b) < 8
}

impl Cells {
    fn is_written(&self, cell: u32) -> bool {
        self.masks_written.iter().any(|pair| cell == *pair || cell == pair + 4)
    }

    fn is_read(&self, cell: u32) -> bool {
        self.read.contains(&cell) || self.masks_read.iter().any(|pair| cell == *pair || cell == pair + 4)
    }

    /// Adds an operation with strip code; nothing if it must not follow.
    fn add(&mut self, strip: &Strip) -> Option<()> {
        let (numbers, masks) = (numbers(strip), masks(strip));
        let strange =
            |pair: u32| self.masks_written.iter().any(|other| *other != pair && overlap(*other, pair));
        if numbers.iter().any(|cell| self.is_written(*cell)) || masks.iter().any(|pair| strange(*pair)) {
            return None;
        }
        if let Some((_, pair)) = strip.mask_result {
            let is_read = self.is_read(pair) || self.is_read(pair + 4);
            let is_new = |other: u32| !self.masks_written.contains(&other);
            let reads = masks.iter().any(|other| overlap(*other, pair) && is_new(*other));
            let reads_number = numbers.iter().any(|cell| *cell == pair || *cell == pair + 4);
            // What is done once more by handlers must find the old mask.
            if strange(pair) || is_read || reads || reads_number {
                return None;
            }
        }
        self.read.extend(numbers);
        self.masks_read.extend(masks.into_iter().filter(|pair| !self.masks_written.contains(pair)));
        self.masks_written.extend(strip.mask_result.map(|(_, pair)| pair));
        Some(())
    }
}

/// The cells that strip code reads as numbers.
fn numbers(strip: &Strip) -> Vec<u32> {
    let mut all = Vec::new();
    for src in strip.steps.iter().flat_map(Step::sources) {
        match src {
            Src::Cell(cell) => all.push(cell),
            Src::CellPair(pair) => all.extend([pair, pair + 4]),
            Src::Row(_)
            | Src::Temp(_)
            | Src::Const(_)
            | Src::ConstPair(_)
            | Src::Quad(_)
            | Src::Below { .. } => {}
        }
    }
    if let Refused::Bits { cell, .. } = strip.refuses {
        all.push(cell);
    }
    all
}

/// The pairs of cells that strip code reads as masks.
fn masks(strip: &Strip) -> Vec<u32> {
    let loaded = strip.steps.iter().filter_map(|step| match step {
        Step::LoadMask { cells, .. } => Some(*cells),
        _ => None,
    });
    loaded.collect()
}

/// Whether strip code leaves something to the interpreter for what numbers in rows are.
fn refuses_numbers(strip: &Strip) -> bool {
    !matches!(strip.refuses, Refused::Nothing | Refused::Bits { .. })
}

impl Segment {
    /// The segment of a block that begins with an operation, and ends before another one at the latest.
    pub(crate) fn at(block: &UnitBlock, begin: usize, limit: usize) -> Segment {
        let mut segment = Segment {
            strips: Vec::new(),
            scalars: Vec::new(),
            end: begin,
            masks: Vec::new(),
            refuses: false,
            refused_bits: Vec::new(),
        };
        let mut cells = Cells::default();
        let mut scalars = Vec::new();
        let mut of_all_lanes = false;
        for at in begin..limit {
            let inst = &block.compiled.block.insts[at];
            if changes_active(inst) {
                break;
            }
            match &block.how[at] {
                How::Nothing => {}
                How::Scalar => {
                    let registers = |operand| match operand {
                        Operand::Uni(cell) => Some(uni_offset(cell)),
                        _ => None,
                    };
                    let reads_result = inst.reads().filter_map(registers).any(|cell| cells.is_written(cell));
                    let in_use = |cell| cells.is_written(cell) || cells.is_read(cell);
                    if reads_result || inst.writes().filter_map(registers).any(in_use) {
                        break;
                    }
                    scalars.push(at);
                }
                How::Strip(strip) => {
                    let refuses = segment.refuses || refuses_numbers(strip);
                    let all = of_all_lanes || strip.all_lanes;
                    // Handlers do all lanes of such operations, not those of some strips only.
                    if (refuses && all) || cells.add(strip).is_none() {
                        break;
                    }
                    (segment.refuses, of_all_lanes) = (refuses, all);
                    if let Refused::Bits { cell, bits } = strip.refuses
                        && !segment.refused_bits.contains(&(cell, bits))
                    {
                        segment.refused_bits.push((cell, bits));
                    }
                    if let Some((_, pair)) = strip.mask_result
                        && !segment.masks.contains(&pair)
                    {
                        segment.masks.push(pair);
                    }
                    segment.scalars.append(&mut scalars);
                    segment.strips.push(at);
                    segment.end = at + 1;
                }
                _ => break,
            }
        }
        segment
    }

    /// Runs of its operations with strip code: from one number up to but without another.
    pub(crate) fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for at in &self.strips {
            match runs.last_mut() {
                // Between them are at most operations without effect.
                Some((_, end)) if !self.scalars.iter().any(|n| (*end..*at).contains(n)) => *end = at + 1,
                _ => runs.push((*at, at + 1)),
            }
        }
        runs
    }

    /// Whether an operation with strip code makes a refused number of a refused number in a row.
    /// Such a row needs no test of its own.
    pub(crate) fn passes_on(op: Op, strip: &Strip, row: u32) -> bool {
        let Op::Float(op, FloatType::F32 | FloatType::PkF32) = op else { return false };
        let is_arithmetic = matches!(op, FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma);
        let is_minimum = matches!(op, FloatOp::Min | FloatOp::Max);
        let tested = match strip.refuses {
            Refused::Results => is_arithmetic,
            Refused::Sources(_) => is_minimum,
            _ => false,
        };
        tested && strip.sources().contains(&row)
    }

    /// The same for the row with the upper halves of f64.
    pub(crate) fn passes_on_wide(
        op: Op,
        strip: &Strip,
        srcs: &[Operand],
        row: u32,
        counts: RegisterCounts,
    ) -> bool {
        let Op::Float(op, FloatType::F64) = op else { return false };
        let is_arithmetic = matches!(op, FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma);
        let number = |src: &Operand| matches!(src, Operand::Row(r) if counts.offset(r.plus(1)) == Some(row));
        is_arithmetic && strip.refuses == Refused::WideResults && srcs.iter().any(number)
    }
}
