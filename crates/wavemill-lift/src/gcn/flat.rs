//! FLAT instructions.

use wavemill_isa::gcn::Inst;

use super::lifter::{Lifted, Lifter};

impl Lifter {
    pub(super) fn flat(&mut self, inst: &Inst) -> Lifted {
        let _ = inst;
        Lifted::Unsupported
    }
}
