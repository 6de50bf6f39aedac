//! Counts of the rows of the instruction table that a launch executed, with their active lanes.

use wavemill_isa::gcn::{self, Format};
use wavemill_isa::{Family, Target, cayman};

/// Executions of a row by waves.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with RunOptions::count_blocks: the most frequent instructions.
/// let rows = stats.rows.ok_or("the options request it")?;
/// for row in rows.list().iter().take(10) {
///     println!("{:8} {} ({})", row.count, row.mnemonic, row.format);
/// }
/// let store = rows.list().iter().find(|row| row.name == "global_store_dword").ok_or("no store")?;
/// assert_eq!((store.count, store.mean_lanes()), (4, Some(64.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowCount {
    /// The row's name: the newest mnemonic, without encoding suffix. It is unique.
    pub name: &'static str,
    /// The mnemonic on the target.
    pub mnemonic: &'static str,
    /// The name of the format in which the manual lists it.
    pub format: &'static str,
    /// Whether it operates on lanes.
    pub is_vector: bool,
    /// How often waves ran it.
    pub count: u64,
    /// Active lanes (EXEC), summed over all executions.
    pub lanes: u64,
}

/// Executions of a format by waves.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// // `stats` of a launch with RunOptions::count_blocks.
/// let rows = stats.rows.ok_or("the options request it")?;
/// for format in rows.formats() {
///     match format.mean_lanes() {
///         Some(lanes) => println!("{}: {} times, {lanes:.1} lanes", format.format, format.count),
///         None => println!("{}: {} times, scalar", format.format, format.count),
///     }
/// }
/// # assert_eq!(rows.formats().iter().map(|format| format.count).sum::<u64>(), stats.run.instructions);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatCount {
    /// The name of the format in which the manual lists them.
    pub format: &'static str,
    /// Whether they operate on lanes.
    pub is_vector: bool,
    /// Different rows.
    pub rows: usize,
    /// How often waves ran them.
    pub count: u64,
    /// Active lanes (EXEC), summed over all executions.
    pub lanes: u64,
}

/// The rows that a launch executed.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Launch, RunOptions};
/// # let (kernel, args) = given::vector_add(256)?;
/// # let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// # let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// use wavemill::stats::rows_of;
///
/// // `stats` of a launch with RunOptions::count_blocks: how much of the instruction set it covers.
/// let rows = stats.rows.ok_or("the options request it")?;
/// println!("{} of {} instructions", rows.list().len(), rows_of(rows.target()).len());
/// // All work-items are active all the time.
/// assert_eq!(rows.mean_lanes(), Some(64.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowCounts {
    target: Target,
    list: Vec<RowCount>,
}

/// Whether instructions of a format of GCN operate on lanes.
pub(super) fn has_lanes(format: Format) -> bool {
    use Format::{Smem, Sop1, Sop2, Sopc, Sopk, Sopp};
    !matches!(format, Smem | Sop1 | Sop2 | Sopc | Sopk | Sopp)
}

fn mean(lanes: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| lanes as f64 / count as f64)
}

impl FormatCount {
    /// Mean number of active lanes; `None` for scalar formats, which have no lanes.
    #[must_use]
    pub fn mean_lanes(&self) -> Option<f64> {
        if self.is_vector { mean(self.lanes, self.count) } else { None }
    }
}

impl RowCount {
    /// Mean number of active lanes; `None` for scalar instructions, which have no lanes.
    #[must_use]
    pub fn mean_lanes(&self) -> Option<f64> {
        if self.is_vector { mean(self.lanes, self.count) } else { None }
    }
}

impl RowCounts {
    pub(crate) fn new(target: Target, mut list: Vec<RowCount>) -> Self {
        list.retain(|row| row.count > 0);
        list.sort_by_key(|row| (std::cmp::Reverse(row.count), row.name));
        RowCounts { target, list }
    }

    /// The target that the rows belong to.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// The rows that were executed, most frequent first.
    #[must_use]
    pub fn list(&self) -> &[RowCount] {
        &self.list
    }

    /// The formats that were executed, most frequent first.
    #[must_use]
    pub fn formats(&self) -> Vec<FormatCount> {
        let mut all: Vec<FormatCount> = Vec::new();
        for row in &self.list {
            let FormatCount { rows, count, lanes, .. } =
                match all.iter_mut().find(|known| known.format == row.format) {
                    Some(known) => known,
                    None => {
                        let RowCount { format, is_vector, .. } = *row;
                        all.push(FormatCount { format, is_vector, rows: 0, count: 0, lanes: 0 });
                        let last = all.len() - 1;
                        &mut all[last]
                    }
                };
            *rows += 1;
            *count += row.count;
            *lanes += row.lanes;
        }
        all.sort_by_key(|format| (std::cmp::Reverse(format.count), format.format));
        all
    }

    /// Mean number of active lanes of all instructions that operate on lanes; `None` if there were
    /// none.
    #[must_use]
    pub fn mean_lanes(&self) -> Option<f64> {
        let vector = || self.list.iter().filter(|row| row.is_vector);
        mean(vector().map(|row| row.lanes).sum(), vector().map(|row| row.count).sum())
    }
}

/// The rows of a target's instruction table by name, with the names of their formats, in the order
/// of the table.
pub fn rows_of(target: Target) -> Vec<(&'static str, &'static str)> {
    match target.family() {
        Family::Gcn => {
            let rows = gcn::Op::ALL.iter().map(|op| op.row()).filter(|row| row.targets.contains(target));
            rows.map(|row| (row.name(), row.format.name())).collect()
        }
        Family::Cayman => {
            let rows = cayman::Op::ALL.iter().map(|op| op.row());
            rows.map(|row| (row.name, row.format.name())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_rows_of_a_target_have_one_name() {
        for target in Target::ALL {
            let names: Vec<_> = rows_of(target).into_iter().map(|(name, _)| name).collect();
            let least = if target.family() == Family::Gcn { 900 } else { 400 };
            assert!(names.len() > least, "{target}: {}", names.len());
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{target}");
        }
    }

    #[test]
    fn formats_sum_up_their_rows() {
        let row = |name, format: Format, count, lanes| {
            let (is_vector, format) = (has_lanes(format), format.name());
            RowCount { name, mnemonic: name, format, is_vector, count, lanes }
        };
        let rows = RowCounts::new(
            Target::Gfx906,
            vec![
                row("a", Format::Vop2, 10, 640),
                row("b", Format::Sop2, 40, 2560),
                row("c", Format::Vop2, 30, 320),
                row("d", Format::Ds, 0, 0),
                row("e", Format::Ds, 10, 10),
            ],
        );
        assert_eq!(rows.list().iter().map(|row| row.name).collect::<Vec<_>>(), ["b", "c", "a", "e"]);
        let formats: Vec<_> =
            rows.formats().iter().map(|f| (f.format, f.rows, f.count, f.mean_lanes())).collect();
        let wanted =
            [(Format::Sop2, 1, 40, None), (Format::Vop2, 2, 40, Some(24.0)), (Format::Ds, 1, 10, Some(1.0))]
                .map(|(format, rows, count, lanes)| (format.name(), rows, count, lanes));
        assert_eq!(formats, wanted);
        assert_eq!(rows.mean_lanes(), Some(970.0 / 50.0));
        assert_eq!(RowCounts::new(Target::Gfx906, Vec::new()).mean_lanes(), None);
    }
}
