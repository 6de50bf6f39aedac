//! How programs of the R600 family start: by the convention of LLVM's `r600` backend, or with the
//! resources that a launch binds.
//!
//! The convention of LLVM:
//!
//! - R0.xyz are the ids of the work-item in its workgroup, R1.xyz those of the workgroup.
//! - Constant buffer 0 has the numbers of workgroups, the global size and the workgroup size, three
//!   dwords each; then the arguments; then the number of dimensions and the global offset.
//! - Pointers are addresses of 32 bits. Loads go through buffer 1, stores and atomic operations
//!   through random access target 0: both cover all of memory.
//! - Buffer 2 covers all of memory too: tables stand in the code, whose literals get their addresses.
//!   LLVM loads dwords of tables through it, but vectors through buffer 1. Buffer 3 is constant
//!   buffer 0.
//!
//! (LLVM 22, `R600ISelLowering`, `AMDGPUCallLowering`, `R600.td`.)

mod arguments;
mod bound;
mod fetch;
mod llvm;

use wavemill_isa::Target;
use wavemill_lift::cayman::registers;
use wavemill_machine::image::Sampler;
use wavemill_machine::{CellPair, RegisterCounts};

use super::{Abi, LaunchMemory, Needs, Plan, Want};
use crate::Result;
use crate::argument::Arg;
use crate::binding::{Binding, Location};
use crate::module::{Kernel, ObjectKernel, R600Kernel};

/// The conventions of the R600 family.
#[derive(Debug)]
pub(crate) struct R600;

/// What the object file says about a kernel.
///
/// # Errors
/// [`Error::Unusable`](crate::Error::Unusable) if it is no kernel of the R600 family.
fn object(kernel: &Kernel) -> Result<&R600Kernel> {
    match kernel.object() {
        ObjectKernel::R600(object) => Ok(object),
        ObjectKernel::Hsa(_) => Err(kernel.unusable("it is not a program of the R600 family".to_owned())),
    }
}

impl Abi for R600 {
    fn pointer_bytes(&self) -> u32 {
        4
    }

    /// Stores of bytes and shorts are atomic operations on dwords (LLVM, `R600TargetLowering`).
    fn allocation_unit(&self) -> u64 {
        4
    }

    fn describes_arguments(&self) -> bool {
        false
    }

    fn vector_registers(&self, _: Target, counts: &RegisterCounts) -> u32 {
        // Each register has four channels.
        u32::from(counts.rows[0]).div_ceil(4)
    }

    fn needs(&self, kernel: &Kernel) -> Needs {
        let lds = object(kernel).map_or(0, |object| object.config.lds);
        // The file does not say how much scratch memory a program needs.
        Needs { lds, has_private: true, ..Needs::default() }
    }

    fn wants(&self, kernel: &Kernel) -> Vec<Want> {
        let wanted = object(kernel).map_or(0, |object| object.config.gprs);
        vec![Want { wanted, available: registers::GPRS.into(), what: "registers" }]
    }

    fn registers(&self, kernel: &Kernel) -> Result<RegisterCounts> {
        let object = object(kernel)?;
        // Clause temporaries are the last of all registers.
        let gprs = if object.needs.temporaries > 0 { registers::GPRS } else { object.config.gprs as u16 };
        let gprs = gprs.clamp(1, registers::GPRS);
        Ok(RegisterCounts {
            cells: registers::CELLS,
            private_base: CellPair::new(registers::PRIVATE_MEMORY),
            ..RegisterCounts::of_rows([4 * gprs, registers::SECOND_ROWS])
        })
    }

    fn arguments(&self, kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>> {
        arguments::segment(kernel, args, size, lds)
    }

    fn allocate(&self, kernel: &Kernel, plan: &Plan) -> Result<Box<dyn LaunchMemory>> {
        // The modes of floats are no resource: with them alone, arguments stay where LLVM has them.
        if plan.bindings.iter().all(|binding| binding.location == Location::Modes) {
            return Ok(Box::new(llvm::Memory::allocate(kernel, plan)?));
        }
        Ok(Box::new(bound::Memory::allocate(kernel, plan)?))
    }

    fn check_bindings(&self, kernel: &Kernel, bindings: &[Binding]) -> Result<()> {
        bound::check(kernel, bindings)
    }

    fn image_descriptor(&self, resource: &[u32; 8], _: (u32, u32), _: u32) -> Vec<u32> {
        resource.to_vec()
    }

    /// COORD_TYPE of each fetch says what coordinates are, and no field of a sampler.
    fn sampler_descriptor(&self, sampler: &Sampler) -> Vec<u32> {
        Sampler { unnormalised: false, ..*sampler }.encode().to_vec()
    }
}
