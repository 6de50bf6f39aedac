//! Machine code of units: rows are kept in vector registers while they are used, all else is at home in the register file.

mod assembler;
pub(crate) mod memory;
mod registers;
mod rows;
pub(crate) mod scalar;
mod strips;

use std::collections::HashMap;

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};
use wavemill_interpreter::translate::{Link, layout};
use wavemill_ir::{Cond, Terminator, Uni, Width};
use wavemill_machine::registers::uni_offset;

use crate::unit::{How, Plan, Version, targets};
use assembler::{Assembler, Label, in_file};
use memory::Handler;
use registers::{CONTEXT, FILE, FRAME, SAVED, STRIPS, TABLE, active, of_group};
use rows::Rows;

pub(crate) use registers::TEMPS;

/// Machine code with what it refers to.
pub(crate) struct Emitted {
    pub bytes: Vec<u8>,
    pub links: Vec<Link>,
}

/// Emits code that is seldom run, after all blocks.
type Later = Box<dyn FnOnce(&mut Emitter<'_>)>;

struct Emitter<'p> {
    plan: &'p Plan,
    leave_before: Option<u32>,
    asm: Assembler,
    rows: Rows,
    /// Whether all lanes are known to be active.
    full: bool,
    /// Whether the mask registers hold the active lanes.
    masks_loaded: bool,
    /// Block and version that are emitted.
    version: Version,
    links: Vec<Link>,
    link_numbers: HashMap<Link, u32>,
    later: Vec<Later>,
    labels: Vec<Label>,
    /// The rows in registers where a node begins, once that is known.
    entries: Vec<Option<Rows>>,
    epilogue: Label,
}

/// Machine code of a unit.
/// With `leave_before`, it leaves before the operation with that number in every block, to test exits.
pub(crate) fn emit(plan: &Plan, leave_before: Option<u32>) -> Result<Emitted, IcedError> {
    let mut asm = Assembler::new();
    let labels = plan.nodes.iter().map(|_| asm.label()).collect();
    let epilogue = asm.label();
    let mut e = Emitter {
        plan,
        leave_before,
        asm,
        rows: Rows::default(),
        full: false,
        masks_loaded: false,
        version: Version { block: 0, full: false },
        links: Vec::new(),
        link_numbers: HashMap::new(),
        later: Vec::new(),
        labels,
        entries: plan.nodes.iter().map(|_| None).collect(),
        epilogue,
    };
    e.prologue();
    for n in 0..plan.nodes.len() {
        e.node(n);
    }
    while let Some(later) = e.later.pop() {
        later(&mut e);
    }
    e.asm.bind(epilogue);
    e.asm.put(Ok(Instruction::with(Code::VEX_Vzeroupper)));
    e.asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::RSP, FRAME));
    for register in SAVED.into_iter().rev() {
        e.asm.put(Instruction::with1(Code::Pop_r64, register));
    }
    e.asm.put(Ok(Instruction::with(Code::Retnq)));
    Ok(Emitted { bytes: e.asm.finish()?, links: e.links })
}

impl Emitter<'_> {
    /// The number of a link in the table.
    fn link(&mut self, operation: usize) -> u32 {
        let link = self.plan.link(self.version.block, operation);
        let links = &mut self.links;
        *self.link_numbers.entry(link).or_insert_with(|| {
            links.push(link);
            links.len() as u32 - 1
        })
    }

    fn link_in_table(link: u32) -> MemoryOperand {
        assembler::memory(TABLE, layout::LINKS as i64 + 8 * i64::from(link), false)
    }

    /// The condition that all lanes are active, in the flag "equal".
    fn compare_active_with_all(&mut self) {
        let active = in_file(uni_offset(Uni::ACTIVE));
        self.asm.put(Instruction::with2(Code::Cmp_rm64_imm8, active, -1));
    }

    fn prologue(&mut self) {
        for register in SAVED {
            self.asm.put(Instruction::with1(Code::Push_r64, register));
        }
        self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, FRAME));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, CONTEXT, Register::RDI));
        let file = assembler::memory(Register::RDI, layout::REGISTERS as i64, false);
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, FILE, file));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, TABLE, Register::RSI));
        self.asm.load_pool();
        self.compare_active_with_all();
        let [full, any] = [true, false].map(|full| self.plan.numbers[&Version { block: 0, full }]);
        for n in [full, any] {
            self.rows = Rows::default();
            let unlike = self.asm.label();
            if n == full {
                self.asm.jump(Code::Jne_rel32_64, unlike);
            }
            self.go_to(n);
            self.asm.bind(unlike);
        }
    }

    /// Goes to a node with the rows that it expects in registers.
    fn go_to(&mut self, n: usize) {
        let node = &self.plan.nodes[n];
        if let Some(hot) = node.hot_loop {
            let expected = &self.plan.loops[hot].rows;
            self.bring_rows(expected);
        } else if node.predecessors == 1 && self.entries[n].is_none() && n > 0 {
            self.entries[n] = Some(self.rows.clone());
        } else {
            self.store_all();
        }
        self.asm.jump(Code::Jmp_rel32_64, self.labels[n]);
    }

    fn node(&mut self, n: usize) {
        let node = &self.plan.nodes[n];
        self.version = node.version;
        self.full = node.version.full;
        self.masks_loaded = false;
        self.rows = match (node.hot_loop, self.entries[n].take()) {
            (Some(hot), _) => Rows::of_loop(&self.plan.loops[hot].rows),
            (None, Some(rows)) => rows,
            (None, None) => Rows::default(),
        };
        self.asm.bind_after_jump(self.labels[n]);
        let plan = self.plan;
        let block = &plan.blocks[node.version.block];
        let mut at = 0;
        while at < block.how.len() {
            let inst = &block.compiled.block.insts[at];
            if self.leave_before == Some(at as u32) {
                let label = self.exit_before(at);
                self.asm.jump(Code::Jmp_rel32_64, label);
            }
            match &block.how[at] {
                How::Nothing => {}
                How::Strip(strip) => {
                    if !self.strip(strip, at) {
                        self.call(at, at + 1);
                    }
                }
                How::Scalar => self.scalar(inst),
                How::Lane => self.lane(inst),
                How::Access(access) => {
                    if !self.lane_access(access, at) {
                        self.call(at, at + 1);
                    }
                }
                How::Private(access) => {
                    if !self.private_access(access, at) {
                        self.call(at, at + 1);
                    }
                }
                How::ScalarLoad(load) => self.scalar_load(load, at),
                How::Call => {
                    let calls =
                        block.how[at..].iter().take_while(|how| matches!(how, How::Call | How::Nothing));
                    let mut behind = at + calls.count();
                    if let Some(before) = self.leave_before.map(|n| n as usize).filter(|n| *n > at) {
                        behind = behind.min(before);
                    }
                    self.call(at, behind);
                    at = behind;
                    continue;
                }
                How::Leave => {
                    let link = self.link(at);
                    self.leave(link, None);
                    return;
                }
            }
            if crate::unit::changes_active(inst) {
                self.full = false;
                self.masks_loaded = false;
            }
            at += 1;
        }
        self.terminator(block.changes_active);
    }

    /// Runs operations by the handlers of the interpreter.
    fn call(&mut self, from: usize, to: usize) {
        let block = &self.plan.blocks[self.version.block];
        let insts = &block.compiled.block.insts[from..to];
        self.store_all();
        let (from, to) = (self.link(from), self.link(to));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDI, CONTEXT));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSI, Self::link_in_table(from)));
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDX, Self::link_in_table(to)));
        self.asm.put(Instruction::with1(
            Code::Call_rm64,
            assembler::memory(TABLE, layout::PERFORM as i64, false),
        ));
        self.asm.put(Instruction::with2(Code::Test_rm64_r64, Register::RAX, Register::RAX));
        self.asm.jump(Code::Je_rel32_64, self.epilogue);
        self.masks_loaded = false;
        self.full &= !insts.iter().any(crate::unit::changes_active);
    }

    /// Returns a host operation, with all rows at home.
    fn leave(&mut self, link: u32, charged: Option<u32>) {
        self.store_all();
        if let Some(instructions) = charged {
            let budget = assembler::memory(CONTEXT, layout::BUDGET as i64, false);
            self.asm.put(Instruction::with2(Code::Add_rm64_imm32, budget, instructions as i32));
        }
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, Self::link_in_table(link)));
        self.asm.jump(Code::Jmp_rel32_64, self.epilogue);
    }

    /// A label of code that leaves before an operation, with the rows as they are now.
    fn exit_before(&mut self, operation: usize) -> Label {
        let link = self.link(operation);
        let label = self.asm.label();
        self.leave_later(label, link, None);
        label
    }

    /// Leaves from a label, with the rows as they are now.
    fn leave_later(&mut self, label: Label, link: u32, charged: Option<u32>) {
        let rows = self.rows.clone();
        self.later.push(Box::new(move |e| {
            e.rows = rows;
            e.asm.bind(label);
            e.leave(link, charged);
        }));
    }

    /// Labels for an operation that may need its handler.
    fn handler_labels(&mut self) -> Handler {
        Handler { entry: self.asm.label(), back: self.asm.label() }
    }

    /// Emits later what runs an operation by its handler. `before` are the rows in registers where inline code goes there;
    /// those that the operation writes are expected in the same registers afterwards as the others.
    fn handler_later(&mut self, at: usize, handler: Handler, before: Rows, results: Vec<(u32, usize)>) {
        let (version, masks_loaded) = (self.version, self.masks_loaded);
        self.later.push(Box::new(move |e| {
            (e.version, e.rows) = (version, before.clone());
            e.asm.bind(handler.entry);
            e.call(at, at + 1);
            e.masks_loaded = false;
            if masks_loaded {
                e.load_masks();
            }
            let mut after = before;
            for (row, group) in results {
                after.hold(group, row, false);
            }
            let held: Vec<(usize, u32)> = after.held().collect();
            for (group, row) in held {
                e.load_row(group, row);
            }
            e.asm.jump(Code::Jmp_rel32_64, handler.back);
        }));
    }

    fn terminator(&mut self, changes_active: bool) {
        self.rows.forget_temporaries(self.plan);
        let block = &self.plan.blocks[self.version.block].compiled.block;
        // What is known of the active lanes at the end; nothing if they are to be tested.
        let full = if changes_active && !self.full { None } else { Some(self.full) };
        match (block.terminator, targets(block.terminator)) {
            (Terminator::Jump(_), [Some(to), _]) => self.edge(to, full),
            (Terminator::Branch { cond, .. }, [Some(taken), Some(next)]) => {
                let code = self.condition(cond);
                let label = self.asm.label();
                self.asm.jump(code, label);
                let rows = self.rows.clone();
                self.edge(next, full);
                self.asm.bind(label);
                self.rows = rows;
                self.edge(taken, full);
            }
            _ => {
                let link = self.link(block.insts.len());
                self.leave(link, None);
            }
        }
    }

    /// Tests the condition of a branch. Returns the jump that takes it.
    fn condition(&mut self, cond: Cond) -> Code {
        let (cell, width) = cond.cell();
        let cell = in_file(self.plan.counts.uniform_source(cell));
        let code = match width {
            Width::W32 => Code::Cmp_rm32_imm8,
            Width::W64 => Code::Cmp_rm64_imm8,
        };
        self.asm.put(Instruction::with2(code, cell, 0));
        match cond {
            Cond::Zero(..) => Code::Je_rel32_64,
            Cond::NonZero(..) => Code::Jne_rel32_64,
        }
    }

    /// Goes to the block at a position. The block that is emitted is charged.
    fn edge(&mut self, target: u64, full: Option<bool>) {
        let from = self.version.block;
        let block = &self.plan.blocks[from].compiled.block;
        let end = block.insts.len();
        let instructions = block.guest.len() as u32;
        let Some(to) = self.plan.block_at(target) else {
            let link = self.link(end);
            return self.leave(link, None);
        };
        let budget = assembler::memory(CONTEXT, layout::BUDGET as i64, false);
        self.asm.put(Instruction::with2(Code::Sub_rm64_imm32, budget, instructions as i32));
        let link = self.link(end);
        let label = self.asm.label();
        self.leave_later(label, link, Some(instructions));
        self.asm.jump(Code::Jle_rel32_64, label);
        let number = |full| self.plan.numbers[&Version { block: to, full }];
        match full {
            Some(full) => self.go_to(number(full)),
            None => {
                self.compare_active_with_all();
                let unlike = self.asm.label();
                self.asm.jump(Code::Jne_rel32_64, unlike);
                let rows = self.rows.clone();
                self.go_to(number(true));
                self.asm.bind(unlike);
                self.rows = rows;
                self.go_to(number(false));
            }
        }
    }

    /// The mask registers hold the active lanes from here on.
    fn load_masks(&mut self) {
        if !self.masks_loaded {
            for strip in 0..STRIPS {
                let word = in_file(uni_offset(Uni::ACTIVE) + 2 * strip as u32);
                self.asm.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, active(strip), word));
            }
            self.masks_loaded = true;
        }
    }

    /// Loads a row into a group of registers.
    fn load_row(&mut self, group: usize, row: u32) {
        for strip in 0..STRIPS {
            let home = in_file(row + 64 * strip as u32);
            let register = of_group(group, strip);
            self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512, register, home));
        }
    }

    /// Stores a group of registers to the row's home.
    fn store_row(&mut self, group: usize, row: u32) {
        for strip in 0..STRIPS {
            let home = in_file(row + 64 * strip as u32);
            let register = of_group(group, strip);
            self.asm.put(Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, home, register));
        }
    }

    /// Stores all rows that are newer in registers, and forgets what is in registers.
    fn store_all(&mut self) {
        let held: Vec<(usize, u32)> = self.rows.dirty().collect();
        for (group, row) in held {
            self.store_row(group, row);
        }
        self.rows = Rows::default();
    }

    /// Brings rows into the groups of registers that a loop keeps them in, and all others home.
    fn bring_rows(&mut self, expected: &[(u32, bool)]) {
        let others: Vec<(usize, u32)> = self
            .rows
            .dirty()
            .filter(|(_, row)| !self.plan.is_temporary(*row))
            .filter(|(_, row)| !expected.iter().any(|(wanted, written)| wanted == row && *written))
            .collect();
        for (group, row) in others {
            self.store_row(group, row);
        }
        // Moves between groups, those first whose destination no other move needs.
        let mut moves: Vec<(usize, usize)> = Vec::new();
        let mut loads = Vec::new();
        for (to, (row, _)) in expected.iter().enumerate() {
            match self.rows.find(*row) {
                Some(from) if from == to => {}
                Some(from) => moves.push((from, to)),
                None => loads.push((to, *row)),
            }
        }
        let staying: Vec<usize> =
            (0..expected.len()).filter(|n| self.rows.find(expected[*n].0) == Some(*n)).collect();
        debug_assert!(moves.iter().all(|(_, to)| !staying.contains(to)));
        while !moves.is_empty() {
            let free = moves.iter().position(|(_, to)| !moves.iter().any(|(from, _)| from == to));
            match free {
                Some(n) => {
                    let (from, to) = moves.swap_remove(n);
                    self.move_group(|strip| of_group(from, strip), |strip| of_group(to, strip));
                }
                None => {
                    // A ring: one member waits in the temporaries.
                    let (from, to) = moves.swap_remove(0);
                    self.move_group(|strip| of_group(from, strip), registers::temp);
                    let mut at = from;
                    while at != to {
                        let n = moves.iter().position(|(_, to)| *to == at).expect("a ring of moves");
                        let (from, to) = moves.swap_remove(n);
                        self.move_group(|strip| of_group(from, strip), |strip| of_group(to, strip));
                        at = from;
                    }
                    self.move_group(registers::temp, |strip| of_group(to, strip));
                }
            }
        }
        for (group, row) in loads {
            self.load_row(group, row);
        }
    }

    fn move_group(&mut self, from: impl Fn(usize) -> Register, to: impl Fn(usize) -> Register) {
        for strip in 0..STRIPS {
            let code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
            self.asm.put(Instruction::with2(code, to(strip), from(strip)));
        }
    }
}
