//! Dumps of Mesa's own compiler for Cayman (`kernels/cayman/mesa`): every word decodes to what the
//! dump's disassembly says, and every program comes back.

use std::collections::BTreeMap;

use wavemill_asm::cayman::read_dump;
use wavemill_isa::cayman::{
    Content, FieldId as F, Format, Group, Inline, Inst, Op, Rule, Source, WINDOW_FIELDS, decode_program,
};
use wavemill_oracle::{Failed, kernels, listed};

use crate::programs::comes_back;

/// Rules of the manual that Mesa's programs break, and how often in all dumps:
///
/// - TEX and GDS select 7, which masks a result, for channels of the source that are not used;
/// - a write relative to AR is followed by a read of a register that it may have changed;
/// - KILL* has groups behind it in its clause.
const BROKEN: [(&str, usize); 3] =
    [("AR-relative neighbours", 3), ("KILL before the end", 2), ("source selection 7", 59)];

fn kind(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::Code { value: 7, .. } => "source selection 7",
        Rule::IndexHazard { .. } => "AR-relative neighbours",
        Rule::KillBeforeEnd => "KILL before the end",
        // All lanes take the branches around barriers.
        Rule::BarrierInBranch => return None,
        _ => "another",
    })
}

pub(crate) fn dumps_are_what_they_say() -> Result<(), Failed> {
    let files = listed(&kernels().join("cayman/mesa/dumps"), "txt");
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut stages, mut broken) = (BTreeMap::new(), BTreeMap::new());
    for path in &files {
        let name = path.file_stem().and_then(|name| name.to_str()).ok_or("a name")?;
        let text = std::fs::read_to_string(path)?;
        let shaders = read_dump(&text).map_err(|(line, error)| format!("{name}, line {line}: {error}"))?;
        let dumped = dumped(&text);
        assert_eq!(shaders.len(), dumped.len(), "{name}");
        for (shader, (stage, lines)) in shaders.iter().zip(&dumped) {
            *stages.entry((*stage).to_owned()).or_insert(0) += 1;
            let words = words(&shader.bytes).map_err(|error| format!("{name}: {error}"))?;
            for (line, (at, inst, group)) in lines.iter().zip(&words) {
                let about = |error| format!("{name}, dword {}: {}: {error}", at / 4, line.text);
                if line.at != *at {
                    return Err(about(format!("expected a word at dword {}", line.at / 4)).into());
                }
                agrees(line.text, inst, *group).map_err(about)?;
                *seen.entry(inst.row().name).or_default() += 1;
            }
            same("words", &words.len(), &lines.len()).map_err(|error| format!("{name}: {error}"))?;
            comes_back(&shader.bytes)?;
            for rule in decode_program(&shader.bytes, 0).broken_rules() {
                let Some(kind) = kind(rule.broken.rule) else { continue };
                let line = lines.iter().rfind(|line| line.at <= rule.at).map_or("", |line| line.text);
                if kind == "another" {
                    return Err(format!("{name}, dword {}: {line}: {}", rule.at / 4, rule.broken).into());
                }
                *broken.entry(kind).or_insert(0) += 1;
            }
        }
    }
    let expected = [("COMPUTE", 13), ("FRAGMENT", 10), ("VERTEX", 10)];
    assert_eq!(stages, expected.map(|(stage, count)| (stage.to_owned(), count)).into());
    assert!(seen.len() > 130, "{} {seen:?}", seen.len());
    assert_eq!(broken, BROKEN.into());
    let count: usize = seen.values().sum();
    println!("{} programs, {count} words of {} instructions", files.len(), seen.len());
    Ok(())
}

/// A line of a dump with an instruction.
struct Line<'a> {
    /// The offset of its word in bytes.
    at: usize,
    /// The disassembly.
    text: &'a str,
}

/// The stage and the instructions of each shader of a dump, in the order of the lines: clauses follow
/// on the words that call them.
fn dumped(text: &str) -> Vec<(&str, Vec<Line<'_>>)> {
    let mut shaders: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
    for line in text.lines() {
        if let Some(stage) = line.strip_prefix("shader: MESA_SHADER_") {
            shaders.push((stage, Vec::new()));
            continue;
        }
        let mut rest = line.trim_start();
        let Some(at) = rest.get(..4).and_then(|number| number.parse::<usize>().ok()) else { continue };
        rest = &rest[4..];
        let is_dword = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut dwords = 0;
        while let Some(word) = rest.split_whitespace().next().filter(|word| is_dword(word)) {
            rest = &rest.trim_start()[word.len()..];
            dwords += 1;
        }
        // A literal is one dword.
        if let Some((_, lines)) = shaders.last_mut().filter(|_| dwords > 1) {
            lines.push(Line { at: 4 * at, text: rest.trim() });
        }
    }
    shaders
}

/// The words in the order of a dump, with their offsets, and the groups of slots.
fn words(bytes: &[u8]) -> Result<Vec<(usize, Inst, Option<Group>)>, String> {
    let program = decode_program(bytes, 0);
    if let Some(problem) = program.problems.first() {
        return Err(format!("{problem:?}"));
    }
    let mut control = Vec::new();
    let mut clauses: BTreeMap<usize, Vec<(usize, Inst, Option<Group>)>> = BTreeMap::new();
    for item in &program.items {
        let at = item.range.start;
        match &item.content {
            Content::Control(inst) => control.push((at, *inst)),
            Content::Fetch(inst) => {
                clauses.insert(at, vec![(at, *inst, None)]);
            }
            Content::Group(group) => {
                let slots = group.slots.iter().flatten().enumerate();
                let slots = slots.map(|(index, slot)| (at + 8 * index, *slot, Some(*group)));
                clauses.insert(at, slots.collect());
            }
            Content::Raw => {}
        }
    }
    let mut all = Vec::new();
    for (at, inst) in control {
        all.push((at, inst, None));
        if inst.row().clause().is_some() {
            let start = 8 * inst.get(F::Addr) as usize;
            let unit = if inst.format().is_control() && inst.format() == Format::Cf { 16 } else { 8 };
            let end = start + unit * (inst.get(F::Count) as usize + 1);
            all.extend(clauses.range(start..end).flat_map(|(_, words)| words.iter().cloned()));
        }
    }
    Ok(all)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

fn expect(inst: &Inst, id: F, value: u32) -> Result<(), String> {
    same(id.name(), &inst.field(id), &Some(value))
}

/// The number behind a prefix of one of the tokens.
fn number(tokens: &[&str], prefix: &str) -> Option<u32> {
    let token = tokens.iter().find_map(|token| token.strip_prefix(prefix))?;
    let digits: String = token.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    digits.parse::<i64>().ok().map(|number| number as u32)
}

fn selection(letter: char) -> Option<u32> {
    "xyzw01?_".chars().position(|known| known == letter).map(|code| code as u32)
}

/// A register and its letters, `R3.xy__`: the fields of both.
fn register(inst: &Inst, text: &str, register: F, letters: &[F]) -> Result<(), String> {
    let text = text.trim_end_matches(',');
    let (name, channels) = text.split_once('.').unwrap_or((text, ""));
    let number = name.strip_prefix(['R', 'T']).and_then(|number| number.parse().ok());
    expect(inst, register, number.ok_or(format!("no register in `{text}`"))?)?;
    for (id, letter) in letters.iter().zip(channels.chars()) {
        expect(inst, *id, selection(letter).ok_or(format!("no channel `{letter}`"))?)?;
    }
    Ok(())
}

const DST_SEL: [F; 4] = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW];
const SRC_SEL: [F; 4] = [F::SrcSelX, F::SrcSelY, F::SrcSelZ, F::SrcSelW];

/// Whether a word says what the disassembly says.
fn agrees(text: &str, inst: &Inst, group: Option<Group>) -> Result<(), String> {
    if let Some(group) = group {
        return slot(text, inst, &group);
    }
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let [name, operands @ ..] = &tokens[..] else { return Err("no text".to_owned()) };
    match inst.format() {
        Format::Cf => {
            same("name", &Op::from_name(name), &Some(inst.op()))?;
            if let Some(address) = number(operands, "@") {
                expect(inst, F::Addr, address / 2)?;
            }
            expect(inst, F::PopCount, number(operands, "POP:").unwrap_or(0))?;
            expect(inst, F::ValidPixelMode, operands.contains(&"VPM").into())?;
            clause(operands, inst)
        }
        Format::CfAlu => {
            same("name", &Op::from_name(name), &Some(inst.op()))?;
            expect(inst, F::Addr, number(operands, "@").ok_or("no address")? / 2)?;
            for (window, fields) in WINDOW_FIELDS.iter().take(2).enumerate() {
                let prefix = format!("KC{window}[CB");
                let Some(locked) = operands.iter().find_map(|token| token.strip_prefix(&prefix[..])) else {
                    expect(inst, fields.mode, 0)?;
                    continue;
                };
                let (buffer, range) = locked.trim_end_matches(']').split_once(':').ok_or("no lines")?;
                expect(inst, fields.bank, buffer.parse().map_err(|_| "no buffer")?)?;
                // `0-16`, or `-528--512` where Mesa has lost the address.
                let dash = range.char_indices().skip(1).find(|(_, c)| *c == '-').ok_or("no lines")?.0;
                let bound = |text: &str| text.parse::<i32>().map_err(|_| format!("no number in {range}"));
                let (first, end) = (bound(&range[..dash])?, bound(&range[dash + 1..])?);
                expect(inst, fields.line, (first / 16) as u32 & 0xff)?;
                expect(inst, fields.mode, ((end - first) / 16) as u32)?;
            }
            clause(operands, inst)
        }
        Format::ExportSwiz => {
            same("name", &Op::from_name(name), &Some(inst.op()))?;
            let [kind, base, data, ..] = operands else { return Err("no operands".to_owned()) };
            let kinds = ["PIXEL", "POS", "PARAM"];
            let kind = kinds.iter().position(|known| known == kind).ok_or("no type")?;
            expect(inst, F::Type, kind as u32)?;
            expect(inst, F::ArrayBase, base.parse().map_err(|_| "no base")?)?;
            register(inst, data, F::RwGpr, &[F::SelX, F::SelY, F::SelZ, F::SelW])?;
            expect(inst, F::ElemSize, number(operands, "ES:").ok_or("no size")?)
        }
        Format::ExportBuf | Format::Rat => {
            let [kind, rest @ ..] = operands else { return Err("no operands".to_owned()) };
            let kinds = ["WRITE", "WRITE_IND", "WRITE_ACK", "WRITE_IND_ACK"];
            let kind = kinds.iter().position(|known| known == kind).ok_or("no type")?;
            expect(inst, F::Type, kind as u32)?;
            let rest = if inst.format() == Format::Rat {
                same("name", &inst.row().name.split(' ').next(), &Some(*name))?;
                expect(inst, F::RatId, number(rest, "RAT").ok_or("no target")?)?;
                expect(inst, F::RatInst, rest[2].parse().map_err(|_| "no operation")?)?;
                &rest[3..]
            } else {
                same("name", name, &"MEM_SCRATCH")?;
                same("name", &inst.op(), &Op::MemWrScratch)?;
                expect(inst, F::ArrayBase, rest[0].parse().map_err(|_| "no base")?)?;
                rest
            };
            let [_, data, index, sizes @ ..] = rest else { return Err("no data".to_owned()) };
            register(inst, data, F::RwGpr, &[])?;
            let letters = data.split_once('.').map_or("", |(_, letters)| letters);
            let mask = letters.chars().enumerate().filter(|(_, letter)| *letter != '_');
            expect(inst, F::CompMask, mask.map(|(channel, _)| 1 << channel).sum())?;
            register(inst, index, F::IndexGpr, &[])?;
            expect(inst, F::ElemSize, number(sizes, "ES:").ok_or("no size")?)?;
            expect(inst, F::ArraySize, number(sizes, "AS:").ok_or("no size")?)?;
            // Mesa prints what it means. It leaves the bit out of words that write scratch memory, so
            // nothing waits for them.
            expect(inst, F::Mark, (inst.format() == Format::Rat && sizes.contains(&"MARK")).into())
        }
        Format::Vtx => {
            let fetch = Op::VtxRead;
            same("name", &inst.op(), &if *name == "VFETCH" { fetch } else { Op::GetBufferResinfo })?;
            register(inst, operands[0], F::DstGpr, &DST_SEL)?;
            // The disassembler prints a selection of two bits with letters for three.
            let letters = if *name == "VFETCH" { &SRC_SEL[..1] } else { &[] };
            register(inst, operands[1], F::SrcGpr, letters)?;
            expect(inst, F::BufferId, number(operands, "RID:").ok_or("no buffer")?)?;
            expect(inst, F::UseConstFields, number(operands, "UCF:").ok_or("no UCF")?)?;
            format(operands, inst)
        }
        Format::MemRd => {
            same("name", &(*name, inst.op()), &("READ_SCRATCH", Op::MemRdScratch))?;
            register(inst, operands[0], F::DstGpr, &DST_SEL)?;
            register(inst, operands[1], F::SrcGpr, &SRC_SEL[..2])?;
            for (id, prefix) in [
                (F::Indexed, "INDEXED:"),
                (F::ElemSize, "ELEM_SIZE:"),
                (F::ArrayBase, "ARRAY_BASE:"),
                (F::ArraySize, "ARRAY_SIZE:"),
            ] {
                expect(inst, id, number(operands, prefix).ok_or(prefix)?)?;
            }
            expect(inst, F::Uncached, operands.contains(&"UNCACHED").into())?;
            format(operands, inst)
        }
        Format::Tex => {
            // Mesa's name of an operation that the manual calls GET_COMP_TEX_LOD.
            let name = if *name == "GET_LOD" { "GET_COMP_TEX_LOD" } else { name };
            same("name", &Op::from_name(name), &Some(inst.op()))?;
            register(inst, operands[0], F::DstGpr, &DST_SEL)?;
            register(inst, operands[1], F::SrcGpr, &SRC_SEL)?;
            expect(inst, F::ResourceId, number(operands, "RID:").ok_or("no resource")?)?;
            expect(inst, F::SamplerId, number(operands, "SID:").ok_or("no sampler")?)?;
            let index = operands.iter().find_map(|token| token.strip_prefix("SQ_CF_INDEX_"));
            let index = index.and_then(|index| index.parse::<u32>().ok()).map_or(0, |index| index + 1);
            expect(inst, F::ResourceIndexMode, index)?;
            let types = operands.iter().find_map(|token| token.strip_prefix("CT:")).ok_or("no types")?;
            let fields = [F::CoordTypeX, F::CoordTypeY, F::CoordTypeZ, F::CoordTypeW];
            for (id, letter) in fields.into_iter().zip(types.chars()) {
                expect(inst, id, (letter == 'N').into())?;
            }
            for (id, prefix) in [(F::OffsetX, "OX:"), (F::OffsetY, "OY:"), (F::OffsetZ, "OZ:")] {
                expect(inst, id, number(operands, prefix).unwrap_or(0) & 0x1f)?;
            }
            Ok(())
        }
        Format::Gds => {
            same("name", &Op::from_name(name), &Some(inst.op()))?;
            register(inst, operands[0], F::DstGpr, &DST_SEL)?;
            register(inst, operands[1], F::SrcGpr, &SRC_SEL[..3])
        }
        other => Err(format!("unexpected format {other:?}")),
    }
}

/// COUNT of a word that calls a clause.
fn clause(operands: &[&str], inst: &Inst) -> Result<(), String> {
    match inst.row().clause() {
        None => Ok(()),
        Some(_) => {
            let count: u32 = operands[0].parse().map_err(|_| "no count")?;
            expect(inst, F::Count, count - 1)
        }
    }
}

/// `FMT(DTA:13 NUM:1 COMP:0 MODE:0)`
fn format(operands: &[&str], inst: &Inst) -> Result<(), String> {
    for (id, prefix) in [
        (F::DataFormat, "FMT(DTA:"),
        (F::NumFormatAll, "NUM:"),
        (F::FormatCompAll, "COMP:"),
        (F::SrfModeAll, "MODE:"),
    ] {
        expect(inst, id, number(operands, prefix).ok_or(prefix)?)?;
    }
    Ok(())
}

/// `1 z:M    PRED_SETGT_UINT        __.z,  KC0[0].x, PV.w  BS:1`
fn slot(text: &str, inst: &Inst, group: &Group) -> Result<(), String> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let (channel, rest) = text.split_once(':').ok_or("no channel")?;
    expect(inst, F::DstChan, channel.chars().next().and_then(selection).ok_or("no channel")?)?;
    // M: the active lanes change, P: the predicate.
    let (marks, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    same("UPDATE_EXEC_MASK", &inst.field(F::UpdateExecMask).unwrap_or(0), &marks.contains('M').into())?;
    same("UPDATE_PRED", &inst.field(F::UpdatePred).unwrap_or(0), &marks.contains('P').into())?;
    let (name, rest) = rest.trim_start().split_once(' ').ok_or("no operands")?;
    let (name, clamps) = name.strip_suffix("_sat").map_or((name, 0), |name| (name, 1));
    same("CLAMP", &inst.field(F::Clamp).unwrap_or(0), &clamps)?;
    same("name", &Op::from_name(name), &Some(inst.op()))?;
    let (operands, swizzle) = rest.split_once(" BS:").unwrap_or((rest, "0"));
    expect(inst, F::BankSwizzle, swizzle.trim().parse().map_err(|_| "no swizzle")?)?;
    let mut operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty());
    let result = operands.next().ok_or("no result")?;
    if let Some(to) = inst.field(F::MovaDst) {
        same("result", &["AR", "CF_PC", "CF_IDX0", "CF_IDX1"].get(to as usize), &Some(&result))?;
    } else if inst.format() != Format::Lds && inst.op() != Op::GroupBarrier {
        let (register, letter) = result.split_once('.').ok_or("no result")?;
        same("channel", &letter, &channel)?;
        // Words with three sources have no mask.
        let is_masked = register == "__";
        same("WRITE_MASK", &inst.field(F::WriteMask).unwrap_or(1), &u32::from(!is_masked))?;
        if !is_masked {
            let (number, is_relative) = place(register).ok_or(format!("no register in `{register}`"))?;
            expect(inst, F::DstGpr, number)?;
            expect(inst, F::DstRel, is_relative.into())?;
        }
    }
    let operands: Vec<&str> = operands.collect();
    let sources: Vec<_> = inst.sources().collect();
    same("number of sources", &sources.len(), &operands.len())?;
    for (operand, (_, field, source)) in operands.into_iter().zip(sources) {
        source_agrees(operand, source, inst, group, (field.negate, field.absolute), field.relative)
            .map_err(|error| format!("`{operand}`: {error}"))?;
    }
    Ok(())
}

/// `R5` or `R[5+AR]`: the register, and whether it is relative.
fn place(text: &str) -> Option<(u32, bool)> {
    let number = text.strip_prefix(['R', 'T'])?;
    match number.strip_prefix('[') {
        Some(inside) => Some((inside.strip_suffix("+AR]")?.parse().ok()?, true)),
        None => Some((number.parse().ok()?, false)),
    }
}

fn source_agrees(
    operand: &str,
    source: Source,
    inst: &Inst,
    group: &Group,
    (negate, absolute): (F, Option<F>),
    relative: F,
) -> Result<(), String> {
    // -1 has a code of its own, and 1 can be negated.
    if operand == "-1" && source == Source::Inline(Inline::MinusOneInt) {
        return same("negation", &inst.field(negate).unwrap_or(0), &0);
    }
    let (is_negative, rest) = operand.strip_prefix('-').map_or((0, operand), |rest| (1, rest));
    let bars = rest.starts_with('|');
    let rest = rest.trim_matches('|');
    if inst.format() != Format::Lds {
        same("negation", &inst.field(negate).unwrap_or(0), &is_negative)?;
        let found = absolute.and_then(|absolute| inst.field(absolute)).unwrap_or(0);
        same("absolute value", &found, &bars.into())?;
    }
    if let Some(literal) = rest.strip_prefix("[0x") {
        let value = literal.split(' ').next().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Source::Literal(channel) = source else { return Err(format!("no literal: {source:?}")) };
        return same("literal", &Some(group.literals[usize::from(channel & 3)]), &value);
    }
    let inline = [("0", Inline::Zero), ("1.0", Inline::One), ("1", Inline::OneInt), ("0.5", Inline::Half)];
    if let Some((_, constant)) = inline.iter().find(|(name, _)| *name == rest) {
        return same("source", &source, &Source::Inline(*constant));
    }
    // Codes of sources of their own (HD 6900 ISA 9.2), and parameters of interpolations.
    let (name, letter) = rest.rsplit_once('.').unwrap_or((rest, "x"));
    // The word of a channel beyond W has two bits of it.
    let channel = letter.chars().next().and_then(selection).ok_or("no channel")? as u8 & 3;
    let others = [("HW_WAVE_ID", 231), ("SE_ID", 233)];
    let code = others.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
    let parameter = name.strip_prefix("Param").and_then(|number| number.parse::<u16>().ok());
    if let Some(code) = code.or(parameter.map(|number| 448 + number)) {
        return match source {
            Source::Other(found, _) => same("source", &found, &code),
            other => Err(format!("expected code {code}, found {other:?}")),
        };
    }
    let expected = match name {
        "PV" => Source::PreviousVector(channel),
        "LDS_OQ_A_POP" => Source::Queue(0, true),
        _ => match name.strip_prefix("KC") {
            Some(constant) => {
                let (window, number) = constant.trim_end_matches(']').split_once('[').ok_or("no constant")?;
                let number = number.parse().map_err(|_| "no constant")?;
                Source::Constant(window.parse().map_err(|_| "no window")?, number, channel)
            }
            None => {
                let (number, is_relative) = place(name).ok_or("unknown")?;
                same("relative", &inst.bit(relative), &is_relative)?;
                Source::Gpr(number as u8, channel)
            }
        },
    };
    same("source", &source, &expected)
}
