//! AMD's HSA ABI: how ROCm and OpenCL launch kernels on GCN and CDNA (AMDGPUUsage, "AMDHSA").

mod arguments;
mod global_offset;
mod grid_sync;
mod hidden;
mod images;
mod memory;
mod needs;
mod packet;
mod state;

use wavemill_isa::Target;
use wavemill_machine::RegisterCounts;
use wavemill_machine::image::Sampler;

use super::{Abi, LaunchMemory, Needs, Plan, Want};
use crate::Result;
use crate::argument::Arg;
use crate::module::Kernel;

pub use global_offset::MisreadOffset;

/// AMD's HSA ABI.
#[derive(Debug)]
pub(crate) struct Amdhsa;

impl Abi for Amdhsa {
    fn pointer_bytes(&self) -> u32 {
        8
    }

    fn vector_registers(&self, target: Target, counts: &RegisterCounts) -> u32 {
        let [vgprs, accs] = counts.rows.map(u32::from);
        vgprs + if target.has_unified_vgprs() { accs } else { 0 }
    }

    fn needs(&self, kernel: &Kernel) -> Needs {
        needs::needs(kernel)
    }

    fn wants(&self, kernel: &Kernel) -> Vec<Want> {
        needs::user_sgprs(kernel).into_iter().collect()
    }

    fn registers(&self, kernel: &Kernel) -> Result<RegisterCounts> {
        needs::registers(kernel)
    }

    fn arguments(&self, kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>> {
        arguments::segment(kernel, args, size, lds)
    }

    fn check_user_data(&self, kernel: &Kernel, words: &[u32]) -> Result<()> {
        needs::check_user_sgprs(kernel, words)
    }

    fn allocate(&self, kernel: &Kernel, plan: &Plan) -> Result<Box<dyn LaunchMemory>> {
        Ok(Box::new(memory::Memory::allocate(kernel, plan)?))
    }

    fn image_descriptor(&self, resource: &[u32; 8], channels: (u32, u32), width: u32) -> Vec<u32> {
        images::image(resource, channels, width)
    }

    fn sampler_descriptor(&self, sampler: &Sampler) -> Vec<u32> {
        images::sampler(sampler)
    }
}

/// Bytes from the start of a kernel to its first instruction. Firmware that preloads arguments
/// enters the kernel after the code that loads them (AMDGPUUsage, "Preloaded Kernel Arguments").
fn entry_skip(kernel: &Kernel) -> u64 {
    let preloads = |object: &wavemill_object::Kernel| object.descriptor.kernarg_preload.length() > 0;
    if kernel.hsa().is_some_and(preloads) { 256 } else { 0 }
}
