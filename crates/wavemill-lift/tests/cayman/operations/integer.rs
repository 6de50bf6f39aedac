//! Integers and bits.

use wavemill_isa::cayman::Op;

use super::{Reference, conform};

pub(super) const TABLE: &[(Op, Reference)] = &[
    (Op::AddInt, |[a, b, _], _| (i64::from(a) + i64::from(b)) as u32),
    (Op::SubInt, |[a, b, _], _| (i64::from(a) - i64::from(b)) as u32),
    (Op::AddcUint, |[a, b, _], _| u32::from(u64::from(a) + u64::from(b) > 0xffff_ffff)),
    (Op::SubbUint, |[a, b, _], _| u32::from(b > a)),
    (Op::MaxInt, |[a, b, _], _| if a as i32 >= b as i32 { a } else { b }),
    (Op::MinInt, |[a, b, _], _| if (a as i32) < b as i32 { a } else { b }),
    (Op::MaxUint, |[a, b, _], _| if a >= b { a } else { b }),
    (Op::MinUint, |[a, b, _], _| if a < b { a } else { b }),
    (Op::AndInt, |[a, b, _], _| a & b),
    (Op::OrInt, |[a, b, _], _| a | b),
    (Op::XorInt, |[a, b, _], _| a ^ b),
    (Op::NotInt, |[a, ..], _| !a),
    (Op::AshrInt, |[a, b, _], _| (a as i32 >> (b & 0x1f)) as u32),
    (Op::LshrInt, |[a, b, _], _| a >> (b & 0x1f)),
    (Op::LshlInt, |[a, b, _], _| a << (b & 0x1f)),
    (Op::MulloInt, |[a, b, _], _| (i64::from(a as i32) * i64::from(b as i32)) as u32),
    (Op::MulloUint, |[a, b, _], _| (u64::from(a) * u64::from(b)) as u32),
    (Op::MulhiInt, |[a, b, _], _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
    (Op::MulhiUint, |[a, b, _], _| ((u64::from(a) * u64::from(b)) >> 32) as u32),
    (Op::MulUint24, |[a, b, _], _| (unsigned(a) * unsigned(b)) as u32),
    (Op::MulhiUint24, |[a, b, _], _| ((unsigned(a) * unsigned(b)) >> 32) as u32),
    (Op::MulInt24, |[a, b, _], _| (signed(a) * signed(b)) as u32),
    (Op::MulhiInt24, |[a, b, _], _| ((signed(a) * signed(b)) >> 32) as u32),
    (Op::MuladdUint24, |[a, b, c], _| (unsigned(a) * unsigned(b) + u64::from(c)) as u32),
    (Op::MuladdInt24, |[a, b, c], _| (signed(a) * signed(b) + i64::from(c as i32)) as u32),
    (Op::BfeUint, |[a, b, c], _| {
        let (offset, width) = (b & 31, c & 31);
        match (width, width + offset < 32) {
            (0, _) => 0,
            (_, true) => a << (32 - offset - width) >> (32 - width),
            _ => a >> offset,
        }
    }),
    (Op::BfeInt, |[a, b, c], _| {
        let (offset, width) = (b & 31, c & 31);
        match (width, width + offset < 32) {
            (0, _) => 0,
            (_, true) => ((a << (32 - offset - width)) as i32 >> (32 - width)) as u32,
            _ => (a as i32 >> offset) as u32,
        }
    }),
    (Op::BfiInt, |[a, b, c], _| b & a | c & !a),
    (Op::BfmInt, |[a, b, _], _| ((1 << (a & 31)) - 1) << (b & 31)),
    (Op::BfrevInt, |[a, ..], _| (0..32).filter(|n| a >> n & 1 != 0).map(|n| 1 << (31 - n)).sum()),
    (Op::BitAlignInt, |[a, b, c], _| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
    (Op::ByteAlignInt, |[a, b, c], _| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32),
    (Op::BcntInt, |[a, ..], _| (0..32).map(|n| a >> n & 1).sum()),
    (Op::FfbhUint, |[a, ..], _| (0..32).find(|n| a >> (31 - n) & 1 != 0).unwrap_or(!0)),
    (Op::FfblInt, |[a, ..], _| (0..32).find(|n| a >> n & 1 != 0).unwrap_or(!0)),
    (Op::FfbhInt, |[a, ..], _| (1..32).find(|n| (a >> (31 - n) ^ a >> 31) & 1 != 0).unwrap_or(!0)),
    (Op::LerpUint, |[a, b, c], _| {
        let byte = |n: u32| (a >> n & 0xff) + (b >> n & 0xff) + (c >> n & 1);
        [0, 8, 16, 24].map(|n| (byte(n) >> 1) << n).iter().sum()
    }),
    (Op::SadAccumUint, |[a, b, c], _| c.wrapping_add(differences(a, b))),
    (Op::SadAccumHiUint, |[a, b, c], _| c.wrapping_add(differences(a, b) << 16)),
];

#[test]
fn integers() {
    conform(TABLE);
}

fn unsigned(bits: u32) -> u64 {
    u64::from(bits & 0xff_ffff)
}

fn signed(bits: u32) -> i64 {
    i64::from((bits << 8) as i32 >> 8)
}

/// The sum of the absolute differences of bytes.
pub(super) fn differences(a: u32, b: u32) -> u32 {
    [0, 8, 16, 24].map(|n| (a >> n & 0xff).abs_diff(b >> n & 0xff)).iter().sum()
}
