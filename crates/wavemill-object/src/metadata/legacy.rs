//! Metadata of code object v2 in the keys of v3 (AMDGPUUsage, "Code Object V2 Metadata").

use super::value::Value;

/// Keys of v2 that v3 does not spell `.snake_case`.
const RENAMED: &[(&str, &str)] = &[
    ("SymbolName", ".symbol"),
    ("AddrSpaceQual", ".address_space"),
    ("AccQual", ".access"),
    ("ActualAccQual", ".actual_access"),
    ("NumSGPRs", ".sgpr_count"),
    ("NumVGPRs", ".vgpr_count"),
    ("NumSpilledSGPRs", ".sgpr_spill_count"),
    ("NumSpilledVGPRs", ".vgpr_spill_count"),
    ("MaxFlatWorkGroupSize", ".max_flat_workgroup_size"),
    ("ReqdWorkGroupSize", ".reqd_workgroup_size"),
    ("WorkGroupSizeHint", ".workgroup_size_hint"),
    ("RuntimeHandle", ".device_enqueue_symbol"),
    ("IsDynamicCallStack", ".uses_dynamic_stack"),
];

/// Keys whose values name an enumerator in CamelCase.
const ENUMERATED: &[&str] = &[".value_kind", ".address_space", ".access", ".actual_access"];

/// Maps whose entries are in the kernel's own map since v3.
const FLATTENED: &[&str] = &["Attrs", "CodeProps"];

/// Renames the keys of a v2 document to those of v3.
pub(super) fn modernise(document: Value) -> Value {
    let Value::Map(entries) = document else { return document };
    let rename = |(key, value): (String, Value)| match key.as_str() {
        "Version" => ("amdhsa.version".to_owned(), value),
        "Printf" => ("amdhsa.printf".to_owned(), value),
        "Kernels" => ("amdhsa.kernels".to_owned(), each(value, kernel)),
        _ => (key, value),
    };
    Value::Map(entries.into_iter().map(rename).collect())
}

fn each(value: Value, convert: fn(Value) -> Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(convert).collect()),
        other => other,
    }
}

fn kernel(value: Value) -> Value {
    let Value::Map(entries) = value else { return value };
    let mut out = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        match value {
            Value::Map(inner) if FLATTENED.contains(&key.as_str()) => {
                out.extend(inner.into_iter().map(|(key, value)| (rename(&key), value)));
            }
            value if key == "Args" => out.push((".args".to_owned(), each(value, argument))),
            value => out.push((rename(&key), value)),
        }
    }
    Value::Map(out)
}

fn argument(value: Value) -> Value {
    let Value::Map(entries) = value else { return value };
    let mut out = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let key = rename(&key);
        let value = match value.as_text() {
            // v2 spells "no qualifier" out; later versions omit it.
            Some("Default") if key.ends_with("access") => continue,
            Some(name) if ENUMERATED.contains(&key.as_str()) => Value::Text(snake(name)),
            _ => value,
        };
        out.push((key, value));
    }
    Value::Map(out)
}

fn rename(key: &str) -> String {
    match RENAMED.iter().find(|(old, _)| *old == key) {
        Some((_, new)) => (*new).to_owned(),
        None => format!(".{}", snake(key)),
    }
}

/// `HiddenGlobalOffsetX` to `hidden_global_offset_x`.
fn snake(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
