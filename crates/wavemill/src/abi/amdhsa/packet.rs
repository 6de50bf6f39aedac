//! The AQL dispatch packet (HSA Runtime Specification, `hsa_kernel_dispatch_packet_t`).

use crate::abi::Plan;
use crate::module::Kernel;

/// Bytes of a packet.
pub(super) const SIZE: usize = 64;

/// The packet of a launch whose kernel argument segment is at `arguments`.
pub(super) fn packet(kernel: &Kernel, plan: &Plan, arguments: u64) -> Vec<u8> {
    let g = &plan.geometry;
    let mut p = Vec::with_capacity(SIZE);
    p.extend(0x0b02u16.to_le_bytes());
    p.extend(g.dims.to_le_bytes());
    for n in g.workgroup_size {
        p.extend((n as u16).to_le_bytes());
    }
    p.extend(0u16.to_le_bytes());
    for n in g.global_size {
        p.extend((n as u32).to_le_bytes());
    }
    p.extend(plan.private.to_le_bytes());
    p.extend(plan.lds.to_le_bytes());
    p.extend(kernel.descriptor_address().to_le_bytes());
    p.extend(arguments.to_le_bytes());
    p.resize(SIZE, 0);
    p
}
