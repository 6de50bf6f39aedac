//! The memory image of a code object.

use super::object_file::CodeObject;
use super::relocation::{Relocation, RelocationKind};
use super::symbol::{Binding, SymbolPlace};
use crate::Limits;
use crate::error::{Error, Result};

/// A loadable segment (`PT_LOAD`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// First address, before loading.
    pub address: u64,
    /// Size in memory in bytes; bytes past the end of `contents` are 0.
    pub size: u64,
    /// The bytes in the file.
    pub contents: &'a [u8],
    /// The offset of `contents` in the file.
    pub file_offset: u64,
    /// Alignment of the address in bytes.
    pub align: u64,
    /// The segment may be read.
    pub readable: bool,
    /// The segment may be written.
    pub writable: bool,
    /// The segment holds code.
    pub executable: bool,
}

impl<'a> Segment<'a> {
    /// The segment that holds all of `address..address + size`. `segments` are sorted and do not
    /// overlap.
    pub(crate) fn holding<'s>(
        segments: &'s [Segment<'a>],
        address: u64,
        size: u64,
    ) -> Option<&'s Segment<'a>> {
        let end = segments.partition_point(|segment| segment.address <= address);
        segments[..end].last().filter(|segment| segment.holds(address, size))
    }

    /// The first address after the segment. Parsing has checked the sum for overflow.
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Whether the segment holds all of `address..address + size`.
    pub fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.address && address.checked_add(size).is_some_and(|end| end <= self.end())
    }
}

/// The segments of a code object as they are laid out in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Address of the first byte, before loading; a multiple of `align`.
    pub start: u64,
    /// The contents. Gaps between segments and uninitialised variables are 0.
    pub bytes: Vec<u8>,
    /// The load address must be a multiple of this, in bytes.
    pub align: u64,
}

impl CodeObject<'_> {
    /// Lays the segments out in memory. Relocations are not applied yet.
    ///
    /// # Errors
    /// [`Error::OverLimit`] if the addresses span more than the limit.
    pub fn image(&self, limits: &Limits) -> Result<Image> {
        let align = self.segments().iter().map(|segment| segment.align).max().unwrap_or(1).max(1);
        let lowest = self.segments().iter().map(|segment| segment.address).min().unwrap_or(0);
        let end = self.segments().iter().map(Segment::end).max().unwrap_or(0);
        let start = lowest & !(align - 1);
        let size = end - start;
        let too_large = || Error::OverLimit {
            what: "the memory image",
            size,
            limit: limits.max_image,
            parameter: "max_image",
        };
        if size > limits.max_image {
            return Err(too_large());
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| too_large())?];
        for segment in self.segments() {
            let at = (segment.address - start) as usize;
            bytes[at..at + segment.contents.len()].copy_from_slice(segment.contents);
        }
        Ok(Image { start, bytes, align })
    }
}

impl Image {
    /// Fills in the relocated words for an image whose first byte is at `base` in guest memory.
    ///
    /// `resolve` returns the guest address of a symbol that the code object does not define itself.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an unknown kind or an undefined symbol, [`Error::Malformed`] for
    /// a word outside the image.
    pub fn relocate(
        &mut self,
        base: u64,
        relocations: &[Relocation<'_>],
        resolve: impl Fn(&str) -> Option<u64>,
    ) -> Result<()> {
        // Distance by which addresses of the file move.
        let bias = base.wrapping_sub(self.start);
        for relocation in relocations {
            let symbol = match &relocation.symbol {
                None => 0,
                Some(symbol) => match symbol.place {
                    SymbolPlace::Address => symbol.address.wrapping_add(bias),
                    SymbolPlace::Absolute => symbol.address,
                    SymbolPlace::Undefined | SymbolPlace::LocalMemory => match resolve(&symbol.name) {
                        Some(address) => address,
                        None if symbol.binding == Binding::Weak => 0,
                        None => {
                            let detail = format!(
                                "{} refers to `{}`, which no loaded code object defines",
                                relocation.kind, symbol.name
                            );
                            return Err(Error::Unsupported { what: "relocation", detail });
                        }
                    },
                },
            };
            let place = relocation.address.wrapping_add(bias);
            let value = relocation.kind.value(symbol, relocation.addend, place, bias);
            let value = value.ok_or_else(|| Error::Unsupported {
                what: "relocation",
                detail: format!("{} at address {:#x}", relocation.kind, relocation.address),
            })?;
            self.store(relocation.address, relocation.kind, value)?;
        }
        Ok(())
    }

    fn store(&mut self, address: u64, kind: RelocationKind, value: u64) -> Result<()> {
        let outside = || {
            Error::malformed(
                "relocation",
                address,
                format!("{kind} of a word outside of the image (an address)"),
            )
        };
        let at = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let at = at.ok_or_else(outside)?;
        let end = at.checked_add(kind.width()).ok_or_else(outside)?;
        let word = self.bytes.get_mut(at..end).ok_or_else(outside)?;
        word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
        Ok(())
    }
}
