//! Kernel descriptors and metadata of AMD's HSA ABI (AMDGPUUsage, "AMDHSA Kernel Directives" and "Kernel Descriptor").

use wavemill_object::write::Module;
use wavemill_object::{
    CodeObjectVersion, DescriptorBuilder, Directive, DirectiveError, KernelDescriptor, MetadataError,
    RelocationKind, TargetId, assemble_metadata, disassemble_metadata, express,
};

use super::{CodeField, DescriptorMaker, DescriptorProblem, Directives, KernelAbi, LegacyKernel};

/// AMD's HSA ABI.
#[derive(Debug)]
pub(crate) struct Amdhsa;

static DIRECTIVES: Directives = Directives {
    target: ".amdgcn_target",
    version: ".amdhsa_code_object_version",
    kernel: ".amdhsa_kernel",
    end_kernel: ".end_amdhsa_kernel",
    setting_prefix: ".amdhsa_",
    metadata: ".amdgpu_metadata",
    end_metadata: ".end_amdgpu_metadata",
};

/// `amd_kernel_code_t`.
static LEGACY: LegacyKernel = LegacyKernel {
    size: 256,
    remark: "a kernel of code object v2: 256 bytes of amd_kernel_code_t, then code",
};

impl KernelAbi for Amdhsa {
    fn directives(&self) -> &'static Directives {
        &DIRECTIVES
    }

    fn example_target(&self) -> &'static str {
        "amdgcn-amd-amdhsa--gfx90a"
    }

    fn target_text(&self, id: &TargetId) -> String {
        format!("amdgcn-amd-amdhsa--{id}")
    }

    fn version(&self, number: i64) -> Option<CodeObjectVersion> {
        match number {
            4 => Some(CodeObjectVersion::V4),
            5 => Some(CodeObjectVersion::V5),
            6 => Some(CodeObjectVersion::V6),
            _ => None,
        }
    }

    fn version_numbers(&self) -> &'static str {
        "4, 5 or 6"
    }

    fn version_number(&self, version: CodeObjectVersion) -> Result<u32, u32> {
        match version {
            CodeObjectVersion::V6 => Ok(6),
            CodeObjectVersion::V5 => Ok(5),
            CodeObjectVersion::V4 => Ok(4),
            CodeObjectVersion::V2 | CodeObjectVersion::V3 => Err(4),
        }
    }

    fn setting(&self, name: &str) -> Option<&'static str> {
        Directive::find(name).map(|directive| directive.name)
    }

    fn settings(&self) -> Vec<&'static str> {
        Directive::all().iter().map(|directive| directive.name).collect()
    }

    fn descriptor_size(&self) -> u64 {
        KernelDescriptor::SIZE
    }

    fn code_field(&self) -> CodeField {
        CodeField {
            offset: KernelDescriptor::ENTRY_OFFSET,
            kind: RelocationKind::Rel64,
            addend: KernelDescriptor::ENTRY_OFFSET as i64,
        }
    }

    fn descriptor_symbol(&self, kernel: &str) -> String {
        format!("{kernel}.kd")
    }

    fn kernel_of<'a>(&self, symbol: &'a str) -> Option<&'a str> {
        symbol.strip_suffix(".kd")
    }

    fn describe(&self, id: &TargetId) -> Result<Box<dyn DescriptorMaker>, String> {
        match DescriptorBuilder::new(id) {
            Ok(builder) => Ok(Box::new(builder)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn express(&self, bytes: &[u8], id: &TargetId) -> Result<Vec<String>, String> {
        let Some(bytes) = bytes.first_chunk() else {
            return Err(format!("a descriptor has {} bytes, found {}", KernelDescriptor::SIZE, bytes.len()));
        };
        let settings = express(bytes, id).map_err(|reasons| reasons.to_string())?;
        let written = settings.iter().filter(|setting| !setting.is_default(id));
        Ok(written.map(ToString::to_string).collect())
    }

    fn code_distance(&self, bytes: &[u8]) -> Option<i64> {
        bytes.first_chunk().map(|bytes| KernelDescriptor::from_bytes(bytes).entry_offset)
    }

    fn legacy_kernel(&self) -> &'static LegacyKernel {
        &LEGACY
    }

    fn assemble_metadata(&self, text: &str) -> Result<Vec<u8>, MetadataError> {
        assemble_metadata(text)
    }

    fn add_metadata(&self, module: &mut Module, note: &[u8]) -> Result<(), String> {
        module.add_metadata(note).map_err(|error| error.to_string())
    }

    fn disassemble_metadata(&self, note: &[u8]) -> Option<String> {
        disassemble_metadata(note)
    }
}

impl DescriptorMaker for DescriptorBuilder {
    fn set(&mut self, name: &str, value: i64) -> Result<(), String> {
        DescriptorBuilder::set(self, name, value).map_err(|error| error.to_string())
    }

    fn finish(&self) -> Result<Vec<u8>, Vec<DescriptorProblem>> {
        let problem = |error: &DirectiveError| DescriptorProblem {
            message: error.to_string(),
            missing: match error {
                DirectiveError::Missing { name, .. } => Some(*name),
                _ => None,
            },
        };
        match DescriptorBuilder::finish(self) {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(errors) => Err(errors.iter().map(problem).collect()),
        }
    }
}
