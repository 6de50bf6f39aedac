//! Random programs of several blocks with loops, many rows and many temporaries, as machine code.
//!
//! Most operations are ones that machine code computes by itself, so that rows stay in registers, are
//! moved, and leave for their homes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wavemill_interpreter::{Interpreter, operation_costs};
use wavemill_ir::{
    Attrs, Block, Cond, FloatOp, FloatType, Inst, IntOp, LANES, LaneMask, LaneOp, MemType, Op, Operand, Row,
    Terminator, Uni, Width, verify,
};
use wavemill_jit::Jit;
use wavemill_machine::Strict;
use wavemill_oracle::SplitMix64;

use crate::common::{Bench, Who};
use crate::programs::{ADDRESS, COUNTS, OFFSET, instruction, programs, set_up};

/// Temporary rows that blocks use. Each block gives all of them a value first.
const TEMPS: u16 = 12;
/// Failures that are shown, and made shorter before.
const SHOWN: usize = 3;
/// The cells that branches test.
const CONDITION: Uni = Uni(12);

fn is_plain(op: Op) -> bool {
    match op {
        Op::Int(_) | Op::IntCmp(..) | Op::Cvt(_) | Op::Scalar(..) | Op::ScalarCmp(..) => true,
        Op::Float(op, ty) => {
            matches!(
                ty,
                FloatType::F16 | FloatType::PkF16 | FloatType::F32 | FloatType::PkF32 | FloatType::F64
            ) && matches!(
                op,
                FloatOp::Add
                    | FloatOp::Sub
                    | FloatOp::Mul
                    | FloatOp::Fma
                    | FloatOp::Min
                    | FloatOp::Max
                    | FloatOp::Rcp
                    | FloatOp::Rsq
                    | FloatOp::Sqrt
                    | FloatOp::Exp2
                    | FloatOp::Ldexp
                    | FloatOp::FrexpMant
                    | FloatOp::FrexpExp
                    | FloatOp::DivScale
                    | FloatOp::DivFmas
                    | FloatOp::DivFixup
                    | FloatOp::Trunc
                    | FloatOp::Floor
                    | FloatOp::Ceil
                    | FloatOp::RoundEven
            )
        }
        Op::FloatCmp(_, FloatType::F32 | FloatType::F64) | Op::FloatClass(_) | Op::IntSelect(..) => true,
        Op::Load(_, ty) | Op::Store(_, ty) => !matches!(ty, MemType::D16U8 | MemType::D16HiU8),
        Op::Lane(LaneOp::ReadLane | LaneOp::ReadFirstLane | LaneOp::WriteLane) => true,
        _ => false,
    }
}

/// An operation: mostly one with machine code, without rare attributes.
fn operation(random: &mut SplitMix64, guest: u32) -> Inst {
    let calls = random.one_in(12);
    loop {
        let mut inst = instruction(random, guest);
        let faults = inst.op.signature().effects.may_fault;
        if matches!(inst.op, Op::Sync(_)) || (faults && !random.one_in(2)) {
            continue;
        }
        if !calls {
            if !is_plain(inst.op) {
                continue;
            }
            if !random.one_in(4) {
                inst.attrs = Attrs { imm: inst.attrs.imm, ..Attrs::default() };
            }
        }
        // More pressure on a few registers: temporaries in the place of other rows.
        for register in inst.dst.iter_mut().chain(&mut inst.src) {
            if let Operand::Row(row) = register
                && !faults
                && random.one_in(3)
                && COUNTS.offset(*row).is_some()
            {
                *register = Operand::Row(Row::temp(random.below(u64::from(TEMPS) - 2) as u16));
            }
        }
        // The active lanes change now and then: if always, no block would have all of them.
        if inst.writes().any(|cell| cell == Uni::ACTIVE.into()) && !random.one_in(4) {
            continue;
        }
        // Only the first temporaries have a value.
        let has_value = |register: Operand| match register {
            Operand::Row(row) => row.0 < Row::TEMP0.0 || row.0 < Row::temp(TEMPS).0,
            _ => true,
        };
        if inst.problem().is_none() && inst.reads().all(has_value) {
            return inst;
        }
    }
}

fn block(random: &mut SplitMix64, n: u64, blocks: u64) -> Block {
    let at = |n: u64| 0x1000 * (1 + n);
    let mut insts = Vec::new();
    for temp in 0..TEMPS {
        let source = Operand::Row(Row(random.below(24) as u16));
        insts.push(Inst {
            op: Op::Int(IntOp::Mov),
            dst: [Row::temp(temp).into(), Operand::None],
            src: [source, Operand::None, Operand::None, Operand::None, Operand::None],
            attrs: Attrs::default(),
            mask: LaneMask::All,
            guest: 0,
        });
    }
    // An instruction of their own: one that writes a register that the wave lacks does nothing.
    let guests = 2 + random.below(30) as u32;
    insts.extend((1..guests).map(|guest| operation(random, guest)));
    let target = |random: &mut SplitMix64| at(random.below(blocks));
    let terminator = match random.below(8) {
        0 => Terminator::Jump(target(random)),
        1 => Terminator::Jump(0xf000),
        _ => {
            let cond = random.pick(&[Cond::Zero(CONDITION, Width::W32), Cond::NonZero(Uni(14), Width::W64)]);
            Terminator::Branch { cond, taken: target(random), next: target(random) }
        }
    };
    let (start, next) = (at(n), at(n) + 0x800);
    let guest = (0..u64::from(guests)).map(|n| start + 4 * n).collect();
    let covered = start..next;
    Block { start, next, ranges: vec![covered], insts, guest, terminator }
}

/// Without operations that no engine supports, in most blocks.
fn supported(mut block: Block, random: &mut SplitMix64) -> Block {
    if !random.one_in(8) {
        let costs = operation_costs(&block, Interpreter::new().tier());
        let mut costs = costs.iter();
        block.insts.retain(|_| !costs.next().expect("a cost for each operation").unsupported);
    }
    block
}

pub(crate) fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(COUNTS, !seed);
    let count = 1 + random.below(4);
    let mut blocks = (0..count).map(|n| {
        let block = block(&mut random, n, count);
        let block = supported(block, &mut random);
        verify(&block).expect("operations are well formed");
        Arc::new(block)
    });
    bench.block = blocks.next().expect("a block");
    bench.more = blocks.collect();
    bench.budget = random.pick(&[1, 100, 1000]);
    set_up(&mut bench, &mut random);
    arrange_addresses(&mut bench, &mut random);
    bench
}

/// Addresses as kernels have them: one for all lanes, consecutive, with a stride, and in other orders.
fn arrange_addresses(bench: &mut Bench, random: &mut SplitMix64) {
    for row in [ADDRESS, OFFSET] {
        if random.one_in(4) {
            continue;
        }
        let first = 4 * random.below(64);
        let stride = random.pick(&[0, 1, 2, 4, 4, 8, 8, 12, 16, 16, 20, 24, 40]);
        let order = random.pick(&[0, 0, 0, 63, 1, 32]);
        let period = random.pick(&[64, 64, 16, 5]);
        for lane in 0..LANES {
            let offset = first + stride * ((lane as u64 ^ order) % period);
            let value = if row == ADDRESS { bench.buffer + offset } else { offset };
            bench.rows[usize::from(row.0)][lane] = value as u32;
            if row == ADDRESS {
                bench.rows[usize::from(row.0) + 1][lane] = (value >> 32) as u32;
            }
        }
    }
}

/// A program that fails, without the operations that do not matter. `kept` ones at the start of each block stay.
/// Returns what it fails with.
pub(crate) fn shrink(bench: &mut Bench, first: usize, mut failure: String, kept: usize) -> String {
    for n in 0..bench.blocks().count() {
        let mut at = bench.blocks().nth(n).expect("a block").insts.len();
        while at > kept {
            at -= 1;
            let block = if n == 0 { &mut bench.block } else { &mut bench.more[n - 1] };
            let mut shorter = Block::clone(block);
            shorter.insts.remove(at);
            let longer = std::mem::replace(block, Arc::new(shorter));
            match bench.compare_machine_code(first) {
                Err(now) => failure = now,
                Ok(_) if n == 0 => bench.block = longer,
                Ok(_) => bench.more[n - 1] = longer,
            }
        }
    }
    failure
}

/// The kind of an exit, without its address.
fn kind_of(exit: &str) -> String {
    let words = exit.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 3);
    words.take(3).collect::<Vec<_>>().join(" ")
}

#[test]
fn random_programs_are_the_same_as_machine_code() {
    let mut kinds = BTreeSet::new();
    let mut exits = std::collections::BTreeMap::<String, usize>::new();
    let mut failed = Vec::new();
    for seed in 0..programs() / 4 {
        let mut bench = bench(seed);
        kinds.extend(bench.blocks().flat_map(|block| &block.insts).map(|inst| inst.op.signature().name));
        let first = (seed % 7) as usize;
        match bench.compare_machine_code(first) {
            Ok(exit) => *exits.entry(kind_of(&exit)).or_default() += 1,
            Err(difference) => {
                let shown = failed.len() < SHOWN;
                // Temporaries keep their first values.
                let kept = TEMPS.into();
                let difference = if shown { shrink(&mut bench, first, difference, kept) } else { difference };
                failed.push(format!("program {seed}: {difference}"));
            }
        }
    }
    eprintln!("{} names of operations, {exits:#?}", kinds.len());
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(SHOWN)].join("\n"));
}

#[test]
fn waves_go_on_while_machine_code_is_made() {
    if !Jit::is_available() {
        eprintln!("skipped: this host has no machine code");
        return;
    }
    for seed in 0..40 {
        let bench = bench(seed);
        let engine: &'static Jit = Box::leak(Box::new(Jit::in_background(1)));
        let expected = bench.run(Who::Interpreter);
        let check =
            || assert_eq!(expected.difference(&bench.run(Who::Engine(engine))), None, "program {seed}");
        check();
        let begin = Instant::now();
        // A strict run, or one that collects exceptions, is for the interpreter.
        while engine.units() == 0 && bench.strict == Strict::default() && bench.exceptions.is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "program {seed}: no machine code was made");
            check();
        }
        check();
    }
}
