//! Options for checks while kernels run, and for stopping them.

use std::time::Duration;

use serde::Deserialize;
use wavemill::launch::{Exceptions, Strict, UnknownException};

use super::Group;
use super::key::{Key, Read, Scope, form};
use super::late::{self, Late};
use crate::amount;
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::text::in_toml;

/// The heading of the help page.
const CHECKS: &str = "Checks";

/// The default word of `--poison`: a quiet NaN as f16, bf16, f32 and f64, and as an address outside
/// memory.
const POISON: u32 = 0xfffa_fffa;

/// Options about checks.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CheckArgs {
    /// Report accesses that the chip drops or answers with 0
    ///
    /// `lds` reports accesses beyond the LDS of a workgroup. `images` reports loads, stores and atomics outside an image.
    /// `buffers` reports accesses beyond the range of a buffer resource, which some programs intend. The default is
    /// lds,images. All: lds,images,buffers.
    #[arg(long, value_name = "RULES", num_args = 0..=1, require_equals = true, default_missing_value = STRICT_DEFAULT, value_parser = strict, help_heading = CHECKS)]
    pub strict: Option<Strict>,
    /// Stop at floating-point exceptions, such as invalid,div0, and report instruction and lanes
    ///
    /// They are: invalid, denormal, div0, overflow, underflow, inexact, int-div0. They are enabled when waves start, besides
    /// those that the kernel enables. Float operations are many times slower then. With a trap handler, the wave enters it.
    #[arg(long, value_name = "LIST", value_parser = exceptions, help_heading = CHECKS)]
    pub exceptions: Option<Exceptions>,
    /// Fill uninitialised memory and registers with this word, or with NaNs, instead of 0
    ///
    /// Registers, LDS, private memory and buffers without contents are filled. The default is 0xfffafffa, a NaN in every
    /// float format.
    #[arg(long, value_name = "WORD", num_args = 0..=1, require_equals = true, default_missing_value = "0xfffafffa", help_heading = CHECKS)]
    pub poison: Option<Late<u32>>,
    /// Stop after this many seconds, and report where every wave is
    ///
    /// The time counts from the start of the command. It also limits clang, which compiles sources.
    #[arg(long, value_name = "SECONDS", value_parser = amount::timeout, help_heading = CHECKS)]
    pub timeout: Option<Duration>,
    /// Stop a launch after this many instructions of all waves together
    ///
    /// A few more may run: waves stop between blocks of code.
    #[arg(long, value_name = "N", value_parser = amount::instructions, hide_short_help = true, help_heading = CHECKS)]
    pub max_instructions: Option<u64>,
    /// Report registers and more of the code at a fault
    ///
    /// For a grid that does not finish, the report lists more of the waves.
    #[arg(long, help_heading = CHECKS)]
    pub registers: bool,
}

impl CheckArgs {
    /// The word that fills uninitialised memory and registers.
    pub(crate) fn poison(&self) -> Option<u32> {
        late::value(&self.poison)
    }
}

/// The word that fills uninitialised memory and registers: `true`, or a word such as `0xfffafffa`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, or a 32-bit word such as 0xfffafffa")]
enum PoisonText {
    Flag(bool),
    Word(u32),
}

/// Accesses that are faults although the chip ignores them: `true`, or rules such as
/// `"lds,images"`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, or rules such as \"lds,images\"")]
enum StrictText {
    Flag(bool),
    Rules(String),
}

pub(super) const GROUP: Group = Group {
    keys: &[
        Key {
            name: "strict",
            scope: Scope::Run,
            read: Read::Form(|value| {
                form(value, |args, text: &StrictText, _| {
                    if args.checks.strict.is_none() {
                        args.checks.strict = match text {
                            StrictText::Flag(false) => None,
                            StrictText::Flag(true) => Some(strict(STRICT_DEFAULT).map_err(Failure::usage)?),
                            StrictText::Rules(rules) => Some(strict(rules).map_err(Failure::usage)?),
                        };
                    }
                    Ok(())
                })
            }),
            is_named: true,
            listed: (25, 0),
            written: Some((22, |args| args.checks.strict.map(|rules| in_toml(&strict_text(rules))))),
        },
        Key {
            name: "exceptions",
            scope: Scope::Run,
            read: Read::Text(|args, names, _| {
                let enabled = exceptions(names).map_err(Failure::usage)?;
                args.checks.exceptions.get_or_insert(enabled);
                Ok(())
            }),
            is_named: true,
            listed: (35, 0),
            written: Some((28, |args| args.checks.exceptions.map(|names| in_toml(&names.to_string())))),
        },
        Key {
            name: "poison",
            scope: Scope::Run,
            read: Read::Form(|value| {
                form(value, |args, text: &PoisonText, _| {
                    let word = match text {
                        PoisonText::Flag(false) => return Ok(()),
                        PoisonText::Flag(true) => POISON,
                        PoisonText::Word(word) => *word,
                    };
                    args.checks.poison.get_or_insert_with(|| Late::read(word));
                    Ok(())
                })
            }),
            is_named: true,
            listed: (24, 0),
            written: Some((20, |args| args.checks.poison().map(|word| format!("{word:#x}")))),
        },
        Key {
            name: "timeout",
            scope: Scope::Run,
            read: Read::Seconds(|args, time, _| {
                if args.checks.timeout.is_none() {
                    let time = amount::seconds_to_run(time.get()).map_err(Failure::usage)?;
                    args.checks.timeout = Some(time);
                }
                Ok(())
            }),
            is_named: true,
            listed: (22, 0),
            written: Some((18, |args| args.checks.timeout.map(|time| format!("{:?}", time.as_secs_f64())))),
        },
        Key {
            name: "max-instructions",
            scope: Scope::Run,
            read: Read::Whole(|args, number, _| {
                args.checks.max_instructions.get_or_insert(number.get());
                Ok(())
            }),
            is_named: true,
            listed: (21, 0),
            written: Some((17, |args| args.checks.max_instructions.map(|number| number.to_string()))),
        },
    ],
    settle: |args| late::settle(&mut args.checks.poison, "--poison", poison),
    device: |args, device| match args.checks.poison() {
        Some(word) => device.poison_buffers(word),
        None => device,
    },
    launch: |args, launch| launch.exceptions(args.checks.exceptions.unwrap_or_default()),
    run: |args, options| {
        options.strict = args.checks.strict.unwrap_or_default();
        options.poison = args.checks.poison();
        options.max_instructions = args.checks.max_instructions;
    },
    ..Group::NONE
};

/// Parses the names of `--exceptions`.
fn exceptions(text: &str) -> Result<Exceptions, String> {
    text.parse().map_err(|UnknownException { name, .. }| {
        let all = Exceptions::from_bits(!0).names().collect::<Vec<_>>().join(", ");
        format!("there is no exception `{name}`; expected any of {all}", name = name.shown())
    })
}

/// Parses the word of `--poison`.
fn poison(text: &str) -> Result<u32, Failure> {
    let digits = text.replace('_', "");
    let word = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    word.map_err(|_| {
        Failure::usage(format!(
            "`{text}` is not a 32-bit word; expected a number such as 0xfffafffa",
            text = text.shown()
        ))
    })
}

/// A rule of `--strict`: its name, and its field.
type Rule = (&'static str, fn(&mut Strict) -> &mut bool);

/// The rules of `--strict`.
const STRICT: [Rule; 3] = [
    ("lds", |strict| &mut strict.lds),
    ("images", |strict| &mut strict.images),
    ("buffers", |strict| &mut strict.buffers),
];

/// The rules of `--strict` without a value: those that no program breaks on purpose.
const STRICT_DEFAULT: &str = "lds,images";

/// Parses the rules of `--strict`, for clap.
fn strict(text: &str) -> Result<Strict, String> {
    text.split(',').try_fold(Strict::default(), |mut all, name| {
        let (_, rule) = STRICT.iter().find(|(known, _)| *known == name.trim()).ok_or_else(|| {
            let names = STRICT.map(|(name, _)| name).join(", ");
            format!("there is no rule `{name}`; expected any of {names}", name = name.shown())
        })?;
        *rule(&mut all) = true;
        Ok(all)
    })
}

/// The rules as `--strict` accepts them; empty if there are none.
fn strict_text(mut strict: Strict) -> String {
    let names: Vec<&str> =
        STRICT.iter().filter(|(_, rule)| *rule(&mut strict)).map(|(name, _)| *name).collect();
    names.join(",")
}
