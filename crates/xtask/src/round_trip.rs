//! Code objects to sources and back: every one must come out as it went in.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use wavemill_asm::{Options as AssemblerOptions, SourceOptions, assemble, write_source};
use wavemill_object::write::{LinkOptions, Undefined, link_with};
use wavemill_object::{Unlinked, unlink};

use crate::files::{Found, for_each_object};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Files and folders with code objects, bundles, host programs and libraries; other files in folders are passed over
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Take only every Nth code object
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Differences to show per code object
    #[arg(long, value_name = "N", default_value_t = 4)]
    show: usize,
}

/// Sums of a run, by target.
#[derive(Default)]
struct Sums {
    objects: u64,
    instructions: u64,
    /// Words where an instruction was that no text gives back, and those that are no instruction.
    words: u64,
    different: u64,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    let mut seen = 0;
    for_each_object(&options.paths, |found| {
        seen += 1;
        if seen % options.every != 0 {
            return Ok(());
        }
        object(options, &found, &mut sums)
    })?;
    let mut failed = sums.is_empty();
    println!("target       objects   instructions   words as data   different objects");
    for (target, sums) in &sums {
        let Sums { objects, instructions, words, different } = sums;
        println!("{target:10} {objects:>9} {instructions:>14} {words:>15} {different:>19}");
        failed |= *different != 0;
    }
    if sums.is_empty() {
        println!("nothing was compared: no code object for any known target");
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn object(
    options: &Options,
    found: &Found<'_>,
    sums: &mut BTreeMap<String, Sums>,
) -> Result<(), Box<dyn Error>> {
    let first = unlink(found.bytes)?;
    let sums = sums.entry(found.target.name().to_owned()).or_default();
    sums.objects += 1;
    let mut source = String::new();
    let written = write_source(&mut source, &first, &SourceOptions::default())?;
    sums.instructions += written.instructions;
    sums.words += written.words;
    let differences = match again(&source) {
        Ok(second) => first.differences(&second),
        Err(error) => vec![error.to_string()],
    };
    if !differences.is_empty() {
        sums.different += 1;
        println!("{} at {}", found.path.display(), found.place);
        for difference in differences.iter().take(options.show) {
            println!("  {difference}");
        }
    }
    Ok(())
}

/// What the source assembles and links to.
fn again(source: &str) -> Result<Unlinked, Box<dyn Error>> {
    let module = assemble(source, &AssemblerOptions::default()).map_err(|reports| {
        let lines =
            reports.iter().take(3).map(|report| format!("{} [{}]", report.diagnostic, report.text.trim()));
        lines.collect::<Vec<_>>().join("; ")
    })?;
    Ok(unlink(&link_with(&module, &LinkOptions { undefined: Undefined::Keep, ..LinkOptions::default() })?)?)
}
