//! Modules.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use wavemill::Module;

use crate::memory::{self, Out};
use crate::message::{Failure, c_string, call};
use crate::{device, handle, wm_device_t, wm_module_t};

/// A module, and the names of its kernels.
#[derive(Debug)]
pub(crate) struct Entry {
    pub module: Module,
    /// The device that it is on.
    pub device: Arc<device::Entry>,
    kernels: Vec<CString>,
}

/// Loads the code object in a file that fits the device: the file itself, or an entry of an offload
/// bundle, a program or a library.
///
/// # Safety
/// `size` bytes at `bytes` can be read; `module` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_module_load(
    device: *const wm_device_t,
    bytes: *const c_void,
    size: usize,
    module: *mut *mut wm_module_t,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (out, file) =
            unsafe { (Out::new(module, "the module")?, memory::bytes(bytes, size, "a code object")?) };
        let device = handle::get::<Arc<device::Entry>>(device)?;
        let module = Module::load(&device.device, file)?;
        let kernels = module.kernels().map(|kernel| c_string(kernel.name())).collect();
        out.set(handle::add(Arc::new(Entry { module, device, kernels })));
        Ok(())
    })
}

/// The number of kernels of a module.
///
/// # Safety
/// `count` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_module_kernel_count(
    module: *const wm_module_t,
    count: *mut usize,
) -> *const c_char {
    let number = |module: &Arc<Entry>| Ok(module.kernels.len());
    // SAFETY: the caller's promise.
    unsafe { handle::report(module, count, "the number of kernels", number) }
}

/// The name of a kernel of a module, by its number in the file, from 0. The string lives as long as
/// the module.
///
/// # Safety
/// `name` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_module_kernel_name(
    module: *const wm_module_t,
    index: usize,
    name: *mut *const c_char,
) -> *const c_char {
    let at = |module: &Arc<Entry>| {
        let kernel = module.kernels.get(index).ok_or_else(|| {
            let count = module.kernels.len();
            Failure::new(format!("there is no kernel number {index}: the module has {count} kernels"))
        });
        kernel.map(|name| name.as_ptr())
    };
    // SAFETY: the caller's promise.
    unsafe { handle::report(module, name, "the name", at) }
}

/// Frees a module. Its kernels stay usable until they are freed. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn wm_module_free(module: *mut wm_module_t) -> *const c_char {
    call(|| handle::free::<Arc<Entry>>(module))
}
