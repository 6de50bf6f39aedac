//! Runs checked launches, one after the other, and handles the buffers afterwards.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wavemill::image::ImageDesc;
use wavemill::launch::{OutOfRange, RunControl, TrapHandler};
use wavemill::stats::LaunchStats;
use wavemill::{Arg, Device, Error, Kernel, Launch, RunOptions};

use super::bind::Bound;
use super::buffers::{BufferPlan, Buffers};
use super::console::Console;
use super::coverage::Coverage;
use super::element::ElementText as _;
use super::ended::{self, failure_of};
use super::expect::Difference;
use super::geometry::Geometry;
use super::image::Memory;
use super::job::{Job, LaunchJob, label};
use super::plan::{Contents, Planned};
use super::results::{Checks, Exported, Results, also, expectations, messages};
use super::trace::{self, LaunchTrace};
use super::view::Shape;
use super::watch::Watch;
use super::{gds, stats, warning};
use crate::failure::{Exit, Failure};
use crate::input::Shown as _;
use crate::message::{self, Kind};
use crate::text::{Extent, Grouped, Plural};

/// A trap handler of a launch.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    /// Guest address of its first instruction.
    pub entry: u64,
    /// Index of the buffer for it in [`Buffers::list`].
    pub memory: Option<usize>,
}

/// A launch that is about to run.
pub(super) struct Prepared<'a> {
    pub launch: &'a LaunchJob,
    pub kernel: &'a Kernel,
    pub geometry: Geometry,
    pub planned: Vec<Planned>,
    /// Resources at locations, instead of arguments.
    pub bindings: Vec<Bound>,
    pub handler: Option<Handler>,
    /// Index of the buffer with the contents of the global data share in [`Buffers::list`].
    pub gds: Option<usize>,
    pub checks: Checks<'a>,
}

impl Prepared<'_> {
    /// Checks that the grid has the waves to trace.
    fn check_trace(&self, job: &Job) -> Result<(), Failure> {
        let Some(job) = &job.options.trace.job else { return Ok(()) };
        let (groups, waves) = self.geometry.groups_and_waves();
        if let Some(wanted) = job.workgroup
            && (0..3).any(|d| wanted[d] >= groups[d])
        {
            let [x, y, z] = wanted;
            return Err(Failure::usage(format!(
                "--trace-workgroup: there is no workgroup ({x}, {y}, {z}); the grid has {}",
                Extent(&groups)
            )));
        }
        if let Some(wanted) = job.wave.filter(|wanted| u64::from(*wanted) >= waves) {
            return Err(Failure::usage(format!(
                "--trace-wave: there is no wave {wanted}; a workgroup has {}",
                Plural(waves, "wave")
            )));
        }
        Ok(())
    }

    fn arguments(&self, device: &Device, buffers: &[(Shape, Memory)]) -> Result<Vec<Arg>, Failure> {
        let one = |planned: &Planned| {
            Ok(match planned {
                Planned::Buffer(index) => buffers[*index].1.arg(),
                Planned::Sampler(desc) => {
                    Arg::from(&device.sampler(desc).map_err(|error| failure_of(&error))?)
                }
                Planned::Value(bytes) => Arg::Value(bytes.clone()),
                Planned::Aligned(bytes, alignment) => {
                    Arg::Aligned { bytes: bytes.clone(), alignment: *alignment }
                }
                Planned::Local(size) => Arg::Local(*size),
            })
        };
        self.planned.iter().map(one).collect()
    }

    /// The launch without its control.
    fn build(&self, device: &Device, buffers: &[(Shape, Memory)]) -> Result<Launch<'_>, Failure> {
        let launch = self.launch.options.apply(self.geometry.apply(Launch::new(self.kernel)));
        let launch = match self.handler {
            Some(Handler { entry, memory }) => {
                let memory = memory.map_or(0, |index| buffers[index].1.address());
                launch.trap_handler(TrapHandler { entry, memory })
            }
            None => launch,
        };
        let arguments = self.arguments(device, buffers)?;
        let bindings = self.bindings.iter().filter_map(|bound| bound.with(&arguments));
        let launch = launch.bindings(bindings);
        if self.bindings.iter().any(Bound::is_resource) {
            return Ok(launch);
        }
        // Without metadata, the code object does not describe the parameters.
        match self.kernel.has_metadata() || self.kernel.takes_any_arguments() {
            true => Ok(launch.args(arguments)),
            false => Ok(launch.kernarg(&raw_arguments(&arguments)?)),
        }
    }

    fn repeat(&self) -> u32 {
        self.launch.options.launch.times()
    }

    /// The line that announces the launch.
    fn echo(&self, job: &Job, index: usize) -> String {
        let times = match self.repeat() {
            1 => String::new(),
            n => format!(", {} times", Grouped(u64::from(n))),
        };
        let geometry = &self.geometry;
        match job.several {
            true => format!("{}: {geometry}{times}", label(index, Some(self.kernel.name()))),
            false => format!("{geometry}{times}"),
        }
    }
}

/// All launches of a run.
pub(super) struct Session<'a> {
    pub job: &'a Job,
    pub device: &'a Device,
    pub launches: Vec<Prepared<'a>>,
    /// Actions after the last launch.
    pub end: Checks<'a>,
}

impl Session<'_> {
    pub(super) fn run(&self, buffers: Buffers<'_>, watch: &Watch) -> Result<(), Failure> {
        // With several launches, at least one must have the waves to trace.
        let traced: Vec<_> = self.launches.iter().map(|prepared| prepared.check_trace(self.job)).collect();
        if traced.iter().all(Result::is_err) {
            traced.into_iter().collect::<Result<(), Failure>>()?;
        }
        // A file that cannot be written is reported before any long work.
        let checks = self.launches.iter().map(|prepared| &prepared.checks).chain([&self.end]);
        checks.into_iter().try_for_each(Checks::check_folders)?;
        let mut coverage = self.job.options.trace.isa_coverage.as_deref().map(Coverage::open).transpose()?;
        let buffers = self.allocate(buffers, watch)?;
        let launches = self.build(&buffers)?;
        let named = |index: usize, failure: Failure| self.named(index, failure);
        let open = |job| trace::Writer::open(job, watch.lost());
        let writer = self.job.options.trace.job.as_ref().map(open).transpose()?;
        let traces = self.traces(writer.as_ref())?;
        let console = Console::new(watch);
        let print = |output: wavemill::launch::Output<'_>| console.print(output);
        let mut out = Results::new();
        let mut wrong = Vec::new();
        let mut ran = Ok(());
        let mut exported = Exported::default();
        for (index, (prepared, launch)) in self.launches.iter().zip(launches).enumerate() {
            let launch = launch.output(&print);
            let launch = match &traces[index] {
                Some(trace) => launch.tracer(trace),
                None => launch,
            };
            let label = |mut difference: Difference| {
                difference.message =
                    named(index, Failure::new(Exit::Expectation, difference.message)).message;
                difference.parts["launch"] = json!(index + 1);
                difference.parts["kernel"] = json!(prepared.kernel.name());
                difference
            };
            let gds = prepared.gds.map(|index| &buffers[index].1);
            ran = gds
                .map_or(Ok(()), |buffer| gds::load(self.device, buffer))
                .and_then(|()| {
                    self.launch(index, prepared, launch, watch, coverage.as_mut(), traces[index].as_ref())
                })
                .and_then(|exports| {
                    gds.map_or(Ok(()), |buffer| gds::store(self.device, buffer)).map(|()| exports)
                })
                .map_err(|failure| named(index, failure))
                .and_then(|exports| {
                    exported = exports;
                    prepared.checks.apply(&buffers, &exported, watch, &mut out, &mut wrong, label)
                });
            if ran.is_err() {
                break;
            }
        }
        // A lost trace is reported, whatever happened to the launches.
        let traced = writer.map_or(Ok(()), trace::Writer::finish);
        // It may be the only reason why they ended.
        if watch.lost().load(Relaxed) && ran.as_ref().is_err_and(|failure| failure.exit == Exit::Limit) {
            ran = Ok(());
        }
        if let (Err(_), Err(lost)) = (&ran, &traced) {
            wrong.push(Difference { message: lost.message.clone(), parts: Value::Null });
        }
        ran.and(traced).map_err(|failure| also(failure, &wrong))?;
        if let Some(coverage) = &coverage {
            coverage.report();
        }
        let done = self.end.apply(&buffers, &exported, watch, &mut out, &mut wrong, |difference| difference);
        done.map_err(|failure| also(failure, &wrong))?;
        match wrong.is_empty() {
            true => out.result.map_err(Failure::from).and_then(|()| console.check()),
            false => {
                let mut failure = Failure::new(Exit::Expectation, messages(&wrong));
                failure.data = Some(Box::new(json!({ "expectations": expectations(&wrong) })));
                Err(failure)
            }
        }
    }

    /// Checks that all launches are possible, without the memory that they need.
    pub(super) fn check(&self, planned: &Buffers<'_>) -> Result<(), Failure> {
        let mut buffers = Vec::with_capacity(planned.list.len());
        for BufferPlan { shape, image, .. } in &planned.list {
            size_of(shape)?;
            buffers.push((shape.clone(), self.memory(shape, image.as_ref(), 0)?));
        }
        self.build(&buffers).map(|_| ())
    }

    /// The launches, checked.
    fn build(&self, buffers: &[(Shape, Memory)]) -> Result<Vec<Launch<'_>>, Failure> {
        let mut launches = Vec::with_capacity(self.launches.len());
        for (index, prepared) in self.launches.iter().enumerate() {
            let launch =
                prepared.build(self.device, buffers).map_err(|failure| self.named(index, failure))?;
            launch.check().map_err(|error| self.named(index, failure_of(&error)))?;
            launches.push(launch);
        }
        Ok(launches)
    }

    /// Adds which launch a failure is about.
    fn named(&self, index: usize, failure: Failure) -> Failure {
        self.job.name(index, Some(self.launches[index].kernel.name()), failure)
    }

    /// The trace of each launch. With several launches, the ones without the traced code have none.
    fn traces<'w>(
        &self,
        writer: Option<&'w trace::Writer<'w>>,
    ) -> Result<Vec<Option<LaunchTrace<'w>>>, Failure> {
        let Some(writer) = writer else { return Ok(self.launches.iter().map(|_| None).collect()) };
        let launches = self.launches.iter().enumerate();
        let traces: Vec<_> =
            launches.map(|(index, prepared)| writer.launch(index, prepared.kernel)).collect();
        if traces.iter().all(Result::is_err) {
            return traces.into_iter().map(|trace| trace.map(Some)).collect();
        }
        Ok(traces.into_iter().map(Result::ok).collect())
    }

    /// Runs a launch as many times as requested.
    fn launch(
        &self,
        index: usize,
        prepared: &Prepared<'_>,
        launch: Launch<'_>,
        watch: &Watch,
        mut coverage: Option<&mut Coverage>,
        trace: Option<&LaunchTrace<'_>>,
    ) -> Result<Exported, Failure> {
        let (groups, _) = prepared.geometry.groups_and_waves();
        let parts = json!({
            "launch": index + 1,
            "kernel": prepared.kernel.name(),
            "workgroups": groups,
            "repeat": prepared.repeat(),
        });
        message::say_with(Kind::Launch, &prepared.echo(self.job, index), &parts);
        let workgroups = groups.iter().fold(1u64, |all, n| all.saturating_mul(*n));
        let mut times: Vec<Duration> = Vec::new();
        let mut last: Option<LaunchStats> = None;
        let mut out_of_range = OutOfRange::default();
        let warn = |out_of_range| self.warn_of_lds(index, prepared, &launch, out_of_range);
        for round in 0..prepared.repeat() {
            log::info!("launch {} of `{}`, round {}", index + 1, prepared.kernel.name(), round + 1);
            // The first round always starts: a short launch is over before it can be stopped.
            if index > 0 || round > 0 {
                watch.check(|| format!("began round {} of {}", round + 1, prepared.repeat()))?;
            }
            if let Some(trace) = trace {
                let several = self.launches.len() > 1;
                let label = several.then(|| label(index, Some(prepared.kernel.name())));
                trace.begin(round, prepared.repeat(), label);
            }
            let control = std::sync::Arc::new(RunControl::default());
            let options = RunOptions {
                control: Some(control.clone()),
                record_exports: prepared.checks.wants_exports() || self.end.wants_exports(),
                ..prepared.launch.options.run_options()
            };
            let launch = launch.clone().options(options);
            let ((result, time), stopped) = watch.during(&control, workgroups, || {
                let start = Instant::now();
                (launch.run(), start.elapsed())
            });
            out_of_range += control.out_of_range();
            let stats = result.map_err(|error| {
                // Such reads may be why it faulted, or never ends.
                warn(out_of_range);
                let why = stopped.filter(|_| matches!(error, Error::Stopped(_)));
                let failure =
                    ended::failure(error, &prepared.launch.object, self.job.options.checks.registers);
                match (why, prepared.repeat()) {
                    (None, _) => failure,
                    (Some(why), 1) => failure.within(why),
                    (Some(why), rounds) => {
                        failure.within(format!("{why}, in round {} of {rounds}", round + 1))
                    }
                }
            })?;
            log::info!("{} instructions in {:.3} ms", stats.run.instructions, time.as_secs_f64() * 1e3);
            if let (Some(coverage), Some(rows)) = (&mut coverage, &stats.rows) {
                let new = coverage.add(rows);
                log::info!("{new} rows that no earlier launch executed");
            }
            times.push(time);
            last = Some(stats);
        }
        if let Some(coverage) = &mut coverage {
            coverage.write()?;
        }
        let Some(stats) = last else { return Ok(Exported::default()) };
        let kernel = prepared.kernel.name();
        warn(out_of_range);
        let (counts, fidelity) = (self.job.options.trace.stats, self.job.options.trace.fidelity);
        if counts.is_some() || fidelity {
            let text = match (counts, &stats.fidelity) {
                (None, Some(counts)) => stats::fidelity(counts),
                _ => stats::text(&stats, &times, fidelity),
            };
            let parts = stats::json(index, kernel, &stats, &times);
            message::say_with(Kind::Stats, text.trim_end(), &parts);
        }
        Ok(Exported { count: stats.run.exported, waves: stats.run.exports })
    }

    /// Warns about LDS that a launch accessed beyond its own, in all rounds.
    fn warn_of_lds(
        &self,
        index: usize,
        prepared: &Prepared<'_>,
        launch: &Launch<'_>,
        out_of_range: OutOfRange,
    ) {
        let Ok(size) = launch.lds() else { return };
        let dynamic = prepared.launch.options.launch.dynamic_lds();
        let Some((mut text, mut parts)) = warning::lds(out_of_range, size, dynamic) else { return };
        let kernel = prepared.kernel.name();
        if self.launches.len() > 1 {
            text = format!("{}: {text}", label(index, Some(kernel)));
        }
        parts["launch"] = json!(index + 1);
        parts["kernel"] = json!(kernel);
        message::say_with(Kind::Warning, &text, &parts);
    }

    /// Notes that OpenCL does not read mip levels on the target. Kernels in assembly may, so it is
    /// no error.
    fn note_levels(&self, planned: &Buffers<'_>) {
        let has_levels = |buffer: &&BufferPlan| buffer.image.is_some_and(|desc| desc.levels > 1);
        let Some(image) = planned
            .list
            .iter()
            .find(has_levels)
            .filter(|_| self.device.has_images() && !self.device.samples_levels())
        else {
            return;
        };
        let note = format!(
            "image `{}` has mip levels, but {} has no instruction that samples at a level of detail: OpenCL's reads with \
             a level return no defined value",
            image.shape.name.shown(),
            self.device.target().processor.name()
        );
        message::say(Kind::Note, &note);
    }

    /// The image with this description, or a buffer of `size` bytes.
    fn memory(&self, shape: &Shape, image: Option<&ImageDesc>, size: u64) -> Result<Memory, Failure> {
        match image {
            Some(desc) => self.device.image(&shape.name, desc).map(Memory::Image).map_err(|error| {
                failure_of(&error).within(format_args!("argument `{}`", shape.name.shown()))
            }),
            // The error names the buffer.
            None => {
                self.device.buffer(&shape.name, size).map(Memory::Buffer).map_err(|error| failure_of(&error))
            }
        }
    }

    /// Allocates and fills the buffers.
    fn allocate(&self, planned: Buffers<'_>, watch: &Watch) -> Result<Vec<(Shape, Memory)>, Failure> {
        let mut buffers = Vec::with_capacity(planned.list.len());
        self.note_levels(&planned);
        for BufferPlan { shape, contents, image, .. } in planned.list {
            let size = size_of(&shape)?;
            let in_time =
                || watch.check(|| format!("filled buffer `{}`, before the first launch", shape.name.shown()));
            in_time()?;
            let buffer = self.memory(&shape, image.as_ref(), size)?;
            let fill = || {
                match &contents {
                    Contents::Fresh => {}
                    // Fresh memory is zero.
                    Contents::Zeros if self.job.options.checks.poison().is_none() => {}
                    Contents::Zeros => buffer.fill(0).map_err(|error| failure_of(&error))?,
                    Contents::Made(elements) => {
                        let mut at = 0;
                        elements.each_piece(|piece| {
                            in_time()?;
                            buffer.write_bytes(at, piece).map_err(|error| failure_of(&error))?;
                            at += piece.len() as u64;
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            };
            fill().map_err(|failure: Failure| match failure.exit {
                // The message is complete.
                Exit::Limit => failure,
                _ => failure.within(format_args!("buffer `{}`", shape.name.shown())),
            })?;
            log::info!(
                "buffer `{}`: {}, {size} bytes at {:#x}",
                shape.name,
                shape.element.count(shape.count()),
                buffer.address()
            );
            buffers.push((shape, buffer));
        }
        Ok(buffers)
    }
}

/// Bytes of a buffer.
fn size_of(shape: &Shape) -> Result<u64, Failure> {
    let all = || shape.element.count(shape.count());
    shape.size().ok_or_else(|| Failure::usage(format!("{} do not fit into memory", all())))
}

/// The offset of an argument of `size` bytes after `end` bytes of other arguments, if no metadata
/// gives it.
pub(super) fn raw_offset(end: usize, size: usize) -> usize {
    end.next_multiple_of(size.next_power_of_two().clamp(1, 8))
}

/// The kernel arguments of a kernel without metadata: one after the other, each aligned to its size.
fn raw_arguments(arguments: &[Arg]) -> Result<Vec<u8>, Failure> {
    let mut out: Vec<u8> = Vec::new();
    for argument in arguments {
        let bytes = match argument {
            Arg::Buffer(buffer) => buffer.address().to_le_bytes().to_vec(),
            Arg::Image(image) => image.descriptor().to_le_bytes().to_vec(),
            Arg::Sampler(sampler) => sampler.descriptor().to_le_bytes().to_vec(),
            Arg::Value(bytes) | Arg::Aligned { bytes, .. } => bytes.clone(),
            _ => {
                return Err(Failure::usage(
                    "the code object has no metadata, so the position of dynamic LDS is not known; use --dynamic-lds, and pass \
                     offsets as values",
                ));
            }
        };
        out.resize(raw_offset(out.len(), bytes.len()), 0);
        out.extend(bytes);
    }
    Ok(out)
}
