//! What a launch costs more through the C interface, and what a run of code without a code object costs.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr;

use criterion::{Criterion, criterion_group, criterion_main};
use wavemill::device::{AddressMode, TargetChoice};
use wavemill::{Arg, Device, Launch, Module, RunOptions};
use wavemill_c::*;
use wavemill_kernels::{Target, fixture};

/// A structure of zeros with its size.
fn sized<T: Copy>() -> T {
    // SAFETY: zeros are a value of all structures of the interface, and their first field is their size.
    unsafe {
        let mut value = std::mem::MaybeUninit::<T>::zeroed();
        value.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        value.assume_init()
    }
}

fn ok(message: *const std::ffi::c_char) {
    // SAFETY: a message is a string.
    assert!(message.is_null(), "{:?}", unsafe { std::ffi::CStr::from_ptr(message) });
}

fn launches(c: &mut Criterion) {
    let mut group = c.benchmark_group("launch of 1 workgroup");
    let object = fixture(Target::Gfx942, "vector_add").expect("a kernel of the corpus");

    let device = Device::for_object(object).expect("a device");
    let module = Module::load(&device, object).expect("a module");
    let kernel = module.kernel("vector_add").expect("a kernel");
    let buffers = ["a", "b", "c"].map(|name| device.buffer(name, 4096).expect("memory"));
    let options = RunOptions { threads: NonZeroUsize::new(1), ..RunOptions::default() };
    group.bench_function("Rust", |b| {
        b.iter(|| {
            Launch::new(&kernel)
                .workgroups([1, 1, 1])
                .workgroup_size([64, 1, 1])
                .args(buffers.iter().map(Arg::from).chain([Arg::from(1024u32)]))
                .options(options.clone())
                .run()
                .expect("the launch finishes")
        });
    });

    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        let options = wm_device_options_t { target: c"gfx942".as_ptr(), ..sized() };
        let (mut device, mut module, mut kernel) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ok(wm_device_new(&options, &mut device));
        ok(wm_module_load(device, object.as_ptr().cast(), object.len(), &mut module));
        ok(wm_kernel_get(module, c"vector_add".as_ptr(), &mut kernel));
        let count = 1024u32;
        let mut arguments = [sized::<wm_argument_t>(); 4];
        for argument in &mut arguments[..3] {
            let mut buffer = ptr::null_mut();
            ok(wm_buffer_new(device, ptr::null(), 4096, &mut buffer));
            argument.kind = wm_argument_kind_t::WM_ARGUMENT_BUFFER as u32;
            argument.buffer = buffer;
        }
        (arguments[3].value, arguments[3].size) = ((&raw const count).cast(), 4);
        let launch = wm_launch_t {
            kernel,
            grid: [1; 3],
            block: [64, 1, 1],
            arguments: arguments.as_ptr(),
            argument_count: 4,
            threads: 1,
            ..sized()
        };
        group.bench_function("C", |b| {
            b.iter(|| {
                let mut result = sized::<wm_result_t>();
                ok(wm_launch(&launch, &mut result));
                result
            });
        });
    }
    group.finish();

    // v_mov_b32 v0, 0; v_mov_b32 v1, 7; global_store_dword v0, v1, s[0:1]; s_endpgm
    let code = [0x7e00_0280u32, 0x7e02_0287, 0xdc70_8000, 0x0000_0100, 0xbf81_0000];
    let mut word = 0u32;
    let start: *mut c_void = (&raw mut word).cast();
    let range = wm_range_t { start, size: 4 };
    let user = [start.addr() as u32, (start.addr() as u64 >> 32) as u32];
    let run = wm_run_code_t {
        target: c"gfx942".as_ptr(),
        code: code.as_ptr().cast(),
        code_size: size_of_val(&code),
        user_sgprs: user.as_ptr(),
        user_sgpr_count: 2,
        ranges: &range,
        range_count: 1,
        rsrc1: WM_DEFAULT_RSRC1,
        rsrc2: 2 << 1,
        rsrc3: WM_DEFAULT_RSRC3,
        grid: [1; 3],
        block: [64, 1, 1],
        threads: 1,
        ..sized()
    };
    // A part of each run.
    let choice = TargetChoice::parse("gfx942").expect("a target");
    c.bench_function("a device", |b| {
        b.iter(|| {
            Device::builder(choice.clone()).addresses(AddressMode::Identity).build().expect("a device")
        });
    });
    // SAFETY: the pointers lead to what they say.
    c.bench_function("code without a code object", |b| b.iter(|| ok(unsafe { wm_run_code(&run) })));
}

criterion_group!(benches, launches);
criterion_main!(benches);
