//! Text of instructions and sources. One binary: what it links is there once.

mod explain;
mod limits;
mod mistakes;
mod reference;
mod source;
mod support;
mod texts;
