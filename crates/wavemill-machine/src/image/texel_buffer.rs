//! Rows of texels that kernels access with buffer instructions.

use wavemill_ir::TexelFormat;

use super::descriptor::Select;
use super::words::select_code;

/// The buffer resource of a row of texels (Vega ISA 8.1.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TexelBuffer {
    /// Address of the first texel.
    pub base: u64,
    /// Format of a texel: one that buffers have.
    pub format: TexelFormat,
    /// The four components of the result.
    pub select: [Select; 4],
    /// Number of texels.
    pub texels: u32,
}

impl TexelBuffer {
    /// The four words that describe it. Records are texels, so an index outside is out of range.
    #[must_use]
    pub fn encode(&self) -> [u32; 4] {
        let select = (0..).step_by(3).zip(self.select).map(|(low, select)| select_code(select) << low);
        let TexelFormat { data, number } = self.format;
        [
            self.base as u32,
            (self.base >> 32) as u32 & 0xffff | self.format.data.bytes() << 16,
            self.texels,
            select.sum::<u32>() | number.code() << 12 | data.code() << 15,
        ]
    }
}
