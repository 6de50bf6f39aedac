//! Translates store-free loops from wave IR to AVX-512 machine code: one IR operation after the
//! other, by templates, with every row in machine registers for the whole loop.
//!
//! A loop runs for a *group* of lanes at a time: as many strips of 16 lanes as the vector registers
//! can hold. Groups need not stay in step, because nothing in the loop lets one lane see another:
//! there are no stores, and the translator refuses operations between lanes. The next iteration
//! depends either on a value that is the same in all groups or on a test whether any lane's bit is
//! set; [`Compiled::run`] lets groups continue until all stop after the same iteration.
//!
//! A failed guard (an LDS address of another shape or out of range, a NaN that would leave the
//! loop) abandons the whole run. Only the rows set aside for results have changed, so an
//! interpreter can run it again from the start.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::IcedError;
use iced_x86::code_asm::*;
use memmap2::{Mmap, MmapMut};
use wavemill_ir::{
    Attrs, Block, CmpPred, Cond, FloatOp, FloatType, Inst, IntOp, IntType, LANES, LaneMask, MemType, Op,
    Operand, Row, ScalarOp, Space, SrcMods, SubDword, Terminator, Uni, Width,
};
use wavemill_lift::gcn::registers::SCC;

/// Lanes of a vector register.
const STRIP: usize = 16;
/// Bytes of a row of all lanes.
const ROW_BYTES: usize = 4 * LANES;
/// Vector registers that hold no row.
const SCRATCH: usize = 3;

const ZMM: [AsmRegisterZmm; 32] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13, zmm14, zmm15,
    zmm16, zmm17, zmm18, zmm19, zmm20, zmm21, zmm22, zmm23, zmm24, zmm25, zmm26, zmm27, zmm28, zmm29, zmm30,
    zmm31,
];
const XMM: [AsmRegisterXmm; 32] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15,
    xmm16, xmm17, xmm18, xmm19, xmm20, xmm21, xmm22, xmm23, xmm24, xmm25, xmm26, xmm27, xmm28, xmm29, xmm30,
    xmm31,
];
/// Registers for uniform cells. `rdi` is the frame, `rsi` LDS, `rdx` the constants, `rcx` counts iterations, `rax` is
/// scratch.
const GPR: [(AsmRegister64, AsmRegister32); 10] = [
    (rbx, ebx),
    (rbp, ebp),
    (r8, r8d),
    (r9, r9d),
    (r10, r10d),
    (r11, r11d),
    (r12, r12d),
    (r13, r13d),
    (r14, r14d),
    (r15, r15d),
];

/// The arguments of compiled code.
#[repr(C)]
struct Frame {
    /// Rows at the start, beginning with the group's first lane.
    rows_in: *const u8,
    /// Rows at the end.
    rows_out: *mut u8,
    /// The group's own uniform cells.
    cells: *mut u32,
    lds: *const u8,
    consts: *const u8,
    /// Iterations to run at least, whatever the condition says.
    min: u64,
    /// The most iterations to run: the rest of the wave's slice.
    max: u64,
}

/// Returned instead of a number of iterations when a guard has failed.
const ABANDONED: u64 = u64::MAX;

/// How the lanes of a group address LDS; determined before compilation, guarded by the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// All lanes of a strip the same address.
    Uniform,
    /// This many bytes from lane to lane: 4 or 16.
    Stride(u32),
    /// Anything in range.
    Any,
}

/// How to compile a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// EXEC is known to be full and the loop does not write it.
    pub full: bool,
    /// Strips per group; `None`: as many as fit.
    pub strips: Option<usize>,
    /// Recognise uniform and regular LDS addresses; otherwise all are gathered.
    pub shapes: bool,
}

/// The part of a wave's state that compiled loops access.
#[derive(Clone)]
pub(crate) struct State {
    /// VGPRs.
    pub rows: Vec<Lanes>,
    /// Rows for results until they are final.
    pub next: Vec<Lanes>,
    /// Uniform cells.
    pub cells: [u32; Uni::COUNT as usize],
    /// Each group's own cells while it runs.
    pub own: [[u32; Uni::COUNT as usize]; 4],
    /// LDS, in units of a row's size, and one such unit after its end; its alignment matters as
    /// much as in the engine.
    pub lds: Vec<Lanes>,
}

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub [u32; LANES]);

impl State {
    /// Value of a pair of cells.
    pub(crate) fn pair(&self, n: u16) -> u64 {
        u64::from(self.cells[n as usize]) | u64::from(self.cells[n as usize + 1]) << 32
    }
}

/// Why a loop cannot be compiled; shown by the panic.
#[derive(Debug)]
#[allow(dead_code, reason = "the fields are for the message")]
pub(crate) enum Refused {
    /// An operation without a template.
    Operation(String),
    /// Too many registers.
    Registers,
    /// The assembler's error.
    Assembler(IcedError),
    /// The host gave no memory.
    Memory(std::io::Error),
}

impl From<IcedError> for Refused {
    fn from(e: IcedError) -> Self {
        Refused::Assembler(e)
    }
}

impl From<std::io::Error> for Refused {
    fn from(e: std::io::Error) -> Self {
        Refused::Memory(e)
    }
}

/// Machine code of a loop.
pub(crate) struct Compiled {
    code: Mmap,
    consts: Vec<[u32; STRIP]>,
    /// Strips per group.
    pub strips: usize,
    /// Rows in registers.
    pub rows: usize,
    /// Uniform values in registers.
    pub uniforms: usize,
    /// Instructions of one iteration for one group.
    pub instructions: usize,
    /// Pairs of cells with a bit per lane.
    sliced: BTreeSet<u16>,
    /// SCC is a test of such a pair.
    sliced_scc: bool,
    /// Highest row.
    last_row: usize,
    /// Bytes of LDS that the guards allow.
    lds_size: u32,
    /// Cells that the loop's registers stand for.
    read: Vec<u16>,
    /// Cells that the loop writes.
    written: BTreeSet<u16>,
}

impl Compiled {
    /// Runs the loop until it ends or `max` iterations are done; `None` if a guard failed, with registers as before.
    pub(crate) fn run(&self, state: &mut State, max: u64) -> Option<u64> {
        let groups = LANES / (STRIP * self.strips);
        let width = STRIP * self.strips;
        let slice = if width == 64 { !0 } else { (1u64 << width) - 1 };
        for (g, own) in state.own.iter_mut().enumerate().take(groups) {
            for &cell in &self.read {
                own[cell as usize] = state.cells[cell as usize];
            }
            for &pair in &self.sliced {
                let (low, high) = (state.cells[pair as usize], state.cells[pair as usize + 1]);
                let value = (u64::from(low) | u64::from(high) << 32) >> (width * g) & slice;
                own[pair as usize] = value as u32;
                own[pair as usize + 1] = (value >> 32) as u32;
            }
        }
        let mut done = [0u64; 4];
        let mut target = 1;
        assert!(state.rows.len() > self.last_row && state.next.len() == state.rows.len());
        assert!(ROW_BYTES * state.lds.len() >= self.lds_size as usize + 64);
        // SAFETY: the code was made by `Translator` for this signature.
        let entry: unsafe extern "sysv64" fn(*mut Frame) -> u64 =
            unsafe { std::mem::transmute(self.code.as_ptr()) };
        while done[..groups].iter().any(|d| *d < target) {
            for (g, done) in done.iter_mut().enumerate().take(groups) {
                if *done >= target {
                    continue;
                }
                let from = if *done == 0 { state.rows.as_ptr() } else { state.next.as_ptr() };
                let mut frame = Frame {
                    rows_in: from.cast::<u8>().wrapping_add(4 * width * g),
                    rows_out: state.next.as_mut_ptr().cast::<u8>().wrapping_add(4 * width * g),
                    cells: state.own[g].as_mut_ptr(),
                    lds: state.lds.as_ptr().cast(),
                    consts: self.consts.as_ptr().cast(),
                    min: target - *done,
                    max: max - *done,
                };
                // SAFETY: the assertions above vouch for the rows and LDS that the code was made for; `own` has all cells.
                let count = unsafe { entry(&mut frame) };
                if count == ABANDONED {
                    return None;
                }
                *done += count;
                target = target.max(*done);
            }
        }
        for &cell in &self.written {
            state.cells[cell as usize] = state.own[0][cell as usize];
        }
        let scc = SCC.0;
        if self.sliced_scc {
            state.cells[scc as usize] =
                state.own[..groups].iter().fold(0, |any, own| any | own[scc as usize]);
        }
        for &pair in self.sliced.iter().filter(|p| self.written.contains(p)) {
            let mut value = 0;
            for (g, own) in state.own[..groups].iter().enumerate() {
                let part = u64::from(own[pair as usize]) | u64::from(own[pair as usize + 1]) << 32;
                value |= (part & slice) << (width * g);
            }
            state.cells[pair as usize] = value as u32;
            state.cells[pair as usize + 1] = (value >> 32) as u32;
        }
        // Rows that the loop does not write are the same in both.
        std::mem::swap(&mut state.rows, &mut state.next);
        Some(target)
    }
}

/// An address row between two writes to it.
struct Addresses {
    shape: Shape,
    /// Lowest and highest end of the offsets used.
    end: u32,
    /// Uniform register that holds the first lane's address, per strip.
    base: Vec<usize>,
    guarded: bool,
}

struct Translator<'a> {
    a: CodeAssembler,
    block: &'a Block,
    settings: Settings,
    lds_size: u32,
    /// Number of the first machine register of a row.
    rows: BTreeMap<u16, usize>,
    strips: usize,
    /// Registers of uniform values, by first cell.
    cells: BTreeMap<u16, usize>,
    pairs: BTreeSet<u16>,
    sliced: BTreeSet<u16>,
    consts: Vec<[u32; STRIP]>,
    /// Address rows: which run of loads the operation at an index belongs to.
    runs: BTreeMap<usize, usize>,
    addresses: Vec<Addresses>,
    abandon: CodeLabel,
}

fn refuse<T>(inst: &Inst) -> Result<T, Refused> {
    Err(Refused::Operation(inst.to_string()))
}

fn rows(operands: impl Iterator<Item = Operand>) -> Vec<u16> {
    operands.filter_map(|o| if let Operand::Row(r) = o { Some(r.0) } else { None }).collect()
}

/// Rows that an operation reads and writes.
fn row_uses(inst: &Inst) -> Vec<u16> {
    rows(inst.reads().chain(inst.writes()))
}

fn written_rows(inst: &Inst) -> Vec<u16> {
    rows(inst.writes())
}

fn is_bitwise(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Mov | Not | And | Or | Xor | AndNot | OrNot | Nand | Nor | Xnor | Select)
}

/// Cells that an operation names as 64-bit values (with its masks).
fn pair_uses(inst: &Inst) -> Vec<u16> {
    if !matches!(inst.op, Op::Scalar(..) | Op::FloatCmp(..) | Op::IntCmp(..)) {
        return Vec::new();
    }
    let results = inst.dst.iter().enumerate().map(|(n, operand)| (operand, inst.result_dwords(n)));
    let sources = inst.src.iter().enumerate().map(|(n, operand)| (operand, inst.source_dwords(n)));
    let pair = |(operand, dwords): (&Operand, u16)| match operand {
        Operand::Uni(cell) if dwords == 2 => Some(cell.0),
        _ => None,
    };
    results.chain(sources).filter_map(pair).collect()
}

/// Compiles a loop: a block that branches to itself. `state` shows how its lanes address LDS.
pub(crate) fn compile(
    block: &Block,
    settings: Settings,
    state: &State,
    lds_size: u32,
) -> Result<Compiled, Refused> {
    let mut rows = BTreeSet::new();
    let mut pairs = BTreeSet::from([Uni::ACTIVE.0]);
    for inst in &block.insts {
        rows.extend(row_uses(inst));
        pairs.extend(pair_uses(inst));
    }
    if rows.iter().any(|r| *r >= Row::BANK) {
        return Err(Refused::Registers);
    }
    let strips = settings
        .strips
        .unwrap_or_else(|| [4, 2].into_iter().find(|n| n * rows.len() + SCRATCH <= ZMM.len()).unwrap_or(1));
    if strips * rows.len() + SCRATCH > ZMM.len() {
        return Err(Refused::Registers);
    }
    let mut a = CodeAssembler::new(64)?;
    let abandon = a.create_label();
    let mut t = Translator {
        a,
        block,
        settings,
        lds_size,
        rows: rows.iter().enumerate().map(|(i, r)| (*r, i * strips)).collect(),
        strips,
        cells: BTreeMap::new(),
        sliced: sliced(block)?,
        pairs,
        consts: Vec::new(),
        runs: BTreeMap::new(),
        addresses: Vec::new(),
        abandon,
    };
    t.allocate()?;
    t.find_addresses(state)?;
    t.translate()
}

/// Pairs with a bit per lane: EXEC, results of comparisons, and pairs that bitwise operations
/// combine with those.
fn sliced(block: &Block) -> Result<BTreeSet<u16>, Refused> {
    let mut sliced = BTreeSet::from([Uni::ACTIVE.0]);
    for inst in &block.insts {
        if matches!(inst.op, Op::FloatCmp(..) | Op::IntCmp(..)) {
            sliced.extend(pair_uses(inst));
        }
    }
    loop {
        let before = sliced.len();
        for inst in &block.insts {
            let uses = pair_uses(inst);
            if uses.iter().any(|u| sliced.contains(u)) {
                if let Op::Scalar(op, _) = inst.op
                    && !is_bitwise(op)
                {
                    return refuse(inst);
                }
                sliced.extend(uses);
            }
        }
        if sliced.len() == before {
            return Ok(sliced);
        }
    }
}

impl Translator<'_> {
    fn allocate(&mut self) -> Result<(), Refused> {
        let mut firsts: BTreeSet<u16> = self.pairs.clone();
        firsts.insert(SCC.0);
        for inst in &self.block.insts {
            for o in inst.dst.iter().chain(&inst.src) {
                if let Operand::Uni(u) = o
                    && !self.pairs.contains(&u.0)
                {
                    if u.0 > 0 && self.pairs.contains(&(u.0 - 1)) {
                        return refuse(inst);
                    }
                    firsts.insert(u.0);
                }
            }
        }
        for cell in firsts {
            let n = self.cells.len();
            self.cells.insert(cell, n);
        }
        if self.cells.len() > GPR.len() { Err(Refused::Registers) } else { Ok(()) }
    }

    /// Groups LDS loads by the value of their address row, and determines how the lanes address it
    /// now.
    fn find_addresses(&mut self, state: &State) -> Result<(), Refused> {
        let mut current: BTreeMap<u16, usize> = BTreeMap::new();
        let mut next_gpr = self.cells.len();
        // The value of an address row when it is read; rows are tracked through additions.
        let mut values: BTreeMap<u16, [u32; LANES]> = BTreeMap::new();
        for (i, inst) in self.block.insts.iter().enumerate() {
            if let (Op::Load(Space::Lds, MemType::Dwords(1)), Operand::Row(row)) = (inst.op, inst.src[0]) {
                let value = *values.entry(row.0).or_insert(state.rows[row.0 as usize].0);
                let offset = u32::try_from(inst.attrs.imm).or_else(|_| refuse(inst))?;
                let run = match current.get(&row.0) {
                    Some(run) => *run,
                    None => {
                        let shape = if self.settings.shapes { shape(&value) } else { Shape::Any };
                        let base = if shape == Shape::Any {
                            Vec::new()
                        } else {
                            let base = (next_gpr..next_gpr + self.strips).collect();
                            next_gpr += self.strips;
                            base
                        };
                        self.addresses.push(Addresses { shape, end: 0, base, guarded: false });
                        current.insert(row.0, self.addresses.len() - 1);
                        self.addresses.len() - 1
                    }
                };
                self.runs.insert(i, run);
                let all = &mut self.addresses[run];
                all.end = all.end.max(offset + 4);
            }
            for row in written_rows(inst) {
                current.remove(&row);
                let at = |o: Operand, l: usize| match o {
                    Operand::Row(r) => Some(values.get(&r.0).unwrap_or(&state.rows[r.0 as usize].0)[l]),
                    Operand::Uni(u) => Some(state.cells[u.0 as usize]),
                    Operand::Const(c) => Some(c as u32),
                    Operand::None => None,
                };
                let sum = |l| match inst.op {
                    Op::Int(IntOp::Add) => Some(at(inst.src[0], l)?.wrapping_add(at(inst.src[1], l)?)),
                    _ => None,
                };
                let value = std::array::from_fn(|l| sum(l).unwrap_or((l as u32).wrapping_mul(0x9e37_79b9)));
                values.insert(row, value);
            }
        }
        if next_gpr > GPR.len() { Err(Refused::Registers) } else { Ok(()) }
    }

    fn row(&self, row: u16, strip: usize) -> AsmRegisterZmm {
        ZMM[self.rows[&row] + strip]
    }

    fn scratch(&self, n: usize) -> AsmRegisterZmm {
        ZMM[ZMM.len() - 1 - n]
    }

    fn cell(&self, u: Uni) -> (AsmRegister64, AsmRegister32) {
        GPR[self.cells[&u.0]]
    }

    /// A result register, merged under the strip's part of EXEC.
    fn masked(&self, register: AsmRegisterZmm, strip: usize, mask: LaneMask) -> AsmRegisterZmm {
        assert!(!matches!(mask, LaneMask::Given(_)), "loads into LDS are not compiled");
        if self.settings.full || mask == LaneMask::All {
            return register;
        }
        match strip {
            0 => register.k1(),
            1 => register.k2(),
            2 => register.k3(),
            _ => register.k4(),
        }
    }

    fn constant(&mut self, lanes: [u32; STRIP]) -> i32 {
        let index = self.consts.iter().position(|c| *c == lanes).unwrap_or_else(|| {
            self.consts.push(lanes);
            self.consts.len() - 1
        });
        (index * 4 * STRIP) as i32
    }

    /// A source as a vector register; scalars are spread into the scratch register `n`.
    fn vector(&mut self, o: Operand, strip: usize, n: usize, inst: &Inst) -> Result<AsmRegisterZmm, Refused> {
        let scratch = self.scratch(n);
        match o {
            Operand::Row(r) => return Ok(self.row(r.0, strip)),
            Operand::Uni(u) => {
                let (_, source) = self.cell(u);
                self.a.vpbroadcastd(scratch, source)?;
            }
            Operand::Const(c) => {
                let at = self.constant([c as u32; STRIP]);
                self.a.vpbroadcastd(scratch, dword_ptr(rdx + at))?;
            }
            Operand::None => return refuse(inst),
        }
        Ok(scratch)
    }

    /// Brings the parts of EXEC into k1..k4.
    fn load_masks(&mut self) -> Result<(), Refused> {
        let (exec, low) = self.cell(Uni::ACTIVE);
        for strip in 0..self.strips {
            let part = if strip == 0 {
                low
            } else {
                self.a.mov(rax, exec)?;
                self.a.shr(rax, (STRIP * strip) as u32)?;
                eax
            };
            let k = [k1, k2, k3, k4][strip];
            self.a.kmovw(k, part)?;
        }
        Ok(())
    }

    fn translate(mut self) -> Result<Compiled, Refused> {
        let Terminator::Branch { cond, taken, .. } = self.block.terminator else {
            return Err(Refused::Operation(format!("{:?}", self.block.terminator)));
        };
        if taken != self.block.start {
            return Err(Refused::Operation(format!("{:?}", self.block.terminator)));
        }
        let written: BTreeSet<u16> = self.block.insts.iter().flat_map(written_rows).collect();
        let saved = [rbx, rbp, r12, r13, r14, r15];
        for register in saved {
            self.a.push(register)?;
        }
        let cells: Vec<(u16, usize)> = self.cells.iter().map(|(c, r)| (*c, *r)).collect();
        self.a.mov(rax, qword_ptr(rdi + 16))?;
        for (cell, register) in &cells {
            let at = rax + 4 * i32::from(*cell);
            if self.pairs.contains(cell) {
                self.a.mov(GPR[*register].0, qword_ptr(at))?;
            } else {
                self.a.mov(GPR[*register].1, dword_ptr(at))?;
            }
        }
        self.a.mov(rax, qword_ptr(rdi))?;
        let rows: Vec<u16> = self.rows.keys().copied().collect();
        for row in &rows {
            for strip in 0..self.strips {
                let at = rax + (usize::from(*row) * ROW_BYTES + 4 * STRIP * strip) as i32;
                self.a.vmovdqu32(self.row(*row, strip), zmmword_ptr(at))?;
            }
        }
        self.a.mov(rsi, qword_ptr(rdi + 24))?;
        self.a.mov(rdx, qword_ptr(rdi + 32))?;
        self.a.xor(ecx, ecx)?;
        // The upper half of a strip, joined from two permutations.
        self.a.mov(eax, 0xff00u32)?;
        self.a.kmovw(k6, eax)?;
        if !self.settings.full {
            self.load_masks()?;
        }

        let mut head = self.a.create_label();
        self.a.set_label(&mut head)?;
        let before = self.a.instructions().len();
        for i in 0..self.block.insts.len() {
            self.operation(i)?;
        }
        self.a.inc(rcx)?;
        self.a.cmp(rcx, qword_ptr(rdi + 48))?;
        let mut out = self.a.create_label();
        self.a.jae(out)?;
        let (cell, width) = cond.cell();
        let ((register, low), again) = (self.cell(cell), matches!(cond, Cond::NonZero(..)));
        let is_mask = width == Width::W64;
        let answered = if is_mask { again } else { !self.scc_is_sliced(self.block.insts.len()) };
        if !answered {
            // One group cannot decide that no lane's bit is set in any group.
            return Err(Refused::Operation(format!("{:?}", self.block.terminator)));
        }
        self.test(register, low, is_mask)?;
        if again {
            self.a.jnz(head)?
        } else {
            self.a.jz(head)?
        }
        self.a.cmp(rcx, qword_ptr(rdi + 40))?;
        self.a.jb(head)?;
        let instructions = self.a.instructions().len() - before;

        self.a.set_label(&mut out)?;
        self.check_nans()?;
        self.a.mov(rax, qword_ptr(rdi + 8))?;
        for row in &written {
            for strip in 0..self.strips {
                let at = rax + (usize::from(*row) * ROW_BYTES + 4 * STRIP * strip) as i32;
                self.a.vmovdqu32(zmmword_ptr(at), self.row(*row, strip))?;
            }
        }
        self.a.mov(rax, qword_ptr(rdi + 16))?;
        for (cell, register) in &cells {
            let at = rax + 4 * i32::from(*cell);
            if self.pairs.contains(cell) {
                self.a.mov(qword_ptr(at), GPR[*register].0)?;
            } else {
                self.a.mov(dword_ptr(at), GPR[*register].1)?;
            }
        }
        self.a.mov(rax, rcx)?;
        let mut leave = self.a.create_label();
        self.a.jmp(leave)?;
        let mut abandon = self.abandon;
        self.a.set_label(&mut abandon)?;
        self.a.mov(rax, -1i64 as u64)?;
        self.a.set_label(&mut leave)?;
        self.a.vzeroupper()?;
        for register in saved.into_iter().rev() {
            self.a.pop(register)?;
        }
        self.a.ret()?;

        let mut memory = MmapMut::map_anon(1 << 16)?;
        let bytes = self.a.assemble(memory.as_ptr() as u64)?;
        if bytes.len() > memory.len() {
            return Err(Refused::Registers);
        }
        memory[..bytes.len()].copy_from_slice(&bytes);
        let last_scc = self.block.insts.iter().rev().find(|i| writes_scc(i));
        let sliced_scc = last_scc.is_some_and(|i| pair_uses(i).iter().any(|p| self.sliced.contains(p)));
        let written = self
            .block
            .insts
            .iter()
            .flat_map(|i| i.dst)
            .filter_map(|o| if let Operand::Uni(u) = o { Some(u.0) } else { None })
            .flat_map(|u| if self.pairs.contains(&u) { vec![u, u + 1] } else { vec![u] })
            .collect();
        Ok(Compiled {
            code: memory.make_exec()?,
            consts: self.consts,
            strips: self.strips,
            rows: rows.len(),
            uniforms: self.cells.len() + self.addresses.iter().map(|a| a.base.len()).sum::<usize>(),
            instructions,
            last_row: rows.last().map_or(0, |r| usize::from(*r)),
            lds_size: self.lds_size,
            read: cells
                .iter()
                .flat_map(|(c, _)| if self.pairs.contains(c) { vec![*c, c + 1] } else { vec![*c] })
                .collect(),
            sliced: self.sliced,
            sliced_scc,
            written,
        })
    }

    /// Sets the flags of a value; for a mask, of the group's lanes only.
    fn test(&mut self, register: AsmRegister64, low: AsmRegister32, is_mask: bool) -> Result<(), Refused> {
        match (is_mask, self.strips) {
            (true, 4) => self.a.test(register, register)?,
            (true, 2) | (false, _) => self.a.test(low, low)?,
            (true, _) => self.a.test(low, 0xffffu32)?,
        }
        Ok(())
    }

    /// Abandons the run if a row that float operations have written contains a NaN: only the scalar
    /// reference computes its payload. Inside the loop a NaN makes NaNs or disappears in a
    /// comparison, whatever its payload.
    fn check_nans(&mut self) -> Result<(), Refused> {
        let mut floats = BTreeSet::new();
        loop {
            let before = floats.len();
            for inst in &self.block.insts {
                let copies = matches!(inst.op, Op::Int(IntOp::Mov))
                    && row_uses(inst).iter().any(|r| floats.contains(r));
                if copies || matches!(inst.op, Op::Float(..)) {
                    floats.extend(written_rows(inst));
                }
            }
            if floats.len() == before {
                break;
            }
        }
        for inst in &self.block.insts {
            let sources =
                inst.src.iter().filter_map(|o| if let Operand::Row(r) = o { Some(r.0) } else { None });
            let looks = !matches!(inst.op, Op::Float(..) | Op::FloatCmp(..) | Op::Int(IntOp::Mov));
            if looks && sources.into_iter().any(|r| floats.contains(&r)) {
                return refuse(inst);
            }
        }
        if floats.is_empty() {
            return Ok(());
        }
        self.a.kxorw(k7, k7, k7)?;
        for row in floats {
            for strip in 0..self.strips {
                let register = self.row(row, strip);
                self.a.vcmpps(k5, register, register, 3)?;
                self.a.korw(k7, k7, k5)?;
            }
        }
        self.a.kortestw(k7, k7)?;
        let abandon = self.abandon;
        self.a.jnz(abandon)?;
        Ok(())
    }

    /// Whether the SCC that the operation at `index` reads (the terminator at the number of
    /// operations) depends on lanes, of which a group knows only its own.
    fn scc_is_sliced(&self, index: usize) -> bool {
        let (behind, before) = self.block.insts.split_at(index);
        let writer = behind.iter().rev().chain(before.iter().rev()).find(|i| writes_scc(i));
        writer.is_some_and(|i| pair_uses(i).iter().any(|p| self.sliced.contains(p)))
    }

    /// Whether anything reads the SCC that the operation at `index` writes.
    fn scc_is_read(&self, index: usize) -> bool {
        for inst in &self.block.insts[index + 1..] {
            if inst.src.contains(&Operand::Uni(SCC)) {
                return true;
            }
            if writes_scc(inst) {
                return false;
            }
        }
        true
    }

    fn operation(&mut self, index: usize) -> Result<(), Refused> {
        let inst = &self.block.insts[index];
        if inst.src.contains(&Operand::Uni(SCC)) && self.scc_is_sliced(index) {
            return refuse(inst);
        }
        let a = &inst.attrs;
        let plain = match inst.op {
            Op::Float(..) => {
                let mods = Attrs { src: Default::default(), fp: Attrs::default().fp, ..*a };
                mods.is_plain() && a.fp.is_host_default()
            }
            Op::FloatCmp(..) => a.is_plain() && a.fp.is_host_default(),
            _ => a.is_plain(),
        };
        if !plain {
            return refuse(inst);
        }
        match inst.op {
            // The loop has no loads of memory that could overtake a store before it.
            Op::Fence(_) => Ok(()),
            Op::Scalar(op, width) => self.scalar(op, width, inst, self.scc_is_read(index)),
            Op::ScalarCmp(pred, ty) => self.scalar_compare(pred, ty, inst),
            Op::Int(op) => self.int(op, inst),
            Op::Float(op, FloatType::F32) => {
                for strip in 0..self.strips {
                    self.float(op, inst, 0, false, strip)?;
                }
                Ok(())
            }
            Op::Float(op, FloatType::PkF32) => self.packed(op, inst),
            Op::FloatCmp(pred, FloatType::F32) => self.float_compare(pred, inst),
            Op::Load(Space::Lds, MemType::Dwords(1)) => self.lds_load(index, inst),
            _ => refuse(inst),
        }
    }

    fn scalar(&mut self, op: ScalarOp, width: Width, inst: &Inst, scc: bool) -> Result<(), Refused> {
        let Operand::Uni(dst) = inst.dst[0] else { return refuse(inst) };
        let (dst64, dst32) = self.cell(dst);
        let scc = scc && writes_scc(inst);
        let (scc64, scc32) = self.cell(SCC);
        match (op, width) {
            (ScalarOp::AddOverflow, Width::W32) => {
                let Operand::Uni(left) = inst.src[0] else { return refuse(inst) };
                self.a.mov(eax, self.cell(left).1)?;
                match inst.src[1] {
                    Operand::Const(c) => self.a.add(eax, c as u32 as i32)?,
                    Operand::Uni(u) => {
                        let right = self.cell(u).1;
                        self.a.add(eax, right)?;
                    }
                    _ => return refuse(inst),
                }
                self.a.mov(dst32, eax)?;
                if scc {
                    self.a.seto(al)?;
                    self.a.movzx(scc32, al)?;
                }
            }
            (ScalarOp::And | ScalarOp::Or | ScalarOp::AndNot, Width::W64) => {
                let (Operand::Uni(left), Operand::Uni(right)) = (inst.src[0], inst.src[1]) else {
                    return refuse(inst);
                };
                let (left, right) = (self.cell(left).0, self.cell(right).0);
                match op {
                    ScalarOp::And => {
                        self.a.mov(rax, left)?;
                        self.a.and(rax, right)?;
                    }
                    ScalarOp::Or => {
                        self.a.mov(rax, left)?;
                        self.a.or(rax, right)?;
                    }
                    _ => self.a.andn(rax, right, left)?,
                }
                self.a.mov(dst64, rax)?;
                if scc {
                    let is_mask = self.sliced.contains(&dst.0);
                    if is_mask {
                        self.test(dst64, dst32, true)?;
                    } else {
                        self.a.test(dst64, dst64)?;
                    }
                    self.a.setne(al)?;
                    self.a.movzx(scc32, al)?;
                }
            }
            (ScalarOp::Select, Width::W64) => {
                // All lanes or none, by a condition that is the same in all groups.
                let wanted = [Operand::Const(!0), Operand::Const(0), Operand::Uni(SCC)];
                if inst.src[..3] != wanted {
                    return refuse(inst);
                }
                self.a.mov(dst64, scc64)?;
                self.a.neg(dst64)?;
            }
            _ => return refuse(inst),
        }
        if dst == Uni::ACTIVE {
            if self.settings.full {
                return refuse(inst);
            }
            self.load_masks()?;
        }
        Ok(())
    }

    fn scalar_compare(&mut self, pred: CmpPred, ty: IntType, inst: &Inst) -> Result<(), Refused> {
        let (Operand::Uni(dst), Operand::Uni(left)) = (inst.dst[0], inst.src[0]) else { return refuse(inst) };
        let left = self.cell(left).1;
        match inst.src[1] {
            Operand::Const(c) => self.a.cmp(left, c as u32 as i32)?,
            Operand::Uni(u) => {
                let right = self.cell(u).1;
                self.a.cmp(left, right)?;
            }
            _ => return refuse(inst),
        }
        match (pred, ty) {
            (CmpPred::Eq, IntType::U32 | IntType::I32) => self.a.sete(al)?,
            (CmpPred::Lg, IntType::U32 | IntType::I32) => self.a.setne(al)?,
            (CmpPred::Ge, IntType::U32) => self.a.setae(al)?,
            (CmpPred::Lt, IntType::U32) => self.a.setb(al)?,
            (CmpPred::Ge, IntType::I32) => self.a.setge(al)?,
            (CmpPred::Lt, IntType::I32) => self.a.setl(al)?,
            _ => return refuse(inst),
        }
        let dst = self.cell(dst).1;
        self.a.movzx(dst, al)?;
        Ok(())
    }

    fn int(&mut self, op: IntOp, inst: &Inst) -> Result<(), Refused> {
        let Operand::Row(dst) = inst.dst[0] else { return refuse(inst) };
        for strip in 0..self.strips {
            let dst = self.masked(self.row(dst.0, strip), strip, inst.mask);
            match (op, inst.src[0], inst.src[1]) {
                (IntOp::Mov, Operand::Uni(u), _) => {
                    let source = self.cell(u).1;
                    self.a.vpbroadcastd(dst, source)?;
                }
                (IntOp::Mov, Operand::Row(r), _) => {
                    let source = self.row(r.0, strip);
                    self.a.vmovdqa32(dst, source)?;
                }
                (IntOp::Shl | IntOp::Shr, Operand::Row(r), Operand::Const(n)) => {
                    let source = self.row(r.0, strip);
                    let n = n as u32 & 31;
                    if op == IntOp::Shl {
                        self.a.vpslld(dst, source, n)?
                    } else {
                        self.a.vpsrld(dst, source, n)?
                    }
                }
                (IntOp::Add | IntOp::Xor, left, right) => {
                    let left = self.vector(left, strip, 0, inst)?;
                    let right = self.vector(right, strip, 1, inst)?;
                    if op == IntOp::Add {
                        self.a.vpaddd(dst, left, right)?;
                    } else {
                        self.a.vpxord(dst, left, right)?;
                    }
                }
                _ => return refuse(inst),
            }
        }
        Ok(())
    }

    /// One half of a packed operation, or a whole operation: sources are `src[i]` plus a row where
    /// `high` selects it.
    fn float(
        &mut self,
        op: FloatOp,
        inst: &Inst,
        part: u16,
        packed: bool,
        strip: usize,
    ) -> Result<(), Refused> {
        let Operand::Row(dst) = inst.dst[0] else { return refuse(inst) };
        let row = dst.0 + part;
        let dst = self.masked(self.row(row, strip), strip, inst.mask);
        let mut sources = [zmm0; 3];
        let mut negated = [false; 3];
        let count = if op == FloatOp::Fma { 3 } else { 2 };
        for i in 0..count {
            let mods = inst.attrs.src[i];
            let known = SrcMods {
                neg: mods.neg,
                neg_hi: mods.neg_hi,
                sel: mods.sel,
                hi_sel: mods.hi_sel,
                ..SrcMods::default()
            };
            if mods != known || (!packed && (mods.sel != SubDword::Dword || mods.neg_hi)) {
                return refuse(inst);
            }
            let (o, neg) = half(inst.src[i], mods, part, packed);
            negated[i] = neg;
            sources[i] = self.vector(o, strip, i, inst)?;
        }
        let [x, y, z] = sources;
        match (op, negated) {
            (FloatOp::Add, [false, false, _]) => self.a.vaddps(dst, x, y)?,
            (FloatOp::Add, [false, true, _]) => self.a.vsubps(dst, x, y)?,
            (FloatOp::Mul, [false, false, _]) => self.a.vmulps(dst, x, y)?,
            (FloatOp::Fma, [false, false, false]) if z == self.row(row, strip) => {
                self.a.vfmadd231ps(dst, x, y)?
            }
            _ => return refuse(inst),
        }
        Ok(())
    }

    /// Both halves of a packed operation, starting with the half whose result the other does not
    /// read.
    fn packed(&mut self, op: FloatOp, inst: &Inst) -> Result<(), Refused> {
        let Operand::Row(dst) = inst.dst[0] else { return refuse(inst) };
        let reads = |part: u16, row: u16| {
            (0..3).any(|i| half(inst.src[i], inst.attrs.src[i], part, true).0 == Operand::Row(Row(row)))
        };
        let order = match (reads(1, dst.0), reads(0, dst.0 + 1)) {
            (false, _) => [0, 1],
            (true, false) => [1, 0],
            _ => return refuse(inst),
        };
        for part in order {
            for strip in 0..self.strips {
                self.float(op, inst, part, true, strip)?;
            }
        }
        Ok(())
    }

    fn float_compare(&mut self, pred: CmpPred, inst: &Inst) -> Result<(), Refused> {
        let Operand::Uni(dst) = inst.dst[0] else { return refuse(inst) };
        let predicate = match pred {
            CmpPred::False => 0x0b,
            CmpPred::Lt => 0x11,
            CmpPred::Eq => 0x00,
            CmpPred::Le => 0x12,
            CmpPred::Gt => 0x1e,
            CmpPred::Lg => 0x0c,
            CmpPred::Ge => 0x1d,
            CmpPred::Ordered => 0x07,
            CmpPred::Unordered => 0x03,
            CmpPred::Nge => 0x19,
            CmpPred::Nlg => 0x08,
            CmpPred::Ngt => 0x1a,
            CmpPred::Nle => 0x16,
            CmpPred::Neq => 0x04,
            CmpPred::Nlt => 0x15,
            CmpPred::True => 0x0f,
        };
        let (dst64, dst32) = self.cell(dst);
        for strip in 0..self.strips {
            let left = self.vector(inst.src[0], strip, 0, inst)?;
            let right = self.vector(inst.src[1], strip, 1, inst)?;
            let k = if self.settings.full { k5 } else { [k5.k1(), k5.k2(), k5.k3(), k5.k4()][strip] };
            self.a.vcmpps(k, left, right, predicate)?;
            if strip == 0 {
                self.a.kmovw(dst32, k5)?;
            } else {
                self.a.kmovw(eax, k5)?;
                self.a.shl(rax, (STRIP * strip) as u32)?;
                self.a.or(dst64, rax)?;
            }
        }
        if dst == Uni::ACTIVE {
            return refuse(inst);
        }
        Ok(())
    }

    fn lds_load(&mut self, index: usize, inst: &Inst) -> Result<(), Refused> {
        let (Operand::Row(dst), Operand::Row(address), Operand::None) =
            (inst.dst[0], inst.src[0], inst.src[1])
        else {
            return refuse(inst);
        };
        let run = self.runs[&index];
        let Addresses { shape, end, guarded, .. } = self.addresses[run];
        let base = self.addresses[run].base.clone();
        if !guarded {
            self.addresses[run].guarded = true;
            for strip in 0..self.strips {
                self.guard(shape, end, address.0, strip, base.get(strip).copied())?;
            }
        }
        let offset = inst.attrs.imm;
        if offset % 4 != 0 {
            return refuse(inst);
        }
        for strip in 0..self.strips {
            let out = self.masked(self.row(dst.0, strip), strip, inst.mask);
            match shape {
                Shape::Uniform => {
                    let base = GPR[base[strip]].0;
                    self.a.vpbroadcastd(out, dword_ptr(rsi + base + offset))?;
                }
                Shape::Stride(4) => {
                    let base = GPR[base[strip]].0;
                    self.a.vmovdqu32(out, zmmword_ptr(rsi + base + offset))?;
                }
                Shape::Stride(_) => {
                    // Dword n of each 16 bytes: lanes 0 to 7 come from the first two vectors, the
                    // others from the next two. The last vector reaches at most 12 bytes beyond the
                    // checked range; LDS is padded by 64.
                    let base = GPR[base[strip]].0;
                    let (chunk, dword) = (offset & !15, (offset as u32 & 15) / 4);
                    let pattern = self.constant(std::array::from_fn(|l| 4 * (l as u32 % 8) + dword));
                    let (low, high, index) = (self.scratch(0), self.scratch(1), self.scratch(2));
                    self.a.vmovdqu32(index, zmmword_ptr(rdx + pattern))?;
                    self.a.vmovdqu32(low, zmmword_ptr(rsi + base + chunk))?;
                    self.a.vmovdqu32(high, zmmword_ptr(rsi + base + (chunk + 128)))?;
                    self.a.vpermt2d(low, index, zmmword_ptr(rsi + base + (chunk + 64)))?;
                    self.a.vpermt2d(high, index, zmmword_ptr(rsi + base + (chunk + 192)))?;
                    self.a.vmovdqa32(low.k6(), high)?;
                    self.a.vmovdqa32(out, low)?;
                }
                Shape::Any => {
                    let index = self.row(address.0, strip);
                    let gathered = self.scratch(0);
                    // A gather uses up its mask.
                    if self.settings.full {
                        self.a.kxnorw(k5, k5, k5)?;
                    } else {
                        self.a.kmovw(k5, [k1, k2, k3, k4][strip])?;
                    }
                    self.a.vpgatherdd(gathered.k5(), zmmword_ptr(rsi + index * 1 + offset))?;
                    self.a.vmovdqa32(out, gathered)?;
                }
            }
        }
        Ok(())
    }

    /// Abandons the run unless the active lanes' addresses have the shape and all accesses up to
    /// `end` are in LDS.
    fn guard(
        &mut self,
        shape: Shape,
        end: u32,
        address: u16,
        strip: usize,
        base: Option<usize>,
    ) -> Result<(), Refused> {
        let lanes = self.row(address, strip);
        let extent = match shape {
            Shape::Uniform | Shape::Any => end,
            Shape::Stride(n) => end + n * (STRIP as u32 - 1),
        };
        let Some(last) = self.lds_size.checked_sub(extent) else { return Err(Refused::Registers) };
        let abandon = self.abandon;
        let k = if self.settings.full { k5 } else { [k5.k1(), k5.k2(), k5.k3(), k5.k4()][strip] };
        let Some(base) = base else {
            let limit = self.constant([last; STRIP]);
            self.a.vpcmpud(k, lanes, zmmword_ptr(rdx + limit), 6)?;
            self.a.kortestw(k5, k5)?;
            self.a.jnz(abandon)?;
            return Ok(());
        };
        let first = GPR[base].1;
        self.a.evex().vmovd(first, XMM[self.rows[&address] + strip])?;
        self.a.cmp(first, last as i32)?;
        self.a.ja(abandon)?;
        let expected = self.scratch(0);
        self.a.vpbroadcastd(expected, first)?;
        if let Shape::Stride(n) = shape {
            let steps = self.constant(std::array::from_fn(|l| n * l as u32));
            self.a.vpaddd(expected, expected, zmmword_ptr(rdx + steps))?;
        }
        self.a.vpcmpd(k, lanes, expected, 4)?;
        self.a.kortestw(k5, k5)?;
        self.a.jnz(abandon)?;
        Ok(())
    }
}

fn writes_scc(inst: &Inst) -> bool {
    inst.dst.contains(&Operand::Uni(SCC))
}

/// The row that feeds half `part` of a packed operation, and whether it is negated.
fn half(o: Operand, mods: SrcMods, part: u16, packed: bool) -> (Operand, bool) {
    if !packed {
        return (o, mods.neg);
    }
    let high = if part == 0 { mods.sel == SubDword::Word1 } else { mods.hi_sel };
    (o.dword(u16::from(high)), if part == 0 { mods.neg } else { mods.neg_hi })
}

/// How the lanes of every strip address memory.
fn shape(lanes: &[u32; LANES]) -> Shape {
    for stride in [0, 4, 16] {
        let fits = |strip: &[u32]| {
            strip.iter().enumerate().all(|(l, a)| *a == strip[0].wrapping_add(stride * l as u32))
        };
        if lanes.chunks(STRIP).all(fits) {
            return if stride == 0 { Shape::Uniform } else { Shape::Stride(stride) };
        }
    }
    Shape::Any
}
