//! Debug information of a source: where its code comes from, and where it keeps registers.

use super::frames::Frames;
use super::lines::Lines;

/// Lines and frames, which become sections at the end.
#[derive(Debug, Default)]
pub(super) struct DebugInformation {
    pub(super) lines: Lines,
    pub(super) frames: Frames,
}
