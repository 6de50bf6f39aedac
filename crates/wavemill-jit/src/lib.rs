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
mod planted;
#[cfg(target_arch = "x86_64")]
mod shapes;
#[cfg(target_arch = "x86_64")]
mod translator;
#[cfg(target_arch = "x86_64")]
mod unit;

#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub use planted::{PlantedError, PlantedKind};

use std::sync::{Arc, OnceLock};

use wavemill_interpreter::Interpreter;
use wavemill_ir::Block;
use wavemill_machine::engine::{Engine, Executor, Task};
use wavemill_machine::registers::RegisterCounts;

/// Entries after which [`Jit::shared_in_background`] translates a block: less is interpreted sooner than translated.
const ENTRIES_OF_HOT_BLOCKS: u64 = 64;

/// The engine.
#[derive(Clone, Debug)]
pub struct Jit {
    engine: Inner,
    interpreter: Interpreter,
}

#[derive(Clone, Debug)]
enum Inner {
    #[cfg(target_arch = "x86_64")]
    Translating(wavemill_interpreter::Translating, Arc<translator::UnitTranslator>),
    Interpreter(Interpreter),
}

impl Jit {
    /// An engine that translates all blocks at once. Hosts without AVX-512 have the interpreter alone.
    #[must_use]
    pub fn new() -> Jit {
        Jit::with_patience(1)
    }

    /// An engine that interprets, and translates a block in a thread of its own when it has been entered
    /// this often, a long block sooner. Waves never wait for machine code.
    #[must_use]
    pub fn in_background(entries: u64) -> Jit {
        let interpreter = Interpreter::new();
        #[cfg(target_arch = "x86_64")]
        if interpreter.tier() == wavemill_interpreter::Tier::Avx512 {
            return Jit::with_translator(
                "auto",
                interpreter,
                translator::UnitTranslator::in_background(entries),
            );
        }
        let _ = entries;
        Jit { engine: Inner::Interpreter(interpreter), interpreter }
    }

    /// The engine of this process that translates in the background.
    #[must_use]
    pub fn shared_in_background() -> &'static Jit {
        static SHARED: OnceLock<Jit> = OnceLock::new();
        SHARED.get_or_init(|| Jit::in_background(ENTRIES_OF_HOT_BLOCKS))
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

    /// An engine for tests of tests: its machine code has an error.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_error(error: PlantedError) -> Jit {
        let translator = translator::UnitTranslator::new(1, None).with_error(error);
        Jit::with_translator("jit", Interpreter::new(), translator)
    }

    /// How often it has planted its error.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    #[must_use]
    pub fn planted_errors(&self) -> usize {
        match &self.engine {
            Inner::Translating(_, translator) => translator.planted(),
            Inner::Interpreter(_) => 0,
        }
    }

    fn made(entries: u64, leave_before: Option<u32>) -> Jit {
        let interpreter = Interpreter::new();
        #[cfg(target_arch = "x86_64")]
        if interpreter.tier() == wavemill_interpreter::Tier::Avx512 {
            let translator = translator::UnitTranslator::new(entries, leave_before);
            return Jit::with_translator("jit", interpreter, translator);
        }
        let _ = (entries, leave_before);
        Jit { engine: Inner::Interpreter(interpreter), interpreter }
    }

    #[cfg(target_arch = "x86_64")]
    fn with_translator(
        name: &'static str,
        interpreter: Interpreter,
        translator: translator::UnitTranslator,
    ) -> Jit {
        let translator = Arc::new(translator);
        let engine = wavemill_interpreter::Translating::new(name, interpreter, translator.clone());
        Jit { engine: Inner::Translating(engine, translator), interpreter }
    }

    /// For each guest instruction of a block, whether machine code does all of it in waves with these registers. The
    /// interpreter or its handlers do the others.
    #[must_use]
    pub fn has_code_for(block: &Arc<Block>, counts: RegisterCounts) -> Vec<bool> {
        #[cfg(target_arch = "x86_64")]
        if Jit::is_available() {
            let tier = wavemill_interpreter::Tier::Avx512;
            let compiled = wavemill_interpreter::translate::Compiled::new(Arc::clone(block), counts, tier);
            return unit::inline_instructions(&compiled, counts);
        }
        let _ = counts;
        vec![false; block.guest.len()]
    }

    /// Number of units of machine code that the engine keeps.
    #[must_use]
    pub fn units(&self) -> usize {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Inner::Translating(_, translator) => translator.units(),
            Inner::Interpreter(_) => 0,
        }
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
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Inner::Translating(engine, _) => engine.name(),
            Inner::Interpreter(_) => "jit",
        }
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        match &self.engine {
            #[cfg(target_arch = "x86_64")]
            Inner::Translating(engine, _) => engine.executor(task),
            Inner::Interpreter(engine) => engine.executor(task),
        }
    }
}
