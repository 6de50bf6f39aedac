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
