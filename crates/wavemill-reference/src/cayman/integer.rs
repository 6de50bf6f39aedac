//! Integers and bits.

use super::{Operation, Readings};

/// Operations of one slot.
pub const INTEGERS: &[Operation] = &[
    ("ADD_INT", |[a, b, _], _| wrapped(i64::from(a) + i64::from(b)).into()),
    // The page prints src1 - src0. SUBB_UINT, which it is used with, borrows if src1 > src0.
    ("SUB_INT", |[a, b, _], _| wrapped(i64::from(a) - i64::from(b)).into()),
    ("ADDC_UINT", |[a, b, _], _| u32::from(u64::from(a) + u64::from(b) > 0xffff_ffff).into()),
    ("SUBB_UINT", |[a, b, _], _| u32::from(b > a).into()),
    ("MAX_INT", |[a, b, _], _| if a as i32 >= b as i32 { a } else { b }.into()),
    ("MIN_INT", |[a, b, _], _| if (a as i32) < b as i32 { a } else { b }.into()),
    ("MAX_UINT", |[a, b, _], _| if a >= b { a } else { b }.into()),
    ("MIN_UINT", |[a, b, _], _| if a < b { a } else { b }.into()),
    ("AND_INT", |[a, b, _], _| (a & b).into()),
    ("OR_INT", |[a, b, _], _| (a | b).into()),
    ("XOR_INT", |[a, b, _], _| (a ^ b).into()),
    ("NOT_INT", |[a, ..], _| (!a).into()),
    // Table 4.4 and a page take five bits of the count; another page and the table have 0 for counts
    // above 31, and a third page fills with signs.
    ("ASHR_INT", |[a, b, _], _| {
        let signs = wrapped(i64::from(a as i32) >> 31);
        Readings::from((a as i32 >> (b & 31)) as u32).or((b > 31).then_some(signs.into())).into()
    }),
    ("LSHR_INT", |[a, b, _], _| Readings::from(a >> (b & 31)).or((b > 31).then_some(0)).into()),
    ("LSHL_INT", |[a, b, _], _| Readings::from(a << (b & 31)).or((b > 31).then_some(0)).into()),
    ("MULLO_INT", |[a, b, _], _| wrapped(signed(a, 32) * signed(b, 32)).into()),
    ("MULLO_UINT", |[a, b, _], _| ((u64::from(a) * u64::from(b)) as u32).into()),
    ("MULHI_INT", |[a, b, _], _| wrapped((signed(a, 32) * signed(b, 32)) >> 32).into()),
    ("MULHI_UINT", |[a, b, _], _| ((u64::from(a) * u64::from(b)) >> 32).into()),
    ("MUL_UINT24", |[a, b, _], _| ((unsigned24(a) * unsigned24(b)) as u32).into()),
    ("MULHI_UINT24", |[a, b, _], _| ((unsigned24(a) * unsigned24(b)) >> 32).into()),
    // Table 4.4: the lowest 32 bits, and the upper 16 bits, of the product.
    ("MUL_INT24", |[a, b, _], _| wrapped(signed(a, 24) * signed(b, 24)).into()),
    ("MULHI_INT24", |[a, b, _], _| {
        let high = wrapped((signed(a, 24) * signed(b, 24)) >> 32);
        [high, high & 0xffff].into()
    }),
    ("MULADD_UINT24", |[a, b, c], _| ((unsigned24(a) * unsigned24(b) + u64::from(c)) as u32).into()),
    ("MULADD_INT24", |[a, b, c], _| wrapped(signed(a, 24) * signed(b, 24) + signed(c, 32)).into()),
    ("BFE_UINT", |[a, b, c], _| field(u64::from(a), b, c, false).into()),
    ("BFE_INT", |[a, b, c], _| field(signed(a, 32) as u64, b, c, true).into()),
    ("BFI_INT", |[a, b, c], _| ((b & a) | (c & !a)).into()),
    ("BFM_INT", |[a, b, _], _| ((((1u64 << (a & 31)) - 1) << (b & 31)) as u32).into()),
    ("BFREV_INT", |[a, ..], _| (0..32).fold(0u32, |reversed, n| reversed << 1 | (a >> n & 1)).into()),
    ("BIT_ALIGN_INT", |[a, b, c], _| aligned(a, b, c & 31).into()),
    ("BYTE_ALIGN_INT", |[a, b, c], _| aligned(a, b, 8 * (c & 3)).into()),
    ("BCNT_INT", |[a, ..], _| super::bit_count(a, 0).into()),
    ("FFBH_UINT", |[a, ..], _| first(|n| a >> (31 - n) & 1 != 0).into()),
    ("FFBL_INT", |[a, ..], _| first(|n| a >> n & 1 != 0).into()),
    // The first bit that differs from the sign.
    ("FFBH_INT", |[a, ..], _| first(|n| (a >> (31 - n) & 1) != a >> 31).into()),
    ("LERP_UINT", |[a, b, c], _| {
        let byte = |n: u32| ((a >> n & 0xff) + (b >> n & 0xff) + (c >> n & 1)) >> 1;
        [0, 8, 16, 24].map(|n| byte(n) << n).iter().sum::<u32>().into()
    }),
    ("SAD_ACCUM_UINT", |[a, b, c], _| c.wrapping_add(differences(a, b)).into()),
    ("SAD_ACCUM_HI_UINT", |[a, b, c], _| c.wrapping_add(differences(a, b) << 16).into()),
];

fn wrapped(value: i64) -> u32 {
    value as u32
}

fn unsigned24(bits: u32) -> u64 {
    u64::from(bits & 0xff_ffff)
}

/// The low bits as a signed number.
fn signed(bits: u32, width: u32) -> i64 {
    let value = i64::from(bits) & ((1 << width) - 1);
    if value >> (width - 1) & 1 != 0 { value - (1 << width) } else { value }
}

/// `width` bits from bit `offset` on. A field that reaches beyond bit 31 is a plain shift.
fn field(value: u64, offset: u32, width: u32, sign: bool) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    let moved = (value as i64) >> offset;
    match width {
        0 => 0,
        width if offset + width < 32 => {
            let bits = moved as u32 & ((1 << width) - 1);
            if sign { signed(bits, width) as u32 } else { bits }
        }
        _ => moved as u32,
    }
}

fn aligned(high: u32, low: u32, count: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> count) as u32
}

/// The first number of a bit that holds; all ones if none does.
fn first(holds: impl Fn(u32) -> bool) -> u32 {
    (0..32).find(|n| holds(*n)).unwrap_or(u32::MAX)
}

/// The sum of the absolute differences of bytes.
pub(super) fn differences(a: u32, b: u32) -> u32 {
    [0, 8, 16, 24].map(|n| (a >> n & 0xff).abs_diff(b >> n & 0xff)).iter().sum()
}
