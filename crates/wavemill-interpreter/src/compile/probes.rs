//! Compiles probes: extra operations that report on guest instructions.

use wavemill_ir::{Inst, Op, Terminator};

use super::Compiler;
use crate::hostop::{Handler, HostOp, Own};
use crate::probe::{self, Site};

impl Compiler<'_> {
    /// The data for probes at the guest instruction; `None` if no watcher wants any. Another engine
    /// may have `begun` the instruction.
    pub(super) fn site(
        &mut self,
        guest: &[Inst],
        end: Option<Terminator>,
        begun: bool,
    ) -> Option<*const Site> {
        let mut site = Site::new(self.pc, guest, end, self.interests?, self.counts)?;
        if begun {
            site.goes_on();
        }
        self.sites.push(Box::new(site));
        self.sites.last().map(|site| &raw const **site)
    }

    /// A probe that points to a site.
    pub(super) fn probe(&self, run: Handler, site: *const Site) -> HostOp {
        HostOp { own: Own { probe: site }, ..self.host(run) }
    }

    pub(super) fn probe_before(&mut self, site: Option<*const Site>) {
        if let Some(site) = site
            && self.sites.last().is_some_and(|last| last.wants_before())
        {
            self.ops.push(self.probe(probe::before_handler(), site));
        }
    }

    /// The probe after a guest instruction; `end` is the operation that ends the block, if one
    /// does.
    pub(super) fn probe_after(&mut self, site: Option<*const Site>, end: Option<HostOp>) {
        if let Some(site) = site
            && self.sites.last().is_some_and(|last| last.wants_after())
        {
            let probe = self.probe(probe::after_handler(), site);
            let operands = end.unwrap_or(probe);
            self.ops.push(HostOp { src: operands.src, k: operands.k, ..probe });
        }
    }

    /// The probe before an operation that a watcher wants to know of, with its operands; `index` is
    /// its number in the guest instruction.
    pub(super) fn probe_operation(&mut self, inst: &Inst, index: usize, site: Option<*const Site>) {
        let (Some(site), Some(interests)) = (site, self.interests) else { return };
        let (run, n) = match inst.op {
            Op::Fence(_) if interests.fences => (probe::fence_handler(), 1),
            op => match probe::memory_handler(op) {
                Some(found) if interests.memory => found,
                _ => return,
            },
        };
        let op = self.plain(inst, run);
        self.ops.push(HostOp { dst: index as u32, dst2: n, own: Own { probe: site }, ..op });
    }
}
