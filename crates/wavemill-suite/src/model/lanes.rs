//! Instructions that move values between lanes, and between lanes and scalars.

use wavemill_isa::gcn::{Inst, Operand, Role};

use super::operands::uniform;
use super::{EXEC, Gap, Wave};
use crate::data::{LANES, Lanes};

/// A VGPR operand.
fn vgpr(inst: &Inst, role: Role) -> Result<usize, Gap> {
    match inst.operand(role) {
        Some(Operand::Vgpr { first, .. }) => Ok(first.into()),
        _ => Err(Gap("an operand is no VGPR")),
    }
}

fn scalar(inst: &Inst, role: Role, wave: &Wave) -> Result<u32, Gap> {
    let (Some(spec), Some(operand)) = (inst.row().operand(role), inst.operand(role)) else {
        return Err(Gap("an operand is missing"));
    };
    uniform(inst, spec, operand, wave)?.map(|value| value as u32).ok_or(Gap("an operand is no scalar"))
}

fn set_scalar(inst: &Inst, wave: &mut Wave, value: u32) -> Result<(), Gap> {
    match inst.operand(Role::Sdst) {
        Some(Operand::Sgpr { first, .. }) => wave.scalars[usize::from(first)] = value,
        Some(Operand::Special { reg, .. }) => wave.scalars[reg.code() as usize] = value,
        _ => return Err(Gap("a destination without a register")),
    }
    Ok(())
}

/// The lane that DS_SWIZZLE_B32 reads (Vega ISA 12.13.1): the pattern is in the offset field.
fn swizzled(pattern: u32, lane: usize) -> Result<usize, Gap> {
    let (half, at, mask) = (lane / 32 * 32, lane % 32, (pattern & 31) as usize);
    let found = match pattern {
        // Bits that the mask has stay, and the others, which are below, are reversed.
        0xe000.. => at & mask | (at as u32).reverse_bits() as usize >> (27 + mask.count_ones()) & !mask,
        // The example with a mask contradicts every simple rule.
        0xc000.. if mask != 0 => return Err(Gap("a rotation with a mask")),
        0xc000.. => {
            let amount = (pattern >> 5 & 31) as usize;
            (if pattern >> 10 & 1 != 0 { at + 32 - amount } else { at + amount }) % 32
        }
        // Four lanes, two bits each.
        0x8000.. => at / 4 * 4 + (pattern >> (2 * (at % 4)) & 3) as usize,
        _ => {
            let [or, xor] = [5, 10].map(|from| (pattern >> from & 31) as usize);
            (at & mask | or) ^ xor
        }
    };
    Ok(half + found)
}

/// Runs the instruction if it is one of these.
pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<bool, Gap> {
    let name = inst.row().name();
    let exec = wave.pair(EXEC);
    let active = |lane: usize| exec >> lane & 1 != 0;
    match name {
        // With no active lane, lane 0 (Vega ISA 12.8).
        "v_readfirstlane_b32" => {
            let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
            let value = wave.vgprs[vgpr(inst, Role::Src0)?][lane];
            set_scalar(inst, wave, value)?;
        }
        // EXEC has no effect; the lane number has six bits (Vega ISA 12.12).
        "v_readlane_b32" => {
            let lane = scalar(inst, Role::Src1, wave)? as usize % LANES;
            let value = wave.vgprs[vgpr(inst, Role::Src0)?][lane];
            set_scalar(inst, wave, value)?;
        }
        "v_writelane_b32" => {
            let lane = scalar(inst, Role::Src1, wave)? as usize % LANES;
            let value = scalar(inst, Role::Src0, wave)?;
            wave.vgprs[vgpr(inst, Role::Vdst)?][lane] = value;
        }
        "v_swap_b32" => {
            let (a, b) = (vgpr(inst, Role::Vdst)?, vgpr(inst, Role::Src0)?);
            for lane in (0..LANES).filter(|lane| active(*lane)) {
                let old = wave.vgprs[a][lane];
                wave.vgprs[a][lane] = wave.vgprs[b][lane];
                wave.vgprs[b][lane] = old;
            }
        }
        // Odd rows of the destination and even rows of the source are exchanged (CDNA4 ISA 7.3).
        "v_permlane16_swap_b32" | "v_permlane32_swap_b32" => {
            if exec != u64::MAX {
                return Err(Gap("lanes are exchanged with inactive ones"));
            }
            let width = if name.contains("16") { 16 } else { 32 };
            let (a, b) = (vgpr(inst, Role::Vdst)?, vgpr(inst, Role::Src0)?);
            for lane in (0..LANES).filter(|lane| lane & width == 0) {
                let old = wave.vgprs[a][lane + width];
                wave.vgprs[a][lane + width] = wave.vgprs[b][lane];
                wave.vgprs[b][lane] = old;
            }
        }
        "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => accumulation(inst, wave)?,
        // Lane i receives the datum of the lane that its address names, in bytes; zero if that lane is inactive (Vega
        // ISA 12.13).
        "ds_bpermute_b32" | "ds_permute_b32" | "ds_swizzle_b32" => local(inst, wave)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn accumulation(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    let exec = wave.pair(EXEC);
    let spec = inst.row().operand(Role::Src0).ok_or(Gap("an operand is missing"))?;
    let operand = inst.operand(Role::Src0).ok_or(Gap("an operand is missing"))?;
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 != 0) {
        let value = match operand {
            Operand::Vgpr { first, .. } => wave.vgprs[usize::from(first)][lane],
            Operand::Agpr { first, .. } => wave.agprs[usize::from(first)][lane],
            other => uniform(inst, spec, other, wave)?.unwrap_or(0) as u32,
        };
        match inst.operand(Role::Vdst) {
            Some(Operand::Vgpr { first, .. }) => wave.vgprs[usize::from(first)][lane] = value,
            Some(Operand::Agpr { first, .. }) => wave.agprs[usize::from(first)][lane] = value,
            _ => return Err(Gap("a destination without a register")),
        }
    }
    Ok(())
}

fn local(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    let (name, exec, m) = (inst.row().name(), wave.pair(EXEC), inst.modifiers());
    let destination = vgpr(inst, Role::Vdst)?;
    let old = wave.vgprs[destination];
    let active = |lane: usize| exec >> lane & 1 != 0;
    let result: Lanes = if name == "ds_swizzle_b32" {
        let data = wave.vgprs[vgpr(inst, Role::Addr)?];
        let mut result = [0; LANES];
        for (lane, value) in result.iter_mut().enumerate() {
            let from = swizzled(m.offset as u32, lane)?;
            *value = if active(from) { data[from] } else { 0 };
        }
        result
    } else {
        let (addresses, data) = (wave.vgprs[vgpr(inst, Role::Addr)?], wave.vgprs[vgpr(inst, Role::Data0)?]);
        // The offset counts bytes, too.
        let named = |lane: usize| (addresses[lane].wrapping_add(m.offset as u32) / 4) as usize % LANES;
        if name == "ds_bpermute_b32" {
            std::array::from_fn(|lane| if active(named(lane)) { data[named(lane)] } else { 0 })
        } else {
            let mut sent = [0; LANES];
            // The highest lane wins.
            for lane in (0..LANES).filter(|lane| active(*lane)) {
                sent[named(lane)] = data[lane];
            }
            sent
        }
    };
    wave.vgprs[destination] = std::array::from_fn(|lane| if active(lane) { result[lane] } else { old[lane] });
    Ok(())
}
