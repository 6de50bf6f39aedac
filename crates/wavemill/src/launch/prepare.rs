//! The memory of a launch: what its kernels find through the ABI, and what its services need.

use wavemill_machine::{Grid, MemoryMap};

use super::builder::Launch;
use crate::Result;
use crate::abi::{Plan, Start};
use crate::code::LoadedCode;
use crate::services::Services;

/// A launch with its memory, which is freed on drop.
pub(super) struct Prepared<'a> {
    pub launch: &'a Launch<'a>,
    pub plan: Plan,
    pub services: Services<'a>,
    pub start: Start,
}

impl Launch<'_> {
    /// Allocates and fills the memory of a possible launch.
    pub(super) fn prepare(&self, plan: Plan) -> Result<Prepared<'_>> {
        let memory = self.kernel.abi().allocate(self.kernel, &plan)?;
        let services = Services::new(self.kernel, plan.resident_waves(), self.printf_buffer, self.output)?;
        let start = memory.fill(self.kernel, &plan, &services.addresses())?;
        Ok(Prepared { launch: self, plan, services, start })
    }
}

impl Prepared<'_> {
    /// The grid that the engine runs.
    pub(super) fn grid<'g>(&'g self, map: &'g MemoryMap, source: &'g LoadedCode<'g>) -> Grid<'g> {
        let (plan, start) = (&self.plan, &self.start);
        Grid {
            map,
            source,
            init: &*start.init,
            workgroups: plan.workgroups,
            waves_per_group: plan.waves,
            registers: plan.registers,
            lds_size: plan.lds,
            lds_granule: self.launch.kernel.module.device.target.lds_granule(),
            scratch_size: plan.private,
            entry: start.entry,
            context: start.context,
            resident: plan.resident,
        }
    }
}
