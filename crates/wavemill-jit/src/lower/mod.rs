//! Strip code of IR operations.

mod builder;
mod class;
mod division;
mod double;
mod elementary;
mod float;
mod half;
mod integer;
mod mask;
mod part;
mod wide;
mod words;

use wavemill_ir::{Inst, Op, SubDword};
use wavemill_machine::registers::RegisterCounts;

use crate::lir::Strip;
use builder::Builder;

/// Strip code of an operation on rows; `None` if there is none, and the interpreter's handlers run it.
pub(crate) fn lower(inst: &Inst, counts: RegisterCounts) -> Option<Strip> {
    if inst.attrs.dst_sel != SubDword::Dword {
        return part::lower(inst, counts);
    }
    let mut b = Builder::new(inst, counts)?;
    match inst.op {
        Op::Int(op) => integer::lower(&mut b, op)?,
        Op::IntCmp(pred, ty) => mask::compare(&mut b, pred, ty)?,
        Op::IntSelect(pred, ty) => mask::select_by_int(&mut b, pred, ty)?,
        Op::Float(op, ty) => float::lower(&mut b, op, ty)?,
        Op::FloatCmp(pred, ty) => float::compare(&mut b, pred, ty)?,
        Op::FloatClass(ty) => class::lower(&mut b, ty)?,
        Op::Cvt(op) => float::convert(&mut b, op)?,
        _ => return None,
    }
    Some(b.finish())
}
