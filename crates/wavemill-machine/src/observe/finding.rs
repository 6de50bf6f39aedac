//! Findings of observers.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::WaveId;

/// A finding of an observer about a wave.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The wave.
    pub wave: WaveId,
    /// Guest address of the instruction.
    pub pc: u64,
    /// The lanes that it concerns; 0 if it concerns the wave.
    pub lanes: u64,
    /// The finding: one sentence, without a full stop.
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

/// The findings of a run, available however the run ends.
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

    /// The number of findings.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list().len()
    }
}

/// Reports the findings of the watchers of one host thread.
#[derive(Clone, Debug)]
pub struct Reporter {
    findings: Arc<Findings>,
    /// The finding that ends the run.
    fatal: Rc<RefCell<Option<Finding>>>,
}

impl Reporter {
    /// A reporter to `findings`.
    #[must_use]
    pub fn new(findings: Arc<Findings>) -> Reporter {
        Reporter { findings, fatal: Rc::default() }
    }

    /// Reports a finding. The run continues.
    pub fn report(&self, finding: Finding) {
        self.findings.list().push(finding);
    }

    /// Ends the run at the event that the watcher has just received, with
    /// [`FaultCause::Finding`](crate::FaultCause::Finding). The wave stops: its registers are those
    /// that the watcher sees. As with all faults, the fault of a lower workgroup takes precedence
    /// in the report.
    pub fn end_run(&self, finding: Finding) {
        self.fatal.borrow_mut().get_or_insert(finding);
    }

    /// Takes the finding that ends the run.
    pub(crate) fn take_fatal(&self) -> Option<Finding> {
        self.fatal.borrow_mut().take()
    }

    /// Whether the run is about to end.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal.borrow().is_some()
    }
}
