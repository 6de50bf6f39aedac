//! Metadata as a tree, before its keys are interpreted.

use std::fmt;

use crate::error::{Error, Result};

/// Deepest nesting that is read; real metadata has six levels.
pub(super) const MAX_DEPTH: u16 = 32;

/// A node of the metadata: the common data model of MessagePack and the YAML of code object v2.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Nil,
    /// Yes or no.
    Bool(bool),
    /// A whole number of up to 64 bits, signed or not.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// A sequence.
    List(Vec<Value>),
    /// A map, in the order of the file.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The kind of this node, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a floating-point number",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::Bytes(value) => write!(f, "{} bytes", value.len()),
            Value::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Map(items) => {
                f.write_str("{")?;
                for (at, (key, item)) in items.iter().enumerate() {
                    write!(f, "{}{key}: {item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Takes keys out of a map; the remaining entries are kept.
pub(super) struct Reader {
    entries: Vec<(String, Value)>,
    /// The location of the map, for messages: `kernel 2, argument 0`.
    place: String,
    /// Offset of the metadata in the code object.
    offset: u64,
}

impl Reader {
    pub(super) fn new(value: Value, place: impl Into<String>, offset: u64) -> Result<Self> {
        let place = place.into();
        match value {
            Value::Map(entries) => Ok(Reader { entries, place, offset }),
            other => Err(Error::malformed(
                "metadata",
                offset,
                format!("{place}: expected a map, found {}", other.kind()),
            )),
        }
    }

    /// The entries that were not taken.
    pub(super) fn rest(self) -> Vec<(String, Value)> {
        self.entries
    }

    /// Sets the name of this map for messages, once it is known.
    pub(super) fn place(&mut self, place: String) {
        self.place = place;
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn error(&self, detail: impl fmt::Display) -> Error {
        Error::malformed("metadata", self.offset, format!("{}: {detail}", self.place))
    }

    fn mismatch(&self, key: &str, expected: &str, found: &Value) -> Error {
        self.error(format_args!("`{key}` should be {expected}, but is {}", found.kind()))
    }

    pub(super) fn missing(&self, key: &str) -> Error {
        self.error(format_args!("`{key}` is missing"))
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(at).1)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.mismatch(key, "text", &other)),
        }
    }

    pub(super) fn integer(&mut self, key: &str) -> Result<Option<u32>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match value {
            Value::Nil => Ok(None),
            Value::Bool(value) => Ok(Some(u32::from(value))),
            Value::Integer(value) => match u32::try_from(value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.error(format_args!("`{key}` is {value}, which is not a 32-bit size"))),
            },
            other => Err(self.mismatch(key, "an integer", &other)),
        }
    }

    /// A boolean; some compilers write 0 or 1.
    pub(super) fn flag(&mut self, key: &str) -> Result<bool> {
        match self.take(key) {
            None | Some(Value::Nil) => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(Value::Integer(value)) => Ok(value != 0),
            Some(other) => Err(self.mismatch(key, "a boolean", &other)),
        }
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>> {
        match self.take(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::List(items)) => Ok(Some(items)),
            Some(other) => Err(self.mismatch(key, "a list", &other)),
        }
    }

    /// A list of exactly `N` numbers.
    pub(super) fn numbers<const N: usize>(&mut self, key: &str) -> Result<Option<[u32; N]>> {
        let Some(items) = self.list(key)? else { return Ok(None) };
        let mut out = [0; N];
        let all = items.len() == N
            && out.iter_mut().zip(&items).all(|(out, item)| match item {
                Value::Integer(value) => u32::try_from(*value).map(|value| *out = value).is_ok(),
                _ => false,
            });
        match all {
            true => Ok(Some(out)),
            false => Err(self.error(format_args!("`{key}` should be {N} integers"))),
        }
    }
}
