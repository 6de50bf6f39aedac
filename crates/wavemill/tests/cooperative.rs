//! Cooperative launches: HIP kernels whose workgroups wait for one another
//! (`kernels/hip/hip_grid_sync.hip`).

use std::num::NonZeroUsize;

use wavemill::launch::Engine;
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, RunOptions};
use wavemill_kernels::{Level, Target, hip_fixture};

const GROUPS: u32 = 70;
const ITEMS: u32 = 64 * GROUPS;
/// An odd number, so that the last step writes to the second buffer.
const STEPS: u32 = 5;

/// Kernels that do the same steps. They differ in how they synchronise the grid.
const BY_LIBRARY: &str = "hip_grid_steps";
const IN_MEMORY: &str = "hip_grid_steps_in_memory";

/// The kernels' steps.
fn steps_on_the_host(first: &[u32]) -> Vec<u32> {
    let mut now = first.to_vec();
    for step in 0..STEPS {
        let other = |at: usize| now[(at + now.len() / 2) % now.len()];
        now = (0..now.len())
            .map(|at| other(at).wrapping_mul(3).wrapping_add(at as u32).wrapping_add(step))
            .collect();
    }
    now
}

struct Loaded {
    device: Device,
    module: Module,
    now: Buffer,
    next: Buffer,
    expected: Vec<u32>,
}

impl Loaded {
    fn new(target: Target, level: Level, object: &str) -> Loaded {
        let object = hip_fixture(target, level, object).unwrap();
        let device = Device::for_object(&object).unwrap();
        let first: Vec<u32> = (0..ITEMS).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        Loaded {
            module: Module::load(&device, &object).unwrap(),
            now: device.buffer_from("now", &first).unwrap(),
            next: device.buffer("next", u64::from(4 * ITEMS)).unwrap(),
            expected: steps_on_the_host(&first),
            device,
        }
    }

    /// Runs the steps on that many host threads, and returns the numbers after the last one.
    fn steps(
        &self,
        kernel: &str,
        threads: usize,
        change: impl for<'a> FnOnce(Launch<'a>) -> Launch<'a>,
    ) -> Result<Vec<u32>, Error> {
        let kernel = self.module.kernel(kernel)?;
        let options = RunOptions {
            threads: NonZeroUsize::new(threads),
            // A launch that hangs is a failure, not a hanging test.
            max_instructions: Some(1 << 28),
            find_stalls: true,
            ..RunOptions::default()
        };
        let args = [Arg::from(&self.now), Arg::from(&self.next), Arg::from(ITEMS), Arg::from(STEPS)];
        let launch = Launch::new(&kernel).workgroups([GROUPS, 1, 1]).workgroup_size([64, 1, 1]);
        change(launch.args(args).options(options)).run()?;
        self.next.to_vec()
    }
}

#[test]
fn workgroups_wait_for_the_whole_grid() {
    for (target, level) in Target::GCN.into_iter().flat_map(|target| Level::ALL.map(|level| (target, level)))
    {
        for object in ["hip_grid_sync", "hip_grid_sync_v4"] {
            for kernel in [BY_LIBRARY, IN_MEMORY] {
                for threads in [1, 4] {
                    let loaded = Loaded::new(target, level, object);
                    let found = loaded.steps(kernel, threads, |launch| launch.cooperative(true));
                    let of = format!("{kernel} of {object} on {} at {}", target.name(), level.name());
                    let found = found.unwrap_or_else(|error| panic!("{of}: {error}"));
                    assert!(found == loaded.expected, "{of}");
                }
            }
        }
    }
}

#[test]
fn the_reference_engine_synchronises_the_grid() {
    for target in Target::GCN {
        for kernel in [BY_LIBRARY, IN_MEMORY] {
            let loaded = Loaded::new(target, Level::O2, "hip_grid_sync");
            let found = loaded.steps(kernel, 2, |launch| launch.cooperative(true).engine(Engine::Reference));
            assert!(found.unwrap() == loaded.expected, "{kernel} on {}", target.name());
        }
    }
}

/// Every launch has a structure of its own, so that counts of an earlier launch do not matter.
#[test]
fn launches_follow_one_another() {
    let loaded = Loaded::new(Target::Gfx942, Level::O2, "hip_grid_sync");
    for _ in 0..2 {
        let first: Vec<u32> = (0..ITEMS).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        loaded.now.write(0, &first).unwrap();
        assert!(loaded.steps(IN_MEMORY, 2, |launch| launch.cooperative(true)).unwrap() == loaded.expected);
    }
}

#[test]
fn kernels_see_whether_the_launch_is_cooperative() {
    for target in Target::GCN {
        for object in ["hip_grid_sync", "hip_grid_sync_v4"] {
            let loaded = Loaded::new(target, Level::O2, object);
            let kernel = loaded.module.kernel("hip_grid_is_valid").unwrap();
            let valid = loaded.device.buffer_from("valid", &[99u32; 3]).unwrap();
            for cooperative in [false, true] {
                Launch::new(&kernel)
                    .workgroups([3, 1, 1])
                    .arg(&valid)
                    .cooperative(cooperative)
                    .run()
                    .unwrap();
                assert_eq!(valid.to_vec::<u32>().unwrap(), [u32::from(cooperative); 3], "{}", target.name());
            }
        }
    }
}

#[test]
fn a_launch_that_is_not_cooperative_has_no_structure() {
    let line = "\n  grid sync    the launch is not cooperative: it has no structure for `grid.sync()`\n";
    for target in Target::GCN {
        for level in Level::ALL {
            let loaded = Loaded::new(target, level, "hip_grid_sync");
            let Err(Error::Fault(report)) = loaded.steps(IN_MEMORY, 2, |launch| launch) else {
                panic!("{} at {}: no fault", target.name(), level.name());
            };
            assert!(report.needs_cooperative, "{report}");
            assert!(report.to_string().contains(line), "{report}");
        }
        // Another null pointer of a cooperative launch.
        let loaded = Loaded::new(target, Level::O2, "hip_grid_sync");
        let null = [Arg::from(0u64), Arg::from(0u64), Arg::from(ITEMS), Arg::from(STEPS)];
        let result = loaded.steps(IN_MEMORY, 2, |launch| launch.cooperative(true).args(null));
        let Err(Error::Fault(report)) = result else { panic!("{}: no fault", target.name()) };
        assert!(!report.needs_cooperative && !report.to_string().contains("grid sync"), "{report}");
    }
}
