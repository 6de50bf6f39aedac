//! All words lift to a well-formed block or to a fault, without a panic.

use wavemill_ir::{FaultKind, Terminator};
use wavemill_isa::cayman::{FieldId, Format, Inst, Op, Slots};
use wavemill_isa::gcn::Fidelity;
use wavemill_lift::cayman::Position;
use wavemill_oracle::SplitMix64;

use super::machine::{CODE, MODE, lift};

/// A program that reaches the instruction: alone, or as the only one of a clause.
fn program(inst: &Inst) -> Vec<u8> {
    let (bytes, size) = inst.encode();
    let format = inst.format();
    if format.is_control() {
        return bytes[..size].to_vec();
    }
    let call = Inst::new(match format {
        _ if format.is_alu() => Op::Alu,
        _ if format.is_gds() => Op::Gds,
        _ => Op::Tex,
    });
    let call = call.with(FieldId::Addr, 2).expect("it fits");
    let slots = slots(inst);
    let words = slots.len().max(1) as u32;
    let call = call.with(FieldId::Count, words - 1).expect("it fits");
    let mut all = call.encode().0[..8].to_vec();
    all.extend([0; 8]);
    if slots.is_empty() {
        all.extend(&bytes[..size]);
    }
    slots.iter().for_each(|slot| all.extend(&slot.encode().0[..8]));
    all
}

/// The slots of a group with an ALU instruction: as many as it takes, and the one whose result it
/// continues. Empty for other instructions.
fn slots(inst: &Inst) -> Vec<Inst> {
    let row = inst.row();
    if !inst.format().is_alu() {
        return Vec::new();
    }
    let own = inst.get(FieldId::DstChan) as u8;
    let channels = match row.slots {
        Slots::All => vec![0, 1, 2, 3],
        Slots::Three => vec![0, 1, 2],
        Slots::Pair => vec![own & 2, own | 1],
        Slots::Xy => vec![0, 1],
        Slots::Zw => vec![2, 3],
        _ => vec![own],
    };
    let mut slots: Vec<(u8, Inst)> = channels.into_iter().map(|channel| (channel, *inst)).collect();
    if let Some(channel) = row.chain.and_then(|chain| chain.producer(own)) {
        let producers = [Op::Mul, Op::BcntInt, Op::Mbcnt32hiInt, Op::SadAccumUint];
        let producer = producers.into_iter().find(|producer| inst.op().continues(*producer));
        slots.push((channel, Inst::new(producer.expect("a producer"))));
    }
    let last = slots.len() - 1;
    let field = |inst: Inst, id, value: u32| inst.with(id, value).unwrap_or(inst);
    let placed = |(index, (channel, slot)): (usize, (u8, Inst))| {
        let slot = field(slot, FieldId::DstChan, channel.into());
        // Slots of an interpolation without a result.
        let has_result = match slot.op() {
            Op::InterpXy => channel < 2,
            Op::InterpZw => channel >= 2,
            Op::InterpX | Op::InterpZ => channel % 2 == 0,
            _ => true,
        };
        let slot = if has_result { slot } else { field(slot, FieldId::WriteMask, 0) };
        if index == last {
            field(slot, FieldId::Last, 1)
        } else if index < last && last > 0 {
            field(slot, FieldId::Last, 0)
        } else {
            slot
        }
    };
    slots.into_iter().enumerate().map(placed).collect()
}

/// An instruction with what it needs to have a meaning.
fn completed(inst: Inst) -> Inst {
    let fields: &[(FieldId, u32)] = match inst.op() {
        // A table behind the word.
        Op::Jumptable => &[(FieldId::Addr, 2)],
        // Parameters.
        op if op.is_interpolation() => &[(FieldId::Src1Sel, 448)],
        Op::InterpLoadP0 | Op::InterpLoadP10 | Op::InterpLoadP20 => &[(FieldId::Src0Sel, 448)],
        // The local mode.
        Op::SetLdsSize => &[(FieldId::Src1Sel, 248)],
        // It returns nothing.
        Op::TexKeepGradients => {
            &[(FieldId::DstSelX, 7), (FieldId::DstSelY, 7), (FieldId::DstSelZ, 7), (FieldId::DstSelW, 7)]
        }
        Op::GdsAtomicOrderedAllocRet => &[(FieldId::BcastFirstReq, 1)],
        // MEM_RAT_COMBINED_CACHELESS: the index is in the data.
        op if op.row().format == Format::Rat && op.row().code == 92 => &[(FieldId::Type, 0)],
        _ => &[],
    };
    fields.iter().fold(inst, |inst, (field, value)| inst.with(*field, *value).expect("it fits"))
}

#[test]
fn every_row_has_the_meaning_that_it_says() {
    for &op in Op::ALL {
        let inst = Inst::new(op);
        let inst = inst.with(FieldId::Last, 1).unwrap_or(inst);
        let inst = inst.with(FieldId::CompMask, 1).unwrap_or(inst);
        let inst = inst.with(FieldId::DataFormat, 34).unwrap_or(inst);
        let inst = completed(inst);
        // In a clause the position of its first word.
        let word = if op.row().format.is_control() { None } else { Some(0) };
        let block = lift(&program(&inst), Position { control: CODE, word }.number(), MODE, true);
        let supported = block.terminator != Terminator::Fault(FaultKind::Unsupported);
        assert_eq!(supported, op.row().fidelity != Fidelity::Unsupported, "{inst:?}");
    }
}

/// ALU instructions that have no operation: one does nothing, one ends a block at which waves wait for
/// each other, and one changes the modes under which the rest of the clause is lifted.
const WITHOUT_OPERATIONS: [Op; 3] = [Op::Nop, Op::GroupBarrier, Op::SetMode];

/// Each row with a meaning has it in some of the instances, whatever their other fields are.
#[test]
fn instructions_with_random_fields_lift() {
    let mut random = SplitMix64::new(1);
    let mut without = Vec::new();
    for &op in Op::ALL {
        let own = Position { control: CODE, word: (!op.row().format.is_control()).then_some(0) }.number();
        let mut meanings = 0;
        for _ in 0..2_000 {
            // Another opcode would be another row.
            let format = op.row().format;
            let opcode = [format.opcode(), format.sub_opcode()];
            let fields = format.fields().iter().filter(|field| !opcode.contains(&Some(field.id)));
            let inst = fields.fold(Inst::new(op), |inst, field| {
                let value = match random.below(8) {
                    0 => random.next_u64() as u32 & field.max(),
                    _ => field.default,
                };
                inst.with(field.id, value).unwrap_or(inst)
            });
            let is_completed = random.below(2) == 0;
            // A word that never runs does nothing, nor does an access without components.
            let whole = |inst: Inst| {
                let inst = inst.with(FieldId::CompMask, 1).unwrap_or(inst);
                inst.with(FieldId::Cond, 0).unwrap_or(inst)
            };
            let inst = if is_completed { whole(completed(inst)) } else { inst };
            let bytes = program(&inst);
            let other = Position { control: CODE, word: Some(random.below(3) as u8) }.number();
            for position in [own, CODE, other] {
                lift(&bytes, position, random.next_u64() as u32, random.below(2) == 0);
            }
            if is_completed {
                let block = lift(&bytes, own, MODE, true);
                let is_refused = matches!(
                    block.terminator,
                    Terminator::Fault(FaultKind::Unsupported | FaultKind::IllegalInstruction)
                );
                // A group with a predicate is behind a branch or left out, with or without a meaning.
                let is_left_out = format.is_alu()
                    && !WITHOUT_OPERATIONS.contains(&op)
                    && (block.insts.is_empty() || matches!(block.terminator, Terminator::Branch { .. }));
                meanings += usize::from(!is_refused && !is_left_out);
            }
        }
        if op.row().fidelity != Fidelity::Unsupported && meanings == 0 {
            without.push(op.row().name);
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn random_bytes_lift() {
    let mut random = SplitMix64::new(2);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = (0..16).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        if random.below(2) == 0 {
            // A clause of random words.
            let call = Inst::new(if random.below(2) == 0 { Op::Alu } else { Op::Tex });
            let call = call.with(FieldId::Addr, random.below(16) as u32).expect("it fits");
            let call = call.with(FieldId::Count, random.below(16) as u32).expect("it fits");
            bytes[..8].copy_from_slice(&call.encode().0[..8]);
        }
        let position = match random.below(3) {
            0 => random.next_u64(),
            1 => Position { control: CODE, word: Some(random.below(20) as u8) }.number(),
            _ => CODE,
        };
        lift(&bytes, position, MODE, false);
    }
}
