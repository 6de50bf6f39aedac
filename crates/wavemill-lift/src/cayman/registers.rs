//! Maps the registers of a wave to cells and rows of the IR, and names them for texts.
//!
//! The manual has no layout of resources. Until there is a launch contract, cells hold the
//! resources, and the code that starts a wave sets them. A constant bank is the guest address of
//! its first byte; a buffer or a random access target is that address, a number of bytes and a
//! format, with the bytes from one element to the next.

use wavemill_ir::{Names, Row, Uni};

/// Registers of a wave (HD 6900 ISA 2.6.1).
pub const GPRS: u16 = 128;
/// Constant banks.
pub const BANKS: u16 = 16;
/// Buffers that fetches can name, of the 160 that the chip has.
pub const BUFFERS: u16 = 16;
/// Random access targets.
pub const TARGETS: u16 = 12;

const FIRST_BUFFER: u16 = 2 * BANKS;
const FIRST_TARGET: u16 = FIRST_BUFFER + 4 * BUFFERS;
const FIRST_STRIDE: u16 = FIRST_TARGET + 4 * TARGETS;
const FIRST_UNIT: u16 = FIRST_STRIDE + BUFFERS;
/// The buffer for old values of random access targets: four cells as of [`buffer`]. It may have no
/// bytes.
pub const RETURN_BUFFER: Uni = Uni(FIRST_UNIT + TARGETS);
/// The part of the global data share that the wave may access: bits 31:16 are its first byte, bits
/// 15:0 its number of bytes.
pub const GLOBAL_SHARE: Uni = RETURN_BUFFER.plus(4);

/// The first cell of control flow. All of them are 0 when a wave starts, except for those that its
/// launch sets: invalid lanes, boolean constants, and the numbers of the wave.
const FIRST_CONTROL: u16 = GLOBAL_SHARE.0 + 1;
/// Lanes that are not valid: those that the launch leaves out, and those that are killed.
pub const INVALID: Uni = Uni(FIRST_CONTROL);
/// Lanes that were active when the innermost loop began.
pub(super) const ENTERED: Uni = INVALID.plus(2);
/// Lanes that have broken out of the innermost loop.
pub(super) const BROKEN: Uni = INVALID.plus(4);
/// Lanes that have continued: they wait for the end of the innermost loop.
pub(super) const CONTINUED: Uni = INVALID.plus(6);
/// Of the innermost loop: bits 31:24 are the depth of the stack in it, bits 7:0 the step of its
/// index.
pub(super) const LOOP: Uni = INVALID.plus(8);
/// Iterations that are left to a loop with a count.
pub(super) const LOOP_COUNT: Uni = INVALID.plus(9);
/// Active lanes outside of a clause that runs for more or fewer of them.
pub(super) const OUTSIDE: Uni = INVALID.plus(10);
/// Lanes that are active after the clause, if the clause changes that.
pub(super) const PENDING: Uni = INVALID.plus(12);
/// The predicate, in the lanes for which the clause runs.
pub(super) const PREDICATE: Uni = INVALID.plus(14);
/// The loop index, aL.
pub(super) const LOOP_INDEX: Uni = INVALID.plus(16);
/// CALL_COUNT of all calls that have not returned.
pub(super) const CALL_DEPTH: Uni = INVALID.plus(17);
/// CF_IDX0 and CF_IDX1.
pub(super) const CONTROL_INDEX: [Uni; 2] = [INVALID.plus(18), INVALID.plus(19)];
/// CLAUSE_GLOBAL.
pub(super) const CLAUSE_GLOBAL: Uni = INVALID.plus(20);
/// The 32 boolean constants: a bit for each.
pub const BOOLEANS: Uni = INVALID.plus(21);
/// HW_WAVE_ID: a number for the wave among those that run.
pub const WAVE: Uni = INVALID.plus(22);
/// HW_THREADGRP_ID: a number for the workgroup among those that run.
pub const GROUP: Uni = INVALID.plus(23);
/// WAVE_ID_IN_GRP: the number of the wave in its workgroup.
pub const WAVE_IN_GROUP: Uni = INVALID.plus(24);
/// NUM_THREADGRP_WAVES: the waves of the workgroup.
pub const WAVES_OF_GROUP: Uni = INVALID.plus(25);
/// The first of the cells with subentries of the stack.
const FIRST_STACK: u16 = FIRST_CONTROL + 26;
/// Subentries of the stack that are cells. The others are lanes of rows.
pub(super) const STACK_CELLS: u8 = ((Uni::ACTIVE.0 - FIRST_STACK) / 2) as u8;
/// Number of cells that belong to registers, without the IR's own cells.
pub const CELLS: u16 = Uni::ACTIVE.0;

/// Two cells with a subentry of the stack, of the first [`STACK_CELLS`].
pub(super) const fn stack_cells(subentry: u8) -> Uni {
    Uni(FIRST_STACK + 2 * subentry as u16)
}

/// Row and first of two lanes with a subentry of the stack, of those after the first
/// [`STACK_CELLS`].
pub(super) const fn stack_lanes(subentry: u8) -> (Row, u32) {
    let number = subentry.saturating_sub(STACK_CELLS) as u16;
    (Row::second(FIRST_STACK_ROW + number / 32), 2 * (number as u32 % 32))
}

/// Address of a constant bank: the first of two cells.
#[must_use]
pub const fn bank(number: u16) -> Uni {
    Uni(2 * (number % BANKS))
}

/// A buffer: the first of four cells. Two have its address, the third its number of bytes. The
/// fourth has the format for fetches that take it from there, as dword 3 of a buffer resource of
/// Vega (Vega ISA 8.1.8): selects, number format, data format. Data format 0 means that there is no
/// buffer: loads return 0 and stores do nothing.
#[must_use]
pub const fn buffer(number: u16) -> Uni {
    Uni(FIRST_BUFFER + 4 * (number % BUFFERS))
}

/// The number of bytes of a buffer or of a random access target, which [`buffer`] or
/// [`random_access_target`] names.
#[must_use]
pub const fn bytes_of(resource: Uni) -> Uni {
    resource.plus(2)
}

/// Bytes from one element of a buffer to the next. LLVM's kernels use addresses as indices, so this
/// is 1 for them.
#[must_use]
pub const fn stride(number: u16) -> Uni {
    Uni(FIRST_STRIDE + number % BUFFERS)
}

/// A random access target: the first of four cells, as of [`buffer`]. The fourth has the format of
/// STORE_TYPED.
#[must_use]
pub const fn random_access_target(number: u16) -> Uni {
    Uni(FIRST_TARGET + 4 * (number % TARGETS))
}

/// Bytes from one index of a random access target to the next, for atomic operations and
/// STORE_TYPED. LLVM's kernels use addresses as indices, so this is 1 for them.
#[must_use]
pub const fn target_unit(number: u16) -> Uni {
    Uni(FIRST_UNIT + number % TARGETS)
}

/// A channel of a register.
#[must_use]
pub const fn gpr(register: u16, channel: u16) -> Row {
    Row(4 * (register % GPRS) + channel % 4)
}

/// A channel of the results of the last group.
#[must_use]
pub const fn previous_vector(channel: u16) -> Row {
    Row::second(channel % 4)
}

/// The index register, AR.X.
pub(super) const INDEX: Row = Row::second(4);

/// The most entries of a queue of LDS.
pub const QUEUE: u16 = 16;
const FIRST_QUEUE: u16 = 16;
const END_OF_QUEUES: u16 = FIRST_QUEUE + 2 * QUEUE;
/// Loop constants: lane n is constant n. Bits 11:0 are the number of iterations, 23:12 the first
/// index, 31:24 the step.
pub const LOOP_CONSTANTS: Row = Row::second(END_OF_QUEUES);
const FIRST_STACK_ROW: u16 = END_OF_QUEUES + 1;
/// Rows of the second bank: the results of the last group, the index register, the queues of LDS,
/// loop constants, and the stack.
pub const SECOND_ROWS: u16 = FIRST_STACK_ROW + (256 - STACK_CELLS as u16).div_ceil(32);

/// An entry of queue A (0) or B (1) of LDS. Entries are used in turn.
#[must_use]
pub const fn queue(queue: u16, entry: u16) -> Row {
    Row::second(FIRST_QUEUE + QUEUE * (queue % 2) + entry % QUEUE)
}

/// The names of registers as in assembly text, and words for registers that texts do not name.
#[derive(Clone, Copy, Debug)]
pub struct RegisterNames;

/// Names of the cells of control flow, in order, and whether a name stands for two cells.
const CONTROL_NAMES: [(Uni, &str, bool); 19] = [
    (INVALID, "invalid", true),
    (ENTERED, "entered", true),
    (BROKEN, "broken", true),
    (CONTINUED, "continued", true),
    (LOOP, "loop", false),
    (LOOP_COUNT, "loop_count", false),
    (OUTSIDE, "outside", true),
    (PENDING, "pending", true),
    (PREDICATE, "predicate", true),
    (LOOP_INDEX, "aL", false),
    (CALL_DEPTH, "call_depth", false),
    (CONTROL_INDEX[0], "CF_IDX0", false),
    (CONTROL_INDEX[1], "CF_IDX1", false),
    (CLAUSE_GLOBAL, "CLAUSE_GLOBAL", false),
    (BOOLEANS, "booleans", false),
    (WAVE, "HW_WAVE_ID", false),
    (GROUP, "HW_THREADGRP_ID", false),
    (WAVE_IN_GROUP, "WAVE_ID_IN_GRP", false),
    (WAVES_OF_GROUP, "NUM_THREADGRP_WAVES", false),
];

/// The first of the two cells that a cell is one of, and their name as one value of 64 bits; `None`
/// for a cell that stands alone.
pub fn pair(cell: Uni) -> Option<(Uni, String)> {
    if cell == Uni::ACTIVE || cell == Uni::ACTIVE.plus(1) {
        return Some((Uni::ACTIVE, "active".to_owned()));
    }
    let name = RegisterNames.cell(cell)?;
    match name.strip_suffix("_lo") {
        Some(name) => Some((cell, name.to_owned())),
        None => Some((Uni(cell.0.checked_sub(1)?), name.strip_suffix("_hi")?.to_owned())),
    }
}

/// The state of control flow that is not zero: names and values. `cell` reads a cell.
pub fn control_state(cell: impl Fn(Uni) -> u32) -> Vec<(&'static str, u64)> {
    let value = |(first, name, is_pair): &(Uni, &'static str, bool)| {
        let high = if *is_pair { cell(first.plus(1)) } else { 0 };
        (*name, u64::from(cell(*first)) | u64::from(high) << 32)
    };
    CONTROL_NAMES.iter().map(value).filter(|(_, value)| *value != 0).collect()
}

/// The cells of a resource.
const RESOURCE_NAMES: [&str; 4] = ["lo", "hi", "bytes", "format"];

const CHANNELS: [char; 4] = ['X', 'Y', 'Z', 'W'];

impl Names for RegisterNames {
    fn cell(&self, cell: Uni) -> Option<String> {
        let half = |number: u16| if number.is_multiple_of(2) { "lo" } else { "hi" };
        Some(match cell.0 {
            n if n < FIRST_BUFFER => format!("cb{}_{}", n / 2, half(n)),
            n if n < FIRST_TARGET => {
                let (buffer, part) = ((n - FIRST_BUFFER) / 4, (n - FIRST_BUFFER) % 4);
                format!("buffer{buffer}_{}", RESOURCE_NAMES[usize::from(part)])
            }
            n if n < FIRST_STRIDE => {
                let (target, part) = ((n - FIRST_TARGET) / 4, (n - FIRST_TARGET) % 4);
                format!("rat{target}_{}", RESOURCE_NAMES[usize::from(part)])
            }
            n if n < FIRST_UNIT => format!("buffer{}_stride", n - FIRST_STRIDE),
            n if n < RETURN_BUFFER.0 => format!("rat{}_unit", n - FIRST_UNIT),
            n if n == GLOBAL_SHARE.0 => "global_share".to_owned(),
            n if n < GLOBAL_SHARE.0 => {
                format!("return_{}", RESOURCE_NAMES[usize::from(n - RETURN_BUFFER.0)])
            }
            n if n >= CELLS => return None,
            n if n >= FIRST_STACK => format!("stack{}_{}", (n - FIRST_STACK) / 2, half(n)),
            n => match CONTROL_NAMES.iter().rfind(|(first, ..)| first.0 <= n)? {
                (_, name, true) => format!("{name}_{}", half(n)),
                (_, name, false) => (*name).to_owned(),
            },
        })
    }

    fn row(&self, row: Row) -> Option<String> {
        let letter = |n: u16| CHANNELS[usize::from(n % 4)];
        Some(match row.bank()? {
            (0, n) => format!("T{}.{}", n / 4, letter(n)),
            (_, n @ 0..4) => format!("PV.{}", letter(n)),
            (_, 4) => "AR.X".to_owned(),
            (_, n @ FIRST_QUEUE..END_OF_QUEUES) => {
                let n = n - FIRST_QUEUE;
                format!("OQ{}[{}]", if n < QUEUE { 'A' } else { 'B' }, n % QUEUE)
            }
            (_, END_OF_QUEUES) => "loop_constants".to_owned(),
            (_, n) if n < SECOND_ROWS => format!("stack_row{}", n - FIRST_STACK_ROW),
            _ => return None,
        })
    }
}
