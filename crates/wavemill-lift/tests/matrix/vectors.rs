//! Dot products that `mmasim` computed (README.md).

use wavemill_ir::LANES;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Fidelity, Matrix, MatrixLayout, Op};
use wavemill_lift::gcn::registers;

use super::{A, B, C, D, TARGETS, get, parse, products, put, text};
use crate::common::{Machine, RegisterCounts};

/// One dot product: `c` plus the products of `a` and `b` is `d`; none means NaN.
struct Vector {
    line: usize,
    a: Vec<u64>,
    b: Vec<u64>,
    c: u64,
    d: Option<u64>,
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

/// The groups of a file: suffixes of mnemonics, and the vectors of these instructions.
fn groups(text: &str) -> Vec<(Vec<&str>, Vec<Vector>)> {
    let mut groups: Vec<(Vec<&str>, Vec<Vector>)> = Vec::new();
    for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.starts_with("##")) {
        if let Some(head) = text.strip_prefix("# ") {
            let (suffixes, _) = head.split_once(' ').expect("suffixes and K");
            groups.push((suffixes.split(',').collect(), Vec::new()));
            continue;
        }
        let fields: Vec<&str> = text.split(' ').collect();
        let [a, b, c, d] = fields[..] else { panic!("line {}: {text}", line + 1) };
        let list = |text: &str| text.split(',').map(number).collect();
        let d = if d == "nan" { None } else { Some(number(d)) };
        let vector = Vector { line: line + 1, a: list(a), b: list(b), c: number(c), d };
        groups.last_mut().expect("a head before the vectors").1.push(vector);
    }
    groups
}

/// Runs as many dot products at once as the matrices have rows in all blocks: one on each element
/// of the diagonals. Returns what differs.
fn run(target: Target, op: Op, vectors: &[Vector]) -> Vec<String> {
    let inst = parse(target, &text(target, op, ""));
    let layout = MatrixLayout::of(&inst).expect("it has a layout");
    let shape = layout.shape();
    let mut wrong = Vec::new();
    let at_once = (shape.rows * shape.blocks) as usize;
    for chunk in vectors.chunks(at_once) {
        let rows = |matrix| vec![[0; LANES]; layout.registers(matrix) as usize];
        let (mut a, mut b, mut c) = (rows(Matrix::A), rows(Matrix::B), rows(Matrix::C));
        let location = |matrix, n: usize, k: Option<u32>| {
            let (block, i) = (n as u32 / shape.rows, n as u32 % shape.rows);
            let (row, column) = match (matrix, k) {
                (Matrix::A, Some(k)) => (i, k),
                (Matrix::B, Some(k)) => (k, i),
                _ => (i, i),
            };
            layout.location(matrix, block, row, column).expect("the element exists")
        };
        for (n, vector) in chunk.iter().enumerate() {
            for (k, (x, y)) in (0..).zip(vector.a.iter().zip(&vector.b)) {
                put(&mut a, location(Matrix::A, n, Some(k)), *x);
                put(&mut b, location(Matrix::B, n, Some(k)), *y);
            }
            put(&mut c, location(Matrix::C, n, None), vector.c);
        }
        let accumulates = target == Target::Gfx908;
        let mut machine = Machine::new(target);
        machine.registers = RegisterCounts { sgprs: 16, vgprs: 128, accs: 128 };
        let outcome = machine.run(&inst.words()[..2], |regs, _| {
            let mut set = |first: u16, rows: &[[u32; LANES]], acc: bool| {
                for (n, row) in (first..).zip(rows) {
                    regs.set_row(if acc { registers::acc(n) } else { registers::vgpr(n) }, row);
                }
            };
            set(A, &a, false);
            set(B, &b, false);
            set(C, &c, accumulates);
        });
        let rows = if accumulates { &outcome.wave.accs } else { &outcome.wave.vgprs };
        for (n, vector) in chunk.iter().enumerate() {
            let found = get(&rows[usize::from(D)..], location(Matrix::D, n, None));
            let is_nan = match layout.bits(Matrix::D) {
                64 => f64::from_bits(found).is_nan(),
                _ => f32::from_bits(found as u32).is_nan(),
            };
            let right = vector.d.map_or(is_nan, |d| d == found);
            if !right {
                let expected = vector.d.map_or("nan".to_owned(), |d| format!("{d:x}"));
                wrong.push(format!(
                    "line {}: {} gives {found:x}, expected {expected}",
                    vector.line,
                    op.row().name()
                ));
            }
        }
    }
    wrong
}

fn check(target: Target, file: &str, shapes: usize) {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (suffixes, vectors) in groups(file) {
        assert!(vectors.len() >= 200, "{suffixes:?} has {} vectors", vectors.len());
        for suffix in suffixes {
            let name = format!("v_mfma_{suffix}");
            let op = Op::on(target, &name).unwrap_or_else(|| panic!("{target} has no {name}"));
            wrong.extend(run(target, op, &vectors));
            compared += 1;
        }
    }
    assert_eq!(compared, shapes, "instructions");
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} results of {target} differ:\n{shown}", wrong.len());
}

#[test]
fn gfx908_sums_as_mmasim() {
    check(Target::Gfx908, include_str!("gfx908.txt"), 15);
}

#[test]
fn gfx90a_sums_as_mmasim() {
    check(Target::Gfx90a, include_str!("gfx90a.txt"), 22);
}

/// gfx950 follows gfx942 in the instructions that both have, except for 8-bit floats, whose
/// formats differ.
#[test]
fn gfx950_sums_as_gfx942() {
    let mut compared = 0;
    for (suffixes, vectors) in groups(include_str!("gfx942.txt")) {
        let is_other = |suffix: &str| ["fp8", "bf8", "xf32"].iter().any(|format| suffix.contains(format));
        for suffix in suffixes.into_iter().filter(|suffix| !is_other(suffix)) {
            let op = Op::on(Target::Gfx950, &format!("v_mfma_{suffix}")).expect("gfx950 has it");
            let wrong = run(Target::Gfx950, op, &vectors);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            compared += 1;
        }
    }
    assert_eq!(compared, 17);
}

#[test]
fn gfx942_sums_as_mmasim() {
    check(Target::Gfx942, include_str!("gfx942.txt"), 27);
}

/// A product is exact if vectors that hardware confirms cover its rule of sums, or if it is of
/// integers. The others are modelled.
#[test]
fn products_without_vectors_are_modelled() {
    for target in TARGETS {
        let file = match target {
            Target::Gfx908 => include_str!("gfx908.txt"),
            Target::Gfx90a => include_str!("gfx90a.txt"),
            Target::Gfx942 => include_str!("gfx942.txt"),
            _ => "",
        };
        let covered: Vec<Op> = (groups(file).into_iter().flat_map(|(suffixes, _)| suffixes))
            .filter_map(|suffix| Op::on(target, &format!("v_mfma_{suffix}")))
            .collect();
        for op in products(target) {
            let integers = MatrixLayout::of(&parse(target, &text(target, op, "")))
                .is_ok_and(|layout| layout.elem(Matrix::A).is_some_and(|elem| !elem.is_float()));
            let expected =
                if integers || covered.contains(&op) { Fidelity::Exact } else { Fidelity::Modelled };
            assert_eq!(op.row().fidelity(target), expected, "{} on {target}", op.row().name());
        }
    }
}
