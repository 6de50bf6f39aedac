//! Launches: what they compute, how they end, and what is rejected.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Mutex;

use wavemill_c::*;

use crate::calls::*;

/// Runs a launch to any end.
fn run(launch: &wm_launch_t) -> wm_result_t {
    let mut result = sized();
    // SAFETY: the launches of the tests lead to what they say.
    ok(unsafe { wm_launch(launch, &mut result) });
    result
}

/// The message of a launch that is rejected, which says the same when it is only checked.
fn rejected(launch: &wm_launch_t) -> String {
    let mut result = wm_result_t { waves: 77, ..sized() };
    // SAFETY: the launches of the tests lead to what they say.
    unsafe {
        let message = error(wm_launch(launch, &mut result));
        assert_eq!(result.waves, 77, "the result is unchanged");
        assert_eq!(error(wm_launch_check(launch)), message);
        message
    }
}

#[test]
fn a_launch_computes_and_counts() {
    let add = VectorAdd::new();
    let [x, y]: [Vec<f32>; 2] = [0.25, -3.0].map(|step| (0..1024).map(|n| n as f32 * step).collect());
    write(add.buffers[0], &x);
    write(add.buffers[1], &y);
    let n = 1000u32;
    let arguments = add.arguments(&n);
    let launch = add.launch(&arguments);
    // SAFETY: the launch leads to what it says.
    ok(unsafe { wm_launch_check(&launch) });
    assert_eq!(read::<f32>(add.buffers[2], 1024), [0.0; 1024], "a check runs nothing");

    let result = run(&wm_launch_t { threads: 2, ..launch });
    let mut expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
    expected[1000..].fill(0.0);
    assert_eq!(read::<f32>(add.buffers[2], 1024), expected);
    assert_eq!(result.struct_size, size_of::<wm_result_t>());
    assert_eq!((result.outcome, result.report), (wm_outcome_t::WM_OUTCOME_FINISHED as u32, ptr::null()));
    assert_eq!((result.workgroups, result.waves, result.work_items), (4, 16, 1024));
    assert!((16..16 * 100).contains(&result.instructions), "{result:?}");
    assert!((1..=2).contains(&result.threads), "{result:?}");
    assert_eq!((result.lds_size, result.lds_out_of_range), (0, 0));

    let items = wm_launch_t {
        grid_unit: wm_grid_unit_t::WM_GRID_WORK_ITEMS as u32,
        grid: [700, 1, 1],
        deterministic: 1,
        ..launch
    };
    let result = run(&items);
    assert_eq!((result.workgroups, result.work_items, result.threads), (3, 700, 1));

    // The segment instead of arguments: three addresses and a number.
    let mut segment: Vec<u8> = add.buffers.iter().flat_map(|buffer| address(*buffer).to_le_bytes()).collect();
    segment.extend(1024u32.to_le_bytes());
    let raw = wm_launch_t {
        kernarg: segment.as_ptr().cast(),
        kernarg_size: segment.len(),
        argument_count: 0,
        ..launch
    };
    run(&raw);
    assert_eq!(read::<f32>(add.buffers[2], 1024)[1023], x[1023] + y[1023]);
}

#[test]
fn impossible_launches_are_rejected() {
    let add = VectorAdd::new();
    let n = 1024u32;
    let mut arguments = add.arguments(&n);
    let launch = add.launch(&arguments);

    let begins = |launch: &wm_launch_t, expected: &str| {
        let message = rejected(launch);
        assert!(message.starts_with(expected), "{message}");
    };
    begins(
        &wm_launch_t { argument_count: 3, ..launch },
        "kernel `vector_add`: expected 4 arguments, found 3",
    );
    begins(
        &wm_launch_t { block: [257, 1, 1], ..launch },
        "cannot launch `vector_add`: a workgroup of [257, 1, 1] has 257 work-items; expected 1 to 256",
    );
    begins(
        &wm_launch_t { dynamic_lds: 70000, ..launch },
        "cannot launch `vector_add`: 70000 bytes of LDS; gfx942 has 65536 per workgroup",
    );
    begins(
        &wm_launch_t { grid: [1, 1 << 32, 1], ..launch },
        "the grid has 4294967296 workgroups in dimension 1; the maximum is 4294967295",
    );
    begins(
        &wm_launch_t { grid_unit: 2, ..launch },
        "grid_unit is 2; expected WM_GRID_WORKGROUPS (0) or WM_GRID_WORK_ITEMS (1)",
    );
    begins(&wm_launch_t { strict: 8, ..launch }, "strict is 0x8; expected bits of wm_strict_t, 0x7 at most");
    begins(
        &wm_launch_t { kernarg: (&raw const n).cast(), kernarg_size: 4, ..launch },
        "the launch has both kernarg and arguments; give one of them",
    );
    begins(
        &wm_launch_t { argument_count: 0, kernarg: (&raw const n).cast(), kernarg_size: 4, ..launch },
        "cannot launch `vector_add`: a kernel argument segment of 4 bytes; the explicit parameters have 28",
    );
    begins(&wm_launch_t { arguments: ptr::null(), ..launch }, "expected a wm_argument_t, found NULL");
    begins(&wm_launch_t { kernel: ptr::null(), ..launch }, "expected a kernel, found NULL");
    begins(
        &wm_launch_t { argument_count: 0, kernarg_size: 4, ..launch },
        "expected 4 bytes of the kernel argument segment, found NULL",
    );

    for (argument, expected) in [
        (
            wm_argument_t { kind: 3, ..sized() },
            "the kind of argument 3 is 3; expected one of wm_argument_kind_t, 0 to 2",
        ),
        (wm_argument_t { size: 4, ..sized() }, "expected 4 bytes of an argument, found NULL"),
        (of_value(&1u64), "kernel `vector_add`: argument 3 (`n`) is 8 bytes, but the parameter has 4"),
        (
            wm_argument_t { kind: 2, size: 16, ..sized() },
            "kernel `vector_add`: argument 3 (`n`) is dynamic LDS, but the parameter is not an LDS pointer",
        ),
        (
            wm_argument_t { kind: 2, size: 1 << 32, ..sized() },
            "argument 3 is dynamic LDS of 4294967296 bytes; expected at most 4294967295",
        ),
        (of_buffer(ptr::null()), "expected a buffer, found NULL"),
    ] {
        arguments[3] = argument;
        begins(&add.launch(&arguments), expected);
    }
    let other = device(c"gfx942");
    let foreign = buffer(other, c"foreign", 4096);
    arguments[3] = of_value(&n);
    arguments[1] = of_buffer(foreign);
    begins(&add.launch(&arguments), "kernel `vector_add`: argument 1 (`b`) is a buffer of another device");
    ok(wm_buffer_free(foreign));
    ok(wm_device_free(other));
}

#[test]
fn a_fault_is_an_outcome_or_an_error() {
    let add = VectorAdd::new();
    // 976 work-items are beyond the buffers.
    let n = 2000u32;
    let arguments = add.arguments(&n);
    let launch = wm_launch_t { grid: [8, 1, 1], threads: 1, ..add.launch(&arguments) };
    let result = run(&launch);
    assert_eq!(result.outcome, wm_outcome_t::WM_OUTCOME_FAULT as u32);
    assert_eq!((result.waves, result.instructions), (0, 0));
    let report = text(result.report);
    assert!(report.contains("vector_add") && report.contains("`a`"), "{report}");
    // SAFETY: the launch leads to what it says.
    assert_eq!(error(unsafe { wm_launch(&launch, ptr::null_mut()) }), report);
    let full = text(run(&wm_launch_t { full_report: 1, ..launch }).report);
    assert!(full.starts_with(report.lines().next().expect("a line")) && full.len() > report.len(), "{full}");
    assert!(full.contains("s[0:3]") && !report.contains("s[0:3]"), "{full}");
}

/// A device, and a kernel of a source for gfx906 without metadata. The body has its arguments in
/// `s[0:1]`.
fn assembled(body: &str) -> (*mut wm_device_t, *mut wm_kernel_t) {
    let source = c_string(format!(
        "
    .text
    .globl kernel
    .p2align 8
    .type kernel,@function
kernel:
{body}
    s_endpgm
    .size kernel, .-kernel
    .rodata
    .p2align 6
    .amdhsa_kernel kernel
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_group_segment_fixed_size 16
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 8
    .end_amdhsa_kernel
"
    ));
    let device = device(c"gfx906");
    let (mut bytes, mut size) = (ptr::null(), 0);
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        ok(wm_assemble(c"gfx906".as_ptr(), source.as_ptr(), &mut bytes, &mut size));
        let mut module = ptr::null_mut();
        ok(wm_module_load(device, bytes, size, &mut module));
        let kernel = kernel(module, c"kernel");
        // The kernel keeps what it needs.
        ok(wm_module_free(module));
        (device, kernel)
    }
}

#[test]
fn launches_without_an_end_are_ended() {
    let (device, kernel) = assembled("loop: s_branch loop");
    let launch = wm_launch_t { kernel, grid: [1; 3], ..sized() };
    for (launch, outcome) in [
        (wm_launch_t { find_stalls: 1, ..launch }, wm_outcome_t::WM_OUTCOME_STALLED),
        (wm_launch_t { max_instructions: 1000, ..launch }, wm_outcome_t::WM_OUTCOME_INSTRUCTION_LIMIT),
        (wm_launch_t { time_limit_ms: 20, ..launch }, wm_outcome_t::WM_OUTCOME_TIME_LIMIT),
    ] {
        let result = run(&launch);
        assert_eq!(result.outcome, outcome as u32);
        assert!(text(result.report).contains("kernel"), "{}", text(result.report));
        // SAFETY: the launch leads to what it says.
        assert!(!unsafe { wm_launch(&launch, ptr::null_mut()) }.is_null());
    }
    ok(wm_kernel_free(kernel));
    ok(wm_device_free(device));
}

#[test]
fn options_reach_the_run() {
    // Stores s2, which the launch does not set, and a word of LDS beyond the 16 bytes.
    let (device, kernel) = assembled(
        "
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_mov_b32 v0, 0
    v_mov_b32 v1, 64
    s_mov_b32 m0, -1
    ds_read_b32 v2, v1
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v3, s6
    global_store_dwordx2 v0, v[2:3], s[4:5]",
    );
    let out = buffer(device, c"out", 8);
    let segment = address(out).to_le_bytes();
    let launch = wm_launch_t {
        kernel,
        grid: [1; 3],
        kernarg: segment.as_ptr().cast(),
        kernarg_size: segment.len(),
        ..sized()
    };
    let result = run(&launch);
    assert_eq!((result.outcome, result.lds_out_of_range), (0, 1));
    assert_eq!((result.lds_size, result.lds_allocated), (16, 512));
    assert_eq!(read::<u32>(out, 2), [0, 0]);
    let result = run(&wm_launch_t { dynamic_lds: 64, poison_registers: 1, poison: 0xabcd_1234, ..launch });
    assert_eq!((result.outcome, result.lds_out_of_range, result.lds_size), (0, 0, 80));
    assert_eq!(read::<u32>(out, 2), [0xabcd_1234; 2]);
    let result = run(&wm_launch_t { strict: wm_strict_t::WM_STRICT_LDS as u32, ..launch });
    assert_eq!(result.outcome, wm_outcome_t::WM_OUTCOME_FAULT as u32);
    ok(wm_buffer_free(out));
    ok(wm_kernel_free(kernel));
    ok(wm_device_free(device));
}

/// Keeps what a kernel prints.
unsafe extern "C" fn keep(data: *mut c_void, source: u32, text: *const c_char, size: usize) {
    // SAFETY: the test passes a mutex, and the library passes `size` bytes.
    unsafe {
        let kept = &*data.cast::<Mutex<Vec<(u32, Vec<u8>)>>>();
        kept.lock().expect("a lock").push((source, std::slice::from_raw_parts(text.cast(), size).to_vec()));
    }
}

#[test]
fn printed_text_arrives() {
    let device = device(c"gfx942");
    let module = module(device, object("printf"));
    let kernel = kernel(module, c"printf_items");
    let out = buffer(device, c"out", 4 * 64);
    let (n, every) = (64u32, 16u32);
    let arguments = [of_buffer(out), of_value(&n), of_value(&every)];
    let kept = Mutex::new(Vec::<(u32, Vec<u8>)>::new());
    let launch = wm_launch_t {
        kernel,
        grid: [1; 3],
        block: [64, 1, 1],
        arguments: arguments.as_ptr(),
        argument_count: 3,
        output: Some(keep),
        output_data: (&raw const kept).cast_mut().cast(),
        ..sized()
    };
    assert_eq!(run(&launch).outcome, 0);
    let kept = kept.into_inner().expect("a lock");
    assert!(kept.iter().all(|(source, _)| *source == wm_output_t::WM_OUTPUT_STDOUT as u32));
    let all: Vec<u8> = kept.into_iter().flat_map(|(_, text)| text).collect();
    let expected: String = [0, 16, 32, 48].map(|i| format!("item {i}: {}\n", i * i)).concat();
    assert_eq!(String::from_utf8(all).expect("UTF-8"), expected);
    // Without a receiver, the text is lost.
    assert_eq!(run(&wm_launch_t { output: None, ..launch }).outcome, 0);
    ok(wm_buffer_free(out));
    ok(wm_kernel_free(kernel));
    ok(wm_module_free(module));
    ok(wm_device_free(device));
}

/// Two threads launch on one device, and each sees its own results and its own messages.
#[test]
fn threads_launch_at_the_same_time() {
    let add = VectorAdd::new();
    // Handles are numbers: they may go to any thread.
    let [device, kernel] = [add.device.addr(), add.kernel.addr()];
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for thread in 0..2u32 {
            let both = &both;
            scope.spawn(move || {
                let device: *mut wm_device_t = ptr::without_provenance_mut(device);
                let buffers = [c"x", c"y", c"z"].map(|name| buffer(device, name, 4096));
                let n = 1024u32;
                let arguments: Vec<wm_argument_t> =
                    buffers.iter().map(|buffer| of_buffer(*buffer)).chain([of_value(&n)]).collect();
                let launch = wm_launch_t {
                    kernel: ptr::without_provenance(kernel),
                    grid: [4, 1, 1],
                    block: [256, 1, 1],
                    arguments: arguments.as_ptr(),
                    argument_count: 4,
                    threads: 2,
                    ..sized()
                };
                both.wait();
                for round in 0..50u32 {
                    let term = (thread * 1000 + round) as f32;
                    write(buffers[0], &[term; 1024]);
                    write(buffers[1], &[0.5f32; 1024]);
                    assert_eq!(run(&launch).outcome, 0);
                    assert_eq!(read::<f32>(buffers[2], 1024), [term + 0.5; 1024]);
                    let wrong = wm_launch_t { grid_unit: 100 + thread, ..launch };
                    assert!(rejected(&wrong).starts_with(&format!("grid_unit is {};", 100 + thread)));
                }
                buffers.iter().for_each(|buffer| ok(wm_buffer_free(*buffer)));
            });
        }
    });
}

/// What is freed during a launch is there until it ends.
#[test]
fn handles_may_be_freed_during_a_launch() {
    let (device, kernel) = assembled(
        "s_movk_i32 s4, 0xfff\nloop:\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop",
    );
    let number = kernel.addr();
    let (sender, receiver) = std::sync::mpsc::channel();
    let running = std::thread::spawn(move || {
        let launch =
            wm_launch_t { kernel: ptr::without_provenance(number), grid: [500, 1, 1], threads: 1, ..sized() };
        // SAFETY: the launch leads to what it says.
        ok(unsafe { wm_launch_check(&launch) });
        sender.send(()).expect("the test waits");
        let mut result = sized();
        // SAFETY: the launch leads to what it says.
        let message = unsafe { wm_launch(&launch, &mut result) };
        // The handle may be gone before the launch begins.
        if message.is_null() { Ok(result.waves) } else { Err(text(message)) }
    });
    receiver.recv().expect("the launch begins");
    ok(wm_kernel_free(kernel));
    ok(wm_device_free(device));
    match running.join().expect("no panic") {
        Ok(waves) => assert_eq!(waves, 500),
        Err(message) => assert!(message.ends_with("which is no handle or was freed"), "{message}"),
    }
}

/// Dynamic LDS is an argument where the kernel has a parameter for it.
#[test]
fn dynamic_lds_is_an_argument() {
    let device = device(c"gfx942");
    let module = module(device, object("reduction"));
    let kernel = kernel(module, c"reduction");
    let [x, partial] = [buffer(device, c"x", 4 * 512), buffer(device, c"partial", 8)];
    write(x, &(0..512).map(|n| n as f32).collect::<Vec<f32>>());
    let n = 512u32;
    let scratch =
        wm_argument_t { kind: wm_argument_kind_t::WM_ARGUMENT_LOCAL as u32, size: 4 * 256, ..sized() };
    let arguments = [of_buffer(x), of_buffer(partial), of_value(&n), scratch];
    // Without a size of workgroups, the one that the kernel requires: 256.
    let launch =
        wm_launch_t { kernel, grid: [2, 1, 1], arguments: arguments.as_ptr(), argument_count: 4, ..sized() };
    let result = run(&launch);
    assert_eq!((result.work_items, result.lds_size), (512, 1024));
    // Sums of whole numbers are exact. A workgroup has every number from its first on.
    let sums: [u32; 2] = [(0..256).sum(), (256..512).sum()];
    assert_eq!(read::<f32>(partial, 2), sums.map(|sum| sum as f32));
    ok(wm_buffer_free(x));
    ok(wm_buffer_free(partial));
    ok(wm_kernel_free(kernel));
    ok(wm_module_free(module));
    ok(wm_device_free(device));
}

#[test]
#[cfg(target_os = "linux")]
fn a_device_can_have_all_memory_of_the_process() {
    let mut handle = ptr::null_mut();
    let options = wm_device_options_t {
        address_mode: wm_address_mode_t::WM_ADDRESS_IDENTITY as u32,
        host_memory: wm_host_memory_t::WM_HOST_MEMORY_PROCESS as u32,
        ..device_options(c"gfx942")
    };
    // SAFETY: the options lead to a name.
    ok(unsafe { wm_device_new(&options, &mut handle) });
    let module = module(handle, object("vector_add"));
    let kernel = kernel(module, c"vector_add");
    let (a, b) = (vec![1.5f32; 100], vec![2.0f32; 100]);
    let mut c = vec![0f32; 100];
    // Addresses of memory that the device was never given.
    let mut segment: Vec<u8> = Vec::new();
    for at in [a.as_ptr(), b.as_ptr(), c.as_mut_ptr().cast_const()] {
        segment.extend((at.expose_provenance() as u64).to_le_bytes());
    }
    segment.extend(100u32.to_le_bytes());
    let launch = wm_launch_t {
        kernel,
        grid: [1, 1, 1],
        block: [128, 1, 1],
        kernarg: segment.as_ptr().cast(),
        kernarg_size: segment.len(),
        ..sized()
    };
    let result = run(&launch);
    assert_eq!(result.outcome, wm_outcome_t::WM_OUTCOME_FINISHED as u32);
    assert_eq!(c, [3.5; 100]);

    segment[16..24].copy_from_slice(&16u64.to_le_bytes());
    let launch = wm_launch_t { kernarg: segment.as_ptr().cast(), ..launch };
    let result = run(&launch);
    assert_eq!(result.outcome, wm_outcome_t::WM_OUTCOME_FAULT as u32);
}
