//! The file of vectors. README.md describes it.

use std::io::Read as _;

use flate2::read::GzDecoder;

pub(crate) struct Data {
    pub(crate) sets: Vec<Set>,
    pub(crate) rows: Vec<Row>,
}

/// Inputs that rows share.
pub(crate) struct Set {
    /// Names and dwords.
    pub(crate) columns: Vec<(String, usize)>,
    pub(crate) cases: Vec<Vec<u32>>,
}

pub(crate) struct Row {
    pub(crate) format: String,
    /// As in the pseudocode.
    pub(crate) name: String,
    /// What the assembler reads.
    pub(crate) text: String,
    pub(crate) set: usize,
    pub(crate) outputs: Vec<Output>,
    /// Dwords of all outputs of the first case, then of the next.
    pub(crate) results: Vec<Expected>,
}

pub(crate) struct Output {
    pub(crate) name: String,
    /// Bits that the instruction defines, in each dword.
    pub(crate) masks: Vec<u32>,
}

/// A dword.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) bits: u32,
    pub(crate) part: Part,
    /// Bits that are not defined.
    pub(crate) open: u32,
}

/// What counts of a dword.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    All,
    /// Any quiet NaN.
    NanF32,
    /// The upper dword of any quiet NaN; the lower one is not defined.
    NanF64High,
    /// Any quiet NaN in some halves (1 lower, 2 upper). `quiet` has the bits that all of them share.
    NanHalf {
        halves: u8,
        quiet: u32,
    },
}

fn number(text: &str) -> u32 {
    u32::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

fn expected(text: &str) -> Expected {
    let (text, open) = text.split_once('/').map_or((text, 0), |(text, open)| (text, number(open)));
    let (digits, letter) = match text.char_indices().last() {
        Some((at, letter)) if !letter.is_ascii_hexdigit() => (&text[..at], Some(letter)),
        _ => (text, None),
    };
    let half = |halves| Part::NanHalf { halves, quiet: 0x7e00 };
    let brain = |halves| Part::NanHalf { halves, quiet: 0x7fc0 };
    let part = match letter {
        None => Part::All,
        Some('n') => Part::NanF32,
        Some('q') => Part::NanF64High,
        Some('l') => half(1),
        Some('h') => half(2),
        Some('w') => half(3),
        Some('x') => brain(1),
        Some('y') => brain(2),
        Some('z') => brain(3),
        Some(letter) => panic!("`{letter}` in `{text}`"),
    };
    Expected { bits: number(digits), part, open }
}

impl Data {
    pub(crate) fn read(compressed: &[u8]) -> Data {
        let mut text = String::new();
        GzDecoder::new(compressed).read_to_string(&mut text).expect("the file is whole");
        let mut data = Data { sets: Vec::new(), rows: Vec::new() };
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(head) = line.strip_prefix("set ") {
                let (name, columns) = head.split_once(' ').expect("a name and columns");
                assert_eq!(name, data.sets.len().to_string(), "sets have numbers");
                let column = |text: &str| {
                    let (name, dwords) = text.split_once(':').expect("a column has a size");
                    (name.to_owned(), dwords.parse().expect("a number"))
                };
                let columns = columns.split(',').map(column).collect();
                data.sets.push(Set { columns, cases: Vec::new() });
            } else if let Some(head) = line.strip_prefix("row ") {
                let row = Row::read(head, lines.next().expect("results"), data.rows.last());
                let cases = data.sets[row.set].cases.len();
                assert_eq!(row.results.len(), cases * row.tokens_of_case(), "{}: results", row.text);
                data.rows.push(row);
            } else {
                let set = data.sets.last_mut().expect("a set before its cases");
                set.cases.push(line.split(' ').map(number).collect());
            }
        }
        data
    }
}

impl Set {
    /// The first dword of a column.
    pub(crate) fn offset(&self, name: &str) -> Option<usize> {
        let at = self.columns.iter().position(|(n, _)| n == name)?;
        Some(self.columns[..at].iter().map(|(_, dwords)| dwords).sum())
    }
}

impl Row {
    fn read(head: &str, body: &str, before: Option<&Row>) -> Row {
        let fields: Vec<&str> = head.split(" | ").collect();
        let [names, text, set, outputs] = fields[..] else { panic!("`{head}`") };
        let (format, name) = names.split_once(' ').expect("a format and a name");
        let scalar = format.starts_with("SOP");
        let output = |text: &str| {
            let (name, masks) = text.split_once(':').unwrap_or((text, ""));
            let masks = match name {
                "d" | "m" => masks.split(',').map(number).collect(),
                "exec" if scalar => vec![u32::MAX; 2],
                _ => vec![u32::MAX],
            };
            Output { name: name.to_owned(), masks }
        };
        let results = match body {
            "=" => before.expect("a row before").results.clone(),
            _ => body.split(' ').map(expected).collect(),
        };
        Row {
            format: format.to_owned(),
            name: name.to_owned(),
            text: text.trim().to_owned(),
            set: set.parse().expect("a number"),
            outputs: outputs.split(' ').map(output).collect(),
            results,
        }
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.format.starts_with("SOP")
    }

    /// The mnemonic without an encoding.
    pub(crate) fn base_name(&self) -> &str {
        let word = self.text.split(' ').next().unwrap_or_default();
        ["_e32", "_e64", "_sdwa"].iter().fold(word, |word, end| word.strip_suffix(end).unwrap_or(word))
    }

    /// Dwords that a case has in [`Row::results`].
    pub(crate) fn tokens_of_case(&self) -> usize {
        self.outputs.iter().map(|output| output.masks.len()).sum()
    }
}
