//! What a launch can tell of itself: traces, and statistics of instructions and of memory.

pub(crate) mod banks;
pub(crate) mod mix;
pub(crate) mod rows;
pub(crate) mod trace;
pub(crate) mod traffic;

#[cfg(test)]
mod tests;
