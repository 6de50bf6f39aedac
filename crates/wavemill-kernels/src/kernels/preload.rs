//! Arguments of every width, some of which hardware loads before the kernel starts.

use crate::case::{Case, Size, Value, bytes_of};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(64 * 64 - 3, 1 << 24);
    let mut random = Random::new(18);
    Case::new("preload", "preload", reference)
        .cover(n, 64)
        .buffer("y", &vec![0u32; n as usize])
        .buffer("x", &random.many(n as usize, Random::u32))
        .u32("n", n)
        .u32("a", random.u32())
        .arg("b", Value::U64(random.u64()))
        .arg("far", Value::Bytes(bytes_of(&random.many(16, Random::u32))))
}

fn reference(case: &Case) -> Vec<Expect> {
    let (a, b, far) = (case.get_u32("a"), case.get_u64("b"), case.get_array::<u32>("far"));
    let y: Vec<u32> = case
        .input::<u32>("x")
        .iter()
        .zip(far.iter().cycle())
        .map(|(&x, far)| a.wrapping_mul(x).wrapping_add((b >> 32) as u32).wrapping_add(*far))
        .collect();
    vec![Expect::values(&y), Expect::Unchanged]
}
