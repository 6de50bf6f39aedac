//! The options of `wavemill run`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use wavemill::{AddressMode, Strict, TargetChoice, Tier};

use super::amount;
use super::launch_file::StatsLevel;
use super::trace;
use crate::failure::Failure;
use crate::input;

/// What `--poison` without a word means: a quiet NaN as f16, bf16, f32 and f64, and as an address outside of memory.
pub(super) const POISON: u32 = 0xfffa_fffa;

/// Options of `wavemill run`.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct RunArgs {
    /// Launch file (.toml), code object, offload bundle, or host program or library with GPU code in it
    pub file: PathBuf,
    /// Arguments of the kernel: name:type[count]=contents
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    pub args: Vec<String>,
    /// The kernel, by its name in the code object or in the source; not needed if there is only one
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Size of the grid in workgroups: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE")]
    pub grid: Option<String>,
    /// Size of the grid in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE", conflicts_with = "grid")]
    pub global_size: Option<String>,
    /// Size of a workgroup in work-items: X, X,Y or XxYxZ
    #[arg(long, value_name = "SIZE")]
    pub block: Option<String>,
    /// First global id (OpenCL's global work offset): X, X,Y or X,Y,Z
    #[arg(long, value_name = "OFFSET")]
    pub offset: Option<String>,
    /// Bytes of LDS beyond what the kernel declares (HIP's third launch parameter)
    #[arg(long, value_name = "BYTES")]
    pub dynamic_lds: Option<u32>,
    /// Target or product to run on, such as gfx942, gfx90a:xnack- or mi210 (`wavemill targets` lists them); not needed if
    /// the file has code for one target only
    #[arg(long, value_name = "TARGET", value_parser = input::parse_choice_to_run)]
    pub target: Option<TargetChoice>,
    /// Print a buffer or a part of it: y, 'y[:4]', 'y[10:20:2]', 'y[0,:4]'; 'y[:4]:x' in hexadecimal
    #[arg(long, value_name = "VIEW")]
    pub print: Vec<String>,
    /// Write a buffer to a file: y=y.npy, y=y.bin, y=y.png; y=y.png,range=0:1,palette=heat (or gray, steps)
    #[arg(long, value_name = "VIEW=FILE")]
    pub out: Vec<String>,
    /// Compare a buffer with what it should be: y=ref.npy, 'y[:4]=[0,2,4,6]', 'y=iota(0,2)'
    #[arg(long, value_name = "VIEW=CONTENTS")]
    pub expect: Vec<String>,
    /// How far floats may be off, any of: abs=1e-6,rel=1e-5,ulp=2 (without it they must be equal)
    #[arg(long, value_name = "BOUNDS")]
    pub tolerance: Option<String>,
    /// Tell how many instructions ran, of which kinds and how fast; with `full` also how memory was accessed, which slows
    /// kernels down
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "basic")]
    pub stats: Option<StatsLevel>,
    /// Add the rows of the instruction table that ran to a file (made if it is not there), and tell how many there are
    #[arg(long, value_name = "FILE")]
    pub coverage: Option<PathBuf>,
    /// Host threads, 1024 at most; all cores by default
    #[arg(long, value_name = "N", value_parser = amount::threads)]
    pub threads: Option<NonZeroUsize>,
    /// Vector hardware of the host to use: portable, avx2 or avx512; the best by default
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,
    /// Stop a launch after that many instructions of all waves together (or a few more: waves stop between blocks of
    /// code)
    #[arg(long, value_name = "N", value_parser = amount::instructions)]
    pub max_instructions: Option<u64>,
    /// Stop after that many seconds, and tell where every wave is
    #[arg(long, value_name = "SECONDS", value_parser = amount::timeout)]
    pub timeout: Option<Duration>,
    /// Launch that often, one time after the other, on the same buffers
    #[arg(long, value_name = "N", value_parser = amount::times)]
    pub repeat: Option<NonZeroU32>,
    /// Run workgroups in order on one thread, with clocks that count instructions
    #[arg(long)]
    pub deterministic: bool,
    /// Fill what nobody wrote (registers, LDS, private memory, buffers without contents) with this word instead of 0;
    /// 0xfffafffa without one, a NaN in every float format
    #[arg(long, value_name = "WORD", num_args = 0..=1, require_equals = true, default_missing_value = "0xfffafffa")]
    pub poison: Option<String>,
    /// Report accesses that the chip answers with 0, or drops, without a word: `lds` (beyond the LDS of a workgroup; the
    /// default), `buffers` (beyond what a buffer resource says, which some programs mean), or lds,buffers
    #[arg(long, value_name = "RULES", num_args = 0..=1, require_equals = true, default_missing_value = "lds", value_parser = strict)]
    pub strict: Option<Strict>,
    /// Refuse to run if the chip cannot hold all workgroups at once (hipLaunchCooperativeKernel)
    #[arg(long)]
    pub cooperative: bool,
    /// Bytes of what the kernel can print by OpenCL's printf, such as 64M; 16M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::printf_buffer)]
    pub printf_buffer: Option<u64>,
    /// Bytes of what the kernel can have by malloc, such as 1G; 256M by default
    #[arg(long, value_name = "BYTES", value_parser = amount::heap)]
    pub heap: Option<u64>,
    /// What addresses of kernels are: sandbox, the same in every run, or identity, those of this process; sandbox by default
    #[arg(long, value_name = "MODE", value_parser = address_mode)]
    pub address_mode: Option<AddressMode>,
    /// Show every instruction that is run, the registers that it changes and the memory that it accesses, on the standard
    /// error
    #[arg(long)]
    pub trace: bool,
    /// Show only the instructions of this workgroup: X, X,Y or X,Y,Z
    #[arg(long, value_name = "WORKGROUP", requires = "trace")]
    pub trace_workgroup: Option<String>,
    /// Show only the instructions of this wave of the workgroups
    #[arg(long, value_name = "N", requires = "trace")]
    pub trace_wave: Option<u32>,
    /// Show only these instructions, of a function or by guest addresses: scale, scale+0x10..0x40, 0x1000001900..0x1000001940
    #[arg(long, value_name = "RANGE", requires = "trace")]
    pub trace_pc: Vec<String>,
    /// How instructions are shown: as text, or each as a JSON object on a line of its own (docs/trace.md); by default as
    /// messages are
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub trace_format: Option<trace::Format>,
    /// Write the trace to a file instead
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub trace_file: Option<PathBuf>,
    /// Write a launch file for the kernel instead of running it; to the standard output without a name
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with = "trace")]
    pub init: Option<PathBuf>,
}

/// The tier of `--tier`, which this host has.
pub(crate) fn tier(text: Option<&String>) -> Result<Option<Tier>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let found = Tier::ALL.into_iter().find(|tier| tier.name() == text.as_str());
    let tier = found.ok_or_else(|| {
        Failure::usage(format!(
            "there is no tier `{text}`; expected {}",
            Tier::ALL.map(Tier::name).join(", ")
        ))
    })?;
    match tier.is_available() {
        true => Ok(Some(tier)),
        false => Err(Failure::usage(format!(
            "this host cannot run the tier {text}; its best is {}",
            Tier::detect()
        ))),
    }
}

/// Reads the mode of `--address-mode`, for clap.
pub(super) fn address_mode(text: &str) -> Result<AddressMode, String> {
    let found = AddressMode::ALL.into_iter().find(|mode| mode.name() == text);
    let expected = || AddressMode::ALL.map(AddressMode::name).join(" or ");
    found.ok_or_else(|| format!("expected {}, found `{text}`", expected()))
}

/// Reads the word of `--poison`.
pub(super) fn poison(text: &str) -> Result<u32, Failure> {
    let digits = text.replace('_', "");
    let word = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    word.map_err(|_| {
        Failure::usage(format!("--poison: `{text}` is no 32-bit word; expected a number such as 0xfffafffa"))
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
            format!("there is no rule `{name}`; expected any of {names}")
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
