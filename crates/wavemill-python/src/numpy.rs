//! Scalars of numpy and of ml_dtypes. Nothing here imports numpy.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::types::Type;

/// The base class of numpy's scalars; `None` if the program has not imported numpy.
fn generic(py: Python<'_>) -> PyResult<Option<&Bound<'_, PyType>>> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Some(generic) = GENERIC.get(py) {
        return Ok(Some(generic.bind(py)));
    }
    let modules = py.import("sys")?.getattr("modules")?;
    let numpy = modules.cast::<PyDict>()?.get_item("numpy")?;
    // While numpy is being imported, it lacks the class.
    let Some(generic) = numpy.map(|numpy| numpy.getattr_opt("generic")).transpose()?.flatten() else {
        return Ok(None);
    };
    let generic = generic.cast_into::<PyType>()?.unbind();
    Ok(Some(GENERIC.get_or_init(py, || generic).bind(py)))
}

/// Whether an object is a scalar of numpy or of ml_dtypes. Scalars and arrays have a dtype; only
/// scalars derive from `generic`.
pub(crate) fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match generic(object.py())? {
        Some(generic) => object.get_type().is_subclass(generic),
        None => Ok(false),
    }
}

/// The type of a scalar, if a parameter can have it; `None` for objects that are no scalars.
pub(crate) fn scalar_type(object: &Bound<'_, PyAny>) -> PyResult<Option<Option<Type>>> {
    if !is_scalar(object)? {
        return Ok(None);
    }
    let py = object.py();
    let name: String = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?.extract()?;
    Ok(Some(Type::from_name(&name)))
}

/// A scalar of numpy.
pub(crate) struct Scalar {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its type; `None` for structures, complex numbers, and numbers of other sizes.
    pub(crate) of: Option<Type>,
    /// Whether it is something else than numbers: a text, bytes, a time.
    pub(crate) is_text: bool,
    /// Whether it has the order of bytes of the host: a structure can have another one.
    pub(crate) is_native: bool,
}

/// The scalar that an object is; `None` for other objects.
pub(crate) fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let Some(of) = scalar_type(object)? else { return Ok(None) };
    let py = object.py();
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let kind: char = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let is_native = dtype.getattr(intern!(py, "isnative"))?.is_truthy()?;
    let bytes = object.call_method0(intern!(py, "tobytes"))?.extract()?;
    Ok(Some(Scalar { bytes, of, is_text: matches!(kind, 'S' | 'U' | 'T' | 'O' | 'M' | 'm'), is_native }))
}
