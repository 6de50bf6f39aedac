//! The printer: words and groups as text.
//!
//! The form of a format is written first. The printer sets the fields that the form expresses in a
//! second instruction, as the parser would do. Fields that still differ are then written by name.

mod control;
mod fetch;
mod group;
mod slot;

use std::fmt::Write as _;

use wavemill_isa::cayman::{FieldId as F, Format, Inst};

pub use group::print_group;
pub(super) use slot::{source_text, special};

use super::field::{base, differing, is_signed, name, value_names, with};
use super::mnemonic::mnemonic;
use super::syntax::{CHANNELS, ELEMENTS, LOOP_INDEX, MASKED, NUMBER_INDICES};

/// The label that a control flow word addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLabel {
    /// Its name.
    pub name: String,
    /// Whether COUNT follows from the clause at the label.
    pub counts: bool,
}

/// The text of a word of the control flow program or of a clause of fetches.
pub fn print(inst: &Inst) -> String {
    print_with(inst, None)
}

/// As [`print()`], with the label that the word addresses.
pub fn print_with(inst: &Inst, target: Option<&TargetLabel>) -> String {
    let mut printer = Printer::new(inst);
    printer.out.push_str(mnemonic(inst.op()));
    match inst.format() {
        Format::Cf | Format::Gws => printer.control(target),
        Format::CfAlu | Format::CfAluExtended => printer.alu_clause(target),
        Format::ExportSwiz => printer.export(),
        Format::ExportBuf => printer.memory(),
        Format::Rat => printer.rat(),
        Format::Vtx | Format::VtxSemantic => printer.vertex(),
        Format::Tex => printer.texture(),
        Format::MemRd => printer.memory_read(),
        Format::Gds | Format::TfWrite => printer.share(),
        _ => {}
    }
    printer.fields();
    printer.out
}

struct Printer<'a> {
    out: String,
    inst: &'a Inst,
    /// The fields expressed so far.
    said: Inst,
}

impl<'a> Printer<'a> {
    fn new(inst: &'a Inst) -> Printer<'a> {
        Printer { out: String::new(), inst, said: base(inst.op()) }
    }

    /// Returns a field of the instruction and marks it as expressed by the text.
    fn take(&mut self, id: F) -> u32 {
        let value = self.inst.get(id);
        self.said = with(self.said, id, value);
        value
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn write(&mut self, text: core::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.out.write_fmt(text);
    }

    /// The fields that the form did not express, by name.
    fn fields(&mut self) {
        for (field, value) in differing(self.inst, &self.said) {
            let name = name(field.id);
            match value_names(field.id).get(value as usize) {
                Some(text) => self.write(format_args!(" {name}:{text}")),
                None if field.width() == 1 && value == 1 => self.write(format_args!(" {name}")),
                None if is_signed(field.id) => {
                    let unused = 32 - field.width();
                    self.write(format_args!(" {name}:{}", (value << unused) as i32 >> unused));
                }
                None => self.write(format_args!(" {name}:{value}")),
            }
        }
    }

    /// A field with a value that has a name; it is left for the end otherwise.
    fn named(&mut self, id: F) {
        if let Some(text) = value_names(id).get(self.inst.get(id) as usize) {
            self.take(id);
            self.write(format_args!(" {}:{text}", name(id)));
        }
    }

    /// `r5`, or `r[al+5]` if the loop index is added.
    fn register(&mut self, register: F, relative: Option<F>) {
        let number = self.take(register);
        match relative {
            Some(relative) if self.take(relative) != 0 => {
                self.write(format_args!("r[{LOOP_INDEX}+{number}]"))
            }
            _ => self.write(format_args!("r{number}")),
        }
    }

    /// `.xyz_`: a letter for each field.
    fn selections(&mut self, fields: &[F]) {
        self.text(".");
        for id in fields {
            let letter = ELEMENTS[self.take(*id) as usize & 7];
            self.out.push(letter);
        }
    }

    /// `.xy`: the channels of a mask, without masked ones at the end.
    fn mask(&mut self, id: F) {
        let mask = self.take(id);
        let letters = CHANNELS.iter().enumerate();
        let letters: String =
            letters.map(|(at, letter)| if mask >> at & 1 != 0 { *letter } else { MASKED }).collect();
        let shown = letters.trim_end_matches(MASKED);
        self.write(format_args!(".{}", if shown.is_empty() { "_" } else { shown }));
    }

    /// `+idx0`: the index register that is added to a number; it is left for the end without a
    /// name.
    fn number_index(&mut self, id: F) {
        let index = (self.inst.get(id) as usize).checked_sub(1).and_then(|index| NUMBER_INDICES.get(index));
        if let Some(index) = index {
            self.take(id);
            self.write(format_args!("+{index}"));
        }
    }
}
