//! Memory of tensors with the DLPack protocol (DLPack 1.0, `dlpack.h`).

use std::ffi::{CStr, c_void};
use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::buffer::offsets;

/// Device types whose memory the process can access: the CPU.
const CPU: i32 = 1;
/// The flag of a tensor that must not be written.
const READ_ONLY: u64 = 1 << 0;
/// The flag of a tensor that is a copy of the object's memory.
const IS_COPIED: u64 = 1 << 1;
/// The flag of a tensor whose elements of fewer than 8 bits have a byte each. Without it, they are
/// packed.
const SUB_BYTE_PADDED: u64 = 1 << 2;
/// Most dimensions of a tensor: a larger number was never set.
const MOST_DIMENSIONS: i32 = 64;
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
    /// The tensor is not in memory of the host, is a copy, or is broken; or the object refuses.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let export = object.getattr_opt(intern!(py, "__dlpack__"))?.filter(|export| !export.is_none());
        let Some(export) = export else { return Ok(None) };
        let Some(device) = object.getattr_opt(intern!(py, "__dlpack_device__"))? else {
            return Err(PyTypeError::new_err("it has `__dlpack__`, but no `__dlpack_device__`"));
        };
        let (device, number): (i32, i32) = device.call0()?.extract()?;
        check_device(device, number)?;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "max_version"), (1, 0))?;
        let capsule = match export.call((), Some(&options)) {
            Ok(capsule) => capsule,
            // Libraries before DLPack 1.0 have no such parameter.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
            Err(error) => return Err(error),
        };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else {
            return Err(PyTypeError::new_err("its `__dlpack__` returns no capsule"));
        };
        let (tensor, flags) = if capsule.is_valid_checked(Some(VERSIONED)) {
            let raw = capsule.pointer_checked(Some(VERSIONED))?.cast::<Versioned>();
            // SAFETY: a capsule of this name has such a structure; its start is the same in all
            // versions.
            let major = unsafe { (&raw const (*raw.as_ptr()).major).read() };
            if major != 1 {
                return Err(PyTypeError::new_err(format!(
                    "it is a tensor of DLPack {major}; expected one of DLPack 1"
                )));
            }
            // SAFETY: as above.
            let versioned = unsafe { raw.as_ref() };
            (&versioned.tensor, versioned.flags)
        } else if capsule.is_valid_checked(Some(TENSOR)) {
            let raw = capsule.pointer_checked(Some(TENSOR))?.cast::<Tensor>();
            // SAFETY: a capsule of this name has such a structure.
            (unsafe { raw.as_ref() }, 0)
        } else {
            return Err(PyTypeError::new_err(
                "the capsule of its `__dlpack__` has no tensor, or another library has taken it",
            ));
        };
        check_device(tensor.device_type, tensor.device_id)?;
        if flags & IS_COPIED != 0 {
            return Err(PyTypeError::new_err(
                "its `__dlpack__` makes a copy of its memory, so that results of the kernel would be lost",
            ));
        }
        // SAFETY: the capsule keeps the tensor.
        let extent = unsafe { tensor.extent(flags & SUB_BYTE_PADDED != 0)? };
        let (start, item_size) = (tensor.first().cast(), tensor.bits().div_ceil(8) as usize);
        Ok(Some(Exported { start, extent, read_only: flags & READ_ONLY != 0, item_size, _capsule: capsule }))
    }
}

/// Checks that the process can access the memory of a device.
fn check_device(kind: i32, number: i32) -> PyResult<()> {
    match kind {
        CPU => Ok(()),
        _ => Err(PyTypeError::new_err(format!(
            "the tensor is on DLPack device ({kind}, {number}); expected one on the CPU, (1, 0): copy it to the \
             CPU first"
        ))),
    }
}

impl Tensor {
    /// The first element.
    fn first(&self) -> *mut c_void {
        self.data.wrapping_byte_add(self.byte_offset as usize)
    }

    /// Bits of an element.
    fn bits(&self) -> u32 {
        u32::from(self.bits) * u32::from(self.lanes)
    }

    /// The addresses from the lowest to the end of the highest element.
    ///
    /// # Errors
    /// The tensor is broken.
    ///
    /// # Safety
    /// The shape and the strides have an element for each dimension, if they are not null.
    unsafe fn extent(&self, padded: bool) -> PyResult<Range<u64>> {
        let broken = |what: String| PyTypeError::new_err(format!("its DLPack tensor {what}"));
        let start = self.first().expose_provenance() as u64;
        if !(0..=MOST_DIMENSIONS).contains(&self.ndim) {
            return Err(broken(format!("has {} dimensions", self.ndim)));
        }
        let dims = self.ndim as usize;
        if dims > 0 && self.shape.is_null() {
            return Err(broken("has no shape".to_owned()));
        }
        let lengths: &[i64] = match dims {
            0 => &[],
            // SAFETY: it is not null, and the caller promises its elements.
            _ => unsafe { std::slice::from_raw_parts(self.shape, dims) },
        };
        if let Some(length) = lengths.iter().find(|length| **length < 0) {
            return Err(broken(format!("has the length {length}")));
        }
        if self.bits() == 0 {
            return Err(broken("has elements of 0 bits".to_owned()));
        }
        // In bits, as packed elements need not begin at a byte.
        let item = if padded { self.bits().next_multiple_of(8) } else { self.bits() };
        let bits = if dims == 0 || self.strides.is_null() {
            // The elements are contiguous.
            let count = lengths.iter().fold(1i64, |count, n| count.saturating_mul(*n));
            offsets(std::iter::once((count, i64::from(item))), item.into())
        } else {
            // SAFETY: it is not null, and the caller promises its elements.
            let strides = unsafe { std::slice::from_raw_parts(self.strides, dims) };
            let steps = strides.iter().map(|stride| stride.saturating_mul(item.into()));
            offsets(lengths.iter().copied().zip(steps), item.into())
        };
        let whole = |bits: i64, up: i64| bits.saturating_add(up).div_euclid(8);
        Ok(start.saturating_add_signed(whole(bits.start, 0))..start.saturating_add_signed(whole(bits.end, 7)))
    }
}
