//! The atomic functions of OpenCL 1, in global memory and in LDS.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 128;
/// Cells of an operation in a group.
const SHARES: usize = 8;
/// The value that compare and exchange expects, and the value that it stores.
const WANTED: u64 = 3;
const PUT: u64 = 12_345;
/// The last number of the ring.
const LAST: u64 = 1000;
/// Bits that `or` may set, and that `and` leaves alone.
const SOME_BITS: u64 = 0x3333_5555;

/// The operations, in the order of their cells.
const OPERATIONS: [&str; 15] = [
    "add", "sub", "inc", "dec", "xchg", "cmpxchg", "min", "max", "smin", "smax", "and", "or", "xor", "up",
    "down",
];

pub(crate) fn global(size: Size) -> Case {
    let groups = size.pick(66, 8192);
    let first = first(&mut Random::new(67), (groups + 1) * SHARES);
    make("atomics_classic_global", groups, global_reference)
        .buffer("cells32", &narrow(&first))
        .buffer("cells64", &first)
}

pub(crate) fn local(size: Size) -> Case {
    let groups = size.pick(66, 8192);
    let first = first(&mut Random::new(68), SHARES);
    make("atomics_classic_local", groups, local_reference)
        .buffer("first32", &narrow(&first))
        .buffer("first64", &first)
        .buffer("last32", &vec![0u32; groups * first.len()])
        .buffer("last64", &vec![0u64; groups * first.len()])
}

fn make(name: &'static str, groups: usize, reference: fn(&Case) -> Vec<Expect>) -> Case {
    Case::new(name, "atomics_classic", reference)
        .cover((groups * GROUP) as u32, GROUP as u32)
        .buffer("v", &Random::new(69).many(groups * GROUP, Random::u64))
}

/// The initial contents of the cells. Some hold the value that compare and exchange expects, some a
/// number beyond the ring.
fn first(random: &mut Random, stride: usize) -> Vec<u64> {
    let cell = |operation: &str, random: &mut Random| match operation {
        "cmpxchg" => u64::from(random.below(6)),
        "up" | "down" if random.below(4) > 0 => u64::from(random.below(LAST as u32 + 1)),
        _ => random.u64(),
    };
    OPERATIONS
        .iter()
        .flat_map(|operation| (0..stride).map(move |_| operation))
        .map(|o| cell(o, random))
        .collect()
}

fn narrow(values: &[u64]) -> Vec<u32> {
    values.iter().map(|&value| value as u32).collect()
}

fn wide(values: &[u32]) -> Vec<u64> {
    values.iter().map(|&value| value.into()).collect()
}

fn global_reference(case: &Case) -> Vec<Expect> {
    let v = case.input::<u64>("v");
    let last = |mut cells: Vec<u64>, bits: u32| {
        let stride = cells.len() / OPERATIONS.len();
        for (item, &v) in v.iter().enumerate() {
            for place in [item / GROUP * SHARES, stride - SHARES] {
                run(&mut cells[place + item % SHARES..], stride, v, bits);
            }
        }
        cells
    };
    let (cells32, cells64) = (last(wide(&case.input("cells32")), 32), last(case.input("cells64"), 64));
    vec![Expect::Unchanged, Expect::values(&narrow(&cells32)), Expect::values(&cells64)]
}

fn local_reference(case: &Case) -> Vec<Expect> {
    let v = case.input::<u64>("v");
    let last = |first: Vec<u64>, bits: u32| {
        let mut last = Vec::new();
        for group in v.chunks_exact(GROUP) {
            let mut cells = first.clone();
            for (item, &v) in group.iter().enumerate() {
                run(&mut cells[item % SHARES..], SHARES, v, bits);
            }
            last.extend(cells);
        }
        last
    };
    let (last32, last64) = (last(wide(&case.input("first32")), 32), last(case.input("first64"), 64));
    vec![
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::Unchanged,
        Expect::values(&narrow(&last32)),
        Expect::values(&last64),
    ]
}

/// The effect of an item on its cells of 32 or 64 bits, which are `stride` elements apart.
fn run(cells: &mut [u64], stride: usize, v: u64, bits: u32) {
    let mask = u64::MAX >> (64 - bits);
    let v = v & mask;
    let signed = |value: u64| (value << (64 - bits)).cast_signed();
    for (o, operation) in OPERATIONS.into_iter().enumerate() {
        let old = cells[o * stride];
        let new = match operation {
            "add" => old.wrapping_add(v),
            "sub" => old.wrapping_sub(v),
            "inc" => old.wrapping_add(1),
            "dec" => old.wrapping_sub(1),
            "xchg" => PUT,
            "cmpxchg" => [old, PUT][usize::from(old == WANTED)],
            "min" => old.min(v),
            "max" => old.max(v),
            "smin" => [old, v][usize::from(signed(v) < signed(old))],
            "smax" => [old, v][usize::from(signed(v) > signed(old))],
            "and" => old & (v | SOME_BITS),
            "or" => old | (v & SOME_BITS),
            "xor" => old ^ v,
            // Around the ring in either direction; a value beyond it enters at one end.
            "up" => [old.wrapping_add(1), 0][usize::from(old >= LAST)],
            "down" => [old.wrapping_sub(1), LAST][usize::from(old == 0 || old > LAST)],
            _ => panic!("{operation} has no meaning"),
        };
        cells[o * stride] = new & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_items_makes_no_difference() {
        let mut random = Random::new(70);
        let cells = first(&mut random, 1);
        for bits in [32, 64] {
            let mut v = random.many(100, Random::u64);
            let results = |v: &[u64]| {
                let mut cells: Vec<u64> = cells.iter().map(|cell| cell & (u64::MAX >> (64 - bits))).collect();
                v.iter().for_each(|&v| run(&mut cells, 1, v, bits));
                cells
            };
            let expected = results(&v);
            for _ in 0..50 {
                v.sort_by_cached_key(|_| random.u64());
                assert_eq!(results(&v), expected);
            }
        }
    }

    #[test]
    fn operations_done_by_hand() {
        let mut cells = vec![5, 5, 5, 0, 5, 3, 5, 5, 5, 5, 0xff, 0, 5, 1000, 0];
        run(&mut cells, 1, 0xffff_fffe, 32);
        let expected = [
            3,
            7,
            6,
            0xffff_ffff,
            12_345,
            12_345,
            5,
            0xffff_fffe,
            0xffff_fffe,
            5,
            0xff,
            0x3333_5554,
            0xffff_fffb,
            0,
            1000,
        ];
        assert_eq!(cells, expected);
        // As a 64-bit number, the operand is not negative, and 2^32 is beyond the ring.
        let mut cells = vec![0, 0, 0, 0, 0, 4, 0, 0, 5, 5, 0, 0, 0, 1 << 32, 1 << 32];
        run(&mut cells, 1, 0xffff_fffe, 64);
        assert_eq!(
            (cells[3], cells[5], cells[8], cells[9], cells[13], cells[14]),
            (u64::MAX, 4, 5, 0xffff_fffe, 0, 1000)
        );
    }
}
