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
