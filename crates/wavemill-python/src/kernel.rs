//! Kernels and their calls.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use wavemill::Kernel;

use crate::arguments::{Arguments, signature};
use crate::device::{Defaults, Memory};
use crate::html::Html;
use crate::parameter::PyParameter;
use crate::run::{Call, Options, run};
use crate::stats::PyStats;
use crate::trace::PyTrace;
use crate::{errors, options, scalar};

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

impl PyKernel {
    /// Its name in the source, or else in the code object.
    pub(crate) fn shown_name(&self) -> String {
        self.0.kernel.demangled_name().unwrap_or_else(|| self.0.kernel.name().to_owned())
    }

    /// What messages call its parameters.
    pub(crate) fn labels(&self) -> Vec<&str> {
        self.0.parameters.iter().map(|one| &*one.label).collect()
    }
}

/// Up to three sizes; the others are 1.
fn sizes(size: &Bound<'_, PyAny>, what: &str) -> PyResult<[u32; 3]> {
    let problem = || {
        let shown = errors::shown(size);
        let text = format!("{what} is {shown}; expected a number of 32 bits, or a tuple of 1 to 3");
        errors::refuse(size.py(), text)
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
                let text = format!(
                    "found kernel[{shown}]; expected kernel[grid, block], or kernel[grid] for the workgroup size \
                     that the kernel was compiled for"
                );
                return Err(errors::refuse(launch.py(), text));
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

    fn _repr_html_(&self) -> String {
        let mut html = Html::table(&self.shown_name());
        html.head(&["parameter", "type", "bytes", "offset"]);
        for one in &self.0.parameters {
            html.row(&[&one.label, one.type_text(), &one.size.to_string(), &one.offset.to_string()]);
        }
        html.end()
    }

    fn __repr__(&self) -> String {
        let name = self.shown_name();
        if self.0.described && !name.contains('(') {
            format!("<Kernel {name}({})>", self.labels().join(", "))
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
    /// reports. `trace` is a `Trace` that records instructions.
    #[pyo3(signature = (
        *args, signature=None, dynamic_lds=Some(0), cooperative=false, kernarg=None, memory=None, stack=None, threads=None,
        max_instructions=None, time_limit=None, find_stalls=true, count=false, traffic=false, poison=None,
        trace=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        signature: Option<&str>,
        #[pyo3(from_py_with = options::dynamic_lds)] dynamic_lds: Option<u32>,
        cooperative: bool,
        kernarg: Option<Bound<'_, PyAny>>,
        memory: Option<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = options::stack)] stack: Option<u32>,
        #[pyo3(from_py_with = options::threads)] threads: Option<usize>,
        #[pyo3(from_py_with = options::max_instructions)] max_instructions: Option<u64>,
        time_limit: Option<f64>,
        find_stalls: bool,
        count: bool,
        traffic: bool,
        #[pyo3(from_py_with = options::poison)] poison: Option<u32>,
        trace: Option<Bound<'_, PyTrace>>,
    ) -> PyResult<PyStats> {
        let shared = &*self.shared;
        let threads = threads.and_then(NonZeroUsize::new).or(shared.defaults.threads);
        let time_limit = time_limit.map(|seconds| limit(py, seconds)).transpose()?;
        let kernarg = kernarg.map(|bytes| scalar::contents(&bytes, "kernarg")).transpose()?;
        let options = Options {
            dynamic_lds: dynamic_lds.unwrap_or(0),
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
        let trace = trace.as_ref().map(|trace| trace.get());
        let (stats, seconds) = run(py, &shared.kernel, call, options, trace)?;
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
        let text =
            format!("time_limit is {seconds:?}; expected seconds, at least 1e-9, or None for no limit");
        errors::refuse(py, text)
    })
}
