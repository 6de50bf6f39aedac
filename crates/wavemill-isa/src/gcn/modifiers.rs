//! The contents of an instance besides opcode and operands.

use super::encoding::{Encoding, FieldId as F};
use super::resolve::{Words, sign_extend};
use super::row::Form;
use super::vocabulary::{Flag, Format, Role, words};

words! {
    /// The part of a register that SDWA selects.
    pub enum SdwaSel {
        /// Bits 7:0.
        Byte0 = "BYTE_0",
        /// Bits 15:8.
        Byte1 = "BYTE_1",
        /// Bits 23:16.
        Byte2 = "BYTE_2",
        /// Bits 31:24.
        Byte3 = "BYTE_3",
        /// Bits 15:0.
        Word0 = "WORD_0",
        /// Bits 31:16.
        Word1 = "WORD_1",
        /// All bits.
        Dword = "DWORD",
        /// The reserved code 7.
        Reserved = "reserved",
    }
}

words! {
    /// What SDWA does with the destination bits that it does not select.
    pub enum DstUnused {
        /// Zero.
        Pad = "UNUSED_PAD",
        /// Sign-extended above, zero below.
        Sext = "UNUSED_SEXT",
        /// Kept: the destination is read too.
        Preserve = "UNUSED_PRESERVE",
        /// The reserved code 3.
        Reserved = "reserved",
    }
}

/// The selections of an SDWA form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// Destination part.
    pub dst_sel: SdwaSel,
    /// The rest of the destination.
    pub dst_unused: DstUnused,
    /// Part of source 0.
    pub src0_sel: SdwaSel,
    /// Part of source 1.
    pub src1_sel: SdwaSel,
    /// Compares: the destination is named even if it is VCC.
    pub named_sdst: bool,
}

/// The lane permutation of a DPP form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dpp {
    /// The permutation code (Vega ISA 13.3.9), 9 bits.
    pub ctrl: u16,
    /// Rows written, bit per row of 16 lanes.
    pub row_mask: u8,
    /// Banks written, bit per four lanes of each row.
    pub bank_mask: u8,
    /// Lanes whose source is outside the row read 0 and are written; otherwise they are not
    /// written.
    pub bound_ctrl: bool,
}

/// Export fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Components, bit per source.
    pub en: u8,
    /// Two 16-bit components per source.
    pub compr: bool,
    /// Last export of its kind.
    pub done: bool,
    /// EXEC is the pixel mask.
    pub vm: bool,
}

/// Everything in an instance that is neither opcode nor operand. A modifier that the encoding lacks is zero or `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Modifiers {
    /// Clamp or saturate the result; for compares, signal NaNs.
    pub clamp: bool,
    /// Output multiplier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// Absolute value, bit per source. For mixed-precision instructions this is the NEG_HI field.
    pub abs: u8,
    /// Negation, bit per source; in packed forms, of the low half.
    pub neg: u8,
    /// Packed: negation of the high half, bit per source.
    pub neg_hi: u8,
    /// SDWA: sign extension, bit per source.
    pub sext: u8,
    /// Half selection: bits 0 to 2 for the sources, bit 3 for the destination.
    pub op_sel: u8,
    /// Packed: half selection for the high result, bits 0 to 2.
    pub op_sel_hi: u8,
    /// Truth table of `v_bitop3`.
    pub bitop3: u8,
    /// Matrix: broadcast size or format of A.
    pub cbsz: u8,
    /// Matrix: broadcast block.
    pub abid: u8,
    /// Matrix: lane permutation of B, format of B, or negation of f64 operands.
    pub blgp: u8,
    /// Interpolation: the high half of the attribute.
    pub high: bool,
    /// SDWA selections.
    pub sdwa: Option<Sdwa>,
    /// DPP permutation.
    pub dpp: Option<Dpp>,
    /// Memory offset in bytes. For data share instructions with two offsets: the first one, in
    /// elements.
    pub offset: i32,
    /// Scalar memory: the SOFFSET field holds the register offset. Needed for a register and a
    /// constant together; a register alone can be in the OFFSET field as well.
    pub soffset_en: bool,
    /// Scalar memory: OFFSET holds a constant.
    pub imm: bool,
    /// Second offset of data share instructions with two offsets, in elements.
    pub offset1: u8,
    /// Buffer: an offset VGPR is used.
    pub offen: bool,
    /// Buffer: an index VGPR is used.
    pub idxen: bool,
    /// GLC, called SC0 on gfx942 and later.
    pub glc: bool,
    /// SLC, called NT on gfx942 and later.
    pub slc: bool,
    /// SCC, called SC1 on gfx942 and later.
    pub scc: bool,
    /// Non-volatile.
    pub nv: bool,
    /// Memory to LDS.
    pub lds: bool,
    /// Global data share.
    pub gds: bool,
    /// A status dword follows the data.
    pub tfe: bool,
    /// Data format of typed buffer instructions.
    pub dfmt: u8,
    /// Number format of typed buffer instructions.
    pub nfmt: u8,
    /// Image channels.
    pub dmask: u8,
    /// Image: unnormalised coordinates.
    pub unorm: bool,
    /// Image: array.
    pub da: bool,
    /// Image: 16-bit addresses (these targets do not have R128).
    pub a16: bool,
    /// Image: LOD warning.
    pub lwe: bool,
    /// Image: 16-bit data.
    pub d16: bool,
    /// Export fields.
    pub export: Option<Export>,
}

/// The low `bits` bits of a signed value, or a number too large for the field if the value does not
/// fit.
fn signed_field(value: i32, bits: u32) -> u32 {
    let limit = 1i32 << (bits - 1);
    if (-limit..limit).contains(&value) { value as u32 & ((1 << bits) - 1) } else { u32::MAX }
}

fn sel(code: u32) -> SdwaSel {
    SdwaSel::ALL[code as usize & 7]
}

impl Modifiers {
    /// The modifiers of a plain instance of `form`: the meaning of a text without modifiers.
    pub fn plain(form: &Form) -> Modifiers {
        let mut m = Modifiers::default();
        match form.encoding {
            // Packed instructions use the high halves for the high result.
            Encoding::Vop3p if !form.op.row().flags().contains(Flag::Mix) => m.op_sel_hi = 0b111,
            Encoding::MaiScaled => m.abid = 1,
            Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa => {
                let dword = SdwaSel::Dword;
                m.sdwa = Some(Sdwa {
                    dst_sel: dword,
                    dst_unused: DstUnused::Pad,
                    src0_sel: dword,
                    src1_sel: dword,
                    named_sdst: false,
                });
            }
            Encoding::Vop1Dpp | Encoding::Vop2Dpp => {
                m.dpp = Some(Dpp { ctrl: 0xE4, row_mask: 0xF, bank_mask: 0xF, bound_ctrl: false });
            }
            Encoding::Exp => m.export = Some(Export { en: 0, compr: false, done: false, vm: false }),
            Encoding::Ds => m.gds = form.op.row().flags().contains(Flag::GdsOnly),
            Encoding::Mubuf => m.lds = form.value >> 16 & 1 != 0,
            _ => {}
        }
        m
    }

    /// The value that these modifiers give to a field of `form`; `None` for fields that no modifier determines.
    pub fn field(&self, form: &Form, id: F) -> Option<u32> {
        let mut found = None;
        self.write(form, |put, value| {
            if put == id {
                found = Some(found.unwrap_or(0) | value);
            }
        });
        found
    }

    /// Calls `put` with every field that modifiers determine, including fields that the encoding
    /// lacks: their value must then be zero.
    pub(super) fn write(&self, form: &Form, mut put: impl FnMut(F, u32)) {
        use Encoding as E;
        let row = form.op.row();
        let encoding = form.encoding;
        let flag = |f| row.flags().contains(f);
        let (mut abs, mut neg, mut neg_hi, mut omod) = (self.abs, self.neg, self.neg_hi, self.omod);
        if flag(Flag::Mix) {
            neg_hi = std::mem::take(&mut abs);
        }
        if flag(Flag::Bitop3) && encoding == E::Vop3a {
            omod |= self.bitop3 >> 6;
            abs |= self.bitop3 >> 3 & 7;
            neg |= self.bitop3 & 7;
        }
        match encoding {
            E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa | E::Vop1Dpp | E::Vop2Dpp => {
                for (index, (abs_id, neg_id, sext_id)) in
                    [(F::Src0Abs, F::Src0Neg, F::Src0Sext), (F::Src1Abs, F::Src1Neg, F::Src1Sext)]
                        .into_iter()
                        .enumerate()
                {
                    put(abs_id, u32::from(abs >> index & 1));
                    put(neg_id, u32::from(neg >> index & 1));
                    put(sext_id, u32::from(self.sext >> index & 1));
                }
                put(F::Abs, u32::from(abs & !3));
                put(F::Neg, u32::from(neg & !3));
            }
            _ => {
                put(F::Abs, abs.into());
                put(F::Neg, neg.into());
                put(F::Src0Sext, self.sext.into());
            }
        }
        put(F::NegHi, neg_hi.into());
        put(F::Omod, omod.into());
        put(F::Clamp, self.clamp.into());
        put(F::OpSel, self.op_sel.into());
        if encoding == E::MaiScaled {
            put(F::OpSelHi, self.op_sel_hi.into());
        } else {
            put(F::OpSelHi, u32::from(self.op_sel_hi & 3));
            put(F::OpSelHi2, u32::from(self.op_sel_hi >> 2));
        }
        put(F::Cbsz, self.cbsz.into());
        put(F::Abid, self.abid.into());
        put(F::Blgp, self.blgp.into());
        put(F::High, self.high.into());
        if let Some(sdwa) = self.sdwa {
            if encoding != E::VopcSdwa {
                put(F::DstSel, sdwa.dst_sel as u32);
                put(F::DstUnused, sdwa.dst_unused as u32);
            }
            put(F::Src0Sel, sdwa.src0_sel as u32);
            put(F::Src1Sel, if row.operand(Role::Src1).is_some() { sdwa.src1_sel as u32 } else { 0 });
            if sdwa.named_sdst {
                put(F::SdstEnable, 1);
            }
        }
        if let Some(dpp) = self.dpp {
            put(F::DppCtrl, dpp.ctrl.into());
            put(F::RowMask, dpp.row_mask.into());
            put(F::BankMask, dpp.bank_mask.into());
            put(F::BoundCtrl, dpp.bound_ctrl.into());
        }
        match encoding {
            E::Ds if flag(Flag::TwoOffsets) => {
                put(F::Offset0, self.offset as u32);
                put(F::Offset1, self.offset1.into());
            }
            E::Ds => {
                put(F::Offset0, self.offset as u32 & 0xFF);
                put(F::Offset1, self.offset as u32 >> 8);
            }
            E::Smem => {
                put(F::SoffsetEn, self.soffset_en.into());
                put(F::Imm, self.imm.into());
                if self.imm || self.offset != 0 {
                    put(F::Offset, signed_field(self.offset, 21));
                }
            }
            E::Flat if row.format != Format::Flat => put(F::Offset, signed_field(self.offset, 13)),
            _ => put(F::Offset, self.offset as u32),
        }
        put(F::Offen, self.offen.into());
        put(F::Idxen, self.idxen.into());
        put(F::Glc, self.glc.into());
        put(F::Slc, self.slc.into());
        put(F::Scc, self.scc.into());
        put(F::Nv, self.nv.into());
        put(F::Lds, self.lds.into());
        put(F::Gds, self.gds.into());
        put(F::Tfe, self.tfe.into());
        put(F::Dfmt, self.dfmt.into());
        put(F::Nfmt, self.nfmt.into());
        put(F::Dmask, self.dmask.into());
        put(F::Unorm, self.unorm.into());
        put(F::Da, self.da.into());
        put(F::A16, self.a16.into());
        put(F::Lwe, self.lwe.into());
        put(F::D16, self.d16.into());
        if let Some(export) = self.export {
            put(F::En, export.en.into());
            put(F::Compr, export.compr.into());
            put(F::Done, export.done.into());
            put(F::Vm, export.vm.into());
        }
    }

    pub(super) fn read(view: &Words<'_>) -> Modifiers {
        use Encoding as E;
        match view.form.encoding {
            // Opcode and operands fill these.
            E::Sop2 | E::Sop1 | E::Sopc | E::Sopk | E::SopkLiteral | E::Sopp => Modifiers::default(),
            E::Vop2 | E::Vop2Literal | E::Vop1 | E::Vopc | E::Vintrp => Modifiers::default(),
            E::Vop3a | E::Vop3b | E::Vop3Interp | E::Vop3p | E::Mai | E::MaiScaled => {
                Modifiers::read_vector(view)
            }
            E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa | E::Vop1Dpp | E::Vop2Dpp => {
                Modifiers::read_parts_and_lanes(view)
            }
            E::Smem | E::Ds | E::Mubuf | E::Mtbuf | E::Mimg | E::Flat => Modifiers::read_memory(view),
            E::Exp => Modifiers {
                export: Some(Export {
                    en: view.get(F::En) as u8,
                    compr: view.bit(F::Compr),
                    done: view.bit(F::Done),
                    vm: view.bit(F::Vm),
                }),
                ..Modifiers::default()
            },
        }
    }

    /// 64-bit vector encodings.
    fn read_vector(view: &Words<'_>) -> Modifiers {
        let row = view.form.op.row();
        let get = |id| view.get(id) as u8;
        let mut m = Modifiers {
            clamp: view.bit(F::Clamp),
            omod: get(F::Omod),
            abs: get(F::Abs),
            neg: get(F::Neg),
            neg_hi: get(F::NegHi),
            op_sel: get(F::OpSel),
            op_sel_hi: get(F::OpSelHi) | get(F::OpSelHi2) << 2,
            cbsz: get(F::Cbsz),
            abid: get(F::Abid),
            blgp: get(F::Blgp),
            high: view.bit(F::High),
            ..Modifiers::default()
        };
        if row.has(Flag::Mix, view.target) {
            m.abs = m.neg_hi;
            m.neg_hi = 0;
        }
        if row.has(Flag::Bitop3, view.target) && view.form.encoding == Encoding::Vop3a {
            // OMOD, ABS and NEG from the highest bit down.
            m.bitop3 = m.omod << 6 | m.abs << 3 | m.neg;
            (m.omod, m.abs, m.neg) = (0, 0, 0);
        }
        m
    }

    /// SDWA and DPP.
    fn read_parts_and_lanes(view: &Words<'_>) -> Modifiers {
        use Encoding as E;
        let encoding = view.form.encoding;
        let get = |id| view.get(id) as u8;
        let mut m = Modifiers {
            clamp: view.bit(F::Clamp),
            omod: get(F::Omod),
            abs: get(F::Src0Abs) | get(F::Src1Abs) << 1,
            neg: get(F::Src0Neg) | get(F::Src1Neg) << 1,
            sext: get(F::Src0Sext) | get(F::Src1Sext) << 1,
            ..Modifiers::default()
        };
        if matches!(encoding, E::Vop1Dpp | E::Vop2Dpp) {
            m.dpp = Some(Dpp {
                ctrl: view.get(F::DppCtrl) as u16,
                row_mask: get(F::RowMask),
                bank_mask: get(F::BankMask),
                bound_ctrl: view.bit(F::BoundCtrl),
            });
        } else {
            m.sdwa = Some(Sdwa {
                dst_sel: if encoding == E::VopcSdwa { SdwaSel::Dword } else { sel(view.get(F::DstSel)) },
                dst_unused: DstUnused::ALL[view.get(F::DstUnused) as usize & 3],
                src0_sel: sel(view.get(F::Src0Sel)),
                src1_sel: sel(view.get(F::Src1Sel)),
                named_sdst: view.bit(F::SdstEnable),
            });
        }
        m
    }

    fn read_memory(view: &Words<'_>) -> Modifiers {
        use Encoding as E;
        let row = view.form.op.row();
        let get = |id| view.get(id) as u8;
        let bit = |id| view.bit(id);
        let mut m = Modifiers {
            glc: bit(F::Glc),
            slc: bit(F::Slc),
            scc: bit(F::Scc),
            nv: bit(F::Nv),
            lds: bit(F::Lds),
            gds: bit(F::Gds),
            tfe: bit(F::Tfe),
            ..Modifiers::default()
        };
        match view.form.encoding {
            E::Mubuf | E::Mtbuf => {
                m.offen = bit(F::Offen);
                m.idxen = bit(F::Idxen);
                m.dfmt = get(F::Dfmt);
                m.nfmt = get(F::Nfmt);
                m.offset = view.get(F::Offset) as i32;
            }
            E::Mimg => {
                m.dmask = get(F::Dmask);
                m.unorm = bit(F::Unorm);
                m.da = bit(F::Da);
                m.a16 = bit(F::A16);
                m.lwe = bit(F::Lwe);
                m.d16 = bit(F::D16);
            }
            E::Smem => {
                m.soffset_en = bit(F::SoffsetEn);
                m.imm = bit(F::Imm);
                if m.imm {
                    m.offset = sign_extend(view.get(F::Offset), 21);
                }
            }
            E::Flat => {
                let offset = view.get(F::Offset);
                // FLAT offsets are unsigned; LLVM drops the top bit, as the hardware does.
                m.offset = if row.format == Format::Flat {
                    (offset & 0xFFF) as i32
                } else {
                    sign_extend(offset, 13)
                };
            }
            _ => {
                if row.has(Flag::TwoOffsets, view.target) {
                    m.offset = view.get(F::Offset0) as i32;
                    m.offset1 = get(F::Offset1);
                } else {
                    m.offset = (view.get(F::Offset0) | view.get(F::Offset1) << 8) as i32;
                }
            }
        }
        m
    }
}
