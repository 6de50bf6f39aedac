//! Text of instructions and sources. One binary, so that shared code is linked once.

mod errors;
mod explain;
mod limits;
mod reference;
mod source;
mod support;
mod texts;
