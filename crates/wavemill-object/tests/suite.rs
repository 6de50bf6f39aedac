//! Code objects, containers and reports. One binary: what it links is there once.

mod code_objects;
mod containers;
mod foreign;
mod hostile;
mod hostile_modules;
mod lookup;
mod report;
mod shipped;
mod support;
