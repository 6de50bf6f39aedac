//! Every atomic operation at every scope, in global memory and in LDS. The order of the items does
//! not affect the compared results.

use crate::case::{Case, Plain, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup, and of a wave.
const GROUP: usize = 128;
const WAVE: usize = 64;
/// Scopes: item, wave, group, device, system.
const SCOPES: usize = 5;
/// One in this many of the items that share a cell does compare and exchange.
const SWAPPERS: usize = 16;
/// The initial value of a cell that all items of a scope share.
const COMMON: u64 = 77;
/// The final value of a cell whose value was removed again.
const TIDY: u64 = 55;
/// Bits that `or` may set, and that `and` leaves alone.
const SOME_BITS: u64 = 0x3333_3333_5555_5555;

/// The operations, in the order of their cells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Load,
    Store,
    Exchange,
    Strong,
    Weak,
    Add,
    Sub,
    Or,
    Xor,
    And,
    Umin,
    Umax,
    Smin,
    Smax,
}

const OPERATIONS: [Operation; 14] = [
    Operation::Load,
    Operation::Store,
    Operation::Exchange,
    Operation::Strong,
    Operation::Weak,
    Operation::Add,
    Operation::Sub,
    Operation::Or,
    Operation::Xor,
    Operation::And,
    Operation::Umin,
    Operation::Umax,
    Operation::Smin,
    Operation::Smax,
];

/// A number of the buffers: 32 or 64 bits.
trait Number: Plain {
    fn wide(self) -> u64;
    fn narrow(value: u64) -> Self;
    /// As a number with a sign.
    fn signed(value: u64) -> i64;
}

impl Number for u32 {
    fn wide(self) -> u64 {
        self.into()
    }
    fn narrow(value: u64) -> u32 {
        value as u32
    }
    fn signed(value: u64) -> i64 {
        (value as u32).cast_signed().into()
    }
}

impl Number for u64 {
    fn wide(self) -> u64 {
        self
    }
    fn narrow(value: u64) -> u64 {
        value
    }
    fn signed(value: u64) -> i64 {
        value.cast_signed()
    }
}

pub(crate) fn global32(size: Size) -> Case {
    global::<u32>("atomics_global32", size, global_reference::<u32>)
}

pub(crate) fn global64(size: Size) -> Case {
    global::<u64>("atomics_global64", size, global_reference::<u64>)
}

pub(crate) fn local32(size: Size) -> Case {
    local::<u32>("atomics_local32", size, local_reference::<u32>)
}

pub(crate) fn local64(size: Size) -> Case {
    local::<u64>("atomics_local64", size, local_reference::<u64>)
}

fn global<T: Number>(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let groups = size.pick(65, 512);
    let mut random = Random::new(56);
    let cells = OPERATIONS.len() * Places { items: groups * GROUP, groups }.stride();
    make::<T>(name, groups, reference)
        .buffer("v", &random.many(groups * GROUP, |r| T::narrow(r.u64())))
        .buffer("cells", &random.many(cells, |r| T::narrow(r.u64())))
        .buffer("total", &[T::narrow(0); OPERATIONS.len()])
}

fn local<T: Number>(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let groups = size.pick(65, 512);
    let mut random = Random::new(57);
    let cells = OPERATIONS.len() * Places { items: GROUP, groups: 1 }.stride();
    make::<T>(name, groups, reference)
        .buffer("v", &random.many(groups * GROUP, |r| T::narrow(r.u64())))
        .buffer("first", &random.many(cells, |r| T::narrow(r.u64())))
        .buffer("last", &vec![T::narrow(0); groups * cells])
        .buffer("total", &[T::narrow(0); OPERATIONS.len()])
}

fn make<T: Number>(name: &'static str, groups: usize, reference: fn(&Case) -> Vec<Expect>) -> Case {
    // Items whose exchange fails try again.
    Case { spins: true, ..Case::new(name, name, reference) }.cover((groups * GROUP) as u32, GROUP as u32)
}

/// The cells of an operation, for the items that share them.
#[derive(Clone, Copy)]
struct Places {
    items: usize,
    groups: usize,
}

impl Places {
    fn stride(self) -> usize {
        self.items + self.items / WAVE + self.groups + 2
    }

    /// The cells of an item at each scope.
    fn of(self, item: usize) -> [usize; SCOPES] {
        let waves = self.items + item / WAVE;
        let groups = self.items + self.items / WAVE + item / GROUP;
        let all = self.stride() - 2;
        [item, waves, groups, all, all + 1]
    }
}

fn global_reference<T: Number>(case: &Case) -> Vec<Expect> {
    let v: Vec<u64> = case.input::<T>("v").into_iter().map(T::wide).collect();
    let mut cells: Vec<u64> = case.input::<T>("cells").into_iter().map(T::wide).collect();
    let mut total = [0; OPERATIONS.len()];
    run::<T>(&mut cells, &mut total, &v, (0..v.len()).collect());
    vec![Expect::Unchanged, narrow::<T>(&cells), narrow::<T>(&total)]
}

fn local_reference<T: Number>(case: &Case) -> Vec<Expect> {
    let v: Vec<u64> = case.input::<T>("v").into_iter().map(T::wide).collect();
    let first: Vec<u64> = case.input::<T>("first").into_iter().map(T::wide).collect();
    let mut total = [0; OPERATIONS.len()];
    let mut last = Vec::new();
    for v in v.chunks_exact(GROUP) {
        let mut cells = first.clone();
        run::<T>(&mut cells, &mut total, v, (0..GROUP).collect());
        last.extend(cells);
    }
    vec![Expect::Unchanged, Expect::Unchanged, narrow::<T>(&last), narrow::<T>(&total)]
}

fn narrow<T: Number>(values: &[u64]) -> Expect {
    Expect::values(&values.iter().map(|&value| T::narrow(value)).collect::<Vec<T>>())
}

/// The effect of all items on the cells, one after the other in some order.
fn run<T: Number>(cells: &mut [u64], total: &mut [u64; OPERATIONS.len()], v: &[u64], order: Vec<usize>) {
    let places = Places { items: v.len(), groups: v.len() / GROUP };
    for (o, operation) in OPERATIONS.into_iter().enumerate() {
        for &item in &order {
            for (scope, place) in places.of(item).into_iter().enumerate() {
                let swaps = matches!(operation, Operation::Strong | Operation::Weak);
                if swaps && scope > 0 && item % SWAPPERS > 0 {
                    continue;
                }
                let common = COMMON + scope as u64;
                let operand = match operation {
                    Operation::Store if scope > 0 => common,
                    Operation::Exchange if scope > 2 => common,
                    _ => v[item],
                };
                let cell = &mut cells[o * places.stride() + place];
                let old = *cell;
                *cell = after::<T>(operation, old, operand);
                let counted = match operation {
                    Operation::Load => old,
                    Operation::Store => 0,
                    Operation::Add | Operation::Sub => old.wrapping_mul(operand),
                    _ => cell.wrapping_sub(old),
                };
                total[o] = total[o].wrapping_add(counted.wrapping_mul(weight(scope)));
            }
        }
        if operation == Operation::Exchange {
            // Each cell that is shared by some but not all items is emptied once.
            let shared = &mut cells[o * places.stride()..][..places.stride() - 2];
            for (place, cell) in shared.iter_mut().enumerate() {
                let scope = match place {
                    _ if place < places.items => 0,
                    _ if place < places.items + places.items / WAVE => 1,
                    _ => 2,
                };
                let taken = std::mem::replace(cell, TIDY);
                total[o] = total[o].wrapping_sub(taken.wrapping_mul(weight(scope)));
            }
        }
    }
}

/// The weight of a scope.
fn weight(scope: usize) -> u64 {
    2 * scope as u64 + 1
}

/// The effect of an operation on a cell.
fn after<T: Number>(operation: Operation, old: u64, operand: u64) -> u64 {
    let new = match operation {
        Operation::Load => old,
        Operation::Store | Operation::Exchange => operand,
        Operation::Strong => old.wrapping_mul(operand.wrapping_mul(2).wrapping_add(1)),
        Operation::Weak => old.wrapping_add(operand.wrapping_mul(3)),
        Operation::Add => old.wrapping_add(operand),
        Operation::Sub => old.wrapping_sub(operand),
        Operation::Or => old | (operand & SOME_BITS),
        Operation::Xor => old ^ operand,
        Operation::And => old & (operand | SOME_BITS),
        Operation::Umin => old.min(operand),
        Operation::Umax => old.max(operand),
        Operation::Smin => std::cmp::min_by_key(old, operand, |&value| T::signed(value)),
        Operation::Smax => std::cmp::max_by_key(old, operand, |&value| T::signed(value)),
    };
    T::narrow(new).wide()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_launch<T: Number>(seed: u64, groups: usize) -> (Vec<u64>, Vec<u64>) {
        let mut random = Random::new(seed);
        let items = groups * GROUP;
        let cells = OPERATIONS.len() * Places { items, groups }.stride();
        let mut many = |count| random.many(count, |r| T::narrow(r.u64()).wide());
        (many(items), many(cells))
    }

    fn any_order<T: Number>() {
        let (v, first) = random_launch::<T>(58, 3);
        let results = |order: Vec<usize>| {
            let (mut cells, mut total) = (first.clone(), [0; OPERATIONS.len()]);
            run::<T>(&mut cells, &mut total, &v, order);
            (cells, total.map(|total| T::narrow(total).wide()))
        };
        let expected = results((0..v.len()).collect());
        assert_eq!(results((0..v.len()).rev().collect()), expected);
        let mut random = Random::new(59);
        for _ in 0..20 {
            let mut order: Vec<usize> = (0..v.len()).collect();
            order.sort_by_cached_key(|_| random.u64());
            assert_eq!(results(order), expected);
        }
    }

    #[test]
    fn the_order_of_items_makes_no_difference() {
        any_order::<u32>();
        any_order::<u64>();
    }

    #[test]
    fn cells_that_all_share_hold_what_formulas_say() {
        let (v, first) = random_launch::<u64>(60, 2);
        let (mut cells, mut total) = (first.clone(), [0; OPERATIONS.len()]);
        run::<u64>(&mut cells, &mut total, &v, (0..v.len()).collect());
        let places = Places { items: v.len(), groups: 2 };
        let cell = |cells: &[u64], operation| cells[operation as usize * places.stride() + places.of(0)[3]];
        let change = |operation| (cell(&first, operation), cell(&cells, operation));
        let (before, after) = change(Operation::Add);
        assert_eq!(after, v.iter().fold(before, |sum, v| sum.wrapping_add(*v)));
        let (before, after) = change(Operation::Sub);
        assert_eq!(after, v.iter().fold(before, |sum, v| sum.wrapping_sub(*v)));
        let (before, after) = change(Operation::Xor);
        assert_eq!(after, v.iter().fold(before, |sum, v| sum ^ v));
        let (before, after) = change(Operation::And);
        assert_eq!((after & SOME_BITS, after & !SOME_BITS), (before & SOME_BITS, 0));
        let (before, after) = change(Operation::Or);
        assert_eq!((after & SOME_BITS, after & !SOME_BITS), (SOME_BITS, before & !SOME_BITS));
        assert_eq!(change(Operation::Umax).1, v.iter().copied().fold(change(Operation::Umax).0, u64::max));
        let smallest = v.iter().map(|v| v.cast_signed()).min();
        let (before, after) = change(Operation::Smin);
        assert_eq!(Some(after.cast_signed()), smallest.min(Some(before.cast_signed())));
        assert_eq!(change(Operation::Exchange).1, COMMON + 3);
        assert_eq!(change(Operation::Store).1, COMMON + 3);
    }

    #[test]
    fn totals_of_additions_are_products_of_pairs() {
        // Two items of one wave share a cell at every scope except the first.
        let (mut v, first) =
            (vec![0; GROUP], vec![0; OPERATIONS.len() * Places { items: GROUP, groups: 1 }.stride()]);
        (v[3], v[40]) = (5, 7);
        let (mut cells, mut total) = (first, [0; OPERATIONS.len()]);
        run::<u64>(&mut cells, &mut total, &v, (0..GROUP).collect());
        assert_eq!(total[Operation::Add as usize], 35 * (3 + 5 + 7 + 9));
        assert_eq!(total[Operation::Sub as usize], 0u64.wrapping_sub(35 * (3 + 5 + 7 + 9)));
    }
}
