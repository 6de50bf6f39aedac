//! AMD GPU code objects: ELF, metadata, kernel descriptors, offload bundles.
//!
//! Functions parse bytes to structures, or write structures to bytes; none does I/O. The caller can
//! memory-map a file of hundreds of megabytes: the crate reads only the requested parts, and
//! borrows from the input as much as possible.
//!
//! - [`Container`] finds the code objects in a file: a code object itself, an
//!   offload bundle (plain or compressed), or a host program that carries some.
//! - [`CodeObject`] reads one: segments, symbols, relocations, [`Metadata`],
//!   and [`Kernel`]s with their [`KernelDescriptor`].
//! - [`TargetId`] names the GPU that code is for, and says which code fits a GPU.
//! - [`DescriptorBuilder`] builds descriptors from the directives of an assembler, and [`express`]
//!   turns a descriptor into directives; [`assemble_metadata`] and [`disassemble_metadata`] do the
//!   same for metadata.
//! - [`unlink`] goes back from a file to the [`Module`](write::Module) that it was made from.
//! - [`loadable`] links a relocatable file, so that [`CodeObject`] reads it.
//! - [`write`](mod@write) writes relocatable files and loadable code objects.
//! - [`r600`] reads and writes the 32-bit object files of the R600 family.
//! - [`report`] describes a file for people.
//!
//! No input makes this crate panic, and none makes it use memory out of
//! proportion to its size, beyond what [`Limits`] allows.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use wavemill_object::{CodeObject, Container, Limits, TargetId};
//!
//! let file = std::fs::read("librocrand.so.1.1")?;
//! let limits = Limits::default();
//! let container = Container::parse(&file)?;
//! for entry in container.select(&"gfx90a:xnack-".parse::<TargetId>()?, &limits)? {
//!     let bytes = container.read(&entry, &limits)?;
//!     for kernel in CodeObject::parse(&bytes)?.kernels() {
//!         println!("{}", kernel.name);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod bytes;
pub mod container;
mod debug;
mod demangle;
mod descriptor;
mod elf;
mod error;
mod limits;
mod loadable;
mod metadata;
pub mod name;
pub mod printable;
pub mod r600;
pub mod report;
mod sniff;
mod target;
mod unlink;
pub mod write;

pub use container::Container;
pub use debug::{DebugInfo, DebugParameter};
pub use demangle::{demangle, kernel_of_body, readable, short};
pub use descriptor::{
    DescriptorBuilder, Directive, DirectiveDefault, DirectiveError, DirectiveSupport, Field, Inexpressible,
    KernargPreload, KernelCodeProperties, KernelDescriptor, RegisterAllocation, Rsrc1, Rsrc2, Rsrc3Gfx10,
    Rsrc3Gfx90a, Setting, SpecialSgprs, express,
};
pub use elf::{
    Binding, CodeObject, CodeObjectVersion, Image, Kernel, Relocation, RelocationKind, RelocationSymbol,
    Section, Segment, Symbol, SymbolKind, SymbolPlace, check_tables, may_define,
};
pub use error::{Error, Result};
pub use limits::Limits;
pub use loadable::{is_relocatable, loadable};
pub use metadata::{
    Access, AddressSpace, Argument, KernelMetadata, Metadata, MetadataError, Value, ValueKind,
    assemble_metadata, disassemble_metadata,
};
pub use name::is_called;
pub use target::{Feature, Fit, Generation, PROCESSORS, Processor, ProcessorInfo, TargetId};
pub use unlink::{GotEntry, LeftOut, Unlinked, read_relocatable, unlink};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
