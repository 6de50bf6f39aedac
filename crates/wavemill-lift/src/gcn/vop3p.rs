//! VOP3P instructions.

use wavemill_isa::gcn::Inst;

use super::lifter::{Lifted, Lifter};

impl Lifter {
    pub(super) fn vop3p(&mut self, inst: &Inst) -> Lifted {
        let _ = inst;
        Lifted::Unsupported
    }
}
