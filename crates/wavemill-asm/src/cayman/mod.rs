//! Text of Cayman's microcode words (HD 6900 series), as LLVM's `r600` backend writes them.
//!
//! A line is one word: a control flow word (`ALU 2, @16, KC0[CB0:0-32], KC1[]`), a slot of an ALU group
//! (`ADD_INT * T1.X, KC0[2].Z, PV.W`), a pair of literals (`2(2.802597e-45), 0(0.000000e+00)`) or a fetch
//! (`VTX_READ_32 T1.X, T2.X, 16, #1`). `*` marks the last slot of a group, and so does a final
//! `;;`.
//!
//! LLVM's text omits most fields. Here each field whose value does not follow from the text is
//! appended by name: `barrier:0`. The text then determines the whole word.

mod family;
mod field;
mod literal;
mod operand;
mod parse;
mod print;
mod syntax;

use wavemill_isa::cayman::Inst;

pub(crate) use family::Cayman;
pub use parse::parse;
pub use print::print;

/// One line of a Cayman program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A microcode word.
    Inst(Inst),
    /// Two literals of an ALU group.
    Literals([u32; 2]),
}

impl Word {
    /// The machine code: an array, and how many of its bytes are used.
    pub fn encode(&self) -> ([u8; 16], usize) {
        match self {
            Word::Inst(inst) => inst.encode(),
            Word::Literals([first, second]) => {
                let word = u128::from(*first) | u128::from(*second) << 32;
                (word.to_le_bytes(), 8)
            }
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Word::Inst(inst) => inst.size(),
            Word::Literals(_) => 8,
        }
    }
}
