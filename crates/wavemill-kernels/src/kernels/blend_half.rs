//! Blends half precision pictures, bit for bit.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::half::Half;
use crate::random::Random;

pub(crate) fn half(size: Size) -> Case {
    make("blend_half", size, half_reference)
}

pub(crate) fn storage(size: Size) -> Case {
    make("blend_half_storage", size, storage_reference)
}

fn make(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    // Pixels of four channels.
    let n = size.pick(64 * 128 - 77, 1 << 22);
    let mut random = Random::new(28);
    let mut picture = || {
        random.many(4 * n as usize, |r| match r.below(8) {
            // Arbitrary bits: infinities, NaNs, numbers whose products overflow.
            0 => Half(r.u32() as u16),
            // Denormal.
            1 => Half(r.u32() as u16 & 0x83ff),
            _ => Half::new(r.f32(0.0, 1.0)),
        })
    };
    let (front, back) = (picture(), picture());
    let mask = random.many(4 * n as usize, |r| match r.below(8) {
        0 => Half::new(r.below(2) as f32),
        1 => Half(r.u32() as u16 & 0x03ff),
        _ => Half::new(r.f32(0.0, 1.0)),
    });
    Case::new(name, "blend_half", reference)
        .cover(n, 128)
        .buffer("front", &front)
        .buffer("back", &back)
        .buffer("mask", &mask)
        .buffer("out", &vec![Half::new(-1.0); 4 * n as usize])
        .u32("n", n)
}

fn half_reference(case: &Case) -> Vec<Expect> {
    blended(case, |front, back, mask| front.mul(mask).add(back.mul(Half::new(1.0).add(mask.neg()))))
}

pub(crate) fn storage_reference(case: &Case) -> Vec<Expect> {
    blended(case, |front, back, mask| {
        let (front, back, mask) = (front.get(), back.get(), mask.get());
        Half::new(front * mask + back * (1.0 - mask))
    })
}

fn blended(case: &Case, blend: fn(Half, Half, Half) -> Half) -> Vec<Expect> {
    let [front, back, mask] = ["front", "back", "mask"].map(|name| case.input::<Half>(name));
    let out: Vec<Half> =
        front.iter().zip(&back).zip(&mask).map(|((front, back), mask)| blend(*front, *back, *mask)).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::Unchanged, Expect::values(&out)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{bytes_of, values_of};

    /// The result of a case with one pixel.
    fn pixel(
        reference: fn(&Case) -> Vec<Expect>,
        front: [f32; 4],
        back: [f32; 4],
        mask: [f32; 4],
    ) -> Vec<Half> {
        let case = Case::new("sample", "none", reference)
            .buffer("front", &front.map(Half::new))
            .buffer("back", &back.map(Half::new))
            .buffer("mask", &mask.map(Half::new));
        match reference(&case).pop() {
            Some(Expect::Exactly(bytes)) => values_of(&bytes),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn masks_choose_between_pictures() {
        for reference in [half_reference, storage_reference] {
            let out = pixel(reference, [4.0; 4], [8.0; 4], [0.0, 0.25, 0.5, 1.0]);
            assert_eq!(bytes_of(&out), bytes_of(&[8.0, 7.0, 6.0, 4.0].map(Half::new)));
        }
    }

    #[test]
    fn only_half_precision_rounds_in_between() {
        // In half precision, 1 - 3 * 2^-13 is 1 - 2^-11. Around 2050 the unit is 2: slightly less
        // than 2049 becomes 2048, and 2049.25 becomes 2050.
        let mask = [3.0, 1.0, 8.0, 0.0].map(|x| x * 2f32.powi(-13));
        let [half, storage] = [half_reference, storage_reference]
            .map(|reference| bytes_of(&pixel(reference, [0.0; 4], [2050.0; 4], mask)));
        assert_eq!(half, bytes_of(&[2048.0, 2050.0, 2048.0, 2050.0].map(Half::new)));
        assert_eq!(storage, bytes_of(&[2050.0, 2050.0, 2048.0, 2050.0].map(Half::new)));
    }
}
