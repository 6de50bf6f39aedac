//! Runs of integer operations in one handler.
//!
//! A run is adjacent operations from rows and scalars to rows, under the same mask. The first one
//! has the handler of the run, which performs all of them: their code in [`HostOp::dst2`] says how.
//! The result of each stays in registers for the next one, and it is stored only if something reads
//! its row. `compile/runs.rs` decides that.

use wavemill_ir::IntOp;

use super::Tier;
use super::body::{Body, ChunkFn, handler, lane_mask, scalar32, store_chunk};
use super::hostop::{Ctx, FLAGS, Handler, HostOp};
use super::int;
use super::simd::{CHUNKS, Simd};

/// Flag in [`HostOp::dst2`]: the operation can be part of a run. Its kind and form are in the lowest byte.
const STEP: u32 = 1 << 31;
/// Flag of an operation of a run: its result is stored.
const STORE: u32 = 1 << 30;
/// Flag of the last operation of a run.
const LAST: u32 = 1 << 29;
/// Number of forms of a kind.
const FORMS: u8 = 8;

/// Where a source comes from.
mod from {
    /// A row in memory.
    pub(super) const ROW: u8 = 0;
    /// The result of the operation before.
    pub(super) const HELD: u8 = 1;
    /// A cell or a constant.
    pub(super) const SCALAR: u8 = 2;
    /// A row in memory, a cell or a constant.
    pub(super) const ANY: u8 = 3;
}

/// The forms of a kind: where its sources come from.
pub(super) mod form {
    /// Any in memory.
    pub(crate) const ANY: u8 = 0;
    /// The first held, the others any.
    pub(crate) const FIRST: u8 = 1;
    /// The second held, the others any.
    pub(crate) const SECOND: u8 = 2;
    /// The third held, the others any.
    pub(crate) const THIRD: u8 = 3;
    /// Rows.
    pub(crate) const ROWS: u8 = 4;
    /// The first held, the others rows.
    pub(crate) const FIRST_ROWS: u8 = 5;
    /// A row and a scalar.
    pub(crate) const ROW_SCALAR: u8 = 6;
    /// The first held, the second a scalar.
    pub(crate) const FIRST_SCALAR: u8 = 7;
}

/// The chunks of source `i`; `FROM` is where it comes from.
#[inline(always)]
unsafe fn source<S: Simd, const FROM: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    i: usize,
    held: [S::V; CHUNKS],
) -> [S::V; CHUNKS] {
    // SAFETY: offsets are inside the register file, and rows have all chunks.
    unsafe {
        match FROM {
            from::HELD => held,
            from::ROW => row::<S>(ctx, op, i),
            from::ANY if (*op).src[i] & FLAGS == 0 => row::<S>(ctx, op, i),
            _ => [S::splat(scalar32(ctx, op, i)); CHUNKS],
        }
    }
}

/// The chunks of source `i`, which is a row.
#[inline(always)]
unsafe fn row<S: Simd>(ctx: *mut Ctx, op: *mut HostOp, i: usize) -> [S::V; CHUNKS] {
    // SAFETY: as above.
    unsafe {
        let at = (*ctx).base.add((*op).src[i] as usize);
        [S::load(at), S::load(at.add(64)), S::load(at.add(128)), S::load(at.add(192))]
    }
}

/// The result of an operation whose sources come from `A`, `B` and `C`.
#[inline(always)]
unsafe fn step<S: Simd, F: ChunkFn, const A: u8, const B: u8, const C: u8>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    held: [S::V; CHUNKS],
) -> [S::V; CHUNKS] {
    // SAFETY: the contract of `Body`.
    unsafe {
        let a = source::<S, A>(ctx, op, 0, held);
        // Sources that the operation does not have are not used.
        let b = if F::SOURCES > 1 { source::<S, B>(ctx, op, 1, held) } else { a };
        let c = if F::SOURCES > 2 { source::<S, C>(ctx, op, 2, held) } else { a };
        macro_rules! chunk {
            ($n:literal) => {
                F::apply::<S>(a[$n], b[$n], c[$n], 0)
            };
        }
        [chunk!(0), chunk!(1), chunk!(2), chunk!(3)]
    }
}

/// Declares the kinds of operations that can be part of a run, by their sources: `first` and `symmetric` exchange the
/// first two.
macro_rules! kinds {
    (
        one $($one:ident)*;
        two $($two:ident)*;
        two symmetric $($pair:ident)*;
        three $($three:ident)*;
        three symmetric $($triple:ident)*;
    ) => {
        /// A kind of operation that can be part of a run.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(super) enum Kind { $($one,)* $($two,)* $($pair,)* $($three,)* $($triple,)* }

        impl Kind {
            const ALL: &[Kind] = &[
                $(Kind::$one,)* $(Kind::$two,)* $(Kind::$pair,)* $(Kind::$three,)* $(Kind::$triple,)*
            ];

            /// Number of sources.
            pub(super) const fn sources(self) -> usize {
                match self {
                    $(Kind::$one)|* => 1,
                    $(Kind::$two)|* | $(Kind::$pair)|* => 2,
                    $(Kind::$three)|* | $(Kind::$triple)|* => 3,
                }
            }

            /// Whether the first two sources may be exchanged.
            pub(super) const fn is_symmetric(self) -> bool {
                matches!(self, $(Kind::$pair)|* | $(Kind::$triple)|*)
            }
        }

        kinds!(@codes $($one)* $($two)* $($pair)* $($three)* $($triple)*);

        /// The result of the operation with a code.
        #[inline(always)]
        unsafe fn result<S: Simd>(
            code: u8,
            ctx: *mut Ctx,
            op: *mut HostOp,
            held: [S::V; CHUNKS],
        ) -> [S::V; CHUNKS] {
            use from::{ANY, HELD, ROW, SCALAR};
            macro_rules! of {
                ($kind:ident $a:ident $b:ident $c:ident) => {
                    step::<S, int::$kind, $a, $b, $c>(ctx, op, held)
                };
            }
            // SAFETY: the contract of `Body`.
            unsafe {
                match code {
                    $(
                        code::$one::ANY => of!($one SCALAR ANY ANY),
                        code::$one::FIRST_ROWS => of!($one HELD ANY ANY),
                        code::$one::ROWS => of!($one ROW ANY ANY),
                    )*
                    $(
                        code::$two::ANY => of!($two ANY ANY ANY),
                        code::$two::FIRST_SCALAR => of!($two HELD SCALAR ANY),
                        code::$two::FIRST_ROWS => of!($two HELD ROW ANY),
                        code::$two::SECOND => of!($two ANY HELD ANY),
                        code::$two::ROWS => of!($two ROW ROW ANY),
                        code::$two::ROW_SCALAR => of!($two ROW SCALAR ANY),
                    )*
                    $(
                        code::$pair::ANY => of!($pair ANY ANY ANY),
                        code::$pair::FIRST_SCALAR => of!($pair HELD SCALAR ANY),
                        code::$pair::FIRST_ROWS => of!($pair HELD ROW ANY),
                        code::$pair::ROWS => of!($pair ROW ROW ANY),
                        code::$pair::ROW_SCALAR => of!($pair ROW SCALAR ANY),
                    )*
                    $(
                        code::$three::ANY => of!($three ANY ANY ANY),
                        code::$three::FIRST => of!($three HELD ANY ANY),
                        code::$three::FIRST_ROWS => of!($three HELD ROW ROW),
                        code::$three::SECOND => of!($three ANY HELD ANY),
                        code::$three::THIRD => of!($three ANY ANY HELD),
                        code::$three::ROWS => of!($three ROW ROW ROW),
                    )*
                    $(
                        code::$triple::ANY => of!($triple ANY ANY ANY),
                        code::$triple::FIRST => of!($triple HELD ANY ANY),
                        code::$triple::FIRST_ROWS => of!($triple HELD ROW ROW),
                        code::$triple::THIRD => of!($triple ANY ANY HELD),
                        code::$triple::ROWS => of!($triple ROW ROW ROW),
                    )*
                    _ => held,
                }
            }
        }
    };
    (@codes $($kind:ident)*) => {
        /// Codes of the forms of each kind.
        #[allow(non_snake_case, reason = "a module has the name of its kind")]
        mod code {
            $(pub(super) mod $kind {
                #![allow(dead_code, reason = "a kind has the forms that its sources allow")]
                use super::super::{FORMS, Kind, form};
                const OF_KIND: u8 = Kind::$kind as u8 * FORMS;
                pub(in super::super) const ANY: u8 = OF_KIND + form::ANY;
                pub(in super::super) const FIRST: u8 = OF_KIND + form::FIRST;
                pub(in super::super) const SECOND: u8 = OF_KIND + form::SECOND;
                pub(in super::super) const THIRD: u8 = OF_KIND + form::THIRD;
                pub(in super::super) const ROWS: u8 = OF_KIND + form::ROWS;
                pub(in super::super) const FIRST_ROWS: u8 = OF_KIND + form::FIRST_ROWS;
                pub(in super::super) const ROW_SCALAR: u8 = OF_KIND + form::ROW_SCALAR;
                pub(in super::super) const FIRST_SCALAR: u8 = OF_KIND + form::FIRST_SCALAR;
            })*
        }
    };
}

kinds! {
    one Mov Not;
    two Sub Shl Shr Sar RotateRight;
    two symmetric And Or Xor Xnor Add MulLo MulU24 MinI MaxI MinU MaxU;
    three ShlAdd ShlOr BfeU Bfi AlignBit;
    three symmetric AddShl Add3 AndOr Or3 XorAdd MadU24;
}

// Codes are bytes.
const _: () = assert!(Kind::ALL.len() * FORMS as usize <= 256);

/// The kind of an operation that can be part of a run.
pub(super) fn kind_of(op: &HostOp) -> Option<Kind> {
    let kind = usize::from(op.dst2 as u8 / FORMS);
    if op.dst2 & STEP != 0 { Kind::ALL.get(kind).copied() } else { None }
}

impl Kind {
    /// What [`HostOp::dst2`] of an operation of the kind is before it is part of a run.
    pub(super) const fn alone(self) -> u32 {
        STEP | (self as u32 * FORMS as u32)
    }

    /// What it is as part of a run.
    pub(super) const fn in_run(self, form: u8, is_stored: bool, is_last: bool) -> u32 {
        let flags = if is_stored { STORE } else { 0 } | if is_last { LAST } else { 0 };
        self.alone() | form as u32 | flags
    }
}

/// The kind of an integer operation that does not saturate.
pub(super) fn kind(op: IntOp) -> Option<Kind> {
    macro_rules! table {
        ($($op:ident => $kind:ident),* $(,)?) => {
            match op {
                $(IntOp::$op => Some(Kind::$kind),)*
                _ => None,
            }
        };
    }
    table! {
        Mov => Mov, Not => Not, And => And, Or => Or, Xor => Xor, Xnor => Xnor,
        Add => Add, AddI => Add, Sub => Sub, SubI => Sub, MulLo => MulLo, MulU24 => MulU24,
        MinI => MinI, MaxI => MaxI, MinU => MinU, MaxU => MaxU, Shl => Shl, Shr => Shr, Sar => Sar,
        ShlAdd => ShlAdd, AddShl => AddShl, ShlOr => ShlOr, Add3 => Add3, AndOr => AndOr, Or3 => Or3,
        XorAdd => XorAdd, MadU24 => MadU24, BfeU => BfeU, Bfi => Bfi, AlignBit => AlignBit,
    }
}

/// Handler body of a run.
struct Run;

impl Body for Run {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`. All operations of a run have the same mask, which none of
        // them changes.
        unsafe {
            let mut op = op;
            let mask = lane_mask(ctx, op);
            let mut held = [S::splat(0); CHUNKS];
            loop {
                let code = (*op).dst2;
                held = result::<S>(code as u8, ctx, op, held);
                if code & STORE != 0 {
                    let dst = (*ctx).base.add((*op).dst as usize);
                    let [h0, h1, h2, h3] = held;
                    if mask == !0 {
                        store_chunk::<S>(dst, 0, !0, h0);
                        store_chunk::<S>(dst, 1, !0, h1);
                        store_chunk::<S>(dst, 2, !0, h2);
                        store_chunk::<S>(dst, 3, !0, h3);
                    } else {
                        store_chunk::<S>(dst, 0, mask, h0);
                        store_chunk::<S>(dst, 1, mask, h1);
                        store_chunk::<S>(dst, 2, mask, h2);
                        store_chunk::<S>(dst, 3, mask, h3);
                    }
                }
                op = HostOp::next(op);
                if code & LAST != 0 {
                    return op;
                }
            }
        }
    }
}

/// The handler of a run.
pub(super) fn run_handler(tier: Tier) -> Handler {
    handler::<Run>(tier)
}
