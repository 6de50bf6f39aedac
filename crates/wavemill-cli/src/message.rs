//! Messages that the command prints besides its results: on the standard error, as text or as JSON.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};
use wavemill_object::printable::{PrintableLines, is_hidden};

use crate::failure::Failure;
use crate::input::Shown as _;

/// Version of the layout of JSON messages. It changes when a field is removed or changes its
/// meaning, not when one is added.
pub(crate) const SCHEMA: u32 = 1;

/// A report or statistics as JSON.
pub(crate) fn data(report: &impl serde::Serialize) -> Value {
    // Everything in them can be serialised.
    serde_json::to_value(report).unwrap_or_default()
}

/// How messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    // No documentation comments here: clap would show each on lines of its own.
    // Text for people.
    #[default]
    Human,
    // One line for each error of a source, as compilers write for editors; the rest as for people.
    Short,
    // One JSON object on a line of its own for each message.
    Json,
}

static FORMAT: OnceLock<Format> = OnceLock::new();

/// The launch file that messages are about, if there are several.
static LAUNCH_FILE: Mutex<Option<String>> = Mutex::new(None);

/// Sets the launch file that messages are about, if there are several.
pub(crate) fn set_launch_file(name: Option<&str>) {
    *LAUNCH_FILE.lock().unwrap_or_else(PoisonError::into_inner) = name.map(str::to_owned);
}

fn launch_file() -> Option<String> {
    LAUNCH_FILE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The text, prefixed with the launch file that it is about, unless it already names the file.
fn about(text: &str) -> Cow<'_, str> {
    match launch_file().map(|name| format!("{}: ", name.shown())) {
        Some(name) if !text.starts_with(&name) => Cow::Owned(name + text),
        _ => Cow::Borrowed(text),
    }
}

/// Sets the format of all messages, once.
pub(crate) fn set_format(format: Format) {
    // Only the command line sets it.
    let _ = FORMAT.set(format);
}

/// The format of messages.
pub(crate) fn format() -> Format {
    FORMAT.get().copied().unwrap_or_default()
}

/// Defines the kinds of JSON objects from one table: a description, and the name, which
/// docs/json.md lists.
macro_rules! kinds {
    ($(#[doc = $meaning:literal] $kind:ident = $name:literal;)*) => {
        /// What a JSON object is about, or a message for people.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $(#[doc = $meaning] $kind,)*
        }

        impl Kind {
            /// All of them.
            #[cfg(test)]
            const ALL: &'static [Kind] = &[$(Kind::$kind,)*];

            /// The name in JSON, and before some messages.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// A launch is about to run.
    Launch = "launch";
    /// A file was written.
    Output = "output";
    /// Statistics of a launch.
    Stats = "stats";
    /// A source is compiled: the command.
    Compile = "compile";
    /// The compiler's messages about a source.
    Compiler = "compiler";
    /// Results may be wrong.
    Warning = "warning";
    /// Something to know.
    Note = "note";
    /// An assertion of a kernel that failed.
    Assertion = "assertion";
    /// A line of the log.
    Log = "log";
    /// A line of a trace.
    Step = "step";
    /// An error in a source.
    SourceError = "source_error";
    /// A warning about a source.
    SourceWarning = "source_warning";
    /// Why the command ends.
    Error = "error";
    /// The contents of a file.
    Info = "info";
    /// The values of `--target`.
    Targets = "targets";
    /// The description of an instruction.
    Instruction = "instruction";
    /// Machine code, explained.
    Explanation = "explanation";
    /// The description of an instruction of Cayman.
    CaymanInstruction = "cayman_instruction";
    /// Machine code of Cayman, explained.
    CaymanExplanation = "cayman_explanation";
    /// The programs of a file of Cayman.
    CaymanInfo = "cayman_info";
    /// The element layout of a matrix instruction.
    MatrixLayout = "matrix_layout";
    /// Measurements.
    Bench = "bench";
    /// The file of `--isa-coverage`.
    Coverage = "coverage";
}

/// An object with the fields that all objects begin with.
pub(crate) fn with_kind(kind: Kind, fields: Value) -> Value {
    let mut all = Map::new();
    all.insert("schema".to_owned(), json!(SCHEMA));
    all.insert("kind".to_owned(), json!(kind.name()));
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

fn json_line(kind: Kind, fields: Value) {
    let mut all = with_kind(kind, fields);
    if let Some(name) = launch_file() {
        all["launch_file"] = json!(name);
    }
    // If the write fails, there is no other place to report it.
    let _ = writeln!(std::io::stderr().lock(), "{}", escaped(&all.to_string()));
}

/// JSON without characters that a terminal would obey or hide: they are escaped.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_hidden(c) {
            false => out.push(c),
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
}

/// Prints a message that is not an error.
pub(crate) fn say(kind: Kind, text: &str) {
    say_with(kind, text, &json!({}));
}

/// Like [`say`], with details for JSON.
pub(crate) fn say_with(kind: Kind, text: &str, parts: &Value) {
    match (format(), kind) {
        (Format::Json, _) => {
            let mut fields = json!({ "message": bounded(text) });
            merge(&mut fields, parts);
            json_line(kind, fields);
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

/// Prints why the command ends.
pub(crate) fn error(failure: &Failure) {
    if failure.quiet {
        return;
    }
    match format() {
        Format::Json => {
            let (message, help) = (bounded(&failure.message), failure.help.as_deref().map(bounded));
            let mut fields = json!({ "exit_code": failure.exit as u8, "message": message, "help": help });
            merge(&mut fields, failure.data.as_deref().unwrap_or(&Value::Null));
            json_line(Kind::Error, fields);
        }
        Format::Human | Format::Short => {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
            let failure = Failure { message: about(&failure.message).into_owned(), ..failure.clone() };
            let _ = writeln!(anstream::stderr().lock(), "{style}error:{style:#} {failure}");
        }
    }
}

/// clap's message about the command line `given`. User input may be of any length and contain
/// anything, so it is quoted as in all messages.
fn usage_text(error: &clap::Error, given: &[OsString]) -> String {
    // For an argument, clap shows all of it or the part after the `=`.
    let given = given.iter().filter_map(|arg| arg.to_str());
    let shown = given.flat_map(|arg| [Some(arg), arg.split_once('=').map(|(_, value)| value)]);
    // clap omits colour sequences. Matches between quotes only, as the remainder may be any word.
    let stripped = |arg: &str| (format!("'{}'", strip_str(arg)), format!("'{}'", arg.shown()));
    // An argument of only line ends and blanks is matched between quotes only, because the text
    // contains such characters anyway.
    let whole = |arg: &str| (!arg.trim().is_empty()).then(|| (arg.to_owned(), arg.shown()));
    let forms = |arg: &str| whole(arg).into_iter().chain([stripped(arg)]).collect::<Vec<_>>();
    let mut quoted: Vec<(String, String)> = shown.flatten().flat_map(forms).collect();
    quoted.retain(|(arg, shown)| arg != shown);
    // Longer ones first, as they may contain others.
    quoted.sort_by_key(|(arg, _)| std::cmp::Reverse(arg.len()));
    quoted.iter().fold(error.to_string(), |text, (arg, shown)| text.replace(arg, shown))
}

/// Prints the errors of the command line `given`, as text.
pub(crate) fn usage_error_as_text(error: &clap::Error, given: &[OsString]) {
    let text = usage_text(error, given);
    let printable = PrintableLines(&text).to_string();
    // If the write fails, there is no other place to report it.
    let _ = match printable == error.to_string() {
        // clap prints it with colours, which the text does not have.
        true => error.print(),
        false => std::io::stderr().lock().write_all(printable.as_bytes()),
    };
}

/// Prints the errors of the command line `given`, as JSON.
pub(crate) fn usage_error(error: &clap::Error, given: &[OsString]) {
    let text = usage_text(error, given);
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let exit = error.exit_code();
    json_line(Kind::Error, json!({ "exit_code": exit, "message": bounded(text), "help": null }));
}

/// A message shortened as in text output. JSON escapes characters itself.
pub(crate) fn bounded(text: &str) -> Cow<'_, str> {
    PrintableLines(text).bounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_nothing_hidden_and_means_the_same() {
        let value = json!({ "a\n": "b\u{202e}\u{1b}é\u{e0001}\"" });
        let text = escaped(&value.to_string());
        assert_eq!(text, r#"{"a\n":"b\u202e\u001bé\udb40\udc01\""}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    /// The handbook and the code list the same kinds.
    #[test]
    fn the_handbook_lists_all_kinds() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().skip_while(|line| !line.starts_with("| kind |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
        let first = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
        let mut listed: Vec<&str> = first.map(|kind| kind.trim().trim_matches('`')).collect();
        let mut known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    /// The kinds that a schema describes.
    fn described(schema: &Value, kinds: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                // Conditions on `kind` have no `schema`.
                let fields = &schema["properties"];
                if let Some(kind) = fields["kind"]["const"].as_str().filter(|_| !fields["schema"].is_null()) {
                    assert_eq!(fields["schema"]["const"], SCHEMA, "{kind}");
                    kinds.push(kind.to_owned());
                }
                map.values().for_each(|part| described(part, kinds));
            }
            Value::Array(list) => list.iter().for_each(|part| described(part, kinds)),
            _ => {}
        }
    }

    /// Every kind has one definition in docs/schemas, for the number that objects have.
    #[test]
    fn all_kinds_have_schemas() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let mut kinds = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            described(&serde_json::from_str(&text).unwrap(), &mut kinds);
        }
        let mut known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        kinds.sort_unstable();
        known.sort_unstable();
        assert_eq!(kinds, known);
    }
}
