//! The table of the directives inside `.amdhsa_kernel`.

use std::fmt;
use std::ops::RangeInclusive;

use wavemill_isa::{AccVgprs, Generation};

use super::bits::{Field, KernargPreload, KernelCodeProperties, Rsrc1, Rsrc2, Rsrc3Gfx90a};
use super::{at, register_units};
use crate::target::{Feature, Processor, TargetId};

/// The field of a register word by its name in AMDGPUUsage.
macro_rules! field {
    ($word:ident, $name:literal) => {{
        const FIELD: Field = Field::named($word::FIELDS, $name);
        FIELD
    }};
}

/// One of the directives between `.amdhsa_kernel` and `.end_amdhsa_kernel`, which set the fields of a kernel descriptor
/// (AMDGPUUsage, "amdhsa_kernel").
#[derive(Debug, PartialEq, Eq)]
pub struct Directive {
    /// Name, `.amdhsa_next_free_vgpr`.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub summary: &'static str,
    /// The targets that have it.
    pub support: Support,
    /// The default value.
    pub default: Default,
    pub(super) effect: Effect,
}

/// Which targets have a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// All.
    All,
    /// gfx90a and later.
    Gfx90a,
    /// Those where software sets flat scratch up: up to gfx90a.
    SoftwareFlatScratch,
    /// Those where hardware sets flat scratch up: gfx942 and later.
    ArchitectedFlatScratch,
    /// None that this crate makes descriptors for: gfx10 and later.
    Gfx10,
    /// None that this crate makes descriptors for: gfx10 and gfx11.
    Gfx10And11,
    /// None that this crate makes descriptors for: gfx11 and later.
    Gfx11,
    /// None that this crate makes descriptors for: gfx12 and later.
    Gfx12,
    /// None that this crate makes descriptors for: gfx125x.
    Gfx125,
}

impl Support {
    /// Whether a processor has the directive. Only processors of the Vega and CDNA families are
    /// known here.
    pub fn includes(self, processor: &Processor) -> bool {
        let facts = processor.generation().map(Generation::facts);
        let unified = facts.is_some_and(|facts| facts.accvgprs == AccVgprs::Unified);
        match self {
            Support::All => true,
            Support::Gfx90a => unified,
            Support::SoftwareFlatScratch => !processor.has_architected_flat_scratch(),
            Support::ArchitectedFlatScratch => processor.has_architected_flat_scratch(),
            Support::Gfx10 | Support::Gfx10And11 | Support::Gfx11 | Support::Gfx12 | Support::Gfx125 => false,
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Support::All => "all targets",
            Support::Gfx90a => "gfx90a, gfx942 and gfx950",
            Support::SoftwareFlatScratch => {
                "gfx900, gfx906, gfx908 and gfx90a, where software sets flat scratch up"
            }
            Support::ArchitectedFlatScratch => "gfx942 and gfx950, where hardware sets flat scratch up",
            Support::Gfx10 => "gfx10 and later",
            Support::Gfx10And11 => "gfx10 and gfx11",
            Support::Gfx11 => "gfx11 and later",
            Support::Gfx12 => "gfx12 and later",
            Support::Gfx125 => "gfx125x",
        })
    }
}

/// The default of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Default {
    /// This value.
    Value(u32),
    /// 1 if the target id leaves `xnack` open or turns it on, 0 if it turns it off.
    Xnack,
    /// The number that the enabled user SGPRs need.
    EnabledUserSgprs,
    /// None: the directive is required.
    Required,
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Default::Value(value) => write!(f, "{value}"),
            Default::Xnack => f.write_str("1 unless the target id has xnack-"),
            Default::EnabledUserSgprs => f.write_str("as many as the enabled user SGPRs need"),
            Default::Required => f.write_str("required"),
        }
    }
}

/// The effect of a directive on the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It sets the 32-bit word at an offset.
    Word(usize),
    /// It sets a field of the word at an offset.
    Bits(usize, Field),
    /// Like `Bits`; a value other than 0 needs this many user SGPRs.
    UserSgprs(usize, Field, u32),
    /// Like `Bits`; the value is the number of user SGPRs that it needs.
    Preload(usize, Field),
    /// It is an input of a field that is computed from several directives.
    Computed(Input),
    /// None on the targets that this crate makes descriptors for.
    Nothing,
}

/// Inputs of computed fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    UserSgprCount,
    NextFreeVgpr,
    NextFreeSgpr,
    AccumOffset,
    ReserveVcc,
    ReserveFlatScratch,
    ReserveXnackMask,
}

impl Directive {
    /// All directives, including those of other families, in the order for printing.
    pub fn all() -> &'static [Directive] {
        DIRECTIVES
    }

    /// The directive called `name`, with the leading dot.
    pub fn find(name: &str) -> Option<&'static Directive> {
        DIRECTIVES.iter().find(|directive| directive.name == name)
    }

    /// The values that it accepts on a processor; `.amdhsa_accum_offset` accepts only multiples of
    /// 4.
    pub fn range(&self, processor: &Processor) -> RangeInclusive<u32> {
        let units = register_units(processor);
        match self.effect {
            Effect::Word(_) => 0..=u32::MAX,
            Effect::Preload(..) => 0..=units.map_or(0, |units| units.user_sgprs),
            Effect::Bits(_, field) | Effect::UserSgprs(_, field, _) => 0..=field.max(),
            Effect::Computed(input) => match input {
                Input::UserSgprCount => 0..=field!(Rsrc2, "USER_SGPR_COUNT").max(),
                Input::NextFreeVgpr => 0..=units.map_or(1, |units| units.vgprs) * (VGPR_COUNT.max() + 1),
                Input::NextFreeSgpr => 0..=units.map_or(0, |units| units.addressable_sgprs),
                Input::AccumOffset => 4..=(ACCUM_OFFSET.max() + 1) * ACCUM_UNIT,
                Input::ReserveVcc | Input::ReserveFlatScratch | Input::ReserveXnackMask => 0..=1,
            },
            Effect::Nothing => 0..=0,
        }
    }

    /// The number of user SGPRs that this value needs.
    pub fn user_sgprs(&self, value: u32) -> u32 {
        match self.effect {
            Effect::UserSgprs(_, _, count) if value != 0 => count,
            Effect::Preload(..) => value,
            _ => 0,
        }
    }

    /// The default value; `None` if the directive is required or its default is computed.
    pub fn default_for(&self, target: &TargetId) -> Option<u32> {
        match self.default {
            Default::Value(value) => Some(value),
            Default::Xnack => Some(matches!(target.xnack, Feature::Any | Feature::On).into()),
            Default::EnabledUserSgprs | Default::Required => None,
        }
    }
}

/// Vector registers before the accumulation registers in one unit of `ACCUM_OFFSET`.
pub(super) const ACCUM_UNIT: u32 = 4;
pub(super) const VGPR_COUNT: Field = field!(Rsrc1, "GRANULATED_WORKITEM_VGPR_COUNT");
pub(super) const SGPR_COUNT: Field = field!(Rsrc1, "GRANULATED_WAVEFRONT_SGPR_COUNT");
pub(super) const USER_SGPR_COUNT: Field = field!(Rsrc2, "USER_SGPR_COUNT");
pub(super) const ACCUM_OFFSET: Field = field!(Rsrc3Gfx90a, "ACCUM_OFFSET");

const fn rsrc1(field: Field) -> Effect {
    Effect::Bits(at::RSRC1, field)
}

const fn rsrc2(field: Field) -> Effect {
    Effect::Bits(at::RSRC2, field)
}

const fn user_sgprs(field: Field, count: u32) -> Effect {
    Effect::UserSgprs(at::PROPERTIES, field, count)
}

/// A row for all targets, off or 0 by default.
const fn row(name: &'static str, effect: Effect, summary: &'static str) -> Directive {
    Directive { name, summary, support: Support::All, default: Default::Value(0), effect }
}

impl Directive {
    const fn on(mut self, support: Support) -> Self {
        self.support = support;
        self
    }

    const fn default(mut self, default: Default) -> Self {
        self.default = default;
        self
    }
}

static DIRECTIVES: &[Directive] = &{
    use Effect::{Bits, Computed, Nothing, Preload, Word};
    use Input::*;
    [
        row(
            ".amdhsa_group_segment_fixed_size",
            Word(at::GROUP_SEGMENT_FIXED_SIZE),
            "bytes of local memory (LDS) that a workgroup always needs",
        ),
        row(
            ".amdhsa_private_segment_fixed_size",
            Word(at::PRIVATE_SEGMENT_FIXED_SIZE),
            "bytes of scratch memory per work-item",
        ),
        row(".amdhsa_kernarg_size", Word(at::KERNARG_SIZE), "bytes of kernel arguments"),
        row(".amdhsa_user_sgpr_count", Computed(UserSgprCount), "user SGPRs, preloaded arguments included")
            .default(Default::EnabledUserSgprs),
        row(
            ".amdhsa_user_sgpr_private_segment_buffer",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER"), 4),
            "four user SGPRs hold the buffer resource of scratch memory",
        )
        .on(Support::SoftwareFlatScratch),
        row(
            ".amdhsa_user_sgpr_dispatch_ptr",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_DISPATCH_PTR"), 2),
            "two user SGPRs hold the address of the dispatch packet",
        ),
        row(
            ".amdhsa_user_sgpr_queue_ptr",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_QUEUE_PTR"), 2),
            "two user SGPRs hold the address of the queue",
        ),
        row(
            ".amdhsa_user_sgpr_kernarg_segment_ptr",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_KERNARG_SEGMENT_PTR"), 2),
            "two user SGPRs hold the address of the kernel arguments",
        ),
        row(
            ".amdhsa_user_sgpr_dispatch_id",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_DISPATCH_ID"), 2),
            "two user SGPRs hold the id of the dispatch",
        ),
        row(
            ".amdhsa_user_sgpr_flat_scratch_init",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_FLAT_SCRATCH_INIT"), 2),
            "two user SGPRs hold the initial value for FLAT_SCRATCH",
        )
        .on(Support::SoftwareFlatScratch),
        row(
            ".amdhsa_user_sgpr_kernarg_preload_length",
            Preload(at::KERNARG_PRELOAD, field!(KernargPreload, "KERNARG_PRELOAD_SPEC_LENGTH")),
            "words of kernel arguments that are loaded into user SGPRs",
        )
        .on(Support::Gfx90a),
        row(
            ".amdhsa_user_sgpr_kernarg_preload_offset",
            Bits(at::KERNARG_PRELOAD, field!(KernargPreload, "KERNARG_PRELOAD_SPEC_OFFSET")),
            "the first of these words in the kernel arguments",
        )
        .on(Support::Gfx90a),
        row(
            ".amdhsa_user_sgpr_private_segment_size",
            user_sgprs(field!(KernelCodeProperties, "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE"), 1),
            "one user SGPR holds the bytes of scratch memory per work-item",
        ),
        row(".amdhsa_wavefront_size32", Nothing, "waves have 32 lanes").on(Support::Gfx10),
        row(
            ".amdhsa_uses_dynamic_stack",
            Bits(at::PROPERTIES, field!(KernelCodeProperties, "USES_DYNAMIC_STACK")),
            "the size of the stack is not known in advance",
        ),
        row(
            ".amdhsa_system_sgpr_private_segment_wavefront_offset",
            rsrc2(field!(Rsrc2, "ENABLE_PRIVATE_SEGMENT")),
            "the kernel uses scratch memory, and an SGPR holds the wave's offset in it",
        )
        .on(Support::SoftwareFlatScratch),
        row(
            ".amdhsa_enable_private_segment",
            rsrc2(field!(Rsrc2, "ENABLE_PRIVATE_SEGMENT")),
            "the kernel uses scratch memory",
        )
        .on(Support::ArchitectedFlatScratch),
        row(
            ".amdhsa_system_sgpr_workgroup_id_x",
            rsrc2(field!(Rsrc2, "ENABLE_SGPR_WORKGROUP_ID_X")),
            "an SGPR holds the workgroup id in X",
        )
        .default(Default::Value(1)),
        row(
            ".amdhsa_system_sgpr_workgroup_id_y",
            rsrc2(field!(Rsrc2, "ENABLE_SGPR_WORKGROUP_ID_Y")),
            "an SGPR holds the workgroup id in Y",
        ),
        row(
            ".amdhsa_system_sgpr_workgroup_id_z",
            rsrc2(field!(Rsrc2, "ENABLE_SGPR_WORKGROUP_ID_Z")),
            "an SGPR holds the workgroup id in Z",
        ),
        row(
            ".amdhsa_system_sgpr_workgroup_info",
            rsrc2(field!(Rsrc2, "ENABLE_SGPR_WORKGROUP_INFO")),
            "an SGPR holds the workgroup's information word",
        ),
        row(
            ".amdhsa_system_vgpr_workitem_id",
            rsrc2(field!(Rsrc2, "ENABLE_VGPR_WORKITEM_ID")),
            "work-item ids in vector registers: 0 X, 1 X and Y, 2 X, Y and Z",
        ),
        row(
            ".amdhsa_next_free_vgpr",
            Computed(NextFreeVgpr),
            "one more than the highest vector register in use, accumulation registers included",
        )
        .default(Default::Required),
        row(
            ".amdhsa_next_free_sgpr",
            Computed(NextFreeSgpr),
            "one more than the highest scalar register in use",
        )
        .default(Default::Required),
        row(
            ".amdhsa_accum_offset",
            Computed(AccumOffset),
            "where the accumulation registers begin in the vector register file, a multiple of 4",
        )
        .on(Support::Gfx90a)
        .default(Default::Required),
        row(".amdhsa_reserve_vcc", Computed(ReserveVcc), "scalar registers for VCC are needed")
            .default(Default::Value(1)),
        row(
            ".amdhsa_reserve_flat_scratch",
            Computed(ReserveFlatScratch),
            "scalar registers for FLAT_SCRATCH are needed",
        )
        .on(Support::SoftwareFlatScratch)
        .default(Default::Value(1)),
        row(
            ".amdhsa_reserve_xnack_mask",
            Computed(ReserveXnackMask),
            "scalar registers for XNACK_MASK are needed; must match the target id",
        )
        .default(Default::Xnack),
        row(
            ".amdhsa_float_round_mode_32",
            rsrc1(field!(Rsrc1, "FLOAT_ROUND_MODE_32")),
            "rounding of 32-bit floats: 0 nearest even, 1 up, 2 down, 3 to zero",
        ),
        row(
            ".amdhsa_float_round_mode_16_64",
            rsrc1(field!(Rsrc1, "FLOAT_ROUND_MODE_16_64")),
            "rounding of 16-bit and 64-bit floats: 0 nearest even, 1 up, 2 down, 3 to zero",
        ),
        row(
            ".amdhsa_float_denorm_mode_32",
            rsrc1(field!(Rsrc1, "FLOAT_DENORM_MODE_32")),
            "32-bit denormals: bit 0 keeps inputs, bit 1 keeps results",
        ),
        row(
            ".amdhsa_float_denorm_mode_16_64",
            rsrc1(field!(Rsrc1, "FLOAT_DENORM_MODE_16_64")),
            "16-bit and 64-bit denormals: bit 0 keeps inputs, bit 1 keeps results",
        )
        .default(Default::Value(3)),
        row(".amdhsa_dx10_clamp", rsrc1(field!(Rsrc1, "ENABLE_DX10_CLAMP")), "clamping turns NaN into 0")
            .default(Default::Value(1)),
        row(".amdhsa_ieee_mode", rsrc1(field!(Rsrc1, "ENABLE_IEEE_MODE")), "signalling NaNs are quieted")
            .default(Default::Value(1)),
        row(
            ".amdhsa_fp16_overflow",
            rsrc1(field!(Rsrc1, "FP16_OVFL")),
            "16-bit overflow gives the largest finite value",
        ),
        row(
            ".amdhsa_tg_split",
            Bits(at::RSRC3, field!(Rsrc3Gfx90a, "TG_SPLIT")),
            "waves of a workgroup may be spread over compute units",
        )
        .on(Support::Gfx90a),
        row(".amdhsa_workgroup_processor_mode", Nothing, "workgroups run on both compute units of a pair")
            .on(Support::Gfx10),
        row(".amdhsa_memory_ordered", Nothing, "results of memory instructions return in order")
            .on(Support::Gfx10),
        row(".amdhsa_forward_progress", Nothing, "waves are guaranteed to progress").on(Support::Gfx10),
        row(".amdhsa_shared_vgpr_count", Nothing, "blocks of shared vector registers")
            .on(Support::Gfx10And11),
        row(".amdhsa_inst_pref_size", Nothing, "instructions to prefetch").on(Support::Gfx11),
        row(".amdhsa_round_robin_scheduling", Nothing, "waves take turns").on(Support::Gfx12),
        row(".amdhsa_named_barrier_count", Nothing, "named barriers").on(Support::Gfx125),
        row(
            ".amdhsa_exception_fp_ieee_invalid_op",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION")),
            "trap on an invalid floating-point operation",
        ),
        row(
            ".amdhsa_exception_fp_denorm_src",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_FP_DENORMAL_SOURCE")),
            "trap on a denormal input",
        ),
        row(
            ".amdhsa_exception_fp_ieee_div_zero",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO")),
            "trap on a floating-point division by zero",
        ),
        row(
            ".amdhsa_exception_fp_ieee_overflow",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW")),
            "trap on floating-point overflow",
        ),
        row(
            ".amdhsa_exception_fp_ieee_underflow",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW")),
            "trap on floating-point underflow",
        ),
        row(
            ".amdhsa_exception_fp_ieee_inexact",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_IEEE_754_FP_INEXACT")),
            "trap on an inexact floating-point result",
        ),
        row(
            ".amdhsa_exception_int_div_zero",
            rsrc2(field!(Rsrc2, "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO")),
            "trap on an integer division by zero",
        ),
    ]
};
