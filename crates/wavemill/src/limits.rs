//! What a code object may want for its kernels.

use wavemill_object::KernelDescriptor;

use crate::code::is_misaligned;
use crate::module::{Kernel, Parameter};
use crate::{Error, Result};

/// Bytes of kernel arguments; compilers stop at a few thousand.
pub(crate) const MAX_KERNARG: u32 = 1 << 20;
/// Bytes of private memory that the chip has for a lane: 13 bits of kilobytes for a wave (LLVM,
/// `GCNSubtarget::getMaxWaveScratchSize`).
pub(crate) const MAX_PRIVATE: u32 = ((1 << 13) - 1) * 1024 / 64;
/// User SGPRs that the chip sets (AMDGPUUsage, "Initial Kernel Execution State").
const USER_SGPRS: u32 = 16;

/// User SGPRs that a descriptor asks for (AMDGPUUsage, "SGPR Register Set Up Order").
fn user_sgprs(d: &KernelDescriptor) -> u32 {
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
    (sum + d.kernarg_preload.length()).max(d.rsrc2.user_sgpr_count())
}

impl Kernel {
    pub(crate) fn unusable(&self, problem: String) -> Error {
        Error::Unusable { kernel: self.name().to_owned(), problem }
    }

    /// Makes sure that the chip has what the code object wants for the kernel, whatever the launch is.
    ///
    /// # Errors
    /// [`Error::Unusable`] if it has not.
    pub fn check(&self) -> Result<()> {
        let device = &self.module.device;
        let (target, d) = (device.target.name(), &self.object().descriptor);
        let wants = [
            (d.group_segment_fixed_size, device.product.lds(), "bytes of LDS for a workgroup"),
            (d.private_segment_fixed_size, MAX_PRIVATE, "bytes of private memory for a work-item"),
            (self.kernarg_size(), MAX_KERNARG, "bytes of arguments"),
            (user_sgprs(d), USER_SGPRS, "user SGPRs"),
        ];
        if let Some((n, have, what)) = wants.into_iter().find(|(n, have, _)| n > have) {
            return Err(self.unusable(format!("it wants {n} {what}; on {target} there are {have} at most")));
        }
        let entry = self.object().entry_address;
        if is_misaligned(entry) {
            let problem = format!("its code begins at {entry:#x}, but instructions begin at multiples of 4");
            return Err(self.unusable(problem));
        }
        let arguments = self.declared_parameters();
        let size = self.kernarg_size();
        let beyond = |p: &&Parameter| u64::from(p.offset) + u64::from(p.size) > u64::from(size);
        if let Some(p) = arguments.iter().find(beyond) {
            return Err(self.unusable(format!(
                "argument{} has {} bytes from byte {} on, in a kernel argument segment of {size}",
                p.name.as_ref().map_or(String::new(), |name| format!(" `{name}`")),
                p.size,
                p.offset
            )));
        }
        let max = self.max_workgroup_size();
        if max == 0 {
            return Err(self.unusable("its largest workgroup has 0 work-items".to_owned()));
        }
        if let Some(size) = self.required_workgroup_size() {
            // At most 2^96.
            let items: u128 = size.iter().map(|n| u128::from(*n)).product();
            if items == 0 || items > u128::from(max) {
                let problem =
                    format!("it is for workgroups of {size:?} alone; 1 to {max} work-items are possible");
                return Err(self.unusable(problem));
            }
        }
        Ok(())
    }
}
