//! Checks that a block is well formed, so that engines may rely on it.

use std::fmt;

use crate::{Block, Inst, LaneOp, Op, Operand, Row, Uni};

/// Why a block was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// Index of the offending operation.
    pub index: usize,
    /// Text of the operation.
    pub inst: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} ({}): {}", self.index, self.inst, self.problem)
    }
}

impl std::error::Error for VerifyError {}

/// Whether the operation runs once for the wave, on uniform operands only.
fn is_uniform(op: Op) -> bool {
    matches!(
        op,
        Op::Scalar(..)
            | Op::ScalarCmp(..)
            | Op::ScalarLoad(_)
            | Op::ScalarBufferLoad(_)
            | Op::ScalarStore(_)
            | Op::ReadStatus(_)
            | Op::WriteStatus(_)
            | Op::MoveRelSource(_)
            | Op::MoveRelDest(_)
            | Op::LdsDirect
    )
}

fn check(inst: &Inst) -> Result<(), String> {
    for o in inst.dst.iter().chain(&inst.src) {
        match *o {
            Operand::Uni(u) if u.0 >= Uni::COUNT => {
                return Err(format!("uniform cell {} does not exist", u.0));
            }
            Operand::Row(r) if r.0 >= Row::COUNT => return Err(format!("row {} does not exist", r.0)),
            Operand::Row(r) if is_uniform(inst.op) => {
                return Err(format!("a uniform operation cannot use row {r:?}"));
            }
            _ => {}
        }
    }
    if inst.dst.iter().any(|d| matches!(d, Operand::Const(_))) {
        return Err("a constant cannot be written".into());
    }
    let mask_result = matches!(inst.op, Op::IntCmp(..) | Op::FloatCmp(..) | Op::FloatClass(_))
        || matches!(inst.op, Op::Lane(LaneOp::ReadLane | LaneOp::ReadFirstLane));
    if mask_result && !matches!(inst.dst[0], Operand::Uni(_)) {
        return Err("the result must be uniform".into());
    }
    let row_source = matches!(inst.op, Op::IndexedRead(_) | Op::IndexedWrite(_) | Op::Transpose(_));
    if row_source && !matches!(inst.src[0], Operand::Row(_)) {
        return Err("the source must be a row".into());
    }
    let row_result = matches!(
        inst.op,
        Op::Int(_)
            | Op::Float(..)
            | Op::Cvt(_)
            | Op::FormatCvt(_)
            | Op::IndexedRead(_)
            | Op::IndexedWrite(_)
            | Op::Transpose(_)
    );
    if row_result && !matches!(inst.dst[0], Operand::Row(_)) {
        return Err("the result must be a row".into());
    }
    Ok(())
}

/// Checks every operation of the block.
///
/// # Errors
/// The first operation that breaks a rule: an operand that does not exist, a row in a uniform operation, a result of
/// the wrong kind.
pub fn verify(block: &Block) -> Result<(), VerifyError> {
    for (index, inst) in block.insts.iter().enumerate() {
        if let Err(problem) = check(inst) {
            return Err(VerifyError { index, inst: inst.to_string(), problem });
        }
    }
    Ok(())
}
