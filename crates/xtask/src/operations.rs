//! How many operations the instructions of the kernels in `kernels/` become.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Args;
use wavemill::RunOptions;
use wavemill::launch::{Engine, Tier};
use wavemill::stats::OperationCounts;
use wavemill_cli::launch_case;
use wavemill_kernels::{KERNELS, Size, Target, why_absent};

#[derive(Args)]
pub(crate) struct Options {
    /// Kernels to count in; without it, all
    kernels: Vec<String>,
    /// Vector hardware: portable, avx2 or avx512; without it, the best of this machine
    #[arg(long)]
    tier: Option<String>,
    /// Check the results against the host references too
    #[arg(long)]
    check: bool,
    /// Count in the kernels that LLVM compiles for Cayman, per group and slot
    #[arg(long)]
    cayman: bool,
}

/// The tier of that name.
pub(crate) fn tier_named(name: &str) -> Result<Tier, String> {
    Tier::ALL
        .into_iter()
        .find(|tier| tier.name() == name)
        .ok_or_else(|| format!("no tier `{name}`; there are portable, avx2 and avx512"))
}

/// Operations per guest instruction and opaque shares, one line for each kernel.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let tier = options.tier.as_deref().map(tier_named).transpose()?;
    let engine = Engine::Interpreter(tier);
    let run = RunOptions { threads: Some(NonZeroUsize::MIN), count_blocks: true, ..RunOptions::default() };
    let names = &options.kernels;
    if let Some(name) = names.iter().find(|name| KERNELS.iter().all(|kernel| kernel.name != name.as_str())) {
        return Err(format!("no kernel `{name}`").into());
    }
    let chosen = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    if options.cayman {
        return cayman(engine, &run, chosen);
    }
    println!("| kernel | {} |", Target::GCN.map(Target::name).join(" | "));
    println!("|---|{}", "---:|".repeat(Target::GCN.len()));
    let cell = |o: &OperationCounts| {
        format!("{:.2} / {:.2} / {:.1}%", o.ir_per_guest(), o.host_per_guest(), 100.0 * o.opaque_share())
    };
    let mut opaque: BTreeMap<&str, u64> = BTreeMap::new();
    for maker in KERNELS.iter().filter(|kernel| chosen(kernel.name)) {
        let case = maker.make(Size::Small);
        let mut cells = Vec::new();
        for target in Target::GCN {
            let counted = launch_case(&case, target, engine, &run, options.check)
                .map_err(|e| format!("{}: {e}", target.name()))?;
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

/// Operations of groups on Cayman. Results are not checked: some kernels have other ones there.
fn cayman(
    engine: Engine,
    run: &RunOptions,
    chosen: impl Fn(&str) -> bool,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    println!("| kernel | groups | slots per group | IR per slot | host per instruction | lane by lane |");
    println!("|---|---:|---:|---:|---:|---:|");
    for maker in KERNELS.iter().filter(|kernel| chosen(kernel.name)) {
        let case = maker.make(Size::Small);
        if why_absent(Target::Cayman, case.object, case.kernel).is_some() {
            continue;
        }
        match launch_case(&case, Target::Cayman, engine, run, false) {
            Ok(counted) => {
                let operations = &counted.operations;
                let (groups, share) = (&operations.groups, 100.0 * operations.opaque_share());
                println!(
                    "| {} | {} | {:.2} | {:.3} | {:.2} | {share:.1}% |",
                    maker.name,
                    groups.groups,
                    groups.slots_per_group(),
                    groups.ir_per_slot(),
                    operations.host_per_guest(),
                );
            }
            Err(failure) => println!("| {} | {} | | | | |", maker.name, failure.message),
        }
    }
    Ok(ExitCode::SUCCESS)
}
