//! What waits for symbols that come later.

use super::kept_places::KeptPlace;
use super::symbols::Bound;
use crate::family::Field;

/// Pieces have so many fields.
const PIECE: usize = 1024;

/// All fields that symbols decide, in the order of the source. They are kept in pieces: however many there are, none is
/// moved, and the memory of those that have been filled in is free for what comes then.
#[derive(Debug, Default)]
pub(super) struct AllPending {
    pieces: Vec<Vec<Pending>>,
}

impl AllPending {
    pub(super) fn push(&mut self, pending: Pending) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(pending),
            // Most sources have few.
            None => self.pieces.push(vec![pending]),
            Some(_) => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(pending);
                self.pieces.push(piece);
            }
        }
    }
}

impl IntoIterator for AllPending {
    type Item = Pending;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<Pending>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter().flatten()
    }
}

/// A field that a symbol decides.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) kind: PendingKind,
    pub(super) expression: Bound,
    pub(super) place: KeptPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingKind {
    /// So many bytes of data.
    Data(u8),
    /// A field of an instruction.
    Instruction(Field),
}
