//! Compiles vector operations: the handler that fits the sources, followed by steps for modifiers
//! of the result.

use wavemill_float::float_function;
use wavemill_ir::{
    Attrs, CmpPred, FloatOp, FloatType, FormatCvt, Inst, IntOp, IntType, LaneMask, Op, Operand, Row,
    ScalarOp, SrcMods, SubDword, Uni, Width,
};

use wavemill_machine::registers::{DUMP, STEP_MASK, uni_offset};

use super::{Compiler, Unsupported};
use crate::body::Shape;
use crate::float::{self, FloatInfo, Operands, Source};
use crate::hostop::{Collect, FLAGS, HostOp, Own, UNIFORM};
use crate::{control, format_cvt, fused, int, scalar, select, step};

/// When a float operation collects its exceptions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collects {
    /// Before it runs.
    Before,
    /// It does not run: another check of the same guest instruction follows.
    More,
    /// It does not run: this is the last check.
    Only,
}

impl Compiler<'_> {
    pub(super) fn int(&mut self, inst: &Inst, op: IntOp) -> Result<(), Unsupported> {
        let packed = inst.op.is_packed();
        let mut h = if packed {
            self.prepared_packed(inst)?
        } else if op == IntOp::PkMov {
            let mut h = self.plain(inst, control::unsupported);
            let pick = |m: SrcMods| i32::from(m.sel == SubDword::Word1);
            h.imm = pick(inst.attrs.src[0]) | pick(inst.attrs.src[1]) << 1;
            h
        } else {
            self.prepared(inst, float::sources(inst.op))?
        };
        self.keep_mask(inst, &mut h);
        let shape = self.shape(&h, inst.varying_sources())?;
        // Of a row with itself, the aligned bits are a rotation.
        let is_rotation = op == IntOp::AlignBit && h.src[0] == h.src[1] && h.src[0] & FLAGS == 0;
        let kind;
        if is_rotation && !inst.attrs.clamp {
            (h.src[1], h.k[1]) = (h.src[2], h.k[2]);
            h.run = int::rotation_handler(self.tier, self.shape(&h, 2)?);
            kind = Some(fused::Kind::RotateRight);
        } else {
            h.run = int::int_handler(op, self.tier, shape, inst.attrs.clamp).ok_or(Unsupported)?;
            kind = if packed || inst.attrs.clamp { None } else { fused::kind(op) };
        }
        if let Some(kind) = kind {
            h.dst2 = kind.alone();
        }
        self.finish(inst, h, inst.result_dwords(0))
    }

    /// An integer comparison that selects.
    pub(super) fn int_select(&mut self, inst: &Inst, pred: CmpPred, ty: IntType) -> Result<(), Unsupported> {
        let mut h = self.prepared(inst, [Source::bits(1); 3])?;
        self.keep_mask(inst, &mut h);
        // All sources must be present.
        self.shape(&h, 4)?;
        let scalars = h.src[2..].iter().all(|source| source & FLAGS != 0);
        let plan = select::int_plan(pred, ty, self.tier, scalars);
        (h.run, h.imm) = (plan.run, plan.imm);
        if plan.swap {
            h.src.swap(0, 1);
            h.k.swap(0, 1);
        }
        self.finish(inst, h, 1)
    }

    /// Float operations, comparisons and conversions.
    pub(super) fn float(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        if let Op::Float(op, FloatType::PkF32) = inst.op {
            return self.two_singles(inst, op);
        }
        self.one_float(inst, Collects::Before)
    }

    /// A float operation whose operands have at most one value per lane.
    fn one_float(&mut self, inst: &Inst, collects: Collects) -> Result<(), Unsupported> {
        let traps = u32::from(inst.attrs.traps);
        let plan = float::plan(inst, self.tier).ok_or(Unsupported)?;
        self.opaque |= plan.opaque;
        let modified = inst.attrs.src.iter().any(|m| m.abs || m.neg);
        // The step that collects exceptions needs sources with modifiers applied.
        let inside = plan.run_mods.is_some() && self.exceptions.is_none() && traps == 0;
        let mut h = match plan.operands {
            Operands::Whole => {
                let sources =
                    if inside { plan.sources.map(|s| Source::bits(s.dwords)) } else { plan.sources };
                self.prepared(inst, sources)?
            }
            Operands::Halves => self.prepared_packed(inst)?,
            Operands::AsTheyAre => self.plain(inst, plan.run.pick(Shape::Mixed)),
        };
        self.keep_mask(inst, &mut h);
        let shape = self.shape(&h, inst.varying_sources())?;
        h.imm = plan.imm;
        h.run = match plan.run_mods {
            Some(run) if modified && inside => {
                h.imm |= float::pack_mods(&inst.attrs.src);
                run.pick(shape)
            }
            _ => plan.run.pick(shape),
        };
        h.float = self.info(FloatInfo {
            op: inst.op,
            attrs: inst.attrs,
            sources: plan.sources,
            result: plan.result,
            reference: plan.reference,
        });
        if self.exceptions.is_some() || traps != 0 {
            let mut step = h;
            step.run = float::exceptions::handler();
            // An operation whose exceptions were checked before collects them again.
            let cell = self.exceptions.filter(|_| collects == Collects::Before);
            let cell = cell.map_or(DUMP, |cell| self.counts.uniform_dest(cell));
            let more = collects == Collects::More;
            step.own = Own { collect: Collect { cell, traps, more } };
            self.ops.push(step);
        }
        if collects != Collects::Before {
            return Ok(());
        }
        let dwords = plan.result.dwords;
        let Some(run) = plan.output else { return self.finish(inst, h, dwords) };
        let mut out = self.host(run);
        (out.dst, out.mask, out.float) = (h.dst, h.mask, h.float);
        h.dst = self.step_row(u32::from(dwords))?;
        out.src[0] = h.dst;
        self.ops.push(h);
        self.finish(inst, out, dwords)
    }

    /// Conversions to and from small float formats.
    pub(super) fn format_cvt(&mut self, inst: &Inst, cvt: FormatCvt) -> Result<(), Unsupported> {
        let mut h = self.plain(inst, format_cvt::handler(cvt).ok_or(Unsupported)?);
        let sources = float::sources(inst.op);
        self.permute(inst, &mut h, sources.map(|s| s.dwords))?;
        h.float = self.info(FloatInfo {
            op: inst.op,
            attrs: inst.attrs,
            sources,
            result: float::outcome(inst.op),
            reference: None,
        });
        self.ops.push(h);
        Ok(())
    }

    /// A packed f32 operation is two operations on dwords.
    fn two_singles(&mut self, inst: &Inst, op: FloatOp) -> Result<(), Unsupported> {
        if float_function(op, FloatType::PkF32).is_none() {
            return Err(Unsupported);
        }
        let half = |high: bool| {
            let mut one = *inst;
            one.op = Op::Float(op, FloatType::F32);
            one.dst = inst.dst.map(|d| d.dword(u16::from(high)));
            for (i, m) in inst.attrs.src.iter().enumerate() {
                let from_high = if high { m.hi_sel } else { m.sel == SubDword::Word1 };
                // The replacement for a pair that the wave lacks is also a pair.
                let pair = match inst.src[i] {
                    Operand::Uni(cell) if self.counts.lacks(cell) => Uni(0).into(),
                    operand => operand,
                };
                one.src[i] = pair.dword(u16::from(from_high));
                one.attrs.src[i] = SrcMods { neg: if high { m.neg_hi } else { m.neg }, ..SrcMods::default() };
            }
            one
        };
        let (mut low, mut high) = (half(false), half(true));
        let used = self.step_rows;
        if inst.attrs.traps != 0 {
            // The wave stops before the first of the two writes its result.
            self.one_float(&low, Collects::More)?;
            self.step_rows = used;
            self.one_float(&high, Collects::Only)?;
            self.step_rows = used;
            (low.attrs.traps, high.attrs.traps) = (0, 0);
        }
        let reads = |one: &Inst, row: Operand| one.src.contains(&row);
        if !reads(&high, low.dst[0]) {
            self.float(&low)?;
            self.step_rows = used;
            return self.float(&high);
        }
        if !reads(&low, high.dst[0]) {
            self.float(&high)?;
            self.step_rows = used;
            return self.float(&low);
        }
        // Each operation writes registers that the other one reads: keep the first source that the
        // second operation would lose.
        let kept = Row::temp(Row::TEMPS - 1);
        let copy = Inst {
            op: Op::Int(IntOp::Mov),
            dst: [kept.into(), Operand::None],
            src: [low.dst[0], Operand::None, Operand::None, Operand::None, Operand::None],
            attrs: Attrs::default(),
            mask: LaneMask::All,
            guest: inst.guest,
        };
        self.int(&copy, IntOp::Mov)?;
        for s in high.src.iter_mut().filter(|s| **s == low.dst[0]) {
            *s = kept.into();
        }
        self.float(&low)?;
        self.step_rows = used;
        self.float(&high)
    }

    /// If an operation has the active lanes as a result, keeps the old mask for the steps after it.
    fn keep_mask(&mut self, inst: &Inst, h: &mut HostOp) {
        const ACTIVE: u32 = uni_offset(Uni::ACTIVE);
        // A mask has two cells.
        let changes =
            |cell: Uni| (Uni(Uni::ACTIVE.0 - 1)..=Uni::ACTIVE.plus(1)).contains(&cell) && h.mask == ACTIVE;
        if matches!(inst.dst[1], Operand::Uni(cell) if changes(cell)) {
            let mut copy = self.host(scalar::scalar_handler(ScalarOp::Mov, Width::W64));
            copy.src[0] = UNIFORM | ACTIVE;
            copy.dst = STEP_MASK;
            self.ops.push(copy);
            h.mask = STEP_MASK;
        }
    }

    /// Pushes the operation; a step after it merges a sub-dword destination.
    fn finish(&mut self, inst: &Inst, mut h: HostOp, dwords: u16) -> Result<(), Unsupported> {
        if inst.attrs.dst_sel == SubDword::Dword {
            self.ops.push(h);
            return Ok(());
        }
        if dwords != 1 {
            return Err(Unsupported);
        }
        let (dst, mask) = (h.dst, h.mask);
        h.dst = self.step_row(1)?;
        let value = h.dst;
        self.ops.push(h);
        let (run, imm) = step::insert(inst.attrs.dst_sel, inst.attrs.dst_unused, self.tier);
        let mut merge = self.host(run);
        merge.src[0] = dst;
        merge.src[1] = value;
        merge.dst = dst;
        merge.mask = mask;
        merge.imm = imm;
        self.ops.push(merge);
        Ok(())
    }
}
