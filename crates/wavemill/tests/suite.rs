//! Tests of the library through its public API, in one binary so that dependencies are linked once.

mod control;
mod faults;
mod find;
mod known_gaps;
mod matrix;
mod serialised;
mod services;
mod traps;
