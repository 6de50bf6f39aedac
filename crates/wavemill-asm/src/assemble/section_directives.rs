//! Directives that choose the section.

use wavemill_object::write::{SectionFlags, SectionType};

use super::sections::{SectionGroup, usual};
use super::{Assembler, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, utf8_name};

impl Assembler<'_> {
    /// Appends the bytes of a statement, which the last `.loc` before them describes.
    pub(super) fn emit(&mut self, bytes: &[u8]) -> Result<(), String> {
        if !bytes.is_empty() {
            self.mark_line();
        }
        self.sections.append(bytes)
    }

    /// The last `.loc` describes the bytes appended next.
    pub(super) fn mark_line(&mut self) {
        let here = self.sections.offset();
        self.debug.lines.mark(self.sections.current, here);
    }

    /// Appends bytes that the assembler generates.
    pub(super) fn append_generated(&mut self, bytes: &[u8]) {
        if let Err(message) = self.sections.append(bytes) {
            self.report("", *Diagnostic::new(0..0, message));
        }
    }

    pub(super) fn switch_to(&mut self, section: usize) {
        self.sections.previous = Some(self.sections.current);
        self.go_to_section(section);
    }

    /// Continues in another section. A `.loc` of this section does not apply there.
    fn go_to_section(&mut self, section: usize) {
        if section != self.sections.current {
            self.debug.lines.leave_section();
        }
        self.sections.current = section;
    }

    /// Handles directives that choose the section; false for others.
    pub(super) fn section_directive(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        match name {
            ".text" | ".data" | ".bss" | ".rodata" => {
                let at = cursor.at();
                let subsection = if cursor.is_done() { 0 } else { self.absolute(cursor)? };
                self.end(cursor)?;
                if subsection != 0 {
                    let message =
                        format!("`{name} {subsection}` is a subsection, which Wavemill does not support");
                    return Err(Diagnostic::new(at..cursor.end(), message)
                        .note("a section holds its contents in source order"));
                }
                let section = self.sections.section_named(name);
                self.switch_to(section);
            }
            ".section" => {
                let section = self.section_header(cursor)?;
                self.switch_to(section);
            }
            ".pushsection" => {
                let section = self.section_header(cursor)?;
                self.sections.stack.push((self.sections.current, self.sections.previous));
                self.switch_to(section);
            }
            ".popsection" => {
                let at = cursor.at();
                let Some((current, previous)) = self.sections.stack.pop() else {
                    return Err(Diagnostic::new(at..at, "there is no `.pushsection` for this `.popsection`"));
                };
                self.go_to_section(current);
                self.sections.previous = previous;
                self.end(cursor)?;
            }
            ".previous" => {
                let at = cursor.at();
                self.end(cursor)?;
                let Some(previous) = self.sections.previous else {
                    return Err(Diagnostic::new(0..at, "there is no previous section"));
                };
                self.switch_to(previous);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `NAME, "flags", @type, entry size, group, comdat, unique, number`. Group and number
    /// distinguish sections of the same name. If a source names a section again, it repeats the
    /// first attributes or omits them.
    fn section_header(&mut self, cursor: &mut Cursor<'_>) -> Result<usize, Fail> {
        let start = cursor.at();
        let name = if cursor.peek() == Some(b'"') {
            let (name, length) =
                line::string(cursor.rest()).map_err(|message| Diagnostic::new(start..start + 1, message))?;
            cursor.go_to(start + length);
            utf8_name(name, start..start + length)?
        } else {
            // Section names may contain characters that symbols may not.
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
            return Ok(self.sections.section_named(&name));
        }
        let at = cursor.at();
        let letters = self.text(cursor)?;
        let length = cursor.end() - at;
        // Some names imply flags.
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
                    let message = format!("`{}` is not a section flag", char::from(other));
                    return Err(Diagnostic::new(at..at + length, message)
                        .note("flags are a, w, x, M, S, G, ?, e and R"));
                }
            };
        }
        if grouped && same_group {
            return Err(Diagnostic::new(
                at..at + length,
                "expected `G` or `?`, found both: `G` names a group, `?` uses the group of the previous section",
            ));
        }
        let mut entry_size = 0;
        let mut group = None;
        let mut unique = None;
        if same_group {
            group = self.sections.section().group.clone();
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
                    let number = u32::try_from(number)
                        .map_err(|_| Diagnostic::new(at..cursor.end(), "a section type has 32 bits"))?;
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
        let found = self.sections.known_section(&name, group.as_ref().map(|group| &*group.name), unique);
        let index = found.unwrap_or_else(|| self.sections.add(&name));
        let span = start..cursor.end();
        let section = &mut self.sections.all[index];
        let (own, new) = ((section.kind, section.zeros), (kind, zeros));
        let differs = match found {
            Some(_) if said && own != new => Some("another type"),
            Some(_) if said && section.flags != flags => Some("other flags"),
            Some(_) if said && section.entry_size != entry_size => Some("another entry size"),
            _ => None,
        };
        if let Some(what) = differs {
            let message = format!("section `{name}` already has {what}");
            return Err(Diagnostic::new(span, message)
                .note("`unique` and a number after the type make another section with this name"));
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
