//! Reports of a file's contents for people: the output of `wavemill info`.
//!
//! The structures hold plain texts and numbers. With the feature `serde`, they can be serialised.
//! [`FileReport`] prints itself as text.

mod text;

use std::collections::HashMap;

use crate::container::{Bundle, BundleFormat, Container, ContainerKind, Entry, OpenBundle};
use crate::debug::DebugInfo;
use crate::elf::{CodeObject, Kernel, Segment, Symbol, SymbolPlace};
use crate::error::{Error, Result};
use crate::metadata::Argument;
use crate::name::Wanted;
use crate::target::TargetId;
use crate::{Limits, ValueKind, demangle, is_relocatable, loadable};

/// Selects the part of a file to report.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only code that runs on this target.
    pub target: Option<TargetId>,
    /// Only kernels whose name, mangled or not, contains this text, or which this text can stand
    /// for ([`name`](crate::name)).
    pub kernel: Option<String>,
    /// Reads the code of kernels; without it, reports do not describe code.
    pub read_code: Option<ReadCode>,
}

/// Reads machine code for a target: this crate knows no instruction set. Returns `None` if the
/// target is unknown.
pub type ReadCode = fn(&TargetId, &[u8]) -> Option<CodeReport>;

/// Facts from the instructions of a kernel. If the kernel calls functions, they include those of
/// all functions of the code object: the callees are not known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CodeReport {
    /// Instructions.
    pub instructions: u64,
    /// Instructions that call functions.
    pub calls: u64,
    /// Instructions that access local memory by its own addresses. Flat instructions may access it,
    /// too.
    pub lds_instructions: u64,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FileReport {
    /// A description: "a code object", "an offload bundle", "a 64-bit ELF file for x86-64".
    pub description: String,
    /// The bundles in it.
    pub bundles: Vec<BundleReport>,
}

/// An offload bundle, or a bare code object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BundleReport {
    /// Offset of its start in the file, in bytes.
    pub offset: u64,
    /// Its size in the file, in bytes.
    pub size: u64,
    /// Section of the host file.
    pub section: Option<String>,
    /// `none`, `zstd` or `zlib`; `None` for a bare code object.
    pub compression: Option<String>,
    /// Decompressed size in bytes.
    pub uncompressed_size: Option<u64>,
    /// Whether the contents match the checksum in the header; `None` if there is no checksum.
    pub checksum_matches: Option<bool>,
    /// Its entries.
    pub entries: Vec<EntryReport>,
    /// Why the entries could not be read.
    pub error: Option<String>,
    /// The field of [`Limits`] to raise and the size that it needs, if a limit is the reason.
    pub over_limit: Option<(&'static str, u64)>,
}

/// An entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EntryReport {
    /// Its id; for a bare code object, its target.
    pub id: String,
    /// Its size in bytes.
    pub size: u64,
    /// Rows of the bundle's table that repeat this one: same id, same offset and size. No compiler
    /// writes such rows.
    pub repeated: usize,
    /// The code object, unless the entry holds none, was filtered out, or shares its bytes with an
    /// earlier entry.
    pub object: Option<ObjectReport>,
    /// The number of the earlier entry, counted from 0, that has the same bytes of the bundle, and
    /// therefore the same code. Several targets may share code.
    pub same_as: Option<usize>,
    /// Why the code object could not be read.
    pub error: Option<String>,
}

/// A code object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ObjectReport {
    /// Processor and target features: `gfx90a:xnack-`.
    pub target: String,
    /// Target as the metadata spells it.
    pub metadata_target: Option<String>,
    /// `v2` to `v6`.
    pub version: String,
    /// Version of a generic processor.
    pub generic_version: Option<u8>,
    /// `e_flags` of the ELF header.
    pub flags: u32,
    /// Whether the file is relocatable. Addresses are those that linking gives.
    pub relocatable: bool,
    /// Kernels.
    pub kernels: Vec<KernelReport>,
    /// Number of kernels before filtering.
    pub kernel_count: usize,
    /// Number of functions that are not kernels.
    pub function_count: usize,
    /// Variables.
    pub globals: Vec<GlobalReport>,
    /// Number of relocations.
    pub relocation_count: usize,
    /// Formats of OpenCL printf.
    pub printf: Vec<String>,
    /// Problems that do not prevent the use of the rest.
    pub problems: Vec<String>,
}

/// A kernel. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelReport {
    /// Name in the symbol table.
    pub name: String,
    /// Readable name of a mangled one.
    pub demangled: Option<String>,
    /// Source language.
    pub language: Option<String>,
    /// Address of the first instruction, before loading.
    pub entry_address: u64,
    /// Size of the code in bytes.
    pub code_size: Option<u64>,
    /// Arguments that the caller passes.
    pub arguments: Vec<ArgumentReport>,
    /// Arguments that the launcher fills in.
    pub hidden_arguments: Vec<ArgumentReport>,
    /// Whether metadata describes the arguments.
    pub arguments_known: bool,
    /// Size of all arguments in bytes.
    pub kernarg_size: u32,
    /// Number of 32-bit words of the arguments that arrive in registers.
    pub kernarg_preload_words: u32,
    /// The first of these words in the kernarg segment.
    pub kernarg_preload_offset: u32,
    /// Vector registers used, accumulation registers included on MI200 and later.
    pub vgprs: Option<u32>,
    /// Accumulation registers used.
    pub agprs: Option<u32>,
    /// Scalar registers used.
    pub sgprs: Option<u32>,
    /// Vector registers allocated.
    pub vgprs_allocated: Option<u32>,
    /// Scalar registers allocated.
    pub sgprs_allocated: Option<u32>,
    /// First accumulation register in the vector register file.
    pub accum_offset: Option<u32>,
    /// Vector registers spilled to memory.
    pub vgpr_spills: Option<u32>,
    /// Scalar registers spilled.
    pub sgpr_spills: Option<u32>,
    /// Local memory per workgroup, without dynamic local memory.
    pub lds: u32,
    /// Whether the kernel uses local memory of a size given at launch, according to metadata: it
    /// has an argument in local memory, or the launcher passes the size.
    pub dynamic_lds: bool,
    /// Facts from the code, if a reader was given.
    pub code: Option<CodeReport>,
    /// Scratch memory per work-item.
    pub scratch: u32,
    /// Whether the kernel may need more scratch memory than that.
    pub dynamic_stack: bool,
    /// Lanes per wave.
    pub wavefront_size: u32,
    /// Largest number of work-items in a workgroup.
    pub max_workgroup_size: Option<u32>,
    /// The only workgroup size allowed.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Every workgroup must be whole.
    pub uniform_workgroups: bool,
}

/// A kernel argument.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ArgumentReport {
    /// Its offset in the kernarg segment, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// How it is passed: `by_value`, `global_buffer`.
    pub kind: String,
    /// Its type, if known.
    pub type_name: Option<String>,
    /// Its name, if known.
    pub name: Option<String>,
    /// Address space, access, `const`, `restrict`, `volatile`, `pipe`.
    pub qualifiers: Vec<String>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GlobalReport {
    /// Name in the symbol table.
    pub name: String,
    /// Readable name of a mangled one.
    pub demangled: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Address before loading, for a variable in global memory.
    pub address: Option<u64>,
    /// `constant`, `initialised`, `zero`, `local memory` or `defined elsewhere`.
    pub place: &'static str,
}

impl FileReport {
    /// Whether a bundle or an entry could not be read: the report states the reason.
    pub fn has_errors(&self) -> bool {
        let entry = |entry: &EntryReport| entry.error.is_some();
        self.bundles.iter().any(|bundle| bundle.error.is_some() || bundle.entries.iter().any(entry))
    }

    /// Whether it has a kernel that was not filtered out.
    pub fn has_kernels(&self) -> bool {
        self.kernels().next().is_some()
    }

    /// The kernels of all code objects that were not filtered out.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelReport> {
        let entries = self.bundles.iter().flat_map(|bundle| &bundle.entries);
        entries.filter_map(|entry| entry.object.as_ref()).flat_map(|object| &object.kernels)
    }

    /// Reports a file.
    ///
    /// # Errors
    /// Fails if the file holds no GPU code, or if its bundles cannot be found. An error in one
    /// bundle or entry is part of the report instead.
    pub fn new(data: &[u8], filter: &Filter, limits: &Limits) -> Result<Self> {
        let container = Container::parse(data)?;
        if *container.kind() == ContainerKind::CodeObject {
            // The file is a single code object: return its error.
            CodeObject::parse(&loadable(data, limits)?)?;
        }
        if let Some(target) = &filter.target {
            container.select(target, limits)?;
        }
        let description = match container.kind() {
            ContainerKind::CodeObject if is_relocatable(data) => "a relocatable file".to_owned(),
            ContainerKind::CodeObject => "a code object".to_owned(),
            ContainerKind::Bundle => match container.bundles().len() {
                1 => "an offload bundle".to_owned(),
                count => format!("{count} offload bundles"),
            },
            ContainerKind::Host { description } => description.clone(),
        };
        let bundles = container
            .open_all(limits)
            .map(|(bundle, opened)| BundleReport::new(bundle, &opened, filter, limits))
            .collect();
        Ok(FileReport { description, bundles })
    }
}

impl BundleReport {
    fn new(bundle: &Bundle<'_>, opened: &Result<OpenBundle<'_>>, filter: &Filter, limits: &Limits) -> Self {
        let (compression, uncompressed_size) = match bundle.format() {
            BundleFormat::CodeObject => (None, None),
            BundleFormat::Plain => (Some("none".to_owned()), None),
            BundleFormat::Compressed(header) => {
                (Some(header.method.to_string()), Some(header.uncompressed_size))
            }
        };
        let (entries, error) = match opened {
            Ok(open) => (EntryReport::all(open, filter, limits), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        BundleReport {
            offset: bundle.offset(),
            size: bundle.size(),
            section: bundle.section().map(str::to_owned),
            compression,
            uncompressed_size,
            checksum_matches: opened.as_ref().ok().and_then(OpenBundle::checksum_matches),
            entries,
            error,
            over_limit: opened.as_ref().err().and_then(Error::over_limit),
        }
    }
}

impl EntryReport {
    /// Reports the entries of a bundle. Reports each code object once, even if several entries
    /// share it.
    fn all(bundle: &OpenBundle<'_>, filter: &Filter, limits: &Limits) -> Vec<Self> {
        let mut reports: Vec<Self> = Vec::new();
        let mut rows: HashMap<(&str, u64, u64), usize> = HashMap::new();
        let mut places: HashMap<(u64, u64), usize> = HashMap::new();
        for entry in bundle.entries() {
            let row = rows.entry((&entry.id.text, entry.offset, entry.size)).or_insert(reports.len());
            if let Some(report) = reports.get_mut(*row) {
                report.repeated += 1;
                continue;
            }
            let place = (entry.offset, entry.size);
            let report = match places.get(&place) {
                Some(&first) => EntryReport::without_code(entry, Some(first)),
                None => EntryReport::new(bundle, entry, filter, limits),
            };
            if report.object.is_some() || report.error.is_some() {
                places.insert(place, reports.len());
            }
            reports.push(report);
        }
        reports
    }

    fn without_code(entry: &Entry, same_as: Option<usize>) -> Self {
        let id = entry.id.text.clone();
        EntryReport { id, size: entry.size, repeated: 0, object: None, same_as, error: None }
    }

    fn new(bundle: &OpenBundle<'_>, entry: &Entry, filter: &Filter, limits: &Limits) -> Self {
        let wanted =
            |target: &TargetId| filter.target.as_ref().is_none_or(|device| target.fit(device).is_some());
        let has_code = entry.size != 0 && entry.id.target.as_ref().is_some_and(wanted);
        let object = has_code.then(|| {
            let bytes = bundle.read(entry)?;
            let linked = loadable(bytes, limits)?;
            let report = ObjectReport::new(&CodeObject::parse(&linked)?, filter);
            Ok::<_, Error>(ObjectReport { relocatable: is_relocatable(bytes), ..report })
        });
        let (object, error) = match object {
            None => (None, None),
            Some(Ok(object)) => (Some(object), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        EntryReport { object, error, ..EntryReport::without_code(entry, None) }
    }
}

/// A text without blanks, because demanglers differ in them.
fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

impl CodeReport {
    /// Adds the facts from other code.
    fn add(&mut self, other: CodeReport) {
        self.instructions += other.instructions;
        self.calls += other.calls;
        self.lds_instructions += other.lds_instructions;
    }
}

impl Filter {
    /// Facts from the code of a kernel; `None` without a reader, or if its size is unknown.
    fn code(&self, object: &CodeObject<'_>, kernel: &KernelReport) -> Option<CodeReport> {
        let read = self.read_code?;
        let code = object.read(kernel.entry_address, kernel.code_size?)?;
        read(object.target(), code)
    }

    /// Facts from the code of all functions except kernels.
    fn functions(&self, object: &CodeObject<'_>) -> CodeReport {
        let mut all = CodeReport::default();
        let Some(read) = self.read_code else { return all };
        let kernels: std::collections::HashSet<_> =
            object.kernels().iter().map(|kernel| kernel.entry_address).collect();
        // A function may have several names.
        let functions: std::collections::BTreeMap<_, _> = object
            .functions()
            .filter(|symbol| !kernels.contains(&symbol.address))
            .map(|symbol| (symbol.address, symbol.size))
            .collect();
        let code = functions.into_iter().filter_map(|(address, size)| object.read(address, size));
        code.filter_map(|code| read(object.target(), code)).for_each(|one| all.add(one));
        all
    }
}

impl KernelReport {
    /// Whether the code accesses local memory although the code object declares none: its size is
    /// given at launch.
    #[must_use]
    pub fn has_lds_of_unknown_size(&self) -> bool {
        self.lds == 0 && self.code.as_ref().is_some_and(|code| code.lds_instructions > 0)
    }
}

impl ObjectReport {
    /// Reports a code object.
    pub fn new(object: &CodeObject<'_>, filter: &Filter) -> Self {
        let name = filter.kernel.as_deref().map(Wanted::new);
        let wanted = |kernel: &KernelReport| match (&filter.kernel, &name) {
            // Every name contains an empty text, but no name is empty.
            (Some(text), _) if text.trim().is_empty() => false,
            (Some(text), Some(name)) => {
                let full = kernel.demangled.as_ref();
                kernel.name.contains(text)
                    || full.is_some_and(|full| without_blanks(full).contains(&without_blanks(text)))
                    || name.can_mean(&kernel.name)
            }
            _ => true,
        };
        let kernels: Vec<_> = {
            let lacks_names = object.kernels().iter().any(Kernel::lacks_names);
            let debug = lacks_names.then(|| DebugInfo::of(object)).flatten();
            let report = |kernel| KernelReport::with_debug_info(object, kernel, debug.as_ref());
            let functions = std::cell::LazyCell::new(|| filter.functions(object));
            let with_code = |report: KernelReport| {
                let mut code = filter.code(object, &report);
                if let Some(code) = code.as_mut().filter(|code| code.calls > 0) {
                    code.add(functions.clone());
                }
                let mut report = KernelReport { code, ..report };
                report.dynamic_lds |= report.has_lds_of_unknown_size();
                report
            };
            object.kernels().iter().map(report).filter(wanted).map(with_code).collect()
        };
        let entries: std::collections::HashSet<_> =
            object.kernels().iter().map(|kernel| kernel.entry_address).collect();
        let metadata = object.metadata();
        ObjectReport {
            target: object.target().to_string(),
            metadata_target: metadata.and_then(|metadata| metadata.target.clone()),
            version: object.version().to_string(),
            generic_version: object.generic_version(),
            flags: object.flags(),
            relocatable: false,
            kernels,
            kernel_count: object.kernels().len(),
            function_count: object.functions().filter(|symbol| !entries.contains(&symbol.address)).count(),
            globals: object.globals().map(|symbol| GlobalReport::new(object, symbol)).collect(),
            relocation_count: object.relocations().len(),
            printf: metadata.map(|metadata| metadata.printf.clone()).unwrap_or_default(),
            problems: object.problems().to_vec(),
        }
    }
}

impl KernelReport {
    /// Reports a kernel of `object`.
    pub fn new(object: &CodeObject<'_>, kernel: &Kernel) -> Self {
        Self::with_debug_info(object, kernel, DebugInfo::of(object).as_ref())
    }

    /// Reports a kernel of `object`. Its debug information adds names and types that the metadata
    /// lacks.
    fn with_debug_info(object: &CodeObject<'_>, kernel: &Kernel, debug: Option<&DebugInfo>) -> Self {
        let metadata = kernel.metadata.as_deref();
        let descriptor = &kernel.descriptor;
        let registers = descriptor.registers(&object.target().processor);
        let args = metadata.map_or(&[][..], |metadata| &metadata.args);
        let hidden =
            |hidden| args.iter().filter(move |arg| arg.is_hidden() == hidden).map(ArgumentReport::new);
        let mut arguments: Vec<_> = hidden(false).collect();
        // HIP omits types from the metadata, but the mangled C++ name spells them.
        if let Some(types) = kernel.parameter_types() {
            for (argument, type_name) in arguments.iter_mut().zip(types) {
                argument.type_name.get_or_insert(type_name);
            }
        }
        let count = arguments.len();
        let named = debug.and_then(|debug| debug.parameters(kernel.entry_address, count)).unwrap_or_default();
        for (argument, known) in arguments.iter_mut().zip(named) {
            argument.name = argument.name.take().or_else(|| known.name.clone());
            argument.type_name = argument.type_name.take().or_else(|| known.type_name.clone());
        }
        KernelReport {
            name: kernel.name.clone(),
            demangled: kernel.demangled_name(),
            language: metadata.and_then(|metadata| {
                let language = metadata.language.clone()?;
                Some(match metadata.language_version {
                    Some([major, minor]) => format!("{language} {major}.{minor}"),
                    None => language,
                })
            }),
            entry_address: kernel.entry_address,
            code_size: kernel.code_size,
            arguments,
            hidden_arguments: hidden(true).collect(),
            arguments_known: metadata.is_some(),
            kernarg_size: kernel.kernarg_size(),
            kernarg_preload_words: descriptor.kernarg_preload.length(),
            kernarg_preload_offset: descriptor.kernarg_preload.offset(),
            vgprs: metadata.and_then(|metadata| metadata.vgpr_count),
            agprs: metadata.and_then(|metadata| metadata.agpr_count),
            sgprs: metadata.and_then(|metadata| metadata.sgpr_count),
            vgprs_allocated: registers.map(|registers| registers.vgprs),
            sgprs_allocated: registers.map(|registers| registers.sgprs),
            accum_offset: registers.and_then(|registers| registers.accum_offset),
            vgpr_spills: metadata.and_then(|metadata| metadata.vgpr_spill_count),
            sgpr_spills: metadata.and_then(|metadata| metadata.sgpr_spill_count),
            lds: descriptor.group_segment_fixed_size,
            // LLVM lists the hidden size only for kernels that use dynamic LDS.
            dynamic_lds: args.iter().any(|arg| {
                matches!(arg.value_kind, ValueKind::DynamicSharedPointer | ValueKind::HiddenDynamicLdsSize)
            }),
            code: None,
            scratch: descriptor.private_segment_fixed_size,
            dynamic_stack: kernel.uses_dynamic_stack(),
            wavefront_size: descriptor.wavefront_size(),
            max_workgroup_size: metadata.and_then(|metadata| metadata.max_flat_workgroup_size),
            required_workgroup_size: metadata.and_then(|metadata| metadata.reqd_workgroup_size),
            uniform_workgroups: metadata.is_some_and(|metadata| metadata.uniform_work_group_size),
        }
    }
}

impl ArgumentReport {
    fn new(arg: &Argument) -> Self {
        let mut qualifiers = Vec::new();
        qualifiers.extend(arg.address_space.as_ref().map(ToString::to_string));
        // The actual access of the code is more precise than the access that the source allows.
        qualifiers.extend(arg.actual_access.as_ref().or(arg.access.as_ref()).map(ToString::to_string));
        let flags = [
            (arg.is_const, "const"),
            (arg.is_restrict, "restrict"),
            (arg.is_volatile, "volatile"),
            (arg.is_pipe, "pipe"),
        ];
        qualifiers.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name.to_owned()));
        qualifiers.extend(arg.pointee_align.map(|align| format!("aligned to {align}")));
        ArgumentReport {
            offset: arg.offset,
            size: arg.size,
            kind: arg.value_kind.to_string(),
            type_name: arg.type_name.clone().or_else(|| arg.value_type.clone()),
            name: arg.name.clone(),
            qualifiers,
        }
    }
}

impl GlobalReport {
    fn new(object: &CodeObject<'_>, symbol: &Symbol<'_>) -> Self {
        let segment = Segment::holding(object.segments(), symbol.address, symbol.size);
        let place = match (symbol.place, segment) {
            (SymbolPlace::LocalMemory, _) => "local memory",
            (SymbolPlace::Undefined, _) => "defined elsewhere",
            (SymbolPlace::Absolute, _) => "absolute",
            (SymbolPlace::Address, Some(segment)) if !segment.writable => "constant",
            (SymbolPlace::Address, _) if object.read(symbol.address, symbol.size).is_some() => "initialised",
            (SymbolPlace::Address, Some(_)) => "zero",
            (SymbolPlace::Address, None) => "outside of the image",
        };
        GlobalReport {
            name: symbol.name.clone().into_owned(),
            demangled: demangle(&symbol.name),
            size: symbol.size,
            address: symbol.is_defined().then_some(symbol.address),
            place,
        }
    }
}
