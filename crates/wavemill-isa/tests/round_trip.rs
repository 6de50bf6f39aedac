//! Decoded instructions can be rebuilt from their operands and modifiers, which gives the same
//! machine words.

use wavemill_isa::Target;
use wavemill_isa::gcn::{
    BuildError, Encoding, FieldId, Inst, Modifiers, Op, Operand, OperandFault, Role, Space, Special, decode,
};
use wavemill_oracle::{Filler, SplitMix64};

/// Rebuilds the instruction from the operands and modifiers of `inst`.
fn rebuild(inst: &Inst) -> Result<Inst, BuildError> {
    let builder = Inst::build(inst.target(), inst.op(), inst.encoding())?.modifiers(inst.modifiers());
    inst.operands().fold(builder, |builder, (spec, operand)| builder.operand(spec.role, operand)).finish()
}

/// The words as one number, without the bits that the hardware ignores in this instance.
fn meaning(inst: &Inst) -> u128 {
    let all = inst.words().iter().rev().fold(0, |all, &word| all << 32 | u128::from(word));
    let mut used = inst.form().used;
    let mut drop = |id: FieldId| {
        if let Some(field) = inst.encoding().field(inst.target(), id) {
            used &= !field.mask();
        }
    };
    let m = inst.modifiers();
    // Fields that a mode bit elsewhere in the word turns off.
    match inst.encoding() {
        Encoding::Smem => {
            if !m.soffset_en {
                drop(FieldId::Soffset);
            }
            if m.soffset_en && !m.imm || inst.operand(Role::Offset).is_none() {
                drop(FieldId::Offset);
            } else if !m.imm {
                // A register number in the low bits of OFFSET.
                let offset =
                    inst.encoding().field(inst.target(), FieldId::Offset).expect("SMEM has an offset");
                used &= !(offset.mask() & !(0x7F << offset.lo));
            }
        }
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Flat | Encoding::Mimg | Encoding::Ds => {
            if inst.operand(Role::Vaddr) == Some(Operand::Off) {
                drop(FieldId::Vaddr);
            }
            if inst.operand(Role::Vdata).is_none() {
                drop(FieldId::Vdata);
            }
            if inst.operand(Role::Vdst).is_none() {
                drop(FieldId::Vdst);
            }
        }
        Encoding::VopcSdwa if m.sdwa.is_some_and(|sdwa| !sdwa.named_sdst) => drop(FieldId::Sdst),
        _ => {}
    }
    let literal = match inst.size() - usize::from(inst.encoding().bytes()) {
        0 => 0,
        _ => u128::from(u32::MAX) << (8 * inst.encoding().bytes()),
    };
    all & (used | literal)
}

/// Whether every SGPR tuple starts at a register that its size allows. Misaligned tuples decode
/// (LLVM prints the aligned tuple below), but the builder rejects them.
fn is_aligned(inst: &Inst) -> bool {
    inst.operands().all(|(spec, operand)| {
        let (first, dwords, base) = match operand {
            Operand::Sgpr { first, dwords } => (first, dwords, 0),
            Operand::Ttmp { first, dwords } => (first, dwords, 108),
            _ => return true,
        };
        let Some(id) = inst.encoding().field_of(spec.role) else { return true };
        let unit = match id {
            FieldId::Sbase => 2,
            FieldId::Srsrc | FieldId::Ssamp => 4,
            _ => 1,
        };
        dwords == 1 || inst.field(id).map(|value| value * unit) == Some(u32::from(first) + base)
    })
}

#[test]
fn every_decoded_word_can_be_built() {
    let mut built = 0;
    for target in Target::GCN {
        for &space in Space::ALL {
            let mut filler = Filler::new(target as u64 * 100 + space as u64);
            for word in crate::support::words(target, space, 48, &mut filler) {
                let Ok(inst) = decode(target, &word) else { continue };
                let (bytes, size) = inst.encode();
                assert_eq!(bytes[..size], word[..size], "{inst:?}");
                if !is_aligned(&inst) {
                    continue;
                }
                let again = rebuild(&inst).unwrap_or_else(|error| panic!("{inst:?}: {error}"));
                assert_eq!(again.size(), inst.size(), "{inst:?}\n{again:?}");
                assert_eq!(meaning(&again), meaning(&inst), "{inst:?}\n{again:?}");
                let same_operands = inst.operands().eq(again.operands());
                assert!(same_operands, "{inst:?}\n{again:?}");
                assert_eq!(inst.row() as *const _, again.row() as *const _);
                built += 1;
            }
        }
    }
    assert!(built > 200_000, "only {built} words decoded");
}

#[test]
fn any_bytes_decode_or_fail() {
    let mut random = SplitMix64::new(5);
    for _ in 0..200_000 {
        let mut bytes = [0u8; 24];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let length = random.below(25) as usize;
        for target in Target::GCN {
            if let Ok(inst) = decode(target, &bytes[..length]) {
                assert!(inst.size() <= length, "{inst:?}");
                // No accessor of an instance panics.
                assert!(inst.operands().count() <= inst.row().operands.len());
                let _ = (inst.modifiers(), inst.literal(), inst.reads(), inst.writes(), format!("{inst:?}"));
            }
        }
    }
}

#[test]
fn missing_bytes_are_asked_for() {
    use wavemill_isa::gcn::DecodeError::Truncated;
    // s_mov_b32 s0, 0x12345678, cut at every length.
    let bytes = [0xff, 0x00, 0x80, 0xbe, 0x78, 0x56, 0x34, 0x12];
    for length in 0..8 {
        let needed = if length < 4 { 4 } else { 8 };
        assert_eq!(decode(Target::Gfx906, &bytes[..length]), Err(Truncated { needed }), "{length} bytes");
    }
    // The first half of a scaled matrix pair is an instruction; the pair is another.
    let pair =
        [0x00, 0x00, 0xac, 0xd3, 0x00, 0x03, 0x02, 0x18, 0x00, 0x08, 0xad, 0xd3, 0x00, 0x11, 0x42, 0x04];
    assert_eq!(decode(Target::Gfx950, &pair[..8]).map(|inst| inst.op()), Ok(Op::VMfmaLdScaleB32));
    assert_eq!(decode(Target::Gfx950, &pair).map(|inst| inst.size()), Ok(16));
    assert!(decode(Target::Gfx942, &pair).is_err());
}

const V0: Operand = Operand::Vgpr { first: 0, dwords: 1 };
const V1: Operand = Operand::Vgpr { first: 1, dwords: 1 };

fn add(encoding: Encoding, src0: Operand, src1: Operand) -> Result<Inst, BuildError> {
    Inst::build(Target::Gfx906, Op::VAddF32, encoding)?
        .operand(Role::Vdst, V0)
        .operand(Role::Src0, src0)
        .operand(Role::Src1, src1)
        .finish()
}

fn fault(result: Result<Inst, BuildError>) -> OperandFault {
    match result {
        Err(BuildError::Operand { fault, .. }) => fault,
        other => panic!("expected a bad operand, got {other:?}"),
    }
}

#[test]
fn builds_what_the_assembler_builds() {
    let inst = add(Encoding::Vop2, Operand::Literal(0x1234_5678), V1).expect("a literal is legal in VOP2");
    assert_eq!(inst.words(), &[0x0200_02ff, 0x1234_5678, 0, 0]);
    let inst =
        add(Encoding::Vop2Sdwa, V1, Operand::Sgpr { first: 3, dwords: 1 }).expect("SDWA takes SGPRs on gfx9");
    assert_eq!((inst.size(), inst.modifiers().sdwa.is_some()), (8, true));
    // v_pk_add_f16 v0, v1, 1.0
    let packed = Inst::build(Target::Gfx906, Op::VPkAddF16, Encoding::Vop3p)
        .expect("gfx906 has it")
        .operand(Role::Vdst, V0)
        .operand(Role::Src0, V1)
        .operand(Role::Src1, Operand::Float(wavemill_isa::gcn::InlineFloat::One))
        .finish()
        .expect("legal");
    assert_eq!(packed.encode().0[..8], [0x00, 0x40, 0x8f, 0xd3, 0x01, 0xe5, 0x01, 0x18]);
}

#[test]
fn says_what_is_wrong_with_an_operand() {
    let sgpr = Operand::Sgpr { first: 1, dwords: 1 };
    assert_eq!(fault(add(Encoding::Vop2, V0, sgpr)), OperandFault::Kind);
    assert_eq!(fault(add(Encoding::Vop3a, Operand::Literal(77), V1)), OperandFault::Kind);
    assert_eq!(fault(add(Encoding::Vop2, Operand::Int(65), V1)), OperandFault::Range);
    let pair = Operand::Vgpr { first: 2, dwords: 2 };
    assert_eq!(fault(add(Encoding::Vop2, pair, V1)), OperandFault::Width { expected: 1, found: 2 });
    let odd = Operand::Sgpr { first: 3, dwords: 2 };
    let mov = Inst::build(Target::Gfx906, Op::SMovB64, Encoding::Sop1).expect("gfx906 has it");
    let even = Operand::Special { reg: Special::VccLo, dwords: 2 };
    assert_eq!(
        fault(mov.operand(Role::Sdst, even).operand(Role::Src0, odd).finish()),
        OperandFault::Alignment(2)
    );
    assert_eq!(
        fault(mov.operand(Role::Sdst, Operand::Int(1)).operand(Role::Src0, even).finish()),
        OperandFault::Kind
    );
    let missing = mov.operand(Role::Sdst, even).finish();
    assert_eq!(missing, Err(BuildError::MissingOperand { op: Op::SMovB64, role: Role::Src0 }));
    let extra = mov.operand(Role::Vdst, V0).finish();
    assert_eq!(extra, Err(BuildError::NoOperand { op: Op::SMovB64, role: Role::Vdst }));
    let agpr = Operand::Agpr { first: 0, dwords: 1 };
    assert_eq!(fault(add(Encoding::Vop2, agpr, V1)), OperandFault::Kind);
}

#[test]
fn says_which_modifier_is_illegal() {
    let modifier = |target, op, encoding, modifiers: Modifiers| {
        Inst::build(target, op, encoding)
            .expect("exists")
            .operand(Role::Vdst, V0)
            .operand(Role::Src0, V1)
            .operand(Role::Src1, V1)
            .modifiers(modifiers)
            .finish()
    };
    let clamp = Modifiers { clamp: true, ..Modifiers::default() };
    let error = modifier(Target::Gfx906, Op::VAndB32, Encoding::Vop3a, clamp);
    assert_eq!(error, Err(BuildError::Modifier { op: Op::VAndB32, field: FieldId::Clamp }));
    let error = modifier(Target::Gfx906, Op::VAddF32, Encoding::Vop2, clamp);
    assert_eq!(error, Err(BuildError::Modifier { op: Op::VAddF32, field: FieldId::Clamp }));
    assert!(modifier(Target::Gfx906, Op::VAddF32, Encoding::Vop3a, clamp).is_ok());
    let none = Inst::build(Target::Gfx906, Op::VMovB64, Encoding::Vop1).map(|_| ());
    assert_eq!(
        none,
        Err(BuildError::NoForm { op: Op::VMovB64, target: Target::Gfx906, encoding: Encoding::Vop1 })
    );
}
