//! The library, as those who embed it call it. One binary: what it links is there once.

mod control;
mod faults;
mod find;
mod serialised;
mod services;
