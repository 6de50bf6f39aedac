//! Memory of objects with Python's buffer protocol.

use std::ffi::{CStr, c_int};
use std::ops::Range;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

/// The memory of an object. Until it is dropped, the object keeps the memory where it is.
pub(crate) struct Buffer<'py> {
    // Exporters may point into the structure, so it must not move.
    raw: Box<ffi::Py_buffer>,
    /// The thread is attached to the interpreter as long as there is memory.
    _py: Python<'py>,
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the structure was filled by `PyObject_GetBuffer` and is released once, while this
        // thread is attached to the interpreter.
        unsafe { ffi::PyBuffer_Release(&mut *self.raw) }
    }
}

/// The error for an array whose elements, or fields of them, are references to objects.
fn of_objects() -> PyErr {
    PyTypeError::new_err(
        "its elements are objects of Python, which kernels cannot use: convert it to numbers",
    )
}

/// The error for an array whose elements have the other order of bytes.
fn of_other_order() -> PyErr {
    let here = if cfg!(target_endian = "little") { "big" } else { "little" };
    PyTypeError::new_err(format!(
        "its elements are {here}-endian, which kernels would read in the wrong order: convert it (for numpy, \
         `.astype(array.dtype.newbyteorder(\"=\"))`), or pass its bytes (`.view(numpy.uint8)`)"
    ))
}

/// Whether an error says that an object cannot be exported in some way.
pub(crate) fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
}

impl<'py> Buffer<'py> {
    /// Whether an object has the protocol.
    pub(crate) fn is_exported_by(object: &Bound<'py, PyAny>) -> bool {
        // SAFETY: the object is alive.
        unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
    }

    /// The memory of an object; `None` if it does not have the protocol.
    ///
    /// # Errors
    /// The exporter refuses, or the elements are objects of Python.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        if !Self::is_exported_by(object) {
            return Ok(None);
        }
        // Numpy refuses to export arrays of ml_dtypes with a format, but its arrays have a type.
        if let Some(dtype) = object.getattr_opt(intern!(object.py(), "dtype"))? {
            let has_objects = dtype.getattr_opt(intern!(object.py(), "hasobject"))?;
            if has_objects.map_or(Ok(false), |has| has.is_truthy())? {
                return Err(of_objects());
            }
            let is_native = dtype.getattr_opt(intern!(object.py(), "isnative"))?;
            if !is_native.map_or(Ok(true), |native| native.is_truthy())? {
                return Err(of_other_order());
            }
            return Self::export(object, ffi::PyBUF_STRIDES).map(Some);
        }
        let buffer = Self::export(object, ffi::PyBUF_STRIDES | ffi::PyBUF_FORMAT)?;
        if buffer.format_has(b"O") {
            return Err(of_objects());
        }
        // One byte has no order.
        let swapped: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
        if buffer.item_size() > 1 && buffer.format_has(swapped) {
            return Err(of_other_order());
        }
        Ok(Some(buffer))
    }

    /// The memory of an object that a view is of, whatever its elements are; `None` if it does not
    /// have the protocol.
    ///
    /// # Errors
    /// The exporter refuses.
    pub(crate) fn of_base(base: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        Self::is_exported_by(base).then(|| Self::export(base, ffi::PyBUF_STRIDES)).transpose()
    }

    fn export(object: &Bound<'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut raw = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object is alive, and the structure is not moved until it is released.
        let result = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *raw, flags) };
        if result != 0 {
            // There is nothing to release.
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Buffer { raw, _py: object.py() })
    }

    /// Whether the format of the elements, or of a field of them, has one of these characters: `O` for
    /// references to objects, `>` for big-endian numbers.
    fn format_has(&self, codes: &[u8]) -> bool {
        if self.raw.format.is_null() {
            return false;
        }
        // SAFETY: it is a string as long as the buffer is not released.
        let format = unsafe { CStr::from_ptr(self.raw.format) }.to_bytes();
        // Names of fields are between colons.
        format.split(|byte| *byte == b':').step_by(2).any(|part| part.iter().any(|code| codes.contains(code)))
    }

    /// The first element.
    pub(crate) fn start(&self) -> *mut u8 {
        self.raw.buf.cast()
    }

    /// Whether the memory must not be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.raw.readonly != 0
    }

    /// Bytes of an element.
    pub(crate) fn item_size(&self) -> usize {
        usize::try_from(self.raw.itemsize).unwrap_or(0)
    }

    /// The addresses from the lowest to the end of the highest element. Elements of views may be
    /// before the first one.
    pub(crate) fn extent(&self) -> Range<u64> {
        let start = self.raw.buf.expose_provenance() as u64;
        let dims = usize::try_from(self.raw.ndim).unwrap_or(0);
        if self.raw.shape.is_null() || self.raw.strides.is_null() || dims == 0 {
            return start..start.saturating_add(self.raw.len.max(0) as u64);
        }
        // SAFETY: both have an element for each dimension, as requested.
        let shape = unsafe { std::slice::from_raw_parts(self.raw.shape, dims) };
        // SAFETY: as above.
        let strides = unsafe { std::slice::from_raw_parts(self.raw.strides, dims) };
        let numbers = shape.iter().zip(strides).map(|(n, stride)| (*n as i64, *stride as i64));
        let Range { start: low, end: high } = offsets(numbers, self.raw.itemsize as i64);
        start.saturating_add_signed(low)..start.saturating_add_signed(high)
    }
}

/// The offsets from the lowest to the end of the highest element of an array, from its first one.
/// Its dimensions have these lengths and distances, which have the same unit as the size of an
/// element.
pub(crate) fn offsets(dimensions: impl Iterator<Item = (i64, i64)>, item: i64) -> Range<i64> {
    let (mut low, mut high) = (0i64, item.max(0));
    for (length, stride) in dimensions {
        if length <= 0 {
            return 0..0;
        }
        let last = (length - 1).saturating_mul(stride);
        if last < 0 {
            low = low.saturating_add(last);
        } else {
            high = high.saturating_add(last);
        }
    }
    low..high
}
