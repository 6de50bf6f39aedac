//! Rows, decoder, encoder. One binary, so that shared code is linked once.

mod cayman;
mod effects;
mod golden;
mod matrix_layout;
mod round_trip;
mod support;
