//! Requirements of kernel descriptors.

use wavemill_isa::AccVgprs;
use wavemill_machine::RegisterCounts;

use crate::abi::{Needs, Want};
use crate::module::Kernel;
use crate::registers;
use crate::{Error, Result};

/// Requirements in the descriptor and the metadata of a kernel.
pub(super) fn needs(kernel: &Kernel) -> Needs {
    let Some(object) = kernel.hsa() else { return Needs::default() };
    let d = &object.descriptor;
    let private = d.private_segment_fixed_size;
    let dynamic_stack = object.uses_dynamic_stack();
    Needs {
        lds: d.group_segment_fixed_size,
        private,
        has_private: d.rsrc2.enable_private_segment() || private > 0 || dynamic_stack,
        dynamic_stack,
        arguments: object.kernarg_size(),
    }
}

/// User SGPRs that a descriptor requests (AMDGPUUsage, "SGPR Register Set Up Order").
pub(super) fn user_sgprs(kernel: &Kernel) -> Option<Want> {
    let d = &kernel.hsa()?.descriptor;
    let p = d.properties;
    let wanted = [
        (p.private_segment_buffer(), 4),
        (p.dispatch_ptr(), 2),
        (p.queue_ptr(), 2),
        (p.kernarg_segment_ptr(), 2),
        (p.dispatch_id(), 2),
        (p.flat_scratch_init(), 2),
        (p.private_segment_size(), 1),
    ];
    let sum: u32 = wanted.iter().filter(|(wanted, _)| *wanted).map(|(_, n)| n).sum();
    let wanted = (sum + d.kernarg_preload.length()).max(d.rsrc2.user_sgpr_count());
    let units = kernel.module.device.target.generation().registers;
    let available = units.map_or(0, |units| units.user_sgprs);
    Some(Want { wanted, available, what: "user SGPRs" })
}

/// Checks user SGPRs that a launch gives instead of those that the descriptor describes.
pub(super) fn check_user_sgprs(kernel: &Kernel, words: &[u32]) -> Result<()> {
    let refuse = |problem| Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
    let count = kernel.hsa().map_or(0, |kernel| kernel.descriptor.rsrc2.user_sgpr_count());
    if words.len() > count as usize {
        return refuse(format!(
            "{} user SGPRs are given, but USER_SGPR_COUNT in compute_pgm_rsrc2 is {count}",
            words.len()
        ));
    }
    let target = kernel.module.device.target;
    if needs(kernel).has_private && !target.generation().architected_scratch {
        return refuse(format!(
            "{} finds private memory through user SGPRs that only the launch can fill; give no user SGPRs",
            target.name()
        ));
    }
    Ok(())
}

/// Register counts from the granules of a descriptor.
pub(super) fn registers(kernel: &Kernel) -> Result<RegisterCounts> {
    let device = &kernel.module.device;
    let processor = &device.id.processor;
    let descriptor = kernel.hsa().map(|object| &object.descriptor);
    let r = descriptor.and_then(|descriptor| descriptor.registers(processor)).ok_or_else(|| {
        kernel.unusable(format!("the register granules of {} are not known", processor.name()))
    })?;
    let (vgprs, accs) = match device.target.generation().accvgprs {
        AccVgprs::None => (r.vgprs, 0),
        // The two files have the same size.
        AccVgprs::Separate => (r.vgprs, r.vgprs),
        AccVgprs::Unified => {
            let split = r.accum_offset.unwrap_or(r.vgprs).min(r.vgprs);
            (split, r.vgprs - split)
        }
    };
    let sgprs = r.sgprs.min(registers::MAX_SGPRS.into()) as u16;
    Ok(registers::counts(sgprs, vgprs.clamp(1, 256) as u16, accs.min(256) as u16))
}
