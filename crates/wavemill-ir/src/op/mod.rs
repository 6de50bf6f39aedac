//! The operations.
//!
//! Conventions that hold for all of them:
//! - `dst[0]` is the result, `dst[1]` the second result (SCC of a scalar operation, carry or compare mask of a
//!   varying one); a slot that is [`Operand::None`](crate::Operand::None) is not written.
//! - `src[0..4]` are the sources in the order of the operation's documentation.
//! - Shift and rotate amounts are taken modulo the width of the shifted value.

/// Declares an enum of operations with their names in the text form.
macro_rules! ops {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        $vis enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// All operations of this kind, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Name in the text form of the IR.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

mod convert;
mod float;
mod integer;
mod lane;
mod memory;
mod scalar;
mod types;

pub use convert::CvtOp;
pub use float::FloatOp;
pub use integer::IntOp;
pub use lane::LaneOp;
pub use memory::{AtomicOp, BufferAddr, FenceScope, MemType, Space};
pub use scalar::ScalarOp;
pub use types::{CmpPred, FloatType, IntType, Width};

/// Status that the program can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum StatusReg {
    /// `s_getreg_b32` of the hardware register with this number.
    HwReg(u8),
    /// The shader clock (`s_memtime`).
    MemTime,
    /// The constant-rate clock (`s_memrealtime`).
    MemRealTime,
}

/// What an IR operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Op {
    /// Uniform integer operation of the given width.
    Scalar(ScalarOp, Width),
    /// Uniform comparison of `src0` and `src1` into `dst[0]` (0 or 1).
    ScalarCmp(CmpPred, IntType),
    /// Varying integer operation.
    Int(IntOp),
    /// Varying integer comparison into the mask `dst[0]`: bit = active and predicate.
    IntCmp(CmpPred, IntType),
    /// Varying float operation.
    Float(FloatOp, FloatType),
    /// Varying float comparison into the mask `dst[0]`: bit = active and predicate. With `imm` 1 quiet NaNs raise the
    /// exception "invalid" too.
    FloatCmp(CmpPred, FloatType),
    /// Test of `src0` against the class mask `src1` into the mask `dst[0]`.
    FloatClass(FloatType),
    /// Varying conversion. One to integers raises the exception "inexact" with `imm` 1 only.
    Cvt(CvtOp),
    /// Varying conversion to or from a small float format: elements in `src0` (and `src1`), `src2` an f32 whose exponent
    /// is the scale or none, `src3` a random number or none. `sel` of `src0` says where its elements begin. A result of
    /// less than a cell leaves the rest of the destination as it is.
    FormatCvt(crate::FormatCvt),
    /// Movement between lanes.
    Lane(LaneOp),
    /// Transposition of a matrix of small elements within each group of 16 lanes. The element width in bits is beside it: 4, 6,
    /// 8 or 16. A lane has m elements in the rows at `src0` (two rows, three for 6 bits). Taken one after the other those
    /// of the group are a matrix of m rows of 16 elements; lane `n` gets its column `n`. Inactive lanes count as zeros.
    Transpose(u8),
    /// `dst` = uniform load of that many dwords from `src0` (64-bit address) + `src1` (uniform offset or none) + `imm`;
    /// the two low bits of each of the three are ignored.
    ScalarLoad(u8),
    /// The same through the buffer resource in the four cells at `src0`, with range check.
    ScalarBufferLoad(u8),
    /// Uniform store of that many dwords: address as [`Op::ScalarLoad`], data `src2`.
    ScalarStore(u8),
    /// Varying load: address row(s) `src0` (64-bit for global and flat without `src1`, else a 32-bit offset; none: 0),
    /// uniform base `src1` (64-bit for global, 32-bit offset for scratch), plus `imm`.
    Load(Space, MemType),
    /// Varying store: address as [`Op::Load`], data `src2`.
    Store(Space, MemType),
    /// Varying atomic: address as [`Op::Load`], `src2` data, `src3` second datum (comparand of compare-and-swap);
    /// `dst[0]` the old value. Width of the datum beside it.
    Atomic(AtomicOp, Space, Width),
    /// Load through the buffer resource in the four uniform cells at `src1`, `src2` = uniform offset, `imm` = offset. `src0` has
    /// the lane's index and offset, as far as the address form has them. The lane's offset plus `imm` wraps at 32 bits; the
    /// uniform offset is added behind that. A dword (a narrow value, the whole datum of an atomic) is out of range if it
    /// ends behind the number of records in bytes, counted from the base; with an index and a stride, if the index is not
    /// below the number of records; never if the resource adds the lane number to the index. Out of range, a load gives 0,
    /// a store does nothing, an atomic neither, and its old value is 0.
    BufferLoad(MemType, BufferAddr),
    /// The same for a store, data `src3`.
    BufferStore(MemType, BufferAddr),
    /// The same for an atomic; the second datum follows the first one in the rows at `src3`.
    BufferAtomic(AtomicOp, Width, BufferAddr),
    /// LDS allocation-counter operation: `dst` = old value broadcast, counter at M0 base + `imm` changed by plus
    /// (append) or minus (consume) the number of active lanes.
    LdsAppend(bool),
    /// Uniform `dst` = one element of LDS at byte M0\[15:0\]; M0\[18:16\] is its type: 0 u8, 1 u16, 2 dword, 4 i8, 5 i16, small
    /// ones extended. 0 where LDS ends before, and for the other types.
    LdsDirect,
    /// Orders memory operations of the wave.
    Fence(FenceScope),
    /// `dst` = status; for [`StatusReg::HwReg`], field offset in `imm[4:0]`, width in `imm[12:8]` minus one.
    ReadStatus(StatusReg),
    /// Writes `src0` into the field of a hardware register that is not MODE; fields as [`Op::ReadStatus`].
    WriteStatus(u8),
    /// A message that a functional model ignores (`s_sendmsg`).
    Message,
    /// Uniform load or store through M0-relative register index: `dst = cells[src0 + M0]`, width beside it.
    MoveRelSource(Width),
    /// `cells[dst + M0] = src0`.
    MoveRelDest(Width),
    /// The given number of rows from VGPR `src0` + index on, in all lanes whatever EXEC is; the index is M0\[7:0\] if the
    /// bit of M0 with the number `imm` is set, else 0. A VGPR that the wave has not reads as VGPR0.
    IndexedRead(u8),
    /// Writes the rows from `src0` on to those from VGPR `dst` + index on, in all lanes whatever EXEC is; the index is that
    /// of [`Op::IndexedRead`]. If the wave has not all of them, none is written.
    IndexedWrite(u8),
}

impl Op {
    /// Rows that each lane's part of a [`Op::Transpose`] with this element width takes.
    #[must_use]
    pub const fn transposed_rows(bits: u8) -> u16 {
        if bits == 6 { 3 } else { 2 }
    }

    /// Whether the operation works on both halves of its cells, so that source selects name halves (`op_sel`).
    #[must_use]
    pub fn is_packed(self) -> bool {
        match self {
            Op::Int(op) => op.name().starts_with("pk.") && op != IntOp::PkMov,
            Op::Float(_, t) | Op::FloatCmp(_, t) => t == FloatType::PkF16,
            _ => false,
        }
    }
}
