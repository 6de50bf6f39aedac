//! Texts that combine every modifier and every special operand with every instruction: an instance
//! of each form with one more modifier, or with one operand replaced.
//!
//! The full set is large. Each run takes enough texts that every modifier meets every encoding, and
//! every operand meets every operand position of every encoding. The choice of instructions is the
//! same in every run.

use std::collections::BTreeMap;

use wavemill_isa::gcn::Encoding;

/// Modifiers besides those in the random texts: LLVM modifiers of other targets, and flags with the
/// prefix `no`.
pub(super) const MODIFIERS: &[&str] = &[
    "addr64",
    "noaddr64",
    "nogds",
    "nooffen",
    "noidxen",
    "noslc",
    "dlc",
    "nodlc",
    "noscc",
    "nosc0",
    "nosc1",
    "nont",
    "nonv",
    "nolds",
    "notfe",
    "nolwe",
    "nounorm",
    "noda",
    "noa16",
    "nod16",
    "r128",
    "nor128",
    "nodone",
    "novm",
    "nohigh",
    "row_en",
    "row_share:1",
    "row_xmask:1",
    "dpp8:[0,1,2,3,4,5,6,7]",
    "wait_exp:1",
    "wait_vdst:1",
    "th:0",
    "scope:0",
    "index_key:0",
    "byte_sel:0",
    "matrix_a_reuse",
    "dim:1D",
    "dim:0",
    "neg_lo:[0,0,0]",
    "neg:[0,0]",
    "op_sel:[0,0,0]",
    "op_sel_hi:[0,0,0]",
];

/// Operands besides those in the random texts.
pub(super) const OPERANDS: &[&str] = &[
    "lds_direct",
    "execz",
    "src_shared_limit",
    "src_private_base",
    "shared_limit",
    "private_base",
    "private_limit",
    "pops_exiting_wave_id",
    "tba",
    "tma",
    "tba_lo",
    "tma_hi",
    "ttmp[0:7]",
    "ttmp[1:2]",
    "xnack_mask_lo",
    "flat_scratch_hi",
    "src_flat_scratch_base_lo",
    "acc0",
    "acc[0:1]",
    "[v0]",
    "v[0]",
    "exec[0]",
    "sgpr_null",
    "hwreg(lit(1))",
];

/// Formats of typed buffers before the offset.
const BEFORE_OFFSET: &[&str] = &[
    "dfmt:0,",
    "dfmt:15,",
    "dfmt:16,",
    "dfmt:-1,",
    "nfmt:0,",
    "nfmt:7,",
    "nfmt:8,",
    "dfmt:15, nfmt:7,",
    "nfmt:6, dfmt:14,",
    "dfmt:4 nfmt:3,",
    "nfmt:2 dfmt:5",
    "dfmt:1",
    "dfmt:1+2,",
    "dfmt:1, dfmt:2,",
    "nfmt:1, nfmt:1,",
    "dfmt:1,,",
    "format:5,",
    "format:[BUF_DATA_FORMAT_32],",
    "dfmt:1, offen",
    "offen dfmt:1,",
];

/// Formats after the offset.
const BEHIND_OFFSET: &[&str] = &[
    "format:0",
    "format:127",
    "format:128",
    "format:-1",
    "format:1+2",
    "format:[BUF_DATA_FORMAT_INVALID]",
    "format:[BUF_DATA_FORMAT_RESERVED_15]",
    "format:[BUF_NUM_FORMAT_RESERVED_6]",
    "format:[BUF_NUM_FORMAT_UNORM]",
    "format:[BUF_NUM_FORMAT_UINT,BUF_DATA_FORMAT_32]",
    "format:[BUF_DATA_FORMAT_8, BUF_NUM_FORMAT_SNORM]",
    "format:[BUF_NUM_FORMAT_UINT,BUF_NUM_FORMAT_UINT]",
    "format:[BUF_DATA_FORMAT_32,]",
    "format:[]",
    "format:[5]",
    "format:[BUF_FMT_32_FLOAT]",
    "format:[buf_data_format_32]",
    "dfmt:1",
    "nfmt:1",
    "format:1 dfmt:1",
    "format:1, nfmt:1",
    "format:1 format:1",
    ", format:3",
];

/// The operands of a typed buffer instruction with formats around the offset, which is last.
pub(super) fn formats(mnemonic: &str, operands: &[String]) -> Vec<String> {
    let Some((offset, before)) = operands.split_last() else { return Vec::new() };
    let before = before.join(", ");
    let front = BEFORE_OFFSET.iter().map(|format| format!("{mnemonic} {before}, {format} {offset}"));
    let behind = BEHIND_OFFSET.iter().map(|format| format!("{mnemonic} {before}, {offset} {format}"));
    front.chain(behind).collect()
}

/// Operands of buffers before the offset, and the modifiers that belong to them: without data, as
/// in memory-to-LDS forms, and with data.
const ADDRESSES: &[(&str, &str)] = &[
    ("off, s[0:3]", ""),
    ("v0, s[0:3]", "offen"),
    ("v0, s[0:3]", "idxen"),
    ("v[0:1], s[0:3]", "idxen offen"),
    ("s[0:3]", ""),
    ("v0, off, s[0:3]", ""),
    ("v0, v1, s[0:3]", "offen"),
];

/// Offsets of buffers with the condition bit in them or next to them; `+` means the modifiers of
/// the address.
const CONDITIONS: &[&str] = &[
    "scc + lds",
    "scc +",
    "scc + offset:4 lds",
    "scc, + lds",
    "scc scc + lds",
    "scc, scc + lds",
    "0 + scc lds",
    "0 + lds scc",
    "0, scc + lds",
    "lds, scc +",
    "src_scc + lds",
];

/// Buffer instructions with `scc` in the position of the offset, or among the modifiers.
pub(super) fn condition_offsets(mnemonic: &str) -> Vec<String> {
    let lines = ADDRESSES.iter().flat_map(|(operands, modifiers)| {
        CONDITIONS.iter().map(move |offset| {
            let offset = offset.replace('+', modifiers).replace("  ", " ");
            format!("{mnemonic} {operands}, {}", offset.trim())
        })
    });
    lines.collect()
}

/// For each encoding, the next modifier; for each of its operands, the next operand.
#[derive(Default)]
pub(super) struct Turns(BTreeMap<(Encoding, Option<usize>), usize>);

impl Turns {
    /// The next `count` of `all`.
    pub(super) fn next<'a>(
        &mut self,
        encoding: Encoding,
        operand: Option<usize>,
        all: &[&'a str],
        count: usize,
    ) -> Vec<&'a str> {
        let turn = self.0.entry((encoding, operand)).or_default();
        let chosen = all.iter().cycle().skip(*turn % all.len().max(1)).take(count.min(all.len()));
        let chosen = chosen.copied().collect();
        *turn += count;
        chosen
    }
}
