//! Exports of waves, recorded for the host.

use wavemill_ir::{ExportOp, LANES};

/// Most recorded exports of a wave.
const MOST: usize = 1 << 12;

/// An export of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// Its target, and what it sends.
    pub op: ExportOp,
    /// The active lanes.
    pub active: u64,
    /// The sources that it sends ([`ExportOp::sources`]), in ascending order; zeros in inactive lanes.
    pub sources: Vec<[u32; LANES]>,
}

impl Export {
    /// The bits of a component in all lanes, 0 to 3 for x, y, z and w: 16 bits if components are
    /// halves, otherwise 32. `None` if the export does not send it.
    #[must_use]
    pub fn component(&self, n: usize) -> Option<[u32; LANES]> {
        if n > 3 || self.op.components >> n & 1 == 0 {
            return None;
        }
        let source = if self.op.halves { n / 2 } else { n };
        let before = self.op.sources() & ((1 << source) - 1);
        let cells = self.sources.get(before.count_ones() as usize)?;
        let half = |cell: u32| if n.is_multiple_of(2) { cell & 0xffff } else { cell >> 16 };
        Some(if self.op.halves { cells.map(half) } else { *cells })
    }
}

/// The exports of a wave while it runs.
#[derive(Debug, Default)]
pub struct Exports {
    /// The first ones, if they are recorded.
    pub(crate) recorded: Option<Vec<Export>>,
    /// Number of all.
    pub(crate) count: u64,
}

impl Exports {
    /// Adds an export of the wave, which `make` describes.
    pub fn add(&mut self, make: impl FnOnce() -> Export) {
        self.count += 1;
        if let Some(recorded) = self.recorded.as_mut().filter(|recorded| recorded.len() < MOST) {
            recorded.push(make());
        }
    }
}

/// The recorded exports of a wave that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveExports {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// The exports, in the order of the program.
    pub exports: Vec<Export>,
}

impl WaveExports {
    /// The position in the order in which workgroups start.
    pub(crate) fn order(&self) -> [u32; 4] {
        let [x, y, z] = self.workgroup;
        [z, y, x, self.wave]
    }
}
