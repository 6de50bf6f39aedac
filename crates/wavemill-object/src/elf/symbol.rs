//! Symbols: functions, kernel descriptors and variables of a code object.

use std::borrow::Cow;

use object::elf::{self, Sym64};
use object::read::elf::SymbolTable;

use super::{Header, LE, name};
use crate::error::Result;

/// Symbol type of a kernel in code object v2 (`STT_AMDGPU_HSA_KERNEL`).
pub(crate) const STT_AMDGPU_HSA_KERNEL: u8 = 10;
/// Section index of variables in local memory (`SHN_AMDGPU_LDS`).
pub(crate) const SHN_AMDGPU_LDS: u16 = 0xff00;
pub(crate) const SHN_ABS: u16 = 0xfff1;
pub(crate) const SHN_COMMON: u16 = 0xfff2;

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable.
    Variable,
    /// The 64-byte descriptor of a kernel, `NAME.kd`.
    Descriptor,
    /// A kernel of code object v2: an `amd_kernel_code_t` followed by its code.
    LegacyKernel,
    /// None of these: a section, a file name, a number recorded by the compiler.
    Other,
}

/// Where a symbol is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolPlace {
    /// At an address of the code object.
    Address,
    /// In local memory: the address is the required alignment, not a location.
    LocalMemory,
    /// The value is a number, not an address.
    Absolute,
    /// In another code object or in the host program.
    Undefined,
}

/// The visibility of a symbol to other modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// This code object only.
    Local,
    /// All modules.
    Global,
    /// All modules, unless another module defines the symbol; 0 if no module does.
    Weak,
}

/// A symbol of a code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Name as in the file; bytes that are not UTF-8 are replaced.
    pub name: Cow<'a, str>,
    /// Address before loading, or the value of an absolute symbol.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
    /// Where it is defined.
    pub place: SymbolPlace,
    /// The modules that see it.
    pub binding: Binding,
}

impl<'a> Symbol<'a> {
    /// Decodes one entry of a symbol table; a name out of range reads as empty.
    pub(super) fn from_entry(
        entry: &'a Sym64<object::LittleEndian>,
        table: &SymbolTable<'a, Header>,
    ) -> Result<Self> {
        let name = name(table.symbol_name(LE, entry).unwrap_or_default(), "name of a symbol")?;
        let place = match entry.st_shndx.get(LE).0 {
            0 => SymbolPlace::Undefined,
            SHN_ABS => SymbolPlace::Absolute,
            SHN_AMDGPU_LDS => SymbolPlace::LocalMemory,
            SHN_COMMON => SymbolPlace::Undefined,
            _ => SymbolPlace::Address,
        };
        let kind = match entry.st_type().0 {
            2 => SymbolKind::Function,
            1 if name.ends_with(".kd") && entry.st_size.get(LE) == 64 => SymbolKind::Descriptor,
            1 => SymbolKind::Variable,
            STT_AMDGPU_HSA_KERNEL => SymbolKind::LegacyKernel,
            _ => SymbolKind::Other,
        };
        let binding = match entry.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let (address, size) = (entry.st_value.get(LE), entry.st_size.get(LE));
        Ok(Symbol { name, address, size, kind, place, binding })
    }

    /// Whether the symbol is at an address of the code object.
    pub fn is_defined(&self) -> bool {
        self.place == SymbolPlace::Address
    }
}
