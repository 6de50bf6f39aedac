//! An estimate of the time that machine code takes, to choose between ways to emit the same operations.
//!
//! A processor is simulated that executes instructions as soon as their sources are there. Its numbers are those of
//! cores that do two vector operations in a cycle, or one if it is not among the simple ones.

use std::collections::{HashMap, VecDeque};

use iced_x86::{Code, Instruction, OpKind, Register};

use super::strips::accumulates;

/// Instructions that enter in a cycle, and instructions that are in work at a time.
const ENTERING: u32 = 4;
const WINDOW: usize = 300;
/// Cycles from an address to a vector, and until an instruction has a result.
const LOAD: u32 = 7;
const SIMPLE: u32 = 1;
const OTHER: u32 = 4;
const DIVISION: u32 = 16;
/// Cycles in which a division leaves nothing to others, and in which a store does.
const DIVIDING: u32 = 9;
const STORING: u32 = 2;

/// What is in use in a cycle.
#[derive(Clone, Copy, Default)]
struct Cycle {
    vectors: u8,
    others: u8,
    loads: u8,
    stores: u8,
}

/// What an instruction needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing but its place.
    Nothing,
    /// A simple vector operation.
    Simple,
    /// Another vector operation.
    Other,
    /// A division or a root.
    Division,
    /// A store of a vector.
    Store,
}

/// The simulated processor.
pub(super) struct Timing {
    entered: u32,
    cycles: Vec<Cycle>,
    /// Cycles at which vector and mask registers have their values.
    registers: [u32; 40],
    /// The same for memory, by distance.
    stored: HashMap<(Register, u64), u32>,
    /// When the last instructions are done, in order.
    done: VecDeque<u32>,
}

/// The number of a vector or mask register.
fn number(register: Register) -> Option<usize> {
    let register = register as usize;
    let first = |first: Register, count: usize, base: usize| {
        register.checked_sub(first as usize).filter(|n| *n < count).map(|n| base + n)
    };
    let vectors = [Register::ZMM0, Register::YMM0, Register::XMM0];
    vectors.into_iter().find_map(|from| first(from, 32, 0)).or_else(|| first(Register::K0, 8, 32))
}

fn kind(instruction: &Instruction) -> Kind {
    let is_register = |n: u32| instruction.op_count() > n && instruction.op_kind(n) == OpKind::Register;
    let is_vector = |n: u32| is_register(n) && number(instruction.op_register(n)).is_some();
    match instruction.code() {
        Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm => Kind::Store,
        Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512 | Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512
            if instruction.op_mask() == Register::None =>
        {
            Kind::Nothing
        }
        Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32 | Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64
            if !is_register(1) =>
        {
            Kind::Nothing
        }
        Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er
        | Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er
        | Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er
        | Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er => Kind::Division,
        Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64
        | Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64
        | Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32
        | Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8
        | Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512
        | Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512 => Kind::Simple,
        Code::VEX_Kmovw_kr_km16 if !is_register(1) => Kind::Nothing,
        _ if is_vector(0) || is_vector(1) => Kind::Other,
        _ => Kind::Nothing,
    }
}

impl Timing {
    pub(super) fn new() -> Timing {
        Timing {
            entered: 0,
            cycles: Vec::new(),
            registers: [0; 40],
            stored: HashMap::new(),
            done: VecDeque::new(),
        }
    }

    /// The cycle after all instructions.
    pub(super) fn end(&self) -> u32 {
        self.done.back().copied().unwrap_or(0)
    }

    /// The first cycle from one on in which something is free. It is in use for some cycles then.
    fn take(
        &mut self,
        from: u32,
        count: u32,
        is_free: impl Fn(&Cycle) -> bool,
        take: impl Fn(&mut Cycle),
    ) -> u32 {
        let mut at = from as usize;
        loop {
            if self.cycles.len() < at + count as usize {
                self.cycles.resize(at + count as usize, Cycle::default());
            }
            if is_free(&self.cycles[at]) {
                self.cycles[at..at + count as usize].iter_mut().for_each(&take);
                return at as u32;
            }
            at += 1;
        }
    }

    pub(super) fn add(&mut self, instruction: &Instruction) {
        let kind = kind(instruction);
        let mut start = self.entered / ENTERING;
        self.entered += 1;
        let window = if self.done.len() < WINDOW { None } else { self.done.front().copied() };
        start = start.max(window.unwrap_or(0));
        let entry = start;
        let is_masked = instruction.op_mask() != Register::None;
        // Tests have no result.
        let is_test = matches!(instruction.code(), Code::VEX_Kortestw_kr_kr);
        let keeps = accumulates(instruction.code()) || (is_masked && !instruction.zeroing_masking());
        let mut memory = None;
        for n in 0..instruction.op_count() {
            match instruction.op_kind(n) {
                OpKind::Register if n > 0 || is_test || keeps => {
                    if let Some(number) = number(instruction.op_register(n)) {
                        start = start.max(self.registers[number]);
                    }
                }
                OpKind::Memory => {
                    memory = Some((n, (instruction.memory_base(), instruction.memory_displacement64())));
                }
                _ => {}
            }
        }
        if let Some(mask) = number(instruction.op_mask()) {
            start = start.max(self.registers[mask]);
        }
        if let Some((1.., place)) = memory {
            let from = self.stored.get(&place).copied().unwrap_or(0).max(entry);
            let loaded = self.take(from, 1, |cycle| cycle.loads == 0, |cycle| cycle.loads = 1);
            start = start.max(loaded + LOAD);
        }
        let end = match kind {
            Kind::Nothing => start,
            Kind::Simple => self.take(start, 1, |c| c.vectors < 2, |c| c.vectors += 1) + SIMPLE,
            Kind::Other => {
                let is_free = |c: &Cycle| c.vectors < 2 && c.others == 0;
                self.take(start, 1, is_free, |c| (c.vectors, c.others) = (c.vectors + 1, 1)) + OTHER
            }
            Kind::Division => {
                let is_free = |c: &Cycle| c.vectors < 2 && c.others == 0;
                self.take(start, DIVIDING, is_free, |c| (c.vectors, c.others) = (c.vectors + 1, 1)) + DIVISION
            }
            Kind::Store => self.take(start, STORING, |c| c.stores == 0, |c| c.stores = 1) + STORING,
        };
        match memory {
            Some((0, place)) => {
                self.stored.insert(place, end);
            }
            _ if !is_test && instruction.op_count() > 0 && instruction.op_kind(0) == OpKind::Register => {
                if let Some(number) = number(instruction.op_register(0)) {
                    self.registers[number] = end;
                }
            }
            _ => {}
        }
        if self.done.len() == WINDOW {
            self.done.pop_front();
        }
        self.done.push_back(end.max(self.end()));
    }
}
