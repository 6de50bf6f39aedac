//! Runs the elementary functions of f32 on all 2^32 sources, and compares the results with correctly rounded ones.
//!
//! The subject is the instruction as a kernel executes it: decoder, lifter, engine. The expected value comes from the
//! host's f64 functions where these decide how an f32 rounds, and else from the series of `wavemill-reference`.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::Args;
use wavemill::launch::{Engine, Tier};
use wavemill::{Buffer, Device, Kernel, Launch, Module};
use wavemill_reference::{Env, F32, Field, Mode, exp2, log2, rcp, rsq, sine, sqrt};

use crate::operations::tier_named;

#[derive(Args)]
pub(crate) struct Options {
    /// Functions to sweep: rcp, rsq, sqrt, exp, log, sin, cos; without it, all
    functions: Vec<String>,
    /// Vector hardware: portable, avx2 or avx512; without it, the best of this machine
    #[arg(long)]
    tier: Option<String>,
    /// Folder for the counts so far: an interrupted sweep continues there
    #[arg(long, default_value = "target/sweeps")]
    state: PathBuf,
    /// Stop after this many blocks of 2^24 sources of each function
    #[arg(long, default_value_t = BLOCKS)]
    blocks: u32,
}

/// Sources of a launch.
const BLOCK: u32 = 1 << 24;
/// Launches of a whole sweep.
const BLOCKS: u32 = 1 << 8;

/// The host's f64 functions are trusted to this relative error; those of glibc, musl and macOS are better than 2^-51.
const TRUSTED: f64 = 1.0 / (1u64 << 42) as f64;

/// An instruction and its expected results.
struct Function {
    name: &'static str,
    /// The function by the host, of a number that is neither zero nor denormal; NaN where it is not defined.
    near: fn(f64) -> f64,
    /// The function by exact arithmetic.
    exact: fn(u64, Env) -> u64,
    /// Whether the instruction keeps denormals in the mode of a launch; MODE has no say where it does
    /// not (Vega ISA 12.8).
    keeps_denormals: bool,
}

/// The sine of `x` turns plus a number of quarter turns.
fn host_sine(x: f64, quarters: f64) -> f64 {
    let turn = x.fract();
    let quarter = (4.0 * turn).round();
    let angle = (turn - quarter / 4.0) * std::f64::consts::TAU;
    match (quarter + quarters).rem_euclid(4.0) as u8 {
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    }
}

const FUNCTIONS: [Function; 7] = [
    Function { name: "rcp", near: |x| 1.0 / x, exact: |a, env| rcp(F32, a, env), keeps_denormals: false },
    Function {
        name: "rsq",
        near: |x| 1.0 / x.sqrt(),
        exact: |a, env| rsq(F32, a, env),
        keeps_denormals: false,
    },
    Function { name: "sqrt", near: f64::sqrt, exact: |a, env| sqrt(F32, a, env), keeps_denormals: false },
    Function { name: "exp", near: f64::exp2, exact: |a, env| exp2(F32, a, env), keeps_denormals: false },
    Function { name: "log", near: f64::log2, exact: |a, env| log2(F32, a, env), keeps_denormals: false },
    Function {
        name: "sin",
        near: |x| host_sine(x, 0.0),
        exact: |a, env| sine(F32, a, 0, env),
        keeps_denormals: true,
    },
    Function {
        name: "cos",
        near: |x| host_sine(x, 1.0),
        exact: |a, env| sine(F32, a, 1, env),
        keeps_denormals: true,
    },
];

/// Results so far.
#[derive(Clone, Default, PartialEq, Debug)]
struct Counts {
    /// Launches that are done.
    blocks: u32,
    /// Sources whose result is a NaN, an infinity, a zero.
    nans: u64,
    infinities: u64,
    zeros: u64,
    /// Sources whose result only exact arithmetic decides.
    hard: u64,
    /// Sources with another result than the correctly rounded one.
    wrong: u64,
    /// The largest error of a number, in units of its last place.
    error: f64,
    /// The first sources with a wrong result: source, result, expected result.
    examples: Vec<[u32; 3]>,
}

/// Examples of wrong results to keep.
const EXAMPLES: usize = 8;

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.blocks += other.blocks;
        self.nans += other.nans;
        self.infinities += other.infinities;
        self.zeros += other.zeros;
        self.hard += other.hard;
        self.wrong += other.wrong;
        self.error = self.error.max(other.error);
        self.examples.extend(&other.examples);
        self.examples.truncate(EXAMPLES);
    }

    fn write(&self) -> String {
        let mut text = format!(
            "blocks {}\nnans {}\ninfinities {}\nzeros {}\nhard {}\nwrong {}\nerror {}\n",
            self.blocks,
            self.nans,
            self.infinities,
            self.zeros,
            self.hard,
            self.wrong,
            self.error.to_bits()
        );
        for [source, found, expected] in &self.examples {
            let _ = writeln!(text, "example {source} {found} {expected}");
        }
        text
    }

    fn read(text: &str) -> Option<Counts> {
        let mut counts = Counts::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let key = words.next()?;
            let values: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
            match (key, &values[..]) {
                ("blocks", [n]) => counts.blocks = u32::try_from(*n).ok()?,
                ("nans", [n]) => counts.nans = *n,
                ("infinities", [n]) => counts.infinities = *n,
                ("zeros", [n]) => counts.zeros = *n,
                ("hard", [n]) => counts.hard = *n,
                ("wrong", [n]) => counts.wrong = *n,
                ("error", [bits]) => counts.error = f64::from_bits(*bits),
                ("example", [a, b, c]) => counts.examples.push([*a as u32, *b as u32, *c as u32]),
                _ => return None,
            }
        }
        Some(counts)
    }

    /// Counts one result.
    fn count(&mut self, function: &Function, source: u32, found: u32) {
        let (expected, near) = function.expected(source, &mut self.hard);
        let number = f32::from_bits(found);
        self.nans += u64::from(number.is_nan());
        self.infinities += u64::from(number.is_infinite());
        self.zeros += u64::from(number == 0.0);
        if let Some(near) = near.filter(|_| number.is_finite() && number != 0.0) {
            // The last place of the result has the weight of its exponent; denormals share the smallest one.
            let exponent = (found >> 23 & 0xff).max(1) as i32;
            let place = 2f64.powi(exponent - 150);
            self.error = self.error.max((f64::from(number) - near).abs() / place);
        }
        if found != expected {
            self.wrong += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push([source, found, expected]);
            }
        }
    }
}

impl Function {
    fn env(&self) -> Env {
        let mode = if self.keeps_denormals { 0xf0 } else { 0xc0 };
        Mode(mode).env(Field::Single)
    }

    /// The correctly rounded result of a source, and the result that the host computes if the source is a number.
    fn expected(&self, source: u32, hard: &mut u64) -> (u32, Option<f64>) {
        let x = f32::from_bits(source);
        let exact = || (self.exact)(u64::from(source), self.env()) as u32;
        if x.is_nan() {
            return (source | 0x0040_0000, None);
        }
        if !(x.is_normal() || self.keeps_denormals && x.is_subnormal()) {
            return (exact(), None);
        }
        let near = (self.near)(f64::from(x));
        if near.is_nan() {
            return (0xffc0_0000, None);
        }
        let [low, high] = [near * (1.0 - TRUSTED), near * (1.0 + TRUSTED)].map(|y| (y as f32).to_bits());
        if low != high {
            *hard += 1;
            return (exact(), Some(near));
        }
        let result = f32::from_bits(low);
        let flushed = result.is_subnormal() && !self.keeps_denormals;
        // Zeros of sine and cosine are positive (Vega ISA 12.8, V_SIN_F32, examples).
        let sign = if self.keeps_denormals && result == 0.0 { 0 } else { low & 0x8000_0000 };
        (if flushed || result == 0.0 { sign } else { low }, Some(near))
    }
}

/// A kernel that executes the instruction on consecutive patterns.
struct Subject {
    kernel: Kernel,
    results: Buffer,
    engine: Engine,
}

impl Subject {
    fn new(function: &Function, engine: Engine) -> Result<Subject, Box<dyn std::error::Error>> {
        let source = format!(
            "
            .amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"
            .text
            .globl sweep
            .p2align 8
            .type sweep,@function
    sweep:
            s_load_dwordx2 s[2:3], s[0:1], 0x0
            s_load_dword s5, s[0:1], 0x8
            s_lshl_b32 s4, s4, 8
            v_add_u32_e32 v0, s4, v0
            s_waitcnt lgkmcnt(0)
            v_add_u32_e32 v1, s5, v0
            v_{}_f32_e32 v1, v1
            v_lshlrev_b32_e32 v0, 2, v0
            global_store_dword v0, v1, s[2:3]
            s_endpgm
    .Lend:
            .size sweep, .Lend-sweep
            .rodata
            .p2align 6
            .amdhsa_kernel sweep
                .amdhsa_float_denorm_mode_32 3
                .amdhsa_user_sgpr_kernarg_segment_ptr 1
                .amdhsa_user_sgpr_count 4
                .amdhsa_system_sgpr_workgroup_id_x 1
                .amdhsa_kernarg_size 12
                .amdhsa_next_free_vgpr 2
                .amdhsa_next_free_sgpr 6
            .end_amdhsa_kernel
            ",
            function.name
        );
        let module = wavemill_asm::assemble(&source, &wavemill_asm::Options::default())
            .map_err(|reports| format!("the kernel of the sweep: {reports:?}"))?;
        let object = wavemill_object::write::link(&module)?;
        let device = Device::for_object(&object)?;
        let kernel = Module::load(&device, &object)?.kernel("sweep")?;
        let results = device.buffer("results", 4 * u64::from(BLOCK))?;
        Ok(Subject { kernel, results, engine })
    }

    /// The results of `count` sources, a multiple of 256, from `first` on.
    fn run(&self, first: u32, count: u32) -> Result<Vec<u32>, Box<dyn std::error::Error>> {
        let mut arguments = self.results.address().to_le_bytes().to_vec();
        arguments.extend(first.to_le_bytes());
        Launch::new(&self.kernel)
            .workgroups([count / 256, 1, 1])
            .workgroup_size([256, 1, 1])
            .kernarg(&arguments)
            .engine(self.engine)
            .run()?;
        let mut results: Vec<u32> = self.results.to_vec()?;
        results.truncate(count as usize);
        Ok(results)
    }
}

/// Counts the results of consecutive sources on all host threads.
fn compare(function: &Function, first: u32, results: &[u32]) -> Counts {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = results.len().div_ceil(threads).max(1);
    let mut counts = Counts::default();
    thread::scope(|scope| {
        let parts: Vec<_> = results
            .chunks(share)
            .zip(0u32..)
            .map(|(part, n)| {
                scope.spawn(move || {
                    let mut counts = Counts::default();
                    let first = first + n * share as u32;
                    for (found, n) in part.iter().zip(0..) {
                        counts.count(function, first + n, *found);
                    }
                    counts
                })
            })
            .collect();
        for part in parts {
            match part.join() {
                Ok(part) => counts.add(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    counts
}

/// Replaces a file in one step, so that an interruption leaves the old or the new one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(new, path)
}

/// Sweeps the functions and prints a line of a table for each.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let tier = options.tier.as_deref().map(tier_named).transpose()?;
    let engine = Engine::Interpreter(tier);
    if let Some(name) =
        options.functions.iter().find(|name| FUNCTIONS.iter().all(|f| f.name != name.as_str()))
    {
        let names = FUNCTIONS.map(|f| f.name).join(", ");
        return Err(format!("no function `{name}`; there are {names}").into());
    }
    fs::create_dir_all(&options.state)?;
    println!(
        "| instruction | sources | NaN | infinity | zero | decided by series | other results | largest error (ulp) |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut examples = String::new();
    for function in FUNCTIONS
        .iter()
        .filter(|f| options.functions.is_empty() || options.functions.iter().any(|name| name == f.name))
    {
        let name = format!("{}-{}.txt", function.name, tier.map_or("best", Tier::name));
        let path = options.state.join(name);
        let mut counts = match fs::read_to_string(&path) {
            Ok(text) => Counts::read(&text).ok_or_else(|| {
                format!("{}: not the state of a sweep; remove it to start again", path.display())
            })?,
            Err(_) => Counts::default(),
        };
        let subject = Subject::new(function, engine)?;
        while counts.blocks < options.blocks.min(BLOCKS) {
            let first = counts.blocks * BLOCK;
            let results = subject.run(first, BLOCK)?;
            counts.add(&Counts { blocks: 1, ..compare(function, first, &results) });
            replace(&path, &counts.write())?;
        }
        println!(
            "| `v_{}_f32` | {} | {} | {} | {} | {} | {} | {:.4} |",
            function.name,
            u64::from(counts.blocks) * u64::from(BLOCK),
            counts.nans,
            counts.infinities,
            counts.zeros,
            counts.hard,
            counts.wrong,
            counts.error
        );
        for [source, found, expected] in &counts.examples {
            writeln!(
                examples,
                "v_{}_f32 of {source:#x}: {found:#x} instead of {expected:#x}",
                function.name
            )?;
        }
    }
    if examples.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\n{}", examples.trim_end());
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host's interval never decides otherwise than the series, also where it says that they must decide.
    #[test]
    fn the_host_decides_as_the_series_do() {
        let mut hard = 0;
        for function in &FUNCTIONS {
            // All exponents and signs, and the hardest sources of 2^x.
            let spread = (0..4096u32).map(|n| n << 20 | n.wrapping_mul(0x9_e377) & 0xf_ffff);
            for source in spread.chain([0x3b42_9d37, 0xbcf3_a937, 0xb52d_1f9a, 0x3f80_0001, 0x3f7f_ffff]) {
                let (expected, _) = function.expected(source, &mut hard);
                let exact = (function.exact)(u64::from(source), function.env()) as u32;
                assert_eq!(expected, exact, "{} of {source:#x}", function.name);
            }
        }
        assert!(hard >= 2, "{hard} sources were hard");
    }

    #[test]
    fn a_wrong_result_is_counted_with_its_error() {
        let mut counts = Counts::default();
        let function = &FUNCTIONS[0];
        counts.count(function, 2f32.to_bits(), 0.5f32.to_bits());
        counts.count(function, 3f32.to_bits(), (1.0f32 / 3.0).to_bits());
        assert_eq!((counts.wrong, counts.error < 0.5), (0, true));
        counts.count(function, 3f32.to_bits(), (1.0f32 / 3.0).to_bits() + 1);
        assert_eq!((counts.wrong, counts.examples.len()), (1, 1));
        assert!(counts.error > 0.5 && counts.error < 2.0, "{}", counts.error);
        assert_eq!(Counts::read(&counts.write()), Some(counts));
        assert_eq!(Counts::read("blocks many\n"), None);
    }

    /// A sample of each function, as the kernel executes it: sources around a half, and the ends of all ranges.
    #[test]
    fn a_sample_is_correctly_rounded() -> Result<(), Box<dyn std::error::Error>> {
        for function in &FUNCTIONS {
            let subject = Subject::new(function, Engine::Interpreter(None))?;
            for first in [0, 0x3eff_0000, 0x7f7f_ff00, 0x8000_0000, 0xc2fb_0000, 0xffff_ff00] {
                let results = subject.run(first, 256)?;
                let counts = compare(function, first, &results);
                assert_eq!(counts.examples, [[0; 3]; 0], "{}", function.name);
            }
        }
        Ok(())
    }
}
