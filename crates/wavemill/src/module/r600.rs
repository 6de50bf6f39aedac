//! Loads object files of the R600 family.
//!
//! They need no linker: `.text` has all programs and their tables. Literals with a relocation get the
//! addresses of tables.

use std::sync::Arc;

use wavemill_isa::cayman::{CLAUSE_TEMPORARIES, Content, FieldId, Format, Inst, Op, decode_program};
use wavemill_lift::cayman::{Cayman, reaches_images, registers};
use wavemill_object::TargetId;
use wavemill_object::r600::{R600Config, R600Object, R600Stage};

use super::{Module, ModuleInner, ObjectKernel};
use crate::buffer::Buffer;
use crate::code::Region;
use crate::device::Device;
use crate::{Error, Result};

/// A program of the R600 family.
#[derive(Debug)]
pub(crate) struct R600Kernel {
    /// Name of its symbol.
    pub name: String,
    /// Offset of its first word in the code.
    pub entry: u64,
    /// Its registers.
    pub config: R600Config,
    /// What a launch must give it besides.
    pub needs: ProgramNeeds,
}

/// What the words of a program need that the file does not say.
#[derive(Debug, Default)]
pub(crate) struct ProgramNeeds {
    /// Clause temporaries: all, if a word names one that is not among the registers.
    pub temporaries: u16,
    /// Semantics of its fetches, in ascending order.
    pub semantics: Vec<u16>,
    /// Numbers of the constants of its jump tables, in ascending order.
    pub jump_constants: Vec<u16>,
    /// The samplers that it compares samples through, in the order of its code. Index registers may
    /// lead to others.
    pub compares: Vec<Compares>,
    /// Whether it calls a fetch program.
    pub calls_fetch_program: bool,
    /// The buffers and textures that it fetches from by their own number, in the order of its code.
    pub fetches: Vec<Fetches>,
    /// Its accesses to random access targets, in the order of its code.
    pub target_accesses: Vec<TargetAccess>,
}

/// An access to a random access target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetAccess {
    /// Its operation.
    pub op: Op,
    /// The number of the target.
    pub number: u16,
    /// Whether an index register is added to the number.
    pub is_indexed: bool,
    /// Whether it can access an image.
    pub reaches_images: bool,
}

/// A fetch from a buffer or a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetches {
    /// Its operation.
    pub op: Op,
    /// The number of what it fetches from. Buffers and textures share their numbers.
    pub number: u16,
    /// Whether it needs a texture.
    pub is_texture: bool,
}

impl Fetches {
    fn of(inst: &Inst) -> Option<Fetches> {
        let (id, index, is_texture) = match inst.format() {
            Format::Vtx | Format::VtxSemantic => (FieldId::BufferId, FieldId::BufferIndexMode, false),
            Format::Tex if inst.op().reads_texture() => {
                (FieldId::ResourceId, FieldId::ResourceIndexMode, true)
            }
            _ => return None,
        };
        let number = inst.get(id) as u16;
        (inst.get(index) == 0).then_some(Fetches { op: inst.op(), number, is_texture })
    }
}

/// A fetch that compares samples with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compares {
    /// Its operation.
    pub op: Op,
    /// The number of its sampler.
    pub sampler: u16,
    /// Whether an index register is added to the number.
    pub is_indexed: bool,
}

impl ProgramNeeds {
    fn of(code: &[u8], config: &R600Config) -> ProgramNeeds {
        let is_temporary = |register: u32| CLAUSE_TEMPORARIES.contains(&register) && register >= config.gprs;
        let mut needs = ProgramNeeds::default();
        let mut word = |inst: &Inst| {
            if inst.registers().any(is_temporary) {
                needs.temporaries = CLAUSE_TEMPORARIES.len() as u16;
            }
            if inst.format() == Format::VtxSemantic {
                needs.semantics.push(inst.get(FieldId::SemanticId) as u16);
            }
            // Other selections are index registers.
            if inst.op() == Op::Jumptable && inst.get(FieldId::JumptableSel) < 4 {
                needs.jump_constants.push(inst.get(FieldId::CfConst) as u16);
            }
            needs.calls_fetch_program |= inst.op() == Op::CallFs;
            needs.fetches.extend(Fetches::of(inst));
            if inst.format() == Format::Rat {
                needs.target_accesses.push(TargetAccess {
                    op: inst.op(),
                    number: inst.get(FieldId::RatId) as u16,
                    is_indexed: inst.get(FieldId::RatIndexMode) != 0,
                    reaches_images: reaches_images(inst),
                });
            }
            if inst.op().compares_samples() {
                needs.compares.push(Compares {
                    op: inst.op(),
                    sampler: inst.get(FieldId::SamplerId) as u16,
                    is_indexed: inst.get(FieldId::SamplerIndexMode) != 0,
                });
            }
        };
        for item in decode_program(code, 0).items {
            match &item.content {
                Content::Control(inst) | Content::Fetch(inst) => word(inst),
                Content::Group(group) => group.slots.iter().flatten().for_each(&mut word),
                Content::Raw => {}
            }
        }
        for numbers in [&mut needs.semantics, &mut needs.jump_constants] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        needs
    }
}

/// Bytes that code is aligned to: those of the functions in the file.
const ALIGNMENT: u64 = 256;

/// The code at an address. Its relocations are all `R_AMDGPU_ABS32` with an offset in the code in
/// their dword, and memory of the device has short pointers.
fn relocated(object: &R600Object<'_>, address: u64) -> Vec<u8> {
    let mut text = object.text.to_vec();
    for &offset in &object.relocations {
        let dword = text.get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<4>());
        if let Some(dword) = dword {
            *dword = u32::from_le_bytes(*dword).wrapping_add(address as u32).to_le_bytes();
        }
    }
    text
}

/// Loads an object file.
pub(super) fn load(device: &Device, bytes: &[u8]) -> Result<Module> {
    let object = R600Object::parse(bytes)?;
    let target = TargetId::new(object.processor.clone());
    if target.fit(device.target()).is_none() {
        return Err(Error::TargetMismatch { object: target, device: device.target().clone() });
    }
    let image = Buffer::allocate(&device.0, "code object", object.text.len() as u64, ALIGNMENT)?;
    image.set_internal();
    image.write_bytes(0, &relocated(&object, image.address()))?;
    image.protect("code")?;
    let start = image.address();
    let end = start.saturating_add(object.text.len() as u64);
    let mut functions = Vec::new();
    let mut kernels = Vec::new();
    for part in object.parts {
        let range =
            start.saturating_add(part.range.start as u64)..start.saturating_add(part.range.end as u64);
        functions.push((range.start, range.end, part.name.clone()));
        let Some(config) = part.config else { continue };
        let needs = ProgramNeeds::of(object.text.get(part.range.clone()).unwrap_or_default(), &config);
        let program = Cayman {
            program: range.start,
            gprs: (config.gprs as u16).clamp(1, registers::GPRS),
            temporaries: needs.temporaries,
            kills: config.stage == R600Stage::Pixel,
            stack: config.stack as u16,
        };
        device.0.code.add_program(range, program);
        let entry = part.range.start as u64;
        kernels.push(ObjectKernel::R600(R600Kernel { name: part.name, entry, config, needs }));
    }
    let functions = Arc::new(functions);
    device.0.code.add(Region {
        start,
        end,
        functions: functions.clone(),
        lines: None,
        reads_exceptions: false,
    });
    Ok(Module(Arc::new(ModuleInner {
        device: device.0.clone(),
        kernels,
        globals: Vec::new(),
        code: (end > start).then_some(start..end),
        functions,
        target,
        debug: None,
        printf: Arc::default(),
        bias: start,
        loaded: start..start.saturating_add(image.size()),
        _image: image,
    })))
}
