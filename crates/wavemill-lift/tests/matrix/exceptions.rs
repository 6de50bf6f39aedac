//! The exceptions of products of doubles (CDNA4 ISA 7.4), as a program reads them in TRAPSTS.

use wavemill_ir::{LANES, Op as IrOp};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Matrix, MatrixLayout};
use wavemill_lift::gcn::registers;
use wavemill_oracle::SplitMix64;
use wavemill_reference::{F64, Field, Mode, excp, multiply_add};

use super::{A, B, C, TARGETS, parse, products, put, text};
use crate::common::{MODE, Machine, RegisterCounts, lift};

/// `s_getreg_b32 s20, hwreg(HW_REG_TRAPSTS, 0, 9)`.
const READ: u32 = 0xb894_4003;

const INF: u64 = 0x7ff << 52;
const MAX: u64 = INF - 1;
const NORMAL: u64 = 1 << 52;
const SIGN: u64 = 1 << 63;
const ONE: u64 = 0x3ff << 52;
const QUIET: u64 = INF | 1 << 51 | 3;
const SIGNALLING: u64 = INF | 3;

/// The exceptions of `c` plus products in their order, each of them added by a fused multiply-add. A
/// sum between two steps is no source: it is never a denormal one.
fn expected(pairs: &[(u64, u64)], c: u64) -> u32 {
    // The rule does not depend on MODE.
    let env = Mode(MODE).env(Field::Double);
    let (mut found, mut sum) = (0, c);
    for (n, (a, b)) in pairs.iter().enumerate() {
        let mut raised = multiply_add(F64, *a, Some(*b), Some(sum), env);
        let sources_are_normal = [a, b].iter().all(|bits| !F64.is_denormal(**bits));
        if n > 0 && sources_are_normal {
            raised &= !excp::INPUT_DENORMAL;
        }
        found |= raised;
        sum = f64::from_bits(*a).mul_add(f64::from_bits(*b), f64::from_bits(sum)).to_bits();
    }
    found
}

/// Runs a product of matrices whose elements these functions give, by block, row and column. Returns
/// TRAPSTS.
fn trapsts(
    target: Target,
    mode: u32,
    line: &str,
    exec: u64,
    [a, b, c]: [&dyn Fn(u32, u32, u32) -> u64; 3],
) -> u32 {
    let inst = parse(target, line);
    let layout = MatrixLayout::of(&inst).expect("a layout");
    let shape = layout.shape();
    let mut matrices = Vec::new();
    for (first, matrix, of) in [(A, Matrix::A, a), (B, Matrix::B, b), (C, Matrix::C, c)] {
        let mut rows = vec![[0; LANES]; layout.registers(matrix) as usize];
        let (height, width) = match matrix {
            Matrix::A => (shape.rows, shape.depth),
            Matrix::B => (shape.depth, shape.columns),
            _ => (shape.rows, shape.columns),
        };
        for block in 0..shape.blocks {
            for row in 0..height {
                for column in 0..width {
                    let location = layout.location(matrix, block, row, column).expect("an element");
                    put(&mut rows, location, of(block, row, column));
                }
            }
        }
        matrices.push((first, rows));
    }
    let mut machine = Machine::new(target);
    machine.mode = mode;
    machine.registers = RegisterCounts { sgprs: 32, vgprs: 128, accs: 128 };
    let init = |regs: &mut wavemill_machine::Registers| {
        regs.set_uni64(registers::EXEC, exec);
        for (first, rows) in &matrices {
            for (n, row) in (*first..).zip(rows) {
                regs.set_row(registers::vgpr(n), row);
            }
        }
    };
    let words = &inst.words()[..inst.size() / 4];
    let outcome = machine.run(&[words, &[READ]].concat(), |regs, _| init(regs));
    // Collecting exceptions changes no result.
    let unwatched = machine.run(words, |regs, _| init(regs));
    assert!(outcome.wave.vgprs == unwatched.wave.vgprs, "`{line}`");
    outcome.sgpr(20)
}

/// The instructions with f64 results.
fn doubles(target: Target) -> Vec<String> {
    let is_double = |line: &String| line.contains("_f64_");
    products(target).map(|op| text(target, op, "")).filter(is_double).collect()
}

#[test]
fn products_of_doubles_raise_exceptions() {
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        let lines = doubles(target);
        assert_eq!(lines.len(), 2, "{target}: {lines:?}");
        for line in &lines {
            for (a, b, c, raised) in [
                (ONE, ONE, ONE, 0),
                (INF, 0, ONE, excp::INVALID),
                (INF, ONE, SIGN | INF, excp::INVALID),
                (INF, ONE, INF, 0),
                (QUIET, ONE, ONE, 0),
                (SIGNALLING, ONE, ONE, excp::INVALID),
                (ONE, SIGNALLING, QUIET, excp::INVALID),
                (ONE, QUIET, SIGNALLING, excp::INVALID),
                (1, ONE, 0, excp::INPUT_DENORMAL),
                (ONE, ONE, 1, excp::INPUT_DENORMAL | excp::INEXACT),
                (QUIET, 1, ONE, excp::INPUT_DENORMAL),
                (QUIET, ONE, 1, excp::INPUT_DENORMAL),
                (MAX, MAX, 0, excp::OVERFLOW | excp::INEXACT),
                (NORMAL | 1, 0x3fe << 52, 0, excp::UNDERFLOW | excp::INEXACT),
                (NORMAL, 0x3fe << 52, 0, 0),
                (ONE | 1, ONE | 1, 0, excp::INEXACT),
            ] {
                // One product in the last block, at row 3, column 1 and the last k, and zeros elsewhere.
                let inst = parse(target, line);
                let shape = MatrixLayout::of(&inst).expect("a layout").shape();
                let last = shape.blocks - 1;
                let k = shape.depth - 1;
                let at = |holds: bool, bits: u64| if holds { bits } else { 0 };
                let of_a = |block, row, column| at((block, row, column) == (last, 3, k), a);
                let of_b = |block, row, column| at((block, row, column) == (last, k, 1), b);
                let of_c = |block, row, column| at((block, row, column) == (last, 3, 1), c);
                // An infinity or a NaN meets the zeros of other columns and rows.
                let others = if [a, b].contains(&INF) { excp::INVALID } else { 0 };
                let sources: [&dyn Fn(u32, u32, u32) -> u64; 3] = [&of_a, &of_b, &of_c];
                for (mode, exec) in [(MODE, u64::MAX), (0x300, 1), (0x3ff, 0)] {
                    let found = trapsts(target, mode, line, exec, sources);
                    assert_eq!(found, raised | others, "`{line}` {a:x} * {b:x} + {c:x}, MODE {mode:#x}");
                }
            }
        }
    }
}

/// Chains of four: each step counts, and a sum between two steps is no source.
#[test]
fn each_step_of_a_sum_raises() {
    const SPECIAL: [u64; 10] = [0, SIGN, 1, NORMAL, ONE, ONE | 1, MAX, INF, SIGN | INF, SIGNALLING];
    let mut random = SplitMix64::new(1717);
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        for line in doubles(target) {
            let shape = MatrixLayout::of(&parse(target, &line)).expect("a layout").shape();
            let depth = shape.depth as usize;
            assert_eq!(depth, 4);
            let mut kinds = 0;
            for _ in 0..200 {
                // Products around the smallest normal number, or of everything.
                let tiny = random.one_in(3);
                let mut pick = || match random.below(3) {
                    _ if tiny => random.next_u64() & (SIGN | 0x1f << 52 | ((1 << 52) - 1)) | 0x1e0 << 52,
                    0 => SPECIAL[random.below(SPECIAL.len() as u64) as usize],
                    1 => ONE + (random.below(5) << 52),
                    _ => random.next_u64() & (SIGN | ((1 << 52) - 1)) | 0x20 << 52,
                };
                let pairs: Vec<(u64, u64)> = (0..depth).map(|_| (pick(), pick())).collect();
                let c = if tiny { 0 } else { pick() };
                // All rows of A are alike, and all columns of B.
                let of_a = |_, _, k: u32| pairs[k as usize].0;
                let of_b = |_, k: u32, _| pairs[k as usize].1;
                let of_c = |_, _, _| c;
                let found = trapsts(target, MODE, &line, u64::MAX, [&of_a, &of_b, &of_c]);
                let expected = expected(&pairs, c);
                assert_eq!(found, expected, "`{line}`: {pairs:x?} + {c:x}");
                kinds |= expected;
            }
            assert_eq!(kinds, 0x3b, "random sums raise everything but division by zero");
        }
    }
    // The first step gives the denormal 2^-1023, which is exact, and the others add zeros.
    let of_a = |_, _, k: u32| if k == 0 { NORMAL } else { 0 };
    let of_b = |_, k: u32, _| if k == 0 { 0x3fe << 52 } else { ONE };
    let zero = |_, _, _| 0;
    for line in doubles(Target::Gfx942) {
        assert_eq!(trapsts(Target::Gfx942, MODE, &line, u64::MAX, [&of_a, &of_b, &zero]), 0, "`{line}`");
    }
}

/// The matrix core raises nothing for other formats (CDNA4 ISA 7.4).
#[test]
fn other_products_raise_nothing() {
    for target in TARGETS {
        for op in products(target) {
            let line = text(target, op, "");
            let inst = parse(target, &line);
            let block = lift(target, &inst.words()[..inst.size() / 4]);
            let operation = block.insts.last().expect("an operation");
            assert!(matches!(operation.op, IrOp::Matrix(_)), "{block}");
            assert_eq!(operation.op.raises(), line.contains("_f64_"), "`{line}` on {target}");
            if operation.op.raises() {
                continue;
            }
            let mut machine = Machine::new(target);
            machine.registers = RegisterCounts { sgprs: 32, vgprs: 128, accs: 128 };
            let words = &inst.words()[..inst.size() / 4];
            // All ones are NaNs in most formats; and large numbers overflow.
            for bits in [0xffff_ffff, 0x7f80_0001, 0x7f7f_7f7f, 0x0001_0001] {
                let outcome = machine.run(&[words, &[READ]].concat(), |regs, _| {
                    regs.set_uni64(registers::EXEC, u64::MAX);
                    for n in 0..96 {
                        regs.set_row(registers::vgpr(n), &[bits; LANES]);
                        regs.set_row(registers::acc(n), &[bits; LANES]);
                    }
                });
                assert_eq!(outcome.sgpr(20), 0, "`{line}` on {target}, {bits:#x}");
            }
        }
    }
}
