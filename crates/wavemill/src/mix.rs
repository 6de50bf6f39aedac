//! What kinds of instructions a launch executed.

use wavemill_engine::{BlockCount, MemoryMap};
use wavemill_isa::gcn::{Format, decode};

use crate::device::DeviceInner;

/// Guest instructions of a launch by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstructionMix {
    /// Vector ALU, matrix instructions included.
    pub valu: u64,
    /// Scalar ALU.
    pub salu: u64,
    /// Scalar memory.
    pub smem: u64,
    /// Vector memory: global, flat, scratch, buffers, images.
    pub vmem: u64,
    /// Local data share and lane exchange through it.
    pub lds: u64,
    /// Branches, waits, barriers, no-ops.
    pub control: u64,
}

impl InstructionMix {
    /// All instructions.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.valu + self.salu + self.smem + self.vmem + self.lds + self.control
    }

    fn slot(&mut self, format: Format) -> &mut u64 {
        match format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => &mut self.salu,
            Format::Smem => &mut self.smem,
            Format::Sopp => &mut self.control,
            Format::Ds => &mut self.lds,
            Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
            | Format::Flat
            | Format::Global
            | Format::Scratch => &mut self.vmem,
            _ => &mut self.valu,
        }
    }

    /// Kinds of the instructions in the blocks that were entered.
    pub(crate) fn of(device: &DeviceInner, map: &MemoryMap, counts: &[BlockCount]) -> Self {
        let mut mix = InstructionMix::default();
        for count in counts {
            let block = device.code.block(map, count.pc, count.mode);
            for offset in &block.guest {
                let (bytes, n) = device.code.fetch(map, count.pc + u64::from(*offset));
                if let Ok(inst) = decode(device.target, &bytes[..n]) {
                    *mix.slot(inst.row().format) += count.entered;
                }
            }
        }
        mix
    }
}
