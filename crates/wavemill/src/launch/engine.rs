//! The choice of the engine that runs a launch.

use std::fmt;
use std::sync::Arc;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::Block;
#[cfg(feature = "jit")]
use wavemill_jit::Jit;
use wavemill_machine::{RegisterCounts, engine};
use wavemill_reference_engine::ReferenceEngine;

/// The engine that runs a launch. All engines give the same bits.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
/// use wavemill::launch::Engine;
///
/// # let (kernel, args) = given::vector_add(256)?;
/// # let wavemill::Arg::Buffer(c) = &args[2] else { panic!() };
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args.clone());
/// let mut results = Vec::new();
/// for engine in Engine::ALL {
///     let stats = launch.clone().engine(engine).run()?;
///     println!("{}: {} instructions", stats.engine, stats.run.instructions);
///     results.push(c.bytes()?);
/// }
/// assert_eq!(results[0], results[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Engine {
    /// The interpreter on the vector hardware of the host: on this tier, or on the best one of the
    /// host.
    Interpreter(Option<Tier>),
    /// Machine code of the host for all code that it enters. What it has no code for is run by the
    /// interpreter: single operations, watched, counted and strict runs. On hosts without AVX-512, and
    /// without the feature `jit` of this crate, it is the interpreter ([`Engine::on_this_host`]).
    Jit,
    /// The interpreter at first, and machine code for what runs often, as for [`Engine::Jit`]. A thread
    /// makes it while waves go on.
    Auto,
    /// The reference engine, which runs one IR operation at a time through exact references. It is
    /// slow, and checks other engines. The interpreter runs watched waves and waves that run
    /// instruction by instruction.
    Reference,
}

impl Default for Engine {
    fn default() -> Self {
        Engine::Interpreter(None)
    }
}

impl Engine {
    /// One engine of each kind: the interpreter on the best vector hardware of the host, and the
    /// others.
    pub const ALL: [Engine; 4] = [Engine::Interpreter(None), Engine::Jit, Engine::Auto, Engine::Reference];

    /// Name for messages and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Interpreter(_) => "interpreter",
            Engine::Jit => "jit",
            Engine::Auto => "auto",
            Engine::Reference => "reference",
        }
    }

    /// The tier of an interpreter; `None` for other engines, and for an interpreter that chooses
    /// its own.
    #[must_use]
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Engine::Interpreter(tier) => tier,
            Engine::Jit | Engine::Auto | Engine::Reference => None,
        }
    }

    /// The engine on this host: an interpreter includes the tier that it uses, and stands for machine
    /// code if there is none.
    #[must_use]
    pub fn on_this_host(self) -> Engine {
        match self {
            Engine::Interpreter(tier) => Engine::Interpreter(Some(interpreter(tier).tier())),
            Engine::Jit | Engine::Auto if !has_jit() => Engine::default().on_this_host(),
            other => other,
        }
    }

    /// For each guest instruction of a block, whether the engine has machine code for it; `None` for an engine without.
    pub(super) fn has_code_for(self, block: &Arc<Block>, counts: RegisterCounts) -> Option<Vec<bool>> {
        match self.on_this_host() {
            #[cfg(feature = "jit")]
            Engine::Jit | Engine::Auto => Some(Jit::has_code_for(block, counts)),
            _ => {
                let _ = (block, counts);
                None
            }
        }
    }

    /// Makes the engine that the machine runs waves with.
    pub(super) fn make(self) -> Box<dyn engine::Engine> {
        match self {
            Engine::Interpreter(tier) => Box::new(interpreter(tier)),
            Engine::Jit => jit(false),
            Engine::Auto => jit(true),
            Engine::Reference => Box::new(ReferenceEngine::with_close_looks(Box::new(interpreter(None)))),
        }
    }
}

#[cfg(feature = "jit")]
fn jit(in_background: bool) -> Box<dyn engine::Engine> {
    let jit = if in_background { Jit::shared_in_background() } else { Jit::shared() };
    Box::new(jit.clone())
}

#[cfg(not(feature = "jit"))]
fn jit(_: bool) -> Box<dyn engine::Engine> {
    Box::new(interpreter(None))
}

/// Whether there is machine code on this host, in this build.
fn has_jit() -> bool {
    #[cfg(feature = "jit")]
    return Jit::is_available();
    #[cfg(not(feature = "jit"))]
    false
}

fn interpreter(tier: Option<Tier>) -> Interpreter {
    tier.map_or_else(Interpreter::new, Interpreter::on)
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.tier() {
            Some(tier) => write!(f, ", tier {tier}"),
            None => Ok(()),
        }
    }
}
