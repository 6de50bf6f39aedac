//! Copies in which infinities or NaNs are replaced. Nothing else changes, and no exception is raised.

use wavemill_ir::FpEnv;

use crate::format::Format;

/// An infinity becomes the largest number of its sign (HD 6900 ISA 8.2, RECIP_CLAMPED).
pub(crate) fn infinity_to_max<F: Format>([a, ..]: [u64; 3], _: FpEnv) -> u64 {
    if F::is_inf(a) { a & F::SIGN | F::MAX } else { a }
}

/// An infinity becomes a zero of its sign (HD 6900 ISA 8.2, RECIP_FF).
pub(crate) fn infinity_to_zero<F: Format>([a, ..]: [u64; 3], _: FpEnv) -> u64 {
    if F::is_inf(a) { a & F::SIGN } else { a }
}

/// A NaN becomes an infinity of its sign (HD 6900 ISA 8.2, FLT_TO_INT_FLOOR: a NaN saturates).
pub(crate) fn nan_to_infinity<F: Format>([a, ..]: [u64; 3], _: FpEnv) -> u64 {
    if F::is_nan(a) { a & F::SIGN | F::INF } else { a }
}
