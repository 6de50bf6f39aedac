//! Tests of code objects, containers and reports in a single binary, to link only once.

mod code_objects;
mod containers;
mod foreign;
mod hostile;
mod hostile_modules;
mod lookup;
mod relocatable;
mod report;
mod shipped;
mod support;
