//! The native module of the Python package `wavemill`.
//!
//! `python/wavemill` has what users import: it re-exports this module. Arrays pass to kernels by
//! their addresses, without a copy ([`wavemill::launch::HostMemory`]). The interpreter's lock is
//! released while a kernel runs.

mod arguments;
mod buffer;
mod device;
mod dlpack;
mod errors;
mod fidelity;
mod html;
mod json;
mod kernel;
mod machine_code;
mod memory;
mod module;
mod numpy;
mod options;
mod parameter;
mod run;
mod scalar;
mod stats;
mod tools;
mod trace;
mod types;

/// Native parts of the package `wavemill`.
#[pyo3::pymodule]
mod _wavemill {
    #[pymodule_export]
    use crate::device::PyDevice;
    #[pymodule_export]
    use crate::fidelity::{PyFacet, PyFidelity, PyInexact};
    #[pymodule_export]
    use crate::kernel::{PyBoundKernel, PyKernel};
    #[pymodule_export]
    use crate::machine_code::run_code;
    #[pymodule_export]
    use crate::module::LoadedModule;
    #[pymodule_export]
    use crate::parameter::PyParameter;
    #[pymodule_export]
    use crate::scalar::{PyScalar, PyScalarType, local, value};
    #[pymodule_export]
    use crate::stats::PyStats;
    #[pymodule_export]
    use crate::tools::{asm, dis, explain, info};
    #[pymodule_export]
    use crate::trace::{PyAccess, PyStep, PyTrace};

    use pyo3::prelude::*;

    use crate::types::Type;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        for of in Type::all() {
            module.add(of.name(), PyScalarType { of })?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
