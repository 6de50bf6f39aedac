//! Checks the required keys of metadata, as LLVM's assembler does (AMDGPUUsage, "Code Object V3
//! Metadata" and later).

use super::model::{Access, AddressSpace, ValueKind};
use super::scalar;
use super::value::Value;
use super::yaml::{Mark, MetadataError, Node, Tree};

/// The type of a value.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Boolean,
    /// One of several texts: a test for a text, and a description of the valid ones.
    OneOf(fn(&str) -> bool, &'static str),
    /// This many integers.
    Integers(usize),
    /// Any number of texts.
    Texts,
    /// Any number of maps with these keys, and the name of each map.
    Maps(&'static [Key], &'static str),
}

/// A key, its type, and whether it is required. Other keys are ignored.
type Key = (&'static str, Kind, bool);

const LANGUAGES: [&str; 6] = ["OpenCL C", "OpenCL C++", "HCC", "HIP", "OpenMP", "Assembler"];

const ROOT: &[Key] = &[
    ("amdhsa.version", Kind::Integers(2), true),
    ("amdhsa.printf", Kind::Texts, false),
    ("amdhsa.kernels", Kind::Maps(KERNEL, "kernel"), true),
];

const KERNEL: &[Key] = &[
    (".name", Kind::Text, true),
    (".symbol", Kind::Text, true),
    (
        ".language",
        Kind::OneOf(|text| LANGUAGES.contains(&text), "OpenCL C, OpenCL C++, HCC, HIP, OpenMP or Assembler"),
        false,
    ),
    (".language_version", Kind::Integers(2), false),
    (".args", Kind::Maps(ARGUMENT, "argument"), false),
    (".reqd_workgroup_size", Kind::Integers(3), false),
    (".workgroup_size_hint", Kind::Integers(3), false),
    (".vec_type_hint", Kind::Text, false),
    (".device_enqueue_symbol", Kind::Text, false),
    (".kernarg_segment_size", Kind::Integer, true),
    (".group_segment_fixed_size", Kind::Integer, true),
    (".private_segment_fixed_size", Kind::Integer, true),
    (".uses_dynamic_stack", Kind::Boolean, false),
    (".workgroup_processor_mode", Kind::Integer, false),
    (".kernarg_segment_align", Kind::Integer, true),
    (".wavefront_size", Kind::Integer, true),
    (".sgpr_count", Kind::Integer, true),
    (".vgpr_count", Kind::Integer, true),
    (".max_flat_workgroup_size", Kind::Integer, true),
    (".sgpr_spill_count", Kind::Integer, false),
    (".vgpr_spill_count", Kind::Integer, false),
    (".uniform_work_group_size", Kind::Integer, false),
    (".cluster_dims", Kind::Integers(3), false),
];

const ARGUMENT: &[Key] = &[
    (".name", Kind::Text, false),
    (".type_name", Kind::Text, false),
    (".size", Kind::Integer, true),
    (".offset", Kind::Integer, true),
    (
        ".value_kind",
        Kind::OneOf(
            |text| !matches!(ValueKind::from_text(text), ValueKind::Other(_)),
            "a kind of argument, such as by_value, global_buffer or hidden_none",
        ),
        true,
    ),
    (".pointee_align", Kind::Integer, false),
    (
        ".address_space",
        Kind::OneOf(
            |text| !matches!(AddressSpace::from_text(text), AddressSpace::Other(_)),
            "private, global, constant, local, generic or region",
        ),
        false,
    ),
    (".access", Kind::OneOf(is_access, "read_only, write_only or read_write"), false),
    (".actual_access", Kind::OneOf(is_access, "read_only, write_only or read_write"), false),
    (".is_const", Kind::Boolean, false),
    (".is_restrict", Kind::Boolean, false),
    (".is_volatile", Kind::Boolean, false),
    (".is_pipe", Kind::Boolean, false),
];

fn is_access(text: &str) -> bool {
    !matches!(Access::from_text(text), Access::Other(_))
}

/// Checks the root of a document. Text that was tagged as text is interpreted again if another type
/// is expected.
pub(super) fn verify(root: &mut Node) -> Result<(), MetadataError> {
    map(root, ROOT, "the metadata", None)
}

fn map(node: &mut Node, keys: &[Key], what: &str, part_of: Option<&str>) -> Result<(), MetadataError> {
    let within = part_of.map_or(String::new(), |whole| format!(" of {whole}"));
    let found = describe(&node.tree);
    let mark = node.mark;
    let Tree::Map(entries) = &mut node.tree else {
        return Err(mark.error(format!("{what}{within} should be a map of keys and values, but is {found}")));
    };
    // The name of the map, if it has one.
    let name = entries.iter().find_map(|(key, node)| match &node.tree {
        Tree::Leaf(Value::Text(text)) if key == ".name" => Some(format!(" (`{text}`)")),
        _ => None,
    });
    let what = format!("{what}{}{within}", name.unwrap_or_default());
    for (key, kind, required) in keys {
        match entries.iter_mut().find(|(other, _)| other == key) {
            Some((_, value)) => check(value, *kind, key, &what)?,
            None if *required => return Err(mark.error(format!("`{key}` is missing in {what}"))),
            None => {}
        }
    }
    Ok(())
}

fn check(node: &mut Node, kind: Kind, key: &str, what: &str) -> Result<(), MetadataError> {
    let mark = node.mark;
    let mismatch = |expected: &str, tree: &Tree| {
        Err(mark.error(format!("`{key}` of {what} should be {expected}, but is {}", describe(tree))))
    };
    match kind {
        Kind::Text => match &node.tree {
            Tree::Leaf(Value::Text(_)) => Ok(()),
            other => mismatch("text (write `!str` before it to make it text)", other),
        },
        Kind::OneOf(is_one, expected) => match &node.tree {
            Tree::Leaf(Value::Text(text)) if is_one(text) => Ok(()),
            other => mismatch(expected, other),
        },
        Kind::Integer => {
            reread(node);
            match &node.tree {
                Tree::Leaf(Value::Integer(_)) => Ok(()),
                other => mismatch("an integer", other),
            }
        }
        Kind::Boolean => {
            reread(node);
            match &node.tree {
                Tree::Leaf(Value::Bool(_)) => Ok(()),
                other => mismatch("true or false", other),
            }
        }
        Kind::Integers(count) => {
            let expected = format!("a list of {count} integers");
            let Tree::List(items) = &mut node.tree else { return mismatch(&expected, &node.tree) };
            items.iter_mut().for_each(reread);
            let all = items.iter().all(|item| matches!(item.tree, Tree::Leaf(Value::Integer(_))));
            if all && items.len() == count { Ok(()) } else { mismatch(&expected, &node.tree) }
        }
        Kind::Texts => {
            let Tree::List(items) = &node.tree else { return mismatch("a list of strings", &node.tree) };
            match items.iter().find(|item| !matches!(item.tree, Tree::Leaf(Value::Text(_)))) {
                None => Ok(()),
                Some(item) => Err(item.mark.error(format!(
                    "`{key}` of {what} should be a list of strings, but has {}",
                    describe(&item.tree)
                ))),
            }
        }
        Kind::Maps(keys, item) => {
            let Tree::List(items) = &mut node.tree else {
                return mismatch("a list of maps", &node.tree);
            };
            let part_of = (item == "argument").then_some(what);
            items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, node)| map(node, keys, &format!("{item} {index}"), part_of))
        }
    }
}

/// Gives a text the type that it would have without its tag.
fn reread(node: &mut Node) {
    if let Tree::Leaf(Value::Text(text)) = &node.tree {
        node.tree = Tree::Leaf(scalar::plain(text));
    }
}

fn describe(tree: &Tree) -> String {
    match tree {
        Tree::Leaf(value @ (Value::Text(_) | Value::Integer(_) | Value::Bool(_) | Value::Float(_))) => {
            let text = value.to_string();
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        }
        Tree::Leaf(_) => "nothing".to_owned(),
        Tree::List(items) => format!("a list of {}", items.len()),
        Tree::Map(_) => "a map".to_owned(),
    }
}

/// The error for a text without any value.
pub(super) fn nothing() -> MetadataError {
    Mark::START.error("there is no metadata: `amdhsa.version` and `amdhsa.kernels` are needed")
}
