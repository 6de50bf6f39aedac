//! From processors to the instructions that their code may use.

use std::fmt;

use wavemill_isa::gcn::{DecodeError, Elem, Inst, Op, decode};
use wavemill_isa::{Family, Target, TargetSet};
use wavemill_object::{PROCESSORS, Processor, TargetId};

/// The instructions that code for a processor may use.
///
/// Code for a generic processor (AMDGPUUsage, "Generic Processor Versioning") runs on several
/// processors. It may use the instructions that do the same on all of them. For example,
/// `gfx9-4-generic` has no instructions with 8-bit floats, because gfx942 and gfx950 have different
/// formats of them.
///
/// ```
/// use wavemill_asm::InstructionSet;
/// use wavemill_isa::{Target, gcn::Op};
///
/// let generic = InstructionSet::of(&"gfx9-generic".parse()?).ok_or("no rows")?;
/// assert_eq!(generic.target(), Target::Gfx900);
/// assert!(Op::from_name("v_add_f32").is_some_and(|op| generic.has(op)));
/// assert!(Op::from_name("v_mad_mix_f32").is_some_and(|op| !generic.has(op)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet {
    name: &'static str,
    /// Every target that runs the code and has rows; at least one.
    members: TargetSet,
    target: Target,
}

impl InstructionSet {
    /// The instruction set of the processor of `id`. `None` if there are no rows for it, or if it
    /// is not one of GCN and CDNA: [`crate::cayman`] has Cayman's.
    pub fn of(id: &TargetId) -> Option<InstructionSet> {
        let info = match id.processor {
            Processor::Known(info) => info,
            _ => return None,
        };
        if let Some(target) = Target::from_name(info.name) {
            return (target.family() == Family::Gcn).then(|| target.into());
        }
        let members = Target::GCN
            .into_iter()
            .filter(|target| info.covers.contains(&target.name()))
            .fold(TargetSet::EMPTY, |set, target| set.union(TargetSet::of(target)));
        let target = members.iter().next()?;
        Some(InstructionSet { name: info.name, members, target })
    }

    /// The names of all processors with an instruction set: `gfx900`, `gfx9-generic`.
    pub fn processors() -> impl Iterator<Item = &'static str> {
        let generic = PROCESSORS.iter().filter(|row| {
            !row.covers.is_empty() && Target::GCN.iter().any(|target| row.covers.contains(&target.name()))
        });
        Target::GCN.into_iter().map(Target::name).chain(generic.map(|row| row.name))
    }

    /// The processor: `gfx90a`, `gfx9-generic`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The target whose rows encode and print the instructions: for a generic processor, its first
    /// member.
    pub const fn target(self) -> Target {
        self.target
    }

    /// The targets that have all of the instructions: several for a generic processor.
    pub const fn members(self) -> TargetSet {
        self.members
    }

    /// Whether the processor has the instruction.
    pub fn has(self, op: Op) -> bool {
        let row = op.row();
        let everywhere = self.members.difference(row.targets).is_empty();
        everywhere && (self.is_one_target() || !row.operands.iter().any(|spec| differs(spec.ty.elem)))
    }

    /// The instruction at the start of `bytes`, as [`decode`] returns it.
    ///
    /// # Errors
    /// [`DecodeError`]; [`DecodeError::Unknown`] for an instruction that not all members have.
    pub fn decode(self, bytes: &[u8]) -> Result<Inst, DecodeError> {
        let inst = decode(self.target, bytes)?;
        if self.is_one_target() || self.has(inst.op()) {
            Ok(inst)
        } else {
            Err(DecodeError::Unknown { word: inst.words().first().copied().unwrap_or(0) })
        }
    }

    fn is_one_target(self) -> bool {
        self.members == TargetSet::of(self.target)
    }
}

/// The first target's instruction set, for sources that have not named a target yet.
impl Default for InstructionSet {
    fn default() -> Self {
        Target::GCN[0].into()
    }
}

/// Whether targets have different formats of the type.
fn differs(elem: Elem) -> bool {
    matches!(elem, Elem::Fp8 | Elem::Bf8)
}

impl From<Target> for InstructionSet {
    fn from(target: Target) -> Self {
        InstructionSet { name: target.name(), members: TargetSet::of(target), target }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_targets_and_of_processors_agree() {
        for target in Target::GCN {
            let processor = Processor::from_name(target.name());
            assert_eq!(processor.generation(), Some(target.facts().generation), "{target}");
        }
    }
}
