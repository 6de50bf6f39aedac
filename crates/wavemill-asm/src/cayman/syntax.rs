//! Words that printer and parser share.

use wavemill_isa::cayman::{FieldId, Format, WINDOW_FIELDS, WindowFields};

/// After a mnemonic: the result is clamped.
pub(super) const SATURATE: &str = "_SAT";
/// After a destination: it is not written.
pub(super) const MASKED: &str = "(MASKED)";
/// Output modifiers by their value.
pub(super) const OMODS: [(u32, &str); 3] = [(1, "* 2.0"), (2, "* 4.0"), (3, "/ 2.0")];
/// Predicates by their value.
pub(super) const PREDICATES: [(u32, &str); 2] = [(2, "Pred_sel_zero"), (3, "Pred_sel_one")];
/// Orders in which sources are read, by value; 0 is omitted.
pub(super) const SWIZZLES: [(u32, &str); 5] =
    [(1, "VEC_021"), (2, "VEC_120"), (3, "VEC_102"), (4, "VEC_201"), (5, "VEC_210")];
/// Prefix of the order.
pub(super) const SWIZZLE: &str = "BS";
/// The destination of LDS operations that return a value: the first queue.
pub(super) const QUEUE: &str = "OQAP";
/// LDS operations from this one on return a value (HD 6900 ISA 9.2, LDS_OP).
pub(super) const FIRST_RETURNING: u16 = 32;
/// Queues by number, followed by the same queues for reads that remove the head.
pub(super) const QUEUES: [&str; 4] = ["OQA", "OQB", "OQAP", "OQBP"];
/// Constants with their own codes, in the order of the codes.
pub(super) const INLINE: [&str; 5] = ["0.0", "1.0", "1", "-1", "0.5"];
/// Suffix of fetch mnemonics, by data format.
pub(super) const DATA_FORMATS: [(u32, &str); 5] =
    [(1, "_8"), (5, "_16"), (13, "_32"), (29, "_64"), (34, "_128")];
/// The source of a channel of a fetch, by value; the last one is masked.
pub(super) const ELEMENTS: [char; 8] = ['X', 'Y', 'Z', 'W', '0', '1', '?', '_'];
/// The fields that hold these values.
pub(super) const DST_SELS: [FieldId; 4] =
    [FieldId::DstSelX, FieldId::DstSelY, FieldId::DstSelZ, FieldId::DstSelW];
/// The windows of constants that a word has without ALU_EXTENDED.
pub(super) fn windows() -> impl Iterator<Item = (usize, &'static WindowFields)> {
    WINDOW_FIELDS.iter().take(2).enumerate()
}
/// Constants per line.
pub(super) const LINE: u32 = 16;

/// Whether `*` marks the last instruction of a group in this format.
pub(super) const fn has_last(format: Format) -> bool {
    format.is_alu()
}
