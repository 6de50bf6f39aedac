//! Which registers an instance reads and writes.

use super::inst::Inst;
use super::modifiers::DstUnused;
use super::operand::{Operand, Special};
use super::vocabulary::{Access, Flag, MemAccess, MemOp, MemSpace, Role, State};

/// A register file, or state that is not in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegisterFile {
    /// SGPRs.
    Sgpr,
    /// VGPRs.
    Vgpr,
    /// Accumulation VGPRs.
    Agpr,
    /// Trap handler temporaries.
    Ttmp,
    /// Special scalar registers, by operand code ([`Special::code`]): VCC is 106 and 107.
    Special,
    /// Implicit state that has no operand code: PC, MODE, TRAPSTS and hardware registers; `first` is the [`State`].
    State,
}

/// Registers `first` to `first + count - 1` of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registers {
    /// The register file.
    pub file: RegisterFile,
    /// First register.
    pub first: u8,
    /// Number of registers, at least 1.
    pub count: u8,
}

/// The most ranges that an instance can have: operands, implicit state, and the destination that is read too.
const MAX_RANGES: usize = 20;

/// A set of register ranges, without allocation. Ranges may overlap.
#[derive(Clone, Copy, Debug)]
pub struct RegisterSet {
    ranges: [Registers; MAX_RANGES],
    len: u8,
}

impl RegisterSet {
    fn new() -> RegisterSet {
        let empty = Registers { file: RegisterFile::State, first: 0, count: 0 };
        RegisterSet { ranges: [empty; MAX_RANGES], len: 0 }
    }

    fn push(&mut self, file: RegisterFile, first: u8, count: u8) {
        let registers = Registers { file, first, count };
        if count != 0
            && !self.contains_range(registers)
            && let Some(slot) = self.ranges.get_mut(usize::from(self.len))
        {
            *slot = registers;
            self.len += 1;
        }
    }

    fn contains_range(&self, registers: Registers) -> bool {
        self.iter().any(|range| range == registers)
    }

    fn push_operand(&mut self, operand: Operand) {
        match operand {
            Operand::Sgpr { first, dwords } => self.push(RegisterFile::Sgpr, first, dwords),
            Operand::Ttmp { first, dwords } => self.push(RegisterFile::Ttmp, first, dwords),
            Operand::Vgpr { first, dwords } => self.push(RegisterFile::Vgpr, first, dwords),
            Operand::Agpr { first, dwords } => self.push(RegisterFile::Agpr, first, dwords),
            Operand::Special { reg, dwords } => match reg {
                // One-bit values and apertures do not extend into the next code.
                Special::Vccz => self.push(RegisterFile::Special, Special::VccLo.code() as u8, 2),
                Special::Execz => self.push(RegisterFile::Special, Special::ExecLo.code() as u8, 2),
                Special::LdsDirect => {
                    self.push(RegisterFile::Special, reg.code() as u8, 1);
                    self.push(RegisterFile::Special, Special::M0.code() as u8, 1);
                }
                Special::Null => {}
                _ if reg.code() < 128 => self.push(RegisterFile::Special, reg.code() as u8, dwords),
                _ => self.push(RegisterFile::Special, reg.code() as u8, 1),
            },
            _ => {}
        }
    }

    fn push_state(&mut self, state: State) {
        let (reg, count) = match state {
            State::Scc => (Special::Scc, 1),
            State::Vcc => (Special::VccLo, 2),
            State::Exec => (Special::ExecLo, 2),
            State::M0 => (Special::M0, 1),
            State::FlatScratch => (Special::FlatScratchLo, 2),
            State::Mode | State::Trapsts | State::Hwreg | State::Pc => {
                return self.push(RegisterFile::State, state as u8, 1);
            }
        };
        self.push(RegisterFile::Special, reg.code() as u8, count);
    }

    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = Registers> + '_ {
        self.ranges[..usize::from(self.len)].iter().copied()
    }

    /// Whether register `number` of `file` is in the set.
    pub fn contains(&self, file: RegisterFile, number: u8) -> bool {
        self.iter().any(|range| {
            range.file == file
                && number >= range.first
                && u16::from(number) < u16::from(range.first) + u16::from(range.count)
        })
    }

    /// Whether the set has no register.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Inst {
    /// The registers that the instance reads, implicit ones included.
    ///
    /// A destination that keeps some bits in active lanes (`v_mac`, D16 loads, SDWA
    /// `UNUSED_PRESERVE`) counts as read. Keeping the value of inactive lanes does not count.
    pub fn reads(&self) -> RegisterSet {
        let mut set = RegisterSet::new();
        for (spec, operand) in self.operands() {
            let read = match spec.access {
                Access::Read | Access::ReadWrite => true,
                Access::Write => spec.role == Role::Vdst && self.keeps_destination_bits(),
                Access::IfReturn => spec.role != Role::Vdst,
            };
            if read {
                set.push_operand(operand);
            }
        }
        self.row().reads.iter().for_each(|state| set.push_state(state));
        // M0 holds the LDS address, and the base and size of GDS.
        if self.moves_to_lds() || self.modifiers().gds {
            set.push_state(State::M0);
        }
        set
    }

    /// The registers that the instance may write, implicit ones included.
    pub fn writes(&self) -> RegisterSet {
        let mut set = RegisterSet::new();
        for (spec, operand) in self.operands() {
            let written = match spec.access {
                Access::Read => false,
                Access::Write | Access::ReadWrite => true,
                Access::IfReturn => self.modifiers().glc,
            };
            if written {
                set.push_operand(operand);
            }
        }
        self.row().writes.iter().for_each(|state| set.push_state(state));
        set
    }

    /// The memory accesses of this instance: the row's accesses, and the store to LDS of a load
    /// with the LDS bit.
    pub fn memory(&self) -> impl Iterator<Item = MemAccess> + use<> {
        let row = self.row().memory;
        let listed = row.iter().any(|access| access.space == MemSpace::Lds);
        let to_lds =
            (self.moves_to_lds() && !listed).then_some(MemAccess { op: MemOp::Store, space: MemSpace::Lds });
        row.iter().copied().chain(to_lds)
    }

    /// Whether the instance has the LDS bit set: it moves data between memory and LDS, without data VGPRs.
    pub fn moves_to_lds(&self) -> bool {
        self.view().moves_to_lds()
    }

    fn keeps_destination_bits(&self) -> bool {
        let preserved = self.modifiers().sdwa.is_some_and(|sdwa| {
            sdwa.dst_unused == DstUnused::Preserve && sdwa.dst_sel != super::modifiers::SdwaSel::Dword
        });
        preserved || self.row().has(Flag::KeepsHalf, self.target())
    }
}
