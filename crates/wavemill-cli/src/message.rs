//! What the command tells beside its results: on the standard error, for people or as JSON.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};
use wavemill_object::printable::{Printable, PrintableLines, is_hidden};

use crate::failure::Failure;

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

/// The launch file that messages are about, of several.
static LAUNCH_FILE: Mutex<Option<String>> = Mutex::new(None);

/// Sets the launch file that messages are about, if there are several.
pub(crate) fn set_launch_file(name: Option<&str>) {
    *LAUNCH_FILE.lock().unwrap_or_else(PoisonError::into_inner) = name.map(str::to_owned);
}

fn launch_file() -> Option<String> {
    LAUNCH_FILE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The text with the launch file in front that it is about, unless it names it.
fn about(text: &str) -> Cow<'_, str> {
    match launch_file().map(|name| format!("{name}: ")) {
        Some(name) if !text.starts_with(&name) => Cow::Owned(name + text),
        _ => Cow::Borrowed(text),
    }
}

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
    /// A source is compiled: the command.
    Compile,
    /// What the compiler says about a source.
    Compiler,
    /// Results may be wrong.
    Warning,
    /// Something to know.
    Note,
    /// An assertion of a kernel that failed.
    Assertion,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Launch => "launch",
            Kind::Output => "output",
            Kind::Stats => "stats",
            Kind::Compile => "compile",
            Kind::Compiler => "compiler",
            Kind::Warning => "warning",
            Kind::Note => "note",
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
    let mut all = with_kind(kind, fields);
    if let Some(name) = launch_file() {
        all["launch_file"] = json!(name);
    }
    // If nobody can read it, there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{all}");
}

/// Tells something that is no error.
pub(crate) fn say(kind: Kind, text: &str) {
    say_with(kind, text, &json!({}));
}

/// The same, with its parts for those who read JSON.
pub(crate) fn say_with(kind: Kind, text: &str, parts: &Value) {
    match (format(), kind) {
        (Format::Json, _) => {
            let mut fields = json!({ "message": bounded(text) });
            merge(&mut fields, parts);
            json_line(kind.name(), fields);
        }
        (_, Kind::Note | Kind::Warning) => {
            let color = (kind == Kind::Warning).then_some(AnsiColor::Yellow.into());
            let (style, name) = (Style::new().bold().fg_color(color), kind.name());
            let _ = writeln!(
                anstream::stderr().lock(),
                "{style}{name}:{style:#} {}",
                PrintableLines(&about(text))
            );
        }
        _ => {
            let _ = writeln!(std::io::stderr().lock(), "{}", PrintableLines(&about(text)));
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
            let (message, help) = (bounded(&failure.message), failure.help.as_deref().map(bounded));
            let mut fields = json!({ "exit_code": failure.exit as u8, "message": message, "help": help });
            merge(&mut fields, failure.data.as_deref().unwrap_or(&Value::Null));
            json_line("error", fields);
        }
        Format::Human | Format::Short => {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
            let failure = Failure { message: about(&failure.message).into_owned(), ..failure.clone() };
            let _ = writeln!(anstream::stderr().lock(), "{style}error:{style:#} {failure}");
        }
    }
}

/// As much of a message as people get, too. JSON has escapes of its own.
fn bounded(text: &str) -> Cow<'_, str> {
    let short = text.len() <= PrintableLines::LONGEST
        && text.lines().all(|line| line.len() <= PrintableLines::LONGEST_LINE);
    if short { Cow::Borrowed(text) } else { Cow::Owned(PrintableLines(text).to_string()) }
}

/// Tells what is wrong with the command line `given`, for people. What they wrote may be of any length, and have anything
/// in it.
pub(crate) fn usage_error_as_text(error: &clap::Error, given: &[OsString]) {
    let text = error.to_string();
    // Of an argument, clap shows all or what is behind the `=`.
    let given = given.iter().filter_map(|arg| arg.to_str());
    let shown = given.flat_map(|arg| [Some(arg), arg.split_once('=').map(|(_, value)| value)]);
    let hidden = shown.flatten().filter(|arg| arg.contains(is_hidden));
    let one_line = hidden.fold(text.clone(), |text, arg| text.replace(arg, &Printable(arg).to_string()));
    let printable = PrintableLines(&one_line).to_string();
    // If nobody can read it, there is nobody to tell.
    let _ = match printable == text {
        true => error.print(),
        false => std::io::stderr().lock().write_all(printable.as_bytes()),
    };
}

/// Tells what is wrong with the command line, as JSON.
pub(crate) fn usage_error(error: &clap::Error) {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let exit = error.exit_code();
    json_line("error", json!({ "exit_code": exit, "message": bounded(text), "help": null }));
}
