//! The words in which rows of Cayman are written: formats, types, fields.
//!
//! The build script compiles this file too, so a word of the row files and its meaning stand in one place.

use crate::gcn::vocabulary::words;

words! {
    /// The format of a microcode word (HD 6900 ISA 9). It gives the position of the opcode, and names the opcode space.
    pub enum Format {
        /// Control flow (CF_WORD0, CF_WORD1).
        Cf = "cf",
        /// Start of an ALU clause, with the constants that it reads (CF_ALU_WORD0, CF_ALU_WORD1).
        CfAlu = "cf_alu",
        /// Access to a random access target (CF_ALLOC_EXPORT_WORD0_RAT, CF_ALLOC_EXPORT_WORD1_BUF).
        Rat = "rat",
        /// A slot of an ALU group with up to two sources (ALU_WORD0, ALU_WORD1_OP2).
        Op2 = "op2",
        /// A slot of an ALU group with three sources (ALU_WORD0, ALU_WORD1_OP3).
        Op3 = "op3",
        /// A slot of an ALU group that accesses LDS (ALU_WORD0_LDS_IDX_OP, ALU_WORD1_LDS_IDX_OP).
        Lds = "lds",
        /// Fetch from a buffer (VTX_WORD0, VTX_WORD1_GPR, VTX_WORD2).
        Vtx = "vtx",
    }
}

impl Format {
    /// Bytes of a word.
    pub const fn bytes(self) -> usize {
        match self {
            Format::Vtx => 16,
            _ => 8,
        }
    }

    /// The field with the opcode.
    pub const fn opcode(self) -> FieldId {
        match self {
            Format::Cf | Format::CfAlu | Format::Rat => FieldId::CfInst,
            Format::Op2 | Format::Op3 | Format::Lds => FieldId::AluInst,
            Format::Vtx => FieldId::VcInst,
        }
    }

    /// The field that says more, where opcodes have parts.
    pub const fn sub_opcode(self) -> Option<FieldId> {
        match self {
            Format::Rat => Some(FieldId::RatInst),
            Format::Lds => Some(FieldId::LdsOp),
            _ => None,
        }
    }

    /// Whether words of the format are slots of ALU groups.
    pub const fn is_alu(self) -> bool {
        matches!(self, Format::Op2 | Format::Op3 | Format::Lds)
    }

    /// Whether words of the format stand in the control flow program.
    pub const fn is_control(self) -> bool {
        matches!(self, Format::Cf | Format::CfAlu | Format::Rat)
    }
}

words! {
    /// What a source or a result is.
    pub enum Elem {
        /// A 32-bit float: sources accept negation, and absolute value where the format has it; results clamp.
        F32 = "f32",
        /// A 32-bit integer.
        I32 = "i32",
        /// 32 bits.
        B32 = "b32",
    }
}

words! {
    /// The name of a field of a microcode word, as the manual has it.
    pub enum FieldId {
        /// Address of a clause or of a control flow word, in 8 bytes from the start of the program.
        Addr = "addr",
        /// Constant that an index into a jump table comes from.
        JumptableSel = "jumptable_sel",
        /// Entries that are popped from the stack.
        PopCount = "pop_count",
        /// Boolean or loop constant.
        CfConst = "cf_const",
        /// Condition.
        Cond = "cond",
        /// Words of the clause, less one.
        Count = "count",
        /// Whether only valid pixels count.
        ValidPixelMode = "valid_pixel_mode",
        /// End of the program on Evergreen; Cayman ignores it.
        EndOfProgram = "end_of_program",
        /// Opcode of control flow.
        CfInst = "cf_inst",
        /// Whether all pixels of a quad are active.
        WholeQuadMode = "whole_quad_mode",
        /// Whether the word waits for the words before it.
        Barrier = "barrier",
        /// Constant buffer of the first window.
        KcacheBank0 = "kcache_bank0",
        /// Constant buffer of the second window.
        KcacheBank1 = "kcache_bank1",
        /// Lines of the first window: none, one, two, or by loop index.
        KcacheMode0 = "kcache_mode0",
        /// Lines of the second window.
        KcacheMode1 = "kcache_mode1",
        /// First line of the first window, in 16 constants.
        KcacheAddr0 = "kcache_addr0",
        /// First line of the second window.
        KcacheAddr1 = "kcache_addr1",
        /// Whether constants come from another stage.
        AltConst = "alt_const",
        /// Number of the random access target.
        RatId = "rat_id",
        /// What an access to a random access target does.
        RatInst = "rat_inst",
        /// Index register that is added to the number.
        RatIndexMode = "rat_index_mode",
        /// Kind of write: with an index, with an acknowledgement.
        Type = "type",
        /// Register with the data.
        RwGpr = "rw_gpr",
        /// Whether the loop index is added to it.
        RwRel = "rw_rel",
        /// Register with the index.
        IndexGpr = "index_gpr",
        /// Dwords of an element, less one.
        ElemSize = "elem_size",
        /// Size of the array.
        ArraySize = "array_size",
        /// Channels that are written.
        CompMask = "comp_mask",
        /// Registers that are written, less one.
        BurstCount = "burst_count",
        /// Whether the write is acknowledged.
        Mark = "mark",
        /// First source.
        Src0Sel = "src0_sel",
        /// Whether an index is added to it.
        Src0Rel = "src0_rel",
        /// Its channel.
        Src0Chan = "src0_chan",
        /// Whether it is negated.
        Src0Neg = "src0_neg",
        /// Whether its absolute value is taken.
        Src0Abs = "src0_abs",
        /// Second source.
        Src1Sel = "src1_sel",
        /// Whether an index is added to it.
        Src1Rel = "src1_rel",
        /// Its channel.
        Src1Chan = "src1_chan",
        /// Whether it is negated.
        Src1Neg = "src1_neg",
        /// Whether its absolute value is taken.
        Src1Abs = "src1_abs",
        /// Third source.
        Src2Sel = "src2_sel",
        /// Whether an index is added to it.
        Src2Rel = "src2_rel",
        /// Its channel.
        Src2Chan = "src2_chan",
        /// Whether it is negated.
        Src2Neg = "src2_neg",
        /// Index register of relative operands.
        IndexMode = "index_mode",
        /// Lanes by their predicate: all, those without, those with it.
        PredSel = "pred_sel",
        /// Whether the slot is the last of its group.
        Last = "last",
        /// Whether the result becomes the mask of active lanes.
        UpdateExecMask = "update_exec_mask",
        /// Whether the result becomes the predicate.
        UpdatePred = "update_pred",
        /// Whether the register is written.
        WriteMask = "write_mask",
        /// Output modifier.
        Omod = "omod",
        /// Opcode of an ALU slot.
        AluInst = "alu_inst",
        /// Order in which the sources are read from the register file.
        BankSwizzle = "bank_swizzle",
        /// Register of the result.
        DstGpr = "dst_gpr",
        /// Whether an index is added to it.
        DstRel = "dst_rel",
        /// Channel of the result: the slot.
        DstChan = "dst_chan",
        /// Whether the result is clamped to 0 to 1.
        Clamp = "clamp",
        /// What an LDS operation does.
        LdsOp = "lds_op",
        /// Offset of an LDS operation, in dwords.
        IdxOffset = "idx_offset",
        /// Opcode of a fetch.
        VcInst = "vc_inst",
        /// Index that is added: of the vertex, of the instance, none.
        FetchType = "fetch_type",
        /// Whether all pixels of a quad fetch.
        FetchWholeQuad = "fetch_whole_quad",
        /// Number of the buffer.
        BufferId = "buffer_id",
        /// Register with the index.
        SrcGpr = "src_gpr",
        /// Whether the loop index is added to it.
        SrcRel = "src_rel",
        /// Channel of the index.
        SrcSelX = "src_sel_x",
        /// Channel of the LDS address.
        SrcSelY = "src_sel_y",
        /// How a structured buffer is read.
        StructuredRead = "structured_read",
        /// Whether the result goes to LDS.
        LdsReq = "lds_req",
        /// Hint that addresses are next to each other.
        CoalescedRead = "coalesced_read",
        /// Element that the first channel gets.
        DstSelX = "dst_sel_x",
        /// Element that the second channel gets.
        DstSelY = "dst_sel_y",
        /// Element that the third channel gets.
        DstSelZ = "dst_sel_z",
        /// Element that the fourth channel gets.
        DstSelW = "dst_sel_w",
        /// Whether the resource gives the format.
        UseConstFields = "use_const_fields",
        /// Format of the data in memory.
        DataFormat = "data_format",
        /// How numbers are read: normalised, as integers, scaled.
        NumFormatAll = "num_format_all",
        /// Whether numbers are signed.
        FormatCompAll = "format_comp_all",
        /// How signed normalised numbers are mapped.
        SrfModeAll = "srf_mode_all",
        /// Offset in bytes.
        Offset = "offset",
        /// Bytes that are swapped.
        EndianSwap = "endian_swap",
        /// Whether the stride of the buffer does not count.
        ConstBufNoStride = "const_buf_no_stride",
        /// Index register that is added to the number of the buffer.
        BufferIndexMode = "buffer_index_mode",
        /// Reserved.
        Reserved0 = "reserved0",
        /// Reserved.
        Reserved1 = "reserved1",
        /// Reserved.
        Reserved2 = "reserved2",
        /// The dword that fills a fetch up.
        Padding = "padding",
    }
}
