//! Runs the tests of ALU clauses of Cayman on an engine.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_ir::{Block, FaultKind, Uni};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::Lift;
use wavemill_lift::cayman::{Cayman, registers};
use wavemill_machine::engine::Engine;
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, RegisterCounts, Registers, RunError, RunOptions, WaveInit,
    WaveSnapshot, run,
};
use wavemill_suite::data::{Cell, File, Half, LANES, LaneMask, Lanes, Row, Test};
use wavemill_suite::model::cayman::GPRS;

/// Guest address of the program.
const CODE: u64 = 0x4000;

const FAMILY: Cayman = Cayman { program: CODE, gprs: GPRS, temporaries: 0, kills: true, stack: 4 };

/// ALU, which calls the clause, and HALT, whose fault shows the registers.
fn program(words: &[u32]) -> Vec<u8> {
    let count = words.len() as u32 / 2 - 1;
    let call = [(F::Addr, 2), (F::Count, count)];
    let call = call.into_iter().fold(Inst::new(Op::Alu), |inst, (field, value)| {
        inst.with(field, value).expect("a clause of at most 128 words")
    });
    let control = [call, Inst::new(Op::Halt)].map(|inst| (inst.word() as u64).to_le_bytes());
    control.into_iter().flatten().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
}

struct Program {
    code: Vec<u8>,
}

impl BlockSource for Program {
    fn block(&self, position: u64, context: u32) -> Arc<Block> {
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let rest = at.checked_sub(CODE).and_then(|at| self.code.get(at as usize..)).unwrap_or_default();
            let count = rest.len().min(16);
            into[..count].copy_from_slice(&rest[..count]);
            count
        };
        Arc::new(FAMILY.block(position, context, &mut fetch))
    }

    fn context_key(&self) -> u32 {
        FAMILY.context_key()
    }
}

/// The state before a test.
struct Init<'a> {
    rows: &'a [(Row, Lanes)],
    active: u64,
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        LANES as u32
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, registers: &mut Registers) {
        for (row, lanes) in self.rows {
            let Row::Gpr(number, channel) = row else { panic!("{row} is no register of Cayman") };
            registers.set_row(self::registers::gpr(*number, *channel), lanes);
        }
        registers.set_uni64(Uni::ACTIVE, self.active);
    }
}

/// The registers after the clause.
fn execute(engine: &dyn Engine, test: &Test, init: &Init<'_>) -> Result<WaveSnapshot, String> {
    let memory = GuestMemory::default();
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &Program { code: program(&test.words) },
        init,
        workgroups: [1, 1, 1],
        waves_per_group: 1,
        registers: RegisterCounts {
            cells: registers::CELLS,
            ..RegisterCounts::of_rows([4 * GPRS, registers::SECOND_ROWS])
        },
        lds_size: 0,
        lds_granule: 0,
        scratch_size: 0,
        entry: CODE,
        context: test.mode,
        resident: 1,
    };
    let options = RunOptions {
        threads: NonZeroUsize::new(1),
        max_instructions: Some(1 << 10),
        deterministic: true,
        ..RunOptions::default()
    };
    match run(&grid, engine, &options) {
        Err(RunError::Fault(fault)) if fault.cause == FaultCause::Instruction(FaultKind::Halted) => {
            Ok(*fault.snapshot)
        }
        Err(RunError::Fault(fault)) => Err(format!("fault: {:?}", fault.cause)),
        other => Err(format!("the program did not end: {other:?}")),
    }
}

/// The value of a mask of lanes in a list; all lanes if it is not there.
fn mask(cells: &[(Cell, u32)], mask: LaneMask) -> u64 {
    let half = |half| {
        let found = cells.iter().find(|(cell, _)| *cell == Cell::Lanes(mask, half));
        u64::from(found.map_or(u32::MAX, |(_, value)| *value))
    };
    half(Half::Low) | half(Half::High) << 32
}

/// What differs on an engine, in words. Bits that are not known do not count.
pub(crate) fn check(engine: &dyn Engine, file: &File, test: &Test) -> Option<String> {
    let inputs = &file.sets[test.set].rows;
    let init = Init { rows: inputs, active: mask(&test.cells, LaneMask::Active) };
    let found = match execute(engine, test, &init) {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    let of = |rows: &[(Row, Lanes)], row: Row| {
        rows.iter().find(|(other, _)| *other == row).map(|(_, lanes)| *lanes)
    };
    for (number, channel) in (0..GPRS).flat_map(|number| (0..4).map(move |channel| (number, channel))) {
        let row = Row::Gpr(number, channel);
        let expected = of(&test.rows, row).or_else(|| of(inputs, row)).unwrap_or([0; LANES]);
        let known = of(&test.known, row).unwrap_or([u32::MAX; LANES]);
        let values = &found.rows[0][usize::from(4 * number + channel)];
        for lane in 0..LANES {
            if (values[lane] ^ expected[lane]) & known[lane] != 0 {
                let sources: Vec<String> =
                    inputs.iter().map(|(row, lanes)| format!("{row}={:x}", lanes[lane])).collect();
                return Some(format!(
                    "{row} of lane {lane} is {:x} instead of {:x} in the bits {:x}; {}",
                    values[lane],
                    expected[lane],
                    known[lane],
                    sources.join(" ")
                ));
            }
        }
    }
    // Masks that do not change are those before.
    let cells: Vec<(Cell, u32)> = test.results.iter().chain(&test.cells).copied().collect();
    let invalid = |half: u16| u64::from(found.cell(registers::INVALID.plus(half)));
    let valid = !(invalid(0) | invalid(1) << 32);
    let masks = [(LaneMask::Active, found.active), (LaneMask::Valid, valid)];
    masks
        .into_iter()
        .find(|(name, lanes)| mask(&cells, *name) != *lanes)
        .map(|(name, lanes)| format!("{name:?} lanes are {lanes:x} instead of {:x}", mask(&cells, name)))
}
