//! Tests of the C interface through its functions, in one binary so that dependencies are linked once.

mod calls;
mod handles;
mod header;
mod launches;
mod run_code;
mod structures;
mod texts;
