//! Metadata of code object v3 and later: MessagePack (AMDGPUUsage, "Code Object V3 Metadata").

use rmpv::ValueRef;

use super::value::{MAX_DEPTH, Value};
use crate::error::{Error, Result};

/// Reads one MessagePack value that fills `data`; trailing zeros are padding.
pub(super) fn parse(data: &[u8], offset: u64) -> Result<Value> {
    let mut rest = data;
    let error = |rest: &[u8], detail: String| {
        Error::malformed("MessagePack metadata", offset + (data.len() - rest.len()) as u64, detail)
    };
    let value = match rmpv::decode::read_value_ref_with_max_depth(&mut rest, MAX_DEPTH.into()) {
        Ok(value) => value,
        Err(source) => return Err(error(rest, source.to_string())),
    };
    if rest.iter().any(|&byte| byte != 0) {
        return Err(error(rest, format!("{} bytes follow the end", rest.len())));
    }
    Ok(convert(value))
}

/// Writes a value: maps in the order of their keys, everything in the shortest form that it has, as LLVM does.
pub(super) fn write(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to a vector does not fail.
    let _ = rmpv::encode::write_value(&mut out, &packed(value));
    out
}

fn packed(value: &Value) -> rmpv::Value {
    use rmpv::Value as Packed;
    match value {
        Value::Nil => Packed::Nil,
        Value::Bool(value) => Packed::Boolean(*value),
        Value::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
            (Ok(value), _) => Packed::from(value),
            (_, Ok(value)) => Packed::from(value),
            // No reader makes such a number.
            _ => Packed::Nil,
        },
        // Half the bytes are enough for numbers of usual size, LLVM thinks, although digits are lost.
        Value::Float(value)
            if (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&value.abs()) =>
        {
            Packed::F32(*value as f32)
        }
        Value::Float(value) => Packed::F64(*value),
        Value::Text(text) => Packed::from(text.as_str()),
        Value::Bytes(bytes) => Packed::from(bytes.as_slice()),
        Value::List(items) => Packed::Array(items.iter().map(packed).collect()),
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
            Packed::Map(
                entries.into_iter().map(|(key, item)| (Packed::from(key.as_str()), packed(item))).collect(),
            )
        }
    }
}

/// The depth is bounded: the decoder has checked it.
fn convert(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Nil => Value::Nil,
        ValueRef::Boolean(value) => Value::Bool(value),
        ValueRef::Integer(value) => match (value.as_u64(), value.as_i64()) {
            (Some(value), _) => Value::Integer(value.into()),
            (None, Some(value)) => Value::Integer(value.into()),
            (None, None) => Value::Nil,
        },
        ValueRef::F32(value) => Value::Float(value.into()),
        ValueRef::F64(value) => Value::Float(value),
        ValueRef::String(text) => match text.as_str() {
            Some(text) => Value::Text(text.to_owned()),
            // A name with bytes that are not UTF-8 is shown with replacements.
            None => Value::Text(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        },
        ValueRef::Binary(bytes) | ValueRef::Ext(_, bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Array(items) => Value::List(items.into_iter().map(convert).collect()),
        ValueRef::Map(items) => {
            let key = |key| match convert(key) {
                Value::Text(text) => text,
                other => other.to_string(),
            };
            Value::Map(items.into_iter().map(|(name, item)| (key(name), convert(item))).collect())
        }
    }
}
