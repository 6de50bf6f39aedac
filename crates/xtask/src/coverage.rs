//! How much of the instruction table the kernels in `kernels/` execute.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Args;
use wavemill::RunOptions;
use wavemill::launch::Engine;
use wavemill::stats::rows_of;
use wavemill_cli::launch_object;
use wavemill_isa::gcn::Format;
use wavemill_kernels::{KERNELS, Level, Size, Target, fixture_at};

#[derive(Args)]
pub(crate) struct Options {
    /// Kernels to run; without it, all
    kernels: Vec<String>,
    /// Only objects of -O2
    #[arg(long)]
    quick: bool,
    /// Name the rows of this format that no kernel executes
    #[arg(long, value_name = "FORMAT")]
    missing: Option<String>,
}

/// Rows by name.
type Rows = BTreeSet<&'static str>;

/// Rows executed and rows there are, one line for each format.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let names = &options.kernels;
    if let Some(name) = names.iter().find(|name| KERNELS.iter().all(|kernel| kernel.name != name.as_str())) {
        return Err(format!("no kernel `{name}`").into());
    }
    let missing = match &options.missing {
        None => None,
        Some(name) => Some(
            Format::ALL
                .iter()
                .find(|format| format.name() == name.as_str())
                .ok_or_else(|| format!("no format `{name}`"))?,
        ),
    };
    let run = RunOptions { threads: NonZeroUsize::new(2), count_blocks: true, ..RunOptions::default() };
    let levels = if options.quick { &[Level::O2][..] } else { &Level::ALL };
    let mut executed: BTreeMap<&str, Rows> = BTreeMap::new();
    let mut launches = 0;
    for maker in KERNELS.iter().filter(|k| names.is_empty() || names.iter().any(|name| name == k.name)) {
        let case = maker.make(Size::Small);
        for target in Target::GCN {
            for level in levels {
                let object = fixture_at(target, *level, case.object)?;
                let counted = launch_object(&case, &object, Engine::default(), &run, false)
                    .map_err(|e| format!("{}: {}: {e}", target.name(), level.name()))?;
                let rows = counted.rows.ok_or("the launch was not counted")?;
                executed.entry(target.name()).or_default().extend(rows.list().iter().map(|row| row.name));
                launches += 1;
            }
        }
    }
    println!("{launches} launches\n");
    println!("| format | {} |", Target::GCN.map(Target::name).join(" | "));
    println!("|---|{}", "---:|".repeat(Target::GCN.len()));
    let cell = |target: Target, wanted: &dyn Fn(&str) -> bool| {
        let table = wavemill_isa::Target::GCN.into_iter().find(|known| known.name() == target.name());
        let rows: Vec<&str> = table
            .into_iter()
            .flat_map(rows_of)
            .filter(|(_, format)| wanted(format))
            .map(|(name, _)| name)
            .collect();
        let known = executed.get(target.name());
        let hit = rows.iter().filter(|name| known.is_some_and(|known| known.contains(*name))).count();
        format!("{hit} / {}", rows.len())
    };
    for format in Format::ALL {
        let cells = Target::GCN.map(|target| cell(target, &|of| of == format.name()));
        println!("| {} | {} |", format.name(), cells.join(" | "));
    }
    println!("| all | {} |", Target::GCN.map(|target| cell(target, &|_| true)).join(" | "));
    if let Some(wanted) = missing {
        let hit: Rows = executed.values().flatten().copied().collect();
        let all: Rows = wavemill_isa::Target::GCN
            .into_iter()
            .filter(|table| Target::GCN.iter().any(|target| target.name() == table.name()))
            .flat_map(rows_of)
            .filter(|(name, format)| *format == wanted.name() && !hit.contains(name))
            .map(|(name, _)| name)
            .collect();
        println!("\nNot executed on any target: {}", all.into_iter().collect::<Vec<_>>().join(", "));
    }
    Ok(ExitCode::SUCCESS)
}
