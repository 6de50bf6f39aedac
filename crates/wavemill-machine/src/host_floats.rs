//! How the host computes with floats while waves run.
//!
//! Engines use the host's instructions: they round to nearest even, keep denormals, and trap nothing. A thread of an
//! embedder may have another mode. Libraries that are built for fast arithmetic set one when they are loaded, and threads
//! inherit it from the thread that starts them.

use host::{CONTROL, Mode, NEEDED, mode, set_mode};

/// The mode of a thread before engines ran on it. Dropping it restores the mode.
#[derive(Debug)]
pub(crate) struct HostFloats {
    /// `None` if it was the mode that engines need.
    before: Option<Mode>,
    /// The mode belongs to a thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl HostFloats {
    /// Sets the mode that engines need.
    pub(crate) fn set() -> HostFloats {
        let now = mode();
        let before = (now & CONTROL != NEEDED).then_some(now);
        if before.is_some() {
            set_mode(NEEDED);
        }
        HostFloats { before, _thread: std::marker::PhantomData }
    }
}

impl Drop for HostFloats {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set_mode(before);
        }
    }
}

/// MXCSR. Every x86-64 host has it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod host {
    use std::arch::asm;

    pub(super) type Mode = u32;
    /// All bits but the flags of exceptions.
    pub(super) const CONTROL: Mode = 0xffc0;
    /// Exceptions are masked.
    pub(super) const NEEDED: Mode = 0x1f80;

    pub(super) fn mode() -> Mode {
        let mut mode = 0;
        // SAFETY: it stores the mode to this variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        mode
    }

    pub(super) fn set_mode(mode: Mode) {
        // SAFETY: the mode is the one that programs start with, or the one that the thread had before.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, preserves_flags)) };
    }
}

/// FPCR.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod host {
    use std::arch::asm;

    pub(super) type Mode = u64;
    pub(super) const CONTROL: Mode = !0;
    pub(super) const NEEDED: Mode = 0;

    pub(super) fn mode() -> Mode {
        let mode;
        // SAFETY: it reads a register that every program may read.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode, options(nomem, nostack, preserves_flags)) };
        mode
    }

    pub(super) fn set_mode(mode: Mode) {
        // SAFETY: the mode is the one that programs start with, or the one that the thread had before.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack, preserves_flags)) };
    }
}

/// On other hosts, nothing is known to set another mode.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
mod host {
    pub(super) type Mode = u32;
    pub(super) const CONTROL: Mode = 0;
    pub(super) const NEEDED: Mode = 0;

    pub(super) fn mode() -> Mode {
        NEEDED
    }

    pub(super) fn set_mode(_: Mode) {}
}
