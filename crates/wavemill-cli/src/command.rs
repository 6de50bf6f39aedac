//! The command line.

use crate::input::Shown as _;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::asm::AsmArgs;
use crate::bench::BenchArgs;
use crate::dis::DisArgs;
use crate::explain::ExplainArgs;
use crate::failure::{Exit, Failure};
use crate::info::InfoArgs;
use crate::isa::IsaArgs;
use crate::logging;
use crate::mc::McArgs;
use crate::message::{self, Format};
use crate::shell::{CompletionsArgs, ManArgs};
use crate::text::closest;

/// The end of the help page of the command itself.
fn help() -> String {
    let codes = Exit::help(Exit::ALL);
    format!(
        "{codes}

Environment:
  NO_COLOR      no colours, like --color never
  WAVEMILL_LOG  level of the log: error, warn, info, debug or trace"
    )
}

/// The most columns of help.
const WIDTH: usize = 100;

/// The heading of options that every subcommand has.
const HEADING: &str = "Options of all commands";

/// Run, assemble, disassemble and inspect AMD GPU code on any CPU: no GPU, no driver, no ROCm
#[derive(Parser, Debug)]
#[command(name = "wavemill", version, max_term_width = WIDTH, arg_required_else_help = true)]
#[command(disable_help_flag = true)]
#[command(after_help = help(), after_long_help = help())]
struct Cli {
    /// Colours in messages and help
    #[arg(long, global = true, help_heading = HEADING, value_name = "WHEN", default_value_t, hide_default_value = true)]
    color: ColorChoice,
    /// Format of messages on the standard error: human, short or json
    #[arg(
        long,
        global = true,
        help_heading = HEADING,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    message_format: Format,
    /// Write a log to this file, at the level in WAVEMILL_LOG, or `info`
    #[arg(long, global = true, help_heading = HEADING, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Print help; -h prints a summary of long help
    #[arg(short, long, global = true, help_heading = HEADING, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a kernel
    #[command(after_help = crate::run::SHORT_HELP, after_long_help = crate::run::help())]
    Run(Box<crate::run::RunArgs>),
    /// Assemble a source into a code object, without LLVM
    #[command(after_help = crate::asm::HELP)]
    Asm(AsmArgs),
    /// Disassemble code objects, machine code and single instructions; the text can be assembled again
    #[command(after_help = crate::dis::HELP)]
    Dis(DisArgs),
    /// Assemble or disassemble as llvm-mc does, with its options and its output
    #[command(after_help = crate::mc::SHORT_HELP, after_long_help = crate::mc::HELP)]
    Mc(McArgs),
    /// Show the contents of a file: targets, kernels, arguments, registers, memory
    #[command(after_help = "\
Examples:
  wavemill info vector_add.co
  wavemill info librocrand.so.1.1 --target gfx90a --kernel poisson
  wavemill info --json - < vector_add.co")]
    Info(InfoArgs),
    /// Explain an instruction: fields, operands, modifiers, targets; or the element layout of a matrix instruction
    #[command(after_help = crate::explain::HELP)]
    Explain(ExplainArgs),
    /// Write reference pages of all instructions
    #[command(after_help = "\
Examples:
  wavemill isa --out reference
  wavemill isa --out mi300 --format md --target gfx942")]
    Isa(IsaArgs),
    /// Time kernels on this machine, alone or against pocl
    #[command(after_help = crate::bench::SHORT_HELP, after_long_help = crate::bench::help())]
    Bench(BenchArgs),
    /// List the targets and products that kernels can run on
    Targets(crate::targets::TargetsArgs),
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  wavemill completions bash > ~/.local/share/bash-completion/completions/wavemill
  wavemill completions zsh > ~/.zfunc/_wavemill
  wavemill completions fish > ~/.config/fish/completions/wavemill.fish")]
    Completions(CompletionsArgs),
    /// Print a man page, or write all of them
    #[command(after_help = "\
Examples:
  wavemill man run | man -l -
  wavemill man --out ~/.local/share/man/man1")]
    Man(ManArgs),
}

/// The options for output, read before the rest of the command line, so that errors in it follow
/// them too.
fn early(args: &[OsString]) -> (ColorChoice, Format) {
    fn value<'a>(args: &'a [OsString], option: &str) -> Option<&'a str> {
        let mut found = None;
        let mut args =
            args.iter().skip(1).take_while(|arg| *arg != "--").map(|arg| arg.to_str().unwrap_or(""));
        while let Some(arg) = args.next() {
            match arg.strip_prefix(option) {
                Some("") => found = args.next().or(found),
                Some(rest) => found = rest.strip_prefix('=').or(found),
                None => {}
            }
        }
        found
    }
    let color = value(args, "--color").and_then(|text| ColorChoice::from_str(text, false).ok());
    let format = value(args, "--message-format").and_then(|text| Format::from_str(text, false).ok());
    (color.unwrap_or_default(), format.unwrap_or_default())
}

/// Sets the colour choice for everything that writes colours.
fn set_color(choice: ColorChoice) {
    let choice = match choice {
        // It checks the terminal, NO_COLOR, CLICOLOR and similar variables.
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Prints why the command failed, and returns the exit code.
fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            message::error(&failure);
            ExitCode::from(if failure.quiet { 0 } else { failure.exit as u8 })
        }
    }
}

/// The error, with the closest subcommand. clap suggests none for short names with exchanged letters.
fn with_closest(mut error: clap::Error, commands: &[String]) -> clap::Error {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(near) = closest(found, commands.iter().map(String::as_str))
    {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
    }
    error
}

/// The definition of the command line, for pages about it.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let command = Cli::command();
    let given = crate::mc::with_two_dashes(std::env::args_os().collect(), &command);
    let (color, format) = early(&given);
    set_color(color);
    message::set_format(format);
    let given = match crate::mc::settled(given, &command) {
        Ok(given) => given,
        Err(failure) => return end(Err(failure)),
    };
    let is_mc = crate::mc::is_command(&given, &command);
    let commands: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let parsed =
        command.color(color).try_get_matches_from(&given).map_err(|error| with_closest(error, &commands));
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            let foreign = given.iter().filter(|arg| arg.to_str().is_none());
            let foreign: Vec<String> = foreign.map(|arg| format!("`{}`", Path::new(arg).shown())).collect();
            let failure = Failure::usage(format!("expected UTF-8 text, found {}", foreign.join(", ")));
            return end(Err(failure.help("Only paths that are separate arguments may be something else.")));
        }
        // Help and the version are results.
        Err(mut error) if matches!(error.kind(), ErrorKind::UnknownArgument) && is_mc => {
            // The suggestion that it could be a file name does not help: llvm-mc has more options.
            error.remove(ContextKind::Suggested);
            match format {
                Format::Json => message::usage_error(&error, &given),
                _ => message::usage_error_as_text(&error, &given),
            }
            return ExitCode::from(Exit::Usage as u8);
        }
        Err(error) if format == Format::Json && error.use_stderr() => {
            message::usage_error(&error, &given);
            return ExitCode::from(Exit::Usage as u8);
        }
        Err(error) if error.use_stderr() => {
            message::usage_error_as_text(&error, &given);
            return ExitCode::from(Exit::Usage as u8);
        }
        Err(help) => {
            let shown = help.print().and_then(|()| std::io::stdout().flush());
            return end(shown.map_err(Failure::from));
        }
    };
    let log_file = cli.log_file.as_deref();
    // False after errors that have been printed, so that only the exit code remains.
    let mut right = true;
    let result = logging::start(log_file).and_then(|()| match &cli.command {
        Command::Mc(args) => {
            right = crate::mc::mc(args)?;
            Ok(())
        }
        Command::Run(args) => crate::run::run(args),
        Command::Asm(args) => crate::asm::asm(args),
        Command::Dis(args) => crate::dis::dis(args),
        Command::Info(args) => crate::info::info(args),
        Command::Explain(args) => crate::explain::explain_instruction(args),
        Command::Isa(args) => crate::isa::isa(args),
        Command::Targets(args) => crate::targets::targets(args),
        Command::Completions(args) => crate::shell::completions(args, Cli::command()),
        Command::Man(args) => crate::shell::man(args, Cli::command()),
        Command::Bench(args) => crate::bench::bench(args),
    });
    // Output that could not be written must not pass for written.
    let result = result.and_then(|()| Ok(std::io::stdout().flush()?));
    let logged = logging::finish(result.is_ok());
    match end(result.and(logged)) {
        ExitCode::SUCCESS if !right => ExitCode::from(Exit::Expectation as u8),
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// Longer lines would wrap in the middle.
    #[test]
    fn help_fits_the_width_of_help() {
        for command in Cli::command().get_subcommands() {
            let helps = [command.get_after_help(), command.get_after_long_help()];
            let help: String = helps.into_iter().flatten().map(|help| format!("{help}\n")).collect();
            for line in help.lines() {
                assert!(line.chars().count() <= WIDTH, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn what_messages_look_like_is_known_early() {
        let read = |line: &str| early(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(read("wavemill run"), (ColorChoice::Auto, Format::Human));
        assert_eq!(
            read("wavemill --color=never run --message-format json"),
            (ColorChoice::Never, Format::Json)
        );
        assert_eq!(read("wavemill --color always -- --color never"), (ColorChoice::Always, Format::Human));
        assert_eq!(read("wavemill --colors never --color pink"), (ColorChoice::Auto, Format::Human));
        assert_eq!(read("wavemill --message-format"), (ColorChoice::Auto, Format::Human));
    }
}
