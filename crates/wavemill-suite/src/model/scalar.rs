//! Scalar ALU instructions.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, Operand, Role};
use wavemill_reference::rows::scalar::{REFERENCES, Sources};

use super::operands::uniform;
use super::{EXEC, Gap, M0, Wave};

fn write(wave: &mut Wave, operand: Operand, bits: u64) -> Result<(), Gap> {
    let (code, dwords) = match operand {
        Operand::Sgpr { first, dwords } => (u16::from(first), dwords),
        Operand::Special { reg, dwords } => (reg.code() as u16, dwords),
        _ => return Err(Gap("a destination without a register")),
    };
    match dwords {
        2 => wave.set_pair(code, bits),
        _ => wave.scalars[usize::from(code)] = bits as u32,
    }
    Ok(())
}

/// Moves from or to the SGPR that is M0 registers after the named one (Vega ISA 12.3).
fn relative(inst: &Inst, wave: &mut Wave) -> Result<bool, Gap> {
    let (from, to) = match inst.row().name() {
        "s_movrels_b32" | "s_movrels_b64" => (wave.scalars[usize::from(M0)], 0),
        "s_movreld_b32" | "s_movreld_b64" => (0, wave.scalars[usize::from(M0)]),
        _ => return Ok(false),
    };
    let beyond = Gap("an SGPR beyond those of the wave");
    let moved = |operand: Operand, by: u32| match operand {
        Operand::Sgpr { first, dwords } => {
            let first = u32::from(first) + by;
            let first = u8::try_from(first).ok().filter(|first| first + dwords <= 102).ok_or(beyond)?;
            Ok(Operand::Sgpr { first, dwords })
        }
        other => Ok(other),
    };
    let (Some(spec), Some(source), Some(destination)) =
        (inst.row().operand(Role::Src0), inst.operand(Role::Src0), inst.operand(Role::Sdst))
    else {
        return Err(Gap("an operand is missing"));
    };
    let value = uniform(inst, spec, moved(source, from)?, wave)?.unwrap_or(0);
    write(wave, moved(destination, to)?, value as u64)?;
    Ok(true)
}

pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    if relative(inst, wave)? {
        return Ok(());
    }
    let row = inst.row();
    let reference = REFERENCES
        .iter()
        .find(|r| r.name == row.name())
        .ok_or(Gap("control of the wave, or a register that an index or a name of its own selects"))?;
    let value = |role| -> Result<u64, Gap> {
        let (Some(spec), Some(operand)) = (row.operand(role), inst.operand(role)) else { return Ok(0) };
        Ok(uniform(inst, spec, operand, wave)?.unwrap_or(0) as u64)
    };
    let constant = row.operand(Role::Simm16).is_some();
    let old = value(Role::Sdst)?;
    let sources = Sources {
        s: if constant { [old, value(Role::Simm16)?] } else { [value(Role::Src0)?, value(Role::Src1)?] },
        old,
        scc: wave.scc,
        exec: wave.pair(EXEC),
        max_of_equals: !matches!(inst.target(), Target::Gfx900 | Target::Gfx906),
    };
    let outcome = (reference.apply)(&sources);
    if let Some(exec) = outcome.exec {
        wave.set_pair(EXEC, exec);
    }
    if let Some(bits) = outcome.bits {
        write(wave, inst.operand(Role::Sdst).ok_or(Gap("a destination is missing"))?, bits)?;
    }
    wave.scc = outcome.scc.unwrap_or(wave.scc);
    Ok(())
}
