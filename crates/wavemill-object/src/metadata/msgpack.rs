//! Metadata of code object v3 and later: MessagePack (AMDGPUUsage, "Code Object V3 Metadata").

use rmp::Marker;
use rmp::encode;

use super::allowance::Allowance;
use super::value::{MAX_DEPTH, Value};
use crate::error::{Error, Result};

/// Times its own size that metadata may take in memory. That of compilers takes 5 to 7 times its size.
const FACTOR: usize = 16;

/// Reads one MessagePack value that fills `data`; trailing zeros are padding.
pub(super) fn parse(data: &[u8], offset: u64) -> Result<Value> {
    let mut decoder = Decoder::new(data, offset);
    let value = decoder.value(0)?;
    decoder.end()?;
    Ok(value)
}

/// Reads values one after the other, with bounds on their nesting and on the memory that they take.
pub(super) struct Decoder<'a> {
    data: &'a [u8],
    at: usize,
    /// Where the data stand in the code object.
    offset: u64,
    pub(super) allowance: Allowance,
}

impl<'a> Decoder<'a> {
    /// Reads `data`, which stand at `offset` in the code object.
    pub(super) fn new(data: &'a [u8], offset: u64) -> Self {
        Decoder { data, at: 0, offset, allowance: Allowance::new(data.len(), FACTOR) }
    }

    /// Where the data stand in the code object.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// An error at the item that is read.
    pub(super) fn error(&self, detail: impl Into<String>) -> Error {
        Error::malformed("MessagePack metadata", self.offset + self.at as u64, detail)
    }

    /// Takes the memory of so many items of a type.
    pub(super) fn spend<T>(&mut self, count: usize) -> Result<()> {
        self.allowance.spend::<T>(count).map_err(|detail| self.error(detail))
    }

    /// Nothing but padding may be left.
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

    /// A big-endian number of so many bytes, eight at most.
    fn number(&mut self, size: usize) -> Result<u64> {
        Ok(self.bytes(size)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The same with a sign.
    fn signed(&mut self, size: usize) -> Result<Value> {
        let unused = 64 - 8 * size as u32;
        Ok(Value::Integer(((self.number(size)? << unused) as i64 >> unused).into()))
    }

    fn marker(&mut self) -> Result<Marker> {
        Ok(Marker::from_u8(self.bytes(1)?.first().copied().unwrap_or_default()))
    }

    /// The number of entries, if a map comes next: its entries follow.
    pub(super) fn map(&mut self) -> Result<Option<usize>> {
        let start = self.at;
        let marker = self.marker()?;
        let length = self.map_length(marker)?;
        if length.is_none() {
            self.at = start;
        }
        Ok(length)
    }

    /// The number of items, if a list comes next: its items follow.
    pub(super) fn list(&mut self) -> Result<Option<usize>> {
        let start = self.at;
        let marker = self.marker()?;
        let length = self.list_length(marker)?;
        if length.is_none() {
            self.at = start;
        }
        Ok(length)
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

    /// The next value, within so many lists and maps.
    pub(super) fn value(&mut self, depth: u16) -> Result<Value> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        let marker = self.marker()?;
        if let Some(length) = self.list_length(marker)? {
            self.room::<Value>(length, 1)?;
            return Ok(Value::List((0..length).map(|_| self.value(depth + 1)).collect::<Result<_>>()?));
        }
        if let Some(length) = self.map_length(marker)? {
            self.room::<(String, Value)>(length, 2)?;
            let mut entry = || Ok((self.key(depth + 1)?, self.value(depth + 1)?));
            return Ok(Value::Map((0..length).map(|_| entry()).collect::<Result<_>>()?));
        }
        self.scalar(marker)
    }

    /// Makes sure that there is memory for a list of so many items, of which each takes `least` bytes of the data or more.
    fn room<T>(&mut self, length: usize, least: usize) -> Result<()> {
        let left = self.data.len() - self.at;
        if length.saturating_mul(least) > left {
            let detail =
                format!("a list or map has {length} items, and {left} bytes are left; the file is damaged");
            return Err(self.error(detail));
        }
        self.spend::<T>(length)
    }

    /// The key of a map; one that is not text is spelled out.
    pub(super) fn key(&mut self, depth: u16) -> Result<String> {
        let key = match self.value(depth)? {
            Value::Text(text) => return Ok(text),
            other => other.to_string(),
        };
        self.allowance.spend_text(key.len()).map_err(|detail| self.error(detail))?;
        Ok(key)
    }

    fn scalar(&mut self, marker: Marker) -> Result<Value> {
        Ok(match marker {
            Marker::Null => Value::Nil,
            Marker::False => Value::Bool(false),
            Marker::True => Value::Bool(true),
            Marker::FixPos(value) => Value::Integer(value.into()),
            Marker::FixNeg(value) => Value::Integer(value.into()),
            Marker::U8 => Value::Integer(self.number(1)?.into()),
            Marker::U16 => Value::Integer(self.number(2)?.into()),
            Marker::U32 => Value::Integer(self.number(4)?.into()),
            Marker::U64 => Value::Integer(self.number(8)?.into()),
            Marker::I8 => self.signed(1)?,
            Marker::I16 => self.signed(2)?,
            Marker::I32 => self.signed(4)?,
            Marker::I64 => self.signed(8)?,
            Marker::F32 => Value::Float(f32::from_bits(self.number(4)? as u32).into()),
            Marker::F64 => Value::Float(f64::from_bits(self.number(8)?)),
            Marker::FixStr(length) => self.text(length.into())?,
            Marker::Str8 => self.sized(1, Self::text)?,
            Marker::Str16 => self.sized(2, Self::text)?,
            Marker::Str32 => self.sized(4, Self::text)?,
            Marker::Bin8 => self.sized(1, Self::binary)?,
            Marker::Bin16 => self.sized(2, Self::binary)?,
            Marker::Bin32 => self.sized(4, Self::binary)?,
            Marker::Ext8 => self.sized(1, Self::extension)?,
            Marker::Ext16 => self.sized(2, Self::extension)?,
            Marker::Ext32 => self.sized(4, Self::extension)?,
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            other => {
                let detail = format!("the byte {:#04x} begins no item; the file is damaged", other.to_u8());
                return Err(self.error(detail));
            }
        })
    }

    /// An item whose length stands in front of it, in a number of `size` bytes.
    fn sized(&mut self, size: usize, read: fn(&mut Self, usize) -> Result<Value>) -> Result<Value> {
        let length = self.number(size)? as usize;
        read(self, length)
    }

    fn text(&mut self, length: usize) -> Result<Value> {
        let bytes = self.bytes(length)?;
        self.allowance.spend_text(length).map_err(|detail| self.error(detail))?;
        // A name with bytes that are not UTF-8 is shown with replacements.
        Ok(Value::Text(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn binary(&mut self, length: usize) -> Result<Value> {
        let bytes = self.bytes(length)?;
        self.allowance.spend_text(length).map_err(|detail| self.error(detail))?;
        Ok(Value::Bytes(bytes.to_vec()))
    }

    /// An item of a type that the format leaves to its users.
    fn extension(&mut self, length: usize) -> Result<Value> {
        self.bytes(1)?;
        self.binary(length)
    }
}

/// Writes a value: maps in the order of their keys, everything in the shortest form that it has, as LLVM does.
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
            // No reader makes such a number.
            _ => drop(encode::write_nil(out)),
        },
        // Half the bytes are enough for numbers of usual size, LLVM thinks, although digits are lost.
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
