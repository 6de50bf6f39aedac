//! Scalar and vector ALU, LDS, FLAT and GLOBAL instructions of gfx950 against AMD's pseudocode, which an interpreter of
//! its own executed (README.md).

mod vectors;
mod verdicts;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use wavemill_ir::{LANES, Uni};
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;

use crate::common::{Machine, Outcome, RegisterCounts};
use vectors::{Data, Expected, Part, Row, Set};

const TARGET: Target = Target::Gfx950;
/// First VGPRs of the columns of a set.
const COLUMN_VGPRS: [(&str, u16); 8] =
    [("s0", 0), ("s1", 32), ("s2", 48), ("d", 64), ("scc", 96), ("exec", 98), ("imm", 100), ("m", 128)];
/// VGPR with the LDS address of the lane, and the first of those that its memory is read into.
const ADDRESS: u16 = 112;
const MEMORY_AFTER: u16 = 160;
/// First SGPRs of the columns, for scalar instructions.
const COLUMN_SGPRS: [(&str, u16); 3] = [("s0", 0), ("s1", 4), ("d", 8)];
/// SGPR pairs that VOP3 encodings read carries from, and write masks to.
const CARRY_IN: u16 = 20;
const CARRY_OUT: u16 = 24;

fn first_register(columns: &[(&str, u16)], name: &str) -> u16 {
    columns.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no column {name}")).1
}

/// One result that is not what the pseudocode gives.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The mnemonic without an encoding.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) output: String,
    /// Sources (the third of an instruction on memory is the memory), the old destination, and carry in; the low 64 bits.
    pub(crate) s: [u64; 3],
    pub(crate) d: u64,
    pub(crate) carry: bool,
    pub(crate) expected: u64,
    /// Whether a part of what is expected is a NaN of any payload.
    pub(crate) nan: bool,
    pub(crate) found: u64,
    /// The bits that the instruction defines, to which both values are cut.
    pub(crate) mask: u64,
    /// Whether a dword above the low 64 bits differs.
    pub(crate) differs_beyond: bool,
}

fn words(text: &str) -> Vec<u32> {
    let inst = wavemill_asm::gcn::parse(TARGET, text)
        .unwrap_or_else(|error| panic!("`{text}` on {TARGET}: {error}"));
    inst.words()[..inst.size() / 4].to_vec()
}

/// The cases of up to 64 lanes, as rows of registers.
fn rows_of(set: &Set, cases: &[Vec<u32>]) -> Vec<(u16, [u32; LANES])> {
    let mut rows = Vec::new();
    let mut at = 0;
    for (name, dwords) in &set.columns {
        for dword in 0..*dwords {
            if name != "cin" {
                let mut row = [0; LANES];
                for (lane, case) in row.iter_mut().zip(cases) {
                    *lane = case[at];
                }
                rows.push((first_register(&COLUMN_VGPRS, name) + dword as u16, row));
            }
            at += 1;
        }
    }
    rows
}

/// Carries of the lanes.
fn carries(set: &Set, cases: &[Vec<u32>]) -> u64 {
    let Some(at) = set.offset("cin") else { return 0 };
    (0..).zip(cases).fold(0, |mask, (lane, case)| mask | u64::from(case[at] & 1) << lane)
}

fn machine() -> Machine {
    let mut machine = Machine::new(TARGET);
    machine.registers = RegisterCounts { vgprs: 192, ..machine.registers };
    machine
}

/// Runs a vector instruction on one case in each lane.
fn run_vector(row: &Row, set: &Set, cases: &[Vec<u32>]) -> Outcome {
    let rows = rows_of(set, cases);
    let carry = carries(set, cases);
    machine().run(&words(&row.text), |regs, _| {
        for (n, row) in &rows {
            regs.set_row(registers::vgpr(*n), row);
        }
        regs.set_uni64(Uni(CARRY_IN), carry);
        regs.set_uni64(registers::VCC, carry);
        regs.set_uni64(registers::EXEC, u64::MAX);
    })
}

/// Runs an LDS instruction: each lane has bytes of its own, which are written before and read after.
fn run_local(row: &Row, set: &Set, cases: &[Vec<u32>]) -> Outcome {
    let (_, dwords) = set.columns.iter().find(|(name, _)| name == "m").expect("memory");
    let accesses = |text: &dyn Fn(u16) -> String| {
        let offset = |n: u16| if n < 8 { 4 * n } else { 2048 + 4 * (n - 8) };
        (0..*dwords as u16)
            .flat_map(|n| words(&format!("{} offset:{}", text(n), offset(n))))
            .collect::<Vec<u32>>()
    };
    let wait = words("s_waitcnt lgkmcnt(0)");
    let memory = first_register(&COLUMN_VGPRS, "m");
    let code = [
        accesses(&|n| format!("ds_write_b32 v{ADDRESS}, v{}", memory + n)),
        wait.clone(),
        words(&row.text),
        wait.clone(),
        accesses(&|n| format!("ds_read_b32 v{}, v{ADDRESS}", MEMORY_AFTER + n)),
        wait,
    ];
    let rows = rows_of(set, cases);
    let mut machine = machine();
    machine.lds_size = 4096;
    machine.run(&code.concat(), |regs, _| {
        for (n, row) in &rows {
            regs.set_row(registers::vgpr(*n), row);
        }
        regs.set_row(registers::vgpr(ADDRESS), &std::array::from_fn(|lane| 32 * lane as u32));
        regs.set_uni64(registers::EXEC, u64::MAX);
    })
}

/// Runs an instruction on memory: each lane has bytes of its own.
fn run_global(row: &Row, set: &Set, cases: &[Vec<u32>]) -> Outcome {
    let rows = rows_of(set, cases);
    let memory = first_register(&COLUMN_VGPRS, "m");
    let mut bytes = vec![0; 32 * LANES];
    for (n, row) in rows.iter().filter(|(n, _)| (memory..memory + 8).contains(n)) {
        for (lane, value) in row.iter().enumerate() {
            let at = 32 * lane + 4 * usize::from(n - memory);
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    let mut machine = machine();
    machine.buffers = vec![bytes];
    machine.run(&words(&row.text), |regs, addresses| {
        for (n, row) in &rows {
            regs.set_row(registers::vgpr(*n), row);
        }
        let address = |lane: usize| addresses[0] + 32 * lane as u64;
        regs.set_row(registers::vgpr(ADDRESS), &std::array::from_fn(|lane| address(lane) as u32));
        regs.set_row(registers::vgpr(ADDRESS + 1), &std::array::from_fn(|lane| (address(lane) >> 32) as u32));
        regs.set_uni64(registers::EXEC, u64::MAX);
    })
}

/// Runs a scalar instruction once for each lane: sources come from the lane, results go there.
fn run_scalar(row: &Row, set: &Set, cases: &[Vec<u32>], known: &mut BTreeMap<String, Vec<u32>>) -> Outcome {
    let mut code = Vec::new();
    let mut add = |text: String, keep: bool| {
        if keep {
            code.extend_from_slice(known.entry(text).or_insert_with_key(|text| words(text)));
        } else {
            code.extend(words(&text));
        }
    };
    let imm = set.offset("imm");
    for (lane, case) in cases.iter().enumerate() {
        for (name, dwords) in &set.columns {
            let from = first_register(&COLUMN_VGPRS, name);
            let to = match name.as_str() {
                "imm" => continue,
                "scc" => 40,
                "exec" => 44,
                _ => first_register(&COLUMN_SGPRS, name),
            };
            for n in 0..*dwords as u16 {
                add(format!("v_readlane_b32 s{}, v{}, {lane}", to + n, from + n), true);
            }
        }
        if set.offset("exec").is_some() {
            add("s_mov_b64 exec, s[44:45]".to_owned(), true);
        }
        add("s_cmp_eq_u32 s40, 1".to_owned(), true);
        match imm {
            Some(at) => add(row.text.replace("{imm}", &format!("{:#x}", case[at])), false),
            None => add(row.text.clone(), true),
        }
        add("s_cselect_b32 s41, 1, 0".to_owned(), true);
        add("s_mov_b64 s[46:47], exec".to_owned(), true);
        add("s_mov_b64 exec, -1".to_owned(), true);
        for (from, to) in [(8, 64), (9, 65), (41, 96), (46, 98), (47, 99)] {
            add(format!("v_writelane_b32 v{to}, s{from}, {lane}"), true);
        }
    }
    let rows = rows_of(set, cases);
    machine().run(&code, |regs, _| {
        for (n, row) in &rows {
            regs.set_row(registers::vgpr(*n), row);
        }
        regs.set_uni64(registers::EXEC, u64::MAX);
    })
}

/// What an instruction left in the registers or memory of an output.
fn found(row: &Row, outcome: &Outcome, output: &str, dword: usize, lane: usize) -> u32 {
    let vgpr = |n: u16| outcome.wave.vgprs[usize::from(n) + dword][lane];
    if row.is_scalar() {
        return vgpr(first_register(&COLUMN_VGPRS, output));
    }
    let bit = |mask: u64| (mask >> lane & 1) as u32;
    match output {
        "cout" if row.text.contains(" vcc") => bit(outcome.wave.vcc()),
        "cout" => bit(outcome.sgpr64(usize::from(CARRY_OUT))),
        "exec" => bit(outcome.wave.exec()),
        "m" if row.format != "DS" => outcome.dwords(0)[8 * lane + dword],
        "m" => vgpr(MEMORY_AFTER),
        _ => vgpr(first_register(&COLUMN_VGPRS, output)),
    }
}

/// Whether a dword is what the pseudocode gives in the bits of `mask`. A NaN of any payload has to be quiet.
fn agrees(expected: Expected, found: u32, mask: u32) -> bool {
    let [low, high] = [found & 0xffff, found >> 16];
    let same = |mask: u32| (expected.bits ^ found) & mask & !expected.open == 0;
    match expected.part {
        Part::All => same(mask),
        Part::NanF32 => found & 0x7fc0_0000 == 0x7fc0_0000,
        Part::NanF64High => found & 0x7ff8_0000 == 0x7ff8_0000,
        Part::NanHalf { halves, quiet } => {
            let low = if halves & 1 != 0 { low & quiet == quiet } else { same(mask & 0xffff) };
            let high = if halves & 2 != 0 { high & quiet == quiet } else { same(mask & 0xffff_0000) };
            low && high
        }
    }
}

/// Runs all cases of a row, and returns what differs.
fn check(row: &Row, set: &Set, known: &mut BTreeMap<String, Vec<u32>>) -> Vec<Difference> {
    let mut differences = Vec::new();
    let tokens = row.tokens_of_case();
    for (chunk, cases) in set.cases.chunks(LANES).enumerate() {
        let outcome = match row.format.as_str() {
            "DS" => run_local(row, set, cases),
            "FLAT" | "GLOBAL" => run_global(row, set, cases),
            _ if row.is_scalar() => run_scalar(row, set, cases, known),
            _ => run_vector(row, set, cases),
        };
        for (lane, case) in cases.iter().enumerate() {
            let results = &row.results[(chunk * LANES + lane) * tokens..][..tokens];
            let mut at = 0;
            for output in &row.outputs {
                let mut right = true;
                let (mut value, mut want, mut bits, mut nan) = (0u64, 0u64, 0u64, false);
                let mut differs_beyond = false;
                for (dword, mask) in output.masks.iter().enumerate() {
                    let found = found(row, &outcome, &output.name, dword, lane);
                    let expected = results[at];
                    let agrees = agrees(expected, found, *mask);
                    right &= agrees;
                    nan |= expected.part != Part::All;
                    if dword < 2 {
                        value |= u64::from(found & mask) << (32 * dword);
                        want |= u64::from(expected.bits & mask) << (32 * dword);
                        bits |= u64::from(*mask) << (32 * dword);
                    } else {
                        differs_beyond |= !agrees;
                    }
                    at += 1;
                }
                if !right {
                    let column = |name| {
                        set.offset(name).map_or(0, |at| {
                            let dwords = set.columns.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
                            let high = if dwords > 1 { u64::from(case[at + 1]) << 32 } else { 0 };
                            u64::from(case[at]) | high
                        })
                    };
                    differences.push(Difference {
                        name: row.base_name().to_owned(),
                        text: row.text.clone(),
                        output: output.name.clone(),
                        s: [
                            column("s0"),
                            column("s1"),
                            column(if set.offset("m").is_some() { "m" } else { "s2" }),
                        ],
                        d: column("d"),
                        carry: column("cin") != 0,
                        expected: want,
                        nan,
                        found: value,
                        mask: bits,
                        differs_beyond,
                    });
                }
            }
        }
    }
    differences
}

/// Every row that the vectors have, on every tier. A result that differs needs a verdict.
#[test]
fn rows_agree_with_amds_pseudocode() {
    let data = Data::read(include_bytes!("gfx950.txt.gz"));
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut known = BTreeMap::new();
                while let Some(row) = data.rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let differences = check(row, &data.sets[row.set], &mut known);
                    all.lock().expect("no panic").extend(differences);
                }
            });
        }
    });
    let all = all.into_inner().expect("no panic");
    verdicts::judge(&all);

    let mut rows: BTreeMap<&str, std::collections::BTreeSet<&str>> = BTreeMap::new();
    for row in &data.rows {
        assert!(row.results.len() >= 64 * row.tokens_of_case(), "{} has at least 64 cases", row.name);
        rows.entry(&row.format).or_default().insert(&row.name);
    }
    let counts: Vec<(&str, usize)> = rows.into_iter().map(|(format, names)| (format, names.len())).collect();
    assert_eq!(
        counts,
        [
            ("DS", 113),
            ("FLAT", 54),
            ("GLOBAL", 54),
            ("SOP1", 44),
            ("SOP2", 51),
            ("SOPC", 18),
            ("SOPK", 16),
            ("VOP1", 79),
            ("VOP2", 62),
            ("VOP3", 420),
            ("VOP3P", 36),
            ("VOPC", 198)
        ],
        "rows that are compared"
    );
}
