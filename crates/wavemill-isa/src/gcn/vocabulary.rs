//! The words in which rows are written: formats, operand roles, element types, effects and modifiers.
//!
//! The build script compiles this file too, so a word of the row files and its meaning stand in one place.

use core::fmt;

/// Defines a field-less enum whose variants have a lower-case spelling: the one that the row files and texts use. The
/// documentation of a variant is also what users read of it: plain text, without links.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        $vis enum $name { $($(#[doc = $doc])+ $variant,)* }

        impl $name {
            /// Every value, in order of definition.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The spelling in row files and texts.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The value with this spelling.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($word => Some($name::$variant),)* _ => None }
            }

            /// What it means, in a sentence or two for people.
            pub const fn description(self) -> &'static str {
                match self { $($name::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            /// The Rust identifier of the variant.
            pub const fn variant(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant),)* }
            }
        }
    };
}
pub(crate) use words;

/// Lanes of a wave.
pub(crate) const LANES: u32 = 64;

/// The sizes of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// Rows of A, C and D: M.
    pub rows: u32,
    /// Columns of B, C and D: N.
    pub columns: u32,
    /// Columns of A and rows of B: K. A sparse A stores half of them.
    pub depth: u32,
    /// Products that are made at once, each of matrices of its own.
    pub blocks: u32,
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.rows, self.columns, self.depth)?;
        if self.blocks != 1 {
            write!(f, ", {} blocks", self.blocks)?;
        }
        Ok(())
    }
}

words! {
    /// The instruction format in which the manual lists an instruction. It names the opcode space.
    pub enum Format {
        /// Scalar ALU, two sources.
        Sop2 = "sop2",
        /// Scalar ALU, one source.
        Sop1 = "sop1",
        /// Scalar compare.
        Sopc = "sopc",
        /// Scalar ALU with a 16-bit constant.
        Sopk = "sopk",
        /// Program control.
        Sopp = "sopp",
        /// Scalar memory.
        Smem = "smem",
        /// Vector ALU, two sources.
        Vop2 = "vop2",
        /// Vector ALU, one source.
        Vop1 = "vop1",
        /// Vector compare.
        Vopc = "vopc",
        /// Vector ALU with up to three sources, 64-bit encoding only (VOP3A and VOP3B).
        Vop3 = "vop3",
        /// Packed vector ALU, mixed precision, dot products.
        Vop3p = "vop3p",
        /// Matrix multiply-accumulate (VOP3P-MAI).
        Mai = "mai",
        /// Matrix multiply-accumulate with scales: 128 bits.
        MaiScaled = "mai_scaled",
        /// Parameter interpolation.
        Vintrp = "vintrp",
        /// Local and global data share.
        Ds = "ds",
        /// Untyped buffer memory.
        Mubuf = "mubuf",
        /// Typed buffer memory.
        Mtbuf = "mtbuf",
        /// Image memory.
        Mimg = "mimg",
        /// Flat memory.
        Flat = "flat",
        /// Global memory.
        Global = "global",
        /// Scratch memory.
        Scratch = "scratch",
        /// Export.
        Exp = "exp",
    }
}

words! {
    /// What an operand is to its instruction. The names follow the manual's field names.
    pub enum Role {
        /// Vector destination.
        Vdst = "vdst",
        /// Scalar destination, or the second (mask) destination of a vector instruction.
        Sdst = "sdst",
        /// First source.
        Src0 = "src0",
        /// Second source.
        Src1 = "src1",
        /// Third source.
        Src2 = "src2",
        /// The 32-bit constant that always follows the instruction word.
        Literal = "literal",
        /// The 16-bit constant of SOPK and SOPP.
        Simm16 = "simm16",
        /// Scalar memory data: destination of loads, source of stores.
        Sdata = "sdata",
        /// Scalar memory base: address pair or buffer descriptor.
        Sbase = "sbase",
        /// Scalar memory offset: constant, scalar register or both.
        Offset = "offset",
        /// Interpolation source.
        Vsrc = "vsrc",
        /// Interpolation attribute and channel.
        Attr = "attr",
        /// LDS address.
        Addr = "addr",
        /// First LDS data.
        Data0 = "data0",
        /// Second LDS data.
        Data1 = "data1",
        /// Memory address in VGPRs.
        Vaddr = "vaddr",
        /// Memory data in VGPRs.
        Vdata = "vdata",
        /// Memory address or offset in SGPRs.
        Saddr = "saddr",
        /// Resource descriptor.
        Srsrc = "srsrc",
        /// Sampler descriptor.
        Ssamp = "ssamp",
        /// Buffer offset in an SGPR or constant.
        Soffset = "soffset",
        /// Export target.
        Tgt = "tgt",
        /// First exported value.
        Vsrc0 = "vsrc0",
        /// Second exported value.
        Vsrc1 = "vsrc1",
        /// Third exported value.
        Vsrc2 = "vsrc2",
        /// Fourth exported value.
        Vsrc3 = "vsrc3",
        /// Scale of the A matrix.
        Scale0 = "scale0",
        /// Scale of the B matrix.
        Scale1 = "scale1",
    }
}

impl Role {
    /// The number by which modifiers count a source; `None` if this is not a source.
    pub const fn source(self) -> Option<u8> {
        match self {
            Role::Src0 => Some(0),
            // Interpolation has its attribute in the first place.
            Role::Src1 | Role::Vsrc => Some(1),
            Role::Src2 => Some(2),
            _ => None,
        }
    }
}

words! {
    /// The element type of an operand; a number at the end is its width in bits.
    pub enum Elem {
        /// One bit per lane, 64 in all.
        Mask = "mask",
        /// Untyped bits.
        B4 = "b4",
        /// Untyped bits.
        B6 = "b6",
        /// Untyped bits.
        B8 = "b8",
        /// Untyped bits.
        B16 = "b16",
        /// Untyped bits.
        B32 = "b32",
        /// Untyped bits.
        B64 = "b64",
        /// Unsigned integer.
        U4 = "u4",
        /// Unsigned integer.
        U8 = "u8",
        /// Unsigned integer.
        U16 = "u16",
        /// Unsigned integer: the low 24 bits of a register.
        U24 = "u24",
        /// Unsigned integer.
        U32 = "u32",
        /// Unsigned integer.
        U64 = "u64",
        /// Signed integer.
        I4 = "i4",
        /// Signed integer.
        I8 = "i8",
        /// Signed integer.
        I16 = "i16",
        /// Signed integer: the low 24 bits of a register.
        I24 = "i24",
        /// Signed integer.
        I32 = "i32",
        /// Signed integer.
        I64 = "i64",
        /// IEEE half precision.
        F16 = "f16",
        /// IEEE single precision.
        F32 = "f32",
        /// IEEE double precision.
        F64 = "f64",
        /// bfloat16.
        Bf16 = "bf16",
        /// Single precision, or half precision in one half of the register: OP_SEL_HI says which for each source.
        Mix = "mix",
        /// Single precision of which the matrix unit uses 19 bits.
        Xf32 = "xf32",
        /// 8-bit float, E4M3 (FNUZ on gfx942, OCP on gfx950).
        Fp8 = "fp8",
        /// 8-bit float, E5M2 (FNUZ on gfx942, OCP on gfx950).
        Bf8 = "bf8",
        /// 6-bit float, E2M3.
        Fp6 = "fp6",
        /// 6-bit float, E3M2.
        Bf6 = "bf6",
        /// 4-bit float, E2M1.
        Fp4 = "fp4",
        /// 8, 6 or 4-bit float, as CBSZ (matrix A) or BLGP (matrix B) say; the count is for 8 bits.
        F8f6f4 = "f8f6f4",
        /// Image data: DMASK, D16, TFE and LWE give the number of registers.
        Texel = "texel",
        /// A memory address or offset in VGPRs: the addressing mode gives the number of registers.
        Addr = "addr",
        /// A memory address or offset in SGPRs: the addressing mode gives the number of registers.
        Saddr = "saddr",
        /// Scalar memory offset.
        Soffset = "soffset",
        /// A lane number in a scalar operand.
        Lane = "lane",
        /// Signed 16-bit constant.
        Simm16 = "simm16",
        /// Unsigned 16-bit constant.
        Uimm16 = "uimm16",
        /// 7-bit constant in the SDATA field.
        Imm8 = "imm8",
        /// Signed distance in dwords from the next instruction.
        Branch = "branch",
        /// Hardware register number, offset and size.
        Hwreg = "hwreg",
        /// Counter limits of `s_waitcnt`.
        Waitcnt = "waitcnt",
        /// Message, operation and stream of `s_sendmsg`.
        Sendmsg = "sendmsg",
        /// Which operands VGPR indexing applies to: bits for src0, src1, src2, dst.
        GprIdx = "gpr_idx",
        /// Interpolation attribute and channel.
        Attr = "attr",
        /// Interpolation parameter: 0 P10, 1 P20, 2 P0.
        InterpSlot = "interp_slot",
        /// Export target.
        ExpTgt = "exp_tgt",
    }
}

impl Elem {
    /// Width of one element in bits; 0 where the instance decides or the operand is a constant.
    pub const fn bits(self) -> u32 {
        use Elem::*;
        match self {
            B4 | U4 | I4 | Fp4 => 4,
            B6 | Fp6 | Bf6 => 6,
            B8 | U8 | I8 | Fp8 | Bf8 | F8f6f4 => 8,
            B16 | U16 | I16 | F16 | Bf16 => 16,
            U24 | I24 | B32 | U32 | I32 | F32 | Mix | Xf32 | Lane => 32,
            Mask | B64 | U64 | I64 | F64 => 64,
            Texel | Addr | Saddr | Soffset | Simm16 | Uimm16 | Imm8 | Branch | Hwreg | Waitcnt | Sendmsg
            | GprIdx | Attr | InterpSlot | ExpTgt => 0,
        }
    }

    /// Whether the elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        use Elem::*;
        matches!(self, F16 | F32 | F64 | Mix | Bf16 | Xf32 | Fp8 | Bf8 | Fp6 | Bf6 | Fp4 | F8f6f4)
    }

    /// Whether the elements are integers, and not just bits.
    pub const fn is_integer(self) -> bool {
        use Elem::*;
        matches!(self, U4 | U8 | U16 | U24 | U32 | U64 | I4 | I8 | I16 | I24 | I32 | I64)
    }

    /// Whether negation and absolute value change an element: floats of 16 bits and more, and untyped dwords
    /// (V_CNDMASK_B32). Of integers and narrower floats the bits may be set, but do nothing, and have no text.
    pub const fn has_sign(self) -> bool {
        self.is_float() && self.bits() >= 16 || matches!(self, Elem::B32)
    }

    /// Whether the operand is a constant of the instruction word, not a register or a value.
    pub const fn is_immediate(self) -> bool {
        use Elem::*;
        matches!(
            self,
            Simm16 | Uimm16 | Imm8 | Branch | Hwreg | Waitcnt | Sendmsg | GprIdx | Attr | InterpSlot | ExpTgt
        )
    }
}

/// An operand type: `count` elements, packed from bit 0 of the first register upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub elem: Elem,
    /// The number of elements, at least 1.
    pub count: u8,
}

impl Type {
    /// One element.
    pub const fn one(elem: Elem) -> Type {
        Type { elem, count: 1 }
    }

    /// Width in bits; 0 where the instance decides or the operand is a constant.
    pub const fn bits(self) -> u32 {
        self.elem.bits() * self.count as u32
    }

    /// Number of 32-bit registers; 0 where the instance decides or the operand is a constant.
    pub const fn dwords(self) -> u8 {
        self.bits().div_ceil(32) as u8
    }
}

impl core::fmt::Display for Type {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.elem.name())?;
        if self.count != 1 {
            write!(f, "x{}", self.count)?;
        }
        Ok(())
    }
}

words! {
    /// The operands that are legal where a field could hold more. Words with other operands still decode, and
    /// break a rule: see [`Rule`](super::Rule).
    pub enum Takes {
        /// Whatever the field can hold.
        Any = "any",
        /// Vector registers.
        Vector = "v",
        /// Scalar registers.
        Scalar = "s",
        /// Scalar registers and constants.
        ScalarOrConstant = "c",
    }
}

words! {
    /// What an instruction does to an operand.
    pub enum Access {
        /// Reads it.
        Read = "r",
        /// Writes it.
        Write = "w",
        /// Reads and writes it.
        ReadWrite = "+",
        /// Memory atomics. Data that is also the destination is read, and overwritten with the old value if GLC (SC0) is set.
        /// A separate destination is written if GLC (SC0) is set; otherwise it is not an operand.
        IfReturn = "~",
    }
}

words! {
    /// State outside the operands that an instruction reads or writes.
    pub enum State {
        /// Scalar condition code.
        Scc = "scc",
        /// Vector condition code: the implicit uses only; where VCC is an operand it is listed as one.
        Vcc = "vcc",
        /// Execution mask.
        Exec = "exec",
        /// M0.
        M0 = "m0",
        /// The MODE register as data (not the float controls that every float instruction reads: see `fp`).
        Mode = "mode",
        /// Sticky exception flags.
        Trapsts = "trapsts",
        /// A hardware register that the instruction names.
        Hwreg = "hwreg",
        /// Program counter, beyond stepping to the next instruction.
        Pc = "pc",
        /// The scratch base.
        FlatScratch = "flat_scratch",
    }
}

words! {
    /// What a memory instruction does.
    pub enum MemOp {
        /// Loads.
        Load = "load",
        /// Stores.
        Store = "store",
        /// Reads, modifies and writes in one step.
        Atomic = "atomic",
    }
}

words! {
    /// Which memory an instruction accesses.
    pub enum MemSpace {
        /// Constant and global memory through the scalar cache.
        Smem = "smem",
        /// Whatever the flat address selects.
        Flat = "flat",
        /// Global memory.
        Global = "global",
        /// Scratch memory.
        Scratch = "scratch",
        /// Memory that a buffer descriptor describes.
        Buffer = "buffer",
        /// Memory that an image descriptor describes.
        Image = "image",
        /// Local data share (or global data share, with the GDS bit).
        Lds = "lds",
    }
}

words! {
    /// A property that a row may have. Properties that say that a modifier is legal may hold on some targets only.
    pub enum Flag {
        /// Obeys MODE's float controls (rounding, denormals, IEEE, DX10_CLAMP) or raises float exceptions.
        Fp = "fp",
        /// CLAMP is legal.
        Clamp = "clamp",
        /// OMOD is legal.
        Omod = "omod",
        /// VOP3: OP_SEL selects register halves.
        Opsel = "opsel",
        /// VOP3: bit 3 of OP_SEL selects the half of the destination. No assembly text sets it.
        DstHalf = "dst_half",
        /// OP_SEL must be zero.
        Noopsel = "noopsel",
        /// OP_SEL and OP_SEL_HI exist but must be as in a plain instance.
        PlainHalves = "plain_halves",
        /// Tuples of vector registers may begin at odd numbers where others may not.
        OddTuple = "odd_tuple",
        /// Mixed precision: OP_SEL_HI says whether a source is f16, NEG_HI is an absolute-value bit. Rows with sources of
        /// type `mix` have it.
        Mix = "mix",
        /// The first two sources are swapped compared with other instructions.
        Reversed = "reversed",
        /// OMOD, ABS and NEG together hold an 8-bit truth table.
        Bitop3 = "bitop3",
        /// The bits 0 and 1 of OP_SEL are the DPP bits FI and BOUND_CTRL.
        Dppctl = "dppctl",
        /// VOP3 interpolation: the attribute is in SRC0, the VGPR in SRC1.
        Interp = "interp",
        /// Moves to or from an accumulation VGPR.
        Acc = "acc",
        /// Matrix A is sparse: SRC2 holds indices, VDST is also the addend.
        Sparse = "sparse",
        /// ABID must be zero.
        Noabid = "noabid",
        /// SDWA selects no part of the destination: DST_SEL must be DWORD.
        SdwaNodst = "sdwa_nodst",
        /// The LDS bit is legal: memory to LDS, no data VGPRs.
        Lds = "lds",
        /// The LDS bit must be set.
        LdsOnly = "lds_only",
        /// The TFE bit is legal where the encoding has one.
        Tfe = "tfe",
        /// No returning form: GLC must be zero.
        Nortn = "nortn",
        /// The SCC bit must be zero.
        Noscc = "noscc",
        /// Converts through a data format.
        Typed = "typed",
        /// Low half of the data register; the other half is kept.
        D16 = "d16",
        /// High half of the data register; the other half is kept.
        D16Hi = "d16_hi",
        /// The result is a half, and the other half of the register is kept.
        KeepsHalf = "keeps_half",
        /// Image: the D16 bit is legal.
        TexelD16 = "texel_d16",
        /// Image: DMASK selects one channel, and four texels are returned.
        Gather = "gather",
        /// Image: memory is compared with half of the data.
        Compare = "compare",
        /// The GDS bit is legal.
        Gds = "gds",
        /// The GDS bit must be set.
        GdsOnly = "gds_only",
        /// Two 8-bit offsets in elements instead of one 16-bit offset in bytes.
        TwoOffsets = "two_offsets",
        /// No offset: the field must be zero.
        NoOffset = "no_offset",
        /// The offset is a lane pattern.
        Swizzle = "swizzle",
        /// Scalar scratch: register offsets count 64 bytes.
        ScratchOffset = "scratch_offset",
        /// Jumps always.
        Jump = "jump",
        /// Jumps on a condition.
        Branch = "branch",
        /// Ends the wave.
        Endpgm = "endpgm",
        /// Waits for other waves.
        Barrier = "barrier",
        /// Waits for counters.
        Wait = "wait",
        /// Orders, flushes or drops caches.
        Fence = "fence",
        /// Cache scopes are legal, though no memory is accessed.
        Scopes = "scopes",
        /// Exports.
        Export = "export",
    }
}

words! {
    /// How exact the meaning of an instruction is, best first.
    ///
    /// The level covers the computation of the instruction, except what its facets name.
    pub enum Fidelity {
        /// The cited text or an outside oracle fixes all bits, except those of the named facets.
        Exact = "exact",
        /// Correctly rounded, where the manual gives an error bound or no accuracy: hardware may differ in the last bits, and in the named facets.
        Rounded = "rounded",
        /// A documented choice, which the facets name: the manuals are silent or contradict themselves about the whole meaning.
        Modelled = "modelled",
        /// No meaning yet: reaching it is a fault.
        Unsupported = "unsupported",
    }
}

words! {
    /// The aspect of a meaning that a facet leaves open.
    pub enum FacetKind {
        /// Which NaN results: its sign, its payload, or the number that replaces it.
        Nan = "nan",
        /// Which denormal field of MODE counts, or whether denormals are flushed.
        DenormField = "denorm_field",
        /// Which rounding field of MODE counts, or where a result is rounded.
        RoundField = "round_field",
        /// The order, grouping and width of a sum.
        Order = "order",
        /// The result for special or out-of-range operands.
        Value = "value",
        /// The effect of absolute value, negation, output modifier, clamp and selections.
        Modifiers = "modifiers",
        /// The half of the destination that the result does not fill.
        UpperHalf = "upper_half",
        /// Which lane, register or byte holds which element.
        Layout = "layout",
        /// The value of SCC.
        Scc = "scc",
        /// The influence of EXEC.
        Exec = "exec",
        /// How an address is formed.
        Address = "address",
        /// The limits of an access, and what happens beyond them.
        Range = "range",
        /// Clocks and their units.
        Time = "time",
        /// The machine around the wave: host, graphics pipeline, debugger, caches, counters.
        Environment = "environment",
    }
}

/// A set of values of a small enum, one bit each.
macro_rules! bitset {
    ($(#[$meta:meta])* $set:ident, $item:ident, $repr:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set($repr);

        impl $set {
            /// The empty set.
            pub const EMPTY: $set = $set(0);

            /// The set with these bits; bit `n` is the `n`th value.
            pub const fn from_bits(bits: $repr) -> $set {
                $set(bits)
            }

            /// The bits; bit `n` is the `n`th value.
            pub const fn bits(self) -> $repr {
                self.0
            }

            /// Whether `item` is a member.
            pub const fn contains(self, item: $item) -> bool {
                self.0 >> item as u32 & 1 != 0
            }

            /// The set with `item` added.
            #[must_use]
            pub const fn with(self, item: $item) -> $set {
                $set(self.0 | 1 << item as u32)
            }

            /// The set with `item` removed.
            #[must_use]
            pub const fn without(self, item: $item) -> $set {
                $set(self.0 & !(1 << item as u32))
            }

            /// Whether the set has no member.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The members in order of definition.
            pub fn iter(self) -> impl Iterator<Item = $item> {
                $item::ALL.iter().copied().filter(move |&item| self.contains(item))
            }
        }

        impl core::fmt::Debug for $set {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_set().entries(self.iter()).finish()
            }
        }
    };
}

bitset!(
    /// A set of [`State`]s.
    StateSet, State, u16
);
bitset!(
    /// A set of [`Flag`]s.
    FlagSet, Flag, u64
);

/// A memory access of an instruction: what it does and to which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemAccess {
    /// What it does.
    pub op: MemOp,
    /// To which memory.
    pub space: MemSpace,
}

/// The element type that a code of CBSZ or BLGP gives to operands of type [`Elem::F8f6f4`] (CDNA4 ISA 7.1.5); `None` if it
/// is reserved.
pub const fn matrix_format(code: u32) -> Option<Elem> {
    Some(match code {
        0 => Elem::Fp8,
        1 => Elem::Bf8,
        2 => Elem::Fp6,
        3 => Elem::Bf6,
        4 => Elem::Fp4,
        _ => return None,
    })
}
