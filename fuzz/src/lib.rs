//! Shared code of the fuzz targets: mutations of files and text, random programs, machines that run
//! them in several ways, and watched host memory.

pub mod cayman;
pub mod fences;
pub mod files;
pub mod machine;
pub mod place;
pub mod program;
pub mod report;
pub mod share;
pub mod text;
pub mod watch;
