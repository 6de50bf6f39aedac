//! Metadata of code object v3 and later: MessagePack (AMDGPUUsage, "Code Object V3 Metadata").

use rmp::Marker;
use rmp::encode;

use super::allowance::Allowance;
use super::value::{MAX_DEPTH, Value};
use crate::error::{Error, Result};

/// Limit on the memory for metadata, as a multiple of its size. Compilers' metadata needs 5 to 7
/// times its size.
const FACTOR: usize = 10;

/// Reads one MessagePack value from all of `data`; trailing zeros are padding.
pub(super) fn parse(data: &[u8], offset: u64) -> Result<Value> {
    let mut decoder = Decoder::new(data, offset);
    let value = decoder.value(0)?;
    decoder.end()?;
    Ok(value)
}

/// Reads consecutive values, with bounds on their nesting and on the memory that they use.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'a> {
    data: &'a [u8],
    at: usize,
    /// The offset of the data in the code object.
    offset: u64,
    pub(super) allowance: Allowance,
}

impl<'a> Decoder<'a> {
    /// Reads `data`, which begins at `offset` in the code object.
    pub(super) fn new(data: &'a [u8], offset: u64) -> Self {
        Decoder { data, at: 0, offset, allowance: Allowance::new(data.len(), FACTOR) }
    }

    /// The offset of the data in the code object.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// An error at the current item.
    pub(super) fn error(&self, detail: impl Into<String>) -> Error {
        Error::malformed("MessagePack metadata", self.offset + self.at as u64, detail)
    }

    /// Charges the memory of `count` items of a type.
    pub(super) fn spend<T>(&mut self, count: usize) -> Result<()> {
        self.allowance.spend::<T>(count).map_err(|detail| self.error(detail))
    }

    /// Checks that only padding is left.
    pub(super) fn end(&self) -> Result<()> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        match rest.iter().any(|&byte| byte != 0) {
            true => Err(self.error(format!("{} bytes follow the end", rest.len()))),
            false => Ok(()),
        }
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let left = self.data.len() - self.at;
        let end = self.at.checked_add(length).filter(|&end| end <= self.data.len()).ok_or_else(|| {
            self.error(format!("an item needs {length} bytes, and {left} are left; the file is damaged"))
        })?;
        let bytes = self.data.get(self.at..end).unwrap_or_default();
        self.at = end;
        Ok(bytes)
    }

    /// A big-endian number of `size` bytes, at most eight.
    fn number(&mut self, size: usize) -> Result<u64> {
        Ok(self.bytes(size)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn marker(&mut self) -> Result<Marker> {
        Ok(Marker::from_u8(self.bytes(1)?.first().copied().unwrap_or_default()))
    }

    /// The number of entries if the next item is a map; its entries follow. Checks that there is
    /// memory for them.
    pub(super) fn map(&mut self) -> Result<Option<usize>> {
        let start = *self;
        let marker = self.marker()?;
        let length = self.map_length(marker)?;
        match length {
            Some(length) => self.room::<(String, Value)>(length, 2)?,
            None => *self = start,
        }
        Ok(length)
    }

    /// The number of items if the next item is a list; its items follow.
    pub(super) fn list(&mut self) -> Result<Option<usize>> {
        let start = *self;
        let marker = self.marker()?;
        let length = self.list_length(marker)?;
        if length.is_none() {
            *self = start;
        }
        Ok(length)
    }

    /// The number of items if the next item is a list, without consuming it.
    pub(super) fn next_list(&self) -> Result<Option<usize>> {
        let mut ahead = *self;
        ahead.list()
    }

    fn map_length(&mut self, marker: Marker) -> Result<Option<usize>> {
        Ok(Some(match marker {
            Marker::FixMap(length) => length.into(),
            Marker::Map16 => self.number(2)? as usize,
            Marker::Map32 => self.number(4)? as usize,
            _ => return Ok(None),
        }))
    }

    fn list_length(&mut self, marker: Marker) -> Result<Option<usize>> {
        Ok(Some(match marker {
            Marker::FixArray(length) => length.into(),
            Marker::Array16 => self.number(2)? as usize,
            Marker::Array32 => self.number(4)? as usize,
            _ => return Ok(None),
        }))
    }

    /// The next value, inside `depth` lists and maps. Before keeping any of it, checks that it is
    /// complete and that there is memory for it.
    pub(super) fn value(&mut self, depth: u16) -> Result<Value> {
        let mut ahead = *self;
        ahead.measure(depth)?;
        self.allowance = ahead.allowance;
        self.build()
    }

    /// Skips the next value.
    pub(super) fn skip(&mut self, depth: u16) -> Result<()> {
        let mut ahead = Decoder { allowance: Allowance::UNLIMITED, ..*self };
        ahead.measure(depth)?;
        self.at = ahead.at;
        Ok(())
    }

    /// Skips the next value and charges the memory that [`Decoder::build`] needs for it.
    fn measure(&mut self, depth: u16) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        let marker = self.marker()?;
        if let Some(length) = self.list_length(marker)? {
            self.room::<Value>(length, 1)?;
            return (0..length).try_for_each(|_| self.measure(depth + 1));
        }
        if let Some(length) = self.map_length(marker)? {
            self.room::<(String, Value)>(length, 2)?;
            // Keys and values alternate.
            return (0..2 * length).try_for_each(|_| self.measure(depth + 1));
        }
        let contents = self.contents(marker)?;
        match is_number(marker) {
            true => Ok(()),
            false => self.allowance.spend_text(contents.len()).map_err(|detail| self.error(detail)),
        }
    }

    /// Builds the next value, which has been measured.
    fn build(&mut self) -> Result<Value> {
        let marker = self.marker()?;
        if let Some(length) = self.list_length(marker)? {
            return Ok(Value::List((0..length).map(|_| self.build()).collect::<Result<_>>()?));
        }
        if let Some(length) = self.map_length(marker)? {
            let mut entry = || {
                let key = self.build()?;
                Ok((self.spelled(key)?, self.build()?))
            };
            return Ok(Value::Map((0..length).map(|_| entry()).collect::<Result<_>>()?));
        }
        Ok(scalar(marker, self.contents(marker)?))
    }

    /// Checks that there is memory for a list of `length` items, each of at least `least` bytes in
    /// the data.
    fn room<T>(&mut self, length: usize, least: usize) -> Result<()> {
        let left = self.data.len() - self.at;
        if length.saturating_mul(least) > left {
            let detail =
                format!("a list or map has {length} items, and {left} bytes are left; the file is damaged");
            return Err(self.error(detail));
        }
        self.allowance.spend_list::<T>(length).map_err(|detail| self.error(detail))
    }

    /// The key of a map.
    pub(super) fn key(&mut self, depth: u16) -> Result<String> {
        let key = self.value(depth)?;
        self.spelled(key)
    }

    /// A key as text; keys of other types are converted to text.
    fn spelled(&mut self, key: Value) -> Result<String> {
        let key = match key {
            Value::Text(text) => return Ok(text),
            other => other.to_string(),
        };
        self.allowance.spend_text(key.len()).map_err(|detail| self.error(detail))?;
        Ok(key)
    }

    /// The bytes of an item that is neither a list nor a map, after its marker, its length and its
    /// type.
    fn contents(&mut self, marker: Marker) -> Result<&'a [u8]> {
        let size = match marker {
            Marker::Null | Marker::False | Marker::True | Marker::FixPos(_) | Marker::FixNeg(_) => 0,
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            Marker::FixStr(length) => length.into(),
            Marker::Str8 | Marker::Bin8 | Marker::Ext8 => self.number(1)? as usize,
            Marker::Str16 | Marker::Bin16 | Marker::Ext16 => self.number(2)? as usize,
            Marker::Str32 | Marker::Bin32 | Marker::Ext32 => self.number(4)? as usize,
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            other => {
                let detail =
                    format!("no item begins with the byte {:#04x}; the file is damaged", other.to_u8());
                return Err(self.error(detail));
            }
        };
        if is_extension(marker) {
            self.bytes(1)?;
        }
        self.bytes(size)
    }
}

/// Whether an item has a type of the application: one byte before its contents names the type.
fn is_extension(marker: Marker) -> bool {
    let fixed = [Marker::FixExt1, Marker::FixExt2, Marker::FixExt4, Marker::FixExt8, Marker::FixExt16]
        .contains(&marker);
    fixed || [Marker::Ext8, Marker::Ext16, Marker::Ext32].contains(&marker)
}

/// Whether an item is a number, a boolean or nil, which needs no memory beyond its node.
fn is_number(marker: Marker) -> bool {
    !matches!(scalar(marker, &[]), Value::Text(_) | Value::Bytes(_))
}

/// The item with this marker and these bytes; neither a list nor a map.
fn scalar(marker: Marker, bytes: &[u8]) -> Value {
    // Numbers are big-endian and have at most eight bytes.
    let number = || bytes.iter().take(8).fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    let signed = || {
        let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
        Value::Integer(((number() << unused) as i64 >> unused).into())
    };
    match marker {
        Marker::Null => Value::Nil,
        Marker::False => Value::Bool(false),
        Marker::True => Value::Bool(true),
        Marker::FixPos(value) => Value::Integer(value.into()),
        Marker::FixNeg(value) => Value::Integer(value.into()),
        Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => Value::Integer(number().into()),
        Marker::I8 | Marker::I16 | Marker::I32 | Marker::I64 => signed(),
        Marker::F32 => Value::Float(f32::from_bits(number() as u32).into()),
        Marker::F64 => Value::Float(f64::from_bits(number())),
        // Show text that is not UTF-8 with replacement characters.
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => Value::Bytes(bytes.to_vec()),
    }
}

/// Writes a value as LLVM does: maps sorted by key, every item in its shortest form.
pub(super) fn write(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put(value, &mut out);
    out
}

// Writing to a vector does not fail.
fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => drop(encode::write_nil(out)),
        Value::Bool(value) => drop(encode::write_bool(out, *value)),
        Value::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
            (Ok(value), _) => drop(encode::write_uint(out, value)),
            (_, Ok(value)) => drop(encode::write_sint(out, value)),
            // No reader produces such a number.
            _ => drop(encode::write_nil(out)),
        },
        // LLVM writes numbers in the range of `f32` with four bytes, although this loses digits.
        Value::Float(value)
            if (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&value.abs()) =>
        {
            drop(encode::write_f32(out, *value as f32));
        }
        Value::Float(value) => drop(encode::write_f64(out, *value)),
        Value::Text(text) => drop(encode::write_str(out, text)),
        Value::Bytes(bytes) => drop(encode::write_bin(out, bytes)),
        Value::List(items) => {
            let _ = encode::write_array_len(out, items.len() as u32);
            items.iter().for_each(|item| put(item, out));
        }
        Value::Map(entries) => {
            let _ = encode::write_map_len(out, entries.len() as u32);
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
            for (key, item) in entries {
                let _ = encode::write_str(out, key);
                put(item, out);
            }
        }
    }
}
