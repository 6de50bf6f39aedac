//! The reference engine: it runs wave IR one operation at a time through the exact references of `wavemill-float`, lane by
//! lane, slowly and plainly. Other engines are held against it.
//!
//! It is written from the definitions of operations (docs/ir.md) and shares no code with other engines beside the machine
//! and the references. It has no probes, so it leaves watched waves and single steps to another engine.

mod atomics;
mod buffer;
mod code;
mod executor;
mod float;
mod format_cvt;
mod host;
mod indexed;
mod lanes;
mod lds;
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

/// The reference engine, with another one for close looks: it has no probes itself.
#[derive(Debug)]
pub struct ReferenceEngine {
    close_looks: Box<dyn Engine + Send>,
}

impl ReferenceEngine {
    /// The engine, with another one for waves that are watched and for those that run instruction by instruction.
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
