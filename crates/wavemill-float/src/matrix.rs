//! Matrix products, by every rule of summation of the IR.

use std::cmp::max;

use wavemill_ir::{FpEnv, LANES, MatrixLocation, MatrixOp, MatrixOperand, MatrixSum, NumberFormat, Round};

use crate::arith::{add, fma_values, mul};
use crate::exceptions::{Exceptions, quietly, watched};
use crate::format::{Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, F64, Format, Fp4, Fp6, Fp8, Fp8Fnuz};
use crate::nan;
use crate::value::{Exact, Value, flush_in, round};

/// Fraction bits of a decoded factor or addend.
const FRACTION: i32 = 23;
/// The exponent of a group of products that are all zero.
const NO_EXPONENT: i32 = -999;
/// The code of a scale that makes its factors NaN.
const NAN_SCALE: u8 = 0xff;

/// The environment of matrix products: to nearest even, denormals kept.
const ENV: FpEnv = FpEnv {
    round: Round::NearestEven,
    denorm_in: true,
    denorm_out: true,
    ieee: true,
    dx10_clamp: false,
    fp16_ovfl: false,
};

/// A factor: its bits, and the code of its scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixFactor {
    /// The bits of its format.
    pub bits: u64,
    /// The exponent of its scale plus 127; 255 makes it NaN.
    pub scale: u8,
}

impl MatrixFactor {
    /// The scale 1.
    pub const UNSCALED: u8 = 127;

    /// A factor without a scale.
    #[must_use]
    pub const fn new(bits: u64) -> MatrixFactor {
        MatrixFactor { bits, scale: MatrixFactor::UNSCALED }
    }
}

/// One element of a matrix product: `c` plus the products of the factors, in the order of k. Of a
/// sparse product, only the factors whose A is stored. The signs that the operation flips are
/// flipped here.
///
/// Only an f64 element raises exceptions (CDNA4 ISA 7.4): those of each step of its chain. A denormal
/// or signalling NaN counts if it is a source (*modelled*).
#[must_use]
pub fn matrix_element(op: &MatrixOp, a: &[MatrixFactor], b: &[MatrixFactor], c: u64, env: FpEnv) -> u64 {
    let sign = |format: NumberFormat, bit: u32| {
        u64::from(op.negate >> bit & 1).checked_shl(format.bits() - 1).unwrap_or(0)
    };
    let (sign_a, sign_b) = (sign(op.a, 0), sign(op.b, 1));
    let pairs = a.iter().zip(b).map(|(a, b)| {
        let (a, b) =
            (MatrixFactor { bits: a.bits ^ sign_a, ..*a }, MatrixFactor { bits: b.bits ^ sign_b, ..*b });
        (a, b)
    });
    let pairs: Vec<_> = pairs.collect();
    let c = c ^ sign(op.c, 2);
    match op.c {
        NumberFormat::F64 => chain::<F64>(op, &pairs, c, env),
        NumberFormat::I32 => integer(&pairs, c, env),
        _ => quietly(|| single_element(op, &pairs, c, env)),
    }
}

/// [`matrix_element`] with an f32 result.
fn single_element(op: &MatrixOp, pairs: &[(MatrixFactor, MatrixFactor)], c: u64, env: FpEnv) -> u64 {
    let sum = match op.sum {
        MatrixSum::Chain | MatrixSum::Wrap => chain::<F32>(op, pairs, c, env),
        MatrixSum::Tree { width } => tree(op, pairs, c, width.into()),
        MatrixSum::Exact { group } => groups(op, pairs, c, group, exact),
        MatrixSum::Truncated { group, product_bits, sum_bits, halves } => {
            let rule = Truncation { product_bits: product_bits.into(), sum_bits: sum_bits.into(), halves };
            groups(op, pairs, c, group, |products, c| rule.sum(products, c))
        }
    };
    let infinite = |format, factor: &MatrixFactor| matches!(decode(format, *factor), Term::Inf { .. });
    let came_in = || F32::is_inf(c) || pairs.iter().any(|(a, b)| infinite(op.a, a) || infinite(op.b, b));
    let clamps = env.fp16_ovfl && F32::is_inf(sum) && !came_in();
    if clamps { sum & F32::SIGN | F32::MAX } else { sum }
}

/// The sources of a matrix product: rows of 64 lanes.
#[derive(Clone, Copy, Debug)]
pub struct MatrixSources<'a> {
    /// First factor.
    pub a: &'a [[u32; LANES]],
    /// Second factor.
    pub b: &'a [[u32; LANES]],
    /// Addend, one row for each cell.
    pub c: &'a [[u32; LANES]],
    /// The indices of a sparse A, or the scales of A.
    pub extra_a: [u32; LANES],
    /// The scales of B.
    pub scales_b: [u32; LANES],
}

/// `bits` bits at a location; bits of missing rows are 0.
fn read(rows: &[[u32; LANES]], location: MatrixLocation, bits: u32) -> u64 {
    let (first, shift) = (location.bit as usize / 32, location.bit % 32);
    let cell = |n: usize| rows.get(first + n).map_or(0, |row| row[location.lane as usize % LANES]);
    let both = u64::from(cell(0)) | u64::from(cell(1)) << 32;
    both >> shift & (u64::MAX >> (64 - bits))
}

/// Calls `each` with the location, the factors and the addend of each element of a product.
fn for_elements(
    op: &MatrixOp,
    sources: &MatrixSources<'_>,
    mut each: impl FnMut(MatrixLocation, &[MatrixFactor], &[MatrixFactor], u64),
) {
    use MatrixOperand::{A, B};
    let (bits_a, bits_b, bits_c) = (op.a.bits(), op.b.bits(), op.c.bits());
    let (extra_a, scales_b) = ([sources.extra_a], [sources.scales_b]);
    let (rows, columns) = (u32::from(op.rows), u32::from(op.columns));
    let stored = op.stored_depth();
    let scale = |cells: &[[u32; LANES]], matrix, along, k| match op.scales {
        Some(_) => read(cells, op.scale_location(matrix, along, k), 8) as u8,
        None => MatrixFactor::UNSCALED,
    };
    // The column of A, and row of B, of a stored element.
    let column_of = |row, n| match op.sparse {
        Some(_) => n / 2 * 4 + read(&extra_a, op.index_location(row, n), 2) as u32,
        None => n,
    };
    for block in 0..u32::from(op.blocks) {
        for row in 0..rows {
            let a: Vec<MatrixFactor> = (0..stored)
                .map(|k| MatrixFactor {
                    bits: read(sources.a, op.a_location(block, row, k), bits_a),
                    scale: scale(&extra_a, A, row, k),
                })
                .collect();
            let columns_of_a: Vec<u32> = (0..stored).map(|n| column_of(row, n)).collect();
            for column in 0..columns {
                let b: Vec<MatrixFactor> = columns_of_a
                    .iter()
                    .map(|k| MatrixFactor {
                        bits: read(sources.b, op.b_location(block, *k, column), bits_b),
                        scale: scale(&scales_b, B, column, *k),
                    })
                    .collect();
                let location = op.c_location(block, row, column);
                each(location, &a, &b, read(sources.c, location, bits_c));
            }
        }
    }
}

/// The rows of the result of a product.
#[must_use]
pub fn matrix_product(op: &MatrixOp, sources: &MatrixSources<'_>, env: FpEnv) -> Vec<[u32; LANES]> {
    let mut result = vec![[0; LANES]; op.cells(MatrixOperand::C) as usize];
    for_elements(op, sources, |location, a, b, c| {
        let element = matrix_element(op, a, b, c, env);
        let (first, lane) = (location.bit as usize / 32, location.lane as usize);
        for (n, cell) in result[first..].iter_mut().take(op.c.bits() as usize / 32).enumerate() {
            cell[lane] = (element >> (32 * n)) as u32;
        }
    });
    result
}

/// The exceptions that a product raises in each lane: those of the elements that the lane holds.
#[must_use]
pub fn matrix_exceptions(op: &MatrixOp, sources: &MatrixSources<'_>, env: FpEnv) -> [Exceptions; LANES] {
    let mut raised = [Exceptions::NONE; LANES];
    for_elements(op, sources, |location, a, b, c| {
        raised[location.lane as usize] |= watched(|| matrix_element(op, a, b, c, env)).1;
    });
    raised
}

/// Integers of 8 bits into 32.
fn integer(pairs: &[(MatrixFactor, MatrixFactor)], c: u64, env: FpEnv) -> u64 {
    let product = |(a, b): &(MatrixFactor, MatrixFactor)| i64::from(a.bits as i8) * i64::from(b.bits as i8);
    let sum = i64::from(c as i32) + pairs.iter().map(product).sum::<i64>();
    let sum = if env.fp16_ovfl { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
    u64::from(sum as u32)
}

/// Calls a function that is generic over a format.
macro_rules! with_format {
    ($format:expr, $f:ident :: <_ $(, $more:ty)?>($($arg:expr),*)) => {
        match $format {
            NumberFormat::F16 => $f::<F16 $(, $more)?>($($arg),*),
            NumberFormat::Bf16 => $f::<Bf16 $(, $more)?>($($arg),*),
            NumberFormat::Fp8 => $f::<Fp8 $(, $more)?>($($arg),*),
            NumberFormat::Bf8 => $f::<Bf8 $(, $more)?>($($arg),*),
            NumberFormat::Fp8Fnuz => $f::<Fp8Fnuz $(, $more)?>($($arg),*),
            NumberFormat::Bf8Fnuz => $f::<Bf8Fnuz $(, $more)?>($($arg),*),
            NumberFormat::Fp6 => $f::<Fp6 $(, $more)?>($($arg),*),
            NumberFormat::Bf6 => $f::<Bf6 $(, $more)?>($($arg),*),
            NumberFormat::Fp4 => $f::<Fp4 $(, $more)?>($($arg),*),
            NumberFormat::F64 => $f::<F64 $(, $more)?>($($arg),*),
            NumberFormat::F32 | NumberFormat::Xf32 | NumberFormat::I8 | NumberFormat::I32 => {
                $f::<F32 $(, $more)?>($($arg),*)
            }
        }
    };
}

/// The bits of a factor that count: the mantissa of an xf32 has 10 bits, and the others are cut.
fn significant(format: NumberFormat, bits: u64) -> u64 {
    match format {
        NumberFormat::Xf32 if !F32::is_nan(bits) => bits & !0x1fff,
        _ => bits,
    }
}

/// The NaN of the result for a NaN of a factor.
fn nan_of<S: Format, D: Format>(bits: u64) -> Option<u64> {
    S::is_nan(bits).then(|| nan::convert::<S, D>(bits))
}

fn unpacked<S: Format>(bits: u64, env: FpEnv) -> Value {
    Value::unpack::<S>(bits, env)
}

/// The value of a factor with its scale; a denormal f32 reads as zero if the mode says so.
fn value(format: NumberFormat, factor: MatrixFactor, env: FpEnv) -> Value {
    if factor.scale == NAN_SCALE {
        return Value::Nan;
    }
    let flushes = matches!(format, NumberFormat::F32) && !env.denorm_in;
    let env = FpEnv { denorm_in: !flushes, ..ENV };
    let bits = significant(format, factor.bits);
    match with_format!(format, unpacked::<_>(bits, env)) {
        Value::Finite(mut number) => {
            number.exp += i32::from(factor.scale) - i32::from(MatrixFactor::UNSCALED);
            Value::Finite(number)
        }
        special => special,
    }
}

/// The NaN that a factor makes of the result.
fn factor_nan<D: Format>(format: NumberFormat, factor: MatrixFactor) -> Option<u64> {
    if factor.scale == NAN_SCALE {
        return Some(nan::invalid::<D>());
    }
    with_format!(format, nan_of::<_, D>(factor.bits))
}

/// [`MatrixSum::Chain`].
fn chain<D: Format>(op: &MatrixOp, pairs: &[(MatrixFactor, MatrixFactor)], c: u64, env: FpEnv) -> u64 {
    // The addend is a source; a sum between two steps is none.
    flush_in::<D>(c, ENV);
    pairs.iter().fold(c, |sum, (a, b)| {
        let [of_a, of_b] = [factor_nan::<D>(op.a, *a), factor_nan::<D>(op.b, *b)];
        let nan = of_a.or(of_b).or(nan_of::<D, D>(sum));
        let (a, b) = (value(op.a, *a, env), value(op.b, *b, env));
        fma_values::<D>(a, b, quietly(|| unpacked::<D>(sum, ENV)), nan, ENV)
    })
}

/// A denormal or a zero as +0.
fn flushed<F: Format>(bits: u64) -> u64 {
    if bits & F::MAGNITUDE < F::HIDDEN { 0 } else { bits }
}

/// A denormal f32 as the zero of its sign.
fn flushed_result(bits: u64) -> u64 {
    if F32::is_denormal(bits) { bits & F32::SIGN } else { bits }
}

/// A factor as f32; denormals are +0.
fn single<S: Format>(bits: u64) -> u64 {
    let bits = flushed::<S>(bits);
    match Value::unpack::<S>(bits, ENV) {
        Value::Nan => nan::convert::<S, F32>(bits),
        Value::Inf { neg } => crate::value::inf::<F32>(neg),
        Value::Finite(number) => round::<F32>(number.exact(), ENV),
    }
}

/// [`MatrixSum::Tree`].
fn tree(op: &MatrixOp, pairs: &[(MatrixFactor, MatrixFactor)], c: u64, width: usize) -> u64 {
    let single =
        |format, factor: MatrixFactor| with_format!(format, single::<_>(significant(format, factor.bits)));
    let plus = |x, y| flushed_result(add::<F32>([x, y, 0], ENV));
    let product = |(a, b): &(MatrixFactor, MatrixFactor)| {
        flushed_result(mul::<F32>([single(op.a, *a), single(op.b, *b), 0], ENV))
    };
    let products: Vec<u64> = pairs.iter().map(product).collect();
    products.chunks(width).fold(flushed::<F32>(c), |sum, group| {
        let pairs = group.chunks(2).map(|pair| pair.iter().copied().reduce(plus).unwrap_or(0));
        plus(sum, pairs.reduce(plus).unwrap_or(0))
    })
}

/// A term of a sum. Denormals are not normalised: they have the exponent of the smallest normal
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Term {
    Nan,
    Inf {
        neg: bool,
    },
    /// `sig * 2^(exp - fraction bits)`, where the fraction bits are 23, and 46 for products.
    Finite {
        neg: bool,
        sig: u64,
        exp: i32,
    },
}

fn term<F: Format>(bits: u64) -> Term {
    let neg = bits & F::SIGN != 0;
    if F::is_nan(bits) {
        return Term::Nan;
    }
    if F::is_inf(bits) {
        return Term::Inf { neg };
    }
    let field = F::exp_field(bits);
    let sig = bits & F::MANTISSA | if field == 0 { 0 } else { F::HIDDEN };
    let sig = if F::MAN > 23 { sig >> (F::MAN - 23) } else { sig << (23 - F::MAN) };
    Term::Finite { neg, sig, exp: max(field, 1) - F::BIAS }
}

fn decode(format: NumberFormat, factor: MatrixFactor) -> Term {
    if factor.scale == NAN_SCALE {
        return Term::Nan;
    }
    match with_format!(format, term::<_>(significant(format, factor.bits))) {
        Term::Finite { neg, sig, exp } => {
            let exp = exp + i32::from(factor.scale) - i32::from(MatrixFactor::UNSCALED);
            Term::Finite { neg, sig, exp }
        }
        special => special,
    }
}

impl Term {
    fn times(self, other: Term) -> Term {
        match (self, other) {
            (Term::Nan, _) | (_, Term::Nan) => Term::Nan,
            (Term::Finite { neg, sig, exp }, Term::Finite { neg: neg_b, sig: sig_b, exp: exp_b }) => {
                Term::Finite { neg: neg != neg_b, sig: sig * sig_b, exp: exp + exp_b }
            }
            (Term::Inf { .. }, Term::Finite { sig: 0, .. })
            | (Term::Finite { sig: 0, .. }, Term::Inf { .. }) => Term::Nan,
            (a, b) => Term::Inf { neg: a.is_negative() != b.is_negative() },
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Term::Nan => false,
            Term::Inf { neg } | Term::Finite { neg, .. } => neg,
        }
    }
}

/// The sum if some term is not finite: NaN for infinities of both signs.
fn special(terms: impl Iterator<Item = Term>) -> Option<u64> {
    let mut infinity = None;
    for term in terms {
        match term {
            Term::Nan => return Some(nan::invalid::<F32>()),
            Term::Inf { neg } if infinity == Some(!neg) => return Some(nan::invalid::<F32>()),
            Term::Inf { neg } => infinity = Some(neg),
            Term::Finite { .. } => {}
        }
    }
    infinity.map(crate::value::inf::<F32>)
}

/// Sums groups of products one after the other into the result so far.
fn groups(
    op: &MatrixOp,
    pairs: &[(MatrixFactor, MatrixFactor)],
    c: u64,
    group: u8,
    sum: impl Fn(&[Term], Term) -> u64,
) -> u64 {
    let products: Vec<Term> = pairs.iter().map(|(a, b)| decode(op.a, *a).times(decode(op.b, *b))).collect();
    products.chunks(group.into()).fold(c, |so_far, products| sum(products, term::<F32>(so_far)))
}

/// Limbs of a sum that holds every product and addend exactly: from 2^-384 to 2^640.
const LIMBS: usize = 32;
/// Weight of the lowest bit of the sum.
const LOWEST: i32 = -384;

/// [`MatrixSum::Exact`]: one group.
fn exact(products: &[Term], c: Term) -> u64 {
    if let Some(result) = special(products.iter().copied().chain([c])) {
        return result;
    }
    let with_weight = products.iter().map(|term| (*term, 2 * FRACTION)).chain([(c, FRACTION)]);
    let mut limbs = [0i64; LIMBS];
    for (term, fraction) in with_weight {
        let Term::Finite { neg, sig, exp } = term else { continue };
        let at = (exp - fraction - LOWEST) as usize;
        let placed = u128::from(sig) << (at % 32);
        for part in 0..3 {
            let digit = (placed >> (32 * part)) as u32;
            limbs[at / 32 + part] += if neg { -i64::from(digit) } else { digit.into() };
        }
    }
    let carried = |limbs: &mut [i64; LIMBS]| {
        let mut carry = 0;
        for limb in limbs.iter_mut() {
            let sum = *limb + carry;
            *limb = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        carry < 0
    };
    let neg = carried(&mut limbs);
    if neg {
        for limb in &mut limbs {
            *limb = -*limb;
        }
        carried(&mut limbs);
    }
    let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else { return 0 };
    let first = top.saturating_sub(3);
    let sig = limbs[first..=top].iter().rev().fold(0u128, |sig, limb| sig << 32 | *limb as u128);
    let sticky = limbs[..first].iter().any(|limb| *limb != 0);
    let exp = LOWEST + 32 * first as i32 + 127;
    // If bits are cut off, the leading one is in the top limb, so that the 97 bits or more suffice
    // for rounding to 24.
    round::<F32>(Exact { neg, exp, sig, sticky }, ENV)
}

/// The parameters of [`MatrixSum::Truncated`].
#[derive(Clone, Copy)]
struct Truncation {
    product_bits: i32,
    sum_bits: i32,
    halves: bool,
}

/// `x * 2^by`, rounded down.
fn shifted(x: i64, by: i32) -> i64 {
    if by >= 0 { x << by } else { x >> (-by).min(63) }
}

impl Truncation {
    /// Adds products at their largest exponent; the sum has `product_bits` fraction bits.
    fn products(self, products: impl Iterator<Item = Term> + Clone) -> (i64, i32) {
        let exponents = products.clone().filter_map(|term| match term {
            Term::Finite { sig, exp, .. } if sig != 0 => Some(exp),
            _ => None,
        });
        let largest = exponents.max().unwrap_or(NO_EXPONENT);
        let cut = products.map(|term| match term {
            Term::Finite { neg, sig, exp } if sig != 0 => {
                let down = 2 * FRACTION - self.product_bits + largest - exp;
                let kept = (sig >> down.min(63)) as i64;
                if neg { -kept } else { kept }
            }
            _ => 0,
        });
        (cut.sum(), largest)
    }

    /// One group.
    fn sum(self, products: &[Term], c: Term) -> u64 {
        // A product of 2^128 or more is an infinity (`mmasim`).
        let overflows = |sig: u64, exp| exp + i32::from(sig >> (2 * FRACTION + 1) != 0) >= 128;
        let products = products.iter().map(|term| match *term {
            Term::Finite { neg, sig, exp } if !self.halves && sig != 0 && overflows(sig, exp) => {
                Term::Inf { neg }
            }
            term => term,
        });
        if let Some(result) = special(products.clone().chain([c])) {
            return result;
        }
        let Term::Finite { neg, sig, exp: exp_c } = c else { return nan::invalid::<F32>() };
        let (dot, exp_dot) = if self.halves {
            let (even, exp_even) = self.products(products.clone().step_by(2));
            let (odd, exp_odd) = self.products(products.skip(1).step_by(2));
            let exp = max(exp_even, exp_odd);
            (shifted(even, exp_even - exp) + shifted(odd, exp_odd - exp), exp)
        } else {
            self.products(products)
        };
        let exp = max(exp_dot, exp_c);
        let dot = shifted(dot, self.sum_bits + 1 - self.product_bits + exp_dot - exp);
        let addend = if neg { -(sig as i64) } else { sig as i64 };
        let addend = shifted(addend, self.product_bits - FRACTION + exp_c - exp);
        let dropped = self.halves && exp_c < exp - self.product_bits - 1;
        let addend = if dropped { 0 } else { addend << (self.sum_bits + 1 - self.product_bits) };
        let total = dot + addend;
        if total == 0 {
            return 0;
        }
        // The unit of `total` is 2^unit; keep `sum_bits` bits below its leading one, which counts as
        // at least the smallest normal exponent.
        let unit = exp - self.sum_bits - 1;
        let leading = max(63 - total.unsigned_abs().leading_zeros() as i32 + unit, F32::EMIN);
        let down = max(leading - self.sum_bits - unit, 0);
        let kept = total >> down.min(63) << down.min(63);
        let magnitude = Exact::from_u64(kept < 0, kept.unsigned_abs());
        round::<F32>(Exact { exp: magnitude.exp + unit, ..magnitude }, ENV)
    }
}
