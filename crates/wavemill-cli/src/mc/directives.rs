//! Prints directives as `llvm-mc` does: the ones that tests of instructions use. Others are printed
//! as in the source.

use std::fmt::Write;

use wavemill_asm::{DataDirective, NoSymbols, float_bits, leb128, octas, printed_expressions, quoted};

use super::text::Text;

/// Most lines from repetitions of values: `.dcb.b 1 << 30, 1` would print that many. Repetitions
/// beyond this are printed as in the source.
const MOST_REPEATED: u64 = 1 << 22;

/// Which sections have code, for printing alignments.
#[derive(Clone, Copy, Debug)]
struct Current {
    code: bool,
}

/// The current section, the previous one, and the stack of pushed sections.
#[derive(Debug)]
pub(super) struct Sections {
    current: Current,
    previous: Current,
    waiting: Vec<(Current, Current)>,
}

impl Default for Sections {
    fn default() -> Sections {
        let text = Current { code: true };
        Sections { current: text, previous: text, waiting: Vec::new() }
    }
}

impl Sections {
    /// Follows a directive that changes the section.
    fn follow(&mut self, directive: &str, operands: &str) {
        let first = operands.split(',').next().unwrap_or_default().trim().trim_matches('"');
        let flags = operands.split(',').nth(1).unwrap_or_default();
        let named = Current { code: first.starts_with(".text") || flags.contains('x') };
        let current = self.current;
        match directive {
            ".text" => self.current = Current { code: true },
            ".data" | ".bss" | ".rodata" => self.current = Current { code: false },
            ".section" => self.current = named,
            ".pushsection" => {
                self.waiting.push((self.current, self.previous));
                self.current = named;
            }
            ".popsection" => {
                if let Some((current, previous)) = self.waiting.pop() {
                    (self.current, self.previous) = (current, previous);
                }
                return;
            }
            ".previous" => self.current = self.previous,
            _ => return,
        }
        self.previous = current;
    }
}

/// Splits at commas outside parentheses and quotes.
pub(super) fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut quote) = (0_i32, None);
    let mut all = Vec::new();
    let mut start = 0;
    for (at, byte) in list.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth -= 1,
            (None, b',') if depth == 0 => {
                all.extend(list.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    all.extend(list.get(start..));
    all
}

/// The parts of a list of expressions; `None` if one of them cannot be parsed, so that nothing is
/// printed. An empty list has no parts.
fn readable_parts(list: &str) -> Option<Vec<&str>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    let parts = parts(list);
    let readable = |part: &&str| printed_expressions(part, &NoSymbols, &mut |_| None).is_ok();
    parts.iter().all(readable).then_some(parts)
}

/// LLVM's directive for integers of this many bytes.
const fn integers(size: u8) -> &'static str {
    match size {
        1 => ".byte",
        2 => ".short",
        4 => ".long",
        _ => ".quad",
    }
}

impl Text {
    /// Prints a directive.
    pub(super) fn directive(&mut self, statement: &str) {
        let length = statement.find(char::is_whitespace).unwrap_or(statement.len());
        let (name, rest) = statement.split_at(length);
        let rest = rest.trim();
        if self.kernel(name, rest) {
            return;
        }
        self.sections.follow(name, rest);
        if self.as_llvm(name, rest).is_some() {
            return;
        }
        let rest = self.with_names(rest);
        // Writing to a String does not fail.
        let _ = match name {
            // It is already first; LLVM prints an empty line after it, and after the version.
            ".amdgcn_target" if self.has_target(&rest) => writeln!(self.out),
            ".amdgcn_target" | ".addrsig_sym" => writeln!(self.out, "\t{name} {rest}"),
            ".amdhsa_code_object_version" => writeln!(self.out, "\t{name} {rest}\n"),
            _ if rest.is_empty() => writeln!(self.out, "\t{name}"),
            _ => writeln!(self.out, "\t{name}\t{rest}"),
        };
    }

    /// Prints a directive that LLVM does not print as written. `None`, with nothing printed, if it
    /// is not one of these, or has unknown operands.
    fn as_llvm(&mut self, name: &str, rest: &str) -> Option<()> {
        if let Some(value) = rest.strip_prefix('=') {
            return self.set(name, value.trim_start_matches('='), false);
        }
        if let Some(directive) = DataDirective::named(name) {
            return self.data(directive, rest);
        }
        match name {
            ".comm" | ".lcomm" => {
                let (symbol, size) = rest.split_once(',').filter(|_| !rest.starts_with('"'))?;
                let symbol = symbol.trim();
                match (name, &*self.expressions(size)?) {
                    (".comm", [(size, _)]) => self.line(format_args!("\t.comm\t{symbol},{size},0")),
                    (_, [(size, _)]) => self.line(format_args!("\t.lcomm\t{symbol},{size}")),
                    (_, [(size, _), (align, _)]) => {
                        self.line(format_args!("\t{name}\t{symbol},{size},{align}"))
                    }
                    _ => None,
                }
            }
            ".globl" | ".global" => self.each(".globl", rest),
            ".weak" | ".local" | ".hidden" | ".protected" | ".internal" => self.each(name, rest),
            ".type" => self.symbol_type(rest),
            ".size" => {
                let (symbol, size) = rest.split_once(',').filter(|_| !rest.starts_with('"'))?;
                let [(size, _)] = <[_; 1]>::try_from(self.expressions(size)?).ok()?;
                self.line(format_args!("\t.size\t{}, {size}", symbol.trim()))
            }
            ".set" | ".equ" | ".equiv" => {
                let (symbol, value) = rest.split_once(',').filter(|_| !rest.starts_with('"'))?;
                self.set(symbol.trim(), value, true)
            }
            ".rodata" if rest.is_empty() => self.line(format_args!("\t.section\t.rodata,\"a\",@progbits")),
            ".bss" if rest.is_empty() => self.line(format_args!("\t.section\t.bss,\"aw\",@nobits")),
            // LLVM accepts and ignores it.
            ".extern" => Some(()),
            _ => None,
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Option<()> {
        writeln!(self.out, "{line}").ok()
    }

    /// `.set`, or an assignment, after which LLVM does not print `.no_dead_strip`.
    fn set(&mut self, symbol: &str, value: &str, directive: bool) -> Option<()> {
        // `. = address` does not set a symbol.
        if symbol == "." {
            return None;
        }
        let [(text, value)] = <[_; 1]>::try_from(self.expressions(value)?).ok()?;
        self.know(symbol, value);
        self.line(format_args!(".set {symbol}, {text}"))?;
        match directive {
            true => self.line(format_args!("\t.no_dead_strip\t{symbol}")),
            false => Some(()),
        }
    }

    /// Data, as numbers where their values are known.
    fn data(&mut self, directive: DataDirective, rest: &str) -> Option<()> {
        match directive {
            DataDirective::Integers(size) => self.values(integers(size), rest),
            DataDirective::RepeatedIntegers(size) => self.repeated(integers(size), rest),
            DataDirective::RepeatedFloats { double } => {
                let (count, value) = rest.split_once(',')?;
                let count = self.repetitions(count)?;
                self.floats(value, double, count)
            }
            DataDirective::Room(size) => self.rooms(size, rest),
            DataDirective::Octas | DataDirective::Floats { .. } if rest.is_empty() => Some(()),
            DataDirective::Floats { double } => self.floats(rest, double, 1),
            DataDirective::Octas => octas(rest).ok()?.into_iter().try_for_each(|value| {
                [value as i64, (value >> 64) as i64]
                    .into_iter()
                    .try_for_each(|half| self.line(format_args!("\t.quad\t{half}")))
            }),
            DataDirective::Leb128 { signed } => self.leb128(signed, rest),
            DataDirective::Strings { zero } => self.strings(rest, zero),
            DataDirective::Space => self.room(rest),
            DataDirective::Fill => self.fill(rest),
            DataDirective::Org => self.place(rest),
            DataDirective::Align { power, unit } => self.align(power, rest, unit.into()),
        }
    }

    fn values(&mut self, name: &str, list: &str) -> Option<()> {
        for part in readable_parts(list)? {
            // Each value has its own address, which `.` means.
            for (text, _) in self.expressions(part)? {
                self.line(format_args!("\t{name}\t{text}"))?;
            }
        }
        Some(())
    }

    fn leb128(&mut self, signed: bool, list: &str) -> Option<()> {
        let name = if signed { ".sleb128" } else { ".uleb128" };
        for part in readable_parts(list)? {
            for (text, value) in self.expressions(part)? {
                match value {
                    Some(value) => self.bytes(&leb128(value, signed))?,
                    None => self.line(format_args!("\t{name} {text}"))?,
                }
            }
        }
        Some(())
    }

    /// How often to repeat something: a negative count means never. Repetitions total at most
    /// [`MOST_REPEATED`].
    fn repetitions(&mut self, count: &str) -> Option<u64> {
        let [(_, value)] = <[_; 1]>::try_from(self.expressions(count)?).ok()?;
        let count = u64::try_from(value?).unwrap_or(0);
        self.repeated = self.repeated.checked_add(count).filter(|all| *all <= MOST_REPEATED)?;
        Some(count)
    }

    /// `.dcb.w count, value`.
    fn repeated(&mut self, name: &str, rest: &str) -> Option<()> {
        let [count, value] = <[_; 2]>::try_from(parts(rest)).ok()?;
        let count = self.repetitions(count)?;
        let [(value, _)] = <[_; 1]>::try_from(self.expressions(value)?).ok()?;
        (0..count).try_for_each(|_| self.line(format_args!("\t{name}\t{value}")))
    }

    /// `.ds.w count`.
    fn rooms(&mut self, size: u8, count: &str) -> Option<()> {
        let count = self.repetitions(count)?;
        (0..count).try_for_each(|_| self.line(format_args!("\t.zero\t{size}")))
    }

    /// Floats, each `count` times.
    fn floats(&mut self, list: &str, double: bool, count: u64) -> Option<()> {
        for bits in float_bits(list, double).ok()? {
            for _ in 0..count {
                match double {
                    true => self.line(format_args!("\t.quad\t{}", bits as i64))?,
                    false => self.line(format_args!("\t.long\t{bits}"))?,
                }
            }
        }
        Some(())
    }

    fn strings(&mut self, list: &str, zero: bool) -> Option<()> {
        if list.is_empty() {
            return Some(());
        }
        let mut rest = list;
        let mut all = Vec::new();
        loop {
            let (bytes, length) = quoted(rest)?;
            all.push(bytes);
            match rest.get(length..)?.trim_start() {
                "" => break,
                // Adjacent strings.
                behind if behind.starts_with('"') => rest = behind,
                behind => rest = behind.strip_prefix(',')?.trim_start(),
            }
        }
        for bytes in all {
            self.bytes(&bytes)?;
            if zero {
                self.bytes(&[0])?;
            }
        }
        Some(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        match bytes {
            [] => Some(()),
            [byte] => self.line(format_args!("\t.byte\t{byte}")),
            [text @ .., 0] => self.string(".asciz", text),
            text => self.string(".ascii", text),
        }
    }

    fn string(&mut self, name: &str, text: &[u8]) -> Option<()> {
        write!(self.out, "\t{name}\t\"").ok()?;
        for &byte in text {
            match byte {
                b'"' | b'\\' => self.out.extend(['\\', char::from(byte)]),
                b'\n' => self.out.push_str("\\n"),
                b'\t' => self.out.push_str("\\t"),
                b'\r' => self.out.push_str("\\r"),
                8 => self.out.push_str("\\b"),
                12 => self.out.push_str("\\f"),
                b' '..=b'~' => self.out.push(char::from(byte)),
                _ => write!(self.out, "\\{byte:03o}").ok()?,
            }
        }
        self.out.push_str("\"\n");
        Some(())
    }

    fn room(&mut self, rest: &str) -> Option<()> {
        match &*self.expressions(rest)? {
            [(_, Some(0))] | [(_, Some(0)), (_, Some(_))] => Some(()),
            [(count, _)] | [(count, _), (_, Some(0))] => self.line(format_args!("\t.zero\t{count}")),
            [(count, _), (_, Some(value))] => self.line(format_args!("\t.zero\t{count},{value}")),
            _ => None,
        }
    }

    fn fill(&mut self, rest: &str) -> Option<()> {
        let all = self.expressions(rest)?;
        let (count, _) = all.first()?;
        let number = |index: usize, otherwise| all.get(index).map_or(Some(otherwise), |(_, value)| *value);
        let (size, value) = (number(1, 1)?.min(8), number(2, 0)?);
        // LLVM warns about it, and prints nothing.
        if size < 0 {
            return Some(());
        }
        self.line(format_args!("\t.fill\t{count}, {size}, {:#x}", value as u32))
    }

    fn place(&mut self, rest: &str) -> Option<()> {
        let all = self.expressions(rest)?;
        let (place, _) = all.first()?;
        let fill = all.get(1).map_or(Some(0), |(_, value)| *value)? as u8;
        self.line(format_args!(".org {place}, {fill}"))
    }

    /// An alignment, with fill values of so many bytes.
    fn align(&mut self, power: bool, rest: &str, unit: u32) -> Option<()> {
        // Without operands it aligns nothing, and LLVM prints nothing.
        if rest.is_empty() {
            return Some(());
        }
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let number = |text: &mut Text, part: &str| match &*text.expressions(part)? {
            [(_, Some(value))] => Some(*value),
            _ => None,
        };
        let value = number(self, parts.first()?)?;
        let power = match (power, u64::try_from(value).ok()?) {
            (true, power) => power,
            (false, 0) => 0,
            (false, align) if align.is_power_of_two() => align.trailing_zeros().into(),
            _ => return None,
        };
        let fill = match parts.get(1).filter(|part| !part.is_empty()) {
            Some(part) => Some(number(self, part)?),
            None => (!self.sections.current.code).then_some(0),
        };
        let most = match parts.get(2) {
            // A maximum that the alignment never exceeds is not a limit.
            Some(part) => Some(number(self, part)?).filter(|most| most >> power.min(62) == 0),
            None => None,
        };
        // A fill value has no sign, and its size is in the name.
        let name = match (fill, unit) {
            (Some(_), 2) => ".p2alignw ",
            (Some(_), 4) => ".p2alignl ",
            _ => "\t.p2align\t",
        };
        let fill = fill.map(|fill| fill as u64 & (u64::MAX >> (64 - 8 * unit)));
        let mut operands = power.to_string();
        match fill {
            Some(fill) => operands += &format!(", {fill:#x}"),
            None if most.is_some() => operands += ", ",
            None => {}
        }
        if let Some(most) = most {
            operands += &format!(", {most}");
        }
        self.line(format_args!("{name}{operands}"))
    }

    /// A line for each symbol of a list.
    fn each(&mut self, name: &str, list: &str) -> Option<()> {
        // A quoted name may have commas in it.
        if list.contains('"') {
            return None;
        }
        list.split(',').try_for_each(|symbol| self.line(format_args!("\t{name}\t{}", symbol.trim())))
    }

    fn symbol_type(&mut self, rest: &str) -> Option<()> {
        let (symbol, kind) = rest.split_once(',').filter(|_| !rest.starts_with('"'))?;
        let kind = match kind.trim().trim_matches('"').trim_start_matches(['@', '%', '#']) {
            "STT_FUNC" => "function",
            "STT_OBJECT" => "object",
            "STT_NOTYPE" => "notype",
            kind @ ("function" | "object" | "notype" | "amdgpu_hsa_kernel") => kind,
            _ => return None,
        };
        self.line(format_args!("\t.type\t{},@{kind}", symbol.trim()))
    }
}
