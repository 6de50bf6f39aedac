//! Parameters of kernels.

use std::sync::Arc;

use pyo3::prelude::*;
use wavemill::module::{Parameter, ParameterKind};

use crate::errors;
use crate::types::{Declared, Type};

/// A parameter of a kernel, as its code object describes it.
#[pyclass(frozen, name = "Parameter", module = "wavemill")]
#[derive(Clone, Debug)]
pub(crate) struct PyParameter {
    /// What messages call it: its name, or `argument 0`.
    pub(crate) label: Arc<str>,
    pub(crate) kind: ParameterKind,
    /// What it is, if its type is known.
    pub(crate) declared: Option<Declared>,
    named: bool,
    type_name: Option<String>,
    /// Bytes in the kernel argument segment.
    #[pyo3(get)]
    pub(crate) size: u32,
    /// Byte offset in the kernel argument segment.
    #[pyo3(get)]
    pub(crate) offset: u32,
}

impl PyParameter {
    /// The parameter with this number.
    pub(crate) fn new(index: usize, parameter: Parameter) -> Self {
        let Parameter { name, type_name, kind, offset, size, .. } = parameter;
        let declared = type_name.as_deref().and_then(Declared::of_source);
        // Names of types that several languages have, such as `long`, have one size here.
        let declared = declared.filter(|declared| match declared {
            Declared::Scalar(of) => of.size() == size as usize,
            Declared::Pointer(_) => true,
        });
        let named = name.is_some();
        let label = name.map_or_else(|| label(index), Into::into);
        PyParameter { label, kind, declared, named, type_name, size, offset }
    }

    /// Its type in the source, or else its kind.
    pub(crate) fn type_text(&self) -> &str {
        self.type_name.as_deref().unwrap_or_else(|| self.kind())
    }

    /// Whether the code object has its name.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// The type of numbers that it takes, if it is known.
    pub(crate) fn scalar(&self) -> Option<Type> {
        match self.declared {
            Some(Declared::Scalar(of)) => Some(of),
            _ => None,
        }
    }
}

/// What messages call an argument without a name.
pub(crate) fn label(index: usize) -> Arc<str> {
    format!("argument {index}").into()
}

#[pymethods]
impl PyParameter {
    /// Its name, if the code object has it.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.named.then_some(&*self.label)
    }

    /// Its type in the source, if the code object has it.
    #[getter]
    fn type_name(&self) -> Option<&str> {
        self.type_name.as_deref()
    }

    /// What it takes: `value`, `buffer`, `local`, `image`, `sampler`, or a kind that Wavemill does
    /// not set up.
    #[getter]
    fn kind(&self) -> &str {
        match &self.kind {
            ParameterKind::Value => "value",
            ParameterKind::Buffer => "buffer",
            ParameterKind::Local => "local",
            ParameterKind::Image => "image",
            ParameterKind::Sampler => "sampler",
            ParameterKind::Other(other) => other.as_str(),
            _ => "other",
        }
    }

    fn __repr__(&self) -> String {
        let (of, size) = (self.type_text(), errors::bytes(self.size as usize));
        format!("<Parameter {}: {of}, {size}>", self.label)
    }
}
