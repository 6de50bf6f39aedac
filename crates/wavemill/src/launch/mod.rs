//! Launches: their options ([`Launch`]), how they run, and how they end ([`Outcome`]).

mod builder;
mod engine;
mod exports;
mod host_memory;
mod outcome;
mod plan;
mod prepare;
mod run;
pub(crate) mod stats;

pub use builder::Launch;
pub use engine::Engine;
pub use host_memory::HostMemory;
pub use outcome::Outcome;
pub use plan::LdsSize;

pub use crate::abi::MisreadOffset;
pub use crate::argument::Arg;
pub use crate::services::{Output, PRINTF_BUFFER_SIZES};
pub use crate::traps::{Exceptions, TrapHandler, UnknownException};
pub use wavemill_interpreter::Tier;
pub use wavemill_machine::{CHECKS_ACCESSES, MAX_THREADS, OutOfRange, RunControl, RunOptions, Strict};
