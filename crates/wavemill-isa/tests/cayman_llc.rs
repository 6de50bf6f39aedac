//! LLVM's programs of Cayman: the words that its r600 backend writes decode to the instructions and
//! fields that its text names, whole programs decode without a gap, and they break no rule.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use wavemill_isa::cayman::{
    CHANNELS, Content, FieldId as F, Format, Inline, Inst, Op, Program, Rule, Source, decode_program,
};
use wavemill_oracle::{Failed, Suite, Tool, kernels, random_r600_program, run, whole_suites};

/// The lines that count of `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding` for the programs
/// beside it: labels, encodings, and sizes of stacks.
const LLC: &str = include_str!("data/cayman/llc.s");

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("what LLVM wrote is decoded", || check(LLC, 11));
    suite.oracle_test("what LLVM writes is decoded", &[Tool::Program("llc-22")], what_llc_writes);
    let tools = [
        Tool::Clang,
        Tool::Program("opt-22"),
        Tool::Program("llc-22"),
        Tool::Program("llvm-dis-22"),
        Tool::File("/usr/lib/clc/cayman-r600--.bc", "libclc-22"),
    ];
    suite.oracle_test("the corpus is decoded", &tools, corpus);
    suite.oracle_test("random programs are decoded", &[Tool::Program("llc-22")], random_programs);
    if !whole_suites() {
        suite.left_out(RANDOM_PROGRAMS - RANDOM_SAMPLE);
    }
    suite.run()
}

/// Random programs of a whole run, and of a sample.
const RANDOM_PROGRAMS: usize = 300;
const RANDOM_SAMPLE: usize = 30;

/// The kernels of `kernels/`, as `kernels/cayman/build.sh` compiles them.
fn corpus() -> Result<(), Failed> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cayman_corpus");
    // It may be there from an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    run(Command::new("bash").arg(kernels().join("cayman/build.sh")).arg("--text").arg(&folder))?;
    let mut all = 0;
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        let functions = functions(&std::fs::read_to_string(&path)?)?;
        for function in &functions {
            function.check(&mut BTreeMap::new()).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        all += functions.len();
    }
    assert!(all >= 40, "{all}");
    Ok(())
}

fn random_programs() -> Result<(), Failed> {
    let count = if whole_suites() { RANDOM_PROGRAMS } else { RANDOM_SAMPLE };
    let llc = Tool::Program("llc-22").path()?;
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cayman_random.ll");
    let mut seen = BTreeMap::new();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..count as u64 {
        std::fs::write(&path, random_r600_program(seed))?;
        let arguments = ["-mtriple=r600--", "-mcpu=cayman", "-show-mc-encoding", "-o", "-"];
        let output = Command::new(&llc).args(arguments).arg(&path).output()?;
        if !output.status.success() {
            *refused.entry(reason(&String::from_utf8_lossy(&output.stderr))).or_default() += 1;
            continue;
        }
        let functions = functions(&String::from_utf8(output.stdout)?)?;
        same("functions", &functions.len(), &1)?;
        functions[0].check(&mut seen).map_err(|error| format!("seed {seed}: {error}"))?;
    }
    let words: usize = seen.values().sum();
    let instructions = seen.len();
    println!("{count} random programs: {words} words of {instructions} instructions");
    for (reason, count) in &refused {
        println!("{count} that llc refuses: {reason}");
    }
    // A generator that lost a part, or programs that nobody compiles, test little.
    assert!(instructions > if whole_suites() { 110 } else { 70 }, "{seen:?}");
    assert!(5 * refused.values().sum::<usize>() < count, "{refused:?}");
    Ok(())
}

/// What llc says, without the operands of its nodes, which have addresses of its memory.
fn reason(message: &str) -> String {
    let line =
        message.lines().find_map(|line| line.split_once("ERROR: ").or_else(|| line.split_once("error: ")));
    let Some((_, text)) = line else { return "it crashes".to_owned() };
    match text.split_once("Cannot select: ").and_then(|(_, node)| node.split_once(" = ")) {
        Some((_, node)) => {
            let name: String =
                node.chars().take_while(|c| c.is_alphanumeric() || "_:.".contains(*c)).collect();
            format!("it cannot select {name}")
        }
        None => text.to_owned(),
    }
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
        } else if let Some((text, bytes)) =
            line.split_once("; encoding: [").filter(|(_, bytes)| *bytes != "]")
        {
            // `A` is a byte of an address, which a relocation adds.
            let bytes: Result<Vec<u8>, _> =
                bytes
                    .trim_end_matches(']')
                    .split(',')
                    .map(|byte| {
                        if byte == "A" {
                            Ok(0)
                        } else {
                            u8::from_str_radix(byte.trim_start_matches("0x"), 16)
                        }
                    })
                    .collect();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" + AR.x", "+AR");
            // The mark of the last slot stands apart from all mnemonics but one.
            let text = text.replace("LDS_CMPST* ", "LDS_CMPST * ");
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
    let mut seen = BTreeMap::new();
    for function in &functions {
        function.check(&mut seen)?;
    }
    assert!(seen.len() > 50, "{seen:?}");
    Ok(())
}

impl Function {
    /// Compares the words with their texts, and counts the instructions.
    fn check(&self, seen: &mut BTreeMap<&'static str, usize>) -> Result<(), String> {
        let code: Vec<u8> = self.lines.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let program = decode_program(&code, 0);
        same("problems", &program.problems, &Vec::new())?;
        let words = words(&program);
        same("words", &words.len(), &self.lines.len())?;
        for ((text, bytes), word) in self.lines.iter().zip(words) {
            match word {
                Some(inst) => {
                    let (back, size) = inst.encode();
                    same(text, &back[..size], &bytes[..])?;
                    agrees(text, &inst)?;
                    *seen.entry(inst.row().name).or_default() += 1;
                }
                None => {
                    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "-@".contains(c));
                    same(text, &(is_number || text == "PAD"), &true)?;
                }
            }
        }
        // LLVM has branches that all lanes take, also around barriers. It does not keep groups with
        // relative accesses apart (R600EmitClauseMarkers and the packetizer know of no such rule).
        let is_known = |rule: &Rule| matches!(rule, Rule::BarrierInBranch | Rule::IndexHazard { .. });
        let broken: Vec<String> = program
            .broken_rules()
            .iter()
            .filter(|rule| !is_known(&rule.broken.rule))
            .map(ToString::to_string)
            .collect();
        same("broken rules", &broken, &Vec::new())?;
        // LLVM reserves no subentries for masks, where the manual says two; the call of a fetch
        // subroutine is one entry at least.
        let need = program.stack_need(0).map_err(|error| error.to_string())?;
        let calls = program.items.iter().any(|item| match &item.content {
            Content::Control(inst) => inst.op() == Op::CallFs,
            _ => false,
        });
        let of_llvm = need.entries + need.subentries.saturating_sub(2).div_ceil(4).max(calls.into());
        same(&format!("stack {need:?}"), &of_llvm, &self.stack)
    }
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
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
fn agrees(text: &str, inst: &Inst) -> Result<(), String> {
    let mut op = instruction(text).ok_or(format!("{text}: no such instruction"))?;
    // LLVM writes these alike.
    for (one, other) in [(Op::Export, Op::ExportDone), (Op::LdsCmpStore, Op::LdsCmpXchgRet)] {
        if op == one && inst.op() == other {
            op = other;
        }
    }
    if op == Op::Export && inst.row().name.starts_with("MEM_STREAM") {
        op = inst.op();
    }
    same(text, &inst.op(), &op)?;
    let tokens: Vec<&str> = text.split(' ').skip(1).collect();
    let number = |prefix: &str| -> Option<u32> {
        let token = tokens.iter().find_map(|token| token.strip_prefix(prefix))?;
        token.trim_end_matches(',').parse().ok()
    };
    let is = |word: &str| u32::from(tokens.iter().any(|token| token.trim_end_matches(',') == word));
    let expect = |id: F, value: u32| same(&format!("{}: {text}", id.name()), &inst.field(id), &Some(value));
    match inst.format() {
        Format::Cf | Format::CfAlu => {
            if let Some(address) = number("@") {
                expect(F::Addr, address)?;
            }
            if inst.row().clause().is_some() {
                let count = tokens[0]
                    .trim_end_matches(',')
                    .parse()
                    .map_err(|_| format!("{text}: expected a number"))?;
                expect(F::Count, count)?;
            }
            if inst.format() == Format::Cf {
                expect(F::PopCount, number("POP:").unwrap_or(0))?;
            }
        }
        Format::ExportSwiz => {
            let (register, channels) = register(tokens[0]).ok_or(format!("{text}: no register"))?;
            expect(F::RwGpr, register)?;
            for (id, letter) in [F::SelX, F::SelY, F::SelZ, F::SelW].into_iter().zip(channels.chars()) {
                expect(id, selection(letter).ok_or(format!("{text}: no channel"))?)?;
            }
        }
        Format::ExportBuf => {
            let (data, _) = register(tokens[0]).ok_or(format!("{text}: no data"))?;
            expect(F::RwGpr, data)?;
        }
        Format::Rat => {
            let mut tokens = tokens;
            if let Some(target) = tokens[1].strip_prefix("RAT(") {
                let number = target.trim_end_matches(')').parse();
                expect(F::RatId, number.map_err(|_| format!("{text}: no target"))?)?;
                tokens.remove(1);
            }
            let (data, _) = register(tokens[1]).ok_or(format!("{text}: no data"))?;
            expect(F::RwGpr, data)?;
            let (index, _) = register(tokens[2]).ok_or(format!("{text}: no index"))?;
            expect(F::IndexGpr, index)?;
        }
        Format::Vtx | Format::Tex => {
            let (to, results) = register(tokens[0]).ok_or(format!("{text}: no result"))?;
            expect(F::DstGpr, to)?;
            let (from, channels) = register(tokens[1]).ok_or(format!("{text}: no source"))?;
            expect(F::SrcGpr, from)?;
            let each = |letters: &str, fields: [F; 4]| -> Result<(), String> {
                fields.into_iter().zip(letters.chars()).try_for_each(|(id, letter)| {
                    expect(id, selection(letter).ok_or(format!("{text}: no channel `{letter}`"))?)
                })
            };
            if inst.format() == Format::Vtx {
                expect(
                    F::SrcSelX,
                    channels.chars().next().and_then(channel).ok_or(format!("{text}: no channel"))?,
                )?;
                let offset = tokens[2].trim_end_matches(',').parse();
                expect(F::Offset, offset.map_err(|_| format!("{text}: no offset"))?)?;
                if let Some(buffer) = number("#") {
                    expect(F::BufferId, buffer)?;
                }
            } else {
                each(results, [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW])?;
                each(channels, [F::SrcSelX, F::SrcSelY, F::SrcSelZ, F::SrcSelW])?;
                expect(F::ResourceId, number("RID:").ok_or(format!("{text}: no resource"))?)?;
                expect(F::SamplerId, number("SID:").ok_or(format!("{text}: no sampler"))?)?;
                let types = tokens.iter().find_map(|token| token.strip_prefix("CT:"));
                let types = types.ok_or(format!("{text}: no types of coordinates"))?;
                let fields = [F::CoordTypeX, F::CoordTypeY, F::CoordTypeZ, F::CoordTypeW];
                for (id, letter) in fields.into_iter().zip(types.chars()) {
                    expect(id, u32::from(letter == 'N'))?;
                }
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
    expect: &dyn Fn(F, u32) -> Result<(), String>,
) -> Result<(), String> {
    // It has no operands, and LLVM no mark for it.
    if inst.op() == Op::GroupBarrier {
        expect(F::Last, 1)?;
        return Ok(());
    }
    expect(F::Last, is("*"))?;
    expect(F::PredSel, if is("Pred_sel_one") == 1 { 3 } else { 2 * is("Pred_sel_zero") })?;
    let swizzles =
        ["VEC_012/SCL_210", "VEC_021/SCL_122", "VEC_120/SCL_212", "VEC_102/SCL_221", "VEC_201", "VEC_210"];
    let swizzle = swizzles.iter().position(|name| is(&format!("BS:{name}")) == 1).unwrap_or(0);
    expect(F::BankSwizzle, swizzle as u32)?;
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
        same(text, &inst.field(F::WriteMask).unwrap_or(1), &(1 - is("(MASKED)")))?;
        let result = operands.remove(0);
        match result {
            // The first word says what is updated; the second is LLVM's register.
            "ExecMask,PredicateBit" | "Pred,PredicateBit" => {
                let updates_lanes = result.starts_with("ExecMask");
                expect(F::UpdateExecMask, updates_lanes.into())?;
                expect(F::UpdatePred, (!updates_lanes).into())?;
            }
            "AR.x" => expect(F::MovaDst, 0)?,
            _ => {
                let (number, letters) = register(result).ok_or(format!("{text}: no result in `{result}`"))?;
                expect(F::DstGpr, number)?;
                expect(F::DstRel, result.contains("+AR").into())?;
                expect(
                    F::DstChan,
                    letters.chars().next().and_then(channel).ok_or(format!("{text}: no channel"))?,
                )?;
            }
        }
    }
    let sources: Vec<Source> = inst.sources().map(|(.., source)| source).collect();
    same(&format!("sources of {text}"), &sources.len(), &operands.len())?;
    for (operand, (_, field, source)) in operands.into_iter().zip(inst.sources()) {
        let is_number = operand == "-1";
        let (negated, rest) = match operand.strip_prefix('-') {
            Some(rest) if !is_number => (true, rest),
            _ => (false, operand),
        };
        let bars = rest.starts_with('|');
        let expected = meaning(rest.trim_matches('|')).ok_or(format!("{text}: no source in `{rest}`"))?;
        let is_relative = rest.contains("+AR");
        same(text, &inst.bit(field.relative), &is_relative)?;
        same(text, &source, &expected)?;
        if !is_lds {
            expect(field.negate, negated.into())?;
            // Words with three sources have no absolute values.
            let absolute = field.absolute.and_then(|absolute| inst.field(absolute)).unwrap_or(0);
            same(text, &absolute, &u32::from(bars))?;
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

/// A channel, a constant, or nothing.
fn selection(letter: char) -> Option<u32> {
    match letter {
        '0' => Some(4),
        '1' => Some(5),
        '_' => Some(7),
        _ => channel(letter),
    }
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
    // A register of four channels stands where LLVM copies one of them; its word has channel X.
    let is_whole = text.starts_with('T') && !text.contains('.');
    let (word, letter) = if is_whole { (text, "X") } else { text.rsplit_once('.')? };
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
