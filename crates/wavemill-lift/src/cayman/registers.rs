//! Maps the registers of a wave to cells and rows of the IR, and names them for texts.
//!
//! The manual has no layout of resources. The contract of a launch is here: the code that starts a
//! wave sets these cells and rows, and all others are 0.
//!
//! | what | where |
//! |---|---|
//! | [constant banks](bank) | the guest address of the first byte, in two cells |
//! | [buffers](buffer) up to number 15, and their [strides](stride) | cells: address, bytes, format |
//! | [random access targets](random_access_target), and their [units](target_unit) | cells, as buffers |
//! | [`RETURN_BUFFER`] | cells, as a buffer |
//! | [`RESOURCE_TABLE`], [`SAMPLER_TABLE`] | the guest address of a table, in two cells |
//! | [`WRITE_TABLE`], and [`WRITE_INDEX`] | the guest address of a table; a row |
//! | [`SEMANTIC_TABLE`] | the guest address of a table |
//! | [`PARAMETERS`] | a cell |
//! | [`ORDERED_COUNT`] | a cell: a counter in the global data share |
//! | [`PRIVATE_MEMORY`] | a guest address in two cells |
//! | [`FETCH_PROGRAM`] | a guest address in two cells |
//! | [`BOOLEANS`], [`LOOP_CONSTANTS`], [`JUMPTABLE_CONSTANTS`] | constants of control flow |
//! | [`INVALID`], [`WAVE`], [`GROUP`], [`WAVE_IN_GROUP`], [`WAVES_OF_GROUP`] | lanes and numbers |
//!
//! Cells are few, so resources that graphics needs are in tables in guest memory. A table has at
//! least as many entries as the program names; an address of 0 says that there is no table. Then,
//! and where an entry is zeros, nothing is bound: loads give 0, and stores do nothing.

use wavemill_ir::{Names, Row, Uni};
use wavemill_isa::cayman::{Inst, WindowFields};

/// Registers of a wave (HD 6900 ISA 2.6.1).
pub const GPRS: u16 = 128;
/// Constant banks.
pub const BANKS: u16 = 16;
/// From this bank on, an index register does not change the bank (HD 6900 ISA 9.1,
/// KCACHE_BANK_INDEX_MODE).
pub(super) const FIXED_BANKS: u16 = 14;
/// Buffers that are cells. Fetches find the others in [`RESOURCE_TABLE`].
pub const BUFFERS: u16 = 16;
/// Texture resources: 160 of a stage, and 16 of its fetch program (HD 6900 ISA 9.4).
pub const RESOURCES: u16 = 176;
/// Entries of [`RESOURCE_TABLE`]: texture resources, and behind them the images that are random access
/// targets.
pub const RESOURCE_ENTRIES: u16 = RESOURCES + TARGETS;
/// Samplers (HD 6900 ISA 9.4).
pub const SAMPLERS: u16 = 18;
/// Random access targets.
pub const TARGETS: u16 = 12;

const FIRST_BUFFER: u16 = 2 * BANKS;
const FIRST_TARGET: u16 = FIRST_BUFFER + 4 * BUFFERS;
const FIRST_STRIDE: u16 = FIRST_TARGET + 4 * TARGETS;
const FIRST_UNIT: u16 = FIRST_STRIDE + BUFFERS;
/// The buffer for old values of random access targets: four cells as of [`buffer`]. It may have no
/// bytes.
pub const RETURN_BUFFER: Uni = Uni(FIRST_UNIT + TARGETS);
/// Guest address of the table of texture resources: entries of eight dwords, each an image resource
/// of Vega (Vega ISA 8.2.5). A fetch from a buffer above number 15 takes its buffer from the entry:
/// dwords as the cells of [`buffer`], then the [stride].
pub const RESOURCE_TABLE: Uni = RETURN_BUFFER.plus(4);
/// Entry of [`RESOURCE_TABLE`] with the image that is a random access target. Where the target is a
/// buffer, the entry is zeros; where it is an image, the cells of the target are.
#[must_use]
pub const fn target_image(target: u16) -> u16 {
    RESOURCES + target % TARGETS
}

/// Guest address of the table of samplers: entries of four dwords, each a sampler of Vega (Vega ISA
/// 8.2.6).
pub const SAMPLER_TABLE: Uni = RESOURCE_TABLE.plus(2);
/// Guest address of the table of buffers that MEM_STREAM, MEM_RING and MEM_EXPORT write: entries of
/// four dwords. Two have the address, the third the number of bytes, the fourth the bytes from the
/// elements of one [index](WRITE_INDEX) to those of the next. The entries are [`stream_entry`],
/// [`ring_entry`], and [`SCATTER_ENTRY`].
pub const WRITE_TABLE: Uni = SAMPLER_TABLE.plus(2);
/// Guest address of the table of semantics: a byte for each, with the number of the register that a
/// semantic fetch writes. Without a table, all of them are register 0.
pub const SEMANTIC_TABLE: Uni = WRITE_TABLE.plus(2);
/// Guest address of the program that CALL_FS calls.
pub const FETCH_PROGRAM: Uni = SEMANTIC_TABLE.plus(2);
/// Parameters of pixels in LDS, as M0 of Vega (Vega ISA 10.3.2): bits 15:0 are the first byte. Bit
/// 15 + n is set if quad n begins a new primitive; quad 0 always does. Each parameter has 12 dwords
/// for each primitive of the wave: X, Y, Z and W of P0, then of P10, then of P20 (HD 6900 ISA 7.3.3).
pub const PARAMETERS: Uni = FETCH_PROGRAM.plus(2);
/// The ordered count: bits 31:16 are the byte of its counter in the global data share, bits 10:0 the
/// number of the wave in the order of launch.
pub const ORDERED_COUNT: Uni = PARAMETERS.plus(1);
/// Guest address of the private memory of the wave, which scratch memory is, in two cells. A launch
/// must also say that these cells have it.
pub const PRIVATE_MEMORY: Uni = ORDERED_COUNT.plus(1);

/// Entry of [`WRITE_TABLE`] of a buffer of a stream.
#[must_use]
pub const fn stream_entry(stream: u16, buffer: u16) -> u16 {
    4 * (stream % 4) + buffer % 4
}

/// Entry of [`WRITE_TABLE`] of a ring.
#[must_use]
pub const fn ring_entry(ring: u16) -> u16 {
    16 + ring % 4
}

/// Entry of [`WRITE_TABLE`] of the buffer that MEM_EXPORT writes and MEM_RD_SCATTER reads.
pub const SCATTER_ENTRY: u16 = 20;
/// Entries of [`WRITE_TABLE`].
pub const WRITES: u16 = 21;

/// The first cell of control flow. All of them are 0 when a wave starts, except for those that its
/// launch sets: invalid lanes, boolean constants, and the numbers of the wave.
const FIRST_CONTROL: u16 = PRIVATE_MEMORY.0 + 2;
/// Lanes that are not valid: those that the launch leaves out, and those that are killed.
pub const INVALID: Uni = Uni(FIRST_CONTROL);
/// Lanes that were active when the innermost loop began.
pub(super) const ENTERED: Uni = INVALID.plus(2);
/// Lanes that have broken out of the innermost loop.
pub(super) const BROKEN: Uni = INVALID.plus(4);
/// Lanes that have left the iteration of the innermost loop: they have broken, or wait for its end.
pub(super) const LEFT: Uni = INVALID.plus(6);
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
/// The resource of GLOBAL_WAVE_SYNC, from bit 16 on, and its value, between the parts of a word with
/// index registers.
pub(super) const SYNC: [Uni; 2] = [INVALID.plus(26), INVALID.plus(27)];
/// Bytes of LDS that accesses reach, once `SET_LDS_SIZE` has set them.
pub(super) const SHARE_SIZE: Uni = INVALID.plus(28);
/// The first of the cells with subentries of the stack.
const FIRST_STACK: u16 = FIRST_CONTROL + 30;
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
/// Vega (Vega ISA 8.1.8): selects, number format, data format. Other fetches do not look at it.
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

/// The number of the constant bank of a window that a control flow word locks; `cell` reads a cell.
/// An index register may give a number above the last bank. `None` for an index that is not legal.
pub fn locked_bank(control: &Inst, window: &WindowFields, cell: impl Fn(Uni) -> u32) -> Option<u16> {
    let bank = control.get(window.bank) as u16;
    Some(match control.get(window.index) {
        0 => bank,
        // An index register does not change these banks.
        1 | 2 if bank >= FIXED_BANKS => bank,
        mode @ (1 | 2) => {
            let index = cell(CONTROL_INDEX[mode as usize - 1]);
            u16::try_from(index.wrapping_add(bank.into())).unwrap_or(u16::MAX)
        }
        _ => return None,
    })
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
/// The gradients that SET_GRADIENTS has set: X, Y and Z to the right, then downwards.
pub(super) const GRADIENTS: Row = Row::second(5);
/// The offsets that SET_TEXTURE_OFFSETS has set: X, Y and Z in the low six bits of bytes 0, 1 and 2.
pub(super) const TEXTURE_OFFSETS: Row = Row::second(11);
/// The index of each lane in the buffers of [`WRITE_TABLE`]: the number of its vertex.
pub const WRITE_INDEX: Row = Row::second(12);
/// Jumptable constants: lane n is constant n. Elements A, B, C and D are its bytes, A the lowest.
pub const JUMPTABLE_CONSTANTS: Row = Row::second(13);

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

/// Names of the cells behind resources, in order, and whether a name stands for two cells.
const CELL_NAMES: [(Uni, &str, bool); 30] = [
    (RESOURCE_TABLE, "resource_table", true),
    (SAMPLER_TABLE, "sampler_table", true),
    (WRITE_TABLE, "write_table", true),
    (SEMANTIC_TABLE, "semantic_table", true),
    (FETCH_PROGRAM, "fetch_program", true),
    (PARAMETERS, "parameters", false),
    (ORDERED_COUNT, "ordered_count", false),
    (PRIVATE_MEMORY, "private_memory", true),
    (INVALID, "invalid", true),
    (ENTERED, "entered", true),
    (BROKEN, "broken", true),
    (LEFT, "left", true),
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
    (SYNC[0], "sync_resource", false),
    (SYNC[1], "sync_value", false),
    (SHARE_SIZE, "lds_size", false),
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
    let control = CELL_NAMES.iter().filter(|(first, ..)| first.0 >= FIRST_CONTROL);
    control.map(value).filter(|(_, value)| *value != 0).collect()
}

/// The cells of a resource.
const RESOURCE_NAMES: [&str; 4] = ["lo", "hi", "bytes", "format"];

const CHANNELS: [char; 4] = ['x', 'y', 'z', 'w'];

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
            n if n < RESOURCE_TABLE.0 => {
                format!("return_{}", RESOURCE_NAMES[usize::from(n - RETURN_BUFFER.0)])
            }
            n if n >= CELLS => return None,
            n if n >= FIRST_STACK => {
                let n = n - FIRST_STACK;
                format!("stack{}_{}", n / 2, half(n))
            }
            n => match CELL_NAMES.iter().rfind(|(first, ..)| first.0 <= n)? {
                (first, name, true) => format!("{name}_{}", half(n - first.0)),
                (_, name, false) => (*name).to_owned(),
            },
        })
    }

    fn row(&self, row: Row) -> Option<String> {
        let letter = |n: u16| CHANNELS[usize::from(n % 4)];
        Some(match row.bank()? {
            (0, n) => format!("r{}.{}", n / 4, letter(n)),
            (_, n @ 0..4) => format!("pv.{}", letter(n)),
            (_, 4) => "ar.x".to_owned(),
            (_, n @ 5..11) => {
                format!("gradients_{}.{}", ["h", "v"][usize::from((n - 5) / 3)], letter((n - 5) % 3))
            }
            (_, 11) => "texture_offsets".to_owned(),
            (_, 12) => "write_index".to_owned(),
            (_, 13) => "jumptable_constants".to_owned(),
            (_, n @ FIRST_QUEUE..END_OF_QUEUES) => {
                let n = n - FIRST_QUEUE;
                format!("oq{}[{}]", if n < QUEUE { 'a' } else { 'b' }, n % QUEUE)
            }
            (_, END_OF_QUEUES) => "loop_constants".to_owned(),
            (_, n) if n < SECOND_ROWS => format!("stack_row{}", n - FIRST_STACK_ROW),
            _ => return None,
        })
    }
}
