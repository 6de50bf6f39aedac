//! Developer chores: generated pages, counts, comparison with peers.

mod c_library;
mod chart;
mod compare_objdump;
mod conformance;
mod coverage;
mod fidelity;
mod files;
mod generated;
mod handbook;
mod histogram;
mod ir;
mod ir_reference;
mod mutants;
mod operations;
mod pictures;
mod round_trip;
mod sessions;
mod shell;
mod sweep;

use std::process::ExitCode;

use clap::Parser;

/// Developer chores of Wavemill
#[derive(Parser)]
#[command(name = "xtask")]
enum Chore {
    /// Build the C interface, and install libwavemill, wavemill.h and a file for pkg-config
    CLibrary(c_library::Options),
    /// Compare `wavemill dis --format objdump` with llvm-objdump-22 on all code objects in files and folders
    CompareObjdump(compare_objdump::Options),
    /// Write the tables of CONFORMANCE.md that follow from the rows
    Conformance(generated::Options),
    /// Print how many rows of the instruction table the kernels execute, by format and target
    Coverage(coverage::Options),
    /// Write docs/fidelity.md: the levels and facets of all instructions, and those without a meaning
    Fidelity(generated::Options),
    /// Write docs/options.md, and the table in docs/exit-codes.md, from the definition of the command line
    Handbook(generated::Options),
    /// Print what kernels and instructions binaries have, by how often they occur, and whether all of them have a meaning
    Histogram(histogram::Options),
    /// Print the blocks of a kernel as IR, with what analyses say of each operation
    Ir(ir::Options),
    /// Write docs/ir.md: what every operation of the IR takes, gives and does
    IrReference(generated::Options),
    /// Change expressions of lifting rules and float operations, and list the changes that no test notices
    Mutants(mutants::Options),
    /// Print how many operations the guest instructions of the kernels become, on all targets
    Operations(operations::Options),
    /// Draw docs/pictures: what commands print in a terminal, and the speeds of BENCHMARKS.md
    Pictures(generated::Options),
    /// Write the sources of all code objects in files and folders, assemble and link them, and compare the code objects
    RoundTrip(round_trip::Options),
    /// Run the commands that pages show, and compare what they print with the pages
    Sessions(sessions::Options),
    /// Run the elementary functions of f32 on all 2^32 sources, and compare them with correctly rounded results
    Sweep(sweep::Options),
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::CLibrary(options) => c_library::run(&options),
        Chore::CompareObjdump(options) => compare_objdump::run(&options),
        Chore::Conformance(options) => conformance::run(&options),
        Chore::Coverage(options) => coverage::run(&options),
        Chore::Fidelity(options) => fidelity::run(&options),
        Chore::Handbook(options) => handbook::run(&options),
        Chore::Histogram(options) => histogram::run(&options),
        Chore::Ir(options) => ir::run(&options),
        Chore::IrReference(options) => ir_reference::run(&options),
        Chore::Mutants(options) => mutants::run(&options),
        Chore::Operations(options) => operations::run(&options),
        Chore::Pictures(options) => pictures::run(&options),
        Chore::RoundTrip(options) => round_trip::run(&options),
        Chore::Sessions(options) => sessions::run(&options),
        Chore::Sweep(options) => sweep::run(&options),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
