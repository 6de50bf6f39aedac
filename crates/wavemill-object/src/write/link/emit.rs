//! Writes the bytes of the linked file.

use std::collections::HashMap;

use object::elf::{self, DynamicTag};
use object::write::elf::{FileHeaderLayout, SectionHeader, Sym};

use super::combine::{Output, Role, Source};
use super::dynamic::DynamicSymbols;
use super::layout::Layout;
use super::problems::Problems;
use super::scan::{Action, DynamicPlace, Scan, action, display_name};
use super::{LinkError, LinkOptions, LinkProblem};
use crate::elf::{Binding, RelocationKind};
use crate::write::module::{
    Contents, Definition, Module, Relocation, SectionFlags, SectionId, SymbolId, SymbolType, Visibility,
};
use crate::write::relocatable::{rel, symbol_info, symbol_other};
use crate::write::strings::StringTable;
use crate::write::{WriteError, encoder, file_header};

/// The value of an entry of `.dynamic`.
#[derive(Debug, Clone, Copy)]
pub(super) enum DynamicValue {
    Number(u64),
    Address(usize),
    Size(usize),
}

/// The entries of `.dynamic`, the empty one at the end included.
pub(super) fn dynamic_entries(outputs: &[Output], scan: &Scan) -> Vec<(DynamicTag, DynamicValue)> {
    use DynamicValue::{Address, Number, Size};
    let find = |role| outputs.iter().position(|output| output.role == role);
    let mut out = Vec::new();
    if scan.symbolic {
        out.push((elf::DT_FLAGS, Number(elf::DF_SYMBOLIC.0)));
    }
    if let Some(table) = find(Role::RelaDyn) {
        out.push((elf::DT_RELA, Address(table)));
        out.push((elf::DT_RELASZ, Size(table)));
        out.push((elf::DT_RELAENT, Number(encoder().rel_size(true))));
        let relative = scan.dynamic.iter().filter(|relocation| relocation.relative).count() as u64;
        if relative != 0 {
            out.push((elf::DT_RELACOUNT, Number(relative)));
        }
    }
    if let (Some(symbols), Some(names)) = (find(Role::DynSym), find(Role::DynStr)) {
        out.push((elf::DT_SYMTAB, Address(symbols)));
        out.push((elf::DT_SYMENT, Number(encoder().sym_size())));
        out.push((elf::DT_STRTAB, Address(names)));
        out.push((elf::DT_STRSZ, Size(names)));
    }
    out.extend(find(Role::GnuHash).map(|table| (elf::DT_GNU_HASH, Address(table))));
    out.extend(find(Role::Hash).map(|table| (elf::DT_HASH, Address(table))));
    for (name, start, size) in [
        (".preinit_array", elf::DT_PREINIT_ARRAY, elf::DT_PREINIT_ARRAYSZ),
        (".init_array", elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ),
        (".fini_array", elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ),
    ] {
        if let Some(section) = outputs.iter().position(|output| output.name == name) {
            out.push((start, Address(section)));
            out.push((size, Size(section)));
        }
    }
    out.push((elf::DT_NULL, Number(0)));
    out
}

struct Emitter<'a> {
    module: &'a Module,
    layout: Layout,
    scan: &'a Scan,
    dynamic: &'a DynamicSymbols,
    /// The file up to the last section that was laid out.
    file: Vec<u8>,
    problems: Problems,
}

/// Writes the file.
pub(super) fn emit(
    module: &Module,
    layout: Layout,
    scan: &Scan,
    dynamic: &DynamicSymbols,
) -> Result<Vec<u8>, LinkError> {
    let end =
        usize::try_from(layout.end).map_err(|_| WriteError::TooLarge { what: "the file".to_owned() })?;
    let mut emitter =
        Emitter { module, layout, scan, dynamic, file: vec![0; end], problems: Problems::new() };
    for index in 0..emitter.layout.combined.outputs.len() {
        emitter.contents(index);
    }
    for index in 0..module.sections.len() {
        emitter.relocate(SectionId(index));
    }
    std::mem::replace(&mut emitter.problems, Problems::new()).finish(module)?;
    emitter.finish()
}

impl Emitter<'_> {
    fn output(&self, index: usize) -> &Output {
        &self.layout.combined.outputs[index]
    }

    /// Copies `bytes` to `offset` of the file; both are inside a section that has been laid out.
    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let range = usize::try_from(offset).ok().and_then(|at| Some(at..at.checked_add(bytes.len())?));
        if let Some(place) = range.and_then(|range| self.file.get_mut(range)) {
            place.copy_from_slice(bytes);
        }
    }

    /// Fills in the contents of a section.
    fn contents(&mut self, index: usize) {
        let output = self.output(index);
        let (start, role) = (output.offset, output.role);
        let bytes = match role {
            Role::Input => {
                if output.kind != elf::SHT_NOBITS {
                    self.chunks(index);
                }
                return;
            }
            Role::DynSym => self.dynamic_symbols(),
            Role::GnuHash => self.dynamic.gnu_hash.clone(),
            Role::Hash => self.dynamic.hash.clone(),
            Role::DynStr => self.dynamic.names.clone(),
            Role::RelaDyn => self.dynamic_relocations(),
            Role::Dynamic => self.dynamic_section(),
            Role::Got => self.got(),
            Role::RelroPadding => return,
        };
        self.put(start, &bytes);
    }

    fn chunks(&mut self, index: usize) {
        let start = self.output(index).offset;
        let chunks = std::mem::take(&mut self.layout.combined.outputs[index].chunks);
        for chunk in &chunks {
            match &chunk.source {
                Source::Section(id) => {
                    if let Contents::Bytes(bytes) = &self.module.sections[id.0].contents {
                        self.put(start + chunk.offset, bytes);
                    }
                }
                Source::Merged(bytes) => self.put(start + chunk.offset, bytes),
                Source::Common(_) => {}
            }
        }
        self.layout.combined.outputs[index].chunks = chunks;
    }

    /// The address of a symbol, or the value of an absolute one; 0 for an undefined one. `addend`
    /// matters for the symbols of mergeable sections.
    fn address(&self, id: SymbolId, addend: i64) -> Result<u64, LinkProblem> {
        if let Some(bound) = self.scan.defined.get(&id) {
            return Ok(bound.output.map_or(0, |index| {
                let output = self.output(index);
                output.address + if bound.at_end { output.size } else { 0 }
            }));
        }
        match self.layout.combined.symbol(self.module, id, addend) {
            Some(place) => place.map(|(output, offset)| self.output(output).address.wrapping_add(offset)),
            None => Ok(match self.module.symbols[id.0].definition {
                Definition::Absolute(value) => value,
                _ => 0,
            }),
        }
    }

    /// The section of a symbol in the linked file, as the symbol's entry names it.
    fn section_of(&self, id: SymbolId) -> elf::SymbolSection {
        let place = match self.scan.defined.get(&id) {
            Some(bound) => bound.output,
            None => {
                self.layout.combined.symbol(self.module, id, 0).and_then(Result::ok).map(|(output, _)| output)
            }
        };
        match (place, self.module.symbols[id.0].definition) {
            (Some(output), _) => elf::SymbolSection::new(self.layout.file_index(output)),
            (None, Definition::Undefined) if !self.scan.defined.contains_key(&id) => elf::SHN_UNDEF,
            (None, _) => elf::SHN_ABS,
        }
    }

    /// A symbol's entry in a symbol table.
    fn entry(&self, id: SymbolId, st_name: u32) -> Sym {
        let symbol = &self.module.symbols[id.0];
        let is_bound = self.scan.defined.contains_key(&id);
        let visibility = if is_bound { Visibility::Hidden } else { symbol.visibility };
        let binding = if is_hidden(visibility) { Binding::Local } else { symbol.binding };
        Sym {
            section: None,
            st_name,
            st_info: symbol_info(binding, symbol.kind),
            st_other: symbol_other(visibility),
            st_shndx: self.section_of(id),
            st_value: self.address(id, 0).unwrap_or(0),
            st_size: symbol.size,
        }
    }

    fn dynamic_symbols(&self) -> Vec<u8> {
        let mut out = Vec::new();
        encoder().null_symbol(&mut out);
        for symbol in &self.dynamic.symbols {
            encoder().symbol(&mut out, &self.entry(symbol.id, symbol.name));
        }
        out
    }

    fn dynamic_section(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (tag, value) in dynamic_entries(&self.layout.combined.outputs, self.scan) {
            let value = match value {
                DynamicValue::Number(number) => number,
                DynamicValue::Address(section) => self.output(section).address,
                DynamicValue::Size(section) => self.output(section).size,
            };
            // This fails only for numbers that do not fit into 32 bits, in a 32-bit file.
            let _ = encoder().dynamic(&mut out, tag, value);
        }
        out
    }

    /// The relocations for the loader: first those relative to the load address, by address; then
    /// the rest, by symbol.
    fn dynamic_relocations(&mut self) -> Vec<u8> {
        let indices: HashMap<_, _> =
            self.dynamic.symbols.iter().zip(1_u32..).map(|(symbol, index)| (symbol.id, index)).collect();
        let mut entries = Vec::new();
        for relocation in &self.scan.dynamic {
            let place = match relocation.place {
                DynamicPlace::Section(section, offset) => self.section_address(section, offset),
                DynamicPlace::Got(index) => self.got_address(index),
            };
            if relocation.relative {
                match self.address(relocation.symbol, relocation.addend) {
                    Ok(address) => {
                        let value = address.wrapping_add_signed(relocation.addend) as i64;
                        entries.push((false, 0, place, RelocationKind::Relative64, value));
                    }
                    Err(problem) => self.problems.push(problem),
                }
            } else {
                let index = indices.get(&relocation.symbol).copied().unwrap_or(0);
                entries.push((true, index, place, RelocationKind::Abs64, relocation.addend));
            }
        }
        entries.sort_by_key(|&(looks_up, index, place, ..)| (looks_up, index, place));
        let mut out = Vec::new();
        for (_, index, place, kind, addend) in entries {
            encoder().relocation(&mut out, true, &rel(place, index, kind, addend));
        }
        out
    }

    /// The global offset table before loading. The loader fills in all addresses, so only numbers
    /// remain.
    fn got(&self) -> Vec<u8> {
        let value = |id: &SymbolId| match self.module.symbols[id.0].definition {
            Definition::Absolute(value) if !super::scan::is_preemptible(self.module, self.scan, *id) => value,
            _ => 0,
        };
        self.scan.got.iter().flat_map(|id| value(id).to_le_bytes()).collect()
    }

    fn got_address(&self, index: usize) -> u64 {
        let table = self.layout.role(Role::Got).map_or(0, |table| self.output(table).address);
        table + index as u64 * 8
    }

    /// The start of a section of the module: its output section and the offset.
    fn section_start(&self, section: SectionId) -> Option<(&Output, u64)> {
        match self.layout.combined.spots.get(section.0)? {
            super::combine::Spot::Whole { output, offset } => Some((self.output(*output), *offset)),
            _ => None,
        }
    }

    fn section_address(&self, section: SectionId, offset: u64) -> u64 {
        self.section_start(section).map_or(0, |(output, start)| output.address.wrapping_add(start + offset))
    }

    /// Fills in the words of a section of the module, except those left to the loader.
    fn relocate(&mut self, section: SectionId) {
        let Some((output, start)) = self.section_start(section) else { return };
        let (address, file_offset) = (output.address + start, output.offset + start);
        let loaded = output.is_loaded();
        let input = &self.module.sections[section.0];
        for relocation in &input.relocations {
            let place = || self.module.place(section, relocation.offset);
            let options = LinkOptions::default();
            let target = match action(self.module, self.scan, relocation, input.flags, &options, place) {
                Ok(Action::Value) => self.address(relocation.symbol, relocation.addend),
                Ok(Action::Got) => Ok(self
                    .scan
                    .got_index
                    .get(&relocation.symbol)
                    .map_or(0, |&index| self.got_address(index))),
                Ok(Action::Relative | Action::Symbol) => continue,
                // The scan admits only weak and kept symbols here.
                Err(None) => continue,
                Err(Some(problem)) => Err(problem),
            };
            let value = target.and_then(|target| {
                let place = if loaded { address + relocation.offset } else { relocation.offset };
                self.value(section, relocation, target, place)
            });
            match value {
                Ok(value) => {
                    let width = relocation.kind.width().min(8);
                    self.put(file_offset + relocation.offset, &value.to_le_bytes()[..width]);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// The value of a word, if it fits.
    fn value(
        &self,
        section: SectionId,
        relocation: &Relocation,
        target: u64,
        place: u64,
    ) -> Result<u64, LinkProblem> {
        use RelocationKind::{Abs32, GotPcRel, Rel16, Rel32};
        let kind = relocation.kind;
        let describe = || {
            let place = self.module.place(section, relocation.offset);
            (kind.to_string(), place, display_name(self.module, relocation.symbol))
        };
        let Some(value) = kind.link_value(target, relocation.addend, place) else {
            let (kind, place, symbol) = describe();
            return Err(LinkProblem::Unsupported { kind, place, symbol });
        };
        let absolute = target.wrapping_add_signed(relocation.addend);
        let distance = absolute.wrapping_sub(place) as i64;
        let (whole, fits, range) = match kind {
            Rel16 => (
                distance,
                distance % 4 == 0 && i16::try_from(value as i64).is_ok(),
                "a multiple of 4 from -131068 to 131072",
            ),
            Rel32 | GotPcRel => (distance, i32::try_from(distance).is_ok(), "a signed 32-bit number"),
            Abs32 => (
                absolute as i64,
                u32::try_from(absolute).is_ok() || i32::try_from(absolute as i64).is_ok(),
                "a 32-bit number",
            ),
            _ => return Ok(value),
        };
        if fits {
            return Ok(value);
        }
        let (kind, place, symbol) = describe();
        Err(LinkProblem::OutOfRange { kind, place, symbol, value: whole, range })
    }

    /// The full symbol table with its names, and the number of local symbols, including the empty
    /// one.
    fn symbol_table(&self) -> (Vec<u8>, StringTable, u32) {
        let mut names = StringTable::new();
        let mut table = Vec::new();
        encoder().null_symbol(&mut table);
        let is_listed = |id: &SymbolId| {
            !is_left_out(self.module, *id) && !self.layout.combined.is_dropped(self.module, *id)
        };
        let all = || (0..self.module.symbols.len()).map(SymbolId).filter(is_listed);
        let binding = |id: &SymbolId| self.module.symbols[id.0].binding;
        let becomes_local = |id: &SymbolId| {
            binding(id) != Binding::Local
                && (is_hidden(self.module.symbols[id.0].visibility) || self.scan.defined.contains_key(id))
        };
        let local = all().filter(|id| binding(id) == Binding::Local).chain(all().filter(becomes_local));
        let mut locals = 1;
        for id in local {
            let name = names.add(&self.module.symbols[id.0].name);
            encoder().symbol(&mut table, &self.entry(id, name));
            locals += 1;
        }
        if let Some(dynamic) = self.layout.role(Role::Dynamic) {
            let st_name = names.add("_DYNAMIC");
            let symbol = Sym {
                section: None,
                st_name,
                st_info: symbol_info(Binding::Local, SymbolType::None),
                st_other: symbol_other(Visibility::Hidden),
                st_shndx: elf::SymbolSection::new(self.layout.file_index(dynamic)),
                st_value: self.output(dynamic).address,
                st_size: 0,
            };
            encoder().symbol(&mut table, &symbol);
            locals += 1;
        }
        for id in all().filter(|id| binding(id) != Binding::Local && !becomes_local(id)) {
            let name = names.add(&self.module.symbols[id.0].name);
            encoder().symbol(&mut table, &self.entry(id, name));
        }
        (table, names, locals)
    }

    /// Appends the tables at the end, and writes the headers at the start.
    fn finish(mut self) -> Result<Vec<u8>, LinkError> {
        let (symbols, names, locals) = self.symbol_table();
        let mut section_names = StringTable::new();
        let mut headers: Vec<SectionHeader> =
            self.layout.order.iter().map(|&index| self.header(index, &mut section_names)).collect();
        let strtab = headers.len() as u32 + 3;
        let mut tail = Vec::new();
        for (name, header) in [
            (".symtab", encoder().symtab_section_header(strtab, locals)),
            (".shstrtab", encoder().strtab_section_header()),
            (".strtab", encoder().strtab_section_header()),
        ] {
            tail.push(SectionHeader { sh_name: section_names.add(name), ..header });
        }
        for (mut header, bytes) in tail.into_iter().zip([&symbols[..], section_names.bytes(), names.bytes()])
        {
            self.file.resize(self.file.len().next_multiple_of(header.sh_addralign as usize), 0);
            header.sh_offset = self.file.len() as u64;
            header.sh_size = bytes.len() as u64;
            self.file.extend_from_slice(bytes);
            headers.push(header);
        }
        self.file.resize(self.file.len().next_multiple_of(8), 0);
        let layout = FileHeaderLayout {
            e_phoff: encoder().file_header_size(),
            segment_num: self.layout.segments.len() as u32,
            e_shoff: self.file.len() as u64,
            section_num: headers.len() as u32 + 1,
            shstrtab_index: strtab - 1,
        };
        encoder().null_section_header(&mut self.file, &layout);
        for header in &headers {
            encoder().section_header(&mut self.file, header);
        }
        let mut start = file_header(self.module, elf::ET_DYN, &layout)?;
        for segment in &self.layout.segments {
            encoder().program_header(&mut start, segment);
        }
        self.put(0, &start);
        Ok(self.file)
    }

    fn header(&self, index: usize, names: &mut StringTable) -> SectionHeader {
        let output = self.output(index);
        let link = |role| self.layout.role(role).map_or(0, |section| self.layout.file_index(section));
        let (sh_link, sh_info) = match output.role {
            Role::DynSym => (link(Role::DynStr), 1),
            Role::GnuHash | Role::Hash | Role::RelaDyn => (link(Role::DynSym), 0),
            Role::Dynamic => (link(Role::DynStr), 0),
            _ => (0, 0),
        };
        SectionHeader {
            sh_name: names.add(&output.name),
            sh_type: output.kind,
            sh_flags: elf::SectionFlags(output.flags.0),
            sh_addr: output.address,
            sh_offset: output.offset,
            sh_size: output.size,
            sh_link,
            sh_info,
            sh_addralign: output.align,
            sh_entsize: output.entry_size,
        }
    }
}

/// Whether the full symbol table omits a symbol: section symbols, and labels of entries that may be
/// merged.
fn is_left_out(module: &Module, id: SymbolId) -> bool {
    let symbol = &module.symbols[id.0];
    let is_label = symbol.binding == Binding::Local && symbol.name.starts_with(".L");
    let in_merged = || match symbol.definition {
        Definition::Section { section, .. } => {
            module.sections.get(section.0).is_some_and(|section| section.flags.has(SectionFlags::MERGE))
        }
        _ => false,
    };
    // It only names a group.
    let nowhere = symbol.binding == Binding::Local && symbol.definition == Definition::Undefined;
    symbol.kind == SymbolType::Section || nowhere || (is_label && in_merged())
}

/// Whether symbols with this visibility are local in the linked file.
fn is_hidden(visibility: Visibility) -> bool {
    matches!(visibility, Visibility::Hidden | Visibility::Internal)
}
