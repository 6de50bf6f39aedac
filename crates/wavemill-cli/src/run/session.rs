//! Runs launches that have been found sound, one after the other, and looks at what became of the buffers.

use crate::input::Shown as _;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wavemill::{Arg, Buffer, Device, Error, Kernel, Launch, LaunchStats, OutOfRange, RunControl, RunOptions};

use super::buffers::{BufferPlan, Buffers};
use super::console::Console;
use super::coverage::Coverage;
use super::expect::{Difference, Prepared as PreparedExpectation};
use super::geometry::Geometry;
use super::job::{Job, LaunchJob, Wanted};
use super::launch_file::StatsLevel;
use super::output::Output;
use super::plan::{Contents, Planned};
use super::text::{Extent, Grouped, Plural};
use super::trace::{self, LaunchTrace};
use super::view::{self, Shape, View};
use super::watch::Watch;
use super::{ended, failure, name_launch, stats, warning};
use crate::failure::{Exit, Failure};
use crate::message::{self, Kind};

/// The standard output, with the first error that it had; behind that nothing is written. Files are written and
/// expectations checked even if nobody reads what is printed.
#[derive(Debug)]
struct Results {
    out: BufWriter<Stdout>,
    result: io::Result<()>,
}

impl Results {
    fn new() -> Self {
        Results { out: BufWriter::new(io::stdout()), result: Ok(()) }
    }

    fn write(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = self.out.write_all(text.as_bytes());
        }
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.flush();
        }
    }
}

/// Something to print.
struct Printed {
    title: String,
    /// Number of the buffer.
    buffer: usize,
    view: View,
    hex: bool,
}

/// What is done after a launch, found sound before any runs. Buffers have numbers.
pub(super) struct Checks<'a> {
    printed: Vec<Printed>,
    outputs: Vec<(usize, &'a Output)>,
    expected: Vec<(usize, PreparedExpectation)>,
}

impl<'a> Checks<'a> {
    /// Makes sure that everything that is wanted is there, among the buffers that have been planned by now.
    pub(super) fn of(wanted: &'a Wanted, buffers: &Buffers<'_>) -> Result<Self, Failure> {
        let find = |name: &str| {
            let found = buffers.list.iter().position(|buffer| buffer.shape.name == name);
            found.ok_or_else(|| {
                let names: Vec<&str> = buffers.list.iter().map(|buffer| buffer.shape.name.as_str()).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Failure::usage(format!(
                    "there is no buffer `{name}` among the arguments; the buffers are {has}",
                    name = name.shown()
                ))
            })
        };
        let shape = |index: usize| &buffers.list[index].shape;
        let mut checks = Checks { printed: Vec::new(), outputs: Vec::new(), expected: Vec::new() };
        for text in &wanted.print {
            let prepare = || {
                let (plain, hex) = view::split_format(text)?;
                let (name, inside) = view::split(plain)?;
                let buffer = find(name)?;
                let view = View::parse(shape(buffer), inside)?;
                Ok(Printed { title: plain.trim().to_owned(), buffer, view, hex })
            };
            let printed = prepare()
                .map_err(|failure: Failure| failure.within(format_args!("--print {}", text.shown())));
            checks.printed.push(printed?);
        }
        for output in &wanted.out {
            let buffer = find(&output.buffer)
                .and_then(|buffer| output.check(shape(buffer)).map(|()| buffer))
                .map_err(|failure| failure.within("--out"))?;
            checks.outputs.push((buffer, output));
        }
        for expectation in &wanted.expect {
            let prepared = find(&expectation.buffer)
                .and_then(|buffer| Ok((buffer, expectation.prepare(shape(buffer))?)))
                .map_err(|failure| failure.within(format_args!("--expect {}", expectation.text.shown())))?;
            checks.expected.push(prepared);
        }
        Ok(checks)
    }

    /// Prints, writes and compares. What is wrong goes into `wrong`, each as `label` makes it.
    fn apply(
        &self,
        buffers: &[(Shape, Buffer)],
        watch: &Watch,
        out: &mut Results,
        wrong: &mut Vec<Difference>,
        label: impl Fn(Difference) -> Difference,
    ) -> Result<(), Failure> {
        for one in &self.printed {
            let (shape, buffer) = &buffers[one.buffer];
            let read = reader(buffer, watch, || format!("printed `{}`", one.title.shown()));
            view::print(&one.title, shape, &one.view, one.hex, read, |text| out.write(text))?;
        }
        for (buffer, output) in &self.outputs {
            let (shape, buffer) = &buffers[*buffer];
            let read = reader(buffer, watch, || format!("wrote `{}`", output.file().shown()));
            let file = output.write(shape, read)?;
            message::say(Kind::Output, &format!("wrote {file}"));
        }
        for (buffer, prepared) in &self.expected {
            let (shape, buffer) = &buffers[*buffer];
            let read = reader(buffer, watch, || format!("compared `{}`", shape.name.shown()));
            match prepared.check(read)? {
                Ok(message) => out.write(&format!("{message}\n")),
                Err(difference) => wrong.push(label(difference)),
            }
        }
        out.flush();
        Ok(())
    }
}

/// Copies bytes out of a buffer, from an offset on, as long as there is time; `what` says what for.
fn reader<'a>(
    buffer: &'a Buffer,
    watch: &'a Watch,
    what: impl Fn() -> String + 'a,
) -> impl FnMut(u64, &mut [u8]) -> Result<(), Failure> + 'a {
    move |offset, into| {
        watch.check(&what)?;
        buffer.read_bytes(offset, into).map_err(|error| failure(&error))
    }
}

/// A launch that is about to run.
pub(super) struct Prepared<'a> {
    pub launch: &'a LaunchJob,
    pub kernel: &'a Kernel,
    pub geometry: Geometry,
    pub planned: Vec<Planned>,
    pub checks: Checks<'a>,
}

impl Prepared<'_> {
    /// Whether the grid has what is to be traced.
    fn check_trace(&self, job: &Job) -> Result<(), Failure> {
        let Some(job) = &job.trace else { return Ok(()) };
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

    fn arguments(&self, buffers: &[(Shape, Buffer)]) -> Vec<Arg> {
        let one = |planned: &Planned| match planned {
            Planned::Buffer(index) => Arg::from(&buffers[*index].1),
            Planned::Value(bytes) => Arg::Value(bytes.clone()),
            Planned::Local(size) => Arg::Local(*size),
        };
        self.planned.iter().map(one).collect()
    }

    /// The launch without its control.
    fn build(&self, job: &Job, buffers: &[(Shape, Buffer)]) -> Result<Launch<'_>, Failure> {
        let launch = self
            .geometry
            .apply(Launch::new(self.kernel))
            .global_offset(self.launch.offset)
            .dynamic_lds(self.launch.dynamic_lds)
            .cooperative(self.launch.cooperative)
            .options(RunOptions { count_blocks: job.counts(), ..job.options.clone() });
        let launch = match self.launch.stack {
            Some(bytes) => launch.stack(bytes),
            None => launch,
        };
        let arguments = self.arguments(buffers);
        // Without metadata the code object does not say what the parameters are.
        match self.kernel.has_metadata() {
            true => Ok(launch.args(arguments)),
            false => Ok(launch.kernarg(&raw_arguments(&arguments)?)),
        }
    }

    fn repeat(&self) -> u32 {
        self.launch.repeat.map_or(1, |repeat| repeat.get())
    }

    /// The line that says what runs.
    fn echo(&self, job: &Job, index: usize) -> String {
        let times = match self.repeat() {
            1 => String::new(),
            n => format!(", {} times", Grouped(u64::from(n))),
        };
        let geometry = &self.geometry;
        match job.several {
            true => format!("{}: {geometry}{times}", super::label(index, Some(self.kernel.name()))),
            false => format!("{geometry}{times}"),
        }
    }
}

/// All launches of a run.
pub(super) struct Session<'a> {
    pub job: &'a Job,
    pub device: &'a Device,
    pub launches: Vec<Prepared<'a>>,
    /// What is done after the last one.
    pub end: Checks<'a>,
}

impl Session<'_> {
    pub(super) fn run(&self, buffers: Buffers<'_>, watch: &Watch) -> Result<(), Failure> {
        // Of several launches one has what is to be traced.
        let traced: Vec<_> = self.launches.iter().map(|prepared| prepared.check_trace(self.job)).collect();
        if traced.iter().all(Result::is_err) {
            traced.into_iter().collect::<Result<(), Failure>>()?;
        }
        // A file that cannot be written is reported before anything takes long.
        let mut coverage = self.job.coverage.as_deref().map(Coverage::open).transpose()?;
        let buffers = self.allocate(buffers, watch)?;
        let launches = self.build(&buffers)?;
        let named = |index: usize, failure: Failure| self.named(index, failure);
        let open = |job| trace::Writer::open(job, watch.lost());
        let writer = self.job.trace.as_ref().map(open).transpose()?;
        let traces = self.traces(writer.as_ref())?;
        let console = Console::new(watch);
        let print = |output: wavemill::Output<'_>| console.print(output);
        let mut out = Results::new();
        let mut wrong = Vec::new();
        let mut ran = Ok(());
        for (index, (prepared, launch)) in self.launches.iter().zip(launches).enumerate() {
            let launch = launch.output(&print);
            let launch = match self.job.printf_buffer {
                Some(size) => launch.printf_buffer(size),
                None => launch,
            };
            let launch = match &traces[index] {
                Some(trace) => launch.tracer(trace),
                None => launch,
            };
            let launch = launch.traffic(self.job.stats == Some(StatsLevel::Full));
            let label = |mut difference: Difference| {
                difference.message =
                    named(index, Failure::new(Exit::Expectation, difference.message)).message;
                difference.parts["launch"] = json!(index + 1);
                difference.parts["kernel"] = json!(prepared.kernel.name());
                difference
            };
            ran = self
                .launch(index, prepared, launch, watch, coverage.as_mut(), traces[index].as_ref())
                .map_err(|failure| named(index, failure))
                .and_then(|()| prepared.checks.apply(&buffers, watch, &mut out, &mut wrong, label));
            if ran.is_err() {
                break;
            }
        }
        // A trace that is lost is reported whatever became of the launches.
        let traced = writer.map_or(Ok(()), trace::Writer::finish);
        // It may be all that has ended them.
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
        let done = self.end.apply(&buffers, watch, &mut out, &mut wrong, |difference| difference);
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

    /// Makes sure that all launches are possible, without the memory that they need.
    pub(super) fn check(&self, planned: &Buffers<'_>) -> Result<(), Failure> {
        let mut buffers = Vec::with_capacity(planned.list.len());
        for BufferPlan { shape, .. } in &planned.list {
            size_of(shape)?;
            let stand_in = self.device.buffer(&shape.name, 0).map_err(|error| failure(&error))?;
            buffers.push((shape.clone(), stand_in));
        }
        self.build(&buffers).map(|_| ())
    }

    /// The launches, found possible.
    fn build(&self, buffers: &[(Shape, Buffer)]) -> Result<Vec<Launch<'_>>, Failure> {
        let mut launches = Vec::with_capacity(self.launches.len());
        for (index, prepared) in self.launches.iter().enumerate() {
            let launch = prepared.build(self.job, buffers).map_err(|failure| self.named(index, failure))?;
            launch.check().map_err(|error| self.named(index, failure(&error)))?;
            launches.push(launch);
        }
        Ok(launches)
    }

    /// Says which launch something is about.
    fn named(&self, index: usize, failure: Failure) -> Failure {
        name_launch(self.job, index, Some(self.launches[index].kernel.name()), failure)
    }

    /// The trace of each launch. Of several launches, those that have not what is to be traced have none.
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

    /// Runs a launch as often as it is to run.
    fn launch(
        &self,
        index: usize,
        prepared: &Prepared<'_>,
        launch: Launch<'_>,
        watch: &Watch,
        mut coverage: Option<&mut Coverage>,
        trace: Option<&LaunchTrace<'_>>,
    ) -> Result<(), Failure> {
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
            // A short launch is over before anybody stops it.
            if index > 0 || round > 0 {
                watch.check(|| format!("began round {} of {}", round + 1, prepared.repeat()))?;
            }
            if let Some(trace) = trace {
                let several = self.launches.len() > 1;
                let label = several.then(|| super::label(index, Some(prepared.kernel.name())));
                trace.begin(round, prepared.repeat(), label);
            }
            let control = std::sync::Arc::new(RunControl::default());
            let options = RunOptions {
                control: Some(control.clone()),
                count_blocks: self.job.counts(),
                ..self.job.options.clone()
            };
            let launch = launch.clone().options(options);
            let ((result, time), stopped) = watch.during(&control, workgroups, || {
                let start = Instant::now();
                (launch.run(), start.elapsed())
            });
            out_of_range += control.out_of_range();
            let stats = result.map_err(|error| {
                // What was read may be why it faulted, or never ends.
                warn(out_of_range);
                let why = stopped.filter(|_| matches!(error, Error::Stopped { .. }));
                let failure = ended::failure(error, &prepared.launch.object, self.job.registers);
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
        let Some(stats) = last else { return Ok(()) };
        let kernel = prepared.kernel.name();
        warn(out_of_range);
        if self.job.stats.is_some() {
            let text = stats::text(&stats, &times);
            let parts = stats::json(index, kernel, &stats, &times);
            message::say_with(Kind::Stats, text.trim_end(), &parts);
        }
        Ok(())
    }

    /// Warns about LDS that the rounds of a launch accessed and did not have.
    fn warn_of_lds(
        &self,
        index: usize,
        prepared: &Prepared<'_>,
        launch: &Launch<'_>,
        out_of_range: OutOfRange,
    ) {
        let Ok(size) = launch.lds() else { return };
        let dynamic = prepared.launch.dynamic_lds;
        let Some((mut text, mut parts)) = warning::lds(out_of_range, size, dynamic) else { return };
        let kernel = prepared.kernel.name();
        if self.launches.len() > 1 {
            text = format!("{}: {text}", super::label(index, Some(kernel)));
        }
        parts["launch"] = json!(index + 1);
        parts["kernel"] = json!(kernel);
        message::say_with(Kind::Warning, &text, &parts);
    }

    /// Allocates and fills the buffers.
    fn allocate(&self, planned: Buffers<'_>, watch: &Watch) -> Result<Vec<(Shape, Buffer)>, Failure> {
        let mut buffers = Vec::with_capacity(planned.list.len());
        for BufferPlan { shape, contents, .. } in planned.list {
            let size = size_of(&shape)?;
            let in_time =
                || watch.check(|| format!("filled buffer `{}`, before the first launch", shape.name.shown()));
            in_time()?;
            // What it says names the buffer.
            let buffer = self.device.buffer(&shape.name, size).map_err(|error| failure(&error))?;
            let fill = || {
                match &contents {
                    Contents::Fresh => {}
                    // Fresh memory holds zeros.
                    Contents::Zeros if self.job.options.poison.is_none() => {}
                    Contents::Zeros => buffer.fill(0).map_err(|error| failure(&error))?,
                    Contents::Made(elements) => {
                        let mut at = 0;
                        elements.each_piece(|piece| {
                            in_time()?;
                            buffer.write_bytes(at, piece).map_err(|error| failure(&error))?;
                            at += piece.len() as u64;
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            };
            fill().map_err(|failure: Failure| match failure.exit {
                // It says so itself.
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

/// Adds expectations that did not hold before something worse happened.
fn also(mut failure: Failure, wrong: &[Difference]) -> Failure {
    if !wrong.is_empty() {
        failure.message = format!("{}\n\nbefore that:\n{}", failure.message, messages(wrong));
        let data = failure.data.get_or_insert_with(|| Box::new(json!({})));
        data["expectations"] = json!(expectations(wrong));
    }
    failure
}

fn messages(wrong: &[Difference]) -> String {
    wrong.iter().map(|difference| difference.message.as_str()).collect::<Vec<_>>().join("\n")
}

/// The parts of what is wrong, for `--message-format json`.
fn expectations(wrong: &[Difference]) -> Vec<&Value> {
    wrong.iter().map(|difference| &difference.parts).filter(|parts| !parts.is_null()).collect()
}

/// The kernel arguments of a kernel without metadata: one after the other, each aligned to its size.
fn raw_arguments(arguments: &[Arg]) -> Result<Vec<u8>, Failure> {
    let mut out: Vec<u8> = Vec::new();
    for argument in arguments {
        let bytes = match argument {
            Arg::Buffer(buffer) => buffer.address().to_le_bytes().to_vec(),
            Arg::Value(bytes) => bytes.clone(),
            _ => {
                return Err(Failure::usage(
                    "the code object has no metadata, so where dynamic LDS goes is not known; use --dynamic-lds, and pass \
                     offsets as values",
                ));
            }
        };
        let align = bytes.len().next_power_of_two().clamp(1, 8);
        out.resize(out.len().next_multiple_of(align), 0);
        out.extend(bytes);
    }
    Ok(out)
}
