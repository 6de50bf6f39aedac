//! Lists every kernel of every code object in a file, one line each:
//!
//! ```text
//! cargo run --release -p wavemill-object --example list_kernels -- librocrand.so.1.1
//! ```
//!
//! With `--quiet`, prints only the totals.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::process::ExitCode;

use wavemill_object::{CodeObject, Container, Limits};

/// Totals of one file.
#[derive(Default)]
struct Totals {
    bundles: usize,
    objects: usize,
    kernels: usize,
    problems: usize,
}

fn list(path: &str, quiet: bool) -> Result<Totals, Box<dyn Error>> {
    let file = File::open(path)?;
    // SAFETY: the file does not change while this program runs, as every reader of object files
    // assumes.
    let data = unsafe { memmap2::Mmap::map(&file)? };
    let limits = Limits::default();
    let mut out = BufWriter::new(stdout().lock());
    let mut totals = Totals::default();
    for bundle in Container::parse(&data)?.bundles() {
        totals.bundles += 1;
        let bundle = bundle.open(&limits)?;
        for entry in bundle.entries().iter().filter(|entry| entry.id.target.is_some() && entry.size != 0) {
            let object =
                CodeObject::parse(bundle.read(entry)?).map_err(|error| format!("{}: {error}", entry.id))?;
            totals.objects += 1;
            for problem in object.problems() {
                totals.problems += 1;
                writeln!(out, "{path}: {}: {problem}", entry.id)?;
            }
            for kernel in object.kernels() {
                totals.kernels += 1;
                if quiet {
                    continue;
                }
                let registers = kernel.descriptor.registers(&object.target().processor);
                let vgprs = registers.map_or(0, |registers| registers.vgprs);
                let name = kernel.demangled_name().unwrap_or_else(|| kernel.name.clone());
                writeln!(
                    out,
                    "{:24} {vgprs:3} VGPRs {:6} bytes LDS {:4} bytes kernarg  {name}",
                    object.target().to_string(),
                    kernel.descriptor.group_segment_fixed_size,
                    kernel.kernarg_size(),
                )?;
            }
        }
    }
    out.flush()?;
    Ok(totals)
}

fn main() -> ExitCode {
    let mut quiet = false;
    let mut failed = false;
    for argument in std::env::args().skip(1) {
        if argument == "--quiet" {
            quiet = true;
            continue;
        }
        match list(&argument, quiet) {
            Ok(Totals { bundles, objects, kernels, problems }) => println!(
                "{argument}: {bundles} bundles, {objects} code objects, {kernels} kernels, {problems} problems"
            ),
            Err(error) => {
                failed = true;
                eprintln!("{argument}: {error}");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
