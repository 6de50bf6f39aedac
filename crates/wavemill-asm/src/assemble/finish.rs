//! The end of a source: fills in what waited for symbols, and builds the module.

use std::collections::HashMap;

use wavemill_object::write::{
    Definition, Group, GroupId, Module, Relocation, Section, SectionFlags, SectionId, SectionType, Symbol,
    SymbolId, SymbolType, Visibility,
};
use wavemill_object::{Binding, RelocationKind};

use super::kernel::Kernel;
use super::linking::Reference;
use super::messages::Messages;
use super::sections::SectionGroup;
use super::symbols::{Bound, Linear, Meaning};
use super::{Assembled, Assembler, Pending, PendingKind, leb128};
use crate::abi::{self, DescriptorProblem};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::family::Meaning as FieldMeaning;
use crate::syntax::{Binary, Expression};

/// A relocation before the symbols have their final numbers.
pub(super) struct Need {
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) kind: RelocationKind,
    pub(super) symbol: usize,
    pub(super) addend: i64,
}

impl Assembler<'_> {
    pub(super) fn finish(mut self) -> Assembled {
        self.unclosed();
        self.finish_frames();
        self.finish_lines();
        self.finish_numbers();
        self.symbols.find_aliases();
        let mut needs = Vec::new();
        let mut references = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            let before = needs.len();
            let filled = match self.options.distances.lay_out() {
                true => self.fill_in(&pending, &mut needs),
                false => self.named_labels(&pending),
            };
            if let Err(fail) = filled {
                let place = self.places.place(&pending.place);
                self.report_at(&place, *fail);
            } else if let Some(need) = needs.get(before) {
                references.push(Reference {
                    section: need.section,
                    offset: need.offset,
                    place: pending.place,
                });
            }
        }
        references.sort_by_key(Reference::key);
        self.finish_sizes();
        for kernel in std::mem::take(&mut self.kernels.done) {
            self.describe(&kernel, &mut needs);
        }
        let Some(id) = self.target.id.clone() else {
            // Instructions and kernels have reported it already.
            if self.messages.reports.is_empty() {
                self.report("", *no_target(0..0));
            }
            let Messages { reports, warnings, .. } = self.messages;
            let places = self.places;
            return Assembled { module: None, reports, warnings, references, places };
        };
        let mut module = Module::new(id, self.version);
        self.put_together(&mut module, needs);
        let (reports, warnings) = self.messages.sorted();
        let places = self.places;
        Assembled { module: Some(module), reports, warnings, references, places }
    }

    /// The sizes of symbols.
    fn finish_sizes(&mut self) {
        let sizes = std::mem::take(&mut self.symbols.sizes);
        for (symbol, size, place) in sizes.into_iter().filter(|_| self.options.distances.lay_out()) {
            let place = self.places.place(&place);
            let span = place.span.clone();
            let size = self.symbols.evaluate(&size, (0, 0), &span).and_then(|value| {
                match self.symbols.number_of(&value).map(u64::try_from) {
                    Some(Ok(size)) => Ok(size),
                    Some(Err(_)) => Err(Diagnostic::new(span, "expected 0 or more, found less")),
                    None => Err(Diagnostic::new(
                        span,
                        "expected a number, or the distance between two addresses of one section",
                    )),
                }
            });
            match (size, self.symbols.all.get_mut(symbol)) {
                (Ok(size), Some(symbol)) => symbol.size = Some(size),
                (Ok(_), None) => {}
                (Err(fail), _) => self.report_at(&place, *fail),
            }
        }
    }

    /// Reports blocks without an end.
    fn unclosed(&mut self) {
        for conditional in std::mem::take(&mut self.expansion.conditionals) {
            let message = "expected `.endif` for this `.if`, found the end of the file";
            let span = conditional.place.span.clone();
            self.report_at(&conditional.place, *Diagnostic::new(span, message));
        }
        // A kernel with foreign lines has been reported already.
        if let Some(kernel) = self.kernels.open.take().filter(|kernel| !kernel.strayed) {
            let end = kernel.abi.directives().end_kernel;
            let message = format!("expected `{end}`, found the end of the file");
            self.report_at(&kernel.place, *Diagnostic::new(kernel.place.span.clone(), message));
        }
        if let Some(metadata) = self.kernels.metadata.take() {
            let message = format!("expected `{}`, found the end of the file", metadata.end());
            self.report_at(&metadata.place, *Diagnostic::new(0..0, message));
        }
    }

    pub(super) fn bytes_at(&mut self, section: usize, offset: u64, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(offset).ok()?;
        self.sections.all.get_mut(section)?.bytes.get_mut(start..start.checked_add(length)?)
    }

    fn patch(&mut self, pending: &Pending, offset: u64, bytes: &[u8]) {
        if let Some(field) = self.bytes_at(pending.section, offset, bytes.len()) {
            field.copy_from_slice(bytes);
        }
    }

    /// Fails if a statement uses `1f` or `1b` without a label for it. Without a layout no other
    /// error is possible.
    fn named_labels(&mut self, pending: &Pending) -> Result<(), Fail> {
        let span = pending.place.span.clone();
        let here = (pending.section, pending.offset);
        let value = self.symbols.evaluate_bound(&pending.expression, here, &span);
        match value.ok().and_then(|value| self.symbols.missing_label(&value)) {
            Some(message) => Err(Diagnostic::new(span, message)),
            None => Ok(()),
        }
    }

    fn fill_in(&mut self, pending: &Pending, needs: &mut Vec<Need>) -> Result<(), Fail> {
        let span = pending.place.span.clone();
        // `.` in an operand is the address of the instruction.
        let here = (pending.section, pending.offset);
        let value = self.symbols.evaluate_bound(&pending.expression, here, &span)?;
        if let Some(message) = self.symbols.missing_label(&value) {
            return Err(Diagnostic::new(span, message));
        }
        let field = match pending.kind {
            PendingKind::Data(size) => return self.data(pending, &value, pending.offset, size, false, needs),
            PendingKind::Instruction(field) => field,
        };
        match field.meaning {
            FieldMeaning::Distance { unit, bias } => self.distance(pending, &value, field, unit, bias, needs),
            FieldMeaning::Number => match self.symbols.number_of(&value) {
                Some(number) if (-(1 << (field.bits - 1))..1 << field.bits).contains(&number) => {
                    self.patch_bits(pending, field, number);
                    Ok(())
                }
                Some(number) => {
                    let bits = field.bits;
                    Err(Diagnostic::new(span, format!("expected a {bits}-bit number, found {number}")))
                }
                None => Err(Diagnostic::new(span, "expected a number, found the address of a label")),
            },
            FieldMeaning::Data => {
                let relative = match &pending.expression {
                    Bound::Symbol(_) | Bound::Name(_) => true,
                    Bound::Expression(expression) => is_relative(expression),
                };
                let offset = pending.offset + u64::from(field.byte);
                self.data(pending, &value, offset, field.bits / 8, relative, needs)
            }
        }
    }

    /// Fills in a field of `size` bytes at `offset`. `relative`: a plain symbol is a distance from
    /// the field.
    fn data(
        &mut self,
        pending: &Pending,
        value: &Linear,
        offset: u64,
        size: u8,
        relative: bool,
        needs: &mut Vec<Need>,
    ) -> Result<(), Fail> {
        let span = pending.place.span.clone();
        let zeros = self.sections.all.get(pending.section).is_some_and(|section| section.zeros);
        if zeros && self.symbols.number_of(value) != Some(0) {
            return Err(Diagnostic::new(span, "the section accepts only zeros"));
        }
        if let Some(number) = self.symbols.number_of(value) {
            let bits = 8 * u32::from(size);
            if bits < 64 && !(-(1i64 << (bits - 1))..1i64 << bits).contains(&number) {
                return Err(super::data::does_not_fit(span, number, bits));
            }
            let bytes = number.to_le_bytes();
            self.patch(pending, offset, bytes.get(..usize::from(size)).unwrap_or_default());
            return Ok(());
        }
        let wrong = |message: &str| Err(Diagnostic::new(span.clone(), message));
        let Some(plus) = &value.plus else { return wrong("an address cannot be subtracted from a number") };
        let mut addend = value.constant;
        let mut distance = relative;
        if let Some(minus) = &value.minus {
            // Relative to an address of this section, so relative to the field with an addend.
            match self.symbols.place(minus.symbol) {
                Some((section, from)) if section == pending.section => {
                    addend = addend.wrapping_add(offset as i64).wrapping_sub(from as i64);
                    distance = true;
                }
                _ => {
                    return wrong("the distance between these addresses is not known before they are linked");
                }
            }
        }
        let kind = match (plus.relocation.as_deref(), size, distance) {
            (Some("rel32@lo"), 4, _) => RelocationKind::Rel32Lo,
            (Some("rel32@hi"), 4, _) => RelocationKind::Rel32Hi,
            (Some("gotpcrel32@lo"), 4, _) => RelocationKind::GotPcRel32Lo,
            (Some("gotpcrel32@hi"), 4, _) => RelocationKind::GotPcRel32Hi,
            (Some("abs32@lo"), 4, _) => RelocationKind::Abs32Lo,
            (Some("abs32@hi"), 4, _) => RelocationKind::Abs32Hi,
            (Some("gotpcrel"), 4, _) => RelocationKind::GotPcRel,
            (Some("rel64"), 8, _) => RelocationKind::Rel64,
            (Some("abs64"), 8, false) => RelocationKind::Abs64,
            (None, 4, true) => RelocationKind::Rel32,
            (None, 8, true) => RelocationKind::Rel64,
            (None, 4, false) => RelocationKind::Abs32,
            (None, 8, false) => RelocationKind::Abs64,
            (Some(name), ..) => {
                let fail = Diagnostic::new(span, format!("`@{name}` is not a relocation of {size} bytes"));
                return Err(fail.note(
                    "relocations are rel32@lo, rel32@hi, abs32@lo, abs32@hi, gotpcrel32@lo, gotpcrel32@hi, gotpcrel, rel64 and abs64",
                ));
            }
            (None, ..) => return wrong("an address needs 32 or 64 bits"),
        };
        // The distance to a symbol that no other file can replace is known.
        if kind == RelocationKind::Rel32
            && self.symbols.all.get(plus.symbol).is_some_and(super::symbols::Symbol::is_local)
            && let Some((section, place)) = self.symbols.place(plus.symbol)
            && section == pending.section
        {
            let distance = (place as i64).wrapping_add(addend).wrapping_sub(offset as i64);
            let Ok(distance) = i32::try_from(distance) else {
                return wrong("the address is too far away for a 32-bit distance");
            };
            self.patch(pending, offset, &distance.to_le_bytes());
            return Ok(());
        }
        needs.push(Need { section: pending.section, offset, kind, symbol: plus.symbol, addend });
        Ok(())
    }

    /// The bytes of a kernel descriptor.
    fn describe(&mut self, kernel: &Kernel, needs: &mut Vec<Need>) {
        let Some(id) = self.target.id.clone() else { return };
        let abi = kernel.abi;
        let mut descriptor = match abi.describe(&id) {
            Ok(descriptor) => descriptor,
            Err(message) => {
                let fail = Diagnostic::new(kernel.place.span.clone(), message);
                return self.report_at(&kernel.place, *fail);
            }
        };
        // An invalid directive is reported once. It does not count as missing too.
        let mut tried = kernel.tried.clone();
        for (name, value, place) in &kernel.settings {
            let span = place.span.clone();
            let value = self.symbols.evaluate(value, (kernel.section, kernel.offset), &span);
            let result = value.and_then(|value| match self.symbols.number_of(&value) {
                Some(number) => {
                    descriptor.set(name, number).map_err(|message| Diagnostic::new(span, message))
                }
                None => {
                    let written = place.text.get(span.clone()).unwrap_or_default();
                    let message = format!("expected a number, found `{written}`, which has no value");
                    Err(Diagnostic::new(span, message))
                }
            });
            if let Err(fail) = result {
                tried.extend(abi.setting(name));
                self.report_at(place, *fail);
            }
        }
        match descriptor.finish() {
            Ok(bytes) => {
                if let Some(field) = self.bytes_at(kernel.section, kernel.offset, bytes.len()) {
                    field.copy_from_slice(&bytes);
                }
            }
            Err(problems) => {
                let reported = |problem: &DescriptorProblem| {
                    problem.missing.is_some_and(|name| kernel.strayed || tried.contains(&name))
                };
                for problem in problems.into_iter().filter(|problem| !reported(problem)) {
                    let fail = Diagnostic::new(kernel.place.span.clone(), problem.message);
                    self.report_at(&kernel.place, *fail);
                }
            }
        }
        let code = self.symbols.id(&kernel.name);
        // The distance from the descriptor to the code is fixed, so other code must not replace it.
        let (binding, visibility) = (self.symbols.all[code].binding, self.symbols.all[code].visibility);
        self.symbols.all[code].visibility = visibility.or(Some(Visibility::Protected));
        let name = abi.descriptor_symbol(&kernel.name);
        let descriptor = self.symbols.entry(&name);
        if descriptor.meaning.is_some() {
            let message = format!("`{name}`, the symbol of this descriptor, is defined a second time");
            return self.report_at(&kernel.place, *Diagnostic::new(kernel.place.span.clone(), message));
        }
        descriptor.meaning = Some(Meaning::Label { section: kernel.section, offset: kernel.offset });
        descriptor.kind = Some(SymbolType::Object);
        descriptor.size = Some(abi.descriptor_size());
        descriptor.binding = descriptor.binding.or(binding);
        descriptor.visibility = descriptor.visibility.or(visibility);
        descriptor.used = true;
        let field = abi.code_field();
        needs.push(Need {
            section: kernel.section,
            offset: kernel.offset + field.offset,
            kind: field.kind,
            symbol: code,
            addend: field.addend,
        });
    }

    /// Sections, symbols and relocations of the module.
    fn put_together(&mut self, module: &mut Module, needs: Vec<Need>) {
        let mut groups: Vec<(SectionGroup, Vec<usize>)> = Vec::new();
        for (index, section) in std::mem::take(&mut self.sections.all).into_iter().enumerate() {
            if let Some(group) = &section.group {
                match groups.iter_mut().find(|(known, _)| known.name == group.name) {
                    Some((_, members)) => members.push(index),
                    None => groups.push((group.clone(), vec![index])),
                }
            }
            module.add_section(section.finish());
        }
        // The name of a section means its start, unless a symbol has the name.
        for symbol in &mut self.symbols.all {
            if symbol.meaning.is_none()
                && !symbol.used
                && let Some(&section) = self.sections.by_name.get(&*symbol.name).and_then(|all| all.first())
            {
                symbol.meaning = Some(Meaning::Label { section, offset: 0 });
                symbol.is_section = true;
            }
        }
        let mut needed = vec![false; self.symbols.all.len()];
        for need in &needs {
            if self.section_stands_for(module, need).is_none()
                && let Some(flag) = needed.get_mut(need.symbol)
            {
                *flag = true;
            }
        }
        for name in std::mem::take(&mut self.debug.lines.names) {
            module.add_symbol(Symbol {
                name,
                definition: Definition::Absolute(0),
                size: 0,
                kind: SymbolType::File,
                binding: Binding::Local,
                visibility: Visibility::Default,
            });
        }
        // Maps each symbol of the source to its symbol of the module.
        let mut numbers: Vec<Option<SymbolId>> = Vec::with_capacity(self.symbols.all.len());
        for index in 0..self.symbols.all.len() {
            let symbol = self.symbol(index, needed.get(index).copied().unwrap_or(false));
            numbers.push(symbol.map(|symbol| module.add_symbol(symbol)));
        }
        let mut section_symbols: HashMap<usize, SymbolId> = HashMap::new();
        for need in needs {
            let (symbol, addend) =
                match (self.section_stands_for(module, &need), number(&numbers, need.symbol)) {
                    (None, Some(symbol)) => (symbol, need.addend),
                    (Some((section, offset)), _) => {
                        let symbol = *section_symbols.entry(section).or_insert_with(|| {
                            let mut symbol = Symbol::in_section("", SectionId(section), 0);
                            symbol.kind = SymbolType::Section;
                            module.add_symbol(symbol)
                        });
                        (symbol, need.addend.wrapping_add(offset as i64))
                    }
                    (None, None) => continue,
                };
            let relocation = Relocation { offset: need.offset, kind: need.kind, symbol, addend };
            if let Some(section) = module.sections.get_mut(need.section) {
                section.relocations.push(relocation);
            }
        }
        for section in &mut module.sections {
            section.relocations.sort_by_key(|relocation| relocation.offset);
        }
        for (SectionGroup { name, comdat }, members) in groups {
            let index = self.symbols.id(&name);
            if numbers.len() <= index {
                numbers.resize(index + 1, None);
            }
            let signature = *numbers[index].get_or_insert_with(|| {
                module.add_symbol(Symbol { binding: Binding::Local, ..Symbol::undefined(name) })
            });
            module.groups.push(Group { signature, comdat });
            let group = GroupId(module.groups.len() - 1);
            for member in members {
                if let Some(section) = module.sections.get_mut(member) {
                    section.group = Some(group);
                }
            }
        }
        if let Some(note) = self.kernels.metadata_note.take()
            && let Err(message) = note.abi.add_metadata(module, &note.bytes)
        {
            self.report("", *Diagnostic::new(0..0, message));
        }
        self.address_table(module, &numbers);
        // This comes last, because symbols are looked up by name until here.
        for (symbol, number) in self.symbols.all.iter_mut().zip(numbers) {
            if let Some(named) = number.and_then(|id| module.symbols.get_mut(id.0)) {
                named.name = std::mem::take(&mut symbol.name).into_string();
            }
        }
    }

    /// The table of symbols whose addresses matter (`.addrsig`): their numbers in the file.
    fn address_table(&mut self, module: &mut Module, numbers: &[Option<SymbolId>]) {
        let Some(names) = self.symbols.address_significant.take() else { return };
        let indices = module.symbol_indices();
        let mut bytes = Vec::new();
        for name in names {
            // Symbols that are not in the file have no address to record.
            let id = number(numbers, self.symbols.id(&name));
            if let Some(&index) = id.and_then(|id| indices.get(id.0)) {
                leb128::unsigned(&mut bytes, index.into());
            }
        }
        let mut table = Section::new(".llvm_addrsig", SectionFlags::EXCLUDE, 1, bytes);
        table.kind = SectionType::ADDRESS_SIGNIFICANCE;
        module.add_section(table);
    }

    /// The section and offset that a relocation refers to, if it can use the section's symbol
    /// instead of its own. It can for local symbols, unless the section is merged, which moves its
    /// parts.
    fn section_stands_for(&self, module: &Module, need: &Need) -> Option<(usize, u64)> {
        let symbol = self.symbols.all.get(need.symbol)?;
        let local = symbol.is_local();
        let (section, offset) = self.symbols.place(need.symbol)?;
        let merged = module.sections.get(section)?.flags.has(SectionFlags::MERGE)
            && need.addend != 0
            && !symbol.is_section;
        (local && !merged).then_some((section, offset))
    }

    /// The symbol of the file, still without a name, if the file needs it.
    fn symbol(&mut self, index: usize, needed: bool) -> Option<Symbol> {
        let here = (0, 0);
        let symbol = self.symbols.all.get(index)?;
        let used = symbol.used;
        let (definition, default_binding) = match symbol.meaning.clone() {
            Some(Meaning::Label { section, offset }) => {
                (Definition::Section { section: SectionId(section), offset }, Binding::Local)
            }
            Some(Meaning::Set(value)) => {
                let value = self.symbols.evaluate(&value, here, &(0..0)).ok()?;
                match (self.symbols.number_of(&value), &value.plus, &value.minus) {
                    (Some(number), ..) => (Definition::Absolute(number as u64), Binding::Local),
                    (None, Some(reference), None) => {
                        let (section, offset) = self.symbols.place(reference.symbol)?;
                        let offset = offset.wrapping_add(value.constant as u64);
                        (Definition::Section { section: SectionId(section), offset }, Binding::Local)
                    }
                    _ => return None,
                }
            }
            Some(Meaning::Common { align, .. }) => (Definition::Common { align }, Binding::Global),
            Some(Meaning::LocalMemory { align, .. }) => (Definition::LocalMemory { align }, Binding::Global),
            None if needed || used => (Definition::Undefined, Binding::Global),
            None => return None,
        };
        let symbol = self.symbols.all.get(index)?;
        if symbol.replaced && !needed {
            return None;
        }
        let local_name = symbol.name.starts_with(".L");
        let family = self.target.set.family();
        let own = (family.register_counters().iter().zip(self.kernels.own_next_free))
            .any(|(name, own)| own && *symbol.name == **name);
        let predefined = family.is_predefined(&symbol.name) && !own;
        let undefined = definition == Definition::Undefined;
        if (local_name && !needed || predefined || symbol.is_section) && !undefined
            || undefined && !needed && !used
        {
            return None;
        }
        let symbol = self.symbols.all.get(index)?;
        Some(Symbol {
            name: String::new(),
            definition,
            size: symbol.size.unwrap_or(0),
            kind: symbol.kind.unwrap_or(SymbolType::None),
            binding: symbol.binding.unwrap_or(default_binding),
            visibility: symbol.visibility.unwrap_or(Visibility::Default),
        })
    }
}

/// The symbol of the module for a symbol of the source.
fn number(numbers: &[Option<SymbolId>], symbol: usize) -> Option<SymbolId> {
    numbers.get(symbol).copied().flatten()
}

/// The error if the source has no target.
pub(super) fn no_target(span: Span) -> Fail {
    let [abi, ..] = abi::ALL;
    let (directive, example) = (abi.directives().target, abi.example_target());
    Diagnostic::new(span, "the target is missing").note(format!(
        "add `{directive} \"{example}\"` before this line, or name the target on the command line"
    ))
}

/// Whether LLVM makes a plain symbol in a literal a distance from the literal. It does, except in
/// differences and where the text requests an address.
fn is_relative(expression: &Expression) -> bool {
    match expression {
        Expression::Symbol { relocation, .. } => {
            !matches!(relocation.as_deref(), Some("abs32@lo" | "abs32@hi"))
        }
        Expression::Unary(_, inner) => is_relative(inner),
        Expression::Binary(Binary::Subtract, _) => false,
        Expression::Binary(_, pair) => is_relative(&pair.0) || is_relative(&pair.1),
        Expression::Here => true,
        Expression::Value(_) | Expression::Call(..) => false,
    }
}
