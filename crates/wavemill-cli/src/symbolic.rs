//! Instructions whose text has an expression, because unknown symbols decide one of their fields.

use std::fmt::Write;
use std::ops::Range;

use wavemill_asm::gcn::{print, print_with};
use wavemill_isa::gcn::{Elem, Inst, Operand, decode};

/// The kind of a field that an expression decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The distance to a label.
    Branch,
    /// A number of 16 bits.
    Half,
    /// A literal.
    Literal,
}

/// The text of such an instruction.
#[derive(Debug)]
pub(crate) struct Symbolic {
    pub(crate) text: String,
    /// The bytes of the instruction that the value goes into.
    pub(crate) bytes: Range<usize>,
    pub(crate) field: Field,
}

/// Placeholder numbers for the expression, and the start of their texts.
const LITERAL: u32 = 0x7A6B_5C4D;
const HALF: u16 = 0x5C4D;

/// The text of `inst` with the same arbitrary number in place of each literal. Returns the text and
/// the spelling of the number in it. `None` if it has no literal.
pub(crate) fn literals_marked(inst: &Inst) -> Option<(String, String)> {
    inst.literal()?;
    let (mut bytes, size) = inst.encode();
    bytes.get_mut(size.checked_sub(4)?..size)?.copy_from_slice(&LITERAL.to_le_bytes());
    let marked = decode(inst.target(), bytes.get(..size)?).ok()?;
    let mut text = String::new();
    print(&mut text, &marked).ok()?;
    // Some operands read, and show, only the lower half.
    let markers = [format!("{LITERAL:#x}"), format!("{:#x}", LITERAL as u16)];
    let marker = markers.into_iter().find(|marker| text.contains(marker.as_str()))?;
    Some((text, marker))
}

/// The text of `inst` with `expression` in the field that it decides; `None` if the position of the
/// field in the text is unknown.
pub(crate) fn symbolic(inst: &Inst, expression: &str) -> Option<Symbolic> {
    let mut text = String::new();
    let is_branch = inst
        .operands()
        .any(|(spec, operand)| spec.ty.elem == Elem::Branch && matches!(operand, Operand::Imm(_)));
    if is_branch {
        let name = |out: &mut dyn Write, _: i16| out.write_str(expression).map(|()| true);
        print_with(&mut text, inst, &name).ok()?;
        return Some(Symbolic { text, bytes: 0..2, field: Field::Branch });
    }
    let (mut bytes, size) = inst.encode();
    let (marker, place, field) = match inst.literal() {
        Some(_) => {
            // The literal comes after everything else.
            let place = size.checked_sub(4)?..size;
            bytes.get_mut(place.clone())?.copy_from_slice(&LITERAL.to_le_bytes());
            (format!("{LITERAL:#x}"), place, Field::Literal)
        }
        None => {
            bytes.get_mut(..2)?.copy_from_slice(&HALF.to_le_bytes());
            (format!("{HALF:#x}"), 0..2, Field::Half)
        }
    };
    let marked = decode(inst.target(), bytes.get(..size)?).ok()?;
    print(&mut text, &marked).ok()?;
    let found = text.find(&marker)?;
    text.replace_range(found..found + marker.len(), expression);
    Some(Symbolic { text, bytes: place, field })
}
