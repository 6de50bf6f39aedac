//! Counts of byte values.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn local(size: Size) -> Case {
    // 70 and 256 groups.
    make("histogram_local", size.pick(70 * 256, 1024 * 256), 256, size.pick(70 * 256 * 2 + 11, 1 << 22))
}

pub(crate) fn global(size: Size) -> Case {
    make("histogram_global", size.pick(70 * 64, 256 * 64), 64, size.pick(70 * 64 * 2 + 11, 1 << 18))
}

fn make(name: &'static str, items: u32, group: u32, words: u32) -> Case {
    let mut random = Random::new(9);
    // Uneven on purpose, with runs: many lanes of a wave hit one bin.
    let data = random.many(words as usize, |r| match r.below(4) {
        0 => 0x0101_0101 * r.below(3),
        1 => r.u32() & r.u32(),
        _ => r.u32(),
    });
    Case::new(name, "histogram", reference)
        .cover(items, group)
        .buffer("data", &data)
        .buffer("bins", &[0u32; 256])
        .u32("words", words)
}

fn reference(case: &Case) -> Vec<Expect> {
    vec![Expect::Unchanged, Expect::values(&count(&case.input::<u8>("data")))]
}

fn count(bytes: &[u8]) -> [u32; 256] {
    let mut bins = [0; 256];
    for &byte in bytes {
        bins[usize::from(byte)] += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_counted_once() {
        let case = local(Size::Small);
        let bins = count(&case.input::<u8>("data"));
        assert_eq!(bins.iter().sum::<u32>(), 4 * case.get_u32("words"));
        assert!(bins.iter().all(|&bin| bin > 0) && bins[1] > 10 * bins[200]);
        let few = count(b"hello");
        assert_eq!((few[usize::from(b'l')], few[usize::from(b'h')], few[0]), (2, 1, 0));
    }
}
