//! `.file` and `.loc`: where code comes from. They become the line table (`.debug_line`; DWARF 5,
//! section 6.2) in version 4, or 5 if the source has a file 0.

use std::collections::{BTreeMap, HashMap};

use gimli::constants as dw;

use super::{Assembler, Pending, PendingKind, leb128};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, Expression};

/// Instructions consist of words: addresses advance in steps of this size.
pub(super) const STEP: u64 = 4;
/// The least that a special opcode adds to the line, how many line increments it can express, and
/// the first special opcode.
const LINE_BASE: i64 = -5;
const LINE_RANGE: u64 = 14;
const OPCODE_BASE: u64 = 13;
/// The most steps that a special opcode adds to the address.
const MOST_STEPS: u64 = (255 - OPCODE_BASE) / LINE_RANGE;
/// The operand count of each opcode below [`OPCODE_BASE`], from 1.
const OPERANDS: [u8; 12] = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];

/// The line information of a source.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// File 0 of version 5: the compiled source, and the folder of the compilation.
    root: Option<(Vec<u8>, File)>,
    folders: Vec<Vec<u8>>,
    files: BTreeMap<u32, File>,
    /// The line of the last `.file` directive.
    named_at: usize,
    /// A `.loc` that no byte has followed yet.
    waiting: Option<Row>,
    not_statement: bool,
    /// The rows of each section, in ascending order of address, and the index of each section's
    /// rows.
    sequences: Vec<(usize, Vec<(u64, Row)>)>,
    sequence_of: HashMap<usize, usize>,
    /// The names from `.file` without a number.
    pub(super) names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct File {
    name: Vec<u8>,
    folder: u64,
    md5: Option<[u8; 16]>,
    source: Option<Vec<u8>>,
}

/// A row of the table: the contents of a `.loc`.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    file: u32,
    line: u32,
    column: u16,
    statement: bool,
    block: bool,
    prologue_end: bool,
    epilogue_begin: bool,
    isa: u32,
    discriminator: u32,
}

impl Lines {
    /// The number of a folder: 0 for the folder of the compilation.
    fn folder(&mut self, name: Vec<u8>) -> u64 {
        if name.is_empty() || self.root.as_ref().is_some_and(|(folder, _)| *folder == name) {
            return 0;
        }
        let known = self.folders.iter().position(|folder| *folder == name);
        1 + known.unwrap_or_else(|| {
            self.folders.push(name);
            self.folders.len() - 1
        }) as u64
    }

    /// The following bytes are in another section.
    pub(super) fn leave_section(&mut self) {
        self.waiting = None;
    }

    /// Associates the last `.loc` with the byte about to be emitted here.
    pub(super) fn mark(&mut self, section: usize, offset: u64) {
        let Some(row) = self.waiting.take() else { return };
        let index = *self.sequence_of.entry(section).or_insert_with(|| {
            self.sequences.push((section, Vec::new()));
            self.sequences.len() - 1
        });
        if let Some((_, rows)) = self.sequences.get_mut(index) {
            rows.push((offset, row));
        }
    }
}

impl Assembler<'_> {
    /// `.file "name"`, or `.file number "folder" "name" md5 0x... source "text"`.
    pub(super) fn file(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        if cursor.peek() == Some(b'"') {
            let name = self.file_name(cursor)?;
            self.end(cursor)?;
            self.debug.lines.names.push(name);
            return Ok(());
        }
        let start = cursor.at();
        let number = self.number_of_32_bits(cursor, "a file number or a file name")?;
        let span = start..cursor.end();
        let first = self.text(cursor)?;
        let (folder, name) = match cursor.peek() {
            Some(b'"') => (first, self.text(cursor)?),
            _ => (Vec::new(), first),
        };
        let (mut md5, mut source) = (None, None);
        while !cursor.is_done() {
            if cursor.eat_name("md5") {
                let (at, text) = cursor.token();
                let sum = text.strip_prefix("0x").and_then(|digits| u128::from_str_radix(digits, 16).ok());
                let sum = sum.ok_or_else(|| cursor.expected("a 128-bit number such as 0x0123"))?;
                md5 = Some(sum.to_be_bytes());
                cursor.go_to(at.end);
            } else if cursor.eat_name("source") {
                source = Some(self.text(cursor)?);
            } else {
                return Err(cursor.expected("`md5`, `source` or the end of the line"));
            }
        }
        if number == 0 {
            self.debug.lines.root = Some((folder, File { name, folder: 0, md5, source }));
            return Ok(());
        }
        // A name that includes a folder is split into both.
        let (folder, name) = match name.iter().rposition(|byte| *byte == b'/') {
            Some(slash) if folder.is_empty() && slash > 0 && slash + 1 < name.len() => {
                let (folder, name) = name.split_at(slash);
                (folder.to_vec(), name.get(1..).unwrap_or_default().to_vec())
            }
            _ => (folder, name),
        };
        self.debug.lines.named_at = self.position.line;
        let folder = self.debug.lines.folder(folder);
        let file = File { name, folder, md5, source };
        match self.debug.lines.files.insert(number, file.clone()) {
            Some(before) if before != file => {
                Err(Diagnostic::new(span, format!("file {number} already has another name")))
            }
            _ => Ok(()),
        }
    }

    fn number_of_32_bits(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Result<u32, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        u32::try_from(value)
            .map_err(|_| Diagnostic::new(start..cursor.end(), format!("expected {what}, found {value}")))
    }

    /// `.loc file line column flags`.
    pub(super) fn location(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let file = self.number_of_32_bits(cursor, "a file number")?;
        let known =
            self.debug.lines.files.contains_key(&file) || file == 0 && self.debug.lines.root.is_some();
        if !known {
            let fail = Diagnostic::new(start..cursor.end(), format!("no `.file` names file {file}"));
            return Err(fail);
        }
        let mut row = Row { file, statement: !self.debug.lines.not_statement, ..Row::default() };
        let number = |cursor: &mut Cursor<'_>| matches!(cursor.peek(), Some(b'0'..=b'9' | b'-'));
        if number(cursor) {
            row.line = self.number_of_32_bits(cursor, "a line number")?;
        }
        if number(cursor) {
            let at = cursor.at();
            let column = self.number_of_32_bits(cursor, "a column number")?;
            row.column = u16::try_from(column).map_err(|_| {
                Diagnostic::new(at..cursor.end(), format!("expected a column up to 65535, found {column}"))
            })?;
        }
        while !cursor.is_done() {
            match cursor.peek_name() {
                "basic_block" => row.block = true,
                "prologue_end" => row.prologue_end = true,
                "epilogue_begin" => row.epilogue_begin = true,
                "is_stmt" => {
                    cursor.name();
                    let at = cursor.at();
                    row.statement = match self.absolute(cursor)? {
                        0 => false,
                        1 => true,
                        other => {
                            let message = format!("expected 0 or 1, found {other}");
                            return Err(Diagnostic::new(at..cursor.end(), message));
                        }
                    };
                    continue;
                }
                "isa" => {
                    cursor.name();
                    row.isa = self.number_of_32_bits(cursor, "an instruction set number")?;
                    continue;
                }
                "discriminator" => {
                    cursor.name();
                    row.discriminator = self.number_of_32_bits(cursor, "a 32-bit number")?;
                    continue;
                }
                "view" => {
                    let (span, _) = cursor.token();
                    return Err(Diagnostic::new(
                        span,
                        "`view` is a GNU extension; LLVM's line tables have no views",
                    )
                    .note("omit it, with the number or name after it"));
                }
                _ => {
                    return Err(cursor.expected(
                        "basic_block, prologue_end, epilogue_begin, is_stmt, isa, discriminator or the end of the line",
                    ));
                }
            }
            cursor.name();
        }
        // Two in a row are for the same address.
        self.mark_line();
        self.debug.lines.not_statement = !row.statement;
        self.debug.lines.waiting = Some(row);
        Ok(())
    }

    /// Appends the line table to its section.
    pub(super) fn finish_lines(&mut self) {
        let lines = std::mem::take(&mut self.debug.lines);
        if lines.files.is_empty() && lines.root.is_none() {
            self.debug.lines.names = lines.names;
            return;
        }
        let last = lines.files.last_key_value().map_or(0, |(number, _)| *number);
        if let Some(missing) = (1..=last).find(|number| !lines.files.contains_key(number)) {
            let message =
                format!("file {last} has a name, but file {missing} does not: `.file` counts from 1");
            self.position.line = lines.named_at;
            self.report("", *Diagnostic::new(0..0, message));
            return;
        }
        let files = || lines.root.iter().map(|(_, root)| root).chain(lines.files.values());
        if files().any(|file| file.md5.is_some()) && files().any(|file| file.md5.is_none()) {
            let message = "some files have no MD5 sum, so the line table omits all MD5 sums";
            self.warn(0, "", *Diagnostic::new(0..0, message));
        } else if lines.root.is_none() && files().any(|file| file.md5.is_some() || file.source.is_some()) {
            let message =
                "MD5 sums and source texts are omitted: only line tables with a file 0 can hold them";
            self.warn(0, "", *Diagnostic::new(0..0, message));
        }
        let section = self.sections.section_named(".debug_line");
        self.sections.current = section;
        let start = self.sections.offset();
        let mut table = Table { bytes: Vec::new(), references: Vec::new(), strings: Strings::default() };
        let version: u16 = if lines.root.is_some() { 5 } else { 4 };
        // The lengths are filled in below.
        table.bytes.extend([0; 4]);
        table.bytes.extend(version.to_le_bytes());
        if version == 5 {
            // The sizes of an address and of a segment selector, in bytes.
            table.bytes.extend([8, 0]);
        }
        let header = table.bytes.len();
        table.bytes.extend([0; 4]);
        // One operation per instruction; a row begins a statement by default.
        table.bytes.extend([STEP as u8, 1, 1, LINE_BASE as u8, LINE_RANGE as u8, OPCODE_BASE as u8]);
        table.bytes.extend(OPERANDS);
        match &lines.root {
            Some((folder, root)) => table.names(folder, root, &lines),
            None => table.old_names(&lines),
        }
        let length = (table.bytes.len() - header - 4) as u32;
        table.fill_in(header, length);
        for (section, rows) in &lines.sequences {
            let end = self.sections.all.get(*section).map_or(0, |section| section.size());
            table.sequence(*section, rows, end);
        }
        let length = (table.bytes.len() - 4) as u32;
        table.fill_in(0, length);
        for (at, size, reference) in table.references {
            let expression = match reference {
                Where::Place(section, offset) => self.symbols.place_of((section, offset)),
                Where::String(offset) => Expression::sum(".debug_line_str", offset),
            };
            let place = self.keep_place("", 0..0);
            self.pending.push(Pending {
                section,
                offset: start + at,
                kind: PendingKind::Data(size),
                expression: expression.into(),
                place,
            });
        }
        let (bytes, strings) = (table.bytes, table.strings.bytes);
        self.append_generated(&bytes);
        if version == 5 {
            self.sections.current = self.sections.string_section(".debug_line_str");
            self.append_generated(&strings);
        }
        self.debug.lines.names = lines.names;
    }
}

/// The target of a reference in the table.
enum Where {
    /// An offset in a section.
    Place(usize, u64),
    /// An offset in the section of strings.
    String(u64),
}

/// The line table under construction.
struct Table {
    bytes: Vec<u8>,
    /// Fields that relocations fill in: offset, size in bytes, target.
    references: Vec<(u64, u8, Where)>,
    strings: Strings,
}

/// The strings of the table, each once.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, u64>,
}

impl Strings {
    fn add(&mut self, text: &[u8]) -> u64 {
        if let Some(&at) = self.known.get(text) {
            return at;
        }
        let at = self.bytes.len() as u64;
        self.bytes.extend(text);
        self.bytes.push(0);
        self.known.insert(text.to_vec(), at);
        at
    }
}

impl Table {
    fn fill_in(&mut self, at: usize, length: u32) {
        if let Some(field) = self.bytes.get_mut(at..at + 4) {
            field.copy_from_slice(&length.to_le_bytes());
        }
    }

    fn uleb(&mut self, value: u64) {
        leb128::unsigned(&mut self.bytes, value);
    }

    fn reference(&mut self, size: u8, to: Where) {
        self.references.push((self.bytes.len() as u64, size, to));
        self.bytes.resize(self.bytes.len() + usize::from(size), 0);
    }

    fn string(&mut self, text: &[u8]) {
        let at = self.strings.add(text);
        self.reference(4, Where::String(at));
    }

    /// Folders and files of version 4: consecutive strings.
    fn old_names(&mut self, lines: &Lines) {
        for folder in &lines.folders {
            self.bytes.extend(folder);
            self.bytes.push(0);
        }
        self.bytes.push(0);
        for file in lines.files.values() {
            self.bytes.extend(&file.name);
            self.bytes.push(0);
            self.uleb(file.folder);
            // Time and size are unknown.
            self.bytes.extend([0, 0]);
        }
        self.bytes.push(0);
    }

    /// Folders and files of version 5: tables that describe the format of their rows.
    fn names(&mut self, folder: &[u8], root: &File, lines: &Lines) {
        let files: Vec<&File> = std::iter::once(root).chain(lines.files.values()).collect();
        let sums = files.iter().all(|file| file.md5.is_some());
        let sources = files.iter().any(|file| file.source.is_some());
        let mut columns = vec![(dw::DW_LNCT_path, dw::DW_FORM_line_strp)];
        let folders: Vec<&[u8]> =
            std::iter::once(folder).chain(lines.folders.iter().map(Vec::as_slice)).collect();
        self.columns(&columns);
        self.uleb(folders.len() as u64);
        folders.iter().for_each(|folder| self.string(folder));
        columns.push((dw::DW_LNCT_directory_index, dw::DW_FORM_udata));
        if sums {
            columns.push((dw::DW_LNCT_MD5, dw::DW_FORM_data16));
        }
        if sources {
            columns.push((dw::DW_LNCT_LLVM_source, dw::DW_FORM_line_strp));
        }
        self.columns(&columns);
        self.uleb(files.len() as u64);
        for file in files {
            self.string(&file.name);
            self.uleb(file.folder);
            if let (true, Some(md5)) = (sums, &file.md5) {
                self.bytes.extend(md5);
            }
            if sources {
                self.string(file.source.as_deref().unwrap_or_default());
            }
        }
    }

    fn columns(&mut self, columns: &[(dw::DwLnct, dw::DwForm)]) {
        self.bytes.push(columns.len() as u8);
        for (content, form) in columns {
            self.uleb(content.0.into());
            self.uleb(form.0.into());
        }
    }

    fn opcode(&mut self, opcode: dw::DwLns) {
        self.bytes.push(opcode.0);
    }

    /// An opcode preceded by its length.
    fn extended(&mut self, opcode: dw::DwLne, operands: u64) {
        self.bytes.push(0);
        self.uleb(1 + operands);
        self.bytes.push(opcode.0);
    }

    /// The rows of a section that ends at `end`.
    fn sequence(&mut self, section: usize, rows: &[(u64, Row)], end: u64) {
        let mut last = Row { file: 1, line: 1, statement: true, ..Row::default() };
        let mut address = None;
        for (offset, row) in rows {
            if row.file != last.file {
                self.opcode(dw::DW_LNS_set_file);
                self.uleb(row.file.into());
            }
            if row.column != last.column {
                self.opcode(dw::DW_LNS_set_column);
                self.uleb(row.column.into());
            }
            // A discriminator applies to one row only.
            if row.discriminator != 0 {
                let value = row.discriminator.into();
                self.extended(dw::DW_LNE_set_discriminator, leb128::unsigned_size(value));
                self.uleb(value);
            }
            if row.isa != last.isa {
                self.opcode(dw::DW_LNS_set_isa);
                self.uleb(row.isa.into());
            }
            if row.statement != last.statement {
                self.opcode(dw::DW_LNS_negate_stmt);
            }
            let flags = [
                (row.block, dw::DW_LNS_set_basic_block),
                (row.prologue_end, dw::DW_LNS_set_prologue_end),
                (row.epilogue_begin, dw::DW_LNS_set_epilogue_begin),
            ];
            flags.iter().filter(|(set, _)| *set).for_each(|(_, opcode)| self.opcode(*opcode));
            let steps = match address {
                Some(address) => offset.saturating_sub(address) / STEP,
                None => {
                    self.extended(dw::DW_LNE_set_address, 8);
                    self.reference(8, Where::Place(section, *offset));
                    0
                }
            };
            self.advance(i64::from(row.line) - i64::from(last.line), steps);
            (last, address) = (*row, Some(*offset));
        }
        let Some(address) = address else { return };
        match end.saturating_sub(address) / STEP {
            0 => {}
            MOST_STEPS => self.opcode(dw::DW_LNS_const_add_pc),
            steps => {
                self.opcode(dw::DW_LNS_advance_pc);
                self.uleb(steps);
            }
        }
        self.extended(dw::DW_LNE_end_sequence, 0);
    }

    /// Advances line and address, and appends the row with the shortest opcodes, chosen as LLVM
    /// does.
    fn advance(&mut self, lines: i64, steps: u64) {
        let special = |lines: i64, steps: u64| {
            let line = u64::try_from(lines - LINE_BASE).ok().filter(|line| *line < LINE_RANGE)?;
            let opcode = OPCODE_BASE + line + steps.checked_mul(LINE_RANGE)?;
            u8::try_from(opcode).ok()
        };
        let near = special(lines, 0);
        let lines = if near.is_some() {
            lines
        } else {
            self.opcode(dw::DW_LNS_advance_line);
            leb128::signed(&mut self.bytes, lines);
            0
        };
        if (lines, steps) == (0, 0) {
            return self.opcode(dw::DW_LNS_copy);
        }
        if let Some(opcode) = special(lines, steps) {
            return self.bytes.push(opcode);
        }
        if let Some(opcode) = steps.checked_sub(MOST_STEPS).and_then(|steps| special(lines, steps)) {
            self.opcode(dw::DW_LNS_const_add_pc);
            return self.bytes.push(opcode);
        }
        self.opcode(dw::DW_LNS_advance_pc);
        self.uleb(steps);
        match near {
            Some(opcode) => self.bytes.push(opcode),
            // The line has been added already.
            None => self.opcode(dw::DW_LNS_copy),
        }
    }
}
