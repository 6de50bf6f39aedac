//! Known encodings, decoded by hand.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Access, Encoding, InlineFloat, Op, Operand, Role, Special, decode};

fn inst(target: Target, bytes: &[u8]) -> wavemill_isa::gcn::Inst {
    decode(target, bytes).unwrap_or_else(|error| panic!("{target} {bytes:02x?}: {error}"))
}

fn operands(target: Target, bytes: &[u8]) -> Vec<(Role, Operand)> {
    inst(target, bytes).operands().map(|(spec, operand)| (spec.role, operand)).collect()
}

const fn v(first: u8) -> Operand {
    Operand::Vgpr { first, dwords: 1 }
}

const fn s(first: u8, dwords: u8) -> Operand {
    Operand::Sgpr { first, dwords }
}

#[test]
fn packed_add_with_inline_constant() {
    // v_pk_add_f16 v0, v1, 1.0
    let bytes = [0x00, 0x40, 0x8f, 0xd3, 0x01, 0xe5, 0x01, 0x18];
    let inst = inst(Target::Gfx906, &bytes);
    assert_eq!((inst.op(), inst.encoding(), inst.size()), (Op::VPkAddF16, Encoding::Vop3p, 8));
    assert_eq!(inst.operand(Role::Src1), Some(Operand::Float(InlineFloat::One)));
    assert_eq!(inst.modifiers().op_sel_hi, 0b111);
}

#[test]
fn scalar_load_with_negative_offset() {
    // s_load_dword s0, s[2:3], -4
    assert_eq!(
        operands(Target::Gfx906, &[0x01, 0x00, 0x02, 0xc0, 0xfc, 0xff, 0x1f, 0x00]),
        [(Role::Sdata, s(0, 1)), (Role::Sbase, s(2, 2)), (Role::Offset, Operand::Imm(-4))]
    );
}

#[test]
fn sdwa_compare_names_its_destination() {
    // v_cmp_eq_f32_sdwa s[4:5], v0, v1 src0_sel:BYTE_1 src1_sel:DWORD
    assert_eq!(
        operands(Target::Gfx906, &[0xf9, 0x02, 0x84, 0x7c, 0x00, 0x84, 0x01, 0x06]),
        [(Role::Sdst, s(4, 2)), (Role::Src0, v(0)), (Role::Src1, v(1))]
    );
}

#[test]
fn short_carry_forms_show_vcc() {
    // v_addc_co_u32_e32 v0, vcc, v1, v2, vcc
    let vcc = Operand::Special { reg: Special::VccLo, dwords: 2 };
    assert_eq!(
        operands(Target::Gfx906, &[0x01, 0x05, 0x00, 0x38]),
        [(Role::Vdst, v(0)), (Role::Sdst, vcc), (Role::Src0, v(1)), (Role::Src1, v(2)), (Role::Src2, vcc)]
    );
}

#[test]
fn matrix_accumulates_in_accvgprs() {
    // v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]
    let bytes = [0x00, 0x00, 0xc0, 0xd3, 0x00, 0x03, 0x02, 0x04];
    let acc = Operand::Agpr { first: 0, dwords: 32 };
    assert_eq!(
        operands(Target::Gfx908, &bytes),
        [(Role::Vdst, acc), (Role::Src0, v(0)), (Role::Src1, v(1)), (Role::Src2, acc)]
    );
    assert_eq!(inst(Target::Gfx908, &bytes).mnemonic(), "v_mfma_f32_32x32x1f32");
    assert_eq!(inst(Target::Gfx942, &bytes).mnemonic(), "v_mfma_f32_32x32x1_2b_f32");
}

#[test]
fn global_load_offset_is_signed() {
    // global_load_dword v0, v[1:2], off offset:-4096
    let bytes = [0x00, 0x90, 0x50, 0xdc, 0x01, 0x00, 0x7f, 0x00];
    assert_eq!(
        operands(Target::Gfx906, &bytes),
        [
            (Role::Vdst, v(0)),
            (Role::Vaddr, Operand::Vgpr { first: 1, dwords: 2 }),
            (Role::Saddr, Operand::Off)
        ]
    );
    assert_eq!(inst(Target::Gfx906, &bytes).modifiers().offset, -4096);
}

#[test]
fn literal_is_part_of_the_instruction() {
    // s_mov_b32 s0, 0x12345678
    let bytes = [0xff, 0x00, 0x80, 0xbe, 0x78, 0x56, 0x34, 0x12];
    let inst = inst(Target::Gfx950, &bytes);
    assert_eq!((inst.size(), inst.literal()), (8, Some(0x1234_5678)));
    assert_eq!(inst.row().operand(Role::Sdst).map(|spec| spec.access), Some(Access::Write));
    let (encoded, size) = inst.encode();
    assert_eq!(&encoded[..size], &bytes);
}

#[test]
fn sources_of_more_than_64_bits_are_vector_registers() {
    // v_mqsad_u32_u8 v[0:3], v[4:5], v6, SRC2
    let with_src2 = |code: u32| {
        let words = [0xd1e7_0000, 260 | 262 << 9 | code << 18];
        words.map(u32::to_le_bytes).concat()
    };
    let found = operands(Target::Gfx906, &with_src2(256 + 8));
    assert_eq!(found[3], (Role::Src2, Operand::Vgpr { first: 8, dwords: 4 }));
    for scalar in [0, 8, 106, 128, 133, 193, 240, 255] {
        assert!(decode(Target::Gfx906, &with_src2(scalar)).is_err(), "code {scalar}");
    }
}

/// Codes and texts of special registers convert both ways, alone and as pairs.
#[test]
fn special_registers_have_one_code_and_one_text() {
    for &reg in Special::ALL {
        assert_eq!(Special::from_code(reg.code()), Some(reg));
        assert_eq!(Special::from_name(reg.name()), Some(reg));
        assert_eq!(reg.pair_name().map(Special::from_pair_name), reg.is_pair().then_some(Some(reg)));
    }
    assert_eq!(Special::from_code(128), None);
    assert_eq!(Special::from_pair_name("vcc_hi"), None);
    let pairs = Special::ALL.iter().filter(|reg| reg.pair_name().is_some_and(|pair| pair != reg.name()));
    let pairs: Vec<_> = pairs.filter_map(|reg| Some((reg.code(), reg.pair_name()?))).collect();
    assert_eq!(pairs, [(102, "flat_scratch"), (104, "xnack_mask"), (106, "vcc"), (126, "exec")]);
}
