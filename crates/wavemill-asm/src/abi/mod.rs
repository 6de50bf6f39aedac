//! The interface between the assembler, the writer of sources and the convention that describes
//! kernels. They know nothing else about descriptors. Each file here has one convention, which
//! implements [`KernelAbi`].

mod amdhsa;

use std::fmt::Debug;

use wavemill_object::write::Module;
use wavemill_object::{CodeObjectVersion, MetadataError, RelocationKind, TargetId};

pub(crate) use amdhsa::Amdhsa;

/// All conventions. Sources without a target name theirs with the directive of the first
/// convention.
pub(crate) const ALL: [&dyn KernelAbi; 1] = [&Amdhsa];

/// The directives that describe the target and the kernels of a source.
#[derive(Debug)]
pub(crate) struct Directives {
    /// Names the target.
    pub(crate) target: &'static str,
    /// Gives the version of the format.
    pub(crate) version: &'static str,
    /// Begins the block of a kernel.
    pub(crate) kernel: &'static str,
    /// Ends it.
    pub(crate) end_kernel: &'static str,
    /// The prefix of all directives within the block.
    pub(crate) setting_prefix: &'static str,
    /// Begins metadata.
    pub(crate) metadata: &'static str,
    /// Ends it.
    pub(crate) end_metadata: &'static str,
}

impl Directives {
    /// All directives except those within the block of a kernel.
    pub(crate) fn names(&self) -> [&'static str; 6] {
        [self.target, self.version, self.kernel, self.end_kernel, self.metadata, self.end_metadata]
    }
}

/// Whether some convention has this directive.
pub(crate) fn is_directive(name: &str) -> bool {
    ALL.iter().any(|abi| abi.directives().names().contains(&name) || abi.setting(name).is_some())
}

/// The field of a descriptor that refers to the code of its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeField {
    /// Its offset in the descriptor, in bytes.
    pub(crate) offset: u64,
    /// The relocation that fills it in.
    pub(crate) kind: RelocationKind,
    pub(crate) addend: i64,
}

/// Why values do not make a descriptor.
#[derive(Debug)]
pub(crate) struct DescriptorProblem {
    pub(crate) message: String,
    /// The missing setting, if that is the reason.
    pub(crate) missing: Option<&'static str>,
}

/// A descriptor under construction.
pub(crate) trait DescriptorMaker {
    /// Sets a setting.
    ///
    /// # Errors
    /// The error in the setting or the value.
    fn set(&mut self, name: &str, value: i64) -> Result<(), String>;

    /// The bytes, without the field that refers to the code.
    ///
    /// # Errors
    /// Missing and contradictory settings.
    fn finish(&self) -> Result<Vec<u8>, Vec<DescriptorProblem>>;
}

/// Kernels of an old format, whose code begins with a header.
#[derive(Debug)]
pub(crate) struct LegacyKernel {
    /// The size of the header in bytes.
    pub(crate) size: u64,
    /// The remark on such a kernel in a written source.
    pub(crate) remark: &'static str,
}

/// A convention for describing kernels.
pub(crate) trait KernelAbi: Debug + Sync {
    /// Its directives.
    fn directives(&self) -> &'static Directives;

    /// A target as a source names it, for messages.
    fn example_target(&self) -> &'static str;

    /// A target as a source names it.
    fn target_text(&self, id: &TargetId) -> String;

    /// The version of the format with this number.
    fn version(&self, number: i64) -> Option<CodeObjectVersion>;

    /// The numbers of versions, for messages.
    fn version_numbers(&self) -> &'static str;

    /// The number of a version. An error if sources cannot request the version.
    ///
    /// # Errors
    /// The lowest number that sources can request.
    fn version_number(&self, version: CodeObjectVersion) -> Result<u32, u32>;

    /// The directive with this name within the block of a kernel.
    fn setting(&self, name: &str) -> Option<&'static str>;

    /// The names of all such directives.
    fn settings(&self) -> Vec<&'static str>;

    /// The size of a descriptor in bytes, which is also its alignment.
    fn descriptor_size(&self) -> u64;

    /// The field that refers to the code.
    fn code_field(&self) -> CodeField;

    /// The symbol of the descriptor of a kernel.
    fn descriptor_symbol(&self, kernel: &str) -> String;

    /// The kernel whose descriptor has this symbol.
    fn kernel_of<'a>(&self, symbol: &'a str) -> Option<&'a str>;

    /// Begins a descriptor.
    ///
    /// # Errors
    /// There are no descriptors for the target.
    fn describe(&self, id: &TargetId) -> Result<Box<dyn DescriptorMaker>, String>;

    /// The settings that make a descriptor, each as a line of its block. Defaults are omitted.
    ///
    /// # Errors
    /// Why no settings make it.
    fn express(&self, bytes: &[u8], id: &TargetId) -> Result<Vec<String>, String>;

    /// The distance from a linked descriptor to its code.
    fn code_distance(&self, bytes: &[u8]) -> Option<i64>;

    /// Kernels of an old format.
    fn legacy_kernel(&self) -> &'static LegacyKernel;

    /// The note for the text of metadata.
    ///
    /// # Errors
    /// The error in the text.
    fn assemble_metadata(&self, text: &str) -> Result<Vec<u8>, MetadataError>;

    /// Adds the note to a module.
    ///
    /// # Errors
    /// Why it does not fit.
    fn add_metadata(&self, module: &mut Module, note: &[u8]) -> Result<(), String>;

    /// The text of a note; `None` if no text gives exactly these bytes.
    fn disassemble_metadata(&self, note: &[u8]) -> Option<String>;
}
