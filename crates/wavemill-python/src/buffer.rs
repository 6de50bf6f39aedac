//! Memory of objects with Python's buffer protocol.

use std::ops::Range;

use pyo3::ffi;
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

impl<'py> Buffer<'py> {
    /// The memory of an object; `None` if it does not have the protocol.
    ///
    /// # Errors
    /// The exporter refuses.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        // SAFETY: the object is alive.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let mut raw = Box::new(ffi::Py_buffer::new());
        // Without the format: numpy has arrays whose elements have none, such as those of
        // ml_dtypes.
        // SAFETY: the object is alive, and the structure is not moved until it is released.
        let result = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *raw, ffi::PyBUF_STRIDES) };
        if result != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(Some(Buffer { raw, _py: object.py() }))
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
        extent(start, numbers, self.raw.itemsize as i64)
    }
}

/// The addresses from the lowest to the end of the highest element of an array, whose dimensions
/// have these lengths and distances in bytes.
pub(crate) fn extent(start: u64, dimensions: impl Iterator<Item = (i64, i64)>, item: i64) -> Range<u64> {
    let (mut low, mut high) = (0i64, item.max(0));
    for (length, stride) in dimensions {
        if length <= 0 {
            return start..start;
        }
        let last = (length - 1).saturating_mul(stride);
        if last < 0 {
            low = low.saturating_add(last);
        } else {
            high = high.saturating_add(last);
        }
    }
    start.saturating_add_signed(low)..start.saturating_add_signed(high)
}
