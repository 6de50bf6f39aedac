//! All instructions in a piece of machine code, one after another.

use super::decode::{DecodeError, decode};
use super::inst::Inst;
use crate::target::Target;

/// Decodes instruction after instruction. Made by [`instructions`].
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    target: Target,
    bytes: &'a [u8],
    offset: usize,
}

/// The instructions in `bytes`, each with its byte offset. `bytes` must begin with an instruction.
///
/// Where no instruction decodes, the iterator yields the error and tries the next dword. Data
/// between functions hides nothing after it, although its first words may decode as instructions.
/// One to three bytes at the end are an error too, so every byte belongs to exactly one item.
///
/// ```
/// use wavemill_isa::Target;
/// use wavemill_isa::gcn::instructions;
///
/// let code = [0x01, 0x02, 0x02, 0x7e, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x81, 0xbf];
/// let found: Vec<_> = instructions(Target::Gfx942, &code)
///     .map(|(offset, inst)| (offset, inst.map(|inst| inst.mnemonic())))
///     .collect();
/// assert_eq!(found[0], (0, Ok("v_mov_b32")));
/// assert!(found[1].0 == 4 && found[1].1.is_err());
/// assert_eq!(found[2], (8, Ok("s_endpgm")));
/// ```
pub fn instructions(target: Target, bytes: &[u8]) -> Instructions<'_> {
    Instructions { target, bytes, offset: 0 }
}

impl Instructions<'_> {
    /// The offset of the next item, or the number of bytes at the end.
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for Instructions<'_> {
    type Item = (usize, Result<Inst, DecodeError>);

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.bytes.get(self.offset..).filter(|left| !left.is_empty())?;
        let offset = self.offset;
        let inst = decode(self.target, left);
        let size = inst.as_ref().map_or(4, Inst::size);
        self.offset += size.min(left.len());
        Some((offset, inst))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.bytes.len().saturating_sub(self.offset);
        (left.div_ceil(16), Some(left.div_ceil(4)))
    }
}

impl core::iter::FusedIterator for Instructions<'_> {}
