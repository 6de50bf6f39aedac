//! The parser: one instruction from its text, in LLVM's syntax.
//!
//! The row gives the operands and their order; the forms give the encodings that accept them. The
//! parser tries the forms in row order, shortest first, and has the decoder check the result: the
//! decoder must read back what the text says. No code here knows an instruction by name.

mod apply;
mod bind;
mod constant;
mod mnemonic;
mod modifier;
mod operand;
mod register;
mod report;

use wavemill_isa::gcn::{Elem, FieldId, Format, Inst, Operand, Role, Row};
use wavemill_isa::{CacheWords, Target};

use super::mnemonic::Suffix;
use crate::diagnostic::{Diagnostic, Fail};
use crate::family::{Field, Fixup};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Cursor, NoSymbols, Symbols};
use mnemonic::Named;
use modifier::{Modifier, Name};
use operand::{Argument, Constant, Value};

pub(crate) use report::register_but_for_case;

/// Reads one instruction of `target`, or of the processor of an [`InstructionSet`], from `text`:
/// `v_add_f32 v1, s2, v3`. Without a suffix (`_e32`, `_e64`, `_sdwa`, `_dpp`), it uses the shortest
/// encoding that can hold the instruction.
///
/// The text is one instruction without a comment. Mnemonics may be in upper or lower case. There
/// are no symbols: use [`parse_with`] for symbols with values.
///
/// # Errors
///
/// [`Diagnostic`] says which part of the text is wrong, and how to fix it.
///
/// ```
/// use wavemill_asm::gcn::parse;
/// use wavemill_isa::Target;
///
/// let inst = parse(Target::Gfx90a, "v_add_f32 v1, s2, v3")?;
/// assert_eq!(inst.words()[0], 0x0202_0602);
/// let error = parse(Target::Gfx90a, "v_add_f32 v1, s2, v256").unwrap_err();
/// assert_eq!(error.span, 18..22);
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn parse(target: impl Into<InstructionSet>, text: &str) -> Result<Inst, Diagnostic> {
    parse_with(target, text, &NoSymbols)
}

/// Reads one instruction as [`parse`] does, with symbol values: `v_mov_b32 v0, limit+1`,
/// `v[i:i+1]`.
///
/// # Errors
///
/// [`Diagnostic`] as for [`parse`]. A symbol without a value is an error.
pub fn parse_with(
    target: impl Into<InstructionSet>,
    text: &str,
    symbols: &dyn Symbols,
) -> Result<Inst, Diagnostic> {
    let parsed = Parser::new(target.into()).parse(text, symbols).map_err(|fail| *fail)?;
    match parsed.fixup {
        None => Ok(parsed.inst),
        Some(fixup) => Err(*Diagnostic::new(fixup.span, "the symbol has no value here")),
    }
}

/// An instruction and the field that is still open.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) inst: Inst,
    pub(crate) fixup: Option<Fixup>,
}

/// An instruction from [`bind`](bind::bind), with the index of the argument whose expression
/// decides a field.
struct Bound {
    inst: Inst,
    symbolic: Option<(Field, usize)>,
}

/// Reads instructions one after another.
#[derive(Debug)]
pub(crate) struct Parser {
    set: InstructionSet,
    target: Target,
    arguments: Vec<Argument>,
    modifiers: Vec<Modifier>,
}

impl Parser {
    pub(crate) fn new(set: InstructionSet) -> Parser {
        Parser { set, target: set.target(), arguments: Vec::new(), modifiers: Vec::new() }
    }

    /// Reads the instruction in `text`.
    pub(crate) fn parse(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail> {
        self.read(text, symbols).map_err(|mut fail| {
            // A fix that leaves or adds errors does not count.
            let fixed = fail.fix.as_ref().and_then(|fix| fix.applied(text));
            if fixed.is_none_or(|fixed| Parser::new(self.set).read(&fixed, symbols).is_err()) {
                fail.fix = None;
            }
            fail
        })
    }

    fn read(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail> {
        let mut cursor = Cursor::new(text);
        let start = cursor.at();
        let word = cursor.name();
        if word.is_empty() {
            return Err(cursor.expected("an instruction"));
        }
        let span = start..cursor.end();
        let Some(named) = mnemonic::lookup(word, self.set) else {
            let fail = report::unknown_mnemonic(self.set, word, span);
            // `sendmsg(...)` is an operand, and no other word makes it an instruction.
            return Err(if cursor.peek_raw() == Some(b'(') { fail.without_fix() } else { fail });
        };
        let Some(op) = named.on(self.set) else {
            return Err(report::not_on_target(self.set, word, named, span));
        };
        let row = op.row();
        if named.suffix.is_some() && named.forms(self.target).next().is_none() {
            return Err(report::no_such_form(self.target, word, op, named, span));
        }
        // Memory-to-LDS forms have no data. LLVM reads `scc` after their offset as a modifier, even
        // if data is present and the offset comes later.
        let without_data = self.target.facts().cache_words == CacheWords::Policy
            && named.forms(self.target).any(|form| apply::settable(form, self.target, FieldId::Lds));
        self.operands(&mut cursor, row, without_data, symbols)?;
        report::one_symbolic(&self.arguments, row.operands)?;
        let bound = bind::bind(self.target, op, named, &self.arguments, &self.modifiers, text, span)?;
        let fixup = bound.symbolic.and_then(|(field, index)| {
            let argument = self.arguments.get_mut(index)?;
            let span = argument.span.clone();
            match std::mem::replace(&mut argument.value, Value::Constant(Constant::Int(0))) {
                Value::Symbolic(expression) => Some(Fixup { field, fixed: false, expression, span }),
                _ => None,
            }
        });
        Ok(Parsed { inst: bound.inst, fixup })
    }

    /// How many VGPRs and SGPRs the last statement needs: the highest register it names plus one.
    pub(crate) fn register_ends(&self) -> [u16; 2] {
        let mut ends = [0; 2];
        for argument in &self.arguments {
            let (end, first, dwords) = match argument.value {
                Value::Operand(Operand::Vgpr { first, dwords }) => (&mut ends[0], first, dwords),
                Value::Operand(Operand::Sgpr { first, dwords }) => (&mut ends[1], first, dwords),
                _ => continue,
            };
            *end = u16::from(first).saturating_add(dwords.into()).max(*end);
        }
        ends
    }

    /// Reads everything after the mnemonic.
    fn operands(
        &mut self,
        cursor: &mut Cursor<'_>,
        row: &'static Row,
        without_data: bool,
        symbols: &dyn Symbols,
    ) -> Result<(), Fail> {
        let specs = row.operands;
        // The position of typed buffer formats: around the offset.
        let typed = match row.format {
            Format::Mtbuf => specs.iter().position(|spec| spec.role == Role::Soffset),
            _ => None,
        };
        self.arguments.clear();
        self.modifiers.clear();
        // Whether an operand or the end may come next: at the start, and after a comma.
        let mut open = true;
        let mut comma = None;
        while !cursor.is_done() {
            let start = cursor.at();
            let operand = self.arguments.len() < specs.len() && open;
            // LLVM counts modifiers, too.
            let caches = without_data && self.arguments.len() + self.modifiers.len() + 1 >= specs.len();
            // A symbol may have the name of a modifier.
            let next = specs.get(self.arguments.len()).filter(|_| operand);
            let symbol = next.is_some_and(|spec| is_symbol(cursor, spec.ty.elem));
            let modifier = if symbol { None } else { modifier::modifier(cursor, symbols, operand, caches)? };
            if let Some(modifier) = modifier {
                if let Some(offset) = typed {
                    self.format_stands_right(&modifier, offset, open)?;
                }
                let before_offset = typed.is_some() && modifier.is_split_format();
                self.modifiers.push(modifier);
                // Commas are allowed between modifiers, and after formats before the offset.
                let at = cursor.at();
                let eaten = cursor.eat(",");
                comma = eaten.then_some(at);
                open = eaten || before_offset;
                continue;
            }
            if !open {
                return Err(report::unexpected(cursor, &self.modifiers));
            }
            if let Some(modifier) = self.modifiers.last()
                && !(typed == Some(self.arguments.len()) && modifier.is_split_format())
            {
                let word = modifier.word;
                let message = match register::special_register(word) {
                    Some(_) => format!("expected `,` before `{word}`, or all operands before it"),
                    None => format!("expected all operands before `{word}`"),
                };
                return Err(Diagnostic::new(modifier.span.clone(), message));
            }
            let index = self.arguments.len();
            let spec = specs.get(index);
            self.arguments.push(operand::argument(cursor, spec, self.target, symbols)?);
            let at = cursor.at();
            comma = cursor.eat(",").then_some(at);
            // The values of an export follow its target without a comma.
            open = comma.is_some() || spec.is_some_and(|spec| spec.ty.elem == Elem::ExpTgt);
            if cursor.end() == start {
                return Err(cursor.expected("an operand"));
            }
        }
        match comma {
            Some(at) => Err(Diagnostic::new(
                at..at + 1,
                "expected an operand after the `,`, found the end of the line",
            )
            .replace_with("")),
            None => Ok(()),
        }
    }
}

impl Parser {
    /// Fails if a typed buffer format is in the wrong position: `dfmt` and `nfmt` go before operand
    /// number `offset`, `format` directly after it.
    fn format_stands_right(&self, modifier: &Modifier, offset: usize, open: bool) -> Result<(), Fail> {
        let right = match modifier.name {
            Name::Dfmt | Name::Nfmt => {
                open && self.arguments.len() == offset && self.modifiers.iter().all(Modifier::is_split_format)
            }
            Name::Format => self.arguments.len() == offset + 1 && self.modifiers.is_empty(),
            _ => true,
        };
        if right {
            return Ok(());
        }
        let message = match modifier.name {
            Name::Format => "expected `format` directly after the offset register",
            _ => "expected `dfmt` and `nfmt` before the offset register",
        };
        Err(Diagnostic::new(modifier.span.clone(), message).note(
            "`dfmt:4, nfmt:7, s0` and `s0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]` mean the same",
        ))
    }
}

/// Whether the next operand is a symbol even if it has the name of a modifier: a branch target, or a
/// name with a relocation such as `done@rel32@lo`. A name with `:` is a modifier.
fn is_symbol(cursor: &mut Cursor<'_>, elem: Elem) -> bool {
    let start = cursor.at();
    let named = !cursor.name().is_empty();
    let symbol = match elem {
        Elem::Branch => cursor.peek() != Some(b':'),
        _ => cursor.peek_raw() == Some(b'@'),
    };
    cursor.go_to(start);
    named && symbol
}

/// The mnemonics and suffix of `named`, for messages.
fn written(named: &Named, word: &str) -> String {
    let suffix = named.suffix.map_or("", Suffix::text);
    word.strip_suffix(suffix).unwrap_or(word).to_owned()
}
