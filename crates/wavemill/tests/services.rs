//! `printf`, `assert` and `malloc` in kernels.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use wavemill::launch::Output;
use wavemill::stats::LaunchStats;
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, Result, RunOptions};
use wavemill_kernels::{Level, Target, fixture_at, hip_fixture};

/// Every target and level.
fn grid() -> impl Iterator<Item = (Target, Level)> {
    Target::GCN.into_iter().flat_map(|target| Level::ALL.map(|level| (target, level)))
}

/// Output of a launch, in order.
#[derive(Debug, Default)]
struct Heard {
    stdout: String,
    stderr: String,
    notes: Vec<String>,
}

struct Loaded {
    device: Device,
    module: Module,
}

impl Loaded {
    fn of(object: &[u8]) -> Loaded {
        Loaded::on(Device::for_object(object).unwrap(), object)
    }

    fn on(device: Device, object: &[u8]) -> Loaded {
        let module = Module::load(&device, object).unwrap();
        Loaded { device, module }
    }

    fn opencl(target: Target, level: Level) -> Loaded {
        Loaded::of(&fixture_at(target, level, "printf").unwrap())
    }

    fn hip(target: Target, level: Level, name: &str) -> Loaded {
        Loaded::of(&hip_fixture(target, level, name).unwrap())
    }

    fn words(&self, name: &str, n: usize) -> Buffer {
        self.device.buffer(name, 4 * n as u64).unwrap()
    }

    /// Runs a kernel over this many workgroups of 64.
    fn run(&self, kernel: &str, groups: u32, args: &[Arg], threads: usize) -> (Heard, Result<LaunchStats>) {
        self.run_with(kernel, groups, args, threads, |launch| launch)
    }

    fn run_with(
        &self,
        kernel: &str,
        groups: u32,
        args: &[Arg],
        threads: usize,
        change: impl for<'a> FnOnce(Launch<'a>) -> Launch<'a>,
    ) -> (Heard, Result<LaunchStats>) {
        let heard = Mutex::new(Heard::default());
        let listen = |output: Output<'_>| {
            let mut heard = heard.lock().unwrap();
            match output {
                Output::Stdout(text) => heard.stdout += std::str::from_utf8(text).unwrap(),
                Output::Stderr(text) => heard.stderr += std::str::from_utf8(text).unwrap(),
                Output::Note(text) => heard.notes.push(text.to_owned()),
                other => panic!("{other:?}"),
            }
        };
        let kernel = self.module.kernel(kernel).unwrap();
        let options = RunOptions {
            threads: NonZeroUsize::new(threads),
            // A launch that hangs is a failure, not a hanging test.
            max_instructions: Some(1 << 31),
            find_stalls: true,
            ..RunOptions::default()
        };
        let launch = Launch::new(&kernel)
            .workgroups([groups, 1, 1])
            .workgroup_size([64, 1, 1])
            .args(args.iter().cloned())
            .options(options)
            .output(&listen);
        let result = change(launch).run();
        (heard.into_inner().unwrap(), result)
    }
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// What `printf_kinds` prints for 42, 2^40 + 5, 1.5 and -2.75.
const KINDS: &str = "\
plain text: 100%, \"quoted\"
42 -42 4294967254 52 2a FFFFFFD6
[   42] [42   ] [00042] [+42] [ 42] [0x2a] [0042]
42 42 214 65494
-1099511627781 18446742974197923835 10000000005
1.500000 1.500000e+00 1.5 0x1.8p+0
-2.750000 -2.750000E+00 -2.75 -0X1.6P+1
[     1.500] [1.50e+00  ] [00000001.5] [-2.75]
Abc
a text, [fours ] [cu]
42,-42 42,2,3 42,2,3,4
1.500000,0.500000,-1.000000,8.000000   1.5, -1.5
-2.75,2.75 42,2,3,4,5,6,7,-8 2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a,2a
1.5,0.25
inf -inf nan
(nil)
";

#[test]
fn opencl_prints_every_kind() {
    for target in Target::GCN {
        for level in Level::ALL {
            let loaded = Loaded::opencl(target, level);
            let stored = loaded.words("stored", 128);
            let args = [
                Arg::from(&stored),
                Arg::from(42),
                Arg::from(1u64 << 40 | 5),
                Arg::from(1.5f32),
                Arg::from(-2.75f64),
            ];
            let (heard, result) = loaded.run("printf_kinds", 2, &args, 1);
            result.unwrap();
            assert_eq!(heard.stdout, KINDS, "{} {level:?}", target.name());
            assert_eq!((heard.stderr.as_str(), heard.notes.len()), ("", 0), "{:?}", heard.notes);
        }
    }
}

#[test]
fn opencl_prints_in_the_order_of_reservation() {
    for target in Target::GCN {
        let loaded = Loaded::opencl(target, Level::O2);
        let printed = loaded.words("printed", 1000);
        let args = [Arg::from(&printed), Arg::from(1000u32), Arg::from(3u32)];
        let expected: String = (0..1000u32).step_by(3).map(|i| format!("item {i}: {}\n", i * i)).collect();
        // Workgroups run in order on one thread, and lanes reserve in ascending order.
        assert_eq!(loaded.run("printf_items", 16, &args, 1).0.stdout, expected, "{}", target.name());
        let (heard, result) = loaded.run("printf_items", 16, &args, 4);
        result.unwrap();
        assert_eq!(sorted(&heard.stdout), sorted(&expected), "{}", target.name());
    }
}

#[test]
fn a_full_printf_buffer_is_told() {
    let loaded = Loaded::opencl(Target::Gfx942, Level::O2);
    let printed = loaded.words("printed", 1000);
    let args = [Arg::from(&printed), Arg::from(1000u32), Arg::from(1u32)];
    // 16 bytes of header and slack, 12 for each record.
    let (heard, result) =
        loaded.run_with("printf_items", 16, &args, 1, |launch| launch.printf_buffer(16 + 12 * 10));
    result.unwrap();
    let expected: String = (0..10u32).map(|i| format!("item {i}: {}\n", i * i)).collect();
    assert_eq!(heard.stdout, expected);
    assert_eq!(heard.notes, ["the printf buffer of 136 bytes is full: output may have been lost"]);
    // Impossible sizes are rejected, not replaced.
    for size in [0, 63, 1 << 32] {
        let (heard, result) =
            loaded.run_with("printf_items", 16, &args, 1, |launch| launch.printf_buffer(size));
        let message = result.unwrap_err().to_string();
        let wanted = format!("cannot launch `printf_items`: a printf buffer of {size} bytes is not possible");
        assert!(message.starts_with(&wanted), "{message}");
        assert!(heard.stdout.is_empty(), "{}", heard.stdout);
    }
}

#[test]
fn what_was_printed_before_a_fault_is_not_lost() {
    let loaded = Loaded::opencl(Target::Gfx90a, Level::O2);
    let stored = loaded.words("stored", 100);
    let args = [Arg::from(&stored), Arg::from(100u32), Arg::from(0x1000_0000u32)];
    let (heard, result) = loaded.run("printf_then_store", 2, &args, 1);
    assert!(matches!(result, Err(Error::Fault(_))), "{result:?}");
    let expected: String = (0..100).map(|i| format!("item {i} is about to store\n")).collect();
    assert_eq!(heard.stdout, expected);
}

/// What `hip_printf_kinds` prints for 42, -5 and 1.5, and what its `printf`s return.
const HIP_KINDS: &str = "\
plain text: 100%
42 -42 4294967254 52 2a FFFFFFD6
[    42] [42    ] [1.50]
-5 5 5 fffffffffffffffb 42 42
1.500000 1.500000e+00 1.5 0x1.8p+0
text of the host's: 100%% and a constant, x
text of the host's: 100%
ten arguments: 1 2 3 4 5 6 7 8 42
";

#[test]
fn hip_prints_every_kind() {
    for (target, level) in grid() {
        for object in ["hip_printf", "hip_printf_buffered"] {
            let loaded = Loaded::hip(target, level, object);
            let text = loaded.device.buffer_from("text", b"text of the host's: 100%%\0").unwrap();
            let returned = loaded.words("returned", 8);
            let args =
                [Arg::from(42), Arg::from(-5i64), Arg::from(1.5f64), Arg::from(&text), Arg::from(&returned)];
            let (heard, result) =
                loaded.run_with("hip_printf_kinds", 1, &args, 1, |launch| launch.workgroup_size([1, 1, 1]));
            result.unwrap_or_else(|e| panic!("{} {level:?} {object}: {e}", target.name()));
            // The text ends without a newline.
            let expected = HIP_KINDS.replace("host's: 100%\n", "host's: 100%");
            assert_eq!(heard.stdout, expected, "{} {level:?} {object}", target.name());
            assert_eq!((heard.stderr.as_str(), heard.notes.len()), ("", 0), "{:?}", heard.notes);
            if object == "hip_printf" {
                let lengths: Vec<i32> = HIP_KINDS.lines().map(|line| line.len() as i32 + 1).collect();
                let mut found = returned.to_vec::<i32>().unwrap();
                found[6] += 1;
                assert_eq!(found, lengths, "{} {level:?}", target.name());
            }
        }
    }
}

#[test]
fn hip_prints_from_many_waves() {
    for (target, level) in grid() {
        for object in ["hip_printf", "hip_printf_buffered"] {
            let loaded = Loaded::hip(target, level, object);
            let printed = loaded.words("printed", 500);
            let args = [Arg::from(&printed), Arg::from(500u32)];
            let line = |i: u32| if i % 2 == 1 { format!("item {i} is odd\n") } else { format!("item {i}\n") };
            let expected: String = (0..500).map(line).collect();
            for threads in [1, 4] {
                let (heard, result) = loaded.run("hip_printf_items", 8, &args, threads);
                result.unwrap();
                assert_eq!(sorted(&heard.stdout), sorted(&expected), "{} {level:?} {object}", target.name());
                assert_eq!(heard.notes, [""; 0]);
            }
        }
    }
}

#[test]
fn deterministic_launches_print_the_same_each_time() {
    let run = || {
        let loaded = Loaded::hip(Target::Gfx942, Level::O2, "hip_printf");
        let printed = loaded.words("printed", 500);
        let args = [Arg::from(&printed), Arg::from(500u32)];
        let options = RunOptions { deterministic: true, ..RunOptions::default() };
        let (heard, result) =
            loaded.run_with("hip_printf_items", 8, &args, 1, |launch| launch.options(options));
        (heard.stdout, result.unwrap().run.instructions)
    };
    assert_eq!(run(), run());
}

#[test]
fn a_failed_assertion_says_so_and_traps() {
    for (target, level) in grid() {
        let loaded = Loaded::hip(target, level, "hip_assert");
        let mut data: Vec<u32> = (0..256).collect();
        data[200] = 1000;
        let values = loaded.device.buffer_from("values", &data).unwrap();
        let (heard, result) =
            loaded.run("hip_assert", 4, &[Arg::from(&values), Arg::from(256u32), Arg::from(1001u32)], 1);
        result.unwrap();
        assert_eq!((heard.stdout.as_str(), heard.stderr.as_str()), ("", ""));
        let (heard, result) =
            loaded.run("hip_assert", 4, &[Arg::from(&values), Arg::from(256u32), Arg::from(1000u32)], 2);
        assert_eq!(
            heard.stderr,
            "hip_assert.hip:7: hip_assert: Device-side assertion `values[i] < limit' failed.\n",
            "{} {level:?}",
            target.name()
        );
        let Err(Error::Fault(report)) = result else { panic!("expected a fault, got {result:?}") };
        assert_eq!((report.fault.workgroup, report.fault.wave), ([3, 0, 0], 0));
        let text = report.to_string();
        assert!(text.starts_with("trap 2: the program aborted (assertion"), "{text}");
        assert!(text.contains("s_trap 2"), "{text}");
    }
}

#[test]
fn memory_is_allocated_used_and_freed() {
    for (target, level) in grid() {
        for object in ["hip_malloc", "hip_malloc_v4"] {
            let loaded = Loaded::hip(target, level, object);
            let sums = loaded.words("sums", 300);
            let expected: Vec<u32> = (0..300).map(|i| (0..i % 32).sum()).collect();
            // Twice: freed memory can be allocated again.
            for threads in [1, 3] {
                let (heard, result) =
                    loaded.run("hip_malloc_list", 5, &[Arg::from(&sums), Arg::from(300u32)], threads);
                result.unwrap_or_else(|e| panic!("{} {level:?} {object}: {e}", target.name()));
                assert_eq!(heard.notes, [""; 0]);
                assert_eq!(sums.to_vec::<u32>().unwrap(), expected, "{} {level:?} {object}", target.name());
            }
        }
    }
}

#[test]
fn blocks_outlive_the_launch() {
    for (bytes, n) in [(16u64, 200u32), (1000, 64), (100_000, 130)] {
        let loaded = Loaded::hip(Target::Gfx942, Level::O2, "hip_malloc");
        let blocks = loaded.device.buffer("blocks", 8 * u64::from(n)).unwrap();
        let groups = n.div_ceil(64);
        let (heard, result) =
            loaded.run("hip_malloc_keep", groups, &[Arg::from(&blocks), Arg::from(bytes), Arg::from(n)], 2);
        result.unwrap();
        assert_eq!(heard.notes, [""; 0]);
        let mut starts = blocks.to_vec::<u64>().unwrap();
        starts.sort_unstable();
        assert!(starts[0] > 0 && starts.windows(2).all(|w| w[1] - w[0] >= bytes), "{starts:x?}");
        let found = loaded.words("found", n as usize);
        let args = [Arg::from(&blocks), Arg::from(bytes), Arg::from(&found), Arg::from(n)];
        let (heard, result) = loaded.run("hip_malloc_free", groups, &args, 2);
        result.unwrap();
        assert_eq!(heard.notes, [""; 0]);
        assert_eq!(found.to_vec::<u32>().unwrap(), (0..n).collect::<Vec<u32>>());
        // Large blocks come from the host, which knows by now that they are free.
        if bytes > 3072 {
            let (heard, result) = loaded.run("hip_malloc_free", groups, &args, 1);
            result.unwrap();
            assert_eq!(heard.notes.len(), 64, "as many as are told");
            assert!(heard.notes[0].contains("to free 0x1"), "{}", heard.notes[0]);
        }
    }
}

#[test]
fn a_heap_that_is_full_gives_null_pointers() {
    let object = hip_fixture(Target::Gfx942, Level::O2, "hip_malloc").unwrap();
    let target = Device::target_of(&object).unwrap();
    let loaded = Loaded::on(Device::builder(target).heap_size(1 << 20).build().unwrap(), &object);
    let blocks = loaded.device.buffer("blocks", 8 * 64).unwrap();
    let args = [Arg::from(&blocks), Arg::from(300_000u64), Arg::from(64u32)];
    let (heard, result) = loaded.run("hip_malloc_keep", 1, &args, 1);
    result.unwrap();
    assert_eq!(blocks.to_vec::<u64>().unwrap().iter().filter(|p| **p != 0).count(), 3);
    assert_eq!(
        heard.notes,
        [
            "the kernel requested more memory than is free in the device heap of 1048576 bytes; malloc returned a null pointer"
        ]
    );
}
