//! Matrix products: locations of elements, products of integers, and the numerics of hardware.
//!
//! - Locations: the operation names the same lanes and bits as the layout of the row.
//! - Integers: small integers are exact under every rule, so every row must give the plain product.
//! - Exceptions: those of a fused multiply-add for each step of an f64 sum, and none of others.
//! - Numerics: dot products that `mmasim` computed for the shapes that it knows (README.md here).

mod exceptions;
mod integers;
mod locations;
mod modes;
mod vectors;

use wavemill_ir::LANES;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Inst, Matrix, MatrixLayout, MatrixLocation, Op};

const TARGETS: [Target; 4] = [Target::Gfx908, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

/// Every instruction that multiplies matrices on a target.
fn products(target: Target) -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(move |op| op.row().is_matrix_product(target))
}

/// First VGPRs of the matrices, and of the result.
const A: u16 = 8;
const B: u16 = 16;
const C: u16 = 32;
const EXTRA: u16 = 64;
const SCALES_B: u16 = 65;
const D: u16 = 96;

/// An instruction with its operands at these registers, as text. On gfx908 addend and result are
/// accumulation VGPRs.
fn text(target: Target, op: Op, modifiers: &str) -> String {
    let layout = MatrixLayout::with(op, &parsed_modifiers(modifiers)).expect("legal modifiers");
    let range = |file: &str, first: u16, matrix| match layout.registers(matrix) {
        1 => format!("{file}{first}"),
        n => format!("{file}[{first}:{}]", u32::from(first) + n - 1),
    };
    let file = if target == Target::Gfx908 { "a" } else { "v" };
    let name = op.row().mnemonic(target);
    let (a, b) = (range("v", A, Matrix::A), range("v", B, Matrix::B));
    let d = range(file, D, Matrix::D);
    if layout.is_sparse() {
        return format!("{name} {d}, {a}, {b}, v{EXTRA} {modifiers}");
    }
    let c = range(file, C, Matrix::C);
    if layout.matrices().any(|matrix| matrix == Matrix::ScaleA) {
        return format!("{name} {d}, {a}, {b}, {c}, v{EXTRA}, v{SCALES_B} {modifiers}");
    }
    format!("{name} {d}, {a}, {b}, {c} {modifiers}")
}

/// The modifiers that a text names.
fn parsed_modifiers(text: &str) -> wavemill_isa::gcn::Modifiers {
    let field = |name: &str| {
        let rest = text.split(name).nth(1)?.strip_prefix(':')?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let [cbsz, abid, blgp] = ["cbsz", "abid", "blgp"].map(|name| field(name).unwrap_or(0));
    wavemill_isa::gcn::Modifiers { cbsz, abid, blgp, ..Default::default() }
}

fn parse(target: Target, text: &str) -> Inst {
    wavemill_asm::gcn::parse(target, text).unwrap_or_else(|error| panic!("`{text}` on {target}: {error}"))
}

/// Sets the bits of an element that are 0 so far.
fn put(rows: &mut [[u32; LANES]], location: MatrixLocation, value: u64) {
    for bit in 0..u32::from(location.bits) {
        let at = u32::from(location.bit) + bit;
        rows[at as usize / 32][usize::from(location.lane)] |= ((value >> bit & 1) as u32) << (at % 32);
    }
}

/// The bits of an element.
fn get(rows: &[[u32; LANES]], location: MatrixLocation) -> u64 {
    (0..u32::from(location.bits)).fold(0, |value, bit| {
        let at = u32::from(location.bit) + bit;
        value | u64::from(rows[at as usize / 32][usize::from(location.lane)] >> (at % 32) & 1) << bit
    })
}

/// Exponent bits, fraction bits and bias of a float; none for an integer.
fn float_fields(elem: Elem, target: Target) -> Option<(u32, u32, i32)> {
    let fnuz = i32::from(target == Target::Gfx942);
    Some(match elem {
        Elem::F64 => (11, 52, 1023),
        Elem::F32 | Elem::Xf32 => (8, 23, 127),
        Elem::F16 => (5, 10, 15),
        Elem::Bf16 => (8, 7, 127),
        Elem::Fp8 => (4, 3, 7 + fnuz),
        Elem::Bf8 => (5, 2, 15 + fnuz),
        Elem::Fp6 => (2, 3, 1),
        Elem::Bf6 => (3, 2, 3),
        Elem::Fp4 => (2, 1, 1),
        _ => return None,
    })
}

/// The bits of a small integer, which the format represents.
fn encoded(elem: Elem, target: Target, value: i64) -> u64 {
    let Some((exponent_bits, fraction_bits, bias)) = float_fields(elem, target) else {
        return value as u64 & (u64::MAX >> (64 - elem.bits()));
    };
    if value == 0 {
        return 0;
    }
    let magnitude = value.unsigned_abs();
    let exponent = 63 - magnitude.leading_zeros();
    assert!(exponent <= fraction_bits, "{value} needs more bits than {elem:?} has");
    let fraction = (magnitude << (fraction_bits - exponent)) & ((1 << fraction_bits) - 1);
    let field = (i64::from(exponent) + i64::from(bias)) as u64;
    let sign = u64::from(value < 0) << (exponent_bits + fraction_bits);
    sign | field << fraction_bits | fraction
}
