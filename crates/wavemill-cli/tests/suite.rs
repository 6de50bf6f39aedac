//! The command, as its users call it. One binary: what it links is there once.

mod asm;
mod cayman;
mod common;
mod dis;
mod explain;
mod faults;
mod foreign;
mod interface;
mod launch_files;
mod lost_files;
mod messages;
mod observe;
mod run;
mod services;
mod values;
