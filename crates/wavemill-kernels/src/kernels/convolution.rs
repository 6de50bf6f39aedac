//! A 5 x 5 filter over a picture, bit for bit: fused steps in the filter's order.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Pixels that the filter reaches to each side.
const REACH: usize = 2;
/// Rows and columns of the filter.
const SIDE: usize = 2 * REACH + 1;

pub(crate) fn case(size: Size) -> Case {
    let (width, height) = size.pick((250, 61), (1920, 1080));
    let mut random = Random::new(26);
    // Occasionally a number so small that its products are denormal.
    let picture = random.many(width * height, |r| match r.below(50) {
        0 => r.f32(-1e-37, 1e-37),
        _ => r.f32(0.0, 255.0),
    });
    let filter = random.many(SIDE * SIDE, |r| r.f32(-0.2, 0.3));
    Case::new("convolution", "convolution", reference)
        .cover_2d([width as u32, height as u32], [32, 8])
        .buffer("in", &picture)
        .buffer("out", &vec![-1f32; picture.len()])
        .buffer("filter", &filter)
        .u32("width", width as u32)
        .u32("height", height as u32)
}

fn reference(case: &Case) -> Vec<Expect> {
    let out = filtered(&case.input("in"), case.get_u32("width") as usize, &case.input("filter"));
    vec![Expect::Unchanged, Expect::values(&out), Expect::Unchanged]
}

fn filtered(picture: &[f32], width: usize, filter: &[f32]) -> Vec<f32> {
    let height = picture.len() / width;
    // The pixel at this many steps after another one, minus the filter's reach, clamped to the
    // picture.
    let place = |from: usize, steps: usize, end: usize| (from + steps).saturating_sub(REACH).min(end - 1);
    let mut out = Vec::with_capacity(picture.len());
    for y in 0..height {
        for x in 0..width {
            let mut sum = 0f32;
            for (i, weights) in filter.chunks_exact(SIDE).enumerate() {
                let row = &picture[place(y, i, height) * width..][..width];
                for (j, weight) in weights.iter().enumerate() {
                    sum = weight.mul_add(row[place(x, j, width)], sum);
                }
            }
            out.push(sum);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_weight_moves_the_picture() {
        let picture: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let mut filter = [0f32; SIDE * SIDE];
        filter[2 * SIDE + 2] = 1.0;
        assert_eq!(filtered(&picture, 4, &filter), picture);
        // The pixel above, two columns to the right; edges are extended.
        filter.fill(0.0);
        filter[SIDE + 4] = 1.0;
        assert_eq!(
            filtered(&picture, 4, &filter),
            [2.0, 3.0, 3.0, 3.0, 2.0, 3.0, 3.0, 3.0, 6.0, 7.0, 7.0, 7.0]
        );
    }

    #[test]
    fn equal_weights_keep_an_even_picture() {
        assert_eq!(filtered(&[8.0; 35], 7, &[0.125; 25]), [25.0; 35]);
    }
}
