//! The printer: one word as text.
//!
//! The syntax of a format is written first. The printer sets the fields that it expresses in a
//! second instruction, as the parser would do. Fields that still differ are then written by name.

use std::fmt::{self, Write};

use wavemill_isa::cayman::{CHANNELS, FieldId as F, Format, Inline, Inst, Source, WindowFields};

use super::field::{differing, with};
use super::syntax::{
    DATA_FORMATS, DST_SELS, ELEMENTS, FIRST_RETURNING, INLINE, LINE, MASKED, OMODS, PREDICATES, QUEUE,
    QUEUES, SATURATE, SWIZZLE, SWIZZLES, windows,
};
use super::{Word, literal};

/// Writes a word. No newline, no leading blank.
///
/// # Errors
/// The errors of `out`; writing to a `String` does not fail.
pub fn print(out: &mut impl Write, word: &Word) -> fmt::Result {
    let inst = match word {
        Word::Inst(inst) => inst,
        Word::Literals(literals) => return literal::print(out, *literals),
    };
    let mut printer = Printer { out, inst, said: Inst::new(inst.op()) };
    match inst.format() {
        Format::Cf => printer.control()?,
        Format::CfAlu => printer.alu_clause()?,
        Format::Rat => printer.rat()?,
        Format::Op2 | Format::Op2ExecuteMask | Format::Op3 | Format::Lds => printer.slot()?,
        Format::Vtx => printer.fetch()?,
        // Formats without operands of their own: the fields below say everything.
        _ => printer.name()?,
    }
    let said = printer.said;
    for (id, value) in differing(inst, &said) {
        match id {
            F::PredSel if let Some((_, text)) = PREDICATES.iter().find(|(code, _)| *code == value) => {
                write!(out, " {text}")?;
            }
            F::BankSwizzle if let Some((_, text)) = SWIZZLES.iter().find(|(code, _)| *code == value) => {
                write!(out, " {SWIZZLE}:{text}")?;
            }
            _ => write!(out, " {}:{value}", id.name())?,
        }
    }
    Ok(())
}

struct Printer<'a, W> {
    out: &'a mut W,
    inst: &'a Inst,
    /// The fields expressed so far.
    said: Inst,
}

impl<W: Write> Printer<'_, W> {
    /// Returns a field of the instruction and marks it as expressed by the text.
    fn take(&mut self, id: F) -> u32 {
        let value = self.inst.get(id);
        self.said = with(self.said, id, value);
        value
    }

    fn name(&mut self) -> fmt::Result {
        self.out.write_str(self.inst.row().name)
    }

    /// `TEX 0 @6`. Words that do not call a clause have neither number.
    fn control(&mut self) -> fmt::Result {
        self.name()?;
        if super::parse::has_clause(self.inst.op()) {
            let (count, address) = (self.take(F::Count), self.take(F::Addr));
            write!(self.out, " {count} @{address}")?;
        }
        Ok(())
    }

    /// `ALU 2, @16, KC0[CB0:0-32], KC1[]`.
    fn alu_clause(&mut self) -> fmt::Result {
        self.name()?;
        let (count, address) = (self.take(F::Count), self.take(F::Addr));
        write!(self.out, " {count}, @{address}")?;
        for (index, &WindowFields { bank, mode, line, .. }) in windows() {
            write!(self.out, ", KC{index}[")?;
            let lines = self.inst.get(mode);
            if lines == 1 || lines == 2 {
                self.take(mode);
                let (bank, first) = (self.take(bank), LINE * self.take(line));
                write!(self.out, "CB{bank}:{first}-{}", first + LINE * lines)?;
            }
            self.out.write_str("]")?;
        }
        Ok(())
    }

    /// `MEM_RAT_CACHELESS STORE_DWORD T2.XY, T3.X`.
    fn rat(&mut self) -> fmt::Result {
        self.name()?;
        let (data, index) = (self.take(F::RwGpr), self.take(F::IndexGpr));
        write!(self.out, " T{data}")?;
        let mask = self.inst.get(F::CompMask);
        if mask != 0 && mask != 15 {
            self.take(F::CompMask);
            self.out.write_str(".")?;
            let channels = CHANNELS.iter().enumerate().filter(|(channel, _)| mask >> channel & 1 != 0);
            channels.map(|(_, letter)| letter).try_for_each(|letter| self.out.write_char(*letter))?;
        }
        write!(self.out, ", T{index}.X")
    }

    /// `ADD_INT_SAT * T1.X (MASKED) * 2.0, KC0[2].Z, -|PV.W|`.
    fn slot(&mut self) -> fmt::Result {
        self.name()?;
        if self.inst.bit(F::Clamp) {
            self.take(F::Clamp);
            self.out.write_str(SATURATE)?;
        }
        if self.take(F::Last) != 0 {
            self.out.write_str(" *")?;
        }
        let mut separator = " ";
        if self.inst.format() == Format::Lds {
            if self.inst.row().sub_code >= FIRST_RETURNING {
                write!(self.out, " {QUEUE}")?;
                separator = ", ";
            }
        } else {
            let (register, channel) = (self.take(F::DstGpr), self.take(F::DstChan));
            write!(self.out, " T{register}.{}", CHANNELS[channel as usize & 3])?;
            if self.inst.field(F::WriteMask) == Some(0) {
                self.take(F::WriteMask);
                write!(self.out, " {MASKED}")?;
            }
            if let Some((_, text)) = OMODS.iter().find(|(code, _)| self.inst.field(F::Omod) == Some(*code)) {
                self.take(F::Omod);
                write!(self.out, " {text}")?;
            }
            separator = ", ";
        }
        let inst = *self.inst;
        for (_, field, source) in inst.sources() {
            self.out.write_str(separator)?;
            separator = ", ";
            let (select, channel) = source.code().unwrap_or_default();
            self.said = with(with(self.said, field.select, select), field.channel, channel);
            // `-1` has its own constant.
            let is_integer = matches!(source, Source::Inline(Inline::OneInt | Inline::MinusOneInt));
            if inst.bit(field.negate) && !is_integer {
                self.take(field.negate);
                self.out.write_str("-")?;
            }
            let bar = match field.absolute {
                Some(absolute) if inst.bit(absolute) => {
                    self.take(absolute);
                    "|"
                }
                _ => "",
            };
            write!(self.out, "{bar}{}{bar}", source_text(source))?;
        }
        Ok(())
    }

    /// `VTX_READ_32 T1.X, T2.X, 16, #1`.
    fn fetch(&mut self) -> fmt::Result {
        self.name()?;
        let format = self.inst.get(F::DataFormat);
        if let Some((_, text)) = DATA_FORMATS.iter().find(|(code, _)| *code == format) {
            self.take(F::DataFormat);
            self.out.write_str(text)?;
        }
        let register = self.take(F::DstGpr);
        let elements: String = DST_SELS.iter().map(|id| ELEMENTS[self.take(*id) as usize & 7]).collect();
        let shown = match elements.trim_end_matches('_') {
            "" => "____",
            shown => shown,
        };
        let (source, channel) = (self.take(F::SrcGpr), self.take(F::SrcSelX));
        let (offset, buffer) = (self.take(F::Offset), self.take(F::BufferId));
        let letter = CHANNELS[channel as usize & 3];
        write!(self.out, " T{register}.{shown}, T{source}.{letter}, {offset}, #{buffer}")
    }
}

/// A source without its modifiers.
fn source_text(source: Source) -> String {
    let letter = |channel: u8| CHANNELS[usize::from(channel & 3)];
    match source {
        Source::Gpr(register, channel) => format!("T{register}.{}", letter(channel)),
        Source::Constant(window, number, channel) => format!("KC{window}[{number}].{}", letter(channel)),
        Source::Inline(constant) => INLINE[constant as usize].to_owned(),
        Source::Queue(queue, pops) => QUEUES[usize::from(queue & 1) + 2 * usize::from(pops)].to_owned(),
        Source::Literal(channel) => format!("literal.{}", letter(channel).to_ascii_lowercase()),
        Source::PreviousVector(channel) => format!("PV.{}", letter(channel)),
        Source::Other(select, channel) => format!("SRC{select}.{}", letter(channel)),
    }
}
