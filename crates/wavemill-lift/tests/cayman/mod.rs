//! Cayman: programs are assembled, lifted and run. Expected values follow from the manual by hand.

mod accesses;
mod clauses;
mod compiled;
mod control;
mod exports;
mod faults;
mod groups;
mod machine;
mod memory;
mod names;
mod operations;
mod program;
mod random_words;
mod reference;
mod slots;
mod tables;
mod textures;
