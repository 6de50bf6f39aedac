//! The instruction formats as the differential test fills them. They state prefix, opcode position
//! and fields independently of the tables under test, so an error there cannot hide.

use wavemill_oracle::Span;

/// A bit field: name, lowest bit, number of bits.
pub(crate) struct Field(&'static str, u8, u8);

/// One way of encoding instructions.
pub(crate) struct Format {
    /// Name in the list of disagreements.
    pub(crate) name: &'static str,
    /// The bits that identify the format.
    pub(crate) fixed: u128,
    /// The mask of those bits.
    pub(crate) mask: u128,
    /// The parts of the opcode field, lowest first; empty for a format without opcode.
    pub(crate) opcode: &'static [Field],
    /// The other fields; bits outside them are filled, too.
    pub(crate) fields: &'static [Field],
}

impl Format {
    /// How many values the opcode field has.
    pub(crate) fn opcodes(&self) -> u32 {
        1 << self.opcode.iter().map(|field| field.2).sum::<u8>()
    }

    /// The fixed bits with opcode `op`, and their mask.
    pub(crate) fn with_opcode(&self, op: u32) -> (u128, u128) {
        let (mut fixed, mut mask, mut rest) = (self.fixed, self.mask, u128::from(op));
        for Field(_, lo, width) in self.opcode {
            let ones = (1u128 << width) - 1;
            fixed |= (rest & ones) << lo;
            mask |= ones << lo;
            rest >>= width;
        }
        (fixed, mask)
    }

    /// The opcode field of `word`.
    pub(crate) fn opcode_of(&self, word: u128) -> u32 {
        let mut at = 0;
        let mut op = 0;
        for Field(_, lo, width) in self.opcode {
            op |= ((word >> lo) as u32 & ((1 << width) - 1)) << at;
            at += width;
        }
        op
    }

    /// The field called `name` of `word`; `op` is the opcode, `dword1` to `dword3` are the later words.
    pub(crate) fn field(&self, name: &str, word: u128) -> Option<u64> {
        match name {
            "op" => return Some(u64::from(self.opcode_of(word))),
            "dword1" => return Some((word >> 32) as u64 & 0xffff_ffff),
            _ => {}
        }
        let Field(_, lo, width) = self.fields.iter().find(|field| field.0 == name)?;
        Some(((word >> lo) & ((1 << width) - 1)) as u64)
    }

    /// The most specific format of `word`: the filled format, unless a more specific one matches.
    pub(crate) fn of(&'static self, word: u128) -> &'static Format {
        let fits = |format: &&Format| word & format.mask == format.fixed;
        // Ties go to the format that filled the word.
        let rank = |format: &&Format| (format.mask.count_ones(), format.name == self.name);
        FORMATS.iter().filter(fits).max_by_key(rank).unwrap_or(self)
    }

    /// The fields for the filler.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.fields.iter().map(|&Field(_, lo, width)| Span { lo, width }).collect()
    }
}

use Field as F;

const LITERAL: u8 = 32;
const SDWA: u128 = 249;
const DPP: u128 = 250;

const VOP1_SDWA: &[Field] = &[
    F("vdst", 17, 8),
    F("src0", 32, 8),
    F("dst_sel", 40, 3),
    F("dst_unused", 43, 2),
    F("clamp", 45, 1),
    F("omod", 46, 2),
    F("src0_sel", 48, 3),
    F("src0_sext", 51, 1),
    F("src0_neg", 52, 1),
    F("src0_abs", 53, 1),
    F("bit54", 54, 1),
    F("s0", 55, 1),
    F("bits56", 56, 8),
];

const DS: &[Field] = &[
    F("offset0", 0, 8),
    F("offset1", 8, 8),
    F("gds", 16, 1),
    F("acc", 25, 1),
    F("addr", 32, 8),
    F("data0", 40, 8),
    F("data1", 48, 8),
    F("vdst", 56, 8),
];

const VOP2_DPP: &[Field] = &[
    F("vsrc1", 9, 8),
    F("vdst", 17, 8),
    F("src0", 32, 8),
    F("dpp_ctrl", 40, 9),
    F("bits49", 49, 2),
    F("bound_ctrl", 51, 1),
    F("src0_neg", 52, 1),
    F("src0_abs", 53, 1),
    F("src1_neg", 54, 1),
    F("src1_abs", 55, 1),
    F("bank_mask", 56, 4),
    F("row_mask", 60, 4),
];

const VOP1_DPP: &[Field] = &[
    F("vdst", 17, 8),
    F("src0", 32, 8),
    F("dpp_ctrl", 40, 9),
    F("bits49", 49, 2),
    F("bound_ctrl", 51, 1),
    F("src0_neg", 52, 1),
    F("src0_abs", 53, 1),
    F("src1_neg", 54, 1),
    F("src1_abs", 55, 1),
    F("bank_mask", 56, 4),
    F("row_mask", 60, 4),
];

const MIMG: &[Field] = &[
    F("bits1", 1, 7),
    F("dmask", 8, 4),
    F("unorm", 12, 1),
    F("glc", 13, 1),
    F("da", 14, 1),
    F("a16", 15, 1),
    F("tfe", 16, 1),
    F("lwe", 17, 1),
    F("slc", 25, 1),
    F("vaddr", 32, 8),
    F("vdata", 40, 8),
    F("srsrc", 48, 5),
    F("ssamp", 53, 5),
    F("bits58", 58, 5),
    F("d16", 63, 1),
];

/// Every format, one entry per escape value of the source field.
pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "sop2",
        fixed: 0x8000_0000,
        mask: 0xc000_0000,
        opcode: &[F("op", 23, 7)],
        fields: &[F("ssrc0", 0, 8), F("ssrc1", 8, 8), F("sdst", 16, 7), F("literal", LITERAL, 32)],
    },
    Format {
        name: "sopk",
        fixed: 0xb000_0000,
        mask: 0xf000_0000,
        opcode: &[F("op", 23, 5)],
        fields: &[F("simm16", 0, 16), F("sdst", 16, 7), F("literal", LITERAL, 32)],
    },
    Format {
        name: "sop1",
        fixed: 0xbe80_0000,
        mask: 0xff80_0000,
        opcode: &[F("op", 8, 8)],
        fields: &[F("ssrc0", 0, 8), F("sdst", 16, 7), F("literal", LITERAL, 32)],
    },
    Format {
        name: "sopc",
        fixed: 0xbf00_0000,
        mask: 0xff80_0000,
        opcode: &[F("op", 16, 7)],
        fields: &[F("ssrc0", 0, 8), F("ssrc1", 8, 8), F("literal", LITERAL, 32)],
    },
    Format {
        name: "sopp",
        fixed: 0xbf80_0000,
        mask: 0xff80_0000,
        opcode: &[F("op", 16, 7)],
        fields: &[F("simm16", 0, 16)],
    },
    Format {
        name: "smem",
        fixed: 0xc000_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 18, 8)],
        fields: &[
            F("sbase", 0, 6),
            F("sdata", 6, 7),
            F("soffset_en", 14, 1),
            F("nv", 15, 1),
            F("glc", 16, 1),
            F("imm", 17, 1),
            F("offset", 32, 21),
            F("soffset", 57, 7),
        ],
    },
    Format {
        name: "vop2",
        fixed: 0,
        mask: 0x8000_0000,
        opcode: &[F("op", 25, 6)],
        fields: &[F("src0", 0, 9), F("vsrc1", 9, 8), F("vdst", 17, 8), F("literal", LITERAL, 32)],
    },
    Format {
        name: "vop2_sdwa",
        fixed: SDWA,
        mask: 0x8000_01ff,
        opcode: &[F("op", 25, 6)],
        fields: &[
            F("vsrc1", 9, 8),
            F("vdst", 17, 8),
            F("src0", 32, 8),
            F("dst_sel", 40, 3),
            F("dst_unused", 43, 2),
            F("clamp", 45, 1),
            F("omod", 46, 2),
            F("src0_sel", 48, 3),
            F("src0_sext", 51, 1),
            F("src0_neg", 52, 1),
            F("src0_abs", 53, 1),
            F("bit54", 54, 1),
            F("s0", 55, 1),
            F("src1_sel", 56, 3),
            F("src1_sext", 59, 1),
            F("src1_neg", 60, 1),
            F("src1_abs", 61, 1),
            F("bit62", 62, 1),
            F("s1", 63, 1),
        ],
    },
    Format { name: "vop2_dpp", fixed: DPP, mask: 0x8000_01ff, opcode: &[F("op", 25, 6)], fields: VOP2_DPP },
    // The broadcast of a lane in each row, the only permutation of 64-bit operations.
    Format {
        name: "vop2_dpp_row",
        fixed: 0x1_5000_0000_0000 | DPP,
        mask: 0x1_f000_8000_01ff,
        opcode: &[F("op", 25, 6)],
        fields: VOP2_DPP,
    },
    Format {
        name: "vop1",
        fixed: 0x7e00_0000,
        mask: 0xfe00_0000,
        opcode: &[F("op", 9, 8)],
        fields: &[F("src0", 0, 9), F("vdst", 17, 8), F("literal", LITERAL, 32)],
    },
    Format {
        name: "vop1_sdwa",
        fixed: 0x7e00_0000 | SDWA,
        mask: 0xfe00_01ff,
        opcode: &[F("op", 9, 8)],
        fields: VOP1_SDWA,
    },
    // Conversions that write whole registers require DST_SEL to say so.
    Format {
        name: "vop1_sdwa_dword",
        fixed: 0x0600_7e00_0000 | SDWA,
        mask: 0x0700_fe00_01ff,
        opcode: &[F("op", 9, 8)],
        fields: VOP1_SDWA,
    },
    Format {
        name: "vop1_dpp",
        fixed: 0x7e00_0000 | DPP,
        mask: 0xfe00_01ff,
        opcode: &[F("op", 9, 8)],
        fields: VOP1_DPP,
    },
    // The broadcast of a lane in each row, the only permutation of 64-bit operations.
    Format {
        name: "vop1_dpp_row",
        fixed: 0x1_5000_0000_0000 | 0x7e00_0000 | DPP,
        mask: 0x1_f000_fe00_01ff,
        opcode: &[F("op", 9, 8)],
        fields: VOP1_DPP,
    },
    Format {
        name: "vopc",
        fixed: 0x7c00_0000,
        mask: 0xfe00_0000,
        opcode: &[F("op", 17, 8)],
        fields: &[F("src0", 0, 9), F("vsrc1", 9, 8), F("literal", LITERAL, 32)],
    },
    Format {
        name: "vopc_sdwa",
        fixed: 0x7c00_0000 | SDWA,
        mask: 0xfe00_01ff,
        opcode: &[F("op", 17, 8)],
        fields: &[
            F("vsrc1", 9, 8),
            F("src0", 32, 8),
            F("sdst", 40, 7),
            F("sd", 47, 1),
            F("src0_sel", 48, 3),
            F("src0_sext", 51, 1),
            F("src0_neg", 52, 1),
            F("src0_abs", 53, 1),
            F("bit54", 54, 1),
            F("s0", 55, 1),
            F("src1_sel", 56, 3),
            F("src1_sext", 59, 1),
            F("src1_neg", 60, 1),
            F("src1_abs", 61, 1),
            F("bit62", 62, 1),
            F("s1", 63, 1),
        ],
    },
    Format {
        name: "vopc_dpp",
        fixed: 0x7c00_0000 | DPP,
        mask: 0xfe00_01ff,
        opcode: &[F("op", 17, 8)],
        fields: &[
            F("vsrc1", 9, 8),
            F("src0", 32, 8),
            F("dpp_ctrl", 40, 9),
            F("bits49", 49, 2),
            F("bound_ctrl", 51, 1),
            F("modifiers", 52, 4),
            F("bank_mask", 56, 4),
            F("row_mask", 60, 4),
        ],
    },
    Format {
        name: "vop3",
        fixed: 0xd000_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 16, 10)],
        fields: &[
            F("vdst", 0, 8),
            F("abs", 8, 3),
            F("op_sel", 11, 4),
            F("clamp", 15, 1),
            F("src0", 32, 9),
            F("src1", 41, 9),
            F("src2", 50, 9),
            F("omod", 59, 2),
            F("neg", 61, 3),
        ],
    },
    // The same words again, bits 8 to 14 filled as VOP3B's scalar destination.
    Format {
        name: "vop3b",
        fixed: 0xd000_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 16, 10)],
        fields: &[
            F("vdst", 0, 8),
            F("sdst", 8, 7),
            F("clamp", 15, 1),
            F("src0", 32, 9),
            F("src1", 41, 9),
            F("src2", 50, 9),
            F("omod", 59, 2),
            F("neg", 61, 3),
        ],
    },
    Format {
        name: "vop3p",
        fixed: 0xd380_0000,
        mask: 0xff80_0000,
        opcode: &[F("op", 16, 7)],
        fields: &[
            F("vdst", 0, 8),
            F("neg_hi", 8, 3),
            F("op_sel", 11, 3),
            F("op_sel_hi2", 14, 1),
            F("clamp", 15, 1),
            F("src0", 32, 9),
            F("src1", 41, 9),
            F("src2", 50, 9),
            F("op_sel_hi", 59, 2),
            F("neg", 61, 3),
        ],
    },
    // The same words again, filled as MAI, with vector registers as the first two sources.
    Format {
        name: "mai",
        fixed: 0x0002_0100_d380_0000,
        mask: 0x0002_0100_ff80_0000,
        opcode: &[F("op", 16, 7)],
        fields: &[
            F("vdst", 0, 8),
            F("cbsz", 8, 3),
            F("abid", 11, 4),
            F("acc_cd", 15, 1),
            F("src0", 32, 9),
            F("src1", 41, 9),
            F("src2", 50, 9),
            F("acc", 59, 2),
            F("blgp", 61, 3),
        ],
    },
    // A load-scale word pair (opcode 44) and its matrix instruction, whose ABID is 1 and whose
    // first two sources are vector registers.
    Format {
        name: "mai_scaled",
        fixed: 0x0002_0100_d380_0800_0000_0000_d3ac_0000,
        mask: 0x0002_0100_ff80_7800_0000_0000_ffff_0000,
        opcode: &[F("op", 80, 7)],
        fields: &[
            F("prefix_low", 0, 8),
            F("prefix_modifiers", 8, 8),
            F("scale_src0", 32, 9),
            F("scale_src1", 41, 9),
            F("prefix_src2", 50, 9),
            F("prefix_high", 59, 5),
            F("vdst", 64, 8),
            F("cbsz", 72, 3),
            F("acc_cd", 79, 1),
            F("src0", 96, 9),
            F("src1", 105, 9),
            F("src2", 114, 9),
            F("acc", 123, 2),
            F("blgp", 125, 3),
        ],
    },
    Format { name: "ds", fixed: 0xd800_0000, mask: 0xfc00_0000, opcode: &[F("op", 17, 8)], fields: DS },
    // Some instructions exist only with the GDS bit.
    Format { name: "ds_gds", fixed: 0xd801_0000, mask: 0xfc01_0000, opcode: &[F("op", 17, 8)], fields: DS },
    Format {
        name: "mubuf",
        fixed: 0xe000_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 18, 7)],
        fields: &[
            F("offset", 0, 12),
            F("offen", 12, 1),
            F("idxen", 13, 1),
            F("glc", 14, 1),
            F("scc", 15, 1),
            F("lds", 16, 1),
            F("slc", 17, 1),
            F("bit25", 25, 1),
            F("vaddr", 32, 8),
            F("vdata", 40, 8),
            F("srsrc", 48, 5),
            F("bits53", 53, 2),
            F("tfe", 55, 1),
            F("soffset", 56, 8),
        ],
    },
    Format {
        name: "mtbuf",
        fixed: 0xe800_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 15, 4)],
        fields: &[
            F("offset", 0, 12),
            F("offen", 12, 1),
            F("idxen", 13, 1),
            F("glc", 14, 1),
            F("dfmt", 19, 4),
            F("nfmt", 23, 3),
            F("vaddr", 32, 8),
            F("vdata", 40, 8),
            F("srsrc", 48, 5),
            F("scc", 53, 1),
            F("slc", 54, 1),
            F("tfe", 55, 1),
            F("soffset", 56, 8),
        ],
    },
    Format {
        name: "mimg",
        fixed: 0xf000_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 18, 7), F("opm", 0, 1)],
        fields: MIMG,
    },
    // Data at the last registers, where the width of the tuple decides.
    Format {
        name: "mimg_last",
        fixed: 0xf800_f000_0000,
        mask: 0xf800_fc00_0000,
        opcode: &[F("op", 18, 7), F("opm", 0, 1)],
        fields: MIMG,
    },
    flat("flat", 0),
    flat("scratch", 1),
    flat("global", 2),
    flat("flat_segment3", 3),
    Format {
        name: "vintrp",
        fixed: 0xd400_0000,
        mask: 0xfc00_0000,
        opcode: &[F("op", 16, 2)],
        fields: &[F("vsrc", 0, 8), F("attr_chan", 8, 2), F("attr", 10, 6), F("vdst", 18, 8)],
    },
    Format {
        name: "exp",
        fixed: 0xc400_0000,
        mask: 0xfc00_0000,
        opcode: &[],
        fields: &[
            F("en", 0, 4),
            F("tgt", 4, 6),
            F("compr", 10, 1),
            F("done", 11, 1),
            F("vm", 12, 1),
            F("bits13", 13, 13),
            F("vsrc0", 32, 8),
            F("vsrc1", 40, 8),
            F("vsrc2", 48, 8),
            F("vsrc3", 56, 8),
        ],
    },
    // Every prefix of six bits: the formats above again, and the gaps between them.
    Format { name: "any", fixed: 0, mask: 0, opcode: &[F("op", 26, 6)], fields: &[] },
];

const fn flat(name: &'static str, segment: u128) -> Format {
    Format {
        name,
        fixed: 0xdc00_0000 | (segment << 14),
        mask: 0xfc00_c000,
        opcode: &[F("op", 18, 7)],
        fields: &[
            F("offset", 0, 13),
            F("lds", 13, 1),
            F("glc", 16, 1),
            F("slc", 17, 1),
            F("scc", 25, 1),
            F("addr", 32, 8),
            F("data", 40, 8),
            F("saddr", 48, 7),
            F("acc", 55, 1),
            F("vdst", 56, 8),
        ],
    }
}
