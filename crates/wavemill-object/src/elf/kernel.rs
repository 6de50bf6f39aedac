//! Kernels: descriptor, code and metadata together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::image::Segment;
use super::object_file::CodeObjectVersion;
use super::symbol::{Binding, Symbol, SymbolKind};
use crate::descriptor::KernelDescriptor;
use crate::metadata::{KernelMetadata, Metadata};

/// A kernel that can be launched.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Name without `.kd`, mangled for C++.
    pub name: String,
    /// Symbol of the descriptor.
    pub symbol: String,
    /// The descriptor.
    pub descriptor: KernelDescriptor,
    /// Address of the descriptor before loading: the dispatch packet names it.
    pub descriptor_address: u64,
    /// Address of the first instruction before loading.
    pub entry_address: u64,
    /// Size of the code in bytes, if a symbol states it.
    pub code_size: Option<u64>,
    /// Its metadata; hand-written code may have none.
    pub metadata: Option<Arc<KernelMetadata>>,
}

impl Kernel {
    /// The readable form of a mangled name.
    pub fn demangled_name(&self) -> Option<String> {
        crate::demangle(&self.name)
    }

    /// Types of the arguments that the caller passes, from a mangled C++ name. `None` if the name
    /// has no parameters, or if their number differs from the number of arguments in the metadata.
    pub fn parameter_types(&self) -> Option<Vec<String>> {
        let explicit = self.metadata.as_ref()?.args.iter().filter(|arg| !arg.is_hidden()).count();
        let types = crate::demangle::parameter_types(&self.demangled_name()?)?;
        (types.len() == explicit).then_some(types)
    }

    /// Whether the metadata lacks the name of an argument that the caller passes: debug information
    /// may have it ([`DebugInfo`](crate::DebugInfo)).
    pub fn lacks_names(&self) -> bool {
        let args = self.metadata.iter().flat_map(|metadata| &metadata.args);
        args.filter(|arg| !arg.is_hidden()).any(|arg| arg.name.is_none())
    }

    /// Size of the kernel arguments in bytes: from the descriptor if it states it, otherwise from
    /// the metadata.
    pub fn kernarg_size(&self) -> u32 {
        match self.descriptor.kernarg_size {
            0 => self.metadata.as_ref().and_then(|data| data.kernarg_segment_size).unwrap_or(0),
            size => size,
        }
    }

    /// Whether the kernel may need scratch memory beyond the fixed size.
    pub fn uses_dynamic_stack(&self) -> bool {
        self.descriptor.properties.uses_dynamic_stack()
            || self.metadata.as_ref().is_some_and(|data| data.uses_dynamic_stack)
    }
}

/// Finds the kernels of a code object. An invalid kernel does not hide the others: it is reported
/// in `problems`.
pub(super) fn find(
    version: CodeObjectVersion,
    segments: &[Segment<'_>],
    symbols: &[Symbol<'_>],
    metadata: &Metadata,
    problems: &mut Vec<String>,
) -> Vec<Kernel> {
    let mut finder = Finder::new(segments, symbols);
    let mut kernels = Vec::new();
    let mut seen = HashSet::new();
    let legacy = version == CodeObjectVersion::V2;
    for data in &metadata.kernels {
        // v2 metadata calls the symbol `NAME@kd`, but the symbol table has NAME.
        let symbol = if legacy { &data.name } else { &data.symbol };
        if !seen.insert(symbol.as_str()) {
            problems.push(format!("the metadata lists kernel `{symbol}` more than once"));
            continue;
        }
        match finder.kernel(symbol, Some(data.clone())) {
            Ok(kernel) => kernels.push(kernel),
            Err(problem) => problems.push(problem),
        }
    }
    let wanted = if legacy { SymbolKind::LegacyKernel } else { SymbolKind::Descriptor };
    for symbol in symbols.iter().filter(|symbol| symbol.kind == wanted && symbol.is_defined()) {
        if seen.insert(symbol.name.as_ref()) {
            match finder.kernel(&symbol.name, None) {
                Ok(kernel) => kernels.push(kernel),
                Err(problem) => problems.push(problem),
            }
        }
    }
    kernels
}

struct Finder<'a> {
    segments: &'a [Segment<'a>],
    by_name: HashMap<&'a str, &'a Symbol<'a>>,
    /// Size of the function at an address.
    functions: HashMap<u64, u64>,
}

impl<'a> Finder<'a> {
    fn new(segments: &'a [Segment<'a>], symbols: &'a [Symbol<'a>]) -> Self {
        let mut by_name: HashMap<&str, &Symbol<'_>> = HashMap::new();
        let mut functions = HashMap::new();
        for symbol in symbols.iter().filter(|symbol| symbol.is_defined()) {
            // A local symbol may share the name of a global one.
            let slot = by_name.entry(&symbol.name).or_insert(symbol);
            if slot.binding == Binding::Local {
                *slot = symbol;
            }
            if symbol.kind == SymbolKind::Function {
                let size = functions.entry(symbol.address).or_insert(symbol.size);
                *size = (*size).max(symbol.size);
            }
        }
        Finder { segments, by_name, functions }
    }

    fn kernel(&mut self, name: &str, metadata: Option<Arc<KernelMetadata>>) -> Result<Kernel, String> {
        let Some(symbol) = self.by_name.get(name) else {
            return Err(format!("the metadata names the kernel `{name}`, which no symbol defines"));
        };
        let legacy = symbol.kind == SymbolKind::LegacyKernel;
        let size = if legacy { KernelDescriptor::LEGACY_SIZE } else { KernelDescriptor::SIZE };
        let Some(bytes) = read(self.segments, symbol.address, size) else {
            return Err(format!(
                "the descriptor of kernel `{name}` at address {:#x} is outside of the file's segments",
                symbol.address
            ));
        };
        let descriptor = if legacy {
            KernelDescriptor::from_legacy_bytes(bytes).map_err(|error| format!("kernel `{name}`: {error}"))?
        } else {
            let bytes =
                <&[u8; 64]>::try_from(bytes).map_err(|_| format!("the descriptor `{name}` is cut short"))?;
            KernelDescriptor::from_bytes(bytes)
        };
        let entry_address = symbol.address.wrapping_add_signed(descriptor.entry_offset);
        if !Segment::holding(self.segments, entry_address, 4).is_some_and(|segment| segment.executable) {
            return Err(format!(
                "the code of kernel `{name}` at address {entry_address:#x} is outside of the executable segments"
            ));
        }
        let code_size = match legacy {
            true => symbol.size.checked_sub(descriptor.entry_offset as u64),
            false => self.functions.get(&entry_address).copied(),
        };
        Ok(Kernel {
            name: name.strip_suffix(".kd").unwrap_or(name).to_owned(),
            symbol: name.to_owned(),
            descriptor,
            descriptor_address: symbol.address,
            entry_address,
            code_size: code_size.filter(|&size| size != 0),
            metadata,
        })
    }
}

/// The bytes of the file for `address..address + size`.
pub(super) fn read<'a>(segments: &[Segment<'a>], address: u64, size: u64) -> Option<&'a [u8]> {
    let segment = Segment::holding(segments, address, size)?;
    let start = usize::try_from(address - segment.address).ok()?;
    segment.contents.get(start..)?.get(..usize::try_from(size).ok()?)
}
