//! The class test.

use iced_x86::Code;
use wavemill_float::{F32, class_of};
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

/// The host's classes but that of normal numbers, each with the numbers of f32 that stand for it: of both signs if the class
/// has both.
const CLASSES: [(u8, &[u32]); 7] = [
    (SIGNALLING_NAN, &[0x7f80_0001]),
    (QUIET_NAN, &[0x7fc0_0000]),
    (NEGATIVE_INFINITY, &[0xff80_0000]),
    (DENORMAL, &[0x0000_0001, 0x8000_0001]),
    (NEGATIVE_ZERO, &[0x8000_0000]),
    (POSITIVE_ZERO, &[0x0000_0000]),
    (POSITIVE_INFINITY, &[0x7f80_0000]),
];
/// Normal numbers of both signs.
const NORMAL: [u32; 2] = [0x3f80_0000, 0xbf80_0000];
/// All classes of the operation.
const ALL: u32 = (1 << 10) - 1;

/// The bit of the operation's class that a number of f32 is in.
fn class_bit(number: u32) -> u32 {
    1 << class_of::<F32>(number.into())
}

fn class_bits_of(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |bits, number| bits | class_bit(*number))
}

/// The host's classes for those of the operation, and whether the wanted numbers are outside of them. `None` if normal
/// numbers or denormals of one sign alone are wanted.
fn host_classes(wanted: u32) -> Option<(u8, bool)> {
    let outside = wanted & class_bits_of(&NORMAL) != 0;
    let mut rest = if outside { !wanted & ALL } else { wanted & ALL };
    let mut classes = 0;
    for (class, numbers) in CLASSES {
        let bits = class_bits_of(numbers);
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
    let (broadcast, constant): (_, fn(u32) -> Src) = match code {
        SINGLE => (Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, Src::Const),
        _ => (Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, |bit| Src::ConstPair(bit.into())),
    };
    let [positive, negative] = NORMAL.map(class_bit);
    b.put_unary(bits, broadcast, constant(positive))?;
    b.test(1, code, None, x, Some(NEGATIVE), Where::Everywhere)?;
    b.update(bits, broadcast, None, constant(negative), None, Where::Mask(1))?;
    for (class, numbers) in CLASSES {
        // Of a class with both signs, first the bit of positive numbers.
        for (lanes, number) in [Where::Everywhere, Where::Mask(1)].into_iter().zip(numbers) {
            b.test(0, code, None, x, Some(class), lanes)?;
            b.update(bits, broadcast, None, constant(class_bit(*number)), None, Where::Mask(0))?;
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
