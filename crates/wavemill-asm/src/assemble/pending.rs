//! What waits for symbols that come later.

use super::kept_places::KeptPlace;
use crate::gcn::parse::FixupKind;
use crate::syntax::Expression;

/// A field that a symbol decides.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) kind: PendingKind,
    pub(super) expression: Expression,
    pub(super) place: KeptPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingKind {
    /// So many bytes of data.
    Data(u8),
    /// A field of an instruction, and the size of the instruction.
    Instruction(FixupKind, u8),
}
