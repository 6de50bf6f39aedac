//! Launches that may access all memory of the process.

use wavemill::device::{AddressMode, TargetChoice};
use wavemill::launch::HostMemory;
use wavemill::module::{CodeLocation, RawCode};
use wavemill::stats::LaunchStats;
use wavemill::{Device, Error, Launch, Module, Result, RunOptions};
use wavemill_asm::gcn;
use wavemill_isa::Target;

/// `s[0:1]` are pointers, `s[2:3]` is the output: each lane adds one to the number that its pointer
/// leads to.
const FOLLOW: &str = "
    v_lshlrev_b32_e32 v1, 3, v0
    global_load_dwordx2 v[2:3], v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_load_dword v4, v[2:3], off
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v4, 1, v4
    global_store_dword v1, v4, s[2:3]
    s_endpgm";

fn run(mode: AddressMode, pointers: &[u64], out: *mut u8, all: bool) -> Result<LaunchStats> {
    let target = Target::from_name("gfx942").expect("a target");
    let lines = FOLLOW.lines().map(str::trim).filter(|line| !line.is_empty());
    let words = lines.flat_map(|line| {
        let inst = gcn::parse(target, line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        inst.words()[..inst.size() / 4].to_vec()
    });
    let code: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let choice = TargetChoice::parse("gfx942").expect("a target");
    let device = Device::builder(choice).addresses(mode).build()?;
    let raw = RawCode { rsrc2: 4 << 1, ..RawCode::new("follow", CodeLocation::Bytes(&code)) };
    let module = Module::from_code(&device, &raw)?;
    let kernel = module.kernel("follow")?;
    let words = [pointers.as_ptr().expose_provenance() as u64, out.expose_provenance() as u64];
    let user_data: Vec<u32> = words.iter().flat_map(|at| [*at as u32, (*at >> 32) as u32]).collect();
    let size = size_of_val(pointers) as u64;
    // SAFETY: the tests own the numbers, and keep them longer than the launch.
    let memory = unsafe {
        [
            HostMemory::new("pointers", pointers.as_ptr().cast_mut().cast(), size).read_only(),
            HostMemory::new("out", out, size / 2),
        ]
    };
    let lanes = pointers.len() as u32;
    let options = RunOptions { find_stalls: true, ..RunOptions::default() };
    let launch = Launch::new(&kernel).workgroup_size([lanes, 1, 1]).user_data(&user_data);
    let launch = launch.host_memory(memory).options(options);
    // SAFETY: the kernel reads what the pointers lead to.
    let launch = if all { unsafe { launch.process_memory() } } else { launch };
    launch.run()
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).expose_provenance() as u64
}

#[test]
fn kernels_follow_pointers() {
    static CONSTANT: u32 = 40;
    let on_heap = Box::new(10);
    let on_stack = 20;
    let pointers = [address(&*on_heap), address(&on_stack), address(&CONSTANT)];
    let mut out = [0u32; 3];
    run(AddressMode::Identity, &pointers, out.as_mut_ptr().cast(), true).unwrap();
    assert_eq!(out, [11, 21, 41]);
}

#[test]
fn without_it_a_fault_says_that_the_process_has_the_memory() {
    // Far from the pointers, which are on the stack.
    let on_heap = vec![20u32; 4096];
    let mut out = [0u32; 1];
    let mut run = |at, all| run(AddressMode::Identity, &[at], out.as_mut_ptr().cast(), all).unwrap_err();
    let fault = |error: &Error| match error {
        Error::Fault(report) => (report.only_in_process, report.to_string()),
        other => panic!("{other}"),
    };
    let (says, text) = fault(&run(address(&on_heap[2048]), false));
    assert!(
        says && text.contains("process      has memory there, which the launch may not access"),
        "{text}"
    );
    // Nobody has memory there.
    let nowhere = 3 << 45;
    let (says, text) = fault(&run(nowhere, false));
    assert!(!says && !text.contains("has memory there"), "{text}");
    let (says, text) = fault(&run(nowhere, true));
    assert!(!says && text.contains("the process has no memory there"), "{text}");
}

#[test]
fn read_only_mappings_and_arguments_are_not_written() {
    static CONSTANT: [u32; 1] = [7];
    let number = 1;
    let out = CONSTANT.as_ptr().cast_mut().cast();
    let error = run(AddressMode::Identity, &[address(&number)], out, true).unwrap_err();
    assert!(error.to_string().contains("is read-only (a read-only mapping of the process)"), "{error}");
    let mut pointers = [address(&number)];
    let out = pointers.as_mut_ptr().cast();
    let error = run(AddressMode::Identity, &pointers, out, true);
    // Another argument may write there.
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn a_sandbox_has_other_addresses() {
    let number = 1;
    let mut out = [0u32; 1];
    let error = run(AddressMode::Sandbox, &[address(&number)], out.as_mut_ptr().cast(), true).unwrap_err();
    assert!(error.to_string().contains("memory of the host"), "{error}");
}
