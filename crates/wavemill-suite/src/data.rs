//! The format of the files. `conformance/README.md` describes it.

use std::fmt::{self, Write as _};
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use wavemill_isa::Target;

/// The first line of a file.
pub const HEADER: &str = "wavemill-conformance 1";

/// The lanes of a wave, and the cases of a test.
pub const LANES: usize = 64;

/// One value a lane or case.
pub type Lanes = [u32; LANES];

/// A register with one value a lane or case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Row {
    /// A VGPR.
    Vgpr(u16),
    /// An accumulation VGPR.
    Agpr(u16),
    /// A scalar register by its operand code, in a scalar test: one value a case.
    Scalar(u16),
    /// SCC, in a scalar test.
    Scc,
    /// The exceptions in TRAPSTS.EXCP that the lane raises alone.
    Exceptions,
    /// A channel of a register of Cayman, X to W as 0 to 3.
    Gpr(u16, u16),
}

/// A value that all lanes share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Cell {
    /// A scalar register by its operand code; VCC and EXEC are pairs.
    Scalar(u16),
    /// SCC.
    Scc,
    /// A half of a mask of lanes of Cayman.
    Lanes(LaneMask, Half),
}

/// A mask of lanes of Cayman (HD 6900 ISA 3.6.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LaneMask {
    /// The active lanes.
    Active,
    /// The valid lanes.
    Valid,
}

/// A half of a mask of 64 lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Half {
    /// Lanes 0 to 31.
    Low,
    /// Lanes 32 to 63.
    High,
}

/// The names of masks of lanes.
const LANE_MASKS: [(&str, Cell); 4] = [
    ("active_lo", Cell::Lanes(LaneMask::Active, Half::Low)),
    ("active_hi", Cell::Lanes(LaneMask::Active, Half::High)),
    ("valid_lo", Cell::Lanes(LaneMask::Valid, Half::Low)),
    ("valid_hi", Cell::Lanes(LaneMask::Valid, Half::High)),
];

/// The letters of channels.
const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];

/// The codes of named scalar registers.
const NAMED: [(&str, u16); 5] =
    [("vcc_lo", 106), ("vcc_hi", 107), ("m0", 124), ("exec_lo", 126), ("exec_hi", 127)];

fn scalar_name(code: u16) -> String {
    NAMED
        .iter()
        .find(|(_, known)| *known == code)
        .map_or_else(|| format!("s{code}"), |(n, _)| (*n).to_owned())
}

fn scalar_code(name: &str) -> Option<u16> {
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
    named.or_else(|| name.strip_prefix('s')?.parse().ok().filter(|n| *n < 102))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Vgpr(n) => write!(f, "v{n}"),
            Row::Agpr(n) => write!(f, "a{n}"),
            Row::Scalar(code) => f.write_str(&scalar_name(*code)),
            Row::Scc => f.write_str("scc"),
            Row::Exceptions => f.write_str("excp"),
            Row::Gpr(n, channel) => write!(f, "r{n}.{}", CHANNELS[usize::from(*channel) % 4]),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Scalar(code) => f.write_str(&scalar_name(*code)),
            Cell::Scc => f.write_str("scc"),
            mask => {
                f.write_str(LANE_MASKS.iter().find(|(_, known)| known == mask).map_or("", |(name, _)| name))
            }
        }
    }
}

/// `r4.x`.
fn gpr_of(name: &str) -> Option<Row> {
    let (number, letter) = name.strip_prefix('r')?.split_once('.')?;
    let channel = CHANNELS.iter().position(|known| *known == letter)?;
    Some(Row::Gpr(number.parse().ok().filter(|n| *n < 128)?, channel as u16))
}

fn row_of(name: &str) -> Option<Row> {
    let number = |prefix: char| name.strip_prefix(prefix)?.parse().ok();
    match name {
        "scc" => Some(Row::Scc),
        "excp" => Some(Row::Exceptions),
        _ => number('v')
            .map(Row::Vgpr)
            .or_else(|| number('a').map(Row::Agpr))
            .or_else(|| gpr_of(name))
            .or_else(|| scalar_code(name).map(Row::Scalar)),
    }
}

fn cell_of(name: &str) -> Option<Cell> {
    let mask = LANE_MASKS.iter().find(|(known, _)| *known == name).map(|(_, mask)| *mask);
    mask.or_else(|| if name == "scc" { Some(Cell::Scc) } else { scalar_code(name).map(Cell::Scalar) })
}

/// Inputs that tests share.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Set {
    /// Registers with their values.
    pub rows: Vec<(Row, Lanes)>,
}

/// What a test's lanes mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// The instruction runs once, on a wave.
    Wave,
    /// The instruction runs once a case, with the values of the case in scalar registers.
    Scalar,
    /// The instruction runs once, on a wave; the scalar pair with this code and the two after it are a buffer resource
    /// whose base is relative to the memory.
    Buffer(u16),
    /// The words are groups of an ALU clause of Cayman.
    Clause,
}

/// An instruction, a state, and what the instruction does.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Test {
    /// The instruction as assemblers read it.
    pub text: String,
    /// Its machine words.
    pub words: Vec<u32>,
    /// The targets on which text, words and results are these.
    pub targets: Vec<Target>,
    /// How the cases are arranged.
    pub kind: Kind,
    /// MODE. Of a clause, the modes as SET_MODE has them: singles in bits 3:0, doubles in bits 7:4.
    pub mode: u32,
    /// The number of the set.
    pub set: usize,
    /// Scalar registers.
    pub cells: Vec<(Cell, u32)>,
    /// Largest error that the manual allows, in units of the last place.
    pub ulps: u64,
    /// Facets: what the texts leave open, and the results decide.
    pub open: Vec<&'static str>,
    /// Registers with a value a lane that change.
    pub rows: Vec<(Row, Lanes)>,
    /// The bits of these that are known, for registers of which some are not.
    pub known: Vec<(Row, Lanes)>,
    /// Scalar registers that change.
    pub results: Vec<(Cell, u32)>,
}

/// A file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct File {
    /// Inputs.
    pub sets: Vec<Set>,
    /// Tests.
    pub tests: Vec<Test>,
}

fn write_rows(out: &mut String, before: &str, rows: &[(Row, Lanes)]) {
    for (row, lanes) in rows {
        let _ = write!(out, "{before}{row}");
        let mut at = 0;
        while at < LANES {
            let run = lanes[at..].iter().take_while(|v| **v == lanes[at]).count();
            let _ = write!(out, " {:x}", lanes[at]);
            if run > 1 {
                let _ = write!(out, "*{run}");
            }
            at += run;
        }
        out.push('\n');
    }
}

fn write_cells(out: &mut String, cells: &[(Cell, u32)]) {
    for (cell, value) in cells {
        let _ = write!(out, " {cell}={value:x}");
    }
}

impl File {
    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{HEADER}\n");
        let mut written = vec![false; self.sets.len()];
        for test in &self.tests {
            if !std::mem::replace(&mut written[test.set], true) {
                let _ = writeln!(out, "set {}", test.set);
                write_rows(&mut out, "", &self.sets[test.set].rows);
            }
            let _ = writeln!(out, "test {}", test.text);
            out.push_str("on");
            for target in &test.targets {
                let _ = write!(out, " {target}");
            }
            out.push_str("\nwords");
            for word in &test.words {
                let _ = write!(out, " {word:08x}");
            }
            let _ = write!(out, "\nwith set={} mode={:x}", test.set, test.mode);
            match test.kind {
                Kind::Wave => {}
                Kind::Scalar => out.push_str(" kind=scalar"),
                Kind::Clause => out.push_str(" kind=clause"),
                Kind::Buffer(code) => {
                    let _ = write!(out, " kind=buffer:{}", scalar_name(code));
                }
            }
            write_cells(&mut out, &test.cells);
            out.push('\n');
            if test.ulps > 0 {
                let _ = writeln!(out, "ulp {:x}", test.ulps);
            }
            if !test.open.is_empty() {
                let _ = writeln!(out, "open {}", test.open.join(" "));
            }
            if !test.results.is_empty() {
                out.push('=');
                write_cells(&mut out, &test.results);
                out.push('\n');
            }
            write_rows(&mut out, "", &test.rows);
            write_rows(&mut out, "known ", &test.known);
        }
        out
    }

    /// The compressed file.
    ///
    /// # Panics
    /// Never: memory accepts all bytes.
    #[must_use]
    pub fn compressed(&self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(self.text().as_bytes()).expect("memory accepts all bytes");
        encoder.finish().expect("memory accepts all bytes")
    }

    /// Reads a compressed file.
    ///
    /// # Errors
    /// A sentence that says which line is wrong.
    pub fn read(compressed: &[u8]) -> Result<File, String> {
        let mut text = String::new();
        GzDecoder::new(compressed)
            .read_to_string(&mut text)
            .map_err(|error| format!("the file is not whole: {error}"))?;
        File::parse(&text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// A sentence that says which line is wrong.
    pub fn parse(text: &str) -> Result<File, String> {
        let mut file = File::default();
        let mut lines = text.lines().enumerate();
        let first = lines.next().map(|(_, line)| line);
        if first != Some(HEADER) {
            return Err(format!("line 1: expected `{HEADER}`, found `{}`", first.unwrap_or_default()));
        }
        let mut in_test = false;
        for (n, line) in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "set" => {
                    in_test = false;
                    file.sets.push(Set { rows: Vec::new() });
                    if rest != (file.sets.len() - 1).to_string() {
                        return Err(format!("line {}: expected set {}", n + 1, file.sets.len() - 1));
                    }
                }
                "test" => {
                    in_test = true;
                    file.tests.push(Test {
                        text: rest.to_owned(),
                        words: Vec::new(),
                        targets: Vec::new(),
                        kind: Kind::Wave,
                        mode: 0,
                        set: 0,
                        cells: Vec::new(),
                        ulps: 0,
                        open: Vec::new(),
                        rows: Vec::new(),
                        known: Vec::new(),
                        results: Vec::new(),
                    });
                }
                _ => file
                    .line(word, rest, in_test)
                    .map_err(|what| format!("line {}: {what}: `{line}`", n + 1))?,
            }
        }
        Ok(file)
    }

    fn line(&mut self, word: &str, rest: &str, in_test: bool) -> Result<(), &'static str> {
        if !in_test {
            let set = self.sets.last_mut().ok_or("expected `set` or `test`")?;
            set.rows.push((row_of(word).ok_or("no register of this name")?, lanes(rest)?));
            return Ok(());
        }
        let sets = self.sets.len();
        let test = self.tests.last_mut().ok_or("expected `test`")?;
        match word {
            "on" => {
                for name in rest.split(' ') {
                    test.targets.push(Target::from_name(name).ok_or("no target of this name")?);
                }
            }
            "words" => {
                for word in rest.split(' ') {
                    test.words.push(number(word)?);
                }
            }
            "with" => {
                for pair in rest.split(' ') {
                    let (name, value) = pair.split_once('=').ok_or("expected NAME=VALUE")?;
                    match name {
                        "set" => test.set = value.parse().map_err(|_| "expected the number of a set")?,
                        "mode" => test.mode = number(value)?,
                        "kind" => test.kind = kind(value)?,
                        _ => test
                            .cells
                            .push((cell_of(name).ok_or("no register of this name")?, number(value)?)),
                    }
                }
                if test.set >= sets {
                    return Err("no set of this number before the test");
                }
            }
            "ulp" => test.ulps = number(rest)?.into(),
            "open" => {
                for name in rest.split(' ') {
                    test.open.push(facet(name).ok_or("no facet of this name")?);
                }
            }
            "=" => {
                for pair in rest.split(' ') {
                    let (name, value) = pair.split_once('=').ok_or("expected NAME=VALUE")?;
                    test.results.push((cell_of(name).ok_or("no register of this name")?, number(value)?));
                }
            }
            "known" => {
                let (name, masks) = rest.split_once(' ').ok_or("expected a register")?;
                test.known.push((row_of(name).ok_or("no register of this name")?, lanes(masks)?));
            }
            _ => test.rows.push((row_of(word).ok_or("no line of this name")?, lanes(rest)?)),
        }
        Ok(())
    }
}

/// The name of a facet of a row.
fn facet(name: &str) -> Option<&'static str> {
    let cayman = wavemill_isa::cayman::Op::ALL.iter().flat_map(|op| op.row().facets.iter().copied());
    wavemill_isa::gcn::Facet::all().chain(cayman).map(|facet| facet.name).find(|known| *known == name)
}

fn kind(value: &str) -> Result<Kind, &'static str> {
    match value.split_once(':') {
        None if value == "scalar" => Ok(Kind::Scalar),
        None if value == "clause" => Ok(Kind::Clause),
        Some(("buffer", register)) => {
            Ok(Kind::Buffer(scalar_code(register).ok_or("no register of this name")?))
        }
        _ => Err("no kind of this name"),
    }
}

fn number(text: &str) -> Result<u32, &'static str> {
    u32::from_str_radix(text, 16).map_err(|_| "expected a hexadecimal number of 32 bits")
}

fn lanes(text: &str) -> Result<Lanes, &'static str> {
    let mut values = Vec::with_capacity(LANES);
    for word in text.split(' ') {
        let (value, run) = word.split_once('*').unwrap_or((word, "1"));
        let run: usize = run.parse().map_err(|_| "expected VALUE*COUNT")?;
        if run > LANES {
            return Err("expected 64 values");
        }
        values.extend(std::iter::repeat_n(number(value)?, run));
    }
    values.try_into().map_err(|_| "expected 64 values")
}
