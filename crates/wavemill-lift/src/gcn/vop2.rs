//! VOP2 instructions.

use wavemill_isa::gcn::Inst;

use super::lifter::{Lifted, Lifter};

impl Lifter {
    pub(super) fn vop2(&mut self, inst: &Inst) -> Lifted {
        let _ = inst;
        Lifted::Unsupported
    }
}
