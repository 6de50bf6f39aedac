//! Keys of launch files that are options.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

use serde::de::{DeserializeOwned, Error as _, MapAccess};

use super::RunArgs;
use super::forms::{BytesText, ExpectText, SecondsText, SizeText, Whole};
use crate::failure::Failure;

/// An option that launch files also have.
#[derive(Debug)]
pub(in crate::run) struct Key {
    pub name: &'static str,
    /// The part of the run that it applies to.
    pub scope: Scope,
    /// The form and the effect of the value. The command line wins.
    pub read: Read,
    /// Whether messages about the value begin with the name.
    pub is_named: bool,
    /// Its rank in messages that list all keys of a file, and all keys of a `[[launch]]` table.
    pub listed: (u8, u8),
    /// Its rank among the lines that `--init` writes, and its value there if it is given; `None` if
    /// the line depends on more than options.
    pub written: Option<(u8, Written)>,
}

/// The part of a run that a key applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Scope {
    /// The run: no `[[launch]]` table has it.
    Run,
    /// A launch. A table without it, and without the other key if there is one, uses the value
    /// above all tables.
    Launch { unless: &'static str },
    /// One launch: it cannot be above tables, because the question would have no answer.
    OneLaunch { question: &'static str },
    /// The end: of a launch in its table, of the run above all tables.
    End,
    /// The end, and a table without it uses the value above all tables.
    EveryEnd,
}

impl Scope {
    /// Any launch.
    pub(in crate::run) const LAUNCH: Scope = Scope::Launch { unless: "" };

    /// Whether `[[launch]]` tables have it.
    pub(in crate::run) fn is_of_launches(self) -> bool {
        self != Scope::Run
    }

    /// Whether it applies to the end of the run where it is above tables.
    pub(in crate::run) fn is_of_end(self) -> bool {
        matches!(self, Scope::End | Scope::EveryEnd)
    }
}

/// In files that `--init` writes, options of a lower rank come before the kernel, others after its
/// grid.
pub(in crate::run) const RANK_OF_KERNEL: u8 = 3;

/// The value of an option in TOML, if it is given.
type Written = fn(&RunArgs) -> Option<String>;

/// Applies the value of a key; file names in it are relative to the folder.
type Reader<T> = fn(&mut RunArgs, &T, &Path) -> Result<(), Failure>;

/// The form and the effect of a value.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum Read {
    Flag(Reader<bool>),
    Whole(Reader<Whole>),
    Bytes(Reader<BytesText>),
    Seconds(Reader<SecondsText>),
    Size(Reader<SizeText>),
    Text(Reader<String>),
    Texts(Reader<Vec<String>>),
    Expectations(Reader<Vec<ExpectText>>),
    /// A form of its own: see [`form`].
    Form(fn(toml::Value) -> Result<Value, String>),
}

/// Parses a value in a form that only one option has.
///
/// # Errors
/// The form that it expects.
pub(super) fn form<T: DeserializeOwned + 'static>(
    value: toml::Value,
    read: Reader<T>,
) -> Result<Value, String> {
    T::deserialize(value).map(|value| Value::of(read, value)).map_err(|error| error.message().to_owned())
}

/// Applies a parsed value.
type Take = dyn Fn(&mut RunArgs, &Path) -> Result<(), Failure>;

/// The value of a key, ready to be applied.
#[derive(Clone)]
pub(in crate::run) struct Value(Rc<Take>);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value")
    }
}

impl Value {
    fn of<T: 'static>(read: Reader<T>, value: T) -> Value {
        Value(Rc::new(move |args, base| read(args, &value, base)))
    }
}

impl Key {
    /// Reads the value after the key.
    ///
    /// # Errors
    /// A value in another form.
    pub(in crate::run) fn value<'de, M: MapAccess<'de>>(&self, map: &mut M) -> Result<Value, M::Error> {
        Ok(match self.read {
            Read::Flag(read) => Value::of(read, map.next_value()?),
            Read::Whole(read) => Value::of(read, map.next_value()?),
            Read::Bytes(read) => Value::of(read, map.next_value()?),
            Read::Seconds(read) => Value::of(read, map.next_value()?),
            Read::Size(read) => Value::of(read, map.next_value()?),
            Read::Text(read) => Value::of(read, map.next_value()?),
            Read::Texts(read) => Value::of(read, map.next_value()?),
            Read::Expectations(read) => Value::of(read, map.next_value()?),
            Read::Form(read) => map.next_value_seed(Form(read))?,
        })
    }

    /// Applies a value of this key to the options; `base` is the folder of the launch file.
    ///
    /// # Errors
    /// An invalid value.
    pub(in crate::run) fn take(&self, value: &Value, args: &mut RunArgs, base: &Path) -> Result<(), Failure> {
        (value.0)(args, base).map_err(|failure| match self.is_named {
            true => failure.within(self.name),
            false => failure,
        })
    }
}

/// Parses a value in its own form. The TOML parser adds the position to the error.
struct Form(fn(toml::Value) -> Result<Value, String>);

impl<'de> serde::de::DeserializeSeed<'de> for Form {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = serde::Deserialize::deserialize(deserializer)?;
        (self.0)(value).map_err(D::Error::custom)
    }
}
