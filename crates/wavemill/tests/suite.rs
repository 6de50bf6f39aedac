//! Tests of the library through its public API, in one binary so that dependencies are linked once.

mod assembled;
mod control;
mod cooperative;
mod counts;
mod edges;
mod faults;
mod find;
mod host_floats;
mod host_memory;
mod images;
mod known_gaps;
mod matrix;
#[cfg(target_os = "linux")]
mod process_memory;
mod raw_code;
mod refusals;
mod relocatable;
mod serialised;
mod services;
mod traps;
