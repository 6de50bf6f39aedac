//! Checks whether a launch is possible, and computes its sizes.

use wavemill_ir::LANES;

use super::builder::{GridSize, Launch};
use crate::abi::{Geometry, Plan};
use crate::limits::MAX_KERNARG;
use crate::{Error, Result};

/// LDS of a workgroup, in bytes.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// // The kernel has no LDS of its own. The chip allocates granules of 512 bytes.
/// let lds = Launch::new(&kernel).args(args).dynamic_lds(1000).lds()?;
/// assert_eq!((lds.declared, lds.asked, lds.allocated), (0, 1000, 1024));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LdsSize {
    /// Bytes that the kernel declares.
    pub declared: u32,
    /// Bytes that the launch requests: the declared bytes, [`Launch::dynamic_lds`] and LDS
    /// arguments.
    pub asked: u32,
    /// Bytes that the chip allocates: whole granules.
    pub allocated: u32,
}

/// Most memory for the scratch of all resident waves; beyond it, fewer workgroups are resident.
const MAX_SCRATCH: u64 = 1 << 30;
/// Private memory per lane of kernels whose stack has no known size, unless the launch sets one.
const DYNAMIC_STACK: u32 = 16 << 10;

impl Launch<'_> {
    pub(super) fn refuse(&self, problem: String) -> Error {
        Error::Launch { kernel: self.kernel.name().to_owned(), problem }
    }

    /// Sizes of the grid and the workgroup, checked.
    fn geometry(&self) -> Result<(Geometry, [u32; 3])> {
        let required = self.kernel.required_workgroup_size();
        let size = self.workgroup_size.or(required).unwrap_or([1; 3]);
        // At most 2^96.
        let items: u128 = size.iter().map(|n| u128::from(*n)).product();
        let max = self.kernel.max_workgroup_size();
        if items == 0 || items > u128::from(max) {
            return Err(
                self.refuse(format!("a workgroup of {size:?} has {items} work-items; expected 1 to {max}"))
            );
        }
        if let Some(required) = required.filter(|r| *r != size) {
            return Err(
                self.refuse(format!("a workgroup of {size:?}; the kernel was compiled for {required:?}"))
            );
        }
        let global_size = match self.global_size {
            GridSize::WorkItems(n) => n,
            GridSize::Workgroups(n) => std::array::from_fn(|d| u64::from(n[d]) * u64::from(size[d])),
        };
        if let Some(d) = (0..3).find(|d| global_size[*d] > u64::from(u32::MAX)) {
            return Err(self.refuse(format!(
                "{} work-items in dimension {d}; the maximum is {}",
                global_size[d],
                u32::MAX
            )));
        }
        if global_size.iter().try_fold(1u64, |product, n| product.checked_mul(*n)).is_none() {
            return Err(
                self.refuse(format!("a grid of {global_size:?} has more work-items than 64 bits can count"))
            );
        }
        let dims =
            self.dims.unwrap_or_else(|| (1..=3).rev().find(|d| global_size[d - 1] > 1).unwrap_or(1) as u16);
        let geometry = Geometry { global_size, workgroup_size: size, offset: self.offset, dims };
        let groups = geometry.workgroups().map(|n| n as u32);
        Ok((geometry, groups))
    }

    /// Checks that the launch is possible, and computes its sizes.
    pub(super) fn plan(&self) -> Result<Plan> {
        let device = &self.kernel.module.device;
        let (abi, needs) = (self.kernel.abi(), self.kernel.abi().needs(self.kernel));
        self.kernel.check()?;
        abi.check_bindings(self.kernel, &self.bindings)?;
        if let Some(words) = &self.user_data {
            abi.check_user_data(self.kernel, words)?;
        }
        let (geometry, workgroups) = self.geometry()?;

        let mut lds = needs.lds;
        let arguments = self.arguments(&mut lds)?;
        lds = lds.checked_add(self.dynamic_lds).ok_or_else(|| self.kernel.too_much_lds())?;
        if lds > device.product.lds() {
            let have = device.product.lds();
            return Err(
                self.refuse(format!("{lds} bytes of LDS; {} has {have} per workgroup", device.target.name()))
            );
        }

        let registers = abi.registers(self.kernel)?;
        let waves = geometry.workgroup_size.iter().product::<u32>().div_ceil(LANES as u32);
        let least = if needs.dynamic_stack { DYNAMIC_STACK } else { 0 };
        let private = match needs.has_private {
            true => needs.private.max(self.stack.unwrap_or(least)),
            false => 0,
        };
        let most = device.product.private_bytes();
        if private > most {
            return Err(self.refuse(format!(
                "{private} bytes of private memory for a work-item; the maximum is {most}"
            )));
        }
        // Lanes are interleaved in it, dword by dword.
        let scratch_per_wave = u64::from(private).next_multiple_of(4) * LANES as u64;
        let lds_allocated = lds.next_multiple_of(device.target.lds_granule());
        let vector_registers = abi.vector_registers(device.target, &registers);
        let on_chip = device.product.resident_workgroups(vector_registers, waves, lds_allocated);
        let by_scratch = MAX_SCRATCH.checked_div(scratch_per_wave * u64::from(waves)).unwrap_or(u64::MAX);
        let capacity = on_chip.min(by_scratch).clamp(1, u64::from(u32::MAX));
        let groups: u64 = workgroups.iter().map(|n| u64::from(*n)).product();
        if self.cooperative && groups > capacity {
            let target = device.target.name();
            return Err(self.refuse(if groups > on_chip {
                format!(
                    "a cooperative launch of {groups} workgroups, but {target} holds {on_chip} of them at once; make \
                     the grid smaller, or workgroups that need fewer waves, registers or LDS"
                )
            } else {
                format!(
                    "a cooperative launch of {groups} workgroups with {private} bytes of private memory per \
                     work-item, but only {capacity} of them fit into the {} MiB that are kept for it; make the grid \
                     smaller, or the kernel's stack",
                    MAX_SCRATCH >> 20
                )
            }));
        }
        // At least one, so that an empty grid is not special.
        let resident = capacity.min(groups).max(1) as u32;
        let plan = Plan {
            geometry,
            workgroups,
            arguments,
            lds,
            dynamic_lds: lds - needs.lds,
            lds_allocated,
            registers,
            waves,
            private,
            scratch_per_wave,
            resident,
            bindings: self.bindings.clone(),
            user_data: self.user_data.clone(),
            traps: self.traps,
            cooperative: self.cooperative,
        };
        self.check_exports(&plan)?;
        Ok(plan)
    }

    /// The kernel argument segment. LDS arguments move the end of `lds`.
    fn arguments(&self, lds: &mut u32) -> Result<Vec<u8>> {
        let kernel = self.kernel;
        let size = self.kernarg.as_ref().map_or(0, Vec::len).max(kernel.kernarg_size() as usize);
        if size > MAX_KERNARG as usize {
            return Err(self
                .refuse(format!("a kernel argument segment of {size} bytes; the maximum is {MAX_KERNARG}")));
        }
        match &self.kernarg {
            Some(raw) => {
                let parameters = kernel.declared_parameters();
                let end = parameters.iter().map(|one| one.offset.saturating_add(one.size)).max().unwrap_or(0);
                if raw.len() < end as usize {
                    return Err(self.refuse(format!(
                        "a kernel argument segment of {} bytes; the explicit parameters have {end}",
                        raw.len()
                    )));
                }
                let mut segment = raw.clone();
                segment.resize(size, 0);
                Ok(segment)
            }
            None => kernel.abi().arguments(kernel, &self.args, size, lds),
        }
    }

    /// Checks that the launch is possible, without running anything.
    ///
    /// # Errors
    /// [`Error::Argument`], [`Error::Launch`] and [`Error::Unusable`] if it is not.
    pub fn check(&self) -> Result<()> {
        self.plan().map(|_| ())
    }

    /// The LDS of each of its workgroups.
    ///
    /// # Errors
    /// As [`Launch::check`].
    pub fn lds(&self) -> Result<LdsSize> {
        let Plan { lds, dynamic_lds, lds_allocated, .. } = self.plan()?;
        Ok(LdsSize { declared: lds - dynamic_lds, asked: lds, allocated: lds_allocated })
    }
}
