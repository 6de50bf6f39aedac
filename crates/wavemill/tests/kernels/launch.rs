//! Launches the cases of `wavemill-kernels`.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use wavemill::binding::{Binding, Location};
use wavemill::device::AddressMode;
use wavemill::launch::Engine;
use wavemill::observe::Observer;
use wavemill::stats::LaunchStats;
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, RunOptions};
use wavemill_kernels::{Case, Level, Target, Value, fixture_at};

/// Which object of a case to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) target: Target,
    pub(crate) level: Level,
}

/// How to run a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) threads: usize,
    pub(crate) engine: Engine,
}

impl Way {
    pub(crate) fn options(self) -> RunOptions {
        RunOptions {
            threads: NonZeroUsize::new(self.threads),
            // A kernel that does not end is a failure, not a hanging test.
            max_instructions: Some(20_000_000_000),
            ..RunOptions::default()
        }
    }
}

/// Contents of all buffers after a launch, in argument order, and what the launch did.
pub(crate) fn launch(case: &Case, code: Code, way: Way) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way, way.options(), None)
}

/// Like [`launch`], with an observer.
pub(crate) fn launch_watched(
    case: &Case,
    code: Code,
    way: Way,
    observer: &dyn Observer,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way, way.options(), Some(observer))
}

/// Like [`launch`], one instruction at a time.
pub(crate) fn launch_stepped(
    case: &Case,
    code: Code,
    way: Way,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way, RunOptions { single_steps: true, ..way.options() }, None)
}

/// Like [`launch`], with counts of instructions, one at a time or not.
pub(crate) fn launch_counted(
    case: &Case,
    code: Code,
    way: Way,
    single_steps: bool,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way, RunOptions { count_blocks: true, single_steps, ..way.options() }, None)
}

/// Like [`launch`], with other modes of floats.
pub(crate) fn launch_in_modes(
    case: &Case,
    code: Code,
    way: Way,
    modes: u32,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    let object = object(case, code);
    let binding = Binding { location: Location::Modes, resource: Arg::from(modes) };
    run_on(
        &Device::for_object(&object)?,
        &object,
        case,
        (way.engine, way.options(), None),
        |device, name, data| device.buffer_from(name, data),
        |launch| launch.bindings([binding.clone()]),
    )
}

fn run(
    case: &Case,
    code: Code,
    way: Way,
    options: RunOptions,
    observer: Option<&dyn Observer>,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    let object = object(case, code);
    run_on(
        &Device::for_object(&object)?,
        &object,
        case,
        (way.engine, options, observer),
        |device, name, data| device.buffer_from(name, data),
        |launch| launch,
    )
}

fn object(case: &Case, code: Code) -> Cow<'static, [u8]> {
    fixture_at(code.target, code.level, case.object).unwrap_or_else(|error| panic!("{error}"))
}

/// Contents of the buffers after a launch in identity mode, on memory of the host.
pub(crate) fn launch_in_place(case: &Case, code: Code, way: Way) -> Result<Vec<Vec<u8>>, Error> {
    let object = object(case, code);
    let target = Device::targets_in(&object)?.remove(0);
    let device = Device::builder(target).addresses(AddressMode::Identity).build()?;
    // In words of 8 bytes, so that atomics find them aligned.
    let mut memory: Vec<Vec<u64>> = Vec::new();
    for arg in &case.args {
        if let Value::Buffer { data, .. } = &arg.value {
            let words = data.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                u64::from_ne_bytes(word)
            });
            memory.push(words.collect());
        }
    }
    let mut places = memory.iter_mut().map(|words| words.as_mut_ptr().cast::<u8>());
    let (buffers, _) = run_on(
        &device,
        &object,
        case,
        (way.engine, way.options(), None),
        |device, name, data| {
            let place = places.next().expect("one for each buffer");
            // SAFETY: the vectors outlive the device's use of them, which ends with `run_on`, and
            // nothing reads them meanwhile.
            let buffer = unsafe { device.import_buffer(name, place, data.len() as u64)? };
            assert_eq!(buffer.address(), place.addr() as u64);
            Ok(buffer)
        },
        |launch| launch,
    )?;
    for (buffer, words) in buffers.iter().zip(&memory) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(bytes.starts_with(buffer), "the host sees what the device has");
    }
    Ok(buffers)
}

fn run_on(
    device: &Device,
    object: &[u8],
    case: &Case,
    (engine, options, observer): (Engine, RunOptions, Option<&dyn Observer>),
    mut buffer_of: impl FnMut(&Device, &str, &[u8]) -> Result<Buffer, Error>,
    set: impl for<'l> Fn(Launch<'l>) -> Launch<'l>,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    let module = Module::load(device, object)?;
    let kernel = module.kernel(case.kernel)?;
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut args = Vec::new();
    for arg in &case.args {
        args.push(match &arg.value {
            Value::Buffer { data, .. } => {
                let buffer = buffer_of(device, arg.name, data)?;
                buffers.push(buffer.clone());
                Arg::Buffer(buffer)
            }
            Value::U32(v) => Arg::from(*v),
            Value::U64(v) => Arg::from(*v),
            Value::F32(v) => Arg::from(*v),
            Value::F64(v) => Arg::from(*v),
            Value::Bytes(v) => Arg::Aligned { bytes: v.clone(), alignment: 4 },
            Value::Local(bytes) => Arg::Local(*bytes),
        });
    }
    let launch = Launch::new(&kernel)
        .global_size(case.global.map(u64::from))
        .workgroup_size(case.local)
        .global_offset(case.offset)
        .dims(case.dims as u16)
        .args(args)
        .engine(engine)
        .options(options);
    let launch = set(launch);
    let stats = match observer {
        Some(observer) => launch.observer(observer).run()?,
        None => launch.run()?,
    };
    let contents = buffers.iter().map(Buffer::bytes).collect::<Result<Vec<_>, _>>()?;
    Ok((contents, stats))
}
