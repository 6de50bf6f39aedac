//! Modules: loaded code objects.

use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyString};
use wavemill::device::MatrixRule;
use wavemill::{Device, Error, Module};

use crate::buffer::Buffer;
use crate::device::{Defaults, PyDevice, choice};
use crate::html::Html;
use crate::kernel::PyKernel;
use crate::{errors, scalar};

/// A code object that is loaded into a device.
#[pyclass(frozen, mapping, name = "Module", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct LoadedModule {
    module: Module,
    device: Py<PyDevice>,
    /// What it was loaded from, for its representation.
    source: String,
}

/// The contents of a file, or bytes themselves, and what to call them.
///
/// # Errors
/// The file cannot be read, or the object is neither a path nor bytes.
pub(crate) fn contents<'py>(source: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let py = source.py();
    if let Ok(bytes) = source.cast::<PyBytes>() {
        return Ok((bytes.clone(), format!("{} bytes", bytes.len()?)));
    }
    let is_path = source.is_instance_of::<PyString>() || source.hasattr("__fspath__")?;
    if is_path {
        let file = py.import("io")?.getattr("open")?.call1((source, "rb"))?;
        let bytes = file.call_method0("read");
        file.call_method0("close")?;
        return Ok((bytes?.cast_into::<PyBytes>()?, source.str()?.to_string()));
    }
    // A bytearray, a memoryview, an array.
    if Buffer::is_exported_by(source) {
        let bytes = scalar::contents(source, "source")?;
        let name = format!("{} bytes", bytes.len());
        return Ok((PyBytes::new(py, &bytes), name));
    }
    Err(PyTypeError::new_err(format!(
        "expected the path of a code object or its bytes, found {}",
        errors::typed(source)
    )))
}

/// The device of a module: one that is given, one for a target, or one for the only target of the
/// file.
fn device(py: Python<'_>, device: Option<&Bound<'_, PyAny>>, file: &[u8]) -> PyResult<Py<PyDevice>> {
    let Some(device) = device else {
        let target = Device::target_of(file).map_err(|error| match error {
            Error::AmbiguousTarget { available } => errors::other(
                py,
                format!(
                    "the file has code for {available}; choose one: Module.load(source, device=\"TARGET\")"
                ),
            ),
            error => errors::raised(py, &error),
        })?;
        return Py::new(py, PyDevice::for_choice(py, target, Defaults::default(), MatrixRule::default())?);
    };
    if let Ok(device) = device.cast::<PyDevice>() {
        return Ok(device.clone().unbind());
    }
    if let Ok(name) = device.cast::<PyString>() {
        let choice = choice(py, &name.to_string())?;
        return Py::new(py, PyDevice::for_choice(py, choice, Defaults::default(), MatrixRule::default())?);
    }
    Err(PyTypeError::new_err(format!(
        "device is {}; expected a wavemill.Device, or the name of a target or product",
        errors::typed(device)
    )))
}

impl LoadedModule {
    fn all(&self) -> Vec<PyKernel> {
        let defaults = self.device.get().defaults;
        self.module.kernels().map(|kernel| PyKernel::new(kernel, defaults)).collect()
    }
}

#[pymethods]
impl LoadedModule {
    /// Loads a code object, a bundle, or a host program or library with GPU code: its path, or its
    /// bytes. `device` is a `Device`, or the name of a target or product; by default the only
    /// target of the file.
    #[staticmethod]
    #[pyo3(signature = (source, device=None))]
    pub(crate) fn load(
        source: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LoadedModule> {
        let py = source.py();
        let (bytes, source) = contents(source)?;
        let file = bytes.as_bytes();
        let device = self::device(py, device, file)?;
        let on = &device.get().device;
        let module = py.detach(|| Module::load(on, file)).map_err(|error| errors::raised(py, &error))?;
        Ok(LoadedModule { module, device, source })
    }

    /// The kernel with this name: its symbol, or its name in the source, of which scopes, template
    /// arguments and parameters may be omitted.
    fn kernel(&self, py: Python<'_>, name: &str) -> PyResult<PyKernel> {
        let kernel = self.module.kernel(name).map_err(|error| errors::raised(py, &error))?;
        Ok(PyKernel::new(kernel, self.device.get().defaults))
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<PyKernel> {
        self.kernel(py, name).map_err(|error| PyKeyError::new_err(error.value(py).to_string()))
    }

    fn __len__(&self) -> usize {
        self.module.kernels().count()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.module.kernel(name).is_ok()
    }

    /// The names of its kernels.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names: Vec<String> = self.module.kernels().map(|kernel| kernel.name().to_owned()).collect();
        PyList::new(py, names)?.try_iter()
    }

    /// Its kernels, in the order of the file.
    #[getter]
    fn kernels(&self) -> Vec<PyKernel> {
        self.all()
    }

    /// The device that it is loaded into.
    #[getter]
    fn device(&self, py: Python<'_>) -> Py<PyDevice> {
        self.device.clone_ref(py)
    }

    /// The target of the code.
    #[getter]
    fn target(&self) -> String {
        self.module.target().to_string()
    }

    fn _repr_html_(&self) -> String {
        let mut html = Html::table(&format!("{} for {}", self.source, self.module.target()));
        html.head(&["kernel", "parameters"]);
        for kernel in self.all() {
            html.row(&[&kernel.shown_name(), &kernel.labels().join(", ")]);
        }
        html.end()
    }

    fn __repr__(&self) -> String {
        let names: Vec<Arc<str>> = self.module.kernels().take(4).map(|kernel| kernel.name().into()).collect();
        let more = if self.__len__() > names.len() { ", ..." } else { "" };
        format!("<Module {} for {}: {}{more}>", self.source, self.module.target(), names.join(", "))
    }
}
