//! Microcode words of Cayman: LLVM's encodings decode to the expected fields, and any bytes decode
//! without a panic.

mod ports;
mod program;
mod rows;
mod rules;

use wavemill_isa::cayman::{
    DecodeError, FieldError, FieldId as F, Format, GroupError, Inline, Inst, Op, Source, decode_control,
    decode_fetch, decode_gds, decode_group, decode_slot,
};
use wavemill_isa::{Family, Target, gcn};

/// A word with fields set.
fn word(op: Op, fields: &[(F, u32)]) -> Inst {
    fields.iter().fold(Inst::new(op), |inst, (id, value)| inst.with(*id, *value).expect("it fits"))
}

/// Encodings of control flow from `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding`, with the
/// fields of HD 6900 ISA 9.1.
#[test]
fn control_words_are_those_of_llvm() {
    let window = [(F::KcacheBank0, 1), (F::KcacheMode0, 2), (F::KcacheBank1, 2), (F::KcacheMode1, 2)];
    for (bytes, inst) in [
        // ALU 1, @10, KC0[CB1:0-32], KC1[CB2:0-32]
        (
            [0x0a, 0x00, 0x40, 0x88, 0x02, 0x00, 0x04, 0xa0],
            word(Op::Alu, &[&window[..], &[(F::Addr, 10), (F::Count, 1)]].concat()),
        ),
        // TEX 0 @14
        ([0x0e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x80], word(Op::Tex, &[(F::Addr, 14)])),
        // CF_END
        ([0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x88], word(Op::CfEnd, &[])),
        // MEM_RAT_CACHELESS STORE_DWORD T2.X, T3.X
        (
            [0x40, 0x21, 0x81, 0x01, 0x00, 0x10, 0xc0, 0x95],
            word(Op::MemRatCachelessStoreDword, &[(F::RwGpr, 2), (F::IndexGpr, 3), (F::CompMask, 1)]),
        ),
    ] {
        assert_eq!(decode_control(&bytes), Ok(inst));
        assert_eq!(inst.encode().0[..8], bytes);
    }
    // MEM_RAT ATOMIC_ADD T1, T0.X
    let atomic = [0x70, 0xa2, 0x00, 0x00, 0x00, 0xf0, 0x80, 0x95];
    assert_eq!(decode_control(&atomic), Ok(word(Op::MemRatAddRtn, &[(F::RwGpr, 1)])));
    // RAT_INST 2 is reserved.
    let reserved = [0x20, 0xa0, 0x00, 0x00, 0x00, 0xf0, 0x80, 0x95];
    assert_eq!(decode_control(&reserved), Err(DecodeError::Unknown { word: u64::from_le_bytes(reserved) }));
}

#[test]
fn slots_are_those_of_llvm() {
    let slot = |op, fields: &[(F, u32)]| word(op, fields);
    for (bytes, inst, sources) in [
        // MOV * T0.Y, OQAP
        (
            [0xdd, 0x00, 0x00, 0x80, 0x90, 0x0c, 0x00, 0x20],
            slot(Op::Mov, &[(F::Src0Sel, 221), (F::Last, 1), (F::DstChan, 1)]),
            vec![Source::Queue(0, true)],
        ),
        // ADD_INT * T1.X, KC0[2].Z, PV.W
        (
            [0x82, 0xc8, 0x9f, 0x81, 0x10, 0x1a, 0x20, 0x00],
            slot(
                Op::AddInt,
                &[
                    (F::Src0Sel, 130),
                    (F::Src0Chan, 2),
                    (F::Src1Sel, 254),
                    (F::Src1Chan, 3),
                    (F::Last, 1),
                    (F::DstGpr, 1),
                ],
            ),
            vec![Source::Constant(0, 2, 2), Source::PreviousVector(3)],
        ),
        // LDS_READ_RET * OQAP, T1.W
        (
            [0x01, 0x0c, 0x00, 0x80, 0x00, 0x20, 0x42, 0x06],
            slot(Op::LdsReadRet, &[(F::Src0Sel, 1), (F::Src0Chan, 3), (F::Last, 1)]),
            vec![Source::Gpr(1, 3)],
        ),
        // MOV * T0.X, 0.0
        (
            [0xf8, 0x00, 0x00, 0x80, 0x90, 0x0c, 0x00, 0x00],
            slot(Op::Mov, &[(F::Src0Sel, 248), (F::Last, 1)]),
            vec![Source::Inline(Inline::Zero)],
        ),
    ] {
        assert_eq!(decode_slot(&bytes), Ok(inst));
        assert_eq!(inst.encode().0[..8], bytes);
        assert_eq!(inst.sources().map(|(.., source)| source).collect::<Vec<_>>(), sources);
    }
}

/// HD 6900 ISA 9.2: three-source instruction 24 is `ALU_INST` 11000 in bits 17:13 of the second
/// dword.
#[test]
fn three_sources_are_told_from_two() {
    let bytes = (24u64 << 45 | 1 << 31 | 5 << 32 | 4 << 13 | 3).to_le_bytes();
    let inst = decode_slot(&bytes).expect("a slot");
    let sources: Vec<Source> = inst.sources().map(|(.., source)| source).collect();
    assert_eq!((inst.op(), inst.format()), (Op::MuladdIeee, Format::Op3));
    assert_eq!(sources, [Source::Gpr(3, 0), Source::Gpr(4, 0), Source::Gpr(5, 0)]);
}

/// VTX_READ_32 T1.X, T1.X, 16, #1
#[test]
fn fetches_are_those_of_llvm() {
    let bytes = [0x40, 0x01, 0x01, 0x00, 0x01, 0xf0, 0x5f, 0x13, 0x10, 0, 0, 0, 0, 0, 0, 0];
    let masked = [F::DstSelY, F::DstSelZ, F::DstSelW].map(|id| (id, 7));
    let others = [(F::BufferId, 1), (F::SrcGpr, 1), (F::DstGpr, 1), (F::DataFormat, 13), (F::Offset, 16)];
    let inst = word(Op::VtxRead, &[&masked[..], &others].concat());
    assert_eq!(decode_fetch(&bytes), Ok(inst));
    assert_eq!(inst.encode(), (bytes, 16));
}

/// `ADD_INT T0.Z, T0.X, literal.x`, `ADD_INT * T0.W, PV.W, literal.y`, 255 and 3.
#[test]
fn groups_have_slots_by_channel_and_literals() {
    let slot = |channel: u64, select: u64, literal: u64, last: u64| {
        select | 253 << 13 | literal << 23 | last << 31 | 1 << 36 | 52 << 39 | channel << 61
    };
    let words = [slot(2, 0, 0, 0), slot(3, 254, 1, 1), 255 | 3 << 32, u64::MAX];
    let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let group = decode_group(&bytes).expect("a group");
    assert_eq!((group.size, group.literals), (24, [255, 3, 0, 0]));
    assert_eq!(group.slots.map(|slot| slot.is_some()), [false, false, true, true]);
    let cut = Err(GroupError::Slot { at: 20, error: DecodeError::Truncated { needed: 24 } });
    assert_eq!(decode_group(&bytes[..20]), cut);
    let again: Vec<u8> = [words[0], words[0]].iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(decode_group(&again), Err(GroupError::Order { at: 8 }));
    // A literal z needs both pairs, even in a field that the instruction does not use (HD 6900 ISA
    // 4.7.1).
    let mov: u64 = 1 << 31 | 25 << 39 | 253 << 13 | 2 << 23;
    let bytes: Vec<u8> = [mov, 0, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
    let group = decode_group(&bytes).expect("a group");
    assert_eq!((group.size, group.literals), (24, [0, 0, 7, 0]));
}

#[test]
fn fields_refuse_what_they_cannot_hold() {
    let mov = Inst::new(Op::Mov);
    let too_large = FieldError::TooLarge { field: F::DstGpr, value: 128, max: 127 };
    assert_eq!(mov.with(F::DstGpr, 128), Err(too_large));
    assert_eq!(mov.with(F::Addr, 1), Err(FieldError::NoField { field: F::Addr, format: Format::Op2 }));
    assert_eq!(mov.with(F::AluInst, 1), Err(FieldError::Opcode { field: F::AluInst }));
}

#[test]
fn rows_come_back() {
    for &op in Op::ALL {
        let inst = Inst::new(op);
        let (bytes, size) = inst.encode();
        let back = match op.row().format {
            format if format.is_control() => decode_control(&bytes[..size]),
            format if format.is_alu() => decode_slot(&bytes[..size]),
            format if format.is_gds() => decode_gds(&bytes[..size]),
            _ => decode_fetch(&bytes[..size]),
        };
        assert_eq!(back, Ok(inst));
        assert_eq!(Op::from_name(op.row().name), Some(op));
        assert!(op.row().aliases.iter().all(|alias| Op::from_name(alias) == Some(op)));
    }
    assert_eq!(Op::from_name("TC"), Some(Op::Tex));
}

/// Random words, about half of them with known opcodes: decoding loses no bits.
#[test]
fn any_bytes_are_read_and_come_back() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut known = 0;
    for _ in 0..20_000 {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&random().to_le_bytes());
        }
        let op = Op::ALL[random() as usize % Op::ALL.len()];
        if random() & 1 == 0 {
            let format = op.row().format;
            let opcode = format.opcode().and_then(|id| format.field(id)).expect("a field");
            let mut word =
                opcode.set(u128::from_le_bytes(bytes[..16].try_into().unwrap()), op.row().code.into());
            if let Some(sub) = format.sub_opcode().and_then(|id| format.field(id)) {
                word = sub.set(word, op.row().sub_code.into());
            }
            bytes[..16].copy_from_slice(&word.to_le_bytes());
        }
        let length = random() as usize % 33;
        let decoders = [decode_control, decode_slot, decode_fetch, decode_gds];
        for inst in decoders.iter().filter_map(|decode| decode(&bytes[..length]).ok()) {
            known += 1;
            let (back, size) = inst.encode();
            assert_eq!(back[..size], bytes[..size]);
            assert!(back[size..].iter().all(|byte| *byte == 0));
        }
        let _ = decode_group(&bytes[..length]);
        // A target outside of GCN has no GCN instructions.
        assert!(gcn::decode(Target::Cayman, &bytes[..length]).is_err());
    }
    assert!(known > 5_000, "{known}");
}

#[test]
fn families_have_targets_of_their_own() {
    assert_eq!(Target::from_name("cayman").map(Target::family), Some(Family::Cayman));
    assert!(Target::GCN.iter().all(|target| target.family() == Family::Gcn));
    assert!(!Family::Gcn.targets().contains(Target::Cayman));
    assert_eq!(Target::ALL.map(Target::index), [0, 1, 2, 3, 4, 5, 6]);
    assert!(gcn::Op::ALL.iter().all(|op| !op.row().targets.contains(Target::Cayman)));
}
