//! Assembles programs.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;

use serde_json::json;
use wavemill_asm::Report;
use wavemill_asm::cayman::{Assembled, Code, Listing, Options, assemble, print_program};
use wavemill_object::r600::{R600Config, R600Program, write_r600};

use super::dis::{dump, machine_code, unknown_format};
use super::stage_to;
use crate::asm::render::{self, Level};
use crate::failure::Failure;
use crate::files;
use crate::input::Shown as _;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The source again, in the form of the printer.
    Text,
    /// An object file, as LLVM writes it.
    Object,
    /// The machine code of one program alone.
    Binary,
    /// A JSON object for each statement.
    Json,
}

/// Assembles a source called `name`.
///
/// # Errors
/// [`Failure`] if the source has errors, which have been reported, or the output cannot be written.
pub(crate) fn asm(
    name: &str,
    source: &[u8],
    symbols: &[(&str, i64)],
    output: Output,
    comments: bool,
    out: Option<&Path>,
) -> Result<(), Failure> {
    if output == Output::Json {
        let options = Options { symbols, whole: false, max_errors: 1 << 20 };
        return json_lines(source, &options);
    }
    let assembled = whole(name, source, symbols)?;
    let bytes = match output {
        Output::Object => object(&assembled.programs)?,
        Output::Binary => match &assembled.programs[..] {
            [program] => program.bytes.clone(),
            programs => {
                let message = format!("expected one program for a binary file, found {}", programs.len());
                return Err(Failure::input(message).help("An object file (`--filetype obj`) has any number."));
            }
        },
        _ => {
            let listing = Listing { addresses: comments };
            let texts = assembled.programs.iter().map(|program| print_program(program, &listing));
            texts.collect::<Vec<_>>().join("\n").into_bytes()
        }
    };
    match out {
        Some(out) => files::write(out, bytes),
        None if output != Output::Text && std::io::stdout().is_terminal() => {
            Err(Failure::usage("machine code is not written to a terminal: name a file with --out"))
        }
        None => Ok(std::io::stdout().lock().write_all(&bytes)?),
    }
}

/// Assembles a source called `name` into an object file.
///
/// # Errors
/// [`Failure`] if the source has errors, which have been reported.
pub(crate) fn object_file(name: &str, source: &[u8]) -> Result<Vec<u8>, Failure> {
    object(&whole(name, source, &[])?.programs)
}

/// An object file with the shaders of a dump of Mesa, or with the program whose machine code a file
/// is; `None` for other files, such as object files.
///
/// # Errors
/// [`Failure`] if the dump is damaged, or the machine code is none.
pub(crate) fn object_of(bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let programs = match (dump(bytes)?, unknown_format(bytes)) {
        (Some(shaders), _) => shaders,
        (None, Some(error)) => vec![machine_code(bytes, &error)?],
        (None, None) => return Ok(None),
    };
    object(&programs).map(Some)
}

/// Assembles a source without errors, and reports warnings.
fn whole(name: &str, source: &[u8], symbols: &[(&str, i64)]) -> Result<Assembled, Failure> {
    let assembled = assemble(source, &Options { symbols, whole: true, ..Options::default() });
    render::reports(name, Level::Warning, &assembled.warnings);
    let told = render::reports(name, Level::Error, &assembled.reports);
    if told > 0 {
        let errors = if told == 1 { "an error".to_owned() } else { format!("{told} errors") };
        return Err(Failure::input(format!("`{}` has {errors}", name.shown())));
    }
    Ok(assembled)
}

/// An object file with programs.
fn object(programs: &[Code]) -> Result<Vec<u8>, Failure> {
    let programs: Vec<R600Program> = programs
        .iter()
        .enumerate()
        .map(|(index, code)| R600Program {
            name: code.name.clone().unwrap_or_else(|| format!("program{index}")),
            bytes: code.bytes.clone(),
            alignment: code.alignment,
            config: (!code.is_table).then(|| R600Config {
                stage: stage_to(code.stage),
                gprs: code.gprs,
                stack: code.stack.unwrap_or(0),
                lds: code.lds,
                kills: code.kills,
            }),
            relocations: code.relocations.clone(),
        })
        .collect();
    write_r600(&programs).map_err(|error| Failure::input(error.to_string()))
}

/// Writes an object for each statement, and one for each line with errors or warnings.
fn json_lines(source: &[u8], options: &Options<'_>) -> Result<(), Failure> {
    let assembled = assemble(source, options);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let problems = problems(&assembled);
    let mut rest = problems.into_iter().peekable();
    for statement in &assembled.statements {
        while let Some((_, problem)) = rest.next_if(|(line, _)| *line < statement.line) {
            writeln!(out, "{problem}")?;
        }
        let Some(program) = assembled.programs.get(statement.program) else { continue };
        let bytes = program.bytes.get(statement.range.clone()).unwrap_or_default();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (line, text) = (statement.line, &statement.text);
        writeln!(out, "{}", json!({ "line": line, "hex": hex, "size": bytes.len(), "text": text }))?;
    }
    for (_, problem) in rest {
        writeln!(out, "{problem}")?;
    }
    out.flush()?;
    Ok(())
}

/// The errors and warnings of each line.
fn problems(assembled: &Assembled) -> BTreeMap<usize, serde_json::Value> {
    let mut lines: BTreeMap<usize, (Vec<&Report>, Vec<&Report>)> = BTreeMap::new();
    for report in &assembled.reports {
        lines.entry(report.line).or_default().0.push(report);
    }
    for report in &assembled.warnings {
        lines.entry(report.line).or_default().1.push(report);
    }
    let list = |reports: &[&Report]| -> Vec<serde_json::Value> {
        // Strings, numbers and lists always serialise.
        reports
            .iter()
            .map(|report| serde_json::to_value(crate::asm::problem(report)).unwrap_or_default())
            .collect()
    };
    lines
        .into_iter()
        .map(|(line, (errors, warnings))| {
            let mut object = json!({ "line": line });
            for (name, reports) in [("errors", errors), ("warnings", warnings)] {
                if !reports.is_empty() {
                    object[name] = list(&reports).into();
                }
            }
            (line, object)
        })
        .collect()
}
