//! The reference engine compared with the interpreter, and waves that it hands over.

mod common;
mod effects;
mod handed_over;
mod images;
mod kernels;
mod machine_accesses;
mod machine_code;
mod machine_far;
mod machine_floats;
mod machine_integers;
mod machine_loops;
mod machine_runs;
mod machine_sources;
mod malformed;
#[cfg(target_arch = "x86_64")]
mod planted;
mod programs;
mod shapes;
