//! Attributes of an operation: changes to its operands before and after the computation.

use crate::LanePattern;

/// Part of a 32-bit register that a source reads or a destination writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum SubDword {
    /// Bits 7:0.
    Byte0,
    /// Bits 15:8.
    Byte1,
    /// Bits 23:16.
    Byte2,
    /// Bits 31:24.
    Byte3,
    /// Bits 15:0.
    Word0,
    /// Bits 31:16.
    Word1,
    /// All 32 bits (or the operand's whole width).
    #[default]
    Dword,
}

impl SubDword {
    /// Bit offset and width of the selected part.
    #[must_use]
    pub const fn bits(self) -> (u32, u32) {
        match self {
            SubDword::Byte0 => (0, 8),
            SubDword::Byte1 => (8, 8),
            SubDword::Byte2 => (16, 8),
            SubDword::Byte3 => (24, 8),
            SubDword::Word0 => (0, 16),
            SubDword::Word1 => (16, 16),
            SubDword::Dword => (0, 32),
        }
    }
}

/// Effect on the destination bits that a sub-dword write does not select.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum DstUnused {
    /// They become zero.
    #[default]
    Pad,
    /// Bits above the written part repeat its sign, bits below become zero.
    Sext,
    /// They keep their value.
    Preserve,
}

/// Output modifier of a float operation, applied to the rounded result before clamping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Omod {
    /// No change.
    #[default]
    None,
    /// Times two.
    Mul2,
    /// Times four.
    Mul4,
    /// Divided by two.
    Div2,
}

/// Modifiers of one source. Order of effect: select, then sign extension, then `abs`, then `neg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct SrcMods {
    /// Clears the sign of a float. Operations on two floats in a source do not have it. A packed
    /// source that an operation with another result takes as one value applies it to the low half.
    pub abs: bool,
    /// Flips the sign of a float after `abs` (of the low half of a packed one).
    pub neg: bool,
    /// Flips the sign of the high half of a packed float; acts as `abs` for the mixed-precision FMA.
    pub neg_hi: bool,
    /// Sign-extends the selected part of an integer.
    pub sext: bool,
    /// The selected part. For packed operations: the half that feeds the low result, `Word0` or `Word1`.
    pub sel: SubDword,
    /// For packed operations: whether the high result is fed by the high half.
    pub hi_sel: bool,
}

/// A permutation of the lanes of one source on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct LaneControl {
    /// Number of the permuted source, a row among the first three. The rules for results hold for
    /// every source. In a mask result, the bits of lanes that are not written are 0.
    pub source: u8,
    /// Which lane feeds each lane.
    pub pattern: LanePattern,
    /// Only these lanes of results may be written.
    pub written: u64,
    /// A lane that no active lane feeds reads 0; otherwise its results are not written.
    pub zero_fill: bool,
}

/// Rounding mode of a float operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Round {
    /// To nearest, ties to even.
    #[default]
    NearestEven,
    /// Towards plus infinity.
    PlusInf,
    /// Towards minus infinity.
    MinusInf,
    /// Towards zero.
    Zero,
}

impl Round {
    /// The mode with this two-bit code; higher bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Round {
        match bits & 3 {
            0 => Round::NearestEven,
            1 => Round::PlusInf,
            2 => Round::MinusInf,
            _ => Round::Zero,
        }
    }
}

/// The floating-point mode that an operation depends on, resolved for its own width
/// (Vega ISA 3.4, table 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FpEnv {
    /// Rounding mode.
    pub round: Round,
    /// Denormal inputs are kept; otherwise they read as zero of the same sign.
    pub denorm_in: bool,
    /// Denormal results are kept; otherwise they become zero of the same sign.
    pub denorm_out: bool,
    /// Signalling NaNs are quieted, minimum and maximum follow IEEE 754-2008.
    pub ieee: bool,
    /// Clamping turns NaN into zero.
    pub dx10_clamp: bool,
    /// An overflowed f16 result becomes the largest finite number.
    pub fp16_ovfl: bool,
}

impl FpEnv {
    /// Round to nearest even, denormals kept, `ieee` and `dx10_clamp` on: the mode that compilers
    /// set for compute kernels.
    pub const DEFAULT: FpEnv = FpEnv {
        round: Round::NearestEven,
        denorm_in: true,
        denorm_out: true,
        ieee: true,
        dx10_clamp: true,
        fp16_ovfl: false,
    };

    /// Whether the host's default arithmetic (nearest even, denormals kept) gives the result.
    #[must_use]
    pub const fn is_host_default(self) -> bool {
        matches!(self.round, Round::NearestEven) && self.denorm_in && self.denorm_out && !self.fp16_ovfl
    }
}

impl Default for FpEnv {
    fn default() -> Self {
        FpEnv::DEFAULT
    }
}

/// The participants that see the reads and writes of a memory operation without a fence. An engine
/// with one memory for all participants ignores it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum MemoryScope {
    /// The wave alone: caches need not be coherent.
    #[default]
    Wave,
    /// The waves of the workgroup.
    Workgroup,
    /// All waves of the device.
    Agent,
    /// Other devices and the host, too.
    System,
}

impl MemoryScope {
    /// All of them, the narrowest first.
    pub const ALL: [MemoryScope; 4] =
        [MemoryScope::Wave, MemoryScope::Workgroup, MemoryScope::Agent, MemoryScope::System];

    /// Name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MemoryScope::Wave => "wave",
            MemoryScope::Workgroup => "workgroup",
            MemoryScope::Agent => "agent",
            MemoryScope::System => "system",
        }
    }
}

/// All attributes of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Attrs {
    /// Modifiers of sources 0, 1 and 2.
    pub src: [SrcMods; 3],
    /// Output modifier.
    pub omod: Omod,
    /// Clamp: floats to \[0, 1\], integers to their type's range. An integer operation that does not saturate is unsupported
    /// with it.
    pub clamp: bool,
    /// The part of the destination that is written; only for results of one cell.
    pub dst_sel: SubDword,
    /// Effect on the other bits of the destination.
    pub dst_unused: DstUnused,
    /// Lane permutation of one source.
    pub lanes: Option<LaneControl>,
    /// Scope of a load, store or atomic of global memory.
    pub scope: MemoryScope,
    /// Floating-point mode in force.
    pub fp: FpEnv,
    /// Exceptions that stop the wave before the operation, if it raises one of them in a lane: the
    /// bits of `wavemill_float::Exceptions`. Only operations that raise exceptions look at it.
    pub traps: u8,
    /// Immediate of the operation: byte offset of a memory access, truth table...
    pub imm: i32,
}

impl Attrs {
    /// Whether only `fp` and `imm` are set: a plain operation.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Attrs { fp: self.fp, imm: self.imm, ..Attrs::default() }
    }
}
