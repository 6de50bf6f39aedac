//! Writes code as instructions.

use std::fmt::{self, Write};

use wavemill_object::RelocationKind;
use wavemill_object::write::{Contents, Relocation, SectionFlags, SectionId, SymbolType};

use super::pieces::{Kind, Piece};
use super::relative::Base;
use super::{COMMENT_COLUMN, Writer, names};
use crate::family::{Computed, DecodeError, Instruction};
use crate::syntax::NoSymbols;

/// The facts about the code of a section, collected before it is written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// One bit per word: whether an instruction begins there.
    starts: Vec<u64>,
    /// Positions that get a label: offset, number of the function, and number of the label in it.
    labels: Vec<(u64, u32, u32)>,
    /// Literals that hold an address: offset, base, relocation, and the addend.
    literals: Vec<(u64, Base, &'static str, i64)>,
}

impl Plan {
    fn is_start(&self, offset: u64) -> bool {
        let word = offset / 4;
        offset.is_multiple_of(4)
            && self.starts.get((word / 64) as usize).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    fn mark(&mut self, offset: u64) {
        let word = offset / 4;
        if let Some(bits) = self.starts.get_mut((word / 64) as usize).filter(|_| offset.is_multiple_of(4)) {
            *bits |= 1 << (word % 64);
        }
    }

    /// The label at an offset.
    fn label(&self, offset: u64) -> Option<Label> {
        let at = self.labels.binary_search_by_key(&offset, |label| label.0).ok()?;
        self.labels.get(at).map(|&(_, function, number)| Label(function, number))
    }
}

/// A label that has no symbol in the file.
#[derive(Clone, Copy, Debug)]
struct Label(u32, u32);

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".LBB{}_{}", self.0, self.1)
    }
}

/// The target of a branch that ends at `next`.
fn destination(next: u64, distance: i16) -> u64 {
    next.wrapping_add_signed(4 * i64::from(distance))
}

/// A literal that no compiler emits, and its text. It marks where an expression will be.
const PLACEHOLDER: u32 = 0x7A6B_5C4D;
const PLACEHOLDER_TEXT: &str = "0x7a6b5c4d";

impl Writer<'_> {
    /// The bytes of a section.
    pub(super) fn bytes(&self, id: SectionId) -> &[u8] {
        match self.module.sections.get(id.0).map(|section| &section.contents) {
            Some(Contents::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Writes all of a section.
    pub(super) fn contents(&mut self, id: SectionId) -> fmt::Result {
        let pieces = self.pieces(id);
        let plan = self.plan(id, &pieces);
        for piece in &pieces {
            self.piece(id, piece, &plan)?;
        }
        let size = self.module.sections.get(id.0).map_or(0, |section| section.contents.size());
        self.marks(id, size)?;
        self.outside(id, size)
    }

    /// Writes the requested parts of a section.
    pub(super) fn wanted_parts(&mut self, id: SectionId) -> fmt::Result {
        let Some(only) = self.options.only else { return Ok(()) };
        let module = self.module;
        let symbols = self.bounds.symbols(id);
        let size = module.sections.get(id.0).map_or(0, |section| section.contents.size());
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (at, symbol) in symbols {
            let Some(symbol) = module.symbols.get(symbol.0) else { continue };
            let plain = self.abi.kernel_of(&symbol.name).unwrap_or(&symbol.name);
            let named = matches!(symbol.kind, SymbolType::Function | SymbolType::Object);
            if named && wavemill_object::is_called(plain, only) {
                let next = symbols.partition_point(|(other, _)| other <= at);
                let next = symbols.get(next).map_or(size, |(other, _)| *other);
                ranges.push((*at, if symbol.size == 0 { next } else { at.saturating_add(symbol.size) }));
            }
        }
        if ranges.is_empty() {
            return Ok(());
        }
        self.out.write_char('\n')?;
        self.section_header(id)?;
        let pieces = self.pieces(id);
        let plan = self.plan(id, &pieces);
        let inside = |at: u64| ranges.iter().any(|(from, to)| (*from..*to).contains(&at));
        for piece in pieces.iter().filter(|piece| inside(piece.start)) {
            self.piece(id, piece, &plan)?;
            if !inside(piece.end) {
                self.ends(id, piece.end)?;
            }
        }
        Ok(())
    }

    /// Writes the sizes of symbols that end at an offset.
    fn ends(&mut self, id: SectionId, offset: u64) -> fmt::Result {
        for at in 0..self.bounds.ends_at(id, offset).len() {
            let symbol = self.bounds.ends_at(id, offset).get(at).map(|(_, symbol)| *symbol);
            let Some(symbol) = symbol else { continue };
            let start =
                offset.wrapping_sub(self.module.symbols.get(symbol.0).map_or(0, |symbol| symbol.size));
            if !self.descriptors.is_implied(id, start, symbol) {
                self.size(symbol, Some((id, offset)))?;
            }
        }
        Ok(())
    }

    /// Writes the sizes and labels at an offset.
    fn marks(&mut self, id: SectionId, offset: u64) -> fmt::Result {
        self.ends(id, offset)?;
        let section_size = self.module.sections.get(id.0).map_or(0, |section| section.contents.size());
        for at in 0..self.bounds.symbols_at(id, offset).len() {
            let symbol = self.bounds.symbols_at(id, offset).get(at).map(|(_, symbol)| *symbol);
            let Some(symbol) = symbol.filter(|symbol| !self.descriptors.is_implied(id, offset, *symbol))
            else {
                continue;
            };
            self.label(symbol)?;
            let size = self.module.symbols.get(symbol.0).map_or(0, |symbol| symbol.size);
            if size > section_size.saturating_sub(offset) {
                self.size(symbol, None)?;
            }
        }
        Ok(())
    }

    /// Writes the symbols beyond the end of their section.
    fn outside(&mut self, id: SectionId, size: u64) -> fmt::Result {
        let from = self.bounds.symbols(id).partition_point(|(at, _)| *at <= size);
        for at in from..self.bounds.symbols(id).len() {
            if let Some((offset, symbol)) = self.bounds.symbols(id).get(at).copied() {
                let name = self.names.of(symbol).to_owned();
                self.remark(format_args!(
                    "{name} is omitted: it is at {offset:#x} of a section of {size} bytes"
                ))?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, id: SectionId, piece: &Piece, plan: &Plan) -> fmt::Result {
        self.marks(id, piece.start)?;
        match piece.kind {
            Kind::Code => self.code(id, piece, plan),
            Kind::Data => self.data(id, piece.start, piece.end),
            Kind::Descriptor => match self.descriptor(id, piece.start)? {
                true => Ok(()),
                false => self.data(id, piece.start, piece.end),
            },
            Kind::Run(word) => self.run(id, piece, word),
            Kind::NoBits => self.statement(format_args!(".zero\t{}", piece.end - piece.start)),
        }
    }

    /// Writes a run of equal words outside of functions.
    fn run(&mut self, id: SectionId, piece: &Piece, word: u32) -> fmt::Result {
        let mut bytes = piece.end - piece.start;
        if word != self.set.family().filler() {
            return self.statement(format_args!(".zero\t{bytes}"));
        }
        let align = self.module.sections.get(id.0).map_or(1, |section| section.align);
        let power = piece.end.trailing_zeros().min(align.trailing_zeros());
        let before_symbol = !self.bounds.symbols_at(id, piece.end).is_empty();
        let padding = if before_symbol && power >= 3 { bytes & ((1 << power) - 1) } else { 0 };
        bytes -= padding;
        if bytes != 0 {
            self.statement(format_args!(".fill\t{}, 4, {word:#x}", bytes / 4))?;
        }
        if padding != 0 {
            self.statement(format_args!(".p2align\t{power}"))?;
        }
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Instruction, DecodeError> {
        self.set.family().decode(self.set.target(), bytes)
    }

    /// Reads the code of a section: where instructions begin, where branches go, which addresses it
    /// computes.
    fn plan(&self, id: SectionId, pieces: &[Piece]) -> Plan {
        let mut plan = Plan::default();
        let Some(section) = self.module.sections.get(id.0) else { return plan };
        if !section.flags.has(SectionFlags::EXECUTE) {
            return plan;
        }
        let bytes = self.bytes(id);
        plan.starts = vec![0; bytes.len() / 256 + 1];
        let mut targets: Vec<u64> = Vec::new();
        let mut tracker = self.set.family().tracker();
        for piece in pieces.iter().filter(|piece| piece.kind == Kind::Code) {
            if self.bounds.symbols_at(id, piece.start).iter().any(|(_, symbol)| {
                self.module.symbols.get(symbol.0).is_some_and(|symbol| symbol.kind == SymbolType::Function)
            }) {
                tracker.clear();
            }
            let mut at = piece.start;
            while at < piece.end {
                let rest = bytes.get(at as usize..piece.end as usize).unwrap_or_default();
                let Ok(inst) = self.decode(rest) else {
                    at += 4;
                    continue;
                };
                plan.mark(at);
                let next = at + inst.size() as u64;
                // Where the linker decides, the number has no meaning.
                let decided = section.relocations.binary_search_by_key(&at, |relocation| relocation.offset);
                if decided.is_err() {
                    targets.extend(inst.distance().map(|distance| destination(next, distance)));
                }
                if self.unlinked.linked
                    && let Some(computed) = tracker.step(&inst, at)
                {
                    self.computed(id, &computed, &mut plan, &mut targets);
                }
                at = next;
            }
        }
        plan.literals.sort_by_key(|literal| literal.0);
        targets.sort_unstable();
        targets.dedup();
        let functions = self.bounds.symbols(id);
        let is_function = |at: usize| {
            functions
                .get(at)
                .and_then(|(_, id)| self.module.symbols.get(id.0))
                .is_some_and(|symbol| symbol.kind == SymbolType::Function)
        };
        let (mut function, mut number, mut next) = (0, 0, 0);
        for target in targets {
            while functions.get(next).is_some_and(|(at, _)| *at <= target) {
                if is_function(next) && next != 0 {
                    (function, number) = (function + 1, 0);
                }
                next += 1;
            }
            if plan.is_start(target) {
                plan.labels.push((target, function, number));
                number += 1;
            }
        }
        plan
    }

    /// Records a computed address.
    fn computed(&self, id: SectionId, computed: &Computed, plan: &mut Plan, targets: &mut Vec<u64>) {
        let address = self.address(id, computed.anchor).wrapping_add_signed(computed.distance);
        let Some(base) = self.base(id, address) else { return };
        if let Base::Own(offset) = base {
            targets.push(offset);
        }
        for (field, part) in computed.parts.into_iter().flatten() {
            let kind = if matches!(base, Base::Got(_)) { part.table } else { part.symbol };
            // The linker counts from the position of the field.
            let addend = field.wrapping_sub(computed.anchor) as i64;
            plan.literals.push((field, base.clone(), kind, addend));
        }
    }

    fn code(&mut self, id: SectionId, piece: &Piece, plan: &Plan) -> fmt::Result {
        let module = self.module;
        let Some(section) = module.sections.get(id.0) else { return Ok(()) };
        let Contents::Bytes(bytes) = &section.contents else { return Ok(()) };
        let first = section.relocations.partition_point(|relocation| relocation.offset < piece.start);
        let mut relocations = section.relocations.get(first..).unwrap_or_default();
        let mut literals = plan
            .literals
            .get(plan.literals.partition_point(|literal| literal.0 < piece.start)..)
            .unwrap_or_default();
        let mut at = piece.start;
        while at < piece.end {
            if let Some(label) = plan.label(at) {
                writeln!(self.out, "{label}:")?;
            }
            let rest = bytes.get(at as usize..piece.end as usize).unwrap_or_default();
            let decoded = self.decode(rest);
            let size = decoded.as_ref().map_or(rest.len().min(4), Instruction::size);
            let own = rest.get(..size).unwrap_or_default();
            let next = at + size as u64;
            let count = relocations.partition_point(|relocation| relocation.offset < next);
            let (inside, behind) = relocations.split_at(count);
            relocations = behind;
            while literals.first().is_some_and(|literal| literal.0 < at) {
                literals = literals.get(1..).unwrap_or_default();
            }
            let literal = literals.first().filter(|literal| literal.0 < next);
            match decoded {
                Ok(inst) => {
                    let expression = match (inside, literal) {
                        ([], Some((place, base, kind, addend))) => {
                            let text = match base {
                                Base::Got(name) => Some(names::sum(name, kind, *addend)),
                                Base::Symbol(name, rest) => {
                                    Some(names::sum(name, kind, addend.wrapping_add(*rest)))
                                }
                                Base::Own(offset) => plan
                                    .label(*offset)
                                    .map(|label| names::sum(&label.to_string(), kind, *addend)),
                            };
                            text.map(|text| (*place, text))
                        }
                        ([only], _) => self.relocated(only).map(|text| (only.offset, text)),
                        _ => None,
                    };
                    let symbolic =
                        expression.is_some_and(|(place, text)| self.symbolic(own, &inst, place - at, &text));
                    if symbolic {
                        self.instruction(id, at, own, "")?;
                    } else {
                        self.plain_instruction(id, at, own, &inst, plan)?;
                    }
                    if !inside.is_empty() && !symbolic {
                        self.lost(inside)?;
                    }
                }
                Err(error) => {
                    self.words(id, at, own, format_args!("{error}"))?;
                    self.lost(inside)?;
                }
            }
            at = next;
        }
        Ok(())
    }

    /// The expression that produces a relocation in an instruction.
    fn relocated(&self, relocation: &Relocation) -> Option<String> {
        let kind = match relocation.kind {
            RelocationKind::Rel32Lo => "rel32@lo",
            RelocationKind::Rel32Hi => "rel32@hi",
            RelocationKind::GotPcRel32Lo => "gotpcrel32@lo",
            RelocationKind::GotPcRel32Hi => "gotpcrel32@hi",
            RelocationKind::Abs32Lo => "abs32@lo",
            RelocationKind::Abs32Hi => "abs32@hi",
            RelocationKind::GotPcRel => "gotpcrel",
            RelocationKind::Rel32 | RelocationKind::Rel16 => "",
            _ => return None,
        };
        Some(names::sum(self.names.of(relocation.symbol), kind, relocation.addend))
    }

    /// Makes the text of an instruction with an expression in its field at byte `place`. Returns
    /// false if there is no such text.
    fn symbolic(&mut self, bytes: &[u8], inst: &Instruction, place: u64, expression: &str) -> bool {
        if self.symbolic_as_it_is(bytes, inst, place, expression) {
            return true;
        }
        // A symbol with the name of a register needs quotes.
        let name = expression.find(['@', '+', '-']).map_or(expression, |end| &expression[..end]);
        let quoted = format!("\"{name}\"{}", &expression[name.len()..]);
        !name.starts_with('"') && self.symbolic_as_it_is(bytes, inst, place, &quoted)
    }

    fn symbolic_as_it_is(&mut self, bytes: &[u8], inst: &Instruction, place: u64, expression: &str) -> bool {
        let Some(mut plain) = bytes.get(..bytes.len().min(16)).map(<[u8]>::to_vec) else { return false };
        self.text.clear();
        let distance = match (place, inst.distance()) {
            (0, Some(_)) => {
                if let Some(field) = plain.get_mut(..2) {
                    field.fill(0);
                }
                let name = |out: &mut dyn Write, _: i16| out.write_str(expression).map(|()| true);
                // Writing to a String cannot fail.
                let _ = inst.print(&mut self.text, &name);
                true
            }
            (4, _) if inst.literal().is_some() => {
                let mut marked = plain.clone();
                if let (Some(field), Some(cleared)) = (marked.get_mut(4..8), plain.get_mut(4..8)) {
                    field.copy_from_slice(&PLACEHOLDER.to_le_bytes());
                    cleared.fill(0);
                }
                let Ok(marked) = self.decode(&marked) else { return false };
                let _ = marked.print(&mut self.text, &());
                let Some(found) = self.text.find(PLACEHOLDER_TEXT) else { return false };
                self.text.replace_range(found..found + PLACEHOLDER_TEXT.len(), expression);
                false
            }
            _ => return false,
        };
        let Ok(parsed) = self.parser.parse(&self.text, &NoSymbols) else { return false };
        let (mut made, size) = parsed.inst.encode();
        let Some(field) = parsed.fixup.map(|fixup| fixup.field) else { return false };
        if let Some(bytes) = made.get_mut(usize::from(field.byte)..usize::from(field.byte + field.bits / 8)) {
            bytes.fill(0);
        }
        let wanted = u64::from(field.byte) == place && field.meaning.is_distance() == distance;
        wanted && made.get(..size) == Some(&plain)
    }

    /// The bytes that the text assembles to, and how many; none if it does not assemble.
    fn encoded_text(&mut self) -> ([u8; 16], usize) {
        let parsed = self.parser.parse(&self.text, &NoSymbols).ok().filter(|parsed| parsed.fixup.is_none());
        parsed.map_or(([0; 16], 0), |parsed| parsed.inst.encode())
    }

    /// An instruction without fields for the linker.
    fn plain_instruction(
        &mut self,
        id: SectionId,
        at: u64,
        bytes: &[u8],
        inst: &Instruction,
        plan: &Plan,
    ) -> fmt::Result {
        let next = at + bytes.len() as u64;
        let target = inst.distance().map(|distance| destination(next, distance));
        if let Some(label) = target.and_then(|target| plan.label(target)) {
            let name = self.function_at(id, target.unwrap_or(0)).unwrap_or_else(|| label.to_string());
            if self.symbolic(bytes, inst, 0, &name) || self.symbolic(bytes, inst, 0, &label.to_string()) {
                return self.instruction(id, at, bytes, "");
            }
        }
        self.text.clear();
        // Writing to a String cannot fail.
        let _ = inst.print(&mut self.text, &());
        let (mut made, mut size) = self.encoded_text();
        if size == 0
            && let Some(literal) = inst.literal().map(|literal| literal as i32)
            && (i32::from(i16::MIN)..0).contains(&literal)
        {
            // A negative number in a 16-bit operand, which fills all 32 bits of the literal.
            let printed = self.text.clone();
            self.text = printed.replace(&format!("{literal:#x}"), &literal.to_string());
            (made, size) = self.encoded_text();
            if size == 0 {
                self.text = printed;
            }
        }
        if made.get(..size) == Some(bytes) {
            let remark =
                if target.is_some() { "the target is not an instruction of this section" } else { "" };
            return self.instruction(id, at, bytes, remark);
        }
        let text = std::mem::take(&mut self.text);
        let result = match size {
            0 => self.words(id, at, bytes, format_args!("`{text}`, which does not assemble")),
            _ => self.words(id, at, bytes, format_args!("`{text}`, which assembles to other bytes")),
        };
        self.text = text;
        result
    }

    /// The function that begins at an offset, if branches may use its own symbol.
    fn function_at(&self, id: SectionId, offset: u64) -> Option<String> {
        self.bounds.symbols_at(id, offset).iter().find_map(|(_, symbol)| {
            let found = self.module.symbols.get(symbol.0)?;
            (found.kind != SymbolType::Object && !super::is_preemptible(found))
                .then(|| self.names.of(*symbol).to_owned())
        })
    }

    /// Writes the line of an instruction whose text is in `text`.
    fn instruction(&mut self, id: SectionId, at: u64, bytes: &[u8], remark: &str) -> fmt::Result {
        self.written.instructions += 1;
        self.line.clear();
        self.line.push('\t');
        self.line.push_str(self.text.trim_end());
        self.comment(id, at, bytes, format_args!("{remark}"))
    }

    /// Writes words that are not an instruction, or that no text reproduces. The remark gives the
    /// reason.
    fn words(&mut self, id: SectionId, at: u64, bytes: &[u8], remark: fmt::Arguments<'_>) -> fmt::Result {
        self.written.words += 1;
        self.line.clear();
        let (words, rest) = bytes.as_chunks::<4>();
        for (index, word) in words.iter().enumerate() {
            let before = if index == 0 { "\t.long " } else { ", " };
            write!(self.line, "{before}{:#010x}", u32::from_le_bytes(*word))?;
        }
        if words.is_empty() {
            for (index, byte) in rest.iter().enumerate() {
                let before = if index == 0 { "\t.byte " } else { ", " };
                write!(self.line, "{before}{byte:#04x}")?;
            }
        }
        self.comment(id, at, bytes, remark)
    }

    /// Ends the line with the address, the words, and a remark.
    pub(super) fn comment(
        &mut self,
        id: SectionId,
        at: u64,
        bytes: &[u8],
        remark: fmt::Arguments<'_>,
    ) -> fmt::Result {
        let remark = remark.as_str().map_or_else(|| remark.to_string().into(), std::borrow::Cow::Borrowed);
        if self.options.addresses || !remark.is_empty() {
            let blanks = COMMENT_COLUMN.saturating_sub(self.line.len()).max(1);
            write!(self.line, "{:blanks$}//", "")?;
        }
        if self.options.addresses {
            let address = self.address(id, at);
            let colon = if bytes.is_empty() { "" } else { ":" };
            write!(self.line, " {address:012X}{colon}")?;
            let (words, rest) = bytes.as_chunks::<4>();
            for word in words {
                write!(self.line, " {:08X}", u32::from_le_bytes(*word))?;
            }
            for byte in rest {
                write!(self.line, " {byte:02X}")?;
            }
        }
        if !remark.is_empty() {
            write!(self.line, " {remark}")?;
        }
        self.line.push('\n');
        self.out.write_str(&self.line)
    }

    /// Writes remarks for relocations that no text expresses.
    pub(super) fn lost(&mut self, relocations: &[Relocation]) -> fmt::Result {
        for relocation in relocations {
            self.written.lost_relocations += 1;
            let sum = names::sum(self.names.of(relocation.symbol), "", relocation.addend);
            let (kind, at) = (relocation.kind, relocation.offset);
            self.remark(format_args!("{kind} to {sum} at {at:#x} is omitted: no text can express it here"))?;
        }
        Ok(())
    }
}
