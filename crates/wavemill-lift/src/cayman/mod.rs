//! Cayman (HD 6900 series): control flow words with their clauses become blocks of IR.
//!
//! A control flow word that calls a clause is an instruction, and so is each group and each fetch
//! of the clause. Blocks continue across clauses. [`Position`] defines the names of instructions,
//! [`registers`] the cells and rows of registers.

mod alu;
mod clause;
mod control;
mod data_share;
mod export;
mod fetch;
mod gds;
mod group;
mod lds;
mod lifter;
mod masks;
mod position;
mod queue;
mod rat;
pub mod registers;
mod select;
mod source;
mod stack;
mod sync;
mod table;
mod texture;
mod write;

use wavemill_ir::{Block, Names, Uni};

pub use export::export_target;
pub use position::Position;
pub use rat::reaches_images;

use crate::family::{Fetch, Lift};

/// The bits of a context: the modes of floats, bit 8, set once `SET_LDS_SIZE` has run, and those of
/// [`image_target`].
///
/// Bits 3:0 are the modes of single floats, bits 7:4 those of doubles, each as in a source of
/// `SET_MODE` (HD 6900 ISA 8.2). The low two bits are the rounding, the third bit keeps denormals
/// of sources, the fourth denormals of results.
pub const MODE_KEY: u32 = FLOAT_MODES | BOUNDED_SHARE | IMAGE_TARGETS;

/// The modes of floats.
const FLOAT_MODES: u32 = 0xff;

/// Bit of a context: `SET_LDS_SIZE` has set the size of LDS. Only then do accesses compare their
/// addresses with it.
const BOUNDED_SHARE: u32 = 1 << 8;

/// Bit of a context: the launch has an image as the random access target with this number. Its
/// resource is an [entry](registers::target_image) of the table of resources.
#[must_use]
pub const fn image_target(number: u16) -> u32 {
    FIRST_IMAGE_TARGET << (number % registers::TARGETS)
}

/// The bits of images that are targets.
const IMAGE_TARGETS: u32 = ((1 << registers::TARGETS) - 1) * FIRST_IMAGE_TARGET;
const FIRST_IMAGE_TARGET: u32 = 1 << 9;

/// Number of instructions after which a block is cut.
const MAX_GUEST: usize = 512;

/// Cayman, for one program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cayman {
    /// The start of the program: the guest address that addresses of clauses count from.
    pub program: u64,
    /// Registers of each lane that the program declares, 1 to 128: those that relative addresses
    /// reach, without clause temporaries (HD 6900 ISA 4.6.3).
    pub gprs: u16,
    /// Clause temporaries, the last ones of 128 registers. A wave needs rows for them.
    pub temporaries: u16,
    /// Whether it is the program of pixels: others ignore KILL (HD 6900 ISA 8.2).
    pub kills: bool,
    /// STACK_SIZE: entries of the control flow stack, of four subentries each (HD 6900 ISA 3.6.5).
    pub stack: u16,
}

impl Cayman {
    /// Whether a program has a register: it declares it, or it is a clause temporary. Writes to
    /// others are lost. The manual leaves reads of them undefined; they read register 0, as relative
    /// ones do (HD 6900 ISA 4.6.3).
    pub(crate) const fn has_register(&self, number: u16) -> bool {
        number < self.gprs || number + self.temporaries >= registers::GPRS
    }

    /// The register that a read reads.
    pub(crate) const fn read_register(&self, number: u16) -> u16 {
        if self.has_register(number) { number } else { 0 }
    }
}

impl Lift for Cayman {
    fn block(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lifter::lift(self, position, context, fetch, MAX_GUEST)
    }

    fn instruction(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lifter::lift(self, position, context, fetch, 1)
    }

    fn address(&self, position: u64) -> u64 {
        Position::from_number(position).control
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn cells(&self) -> u16 {
        registers::CELLS
    }

    fn names(&self) -> &'static dyn Names {
        &registers::RegisterNames
    }

    /// Only `STORE_FLAGS` reads exceptions, and it has no row yet.
    fn exceptions(&self) -> Option<Uni> {
        None
    }

    fn reads_exceptions(&self, _: &[u8]) -> bool {
        false
    }
}
