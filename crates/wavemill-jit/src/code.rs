//! Executable memory.

use std::io;

use memmap2::{Mmap, MmapMut};
use wavemill_interpreter::translate::Entry;

/// Machine code in memory that is executable and not writable.
#[derive(Debug)]
pub(crate) struct MachineCode {
    memory: Mmap,
}

impl MachineCode {
    /// Memory with these bytes.
    ///
    /// # Errors
    /// If the host refuses executable memory.
    pub(crate) fn new(bytes: &[u8]) -> io::Result<MachineCode> {
        let mut memory = MmapMut::map_anon(bytes.len().max(1))?;
        memory[..bytes.len()].copy_from_slice(bytes);
        Ok(MachineCode { memory: memory.make_exec()? })
    }

    /// The code as a function. It must not be called after this value is gone.
    pub(crate) fn entry(&self) -> Entry {
        // SAFETY: a pointer and a function pointer have the same size. Calling it is unsafe, too.
        unsafe { std::mem::transmute::<*const u8, Entry>(self.memory.as_ptr()) }
    }
}
