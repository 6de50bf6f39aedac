//! A microcode word: an instance of an instruction.

use core::fmt;

use super::row::{Op, Row};
use super::vocabulary::{FieldId, Format};

/// A decoded or built instruction: one microcode word.
///
/// The word itself stores all fields: nothing is lost, and encoding returns it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inst {
    pub(super) word: u128,
    pub(super) op: Op,
}

/// Why a field cannot have a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// The format of the instruction has no such field.
    NoField {
        /// The field.
        field: FieldId,
        /// The format.
        format: Format,
    },
    /// The field is part of the opcode, which the instruction fixes.
    Opcode {
        /// The field.
        field: FieldId,
    },
    /// The value does not fit the field.
    TooLarge {
        /// The field.
        field: FieldId,
        /// The value.
        value: u32,
        /// The largest that fits.
        max: u32,
    },
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldError::NoField { field, format } => {
                write!(f, "words of format {} have no field `{}`", format.name(), field.name())
            }
            FieldError::Opcode { field } => {
                write!(f, "`{}` is the opcode, which the mnemonic gives", field.name())
            }
            FieldError::TooLarge { field, value, max } => {
                write!(f, "expected 0 to {max} for `{}`, found {value}", field.name())
            }
        }
    }
}

impl core::error::Error for FieldError {}

impl Inst {
    /// The instruction with the default value in every field that a text can omit.
    pub fn new(op: Op) -> Inst {
        let row = op.row();
        let mut word = 0;
        for field in row.format.fields() {
            let value = if Some(field.id) == row.format.opcode() {
                u32::from(row.code)
            } else if Some(field.id) == row.format.sub_opcode() {
                u32::from(row.sub_code)
            } else {
                field.default
            };
            word = field.set(word, value);
        }
        Inst { word, op }
    }

    /// The instruction.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// Its row.
    pub fn row(&self) -> &'static Row {
        self.op.row()
    }

    /// The format of the word: that of its row, except that UPDATE_EXEC_MASK of an instruction that
    /// computes a predicate or kills gives OMOD another meaning (HD 6900 ISA 9.2,
    /// ALU_WORD1_OP2_EXECUTE_MASK).
    pub fn format(&self) -> Format {
        let row = self.row();
        if row.format != Format::Op2 || !row.updates_masks() {
            return row.format;
        }
        let update = row.format.field(FieldId::UpdateExecMask).map_or(0, |field| field.get(self.word));
        if update == 0 { row.format } else { Format::Op2ExecuteMask }
    }

    /// Bytes of the word.
    pub fn size(&self) -> usize {
        self.format().bytes()
    }

    /// The word; bits beyond its size are zero.
    pub const fn word(&self) -> u128 {
        self.word
    }

    /// The value of a field; `None` if the format has no field with this name.
    pub fn field(&self, id: FieldId) -> Option<u32> {
        self.format().field(id).map(|field| field.get(self.word))
    }

    /// The value of a field; 0 if the format has no field with this name.
    pub fn get(&self, id: FieldId) -> u32 {
        self.field(id).unwrap_or(0)
    }

    /// Whether a bit is set; `false` if the format has no field with this name.
    pub fn bit(&self, id: FieldId) -> bool {
        self.get(id) != 0
    }

    /// The same instruction with a different value in a field.
    ///
    /// # Errors
    /// [`FieldError`]: there is no such field, it is the opcode, or the value does not fit.
    pub fn with(self, id: FieldId, value: u32) -> Result<Inst, FieldError> {
        let format = self.format();
        let field = format.field(id).ok_or(FieldError::NoField { field: id, format })?;
        if field.fixed || Some(id) == format.opcode() || Some(id) == format.sub_opcode() {
            return Err(FieldError::Opcode { field: id });
        }
        if value > field.max() {
            return Err(FieldError::TooLarge { field: id, value, max: field.max() });
        }
        Ok(Inst { word: field.set(self.word, value), ..self })
    }

    /// The machine code: an array, and how many of its first bytes are used.
    pub fn encode(&self) -> ([u8; 16], usize) {
        (self.word.to_le_bytes(), self.size())
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:#0width$x}", self.row().name, self.word, width = 2 + 2 * self.size())
    }
}
