//! Work-items: the sizes of workgroups, and the ids of the lanes of a wave.

use wavemill_ir::LANES;

/// Size of a workgroup; smaller at the edge of a grid that is not a multiple of it.
pub(crate) fn size_of(workgroup: [u32; 3], full: [u32; 3], global_size: [u64; 3]) -> [u32; 3] {
    std::array::from_fn(|d| {
        let before = u64::from(workgroup[d]) * u64::from(full[d]);
        u64::from(full[d]).min(global_size[d].saturating_sub(before)) as u32
    })
}

/// The number of the first work-item of a wave, if workgroups follow each other. Those at the edge of
/// the grid may be smaller than the others.
pub(crate) fn first_item(full: [u32; 3], global_size: [u64; 3], workgroup: [u32; 3], wave: u32) -> u64 {
    let [_, height, depth] = size_of(workgroup, full, global_size).map(u64::from);
    let [x, y, z]: [u64; 3] =
        std::array::from_fn(|d| global_size[d].min(u64::from(workgroup[d]) * u64::from(full[d])));
    let [columns, rows, _] = global_size;
    (z * rows + y * depth) * columns + x * height * depth + u64::from(wave) * LANES as u64
}

/// The ids of the work-items of a wave in each dimension.
pub(super) type Ids = [[u32; LANES]; 3];

/// The ids of the work-items of a wave in a workgroup of this size.
pub(super) fn ids_of_wave(size: [u32; 3], wave: u32) -> Ids {
    let [nx, ny, _] = size.map(|n| n.max(1));
    let first = wave * LANES as u32;
    let mut next = [first % nx, first / nx % ny, first / nx / ny];
    let mut ids = [[0; LANES]; 3];
    for lane in 0..LANES {
        for (ids, id) in ids.iter_mut().zip(next) {
            ids[lane] = id;
        }
        next[0] += 1;
        if next[0] == nx {
            next = [0, next[1] + 1, next[2]];
            if next[1] == ny {
                next = [0, 0, next[2] + 1];
            }
        }
    }
    ids
}
