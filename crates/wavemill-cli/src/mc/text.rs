//! Prints assembly as `llvm-mc` does.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use wavemill_asm::gcn::print;
use wavemill_asm::{Event, Instruction, PrintedExpression, Symbols, printed_expressions, processor_symbols};
use wavemill_isa::gcn::{Encoding, InlineFloat, Inst, Operand};
use wavemill_object::TargetId;

use super::directives::{Sections, parts};
use super::kernel::Descriptor;
use crate::symbolic::{Field, Symbolic, literals_marked, symbolic};

/// The column of comments; the tab before an instruction does not count.
const COMMENT_COLUMN: usize = 40;
/// Prefix of generated labels; a number follows.
const TEMPORARY: &str = ".Ltmp";

/// Pads the text that begins at `start`, and appends the encoding.
pub(super) fn encoding(out: &mut String, start: usize, bytes: &[String]) {
    let blanks = COMMENT_COLUMN.saturating_sub(out.len().saturating_sub(start)).max(1);
    // Writing to a String does not fail.
    let _ = write!(out, "{:blanks$}; encoding: [{}]", "", bytes.join(","));
}

/// Generated labels for positions without a name in the source: `.`, and labels such as `1:`.
#[derive(Debug, Default)]
struct Temporaries {
    /// The number of the next name.
    next: u32,
    /// Numbers of labels that the source itself uses, from earlier readings.
    taken: HashSet<u32>,
    /// Numbers of labels that this reading found in the source, and that it generated.
    found: HashSet<u32>,
    given: HashSet<u32>,
}

impl Temporaries {
    fn give(&mut self) -> u32 {
        while self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.given.insert(self.next);
        self.next += 1;
        self.next - 1
    }

    /// Finds labels of this kind in a statement.
    fn look(&mut self, statement: &str) {
        for (at, _) in statement.match_indices(TEMPORARY) {
            let digits = statement.get(at + TEMPORARY.len()..).unwrap_or_default();
            let length = digits.bytes().take_while(u8::is_ascii_digit).count();
            self.found.extend(digits.get(..length).and_then(|digits| digits.parse::<u32>().ok()));
        }
    }
}

/// Symbols with a known value so far.
#[derive(Debug, Default)]
struct Numbers(HashMap<String, i64>);

impl Symbols for Numbers {
    fn absolute(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }
}

/// The text under construction.
pub(super) struct Text {
    encodings: bool,
    pub(super) out: String,
    /// Whether lines of metadata are being read.
    metadata: bool,
    temporaries: Temporaries,
    /// How often each label such as `1:` has occurred.
    numbered: HashMap<String, u64>,
    /// Generated labels of these, including labels that were only referenced.
    names: HashMap<(String, u64), u32>,
    numbers: Numbers,
    pub(super) sections: Sections,
    /// The target, and whether the text begins with it.
    pub(super) target: TargetId,
    has_target: bool,
    /// The kernel descriptor whose directives are being read.
    pub(super) descriptor: Option<Descriptor>,
    /// The version of the code object format.
    pub(super) version: u32,
    /// Lines that repetitions of values have made.
    pub(super) repeated: u64,
}

impl Text {
    /// `taken` has the numbers of labels that the source itself uses: see [`clash`](Text::clash).
    pub(super) fn new(encodings: bool, target: TargetId, version: u32, taken: HashSet<u32>) -> Text {
        Text {
            encodings,
            out: String::new(),
            metadata: false,
            temporaries: Temporaries { taken, ..Temporaries::default() },
            numbered: HashMap::new(),
            names: HashMap::new(),
            numbers: Numbers::default(),
            sections: Sections::default(),
            target,
            has_target: false,
            descriptor: None,
            version,
            repeated: 0,
        }
    }

    /// Adds a symbol set on the command line.
    pub(super) fn define(&mut self, name: &str, value: i64) {
        self.know(name, Some(value));
        // Writing to a String does not fail.
        let _ = writeln!(self.out, ".set {name}, {value}");
    }

    /// The first line for the AMD HSA platform, and its predefined symbols.
    pub(super) fn target(&mut self) {
        self.has_target = true;
        // Other platforms have no such symbols.
        for (name, value) in processor_symbols(&self.target) {
            self.know(name, Some(value));
        }
        let id = &self.target;
        // Writing to a String does not fail.
        let _ = writeln!(self.out, "\t.amdgcn_target \"amdgcn-amd-amdhsa--{id}\"");
    }

    /// Whether `name`, between quotes, is the target that has been printed.
    pub(super) fn has_target(&self, name: &str) -> bool {
        let same = TargetId::parse(name.trim_matches('"')).is_some_and(|target| target == self.target);
        self.has_target && same
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// If a generated label also occurs in the source, the numbers of all such labels in the
    /// source. Then the text must be generated again without them.
    pub(super) fn clash(&self) -> Option<HashSet<u32>> {
        let Temporaries { found, given, taken, .. } = &self.temporaries;
        (!found.is_disjoint(given)).then(|| found | taken)
    }

    /// Sets the value of a symbol from here on; `None` makes it unknown.
    pub(super) fn know(&mut self, name: &str, value: Option<i64>) {
        // Instructions raise them.
        if name.starts_with(".amdgcn.next_free_") {
            return;
        }
        match value {
            Some(value) => self.numbers.0.insert(name.to_owned(), value),
            None => self.numbers.0.remove(name),
        };
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction { inst: Instruction::Gcn(inst), text, unresolved, .. } => {
                self.temporaries.look(text);
                let expression = unresolved.clone().and_then(|span| text.get(span));
                self.instruction(inst, text, expression);
            }
            Event::Label { name, .. } => {
                self.temporaries.look(name);
                if name.bytes().all(|byte| byte.is_ascii_digit()) {
                    let count = self.numbered.entry((*name).to_owned()).or_default();
                    *count += 1;
                    let count = *count;
                    let number = self.name_of(name, count);
                    // Writing to a String does not fail.
                    let _ = writeln!(self.out, "{TEMPORARY}{number}:");
                    return;
                }
                self.out.push_str(name);
                self.out.push_str(":\n");
            }
            Event::Other { text, blank, .. } => {
                self.temporaries.look(text);
                match text.trim() {
                    ".end_amdgpu_metadata" => self.metadata = false,
                    // YAML, in which blanks matter.
                    _ if self.metadata => {
                        self.out.push_str(text.trim_end());
                        self.out.push('\n');
                        return;
                    }
                    ".amdgpu_metadata" => self.metadata = true,
                    "" if *blank && self.descriptor.is_none() => self.out.push('\n'),
                    _ => {}
                }
                if !text.trim().is_empty() {
                    self.directive(text.trim());
                }
            }
            _ => {}
        }
    }

    /// The number of the generated label for occurrence `count` of a label such as `1:`.
    fn name_of(&mut self, label: &str, count: u64) -> u32 {
        let key = (label.to_owned(), count);
        if let Some(&number) = self.names.get(&key) {
            return number;
        }
        let number = self.temporaries.give();
        self.names.insert(key, number);
        number
    }

    /// The generated label for `1b` or `1f`.
    fn numbered_name(&mut self, word: &str) -> Option<String> {
        let digits = word
            .strip_suffix(['b', 'f'])
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let last = self.numbered.get(digits).copied().unwrap_or_default();
        let number = self.name_of(digits, last + u64::from(word.ends_with('f')));
        Some(format!("{TEMPORARY}{number}"))
    }

    /// The operands of a directive that cannot be parsed as expressions, with generated labels for
    /// `1b` and `1f`.
    pub(super) fn with_names(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let is_name = |c: char| c.is_alphanumeric() || "_.$@?".contains(c);
        // Strings contain no labels.
        while let Some(first) = rest.chars().next().filter(|_| !text.contains('"')) {
            let length = match is_name(first) {
                true => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, behind) = rest.split_at(length);
            match self.numbered_name(word) {
                Some(name) => out.push_str(&name),
                None => out.push_str(word),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// Parses expressions separated by commas: their texts, and their values if known. `None` if
    /// they are not expressions. An expression with the current address gets a label before the
    /// statement.
    pub(super) fn expressions(&mut self, text: &str) -> Option<Vec<(String, Option<i64>)>> {
        let numbers = std::mem::take(&mut self.numbers);
        let printed = printed_expressions(text, &numbers, &mut |name| match name {
            "." => {
                let number = self.temporaries.give();
                // Writing to a String does not fail.
                let _ = writeln!(self.out, "{TEMPORARY}{number}:");
                Some(format!("{TEMPORARY}{number}"))
            }
            name => self.numbered_name(name),
        });
        self.numbers = numbers;
        let printed = printed.ok()?;
        Some(printed.into_iter().map(|expression| (expression.text, expression.value)).collect())
    }

    fn instruction(&mut self, inst: &Inst, written: &str, expression: Option<&str>) {
        let (bytes, size) = inst.encode();
        let mut list: Vec<String> = bytes.iter().take(size).map(|byte| format!("{byte:#04x}")).collect();
        let Some(expression) = expression else {
            self.out.push('\t');
            let start = self.out.len();
            let otherwise = with_lit(inst, written, &self.numbers)
                .or_else(|| with_negative_distance(inst, written, &self.numbers));
            match otherwise {
                Some(text) => self.out.push_str(&text),
                None => plain(&mut self.out, inst),
            }
            if self.encodings {
                encoding(&mut self.out, start, &list);
            }
            self.out.push('\n');
            return;
        };
        let printed = self.expressions(expression).and_then(|all| all.into_iter().next());
        let expression = printed.map_or_else(|| self.with_names(expression), |(text, _)| text);
        self.out.push('\t');
        let start = self.out.len();
        let symbolic = symbolic(inst, &expression);
        self.out.push_str(symbolic.as_ref().map_or(written, |symbolic| &symbolic.text));
        if self.encodings {
            if let Some(symbolic) = &symbolic {
                let places = list.get_mut(symbolic.bytes.clone());
                places.into_iter().flatten().for_each(|byte| *byte = "A".to_owned());
            }
            encoding(&mut self.out, start, &list);
            if let Some(Symbolic { bytes, field, .. }) = &symbolic {
                let (blanks, offset, kind) = (COMMENT_COLUMN, bytes.start, kind(*field, &expression));
                let _ = write!(
                    self.out,
                    "\n{:blanks$};   fixup A - offset: {offset}, value: {expression}, kind: {kind}",
                    ""
                );
            }
        }
        self.out.push('\n');
    }
}

/// The text of an instruction whose fields are all known.
fn plain(out: &mut String, inst: &Inst) {
    let start = out.len();
    // Writing to a String does not fail.
    let _ = print(out, inst);
    // llvm-mc prints an inline float by name here, as it is written, and by its bits when it
    // disassembles.
    for (_, operand) in inst.operands() {
        if let Operand::Float(float) = operand
            && float != InlineFloat::InvTwoPi
            && let Some(text) = out.get(start..)
            && !text.contains(float.name())
            && let Some(at) = text.find(&format!("{:#x}", float.f16_bits()))
        {
            let end = start + at + format!("{:#x}", float.f16_bits()).len();
            out.replace_range(start + at..end, float.name());
        }
    }
}

/// The text of an instruction with `lit(...)` where the source has it, although the number would be
/// the same without it.
fn with_lit(inst: &Inst, written: &str, numbers: &dyn Symbols) -> Option<String> {
    // A mandatory literal is printed as a number.
    if !written.contains("lit") || inst.encoding() == Encoding::SopkLiteral {
        return None;
    }
    let (marked, marker) = literals_marked(inst)?;
    let literal = inst.literal()?;
    let mut text = String::new();
    let mut sources = written.split(',');
    for (index, operand) in marked.split(',').enumerate() {
        let source: String = sources.next()?.chars().filter(|c| !c.is_whitespace()).collect();
        text.push_str(if index == 0 { "" } else { "," });
        // Within bars, LLVM drops it.
        let inner = source.split_once("lit(").filter(|(before, _)| !before.ends_with('|'));
        let number = match inner.and_then(|(_, inner)| inner.get(..closing(inner)?)) {
            // Negative numbers have all 64 bits.
            Some(inner) => match printed_expressions(inner, numbers, &mut |_| None).as_deref() {
                Ok([PrintedExpression { value: Some(value), .. }]) if *value < 0 => {
                    format!("lit({value:#x})")
                }
                _ => format!("lit({literal:#x})"),
            },
            None if operand.contains(&marker) => return None,
            None => String::new(),
        };
        text.push_str(&operand.replace(&marker, &number));
    }
    Some(text)
}

/// The text of a branch whose distance is written as a negative number. Disassembled distances are
/// unsigned.
fn with_negative_distance(inst: &Inst, written: &str, numbers: &dyn Symbols) -> Option<String> {
    // Most instructions have no number that could be a distance.
    if !inst.operands().any(|(_, operand)| matches!(operand, Operand::Imm(..0))) {
        return None;
    }
    let (_, operands) = written.split_once(char::is_whitespace)?;
    let printed = printed_expressions(parts(operands).last()?, numbers, &mut |_| None).ok()?;
    let [PrintedExpression { text, value: Some(..0) }] = &*printed else { return None };
    let Symbolic { text, field: Field::Branch, .. } = symbolic(inst, text)? else { return None };
    Some(text)
}

/// Where the parenthesis ends that is open at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.bytes().position(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth == 0
    })
}

/// LLVM's name for the way a value goes into its field.
fn kind(field: Field, expression: &str) -> &'static str {
    // A difference, and half of an address, are data; any other literal is PC-relative.
    let difference = expression.match_indices('-').any(|(at, _)| {
        let (before, behind) = expression.split_at(at);
        let is_end = |c: char| c.is_alphanumeric() || "_.$@?)\"".contains(c);
        before.ends_with(is_end)
            && !behind.get(1..).unwrap_or_default().starts_with(|c: char| c.is_ascii_digit())
    });
    match field {
        Field::Branch => "fixup_si_sopp_br",
        Field::Half => "FK_Data_2",
        Field::Literal if difference || expression.contains("@abs32") => "FK_Data_4",
        Field::Literal => "FK_PCRel_4",
    }
}
