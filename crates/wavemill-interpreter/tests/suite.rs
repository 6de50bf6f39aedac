//! The engine, operation by operation and wave by wave. One binary, so that its dependencies are
//! linked only once.

mod atomics;
mod buffers;
mod common;
mod edges;
mod float_operations;
mod global_chunks;
mod indexed_rows;
mod integer_operations;
mod invariants;
mod lds;
mod matrix;
mod observers;
mod precise_faults;
mod private_memory;
mod read_only;
mod runs;
mod scalar_registers;
mod schedule;
mod select;
mod sequences;
mod strict;
mod synchronization;
mod tearing;
mod texels;
