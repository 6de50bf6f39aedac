//! How much memory an input may make us use.

/// Bounds on what an input can make this crate allocate, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Decompressed size of one offload bundle.
    pub max_decompressed: u64,
    /// Memory image of one code object.
    pub max_image: u64,
}

impl Default for Limits {
    /// 2 GiB each: several times what the largest shipped libraries need.
    fn default() -> Self {
        Limits { max_decompressed: 2 << 30, max_image: 2 << 30 }
    }
}
