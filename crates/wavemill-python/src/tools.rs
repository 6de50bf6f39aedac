//! Assembler, disassembler, explanations and contents of files.

use std::fmt::Write as _;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wavemill_asm::gcn::explain::{InstructionFacts, Mnemonic, explain as explanation};
use wavemill_asm::{
    Assembled, InstructionSet, Options, Report, SourceOptions, assemble_with, gcn, write_source,
};
use wavemill_isa::{Family, Target};
use wavemill_object::printable::Echo;
use wavemill_object::report::{FileReport, Filter};
use wavemill_object::write::{LinkError, LinkOptions, link_with};
use wavemill_object::{Limits, TargetId, Unlinked, unlink};

use crate::device::choice;
use crate::errors::{self, assembly, other};
use crate::json;
use crate::module::contents;

/// The target with a name that the tools for GCN and CDNA know.
fn target(py: Python<'_>, name: &str) -> PyResult<(TargetId, Target)> {
    let id = choice(py, name)?.target().clone();
    match InstructionSet::of(&id).map(InstructionSet::target).filter(|target| target.family() == Family::Gcn)
    {
        Some(target) => Ok((id, target)),
        None => {
            let names: Vec<&str> = InstructionSet::processors().collect();
            let text = format!("the target is {id}; expected one of {}", names.join(", "));
            Err(other(py, text))
        }
    }
}

/// The exception for a source with errors.
fn failed(py: Python<'_>, reports: &[Report]) -> PyErr {
    let line = |report: &Report| {
        let (line, column) = (report.line, report.column());
        let file = report.inclusion.as_ref().map_or("", |_| "an included file, ");
        (line, column, format!("{file}line {line}, column {column}: {}", report.diagnostic.message))
    };
    let all: Vec<(usize, usize, String)> = reports.iter().map(line).collect();
    let texts: Vec<&str> = all.iter().map(|(_, _, text)| text.as_str()).collect();
    assembly(py, texts.join("\n"), all)
}

/// Assembles a source in LLVM's syntax to a code object, which `Module.load` takes. The source
/// names its target with `.amdgcn_target`, or `target` does.
///
/// Errors of the source are an `AssemblyError`, with their lines and columns.
#[pyfunction]
#[pyo3(signature = (text, target=None))]
pub(crate) fn asm<'py>(py: Python<'py>, text: &str, target: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
    let id = target.map(|name| self::target(py, name)).transpose()?.map(|(id, _)| id);
    let linked = py.detach(|| {
        let assembled = assemble_with(text, &Options { target: id, ..Options::default() }, &mut |_| {});
        match &assembled.module {
            Some(module) if assembled.reports.is_empty() => {
                link_with(module, &LinkOptions::default()).map_err(|error| not_linked(&assembled, error))
            }
            _ => Err(Unusable::Reports(assembled.reports)),
        }
    });
    match linked {
        Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
        Err(Unusable::Reports(reports)) => Err(failed(py, &reports)),
        Err(Unusable::Other(text)) => Err(other(py, text)),
    }
}

/// Why there is no code object.
enum Unusable {
    Reports(Vec<Report>),
    Other(String),
}

fn not_linked(assembled: &Assembled, error: LinkError) -> Unusable {
    match error {
        LinkError::Problems(problems) => Unusable::Reports(assembled.link_reports(&problems)),
        error => Unusable::Other(error.to_string()),
    }
}

/// Disassembles a code object (its path or its bytes) to a source that `asm` assembles again. With
/// `target`, bytes that are no code object are machine code.
#[pyfunction]
#[pyo3(signature = (source, target=None, addresses=false))]
pub(crate) fn dis(source: &Bound<'_, PyAny>, target: Option<&str>, addresses: bool) -> PyResult<String> {
    let py = source.py();
    let id = target.map(|name| self::target(py, name)).transpose()?.map(|(id, _)| id);
    let (bytes, _) = contents(source)?;
    let bytes = bytes.as_bytes();
    py.detach(|| source_of(bytes, id, addresses)).map_err(|problem| other(py, problem))
}

/// The source of a code object, or of machine code.
fn source_of(bytes: &[u8], id: Option<TargetId>, addresses: bool) -> Result<String, String> {
    let unlinked = match id {
        Some(id) if !bytes.starts_with(b"\x7fELF") => Unlinked::from_code(id, bytes.to_vec()),
        id => {
            let unlinked = unlink(bytes).map_err(|error| error.to_string())?;
            let found = &unlinked.module.target;
            match id.filter(|id| found.fit(id).is_none()) {
                Some(id) => return Err(format!("the code object is for {found}, not for {id}")),
                None => unlinked,
            }
        }
    };
    let mut text = String::new();
    let options = SourceOptions { addresses, ..SourceOptions::default() };
    write_source(&mut text, &unlinked, &options).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Explains an instruction: `explain("v_add_f32 v0, v1, v2", "gfx942")`, or all forms of one
/// without its operands: `explain("v_add_f32")`.
#[pyfunction]
#[pyo3(signature = (text, target=None))]
pub(crate) fn explain(py: Python<'_>, text: &str, target: Option<&str>) -> PyResult<String> {
    let target = target.map(|name| self::target(py, name)).transpose()?.map(|(_, target)| target);
    let text = text.trim();
    let mut out = String::new();
    let written = if text.contains(char::is_whitespace) {
        // The newest target that has it, as the command does.
        let targets: Vec<Target> = match target {
            Some(target) => vec![target],
            None => Target::ALL.into_iter().rev().filter(|target| target.family() == Family::Gcn).collect(),
        };
        let mut parsed = targets.iter().map(|target| gcn::parse(*target, text));
        let first = parsed.next().map(|first| match first {
            Ok(inst) => Ok(inst),
            Err(error) => parsed.find_map(Result::ok).ok_or(error),
        });
        match first {
            Some(Ok(inst)) => write!(out, "{}", explanation(&inst)),
            Some(Err(error)) => return Err(other(py, error.message.clone())),
            None => Ok(()),
        }
    } else {
        let Some(mnemonic) = Mnemonic::parse(text) else {
            return Err(other(py, format!("there is no instruction `{}`", Echo::new(text))));
        };
        write!(out, "{}", InstructionFacts::of_mnemonic(mnemonic, target))
    };
    written.map_err(|error| other(py, error.to_string()))?;
    Ok(out)
}

/// The contents of a code object, a bundle, or a host program with GPU code (its path or its
/// bytes) as a dictionary: targets, kernels, their parameters and resources. The keys are those of
/// `wavemill info --json`.
#[pyfunction]
#[pyo3(signature = (source, target=None, kernel=None))]
pub(crate) fn info<'py>(
    source: &Bound<'py, PyAny>,
    target: Option<&str>,
    kernel: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let id = target.map(|name| self::target(py, name)).transpose()?.map(|(id, _)| id);
    let (bytes, _) = contents(source)?;
    let filter = Filter { target: id, kernel, ..Filter::default() };
    let file = bytes.as_bytes();
    let report = py.detach(|| FileReport::new(file, &filter, &Limits::default()));
    let report = report.map_err(|error| errors::other(py, error.to_string()))?;
    json::to_python(py, &report)
}
