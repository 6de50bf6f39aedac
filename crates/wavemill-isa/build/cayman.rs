//! Reads the row files of Cayman and writes their table.
//!
//! The files use the format of the GCN files (`table.rs`), with fewer words. `%format`, `%manual`,
//! `%columns` and `%fidelity` apply to the lines after them. Every other line is one instruction:
//! `OPCODE MNEMONIC TYPE... ATTR...`. An opcode with two parts is written `87:20`; a mnemonic of
//! two words has a `/` between them. `-` means no type. Attributes: `exact`, `rounded`,
//! `modelled` or `unsupported` where `%fidelity` does not hold, `facet:NAME` for an exception to
//! this level (`rows/cayman/facets.reasons` explains it), and `alias:MNEMONIC` for another spelling.
//! `slots:`, `chain:`, `addr:`, `stages:` and `flags:` take words of the enums `Slots`, `Chain`,
//! `Address`, `Stage` and `Flag`; the last two take lists with commas. `note:` ends the line with a
//! remark.

use crate::cayman::vocabulary::{Address, Chain, Elem, FieldId, Flag, Format, Slots, Stage};
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
    pub traits: Traits,
    pub fidelity: Fidelity,
    pub facets: Vec<String>,
    pub manual: String,
    pub note: String,
}

/// What a row says besides types and level.
#[derive(Debug, Clone, Default)]
pub struct Traits {
    pub slots: Option<Slots>,
    pub chain: Option<Chain>,
    pub address: Option<Address>,
    pub stages: Vec<Stage>,
    pub flags: Vec<Flag>,
}

impl Traits {
    /// Takes an attribute `KEY:TEXT`; `false` if the key is unknown.
    fn take(&mut self, key: &str, text: &str) -> Result<bool, String> {
        match key {
            "slots" => set(&mut self.slots, key, word("slots", text, Slots::ALL, Slots::name)?)?,
            "chain" => set(&mut self.chain, key, word("a chain", text, Chain::ALL, Chain::name)?)?,
            "addr" => set(&mut self.address, key, word("an address", text, Address::ALL, Address::name)?)?,
            "stages" => list(&mut self.stages, "a stage", text, Stage::ALL, Stage::name)?,
            "flags" => list(&mut self.flags, "a flag", text, Flag::ALL, Flag::name)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn word<T: Copy>(
    what: &str,
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str + Copy,
) -> Result<T, String> {
    let found = all.iter().copied().find(|one| name(*one) == text);
    found.ok_or_else(|| unknown(what, text, all.iter().map(|one| name(*one))))
}

fn set<T>(to: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match to.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("expected `{key}:` once, found it twice")),
    }
}

fn list<T: Copy + PartialEq>(
    to: &mut Vec<T>,
    what: &str,
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str + Copy,
) -> Result<(), String> {
    for part in text.split(',') {
        let value = word(what, part, all, name)?;
        if to.contains(&value) {
            return Err(format!("expected {what} once, found `{part}` twice"));
        }
        to.push(value);
    }
    Ok(())
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
                let kind = |format: Format| (format.is_alu(), format.is_gds());
                if self.format.is_some_and(|before| kind(before) != kind(format)) {
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
        let mut traits = Traits::default();
        for attribute in cells {
            match attribute.split_once(':') {
                Some(("alias", alias)) => aliases.push(parse_name(alias)?),
                Some(("facet", name)) if facets.iter().any(|other| other == name) => {
                    return Err(format!("expected each facet once, found `{name}` twice"));
                }
                Some(("facet", name)) => facets.push(name.to_owned()),
                Some((key, text)) if traits.take(key, text)? => {}
                _ => {
                    let level = Fidelity::from_name(attribute).ok_or_else(|| {
                        format!(
                            "expected alias:, facet:, slots:, chain:, addr:, stages:, flags:, exact, rounded, modelled or unsupported, found `{attribute}`"
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
            traits,
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
    let opcode = format
        .opcode()
        .ok_or_else(|| format!("expected a format of instructions, found {}", format.name()))?;
    let number = |text: &str, id: FieldId| {
        let code: u16 = text.parse().map_err(|_| format!("expected an opcode, found `{text}`"))?;
        let limit = 1u32 << width(format, id);
        match u32::from(code) < limit {
            true => Ok(code),
            false => Err(format!("expected an opcode below {limit} in {}, found {code}", format.name())),
        }
    };
    match (text.split_once(':'), format.sub_opcode()) {
        (Some((code, sub)), Some(id)) => Ok((number(code, opcode)?, number(sub, id)?)),
        (None, None) => Ok((number(text, opcode)?, 0)),
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
        let has_types = !row.sources.is_empty() || row.result.is_some();
        if has_types && !row.format.is_alu() && !row.format.is_gds() {
            let message = "expected types of sources in rows of ALU slots and of the global data share only, \
                           found some";
            errors.push(row.error(message.into()));
        }
        let wrong = |what: &str, format: &str| {
            Some(row.error(format!(
                "expected {what} in rows of {format} only, found it in {}",
                row.format.name()
            )))
        };
        let traits = &row.traits;
        if traits.slots.or(traits.chain.map(|_| Slots::Any)).is_some() && !row.format.is_alu() {
            errors.extend(wrong("slots: or chain:", "ALU slots"));
        }
        if traits.address.is_some() && row.format.field(FieldId::Addr).is_none() {
            errors.extend(wrong("addr:", "formats with an address"));
        }
        let several = traits.slots.unwrap_or(Slots::Any);
        // The slot that a chain reads must exist for every channel that the row allows.
        let missing = |chain: Chain| {
            (0..4u8).any(|channel| several.allow(1 << channel) && chain.producer(channel).is_none())
        };
        if traits.chain.is_some_and(missing) {
            errors.push(row.error(format!("expected slots: whose chain exists, found `{}`", several.name())));
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
        let Traits { slots, chain, address, stages, flags } = &row.traits;
        let chain = chain.map_or("None".to_owned(), |chain| format!("Some(Chain::{})", chain.variant()));
        let address =
            address.map_or("None".to_owned(), |address| format!("Some(Address::{})", address.variant()));
        let stages: Vec<String> = stages.iter().map(|stage| format!("Stage::{}", stage.variant())).collect();
        let flags: Vec<String> = flags.iter().map(|flag| format!("Flag::{}", flag.variant())).collect();
        line!("    Row {{");
        line!("        op: Op::{},", variant(&row.name));
        line!("        format: Format::{},", row.format.variant());
        line!("        code: {},", row.code);
        line!("        sub_code: {},", row.sub);
        line!("        name: {:?},", row.name);
        line!("        aliases: &{:?},", row.aliases);
        line!("        sources: &[{}],", sources.join(", "));
        line!("        result: {result},");
        line!("        slots: Slots::{},", slots.unwrap_or(Slots::Any).variant());
        line!("        chain: {chain},");
        line!("        address: {address},");
        line!("        stages: &[{}],", stages.join(", "));
        line!("        flags: &[{}],", flags.join(", "));
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
