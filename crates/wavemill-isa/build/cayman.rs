//! Reads the row files of Cayman and writes their table.
//!
//! The files use the format of the GCN files (`table.rs`), with fewer words. `%format`, `%manual`,
//! `%columns` and `%fidelity` apply to the lines after them. Every other line is one instruction:
//! `OPCODE MNEMONIC TYPE... ATTR...`. An opcode with two parts is written `87:20`; a mnemonic of
//! two words has a `/` between them. `-` means no type. Attributes: `exact`, `rounded`,
//! `modelled` or `unsupported` where `%fidelity` does not hold, `facet:NAME` for an exception to
//! this level (`rows/cayman/facets.reasons` explains it), and `alias:MNEMONIC` for another spelling.
//! `note:` ends the line with a remark.

use crate::cayman::vocabulary::{Elem, FieldId, Format};
use crate::facets::{self, FacetUse, Faceted, SourceFacet};
use crate::gcn::vocabulary::Fidelity;
use crate::table::{RowError, read_lines, unknown};
use std::fmt::Write;

/// One instruction as its row describes it.
#[derive(Debug, Clone)]
pub struct SourceRow {
    pub file: String,
    pub line: usize,
    pub format: Format,
    pub code: u16,
    pub sub: u16,
    /// The mnemonic as texts spell it.
    pub name: String,
    pub aliases: Vec<String>,
    pub sources: Vec<Elem>,
    pub result: Option<Elem>,
    pub fidelity: Fidelity,
    pub facets: Vec<String>,
    pub manual: String,
    pub note: String,
}

impl Faceted for SourceRow {
    fn facets(&self) -> Vec<FacetUse<'_>> {
        self.facets.iter().map(|name| FacetUse { name, level: self.fidelity }).collect()
    }

    fn error(&self, message: String) -> RowError {
        RowError { file: self.file.clone(), line: self.line, message }
    }
}

#[derive(Default)]
struct Header {
    format: Option<Format>,
    manual: String,
    columns: Vec<String>,
    fidelity: Option<Fidelity>,
}

/// Parses one row file. Every error is reported, not only the first.
pub fn parse(file: &str, text: &str) -> Result<Vec<SourceRow>, Vec<RowError>> {
    let mut header = Header::default();
    let mut rows = Vec::new();
    read_lines(file, text, |number, line| match line.strip_prefix('%') {
        Some(directive) => header.apply(directive),
        None => header.row(file, number, line).map(|row| rows.push(row)),
    })?;
    Ok(rows)
}

impl Header {
    fn apply(&mut self, directive: &str) -> Result<(), String> {
        let (word, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let rest = rest.trim();
        match word {
            "format" => {
                let format = Format::from_name(rest)
                    .ok_or_else(|| unknown("a format", rest, Format::ALL.iter().map(|f| f.name())))?;
                // A file may have several formats. Settings carry over only to a format of the same
                // kind.
                if self.format.is_some_and(|before| before.is_alu() != format.is_alu()) {
                    *self = Header::default();
                }
                self.format = Some(format);
            }
            "manual" => self.manual = rest.to_owned(),
            "columns" => self.columns = rest.split_whitespace().map(str::to_owned).collect(),
            "fidelity" => {
                let level = Fidelity::from_name(rest).filter(|level| *level != Fidelity::Modelled);
                let known = Fidelity::ALL.iter().filter(|level| **level != Fidelity::Modelled);
                self.fidelity = Some(
                    level.ok_or_else(|| unknown("a level for most rows", rest, known.map(|l| l.name())))?,
                );
            }
            _ => return Err(format!("expected %format, %manual, %columns or %fidelity, found `%{word}`")),
        }
        Ok(())
    }

    fn row(&self, file: &str, line: usize, text: &str) -> Result<SourceRow, String> {
        let format = self.format.ok_or("expected %format before the first row")?;
        if self.manual.is_empty() {
            return Err("expected %manual before the first row".into());
        }
        let (text, note) = text.split_once("note:").unwrap_or((text, ""));
        let mut cells = text.split_whitespace();
        let mut next =
            |what: &str| cells.next().ok_or_else(|| format!("expected {what}, found the end of the line"));
        let (code, sub) = parse_code(format, next("an opcode")?)?;
        let name = parse_name(next("a mnemonic")?)?;
        let (mut sources, mut result) = (Vec::new(), None);
        for column in &self.columns {
            let cell = next(&format!("the type in column `{column}`"))?;
            if cell == "-" {
                continue;
            }
            let elem = Elem::from_name(cell)
                .ok_or_else(|| unknown("a type", cell, Elem::ALL.iter().map(|e| e.name())))?;
            match column.as_str() {
                "dst" => result = Some(elem),
                source if source == format!("src{}", sources.len()) => sources.push(elem),
                _ => return Err(format!("expected the columns src0, src1, src2 and dst, found `{column}`")),
            }
        }
        let mut aliases = Vec::new();
        let mut said = None;
        let mut facets: Vec<String> = Vec::new();
        for attribute in cells {
            match attribute.split_once(':') {
                Some(("alias", alias)) => aliases.push(parse_name(alias)?),
                Some(("facet", name)) if facets.iter().any(|other| other == name) => {
                    return Err(format!("expected each facet once, found `{name}` twice"));
                }
                Some(("facet", name)) => facets.push(name.to_owned()),
                _ => {
                    let level = Fidelity::from_name(attribute).ok_or_else(|| {
                        format!(
                            "expected alias:, facet:, exact, rounded, modelled or unsupported, found `{attribute}`"
                        )
                    })?;
                    if said.replace(level).is_some() {
                        return Err(format!(
                            "expected one fidelity, found `{attribute}` in addition to another"
                        ));
                    }
                }
            }
        }
        let fidelity = said
            .or(self.fidelity)
            .ok_or("expected a fidelity of the row, or `%fidelity LEVEL` before it, found none")?;
        if fidelity == Fidelity::Modelled && facets.is_empty() {
            return Err("expected `facet:NAME` on the modelled row, found none".into());
        }
        Ok(SourceRow {
            file: file.to_owned(),
            line,
            format,
            code,
            sub,
            name,
            aliases,
            sources,
            result,
            fidelity,
            facets,
            manual: self.manual.clone(),
            note: note.trim().to_owned(),
        })
    }
}

fn width(format: Format, id: FieldId) -> u32 {
    format.field(id).map_or(0, |field| field.width())
}

fn parse_code(format: Format, text: &str) -> Result<(u16, u16), String> {
    let number = |text: &str, id: FieldId| {
        let code: u16 = text.parse().map_err(|_| format!("expected an opcode, found `{text}`"))?;
        let limit = 1u32 << width(format, id);
        match u32::from(code) < limit {
            true => Ok(code),
            false => Err(format!("expected an opcode below {limit} in {}, found {code}", format.name())),
        }
    };
    match (text.split_once(':'), format.sub_opcode()) {
        (Some((code, sub)), Some(id)) => Ok((number(code, format.opcode())?, number(sub, id)?)),
        (None, None) => Ok((number(text, format.opcode())?, 0)),
        (Some(_), None) => {
            Err(format!("expected an opcode of one part in {}, found `{text}`", format.name()))
        }
        (None, Some(_)) => {
            Err(format!("expected an opcode of two parts in {}, found `{text}`", format.name()))
        }
    }
}

fn parse_name(name: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '/';
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(good) {
        return Err(format!("expected a mnemonic, found `{name}`"));
    }
    Ok(name.replace('/', " "))
}

/// Checks the rows of all files against each other.
pub fn check(rows: &[SourceRow]) -> Vec<RowError> {
    let mut errors = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for other in &rows[..index] {
            if (row.format, row.code, row.sub) == (other.format, other.code, other.sub) {
                errors.push(
                    row.error(format!("expected a unique opcode, found the opcode of `{}`", other.name)),
                );
            }
            let names = |row: &SourceRow| [vec![row.name.clone()], row.aliases.clone()].concat();
            if names(row).iter().any(|name| names(other).contains(name)) {
                errors.push(row.error(format!("expected a unique name, found the name of `{}`", other.name)));
            }
        }
        if row.format.is_alu() == row.sources.is_empty() {
            errors.push(row.error("expected types of sources in ALU rows, and in no others".into()));
        }
    }
    errors
}

/// `MULADD_IEEE` and `MEM_RAT_CACHELESS STORE_DWORD` as variant names.
fn variant(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_owned() + &rest.to_ascii_lowercase()
    };
    name.split(['_', ' ']).map(word).collect()
}

/// The source text of the generated table.
pub fn emit(rows: &[SourceRow], facets: &[SourceFacet]) -> String {
    let mut out = String::new();
    let w = &mut out;
    // Writing to a String cannot fail.
    macro_rules! line { ($($arg:tt)*) => { writeln!(w, $($arg)*).expect("writing to a string") }; }

    line!("/// An instruction: one variant per row of the tables, in the tables' order.");
    line!("#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]");
    line!("#[repr(u16)]");
    line!("pub enum Op {{");
    for row in rows {
        line!("    /// `{}`", row.name);
        line!("    {},", variant(&row.name));
    }
    line!("}}\n\nimpl Op {{");
    line!("    /// Every instruction, in the tables' order.");
    line!("    pub const ALL: &'static [Op] = &[");
    for row in rows {
        line!("        Op::{},", variant(&row.name));
    }
    line!("    ];\n}}\n");

    line!("{}", facets::emit(facets));

    line!("static ROWS: [Row; {}] = [", rows.len());
    for row in rows {
        let sources: Vec<String> = row.sources.iter().map(|e| format!("Elem::{}", e.variant())).collect();
        let result = row.result.map_or("None".to_owned(), |elem| format!("Some(Elem::{})", elem.variant()));
        line!("    Row {{");
        line!("        op: Op::{},", variant(&row.name));
        line!("        format: Format::{},", row.format.variant());
        line!("        code: {},", row.code);
        line!("        sub_code: {},", row.sub);
        line!("        name: {:?},", row.name);
        line!("        aliases: &{:?},", row.aliases);
        line!("        sources: &[{}],", sources.join(", "));
        line!("        result: {result},");
        line!("        fidelity: Fidelity::{},", row.fidelity.variant());
        let named = row.facets.iter().map(|name| &**name);
        line!("        facets: {},", facets::references(facets, named));
        line!("        section: {:?},", row.manual);
        line!("        note: {:?},", row.note);
        line!("    }},");
    }
    line!("];\n");

    line!("/// The instruction with an opcode.");
    line!("pub(super) const fn with_code(format: Format, code: u32, sub_code: u32) -> Option<Op> {{");
    line!("    match (format, code, sub_code) {{");
    for row in rows {
        let (format, name) = (row.format.variant(), variant(&row.name));
        line!("        (Format::{format}, {}, {}) => Some(Op::{name}),", row.code, row.sub);
    }
    line!("        _ => None,\n    }}\n}}");
    out
}
