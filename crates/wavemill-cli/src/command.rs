//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::bench::BenchArgs;
use crate::dis::DisArgs;
use crate::failure::Failure;
use crate::info::InfoArgs;

/// What every help page ends with.
const EXIT_CODES: &str = "\
Exit codes:
  0    everything went well
  1    an expectation (--expect) did not hold
  2    the command line or launch file makes no sense
  3    a file cannot be read or written, or is not what it should be (code for
       another target, for example)
  4    the kernel faulted: an illegal access, a trap, a jump to nowhere,
       or it can never finish
  5    the kernel reached an instruction that Wavemill does not implement
  124  the kernel was stopped at --max-instructions";

/// Run, disassemble and inspect AMD GPU code on any CPU: no GPU, no driver, no ROCm
#[derive(Parser, Debug)]
#[command(name = "wavemill", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = EXIT_CODES, after_long_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a kernel
    #[command(after_help = crate::run::HELP)]
    Run(Box<crate::run::RunArgs>),
    /// Disassemble kernels and functions
    #[command(after_help = "\
Examples:
  wavemill dis vector_add.co
  wavemill dis vector_add.co --kernel vector_add
  wavemill dis librocrand.so.1.1 --target gfx90a
  wavemill dis vector_add.co --format objdump | diff - <(llvm-objdump-22 -d vector_add.co)")]
    Dis(DisArgs),
    /// Say what a file holds: targets, kernels, arguments, registers, memory
    #[command(after_help = "\
Examples:
  wavemill info vector_add.co
  wavemill info librocrand.so.1.1 --target gfx90a --kernel poisson")]
    Info(InfoArgs),
    /// Time kernels on this machine, alone or against pocl
    #[command(after_help = crate::bench::HELP)]
    Bench(BenchArgs),
}

/// Reads the command line, does what it says, and tells how it went.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Run(args) => crate::run::run(args),
        Command::Dis(args) => crate::dis::dis(args),
        Command::Info(args) => crate::info::info(args),
        Command::Bench(args) => crate::bench::bench(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            ExitCode::from(if failure.quiet { 0 } else { failure.exit as u8 })
        }
    }
}

fn report(failure: &Failure) {
    if !failure.quiet {
        // If nobody can read the message, there is nobody to tell.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("error: {failure}\n"));
    }
}
