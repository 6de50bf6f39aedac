//! One step of n bodies, near the exact result. The bounds of the instructions determine how near.

use crate::case::{Case, Size};
use crate::check::{Expect, Near};
use crate::random::Random;

/// Items of a workgroup, and bodies of a tile.
const GROUP: usize = 256;
/// The largest relative error of rounding to nearest.
const U: f64 = 1.0 / 16_777_216.0;
/// A margin for the products of errors, which the sums below omit.
const SLACK: f64 = 1.001;

pub(crate) fn case(size: Size) -> Case {
    let (n, heavy) = size.pick((64 * 256 - 100, 300), (64 * 256, 64 * 256));
    let mut random = Random::new(5);
    let body: Vec<[f32; 4]> =
        random.many(n, |r| [r.f32(-10.0, 10.0), r.f32(-10.0, 10.0), r.f32(-10.0, 10.0), r.f32(0.1, 1.0)]);
    let velocity: Vec<[f32; 4]> =
        random.many(n, |r| [r.f32(-1.0, 1.0), r.f32(-1.0, 1.0), r.f32(-1.0, 1.0), 0.0]);
    Case::new("nbody", "nbody", reference)
        .cover(n as u32, GROUP as u32)
        .buffer("body", body.as_flattened())
        .buffer("velocity", velocity.as_flattened())
        .buffer("moved", &vec![0f32; 4 * n])
        .u32("n", n as u32)
        .u32("heavy", heavy)
        .f32("dt", 0.01)
        .f32("softening2", 0.01)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (body, velocity) = (case.input::<f32>("body"), case.input::<f32>("velocity"));
    let (body, velocity) = (body.as_chunks::<4>().0, velocity.as_chunks::<4>().0);
    let heavy = &body[..case.get_u32("heavy") as usize];
    let (dt, softening2) = (f64::from(case.get_f32("dt")), f64::from(case.get_f32("softening2")));
    let mut faster = Vec::with_capacity(4 * body.len());
    let mut moved = Vec::with_capacity(4 * body.len());
    for (me, v) in body.iter().zip(velocity) {
        let pull = pull(me, heavy, softening2);
        for axis in 0..3 {
            // Two fused operations, each rounded once.
            let speed = f64::from(v[axis]) + dt * pull[axis].exact;
            let speed_bound = (dt * pull[axis].bound + U * speed.abs()) * SLACK;
            let place = f64::from(me[axis]) + dt * speed;
            let place_bound = (dt * speed_bound + U * place.abs()) * SLACK;
            faster.push(Near { exact: speed, bound: speed_bound });
            moved.push(Near { exact: place, bound: place_bound });
        }
        faster.push(Near { exact: 0.0, bound: 0.0 });
        moved.push(Near { exact: f64::from(me[3]), bound: 0.0 });
    }
    vec![Expect::Unchanged, Expect::Near(faster), Expect::Near(moved)]
}

/// The pull on a body, and a bound for the kernel's rounding errors.
///
/// With u = 2^-24, the largest relative error of one rounding:
/// - each component d of the distance is rounded once: u, so 2u for its square;
/// - three fused steps add up the squares, all positive: 2u and another 3u, together 5u;
/// - `rsqrt` is V_RSQ_F32 between two exact scalings: half of its operand's 5u and 1 ulp (Vega ISA
///   12.8), at most 2u: 4.5u; without optimisation it is 1 / sqrt, both correctly rounded, also 2u;
/// - the strength is the mass multiplied by that three times, three roundings: 13.5u + 3u = 16.5u;
/// - the relative error of strength * d is 16.5u + u = 17.5u;
/// - each fused step of the sum rounds once: u times the sum so far. Bodies that pad the last tile
///   have no mass; a step that adds 0 is exact.
fn pull(me: &[f32; 4], heavy: &[[f32; 4]], softening2: f64) -> [Near; 3] {
    let mut sum = [0f64; 3];
    let mut bound = [0f64; 3];
    for other in heavy {
        let d: [f64; 3] = std::array::from_fn(|axis| f64::from(other[axis]) - f64::from(me[axis]));
        let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening2;
        let strength = f64::from(other[3]) / (square * square.sqrt());
        for axis in 0..3 {
            sum[axis] += strength * d[axis];
            bound[axis] += 17.5 * U * (strength * d[axis]).abs() + U * sum[axis].abs();
        }
    }
    std::array::from_fn(|axis| Near { exact: sum[axis], bound: bound[axis] * SLACK })
}

#[cfg(test)]
mod tests {
    use super::pull;

    #[test]
    fn pulls_that_are_known() {
        // Mass 8 at distance 2: 8 / 2^2 along x; a body does not pull itself.
        let me = [1.0, 0.0, 0.0, 1.0];
        let near = pull(&me, &[me, [3.0, 0.0, 0.0, 8.0]], 1e-20);
        assert!((near[0].exact - 2.0).abs() < 1e-12);
        assert_eq!((near[1].exact, near[2].exact), (0.0, 0.0));
        // Equal masses on both sides cancel.
        let near = pull(&[0.0; 4], &[[1.0, 1.0, 0.0, 2.0], [-1.0, -1.0, 0.0, 2.0]], 0.25);
        assert_eq!(near.map(|n| n.exact), [0.0; 3]);
        assert!(near[0].bound > 0.0 && near[0].bound < 1e-5);
    }
}
