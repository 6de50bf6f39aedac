//! `.cfi_*`: how a debugger finds the frame of the caller. They become call frame information (`.debug_frame`; DWARF 5,
//! section 6.4, version 4 of its entries).

use gimli::constants as dw;

use super::lines::STEP;
use super::{Assembler, Pending, PendingKind, Place, leb128};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Expression};

/// Register columns of the caller's program counter, and bytes by which offsets of saved registers are counted
/// (AMDGPUUsage, "Register Identifier" and "Call Frame Information").
const PROGRAM_COUNTER: u64 = 16;
const DATA_ALIGN: i64 = 4;
/// `DW_CFA_LLVM_def_aspace_cfa`: a frame address in an address space (AMDGPUUsage and "DWARF Extensions For Heterogeneous
/// Debugging").
const DEF_ASPACE_CFA: u8 = 0x30;

/// What a source says of frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// `.cfi_sections`, if there is one: whether `.eh_frame` and `.debug_frame` are wanted.
    sections: Option<(bool, bool)>,
    open: Option<Frame>,
    all: Vec<Frame>,
}

/// The frame of a function.
#[derive(Debug)]
struct Frame {
    section: usize,
    start: u64,
    end: u64,
    place: Place,
    /// The instructions, and the places in the section from which on they hold.
    instructions: Vec<(u64, Vec<u8>)>,
    /// The distance of the frame's address from its register, as far as the directives have said.
    distance: i64,
    return_column: u64,
}

impl Assembler<'_> {
    /// Directives about frames; false for others.
    pub(super) fn frame_directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Fail> {
        let Some(word) = name.strip_prefix(".cfi_") else { return Ok(false) };
        let span = start..start + name.len();
        match word {
            "sections" => self.frame_sections(cursor)?,
            "startproc" => self.start_frame(cursor, span)?,
            "endproc" => {
                self.end(cursor)?;
                let end = self.offset();
                let section = self.current;
                let mut frame = self.open_frame(span.clone())?;
                if frame.section != section {
                    return Err(Diagnostic::new(span, "the frame has begun in another section"));
                }
                frame.end = end;
                self.frames.all.push(frame);
            }
            _ => {
                let mut frame = self.open_frame(span.clone())?;
                let code = self.frame_instruction(word, &mut frame, cursor, span);
                let here = self.offset();
                // What is wrong with a line does not end the frame.
                let code = code.map(|code| frame.instructions.push((here, code)));
                self.frames.open = Some(frame);
                code?;
                self.end(cursor)?;
            }
        }
        Ok(true)
    }

    fn frame_sections(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let (mut exceptions, mut debug) = (false, false);
        loop {
            match cursor.peek_name() {
                ".eh_frame" => exceptions = true,
                ".debug_frame" => debug = true,
                _ => return Err(cursor.expected("`.debug_frame` or `.eh_frame`")),
            }
            cursor.name();
            if !cursor.eat(",") {
                break;
            }
        }
        self.frames.sections = Some((exceptions, debug));
        self.end(cursor)
    }

    fn start_frame(&mut self, cursor: &mut Cursor<'_>, span: Span) -> Result<(), Fail> {
        // Without the instructions that every frame begins with: there are none here.
        cursor.eat_name("simple");
        self.end(cursor)?;
        if let Some(open) = &self.frames.open {
            let message = format!("the frame of line {} has not ended", open.place.line);
            return Err(Diagnostic::new(span, message).note("`.cfi_endproc` ends it"));
        }
        let start = self.offset();
        self.frames.open = Some(Frame {
            section: self.current,
            start,
            end: start,
            place: self.place(cursor.text(), span),
            instructions: Vec::new(),
            distance: 0,
            return_column: PROGRAM_COUNTER,
        });
        Ok(())
    }

    fn open_frame(&mut self, span: Span) -> Result<Frame, Fail> {
        let open = self.frames.open.take();
        open.ok_or_else(|| Diagnostic::new(span, "there is no `.cfi_startproc` before this"))
    }

    /// A register's number in DWARF.
    fn column(&mut self, cursor: &mut Cursor<'_>) -> Result<u64, Fail> {
        let start = cursor.at();
        if !matches!(cursor.peek(), Some(b'0'..=b'9')) {
            return Err(cursor.expected("the number of a register in DWARF"));
        }
        let value = self.absolute(cursor)?;
        u64::try_from(value).ok().filter(|value| *value <= u32::MAX.into()).ok_or_else(|| {
            Diagnostic::new(start..cursor.end(), format!("expected the number of a register, found {value}"))
        })
    }

    /// A number that must not be negative.
    fn plain(&mut self, value: i64, span: &Span) -> Result<u64, Fail> {
        u64::try_from(value).map_err(|_| {
            Diagnostic::new(
                span.clone(),
                format!("the distance from the register is {value}; none below 0 can be said"),
            )
        })
    }

    fn frame_instruction(
        &mut self,
        word: &str,
        frame: &mut Frame,
        cursor: &mut Cursor<'_>,
        span: Span,
    ) -> Result<Vec<u8>, Fail> {
        let mut code = Vec::new();
        let simple = |code: &mut Vec<u8>, opcode: dw::DwCfa, numbers: &[u64]| {
            code.push(opcode.0);
            numbers.iter().for_each(|number| leb128::unsigned(code, *number));
        };
        match word {
            "def_cfa" | "llvm_def_aspace_cfa" => {
                let register = self.column(cursor)?;
                cursor.expect(",")?;
                frame.distance = self.absolute(cursor)?;
                let distance = self.plain(frame.distance, &span)?;
                if word == "def_cfa" {
                    simple(&mut code, dw::DW_CFA_def_cfa, &[register, distance]);
                } else {
                    cursor.expect(",")?;
                    let space = self.column(cursor)?;
                    simple(&mut code, dw::DwCfa(DEF_ASPACE_CFA), &[register, distance, space]);
                }
            }
            "def_cfa_register" => {
                let register = self.column(cursor)?;
                simple(&mut code, dw::DW_CFA_def_cfa_register, &[register]);
            }
            "def_cfa_offset" | "adjust_cfa_offset" => {
                let value = self.absolute(cursor)?;
                frame.distance =
                    if word == "def_cfa_offset" { value } else { frame.distance.wrapping_add(value) };
                let distance = self.plain(frame.distance, &span)?;
                simple(&mut code, dw::DW_CFA_def_cfa_offset, &[distance]);
            }
            "offset" | "rel_offset" | "val_offset" => {
                let register = self.column(cursor)?;
                cursor.expect(",")?;
                let mut offset = self.absolute(cursor)?;
                if word == "rel_offset" {
                    offset = offset.wrapping_sub(frame.distance);
                }
                let offset = offset / DATA_ALIGN;
                match (u64::try_from(offset), word) {
                    (Ok(offset), "val_offset") => {
                        simple(&mut code, dw::DW_CFA_val_offset, &[register, offset]);
                    }
                    (Err(_), "val_offset") => {
                        simple(&mut code, dw::DW_CFA_val_offset_sf, &[register]);
                        leb128::signed(&mut code, offset);
                    }
                    (Ok(offset), _) => match short(dw::DW_CFA_offset, register) {
                        Some(opcode) => simple(&mut code, opcode, &[offset]),
                        None => simple(&mut code, dw::DW_CFA_offset_extended, &[register, offset]),
                    },
                    (Err(_), _) => {
                        simple(&mut code, dw::DW_CFA_offset_extended_sf, &[register]);
                        leb128::signed(&mut code, offset);
                    }
                }
            }
            "restore" => {
                let register = self.column(cursor)?;
                match short(dw::DW_CFA_restore, register) {
                    Some(opcode) => code.push(opcode.0),
                    None => simple(&mut code, dw::DW_CFA_restore_extended, &[register]),
                }
            }
            "undefined" | "same_value" => {
                let register = self.column(cursor)?;
                let opcode = if word == "undefined" { dw::DW_CFA_undefined } else { dw::DW_CFA_same_value };
                simple(&mut code, opcode, &[register]);
            }
            "register" => {
                let register = self.column(cursor)?;
                cursor.expect(",")?;
                let other = self.column(cursor)?;
                simple(&mut code, dw::DW_CFA_register, &[register, other]);
            }
            "remember_state" => code.push(dw::DW_CFA_remember_state.0),
            "restore_state" => code.push(dw::DW_CFA_restore_state.0),
            "escape" => loop {
                let at = cursor.at();
                let value = self.absolute(cursor)?;
                code.push(u8::try_from(value).map_err(|_| {
                    Diagnostic::new(at..cursor.end(), format!("expected a byte, found {value}"))
                })?);
                if !cursor.eat(",") {
                    break;
                }
            },
            "llvm_register_pair" => code = self.register_parts(cursor)?,
            "return_column" => frame.return_column = self.column(cursor)?,
            _ => {
                let message = format!("`.cfi_{word}` is not implemented");
                return Err(Diagnostic::new(span, message)
                    .note("`.cfi_escape` takes the bytes of any call frame instruction"));
            }
        }
        Ok(code)
    }

    /// `.cfi_llvm_register_pair register, low, bits, high, bits`: the register is saved in two others.
    fn register_parts(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Fail> {
        let register = self.column(cursor)?;
        let mut expression = Vec::new();
        for _ in 0..2 {
            cursor.expect(",")?;
            let part = self.column(cursor)?;
            cursor.expect(",")?;
            let bits = self.column(cursor)?;
            expression.push(dw::DW_OP_regx.0);
            leb128::unsigned(&mut expression, part);
            expression.push(dw::DW_OP_piece.0);
            leb128::unsigned(&mut expression, bits / 8);
        }
        let mut code = vec![dw::DW_CFA_expression.0];
        leb128::unsigned(&mut code, register);
        leb128::unsigned(&mut code, expression.len() as u64);
        code.extend(expression);
        Ok(code)
    }

    /// Appends the frames to their section.
    pub(super) fn finish_frames(&mut self) {
        if let Some(open) = self.frames.open.take() {
            let fail = Diagnostic::new(
                open.place.span.clone(),
                "expected `.cfi_endproc`, found the end of the file",
            );
            self.report_at(&open.place, *fail);
        }
        let frames = std::mem::take(&mut self.frames);
        let Some(first) = frames.all.first() else { return };
        let (exceptions, debug) = frames.sections.unwrap_or((true, false));
        if exceptions {
            let fail = Diagnostic::new(
                first.place.span.clone(),
                "frames are not written for exceptions (`.eh_frame`), which code of GPUs cannot throw",
            )
            .note("`.cfi_sections .debug_frame` asks for those of debuggers only");
            self.warn_at(&first.place, *fail);
        }
        if !debug {
            return;
        }
        let section = self.section_named(".debug_frame");
        self.current = section;
        self.section().align = self.section().align.max(8);
        let base = self.offset();
        let mut bytes = entry(&common(first.return_column));
        for frame in &frames.all {
            // The entry of what all have in common, where the frame begins, and how long it is.
            let mut body = vec![0; 12];
            body.extend((frame.end - frame.start).to_le_bytes());
            let mut last = frame.start;
            for (offset, code) in &frame.instructions {
                if !code.is_empty() {
                    advance(&mut body, (offset - last) / STEP);
                    last = *offset;
                    body.extend(code);
                }
            }
            let at = base + bytes.len() as u64 + 4;
            let start = self.symbols.place_of((frame.section, frame.start));
            let fields = [(at, 4, Expression::sum(".debug_frame", base)), (at + 4, 8, start)];
            for (offset, size, expression) in fields {
                let place = frame.place.clone();
                let kind = PendingKind::Data(size);
                self.pending.push(Pending { section, offset, kind, expression, place });
            }
            bytes.extend(entry(&body));
        }
        self.append_generated(&bytes);
    }
}

/// An opcode with the register in it, if it has room.
fn short(opcode: dw::DwCfa, register: u64) -> Option<dw::DwCfa> {
    (register < 64).then_some(dw::DwCfa(opcode.0 | register as u8))
}

/// An entry: its length, and no operations up to a multiple of eight bytes.
fn entry(body: &[u8]) -> Vec<u8> {
    let size = (body.len() + 4).next_multiple_of(8);
    let mut bytes = ((size - 4) as u32).to_le_bytes().to_vec();
    bytes.extend(body);
    bytes.resize(size, dw::DW_CFA_nop.0);
    bytes
}

/// What all frames have in common.
fn common(return_column: u64) -> Vec<u8> {
    // The mark of such an entry, version 4, nothing that goes beyond it, addresses of eight bytes without segments.
    let mut body = vec![0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 8, 0];
    leb128::unsigned(&mut body, STEP);
    leb128::signed(&mut body, DATA_ALIGN);
    leb128::unsigned(&mut body, return_column);
    body
}

/// So many steps further in the code.
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
            // Sections are not so long that it would not fit.
            body.push(dw::DW_CFA_advance_loc4.0);
            body.extend(steps.unwrap_or(u32::MAX).to_le_bytes());
        }
    }
}
