//! Watching a launch instruction by instruction.

use std::fmt;

use wavemill_engine::{MemoryMap, Observer, Step, WaveSnapshot};
use wavemill_isa::gcn::decode;

use crate::device::DeviceInner;

/// Something that is told of every instruction that the waves it watches have run.
pub trait Tracer: Sync + fmt::Debug {
    /// Whether a wave is watched: workgroup coordinates, and number in the workgroup.
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool;

    /// Called after each instruction of a watched wave that ran without a fault.
    fn stepped(&self, step: &TraceStep<'_>);
}

/// An instruction that a wave has run.
#[derive(Clone, Copy, Debug)]
pub struct TraceStep<'a> {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the instruction.
    pub pc: u64,
    /// Function that holds it, and the offset in it in bytes.
    pub function: Option<(&'a str, u64)>,
    /// Text of the instruction.
    pub text: &'a str,
    /// Registers before it.
    pub before: &'a WaveSnapshot,
    /// Registers after it.
    pub after: &'a WaveSnapshot,
}

/// Adds names and texts to what the engine tells.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub tracer: &'a dyn Tracer,
    pub device: &'a DeviceInner,
    pub map: &'a MemoryMap,
}

impl Observer for Names<'_> {
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool {
        self.tracer.watches(workgroup, wave)
    }

    fn stepped(&self, step: &Step<'_>) {
        let (bytes, n) = self.device.code.fetch(self.map, step.pc);
        let mut text = String::new();
        if let Ok(inst) = decode(self.device.target, &bytes[..n]) {
            // Writing to a string does not fail.
            let _ = wavemill_asm::gcn::print(&mut text, &inst);
        }
        let region = self.device.code.region(step.pc);
        let function = region.as_ref().and_then(|region| region.function(step.pc));
        self.tracer.stepped(&TraceStep {
            workgroup: step.workgroup,
            wave: step.wave,
            pc: step.pc,
            function,
            text: &text,
            before: step.before,
            after: step.after,
        });
    }
}
