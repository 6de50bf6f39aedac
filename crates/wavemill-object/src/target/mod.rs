//! The GPU that code is for: processors, target features, target ids.
//!
//! Sources: AMDGPUUsage, "Processors", "Target Features", "Target ID", "ELF Header";
//! Clang Offload Bundler, "Target ID Definition".

mod id;
mod processor;

pub use id::{Feature, Fit, TargetId};
pub use processor::{Generation, PROCESSORS, Processor, ProcessorInfo};
