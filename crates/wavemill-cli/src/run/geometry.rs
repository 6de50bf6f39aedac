//! Sizes of grids and workgroups.

use std::fmt;
use wavemill_object::printable::Printable;

use wavemill::Kernel;

use super::options::launch::LaunchArgs;
use super::size::Size;
use crate::failure::Failure;
use crate::text::{Extent, Grouped};

/// Work-items of a wave.
const WAVE: u64 = 64;

/// How the user gave the size of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GridSize {
    Workgroups(Size),
    WorkItems(Size),
}

/// Grid and workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub grid: GridSize,
    pub block: Size,
}

impl Geometry {
    /// Completes the user's sizes with the kernel's requirements.
    ///
    /// # Errors
    /// The sizes are incomplete, or the kernel cannot be launched with them.
    pub(crate) fn of(kernel: &Kernel, launch: &LaunchArgs, several: bool) -> Result<Geometry, Failure> {
        // With several launches, only the launch file can change one of them.
        let how = |option: &'static str, key: &'static str| if several { key } else { option };
        let (grid, block) = (launch.grid(), launch.block());
        let grid = match (grid, launch.global_size()) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "both --grid (workgroups) and --global-size (work-items) are given; pass one",
                ));
            }
            (Some(size), None) => GridSize::Workgroups(size),
            (None, Some(size)) => GridSize::WorkItems(size),
            (None, None) => {
                return Err(Failure::usage("the size of the grid is not given").help(how(
                    "Add --grid N (workgroups) or --global-size N (work-items).",
                    "Write grid = N (workgroups) or global-size = N (work-items) in its table.",
                )));
            }
        };
        let max = kernel.max_workgroup_size();
        let required = kernel.required_workgroup_size().map(|n| Size { n: n.map(u64::from), dims: 3 });
        let block = match (block, required) {
            (Some(block), Some(required)) if block.n != required.n => {
                return Err(Failure::usage(format!(
                    "a workgroup of {block} work-items was requested, but `{}` was compiled for {required} only",
                    Printable(kernel.name())
                ))
                .help(format!("Omit --block, or pass --block {required}.")));
            }
            (Some(block), _) => block,
            (None, Some(required)) => required,
            (None, None) => {
                return Err(Failure::usage("the size of a workgroup is not given").help(format!(
                    "{} (work-items of a workgroup, {max} at most for this kernel).",
                    how("Add --block N", "Write block = N in its table")
                )));
            }
        };
        // At most 2^96.
        let items: u128 = block.n.iter().map(|n| u128::from(*n)).product();
        if items > u128::from(max) {
            let has = u64::try_from(items).map_or_else(|_| "too many".to_owned(), |n| Grouped(n).to_string());
            return Err(Failure::usage(format!(
                "a workgroup of {block} has {has} work-items, but the maximum of `{}` is {max}",
                Printable(kernel.name())
            )));
        }
        let geometry = Geometry { grid, block };
        match geometry.work_items().iter().position(|n| *n > u64::from(u32::MAX)) {
            Some(d) => Err(Failure::usage(format!(
                "{} work-items in {}; the maximum is {}",
                Grouped(geometry.work_items()[d]),
                ["X", "Y", "Z"][d],
                Grouped(u64::from(u32::MAX))
            ))),
            None => Ok(geometry),
        }
    }

    fn work_items(&self) -> [u64; 3] {
        match self.grid {
            GridSize::WorkItems(size) => size.n,
            GridSize::Workgroups(size) => std::array::from_fn(|d| size.n[d].saturating_mul(self.block.n[d])),
        }
    }

    /// Dimensions that the kernel sees.
    pub(crate) fn dims(&self) -> u16 {
        let (GridSize::Workgroups(size) | GridSize::WorkItems(size)) = self.grid;
        let trimmed =
            (1..=self.block.dims).rev().find(|d| self.block.n[usize::from(*d) - 1] > 1).unwrap_or(1);
        size.dims.max(trimmed)
    }

    /// Workgroups in each dimension, and waves of a full workgroup.
    pub(crate) fn groups_and_waves(&self) -> ([u64; 3], u64) {
        let items = self.work_items();
        let groups = std::array::from_fn(|d| items[d].div_ceil(self.block.n[d]));
        let size = self.block.n.iter().fold(1u64, |all, n| all.saturating_mul(*n));
        (groups, size.div_ceil(WAVE))
    }

    /// The launch with this geometry.
    pub(crate) fn apply<'a>(&self, launch: wavemill::Launch<'a>) -> wavemill::Launch<'a> {
        let launch = launch.workgroup_size(self.block.words()).dims(self.dims());
        match self.grid {
            GridSize::Workgroups(size) => launch.workgroups(size.words()),
            GridSize::WorkItems(size) => launch.global_size(size.n),
        }
    }
}

/// `4x1x1 workgroups x 256 = 1,024 work-items`
impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.work_items();
        let (groups, _) = self.groups_and_waves();
        let total = items.iter().fold(1u128, |all, n| all * u128::from(*n));
        let block_dims = self.block.n.iter().rposition(|n| *n > 1).map_or(1, |last| last + 1);
        let partial = (0..3).any(|d| !items[d].is_multiple_of(self.block.n[d]));
        write!(f, "{} workgroups x {}", Extent(&groups), Extent(&self.block.n[..block_dims]))?;
        match u64::try_from(total) {
            Ok(total) => write!(f, " = {} work-items", Grouped(total))?,
            Err(_) => write!(f, " = {total} work-items")?,
        }
        if partial { write!(f, " (the last workgroups are partial)") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo() {
        let show = |grid: GridSize, block: &str| Geometry { grid, block: block.parse().unwrap() }.to_string();
        let size = |text: &str| text.parse().unwrap();
        assert_eq!(show(GridSize::Workgroups(size("4")), "256"), "4x1x1 workgroups x 256 = 1,024 work-items");
        assert_eq!(
            show(GridSize::WorkItems(size("100x50")), "16x16"),
            "7x4x1 workgroups x 16x16 = 5,000 work-items (the last workgroups are partial)"
        );
    }
}
