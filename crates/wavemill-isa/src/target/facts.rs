//! The table of targets: one row per target, and a column for every difference other than its
//! instructions.
//!
//! [`Target::identity`] holds what all targets have. Each family has its own table of columns:
//! [`GcnFacts`], [`CaymanFacts`]. No other code compares targets: it reads a column. The row of an
//! instruction says which targets have it.

use super::{Generation, Target, TargetSet};

/// Targets that share encodings, rows and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// GCN from Vega on, and CDNA.
    Gcn,
    /// VLIW4: control words that start clauses of instruction groups.
    Cayman,
}

impl Family {
    /// The targets of the family, oldest generation first. Ranges in row files such as `908+` use
    /// this order.
    pub const fn generations(self) -> &'static [Target] {
        match self {
            Family::Gcn => &Target::GCN,
            Family::Cayman => &[Target::Cayman],
        }
    }

    /// The targets of the family.
    pub const fn targets(self) -> TargetSet {
        TargetSet::from_list(self.generations())
    }

    /// The target with the most registers and instructions. Texts whose target does not matter are
    /// checked against it.
    pub const fn newest(self) -> Target {
        match self {
            Family::Gcn => Target::Gfx950,
            Family::Cayman => Target::Cayman,
        }
    }
}

/// Where accumulation VGPRs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccVgprs {
    /// The target has no accumulation VGPRs.
    None,
    /// In their own file, which only matrix instructions and moves reach.
    Separate,
    /// In one file with the VGPRs: memory instructions reach them, and tuples of both start at even
    /// numbers (CDNA2 ISA and CDNA4 ISA 3.6.4).
    Unified,
}

/// How texts spell the cache bits of vector memory instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheWords {
    /// `glc`, `slc` and, where the bit exists, `scc` (Vega ISA 13.6 and 13.8, CDNA2 ISA 13.5).
    Policy,
    /// `sc0`, `nt` and `sc1` (CDNA3 ISA 13.5 and 13.6).
    Scope,
}

/// The format of 8-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fp8Format {
    /// Without infinities and negative zero, as on gfx942 (LLVM, `Float8E4M3FNUZ` and
    /// `Float8E5M2FNUZ`).
    Fnuz,
    /// The format of the Open Compute Project (CDNA4 ISA 7.3). Targets without 8-bit floats have
    /// this value too.
    Ocp,
}

/// How matrix cores sum the products of floats narrower than f32 (`mmasim` 2.1.1, whose authors
/// compared it with MI100, MI210 and MI300X).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixCore {
    /// The target has no matrix cores.
    None,
    /// Groups of products and the addend are summed exactly, and rounded once.
    Exact,
    /// Products and sums are rounded to f32, and denormals are flushed.
    Flushing,
    /// Products are cut below the largest exponent of their group.
    Truncating,
}

/// The facts about a target of [`Family::Gcn`] besides its instructions.
#[derive(Clone, Copy, Debug)]
pub struct GcnFacts {
    /// The generation, which decides how registers are counted.
    pub generation: Generation,
    /// VGPRs of a SIMD per lane; both kinds where they share a file (LLVM, `getTotalNumVGPRs`).
    /// CDNA2 ISA 3.6.4 gives the limit of a wave.
    pub vgprs_per_simd: u32,
    /// Waves that a SIMD holds (LLVM, `getMaxWavesPerEU`).
    pub waves_per_simd: u32,
    /// SIMDs of a compute unit (LLVM, `getEUsPerCU`).
    pub simds: u32,
    /// Shader engines of a die, as HW_ID counts them in two bits.
    pub shader_engines: u32,
    /// Shader arrays of a shader engine, as HW_ID counts them: where a die has eight engines, four
    /// of them are second arrays (Linux, `amdgpu`, `gfx_v9_0_get_cu_info`).
    pub shader_arrays: u32,
    /// Work-items that a workgroup may have (Vega ISA, CDNA2 ISA and CDNA4 ISA 4.3).
    pub workgroup_items: u32,
    /// Bytes of private memory that a wave may have (LLVM, `GCNSubtarget::getMaxWaveScratchSize`).
    pub wave_scratch_bytes: u32,
    /// Bytes of LDS of a compute unit, all of which a workgroup may use (Vega ISA 10.1, CDNA4 ISA
    /// 2.2.1).
    pub lds_bytes: u32,
    /// LDS allocation granule in bytes: a workgroup gets a multiple of it (Vega ISA, CDNA2 ISA and
    /// CDNA4 ISA 3.6.5).
    pub lds_granule: u32,
    /// LDS banks, each one dword wide (Vega ISA 10.1: 32 banks of 512 dwords; CDNA4 ISA 2.2.1: 64
    /// banks of 640).
    pub lds_banks: u32,
    /// Bits of M0 that address LDS in loads to it: more than 64 KiB need two more (Vega ISA and
    /// CDNA4 ISA 3.7).
    pub lds_address_bits: u32,
    /// Whether the target has the global data share, which CDNA 2 dropped (CDNA2 ISA, "Feature Changes").
    pub gds: bool,
    /// Whether vector instructions read LDS directly, as `src_lds_direct` (Vega ISA 6.2.1 and
    /// 10.3.1). LLVM rejects it from gfx90a on, though the CDNA2 ISA still has a section 11.3.1 of
    /// that name.
    pub lds_direct: bool,
    /// Whether DPP has `row_newbcast` (CDNA3 ISA 13.3.9: 150 to 15F), which came with CDNA 2 (LLVM).
    pub row_newbcast: bool,
    /// Whether vector memory instructions have a third cache bit (CDNA2 ISA 13.5).
    pub third_cache_bit: bool,
    /// The words for the cache bits. Where they name scopes, the cache write-back instruction
    /// accepts one.
    pub cache_words: CacheWords,
    /// Whether scratch instructions have a bit that says whether the address has a VGPR: LLVM's
    /// `sve`, bit 13, which CDNA3 ISA 13.6.1 still calls LDS.
    pub scratch_vaddr_bit: bool,
    /// Whether BLGP changes signs in matrix products of doubles, which came with CDNA 3 (CDNA3 ISA 13.3.6.1).
    pub blgp_negates_doubles: bool,
    /// Whether hardware registers 20 to 24 have names: the XCC and performance snapshots, which came with CDNA 3
    /// (LLVM, `AMDGPUAsmUtils`; CDNA4 ISA 3.12 has the XCC).
    pub xcc_registers: bool,
    /// Whether TTMP registers hold the packet, the grid and the wave when a wave starts (CDNA4 ISA 3.13).
    pub architected_sgprs: bool,
    /// Whether waves without privileges read 0 from TTMP registers (CDNA3 ISA 3.10, as AMD's audit of its emulator
    /// cites it, CDNA3-RJ-055; CDNA4 ISA 3.10).
    pub ttmp_reads_zero: bool,
    /// Whether V0 packs the ids of a work-item (CDNA2 ISA, "Feature Changes"; CDNA4 ISA 3.13;
    /// AMDGPUUsage, "VGPR Register Set Up Order").
    pub packed_work_item_ids: bool,
    /// Whether every chip protects its registers with ECC.
    pub register_ecc: bool,
    /// SCC of `s_max` of equal sources: 0 on Vega (Vega ISA 12.1), 1 on CDNA (AMD's machine-readable tables).
    pub max_of_equals_sets_scc: bool,
    /// Whether additions of f32 in memory keep denormals (LLVM, `FeatureMemoryAtomicFAddF32DenormalSupport`).
    pub atomic_f32_keeps_denormals: bool,
    /// Whether dot products of f16 keep denormal factors, whatever MODE says: gfx90a flushes them;
    /// gfx950 and other measured chips keep them (`llvm/llvm-project` pull request 205101). The
    /// source does not name the other chips, so the behaviour is *modelled* elsewhere.
    pub dot2_keeps_denormals: bool,
    /// The format of 8-bit floats.
    pub fp8: Fp8Format,
    /// How matrix cores sum products. No measurement of CDNA 4 is public: it is modelled after
    /// CDNA 3.
    pub matrix_core: MatrixCore,
}

/// Vega 10.
const GFX900: GcnFacts = GcnFacts {
    generation: Generation::Gfx9,
    vgprs_per_simd: 256,
    waves_per_simd: 10,
    simds: 4,
    shader_engines: 4,
    shader_arrays: 1,
    workgroup_items: 1024,
    // 13 bits of kilobytes.
    wave_scratch_bytes: ((1 << 13) - 1) << 10,
    lds_bytes: 64 << 10,
    lds_granule: 512,
    lds_banks: 32,
    lds_address_bits: 16,
    gds: true,
    lds_direct: true,
    row_newbcast: false,
    third_cache_bit: false,
    cache_words: CacheWords::Policy,
    scratch_vaddr_bit: false,
    blgp_negates_doubles: false,
    xcc_registers: false,
    architected_sgprs: false,
    ttmp_reads_zero: false,
    packed_work_item_ids: false,
    register_ecc: false,
    max_of_equals_sets_scc: false,
    atomic_f32_keeps_denormals: false,
    dot2_keeps_denormals: true,
    fp8: Fp8Format::Ocp,
    matrix_core: MatrixCore::None,
};

/// Vega 20.
const GFX906: GcnFacts = GFX900;

/// CDNA 1.
const GFX908: GcnFacts = GcnFacts {
    generation: Generation::Gfx908,
    shader_arrays: 2,
    register_ecc: true,
    max_of_equals_sets_scc: true,
    matrix_core: MatrixCore::Exact,
    ..GFX906
};

/// CDNA 2.
const GFX90A: GcnFacts = GcnFacts {
    generation: Generation::Gfx90a,
    vgprs_per_simd: 512,
    waves_per_simd: 8,
    gds: false,
    lds_direct: false,
    row_newbcast: true,
    third_cache_bit: true,
    packed_work_item_ids: true,
    dot2_keeps_denormals: false,
    matrix_core: MatrixCore::Flushing,
    ..GFX908
};

/// CDNA 3.
const GFX942: GcnFacts = GcnFacts {
    generation: Generation::Gfx940,
    shader_arrays: 1,
    cache_words: CacheWords::Scope,
    scratch_vaddr_bit: true,
    blgp_negates_doubles: true,
    xcc_registers: true,
    architected_sgprs: true,
    ttmp_reads_zero: true,
    atomic_f32_keeps_denormals: true,
    dot2_keeps_denormals: true,
    fp8: Fp8Format::Fnuz,
    matrix_core: MatrixCore::Truncating,
    ..GFX90A
};

/// CDNA 4.
const GFX950: GcnFacts = GcnFacts {
    lds_bytes: 160 << 10,
    lds_granule: 1280,
    lds_banks: 64,
    lds_address_bits: 18,
    fp8: Fp8Format::Ocp,
    ..GFX942
};

impl GcnFacts {
    /// The facts of a target of another family: it has none of these features.
    const NONE: GcnFacts = GcnFacts {
        generation: Generation::R600,
        vgprs_per_simd: 0,
        waves_per_simd: 0,
        simds: 0,
        shader_engines: 1,
        shader_arrays: 1,
        workgroup_items: 0,
        wave_scratch_bytes: 0,
        lds_bytes: 0,
        lds_granule: 0,
        lds_banks: 0,
        lds_address_bits: 0,
        gds: false,
        lds_direct: false,
        dot2_keeps_denormals: false,
        ..GFX900
    };
}

/// The facts about a target of [`Family::Cayman`] besides its instructions.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CaymanFacts {
    /// Bytes of LDS that a compute unit has (HD 6900 ISA 2.6.2).
    pub lds_bytes: u32,
    /// LDS allocation granule in bytes: SQ_LDS_ALLOC counts dwords (LLVM, `R600AsmPrinter`).
    pub lds_granule: u32,
    /// LDS banks, each one dword wide (HD 6900 ISA 7.1: 32 or 16, depending on the GPU).
    pub lds_banks: u32,
    /// Work-items that a workgroup may have (Direct3D 11, `cs_5_0`).
    pub workgroup_items: u32,
    /// Bytes of scratch memory that a work-item may have: ARRAY_SIZE counts up to 4,096 elements of
    /// four dwords (HD 6900 ISA 9.1).
    pub private_bytes: u32,
    /// Registers of a compute unit per lane: 256 KiB (AMD's programming guide for OpenCL).
    pub gprs: u32,
    /// Waves that a compute unit holds (*modelled*: AMD's programming guide for OpenCL gives the sum
    /// for other chips of the series).
    pub waves: u32,
}

impl CaymanFacts {
    /// The only target so far.
    pub const HD6900: CaymanFacts = CaymanFacts {
        lds_bytes: 32 << 10,
        lds_granule: 4,
        lds_banks: 32,
        workgroup_items: 1024,
        private_bytes: 64 << 10,
        gprs: 256,
        waves: 24,
    };
}

impl Target {
    /// The processor name that LLVM and code objects use, and the family.
    pub(super) const fn identity(self) -> (&'static str, Family) {
        match self {
            Target::Gfx900 => ("gfx900", Family::Gcn),
            Target::Gfx906 => ("gfx906", Family::Gcn),
            Target::Gfx908 => ("gfx908", Family::Gcn),
            Target::Gfx90a => ("gfx90a", Family::Gcn),
            Target::Gfx942 => ("gfx942", Family::Gcn),
            Target::Gfx950 => ("gfx950", Family::Gcn),
            Target::Cayman => ("cayman", Family::Cayman),
        }
    }

    /// The facts about a target of [`Family::Gcn`] besides its instructions. For a target of
    /// another family, sizes are 0 and no feature is present.
    pub const fn facts(self) -> &'static GcnFacts {
        match self {
            Target::Gfx900 => &GFX900,
            Target::Gfx906 => &GFX906,
            Target::Gfx908 => &GFX908,
            Target::Gfx90a => &GFX90A,
            Target::Gfx942 => &GFX942,
            Target::Gfx950 => &GFX950,
            Target::Cayman => &GcnFacts::NONE,
        }
    }
}
