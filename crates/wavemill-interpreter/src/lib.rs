//! The interpreter of wave IR: threaded code over the register files of waves, on the vector hardware of the host.
//!
//! [`Interpreter`] is the engine that a machine runs waves with.
//!
//! A host operation (`hostop.rs`) points to the data that its handlers need in addition to the
//! operands, such as `FloatInfo`, `Perform` and `Site`, and handlers receive host operations. So
//! the files of handlers and `hostop.rs` refer to each other.

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

mod address;
mod atomic;
mod body;
mod buffer;
mod compare;
mod compile;
mod control;
mod cost;
mod cvt;
mod edge;
mod float;
mod format_cvt;
mod fused;
mod graphics;
mod hostop;
mod image;
mod indexed;
mod int;
mod lane;
mod lds;
mod linear;
mod matrix;
mod mem;
mod probe;
mod runner;
mod scalar;
mod scratch;
mod select;
mod simd;
mod smem;
mod spill;
mod status;
mod step;
mod strict;
mod sync;
mod tier;
pub mod translate;
mod wide;

use std::sync::Arc;

use wavemill_machine::engine::{Engine, Executor, Task};

use translate::Translator;

pub use cost::{OperationCost, operation_costs};
pub use tier::Tier;

/// The interpreter as an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interpreter {
    tier: Tier,
}

impl Interpreter {
    /// The interpreter on the host's best vector hardware.
    #[must_use]
    pub fn new() -> Interpreter {
        Interpreter { tier: Tier::detect() }
    }

    /// The interpreter on a tier; on the portable one if the host lacks it.
    #[must_use]
    pub fn on(tier: Tier) -> Interpreter {
        Interpreter { tier: if tier.is_available() { tier } else { Tier::Portable } }
    }

    /// The vector hardware that it uses.
    #[must_use]
    pub fn tier(self) -> Tier {
        self.tier
    }
}

impl Default for Interpreter {
    fn default() -> Self {
        Interpreter::new()
    }
}

impl Engine for Interpreter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        Box::new(runner::Runner::new(self.tier, task, None))
    }
}

/// The interpreter with a translator for code that runs often. Executors of watched waves, of counting and strict runs, and
/// of sources that collect exceptions do not use the translator.
#[derive(Clone, Debug)]
pub struct Translating {
    interpreter: Interpreter,
    name: &'static str,
    translator: Arc<dyn Translator>,
}

impl Translating {
    /// An engine of this name.
    #[must_use]
    pub fn new(name: &'static str, interpreter: Interpreter, translator: Arc<dyn Translator>) -> Translating {
        Translating { interpreter, name, translator }
    }
}

impl Engine for Translating {
    fn name(&self) -> &'static str {
        self.name
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        Box::new(runner::Runner::new(self.interpreter.tier, task, Some(Arc::clone(&self.translator))))
    }
}
