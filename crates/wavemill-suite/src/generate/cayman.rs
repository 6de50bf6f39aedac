//! ALU operations of Cayman: special values and edges, all modes, all modifiers, each kind of slot.

mod groups;

use wavemill_isa::Target;
use wavemill_isa::cayman::{
    Elem, FieldId as F, Flag, Format, Group, Inst, Op, Row as Entry, Slots, SourceField, decode_group,
};
use wavemill_reference::cayman as reference;
use wavemill_reference::{F16, F32, F64};

use super::Builder;
use super::values::{Random, bits, exponent, float, specials};
use crate::data::{Cell, Half, Kind, LANES, LaneMask, Lanes, Row, Test};
use crate::model::cayman::{Clause, GPRS, Register};

pub(super) use groups::tests as group_tests;

/// The register of results.
const RESULT: u32 = 4;

/// Modes of singles for modifiers: usual, denormals kept, rounding up without denormals of results,
/// rounding down without those of sources.
const MODES: [u32; 4] = [0, 0xc, 0x5, 0xa];

/// The special values of a format have this number of pairs.
const PAIRS: usize = 20 * 20;

/// A slot whose sources are channel X of r0, r1 and r2, and whose result is a channel of
/// [`RESULT`].
fn slot(op: Op, channel: u32) -> Inst {
    let fields = [(F::DstGpr, RESULT), (F::DstChan, channel), (F::Src1Sel, 1), (F::Src2Sel, 2)];
    let has = |n: usize| n < op.row().sources.len();
    fields.into_iter().fold(Inst::new(op), |inst, (field, value)| match field {
        F::Src1Sel if !has(1) => inst,
        F::Src2Sel if !has(2) => inst,
        F::DstGpr if op == Op::MovaInt || op.row().result.is_none() => inst,
        _ => inst.with(field, value).unwrap_or(inst),
    })
}

fn with(inst: Inst, field: F, value: u32) -> Inst {
    inst.with(field, value).unwrap_or_else(|error| panic!("{inst:?}: {error}"))
}

/// The slot with a source from a channel of a register.
fn reading(inst: Inst, n: usize, register: u32, channel: u32) -> Inst {
    let field = &SourceField::ALL[n];
    with(with(inst, field.select, register), field.channel, channel)
}

/// The slot with every source `n` from this channel of register `n`.
fn from_channel(inst: Inst, channel: u32) -> Inst {
    (0..inst.row().sources.len()).fold(inst, |inst, n| reading(inst, n, n as u32, channel))
}

/// A group of slots, in the order of their channels.
fn group(slots: &[Inst], literals: &[u32]) -> Group {
    let mut bytes = Vec::new();
    for (n, slot) in slots.iter().enumerate() {
        let (word, size) = with(*slot, F::Last, u32::from(n + 1 == slots.len())).encode();
        bytes.extend(&word[..size]);
    }
    bytes.extend(literals.iter().flat_map(|literal| literal.to_le_bytes()));
    decode_group(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// The machine words of a group.
fn words(group: &Group) -> Vec<u32> {
    let slots = group.slots.iter().flatten().flat_map(|slot| {
        let word = slot.word() as u64;
        [word as u32, (word >> 32) as u32]
    });
    let count = group.slots.iter().flatten().count();
    slots.chain(group.literals.into_iter().take(group.size / 4 - 2 * count)).collect()
}

/// Adds a test of groups, unless none of its results is known.
fn add(builder: &mut Builder, mode: u32, set: usize, cells: &[(Cell, u32)], groups: &[Group]) {
    let mut clause = Clause::new(mode);
    for (row, lanes) in &builder.file.sets[set].rows {
        clause.set_row(*row, lanes);
    }
    for (cell, value) in cells {
        clause.set_cell(*cell, *value);
    }
    let before = clause.clone();
    let all: Vec<u32> = groups.iter().flat_map(words).collect();
    let text: Vec<String> =
        groups.iter().map(|group| wavemill_asm::cayman::print_group(group, " ")).collect();
    if let Err(gap) = clause.run(&all) {
        panic!("{}: {}", text.join(" "), gap.0);
    }
    let (mut rows, mut known) = (Vec::new(), Vec::new());
    for (number, channel) in (0..GPRS).flat_map(|number| (0..4).map(move |channel| (number, channel))) {
        let of = |clause: &Clause| clause.gprs[usize::from(number)][usize::from(channel)];
        let (old, Register { values, known: bits }) = (of(&before), of(&clause));
        if old.values == values && old.known == bits {
            continue;
        }
        let row = Row::Gpr(number, channel);
        rows.push((row, std::array::from_fn(|lane| values[lane] & bits[lane])));
        if bits != [u32::MAX; LANES] {
            known.push((row, bits));
        }
    }
    let results: Vec<(Cell, u32)> = [LaneMask::Active, LaneMask::Valid]
        .into_iter()
        .flat_map(|mask| [(mask, Half::Low), (mask, Half::High)])
        .filter(|(mask, half)| clause.cell(*mask, *half) != before.cell(*mask, *half))
        .map(|(mask, half)| (Cell::Lanes(mask, half), clause.cell(mask, half)))
        .collect();
    let nothing = |row: &Row| known.iter().any(|(other, bits)| other == row && *bits == [0; LANES]);
    if results.is_empty() && rows.iter().all(|(row, _)| nothing(row)) {
        return;
    }
    let mut open = Vec::new();
    for facet in
        groups.iter().flat_map(|group| group.slots.iter().flatten()).flat_map(|slot| slot.row().facets)
    {
        if !open.contains(&facet.name) {
            open.push(facet.name);
        }
    }
    builder.file.tests.push(Test {
        text: text.join(" "),
        words: all,
        targets: vec![Target::Cayman],
        kind: Kind::Clause,
        mode,
        set,
        cells: cells.to_vec(),
        ulps: 0,
        open,
        rows,
        known,
        results,
    });
}

/// Masks of active lanes.
fn active(lanes: u64) -> [(Cell, u32); 2] {
    let half = |half| Cell::Lanes(LaneMask::Active, half);
    [(half(Half::Low), lanes as u32), (half(Half::High), (lanes >> 32) as u32)]
}

/// A random dword of a type of 32 bits.
fn dword(elem: Elem, random: &mut Random) -> u32 {
    match elem {
        Elem::F32 => float(F32, random) as u32,
        Elem::F16 => (float(F16, random) | random.next() << 16) as u32,
        _ => bits(random) as u32,
    }
}

/// The values of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    /// The pairs of special values from this number of [`LANES`] on, or single special values.
    Specials(usize),
    /// Random ones, often special or at edges.
    Random(usize),
}

/// Special values of a type.
fn special(elem: Elem) -> Option<[u64; 20]> {
    match elem {
        Elem::F16 => Some(specials(F16)),
        Elem::F32 => Some(specials(F32)),
        Elem::F64 => Some(specials(F64)),
        _ => None,
    }
}

/// The value of a source of case `n`, if the first two sources are floats of special values.
fn special_value(sources: &[Elem], source: usize, n: usize) -> Option<u64> {
    let first = special(*sources.first()?)?;
    let second = sources.get(1).and_then(|elem| special(*elem));
    match (source, second) {
        (0, Some(second)) => first.get(n / second.len()).copied(),
        (1, Some(second)) => (n / second.len() < first.len()).then(|| second[n % second.len()]),
        (0, None) => first.get(n).copied(),
        _ => None,
    }
}

/// Channel X of r0, r1 and r2 has the sources of a row.
fn singles(builder: &mut Builder, row: &Entry, values: Values) -> usize {
    let name = format!("singles {values:?} {:?}", row.sources);
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let sources = row.sources.iter().enumerate();
        sources
            .map(|(n, elem)| {
                let lanes: Lanes = std::array::from_fn(|lane| {
                    let any = dword(*elem, &mut random);
                    let chosen = match values {
                        Values::Specials(set) => special_value(row.sources, n, set * LANES + lane),
                        Values::Random(_) => None,
                    };
                    match (chosen, elem) {
                        (Some(bits), Elem::F16) => any & 0xffff_0000 | bits as u32,
                        (Some(bits), _) => bits as u32,
                        _ => any,
                    }
                });
                (Row::Gpr(n as u16, 0), lanes)
            })
            .collect()
    })
}

/// r0, r1 and r2 have two doubles each. Sources of 32 bits fill both dwords.
fn doubles(builder: &mut Builder, row: &Entry, values: Values) -> usize {
    let name = format!("doubles {values:?} {:?}", row.sources);
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let mut rows = Vec::new();
        for (n, elem) in row.sources.iter().enumerate() {
            let mut lanes = [[0; LANES]; 4];
            for case in 0..2 * LANES {
                let (pair, lane) = (case / LANES, case % LANES);
                let any = match elem {
                    Elem::F64 => float(F64, &mut random),
                    Elem::F32 => dword(*elem, &mut random).into(),
                    // The exponent of LDEXP_64, often beyond the range.
                    _ if random.one_in(8) => bits(&mut random) & 0xffff_ffff,
                    _ if random.one_in(2) => u64::from((random.below(4400) as u32).wrapping_sub(2200)),
                    _ => exponent(&mut random).into(),
                };
                let chosen = match values {
                    Values::Specials(set) => special_value(row.sources, n, set * 2 * LANES + case),
                    Values::Random(_) => None,
                };
                let value = chosen.unwrap_or(any);
                let high = if *elem == Elem::F64 { value >> 32 } else { value };
                (lanes[2 * pair][lane], lanes[2 * pair + 1][lane]) = (value as u32, high as u32);
            }
            rows.extend((0u16..).zip(lanes).map(|(channel, lanes)| (Row::Gpr(n as u16, channel), lanes)));
        }
        rows
    })
}

/// All modifiers of sources of a row but none: bits of NEG, then of ABS.
fn source_modifiers(row: &Entry) -> Vec<(u32, u32)> {
    let allowed =
        |takes: &dyn Fn(usize) -> bool| (0..3).filter(|n| takes(*n)).fold(0u32, |mask, n| mask | 1 << n);
    let negate = allowed(&|n| row.takes_negation(n));
    let absolute = allowed(&|n| row.takes_absolute(n));
    let all = (0..8).flat_map(|neg| (0..8).map(move |abs| (neg, abs)));
    all.filter(|(neg, abs)| neg & !negate == 0 && abs & !absolute == 0 && neg | abs != 0).collect()
}

/// All output modifiers of a row but none: OMOD and CLAMP.
fn output_modifiers(row: &Entry) -> Vec<(u32, bool)> {
    let scales = if row.takes_output_modifier() { 4 } else { 1 };
    let clamps: &[bool] = if row.takes_clamp() { &[false, true] } else { &[false] };
    (0..scales)
        .flat_map(|omod| clamps.iter().map(move |clamp| (omod, *clamp)))
        .filter(|modifiers| *modifiers != (0, false))
        .collect()
}

fn modified(inst: Inst, (negate, absolute): (u32, u32)) -> Inst {
    let mut inst = inst;
    for (n, field) in SourceField::ALL.iter().enumerate() {
        if negate >> n & 1 != 0 {
            inst = with(inst, field.negate, 1);
        }
        if let Some(field) = field.absolute.filter(|_| absolute >> n & 1 != 0) {
            inst = with(inst, field, 1);
        }
    }
    inst
}

fn scaled(inst: Inst, (omod, clamp): (u32, bool)) -> Inst {
    let inst = if omod == 0 { inst } else { with(inst, F::Omod, omod) };
    if clamp { with(inst, F::Clamp, 1) } else { inst }
}

/// Whether a result depends on the modes.
fn has_modes(row: &Entry) -> bool {
    row.sources.iter().chain(&row.result).any(|elem| elem.is_float())
}

/// How many sets of special values sources have, if a set has that many cases.
fn special_sets(row: &Entry, cases: usize) -> usize {
    let float = |n: usize| row.sources.get(n).and_then(|elem| special(*elem)).is_some();
    match (float(0), float(1)) {
        (true, true) => PAIRS.div_ceil(cases),
        (true, false) => 1,
        _ => 0,
    }
}

/// Instructions of one slot, and those that several slots repeat.
pub(super) fn tests(builder: &mut Builder, format: Format) {
    for (number, &op) in Op::ALL.iter().enumerate() {
        let row = op.row();
        if row.format == format && is_single(op) {
            single(builder, op, number as u32);
        }
    }
}

/// Whether each slot computes a result from its own sources.
fn is_single(op: Op) -> bool {
    reference::operation(op.row().name).is_some()
}

fn single(builder: &mut Builder, op: Op, number: u32) {
    let row = op.row();
    let repeated: &[u32] = match row.slots {
        Slots::All => &[0, 1, 2, 3],
        Slots::Three => &[0, 1, 2],
        _ => &[],
    };
    // One of the repeated slots writes, as compilers have it.
    let slots = |change: &dyn Fn(Inst) -> Inst, turn: u32| -> Vec<Inst> {
        let written = turn % if repeated.is_empty() { 4 } else { repeated.len() as u32 };
        let own = |channel: u32| {
            let inst = change(slot(op, channel));
            if channel == written || row.format != Format::Op2 { inst } else { with(inst, F::WriteMask, 0) }
        };
        if repeated.is_empty() {
            vec![change(slot(op, written))]
        } else {
            repeated.iter().copied().map(own).collect()
        }
    };
    let mut turn = number;
    let mut test = |builder: &mut Builder, mode: u32, set: usize, change: &dyn Fn(Inst) -> Inst| {
        turn += 1;
        add(builder, mode, set, &[], &[group(&slots(change, turn), &[])]);
    };
    let modes = if has_modes(row) { 0..16 } else { 0..1 };
    let sets = special_sets(row, LANES);
    for n in 0..sets {
        let set = singles(builder, row, Values::Specials(n));
        for mode in modes.clone() {
            test(builder, mode, set, &|inst| inst);
        }
    }
    let random: Vec<usize> = (0..3).map(|n| singles(builder, row, Values::Random(n))).collect();
    for (n, set) in random.iter().enumerate() {
        for mode in if has_modes(row) { &MODES[..] } else { &[0] } {
            test(builder, (mode + n as u32) % 16, *set, &|inst| inst);
        }
    }
    for (n, modifiers) in source_modifiers(row).into_iter().enumerate() {
        let mode = MODES[n % 4];
        test(builder, mode, random[n % 3], &|inst| modified(inst, modifiers));
    }
    for (n, modifiers) in output_modifiers(row).into_iter().enumerate() {
        for mode in MODES {
            test(builder, mode, random[n % 3], &|inst| scaled(inst, modifiers));
        }
        for special in 0..sets {
            let set = singles(builder, row, Values::Specials(special));
            test(builder, MODES[(n + special) % 4], set, &|inst| scaled(inst, modifiers));
        }
    }
    if row.has(Flag::Predicate) || row.has(Flag::Kill) {
        let lanes = [u64::MAX, 0x00ff_aa55_0ff0_1234];
        for (n, set) in random.iter().enumerate() {
            let mode = MODES[n % 4];
            masks(builder, &slot(op, number % 4), mode, *set, lanes[n % 2]);
        }
        for n in 0..sets {
            let set = singles(builder, row, Values::Specials(n));
            masks(builder, &slot(op, number % 4), MODES[n % 4], set, lanes[n % 2]);
        }
    }
}

/// Tests of what an instruction does to the predicate and to the masks of lanes.
fn masks(builder: &mut Builder, inst: &Inst, mode: u32, set: usize, lanes: u64) {
    let cells: Vec<(Cell, u32)> = if lanes == u64::MAX { Vec::new() } else { active(lanes).to_vec() };
    if inst.row().has(Flag::Kill) {
        add(builder, mode, set, &cells, &[group(&[*inst], &[])]);
        return;
    }
    // Copies where the predicate is set, and where it is not.
    let copy = |channel: u32, select: u32| {
        let moves = with(with(Inst::new(Op::Mov), F::Src0Sel, 249), F::DstGpr, 5);
        with(with(moves, F::DstChan, channel), F::PredSel, select)
    };
    let copies = group(&[copy(0, 3), copy(1, 2)], &[]);
    add(builder, mode, set, &cells, &[group(&[with(*inst, F::UpdatePred, 1)], &[]), copies]);
    add(builder, mode, set, &cells, &[group(&[with(*inst, F::UpdateExecMask, 1)], &[])]);
    let both = with(with(*inst, F::UpdateExecMask, 1), F::UpdatePred, 1);
    add(builder, mode, set, &cells, &[group(&[both], &[]), copies]);
}

/// Both pairs of slots of an instruction: the first slot of a pair has the high dwords.
fn pairs(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    let own = |channel: u32| {
        let dword = channel / 2 * 2 + u32::from(channel.is_multiple_of(2));
        let inst = from_channel(slot(op, channel), dword);
        if channel.is_multiple_of(2) { change(inst) } else { inst }
    };
    (0..4).map(own).collect()
}

/// Three slots with the high dwords, and one with the low dwords.
fn of_four(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    let own = |channel: u32| {
        let inst = from_channel(slot(op, channel), u32::from(channel < 3));
        if channel < 3 { change(inst) } else { inst }
    };
    (0..4).map(own).collect()
}

/// The slot with sources from channels Z and W instead of X and Y.
fn of_second_pair(inst: Inst) -> Inst {
    let fields = SourceField::ALL.iter().take(inst.row().sources.len());
    fields.fold(inst, |inst, field| with(inst, field.channel, inst.get(field.channel) + 2))
}

/// The two slots of FREXP_64 with sources, and two without.
fn parts(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    let own = |channel: u32| {
        let inst = from_channel(slot(op, channel), u32::from(channel == 0));
        if channel == 0 { change(inst) } else { inst }
    };
    (0..4).map(own).collect()
}

/// Three slots, each with both dwords of a double; Y has the result.
fn function(op: Op, change: &dyn Fn(Inst) -> Inst) -> Vec<Inst> {
    let own = |channel: u32| {
        let inst = reading(reading(slot(op, channel), 0, 0, 1), 1, 0, 0);
        with(change(inst), F::WriteMask, u32::from(channel == 1))
    };
    (0..3).map(own).collect()
}

/// Doubles.
pub(super) fn double_tests(builder: &mut Builder) {
    for &op in Op::ALL {
        let row = op.row();
        let is_function = reference::DOUBLE_FUNCTIONS.iter().any(|(name, _)| *name == row.name);
        let slots: fn(Op, &dyn Fn(Inst) -> Inst) -> Vec<Inst> = match row.slots {
            _ if is_function => function,
            Slots::Pair => pairs,
            Slots::All if matches!(op, Op::Mul64 | Op::Mul64R700 | Op::Fma64) => of_four,
            Slots::All if op == Op::Frexp64 => parts,
            _ => continue,
        };
        let sets = special_sets(row, 2 * LANES);
        let all: Vec<usize> = (0..sets).map(|n| doubles(builder, row, Values::Specials(n))).collect();
        let random: Vec<usize> = (0..3).map(|n| doubles(builder, row, Values::Random(n))).collect();
        // Modes of both kinds of floats.
        let narrows = matches!(op, Op::Flt64ToFlt32 | Op::Flt64ToFlt32R700);
        let place = |mode: u32| if narrows { mode } else { mode << 4 };
        let test = |builder: &mut Builder, mode: u32, set: usize, change: &dyn Fn(Inst) -> Inst| {
            add(builder, place(mode), set, &[], &[group(&slots(op, change), &[])]);
        };
        let is_mode_free = op == Op::Flt32ToFlt64 || op == Op::Flt32ToFlt64R700;
        // Instructions of four slots read one pair of a register at a time.
        let reads_half = matches!(op, Op::Mul64 | Op::Mul64R700 | Op::Fma64);
        for set in &all {
            for mode in if is_mode_free { 0..1 } else { 0..16 } {
                test(builder, mode, *set, &|inst| inst);
                if reads_half {
                    let second: Vec<Inst> = slots(op, &|inst| inst).into_iter().map(of_second_pair).collect();
                    add(builder, place(mode), *set, &[], &[group(&second, &[])]);
                }
            }
        }
        for (n, set) in random.iter().enumerate() {
            for mode in MODES {
                test(builder, (mode + n as u32) % 16, *set, &|inst| inst);
            }
        }
        let modifiers =
            source_modifiers(row).into_iter().filter(|(neg, abs)| !is_function || (neg | abs) & !1 == 0);
        for (n, modifiers) in modifiers.enumerate() {
            test(builder, MODES[n % 4], random[n % 3], &|inst| modified(inst, modifiers));
        }
        let outputs = if op == Op::Frexp64 { Vec::new() } else { output_modifiers(row) };
        for (n, modifiers) in outputs.into_iter().enumerate() {
            for (mode, set) in MODES.into_iter().zip(random.iter().chain(&all)) {
                test(builder, (mode + 4 * n as u32) % 16, *set, &|inst| scaled(inst, modifiers));
            }
        }
        if row.has(Flag::Predicate) {
            for (n, set) in random.iter().chain(&all).enumerate() {
                let pair = &pairs(op, &|inst| inst)[..2];
                double_masks(builder, pair, place(MODES[n % 4]), *set);
            }
        }
    }
}

/// The predicate and the active lanes after a comparison of doubles.
fn double_masks(builder: &mut Builder, pair: &[Inst], mode: u32, set: usize) {
    for fields in [&[F::UpdatePred][..], &[F::UpdateExecMask]] {
        let first = fields.iter().fold(pair[0], |inst, field| with(inst, *field, 1));
        let moves = with(with(Inst::new(Op::Mov), F::Src0Sel, 249), F::DstGpr, 5);
        let copies = group(&[with(moves, F::PredSel, 3)], &[]);
        let groups = [group(&[first, pair[1]], &[]), copies];
        let count = if fields == [F::UpdatePred] { 2 } else { 1 };
        add(builder, mode, set, &[], &groups[..count]);
    }
}

/// Instructions of ALU slots that no file has.
pub(super) fn uncovered<'a>(tests: impl Iterator<Item = &'a Test>) -> Vec<Op> {
    let mut covered = std::collections::BTreeSet::new();
    for test in tests.filter(|test| test.kind == Kind::Clause) {
        let bytes: Vec<u8> = test.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut rest = &bytes[..];
        while let Ok(group) = decode_group(rest) {
            covered.extend(group.slots.iter().flatten().map(|slot| slot.row().name));
            rest = &rest[group.size..];
        }
    }
    let formats = [Format::Op2, Format::Op2Mova, Format::Op3, Format::Lds];
    let all = Op::ALL.iter().copied().filter(|op| formats.contains(&op.row().format));
    all.filter(|op| !covered.contains(op.row().name)).collect()
}
