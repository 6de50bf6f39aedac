//! Compiles the IR of a block to host operations.
//!
//! Most IR operations become one host operation. Attributes that a handler does not support become
//! separate steps: source selects, lane permutations and modifiers become steps before it, into
//! rows of the interpreter; output modifiers and sub-dword writes become steps after it.

mod end;
mod probes;
mod runs;
mod sources;
mod vector;

use std::sync::Arc;

use wavemill_ir::{
    AtomicOp, Block, CellRange, ExportOp, FaultKind, ImageOp, Inst, LANES, LaneMask, LanePattern, MatrixOp,
    MatrixOperand, Op, Operand, Row, RowRange, Terminator, Uni, Width,
};

use super::body::Shape;
use super::cost::{OperationCost, goes_lane_by_lane};
use super::float::{FloatInfo, Outcome, Source};
use super::hostop::{
    ABSENT, Atomic, CONST, Collect, FLAGS, Handler, HostOp, NO_LANE, Own, PLAIN, SiteCache, Texel, UNIFORM,
};
use super::indexed::LaneRows;
use super::probe::Site;
use super::{
    Tier, atomic, buffer, compare, control, graphics, image, indexed, lane, matrix, mem, scalar, smem,
    status, step, strict, sync, translate,
};
use wavemill_machine::Interests;
use wavemill_machine::Strict;
use wavemill_machine::registers::{ALL_LANES, DUMP, LOST, ROW_BYTES, RegisterCounts, uni_offset};

/// A compiled block. Host operations point to each other and to `attrs`, so it must not move once it is compiled.
#[derive(Debug)]
pub(super) struct Code {
    pub ops: Vec<HostOp>,
    /// Data that float operations point to; each is boxed, so that its address stays the same.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    infos: Vec<Box<FloatInfo>>,
    /// Data that probes point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    sites: Vec<Box<Site>>,
    /// Data that products of matrices point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    matrices: Vec<Box<matrix::Site>>,
    /// Data that accesses to images point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    images: Vec<Box<image::Site>>,
    /// Data that lane permutations point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    patterns: Vec<Box<[u8; LANES]>>,
    /// Data that exports point to.
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    #[allow(dead_code, reason = "keeps alive what the operations point to")]
    exports: Vec<Box<ExportOp>>,
    /// Numbers of guest instructions with the operations before them that count; `None` for
    /// instructions before the point where compilation starts.
    counters: Vec<(u32, Option<usize>)>,
    /// Whether there is no instruction where the block begins.
    pub nowhere: bool,
    /// In code with a gate: the first host operation of each IR operation, then that of the end of the block.
    pub starts: Vec<u32>,
    /// In code with a gate: the number of IR operations before one that the interpreter refuses.
    pub supported: u32,
    /// In code with a gate: what it was compiled from.
    pub block: Option<Arc<Block>>,
}

impl Code {
    /// How often the block was entered, if it was compiled to count that, and the active lanes at
    /// guest instructions, summed over all entries.
    pub(super) fn counts(&self) -> (u64, Vec<(u32, u64)>) {
        let counted = |at: Option<usize>| at.map_or((0, 0), |at| (self.ops[at].k[0], self.ops[at].k[1]));
        let entered = self.counters.first().map_or(0, |(_, at)| counted(*at).0);
        (entered, self.counters.iter().map(|(guest, at)| (*guest, counted(*at).1)).collect())
    }
}

struct Compiler<'a> {
    tier: Tier,
    counts: RegisterCounts,
    /// The cell where float operations collect the exceptions that they raise.
    exceptions: Option<Uni>,
    strict: Strict,
    block: &'a Block,
    ops: Vec<HostOp>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    infos: Vec<Box<FloatInfo>>,
    /// Guest address of the operation being compiled.
    pc: u64,
    /// Number of interpreter rows that the operation already uses.
    step_rows: u32,
    /// The first cell of a result of the guest instruction that the wave lacks.
    dropped_result: Option<Uni>,
    /// Whether some part of the operation goes lane by lane through scalar code.
    opaque: bool,
    /// The reports that watchers want from waves that run the block.
    interests: Option<&'a Interests>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    sites: Vec<Box<Site>>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    matrices: Vec<Box<matrix::Site>>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    images: Vec<Box<image::Site>>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    patterns: Vec<Box<[u8; LANES]>>,
    #[allow(clippy::vec_box, reason = "operations hold pointers to the elements")]
    exports: Vec<Box<ExportOp>>,
    counters: Vec<(u32, Option<usize>)>,
    starts: Vec<u32>,
    supported: u32,
    /// The block has a gate.
    gated: bool,
}

/// Reasons why an operation cannot be compiled.
struct Unsupported;

/// Purpose and parameters of a compilation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose<'a> {
    /// Vector hardware of the host.
    pub tier: Tier,
    /// Registers of the waves.
    pub counts: RegisterCounts,
    /// Operations count how often the block is entered, and active lanes.
    pub counting: bool,
    /// The cell where float operations collect the exceptions that they raise.
    pub exceptions: Option<Uni>,
    /// Treat these accesses as faults although the chip ignores them.
    pub strict: Strict,
    /// Probes report these; set only for watched waves.
    pub interests: Option<&'a Interests>,
    /// Entries of the block before it is translated, if it is to have a gate.
    pub gate: Option<u64>,
}

/// Compiles a block, starting at an operation number; 0 compiles the whole block. Earlier
/// operations are not run, reported or counted again.
///
/// Handlers use operands unchecked, and blocks come from anywhere: operations that would leave the
/// register file are unsupported. The rest of [`wavemill_ir::verify`] costs a third of the compile
/// time, so it is not checked here.
pub(super) fn compile(block: &Block, purpose: Purpose<'_>, from: usize) -> Code {
    let mut c = Compiler::new(block, purpose);
    let empty = block.insts.is_empty() && block.guest.len() <= 1;
    // A wave that gets to an address without code does not enter a block: nothing is counted or
    // reported.
    if empty && block.terminator == Terminator::Fault(FaultKind::NoCode) {
        c.terminator(None);
        return Code { nowhere: true, ..c.finished() };
    }
    if let Some(patience) = purpose.gate {
        c.gate(patience);
    }
    let nowhere = empty && block.terminator == Terminator::Fault(FaultKind::IllegalInstruction);
    let mut rest = &block.insts[..];
    let mut lanes_known = false;
    // Guest instructions without operations count too; a block without any has only its end.
    let count = block.guest.len().max(1);
    let first =
        if from == 0 { 0 } else { block.insts.get(from).map_or(count - 1, |inst| inst.guest as usize) };
    for n in 0..count {
        let is_last = n + 1 == count;
        let (guest, behind) = rest.split_at(rest.partition_point(|inst| inst.guest as usize <= n));
        // Number of its operations that have run.
        let done = from.saturating_sub(block.insts.len() - rest.len()).min(guest.len());
        rest = behind;
        c.pc = block.position(n);
        let start = c.ops.len() as u32;
        c.starts.extend(guest.first().map(|_| start));
        // The engine that begins a guest instruction counts it and announces it.
        let begun = n < first || done > 0;
        if !begun && !c.counts.nullifies(guest) {
            c.wait(guest, n);
        }
        if purpose.counting && !lanes_known {
            c.count(n, begun);
        }
        lanes_known = purpose.counting && !guest.iter().any(changes_active_lanes);
        if n < first {
            continue;
        }
        let end = is_last.then_some(block.terminator);
        let site = c.site(guest, end, begun);
        // For an instruction that began elsewhere, only the changes from here on are reported.
        c.probe_before(site);
        if !c.counts.nullifies(guest) {
            c.dropped_result = None;
            let mark = c.ops.len();
            let failed = c.checks(guest).is_err()
                || guest.iter().enumerate().any(|(index, inst)| {
                    if index > 0 {
                        c.starts.push(c.ops.len() as u32);
                    }
                    let failed = c.operation(inst, index, site).is_err();
                    if index + 1 == done {
                        c.ops.truncate(mark);
                    }
                    failed
                });
            if failed {
                // At the fault, registers are as they were before the guest instruction, even if it
                // has several operations.
                c.refuse(mark, n);
                let refused = block.insts.len() - rest.len() - guest.len();
                c.starts.truncate(refused);
                c.supported = refused as u32;
                c.starts.resize(block.insts.len() + 1, c.ops.len() as u32 - 1);
                return c.finished();
            }
        } else {
            let start = c.ops.len() as u32;
            c.starts.extend(guest.iter().skip(1).map(|_| start));
        }
        match is_last {
            true => {
                c.supported = block.insts.len() as u32;
                c.starts.push(c.ops.len() as u32);
                match block.terminator.problem() {
                    Some(_) => c.refuse(c.ops.len(), n),
                    None => c.terminator(site),
                }
            }
            false => c.probe_after(site, None),
        }
    }
    Code { nowhere, ..c.finished() }
}

/// Whether a wave may have to wait at the operation.
fn may_wait(inst: &Inst) -> bool {
    matches!(inst.op, Op::Sync(op) if op.may_wait())
}

/// Whether an operation may change which lanes are active.
fn changes_active_lanes(inst: &Inst) -> bool {
    inst.writes().any(|cell| cell == Uni::ACTIVE.into() || cell == Uni::ACTIVE.plus(1).into())
}

/// Whether the operation stays inside the register file. After the first cell or row of an operand
/// there is room for the widest operand: the rows of the interpreter are there.
fn stays_inside(inst: &Inst) -> bool {
    let exists = |operand: &Operand| match operand {
        Operand::Uni(cell) => cell.0 < Uni::COUNT,
        Operand::Row(row) => row.0 < Row::COUNT,
        Operand::None | Operand::Const(_) => true,
    };
    let rows = |operand: Operand, n: u8| match operand {
        Operand::Row(row) => row.0.saturating_add(n.into()) <= Row::COUNT,
        _ => false,
    };
    let has_rows = match inst.op {
        Op::IndexedRead(n) => rows(inst.dst[0], n),
        Op::IndexedWrite(n) => rows(inst.src[0], n),
        Op::Transpose(_) => rows(inst.src[0], 1),
        Op::Matrix(op) => {
            let [a, b] = [MatrixOperand::A, MatrixOperand::B].map(|matrix| op.cells(matrix) as u8);
            rows(inst.src[0], a) && rows(inst.src[1], b)
        }
        Op::Image(op) => {
            let data = op.source_cells() as u8;
            rows(inst.src[0], op.address_cells() as u8) && (data == 0 || rows(inst.src[3], data))
        }
        _ => true,
    };
    // Handlers read the mask as an aligned pair.
    let has_mask = match inst.mask {
        LaneMask::Active | LaneMask::All => true,
        LaneMask::Given(pair) => pair.0.is_multiple_of(2) && pair.0 + 1 < Uni::COUNT,
    };
    has_rows && has_mask && inst.op.is_defined() && inst.dst.iter().all(exists) && inst.src.iter().all(exists)
}

/// The cost of each compiled operation of a block.
pub(super) fn costs(block: &Block, tier: Tier, counts: RegisterCounts) -> Vec<OperationCost> {
    let strict = Strict::default();
    let purpose =
        Purpose { tier, counts, counting: false, exceptions: None, strict, interests: None, gate: None };
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
        let Purpose { tier, counts, counting: _, exceptions, strict, interests, gate } = purpose;
        Compiler {
            tier,
            counts,
            exceptions,
            strict,
            block,
            ops: Vec::new(),
            infos: Vec::new(),
            pc: block.start,
            step_rows: 0,
            dropped_result: None,
            opaque: false,
            interests,
            sites: Vec::new(),
            matrices: Vec::new(),
            images: Vec::new(),
            patterns: Vec::new(),
            exports: Vec::new(),
            counters: Vec::new(),
            starts: Vec::new(),
            supported: 0,
            gated: gate.is_some(),
        }
    }

    fn finished(mut self) -> Code {
        // Machine code leaves before any operation.
        if !self.gated {
            runs::fuse(&mut self.ops, self.tier);
        }
        Code {
            ops: self.ops,
            infos: self.infos,
            sites: self.sites,
            matrices: self.matrices,
            images: self.images,
            patterns: self.patterns,
            exports: self.exports,
            counters: self.counters,
            nowhere: false,
            starts: self.starts,
            supported: self.supported,
            block: None,
        }
    }

    /// Replaces the code of guest instruction `n`, which starts at operation `mark`, with a fault.
    fn refuse(&mut self, mark: usize, n: usize) {
        self.ops.truncate(mark);
        let mut op = self.host(control::unsupported);
        op.imm = n as i32 + 1;
        self.ops.push(op);
    }

    /// The gate before the first operation.
    fn gate(&mut self, patience: u64) {
        let mut op = self.host(translate::count);
        op.k[0] = patience;
        op.own = Own { units: [None; 2] };
        self.ops.push(op);
    }

    /// Counts the active lanes before a guest instruction, unless another engine has begun it.
    fn count(&mut self, guest: usize, begun: bool) {
        self.counters.push((guest as u32, (!begun).then_some(self.ops.len())));
        if !begun {
            let op = self.host(control::count);
            self.ops.push(op);
        }
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
            Operand::Uni(u) if self.dropped_result == Some(u) => UNIFORM | LOST,
            Operand::Uni(u) => UNIFORM | self.counts.uniform_source(u),
            Operand::Row(r) => self.counts.source(r),
            Operand::Const(k) => {
                op.k[i] = k;
                CONST
            }
        };
    }

    fn dest(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Uni(u) => self.counts.uniform_dest(u),
            Operand::Row(r) => self.counts.dest(r),
            Operand::None | Operand::Const(_) => DUMP,
        }
    }

    /// An operation with the unchanged operands of the IR operation.
    fn plain(&self, inst: &Inst, run: Handler) -> HostOp {
        let mut op = self.host(run);
        for i in 0..op.src.len() {
            self.source(&mut op, i, inst.src[i]);
        }
        if inst.op.buffer_address().is_some_and(|address| address.plain) {
            op.src[1] |= PLAIN;
        }
        op.dst = self.dest(inst.dst[0]);
        op.dst2 = self.dest(inst.dst[1]);
        op.imm = inst.attrs.imm;
        op.mask = match inst.mask {
            LaneMask::Active => uni_offset(Uni::ACTIVE),
            LaneMask::All => ALL_LANES,
            LaneMask::Given(pair) => uni_offset(pair),
        };
        op
    }

    fn step_row(&mut self, n: u32) -> Result<u32, Unsupported> {
        let first = self.step_rows;
        self.step_rows += n;
        if self.step_rows > wavemill_machine::registers::STEP_ROWS {
            return Err(Unsupported);
        }
        Ok(self.counts.step_row(first))
    }

    /// The wait before a guest instruction, if its first operation is one: a wave that waits has not
    /// begun the instruction, so it is neither counted nor announced.
    fn wait(&mut self, guest: &[Inst], n: usize) {
        if let [first, ..] = guest
            && let Op::Sync(op) = first.op
            && may_wait(first)
            && stays_inside(first)
        {
            // The instructions of the block before it have run.
            let op = HostOp { dst2: n as u32, ..self.plain(first, sync::handler(op)) };
            self.ops.push(op);
        }
    }

    /// One operation and the steps before it; `index` is its number in the guest instruction.
    fn operation(&mut self, inst: &Inst, index: usize, site: Option<*const Site>) -> Result<(), Unsupported> {
        if !stays_inside(inst) {
            return Err(Unsupported);
        }
        // The wait is before the guest instruction.
        if index == 0 && may_wait(inst) {
            return Ok(());
        }
        if self.waits_for_address(inst) {
            self.check(inst)?;
        }
        self.step_rows = 0;
        let inst = self.with_existing_sources(inst)?;
        self.probe_operation(&inst, index, site);
        if let Some(run) = status::handler_before(&inst) {
            self.ops.push(self.host(run));
        }
        self.inst(&inst)?;
        // Later operations of the guest instruction still see this result.
        self.dropped_result = self.counts.lacking_result(&inst).or(self.dropped_result);
        Ok(())
    }

    /// The checks of a strict run before a guest instruction: if one of its accesses is refused, no
    /// part of it has taken effect.
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

    /// Whether a check before the operation must wait for earlier operations of the guest
    /// instruction.
    fn waits_for_address(&self, inst: &Inst) -> bool {
        self.strict != Strict::default()
            && inst.src[..3].iter().any(|s| match s {
                Operand::Row(row) => row.0 >= Row::TEMP0.0,
                Operand::Uni(cell) => cell.0 >= Uni::TEMP0.0,
                Operand::None | Operand::Const(_) => false,
            })
    }

    /// The check of a strict run before an operation, if there is one.
    fn check(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let Some((run, checked)) = strict::handler(inst.op, self.strict) else { return Ok(()) };
        if !stays_inside(inst) {
            return Err(Unsupported);
        }
        self.step_rows = 0;
        let mut inst = *inst;
        inst.src[3] = Operand::None;
        let inst = self.with_existing_sources(&inst)?;
        let mut h = self.plain(&inst, run);
        h.k[3] = checked;
        if let Op::BufferLoadTexel(access, _) | Op::BufferStoreTexel(access, _) = inst.op {
            h.own = Texel::own(access);
        }
        if let Op::Image(image) = inst.op {
            h.own = Own { image: self.image_site(image::Site::of_check(&image)) };
        }
        self.ops.push(h);
        Ok(())
    }

    /// The operation, with sources of several registers which the wave has only in part replaced by
    /// copies.
    fn with_existing_sources(&mut self, inst: &Inst) -> Result<Inst, Unsupported> {
        let mut inst = *inst;
        // For a read by index, missing rows are known only at run time.
        if matches!(inst.op, Op::IndexedRead(_)) || !inst.src.iter().any(|s| matches!(s, Operand::Row(_))) {
            return Ok(inst);
        }
        for i in 0..inst.src.len() {
            let Operand::Row(row) = inst.src[i] else { continue };
            let rows = inst.source_dwords(i);
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
            Op::ScalarLoad(n) => self.ops.push(self.plain(inst, smem::load_handler(n).ok_or(Unsupported)?)),
            Op::ScalarBufferLoad(n) => {
                self.ops.push(self.plain(inst, smem::buffer_load_handler(n).ok_or(Unsupported)?))
            }
            Op::ScalarStore(n) => self.ops.push(self.plain(inst, smem::store_handler(n).ok_or(Unsupported)?)),
            Op::ScalarBufferStore(n) => {
                self.ops.push(self.plain(inst, smem::buffer_store_handler(n).ok_or(Unsupported)?))
            }
            Op::ScalarAtomic(op, w) | Op::ScalarBufferAtomic(op, w) => {
                let through_resource = matches!(inst.op, Op::ScalarBufferAtomic(..));
                self.ops.push(self.plain(inst, atomic::scalar_handler(op, w, through_resource)));
            }
            Op::MoveRelSource(w, cells) => {
                let mut h = self.plain(inst, indexed::move_rel_source(w));
                // For a read by index, missing cells are known only at run time.
                if let Operand::Uni(base) = inst.src[0] {
                    h.src[0] = UNIFORM | uni_offset(base);
                }
                self.bound(&mut h, cells);
                self.ops.push(h);
            }
            Op::MoveRelDest(w, cells) => {
                let mut h = self.plain(inst, indexed::move_rel_dest(w));
                if let Operand::Uni(base) = inst.dst[0] {
                    h.dst = uni_offset(base);
                }
                self.bound(&mut h, cells);
                self.ops.push(h);
            }
            Op::Load(s, t) => self.ops.push(self.plain(inst, mem::load_handler(s, t, tier))),
            Op::Store(s, t) => self.ops.push(self.plain(inst, mem::store_handler(s, t, tier))),
            Op::Atomic(op, s, w) => {
                let run = atomic::handler(s, w, self.tier).ok_or(Unsupported)?;
                let h = self.atomic(inst, run, op, w);
                self.ops.push(h);
            }
            Op::BufferLoad(t, addr) => {
                self.ops.push(self.plain(inst, buffer::load_handler(t, addr, tier)));
            }
            Op::BufferStore(t, addr) => {
                self.ops.push(self.plain(inst, buffer::store_handler(t, addr, tier)));
            }
            Op::BufferLoadTexel(access, addr) => {
                let h = self.plain(inst, buffer::texel_load_handler(addr));
                self.ops.push(HostOp { own: Texel::own(access), ..h });
            }
            Op::BufferStoreTexel(access, addr) => {
                let h = self.plain(inst, buffer::texel_store_handler(addr));
                self.ops.push(HostOp { own: Texel::own(access), ..h });
            }
            Op::BufferAtomic(op, w, addr) => {
                let h = self.atomic(inst, buffer::atomic_handler(w, addr), op, w);
                self.ops.push(h);
            }
            Op::Counter(op, space) => self.ops.push(self.plain(inst, atomic::counter_handler(op, space))),
            Op::Sync(op) => self.ops.push(self.plain(inst, sync::handler(op))),
            Op::Parameter(part) => self.ops.push(self.plain(inst, graphics::parameter_handler(part))),
            Op::Export(export) => {
                self.exports.push(Box::new(export));
                let export = self.exports.last().map_or(std::ptr::null(), |export| &raw const **export);
                let h = self.plain(inst, graphics::export_handler());
                self.ops.push(HostOp { own: Own { export }, ..h });
            }
            Op::LdsDirect => self.ops.push(self.plain(inst, atomic::direct_handler())),
            Op::Fence(scope) => self.ops.extend(status::fence_handler(scope).map(|run| self.host(run))),
            Op::ReadStatus(which) => {
                let mut h = self.plain(inst, status::read_handler(which));
                // Instructions of the block are charged at its end; a clock also counts the
                // instructions before it.
                h.k[1] = inst.guest.into();
                self.ops.push(h);
            }
            Op::Message => {}
            Op::Lane(op) => {
                let run = lane::handler(op, tier).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::Swizzle(pattern) => {
                let lanes = self.pattern(pattern);
                let mut h = self.plain(inst, lane::swizzle_handler());
                h.own = Own { lanes };
                self.ops.push(h);
            }
            Op::Transpose(bits) => {
                let run = lane::transpose_handler(bits).ok_or(Unsupported)?;
                self.ops.push(self.plain(inst, run));
            }
            Op::Matrix(matrix) => self.matrix(inst, &matrix)?,
            Op::Image(image) => self.image(inst, &image)?,
            Op::IndexedRead(n) => {
                let h = self.indexed(inst, inst.src[0], n, indexed::indexed_read())?;
                self.ops.push(h);
            }
            Op::IndexedWrite(n) => {
                let h = self.indexed(inst, inst.dst[0], n, indexed::indexed_write())?;
                self.ops.push(h);
            }
            Op::LaneIndexedRead(rows) => {
                let mut h = self.plain(inst, indexed::lane_read(tier));
                self.lane_rows(inst.src[0], rows)?.put(&mut h);
                if self.shape(&h, 2)? != Shape::Rows {
                    return Err(Unsupported);
                }
                self.ops.push(h);
            }
            Op::LaneIndexedWrite(rows) => {
                let mut h = self.plain(inst, indexed::lane_write(tier));
                self.lane_rows(inst.dst[0], rows)?.put(&mut h);
                self.shape(&h, 2)?;
                self.ops.push(h);
            }
            Op::Int(op) => self.int(inst, op)?,
            Op::IntCmp(pred, ty) => {
                let mut h = self.prepared(inst, [Source::bits(ty.dwords()); 3])?;
                let rows = self.shape(&h, 2)? == Shape::Rows;
                let (run, imm) = compare::cmp_handler(pred, ty, tier, rows);
                h.run = run;
                h.imm = imm;
                self.ops.push(h);
            }
            Op::IntSelect(pred, ty) => self.int_select(inst, pred, ty)?,
            Op::Float(..) | Op::FloatCmp(..) | Op::FloatSelect(..) | Op::FloatClass(_) | Op::Cvt(_) => {
                self.float(inst)?
            }
            Op::FormatCvt(cvt) => self.format_cvt(inst, cvt)?,
        }
        Ok(())
    }

    /// A product of matrices.
    fn matrix(&mut self, inst: &Inst, op: &MatrixOp) -> Result<(), Unsupported> {
        let (mut site, run) = matrix::compiled(inst, op, self.tier).ok_or(Unsupported)?;
        self.opaque |= site.is_opaque();
        let mut h = self.plain(inst, run);
        // Source 4 has no slot of its own.
        let mut last = self.host(run);
        self.source(&mut last, 0, inst.src[4]);
        site.scales_b = (last.src[0], last.k[0]);
        let traps = u32::from(inst.attrs.traps);
        let collects = inst.op.raises() && (self.exceptions.is_some() || traps != 0);
        let cell = self.exceptions.map_or(DUMP, |cell| self.counts.uniform_dest(cell));
        site.collect = Collect { cell, traps, more: false };
        self.matrices.push(Box::new(site));
        let site = self.matrices.last().map_or(std::ptr::null(), |site| &raw const **site);
        h.own = Own { matrix: site };
        if collects {
            let mut step = h;
            step.run = matrix::exceptions_handler();
            self.ops.push(step);
        }
        self.ops.push(h);
        Ok(())
    }

    /// An access to an image.
    fn image(&mut self, inst: &Inst, op: &ImageOp) -> Result<(), Unsupported> {
        let (site, run) = image::compiled(inst, op).ok_or(Unsupported)?;
        let mut h = self.plain(inst, run);
        h.own = Own { image: self.image_site(site) };
        self.ops.push(h);
        Ok(())
    }

    /// Stores the data that an access to an image points to.
    fn image_site(&mut self, site: image::Site) -> *const image::Site {
        self.images.push(Box::new(site));
        self.images.last().map_or(std::ptr::null(), |site| &raw const **site)
    }

    /// A move of `n` rows from or to a bank, indexed from `base`.
    fn indexed(&self, inst: &Inst, base: Operand, n: u8, run: Handler) -> Result<HostOp, Unsupported> {
        let Operand::Row(base) = base else { return Err(Unsupported) };
        let (bank, number) = base.bank().ok_or(Unsupported)?;
        let mut h = self.plain(inst, run);
        // A constant source 1 is in `k[1]`.
        let first = Row(bank as u16 * Row::BANK);
        h.k[0] = self.counts.offset(first).ok_or(Unsupported)?.into();
        h.k[2] = u64::from(number) | u64::from(self.counts.rows[bank]) << 32;
        h.k[3] = n.into();
        Ok(h)
    }

    /// The rows that lanes reach by their own index from `base`.
    fn lane_rows(&self, base: Operand, rows: RowRange) -> Result<LaneRows, Unsupported> {
        let Operand::Row(base) = base else { return Err(Unsupported) };
        let (bank, number) = base.bank().ok_or(Unsupported)?;
        let allocated = self.counts.rows[bank];
        if !rows.is_defined() || !rows.contains(base) || allocated == 0 {
            return Err(Unsupported);
        }
        let first_of_bank = base.0 - number;
        let end = rows.end.0.min(first_of_bank + allocated);
        let stride = i32::from(rows.stride);
        // The first index whose row is not before the given one.
        let index_of = |row: u16| (i32::from(row) - i32::from(base.0) + stride - 1).div_euclid(stride);
        let (lowest, behind) = (index_of(rows.first.0), index_of(end));
        let bank = self.counts.offset(Row(first_of_bank)).ok_or(Unsupported)?;
        Ok(LaneRows {
            lowest,
            count: u32::try_from(behind - lowest).unwrap_or(0),
            base: bank + u32::from(number) * ROW_BYTES,
            step: u32::from(rows.stride) * ROW_BYTES,
            fallback: self.counts.source(rows.fallback(base)),
        })
    }

    /// Bounds of the index: offsets of the first cell and of the end of the cells that the wave
    /// has.
    fn bound(&self, h: &mut HostOp, cells: CellRange) {
        let end = (cells.first.0..cells.end.0).map(Uni).find(|cell| self.counts.lacks(*cell));
        h.k[2] = uni_offset(cells.first).into();
        h.k[3] = uni_offset(end.unwrap_or(cells.end)).into();
    }

    /// The lanes that feed lanes 0 to 63 under a pattern.
    fn pattern(&mut self, pattern: LanePattern) -> *const [u8; LANES] {
        let lanes = pattern.sources().map(|lane| lane.unwrap_or(NO_LANE));
        self.patterns.push(Box::new(lanes));
        self.patterns.last().map_or(std::ptr::null(), |lanes| &raw const **lanes)
    }

    /// Which of the first `n` sources are rows. All of the sources must be present.
    fn shape(&self, op: &HostOp, n: usize) -> Result<Shape, Unsupported> {
        if op.src[..n].contains(&ABSENT) {
            return Err(Unsupported);
        }
        let mut scalars = (0..n).filter(|i| op.src[*i] & FLAGS != 0);
        Ok(match (scalars.next(), scalars.next()) {
            (None, _) => Shape::Rows,
            (Some(at), None) => Shape::Scalar(at),
            _ => Shape::Mixed,
        })
    }

    /// Stores the data that a float operation points to.
    fn info(&mut self, info: FloatInfo) -> *const FloatInfo {
        self.infos.push(Box::new(info));
        self.infos.last().map_or(std::ptr::null(), |i| &raw const **i)
    }

    /// An atomic with the floating-point mode, if it needs one.
    fn atomic(&mut self, inst: &Inst, run: Handler, op: AtomicOp, width: Width) -> HostOp {
        let mut h = self.plain(inst, run);
        let perform = atomic::performer(op, width);
        h.own = Own { atomic: Atomic { site: SiteCache::EMPTY, perform, op } };
        if op.is_float() {
            h.float = self.info(FloatInfo {
                op: inst.op,
                attrs: inst.attrs,
                sources: [Source::bits(1); 3],
                result: Outcome { dwords: 0, float: None },
                reference: None,
            });
        }
        h
    }
}
