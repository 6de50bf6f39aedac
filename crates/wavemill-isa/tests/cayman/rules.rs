//! Broken rules, one by one.

use wavemill_isa::cayman::{
    Declared, FieldId as F, Inst, Op, Rule, Slots, Stage, decode_group, decode_program,
};

use super::program::bytes;
use super::{ports, word};

/// A slot with its channel.
fn slot(op: Op, channel: u32, fields: &[(F, u32)]) -> Inst {
    word(op, &[&[(F::DstChan, channel)], fields].concat())
}

/// The same instruction in several channels.
fn slots(op: Op, channels: &[u32]) -> Vec<Inst> {
    channels.iter().map(|channel| slot(op, *channel, &[])).collect()
}

#[test]
fn words_break_rules() {
    for (inst, rule, field) in [
        (word(Op::CfEnd, &[(F::Reserved1, 3)]), Rule::Reserved { value: 3 }, F::Reserved1),
        (word(Op::TexLd, &[(F::Padding, 1)]), Rule::Reserved { value: 1 }, F::Padding),
        (word(Op::Mov, &[(F::BankSwizzle, 6)]), Rule::Code { listed: 0b11_1111, value: 6 }, F::BankSwizzle),
        (word(Op::Mov, &[(F::PredSel, 1)]), Rule::Code { listed: 0b1101, value: 1 }, F::PredSel),
        (word(Op::Mov, &[(F::IndexMode, 1)]), Rule::Code { listed: 0b111_0001, value: 1 }, F::IndexMode),
        (word(Op::MovaInt, &[(F::MovaDst, 8)]), Rule::Code { listed: 0xff, value: 8 }, F::MovaDst),
        (word(Op::MovaInt, &[(F::MovaDst, 127)]), Rule::Code { listed: 0xff, value: 127 }, F::MovaDst),
        (word(Op::MemRing, &[(F::ElemSize, 2)]), Rule::Code { listed: 0b1011, value: 2 }, F::ElemSize),
        (
            word(Op::MemRatAdd, &[(F::RatIndexMode, 3)]),
            Rule::Code { listed: 0b111, value: 3 },
            F::RatIndexMode,
        ),
        (
            word(Op::TexSample, &[(F::SamplerId, 18)]),
            Rule::Code { listed: 0x3_ffff, value: 18 },
            F::SamplerId,
        ),
        (word(Op::TexSample, &[(F::DstSelY, 6)]), Rule::Code { listed: 0b1011_1111, value: 6 }, F::DstSelY),
        (word(Op::TexSample, &[(F::SrcSelZ, 6)]), Rule::Code { listed: 0b11_1111, value: 6 }, F::SrcSelZ),
        (word(Op::Export, &[(F::SelW, 6)]), Rule::Code { listed: 0b1011_1111, value: 6 }, F::SelW),
        (
            word(Op::VtxRead, &[(F::DataFormat, 63)]),
            Rule::Code { listed: 0x7fff_ffed_ffff_ffef, value: 63 },
            F::DataFormat,
        ),
        (word(Op::VtxRead, &[(F::DataFormat, 0)]), Rule::NoFormat, F::DataFormat),
        (word(Op::MemRdScatter, &[(F::DataFormat, 0)]), Rule::NoFormat, F::DataFormat),
        (word(Op::TexLd, &[(F::ResourceId, 176)]), Rule::Resource { found: 176 }, F::ResourceId),
        (
            word(Op::VtxRead, &[(F::DataFormat, 13), (F::BufferId, 255)]),
            Rule::Resource { found: 255 },
            F::BufferId,
        ),
        (word(Op::TexLd, &[(F::InstMod, 2)]), Rule::Code { listed: 0b11, value: 2 }, F::InstMod),
        (word(Op::TexGetGradientsH, &[(F::InstMod, 3)]), Rule::Code { listed: 0b11, value: 3 }, F::InstMod),
        (word(Op::TexGetGradientsV, &[(F::InstMod, 2)]), Rule::Code { listed: 0b11, value: 2 }, F::InstMod),
        (word(Op::GdsAdd, &[(F::SrcRelMode, 3)]), Rule::Code { listed: 0b111, value: 3 }, F::SrcRelMode),
        (
            word(Op::AluExtendedAlu, &[(F::KcacheBankIndexMode2, 3)]),
            Rule::Code { listed: 0b111, value: 3 },
            F::KcacheBankIndexMode2,
        ),
        (word(Op::Mov, &[(F::Src0Sel, 192)]), Rule::Source { select: 192 }, F::Src0Sel),
        (word(Op::AddInt, &[(F::Src1Neg, 1)]), Rule::SourceModifier, F::Src1Neg),
        (word(Op::AndInt, &[(F::Src0Abs, 1)]), Rule::SourceModifier, F::Src0Abs),
        (word(Op::AddInt, &[(F::Clamp, 1)]), Rule::OutputModifier, F::Clamp),
        (word(Op::FltToInt, &[(F::Omod, 2)]), Rule::OutputModifier, F::Omod),
        (word(Op::Add, &[(F::UpdatePred, 1)]), Rule::MaskUpdate, F::UpdatePred),
        (word(Op::MovaInt, &[(F::UpdateExecMask, 1)]), Rule::MaskUpdate, F::UpdateExecMask),
        (word(Op::MovaInt, &[(F::WriteMask, 1)]), Rule::MovaResult, F::WriteMask),
        (word(Op::Tex, &[(F::Cond, 2)]), Rule::Condition { value: 2 }, F::Cond),
        (word(Op::Mov, &[(F::Src1Sel, 253)]), Rule::UnusedLiteral, F::Src1Sel),
        (word(Op::Nop, &[(F::Src0Sel, 223)]), Rule::UnusedLiteral, F::Src0Sel),
        (word(Op::Export, &[(F::ArrayBase, 8)]), Rule::ExportTarget { kind: 0, base: 8 }, F::ArrayBase),
        (word(Op::GdsAtomicOrderedAllocRet, &[]), Rule::Broadcast, F::BcastFirstReq),
        (word(Op::Call, &[(F::PopCount, 1)]), Rule::PopCount { expected: 0, found: 1 }, F::PopCount),
        (word(Op::PopWqm, &[(F::PopCount, 2)]), Rule::PopCount { expected: 1, found: 2 }, F::PopCount),
        (word(Op::Tex, &[(F::Count, 16)]), Rule::ClauseSize { found: 17 }, F::Count),
        (word(Op::Gds, &[(F::Count, 63)]), Rule::ClauseSize { found: 64 }, F::Count),
        (word(Op::AluValidPixelMode, &[(F::WholeQuadMode, 1)]), Rule::QuadAndValid, F::WholeQuadMode),
        (word(Op::MemExportCombined, &[(F::BurstCount, 1)]), Rule::Burst { found: 1 }, F::BurstCount),
        (word(Op::MemExportCombined, &[(F::Type, 3)]), Rule::IndexedWrite, F::Type),
        (word(Op::MemWrScratch, &[(F::ElemSize, 1)]), Rule::ScratchElement { found: 1 }, F::ElemSize),
    ] {
        let broken: Vec<(Rule, Option<F>)> =
            inst.broken_rules().into_iter().map(|broken| (broken.rule, broken.field)).collect();
        assert_eq!(broken, [(rule, Some(field))], "{inst:?}");
        // With the default in that field, the word breaks none.
        let default = inst.format().field(field).expect("a field").default;
        let right = match field {
            F::PopCount => inst.with(field, u32::from(inst.op() == Op::PopWqm)),
            F::ElemSize if inst.op() == Op::MemWrScratch => inst.with(field, 3),
            F::BcastFirstReq => inst.with(field, 1),
            // FMT_32.
            F::DataFormat => inst.with(field, 13),
            _ => inst.with(field, default),
        };
        assert_eq!(right.expect("it fits").broken_rules(), [], "{inst:?}");
    }
    // Targets of exports, by kind.
    for (kind, base, legal) in
        [(0, 61, true), (1, 60, true), (1, 59, false), (2, 31, true), (2, 32, false), (3, 0, false)]
    {
        let export = word(Op::ExportDone, &[(F::Type, kind), (F::ArrayBase, base)]);
        let rules: Vec<Rule> = export.broken_rules().iter().map(|broken| broken.rule).collect();
        let expected = if legal { vec![] } else { vec![Rule::ExportTarget { kind, base }] };
        assert_eq!(rules, expected);
    }
    // Bit 53, listed sources, and 128 slots break none.
    for inst in [
        word(Op::ExportDone, &[(F::EndOfProgram, 1)]),
        word(Op::Mov, &[(F::Src0Sel, 217)]),
        word(Op::Mov, &[(F::Src0Sel, 448)]),
        word(Op::Alu, &[(F::Count, 127)]),
        word(Op::TexLd, &[(F::ResourceId, 175), (F::InstMod, 1)]),
        word(Op::TexGather4, &[(F::InstMod, 3)]),
        word(Op::VtxRead, &[(F::UseConstFields, 1), (F::BufferId, 175)]),
        Inst::new(Op::GetBufferResinfo),
        word(Op::Push, &[(F::Cond, 2), (F::PopCount, 7)]),
        word(Op::Add, &[(F::Src0Neg, 1), (F::Src1Abs, 1), (F::Omod, 3), (F::Clamp, 1)]),
        word(Op::PredSeteInt, &[(F::UpdateExecMask, 1), (F::UpdatePred, 1), (F::ExecuteMaskOp, 3)]),
    ] {
        assert_eq!(inst.broken_rules(), [], "{inst:?}");
    }
}

#[test]
fn stages_have_instructions_of_their_own() {
    let in_stage = |op, stage| Inst::new(op).broken_rules_in(stage).into_iter().map(|broken| broken.rule);
    assert_eq!(in_stage(Op::Kille, Stage::Ps).next(), None);
    assert_eq!(
        in_stage(Op::Kille, Stage::Vs).next(),
        Some(Rule::Stage { expected: &[Stage::Ps], found: Stage::Vs })
    );
    assert_eq!(in_stage(Op::EmitVertex, Stage::Gs).next(), None);
    assert_eq!(
        in_stage(Op::EmitVertex, Stage::Ps).next(),
        Some(Rule::Stage { expected: &[Stage::Gs], found: Stage::Ps })
    );
    assert_eq!(in_stage(Op::Add, Stage::Hs).next(), None);
    let quads = word(Op::Alu, &[(F::WholeQuadMode, 1)]);
    assert_eq!(quads.broken_rules_in(Stage::Ps), []);
    assert_eq!(quads.broken_rules_in(Stage::Vs)[0].field, Some(F::WholeQuadMode));
}

#[test]
fn groups_break_rules() {
    let all = [0, 1, 2, 3];
    let relative = |mode| [(F::Src0Sel, 1), (F::Src0Rel, 1), (F::IndexMode, mode)];
    let queue = |code| [(F::Src0Sel, code)];
    for (name, group, expected) in [
        ("nothing", slots(Op::Mov, &all), None),
        (
            "a double in x and z",
            slots(Op::Add64, &[0, 2]),
            Some((Rule::Slots { needed: Slots::Pair, found: 0b0101 }, 0)),
        ),
        ("two doubles", slots(Op::Add64, &all), None),
        (
            "a product of doubles in two slots",
            slots(Op::Mul64, &[0, 1]),
            Some((Rule::Slots { needed: Slots::All, found: 0b0011 }, 0)),
        ),
        (
            "a reciprocal in x",
            slots(Op::RecipIeee, &[0]),
            Some((Rule::Slots { needed: Slots::Three, found: 1 }, 0)),
        ),
        ("a reciprocal in three", slots(Op::RecipIeee, &[0, 1, 2]), None),
        ("flags in x", slots(Op::StoreFlags, &[0]), Some((Rule::Slots { needed: Slots::W, found: 1 }, 0))),
        ("LDS in y", slots(Op::LdsReadRet, &[1]), Some((Rule::Slots { needed: Slots::X, found: 2 }, 1))),
        (
            "interpolation of x in z",
            vec![slot(Op::InterpZ, 2, &[(F::BankSwizzle, 5)])],
            Some((Rule::Slots { needed: Slots::Zw, found: 0b0100 }, 2)),
        ),
        ("a product and a sum", vec![slot(Op::Dot, 2, &[]), slot(Op::Mul, 3, &[])], None),
        (
            "a sum of nothing",
            vec![slot(Op::Dot, 2, &[])],
            Some((Rule::Producer { channel: 3, found: None }, 2)),
        ),
        (
            "a sum of a move",
            vec![slot(Op::Dot, 0, &[]), slot(Op::Mov, 1, &[])],
            Some((Rule::Producer { channel: 1, found: Some(Op::Mov) }, 0)),
        ),
        ("a dependent sum", vec![slot(Op::AddPrev, 1, &[]), slot(Op::Mov, 3, &[])], None),
        (
            "a dependent sum of the next channel",
            vec![slot(Op::AddPrev, 0, &[]), slot(Op::Mov, 1, &[])],
            Some((Rule::Producer { channel: 2, found: None }, 0)),
        ),
        (
            "a dependent sum of an integer",
            vec![slot(Op::AddPrev, 1, &[]), slot(Op::AddInt, 3, &[])],
            Some((Rule::Producer { channel: 3, found: Some(Op::AddInt) }, 1)),
        ),
        (
            "a dependent sum of what is clamped",
            vec![slot(Op::AddPrev, 1, &[]), slot(Op::Mov, 3, &[(F::Clamp, 1)])],
            Some((Rule::ProducerModifier { channel: 3 }, 1)),
        ),
        (
            "a dependent product and sum of what is scaled",
            vec![slot(Op::MuladdPrev, 0, &[]), slot(Op::Mul, 2, &[(F::Omod, 1)])],
            Some((Rule::ProducerModifier { channel: 2 }, 0)),
        ),
        // They take the result before OMOD and CLAMP.
        (
            "dependent products of what is clamped",
            vec![slot(Op::MulPrev, 1, &[]), slot(Op::Mul, 3, &[(F::Clamp, 1)])],
            None,
        ),
        (
            "dependent IEEE products of what is scaled",
            vec![slot(Op::MulIeeePrev, 0, &[]), slot(Op::MulIeee, 2, &[(F::Omod, 3)])],
            None,
        ),
        (
            "a dependent IEEE product and sum of what is scaled and clamped",
            vec![slot(Op::MuladdIeeePrev, 1, &[]), slot(Op::Mov, 3, &[(F::Omod, 2), (F::Clamp, 1)])],
            None,
        ),
        (
            "counts of bits",
            vec![
                slot(Op::Mbcnt32loAccumPrevInt, 0, &[]),
                slot(Op::Mbcnt32hiInt, 1, &[]),
                slot(Op::BcntAccumPrevInt, 2, &[]),
                slot(Op::BcntInt, 3, &[]),
            ],
            None,
        ),
        ("a dot product", slots(Op::Dot4, &all), None),
        (
            "a dot product that is clamped in y",
            vec![
                slot(Op::Dot4, 0, &[]),
                slot(Op::Dot4, 1, &[(F::Clamp, 1)]),
                slot(Op::Dot4, 2, &[]),
                slot(Op::Dot4, 3, &[]),
            ],
            Some((Rule::ReductionModifiers, 0)),
        ),
        ("two predicates", slots(Op::PredSete, &[0, 1]), Some((Rule::Predicates { first: Op::PredSete }, 1))),
        (
            "a kill beside a predicate",
            vec![slot(Op::Kille, 0, &[]), slot(Op::PredSetgt, 3, &[])],
            Some((Rule::Predicates { first: Op::Kille }, 3)),
        ),
        ("two predicates of doubles", slots(Op::PredSete64, &all), None),
        ("two indices", slots(Op::MovaInt, &[0, 1]), Some((Rule::Movas, 1))),
        (
            "an index in use",
            vec![slot(Op::MovaInt, 0, &[(F::Src0Sel, 248)]), slot(Op::Mov, 1, &relative(0))],
            Some((Rule::IndexBesideMova, 1)),
        ),
        (
            "a loop index",
            vec![slot(Op::MovaInt, 0, &[(F::Src0Sel, 248)]), slot(Op::Mov, 1, &relative(4))],
            None,
        ),
        (
            "a constant by AR",
            vec![slot(Op::Mov, 0, &[(F::Src0Sel, 128), (F::Src0Rel, 1)])],
            Some((Rule::ConstantIndex { mode: 0 }, 0)),
        ),
        (
            "pop and peek",
            vec![slot(Op::Mov, 0, &queue(221)), slot(Op::Mov, 1, &queue(219))],
            Some((Rule::QueueMix, 1)),
        ),
        ("two pops", vec![slot(Op::Mov, 0, &queue(221)), slot(Op::Mov, 1, &queue(222))], None),
        (
            "two registers of x in one cycle",
            vec![slot(Op::Mov, 0, &[(F::Src0Sel, 1)]), slot(Op::Mov, 1, &[(F::Src0Sel, 2)])],
            Some((Rule::ReadPort { cycle: 0, channel: 0, first: 1, second: 2 }, 1)),
        ),
        (
            "three constants",
            vec![
                slot(Op::Mov, 0, &[(F::Src0Sel, 128)]),
                slot(Op::Mov, 1, &[(F::Src0Sel, 128), (F::Src0Chan, 2)]),
                slot(Op::Mov, 2, &[(F::Src0Sel, 160)]),
            ],
            Some((Rule::ConstantPort { select: 160 }, 2)),
        ),
        (
            "two halves of a constant",
            vec![
                slot(Op::Mov, 0, &[(F::Src0Sel, 128)]),
                slot(Op::Mov, 1, &[(F::Src0Sel, 128), (F::Src0Chan, 1)]),
                slot(Op::Mov, 2, &[(F::Src0Sel, 128), (F::Src0Chan, 2)]),
            ],
            None,
        ),
        ("a direct read", vec![slot(Op::Mov, 0, &[(F::Src0Sel, 223)])], None),
        ("a direct read from B", vec![slot(Op::Mov, 0, &[(F::Src0Sel, 224)])], Some((Rule::DirectSource, 0))),
        (
            "a direct read in another cycle",
            vec![slot(Op::Mov, 0, &[(F::Src0Sel, 223), (F::BankSwizzle, 3)])],
            Some((Rule::BankSwizzle { expected: 0, found: 3 }, 0)),
        ),
        (
            "an interpolation in another cycle",
            vec![slot(Op::InterpX, 0, &[(F::BankSwizzle, 5)]), slot(Op::InterpX, 1, &[])],
            Some((Rule::BankSwizzle { expected: 5, found: 0 }, 1)),
        ),
        (
            "two parameters",
            vec![
                slot(Op::InterpX, 0, &[(F::BankSwizzle, 5), (F::Src1Sel, 448)]),
                slot(Op::InterpX, 1, &[(F::BankSwizzle, 5), (F::Src1Sel, 449)]),
            ],
            Some((Rule::Parameters, 0)),
        ),
        (
            "a literal that is an address",
            vec![slot(Op::Add, 0, &[(F::Src0Sel, 223), (F::Src1Sel, 253)])],
            Some((Rule::DirectLiteral, 0)),
        ),
        (
            "a literal behind the address",
            vec![slot(Op::Add, 0, &[(F::Src0Sel, 223), (F::Src1Sel, 253), (F::Src1Chan, 2)])],
            None,
        ),
    ] {
        let broken: Vec<(Rule, u8)> = ports::group(&group)
            .broken_rules()
            .iter()
            .map(|broken| (broken.rule, broken.slot.unwrap()))
            .collect();
        let expected: Vec<(Rule, u8)> = expected.into_iter().collect();
        assert_eq!(broken, expected, "{name}");
    }
}

/// A program of one clause, with the words before it, and the rules that it breaks: the number of the
/// group, and the rule.
fn of_clause(call: Inst, groups: &[Vec<Inst>]) -> Vec<(Option<usize>, Rule)> {
    let mut words = Vec::new();
    for slots in groups {
        let last = slots.len() - 1;
        words.extend(
            slots.iter().enumerate().map(|(at, slot)| slot.with(F::Last, u32::from(at == last)).unwrap()),
        );
    }
    // Behind the call, which may take two words, and the end.
    let start = call.size() as u32 / 8 + 1;
    let call = call.with(F::Addr, start).unwrap().with(F::Count, words.len() as u32 - 1).unwrap();
    let program = decode_program(&bytes(&[&[call, Inst::new(Op::CfEnd)][..], &words].concat()), 0);
    assert_eq!(program.problems, []);
    program.broken_rules().iter().map(|broken| (broken.number, broken.broken.rule)).collect()
}

#[test]
fn clauses_break_rules() {
    let alu = || Inst::new(Op::Alu);
    let one = |op, fields: &[(F, u32)]| vec![slot(op, 0, fields)];
    let by_ar = || one(Op::Mov, &[(F::Src0Sel, 1), (F::Src0Rel, 1)]);
    let read = || one(Op::LdsReadRet, &[]);
    let pop = |code| one(Op::Mov, &[(F::Src0Sel, code)]);
    let constant = |code| one(Op::Mov, &[(F::Src0Sel, code)]);
    let mov = || one(Op::Mov, &[(F::Src0Sel, 3)]);
    let to_temporary = |mask| one(Op::Mov, &[(F::Src0Sel, 248), (F::DstGpr, 125), (F::WriteMask, mask)]);
    let from_temporary = || one(Op::Mov, &[(F::Src0Sel, 125)]);
    for (name, call, groups, expected) in [
        ("an index", alu(), vec![one(Op::MovaInt, &[]), by_ar()], vec![]),
        ("an index of before", alu(), vec![by_ar()], vec![(Some(0), Rule::IndexBeforeMova)]),
        (
            "an index elsewhere",
            alu(),
            vec![one(Op::MovaInt, &[(F::MovaDst, 2)]), by_ar()],
            vec![(Some(1), Rule::IndexBeforeMova)],
        ),
        ("a queue", alu(), vec![read(), pop(221)], vec![]),
        ("an empty queue", alu(), vec![pop(221)], vec![(Some(0), Rule::EmptyQueue { queue: 0 })]),
        ("an empty queue B", alu(), vec![read(), pop(222)], vec![(Some(1), Rule::EmptyQueue { queue: 1 })]),
        ("both queues", alu(), vec![one(Op::LdsRead2Ret, &[]), pop(222)], vec![]),
        (
            "a queue that is left",
            alu(),
            vec![read(), read(), pop(219), pop(221)],
            vec![(Some(3), Rule::QueueLeft { queue: 0, entries: 1 })],
        ),
        (
            "both queues that are left",
            alu(),
            vec![one(Op::LdsReadRelRet, &[])],
            vec![
                (Some(0), Rule::QueueLeft { queue: 0, entries: 1 }),
                (Some(0), Rule::QueueLeft { queue: 1, entries: 1 }),
            ],
        ),
        (
            "a constant without a lock",
            alu(),
            vec![constant(128)],
            vec![(Some(0), Rule::Window { window: 0, number: 0, locked: 0 })],
        ),
        ("a constant of one line", word(Op::Alu, &[(F::KcacheMode0, 1)]), vec![constant(143)], vec![]),
        (
            "a constant of the second line",
            word(Op::Alu, &[(F::KcacheMode1, 1)]),
            vec![constant(176)],
            vec![(Some(0), Rule::Window { window: 1, number: 16, locked: 16 })],
        ),
        ("a constant of two lines", word(Op::Alu, &[(F::KcacheMode1, 2)]), vec![constant(191)], vec![]),
        (
            "a constant of a window that only ALU_EXTENDED has",
            alu(),
            vec![constant(288)],
            vec![(Some(0), Rule::Window { window: 3, number: 0, locked: 0 })],
        ),
        (
            "a constant of the fourth window",
            word(Op::AluExtendedAlu, &[(F::KcacheMode3, 1)]),
            vec![constant(288)],
            vec![],
        ),
        (
            "a write by AR, and a read",
            alu(),
            vec![one(Op::MovaInt, &[]), one(Op::Mov, &[(F::DstRel, 1), (F::Src0Sel, 248)]), mov()],
            vec![(Some(2), Rule::IndexHazard { register: 3 })],
        ),
        (
            "a write, and a read by AR",
            alu(),
            vec![one(Op::MovaInt, &[]), mov(), by_ar()],
            vec![(Some(2), Rule::IndexHazard { register: 1 })],
        ),
        ("a write, and a read", alu(), vec![mov(), mov()], vec![]),
        ("a temporary", alu(), vec![to_temporary(1), from_temporary()], vec![]),
        (
            "a temporary of before",
            alu(),
            vec![from_temporary()],
            vec![(Some(0), Rule::TemporaryBeforeWrite { register: 125, channel: 0 })],
        ),
        (
            "a temporary of the same group",
            alu(),
            vec![[to_temporary(1), vec![slot(Op::Mov, 1, &[(F::Src0Sel, 125)])]].concat()],
            vec![(Some(0), Rule::TemporaryBeforeWrite { register: 125, channel: 0 })],
        ),
        (
            "another channel of a temporary",
            alu(),
            vec![to_temporary(1), one(Op::Mov, &[(F::Src0Sel, 125), (F::Src0Chan, 2)])],
            vec![(Some(1), Rule::TemporaryBeforeWrite { register: 125, channel: 2 })],
        ),
        (
            "a temporary with a masked result",
            alu(),
            vec![to_temporary(0), from_temporary()],
            vec![(Some(1), Rule::TemporaryBeforeWrite { register: 125, channel: 0 })],
        ),
        (
            "an index of a temporary",
            alu(),
            vec![one(Op::MovaInt, &[]), one(Op::Mov, &[(F::Src0Sel, 124), (F::Src0Rel, 1)])],
            vec![(Some(1), Rule::IndexBase { register: 124, declared: 124 })],
        ),
        (
            "a result at an index of a temporary",
            alu(),
            vec![one(Op::MovaInt, &[]), one(Op::Mov, &[(F::Src0Sel, 248), (F::DstGpr, 127), (F::DstRel, 1)])],
            vec![(Some(1), Rule::IndexBase { register: 127, declared: 124 })],
        ),
        (
            "an index of a register that waves share",
            alu(),
            vec![one(Op::Mov, &[(F::Src0Sel, 124), (F::Src0Rel, 1), (F::IndexMode, 5)])],
            vec![],
        ),
        ("a barrier", alu(), vec![one(Op::GroupBarrier, &[])], vec![]),
        ("a kill at the end", alu(), vec![mov(), one(Op::Kille, &[])], vec![]),
        ("a kill", alu(), vec![one(Op::Kille, &[]), mov()], vec![(Some(0), Rule::KillBeforeEnd)]),
    ] {
        assert_eq!(of_clause(call, &groups), expected, "{name}");
    }
}

/// Jumps over a clause with a barrier: 0 PUSH @3, 1 ALU, 2 POP, 3 ALU, 4 END; the clause is at 5.
#[test]
fn barriers_are_outside_of_branches() {
    let alu = word(Op::Alu, &[(F::Addr, 5)]);
    let barrier = word(Op::GroupBarrier, &[(F::Last, 1)]);
    let rules = |first: Inst, count| {
        let pop = word(Op::Pop, &[(F::Addr, 3), (F::PopCount, count)]);
        let program = decode_program(&bytes(&[first, alu, pop, alu, Inst::new(Op::CfEnd), barrier]), 0);
        assert_eq!(program.problems, []);
        program.broken_rules().iter().map(|broken| (broken.at, broken.broken.rule)).collect::<Vec<_>>()
    };
    assert_eq!(rules(word(Op::Push, &[(F::Addr, 3)]), 1), [(40, Rule::BarrierInBranch)]);
    assert_eq!(rules(Inst::new(Op::CfNop), 0), []);
}

/// Registers that the program declares are no clause temporaries, and those that it does not declare
/// have no index.
#[test]
fn declared_registers_are_no_temporaries() {
    let alu = word(Op::Alu, &[(F::Addr, 3)]);
    let export = word(Op::ExportDone, &[(F::Type, 2), (F::RwGpr, 126), (F::SelY, 7), (F::BurstCount, 1)]);
    let mov = word(Op::Mov, &[(F::Src0Sel, 124), (F::DstGpr, 9), (F::Last, 1)]);
    let rules = |words: &[Inst], gprs| {
        let program = decode_program(&bytes(words), 0);
        assert_eq!(program.problems, []);
        let declared = Declared { gprs, ..Declared::default() };
        program
            .broken_rules_as(declared)
            .iter()
            .map(|broken| (broken.at, broken.broken.rule))
            .collect::<Vec<_>>()
    };
    let outside = |register| Rule::TemporaryOutsideClause { register };
    let read = Rule::TemporaryBeforeWrite { register: 124, channel: 0 };
    let words = [alu, export, Inst::new(Op::CfEnd), mov];
    for (gprs, expected) in [
        (None, vec![(8, outside(126)), (8, outside(127)), (24, read)]),
        (Some(10), vec![(8, outside(126)), (8, outside(127)), (24, read)]),
        (Some(125), vec![(8, outside(126)), (8, outside(127))]),
        (Some(127), vec![(8, outside(127))]),
        (Some(128), vec![]),
    ] {
        assert_eq!(rules(&words, gprs), expected, "{gprs:?}");
    }
    // An export of constants reads no register.
    let constants = [(F::SelX, 4), (F::SelY, 5), (F::SelZ, 7), (F::SelW, 5), (F::Type, 2), (F::RwGpr, 127)];
    assert_eq!(rules(&[word(Op::ExportDone, &constants), Inst::new(Op::CfEnd)], None), []);
    let mova = word(Op::MovaInt, &[(F::Last, 1)]);
    let by_ar = word(Op::Mov, &[(F::Src0Sel, 9), (F::Src0Rel, 1), (F::Last, 1)]);
    let alu = word(Op::Alu, &[(F::Addr, 2), (F::Count, 1)]);
    let words = [alu, Inst::new(Op::CfEnd), mova, by_ar];
    assert_eq!(rules(&words, Some(10)), []);
    assert_eq!(rules(&words, Some(9)), [(24, Rule::IndexBase { register: 9, declared: 9 })]);
}

/// Pops follow on pushes, and loops are whole.
#[test]
fn stacks_and_loops_are_balanced() {
    let rules = |words: &[Inst]| {
        let program = decode_program(&bytes(words), 0);
        program.broken_rules().iter().map(|broken| (broken.at, broken.broken.rule)).collect::<Vec<_>>()
    };
    let end = Inst::new(Op::CfEnd);
    let pop = |at: u32, count| word(Op::Pop, &[(F::Addr, at + 1), (F::PopCount, count)]);
    let push = word(Op::Push, &[(F::Addr, 2)]);
    let without = |popped, found| Rule::PopWithoutPush { popped, found };
    assert_eq!(rules(&[pop(0, 1), end]), [(0, without(1, 0))]);
    assert_eq!(rules(&[pop(0, 0), end]), []);
    assert_eq!(rules(&[push, pop(1, 1), end]), []);
    assert_eq!(rules(&[push, pop(1, 2), end]), [(8, without(2, 1))]);
    // A jump pops if it is taken; ELSE and REACTIVATE read the frame on top.
    assert_eq!(rules(&[word(Op::Jump, &[(F::Addr, 1), (F::PopCount, 1)]), end]), [(0, without(1, 0))]);
    assert_eq!(rules(&[word(Op::Else, &[(F::Addr, 1)]), end]), [(0, without(1, 0))]);
    assert_eq!(rules(&[push, word(Op::Else, &[(F::Addr, 2)]), end]), []);
    assert_eq!(rules(&[Inst::new(Op::Reactivate), end]), [(0, without(1, 0))]);
    let nop = word(Op::Nop, &[(F::Last, 1)]);
    let after = word(Op::AluPop2After, &[(F::Addr, 3)]);
    assert_eq!(rules(&[push, after, end, nop]), [(8, without(2, 1))]);
    let before = word(Op::AluPushBefore, &[(F::Addr, 3)]);
    assert_eq!(rules(&[before, pop(1, 1), end, nop]), []);
    // Where ways meet, the deepest stack counts: here that of the push at 2.
    let over = word(Op::JumpAny, &[(F::Addr, 3)]);
    let deep = word(Op::Push, &[(F::Addr, 4)]);
    assert_eq!(rules(&[over, Inst::new(Op::CfNop), deep, pop(3, 1), end]), []);
    // The frame of a subroutine is its return address.
    let ret = Inst::new(Op::Return);
    assert_eq!(rules(&[word(Op::Call, &[(F::Addr, 2)]), end, pop(2, 1), ret]), [(16, without(1, 0))]);

    let start = |target| word(Op::LoopStartDx10, &[(F::Addr, target)]);
    let repeat = |target| word(Op::LoopEnd, &[(F::Addr, target)]);
    assert_eq!(rules(&[start(2), repeat(1), end]), []);
    assert_eq!(rules(&[start(1), end]), [(0, Rule::LoopWithoutEnd)]);
    assert_eq!(rules(&[repeat(1), end]), [(0, Rule::OutsideLoop)]);
    // The start leads elsewhere, and the end goes back to it.
    assert_eq!(rules(&[start(3), repeat(1), end, end]), []);
    for op in [Op::LoopBreak, Op::LoopContinue] {
        let leave = word(op, &[(F::Addr, 2)]);
        assert_eq!(rules(&[start(3), leave, repeat(1), end]), []);
        assert_eq!(rules(&[word(op, &[(F::Addr, 1)]), end]), [(0, Rule::OutsideLoop)]);
        // A subroutine may be called in a loop.
        let words = [start(3), word(Op::Call, &[(F::Addr, 4)]), repeat(1), end, leave, ret];
        assert_eq!(rules(&words), []);
    }
}

/// A loop from 0 to 2 with one word in it, and the end.
#[test]
fn threads_are_reactivated_outside_of_loops() {
    let rules = |first: Inst, inside: Inst| {
        let end = word(Op::LoopEnd, &[(F::Addr, 1)]);
        let words = [first, inside, end, Inst::new(Op::CfEnd)];
        let program = decode_program(&bytes(&words), 0);
        program.broken_rules().iter().map(|broken| (broken.at, broken.broken.rule)).collect::<Vec<_>>()
    };
    let start = word(Op::LoopStartDx10, &[(F::Addr, 3)]);
    let reactivate = Inst::new(Op::Reactivate);
    assert_eq!(rules(start, reactivate), [(8, Rule::ReactivationInLoop)]);
    assert_eq!(rules(start, Inst::new(Op::CfNop)), []);
    let pop = word(Op::Pop, &[(F::Addr, 3), (F::PopCount, 1)]);
    let words = [word(Op::Push, &[(F::Addr, 2)]), reactivate, pop, Inst::new(Op::CfEnd)];
    assert_eq!(decode_program(&bytes(&words), 0).broken_rules(), []);
}

/// Programs of a stage, with the slot at fault in its place.
#[test]
fn programs_belong_to_stages() {
    let alu = word(Op::Alu, &[(F::Addr, 3)]);
    let kill = word(Op::Kille, &[(F::Last, 1)]);
    let program = decode_program(&bytes(&[alu, Inst::new(Op::EmitVertex), Inst::new(Op::CfEnd), kill]), 0);
    let rules = |stage| -> Vec<(usize, Rule)> {
        program
            .broken_rules_as(Declared { stage: Some(stage), gprs: None })
            .iter()
            .map(|broken| (broken.at, broken.broken.rule))
            .collect()
    };
    assert_eq!(rules(Stage::Gs), [(24, Rule::Stage { expected: &[Stage::Ps], found: Stage::Gs })]);
    assert_eq!(rules(Stage::Ps), [(8, Rule::Stage { expected: &[Stage::Gs], found: Stage::Ps })]);
    assert_eq!(program.broken_rules(), []);
}

/// A direct read of LDS with its two literals: strides of A and B are bits 19:13 of each, and bit 31 of
/// the second reads from all banks (HD 6900 ISA 7.3.1).
#[test]
fn direct_reads_have_literals() {
    let read = word(Op::Add, &[(F::Src0Sel, 223), (F::Src1Sel, 1), (F::Last, 1)]);
    let both = read.with(F::Src1Sel, 224).unwrap();
    for (inst, literals, rules) in [
        (read, [3 << 13 | 5, 0], vec![]),
        (read, [2 << 13, 0], vec![(Rule::Stride { found: 2 }, F::StrideA)]),
        // B is not read.
        (read, [1 << 13, 2 << 13], vec![]),
        (both, [0, 4 << 13], vec![(Rule::Stride { found: 4 }, F::StrideB)]),
        (both, [2 << 13, 6 << 13 | 1 << 31], vec![]),
        (both, [4 << 13, 1 << 31], vec![(Rule::Stride { found: 4 }, F::StrideA)]),
        (read, [1 << 20, 0], vec![(Rule::Reserved { value: 1 }, F::Reserved0)]),
    ] {
        let mut code = inst.encode().0[..8].to_vec();
        code.extend(literals.iter().flat_map(|literal: &u32| literal.to_le_bytes()));
        let group = decode_group(&code).expect("a group");
        assert_eq!((group.size, group.literals), (16, [literals[0], literals[1], 0, 0]));
        let address = group.direct_read().expect("a direct read");
        assert_eq!(address.field(F::OffsetA), Some(literals[0] & 0x1fff));
        assert_eq!(address.field(F::Src0Sel), None);
        let found: Vec<(Rule, F)> =
            group.broken_rules().iter().map(|broken| (broken.rule, broken.field.unwrap())).collect();
        assert_eq!(found, rules, "{literals:x?}");
    }
    let none = word(Op::Mov, &[(F::Last, 1)]);
    assert_eq!(decode_group(&none.encode().0[..8]).map(|group| group.direct_read()), Ok(None));
}

#[test]
fn modifiers_follow_from_types() {
    for (op, negation, absolute, scale, clamp) in [
        (Op::Add, true, true, true, true),
        (Op::Muladd, true, false, false, true),
        (Op::AddInt, false, false, false, false),
        (Op::Add64, true, true, true, true),
        (Op::FltToInt, true, true, false, false),
        (Op::IntToFlt, false, false, true, true),
        (Op::PredSete64, true, true, false, false),
        (Op::LdsAdd, false, false, false, false),
    ] {
        let row = op.row();
        let found =
            (row.takes_negation(0), row.takes_absolute(0), row.takes_output_modifier(), row.takes_clamp());
        assert_eq!(found, (negation, absolute, scale, clamp), "{op:?}");
        assert!(!row.takes_negation(3));
    }
}

#[test]
fn rules_say_what_and_where() {
    let two = ports::group(&[slot(Op::Mov, 0, &[(F::Src0Sel, 1)]), slot(Op::Mov, 1, &[(F::Src0Sel, 2)])]);
    let shown: Vec<String> = two.broken_rules().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "slot y: `src0_sel`: expected one register of channel x in cycle 0, found r1 and r2: choose other bank swizzles"
        ]
    );
    let call = word(Op::Alu, &[(F::Addr, 2)]);
    let kill = word(Op::Mov, &[(F::Last, 1), (F::Src0Sel, 128)]);
    let program = decode_program(&bytes(&[call, Inst::new(Op::CfEnd), kill]), 0);
    let shown: Vec<String> = program.broken_rules().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "byte 0x10, instruction 0 of clause 0: slot x: `src0_sel`: expected a constant of a window that the control flow word locks, found kc0[0]: it locks no line for window 0"
        ]
    );
}

#[test]
fn rules_in_words() {
    let slots = |needed, found| Rule::Slots { needed, found }.to_string();
    assert_eq!(
        slots(Slots::Three, 0b0001),
        "expected the instruction in slots x, y and z, or all four, found it in x"
    );
    assert_eq!(
        slots(Slots::Pair, 0b0101),
        "expected the instruction in slots x and y, or z and w, found it in x, z"
    );
    assert_eq!(slots(Slots::All, 0b0011), "expected the instruction in all four slots, found it in x, y");
    assert_eq!(
        Rule::Window { window: 1, number: 0, locked: 0 }.to_string(),
        "expected a constant of a window that the control flow word locks, found kc1[0]: it locks no \
         line for window 1"
    );
    assert_eq!(
        Rule::Window { window: 0, number: 17, locked: 16 }.to_string(),
        "expected a constant that the control flow word locks for window 0, kc0[0] to kc0[15], found \
         kc0[17]"
    );
    let code = |listed, value| Rule::Code { listed, value }.to_string();
    assert_eq!(code(0b1011, 2), "expected a code that the manual lists (0, 1, 3), found 2");
    assert_eq!(
        code(!(1 << 4 | 1 << 63), 4),
        "expected a code that the manual lists (0 to 3, 5 to 62), found 4"
    );
    assert_eq!(code(u64::MAX, 64), "expected a code that the manual lists (0 to 63), found 64");
}
