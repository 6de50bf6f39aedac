//! Integer and bit operations on varying values, for one lane: the exact result, which is then wrapped or saturated.

use wavemill_ir::{CmpPred, IntOp, IntType};

/// Results of an operation in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntResult {
    /// The value, in as many bits as the result has cells.
    pub value: u128,
    /// The lane's bit of the mask result; false if the operation has none.
    pub mask: bool,
}

/// Bits of a source as an unsigned number.
fn unsigned(x: u128, bits: u32) -> i128 {
    (x & ((1 << bits) - 1)) as i128
}

/// Bits of a source as a number in two's complement.
fn signed(x: u128, bits: u32) -> i128 {
    let value = unsigned(x, bits);
    if value >> (bits - 1) == 0 { value } else { value - (1 << bits) }
}

/// Wraps or saturates an exact result to `bits` bits.
#[derive(Clone, Copy)]
struct Fit {
    bits: u32,
    signed: bool,
    clamp: bool,
}

impl Fit {
    fn of(self, exact: i128) -> u128 {
        let (low, high) = match self.signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        };
        let value = if self.clamp { exact.clamp(low, high) } else { exact };
        value as u128 & ((1 << self.bits) - 1)
    }
}

/// Element `n` of a value, each element `bits` wide.
fn element(x: u128, n: u32, bits: u32) -> u128 {
    x >> (n * bits) & ((1 << bits) - 1)
}

/// Packs elements of `bits` bits, each computed from its number.
fn elements(count: u32, bits: u32, of: impl Fn(u32) -> u128) -> u128 {
    (0..count).fold(0, |all, n| all | of(n) << (n * bits))
}

/// Sum of absolute differences of elements; `counts` says which elements of `b` take part.
fn sad(a: u128, b: u128, count: u32, bits: u32, counts: impl Fn(u128) -> bool) -> i128 {
    let pairs = (0..count).map(|n| (element(a, n, bits), element(b, n, bits)));
    pairs.filter(|(_, b)| counts(*b)).map(|(a, b)| a.abs_diff(b) as i128).sum()
}

/// The number of bits before the first one that is set, all ones if none is.
fn position(count: u32, none: bool) -> u128 {
    if none { 0xffff_ffff } else { u128::from(count) }
}

/// A byte that `v_perm_b32` selects from eight.
fn selected(bytes: u128, selector: u128) -> u128 {
    match selector {
        0..=7 => element(bytes, selector as u32, 8),
        // The sign of a half, in all bits.
        8..=11 => 0xff * element(bytes, 16 * (selector as u32 - 8) + 15, 1),
        12 => 0,
        _ => 0xff,
    }
}

/// The median of three.
fn median(mut three: [i128; 3]) -> i128 {
    three.sort_unstable();
    three[1]
}

/// Performs an operation on the sources of a lane. `lane` is the number of the lane among 64. A
/// mask as a source is the lane's bit of it. Selects have been applied. `clamp` matters for
/// operations that saturate ([`Signature::saturates`](wavemill_ir::Signature::saturates)).
#[must_use]
pub fn int_op(op: IntOp, sources: [u128; 3], lane: u32, imm: i32, clamp: bool) -> IntResult {
    let [a, b, c] = sources;
    let clamp = clamp && op.signature().saturates;
    let fit = |bits, signed| Fit { bits, signed, clamp };
    let (u16s, i16s, u32s, i32s) = (fit(16, false), fit(16, true), fit(32, false), fit(32, true));
    let (u, i) = (|x| unsigned(x, 32), |x| signed(x, 32));
    let (uh, ih) = (|x| unsigned(x, 16), |x| signed(x, 16));
    let packed = |fit: Fit, of: &dyn Fn([u128; 3]) -> i128| {
        elements(2, 16, |n| fit.of(of([a, b, c].map(|x| element(x, n, 16)))))
    };
    let dot = |count: u32, bits: u32, of: fn(u128, u32) -> i128| -> i128 {
        (0..count).map(|n| of(element(a, n, bits), bits) * of(element(b, n, bits), bits)).sum()
    };
    // The mask result of a sum says whether the sum left the range.
    let carries = |exact: i128| IntResult { value: u32s.of(exact), mask: !(0..1 << 32).contains(&exact) };
    let four_sums = |bits: u32, masked: bool| {
        let counts = |byte: u128| !masked || byte != 0;
        elements(4, bits, |n| {
            let sum = sad(element(a >> (8 * n), 0, 32), b, 4, 8, counts);
            fit(bits, false).of(unsigned(element(c, n, bits), bits) + sum)
        })
    };
    let value = match op {
        IntOp::AddCo => return carries(u(a) + u(b)),
        IntOp::SubCo => return carries(u(a) - u(b)),
        IntOp::AddCi => return carries(u(a) + u(b) + unsigned(c, 1)),
        IntOp::SubCi => return carries(u(a) - u(b) - unsigned(c, 1)),
        IntOp::MadU64U32 => {
            let exact = u(a) * u(b) + unsigned(c, 64);
            return IntResult { value: fit(64, false).of(exact), mask: exact >> 64 != 0 };
        }
        IntOp::MadI64I32 => {
            let exact = i(a) * i(b) + signed(c, 64);
            return IntResult { value: fit(64, true).of(exact), mask: exact < 0 };
        }
        IntOp::Mov | IntOp::Mov64 => a,
        IntOp::Not => !a & 0xffff_ffff,
        IntOp::And => a & b,
        IntOp::Or => a | b,
        IntOp::Xor => a ^ b,
        IntOp::Xnor => !(a ^ b) & 0xffff_ffff,
        IntOp::Add => u32s.of(u(a) + u(b)),
        IntOp::Sub => u32s.of(u(a) - u(b)),
        IntOp::AddI => i32s.of(i(a) + i(b)),
        IntOp::SubI => i32s.of(i(a) - i(b)),
        IntOp::CarryOut => (u(a) + u(b) > 0xffff_ffff).into(),
        IntOp::MulLo => u32s.of(u(a) * u(b)),
        IntOp::MulHiU => u32s.of((u(a) * u(b)) >> 32),
        IntOp::MulHiI => u32s.of((i(a) * i(b)) >> 32),
        IntOp::MulU24 => u32s.of(unsigned(a, 24) * unsigned(b, 24)),
        IntOp::MulI24 => i32s.of(signed(a, 24) * signed(b, 24)),
        IntOp::MulHiU24 => u32s.of((unsigned(a, 24) * unsigned(b, 24)) >> 32),
        IntOp::MulHiI24 => u32s.of((signed(a, 24) * signed(b, 24)) >> 32),
        IntOp::MadU32 => u32s.of(u(a) * u(b) + u(c)),
        IntOp::MadU24 => u32s.of(unsigned(a, 24) * unsigned(b, 24) + u(c)),
        IntOp::MadI24 => i32s.of(signed(a, 24) * signed(b, 24) + i(c)),
        IntOp::MadU32U16 => u32s.of(uh(a) * uh(b) + u(c)),
        IntOp::MadI32I16 => i32s.of(ih(a) * ih(b) + i(c)),
        IntOp::MinI => u32s.of(i(a).min(i(b))),
        IntOp::MaxI => u32s.of(i(a).max(i(b))),
        IntOp::MinU => a.min(b),
        IntOp::MaxU => a.max(b),
        IntOp::Min3I => u32s.of(i(a).min(i(b)).min(i(c))),
        IntOp::Max3I => u32s.of(i(a).max(i(b)).max(i(c))),
        IntOp::Med3I => u32s.of(median([i(a), i(b), i(c)])),
        IntOp::Min3U => a.min(b).min(c),
        IntOp::Max3U => a.max(b).max(c),
        IntOp::Med3U => u32s.of(median([u(a), u(b), u(c)])),
        IntOp::Shl => u32s.of(u(a) << (b & 31)),
        IntOp::Shr => u32s.of(u(a) >> (b & 31)),
        IntOp::Sar => u32s.of(i(a) >> (b & 31)),
        IntOp::Shl64 => a << (b & 63) & u128::from(u64::MAX),
        IntOp::Shr64 => a >> (b & 63),
        IntOp::Sar64 => fit(64, false).of(signed(a, 64) >> (b & 63)),
        IntOp::ShlAdd64 => {
            let amount = if b & 7 > 4 { 0 } else { b & 7 };
            fit(64, false).of((unsigned(a, 64) << amount) + unsigned(c, 64))
        }
        IntOp::ShlAdd => u32s.of((u(a) << (b & 31)) + u(c)),
        IntOp::AddShl => u32s.of((u(a) + u(b)) << (c & 31)),
        IntOp::ShlOr => u32s.of(u(a) << (b & 31)) | c,
        IntOp::Add3 => u32s.of(u(a) + u(b) + u(c)),
        IntOp::AndOr => a & b | c,
        IntOp::Or3 => a | b | c,
        IntOp::XorAdd => u32s.of(u(a ^ b) + u(c)),
        IntOp::BfeU => (a >> (b & 31)) & ((1 << (c & 31)) - 1),
        IntOp::BfeI => match c & 31 {
            0 => 0,
            width => u32s.of(signed((i(a) >> (b & 31)) as u128, width as u32)),
        },
        IntOp::Bfi => a & b | !a & c & 0xffff_ffff,
        IntOp::BitMask => u32s.of(((1 << (a & 31)) - 1) << (b & 31)),
        IntOp::BitOp3 => elements(32, 1, |n| {
            let index = element(a, n, 1) << 2 | element(b, n, 1) << 1 | element(c, n, 1);
            u128::from(imm as u32 >> index & 1)
        }),
        IntOp::BitReverse => elements(32, 1, |n| element(a, 31 - n, 1)),
        IntOp::LeadingZeros => position((a as u32).leading_zeros(), a == 0),
        IntOp::TrailingZeros => position((a as u32).trailing_zeros(), a == 0),
        IntOp::LeadingSigns => {
            let sign = element(a, 31, 1);
            let run = (0..32).take_while(|n| element(a, 31 - n, 1) == sign).count() as u32;
            position(run, run == 32)
        }
        IntOp::CountOnes => u32s.of(i128::from(a.count_ones()) + u(b)),
        IntOp::MaskCountLo | IntOp::MaskCountHi => {
            let first = if op == IntOp::MaskCountHi { 32 } else { 0 };
            let below = (0..32).filter(|n| first + n < lane && element(a, *n, 1) != 0).count();
            u32s.of(below as i128 + u(b))
        }
        IntOp::Select => {
            if c & 1 != 0 {
                b
            } else {
                a
            }
        }
        IntOp::AlignBit => element((a << 32 | b) >> (c & 31), 0, 32),
        IntOp::AlignByte => element((a << 32 | b) >> (8 * (c & 3)), 0, 32),
        IntOp::Perm => elements(4, 8, |n| selected(a << 32 | b, element(c, n, 8))),
        IntOp::SadU8 => u32s.of(sad(a, b, 4, 8, |_| true) + u(c)),
        IntOp::SadHiU8 => u32s.of((sad(a, b, 4, 8, |_| true) << 16) + u(c)),
        IntOp::SadU16 => u32s.of(sad(a, b, 2, 16, |_| true) + u(c)),
        IntOp::SadU32 => u32s.of(sad(a, b, 1, 32, |_| true) + u(c)),
        IntOp::MsadU8 => u32s.of(sad(a, b, 4, 8, |byte| byte != 0) + u(c)),
        IntOp::QsadPkU16U8 => four_sums(16, false),
        IntOp::MqsadPkU16U8 => four_sums(16, true),
        IntOp::MqsadU32U8 => four_sums(32, true),
        IntOp::LerpU8 => {
            elements(4, 8, |n| (element(a, n, 8) + element(b, n, 8) + element(c, 8 * n, 1)) >> 1)
        }
        IntOp::SatPkU8I16 => elements(2, 8, |n| ih(element(a, n, 16)).clamp(0, 255) as u128),
        IntOp::AsrPkI8 => {
            let of = |x: u128| (i(x) >> (c & 31)).clamp(-128, 127) as u128 & 0xff;
            of(a) | of(b) << 8
        }
        IntOp::AsrPkU8 => {
            let of = |x: u128| (i(x) >> (c & 31)).clamp(0, 255) as u128;
            of(a) | of(b) << 8
        }
        IntOp::Prng => element(a << 1, 0, 32) ^ if element(a, 31, 1) != 0 { 0xc5 } else { 0 },
        IntOp::ScreenParts => {
            let [x0, y0, x1, y1] = [6, 4, 2, 0].map(|bit| element(a, 0, 32) >> bit & 3);
            let columns = (0..=(x1 + 4 - x0) % 4).map(|n| x0 + n);
            columns.fold(0, |parts, x| {
                let rows = (0..=(y1 + 4 - y0) % 4).map(|n| y0 + n);
                rows.fold(parts, |parts, y| parts | 1 << (((x ^ y >> 1) & 1) << 1 | (y ^ x >> 1) & 1))
            })
        }
        IntOp::Add16 => u16s.of(uh(a) + uh(b)),
        IntOp::Sub16 => u16s.of(uh(a) - uh(b)),
        IntOp::AddI16 => i16s.of(ih(a) + ih(b)),
        IntOp::SubI16 => i16s.of(ih(a) - ih(b)),
        IntOp::Mul16 => u16s.of(uh(a) * uh(b)),
        IntOp::MadU16 => u16s.of(uh(a) * uh(b) + uh(c)),
        IntOp::MadI16 => i16s.of(ih(a) * ih(b) + ih(c)),
        IntOp::Shl16 => u16s.of(uh(a) << (b & 15)),
        IntOp::Shr16 => u16s.of(uh(a) >> (b & 15)),
        IntOp::Sar16 => u16s.of(ih(a) >> (b & 15)),
        IntOp::MinI16 => u16s.of(ih(a).min(ih(b))),
        IntOp::MaxI16 => u16s.of(ih(a).max(ih(b))),
        IntOp::MinU16 => u16s.of(uh(a).min(uh(b))),
        IntOp::MaxU16 => u16s.of(uh(a).max(uh(b))),
        IntOp::Min3I16 => u16s.of(ih(a).min(ih(b)).min(ih(c))),
        IntOp::Max3I16 => u16s.of(ih(a).max(ih(b)).max(ih(c))),
        IntOp::Med3I16 => u16s.of(median([ih(a), ih(b), ih(c)])),
        IntOp::Min3U16 => u16s.of(uh(a).min(uh(b)).min(uh(c))),
        IntOp::Max3U16 => u16s.of(uh(a).max(uh(b)).max(uh(c))),
        IntOp::Med3U16 => u16s.of(median([uh(a), uh(b), uh(c)])),
        IntOp::PkMadI16 => packed(i16s, &|[a, b, c]| ih(a) * ih(b) + ih(c)),
        IntOp::PkMadU16 => packed(u16s, &|[a, b, c]| uh(a) * uh(b) + uh(c)),
        IntOp::PkMulLo16 => packed(u16s, &|[a, b, _]| uh(a) * uh(b)),
        IntOp::PkAddI16 => packed(i16s, &|[a, b, _]| ih(a) + ih(b)),
        IntOp::PkAddU16 => packed(u16s, &|[a, b, _]| uh(a) + uh(b)),
        IntOp::PkSubI16 => packed(i16s, &|[a, b, _]| ih(a) - ih(b)),
        IntOp::PkSubU16 => packed(u16s, &|[a, b, _]| uh(a) - uh(b)),
        IntOp::PkShl16 => packed(u16s, &|[a, b, _]| uh(a) << (b & 15)),
        IntOp::PkShr16 => packed(u16s, &|[a, b, _]| uh(a) >> (b & 15)),
        IntOp::PkSar16 => packed(u16s, &|[a, b, _]| ih(a) >> (b & 15)),
        IntOp::PkMaxI16 => packed(u16s, &|[a, b, _]| ih(a).max(ih(b))),
        IntOp::PkMinI16 => packed(u16s, &|[a, b, _]| ih(a).min(ih(b))),
        IntOp::PkMaxU16 => packed(u16s, &|[a, b, _]| uh(a).max(uh(b))),
        IntOp::PkMinU16 => packed(u16s, &|[a, b, _]| uh(a).min(uh(b))),
        // The selects have reduced each source to one dword.
        IntOp::PkMov => element(a, 0, 32) | element(b, 0, 32) << 32,
        IntOp::Dot2I16 => i32s.of(dot(2, 16, signed) + i(c)),
        IntOp::Dot2U16 => u32s.of(dot(2, 16, unsigned) + u(c)),
        IntOp::Dot4I8 => i32s.of(dot(4, 8, signed) + i(c)),
        IntOp::Dot4U8 => u32s.of(dot(4, 8, unsigned) + u(c)),
        IntOp::Dot8I4 => i32s.of(dot(8, 4, signed) + i(c)),
        IntOp::Dot8U4 => u32s.of(dot(8, 4, unsigned) + u(c)),
    };
    IntResult { value, mask: false }
}

/// Whether a comparison of integers holds; always false for predicates that exist for floats only.
#[must_use]
pub fn int_compare(pred: CmpPred, ty: IntType, a: u64, b: u64) -> bool {
    let of = |x: u64| match ty {
        IntType::I16 => signed(x.into(), 16),
        IntType::U16 => unsigned(x.into(), 16),
        IntType::I32 => signed(x.into(), 32),
        IntType::U32 => unsigned(x.into(), 32),
        IntType::I64 => signed(x.into(), 64),
        IntType::U64 => unsigned(x.into(), 64),
    };
    let (a, b) = (of(a), of(b));
    match pred {
        CmpPred::True => true,
        CmpPred::Lt => a < b,
        CmpPred::Eq => a == b,
        CmpPred::Le => a <= b,
        CmpPred::Gt => a > b,
        CmpPred::Lg => a != b,
        CmpPred::Ge => a >= b,
        _ => false,
    }
}
