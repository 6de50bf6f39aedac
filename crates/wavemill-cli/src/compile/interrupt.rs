//! Handles Ctrl-C, closed terminals and termination requests while a compiler runs.
//!
//! A compiler runs in its own process group, which Ctrl-C does not reach, and its temporary files
//! are in a folder that Wavemill deletes. A signal that ends Wavemill therefore waits until both
//! are gone.

use crate::failure::Failure;

#[cfg(unix)]
mod signals {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, OnceLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag::{register_conditional_default, register_usize};
    use signal_hook::low_level::emulate_default_handler;

    /// State of the handlers, which stay for the rest of the process.
    struct Signals {
        /// Whether no compiler runs, so that a signal has its default effect.
        idle: Arc<AtomicBool>,
        /// The signal that arrived while one ran; 0 if none did.
        came: Arc<AtomicUsize>,
    }

    static SIGNALS: OnceLock<Option<Signals>> = OnceLock::new();

    fn is_ignored(signal: i32) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action nothing changes, and the old one is written to memory of its
        // type.
        let found = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: all-zero memory is a valid action, and the call overwrites it if it succeeds.
        found == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    }

    fn register() -> io::Result<Signals> {
        let signals = Signals { idle: Arc::new(AtomicBool::new(true)), came: Arc::default() };
        // The parent process may ignore some signals, as `nohup` and `&` in a shell script do.
        for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)) {
            register_conditional_default(signal, signals.idle.clone())?;
            register_usize(signal, signals.came.clone(), signal as usize)?;
        }
        Ok(signals)
    }

    /// `None` on a host without handlers: signals have their default effects there.
    fn signals() -> Option<&'static Signals> {
        SIGNALS.get_or_init(|| register().ok()).as_ref()
    }

    pub(super) fn hold() {
        if let Some(signals) = signals() {
            signals.idle.store(false, Relaxed);
        }
    }

    pub(super) fn came() -> bool {
        signals().is_some_and(|signals| signals.came.load(Relaxed) != 0)
    }

    pub(super) fn release() {
        if let Some(signals) = signals() {
            signals.idle.store(true, Relaxed);
            let came = signals.came.swap(0, Relaxed);
            if came != 0 {
                // It ends the process. If that is impossible, the compilation reports a failure.
                let _ = emulate_default_handler(came as i32);
            }
        }
    }
}

/// Holds signals back until it is dropped.
pub(super) struct Held(());

impl Held {
    pub(super) fn new() -> Held {
        #[cfg(unix)]
        signals::hold();
        Held(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        #[cfg(unix)]
        signals::release();
    }
}

/// Whether the compiler may continue.
///
/// # Errors
/// A signal arrived. It ends the process when [`Held`] is dropped.
pub(super) fn check() -> Result<(), Failure> {
    #[cfg(unix)]
    if signals::came() {
        return Err(Failure::input("the compiler was interrupted"));
    }
    Ok(())
}
