//! What observers find out.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::WaveId;

/// Something that an observer has found out of a wave.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
    /// The lanes that it is about; all bits clear if it is about the wave.
    pub lanes: u64,
    /// What was found: one sentence, without a full stop.
    pub message: String,
}

impl Finding {
    /// A finding about a wave at the instruction at a guest address.
    #[must_use]
    pub fn new(wave: WaveId, pc: u64, message: impl Into<String>) -> Finding {
        Finding { wave, pc, lanes: 0, message: message.into() }
    }

    /// The same about some of the wave's lanes.
    #[must_use]
    pub fn in_lanes(self, lanes: u64) -> Finding {
        Finding { lanes, ..self }
    }
}

/// The findings of a run, which are there whatever way the run ends.
#[derive(Debug, Default)]
pub struct Findings(Mutex<Vec<Finding>>);

impl Findings {
    fn list(&self) -> MutexGuard<'_, Vec<Finding>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes them out, sorted by wave and address, so that the order does not depend on host threads.
    #[must_use]
    pub fn take(&self) -> Vec<Finding> {
        let mut all = std::mem::take(&mut *self.list());
        all.sort_by(|a, b| (a.wave.order(), a.pc, a).cmp(&(b.wave.order(), b.pc, b)));
        all
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list().len()
    }
}

/// The way of the watchers of one host thread to report what they find.
#[derive(Clone, Debug)]
pub struct Reporter {
    findings: Arc<Findings>,
    /// The finding that ends the run.
    fatal: Rc<RefCell<Option<Finding>>>,
}

impl Reporter {
    /// A way to report to `findings`.
    #[must_use]
    pub fn new(findings: Arc<Findings>) -> Reporter {
        Reporter { findings, fatal: Rc::default() }
    }

    /// Reports a finding. The run goes on.
    pub fn report(&self, finding: Finding) {
        self.findings.list().push(finding);
    }

    /// Ends the run at the event that the watcher has just received, with
    /// [`FaultCause::Finding`](crate::FaultCause::Finding). The wave goes no further: registers are those that the watcher
    /// sees. If workgroups before it end in a fault, theirs is reported, as of all faults.
    pub fn end_run(&self, finding: Finding) {
        self.fatal.borrow_mut().get_or_insert(finding);
    }

    /// Takes the finding that ends the run.
    pub(crate) fn take_fatal(&self) -> Option<Finding> {
        self.fatal.borrow_mut().take()
    }

    /// Whether the run is to end.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal.borrow().is_some()
    }
}
