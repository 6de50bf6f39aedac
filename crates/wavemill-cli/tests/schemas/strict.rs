//! Validates JSON with the schemas in docs/schemas. Here they allow no unknown fields. Counts which
//! fields occur.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use jsonschema::{Registry, Validator};
use serde_json::{Map, Value, json};

/// The folder of the schemas.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// How often a property occurs.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    present: usize,
    null: usize,
}

/// The objects that a schema has described.
#[derive(Clone, Debug, Default)]
struct Seen {
    objects: usize,
    properties: BTreeMap<String, Count>,
}

/// An object in a JSON document, and its schema.
struct Described<'a> {
    /// `FILE#POINTER`.
    schema: String,
    node: &'a Value,
    object: &'a Map<String, Value>,
    /// A JSON pointer.
    position: String,
}

/// All schemas.
pub(crate) struct Schemas {
    /// By file name.
    files: BTreeMap<String, Value>,
    /// As published: unknown fields are allowed.
    published: BTreeMap<String, Validator>,
    /// Unknown fields are forbidden.
    strict: BTreeMap<String, Validator>,
    seen: BTreeMap<String, Seen>,
    /// One document of each schema, kind and set of fields.
    samples: BTreeMap<(String, String, String), Value>,
    /// Number of valid documents.
    pub(crate) valid: usize,
}

/// Whether a schema describes the fields of an object. Conditions that select a schema by `kind`
/// have no type.
fn describes_fields(schema: &Map<String, Value>) -> bool {
    let fields = schema.contains_key("properties") || schema.contains_key("patternProperties");
    schema.get("type") == Some(&json!("object")) && fields
}

/// Calls `visit` for a schema and everything in it.
fn each_schema<'a>(schema: &'a Value, pointer: &str, visit: &mut impl FnMut(&'a Map<String, Value>, &str)) {
    match schema {
        Value::Object(map) => {
            visit(map, pointer);
            map.iter().for_each(|(key, value)| each_schema(value, &format!("{pointer}/{key}"), visit));
        }
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, value)| each_schema(value, &format!("{pointer}/{index}"), visit)),
        _ => {}
    }
}

/// The schema, with unknown fields forbidden.
fn made_strict(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), made_strict(value))).collect();
            if describes_fields(map) {
                out.insert("additionalProperties".to_owned(), json!(false));
            }
            Value::Object(out)
        }
        Value::Array(list) => Value::Array(list.iter().map(made_strict).collect()),
        other => other.clone(),
    }
}

/// Whether a value may be null.
fn is_nullable(schema: &Value) -> bool {
    let holds_null = |key: &str, null: Value| match &schema[key] {
        Value::Array(list) => list.contains(&null),
        _ => false,
    };
    let any = schema["anyOf"].as_array().is_some_and(|list| list.iter().any(is_nullable));
    any || schema["type"] == "null" || holds_null("type", json!("null")) || holds_null("enum", Value::Null)
}

fn validators(files: &BTreeMap<String, Value>) -> BTreeMap<String, Validator> {
    let id = |schema: &Value| schema["$id"].as_str().unwrap().to_owned();
    let add = |registry: jsonschema::RegistryBuilder<'static>, schema: &Value| {
        registry.add(id(schema), schema.clone()).unwrap()
    };
    let registry = files.values().fold(Registry::new(), add).prepare().unwrap();
    let build = |schema: &Value| {
        jsonschema::options()
            .with_registry(&registry)
            .build(schema)
            .unwrap_or_else(|error| panic!("{}: {error}", id(schema)))
    };
    files.iter().map(|(name, schema)| (name.clone(), build(schema))).collect()
}

impl Schemas {
    /// Reads docs/schemas.
    pub(crate) fn read() -> Schemas {
        let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
        let files: BTreeMap<String, Value> = paths
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                (name.clone(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
            })
            .collect();
        let strict = files.iter().map(|(name, schema)| (name.clone(), made_strict(schema))).collect();
        Schemas {
            published: validators(&files),
            strict: validators(&strict),
            files,
            seen: BTreeMap::new(),
            samples: BTreeMap::new(),
            valid: 0,
        }
    }

    /// The schemas by file name.
    pub(crate) fn files(&self) -> &BTreeMap<String, Value> {
        &self.files
    }

    /// The schema called `name`, as published.
    pub(crate) fn published(&self, name: &str) -> &Validator {
        &self.published[name]
    }

    /// Whether the schema called `name` accepts a document and describes all of its fields.
    pub(crate) fn accepts(&self, name: &str, document: &Value) -> bool {
        self.strict[name].is_valid(document)
    }

    /// Validates a document with the schema called `name`, and counts its fields.
    pub(crate) fn check(&mut self, name: &str, document: &Value) -> Result<(), String> {
        let error = |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
        let errors: Vec<String> = self.strict[name].iter_errors(document).map(error).collect();
        if !errors.is_empty() {
            return Err(format!("{name}:\n{}\n{document:#}", errors.join("\n")));
        }
        let mut seen = std::mem::take(&mut self.seen);
        for described in self.described(name, document) {
            let all = seen.entry(described.schema).or_default();
            all.objects += 1;
            for (property, value) in described.object {
                let count = all.properties.entry(property.clone()).or_default();
                count.present += 1;
                count.null += usize::from(value.is_null());
            }
        }
        self.seen = seen;
        let fields: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        let fields = fields.join(" ");
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        self.samples.entry((name.to_owned(), kind, fields)).or_insert_with(|| document.clone());
        self.valid += 1;
        Ok(())
    }

    /// The objects in a valid document, with their schemas.
    fn described<'a>(&'a self, name: &str, document: &'a Value) -> Vec<Described<'a>> {
        let evaluation = self.published[name].evaluate(document);
        let mut all = Vec::new();
        for entry in evaluation.iter_annotations() {
            let location = entry.absolute_keyword_location.expect("schemas have an $id").as_str();
            let (file, pointer) = location.split_once('#').unwrap();
            let (_, file) = file.rsplit_once('/').unwrap();
            let parent = |keyword| pointer.strip_suffix(keyword);
            let Some(pointer) = parent("/properties").or_else(|| parent("/patternProperties")) else {
                continue;
            };
            let node = self.files[file].pointer(pointer).unwrap_or_else(|| panic!("{location}"));
            if !node.as_object().is_some_and(describes_fields) {
                continue;
            }
            let position = entry.instance_location.as_str();
            let object = document.pointer(position).and_then(Value::as_object).unwrap();
            let schema = format!("{file}#{pointer}");
            all.push(Described { schema, node, object, position: position.to_owned() });
        }
        all
    }

    /// Parts of the schemas that no document had: fields that never occurred, optional fields that
    /// were never absent, and nullable fields that were never null or always null.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (file, schema) in &self.files {
            each_schema(schema, "", &mut |node, pointer| {
                let Some(properties) = node.get("properties").filter(|_| describes_fields(node)) else {
                    return;
                };
                let required = node.get("required").and_then(Value::as_array);
                let seen = self.seen.get(&format!("{file}#{pointer}")).cloned().unwrap_or_default();
                for (name, schema) in properties.as_object().unwrap() {
                    let Count { present, null } = seen.properties.get(name).copied().unwrap_or_default();
                    let is_required = required.is_some_and(|list| list.contains(&json!(name)));
                    let nullable = is_nullable(schema);
                    let only_null = schema["type"] == "null";
                    let wrong = match (present, null) {
                        (0, _) => "never occurs",
                        _ if !is_required && present == seen.objects => "is never absent",
                        (_, 0) if nullable => "is never null",
                        (present, null) if present == null && !only_null => "is always null",
                        _ => continue,
                    };
                    all.push(format!("{file}#{pointer}/{name} {wrong}"));
                }
            });
        }
        all
    }

    /// Changes samples of valid documents at every position, and expects an error for each change.
    /// Returns the number of changes.
    pub(crate) fn reject_changes(&self) -> usize {
        let mut changes = 0;
        for ((name, ..), sample) in &self.samples {
            let mut refuse = |what: &str, position: &str, changed: &Value| {
                assert!(
                    !self.accepts(name, changed),
                    "{name} accepts {what} at `{position}` of\n{sample:#}\n{changed:#}"
                );
                changes += 1;
            };
            for described in self.described(name, sample) {
                let position = &described.position;
                if position.split('/').any(|part| part.parse::<usize>().is_ok_and(|index| index > 1)) {
                    continue;
                }
                let change = |to: &dyn Fn(&mut Map<String, Value>)| {
                    let mut changed = sample.clone();
                    to(changed.pointer_mut(position).and_then(Value::as_object_mut).unwrap());
                    changed
                };
                refuse(
                    "an unknown field",
                    position,
                    &change(&|object| _ = object.insert("unknown".into(), json!(1))),
                );
                for property in described.node["required"].as_array().into_iter().flatten() {
                    let property = property.as_str().unwrap();
                    refuse(
                        &format!("no {property}"),
                        position,
                        &change(&|object| _ = object.remove(property)),
                    );
                }
                for (property, value) in described.object {
                    let wrong = match value {
                        Value::Null | Value::Object(_) => json!([[[]]]),
                        Value::Bool(_) | Value::Number(_) => json!(value.to_string()),
                        Value::String(_) => json!(false),
                        Value::Array(list) => json!({ "list": list }),
                    };
                    let null = !is_nullable(&described.node["properties"][property]);
                    for wrong in
                        [wrong, json!({ "unknown": [] })].into_iter().chain(null.then_some(Value::Null))
                    {
                        let changed = change(&|object| _ = object.insert(property.clone(), wrong.clone()));
                        refuse(&format!("`{wrong}` as {property}"), position, &changed);
                    }
                }
            }
        }
        changes
    }

    /// Calls `visit` with the position and the schema of every property.
    pub(crate) fn each_property(&self, mut visit: impl FnMut(&str, &Value)) {
        for (file, schema) in &self.files {
            each_schema(schema, "", &mut |node, pointer| {
                if !describes_fields(node) {
                    return;
                }
                for key in ["properties", "patternProperties"] {
                    for (name, schema) in node.get(key).and_then(Value::as_object).into_iter().flatten() {
                        visit(&format!("{file}#{pointer}/{name}"), schema);
                    }
                }
            });
        }
    }
}
