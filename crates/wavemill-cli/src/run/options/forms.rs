//! Forms of values in launch files.

use serde::Deserialize;

use crate::failure::Failure;
use crate::run::size::Size;

/// A whole number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged, expecting = "expected a whole number, 0 or more")]
pub(crate) enum Whole {
    Number(u64),
}

impl Whole {
    pub(crate) fn get(self) -> u64 {
        let Whole::Number(number) = self;
        number
    }

    /// The text of the option with this value.
    pub(crate) fn text(self) -> String {
        self.get().to_string()
    }
}

/// A number of bytes.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged, expecting = "expected a number of bytes such as 65536 or \"64K\"")]
pub(crate) enum BytesText {
    Number(u64),
    Text(String),
}

impl BytesText {
    /// The text of the option with this value.
    pub(crate) fn text(&self) -> String {
        match self {
            BytesText::Number(number) => number.to_string(),
            BytesText::Text(text) => text.clone(),
        }
    }
}

/// A number of seconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected a number of seconds such as 10 or 0.5")]
pub(crate) enum SecondsText {
    Number(f64),
}

impl SecondsText {
    pub(crate) fn get(self) -> f64 {
        let SecondsText::Number(seconds) = self;
        seconds
    }
}

/// A size: `4`, `[4, 2]` or `"4x2"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a size such as 4, [4, 2] or \"4x2x1\"")]
pub(crate) enum SizeText {
    One(u64),
    List(Vec<u64>),
    Text(String),
}

impl SizeText {
    pub(crate) fn size(&self) -> Result<Size, Failure> {
        match self {
            SizeText::One(n) => Size::from_list(&[*n]),
            SizeText::List(list) => Size::from_list(list),
            SizeText::Text(text) => text.parse(),
        }
    }

    /// The numbers of an offset, which may be zero.
    pub(crate) fn offset(&self) -> Result<[u64; 3], Failure> {
        match self {
            SizeText::One(x) => Ok([*x, 0, 0]),
            SizeText::List(list) if (1..=3).contains(&list.len()) => {
                Ok(std::array::from_fn(|d| list.get(d).copied().unwrap_or(0)))
            }
            SizeText::List(_) => Err(Failure::usage("expected one to three numbers")),
            SizeText::Text(text) => Size::offset(text),
        }
    }
}

/// An expectation: `"y=ref.npy"`, or with its own tolerance.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected \"y=ref.npy\" or { that = \"y=ref.npy\", tolerance = \"ulp=1\" }")]
pub(crate) enum ExpectText {
    Plain(String),
    WithTolerance { that: String, tolerance: String },
}
