//! Divides a section into parts: code, data and runs.

use wavemill_object::Unlinked;
use wavemill_object::write::{Contents, Definition, SectionFlags, SectionId, SymbolId, SymbolType};

use super::Writer;

/// Runs of at least this many equal words outside of functions are written as a count.
const LONG_RUN: usize = 4;

/// The contents of a part of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Data,
    Descriptor,
    /// A run of equal words, outside of functions.
    Run(u32),
    /// Zeros that occupy no bytes in the file.
    NoBits,
}

/// A part of a section, in bytes from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) kind: Kind,
}

/// Where symbols begin and end.
#[derive(Debug)]
pub(super) struct Bounds {
    sections: Vec<SectionBounds>,
}

#[derive(Debug, Default)]
struct SectionBounds {
    size: u64,
    /// Symbols by their offsets.
    starts: Vec<(u64, SymbolId)>,
    /// Symbols by their ends, those with a size.
    ends: Vec<(u64, SymbolId)>,
}

/// The entries of a sorted list with this offset.
fn equal(list: &[(u64, SymbolId)], offset: u64) -> &[(u64, SymbolId)] {
    let from = list.partition_point(|(at, _)| *at < offset);
    let rest = list.get(from..).unwrap_or_default();
    rest.get(..rest.partition_point(|(at, _)| *at == offset)).unwrap_or_default()
}

impl Bounds {
    pub(super) fn new(unlinked: &Unlinked) -> Bounds {
        let module = &unlinked.module;
        let mut sections: Vec<SectionBounds> = (module.sections.iter())
            .map(|section| SectionBounds { size: section.contents.size(), ..SectionBounds::default() })
            .collect();
        for (index, symbol) in module.symbols.iter().enumerate() {
            let Definition::Section { section, offset } = symbol.definition else { continue };
            let Some(bounds) = sections.get_mut(section.0).filter(|_| symbol.kind != SymbolType::Section)
            else {
                continue;
            };
            bounds.starts.push((offset, SymbolId(index)));
            if let Some(end) =
                offset.checked_add(symbol.size).filter(|&end| symbol.size != 0 && end <= bounds.size)
            {
                bounds.ends.push((end, SymbolId(index)));
            }
        }
        for bounds in &mut sections {
            bounds.starts.sort();
            bounds.ends.sort();
        }
        Bounds { sections }
    }

    /// The symbols of a section by their offsets.
    pub(super) fn symbols(&self, section: SectionId) -> &[(u64, SymbolId)] {
        self.sections.get(section.0).map_or(&[], |bounds| &bounds.starts)
    }

    /// The symbols at an offset.
    pub(super) fn symbols_at(&self, section: SectionId, offset: u64) -> &[(u64, SymbolId)] {
        equal(self.symbols(section), offset)
    }

    /// The symbols that end at an offset.
    pub(super) fn ends_at(&self, section: SectionId, offset: u64) -> &[(u64, SymbolId)] {
        self.sections.get(section.0).map_or(&[], |bounds| equal(&bounds.ends, offset))
    }

    /// Whether a symbol begins or ends strictly between two offsets.
    pub(super) fn divides(&self, section: SectionId, from: u64, to: u64) -> bool {
        let Some(bounds) = self.sections.get(section.0) else { return false };
        let inside = |list: &[(u64, SymbolId)]| {
            let next = list.partition_point(|(at, _)| *at <= from);
            list.get(next).is_some_and(|(at, _)| *at < to)
        };
        inside(&bounds.starts) || inside(&bounds.ends)
    }

    /// The offsets where a symbol begins or ends, from 0 to the size, each once.
    fn cuts(&self, section: SectionId) -> Vec<u64> {
        let Some(bounds) = self.sections.get(section.0) else { return Vec::new() };
        let places = bounds.starts.iter().chain(&bounds.ends).map(|(at, _)| *at);
        let mut cuts: Vec<u64> = places.filter(|at| *at < bounds.size).chain([0, bounds.size]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}

impl Writer<'_> {
    /// The parts of a section in order.
    pub(super) fn pieces(&self, id: SectionId) -> Vec<Piece> {
        let Some(section) = self.module.sections.get(id.0) else { return Vec::new() };
        let mut cuts = self.bounds.cuts(id);
        let bytes = match &section.contents {
            Contents::Bytes(bytes) => bytes.as_slice(),
            Contents::Zeros(_) => {
                let ranges = cuts.iter().zip(cuts.iter().skip(1));
                return ranges.map(|(&start, &end)| Piece { start, end, kind: Kind::NoBits }).collect();
            }
        };
        let (size, legacy_size) = (self.abi.descriptor_size(), self.abi.legacy_kernel().size);
        let is_descriptor = |at: u64| self.descriptors.at(id, at).is_some();
        let ends: Vec<u64> = cuts.iter().filter(|at| is_descriptor(**at)).map(|at| at + size).collect();
        cuts.extend(ends);
        // Legacy kernels begin with a header that is not code.
        let legacy = |at: u64| {
            self.bounds.symbols_at(id, at).iter().any(|(_, id)| self.unlinked.legacy_kernels.contains(id))
        };
        let ends: Vec<u64> = if self.unlinked.legacy_kernels.is_empty() {
            Vec::new()
        } else {
            cuts.iter().filter(|at| legacy(**at)).map(|at| at + legacy_size).collect()
        };
        cuts.extend(ends);
        cuts.retain(|at| *at <= bytes.len() as u64);
        cuts.sort_unstable();
        cuts.dedup();
        let code = section.flags.has(SectionFlags::EXECUTE);
        // The furthest ends of the functions and variables so far.
        let (mut function_end, mut data_end) = (0, 0);
        let mut pieces = Vec::with_capacity(cuts.len());
        for (&start, &end) in cuts.iter().zip(cuts.iter().skip(1)) {
            if is_descriptor(start) && end - start == size {
                pieces.push(Piece { start, end, kind: Kind::Descriptor });
                continue;
            }
            if !code {
                pieces.push(Piece { start, end, kind: Kind::Data });
                continue;
            }
            for (_, symbol) in self.bounds.symbols_at(id, start) {
                let Some(symbol) = self.module.symbols.get(symbol.0) else { continue };
                let own_end = start.saturating_add(symbol.size);
                match symbol.kind {
                    SymbolType::Object => data_end = data_end.max(own_end),
                    // A function of unknown size ends where the next symbol begins.
                    SymbolType::Function if symbol.size == 0 => function_end = function_end.max(end),
                    SymbolType::Function => function_end = function_end.max(own_end),
                    _ => {}
                }
            }
            if !self.unlinked.legacy_kernels.is_empty() && legacy(start) {
                data_end = data_end.max(start + legacy_size);
            }
            if start < data_end {
                pieces.push(Piece { start, end, kind: Kind::Data });
            } else if start < function_end {
                pieces.push(Piece { start, end, kind: Kind::Code });
            } else {
                self.runs(id, bytes, start, end, &mut pieces);
            }
        }
        pieces
    }

    /// Divides contents outside of functions into code and runs of equal words.
    fn runs(&self, id: SectionId, bytes: &[u8], start: u64, end: u64, pieces: &mut Vec<Piece>) {
        let range = bytes.get(start as usize..end as usize).unwrap_or_default();
        let relocated = self.module.sections.get(id.0).is_some_and(|section| {
            let next = section.relocations.partition_point(|relocation| relocation.offset < start);
            section.relocations.get(next).is_some_and(|relocation| relocation.offset < end)
        });
        let filler = self.set.family().filler();
        let (words, rest) = range.as_chunks::<4>();
        let mut from = start;
        let code = |from: u64, to: u64, pieces: &mut Vec<Piece>| {
            if from < to {
                pieces.push(Piece { start: from, end: to, kind: Kind::Code });
            }
        };
        if relocated || !start.is_multiple_of(4) {
            return code(start, end, pieces);
        }
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let word = u32::from_le_bytes(*word);
            let run = words.iter().skip(at).take_while(|other| u32::from_le_bytes(**other) == word).count();
            let last = at + run == words.len() && rest.is_empty() && run > 1;
            // A single word of zeros may be the end of an instruction.
            if (word == 0 || word == filler) && (run >= LONG_RUN || last) {
                let (first, behind) = (start + 4 * at as u64, start + 4 * (at + run) as u64);
                code(from, first, pieces);
                pieces.push(Piece { start: first, end: behind, kind: Kind::Run(word) });
                from = behind;
            }
            at += run;
        }
        code(from, end, pieces);
    }
}
