//! Tests of the command as users call it, in one binary so that dependencies are linked once.

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
mod mesa;
mod messages;
mod observe;
mod relocatable;
mod run;
mod schemas;
mod services;
mod traps;
mod values;
