//! The `wavemill` command as a library: the entry point of `main`, and functions that the project's
//! own chores share with it.

mod amount;
mod asm;
mod bench;
mod cayman;
mod command;
mod compile;
mod dis;
mod explain;
mod failure;
mod files;
mod info;
mod input;
mod isa;
mod kernel_code;
mod logging;
mod mc;
mod message;
mod names;
mod run;
mod shell;
mod symbolic;
mod targets;
mod text;

pub use bench::{Measurement, launch as launch_case, launch_object};
pub use command::{definition, main};
pub use dis::objdump::write_object as write_objdump;
pub use failure::{Exit, Failure};
pub use run::check_launch_file;
