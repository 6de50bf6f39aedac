//! The memory of a launch: queue, kernel arguments, scratch and dispatch packet.

use super::hidden::HiddenValues;
use super::packet::{self, packet};
use super::state::{InitialState, initial_mode};
use crate::Result;
use crate::abi::{LaunchMemory, Plan, Start};
use crate::buffer::{Buffer, Plain};
use crate::module::Kernel;
use crate::report::{ARGUMENTS, Segment};
use crate::services::ServiceAddresses;

/// Least alignment of the kernel argument segment, and of its end.
const KERNARG_ALIGN: u64 = 16;

/// Memory that waves find through their user SGPRs.
#[derive(Debug)]
pub(super) struct Memory {
    queue: Buffer,
    arguments: Buffer,
    scratch: Buffer,
    packet: Buffer,
}

impl Memory {
    pub(super) fn allocate(kernel: &Kernel, plan: &Plan) -> Result<Memory> {
        let device = &kernel.module.device;
        let queue = Buffer::internal(device, "queue", 256, 64)?;
        queue.protect("the runtime's own")?;
        // LLVM widens a three-dword load at the end to four dwords
        // (AMDGPUTargetLowering::WidenOrSplitVectorLoad). The allocated segment ends at a multiple
        // of its alignment, at least 16 (AMDGPUUsage, "Kernel Dispatch").
        let segment = (plan.arguments.len() as u64).next_multiple_of(KERNARG_ALIGN);
        let arguments = Buffer::internal(device, ARGUMENTS, segment, 64)?;
        arguments.protect("the runtime's own")?;
        let scratch_size = plan.scratch_per_wave * plan.resident_waves();
        let scratch = Buffer::internal(device, "scratch", scratch_size, 256)?;
        let packet = Buffer::internal(device, "dispatch packet", packet::SIZE as u64, 64)?;
        packet.protect("the runtime's own")?;
        Ok(Memory { queue, arguments, scratch, packet })
    }
}

impl LaunchMemory for Memory {
    fn fill(self: Box<Self>, kernel: &Kernel, plan: &Plan, services: &ServiceAddresses) -> Result<Start> {
        let Memory { queue, arguments, scratch, packet: packet_buffer } = *self;
        packet_buffer.write_bytes(0, &packet(kernel, plan, arguments.address()))?;
        let object = kernel.object();
        let mut kernarg = plan.arguments.clone();
        if let Some(metadata) = &object.metadata {
            let hidden = HiddenValues {
                geometry: plan.geometry,
                dynamic_lds: plan.dynamic_lds,
                queue: queue.address(),
                services: *services,
            };
            hidden.fill(metadata.args.iter(), &mut kernarg);
        }
        arguments.write_bytes(0, &kernarg)?;
        let init = InitialState {
            target: kernel.module.device.target,
            product: kernel.module.device.product,
            waves: plan.waves,
            resident: plan.resident,
            descriptor: object.descriptor,
            workgroup_size: plan.geometry.workgroup_size,
            global_size: plan.geometry.global_size,
            kernarg: arguments.address(),
            kernarg_words: kernarg.chunks_exact(4).map(<u32 as Plain>::get).collect(),
            packet: packet_buffer.address(),
            queue: queue.address(),
            scratch: scratch.address(),
            scratch_per_wave: plan.scratch_per_wave,
            scratch_size: scratch.size(),
            dispatch_id: 0,
            lds_allocated: plan.lds_allocated,
            traps: plan.traps,
        };
        Ok(Start {
            init: Box::new(init),
            entry: kernel.entry() + super::entry_skip(kernel),
            context: plan.traps.context(initial_mode(&object.descriptor)),
            arguments: Segment { address: arguments.address(), bytes: kernarg.len() as u64 },
            _memory: vec![queue, arguments, scratch, packet_buffer],
        })
    }
}
