//! The memory of a launch: queue, kernel arguments, scratch, dispatch packet, and for a cooperative
//! launch the structure for synchronising the grid.

use std::sync::OnceLock;

use wavemill_object::ValueKind;

use super::grid_sync::{self, grid_sync};
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
    /// Of a cooperative launch.
    grid_sync: Option<Buffer>,
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
        // Kernels write to it.
        let grid_sync = match plan.cooperative {
            true => Some(Buffer::internal(device, "grid sync", grid_sync::SIZE, 64)?),
            false => None,
        };
        Ok(Memory { queue, arguments, scratch, packet, grid_sync })
    }
}

impl LaunchMemory for Memory {
    fn fill(self: Box<Self>, kernel: &Kernel, plan: &Plan, services: &ServiceAddresses) -> Result<Start> {
        let Memory { queue, arguments, scratch, packet: packet_buffer, grid_sync: grid_sync_buffer } = *self;
        if let Some(buffer) = &grid_sync_buffer {
            buffer.write_bytes(0, &grid_sync(plan.workgroup_count()))?;
        }
        let mut uses_grid_sync = false;
        packet_buffer.write_bytes(0, &packet(kernel, plan, arguments.address()))?;
        let Some(object) = kernel.hsa() else {
            return Err(kernel.unusable("it has no kernel descriptor".to_owned()));
        };
        let mut kernarg = plan.arguments.clone();
        if let Some(metadata) = &object.metadata {
            let hidden = HiddenValues {
                geometry: plan.geometry,
                dynamic_lds: plan.dynamic_lds,
                queue: queue.address(),
                grid_sync: grid_sync_buffer.as_ref().map_or(0, Buffer::address),
                services: *services,
            };
            hidden.fill(metadata.args.iter(), &mut kernarg);
            uses_grid_sync = metadata.args.iter().any(|a| a.value_kind == ValueKind::HiddenMultigridSyncArg);
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
            user_sgprs: plan.user_data.clone(),
            kernarg_words: kernarg.chunks_exact(4).map(<u32 as Plain>::get).collect(),
            packet: packet_buffer.address(),
            queue: queue.address(),
            scratch: scratch.address(),
            scratch_per_wave: plan.scratch_per_wave,
            scratch_size: scratch.size(),
            dispatch_id: 0,
            lds_allocated: plan.lds_allocated,
            traps: plan.traps,
            chip: OnceLock::new(),
        };
        Ok(Start {
            init: Box::new(init),
            entry: kernel.entry() + super::entry_skip(kernel),
            context: plan.traps.context(initial_mode(&object.descriptor)),
            arguments: Some(Segment { address: arguments.address(), bytes: kernarg.len() as u64 }),
            absent_grid_sync: (uses_grid_sync && grid_sync_buffer.is_none()).then_some(grid_sync::SIZE),
            _memory: [queue, arguments, scratch, packet_buffer].into_iter().chain(grid_sync_buffer).collect(),
            _code: None,
        })
    }
}
