//! Operations on uniform values: the exact result, cut to the low bits that the width keeps.

use wavemill_ir::{ScalarOp, Width};

/// Results of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalarResult {
    /// The value, in as many bits as the result has.
    pub value: u64,
    /// The flag; `None` if the operation has none.
    pub scc: Option<bool>,
}

/// Performs an operation of a width. Sources have the widths that the operation's line names,
/// zero-extended.
#[must_use]
pub fn scalar_op(op: ScalarOp, width: Width, sources: [u64; 3], imm: i32) -> ScalarResult {
    let n = 32 * u32::from(width.dwords());
    let all = (1i128 << n) - 1;
    let [a, b, c] = sources.map(i128::from);
    let signed = |x: i128| if x >> (n - 1) & 1 == 0 { x } else { x - all - 1 };
    let amount = |x: i128| x & i128::from(n - 1);
    let bits = |x: i128| (0..n).filter(move |k| x >> k & 1 != 0);
    let made = |of: &dyn Fn(u32) -> bool| (0..n).filter(|k| of(*k)).fold(0i128, |all, k| all | 1 << k);
    // Most operations set the flag if the result is not zero.
    let nonzero = |exact: i128| ScalarResult { value: (exact & all) as u64, scc: Some(exact & all != 0) };
    let with = |exact: i128, scc: bool| ScalarResult { value: (exact & all) as u64, scc: Some(scc) };
    let plain = |exact: i128| ScalarResult { value: (exact & all) as u64, scc: None };
    // A position or all ones, in 32 bits.
    let position = |at: Option<u32>| ScalarResult { value: at.map_or(0xffff_ffff, u64::from), scc: None };
    let outside = |exact: i128| !(0..=all).contains(&exact);
    let overflows = |exact: i128| !(-(1i128 << (n - 1))..1i128 << (n - 1)).contains(&exact);
    let half = |x: i128, high: bool| if high { x >> 16 & 0xffff } else { x & 0xffff };
    match op {
        ScalarOp::Mov => plain(a),
        ScalarOp::Not => nonzero(!a),
        ScalarOp::And => nonzero(a & b),
        ScalarOp::Or => nonzero(a | b),
        ScalarOp::Xor => nonzero(a ^ b),
        ScalarOp::AndNot => nonzero(a & !b),
        ScalarOp::OrNot => nonzero(a | !b),
        ScalarOp::Nand => nonzero(!(a & b)),
        ScalarOp::Nor => nonzero(!(a | b)),
        ScalarOp::Xnor => nonzero(!(a ^ b)),
        ScalarOp::AddCarryOut => with(a + b, outside(a + b)),
        ScalarOp::AddOverflow => with(a + b, overflows(signed(a) + signed(b))),
        ScalarOp::SubBorrowOut => with(a - b, outside(a - b)),
        ScalarOp::SubOverflow => with(a - b, overflows(signed(a) - signed(b))),
        ScalarOp::AddCarryInOut => with(a + b + (c & 1), outside(a + b + (c & 1))),
        ScalarOp::SubBorrowInOut => with(a - b - (c & 1), outside(a - b - (c & 1))),
        ScalarOp::MinI => with(signed(a).min(signed(b)), signed(a) < signed(b)),
        ScalarOp::MinU => with(a.min(b), a < b),
        ScalarOp::MaxI => with(signed(a).max(signed(b)), signed(a) > signed(b)),
        ScalarOp::MaxU => with(a.max(b), a > b),
        ScalarOp::MaxEqI => with(signed(a).max(signed(b)), signed(a) >= signed(b)),
        ScalarOp::MaxEqU => with(a.max(b), a >= b),
        ScalarOp::Select => plain(if c != 0 { a } else { b }),
        ScalarOp::Shl => nonzero(a << amount(b)),
        ScalarOp::Shr => nonzero(a >> amount(b)),
        ScalarOp::Sar => nonzero(signed(a) >> amount(b)),
        ScalarOp::BitMask => plain(((1i128 << amount(a)) - 1) << amount(b)),
        ScalarOp::Mul => plain((a as u128).wrapping_mul(b as u128) as i128),
        ScalarOp::MulHiU => plain(((a as u128 * b as u128) >> n) as i128),
        ScalarOp::MulHiI => plain((signed(a) * signed(b)) >> n),
        ScalarOp::BfeU | ScalarOp::BfeI => {
            // A field may be wider than the rest of the source, and wider than the source.
            let (offset, length) = (amount(b), b >> 16 & 0x7f);
            let source = if op == ScalarOp::BfeI { signed(a) } else { a };
            let field = source >> offset;
            match (length, op) {
                (0, _) => nonzero(0),
                (1..64, ScalarOp::BfeU) => nonzero(field & ((1 << length) - 1)),
                (1..64, _) => nonzero(field << (128 - length) >> (128 - length)),
                _ => nonzero(field),
            }
        }
        ScalarOp::AbsDiff => {
            // The difference wraps, and so does the absolute value of the smallest number.
            let difference = signed((a - b) & all);
            nonzero(difference.abs())
        }
        ScalarOp::Abs => nonzero(signed(a).abs()),
        ScalarOp::ShlAdd => with((a << (imm & 31)) + b, outside((a << (imm & 31)) + b)),
        ScalarOp::PackLL => plain(half(b, false) << 16 | half(a, false)),
        ScalarOp::PackLH => plain(half(b, true) << 16 | half(a, false)),
        ScalarOp::PackHH => plain(half(b, true) << 16 | half(a, true)),
        ScalarOp::WholeQuad => nonzero(made(&|k| a >> (k & !3) & 15 != 0)),
        ScalarOp::QuadMask => nonzero(made(&|k| 4 * k < n && a >> (4 * k) & 15 != 0)),
        ScalarOp::BitReverse => plain(made(&|k| a >> (n - 1 - k) & 1 != 0)),
        ScalarOp::CountZeros => nonzero(i128::from(n) - bits(a).count() as i128),
        ScalarOp::CountOnes => nonzero(bits(a).count() as i128),
        ScalarOp::FindZeroLow => position((0..n).find(|k| a >> k & 1 == 0)),
        ScalarOp::FindOneLow => position((0..n).find(|k| a >> k & 1 == 1)),
        ScalarOp::LeadingZeros => position((0..n).find(|k| a >> (n - 1 - k) & 1 == 1)),
        ScalarOp::LeadingSigns => position((0..n).find(|k| a >> (n - 1 - k) & 1 != a >> (n - 1) & 1)),
        ScalarOp::Sext8 => plain((a & 0xff ^ 0x80) - 0x80),
        ScalarOp::Sext16 => plain((a & 0xffff ^ 0x8000) - 0x8000),
        ScalarOp::BitClear => plain(b & !(1 << amount(a))),
        ScalarOp::BitSet => plain(b | 1 << amount(a)),
        ScalarOp::BitReplicate => {
            let value = (0..64).filter(|k| a >> (k / 2) & 1 != 0).fold(0, |all, k| all | 1 << k);
            ScalarResult { value, scc: None }
        }
        ScalarOp::BitTest0 => with(0, a >> amount(b) & 1 == 0),
        ScalarOp::BitTest1 => with(0, a >> amount(b) & 1 == 1),
    }
}
