//! Reading and writing operands.

use wavemill_isa::gcn::{
    Dpp, DstUnused, Elem, Inst, Modifiers, Operand, OperandSpec, Role, SdwaSel, Special,
};

use super::{Gap, Wave};

/// The first bit and the width of a part.
pub(super) fn part_of(sel: SdwaSel) -> (u32, u32) {
    match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword | SdwaSel::Reserved => (0, 32),
    }
}

/// The lane that feeds source 0 of a lane, from the descriptions of the controls (Vega ISA 13.3.9, table 61; CDNA3 ISA
/// adds the broadcast within rows): `None` if there is none.
fn dpp_lane(ctrl: u16, lane: usize) -> Option<usize> {
    let (row, at) = (lane / 16 * 16, lane % 16);
    let amount = usize::from(ctrl & 15);
    match ctrl {
        // A permutation of four lanes: two bits a lane.
        0..=0xff => Some(lane / 4 * 4 + usize::from(ctrl >> (2 * (lane % 4)) & 3)),
        // Shifts and the rotation of rows.
        0x101..=0x10f => (at + amount < 16).then(|| row + at + amount),
        0x111..=0x11f => (at >= amount).then(|| row + at - amount),
        0x121..=0x12f => Some(row + (at + 16 - amount) % 16),
        // Shifts and rotations of the wave by one lane.
        0x130 => (lane < 63).then(|| lane + 1),
        0x134 => Some((lane + 1) % 64),
        0x138 => (lane > 0).then(|| lane - 1),
        0x13c => Some((lane + 63) % 64),
        // Mirrors of rows and half rows.
        0x140 => Some(row + 15 - at),
        0x141 => Some(row + at / 8 * 8 + 7 - at % 8),
        // The last lane of a row to the next row, and lane 31 to rows 2 and 3.
        0x142 => (row > 0).then(|| row - 1),
        0x143 => (row >= 32).then_some(31),
        // One lane of each row to the whole row.
        0x150..=0x15f => Some(row + amount),
        _ => None,
    }
}

/// What source 0 of a lane reads through a lane permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    /// That lane.
    Lane(usize),
    /// Zero.
    Zero,
    /// The lane does not run.
    Off,
}

/// What feeds source 0 of a lane.
pub(super) fn feed(dpp: Option<&Dpp>, lane: usize, exec: u64) -> Feed {
    let Some(dpp) = dpp else { return Feed::Lane(lane) };
    if dpp.row_mask >> (lane / 16) & 1 == 0 || dpp.bank_mask >> (lane / 4 % 4) & 1 == 0 {
        return Feed::Off;
    }
    match dpp_lane(dpp.ctrl, lane).filter(|from| exec >> from & 1 != 0) {
        Some(from) => Feed::Lane(from),
        None if dpp.bound_ctrl => Feed::Zero,
        None => Feed::Off,
    }
}

/// A scalar register or a flag.
pub(super) fn special(wave: &Wave, reg: Special, dwords: u8) -> Result<u64, Gap> {
    let value = match reg {
        Special::VccLo | Special::ExecLo if dwords == 2 => wave.pair(reg.code() as u16),
        Special::VccLo | Special::VccHi | Special::M0 | Special::ExecLo | Special::ExecHi => {
            u64::from(wave.scalars[reg.code() as usize])
        }
        Special::Vccz => u64::from(wave.pair(super::VCC) == 0),
        Special::Execz => u64::from(wave.pair(super::EXEC) == 0),
        Special::Scc => u64::from(wave.scc),
        _ => return Err(Gap("a special register without a value here")),
    };
    Ok(value)
}

/// The bits of an operand that is the same for all lanes; `None` if it is a vector register.
pub(super) fn uniform(
    inst: &Inst,
    spec: &OperandSpec,
    operand: Operand,
    wave: &Wave,
) -> Result<Option<u128>, Gap> {
    Ok(Some(match operand {
        Operand::Vgpr { .. } | Operand::Agpr { .. } => return Ok(None),
        Operand::Sgpr { first, dwords } => {
            let first = usize::from(first);
            (0..usize::from(dwords)).fold(0, |v, n| v | u128::from(wave.scalars[first + n]) << (32 * n))
        }
        Operand::Special { reg, dwords } => special(wave, reg, dwords)?.into(),
        Operand::Int(value) => u128::from(i64::from(value) as u64),
        Operand::Float(float) => u128::from(float.bits(inst.constant_elem(spec))),
        // The upper half of a double, or an extended integer.
        Operand::Literal(value) if spec.ty.bits() == 64 => match spec.ty.elem {
            Elem::F64 => u128::from(value) << 32,
            Elem::I64 => u128::from(i64::from(value as i32) as u64),
            _ => u128::from(value),
        },
        Operand::Literal(value) => u128::from(value),
        Operand::Imm(value) => u128::from(value as u32),
        _ => return Err(Gap("an operand without a value")),
    }))
}

/// Up to four registers of a lane.
pub(super) fn registers(rows: &[[u32; 64]], first: u8, dwords: u8, lane: usize) -> u128 {
    (0..dwords).fold(0, |v, n| v | u128::from(rows[usize::from(first + n)][lane]) << (32 * n))
}

/// A source as its operation reads it, without signs. `lane` is the lane that a VGPR is read from.
pub(super) fn source(
    inst: &Inst,
    m: &Modifiers,
    spec: &OperandSpec,
    wave: &Wave,
    lane: usize,
) -> Result<u128, Gap> {
    let operand = inst.operand(spec.role).ok_or(Gap("an operand is missing"))?;
    let value = match (uniform(inst, spec, operand, wave)?, operand) {
        (Some(value), _) => value,
        (None, Operand::Vgpr { first, dwords }) => registers(&wave.vgprs, first, dwords, lane),
        (None, Operand::Agpr { first, dwords }) => registers(&wave.agprs, first, dwords, lane),
        _ => return Err(Gap("an operand without a value")),
    };
    let Some(sdwa) = &m.sdwa else { return Ok(value) };
    let (n, sel) = match spec.role {
        Role::Src0 => (0, sdwa.src0_sel),
        Role::Src1 => (1, sdwa.src1_sel),
        _ => return Ok(value),
    };
    let (at, width) = part_of(sel);
    let part = value as u32 >> at & (u32::MAX >> (32 - width));
    let extended = (part << (32 - width)) as i32 >> (32 - width);
    Ok(u128::from(if m.sext >> n & 1 != 0 { extended as u32 } else { part }))
}

/// A register after SDWA has put a result into a part of it (Vega ISA 13.3.7).
pub(super) fn placed(old: u32, result: u32, m: &Modifiers) -> u32 {
    let Some(sdwa) = &m.sdwa else { return result };
    let (at, width) = part_of(sdwa.dst_sel);
    if width == 32 {
        return result;
    }
    let mask = (u32::MAX >> (32 - width)) << at;
    let inside = result << at & mask;
    match sdwa.dst_unused {
        DstUnused::Pad | DstUnused::Reserved => inside,
        DstUnused::Sext => {
            let up = 32 - width - at;
            ((inside << up) as i32 >> up) as u32
        }
        DstUnused::Preserve => old & !mask | inside,
    }
}
