//! Kernels and their calls.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use wavemill::Kernel;

use crate::arguments::{Arguments, signature};
use crate::device::{Defaults, Memory, threads};
use crate::errors;
use crate::parameter::PyParameter;
use crate::run::{Call, Options, run};
use crate::stats::PyStats;

/// A kernel with its parameters, shared by its calls.
#[derive(Debug)]
struct Shared {
    kernel: Kernel,
    parameters: Vec<PyParameter>,
    described: bool,
    defaults: Defaults,
}

/// A kernel of a module. `kernel[grid, block](arguments)` runs it: `grid` is the number of
/// workgroups, `block` the number of work-items of each. Both are a number, or a tuple of up to
/// three.
#[pyclass(frozen, name = "Kernel", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyKernel(Arc<Shared>);

impl PyKernel {
    pub(crate) fn new(kernel: Kernel, defaults: Defaults) -> Self {
        let parameters = kernel.parameters();
        let parameters = parameters.into_iter().enumerate().map(|(index, one)| PyParameter::new(index, one));
        let (parameters, described) = (parameters.collect(), kernel.has_metadata());
        PyKernel(Arc::new(Shared { kernel, parameters, described, defaults }))
    }
}

/// Up to three sizes; the others are 1.
fn sizes(size: &Bound<'_, PyAny>, what: &str) -> PyResult<[u32; 3]> {
    let problem = || {
        let shown = errors::shown(size);
        PyTypeError::new_err(format!("{what} is {shown}; expected a number of 32 bits, or a tuple of 1 to 3"))
    };
    if let Ok(all) = size.cast::<PyTuple>() {
        let mut sizes = [1; 3];
        if !(1..=3).contains(&all.len()) {
            return Err(problem());
        }
        for (n, one) in all.iter().enumerate() {
            sizes[n] = one.extract().map_err(|_| problem())?;
        }
        return Ok(sizes);
    }
    size.extract().map(|size| [size, 1, 1]).map_err(|_| problem())
}

#[pymethods]
impl PyKernel {
    fn __getitem__(&self, launch: &Bound<'_, PyAny>) -> PyResult<PyBoundKernel> {
        let (workgroups, workgroup_size) = match launch.cast::<PyTuple>() {
            Ok(both) if both.len() == 2 => {
                let block = both.get_item(1)?;
                let size = if block.is_none() { None } else { Some(sizes(&block, "the block")?) };
                (sizes(&both.get_item(0)?, "the grid")?, size)
            }
            Ok(_) => {
                let shown = errors::shown(launch);
                return Err(PyTypeError::new_err(format!(
                    "found kernel[{shown}]; expected kernel[grid, block], or kernel[grid] for the workgroup size \
                     that the kernel was compiled for"
                )));
            }
            Err(_) => (sizes(launch, "the grid")?, None),
        };
        Ok(PyBoundKernel { shared: self.0.clone(), workgroups, workgroup_size })
    }

    /// Its name in the code object.
    #[getter]
    fn name(&self) -> &str {
        self.0.kernel.name()
    }

    /// Its name in the source, where it differs.
    #[getter]
    fn demangled_name(&self) -> Option<String> {
        self.0.kernel.demangled_name()
    }

    /// Its parameters; empty if the code object does not describe them.
    #[getter]
    fn parameters(&self) -> Vec<PyParameter> {
        self.0.parameters.clone()
    }

    /// The workgroup size that it was compiled for, if only one is possible.
    #[getter]
    fn required_block(&self) -> Option<(u32, u32, u32)> {
        self.0.kernel.required_workgroup_size().map(Into::into)
    }

    /// The largest possible workgroup, in work-items.
    #[getter]
    fn max_block(&self) -> u32 {
        self.0.kernel.max_workgroup_size()
    }

    fn __repr__(&self) -> String {
        let name = self.0.kernel.demangled_name();
        let name = name.as_deref().unwrap_or_else(|| self.0.kernel.name());
        let parameters: Vec<&str> = self.0.parameters.iter().map(|one| &*one.label).collect();
        if self.0.described && !name.contains('(') {
            format!("<Kernel {name}({})>", parameters.join(", "))
        } else {
            format!("<Kernel {name}>")
        }
    }
}

/// A kernel with a grid: calling it runs the kernel.
#[pyclass(frozen, name = "BoundKernel", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyBoundKernel {
    shared: Arc<Shared>,
    workgroups: [u32; 3],
    workgroup_size: Option<[u32; 3]>,
}

#[pymethods]
impl PyBoundKernel {
    /// Runs the kernel to its end, and returns its statistics.
    ///
    /// Arrays are passed by their addresses, without a copy. `signature` gives types of arguments,
    /// such as `"*fp32,*fp32,i32"`. `kernarg` is the whole kernel argument segment as bytes,
    /// instead of arguments. `memory` lists arrays that the kernel may access besides its
    /// arguments, such as those that pointers in memory point to; a dictionary gives them names for
    /// reports.
    #[pyo3(signature = (
        *args, signature=None, dynamic_lds=0, cooperative=false, kernarg=None, memory=None, stack=None, threads=None,
        max_instructions=None, time_limit=None, find_stalls=true, count=false, traffic=false, poison=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        signature: Option<&str>,
        dynamic_lds: u32,
        cooperative: bool,
        kernarg: Option<Vec<u8>>,
        memory: Option<Bound<'_, PyAny>>,
        stack: Option<u32>,
        threads: Option<usize>,
        max_instructions: Option<u64>,
        time_limit: Option<f64>,
        find_stalls: bool,
        count: bool,
        traffic: bool,
        poison: Option<u32>,
    ) -> PyResult<PyStats> {
        let shared = &*self.shared;
        let threads = match threads {
            Some(threads) => Some(self::threads(py, threads)?),
            None => shared.defaults.threads,
        };
        let time_limit = time_limit.map(|seconds| limit(py, seconds)).transpose()?;
        let options = Options {
            dynamic_lds,
            cooperative,
            stack,
            threads,
            max_instructions,
            time_limit,
            find_stalls,
            count,
            traffic,
            poison,
        };
        if kernarg.is_some() && (!args.is_empty() || signature.is_some()) {
            return Err(errors::refuse(py, "pass either kernarg= or arguments".to_owned()));
        }
        let declared = signature.map(|text| self::signature(py, text)).transpose()?;
        let mut bound = if kernarg.is_some() {
            Arguments::default()
        } else {
            Arguments::of(args, shared.described.then_some(&shared.parameters), declared.as_deref())?
        };
        if let Some(memory) = &memory {
            bound.add_all(memory)?;
        }
        let kernarg = match kernarg {
            None if !shared.described && !args.is_empty() => Some(bound.segment(py)?),
            kernarg => kernarg,
        };
        // The arrays keep their memory until the end of this function.
        let Arguments { args, arrays } = bound;
        let call = Call {
            workgroups: self.workgroups,
            workgroup_size: self.workgroup_size,
            args,
            kernarg,
            memory: arrays.iter().map(|array| array.memory.clone()).collect(),
            process_memory: shared.defaults.memory == Memory::Process,
        };
        let (stats, seconds) = run(py, &shared.kernel, call, options)?;
        Ok(PyStats { kernel: shared.kernel.name().to_owned(), stats, seconds })
    }

    fn __repr__(&self) -> String {
        let [x, y, z] = self.workgroups;
        let block = match self.workgroup_size {
            Some([x, y, z]) => format!(", ({x}, {y}, {z})"),
            None => String::new(),
        };
        format!("<Kernel {}[({x}, {y}, {z}){block}]>", self.shared.kernel.name())
    }
}

/// A time in seconds.
fn limit(py: Python<'_>, seconds: f64) -> PyResult<Duration> {
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| {
        errors::refuse(py, format!("time_limit is {seconds}; expected a positive number of seconds"))
    })
}
