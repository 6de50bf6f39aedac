//! The parser: one word from its text.

use wavemill_isa::cayman::{CHANNELS, FieldError, FieldId, FieldId as F, Format, Inst, Op, SourceField};

use super::syntax::{
    DATA_FORMATS, DST_SELS, ELEMENTS, FIRST_RETURNING, MASKED, OMODS, PREDICATES, QUEUE, SATURATE, SWIZZLE,
    SWIZZLES, has_last, windows,
};
use super::{Word, literal};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::family::{Field, Fixup, Instruction, InstructionParser, Meaning, Parsed};
use crate::syntax::{Cursor, NoSymbols, Symbols, closest, expression};

/// Reads one word from `text`: `ADD_INT * T1.X, KC0[2].Z, PV.W`.
///
/// # Errors
/// [`Diagnostic`] says which part of the text is wrong.
///
/// ```
/// use wavemill_asm::cayman::parse;
///
/// let word = parse("MOV * T0.X, 0.0")?;
/// assert_eq!(word.encode().0[..8], [0xf8, 0x00, 0x00, 0x80, 0x90, 0x0c, 0x00, 0x00]);
/// assert_eq!(parse("MOV * T128.X, 0.0").unwrap_err().span, 6..12);
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn parse(text: &str) -> Result<Word, Diagnostic> {
    let (word, fixup) = Parser::default().read(text, &NoSymbols).map_err(|fail| *fail)?;
    match fixup {
        None => Ok(word),
        Some(fixup) => Err(*Diagnostic::new(fixup.span, "the symbol has no value here")),
    }
}

/// Whether a control flow word calls a clause.
pub(super) fn has_clause(op: Op) -> bool {
    matches!(op, Op::Tex)
}

/// Reads words one after another.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// How many registers the last word needs: the highest one it names plus one.
    registers: u16,
}

impl InstructionParser for Parser {
    fn parse(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail> {
        let (word, fixup) = self.read(text, symbols)?;
        Ok(Parsed { inst: Instruction::Cayman(word), fixup })
    }

    fn register_ends(&self) -> [u16; 2] {
        [self.registers, 0]
    }
}

impl Parser {
    fn read(&mut self, text: &str, symbols: &dyn Symbols) -> Result<(Word, Option<Fixup>), Fail> {
        self.registers = 0;
        let mut cursor = Cursor::new(text);
        if cursor.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'(') {
            let literals = literal::parse(&mut cursor, symbols)?;
            return match cursor.is_done() {
                true => Ok((Word::Literals(literals), None)),
                false => Err(cursor.expected("the end of the line")),
            };
        }
        let inst = mnemonic(&mut cursor)?;
        let mut line = Line { cursor, inst, symbols, fixup: None, registers: 0 };
        match line.inst.format() {
            Format::Cf => line.control()?,
            Format::CfAlu => line.alu_clause()?,
            Format::Rat => line.rat()?,
            Format::Op2 | Format::Op2ExecuteMask | Format::Op3 | Format::Lds => line.slot()?,
            Format::Vtx => line.fetch()?,
            // Formats without operands of their own: fields by name say everything.
            _ => {}
        }
        line.fields()?;
        self.registers = line.registers;
        Ok((Word::Inst(line.inst), line.fixup))
    }
}

/// Reads a mnemonic and the modifiers within it.
fn mnemonic(cursor: &mut Cursor<'_>) -> Result<Inst, Fail> {
    let start = cursor.at();
    let word = cursor.name();
    if word.is_empty() {
        return Err(cursor.expected("an instruction"));
    }
    let two = |second: &str| Op::from_name(&format!("{word} {second}"));
    if let Some(op) = two(cursor.peek_name()) {
        cursor.name();
        return Ok(Inst::new(op));
    }
    if let Some(op) = Op::from_name(word) {
        return Ok(Inst::new(op));
    }
    let clamped = word.strip_suffix(SATURATE).and_then(Op::from_name);
    if let Some(op) = clamped
        && let Ok(inst) = Inst::new(op).with(F::Clamp, 1)
    {
        return Ok(inst);
    }
    for (format, suffix) in DATA_FORMATS {
        if let Some(op) = word.strip_suffix(suffix).and_then(Op::from_name)
            && let Ok(inst) = Inst::new(op).with(F::DataFormat, format)
        {
            return Ok(inst);
        }
    }
    let span = start..cursor.end();
    if let Some(row) = Op::ALL.iter().map(|op| op.row()).find(|row| row.name.split(' ').next() == Some(word))
    {
        return Err(cursor.expected(&format!("the operation of the access, as in `{}`", row.name)));
    }
    let fail = Diagnostic::new(span, format!("Wavemill has no Cayman instruction `{word}`"));
    let names: Vec<&'static str> = Op::ALL.iter().map(|op| op.row().name).collect();
    Err(match closest(word, &names).first() {
        Some(&similar) => fail.replace_with(similar),
        None => fail,
    })
}

/// The rest of a line after its mnemonic.
pub(super) struct Line<'t, 's> {
    pub(super) cursor: Cursor<'t>,
    inst: Inst,
    symbols: &'s dyn Symbols,
    fixup: Option<Fixup>,
    /// How many registers the line needs.
    pub(super) registers: u16,
}

impl Line<'_, '_> {
    pub(super) fn set(&mut self, id: FieldId, value: u32, span: Span) -> Result<(), Fail> {
        self.inst = self.inst.with(id, value).map_err(|error| Diagnostic::new(span, error.to_string()))?;
        Ok(())
    }

    /// Reads a known number into a field.
    fn number(&mut self, id: FieldId) -> Result<(), Fail> {
        let start = self.cursor.at();
        let value = expression(&mut self.cursor, self.symbols)?;
        let span = start..self.cursor.end();
        match value.value() {
            Some(number) => self.set_number(id, number, span),
            None => Err(Diagnostic::new(span, "expected a number that is known here")),
        }
    }

    fn set_number(&mut self, id: FieldId, number: i64, span: Span) -> Result<(), Fail> {
        match u32::try_from(number) {
            Ok(value) => self.set(id, value, span),
            Err(_) => {
                let max = self.inst.format().field(id).map_or(0, |field| field.max());
                let message = format!("expected 0 to {max} for `{}`, found {number}", id.name());
                Err(Diagnostic::new(span, message))
            }
        }
    }

    /// `@16` or `@label`: an address in units of 8 bytes from the start of the section.
    fn address(&mut self) -> Result<(), Fail> {
        self.cursor.expect("@")?;
        let start = self.cursor.at();
        let value = expression(&mut self.cursor, self.symbols)?;
        let span = start..self.cursor.end();
        if let Some(number) = value.value() {
            return self.set_number(F::Addr, number, span);
        }
        let bits = self.inst.format().field(F::Addr).map_or(0, |field| field.width()) as u8;
        let field = Field { byte: 0, bits, meaning: Meaning::Place { unit: 8 } };
        self.fixup = Some(Fixup { field, fixed: false, expression: value, span });
        Ok(())
    }

    fn control(&mut self) -> Result<(), Fail> {
        if has_clause(self.inst.op()) {
            self.number(F::Count)?;
            self.address()?;
        }
        Ok(())
    }

    fn alu_clause(&mut self) -> Result<(), Fail> {
        self.number(F::Count)?;
        self.cursor.expect(",")?;
        self.address()?;
        for (index, window) in windows() {
            // LLVM writes both; a text may omit empty ones at its end.
            if !self.cursor.eat(",") {
                return Ok(());
            }
            let start = self.cursor.at();
            if self.cursor.name() != format!("KC{index}") {
                self.cursor.go_to(start);
                return Err(self.cursor.expected(&format!("`KC{index}[`")));
            }
            self.cursor.expect("[")?;
            if !self.cursor.eat("]") {
                self.window(window)?;
                self.cursor.expect("]")?;
            }
        }
        Ok(())
    }

    fn rat(&mut self) -> Result<(), Fail> {
        let (data, letters, span) = self.register()?;
        self.set(F::RwGpr, data, span.clone())?;
        if !letters.is_empty() {
            let mut mask = 0;
            for letter in letters.chars() {
                match CHANNELS.iter().position(|known| *known == letter) {
                    // Channels must ascend.
                    Some(channel) if mask >> channel == 0 => mask |= 1 << channel,
                    _ => return Err(Diagnostic::new(span, "expected some of X, Y, Z and W in this order")),
                }
            }
            self.set(F::CompMask, mask, span)?;
        }
        self.cursor.expect(",")?;
        let (index, letters, span) = self.register()?;
        if letters != "X" {
            return Err(Diagnostic::new(span, "expected `.X` after the index register"));
        }
        self.set(F::IndexGpr, index, span)
    }

    fn slot(&mut self) -> Result<(), Fail> {
        let at = self.cursor.at();
        if self.cursor.eat("*") {
            self.set(F::Last, 1, at..at + 1)?;
        }
        let mut comma = false;
        if self.inst.format() == Format::Lds {
            if self.inst.row().sub_code >= FIRST_RETURNING {
                let start = self.cursor.at();
                if self.cursor.name() != QUEUE {
                    self.cursor.go_to(start);
                    return Err(self.cursor.expected(&format!("`{QUEUE}`")));
                }
                comma = true;
            }
        } else {
            self.channel(F::DstGpr, F::DstChan)?;
            let at = self.cursor.at();
            if self.cursor.eat(MASKED) {
                self.set(F::WriteMask, 0, at..at + MASKED.len())?;
            }
            let at = self.cursor.at();
            if let Some((code, text)) = OMODS.into_iter().find(|(_, text)| self.cursor.eat(text)) {
                self.set(F::Omod, code, at..at + text.len())?;
            }
            comma = true;
        }
        let count = self.inst.row().sources.len();
        for field in SourceField::ALL.iter().take(count) {
            if comma {
                self.cursor.expect(",")?;
            }
            comma = true;
            self.source(field)?;
        }
        // LLVM writes a comma at the end of the operands.
        self.cursor.eat(",");
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), Fail> {
        let (register, letters, span) = self.register()?;
        self.set(F::DstGpr, register, span.clone())?;
        let mut elements = letters.chars();
        for id in DST_SELS {
            let letter = elements.next().unwrap_or('_');
            let Some(code) = ELEMENTS.iter().position(|known| *known == letter) else {
                let message = format!("expected X, Y, Z, W, 0, 1 or _ for each channel, found `{letter}`");
                return Err(Diagnostic::new(span, message));
            };
            self.set(id, code as u32, span.clone())?;
        }
        if elements.next().is_some() {
            return Err(Diagnostic::new(span, "expected at most four channels"));
        }
        self.cursor.expect(",")?;
        self.channel(F::SrcGpr, F::SrcSelX)?;
        self.cursor.expect(",")?;
        self.number(F::Offset)?;
        self.cursor.expect(",")?;
        self.cursor.expect("#")?;
        self.number(F::BufferId)
    }

    /// Reads fields by name, up to the end of the line.
    fn fields(&mut self) -> Result<(), Fail> {
        loop {
            let start = self.cursor.at();
            if self.cursor.is_done() {
                return Ok(());
            }
            if has_last(self.inst.format()) && self.cursor.eat(";;") {
                self.set(F::Last, 1, start..start + 2)?;
                continue;
            }
            let name = self.cursor.name();
            let span = start..self.cursor.end();
            if let Some((code, _)) = PREDICATES.iter().find(|(_, text)| *text == name) {
                self.set(F::PredSel, *code, span)?;
                continue;
            }
            if name == SWIZZLE {
                self.cursor.expect(":")?;
                let at = self.cursor.at();
                let order = self.cursor.name();
                let span = at..self.cursor.end();
                let Some((code, _)) = SWIZZLES.iter().find(|(_, text)| *text == order) else {
                    self.cursor.go_to(at);
                    return Err(self.cursor.expected("an order such as `VEC_021`"));
                };
                self.set(F::BankSwizzle, *code, span)?;
                // LLVM also writes the swizzle name of slots that Cayman lacks: `VEC_021/SCL_122`.
                if self.cursor.eat("/") {
                    self.cursor.name();
                }
                continue;
            }
            let Some(id) = FieldId::from_name(name) else {
                self.cursor.go_to(start);
                return Err(self.cursor.expected("a field such as `barrier:0`, or the end of the line"));
            };
            if let Err(error @ (FieldError::NoField { .. } | FieldError::Opcode { .. })) =
                self.inst.with(id, 0)
            {
                return Err(Diagnostic::new(span, error.to_string()));
            }
            self.cursor.expect(":")?;
            self.number(id)?;
        }
    }
}
