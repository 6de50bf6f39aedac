//! Reports and statistics as data, for those who read them with programs: what the command writes as JSON.
//!
//! Addresses are texts in hexadecimal, because not every reader of JSON keeps 64 bits of a number. What is not known is
//! null.

mod outcome;
mod report;
mod stats;
