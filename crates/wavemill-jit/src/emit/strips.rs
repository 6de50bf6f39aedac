//! Emits strip code: once for each strip, with the registers of the strip.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register, RoundingControl};
use wavemill_ir::Round;

use super::Emitter;
use super::assembler::{Label, in_file};
use super::memory::Handler;
use super::registers::{STRIPS, active, mask_temp, of_group, temp};
use super::rows::Rows;
use crate::lir::{Dst, Refused, Src, Step, Strip, Where, rounds};

/// An operand of an instruction.
enum Operand {
    Register(Register),
    Memory(MemoryOperand),
}

/// Instructions whose destination is a source, too.
fn accumulates(code: Code) -> bool {
    matches!(
        code,
        Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8
            | Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er
    )
}

/// The register of the lower half of a vector.
fn lower_half(vector: Register) -> Register {
    Register::YMM0 + (vector as u32 - Register::ZMM0 as u32)
}

/// The rounding mode of an instruction.
const fn rounding(round: Round) -> RoundingControl {
    match round {
        Round::NearestEven => RoundingControl::RoundToNearest,
        Round::PlusInf => RoundingControl::RoundUp,
        Round::MinusInf => RoundingControl::RoundDown,
        Round::Zero => RoundingControl::RoundTowardZero,
    }
}

/// An instruction of two or three operands and perhaps an immediate.
fn instruction(
    code: Code,
    dst: Register,
    a: Option<Register>,
    b: Operand,
    imm: Option<u8>,
) -> Result<Instruction, IcedError> {
    let (dst, b) = match (code, b) {
        (
            Code::EVEX_Vpmovdw_ymmm256_k1z_zmm
            | Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae
            | Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er
            | Code::EVEX_Vextractf32x8_ymmm256_k1z_zmm_imm8,
            b,
        ) => (lower_half(dst), b),
        (
            Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae
            | Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256
            | Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae
            | Code::EVEX_Vinsertf32x8_zmm_k1z_zmm_ymmm256_imm8,
            Operand::Register(b),
        ) => (dst, Operand::Register(lower_half(b))),
        (_, b) => (dst, b),
    };
    let imm = imm.map(u32::from);
    match (a, b, imm) {
        (None, Operand::Register(b), None) => Instruction::with2(code, dst, b),
        (None, Operand::Memory(b), None) => Instruction::with2(code, dst, b),
        (None, Operand::Register(b), Some(imm)) => Instruction::with3(code, dst, b, imm),
        (None, Operand::Memory(b), Some(imm)) => Instruction::with3(code, dst, b, imm),
        (Some(a), Operand::Register(b), None) => Instruction::with3(code, dst, a, b),
        (Some(a), Operand::Memory(b), None) => Instruction::with3(code, dst, a, b),
        (Some(a), Operand::Register(b), Some(imm)) => Instruction::with4(code, dst, a, b, imm),
        (Some(a), Operand::Memory(b), Some(imm)) => Instruction::with4(code, dst, a, b, imm),
    }
}

/// How the result rows of an operation are written.
#[derive(Clone)]
struct Results {
    /// Rows with the groups that receive them.
    groups: Vec<(u32, usize)>,
    /// The groups are new: the old rows stay as they are until the operation is done.
    fresh: bool,
    /// Only active lanes are written.
    masked: bool,
    /// How instructions that round do it.
    round: Round,
}

impl Emitter<'_> {
    /// The operation after `at` that reads a row next; the number after all for rows that the loop keeps in registers.
    fn next_use(&self, row: u32, at: usize) -> u32 {
        let block = &self.plan.blocks[self.version.block];
        let reads = block.reads.get(&row).map_or(&[][..], Vec::as_slice);
        let next = reads.get(reads.partition_point(|read| *read as usize <= at));
        let node = &self.plan.nodes[self.plan.numbers[&self.version]];
        let is_hot = || {
            let hot =
                node.hot_loop.is_some_and(|n| self.plan.loops[n].rows.iter().any(|(hot, _)| *hot == row));
            if hot { block.how.len() as u32 } else { u32::MAX }
        };
        next.copied().unwrap_or_else(is_hot)
    }

    /// Whether nothing from the operation `at` on reads a row: it is a temporary that its block has done with.
    fn is_dead_at(&self, row: u32, at: usize) -> bool {
        let block = &self.plan.blocks[self.version.block];
        self.plan.is_temporary(row) && block.last_read.get(&row).is_none_or(|last| (*last as usize) < at)
    }

    /// A group for a row, after another row has left it if need be.
    pub(super) fn group(&mut self, at: usize, pinned: u32) -> Option<usize> {
        if let Some(group) = self.rows.free(pinned) {
            return Some(group);
        }
        let (group, row, dirty) = self.rows.victim(pinned, |row| self.next_use(row, at))?;
        if dirty && !self.is_dead_at(row, at) {
            self.store_row(group, row);
        }
        self.rows.release(group);
        Some(group)
    }

    /// The group of a row, which is at its home from here on.
    fn send_home(&mut self, row: u32) -> Option<usize> {
        let group = self.rows.find(row)?;
        if self.rows.is_dirty(group) {
            self.store_row(group, row);
        }
        self.rows.release(group);
        Some(group)
    }

    /// Emits an operation. Returns whether there were enough registers; nothing has happened otherwise, but rows may have
    /// moved.
    pub(super) fn strip(&mut self, strip: &Strip, at: usize) -> bool {
        let masked = !strip.all_lanes && !self.full;
        if masked {
            self.load_masks();
        }
        let mut pinned = 0u32;
        let sources = strip.sources();
        for row in &sources {
            if let Some(group) = self.rows.find(*row) {
                pinned |= 1 << group;
            }
        }
        let needs_register = |row: u32| {
            strip.needs_register(Src::Row(row))
                || matches!(strip.refuses, Refused::Sources(both) if both.contains(&Src::Row(row)))
        };
        for row in &sources {
            if self.rows.find(*row).is_some() {
                continue;
            }
            if needs_register(*row) || self.next_use(*row, at) != u32::MAX {
                // The operation itself still reads rows that have no register yet: from memory.
                match self.group(at, pinned) {
                    Some(group) => {
                        self.load_row(group, *row);
                        self.rows.hold(group, *row, false);
                        pinned |= 1 << group;
                    }
                    None if needs_register(*row) => return false,
                    None => {}
                }
            }
        }
        let fresh = strip.refuses != Refused::Nothing || strip.reads_after_write();
        let mut results = Results { groups: Vec::new(), fresh, masked, round: strip.round };
        let kept = strip.results();
        for row in kept.iter().copied() {
            let mut old = self.rows.find(row);
            if old.is_none() && masked {
                let Some(group) = self.group(at, pinned) else { return false };
                self.load_row(group, row);
                self.rows.hold(group, row, false);
                old = Some(group);
            }
            if let Some(group) = old {
                pinned |= 1 << group;
            }
            let group = match old {
                Some(group) if !fresh => Some(group),
                _ => self.group(at, pinned).or_else(|| {
                    // Sources that instructions can read from memory make room.
                    let mut spare =
                        sources.iter().filter(|row| !needs_register(**row) && !kept.contains(row));
                    let row = *spare.find(|row| self.rows.find(**row).is_some())?;
                    self.send_home(row)
                }),
            };
            let Some(group) = group else { return false };
            pinned |= 1 << group;
            results.groups.push((row, group));
        }
        let refused = self.handler_labels();
        let before = self.rows.clone();
        self.steps(strip, &results, refused.entry);
        let handler = match &strip.otherwise {
            None => refused,
            Some(otherwise) => {
                let computed = self.asm.label();
                self.asm.bind(computed);
                let handler = Handler { entry: self.asm.label(), back: refused.back };
                self.otherwise_later(
                    otherwise,
                    &results,
                    before.clone(),
                    refused.entry,
                    computed,
                    handler.entry,
                );
                handler
            }
        };
        for (row, group) in &results.groups {
            match self.rows.find(*row) {
                Some(old) if results.fresh && results.masked => {
                    for strip in 0..STRIPS {
                        let code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
                        let copy = Instruction::with2(code, of_group(old, strip), of_group(*group, strip));
                        self.asm.put(copy.map(|mut copy| {
                            copy.set_op_mask(active(strip));
                            copy
                        }));
                    }
                    self.rows.hold(old, *row, true);
                }
                _ => self.rows.hold(*group, *row, true),
            }
        }
        if strip.refuses != Refused::Nothing {
            self.asm.bind(refused.back);
            let group = |row: u32| self.rows.find(row).expect("results are in registers");
            let results = results.groups.iter().map(|(row, _)| (*row, group(*row))).collect();
            let has_handler = strip.otherwise.as_ref().is_none_or(|other| other.refuses != Refused::Nothing);
            if has_handler {
                self.handler_later(at, handler, before, results);
            }
        }
        true
    }

    /// Emits later, at `entry`, code for what the inline code of an operation refuses: with the rows and the results in the
    /// same registers. It goes to `computed`, or to `refused` with what it refuses itself.
    fn otherwise_later(
        &mut self,
        otherwise: &Strip,
        results: &Results,
        before: Rows,
        entry: Label,
        computed: Label,
        refused: Label,
    ) {
        let (otherwise, results, version) = (otherwise.clone(), results.clone(), self.version);
        let results = Results { round: otherwise.round, ..results };
        self.later.push(Box::new(move |e| {
            (e.version, e.rows) = (version, before);
            e.asm.bind(entry);
            e.steps(&otherwise, &results, refused);
            e.asm.jump(Code::Jmp_rel32_64, computed);
        }));
    }

    fn steps(&mut self, strip: &Strip, results: &Results, refused: Label) {
        if let Refused::Bits { cell, bits } = strip.refuses {
            self.asm.put(Instruction::with2(Code::Test_rm32_imm32, in_file(cell), bits as i32));
            self.asm.jump(Code::Jne_rel32_64, refused);
        }
        let uses_masks = strip.steps.iter().any(|step| {
            !matches!(step, Step::Vector { dst: Dst::Row(_) | Dst::Temp(_), lanes: Where::Everywhere, .. })
        });
        let refuses_sources = matches!(strip.refuses, Refused::Sources(_));
        if strip.temps <= 1 && !uses_masks && !refuses_sources {
            for step in &strip.steps {
                for n in 0..STRIPS {
                    self.step(step, n, |_| temp(n), results);
                }
            }
        } else {
            for n in 0..STRIPS {
                for step in &strip.steps {
                    self.step(step, n, |number| temp(number.into()), results);
                }
                if let Refused::Sources([a, b]) = strip.refuses {
                    self.unordered_sources(a, b, n, results);
                }
                if strip.refuses == Refused::Lanes {
                    let (all, found) = (mask_temp(2), mask_temp(0));
                    self.asm.put(if n == 0 {
                        Instruction::with2(Code::VEX_Kmovw_kr_km16, all, found)
                    } else {
                        Instruction::with3(Code::VEX_Korw_kr_kr_kr, all, all, found)
                    });
                }
                if let Some((mask, _)) = strip.mask_result {
                    self.collect_mask(mask_temp(mask.into()), n);
                }
            }
        }
        match strip.refuses {
            Refused::Nothing => {}
            Refused::Bits { .. } => {}
            Refused::WideResults => self.refuse_full_exponents(results, refused),
            Refused::Results => self.refuse_nans(results, refused),
            Refused::Sources(_) | Refused::Lanes => {
                let all = mask_temp(if strip.refuses == Refused::Lanes { 2 } else { 1 });
                self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, all, all));
                self.asm.jump(Code::Jne_rel32_64, refused);
            }
        }
        if let Some((_, cells)) = strip.mask_result {
            self.asm.put(Instruction::with2(Code::Mov_rm64_r64, in_file(cells), Register::RAX));
        }
    }

    fn operand(&mut self, src: Src, n: usize, temp: impl Fn(u8) -> Register, code: Code) -> Operand {
        let broadcast = code != Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        match src {
            Src::Temp(number) => Operand::Register(temp(number)),
            Src::Row(row) => match self.rows.find(row) {
                Some(group) => Operand::Register(of_group(group, n)),
                None => Operand::Memory(in_file(row + 64 * n as u32)),
            },
            Src::Cell(cell) => {
                let mut cell = in_file(cell);
                cell.is_broadcast = broadcast;
                Operand::Memory(cell)
            }
            Src::Const(value) => Operand::Memory(self.asm.constant(value, broadcast)),
            Src::CellPair(cells) => {
                let mut cells = in_file(cells);
                cells.is_broadcast = code != Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
                Operand::Memory(cells)
            }
            Src::ConstPair(value) => {
                let broadcast = code != Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64;
                Operand::Memory(self.asm.constant_pair(value, broadcast))
            }
            Src::Below { first, end } => {
                let below =
                    |lane: usize| (16 * n + lane).clamp(first.into(), end.into()) - usize::from(first);
                Operand::Memory(self.asm.vector(std::array::from_fn(|lane| below(lane) as u32)))
            }
            Src::Quad(values) => {
                Operand::Memory(self.asm.vector(std::array::from_fn(|lane| values[lane % 4])))
            }
        }
    }

    fn step(&mut self, step: &Step, n: usize, temp: impl Fn(u8) -> Register, results: &Results) {
        match *step {
            Step::Vector { code, dst, a, b, imm, lanes, round } => {
                let a = a.map(|a| match self.operand(a, n, &temp, code) {
                    Operand::Register(register) => register,
                    Operand::Memory(_) => unreachable!("first sources are in registers"),
                });
                let b = self.operand(b, n, &temp, code);
                let (register, mask, zero) = match dst {
                    Dst::Row(row) => {
                        let group = results.groups.iter().find(|(result, _)| *result == row);
                        let group = group.expect("each result has a group").1;
                        let (mask, zero) = match lanes {
                            Where::Mask(mask) => (Some(mask_temp(mask.into())), false),
                            _ => (results.masked.then(|| active(n)), results.fresh && !accumulates(code)),
                        };
                        (of_group(group, n), mask, zero)
                    }
                    Dst::Temp(number) => {
                        let (mask, zero) = match lanes {
                            Where::Mask(mask) => (Some(mask_temp(mask.into())), false),
                            Where::Everywhere | Where::Active => (None, false),
                        };
                        (temp(number), mask, zero)
                    }
                    Dst::Mask(number) => {
                        let mask = match lanes {
                            Where::Mask(mask) => Some(mask_temp(mask.into())),
                            Where::Active => results.masked.then(|| active(n)),
                            Where::Everywhere => None,
                        };
                        (mask_temp(number.into()), mask, false)
                    }
                };
                let made = instruction(code, register, a, b, imm);
                self.asm.put(made.map(|mut made| {
                    let round = round.unwrap_or(results.round);
                    if round != Round::NearestEven && rounds(code) {
                        made.set_rounding_control(rounding(round));
                    }
                    if let Some(mask) = mask {
                        made.set_op_mask(mask);
                        made.set_zeroing_masking(zero);
                    }
                    made
                }));
            }
            Step::Mask { code, dst, a, b } => {
                let [dst, a, b] = [dst, a, b].map(|mask| mask_temp(mask.into()));
                self.asm.put(match code {
                    Code::VEX_Knotw_kr_kr => Instruction::with2(code, dst, a),
                    _ => Instruction::with3(code, dst, a, b),
                });
            }
            Step::LoadMask { dst, cells } => {
                let word = in_file(cells + 2 * n as u32);
                self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, mask_temp(dst.into()), word));
            }
            Step::BytesToMask { dst, a } => {
                if let Operand::Register(a) = self.operand(a, n, &temp, Code::EVEX_Vpmovb2m_kr_zmm) {
                    let dst = mask_temp(dst.into());
                    self.asm.put(Instruction::with2(Code::EVEX_Vpmovb2m_kr_zmm, dst, a));
                }
            }
            Step::Bytes { code, dst, a, b, mask } => {
                let a = self.operand(a, n, &temp, code);
                let b = self.operand(b, n, &temp, code);
                if let Operand::Register(a) = a {
                    let made = instruction(code, temp(dst), Some(a), b, None);
                    self.asm.put(made.map(|mut made| {
                        made.set_op_mask(mask_temp(mask.into()));
                        made
                    }));
                }
            }
            Step::AndActive { dst } => {
                if results.masked {
                    let dst = mask_temp(dst.into());
                    self.asm.put(Instruction::with3(Code::VEX_Kandw_kr_kr_kr, dst, dst, active(n)));
                }
            }
        }
    }

    /// Adds the strip's bits of a mask to those of the strips before it, which end up in `rax`.
    fn collect_mask(&mut self, mask: Register, n: usize) {
        let half = Register::K0;
        if n.is_multiple_of(2) {
            self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, half, mask));
            return;
        }
        self.asm.put(Instruction::with3(Code::VEX_Kunpckwd_kr_kr_kr, half, mask, half));
        if n == 1 {
            self.asm.put(Instruction::with2(Code::VEX_Kmovd_r32_kr, Register::EAX, half));
        } else {
            self.asm.put(Instruction::with2(Code::VEX_Kmovd_r32_kr, Register::EDX, half));
            self.asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RDX, 32));
            self.asm.put(Instruction::with2(Code::Or_r64_rm64, Register::RAX, Register::RDX));
        }
    }

    /// Collects in mask 1 the lanes with a NaN among two sources.
    fn unordered_sources(&mut self, a: Src, b: Src, n: usize, results: &Results) {
        const UNORDERED: u32 = 3;
        let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        let number = |number: u8| temp(number.into());
        let Operand::Register(a) = self.operand(a, n, number, code) else {
            unreachable!("checked sources are in registers")
        };
        let Operand::Register(b) = self.operand(b, n, number, code) else {
            unreachable!("checked sources are in registers")
        };
        let found = mask_temp(if n == 0 { 1 } else { 0 });
        let test = Instruction::with4(code, found, a, b, UNORDERED);
        self.asm.put(test.map(|mut test| {
            if results.masked {
                test.set_op_mask(active(n));
            }
            test
        }));
        if n > 0 {
            let all = mask_temp(1);
            self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, all, all, found));
        }
    }

    /// Goes to a label if a f64 result is NaN or infinite: if its exponent is all ones.
    fn refuse_full_exponents(&mut self, results: &Results, refused: Label) {
        const NOT_LESS: u32 = 5;
        let Some((_, high)) = results.groups.get(1) else { return };
        let (all, found) = (mask_temp(0), mask_temp(1));
        for n in 0..STRIPS {
            // Without the sign.
            let code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
            self.asm.put(Instruction::with3(code, temp(n), of_group(*high, n), 1));
            let ones = self.asm.constant(0xffe0_0000, true);
            let code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            let mask = if n == 0 { all } else { found };
            self.asm.put(Instruction::with4(code, mask, temp(n), ones, NOT_LESS));
            if n > 0 {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, all, all, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, all, all));
        self.asm.jump(Code::Jne_rel32_64, refused);
    }

    /// Goes to a label if a result is NaN. One test covers two vectors.
    fn refuse_nans(&mut self, results: &Results, refused: Label) {
        const UNORDERED: u32 = 3;
        let groups = results.groups.iter();
        let vectors: Vec<Register> =
            groups.flat_map(|(_, group)| (0..STRIPS).map(|n| of_group(*group, n))).collect();
        let (all, found) = (mask_temp(0), mask_temp(1));
        let pairs = vectors.len() / 2;
        for (number, pair) in vectors.chunks(2).enumerate() {
            let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
            let mask = if number == 0 { all } else { found };
            self.asm.put(Instruction::with4(code, mask, pair[0], pair[pair.len() - 1], UNORDERED));
            if number > 0 && number + 1 < pairs {
                self.asm.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, all, all, found));
            }
        }
        self.asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, all, found));
        self.asm.jump(Code::Jne_rel32_64, refused);
    }
}
