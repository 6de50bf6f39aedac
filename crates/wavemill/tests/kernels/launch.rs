//! Launches the cases of `wavemill-kernels`.

use std::num::NonZeroUsize;

use wavemill::{Arg, Buffer, Device, Error, Launch, LaunchStats, Module, Observer, RunOptions, Tier};
use wavemill_kernels::{Case, Level, Target, Value, fixture_at};

/// Which object of a case is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) target: Target,
    pub(crate) level: Level,
}

/// How a case is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) threads: usize,
    pub(crate) tier: Tier,
}

impl Way {
    pub(crate) fn options(self) -> RunOptions {
        RunOptions {
            threads: NonZeroUsize::new(self.threads),
            tier: Some(self.tier),
            // A kernel that does not end is a failure, not a hanging test.
            max_instructions: Some(20_000_000_000),
            ..RunOptions::default()
        }
    }
}

/// Contents of all buffers after a launch, in argument order, and what the launch did.
pub(crate) fn launch(case: &Case, code: Code, way: Way) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way.options(), None)
}

/// The same while somebody watches.
pub(crate) fn launch_watched(
    case: &Case,
    code: Code,
    way: Way,
    observer: &dyn Observer,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way.options(), Some(observer))
}

/// The same one instruction at a time.
pub(crate) fn launch_stepped(
    case: &Case,
    code: Code,
    way: Way,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, RunOptions { single_steps: true, ..way.options() }, None)
}

/// The same with a count of instructions, one at a time or not.
pub(crate) fn launch_counted(
    case: &Case,
    code: Code,
    way: Way,
    single_steps: bool,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, RunOptions { count_blocks: true, single_steps, ..way.options() }, None)
}

fn run(
    case: &Case,
    code: Code,
    options: RunOptions,
    observer: Option<&dyn Observer>,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    let object = fixture_at(code.target, code.level, case.object).unwrap_or_else(|error| panic!("{error}"));
    let device = Device::for_object(&object)?;
    let module = Module::load(&device, &object)?;
    let kernel = module.kernel(case.kernel)?;
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut args = Vec::new();
    for arg in &case.args {
        args.push(match &arg.value {
            Value::Buffer { data, .. } => {
                let buffer = device.buffer_from(arg.name, data)?;
                buffers.push(buffer.clone());
                Arg::Buffer(buffer)
            }
            Value::U32(v) => Arg::from(*v),
            Value::U64(v) => Arg::from(*v),
            Value::F32(v) => Arg::from(*v),
            Value::F64(v) => Arg::from(*v),
            Value::Bytes(v) => Arg::Value(v.clone()),
            Value::Local(bytes) => Arg::Local(*bytes),
        });
    }
    let launch = Launch::new(&kernel)
        .global_size(case.global.map(u64::from))
        .workgroup_size(case.local)
        .global_offset(case.offset)
        .dims(case.dims as u16)
        .args(args)
        .options(options);
    let stats = match observer {
        Some(observer) => launch.observer(observer).run()?,
        None => launch.run()?,
    };
    let contents = buffers.iter().map(Buffer::bytes).collect::<Result<Vec<_>, _>>()?;
    Ok((contents, stats))
}
