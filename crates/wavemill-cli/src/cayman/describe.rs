//! Describes words, instructions and files.

use std::fmt::{self, Display};

use serde::Serialize;
use wavemill_asm::cayman::{Explanation, InstructionFacts, instruction_named, parse, parse_group};
use wavemill_isa::cayman::{Declared, decode_program};

use super::{Clause, Decoded};
use crate::dis::hex;
use crate::failure::Failure;
use crate::input::Shown as _;

/// An instruction, or machine code.
pub(crate) enum Described {
    /// An instruction.
    Instruction(Box<InstructionFacts>),
    /// Machine code.
    Code(Explanation),
}

/// Describes machine code in hexadecimal digits, a word, a group or a mnemonic.
///
/// # Errors
/// [`Failure`] if the text is none of these.
pub(crate) fn explain(words: &[String], clause: Clause) -> Result<Described, Failure> {
    let text = words.join(" ");
    let name = text.trim();
    if let Some(op) = instruction_named(name) {
        return Ok(Described::Instruction(Box::new(InstructionFacts::of(op))));
    }
    let mut bytes = Vec::new();
    if name.starts_with(|c: char| c.is_ascii_digit()) || hex::line(name.as_bytes(), &mut bytes).is_ok() {
        bytes.clear();
        hex::line(name.as_bytes(), &mut bytes).map_err(Failure::input)?;
        let decoded = clause.decode(&bytes).map_err(|error| {
            Failure::input(error).help("--clause names the kind of clause: cf, alu, tex, vtx or gds.")
        })?;
        return Ok(described(&decoded));
    }
    let failed = |error: wavemill_asm::Diagnostic| {
        let part = name.get(error.span.clone()).unwrap_or_default();
        let failure = Failure::input(format!(
            "`{}` is not an instruction of cayman: at `{}`: {}",
            name.shown(),
            part.shown(),
            error.message
        ));
        match error.notes.is_empty() {
            true => failure,
            false => {
                failure.help(error.notes.iter().map(|note| format!("{note}.")).collect::<Vec<_>>().join("\n"))
            }
        }
    };
    // A group has channels before its mnemonics.
    let is_group = name.as_bytes().get(1) == Some(&b':');
    let decoded = if is_group {
        let ended = if name.ends_with(";;") { name.to_owned() } else { format!("{name} ;;") };
        Decoded::Group(parse_group(&ended).map_err(failed)?)
    } else {
        Decoded::Word(parse(name).map_err(failed)?)
    };
    Ok(described(&decoded))
}

fn described(decoded: &Decoded) -> Described {
    Described::Code(match decoded {
        Decoded::Word(inst) => Explanation::of_word(inst),
        Decoded::Group(group) => Explanation::of_group(group),
    })
}

/// A program of a file.
#[derive(Debug, Serialize)]
struct ProgramReport {
    name: Option<String>,
    bytes: usize,
    stage: &'static str,
    registers: u32,
    /// STACK_SIZE, if the file states it.
    stack: Option<u32>,
    /// STACK_SIZE by the rules of the manual, or why it is not known.
    stack_needed: Option<u32>,
    stack_error: Option<String>,
    lds_bytes: u32,
    clauses: usize,
    relocations: usize,
    problems: Vec<String>,
    broken_rules: Vec<String>,
}

/// A table of constants.
#[derive(Debug, Serialize)]
struct TableReport {
    name: Option<String>,
    bytes: usize,
}

/// The programs and tables of a file, in its order.
#[derive(Debug, Serialize)]
pub(crate) struct FileReport {
    programs: Vec<ProgramReport>,
    tables: Vec<TableReport>,
}

/// Describes the programs of a file.
///
/// # Errors
/// [`Failure`] as for `dis`.
pub(crate) fn info(bytes: &[u8], kernel: Option<&str>) -> Result<FileReport, Failure> {
    let mut report = FileReport { programs: Vec::new(), tables: Vec::new() };
    for program in super::dis::programs(bytes, false)? {
        let shown = program.name.as_deref().unwrap_or(NO_NAME);
        if kernel.is_some_and(|kernel| !shown.contains(kernel)) {
            continue;
        }
        let (name, bytes) = (program.name.clone(), program.bytes.len());
        if program.is_table {
            report.tables.push(TableReport { name, bytes });
            continue;
        }
        let decoded = decode_program(&program.bytes, 0);
        let need = decoded.stack_need(0);
        let declared = Declared { gprs: Some(program.gprs), ..Declared::default() };
        report.programs.push(ProgramReport {
            name,
            bytes,
            stage: program.stage.map_or("compute", |stage| stage.name()),
            registers: program.gprs,
            stack: program.stack,
            stack_needed: need.as_ref().ok().map(|need| need.size()),
            stack_error: need.err().map(|error| error.to_string()),
            lds_bytes: program.lds,
            clauses: decoded.clauses.len(),
            relocations: program.relocations.len(),
            problems: decoded.problems.iter().map(ToString::to_string).collect(),
            broken_rules: decoded.broken_rules_as(declared).iter().map(ToString::to_string).collect(),
        });
    }
    Ok(report)
}

const NO_NAME: &str = "(no name)";

impl Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for program in &self.programs {
            let name = program.name.as_deref().unwrap_or(NO_NAME);
            writeln!(f, "program {name}: {} bytes, stage {}", program.bytes, program.stage)?;
            writeln!(f, "  registers   {}", program.registers)?;
            let stack = program.stack.map_or_else(|| "not stated".to_owned(), |stack| stack.to_string());
            write!(f, "  stack       {stack} (by the manual: ")?;
            match (program.stack_needed, &program.stack_error) {
                (Some(need), _) => writeln!(f, "{need} entries)")?,
                (None, error) => writeln!(f, "not known: {})", error.as_deref().unwrap_or_default())?,
            }
            writeln!(f, "  LDS         {} bytes", program.lds_bytes)?;
            writeln!(f, "  clauses     {}", program.clauses)?;
            writeln!(f, "  relocations {}", program.relocations)?;
            program.problems.iter().try_for_each(|problem| writeln!(f, "  problem: {problem}"))?;
            program.broken_rules.iter().try_for_each(|rule| writeln!(f, "  rule: {rule}"))?;
        }
        self.tables.iter().try_for_each(|table| {
            writeln!(f, "table {}: {} bytes", table.name.as_deref().unwrap_or(NO_NAME), table.bytes)
        })
    }
}
