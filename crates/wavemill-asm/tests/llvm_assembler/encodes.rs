//! LLVM's result for a text that Wavemill rejects, as lines of `disagreements.txt` describe it.

use wavemill_asm::gcn::parse;
use wavemill_isa::gcn::{Inst, Operand, Special, decode};

use crate::line::Line;

/// What LLVM's bytes are. Most equal Wavemill's bytes for the text with the part at fault replaced.
#[derive(Debug)]
pub(crate) enum Encodes {
    /// `illegal`: not an instruction, or one that breaks a rule.
    Illegal,
    /// `nothing`: no bytes.
    Nothing,
    /// `fix`: the fix in our message.
    Fix,
    /// `as:PART`: this part; `{}` in it is the part at fault.
    As(String),
    /// `word:A=>B`: the word B in place of the word A elsewhere.
    Word(String, String),
    /// `low:BITS`: this many low bits of the number at fault; for a float, the low bits of its
    /// double.
    Low(u32),
    /// `high`: the upper half of the double at fault.
    High,
    /// `bits`: the bits of the double at fault, as an integer.
    Bits,
    /// `single`: a literal with the bits of a single-precision float, where 16 are read.
    Single,
    /// `shorter:COUNT`: a list with this many numbers fewer.
    Shorter(usize),
    /// `apart`: the number at fault with a blank between it and the letters after it.
    Apart,
    /// `first`: the first register of the tuple at fault.
    First,
    /// `no-abs`: the same text without absolute value.
    NoAbs,
    /// `no-sext`: the same text without sign extension of one operand.
    NoSext,
    /// `seven-bits`: the register with the low seven bits of the code of the register at fault.
    SevenBits,
    /// `one-literal`: two operands with the code of a literal, and one literal.
    OneLiteral,
    /// `form:ENCODING`: the same instruction in this encoding, without the part at fault.
    Form(String),
}

impl Encodes {
    /// Parses one.
    pub(crate) fn new(text: &str) -> Option<Encodes> {
        let plain = |text: &str| text.replace("{bar}", "|").replace('+', " ").replace("{plus}", "+");
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        Some(match name {
            "illegal" => Encodes::Illegal,
            "nothing" => Encodes::Nothing,
            "fix" => Encodes::Fix,
            "as" => Encodes::As(plain(value)),
            "word" => {
                let (from, to) = value.split_once("=>")?;
                Encodes::Word(plain(from), plain(to))
            }
            "low" => Encodes::Low(value.parse().ok().filter(|bits| (1..=32).contains(bits))?),
            "high" => Encodes::High,
            "bits" => Encodes::Bits,
            "single" => Encodes::Single,
            "shorter" => Encodes::Shorter(value.parse().ok().filter(|count| *count > 0)?),
            "apart" => Encodes::Apart,
            "first" => Encodes::First,
            "no-abs" => Encodes::NoAbs,
            "no-sext" => Encodes::NoSext,
            "seven-bits" => Encodes::SevenBits,
            "one-literal" => Encodes::OneLiteral,
            "form" => Encodes::Form(value.to_owned()),
            _ => return None,
        })
    }

    /// Whether the bytes match the description.
    pub(crate) fn explains(&self, line: &Line<'_>, bytes: &[u8]) -> bool {
        let inst = decode(line.set.target(), bytes).ok().filter(|inst| inst.size() == bytes.len());
        match self {
            Encodes::Nothing => bytes.is_empty(),
            Encodes::Illegal => inst.is_none_or(|inst| inst.broken_rule().is_some()) && !bytes.is_empty(),
            Encodes::OneLiteral => inst.is_some_and(|inst| literals(&inst) > 1),
            Encodes::Form(name) => inst.is_some_and(|inst| {
                inst.encoding().name() == name && line.text.trim_start().starts_with(inst.mnemonic())
            }),
            Encodes::SevenBits => has_seven_bits(line, bytes),
            Encodes::Single => is_single(line, bytes),
            _ => self.others(line).iter().any(|text| line.becomes(text, bytes)),
        }
    }

    /// The texts that LLVM may have read in place of the text.
    fn others(&self, line: &Line<'_>) -> Vec<String> {
        let fault = &line.text[line.fault.clone()];
        let (before, behind) = (&line.text[..line.fault.start], &line.text[line.fault.end..]);
        let parts = match self {
            Encodes::NoSext => {
                let inner = |(before, rest): (&str, &str)| {
                    let (operand, behind) = rest.split_once(')')?;
                    Some(format!("{before}{operand}{behind}"))
                };
                return line.text.split_once("sext(").and_then(inner).into_iter().collect();
            }
            Encodes::Fix => return line.fix.iter().cloned().collect(),
            Encodes::Word(from, to) => {
                let words: Vec<&str> = line.text.split(' ').collect();
                return words
                    .iter()
                    .enumerate()
                    .filter(|(_, word)| *word == from)
                    .map(|(at, _)| [&words[..at], &[to.as_str()], &words[at + 1..]].concat().join(" "))
                    .collect();
            }
            Encodes::As(other) => vec![other.replace("{}", fault)],
            Encodes::Low(bits) => {
                let Some(number) = low(line, fault, *bits) else { return Vec::new() };
                // A mnemonic may directly precede the number, and a sign is part of it.
                let unsigned = before.trim_end_matches('-');
                return vec![format!("{before}{number}{behind}"), format!("{unsigned} {number}{behind}")];
            }
            Encodes::High => double(fault).map(|bits| format!("{:#x}", bits >> 32)).into_iter().collect(),
            Encodes::Bits => double(fault).map(|bits| format!("{bits:#x}")).into_iter().collect(),
            Encodes::Shorter(count) => shorter(fault, *count).into_iter().collect(),
            Encodes::Apart => {
                let splits = fault.char_indices().skip(1).filter(|(_, c)| c.is_ascii_alphabetic());
                splits.map(|(at, _)| format!("{} {}", &fault[..at], &fault[at..])).collect()
            }
            Encodes::First => first(fault).into_iter().collect(),
            Encodes::NoAbs => {
                let plain = fault.replace("abs(", "").replace(['|', ')'], "");
                vec![plain.strip_prefix('-').map_or(plain.clone(), |inner| format!("neg({inner})"))]
            }
            _ => Vec::new(),
        };
        parts.iter().map(|part| format!("{before}{part}{behind}")).collect()
    }
}

/// The number of operands with the code of a literal.
fn literals(inst: &Inst) -> usize {
    inst.operands().filter(|(_, operand)| matches!(operand, Operand::Literal(_))).count()
}

/// Whether the bytes equal the text's with a 16-bit literal, except that the literal has the bits
/// of a single-precision float.
fn is_single(line: &Line<'_>, bytes: &[u8]) -> bool {
    const ANY: u32 = 0x5678;
    let fault = &line.text[line.fault.clone()];
    let number = fault.trim_start_matches("lit(").trim_end_matches(')');
    let (Some(bits), Some((front, literal))) = (double(number), bytes.split_last_chunk::<4>()) else {
        return false;
    };
    if *literal != (f64::from_bits(bits) as f32).to_bits().to_le_bytes() {
        return false;
    }
    let (before, behind) = (&line.text[..line.fault.start], &line.text[line.fault.end..]);
    line.becomes(&format!("{before}{ANY:#x}{behind}"), &[front, &ANY.to_le_bytes()].concat())
}

/// The bits of the double, even if it is written in hexadecimal.
fn double(text: &str) -> Option<u64> {
    let hexadecimal = || {
        let (digits, exponent) = text.strip_prefix("0x")?.split_once('p')?;
        let exponent: i32 = exponent.parse().ok()?;
        Some(u64::from_str_radix(digits, 16).ok()? as f64 * 2f64.powi(exponent))
    };
    text.parse::<f64>().ok().or_else(hexadecimal).map(f64::to_bits)
}

fn integer(text: &str) -> Option<u64> {
    let (minus, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if minus { value.wrapping_neg() } else { value })
}

/// The low bits of the number at fault, from our message or from the text after the modifier's
/// name.
fn low(line: &Line<'_>, fault: &str, bits: u32) -> Option<String> {
    let (name, number) = fault.rfind(':').map_or(("", fault), |at| fault.split_at(at + 1));
    let number = number.trim_start_matches("lit(").trim_end_matches(')');
    let found = line.ours.split("found ").nth(1).and_then(integer);
    let value = found.or_else(|| integer(number)).or_else(|| double(number))?;
    Some(format!("{name}{:#x}", value & ((1 << bits) - 1)))
}

fn shorter(fault: &str, count: usize) -> Option<String> {
    let numbers: Vec<&str> = fault.strip_suffix(']')?.split(',').collect();
    let kept = numbers.len().checked_sub(count).filter(|kept| *kept > 0)?;
    Some(format!("{}]", numbers[..kept].join(",")))
}

/// `-v2` of `-v[2:3]`.
fn first(fault: &str) -> Option<String> {
    let (before, rest) = fault.split_once('[')?;
    let (register, rest) = rest.split_once(':')?;
    let (_, behind) = rest.split_once(']')?;
    Some(format!("{before}{register}{behind}"))
}

/// Whether the bytes equal the text's with a register of code 0 at the fault, except for the low
/// seven bits of the code of the register there.
fn has_seven_bits(line: &Line<'_>, bytes: &[u8]) -> bool {
    let fault = &line.text[line.fault.clone()];
    let named = |name: &str| Special::from_name(name).or_else(|| Special::from_pair_name(name));
    let Some(special) = named(fault).or_else(|| named(&format!("src_{fault}"))) else { return false };
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
    let (before, behind) = (&line.text[..line.fault.start], &line.text[line.fault.end..]);
    ["s0", "s[0:1]"].iter().any(|register| {
        let Ok(inst) = parse(line.set, &format!("{before}{register}{behind}")) else { return false };
        let (encoded, size) = inst.encode();
        let differs = word(&encoded[..size]) ^ word(bytes);
        size == bytes.len()
            && differs >> differs.trailing_zeros().min(127) == odd_part(u128::from(special.code() & 127))
    })
}

/// The number without the zeros at its end.
fn odd_part(number: u128) -> u128 {
    number >> number.trailing_zeros().min(127)
}
