//! Checks that a block is well formed, so that engines may rely on it.

use std::fmt;

use crate::{Block, Effects, Inst, Op, Operand, Row, Signature, Uni, Value};

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

/// Whether the operation finds its source by the number of a row.
fn needs_rows(op: Op) -> bool {
    matches!(op, Op::IndexedRead(_) | Op::IndexedWrite(_) | Op::Transpose(_))
}

/// Cells that a scalar may have as the source of a varying operation; what goes to memory goes there cell by cell.
fn scalar_dwords(effects: Effects) -> u16 {
    if effects.writes_memory { 1 } else { 2 }
}

/// The first and the last cell of an operand must be there.
fn exists(operand: Operand, dwords: u16) -> Result<(), String> {
    let last = dwords.max(1) - 1;
    match operand {
        Operand::Uni(u) if u.0.saturating_add(last) >= Uni::COUNT => {
            Err(format!("uniform cell {} does not exist", u.0.saturating_add(last)))
        }
        Operand::Row(r) if r.0.saturating_add(last) >= Row::COUNT => {
            Err(format!("row {} does not exist", r.0.saturating_add(last)))
        }
        _ => Ok(()),
    }
}

fn check_result(inst: &Inst, n: usize, value: Value) -> Result<(), String> {
    let operand = inst.dst[n];
    exists(operand, value.dwords())?;
    match (operand, value.is_varying()) {
        (Operand::None, _) => Ok(()),
        (Operand::Const(_), _) => Err("a constant cannot be written".into()),
        _ if value == Value::None => Err(format!("the operation has no result {n}")),
        (Operand::Uni(_), true) => Err("the result must be a row".into()),
        (Operand::Row(_), false) => Err("the result must be uniform".into()),
        _ => Ok(()),
    }
}

fn check_source(inst: &Inst, n: usize, value: Value, effects: Effects) -> Result<(), String> {
    let operand = inst.src[n];
    let dwords = inst.dwords_of(value);
    exists(operand, dwords)?;
    match operand {
        Operand::None => Ok(()),
        _ if value == Value::None => Err(format!("the operation has no source {n}")),
        Operand::Row(r) if !value.is_varying() => {
            Err(format!("source {n} is uniform, it cannot be row {r:?}"))
        }
        Operand::Uni(_) | Operand::Const(_) if value.is_varying() && needs_rows(inst.op) => {
            Err("the source must be a row".into())
        }
        Operand::Uni(_) | Operand::Const(_) if value.is_varying() && dwords > scalar_dwords(effects) => {
            Err(format!("source {n} has more dwords than a scalar, it must be a row"))
        }
        _ => Ok(()),
    }
}

impl Inst {
    /// What is wrong with its operands; `None` if engines can rely on them.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        check(self).err()
    }
}

fn check(inst: &Inst) -> Result<(), String> {
    let Signature { sources, results, effects, .. } = inst.op.signature();
    results.into_iter().enumerate().try_for_each(|(n, value)| check_result(inst, n, value))?;
    sources.into_iter().enumerate().try_for_each(|(n, value)| check_source(inst, n, value, effects))
}

/// Checks every operation of the block.
///
/// # Errors
/// The first operation that breaks a rule: an operand that does not exist, a row in a uniform operation, a scalar where
/// it is too narrow, a result of the wrong kind, guest instructions out of order.
pub fn verify(block: &Block) -> Result<(), VerifyError> {
    let mut last = 0;
    for (index, inst) in block.insts.iter().enumerate() {
        let in_order = inst.guest >= last && (inst.guest as usize) < block.guest.len();
        last = inst.guest;
        let order = if in_order { Ok(()) } else { Err("the guest instruction is out of order".to_owned()) };
        if let Err(problem) = order.and_then(|()| check(inst)) {
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
        let dst = if stores { Operand::None } else { Row(0).into() };
        let (attrs, mask) = (Attrs::default(), LaneMask::Active);
        let inst = Inst { op, dst: [dst, Operand::None], src, attrs, mask, guest: 0 };
        let (start, next, ranges, guest) = (0, 8, Vec::new(), vec![0]);
        let block = Block { start, next, ranges, insts: vec![inst], guest, terminator: Terminator::End };
        verify(&block).err().map(|error| error.problem)
    }

    #[test]
    fn scalars_are_no_wide_sources() {
        let [row, one, none] = [Row(8).into(), Operand::Const(1), Operand::None];
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
