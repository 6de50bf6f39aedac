//! Launches that are checked, or stopped, and the chips that they run on.

use std::sync::Arc;

use wavemill::{Arg, Device, Error, Launch, Module, RunControl, RunOptions, TargetChoice};
use wavemill_kernels::{Target, fixture};

fn module(choice: &str, kernel: &str) -> (Device, Module) {
    let choice = TargetChoice::parse(choice).expect("a target");
    let device = Device::chosen(&choice).unwrap();
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

#[test]
fn a_stopped_launch_tells_where_its_waves_are() {
    let (device, module) = module("gfx942", "mandelbrot");
    let kernel = module.kernel("mandelbrot").unwrap();
    let steps = device.buffer("steps", 4 * 64).unwrap();
    let control = Arc::new(RunControl::default());
    control.stop();
    let args = [
        Arg::from(&steps),
        Arg::from(64u32),
        Arg::from(1u32),
        Arg::from(0.0f32),
        Arg::from(0.0f32),
        Arg::from(0.0f32),
        Arg::from(u32::MAX),
    ];
    let result = Launch::new(&kernel)
        .workgroup_size([64, 1, 1])
        .args(args)
        .options(RunOptions { control: Some(control), ..RunOptions::default() })
        .run();
    let Err(Error::Stopped { kernel, live, not_started, .. }) = result else { panic!("{result:?}") };
    // It may be stopped before its only workgroup starts.
    assert_eq!((kernel.as_str(), live.len() as u64 + not_started), ("mandelbrot", 1));
    for wave in live {
        assert_eq!((wave.workgroup, wave.wave, wave.at_barrier), ([0; 3], 0, false));
        assert!(wave.function.is_some_and(|(name, _)| name == "mandelbrot"));
        assert!(wave.instruction.is_some());
    }
}

#[test]
fn code_does_not_run_on_another_product() {
    let object = fixture(Target::Gfx942, "vector_add").expect("the fixture is there");
    let choice = TargetChoice::parse("mi250x").expect("a product");
    let device = Device::chosen(&choice).unwrap();
    assert_eq!((device.product().name, device.compute_units()), ("mi250x", 110));
    assert!(matches!(Module::load(&device, object), Err(Error::TargetMismatch { .. })));
    let gfx11 = TargetChoice::parse("gfx1100").expect("a target, if none of ours");
    assert!(matches!(Device::chosen(&gfx11), Err(Error::UnsupportedTarget { .. })));
}
