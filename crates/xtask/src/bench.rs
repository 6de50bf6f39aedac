//! Times the kernels in `kernels/`: how fast their machine code runs on this machine.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use wavemill::{
    Arg, Buffer, Device, Error, InstructionMix, Launch, Module, OperationCounts, RunOptions, Tier,
};
use wavemill_kernels::{Case, KERNELS, Size, Target, Value, fixture};

/// Kernels of the table: those that stand for a kind of work.
const TABLE: &[&str] = &[
    "vector_add",
    "sgemm",
    "reduction",
    "softmax",
    "mandelbrot",
    "nbody",
    "sha256",
    "xorshift",
    "histogram_local",
    "histogram_global",
    "transpose",
];

#[derive(Args)]
pub(crate) struct Options {
    /// Kernels to time; without it, those of the table in BENCHMARKS.md
    kernels: Vec<String>,
    /// Target whose code objects are run
    #[arg(long, default_value = "gfx942")]
    target: String,
    /// Host threads
    #[arg(long, default_value_t = NonZeroUsize::MIN)]
    threads: NonZeroUsize,
    /// Vector hardware: portable, avx2 or avx512; without it, the best of this machine
    #[arg(long)]
    tier: Option<String>,
    /// Timed runs; the median is printed
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Check the results against the host references too
    #[arg(long)]
    check: bool,
    /// Time nothing: print how many operations the guest instructions of all kernels become, on all targets
    #[arg(long)]
    ir: bool,
}

struct Measurement {
    time: Duration,
    mix: InstructionMix,
    operations: OperationCounts,
    tier: Tier,
}

fn launch(case: &Case, target: Target, options: &RunOptions, check: bool) -> Result<Measurement, String> {
    let object = fixture(target, case.object).ok_or("no such fixture")?;
    let text = |e: Error| e.to_string();
    let device = Device::for_object(object).map_err(text)?;
    let module = Module::load(&device, object).map_err(text)?;
    let kernel = module.kernel(case.kernel).map_err(text)?;
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut args = Vec::new();
    for arg in &case.args {
        args.push(match &arg.value {
            Value::Buffer { data, .. } => {
                let buffer = device.buffer_from(arg.name, data).map_err(text)?;
                buffers.push(buffer.clone());
                Arg::Buffer(buffer)
            }
            Value::U32(v) => Arg::from(*v),
            Value::U64(v) => Arg::from(*v),
            Value::F32(v) => Arg::from(*v),
            Value::F64(v) => Arg::from(*v),
            Value::Bytes(v) => Arg::Value(v.clone()),
            Value::Local(bytes) => Arg::Local(*bytes),
        });
    }
    let launch = Launch::new(&kernel)
        .global_size(case.global.map(u64::from))
        .workgroup_size(case.local)
        .global_offset(case.offset)
        .dims(case.dims as u16)
        .args(args)
        .options(options.clone());
    let start = Instant::now();
    let stats = launch.run().map_err(text)?;
    let time = start.elapsed();
    if check {
        let contents = buffers.iter().map(|b| b.bytes().map_err(text)).collect::<Result<Vec<_>, _>>()?;
        case.check(&contents).map_err(|m| m.to_string())?;
    }
    Ok(Measurement {
        time,
        mix: stats.mix.unwrap_or_default(),
        operations: stats.operations.unwrap_or_default(),
        tier: stats.run.tier,
    })
}

/// Operations per guest instruction and opaque shares, one line for each kernel.
fn operations(names: &[&str], run: &RunOptions, check: bool) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let run = RunOptions { count_blocks: true, ..run.clone() };
    println!("| kernel | {} |", Target::ALL.map(Target::name).join(" | "));
    println!("|---|{}", "---:|".repeat(Target::ALL.len()));
    let cell = |o: &OperationCounts| {
        format!("{:.2} / {:.2} / {:.1}%", o.ir_per_guest(), o.host_per_guest(), 100.0 * o.opaque_share())
    };
    let mut opaque: BTreeMap<&str, u64> = BTreeMap::new();
    for maker in KERNELS.iter().filter(|k| names.is_empty() || names.contains(&k.name)) {
        let case = maker.make(Size::Small);
        let mut cells = Vec::new();
        for target in Target::ALL {
            let counted = launch(&case, target, &run, check)
                .map_err(|e| format!("{} on {}: {e}", maker.name, target.name()))?;
            for (name, n) in &counted.operations.opaque_by_instruction {
                *opaque.entry(name).or_default() += n;
            }
            cells.push(cell(&counted.operations));
        }
        println!("| {} | {} |", maker.name, cells.join(" | "));
    }
    let mut opaque: Vec<_> = opaque.into_iter().collect();
    opaque.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    let named: Vec<String> = opaque.iter().take(12).map(|(name, n)| format!("{name} {n}")).collect();
    println!("\nOpaque, most frequent first: {}", named.join(", "));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let target = Target::from_name(&options.target).ok_or_else(|| {
        let names = Target::ALL.map(Target::name).join(", ");
        format!("no fixtures for `{}`; there are {names}", options.target)
    })?;
    let tier = match options.tier.as_deref() {
        None => None,
        Some(name) => Some(
            Tier::ALL
                .into_iter()
                .find(|t| t.name() == name)
                .ok_or_else(|| format!("no tier `{name}`; there are portable, avx2 and avx512"))?,
        ),
    };
    let run = RunOptions { threads: Some(options.threads), tier, ..RunOptions::default() };
    if options.ir {
        let names: Vec<&str> = options.kernels.iter().map(String::as_str).collect();
        return operations(&names, &run, options.check);
    }
    let names: Vec<&str> = if options.kernels.is_empty() {
        TABLE.to_vec()
    } else {
        options.kernels.iter().map(String::as_str).collect()
    };
    println!("{} on {} thread(s), median of {}", target.name(), options.threads, options.runs);
    println!(
        "| kernel | work-items | time | ns per item | wave-instr/s | VALU lane-ops/s | scalar instr/s | tier |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for name in names {
        let maker = KERNELS.iter().find(|k| k.name == name).ok_or_else(|| format!("no kernel `{name}`"))?;
        let case = maker.make(Size::Bench);
        // One counted run, which also warms up; then the timed ones, which do not count.
        let counted = launch(&case, target, &RunOptions { count_blocks: true, ..run.clone() }, options.check)
            .map_err(|e| format!("{name}: {e}"))?;
        let mut times = Vec::new();
        for _ in 0..options.runs.max(1) {
            times.push(launch(&case, target, &run, false).map_err(|e| format!("{name}: {e}"))?.time);
        }
        times.sort();
        let time = times[times.len() / 2];
        let seconds = time.as_secs_f64();
        let mix = counted.mix;
        let scalar = mix.salu + mix.smem + mix.control;
        println!(
            "| {name} | {} | {:.2} ms | {:.2} | {:.0} M | {:.2} G | {:.0} M | {} |",
            case.work_items(),
            seconds * 1e3,
            seconds * 1e9 / case.work_items() as f64,
            mix.total() as f64 / seconds / 1e6,
            64.0 * mix.valu as f64 / seconds / 1e9,
            scalar as f64 / seconds / 1e6,
            counted.tier,
        );
    }
    Ok(ExitCode::SUCCESS)
}
