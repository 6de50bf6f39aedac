//! Generations: processors whose waves have the same kinds of registers, counted alike. Code
//! objects of every generation can be read. Only some generations have rows and a
//! [`Target`](super::Target).

use super::AccVgprs;

/// Processors whose waves have the same kinds of registers, and whose kernel descriptors count them
/// alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// VLIW processors (R600 to Cayman); they have no kernel descriptors.
    R600,
    /// Southern Islands.
    Gfx6,
    /// Sea Islands.
    Gfx7,
    /// Volcanic Islands.
    Gfx8,
    /// Vega.
    Gfx9,
    /// MI100: accumulation registers have their own file.
    Gfx908,
    /// MI200: vector and accumulation registers share one file.
    Gfx90a,
    /// MI300, MI350: as before, and hardware sets up FLAT_SCRATCH.
    Gfx940,
    /// RDNA 1 and 2.
    Gfx10,
    /// RDNA 3.
    Gfx11,
    /// RDNA 4.
    Gfx12,
    /// gfx125x.
    Gfx125,
}

/// Facts that all processors of a generation share.
#[derive(Debug, Clone, Copy)]
pub struct GenerationFacts {
    /// Where accumulation VGPRs are.
    pub accvgprs: AccVgprs,
    /// Whether hardware sets up FLAT_SCRATCH. Scratch is then reachable only by scratch
    /// instructions (AMDGPUUsage, "Flat Scratch").
    pub architected_scratch: bool,
    /// How kernel descriptors count registers; `None` where there are no descriptors.
    pub registers: Option<RegisterUnits>,
}

/// How kernel descriptors count registers (AMDGPUUsage, "Kernel Descriptor", `COMPUTE_PGM_RSRC1`).
#[derive(Debug, Clone, Copy)]
pub struct RegisterUnits {
    /// VGPRs per unit of `GRANULATED_WORKITEM_VGPR_COUNT`, in waves of 64 lanes (Vega ISA 3.6.4: 4;
    /// CDNA2 ISA and CDNA4 ISA 3.6.4: 8).
    pub vgprs: u32,
    /// The same in waves of 32 lanes.
    pub vgprs_wave32: u32,
    /// The meaning of `GRANULATED_WAVEFRONT_SGPR_COUNT`.
    pub sgprs: SgprCount,
    /// SGPRs that instructions can name by a number (Vega ISA 3.6.2; LLVM, `getAddressableNumSGPRs`).
    pub addressable_sgprs: u32,
    /// User SGPRs that hardware sets (CDNA4 ISA 3.13; LLVM, `getMaxNumUserSGPRs`).
    pub user_sgprs: u32,
}

/// How many SGPRs a wave gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SgprCount {
    /// Units of [`SGPR_UNIT`], rounded up to a multiple of this number.
    Units(u32),
    /// This number, whatever the descriptor says.
    Always(u32),
}

/// SGPRs per unit of `GRANULATED_WAVEFRONT_SGPR_COUNT`. GFX9 and later allocate twice as many at a
/// time, but the field keeps its unit (AMDGPUUsage).
pub const SGPR_UNIT: u32 = 8;

const GFX6: GenerationFacts = GenerationFacts {
    accvgprs: AccVgprs::None,
    architected_scratch: false,
    registers: Some(RegisterUnits {
        vgprs: 4,
        vgprs_wave32: 4,
        sgprs: SgprCount::Units(SGPR_UNIT),
        addressable_sgprs: 104,
        user_sgprs: 16,
    }),
};
const GFX8: GenerationFacts = GFX6.counted(RegisterUnits { addressable_sgprs: 102, ..GFX6.units() });
const GFX9: GenerationFacts =
    GFX8.counted(RegisterUnits { sgprs: SgprCount::Units(2 * SGPR_UNIT), ..GFX8.units() });
const GFX908: GenerationFacts = GenerationFacts { accvgprs: AccVgprs::Separate, ..GFX9 };
const GFX90A: GenerationFacts = GenerationFacts {
    accvgprs: AccVgprs::Unified,
    ..GFX9.counted(RegisterUnits { vgprs: 8, vgprs_wave32: 8, ..GFX9.units() })
};
const GFX940: GenerationFacts = GenerationFacts { architected_scratch: true, ..GFX90A };
const GFX10: GenerationFacts = GFX8.counted(RegisterUnits {
    vgprs_wave32: 8,
    sgprs: SgprCount::Always(128),
    addressable_sgprs: 106,
    ..GFX8.units()
});
const GFX11: GenerationFacts = GenerationFacts { architected_scratch: true, ..GFX10 };
const GFX125: GenerationFacts =
    GFX11.counted(RegisterUnits { vgprs: 16, vgprs_wave32: 16, user_sgprs: 32, ..GFX11.units() });
const R600: GenerationFacts = GenerationFacts { registers: None, ..GFX6 };

impl GenerationFacts {
    const fn counted(self, units: RegisterUnits) -> GenerationFacts {
        GenerationFacts { registers: Some(units), ..self }
    }

    const fn units(self) -> RegisterUnits {
        self.registers.expect("a generation with descriptors")
    }
}

impl Generation {
    /// The facts that its processors share.
    pub const fn facts(self) -> &'static GenerationFacts {
        match self {
            Generation::R600 => &R600,
            Generation::Gfx6 | Generation::Gfx7 => &GFX6,
            Generation::Gfx8 => &GFX8,
            Generation::Gfx9 => &GFX9,
            Generation::Gfx908 => &GFX908,
            Generation::Gfx90a => &GFX90A,
            Generation::Gfx940 => &GFX940,
            Generation::Gfx10 => &GFX10,
            Generation::Gfx11 | Generation::Gfx12 => &GFX11,
            Generation::Gfx125 => &GFX125,
        }
    }
}
