//! The GPU targets, sets of them, and the facts about each besides its instructions.

mod facts;
mod generation;
mod set;

use core::fmt;

#[allow(unused_imports, reason = "the build script needs some of them only")]
pub use facts::{AccVgprs, CacheWords, CaymanFacts, Family, Fp8Format, GcnFacts, MatrixCore};
#[allow(unused_imports, reason = "the build script needs some of them only")]
pub use generation::{Generation, GenerationFacts, RegisterUnits, SGPR_UNIT, SgprCount};
pub use set::TargetSet;
pub(crate) use set::targets_where;

/// A GPU target: a chip whose instruction set the tables describe.
///
/// Targets have no order. [`Target::facts`] describes one, and [`Family::targets`] lists related
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Target {
    /// Vega 10 (Radeon RX Vega 56/64).
    Gfx900,
    /// Vega 20 (Radeon VII, Instinct MI50/MI60).
    Gfx906,
    /// CDNA 1 (Instinct MI100).
    Gfx908,
    /// CDNA 2 (Instinct MI200 series).
    Gfx90a,
    /// CDNA 3 (Instinct MI300 series).
    Gfx942,
    /// CDNA 4 (Instinct MI350 series).
    Gfx950,
    /// Cayman (Radeon HD 6900 series), VLIW4.
    Cayman,
}

impl Target {
    /// The targets of [`Family::Gcn`], in the order of their generations.
    pub const GCN: [Target; 6] =
        [Target::Gfx900, Target::Gfx906, Target::Gfx908, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

    /// Every target of every family. Code of one family goes through [`Family::generations`] instead.
    pub const ALL: [Target; 7] = [
        Target::Gfx900,
        Target::Gfx906,
        Target::Gfx908,
        Target::Gfx90a,
        Target::Gfx942,
        Target::Gfx950,
        Target::Cayman,
    ];

    /// The number of targets.
    pub const COUNT: usize = Target::ALL.len();

    /// The processor name that LLVM and code objects use, such as `gfx90a`.
    pub const fn name(self) -> &'static str {
        self.identity().0
    }

    /// The family: which encodings, rows and facts it has.
    pub const fn family(self) -> Family {
        self.identity().1
    }

    /// The target with this processor name (`gfx906`), without feature suffixes; `None` if the tables do not have it.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// The position in [`Target::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The facts of its generation.
    pub const fn generation(self) -> &'static GenerationFacts {
        self.facts().generation.facts()
    }

    /// Bytes of LDS of a compute unit, all of which a workgroup may use.
    pub const fn lds_bytes(self) -> u32 {
        match self.family() {
            Family::Gcn => self.facts().lds_bytes,
            Family::Cayman => CaymanFacts::HD6900.lds_bytes,
        }
    }

    /// LDS allocation granule in bytes: a workgroup gets a multiple of it.
    pub const fn lds_granule(self) -> u32 {
        match self.family() {
            Family::Gcn => self.facts().lds_granule,
            Family::Cayman => CaymanFacts::HD6900.lds_granule,
        }
    }

    /// LDS banks, each one dword wide.
    pub const fn lds_banks(self) -> u32 {
        match self.family() {
            Family::Gcn => self.facts().lds_banks,
            Family::Cayman => CaymanFacts::HD6900.lds_banks,
        }
    }

    /// Bytes of private memory that a work-item may have, if all lanes of a wave have as much.
    pub const fn private_bytes(self) -> u32 {
        match self.family() {
            Family::Gcn => self.facts().wave_scratch_bytes / 64,
            Family::Cayman => CaymanFacts::HD6900.private_bytes,
        }
    }

    /// Work-items that a workgroup may have.
    pub const fn workgroup_items(self) -> u32 {
        match self.family() {
            Family::Gcn => self.facts().workgroup_items,
            Family::Cayman => CaymanFacts::HD6900.workgroup_items,
        }
    }

    /// Waves that a compute unit holds if each needs this many vector registers per lane (VGPRs and
    /// accumulation VGPRs, or registers of four dwords), at least 1 for each SIMD.
    pub const fn waves_of_unit(self, registers: u32) -> u32 {
        const fn clamp(waves: u32, most: u32) -> u32 {
            if waves > most {
                most
            } else if waves == 0 {
                1
            } else {
                waves
            }
        }
        let registers = if registers == 0 { 1 } else { registers };
        match self.family() {
            Family::Gcn => {
                let facts = self.facts();
                facts.simds * clamp(facts.vgprs_per_simd / registers, facts.waves_per_simd)
            }
            Family::Cayman => clamp(CaymanFacts::HD6900.gprs / registers, CaymanFacts::HD6900.waves),
        }
    }

    /// Whether the target has accumulation VGPRs at all.
    pub const fn has_accvgprs(self) -> bool {
        !matches!(self.generation().accvgprs, AccVgprs::None)
    }

    /// Whether memory instructions may name accumulation VGPRs and VGPR tuples must be even-aligned.
    pub const fn has_unified_vgprs(self) -> bool {
        matches!(self.generation().accvgprs, AccVgprs::Unified)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
