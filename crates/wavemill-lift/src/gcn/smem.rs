//! SMEM instructions.

use wavemill_isa::gcn::Inst;

use super::lifter::{Lifted, Lifter};

impl Lifter {
    pub(super) fn smem(&mut self, inst: &Inst) -> Lifted {
        let _ = inst;
        Lifted::Unsupported
    }
}
