//! Arguments of calls as arguments of launches.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};
use wavemill::Arg;
use wavemill::module::ParameterKind;

use crate::errors::{self, refuse};
use crate::memory::Array;
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
            let known: Vec<&str> = Type::ALL.into_iter().map(Type::name).collect();
            let text = format!(
                "the signature has the unknown type `{}`; expected `*` and a type for pointers, `ptr`, or one of {}",
                one.trim(),
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
        let Ok(all) = memory.try_iter() else {
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
        let Some(array) = Array::of(object, &name)? else {
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

/// The argument with a number, and what is known about its parameter.
struct Binder<'a, 'py> {
    py: Python<'py>,
    index: usize,
    parameter: Option<&'a PyParameter>,
    declared: Option<Declared>,
}

impl<'py> Binder<'_, 'py> {
    fn refuse(&self, problem: &str) -> PyErr {
        let name = match self.parameter.map(|parameter| (parameter.is_named(), &parameter.label)) {
            Some((true, label)) => format!("argument {} (`{label}`)", self.index),
            _ => format!("argument {}", self.index),
        };
        refuse(self.py, format!("{name} {problem}"))
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

    fn bind(&self, arg: &Bound<'py, PyAny>, arrays: &mut Vec<Array<'py>>) -> PyResult<Arg> {
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
        if let Some(bytes) = numpy_scalar(arg)? {
            return self.bytes(bytes, &errors::typed(arg));
        }
        if arg.is_instance_of::<PyFloat>() {
            return self.float(arg);
        }
        let Some(array) = Array::of(arg, &self.label())? else {
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
        if let Some(of) = self.scalar() {
            return self.number(arg, of);
        }
        if self.is_pointer() == Some(true) {
            let problem = format!(
                "is the integer {}, but the parameter is a pointer: pass an array, None, or wavemill.u64(address)",
                errors::shown(arg)
            );
            return Err(self.refuse(&problem));
        }
        // Any integer of this size: signed or not.
        let size = self.parameter.map(|parameter| parameter.size);
        let (signed, unsigned) = match size {
            Some(1) => (Type::I8, Type::U8),
            Some(2) => (Type::I16, Type::U16),
            Some(4) => (Type::I32, Type::U32),
            Some(8) => (Type::I64, Type::U64),
            _ => return Err(self.unknown(arg, "wavemill.i32", "i32")),
        };
        let number = scalar::integer(arg);
        match number.and_then(|number| signed.of_integer(number).or_else(|| unsigned.of_integer(number))) {
            Some(bytes) => Ok(Arg::Value(bytes)),
            None => {
                let problem = format!(
                    "is {}, but the parameter has {} bytes",
                    errors::shown(arg),
                    size.unwrap_or_default()
                );
                Err(self.refuse(&problem))
            }
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
            None => Err(self.unknown(arg, "wavemill.f32", "f32")),
        }
    }

    /// The error for a number of unknown width.
    fn unknown(&self, arg: &Bound<'py, PyAny>, call: &str, name: &str) -> PyErr {
        let shown = errors::shown(arg);
        let found = match self.parameter.map(|parameter| parameter.size) {
            Some(size) => format!("the parameter has {size} bytes, and its type is not known"),
            None => "the code object does not describe the parameter".to_owned(),
        };
        self.refuse(&format!(
            "is {shown}, but {found}: write {call}({shown}), a scalar of numpy, or signature=\"...,{name},...\""
        ))
    }

    /// A number of Python as a type.
    fn number(&self, arg: &Bound<'py, PyAny>, of: Type) -> PyResult<Arg> {
        match scalar::bytes(arg, of)? {
            Some(bytes) => Ok(Arg::Value(bytes)),
            None => {
                let problem = format!(
                    "is {}, but the parameter is {} ({} bytes)",
                    errors::shown(arg),
                    of.name(),
                    of.size()
                );
                Err(self.refuse(&problem))
            }
        }
    }

    /// A scalar with a type.
    fn typed(&self, scalar: &PyScalar) -> PyResult<Arg> {
        match &scalar.what {
            What::Local(size) => Ok(Arg::Local(*size)),
            What::Value(bytes) => {
                let of =
                    scalar.of.map_or_else(|| "a value".to_owned(), |of| format!("wavemill.{}", of.name()));
                self.bytes(bytes.clone(), &of)
            }
        }
    }

    /// Bytes of a value; the text says what it is.
    fn bytes(&self, bytes: Vec<u8>, of: &str) -> PyResult<Arg> {
        let expected = match self.declared {
            Some(Declared::Scalar(declared)) => Some(declared.size() as u32),
            Some(Declared::Pointer(_)) => Some(POINTER),
            None => self.parameter.map(|parameter| parameter.size),
        };
        match expected.filter(|expected| *expected as usize != bytes.len()) {
            Some(expected) => {
                let problem = format!("is {of} ({} bytes), but the parameter has {expected}", bytes.len());
                Err(self.refuse(&problem))
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
            && array.item_size != to.size()
            && array.item_size > 1
        {
            let problem = format!(
                "is {} with elements of {} bytes, but the parameter points to {} ({} bytes): convert it, or pass \
                 its bytes (`.view(numpy.uint8)`)",
                errors::typed(arg),
                array.item_size,
                to.name(),
                to.size()
            );
            return Err(self.refuse(&problem));
        }
        let address = array.address.to_le_bytes().to_vec();
        arrays.push(array);
        Ok(Arg::Value(address))
    }
}

/// The bytes of a scalar of numpy or of ml_dtypes; `None` for other objects.
fn numpy_scalar(arg: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    let py = arg.py();
    let of = arg.get_type();
    // Scalars and arrays have a dtype; only scalars derive from `generic`.
    let generic = match errors::numpy_generic(py)? {
        Some(generic) => of.is_subclass(generic)?,
        None => false,
    };
    if !generic {
        return Ok(None);
    }
    arg.call_method0(pyo3::intern!(py, "tobytes"))?.extract().map(Some)
}
