//! The meaning of an instance's bytes on other targets.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, decode};

use super::text_of;

/// The meaning of bytes on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "bytes_are", rename_all = "snake_case"))]
pub enum SameBytes {
    /// The same instruction with the same text.
    Same,
    /// The same instruction, with a different text there.
    SameInstruction {
        /// Its text there.
        text: String,
    },
    /// A different instruction.
    AnotherInstruction {
        /// Its text there.
        text: String,
        /// Its size in bytes.
        size: usize,
    },
    /// No instruction.
    NoInstruction {
        /// The reason.
        reason: String,
    },
}

/// An instance's bytes, and its instruction, on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OnTarget {
    /// The target.
    pub target: &'static str,
    /// The meaning of the bytes there.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub same_bytes: SameBytes,
    /// The mnemonic of the instruction there; `None` if the target lacks it.
    pub mnemonic: Option<&'static str>,
    /// Its opcode there in the encoding of the instance; `None` if it has no such form.
    pub opcode: Option<u16>,
}

/// The meaning of the bytes of `inst` on every target.
pub(super) fn targets(inst: &Inst) -> Vec<OnTarget> {
    let (bytes, size) = inst.encode();
    let bytes = bytes.get(..size).unwrap_or(&bytes);
    let row = inst.row();
    let text = text_of(inst);
    Target::GCN
        .into_iter()
        .map(|target| OnTarget {
            target: target.name(),
            same_bytes: match decode(target, bytes) {
                Ok(other) => {
                    let there = text_of(&other);
                    match (other.op() == inst.op(), there == text) {
                        (true, true) => SameBytes::Same,
                        (true, false) => SameBytes::SameInstruction { text: there },
                        _ => SameBytes::AnotherInstruction { text: there, size: other.size() },
                    }
                }
                Err(error) => SameBytes::NoInstruction { reason: error.to_string() },
            },
            mnemonic: row.targets.contains(target).then(|| row.mnemonic(target)),
            opcode: row.form(target, inst.encoding()).map(|form| form.code),
        })
        .collect()
}
