//! The memory of a launch: arguments, scratch, the packet, and what its services need.

use wavemill_machine::{Grid, MemoryMap};

use super::builder::Launch;
use super::plan::Plan;
use crate::Result;
use crate::buffer::{Buffer, Plain};
use crate::code::LoadedCode;
use crate::hidden::Geometry;
use crate::report::{ARGUMENTS, Segment};
use crate::services::Services;
use crate::state::{InitialState, initial_mode};

/// Least alignment of the kernel argument segment, and of its end.
const KERNARG_ALIGN: u64 = 16;

/// A launch with its memory, which is freed when this is dropped.
pub(super) struct Prepared<'a> {
    pub launch: &'a Launch<'a>,
    pub plan: Plan,
    pub services: Services<'a>,
    /// What waves begin with.
    init: InitialState,
    /// The kernel argument segment.
    arguments: Buffer,
    /// What waves use and nobody else names.
    _memory: [Buffer; 3],
}

impl Launch<'_> {
    /// Allocates and fills what a possible launch needs.
    pub(super) fn prepare(&self, mut plan: Plan) -> Result<Prepared<'_>> {
        let device = &self.kernel.module.device;
        let object = self.kernel.object();
        let queue = Buffer::internal(device, "queue", 256, 64)?;
        queue.protect("the runtime's own")?;
        plan.geometry.queue = queue.address();
        // LLVM loads three dwords at the end as four (AMDGPUTargetLowering::WidenOrSplitVectorLoad), and the segment as
        // it is allocated ends at a multiple of its alignment, which is 16 at least (AMDGPUUsage, "Kernel Dispatch").
        let segment = (plan.kernarg.len() as u64).next_multiple_of(KERNARG_ALIGN);
        let arguments = Buffer::internal(device, ARGUMENTS, segment, 64)?;
        arguments.protect("the runtime's own")?;

        let scratch_size = plan.scratch_per_wave * u64::from(plan.waves) * u64::from(plan.resident);
        let scratch = Buffer::internal(device, "scratch", scratch_size, 256)?;

        let packet = Buffer::internal(device, "dispatch packet", 64, 64)?;
        packet.protect("the runtime's own")?;
        packet.write_bytes(0, &self.packet(&plan.geometry, plan.private, plan.lds, arguments.address()))?;

        let resident_waves = u64::from(plan.resident) * u64::from(plan.waves);
        let services = Services::new(self.kernel, resident_waves, self.printf_buffer, self.output)?;
        let geometry = &mut plan.geometry;
        (geometry.printf, geometry.hostcall, geometry.heap) = services.addresses();
        if let Some(m) = &object.metadata {
            geometry.fill(m.args.iter(), &mut plan.kernarg);
        }
        arguments.write_bytes(0, &plan.kernarg)?;

        let init = InitialState {
            target: device.target,
            descriptor: object.descriptor,
            workgroup_size: plan.geometry.workgroup_size,
            global_size: plan.geometry.global_size,
            kernarg: arguments.address(),
            kernarg_words: plan.kernarg.chunks_exact(4).map(<u32 as Plain>::get).collect(),
            packet: packet.address(),
            queue: queue.address(),
            scratch: scratch.address(),
            scratch_per_wave: plan.scratch_per_wave,
            scratch_size,
            dispatch_id: 0,
            lds_allocated: plan.lds.next_multiple_of(device.target.lds_granule()),
        };
        Ok(Prepared { launch: self, plan, services, init, arguments, _memory: [queue, scratch, packet] })
    }

    /// The AQL dispatch packet (HSA Runtime Specification, `hsa_kernel_dispatch_packet_t`).
    fn packet(&self, g: &Geometry, private: u32, lds: u32, kernarg: u64) -> Vec<u8> {
        let mut p = Vec::with_capacity(64);
        p.extend(0x0b02u16.to_le_bytes());
        p.extend(g.dims.to_le_bytes());
        for n in g.workgroup_size {
            p.extend((n as u16).to_le_bytes());
        }
        p.extend(0u16.to_le_bytes());
        for n in g.global_size {
            p.extend((n as u32).to_le_bytes());
        }
        p.extend(private.to_le_bytes());
        p.extend(lds.to_le_bytes());
        p.extend(self.kernel.descriptor_address().to_le_bytes());
        p.extend(kernarg.to_le_bytes());
        p.resize(64, 0);
        p
    }
}

impl Prepared<'_> {
    /// What the engine runs.
    pub(super) fn grid<'g>(&'g self, map: &'g MemoryMap, source: &'g LoadedCode<'g>) -> Grid<'g> {
        let (kernel, plan) = (self.launch.kernel, &self.plan);
        let descriptor = &kernel.object().descriptor;
        // Firmware that preloads arguments enters 256 bytes in, behind the code that loads them
        // (AMDGPUUsage, "Preloaded Kernel Arguments").
        let skip = if descriptor.kernarg_preload.length() > 0 { 256 } else { 0 };
        Grid {
            map,
            source,
            init: &self.init,
            workgroups: plan.workgroups,
            waves_per_group: plan.waves,
            registers: plan.registers,
            lds_size: plan.lds,
            lds_granule: kernel.module.device.target.lds_granule(),
            scratch_size: plan.private,
            entry: kernel.entry() + skip,
            context: initial_mode(descriptor),
            resident: plan.resident,
        }
    }

    /// The kernel argument segment, for reports.
    pub(super) fn segment(&self) -> Segment {
        Segment { address: self.arguments.address(), bytes: self.plan.kernarg.len() as u64 }
    }
}
