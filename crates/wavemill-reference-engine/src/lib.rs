//! The reference engine runs wave IR one operation at a time, lane by lane, through the exact
//! references of `wavemill-float`. It is slow and plain; tests compare other engines with it.
//!
//! It is written from the definitions of operations (docs/ir.md) and shares only the machine and
//! the references with other engines. It has no probes, so it leaves watched waves and single steps
//! to another engine.

mod atomics;
mod buffer;
mod code;
mod executor;
mod float;
mod format_cvt;
mod host;
mod image;
mod indexed;
mod lanes;
mod lds;
mod matrix;
mod memory;
mod operands;
mod operation;
mod scalar;
mod scalar_memory;
mod state;
mod strict;
mod vector;

use wavemill_machine::engine::{Engine, Executor, Task};

pub use executor::ReferenceExecutor;

/// The reference engine. It has no probes, so another engine runs waves that need close looks.
#[derive(Debug)]
pub struct ReferenceEngine {
    close_looks: Box<dyn Engine + Send>,
}

impl ReferenceEngine {
    /// Creates the engine; `engine` runs watched waves and waves that run instruction by
    /// instruction.
    #[must_use]
    pub fn with_close_looks(engine: Box<dyn Engine + Send>) -> ReferenceEngine {
        ReferenceEngine { close_looks: engine }
    }
}

impl Engine for ReferenceEngine {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        Box::new(ReferenceExecutor::new(task))
    }

    fn for_close_looks(&self) -> Option<&dyn Engine> {
        Some(&*self.close_looks)
    }
}
