//! Floating-point exceptions: which of them an operation raises.
//!
//! The functions of this library return only results. [`watched`] collects the exceptions that they
//! raise, as the hardware collects them in TRAPSTS. Exceptions raised outside of [`watched`] are
//! lost.
//!
//! The Vega manual names the exceptions but says little about when they are raised, so most of this
//! is IEEE 754 (*modelled*, facet `exceptions`):
//! - invalid: a signalling NaN is a source, or the operation has no result and gives the default NaN, or a conversion to
//!   an integer is out of its range. A comparison raises it if requested (Vega ISA 12.9.1, CLAMP);
//! - input denormal: a denormal is a source and is not flushed, also beside a NaN;
//! - division by zero: an exact infinity from finite sources;
//! - overflow: the rounded result is beyond the largest finite number;
//! - underflow: the result is inexact and tiny, which is decided after rounding without a limit for
//!   the exponent (IEEE 754, 7.5), or a denormal result is flushed;
//! - inexact: the result is not the exact one. Conversions to integers in range raise it if requested
//!   (Vega ISA 12.8, CLAMP);
//! - integer division by zero: `v_rcp_iflag_f32` of zero, which raises nothing else (Vega ISA 12.8).
//!
//! The f32 reciprocal, roots, powers, logarithms, sine and cosine, which are approximations on the
//! hardware, raise invalid and division by zero only (facet `approximate_exceptions`). Those of f16
//! and f64 do not raise inexact. Of the steps of a division, V_DIV_SCALE raises nothing (facet
//! `division_exceptions`).

use std::cell::Cell;
use std::ops::{BitOr, BitOrAssign};

/// A set of exceptions; bits as in TRAPSTS.EXCP (Vega ISA 3.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Exceptions(u8);

impl Exceptions {
    /// No exception.
    pub const NONE: Exceptions = Exceptions(0);
    /// Invalid operation.
    pub const INVALID: Exceptions = Exceptions(1 << 0);
    /// A denormal source.
    pub const INPUT_DENORMAL: Exceptions = Exceptions(1 << 1);
    /// Division by zero.
    pub const DIVIDE_BY_ZERO: Exceptions = Exceptions(1 << 2);
    /// Overflow.
    pub const OVERFLOW: Exceptions = Exceptions(1 << 3);
    /// Underflow.
    pub const UNDERFLOW: Exceptions = Exceptions(1 << 4);
    /// Inexact result.
    pub const INEXACT: Exceptions = Exceptions(1 << 5);
    /// Integer division by zero.
    pub const INTEGER_DIVIDE_BY_ZERO: Exceptions = Exceptions(1 << 6);

    /// The bits of TRAPSTS.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Whether all of `other` are in the set.
    #[must_use]
    pub const fn contains(self, other: Exceptions) -> bool {
        self.0 & other.0 == other.0
    }

    /// The set without the members of `other`.
    #[must_use]
    pub const fn without(self, other: Exceptions) -> Exceptions {
        Exceptions(self.0 & !other.0)
    }
}

impl BitOr for Exceptions {
    type Output = Exceptions;

    fn bitor(self, other: Exceptions) -> Exceptions {
        Exceptions(self.0 | other.0)
    }
}

impl BitOrAssign for Exceptions {
    fn bitor_assign(&mut self, other: Exceptions) {
        self.0 |= other.0;
    }
}

thread_local! {
    static RAISED: Cell<u8> = const { Cell::new(0) };
}

/// Raises exceptions.
#[inline]
pub(crate) fn raise(exceptions: Exceptions) {
    RAISED.with(|raised| raised.set(raised.get() | exceptions.0));
}

/// Returns the result of `f` and the exceptions that its operations raised.
pub fn watched<T>(f: impl FnOnce() -> T) -> (T, Exceptions) {
    let before = RAISED.with(|raised| raised.replace(0));
    let value = f();
    (value, Exceptions(RAISED.with(|raised| raised.replace(before))))
}

/// Returns the result of `f` without its exceptions: it is a step of an operation, not the
/// operation.
pub(crate) fn quietly<T>(f: impl FnOnce() -> T) -> T {
    watched(f).0
}
