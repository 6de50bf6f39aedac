//! Loads machine code that no code object holds, with the register words of its dispatch.

use std::sync::Arc;

use wavemill_isa::Family;
use wavemill_object::{
    KernargPreload, Kernel as HsaKernel, KernelCodeProperties, KernelDescriptor, Rsrc1, Rsrc2,
};

use super::{Module, ModuleInner, ObjectKernel};
use crate::buffer::Buffer;
use crate::code::{Region, is_misaligned};
use crate::device::Device;
use crate::{Error, Result};

/// Where the machine code of a [`RawCode`] is.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::module::{CodeLocation, RawCode};
/// use wavemill::{Launch, Module};
///
/// # let device = given::device()?;
/// # let buffer = device.buffer("code and data", 4096)?;
/// # let code = given::machine_code("s_nop 0\ns_endpgm")?;
/// // Machine code behind data, in a buffer that a program laid out itself.
/// buffer.write_bytes(256, &code)?;
/// let place = CodeLocation::InPlace { buffer: &buffer, offset: 256, size: code.len() as u64 };
/// let module = Module::from_code(&device, &RawCode::new("kernel", place))?;
/// let kernel = module.kernel("kernel")?;
/// assert_eq!(kernel.entry(), buffer.address() + 256);
/// assert_eq!(Launch::new(&kernel).run()?.run.instructions, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CodeLocation<'a> {
    /// Bytes of the host. The module copies them to guest memory that kernels cannot write.
    Bytes(&'a [u8]),
    /// Bytes of a buffer. The code runs where it is, so that it finds data at fixed distances.
    /// Kernels may write to it, as to the rest of the buffer.
    InPlace {
        /// The buffer.
        buffer: &'a Buffer,
        /// Offset of the first instruction in the buffer, in bytes.
        offset: u64,
        /// Bytes of code.
        size: u64,
    },
}

/// Machine code of GCN or CDNA without a code object, and the words that a driver writes to the
/// registers of the chip to dispatch it. The first byte is the first instruction of the kernel.
///
/// ```
/// use wavemill::device::TargetChoice;
/// use wavemill::module::{CodeLocation, RawCode};
/// use wavemill::{Device, Launch, Module};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::builder(TargetChoice::parse("gfx942").ok_or("no such target")?).build()?;
/// let words = device.buffer("words", 4)?;
/// // v_mov_b32 v0, 0; v_mov_b32 v1, 7; global_store_dword v0, v1, s[0:1]; s_endpgm
/// let code = [0x7e00_0280u32, 0x7e02_0287, 0xdc70_8000, 0x0000_0100, 0xbf81_0000];
/// let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
/// let raw = RawCode {
///     // Two user SGPRs.
///     rsrc2: 2 << 1,
///     ..RawCode::new("seven", CodeLocation::Bytes(&code))
/// };
/// let module = Module::from_code(&device, &raw)?;
/// let kernel = module.kernel("seven")?;
/// let address = words.address();
/// Launch::new(&kernel).user_data(&[address as u32, (address >> 32) as u32]).run()?;
/// assert_eq!(words.to_vec::<u32>()?, [7]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawCode<'a> {
    /// Name of the kernel, for [`Module::kernel`] and reports.
    pub name: &'a str,
    /// The machine code.
    pub code: CodeLocation<'a>,
    /// `compute_pgm_rsrc1`: counts of registers, and float modes (AMDGPUUsage,
    /// "compute_pgm_rsrc1").
    pub rsrc1: u32,
    /// `compute_pgm_rsrc2`: number of user SGPRs, system SGPRs, ids of work-items, exceptions
    /// (AMDGPUUsage, "compute_pgm_rsrc2"). GRANULATED_LDS_SIZE counts if [`RawCode::lds_size`] is 0.
    pub rsrc2: u32,
    /// `compute_pgm_rsrc3`: the first AccVGPR on gfx90a and later (AMDGPUUsage,
    /// "compute_pgm_rsrc3").
    pub rsrc3: u32,
    /// `kernel_code_properties` of a kernel descriptor: the user SGPRs that each launch sets up. It
    /// is 0 where [`Launch::user_data`](crate::Launch::user_data) gives their values.
    pub properties: u16,
    /// Bytes of LDS of a workgroup; 0 for GRANULATED_LDS_SIZE of `rsrc2` in granules of the chip.
    pub lds_size: u32,
    /// Bytes of private memory (scratch) of a work-item.
    pub private_size: u32,
}

impl<'a> RawCode<'a> {
    /// Code with all VGPRs, half of them AccVGPRs where one register file has both, and the float
    /// modes that compilers set: denormals of all sizes, IEEE and DX10_CLAMP. It has no user
    /// SGPRs, LDS or private memory.
    #[must_use]
    pub fn new(name: &'a str, code: CodeLocation<'a>) -> RawCode<'a> {
        RawCode {
            name,
            code,
            rsrc1: Self::DEFAULT_RSRC1,
            rsrc2: 0,
            rsrc3: Self::DEFAULT_RSRC3,
            properties: 0,
            lds_size: 0,
            private_size: 0,
        }
    }

    /// `rsrc1` of [`RawCode::new`]: GRANULATED_WORKITEM_VGPR_COUNT 63,
    /// GRANULATED_WAVEFRONT_SGPR_COUNT 12, FLOAT_DENORM_MODE 3 for all sizes, ENABLE_DX10_CLAMP,
    /// ENABLE_IEEE_MODE.
    pub const DEFAULT_RSRC1: u32 = 63 | 12 << 6 | 0xf << 16 | 1 << 21 | 1 << 23;
    /// `rsrc3` of [`RawCode::new`]: ACCUM_OFFSET 63, which is 256 VGPRs.
    pub const DEFAULT_RSRC3: u32 = 63;
}

/// Bytes that code is aligned to (AMDGPUUsage, "Code Object V3 Kernel Descriptor").
const ALIGNMENT: u64 = 256;

impl Module {
    /// Loads machine code without a code object. The module has one kernel without metadata:
    /// launches of it have [`Launch::user_data`](crate::Launch::user_data), or
    /// [`Launch::kernarg`](crate::Launch::kernarg) if [`RawCode::properties`] has
    /// ENABLE_SGPR_KERNARG_SEGMENT_PTR.
    ///
    /// # Errors
    /// [`Error::Code`] if the device is no chip of GCN or CDNA, if the code is empty, is not at a
    /// multiple of 4 or is not in its buffer, if another module has some of it, or if its private
    /// memory needs user SGPRs that `properties` does not have. [`Error::Memory`] if there is not
    /// enough memory.
    pub fn from_code(device: &Device, raw: &RawCode<'_>) -> Result<Module> {
        let refuse = |problem: String| Error::Code { name: raw.name.to_owned(), problem };
        let target = device.0.target;
        if target.family() != Family::Gcn {
            return Err(refuse(format!(
                "expected a device of GCN or CDNA, found {}, whose programs need an object file",
                target.name()
            )));
        }
        let properties = KernelCodeProperties(raw.properties);
        let finds_scratch = target.generation().architected_scratch
            || properties.private_segment_buffer()
            || properties.flat_scratch_init();
        if !finds_scratch && (raw.private_size > 0 || Rsrc2(raw.rsrc2).enable_private_segment()) {
            return Err(refuse(format!(
                "{} finds private memory through user SGPRs; set ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER or \
                 ENABLE_SGPR_FLAT_SCRATCH_INIT in the kernel code properties",
                target.name()
            )));
        }
        let (image, offset, size) = match raw.code {
            CodeLocation::Bytes(bytes) => {
                let image = Buffer::allocate(&device.0, "code", bytes.len() as u64, ALIGNMENT)?;
                image.set_internal();
                image.write_bytes(0, bytes)?;
                image.protect("code")?;
                (image, 0, bytes.len() as u64)
            }
            CodeLocation::InPlace { buffer, offset, size } => {
                if !buffer.belongs_to(&device.0) {
                    return Err(refuse("it is in a buffer of another device".to_owned()));
                }
                (buffer.clone(), offset, size)
            }
        };
        if size == 0 {
            return Err(refuse("expected at least one instruction, found 0 bytes".to_owned()));
        }
        if offset.checked_add(size).is_none_or(|end| end > image.size()) {
            return Err(refuse(format!(
                "{size} bytes from byte {offset} on are not in its buffer of {} bytes",
                image.size()
            )));
        }
        let start = image.address() + offset;
        if is_misaligned(start) {
            return Err(refuse(format!(
                "it begins at address {start:#x}, but instructions begin at multiples of 4"
            )));
        }
        let end = start + size;
        // What may be an instruction. Data behind the code does no harm.
        let mut code = vec![0; size as usize];
        image.read_bytes(offset, &mut code)?;
        let functions = Arc::new(vec![(start, end, raw.name.to_owned())]);
        let region = Region {
            start,
            end,
            functions: functions.clone(),
            lines: None,
            reads_exceptions: device.0.code.looks_at_exceptions(&code),
        };
        if !device.0.code.add_apart(region) {
            return Err(refuse(format!("a module of the device already has code in {start:#x} to {end:#x}")));
        }
        let lds = match raw.lds_size {
            0 => Rsrc2(raw.rsrc2).granulated_lds_size() * target.lds_granule(),
            bytes => bytes,
        };
        let kernel = HsaKernel {
            name: raw.name.to_owned(),
            symbol: raw.name.to_owned(),
            descriptor: KernelDescriptor {
                group_segment_fixed_size: lds,
                private_segment_fixed_size: raw.private_size,
                kernarg_size: 0,
                entry_offset: 0,
                rsrc1: Rsrc1(raw.rsrc1),
                rsrc2: Rsrc2(raw.rsrc2),
                rsrc3: raw.rsrc3,
                properties,
                kernarg_preload: KernargPreload(0),
                reserved_is_zero: true,
            },
            descriptor_address: 0,
            entry_address: start,
            code_size: Some(size),
            metadata: None,
        };
        Ok(Module(Arc::new(ModuleInner {
            device: device.0.clone(),
            _image: image,
            loaded: start..end,
            kernels: vec![ObjectKernel::Hsa(Box::new(kernel))],
            globals: Vec::new(),
            code: Some(start..end),
            functions,
            target: device.0.id.clone(),
            debug: None,
            printf: Arc::default(),
            bias: 0,
        })))
    }
}
