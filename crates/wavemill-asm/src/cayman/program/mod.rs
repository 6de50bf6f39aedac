//! Whole programs: control flow and the clauses that it calls.

mod assemble;
mod check;
mod layout;
mod listing;
mod read;

pub use assemble::{Assembled, Code, Options, Statement, assemble};
pub use listing::{Listing, disassemble, print_program};

use wavemill_isa::cayman::{Address, Format};

/// What a run of words is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    /// Words of the control flow program.
    Control,
    /// Groups of ALU clauses.
    Alu,
    /// Fetches.
    Fetch,
    /// Accesses to the global data share.
    Share,
}

impl Kind {
    /// The kind of words of a format.
    const fn of(format: Format) -> Kind {
        if format.is_control() {
            Kind::Control
        } else if format.is_fetch() {
            Kind::Fetch
        } else if format.is_gds() {
            Kind::Share
        } else {
            Kind::Alu
        }
    }

    /// What an address means; `None` if it is not an address.
    const fn addressed(address: Address) -> Option<Kind> {
        Some(match address {
            Address::AluClause => Kind::Alu,
            Address::FetchClause => Kind::Fetch,
            Address::GdsClause => Kind::Share,
            Address::Control => Kind::Control,
            Address::Acks => return None,
        })
    }

    /// Bytes that COUNT counts, and of which the address is a multiple (HD 6900 ISA 3.3).
    const fn unit(self) -> usize {
        match self {
            Kind::Control | Kind::Alu => 8,
            Kind::Fetch | Kind::Share => 16,
        }
    }

    /// Its name in messages.
    const fn name(self) -> &'static str {
        match self {
            Kind::Control => "a control flow word",
            Kind::Alu => "a clause of ALU groups",
            Kind::Fetch => "a clause of fetches",
            Kind::Share => "a clause of accesses to the global data share",
        }
    }

    /// What labels of disassembled programs begin with.
    const fn label(self) -> &'static str {
        match self {
            Kind::Control => "l",
            Kind::Alu => "alu",
            Kind::Fetch => "tc",
            Kind::Share => "gds",
        }
    }
}

/// Directives of programs.
const DIRECTIVES: [&str; 12] = [
    ".program",
    ".stage",
    ".stack",
    ".gprs",
    ".lds",
    ".reloc",
    ".in_order",
    ".set",
    ".align",
    ".byte",
    ".long",
    ".quad",
];
