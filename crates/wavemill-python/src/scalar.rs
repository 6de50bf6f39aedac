//! Scalar arguments with a type: `wavemill.i32(5)`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::errors;
use crate::types::{Kind, Type};

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
            (What::Value(bytes), of) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let of = of.map_or_else(String::new, |of| format!(", {}", of.name()));
                format!("wavemill.value(bytes.fromhex('{hex}')){of}")
            }
        }
    }
}

/// A structure or another value, as little-endian bytes. The kernel receives a copy.
#[pyfunction]
pub(crate) fn value(bytes: Vec<u8>) -> PyScalar {
    PyScalar { what: What::Value(bytes), of: None }
}

/// Dynamic LDS of this many bytes, for a parameter that points to LDS.
#[pyfunction]
pub(crate) fn local(size: u32) -> PyScalar {
    PyScalar { what: What::Local(size), of: None }
}

/// Bytes of a Python number as this type; `None` if the type does not have it.
pub(crate) fn bytes(value: &Bound<'_, PyAny>, of: Type) -> PyResult<Option<Vec<u8>>> {
    if let Some(number) = integer(value) {
        return Ok(of.of_integer(number));
    }
    if of.kind() != Kind::Float {
        // Numbers of numpy and others are integers by `__index__`.
        return match value.call_method0("__index__") {
            Ok(index) if !value.is_instance_of::<PyFloat>() => {
                Ok(integer(&index).and_then(|number| of.of_integer(number)))
            }
            _ => Ok(None),
        };
    }
    Ok(of.of_float(value.extract::<f64>()?))
}

/// A Python integer or boolean; `None` for other objects, and beyond 128 bits.
pub(crate) fn integer(value: &Bound<'_, PyAny>) -> Option<i128> {
    if value.is_instance_of::<PyBool>() {
        return value.is_truthy().ok().map(i128::from);
    }
    if !value.is_instance_of::<PyInt>() {
        return None;
    }
    value.extract::<i64>().map(i128::from).or_else(|_| value.extract::<u64>().map(i128::from)).ok()
}

/// The error for a number that a type does not have.
fn refused(value: &Bound<'_, PyAny>, of: Type) -> PyErr {
    let shown = errors::shown(value);
    PyValueError::new_err(match of.kind() {
        Kind::Float => format!("{shown} is not a number that fits wavemill.{}", of.name()),
        _ => format!("{shown} is not an integer that fits wavemill.{} ({} bytes)", of.name(), of.size()),
    })
}
