//! Checks that a block is well formed, so that engines may rely on it.

use std::fmt;

use crate::{Block, Effects, Inst, LaneMask, Op, Operand, Row, Signature, Terminator, Uni, Value};

/// The reason why a block is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// Index of the offending operation; the number of operations means the end of the block.
    pub index: usize,
    /// Text of the operation, or of the end.
    pub inst: String,
    /// The broken rule.
    pub problem: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} ({}): {}", self.index, self.inst, self.problem)
    }
}

impl std::error::Error for VerifyError {}

/// The most cells of a uniform source of a varying operation. Data for memory go there cell by
/// cell.
fn scalar_dwords(effects: Effects) -> u16 {
    if effects.writes_memory { 1 } else { 2 }
}

/// Checks that the first and the last cell of an operand exist.
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

fn check_result(inst: &Inst, n: usize, value: Value, atomic: bool) -> Result<(), String> {
    let operand = inst.dst[n];
    exists(operand, value.dwords())?;
    match (operand, value.is_varying()) {
        (Operand::None, true) if !atomic => Err(format!("result {n} is missing")),
        (Operand::None, _) => Ok(()),
        (Operand::Const(_), _) => Err("a constant cannot be written".into()),
        _ if value == Value::None => Err(format!("the operation has no result {n}")),
        (Operand::Uni(_), true) => Err("the result must be a row".into()),
        (Operand::Row(_), false) => Err("the result must be uniform".into()),
        _ => Ok(()),
    }
}

fn check_source(inst: &Inst, n: usize, signature: &Signature) -> Result<(), String> {
    let (operand, value) = (inst.src[n], signature.sources[n]);
    let dwords = inst.dwords_of(value);
    exists(operand, dwords)?;
    match operand {
        Operand::None if signature.is_optional(n) => Ok(()),
        Operand::None => Err(format!("source {n} is missing")),
        _ if value == Value::None => Err(format!("the operation has no source {n}")),
        Operand::Row(r) if !value.is_varying() => {
            Err(format!("source {n} is uniform, it cannot be row {r:?}"))
        }
        Operand::Uni(_) | Operand::Const(_)
            if value.is_varying() && signature.wants_rows || matches!(value, Value::Rows(_)) =>
        {
            Err("the source must be a row".into())
        }
        // A scalar stands for all elements.
        Operand::Uni(_) | Operand::Const(_) if matches!(value, Value::Elements { .. }) => Ok(()),
        Operand::Uni(_) | Operand::Const(_)
            if value.is_varying() && dwords > scalar_dwords(signature.effects) =>
        {
            Err(format!("source {n} has more dwords than a scalar, it must be a row"))
        }
        _ => Ok(()),
    }
}

/// Checks that the cells that the end of a block reads exist.
fn check_end(terminator: Terminator) -> Result<(), String> {
    match terminator {
        Terminator::Branch { cond, .. } => {
            let (cell, width) = cond.cell();
            exists(cell.into(), width.dwords())
        }
        Terminator::Indirect(cell) => exists(cell.into(), 2),
        Terminator::SetContext { value: Operand::Row(_) | Operand::None, .. }
        | Terminator::Resume { context: Operand::Row(_) | Operand::None, .. } => {
            Err("the context must be uniform".into())
        }
        Terminator::Resume { at: Operand::Row(_) | Operand::None, .. } => {
            Err("the address must be uniform".into())
        }
        Terminator::SetContext { value, .. } => exists(value, 1),
        Terminator::Resume { context, at } => exists(context, 1).and_then(|()| exists(at, 2)),
        _ => Ok(()),
    }
}

impl Inst {
    /// The broken rule of its operands; `None` if engines can rely on them.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        check(self).err()
    }
}

impl Terminator {
    /// The broken rule of the cells that it reads; `None` if engines can rely on it.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        check_end(*self).err()
    }
}

fn check(inst: &Inst) -> Result<(), String> {
    let signature = inst.op.signature();
    if !inst.op.is_defined() {
        return Err("there is no such operation".to_owned());
    }
    if let Some(lanes) = inst.attrs.lanes
        && !matches!(inst.src[..3].get(usize::from(lanes.source)), Some(Operand::Row(_)))
    {
        return Err(format!(
            "lanes of source {} are permuted, it must be a row of the first three",
            lanes.source
        ));
    }
    if matches!(inst.op, Op::Matrix(_)) && inst.mask != LaneMask::All {
        return Err("a product of matrices writes all lanes".to_owned());
    }
    let base = match inst.op {
        Op::LaneIndexedRead(rows) => Some((rows, inst.src[0])),
        Op::LaneIndexedWrite(rows) => Some((rows, inst.dst[0])),
        _ => None,
    };
    if let Some((rows, Operand::Row(row))) = base
        && !rows.contains(row)
    {
        return Err(format!("the base {row:?} is outside of the rows that the index can reach"));
    }
    if let LaneMask::Given(pair) = inst.mask {
        exists(pair.into(), 2)?;
        if pair < Uni::TEMP0 || !pair.0.is_multiple_of(2) {
            return Err("the mask of lanes must be an aligned pair of temporaries".to_owned());
        }
        let has_own_mask = matches!(
            inst.op,
            Op::Load(..)
                | Op::Store(..)
                | Op::BufferLoad(..)
                | Op::BufferStore(..)
                | Op::BufferLoadTexel(..)
                | Op::BufferStoreTexel(..)
        );
        if !has_own_mask {
            return Err("only a load or a store can have a mask of lanes of its own".to_owned());
        }
    }
    let mut results = signature.results.into_iter().enumerate();
    results.try_for_each(|(n, value)| check_result(inst, n, value, signature.effects.atomic))?;
    (0..inst.src.len()).try_for_each(|n| check_source(inst, n, &signature))
}

/// Checks every operation of the block.
///
/// # Errors
/// The first operation that breaks a rule: an operand that does not exist, a row in a uniform
/// operation, a scalar that is too narrow, a missing operand, a result of the wrong kind, guest
/// instructions out of order. Or the end of the block, if it breaks a rule.
pub fn verify(block: &Block) -> Result<(), VerifyError> {
    let mut last = 0;
    for (index, inst) in block.insts.iter().enumerate() {
        let in_order = inst.guest >= last && (inst.guest as usize) < block.guest.len();
        last = inst.guest;
        let order = if in_order { Ok(()) } else { Err("the guest instruction is out of order".to_owned()) };
        let begins = index.checked_sub(1).is_none_or(|before| block.insts[before].guest != inst.guest);
        let waits = matches!(inst.op, Op::Sync(op) if op.may_wait());
        let order = match waits && !begins {
            true => Err("a wait must be the first operation of its guest instruction".to_owned()),
            false => order,
        };
        if let Err(problem) = order.and_then(|()| check(inst)) {
            return Err(VerifyError { index, inst: inst.to_string(), problem });
        }
    }
    match block.terminator.problem() {
        None => Ok(()),
        Some(problem) => {
            let (index, inst) = (block.insts.len(), format!("{:?}", block.terminator));
            Err(VerifyError { index, inst, problem })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, BufferAddr, CellRange, FormatCvt, IntOp, MemType, NumberFormat, Space, Width};

    /// The broken rule of an operation with these sources; its result is v0 if it has one.
    fn problem(op: Op, src: [Operand; 4]) -> Option<String> {
        let stores = matches!(op, Op::Store(..) | Op::BufferStore(..));
        let dst = if stores { Operand::None } else { Row(0).into() };
        let (attrs, mask) = (Attrs::default(), LaneMask::Active);
        let [a, b, c, d] = src;
        let src = [a, b, c, d, Operand::None];
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
        let addr = BufferAddr { offen: true, idxen: false, plain: false };
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

    #[test]
    fn operands_and_operations_that_are_not_there() {
        let [row, cell, none] = [Row(8).into(), Operand::Uni(Uni(4)), Operand::None];
        let (mov, load) = (Op::Int(IntOp::Mov), |n| Op::Load(Space::Global, MemType::Dwords(n)));
        let range = |end| CellRange { first: Uni(0), end: Uni(end) };
        let index = |end| Op::MoveRelSource(Width::W32, range(end));
        let nothing = "there is no such operation";
        for (op, dst, src, wrong) in [
            (mov, row, [row, none, none, none], None),
            (mov, none, [row, none, none, none], Some("result 0 is missing")),
            (mov, row, [none; 4], Some("source 0 is missing")),
            (mov, Row(Row::COUNT).into(), [row, none, none, none], Some("row 1072 does not exist")),
            (mov, row, [Uni(u16::MAX).into(), none, none, none], Some("uniform cell 65535 does not exist")),
            (load(3), row, [row, none, none, none], None),
            (load(5), row, [row, none, none, none], Some(nothing)),
            (Op::ScalarLoad(16), cell, [cell, none, none, none], None),
            (Op::ScalarLoad(3), cell, [cell, none, none, none], Some(nothing)),
            (index(Uni::COUNT), cell, [cell, cell, none, none], None),
            (index(Uni::COUNT + 1), cell, [cell, cell, none, none], Some(nothing)),
            (index(Uni::COUNT), cell, [cell, none, none, none], Some("source 1 is missing")),
        ] {
            let (attrs, mask) = (Attrs::default(), LaneMask::Active);
            let [a, b, c, d]: [Operand; 4] = src;
            let src = [a, b, c, d, none];
            let inst = Inst { op, dst: [dst, none], src, attrs, mask, guest: 0 };
            assert_eq!(inst.problem().as_deref(), wrong, "{inst}");
        }
        for (end, wrong) in [
            (Terminator::Indirect(Uni(Uni::COUNT - 2)), None),
            (Terminator::Indirect(Uni(Uni::COUNT - 1)), Some("uniform cell 290 does not exist")),
            (Terminator::SetContext { value: row, next: 0 }, Some("the context must be uniform")),
            (Terminator::Resume { context: row, at: cell }, Some("the context must be uniform")),
            (Terminator::Resume { context: cell, at: none }, Some("the address must be uniform")),
            (
                Terminator::Resume { context: cell, at: Uni(Uni::COUNT - 1).into() },
                Some("uniform cell 290 does not exist"),
            ),
        ] {
            assert_eq!(end.problem().as_deref(), wrong, "{end:?}");
        }
    }
}
