//! Machine code without a code object, launched with the words that a driver writes to registers.

use std::num::NonZeroUsize;

use wavemill::device::{AddressMode, TargetChoice};
use wavemill::module::{CodeLocation, RawCode};
use wavemill::{Buffer, Device, Error, Launch, Module, RunOptions};
use wavemill_asm::gcn;
use wavemill_isa::Target;

const TARGETS: [&str; 6] = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"];

fn device(name: &str, mode: AddressMode) -> Device {
    let choice = TargetChoice::parse(name).expect("a target");
    Device::builder(choice).addresses(mode).build().expect("a device")
}

/// The machine code of lines of assembly.
pub(crate) fn code(target: &str, lines: &str) -> Vec<u8> {
    let target = Target::from_name(target).expect("a target");
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let words = lines.flat_map(|line| {
        let inst = gcn::parse(target, line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        inst.words()[..inst.size() / 4].to_vec()
    });
    words.flat_map(u32::to_le_bytes).collect()
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// `s[0:1]` is the output, `s2` is added, `s3` is the workgroup in X: work-item `n` of the grid
/// stores `n + s2`.
const NUMBERS: &str = "
    s_lshl_b32 s4, s3, 6
    v_add_u32_e32 v1, s4, v0
    v_lshlrev_b32_e32 v2, 2, v1
    v_add_u32_e32 v3, s2, v1
    global_store_dword v2, v3, s[0:1]
    s_endpgm";

/// Three user SGPRs, and the workgroup in X.
const NUMBERS_RSRC2: u32 = 3 << 1 | 1 << 7;

#[test]
fn user_sgprs_and_system_sgprs_are_where_the_words_say() {
    for target in TARGETS {
        for mode in AddressMode::ALL {
            let device = device(target, mode);
            let out = device.buffer("out", 4 * 64 * 3).expect("a buffer");
            let code = code(target, NUMBERS);
            let raw = RawCode { rsrc2: NUMBERS_RSRC2, ..RawCode::new("numbers", CodeLocation::Bytes(&code)) };
            let module = Module::from_code(&device, &raw).expect("a module");
            let kernel = module.kernel("numbers").expect("a kernel");
            let [low, high] = halves(out.address());
            let launch = Launch::new(&kernel).workgroups([3, 1, 1]).workgroup_size([64, 1, 1]);
            let stats = launch.user_data(&[low, high, 1000]).run().expect("it finishes");
            assert_eq!(out.to_vec::<u32>().expect("words"), (1000..1192).collect::<Vec<u32>>(), "{target}");
            assert_eq!((stats.run.waves, stats.run.instructions), (3, 3 * 6));
        }
    }
}

/// Memory of the host with code and data after it.
fn imported(device: &Device, memory: &mut [u32]) -> Buffer {
    let (start, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory) as u64);
    // SAFETY: the tests keep the memory until the buffer is dropped, and leave it alone.
    unsafe { device.import_buffer("host", start, bytes) }.expect("a buffer")
}

#[test]
fn code_in_place_finds_data_at_fixed_distances() {
    for target in TARGETS {
        // s[2:3] is the address after the first instruction: 60 bytes before the data.
        let words = code(
            target,
            "
            s_getpc_b64 s[2:3]
            s_load_dword s4, s[2:3], 0x3c
            s_waitcnt lgkmcnt(0)
            s_add_u32 s4, s4, 1
            v_mov_b32_e32 v0, 0
            v_mov_b32_e32 v1, s4
            global_store_dword v0, v1, s[2:3] offset:64
            s_endpgm",
        );
        let mut memory = vec![0u32; 32];
        for (word, bytes) in memory.iter_mut().zip(words.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        memory[16] = 41;
        let device = device(target, AddressMode::Identity);
        let buffer = imported(&device, &mut memory);
        let size = words.len() as u64;
        let raw = RawCode::new("next", CodeLocation::InPlace { buffer: &buffer, offset: 0, size });
        // A module that is gone leaves room for another one.
        for _ in 0..2 {
            let module = Module::from_code(&device, &raw).expect("a module");
            let kernel = module.kernel("next").expect("a kernel");
            assert_eq!(kernel.entry(), buffer.address());
            Launch::new(&kernel).run().expect("it finishes");
        }
        assert_eq!(buffer.to_vec::<u32>().expect("words")[16..18], [41, 42], "{target}");
        drop(buffer);
    }
}

#[test]
fn lds_is_as_large_as_the_words_say() {
    for target in TARGETS {
        let granule = Target::from_name(target).expect("a target").lds_granule();
        let device = device(target, AddressMode::Sandbox);
        let code = code(target, "s_endpgm");
        let raw = RawCode::new("empty", CodeLocation::Bytes(&code));
        for (raw, bytes) in [
            (raw, 0),
            (RawCode { lds_size: 100, ..raw }, 100),
            (RawCode { rsrc2: 3 << 15, ..raw }, 3 * granule),
            (RawCode { rsrc2: 3 << 15, lds_size: 100, ..raw }, 100),
        ] {
            let module = Module::from_code(&device, &raw).expect("a module");
            let kernel = module.kernel("empty").expect("a kernel");
            assert_eq!(Launch::new(&kernel).run().expect("it finishes").lds_size, bytes, "{target}");
        }
    }
}

#[test]
fn private_memory_is_that_of_the_lane() {
    // ENABLE_PRIVATE_SEGMENT, two user SGPRs.
    let rsrc2 = 1 | 2 << 1;
    for target in ["gfx942", "gfx950"] {
        let device = device(target, AddressMode::Identity);
        let out = device.buffer("out", 256).expect("a buffer");
        let code = code(
            target,
            "
            v_mov_b32_e32 v1, 12
            scratch_store_dword v1, v0, off
            v_mov_b32_e32 v2, 0
            s_waitcnt vmcnt(0)
            scratch_load_dword v2, v1, off
            v_lshlrev_b32_e32 v3, 2, v0
            s_waitcnt vmcnt(0)
            global_store_dword v3, v2, s[0:1]
            s_endpgm",
        );
        let raw = RawCode { rsrc2, private_size: 16, ..RawCode::new("keep", CodeLocation::Bytes(&code)) };
        let module = Module::from_code(&device, &raw).expect("a module");
        let kernel = module.kernel("keep").expect("a kernel");
        let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]);
        launch.user_data(&halves(out.address())).run().expect("it finishes");
        assert_eq!(out.to_vec::<u32>().expect("words"), (0..64).collect::<Vec<u32>>(), "{target}");
    }
    // Elsewhere, user SGPRs have its address: s[0:3] is the buffer resource, s[4:5] the arguments,
    // s6 the wave's offset.
    for target in ["gfx906", "gfx90a"] {
        let device = device(target, AddressMode::Sandbox);
        let out = device.buffer("out", 256).expect("a buffer");
        let code = code(
            target,
            "
            s_load_dwordx2 s[8:9], s[4:5], 0x0
            buffer_store_dword v0, off, s[0:3], s6 offset:8
            s_waitcnt vmcnt(0) lgkmcnt(0)
            buffer_load_dword v2, off, s[0:3], s6 offset:8
            v_lshlrev_b32_e32 v3, 2, v0
            s_waitcnt vmcnt(0)
            global_store_dword v3, v2, s[8:9]
            s_endpgm",
        );
        let raw = RawCode {
            rsrc2: 1 | 6 << 1,
            private_size: 16,
            // ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER, ENABLE_SGPR_KERNARG_SEGMENT_PTR.
            properties: 1 | 1 << 3,
            ..RawCode::new("keep", CodeLocation::Bytes(&code))
        };
        let module = Module::from_code(&device, &raw).expect("a module");
        let kernel = module.kernel("keep").expect("a kernel");
        let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]);
        launch.kernarg(&out.address().to_le_bytes()).run().expect("it finishes");
        assert_eq!(out.to_vec::<u32>().expect("words"), (0..64).collect::<Vec<u32>>(), "{target}");
        let error = Launch::new(&kernel).user_data(&[0; 6]).run().expect_err("nobody fills s[0:3]");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot launch `keep`: {target} finds private memory through user SGPRs that only the launch can \
                 fill; give no user SGPRs"
            )
        );
    }
}

/// Instructions that load the 16 dwords of private memory of each lane, store their bits for each
/// work-item, and set v4 to ones, v5 to another dword of private memory for each lane. v1 is 0.
fn report_private(load: impl Fn(u32, u32) -> String, workgroup: &str, out: &str) -> String {
    let loads: Vec<String> = (0..16).map(|n| load(8 + n, 4 * n)).collect();
    let ors: Vec<String> = (8..24).map(|n| format!("v_or_b32_e32 v2, v2, v{n}")).collect();
    format!(
        "v_mov_b32_e32 v1, 0
         v_mov_b32_e32 v2, 0
         {}
         s_waitcnt vmcnt(0)
         {}
         s_lshl_b32 s20, {workgroup}, 6
         v_add_u32_e32 v3, s20, v0
         v_lshlrev_b32_e32 v3, 2, v3
         global_store_dword v3, v2, {out}
         v_mov_b32_e32 v4, -1
         v_and_b32_e32 v5, 15, v0
         v_lshlrev_b32_e32 v5, 2, v5
         v_mov_b32_e32 v24, v5",
        loads.join("\n"),
        ors.join("\n")
    )
}

/// Runs many workgroups, of which each finds zeros.
fn all_find_zeros(device: &Device, raw: &RawCode<'_>, by_kernarg: bool, what: &str) {
    const GROUPS: u32 = 200;
    let out = device.buffer("out", 256 * u64::from(GROUPS)).expect("a buffer");
    out.write(0, &[0xffu8; 256 * GROUPS as usize]).expect("inside");
    let module = Module::from_code(device, raw).expect("a module");
    let kernel = module.kernel(raw.name).expect("a kernel");
    for threads in [1, 2] {
        let launch = Launch::new(&kernel).workgroups([GROUPS, 1, 1]).workgroup_size([64, 1, 1]);
        let options = RunOptions { threads: NonZeroUsize::new(threads), ..RunOptions::default() };
        let launch = launch.options(options);
        let done = match by_kernarg {
            true => launch.kernarg(&out.address().to_le_bytes()).run(),
            false => launch.user_data(&halves(out.address())).run(),
        };
        done.unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = out.to_vec::<u32>().expect("words");
        assert_eq!(found.iter().position(|bits| *bits != 0), None, "{what} on {threads} threads");
    }
}

#[test]
fn waves_find_no_bytes_of_earlier_waves_in_private_memory() {
    // Rows, lanes at different offsets, flat addresses, and addresses in global memory.
    let scratch = [
        "scratch_store_dword v1, v4, off offset:60",
        "scratch_store_dwordx2 v1, v[4:5], off offset:56",
        "scratch_store_byte v5, v4, off offset:3",
        "s_mov_b64 exec, 5\nscratch_store_dword v1, v4, off offset:20",
        "s_mov_b64 s[8:9], src_private_base\nv_mov_b32_e32 v25, s9\nflat_store_dword v[24:25], v4",
        "s_mov_b64 s[8:9], src_private_base\nv_mov_b32_e32 v25, s9\nflat_atomic_add v[24:25], v4",
        "s_mov_b64 s[8:9], flat_scratch\nglobal_store_dword v5, v4, s[8:9] offset:768",
        "scratch_store_dword v1, v4, off\ns_mov_b64 s[8:9], flat_scratch\nglobal_store_dword v5, v4, s[8:9] offset:2048",
    ];
    for (target, store) in ["gfx942", "gfx950"].into_iter().flat_map(|t| scratch.map(|store| (t, store))) {
        let device = device(target, AddressMode::Sandbox);
        let load = |row, offset| format!("scratch_load_dword v{row}, v1, off offset:{offset}");
        let code = code(target, &format!("{}\n{store}\ns_endpgm", report_private(load, "s2", "s[0:1]")));
        let raw = RawCode {
            // ENABLE_PRIVATE_SEGMENT, two user SGPRs, the workgroup in X.
            rsrc2: 1 | 2 << 1 | 1 << 7,
            private_size: 64,
            ..RawCode::new("stains", CodeLocation::Bytes(&code))
        };
        all_find_zeros(&device, &raw, false, &format!("{target}: {store}"));
    }
    // s[0:3] is the buffer resource, s[4:5] the arguments, s6 the workgroup, s7 the wave's offset.
    let buffers = [
        "buffer_store_dword v4, off, s[0:3], s7 offset:60",
        "buffer_store_dword v4, v5, s[0:3], s7 offen",
        "buffer_store_short v4, v5, s[0:3], s7 offen offset:2",
        "buffer_atomic_add v4, v5, s[0:3], s7 offen",
        "s_and_b32 s9, s1, 0xffff\ns_add_u32 s8, s0, s7\ns_addc_u32 s9, s9, 0\ns_store_dword s20, s[8:9], 0x40",
    ];
    for (target, store) in ["gfx906", "gfx90a"].into_iter().flat_map(|t| buffers.map(|store| (t, store))) {
        if target == "gfx90a" && store.contains("s_store") {
            continue;
        }
        let device = device(target, AddressMode::Sandbox);
        let load = |row, offset| format!("buffer_load_dword v{row}, off, s[0:3], s7 offset:{offset}");
        let report = report_private(load, "s6", "s[10:11]");
        let code = code(
            target,
            &format!(
                "s_load_dwordx2 s[10:11], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n{report}\n{store}\ns_endpgm"
            ),
        );
        let raw = RawCode {
            rsrc2: 1 | 6 << 1 | 1 << 7,
            private_size: 64,
            properties: 1 | 1 << 3,
            ..RawCode::new("stains", CodeLocation::Bytes(&code))
        };
        all_find_zeros(&device, &raw, true, &format!("{target}: {store}"));
    }
}

/// The problem of code that is rejected.
fn problem(device: &Device, raw: &RawCode<'_>) -> String {
    match Module::from_code(device, raw) {
        Err(Error::Code { name, problem }) => {
            assert_eq!(name, raw.name);
            problem
        }
        other => panic!("expected an error about the code, got {other:?}"),
    }
}

#[test]
fn wrong_code_is_rejected() {
    let gfx906 = device("gfx906", AddressMode::Sandbox);
    let end = code("gfx906", "s_endpgm");
    let raw = RawCode::new("end", CodeLocation::Bytes(&end));
    let buffer = gfx906.buffer("code", 16).expect("a buffer");
    let at = |offset, size| RawCode { code: CodeLocation::InPlace { buffer: &buffer, offset, size }, ..raw };

    assert_eq!(
        problem(&device("cayman", AddressMode::Sandbox), &raw),
        "expected a device of GCN or CDNA, found cayman, whose programs need an object file"
    );
    assert_eq!(
        problem(&gfx906, &RawCode::new("end", CodeLocation::Bytes(&[]))),
        "expected at least one instruction, found 0 bytes"
    );
    assert_eq!(problem(&gfx906, &at(0, 0)), "expected at least one instruction, found 0 bytes");
    for (offset, size) in [(0, 17), (13, 4), (u64::MAX, 2)] {
        let wanted = format!("{size} bytes from byte {offset} on are not in its buffer of 16 bytes");
        assert_eq!(problem(&gfx906, &at(offset, size)), wanted);
    }
    let address = buffer.address() + 2;
    assert_eq!(
        problem(&gfx906, &at(2, 4)),
        format!("it begins at address {address:#x}, but instructions begin at multiples of 4")
    );
    assert_eq!(
        problem(&device("gfx906", AddressMode::Sandbox), &at(0, 4)),
        "it is in a buffer of another device"
    );
    for scratch in [RawCode { private_size: 4, ..raw }, RawCode { rsrc2: 1, ..raw }] {
        assert!(problem(&gfx906, &scratch).starts_with("gfx906 finds private memory through user SGPRs"));
    }
    let _module = Module::from_code(&gfx906, &at(4, 8)).expect("a module");
    let [start, end] = [buffer.address() + 8, buffer.address() + 12];
    assert_eq!(
        problem(&gfx906, &at(8, 4)),
        format!("a module of the device already has code in {start:#x} to {end:#x}")
    );
}

#[test]
fn a_launch_has_as_many_user_sgprs_as_the_words_say() {
    let device = device("gfx942", AddressMode::Sandbox);
    let end = code("gfx942", "s_endpgm");
    let raw = RawCode { rsrc2: 2 << 1, ..RawCode::new("end", CodeLocation::Bytes(&end)) };
    let module = Module::from_code(&device, &raw).expect("a module");
    let kernel = module.kernel("end").expect("a kernel");
    Launch::new(&kernel).user_data(&[1]).run().expect("it finishes");
    let error = Launch::new(&kernel).user_data(&[1; 3]).check().expect_err("one too many");
    assert_eq!(
        error.to_string(),
        "cannot launch `end`: 3 user SGPRs are given, but USER_SGPR_COUNT in compute_pgm_rsrc2 is 2"
    );
}

#[test]
fn faults_name_the_code() {
    let device = device("gfx950", AddressMode::Sandbox);
    let code = code("gfx950", &format!("s_nop 0\n{}", NUMBERS.trim()));
    let raw = RawCode { rsrc2: NUMBERS_RSRC2, ..RawCode::new("numbers", CodeLocation::Bytes(&code)) };
    let module = Module::from_code(&device, &raw).expect("a module");
    let kernel = module.kernel("numbers").expect("a kernel");
    let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]);
    match launch.user_data(&[0x10, 0, 0]).run() {
        Err(Error::Fault(report)) => {
            let text = report.to_string();
            assert!(text.contains("numbers") && text.contains("global_store_dword v2, v3, s[0:1]"), "{text}");
        }
        other => panic!("expected a fault, got {other:?}"),
    }
}
