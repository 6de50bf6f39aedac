//! Sections: what a source switches between and fills.

use wavemill_object::write::{Section, SectionFlags, SectionType};

use super::{Assembler, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, utf8_name};

/// A section as it grows.
#[derive(Debug)]
pub(super) struct SectionState {
    pub(super) name: String,
    pub(super) flags: SectionFlags,
    pub(super) kind: SectionType,
    pub(super) entry_size: u64,
    pub(super) align: u64,
    /// Zeros only, which take no place in the file.
    pub(super) zeros: bool,
    pub(super) bytes: Vec<u8>,
    /// The size of a section of zeros.
    pub(super) size: u64,
    /// The group that it is in.
    pub(super) group: Option<SectionGroup>,
    /// What tells it from others of its name (`unique,1`).
    pub(super) unique: Option<u32>,
}

/// A group of sections, which a linker takes or leaves together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SectionGroup {
    pub(super) name: String,
    /// Of several groups of the name, the linker takes one.
    pub(super) comdat: bool,
}

/// The most that a section of zeros may hold, and that all sections may hold together otherwise.
pub(super) const LARGEST: u64 = 1 << 32;
const MOST_BYTES: u64 = 1 << 30;

/// What a section of this name is, if the source does not say.
fn usual(name: &str) -> (SectionFlags, SectionType, bool) {
    let is = |base: &str| name == base || name.strip_prefix(base).is_some_and(|rest| rest.starts_with('.'));
    let loaded = SectionFlags::ALLOC;
    if is(".text") {
        (loaded | SectionFlags::EXECUTE, SectionType::Program, false)
    } else if is(".data") {
        (loaded | SectionFlags::WRITE, SectionType::Program, false)
    } else if is(".bss") {
        (loaded | SectionFlags::WRITE, SectionType::Program, true)
    } else if is(".rodata") {
        (loaded, SectionType::Program, false)
    } else if is(".note") {
        (SectionFlags::default(), SectionType::Note, false)
    } else if is(".init_array") {
        (loaded | SectionFlags::WRITE, SectionType::InitArray, false)
    } else if is(".fini_array") {
        (loaded | SectionFlags::WRITE, SectionType::FiniArray, false)
    } else {
        (SectionFlags::default(), SectionType::Program, false)
    }
}

impl Assembler<'_> {
    /// The section of this name, made as usual if it is new.
    pub(super) fn section_named(&mut self, name: &str) -> usize {
        match self.known_section(name, None, None) {
            Some(index) => index,
            None => self.new_section(name),
        }
    }

    /// The section of this name, group and number, if the source has had it.
    fn known_section(&self, name: &str, group: Option<&str>, unique: Option<u32>) -> Option<usize> {
        let same = |&&index: &&usize| {
            self.sections.get(index).is_some_and(|section| {
                section.unique == unique && section.group.as_ref().map(|group| &*group.name) == group
            })
        };
        self.section_index.get(name)?.iter().find(same).copied()
    }

    /// Makes a section as usual for its name.
    fn new_section(&mut self, name: &str) -> usize {
        let (flags, kind, zeros) = usual(name);
        self.sections.push(SectionState {
            name: name.to_owned(),
            flags,
            kind,
            entry_size: 0,
            // Code is made of words; other sections of code align themselves.
            align: if name == ".text" { 4 } else { 1 },
            zeros,
            bytes: Vec::new(),
            size: 0,
            group: None,
            unique: None,
        });
        let index = self.sections.len() - 1;
        self.section_index.entry(name.to_owned()).or_default().push(index);
        index
    }

    pub(super) fn section(&mut self) -> &mut SectionState {
        // `current` is the index of a section from the first line on.
        &mut self.sections[self.current]
    }

    /// Where the next byte goes.
    pub(super) fn offset(&self) -> u64 {
        self.sections
            .get(self.current)
            .map_or(0, |section| if section.zeros { section.size } else { section.bytes.len() as u64 })
    }

    /// Appends what a statement says: bytes that a `.loc` before them is about.
    pub(super) fn emit(&mut self, bytes: &[u8]) -> Result<(), String> {
        if !bytes.is_empty() {
            self.mark_line();
        }
        self.append(bytes)
    }

    /// What is appended next is what the last `.loc` is about.
    pub(super) fn mark_line(&mut self) {
        let here = self.offset();
        self.lines.mark(self.current, here);
    }

    /// Appends what the assembler makes.
    pub(super) fn append_generated(&mut self, bytes: &[u8]) {
        if let Err(message) = self.append(bytes) {
            self.report("", *Diagnostic::new(0..0, message));
        }
    }

    /// The section of this name for strings that may be merged.
    pub(super) fn string_section(&mut self, name: &str) -> usize {
        let known = self.known_section(name, None, None).is_some();
        let index = self.section_named(name);
        if let (false, Some(section)) = (known, self.sections.get_mut(index)) {
            section.flags = SectionFlags::MERGE | SectionFlags::STRINGS;
            section.entry_size = 1;
        }
        index
    }

    /// Takes room for so many more bytes in the current section.
    fn grow(&mut self, count: u64) -> Result<(), String> {
        let section = self.section();
        if section.zeros {
            return match section.size.checked_add(count).filter(|size| *size <= LARGEST) {
                Some(size) => {
                    section.size = size;
                    Ok(())
                }
                None => Err(format!("section `{}` would grow beyond 4 GiB", section.name)),
            };
        }
        if count > MOST_BYTES.saturating_sub(self.bytes) {
            return Err("the sections would grow beyond 1 GiB together".to_owned());
        }
        self.bytes += count;
        Ok(())
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), String> {
        let section = self.section();
        if section.zeros && bytes.iter().any(|byte| *byte != 0) {
            return Err(format!("section `{}` takes zeros only", section.name));
        }
        self.grow(bytes.len() as u64)?;
        let section = self.section();
        if !section.zeros {
            section.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Appends `count` times `byte`.
    pub(super) fn emit_fill(&mut self, count: u64, byte: u8) -> Result<(), String> {
        let section = self.section();
        if section.zeros && byte != 0 && count > 0 {
            return Err(format!("section `{}` takes zeros only", section.name));
        }
        self.grow(count)?;
        let section = self.section();
        if !section.zeros {
            let size = section.bytes.len() + usize::try_from(count).map_err(|error| error.to_string())?;
            section.bytes.resize(size, byte);
        }
        Ok(())
    }

    /// Appends `count` times `unit`. Whether there is room is seen before any of it is made.
    pub(super) fn append_fill(&mut self, count: u64, unit: &[u8]) -> Result<(), String> {
        let section = self.section();
        if section.zeros && count > 0 && unit.iter().any(|byte| *byte != 0) {
            return Err(format!("section `{}` takes zeros only", section.name));
        }
        self.grow(count.saturating_mul(unit.len() as u64))?;
        let section = self.section();
        if !section.zeros {
            // Many at once, where there are many.
            let at_once = (4096 / unit.len().max(1) as u64).clamp(1, count.max(1));
            let several = unit.repeat(at_once as usize);
            for _ in 0..count / at_once {
                section.bytes.extend_from_slice(&several);
            }
            for _ in 0..count % at_once {
                section.bytes.extend_from_slice(unit);
            }
        }
        Ok(())
    }

    pub(super) fn switch_to(&mut self, section: usize) {
        self.previous = Some(self.current);
        self.go_to_section(section);
    }

    /// Goes on in another section, where a `.loc` of this one has nothing to say.
    fn go_to_section(&mut self, section: usize) {
        if section != self.current {
            self.lines.leave_section();
        }
        self.current = section;
    }

    /// Directives that choose the section; false for others.
    pub(super) fn section_directive(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        match name {
            ".text" | ".data" | ".bss" | ".rodata" => {
                let at = cursor.at();
                let subsection = if cursor.is_done() { 0 } else { self.absolute(cursor)? };
                self.end(cursor)?;
                if subsection != 0 {
                    let message =
                        format!("`{name} {subsection}` is a subsection, which Wavemill does not have");
                    return Err(Diagnostic::new(at..cursor.end(), message)
                        .note("sections hold what they are given in the order of the source"));
                }
                let section = self.section_named(name);
                self.switch_to(section);
            }
            ".section" => {
                let section = self.section_header(cursor)?;
                self.switch_to(section);
            }
            ".pushsection" => {
                let section = self.section_header(cursor)?;
                self.stack.push((self.current, self.previous));
                self.switch_to(section);
            }
            ".popsection" => {
                let at = cursor.at();
                let Some((current, previous)) = self.stack.pop() else {
                    return Err(Diagnostic::new(at..at, "there is no `.pushsection` that this would end"));
                };
                self.go_to_section(current);
                self.previous = previous;
                self.end(cursor)?;
            }
            ".previous" => {
                let at = cursor.at();
                self.end(cursor)?;
                let Some(previous) = self.previous else {
                    return Err(Diagnostic::new(0..at, "there is no section before this one"));
                };
                self.switch_to(previous);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `NAME, "flags", @type, entry size, group, comdat, unique, number`. Sections of one name are told apart by group and
    /// number; what a source says of one a second time must be what it has said first, or nothing.
    fn section_header(&mut self, cursor: &mut Cursor<'_>) -> Result<usize, Fail> {
        let start = cursor.at();
        let name = if cursor.peek() == Some(b'"') {
            let (name, length) =
                line::string(cursor.rest()).map_err(|message| Diagnostic::new(start..start + 1, message))?;
            cursor.go_to(start + length);
            utf8_name(name, start..start + length)?
        } else {
            // Names may have characters that symbols have not.
            let rest = cursor.rest();
            let length = rest.find([',', ' ', '\t']).unwrap_or(rest.trim_end().len());
            cursor.go_to(start + length);
            rest.get(..length).unwrap_or_default().to_owned()
        };
        if name.is_empty() {
            return Err(cursor.expected("the name of a section"));
        }
        if !cursor.eat(",") {
            self.end(cursor)?;
            return Ok(self.section_named(&name));
        }
        let at = cursor.at();
        let letters = self.text(cursor)?;
        let length = cursor.end() - at;
        // Some names say flags by themselves.
        let (mut flags, mut kind, mut zeros) = usual(&name);
        let (mut grouped, mut merged, mut same_group) = (false, false, false);
        let mut said = !letters.is_empty();
        for letter in letters {
            flags |= match letter {
                b'a' => SectionFlags::ALLOC,
                b'w' => SectionFlags::WRITE,
                b'x' => SectionFlags::EXECUTE,
                b'M' => {
                    merged = true;
                    SectionFlags::MERGE
                }
                b'S' => SectionFlags::STRINGS,
                b'e' => SectionFlags::EXCLUDE,
                b'G' => {
                    grouped = true;
                    SectionFlags::default()
                }
                b'?' => {
                    same_group = true;
                    SectionFlags::default()
                }
                b'R' => SectionFlags(0x20_0000),
                other => {
                    let message = format!("`{}` is no flag of a section", char::from(other));
                    return Err(Diagnostic::new(at..at + length, message)
                        .note("flags are a, w, x, M, S, G, ?, e and R"));
                }
            };
        }
        if grouped && same_group {
            return Err(Diagnostic::new(
                at..at + length,
                "`G` names a group, and `?` takes that of the section before",
            ));
        }
        let mut entry_size = 0;
        let mut group = None;
        let mut unique = None;
        if same_group {
            group = self.section().group.clone();
        }
        if cursor.eat(",") {
            if !(cursor.eat("@") || cursor.eat("%")) {
                return Err(cursor.expected("the type of the section, such as `@progbits`"));
            }
            said = true;
            (kind, zeros) = match cursor.peek_name() {
                "progbits" => (SectionType::Program, false),
                "nobits" => (SectionType::Program, true),
                "note" => (SectionType::Note, false),
                "init_array" => (SectionType::InitArray, false),
                "fini_array" => (SectionType::FiniArray, false),
                "preinit_array" => (SectionType::PreinitArray, false),
                "" => {
                    let at = cursor.at();
                    let number = self.absolute(cursor)?;
                    let number = u32::try_from(number).map_err(|_| {
                        Diagnostic::new(at..cursor.end(), "the type of a section has 32 bits")
                    })?;
                    (SectionType::Other(number), false)
                }
                _ => {
                    return Err(cursor.expected("the type of the section").note(
                        "types are @progbits, @nobits, @note, @init_array, @fini_array, @preinit_array and numbers",
                    ));
                }
            };
            cursor.name();
            if merged {
                cursor.expect(",")?;
                let at = cursor.at();
                let size = self.absolute(cursor)?;
                entry_size = u64::try_from(size).ok().filter(|size| *size > 0).ok_or_else(|| {
                    let message = format!("expected the size of an entry, found {size}");
                    Diagnostic::new(at..cursor.end(), message)
                })?;
            }
            if grouped {
                cursor.expect(",")?;
                let name = self.symbol_name(cursor)?;
                let at = cursor.at();
                let comdat = cursor.eat(",") && cursor.eat_name("comdat");
                if !comdat {
                    cursor.go_to(at);
                }
                group = Some(SectionGroup { name, comdat });
            }
            if cursor.eat(",") {
                if !cursor.eat_name("unique") {
                    return Err(cursor.expected(if grouped { "`comdat` or `unique`" } else { "`unique`" }));
                }
                cursor.expect(",")?;
                let at = cursor.at();
                let number = self.absolute(cursor)?;
                let number = u32::try_from(number).ok().filter(|number| *number != u32::MAX);
                unique = Some(number.ok_or_else(|| {
                    Diagnostic::new(at..cursor.end(), "expected a number from 0 to 4294967294")
                })?);
            }
        } else if merged || grouped {
            return Err(cursor.expected("`,` and the type of the section, such as `@progbits`"));
        }
        self.end(cursor)?;
        let found = self.known_section(&name, group.as_ref().map(|group| &*group.name), unique);
        let index = found.unwrap_or_else(|| self.new_section(&name));
        let span = start..cursor.end();
        let section = &mut self.sections[index];
        let (own, new) = ((section.kind, section.zeros), (kind, zeros));
        let differs = match found {
            Some(_) if said && own != new => Some("another type"),
            Some(_) if said && section.flags != flags => Some("other flags"),
            Some(_) if said && section.entry_size != entry_size => Some("another size of its entries"),
            _ => None,
        };
        if let Some(what) = differs {
            let message = format!("section `{name}` has been given {what} before");
            return Err(Diagnostic::new(span, message)
                .note("`unique` and a number behind the type make another section of the name"));
        }
        if found.is_none() {
            section.flags = flags;
            (section.kind, section.zeros) = new;
            section.entry_size = entry_size;
            section.group = group;
            section.unique = unique;
            if unique.is_some() {
                section.align = 1;
            }
        }
        Ok(index)
    }
}

impl SectionState {
    /// Bytes in memory.
    pub(super) fn size(&self) -> u64 {
        if self.zeros { self.size } else { self.bytes.len() as u64 }
    }

    /// The section of the module that it becomes, still without relocations.
    pub(super) fn finish(self) -> Section {
        let mut section = Section::new(self.name, self.flags, self.align, self.bytes);
        section.kind = self.kind;
        section.entry_size = self.entry_size;
        if self.zeros {
            section.contents = wavemill_object::write::Contents::Zeros(self.size);
        }
        section
    }
}
