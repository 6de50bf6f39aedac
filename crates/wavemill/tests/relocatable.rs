//! Relocatable files load and run like linked ones.

use wavemill::find::Finder;
use wavemill::{Arg, Device, Error, Launch, Module, Outcome};
use wavemill_asm::Options;
use wavemill_object::write::write_relocatable;

/// A fixture of `wavemill-object`: its `build.sh` says how clang or llc makes it.
fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../wavemill-object/tests/fixtures");
    std::fs::read(format!("{folder}/{name}")).unwrap()
}

fn load(file: &[u8]) -> (Device, Module) {
    let device = Device::for_object(file).unwrap();
    let module = Module::load(&device, file).unwrap();
    (device, module)
}

const SIZE: u32 = 128;

/// A launch of two workgroups.
fn launch<'a>(kernel: &'a wavemill::Kernel) -> Launch<'a> {
    Launch::new(kernel).workgroups([SIZE / 64, 1, 1]).workgroup_size([64, 1, 1])
}

/// A call, LDS and a table of constants. The expectation follows `relocatable.cl`.
#[test]
fn functions_and_tables() {
    const WEIGHTS: [f32; 8] = [0.5, 0.25, 0.125, 2.0, 4.0, 8.0, -1.0, -0.5];
    let polynomial =
        |x: f32, rank: usize| (0..rank).fold(0.0, |sum, at| f32::mul_add(sum, x, WEIGHTS[at % 8]));
    for name in ["gfx942-relocatable.o", "gfx90a-relocatable.o"] {
        let (device, module) = load(&fixture(name));
        let kernel = module.kernel("blend").unwrap();
        // Small integers, so that no sum is rounded.
        let values: Vec<f32> = (0..SIZE).map(|at| (at % 5) as f32).collect();
        let (input, out) =
            (device.buffer_from("in", &values).unwrap(), device.buffer("out", 4 * 128).unwrap());
        for rank in [0_u32, 1, 3, 8] {
            launch(&kernel).args([Arg::from(&out), Arg::from(&input), Arg::from(rank)]).run().unwrap();
            let expected: Vec<f32> = (0..SIZE as usize)
                .map(|at| polynomial(values[at / 64 * 64 + 63 - at % 64], rank as usize))
                .collect();
            assert_eq!(out.to_vec::<f32>().unwrap(), expected, "{name}, rank {rank}");
        }
    }
}

/// Tables of addresses, variables with and without contents, and a pointer to a variable.
#[test]
fn variables_and_their_addresses() {
    for name in ["gfx942-relocatable.o", "gfx90a-relocatable.o"] {
        let (device, module) = load(&fixture(name));
        let which: Vec<i32> = (0..SIZE as i32).collect();
        let (input, out) =
            (device.buffer_from("in", &which).unwrap(), device.buffer("out", 4 * 128).unwrap());
        let gather = module.kernel("gather").unwrap();
        launch(&gather).args([Arg::from(&out), Arg::from(&input)]).run().unwrap();
        let expected = |at: i32| if at % 2 == 0 { at % 4 + 1 } else { (at % 4 + 1) * 100 } + 1000;
        let all = |more: i32| which.iter().map(|&at| expected(at) + more).collect::<Vec<_>>();
        assert_eq!(out.to_vec::<i32>().unwrap(), all(0), "{name}");

        let recall = module.kernel("recall").unwrap();
        let recalled = device.buffer("recalled", 4 * 64).unwrap();
        Launch::new(&recall).workgroup_size([64, 1, 1]).args([Arg::from(&recalled)]).run().unwrap();
        // `cursor` is the address of the ninth counter. Work-items with one index modulo 8 write the
        // same value: it has the same index modulo 4, and the same table.
        let counters: Vec<i32> =
            (0..64).map(|at| if (8..16).contains(&at) { expected(at) } else { 0 }).collect();
        assert_eq!(recalled.to_vec::<i32>().unwrap(), counters, "{name}");
        // It has added 1 to `total`.
        launch(&gather).args([Arg::from(&out), Arg::from(&input)]).run().unwrap();
        assert_eq!(out.to_vec::<i32>().unwrap(), all(1), "{name}");
    }
}

/// The output of llc leaves the visibility open: code finds everything through the global offset
/// table.
#[test]
fn the_output_of_llc() {
    let file = fixture("gfx950-llc.o");
    let found = Finder::new(&file).find().unwrap();
    assert_eq!((found.kernel.as_str(), found.target.to_string().as_str()), ("scale", "gfx950"));
    // What the search returns is linked, and loads as the file does.
    let device = Device::new(&found.target).unwrap();
    for file in [&file[..], &found.object] {
        let module = Module::with_kernel(&device, file, "scale").unwrap();
        let out = device.buffer("out", 4 * 64).unwrap();
        let kernel = module.kernel("scale").unwrap();
        Launch::new(&kernel).workgroup_size([64, 1, 1]).args([Arg::from(&out)]).run().unwrap();
        let expected: Vec<u32> = (0..64).map(|at| at * 10_u32.pow(at % 4) + 7).collect();
        assert_eq!(out.to_vec::<u32>().unwrap(), expected);
    }
}

/// Debug information leads from a fault to the source line.
#[test]
fn a_fault_names_the_source_line() {
    let (device, module) = load(&fixture("gfx942-relocatable.o"));
    let kernel = module.kernel("blend").unwrap();
    let (input, out) = (device.buffer("in", 64).unwrap(), device.buffer("out", 4 * 64).unwrap());
    let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]);
    let outcome = launch.args([Arg::from(&out), Arg::from(&input), Arg::from(1_u32)]).outcome().unwrap();
    let Outcome::Fault(report) = outcome else { panic!("{outcome:?}") };
    let source = include_str!("../../wavemill-object/tests/fixtures/relocatable.cl");
    let line = source.lines().position(|line| line.contains("= in[i];")).unwrap() as u32 + 1;
    let at = report.source.as_ref().unwrap();
    assert_eq!((at.file.ends_with("relocatable.cl"), at.line), (true, line), "{}", report.full());
}

/// The relocatable file of a source.
fn assemble(source: &str) -> Vec<u8> {
    let target = "gfx90a".parse().unwrap();
    let options = Options { target: Some(target), ..Options::default() };
    let module = wavemill_asm::assemble(source, &options).unwrap_or_else(|reports| panic!("{reports:#?}"));
    write_relocatable(&module).unwrap()
}

/// A kernel with nothing but a descriptor.
#[test]
fn a_kernel_without_metadata() {
    let file = assemble(
        "
    .text
    .globl kernel
    .p2align 8
    .type kernel,@function
kernel:
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, number@rel32@lo+4
    s_addc_u32 s5, s5, number@rel32@hi+12
    s_load_dword s6, s[4:5], 0x0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v1, s6
    v_mov_b32_e32 v2, 0
    global_store_dword v2, v1, s[2:3]
    s_endpgm
    .size kernel, .-kernel
    .section .data.rel.ro,\"aw\"
    .local number
number:
    .long 4711
    .rodata
    .amdhsa_kernel kernel
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_kernarg_size 8
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 8
    .end_amdhsa_kernel
",
    );
    let (device, module) = load(&file);
    let out = device.buffer("out", 4).unwrap();
    let kernel = module.kernel("kernel").unwrap();
    let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]);
    launch.kernarg(&out.address().to_le_bytes()).run().unwrap();
    assert_eq!(out.to_vec::<u32>().unwrap(), [4711]);
}

/// Symbols of other files are named with their uses and a remedy.
#[test]
fn what_needs_other_files() {
    let file = assemble(
        "
    .text
    .type caller,@function
caller:
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, callee@rel32@lo+4
    s_addc_u32 s5, s5, callee@rel32@hi+12
    s_swappc_b64 s[30:31], s[4:5]
    s_endpgm
    .size caller, .-caller
    .data
    .quad elsewhere
",
    );
    let expected = "the relocatable file cannot be linked:
  undefined symbol `callee`, used at .text+0x8 in `caller`, .text+0x10 in `caller`
  undefined symbol `elsewhere`, used at .data+0x0
link it with the files that define these symbols: `ld.lld -shared -o LINKED.co FILE.o OTHER.o`";
    let device = Device::new(&"gfx90a".parse().unwrap()).unwrap();
    let error = Module::load(&device, &file).map(drop).unwrap_err();
    assert!(matches!(error, Error::Object(_)), "{error:?}");
    assert_eq!(error.to_string(), expected);
    for error in [
        Device::for_object(&file).map(drop).unwrap_err(),
        Finder::new(&file).find().map(drop).unwrap_err().into(),
        Module::with_kernel(&device, &file, "kernel").map(drop).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}
