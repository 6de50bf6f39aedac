//! Wavemill's files.
//!
//! All of them are functions of the tables and of names: two runs give the same bytes.

mod buffer;
mod cayman;
mod exceptions;
mod lanes;
mod scalar;
mod sweeps;
mod values;
mod vector;

use std::collections::HashMap;

use wavemill_isa::Target;
use wavemill_isa::cayman::{Format as CaymanFormat, Op as CaymanOp};
use wavemill_isa::gcn::{Format, Inst, Op};

use crate::data::{Cell, File, Kind, Lanes, Row, Set, Test};
use crate::model::{self, Gap, Wave};

/// The targets of the suite besides Cayman.
pub const TARGETS: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

/// The files by name, without the ending.
pub const FILES: [&str; 14] = [
    "buffer",
    "cayman_double",
    "cayman_group",
    "cayman_op2",
    "cayman_op3",
    "exceptions",
    "lanes",
    "modifiers",
    "scalar",
    "vop1",
    "vop2",
    "vop3",
    "vop3p",
    "vopc",
];

/// MODE of compute kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
pub const MODE: u32 = 0x3f0;

/// A file.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn file(name: &str) -> File {
    let mut builder = Builder::default();
    match name {
        "buffer" => buffer::tests(&mut builder),
        "cayman_double" => cayman::double_tests(&mut builder),
        "cayman_group" => cayman::group_tests(&mut builder),
        "cayman_op2" => cayman::tests(&mut builder, CaymanFormat::Op2),
        "cayman_op3" => cayman::tests(&mut builder, CaymanFormat::Op3),
        "exceptions" => exceptions::tests(&mut builder),
        "lanes" => lanes::tests(&mut builder),
        "modifiers" => sweeps::tests(&mut builder),
        "scalar" => scalar::tests(&mut builder),
        "vop1" => vector::tests(&mut builder, Format::Vop1),
        "vop2" => vector::tests(&mut builder, Format::Vop2),
        "vop3" => vector::tests(&mut builder, Format::Vop3),
        "vop3p" => vector::tests(&mut builder, Format::Vop3p),
        "vopc" => vector::tests(&mut builder, Format::Vopc),
        other => panic!("no file {other}"),
    }
    builder.file()
}

/// ALU instructions of Cayman that no file has.
#[must_use]
pub fn uncovered_of_cayman(files: &[File]) -> Vec<CaymanOp> {
    cayman::uncovered(files.iter().flat_map(|file| &file.tests))
}

/// Instructions of a target that no file has.
#[must_use]
pub fn uncovered(files: &[File]) -> Vec<(Op, Vec<Target>)> {
    let mut covered = std::collections::HashSet::new();
    for test in files.iter().flat_map(|file| &file.tests).filter(|test| test.kind != Kind::Clause) {
        let bytes: Vec<u8> = test.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for target in &test.targets {
            if let Ok(inst) = wavemill_isa::gcn::decode(*target, &bytes) {
                covered.insert((inst.op(), *target));
            }
        }
    }
    let formats = [
        Format::Vop1,
        Format::Vop2,
        Format::Vop3,
        Format::Vop3p,
        Format::Vopc,
        Format::Sop1,
        Format::Sop2,
        Format::Sopc,
        Format::Sopk,
    ];
    let scope = |op: &&Op| formats.contains(&op.row().format);
    let missing = |op: &Op| {
        let on =
            TARGETS.into_iter().filter(|t| op.row().targets.contains(*t) && !covered.contains(&(*op, *t)));
        (*op, on.collect::<Vec<_>>())
    };
    Op::ALL.iter().filter(scope).map(missing).filter(|(_, on)| !on.is_empty()).collect()
}

/// What an instruction starts from.
#[derive(Clone, Debug)]
struct Start {
    kind: Kind,
    mode: u32,
    set: usize,
    cells: Vec<(Cell, u32)>,
}

impl Start {
    fn new(mode: u32, set: usize) -> Start {
        Start { kind: Kind::Wave, mode, set, cells: Vec::new() }
    }

    fn with(mut self, code: u16, value: u32) -> Start {
        self.cells.push((Cell::Scalar(code), value));
        self
    }

    fn pair(self, code: u16, value: u64) -> Start {
        self.with(code, value as u32).with(code + 1, (value >> 32) as u32)
    }

    /// EXEC, unless it is the usual one.
    fn exec(self, exec: u64) -> Start {
        if exec == u64::MAX { self } else { self.pair(model::EXEC, exec) }
    }
}

/// Collects sets and tests.
#[derive(Debug, Default)]
struct Builder {
    file: File,
    sets: HashMap<String, usize>,
}

impl Builder {
    fn file(mut self) -> File {
        // Sets in the order of the first test that uses them, without those that no test uses.
        let mut numbers = vec![None; self.file.sets.len()];
        let mut sets = Vec::new();
        for test in &mut self.file.tests {
            let number = *numbers[test.set].get_or_insert_with(|| {
                sets.push(self.file.sets[test.set].clone());
                sets.len() - 1
            });
            test.set = number;
        }
        self.file.sets = sets;
        self.file
    }

    /// The set of this name, made if it is new.
    fn set(&mut self, name: String, make: impl FnOnce() -> Vec<(Row, Lanes)>) -> usize {
        let next = self.file.sets.len();
        let number = *self.sets.entry(name).or_insert(next);
        if number == next {
            self.file.sets.push(Set { rows: make() });
        }
        number
    }

    /// Adds the tests of an instance, one for all targets that agree on text, words and results.
    ///
    /// # Errors
    /// Why the model has no result, if it has none for any target.
    fn add(&mut self, start: &Start, instances: &[Inst]) -> Result<(), Gap> {
        let (mut gap, mut known) = (None, false);
        let first = self.file.tests.len();
        for inst in instances {
            let mut wave = Wave::new(start.mode);
            for (row, lanes) in &self.file.sets[start.set].rows {
                wave.set_row(*row, lanes);
            }
            for (cell, value) in &start.cells {
                wave.set_cell(*cell, *value);
            }
            let before = wave.clone();
            if let Err(reason) = model::execute(inst, &mut wave) {
                gap = Some(reason);
                continue;
            }
            let (rows, results) = wave.changes(&before);
            known = true;
            self.push(test(start, inst, rows, results), first);
        }
        match gap {
            Some(gap) if !known => Err(gap),
            _ => Ok(()),
        }
    }

    /// Adds a test, or its target to the same one from `first` on. Instances that no text stands for are left out: LLVM
    /// prints float constants of 16-bit integer operations as literals, and drops bits of some lane patterns.
    fn push(&mut self, test: Test, first: usize) {
        let parsed = wavemill_asm::gcn::parse(test.targets[0], &test.text);
        if !parsed.is_ok_and(|inst| inst.words()[..inst.size() / 4] == test.words) {
            return;
        }
        let alone = |test: &Test| Test { targets: Vec::new(), ..test.clone() };
        let key = alone(&test);
        match self.file.tests[first..].iter_mut().find(|other| alone(other) == key) {
            Some(other) => other.targets.extend(test.targets),
            None => self.file.tests.push(test),
        }
    }
}

/// The facet about what is raised. It leaves results alone.
const RAISING: &str = "exceptions";

fn test(start: &Start, inst: &Inst, rows: Vec<(Row, Lanes)>, results: Vec<(Cell, u32)>) -> Test {
    let raises = rows.iter().any(|(row, _)| *row == Row::Exceptions);
    let open = inst.facets().map(|facet| facet.name).filter(|name| raises || *name != RAISING);
    let mut text = String::new();
    // A string accepts all text.
    let _ = wavemill_asm::gcn::print(&mut text, inst);
    Test {
        text,
        words: inst.words()[..inst.size() / 4].to_vec(),
        targets: vec![inst.target()],
        kind: start.kind,
        mode: start.mode,
        set: start.set,
        cells: start.cells.clone(),
        ulps: model::manual_ulps(inst.row().name()),
        open: open.collect(),
        rows,
        known: Vec::new(),
        results,
    }
}
