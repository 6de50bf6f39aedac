//! Scalar ALU instructions.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, Operand, Role};
use wavemill_reference::rows::scalar::{REFERENCES, Sources};

use super::operands::uniform;
use super::{EXEC, Gap, Wave};

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

pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
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
