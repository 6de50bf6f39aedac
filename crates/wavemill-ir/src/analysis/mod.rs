//! Analyses of programs of blocks, for engines that compile them.
//!
//! A [`Graph`] has the blocks that static branches lead to from an entry. The other analyses work on a
//! graph and say what holds in front of each operation:
//!
//! | analysis | what it says |
//! |---|---|
//! | [`Effect`] | registers and memory that an operation reads and writes, and whether it may leave the wave |
//! | [`Full`] | where all lanes are active |
//! | [`Liveness`] | the registers whose values matter |
//! | [`Written`] | the registers that every path has written |
//! | [`Shapes`] | how the values of a row relate to each other, with [`Shape`] |
//!
//! What they say holds for each run that begins at the graph's entry, with what the caller said of the
//! entry, and that has followed the graph's edges since. It does not hold for a wave that comes from
//! elsewhere, such as from an indirect jump into the middle of the graph.

mod effect;
mod flow;
mod full;
mod liveness;
mod registers;
mod shape;
mod shapes;
#[cfg(test)]
mod tests;
mod wave;
mod written;

pub use effect::{Effect, Memory, WrittenLanes};
pub use flow::{Exit, Graph, Limits, Loop, Node};
pub use full::Full;
pub use liveness::{Exits, Liveness};
pub use registers::RegisterSet;
pub use shape::{Lanes, STRIP, Shape};
pub use shapes::{ComparedLanes, Entry, Shapes, State, Walk};
pub use wave::WaveFacts;
pub use written::Written;
