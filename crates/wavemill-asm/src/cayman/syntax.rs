//! Words that printer and parser share.

use wavemill_isa::cayman::FieldId as F;

/// The letters of channels.
pub(super) const CHANNELS: [char; 4] = ['x', 'y', 'z', 'w'];
/// Letters of a swizzle by their value: channels, 0, 1, a reserved code, and nothing.
pub(super) const ELEMENTS: [char; 8] = ['x', 'y', 'z', 'w', '0', '1', '?', '_'];
/// A masked channel.
pub(super) const MASKED: char = '_';
/// What is added to the number of a relative register or constant, by INDEX_MODE.
pub(super) const INDICES: [(u32, &str); 4] = [(0, "ar"), (4, "al"), (5, "global"), (6, "global_ar")];
/// A relative operand whose INDEX_MODE has no name.
pub(super) const OTHER_INDEX: &str = "rel";
/// The index of fields with one bit for it: the loop index.
pub(super) const LOOP_INDEX: &str = "al";
/// Index registers of control flow that are added to the number of a resource, from value 1 on.
pub(super) const NUMBER_INDICES: [&str; 2] = ["idx0", "idx1"];
/// What MOVA writes, by MOVA_DST.
pub(super) const MOVA_RESULTS: [&str; 8] = [
    "ar",
    "cf_pc",
    "cf_idx0",
    "cf_idx1",
    "clause_global0",
    "clause_global1",
    "clause_global2",
    "clause_global3",
];
/// Names of sources without a channel, by their code (HD 6900 ISA 9.2, ALU_WORD0).
pub(super) const SPECIAL: [(u16, &str); 25] = [
    (217, "lds_base_addr"),
    (218, "lds_size"),
    (223, "lds_direct_a"),
    (224, "lds_direct_b"),
    (225, "clause_global"),
    (227, "time_hi"),
    (228, "time_lo"),
    (229, "mask_hi"),
    (230, "mask_lo"),
    (231, "hw_wave_id"),
    (232, "simd_id"),
    (233, "se_id"),
    (234, "hw_threadgrp_id"),
    (235, "wave_id_in_grp"),
    (236, "num_threadgrp_waves"),
    (237, "hw_alu_odd"),
    (238, "loop_idx"),
    (240, "param_base_addr"),
    (241, "new_prim_mask"),
    (242, "prim_mask_hi"),
    (243, "prim_mask_lo"),
    // Doubles: a name for each half.
    (244, "one_lo"),
    (245, "one_hi"),
    (246, "half_lo"),
    (247, "half_hi"),
];
/// The first parameter of interpolations, and the last.
pub(super) const PARAMETERS: (u16, u16) = (448, 480);
/// Queues by number, followed by the same queues for reads that remove the head.
pub(super) const QUEUES: [&str; 4] = ["oqa", "oqb", "oqa.pop", "oqb.pop"];
/// Orders in which sources are read, by BANK_SWIZZLE.
pub(super) const SWIZZLES: [&str; 6] = ["012", "021", "120", "102", "201", "210"];
/// Output modifiers, by OMOD; the first is none.
pub(super) const OMODS: [(&str, &str); 3] = [("mul", "2"), ("mul", "4"), ("div", "2")];
/// Lanes by their predicate, by PRED_SEL.
pub(super) const PREDICATES: [(u32, &str); 2] = [(2, "?p0"), (3, "?p1")];
/// What happens to lanes whose predicate is false, by EXECUTE_MASK_OP.
pub(super) const MASK_OPS: [&str; 4] = ["", "break", "continue", "kill"];
/// The mark of a slot that changes the active lanes.
pub(super) const EXEC: &str = "exec";
/// The mark of a slot that sets the predicate.
pub(super) const PRED: &str = "pred";
/// The mark of a result that is clamped.
pub(super) const CLAMP: &str = "clamp";
/// The literals of a group in a written order.
pub(super) const LITERALS: &str = "literals";
/// The end of a group.
pub(super) const END: &str = ";;";
/// Kinds of targets of exports, by TYPE: `pix0`, `pos60`, `param0`.
pub const EXPORTS: [&str; 4] = ["pix", "pos", "param", "type3_"];
/// How numbers of fetches are read, by NUM_FORMAT_ALL.
pub(super) const NUMBERS: [&str; 3] = ["norm", "int", "scaled"];
/// Fields of the four selections of a fetch's result.
pub(super) const DST_SELS: [F; 4] = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW];
/// Fields of the channels of a fetch's source.
pub(super) const SRC_SELS: [F; 4] = [F::SrcSelX, F::SrcSelY, F::SrcSelZ, F::SrcSelW];
/// Fields of the channels of an export.
pub(super) const SELS: [F; 4] = [F::SelX, F::SelY, F::SelZ, F::SelW];
/// Fields of the types of texture coordinates.
pub(super) const COORD_TYPES: [F; 4] = [F::CoordTypeX, F::CoordTypeY, F::CoordTypeZ, F::CoordTypeW];
/// Letters of the types: not normalised, normalised.
pub(super) const COORDS: [char; 2] = ['u', 'n'];

/// Names of data formats by code, without the manual's `FMT_`; empty for reserved codes (HD 6900
/// ISA 9.3, VTX_WORD1).
pub(super) const DATA_FORMATS: [&str; 64] = [
    "invalid",
    "8",
    "4_4",
    "3_3_2",
    "",
    "16",
    "16_float",
    "8_8",
    "5_6_5",
    "6_5_5",
    "1_5_5_5",
    "4_4_4_4",
    "5_5_5_1",
    "32",
    "32_float",
    "16_16",
    "16_16_float",
    "8_24",
    "8_24_float",
    "24_8",
    "24_8_float",
    "10_11_11",
    "10_11_11_float",
    "11_11_10",
    "11_11_10_float",
    "2_10_10_10",
    "8_8_8_8",
    "10_10_10_2",
    "x24_8_32_float",
    "32_32",
    "32_32_float",
    "16_16_16_16",
    "16_16_16_16_float",
    "",
    "32_32_32_32",
    "32_32_32_32_float",
    "",
    "1",
    "1_reversed",
    "gb_gr",
    "bg_rg",
    "32_as_8",
    "32_as_8_8",
    "5_9_9_9_sharedexp",
    "8_8_8",
    "16_16_16",
    "16_16_16_float",
    "32_32_32",
    "32_32_32_float",
    "bc1",
    "bc2",
    "bc3",
    "bc4",
    "bc5",
    "apc0",
    "apc1",
    "apc2",
    "apc3",
    "apc4",
    "apc5",
    "apc6",
    "apc7",
    "ctx1",
    "",
];
