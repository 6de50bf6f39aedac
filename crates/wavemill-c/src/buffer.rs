//! Buffers of guest memory.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use wavemill::error::MemoryError;
use wavemill::{Buffer, Error};
use wavemill_object::printable::Echo;

use crate::memory::{self, Out};
use crate::message::{Failure, Result, call};
use crate::{device, handle, wm_buffer_t, wm_device_t};

/// The name of a buffer without a name.
const UNNAMED: &str = "buffer";

/// Creates a buffer of `size` bytes: zeros, or the word of `poison_buffers`. Its name appears in
/// reports; it may be NULL.
///
/// # Safety
/// `name` is NULL or a string; `buffer` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_new(
    device: *const wm_device_t,
    name: *const c_char,
    size: u64,
    buffer: *mut *mut wm_buffer_t,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { create(device, name, buffer, |device, name| Ok(device.buffer(name, size)?)) }
}

/// An entry point that makes a buffer of a device, whose name is null or a string.
///
/// # Safety
/// `name` is null or a string; `buffer` is null, or leads to a variable.
unsafe fn create(
    device: *const wm_device_t,
    name: *const c_char,
    buffer: *mut *mut wm_buffer_t,
    make: impl FnOnce(&wavemill::Device, &str) -> Result<Buffer>,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (buffer, name) = unsafe {
            (Out::new(buffer, "the buffer")?, memory::optional_text(name, "the name of a buffer")?)
        };
        let device = handle::get::<Arc<device::Entry>>(device)?;
        buffer.set(handle::add(make(&device.device, name.unwrap_or(UNNAMED))?));
        Ok(())
    })
}

/// Makes `size` bytes of the host a buffer, without a copy: what kernels write is there at once. With
/// `WM_ADDRESS_IDENTITY`, its guest address is `memory` itself. Accesses are checked against its
/// bytes as with any buffer.
///
/// # Safety
/// `name` is NULL or a string; `buffer` leads to a variable. `size` bytes at `memory` can be
/// read and written until the buffer is freed and the launches running at that time are over. During
/// launches that may use them, the program accesses them by atomic operations alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_import(
    device: *const wm_device_t,
    name: *const c_char,
    memory: *mut c_void,
    size: u64,
    buffer: *mut *mut wm_buffer_t,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { create(device, name, buffer, |device, name| import(device, name, memory, size)) }
}

/// A buffer of the caller's memory.
///
/// # Safety
/// As [`wavemill::Device::import_buffer`], for memory that is not null.
pub(crate) unsafe fn import(
    device: &wavemill::Device,
    name: &str,
    memory: *mut c_void,
    size: u64,
) -> Result<Buffer> {
    let shown = Echo::new(name);
    if memory.is_null() {
        return Err(Failure::new(format!("expected {size} bytes of memory for `{shown}`, found NULL")));
    }
    let end = usize::try_from(size).ok().filter(|size| *size <= isize::MAX as usize);
    if end.and_then(|size| memory.addr().checked_add(size)).is_none() {
        return Err(Failure::new(format!(
            "{size} bytes at {memory:p} for `{shown}` go beyond the end of memory"
        )));
    }
    // SAFETY: the caller's promise.
    match unsafe { device.import_buffer(name, memory.cast(), size) } {
        // No memory is allocated: the addresses are the problem.
        Err(Error::Memory(MemoryError::OutOfMemory { .. })) => Err(Failure::new(format!(
            "{size} bytes at {memory:p} for `{shown}` are not within the addresses that kernels can use"
        ))),
        imported => Ok(imported?),
    }
}

/// Copies `size` bytes into a buffer, from its byte `offset` on.
///
/// # Safety
/// `size` bytes at `bytes` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_write(
    buffer: *const wm_buffer_t,
    offset: u64,
    bytes: *const c_void,
    size: usize,
) -> *const c_char {
    call(|| {
        let buffer = handle::get::<Buffer>(buffer)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { memory::bytes(bytes, size, "contents for a buffer")? };
        Ok(buffer.write_bytes(offset, bytes)?)
    })
}

/// Copies `size` bytes out of a buffer, from its byte `offset` on.
///
/// # Safety
/// `size` bytes at `bytes` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_read(
    buffer: *const wm_buffer_t,
    offset: u64,
    bytes: *mut c_void,
    size: usize,
) -> *const c_char {
    call(|| {
        let buffer = handle::get::<Buffer>(buffer)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { memory::bytes_mut(bytes, size, "room for the contents of a buffer")? };
        Ok(buffer.read_bytes(offset, bytes)?)
    })
}

/// The guest address of the first byte of a buffer.
///
/// # Safety
/// `address` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_address(buffer: *const wm_buffer_t, address: *mut u64) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { handle::report(buffer, address, "the address", |buffer: &Buffer| Ok(buffer.address())) }
}

/// The size of a buffer in bytes.
///
/// # Safety
/// `size` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_buffer_size(buffer: *const wm_buffer_t, size: *mut u64) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { handle::report(buffer, size, "the size", |buffer: &Buffer| Ok(buffer.size())) }
}

/// Frees a buffer. A launch that is running can still finish with it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn wm_buffer_free(buffer: *mut wm_buffer_t) -> *const c_char {
    call(|| handle::free::<Buffer>(buffer))
}
