//! The convention of LLVM's backend: the memory of a launch, and the initial registers of its waves.

use wavemill_ir::{LANES, Uni};
use wavemill_lift::cayman::registers;
use wavemill_machine::{Registers, WaveInit};

use super::object;
use crate::Result;
use crate::abi::work_items::{first_item, ids_of_wave, size_of};
use crate::abi::{LaunchMemory, Plan, Start};
use crate::argument::Arg;
use crate::binding::{Binding, Location};
use crate::buffer::Buffer;
use crate::module::Kernel;
use crate::report::{ARGUMENTS, Segment};
use crate::services::ServiceAddresses;

/// Bytes of constant buffer 0 before the arguments: three sizes of three dwords.
const HEADER: usize = 36;
/// Bytes behind the arguments: the number of dimensions, and the global offset.
const TRAILER: usize = 16;
/// Bytes of a line of constants: clauses lock whole lines (HD 6900 ISA 4.6.4).
const LINE: usize = 256;
/// The modes of floats: round to the nearest even number, flush denormals of single floats and keep
/// those of doubles.
const MODE: u32 = 0xc0;
/// Buffers of the convention.
const MEMORY: u16 = 1;
const TABLES: u16 = 2;
const CONSTANTS: u16 = 3;
/// Dword 3 of a resource of dwords: data format 32, number format UINT, components X, 0, 0, 1.
/// Without a number format, the resource would have no format, and typed stores would store nothing.
pub(super) const DWORDS: u32 = 4 << 15 | 4 << 12 | 1 << 9 | 4;

/// The memory of a launch.
#[derive(Debug)]
pub(super) struct Memory {
    constants: Buffer,
    scratch: Buffer,
}

impl Memory {
    pub(super) fn allocate(kernel: &Kernel, plan: &Plan) -> Result<Memory> {
        let size = (HEADER + plan.arguments.len() + 3 + TRAILER).next_multiple_of(LINE) as u64;
        let constants = Buffer::internal(&kernel.module.device, ARGUMENTS, size, LINE as u64)?;
        constants.protect("the runtime's own")?;
        Ok(Memory { constants, scratch: scratch(kernel, plan)? })
    }
}

/// Scratch memory of all resident waves.
pub(super) fn scratch(kernel: &Kernel, plan: &Plan) -> Result<Buffer> {
    let size = plan.scratch_per_wave * plan.resident_waves();
    Buffer::internal(&kernel.module.device, "scratch", size, 256)
}

/// Constant buffer 0.
fn constants(plan: &Plan) -> Vec<u8> {
    let geometry = &plan.geometry;
    let sizes = [plan.workgroups, geometry.global_size.map(|n| n as u32), geometry.workgroup_size];
    let mut bytes: Vec<u8> = sizes.as_flattened().iter().flat_map(|n| n.to_le_bytes()).collect();
    bytes.extend(&plan.arguments);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let trailer = [u32::from(geometry.dims)].into_iter().chain(geometry.offset.map(|n| n as u32));
    bytes.extend(trailer.flat_map(u32::to_le_bytes));
    bytes
}

impl LaunchMemory for Memory {
    fn fill(self: Box<Self>, kernel: &Kernel, plan: &Plan, _: &ServiceAddresses) -> Result<Start> {
        let Memory { constants: buffer, scratch } = *self;
        object(kernel)?;
        buffer.write_bytes(0, &constants(plan))?;
        let init = InitialState { constants: (buffer.address(), buffer.size()), wave: wave(plan, &scratch) };
        Ok(Start {
            init: Box::new(init),
            entry: kernel.entry(),
            context: modes(&plan.bindings),
            arguments: Some(Segment {
                address: buffer.address() + HEADER as u64,
                bytes: plan.arguments.len() as u64,
            }),
            absent_grid_sync: None,
            _memory: vec![buffer, scratch],
            _code: None,
        })
    }
}

/// Everything that the initial state of a wave depends on.
#[derive(Debug)]
struct InitialState {
    /// Guest address and bytes of constant buffer 0.
    constants: (u64, u64),
    wave: Wave,
}

/// What all conventions set: numbers, ids and valid lanes.
#[derive(Debug)]
pub(super) struct Wave {
    /// Waves of a workgroup.
    waves: u32,
    workgroups: [u32; 3],
    workgroup_size: [u32; 3],
    global_size: [u64; 3],
    /// Guest address of the scratch memory of all resident waves, and bytes for each.
    scratch: (u64, u64),
}

/// The modes of floats that a launch binds, or else those of the convention.
pub(super) fn modes(bindings: &[Binding]) -> u32 {
    let bound = bindings.iter().find_map(|binding| match (&binding.location, &binding.resource) {
        (Location::Modes, Arg::Value(bytes)) => Some(u32::from_le_bytes(*bytes.first_chunk()?) & 0xff),
        _ => None,
    });
    bound.unwrap_or(MODE)
}

pub(super) fn wave(plan: &Plan, scratch: &Buffer) -> Wave {
    Wave {
        waves: plan.waves,
        workgroups: plan.workgroups,
        workgroup_size: plan.geometry.workgroup_size,
        global_size: plan.geometry.global_size,
        scratch: (scratch.address(), plan.scratch_per_wave),
    }
}

impl Wave {
    fn size(&self, workgroup: [u32; 3]) -> [u32; 3] {
        size_of(workgroup, self.workgroup_size, self.global_size)
    }

    /// Guest address and bytes of the scratch memory of a wave.
    pub(super) fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        let (first, size) = self.scratch;
        (size > 0).then(|| (first + u64::from(slot) * size, size))
    }

    pub(super) fn work_items(&self, workgroup: [u32; 3]) -> u32 {
        self.size(workgroup).iter().product()
    }

    /// The number of a wave in the order of launch.
    pub(super) fn number(&self, workgroup: [u32; 3], wave: u32) -> u32 {
        let waves = |size: [u32; 3]| u64::from(size.iter().product::<u32>().div_ceil(LANES as u32));
        let last = self.workgroups.map(|n| n.saturating_sub(1));
        let [nx, ny, _] = last.map(u64::from);
        let [x, y, z] = workgroup.map(u64::from);
        let [full, edge, own] = [[0; 3], last, workgroup].map(|workgroup| self.size(workgroup));
        // Workgroups of a row, and of a layer.
        let row = |height, depth| nx * waves([full[0], height, depth]) + waves([edge[0], height, depth]);
        let layer = |depth| ny * row(full[1], depth) + row(edge[1], depth);
        let before = z * layer(full[2]) + y * row(full[1], own[2]) + x * waves([full[0], own[1], own[2]]);
        before as u32 + wave
    }

    /// The number of the first work-item of a wave ([`first_item`]).
    pub(super) fn first_item(&self, workgroup: [u32; 3], wave: u32) -> u64 {
        first_item(self.workgroup_size, self.global_size, workgroup, wave)
    }

    pub(super) fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        let size = self.size(workgroup);
        let items: u32 = size.iter().product();
        let lanes = items.saturating_sub(wave * LANES as u32).min(LANES as u32);
        regs.set_uni64(registers::INVALID, if lanes == 64 { 0 } else { u64::MAX << lanes });
        regs.set_uni(registers::WAVE, slot);
        if let Some((address, _)) = self.scratch(slot) {
            regs.set_uni64(registers::PRIVATE_MEMORY, address);
        }
        regs.set_uni(registers::GROUP, slot / self.waves.max(1));
        regs.set_uni(registers::WAVE_IN_GROUP, wave);
        regs.set_uni(registers::WAVES_OF_GROUP, items.div_ceil(LANES as u32));
        for (channel, id) in (0..).zip(workgroup) {
            regs.set_row(registers::gpr(1, channel), &[id; LANES]);
        }
        for (channel, ids) in (0..).zip(&ids_of_wave(size, wave)) {
            regs.set_row(registers::gpr(0, channel), ids);
        }
    }
}

/// Sets a resource to bytes of memory, with an element for each byte.
fn set_resource(regs: &mut Registers, cells: Uni, unit: Uni, (address, bytes): (u64, u64)) {
    regs.set_uni64(cells, address);
    regs.set_uni(registers::bytes_of(cells), u32::try_from(bytes).unwrap_or(u32::MAX));
    regs.set_uni(cells.plus(3), DWORDS);
    regs.set_uni(unit, 1);
}

impl WaveInit for InitialState {
    fn work_items(&self, workgroup: [u32; 3]) -> u32 {
        self.wave.work_items(workgroup)
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        let all = (0, u64::from(u32::MAX));
        let buffers = [(MEMORY, all), (TABLES, all), (CONSTANTS, self.constants)];
        for (number, memory) in buffers {
            set_resource(regs, registers::buffer(number), registers::stride(number), memory);
        }
        set_resource(regs, registers::random_access_target(0), registers::target_unit(0), all);
        regs.set_uni64(registers::bank(0), self.constants.0);
        self.wave.init(workgroup, wave, slot, regs);
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        self.wave.scratch(slot)
    }
}
