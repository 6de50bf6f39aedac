//! Failures of commands: messages and exit codes.

use std::fmt;
use std::io;

use crate::files::WriteError;
use wavemill_object::printable::PrintableLines;

/// Defines the exit codes from one table: name, code, and the text in help pages, in lines of up to
/// 80 columns.
macro_rules! exit_codes {
    ($($(#[doc = $more:literal])* $variant:ident = $code:literal, $meaning:literal;)*) => {
        /// Exit codes of the command, besides 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Exit {
            $(#[doc = $meaning] $(#[doc = $more])* $variant = $code,)*
        }

        impl Exit {
            /// All of them, in order.
            pub const ALL: &'static [Exit] = &[$(Exit::$variant,)*];

            /// Its text in help pages.
            pub const fn meaning(self) -> &'static str {
                match self { $(Exit::$variant => $meaning,)* }
            }
        }
    };
}

exit_codes! {
    Expectation = 1, "an expected result differs, or the input of `wavemill mc` has errors";
    /// (the code that clap uses, too)
    Usage = 2, "the command line or launch file is invalid";
    Input = 3, "a file cannot be read or written, or has the wrong contents (code for\nanother target, for example)";
    Fault = 4, "the kernel faulted (an illegal access or instruction, a trap, a jump to\nan address without code, a descriptor that Wavemill does not support),\nor can never finish";
    Unsupported = 5, "the kernel reached an instruction that Wavemill does not implement";
    /// (the code of `timeout`)
    Limit = 124, "the kernel was stopped by --max-instructions, --timeout or Ctrl-\\";
}

impl Exit {
    /// The text about these codes, and about 0, in help pages.
    pub(crate) fn help(codes: &[Exit]) -> String {
        let mut text = "Exit codes:\n  0    success".to_owned();
        for exit in codes {
            let code = *exit as u8;
            text += &format!("\n  {code:<5}{}", exit.meaning().replace('\n', "\n       "));
        }
        text
    }
}

/// A message for the user, with its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The error: what was expected, what was found and where. No newline at the end.
    pub message: String,
    /// Advice, if it is not obvious.
    pub help: Option<String>,
    /// The reader of the output went away: this is not an error, and no message is needed.
    pub quiet: bool,
    /// Details of what a kernel did, for `--message-format json`.
    pub data: Option<Box<serde_json::Value>>,
}

impl Failure {
    /// A failure with this message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), help: None, quiet: false, data: None }
    }

    /// A command line or launch file that does not make sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    /// A file that cannot be used.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::new(Exit::Input, message)
    }

    /// Adds advice.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds where it happened.
    #[must_use]
    pub(crate) fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// An error while writing results to `what`.
    pub(crate) fn output(what: &str, error: &io::Error) -> Self {
        let mut failure = Failure::input(format!("cannot write {what}: {error}"));
        failure.quiet = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", PrintableLines(&self.message))?;
        match &self.help {
            Some(help) => write!(f, "\n\n{}", PrintableLines(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Errors while writing to the standard output, or to a file that the user names.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let named = error.get_ref().and_then(|error| error.downcast_ref::<WriteError>());
        named.map_or_else(|| Failure::output("the standard output", &error), WriteError::failure)
    }
}
