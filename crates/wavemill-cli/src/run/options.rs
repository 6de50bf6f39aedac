//! The options of `wavemill run`.

use crate::input::Shown as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use wavemill::{AddressMode, Strict, TargetChoice, Tier};

use super::amount;
use super::launch_file::StatsLevel;
use super::trace;
use crate::compile::CompileArgs;
use crate::failure::Failure;
use crate::input;

/// What `--poison` without a word means: a quiet NaN as f16, bf16, f32 and f64, and as an address outside of memory.
pub(super) const POISON: u32 = 0xfffa_fffa;

/// Headings of the help page, in the order of the page.
const LAUNCH: &str = "Launch";
const RESULTS: &str = "Results";
const CHECKS: &str = "Checks";
const TRACE: &str = "Trace and statistics";
const ENGINE: &str = "Engine";

// The first paragraph of each comment is what `-h` shows, on one line. `-h` leaves out what few people need.
/// Options of `wavemill run`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    /// Launch file (.toml), source (.cl, .hip, .s), or file with GPU code
    ///
    /// OpenCL C (.cl) and HIP (.hip) are compiled by clang first, assembly (.s) by Wavemill itself. An offload bundle will do,
    /// too.
    ///
    /// `-` is the standard input: a code object or a launch file, whose paths are relative to the current folder. More
    /// launch files may follow. They run one after the other, also behind one that fails; the exit code is that of the
    /// first one that fails.
    pub file: PathBuf,
    /// Arguments of the kernel: name:type[count]=contents (see --help)
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    pub args: Vec<String>,

    /// The kernel, by its name in the code object or in the source
    ///
    /// Not needed if there is only one.
    #[arg(long, value_name = "NAME", help_heading = LAUNCH)]
    pub kernel: Option<String>,
    /// Size of the grid in workgroups: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", help_heading = LAUNCH)]
    pub grid: Option<String>,
    /// Size of the grid in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", conflicts_with = "grid", help_heading = LAUNCH)]
    pub global_size: Option<String>,
    /// Size of a workgroup in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", help_heading = LAUNCH)]
    pub block: Option<String>,
    /// First global id (OpenCL's global work offset): X, X,Y or X,Y,Z
    #[arg(long, value_name = "OFFSET", hide_short_help = true, help_heading = LAUNCH)]
    pub offset: Option<String>,
    /// Bytes of LDS beyond what the kernel declares, such as 64K
    ///
    /// This is HIP's third launch parameter, the size of `extern __shared__` arrays.
    #[arg(long, value_name = "BYTES", value_parser = amount::lds, help_heading = LAUNCH)]
    pub dynamic_lds: Option<u32>,
    /// Bytes of private memory of a work-item, such as 64K: a larger stack
    ///
    /// Recursion, calls of unknown functions and arrays of variable size need stacks of no known size: `wavemill info` says
    /// which kernels have one, and 16K is the default. Other kernels have what their code object asks for; recursion in
    /// OpenCL, which compilers do not count, needs more. HIP's hipLimitStackSize is the same.
    #[arg(long, value_name = "BYTES", value_parser = amount::stack, hide_short_help = true, help_heading = LAUNCH)]
    pub stack: Option<u32>,
    /// Refuse to run if the chip cannot hold all workgroups at once
    ///
    /// hipLaunchCooperativeKernel does the same.
    #[arg(long, hide_short_help = true, help_heading = LAUNCH)]
    pub cooperative: bool,
    /// Launch that often, one time after the other, on the same buffers
    #[arg(long, value_name = "N", value_parser = amount::times, hide_short_help = true, help_heading = LAUNCH)]
    pub repeat: Option<NonZeroU32>,
    /// Target or product to run on, such as gfx942 or mi210
    ///
    /// Target features may follow: gfx90a:xnack-. `wavemill targets` lists the names. Not needed if the file has code
    /// for one target only. OpenCL C and HIP are compiled for gfx942 without it.
    #[arg(long, value_name = "TARGET", value_parser = input::parse_choice_to_run, help_heading = LAUNCH)]
    pub target: Option<TargetChoice>,
    /// Write a launch file for the kernel instead of running it
    ///
    /// Without a name, it goes to the standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with = "trace", help_heading = LAUNCH)]
    pub init: Option<PathBuf>,

    #[command(flatten)]
    pub compile: CompileArgs,

    /// Print a buffer or a part of it: y, 'y[:4]', 'y[0,:4]'
    ///
    /// A third number is the step: 'y[10:20:2]'. In hexadecimal: 'y[:4]:x'.
    #[arg(long, value_name = "VIEW", help_heading = RESULTS)]
    pub print: Vec<String>,
    /// Write a buffer to a file: y=y.npy, y=y.bin, y=y.png
    ///
    /// A picture may have a range and a palette: y=y.png,range=0:1,palette=heat (or gray, steps).
    #[arg(long, value_name = "VIEW=FILE", help_heading = RESULTS)]
    pub out: Vec<String>,
    /// Compare a buffer with what it should be: y=ref.npy, 'y[:2]=[0,2]'
    ///
    /// Contents are those of arguments: 'y=iota(0,2)'.
    #[arg(long, value_name = "VIEW=CONTENTS", help_heading = RESULTS)]
    pub expect: Vec<String>,
    /// How far floats may be off, any of: abs=1e-6,rel=1e-5,ulp=2
    ///
    /// Without it they must be equal.
    #[arg(long, value_name = "BOUNDS", hide_short_help = true, help_heading = RESULTS)]
    pub tolerance: Option<String>,
    /// Bytes of what the kernel can print by OpenCL's printf, such as 64M; 16M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::printf_buffer, hide_short_help = true, help_heading = RESULTS)]
    pub printf_buffer: Option<u64>,

    /// Report accesses that the chip drops or answers with 0
    ///
    /// `lds`, the default, are those beyond the LDS of a workgroup. `buffers` are those beyond what a buffer resource says, which some
    /// programs mean. Both: lds,buffers.
    #[arg(long, value_name = "RULES", num_args = 0..=1, require_equals = true, default_missing_value = "lds", value_parser = strict, help_heading = CHECKS)]
    pub strict: Option<Strict>,
    /// Fill what nobody wrote with this word, or with NaNs, instead of 0
    ///
    /// Registers, LDS, private memory and buffers without contents are filled. The default is 0xfffafffa, a NaN in every
    /// float format.
    #[arg(long, value_name = "WORD", num_args = 0..=1, require_equals = true, default_missing_value = "0xfffafffa", help_heading = CHECKS)]
    pub poison: Option<String>,
    /// Stop after that many seconds, and report where every wave is
    ///
    /// The time counts from the start of the command. It bounds clang, too, which compiles sources.
    #[arg(long, value_name = "SECONDS", value_parser = amount::timeout, help_heading = CHECKS)]
    pub timeout: Option<Duration>,
    /// Stop a launch after that many instructions of all waves together
    ///
    /// A few more may run: waves stop between blocks of code.
    #[arg(long, value_name = "N", value_parser = amount::instructions, hide_short_help = true, help_heading = CHECKS)]
    pub max_instructions: Option<u64>,
    /// Report registers and more of the code at a fault
    ///
    /// Of a grid that does not finish, the report lists more of the waves.
    #[arg(long, help_heading = CHECKS)]
    pub registers: bool,

    /// Report how many instructions ran, of which kinds and how fast
    ///
    /// The level is basic or full. `full` reports accesses to memory, too, which slows kernels down.
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "basic", help_heading = TRACE)]
    pub stats: Option<StatsLevel>,
    /// Add the rows of the instruction table that ran to a file, and report how many there are
    ///
    /// The file is made if there is none.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = TRACE)]
    pub isa_coverage: Option<PathBuf>,
    /// The old name of --isa-coverage, which is refused
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    pub coverage: Option<String>,
    /// Show every instruction that runs, with registers and memory accesses
    ///
    /// Registers are those that it changes. The trace goes to the standard error.
    #[arg(long, help_heading = TRACE)]
    pub trace: bool,
    /// Show only the instructions of this workgroup: X, X,Y or X,Y,Z
    #[arg(long, value_name = "WORKGROUP", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_workgroup: Option<String>,
    /// Show only the instructions of this wave of the workgroups
    #[arg(long, value_name = "N", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_wave: Option<u32>,
    /// Show only these instructions, of a function or by guest addresses
    ///
    /// Examples: scale, scale+0x10..0x40, 0x1000001900..0x1000001940.
    #[arg(long, value_name = "RANGE", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_pc: Vec<String>,
    /// How instructions are shown
    ///
    /// `json` is an object on a line of its own for each (docs/trace.md). The default is the format of messages.
    #[arg(long, value_name = "FORMAT", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_format: Option<trace::Format>,
    /// Write the trace to a file instead
    #[arg(long, value_name = "FILE", requires = "trace", hide_short_help = true, help_heading = TRACE)]
    pub trace_file: Option<PathBuf>,

    /// Host threads, 1024 at most; all cores by default
    #[arg(long, value_name = "N", value_parser = amount::threads, hide_short_help = true, help_heading = ENGINE)]
    pub threads: Option<NonZeroUsize>,
    /// Run workgroups in order on one thread, with clocks that count instructions
    #[arg(long, hide_short_help = true, help_heading = ENGINE)]
    pub deterministic: bool,
    /// Vector hardware of the host to use: portable, avx2 or avx512; the best by default
    #[arg(long, value_name = "TIER", hide_short_help = true, help_heading = ENGINE)]
    pub tier: Option<String>,
    /// Bytes of what the kernel can have by malloc, such as 1G; 256M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::heap, hide_short_help = true, help_heading = ENGINE)]
    pub heap: Option<u64>,
    #[command(flatten, next_help_heading = ENGINE)]
    pub limits: input::LimitArgs,
    /// What addresses of kernels are; sandbox by default
    ///
    /// `sandbox`: the same in every run. `identity`: those of this process.
    #[arg(long, value_name = "MODE", value_parser = address_mode, hide_short_help = true, help_heading = ENGINE)]
    pub address_mode: Option<AddressMode>,
}

impl RunArgs {
    /// Refuses options that have another name now.
    pub(super) fn check_names(&self) -> Result<(), Failure> {
        match &self.coverage {
            None => Ok(()),
            Some(_) => Err(Failure::usage("--coverage is called --isa-coverage now")
                .help("It counts rows of the instruction table. Write --isa-coverage FILE.")),
        }
    }
}

/// The tier of `--tier`, which this host has.
pub(crate) fn tier(text: Option<&String>) -> Result<Option<Tier>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let found = Tier::ALL.into_iter().find(|tier| tier.name() == text.as_str());
    let tier = found.ok_or_else(|| {
        Failure::usage(format!(
            "there is no tier `{text}`; expected {}",
            Tier::ALL.map(Tier::name).join(", "),
            text = text.shown()
        ))
    })?;
    match tier.is_available() {
        true => Ok(Some(tier)),
        false => Err(Failure::usage(format!(
            "this host cannot run the tier {text}; its best is {}",
            Tier::detect(),
            text = text.shown()
        ))),
    }
}

/// Reads the mode of `--address-mode`, for clap.
pub(super) fn address_mode(text: &str) -> Result<AddressMode, String> {
    let found = AddressMode::ALL.into_iter().find(|mode| mode.name() == text);
    let expected = || AddressMode::ALL.map(AddressMode::name).join(" or ");
    found.ok_or_else(|| format!("expected {}, found `{text}`", expected(), text = text.shown()))
}

/// Reads the word of `--poison`.
pub(super) fn poison(text: &str) -> Result<u32, Failure> {
    let digits = text.replace('_', "");
    let word = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    word.map_err(|_| {
        Failure::usage(format!(
            "--poison: `{text}` is no 32-bit word; expected a number such as 0xfffafffa",
            text = text.shown()
        ))
    })
}

/// The rules of `--strict`, by their names.
pub(super) const STRICT: [(&str, Strict); 2] =
    [("lds", Strict { lds: true, buffers: false }), ("buffers", Strict { lds: false, buffers: true })];

/// Reads the rules of `--strict`, for clap.
pub(super) fn strict(text: &str) -> Result<Strict, String> {
    text.split(',').try_fold(Strict::default(), |all, name| {
        let (_, rule) = STRICT.iter().find(|(known, _)| *known == name.trim()).ok_or_else(|| {
            let names = STRICT.map(|(name, _)| name).join(", ");
            format!("there is no rule `{name}`; expected any of {names}", name = name.shown())
        })?;
        Ok(Strict { lds: all.lds | rule.lds, buffers: all.buffers | rule.buffers })
    })
}

/// The rules as `--strict` takes them; empty if there are none.
pub(crate) fn strict_text(strict: Strict) -> String {
    let has = |rule: Strict| (rule.lds && strict.lds) || (rule.buffers && strict.buffers);
    let names: Vec<&str> = STRICT.iter().filter(|(_, rule)| has(*rule)).map(|(name, _)| *name).collect();
    names.join(",")
}
