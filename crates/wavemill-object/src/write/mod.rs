//! Writes code objects without LLVM: relocatable ELF files and loadable code objects.
//!
//! A [`Module`] is the output of an assembler: sections with their bytes, symbols, relocations.
//! [`write_relocatable`] writes the file that `llvm-mc -filetype=obj` writes. [`link()`] writes the
//! file that `ld.lld -shared` makes from it, with the same sections at the same addresses.
//!
//! Builds a kernel from its machine words:
//!
//! ```
//! use wavemill_object::write::{Module, Section, SectionFlags, Symbol, SymbolType, Visibility, link};
//! use wavemill_object::{Binding, CodeObject, CodeObjectVersion, DescriptorBuilder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut module = Module::new("gfx906".parse()?, CodeObjectVersion::V5);
//!
//! // s_endpgm
//! let code: Vec<u8> = [0xbf81_0000_u32].iter().flat_map(|word| word.to_le_bytes()).collect();
//! let size = code.len() as u64;
//! let text = module.add_section(Section::new(".text", SectionFlags::ALLOC | SectionFlags::EXECUTE, 256, code));
//! let nothing = module.add_symbol(Symbol {
//!     size,
//!     kind: SymbolType::Function,
//!     binding: Binding::Global,
//!     visibility: Visibility::Protected,
//!     ..Symbol::in_section("nothing", text, 0)
//! });
//!
//! let mut descriptor = DescriptorBuilder::new(&module.target)?;
//! descriptor.set(".amdhsa_next_free_vgpr", 1)?;
//! descriptor.set(".amdhsa_next_free_sgpr", 1)?;
//! let bytes = descriptor.finish().map_err(|errors| errors[0].clone())?;
//! let rodata = module.add_section(Section::new(".rodata", SectionFlags::ALLOC, 64, Vec::new()));
//! module.add_descriptor(rodata, nothing, bytes)?;
//!
//! let file = link(&module)?;
//! let object = CodeObject::parse(&file)?;
//! assert_eq!(object.kernels()[0].name, "nothing");
//! # Ok(())
//! # }
//! ```

mod check;
mod link;
mod module;
mod relocatable;
mod strings;

pub use check::{MAX_ALIGN, WriteError};
pub(crate) use link::Listed;
pub use link::{LinkError, LinkOptions, LinkProblem, Undefined, link, link_with};
pub use module::{
    Contents, Definition, Group, GroupId, Module, Place, Relocation, Section, SectionFlags, SectionId,
    SectionType, Symbol, SymbolId, SymbolType, Visibility,
};
pub use relocatable::write_relocatable;

use crate::elf::CodeObjectVersion;

/// The AMD HSA platform (AMDGPUUsage, "ELF Header").
const ELFOSABI_AMDGPU_HSA: object::elf::OsAbi = object::elf::OsAbi(64);

/// The encoder of ELF structures.
type Encoder = object::write::elf::Encoder<object::LittleEndian>;

fn encoder() -> Encoder {
    Encoder::new(object::LittleEndian, true, object::elf::EM_AMDGPU)
}

/// The number of a version in the file header.
fn abi_version(version: CodeObjectVersion) -> Result<u8, WriteError> {
    match version {
        CodeObjectVersion::V4 => Ok(2),
        CodeObjectVersion::V5 => Ok(3),
        CodeObjectVersion::V6 => Ok(4),
        CodeObjectVersion::V2 | CodeObjectVersion::V3 => {
            Err(WriteError::Version { version: version.to_string() })
        }
    }
}

/// The first bytes of the file, which point to the rest.
fn file_header(
    module: &Module,
    kind: object::elf::FileType,
    layout: &object::write::elf::FileHeaderLayout,
) -> Result<Vec<u8>, WriteError> {
    let header = object::write::elf::FileHeader {
        os_abi: ELFOSABI_AMDGPU_HSA,
        abi_version: abi_version(module.version)?,
        e_type: kind,
        e_machine: object::elf::EM_AMDGPU,
        e_entry: 0,
        e_flags: object::elf::FileFlags(module.flags()?),
    };
    let mut bytes = Vec::new();
    encoder()
        .file_header(&mut bytes, &header, layout)
        .map_err(|error| WriteError::TooLarge { what: error.to_string() })?;
    Ok(bytes)
}
