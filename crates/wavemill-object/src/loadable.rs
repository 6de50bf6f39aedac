//! Links relocatable files, so that they can be loaded.

use std::borrow::Cow;

use object::elf::{ELFCLASS64, ET_REL};

use crate::Limits;
use crate::bytes;
use crate::elf::is_gpu_elf;
use crate::error::{Error, Result};
use crate::unlink::read_relocatable;
use crate::write::{LinkOptions, Undefined, link_with};

/// Size that any file may be linked to, however small it is, in bytes.
const ALWAYS: u64 = 1 << 20;

/// Size of a linked file in proportion to the sections of the relocatable file. The linker adds
/// tables and padding.
const EXPANSION: u64 = 4;

/// Whether `data` is a relocatable file for AMD GPUs: the 64-bit output of a compiler or assembler
/// (`-c`, `llc -filetype=obj`) that has not been linked.
#[must_use]
pub fn is_relocatable(data: &[u8]) -> bool {
    is_gpu_elf(data)
        && data.get(4) == Some(&ELFCLASS64.0)
        && bytes::u16(data, 16, "ELF header").is_ok_and(|kind| kind == ET_REL.0)
}

/// The code object that a loader needs: the file itself or, for a relocatable file, what
/// `ld.lld -shared --no-undefined -Bsymbolic` makes of it. Debug information is included.
///
/// # Errors
/// [`Error::Unlinkable`] if the file needs symbols of other files, or cannot be linked for another
/// reason; the errors of [`read_relocatable`].
pub fn loadable<'a>(data: impl Into<Cow<'a, [u8]>>, limits: &Limits) -> Result<Cow<'a, [u8]>> {
    let data = data.into();
    if !is_relocatable(&data) {
        return Ok(data);
    }
    let module = read_relocatable(&data, limits)?;
    let size: u64 = module.sections.iter().map(|section| section.contents.size_in_file()).sum();
    let max_size = size.saturating_mul(EXPANSION).saturating_add(ALWAYS);
    // Nothing else is loaded with it, so nothing can replace its definitions.
    let options = LinkOptions { undefined: Undefined::Refuse, symbolic: true, max_size };
    match link_with(&module, &options) {
        Ok(linked) => Ok(Cow::Owned(linked)),
        Err(error) => Err(Error::Unlinkable(Box::new(error))),
    }
}
