//! The words in which rows of Cayman are written: formats, types, fields.
//!
//! The build script compiles this file too, so a word of the row files and its meaning stand in one place.

use crate::gcn::vocabulary::words;

words! {
    /// The format of a microcode word (HD 6900 ISA 9). It gives the position of the opcode, and names the opcode space.
    pub enum Format {
        /// Control flow (CF_WORD0, CF_WORD1).
        Cf = "cf",
        /// Synchronisation of waves across work-groups (CF_GWS_WORD0, CF_WORD1).
        Gws = "gws",
        /// Start of an ALU clause, with the constants that it reads (CF_ALU_WORD0, CF_ALU_WORD1).
        CfAlu = "cf_alu",
        /// Start of an ALU clause that reads up to four windows of constants (CF_ALU_WORD0_EXT, CF_ALU_WORD1_EXT, CF_ALU_WORD0, CF_ALU_WORD1).
        CfAluExtended = "cf_alu_extended",
        /// Write to scratch memory, a ring or a stream (CF_ALLOC_EXPORT_WORD0, CF_ALLOC_EXPORT_WORD1_BUF).
        ExportBuf = "export_buf",
        /// Export of pixels, positions and parameters (CF_ALLOC_EXPORT_WORD0, CF_ALLOC_EXPORT_WORD1_SWIZ).
        ExportSwiz = "export_swiz",
        /// Access to a random access target (CF_ALLOC_EXPORT_WORD0_RAT, CF_ALLOC_EXPORT_WORD1_BUF).
        Rat = "rat",
        /// A slot of an ALU group with up to two sources (ALU_WORD0, ALU_WORD1_OP2).
        Op2 = "op2",
        /// A slot that writes an index (ALU_WORD0, ALU_WORD1_OP2_MOVA).
        Op2Mova = "op2_mova",
        /// A slot whose result changes the active lanes (ALU_WORD0, ALU_WORD1_OP2_EXECUTE_MASK). Instructions of `op2` have it while their UPDATE_EXEC_MASK is set; no row has it.
        Op2ExecuteMask = "op2_execute_mask",
        /// A slot of an ALU group with three sources (ALU_WORD0, ALU_WORD1_OP3).
        Op3 = "op3",
        /// A slot of an ALU group that accesses LDS (ALU_WORD0_LDS_IDX_OP, ALU_WORD1_LDS_IDX_OP).
        Lds = "lds",
        /// The two literals that address a direct read of LDS (ALU_WORD1_LDS_DIRECT_LITERAL_LO, ALU_WORD1_LDS_DIRECT_LITERAL_HI). They are not an instruction, so no row has it.
        LdsDirect = "lds_direct",
        /// Fetch from a buffer (VTX_WORD0, VTX_WORD1_GPR, VTX_WORD2).
        Vtx = "vtx",
        /// Fetch from a buffer into a register that a table of the host gives (VTX_WORD0, VTX_WORD1_SEM, VTX_WORD2).
        VtxSemantic = "vtx_semantic",
        /// Fetch from a texture (TEX_WORD0, TEX_WORD1, TEX_WORD2).
        Tex = "tex",
        /// Read of scratch or scatter memory (MEM_RD_WORD0, MEM_RD_WORD1, MEM_RD_WORD2).
        MemRd = "mem_rd",
        /// Access to the global data share (MEM_GDS_WORD0, MEM_GDS_WORD1, MEM_GDS_WORD2).
        Gds = "gds",
        /// Write of a tessellation factor (MEM_GDS_WORD0, MEM_GDS_WORD1, MEM_GDS_WORD2).
        TfWrite = "tf_write",
    }
}

impl Format {
    /// Bytes of a word.
    pub const fn bytes(self) -> usize {
        match self {
            Format::CfAluExtended
            | Format::Vtx
            | Format::VtxSemantic
            | Format::Tex
            | Format::MemRd
            | Format::Gds
            | Format::TfWrite => 16,
            _ => 8,
        }
    }

    /// The field with the opcode. `None` for literals, which have none.
    pub const fn opcode(self) -> Option<FieldId> {
        Some(match self {
            Format::Cf
            | Format::Gws
            | Format::CfAlu
            | Format::ExportBuf
            | Format::ExportSwiz
            | Format::Rat => FieldId::CfInst,
            Format::CfAluExtended => FieldId::CfInstExt,
            Format::Op2 | Format::Op2Mova | Format::Op2ExecuteMask | Format::Op3 | Format::Lds => {
                FieldId::AluInst
            }
            Format::LdsDirect => return None,
            Format::Vtx | Format::VtxSemantic => FieldId::VcInst,
            Format::Tex => FieldId::TexInst,
            Format::MemRd => FieldId::MemInst,
            Format::Gds | Format::TfWrite => FieldId::MemOp,
        })
    }

    /// The field that says more, where opcodes have parts.
    pub const fn sub_opcode(self) -> Option<FieldId> {
        match self {
            Format::Gws => Some(FieldId::GwsOpcode),
            Format::CfAluExtended => Some(FieldId::CfInst),
            Format::Rat => Some(FieldId::RatInst),
            Format::Lds => Some(FieldId::LdsOp),
            Format::MemRd => Some(FieldId::MemOp),
            Format::Gds => Some(FieldId::GdsOp),
            _ => None,
        }
    }

    /// Whether words of the format are slots of ALU groups.
    pub const fn is_alu(self) -> bool {
        matches!(self, Format::Op2 | Format::Op2Mova | Format::Op2ExecuteMask | Format::Op3 | Format::Lds)
    }

    /// Whether words of the format stand in the control flow program.
    pub const fn is_control(self) -> bool {
        matches!(
            self,
            Format::Cf
                | Format::Gws
                | Format::CfAlu
                | Format::CfAluExtended
                | Format::ExportBuf
                | Format::ExportSwiz
                | Format::Rat
        )
    }

    /// Whether words of the format stand in clauses of fetches.
    pub const fn is_fetch(self) -> bool {
        matches!(self, Format::Vtx | Format::VtxSemantic | Format::Tex | Format::MemRd)
    }

    /// Whether words of the format stand in clauses of the global data share.
    pub const fn is_gds(self) -> bool {
        matches!(self, Format::Gds | Format::TfWrite)
    }
}

words! {
    /// What a source or a result is.
    pub enum Elem {
        /// A 32-bit float: sources accept negation, and absolute value where the format has it; results accept OMOD, where the format has it, and CLAMP.
        F32 = "f32",
        /// A signed 32-bit integer, or one whose sign does not matter.
        I32 = "i32",
        /// An unsigned 32-bit integer.
        U32 = "u32",
        /// 32 bits.
        B32 = "b32",
        /// One dword of a double. The slots of the instruction carry both dwords; modifiers count in the slots x and z.
        F64 = "f64",
        /// A 16-bit float in the low half.
        F16 = "f16",
        /// A signed integer in the low 24 bits.
        I24 = "i24",
        /// An unsigned integer in the low 24 bits.
        U24 = "u24",
        /// Four bytes.
        U8x4 = "u8x4",
    }
}

impl Elem {
    /// Whether modifiers of floats apply (HD 6900 ISA 4.7.2, 4.9.1).
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }
}

words! {
    /// The slots of a group that an instruction takes.
    pub enum Slots {
        /// One slot, in any channel.
        Any = "any",
        /// One slot, in channel x.
        X = "x",
        /// One slot, in channel w.
        W = "w",
        /// One slot in any channel but w: it adds the result of the next channel.
        NotW = "xyz",
        /// One slot in channel x or y: it reads the result of the channel after the next.
        XOrY = "x_or_y",
        /// Two slots: x and y, or z and w. Both pairs of a group may have it.
        Pair = "pair",
        /// Two slots: x and y.
        Xy = "xy",
        /// Two slots: z and w.
        Zw = "zw",
        /// Three slots, x, y and z, or all four.
        Three = "three",
        /// All four slots.
        All = "all",
    }
}

impl Slots {
    /// Whether the instruction may stand in exactly these channels of a group: bit 0 is x, bit 3 w.
    pub const fn allow(self, channels: u8) -> bool {
        match self {
            Slots::Any => true,
            Slots::X => channels == 0b0001,
            Slots::W => channels == 0b1000,
            Slots::NotW => channels & 0b1000 == 0,
            Slots::XOrY => channels & 0b1100 == 0,
            Slots::Pair => matches!(channels, 0b0011 | 0b1100 | 0b1111),
            Slots::Xy => channels == 0b0011,
            Slots::Zw => channels == 0b1100,
            Slots::Three => matches!(channels, 0b0111 | 0b1111),
            Slots::All => channels == 0b1111,
        }
    }

    /// The slots in messages: `slots x and y`.
    pub const fn in_words(self) -> &'static str {
        match self {
            Slots::Any => "any slot",
            Slots::X => "slot x",
            Slots::W => "slot w",
            Slots::NotW => "slot x, y or z",
            Slots::XOrY => "slot x or y",
            Slots::Pair => "slots x and y, or z and w",
            Slots::Xy => "slots x and y",
            Slots::Zw => "slots z and w",
            Slots::Three => "slots x, y and z, or all four",
            Slots::All => "all four slots",
        }
    }

    /// Whether one instruction takes several slots.
    pub const fn is_several(self) -> bool {
        matches!(self, Slots::Pair | Slots::Xy | Slots::Zw | Slots::Three | Slots::All)
    }
}

words! {
    /// Which other slot of the group a slot's operation reads a result from.
    pub enum Chain {
        /// The next channel: y for x, z for y, w for z.
        Next = "next",
        /// The channel after the next: z for x, w for y.
        AfterNext = "after_next",
    }
}

impl Chain {
    /// The channel that a channel reads; `None` if there is no such channel.
    pub const fn producer(self, channel: u8) -> Option<u8> {
        match (self, channel) {
            (Chain::Next, 0..=2) => Some(channel + 1),
            (Chain::AfterNext, 0..=1) => Some(channel + 2),
            _ => None,
        }
    }
}

words! {
    /// What the address of a control flow word means.
    pub enum Address {
        /// A clause of ALU groups.
        AluClause = "alu",
        /// A clause of fetches.
        FetchClause = "fetch",
        /// A clause of accesses to the global data share.
        GdsClause = "gds",
        /// A control flow word.
        Control = "control",
        /// A number of acknowledgements, not an address.
        Acks = "acks",
    }
}

impl Address {
    /// Whether it is the address of a clause.
    pub const fn is_clause(self) -> bool {
        matches!(self, Address::AluClause | Address::FetchClause | Address::GdsClause)
    }
}

words! {
    /// A shader stage, that is, a kind of program (HD 6900 ISA 2.1).
    pub enum Stage {
        /// Pixel shader.
        Ps = "ps",
        /// Vertex shader.
        Vs = "vs",
        /// Geometry shader.
        Gs = "gs",
        /// Hull shader.
        Hs = "hs",
    }
}

words! {
    /// A property of an instruction that rules and tools need.
    pub enum Flag {
        /// It computes a predicate: PRED_SET*. A group has at most one such instruction, and none beside KILL*.
        Predicate = "predicate",
        /// It kills pixels: KILL*.
        Kill = "kill",
        /// It combines all four slots, which have the same OMOD and CLAMP (HD 6900 ISA 4.8.2).
        Reduction = "reduction",
        /// It pushes a value to output queue A of LDS.
        PushesA = "pushes_a",
        /// It pushes a value to output queue B of LDS.
        PushesB = "pushes_b",
        /// It tests a condition: COND may be other than ACTIVE.
        Condition = "condition",
        /// It uses POP_COUNT.
        Pops = "pops",
        /// The next control flow word does not follow: the program or the subroutine ends.
        Ends = "ends",
        /// It pushes the state of pixels to the stack.
        PushesState = "pushes_state",
        /// It pushes the state of a loop to the stack.
        PushesLoop = "pushes_loop",
        /// It pushes a return address to the stack.
        PushesReturn = "pushes_return",
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
        /// Opcode of the first of two words that start an ALU clause together.
        CfInstExt = "cf_inst_ext",
        /// Load value of a counter.
        Value = "value",
        /// Number of the resource that waves synchronise on.
        Resource = "resource",
        /// Whether the value is signed.
        Sign = "sign",
        /// Index register that replaces the value.
        ValIndexMode = "val_index_mode",
        /// Index register that is added to the number of the resource.
        RsrcIndexMode = "rsrc_index_mode",
        /// What a synchronisation of waves does.
        GwsOpcode = "gws_opcode",
        /// Whether all pixels of a quad are active.
        WholeQuadMode = "whole_quad_mode",
        /// Whether the word waits for the words before it.
        Barrier = "barrier",
        /// The barrier of the first of two words that start an ALU clause together.
        BarrierExt = "barrier_ext",
        /// Constant buffer of the first window.
        KcacheBank0 = "kcache_bank0",
        /// Constant buffer of the second window.
        KcacheBank1 = "kcache_bank1",
        /// Constant buffer of the third window.
        KcacheBank2 = "kcache_bank2",
        /// Constant buffer of the fourth window.
        KcacheBank3 = "kcache_bank3",
        /// Lines of the first window: none, one, two, or by loop index.
        KcacheMode0 = "kcache_mode0",
        /// Lines of the second window.
        KcacheMode1 = "kcache_mode1",
        /// Lines of the third window.
        KcacheMode2 = "kcache_mode2",
        /// Lines of the fourth window.
        KcacheMode3 = "kcache_mode3",
        /// First line of the first window, in 16 constants.
        KcacheAddr0 = "kcache_addr0",
        /// First line of the second window.
        KcacheAddr1 = "kcache_addr1",
        /// First line of the third window.
        KcacheAddr2 = "kcache_addr2",
        /// First line of the fourth window.
        KcacheAddr3 = "kcache_addr3",
        /// Index register that is added to the constant buffer of the first window.
        KcacheBankIndexMode0 = "kcache_bank_index_mode0",
        /// Index register that is added to the constant buffer of the second window.
        KcacheBankIndexMode1 = "kcache_bank_index_mode1",
        /// Index register that is added to the constant buffer of the third window.
        KcacheBankIndexMode2 = "kcache_bank_index_mode2",
        /// Index register that is added to the constant buffer of the fourth window.
        KcacheBankIndexMode3 = "kcache_bank_index_mode3",
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
        /// First element of an array, or number of the export.
        ArrayBase = "array_base",
        /// Source of the first channel of an export.
        SelX = "sel_x",
        /// Source of the second channel of an export.
        SelY = "sel_y",
        /// Source of the third channel of an export.
        SelZ = "sel_z",
        /// Source of the fourth channel of an export.
        SelW = "sel_w",
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
        /// What happens to lanes whose result is false: they leave the branch, the loop or the iteration, or are killed.
        ExecuteMaskOp = "execute_mask_op",
        /// Register or index that a MOVA writes.
        MovaDst = "mova_dst",
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
        /// First dword of the direct read through LDS_DIRECT_A.
        OffsetA = "offset_a",
        /// Dwords between the lanes of the direct read through LDS_DIRECT_A.
        StrideA = "stride_a",
        /// Whether the direct read through LDS_DIRECT_A is relative to the thread.
        ThreadRelA = "thread_rel_a",
        /// First dword of the direct read through LDS_DIRECT_B.
        OffsetB = "offset_b",
        /// Dwords between the lanes of the direct read through LDS_DIRECT_B.
        StrideB = "stride_b",
        /// Whether the direct read through LDS_DIRECT_B is relative to the thread.
        ThreadRelB = "thread_rel_b",
        /// Whether a direct read takes 32 dwords in a cycle, instead of 16 for each of A and B.
        DirectRead32 = "direct_read_32",
        /// Opcode of a fetch.
        VcInst = "vc_inst",
        /// Opcode of a texture fetch.
        TexInst = "tex_inst",
        /// Opcode of memory reads and of the global data share.
        MemInst = "mem_inst",
        /// What a memory instruction does.
        MemOp = "mem_op",
        /// What an access to the global data share does.
        GdsOp = "gds_op",
        /// Variant of a texture instruction.
        InstMod = "inst_mod",
        /// Number of the resource of a texture fetch.
        ResourceId = "resource_id",
        /// Index register that is added to the number of the resource.
        ResourceIndexMode = "resource_index_mode",
        /// Number of the sampler.
        SamplerId = "sampler_id",
        /// Index register that is added to the number of the sampler.
        SamplerIndexMode = "sampler_index_mode",
        /// Bias that is added to the level of detail, in sixteenths, signed.
        LodBias = "lod_bias",
        /// Whether the first coordinate is normalised.
        CoordTypeX = "coord_type_x",
        /// Whether the second coordinate is normalised.
        CoordTypeY = "coord_type_y",
        /// Whether the third coordinate is normalised.
        CoordTypeZ = "coord_type_z",
        /// Whether the fourth coordinate is normalised.
        CoordTypeW = "coord_type_w",
        /// Offset of the first coordinate, signed.
        OffsetX = "offset_x",
        /// Offset of the second coordinate, signed.
        OffsetY = "offset_y",
        /// Offset of the third coordinate, signed.
        OffsetZ = "offset_z",
        /// Whether a read bypasses the cache.
        Uncached = "uncached",
        /// Whether the register with the index counts.
        Indexed = "indexed",
        /// Number of reads, less one.
        BurstCnt = "burst_cnt",
        /// Index in the semantic table of the host.
        SemanticId = "semantic_id",
        /// How the register of an access to the global data share is found: absolute, by loop index, global.
        SrcRelMode = "src_rel_mode",
        /// How its result register is found.
        DstRelMode = "dst_rel_mode",
        /// Offset of an access to the global data share, in dwords.
        GdsOffset = "gds_offset",
        /// Index register that is added to the number of the counter.
        UavIndexMode = "uav_index_mode",
        /// Number of the counter for append and consume.
        UavId = "uav_id",
        /// Whether an access to the global data share goes to a counter for append and consume.
        AllocConsume = "alloc_consume",
        /// Whether only the first active lane accesses the global data share, for all.
        BcastFirstReq = "bcast_first_req",
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
        /// Third channel that is read.
        SrcSelZ = "src_sel_z",
        /// Fourth channel that is read.
        SrcSelW = "src_sel_w",
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
        /// Reserved.
        Reserved3 = "reserved3",
        /// Reserved.
        Reserved4 = "reserved4",
        /// The dword that fills a fetch up.
        Padding = "padding",
    }
}
