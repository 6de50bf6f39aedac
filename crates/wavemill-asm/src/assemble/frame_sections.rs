//! Call frame information: `.debug_frame` for debuggers (DWARF 5, section 6.4, version 4 of its
//! entries), and `.eh_frame` for exceptions (LSB Core, "Exception Frames"). As in LLVM, a source
//! gets `.eh_frame` unless it says `.cfi_sections .debug_frame`.

use gimli::constants as dw;
use wavemill_object::write::SectionFlags;

use super::frames::{DATA_ALIGN, Frame};
use super::lines::STEP;
use super::{Assembler, Pending, PendingKind, leb128};
use crate::diagnostic::Diagnostic;
use crate::syntax::{Binary, Expression};

/// The register column of the caller's program counter (AMDGPUUsage, "Register Identifier").
const PROGRAM_COUNTER: u64 = 16;

/// How a pointer is encoded in `.eh_frame`: its size, whether it is relative to its own address,
/// and whether it points to another pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PointerEncoding(u8);

impl PointerEncoding {
    /// The encoding of references to functions.
    const FUNCTION: PointerEncoding = PointerEncoding(dw::DW_EH_PE_pcrel.0 | dw::DW_EH_PE_sdata4.0);

    /// The encoding with this number; `None` for numbers without a fixed size, or with another
    /// base.
    pub(super) fn new(number: i64) -> Option<PointerEncoding> {
        let encoding = PointerEncoding(u8::try_from(number).ok()?);
        let based = dw::DwEhPe(encoding.0 & 0x70);
        let known = matches!(based, dw::DW_EH_PE_absptr | dw::DW_EH_PE_pcrel);
        (known && encoding.size().is_some()).then_some(encoding)
    }

    fn size(self) -> Option<u8> {
        match dw::DwEhPe(self.0 & 0xF) {
            dw::DW_EH_PE_udata2 | dw::DW_EH_PE_sdata2 => Some(2),
            dw::DW_EH_PE_udata4 | dw::DW_EH_PE_sdata4 => Some(4),
            dw::DW_EH_PE_absptr | dw::DW_EH_PE_udata8 | dw::DW_EH_PE_sdata8 => Some(8),
            // A signed pointer.
            dw::DwEhPe(0x8) => Some(8),
            _ => None,
        }
    }
}

/// A section of frames under construction.
struct Table {
    /// Whether it is `.eh_frame`, not `.debug_frame`.
    exceptions: bool,
    bytes: Vec<u8>,
    /// Fields that wait for symbols: offset, size in bytes, symbol, whether it is a distance, and
    /// the frame.
    fields: Vec<(u64, u8, Expression, bool, usize)>,
}

impl Table {
    fn field(&mut self, size: u8, value: Expression, relative: bool, frame: usize) {
        self.fields.push((self.bytes.len() as u64, size, value, relative, frame));
        self.bytes.resize(self.bytes.len() + usize::from(size), 0);
    }

    /// Appends a pointer in an encoding.
    fn pointer(&mut self, encoding: PointerEncoding, value: Expression, frame: usize) {
        let relative = encoding.0 & dw::DW_EH_PE_pcrel.0 != 0;
        self.field(encoding.size().unwrap_or(8), value, relative, frame);
    }

    /// Ends the entry that begins at `start`: pads it to a multiple of `align`, and fills in its
    /// length.
    fn end_entry(&mut self, start: usize, align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), dw::DW_CFA_nop.0);
        let length = (self.bytes.len() - start - 4) as u32;
        if let Some(field) = self.bytes.get_mut(start..start + 4) {
            field.copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Appends the common information entry of a frame.
    fn common(&mut self, frame: &Frame, number: usize) {
        let start = self.bytes.len();
        let column = frame.return_column.unwrap_or(PROGRAM_COUNTER);
        self.bytes.extend([0; 4]);
        if self.exceptions {
            // The mark of such an entry, version 1, and the kinds of data present.
            self.bytes.extend([0, 0, 0, 0, 1, b'z']);
            let letters = [
                (frame.personality.is_some(), b'P'),
                (frame.data.is_some(), b'L'),
                (true, b'R'),
                (frame.signal, b'S'),
            ];
            self.bytes.extend(letters.iter().filter(|(there, _)| *there).map(|(_, letter)| *letter));
            self.bytes.push(0);
        } else {
            // The mark of such an entry, version 4, no augmentation, 8-byte addresses without
            // segments.
            self.bytes.extend([0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 8, 0]);
        }
        leb128::unsigned(&mut self.bytes, STEP);
        leb128::signed(&mut self.bytes, DATA_ALIGN);
        if !self.exceptions {
            leb128::unsigned(&mut self.bytes, column);
            return self.end_entry(start, 8);
        }
        // Version 1 has one byte for the column, which has been checked.
        self.bytes.push(column as u8);
        let pointer = frame.personality.as_ref().map_or(0, |(encoding, _)| 1 + encoding.size().unwrap_or(8));
        self.bytes.push(pointer + u8::from(frame.data.is_some()) + 1);
        if let Some((encoding, symbol)) = &frame.personality {
            self.bytes.push(encoding.0);
            self.pointer(*encoding, Expression::symbol(symbol), number);
        }
        self.bytes.extend(frame.data.iter().map(|(encoding, _)| encoding.0));
        self.bytes.push(PointerEncoding::FUNCTION.0);
        self.end_entry(start, 4);
    }

    /// Appends a frame. Its common entry is at `common`; the section already had `base` bytes.
    fn frame(
        &mut self,
        frame: &Frame,
        number: usize,
        function: Expression,
        common: usize,
        base: u64,
        last: bool,
    ) {
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        let length = frame.end - frame.start;
        if self.exceptions {
            self.bytes.extend(((start + 4 - common) as u32).to_le_bytes());
            self.pointer(PointerEncoding::FUNCTION, function, number);
            // Sections are not longer than 32 bits can express.
            self.bytes.extend((length as u32).to_le_bytes());
            self.bytes.push(frame.data.as_ref().map_or(0, |(encoding, _)| encoding.size().unwrap_or(8)));
            if let Some((encoding, symbol)) = &frame.data {
                self.pointer(*encoding, Expression::symbol(symbol), number);
            }
        } else {
            self.field(4, Expression::sum(".debug_frame", base + common as u64), false, number);
            self.field(8, function, false, number);
            self.bytes.extend(length.to_le_bytes());
        }
        let mut at = frame.start;
        for (offset, code) in &frame.instructions {
            if !code.is_empty() {
                advance(&mut self.bytes, (offset - at) / STEP);
                at = *offset;
                self.bytes.extend(code);
            }
        }
        self.end_entry(start, if self.exceptions && !last { 4 } else { 8 });
    }
}

impl Frame {
    /// The key that decides which common entry a frame uses, and the order in which LLVM writes
    /// frames.
    fn key(&self) -> impl Ord + use<'_> {
        let encoding =
            |pointer: &Option<(PointerEncoding, String)>| pointer.as_ref().map(|(encoding, _)| encoding.0);
        (
            self.personality.as_ref().map_or("", |(_, symbol)| symbol),
            encoding(&self.personality).unwrap_or(0),
            encoding(&self.data),
            self.signal,
            self.simple,
            self.return_column.unwrap_or(u64::MAX),
        )
    }
}

impl Assembler<'_> {
    /// Appends the frames to their sections.
    pub(super) fn finish_frames(&mut self) {
        if let Some(open) = self.debug.frames.open.take() {
            let fail = Diagnostic::new(
                open.place.span.clone(),
                "expected `.cfi_endproc`, found the end of the file",
            );
            self.report_at(&open.place, *fail);
        }
        let mut frames = std::mem::take(&mut self.debug.frames);
        frames.all.sort_by(|left, right| left.key().cmp(&right.key()));
        let (exceptions, debug) = frames.sections.unwrap_or((true, false));
        if exceptions {
            self.frame_section(".eh_frame", &frames.all);
        }
        if debug {
            self.frame_section(".debug_frame", &frames.all);
        }
    }

    fn frame_section(&mut self, name: &str, frames: &[Frame]) {
        if frames.is_empty() {
            return;
        }
        let exceptions = name == ".eh_frame";
        let wide = |frame: &&Frame| frame.return_column.is_some_and(|column| column > 255);
        if let Some(frame) = frames.iter().find(wide).filter(|_| exceptions) {
            let message = "expected a register up to 255: `.eh_frame` holds `.cfi_return_column` in one byte";
            let fail = Diagnostic::new(frame.place.span.clone(), message);
            return self
                .report_at(&frame.place, *fail.note("`.cfi_sections .debug_frame` allows larger numbers"));
        }
        let section = self.sections.section_named(name);
        self.sections.current = section;
        if exceptions {
            self.sections.section().flags = self.sections.section().flags | SectionFlags::ALLOC;
        }
        self.sections.section().align = self.sections.section().align.max(8);
        let base = self.sections.offset();
        let mut table = Table { exceptions, bytes: Vec::new(), fields: Vec::new() };
        let mut common: Option<(usize, usize)> = None;
        for (number, frame) in frames.iter().enumerate() {
            // One common entry is enough for debuggers.
            let same =
                |of: usize| !exceptions || frames.get(of).is_some_and(|other| other.key() == frame.key());
            let at = match common {
                Some((at, of)) if same(of) => at,
                _ => {
                    let at = table.bytes.len();
                    table.common(frame, number);
                    common = Some((at, number));
                    at
                }
            };
            let function = self.symbols.place_of((frame.section, frame.start));
            table.frame(frame, number, function, at, base, number + 1 == frames.len());
        }
        for (at, size, value, relative, frame) in table.fields {
            let Some(frame) = frames.get(frame) else { continue };
            let offset = base + at;
            let expression = match relative {
                true => {
                    let here = self.symbols.place_of((section, offset));
                    Expression::Binary(Binary::Subtract, Box::new((value, here)))
                }
                false => value,
            };
            let (kind, place) = (PendingKind::Data(size), self.places.keep(&frame.place));
            self.pending.push(Pending { section, offset, kind, expression: expression.into(), place });
        }
        self.append_generated(&table.bytes);
    }
}

/// Advances the location by this many steps.
fn advance(body: &mut Vec<u8>, steps: u64) {
    match (steps, u8::try_from(steps), u16::try_from(steps), u32::try_from(steps)) {
        (0, ..) => {}
        (1..64, Ok(steps), ..) => body.push(dw::DW_CFA_advance_loc.0 | steps),
        (_, Ok(steps), ..) => body.extend([dw::DW_CFA_advance_loc1.0, steps]),
        (_, _, Ok(steps), _) => {
            body.push(dw::DW_CFA_advance_loc2.0);
            body.extend(steps.to_le_bytes());
        }
        (.., steps) => {
            // Sections are short enough that the steps fit.
            body.push(dw::DW_CFA_advance_loc4.0);
            body.extend(steps.unwrap_or(u32::MAX).to_le_bytes());
        }
    }
}
