//! How much memory an input may make us use.

/// Bounds on what an input can make this crate allocate, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed size of one offload bundle.
    pub max_decompressed: u64,
    /// Decompressed size of one offload bundle, in proportion: 16 MiB and so many times its compressed size.
    pub max_expansion: u64,
    /// Decompressed size of all offload bundles of a file, taken together. It is also bounded in proportion to their
    /// compressed size, as that of one bundle is.
    pub max_decompressed_in_all: u64,
    /// Memory image of one code object.
    pub max_image: u64,
}

/// What any bundle, and all bundles of any file together, may decompress to, however small they are.
const ALWAYS: u64 = 16 << 20;

impl Limits {
    /// Limits under which the bundles of a file may decompress to so many bytes, taken together, however small they are.
    #[must_use]
    pub fn with_decompressed(bytes: u64) -> Self {
        Limits {
            max_decompressed: bytes,
            max_decompressed_in_all: bytes,
            max_expansion: u64::MAX,
            ..Limits::default()
        }
    }

    /// Bytes that a bundle of `compressed` bytes may decompress to.
    pub(crate) fn decompressed(&self, compressed: u64) -> u64 {
        self.max_decompressed.min(self.proportion(compressed))
    }

    /// Bytes that all bundles of a file may decompress to, which have `compressed` bytes.
    pub(crate) fn decompressed_in_all(&self, compressed: u64) -> u64 {
        self.max_decompressed_in_all.min(self.proportion(compressed))
    }

    fn proportion(&self, compressed: u64) -> u64 {
        compressed.saturating_mul(self.max_expansion).saturating_add(ALWAYS)
    }
}

impl Default for Limits {
    /// 2 GiB for a bundle and an image, several times what the largest shipped libraries need, and 128 times the compressed size: code
    /// compresses to a tenth, or a thirtieth where bundles have much in common. Bundles are read one after the other, so
    /// there is no other limit for the sum of them.
    fn default() -> Self {
        Limits {
            max_decompressed: 2 << 30,
            max_expansion: 128,
            max_decompressed_in_all: u64::MAX,
            max_image: 2 << 30,
        }
    }
}
