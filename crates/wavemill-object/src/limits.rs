//! Limits on the memory that an input may use.

/// Bounds on what an input can make this crate allocate, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed size of one offload bundle.
    pub max_decompressed: u64,
    /// Decompressed size of one offload bundle in proportion: 16 MiB plus this multiple of its
    /// compressed size.
    pub max_expansion: u64,
    /// Decompressed size of all offload bundles of a file together. It is also bounded in
    /// proportion to their compressed size, as for a single bundle.
    pub max_decompressed_in_all: u64,
    /// Memory image of one code object.
    pub max_image: u64,
}

/// Size that any bundle, and all bundles of a file together, may decompress to, however small they
/// are.
const ALWAYS: u64 = 16 << 20;

impl Limits {
    /// Limits under which all bundles of a file together may decompress to this many bytes, however
    /// small they are.
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

    /// Bytes that all bundles of a file with `compressed` bytes may decompress to.
    pub(crate) fn decompressed_in_all(&self, compressed: u64) -> u64 {
        self.max_decompressed_in_all.min(self.proportion(compressed))
    }

    fn proportion(&self, compressed: u64) -> u64 {
        compressed.saturating_mul(self.max_expansion).saturating_add(ALWAYS)
    }
}

impl Default for Limits {
    /// The limits are 2 GiB for a bundle or an image, several times what the largest shipped
    /// libraries need, and 128 times the compressed size: code compresses to a tenth, or to a
    /// thirtieth if bundles have much in common. Bundles are read one after the other, so their sum
    /// has no other limit.
    fn default() -> Self {
        Limits {
            max_decompressed: 2 << 30,
            max_expansion: 128,
            max_decompressed_in_all: u64::MAX,
            max_image: 2 << 30,
        }
    }
}
