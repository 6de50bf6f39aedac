//! Arrays as memory of launches.

use std::ops::Range;
use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use wavemill::launch::HostMemory;

use crate::buffer::Buffer;
use crate::dlpack::Exported;

/// What keeps the memory of an array where it is.
enum Owner<'py> {
    Buffer(#[expect(dead_code, reason = "dropping it releases the memory")] Buffer<'py>),
    Tensor(#[expect(dead_code, reason = "dropping it releases the memory")] Exported<'py>),
}

/// An array that a launch uses. The memory stays until it is dropped.
pub(crate) struct Array<'py> {
    _owner: Owner<'py>,
    _whole: Option<Buffer<'py>>,
    /// The address that the kernel receives: that of the first element.
    pub(crate) address: u64,
    /// Bytes of an element.
    pub(crate) item_size: usize,
    /// The allocation that the array is in.
    pub(crate) memory: HostMemory,
}

/// Most views of views.
const MOST_VIEWS: usize = 64;

impl<'py> Array<'py> {
    /// Whether an object has the buffer protocol or DLPack.
    pub(crate) fn is_exported_by(object: &Bound<'py, PyAny>) -> PyResult<bool> {
        Ok(Buffer::is_exported_by(object) || object.hasattr(intern!(object.py(), "__dlpack__"))?)
    }

    /// The memory of an object; `None` if it has neither the buffer protocol nor DLPack. The name
    /// is for messages.
    ///
    /// # Errors
    /// The object refuses to export its memory, or the memory is not the host's.
    pub(crate) fn of(object: &Bound<'py, PyAny>, name: &Arc<str>) -> PyResult<Option<Self>> {
        if let Some(buffer) = Buffer::of(object)? {
            let (start, part) = (buffer.start(), buffer.extent());
            let whole = whole(object, &part);
            let (memory, item_size) = match &whole {
                Some(whole) => (range(name, start, whole.extent(), &part), buffer.item_size()),
                None => (range(name, start, part.clone(), &part), buffer.item_size()),
            };
            let memory = if buffer.is_read_only() { memory.read_only() } else { memory };
            let address = start.expose_provenance() as u64;
            let _owner = Owner::Buffer(buffer);
            return Ok(Some(Array { _owner, _whole: whole, address, item_size, memory }));
        }
        let Some(tensor) = Exported::of(object)? else { return Ok(None) };
        let whole = storage(object, &tensor.extent).unwrap_or_else(|| tensor.extent.clone());
        let memory = range(name, tensor.start, whole, &tensor.extent);
        let memory = if tensor.read_only { memory.read_only() } else { memory };
        let address = tensor.start.expose_provenance() as u64;
        let item_size = tensor.item_size;
        Ok(Some(Array { _owner: Owner::Tensor(tensor), _whole: None, address, item_size, memory }))
    }
}

/// Memory of the host: an allocation, and the part of it that an array has. `start` points into it.
fn range(name: &Arc<str>, start: *mut u8, whole: Range<u64>, part: &Range<u64>) -> HostMemory {
    let size = whole.end.saturating_sub(whole.start);
    // SAFETY: the exporter of the array keeps the memory until the launch is over, and says whether
    // it may be written. Programs that access arrays meanwhile race with the kernel, which is up to
    // them as with any two threads; kernels access memory atomically or as bytes.
    let memory = unsafe { HostMemory::new(name.clone(), start.with_addr(whole.start as usize), size) };
    memory.argument(part.clone())
}

/// The memory of the object whose memory a view has: the end of the chain of numpy's `base` or of
/// `memoryview.obj`. `None` if there is no other object, or its memory does not contain the view.
fn whole<'py>(view: &Bound<'py, PyAny>, part: &Range<u64>) -> Option<Buffer<'py>> {
    let py = view.py();
    let mut found = None;
    let mut current = view.clone();
    for _ in 0..MOST_VIEWS {
        let name = match current.is_instance_of::<PyMemoryView>() {
            true => intern!(py, "obj"),
            false => intern!(py, "base"),
        };
        let Ok(Some(next)) = current.getattr_opt(name) else { break };
        if next.is_none() {
            break;
        }
        if let Ok(Some(buffer)) = Buffer::of_base(&next) {
            let extent = buffer.extent();
            if extent.start <= part.start && part.end <= extent.end {
                found = Some(buffer);
            }
        }
        current = next;
    }
    found
}

/// The addresses of the storage that a tensor of PyTorch is in; `None` for other objects, or if it
/// does not contain the tensor.
fn storage(tensor: &Bound<'_, PyAny>, part: &Range<u64>) -> Option<Range<u64>> {
    let py = tensor.py();
    let storage = tensor.getattr_opt(intern!(py, "untyped_storage")).ok()??.call0().ok()?;
    let start: u64 = storage.call_method0(intern!(py, "data_ptr")).ok()?.extract().ok()?;
    let size: u64 = storage.call_method0(intern!(py, "nbytes")).ok()?.extract().ok()?;
    let end = start.checked_add(size)?;
    (start <= part.start && part.end <= end).then_some(start..end)
}
