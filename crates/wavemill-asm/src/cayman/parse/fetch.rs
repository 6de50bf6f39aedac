//! Words of clauses of fetches and of the global data share.

use wavemill_isa::cayman::{FieldId as F, Format};

use super::Line;
use crate::cayman::field::value_names;
use crate::cayman::mnemonic::mnemonic;
use crate::cayman::syntax::{COORD_TYPES, COORDS, DATA_FORMATS, DST_SELS, NUMBERS, SRC_SELS};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::closest;

impl Line<'_, '_, '_> {
    pub(super) fn vertex(&mut self) -> Result<(), Fail> {
        if self.inst.format() == Format::VtxSemantic {
            let start = self.cursor.at();
            let name = self.cursor.name();
            let span = start..self.cursor.end();
            let (head, letters) = name.split_once('.').unwrap_or((name, ""));
            let Some(number) = head.strip_prefix("sem").and_then(|number| number.parse::<u32>().ok()) else {
                self.cursor.go_to(start);
                return Err(self.cursor.expected("a semantic such as `sem0.xyzw`"));
            };
            self.set(F::SemanticId, number, span.start..span.start + head.len())?;
            let letters_span = span.end - letters.len()..span.end;
            self.selections(&DST_SELS, letters, letters_span)?;
        } else {
            let (letters, span) = self.register(F::DstGpr, Some(F::DstRel))?;
            self.selections(&DST_SELS, letters, span)?;
        }
        self.source_channel()
    }

    pub(super) fn memory_read(&mut self) -> Result<(), Fail> {
        let (letters, span) = self.register(F::DstGpr, Some(F::DstRel))?;
        self.selections(&DST_SELS, letters, span)?;
        self.source_channel()
    }

    fn source_channel(&mut self) -> Result<(), Fail> {
        self.cursor.expect(",")?;
        let (letters, span) = self.register(F::SrcGpr, Some(F::SrcRel))?;
        let channel = self.channel(letters, &span)?;
        self.set(F::SrcSelX, channel, span)
    }

    pub(super) fn texture(&mut self) -> Result<(), Fail> {
        let (letters, span) = self.register(F::DstGpr, Some(F::DstRel))?;
        self.selections(&DST_SELS, letters, span)?;
        self.cursor.expect(",")?;
        let (letters, span) = self.register(F::SrcGpr, Some(F::SrcRel))?;
        self.selections(&SRC_SELS, letters, span)
    }

    /// `r1.x___, r2.xy0`. Accesses without a result may omit it.
    pub(super) fn share(&mut self) -> Result<(), Fail> {
        let has_result = self.inst.row().result.is_some();
        if has_result || self.is_pair() {
            let (letters, span) = self.register(F::DstGpr, None)?;
            if has_result && self.cursor.peek() != Some(b',') {
                let name = mnemonic(self.inst.op());
                let message = "`,` and the register of the address and the data";
                return Err(self.cursor.expected(&format!("{message}, as in `{name} r1.x___, r2.xyz`")));
            }
            self.selections(&DST_SELS, letters, span)?;
            self.cursor.expect(",")?;
        } else {
            let at = self.cursor.at();
            self.selections(&DST_SELS, "____", at..at)?;
        }
        let (letters, span) = self.register(F::SrcGpr, None)?;
        self.selections(&SRC_SELS[..3], letters, span)
    }

    /// Whether two registers come next.
    fn is_pair(&mut self) -> bool {
        let start = self.cursor.at();
        self.cursor.name();
        let is_pair = self.cursor.peek() == Some(b',') && {
            self.cursor.eat(",");
            let name = self.cursor.peek_name();
            name.strip_prefix('r').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        self.cursor.go_to(start);
        is_pair
    }

    /// What stands for a field of a fetch: `buf:1`, `fmt:32`, `int`. False if something else comes
    /// next.
    pub(super) fn fetch_field(&mut self) -> Result<bool, Fail> {
        let format = self.inst.format();
        if !format.is_fetch() {
            return Ok(false);
        }
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if self.inst.field(F::NumFormatAll).is_some() {
            if let Some(code) = NUMBERS.iter().position(|known| *known == name) {
                self.set(F::NumFormatAll, code as u32, span)?;
                return Ok(true);
            }
            if name == "signed" {
                self.set(F::FormatCompAll, 1, span)?;
                return Ok(true);
            }
        }
        let has_format = self.inst.field(F::DataFormat).is_some();
        let is_texture = format == Format::Tex;
        let is_vertex = matches!(format, Format::Vtx | Format::VtxSemantic);
        let numbered = match name {
            "buf" if is_vertex => Some((F::BufferId, F::BufferIndexMode)),
            "res" if is_texture => Some((F::ResourceId, F::ResourceIndexMode)),
            "smp" if is_texture => Some((F::SamplerId, F::SamplerIndexMode)),
            _ => None,
        };
        if let Some((id, index)) = numbered {
            self.cursor.expect(":")?;
            let at = self.cursor.at();
            let number = self.decimal("a number")?;
            self.set(id, number, at..self.cursor.end())?;
            self.number_index(index)?;
            return Ok(true);
        }
        match name {
            "fmt" if has_format => {
                self.cursor.expect(":")?;
                let (text, span) = self.letters();
                match DATA_FORMATS.iter().position(|known| *known == text && !text.is_empty()) {
                    Some(code) => self.set(F::DataFormat, code as u32, span)?,
                    None => {
                        let names: Vec<&str> =
                            DATA_FORMATS.into_iter().filter(|name| !name.is_empty()).collect();
                        let fail = Diagnostic::new(
                            span,
                            format!("expected a data format such as `32_32`, found `{text}`"),
                        );
                        return Err(match closest(text, &names)[..] {
                            [] => fail.note(format!("formats: {}", names.join(", "))),
                            ref near => fail.note(format!("similar: {}", near.join(", "))),
                        });
                    }
                }
            }
            "index" if is_vertex => {
                self.cursor.expect(":")?;
                let (text, span) = self.letters();
                let names = value_names(F::FetchType);
                match names.iter().position(|known| *known == text) {
                    Some(code) => self.set(F::FetchType, code as u32, span)?,
                    None => {
                        self.cursor.go_to(span.start);
                        return Err(self.cursor.expected(&format!("one of {}", names.join(", "))));
                    }
                }
            }
            "ct" if is_texture => {
                self.cursor.expect(":")?;
                let (text, span) = self.letters();
                let codes: Option<Vec<usize>> =
                    text.chars().map(|letter| COORDS.iter().position(|known| *known == letter)).collect();
                match codes {
                    Some(codes) if codes.len() == COORD_TYPES.len() => {
                        for (id, code) in COORD_TYPES.into_iter().zip(codes) {
                            self.set(id, code as u32, span.clone())?;
                        }
                    }
                    _ => {
                        return Err(Diagnostic::new(
                            span,
                            format!(
                                "expected n (normalised) or u for each of four coordinates, found `{text}`"
                            ),
                        ));
                    }
                }
            }
            _ => {
                self.cursor.go_to(start);
                return Ok(false);
            }
        }
        Ok(true)
    }
}
