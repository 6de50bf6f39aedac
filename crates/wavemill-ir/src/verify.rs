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

/// Which sources have more dwords than a scalar, so that they must be rows.
fn wide_sources(op: Op) -> [bool; 4] {
    match op {
        Op::Int(int) => {
            let [a, b, c] = int.source_dwords().map(|dwords| dwords > 2);
            [a, b, c, false]
        }
        Op::FormatCvt(cvt) => {
            let wide = cvt.source_dwords() > 2;
            [wide, wide && cvt.interleaved, false, false]
        }
        Op::Store(_, ty) => [false, false, ty.dwords() > 1, false],
        Op::BufferStore(ty, _) => [false, false, false, ty.dwords() > 1],
        _ => [false; 4],
    }
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
    for (n, (source, wide)) in inst.src.iter().zip(wide_sources(inst.op)).enumerate() {
        if wide && !matches!(source, Operand::Row(_)) {
            return Err(format!("source {n} has more dwords than a scalar, it must be a row"));
        }
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
/// The first operation that breaks a rule: an operand that does not exist, a row in a uniform operation, a scalar where
/// it is too narrow, a result of the wrong kind.
pub fn verify(block: &Block) -> Result<(), VerifyError> {
    for (index, inst) in block.insts.iter().enumerate() {
        if let Err(problem) = check(inst) {
            return Err(VerifyError { index, inst: inst.to_string(), problem });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, BufferAddr, FormatCvt, IntOp, LaneMask, MemType, NumberFormat, Space, Terminator};

    /// What is wrong with an operation of these sources, whose result is v0 where it has one.
    fn problem(op: Op, src: [Operand; 4]) -> Option<String> {
        let stores = matches!(op, Op::Store(..) | Op::BufferStore(..));
        let dst = if stores { Operand::None } else { Row::vgpr(0).into() };
        let (attrs, mask) = (Attrs::default(), LaneMask::Exec);
        let inst = Inst { op, dst: [dst, Operand::None], src, attrs, mask, pc_offset: 0 };
        let block =
            Block { start: 0, size: 8, insts: vec![inst], guest: vec![0], terminator: Terminator::End };
        verify(&block).err().map(|error| error.problem)
    }

    #[test]
    fn scalars_are_no_wide_sources() {
        let [row, one, none] = [Row::vgpr(8).into(), Operand::Const(1), Operand::None];
        let cell = Operand::Uni(Uni(4));
        let cvt = |count, interleaved| {
            let (from, to) = (NumberFormat::F32, NumberFormat::Fp4);
            Op::FormatCvt(FormatCvt { from, to, count, interleaved, stochastic: false })
        };
        let addr = BufferAddr { offen: true, idxen: false };
        let store = |n| Op::Store(Space::Global, MemType::Dwords(n));
        for scalar in [one, cell] {
            for (op, src, wrong) in [
                (Op::Int(IntOp::MqsadU32U8), [row, scalar, row, none], None),
                (Op::Int(IntOp::MqsadU32U8), [scalar, row, scalar, none], Some(2)),
                (Op::Int(IntOp::MqsadPkU16U8), [scalar, scalar, scalar, none], None),
                (cvt(2, false), [scalar, none, none, none], None),
                (cvt(8, false), [scalar, none, none, none], Some(0)),
                (cvt(8, false), [row, none, scalar, none], None),
                (cvt(8, true), [row, scalar, none, none], Some(1)),
                (store(1), [row, cell, scalar, none], None),
                (store(2), [row, cell, scalar, none], Some(2)),
                (Op::BufferStore(MemType::Dwords(2), addr), [row, cell, none, scalar], Some(3)),
                (Op::BufferStore(MemType::D16HiB16, addr), [row, cell, none, scalar], None),
            ] {
                let wanted =
                    wrong.map(|n: u32| format!("source {n} has more dwords than a scalar, it must be a row"));
                assert_eq!(problem(op, src), wanted, "{op:?} {src:?}");
            }
        }
    }
}
