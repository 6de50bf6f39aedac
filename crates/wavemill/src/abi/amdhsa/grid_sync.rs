//! The structure by which the waves of a cooperative launch synchronise the whole grid: ROCm's
//! `MGSyncInfo` (`rocclr/device/device.hpp`), which its device library calls `mg_info`
//! (`ockl/src/cg.cl`).
//!
//! HIP's `grid.sync()` counts workgroups in it on targets where the device library does not use
//! global wave sync, such as gfx942. `hidden_multigrid_sync_arg` points to it.

/// Bytes of the structure.
pub(super) const SIZE: u64 = 48;
/// Offset of the number of workgroups, 4 bytes. The fields before it are: the counters of a group
/// of grids (8 bytes, a pointer), index and number of the grids (4 bytes each), work-items of the
/// grids before this one and of all grids (8 bytes each), counter and phase of this grid (8 bytes).
const WORKGROUPS: usize = 40;

/// The contents at the start of a launch. A launch on one device belongs to no group of grids, so
/// the fields about the group are 0.
pub(super) fn grid_sync(workgroups: u32) -> [u8; SIZE as usize] {
    let mut bytes = [0; SIZE as usize];
    bytes[WORKGROUPS..WORKGROUPS + 4].copy_from_slice(&workgroups.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    /// The device library reads the counter as two words at 32, and the number of workgroups at 40.
    #[test]
    fn only_the_number_of_workgroups_is_not_zero() {
        let bytes = super::grid_sync(0x0102_0304);
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        assert_eq!(words, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0102_0304, 0]);
    }
}
