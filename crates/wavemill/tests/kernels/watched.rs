//! An observer that keeps the registers of its watched waves, and checks that it received all
//! changes.

use std::collections::HashMap;
use std::sync::Mutex;

use wavemill::ir::{Row, Terminator, Uni};
use wavemill::observe::{
    Barrier, Changes, FenceEvent, Instruction, Interests, MemoryAccess, Observer, Registers, Reporter,
    Watcher, WaveId,
};
use wavemill_oracle::Failed;

/// Instructions of a wave between comparisons of all its registers.
const COMPARE: u64 = 61;

/// The registers of a wave according to events.
#[derive(Debug)]
struct Shadow {
    cells: Vec<u32>,
    rows: Vec<(Row, [u32; 64])>,
    announced: u64,
    changed: u64,
    /// The running instruction, and how many of its operations access memory.
    now: (u64, usize),
    ended: bool,
}

#[derive(Debug, Default)]
struct State {
    waves: HashMap<WaveId, Shadow>,
    accesses: u64,
    fences: u64,
    barriers: u64,
    released: u64,
    problem: Option<String>,
}

/// Watches every third workgroup.
#[derive(Debug, Default)]
pub(crate) struct Shadows(Mutex<State>);

fn is_watched(workgroup: [u32; 3]) -> bool {
    workgroup.iter().sum::<u32>() % 3 == 0
}

fn rows_of(registers: &Registers) -> Vec<(Row, [u32; 64])> {
    registers.counts().all_rows().map(|row| (row, registers.row(row))).collect()
}

fn cells_of(registers: &Registers) -> Vec<u32> {
    (0..Uni::TEMP0.0).map(|n| registers.uni(Uni(n))).collect()
}

impl Shadows {
    /// Whether all events are consistent. Programs of GCN have fences.
    pub(crate) fn check(self, groups: u64, has_fences: bool) -> Result<(), Failed> {
        let state = self.0.into_inner().expect("no watcher panicked");
        if let Some(problem) = state.problem {
            return Err(problem.into());
        }
        assert!(!state.waves.is_empty() && state.waves.len() as u64 <= 16 * groups);
        for (wave, shadow) in &state.waves {
            assert!(shadow.ended && shadow.announced > 0, "{wave:?}: {} instructions", shadow.announced);
            assert_eq!(shadow.announced, shadow.changed, "{wave:?}");
        }
        assert!(state.accesses > 0 && (state.fences > 0) == has_fences);
        assert!(state.released <= state.barriers);
        Ok(())
    }
}

impl Observer for Shadows {
    fn interests(&self) -> Interests {
        Interests {
            instructions: true,
            registers: true,
            memory: true,
            barriers: true,
            fences: true,
            pcs: None,
        }
    }

    fn watches(&self, wave: WaveId) -> bool {
        is_watched(wave.workgroup)
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Told(self))
    }
}

struct Told<'a>(&'a Shadows);

impl Told<'_> {
    fn with(&self, wave: WaveId, tell: impl FnOnce(&mut State, &mut Shadow) -> Option<String>) {
        let mut state = self.0.0.lock().expect("no watcher panicked");
        let problem = match state.waves.remove(&wave) {
            None => Some("it has not started".to_owned()),
            Some(mut shadow) => {
                let problem = tell(&mut state, &mut shadow);
                state.waves.insert(wave, shadow);
                problem
            }
        };
        if let Some(problem) = problem {
            state.problem.get_or_insert(format!("{wave:?}: {problem}"));
        }
    }
}

impl Watcher for Told<'_> {
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        let mut state = self.0.0.lock().expect("no watcher panicked");
        let (cells, rows) = (cells_of(registers), rows_of(registers));
        let shadow = Shadow { cells, rows, announced: 0, changed: 0, now: (0, 0), ended: false };
        let before = state.waves.insert(wave, shadow);
        if before.is_some() || !is_watched(wave.workgroup) {
            state.problem.get_or_insert(format!("{wave:?} starts"));
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        self.with(instruction.wave, |_, shadow| {
            shadow.announced += 1;
            shadow.now = (instruction.pc, 0);
            (shadow.announced != shadow.changed + 1).then(|| format!("{instruction:?} comes early"))
        });
    }

    fn memory(&mut self, access: &MemoryAccess<'_>) {
        self.with(access.wave, |state, shadow| {
            state.accesses += 1;
            shadow.now.1 += 1;
            let ordered = access.pieces.is_sorted_by_key(|piece| piece.lane);
            let active = access.pieces.iter().all(|piece| access.active >> piece.lane & 1 == 1);
            let bytes = access.pieces.chunk_by(|a, b| a.lane == b.lane);
            let fit = bytes.map(|lane| lane.iter().map(|piece| u32::from(piece.size)).sum::<u32>()).max();
            let right = shadow.now.0 == access.pc && ordered && active && fit.unwrap_or(0) <= access.size;
            (!right).then(|| format!("{access:?} within {:#x}", shadow.now.0))
        });
    }

    fn fence(&mut self, fence: &FenceEvent<'_>) {
        self.with(fence.wave, |state, shadow| {
            state.fences += 1;
            (shadow.now.0 != fence.pc).then(|| format!("{fence:?} within {:#x}", shadow.now.0))
        });
    }

    fn barrier(&mut self, barrier: &Barrier) {
        self.with(barrier.wave, |state, shadow| {
            state.barriers += 1;
            (shadow.now.0 != barrier.pc).then(|| format!("{barrier:?} within {:#x}", shadow.now.0))
        });
    }

    fn released(&mut self, _: [u32; 3]) {
        self.0.0.lock().expect("no watcher panicked").released += 1;
    }

    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        self.with(instruction.wave, |_, shadow| {
            shadow.changed += 1;
            for change in changes.cells {
                let cell = &mut shadow.cells[usize::from(change.cell.0)];
                if *cell != change.before || change.before == change.after {
                    return Some(format!("{:#x} changes {change:?}, which was {cell:#x}", instruction.pc));
                }
                *cell = change.after;
            }
            for change in changes.rows {
                let known = shadow.rows.iter_mut().find(|(row, _)| *row == change.row);
                match known {
                    Some((_, lanes)) if *lanes == change.before => *lanes = change.after,
                    _ => {
                        return Some(format!(
                            "{:#x} changes {:?} of other values",
                            instruction.pc, change.row
                        ));
                    }
                }
            }
            let last = matches!(instruction.end, Some(Terminator::End));
            if last || shadow.changed % COMPARE == 0 {
                let registers = instruction.registers;
                if cells_of(registers) != shadow.cells || rows_of(registers) != shadow.rows {
                    return Some(format!("changes up to {:#x} were not told of", instruction.pc));
                }
            }
            None
        });
    }

    fn ended(&mut self, wave: WaveId) {
        self.with(wave, |_, shadow| {
            let problem = shadow.ended.then(|| "it ends twice".to_owned());
            shadow.ended = true;
            problem
        });
    }
}
