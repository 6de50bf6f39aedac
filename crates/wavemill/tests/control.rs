//! Launches that are checked, or stopped, and the chips that they run on.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use wavemill::device::TargetChoice;
use wavemill::fault::StopCause;
use wavemill::launch::RunControl;
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, Outcome, RunOptions};
use wavemill_kernels::{Target, fixture};

fn module(choice: &str, kernel: &str) -> (Device, Module) {
    let choice = TargetChoice::parse(choice).expect("a target");
    let device = Device::builder(&choice).build().unwrap();
    let object = fixture(Target::Gfx942, kernel).expect("the fixture is there");
    let module = Module::load(&device, object).unwrap();
    (device, module)
}

#[test]
fn what_cannot_run_is_refused_without_running() {
    let (device, module) = module("mi300a", "vector_add");
    let kernel = module.kernel("vector_add").unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| device.buffer_from(name, &[1.0f32; 64]).unwrap());
    let args = || [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(64u32)];
    let good = || Launch::new(&kernel).workgroup_size([64, 1, 1]).args(args());
    good().check().unwrap();
    assert_eq!(c.to_vec::<f32>().unwrap(), [1.0; 64], "nothing has run");
    // Eight waves of this kernel fit on a SIMD.
    let all = |groups| good().workgroups([groups, 1, 1]).cooperative(true);
    assert_eq!(device.compute_units(), 228);
    all(228 * 32).check().unwrap();
    for bad in [
        good().args(args().into_iter().take(3)),
        good().workgroup_size([2048, 1, 1]),
        good().dynamic_lds(1 << 17),
        good().args([Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(64u64)]),
        all(228 * 32 + 1),
    ] {
        let (checked, ran) = (bad.check().unwrap_err(), bad.run().unwrap_err());
        assert!(matches!(checked, Error::Launch { .. } | Error::Argument { .. }), "{checked}");
        assert_eq!(checked.to_string(), ran.to_string());
    }
    good().run().unwrap();
    assert_eq!(c.to_vec::<f32>().unwrap(), [2.0; 64]);
}

/// Starting threads takes longer than a small grid, so only others get them, and those that ask.
#[test]
fn a_small_grid_runs_on_one_thread() {
    let (device, module) = module("gfx942", "vector_add");
    let kernel = module.kernel("vector_add").unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| device.buffer_from(name, &[1.0f32; 64]).unwrap());
    let threads = |groups, threads| {
        let launch = Launch::new(&kernel)
            .workgroups([groups, 1, 1])
            .workgroup_size([64, 1, 1])
            .args([Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(64u32)])
            .options(RunOptions { threads: NonZeroUsize::new(threads), ..RunOptions::default() });
        let run = launch.run().unwrap().run;
        assert_eq!(run.workgroups, u64::from(groups));
        run.threads
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!((threads(2, 0), threads(1 << 14, 0)), (1, cores));
    assert_eq!((threads(2, 2), threads(2, 3)), (2, 2));
}

/// Arguments for one row of 64 pixels, all at the same point of the set, so each takes the most
/// steps.
fn mandelbrot(steps: &Buffer, most: u32) -> [Arg; 7] {
    [
        Arg::from(steps),
        Arg::from(64u32),
        Arg::from(1u32),
        Arg::from(0.0f32),
        Arg::from(0.0f32),
        Arg::from(0.0f32),
        Arg::from(most),
    ]
}

#[test]
fn a_stopped_launch_tells_where_its_waves_are() {
    let (device, module) = module("gfx942", "mandelbrot");
    let kernel = module.kernel("mandelbrot").unwrap();
    let steps = device.buffer("steps", 4 * 64).unwrap();
    let control = Arc::new(RunControl::default());
    control.stop();
    let args = mandelbrot(&steps, u32::MAX);
    let result = Launch::new(&kernel)
        .workgroup_size([64, 1, 1])
        .args(args)
        .options(RunOptions { control: Some(control), ..RunOptions::default() })
        .run();
    let Err(Error::Stopped(report)) = result else { panic!("{result:?}") };
    // The stop may come before its only workgroup starts.
    assert_eq!((report.kernel.as_str(), report.waves.len() as u64 + report.not_started), ("mandelbrot", 1));
    assert_eq!(report.cause, StopCause::Caller);
    for wave in report.waves {
        assert_eq!((wave.workgroup, wave.wave, wave.at_barrier), ([0; 3], 0, false));
        assert!(wave.function.is_some_and(|(name, _)| name == "mandelbrot"));
        assert!(wave.instruction.is_some());
    }
}

/// A run asks on the thread that started it, whether that runs waves or waits for others: all
/// workgroups except for the first end at once.
#[test]
fn a_run_asks_whether_it_goes_on() {
    let (device, module) = module("gfx942", "mandelbrot");
    let kernel = module.kernel("mandelbrot").unwrap();
    let steps = device.buffer("steps", 4 * 64).unwrap();
    let caller = std::thread::current().id();
    for (groups, threads) in [(1, 1), (1, 0), (2, 2), (2, 2), (2, 2), (3, 2), (40, 0)] {
        let run = |most, interval| {
            let asked = Arc::new(AtomicUsize::new(0));
            let count = asked.clone();
            let goes_on = move || {
                assert_eq!(std::thread::current().id(), caller);
                count.fetch_add(1, Relaxed) < 2
            };
            let control = Arc::new(RunControl::with_check(interval, goes_on));
            let options = RunOptions {
                threads: NonZeroUsize::new(threads),
                control: Some(control.clone()),
                ..RunOptions::default()
            };
            let launch = Launch::new(&kernel)
                .workgroups([groups, 1, 1])
                .workgroup_size([64, 1, 1])
                .args(mandelbrot(&steps, most))
                .options(options);
            (launch.run(), asked.load(Relaxed), control.is_stopped())
        };
        let (result, asked, stopped) = run(u32::MAX, Duration::from_millis(5));
        assert!(matches!(result, Err(Error::Stopped(_))), "{groups} on {threads}: {result:?}");
        assert_eq!((asked, stopped), (3, true), "{groups} on {threads}");
        // A run that is shorter than the interval asks nothing.
        let (result, asked, stopped) = run(3, Duration::from_secs(3600));
        assert!(result.is_ok(), "{groups} on {threads}: {result:?}");
        assert_eq!((asked, stopped), (0, false), "{groups} on {threads}");
    }
}

#[test]
fn every_end_is_an_outcome() {
    let (device, module) = module("gfx942", "mandelbrot");
    let kernel = module.kernel("mandelbrot").unwrap();
    let steps = device.buffer("steps", 4 * 64).unwrap();
    let launch = |most| Launch::new(&kernel).workgroup_size([64, 1, 1]).args(mandelbrot(&steps, most));
    let Outcome::Finished(stats) = launch(3).outcome().unwrap() else { panic!("it ends by itself") };
    assert!(stats.run.instructions > 0);
    let limit = Duration::from_millis(20);
    let outcome = launch(u32::MAX).time_limit(limit).outcome().unwrap();
    let Outcome::TimeLimit(report) = outcome else { panic!("{outcome:?}") };
    assert_eq!(report.cause, StopCause::TimeLimit(limit));
    assert!(report.to_string().contains(": the limit is 0.02 s; "), "{report}");
    // A launch that ends in time is not stopped, and neither is its control.
    let control = Arc::new(RunControl::default());
    let options = RunOptions { control: Some(control.clone()), ..RunOptions::default() };
    let soon = launch(3).options(options).time_limit(Duration::from_secs(1000));
    assert!(matches!(soon.outcome(), Ok(Outcome::Finished(_))) && !control.is_stopped());
    let options = RunOptions { max_instructions: Some(1000), ..RunOptions::default() };
    let outcome = launch(u32::MAX).options(options).outcome().unwrap();
    let Outcome::InstructionLimit(report) = &outcome else { panic!("{outcome:?}") };
    assert!(report.cause == StopCause::InstructionLimit(1000) && report.ran >= 1000);
    assert!(matches!(outcome.finished(), Err(Error::InstructionLimit(_))));
    let refused = launch(1).workgroup_size([4096, 1, 1]).outcome();
    assert!(matches!(refused, Err(Error::Launch { .. })));
}

#[test]
fn code_does_not_run_on_another_product() {
    let object = fixture(Target::Gfx942, "vector_add").expect("the fixture is there");
    let choice = TargetChoice::parse("mi250x").expect("a product");
    let device = Device::builder(&choice).build().unwrap();
    assert_eq!((device.product().name, device.compute_units()), ("mi250x", 110));
    assert!(matches!(Module::load(&device, object), Err(Error::TargetMismatch { .. })));
    let gfx11 = TargetChoice::parse("gfx1100").expect("a target, if none of ours");
    assert!(matches!(Device::builder(&gfx11).build(), Err(Error::UnsupportedTarget { .. })));
}
