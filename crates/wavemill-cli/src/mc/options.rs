//! The options of `wavemill mc`, for clap and for the code that reads a command line before clap
//! does.

use std::path::PathBuf;

use clap::{ArgAction, Args as _};
use wavemill_object::TargetId;

use crate::input::Shown as _;

/// Options of `wavemill mc`. Of one that is given twice the last counts, as llvm-mc has it.
#[derive(clap::Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct McArgs {
    /// Source, or machine code in hexadecimal digits with -disassemble; the standard input by default or with `-`
    pub file: Option<PathBuf>,
    /// Architecture, vendor and platform: amdgcn, amdgcn-amd-amdhsa
    #[arg(long, value_name = "TRIPLE", value_parser = parse_triple)]
    pub triple: Option<String>,
    /// Architecture
    #[arg(long, value_name = "ARCH", value_parser = parse_triple)]
    pub arch: Option<String>,
    /// Processor, such as gfx942
    #[arg(long, value_name = "CPU")]
    pub mcpu: Option<String>,
    /// Features: +xnack and -xnack, +sramecc and -sramecc; others change nothing here
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub mattr: Vec<String>,
    /// What to write
    #[arg(long, value_enum, value_name = "TYPE", default_value = "asm")]
    pub filetype: FileType,
    /// Where to write the output; the standard output by default or with `-`
    #[arg(short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the machine code after each instruction
    #[arg(long)]
    pub show_encoding: bool,
    /// Disassemble machine code
    #[arg(long, conflicts_with = "assemble")]
    pub disassemble: bool,
    /// Assemble (default)
    #[arg(long, hide_short_help = true)]
    pub assemble: bool,
    /// With -disassemble: two digits for each byte, without 0x
    #[arg(long)]
    pub hex: bool,
    /// Set a symbol before the source is read
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::asm::parse_definition)]
    pub defsym: Vec<(String, i64)>,
    /// Folder to search for included files, after the current one
    #[arg(short = 'I', value_name = "FOLDER")]
    pub include: Vec<PathBuf>,
    /// Version of the code object format
    ///
    /// Objects have 4, 5 or 6. With text, any number is accepted, and it decides which directives are shown.
    #[arg(long, value_name = "VERSION", default_value = "6", hide_short_help = true)]
    pub amdhsa_code_object_version: u32,
    /// Print no warnings
    #[arg(short = 'W', long, hide_short_help = true)]
    pub no_warn: bool,
    /// Report warnings as errors, unless --no-warn is given
    #[arg(long, hide_short_help = true)]
    pub fatal_warnings: bool,
    /// Print the version
    #[arg(long, hide_short_help = true)]
    pub version: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileType {
    /// Text
    Asm,
    /// A relocatable file
    Obj,
    /// Nothing; only report errors
    Null,
}

fn parse_triple(text: &str) -> Result<String, String> {
    let arch = text.split('-').next().unwrap_or_default();
    match arch {
        "amdgcn" | "amdgpu" => Ok(text.to_owned()),
        _ if TargetId::parse(text).is_some() => Ok(text.to_owned()),
        "r600" => Err("r600 processors are not supported; amdgcn processors are".to_owned()),
        _ => Err(format!("expected amdgcn or a triple such as amdgcn-amd-amdhsa, found `{}`", text.shown())),
    }
}

/// The options that a command accepts, from clap's own list of them, without dashes.
pub(super) struct Known {
    /// With a value.
    pub values: Vec<String>,
    /// Without one; for these llvm-mc also accepts `-name=0`.
    pub switches: Vec<String>,
}

/// Options of llvm-mc that choose an action; it accepts them only without a value.
const ACTIONS: [&str; 3] = ["assemble", "disassemble", "version"];

impl Known {
    fn of<'a>(options: impl Iterator<Item = &'a clap::Arg>) -> Known {
        let mut known = Known { values: Vec::new(), switches: Vec::new() };
        for option in options {
            let names = option.get_long().map(str::to_owned).into_iter();
            let names = names.chain(option.get_short().map(String::from));
            match option.get_action() {
                action if action.takes_values() => known.values.extend(names),
                ArgAction::SetTrue => known.switches.extend(names.filter(|name| name.len() > 1)),
                _ => {}
            }
        }
        known.switches.retain(|name| !ACTIONS.contains(&name.as_str()));
        known
    }

    /// Options of [`McArgs`].
    pub(super) fn of_mc() -> Known {
        Known::of(McArgs::augment_args(clap::Command::new("mc")).get_arguments())
    }

    /// Options of all commands, which come before it.
    pub(super) fn of_all_commands(command: &clap::Command) -> Known {
        Known::of(command.get_arguments().filter(|option| option.is_global_set()))
    }

    pub(super) fn takes_value(&self, name: &str) -> bool {
        self.values.iter().any(|own| own == name)
    }

    /// Whether an argument is a letter directly followed by its value: a folder or a file.
    pub(super) fn is_joined(&self, text: &str) -> bool {
        // -output-asm-variant is an option of llvm-mc.
        let letter = text.get(1..2).filter(|_| !text.starts_with("-ou"));
        letter.is_some_and(|letter| self.takes_value(letter))
    }
}
