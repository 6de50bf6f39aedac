//! Groups against the scalar reference: when slots read and write, PV, predicates, indices.

use wavemill_ir::FaultKind;
use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_machine::FaultCause;
use wavemill_oracle::SplitMix64;

use super::control::check;
use super::machine::{GPRS, Machine, set_active, set_gpr};
use super::program::{Program, Slot, Src, Word, slot};

fn clause(groups: Vec<Vec<Slot>>) -> Program {
    let mut program = Program::default();
    program.alu(Op::Alu, groups);
    program.stop();
    program
}

/// Slots read each other's registers, in circles of two, three and four.
#[test]
fn circles_of_registers() {
    let turn = |channels: &[u16]| -> Vec<Slot> {
        let next = |n: usize| channels[(n + 1) % channels.len()];
        let mov = |(n, channel): (usize, &u16)| slot(Op::Mov, 1, *channel, &[Src::Gpr(1, next(n))]);
        channels.iter().enumerate().map(mov).collect()
    };
    for channels in [&[0, 1][..], &[1, 3], &[0, 1, 2], &[0, 2, 3], &[0, 1, 2, 3]] {
        check(&clause(vec![turn(channels)]));
    }
    // Two circles at once, and a circle through PV.
    let both = [1u16, 0, 3, 2].iter().zip(0..).map(|(from, to)| slot(Op::Mov, 1, to, &[Src::Gpr(1, *from)]));
    check(&clause(vec![both.collect()]));
    let load = |channel| slot(Op::Mov, 1, channel, &[Src::Gpr(0, channel)]);
    let add = |to, from| slot(Op::AddInt, 1, to, &[Src::Previous(from), Src::Literal(1)]);
    check(&clause(vec![vec![load(0), load(1)], vec![add(0, 1), add(1, 0)], vec![add(0, 1), add(1, 0)]]));
}

/// PV of masked slots, of slots under a predicate, of registers that are not there, and of indexed
/// ones.
#[test]
fn results_of_the_last_group() {
    let first = vec![
        slot(Op::AddInt, 1, 0, &[Src::Gpr(0, 0), Src::Literal(3)]).masked(),
        slot(Op::AddInt, 1, 1, &[Src::Gpr(0, 1), Src::Literal(4)]),
        slot(Op::PredSetgtInt, 1, 2, &[Src::Gpr(2, 2), Src::Literal(1)]).predicate(),
        // It is not declared, so it is not written.
        slot(Op::AddInt, 127, 3, &[Src::Gpr(0, 3), Src::Literal(5)]),
    ];
    let read = |register| -> Vec<Slot> {
        (0..4).map(|channel| slot(Op::Mov, register, channel, &[Src::Previous(channel)])).collect()
    };
    check(&clause(vec![first.clone(), read(6)]));
    // Lanes that a predicate leaves out keep what the group before has.
    for pred_sel in [2, 3] {
        let second = |masked: bool| -> Vec<Slot> {
            (0..4)
                .map(|channel| {
                    let slot = slot(Op::XorInt, 1, channel, &[Src::Gpr(3, channel), Src::Previous(channel)]);
                    if masked { slot.masked().when(pred_sel) } else { slot.when(pred_sel) }
                })
                .collect()
        };
        check(&clause(vec![first.clone(), second(false), read(6)]));
        check(&clause(vec![first.clone(), second(true), read(6)]));
        check(&clause(vec![first.clone(), second(false), second(true), read(6)]));
        check(&clause(vec![first.clone(), second(true), second(false), read(6), read(7)]));
    }
    // Before any comparison, the predicate is set.
    let load = (0..4).map(|channel| slot(Op::Mov, 1, channel, &[Src::Gpr(0, channel)])).collect();
    let under = |pred_sel| -> Vec<Slot> {
        vec![slot(Op::Mov, 3, 0, &[Src::Literal(9)]).when(pred_sel), slot(Op::Mov, 3, 1, &[Src::Literal(8)])]
    };
    check(&clause(vec![load, under(2), vec![slot(Op::Mov, 6, 0, &[Src::Previous(0)])], under(3)]));
    let index = vec![slot(Op::MovaInt, 0, 0, &[Src::Gpr(2, 0)]).masked()];
    let indexed = vec![slot(Op::AddInt, 6, 1, &[Src::Gpr(0, 0), Src::Literal(1)]).indexed()];
    check(&clause(vec![index, indexed, read(8)[1..2].to_vec()]));
}

/// The predicate across groups, with and without the active mask.
#[test]
fn predicates() {
    let compare = |number| slot(Op::PredSetgtInt, 0, 0, &[Src::Gpr(2, 0), Src::Literal(number)]).masked();
    let compare_y = |number| slot(Op::PredSetgeInt, 0, 0, &[Src::Gpr(2, 1), Src::Literal(number)]).masked();
    let mark = |number| {
        let add = |channel, pred_sel| {
            slot(Op::AddInt, 6, channel, &[Src::Gpr(6, channel), Src::Literal(number)]).when(pred_sel)
        };
        vec![add(0, 0), add(1, 2), add(2, 3)]
    };
    for second in [0, 2, 3] {
        let groups = vec![
            vec![compare(1).predicate()],
            mark(1),
            vec![compare_y(2).predicate().when(second)],
            mark(10),
        ];
        check(&clause(groups));
        for execute in [0, 3] {
            // The active lanes change after the clause, and by the result of the comparison itself.
            for keep in [false, true] {
                let mut update = compare_y(2).execute(execute).when(second);
                update.updates_predicate = keep;
                let mut program = Program::default();
                program.flow(Op::Push, 0);
                program.alu(Op::Alu, vec![vec![compare(1).predicate()], vec![update], mark(1)]);
                program.alu(Op::Alu, vec![mark(100)]);
                program.alu(Op::AluPop2After, vec![vec![compare(3).execute(0)], mark(1000)]);
                program.words.insert(0, Word::Alu(Op::AluPushBefore, vec![mark(10_000)]));
                for word in &mut program.words {
                    if let Word::Flow(flow) = word {
                        flow.to += 1;
                    }
                }
                program.alu(Op::AluValidPixelMode, vec![mark(7)]);
                program.stop();
                check(&program);
            }
        }
        // Two updates in a clause.
        let mut program = Program::default();
        let groups = vec![vec![compare(0).execute(0)], vec![compare_y(1).execute(0)], mark(1)];
        program.alu(Op::AluPushBefore, groups);
        program.alu(Op::AluElseAfter, vec![mark(10)]);
        program.alu(Op::AluPopAfter, vec![mark(100)]);
        program.alu(Op::Alu, vec![mark(1000)]);
        program.stop();
        check(&program);
    }
}

/// Indices that lead out of the registers read T0, and write nothing.
#[test]
fn indices_out_of_range() {
    let index = |offset: i32| {
        vec![
            vec![slot(Op::AddInt, 8, 0, &[Src::Gpr(2, 1), Src::Literal(offset as u32)])],
            vec![slot(Op::MovaInt, 0, 0, &[Src::Gpr(8, 0)]).masked()],
        ]
    };
    for offset in [0, -2, -12, 5, 11, 14, 200, 252, 254, 300, -255, -258, -1000, i32::MAX - 2, i32::MIN] {
        let mut groups = index(offset);
        groups.push(vec![
            slot(Op::AddInt, 3, 0, &[Src::Indexed(10, 0), Src::Indexed(2, 3)]),
            slot(Op::Mov, 6, 1, &[Src::Indexed(1, 2)]).indexed(),
            slot(Op::Mov, 0, 2, &[Src::Gpr(1, 1)]).indexed(),
        ]);
        check(&clause(groups));
    }
}

/// What a barrier inside a clause must not disturb.
#[test]
fn barriers_inside_clauses() {
    let groups = vec![
        vec![slot(Op::PredSetgtInt, 0, 0, &[Src::Gpr(2, 0), Src::Literal(1)]).masked().predicate()],
        vec![slot(Op::PredSetgtInt, 0, 0, &[Src::Gpr(2, 2), Src::Literal(0)]).masked().execute(0)],
        vec![slot(Op::MovaInt, 0, 0, &[Src::Gpr(2, 1)]).masked()],
        vec![
            slot(Op::AddInt, 3, 0, &[Src::Gpr(0, 0), Src::Literal(1)]).masked(),
            slot(Op::AddInt, 3, 1, &[Src::Gpr(0, 1), Src::Literal(1)]).when(3),
            slot(Op::AddInt, 3, 2, &[Src::Gpr(0, 2), Src::Literal(1)]),
            slot(Op::GroupBarrier, 0, 3, &[]),
        ],
        vec![
            slot(Op::XorInt, 6, 0, &[Src::Previous(0), Src::Previous(2)]),
            slot(Op::Mov, 6, 1, &[Src::Gpr(0, 1)]).when(2),
            slot(Op::Mov, 8, 2, &[Src::Indexed(6, 2)]),
            slot(Op::GroupBarrier, 0, 3, &[]),
        ],
    ];
    let mut program = Program::default();
    program.alu(Op::AluPushBefore, groups);
    program.alu(Op::AluPopAfter, vec![vec![slot(Op::Mov, 9, 0, &[Src::Literal(5)])]]);
    program.stop();
    check(&program);
}

/// Random groups of a clause.
#[test]
fn random_groups() {
    for seed in 0..150 {
        let mut random = SplitMix64::new(1000 + seed);
        let mut groups = vec![
            vec![slot(Op::MovaInt, 0, 0, &[Src::Gpr(2, 0)]).masked()],
            vec![slot(Op::PredSetgtInt, 0, 0, &[Src::Gpr(2, 1), Src::Literal(1)]).masked().predicate()],
        ];
        // Channels of PV that have a value.
        let mut defined = [true, false, false, false];
        for _ in 0..12 {
            let mut literals = Vec::new();
            let mut group = Vec::new();
            let mut compares = random.below(4) == 0;
            let (mut has_index, mut has_mova) = (false, false);
            let mut now = [false; 4];
            for channel in 0..4u16 {
                if random.below(4) == 0 {
                    continue;
                }
                let mut source = |random: &mut SplitMix64| loop {
                    let other = random.below(4) as u16;
                    match random.below(8) {
                        0..=3 => return Src::Gpr([0, 1, 3, 6][random.index(4)], other),
                        4 | 5 if defined[usize::from(other)] => return Src::Previous(other),
                        6 => return Src::Indexed([1, 6, 14][random.index(3)], other),
                        7 if literals.len() < 4 => {
                            literals.push(());
                            return Src::Literal(random.next_u64() as u32);
                        }
                        _ => {}
                    }
                };
                let sources = [source(&mut random), source(&mut random), source(&mut random)];
                let mut op = [Op::Mov, Op::AddInt, Op::XorInt, Op::BitAlignInt][random.index(4)];
                if compares {
                    op = [Op::PredSetgeInt, Op::PredSetneInt][random.index(2)];
                }
                // An index register changes after all slots have read, and before the next group.
                if !compares && !has_mova && random.below(8) == 0 {
                    has_mova = true;
                    let mova = slot(Op::MovaInt, 0, channel, &[Src::Gpr(2, random.below(4) as u16)]).masked();
                    group.push(mova.when([0, 0, 2, 3][random.index(4)]));
                    continue;
                }
                let count = match op {
                    Op::Mov => 1,
                    Op::BitAlignInt => 3,
                    _ => 2,
                };
                let target = [0, 1, 2, 3, 6][random.index(5)];
                let mut new = slot(op, target, channel, &sources[..count]);
                if std::mem::take(&mut compares) && random.below(4) != 0 {
                    new = new.predicate();
                }
                if count < 3 && random.below(4) == 0 {
                    new = new.masked();
                }
                if !has_index && random.below(6) == 0 {
                    new = new.indexed();
                    has_index = true;
                }
                new = new.when([0, 0, 0, 2, 3][random.index(5)]);
                now[usize::from(channel)] = new.pred_sel == 0 || defined[usize::from(channel)];
                group.push(new);
            }
            if !group.is_empty() {
                groups.push(group);
                defined = now;
            }
        }
        let last = (0..4).filter(|channel| defined[usize::from(*channel)]);
        let reads: Vec<Slot> =
            last.map(|channel| slot(Op::Mov, 8, channel, &[Src::Previous(channel)])).collect();
        if !reads.is_empty() {
            groups.push(reads);
        }
        check(&clause(groups));
    }
}

/// Runs a program with constant banks of 16 lines each, whose dwords are 0x10000 * bank + number.
fn run_with_banks(program: &Program) -> super::machine::Outcome {
    let bank = |number: u32| (0..1024).map(|dword| number << 16 | dword).collect();
    let machine = Machine { buffers: (0..16).map(bank).collect(), ..Machine::default() };
    machine.run_code(&program.code(), |registers, addresses| {
        for (number, address) in addresses.iter().enumerate() {
            registers.set_uni64(registers::bank(number as u16), *address);
        }
        for register in 0..GPRS {
            (0..4).for_each(|channel| set_gpr(registers, register, channel, |lane| lane));
        }
        // Two iterations: the index is 20, then 3.
        registers.set_row(registers::LOOP_CONSTANTS, &[2 | 20 << 12 | u32::from(-17i8 as u8) << 24; 64]);
        set_active(registers, u64::MAX << 5);
    })
}

/// The code of a constant of a window.
fn window(number: u32, constant: u32, channel: u32) -> Src {
    Src::Code([128, 160, 256, 288][number as usize] + constant, channel)
}

fn with(op: Op, fields: &[(F, u32)]) -> Inst {
    fields.iter().fold(Inst::new(op), |inst, (id, value)| inst.with(*id, *value).expect("it fits"))
}

/// Four windows, and banks that the index registers move.
#[test]
fn four_windows_of_constants() {
    let mut program = Program::default();
    let first = |to, literal| vec![slot(Op::MovaInt, to, 0, &[Src::Literal(literal)]).masked()];
    program.alu(Op::Alu, vec![first(2, 3), first(3, 5)]);
    let fields = [
        (F::KcacheBank0, 2),
        (F::KcacheMode0, 1),
        (F::KcacheAddr0, 4),
        (F::KcacheBankIndexMode0, 1),
        (F::KcacheBank1, 4),
        (F::KcacheMode1, 2),
        (F::KcacheAddr1, 1),
        (F::KcacheBankIndexMode1, 2),
        (F::KcacheBank2, 7),
        (F::KcacheMode2, 2),
        (F::KcacheAddr2, 3),
        // The index does not move banks 14 and 15.
        (F::KcacheBank3, 14),
        (F::KcacheMode3, 1),
        (F::KcacheAddr3, 2),
        (F::KcacheBankIndexMode3, 1),
    ];
    let groups = vec![
        vec![
            slot(Op::Mov, 1, 0, &[window(0, 5, 1)]),
            slot(Op::Mov, 1, 1, &[window(1, 31, 2)]),
            slot(Op::Mov, 1, 2, &[window(2, 16, 3)]),
            slot(Op::Mov, 1, 3, &[window(3, 0, 0)]),
        ],
        // A first lane gives CLAUSE_GLOBAL its bytes.
        vec![slot(Op::MovaInt, 5, 0, &[Src::Gpr(0, 0)]).masked()],
        vec![slot(Op::MovaInt, 7, 0, &[Src::Literal(-2i32 as u32)]).masked()],
        vec![slot(Op::Mov, 2, 0, &[Src::Code(225, 0)])],
    ];
    program.words.push(Word::AluWith(with(Op::AluExtendedAlu, &fields), groups));
    program.stop();
    let outcome = run_with_banks(&program);
    let value = |register, channel| outcome.gpr(register, channel)[63];
    // Line times 64 dwords, constant times 4, channel.
    assert_eq!(value(1, 0), 5 << 16 | (4 * 64 + 5 * 4 + 1));
    assert_eq!(value(1, 1), 9 << 16 | (64 + 31 * 4 + 2));
    assert_eq!(value(1, 2), 7 << 16 | (3 * 64 + 16 * 4 + 3));
    assert_eq!(value(1, 3), 14 << 16 | (2 * 64));
    // Lane 5 is the first active one.
    assert_eq!(value(2, 0), 0xfe00_0500);
}

/// Constants by the loop index: relative to the loop index, and lines that it moves.
#[test]
fn constants_by_the_loop_index() {
    let mut program = Program::default();
    let start = program.flow(Op::LoopStart, 0);
    let fields = [
        (F::KcacheBank0, 3),
        (F::KcacheMode0, 2),
        (F::KcacheAddr0, 2),
        (F::KcacheBank1, 6),
        (F::KcacheMode1, 3),
        (F::KcacheAddr1, 1),
    ];
    let indexed = |register: u16, constant: u16| {
        slot(Op::Mov, register, 0, &[Src::Indexed(128 + constant, 1)]).index_mode(4)
    };
    let groups = vec![
        // The second iteration keeps what the first has.
        vec![slot(Op::Mov, 6, 0, &[Src::Gpr(1, 0)]), slot(Op::Mov, 6, 1, &[Src::Gpr(1, 1)])],
        vec![indexed(1, 10), slot(Op::Mov, 1, 1, &[window(1, 17, 2)])],
        vec![indexed(2, 20)],
        vec![slot(Op::Mov, 3, 0, &[Src::Code(238, 0)])],
    ];
    program.words.push(Word::AluWith(with(Op::Alu, &fields), groups));
    let end = program.flow(Op::LoopEnd, 0);
    program.change(end, |flow| flow.to = start + 1);
    program.land(start);
    program.stop();
    let outcome = run_with_banks(&program);
    let value = |register, channel| outcome.gpr(register, channel)[63];
    // With index 20: constant 30; line 1 + 1.
    assert_eq!(value(6, 0), 3 << 16 | (2 * 64 + 30 * 4 + 1));
    assert_eq!(value(6, 1), 6 << 16 | (2 * 64 + 17 * 4 + 2));
    // With index 3.
    assert_eq!(value(1, 0), 3 << 16 | (2 * 64 + 13 * 4 + 1));
    assert_eq!(value(1, 1), 6 << 16 | (64 + 17 * 4 + 2));
    assert_eq!(value(2, 0), 3 << 16 | (2 * 64 + 23 * 4 + 1));
    assert_eq!(value(3, 0), 3);
    // Beyond the lines, there is no number.
    let mut program = Program::default();
    let start = program.flow(Op::LoopStart, 0);
    program.words.push(Word::AluWith(with(Op::Alu, &fields), vec![vec![indexed(1, 20)]]));
    program.flow(Op::CfNop, 0);
    let leave = program.flow(Op::LoopBreak, 0);
    let end = program.flow(Op::LoopEnd, 0);
    program.change(end, |flow| flow.to = start + 1);
    program.change(leave, |flow| flow.to = end);
    program.land(start);
    program.stop();
    assert_eq!(run_with_banks(&program).gpr(1, 0)[63], 0x7fff_ffff);
}

/// SET_MODE counts to the end of the clause, also behind a barrier.
#[test]
fn modes_of_a_clause() {
    // 1 + 2^-24: to nearest even 1, upwards the next number.
    let sum = |register| slot(Op::Add, register, 0, &[Src::Literal(0x3f80_0000), Src::Literal(0x3380_0000)]);
    let mode = slot(Op::SetMode, 0, 1, &[Src::Code(1 | 0xc, 0), Src::Code(0, 0)]).masked();
    let mut program = Program::default();
    let groups =
        vec![vec![sum(1)], vec![sum(2), mode], vec![slot(Op::GroupBarrier, 0, 0, &[])], vec![sum(3)]];
    program.alu(Op::Alu, groups);
    program.alu(Op::Alu, vec![vec![sum(4)]]);
    program.stop();
    let outcome = run_with_banks(&program);
    let found: Vec<u32> = (1..5).map(|register| outcome.gpr(register, 0)[63]).collect();
    assert_eq!(found, [0x3f80_0000, 0x3f80_0001, 0x3f80_0001, 0x3f80_0000]);
}

/// Values of the wave.
#[test]
fn values_of_the_wave() {
    // The last two are LDS_BASE_ADDR and LDS_SIZE.
    let codes = [229, 230, 231, 234, 235, 236, 245, 247, 232, 244, 217, 218];
    let mut program = Program::default();
    let compare = slot(Op::PredSetgtInt, 0, 0, &[Src::Gpr(0, 0), Src::Literal(40)]).masked().predicate();
    let reads = codes.iter().zip(1..).map(|(code, register)| {
        // In a slot under a predicate, the mask is still that of the clause.
        vec![slot(Op::Mov, register, 0, &[Src::Code(*code, 0)]).when(3)]
    });
    program.alu(Op::Alu, std::iter::once(vec![compare]).chain(reads).collect());
    program.stop();
    let machine = Machine { lds: 640, ..Machine::default() };
    let outcome = machine.run_code(&program.code(), |registers, _| {
        set_active(registers, 0xff00_0000_1234_5678);
        set_gpr(registers, 0, 0, |lane| lane);
        for (cell, value) in [
            (registers::WAVE, 11),
            (registers::GROUP, 12),
            (registers::WAVE_IN_GROUP, 13),
            (registers::WAVES_OF_GROUP, 14),
        ] {
            registers.set_uni(cell, value);
        }
    });
    let found: Vec<u32> = (1..13).map(|register| outcome.gpr(register, 0)[63]).collect();
    let expected = [0xff00_0000, 0x1234_5678, 11, 12, 13, 14, 0x3ff0_0000, 0x3fe0_0000, 0, 0, 0, 640];
    // MASK_HI is code 229.
    assert_eq!(found, expected);
}

/// Kills and indices that the manual does not define are refused.
#[test]
fn what_has_no_meaning_is_refused() {
    use FaultKind::{IllegalInstruction as Illegal, Unsupported};
    for (group, kind) in [
        // CF_PC; a register of the SIMD; a base beyond the declared registers; constants without a
        // lock.
        (vec![slot(Op::MovaInt, 1, 0, &[Src::Gpr(0, 0)]).masked()], Unsupported),
        (vec![slot(Op::Mov, 1, 0, &[Src::Indexed(1, 0)]).index_mode(5)], Unsupported),
        (vec![slot(Op::Mov, 1, 0, &[Src::Indexed(GPRS, 0)])], Illegal),
        (vec![slot(Op::Mov, GPRS, 0, &[Src::Gpr(0, 0)]).indexed()], Illegal),
        (vec![slot(Op::Mov, 1, 0, &[window(2, 0, 0)])], Illegal),
        (vec![slot(Op::AddInt, 1, 0, &[Src::Gpr(0, 0), Src::Gpr(0, 0)]).when(1)], Illegal),
    ] {
        let program = clause(vec![group]);
        let outcome = Machine::default().run_code(&program.code(), |_, _| ());
        let (position, cause, _) = outcome.fault.expect("a fault");
        assert_eq!(cause, FaultCause::Instruction(kind), "{program:?}");
        assert_eq!(position >> 48, 1, "{program:?}");
    }
}
