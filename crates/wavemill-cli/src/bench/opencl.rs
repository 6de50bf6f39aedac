//! The part of OpenCL that a comparison needs, from the loader library found at run time.
//!
//! Nothing is released: each user is a process that ends after one kernel ([`super::pocl`]).

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use libloading::Library;

/// File names of the loader on each system.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["OpenCL.dll"]
} else if cfg!(target_os = "macos") {
    &["libOpenCL.dylib", "/System/Library/Frameworks/OpenCL.framework/OpenCL"]
} else {
    &["libOpenCL.so.1", "libOpenCL.so"]
};

/// Start of the name of pocl's platform.
const POCL: &str = "Portable Computing Language";

const DEVICE_TYPE_CPU: u64 = 1 << 1;
const MEM_READ_WRITE: u64 = 1 << 0;
const TRUE: u32 = 1;
const PLATFORM_VERSION: u32 = 0x0901;
const PLATFORM_NAME: u32 = 0x0902;
const DEVICE_COMPUTE_UNITS: u32 = 0x1002;
const DEVICE_SINGLE_FP_CONFIG: u32 = 0x101b;
const DEVICE_NAME: u32 = 0x102b;
const DEVICE_OPENCL_C_VERSION: u32 = 0x103d;
const PROGRAM_BUILD_LOG: u32 = 0x1183;
const CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;

/// The option for OpenCL C 1.2.
pub(super) const OPENCL_1_2: &[&str] = &["-cl-std=CL1.2"];

/// An object of the library: platform, device, context, queue, program, kernel or buffer.
type Handle = *mut c_void;
/// Common parameters of `clGet*Info` after the first ones: the query, the size of the buffer, the
/// buffer, and the size of the answer.
type Info = unsafe extern "system" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;

/// Declares the used functions, with the types of the specification.
macro_rules! functions {
    ($($field:ident $name:literal: fn($($argument:ty),* $(,)?) -> $result:ty;)+) => {
        struct Api {
            $($field: unsafe extern "system" fn($($argument),*) -> $result,)+
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Api {
            fn of(library: Library) -> Result<Api, libloading::Error> {
                // SAFETY: these are the types of the functions of these names in the specification.
                unsafe { Ok(Api { $($field: *library.get($name)?,)+ _library: library }) }
            }
        }
    };
}

functions! {
    platforms "clGetPlatformIDs": fn(u32, *mut Handle, *mut u32) -> i32;
    platform_info "clGetPlatformInfo": fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    devices "clGetDeviceIDs": fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    device_info "clGetDeviceInfo": fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    create_context "clCreateContext":
        fn(*const isize, u32, *const Handle, *const c_void, *mut c_void, *mut i32) -> Handle;
    create_queue "clCreateCommandQueue": fn(Handle, Handle, u64, *mut i32) -> Handle;
    create_program "clCreateProgramWithSource":
        fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    build_program "clBuildProgram":
        fn(Handle, u32, *const Handle, *const c_char, *const c_void, *mut c_void) -> i32;
    build_info "clGetProgramBuildInfo": fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    create_kernel "clCreateKernel": fn(Handle, *const c_char, *mut i32) -> Handle;
    set_arg "clSetKernelArg": fn(Handle, u32, usize, *const c_void) -> i32;
    create_buffer "clCreateBuffer": fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    write_buffer "clEnqueueWriteBuffer":
        fn(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    read_buffer "clEnqueueReadBuffer":
        fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    enqueue "clEnqueueNDRangeKernel":
        fn(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    finish "clFinish": fn(Handle) -> i32;
}

/// Reports which call failed, and how.
fn ok(call: &str, code: i32) -> Result<(), String> {
    let name = match code {
        0 => return Ok(()),
        -5 => " (CL_OUT_OF_RESOURCES)",
        -6 => " (CL_OUT_OF_HOST_MEMORY)",
        -11 => " (CL_BUILD_PROGRAM_FAILURE)",
        -46 => " (CL_INVALID_KERNEL_NAME)",
        -51 => " (CL_INVALID_ARG_SIZE)",
        -54 => " (CL_INVALID_WORK_GROUP_SIZE)",
        -55 => " (CL_INVALID_WORK_ITEM_SIZE)",
        _ => "",
    };
    Err(format!("{call} returned {code}{name}"))
}

/// Queries a value of unknown size: first the size, then the bytes.
fn bytes(info: Info, object: Handle, what: u32) -> Vec<u8> {
    let mut size = 0;
    // SAFETY: the library returned the object; only the size is written.
    if unsafe { info(object, what, 0, null_mut(), &raw mut size) } != 0 {
        return Vec::new();
    }
    let mut data = vec![0; size];
    // SAFETY: as above; `data` has room for `size` bytes.
    match unsafe { info(object, what, size, data.as_mut_ptr().cast(), null_mut()) } {
        0 => data,
        _ => Vec::new(),
    }
}

/// Like [`bytes`], for a string.
fn text(info: Info, object: Handle, what: u32) -> String {
    let data = bytes(info, object, what);
    String::from_utf8_lossy(&data).trim_end_matches('\0').trim().to_owned()
}

/// Like [`bytes`], for a number of 4 or 8 bytes; 0 if there is none.
fn number(info: Info, object: Handle, what: u32) -> u64 {
    let data = bytes(info, object, what);
    data.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// A list of handles, also queried in two steps.
fn list(
    call: &str,
    ask: impl Fn(u32, *mut Handle, *mut u32) -> i32,
    none: &[i32],
) -> Result<Vec<Handle>, String> {
    let mut count = 0;
    let code = ask(0, null_mut(), &raw mut count);
    if none.contains(&code) {
        return Ok(Vec::new());
    }
    ok(call, code)?;
    let mut all = vec![null_mut(); count as usize];
    if count > 0 {
        ok(call, ask(count, all.as_mut_ptr(), null_mut()))?;
    }
    Ok(all)
}

/// pocl's processor device with a queue.
pub(super) struct Pocl {
    api: Api,
    device: Handle,
    context: Handle,
    queue: Handle,
    /// Version of its platform, and name of its device.
    pub(super) name: String,
    /// Threads that it uses.
    pub(super) threads: u64,
}

/// A kernel of a program that was built.
pub(super) struct Kernel(Handle);

/// Memory of the device.
pub(super) struct Memory {
    handle: Handle,
    size: usize,
}

/// An argument of a kernel.
pub(super) enum Passed<'a> {
    /// Memory.
    Memory(&'a Memory),
    /// A value, by its bytes.
    Value(&'a [u8]),
    /// A `local` pointer to this many bytes.
    Local(usize),
}

impl Pocl {
    /// Loads the library and finds pocl.
    pub(super) fn open() -> Result<Pocl, String> {
        if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
            return Err(
                "this program is statically linked and cannot load libraries; use a dynamically linked one"
                    .to_owned(),
            );
        }
        let mut errors = Vec::new();
        let mut found = None;
        for name in LIBRARIES {
            // SAFETY: the loader is a library made to be loaded by any program, and so is its
            // initialisation.
            match unsafe { Library::new(*name) } {
                Ok(library) => {
                    found = Some(library);
                    break;
                }
                Err(error) => errors.push(format!("{name}: {error}")),
            }
        }
        let library =
            found.ok_or_else(|| format!("no OpenCL loader could be opened ({})", errors.join("; ")))?;
        let api = Api::of(library).map_err(|e| format!("the OpenCL loader lacks a function: {e}"))?;
        // A loader without any platform returns -1001 (cl_khr_icd).
        let platforms = list(
            "clGetPlatformIDs",
            // SAFETY: `list` passes room for as many handles as it says.
            |n, into, count| unsafe { (api.platforms)(n, into, count) },
            &[-1001],
        )?;
        let names: Vec<String> =
            platforms.iter().map(|p| text(api.platform_info, *p, PLATFORM_NAME)).collect();
        let Some(at) = names.iter().position(|name| name.starts_with(POCL)) else {
            return Err(match names.is_empty() {
                true => "the OpenCL loader found no platform".to_owned(),
                false => format!("OpenCL has no platform `{POCL}`, only {}", names.join(", ")),
            });
        };
        // -1: no device of this kind.
        let devices = list(
            "clGetDeviceIDs",
            // SAFETY: as above.
            |n, into, count| unsafe { (api.devices)(platforms[at], DEVICE_TYPE_CPU, n, into, count) },
            &[-1],
        )?;
        let device =
            *devices.first().ok_or_else(|| format!("the platform `{POCL}` has no processor device"))?;
        let mut code = 0;
        // SAFETY: one device; no properties, no callback.
        let context =
            unsafe { (api.create_context)(null(), 1, &raw const device, null(), null_mut(), &raw mut code) };
        ok("clCreateContext", code)?;
        // SAFETY: the device belongs to the context.
        let queue = unsafe { (api.create_queue)(context, device, 0, &raw mut code) };
        ok("clCreateCommandQueue", code)?;
        let name = format!(
            "{}, {}",
            text(api.platform_info, platforms[at], PLATFORM_VERSION),
            text(api.device_info, device, DEVICE_NAME)
        );
        let threads = number(api.device_info, device, DEVICE_COMPUTE_UNITS);
        Ok(Pocl { api, device, context, queue, name, threads })
    }

    /// Versions of the language that the device's compiler supports, with the version of the
    /// sources first. Version 3 may lack features that version 2 requires (generic pointers,
    /// atomics with orders), but some compilers support only the newest.
    pub(super) fn languages(&self) -> &'static [&'static str] {
        let version = text(self.api.device_info, self.device, DEVICE_OPENCL_C_VERSION);
        match version.strip_prefix("OpenCL C ").and_then(|v| v.chars().next()) {
            Some('3') => &["-cl-std=CL2.0", "-cl-std=CL3.0"],
            Some('2') => &["-cl-std=CL2.0"],
            _ => OPENCL_1_2,
        }
    }

    /// Whether the device can round divisions and square roots correctly.
    pub(super) fn divides_correctly(&self) -> bool {
        let config = number(self.api.device_info, self.device, DEVICE_SINGLE_FP_CONFIG);
        config & CORRECTLY_ROUNDED_DIVIDE_SQRT != 0
    }

    /// Compiles a source and returns one kernel of it.
    pub(super) fn build(&self, source: &str, options: &str, kernel: &str) -> Result<Kernel, String> {
        let options = CString::new(options).map_err(|e| e.to_string())?;
        let kernel = CString::new(kernel).map_err(|e| e.to_string())?;
        let (pointer, length, mut code) = (source.as_ptr().cast::<c_char>(), source.len(), 0);
        // SAFETY: one string of that length, which the call copies.
        let program = unsafe {
            (self.api.create_program)(self.context, 1, &raw const pointer, &raw const length, &raw mut code)
        };
        ok("clCreateProgramWithSource", code)?;
        // SAFETY: one device, the context's; the options end with a zero; without a callback the
        // call waits.
        let code = unsafe {
            (self.api.build_program)(program, 1, &raw const self.device, options.as_ptr(), null(), null_mut())
        };
        ok("clBuildProgram", code).map_err(|error| {
            let log = self.build_log(program);
            if log.is_empty() { error } else { format!("{error}:\n{log}") }
        })?;
        let mut code = 0;
        // SAFETY: the name ends with a zero.
        let kernel = unsafe { (self.api.create_kernel)(program, kernel.as_ptr(), &raw mut code) };
        ok("clCreateKernel", code)?;
        Ok(Kernel(kernel))
    }

    fn build_log(&self, program: Handle) -> String {
        let mut size = 0;
        // SAFETY: only the size is written.
        let code = unsafe {
            (self.api.build_info)(program, self.device, PROGRAM_BUILD_LOG, 0, null_mut(), &raw mut size)
        };
        if code != 0 {
            return String::new();
        }
        let mut log = vec![0u8; size];
        // SAFETY: `log` has room for `size` bytes.
        unsafe {
            (self.api.build_info)(
                program,
                self.device,
                PROGRAM_BUILD_LOG,
                size,
                log.as_mut_ptr().cast(),
                null_mut(),
            );
        }
        String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned()
    }

    /// Memory of this many bytes (at least one).
    pub(super) fn memory(&self, size: usize) -> Result<Memory, String> {
        let mut code = 0;
        // SAFETY: no host memory is passed.
        let handle = unsafe {
            (self.api.create_buffer)(self.context, MEM_READ_WRITE, size.max(1), null_mut(), &raw mut code)
        };
        ok("clCreateBuffer", code)?;
        Ok(Memory { handle, size })
    }

    /// Fills memory; `data` has exactly its size.
    pub(super) fn write(&self, memory: &Memory, data: &[u8]) -> Result<(), String> {
        if data.len() != memory.size || data.is_empty() {
            return if data.len() == memory.size {
                Ok(())
            } else {
                Err("a buffer of another size".to_owned())
            };
        }
        // SAFETY: the call waits until the bytes were read; they fit.
        let code = unsafe {
            let (n, from) = (data.len(), data.as_ptr().cast());
            (self.api.write_buffer)(self.queue, memory.handle, TRUE, 0, n, from, 0, null(), null_mut())
        };
        ok("clEnqueueWriteBuffer", code)
    }

    /// Contents of the memory.
    pub(super) fn read(&self, memory: &Memory) -> Result<Vec<u8>, String> {
        let mut data = vec![0; memory.size];
        if data.is_empty() {
            return Ok(data);
        }
        // SAFETY: the call waits until the bytes are there; `data` has room for them.
        let code = unsafe {
            let (n, into) = (data.len(), data.as_mut_ptr().cast());
            (self.api.read_buffer)(self.queue, memory.handle, TRUE, 0, n, into, 0, null(), null_mut())
        };
        ok("clEnqueueReadBuffer", code)?;
        Ok(data)
    }

    /// Sets an argument of a kernel.
    pub(super) fn pass(&self, kernel: &Kernel, index: u32, what: &Passed<'_>) -> Result<(), String> {
        let (size, pointer): (usize, *const c_void) = match what {
            Passed::Memory(memory) => (size_of::<Handle>(), (&raw const memory.handle).cast()),
            Passed::Value(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            Passed::Local(size) => (*size, null()),
        };
        // SAFETY: `size` bytes are at the pointer and are copied; for local memory there is no pointer.
        let code = unsafe { (self.api.set_arg)(kernel.0, index, size, pointer) };
        ok("clSetKernelArg", code).map_err(|e| format!("{e} for argument {index}"))
    }

    /// Runs a kernel and waits for its end.
    pub(super) fn run(
        &self,
        kernel: &Kernel,
        dims: u32,
        offset: [usize; 3],
        global: [usize; 3],
        local: [usize; 3],
    ) -> Result<Duration, String> {
        let start = Instant::now();
        // SAFETY: at most three dimensions are read of each array; the kernel's arguments are set.
        let code = unsafe {
            (self.api.enqueue)(
                self.queue,
                kernel.0,
                dims.min(3),
                offset.as_ptr(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                null(),
                null_mut(),
            )
        };
        ok("clEnqueueNDRangeKernel", code)?;
        // SAFETY: we own the queue.
        ok("clFinish", unsafe { (self.api.finish)(self.queue) })?;
        Ok(start.elapsed())
    }
}
