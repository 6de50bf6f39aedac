//! The parser: words and groups from their text.

mod control;
mod fetch;
mod group;
mod slot;

use wavemill_isa::cayman::{FieldError, FieldId as F, Format, Group, Inst};

pub(super) use group::GroupBuilder;

use super::field::{self, base, is_signed, value_names};
use super::mnemonic::{from_mnemonic, mnemonic, mnemonics};
use super::syntax::{CHANNELS, ELEMENTS, LOOP_INDEX, MASKED, NUMBER_INDICES};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, NoSymbols, Symbols, closest, expression};

/// Reads a word of the control flow program or of a clause of fetches. Labels have no value here.
///
/// # Errors
/// [`Diagnostic`] says which part of the text is wrong.
///
/// ```
/// use wavemill_asm::cayman::{parse, print};
///
/// let word = parse("jump @5 pop:1")?;
/// assert_eq!(word.encode().0[..8], [5, 0, 0, 0, 1, 0, 0x80, 0x82]);
/// assert_eq!(print(&word), "jump @5 pop:1");
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn parse(text: &str) -> Result<Inst, Diagnostic> {
    let mut cursor = Cursor::new(text);
    let word = word(&mut cursor, &NoSymbols).map_err(|fail| *fail)?;
    match word.target {
        None => Ok(word.inst),
        Some(target) => Err(*Diagnostic::new(target.span, "expected a number: there are no labels here")),
    }
}

/// Reads a group: its slots, separated by blanks or lines, and `;;`.
///
/// # Errors
/// [`Diagnostic`] says which part of the text is wrong.
pub fn parse_group(text: &str) -> Result<Group, Diagnostic> {
    let mut builder = GroupBuilder::default();
    let flat = text.replace('\n', " ");
    let mut cursor = Cursor::new(&flat);
    let ended = builder.line(&mut cursor, &NoSymbols, 0).map_err(|fail| *fail)?;
    if !ended {
        return Err(*cursor.expected("`;;`, the end of the group"));
    }
    if !cursor.is_done() {
        return Err(*cursor.expected("nothing behind the group"));
    }
    builder.finish().map_err(|(_, fail)| *fail)
}

/// A word, and what is still open.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) inst: Inst,
    /// The label that it addresses.
    pub(super) target: Option<Target>,
    /// Whether the text gives COUNT.
    pub(super) has_count: bool,
}

/// A label in a text.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) span: Span,
}

/// Reads a word up to the end of the line. A name behind a clause or a jump is a label.
pub(super) fn word(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<Word, Fail> {
    let start = cursor.at();
    let inst = instruction(cursor, false)?;
    let mut line = Line { cursor, inst, symbols, set: Vec::new(), target: None, values: Vec::new() };
    match inst.format() {
        Format::Cf | Format::Gws => line.control()?,
        Format::CfAlu | Format::CfAluExtended => line.alu_clause()?,
        Format::ExportSwiz => line.export()?,
        Format::ExportBuf => line.data()?,
        Format::Rat => line.rat()?,
        Format::Vtx | Format::VtxSemantic => line.vertex()?,
        Format::Tex => line.texture()?,
        Format::MemRd => line.memory_read()?,
        Format::Gds | Format::TfWrite => line.share()?,
        _ => {}
    }
    loop {
        line.cursor.eat(",");
        if line.cursor.is_done() {
            break;
        }
        line.word_field()?;
    }
    let has_count = line.set.contains(&F::Count);
    let (inst, target) = (line.inst, line.target.take());
    if let Some(Target { span, .. }) = target.as_ref().filter(|_| line.set.contains(&F::Addr)) {
        return Err(Diagnostic::new(span.clone(), "expected a label or `addr`, found both"));
    }
    if inst.row().clause().is_some() && target.is_none() && !has_count {
        let message = "expected the label of a clause, or its size as in `@4 count:0`";
        return Err(
            Diagnostic::new(start..cursor.end(), message).note("COUNT is the words of the clause, less one")
        );
    }
    Ok(Word { inst, target, has_count })
}

/// Reads a mnemonic of one or two words.
fn instruction(cursor: &mut Cursor<'_>, is_slot: bool) -> Result<Inst, Fail> {
    let start = cursor.at();
    let word = cursor.name();
    if word.is_empty() {
        cursor.go_to(start);
        return Err(cursor.expected("an instruction"));
    }
    let behind = cursor.end();
    let second = cursor.peek_name();
    if !second.is_empty()
        && let Some(op) = from_mnemonic(&format!("{word} {second}"), is_slot)
    {
        cursor.name();
        return Ok(base(op));
    }
    if let Some(op) = from_mnemonic(word, is_slot) {
        return Ok(base(op));
    }
    let span = start..behind;
    let names = mnemonics(is_slot);
    if let Some(example) =
        names.iter().find(|name| name.split_once(' ').is_some_and(|(first, _)| first == word))
    {
        cursor.go_to(behind);
        return Err(cursor.expected(&format!("what the instruction does, as in `{example}`")));
    }
    let lower = word.to_ascii_lowercase();
    let kind = if is_slot { "slot" } else { "word" };
    let fail = Diagnostic::new(span, format!("Cayman has no instruction `{word}` for this {kind}"));
    if lower != word && from_mnemonic(&lower, is_slot).is_some() {
        return Err(fail.note("mnemonics are in lower case").replace_with(lower));
    }
    if let Some(op) = from_mnemonic(&lower, !is_slot) {
        return Err(fail.note(match is_slot {
            false => format!("`{lower}` is a slot of an ALU group: `x: {}`", mnemonic(op)),
            true => format!("`{}` is a word of its own, without `x:`", mnemonic(op)),
        }));
    }
    Err(match closest(&lower, &names)[..] {
        [one] => fail.replace_with(one),
        [] => fail,
        ref several => fail.note(format!("similar: {}", several.join(", "))),
    })
}

/// A literal of a slot: the source, and its value or its written channel.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// The number of the source.
    pub(super) source: usize,
    pub(super) bits: u32,
    pub(super) span: Span,
}

/// A word that is being read.
struct Line<'c, 't, 's> {
    cursor: &'c mut Cursor<'t>,
    inst: Inst,
    symbols: &'s dyn Symbols,
    /// The fields that the text gave.
    set: Vec<F>,
    target: Option<Target>,
    /// Literals that get a channel with the group.
    values: Vec<Value>,
}

impl<'t> Line<'_, 't, '_> {
    /// Sets a field that the text gives at `span`.
    fn set(&mut self, id: F, value: u32, span: Span) -> Result<(), Fail> {
        if self.set.contains(&id) {
            let before = format!("expected `{}` once, found it again", field::name(id));
            return Err(Diagnostic::new(span, before));
        }
        match self.inst.with(id, value) {
            Ok(inst) => {
                self.inst = inst;
                self.set.push(id);
                Ok(())
            }
            Err(FieldError::TooLarge { max, .. }) => Err(Diagnostic::new(
                span,
                format!("expected 0 to {max} for `{}`, found {value}", field::name(id)),
            )),
            Err(error) => Err(Diagnostic::new(span, error.to_string())),
        }
    }

    /// A number or a symbol with a known value, that fits 32 bits.
    fn number(&mut self) -> Result<(u32, Span), Fail> {
        let start = self.cursor.at();
        let value = expression(self.cursor, self.symbols)?;
        let span = start..self.cursor.end();
        let Some(number) = value.value() else {
            return Err(Diagnostic::new(span, "expected a number, found a symbol without a value"));
        };
        match u32::try_from(number) {
            Ok(number) => Ok((number, span)),
            Err(_) => {
                Err(Diagnostic::new(span, format!("expected a number from 0 to 4294967295, found {number}")))
            }
        }
    }

    /// Decimal digits.
    fn decimal(&mut self, expected: &str) -> Result<u32, Fail> {
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(number) = rest.get(..length).and_then(|digits| digits.parse().ok()) else {
            return Err(self.cursor.expected(expected));
        };
        let at = self.cursor.at();
        self.cursor.go_to(at + length);
        Ok(number)
    }

    /// A word of letters, digits and `_`: the value of a field.
    fn letters(&mut self) -> (&'t str, Span) {
        let at = self.cursor.at();
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        self.cursor.go_to(at + length);
        (rest.get(..length).unwrap_or_default(), at..at + length)
    }

    /// A field by name: `barrier:0`, `mark`, `cond:bool`.
    fn field(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if name.is_empty() {
            return Err(self.cursor.expected("a field such as `barrier:0`, or the end"));
        }
        let Some(field) = field::named(&self.inst, name) else {
            let names: Vec<&str> =
                self.inst.format().fields().iter().map(|field| field::name(field.id)).collect();
            let fail = Diagnostic::new(span, format!("`{}` has no field `{name}`", mnemonic(self.inst.op())));
            return Err(match closest(name, &names)[..] {
                [one] => fail.replace_with(one),
                _ => fail.note(format!("its fields: {}", names.join(", "))),
            });
        };
        if !self.cursor.eat(":") {
            if field.width() == 1 {
                return self.set(field.id, 1, span);
            }
            return Err(self.cursor.expected(&format!("`:` and the value of `{name}`")));
        }
        let names = value_names(field.id);
        let at = self.cursor.at();
        let (text, value_span) = self.letters();
        if let Some(value) = names.iter().position(|known| *known == text) {
            return self.set(field.id, value as u32, value_span);
        }
        self.cursor.go_to(at);
        if !names.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.cursor.expected(&format!("one of {}", names.join(", "))));
        }
        if is_signed(field.id) {
            return self.signed(field.id, field.width());
        }
        let (value, value_span) = self.number()?;
        self.set(field.id, value, value_span)
    }

    fn signed(&mut self, id: F, width: u32) -> Result<(), Fail> {
        let start = self.cursor.at();
        let value = expression(self.cursor, self.symbols)?.value();
        let span = start..self.cursor.end();
        let half = 1i64 << (width - 1);
        match value {
            Some(value) if (-half..half).contains(&value) => {
                self.set(id, value as u32 & (u32::MAX >> (32 - width)), span)
            }
            _ => Err(Diagnostic::new(
                span,
                format!("expected a number from {} to {} for `{}`", -half, half - 1, field::name(id)),
            )),
        }
    }

    /// A field by name of a word that is no slot, or what stands for one.
    fn word_field(&mut self) -> Result<(), Fail> {
        if self.fetch_field()? || self.next_window()? { Ok(()) } else { self.field() }
    }

    /// `r5` or `r[al+5]`, and the letters behind its point.
    fn register(&mut self, register: F, relative: Option<F>) -> Result<(&'t str, Span), Fail> {
        const EXPECTED: &str = "a register such as `r0.x`";
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if name == "r" && self.cursor.eat("[") {
            self.index(relative)?;
            let at = self.cursor.at();
            let number = self.decimal("the number of a register")?;
            let span = at..self.cursor.end();
            self.cursor.expect("]")?;
            self.number_of_register(register, number, span)?;
            let at = self.cursor.at();
            let name = self.cursor.name();
            return Ok((name.strip_prefix('.').unwrap_or(""), at..self.cursor.end()));
        }
        let (head, letters) = name.split_once('.').unwrap_or((name, ""));
        let Some(number) = head.strip_prefix('r').and_then(|number| number.parse::<u32>().ok()) else {
            self.cursor.go_to(start);
            return Err(self.cursor.expected(EXPECTED));
        };
        self.number_of_register(register, number, span.start..span.start + head.len())?;
        Ok((letters, span.end - letters.len()..span.end))
    }

    fn number_of_register(&mut self, register: F, number: u32, span: Span) -> Result<(), Fail> {
        if number > 127 {
            return Err(Diagnostic::new(
                span,
                format!("expected a register from r0 to r127, found r{number}"),
            ));
        }
        self.set(register, number, span)
    }

    /// `al+`, in brackets.
    fn index(&mut self, relative: Option<F>) -> Result<(), Fail> {
        let at = self.cursor.at();
        let name = self.cursor.name();
        let span = at..self.cursor.end();
        match relative {
            Some(id) if name == LOOP_INDEX => self.set(id, 1, span)?,
            Some(_) => {
                self.cursor.go_to(at);
                return Err(self.cursor.expected(&format!("`{LOOP_INDEX}+`, the loop index")));
            }
            None => {
                self.cursor.go_to(at);
                return Err(self.cursor.expected("a register without an index"));
            }
        }
        self.cursor.expect("+")
    }

    /// Letters of a swizzle, one for each field.
    fn selections(&mut self, fields: &[F], letters: &str, span: Span) -> Result<(), Fail> {
        let count = fields.len();
        if letters.chars().count() != count {
            let found = if letters.is_empty() { "none".to_owned() } else { format!("`{letters}`") };
            return Err(Diagnostic::new(span, format!("expected {count} letters of xyzw01_, found {found}")));
        }
        for (id, letter) in fields.iter().zip(letters.chars()) {
            let Some(code) = ELEMENTS.iter().position(|known| *known == letter) else {
                return Err(Diagnostic::new(
                    span,
                    format!("expected x, y, z, w, 0, 1 or _ for each channel, found `{letter}`"),
                ));
            };
            self.set(*id, code as u32, span.clone())?;
        }
        Ok(())
    }

    /// The channel that one letter names.
    fn channel(&mut self, letters: &str, span: &Span) -> Result<u32, Fail> {
        let mut all = letters.chars();
        let code = all.next().and_then(|letter| CHANNELS.iter().position(|known| *known == letter));
        match (code, all.next()) {
            (Some(code), None) => Ok(code as u32),
            _ => Err(Diagnostic::new(
                span.clone(),
                format!("expected one channel, .x, .y, .z or .w, found `{letters}`"),
            )),
        }
    }

    /// `xy`: the channels of a mask.
    fn mask(&mut self, id: F, letters: &str, span: Span) -> Result<(), Fail> {
        let mut mask = 0;
        for (at, letter) in letters.chars().enumerate() {
            match CHANNELS.get(at) {
                Some(own) if *own == letter => mask |= 1 << at,
                Some(_) if letter == MASKED => {}
                _ => {
                    let message =
                        "expected the channels that are written, in the order xyzw, with _ for others";
                    return Err(Diagnostic::new(span, format!("{message}; found `{letters}`")));
                }
            }
        }
        if letters.is_empty() {
            return Err(Diagnostic::new(span, "expected the channels that are written, such as .xyzw"));
        }
        self.set(id, mask, span)
    }

    /// `+idx0` behind the number of a resource.
    fn number_index(&mut self, id: F) -> Result<(), Fail> {
        if !self.cursor.eat("+") {
            return Ok(());
        }
        let (text, span) = self.letters();
        match NUMBER_INDICES.iter().position(|known| *known == text) {
            Some(index) => self.set(id, index as u32 + 1, span),
            None => {
                self.cursor.go_to(span.start);
                Err(self.cursor.expected(&format!("an index register: {}", NUMBER_INDICES.join(" or "))))
            }
        }
    }
}
