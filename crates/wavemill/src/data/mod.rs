//! Reports and statistics as data for programs: what the command writes as JSON.
//!
//! Addresses are hexadecimal strings, because not every JSON reader keeps 64 bits of a number.
//! Unknown values are null.

mod outcome;
mod report;
mod stats;
