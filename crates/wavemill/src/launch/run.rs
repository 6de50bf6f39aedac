//! Runs launches and reports their outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use wavemill_ir::Block;
use wavemill_machine::{
    Host, MemoryMap, Observer, RunControl, RunError, RunOptions, RunStats, Several, run_with,
};

use super::builder::Launch;
use super::outcome::Outcome;
use super::prepare::Prepared;
use super::stats::LaunchStats;
use crate::code::LoadedCode;
use crate::observe::mix::Executed;
use crate::observe::trace::Names;
use crate::observe::traffic::{Traffic, TrafficCounter};
use crate::report::FaultReport;
use crate::stall::StallReport;
use crate::unfinished::{StopCause, Unfinished, UnfinishedWave};
use crate::{Error, Result};

/// What the machine did with a launch.
struct Ran {
    result: std::result::Result<RunStats, RunError>,
    traffic: Option<Traffic>,
    /// The time limit, if that stopped it.
    out_of_time: Option<Duration>,
}

impl Launch<'_> {
    /// Runs the kernel to its end.
    ///
    /// # Errors
    /// [`Error::Argument`], [`Error::Launch`] and [`Error::Unusable`] if the launch is impossible
    /// (then nothing has run), [`Error::Fault`], [`Error::Stalled`], [`Error::InstructionLimit`],
    /// [`Error::TimeLimit`] and [`Error::Stopped`] if it did not finish, [`Error::Memory`] if there
    /// is not enough memory for it.
    pub fn run(&self) -> Result<LaunchStats> {
        self.outcome()?.finished()
    }

    /// Runs the kernel, and returns how the launch ended: each ending is a variant to match on.
    ///
    /// # Errors
    /// Errors that keep the launch from running: [`Error::Argument`], [`Error::Launch`],
    /// [`Error::Unusable`] and [`Error::Memory`].
    pub fn outcome(&self) -> Result<Outcome> {
        let prepared = self.prepare(self.plan()?)?;
        let device = &self.kernel.module.device;
        let map = self.memory()?;
        device.code.refresh(&map);
        if prepared.plan.cooperative {
            // The HIP runtime sets resource 0 to the number of workgroups minus 1, for `grid.sync()`.
            map.share().init(0, prepared.plan.workgroup_count().saturating_sub(1));
        }
        let mut ran = prepared.run(&map)?;
        if let Ok(run) = &mut ran.result {
            self.store_exports(&prepared.plan, run)?;
            if !self.options.record_exports {
                run.exports = Vec::new();
            }
        }
        let served = prepared.services.finish(&map);
        prepared.report(ran, served, &map)
    }

    /// Runs with a thread that watches the time, if there is a limit. The second result is whether
    /// the time ran out.
    fn in_time<T>(&self, run: impl FnOnce(&RunOptions) -> T) -> Result<(T, bool)> {
        let record_exports = self.options.record_exports || self.keeps_exports();
        let options = RunOptions { record_exports, ..self.options.clone() };
        let Some(limit) = self.time_limit else { return Ok((run(&options), false)) };
        let control = options.control.clone().unwrap_or_default();
        let options = RunOptions { control: Some(control.clone()), ..options };
        let over = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            let (ended, wait) = channel::<()>();
            let watch = || watch(&control, limit, &over, wait);
            let watcher = std::thread::Builder::new().spawn_scoped(scope, watch);
            watcher
                .map_err(|error| self.refuse(format!("cannot start a thread to watch its time: {error}")))?;
            let result = run(&options);
            drop(ended);
            Ok::<T, Error>(result)
        })?;
        Ok((result, over.load(Relaxed)))
    }
}

/// Stops a launch when its time is over, unless it has ended or was stopped before.
fn watch(control: &RunControl, limit: Duration, over: &AtomicBool, ended: std::sync::mpsc::Receiver<()>) {
    if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) && !control.is_stopped() {
        over.store(true, Relaxed);
        control.stop();
    }
}

impl Prepared<'_> {
    /// Runs the grid with the observers of the launch.
    fn run(&self, map: &MemoryMap) -> Result<Ran> {
        let launch = self.launch;
        let device = &launch.kernel.module.device;
        let source = LoadedCode { code: &device.code, map };
        let grid = self.grid(map, &source);
        let names = launch.tracer.map(|tracer| Names { tracer, device, map });
        let counter = launch.traffic.then(|| TrafficCounter::new(device.target));
        let mut observers = launch.observers.clone();
        observers.extend(names.iter().map(|names| names as &dyn Observer));
        observers.extend(counter.iter().map(|counter| counter as &dyn Observer));
        let several;
        let observer = match observers[..] {
            [] => None,
            [one] => Some(one),
            _ => {
                several = Several::new(observers);
                Some(&several as &dyn Observer)
            }
        };
        let engine = launch.engine.make();
        let (result, out_of_time) = launch.in_time(|options| match self.services.host(map) {
            Some(host) => run_with(&grid, &*engine, options, observer, Some(&host as &dyn Host)),
            None => run_with(&grid, &*engine, options, observer, None),
        })?;
        let out_of_time = launch.time_limit.filter(|_| out_of_time);
        Ok(Ran { result, traffic: counter.map(TrafficCounter::finish), out_of_time })
    }

    /// The outcome. `served` is an error if some of the kernel's output could not be read.
    fn report(&self, ran: Ran, served: Result<()>, map: &MemoryMap) -> Result<Outcome> {
        let kernel = self.launch.kernel;
        let unfinished = |cause, ran, waves, not_started| {
            let waves = UnfinishedWave::all(kernel, waves, map);
            Box::new(Unfinished { kernel: kernel.name().to_owned(), cause, ran, waves, not_started })
        };
        Ok(match ran.result {
            Ok(run) => {
                served?;
                Outcome::Finished(Box::new(self.stats(run, ran.traffic, map)))
            }
            Err(RunError::Fault(fault)) => {
                let report = Box::new(FaultReport::new(kernel, *fault, map, &self.start));
                match report.is_unsupported() {
                    true => Outcome::Unsupported(report),
                    false => Outcome::Fault(report),
                }
            }
            Err(RunError::Stalled { waves, not_started }) => {
                let waves = UnfinishedWave::all(kernel, waves, map);
                let kernel = kernel.name().to_owned();
                Outcome::Stalled(Box::new(StallReport { kernel, waves, not_started }))
            }
            Err(RunError::InstructionLimit { limit, ran, live, not_started }) => {
                let cause = StopCause::InstructionLimit(limit);
                Outcome::InstructionLimit(unfinished(cause, ran, live, not_started))
            }
            Err(RunError::Stopped { ran: instructions, live, not_started }) => match ran.out_of_time {
                Some(limit) => {
                    let cause = StopCause::TimeLimit(limit);
                    Outcome::TimeLimit(unfinished(cause, instructions, live, not_started))
                }
                None => Outcome::Stopped(unfinished(StopCause::Caller, instructions, live, not_started)),
            },
            Err(other) => {
                return Err(self.launch.refuse(format!("it ended with an unknown outcome: {other:?}")));
            }
        })
    }

    fn stats(&self, run: RunStats, traffic: Option<Traffic>, map: &MemoryMap) -> LaunchStats {
        let (launch, plan) = (self.launch, &self.plan);
        let device = &launch.kernel.module.device;
        let engine = launch.engine.on_this_host();
        let stepped = launch.options.single_steps;
        let has_code = |block: &Arc<Block>| engine.has_code_for(block, plan.registers);
        let count = || Executed::of(device, map, engine.tier(), &has_code, &run, stepped);
        let (mix, fidelity, operations, machine_code, rows) = match launch.options.count_blocks.then(count) {
            Some(all) => {
                (Some(all.mix), Some(all.fidelity), all.operations, all.machine_code, Some(all.rows))
            }
            None => (None, None, None, None, None),
        };
        LaunchStats {
            engine,
            run,
            workgroups: plan.workgroups,
            work_items: plan.geometry.global_size.iter().product(),
            resident: plan.resident,
            lds_size: plan.lds,
            lds_allocated: plan.lds_allocated,
            mix,
            fidelity,
            operations,
            machine_code,
            rows,
            traffic,
        }
    }
}
