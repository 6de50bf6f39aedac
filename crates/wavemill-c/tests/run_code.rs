//! Machine code without a code object, on memory of the test.

use std::ffi::{CStr, c_void};
use std::ptr;

use wavemill_asm::gcn;
use wavemill_c::*;
use wavemill_isa::Target;

use crate::calls::*;

/// The machine code of lines of assembly.
fn code(target: &CStr, lines: &str) -> Vec<u32> {
    let target = Target::from_name(target.to_str().expect("a name")).expect("a target");
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let words = lines.flat_map(|line| {
        let inst = gcn::parse(target, line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        inst.words()[..inst.size() / 4].to_vec()
    });
    words.collect()
}

fn range<T>(memory: &mut [T]) -> wm_range_t {
    wm_range_t { start: memory.as_mut_ptr().cast(), size: size_of_val(memory) }
}

fn halves(address: *const c_void) -> [u32; 2] {
    let address = address.addr() as u64;
    [address as u32, (address >> 32) as u32]
}

/// Code for these targets with all registers.
fn run_of(target: &CStr, code: &[u32]) -> wm_run_code_t {
    wm_run_code_t {
        target: target.as_ptr(),
        code: code.as_ptr().cast(),
        code_size: size_of_val(code),
        rsrc1: WM_DEFAULT_RSRC1,
        rsrc3: WM_DEFAULT_RSRC3,
        grid: [1; 3],
        block: [64, 1, 1],
        ..sized()
    }
}

/// The arguments are at `s[0:1]`, as for tinygrad: the addresses of output and input. Work-item `n`
/// of 128 stores three times the input. `s2` and `s3` are the workgroup in X and Y.
const TRIPLE: &str = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_lshl_b32 s2, s2, 6
    v_and_b32_e32 v0, 0x3ff, v0
    v_add_u32_e32 v0, s2, v0
    v_lshlrev_b32_e32 v0, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v1, v0, s[6:7]
    s_waitcnt vmcnt(0)
    v_mul_u32_u24_e32 v1, 3, v1
    global_store_dword v0, v1, s[4:5]
    s_endpgm";

/// Two user SGPRs, workgroup ids in X and Y, work-item ids in X, Y and Z.
const TRIPLE_RSRC2: u32 = 2 << 1 | 1 << 7 | 1 << 8 | 2 << 11;

#[test]
fn code_runs_on_the_memory_of_the_program() {
    for target in [c"gfx906", c"gfx90a", c"gfx942", c"gfx950"] {
        let code = code(target, TRIPLE);
        let mut input: Vec<u32> = (100..228).collect();
        let mut output = vec![0u32; 128];
        let mut arguments = [output.as_mut_ptr().addr() as u64, input.as_mut_ptr().addr() as u64];
        let user = halves((&raw const arguments).cast());
        let ranges = [range(&mut input), range(&mut output), range(&mut arguments)];
        let mut result = sized::<wm_result_t>();
        let run = wm_run_code_t {
            user_sgprs: user.as_ptr(),
            user_sgpr_count: 2,
            rsrc2: TRIPLE_RSRC2,
            ranges: ranges.as_ptr(),
            range_count: 3,
            grid: [2, 1, 1],
            result: &mut result,
            ..run_of(target, &code)
        };
        for copy_code in [0, 1] {
            output.fill(0);
            // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
            ok(unsafe { wm_run_code(&wm_run_code_t { copy_code, ..run }) });
            let expected: Vec<u32> = (100..228).map(|n| 3 * n).collect();
            assert_eq!(output, expected, "{target:?}");
            assert_eq!((result.outcome, result.waves, result.work_items), (0, 2, 128));
            assert_eq!(result.instructions, 2 * 11);
        }
    }
}

#[test]
fn only_the_ranges_can_be_used() {
    let target = c"gfx942";
    let code = code(target, TRIPLE);
    let mut memory = vec![1u32; 256];
    let (input, output) = memory.split_at_mut(128);
    let mut arguments = [output.as_mut_ptr().addr() as u64, input.as_mut_ptr().addr() as u64];
    let user = halves((&raw const arguments).cast());
    // The last word of the output is not in its range.
    let mut ranges = [range(input), range(output), range(&mut arguments)];
    ranges[1].size -= 4;
    let mut result = sized::<wm_result_t>();
    let run = wm_run_code_t {
        user_sgprs: user.as_ptr(),
        user_sgpr_count: 2,
        rsrc2: TRIPLE_RSRC2,
        ranges: ranges.as_ptr(),
        range_count: 3,
        grid: [2, 1, 1],
        ..run_of(target, &code)
    };
    // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
    let message = error(unsafe { wm_run_code(&run) });
    assert!(
        message.contains("global_store_dword v0, v1, s[4:5]") && message.contains("range 1"),
        "{message}"
    );
    // SAFETY: as before.
    ok(unsafe { wm_run_code(&wm_run_code_t { result: &mut result, ..run }) });
    assert_eq!(result.outcome, wm_outcome_t::WM_OUTCOME_FAULT as u32);
    assert_eq!(text(result.report), message);
    assert_eq!(memory[255], 1, "nothing is stored beyond a range");

    // A range more with that word; it overlaps.
    let start: *mut c_void = memory.as_mut_ptr().wrapping_add(200).cast();
    let mut ranges = ranges.to_vec();
    ranges.push(wm_range_t { start, size: 56 * 4 });
    // SAFETY: as before.
    ok(unsafe { wm_run_code(&wm_run_code_t { ranges: ranges.as_ptr(), range_count: 4, ..run }) });
    assert_eq!(memory[128..], [3; 128]);
}

#[test]
fn code_may_be_in_a_range_and_is_read_only_elsewhere() {
    // Stores to the word after the code, 20 bytes after the address that s_getpc_b64 gives.
    let target = c"gfx942";
    let code = code(
        target,
        "
        s_getpc_b64 s[4:5]
        v_mov_b32_e32 v0, 0
        v_mov_b32_e32 v1, 9
        global_store_dword v0, v1, s[4:5] offset:20
        s_endpgm",
    );
    let mut memory = [&code[..], &[0, 0]].concat();
    let all = [range(&mut memory)];
    let run = wm_run_code_t {
        code: all[0].start,
        code_size: size_of_val(&*code),
        ranges: all.as_ptr(),
        range_count: 1,
        block: [1, 1, 1],
        ..run_of(target, &code)
    };
    // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
    unsafe {
        ok(wm_run_code(&run));
        assert_eq!(memory[code.len()..], [9, 0]);
        memory[code.len()] = 0;
        // Without the range, the word is nobody's; with more code, it is read-only.
        let all = range(&mut memory);
        error(wm_run_code(&wm_run_code_t { code: all.start, range_count: 0, ..run }));
        let run = wm_run_code_t { code: all.start, code_size: all.size, range_count: 0, ..run };
        let message = error(wm_run_code(&run));
        assert!(message.contains("read-only") || message.contains("code"), "{message}");
    }
    assert_eq!(memory[code.len()..], [0, 0]);
}

#[test]
fn scratch_and_lds_are_there() {
    let target = c"gfx950";
    let code = code(
        target,
        "
        v_and_b32_e32 v0, 0x3ff, v0
        scratch_store_dword off, v0, off offset:12
        v_lshlrev_b32_e32 v1, 2, v0
        v_xor_b32_e32 v2, 0xfc, v1
        ds_write_b32 v2, v0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        scratch_load_dword v3, off, off offset:12
        ds_read_b32 v4, v1
        v_lshlrev_b32_e32 v5, 3, v0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_mov_b32_e32 v6, v3
        v_mov_b32_e32 v7, v4
        global_store_dwordx2 v5, v[6:7], s[0:1]
        s_endpgm",
    );
    let mut output = vec![0u32; 128];
    let user = halves(output.as_mut_ptr().cast());
    let ranges = [range(&mut output)];
    let run = wm_run_code_t {
        user_sgprs: user.as_ptr(),
        user_sgpr_count: 2,
        // ENABLE_PRIVATE_SEGMENT, two user SGPRs, one granule of LDS.
        rsrc2: 1 | 2 << 1 | 1 << 15,
        scratch_size: 16,
        ranges: ranges.as_ptr(),
        range_count: 1,
        strict: wm_strict_t::WM_STRICT_LDS as u32,
        ..run_of(target, &code)
    };
    // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
    unsafe {
        ok(wm_run_code(&run));
        let expected: Vec<u32> = (0..64).flat_map(|lane| [lane, 63 - lane]).collect();
        assert_eq!(output, expected);
        error(wm_run_code(&wm_run_code_t { lds_size: 128, ..run }));
        error(wm_run_code(&wm_run_code_t { scratch_size: 8, ..run }));
    }
}

#[test]
fn a_segment_of_arguments_is_passed() {
    let target = c"gfx90a";
    let code = code(
        target,
        "
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32_e32 v0, 0
        v_mov_b32_e32 v1, 5
        s_waitcnt lgkmcnt(0)
        global_store_dword v0, v1, s[4:5]
        s_endpgm",
    );
    let mut output = [0u32];
    let segment = (output.as_mut_ptr().addr() as u64).to_le_bytes();
    let ranges = [range(&mut output)];
    let run = wm_run_code_t {
        rsrc2: 2 << 1,
        // ENABLE_SGPR_KERNARG_SEGMENT_PTR.
        kernel_code_properties: 8,
        kernarg: segment.as_ptr().cast(),
        kernarg_size: segment.len(),
        ranges: ranges.as_ptr(),
        range_count: 1,
        ..run_of(target, &code)
    };
    // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
    ok(unsafe { wm_run_code(&run) });
    assert_eq!(output, [5]);
}

#[test]
fn wrong_runs_are_errors() {
    let code = code(c"gfx942", "s_endpgm");
    let words = [0u32; 17];
    let run = run_of(c"gfx942", &code);
    // SAFETY: what is wrong is checked.
    unsafe {
        ok(wm_run_code(&run));
        ok(wm_run_code(&wm_run_code_t { grid: [0, 1, 1], ..run }));
        let reject = |run: &wm_run_code_t, expected: &str| {
            let message = error(wm_run_code(run));
            assert!(message.starts_with(expected), "{message}");
        };
        assert_eq!(error(wm_run_code(ptr::null())), "expected a wm_run_code_t, found NULL");
        reject(&wm_run_code_t { target: ptr::null(), ..run }, "expected the name of a target, found NULL");
        reject(&wm_run_code_t { target: c"rdna3".as_ptr(), ..run }, "expected a target like gfx942");
        reject(
            &wm_run_code_t { target: c"cayman".as_ptr(), ..run },
            "pointers of cayman have 32 bits, and cannot hold addresses of the host",
        );
        reject(&wm_run_code_t { code: ptr::null(), ..run }, "expected 4 bytes of machine code, found NULL");
        for copy_code in [0, 1] {
            reject(
                &wm_run_code_t { code_size: 0, copy_code, ..run },
                "cannot load the code `code`: expected at least one instruction, found 0 bytes",
            );
        }
        let odd = wm_run_code_t { code: run.code.wrapping_byte_add(1), code_size: 3, ..run };
        reject(&odd, "cannot load the code `code`: it begins at address 0x");
        reject(
            &wm_run_code_t { user_sgprs: words.as_ptr(), user_sgpr_count: 17, ..run },
            "cannot launch `code`: 17 user SGPRs are given, but USER_SGPR_COUNT in compute_pgm_rsrc2 is 0",
        );
        reject(&wm_run_code_t { user_sgpr_count: 1, ..run }, "expected 4 bytes of user SGPRs, found NULL");
        reject(
            &wm_run_code_t {
                user_sgprs: words.as_ptr(),
                user_sgpr_count: 1,
                kernel_code_properties: 8,
                rsrc2: 2 << 1,
                ..run
            },
            "kernel_code_properties and user_sgprs both set user SGPRs",
        );
        reject(
            &wm_run_code_t { kernel_code_properties: 0x1_0000, ..run },
            "kernel_code_properties is 0x10000; expected 16 bits",
        );
        reject(
            &wm_run_code_t { kernarg: words.as_ptr().cast(), kernarg_size: 4, ..run },
            "kernarg needs ENABLE_SGPR_KERNARG_SEGMENT_PTR",
        );
        reject(
            &wm_run_code_t { target: c"gfx906".as_ptr(), scratch_size: 16, ..run },
            "cannot load the code `code`: gfx906 finds private memory through user SGPRs",
        );
        reject(
            &wm_run_code_t { block: [0; 3], ..run },
            "cannot launch `code`: a workgroup of [0, 0, 0] has 0 work-items",
        );
        let ranges = [wm_range_t { start: ptr::without_provenance_mut(16), size: usize::MAX }];
        reject(
            &wm_run_code_t { ranges: ranges.as_ptr(), range_count: 1, ..run },
            "18446744073709551615 bytes at 0x10 go beyond the end of memory",
        );
        let ranges = [wm_range_t { start: ptr::null_mut(), size: 16 }];
        reject(
            &wm_run_code_t { ranges: ranges.as_ptr(), range_count: 1, ..run },
            "expected 16 bytes of memory for `range 0`, found NULL",
        );
        reject(&wm_run_code_t { range_count: 1, ..run }, "expected 16 bytes of ranges, found NULL");
    }
}

/// Each thread runs the same code on memory of its own.
#[test]
fn threads_run_code_at_the_same_time() {
    let code = code(c"gfx942", TRIPLE);
    std::thread::scope(|scope| {
        for thread in 0..2u32 {
            let code = &code;
            scope.spawn(move || {
                for round in 0..20 {
                    let mut input = vec![thread * 100 + round; 64];
                    let mut output = vec![0u32; 64];
                    let mut arguments = [output.as_mut_ptr().addr() as u64, input.as_mut_ptr().addr() as u64];
                    let user = halves((&raw const arguments).cast());
                    let ranges = [range(&mut input), range(&mut output), range(&mut arguments)];
                    let run = wm_run_code_t {
                        user_sgprs: user.as_ptr(),
                        user_sgpr_count: 2,
                        rsrc2: TRIPLE_RSRC2,
                        ranges: ranges.as_ptr(),
                        range_count: 3,
                        ..run_of(c"gfx942", code)
                    };
                    // SAFETY: the pointers lead to what they say, and nothing else uses the memory.
                    ok(unsafe { wm_run_code(&run) });
                    assert_eq!(output, [3 * (thread * 100 + round); 64]);
                }
            });
        }
    });
}

#[test]
fn a_run_leaves_nothing_for_the_next_one() {
    // Exchanges the first dword of the global data share, and stores the old one.
    let exchange = code(
        c"gfx906",
        "s_mov_b32 m0, 0xffff
         v_mov_b32_e32 v0, 0
         v_mov_b32_e32 v1, 7
         ds_wrxchg_rtn_b32 v2, v0, v1 gds
         s_waitcnt lgkmcnt(0)
         global_store_dword v0, v2, s[0:1]
         s_endpgm",
    );
    let store = code(
        c"gfx906",
        "v_mov_b32_e32 v0, 0
         global_store_dword v0, v0, s[0:1]
         s_endpgm",
    );
    let run = |code: &[u32], memory: &mut [u32], ranges: &[wm_range_t]| {
        let user = halves(memory.as_mut_ptr().cast());
        let run = wm_run_code_t {
            user_sgprs: user.as_ptr(),
            user_sgpr_count: 2,
            rsrc2: 2 << 1,
            ranges: ranges.as_ptr(),
            range_count: ranges.len(),
            block: [1, 1, 1],
            ..run_of(c"gfx906", code)
        };
        // SAFETY: the pointers lead to what they say.
        unsafe { wm_run_code(&run) }
    };
    let mut words = [9u32; 4];
    for _ in 0..3 {
        words[0] = 9;
        let ranges = [range(&mut words)];
        ok(run(&exchange, &mut words, &ranges));
        assert_eq!(words, [0, 9, 9, 9]);
        // The range of the run before is not there, and reports do not know it.
        let message = error(run(&store, &mut words, &[]));
        assert!(message.contains("illegal store") && !message.contains("range"), "{message}");
        assert_eq!(words, [0, 9, 9, 9]);
    }
}

/// Ends a run, and counts its calls.
unsafe extern "C" fn end(data: *mut c_void) -> u32 {
    // SAFETY: the test passes a counter.
    unsafe { *data.cast::<u32>() += 1 };
    1
}

#[test]
fn the_program_can_end_a_run() {
    let code = code(c"gfx942", "s_branch 65535");
    let mut calls = 0u32;
    let mut result = sized::<wm_result_t>();
    let run = wm_run_code_t {
        check: Some(end),
        check_data: (&raw mut calls).cast(),
        result: &mut result,
        ..run_of(c"gfx942", &code)
    };
    // SAFETY: the pointers lead to what they say.
    ok(unsafe { wm_run_code(&run) });
    assert_eq!((result.outcome, calls), (wm_outcome_t::WM_OUTCOME_STOPPED as u32, 1));
}

#[test]
fn messages_show_the_beginning_of_long_names() {
    let long = "n".repeat(10 << 20);
    let name = std::ffi::CString::new(long).expect("no NUL");
    let code = code(c"gfx942", "s_endpgm");
    // SAFETY: the pointers lead to what they say.
    let message = error(unsafe { wm_run_code(&run_of(&name, &code)) });
    assert!(message.len() < 4096 && message.contains("nnn... (10484736 bytes more)"), "{}", message.len());
    let device = device(c"gfx942");
    let mut buffer = ptr::null_mut();
    // SAFETY: as above.
    let message = error(unsafe { wm_buffer_import(device, name.as_ptr(), ptr::null_mut(), 8, &mut buffer) });
    assert!(message.len() < 4096 && message.contains("bytes more)"), "{}", message.len());
    // SAFETY: as above.
    let message = error(unsafe { wm_buffer_new(device, name.as_ptr(), 1 << 62, &mut buffer) });
    assert!(message.len() < 4096 && message.contains("bytes more)"), "{}", message.len());
    let add = VectorAdd::new();
    let mut kernel = ptr::null_mut();
    // SAFETY: as above.
    let message = error(unsafe { wm_kernel_get(add.module, name.as_ptr(), &mut kernel) });
    assert!(message.len() < 4096 && message.contains("bytes more)"), "{}", message.len());
    ok(wm_device_free(device));
}
