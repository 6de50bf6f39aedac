//! Devices.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use wavemill::Device;
use wavemill::device::{AddressMode, MatrixRule, PRODUCTS, TargetChoice};
use wavemill_object::printable::Echo;

use crate::module::LoadedModule;
use crate::{errors, options};

/// A chip that runs kernels: `Device("gfx942")`, `Device("mi300x")`, `Device("gfx906:xnack-")`.
#[pyclass(frozen, name = "Device", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyDevice {
    pub(crate) device: Device,
    pub(crate) defaults: Defaults,
}

/// What launches on a device have unless a call says otherwise.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Defaults {
    /// Host threads; `None` for as many as the host has cores.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Which memory of the process kernels may access.
    pub(crate) memory: Memory,
}

/// Which memory of the process kernels may access.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// The arrays of the call.
    #[default]
    Arguments,
    /// All of it.
    Process,
}

impl Memory {
    const ALL: [Memory; 2] = [Memory::Arguments, Memory::Process];

    const fn name(self) -> &'static str {
        match self {
            Memory::Arguments => "arguments",
            Memory::Process => "process",
        }
    }
}

/// The target or product with a name.
///
/// # Errors
/// There is none.
pub(crate) fn choice(py: Python<'_>, name: &str) -> PyResult<TargetChoice> {
    TargetChoice::parse(name).ok_or_else(|| {
        let names: Vec<&str> = PRODUCTS.iter().map(|product| product.name).collect();
        errors::other(
            py,
            format!(
                "`{}` is no target or product; expected a target such as gfx942 or gfx90a:xnack-, or one of {}",
                Echo::new(name),
                names.join(", ")
            ),
        )
    })
}

impl PyDevice {
    /// A device for a target or product.
    ///
    /// # Errors
    /// Wavemill does not model it, or it cannot use arrays of the host.
    pub(crate) fn for_choice(
        py: Python<'_>,
        choice: impl Into<TargetChoice>,
        defaults: Defaults,
        rule: MatrixRule,
    ) -> PyResult<Self> {
        let built = Device::builder(choice).addresses(AddressMode::Identity).matrix_rule(rule).build();
        match built {
            Ok(device) => Ok(PyDevice { device, defaults }),
            Err(wavemill::Error::ShortPointers { target }) => Err(errors::other(
                py,
                format!(
                    "pointers of {target} have 32 bits, and cannot hold addresses of arrays: use the command \
                     `wavemill run` for its kernels"
                ),
            )),
            Err(error) => Err(errors::raised(py, &error)),
        }
    }
}

#[pymethods]
impl PyDevice {
    /// A device for a target or product. `threads` is the number of host threads of a launch; by
    /// default as many as the host has cores. `host_memory` says which memory of the process
    /// kernels may access: with `"arguments"`, the arrays of the call, checked to the byte; with
    /// `"process"`, all of it, unchecked, for kernels that follow pointers in memory.
    /// `matrix_rule` says how matrix instructions sum their products.
    #[new]
    #[pyo3(signature = (target, threads=None, host_memory="arguments", matrix_rule="exact"))]
    fn new(
        py: Python<'_>,
        target: &str,
        #[pyo3(from_py_with = options::threads)] threads: Option<usize>,
        host_memory: &str,
        matrix_rule: &str,
    ) -> PyResult<Self> {
        let threads = threads.and_then(NonZeroUsize::new);
        let memory = Memory::ALL.into_iter().find(|one| one.name() == host_memory).ok_or_else(|| {
            let found = Echo::new(host_memory);
            let text = format!("host_memory is \"{found}\"; expected \"arguments\" or \"process\"");
            errors::refuse(py, text)
        })?;
        let defaults = Defaults { threads, memory };
        PyDevice::for_choice(py, choice(py, target)?, defaults, rule(py, matrix_rule)?)
    }

    /// Loads a code object, a bundle, or a host program with GPU code: `Module.load` with this
    /// device.
    fn load(slf: &Bound<'_, Self>, source: &Bound<'_, PyAny>) -> PyResult<LoadedModule> {
        LoadedModule::load(source, Some(slf.as_any()))
    }

    /// Its target, such as `gfx942`.
    #[getter]
    fn target(&self) -> String {
        self.device.target().to_string()
    }

    /// The product whose compute units and sizes it has.
    #[getter]
    fn product(&self) -> &'static str {
        self.device.product().name
    }

    /// Number of its compute units.
    #[getter]
    fn compute_units(&self) -> u32 {
        self.device.compute_units()
    }

    /// Bytes of LDS in a compute unit, and the limit for a workgroup.
    #[getter]
    fn lds_size(&self) -> u32 {
        self.device.product().lds()
    }

    /// Host threads of a launch; `None` for as many as the host has cores.
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.defaults.threads.map(NonZeroUsize::get)
    }

    /// Which memory of the process kernels may access.
    #[getter]
    fn host_memory(&self) -> &'static str {
        self.defaults.memory.name()
    }

    fn __repr__(&self) -> String {
        let Defaults { threads, memory } = self.defaults;
        let threads = threads.map_or_else(String::new, |threads| format!(", threads={threads}"));
        let memory = match memory {
            Memory::Arguments => "",
            Memory::Process => ", host_memory=\"process\"",
        };
        format!("<Device {} ({}){threads}{memory}>", self.device.target(), self.device.product().name)
    }
}

/// A rule of sums.
fn rule(py: Python<'_>, name: &str) -> PyResult<MatrixRule> {
    let all = MatrixRule::ALL;
    all.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|rule| rule.name()).collect();
        let (found, names) = (Echo::new(name), names.join(", "));
        errors::refuse(py, format!("matrix_rule is \"{found}\"; expected one of {names}"))
    })
}
