//! Probes: operations of the interpreter that report to watchers what the operations around them
//! do.
//!
//! Only blocks compiled for watched waves contain probes, and only where a watcher wants reports;
//! no other part of the interpreter depends on them. They read registers and memory addresses, and
//! change neither.

mod memory;

use wavemill_ir::{Inst, Op, Operand, Row, Terminator};

use super::body::scalar32;
use super::control::leave;
use super::hostop::{Ctx, Exit, Handler, HostOp};
use wavemill_machine::engine::Events;
use wavemill_machine::registers::{RegisterCounts, Registers};
use wavemill_machine::{Barrier, CellChange, Changes, FenceEvent, Instruction, Interests, RowChange};

pub(super) use memory::handler as memory_handler;

/// Data of the probes at a guest instruction.
#[derive(Debug)]
pub(super) struct Site {
    pc: u64,
    ops: Vec<Inst>,
    end: Option<Terminator>,
    /// Registers that the instruction may change, in ascending order, if a watcher wants to know.
    rows: Vec<Row>,
    /// Whether registers are kept for [`Watcher::changed`](wavemill_machine::Watcher::changed).
    keeps: bool,
    /// Whether the instruction is announced before it runs.
    announces: bool,
}

impl Site {
    /// The site of an instruction with these operations; `None` if no watcher wants reports.
    pub(super) fn new(
        pc: u64,
        ops: &[Inst],
        end: Option<Terminator>,
        interests: &Interests,
        counts: RegisterCounts,
    ) -> Option<Site> {
        if !interests.covers(pc) {
            return None;
        }
        let mut rows = Vec::new();
        if interests.registers {
            rows.extend(ops.iter().flat_map(|inst| results(inst, counts)));
            rows.sort();
            rows.dedup();
        }
        Some(Site {
            pc,
            ops: ops.to_vec(),
            end,
            rows,
            keeps: interests.registers,
            announces: interests.instructions,
        })
    }

    /// Marks an instruction that has begun elsewhere: it is not announced again.
    pub(super) fn goes_on(&mut self) {
        self.announces = false;
    }

    /// Whether a probe is needed before the instruction.
    pub(super) fn wants_before(&self) -> bool {
        self.keeps || self.announces
    }

    /// Whether a probe is needed after it; not if it is about to fault.
    pub(super) fn wants_after(&self) -> bool {
        self.keeps && !matches!(self.end, Some(Terminator::Fault(_) | Terminator::Trap(_)))
    }

    /// The instruction as reported to watchers.
    unsafe fn instruction<'a>(&'a self, ctx: *mut Ctx, events: &Events<'_>, context: u32) -> Instruction<'a> {
        // SAFETY: the contract of handlers: the registers are those of the wave that runs.
        let registers = unsafe { &*(*ctx).registers };
        Instruction {
            wave: events.wave,
            pc: self.pc,
            context,
            ops: &self.ops,
            end: self.end.as_ref(),
            registers,
        }
    }
}

/// Rows that an operation may write.
fn results(inst: &Inst, counts: RegisterCounts) -> Vec<Row> {
    let mut rows = Vec::new();
    // The rows are known only at run time.
    match inst.op {
        Op::IndexedWrite(_) => rows.extend(counts.all_rows()),
        Op::LaneIndexedWrite(range) => rows.extend(counts.all_rows().filter(|row| range.contains(*row))),
        _ => {}
    }
    let written = inst.writes().filter_map(|operand| match operand {
        Operand::Row(row) => Some(row),
        _ => None,
    });
    rows.extend(written.filter(|row| *row < Row::TEMP0 && counts.has(*row, 1)));
    rows
}

/// The site of a probe, and where its events go.
///
/// # Safety
/// `op` is a probe, and `ctx` that of a wave that is watched.
unsafe fn parts<'a>(ctx: *mut Ctx, op: *mut HostOp) -> (&'a Site, &'a mut Events<'a>) {
    // SAFETY: sites live as long as the code that points to them; blocks with probes run only for
    // watched waves, and nothing else accesses their events while they run.
    unsafe { (&*(*op).own.probe, &mut *(*ctx).events.cast::<Events<'a>>()) }
}

/// Continues after a probe, or leaves if the watcher has ended the run.
unsafe fn go_on(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of probes.
    unsafe {
        let (site, events) = parts(ctx, op);
        match events.ends_run() {
            true => leave(ctx, Exit::EndOfRun { pc: site.pc }),
            false => HostOp::next(op),
        }
    }
}

/// The probe before an instruction.
unsafe fn before(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers; the rows are among those of the wave.
    unsafe {
        let (site, events) = parts(ctx, op);
        if site.keeps {
            let registers: &Registers = &*(*ctx).registers;
            events.cells.clear();
            events.cells.extend(registers.counts().persistent_cells().map(|cell| registers.uni(cell)));
            events.rows.clear();
            events.rows.extend(site.rows.iter().map(|row| (*row, registers.row(*row))));
        }
        if site.announces {
            let instruction = site.instruction(ctx, events, (*ctx).context);
            events.watcher.instruction(&instruction);
        }
        go_on(ctx, op)
    }
}

/// The probe after an instruction, or before the end of its block. An end that changes the context
/// has its operands here too.
unsafe fn after(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (site, events) = parts(ctx, op);
        let registers: &Registers = &*(*ctx).registers;
        events.cell_changes.clear();
        for (cell, before) in registers.counts().persistent_cells().zip(&events.cells) {
            let after = registers.uni(cell);
            if after != *before {
                events.cell_changes.push(CellChange { cell, before: *before, after });
            }
        }
        events.row_changes.clear();
        for (row, before) in &events.rows {
            let after = registers.row(*row);
            if after != *before {
                events.row_changes.push(RowChange { row: *row, before: *before, after });
            }
        }
        let old = (*ctx).context;
        let new = match site.end {
            Some(Terminator::SetContext { .. } | Terminator::Resume { .. }) => scalar32(ctx, op, 0),
            _ => old,
        };
        let changes = Changes {
            cells: &events.cell_changes,
            rows: &events.row_changes,
            context: (new != old).then_some((old, new)),
        };
        let instruction = site.instruction(ctx, events, new);
        events.watcher.changed(&instruction, &changes);
        go_on(ctx, op)
    }
}

/// The probe before the end of a block that is a barrier.
unsafe fn barrier(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (site, events) = parts(ctx, op);
        events.watcher.barrier(&Barrier { wave: events.wave, pc: site.pc });
        go_on(ctx, op)
    }
}

/// The probe before a fence; `dst` is its number among the operations of the site.
unsafe fn fence(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let (site, events) = parts(ctx, op);
        if let Some(inst) = site.ops.get((*op).dst as usize)
            && let Op::Fence(scope) = inst.op
        {
            events.watcher.fence(&FenceEvent { wave: events.wave, pc: site.pc, op: inst, scope });
        }
        go_on(ctx, op)
    }
}

/// The handler of the probe before an instruction.
pub(super) fn before_handler() -> Handler {
    before
}

/// The handler of the probe after an instruction.
pub(super) fn after_handler() -> Handler {
    after
}

/// The handler of the probe before a barrier.
pub(super) fn barrier_handler() -> Handler {
    barrier
}

/// The handler of the probe before a fence.
pub(super) fn fence_handler() -> Handler {
    fence
}
