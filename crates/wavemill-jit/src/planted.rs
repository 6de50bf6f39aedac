//! Errors that tests plant, to see that they find them.

use wavemill_ir::Op;

use crate::lir::{Dst, Src, Step, Strip, Where};
use crate::unit::{How, Plan};

/// A wrong translation of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantedError {
    /// The operation, wherever it is.
    pub op: Op,
    /// What is wrong.
    pub kind: PlantedKind,
}

/// What is wrong with the code of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedKind {
    /// The lowest bit of an immediate: a shift by another amount, another comparison.
    Immediate,
    /// The lowest bit of a constant.
    Constant,
    /// Lanes that are not active get results, too.
    AllLanes,
    /// The last instruction is missing.
    MissingStep,
    /// The second source is read for the first one, too.
    SameSources,
    /// An instruction ignores its mask.
    NoMask,
}

impl PlantedError {
    /// Plants it wherever a plan has the operation. Returns how often.
    pub(crate) fn plant(self, plan: &mut Plan) -> usize {
        let mut planted = 0;
        for block in &mut plan.blocks {
            for (inst, how) in block.compiled.block.insts.iter().zip(&mut block.how) {
                if let How::Strip(strip) = how
                    && inst.op == self.op
                {
                    planted += usize::from(self.kind.plant(strip));
                }
            }
        }
        planted
    }
}

impl PlantedKind {
    /// All of them.
    pub const ALL: [PlantedKind; 6] = [
        PlantedKind::Immediate,
        PlantedKind::Constant,
        PlantedKind::AllLanes,
        PlantedKind::MissingStep,
        PlantedKind::SameSources,
        PlantedKind::NoMask,
    ];

    /// Changes strip code. Returns whether there was something to change.
    fn plant(self, strip: &mut Strip) -> bool {
        let steps = &mut strip.steps;
        match self {
            PlantedKind::AllLanes => !std::mem::replace(&mut strip.all_lanes, true),
            PlantedKind::MissingStep => steps.pop().is_some(),
            PlantedKind::Immediate => steps.iter_mut().any(|step| match step {
                Step::Vector { imm: Some(imm), .. } => {
                    *imm ^= 1;
                    true
                }
                _ => false,
            }),
            PlantedKind::Constant => steps.iter_mut().any(|step| match step {
                Step::Vector { b: Src::Const(value), .. } => {
                    *value ^= 1;
                    true
                }
                _ => false,
            }),
            PlantedKind::SameSources => steps.iter_mut().any(|step| match step {
                Step::Vector { a: Some(a @ Src::Row(_)), b: b @ Src::Row(_), .. } if a != b => {
                    *a = *b;
                    true
                }
                _ => false,
            }),
            PlantedKind::NoMask => steps.iter_mut().any(|step| match step {
                Step::Vector { dst: Dst::Temp(_), lanes: lanes @ Where::Mask(_), .. } => {
                    *lanes = Where::Everywhere;
                    true
                }
                _ => false,
            }),
        }
    }
}
