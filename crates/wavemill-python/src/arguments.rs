//! Arguments of calls as arguments of launches.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};
use wavemill::Arg;
use wavemill::module::ParameterKind;
use wavemill_object::printable::Echo;

use crate::buffer::is_refusal;
use crate::errors::{self, refuse};
use crate::memory::Array;
use crate::numpy;
use crate::parameter::{PyParameter, label};
use crate::scalar::{self, PyScalar, What};
use crate::types::{Declared, Type};

/// Bytes of an address.
const POINTER: u32 = 8;

/// The arguments of a launch.
#[derive(Default)]
pub(crate) struct Arguments<'py> {
    /// Their values.
    pub(crate) args: Vec<Arg>,
    /// The arrays among them.
    pub(crate) arrays: Vec<Array<'py>>,
}

/// Reads a signature, such as `*fp32,*fp32,i32`.
///
/// # Errors
/// The name of a type is unknown.
pub(crate) fn signature(py: Python<'_>, text: &str) -> PyResult<Vec<Declared>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let read = |one: &str| {
        Declared::of_signature(one).ok_or_else(|| {
            let known: Vec<&str> = Type::all().map(Type::name).collect();
            let text = format!(
                "the signature has the unknown type `{}`; expected `*` and a type for pointers, `ptr`, or one of {}",
                Echo::new(one.trim()),
                known.join(", ")
            );
            refuse(py, text)
        })
    };
    text.split(',').map(read).collect()
}

impl<'py> Arguments<'py> {
    /// The arguments of a call of a kernel with these parameters, if its code object describes
    /// them; `declared` has the types of the call's signature, which win.
    ///
    /// # Errors
    /// An argument does not fit.
    pub(crate) fn of(
        args: &Bound<'py, PyTuple>,
        parameters: Option<&Vec<PyParameter>>,
        declared: Option<&[Declared]>,
    ) -> PyResult<Self> {
        let py = args.py();
        if let Some(found) = declared.map(<[Declared]>::len).filter(|found| *found != args.len()) {
            let text = format!("the signature has {found} types, but the call has {} arguments", args.len());
            return Err(refuse(py, text));
        }
        if let Some(expected) = parameters.map(Vec::len).filter(|expected| *expected != args.len()) {
            return Err(refuse(py, format!("expected {expected} arguments, found {}", args.len())));
        }
        let mut all = Arguments { args: Vec::with_capacity(args.len()), arrays: Vec::new() };
        for (index, arg) in args.iter().enumerate() {
            let parameter = parameters.and_then(|parameters| parameters.get(index));
            let declared = declared.map(|declared| declared[index]);
            let bound = Binder { py, index, parameter, declared }.bind(&arg, &mut all.arrays)?;
            all.args.push(bound);
        }
        Ok(all)
    }

    /// Adds arrays that are not arguments: a dictionary by name, or a sequence.
    ///
    /// # Errors
    /// It is neither, or an object in it has no memory.
    pub(crate) fn add_all(&mut self, memory: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(named) = memory.cast::<PyDict>() {
            for (name, object) in named.iter() {
                let name = name.str()?.to_string();
                self.add(&object, name.into())?;
            }
            return Ok(());
        }
        // Elements of an array would be copies.
        let all = if Array::is_exported_by(memory)? { None } else { memory.try_iter().ok() };
        let Some(all) = all else {
            let text =
                format!("memory is {}; expected a list or dictionary of arrays", errors::typed(memory));
            return Err(refuse(memory.py(), text));
        };
        for (index, object) in all.enumerate() {
            self.add(&object?, format!("memory[{index}]").into())?;
        }
        Ok(())
    }

    /// Adds an array that is not an argument. The name is for messages.
    fn add(&mut self, object: &Bound<'py, PyAny>, name: Arc<str>) -> PyResult<()> {
        // The memory of a scalar is a copy.
        let array = if numpy::is_scalar(object)? { None } else { exported(object, &name, &name)? };
        let Some(array) = array else {
            let text = format!("{name} is {}; expected an array", errors::typed(object));
            return Err(refuse(object.py(), text));
        };
        self.arrays.push(array);
        Ok(())
    }

    /// The kernel argument segment for a kernel whose code object does not describe its parameters:
    /// each argument at the next multiple of its size.
    ///
    /// # Errors
    /// An argument is not a value of 1, 2, 4 or 8 bytes.
    pub(crate) fn segment(&self, py: Python<'py>) -> PyResult<Vec<u8>> {
        let mut segment: Vec<u8> = Vec::new();
        for (index, arg) in self.args.iter().enumerate() {
            match arg {
                Arg::Value(bytes) if matches!(bytes.len(), 1 | 2 | 4 | 8) => {
                    segment.resize(segment.len().next_multiple_of(bytes.len()), 0);
                    segment.extend_from_slice(bytes);
                }
                _ => {
                    let text = format!(
                        "argument {index}: the code object does not describe the parameters, so only arrays and \
                         scalars can be passed; pass `kernarg=` with the bytes of the whole segment"
                    );
                    return Err(refuse(py, text));
                }
            }
        }
        Ok(segment)
    }
}

/// The memory of an object, as an error with the name of the argument if there is one.
fn exported<'py>(object: &Bound<'py, PyAny>, name: &Arc<str>, what: &str) -> PyResult<Option<Array<'py>>> {
    let py = object.py();
    Array::of(object, name).map_err(|error| {
        if !is_refusal(py, &error) {
            return error;
        }
        let problem = error.value(py).to_string();
        let problem =
            format!("{what} is {}, whose memory is not available: {problem}", errors::typed(object));
        let refused = refuse(py, problem);
        refused.set_cause(py, Some(error));
        refused
    })
}

/// The argument with a number, and what is known about its parameter.
struct Binder<'a, 'py> {
    py: Python<'py>,
    index: usize,
    parameter: Option<&'a PyParameter>,
    declared: Option<Declared>,
}

impl<'py> Binder<'_, 'py> {
    /// What messages call the argument.
    fn what(&self) -> String {
        match self.parameter.map(|parameter| (parameter.is_named(), &parameter.label)) {
            Some((true, label)) => format!("argument {} (`{label}`)", self.index),
            _ => format!("argument {}", self.index),
        }
    }

    fn refuse(&self, problem: &str) -> PyErr {
        refuse(self.py, format!("{} {problem}", self.what()))
    }

    fn label(&self) -> Arc<str> {
        self.parameter.map_or_else(|| label(self.index), |parameter| parameter.label.clone())
    }

    /// The type of a number here, if it is known.
    fn scalar(&self) -> Option<Type> {
        match self.declared {
            Some(Declared::Scalar(of)) => Some(of),
            Some(Declared::Pointer(_)) => None,
            None => self.parameter.and_then(PyParameter::scalar),
        }
    }

    /// Whether the parameter is a pointer, as far as is known.
    fn is_pointer(&self) -> Option<bool> {
        match self.declared.or(self.parameter.and_then(|parameter| parameter.declared)) {
            Some(Declared::Pointer(_)) => Some(true),
            Some(Declared::Scalar(_)) => Some(false),
            None => match self.parameter.map(|parameter| (&parameter.kind, parameter.size)) {
                Some((ParameterKind::Buffer, _)) => Some(true),
                Some((ParameterKind::Value, POINTER)) | None => None,
                Some(_) => Some(false),
            },
        }
    }

    /// What the parameter needs, if it is neither a value nor an address.
    fn special(&self) -> Option<&'static str> {
        match self.parameter.map(|parameter| &parameter.kind)? {
            ParameterKind::Local => Some("dynamic LDS: pass wavemill.local(bytes)"),
            ParameterKind::Image => Some("an image, which cannot be passed from Python"),
            ParameterKind::Sampler => Some("a sampler, which cannot be passed from Python"),
            _ => None,
        }
    }

    fn bind(&self, arg: &Bound<'py, PyAny>, arrays: &mut Vec<Array<'py>>) -> PyResult<Arg> {
        let is_local = arg.cast::<PyScalar>().is_ok_and(|scalar| matches!(scalar.get().what, What::Local(_)));
        if let Some(special) = self.special().filter(|_| !is_local) {
            return Err(self.refuse(&format!("is {}, but the parameter is {special}", errors::typed(arg))));
        }
        if arg.is_none() {
            return match self.is_pointer() {
                Some(false) => Err(self.refuse("is None, a null pointer, but the parameter is no pointer")),
                _ => Ok(Arg::Value(0u64.to_le_bytes().to_vec())),
            };
        }
        if arg.is_instance_of::<PyInt>() {
            return self.integer(arg);
        }
        if let Ok(scalar) = arg.cast::<PyScalar>() {
            return self.typed(scalar.get());
        }
        // Scalars of numpy are arrays of one element, too, and those of 64 bits are Python's floats.
        if let Some(scalar) = numpy::scalar(arg)? {
            return self.numpy(arg, scalar);
        }
        if arg.is_instance_of::<PyFloat>() {
            return self.float(arg);
        }
        let Some(array) = exported(arg, &self.label(), &self.what())? else {
            let problem = format!(
                "is {}; expected an array (buffer protocol or DLPack on the CPU), a number, or None",
                errors::typed(arg)
            );
            return Err(self.refuse(&problem));
        };
        self.array(arg, array, arrays)
    }

    /// An integer of Python.
    fn integer(&self, arg: &Bound<'py, PyAny>) -> PyResult<Arg> {
        match self.scalar() {
            Some(of) => self.number(arg, of),
            None if self.is_pointer() == Some(true) => {
                let problem = format!(
                    "is the integer {}, but the parameter is a pointer: pass an array, None, or wavemill.u64(address)",
                    errors::shown(arg)
                );
                Err(self.refuse(&problem))
            }
            // A parameter of this size may be a float.
            None => Err(self.unknown(arg)),
        }
    }

    /// A float of Python.
    fn float(&self, arg: &Bound<'py, PyAny>) -> PyResult<Arg> {
        let known = self.scalar();
        if known.is_none() && self.is_pointer() == Some(true) {
            let problem = format!("is {}, but the parameter is a pointer", errors::shown(arg));
            return Err(self.refuse(&problem));
        }
        let by_size = || self.parameter.and_then(|parameter| Type::only_float(parameter.size as usize));
        match known.or_else(by_size) {
            Some(of) => self.number(arg, of),
            None => Err(self.unknown(arg)),
        }
    }

    /// The error for a number whose type is not known.
    fn unknown(&self, arg: &Bound<'py, PyAny>) -> PyErr {
        let shown = errors::shown(arg);
        let found = match self.parameter.map(|parameter| parameter.size as usize) {
            Some(size) => format!("the parameter has {}, and its type is not known", errors::bytes(size)),
            None => "the code object does not describe the parameter".to_owned(),
        };
        // Signed types say enough as examples.
        let example = |of: &Type| match self.parameter {
            Some(parameter) => parameter.size as usize == of.size(),
            None => of.size() == 4,
        };
        let is_float = arg.is_instance_of::<PyFloat>();
        let all: Vec<Type> = Type::all().filter(example).collect();
        let names = all.iter().map(|of| of.name()).filter(|name| match is_float {
            true => name.contains('f'),
            false => name.starts_with('i') || name.starts_with('f'),
        });
        let names: Vec<&str> = names.collect();
        let Some(first) = names.first() else {
            return self.refuse(&format!("is {shown}, but {found}: write wavemill.value(bytes)"));
        };
        let calls: Vec<String> = names.iter().map(|name| format!("wavemill.{name}({shown})")).collect();
        self.refuse(&format!(
            "is {shown}, but {found}: write {}, a scalar of numpy, or signature=\"...,{first},...\"",
            calls.join(" or ")
        ))
    }

    /// A number of Python as a type.
    fn number(&self, arg: &Bound<'py, PyAny>, of: Type) -> PyResult<Arg> {
        match scalar::bytes(arg, of)? {
            Some(bytes) => Ok(Arg::Value(bytes)),
            None => {
                let problem = format!(
                    "is {}, but the parameter is {} ({})",
                    errors::shown(arg),
                    of.name(),
                    errors::bytes(of.size())
                );
                Err(self.refuse(&problem))
            }
        }
    }

    /// A scalar with a type.
    fn typed(&self, scalar: &PyScalar) -> PyResult<Arg> {
        match (&scalar.what, scalar.of) {
            (What::Local(size), _) => Ok(Arg::Local(*size)),
            (What::Value(bytes), None) => self.sized(bytes.clone(), "a value"),
            (What::Value(bytes), Some(of)) => self.converted(
                bytes.clone(),
                of,
                &format!("wavemill.{}({})", of.name(), of.expression(bytes)),
            ),
        }
    }

    /// A scalar of numpy.
    fn numpy(&self, arg: &Bound<'py, PyAny>, scalar: numpy::Scalar) -> PyResult<Arg> {
        let numpy::Scalar { bytes, of, is_text, is_native } = scalar;
        if !is_native {
            let problem = format!(
                "is {} with bytes in another order than this host's: convert it, or write wavemill.value(bytes)",
                errors::typed(arg)
            );
            return Err(self.refuse(&problem));
        }
        match of {
            Some(of) => self.converted(bytes, of, &errors::shown(arg)),
            None if is_text => {
                let problem = format!("is {}; expected a number or an array", errors::typed(arg));
                Err(self.refuse(&problem))
            }
            None => self.sized(bytes, &errors::typed(arg)),
        }
    }

    /// A number with a type, which the parameter must have as well. The text is the number.
    fn converted(&self, bytes: Vec<u8>, of: Type, shown: &str) -> PyResult<Arg> {
        let bytes = match self.sized(bytes, shown)? {
            Arg::Value(bytes) => bytes,
            other => return Ok(other),
        };
        let expected = match self.scalar() {
            Some(expected) => expected.name(),
            None if of.is_float() && self.is_pointer() == Some(true) => "a pointer",
            None => return Ok(Arg::Value(bytes)),
        };
        let fits = self.scalar().is_some_and(|expected| {
            let number = of.number(&bytes).filter(|_| !expected.is_float() && !of.is_float());
            expected == of || number.is_some_and(|number| expected.bytes(number).is_some())
        });
        match fits {
            true => Ok(Arg::Value(bytes)),
            false => Err(self.refuse(&format!("is {shown}, but the parameter is {expected}"))),
        }
    }

    /// Bytes of a value, if the parameter has as many; the text says what it is.
    fn sized(&self, bytes: Vec<u8>, of: &str) -> PyResult<Arg> {
        let expected = match self.declared {
            Some(Declared::Scalar(declared)) => Some(declared.size() as u32),
            Some(Declared::Pointer(_)) => Some(POINTER),
            None => self.parameter.map(|parameter| parameter.size),
        };
        match expected.filter(|expected| *expected as usize != bytes.len()) {
            Some(expected) => {
                let found = errors::bytes(bytes.len());
                Err(self.refuse(&format!("is {of} ({found}), but the parameter has {expected}")))
            }
            None => Ok(Arg::Value(bytes)),
        }
    }

    /// An array, which the kernel uses in its place.
    fn array(
        &self,
        arg: &Bound<'py, PyAny>,
        array: Array<'py>,
        arrays: &mut Vec<Array<'py>>,
    ) -> PyResult<Arg> {
        let declared = self.declared.or(self.parameter.and_then(|parameter| parameter.declared));
        if self.is_pointer() == Some(false) {
            let expected = match (declared, self.parameter) {
                (Some(Declared::Scalar(of)), _) => of.name().to_owned(),
                (_, Some(parameter)) => format!("{} bytes by value", parameter.size),
                _ => "a value".to_owned(),
            };
            let problem = format!(
                "is {}, whose address has {POINTER} bytes, but the parameter is {expected}: pass a number, or \
                 wavemill.value(bytes)",
                errors::typed(arg)
            );
            return Err(self.refuse(&problem));
        }
        // Elements of one byte are raw memory.
        if let Some(Declared::Pointer(Some(to))) = declared
            && array.item_size != to.size
            && array.item_size > 1
        {
            let problem = format!(
                "is {} with elements of {}, but the parameter points to {} ({}): convert it, or pass its bytes \
                 (`.view(numpy.uint8)`)",
                errors::typed(arg),
                errors::bytes(array.item_size),
                to.name,
                errors::bytes(to.size)
            );
            return Err(self.refuse(&problem));
        }
        let address = array.address.to_le_bytes().to_vec();
        arrays.push(array);
        Ok(Arg::Value(address))
    }
}
