//! Rows, decoder, encoder. One binary: what it links is there once.

mod cayman;
mod effects;
mod golden;
mod matrix_layout;
mod round_trip;
mod support;
