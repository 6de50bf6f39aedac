//! Launches on memory of the host that the device does not have.

use wavemill::device::AddressMode;
use wavemill::launch::HostMemory;
use wavemill::{Arg, Device, Error, Launch, Module, Result};
use wavemill_kernels::{Target, fixture};

struct Loaded {
    device: Device,
    module: Module,
}

impl Loaded {
    fn new(mode: AddressMode) -> Self {
        let object = fixture(Target::Gfx942, "vector_add").expect("the fixture is there");
        let target = Device::target_of(object).unwrap();
        let device = Device::builder(target).addresses(mode).build().unwrap();
        let module = Module::load(&device, object).unwrap();
        Loaded { device, module }
    }

    /// Adds `n` floats at two addresses to those at a third.
    fn add(&self, [a, b, c]: [u64; 3], n: u32, memory: Vec<HostMemory>) -> Result<()> {
        let kernel = self.module.kernel("vector_add")?;
        Launch::new(&kernel)
            .workgroups([n.div_ceil(64), 1, 1])
            .workgroup_size([64, 1, 1])
            .args([Arg::from(a), Arg::from(b), Arg::from(c), Arg::from(n)])
            .host_memory(memory)
            .run()
            .map(|_| ())
    }
}

fn of(name: &str, values: &mut [f32]) -> HostMemory {
    // SAFETY: the tests leave the values alone during launches, and keep them longer.
    unsafe { HostMemory::new(name, values.as_mut_ptr().cast(), size_of_val(values) as u64) }
}

#[test]
fn kernels_compute_in_place() {
    let loaded = Loaded::new(AddressMode::Identity);
    let mut a: Vec<f32> = (0..100).map(|n| n as f32).collect();
    let (mut b, mut c) = (vec![0.5f32; 100], vec![0f32; 100]);
    let memory = vec![of("a", &mut a).read_only(), of("b", &mut b).read_only(), of("c", &mut c)];
    let at = [memory[0].address(), memory[1].address(), memory[2].address()];
    for _ in 0..3 {
        loaded.add(at, 100, memory.clone()).unwrap();
    }
    assert!((0..100).all(|n| c[n] == n as f32 + 0.5), "{c:?}");
    // Another launch does not have the memory.
    let error = loaded.add(at, 100, Vec::new()).unwrap_err();
    assert!(matches!(&error, Error::Fault(report) if report.refused().len() == 64), "{error}");
}

#[test]
fn ranges_end_at_the_byte() {
    let loaded = Loaded::new(AddressMode::Identity);
    let mut values = vec![1f32; 300];
    let start = of("all", &mut values).address();
    let [a, b, c] = [0, 1, 2].map(|n| start + 400 * n);
    let whole = |name, size| {
        // SAFETY: as in `of`; `size` is at most that of the values.
        unsafe { HostMemory::new(name, values.as_ptr().cast_mut().cast(), size) }
    };
    // Overlapping ranges are one: elements of `b` and `c` may be reached through either.
    loaded.add([a, b, c], 100, vec![whole("x", 900), whole("y", 1200)]).unwrap();
    for missing in 1..=4 {
        let error = loaded.add([a, b, c], 100, vec![whole("x", 1200 - missing)]).unwrap_err();
        let Error::Fault(report) = &error else { panic!("{error}") };
        let lanes: Vec<u8> = report.refused().iter().map(|lane| lane.lane).collect();
        assert_eq!((lanes, report.fault.workgroup), (vec![99 - 64], [1, 0, 0]), "{missing}: {error}");
        assert!(error.to_string().contains("`x`"), "{error}");
    }
}

#[test]
fn read_only_arguments_are_not_written() {
    let loaded = Loaded::new(AddressMode::Identity);
    let mut values = vec![1f32; 200];
    let all = of("values", &mut values);
    let [first, second] = [all.address(), all.address() + 400];
    let half = |from: u64| all.clone().argument(from..from + 400);
    loaded.add([first, first, second], 100, vec![half(first).read_only(), half(second)]).unwrap();
    let written = [half(first), half(second).read_only()];
    let error = loaded.add([first, first, second], 100, written.to_vec()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("byte 400 of `values` is read-only (a read-only argument)"), "{text}");
    assert_eq!((values[0], values[100]), (1.0, 2.0));
}

#[test]
fn launches_share_memory() {
    let loaded = Loaded::new(AddressMode::Identity);
    let mut input = vec![2f32; 4096];
    let input = of("input", &mut input).read_only();
    let mut outputs = vec![vec![0f32; 4096]; 4];
    std::thread::scope(|scope| {
        for output in &mut outputs {
            let (loaded, input) = (&loaded, input.clone());
            scope.spawn(move || {
                for _ in 0..20 {
                    let memory = vec![input.clone(), of("output", output)];
                    let at = [input.address(), input.address(), memory[1].address()];
                    loaded.add(at, 4096, memory).unwrap();
                }
            });
        }
    });
    assert!(outputs.iter().flatten().all(|value| *value == 4.0));
}

#[test]
fn what_is_not_free_is_refused() {
    let sandbox = Loaded::new(AddressMode::Sandbox);
    let mut values = vec![1f32; 100];
    let memory = of("values", &mut values);
    let at = memory.address();
    let error = sandbox.add([at; 3], 100, vec![memory.clone()]).unwrap_err();
    assert!(matches!(error, Error::Launch { .. }), "{error}");
    let loaded = Loaded::new(AddressMode::Identity);
    // SAFETY: the values live longer than the buffer.
    let part = unsafe { loaded.device.import_buffer("part", values.as_mut_ptr().cast(), 40) }.unwrap();
    // The device has it already; then it has only a part of it.
    // SAFETY: as in `of`.
    let inside = unsafe { HostMemory::new("inside", values.as_mut_ptr().cast(), 40) };
    loaded.add([at; 3], 10, vec![inside]).unwrap();
    assert_eq!(part.to_vec::<f32>().unwrap(), [2.0; 10]);
    let error = loaded.add([at; 3], 10, vec![memory]).unwrap_err();
    assert!(matches!(error, Error::Memory(_)) && error.to_string().contains("overlap `part`"), "{error}");
}
