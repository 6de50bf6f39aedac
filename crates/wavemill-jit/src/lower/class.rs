//! The class test.

use iced_x86::Code;
use wavemill_ir::FloatType;

use super::builder::Builder;
use super::double;
use crate::lir::{Src, Step, Where};

/// The host's test.
const SINGLE: Code = Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8;

/// Classes of the host's test.
const QUIET_NAN: u8 = 0x01;
const POSITIVE_ZERO: u8 = 0x02;
const NEGATIVE_ZERO: u8 = 0x04;
const POSITIVE_INFINITY: u8 = 0x08;
const NEGATIVE_INFINITY: u8 = 0x10;
/// Denormals of both signs.
pub(super) const DENORMAL: u8 = 0x20;
/// Negative finite numbers.
const NEGATIVE: u8 = 0x40;
const SIGNALLING_NAN: u8 = 0x80;

/// Zeros, infinities and NaNs.
pub(super) const WITHOUT_EXPONENT: u8 =
    QUIET_NAN | POSITIVE_ZERO | NEGATIVE_ZERO | POSITIVE_INFINITY | NEGATIVE_INFINITY | SIGNALLING_NAN;
/// Zeros and infinities.
pub(super) const ZERO_OR_INFINITE: u8 = POSITIVE_ZERO | NEGATIVE_ZERO | POSITIVE_INFINITY | NEGATIVE_INFINITY;
/// What has no positive finite root.
pub(super) const WITHOUT_ROOT: u8 = WITHOUT_EXPONENT | NEGATIVE;

/// The classes of the operation in the order of their bits, but normal numbers, and those of the host.
const CLASSES: [(u32, u8); 7] = [
    (1 << 0, SIGNALLING_NAN),
    (1 << 1, QUIET_NAN),
    (1 << 2, NEGATIVE_INFINITY),
    (1 << 4 | 1 << 7, DENORMAL),
    (1 << 5, NEGATIVE_ZERO),
    (1 << 6, POSITIVE_ZERO),
    (1 << 9, POSITIVE_INFINITY),
];
/// Normal numbers of both signs, which are in no other class.
const NORMAL: u32 = 1 << NEGATIVE_NORMAL | 1 << POSITIVE_NORMAL;
const NEGATIVE_NORMAL: u32 = 3;
const POSITIVE_NORMAL: u32 = 8;
/// All classes of the operation.
const ALL: u32 = (1 << 10) - 1;

/// The host's classes for those of the operation, and whether it is the numbers outside of them. `None` if they tell normal
/// numbers or denormals of one sign from those of the other.
fn host_classes(wanted: u32) -> Option<(u8, bool)> {
    let outside = wanted & NORMAL != 0;
    let mut rest = if outside { !wanted & ALL } else { wanted & ALL };
    let mut classes = 0;
    for (bits, class) in CLASSES {
        if rest & bits == bits {
            classes |= class;
            rest &= !bits;
        }
    }
    (rest == 0).then_some((classes, outside))
}

/// A test for classes that are known or in each lane.
pub(super) fn lower(b: &mut Builder<'_>, ty: FloatType) -> Option<()> {
    if !b.is_plain() {
        return None;
    }
    match b.constant(1).map(host_classes) {
        Some(Some((classes, outside))) => {
            match ty {
                FloatType::F32 => {
                    let x = b.src(0, 0)?;
                    b.test(0, SINGLE, None, x, Some(classes), Where::Everywhere)?;
                }
                FloatType::F64 => double::class(b, classes)?,
                _ => return None,
            }
            if outside {
                b.negate(0);
            }
        }
        _ => {
            let bits = match ty {
                FloatType::F32 => {
                    let x = b.src(0, 0)?;
                    let bits = b.value()?;
                    class_bits(b, x, bits, SINGLE)?;
                    bits
                }
                FloatType::F64 => double::class_bits(b)?,
                _ => return None,
            };
            let code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            b.test(0, code, Some(bits), b.src(1, 0)?, None, Where::Everywhere)?;
        }
    }
    b.push(Step::AndActive { dst: 0 });
    b.mask_result(0, 0)
}

/// Puts the bit of each number's class into the low half of a number of the same size.
pub(super) fn class_bits(b: &mut Builder<'_>, x: Src, bits: Src, code: Code) -> Option<()> {
    let (broadcast, bit): (_, fn(u32) -> Src) = match code {
        SINGLE => (Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, |bit| Src::Const(1 << bit)),
        _ => (Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, |bit| Src::ConstPair(1 << bit)),
    };
    b.put_unary(bits, broadcast, bit(POSITIVE_NORMAL))?;
    b.test(1, code, None, x, Some(NEGATIVE), Where::Everywhere)?;
    b.update(bits, broadcast, None, bit(NEGATIVE_NORMAL), None, Where::Mask(1))?;
    for (wanted, class) in CLASSES {
        b.test(0, code, None, x, Some(class), Where::Everywhere)?;
        // Of classes for both signs, that of positive numbers; the other one follows.
        b.update(bits, broadcast, None, bit(wanted.ilog2()), None, Where::Mask(0))?;
        if !wanted.is_power_of_two() {
            b.test(0, code, None, x, Some(class), Where::Mask(1))?;
            b.update(bits, broadcast, None, bit(wanted.trailing_zeros()), None, Where::Mask(0))?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_one_sign_alone_have_no_code() {
        assert_eq!(host_classes(0x003), Some((QUIET_NAN | SIGNALLING_NAN, false)));
        assert_eq!(host_classes(0x090), Some((DENORMAL, false)));
        assert_eq!(host_classes(0x1f8), Some((QUIET_NAN | SIGNALLING_NAN | 0x18, true)));
        assert_eq!(host_classes(0x010), None);
        assert_eq!(host_classes(0x100), None);
        assert_eq!(host_classes(0x3ff), Some((0, true)));
    }
}
