//! Devices.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use wavemill::Device;
use wavemill::device::{AddressMode, TargetChoice};
use wavemill_object::printable::Echo;

use crate::memory::{self, Out};
use crate::message::{Failure, Result, c_string, call, keep_text};
use crate::{handle, wm_device_t};

/// A device, and what its options say about launches.
#[derive(Debug)]
pub(crate) struct Entry {
    pub device: Device,
    /// Host threads of launches that do not say how many; 0 for the default.
    pub threads: u32,
    /// Whether kernels may access all memory of the process.
    pub process_memory: bool,
    target: CString,
}

/// What guest addresses are.
#[repr(C)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_address_mode_t {
    /// Synthetic addresses: the same in every run, and never reused.
    WM_ADDRESS_SANDBOX = 0,
    /// Host addresses: every host pointer is the same guest address.
    WM_ADDRESS_IDENTITY = 1,
}

/// The memory of the host that kernels may use.
#[repr(C)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_host_memory_t {
    /// Imported buffers. Each access is checked against them, to the byte.
    WM_HOST_MEMORY_BUFFERS = 0,
    /// All memory of the process, for kernels that follow pointers in memory. Only accesses where
    /// the process has no memory, or where it must not write, are faults: a wrong kernel can break
    /// everything in the process. Needs `WM_ADDRESS_IDENTITY`.
    WM_HOST_MEMORY_PROCESS = 1,
}

/// Options of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_device_options_t {
    /// Set it to `sizeof(wm_device_options_t)`.
    pub struct_size: usize,
    /// The target or the product, in UTF-8: `gfx942`, `gfx90a:xnack-`, `mi300x`.
    pub target: *const c_char,
    /// One of `wm_address_mode_t`.
    pub address_mode: u32,
    /// One of `wm_host_memory_t`.
    pub host_memory: u32,
    /// Host threads of launches that do not say how many. 0: as many as the host has cores, or one
    /// for a small grid.
    pub threads: u32,
    /// Not 0: buffers are filled with `poison` instead of zeros, so that reads of uninitialised
    /// memory show.
    pub poison_buffers: u32,
    /// The word for `poison_buffers`.
    pub poison: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Bytes that kernels can allocate by `malloc`; 0 for 256 MiB.
    pub heap_size: u64,
}

memory::versioned! {
    unsafe wm_device_options_t {
        target, address_mode, host_memory, threads, poison_buffers, poison, reserved,
    } ends with heap_size: u64
}

/// The device or target that a text names.
pub(crate) fn choice(text: &str) -> Result<TargetChoice> {
    TargetChoice::parse(text).ok_or_else(|| {
        let found = Echo::new(text);
        Failure::new(format!("expected a target like gfx942 or a product like mi300x, found `{found}`"))
    })
}

/// Checks a field that must be 0.
pub(crate) fn reserved(structure: &str, value: u32) -> Result<()> {
    match value {
        0 => Ok(()),
        other => Err(Failure::new(format!("the reserved field of a {structure} is {other}; set it to 0"))),
    }
}

/// A device.
///
/// # Safety
/// A target that is not null leads to a string.
unsafe fn new(options: &wm_device_options_t) -> Result<Entry> {
    reserved("wm_device_options_t", options.reserved)?;
    // SAFETY: the caller's promise.
    let choice = choice(unsafe { memory::text(options.target, "the name of a target")? })?;
    let mode = match options.address_mode {
        0 => AddressMode::Sandbox,
        1 => AddressMode::Identity,
        other => {
            return Err(Failure::new(format!(
                "address_mode is {other}; expected WM_ADDRESS_SANDBOX (0) or WM_ADDRESS_IDENTITY (1)"
            )));
        }
    };
    let process_memory = match options.host_memory {
        0 => false,
        1 if mode == AddressMode::Identity => true,
        1 => {
            return Err(Failure::new(
                "host_memory is WM_HOST_MEMORY_PROCESS, which needs WM_ADDRESS_IDENTITY (1); found address_mode 0",
            ));
        }
        other => {
            return Err(Failure::new(format!(
                "host_memory is {other}; expected WM_HOST_MEMORY_BUFFERS (0) or WM_HOST_MEMORY_PROCESS (1)"
            )));
        }
    };
    let mut builder = Device::builder(choice).addresses(mode);
    if options.poison_buffers != 0 {
        builder = builder.poison_buffers(options.poison);
    }
    if options.heap_size != 0 {
        builder = builder.heap_size(options.heap_size);
    }
    let device = builder.build()?;
    let target = c_string(device.target().to_string());
    Ok(Entry { device, threads: options.threads, process_memory, target })
}

/// Creates a device: the model of a chip, with memory of its own.
///
/// # Safety
/// `options` leads to a structure of the size that it says, with a string; `device` leads to
/// a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_device_new(
    options: *const wm_device_options_t,
    device: *mut *mut wm_device_t,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let device = Out::new(device, "the device")?;
            let entry = new(&memory::read(options)?)?;
            device.set(handle::add(Arc::new(entry)));
        }
        Ok(())
    })
}

/// Frees a device. Its buffers, modules and kernels stay usable until they are freed. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub extern "C" fn wm_device_free(device: *mut wm_device_t) -> *const c_char {
    call(|| handle::free::<Arc<Entry>>(device))
}

/// The target of a device, such as `gfx942`. The string lives as long as the device.
///
/// # Safety
/// `target` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_device_target(
    device: *const wm_device_t,
    target: *mut *const c_char,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { handle::report(device, target, "the target", |entry: &Arc<Entry>| Ok(entry.target.as_ptr())) }
}

/// The only target that a file has code for: a code object, an offload bundle, a program or a
/// library. The string lives until the thread's next call that returns text of that kind.
///
/// # Safety
/// `size` bytes at `bytes` can be read, and `target` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_target_of(
    bytes: *const c_void,
    size: usize,
    target: *mut *const c_char,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (target, file) =
            unsafe { (Out::new(target, "the target")?, memory::bytes(bytes, size, "a file")?) };
        target.set(keep_text(Device::target_of(file)?.to_string())?);
        Ok(())
    })
}

/// Sizes of a device's chip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_device_info_t {
    /// Set it to `sizeof(wm_device_info_t)`.
    pub struct_size: usize,
    /// Compute units.
    pub compute_units: u32,
    /// Most bytes of LDS of a workgroup.
    pub lds_size: u32,
    /// Most work-items of a workgroup.
    pub max_workgroup_size: u32,
    /// 0.
    pub reserved: u32,
}

memory::versioned! {
    unsafe wm_device_info_t { compute_units, lds_size, max_workgroup_size } ends with reserved: u32
}

/// Sizes of a device's chip.
///
/// # Safety
/// `info` leads to a structure of the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_device_info(
    device: *const wm_device_t,
    info: *mut wm_device_info_t,
) -> *const c_char {
    let facts = |entry: &Arc<Entry>| {
        let device = &entry.device;
        Ok(wm_device_info_t {
            struct_size: 0,
            compute_units: device.compute_units(),
            lds_size: device.product().lds(),
            max_workgroup_size: device.instruction_set().workgroup_items(),
            reserved: 0,
        })
    };
    // SAFETY: the caller's promise.
    unsafe { handle::describe(device, info, facts) }
}
