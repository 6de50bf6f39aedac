//! `--trace`: shows every instruction that ran, with the registers that it changed and the memory
//! that it accessed.

mod json;
mod text;

use crate::input::Shown as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use wavemill_object::printable::Printable;

use wavemill::Kernel;
use wavemill::observe::{TraceStep, Tracer};
use wavemill_object::name::{Match, Search, near_names};

use crate::failure::Failure;
use crate::files;
use crate::message;
use crate::names;

/// Formats of the lines of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    // No documentation comments here: clap would show each on lines of its own.
    // Text for people.
    Text,
    // One JSON object on a line of its own for each instruction.
    Json,
}

/// What to trace, and where to write it.
#[derive(Clone, Debug)]
pub(crate) struct TraceJob {
    pub workgroup: Option<[u64; 3]>,
    pub wave: Option<u32>,
    /// Instructions; empty: all.
    pub pcs: Vec<PcRange>,
    /// The default is the format of messages.
    pub format: Option<Format>,
    /// The default is the standard error.
    pub file: Option<PathBuf>,
}

/// Instructions as the user names them: guest addresses, or offsets in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PcRange {
    text: String,
    /// A possible function name with offsets after it.
    parts: Option<(String, Range<u64>)>,
    addresses: Option<Range<u64>>,
}

/// A number, hexadecimal after 0x.
fn number(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// `FIRST..END`, or one number, which means the instruction there.
fn range(text: &str) -> Option<Range<u64>> {
    match text.split_once("..") {
        Some((first, end)) => Some(number(first)?..number(end)?).filter(|range| !range.is_empty()),
        None => number(text).map(|at| at..at.saturating_add(1)),
    }
}

impl PcRange {
    /// Parses the text of `--trace-pc`.
    pub(crate) fn parse(text: &str) -> Result<PcRange, Failure> {
        let digits = text.starts_with(|first: char| first.is_ascii_digit());
        let addresses = range(text);
        let ends = text.rsplit_once('+').map_or(text, |(_, offsets)| offsets).split_once("..");
        if let Some((first, end)) = ends.and_then(|(first, end)| number(first).zip(number(end)))
            && first >= end
        {
            return Err(Failure::usage(format!(
                "`{text}` is not a range of instructions: its end, {end:#x}, is not after its start, {first:#x}",
                text = text.shown()
            )));
        }
        if text.is_empty() || (digits && addresses.is_none()) {
            return Err(Failure::usage(format!(
                "`{text}` is not a range of instructions; expected addresses (0x1000..0x1040, 0x1000), a function, or offsets \
                 in one (scale, scale+0x10..0x40, scale+0x10)",
                text = text.shown()
            )));
        }
        let parts =
            text.rsplit_once('+').and_then(|(name, offsets)| Some((name.to_owned(), range(offsets)?)));
        Ok(PcRange { text: text.to_owned(), parts, addresses: addresses.filter(|_| digits) })
    }

    /// The guest addresses in the module of a kernel; the range must contain an instruction.
    fn resolve(&self, kernel: &Kernel) -> Result<Range<u64>, Failure> {
        let range = self.addresses_in(kernel)?;
        match kernel.has_instruction_in(&range) {
            true => Ok(range),
            false => Err(Failure::usage(format!(
                "--trace-pc: no instruction of the code of `{}` begins in `{}`, {:#x}..{:#x}",
                Printable(kernel.name()),
                self.text.shown(),
                range.start,
                range.end
            ))
            .help("`wavemill dis` prints where instructions begin.")),
        }
    }

    fn addresses_in(&self, kernel: &Kernel) -> Result<Range<u64>, Failure> {
        if let Some(addresses) = &self.addresses {
            return Ok(addresses.clone());
        }
        let functions = kernel.functions();
        let symbols = || functions.iter().map(|(known, _)| known.as_str());
        let find = |name: &str| {
            let mut search = Search::new(name);
            functions.iter().for_each(|(known, range)| search.add(known, || (known.as_str(), range.clone())));
            match search.finish() {
                Match::None => Ok(None),
                Match::One((_, addresses)) => Ok(Some(addresses)),
                Match::Several(all) => {
                    let all = all.iter().map(|(known, _)| *known);
                    Err(names::ambiguous(name, "functions", all).within("--trace-pc"))
                }
            }
        };
        if let Some(whole) = find(&self.text)? {
            return Ok(whole);
        }
        let name = match &self.parts {
            None => &self.text,
            Some((name, offsets)) => match find(name)? {
                None => name,
                Some(whole) if offsets.start < whole.end - whole.start => {
                    let at = |offset: u64| whole.start.saturating_add(offset).min(whole.end);
                    return Ok(at(offsets.start)..at(offsets.end));
                }
                Some(whole) => {
                    return Err(Failure::usage(format!(
                        "--trace-pc: `{name}` has {:#x} bytes, so there is nothing at +{:#x}",
                        whole.end - whole.start,
                        offsets.start,
                        name = name.shown()
                    )));
                }
            },
        };
        let hint = names::did_you_mean(&near_names(name, symbols(), 3));
        Err(Failure::usage(format!("--trace-pc: there is no function `{name}`{hint}", name = name.shown())))
    }
}

/// The destination of the lines.
#[derive(Debug)]
enum Sink {
    /// The standard error, and its first error.
    Stderr(Mutex<io::Result<()>>),
    /// A file, and its first error.
    File(Mutex<(BufWriter<File>, io::Result<()>)>),
}

/// Writes the lines of all launches.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    job: &'a TraceJob,
    format: Format,
    sink: Sink,
    /// Set when a line is lost.
    lost: Arc<AtomicBool>,
}

impl<'a> Writer<'a> {
    /// Opens the file, if there is one. `lost` is set when a line cannot be written.
    pub(crate) fn open(job: &'a TraceJob, lost: Arc<AtomicBool>) -> Result<Self, Failure> {
        let sink = match &job.file {
            None => Sink::Stderr(Mutex::new(Ok(()))),
            Some(path) => {
                let file = files::create(path)?;
                Sink::File(Mutex::new((BufWriter::new(file), Ok(()))))
            }
        };
        let format = job.format.unwrap_or(match message::format() {
            message::Format::Human | message::Format::Short => Format::Text,
            message::Format::Json => Format::Json,
        });
        Ok(Writer { job, format, sink, lost })
    }

    /// The trace of a launch.
    pub(crate) fn launch(&self, index: usize, kernel: &Kernel) -> Result<LaunchTrace<'_>, Failure> {
        let pcs = self.job.pcs.iter().map(|range| range.resolve(kernel)).collect::<Result<Vec<_>, _>>()?;
        let pcs = (!pcs.is_empty()).then_some(pcs);
        Ok(LaunchTrace { writer: self, index, round: AtomicU32::new(0), pcs })
    }

    fn write(&self, line: &str) {
        let fine = match &self.sink {
            Sink::Stderr(result) => {
                let result = &mut *result.lock().unwrap_or_else(PoisonError::into_inner);
                if result.is_ok() {
                    *result = io::stderr().lock().write_all(line.as_bytes());
                }
                result.is_ok()
            }
            Sink::File(file) => {
                let (file, result) = &mut *file.lock().unwrap_or_else(PoisonError::into_inner);
                if result.is_ok() {
                    *result = file.write_all(line.as_bytes());
                }
                result.is_ok()
            }
        };
        if !fine {
            self.lost.store(true, Relaxed);
        }
    }

    /// Writes the remaining lines.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match (self.sink, &self.job.file) {
            (Sink::File(file), Some(path)) => {
                let (mut file, result) = file.into_inner().unwrap_or_else(PoisonError::into_inner);
                result
                    .and_then(|()| file.flush())
                    .map_err(|error| Failure::output(&format!("`{}`", path.shown()), &error))
            }
            (Sink::Stderr(result), _) => {
                let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
                result.map_err(|error| Failure::output("the trace to the standard error", &error))
            }
            // The file of a trace is named in the message.
            (Sink::File(_), None) => Ok(()),
        }
    }
}

/// Writes a line for each traced instruction of a launch.
#[derive(Debug)]
pub(crate) struct LaunchTrace<'a> {
    writer: &'a Writer<'a>,
    /// Index of the launch.
    index: usize,
    /// Number of earlier runs.
    round: AtomicU32,
    pcs: Option<Vec<Range<u64>>>,
}

impl LaunchTrace<'_> {
    /// Begins a further run of the launch, number `round` of `rounds`; `launch` names the launch if
    /// there are several.
    pub(crate) fn begin(&self, round: u32, rounds: u32, launch: Option<String>) {
        self.round.store(round, Relaxed);
        // The standard error already shows which launch begins.
        let launch = launch.filter(|_| matches!(self.writer.sink, Sink::File(_)));
        let round = (rounds > 1).then(|| format!("round {} of {rounds}", round + 1));
        let parts: Vec<String> = [launch, round].into_iter().flatten().collect();
        if self.writer.format == Format::Text && !parts.is_empty() {
            self.writer.write(&format!("{}\n", parts.join(", ")));
        }
    }
}

impl Tracer for LaunchTrace<'_> {
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool {
        let job = self.writer.job;
        job.workgroup.is_none_or(|wanted| wanted == workgroup.map(u64::from))
            && job.wave.is_none_or(|wanted| wanted == wave)
    }

    fn addresses(&self) -> Option<Vec<Range<u64>>> {
        self.pcs.clone()
    }

    fn stepped(&self, step: &TraceStep<'_>) {
        let mut line = match self.writer.format {
            Format::Text => text::line(step),
            Format::Json => json::line(self.index, self.round.load(Relaxed), step),
        };
        line.push('\n');
        self.writer.write(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_addresses_or_offsets() {
        let addresses = |text: &str| PcRange::parse(text).unwrap().addresses;
        assert_eq!(addresses("0x1000..0x1_040"), Some(0x1000..0x1040));
        assert_eq!(addresses("4096"), Some(4096..4097));
        assert_eq!(addresses("scale"), None);
        let parts = |text: &str| PcRange::parse(text).unwrap().parts;
        assert_eq!(parts("scale+0x10..0x40"), Some(("scale".to_owned(), 0x10..0x40)));
        assert_eq!(parts("operator+"), None);
        assert_eq!(parts("a+b+8"), Some(("a+b".to_owned(), 8..9)));
        for wrong in ["", "0x", "0x10..", "0x40..0x10", "16..16", "0xfffffffffffffffff"] {
            let message = PcRange::parse(wrong).unwrap_err().message;
            assert!(message.starts_with(&format!("`{wrong}` is not a range")), "{message}");
        }
    }
}
