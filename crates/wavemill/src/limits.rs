//! Limits on what a code object may request for its kernels.

use crate::abi::Want;
use crate::code::is_misaligned;
use crate::module::{Kernel, Parameter};
use crate::{Error, Result};

/// Bytes of kernel arguments; compilers stop at a few thousand.
pub(crate) const MAX_KERNARG: u32 = 1 << 20;

impl Kernel {
    pub(crate) fn unusable(&self, problem: String) -> Error {
        Error::Unusable { kernel: self.name().to_owned(), problem }
    }

    pub(crate) fn too_much_lds(&self) -> Error {
        let device = &self.module.device;
        let (target, have) = (device.target.name(), device.product.lds());
        let problem = format!("more LDS than 32 bits can count; {target} has {have} bytes per workgroup");
        Error::Launch { kernel: self.name().to_owned(), problem }
    }

    /// Checks that the chip has what the code object requests for the kernel, for any launch.
    ///
    /// # Errors
    /// [`Error::Unusable`] if it does not.
    pub fn check(&self) -> Result<()> {
        let device = &self.module.device;
        let (target, needs) = (device.target.name(), self.abi().needs(self));
        let want = |wanted, available, what| Want { wanted, available, what };
        let mut wants = vec![
            want(needs.lds, device.product.lds(), "bytes of LDS for a workgroup"),
            want(needs.private, device.product.private_bytes(), "bytes of private memory for a work-item"),
            want(needs.arguments, MAX_KERNARG, "bytes of arguments"),
        ];
        wants.extend(self.abi().wants(self));
        if let Some(Want { wanted, available, what }) = wants.iter().find(|want| want.wanted > want.available)
        {
            return Err(
                self.unusable(format!("it needs {wanted} {what}; the maximum on {target} is {available}"))
            );
        }
        let entry = self.object().entry_address();
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
