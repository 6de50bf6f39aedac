//! The `wavemill` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    wavemill_cli::main()
}
