//! Kernels that print. Other tests check the printed text; these cases check the values that they
//! store.

use crate::case::{Case, Size, Value};
use crate::check::Expect;

const A: u32 = 42;

pub(crate) fn kinds(size: Size) -> Case {
    let n = 64 * size.pick(64, 65_536);
    Case::new("printf_kinds", "printf", |case| {
        let n = case.input::<u32>("stored").len() as u32;
        vec![Expect::values(&(0..n).map(|i| i + A).collect::<Vec<u32>>())]
    })
    .cover(n, 64)
    .buffer("stored", &vec![0u32; n as usize])
    .u32("a", A)
    .arg("b", Value::U64(1 << 40 | 5))
    .f32("f", 1.5)
    .f64("d", -2.75)
}

pub(crate) fn items(size: Size) -> Case {
    let n = 64 * size.pick(64, 1024) - 9;
    let case = Case::new("printf_items", "printf", |case| {
        let (n, every) = (case.get_u32("n"), case.get_u32("every"));
        let printed: Vec<u32> = (0..n).map(|i| if i % every == 0 { i * i } else { 0 }).collect();
        vec![Expect::values(&printed)]
    })
    .cover(n, 64)
    .buffer("printed", &vec![u32::MAX; n as usize])
    .u32("n", n)
    .u32("every", 7);
    // A loop of compare-and-swap reserves space in the buffer.
    Case { spins: true, ..case }
}

pub(crate) fn then_store(size: Size) -> Case {
    let n = 64 * size.pick(64, 1024) - 9;
    let case = Case::new("printf_then_store", "printf", |case| {
        vec![Expect::values(&(0..case.get_u32("n")).collect::<Vec<u32>>())]
    })
    .cover(n, 64)
    .buffer("stored", &vec![u32::MAX; n as usize])
    .u32("n", n)
    .u32("last", n - 1);
    // A loop of compare-and-swap reserves space in the buffer.
    Case { spins: true, ..case }
}
