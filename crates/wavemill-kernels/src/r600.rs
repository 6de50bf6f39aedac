//! Numbers that LLVM's r600 backend makes of a kernel where its source says others, bit for bit.
//!
//! The recipes are the instructions that the backend chose (LLVM 22, R600Instructions.td). Reciprocals
//! and reciprocal roots are rounded to nearest, as Wavemill computes them.

use crate::case::Case;
use crate::check::{Expect, Mismatch, compare};
use crate::fixtures::Target;
use crate::kernels::callee::flushed;
use crate::kernels::{self, blend_half, reduction_two_pass, rounded, spmv};

/// A reason of [`why_other_numbers`]: with denormals kept, numbers are the reference's.
pub const FLUSHED_DENORMALS: &str = "denormals are flushed";

/// What the code of a kernel does.
enum Outcome {
    /// It computes these numbers.
    Numbers(fn(&Case) -> Vec<Expect>),
    /// It faults, and the report has these words.
    Fault(&'static str),
}

/// A kernel with other numbers.
struct OtherNumbers {
    case: &'static str,
    reason: &'static str,
    outcome: Outcome,
}

#[rustfmt::skip]
const OTHER_NUMBERS: [OtherNumbers; 8] = [
    OtherNumbers { case: "blend_half", reason: "LLVM keeps halves in single precision between operations", outcome: Outcome::Numbers(blend_half::storage_reference) },
    OtherNumbers { case: "bytecode", reason: "LLVM reserves no stack for the current masks, so that the stack overflows", outcome: Outcome::Fault("control flow stack overflow") },
    OtherNumbers { case: "flushed", reason: "a quotient is a product with RECIP_IEEE", outcome: Outcome::Numbers(kernels::flushed::r600_reference) },
    OtherNumbers { case: "norm_first_pass", reason: FLUSHED_DENORMALS, outcome: Outcome::Numbers(reduction_two_pass::first_r600_reference) },
    OtherNumbers { case: "norm_second_pass", reason: "a root is the reciprocal of RECIPSQRT_IEEE", outcome: Outcome::Numbers(reduction_two_pass::second_r600_reference) },
    OtherNumbers { case: "preload", reason: "LLVM loads from a structure as if its first dword were its address", outcome: Outcome::Fault("illegal load of 4 bytes") },
    OtherNumbers { case: "rounded_f32", reason: "a quotient is a product with RECIP_IEEE, and a root the reciprocal of RECIPSQRT_IEEE", outcome: Outcome::Numbers(rounded::r600_reference) },
    OtherNumbers { case: "spmv_scalar", reason: FLUSHED_DENORMALS, outcome: Outcome::Numbers(spmv::r600_reference) },
];

fn other_numbers(target: Target, case: &str) -> Option<&'static OtherNumbers> {
    OTHER_NUMBERS.iter().find(|other| target == Target::Cayman && other.case == case)
}

/// Why the object of a target gives other numbers than the reference of a case, or none; `None` if it
/// gives the same. Only [`Target::Cayman`] has such objects.
pub fn why_other_numbers(target: Target, case: &str) -> Option<&'static str> {
    other_numbers(target, case).map(|other| other.reason)
}

/// Words of the fault that ends the code of a case for a target; `None` if it ends normally. Each such
/// case has a reason in [`why_other_numbers`].
pub fn fault(target: Target, case: &str) -> Option<&'static str> {
    match other_numbers(target, case)?.outcome {
        Outcome::Fault(words) => Some(words),
        Outcome::Numbers(_) => None,
    }
}

impl Case {
    /// Compares the contents of the buffers after a launch on a target with what the code that the
    /// compiler made computes. It differs from [`check`](Case::check) for the cases of
    /// [`why_other_numbers`].
    ///
    /// # Errors
    /// As for [`check`](Case::check).
    pub fn check_as_compiled(&self, target: Target, buffers: &[impl AsRef<[u8]>]) -> Result<(), Mismatch> {
        let reference = match other_numbers(target, self.name) {
            Some(OtherNumbers { outcome: Outcome::Numbers(reference), .. }) => *reference,
            _ => self.reference,
        };
        let contents: Vec<&[u8]> = buffers.iter().map(AsRef::as_ref).collect();
        compare(self, &contents, &reference(self))
    }
}

/// RECIP_IEEE.
pub(crate) fn recip(x: f32) -> f32 {
    flushed((1.0 / f64::from(flushed(x))) as f32)
}

/// RECIPSQRT_IEEE.
pub(crate) fn recipsqrt(x: f32) -> f32 {
    flushed((1.0 / f64::from(flushed(x)).sqrt()) as f32)
}

/// MUL_IEEE.
pub(crate) fn mul(x: f32, y: f32) -> f32 {
    flushed(flushed(x) * flushed(y))
}

/// ADD.
pub(crate) fn add(x: f32, y: f32) -> f32 {
    flushed(flushed(x) + flushed(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denormals_are_zeros() {
        let denormal = f32::from_bits(1);
        assert_eq!(flushed(-denormal).to_bits(), (-0f32).to_bits());
        assert_eq!(recip(denormal), f32::INFINITY);
        assert_eq!(recip(f32::MAX), 0.0);
        assert_eq!(recipsqrt(-denormal), f32::NEG_INFINITY);
        assert_eq!(mul(denormal, 1e30), 0.0);
        assert_eq!(add(denormal, -denormal).to_bits(), 0);
    }

    #[test]
    fn functions_are_rounded() {
        assert_eq!(recip(3.0), 0.333_333_34);
        assert_eq!(recipsqrt(4.0), 0.5);
        assert!(recipsqrt(-1.0).is_nan());
    }
}
