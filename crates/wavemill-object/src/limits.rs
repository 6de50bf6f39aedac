//! How much memory an input may make us use.

/// Bounds on what an input can make this crate allocate, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed size of one offload bundle.
    pub max_decompressed: u64,
    /// Decompressed size of one offload bundle, in proportion: 16 MiB and so many times its compressed size.
    pub max_expansion: u64,
    /// Memory image of one code object.
    pub max_image: u64,
}

/// What any bundle may decompress to, however small it is.
const ALWAYS: u64 = 16 << 20;

impl Limits {
    /// Limits under which a bundle may decompress to so many bytes, however small it is.
    #[must_use]
    pub fn with_decompressed(bytes: u64) -> Self {
        Limits { max_decompressed: bytes, max_expansion: u64::MAX, ..Limits::default() }
    }

    /// Bytes that a bundle of `compressed` bytes may decompress to.
    pub(crate) fn decompressed(&self, compressed: u64) -> u64 {
        let proportion = compressed.saturating_mul(self.max_expansion).saturating_add(ALWAYS);
        self.max_decompressed.min(proportion)
    }
}

impl Default for Limits {
    /// 2 GiB each, several times what the largest shipped libraries need, and 128 times the compressed size: code
    /// compresses to a tenth, or a thirtieth where bundles have much in common.
    fn default() -> Self {
        Limits { max_decompressed: 2 << 30, max_expansion: 128, max_image: 2 << 30 }
    }
}
