//! Options for how the host runs kernels: threads, vector hardware, memory.

use std::num::NonZeroUsize;

use wavemill::device::{AddressMode, MatrixRule};
use wavemill::launch::{Engine, Tier};

use super::Group;
use super::key::{Key, Read, Scope};
use super::late::{self, Late};
use crate::failure::Failure;
use crate::input::Shown as _;
use crate::text::in_toml;
use crate::{amount, input};

/// The heading of the help page.
const ENGINE: &str = "Engine";

/// Options about the host.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EngineArgs {
    /// Host threads, 1024 at most; all cores by default
    #[arg(long, value_name = "N", value_parser = amount::threads, hide_short_help = true, help_heading = ENGINE)]
    pub threads: Option<NonZeroUsize>,
    /// Run workgroups in order on one thread, with clocks that count instructions
    #[arg(long, hide_short_help = true, help_heading = ENGINE)]
    pub deterministic: bool,
    /// Engine that runs kernels: interpreter (default), jit, auto or reference
    ///
    /// All give the same bits. `jit` makes machine code of all code that runs, on hosts with AVX-512. `auto` interprets at
    /// first, and makes machine code of what runs often in a thread of its own. Both are experiments. `reference` runs one operation at a time through exact references: it is hundreds of times
    /// slower, and a check on the interpreter.
    #[arg(long, value_name = "ENGINE", value_parser = engine, hide_short_help = true, help_heading = ENGINE)]
    pub engine: Option<Engine>,
    /// Vector hardware of the host to use: portable, avx2 or avx512; the best by default
    #[arg(long, value_name = "TIER", hide_short_help = true, help_heading = ENGINE)]
    pub tier: Option<Late<Tier>>,
    /// Sums of matrix instructions: exact or fast; exact by default
    ///
    /// `exact`: as matrix cores sum. gfx950 and sparse products follow the dense products of gfx942.
    /// `fast`: one fused multiply-add after the other, in f32. Results differ from the chip's, most where terms cancel.
    #[arg(long, value_name = "RULE", value_parser = matrix_rule, hide_short_help = true, help_heading = ENGINE)]
    pub mfma: Option<MatrixRule>,
    /// Bytes of the heap that the kernel's malloc uses, such as 1G; 256M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::heap, hide_short_help = true, help_heading = ENGINE)]
    pub heap: Option<u64>,
    #[command(flatten, next_help_heading = ENGINE)]
    pub limits: input::LimitArgs,
    /// Addresses that kernels see: sandbox or identity; sandbox by default
    ///
    /// `sandbox`: the same addresses in every run. `identity`: addresses of this process.
    #[arg(long, value_name = "MODE", value_parser = address_mode, hide_short_help = true, help_heading = ENGINE)]
    pub address_mode: Option<AddressMode>,
}

pub(super) const GROUP: Group = Group {
    keys: &[
        Key {
            name: "threads",
            scope: Scope::Run,
            read: Read::Whole(|args, number, _| {
                if args.engine.threads.is_none() {
                    args.engine.threads = Some(amount::threads(&number.text()).map_err(Failure::usage)?);
                }
                Ok(())
            }),
            is_named: true,
            listed: (19, 0),
            written: Some((15, |args| args.engine.threads.map(|number| number.to_string()))),
        },
        Key {
            name: "deterministic",
            scope: Scope::Run,
            read: Read::Flag(|args, on, _| {
                args.engine.deterministic |= *on;
                Ok(())
            }),
            is_named: true,
            listed: (23, 0),
            written: Some((11, |args| args.engine.deterministic.then(|| "true".to_owned()))),
        },
        Key {
            name: "engine",
            scope: Scope::Run,
            read: Read::Text(|args, text, _| {
                // A value that the command line replaces must be valid too.
                let found = engine(text).map_err(Failure::usage)?;
                args.engine.engine.get_or_insert(found);
                Ok(())
            }),
            is_named: true,
            listed: (30, 0),
            written: Some((23, |args| args.engine.engine.map(|engine| in_toml(engine.name())))),
        },
        Key {
            name: "tier",
            scope: Scope::Run,
            read: Read::Text(|args, text, _| {
                if args.engine.tier.is_none() {
                    args.engine.tier = Some(Late::read(tier(text)?));
                }
                Ok(())
            }),
            is_named: false,
            listed: (20, 0),
            written: Some((16, |args| late::value(&args.engine.tier).map(|tier| in_toml(tier.name())))),
        },
        Key {
            name: "mfma",
            scope: Scope::Run,
            read: Read::Text(|args, text, _| {
                // A value that the command line replaces must be valid too.
                let found = matrix_rule(text).map_err(Failure::usage)?;
                args.engine.mfma.get_or_insert(found);
                Ok(())
            }),
            is_named: true,
            listed: (32, 0),
            written: Some((25, |args| args.engine.mfma.map(|rule| in_toml(rule.name())))),
        },
        Key {
            name: "heap",
            scope: Scope::Run,
            read: Read::Bytes(|args, size, _| {
                // A value that the command line replaces must be valid too.
                let size = amount::heap(&size.text()).map_err(Failure::usage)?;
                args.engine.heap.get_or_insert(size);
                Ok(())
            }),
            is_named: true,
            listed: (28, 0),
            written: Some((14, |args| args.engine.heap.map(|size| size.to_string()))),
        },
        Key {
            name: "address-mode",
            scope: Scope::Run,
            read: Read::Text(|args, text, _| {
                if args.engine.address_mode.is_none() {
                    args.engine.address_mode = Some(address_mode(text).map_err(Failure::usage)?);
                }
                Ok(())
            }),
            is_named: true,
            listed: (29, 0),
            written: Some((21, |args| args.engine.address_mode.map(|mode| in_toml(mode.name())))),
        },
    ],
    settle: |args| {
        if let Some(text) = &mut args.engine.tier {
            text.settle(tier)?;
        }
        if let Some(engine) = args.engine.engine.filter(|engine| *engine != Engine::default())
            && args.engine.tier.is_some()
        {
            return Err(Failure::usage(format!(
                "--tier chooses the interpreter's vector hardware, but the engine is `{}`; omit --tier",
                engine.name()
            )));
        }
        match args.engine.deterministic && args.engine.threads.is_some_and(|threads| threads.get() > 1) {
            true => Err(Failure::usage("--deterministic runs on one thread; omit --threads")),
            false => Ok(()),
        }
    },
    device: |args, device| {
        let device = device.addresses(args.engine.address_mode.unwrap_or_default());
        let device = device.matrix_rule(args.engine.mfma.unwrap_or_default());
        match args.engine.heap {
            Some(size) => device.heap_size(size),
            None => device,
        }
    },
    run: |args, options| {
        options.threads = args.engine.threads;
        options.deterministic = args.engine.deterministic;
    },
    launch: |args, launch| {
        launch.engine(match args.engine.engine {
            None | Some(Engine::Interpreter(_)) => Engine::Interpreter(late::value(&args.engine.tier)),
            Some(engine) => engine,
        })
    },
    ..Group::NONE
};

/// The tier of `--tier`, if this host has it.
pub(crate) fn tier(text: &str) -> Result<Tier, Failure> {
    let found = Tier::ALL.into_iter().find(|tier| tier.name() == text);
    let tier = found.ok_or_else(|| {
        Failure::usage(format!(
            "there is no tier `{text}`; expected {}",
            Tier::ALL.map(Tier::name).join(", "),
            text = text.shown()
        ))
    })?;
    match tier.is_available() {
        true => Ok(tier),
        false => Err(Failure::usage(format!(
            "this host cannot run the tier {text}; its best is {}",
            Tier::detect(),
            text = text.shown()
        ))),
    }
}

/// Parses the engine of `--engine`, for clap.
pub(crate) fn engine(text: &str) -> Result<Engine, String> {
    let found = Engine::ALL.into_iter().find(|engine| engine.name() == text);
    let expected = || Engine::ALL.map(Engine::name).join(", ");
    found.ok_or_else(|| format!("expected one of {}, found `{text}`", expected(), text = text.shown()))
}

/// Parses the rule of `--mfma`, for clap.
fn matrix_rule(text: &str) -> Result<MatrixRule, String> {
    let found = MatrixRule::ALL.into_iter().find(|rule| rule.name() == text);
    let expected = || MatrixRule::ALL.map(MatrixRule::name).join(" or ");
    found.ok_or_else(|| format!("expected {}, found `{text}`", expected(), text = text.shown()))
}

/// Parses the mode of `--address-mode`, for clap.
fn address_mode(text: &str) -> Result<AddressMode, String> {
    let found = AddressMode::ALL.into_iter().find(|mode| mode.name() == text);
    let expected = || AddressMode::ALL.map(AddressMode::name).join(" or ");
    found.ok_or_else(|| format!("expected {}, found `{text}`", expected(), text = text.shown()))
}
