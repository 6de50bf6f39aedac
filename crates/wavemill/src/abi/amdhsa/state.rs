//! Initial registers of waves (AMDGPUUsage, "Initial Kernel Execution State").

use std::sync::OnceLock;

use wavemill_ir::analysis::{Entry, Shape};
use wavemill_ir::{LANES, Uni};
use wavemill_isa::Target;
use wavemill_machine::{RegisterCounts, Registers, TURNS, Traps, WaveInit};
use wavemill_object::KernelDescriptor;

use crate::abi::work_items::{Ids, ids_of_wave, size_of};
use crate::product::Product;
use crate::registers;
use crate::traps::TrapSetup;

/// Everything that the initial state of a wave depends on.
#[derive(Debug)]
pub(super) struct InitialState {
    pub target: Target,
    /// The chip, which decides where waves run.
    pub product: &'static Product,
    /// Waves of a workgroup.
    pub waves: u32,
    /// Workgroups that the chip holds at once, or fewer if there are not as many.
    pub resident: u32,
    pub descriptor: KernelDescriptor,
    pub workgroup_size: [u32; 3],
    pub global_size: [u64; 3],
    pub kernarg: u64,
    /// User SGPRs instead of those that the descriptor describes.
    pub user_sgprs: Option<Vec<u32>>,
    /// The first words of the kernel argument segment, for preloading.
    pub kernarg_words: Vec<u32>,
    pub packet: u64,
    pub queue: u64,
    /// Guest address of the scratch memory of all resident waves.
    pub scratch: u64,
    /// Bytes of `scratch` that belong to one wave.
    pub scratch_per_wave: u64,
    /// Total bytes of `scratch`.
    pub scratch_size: u64,
    pub dispatch_id: u64,
    /// Bytes of LDS that a workgroup is allocated.
    pub lds_allocated: u32,
    pub traps: TrapSetup,
    /// Computed for the first wave.
    pub chip: OnceLock<Chip>,
}

/// What all waves have in common that the chip holds at once.
#[derive(Debug)]
pub(super) struct Chip {
    /// Workgroups of the grid in X and Y.
    groups: [u64; 2],
    /// The waves of each resident workgroup.
    waves: Vec<Identity>,
    /// The rows with the ids of the work-items, for each wave of a workgroup of the full size.
    ids: Vec<Ids>,
    /// User SGPRs from S0 on.
    user_sgprs: Vec<u32>,
}

/// The registers from which a wave reads where it runs.
#[derive(Clone, Copy, Debug)]
struct Identity {
    hw_id: u32,
    gpr_alloc: u32,
    lds_alloc: u32,
    xcc_id: u32,
}

impl InitialState {
    /// Whether hardware sets FLAT_SCRATCH up, and only scratch instructions reach scratch memory.
    fn architected_scratch(&self) -> bool {
        self.target.generation().architected_scratch
    }

    /// Work-item ids are packed into V0.
    pub(super) fn packed_ids(&self) -> bool {
        self.target.facts().packed_work_item_ids
    }

    fn chip(&self, counts: RegisterCounts) -> &Chip {
        self.chip.get_or_init(|| {
            let groups = |d: usize| self.global_size[d].div_ceil(u64::from(self.workgroup_size[d].max(1)));
            let slots = 0..self.resident.max(1);
            let waves = slots.flat_map(|slot| (0..self.waves).map(move |wave| (slot, wave)));
            Chip {
                groups: [groups(0), groups(1)],
                waves: waves.map(|(slot, wave)| self.identity(slot, wave, counts)).collect(),
                ids: (0..self.waves).map(|wave| self.rows_of_ids(self.workgroup_size, wave)).collect(),
                user_sgprs: self.user_sgprs.clone().unwrap_or_else(|| self.described_user_sgprs()),
            }
        })
    }

    /// The identity of a wave of a resident workgroup.
    fn identity(&self, slot: u32, wave: u32, counts: RegisterCounts) -> Identity {
        let location = self.product.location(slot, self.waves, wave);
        let (sgprs, [vgprs, accs]) = (counts.allocated_cells(), counts.rows);
        Identity {
            hw_id: location.hw_id(self.target),
            gpr_alloc: location.gpr_alloc(self.target, sgprs, vgprs, accs),
            lds_alloc: location.lds_alloc(self.lds_allocated),
            xcc_id: location.xcc,
        }
    }

    /// Sets the system SGPRs, which follow the user SGPRs that the descriptor counts.
    fn init_system_sgprs(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        let chip = self.chip(regs.counts());
        let d = &self.descriptor;
        let wave_scratch = u64::from(slot) * self.scratch_per_wave;
        let next = (chip.user_sgprs.len() as u16).max(d.rsrc2.user_sgpr_count() as u16);
        let mut s = Sgprs { regs, next };
        if d.rsrc2.workgroup_id_x() {
            s.push(workgroup[0]);
        }
        if d.rsrc2.workgroup_id_y() {
            s.push(workgroup[1]);
        }
        if d.rsrc2.workgroup_id_z() {
            s.push(workgroup[2]);
        }
        if d.rsrc2.workgroup_info() {
            let waves = self.work_items(workgroup).div_ceil(LANES as u32);
            // Without a global data share there is no ordered count, and the field is 0 (CDNA4 ISA 3.13).
            let order = match self.target.facts().gds {
                true => chip.number(workgroup).wrapping_mul(self.waves.into()).wrapping_add(wave.into()),
                false => 0,
            };
            let order = order as u32 % TURNS;
            s.push(u32::from(wave == 0) << 31 | (wave & 0x1f) << 20 | order << 6 | waves & 0x3f);
        }
        if d.rsrc2.enable_private_segment() {
            if self.architected_scratch() {
                regs.set_uni64(registers::FLAT_SCRATCH, self.scratch + wave_scratch);
            } else {
                s.push(wave_scratch as u32);
            }
        }
    }

    /// Buffer resource of scratch memory: swizzled by lane, 4-byte elements, 64 lanes (AMDGPUUsage, "Private Segment
    /// Buffer").
    fn scratch_resource(&self) -> [u32; 4] {
        const SWIZZLE: u32 = 1 << 31;
        const ADD_TID: u32 = 1 << 23;
        const INDEX_STRIDE_64: u32 = 3 << 21;
        [
            self.scratch as u32,
            (self.scratch >> 32) as u32 & 0xffff | SWIZZLE,
            u32::try_from(self.scratch_size).unwrap_or(u32::MAX),
            ADD_TID | INDEX_STRIDE_64,
        ]
    }

    /// The user SGPRs that the descriptor describes.
    fn described_user_sgprs(&self) -> Vec<u32> {
        let mut s = Words(Vec::new());
        let d = &self.descriptor;
        let p = d.properties;
        if p.private_segment_buffer() {
            for word in self.scratch_resource() {
                s.push(word);
            }
        }
        if p.dispatch_ptr() {
            s.push64(self.packet);
        }
        if p.queue_ptr() {
            s.push64(self.queue);
        }
        if p.kernarg_segment_ptr() {
            s.push64(self.kernarg);
        }
        if p.dispatch_id() {
            s.push64(self.dispatch_id);
        }
        if p.flat_scratch_init() {
            s.push64(self.scratch);
        }
        if p.private_segment_size() {
            s.push((self.scratch_per_wave / LANES as u64) as u32);
        }
        let first = d.kernarg_preload.offset() as usize;
        for n in 0..d.kernarg_preload.length() as usize {
            s.push(self.kernarg_words.get(first + n).copied().unwrap_or(0));
        }
        s.0
    }
}

impl Chip {
    /// The number of a workgroup in the order of launch.
    fn number(&self, workgroup: [u32; 3]) -> u64 {
        let [x, y, z] = workgroup.map(u64::from);
        // The search for misread arguments makes up workgroups that no grid has.
        let row = y.wrapping_add(self.groups[1].wrapping_mul(z));
        x.wrapping_add(self.groups[0].wrapping_mul(row))
    }
}

const fn ttmp(n: u16) -> Uni {
    Uni(registers::TTMP0.0 + n)
}

/// The registers that say where a wave runs, and those that architected SGPRs have of the launch.
const RARE: [Uni; 10] = [
    ttmp(6),
    ttmp(7),
    ttmp(8),
    ttmp(9),
    ttmp(10),
    ttmp(11),
    registers::HW_ID,
    registers::GPR_ALLOC,
    registers::LDS_ALLOC,
    registers::XCC_ID,
];

/// Hands out SGPRs in order.
struct Sgprs<'a> {
    regs: &'a mut Registers,
    next: u16,
}

impl Sgprs<'_> {
    fn push(&mut self, value: u32) {
        self.regs.set_uni(Uni(self.next), value);
        self.next += 1;
    }
}

/// Values of SGPRs in order.
struct Words(Vec<u32>);

impl Words {
    fn push(&mut self, value: u32) {
        self.0.push(value);
    }

    fn push64(&mut self, value: u64) {
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }
}

impl WaveInit for InitialState {
    fn work_items(&self, workgroup: [u32; 3]) -> u32 {
        size_of(workgroup, self.workgroup_size, self.global_size).iter().product()
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        let chip = self.chip(regs.counts());
        for (n, word) in (0..).zip(&chip.user_sgprs) {
            regs.set_uni(Uni(n), *word);
        }
        let size = size_of(workgroup, self.workgroup_size, self.global_size);
        self.init_system_sgprs(workgroup, wave, slot, regs);
        self.traps.init(regs);
        let known = chip.ids.get(wave as usize).filter(|_| size == self.workgroup_size);
        let own;
        let ids = match known {
            Some(ids) => ids,
            None => {
                own = self.rows_of_ids(size, wave);
                &own
            }
        };
        for (number, row) in (0..).zip(&ids[..self.rows_with_ids()]) {
            regs.set_row(registers::vgpr(number), row);
        }
    }

    fn init_like_first(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        self.init_system_sgprs(workgroup, wave, slot, regs);
    }

    /// The ids of work-items.
    fn shapes(&self) -> Entry {
        let size = size_of([0; 3], self.workgroup_size, self.global_size);
        let waves = size.iter().product::<u32>() / LANES as u32;
        let ids: Vec<Ids> = (0..waves).map(|wave| self.rows_of_ids(size, wave)).collect();
        let rows = (0..self.rows_with_ids()).filter(|_| !ids.is_empty());
        let shape = |row: usize| Shape::any_of(ids.iter().map(|rows| &rows[row]));
        let rows = rows.map(|row| (registers::vgpr(row as u16), shape(row))).collect();
        Entry { rows_in_all_lanes: rows, ..Entry::default() }
    }

    fn rare(&self) -> &[Uni] {
        &RARE
    }

    fn init_rare(&self, workgroup: [u32; 3], wave: u32, regs: &mut Registers) {
        let counts = regs.counts();
        let chip = self.chip(counts);
        if self.target.facts().architected_sgprs {
            regs.set_uni64(ttmp(6), self.packet);
            for (n, groups) in self.global_size.iter().enumerate() {
                regs.set_uni(ttmp(8 + n as u16), *groups as u32);
            }
            regs.set_uni(ttmp(11), wave);
        }
        // The first workgroups fill the chip. Each later one is where an earlier one was. The number
        // of the workgroup decides, so every run gives the same answer.
        let resident = (chip.number(workgroup) % u64::from(self.resident.max(1))) as u32;
        let known = chip.waves.get(resident as usize * self.waves as usize + wave as usize).copied();
        let identity = known.unwrap_or_else(|| self.identity(resident, wave, counts));
        regs.set_uni(registers::HW_ID, identity.hw_id);
        regs.set_uni(registers::GPR_ALLOC, identity.gpr_alloc);
        regs.set_uni(registers::LDS_ALLOC, identity.lds_alloc);
        regs.set_uni(registers::XCC_ID, identity.xcc_id);
    }

    /// SGPRs, VCC and M0.
    fn unwritten(&self) -> Vec<Uni> {
        (0..registers::TTMP0.0).map(Uni).chain([registers::M0]).collect()
    }

    fn traps(&self) -> Option<&dyn Traps> {
        self.traps.handler.as_ref().map(|handler| handler as &dyn Traps)
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        let size = self.scratch_per_wave;
        (size > 0).then(|| (self.scratch + u64::from(slot) * size, size))
    }
}

impl InitialState {
    /// Dimensions of which the kernel requests the ids of work-items.
    fn requested_ids(&self) -> usize {
        self.descriptor.rsrc2.workitem_id().min(2) as usize + 1
    }

    /// Rows in which the kernel gets them.
    fn rows_with_ids(&self) -> usize {
        if self.packed_ids() { 1 } else { self.requested_ids() }
    }

    /// The rows from V0 on with the ids of the work-items of a wave.
    fn rows_of_ids(&self, size: [u32; 3], wave: u32) -> Ids {
        let mut rows = ids_of_wave(size, wave);
        if self.packed_ids() {
            // X in bits 9:0, Y in 19:10, Z in 29:20; only X where the kernel requests no more.
            let [packed, others @ ..] = &mut rows;
            for (d, ids) in (1..self.requested_ids()).zip(others) {
                for (packed, id) in packed.iter_mut().zip(ids) {
                    *packed |= (*id & 0x3ff) << (10 * d);
                }
            }
        }
        rows
    }
}

/// MODE at the start of a wave: float modes from bits 19:12 of rsrc1, DX10_CLAMP, IEEE, FP16_OVFL;
/// enabled exceptions from bits 30:24 of rsrc2 (AMDGPUUsage, "compute_pgm_rsrc2").
pub(super) fn initial_mode(d: &KernelDescriptor) -> u32 {
    const EXCEPTIONS: u32 = 24;
    u32::from(d.initial_float_mode())
        | (d.rsrc2.0 >> EXCEPTIONS & 0x7f) << registers::MODE_EXCP_EN
        | u32::from(d.rsrc1.dx10_clamp()) << 8
        | u32::from(d.rsrc1.ieee_mode()) << 9
        | u32::from(d.rsrc1.fp16_overflow()) << 23
}
