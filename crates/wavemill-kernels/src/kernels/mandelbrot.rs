//! Escape times, bit for bit: every operation is rounded separately, on the device and here.

use crate::case::{Case, Size};
use crate::check::Expect;

pub(crate) fn case(size: Size) -> Case {
    let (width, height, limit) = size.pick((200, 150, 200), (1024, 768, 1000));
    let step = 3.0 / width as f32;
    Case::new("mandelbrot", "mandelbrot", reference)
        .cover_2d([width, height], [16, 16])
        .buffer("steps", &vec![0u32; (width * height) as usize])
        .u32("width", width)
        .u32("height", height)
        .f32("left", -2.25)
        .f32("top", step * height as f32 / 2.0)
        .f32("step", step)
        .u32("limit", limit)
}

fn reference(case: &Case) -> Vec<Expect> {
    let [width, height, limit] = ["width", "height", "limit"].map(|name| case.get_u32(name));
    let [left, top, step] = ["left", "top", "step"].map(|name| case.get_f32(name));
    let mut steps = Vec::with_capacity((width * height) as usize);
    for py in 0..height {
        for px in 0..width {
            steps.push(escape(left + px as f32 * step, top - py as f32 * step, limit));
        }
    }
    vec![Expect::values(&steps)]
}

fn escape(cx: f32, cy: f32, limit: u32) -> u32 {
    let (mut x, mut y, mut xx, mut yy) = (0f32, 0f32, 0f32, 0f32);
    let mut n = 0;
    while n < limit && xx + yy <= 4.0 {
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        n += 1;
    }
    n
}

/// The colour (red, green, blue) of a pixel of the Mandelbrot picture that escaped after `steps` of
/// at most `limit` steps. Inside the set it is black; outside it cycles from dark blue over light
/// yellow to brown, in steps that get longer towards the set.
pub fn colour(steps: u32, limit: u32) -> [u8; 3] {
    /// Colours at equal distances along the cycle.
    const STOPS: [[f32; 3]; 6] = [
        [0.0, 7.0, 100.0],
        [32.0, 107.0, 203.0],
        [237.0, 255.0, 255.0],
        [255.0, 170.0, 0.0],
        [120.0, 40.0, 0.0],
        [0.0, 2.0, 40.0],
    ];
    if steps >= limit {
        return [0, 0, 0];
    }
    let along = (1.0 + steps as f32).ln() * 1.2;
    let from = along as usize;
    let part = along - from as f32;
    let (a, b) = (STOPS[from % STOPS.len()], STOPS[(from + 1) % STOPS.len()]);
    std::array::from_fn(|channel| (a[channel] + (b[channel] - a[channel]) * part) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_points() {
        // The origin and -1 never escape; 1 goes 1, 2, 5: |2| is not outside, |5| is.
        assert_eq!(escape(0.0, 0.0, 500), 500);
        assert_eq!(escape(-1.0, 0.0, 500), 500);
        assert_eq!(escape(1.0, 0.0, 500), 3);
        assert_eq!(escape(3.0, 0.0, 500), 1);
        // -0.75 + 0.001 i: pi is in the number of steps, a known curiosity (pi / 0.001 = 3141.6).
        assert!((3130..=3150).contains(&escape(-0.75, 0.001, 10_000)));
    }

    #[test]
    fn colours_tell_inside_from_outside() {
        assert_eq!(colour(100, 100), [0, 0, 0]);
        assert_eq!(colour(0, 100), [0, 7, 100]);
        let different: std::collections::BTreeSet<_> = (0..200).map(|steps| colour(steps, 200)).collect();
        assert!(different.len() > 100);
        assert!(!different.contains(&[0, 0, 0]));
    }
}
