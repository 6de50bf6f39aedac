//! Slots that compute together, chains, and what goes from group to group: PV, predicates, AR, modes.

use wavemill_isa::cayman::{Elem, FieldId as F, Inst, Op};
use wavemill_reference::F32;

use super::super::Builder;
use super::super::values::{Random, float};
use super::{
    MODES, active, add, dword, from_channel, group, modified, output_modifiers, reading, scaled, slot,
    source_modifiers, with,
};
use crate::data::{Lanes, Row};

/// All channels of r0, r1 and r2. `calm` numbers are near one, so that their sums are exact or
/// nearly so.
fn vectors(builder: &mut Builder, elem: Elem, n: usize, calm: bool) -> usize {
    let name = format!("vectors {elem:?} {n} {calm}");
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let value = |random: &mut Random| match (elem, calm) {
            (Elem::F32, true) => {
                let exponent = 0x3e00_0000 + (random.below(4) << 23) as u64;
                let digits = (random.next() & 0x7f_ffff) & !((1 << random.below(23)) - 1);
                (exponent | digits | random.next() & 0x8000_0000) as u32
            }
            (Elem::F32, false) if random.one_in(3) => float(F32, random) as u32,
            _ => dword(elem, random),
        };
        let registers = (0..3).flat_map(|n| (0..4).map(move |channel| Row::Gpr(n, channel)));
        registers
            .map(|row| {
                let lanes: Lanes = std::array::from_fn(|_| value(&mut random));
                (row, lanes)
            })
            .collect()
    })
}

/// An instruction in four slots, each with its own channel of the registers.
fn own(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    (0..4).map(|channel| change(from_channel(slot(op, channel), channel))).collect()
}

/// CUBE with the sources `r0.zzxy` and `r0.yxzz`.
fn cube(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    let sources = [(2, 1), (2, 0), (0, 2), (1, 2)];
    let slots = (0..4).zip(sources);
    slots.map(|(channel, (a, b))| change(reading(reading(slot(op, channel), 0, 0, a), 1, 0, b))).collect()
}

/// Operations of all four slots.
fn joint(builder: &mut Builder) {
    type Slots = fn(Op, &dyn Fn(Inst) -> Inst) -> Vec<Inst>;
    let all: [(Op, Slots); 5] =
        [(Op::Dot4, own), (Op::Dot4Ieee, own), (Op::Max4, own), (Op::FltToUint4, own), (Op::Cube, cube)];
    for (op, slots) in all {
        let sets = [(0, false), (1, false), (2, true), (3, true)];
        let sets = sets.map(|(n, calm)| vectors(builder, Elem::F32, n, calm));
        for set in sets {
            for mode in 0..16 {
                add(builder, mode, set, &[], &[group(&slots(op, &|inst| inst), &[])]);
            }
        }
        // Both sources of CUBE are the same register, and so are their modifiers.
        let same = |modifiers: &(u32, u32)| op != Op::Cube || matches!(modifiers, (0 | 3, 0 | 3));
        for (n, modifiers) in source_modifiers(op.row()).into_iter().filter(same).enumerate() {
            let slots = slots(op, &|inst| modified(inst, modifiers));
            add(builder, MODES[n % 4], sets[n % 4], &[], &[group(&slots, &[])]);
        }
        for (n, modifiers) in output_modifiers(op.row()).into_iter().enumerate() {
            for set in sets {
                let slots = slots(op, &|inst| scaled(inst, modifiers));
                add(builder, MODES[n % 4], set, &[], &[group(&slots, &[])]);
            }
        }
    }
}

/// Slots that continue another channel: the instructions of X, Y, Z and W.
const CHAINS: [[Op; 4]; 9] = [
    [Op::Dot, Op::Mul, Op::Dot, Op::Mul],
    [Op::Dot, Op::Dot, Op::Dot, Op::Mul],
    [Op::DotIeee, Op::MulIeee, Op::DotIeee, Op::MulIeee],
    [Op::DotIeee, Op::DotIeee, Op::DotIeee, Op::MulIeee],
    [Op::AddPrev, Op::AddPrev, Op::Add, Op::MulIeee],
    [Op::MulPrev, Op::MulPrev, Op::Mul, Op::Mul],
    [Op::MulIeeePrev, Op::MulIeeePrev, Op::MulIeee, Op::MulIeee],
    [Op::MuladdPrev, Op::MuladdPrev, Op::Add, Op::Mul],
    [Op::MuladdIeeePrev, Op::MuladdIeeePrev, Op::MulIeee, Op::Add],
];

fn chains(builder: &mut Builder) {
    let sets = [(4, false), (5, true)].map(|(n, calm)| vectors(builder, Elem::F32, n, calm));
    for ops in CHAINS {
        let slots = |change: &dyn Fn(Inst) -> Inst| -> Vec<Inst> {
            let own = |(channel, op): (u32, Op)| {
                let inst = from_channel(slot(op, channel), channel);
                // The pages disagree about the source that MUL_PREV multiplies: here both are one.
                let inst = match op {
                    Op::MulPrev | Op::MulIeeePrev => reading(inst, 0, 1, channel),
                    _ => inst,
                };
                if channel < 2 { change(inst) } else { inst }
            };
            (0..4).zip(ops).map(own).collect()
        };
        for set in sets {
            for mode in 0..16 {
                add(builder, mode, set, &[], &[group(&slots(&|inst| inst), &[])]);
            }
        }
        let row = ops[0].row();
        let same = |modifiers: &(u32, u32)| {
            row.name != "MUL_PREV" && row.name != "MUL_IEEE_PREV" || matches!(modifiers, (0 | 3, 0 | 3))
        };
        for (n, modifiers) in source_modifiers(row).into_iter().filter(same).enumerate() {
            let ends = n % 2 == 0;
            let change = |inst: Inst| {
                let changes = inst.get(F::DstChan) == 0 || ends && inst.row().chain.is_some();
                if changes { modified(inst, modifiers) } else { inst }
            };
            add(builder, MODES[n % 4], sets[n % 2], &[], &[group(&slots(&change), &[])]);
        }
        for (n, modifiers) in output_modifiers(row).into_iter().enumerate() {
            let change = |inst: Inst| if inst.get(F::DstChan) == 0 { scaled(inst, modifiers) } else { inst };
            for set in sets {
                add(builder, MODES[n % 4], set, &[], &[group(&slots(&change), &[])]);
            }
        }
    }
    let counts: [[Op; 4]; 3] = [
        [Op::Mbcnt32loAccumPrevInt, Op::Mbcnt32hiInt, Op::BcntAccumPrevInt, Op::BcntInt],
        [Op::BcntAccumPrevInt, Op::BcntAccumPrevInt, Op::BcntAccumPrevInt, Op::BcntInt],
        [Op::SadAccumPrevUint, Op::SadAccumPrevUint, Op::SadAccumPrevUint, Op::SadAccumUint],
    ];
    for ops in counts {
        for n in 0..2 {
            let set = vectors(builder, Elem::B32, n, false);
            let slots: Vec<Inst> =
                (0..4).zip(ops).map(|(channel, op)| from_channel(slot(op, channel), channel)).collect();
            add(builder, 0, set, &[], &[group(&slots, &[])]);
        }
    }
    let set = vectors(builder, Elem::B32, 2, false);
    let hi = from_channel(slot(Op::SadAccumHiUint, 3), 3);
    add(builder, 0, set, &[], &[group(&[from_channel(slot(Op::SadAccumPrevUint, 2), 2), hi], &[])]);
}

/// `mov` of a code of a source to a channel of a register.
fn mov(select: u32, channel: u32, to: (u32, u32)) -> Inst {
    let inst = reading(Inst::new(Op::Mov), 0, select, channel);
    with(with(inst, F::DstGpr, to.0), F::DstChan, to.1)
}

/// The code of PV, and of literals.
const PREVIOUS: u32 = 254;
const LITERAL: u32 = 253;

/// PV, constants with codes, literals, and slots that read what others of the group write.
fn operands(builder: &mut Builder) {
    let set = vectors(builder, Elem::F32, 6, false);
    // PV has results whether they are written or not.
    let add_slots = |mask: u32| -> Vec<Inst> {
        let own = |channel: u32| {
            let inst = from_channel(slot(Op::AddInt, channel), channel);
            with(inst, F::WriteMask, mask >> channel & 1)
        };
        (0..4).map(own).collect()
    };
    let read = |order: [u32; 4]| -> Vec<Inst> {
        (0..4).zip(order).map(|(channel, from)| mov(PREVIOUS, from, (5, channel))).collect()
    };
    for (mask, order) in [(15, [0, 1, 2, 3]), (0, [3, 2, 1, 0]), (5, [1, 3, 0, 2])] {
        let groups = [group(&add_slots(mask), &[]), group(&read(order), &[])];
        add(builder, 0, set, &[], &groups);
        add(builder, 0, set, &active(0x5555_ffff_0000_1357), &groups);
    }
    // MOV without a write keeps PV.
    let keep: Vec<Inst> =
        (0..4).map(|channel| with(mov(PREVIOUS, channel, (0, channel)), F::WriteMask, 0)).collect();
    add(
        builder,
        0,
        set,
        &[],
        &[group(&add_slots(15), &[]), group(&keep, &[]), group(&read([2, 3, 0, 1]), &[])],
    );
    // Codes of constants, as floats and as integers.
    for code in 248..253 {
        for op in [Op::Add, Op::MulIeee, Op::AddInt, Op::SetgtInt, Op::Setge] {
            let second = reading(slot(op, code % 4), 1, code, 0);
            let first = reading(reading(slot(op, code % 4), 0, code, 0), 1, 1, 0);
            for inst in [first, second] {
                add(builder, 0, set, &[], &[group(&[inst], &[])]);
            }
        }
    }
    // Literals in each place.
    let literals = [0x4048_f5c3, 0x8000_0001, 0x1234_5678, 0xffff_8000];
    for channel in 0..4 {
        let used = if channel < 2 { &literals[..2] } else { &literals };
        let inst = reading(slot(Op::XorInt, channel), 1, LITERAL, channel);
        add(builder, 0, set, &[], &[group(&[inst], used)]);
        let inst = with(reading(slot(Op::Add, channel), 0, LITERAL, channel), F::Src0Neg, 1);
        add(builder, 0, set, &[], &[group(&[reading(inst, 1, 1, 0)], used)]);
    }
    // Slots read before any of them writes.
    let turn: Vec<Inst> = (0..4).map(|channel| mov(0, (channel + 1) % 4, (0, channel))).collect();
    add(builder, 0, set, &[], &[group(&turn, &[])]);
    let swap = [mov(1, 1, (0, 0)), mov(0, 0, (1, 1))];
    add(builder, 0, set, &[], &[group(&swap, &[]), group(&turn, &[])]);
}

/// Slots under the predicate: lanes that it leaves out keep registers, PV, predicate and masks.
fn predicates(builder: &mut Builder) {
    let set = vectors(builder, Elem::B32, 3, false);
    let sets_predicate = with(from_channel(slot(Op::PredSetgtInt, 0), 0), F::UpdatePred, 1);
    let lanes = active(0xf0f0_ffff_1234_5678);
    for select in [2, 3] {
        let under = |inst: Inst| with(inst, F::PredSel, select);
        let sums: Vec<Inst> =
            (0..4).map(|channel| from_channel(slot(Op::AddInt, channel), channel)).collect();
        let masked: Vec<Inst> = sums.iter().map(|inst| under(*inst)).collect();
        let read = group(&[mov(PREVIOUS, 0, (5, 0))], &[]);
        let start = group(&[sets_predicate], &[]);
        for cells in [&[][..], &lanes] {
            // In lanes that are left out, X of PV is the result of the predicate.
            let groups = [group(&sums, &[]), start, group(&masked, &[]), read];
            add(builder, 0, set, cells, &groups);
            // Another predicate, of the selected lanes only.
            let second = with(from_channel(slot(Op::PredSeteInt, 1), 1), F::UpdatePred, 1);
            let third = with(from_channel(slot(Op::PredSetgtUint, 2), 2), F::UpdatePred, 1);
            let copies = group(&[with(mov(249, 0, (6, 0)), F::PredSel, 3)], &[]);
            add(builder, 0, set, cells, &[start, group(&[under(second)], &[]), copies]);
            add(builder, 0, set, cells, &[start, group(&[under(third)], &[]), copies]);
            // Active lanes: those that are left out become inactive.
            let updates = with(from_channel(slot(Op::PredSetneInt, 3), 3), F::UpdateExecMask, 1);
            add(builder, 0, set, cells, &[start, group(&[under(updates)], &[])]);
            let kills = from_channel(slot(Op::KillgtInt, 1), 1);
            add(builder, 0, set, cells, &[start, group(&[under(kills)], &[])]);
        }
    }
}

/// AR: indices of lanes, saturated and out of the registers.
fn indices(builder: &mut Builder) {
    let name = "indices".to_owned();
    let set = builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let special: [u32; 12] =
            [0, 1, 12, 13, 14, 15, 16, u32::MAX, -256i32 as u32, 255, 256, -257i32 as u32];
        let indices: Lanes = std::array::from_fn(|lane| match special.get(lane) {
            Some(index) => *index,
            None if lane % 4 == 0 => random.next() as u32,
            None => random.below(14) as u32,
        });
        let mut rows = vec![(Row::Gpr(0, 0), indices)];
        rows.extend((0..16).map(|n| {
            let lanes: Lanes = std::array::from_fn(|lane| ((n + 1) * 0x10_000 + lane) as u32);
            (Row::Gpr(n as u16, 1), lanes)
        }));
        rows
    });
    let mova = with(reading(Inst::new(Op::MovaInt), 0, 0, 0), F::WriteMask, 0);
    for (base, channel) in [(2, 0), (0, 2), (15, 3)] {
        let read = with(mov(base, 1, (3, channel)), F::Src0Rel, 1);
        for cells in [&[][..], &active(0x0f0f_3333_ffff_0001)] {
            add(
                builder,
                0,
                set,
                cells,
                &[group(&[with(mova, F::DstChan, channel)], &[]), group(&[read], &[])],
            );
        }
    }
}

/// SET_MODE: the modes of its own group and of those behind it, in place of those of the wave.
fn modes(builder: &mut Builder) {
    let singles = vectors(builder, Elem::F32, 7, false);
    for mode in 0..16 {
        for other in [0, 0x9] {
            let sets = with(with(Inst::new(Op::SetMode), F::Src0Sel, mode), F::Src1Sel, other);
            let sets = with(sets, F::DstChan, 0);
            let sums = [from_channel(slot(Op::Add, 1), 1), from_channel(slot(Op::MulIeee, 2), 2)];
            let behind = with(from_channel(slot(Op::MuladdIeee, 3), 3), F::DstGpr, 5);
            let groups = [group(&[sets, sums[0], sums[1]], &[]), group(&[behind], &[])];
            add(builder, 0xf & !mode, singles, &[], &groups);
        }
    }
    let row = Op::Add64.row();
    for n in 0..2 {
        let set = super::doubles(builder, row, super::Values::Random(n));
        for mode in 0..16 {
            let sets = with(with(Inst::new(Op::SetMode), F::Src0Sel, 0), F::Src1Sel, mode);
            let groups = [group(&[sets], &[]), group(&super::pairs(Op::Add64, &|inst| inst), &[])];
            add(builder, 0x30, set, &[], &groups);
        }
    }
}

pub(in super::super) fn tests(builder: &mut Builder) {
    joint(builder);
    chains(builder);
    operands(builder);
    predicates(builder);
    indices(builder);
    modes(builder);
}
