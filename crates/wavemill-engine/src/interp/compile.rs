//! From the IR of a block to host operations.
//!
//! Most IR operations become one host operation. Attributes that a handler does not know become steps of their own
//! around it: source selects, DPP and modifiers into rows of the interpreter before it, output modifiers and
//! sub-dword writes behind it.

use wavemill_ir::{
    Attrs, Block, DppCtrl, FaultKind, FloatType, Inst, IntOp, LaneMask, Op, Operand, SrcMods, SubDword,
    Terminator, Uni,
};

use super::hostop::{ABSENT, CONST, FLAGS, Handler, HostOp, SiteCache, UNIFORM};
use super::{Tier, atomic, buffer, control, float, int, lane, mem, scalar, smem, status, step};
use crate::regs::{ALL_LANES, DUMP, RegisterCounts, STEP_MASK, uni_offset};

/// A compiled block. Host operations point to each other and to `attrs`, so it must not move once it is compiled.
#[derive(Debug)]
pub(super) struct Code {
    pub ops: Vec<HostOp>,
    /// Attributes that operations point to; boxed one by one so that their addresses stay.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    attrs: Vec<Box<Attrs>>,
}

struct Compiler<'a> {
    tier: Tier,
    counts: RegisterCounts,
    block: &'a Block,
    ops: Vec<HostOp>,
    attrs: Vec<Box<Attrs>>,
    /// Guest address of the operation being compiled.
    pc: u64,
    /// Rows of the interpreter that the operation uses already.
    step_rows: u32,
}

/// Reasons why an operation cannot be compiled.
struct Unsupported;

/// Compiles a block for a tier and register counts.
pub(super) fn compile(block: &Block, tier: Tier, counts: RegisterCounts) -> Code {
    let mut c =
        Compiler { tier, counts, block, ops: Vec::new(), attrs: Vec::new(), pc: block.start, step_rows: 0 };
    for inst in &block.insts {
        c.pc = block.start + u64::from(inst.pc_offset);
        c.step_rows = 0;
        let mark = c.ops.len();
        if c.inst(inst).is_err() {
            c.ops.truncate(mark);
            let mut op = c.host(control::unsupported);
            let started = block.guest.partition_point(|g| *g <= inst.pc_offset);
            op.imm = started as i32;
            c.ops.push(op);
            return Code { ops: c.ops, attrs: c.attrs };
        }
    }
    c.terminator();
    Code { ops: c.ops, attrs: c.attrs }
}

impl Compiler<'_> {
    fn host(&self, run: Handler) -> HostOp {
        HostOp {
            run,
            dst: DUMP,
            dst2: DUMP,
            src: [ABSENT; 4],
            mask: ALL_LANES,
            imm: 0,
            k: [0; 4],
            attrs: std::ptr::null(),
            site: SiteCache::EMPTY,
            pc: self.pc,
            target: [std::ptr::null_mut(); 2],
            target_pc: [0; 2],
        }
    }

    fn source(&self, op: &mut HostOp, i: usize, operand: Operand) {
        op.src[i] = match operand {
            Operand::None => ABSENT,
            Operand::Uni(u) => UNIFORM | uni_offset(u),
            Operand::Row(r) => self.counts.source(r),
            Operand::Const(k) => {
                op.k[i] = k;
                CONST
            }
        };
    }

    fn dest(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Uni(u) => uni_offset(u),
            Operand::Row(r) => self.counts.dest(r),
            Operand::None | Operand::Const(_) => DUMP,
        }
    }

    /// An operation with all operands of the IR operation as they are.
    fn plain(&self, inst: &Inst, run: Handler) -> HostOp {
        let mut op = self.host(run);
        for (i, s) in inst.src.iter().enumerate() {
            self.source(&mut op, i, *s);
        }
        op.dst = self.dest(inst.dst[0]);
        op.dst2 = self.dest(inst.dst[1]);
        op.imm = inst.attrs.imm;
        op.mask = match inst.mask {
            LaneMask::Exec => uni_offset(Uni::EXEC),
            LaneMask::All => ALL_LANES,
        };
        op
    }

    fn keep(&mut self, attrs: Attrs) -> *const Attrs {
        self.attrs.push(Box::new(attrs));
        self.attrs.last().map_or(std::ptr::null(), |a| &raw const **a)
    }

    fn step_row(&mut self, n: u32) -> Result<u32, Unsupported> {
        let first = self.step_rows;
        self.step_rows += n;
        if self.step_rows > crate::regs::STEP_ROWS {
            return Err(Unsupported);
        }
        Ok(self.counts.step_row(first))
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let tier = self.tier;
        match inst.op {
            Op::Scalar(op, width) => {
                let mut h = self.plain(inst, scalar::scalar_handler(op, width));
                if let Operand::None = inst.dst[0] {
                    h.dst = DUMP;
                }
                self.ops.push(h);
            }
            Op::ScalarCmp(pred, ty) => {
                let run = scalar::scalar_cmp_handler(pred, ty).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::ScalarLoad(n) => self.ops.push(self.plain(inst, smem::load_handler(n))),
            Op::ScalarBufferLoad(n) => self.ops.push(self.plain(inst, smem::buffer_load_handler(n))),
            Op::ScalarStore(n) => self.ops.push(self.plain(inst, smem::store_handler(n))),
            Op::MoveRelSource(w) => self.ops.push(self.plain(inst, smem::move_rel_source(w))),
            Op::MoveRelDest(w) => self.ops.push(self.plain(inst, smem::move_rel_dest(w))),
            Op::Load(s, t) => self.ops.push(self.plain(inst, mem::load_handler(s, t))),
            Op::Store(s, t) => self.ops.push(self.plain(inst, mem::store_handler(s, t))),
            Op::Atomic(op, s, w) => {
                let run = atomic::handler(op, s, w).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::BufferLoad(t, addr) => {
                let mut h = self.plain(inst, buffer::load_handler(t, addr));
                h.attrs = self.keep(inst.attrs);
                self.ops.push(h);
            }
            Op::BufferStore(t, addr) => {
                let mut h = self.plain(inst, buffer::store_handler(t, addr));
                h.attrs = self.keep(inst.attrs);
                self.ops.push(h);
            }
            Op::BufferAtomic(op, w, addr) => {
                let run = buffer::atomic_handler(op, w, addr).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::LdsAppend(append) => self.ops.push(self.plain(inst, atomic::append_handler(append))),
            Op::Fence(scope) => self.ops.push(self.plain(inst, status::fence_handler(scope))),
            Op::ReadStatus(r) => {
                let mut h = self.plain(inst, status::read_handler(r));
                h.k[0] = status::code(r);
                self.ops.push(h);
            }
            Op::WriteStatus(r) => {
                let mut h = self.plain(inst, status::write_handler());
                h.k[1] = u64::from(r);
                self.ops.push(h);
            }
            Op::Message => {}
            Op::Lane(op) => {
                let run = lane::handler(op, tier).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::Int(op) => self.int(inst, op)?,
            Op::IntCmp(pred, ty) => {
                let mut h = self.prepared(inst, SourceKind::Int, [width_of_int(ty); 3])?;
                let rows = self.all_rows(&h, 2);
                let (run, imm) = int::cmp_handler(pred, ty, tier, rows);
                h.run = run;
                h.imm = imm;
                self.ops.push(h);
            }
            Op::Float(..) | Op::FloatCmp(..) | Op::FloatClass(_) | Op::Cvt(_) => self.float(inst)?,
        }
        Ok(())
    }

    fn all_rows(&self, op: &HostOp, n: usize) -> bool {
        op.src[..n].iter().all(|s| s & (FLAGS & !ABSENT) == 0)
    }

    fn int(&mut self, inst: &Inst, op: IntOp) -> Result<(), Unsupported> {
        let packed = inst.op.is_packed();
        let widths = op.source_dwords();
        let mut h = if packed {
            self.prepared_packed(inst)?
        } else if op == IntOp::PkMov {
            let mut h = self.plain(inst, control::unsupported);
            let pick = |m: SrcMods| i32::from(m.sel == SubDword::Word1);
            h.imm = pick(inst.attrs.src[0]) | pick(inst.attrs.src[1]) << 1;
            h
        } else {
            self.prepared(inst, SourceKind::Int, widths)?
        };
        let rows = self.all_rows(&h, inst.source_rows());
        h.run = int::int_handler(op, self.tier, rows, inst.attrs.clamp).ok_or(Unsupported)?;
        self.finish(inst, h, op.result_dwords())
    }

    /// Float operations, comparisons and conversions.
    fn float(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let Some(plan) = float::plan(inst, self.tier) else { return Err(Unsupported) };
        let mut h = if plan.packed {
            self.plain(inst, plan.run)
        } else {
            self.prepared(inst, plan.sources, plan.widths)?
        };
        let rows = self.all_rows(&h, inst.source_rows());
        h.run = if rows { plan.run_rows } else { plan.run };
        h.imm = plan.imm;
        h.attrs = self.keep(inst.attrs);
        if plan.whole_result {
            self.ops.push(h);
            return Ok(());
        }
        let dst = h.dst;
        if plan.output_step.is_some() {
            h.dst = self.step_row(u32::from(plan.result_dwords))?;
        }
        if let Some(run) = plan.output_step {
            let result = h.dst;
            let mask = h.mask;
            let attrs = h.attrs;
            self.ops.push(h);
            let mut out = self.host(run);
            out.src[0] = result;
            out.dst = dst;
            out.mask = mask;
            out.attrs = attrs;
            return self.finish(inst, out, plan.result_dwords);
        }
        self.finish(inst, h, plan.result_dwords)
    }

    /// Pushes the operation; a sub-dword destination is merged behind it.
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

    /// The operation with its selects, DPP and, where the handler does not do them, source modifiers taken care of.
    fn prepared(&mut self, inst: &Inst, kind: SourceKind, dwords: [u16; 3]) -> Result<HostOp, Unsupported> {
        let mut h = self.plain(inst, control::unsupported);
        let exec = h.mask;
        if let Some(dpp) = inst.attrs.dpp {
            h.src[0] = self.dpp(&h, dpp, exec, dwords[0])?;
            h.mask = STEP_MASK;
        }
        for (i, m) in inst.attrs.src.iter().enumerate() {
            if inst.src[i].is_none() {
                continue;
            }
            if m.sel != SubDword::Dword || m.sext {
                let (run, imm) = step::extract(m.sel, m.sext, self.tier);
                let row = self.step_row(1)?;
                let mut s = self.host(run);
                s.src[0] = h.src[i];
                s.k[0] = h.k[i];
                s.dst = row;
                s.imm = imm;
                self.ops.push(s);
                h.src[i] = row;
            }
            if let SourceKind::Float(ty) = kind
                && (m.abs || m.neg)
            {
                let n = dwords[i];
                let row = self.step_row(u32::from(n))?;
                let mut s = self.host(step::float_mods(ty, self.tier));
                s.src[0] = h.src[i];
                s.k[0] = h.k[i];
                s.dst = row;
                s.imm = i32::from(m.abs) | i32::from(m.neg) << 1;
                self.ops.push(s);
                h.src[i] = row;
            }
        }
        Ok(h)
    }

    /// A packed operation on two halves: the halves that the selects name, put into place.
    fn prepared_packed(&mut self, inst: &Inst) -> Result<HostOp, Unsupported> {
        let mut h = self.plain(inst, control::unsupported);
        for (i, m) in inst.attrs.src.iter().enumerate() {
            if inst.src[i].is_none() {
                continue;
            }
            let low_from_high = m.sel == SubDword::Word1;
            if !low_from_high && m.hi_sel {
                continue;
            }
            let row = self.step_row(1)?;
            let mut s = self.host(step::arrange_halves(self.tier));
            s.src[0] = h.src[i];
            s.k[0] = h.k[i];
            s.dst = row;
            s.imm = i32::from(low_from_high) | i32::from(m.hi_sel) << 1;
            self.ops.push(s);
            h.src[i] = row;
        }
        Ok(h)
    }

    fn dpp(&mut self, h: &HostOp, dpp: DppCtrl, exec: u32, dwords: u16) -> Result<u32, Unsupported> {
        let row = self.step_row(u32::from(dwords))?;
        for d in 0..u32::from(dwords) {
            let mut s = self.host(step::dpp_handler());
            s.src[0] = h.src[0] + d * crate::regs::ROW_BYTES;
            s.dst = row + d * crate::regs::ROW_BYTES;
            s.mask = exec;
            s.imm = step::pack_dpp(dpp);
            self.ops.push(s);
        }
        Ok(row)
    }

    fn terminator(&mut self) {
        self.pc = self.block.terminator_pc();
        let count = self.block.guest.len() as i32;
        let mut op = match self.block.terminator {
            Terminator::Jump(to) => {
                let mut op = self.host(control::jump);
                op.target_pc[0] = to;
                op
            }
            Terminator::Branch { cond, taken, next } => {
                let mut op = self.host(control::branch_handler(cond));
                op.target_pc = [taken, next];
                op
            }
            Terminator::Indirect(u) => {
                let mut op = self.host(control::indirect);
                self.source(&mut op, 0, Operand::Uni(u));
                op
            }
            Terminator::Barrier(next) => {
                let mut op = self.host(control::barrier);
                op.target_pc[0] = next;
                op
            }
            Terminator::Yield(next) => {
                let mut op = self.host(control::yield_wave);
                op.target_pc[0] = next;
                op
            }
            Terminator::End => self.host(control::end),
            Terminator::Trap { id, next } => {
                let mut op = self.host(control::trap);
                op.k[0] = u64::from(id);
                op.target_pc[0] = next;
                op
            }
            Terminator::SetMode { value, offset, width, next } => {
                let mut op = self.host(control::set_mode);
                self.source(&mut op, 0, value);
                op.k[2] = u64::from(offset);
                op.k[3] = u64::from(width);
                op.target_pc[0] = next;
                op
            }
            Terminator::Fault(FaultKind::IllegalInstruction) => self.host(control::illegal),
            Terminator::Fault(FaultKind::Unsupported) => self.host(control::unsupported),
            Terminator::Fault(FaultKind::NoCode) => self.host(control::no_code),
        };
        op.imm = count;
        self.ops.push(op);
    }
}

/// How source modifiers act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SourceKind {
    /// They do not, or the handler applies them.
    Int,
    /// On the sign bit of this type, in a step before the operation.
    Float(FloatType),
}

fn width_of_int(ty: wavemill_ir::IntType) -> u16 {
    match ty {
        wavemill_ir::IntType::I64 | wavemill_ir::IntType::U64 => 2,
        _ => 1,
    }
}
