//! An observer of everything, to compare a watched run with an unwatched one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wavemill_machine::{Instruction, Interests, Observer, Reporter, Watcher, WaveId};

/// Watches all waves, or the odd ones.
#[derive(Debug)]
pub struct Watching {
    interests: Interests,
    odd: bool,
    /// Number of instruction events received.
    pub instructions: AtomicU64,
}

impl Watching {
    /// Watches everything.
    #[must_use]
    pub fn everything() -> Watching {
        let interests = Interests {
            instructions: true,
            registers: true,
            memory: true,
            barriers: true,
            fences: true,
            pcs: None,
        };
        Watching { interests, odd: false, instructions: AtomicU64::new(0) }
    }

    /// Watches memory and registers of the odd waves, at some instructions.
    #[must_use]
    pub fn some(pcs: std::ops::Range<u64>) -> Watching {
        let interests =
            Interests { registers: true, memory: true, pcs: Some(vec![pcs]), ..Interests::default() };
        Watching { interests, odd: true, instructions: AtomicU64::new(0) }
    }
}

impl Observer for Watching {
    fn interests(&self) -> Interests {
        self.interests.clone()
    }

    fn watches(&self, wave: WaveId) -> bool {
        !self.odd || wave.wave % 2 == 1
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Count(self))
    }
}

struct Count<'a>(&'a Watching);

impl Watcher for Count<'_> {
    fn instruction(&mut self, _: &Instruction<'_>) {
        self.0.instructions.fetch_add(1, Relaxed);
    }
}
