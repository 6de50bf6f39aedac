//! `.cfi_*`: how a debugger finds the caller's frame, and what exceptions run.
//! [`frame_sections`](super::frame_sections) turns it into call frame information (DWARF 5, section
//! 6.4).

use gimli::constants as dw;

use super::frame_sections::PointerEncoding;
use super::{Assembler, Place, leb128};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::Cursor;

/// Unit for the offsets of saved registers, in bytes (AMDGPUUsage, "Call Frame Information").
pub(super) const DATA_ALIGN: i64 = 4;
/// `DW_CFA_LLVM_def_aspace_cfa`: a frame address in an address space (AMDGPUUsage and "DWARF Extensions For Heterogeneous
/// Debugging").
const DEF_ASPACE_CFA: u8 = 0x30;

/// The frames of a source.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// `.cfi_sections`, if present: whether it requests `.eh_frame` and `.debug_frame`.
    pub(super) sections: Option<(bool, bool)>,
    pub(super) open: Option<Frame>,
    pub(super) all: Vec<Frame>,
}

/// The frame of a function.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) section: usize,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) place: Place,
    /// The instructions, each with the offset in the section from which it applies.
    pub(super) instructions: Vec<(u64, Vec<u8>)>,
    /// The distance of the frame's address from its register, according to the directives so far.
    distance: i64,
    /// Whether the frame omits the instructions that other frames begin with.
    pub(super) simple: bool,
    /// The register column of the caller's program counter, if it is not the usual one.
    pub(super) return_column: Option<u64>,
    /// The personality routine, and the data that it reads.
    pub(super) personality: Option<(PointerEncoding, String)>,
    pub(super) data: Option<(PointerEncoding, String)>,
    /// Whether this is the frame of a signal handler.
    pub(super) signal: bool,
}

/// The message for directives in a section other than the section of their frame.
const ELSEWHERE: &str = "the frame began in another section";

impl Assembler<'_> {
    /// Handles directives about frames; false for others.
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
                let end = self.sections.offset();
                let section = self.sections.current;
                let mut frame = self.open_frame(span.clone())?;
                if frame.section != section {
                    return Err(Diagnostic::new(span, ELSEWHERE));
                }
                frame.end = end;
                self.debug.frames.all.push(frame);
            }
            _ => {
                let mut frame = self.open_frame(span.clone())?;
                let code = if frame.section == self.sections.current {
                    self.frame_instruction(word, &mut frame, cursor, span)
                } else {
                    Err(Diagnostic::new(span, ELSEWHERE))
                };
                let here = self.sections.offset();
                // An invalid line does not end the frame.
                let code = code.map(|code| frame.instructions.push((here, code)));
                self.debug.frames.open = Some(frame);
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
        self.debug.frames.sections = Some((exceptions, debug));
        self.end(cursor)
    }

    fn start_frame(&mut self, cursor: &mut Cursor<'_>, span: Span) -> Result<(), Fail> {
        let simple = cursor.eat_name("simple");
        self.end(cursor)?;
        if let Some(open) = &self.debug.frames.open {
            let message = format!("the frame of line {} is still open", open.place.line);
            return Err(Diagnostic::new(span, message).note("`.cfi_endproc` ends it"));
        }
        let start = self.sections.offset();
        self.debug.frames.open = Some(Frame {
            section: self.sections.current,
            start,
            end: start,
            place: self.place(cursor.text(), span),
            instructions: Vec::new(),
            distance: 0,
            simple,
            return_column: None,
            personality: None,
            data: None,
            signal: false,
        });
        Ok(())
    }

    fn open_frame(&mut self, span: Span) -> Result<Frame, Fail> {
        let open = self.debug.frames.open.take();
        open.ok_or_else(|| Diagnostic::new(span, "there is no `.cfi_startproc` before this"))
    }

    /// A register's number in DWARF.
    fn column(&mut self, cursor: &mut Cursor<'_>) -> Result<u64, Fail> {
        let start = cursor.at();
        if !matches!(cursor.peek(), Some(b'0'..=b'9')) {
            return Err(cursor.expected("a DWARF register number"));
        }
        let value = self.absolute(cursor)?;
        u64::try_from(value).ok().filter(|value| *value <= u32::MAX.into()).ok_or_else(|| {
            Diagnostic::new(start..cursor.end(), format!("expected a DWARF register number, found {value}"))
        })
    }

    /// A number that must not be negative.
    fn plain(&mut self, value: i64, span: &Span) -> Result<u64, Fail> {
        u64::try_from(value).map_err(|_| {
            Diagnostic::new(
                span.clone(),
                format!("the distance from the register is {value}; it must be at least 0"),
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
            "personality" => frame.personality = self.frame_symbol(cursor)?,
            "lsda" => frame.data = self.frame_symbol(cursor)?,
            "signal_frame" => frame.signal = true,
            "llvm_register_pair" => code = self.register_parts(cursor)?,
            "return_column" => frame.return_column = Some(self.column(cursor)?),
            _ => {
                let message = format!("`.cfi_{word}` is not implemented");
                return Err(Diagnostic::new(span, message)
                    .note("`.cfi_escape` accepts the bytes of any call frame instruction"));
            }
        }
        Ok(code)
    }

    /// `encoding, symbol`; the encoding 0xff means that there is no symbol.
    fn frame_symbol(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<(PointerEncoding, String)>, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        if value == i64::from(dw::DW_EH_PE_omit.0) {
            return Ok(None);
        }
        let encoding = PointerEncoding::new(value).ok_or_else(|| {
            let message = format!("expected a pointer encoding, found {value}");
            Diagnostic::new(start..cursor.end(), message)
                .note("the low four bits give the size (0, 2 to 4, 8, 10 to 12); 0x10 means relative, 0x80 means indirect")
        })?;
        cursor.expect(",")?;
        Ok(Some((encoding, self.symbol_name(cursor)?)))
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
}

/// An opcode that contains the register, if it fits.
fn short(opcode: dw::DwCfa, register: u64) -> Option<dw::DwCfa> {
    (register < 64).then_some(dw::DwCfa(opcode.0 | register as u8))
}
