//! Fault reports of kernels that go wrong.

use crate::assembled::Source;
use wavemill::fault::FaultReport;
use wavemill::{Arg, Device, Error, Launch, Module, RunOptions};
use wavemill_kernels::{Target, fixture};
use wavemill_object::CodeObject;

struct Loaded {
    device: Device,
    module: Module,
    object: &'static [u8],
}

impl Loaded {
    fn new() -> Self {
        let object = fixture(Target::Gfx942, "vector_add").expect("the fixture is there");
        let device = Device::for_object(object).unwrap();
        let module = Module::load(&device, object).unwrap();
        Loaded { device, module, object }
    }

    /// The guest address of a file address.
    fn address(&self, in_file: u64) -> u64 {
        let object = CodeObject::parse(self.object).unwrap();
        let kernel = &object.kernels()[0];
        self.module.kernel(&kernel.name).unwrap().entry() - kernel.entry_address + in_file
    }

    /// Adds 1024 elements of large enough buffers into `c`.
    fn add_into(&self, c: Arg) -> Box<FaultReport> {
        let [a, b] = ["a", "b"].map(|name| self.device.buffer_from(name, &[1.5f32; 1024]).unwrap());
        let kernel = self.module.kernel("vector_add").unwrap();
        let result = Launch::new(&kernel)
            .workgroups([4, 1, 1])
            .workgroup_size([256, 1, 1])
            .args([Arg::from(&a), Arg::from(&b), c, Arg::from(1024u32)])
            .options(RunOptions { deterministic: true, ..RunOptions::default() })
            .run();
        match result {
            Err(Error::Fault(report)) => report,
            other => panic!("expected a fault, got {other:?}"),
        }
    }
}

#[test]
fn a_kernel_does_not_overwrite_itself() {
    let loaded = Loaded::new();
    let entry = loaded.module.kernel("vector_add").unwrap().entry();
    let report = loaded.add_into(Arg::from(entry));
    insta::assert_snapshot!(report);
}

/// A kernel with private memory whose descriptor does not ask the chip to set it up.
#[test]
fn private_memory_that_is_not_set_up_is_named() {
    let source = Source {
        body: "v_mov_b32 v1, 64\nscratch_store_dword v1, v0, off offset:-32",
        directives: ".amdhsa_private_segment_fixed_size 256\n.amdhsa_enable_private_segment 0",
        functions: "",
    };
    let (device, module) = source.load(Target::Gfx942);
    let out = device.buffer("out", 64).unwrap();
    let kernel = module.kernel("kernel").unwrap();
    let launch =
        Launch::new(&kernel).workgroups([1, 1, 1]).workgroup_size([64, 1, 1]).args([Arg::from(&out)]);
    let Err(Error::Fault(report)) = launch.run() else { panic!("expected a fault") };
    let text = report.to_string();
    let headline = text.lines().next().unwrap_or_default();
    assert!(
        headline.contains("store of 4 bytes at byte 32 of private memory: FLAT_SCRATCH is not its address"),
        "{headline}"
    );
}

#[test]
fn constants_are_read_only() {
    let loaded = Loaded::new();
    let object = CodeObject::parse(loaded.object).unwrap();
    let descriptor = loaded.address(object.kernels()[0].descriptor_address);
    let text = loaded.add_into(Arg::from(descriptor)).to_string();
    let first = text.lines().next().unwrap_or_default();
    assert!(first.ends_with("of `code object` is read-only (constants)"), "{first}");
}

#[test]
fn a_report_shows_the_registers_of_the_lanes_that_were_refused() {
    let loaded = Loaded::new();
    let c = loaded.device.buffer("c", 4 * 1000).unwrap();
    let report = loaded.add_into(Arg::from(&c));
    insta::assert_snapshot!(report.full());
    assert!(report.to_string().lines().count() <= 10, "{report}");
}

/// Damaged debug information costs at most the source positions.
#[test]
fn damaged_debug_information_is_no_reason_to_fail() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/bin/gfx942/faults/source.co");
    let object = std::fs::read(path).unwrap();
    let report = |object: &[u8]| {
        let device = Device::for_object(object).unwrap();
        let module = Module::load(&device, object).unwrap();
        let kernel = module.kernel("one_lane").unwrap();
        let out = device.buffer("out", 256).unwrap();
        let kernarg: Vec<u8> =
            [0, out.address(), 5, 0].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]).kernarg(&kernarg);
        match launch.options(RunOptions { deterministic: true, ..RunOptions::default() }).run() {
            Err(Error::Fault(report)) => report,
            other => panic!("expected a fault, got {other:?}"),
        }
    };
    let whole = report(&object);
    assert_eq!(whole.source.as_ref().map(|at| at.line), Some(7));
    assert_eq!(whole.inlined.first().map(|call| call.function.as_str()), Some("scale"));
    let debug: Vec<usize> = {
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(&object[..]).unwrap();
        let sections = file.sections().filter(|s| s.name().is_ok_and(|name| name.starts_with(".debug_")));
        let ranges = sections.filter_map(|s| s.file_range());
        ranges.flat_map(|(start, size)| start as usize..(start + size) as usize).collect()
    };
    assert!(debug.len() > 500, "{} bytes of debug information", debug.len());
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    let mut different = 0;
    for round in 0..400 {
        let mut damaged = object.clone();
        for _ in 0..1 + round % 8 {
            damaged[debug[random(debug.len())]] = [0, 0xff, random(256) as u8][random(3)];
        }
        let report = report(&damaged);
        assert_eq!(report.fault, whole.fault);
        different += usize::from(report.source != whole.source || report.inlined != whole.inlined);
    }
    assert!(different > 20, "only {different} were damaged enough to be noticed");
}

/// The kernels of `kernels/faults/offset.cl`, and the dimensions in which they read global ids.
const OFFSETS: [(&str, &[usize]); 8] = [
    ("offset_x", &[0]),
    ("offset_y", &[1]),
    ("offset_z", &[2]),
    ("offset_plane", &[0, 1]),
    ("offset_loop", &[0]),
    // An id that is only compared with 0.
    ("offset_compared", &[0]),
    ("offset_called", &[0]),
    ("offset_none", &[]),
];

/// Offsets of launches, and the values that libclc (LLVM 22, `get_global_offset.cl`) reads instead:
/// dwords 1, 2 and 3 of the arguments. Up to version 4 these are the upper half of X and both
/// halves of Y.
const READ_OFFSETS: [([u64; 3], [u64; 3]); 7] = [
    ([0, 0, 0], [0, 0, 0]),
    ([5, 0, 0], [0, 0, 0]),
    ([0, 5, 0], [0, 5, 0]),
    ([0, 0, 5], [0, 0, 0]),
    ([5 << 32, 6, 0], [5, 6, 0]),
    ([0, 5 << 32, 0], [0, 0, 5]),
    ([0, 7 | 5 << 32, 5], [0, 7, 5]),
];

fn module(path: &std::path::Path) -> wavemill::Module {
    let object = std::fs::read(path).unwrap();
    let device = wavemill::Device::for_object(&object).unwrap();
    wavemill::Module::load(&device, &object).unwrap()
}

#[test]
fn offsets_out_of_wrong_arguments_are_found() {
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin").join(target);
        for name in ["offset", "offset_O0", "offset_v4", "offset_v4_O0"] {
            let module = module(&path.join(format!("faults/{name}.co")));
            // From version 5 on the offset does not matter.
            let offsets = if name.starts_with("offset_v4") { &READ_OFFSETS[..] } else { &READ_OFFSETS[..2] };
            for ((kernel, dimensions), (offset, reads)) in
                OFFSETS.iter().flat_map(|kernel| offsets.iter().map(move |case| (kernel, case)))
            {
                let found = module.kernel(kernel).unwrap().misread_global_offset(*offset);
                let case = format!("{target} {name} {kernel} {offset:?}: {found:?}");
                if name.starts_with("offset_v4") {
                    let wrong: Vec<usize> =
                        dimensions.iter().copied().filter(|d| reads[*d] != offset[*d]).collect();
                    // Of two calls in unoptimised code, the second one hides its dimension.
                    let hides = name == "offset_v4_O0" && *kernel == "offset_plane";
                    let possible = hides && reads != offset;
                    assert_eq!(found.is_some(), !wrong.is_empty() || possible, "{case}");
                    let Some(found) = found else { continue };
                    assert!(found.is_certain || hides, "{case}");
                    assert!(wrong.contains(&found.dimension) || !found.is_certain, "{case}");
                    assert!(
                        !found.block_count && reads[found.dimension] != offset[found.dimension],
                        "{case}"
                    );
                    assert_eq!(found.reads, Some(reads[found.dimension]), "{case}");
                } else {
                    assert_eq!(found.is_some(), !dimensions.is_empty(), "{case}");
                    let Some(found) = found else { continue };
                    assert!(found.block_count && found.reads.is_none(), "{case}");
                    assert!(dimensions.contains(&found.dimension), "{case}");
                }
            }
        }
    }
}

/// Results begin at the wrong number too, as the warning says.
#[test]
fn global_ids_begin_at_the_number_of_workgroups() {
    use wavemill::{Arg, Launch};
    for (name, first) in [("offset", 1), ("offset_O0", 1), ("offset_v4", 0)] {
        let path = format!("{}/../../kernels/bin/gfx942/faults/{name}.co", env!("CARGO_MANIFEST_DIR"));
        let object = std::fs::read(path).unwrap();
        let device = wavemill::Device::for_object(&object).unwrap();
        let module = wavemill::Module::load(&device, &object).unwrap();
        let kernel = module.kernel("offset_x").unwrap();
        let a = device.buffer_from("a", &[100u32; 64]).unwrap();
        let launch = Launch::new(&kernel).workgroups([1, 1, 1]).workgroup_size([64, 1, 1]);
        launch.args([Arg::from(&a), Arg::from(64u32)]).run().unwrap();
        let expected: Vec<u32> = (0..64).map(|i| if i < first { 100 } else { i }).collect();
        assert_eq!(a.to_vec::<u32>().unwrap(), expected, "{name}");
    }
}

/// None of the project's kernels raises the warning, whatever compiled it: those with their own
/// work-item functions for version 6, HIP kernels with ROCm's device library, and assembly.
#[test]
fn right_offsets_are_left_alone() {
    let mut kernels = 0;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin");
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".co") && !name.starts_with("offset") && name != "absurd.co" {
                for kernel in module(&path).kernels() {
                    assert_eq!(
                        kernel.misread_global_offset([0; 3]),
                        None,
                        "{} {}",
                        path.display(),
                        kernel.name()
                    );
                    assert_eq!(
                        kernel.misread_global_offset([1; 3]),
                        None,
                        "{} {}",
                        path.display(),
                        kernel.name()
                    );
                    kernels += 1;
                }
            }
        }
    }
    assert!(kernels > 900, "{kernels}");
}
