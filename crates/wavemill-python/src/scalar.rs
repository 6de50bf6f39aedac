//! Scalar arguments with a type: `wavemill.i32(5)`.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyMemoryView};
use wavemill::element::Number;

use crate::types::Type;
use crate::{errors, numpy, options};

/// A type of scalar arguments: `wavemill.f32(2.0)` is an argument of four bytes.
#[pyclass(frozen, name = "ScalarType", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyScalarType {
    pub(crate) of: Type,
}

#[pymethods]
impl PyScalarType {
    /// The argument with this value. An integer that the type does not have is an error; a float
    /// is rounded.
    fn __call__(&self, value: &Bound<'_, PyAny>) -> PyResult<PyScalar> {
        match bytes(value, self.of)? {
            Some(bytes) => Ok(PyScalar { what: What::Value(bytes), of: Some(self.of) }),
            None => Err(refused(value, self.of)),
        }
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.of.name()
    }

    /// Its size in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.of.size()
    }

    fn __repr__(&self) -> String {
        format!("wavemill.{}", self.of.name())
    }
}

/// What a scalar argument is.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Bytes of a value.
    Value(Vec<u8>),
    /// Dynamic LDS of this many bytes.
    Local(u32),
}

/// An argument that is not an array: a number with a type, a structure by value, or dynamic LDS.
#[pyclass(frozen, name = "Scalar", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyScalar {
    pub(crate) what: What,
    pub(crate) of: Option<Type>,
}

#[pymethods]
impl PyScalar {
    fn __repr__(&self) -> String {
        match (&self.what, self.of) {
            (What::Local(size), _) => format!("wavemill.local({size})"),
            (What::Value(bytes), Some(of)) => format!("wavemill.{}({})", of.name(), of.expression(bytes)),
            (What::Value(bytes), None) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("wavemill.value(bytes.fromhex(\"{hex}\"))")
            }
        }
    }
}

/// A structure or another value, as little-endian bytes: `bytes`, or an object with the buffer
/// protocol, such as a structure of `ctypes`. The kernel receives a copy.
#[pyfunction]
pub(crate) fn value(bytes: &Bound<'_, PyAny>) -> PyResult<PyScalar> {
    Ok(PyScalar { what: What::Value(self::contents(bytes, "value")?), of: None })
}

/// Dynamic LDS of this many bytes, for a parameter that points to LDS.
#[pyfunction]
pub(crate) fn local(size: &Bound<'_, PyAny>) -> PyResult<PyScalar> {
    let size = options::whole(size, "the size", 0..=u32::MAX.into())?;
    Ok(PyScalar { what: What::Local(size as u32), of: None })
}

/// A copy of the bytes of an object with the buffer protocol.
///
/// # Errors
/// It is something else.
pub(crate) fn contents(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u8>> {
    let py = object.py();
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Ok(view) = PyMemoryView::from(object) else {
        let text = format!(
            "{what} is {}; expected bytes, or an object with the buffer protocol",
            errors::typed(object)
        );
        return Err(errors::refuse(py, text));
    };
    view.call_method0(intern!(py, "tobytes"))?.extract()
}

/// Bytes of a Python number as this type; `None` if the type does not have it.
///
/// # Errors
/// It is no number.
pub(crate) fn bytes(value: &Bound<'_, PyAny>, of: Type) -> PyResult<Option<Vec<u8>>> {
    if let Some(number) = integer(value)? {
        return Ok(of.bytes(Number::Int(number)));
    }
    if of.is_float() {
        return Ok(of.bytes(Number::Float(value.extract()?)));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(None);
    }
    // Numbers of numpy and others are integers by `__index__`.
    match value.call_method0(intern!(value.py(), "__index__")) {
        Ok(index) => Ok(integer(&index)?.and_then(|number| of.bytes(Number::Int(number)))),
        Err(_) => Ok(None),
    }
}

/// An integer or boolean of Python, or a boolean of numpy; `None` for other objects, and for
/// integers of more than 128 bits.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(value.extract().ok());
    }
    Ok(match numpy::scalar_type(value)? {
        Some(Some(Type::Bool)) => Some(value.is_truthy()?.into()),
        _ => None,
    })
}

/// The error for a number that a type does not have.
fn refused(value: &Bound<'_, PyAny>, of: Type) -> PyErr {
    let (shown, name) = (errors::shown(value), of.name());
    PyValueError::new_err(match of {
        of if of.is_float() => format!("{shown} is not a number that fits wavemill.{name}"),
        of => format!("{shown} is not an integer that fits wavemill.{name} ({})", errors::bytes(of.size())),
    })
}
