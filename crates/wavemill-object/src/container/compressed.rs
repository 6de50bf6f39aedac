//! Compressed offload bundles (`CCOB`; Clang Offload Bundler, "Compression and Decompression").

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::Limits;
use crate::bytes;
use crate::error::{Error, Result};

/// The first bytes of a compressed bundle.
pub(crate) const MAGIC: &[u8] = b"CCOB";

const WHAT: &str = "compressed offload bundle";

/// How the contents are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// zlib (method 0).
    Zlib,
    /// Zstandard (method 1).
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Compression::Zlib => "zlib",
            Compression::Zstd => "zstd",
        })
    }
}

/// Header of a compressed bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompressedHeader {
    /// Version of the header: 1 (20 bytes), 2 (24 bytes) or 3 (32 bytes).
    pub version: u16,
    /// How the contents are compressed.
    pub method: Compression,
    /// Size of the header and the compressed contents in bytes; version 1 does not state it.
    pub file_size: Option<u64>,
    /// Size of the decompressed contents in bytes.
    pub uncompressed_size: u64,
    /// First half of the MD5 sum of the contents.
    pub hash: u64,
}

impl CompressedHeader {
    /// Size of the header in bytes.
    pub fn size(&self) -> u64 {
        match self.version {
            1 => 20,
            2 => 24,
            _ => 32,
        }
    }

    /// Whether `contents` match the checksum in the header.
    pub(super) fn matches(&self, contents: &[u8]) -> bool {
        md5::compute(contents).starts_with(&self.hash.to_le_bytes())
    }

    /// Reads the header at the start of `data`.
    pub(super) fn parse(data: &[u8]) -> Result<Self> {
        let version = bytes::u16(data, 4, WHAT)?;
        let method = match bytes::u16(data, 6, WHAT)? {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            other => {
                let detail = format!("compression method {other}; 0 (zlib) and 1 (zstd) are supported");
                return Err(Error::Unsupported { what: WHAT, detail });
            }
        };
        let word = |at| bytes::u32(data, at, WHAT).map(u64::from);
        let (file_size, uncompressed_size, hash_at) = match version {
            1 => (None, word(8)?, 12),
            2 => (Some(word(8)?), word(12)?, 16),
            3 => (Some(bytes::u64(data, 8, WHAT)?), bytes::u64(data, 16, WHAT)?, 24),
            other => {
                let detail = format!("header version {other}; 1 to 3 are supported");
                return Err(Error::Unsupported { what: WHAT, detail });
            }
        };
        let hash = bytes::u64(data, hash_at, WHAT)?;
        let header = CompressedHeader { version, method, file_size, uncompressed_size, hash };
        if file_size.is_some_and(|size| size < header.size()) {
            return Err(Error::malformed(WHAT, 8, "its size is less than that of its header"));
        }
        Ok(header)
    }
}

/// Decompresses a part of the contents of the bundle `data`. Discards the bytes before the part and
/// does not decompress those after it. Memory grows with the actual data, not with the size in the
/// header.
pub(super) fn decompress(
    data: &[u8],
    header: &CompressedHeader,
    part: Range<u64>,
    limits: &Limits,
) -> Result<Vec<u8>> {
    let size = header.uncompressed_size;
    let limit = limits.decompressed(data.len() as u64);
    if size > limit {
        return Err(Error::OverLimit {
            what: "the decompressed bundle",
            size,
            limit,
            parameter: "max_decompressed",
        });
    }
    let start = header.size();
    let source = bytes::slice(data, start, (data.len() as u64).saturating_sub(start), WHAT)?;
    contents(WHAT, header.method, source, start, size, part)
}

/// Decompresses a part of the `size` bytes that `source` decompresses to. `what` has the compressed
/// data at offset `start`, for messages.
pub(crate) fn contents(
    what: &'static str,
    method: Compression,
    source: &[u8],
    start: u64,
    size: u64,
    part: Range<u64>,
) -> Result<Vec<u8>> {
    let damaged = |detail: String| Error::malformed(what, start, detail);
    let failed = |source: io::Error| damaged(format!("{method} data cannot be decompressed: {source}"));
    let other_size = |relation: &str| {
        damaged(format!("it decompresses to {relation} bytes than the {size} in its header"))
    };
    let part = part.start.min(size)..part.end.min(size);
    // The contents must be exactly as long as the header says: one byte more shows a mismatch.
    let whole = part.end == size;
    let wanted = part.end.saturating_add(whole.into());
    let mut reader: Box<dyn Read> = match method {
        Compression::Zlib => Box::new(flate2::read::ZlibDecoder::new(source).take(wanted)),
        Compression::Zstd => {
            Box::new(Zstd::new(source, wanted).map_err(|source| damaged(format!("zstd: {source}")))?)
        }
    };
    if io::copy(&mut reader.by_ref().take(part.start), &mut io::sink()).map_err(failed)? != part.start {
        return Err(other_size("fewer"));
    }
    let length = part.end.saturating_sub(part.start);
    let mut out = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut out).map_err(failed)?;
    if out.len() as u64 != length {
        return Err(other_size("fewer"));
    }
    if whole && reader.read(&mut [0]).map_err(failed)? != 0 {
        return Err(other_size("more"));
    }
    Ok(out)
}

/// The beginning of the contents of a zstd frame.
struct Zstd<'a> {
    decoder: FrameDecoder,
    source: &'a [u8],
    /// Bytes left to decode.
    wanted: usize,
}

impl<'a> Zstd<'a> {
    /// Reads the frame in `source`: at least the first `wanted` bytes, or all of them if there are
    /// fewer.
    fn new(mut source: &'a [u8], wanted: u64) -> Result<Self, FrameDecoderError> {
        let mut decoder = FrameDecoder::new();
        // The window allocates memory as it fills, so a large declared window costs nothing.
        decoder.set_max_window_size(u64::MAX);
        decoder.init(&mut source)?;
        Ok(Zstd { decoder, source, wanted: usize::try_from(wanted).unwrap_or(usize::MAX) })
    }

    /// Decodes the next piece. The decoder holds back bytes that a later block may refer to. To get
    /// the last wanted bytes out of it, append an empty last block.
    fn decode(&mut self) -> Result<(), FrameDecoderError> {
        /// An empty block that is the last one, and room for a checksum.
        const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        /// Bytes to decode at a time.
        const PIECE: usize = 1 << 20;
        match self.wanted.min(PIECE) {
            0 => self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::UptoBlocks(1))?,
            piece => {
                self.wanted -= piece;
                self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBytes(piece))?
            }
        };
        Ok(())
    }
}

impl Read for Zstd<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            self.decode().map_err(io::Error::other)?;
        }
        self.decoder.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_versions() {
        let mut data = b"CCOB\x01\0\x00\0".to_vec();
        data.extend(100u32.to_le_bytes());
        data.extend(7u64.to_le_bytes());
        let header = CompressedHeader::parse(&data).unwrap();
        assert_eq!(
            (header.size(), header.file_size, header.uncompressed_size, header.hash),
            (20, None, 100, 7)
        );
        assert_eq!(header.method, Compression::Zlib);
        data[4] = 4;
        assert!(matches!(CompressedHeader::parse(&data), Err(Error::Unsupported { .. })));
        data[4] = 1;
        data[6] = 9;
        assert!(matches!(CompressedHeader::parse(&data), Err(Error::Unsupported { .. })));
        assert!(matches!(CompressedHeader::parse(&data[..6]), Err(Error::Truncated { .. })));
    }
}
