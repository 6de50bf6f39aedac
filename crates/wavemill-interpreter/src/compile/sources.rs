//! Steps on sources before an operation: selects, lane permutations and modifiers, each into rows
//! of the interpreter.

use wavemill_ir::{Inst, LaneControl, Op, SubDword};

use super::{Compiler, Unsupported};
use crate::float::Source;
use crate::hostop::{FLAGS, Handler, HostOp, Own};
use crate::{control, step};
use wavemill_machine::registers::{ROW_BYTES, STEP_MASK};

impl Compiler<'_> {
    /// The operation with its selects, lane permutation and source modifiers applied.
    pub(super) fn prepared(&mut self, inst: &Inst, sources: [Source; 3]) -> Result<HostOp, Unsupported> {
        let mut h = self.plain(inst, control::unsupported);
        self.permute(inst, &mut h, sources.map(|s| s.dwords))?;
        for (i, m) in inst.attrs.src.iter().enumerate() {
            if inst.src[i].is_none() {
                continue;
            }
            if m.sel != SubDword::Dword || m.sext {
                let (run, imm) = step::extract(m.sel, m.sext, self.tier);
                self.source_step(&mut h, i, run, imm, 1)?;
            }
            if let Some(ty) = sources[i].float
                && (m.abs || m.neg)
            {
                let imm = i32::from(m.abs) | i32::from(m.neg) << 1;
                self.source_step(&mut h, i, step::float_mods(ty, self.tier), imm, sources[i].dwords)?;
            }
        }
        Ok(h)
    }

    /// A step that computes a new row for source `i`.
    fn source_step(
        &mut self,
        h: &mut HostOp,
        i: usize,
        run: Handler,
        imm: i32,
        dwords: u16,
    ) -> Result<(), Unsupported> {
        let mut s = self.host(run);
        s.src[0] = h.src[i];
        s.k[0] = h.k[i];
        s.dst = self.step_row(u32::from(dwords))?;
        s.imm = imm;
        h.src[i] = s.dst;
        self.ops.push(s);
        Ok(())
    }

    /// A packed operation on two halves: the halves that the selects name, moved to their position,
    /// signs flipped.
    pub(super) fn prepared_packed(&mut self, inst: &Inst) -> Result<HostOp, Unsupported> {
        let mut h = self.plain(inst, control::unsupported);
        self.permute(inst, &mut h, [1; 3])?;
        let float = matches!(inst.op, Op::Float(..));
        for (i, m) in inst.attrs.src.iter().enumerate() {
            if inst.src[i].is_none() {
                continue;
            }
            let low_from_high = m.sel == SubDword::Word1;
            if low_from_high || !m.hi_sel {
                let imm = i32::from(low_from_high) | i32::from(m.hi_sel) << 1;
                self.source_step(&mut h, i, step::arrange_halves(self.tier), imm, 1)?;
            }
            if float && (m.neg || m.neg_hi) {
                let imm = i32::from(m.neg) | i32::from(m.neg_hi) << 1;
                self.source_step(&mut h, i, step::negate_halves(self.tier), imm, 1)?;
            }
        }
        Ok(h)
    }

    /// The lane permutation of a source, if there is one; it narrows the mask of the operation.
    pub(super) fn permute(
        &mut self,
        inst: &Inst,
        h: &mut HostOp,
        dwords: [u16; 3],
    ) -> Result<(), Unsupported> {
        let Some(lanes) = inst.attrs.lanes else { return Ok(()) };
        let i = usize::from(lanes.source);
        let dwords = *dwords.get(i).ok_or(Unsupported)?;
        if h.src[i] & FLAGS != 0 {
            return Err(Unsupported);
        }
        h.src[i] = self.permuted(h, lanes, h.mask, dwords)?;
        h.mask = STEP_MASK;
        Ok(())
    }

    fn permuted(
        &mut self,
        h: &HostOp,
        lanes: LaneControl,
        active: u32,
        dwords: u16,
    ) -> Result<u32, Unsupported> {
        self.opaque = true;
        let row = self.step_row(u32::from(dwords))?;
        for d in 0..u32::from(dwords) {
            let mut s = self.host(step::permute_handler());
            s.src[0] = h.src[usize::from(lanes.source)] + d * ROW_BYTES;
            s.dst = row + d * ROW_BYTES;
            s.mask = active;
            s.k[0] = lanes.written;
            s.imm = i32::from(lanes.zero_fill);
            s.own = Own { lanes: self.pattern(lanes.pattern) };
            self.ops.push(s);
        }
        Ok(row)
    }
}
