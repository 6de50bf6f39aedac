//! Calls of the C interface, for tests.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use wavemill_c::*;
use wavemill_kernels::{Target, fixture};

/// A text of the library.
pub(crate) fn text(pointer: *const c_char) -> String {
    assert!(!pointer.is_null(), "expected a text, found NULL");
    // SAFETY: the library returns strings, and the tests read them at once.
    unsafe { CStr::from_ptr(pointer) }.to_str().expect("UTF-8").to_owned()
}

/// Checks that a call succeeded.
#[track_caller]
pub(crate) fn ok(message: *const c_char) {
    if !message.is_null() {
        panic!("{}", text(message));
    }
}

/// The message of a call that failed.
#[track_caller]
pub(crate) fn error(message: *const c_char) -> String {
    assert!(!message.is_null(), "the call succeeded");
    text(message)
}

/// Any structure of the interface, with zeros and its size.
pub(crate) fn sized<T: Copy>() -> T {
    // SAFETY: zeros are a value of all structures of the interface, and their first field is their size.
    unsafe {
        let mut value = std::mem::MaybeUninit::<T>::zeroed();
        value.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        value.assume_init()
    }
}

pub(crate) fn device_options(target: &CStr) -> wm_device_options_t {
    wm_device_options_t { target: target.as_ptr(), ..sized() }
}

pub(crate) fn device(target: &CStr) -> *mut wm_device_t {
    let mut device = ptr::null_mut();
    // SAFETY: the pointers lead to what the function expects.
    ok(unsafe { wm_device_new(&device_options(target), &mut device) });
    device
}

pub(crate) fn buffer(device: *mut wm_device_t, name: &CStr, size: u64) -> *mut wm_buffer_t {
    let mut buffer = ptr::null_mut();
    // SAFETY: the pointers lead to what the function expects.
    ok(unsafe { wm_buffer_new(device, name.as_ptr(), size, &mut buffer) });
    buffer
}

pub(crate) fn write<T: Copy>(buffer: *mut wm_buffer_t, values: &[T]) {
    // SAFETY: the bytes can be read.
    ok(unsafe { wm_buffer_write(buffer, 0, values.as_ptr().cast(), size_of_val(values)) });
}

pub(crate) fn read<T: Copy + Default>(buffer: *mut wm_buffer_t, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    // SAFETY: the bytes can be written, and are numbers.
    ok(unsafe { wm_buffer_read(buffer, 0, values.as_mut_ptr().cast(), size_of_val(&*values)) });
    values
}

pub(crate) fn address(buffer: *mut wm_buffer_t) -> u64 {
    let mut address = 0;
    // SAFETY: the pointer leads to a variable.
    ok(unsafe { wm_buffer_address(buffer, &mut address) });
    address
}

pub(crate) fn module(device: *mut wm_device_t, object: &[u8]) -> *mut wm_module_t {
    let mut module = ptr::null_mut();
    // SAFETY: the pointers lead to what the function expects.
    ok(unsafe { wm_module_load(device, object.as_ptr().cast(), object.len(), &mut module) });
    module
}

pub(crate) fn kernel(module: *mut wm_module_t, name: &CStr) -> *mut wm_kernel_t {
    let mut kernel = ptr::null_mut();
    // SAFETY: the pointers lead to what the function expects.
    ok(unsafe { wm_kernel_get(module, name.as_ptr(), &mut kernel) });
    kernel
}

/// The code object of a kernel of the corpus for gfx942.
pub(crate) fn object(name: &str) -> &'static [u8] {
    fixture(Target::Gfx942, name).expect("a kernel of the corpus")
}

pub(crate) fn of_buffer(buffer: *const wm_buffer_t) -> wm_argument_t {
    wm_argument_t { kind: wm_argument_kind_t::WM_ARGUMENT_BUFFER as u32, buffer, ..sized() }
}

/// An argument that is a number in memory.
pub(crate) fn of_value<T>(value: &T) -> wm_argument_t {
    let value: *const T = value;
    wm_argument_t {
        kind: wm_argument_kind_t::WM_ARGUMENT_VALUE as u32,
        value: value.cast::<c_void>(),
        size: size_of::<T>(),
        ..sized()
    }
}

/// The kernel `vector_add` with its buffers of 1024 floats.
pub(crate) struct VectorAdd {
    pub(crate) device: *mut wm_device_t,
    pub(crate) module: *mut wm_module_t,
    pub(crate) kernel: *mut wm_kernel_t,
    pub(crate) buffers: [*mut wm_buffer_t; 3],
}

impl VectorAdd {
    pub(crate) fn new() -> VectorAdd {
        let device = device(c"gfx942");
        let module = module(device, object("vector_add"));
        let kernel = kernel(module, c"vector_add");
        let buffers = [c"a", c"b", c"c"].map(|name| buffer(device, name, 4096));
        VectorAdd { device, module, kernel, buffers }
    }

    /// Its arguments with this number of elements.
    pub(crate) fn arguments(&self, n: &u32) -> Vec<wm_argument_t> {
        self.buffers.iter().map(|buffer| of_buffer(*buffer)).chain([of_value(n)]).collect()
    }

    /// A launch of 1024 work-items.
    pub(crate) fn launch(&self, arguments: &[wm_argument_t]) -> wm_launch_t {
        wm_launch_t {
            kernel: self.kernel,
            grid: [4, 1, 1],
            block: [256, 1, 1],
            arguments: arguments.as_ptr(),
            argument_count: arguments.len(),
            ..sized()
        }
    }
}

impl Drop for VectorAdd {
    fn drop(&mut self) {
        ok(wm_kernel_free(self.kernel));
        ok(wm_module_free(self.module));
        self.buffers.iter().for_each(|buffer| ok(wm_buffer_free(*buffer)));
        ok(wm_device_free(self.device));
    }
}

/// A string for C.
pub(crate) fn c_string(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).expect("no NUL")
}
