//! Vector instructions whose lanes do not depend on one another.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Access, Elem, Encoding, Flag, Format, Inst, Modifiers, Operand, Role, State, Type};
use wavemill_reference::rows::{compare, float, integer, packed};
use wavemill_reference::{BF16, Env, F16, F32, F64, Field, Mode, Wide, clamp, dot2, fma, fma_mix, omod};

use super::operands::{self, Feed, feed, placed, registers};
use super::{EXEC, Gap, VCC, Wave};

/// The sources of a lane, with selects and signs.
struct Lane {
    s: [u128; 3],
    /// The old destination.
    old: u128,
    /// The lane's bit of the mask source.
    carry: bool,
    number: u32,
}

/// What a lane computes.
struct Found {
    bits: u128,
    mask: bool,
}

impl From<u128> for Found {
    fn from(bits: u128) -> Found {
        Found { bits, mask: false }
    }
}

fn float_format(elem: Elem) -> Option<wavemill_reference::Format> {
    match elem {
        Elem::F16 => Some(F16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

fn field_of(ty: Type) -> Field {
    if matches!(ty.elem, Elem::F16 | Elem::F64) { Field::Double } else { Field::Single }
}

/// A result after the output modifiers, element by element.
fn modified_output(ty: Type, m: &Modifiers, result: u128, env: Env) -> u128 {
    let Some(format) = float_format(ty.elem) else { return result };
    let mask = u128::from(u64::MAX >> (64 - format.bits));
    (0..u32::from(ty.count)).fold(0, |value, n| {
        let element = (result >> (n * format.bits) & mask) as u64;
        let scaled = omod(format, element, [0, 1, 2, -1][usize::from(m.omod)], env);
        let element = if m.clamp { clamp(format, scaled, env) } else { scaled };
        value | u128::from(element) << (n * format.bits)
    })
}

/// A source with absolute value, then negation.
fn signed(value: u128, bits: u32, abs: bool, neg: bool) -> u128 {
    let sign = 1u128 << (bits - 1);
    let value = if abs { value & !sign } else { value };
    if neg { value ^ sign } else { value }
}

/// The instruction with what all its lanes share.
struct Vector<'a> {
    inst: &'a Inst,
    name: &'static str,
    m: Modifiers,
    wave: &'a Wave,
}

impl Vector<'_> {
    fn target(&self) -> Target {
        self.inst.target()
    }

    fn ty(&self, role: Role) -> Type {
        self.inst.row().operand(role).map_or(Type { elem: Elem::B32, count: 0 }, |spec| spec.ty)
    }

    /// Whether OP_SEL selects halves of 16-bit operands.
    fn selects_halves(&self) -> bool {
        self.inst.encoding() == Encoding::Vop3a && self.inst.row().has(Flag::Opsel, self.target())
    }

    fn packed(&self) -> bool {
        self.inst.encoding() == Encoding::Vop3p
    }

    /// Source `n` of the operation in a lane.
    fn source(&self, n: usize, lane: usize, feed: Feed) -> Result<u128, Gap> {
        let role = [Role::Src0, Role::Src1, Role::Src2][n];
        let Some(spec) = self.inst.row().operand(role) else { return Ok(0) };
        if spec.ty.elem == Elem::Mask {
            return Ok(0);
        }
        let value = match feed {
            Feed::Zero if n == 0 => 0,
            Feed::Lane(from) if n == 0 => operands::source(self.inst, &self.m, spec, self.wave, from)?,
            _ => operands::source(self.inst, &self.m, spec, self.wave, lane)?,
        };
        let bit = |mask: u8| mask >> n & 1 != 0;
        if self.packed() {
            return Ok(value);
        }
        let half = spec.ty.bits() == 16 && spec.ty.count == 1 && self.selects_halves() && bit(self.m.op_sel);
        let value = if half { value >> 16 } else { value };
        // Conditional moves apply the signs of singles.
        let has_sign = spec.ty.elem.is_float() || self.name == "v_cndmask_b32";
        if !has_sign || !(bit(self.m.abs) || bit(self.m.neg)) {
            return Ok(value);
        }
        if spec.ty.count == 1 {
            return Ok(signed(value, spec.ty.elem.bits(), bit(self.m.abs), bit(self.m.neg)));
        }
        // Packed sources outside the packed encoding: negation is the sign of the low half, the absolute value bit
        // that of the high half.
        Ok(value ^ u128::from(bit(self.m.neg)) << 15 ^ u128::from(bit(self.m.abs)) << 31)
    }

    /// The element of source `n` that a result of the packed encoding reads, with its sign if it is a float.
    fn element(&self, lane: &Lane, n: usize, high: bool, bits: u32) -> u64 {
        let (select, negate) =
            if high { (self.m.op_sel_hi, self.m.neg_hi) } else { (self.m.op_sel, self.m.neg) };
        let value = lane.s[n] >> (if select >> n & 1 != 0 { bits } else { 0 }) & ((1 << bits) - 1);
        let float = self.ty([Role::Src0, Role::Src1, Role::Src2][n]).elem.is_float();
        signed(value, bits, false, float && negate >> n & 1 != 0) as u64
    }

    fn compute(&self, lane: &Lane) -> Result<Found, Gap> {
        let result = self.ty(Role::Vdst);
        if let Some(found) = self.special(lane)? {
            return Ok(found);
        }
        if let Some(found) = self.packed_float(lane) {
            return Ok(found.into());
        }
        if let Some(reference) = float::REFERENCES.iter().find(|r| r.name == self.name) {
            let source = self.ty(Role::Src0);
            let float_source = if source.elem.is_float() { source } else { result };
            let float_result = if result.elem.is_float() { result } else { float_source };
            let sources = float::Sources {
                s: lane.s.map(|s| s as u64),
                old: lane.old as u64,
                env: reference.env(self.wave.mode),
                vcc: self.wave.pair(VCC) >> lane.number & 1 != 0,
                dot_keeps: self.dot_keeps(),
            };
            let found = reference.apply(&sources);
            let env = reference.output_env(self.wave.mode, field_of(float_source), field_of(float_result));
            return Ok(Found {
                bits: modified_output(result, &self.m, found.bits.into(), env),
                mask: found.mask,
            });
        }
        if let Some(reference) = integer::REFERENCES.iter().find(|r| r.name == self.name) {
            let mut s = lane.s;
            if self.packed() && !self.inst.row().has(Flag::Noopsel, self.target()) {
                for (n, s) in s.iter_mut().enumerate() {
                    let packed = self.ty([Role::Src0, Role::Src1, Role::Src2][n]).count == 2;
                    if packed {
                        let [low, high] = [false, true].map(|high| self.element(lane, n, high, 16));
                        *s = u128::from(low | high << 16);
                    }
                }
            }
            let sources = integer::Sources { s, old: lane.old, carry: lane.carry, lane: lane.number };
            let found = (reference.apply)(&sources);
            return Ok(Found { bits: found.bits(self.m.clamp), mask: found.mask });
        }
        Err(Gap("no reference"))
    }

    /// Whether dot products of f16 keep denormal factors: measured on gfx90a, which flushes, and on gfx950 and others,
    /// which keep them (`llvm/llvm-project` pull request 205101).
    fn dot_keeps(&self) -> bool {
        self.target() != Target::Gfx90a
    }

    fn packed_float(&self, lane: &Lane) -> Option<u128> {
        let result = self.ty(Role::Vdst);
        let env = Mode(self.wave.mode).env(field_of(result));
        if let Some((_, element)) = packed::PACKED.iter().find(|(name, _)| *name == self.name) {
            let format = float_format(result.elem)?;
            let one = |high| {
                let s = [0, 1, 2].map(|n| self.element(lane, n, high, format.bits));
                u128::from(element(format, s, env))
            };
            return Some(modified_output(result, &self.m, one(false) | one(true) << format.bits, env));
        }
        if packed::ACCUMULATING.contains(&self.name) {
            let s = [lane.s[0], lane.s[1], lane.old];
            let one = |at: u32| u128::from(fma(F16, s.map(|x| (x >> at) as u64 & 0xffff), env));
            return Some(modified_output(result, &self.m, one(0) | one(16) << 16, env));
        }
        if let Some((_, format, order, signs)) = packed::DOTS.iter().find(|(name, ..)| *name == self.name) {
            let whole = |n| self.element(lane, n, false, 16) | self.element(lane, n, true, 16) << 16;
            let addend = signed(lane.s[2] & 0xffff_ffff, 32, false, *signs && self.m.neg >> 2 & 1 != 0);
            let keeps = *format != BF16 && self.dot_keeps();
            let sum = dot2(*format, *order, [whole(0), whole(1), addend as u64], keeps);
            return Some(modified_output(result, &self.m, sum.into(), env));
        }
        if packed::MIXED.contains(&self.name) {
            let mode = Mode(self.wave.mode);
            let s = [0, 1, 2].map(|n| {
                let bit = |mask: u8| mask >> n & 1 != 0;
                // OP_SEL_HI says that the source is a half, NEG_HI is its absolute value.
                let (value, bits) = match (bit(self.m.op_sel_hi), bit(self.m.op_sel)) {
                    (true, true) => (lane.s[n] >> 16 & 0xffff, 16),
                    (true, false) => (lane.s[n] & 0xffff, 16),
                    _ => (lane.s[n] & 0xffff_ffff, 32),
                };
                let value = signed(value, bits, bit(self.m.abs), bit(self.m.neg)) as u64;
                if bits == 16 { Wide::Half(value) } else { Wide::Single(value) }
            });
            let [singles, halves] = [Field::Single, Field::Double].map(|field| mode.keeps_inputs(field));
            let to = if self.name == "v_fma_mix_f32" { F32 } else { F16 };
            let exact = fma_mix(to, s, singles, halves, env);
            let bits = modified_output(result, &self.m, exact.into(), env);
            return Some(match self.name {
                "v_fma_mix_f32" => bits,
                "v_fma_mixlo_f16" => lane.old & 0xffff_0000 | bits,
                _ => lane.old & 0xffff | bits << 16,
            });
        }
        None
    }

    /// Moves, selections and multiply-adds with a constant.
    fn special(&self, lane: &Lane) -> Result<Option<Found>, Gap> {
        if let Some((_, element, format)) = packed::WITH_LITERAL.iter().find(|(name, ..)| *name == self.name)
        {
            let mask = u128::from(u64::MAX >> (64 - format.bits));
            let Some(Operand::Literal(constant)) = self.inst.operand(Role::Literal) else {
                return Err(Gap("a constant is missing"));
            };
            let [a, b] = [0, 1].map(|n: usize| (lane.s[n] & mask) as u64);
            let constant = u64::from(constant) & mask as u64;
            let s = if self.name.contains("mk_") { [a, constant, b] } else { [a, b, constant] };
            let field = if *format == F16 { Field::Double } else { Field::Single };
            let bits = u128::from(element(*format, s, Mode(self.wave.mode).env(field)));
            return Ok(Some(bits.into()));
        }
        let bits = match self.name {
            "v_cndmask_b32" => (if lane.carry { lane.s[1] } else { lane.s[0] }) & 0xffff_ffff,
            "v_bitop3_b32" | "v_bitop3_b16" => {
                let width = if self.name.ends_with("16") { 16 } else { 32 };
                (0..width).fold(0, |r, n| {
                    let [a, b, c] = lane.s.map(|s| s >> n & 1);
                    r | (u128::from(self.m.bitop3) >> (a << 2 | b << 1 | c) & 1) << n
                })
            }
            "v_pk_mov_b32" => {
                let dword = |n: usize, select: u8| {
                    lane.s[n] >> (if select >> n & 1 != 0 { 32 } else { 0 }) & 0xffff_ffff
                };
                dword(0, self.m.op_sel) | dword(1, self.m.op_sel) << 32
            }
            _ => return Ok(None),
        };
        Ok(Some(bits.into()))
    }

    /// The destination of a lane after a result.
    fn destination(&self, ty: Type, old: u128, result: u128) -> u128 {
        if self.m.sdwa.is_some() {
            if ty.dwords() > 1 {
                return result;
            }
            return placed(old as u32, result as u32, &self.m).into();
        }
        if ty.bits() != 16 {
            return result;
        }
        if self.selects_halves() && self.m.op_sel & 8 != 0 {
            return old & 0xffff | result << 16 & 0xffff_0000;
        }
        // Vega ISA 12.12 for the multiply-adds, LLVM's back end for the rest.
        const KEEPS: [&str; 5] = ["v_mad_f16", "v_fma_f16", "v_div_fixup_f16", "v_mad_u16", "v_mad_i16"];
        let keeps = KEEPS.contains(&self.name)
            || ["v_mac_f16", "v_madmk_f16", "v_madak_f16"].contains(&self.name)
                && self.target() != Target::Gfx950;
        if keeps { old & 0xffff_0000 | result & 0xffff } else { result & 0xffff }
    }
}

/// Whether an integer addition or the like has its carry in a mask operand.
fn carry_of(inst: &Inst, wave: &Wave) -> Result<u64, Gap> {
    let spec = inst.row().operands.iter().find(|spec| spec.role == Role::Src2 && spec.ty.elem == Elem::Mask);
    let Some(spec) = spec else { return Ok(0) };
    let operand = inst.operand(Role::Src2).ok_or(Gap("an operand is missing"))?;
    Ok(operands::uniform(inst, spec, operand, wave)?.unwrap_or(0) as u64)
}

fn set_mask(inst: &Inst, wave: &mut Wave, mask: u64) -> Result<(), Gap> {
    match inst.operand(Role::Sdst) {
        Some(Operand::Sgpr { first, .. }) => wave.set_pair(first.into(), mask),
        Some(Operand::Special { reg, .. }) => wave.set_pair(reg.code() as u16, mask),
        None => wave.set_pair(VCC, mask),
        Some(_) => return Err(Gap("a destination without a register")),
    }
    Ok(())
}

pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    let row = inst.row();
    if row.name() == "v_nop" {
        return Ok(());
    }
    let before = wave.clone();
    let vector = Vector { inst, name: row.name(), m: inst.modifiers(), wave: &before };
    let exec = before.pair(EXEC);
    let carries = carry_of(inst, &before)?;
    let destination = row.operand(Role::Vdst);
    let mut mask = 0u64;
    for lane in 0..64usize {
        let feed = feed(vector.m.dpp.as_ref(), lane, exec);
        if exec >> lane & 1 == 0 || feed == Feed::Off {
            continue;
        }
        let old = match (destination, inst.operand(Role::Vdst)) {
            (Some(_), Some(Operand::Vgpr { first, dwords })) => registers(&before.vgprs, first, dwords, lane),
            _ => 0,
        };
        let sources = Lane {
            s: [vector.source(0, lane, feed)?, vector.source(1, lane, feed)?, vector.source(2, lane, feed)?],
            old,
            carry: carries >> lane & 1 != 0,
            number: lane as u32,
        };
        if row.format == Format::Vopc {
            let s = [sources.s[0] as u64, sources.s[1] as u64];
            mask |= u64::from(compare::holds(vector.name, before.mode, s)) << lane;
            continue;
        }
        let found = vector.compute(&sources)?;
        mask |= u64::from(found.mask) << lane;
        let (Some(spec), Some(Operand::Vgpr { first, dwords })) = (destination, inst.operand(Role::Vdst))
        else {
            return Err(Gap("a destination without a VGPR"));
        };
        // Mixed and accumulating operations have put the kept half in already.
        let bits = match spec.access {
            Access::ReadWrite if packed::MIXED.contains(&vector.name) => found.bits,
            _ => vector.destination(spec.ty, old, found.bits),
        };
        for n in 0..dwords {
            wave.vgprs[usize::from(first + n)][lane] = (bits >> (32 * n)) as u32;
        }
    }
    if row.operand(Role::Sdst).is_some() {
        set_mask(inst, wave, mask)?;
    }
    if row.writes.contains(State::Exec) {
        wave.set_pair(EXEC, mask);
    }
    Ok(())
}
