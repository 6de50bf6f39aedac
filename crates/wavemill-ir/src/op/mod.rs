//! The operations.
//!
//! Conventions that hold for all of them:
//! - `dst[0]` is the result, `dst[1]` the second result (the flag of a scalar operation, carry or compare mask of a
//!   varying one); a slot that is [`Operand::None`](crate::Operand::None) is not written.
//! - `src[0..4]` are the sources in the order of the operation's documentation.
//! - Shift and rotate amounts are taken modulo the width of the shifted value, unless an operation says otherwise.

/// Declares an enum of operations. Each has a line: its name in the text form of the IR, its
/// sources and results, and flags, which are methods of [`Signature`]. The documentation above the
/// line defines the operation. `of` names the type or width that sources and results may depend on.
macro_rules! ops {
    ($(#[$meta:meta])* $vis:vis enum $name:ident $(of $ty:ident)? {
        $($(#[doc = $doc:literal])+
        $variant:ident = $text:literal ($($source:expr),*) -> ($($result:expr),*) $($flag:ident)*;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        $vis enum $name { $($(#[doc = $doc])+ $variant,)* }

        impl $name {
            /// All operations of this kind, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Name in the text form of the IR.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// Its sources, results and effects.
            #[must_use]
            pub const fn signature(self $(, $ty: crate::Value)?) -> crate::Signature {
                #[allow(unused_imports, reason = "lines name the values that they need")]
                use crate::op::signature::values::*;
                match self {
                    $($name::$variant => crate::Signature::new(
                        $text,
                        concat!($($doc, "\n"),+),
                        &[$($source),*],
                        &[$($result),*],
                    )$(.$flag())*,)*
                }
            }
        }
    };
}

use crate::{ImageKind, ImageLevel, ImageOp, LanePattern, Row, Uni};

mod convert;
mod float;
mod integer;
mod lane;
mod memory;
mod scalar;
mod signature;
mod types;

pub use convert::CvtOp;
pub use float::FloatOp;
pub use integer::IntOp;
pub use lane::LaneOp;
pub use memory::{
    AtomicOp, BufferAddr, CounterOp, FenceScope, MemType, Space, SyncOp, TexelAccess, TexelCells,
};
pub use scalar::ScalarOp;
pub use signature::{Effects, Signature, Value};
pub use types::{CmpPred, FloatType, IntType, Width};

/// A value that a program can read from the machine, in two cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Status {
    /// The context of the wave, under which its blocks are lifted.
    Context,
    /// The clock of the processor.
    Clock,
    /// The constant-rate clock.
    RealTime,
    /// Address of the first byte of LDS in the flat address space.
    LdsBase,
    /// Address of the first byte of private memory in the flat address space.
    ScratchBase,
    /// Number of bytes of LDS that accesses can reach: up to the end of the last granule.
    LdsEnd,
    /// Number of rows of the first bank that the wave has.
    Rows,
}

impl Status {
    /// What its value depends on.
    const fn effects(self) -> Effects {
        match self {
            Status::Context | Status::LdsBase | Status::ScratchBase | Status::LdsEnd | Status::Rows => {
                Effects::NONE
            }
            Status::Clock | Status::RealTime => Effects { reads_surroundings: true, ..Effects::NONE },
        }
    }
}

/// Range of cells that an index can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct CellRange {
    /// First cell.
    pub first: Uni,
    /// The end of the range, exclusive. The range is shorter if the wave has fewer cells.
    pub end: Uni,
}

/// Rows that the indices of lanes can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RowRange {
    /// First row.
    pub first: Row,
    /// The end of the range in the same bank, exclusive. The range is shorter if the wave has fewer
    /// rows.
    pub end: Row,
    /// Rows from one index to the next.
    pub stride: u8,
}

impl RowRange {
    /// Whether the rows are there, in one bank, and the stride is not 0.
    #[must_use]
    pub const fn is_defined(self) -> bool {
        let last = self.end.0.saturating_sub(1);
        let one_bank = self.first.0 / Row::BANK == last / Row::BANK;
        self.stride != 0 && self.first.0 <= last && self.end.0 <= Row::TEMP0.0 && one_bank
    }

    /// Whether a row is one of them.
    #[must_use]
    pub fn contains(self, row: Row) -> bool {
        (self.first..self.end).contains(&row)
    }

    /// The row that an index from a base leads to if the range lacks it: the first row that is a
    /// multiple of the stride away from the base.
    #[must_use]
    pub const fn fallback(self, base: Row) -> Row {
        Row(self.first.0 + base.0.saturating_sub(self.first.0) % self.stride as u16)
    }
}

/// The signature of an operation with parameters.
const fn line(name: &'static str, sources: &[Value], results: &[Value], effects: Effects) -> Signature {
    Signature::new(name, "", sources, results).with(effects)
}

/// The effects of an access to an image.
const fn image_effects(op: ImageOp) -> Effects {
    let own = match op.kind {
        ImageKind::Load { .. } | ImageKind::Sample(_) | ImageKind::Gather(..) => Effects::LOAD,
        ImageKind::Store { .. } => Effects::STORE,
        ImageKind::Atomic(..) => Effects::ATOMIC,
        ImageKind::Size | ImageKind::Level => Effects { may_fault: true, ..Effects::NONE },
    };
    let quads = !matches!(op.level(), None | Some(ImageLevel::Given | ImageLevel::Zero));
    Effects { crosses_lanes: quads, ..own }
}

/// Declares the operations with their parameters and signatures.
macro_rules! operations {
    ($($(#[doc = $doc:literal])+ $variant:ident $(($($field:ident: $ty:ty),+))? = $line:expr;)*) => {
        /// The kind of an IR operation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Op { $($(#[doc = $doc])+ $variant $(($($ty),+))?,)* }

        impl Op {
            /// The kinds of operations with the sentences that define them.
            pub const KINDS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($variant), concat!($($doc, "\n"),+))),*];

            /// Its sources, results and effects.
            #[must_use]
            pub const fn signature(self) -> Signature {
                use signature::values::*;
                match self {
                    $(Op::$variant $(($($field),+))? => $line.or_doc(concat!($($doc, "\n"),+)),)*
                }
            }
        }
    };
}

operations! {
    /// Uniform integer operation of the given width.
    Scalar(op: ScalarOp, width: Width) = op.signature(Value::uniform(width));
    /// Uniform comparison of `src0` and `src1` into `dst[0]` (0 or 1). The predicates are less,
    /// equal, greater and their combinations, of i32, u32 and u64; others are unsupported.
    ScalarCmp(_pred: CmpPred, ty: IntType) =
        line("s.cmp", &[Value::Uniform(ty.dwords()), Value::Uniform(ty.dwords())], &[FLAG], Effects::NONE);
    /// Varying integer operation. In a mask as the second result, the bits of lanes that are not
    /// computed are 0.
    Int(op: IntOp) = op.signature();
    /// Varying integer comparison into the mask `dst[0]`: bit = active and predicate.
    IntCmp(_pred: CmpPred, ty: IntType) = line("cmp", &[Value::int(ty), Value::int(ty)], &[MASK], Effects::NONE);
    /// Varying integer comparison that selects: `dst[0]` = `src2` where the predicate of `src0` and
    /// `src1` holds, else `src3`; the mask `dst[1]`: bit = active and predicate. The type has 32
    /// bits. The values are copied, so floats as values keep their bits.
    IntSelect(_pred: CmpPred, ty: IntType) =
        line("select", &[Value::int(ty), Value::int(ty), B32, B32], &[B32, MASK], Effects::NONE);
    /// Varying float operation; unsupported on a type that it is not defined for. In a mask as the
    /// second result, the bits of lanes that are not computed are 0.
    Float(op: FloatOp, ty: FloatType) = op.signature(Value::Float(ty));
    /// Varying float comparison into the mask `dst[0]`: bit = active and predicate. With `imm` 1,
    /// quiet NaNs raise the exception "invalid", too.
    FloatCmp(_pred: CmpPred, ty: FloatType) = line("cmp", &[Value::Float(ty), Value::Float(ty)], &[MASK], Effects::NONE);
    /// Varying float comparison that selects: `dst[0]` = `src2` where the predicate of `src0` and
    /// `src1` holds, else `src3`; the mask `dst[1]`: bit = active and predicate. The type is f32 or
    /// f64. The values are copied: without modifiers, denormals and NaNs stay as they are, and so do
    /// integers (documented choice: the mode of denormals applies to the comparison only). There are
    /// no modifiers of `src3`.
    FloatSelect(_pred: CmpPred, ty: FloatType) = line(
        "select",
        &[Value::Float(ty), Value::Float(ty), Value::Float(ty), Value::Float(ty)],
        &[Value::Float(ty), MASK],
        Effects::NONE,
    );
    /// Test of `src0` against the class mask `src1` into the mask `dst[0]`.
    FloatClass(ty: FloatType) = line("class", &[Value::Float(ty), B32], &[MASK], Effects::NONE);
    /// Varying conversion. A conversion to integers raises the exception "inexact" only with `imm`
    /// 1.
    Cvt(op: CvtOp) = op.signature();
    /// Varying conversion to or from a small float format. The elements are in `src0` (and `src1`).
    /// `src2` is an f32 whose exponent is the scale, or none; `src3` is a random number, or none.
    /// `sel` of `src0` says where its elements begin. A result of less than a cell leaves the rest
    /// of the destination unchanged.
    FormatCvt(cvt: crate::FormatCvt) = line(
        "cvt",
        &[
            Value::Bits(cvt.source_dwords()),
            if cvt.interleaved { Value::Bits(cvt.source_dwords()) } else { NONE },
            B32,
            B32,
        ],
        &[Value::Bits(cvt.result_dwords())],
        Effects::NONE,
    ).optional(2).optional(3);
    /// Movement between lanes.
    Lane(op: LaneOp) = op.signature().with(Effects::LANES);
    /// `dst` = `src0` of the lane that the pattern names, 0 if that lane is not active.
    Swizzle(_pattern: LanePattern) = line("swizzle", &[B32], &[B32], Effects::LANES);
    /// Transposition of a matrix of small elements within each group of 16 lanes. The parameter is
    /// the element width in bits: 4, 6, 8 or 16. A lane has m elements in the rows at `src0` (two
    /// rows, three for 6 bits). In lane order, the elements of the group form a matrix of m rows of
    /// 16 elements; lane `n` gets column `n`. Inactive lanes count as zeros.
    Transpose(bits: u8) = line(
        "transpose",
        &[Value::Bits(if bits == 6 { 3 } else { 2 })],
        &[Value::Bits(if bits == 6 { 3 } else { 2 })],
        Effects::LANES,
    ).wants_rows();
    /// Product of matrices: `dst` = C + A B, as [`MatrixOp`](crate::MatrixOp) says. Sources are the
    /// rows of A, B and C, then the indices of a sparse A or the scales of A, then the scales of B.
    /// A scalar C is the value of every element. An index is the column of its element among four.
    /// A scale multiplies its 32 factors by 2 to the power of its byte minus 127; 255 makes them
    /// NaN. All lanes take part; all sources are read before the result is written. With the mode's
    /// `fp16_ovfl`, an f32 result that overflows is the largest number and an integer one saturates.
    /// Only f64 results raise exceptions, each in its lane.
    Matrix(op: crate::MatrixOp) = line(
        "matrix",
        &[
            Value::Rows(op.cells(crate::MatrixOperand::A) as u16),
            Value::Rows(op.cells(crate::MatrixOperand::B) as u16),
            Value::Elements { cells: op.cells(crate::MatrixOperand::C) as u16, each: if op.c.bits() == 64 { 2 } else { 1 } },
            if op.sparse.is_some() || op.scales.is_some() { B32 } else { NONE },
            if op.scales.is_some() { B32 } else { NONE },
        ],
        &[Value::Bits(op.cells(crate::MatrixOperand::C) as u16)],
        Effects::LANES,
    );
    /// `dst` = uniform load of that many dwords from `src0` (64-bit address) + `src1` (uniform
    /// offset or none) + `imm`. The two low bits of each of the three are ignored.
    ScalarLoad(n: u8) = line("s.load", &[U64, U32], &[Value::Uniform(n as u16)], Effects::LOAD).optional(1);
    /// The same through the buffer resource in the four cells at `src0`: its base without the two
    /// low bits, and the sum of the offsets without them. Dwords that do not end within the
    /// resource's bytes (records, times the stride if that is not 0) are 0. If a dword in range is
    /// not in memory, the fault names the first such dword.
    ScalarBufferLoad(n: u8) =
        line("s.buffer_load", &[Value::Uniform(4), U32], &[Value::Uniform(n as u16)], Effects::LOAD).optional(1);
    /// Uniform store of that many dwords: address as [`Op::ScalarLoad`], data `src2`.
    ScalarStore(n: u8) =
        line("s.store", &[U64, U32, Value::Uniform(n as u16)], &[], Effects::STORE).optional(1);
    /// Uniform store through a buffer resource: address and range as [`Op::ScalarBufferLoad`], data
    /// `src2`. Dwords out of range are not stored. If a dword in range is not in memory, the fault
    /// names the first such dword, and nothing is stored.
    ScalarBufferStore(n: u8) =
        line("s.buffer_store", &[Value::Uniform(4), U32, Value::Uniform(n as u16)], &[], Effects::STORE)
            .optional(1);
    /// Uniform atomic, whatever lanes are active: address as [`Op::ScalarLoad`], data `src2`,
    /// second datum `src3`. `dst[0]`, if present, is the old value. The parameter is the width of
    /// the datum. An address that is not a multiple of the size is a fault of its own kind, in lane
    /// 0.
    ScalarAtomic(op: AtomicOp, width: Width) = line(
        "s.atomic",
        &[U64, U32, Value::uniform(width), if op.has_second_datum() { Value::uniform(width) } else { NONE }],
        &[Value::uniform(width)],
        Effects::ATOMIC,
    ).optional(1);
    /// The same through a buffer resource: address and range as [`Op::ScalarBufferLoad`]. If the
    /// datum does not end within the resource's bytes, nothing happens, and the old value is 0.
    ScalarBufferAtomic(op: AtomicOp, width: Width) = line(
        "s.buffer_atomic",
        &[
            Value::Uniform(4),
            U32,
            Value::uniform(width),
            if op.has_second_datum() { Value::uniform(width) } else { NONE },
        ],
        &[Value::uniform(width)],
        Effects::ATOMIC,
    ).optional(1);
    /// Varying load from the address row(s) `src0` (64-bit for global and flat without `src1`, else
    /// a 32-bit offset; none: 0), plus the uniform base `src1` (64-bit for global, 32-bit offset
    /// for scratch), plus `imm`. Offsets are unsigned; addresses in LDS wrap at 32 bits. Bytes
    /// beyond the last granule of LDS read as 0. Private memory ends at the size that each lane
    /// has. In the global data share, `src1`\[31:16\] is the base and `src1`\[15:0\] the number of
    /// bytes from there that may be accessed; offsets from the base wrap at 32 bits, and other bytes
    /// are a fault. Without `src1`, all of it may be accessed. If all active lanes have one address, it is read once.
    Load(space: Space, ty: MemType) = line(
        "load",
        &[Value::Address(space), Value::Base(space)],
        &[Value::Bits(ty.dwords())],
        Effects::LOAD,
    ).updates_if(ty.keeps_half());
    /// Varying store: address as [`Op::Load`], data `src2`. Lanes store in ascending order; of
    /// adjacent active lanes with one address, only the last one stores. Bytes beyond the last
    /// granule of LDS are dropped.
    Store(space: Space, ty: MemType) = line(
        "store",
        &[Value::Address(space), Value::Base(space), Value::Bits(ty.dwords())],
        &[],
        Effects::STORE,
    );
    /// Varying atomic: address as [`Op::Load`], data `src2`, second datum `src3` (the comparand of
    /// compare-and-swap). `dst[0]`, if present, is the old value. The parameter is the width of the
    /// datum. Lanes operate in ascending order. A lane whose address is not a multiple of the size
    /// is a fault of its own kind, before any memory access. Beyond the end of LDS nothing happens,
    /// and the old value is 0. Private memory has no atomics.
    Atomic(op: AtomicOp, space: Space, width: Width) = line(
        "atomic",
        &[
            Value::Address(space),
            Value::Base(space),
            Value::Bits(width.dwords()),
            if op.has_second_datum() { Value::Bits(width.dwords()) } else { NONE },
        ],
        &[Value::Bits(width.dwords())],
        Effects::ATOMIC,
    );
    /// Load through the buffer resource in the four uniform cells at `src1`, with the uniform
    /// offset `src2` or none, and the offset `imm`. `src0` has the lane's index and offset, if the
    /// address form has them. The lane's offset plus `imm` wraps at 32 bits; the uniform offset is
    /// added afterwards. A dword (a narrow value, the whole datum of an atomic) is out of range if
    /// it ends after the number of records in bytes, counted from the base; with an index and a
    /// stride, if the index is not below the number of records; never if the resource adds the lane
    /// number to the index. Out of range, a load gives 0, and a store or an atomic does nothing;
    /// the old value of the atomic is 0. Of the resource, bits 47:0 are the base, 61:48 the stride,
    /// 63 is set if it is swizzled, 95:64 are the number of records, 118:117 say how many records
    /// are interleaved (8, 16, 32, 64), 119 is set if the lane number is added; then 114:111 are
    /// bits 17:14 of the stride. The address is base plus uniform offset plus `index * stride +
    /// offset`; swizzled, plus `((index / n) * stride + offset / 4 * 4) * n + index % n * 4 +
    /// offset % 4`. A dword or half that spans two elements of 4 bytes of a swizzled buffer is
    /// accessed byte by byte. A resource that adds the lane number and has its base in private
    /// memory reaches only the private memory of the wave. An address that all lanes read is read
    /// once; adjacent lanes that store to one address behave as in [`Op::Store`].
    BufferLoad(ty: MemType, addr: BufferAddr) =
        line("buffer_load", &[addr.value(), Value::Uniform(4), U32], &[Value::Bits(ty.dwords())], Effects::LOAD)
            .optional(2)
            .updates_if(ty.keeps_half());
    /// The same for a store, data `src3`.
    BufferStore(ty: MemType, addr: BufferAddr) = line(
        "buffer_store",
        &[addr.value(), Value::Uniform(4), U32, Value::Bits(ty.dwords())],
        &[],
        Effects::STORE,
    ).optional(2);
    /// Load of a texel through a buffer resource: address and range as [`Op::BufferLoad`], but a
    /// texel is in range or not as a whole, and the stride has 14 bits. The format is that of the
    /// operation; if it has none, bits 114:111 of the resource are the data format and bits 110:108
    /// the number format. Then component `n` of the result is what the bits `98 + 3 n`:`96 + 3 n`
    /// of the resource select: 4 to 7 select the components X, Y, Z and W of the texel, 0 and 3
    /// select 0, 1 and 2 select 1. Where the format has fewer components, their numbers count
    /// modulo its number of components, and 3 selects X if it has only X. If the operation has a
    /// format, nothing is selected, and components that the format lacks are 0. Out of range, and
    /// in a format that does not exist, the texel has components of 0, and no memory is accessed.
    BufferLoadTexel(texel: TexelAccess, addr: BufferAddr) =
        line("texel_load", &[addr.value(), Value::Uniform(4), U32], &[Value::Bits(texel.dwords())], Effects::LOAD)
            .optional(2)
            .updates_if(texel.keeps_half());
    /// The same for a store, data `src3`. Components that the operation lacks are 0. If the resource
    /// has the format, its selections `x`, `y`, `z` and `w` give the order of the components. In a
    /// format of four, with `y` selecting Y, and in a format of three, component `n` of the texel is
    /// what selection `n` names in the data. In other formats of four, it is what selection `3 - n`
    /// names in the reversed data. In a format of two, the components are W and X if `x` does not
    /// select X and `z` selects a component; else X and W if `y` selects a constant, or if `x` and
    /// `z` select components; else X and Y if `x` selects X; else Y and X. In a format of one, the
    /// component is X if `x` selects X, else W; an operation of one component stores it in any case,
    /// or the constant that `x` selects.
    BufferStoreTexel(texel: TexelAccess, addr: BufferAddr) = line(
        "texel_store",
        &[addr.value(), Value::Uniform(4), U32, Value::Bits(texel.dwords())],
        &[],
        Effects::STORE,
    ).optional(2);
    /// Atomic through a buffer resource, as [`Op::BufferLoad`]; the second datum follows the first one in the rows at `src3`.
    BufferAtomic(op: AtomicOp, width: Width, addr: BufferAddr) = line(
        "buffer_atomic",
        &[
            addr.value(),
            Value::Uniform(4),
            U32,
            Value::Bits(if op.has_second_datum() { 2 * width.dwords() } else { width.dwords() }),
        ],
        &[Value::Bits(width.dwords())],
        Effects::ATOMIC,
    ).optional(2);
    /// Operation on a counter in LDS or the global data share: `dst` = old value, broadcast. The
    /// counter is at byte `src0`\[15:0\] + `imm` of LDS, or `src0`\[31:16\] + `imm` of the global
    /// data share; the two low bits of the sum are ignored. It changes by plus (append) or minus
    /// (consume) the number of active lanes, or by the datum `src1` of the first active lane (add,
    /// swap). Nothing happens if no lane is active, nor to a counter beyond the end of LDS, which
    /// reads as 0. A counter beyond the end of the global data share is a fault. Other spaces are
    /// unsupported.
    Counter(op: CounterOp, _space: Space) = line(
        match op {
            CounterOp::Append => "append",
            CounterOp::Consume => "consume",
            CounterOp::Add => "counter_add",
            CounterOp::Swap => "counter_swap",
        },
        &[U32, if op.has_datum() { B32 } else { NONE }],
        &[B32],
        Effects::ATOMIC,
    );
    /// Operation on the synchronization state of the device, whatever lanes are active. Bits 21:16
    /// of `src0` plus `imm`, modulo 64, name the resource. The datum is `src1` of the first active
    /// lane, or of lane 0. For a turn, `src0`\[10:0\] is the number and `imm`\[1:0\] the order. If
    /// the wave must wait, it leaves before its guest instruction and runs it again when the wait is
    /// over.
    Sync(op: SyncOp) = line(
        match op {
            SyncOp::Init => "sync.init",
            SyncOp::Barrier => "sync.barrier",
            SyncOp::Gather => "sync.gather",
            SyncOp::Raise => "sync.raise",
            SyncOp::RaiseBy => "sync.raise_by",
            SyncOp::Lower => "sync.lower",
            SyncOp::ReleaseAll => "sync.release_all",
            SyncOp::Turn => "sync.turn",
            SyncOp::Pass => "sync.pass",
        },
        &[U32, if op.has_datum() { B32 } else { NONE }],
        &[],
        Effects::SYNC,
    );
    /// Access to an image, as [`ImageOp`](crate::ImageOp) says. `src0` are the rows of the address,
    /// as many as any resource needs: texel offsets (6 bits for each coordinate, signed, in bytes
    /// 0, 1 and 2), bias, reference, derivatives, coordinates, and level or limit of the level. The
    /// resource in the eight cells at `src1` says which coordinates there are. `src2` are the four
    /// cells of the sampler. `src3` are the rows of data of a store or an atomic; the second datum
    /// of an atomic follows the first. Without a sampler, coordinates are integers: a load outside
    /// the image reads texels that are 0, a store or an atomic does nothing, and the old value is
    /// 0. An atomic on a texel of another size is a fault. The fields of descriptors, the addresses
    /// of texels and the arithmetic of filters are those of `wavemill_machine::image`. A field that
    /// has no meaning there is a fault that names it, and nothing has taken effect. Lanes store and
    /// operate in ascending order.
    Image(op: crate::ImageOp) = line(
        "image",
        &[
            Value::Rows(op.address_cells()),
            Value::Uniform(8),
            if op.has_sampler() { Value::Uniform(4) } else { NONE },
            if op.source_cells() > 0 { Value::Rows(op.source_cells()) } else { NONE },
        ],
        &[if op.result_cells() > 0 { Value::Bits(op.result_cells()) } else { NONE }],
        image_effects(op),
    );
    /// Uniform `dst` = one element of LDS at byte `src0`\[15:0\]. `src0`\[18:16\] is its type: 0
    /// u8, 1 u16, 2 dword, 4 i8, 5 i16; small types are extended. The result is 0 beyond the end of
    /// LDS, and for the other types.
    LdsDirect = line("s.lds_direct", &[U32], &[U32], Effects::LOAD);
    /// Load of a parameter that is interpolated: `dst` = one dword of LDS. `src0`\[15:0\] is the byte
    /// offset of the parameters. Lanes are 16 quads, and bit 15 + n of `src0` says that quad n begins
    /// a new primitive; quad 0 always does. `imm` is 4 times the attribute's number plus the channel.
    /// Each attribute has 12 dwords for each primitive of the wave: four channels of the part P0,
    /// then of P10, then of P20. Bytes beyond the last granule of LDS read as 0.
    Parameter(part: crate::ParameterPart) = line(
        match part {
            crate::ParameterPart::P0 => "parameter.p0",
            crate::ParameterPart::P10 => "parameter.p10",
            crate::ParameterPart::P20 => "parameter.p20",
        },
        &[U32],
        &[B32],
        Effects::LOAD,
    );
    /// Export of the values of the active lanes: up to four sources, of which it sends those that its
    /// description names. A wave's exports are in the order of its program.
    Export(_export: crate::ExportOp) =
        line("export", &[B32, B32, B32, B32], &[], Effects::ORDER).optional(0).optional(1).optional(2).optional(3);
    /// Orders memory operations of the wave.
    Fence(_scope: FenceScope) = line("fence", &[], &[], Effects::ORDER);
    /// `dst` = a status of the machine or of the wave.
    ReadStatus(status: Status) = line("read_status", &[], &[U64], status.effects());
    /// A message that a functional model ignores.
    Message = line("message", &[], &[], Effects::ORDER);
    /// Uniform move from a cell by index: `dst = cells[src0 + src1]`; the parameter is the width. A
    /// pair may start at any cell. For a source that is not wholly in the range, or that the wave
    /// lacks, the first cell (or the first two) is read.
    MoveRelSource(width: Width, _cells: CellRange) =
        line("s.movrels", &[Value::uniform(width), U32], &[Value::uniform(width)], Effects::NONE);
    /// Uniform move to a cell by index: `cells[dst + src1] = src0`. Cells outside the range are not
    /// written.
    MoveRelDest(width: Width, _cells: CellRange) =
        line("s.movreld", &[Value::uniform(width), U32], &[Value::uniform(width)], Effects::NONE);
    /// The given number of rows of a bank, from `src0` + `src1` on, in all lanes, active or not. A
    /// row that the wave lacks is the first one of the bank. Unsupported if the wave has no row of
    /// the bank.
    IndexedRead(n: u8) =
        line("indexed_read", &[Value::Bits(n as u16), U32], &[Value::Bits(n as u16)], Effects::NONE).wants_rows();
    /// Writes the rows from `src0` on to the rows of a bank from `dst` + `src1` on, in all lanes,
    /// active or not. If the wave lacks one of them, none is written.
    IndexedWrite(n: u8) =
        line("indexed_write", &[Value::Bits(n as u16), U32], &[Value::Bits(n as u16)], Effects::NONE).wants_rows();
    /// A row by an index of each lane: lane `n` of `dst` is lane `n` of the row that is `src1` times
    /// the stride of the range after `src0`. The index is signed, and the product is exact. If the
    /// range or the wave lacks the row, the first row of the range counts that is a multiple of the
    /// stride away from `src0`. `src0` is in the range. Unsupported if the wave has no row of the
    /// bank.
    LaneIndexedRead(_rows: RowRange) = line("lane_indexed_read", &[B32, B32], &[B32], Effects::NONE).wants_rows();
    /// Writes `src0` to a row by an index of each lane, `src1`: to the row that
    /// [`Op::LaneIndexedRead`] of `dst` reads. If the range or the wave lacks it, the lane writes
    /// nothing.
    LaneIndexedWrite(_rows: RowRange) = line("lane_indexed_write", &[B32, B32], &[B32], Effects::NONE);
}

impl Op {
    /// Whether the operation exists: its parameters are valid.
    #[must_use]
    pub const fn is_defined(self) -> bool {
        match self {
            Op::ScalarLoad(n) | Op::ScalarBufferLoad(n) => matches!(n, 1 | 2 | 4 | 8 | 16),
            Op::ScalarStore(n) | Op::ScalarBufferStore(n) => matches!(n, 1 | 2 | 4),
            Op::Load(_, MemType::Dwords(n))
            | Op::Store(_, MemType::Dwords(n))
            | Op::BufferLoad(MemType::Dwords(n), _)
            | Op::BufferStore(MemType::Dwords(n), _) => matches!(n, 1..=4),
            Op::BufferLoadTexel(texel, address) | Op::BufferStoreTexel(texel, address) => {
                texel.is_defined() && (texel.format.is_some() || !address.plain)
            }
            Op::Transpose(bits) => matches!(bits, 4 | 6 | 8 | 16),
            Op::IntSelect(_, ty) => matches!(ty, IntType::I32 | IntType::U32),
            Op::FloatSelect(_, ty) => matches!(ty, FloatType::F32 | FloatType::F64),
            Op::Counter(_, space) => matches!(space, Space::Lds | Space::Gds),
            Op::MoveRelSource(_, cells) | Op::MoveRelDest(_, cells) => cells.end.0 <= Uni::COUNT,
            Op::LaneIndexedRead(rows) | Op::LaneIndexedWrite(rows) => rows.is_defined(),
            Op::Matrix(matrix) => matrix.is_defined(),
            Op::Image(image) => image.is_defined(),
            _ => true,
        }
    }

    /// The address form of an access through a buffer resource.
    #[must_use]
    pub const fn buffer_address(self) -> Option<BufferAddr> {
        match self {
            Op::BufferLoad(_, address)
            | Op::BufferStore(_, address)
            | Op::BufferLoadTexel(_, address)
            | Op::BufferStoreTexel(_, address)
            | Op::BufferAtomic(_, _, address) => Some(address),
            _ => None,
        }
    }

    /// Whether the operation raises floating-point exceptions.
    #[must_use]
    pub const fn raises(self) -> bool {
        match self {
            Op::Float(..) | Op::FloatCmp(..) | Op::FloatSelect(..) | Op::Cvt(_) => true,
            Op::Matrix(matrix) => matches!(matrix.c, crate::NumberFormat::F64),
            _ => false,
        }
    }

    /// Whether the operation works on both halves of its cells, so that source selects name halves.
    #[must_use]
    pub fn is_packed(self) -> bool {
        let [value, ..] = self.signature().results;
        matches!(value, Value::Halves | Value::Float(FloatType::PkF16)) && !matches!(self, Op::Cvt(_))
    }
}
