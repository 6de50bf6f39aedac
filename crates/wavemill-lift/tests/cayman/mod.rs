//! Cayman: programs are assembled, lifted and run. Expected values follow from the manual by hand.

mod accesses;
mod clauses;
mod faults;
mod groups;
mod machine;
mod memory;
mod operations;
mod random_words;
