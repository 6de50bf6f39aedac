//! What the command tells beside its results: on the standard error, for people or as JSON.

use std::io::Write as _;
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Printable};

/// Number of the layout of JSON messages. It changes when a field goes or changes its meaning, not when one comes.
pub(crate) const SCHEMA: u32 = 1;

/// How messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    // No documentation comments here: clap would show each on lines of its own.
    // Text for people.
    #[default]
    Human,
    // One line for each mistake of a source, as compilers write for editors; the rest as for people.
    Short,
    // One JSON object on a line of its own for each message.
    Json,
}

static FORMAT: OnceLock<Format> = OnceLock::new();

/// Sets the format of all messages, once.
pub(crate) fn set_format(format: Format) {
    // The command line says it once.
    let _ = FORMAT.set(format);
}

/// The format of messages.
pub(crate) fn format() -> Format {
    FORMAT.get().copied().unwrap_or_default()
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A launch is about to run.
    Launch,
    /// A file was written.
    Output,
    /// What a launch did.
    Stats,
    /// Something to know.
    Note,
    /// Results that may not be what they seem.
    Warning,
    /// An assertion of a kernel that failed.
    Assertion,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Launch => "launch",
            Kind::Output => "output",
            Kind::Stats => "stats",
            Kind::Note => "note",
            Kind::Warning => "warning",
            Kind::Assertion => "assertion",
        }
    }
}

/// A message with what all messages begin with.
pub(crate) fn with_kind(kind: &str, fields: Value) -> Value {
    let mut all = Map::new();
    all.insert("schema".to_owned(), json!(SCHEMA));
    all.insert("kind".to_owned(), json!(kind));
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    Value::Object(all)
}

/// Adds the fields of an object to another.
fn merge(fields: &mut Value, more: &Value) {
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more.clone());
    }
}

fn json_line(kind: &str, fields: Value) {
    // If nobody can read it, there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{}", with_kind(kind, fields));
}

/// Tells something that is no error.
pub(crate) fn say(kind: Kind, text: &str) {
    say_with(kind, text, &json!({}));
}

/// The same, with its parts for those who read JSON.
pub(crate) fn say_with(kind: Kind, text: &str, parts: &Value) {
    match (format(), kind) {
        (Format::Json, _) => {
            let mut fields = json!({ "message": text });
            merge(&mut fields, parts);
            json_line(kind.name(), fields);
        }
        (_, Kind::Note | Kind::Warning) => {
            let (style, name) = (Style::new().bold(), kind.name());
            let style =
                if kind == Kind::Note { style } else { style.fg_color(Some(AnsiColor::Yellow.into())) };
            let _ = writeln!(anstream::stderr().lock(), "{style}{name}:{style:#} {}", Printable(text));
        }
        _ => {
            let _ = writeln!(std::io::stderr().lock(), "{}", Printable(text));
        }
    }
}

/// Tells why the command ends.
pub(crate) fn error(failure: &Failure) {
    if failure.quiet {
        return;
    }
    match format() {
        Format::Json => {
            let mut fields =
                json!({ "exit_code": failure.exit as u8, "message": failure.message, "help": failure.help });
            merge(&mut fields, failure.data.as_deref().unwrap_or(&Value::Null));
            json_line("error", fields);
        }
        Format::Human | Format::Short => {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
            let _ = writeln!(anstream::stderr().lock(), "{style}error:{style:#} {failure}");
        }
    }
}

/// Tells what is wrong with the command line.
pub(crate) fn usage_error(error: &clap::Error) {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let exit = error.exit_code();
    json_line("error", json!({ "exit_code": exit, "message": text, "help": null }));
}
