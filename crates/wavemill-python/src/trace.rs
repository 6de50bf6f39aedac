//! The instructions that waves ran, as objects.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use wavemill::observe::{MemoryLocation, TraceAccess, TraceStep, Tracer, access_name, changed};

use crate::{errors, options};

/// Records the instructions that the waves of a workgroup run, or those of one wave:
///
///     trace = wavemill.Trace(workgroup=(0, 0, 0), wave=0)
///     kernel[grid, block](arguments, trace=trace)
///     for step in trace: print(step)
///
/// `workgroup=None` records all workgroups, and `wave=None` all waves. `limit` is the most
/// instructions to keep; `omitted` counts the others. Steps of a wave are in their order. A launch
/// that ends with an exception leaves the steps up to there.
#[pyclass(frozen, name = "Trace", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyTrace {
    workgroup: Option<[u32; 3]>,
    wave: Option<u32>,
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    steps: Vec<Arc<Step>>,
    omitted: u64,
}

/// What is known about an instruction that a wave ran.
#[derive(Debug)]
struct Step {
    workgroup: [u32; 3],
    wave: u32,
    pc: u64,
    function: Option<(String, u64)>,
    text: String,
    exec: u64,
    registers: Vec<(String, Value)>,
    accesses: Vec<TraceAccess>,
}

/// A value of a register.
#[derive(Debug)]
enum Value {
    Scalar(u64),
    /// Lanes that changed, with their values.
    Lanes(Vec<(u8, u32)>),
}

impl Step {
    fn of(step: &TraceStep<'_>) -> Self {
        let family = step.family;
        let scalars = changed::scalars(family, &step.changes, |cell| step.registers.uni(cell));
        let mut registers: Vec<(String, Value)> =
            scalars.into_iter().map(|one| (one.name, Value::Scalar(one.value))).collect();
        let mut add = |name: &str, value: Option<u32>| {
            registers.extend(value.map(|value| (name.to_owned(), Value::Scalar(value.into()))));
        };
        add("scc", changed::scc(family, &step.changes));
        add("mode", changed::mode(family, &step.changes));
        for row in step.changes.rows {
            let values = row.before.iter().zip(&row.after).zip(0u8..);
            let lanes = values.filter(|((before, after), _)| before != after);
            let lanes = lanes.map(|((_, after), lane)| (lane, *after)).collect();
            registers.push((changed::row_name(family, row.row), Value::Lanes(lanes)));
        }
        Step {
            workgroup: step.workgroup,
            wave: step.wave,
            pc: step.pc,
            function: step.function.map(|(name, offset)| (name.to_owned(), offset)),
            text: step.text.to_owned(),
            exec: step.exec,
            registers,
            accesses: step.accesses.to_vec(),
        }
    }
}

impl Tracer for PyTrace {
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool {
        self.workgroup.is_none_or(|own| own == workgroup) && self.wave.is_none_or(|own| own == wave)
    }

    fn stepped(&self, step: &TraceStep<'_>) {
        let mut kept = self.kept();
        if kept.steps.len() < self.limit {
            kept.steps.push(Arc::new(Step::of(step)));
        } else {
            kept.omitted += 1;
        }
    }
}

impl PyTrace {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most instructions to keep, if nothing says otherwise.
const LIMIT: u64 = 100_000;

#[pymethods]
impl PyTrace {
    #[new]
    #[pyo3(signature = (workgroup=Some((0, 0, 0)), wave=None, limit=None))]
    fn new(
        workgroup: Option<(u32, u32, u32)>,
        wave: Option<u32>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limit = limit.map(|limit| options::whole(limit, "limit", 0..=u64::MAX)).transpose()?;
        let limit = usize::try_from(limit.unwrap_or(LIMIT)).unwrap_or(usize::MAX);
        Ok(PyTrace { workgroup: workgroup.map(Into::into), wave, limit, kept: Mutex::default() })
    }

    /// The recorded instructions.
    #[getter]
    fn steps(&self) -> Vec<PyStep> {
        self.kept().steps.iter().cloned().map(PyStep).collect()
    }

    /// How many instructions came after the limit.
    #[getter]
    fn omitted(&self) -> u64 {
        self.kept().omitted
    }

    /// Forgets all instructions.
    fn clear(&self) {
        *self.kept() = Kept::default();
    }

    fn __len__(&self) -> usize {
        self.kept().steps.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<PyStep> {
        let kept = self.kept();
        let from = if index < 0 { index.checked_add_unsigned(kept.steps.len()) } else { Some(index) };
        let step = from.and_then(|at| kept.steps.get(usize::try_from(at).ok()?)).cloned();
        step.map(PyStep).ok_or_else(|| {
            PyIndexError::new_err(format!(
                "there is no instruction {index}: the trace has {}",
                kept.steps.len()
            ))
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.steps())?.try_iter()
    }

    fn __repr__(&self) -> String {
        let kept = self.kept();
        let omitted = if kept.omitted > 0 { format!(", {} omitted", kept.omitted) } else { String::new() };
        let count = kept.steps.len();
        format!("<Trace: {count} instruction{}{omitted}>", if count == 1 { "" } else { "s" })
    }
}

/// An instruction that a wave ran.
#[pyclass(frozen, name = "Step", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyStep(Arc<Step>);

#[pymethods]
impl PyStep {
    /// Coordinates of the workgroup.
    #[getter]
    fn workgroup(&self) -> (u32, u32, u32) {
        self.0.workgroup.into()
    }

    /// Number of the wave in the workgroup.
    #[getter]
    fn wave(&self) -> u32 {
        self.0.wave
    }

    /// Address of the instruction.
    #[getter]
    fn pc(&self) -> u64 {
        self.0.pc
    }

    /// Name of the function that has it.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.0.function.as_ref().map(|(name, _)| name.as_str())
    }

    /// Its offset in the function in bytes.
    #[getter]
    fn offset(&self) -> Option<u64> {
        self.0.function.as_ref().map(|(_, offset)| *offset)
    }

    /// Its text.
    #[getter]
    fn instruction(&self) -> &str {
        &self.0.text
    }

    /// EXEC before it: a bit for each lane that runs.
    #[getter]
    fn exec(&self) -> u64 {
        self.0.exec
    }

    /// The registers that it changed, with their new values: a number, or for a vector register a
    /// dictionary of the lanes that changed.
    #[getter]
    fn registers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let registers = PyDict::new(py);
        for (name, value) in &self.0.registers {
            match value {
                Value::Scalar(value) => registers.set_item(name, value)?,
                Value::Lanes(lanes) => {
                    let values = PyDict::new(py);
                    lanes.iter().try_for_each(|(lane, value)| values.set_item(lane, value))?;
                    registers.set_item(name, values)?;
                }
            }
        }
        Ok(registers)
    }

    /// Its accesses to memory.
    #[getter]
    fn accesses(&self) -> Vec<PyAccess> {
        (0..self.0.accesses.len()).map(|index| PyAccess { step: self.0.clone(), index }).collect()
    }

    fn __str__(&self) -> String {
        let Step { workgroup: [x, y, z], wave, pc, function, text, .. } = &*self.0;
        let at = match function {
            Some((name, offset)) => format!("{name}+{offset:#06x}"),
            None => format!("{pc:#014x}"),
        };
        let registers: Vec<String> =
            self.0.registers.iter().map(|(name, value)| shown(name, value)).collect();
        let text = format!("({x},{y},{z}) wave {wave}  {at}  {text}");
        if registers.is_empty() { text } else { format!("{text:88}  {}", registers.join(" ")) }
    }

    fn __repr__(&self) -> String {
        format!("<Step {}>", self.0.text)
    }
}

/// A register with its new value.
fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Scalar(value) => format!("{name}={value:#x}"),
        Value::Lanes(lanes) => match lanes.as_slice() {
            [(lane, value)] => format!("{name}={{{lane}: {value:#x}}}"),
            lanes => format!("{name}={{{} lanes}}", lanes.len()),
        },
    }
}

/// An access to memory of an instruction.
#[pyclass(frozen, name = "MemoryAccess", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyAccess {
    step: Arc<Step>,
    index: usize,
}

impl PyAccess {
    fn data(&self) -> &TraceAccess {
        &self.step.accesses[self.index]
    }
}

#[pymethods]
impl PyAccess {
    /// The path to memory that it uses: `global`, `scalar`, `lds`, and others.
    #[getter]
    fn kind(&self) -> String {
        self.data().kind.name().to_owned()
    }

    /// What it does: `load`, `store` or `atomic`.
    #[getter]
    fn access(&self) -> &'static str {
        access_name(self.data().access)
    }

    /// Bytes that each lane requests.
    #[getter]
    fn size(&self) -> u32 {
        self.data().size
    }

    /// The lanes that take part, as bits.
    #[getter]
    fn active(&self) -> u64 {
        self.data().active
    }

    /// The bytes that it accesses: lane, space (`global`, `lds`, `gds` or `private`), address or
    /// offset in the space, and number of bytes.
    #[getter]
    fn pieces(&self) -> Vec<(u8, &'static str, u64, u8)> {
        let pieces = self.data().pieces.iter();
        let piece = pieces.map(|piece| {
            let (space, at) = match piece.location {
                MemoryLocation::Global(address) => ("global", address),
                MemoryLocation::Lds(offset) => ("lds", offset.into()),
                MemoryLocation::Gds(offset) => ("gds", offset.into()),
                MemoryLocation::Private { offset, .. } => ("private", offset),
                other => ("other", other.address().unwrap_or_default()),
            };
            (piece.lane, space, at, piece.size)
        });
        piece.collect()
    }

    fn __repr__(&self) -> String {
        let access = self.data();
        let lanes = access.active.count_ones();
        let what = access_name(access.access);
        let (kind, size) = (access.kind.name(), errors::bytes(access.size as usize));
        format!("<MemoryAccess {what} of {size}, {kind}, {lanes} lane{}>", if lanes == 1 { "" } else { "s" })
    }
}
