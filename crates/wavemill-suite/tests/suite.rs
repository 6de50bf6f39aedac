//! The committed files: that they are what the generator writes, and what every engine does with them.

mod clause;
mod files;
mod run;
