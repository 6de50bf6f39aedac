//! Kernels, and what their code objects say about them.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;

use wavemill::Kernel;
use wavemill::module::{Parameter, ParameterKind};

use crate::memory::{self, Out};
use crate::message::{Failure, c_string, call};
use crate::{device, handle, module, wm_kernel_t, wm_module_t};

/// A kernel, and its texts.
#[derive(Debug)]
pub(crate) struct Entry {
    pub kernel: Kernel,
    /// The device that it is on.
    pub device: Arc<device::Entry>,
    name: CString,
    parameters: Vec<Described>,
}

/// A parameter with its texts.
#[derive(Debug)]
struct Described {
    parameter: Parameter,
    name: Option<CString>,
    type_name: Option<CString>,
}

impl Entry {
    fn new(kernel: Kernel, device: Arc<device::Entry>) -> Entry {
        let describe = |parameter: Parameter| Described {
            name: parameter.name.clone().map(c_string),
            type_name: parameter.type_name.clone().map(c_string),
            parameter,
        };
        let parameters = kernel.parameters().into_iter().map(describe).collect();
        Entry { name: c_string(kernel.name()), parameters, kernel, device }
    }
}

/// What a code object says about a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_kernel_info_t {
    /// Set it to `sizeof(wm_kernel_info_t)`.
    pub struct_size: usize,
    /// Name as in the code object. The string lives as long as the kernel.
    pub name: *const c_char,
    /// Explicit parameters: `wm_kernel_parameter` describes each.
    pub parameter_count: usize,
    /// Not 0: the code object describes the parameters. If it does not, launches have `kernarg`.
    pub has_metadata: u32,
    /// Bytes of the kernel argument segment.
    pub kernarg_size: u32,
    /// Bytes of LDS that the kernel declares for a workgroup; dynamic LDS follows them.
    pub lds_size: u32,
    /// Bytes of private memory (scratch) that the kernel declares for a work-item.
    pub private_size: u32,
    /// SGPRs of a wave.
    pub sgprs: u32,
    /// VGPRs of a wave, without AccVGPRs.
    pub vgprs: u32,
    /// AccVGPRs of a wave.
    pub accvgprs: u32,
    /// Most work-items of a workgroup.
    pub max_workgroup_size: u32,
    /// The workgroup size that the kernel was compiled for; zeros if it is free.
    pub required_workgroup_size: [u32; 3],
    /// 0.
    pub reserved: u32,
}

memory::versioned! {
    unsafe wm_kernel_info_t {
        name, parameter_count, has_metadata, kernarg_size, lds_size, private_size, sgprs, vgprs, accvgprs,
        max_workgroup_size, required_workgroup_size,
    } ends with reserved: u32
}

/// The kind of argument that a parameter needs.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, missing_debug_implementations)]
pub enum wm_parameter_kind_t {
    /// A value of the parameter's size.
    WM_PARAMETER_VALUE = 0,
    /// The address of a buffer.
    WM_PARAMETER_BUFFER = 1,
    /// Dynamic LDS, given by its size.
    WM_PARAMETER_LOCAL = 2,
    /// An image.
    WM_PARAMETER_IMAGE = 3,
    /// A sampler.
    WM_PARAMETER_SAMPLER = 4,
    /// A kind that Wavemill does not set up.
    WM_PARAMETER_OTHER = 5,
}

/// An explicit parameter of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct wm_parameter_t {
    /// Set it to `sizeof(wm_parameter_t)`.
    pub struct_size: usize,
    /// Name, or NULL if the code object has none. The string lives as long as the kernel.
    pub name: *const c_char,
    /// Type as in the source, or NULL if the code object has none. The string lives as long as the
    /// kernel.
    pub type_name: *const c_char,
    /// One of `wm_parameter_kind_t`.
    pub kind: u32,
    /// Offset in the kernel argument segment, in bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Not 0: the kernel only reads the buffer, as the code object declares.
    pub read_only: u32,
}

memory::versioned! {
    unsafe wm_parameter_t { name, type_name, kind, offset, size } ends with read_only: u32
}

/// Looks up a kernel of a module. The name may be the symbol, or the source name in any spelling;
/// scopes, template arguments and parameters that are not needed to distinguish kernels may be left
/// out.
///
/// # Safety
/// `name` is a string; `kernel` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_kernel_get(
    module: *const wm_module_t,
    name: *const c_char,
    kernel: *mut *mut wm_kernel_t,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (kernel, name) =
            unsafe { (Out::new(kernel, "the kernel")?, memory::text(name, "the name of a kernel")?) };
        let module = handle::get::<Arc<module::Entry>>(module)?;
        let entry = Entry::new(module.module.kernel(name)?, module.device.clone());
        kernel.set(handle::add(Arc::new(entry)));
        Ok(())
    })
}

/// What a code object says about a kernel.
///
/// # Safety
/// `info` leads to a structure of the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_kernel_info(
    kernel: *const wm_kernel_t,
    info: *mut wm_kernel_info_t,
) -> *const c_char {
    let facts = |entry: &Arc<Entry>| {
        let kernel = &entry.kernel;
        let registers = kernel.register_counts()?;
        let [vgprs, accvgprs] = registers.rows.map(u32::from);
        Ok(wm_kernel_info_t {
            struct_size: 0,
            name: entry.name.as_ptr(),
            parameter_count: entry.parameters.len(),
            has_metadata: kernel.has_metadata().into(),
            kernarg_size: kernel.kernarg_size(),
            lds_size: kernel.lds_size(),
            private_size: kernel.private_size(),
            sgprs: registers.allocated_cells().into(),
            vgprs,
            accvgprs,
            max_workgroup_size: kernel.max_workgroup_size(),
            required_workgroup_size: kernel.required_workgroup_size().unwrap_or_default(),
            reserved: 0,
        })
    };
    // SAFETY: the caller's promise.
    unsafe { handle::describe(kernel, info, facts) }
}

/// An explicit parameter of a kernel, by its number from 0.
///
/// # Safety
/// `parameter` leads to a structure of the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_kernel_parameter(
    kernel: *const wm_kernel_t,
    index: usize,
    parameter: *mut wm_parameter_t,
) -> *const c_char {
    let facts = |entry: &Arc<Entry>| {
        let described = entry.parameters.get(index).ok_or_else(|| {
            let count = entry.parameters.len();
            Failure::new(format!("there is no parameter number {index}: the kernel has {count} parameters"))
        })?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let Described { parameter, name, type_name } = described;
        Ok(wm_parameter_t {
            struct_size: 0,
            name: pointer(name),
            type_name: pointer(type_name),
            kind: kind(&parameter.kind) as u32,
            offset: parameter.offset,
            size: parameter.size,
            read_only: parameter.read_only.into(),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { handle::describe(kernel, parameter, facts) }
}

fn kind(kind: &ParameterKind) -> wm_parameter_kind_t {
    use wm_parameter_kind_t::*;
    match kind {
        ParameterKind::Value => WM_PARAMETER_VALUE,
        ParameterKind::Buffer => WM_PARAMETER_BUFFER,
        ParameterKind::Local => WM_PARAMETER_LOCAL,
        ParameterKind::Image => WM_PARAMETER_IMAGE,
        ParameterKind::Sampler => WM_PARAMETER_SAMPLER,
        _ => WM_PARAMETER_OTHER,
    }
}

/// Frees a kernel. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn wm_kernel_free(kernel: *mut wm_kernel_t) -> *const c_char {
    call(|| handle::free::<Arc<Entry>>(kernel))
}
