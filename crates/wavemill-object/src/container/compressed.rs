//! Compressed offload bundles (`CCOB`; Clang Offload Bundler, "Compression and Decompression").

use std::fmt;
use std::io::Read;

use crate::Limits;
use crate::bytes;
use crate::error::{Error, Result};

/// Beginning of a compressed bundle.
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
    /// Bytes of header and compressed contents; version 1 does not tell.
    pub file_size: Option<u64>,
    /// Bytes of the contents when decompressed.
    pub uncompressed_size: u64,
    /// First half of the MD5 sum of the contents.
    pub hash: u64,
}

impl CompressedHeader {
    /// Bytes of the header.
    pub fn size(&self) -> u64 {
        match self.version {
            1 => 20,
            2 => 24,
            _ => 32,
        }
    }

    /// Whether `contents` has the sum that the header tells.
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
                let detail = format!("compression method {other}; 0 (zlib) and 1 (zstd) are known");
                return Err(Error::Unsupported { what: WHAT, detail });
            }
        };
        let word = |at| bytes::u32(data, at, WHAT).map(u64::from);
        let (file_size, uncompressed_size, hash_at) = match version {
            1 => (None, word(8)?, 12),
            2 => (Some(word(8)?), word(12)?, 16),
            3 => (Some(bytes::u64(data, 8, WHAT)?), bytes::u64(data, 16, WHAT)?, 24),
            other => {
                let detail = format!("header version {other}; 1 to 3 are known");
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

/// Decompresses the first `length` bytes of the contents of the bundle `data`.
pub(super) fn decompress(
    data: &[u8],
    header: &CompressedHeader,
    length: u64,
    limits: &Limits,
) -> Result<Vec<u8>> {
    let size = header.uncompressed_size;
    if size > limits.max_decompressed {
        return Err(Error::TooLarge {
            what: "decompressed offload bundle",
            size,
            limit: limits.max_decompressed,
        });
    }
    let start = header.size();
    let source = bytes::slice(data, start, (data.len() as u64).saturating_sub(start), WHAT)?;
    let length = length.min(size);
    // All of it must be as long as the header says: one byte more shows that it is not.
    let probe = if length == size { length.saturating_add(1) } else { length };
    let damaged = |detail: String| Error::malformed(WHAT, start, detail);
    let mut out = Vec::new();
    let read = match header.method {
        Compression::Zstd => {
            // The output grows as it is decoded, so a window that is only claimed costs nothing.
            let window = limits.max_decompressed;
            match ruzstd::decoding::StreamingDecoder::new_with_max_window_size(source, window) {
                Ok(decoder) => decoder.take(probe).read_to_end(&mut out),
                Err(source) => return Err(damaged(format!("zstd: {source}"))),
            }
        }
        Compression::Zlib => flate2::read::ZlibDecoder::new(source).take(probe).read_to_end(&mut out),
    };
    if let Err(source) = read {
        return Err(damaged(format!("{} data cannot be decompressed: {source}", header.method)));
    }
    if out.len() as u64 != length {
        let relation = if out.len() as u64 > length { "more" } else { "fewer" };
        return Err(damaged(format!(
            "it decompresses to {relation} bytes than the {size} that its header tells"
        )));
    }
    Ok(out)
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
