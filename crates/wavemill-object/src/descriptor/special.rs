//! Scalar registers after the wave's own.

use crate::target::Processor;

/// The special scalar registers that a kernel uses. They are the last ones of a wave: VCC, then the
/// XNACK mask, then the scratch base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialSgprs {
    /// VCC.
    pub vcc: bool,
    /// XNACK_MASK.
    pub xnack_mask: bool,
    /// FLAT_SCRATCH.
    pub flat_scratch: bool,
}

impl SpecialSgprs {
    /// The number of scalar registers that they need: each needs room for those before it (Vega
    /// ISA, "SGPR Trap Handler Support" and "VCC"). If hardware sets FLAT_SCRATCH up, there is
    /// always room for it.
    pub fn count(self, processor: &Processor) -> u32 {
        match self {
            _ if self.flat_scratch || processor.has_architected_flat_scratch() => 6,
            SpecialSgprs { xnack_mask: true, .. } => 4,
            SpecialSgprs { vcc: true, .. } => 2,
            _ => 0,
        }
    }
}
