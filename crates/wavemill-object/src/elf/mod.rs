//! Code objects: the ELF files that AMD GPUs load (AMDGPUUsage, "ELF Code Object").

mod image;
mod kernel;
mod note;
mod object_file;
mod relocation;
mod section;
mod symbol;

pub use image::{Image, Segment};
pub use kernel::Kernel;
pub(crate) use object_file::is_gpu_elf;
pub use object_file::{CodeObject, CodeObjectVersion};
pub use relocation::{Relocation, RelocationKind, RelocationSymbol};
pub use section::Section;
pub use symbol::{Binding, Symbol, SymbolKind, SymbolPlace};

use crate::error::Error;

/// The ELF structures of a code object: 64 bits, little-endian, read at any alignment.
type Header = object::elf::FileHeader64<object::LittleEndian>;

/// The one byte order of code objects.
const LE: object::LittleEndian = object::LittleEndian;

/// Adds to an error of the ELF reader what was being read and where.
fn elf_error(what: &'static str, offset: u64) -> impl Fn(object::read::Error) -> Error {
    move |source| Error::malformed(what, offset, source.to_string())
}
