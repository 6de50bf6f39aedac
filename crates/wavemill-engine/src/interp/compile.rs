//! From the IR of a block to host operations.
//!
//! Most IR operations become one host operation. Attributes that a handler does not know become steps of their own
//! around it: source selects, DPP and modifiers into rows of the interpreter before it, output modifiers and
//! sub-dword writes behind it.

use wavemill_ir::{
    AtomicOp, Attrs, Block, DppCtrl, FaultKind, FloatOp, FloatType, FormatCvt, Inst, IntOp, LaneMask, Op,
    Operand, Row, SrcMods, SubDword, Terminator, Uni, Width,
};

use super::body::Shape;
use super::cost::{OperationCost, goes_lane_by_lane};
use super::extent::{Extent, int_rows};
use super::float::{FloatInfo, Operands, Outcome, Source};
use super::hostop::{ABSENT, Atomic, BEHIND, CONST, FLAGS, Handler, HostOp, Jump, Own, SiteCache, UNIFORM};
use super::probe::{self, Site};
use super::{
    Tier, atomic, buffer, control, float, format_cvt, int, lane, mem, scalar, smem, status, step, strict,
};
use crate::fault::Strict;
use crate::observe::Interests;
use crate::regs::{ALL_LANES, DUMP, RegisterCounts, STEP_MASK, uni_offset};

/// A compiled block. Host operations point to each other and to `attrs`, so it must not move once it is compiled.
#[derive(Debug)]
pub(super) struct Code {
    pub ops: Vec<HostOp>,
    /// What float operations point to; boxed one by one so that their addresses stay.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    infos: Vec<Box<FloatInfo>>,
    /// What probes point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    sites: Vec<Box<Site>>,
    /// The operations that count, with the byte offsets of the guest instructions behind them.
    counters: Vec<(u32, usize)>,
    /// Whether there is no code where the block begins.
    pub nowhere: bool,
}

impl Code {
    /// How often the block was entered, if it was compiled to count that, and the active lanes from each byte offset on,
    /// summed up over all entries.
    pub(super) fn counts(&self) -> (u64, Vec<(u32, u64)>) {
        let entered = self.counters.first().map_or(0, |(_, at)| self.ops[*at].k[0]);
        (entered, self.counters.iter().map(|(offset, at)| (*offset, self.ops[*at].k[1])).collect())
    }
}

struct Compiler<'a> {
    tier: Tier,
    counts: RegisterCounts,
    /// Float operations collect the exceptions that they raise.
    watching: bool,
    strict: Strict,
    block: &'a Block,
    ops: Vec<HostOp>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    infos: Vec<Box<FloatInfo>>,
    /// Guest address of the operation being compiled.
    pc: u64,
    /// Rows of the interpreter that the operation uses already.
    step_rows: u32,
    /// Whether something in the operation goes lane by lane through scalar code.
    opaque: bool,
    /// What somebody wants to know of waves that run the block.
    interests: Option<&'a Interests>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    sites: Vec<Box<Site>>,
    counters: Vec<(u32, usize)>,
}

/// Reasons why an operation cannot be compiled.
struct Unsupported;

/// What a block is compiled for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose<'a> {
    /// Vector hardware of the host.
    pub tier: Tier,
    /// Registers of the waves.
    pub counts: RegisterCounts,
    /// Operations count how often the block is entered, and active lanes.
    pub counting: bool,
    /// Float operations collect the exceptions that they raise.
    pub watching: bool,
    /// Accesses that are faults although the chip says nothing.
    pub strict: Strict,
    /// Probes tell of these; only for waves that are watched.
    pub interests: Option<&'a Interests>,
}

/// Compiles a block.
pub(super) fn compile(block: &Block, purpose: Purpose<'_>) -> Code {
    let mut c = Compiler::new(block, purpose);
    // Who comes to where there is no code does not enter a block: nothing is counted, and nobody is told.
    let nowhere = block.insts.is_empty() && block.terminator == Terminator::Fault(FaultKind::NoCode);
    if nowhere && block.guest.len() <= 1 {
        c.terminator(None);
        return Code { nowhere: true, ..c.finished() };
    }
    let mut rest = &block.insts[..];
    let mut exec_known = false;
    // Guest instructions without operations count too; a block without any has its end only.
    let mut offsets: Vec<u32> = block.insts.iter().map(|inst| inst.pc_offset).collect();
    offsets.extend_from_slice(&block.guest);
    offsets.sort_unstable();
    offsets.dedup();
    if offsets.is_empty() {
        offsets.push(0);
    }
    for (n, offset) in offsets.iter().enumerate() {
        let is_last = n + 1 == offsets.len();
        let (guest, behind) = rest.split_at(rest.partition_point(|inst| inst.pc_offset <= *offset));
        rest = behind;
        c.pc = block.start + u64::from(*offset);
        if purpose.counting && !exec_known {
            c.counters.push((*offset, c.ops.len()));
            let op = c.host(control::count);
            c.ops.push(op);
        }
        exec_known = purpose.counting && !guest.iter().any(writes_exec);
        let end = is_last.then_some(block.terminator);
        let site = c.site(guest, end);
        c.probe_before(site);
        if guest.iter().all(|inst| c.has_results(inst)) {
            let mark = c.ops.len();
            let failed = c.checks(guest).is_err()
                || guest.iter().enumerate().any(|(index, inst)| c.operation(inst, index, site).is_err());
            if failed {
                // The registers at the fault are those before the guest instruction, however many operations it is.
                c.ops.truncate(mark);
                let mut op = c.host(control::unsupported);
                op.imm = block.guest.partition_point(|start| *start <= *offset) as i32;
                c.ops.push(op);
                return c.finished();
            }
        }
        match is_last {
            true => c.terminator(site),
            false => c.probe_after(site, None),
        }
    }
    c.finished()
}

/// Whether an operation may change EXEC: 64-bit results may begin one cell before it.
fn writes_exec(inst: &Inst) -> bool {
    let near = Uni::EXEC.0 - 1..=Uni::EXEC.0 + 1;
    inst.dst.iter().any(|dst| matches!(dst, Operand::Uni(cell) if near.contains(&cell.0)))
}

/// What each operation of a block compiles to.
pub(super) fn costs(block: &Block, tier: Tier, counts: RegisterCounts) -> Vec<OperationCost> {
    let strict = Strict::default();
    let purpose = Purpose { tier, counts, counting: false, watching: false, strict, interests: None };
    let mut c = Compiler::new(block, purpose);
    let cost = |inst: &Inst| {
        c.ops.clear();
        c.opaque = goes_lane_by_lane(inst.op);
        let unsupported = c.operation(inst, 0, None).is_err();
        OperationCost { host_operations: c.ops.len() as u32, opaque: c.opaque, unsupported }
    };
    block.insts.iter().map(cost).collect()
}

impl<'a> Compiler<'a> {
    fn new(block: &'a Block, purpose: Purpose<'a>) -> Self {
        let Purpose { tier, counts, counting: _, watching, strict, interests } = purpose;
        Compiler {
            tier,
            counts,
            watching,
            strict,
            block,
            ops: Vec::new(),
            infos: Vec::new(),
            pc: block.start,
            step_rows: 0,
            opaque: false,
            interests,
            sites: Vec::new(),
            counters: Vec::new(),
        }
    }

    fn finished(self) -> Code {
        Code { ops: self.ops, infos: self.infos, sites: self.sites, counters: self.counters, nowhere: false }
    }

    /// What probes at the guest instruction point to; `None` if nobody wants to know of it.
    fn site(&mut self, guest: &[Inst], end: Option<Terminator>) -> Option<*const Site> {
        let site = Site::new(self.pc, guest, end, self.interests?, self.counts)?;
        self.sites.push(Box::new(site));
        self.sites.last().map(|site| &raw const **site)
    }

    /// A probe that points to a site.
    fn probe(&self, run: Handler, site: *const Site) -> HostOp {
        HostOp { own: Own { probe: site }, ..self.host(run) }
    }

    fn probe_before(&mut self, site: Option<*const Site>) {
        if let Some(site) = site
            && self.sites.last().is_some_and(|last| last.wants_before())
        {
            self.ops.push(self.probe(probe::before_handler(), site));
        }
    }

    /// The probe behind a guest instruction; `end` is the operation that ends the block, if one does.
    fn probe_after(&mut self, site: Option<*const Site>, end: Option<HostOp>) {
        if let Some(site) = site
            && self.sites.last().is_some_and(|last| last.wants_after())
        {
            let probe = self.probe(probe::after_handler(), site);
            let operands = end.unwrap_or(probe);
            self.ops.push(HostOp { src: operands.src, k: operands.k, ..probe });
        }
    }

    /// The probe in front of an operation that somebody wants to know of, with its operands; `index` is its number in the
    /// guest instruction.
    fn probe_operation(&mut self, inst: &Inst, index: usize, site: Option<*const Site>) {
        let (Some(site), Some(interests)) = (site, self.interests) else { return };
        let (run, n) = match inst.op {
            Op::Fence(_) if interests.fences => (probe::fence_handler(), 1),
            op => match probe::memory_handler(op) {
                Some(found) if interests.memory => found,
                _ => return,
            },
        };
        let op = self.plain(inst, run);
        self.ops.push(HostOp { dst: index as u32, dst2: n, own: Own { probe: site }, ..op });
    }

    fn host(&self, run: Handler) -> HostOp {
        HostOp {
            run,
            dst: DUMP,
            dst2: DUMP,
            src: [ABSENT; 4],
            mask: ALL_LANES,
            imm: 0,
            k: [0; 4],
            float: std::ptr::null(),
            own: Own { site: SiteCache::EMPTY },
            pc: self.pc,
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

    fn step_row(&mut self, n: u32) -> Result<u32, Unsupported> {
        let first = self.step_rows;
        self.step_rows += n;
        if self.step_rows > crate::regs::STEP_ROWS {
            return Err(Unsupported);
        }
        Ok(self.counts.step_row(first))
    }

    /// Whether the wave has all registers that the operation writes. If it has not, the guest instruction does nothing:
    /// it writes no other result and accesses no memory (Vega ISA 3.6.1).
    fn has_results(&self, inst: &Inst) -> bool {
        if !inst.dst.iter().any(|d| matches!(d, Operand::Row(_))) {
            return true;
        }
        let extent = Extent::of(inst, self.tier);
        inst.dst.iter().zip(extent.dst).all(|(operand, rows)| match operand {
            Operand::Row(row) => self.counts.has(*row, rows),
            _ => true,
        })
    }

    /// One operation and what must be done before it; `index` is its number in the guest instruction.
    fn operation(&mut self, inst: &Inst, index: usize, site: Option<*const Site>) -> Result<(), Unsupported> {
        if self.waits_for_address(inst) {
            self.check(inst)?;
        }
        self.step_rows = 0;
        let inst = self.with_existing_sources(inst)?;
        self.probe_operation(&inst, index, site);
        self.inst(&inst)
    }

    /// The checks of a strict run in front of a guest instruction: of that nothing has taken effect when one of its
    /// accesses is refused.
    fn checks(&mut self, guest: &[Inst]) -> Result<(), Unsupported> {
        if self.strict == Strict::default() {
            return Ok(());
        }
        for inst in guest {
            if !self.waits_for_address(inst) {
                self.check(inst)?;
            }
        }
        Ok(())
    }

    /// Whether a check in front of the operation has to wait for what comes before it in the guest instruction.
    fn waits_for_address(&self, inst: &Inst) -> bool {
        self.strict != Strict::default()
            && inst.src[..3].iter().any(|s| match s {
                Operand::Row(row) => row.0 >= Row::TEMP0.0,
                Operand::Uni(cell) => cell.0 >= Uni::TEMP0.0,
                Operand::None | Operand::Const(_) => false,
            })
    }

    /// The check of a strict run in front of an operation, if there is one.
    fn check(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let Some((run, checked)) = strict::handler(inst.op, self.strict) else { return Ok(()) };
        self.step_rows = 0;
        let mut inst = *inst;
        inst.src[3] = Operand::None;
        let inst = self.with_existing_sources(&inst)?;
        let mut h = self.plain(&inst, run);
        h.k[3] = checked;
        self.ops.push(h);
        Ok(())
    }

    /// The operation with copies in place of sources of several registers which the wave has only in part.
    fn with_existing_sources(&mut self, inst: &Inst) -> Result<Inst, Unsupported> {
        let mut inst = *inst;
        if !inst.src.iter().any(|s| matches!(s, Operand::Row(_))) {
            return Ok(inst);
        }
        let extent = Extent::of(&inst, self.tier);
        for (i, rows) in extent.src.into_iter().enumerate() {
            let Operand::Row(row) = inst.src[i] else { continue };
            if rows < 2 || self.counts.has(row, rows) {
                continue;
            }
            let copy = RegisterCounts::step(self.step_rows as u16);
            self.step_row(u32::from(rows))?;
            for n in 0..rows {
                let mut step = self.host(step::copy(self.tier));
                step.src[0] = self.counts.source_nth(row, n);
                step.dst = self.counts.dest(copy.plus(n));
                self.ops.push(step);
            }
            inst.src[i] = copy.into();
        }
        Ok(inst)
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
            Op::Load(s, t) => self.ops.push(self.plain(inst, mem::load_handler(s, t, tier))),
            Op::Store(s, t) => self.ops.push(self.plain(inst, mem::store_handler(s, t, tier))),
            Op::Atomic(op, s, w) => {
                let run = atomic::handler(s, w, self.tier).ok_or(Unsupported)?;
                let h = self.atomic(inst, run, op, w);
                self.ops.push(h);
            }
            Op::BufferLoad(t, addr) => {
                self.ops.push(self.plain(inst, buffer::load_handler(t, addr)));
            }
            Op::BufferStore(t, addr) => {
                self.ops.push(self.plain(inst, buffer::store_handler(t, addr)));
            }
            Op::BufferAtomic(op, w, addr) => {
                let h = self.atomic(inst, buffer::atomic_handler(w, addr), op, w);
                self.ops.push(h);
            }
            Op::LdsAppend(append) => self.ops.push(self.plain(inst, atomic::append_handler(append))),
            Op::LdsDirect => self.ops.push(self.plain(inst, atomic::direct_handler())),
            Op::Fence(scope) => self.ops.push(self.plain(inst, status::fence_handler(scope))),
            Op::ReadStatus(r) => {
                let mut h = self.plain(inst, status::read_handler(r));
                h.k[0] = status::code(r);
                // Instructions of the block are paid for at its end; a clock counts those in front of it.
                h.k[1] = self.block.guest.partition_point(|offset| *offset < inst.pc_offset) as u64;
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
            Op::Transpose(bits) => {
                let run = lane::transpose_handler(bits).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::IndexedRead(n) => {
                let h = self.indexed(inst, inst.src[0], n, lane::indexed_read())?;
                self.ops.push(h);
            }
            Op::IndexedWrite(n) => {
                let h = self.indexed(inst, inst.dst[0], n, lane::indexed_write())?;
                self.ops.push(h);
            }
            Op::Int(op) => self.int(inst, op)?,
            Op::IntCmp(pred, ty) => {
                let mut h = self.prepared(inst, [Source::bits(int_rows(ty)); 3])?;
                let rows = self.shape(&h, 2) == Shape::Rows;
                let (run, imm) = int::cmp_handler(pred, ty, tier, rows);
                h.run = run;
                h.imm = imm;
                self.ops.push(h);
            }
            Op::Float(..) | Op::FloatCmp(..) | Op::FloatClass(_) | Op::Cvt(_) => self.float(inst)?,
            Op::FormatCvt(cvt) => self.format_cvt(inst, cvt)?,
        }
        Ok(())
    }

    /// A move of `n` rows from or to VGPRs that M0 names, relative to `base`.
    fn indexed(&self, inst: &Inst, base: Operand, n: u8, run: Handler) -> Result<HostOp, Unsupported> {
        let Operand::Row(base) = base else { return Err(Unsupported) };
        let mut h = self.plain(inst, run);
        h.k = [base.0.into(), n.into(), self.counts.vgprs.into(), 0];
        Ok(h)
    }

    /// Which of the first `n` sources are rows.
    fn shape(&self, op: &HostOp, n: usize) -> Shape {
        let mut scalars = (0..n).filter(|i| op.src[*i] & (FLAGS & !ABSENT) != 0);
        match (scalars.next(), scalars.next()) {
            (None, _) => Shape::Rows,
            (Some(at), None) => Shape::Scalar(at),
            _ => Shape::Mixed,
        }
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
            let mut sources = widths.map(Source::bits);
            if op == IntOp::Select {
                // It moves bits, but may change their sign as if they were an f32.
                sources = [Source::float(FloatType::F32); 3];
            }
            self.prepared(inst, sources)?
        };
        let shape = self.shape(&h, inst.source_rows());
        h.run = int::int_handler(op, self.tier, shape, inst.attrs.clamp).ok_or(Unsupported)?;
        self.finish(inst, h, op.result_dwords())
    }

    /// Float operations, comparisons and conversions.
    fn float(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        if let Op::Float(op, FloatType::PkF32) = inst.op {
            return self.two_singles(inst, op);
        }
        let plan = float::plan(inst, self.tier).ok_or(Unsupported)?;
        self.opaque |= plan.opaque;
        let modified = inst.attrs.src.iter().any(|m| m.abs || m.neg);
        // The step that collects exceptions wants modifiers to be applied.
        let inside = plan.run_mods.is_some() && !self.watching;
        let mut h = match plan.operands {
            Operands::Whole => {
                let sources =
                    if inside { plan.sources.map(|s| Source::bits(s.dwords)) } else { plan.sources };
                self.prepared(inst, sources)?
            }
            Operands::Halves => self.prepared_packed(inst)?,
            Operands::AsTheyAre => self.plain(inst, plan.run.pick(Shape::Mixed)),
        };
        let shape = self.shape(&h, inst.source_rows());
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
            kernel: plan.kernel,
        });
        if self.watching {
            let mut step = h;
            step.run = float::exceptions::handler();
            self.ops.push(step);
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

    /// An atomic with the floating-point mode, if it needs one.
    fn atomic(&mut self, inst: &Inst, run: Handler, op: AtomicOp, width: Width) -> HostOp {
        let mut h = self.plain(inst, run);
        h.own = Own { atomic: Atomic { site: SiteCache::EMPTY, perform: atomic::performer(op, width) } };
        if op.is_float() {
            h.float = self.info(FloatInfo {
                op: inst.op,
                attrs: inst.attrs,
                sources: [Source::bits(1); 3],
                result: Outcome { dwords: 0, float: None },
                kernel: None,
            });
        }
        h
    }

    /// Keeps what a float operation points to.
    fn info(&mut self, info: FloatInfo) -> *const FloatInfo {
        self.infos.push(Box::new(info));
        self.infos.last().map_or(std::ptr::null(), |i| &raw const **i)
    }

    /// Conversions to and from small float formats.
    fn format_cvt(&mut self, inst: &Inst, cvt: FormatCvt) -> Result<(), Unsupported> {
        let mut h = self.plain(inst, format_cvt::handler(cvt).ok_or(Unsupported)?);
        self.permute(inst, &mut h, [1; 3])?;
        h.float = self.info(FloatInfo {
            op: inst.op,
            attrs: inst.attrs,
            sources: [Source::bits(cvt.source_dwords()); 3],
            result: Outcome { dwords: cvt.result_dwords(), float: None },
            kernel: None,
        });
        self.ops.push(h);
        Ok(())
    }

    /// A packed f32 operation is two operations on dwords.
    fn two_singles(&mut self, inst: &Inst, op: FloatOp) -> Result<(), Unsupported> {
        let half = |high: bool| {
            let mut one = *inst;
            one.op = Op::Float(op, FloatType::F32);
            one.dst = inst.dst.map(|d| d.dword(u16::from(high)));
            for (i, m) in inst.attrs.src.iter().enumerate() {
                let from_high = if high { m.hi_sel } else { m.sel == SubDword::Word1 };
                one.src[i] = inst.src[i].dword(u16::from(from_high));
                one.attrs.src[i] = SrcMods { neg: if high { m.neg_hi } else { m.neg }, ..SrcMods::default() };
            }
            one
        };
        let (low, high) = (half(false), half(true));
        let reads = |one: &Inst, row: Operand| one.src.contains(&row);
        let used = self.step_rows;
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
        // Each writes what the other one reads: the first source that the second one would lose is kept.
        let kept = Row::temp(Row::TEMPS - 1);
        let copy = Inst {
            op: Op::Int(IntOp::Mov),
            dst: [kept.into(), Operand::None],
            src: [low.dst[0], Operand::None, Operand::None, Operand::None],
            attrs: Attrs::default(),
            mask: LaneMask::All,
            pc_offset: inst.pc_offset,
        };
        self.int(&copy, IntOp::Mov)?;
        let mut high = high;
        for s in high.src.iter_mut().filter(|s| **s == low.dst[0]) {
            *s = kept.into();
        }
        self.float(&low)?;
        self.step_rows = used;
        self.float(&high)
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

    /// The operation with its selects, DPP and source modifiers taken care of.
    fn prepared(&mut self, inst: &Inst, sources: [Source; 3]) -> Result<HostOp, Unsupported> {
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

    /// A step that makes a new row of source `i`.
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

    /// A packed operation on two halves: the halves that the selects name, put into place, signs flipped.
    fn prepared_packed(&mut self, inst: &Inst) -> Result<HostOp, Unsupported> {
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
    fn permute(&mut self, inst: &Inst, h: &mut HostOp, dwords: [u16; 3]) -> Result<(), Unsupported> {
        let Some(dpp) = inst.attrs.dpp else { return Ok(()) };
        let i = usize::from(dpp.source);
        let dwords = *dwords.get(i).ok_or(Unsupported)?;
        h.src[i] = self.dpp(h, dpp, h.mask, dwords)?;
        h.mask = STEP_MASK;
        Ok(())
    }

    fn dpp(&mut self, h: &HostOp, dpp: DppCtrl, exec: u32, dwords: u16) -> Result<u32, Unsupported> {
        self.opaque = true;
        let row = self.step_row(u32::from(dwords))?;
        for d in 0..u32::from(dwords) {
            let mut s = self.host(step::dpp_handler());
            s.src[0] = h.src[usize::from(dpp.source)] + d * crate::regs::ROW_BYTES;
            s.dst = row + d * crate::regs::ROW_BYTES;
            s.mask = exec;
            s.imm = step::pack_dpp(dpp);
            self.ops.push(s);
        }
        Ok(row)
    }

    fn terminator(&mut self, site: Option<*const Site>) {
        self.pc = self.block.terminator_pc();
        let count = self.block.guest.len() as i32;
        let behind = self.block.start.wrapping_add(self.block.size.into());
        let mut op = match self.block.terminator {
            Terminator::Jump(to) => {
                let mut op = self.host(control::jump);
                op.own = Jump::to(to);
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Branch { cond, taken, next } => {
                let mut op = self.host(control::branch_handler(cond));
                op.own = Own { jump: Jump { pc: [taken, next], ..Jump::NOWHERE } };
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Indirect(u) => {
                let mut op = self.host(control::indirect);
                op.own = Own { jump: Jump::NOWHERE };
                self.source(&mut op, 0, Operand::Uni(u));
                op.k[BEHIND] = behind;
                op
            }
            Terminator::Barrier(next) => {
                let mut op = self.host(control::barrier);
                op.own = Jump::to(next);
                op
            }
            Terminator::Yield(next) => {
                let mut op = self.host(control::yield_wave);
                op.own = Jump::to(next);
                op
            }
            Terminator::InvalidateCode(next) => {
                let mut op = self.host(control::invalidate_code);
                op.own = Jump::to(next);
                op
            }
            Terminator::End => self.host(control::end),
            Terminator::Trap { id, next } => {
                let mut op = self.host(control::trap);
                op.k[0] = u64::from(id);
                op.own = Jump::to(next);
                op
            }
            Terminator::SetMode { value, offset, width, next } => {
                let mut op = self.host(control::set_mode);
                self.source(&mut op, 0, value);
                op.k[2] = u64::from(offset);
                op.k[3] = u64::from(width);
                op.own = Jump::to(next);
                op
            }
            Terminator::Fault(FaultKind::IllegalInstruction) => self.host(control::illegal),
            Terminator::Fault(FaultKind::Unsupported) => self.host(control::unsupported),
            Terminator::Fault(FaultKind::NoCode) => self.host(control::no_code),
        };
        op.imm = count;
        if let (Some(site), Terminator::Barrier(_)) = (site, self.block.terminator)
            && self.interests.is_some_and(|interests| interests.barriers)
        {
            self.ops.push(self.probe(probe::barrier_handler(), site));
        }
        self.probe_after(site, Some(op));
        self.ops.push(op);
    }
}
