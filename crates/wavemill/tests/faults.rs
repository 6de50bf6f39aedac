//! Fault reports of kernels that go wrong.

use wavemill::{Arg, Device, Error, FaultReport, Launch, Module, RunOptions};
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

    /// What a guest address is for an address in the file.
    fn address(&self, in_file: u64) -> u64 {
        let object = CodeObject::parse(self.object).unwrap();
        let kernel = &object.kernels()[0];
        self.module.kernel(&kernel.name).unwrap().entry() - kernel.entry_address + in_file
    }

    /// Adds 1024 elements of buffers that are large enough into `c`.
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
    insta::assert_snapshot!(report);
}

/// Debug information of a file may say anything: it costs source positions at most.
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
