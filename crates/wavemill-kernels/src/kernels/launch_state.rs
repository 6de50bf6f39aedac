//! The facts that a work-item can query about its launch.

use crate::case::{Case, Size};
use crate::check::Expect;

/// Words of a record.
const WORDS: u64 = 32;
/// Lanes of a wave.
const WAVE: u32 = 64;

/// One dimension, an uneven edge.
pub(crate) fn line(size: Size) -> Case {
    make("launch_state_1d", 1, [size.pick(6500, 650_000), 1, 1], [100, 1, 1], [0; 3])
}

/// Two dimensions, workgroups smaller than a wave, an offset.
pub(crate) fn plane(size: Size) -> Case {
    make("launch_state_2d", 2, [size.pick(123, 12_300), 45, 1], [10, 5, 1], [7, 1000, 0])
}

/// Three dimensions with uneven edges in all, an offset in all.
pub(crate) fn space(size: Size) -> Case {
    make("launch_state_3d", 3, [37, 13, size.pick(11, 910)], [8, 4, 3], [1, 20, 300])
}

fn make(name: &'static str, dims: u32, global: [u32; 3], local: [u32; 3], offset: [u64; 3]) -> Case {
    let mut case = Case::new(name, "launch_state", reference);
    case.kernel = "launch_state";
    case.dims = dims;
    case.global = global;
    case.local = local;
    case.offset = offset;
    let words = case.work_items() * WORDS;
    case.buffer("records", &vec![0u32; words as usize])
}

fn reference(case: &Case) -> Vec<Expect> {
    let [width, height, depth] = case.global;
    let mut records = Vec::with_capacity((case.work_items() * WORDS) as usize);
    for z in 0..depth {
        for y in 0..height {
            for x in 0..width {
                records.extend(record(case, [x, y, z]));
            }
        }
    }
    vec![Expect::values(&records)]
}

/// The record of the item at `place` in the grid.
fn record(case: &Case, place: [u32; 3]) -> Vec<u32> {
    let (global, local) = (case.global, case.local);
    let offset = case.offset.map(|offset| offset as u32);
    let group: [u32; 3] = std::array::from_fn(|d| place[d] / local[d]);
    let inside: [u32; 3] = std::array::from_fn(|d| place[d] % local[d]);
    // Groups at the far edges are smaller, and so are their waves.
    let own: [u32; 3] = std::array::from_fn(|d| local[d].min(global[d] - group[d] * local[d]));
    let mut words = Vec::with_capacity(WORDS as usize);
    words.extend::<[u32; 3]>(std::array::from_fn(|d| place[d] + offset[d]));
    words.extend(inside);
    words.extend(group);
    words.extend(own);
    words.extend(local);
    words.extend(case.groups());
    words.extend(global);
    words.extend(offset);
    words.push(case.dims);
    words.extend(local);
    words.extend(global);
    words.push(((inside[2] * own[1] + inside[1]) * own[0] + inside[0]) % WAVE);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_at_an_edge() {
        let case = space(Size::Small);
        let words = record(&case, [36, 12, 4]);
        assert_eq!(words.len() as u64, WORDS);
        assert_eq!(words[..12], [37, 32, 304, 4, 0, 1, 4, 3, 1, 5, 1, 3]);
        assert_eq!(words[12..24], [8, 4, 3, 5, 4, 4, 37, 13, 11, 1, 20, 300]);
        assert_eq!(words[24..], [3, 8, 4, 3, 37, 13, 11, 5 + 4]);
    }
}
