//! The IR of instructions as text, pinned in snapshots. The cases are machine words with their
//! assembly text; LLVM confirms that they match.

#[path = "../common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::process::ExitCode;

use wavemill_isa::Target;
use wavemill_lift::gcn::registers::RegisterNames;
use wavemill_oracle::{Failed, Suite, Tool, assemble};

/// Case files by name.
const CASES: [(&str, &str); 12] = [
    ("scalar_alu", include_str!("cases/scalar_alu.txt")),
    ("scalar_memory", include_str!("cases/scalar_memory.txt")),
    ("flat", include_str!("cases/flat.txt")),
    ("flat_cdna", include_str!("cases/flat_cdna.txt")),
    ("ds", include_str!("cases/ds.txt")),
    ("mtbuf", include_str!("cases/mtbuf.txt")),
    ("mubuf", include_str!("cases/mubuf.txt")),
    ("vector_alu", include_str!("cases/vector_alu.txt")),
    ("vector_alu_vop3", include_str!("cases/vector_alu_vop3.txt")),
    ("vector_alu_sdwa_dpp", include_str!("cases/vector_alu_sdwa_dpp.txt")),
    ("vector_alu_packed", include_str!("cases/vector_alu_packed.txt")),
    ("vector_alu_cdna", include_str!("cases/vector_alu_cdna.txt")),
];

/// The target of a case file and its instructions: words and text.
fn parse(cases: &str) -> (Target, Vec<(Vec<u32>, &str)>) {
    let mut target = None;
    let mut instructions = Vec::new();
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("target ") {
            target = Target::from_name(name);
            continue;
        }
        let is_word = |token: &&str| token.len() == 8 && token.chars().all(|c| c.is_ascii_hexdigit());
        let words: Vec<u32> = line
            .split(' ')
            .take_while(is_word)
            .map(|token| u32::from_str_radix(token, 16).expect("eight hexadecimal digits"))
            .collect();
        let text = line[9 * words.len()..].trim();
        instructions.push((words, text));
    }
    (target.expect("a case file names its target"), instructions)
}

/// Every instruction of the file, lifted alone: its operations, and its terminator if it ends its
/// block.
fn listing(cases: &str) -> String {
    let (target, instructions) = parse(cases);
    let mut text = String::new();
    for (words, assembly) in instructions {
        let block = common::lift(target, &words);
        writeln!(text, "{assembly}").expect("writing to a string");
        for inst in &block.insts {
            writeln!(text, "    {}", inst.text(&RegisterNames)).expect("writing to a string");
        }
        // A block that continues finds no code after the only instruction.
        if block.guest.len() == 1 {
            writeln!(text, "    {}", block.terminator.text(&RegisterNames)).expect("writing to a string");
        }
    }
    text
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    for (name, cases) in CASES {
        suite.test(format!("ir_of_{name}"), move || {
            insta::assert_snapshot!(name, listing(cases));
            Ok(())
        });
        suite.oracle_test(format!("llvm_assembles_{name}"), &[Tool::LlvmMc], move || {
            let (target, instructions) = parse(cases);
            let lines: Vec<String> = instructions.iter().map(|(_, text)| (*text).to_owned()).collect();
            let answers = assemble(target.name(), &lines).map_err(|missing| missing.to_string())?;
            for ((words, text), answer) in instructions.iter().zip(answers) {
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                if answer.as_ref() != Ok(&bytes) {
                    return Err(Failed::from(format!("{text}: {words:08x?} here, {answer:x?} by LLVM")));
                }
            }
            Ok(())
        });
    }
    suite.run()
}
