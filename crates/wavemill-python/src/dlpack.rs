//! Memory of tensors with the DLPack protocol (DLPack 1.0, `dlpack.h`).

use std::ffi::{CStr, c_void};
use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::buffer::extent;

/// Device types whose memory the process can access: the CPU.
const CPU: i32 = 1;
/// The flag of a tensor that must not be written.
const READ_ONLY: u64 = 1;
/// Names of capsules.
const TENSOR: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// The start of `DLManagedTensorVersioned`; that of `DLManagedTensor` is its tensor.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager_ctx: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: Tensor,
}

/// A tensor of another library. Its capsule keeps the memory.
pub(crate) struct Exported<'py> {
    _capsule: Bound<'py, PyCapsule>,
    /// The first element.
    pub(crate) start: *mut u8,
    /// The addresses of its elements.
    pub(crate) extent: Range<u64>,
    /// Whether it must not be written.
    pub(crate) read_only: bool,
    /// Bytes of an element.
    pub(crate) item_size: usize,
}

impl<'py> Exported<'py> {
    /// The tensor of an object; `None` if it does not have the protocol.
    ///
    /// # Errors
    /// The tensor is not in memory of the host, or the object refuses.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let Some(export) = object.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
        let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
        let (device, number): (i32, i32) = device.extract()?;
        if device != CPU {
            return Err(PyTypeError::new_err(format!(
                "the tensor is on DLPack device ({device}, {number}); expected one on the CPU, (1, 0): \
                 copy it to the CPU first"
            )));
        }
        let options = PyDict::new(py);
        options.set_item(intern!(py, "max_version"), (1, 0))?;
        let capsule = match export.call((), Some(&options)) {
            Ok(capsule) => capsule,
            // Libraries before DLPack 1.0 have no such parameter.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
            Err(error) => return Err(error),
        };
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let (tensor, read_only) = if capsule.is_valid_checked(Some(VERSIONED)) {
            let raw = capsule.pointer_checked(Some(VERSIONED))?.cast::<Versioned>();
            // SAFETY: a capsule of this name has such a structure; its start is the same in all
            // versions.
            let major = unsafe { raw.as_ref() }.major;
            if major != 1 {
                return Err(PyTypeError::new_err(format!(
                    "expected a tensor of DLPack 1, found one of {major}"
                )));
            }
            // SAFETY: as above.
            let versioned = unsafe { raw.as_ref() };
            (&versioned.tensor, versioned.flags & READ_ONLY != 0)
        } else {
            let raw = capsule.pointer_checked(Some(TENSOR))?.cast::<Tensor>();
            // SAFETY: a capsule of this name has such a structure.
            (unsafe { raw.as_ref() }, false)
        };
        let item_size = (usize::from(tensor.bits) * usize::from(tensor.lanes)).div_ceil(8);
        let data = tensor.data.wrapping_byte_add(tensor.byte_offset as usize);
        let first = data.expose_provenance() as u64;
        let dims = usize::try_from(tensor.ndim).unwrap_or(0);
        let lengths: &[i64] = match dims {
            0 => &[],
            // SAFETY: the shape has an element for each dimension.
            _ => unsafe { std::slice::from_raw_parts(tensor.shape, dims) },
        };
        let item = item_size as i64;
        let extent = if tensor.strides.is_null() {
            // The elements are contiguous.
            let count = lengths.iter().fold(1i64, |count, n| count.saturating_mul(*n));
            extent(first, std::iter::once((count, item)), item)
        } else {
            // SAFETY: the strides have an element for each dimension.
            let strides = unsafe { std::slice::from_raw_parts(tensor.strides, dims) };
            let dims = lengths.iter().zip(strides).map(|(n, stride)| (*n, stride.saturating_mul(item)));
            extent(first, dims, item)
        };
        Ok(Some(Exported { start: data.cast(), extent, read_only, item_size, _capsule: capsule }))
    }
}
