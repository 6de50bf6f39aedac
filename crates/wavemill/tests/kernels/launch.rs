//! Launches the cases of `wavemill-kernels`.

use std::num::NonZeroUsize;

use wavemill::{Arg, Buffer, Device, Error, Launch, LaunchStats, Module, RunOptions, Tier, Tracer};
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

/// The same, one instruction at a time if somebody may watch.
pub(crate) fn launch_watched(
    case: &Case,
    code: Code,
    way: Way,
    tracer: Option<&dyn Tracer>,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, way.options(), tracer)
}

/// The same with a count of instructions.
pub(crate) fn launch_counted(
    case: &Case,
    code: Code,
    way: Way,
    tracer: Option<&dyn Tracer>,
) -> Result<(Vec<Vec<u8>>, LaunchStats), Error> {
    run(case, code, RunOptions { count_blocks: true, ..way.options() }, tracer)
}

fn run(
    case: &Case,
    code: Code,
    options: RunOptions,
    tracer: Option<&dyn Tracer>,
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
    let stats = match tracer {
        Some(tracer) => launch.tracer(tracer).run()?,
        None => launch.run()?,
    };
    let contents = buffers.iter().map(Buffer::bytes).collect::<Result<Vec<_>, _>>()?;
    Ok((contents, stats))
}
