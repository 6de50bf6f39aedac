//! The host registers and what they are for.

use iced_x86::Register;

/// The context of the interpreter.
pub(crate) const CONTEXT: Register = Register::RBX;
/// The register file of the wave.
pub(crate) const FILE: Register = Register::R12;
/// The table of links.
pub(crate) const TABLE: Register = Register::R13;
/// The pool of constants.
pub(crate) const POOL: Register = Register::R14;
/// Registers that the calling convention preserves and machine code uses.
pub(crate) const SAVED: [Register; 5] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14];

/// Bytes of the stack for a row; calls need a multiple of 16.
pub(crate) const FRAME: i32 = 256;

/// Strips of a row: vectors of 16 lanes.
pub(crate) const STRIPS: usize = 4;
/// Groups of vector registers, each of which can hold a row.
pub(crate) const GROUPS: usize = 7;
/// Vector registers for values that live within one operation.
pub(crate) const TEMPS: usize = 4;

/// The vector register of a strip of a row in a group.
pub(crate) fn of_group(group: usize, strip: usize) -> Register {
    Register::ZMM0 + (STRIPS * group + strip) as u32
}

/// A vector register for values that live within one operation.
pub(crate) fn temp(n: usize) -> Register {
    Register::ZMM0 + (STRIPS * GROUPS + n) as u32
}

/// The mask register with the active lanes of a strip.
pub(crate) fn active(strip: usize) -> Register {
    Register::K1 + strip as u32
}

/// A mask register for values that live within one operation: 0, 1 or 2.
pub(crate) fn mask_temp(n: usize) -> Register {
    Register::K5 + n as u32
}
