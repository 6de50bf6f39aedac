//! Bank swizzles: the search finds one if there is one, compared with a check written from the text
//! of HD 6900 ISA 4.7.7.

use std::collections::BTreeMap;

use wavemill_isa::cayman::{FieldId as F, Group, Inst, Op, Rule, decode_group, search_bank_swizzles};
use wavemill_oracle::SplitMix64;

use super::word;

/// The cycles of VEC_012 and the others: of the first source, the second and the third.
const ORDERS: [&str; 6] = ["012", "021", "120", "102", "201", "210"];

pub(crate) fn group(slots: &[Inst]) -> Group {
    let count = slots.len();
    let mut bytes = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let slot = slot.with(F::Last, u32::from(index + 1 == count)).expect("it fits");
        bytes.extend(&slot.encode().0[..8]);
    }
    // Literals, if there are any.
    bytes.extend([0; 16]);
    decode_group(&bytes).expect("a group")
}

/// Whether no cycle reads two registers of one channel.
fn is_free(group: &Group, swizzles: [u32; 4]) -> bool {
    let mut ports: BTreeMap<(char, u32), (u32, u32)> = BTreeMap::new();
    for (slot, swizzle) in group.slots.iter().zip(swizzles) {
        let Some(slot) = slot else { continue };
        let fields = [
            (F::Src0Sel, F::Src0Chan, F::Src0Rel),
            (F::Src1Sel, F::Src1Chan, F::Src1Rel),
            (F::Src2Sel, F::Src2Chan, F::Src2Rel),
        ];
        let all: Vec<(u32, u32, u32)> = fields
            .iter()
            .take(slot.row().sources.len())
            .map(|(select, channel, relative)| (slot.get(*select), slot.get(*channel), slot.get(*relative)))
            .collect();
        for (index, (select, channel, relative)) in all.iter().enumerate() {
            if *select > 127 || (index == 1 && all[0] == all[1]) {
                continue;
            }
            let cycle = ORDERS[swizzle as usize].as_bytes()[index] as char;
            let wanted = (*select, *relative);
            if *ports.entry((cycle, *channel)).or_insert(wanted) != wanted {
                return false;
            }
        }
    }
    true
}

fn any_free(group: &Group) -> bool {
    (0..6u32.pow(4)).any(|number| is_free(group, [number % 6, number / 6 % 6, number / 36 % 6, number / 216]))
}

fn random_group(random: &mut SplitMix64) -> Group {
    let mut slots = Vec::new();
    let (registers, lanes) = (1 + random.below(6), 1 + random.below(4));
    for channel in 0..4 {
        if random.below(5) == 0 && !(channel == 3 && slots.is_empty()) {
            continue;
        }
        let ops = [Op::Mov, Op::Add, Op::Muladd, Op::CndeInt, Op::MulIeee];
        let mut inst = word(ops[random.below(5) as usize], &[(F::DstChan, channel)]);
        let sources = [
            (F::Src0Sel, F::Src0Chan, F::Src0Rel),
            (F::Src1Sel, F::Src1Chan, F::Src1Rel),
            (F::Src2Sel, F::Src2Chan, F::Src2Rel),
        ];
        for (select, lane, relative) in sources {
            let code = match random.below(8) {
                0 => 254,
                1 if lanes > 2 => 248,
                _ => random.below(registers) as u32,
            };
            let rel = u32::from(random.below(12) == 0);
            for (id, value) in [(select, code), (lane, random.below(lanes) as u32), (relative, rel)] {
                // Words with two sources have no third.
                inst = inst.with(id, value).unwrap_or(inst);
            }
        }
        slots.push(inst);
    }
    group(&slots)
}

#[test]
fn swizzles_are_found_if_there_are_any() {
    let mut random = SplitMix64::new(72);
    let (mut found, mut none) = (0, 0);
    for _ in 0..4_000 {
        let group = random_group(&mut random);
        match search_bank_swizzles(&group) {
            Some(swizzles) => {
                assert!(is_free(&group, swizzles), "{group:?}: {swizzles:?}");
                found += 1;
            }
            None => {
                assert!(!any_free(&group), "{group:?}");
                none += 1;
            }
        }
    }
    assert!(found > 500 && none > 500, "{found} with, {none} without");
}

/// The rule reports a group exactly if its own swizzles need a port twice.
#[test]
fn read_ports_are_checked() {
    let mut random = SplitMix64::new(73);
    let mut broken = 0;
    for _ in 0..4_000 {
        let group = random_group(&mut random);
        let swizzles: [u32; 4] = std::array::from_fn(|_| random.below(6) as u32);
        let mut with = group;
        for (slot, swizzle) in with.slots.iter_mut().zip(swizzles) {
            *slot = slot.map(|slot| slot.with(F::BankSwizzle, swizzle).expect("it fits"));
        }
        let reported = with.broken_rules().iter().any(|broken| matches!(broken.rule, Rule::ReadPort { .. }));
        assert_eq!(reported, !is_free(&with, swizzles), "{with:?}");
        broken += usize::from(reported);
    }
    assert!((500..3_500).contains(&broken), "{broken}");
}

/// The examples of HD 6900 ISA 4.7.7: registers and channels of the sources, with the swizzle of each
/// slot.
#[test]
fn examples_of_the_manual() {
    let slot = |channel, sources: &[(u32, u32)], swizzle| {
        let op = if sources.len() == 3 { Op::Muladd } else { Op::Mul };
        let fields = [(F::Src0Sel, F::Src0Chan), (F::Src1Sel, F::Src1Chan), (F::Src2Sel, F::Src2Chan)];
        let inst = word(op, &[(F::DstChan, channel), (F::BankSwizzle, swizzle)]);
        fields.iter().zip(sources).fold(inst, |inst, ((select, lane), (register, channel))| {
            inst.with(*select, *register).unwrap().with(*lane, *channel).unwrap()
        })
    };
    let (x, y) = (0, 1);
    for (slots, legal) in [
        // R1.X * R2.X + R1.X and R1.Y * R2.Y + R1.Y.
        (vec![slot(0, &[(1, x), (2, x), (1, x)], 0), slot(1, &[(1, y), (2, y), (1, y)], 0)], true),
        // Squares need one port.
        (vec![slot(0, &[(1, x), (1, x)], 0), slot(1, &[(1, y), (1, y)], 2)], true),
        (
            vec![slot(0, &[(1, x), (1, x)], 0), slot(1, &[(1, y), (1, y)], 3), slot(2, &[(2, y), (2, x)], 0)],
            true,
        ),
        // R1.X, R3.X and R2.X in one cycle.
        (
            vec![slot(0, &[(1, x), (2, x)], 0), slot(1, &[(3, x), (1, y)], 0), slot(2, &[(2, x), (1, y)], 0)],
            false,
        ),
        (
            vec![slot(0, &[(1, x), (2, x)], 0), slot(1, &[(3, x), (1, y)], 4), slot(2, &[(2, x), (1, y)], 3)],
            true,
        ),
    ] {
        let group = group(&slots);
        let broken = group.broken_rules();
        let ports = broken.iter().any(|broken| matches!(broken.rule, Rule::ReadPort { .. }));
        assert_eq!(ports, !legal, "{group:?}: {broken:?}");
        assert!(search_bank_swizzles(&group).is_some());
    }
}
