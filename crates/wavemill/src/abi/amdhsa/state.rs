//! Initial registers of waves (AMDGPUUsage, "Initial Kernel Execution State").

use wavemill_ir::{LANES, Uni};
use wavemill_isa::Target;
use wavemill_machine::{Registers, TURNS, Traps, WaveInit};
use wavemill_object::KernelDescriptor;

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

    /// Size of a workgroup; smaller at the edge of a grid that is not a multiple of it.
    fn size_of(&self, workgroup: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|d| {
            let before = u64::from(workgroup[d]) * u64::from(self.workgroup_size[d]);
            u64::from(self.workgroup_size[d]).min(self.global_size[d].saturating_sub(before)) as u32
        })
    }

    /// The location of a wave on the chip. The first workgroups fill the chip. Each later one is
    /// where an earlier one was. The number of the workgroup decides, so every run gives the same
    /// answer.
    fn location(&self, workgroup: [u32; 3], wave: u32) -> registers::Location {
        let slot = self.number(workgroup) % u64::from(self.resident.max(1));
        self.product.location(slot as u32, self.waves, wave)
    }

    /// The number of a workgroup in the order of launch.
    fn number(&self, workgroup: [u32; 3]) -> u64 {
        let count = |d: usize| self.global_size[d].div_ceil(u64::from(self.workgroup_size[d].max(1)));
        let [x, y, z] = workgroup.map(u64::from);
        // The search for misread arguments makes up workgroups that no grid has.
        let row = y.wrapping_add(count(1).wrapping_mul(z));
        x.wrapping_add(count(0).wrapping_mul(row))
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
}

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

    fn push64(&mut self, value: u64) {
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }
}

impl WaveInit for InitialState {
    fn work_items(&self, workgroup: [u32; 3]) -> u32 {
        self.size_of(workgroup).iter().product()
    }

    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        let d = &self.descriptor;
        let p = d.properties;
        let wave_scratch = u64::from(slot) * self.scratch_per_wave;
        let mut s = Sgprs { regs, next: 0 };
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
        // System SGPRs follow the user SGPRs that the descriptor counts.
        s.next = s.next.max(d.rsrc2.user_sgpr_count() as u16);
        if d.rsrc2.workgroup_id_x() {
            s.push(workgroup[0]);
        }
        if d.rsrc2.workgroup_id_y() {
            s.push(workgroup[1]);
        }
        if d.rsrc2.workgroup_id_z() {
            s.push(workgroup[2]);
        }
        let size = self.size_of(workgroup);
        let waves = size.iter().product::<u32>().div_ceil(LANES as u32);
        if d.rsrc2.workgroup_info() {
            // Without a global data share there is no ordered count, and the field is 0 (CDNA4 ISA 3.13).
            let order = match self.target.facts().gds {
                true => self.number(workgroup).wrapping_mul(self.waves.into()).wrapping_add(wave.into()),
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
        if self.target.facts().architected_sgprs {
            let ttmp = |n| registers::TTMP0.plus(n);
            regs.set_uni64(ttmp(6), self.packet);
            for (n, groups) in self.global_size.iter().enumerate() {
                regs.set_uni(ttmp(8 + n as u16), *groups as u32);
            }
            regs.set_uni(ttmp(11), wave);
        }
        let location = self.location(workgroup, wave);
        let counts = regs.counts();
        let (sgprs, [vgprs, accs]) = (counts.allocated_cells(), counts.rows);
        regs.set_uni(registers::HW_ID, location.hw_id(self.target));
        regs.set_uni(registers::GPR_ALLOC, location.gpr_alloc(self.target, sgprs, vgprs, accs));
        regs.set_uni(registers::LDS_ALLOC, location.lds_alloc(self.lds_allocated));
        regs.set_uni(registers::XCC_ID, location.xcc);
        self.traps.init(regs);
        self.work_item_ids(size, wave, regs);
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
    fn work_item_ids(&self, size: [u32; 3], wave: u32, regs: &mut Registers) {
        let dims = self.descriptor.rsrc2.workitem_id().min(2) as usize + 1;
        let [nx, ny, _] = size.map(|n| n.max(1));
        // One division for the wave; the ids count up from lane to lane.
        let first = wave * LANES as u32;
        let mut at = [first % nx, first / nx % ny, first / nx / ny];
        let ids = if at[0] + LANES as u32 <= nx {
            // The wave is within one row of the workgroup.
            [std::array::from_fn(|lane| at[0] + lane as u32), [at[1]; LANES], [at[2]; LANES]]
        } else {
            let mut ids = [[0; LANES]; 3];
            let [xs, ys, zs] = &mut ids;
            for ((x, y), z) in xs.iter_mut().zip(ys).zip(zs) {
                [*x, *y, *z] = at;
                at[0] += 1;
                if at[0] == nx {
                    (at[0], at[1]) = (0, at[1] + 1);
                    if at[1] == ny {
                        (at[1], at[2]) = (0, at[2] + 1);
                    }
                }
            }
            ids
        };
        if self.packed_ids() {
            // X in bits 9:0, Y in 19:10, Z in 29:20; only X where the kernel requests no more.
            let mut packed = ids[0];
            for (d, shift) in [(1, 10), (2, 20)] {
                if dims > d {
                    for (lane, id) in packed.iter_mut().zip(ids[d]) {
                        *lane |= (id & 0x3ff) << shift;
                    }
                }
            }
            regs.set_row(registers::vgpr(0), &packed);
        } else {
            for (d, row) in ids.iter().enumerate().take(dims) {
                regs.set_row(registers::vgpr(d as u16), row);
            }
        }
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
