//! Maps the registers of a wave to cells and rows of the IR, and names them for texts.
//!
//! The manual has no layout of resources. Until there is a launch contract, cells hold the
//! resources, and the code that starts a wave sets them. A constant bank and a random access target
//! is the guest address of its first byte; a buffer is that address and the bytes from one element
//! to the next.

use wavemill_ir::{Names, Row, Uni};

/// Registers of a wave (HD 6900 ISA 2.6.1).
pub const GPRS: u16 = 128;
/// Constant banks.
pub const BANKS: u16 = 16;
/// Buffers that fetches can name, of the 160 that the chip has.
pub const BUFFERS: u16 = 16;
/// Random access targets.
pub const TARGETS: u16 = 16;

const FIRST_BUFFER: u16 = 2 * BANKS;
const FIRST_TARGET: u16 = FIRST_BUFFER + 4 * BUFFERS;
/// Number of cells that belong to registers, without the IR's own cells.
pub const CELLS: u16 = FIRST_TARGET + 2 * TARGETS;

/// Address of a constant bank: the first of two cells.
#[must_use]
pub const fn bank(number: u16) -> Uni {
    Uni(2 * (number % BANKS))
}

/// Address of a buffer: the first of two cells.
#[must_use]
pub const fn buffer(number: u16) -> Uni {
    Uni(FIRST_BUFFER + 4 * (number % BUFFERS))
}

/// Bytes from one element of a buffer to the next. LLVM's kernels use addresses as indices, so this
/// is 1 for them.
#[must_use]
pub const fn stride(number: u16) -> Uni {
    buffer(number).plus(2)
}

/// Address of a random access target: the first of two cells.
#[must_use]
pub const fn random_access_target(number: u16) -> Uni {
    Uni(FIRST_TARGET + 2 * (number % TARGETS))
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

/// The most entries of a queue of LDS.
pub const QUEUE: u16 = 16;
const FIRST_QUEUE: u16 = 16;
/// Rows of the second bank: the results of the last group, the index register, and the queues of LDS.
pub const SECOND_ROWS: u16 = FIRST_QUEUE + 2 * QUEUE;

/// An entry of queue A (0) or B (1) of LDS. Entries are used in turn.
#[must_use]
pub const fn queue(queue: u16, entry: u16) -> Row {
    Row::second(FIRST_QUEUE + QUEUE * (queue % 2) + entry % QUEUE)
}

/// The names of registers as in assembly text, and words for registers that texts do not name.
#[derive(Clone, Copy, Debug)]
pub struct RegisterNames;

const CHANNELS: [char; 4] = ['X', 'Y', 'Z', 'W'];

impl Names for RegisterNames {
    fn cell(&self, cell: Uni) -> Option<String> {
        let half = |number: u16| if number.is_multiple_of(2) { "lo" } else { "hi" };
        Some(match cell.0 {
            n if n < FIRST_BUFFER => format!("cb{}_{}", n / 2, half(n)),
            n if n < FIRST_TARGET => {
                let (buffer, part) = ((n - FIRST_BUFFER) / 4, (n - FIRST_BUFFER) % 4);
                let part = ["lo", "hi", "stride", "unused"][usize::from(part)];
                format!("buffer{buffer}_{part}")
            }
            n if n < CELLS => format!("rat{}_{}", (n - FIRST_TARGET) / 2, half(n)),
            _ => return None,
        })
    }

    fn row(&self, row: Row) -> Option<String> {
        let letter = |n: u16| CHANNELS[usize::from(n % 4)];
        Some(match row.bank()? {
            (0, n) => format!("T{}.{}", n / 4, letter(n)),
            (_, n @ 0..4) => format!("PV.{}", letter(n)),
            (_, 4) => "AR.X".to_owned(),
            (_, n @ FIRST_QUEUE..SECOND_ROWS) => {
                let n = n - FIRST_QUEUE;
                format!("OQ{}[{}]", if n < QUEUE { 'A' } else { 'B' }, n % QUEUE)
            }
            _ => return None,
        })
    }
}
