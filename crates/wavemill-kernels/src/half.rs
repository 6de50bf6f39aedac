//! Half precision numbers, for which Rust has no type.

/// A half precision number by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half(pub(crate) u16);

const SIGN: u16 = 0x8000;
const INFINITY: u16 = 0x7c00;
const NAN: u16 = 0x7e00;

impl Half {
    /// The nearest half precision number, ties to even.
    pub(crate) fn new(x: f32) -> Half {
        let sign = ((x.to_bits() >> 16) as u16) & SIGN;
        let size = x.abs();
        let bits = if x.is_nan() {
            NAN
        } else if size >= 65_520.0 {
            // At least half a unit above the largest number.
            INFINITY
        } else if size < 2f32.powi(-14) {
            // Multiples of 2^-24; scaling is exact.
            (size * 2f32.powi(24)).round_ties_even() as u16
        } else {
            // 13 bits are dropped; a carry raises the exponent, whose bias falls from 127 to 15.
            let bits = size.to_bits();
            ((bits + 0xfff + (bits >> 13 & 1) - (112 << 23)) >> 13) as u16
        };
        Half(sign | bits)
    }

    /// The same number in single precision.
    pub(crate) fn get(self) -> f32 {
        let fraction = f32::from(self.0 & 0x3ff);
        let size = match self.0 >> 10 & 0x1f {
            0 => fraction * 2f32.powi(-24),
            31 if fraction == 0.0 => f32::INFINITY,
            31 => f32::NAN,
            exponent => (1024.0 + fraction) * 2f32.powi(i32::from(exponent) - 25),
        };
        if self.0 & SIGN == 0 { size } else { -size }
    }

    /// The rounded sum. The sum in single precision has more than twice as many bits as the result,
    /// so the second rounding gives the same as rounding the exact sum.
    pub(crate) fn add(self, other: Half) -> Half {
        Half::new(self.get() + other.get())
    }

    /// The rounded product, which single precision holds exactly.
    pub(crate) fn mul(self, other: Half) -> Half {
        Half::new(self.get() * other.get())
    }

    /// The negative number.
    pub(crate) fn neg(self) -> Half {
        Half(self.0 ^ SIGN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_single_precision() {
        for bits in 0..=u16::MAX {
            let x = Half(bits).get();
            assert!(x.is_nan() && Half::new(x).get().is_nan() || Half::new(x) == Half(bits), "{bits:#06x}");
        }
    }

    #[test]
    fn known_numbers() {
        for (x, bits) in
            [(1.0, 0x3c00), (-2.0, 0xc000), (65_504.0, 0x7bff), (1.0 / 3.0, 0x3555), (-0.0, 0x8000)]
        {
            assert_eq!(Half::new(x), Half(bits), "{x}");
        }
        assert_eq!((Half(1).get(), Half(0x400).get()), (2f32.powi(-24), 2f32.powi(-14)));
    }

    #[test]
    fn ties_go_to_even_numbers() {
        // Around 1 the unit is 2^-10, below 2^-14 it is 2^-24.
        let (unit, tiny) = (2f32.powi(-10), 2f32.powi(-24));
        for (x, bits) in [
            (1.0 + 0.5 * unit, 0x3c00),
            (1.0 + 0.5 * unit + f32::EPSILON, 0x3c01),
            (1.0 + 1.5 * unit, 0x3c02),
            (2.0 - 0.5 * unit, 0x4000),
            (0.5 * tiny, 0),
            (0.500_001 * tiny, 1),
            (1023.5 * tiny, 0x400),
            (65_519.99, 0x7bff),
            (65_520.0, 0x7c00),
        ] {
            assert_eq!(Half::new(x), Half(bits), "{x}");
        }
    }

    #[test]
    fn arithmetic_rounds() {
        let third = Half::new(1.0 / 3.0);
        // 1365 / 4096 times three is 4095 / 4096, half a unit below 1.
        assert_eq!(third.mul(Half::new(3.0)), Half(0x3c00));
        assert_eq!(Half::new(2048.0).add(Half::new(1.0)), Half::new(2048.0));
        assert_eq!(third.add(third.neg()), Half(0));
    }
}
