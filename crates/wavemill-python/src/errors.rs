//! Errors as exceptions. `python/wavemill/errors.py` defines their classes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wavemill::Error;
use wavemill::fault::{FaultReport, UnfinishedWave};
use wavemill_object::printable::{Echo, PrintableLines};

use crate::json;

/// The exception of a class in `wavemill.errors`, with attributes.
pub(crate) fn exception(
    py: Python<'_>,
    class: &str,
    text: String,
    attributes: Option<&Bound<'_, PyDict>>,
) -> PyErr {
    let text = PrintableLines(&text).bounded();
    let make = || py.import("wavemill.errors")?.getattr(class)?.call((&*text,), attributes);
    match make() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception for arguments that do not fit.
pub(crate) fn refuse(py: Python<'_>, text: String) -> PyErr {
    exception(py, "ArgumentError", text, None)
}

/// The exception for everything that is not more special.
pub(crate) fn other(py: Python<'_>, text: String) -> PyErr {
    exception(py, "Error", text, None)
}

/// The exception for a source with errors: its line, column and text for each.
pub(crate) fn assembly(py: Python<'_>, text: String, reports: Vec<(usize, usize, String)>) -> PyErr {
    let attributes = PyDict::new(py);
    match attributes.set_item("reports", reports) {
        Ok(()) => exception(py, "AssemblyError", text, Some(&attributes)),
        Err(error) => error,
    }
}

/// Advice on a kernel that accesses memory of the process that the launch does not have.
const FOLLOWS_POINTERS: &str = "  advice       pass the array that has this address in memory=[...], or use a device with \
    host_memory=\"process\"";

/// An error of the library as an exception.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut text = error.to_string();
    if let Error::Fault(report) = error
        && report.only_in_process
    {
        text = format!("{}\n{FOLLOWS_POINTERS}", text.trim_end());
    }
    let made = match error {
        Error::Fault(report) => fault(py, report).map(|attributes| {
            let class = if report.is_unsupported() { "Unsupported" } else { "GuestFault" };
            exception(py, class, text, Some(&attributes))
        }),
        Error::Stalled(report) => unfinished(py, &report.kernel, &report.waves, report.not_started)
            .map(|attributes| exception(py, "Stalled", text, Some(&attributes))),
        Error::InstructionLimit(report) | Error::TimeLimit(report) => {
            unfinished(py, &report.kernel, &report.waves, report.not_started)
                .map(|attributes| exception(py, "LimitReached", text, Some(&attributes)))
        }
        Error::Stopped(report) => unfinished(py, &report.kernel, &report.waves, report.not_started)
            .map(|attributes| exception(py, "Stopped", text, Some(&attributes))),
        Error::Argument { .. } => Ok(refuse(py, text)),
        _ => Ok(other(py, text)),
    };
    made.unwrap_or_else(|error| error)
}

/// The attributes of a fault.
fn fault<'py>(py: Python<'py>, report: &FaultReport) -> PyResult<Bound<'py, PyDict>> {
    let attributes = PyDict::new(py);
    let refused = report.refused();
    let lanes: Vec<u32> = match refused {
        [] => report.raised().iter().map(|lane| u32::from(lane.lane)).collect(),
        refused => refused.iter().map(|lane| u32::from(lane.lane)).collect(),
    };
    let addresses: Vec<u64> = refused.iter().map(|lane| lane.address).collect();
    let [x, y, z] = report.fault.workgroup;
    attributes.set_item("kernel", &report.kernel)?;
    attributes.set_item("pc", report.address)?;
    attributes.set_item("lanes", lanes)?;
    attributes.set_item("addresses", addresses)?;
    attributes.set_item("workgroup", (x, y, z))?;
    attributes.set_item("wave", report.fault.wave)?;
    attributes.set_item("instruction", report.instruction.as_deref())?;
    attributes.set_item("function", report.function.as_ref().map(|(name, _)| name))?;
    attributes.set_item("file", report.source.as_ref().map(|source| &source.file))?;
    attributes.set_item("line", report.source.as_ref().map(|source| source.line))?;
    attributes.set_item("report", report.full().to_string())?;
    attributes.set_item("data", json::to_python(py, report)?)?;
    Ok(attributes)
}

/// The attributes of a grid that did not finish.
fn unfinished<'py>(
    py: Python<'py>,
    kernel: &str,
    waves: &[UnfinishedWave],
    not_started: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let attributes = PyDict::new(py);
    let waves: Vec<String> = waves.iter().map(ToString::to_string).collect();
    attributes.set_item("kernel", kernel)?;
    attributes.set_item("waves", waves)?;
    attributes.set_item("not_started", not_started)?;
    Ok(attributes)
}

/// Most characters of a value in a message.
const SHOWN: usize = 60;

/// A value in a message.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "a value".to_owned(), |text| text.to_string());
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The type of a value in a message.
pub(crate) fn typed(value: &Bound<'_, PyAny>) -> String {
    let of = value.get_type();
    let name = of.qualname().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let name = match of.module().map(|module| module.to_string()) {
        Ok(module) if module != "builtins" => format!("{module}.{name}"),
        _ => name,
    };
    format!("an object of type {}", Echo::new(&name))
}

/// `1 byte`, `2 bytes`.
pub(crate) fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}
