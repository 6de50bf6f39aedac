//! LLVM's programs of Cayman: the words that its r600 backend writes decode to the instructions and
//! fields that its text names, whole programs decode without a gap, and they break no rule.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use wavemill_isa::cayman::{
    CHANNELS, Content, FieldId as F, Format, Inline, Inst, Op, Program, Source, decode_program,
};
use wavemill_oracle::{Failed, Suite, Tool, run};

/// The lines that count of `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding` for the programs
/// beside it: labels, encodings, and sizes of stacks.
const LLC: &str = include_str!("data/cayman/llc.s");

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("what LLVM wrote is decoded", || check(LLC, 11));
    suite.oracle_test("what LLVM writes is decoded", &[Tool::Program("llc-22")], what_llc_writes);
    suite.run()
}

fn what_llc_writes() -> Result<(), Failed> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cayman"));
    let llc = Tool::Program("llc-22").path()?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "ll"))
        .collect();
    files.sort();
    let mut output = String::new();
    for file in &files {
        let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-show-mc-encoding", "-o", "-"];
        output += &String::from_utf8(run(Command::new(&llc).args(arguments).arg(file))?)?;
    }
    check(&output, files.len())
}

/// A function: its lines of text with their bytes, and the size of its stack.
#[derive(Default)]
struct Function {
    lines: Vec<(String, Vec<u8>)>,
    stack: u32,
}

fn functions(output: &str) -> Result<Vec<Function>, Failed> {
    let mut functions: Vec<Function> = Vec::new();
    for line in output.lines() {
        if line.contains("; @") {
            functions.push(Function::default());
        } else if let Some((_, size)) = line.split_once("STACK_SIZE = ") {
            functions.last_mut().ok_or("a stack without a function")?.stack = size.trim().parse()?;
        } else if let Some((text, bytes)) = line.split_once("; encoding: [0x") {
            let bytes: Result<Vec<u8>, _> = bytes
                .trim_end_matches(']')
                .split(',')
                .map(|byte| u8::from_str_radix(byte.trim_start_matches("0x"), 16))
                .collect();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" + AR.x", "+AR");
            functions.last_mut().ok_or("a line without a function")?.lines.push((text, bytes?));
        }
    }
    // Tables of constants have labels too.
    functions.retain(|function| !function.lines.is_empty());
    Ok(functions)
}

/// The words of a program in the order of their addresses; literals and padding have no instruction.
fn words(program: &Program) -> Vec<Option<Inst>> {
    let mut words = Vec::new();
    for item in &program.items {
        match &item.content {
            Content::Control(inst) | Content::Fetch(inst) => words.push(Some(*inst)),
            Content::Group(group) => {
                let slots: Vec<Inst> = group.slots.iter().flatten().copied().collect();
                words.extend(slots.iter().copied().map(Some));
                words.extend(vec![None; group.size / 8 - slots.len()]);
            }
            Content::Raw => words.extend(vec![None; item.range.len() / 8]),
        }
    }
    words
}

fn check(output: &str, count: usize) -> Result<(), Failed> {
    let functions = functions(output)?;
    assert_eq!(functions.len(), count);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for function in &functions {
        let code: Vec<u8> = function.lines.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let program = decode_program(&code, 0);
        assert_eq!(program.problems, []);
        let words = words(&program);
        assert_eq!(words.len(), function.lines.len(), "{:?}", program.items);
        for ((text, bytes), word) in function.lines.iter().zip(words) {
            match word {
                Some(inst) => {
                    let (back, size) = inst.encode();
                    assert_eq!(back[..size], bytes[..], "{text}");
                    agrees(text, &inst)?;
                    *seen.entry(inst.row().name).or_default() += 1;
                }
                None => {
                    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                    assert!(is_number || text == "PAD", "{text}");
                }
            }
        }
        let broken: Vec<String> = program.broken_rules().iter().map(ToString::to_string).collect();
        assert_eq!(broken, [""; 0]);
        // LLVM reserves one subentry for masks, where the manual says two.
        let need = program.stack_need(0)?;
        let of_llvm = need.entries + need.subentries.saturating_sub(1).div_ceil(4);
        assert_eq!(of_llvm, function.stack, "{need:?}");
    }
    assert!(seen.len() > 50, "{seen:?}");
    Ok(())
}

/// The instruction that LLVM's mnemonic means.
fn instruction(text: &str) -> Option<Op> {
    let mut tokens = text.split(' ');
    let first = tokens.next()?;
    if first.starts_with("MEM_RAT") {
        return Op::from_name(&format!("{first} {}", tokens.next()?));
    }
    let stem = first.trim_end_matches("_eg").trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    Op::from_name(first).or_else(|| Op::from_name(stem))
}

/// Compares the operands of a text with the fields of its word.
fn agrees(text: &str, inst: &Inst) -> Result<(), Failed> {
    let mut op = instruction(text).ok_or(format!("{text}: no such instruction"))?;
    // LLVM writes both alike.
    if op == Op::Export && inst.op() == Op::ExportDone {
        op = Op::ExportDone;
    }
    assert_eq!(inst.op(), op, "{text}");
    let tokens: Vec<&str> = text.split(' ').skip(1).collect();
    let number = |prefix: &str| -> Option<u32> {
        let token = tokens.iter().find_map(|token| token.strip_prefix(prefix))?;
        token.trim_end_matches(',').parse().ok()
    };
    let is = |word: &str| u32::from(tokens.iter().any(|token| token.trim_end_matches(',') == word));
    let expect = |id: F, value: u32| assert_eq!(inst.field(id), Some(value), "{}: {text}", id.name());
    match inst.format() {
        Format::Cf | Format::CfAlu => {
            if let Some(address) = number("@") {
                expect(F::Addr, address);
            }
            if inst.row().clause().is_some() {
                let count = tokens[0].trim_end_matches(',').parse()?;
                expect(F::Count, count);
            }
            if inst.format() == Format::Cf {
                expect(F::PopCount, number("POP:").unwrap_or(0));
            }
        }
        Format::ExportSwiz => {
            let (register, channels) = register(tokens[0]).ok_or("no register")?;
            expect(F::RwGpr, register);
            for (id, letter) in [F::SelX, F::SelY, F::SelZ, F::SelW].into_iter().zip(channels.chars()) {
                expect(id, channel(letter).ok_or("no channel")?);
            }
        }
        Format::Rat => {
            let (data, _) = register(tokens[1]).ok_or("no data")?;
            expect(F::RwGpr, data);
            let (index, _) = register(tokens[2]).ok_or("no index")?;
            expect(F::IndexGpr, index);
        }
        Format::Vtx | Format::Tex => {
            let (to, _) = register(tokens[0]).ok_or("no result")?;
            expect(F::DstGpr, to);
            let (from, channels) = register(tokens[1]).ok_or("no source")?;
            expect(F::SrcGpr, from);
            let first = channels.chars().next().and_then(channel).ok_or("no channel")?;
            expect(F::SrcSelX, first);
            if inst.format() == Format::Vtx {
                let offset = tokens[2].trim_end_matches(',').parse()?;
                expect(F::Offset, offset);
                if let Some(buffer) = number("#") {
                    expect(F::BufferId, buffer);
                }
            } else {
                expect(F::ResourceId, number("RID:").ok_or("no resource")?);
                expect(F::SamplerId, number("SID:").ok_or("no sampler")?);
            }
        }
        _ => slot(text, &tokens, inst, &is, &expect)?,
    }
    Ok(())
}

fn slot(
    text: &str,
    tokens: &[&str],
    inst: &Inst,
    is: &dyn Fn(&str) -> u32,
    expect: &dyn Fn(F, u32),
) -> Result<(), Failed> {
    // It has no operands, and LLVM no mark for it.
    if inst.op() == Op::GroupBarrier {
        expect(F::Last, 1);
        return Ok(());
    }
    expect(F::Last, is("*"));
    expect(F::PredSel, if is("Pred_sel_one") == 1 { 3 } else { 2 * is("Pred_sel_zero") });
    let swizzles =
        ["VEC_012/SCL_210", "VEC_021/SCL_122", "VEC_120/SCL_212", "VEC_102/SCL_221", "VEC_201", "VEC_210"];
    let swizzle = swizzles.iter().position(|name| is(&format!("BS:{name}")) == 1).unwrap_or(0);
    expect(F::BankSwizzle, swizzle as u32);
    let mut operands: Vec<&str> = tokens
        .iter()
        .map(|token| token.trim_end_matches(','))
        .filter(|token| {
            !token.is_empty()
                && !["*", "(MASKED)"].contains(token)
                && !token.starts_with("BS:")
                && !token.starts_with("Pred_sel")
        })
        .collect();
    // The result of a returning LDS operation is the queue.
    let is_lds = inst.format() == Format::Lds;
    if is_lds {
        operands.retain(|operand| *operand != "OQAP");
    } else {
        // Words with three sources have no mask.
        assert_eq!(inst.field(F::WriteMask).unwrap_or(1), 1 - is("(MASKED)"), "{text}");
        let result = operands.remove(0);
        match result {
            // The first word says what is updated; the second is LLVM's register.
            "ExecMask,PredicateBit" | "Pred,PredicateBit" => {
                let updates_lanes = result.starts_with("ExecMask");
                expect(F::UpdateExecMask, updates_lanes.into());
                expect(F::UpdatePred, (!updates_lanes).into());
            }
            "AR.x" => expect(F::MovaDst, 0),
            _ => {
                let (number, letters) = register(result).ok_or(format!("{text}: no result in `{result}`"))?;
                expect(F::DstGpr, number);
                expect(F::DstRel, result.contains("+AR").into());
                expect(F::DstChan, letters.chars().next().and_then(channel).ok_or("no channel")?);
            }
        }
    }
    let sources: Vec<Source> = inst.sources().map(|(.., source)| source).collect();
    assert_eq!(sources.len(), operands.len(), "{text}: {operands:?}");
    for (operand, (_, field, source)) in operands.into_iter().zip(inst.sources()) {
        let is_number = operand == "-1";
        let (negated, rest) = match operand.strip_prefix('-') {
            Some(rest) if !is_number => (true, rest),
            _ => (false, operand),
        };
        let bars = rest.starts_with('|');
        let expected = meaning(rest.trim_matches('|')).ok_or(format!("{text}: no source in `{rest}`"))?;
        let is_relative = rest.contains("+AR");
        assert_eq!(inst.bit(field.relative), is_relative, "{text}");
        assert_eq!(source, expected, "{text}");
        if !is_lds {
            expect(field.negate, negated.into());
            // Words with three sources have no absolute values.
            let absolute = field.absolute.and_then(|absolute| inst.field(absolute)).unwrap_or(0);
            assert_eq!(absolute, u32::from(bars), "{text}");
        }
    }
    Ok(())
}

/// `T3.XYZW` or `T(3+AR).X`: the register and the letters.
fn register(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_end_matches(',');
    let (register, letters) = text.split_once('.').unwrap_or((text, "X"));
    let number = register.strip_prefix('T')?.trim_matches(['(', ')']).trim_end_matches("+AR");
    Some((number.parse().ok()?, letters))
}

fn channel(letter: char) -> Option<u32> {
    CHANNELS.iter().position(|known| *known == letter.to_ascii_uppercase()).map(|channel| channel as u32)
}

fn meaning(text: &str) -> Option<Source> {
    let inline = [
        ("0.0", Inline::Zero),
        ("1.0", Inline::One),
        ("1", Inline::OneInt),
        ("-1", Inline::MinusOneInt),
        ("0.5", Inline::Half),
    ];
    if let Some((_, constant)) = inline.iter().find(|(name, _)| *name == text) {
        return Some(Source::Inline(*constant));
    }
    if text == "OQAP" {
        return Some(Source::Queue(0, true));
    }
    let (word, letter) = text.rsplit_once('.')?;
    let channel = letter.chars().next().and_then(channel)? as u8;
    match word {
        "PV" => return Some(Source::PreviousVector(channel)),
        "literal" => return Some(Source::Literal(channel)),
        _ => {}
    }
    if let Some(rest) = word.strip_prefix("KC") {
        let (window, number) = rest.trim_end_matches(']').split_once('[')?;
        return Some(Source::Constant(window.parse().ok()?, number.parse().ok()?, channel));
    }
    Some(Source::Gpr(register(text)?.0 as u8, channel))
}
