//! Reads the row files.
//!
//! A row file is plain text. `#` starts a comment. A line that starts with `%` applies to the lines
//! after it:
//!
//! - `%format F`: the format (opcode space) of the rows; once, first.
//! - `%manual TEXT`: the manual's section that lists them; `%manual 908+: TEXT` adds the section
//!   for instructions that no other target has.
//! - `%columns ROLE...`: the operand columns of the rows that follow, in text order. `shape` is the
//!   column for the sizes of matrix products.
//! - `%default ATTR...`: attributes that every row has; `!ATTR` in a row removes one.
//! - `%fidelity LEVEL`: how exact the meaning of a row is ([`Fidelity`]) unless the row says
//!   otherwise.
//! - `%facet WHICH NAME`: a facet of many rows. `NAME@TARGETS` limits it to some targets, and
//!   `!facet:NAME` in a row removes it. WHICH is a [`Rule`]:
//!   - `fp`: all rows with the flag `fp`, a floating-point source and a floating-point result.
//!   - `float`: all rows with a floating-point operand.
//!   - `half`: all rows that write one 16-bit result without reading it.
//!   - `keeps_half`: all rows with this flag.
//!   - `lds`: all rows that access LDS.
//!   - `gds`: all instances with gds.
//!   - `omod`: all instances with an output modifier.
//!   - `fast_sums`: in runs with fast sums, all matrix products of floats whose cores sum in another
//!     way. Products of f32 and f64 are chains of fused multiply-adds in both.
//!
//! Every other line is one instruction: `OPCODE TARGETS MNEMONIC OPERAND... ATTR...`.
//! An opcode may differ by target (`99@90a,93@942+`) or be in the VOP3 space there
//! (`vop3:673@90a+`); a mnemonic may differ too. Targets are `all`, `906`, `906+`, `900-908` or a
//! comma list of these. An operand is `-` (none) or a type (`f32`, `f16x2`). Destinations are
//! written and all other columns are read. A mark before the type overrides that: `+` read and
//! written, `~` memory atomic with optional return, `r:` and `w:`. A prefix before the mark
//! restricts the register: `a:` always an accumulation VGPR; `v:` a vector register, `s:` a scalar
//! register and `c:` a scalar register or a constant, where the field could hold more ([`Takes`]).
//! A shape is `-` (none), or rows, columns, depth and blocks (`32x32x4x2`), without the blocks
//! where there is one.
//!
//! Attributes, which `@TARGETS` limits to some targets:
//!
//! - any [`Flag`];
//! - `e64`, `sdwa`, `dpp`: the further encodings;
//! - `reads:` and `writes:` with a comma list of [`State`]s;
//! - `mem:OPERATION.SPACE`: a memory access;
//! - `data:TYPE`: the data that goes straight to LDS;
//! - `mods:0,2`: the sources with absolute value and negation, if not the floating-point ones;
//! - `exact`, `rounded`, `modelled` or `unsupported`, where `%fidelity` does not hold;
//! - `facet:NAME`: an exception to this level, with a comma list for several;
//! - `alias:MNEMONIC`: another spelling that assemblers accept and nothing prints.
//!
//! `note:` ends the line with a remark.
//!
//! `rows/gcn/facets.reasons` has a line for each facet ([`crate::facets`]). A modelled row has at
//! least one facet. An unsupported row has none.

use crate::facets::{FacetUse, Faceted};
use crate::gcn::vocabulary::{
    Access, Elem, Fidelity, Flag, FlagSet, Format, MatrixShape, MemAccess, MemOp, MemSpace, Role, State,
    StateSet, Takes, Type,
};
use crate::target::{Family, Target, TargetSet};
use std::fmt;

/// An error in a row file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// File name.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// An operand of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandRow {
    pub role: Role,
    pub access: Access,
    pub ty: Type,
    /// Always an accumulation VGPR.
    pub accvgpr: bool,
    pub takes: Takes,
}

/// A facet of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFacet {
    pub name: String,
    pub targets: TargetSet,
    pub when: When,
}

/// The instances of a row that have a facet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Those with the modifier that the facet is about: an output modifier, gds, or fast sums of the
    /// run. No row has two of them.
    WithModifier,
}

/// The rows to which `%facet` gives a facet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Floating-point operations with a floating-point result.
    Fp,
    /// Rows with a floating-point operand.
    Float,
    /// Rows that write one 16-bit result and leave the other half of the register to a rule.
    Half,
    /// Rows that keep the other half of the register.
    KeepsHalf,
    /// Rows that access LDS.
    Lds,
    /// Instances with gds.
    Gds,
    /// Instances with an output modifier.
    Omod,
    /// Matrix products that fast sums change.
    FastSums,
}

impl Rule {
    const ALL: [(&'static str, Rule); 8] = [
        ("fp", Rule::Fp),
        ("float", Rule::Float),
        ("half", Rule::Half),
        ("keeps_half", Rule::KeepsHalf),
        ("lds", Rule::Lds),
        ("gds", Rule::Gds),
        ("omod", Rule::Omod),
        ("fast_sums", Rule::FastSums),
    ];

    fn from_name(name: &str) -> Option<Rule> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, rule)| rule)
    }

    fn when(self) -> When {
        match self {
            Rule::Gds | Rule::Omod | Rule::FastSums => When::WithModifier,
            Rule::Fp | Rule::Float | Rule::Half | Rule::KeepsHalf | Rule::Lds => When::Always,
        }
    }

    /// The targets on which it holds for a row.
    fn targets(self, row: &SourceRow) -> TargetSet {
        let flag =
            |flag| row.flags.iter().find(|(f, _)| *f == flag).map_or(TargetSet::EMPTY, |&(_, set)| set);
        let result = row.operand(Role::Vdst);
        let float = |operand: &OperandRow| operand.ty.elem.is_float();
        let source =
            |operand: &&OperandRow| operand.access == Access::Read || operand.access == Access::ReadWrite;
        match self {
            Rule::Fp if result.is_some_and(float) && row.operands.iter().filter(source).any(float) => {
                flag(Flag::Fp)
            }
            Rule::Float if row.operands.iter().any(float) => row.targets,
            Rule::Half
                if result.is_some_and(|result| result.access == Access::Write && result.ty.bits() == 16) =>
            {
                row.targets
            }
            Rule::Lds if row.memory.iter().any(|access| access.space == MemSpace::Lds) => row.targets,
            Rule::KeepsHalf => flag(Flag::KeepsHalf),
            Rule::Gds => flag(Flag::Gds),
            Rule::Omod => flag(Flag::Omod),
            Rule::FastSums => {
                let summed =
                    |factor: &OperandRow| float(factor) && !matches!(factor.ty.elem, Elem::F32 | Elem::F64);
                if row.operand(Role::Src0).is_some_and(summed) { flag(Flag::Fp) } else { TargetSet::EMPTY }
            }
            Rule::Fp | Rule::Float | Rule::Half | Rule::Lds => TargetSet::EMPTY,
        }
    }
}

/// One instruction as its row describes it.
#[derive(Debug, Clone)]
pub struct SourceRow {
    pub file: String,
    pub line: usize,
    pub format: Format,
    pub manual: String,
    pub targets: TargetSet,
    /// Opcodes: targets, opcode space, number.
    pub codes: Vec<(TargetSet, Format, u16)>,
    /// Mnemonics: targets, text.
    pub names: Vec<(TargetSet, String)>,
    /// Further spellings that are accepted but never printed: targets, text.
    pub aliases: Vec<(TargetSet, String)>,
    pub shape: Option<MatrixShape>,
    pub operands: Vec<OperandRow>,
    pub reads: StateSet,
    pub writes: StateSet,
    pub memory: Vec<MemAccess>,
    /// Type of the data that a memory-to-LDS instruction moves.
    pub data: Option<Type>,
    /// Flags and the targets on which they hold.
    pub flags: Vec<(Flag, TargetSet)>,
    /// Sources that accept absolute value and negation, if not the float-typed ones.
    pub mods: Option<u8>,
    /// Targets with the 64-bit, SDWA and DPP encodings.
    pub e64: TargetSet,
    pub sdwa: TargetSet,
    pub dpp: TargetSet,
    /// How exact the meaning is on which targets. The sets cover every target of the row.
    pub fidelity: Vec<(TargetSet, Fidelity)>,
    pub facets: Vec<RowFacet>,
    pub note: Option<String>,
}

impl SourceRow {
    pub fn error(&self, message: impl Into<String>) -> RowError {
        RowError { file: self.file.clone(), line: self.line, message: message.into() }
    }

    /// The newest mnemonic: the one that names the instruction.
    pub fn name(&self) -> &str {
        &self.names.last().expect("the parser lets no row without mnemonic pass").1
    }

    pub fn operand(&self, role: Role) -> Option<&OperandRow> {
        self.operands.iter().find(|operand| operand.role == role)
    }

    pub fn has(&self, flag: Flag, target: Target) -> bool {
        self.flags.iter().any(|&(f, targets)| f == flag && targets.contains(target))
    }

    /// Flags that hold on some target.
    pub fn flag_set(&self) -> FlagSet {
        self.flags.iter().fold(FlagSet::EMPTY, |set, &(flag, _)| set.with(flag))
    }

    /// The sources (one bit per source) that accept absolute value and negation.
    pub fn float_mods(&self) -> u8 {
        if let Some(mods) = self.mods {
            return mods;
        }
        self.operands
            .iter()
            .filter(|operand| operand.ty.elem.is_float())
            .filter_map(|operand| operand.role.source())
            .fold(0, |mods, index: u8| mods | 1 << index)
    }
}

impl SourceRow {
    /// The level on a target of the row.
    pub fn level(&self, target: Target) -> Fidelity {
        let found = self.fidelity.iter().find(|(targets, _)| targets.contains(target));
        found.map_or(Fidelity::Unsupported, |&(_, level)| level)
    }

    /// The names of the facets on a target, in the order of the row: of plain instances, or of
    /// those with the modifier, too.
    pub fn facet_names(&self, target: Target, when: When) -> Vec<&str> {
        let holds = |facet: &&RowFacet| {
            facet.targets.contains(target) && (when == When::WithModifier || facet.when == When::Always)
        };
        self.facets.iter().filter(holds).map(|facet| &*facet.name).collect()
    }

    /// Adds a facet of the row.
    fn add_facet(&mut self, name: &str, targets: TargetSet, when: When) -> Result<(), String> {
        let same = |facet: &RowFacet| facet.name == name && !facet.targets.intersection(targets).is_empty();
        if self.facets.iter().any(same) {
            return Err(format!("expected each facet once per target, found `{name}` twice"));
        }
        self.facets.push(RowFacet { name: name.to_owned(), targets, when });
        Ok(())
    }
}

impl Faceted for SourceRow {
    fn facets(&self) -> Vec<FacetUse<'_>> {
        let mut uses = Vec::new();
        for facet in &self.facets {
            for target in facet.targets.iter() {
                let one = FacetUse { name: &facet.name, level: self.level(target) };
                if !uses.contains(&one) {
                    uses.push(one);
                }
            }
        }
        uses
    }

    fn error(&self, message: String) -> RowError {
        SourceRow::error(self, message)
    }
}

/// A column after the mnemonic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Shape,
    Operand(Role),
}

impl Column {
    const SHAPE: &'static str = "shape";

    fn from_name(name: &str) -> Option<Column> {
        if name == Self::SHAPE { Some(Column::Shape) } else { Role::from_name(name).map(Column::Operand) }
    }

    fn name(self) -> &'static str {
        match self {
            Column::Shape => Self::SHAPE,
            Column::Operand(role) => role.name(),
        }
    }
}

/// The state set by `%` lines.
#[derive(Default)]
struct Header {
    format: Option<Format>,
    /// Sections, with the targets for whose new instructions they apply.
    manual: Vec<(TargetSet, String)>,
    columns: Vec<Column>,
    defaults: Vec<String>,
    fidelity: Option<Fidelity>,
    /// Facets of many rows.
    facets: Vec<(Rule, String, TargetSet)>,
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

/// Calls `take` with each non-empty line without its comment, and its number. Collects the errors.
pub fn read_lines(
    file: &str,
    text: &str,
    mut take: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), Vec<RowError>> {
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split_once('#').map_or(line, |(code, _)| code).trim();
        if line.is_empty() {
            continue;
        }
        if let Err(message) = take(index + 1, line) {
            errors.push(RowError { file: file.to_owned(), line: index + 1, message });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

pub fn unknown(what: &str, found: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.collect();
    format!("expected {what}, found `{found}` (known: {})", known.join(", "))
}

impl Header {
    fn apply(&mut self, directive: &str) -> Result<(), String> {
        let (word, rest) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let rest = rest.trim();
        match word {
            "format" => {
                let format = Format::from_name(rest)
                    .ok_or_else(|| unknown("a format", rest, Format::ALL.iter().map(|f| f.name())))?;
                if self.format.replace(format).is_some() {
                    return Err("expected one %format per file, found a second".into());
                }
            }
            "manual" => {
                let (targets, section) = match rest.split_once(": ") {
                    Some((targets, section)) => (parse_targets(targets)?, section),
                    None => {
                        self.manual.clear();
                        (FAMILY.targets(), rest)
                    }
                };
                self.manual.push((targets, section.trim().to_owned()));
            }
            "columns" => {
                self.columns.clear();
                for name in rest.split_whitespace() {
                    let column = Column::from_name(name).ok_or_else(|| {
                        let names = Role::ALL.iter().map(|role| role.name());
                        unknown("an operand column", name, names.chain([Column::SHAPE]))
                    })?;
                    if self.columns.contains(&column) {
                        return Err(format!("expected each column once, found `{name}` twice"));
                    }
                    self.columns.push(column);
                }
            }
            "fidelity" => {
                let level = Fidelity::from_name(rest).filter(|level| *level != Fidelity::Modelled);
                let known = Fidelity::ALL.iter().filter(|level| **level != Fidelity::Modelled);
                self.fidelity = Some(
                    level.ok_or_else(|| unknown("a level for most rows", rest, known.map(|l| l.name())))?,
                );
            }
            "facet" => {
                let (which, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let rule = Rule::from_name(which).ok_or_else(|| {
                    unknown("the rows that have the facet", which, Rule::ALL.iter().map(|(name, _)| *name))
                })?;
                let name = name.trim();
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return Err(format!("expected the name of one facet, found `{name}`"));
                }
                let (name, targets) = match name.split_once('@') {
                    Some((name, targets)) => (name, parse_targets(targets)?),
                    None => (name, FAMILY.targets()),
                };
                self.facets.push((rule, name.to_owned(), targets));
            }
            "default" => self.defaults = rest.split_whitespace().map(str::to_owned).collect(),
            _ => {
                return Err(format!(
                    "expected %format, %manual, %columns, %default, %fidelity or %facet, found `%{word}`"
                ));
            }
        }
        Ok(())
    }

    /// The section for a row with these targets: the last one given for all of them.
    fn section(&self, targets: TargetSet) -> String {
        let fits = |set: TargetSet| targets.iter().all(|target| set.contains(target));
        self.manual
            .iter()
            .rev()
            .find(|(set, _)| fits(*set))
            .map_or_else(String::new, |(_, text)| text.clone())
    }

    fn row(&self, file: &str, line: usize, text: &str) -> Result<SourceRow, String> {
        let format = self.format.ok_or("expected %format before the first row")?;
        let (text, note) = match text.split_once("note:") {
            Some((text, note)) => (text, Some(note.trim().to_owned())),
            None => (text, None),
        };
        let mut cells = text.split_whitespace();
        let mut next =
            |what: &str| cells.next().ok_or_else(|| format!("expected {what}, found the end of the line"));
        let codes = next("an opcode")?;
        let targets = parse_targets(next("a target set")?)?;
        let names = next("a mnemonic")?;
        let mut operands = Vec::new();
        let mut shape = None;
        for &column in &self.columns {
            let what = if column == Column::Shape { "cell" } else { "operand" };
            let cell = next(&format!("the {what} in column `{}`", column.name()))?;
            match column {
                _ if cell == "-" => {}
                Column::Shape => shape = Some(parse_shape(cell)?),
                Column::Operand(role) => operands.push(parse_operand(role, cell)?),
            }
        }
        let mut row = SourceRow {
            file: file.to_owned(),
            line,
            format,
            manual: self.section(targets),
            targets,
            codes: parse_codes(format, codes, targets)?,
            names: parse_names(names, targets)?,
            aliases: Vec::new(),
            shape,
            operands,
            reads: StateSet::EMPTY,
            writes: StateSet::EMPTY,
            memory: Vec::new(),
            data: None,
            flags: Vec::new(),
            mods: None,
            e64: TargetSet::EMPTY,
            sdwa: TargetSet::EMPTY,
            dpp: TargetSet::EMPTY,
            fidelity: Vec::new(),
            facets: Vec::new(),
            note,
        };
        let attributes: Vec<&str> = cells.collect();
        for default in &self.defaults {
            if !attributes.iter().any(|a| a.strip_prefix('!') == Some(default)) {
                apply_attribute(&mut row, default)?;
            }
        }
        let mut without = Vec::new();
        for attribute in attributes {
            match attribute.strip_prefix('!') {
                Some(removed) if self.defaults.iter().any(|d| d == removed) => {}
                Some(removed) if removed.starts_with("facet:") => without.push(&removed["facet:".len()..]),
                Some(removed) => {
                    return Err(format!("expected a default attribute after `!`, found `{removed}`"));
                }
                None => apply_attribute(&mut row, attribute)?,
            }
        }
        if row.operands.iter().any(|operand| operand.ty.elem == Elem::Mix) {
            apply_attribute(&mut row, Flag::Mix.name())?;
        }
        let said = row.fidelity.iter().fold(TargetSet::EMPTY, |set, (targets, _)| set.union(*targets));
        let rest = targets.difference(said);
        if !rest.is_empty() {
            let level = self.fidelity.ok_or(
                "expected a fidelity for every target of the row (`%fidelity LEVEL` before it, or exact, rounded, \
                 modelled or unsupported on it), found none",
            )?;
            row.fidelity.push((rest, level));
        }
        self.add_facets(&mut row, &without)?;
        Ok(row)
    }

    /// Adds the facets that `%facet` gives to a row, without those that the row removes.
    fn add_facets(&self, row: &mut SourceRow, without: &[&str]) -> Result<(), String> {
        let level = |row: &SourceRow, wanted| {
            let of_level = row.fidelity.iter().filter(|(_, level)| *level == wanted);
            of_level.fold(TargetSet::EMPTY, |set, (targets, _)| set.union(*targets))
        };
        let supported = row.targets.difference(level(row, Fidelity::Unsupported));
        let mut removed = Vec::new();
        for (rule, name, targets) in &self.facets {
            let targets = rule.targets(row).intersection(*targets).intersection(supported);
            if targets.is_empty() {
                continue;
            }
            if without.contains(&&**name) {
                removed.push(&**name);
            } else {
                row.add_facet(name, targets, rule.when())?;
            }
        }
        if let Some(name) = without.iter().find(|name| !removed.contains(name)) {
            return Err(format!(
                "expected a facet that %facet gives to the row after `!facet:`, found `{name}`"
            ));
        }
        let explained = row.facets.iter().filter(|facet| facet.when == When::Always);
        let explained = explained.fold(TargetSet::EMPTY, |set, facet| set.union(facet.targets));
        if !level(row, Fidelity::Modelled).difference(explained).is_empty() {
            return Err("expected `facet:NAME` on every modelled target, found none".into());
        }
        Ok(())
    }
}

/// The family whose rows these are.
const FAMILY: Family = Family::Gcn;

/// Parses a target set: `all`, or a comma list of `906`, `906+`, `900-908`. Ranges follow the
/// generations of the family.
pub fn parse_targets(text: &str) -> Result<TargetSet, String> {
    if text == "all" {
        return Ok(FAMILY.targets());
    }
    let generations = FAMILY.generations();
    let short = |target: &Target| target.name().trim_start_matches("gfx");
    let one = |name: &str| {
        generations.iter().position(|target| short(target) == name).ok_or_else(|| {
            unknown("a target set", text, ["all"].into_iter().chain(generations.iter().map(short)))
        })
    };
    let mut set = TargetSet::EMPTY;
    for item in text.split(',') {
        let part = if let Some(first) = item.strip_suffix('+') {
            TargetSet::from_list(&generations[one(first)?..])
        } else if let Some((first, last)) = item.split_once('-') {
            let range = generations.get(one(first)?..=one(last)?).filter(|range| !range.is_empty());
            TargetSet::from_list(
                range.ok_or_else(|| format!("expected an ascending target range, found `{item}`"))?,
            )
        } else {
            TargetSet::of(generations[one(item)?])
        };
        if !set.intersection(part).is_empty() {
            return Err(format!("expected each target once, found `{text}`"));
        }
        set = set.union(part);
    }
    Ok(set)
}

/// Splits `a@906,b@908+` into items with target sets; an item without `@` applies to `all`.
fn per_target(text: &str, all: TargetSet) -> Result<Vec<(TargetSet, &str)>, String> {
    let mut items = Vec::new();
    let mut covered = TargetSet::EMPTY;
    let parts: Vec<&str> = text.split(',').collect();
    for part in parts.iter().rev() {
        let (value, targets) = match part.split_once('@') {
            Some((value, targets)) => (value, parse_targets(targets)?),
            None => (*part, all.difference(covered)),
        };
        if !targets.difference(all).is_empty() {
            return Err(format!("expected targets of the row, found `{part}`"));
        }
        if targets.is_empty() || !covered.intersection(targets).is_empty() {
            return Err(format!("expected each target once, found `{text}`"));
        }
        covered = covered.union(targets);
        items.push((targets, value));
    }
    if covered != all {
        return Err(format!("expected a value for every target of the row, found `{text}`"));
    }
    items.reverse();
    Ok(items)
}

fn parse_codes(
    format: Format,
    text: &str,
    targets: TargetSet,
) -> Result<Vec<(TargetSet, Format, u16)>, String> {
    per_target(text, targets)?
        .into_iter()
        .map(|(targets, value)| {
            let (space, number) = match value.strip_prefix("vop3:") {
                Some(number) => (Format::Vop3, number),
                None => (format, value),
            };
            let code: u16 = number.parse().map_err(|_| format!("expected an opcode, found `{value}`"))?;
            let limit = 1u32 << space.op_bits();
            if u32::from(code) >= limit {
                return Err(format!("expected an opcode below {limit} in {}, found {code}", space.name()));
            }
            Ok((targets, space, code))
        })
        .collect()
}

fn parse_names(text: &str, targets: TargetSet) -> Result<Vec<(TargetSet, String)>, String> {
    per_target(text, targets)?.into_iter().map(|(targets, name)| Ok((targets, parse_name(name)?))).collect()
}

fn parse_name(name: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(good) {
        return Err(format!("expected a mnemonic, found `{name}`"));
    }
    Ok(name.to_owned())
}

/// Parses `f16x2` and the like.
pub fn parse_type(text: &str) -> Result<Type, String> {
    if let Some(elem) = Elem::from_name(text) {
        return Ok(Type::one(elem));
    }
    let parsed = text.rsplit_once('x').and_then(|(elem, count)| {
        let count: u8 = count.parse().ok()?;
        Some(Type { elem: Elem::from_name(elem)?, count })
    });
    match parsed {
        Some(ty) if ty.elem.bits() == 0 => {
            Err(format!("expected no count on `{}`, found `{text}`", ty.elem.name()))
        }
        Some(ty) if (2..=64).contains(&ty.count) && ty.bits() <= 1024 => Ok(ty),
        Some(_) => Err(format!("expected 2 to 64 elements and at most 1024 bits, found `{text}`")),
        None => Err(unknown("an operand type", text, Elem::ALL.iter().map(|e| e.name()))),
    }
}

/// Parses `32x32x8` and `32x32x4x2`.
fn parse_shape(text: &str) -> Result<MatrixShape, String> {
    let sizes: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    let shape = match sizes.as_deref() {
        Ok(&[rows, columns, depth]) => MatrixShape { rows, columns, depth, blocks: 1 },
        Ok(&[rows, columns, depth, blocks]) if blocks > 1 => MatrixShape { rows, columns, depth, blocks },
        _ => {
            return Err(format!(
                "expected rows, columns, depth and more than one block, or no blocks (`32x32x4x2`), found `{text}`"
            ));
        }
    };
    let sizes = [shape.rows, shape.columns, shape.depth, shape.blocks];
    if sizes.iter().any(|size| !(1..=1024).contains(size)) {
        return Err(format!("expected sizes from 1 to 1024, found `{text}`"));
    }
    Ok(shape)
}

fn parse_operand(role: Role, cell: &str) -> Result<OperandRow, String> {
    let written = matches!(role, Role::Vdst | Role::Sdst) || role == Role::Sdata;
    let (cell, accvgpr) = match cell.strip_prefix("a:") {
        Some(cell) => (cell, true),
        None => (cell, false),
    };
    let limit = Takes::ALL
        .iter()
        .find_map(|&takes| Some((cell.strip_prefix(takes.name())?.strip_prefix(':')?, takes)));
    let (cell, takes) = limit.unwrap_or((cell, Takes::Any));
    let (access, ty) = if let Some(ty) = cell.strip_prefix('+') {
        (Access::ReadWrite, ty)
    } else if let Some(ty) = cell.strip_prefix('~') {
        (Access::IfReturn, ty)
    } else if let Some(ty) = cell.strip_prefix("r:") {
        (Access::Read, ty)
    } else if let Some(ty) = cell.strip_prefix("w:") {
        (Access::Write, ty)
    } else {
        (if written { Access::Write } else { Access::Read }, cell)
    };
    let ty = parse_type(ty)?;
    let access = if ty.elem.is_immediate() { Access::Read } else { access };
    Ok(OperandRow { role, access, ty, accvgpr, takes })
}

fn add_fidelity(
    row: &mut SourceRow,
    attribute: &str,
    targets: TargetSet,
    level: Fidelity,
) -> Result<(), String> {
    if row.fidelity.iter().any(|(others, _)| !others.intersection(targets).is_empty()) {
        return Err(format!("expected one fidelity per target, found `{attribute}` in addition to another"));
    }
    row.fidelity.push((targets, level));
    Ok(())
}

fn apply_attribute(row: &mut SourceRow, attribute: &str) -> Result<(), String> {
    let (text, targets) = match attribute.split_once('@') {
        Some((text, targets)) => (text, parse_targets(targets)?),
        None => (attribute, row.targets),
    };
    if !targets.difference(row.targets).is_empty() {
        return Err(format!("expected targets of the row, found `{attribute}`"));
    }
    if let Some((key, value)) = text.split_once(':') {
        match key {
            "reads" | "writes" => {
                let set = if key == "reads" { &mut row.reads } else { &mut row.writes };
                for name in value.split(',') {
                    let state = State::from_name(name)
                        .ok_or_else(|| unknown("a state", name, State::ALL.iter().map(|s| s.name())))?;
                    *set = set.with(state);
                }
            }
            "mem" => {
                let (op, space) = value.split_once('.').unwrap_or((value, ""));
                let op = MemOp::from_name(op)
                    .ok_or_else(|| unknown("a memory operation", op, MemOp::ALL.iter().map(|o| o.name())))?;
                let space = MemSpace::from_name(space).ok_or_else(|| {
                    unknown("a memory space", space, MemSpace::ALL.iter().map(|s| s.name()))
                })?;
                row.memory.push(MemAccess { op, space });
            }
            "data" => row.data = Some(parse_type(value)?),
            "alias" => row.aliases.push((targets, parse_name(value)?)),
            "mods" => {
                let mut mods = 0u8;
                for item in value.split(',').filter(|&item| item != "none") {
                    match item {
                        "0" | "1" | "2" => mods |= 1 << (item.as_bytes()[0] - b'0'),
                        _ => {
                            return Err(format!("expected source numbers or `none` in mods, found `{item}`"));
                        }
                    }
                }
                row.mods = Some(mods);
            }
            "facet" => value.split(',').try_for_each(|name| row.add_facet(name, targets, When::Always))?,
            _ => {
                return Err(format!(
                    "expected reads:, writes:, mem:, data:, mods:, alias: or facet:, found `{attribute}`"
                ));
            }
        }
        return Ok(());
    }
    match text {
        "e64" => row.e64 = targets,
        "sdwa" => row.sdwa = targets,
        "dpp" => row.dpp = targets,
        _ if let Some(level) = Fidelity::from_name(text) => add_fidelity(row, attribute, targets, level)?,
        _ => {
            let flag = Flag::from_name(text)
                .ok_or_else(|| unknown("an attribute", attribute, Flag::ALL.iter().map(|f| f.name())))?;
            if row.flags.iter().any(|&(f, _)| f == flag) {
                return Err(format!("expected each attribute once, found `{text}` twice"));
            }
            row.flags.push((flag, targets));
        }
    }
    Ok(())
}
