//! Sections: the output of a source.

use std::collections::HashMap;

use wavemill_object::write::{Section, SectionFlags, SectionType};

/// A section under construction.
#[derive(Debug)]
pub(super) struct SectionState {
    pub(super) name: String,
    pub(super) flags: SectionFlags,
    pub(super) kind: SectionType,
    pub(super) entry_size: u64,
    pub(super) align: u64,
    /// Whether it contains only zeros, which occupy no bytes in the file.
    pub(super) zeros: bool,
    pub(super) bytes: Vec<u8>,
    /// The size of a section of zeros.
    pub(super) size: u64,
    /// The group that contains it.
    pub(super) group: Option<SectionGroup>,
    /// Distinguishes it from other sections of its name (`unique,1`).
    pub(super) unique: Option<u32>,
}

/// A group of sections that a linker keeps or drops together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SectionGroup {
    pub(super) name: String,
    /// Whether the linker keeps only one of several groups with the name.
    pub(super) comdat: bool,
}

/// The size limit of a section of zeros, and of all other sections together.
pub(super) const LARGEST: u64 = 1 << 32;
const MOST_BYTES: u64 = 1 << 30;

/// The default attributes of a section with this name.
pub(super) fn usual(name: &str) -> (SectionFlags, SectionType, bool) {
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

impl SectionState {
    /// Its size in memory, in bytes.
    pub(super) fn size(&self) -> u64 {
        if self.zeros { self.size } else { self.bytes.len() as u64 }
    }

    /// The section of the module, still without relocations.
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

/// All sections, and which of them is being filled.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) all: Vec<SectionState>,
    /// The sections of each name.
    pub(super) by_name: HashMap<String, Vec<usize>>,
    /// The total of their bytes.
    bytes: u64,
    /// The index of the section that statements fill.
    pub(super) current: usize,
    /// The previous section, for `.previous`.
    pub(super) previous: Option<usize>,
    /// The sections that `.popsection` returns to.
    pub(super) stack: Vec<(usize, Option<usize>)>,
}

impl Sections {
    /// The section of this name, created with defaults if it is new.
    pub(super) fn section_named(&mut self, name: &str) -> usize {
        match self.known_section(name, None, None) {
            Some(index) => index,
            None => self.add(name),
        }
    }

    /// The section of this name, group and number, if it exists.
    pub(super) fn known_section(
        &self,
        name: &str,
        group: Option<&str>,
        unique: Option<u32>,
    ) -> Option<usize> {
        let same = |&&index: &&usize| {
            self.all.get(index).is_some_and(|section| {
                section.unique == unique && section.group.as_ref().map(|group| &*group.name) == group
            })
        };
        self.by_name.get(name)?.iter().find(same).copied()
    }

    /// Creates a section with the defaults for its name.
    pub(super) fn add(&mut self, name: &str) -> usize {
        let (flags, kind, zeros) = usual(name);
        self.all.push(SectionState {
            name: name.to_owned(),
            flags,
            kind,
            entry_size: 0,
            // Code consists of words. Other sections of code set their own alignment.
            align: if name == ".text" { 4 } else { 1 },
            zeros,
            bytes: Vec::new(),
            size: 0,
            group: None,
            unique: None,
        });
        let index = self.all.len() - 1;
        self.by_name.entry(name.to_owned()).or_default().push(index);
        index
    }

    /// The current section.
    pub(super) fn section(&mut self) -> &mut SectionState {
        // From the first line on, `current` is the index of a section.
        &mut self.all[self.current]
    }

    /// The offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.all
            .get(self.current)
            .map_or(0, |section| if section.zeros { section.size } else { section.bytes.len() as u64 })
    }

    /// The section of this name for strings that may be merged.
    pub(super) fn string_section(&mut self, name: &str) -> usize {
        let known = self.known_section(name, None, None).is_some();
        let index = self.section_named(name);
        if let (false, Some(section)) = (known, self.all.get_mut(index)) {
            section.flags = SectionFlags::MERGE | SectionFlags::STRINGS;
            section.entry_size = 1;
        }
        index
    }

    /// Reserves this many bytes in the current section.
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
            return Err(format!("section `{}` accepts only zeros", section.name));
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
            return Err(format!("section `{}` accepts only zeros", section.name));
        }
        self.grow(count)?;
        let section = self.section();
        if !section.zeros {
            let size = section.bytes.len() + usize::try_from(count).map_err(|error| error.to_string())?;
            section.bytes.resize(size, byte);
        }
        Ok(())
    }

    /// Appends `count` times `unit`. Checks the available room before it creates any of them.
    pub(super) fn append_fill(&mut self, count: u64, unit: &[u8]) -> Result<(), String> {
        let section = self.section();
        if section.zeros && count > 0 && unit.iter().any(|byte| *byte != 0) {
            return Err(format!("section `{}` accepts only zeros", section.name));
        }
        self.grow(count.saturating_mul(unit.len() as u64))?;
        let section = self.section();
        if !section.zeros {
            // Writes many at once if there are many.
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

    /// The current section, and the offset in it of the next byte.
    pub(super) fn here(&self) -> (usize, u64) {
        (self.current, self.offset())
    }
}
