//! Decompresses sections of relocatable files (`clang -gz`).

use std::borrow::Cow;

use object::elf::{CompressionHeader64, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
use object::pod::from_bytes;

use crate::Limits;
use crate::container::{Compression, contents};
use crate::elf::LE;
use crate::error::{Error, Result};

const WHAT: &str = "compressed section";

/// What the compressed sections of a file may still decompress to, in bytes.
pub(super) struct Decompression {
    left: u64,
    limit: u64,
}

impl Decompression {
    pub(super) fn new(limits: &Limits, file: &[u8]) -> Self {
        let limit = limits.decompressed_in_all(file.len() as u64).min(limits.max_decompressed);
        Decompression { left: limit, limit }
    }

    /// The contents and the alignment of the section with these bytes, which begin at `offset` of
    /// the file with a header (ELF specification, "Section Compression").
    pub(super) fn section(&mut self, bytes: &[u8], offset: u64) -> Result<(Cow<'static, [u8]>, u64)> {
        let malformed = |detail: String| Error::malformed(WHAT, offset, detail);
        let (header, data) = from_bytes::<CompressionHeader64<object::LittleEndian>>(bytes)
            .map_err(|()| malformed(format!("it has {} bytes, but its header needs 24", bytes.len())))?;
        let method = match header.ch_type.get(LE) {
            ELFCOMPRESS_ZLIB => Compression::Zlib,
            ELFCOMPRESS_ZSTD => Compression::Zstd,
            other => {
                let detail = format!("its method is {}; 1 (zlib) and 2 (zstd) are supported", other.0);
                return Err(Error::Unsupported { what: WHAT, detail });
            }
        };
        let size = header.ch_size.get(LE);
        self.left = self.left.checked_sub(size).ok_or(Error::OverLimit {
            what: "the decompressed sections",
            size: (self.limit - self.left).saturating_add(size),
            limit: self.limit,
            parameter: "max_decompressed",
        })?;
        let contents = contents(WHAT, method, data, offset + 24, size, 0..size)?;
        Ok((Cow::Owned(contents), header.ch_addralign.get(LE).max(1)))
    }
}
