//! Atomic operations on floating-point numbers whose results do not depend on the order of the
//! items.

use crate::case::{Case, Plain, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 128;
/// One in this many of the items that share a cell does compare and exchange.
const SWAPPERS: usize = 16;

/// The operations, in the order of their cells.
const OPERATIONS: [&str; 8] = ["load", "store", "exchange", "swap", "add", "sub", "min", "max"];

/// An element type of the cells. All sums are exact, so they can be computed as doubles.
trait Real: Plain {
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
    /// The kernel's count of its bits.
    fn counted(value: f64) -> u32;
}

impl Real for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
    fn counted(value: f64) -> u32 {
        (value as f32).to_bits()
    }
}

impl Real for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
    fn counted(value: f64) -> u32 {
        let bits = value.to_bits();
        ((bits >> 32) as u32).wrapping_mul(31).wrapping_add(bits as u32)
    }
}

pub(crate) fn global(size: Size) -> Case {
    let groups = size.pick(65, 512);
    let mut random = Random::new(61);
    let first: Vec<f64> = OPERATIONS
        .iter()
        .flat_map(|operation| (0..=groups).map(move |group| (operation, group % 8 == 5)))
        .map(|(operation, tiny)| start(&mut random, operation, tiny))
        .collect();
    make("atomics_float_global", groups, global_reference)
        .buffer("cells32", &narrow::<f32>(&first))
        .buffer("cells64", &first)
        .buffer("total32", &[0u32; OPERATIONS.len()])
        .buffer("total64", &[0u32; OPERATIONS.len()])
}

pub(crate) fn local(size: Size) -> Case {
    let groups = size.pick(65, 512);
    let mut random = Random::new(62);
    let first = OPERATIONS.map(|operation| start(&mut random, operation, true));
    let zeros = vec![0.0; groups * OPERATIONS.len()];
    make("atomics_float_local", groups, local_reference)
        .buffer("first32", &narrow::<f32>(&first))
        .buffer("first64", &first)
        .buffer("last32", &narrow::<f32>(&zeros))
        .buffer("last64", &zeros)
        .buffer("total32", &[0u32; OPERATIONS.len()])
        .buffer("total64", &[0u32; OPERATIONS.len()])
}

fn make(name: &'static str, groups: usize, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let mut random = Random::new(63);
    let quarters = random.many(groups * GROUP, |r| (1 + r.below(60)) as f32 / 4.0);
    // Candidates for the minimum and the maximum: NaNs, which are ignored; in some groups only
    // numbers that are denormal as floats, or even as doubles, and in a few an infinity. Zeros are
    // positive, because otherwise the remaining one would depend on the order.
    let candidates: Vec<f64> = (0..groups * GROUP)
        .map(|item| match (item / GROUP % 8, random.below(16)) {
            (_, 0) => f64::NAN,
            (5, 1) => f64::from_bits(random.u64() >> 20),
            (5, _) => f64::from(f32::from_bits((1 + random.below(0x7f_fffe)) | (random.u32() & (1 << 31)))),
            (6, 1) if item < 16 * GROUP => f64::INFINITY.copysign(f64::from(random.f32(-1.0, 1.0))),
            _ => f64::from(random.f32(-1000.0, 1000.0)),
        })
        .collect();
    // Items whose exchange fails try again.
    Case { spins: true, ..Case::new(name, "atomics_float", reference) }
        .cover((groups * GROUP) as u32, GROUP as u32)
        .buffer("v", &quarters)
        .buffer("w", &candidates)
}

/// The initial value of a cell.
fn start(random: &mut Random, operation: &str, tiny: bool) -> f64 {
    match operation {
        "swap" | "add" | "sub" => f64::from(random.below(1000)) / 4.0,
        "min" | "max" if tiny => f64::from(f32::from_bits(random.below(0x7f_ffff))),
        _ => f64::from(random.f32(-10.0, 10.0)),
    }
}

fn narrow<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::narrow(value)).collect()
}

/// `v` and `w`.
fn operands(case: &Case) -> (Vec<f64>, Vec<f64>) {
    (case.input::<f32>("v").into_iter().map(f64::from).collect(), case.input("w"))
}

fn global_reference(case: &Case) -> Vec<Expect> {
    let (v, w) = operands(case);
    let results = |mut cells: Vec<f64>, run: Run| {
        let mut total = [0; OPERATIONS.len()];
        let stride = cells.len() / OPERATIONS.len();
        for item in 0..v.len() {
            for place in [item / GROUP, stride - 1] {
                run(&mut cells[place..], stride, item, v[item], w[item], &mut total);
            }
        }
        (cells, total)
    };
    let (cells32, total32) =
        results(case.input::<f32>("cells32").into_iter().map(f64::from).collect(), run::<f32>);
    let (cells64, total64) = results(case.input("cells64"), run::<f64>);
    vec![
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::values(&narrow::<f32>(&cells32)),
        Expect::values(&cells64),
        Expect::values(&total32),
        Expect::values(&total64),
    ]
}

fn local_reference(case: &Case) -> Vec<Expect> {
    let (v, w) = operands(case);
    let results = |first: Vec<f64>, run: Run| {
        let (mut last, mut total) = (Vec::new(), [0; OPERATIONS.len()]);
        for group in 0..v.len() / GROUP {
            let mut cells = first.clone();
            for item in group * GROUP..(group + 1) * GROUP {
                run(&mut cells, 1, item, v[item], w[item], &mut total);
            }
            last.extend(cells);
        }
        (last, total)
    };
    let (last32, total32) =
        results(case.input::<f32>("first32").into_iter().map(f64::from).collect(), run::<f32>);
    let (last64, total64) = results(case.input("first64"), run::<f64>);
    vec![
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::values(&narrow::<f32>(&last32)),
        Expect::values(&last64),
        Expect::values(&total32),
        Expect::values(&total64),
    ]
}

type Run = fn(&mut [f64], usize, usize, f64, f64, &mut [u32; OPERATIONS.len()]);

/// The effect of an item on its cells, which are `stride` elements apart.
fn run<T: Real>(
    cells: &mut [f64],
    stride: usize,
    item: usize,
    v: f64,
    w: f64,
    total: &mut [u32; OPERATIONS.len()],
) {
    let w = T::narrow(w).wide();
    // As integers, which may be negative.
    let product = |old: f64| ((4.0 * old) as i32).cast_unsigned().wrapping_mul((4.0 * v) as u32);
    for (o, operation) in OPERATIONS.into_iter().enumerate() {
        let cell = &mut cells[o * stride];
        let old = *cell;
        *cell = match operation {
            "load" => old,
            "store" => -2.5,
            "exchange" => 7.25,
            // First up by v, then down by twice as much.
            "swap" if (item % GROUP).is_multiple_of(SWAPPERS) => old - v,
            "swap" => old,
            "add" => old + v,
            "sub" => old - v,
            "min" => old.min(w),
            "max" => old.max(w),
            _ => panic!("{operation} has no meaning"),
        };
        let counted = match operation {
            "load" => T::counted(old),
            "store" => 0,
            "add" | "sub" => product(old),
            _ => T::counted(*cell).wrapping_sub(T::counted(old)),
        };
        total[o] = total[o].wrapping_add(counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any_order<T: Real>() {
        let case = local(Size::Small);
        let (v, w) = operands(&case);
        let first = narrow::<T>(&case.input::<f64>("first64"));
        let results = |order: &[usize]| {
            let (mut cells, mut total) =
                (first.iter().map(|x| x.wide()).collect::<Vec<f64>>(), [0; OPERATIONS.len()]);
            for &item in order {
                run::<T>(&mut cells, 1, item, v[item], w[item], &mut total);
            }
            (cells.iter().map(|cell| cell.to_bits()).collect::<Vec<u64>>(), total)
        };
        // Groups 0, with numbers of any size, and 5, with very small ones.
        for group in [0, 5] {
            let mut order: Vec<usize> = (group * GROUP..(group + 1) * GROUP).collect();
            let expected = results(&order);
            let mut random = Random::new(64);
            for _ in 0..50 {
                order.sort_by_cached_key(|_| random.u64());
                assert_eq!(results(&order), expected);
            }
        }
    }

    #[test]
    fn the_order_of_items_makes_no_difference() {
        any_order::<f32>();
        any_order::<f64>();
    }

    #[test]
    fn sums_are_exact_in_single_precision() {
        for case in [global(Size::Bench), local(Size::Bench)] {
            let sum: f64 = case.input::<f32>("v").iter().map(|&v| f64::from(v)).sum();
            assert!(4.0 * (sum + 250.0) < 16_777_216.0, "{sum}");
        }
    }

    #[test]
    fn cells_done_by_hand() {
        let (mut cells, mut total) = (vec![1.0; 8], [0; OPERATIONS.len()]);
        run::<f64>(&mut cells, 1, 0, 0.5, -3.0, &mut total);
        run::<f64>(&mut cells, 1, 1, 0.25, f64::NAN, &mut total);
        assert_eq!(cells, [1.0, -2.5, 7.25, 0.5, 1.75, 0.25, -3.0, 1.0]);
        assert_eq!(total[4], 4 * 2 + 6);
        assert_eq!(total[5], 4 * 2 + 2);
    }
}
