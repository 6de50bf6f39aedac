//! Which engine runs a launch.

use std::fmt;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_machine::engine;

/// The engine that runs a launch. All engines give the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Engine {
    /// The interpreter on the vector hardware of the host: on that tier, or on the best of the host.
    Interpreter(Option<Tier>),
}

impl Default for Engine {
    fn default() -> Self {
        Engine::Interpreter(None)
    }
}

impl Engine {
    /// Name for messages and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Interpreter(_) => "interpreter",
        }
    }

    /// The tier of an interpreter.
    #[must_use]
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Engine::Interpreter(tier) => tier,
        }
    }

    /// The engine as it is on this host: an interpreter with the tier that it uses.
    #[must_use]
    pub fn on_this_host(self) -> Engine {
        match self {
            Engine::Interpreter(tier) => Engine::Interpreter(Some(interpreter(tier).tier())),
        }
    }

    /// What the machine runs waves with.
    pub(super) fn make(self) -> Box<dyn engine::Engine> {
        match self {
            Engine::Interpreter(tier) => Box::new(interpreter(tier)),
        }
    }
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
