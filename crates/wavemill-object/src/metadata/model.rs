//! The metadata with a meaning for each key (AMDGPUUsage, "Code Object V3
//! Metadata" to "Code Object V6 Metadata").

use std::fmt;
use std::sync::Arc;

use super::allowance::Allowance;
use super::msgpack::Decoder;
use super::value::{Reader, Value};
use super::yaml;
use crate::error::{Error, Result};

/// Declares an enumeration of metadata spellings that keeps unknown ones.
macro_rules! spelled {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
            /// A spelling that this crate does not know.
            Other(String),
        }

        impl $name {
            /// The meaning of a spelling.
            pub fn from_text(text: &str) -> Self {
                match text {
                    $( $text => $name::$variant, )*
                    _ => $name::Other(text.to_owned()),
                }
            }

            /// The spelling in metadata.
            pub fn as_str(&self) -> &str {
                match self {
                    $( $name::$variant => $text, )*
                    $name::Other(text) => text,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

spelled! {
    /// How an argument is passed (`.value_kind`).
    ValueKind {
        /// The value itself.
        ByValue = "by_value",
        /// Address of a buffer in global memory.
        GlobalBuffer = "global_buffer",
        /// Offset of dynamically allocated local memory.
        DynamicSharedPointer = "dynamic_shared_pointer",
        /// Address of a sampler resource.
        Sampler = "sampler",
        /// Address of an image resource.
        Image = "image",
        /// Address of an OpenCL pipe.
        Pipe = "pipe",
        /// Address of an OpenCL device queue.
        Queue = "queue",
        /// OpenCL global offset in X (64 bits).
        HiddenGlobalOffsetX = "hidden_global_offset_x",
        /// OpenCL global offset in Y (64 bits).
        HiddenGlobalOffsetY = "hidden_global_offset_y",
        /// OpenCL global offset in Z (64 bits).
        HiddenGlobalOffsetZ = "hidden_global_offset_z",
        /// Space that the kernel does not use.
        HiddenNone = "hidden_none",
        /// Address of the printf buffer.
        HiddenPrintfBuffer = "hidden_printf_buffer",
        /// Address of the host call buffer.
        HiddenHostcallBuffer = "hidden_hostcall_buffer",
        /// Address of the default OpenCL device queue.
        HiddenDefaultQueue = "hidden_default_queue",
        /// Address of the completion action of OpenCL device enqueue.
        HiddenCompletionAction = "hidden_completion_action",
        /// Address of the state of a multi-grid launch.
        HiddenMultigridSyncArg = "hidden_multigrid_sync_arg",
        /// Whole workgroups in X (32 bits; v5).
        HiddenBlockCountX = "hidden_block_count_x",
        /// Whole workgroups in Y (32 bits; v5).
        HiddenBlockCountY = "hidden_block_count_y",
        /// Whole workgroups in Z (32 bits; v5).
        HiddenBlockCountZ = "hidden_block_count_z",
        /// Work-items per workgroup in X (16 bits; v5).
        HiddenGroupSizeX = "hidden_group_size_x",
        /// Work-items per workgroup in Y (16 bits; v5).
        HiddenGroupSizeY = "hidden_group_size_y",
        /// Work-items per workgroup in Z (16 bits; v5).
        HiddenGroupSizeZ = "hidden_group_size_z",
        /// Work-items of the partial workgroup in X (16 bits; v5).
        HiddenRemainderX = "hidden_remainder_x",
        /// Work-items of the partial workgroup in Y (16 bits; v5).
        HiddenRemainderY = "hidden_remainder_y",
        /// Work-items of the partial workgroup in Z (16 bits; v5).
        HiddenRemainderZ = "hidden_remainder_z",
        /// Dimensions of the grid, 1 to 3 (16 bits; v5).
        HiddenGridDims = "hidden_grid_dims",
        /// Address of the heap of device-side malloc (v5).
        HiddenHeapV1 = "hidden_heap_v1",
        /// Bytes of dynamic local memory (32 bits; v5).
        HiddenDynamicLdsSize = "hidden_dynamic_lds_size",
        /// High half of the address of the private aperture (GFX8; v5).
        HiddenPrivateBase = "hidden_private_base",
        /// High half of the address of the local aperture (GFX8; v5).
        HiddenSharedBase = "hidden_shared_base",
        /// Address of the queue (before GFX9; v5).
        HiddenQueuePtr = "hidden_queue_ptr",
    }
}

impl ValueKind {
    /// Whether the launcher fills the argument in, not the caller.
    pub fn is_hidden(&self) -> bool {
        self.as_str().starts_with("hidden_")
    }
}

spelled! {
    /// Memory that a pointer argument points to (`.address_space`).
    AddressSpace {
        /// Scratch memory of a work-item.
        Private = "private",
        /// Global memory.
        Global = "global",
        /// Global memory that does not change during a launch.
        Constant = "constant",
        /// Local memory of a workgroup (LDS).
        Local = "local",
        /// Any of the others.
        Generic = "generic",
        /// Memory shared by all workgroups on chip (GDS).
        Region = "region",
    }
}

spelled! {
    /// How a kernel uses an argument's memory (`.access`, `.actual_access`).
    Access {
        /// It only reads.
        ReadOnly = "read_only",
        /// It only writes.
        WriteOnly = "write_only",
        /// It reads and writes.
        ReadWrite = "read_write",
    }
}

/// The key of the list of kernels.
const KERNELS: &str = "amdhsa.kernels";

/// The key of a kernel's list of arguments.
const ARGS: &str = ".args";

/// Most arguments of a kernel that are read. Each has four bytes or more, and runtimes accept only
/// a few kilobytes of them.
pub(super) const MOST_ARGUMENTS: usize = 4096;

/// The name of the outermost map, for messages.
const TOP: &str = "the top level";

/// Entries of a map without a meaning here, in the order of the file.
type Extra = Vec<(String, Value)>;

/// The metadata of a code object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    /// `amdhsa.version`: major and minor; 1.0 for code object v3, 1.1 for v4, 1.2 for v5 and v6.
    pub version: Option<[u32; 2]>,
    /// `amdhsa.target`, as spelled; since v4.
    pub target: Option<String>,
    /// `amdhsa.printf`: the formats of OpenCL printf, as spelled (`id:count:sizes:format`).
    pub printf: Vec<String>,
    /// `amdhsa.kernels`, except those with too many arguments.
    pub kernels: Vec<Arc<KernelMetadata>>,
    /// Keys without a meaning here.
    pub extra: Extra,
}

/// The metadata of a kernel. Sizes are in bytes; `None` if the file does not state them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KernelMetadata {
    /// `.name`: the kernel's name in the symbol table, mangled for C++.
    pub name: String,
    /// `.symbol`: the symbol of the kernel descriptor.
    pub symbol: String,
    /// `.kind`: `normal` when absent; `init` and `fini` run when the object is loaded and unloaded.
    pub kind: Option<String>,
    /// `.language`: `OpenCL C`, `HIP`.
    pub language: Option<String>,
    /// `.language_version`: major and minor.
    pub language_version: Option<[u32; 2]>,
    /// `.args`, hidden ones included, in the order of the file.
    pub args: Vec<Argument>,
    /// `.kernarg_segment_size`.
    pub kernarg_segment_size: Option<u32>,
    /// `.kernarg_segment_align`.
    pub kernarg_segment_align: Option<u32>,
    /// `.group_segment_fixed_size`: local memory of a workgroup.
    pub group_segment_fixed_size: Option<u32>,
    /// `.private_segment_fixed_size`: scratch memory of a work-item.
    pub private_segment_fixed_size: Option<u32>,
    /// `.uses_dynamic_stack`: scratch memory beyond the fixed size is needed.
    pub uses_dynamic_stack: bool,
    /// `.wavefront_size`: lanes.
    pub wavefront_size: Option<u32>,
    /// `.sgpr_count`.
    pub sgpr_count: Option<u32>,
    /// `.vgpr_count`; on MI200 and later, accumulation registers included.
    pub vgpr_count: Option<u32>,
    /// `.agpr_count`: accumulation registers.
    pub agpr_count: Option<u32>,
    /// `.sgpr_spill_count`.
    pub sgpr_spill_count: Option<u32>,
    /// `.vgpr_spill_count`.
    pub vgpr_spill_count: Option<u32>,
    /// `.max_flat_workgroup_size`: most work-items of a workgroup.
    pub max_flat_workgroup_size: Option<u32>,
    /// `.reqd_workgroup_size`: the only workgroup size allowed.
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// `.workgroup_size_hint`.
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// `.vec_type_hint`.
    pub vec_type_hint: Option<String>,
    /// `.device_enqueue_symbol`.
    pub device_enqueue_symbol: Option<String>,
    /// `.uniform_work_group_size`: every workgroup must be whole.
    pub uniform_work_group_size: bool,
    /// `.cluster_dims` (v6).
    pub cluster_dims: Option<[u32; 3]>,
    /// Keys without a meaning here.
    pub extra: Extra,
}

/// A kernel argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// `.name`; often absent.
    pub name: Option<String>,
    /// `.type_name`, in the source language; often absent.
    pub type_name: Option<String>,
    /// `.offset` in the kernarg segment, in bytes.
    pub offset: u32,
    /// `.size` in bytes.
    pub size: u32,
    /// `.value_kind`.
    pub value_kind: ValueKind,
    /// `.value_type`: `f32`, `i8`, `struct`; only old compilers write it.
    pub value_type: Option<String>,
    /// `.address_space`.
    pub address_space: Option<AddressSpace>,
    /// `.access`: what the source allows.
    pub access: Option<Access>,
    /// `.actual_access`: what the code does.
    pub actual_access: Option<Access>,
    /// `.pointee_align` in bytes, of a dynamic shared pointer.
    pub pointee_align: Option<u32>,
    /// `.is_const`.
    pub is_const: bool,
    /// `.is_restrict`.
    pub is_restrict: bool,
    /// `.is_volatile`.
    pub is_volatile: bool,
    /// `.is_pipe`.
    pub is_pipe: bool,
    /// Keys without a meaning here.
    pub extra: Extra,
}

impl Argument {
    /// Whether the launcher fills the argument in, not the caller.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.is_hidden()
    }
}

impl Metadata {
    /// Interprets a tree with the keys of code object v3. The tree was read from a text of `size`
    /// bytes.
    pub(super) fn from_value(value: Value, offset: u64, size: usize) -> Result<Self> {
        let mut allowance = Allowance::new(size, yaml::FACTOR / 2);
        let mut map = Reader::new(value, TOP, offset)?;
        let list = map.list(KERNELS)?.unwrap_or_default();
        let mut kernels = Vec::with_capacity(list.len());
        for (at, item) in list.into_iter().enumerate() {
            let kernel = KernelMetadata::from_value(item, at, offset)?;
            let spent = kernel.spend(&mut allowance);
            spent.map_err(|detail| Error::malformed("metadata", offset, detail))?;
            kernels.push(Arc::new(kernel));
        }
        Metadata::of(map, kernels)
    }

    /// Reads MessagePack, with the tree of at most one kernel in memory at a time. Also returns
    /// which kernels are omitted.
    pub(super) fn decode(data: &[u8], offset: u64) -> Result<(Self, Vec<String>)> {
        let mut decoder = Decoder::new(data, offset);
        let Some(length) = decoder.map()? else {
            let other = decoder.value(0)?;
            return Err(Reader::new(other, TOP, offset).err().unwrap_or_else(|| decoder.error("no map")));
        };
        let mut kernels = None;
        let mut problems = Vec::new();
        let mut others = Vec::new();
        for _ in 0..length {
            let key = decoder.key(1)?;
            let list = if key == KERNELS && kernels.is_none() { decoder.list()? } else { None };
            match list {
                Some(count) => {
                    kernels = Some(KernelMetadata::decode_all(&mut decoder, count, &mut problems)?);
                }
                None => others.push((key, decoder.value(1)?)),
            }
        }
        decoder.end()?;
        let mut map = Reader::new(Value::Map(others), TOP, offset)?;
        if kernels.is_none() {
            // It is not a list.
            map.list(KERNELS)?;
        }
        Ok((Metadata::of(map, kernels.unwrap_or_default())?, problems))
    }

    /// Whether MessagePack has a kernel with more arguments than are read, whether or not it is
    /// otherwise valid.
    pub(super) fn has_too_many_arguments(data: &[u8]) -> Result<bool> {
        let mut decoder = Decoder::new(data, 0);
        for _ in 0..decoder.map()?.unwrap_or(0) {
            let kernels = if decoder.key(1)? == KERNELS { decoder.list()? } else { None };
            let Some(count) = kernels else {
                decoder.skip(1)?;
                continue;
            };
            for _ in 0..count {
                let left = decoder.allowance.left();
                if KernelMetadata::decode(&mut decoder)?.1.is_some() {
                    return Ok(true);
                }
                decoder.allowance.give_back(left);
            }
        }
        Ok(false)
    }

    fn of(mut map: Reader, kernels: Vec<Arc<KernelMetadata>>) -> Result<Self> {
        let version = map.numbers("amdhsa.version")?;
        let target = map.text("amdhsa.target")?;
        let printf = map.list("amdhsa.printf")?.unwrap_or_default();
        let printf = printf
            .into_iter()
            .map(|item| match item {
                Value::Text(text) => Ok(text),
                other => Err(map.error(format_args!(
                    "`amdhsa.printf` should be a list of strings, but has {}",
                    other.kind()
                ))),
            })
            .collect::<Result<_>>()?;
        Ok(Metadata { version, target, printf, kernels, extra: map.rest() })
    }
}

/// The message for kernel number `at`, which has too many arguments.
fn too_many_arguments(kernel: &Value, at: usize, count: usize) -> String {
    let name = match kernel {
        Value::Map(entries) => {
            entries.iter().find(|(key, _)| key == ".name").and_then(|(_, name)| name.as_text())
        }
        _ => None,
    };
    let name = name.map(|name| format!(" (`{name}`)")).unwrap_or_default();
    format!(
        "the metadata of kernel {at}{name} is ignored: it lists {count} arguments, and a kernel has {MOST_ARGUMENTS} at most; \
         the file is damaged"
    )
}

impl KernelMetadata {
    /// Reads the `count` kernels of a list. Each tree is freed once its kernel has been read.
    fn decode_all(
        decoder: &mut Decoder<'_>,
        count: usize,
        problems: &mut Vec<String>,
    ) -> Result<Vec<Arc<Self>>> {
        // Check that the memory suffices for all of them.
        let mut ahead = *decoder;
        ahead.spend::<Self>(count)?;
        let mut kernels = Vec::new();
        for at in 0..count {
            let left = decoder.allowance.left();
            let (value, excess) = Self::decode(decoder)?;
            if let Some(count) = excess {
                problems.push(too_many_arguments(&value, at, count));
                decoder.allowance.give_back(left);
                decoder.spend::<String>(1)?;
                continue;
            }
            let kernel = KernelMetadata::from_value(value, at, decoder.offset())?;
            // Entries without a meaning stay allocated.
            if kernel.extra.is_empty() && kernel.args.iter().all(|arg| arg.extra.is_empty()) {
                decoder.allowance.give_back(left);
            }
            kernel.spend(&mut decoder.allowance).map_err(|detail| decoder.error(detail))?;
            kernels.push(Arc::new(kernel));
        }
        Ok(kernels)
    }

    /// The tree of a kernel. Skips too long a list of arguments and returns its length.
    fn decode(decoder: &mut Decoder<'_>) -> Result<(Value, Option<usize>)> {
        let Some(length) = decoder.map()? else { return Ok((decoder.value(2)?, None)) };
        let mut entries = Vec::new();
        let mut excess = None;
        for _ in 0..length {
            let key = decoder.key(3)?;
            let arguments = if key == ARGS { decoder.next_list()? } else { None };
            match arguments.filter(|&count| count > MOST_ARGUMENTS) {
                Some(count) => {
                    decoder.skip(3)?;
                    excess = Some(count);
                }
                None => entries.push((key, decoder.value(3)?)),
            }
        }
        Ok((Value::Map(entries), excess))
    }

    /// Charges the memory of the kernel and its arguments.
    fn spend(&self, allowance: &mut Allowance) -> Result<(), String> {
        allowance.spend::<Self>(1)?;
        allowance.spend::<Argument>(self.args.len())
    }

    fn from_value(value: Value, at: usize, offset: u64) -> Result<Self> {
        let mut map = Reader::new(value, format!("kernel {at}"), offset)?;
        let name = map.text(".name")?.ok_or_else(|| map.missing(".name"))?;
        map.place(format!("kernel {at} (`{name}`)"));
        let symbol = match map.text(".symbol")? {
            Some(symbol) => symbol,
            None => format!("{name}.kd"),
        };
        let args = map.list(ARGS)?.unwrap_or_default();
        let mut end = 0;
        let args = args
            .into_iter()
            .enumerate()
            .map(|(arg, item)| {
                let place = format!("kernel {at} (`{name}`), argument {arg}");
                Argument::from_map(Reader::new(item, place, map.offset())?, &mut end)
            })
            .collect::<Result<_>>()?;
        Ok(KernelMetadata {
            symbol,
            args,
            kind: map.text(".kind")?,
            language: map.text(".language")?,
            language_version: map.numbers(".language_version")?,
            kernarg_segment_size: map.integer(".kernarg_segment_size")?,
            kernarg_segment_align: map.integer(".kernarg_segment_align")?,
            group_segment_fixed_size: map.integer(".group_segment_fixed_size")?,
            private_segment_fixed_size: map.integer(".private_segment_fixed_size")?,
            uses_dynamic_stack: map.flag(".uses_dynamic_stack")?,
            wavefront_size: map.integer(".wavefront_size")?,
            sgpr_count: map.integer(".sgpr_count")?,
            vgpr_count: map.integer(".vgpr_count")?,
            agpr_count: map.integer(".agpr_count")?,
            sgpr_spill_count: map.integer(".sgpr_spill_count")?,
            vgpr_spill_count: map.integer(".vgpr_spill_count")?,
            max_flat_workgroup_size: map.integer(".max_flat_workgroup_size")?,
            // Three zeros mean that any size is allowed.
            reqd_workgroup_size: map.numbers(".reqd_workgroup_size")?.filter(|size| *size != [0; 3]),
            workgroup_size_hint: map.numbers(".workgroup_size_hint")?.filter(|size| *size != [0; 3]),
            vec_type_hint: map.text(".vec_type_hint")?,
            device_enqueue_symbol: map.text(".device_enqueue_symbol")?,
            uniform_work_group_size: map.flag(".uniform_work_group_size")?,
            cluster_dims: map.numbers(".cluster_dims")?,
            name,
            extra: map.rest(),
        })
    }
}

impl Argument {
    /// `end` is the end of the previous argument: code object v2 states alignments instead of
    /// offsets.
    fn from_map(mut map: Reader, end: &mut u64) -> Result<Self> {
        let size = map.integer(".size")?.ok_or_else(|| map.missing(".size"))?;
        let align = map.integer(".align")?;
        let offset = match (map.integer(".offset")?, align) {
            (Some(offset), _) => offset,
            (None, Some(align)) => {
                let aligned = end.next_multiple_of(u64::from(align.max(1)));
                u32::try_from(aligned).map_err(|_| map.error("the arguments exceed 4 GiB"))?
            }
            (None, None) => return Err(map.missing(".offset")),
        };
        *end = u64::from(offset) + u64::from(size);
        let value_kind = map.text(".value_kind")?.ok_or_else(|| map.missing(".value_kind"))?;
        Ok(Argument {
            offset,
            size,
            value_kind: ValueKind::from_text(&value_kind),
            name: map.text(".name")?,
            type_name: map.text(".type_name")?,
            value_type: map.text(".value_type")?,
            address_space: map.text(".address_space")?.map(|text| AddressSpace::from_text(&text)),
            access: map.text(".access")?.map(|text| Access::from_text(&text)),
            actual_access: map.text(".actual_access")?.map(|text| Access::from_text(&text)),
            pointee_align: map.integer(".pointee_align")?,
            is_const: map.flag(".is_const")?,
            is_restrict: map.flag(".is_restrict")?,
            is_volatile: map.flag(".is_volatile")?,
            is_pipe: map.flag(".is_pipe")?,
            extra: map.rest(),
        })
    }
}
