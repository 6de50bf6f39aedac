//! Fields that wait for later symbols.

use super::kept_places::KeptPlace;
use super::symbols::Bound;
use crate::family::Field;

/// The number of fields in a piece.
const PIECE: usize = 1024;

/// All fields that symbols decide, in source order. They are stored in pieces, so fields never
/// move, and the memory of completed pieces is free for later work.
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
    /// This many bytes of data.
    Data(u8),
    /// A field of an instruction.
    Instruction(Field),
}
