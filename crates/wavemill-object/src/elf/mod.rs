//! Code objects: the ELF files that AMD GPUs load (AMDGPUUsage, "ELF Code Object").

mod image;
mod kernel;
mod names;
mod note;
mod object_file;
mod relocation;
mod section;
mod symbol;

pub use image::{Image, Segment};
pub use kernel::Kernel;
pub use names::may_define;
pub(crate) use note::METADATA as NT_AMDGPU_METADATA;
pub use object_file::{CodeObject, CodeObjectVersion, check_tables};
pub(crate) use object_file::{is_gpu_elf, version_and_target};
pub use relocation::{Relocation, RelocationKind, RelocationSymbol};
pub use section::Section;
pub use symbol::{Binding, Symbol, SymbolKind, SymbolPlace};
pub(crate) use symbol::{SHN_ABS, SHN_AMDGPU_LDS, SHN_COMMON, STT_AMDGPU_HSA_KERNEL};

use std::borrow::Cow;

use crate::error::{Error, Result};

/// The ELF structures of a code object: 64 bits, little-endian, read at any alignment.
pub(crate) type Header = object::elf::FileHeader64<object::LittleEndian>;

/// The one byte order of code objects.
pub(crate) const LE: object::LittleEndian = object::LittleEndian;

/// Longest name of a symbol or section that is read, in bytes; names of C++ templates in shipped
/// libraries reach a few kilobytes.
const LONGEST_NAME: usize = 64 << 10;

/// A name from a string table; bytes that are not UTF-8 are replaced.
///
/// Without a bound, many names that overlap in one table would need memory out of proportion to the
/// size of the file.
pub(crate) fn name<'a>(bytes: &'a [u8], what: &'static str) -> Result<Cow<'a, str>> {
    if bytes.len() > LONGEST_NAME {
        let size = bytes.len() as u64;
        return Err(Error::TooLarge { what, size, limit: LONGEST_NAME as u64 });
    }
    Ok(String::from_utf8_lossy(bytes))
}

/// A budget for the total length of names. Names share their tails in string tables, so a short
/// table can hold many long names.
/// many long names.
#[derive(Debug)]
pub(crate) struct NameBudget(u64);

impl NameBudget {
    /// A budget in proportion to the file. Linkers share the tails of few names.
    pub(crate) fn new(data: &[u8]) -> Self {
        NameBudget(4 * data.len() as u64)
    }

    pub(crate) fn spend(&mut self, offset: u64, name: &str) -> Result<()> {
        let left = self.0.checked_sub(name.len() as u64);
        self.0 = left.ok_or_else(|| {
            Error::malformed("names", offset, "they are four times as large as the file; it is damaged")
        })?;
        Ok(())
    }
}

/// Adds the structure and its offset to an error of the ELF reader.
pub(crate) fn elf_error(what: &'static str, offset: u64) -> impl Fn(object::read::Error) -> Error {
    move |source| Error::malformed(what, offset, source.to_string())
}
