//! Developer chores: fixtures, generated pages, benches against peers.

mod bench;
mod compare_objdump;
mod conformance;

use std::process::ExitCode;

use clap::Parser;

/// Developer chores of Wavemill
#[derive(Parser)]
#[command(name = "xtask")]
enum Chore {
    /// Compare `wavemill dis --format objdump` with llvm-objdump-22 on all code objects in files and folders
    CompareObjdump(compare_objdump::Options),
    /// Time the kernels in `kernels/` on this machine and print a table
    Bench(bench::Options),
    /// Write the tables of CONFORMANCE.md that follow from the rows
    Conformance(conformance::Options),
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::CompareObjdump(options) => compare_objdump::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Conformance(options) => conformance::run(&options),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
