//! The C interface of Wavemill: `include/wavemill.h`, made from this crate.
//!
//! Each function that can fail returns NULL, or the message of an error. Handles are opaque.
//! Structures that callers fill begin with their size, so that they can grow. The handbook's page
//! about C has the rules and an example.
//!
//! `message` is the edge where errors and panics become messages. `memory` reads and writes the
//! memory of callers, and has most of the `unsafe` code. `handle` is the table of handles.

mod buffer;
mod device;
mod handle;
mod kernel;
mod launch;
mod memory;
mod message;
mod module;
mod run_code;
mod text;

use std::ffi::c_char;

pub use buffer::{
    wm_buffer_address, wm_buffer_free, wm_buffer_import, wm_buffer_new, wm_buffer_read, wm_buffer_size,
    wm_buffer_write,
};
pub use device::{
    wm_address_mode_t, wm_device_free, wm_device_info, wm_device_info_t, wm_device_new, wm_device_options_t,
    wm_device_target, wm_host_memory_t, wm_target_of,
};
pub use kernel::{
    wm_kernel_free, wm_kernel_get, wm_kernel_info, wm_kernel_info_t, wm_kernel_parameter,
    wm_parameter_kind_t, wm_parameter_t,
};
pub use launch::{
    wm_argument_kind_t, wm_argument_t, wm_check_fn_t, wm_grid_unit_t, wm_launch, wm_launch_check,
    wm_launch_t, wm_outcome_t, wm_output_fn_t, wm_output_t, wm_result_t, wm_strict_t,
};
pub use module::{wm_module_free, wm_module_kernel_count, wm_module_kernel_name, wm_module_load};
pub use run_code::{WM_DEFAULT_RSRC1, WM_DEFAULT_RSRC3, wm_range_t, wm_run_code, wm_run_code_t};
pub use text::{wm_assemble, wm_disassemble};

/// A device.
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct wm_device_t {
    _opaque: [u8; 0],
}

/// A buffer of a device's memory.
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct wm_buffer_t {
    _opaque: [u8; 0],
}

/// A code object that is loaded into a device.
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct wm_module_t {
    _opaque: [u8; 0],
}

/// A kernel of a module.
#[derive(Debug)]
#[allow(non_camel_case_types)]
pub struct wm_kernel_t {
    _opaque: [u8; 0],
}

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn wm_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
