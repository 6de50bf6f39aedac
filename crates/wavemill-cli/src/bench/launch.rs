//! Runs a case of the corpus on Wavemill.

use std::time::{Duration, Instant};

use wavemill::binding::{Binding, Location};
use wavemill::launch::Engine;
use wavemill::stats::{InstructionMix, OperationCounts, RowCounts};
use wavemill::{Arg, Buffer, Device, Error, Launch, Module, RunOptions};
use wavemill_kernels::{Case, Target, Value, fixture, why_absent};

use crate::failure::{Exit, Failure};

/// The modes of floats on Cayman that keep denormals.
const KEEPS_DENORMALS: u32 = 0xcc;

/// Time and statistics of a launch of a case.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Time from the start of the launch to its end, without loading the code and filling the
    /// buffers.
    pub time: Duration,
    /// Instructions by kind; all zeros if they were not counted.
    pub mix: InstructionMix,
    /// Cost of the instructions; all zeros if they were not counted.
    pub operations: OperationCounts,
    /// The rows of the instruction table that were executed, if they were counted.
    pub rows: Option<RowCounts>,
    /// The share of the instructions that has machine code, from 0 to 1, if they were counted and the engine makes some.
    pub machine_code: Option<f64>,
    /// The engine that ran it, with the vector hardware that it used.
    pub engine: Engine,
}

/// Runs a case once on its own device. If `check` is set, compares the results with the reference.
///
/// # Errors
/// The launch failed (the failure has the exit code of the command), or a result is wrong.
pub fn launch(
    case: &Case,
    target: Target,
    engine: Engine,
    options: &RunOptions,
    check: bool,
) -> Result<Measurement, Failure> {
    Loaded::fixture(case, target)?.launch(case, engine, options, check)
}

/// Like [`launch`], with a code object from the caller.
///
/// # Errors
/// As [`launch`].
pub fn launch_object(
    case: &Case,
    object: &[u8],
    engine: Engine,
    options: &RunOptions,
    check: bool,
) -> Result<Measurement, Failure> {
    Loaded::object(case, object)?.launch(case, engine, options, check)
}

/// The code of a case on a device of its own, for any number of launches.
#[derive(Debug)]
pub(super) struct Loaded {
    device: Device,
    module: Module,
}

impl Loaded {
    /// Loads the fixture for a target.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded.
    pub(super) fn fixture(case: &Case, target: Target) -> Result<Loaded, Failure> {
        if let Some(reason) = why_absent(target, case.object, case.kernel) {
            let message = format!("there is no kernel `{}` for {}: {reason}", case.name, target.name());
            return Err(Failure::input(message));
        }
        let object = fixture(target, case.object).ok_or_else(|| {
            Failure::input(format!("there is no code object `{}` for {}", case.object, target.name()))
        })?;
        Loaded::object(case, object)
    }

    /// Loads a code object.
    fn object(case: &Case, object: &[u8]) -> Result<Loaded, Failure> {
        let load = || {
            let device = Device::for_object(object)?;
            let module = Module::load(&device, object)?;
            Ok(Loaded { device, module })
        };
        load().map_err(|e: Error| crate::run::failure_of(&e).within(case.name))
    }

    /// Runs the case once, in buffers of its own. If `check` is set, compares the results with the reference.
    ///
    /// # Errors
    /// As [`launch`].
    pub(super) fn launch(
        &self,
        case: &Case,
        engine: Engine,
        options: &RunOptions,
        check: bool,
    ) -> Result<Measurement, Failure> {
        let (measurement, buffers) = run(case, self, engine, options, check)
            .map_err(|e| crate::run::failure_of(&e).within(case.name))?;
        if check {
            case.check(&buffers).map_err(|wrong| Failure::new(Exit::Expectation, wrong.to_string()))?;
        }
        Ok(measurement)
    }
}

fn run(
    case: &Case,
    Loaded { device, module }: &Loaded,
    engine: Engine,
    options: &RunOptions,
    read: bool,
) -> Result<(Measurement, Vec<Vec<u8>>), Error> {
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
            Value::Bytes(v) => Arg::Aligned { bytes: v.clone(), alignment: 4 },
            Value::Local(bytes) => Arg::Local(*bytes),
        });
    }
    // References keep denormals, which Cayman flushes unless a launch says otherwise.
    let is_cayman = crate::cayman::is_cayman(device.target());
    let modes = Binding { location: Location::Modes, resource: Arg::from(KEEPS_DENORMALS) };
    let launch = Launch::new(&kernel)
        .bindings((read && is_cayman).then_some(modes))
        .global_size(case.global.map(u64::from))
        .workgroup_size(case.local)
        .global_offset(case.offset)
        .dims(case.dims as u16)
        .args(args)
        .engine(engine)
        .options(options.clone());
    let start = Instant::now();
    let stats = launch.run()?;
    let time = start.elapsed();
    let contents = match read {
        true => buffers.iter().map(Buffer::bytes).collect::<Result<Vec<_>, _>>()?,
        false => Vec::new(),
    };
    let measurement = Measurement {
        time,
        mix: stats.mix.unwrap_or_default(),
        operations: stats.operations.unwrap_or_default(),
        rows: stats.rows,
        machine_code: stats.machine_code.map(|counts| counts.share()),
        engine: stats.engine,
    };
    Ok((measurement, contents))
}
