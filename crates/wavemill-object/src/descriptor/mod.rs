//! Kernel descriptors: the facts about a kernel that the command processor reads.

mod bits;
mod builder;
mod directive;
mod express;
mod special;

pub use bits::{Field, KernargPreload, KernelCodeProperties, Rsrc1, Rsrc2, Rsrc3Gfx10, Rsrc3Gfx90a};
pub use builder::{DescriptorBuilder, DirectiveError};
pub use directive::{Default as DirectiveDefault, Directive, Support as DirectiveSupport};
pub use express::{Inexpressible, Setting, express};
pub use special::SpecialSgprs;

use wavemill_isa::{AccVgprs, RegisterUnits, SGPR_UNIT, SgprCount};

use crate::bytes;
use crate::error::Result;
use crate::target::Processor;

/// A kernel descriptor (AMDGPUUsage, "Code Object V3 Kernel Descriptor"), or the
/// same facts from the `amd_kernel_code_t` of a code object v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Bytes of local memory (LDS) that a workgroup always needs; dynamic local memory is added at
    /// launch.
    pub group_segment_fixed_size: u32,
    /// Bytes of scratch memory per work-item.
    pub private_segment_fixed_size: u32,
    /// Bytes of kernel arguments; 0 when not stated.
    pub kernarg_size: u32,
    /// From the descriptor's address to the first instruction, in bytes.
    pub entry_offset: i64,
    /// Register counts, floating-point modes.
    pub rsrc1: Rsrc1,
    /// Initial registers, exceptions.
    pub rsrc2: Rsrc2,
    /// A word whose layout depends on the processor: see
    /// [`rsrc3_gfx90a`](Self::rsrc3_gfx90a) and [`rsrc3_gfx10`](Self::rsrc3_gfx10).
    pub rsrc3: u32,
    /// User SGPRs to set up, wave size.
    pub properties: KernelCodeProperties,
    /// Kernel arguments to load into user SGPRs.
    pub kernarg_preload: KernargPreload,
    /// Whether every reserved byte is 0, as the format requires.
    pub reserved_is_zero: bool,
}

/// Offsets of the words of a descriptor, in bytes.
mod at {
    pub(super) const GROUP_SEGMENT_FIXED_SIZE: usize = 0;
    pub(super) const PRIVATE_SEGMENT_FIXED_SIZE: usize = 4;
    pub(super) const KERNARG_SIZE: usize = 8;
    pub(super) const ENTRY_OFFSET: usize = 16;
    pub(super) const RSRC3: usize = 44;
    pub(super) const RSRC1: usize = 48;
    pub(super) const RSRC2: usize = 52;
    /// Two words of 16 bits: properties, preloaded arguments.
    pub(super) const PROPERTIES: usize = 56;
    pub(super) const KERNARG_PRELOAD: usize = 58;
}

/// The registers that a wave receives, computed from the granules in the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterAllocation {
    /// Vector registers per lane. On MI200 and later this includes the
    /// accumulation registers; on MI100 these are a second file of this size.
    pub vgprs: u32,
    /// Vector registers are allocated in multiples of this.
    pub vgpr_granule: u32,
    /// Scalar registers per wave, VCC and other special ones included.
    pub sgprs: u32,
    /// Where the accumulation registers begin in the vector register file
    /// (MI200 and later).
    pub accum_offset: Option<u32>,
}

impl KernelDescriptor {
    /// The size of a descriptor in bytes.
    pub const SIZE: u64 = 64;

    /// Offset in the descriptor of the distance to the first instruction, in bytes. Assemblers
    /// leave it 0 and emit a relocation `R_AMDGPU_REL64` to the kernel's code with this offset as
    /// its addend.
    pub const ENTRY_OFFSET: u64 = at::ENTRY_OFFSET as u64;

    /// The size in bytes of the `amd_kernel_code_t` that code object v2 has instead.
    pub(crate) const LEGACY_SIZE: u64 = 256;

    /// Decodes the 64 bytes of a descriptor of code object v3 or later.
    pub fn from_bytes(bytes: &[u8; 64]) -> Self {
        let reserved = [12..16, 24..44, 60..64];
        KernelDescriptor {
            group_segment_fixed_size: word(bytes, at::GROUP_SEGMENT_FIXED_SIZE),
            private_segment_fixed_size: word(bytes, at::PRIVATE_SEGMENT_FIXED_SIZE),
            kernarg_size: word(bytes, at::KERNARG_SIZE),
            entry_offset: i64::from(word(bytes, at::ENTRY_OFFSET))
                | i64::from(word(bytes, at::ENTRY_OFFSET + 4)) << 32,
            rsrc3: word(bytes, at::RSRC3),
            rsrc1: Rsrc1(word(bytes, at::RSRC1)),
            rsrc2: Rsrc2(word(bytes, at::RSRC2)),
            properties: KernelCodeProperties(word(bytes, at::PROPERTIES) as u16),
            kernarg_preload: KernargPreload(word(bytes, at::KERNARG_PRELOAD) as u16),
            reserved_is_zero: reserved.into_iter().flatten().all(|at| bytes[at] == 0),
        }
    }

    /// Decodes an `amd_kernel_code_t` (code object v2). The fields that hardware reads have the
    /// same offsets as in a descriptor; the sizes have others.
    pub(crate) fn from_legacy_bytes(code: &[u8]) -> Result<Self> {
        const WHAT: &str = "amd_kernel_code_t";
        let code: [u8; Self::LEGACY_SIZE as usize] = bytes::array(code, 0, WHAT)?;
        let entry_offset = bytes::u64(&code, 16, WHAT)? as i64;
        let kernarg_size = bytes::u64(&code, 72, WHAT)?;
        Ok(KernelDescriptor {
            group_segment_fixed_size: bytes::u32(&code, 64, WHAT)?,
            private_segment_fixed_size: bytes::u32(&code, 60, WHAT)?,
            kernarg_size: u32::try_from(kernarg_size).map_err(|_| {
                crate::Error::malformed(WHAT, 72, format!("a kernarg segment of {kernarg_size} bytes"))
            })?,
            entry_offset,
            rsrc3: 0,
            rsrc1: Rsrc1(bytes::u32(&code, 48, WHAT)?),
            rsrc2: Rsrc2(bytes::u32(&code, 52, WHAT)?),
            properties: KernelCodeProperties(bytes::u16(&code, 56, WHAT)? & 0x7f),
            kernarg_preload: KernargPreload(0),
            reserved_is_zero: true,
        })
    }

    /// `compute_pgm_rsrc3` as MI200 and its successors lay it out.
    pub fn rsrc3_gfx90a(&self) -> Rsrc3Gfx90a {
        Rsrc3Gfx90a(self.rsrc3)
    }

    /// `compute_pgm_rsrc3` as RDNA lays it out.
    pub fn rsrc3_gfx10(&self) -> Rsrc3Gfx10 {
        Rsrc3Gfx10(self.rsrc3)
    }

    /// Lanes per wave: 32 or 64.
    pub fn wavefront_size(&self) -> u32 {
        if self.properties.wavefront_size32() { 32 } else { 64 }
    }

    /// The low byte of the MODE register at the start of a wave: rounding and
    /// denormal modes.
    pub fn initial_float_mode(&self) -> u8 {
        (self.rsrc1.0 >> 12) as u8
    }

    /// The register counts that the granules amount to; `None` for a processor whose granules are
    /// not known.
    pub fn registers(&self, processor: &Processor) -> Option<RegisterAllocation> {
        let generation = processor.generation()?.facts();
        let units = generation.registers?;
        let wave32 = self.properties.wavefront_size32();
        let vgpr_granule = if wave32 { units.vgprs_wave32 } else { units.vgprs };
        let sgprs = match units.sgprs {
            SgprCount::Units(allocated) => {
                ((self.rsrc1.granulated_sgpr_count() + 1) * SGPR_UNIT).next_multiple_of(allocated)
            }
            SgprCount::Always(count) => count,
        };
        Some(RegisterAllocation {
            vgprs: (self.rsrc1.granulated_vgpr_count() + 1) * vgpr_granule,
            vgpr_granule,
            sgprs,
            accum_offset: (generation.accvgprs == AccVgprs::Unified)
                .then(|| (self.rsrc3_gfx90a().accum_offset() + 1) * 4),
        })
    }
}

/// The register granules of a processor's descriptors.
fn register_units(processor: &Processor) -> Option<RegisterUnits> {
    processor.generation()?.facts().registers
}

/// The 32-bit word at `at`, a constant within a descriptor.
fn word(bytes: &[u8; 64], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte ends up in its field.
    #[test]
    fn fields_stand_where_the_format_says() {
        let bytes: [u8; 64] = std::array::from_fn(|at| at as u8);
        let kd = KernelDescriptor::from_bytes(&bytes);
        assert_eq!(kd.group_segment_fixed_size, 0x0302_0100);
        assert_eq!(kd.private_segment_fixed_size, 0x0706_0504);
        assert_eq!(kd.kernarg_size, 0x0b0a_0908);
        assert_eq!(kd.entry_offset, 0x1716_1514_1312_1110);
        assert_eq!(kd.rsrc3, 0x2f2e_2d2c);
        assert_eq!(kd.rsrc1.0, 0x3332_3130);
        assert_eq!(kd.rsrc2.0, 0x3736_3534);
        assert_eq!(kd.properties.0, 0x3938);
        assert_eq!(kd.kernarg_preload.0, 0x3b3a);
        assert!(!kd.reserved_is_zero);
    }

    #[test]
    fn a_negative_entry_offset() {
        let mut bytes = [0; 64];
        bytes[16..24].copy_from_slice(&(-256i64).to_le_bytes());
        let kd = KernelDescriptor::from_bytes(&bytes);
        assert_eq!(kd.entry_offset, -256);
        assert!(kd.reserved_is_zero);
    }

    #[test]
    fn granules_depend_on_the_processor() {
        let mut bytes = [0; 64];
        // 5 granules of vector registers, 4 + 1 of scalar ones, accumulation registers from 12.
        bytes[48..52].copy_from_slice(&(4u32 | 4 << 6).to_le_bytes());
        bytes[44..48].copy_from_slice(&2u32.to_le_bytes());
        let kd = KernelDescriptor::from_bytes(&bytes);
        let registers = |name: &str| {
            let r = kd.registers(&Processor::from_name(name)).unwrap();
            (r.vgprs, r.sgprs, r.accum_offset)
        };
        assert_eq!(registers("gfx803"), (20, 40, None));
        assert_eq!(registers("gfx906"), (20, 48, None));
        assert_eq!(registers("gfx908"), (20, 48, None));
        assert_eq!(registers("gfx90a"), (40, 48, Some(12)));
        assert_eq!(registers("gfx950"), (40, 48, Some(12)));
        assert_eq!(registers("gfx1100"), (20, 128, None));
        assert_eq!(kd.registers(&Processor::UnknownMach(0xfe)), None);
        assert_eq!(kd.registers(&Processor::from_name("cayman")), None);
    }
}
