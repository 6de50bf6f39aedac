//! Whole programs: what an entry reaches, and the stack that it needs.

use wavemill_isa::cayman::{
    Address, Content, DecodeError, FieldId as F, GroupError, Inst, Op, Problem, Program, ProgramError,
    StackError, StackNeed, decode_program,
};
use wavemill_oracle::SplitMix64;

use super::word;

/// The bytes of some words.
pub(crate) fn bytes(words: &[Inst]) -> Vec<u8> {
    words.iter().flat_map(|inst| inst.encode().0.into_iter().take(inst.size())).collect()
}

fn jump(op: Op, addr: u32, pops: u32) -> Inst {
    word(op, &[(F::Addr, addr), (F::PopCount, pops)])
}

/// A `MOV` that ends its group, or does not.
fn mov(channel: u32, last: u32) -> Inst {
    word(Op::Mov, &[(F::DstChan, channel), (F::Last, last), (F::Src0Sel, 1)])
}

fn end() -> Inst {
    Inst::new(Op::CfEnd)
}

/// Items cover all bytes, in order.
fn check_cover(program: &Program, bytes: &[u8]) {
    let mut at = 0;
    for item in &program.items {
        assert_eq!(item.range.start, at);
        assert!(item.range.end > at);
        at = item.range.end;
    }
    assert_eq!(at, bytes.len());
}

#[test]
fn clauses_and_what_is_not_reached() {
    // 0: ALU @5, two slots. 1: TEX @8. 2: JUMP @4. 3: GDS @10. 4: END. 5: a group. 7: nothing.
    // 8: a fetch. 10: an access to the global data share.
    let alu = word(Op::Alu, &[(F::Addr, 5), (F::Count, 1)]);
    let fetch = word(Op::Tex, &[(F::Addr, 8)]);
    let gds = word(Op::Gds, &[(F::Addr, 10)]);
    let mut code = bytes(&[alu, fetch, jump(Op::Jump, 4, 0), gds, end(), mov(0, 0), mov(1, 1)]);
    code.extend([0xff; 8]);
    code.extend(bytes(&[Inst::new(Op::TexSample), Inst::new(Op::GdsAddRet)]));
    let program = decode_program(&code, 0);
    assert_eq!(program.problems, []);
    check_cover(&program, &code);
    let kinds: Vec<(Address, std::ops::Range<usize>, &[usize])> = program
        .clauses
        .iter()
        .map(|clause| (clause.kind, clause.range.clone(), &clause.callers[..]))
        .collect();
    assert_eq!(
        kinds,
        [
            (Address::AluClause, 40..56, &[0][..]),
            (Address::FetchClause, 64..80, &[8][..]),
            (Address::GdsClause, 80..96, &[24][..]),
        ]
    );
    let shown: Vec<String> = program
        .items
        .iter()
        .map(|item| match &item.content {
            Content::Control(inst) | Content::Fetch(inst) => inst.row().name.to_owned(),
            Content::Group(group) => format!("{} slots", group.slots.iter().flatten().count()),
            Content::Raw => "raw".to_owned(),
        })
        .collect();
    assert_eq!(shown, ["ALU", "TEX", "JUMP", "GDS", "CF_END", "2 slots", "raw", "TEX_SAMPLE", "GDS_ADD_RET"]);
    let clauses: Vec<Option<usize>> = program.items.iter().map(|item| item.clause).collect();
    assert_eq!(clauses, [None, None, None, None, None, Some(0), None, Some(1), Some(2)]);
    assert_eq!(program.items_of(&program.clauses[0]).len(), 1);
}

/// Two words call one clause, a third calls its end; CALL and RETURN; bit 53 is ignored.
#[test]
fn clauses_may_be_shared() {
    let alu = |addr, count| word(Op::Alu, &[(F::Addr, addr), (F::Count, count)]);
    let call = word(Op::Call, &[(F::Addr, 4), (F::EndOfProgram, 1)]);
    // 0: two groups at 6. 1: CALL @4. 2: the second group. 3: END. 4: two groups. 5: RETURN.
    let code =
        bytes(&[alu(6, 1), call, alu(7, 0), end(), alu(6, 1), Inst::new(Op::Return), mov(0, 1), mov(0, 1)]);
    let program = decode_program(&code, 0);
    assert_eq!(program.problems, []);
    let callers: Vec<&[usize]> = program.clauses.iter().map(|clause| &clause.callers[..]).collect();
    assert_eq!(callers, [&[0, 32][..], &[16]]);
    assert_eq!(program.items_of(&program.clauses[1]).len(), 1);
    assert!(program.items.iter().all(|item| item.content != Content::Raw));
    assert_eq!(program.broken_rules(), []);
    assert_eq!(program.stack_need(0), Ok(StackNeed { entries: 0, subentries: 1 }));
}

/// The word behind ALU_EXTENDED belongs to it.
#[test]
fn extended_words_are_one() {
    let alu = word(Op::AluExtendedAlu, &[(F::Addr, 3), (F::KcacheMode3, 1), (F::KcacheBank3, 9)]);
    let code = bytes(&[alu, end(), mov(2, 1)]);
    let program = decode_program(&code, 0);
    assert_eq!(program.problems, []);
    let sizes: Vec<usize> = program.items.iter().map(|item| item.range.len()).collect();
    assert_eq!(sizes, [16, 8, 8]);
    // A jump into its second half.
    let alu = alu.with(F::Addr, 4).expect("it fits");
    let code = bytes(&[jump(Op::Jump, 2, 0), alu, end(), mov(2, 1)]);
    let program = decode_program(&code, 0);
    assert_eq!(program.problems.len(), 1, "{:?}", program.problems);
    assert!(matches!(program.problems[0].error, ProgramError::Overlap { .. }), "{:?}", program.problems);
}

/// The offset, the clause, the number in it and the slot of an error.
type Found = (usize, Option<usize>, Option<usize>, Option<usize>, ProgramError);

fn problems(code: &[u8]) -> Vec<Found> {
    let program = decode_program(code, 0);
    check_cover(&program, code);
    let place = |one: &Problem| (one.at, one.clause, one.number, one.slot(), one.error);
    program.problems.iter().map(place).collect()
}

#[test]
fn problems_have_locations() {
    let alu = |addr, count| word(Op::Alu, &[(F::Addr, addr), (F::Count, count)]);
    let needed = |needed| DecodeError::Truncated { needed };
    // The program has no end.
    assert_eq!(
        problems(&bytes(&[Inst::new(Op::CfNop)])),
        [(8, None, None, None, ProgramError::Decode(needed(8)))]
    );
    assert_eq!(problems(&[0; 3]), [(0, None, None, None, ProgramError::Decode(needed(8)))]);
    assert_eq!(problems(&[]), [(0, None, None, None, ProgramError::Decode(needed(8)))]);
    // Opcode 2 is reserved.
    let reserved = 2u64 << 54;
    let unknown = ProgramError::Decode(DecodeError::Unknown { word: reserved });
    assert_eq!(problems(&reserved.to_le_bytes()), [(0, None, None, None, unknown)]);
    // Addresses beyond the end.
    let found = problems(&bytes(&[jump(Op::Jump, 100, 0), alu(50, 0), end()]));
    let target = |target| ProgramError::Target { target };
    assert_eq!(found, [(0, None, None, None, target(800)), (8, None, None, None, target(400))]);
    // A clause of fetches at an odd address.
    let odd = word(Op::Tex, &[(F::Addr, 3)]);
    let found = problems(&bytes(&[odd, end(), end(), Inst::new(Op::TexLd)]));
    assert_eq!(found, [(0, None, None, None, ProgramError::Alignment { target: 24, unit: 16 })]);
    // The clause ends in its second group; the second slot of a group has the channel of the first.
    let code = bytes(&[alu(2, 1), end(), mov(0, 1), mov(0, 0), mov(1, 1)]);
    assert_eq!(problems(&code), [(24, Some(0), Some(1), None, ProgramError::CutGroup { end: 32 })]);
    let code = bytes(&[alu(2, 2), end(), mov(0, 1), mov(1, 0), mov(1, 1)]);
    let order = ProgramError::Group(GroupError::Order { at: 8 });
    assert_eq!(problems(&code), [(32, Some(0), Some(1), Some(1), order)]);
    // The clause is the control flow program itself.
    let code = bytes(&[alu(0, 0), end()]);
    assert_eq!(problems(&code), [(0, Some(0), Some(0), None, ProgramError::Overlap { with: 0 })]);
    assert_eq!(
        decode_program(&[0; 16], 4).problems,
        [Problem {
            at: 4,
            clause: None,
            number: None,
            error: ProgramError::Alignment { target: 4, unit: 8 }
        }]
    );
    let shown = decode_program(&bytes(&[alu(2, 2), end(), mov(0, 1), mov(1, 0), mov(1, 1)]), 0).problems[0];
    assert_eq!(
        shown.to_string(),
        "byte 0x20, instruction 1 of clause 0, word 1: slot at byte 8 of the group: \
         expected a channel after the channel of the previous slot"
    );
}

/// Random bytes, and random control flow words and slots, so that programs go on for a while.
#[test]
fn any_bytes_are_a_program() {
    let mut random = SplitMix64::new(71);
    let (mut items, mut clauses) = (0, 0);
    let control: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.row().format.is_control()).collect();
    for _ in 0..3_000 {
        let words = random.below(64) as usize;
        let mut code = Vec::new();
        for _ in 0..words {
            let inst = match random.below(4) {
                0 => mov(random.below(4) as u32, 1),
                1 => Inst::new(Op::ALL[random.below(Op::ALL.len() as u64) as usize]),
                _ => Inst::new(control[random.below(control.len() as u64) as usize]),
            };
            let inst = inst.with(F::Addr, random.below(70) as u32).unwrap_or(inst);
            let inst = inst.with(F::Count, random.below(8) as u32).unwrap_or(inst);
            let inst = inst.with(F::PopCount, random.below(3) as u32).unwrap_or(inst);
            code.extend(bytes(&[inst]));
        }
        for _ in 0..random.below(4) {
            if let Some(byte) = code.get_mut(random.below(64 * 8) as usize) {
                *byte ^= 1 << random.below(8);
            }
        }
        code.truncate(code.len() - (random.below(8) as usize).min(code.len()));
        let entry = 8 * random.below(8) as usize;
        let program = decode_program(&code, entry);
        check_cover(&program, &code);
        assert!(program.items.len() <= code.len().div_ceil(8).max(1));
        assert!(program.problems.len() <= 4 * program.items.len() + 4);
        let callers: usize = program.clauses.iter().map(|clause| clause.callers.len()).sum();
        assert!(callers <= code.len() / 8);
        for item in &program.items {
            let expected = code[item.range.clone()].to_vec();
            let found = match &item.content {
                Content::Control(inst) | Content::Fetch(inst) => bytes(&[*inst]),
                Content::Group(group) => {
                    let mut all = bytes(&group.slots.iter().flatten().copied().collect::<Vec<_>>());
                    all.extend(group.literals.iter().flat_map(|literal| literal.to_le_bytes()));
                    all.truncate(group.size);
                    all
                }
                Content::Raw => continue,
            };
            assert_eq!(found, expected);
            items += 1;
        }
        clauses += program.clauses.len();
        // They end, whatever the program is.
        let _ = program.broken_rules();
        let _ = program.stack_need(entry);
    }
    assert!(items > 10_000 && clauses > 1_000, "{items} items, {clauses} clauses");
}

/// A word that jumps over all others: without recursion, the deepest path takes no stack of ours.
#[test]
fn long_programs_are_decoded() {
    let words = 200_000;
    let mut code: Vec<Inst> = (0..words).map(|word| jump(Op::Jump, (word * 7919) % words, 0)).collect();
    code.push(end());
    let code = bytes(&code);
    let program = decode_program(&code, 0);
    assert_eq!((program.problems.len(), program.items.len()), (0, words as usize + 1));
}

/// Table 3.6 of HD 6900 ISA: a push takes a subentry, a loop an entry, a call a subentry, and masks
/// two subentries.
#[test]
fn stacks_have_the_size_of_the_manual() {
    let need = |words: &[Inst]| decode_program(&bytes(words), 0).stack_need(0);
    let size = |entries, subentries| Ok(StackNeed { entries, subentries });
    assert_eq!(need(&[end()]), size(0, 0));
    let push = jump(Op::Push, 3, 0);
    let pop = |addr| jump(Op::Pop, addr, 1);
    assert_eq!(need(&[push, pop(2), end(), end()]), size(0, 3));
    let quad = jump(Op::PushWqm, 3, 0);
    assert_eq!(need(&[quad, jump(Op::PopWqm, 2, 1), end(), end()]), size(1, 2));
    // A push in a loop; LOOP_BREAK drops the push.
    let looped = [
        jump(Op::LoopStart, 6, 0),
        jump(Op::Push, 3, 0),
        jump(Op::LoopBreak, 5, 0),
        pop(4),
        Inst::new(Op::CfNop),
        jump(Op::LoopEnd, 1, 0),
        end(),
    ];
    assert_eq!(need(&looped), size(1, 3));
    assert_eq!(need(&looped).map(StackNeed::size), Ok(2));
    // A subroutine that pushes twice, called below a push.
    let called = [
        jump(Op::Push, 3, 0),
        word(Op::Call, &[(F::Addr, 4)]),
        pop(3),
        end(),
        jump(Op::Push, 8, 0),
        jump(Op::Push, 8, 0),
        jump(Op::Pop, 7, 2),
        Inst::new(Op::Return),
        Inst::new(Op::Return),
    ];
    assert_eq!(need(&called), size(0, 1 + 1 + 2 + 2));
    // Loops that only push, calls of itself, shared code, no code.
    assert_eq!(
        need(&[jump(Op::Push, 1, 0), jump(Op::Jump, 0, 0), end()]),
        Err(StackError::Unbounded { at: 0 })
    );
    // Many pushes that are popped, the same with one too many, and pushes that are not in a loop.
    let pair = [jump(Op::Push, 0, 0), jump(Op::Pop, 0, 1)];
    let pairs = |first: Inst| [&[first][..], &pair.repeat(50_000), &[jump(Op::Jump, 0, 0), end()]].concat();
    assert_eq!(need(&pairs(Inst::new(Op::CfNop))), size(0, 3));
    assert!(matches!(need(&pairs(jump(Op::Push, 0, 0))), Err(StackError::Unbounded { .. })));
    let straight = |count| {
        let mut words: Vec<Inst> = (0..count).map(|at| jump(Op::PushWqm, at + 1, 0)).collect();
        words.push(end());
        words
    };
    assert_eq!(need(&straight(1_000)), size(1_000, 2));
    assert_eq!(need(&straight(2_000)), Err(StackError::Unbounded { at: 8 * 1024 }));
    let call = |addr| word(Op::Call, &[(F::Addr, addr)]);
    assert_eq!(
        need(&[call(2), end(), call(2), Inst::new(Op::Return)]),
        Err(StackError::Recursion { at: 16 })
    );
    assert_eq!(need(&[call(1), end()]), Err(StackError::Shared { at: 8 }));
    assert_eq!(need(&[jump(Op::Jump, 9, 0), end()]), Err(StackError::NoCode { at: 72 }));
    assert_eq!(
        StackError::Recursion { at: 16 }.to_string(),
        "byte 0x10: expected a subroutine that does not call itself, found one that does"
    );
}
