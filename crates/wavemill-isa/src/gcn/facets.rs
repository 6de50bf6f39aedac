//! How exact an instance is: the level and the facets of its row, without those that cannot matter
//! to it.

use super::inst::Inst;
use super::operand::{Operand, Special};
use super::row::{Facet, Op};
use super::vocabulary::{Fidelity, Role};

/// The name of a facet, and whether it matters to an instance.
type Condition = (&'static str, fn(&Inst) -> bool);

/// Facets that matter to some instances of their rows only, and to which.
const CONDITIONS: &[Condition] = &[
    // Operands.
    ("wide_shift", |inst| constant(inst, Role::Src1).is_none_or(|shift| shift > 4)),
    ("align_byte", |inst| constant(inst, Role::Src2).is_none_or(|shift| shift & 0x1f > 3)),
    ("mix_constants", |inst| has(inst, |operand| matches!(operand, Operand::Float(_)))),
    ("bf16_constants", |inst| has(inst, |operand| matches!(operand, Operand::Float(_)))),
    ("packed_constants", |inst| has(inst, |operand| matches!(operand, Operand::Int(_) | Operand::Float(_)))),
    ("scalar_offset", has_offset_register),
    ("scalar_immediate", |inst| inst.modifiers().offset < 0),
    // Modifiers.
    ("legacy_sources", |inst| inst.modifiers().op_sel & 0b111 != 0),
    ("packed_signs", |inst| has_signs(inst) || inst.modifiers().sdwa.is_some()),
    ("element_signs", has_signs),
    ("image_mask", |inst| inst.modifiers().dmask == 0),
    ("image_status", |inst| inst.modifiers().tfe || inst.modifiers().lwe),
    // Constants of the instruction word.
    ("halt", |inst| inst.op() != Op::SSethalt || simm16(inst) & 1 != 0),
    ("doorbell", |inst| simm16(inst) & 0xf == 10),
    ("hwregs", |inst| !matches!(Field::of(inst).register, Field::MODE | Field::TRAPSTS)),
    ("trap_entry", Field::has_traps),
    ("trap_causes", Field::has_traps),
];

/// The value of a constant operand.
fn constant(inst: &Inst, role: Role) -> Option<u32> {
    match inst.operand(role)? {
        Operand::Int(value) => Some(value as u32),
        Operand::Literal(value) => Some(value),
        _ => None,
    }
}

fn has(inst: &Inst, is: impl Fn(Operand) -> bool) -> bool {
    inst.operands().any(|(_, operand)| is(operand))
}

/// Whether a scalar access has a register other than M0 as its offset.
fn has_offset_register(inst: &Inst) -> bool {
    match inst.operand(Role::Offset) {
        Some(Operand::Special { reg: Special::M0, .. }) => false,
        Some(operand) => operand.dwords() > 0,
        None => false,
    }
}

fn has_signs(inst: &Inst) -> bool {
    let modifiers = inst.modifiers();
    modifiers.abs != 0 || modifiers.neg != 0 || modifiers.neg_hi != 0
}

/// The SIMM16 field.
fn simm16(inst: &Inst) -> u32 {
    inst.words()[0] & 0xffff
}

/// The field of a hardware register that the constant of an instruction names (Vega ISA 5.8).
struct Field {
    register: u32,
    mask: u64,
}

impl Field {
    const MODE: u32 = 1;
    const TRAPSTS: u32 = 3;

    fn of(inst: &Inst) -> Field {
        let simm = simm16(inst);
        let width = (simm >> 11 & 0x1f) + 1;
        Field { register: simm & 0x3f, mask: ((1u64 << width) - 1) << (simm >> 6 & 0x1f) }
    }

    /// Whether the instruction accesses TRAPSTS, or writes MODE.DEBUG or MODE.EXCP_EN (Vega ISA 3.4).
    fn has_traps(inst: &Inst) -> bool {
        const DEBUG_AND_EXCP_EN: u64 = 0x3ff << 11;
        let field = Field::of(inst);
        match field.register {
            Field::TRAPSTS => true,
            Field::MODE => inst.op() != Op::SGetregB32 && field.mask & DEBUG_AND_EXCP_EN != 0,
            _ => false,
        }
    }
}

impl Inst {
    /// How exact the meaning of the instance is: the level of its row, of which [`Inst::facets`]
    /// are the exceptions. A modelled instance to which no facet matters is exact: facets name all
    /// that is open.
    pub fn fidelity(&self) -> Fidelity {
        match self.row().fidelity(self.target()) {
            Fidelity::Modelled if self.facets().next().is_none() => Fidelity::Exact,
            level => level,
        }
    }

    /// The exceptions to [`Inst::fidelity`] for this instance: those of the row that matter to it,
    /// and that of an output modifier or of gds if it is in use.
    pub fn facets(&self) -> impl Iterator<Item = &'static Facet> {
        let row = self.row();
        let modifiers = self.modifiers();
        let facets = match modifiers.omod != 0 || modifiers.gds {
            false => row.facets(self.target()),
            true => row.facets_with_modifier(self.target()),
        };
        facets.iter().copied().filter(|facet| self.is_concerned_by(facet))
    }

    /// Whether the facet of the row can matter to this instance.
    fn is_concerned_by(&self, facet: &Facet) -> bool {
        let condition = CONDITIONS.iter().find(|(name, _)| *name == facet.name);
        condition.is_none_or(|(_, concerns)| concerns(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_those_of_facets() {
        for (name, _) in CONDITIONS {
            let is_used = |op: &Op| {
                let row = op.row();
                row.targets.iter().any(|target| row.facets(target).iter().any(|facet| facet.name == *name))
            };
            assert!(Op::ALL.iter().any(is_used), "{name}");
        }
    }
}
