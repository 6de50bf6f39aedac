//! Programs as lists of words: the source of machine code, and of the scalar reference.

use wavemill_isa::cayman::{FieldId as F, Inst, Op, SourceField};

/// A source of a slot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Src {
    /// Register and channel.
    Gpr(u16, u16),
    /// The same, with the index of INDEX_MODE.
    Indexed(u16, u16),
    Literal(u32),
    /// A channel of PV.
    Previous(u16),
    /// A code of SRC_SEL, and a channel.
    Code(u32, u32),
}

/// A slot of a group.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) op: Op,
    /// Register; MOVA_DST of MOVA_INT.
    pub(crate) to: u16,
    pub(crate) channel: u16,
    pub(crate) sources: Vec<Src>,
    pub(crate) writes: bool,
    pub(crate) is_indexed: bool,
    pub(crate) index_mode: u32,
    pub(crate) pred_sel: u32,
    pub(crate) updates_predicate: bool,
    /// EXECUTE_MASK_OP, with UPDATE_EXEC_MASK.
    pub(crate) execute: Option<u32>,
}

/// A slot that writes a channel of a register.
pub(crate) fn slot(op: Op, to: u16, channel: u16, sources: &[Src]) -> Slot {
    Slot {
        op,
        to,
        channel,
        sources: sources.to_vec(),
        writes: true,
        is_indexed: false,
        index_mode: 0,
        pred_sel: 0,
        updates_predicate: false,
        execute: None,
    }
}

impl Slot {
    /// Without a write to the register.
    pub(crate) fn masked(self) -> Slot {
        Slot { writes: false, ..self }
    }

    /// With an index added to the register's number.
    pub(crate) fn indexed(self) -> Slot {
        Slot { is_indexed: true, ..self }
    }

    /// With another index than AR.X.
    pub(crate) fn index_mode(self, index_mode: u32) -> Slot {
        Slot { index_mode, ..self }
    }

    /// In the lanes that PRED_SEL selects.
    pub(crate) fn when(self, pred_sel: u32) -> Slot {
        Slot { pred_sel, ..self }
    }

    /// With UPDATE_PRED.
    pub(crate) fn predicate(self) -> Slot {
        Slot { updates_predicate: true, ..self }
    }

    /// With UPDATE_EXEC_MASK.
    pub(crate) fn execute(self, op: u32) -> Slot {
        Slot { execute: Some(op), ..self }
    }

    fn encode(&self, literals: &mut Vec<u32>, last: bool) -> Inst {
        let mut inst = Inst::new(self.op);
        let set = |inst: &mut Inst, id, value: u32| *inst = inst.with(id, value).expect("it fits");
        set(&mut inst, F::Last, last.into());
        set(&mut inst, F::DstChan, self.channel.into());
        let to = if self.op == Op::MovaInt { F::MovaDst } else { F::DstGpr };
        set(&mut inst, to, self.to.into());
        set(&mut inst, F::IndexMode, self.index_mode);
        set(&mut inst, F::PredSel, self.pred_sel);
        set(&mut inst, F::DstRel, self.is_indexed.into());
        if !self.writes {
            set(&mut inst, F::WriteMask, 0);
        }
        if self.updates_predicate {
            set(&mut inst, F::UpdatePred, 1);
        }
        if let Some(op) = self.execute {
            set(&mut inst, F::UpdateExecMask, 1);
            set(&mut inst, F::ExecuteMaskOp, op);
        }
        for (source, field) in self.sources.iter().zip(&SourceField::ALL) {
            let (select, channel, relative) = match *source {
                Src::Gpr(register, channel) => (register.into(), channel.into(), 0),
                Src::Indexed(register, channel) => (register.into(), channel.into(), 1),
                Src::Literal(value) => {
                    let known = literals.iter().position(|literal| *literal == value);
                    let number = known.unwrap_or_else(|| {
                        literals.push(value);
                        literals.len() - 1
                    });
                    (253, number as u32, 0)
                }
                Src::Previous(channel) => (254, channel.into(), 0),
                Src::Code(select, channel) => (select, channel, 0),
            };
            set(&mut inst, field.select, select);
            set(&mut inst, field.channel, channel);
            set(&mut inst, field.relative, relative);
        }
        inst
    }
}

/// A control flow word without a clause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) op: Op,
    /// The number of the word that ADDR leads to.
    pub(crate) to: usize,
    pub(crate) pops: u32,
    /// COND and CF_CONST.
    pub(crate) cond: (u32, u32),
    /// CALL_COUNT.
    pub(crate) calls: u32,
    /// VALID_PIXEL_MODE.
    pub(crate) valid: bool,
}

/// A control flow word with its clause.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Alu(Op, Vec<Vec<Slot>>),
    /// The same, with other fields of the control flow word.
    AluWith(Inst, Vec<Vec<Slot>>),
    Flow(Flow),
    /// A word whose fault shows the registers.
    Stop,
}

/// A program under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) words: Vec<Word>,
}

impl Program {
    /// The number of the next word.
    pub(crate) fn here(&self) -> usize {
        self.words.len()
    }

    /// Appends an ALU clause.
    pub(crate) fn alu(&mut self, op: Op, groups: Vec<Vec<Slot>>) -> usize {
        self.words.push(Word::Alu(op, groups));
        self.here() - 1
    }

    /// Appends a word that goes to the next word and pops that many frames.
    pub(crate) fn flow(&mut self, op: Op, pops: u32) -> usize {
        let to = self.here() + 1;
        self.words.push(Word::Flow(Flow { op, to, pops, cond: (0, 0), calls: 0, valid: false }));
        self.here() - 1
    }

    /// Changes a word.
    pub(crate) fn change(&mut self, word: usize, change: impl FnOnce(&mut Flow)) {
        match &mut self.words[word] {
            Word::Flow(flow) => change(flow),
            other => panic!("{other:?}"),
        }
    }

    /// Makes a word lead to the next word that is appended.
    pub(crate) fn land(&mut self, word: usize) {
        let to = self.here();
        self.change(word, |flow| flow.to = to);
    }

    pub(crate) fn stop(&mut self) {
        self.words.push(Word::Stop);
    }

    /// The machine code.
    pub(crate) fn code(&self) -> Vec<u8> {
        let size = |word: &Word| match word {
            Word::Alu(op, _) => Inst::new(*op).size(),
            Word::AluWith(inst, _) => inst.size(),
            _ => 8,
        };
        let offsets: Vec<usize> = self
            .words
            .iter()
            .scan(0, |at, word| {
                *at += size(word);
                Some(*at - size(word))
            })
            .collect();
        let mut control = Vec::new();
        let mut clauses: Vec<u8> = Vec::new();
        let first = self.words.iter().map(size).sum::<usize>();
        for word in &self.words {
            let inst = match word {
                Word::Alu(..) | Word::AluWith(..) => {
                    let (inst, groups) = match word {
                        Word::Alu(op, groups) => (Inst::new(*op), groups),
                        Word::AluWith(inst, groups) => (*inst, groups),
                        _ => unreachable!(),
                    };
                    let at = first + clauses.len();
                    for group in groups {
                        encode_group(group, &mut clauses);
                    }
                    let words = (first + clauses.len() - at) / 8;
                    assert!((1..=128).contains(&words), "a clause of {words} words");
                    let inst = inst.with(F::Addr, (at / 8) as u32).expect("it fits");
                    inst.with(F::Count, words as u32 - 1).expect("it fits")
                }
                Word::Flow(flow) => {
                    let end = offsets.last().map_or(0, |last| last + 8);
                    let to = offsets.get(flow.to).copied().unwrap_or(end);
                    let fields = [
                        (F::Addr, (to / 8) as u32),
                        (F::PopCount, flow.pops),
                        (F::Cond, flow.cond.0),
                        (F::CfConst, flow.cond.1),
                        (F::Count, flow.calls),
                        (F::ValidPixelMode, flow.valid.into()),
                    ];
                    fields
                        .into_iter()
                        .fold(Inst::new(flow.op), |inst, (id, value)| inst.with(id, value).expect("it fits"))
                }
                Word::Stop => Inst::new(Op::Halt),
            };
            let (bytes, size) = inst.encode();
            control.extend(&bytes[..size]);
        }
        control.extend(clauses);
        control
    }
}

fn encode_group(group: &[Slot], code: &mut Vec<u8>) {
    let mut literals = Vec::new();
    for (number, slot) in group.iter().enumerate() {
        let inst = slot.encode(&mut literals, number + 1 == group.len());
        let (bytes, size) = inst.encode();
        code.extend(&bytes[..size]);
    }
    assert!(literals.len() <= 4, "{} literals", literals.len());
    literals.resize(literals.len().next_multiple_of(2), 0);
    code.extend(literals.iter().flat_map(|literal| literal.to_le_bytes()));
}
