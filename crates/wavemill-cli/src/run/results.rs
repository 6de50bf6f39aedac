//! Prints, writes and compares buffers after a launch.

use std::io::{self, BufWriter, Stdout, Write as _};

use serde_json::{Value, json};

use super::buffers::Buffers;
use super::ended::failure_of;
use super::expect::{Difference, Prepared as PreparedExpectation};
use super::image::Memory;
use super::options::results::Wanted;
use super::output::Output;
use super::view::{self, Shape, View};
use super::watch::Watch;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{self, Kind};

/// The standard output, with its first error; after the error, nothing is written. Files are
/// written and expectations checked even if the reader of the output has gone.
#[derive(Debug)]
pub(super) struct Results {
    out: BufWriter<Stdout>,
    pub result: io::Result<()>,
}

impl Results {
    pub(super) fn new() -> Self {
        Results { out: BufWriter::new(io::stdout()), result: Ok(()) }
    }

    pub(super) fn write(&mut self, text: &str) {
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
    /// Index of the buffer.
    buffer: usize,
    view: View,
    hex: bool,
}

/// Actions after a launch, checked before any launch runs. Buffers are indices.
pub(super) struct Checks<'a> {
    printed: Vec<Printed>,
    outputs: Vec<(usize, &'a Output)>,
    expected: Vec<(usize, PreparedExpectation)>,
}

impl<'a> Checks<'a> {
    /// Checks that all requested buffers exist among the buffers planned so far.
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

    /// Checks that missing files can be created.
    pub(super) fn check_folders(&self) -> Result<(), Failure> {
        let check = |(_, output): &(usize, &Output)| output.check_folder();
        self.outputs.iter().try_for_each(check).map_err(|failure| failure.within("--out"))
    }

    /// Prints, writes and compares. Differences go into `wrong`, each passed through `label`.
    pub(super) fn apply(
        &self,
        buffers: &[(Shape, Memory)],
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

/// Copies bytes of a buffer from an offset on, while there is time; `what` names the purpose.
fn reader<'a>(
    buffer: &'a Memory,
    watch: &'a Watch,
    what: impl Fn() -> String + 'a,
) -> impl FnMut(u64, &mut [u8]) -> Result<(), Failure> + 'a {
    move |offset, into| {
        watch.check(&what)?;
        buffer.read_bytes(offset, into).map_err(|error| failure_of(&error))
    }
}

/// Adds expectations that failed before a worse error.
pub(super) fn also(mut failure: Failure, wrong: &[Difference]) -> Failure {
    if !wrong.is_empty() {
        failure.message = format!("{}\n\nbefore that:\n{}", failure.message, messages(wrong));
        let data = failure.data.get_or_insert_with(|| Box::new(json!({})));
        data["expectations"] = json!(expectations(wrong));
    }
    failure
}

pub(super) fn messages(wrong: &[Difference]) -> String {
    wrong.iter().map(|difference| difference.message.as_str()).collect::<Vec<_>>().join("\n")
}

/// Details of the differences, for `--message-format json`.
pub(super) fn expectations(wrong: &[Difference]) -> Vec<&Value> {
    wrong.iter().map(|difference| &difference.parts).filter(|parts| !parts.is_null()).collect()
}
