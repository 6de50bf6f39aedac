//! Prints, writes and compares buffers after a launch.

use std::io::{self, BufWriter, Stdout, Write as _};

use serde_json::{Value, json};
use wavemill::stats::WaveExports;

use super::buffers::Buffers;
use super::element::Element;
use super::ended::failure_of;
use super::expect::{Difference, Prepared as PreparedExpectation};
use super::image::{self, Memory};
use super::options::results::Wanted;
use super::output::Output;
use super::view::{self, Shape, View};
use super::watch::Watch;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::message::{self, Kind};
use crate::text::Plural;

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

/// The name under which exports are printed.
const EXPORTS: &str = "exports";

/// What the waves of a launch exported.
#[derive(Debug, Default)]
pub(super) struct Exported {
    /// The recorded exports.
    pub waves: Vec<WaveExports>,
    /// Number of all.
    pub count: u64,
}

impl Exported {
    /// Prints the components of each export in the active lanes.
    fn print(&self, hex: bool, out: &mut Results) -> Result<(), Failure> {
        if self.count == 0 {
            out.write("exports: none\n");
        }
        for WaveExports { workgroup: [x, y, z], wave, exports } in &self.waves {
            for export in exports {
                let (target, lanes) = (export.op.target, export.active);
                let last = if export.op.last { ", last" } else { "" };
                let valid = if export.op.valid { ", valid" } else { "" };
                out.write(&format!(
                    "workgroup ({x}, {y}, {z}), wave {wave}: {target} of lanes {lanes:#018x}{last}{valid}\n"
                ));
                let element = if export.op.halves { Element::F16 } else { Element::F32 };
                for (n, name) in ["x", "y", "z", "w"].into_iter().enumerate() {
                    let Some(cells) = export.component(n) else { continue };
                    let active = cells.iter().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0);
                    let size = element.size();
                    let bytes: Vec<u8> =
                        active.flat_map(|(_, cell)| cell.to_le_bytes().into_iter().take(size)).collect();
                    let dims = vec![(bytes.len() / size) as u64];
                    let shape = Shape { name: name.to_owned(), element, dims };
                    let view = View::parse(&shape, None)?;
                    let read = |at: u64, into: &mut [u8]| {
                        into.copy_from_slice(&bytes[at as usize..][..into.len()]);
                        Ok(())
                    };
                    view::print(&format!("  {name}"), &shape, &view, hex, read, |text| out.write(text))?;
                }
            }
        }
        let recorded = self.waves.iter().map(|wave| wave.exports.len() as u64).sum::<u64>();
        if recorded < self.count {
            out.write(&format!("and {} more exports\n", self.count - recorded));
        }
        Ok(())
    }
}

/// The numbers that a name of a result means: a buffer, or a mip level of an image.
struct Found {
    /// Index of the buffer.
    buffer: usize,
    /// Byte of the buffer at which they begin.
    start: u64,
    shape: Shape,
}

impl Found {
    fn find(name: &str, buffers: &Buffers<'_>) -> Result<Found, Failure> {
        let list = &buffers.list;
        if let Some(buffer) = buffers.find(name) {
            return Ok(Found { buffer, start: 0, shape: list[buffer].shape.clone() });
        }
        let desc = |image: &str| buffers.find(image).and_then(|at| Some((at, list[at].image?)));
        if let Some((image, level)) = image::split_level(name)
            && let Some((buffer, desc)) = desc(image)
        {
            return match image::level(name, &desc, level) {
                Some((start, shape)) => Ok(Found { buffer, start, shape }),
                None => Err(Failure::usage(format!(
                    "there is no mip level {level} of `{}`, which has {}",
                    image.shown(),
                    Plural(desc.levels.into(), "level")
                ))),
            };
        }
        if name == EXPORTS {
            return Err(Failure::usage(
                "exports are printed as a whole: there is only --print exports (or exports:x), without an index, and \
                 no file and no expectation of them",
            ));
        }
        let names: Vec<String> = list
            .iter()
            .flat_map(|buffer| {
                let name = &buffer.shape.name;
                let levels = buffer.image.map_or(Vec::new(), |desc| image::level_names(name, &desc));
                [vec![name.clone()], levels].concat()
            })
            .collect();
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(Failure::usage(format!(
            "there is no buffer `{name}` among the arguments; the buffers are {has}",
            name = name.shown()
        )))
    }

    /// Copies bytes from an offset on, while there is time; `what` names the purpose.
    fn reader<'a>(
        &self,
        buffers: &'a [(Shape, Memory)],
        watch: &'a Watch,
        what: impl Fn() -> String + 'a,
    ) -> impl FnMut(u64, &mut [u8]) -> Result<(), Failure> + 'a {
        let (memory, start) = (&buffers[self.buffer].1, self.start);
        move |offset, into| {
            watch.check(&what)?;
            memory.read_bytes(start + offset, into).map_err(|error| failure_of(&error))
        }
    }
}

/// Something to print.
struct Printed {
    title: String,
    found: Found,
    view: View,
    hex: bool,
}

/// Actions after a launch, checked before any launch runs.
pub(super) struct Checks<'a> {
    printed: Vec<Printed>,
    /// Whether to print exports, and whether in hexadecimal.
    exports: Option<bool>,
    outputs: Vec<(Found, &'a Output)>,
    expected: Vec<(Found, PreparedExpectation)>,
}

impl<'a> Checks<'a> {
    /// Checks that all requested buffers exist among the buffers planned so far.
    pub(super) fn of(wanted: &'a Wanted, buffers: &Buffers<'_>) -> Result<Self, Failure> {
        let find = |name: &str| Found::find(name, buffers);
        let mut checks =
            Checks { printed: Vec::new(), exports: None, outputs: Vec::new(), expected: Vec::new() };
        for text in &wanted.print {
            let is_exports = |plain: &str| plain.trim() == EXPORTS && buffers.find(EXPORTS).is_none();
            if let Ok((plain, hex)) = view::split_format(text)
                && is_exports(plain)
            {
                checks.exports = Some(hex);
                continue;
            }
            let prepare = || {
                let (plain, hex) = view::split_format(text)?;
                let (name, inside) = view::split(plain)?;
                let found = find(name)?;
                let view = View::parse(&found.shape, inside)?;
                Ok(Printed { title: plain.trim().to_owned(), found, view, hex })
            };
            let printed = prepare()
                .map_err(|failure: Failure| failure.within(format_args!("--print {}", text.shown())));
            checks.printed.push(printed?);
        }
        for output in &wanted.out {
            let found = find(&output.buffer)
                .and_then(|found| output.check(&found.shape).map(|()| found))
                .map_err(|failure| failure.within("--out"))?;
            checks.outputs.push((found, output));
        }
        for expectation in &wanted.expect {
            let prepared = find(&expectation.buffer)
                .and_then(|found| {
                    let prepared = expectation.prepare(&found.shape)?;
                    Ok((found, prepared))
                })
                .map_err(|failure| failure.within(format_args!("--expect {}", expectation.text.shown())))?;
            checks.expected.push(prepared);
        }
        Ok(checks)
    }

    /// Whether exports are printed.
    pub(super) fn wants_exports(&self) -> bool {
        self.exports.is_some()
    }

    /// Checks that missing files can be created.
    pub(super) fn check_folders(&self) -> Result<(), Failure> {
        let check = |(_, output): &(Found, &Output)| output.check_folder();
        self.outputs.iter().try_for_each(check).map_err(|failure| failure.within("--out"))
    }

    /// Prints, writes and compares. Differences go into `wrong`, each passed through `label`.
    pub(super) fn apply(
        &self,
        buffers: &[(Shape, Memory)],
        exports: &Exported,
        watch: &Watch,
        out: &mut Results,
        wrong: &mut Vec<Difference>,
        label: impl Fn(Difference) -> Difference,
    ) -> Result<(), Failure> {
        for one in &self.printed {
            let read = one.found.reader(buffers, watch, || format!("printed `{}`", one.title.shown()));
            view::print(&one.title, &one.found.shape, &one.view, one.hex, read, |text| out.write(text))?;
        }
        if let Some(hex) = self.exports {
            exports.print(hex, out)?;
        }
        for (found, output) in &self.outputs {
            let read = found.reader(buffers, watch, || format!("wrote `{}`", output.file().shown()));
            let file = output.write(&found.shape, read)?;
            message::say(Kind::Output, &format!("wrote {file}"));
        }
        for (found, prepared) in &self.expected {
            let read = found.reader(buffers, watch, || format!("compared `{}`", found.shape.name.shown()));
            match prepared.check(read)? {
                Ok(message) => out.write(&format!("{message}\n")),
                Err(difference) => wrong.push(label(difference)),
            }
        }
        out.flush();
        Ok(())
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
