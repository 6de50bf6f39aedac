//! Small integers are exact under every rule of summation: every instruction gives the plain
//! product of its matrices, on every tier, whatever EXEC holds.

use wavemill_ir::LANES;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Matrix, MatrixLayout};
use wavemill_lift::gcn::registers;
use wavemill_oracle::SplitMix64;

use super::{A, B, C, D, EXTRA, SCALES_B, TARGETS, encoded, get, parse, products, put, text};
use crate::common::{Machine, RegisterCounts};

/// A matrix of random elements, and its registers.
struct Filled {
    values: std::collections::HashMap<(u32, u32, u32), i64>,
    rows: Vec<[u32; LANES]>,
}

/// Fills a matrix. `layout` has no permutation of lanes or blocks, so that each element has a location
/// of its own.
fn filled(random: &mut SplitMix64, layout: &MatrixLayout, target: Target, matrix: Matrix) -> Filled {
    let elem = layout.elem(matrix).expect("a matrix of numbers");
    let values: &[i64] = match (matrix, elem) {
        (Matrix::C, _) => &[0, 1, -1, 5, -7, 100, -321],
        (_, Elem::I8) => &[0, 1, -1, 2, 127, -128, 77, -100],
        _ => &[0, 1, -1, 2, -2, 3, -3, 1],
    };
    let mut filled =
        Filled { values: Default::default(), rows: vec![[0; LANES]; layout.registers(matrix) as usize] };
    for (block, row, column, location) in layout.elements(matrix) {
        let value = values[random.index(values.len())];
        filled.values.insert((block, row, column), value);
        put(&mut filled.rows, location, encoded(elem, target, value));
    }
    filled
}

/// The lane that feeds a lane of B (CDNA4 ISA 7.1.6.2).
fn source_lane(blgp: u32, lane: u32) -> u32 {
    match blgp {
        0 => lane,
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % 64,
        n => lane % 16 + 16 * (n - 4),
    }
}

/// Runs an instruction and compares it with the product.
fn check(random: &mut SplitMix64, target: Target, line: &str) {
    let inst = parse(target, line);
    let modifiers = inst.modifiers();
    let layout = MatrixLayout::of(&inst).expect("it has a layout");
    let mut plain = modifiers;
    if layout.permutes() {
        (plain.cbsz, plain.abid, plain.blgp) = (0, 0, 0);
    }
    let plain = MatrixLayout::with(inst.op(), &plain).expect("it has a layout");
    let a = filled(random, &plain, target, Matrix::A);
    let mut b = filled(random, &plain, target, Matrix::B);
    let c = filled(random, &plain, target, Matrix::C);
    let shape = layout.shape();
    // After the permutation of lanes, a column of B reads the element of another location.
    if layout.permutes() && modifiers.blgp != 0 {
        let at: std::collections::HashMap<_, _> = plain
            .elements(Matrix::B)
            .map(|(block, row, column, location)| {
                ((u32::from(location.lane), location.bit), (block, row, column))
            })
            .collect();
        let read = plain.elements(Matrix::B).map(|(block, row, column, location)| {
            let lane = source_lane(modifiers.blgp.into(), location.lane.into());
            ((block, row, column), b.values[&at[&(lane, location.bit)]])
        });
        let values = read.collect();
        b.values = values;
    }
    // Sparse: which two of four columns are stored. Scaled: powers of two near 1.
    let mut extra = [[[0; LANES]; 1]; 2];
    let mut column_of = std::collections::HashMap::new();
    let mut scale_of = [std::collections::HashMap::new(), std::collections::HashMap::new()];
    for matrix in layout.matrices() {
        match matrix {
            Matrix::Indices => {
                for (_, row, column, location) in layout.elements(matrix) {
                    // The first of a pair is the smaller one.
                    let pair = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
                    let index = match column % 2 {
                        0 => pair[random.index(6)],
                        _ => [0, 0],
                    };
                    let index = match column % 2 {
                        0 => {
                            column_of.insert((row, column + 1), column * 2 + index[1]);
                            index[0]
                        }
                        _ => column_of[&(row, column)] % 4,
                    };
                    column_of.insert((row, column), column / 2 * 4 + index);
                    put(&mut extra[0], location, index.into());
                }
            }
            Matrix::ScaleA | Matrix::ScaleB => {
                let which = usize::from(matrix == Matrix::ScaleB);
                for (_, row, column, location) in layout.elements(matrix) {
                    let exponent = random.below(4) as u32;
                    let key = if which == 0 { (row, column) } else { (column, row) };
                    scale_of[which].insert(key, exponent);
                    put(&mut extra[which], location, (127 + exponent).into());
                }
            }
            _ => {}
        }
    }
    let accumulates = target == Target::Gfx908;
    let mut machine = Machine::new(target);
    machine.registers = RegisterCounts { sgprs: RegisterCounts::ALL_SGPRS, vgprs: 128, accs: 128 };
    let exec = random.next_u64();
    let addend = if layout.is_sparse() { D } else { C };
    let outcome = machine.run(&inst.words()[..inst.size() / 4], |regs, _| {
        regs.set_uni64(registers::EXEC, exec);
        let mut set = |first: u16, rows: &[[u32; LANES]], acc: bool| {
            for (n, row) in (first..).zip(rows) {
                regs.set_row(if acc { registers::acc(n) } else { registers::vgpr(n) }, row);
            }
        };
        set(A, &a.rows, false);
        set(B, &b.rows, false);
        set(addend, &c.rows, accumulates);
        set(EXTRA, &extra[0], false);
        set(SCALES_B, &extra[1], false);
    });
    let rows = if accumulates { &outcome.wave.accs } else { &outcome.wave.vgprs };
    let found = &rows[usize::from(D)..];
    let elem = layout.elem(Matrix::D).expect("the result is a matrix of numbers");
    for (block, row, column, location) in layout.elements(Matrix::D) {
        let cbsz = if layout.permutes() { modifiers.cbsz } else { 0 };
        let block_a = if cbsz == 0 { block } else { (block >> cbsz << cbsz) + u32::from(modifiers.abid) };
        let stored = if layout.is_sparse() { shape.depth / 2 } else { shape.depth };
        let mut sum = c.values[&(block, row, column)];
        for k in 0..stored {
            let row_b = if layout.is_sparse() { column_of[&(row, k)] } else { k };
            let mut product = a.values[&(block_a, row, k)] * b.values[&(block, row_b, column)];
            if !scale_of[0].is_empty() {
                product <<= scale_of[0][&(row, k / 32)] + scale_of[1][&(column, k / 32)];
            }
            sum += product;
        }
        let expected = encoded(elem, target, sum);
        let found = get(found, location);
        // No rule gives a negative zero for integers, which are never all negative zeros.
        assert_eq!(
            found, expected,
            "`{line}` on {target}: block {block}, row {row}, column {column}: {found:#x}, expected {sum} = {expected:#x}"
        );
    }
}

#[test]
fn products_of_integers_are_exact() {
    let mut random = SplitMix64::new(2026);
    let mut rows = [0; 4];
    for (target, rows) in TARGETS.into_iter().zip(&mut rows) {
        for op in products(target) {
            *rows += 1;
            let layout = MatrixLayout::with(op, &Default::default()).expect("defaults are legal");
            let blocks = layout.shape().blocks;
            let mut all = vec![String::new()];
            if op.row().name().contains("f8f6f4") {
                all.extend((0..5).flat_map(|a| (0..5).map(move |b| format!("cbsz:{a} blgp:{b}"))));
            } else if layout.is_sparse() {
                all.extend([1, 3].map(|abid| format!("abid:{abid}")));
            } else if layout.permutes() {
                all.push(format!("blgp:{}", 1 + random.below(7)));
                if blocks > 1 {
                    let cbsz = 1 + random.below(blocks.ilog2().into());
                    let abid = random.below(1 << cbsz);
                    all.push(format!("cbsz:{cbsz} abid:{abid} blgp:{}", random.below(8)));
                }
            }
            for modifiers in all {
                check(&mut random, target, &text(target, op, &modifiers));
            }
        }
    }
    // The rows of the manuals: dense, sparse and scaled.
    assert_eq!(rows, [20, 27, 46, 68]);
}

#[test]
fn inline_constants_are_the_value_of_every_element() {
    let mut random = SplitMix64::new(5);
    for (line, value, elem) in [
        ("v_mfma_f32_16x16x16_f16 v[96:99], v[8:9], v[16:17], -2.0", -2, Elem::F32),
        ("v_mfma_f64_16x16x4_f64 v[96:103], v[8:9], v[16:17], 4.0", 4, Elem::F64),
        ("v_mfma_i32_16x16x32_i8 v[96:99], v[8:9], v[16:17], 64", 64, Elem::I32),
        ("v_mfma_f32_32x32x8_bf16 v[96:111], v[8:9], v[16:17], 0", 0, Elem::F32),
    ] {
        let inst = parse(Target::Gfx942, line);
        let mut machine = Machine::new(Target::Gfx942);
        machine.registers = RegisterCounts { sgprs: 16, vgprs: 128, accs: 0 };
        let exec = random.next_u64();
        // Factors are zero: the result is the addend.
        let outcome = machine.run(&inst.words()[..2], |regs, _| regs.set_uni64(registers::EXEC, exec));
        let layout = MatrixLayout::of(&inst).expect("it has a layout");
        for (_, row, column, location) in layout.elements(Matrix::D) {
            let found = get(&outcome.wave.vgprs[usize::from(D)..], location);
            assert_eq!(found, encoded(elem, Target::Gfx942, value), "`{line}`, row {row}, column {column}");
        }
    }
}
