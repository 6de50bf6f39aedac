//! Whether a launch is possible, and what it comes to.

use std::sync::Arc;

use wavemill_isa::AccVgprs;
use wavemill_machine::RegisterCounts;

use super::builder::{Arg, GridSize, Launch};
use crate::error::ArgumentError;
use crate::guest::DeviceInner;
use crate::hidden::Geometry;
use crate::limits::{MAX_KERNARG, MAX_PRIVATE};
use crate::module::{Parameter, ParameterKind};
use crate::registers;
use crate::{Error, Result};

/// LDS of a workgroup, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LdsSize {
    /// What the kernel declares.
    pub declared: u32,
    /// What the launch asks for: that, [`Launch::dynamic_lds`] and arguments that are LDS.
    pub asked: u32,
    /// What the chip allocates: whole granules.
    pub allocated: u32,
}

/// What a possible launch comes to.
pub(super) struct Plan {
    pub geometry: Geometry,
    pub workgroups: [u32; 3],
    /// The kernel argument segment without the hidden arguments.
    pub kernarg: Vec<u8>,
    /// Bytes of LDS of a workgroup.
    pub lds: u32,
    pub registers: RegisterCounts,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Bytes of private memory of a work-item.
    pub private: u32,
    pub scratch_per_wave: u64,
    /// Workgroups that are resident at once.
    pub resident: u32,
}

/// Memory that the scratch of all resident waves may take; fewer workgroups are resident when it would be more.
const MAX_SCRATCH: u64 = 1 << 30;
/// Private memory per lane of kernels whose stack has no known size, unless the launch says another one.
const DYNAMIC_STACK: u32 = 16 << 10;

impl Launch<'_> {
    fn argument_error(&self, problem: ArgumentError) -> Error {
        Error::Argument { kernel: self.kernel.name().to_owned(), problem }
    }

    pub(super) fn refuse(&self, problem: String) -> Error {
        Error::Launch { kernel: self.kernel.name().to_owned(), problem }
    }

    fn too_much_lds(&self) -> Error {
        let device = &self.kernel.module.device;
        let (target, have) = (device.target.name(), device.product.lds());
        self.refuse(format!("more LDS than 32 bits can count; {target} has {have} bytes per workgroup"))
    }

    /// Writes one argument into the segment.
    fn put(&self, index: usize, p: &Parameter, arg: &Arg, kernarg: &mut [u8], lds: &mut u32) -> Result<()> {
        let name = p.name.clone();
        let kind = |expected: String, found| {
            Err(self.argument_error(ArgumentError::Kind { index, name: name.clone(), expected, found }))
        };
        let bytes = match (&p.kind, arg) {
            (ParameterKind::Local, Arg::Local(size)) => {
                let start = p
                    .pointee_align
                    .checked_next_power_of_two()
                    .and_then(|align| lds.checked_next_multiple_of(align))
                    .ok_or_else(|| self.too_much_lds())?;
                *lds = start.checked_add(*size).ok_or_else(|| self.too_much_lds())?;
                start.to_le_bytes().to_vec()
            }
            (ParameterKind::Local, Arg::Buffer(_)) => {
                return kind("dynamic LDS, given by its size".into(), "a buffer");
            }
            (ParameterKind::Local, Arg::Value(_)) => {
                return kind("dynamic LDS, given by its size".into(), "a value");
            }
            (ParameterKind::Other(what), _) => {
                return kind(format!("a `{what}`, which is not supported"), "a value");
            }
            (_, Arg::Local(_)) => return kind("no LDS pointer".into(), "dynamic LDS"),
            (_, Arg::Buffer(b)) => {
                if !b.belongs_to(&self.kernel.module.device) {
                    return Err(self.argument_error(ArgumentError::OtherDevice { index, name }));
                }
                b.address().to_le_bytes().to_vec()
            }
            (_, Arg::Value(bytes)) => bytes.clone(),
        };
        if bytes.len() != p.size as usize {
            let problem = ArgumentError::Size { index, name, expected: p.size, found: bytes.len() };
            return Err(self.argument_error(problem));
        }
        let start = p.offset as usize;
        match kernarg.get_mut(start..start.saturating_add(bytes.len())) {
            Some(slot) => {
                slot.copy_from_slice(&bytes);
                Ok(())
            }
            None => Err(self.kernel.unusable(format!(
                "argument {index} lies at byte {start} of a kernel argument segment of {} bytes",
                kernarg.len()
            ))),
        }
    }

    /// Sizes of the grid and the workgroup, checked.
    fn geometry(&self) -> Result<(Geometry, [u32; 3])> {
        let required = self.kernel.required_workgroup_size();
        let size = self.workgroup_size.or(required).unwrap_or([1; 3]);
        // At most 2^96.
        let items: u128 = size.iter().map(|n| u128::from(*n)).product();
        let max = self.kernel.max_workgroup_size();
        if items == 0 || items > u128::from(max) {
            return Err(self
                .refuse(format!("a workgroup of {size:?} has {items} work-items; 1 to {max} are possible")));
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
                "{} work-items in dimension {d}; at most {} are possible",
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
        let geometry = Geometry {
            global_size,
            workgroup_size: size,
            offset: self.offset,
            dims,
            dynamic_lds: 0,
            queue: 0,
            printf: 0,
            hostcall: 0,
            heap: 0,
        };
        let groups = geometry.workgroups().map(|n| n as u32);
        Ok((geometry, groups))
    }

    /// Makes sure that the launch is possible, and works out its sizes.
    pub(super) fn plan(&self) -> Result<Plan> {
        let device = &self.kernel.module.device;
        let object = self.kernel.object();
        let d = &object.descriptor;
        self.kernel.check()?;
        let (mut geometry, workgroups) = self.geometry()?;

        let mut lds = d.group_segment_fixed_size;
        let kernarg_size = self.kernarg.as_ref().map_or(0, Vec::len).max(self.kernel.kernarg_size() as usize);
        if kernarg_size > MAX_KERNARG as usize {
            return Err(self.refuse(format!(
                "a kernel argument segment of {kernarg_size} bytes; at most {MAX_KERNARG} are possible"
            )));
        }
        let mut kernarg = vec![0u8; kernarg_size];
        if let Some(raw) = &self.kernarg {
            kernarg[..raw.len()].copy_from_slice(raw);
        } else if self.kernel.has_metadata() {
            let parameters = self.kernel.declared_parameters();
            if parameters.len() != self.args.len() {
                let problem = ArgumentError::Count { expected: parameters.len(), found: self.args.len() };
                return Err(self.argument_error(problem));
            }
            for (index, (p, arg)) in parameters.iter().zip(&self.args).enumerate() {
                self.put(index, p, arg, &mut kernarg, &mut lds)?;
            }
        } else if !self.args.is_empty() {
            return Err(self.argument_error(ArgumentError::NoMetadata));
        }
        lds = lds.checked_add(self.dynamic_lds).ok_or_else(|| self.too_much_lds())?;
        geometry.dynamic_lds = lds - d.group_segment_fixed_size;
        if lds > device.product.lds() {
            let have = device.product.lds();
            return Err(
                self.refuse(format!("{lds} bytes of LDS; {} has {have} per workgroup", device.target.name()))
            );
        }

        let registers = self.registers(device)?;
        let waves = geometry.workgroup_size.iter().product::<u32>().div_ceil(64);
        let least = if object.uses_dynamic_stack() { DYNAMIC_STACK } else { 0 };
        let private = match self.kernel.has_private_memory() {
            true => d.private_segment_fixed_size.max(self.stack.unwrap_or(least)),
            false => 0,
        };
        if private > MAX_PRIVATE {
            return Err(self.refuse(format!(
                "{private} bytes of private memory for a work-item; {MAX_PRIVATE} are possible at most"
            )));
        }
        let scratch_per_wave = u64::from(private).div_ceil(4) * 256;
        let on_chip = on_chip(device, registers, waves, lds);
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
        Ok(Plan { geometry, workgroups, kernarg, lds, registers, waves, private, scratch_per_wave, resident })
    }

    /// Makes sure that the launch is possible, without running anything.
    ///
    /// # Errors
    /// [`Error::Argument`], [`Error::Launch`] and [`Error::Unusable`] if it is not.
    pub fn check(&self) -> Result<()> {
        self.plan().map(|_| ())
    }

    /// The LDS that each of its workgroups has.
    ///
    /// # Errors
    /// As [`Launch::check`].
    pub fn lds(&self) -> Result<LdsSize> {
        let Plan { lds, .. } = self.plan()?;
        let declared = self.kernel.object().descriptor.group_segment_fixed_size;
        let granule = self.kernel.module.device.target.lds_granule();
        Ok(LdsSize { declared, asked: lds, allocated: lds.next_multiple_of(granule) })
    }

    fn registers(&self, device: &DeviceInner) -> Result<RegisterCounts> {
        let object = self.kernel.object();
        let r = object.descriptor.registers(&device.id.processor).ok_or_else(|| {
            self.kernel
                .unusable(format!("the register granules of {} are not known", device.id.processor.name()))
        })?;
        let (vgprs, accs) = match device.target.facts().accvgprs {
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
}

/// Workgroups that the chip holds at once, at least 1: what registers and LDS allow, on all its compute units.
fn on_chip(device: &Arc<DeviceInner>, registers: RegisterCounts, waves: u32, lds: u32) -> u64 {
    let chip = device.product;
    let [vgprs, accs] = registers.rows.map(u32::from);
    let vgprs = vgprs + if device.target.has_unified_vgprs() { accs } else { 0 };
    let waves_per_simd = (chip.vgprs_per_simd() / vgprs.max(1)).clamp(1, chip.waves_per_simd());
    let by_waves = (4 * waves_per_simd / waves.max(1)).max(1);
    let allocated = lds.next_multiple_of(device.target.lds_granule());
    let by_lds = chip.lds().checked_div(allocated).map_or(u32::MAX, |n| n.max(1));
    u64::from(by_waves.min(by_lds)) * u64::from(chip.compute_units)
}
