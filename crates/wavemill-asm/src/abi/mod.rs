//! What the assembler and the writer of sources ask of the convention by which kernels are described: they know nothing else
//! of descriptors. Each convention is a file here, which implements [`KernelAbi`].

mod amdhsa;

use std::fmt::Debug;

use wavemill_object::write::Module;
use wavemill_object::{CodeObjectVersion, MetadataError, RelocationKind, TargetId};

pub(crate) use amdhsa::Amdhsa;

/// All conventions. The directive of the first one names the target of sources that have none yet.
pub(crate) const ALL: [&dyn KernelAbi; 1] = [&Amdhsa];

/// The directives by which a source describes its target and its kernels.
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
    /// What all directives within the block begin with.
    pub(crate) setting_prefix: &'static str,
    /// Begins metadata.
    pub(crate) metadata: &'static str,
    /// Ends it.
    pub(crate) end_metadata: &'static str,
}

impl Directives {
    /// All of them, but for those within the block of a kernel.
    pub(crate) fn names(&self) -> [&'static str; 6] {
        [self.target, self.version, self.kernel, self.end_kernel, self.metadata, self.end_metadata]
    }
}

/// Whether some convention has this directive.
pub(crate) fn is_directive(name: &str) -> bool {
    ALL.iter().any(|abi| abi.directives().names().contains(&name) || abi.setting(name).is_some())
}

/// The field of a descriptor that leads to the code of its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeField {
    /// Where it is, in bytes from the start of the descriptor.
    pub(crate) offset: u64,
    /// The relocation that fills it in.
    pub(crate) kind: RelocationKind,
    pub(crate) addend: i64,
}

/// Why values make no descriptor.
#[derive(Debug)]
pub(crate) struct DescriptorProblem {
    pub(crate) message: String,
    /// The setting that is missing, if that is why.
    pub(crate) missing: Option<&'static str>,
}

/// A descriptor that is being made.
pub(crate) trait DescriptorMaker {
    /// Gives a setting its value.
    ///
    /// # Errors
    /// What is wrong with the setting or the value.
    fn set(&mut self, name: &str, value: i64) -> Result<(), String>;

    /// The bytes, without the field that leads to the code.
    ///
    /// # Errors
    /// Settings that are missing, and those that contradict one another.
    fn finish(&self) -> Result<Vec<u8>, Vec<DescriptorProblem>>;
}

/// Kernels of an old format, whose code begins with what describes it.
#[derive(Debug)]
pub(crate) struct LegacyKernel {
    /// Bytes in front of the code.
    pub(crate) size: u64,
    /// What a source says of such a kernel.
    pub(crate) remark: &'static str,
}

/// A convention by which kernels are described.
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

    /// The number of a version; the least one where sources cannot ask for it.
    ///
    /// # Errors
    /// That least number.
    fn version_number(&self, version: CodeObjectVersion) -> Result<u32, u32>;

    /// The directive within the block of a kernel that has this name.
    fn setting(&self, name: &str) -> Option<&'static str>;

    /// The names of all of these.
    fn settings(&self) -> Vec<&'static str>;

    /// Bytes of a descriptor, and its alignment.
    fn descriptor_size(&self) -> u64;

    /// The field that leads to the code.
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

    /// The settings that a descriptor is made from, each as a line of its block, without those that hold anyway.
    ///
    /// # Errors
    /// Why no settings make it.
    fn express(&self, bytes: &[u8], id: &TargetId) -> Result<Vec<String>, String>;

    /// The distance from a linked descriptor to its code.
    fn code_distance(&self, bytes: &[u8]) -> Option<i64>;

    /// Kernels of an old format.
    fn legacy_kernel(&self) -> &'static LegacyKernel;

    /// The note that the text of metadata stands for.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn assemble_metadata(&self, text: &str) -> Result<Vec<u8>, MetadataError>;

    /// Puts the note into a module.
    ///
    /// # Errors
    /// Why it does not fit.
    fn add_metadata(&self, module: &mut Module, note: &[u8]) -> Result<(), String>;

    /// The text of a note; `None` if none stands for exactly these bytes.
    fn disassemble_metadata(&self, note: &[u8]) -> Option<String>;
}
