//! The parser: one word from its text.

use wavemill_isa::cayman::{
    CHANNELS, FieldError, FieldId, FieldId as F, Format, Inline, Inst, Op, Source, SourceField,
};

use super::syntax::{
    DATA_FORMATS, DST_SELS, ELEMENTS, FIRST_RETURNING, INLINE, LINE, MASKED, OMODS, PREDICATES, QUEUE,
    QUEUES, SATURATE, SWIZZLE, SWIZZLES, WINDOWS, has_last,
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
    /// How many registers there must be for those that the last word names.
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
            Format::Op2 | Format::Op3 | Format::Lds => line.slot()?,
            Format::Vtx => line.fetch()?,
        }
        line.fields()?;
        self.registers = line.registers;
        Ok((Word::Inst(line.inst), line.fixup))
    }
}

/// Reads a mnemonic, with what stands in it beside the name.
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
        return Err(cursor.expected(&format!("what the access does, as in `{}`", row.name)));
    }
    let fail = Diagnostic::new(span, format!("Cayman has no instruction `{word}`, or Wavemill lacks it"));
    let names: Vec<&'static str> = Op::ALL.iter().map(|op| op.row().name).collect();
    Err(match closest(word, &names).first() {
        Some(&similar) => fail.replace_with(similar),
        None => fail,
    })
}

/// A line behind its mnemonic.
struct Line<'t, 's> {
    cursor: Cursor<'t>,
    inst: Inst,
    symbols: &'s dyn Symbols,
    fixup: Option<Fixup>,
    registers: u16,
}

impl Line<'_, '_> {
    fn set(&mut self, id: FieldId, value: u32, span: Span) -> Result<(), Fail> {
        self.inst = self.inst.with(id, value).map_err(|error| Diagnostic::new(span, error.to_string()))?;
        Ok(())
    }

    /// A number that is known here, for a field.
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
        for (index, window) in WINDOWS.into_iter().enumerate() {
            // LLVM writes both; a text may leave empty ones at its end out.
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

    /// `CB0:0-32`: bank, first constant, and the one behind the last.
    fn window(&mut self, [bank, mode, line]: [FieldId; 3]) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let Some(number) = name.strip_prefix("CB").and_then(|number| number.parse().ok()) else {
            self.cursor.go_to(start);
            return Err(self.cursor.expected("a constant buffer such as `CB0`"));
        };
        self.set(bank, number, span)?;
        self.cursor.expect(":")?;
        let at = self.cursor.at();
        let first = self.decimal()?;
        self.cursor.expect("-")?;
        let end = self.decimal()?;
        let span = at..self.cursor.end();
        let lines = end.checked_sub(first).map(|constants| constants / LINE);
        match lines {
            Some(lines @ 1..=2) if first % LINE == 0 && end % LINE == 0 => {
                self.set(line, first / LINE, span.clone())?;
                self.set(mode, lines, span)
            }
            _ => Err(Diagnostic::new(
                span,
                format!("expected one or two lines of {LINE} constants, such as 0-{}", 2 * LINE),
            )),
        }
    }

    fn decimal(&mut self) -> Result<u32, Fail> {
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(number) = rest.get(..length).and_then(|digits| digits.parse().ok()) else {
            return Err(self.cursor.expected("a number"));
        };
        let at = self.cursor.at();
        self.cursor.go_to(at + length);
        Ok(number)
    }

    /// `T2.XY`: a register and the letters behind it; where they stand.
    fn register(&mut self) -> Result<(u32, String, Span), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let (register, channels) = name.split_once('.').unwrap_or((name, ""));
        match register.strip_prefix('T').and_then(|number| number.parse::<u32>().ok()) {
            Some(number @ 0..128) => {
                self.registers = self.registers.max(number as u16 + 1);
                // `?` and digits go on names, so all letters have been read.
                Ok((number, channels.to_owned(), span))
            }
            Some(number) => {
                Err(Diagnostic::new(span, format!("expected a register from T0 to T127, found T{number}")))
            }
            None => {
                self.cursor.go_to(start);
                Err(self.cursor.expected("a register such as `T0.X`"))
            }
        }
    }

    /// A register with one channel.
    fn channel(&mut self, register: FieldId, channel: FieldId) -> Result<(), Fail> {
        let (number, letters, span) = self.register()?;
        let Some(found) = channel_of(&letters) else {
            return Err(Diagnostic::new(span, "expected a channel behind the register: .X, .Y, .Z or .W"));
        };
        self.set(register, number, span.clone())?;
        self.set(channel, found, span)
    }

    fn rat(&mut self) -> Result<(), Fail> {
        let (data, letters, span) = self.register()?;
        self.set(F::RwGpr, data, span.clone())?;
        if !letters.is_empty() {
            let mut mask = 0;
            for letter in letters.chars() {
                match CHANNELS.iter().position(|known| *known == letter) {
                    // Ascending.
                    Some(channel) if mask >> channel == 0 => mask |= 1 << channel,
                    _ => return Err(Diagnostic::new(span, "expected some of X, Y, Z and W in this order")),
                }
            }
            self.set(F::CompMask, mask, span)?;
        }
        self.cursor.expect(",")?;
        let (index, letters, span) = self.register()?;
        if letters != "X" {
            return Err(Diagnostic::new(span, "expected `.X` behind the register with the index"));
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
        // LLVM ends operands with a comma.
        self.cursor.eat(",");
        Ok(())
    }

    fn source(&mut self, field: &SourceField) -> Result<(), Fail> {
        let start = self.cursor.at();
        // `-1` is a constant of its own.
        let minus_one = self
            .cursor
            .rest()
            .strip_prefix("-1")
            .is_some_and(|rest| !rest.starts_with(|c: char| c == '.' || c.is_ascii_alphanumeric()));
        if !minus_one && self.cursor.eat("-") {
            self.set(field.negate, 1, start..self.cursor.end())?;
        }
        let at = self.cursor.at();
        let bars = self.cursor.eat("|");
        if bars {
            match field.absolute {
                Some(absolute) => self.set(absolute, 1, at..at + 1)?,
                None => {
                    let message = "the third source has no absolute value";
                    return Err(Diagnostic::new(at..at + 1, message));
                }
            }
        }
        let at = self.cursor.at();
        let source = self.source_value()?;
        let span = at..self.cursor.end();
        let Some((select, channel)) = source.code() else {
            return Err(Diagnostic::new(span, "expected a source that exists"));
        };
        self.set(field.select, select, span.clone())?;
        self.set(field.channel, channel, span)?;
        if bars { self.cursor.expect("|") } else { Ok(()) }
    }

    fn source_value(&mut self) -> Result<Source, Fail> {
        const EXPECTED: &str = "a source such as `T0.X`, `KC0[2].Y`, `PV.Z`, `literal.x`, `OQAP`, `0.0`, `1.0`, `1`, `-1` or `0.5`";
        let start = self.cursor.at();
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"-.".contains(byte)).count();
        if length > 0 {
            let constant = INLINE.iter().position(|text| rest.get(..length) == Some(text));
            let constant = constant.and_then(|index| Inline::ALL.get(index));
            return match constant {
                Some(constant) => {
                    self.cursor.go_to(start + length);
                    Ok(Source::Inline(*constant))
                }
                None => Err(self
                    .cursor
                    .expected(EXPECTED)
                    .note("other constants are literals: `literal.x`, with the number behind the group")),
            };
        }
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if let Some(number) = QUEUES.iter().position(|queue| *queue == name) {
            return Ok(Source::Queue(number as u8 & 1, number >= 2));
        }
        if let Some(window) = name.strip_prefix("KC").and_then(|number| number.parse::<u8>().ok()) {
            self.cursor.expect("[")?;
            let number = self.decimal()?;
            self.cursor.expect("]")?;
            let at = self.cursor.at();
            let channel = channel_of(self.cursor.name().strip_prefix('.').unwrap_or_default());
            let span = start..self.cursor.end();
            return match (channel, u8::try_from(number)) {
                (Some(channel), Ok(number @ 0..32)) if window < 4 => {
                    Ok(Source::Constant(window, number, channel as u8))
                }
                (None, _) => {
                    self.cursor.go_to(at);
                    Err(self.cursor.expected("a channel: .X, .Y, .Z or .W"))
                }
                _ => Err(Diagnostic::new(span, "expected a constant from KC0[0] to KC3[31]")),
            };
        }
        let (word, letters) = name.split_once('.').unwrap_or((name, ""));
        let channel = channel_of(letters).map(|channel| channel as u8);
        match (word, channel) {
            ("PV", Some(channel)) => return Ok(Source::PreviousVector(channel)),
            ("literal", _) if let Some(channel) = channel_of(&letters.to_ascii_uppercase()) => {
                return Ok(Source::Literal(channel as u8));
            }
            _ => {}
        }
        if let Some(select) = word.strip_prefix("SRC").and_then(|number| number.parse::<u16>().ok())
            && let Some(channel) = channel
        {
            return Ok(Source::Other(select, channel));
        }
        self.cursor.go_to(start);
        if word.starts_with('T') {
            let (number, letters, _) = self.register()?;
            return match channel_of(&letters) {
                Some(channel) => Ok(Source::Gpr(number as u8, channel as u8)),
                None => {
                    Err(Diagnostic::new(span, "expected a channel behind the register: .X, .Y, .Z or .W"))
                }
            };
        }
        Err(self.cursor.expected(EXPECTED))
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
            return Err(Diagnostic::new(span, "expected four channels at most"));
        }
        self.cursor.expect(",")?;
        self.channel(F::SrcGpr, F::SrcSelX)?;
        self.cursor.expect(",")?;
        self.number(F::Offset)?;
        self.cursor.expect(",")?;
        self.cursor.expect("#")?;
        self.number(F::BufferId)
    }

    /// Fields by their names, and the end of the line.
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
                // LLVM writes the name of slots that Cayman lacks, too: `VEC_021/SCL_122`.
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

/// The channel of a letter.
fn channel_of(letter: &str) -> Option<u32> {
    let mut letters = letter.chars();
    let channel = letters.next().and_then(|first| CHANNELS.iter().position(|known| *known == first))?;
    letters.next().is_none().then_some(channel as u32)
}
