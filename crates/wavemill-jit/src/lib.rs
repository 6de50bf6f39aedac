//! Machine code of the host from wave IR, for code that runs often.
//!
//! [`Jit`] is an engine: the interpreter, with a translator for blocks that waves enter often. The
//! translator compiles a *unit*: the blocks that a block leads to by static branches. Operations run
//! in the order of the guest, each on all four strips of 16 lanes. Rows are in vector registers while
//! they are used; the register file of the wave is their home.
//!
//! Machine code leaves for the interpreter at any operation, with all registers at home. What it has
//! no code for is run by the interpreter's handlers.

#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(target_arch = "x86_64")]
mod emit;
#[cfg(target_arch = "x86_64")]
mod lir;
#[cfg(target_arch = "x86_64")]
mod lower;
#[cfg(target_arch = "x86_64")]
mod translator;
#[cfg(target_arch = "x86_64")]
mod unit;

use std::sync::OnceLock;

use wavemill_interpreter::Interpreter;
use wavemill_machine::engine::{Engine, Executor, Task};

/// The engine.
#[derive(Clone, Debug)]
pub struct Jit {
    engine: Inner,
    interpreter: Interpreter,
}

#[derive(Clone, Debug)]
enum Inner {
    #[cfg(target_arch = "x86_64")]
    Translating(wavemill_interpreter::Translating),
    Interpreter(Interpreter),
}

impl Jit {
    /// An engine that translates all blocks at once. Hosts without AVX-512 have the interpreter alone.
    #[must_use]
    pub fn new() -> Jit {
        Jit::with_patience(1)
    }

    /// The engine of this process: what it has made for a launch serves later ones.
    #[must_use]
    pub fn shared() -> &'static Jit {
        static SHARED: OnceLock<Jit> = OnceLock::new();
        SHARED.get_or_init(Jit::new)
    }

    /// Whether this host has what machine code needs: x86-64 with AVX-512.
    #[must_use]
    pub fn is_available() -> bool {
        cfg!(target_arch = "x86_64") && Interpreter::new().tier() == wavemill_interpreter::Tier::Avx512
    }

    /// An engine that translates a block when it has been entered this often.
    #[must_use]
    pub fn with_patience(entries: u64) -> Jit {
        Jit::made(entries, None)
    }

    /// An engine for tests of exits: the machine code of every block leaves before the operation with this number.
    #[must_use]
    pub fn leaving_before(operation: u32) -> Jit {
        Jit::made(1, Some(operation))
    }

    fn made(entries: u64, leave_before: Option<u32>) -> Jit {
        let interpreter = Interpreter::new();
        #[cfg(target_arch = "x86_64")]
        if interpreter.tier() == wavemill_interpreter::Tier::Avx512 {
            let translator = std::sync::Arc::new(translator::UnitTranslator::new(entries, leave_before));
            let engine = wavemill_interpreter::Translating::new("jit", interpreter, translator);
            return Jit { engine: Inner::Translating(engine), interpreter };
        }
        let _ = (entries, leave_before);
        Jit { engine: Inner::Interpreter(interpreter), interpreter }
    }

    /// The interpreter that it consists of.
    #[must_use]
    pub fn interpreter(&self) -> Interpreter {
        self.interpreter
    }
}

impl Default for Jit {
    fn default() -> Self {
        Jit::new()
    }
}

impl Engine for Jit {
    fn name(&self) -> &'static str {
        "jit"
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Inner::Translating(engine) => engine.executor(task),
            Inner::Interpreter(engine) => engine.executor(task),
        }
    }
}
