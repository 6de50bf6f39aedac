//! Additions of encodings to a vector instruction - SDWA selects, lane permutations, half selects,
//! signs of untyped sources - against a model of each, on every tier of the interpreter, under EXEC
//! with holes.

mod constants;

use crate::common::Machine;
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Dpp, DstUnused, Encoding, InlineFloat, Inst, InstBuilder, Modifiers, Op, Operand, Role, Sdwa, SdwaSel,
    Special,
};
use wavemill_lift::gcn::registers;
use wavemill_machine::Registers;

/// Lanes that run.
const EXEC: u64 = 0xf7ff_fffd_0ff0_aa55;
/// A mask source.
const MASK: u64 = 0x3c5a_9966_f0f0_1234;

fn vgpr(first: u8) -> Operand {
    Operand::Vgpr { first, dwords: 1 }
}

fn vgprs(first: u8) -> Operand {
    Operand::Vgpr { first, dwords: 2 }
}

const VCC: Operand = Operand::Special { reg: Special::VccLo, dwords: 2 };

fn start(target: Target, name: &str, encoding: Encoding) -> (InstBuilder, Modifiers) {
    let op = Op::from_name(name).expect("it exists");
    let form = op.row().form(target, encoding).expect("the target has the form");
    (Inst::build(target, op, encoding).expect("the target has the form"), Modifiers::plain(form))
}

/// Words of `name vdst, src0, src1` after `change` has changed the modifiers.
fn binary(
    target: Target,
    name: &str,
    encoding: Encoding,
    [src0, src1]: [Operand; 2],
    change: impl FnOnce(&mut Modifiers),
) -> Vec<u32> {
    let (builder, mut modifiers) = start(target, name, encoding);
    change(&mut modifiers);
    let builder = builder.operand(Role::Vdst, vgpr(2)).operand(Role::Src0, src0).operand(Role::Src1, src1);
    words(builder.modifiers(modifiers))
}

fn words(builder: InstBuilder) -> Vec<u32> {
    match builder.finish() {
        Ok(inst) => inst.words()[..inst.size() / 4].to_vec(),
        Err(error) => panic!("{error}: {builder:?}"),
    }
}

/// Rows v0, v1 and v2 that differ in every byte and lane.
fn rows() -> [[u32; 64]; 3] {
    let mix = |n: u32| n.wrapping_mul(0x9e37_79b9) ^ n.rotate_left(13).wrapping_mul(0x85eb_ca6b);
    [1000, 2000, 3000].map(|base| std::array::from_fn(|lane| mix(base + lane as u32)))
}

fn set(regs: &mut Registers) {
    for (n, row) in rows().iter().enumerate() {
        regs.set_row(registers::vgpr(n as u16), row);
    }
    regs.set_uni64(registers::EXEC, EXEC);
    regs.set_uni64(registers::VCC, MASK);
    regs.set_uni64(Uni(20), MASK);
    regs.set_uni(Uni(30), 0x8765_4321);
}

/// Runs the words and compares v2 with the expected value of each active lane; others must be
/// unchanged.
fn expect(target: Target, code: &[u32], what: &str, expected: impl Fn(usize) -> u32) {
    let outcome = Machine::new(target).run(code, |regs, _| set(regs));
    for lane in 0..64 {
        let active = EXEC >> lane & 1 != 0;
        let expected = if active { expected(lane) } else { rows()[2][lane] };
        let found = outcome.wave.vgprs[2][lane];
        assert_eq!(found, expected, "{what}, lane {lane}: {found:#x} instead of {expected:#x}");
    }
}

const SELECTS: [(SdwaSel, u32, u32); 7] = [
    (SdwaSel::Byte0, 0, 8),
    (SdwaSel::Byte1, 8, 8),
    (SdwaSel::Byte2, 16, 8),
    (SdwaSel::Byte3, 24, 8),
    (SdwaSel::Word0, 0, 16),
    (SdwaSel::Word1, 16, 16),
    (SdwaSel::Dword, 0, 32),
];

fn selected(value: u32, (_, at, width): (SdwaSel, u32, u32), sext: bool) -> u32 {
    let up = value << (32 - width - at);
    if sext { (up as i32 >> (32 - width)) as u32 } else { up >> (32 - width) }
}

/// The destination after `value` was put into a part of `old`.
fn placed(old: u32, value: u32, (_, at, width): (SdwaSel, u32, u32), unused: DstUnused) -> u32 {
    if width == 32 {
        return value;
    }
    let part = ((1u32 << width) - 1) << at;
    let inside = value << at & part;
    match unused {
        DstUnused::Pad => inside,
        DstUnused::Sext => ((inside << (32 - width - at)) as i32 >> (32 - width - at)) as u32,
        _ => old & !part | inside,
    }
}

#[test]
fn sdwa_selects_every_part_of_sources_and_destination() {
    let [a, b, old] = rows();
    for src0 in SELECTS {
        for src1 in SELECTS {
            for sext in 0..4u8 {
                let code = binary(Target::Gfx906, "v_sub_u32", Encoding::Vop2Sdwa, [vgpr(0), vgpr(1)], |m| {
                    let sdwa = m.sdwa.as_mut().expect("SDWA");
                    (sdwa.src0_sel, sdwa.src1_sel) = (src0.0, src1.0);
                    m.sext = sext;
                });
                expect(Target::Gfx906, &code, &format!("{src0:?} {src1:?} {sext}"), |lane| {
                    selected(a[lane], src0, sext & 1 != 0).wrapping_sub(selected(
                        b[lane],
                        src1,
                        sext & 2 != 0,
                    ))
                });
            }
        }
    }
    for target in [Target::Gfx906, Target::Gfx950] {
        for dst in SELECTS {
            for unused in [DstUnused::Pad, DstUnused::Sext, DstUnused::Preserve] {
                let code = binary(target, "v_xor_b32", Encoding::Vop2Sdwa, [vgpr(0), vgpr(1)], |m| {
                    let sdwa = m.sdwa.as_mut().expect("SDWA");
                    (sdwa.dst_sel, sdwa.dst_unused) = (dst.0, unused);
                });
                expect(target, &code, &format!("{dst:?} {unused:?}"), |lane| {
                    placed(old[lane], a[lane] ^ b[lane], dst, unused)
                });
            }
        }
    }
}

/// Selects follow their source when the operation exchanges sources, and 16-bit operations read the
/// selected part.
#[test]
fn sdwa_selects_move_with_their_source() {
    let [a, b, _] = rows();
    for src0 in SELECTS {
        for src1 in SELECTS {
            let sdwa = |m: &mut Modifiers| {
                let sdwa: &mut Sdwa = m.sdwa.as_mut().expect("SDWA");
                (sdwa.src0_sel, sdwa.src1_sel) = (src0.0, src1.0);
                m.sext = 2;
            };
            let sources = |lane: usize| (selected(a[lane], src0, false), selected(b[lane], src1, true));
            let code = binary(Target::Gfx90a, "v_ashrrev_i32", Encoding::Vop2Sdwa, [vgpr(0), vgpr(1)], sdwa);
            expect(Target::Gfx90a, &code, &format!("v_ashrrev_i32 {src0:?} {src1:?}"), |lane| {
                let (amount, value) = sources(lane);
                (value as i32 >> (amount & 31)) as u32
            });
            let code = binary(Target::Gfx90a, "v_subrev_u16", Encoding::Vop2Sdwa, [vgpr(0), vgpr(1)], sdwa);
            expect(Target::Gfx90a, &code, &format!("v_subrev_u16 {src0:?} {src1:?}"), |lane| {
                let (x, y) = sources(lane);
                y.wrapping_sub(x) & 0xffff
            });
        }
    }
}

/// SDWA may read SGPRs.
#[test]
fn sdwa_selects_parts_of_scalars() {
    let [_, b, _] = rows();
    let scalar = Operand::Sgpr { first: 30, dwords: 1 };
    let code = binary(Target::Gfx906, "v_add_u32", Encoding::Vop2Sdwa, [scalar, vgpr(1)], |m| {
        let sdwa = m.sdwa.as_mut().expect("SDWA");
        (sdwa.src0_sel, sdwa.src1_sel) = (SdwaSel::Byte3, SdwaSel::Word1);
        m.sext = 1;
    });
    expect(Target::Gfx906, &code, "scalar", |lane| (0x87u8 as i8 as i32 as u32).wrapping_add(b[lane] >> 16));
}

/// The lane that feeds lane `n`, from the descriptions of the controls.
fn dpp_source(ctrl: u16, n: usize) -> Option<usize> {
    let (row, lane) = (n / 16, n % 16);
    let k = usize::from(ctrl & 15);
    let in_row = |lane: usize| row * 16 + lane;
    match ctrl {
        0..=0xff => Some(n / 4 * 4 + usize::from(ctrl >> (2 * (n % 4)) & 3)),
        0x101..=0x10f => (lane + k <= 15).then(|| in_row(lane + k)),
        0x111..=0x11f => (lane >= k).then(|| in_row(lane - k)),
        0x121..=0x12f => Some(in_row((lane + 16 - k) % 16)),
        0x130 => (n != 63).then(|| n + 1),
        0x134 => Some((n + 1) % 64),
        0x138 => (n != 0).then(|| n - 1),
        0x13c => Some((n + 63) % 64),
        0x140 => Some(in_row(15 - lane)),
        0x141 => Some(in_row(lane / 8 * 8 + 7 - lane % 8)),
        0x142 => (row > 0).then(|| row * 16 - 1),
        0x143 => (n >= 32).then_some(31),
        _ => None,
    }
}

fn dpp_controls() -> Vec<u16> {
    let mut all =
        vec![0x00, 0xe4, 0x1b, 0xb1, 0x55, 0xff, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143];
    for k in [1, 2, 7, 8, 15] {
        all.extend([0x100 + k, 0x110 + k, 0x120 + k]);
    }
    all
}

/// Source 0 in a lane after a lane permutation: `None` if the lane is not written.
fn permuted(source: &[u32; 64], dpp: &Dpp, lane: usize) -> Option<u32> {
    if dpp.row_mask >> (lane / 16) & 1 == 0 || dpp.bank_mask >> (lane / 4 % 4) & 1 == 0 {
        return None;
    }
    match dpp_source(dpp.ctrl, lane).filter(|from| EXEC >> from & 1 != 0) {
        Some(from) => Some(source[from]),
        None => dpp.bound_ctrl.then_some(0),
    }
}

#[test]
fn dpp_permutes_and_masks() {
    let [a, b, old] = rows();
    for ctrl in dpp_controls() {
        for (row_mask, bank_mask) in [(15, 15), (0xa, 15), (15, 0x5), (0x6, 0x9)] {
            for bound_ctrl in [false, true] {
                let dpp = Dpp { ctrl, row_mask, bank_mask, bound_ctrl };
                let what = format!("{dpp:x?}");
                let target = Target::Gfx906;
                let set_dpp = |m: &mut Modifiers| m.dpp = Some(dpp);
                let operands = [vgpr(0), vgpr(1)];
                let code = binary(target, "v_sub_u32", Encoding::Vop2Dpp, operands, set_dpp);
                expect(target, &code, &what, |lane| {
                    permuted(&a, &dpp, lane).map_or(old[lane], |x| x.wrapping_sub(b[lane]))
                });
                // The permuted source is the second one of the operation.
                let code = binary(target, "v_subrev_u32", Encoding::Vop2Dpp, operands, set_dpp);
                expect(target, &code, &what, |lane| {
                    permuted(&a, &dpp, lane).map_or(old[lane], |x| b[lane].wrapping_sub(x))
                });
                let code = binary(target, "v_lshrrev_b32", Encoding::Vop2Dpp, operands, set_dpp);
                expect(target, &code, &what, |lane| {
                    permuted(&a, &dpp, lane).map_or(old[lane], |x| b[lane] >> (x & 31))
                });
            }
        }
    }
}

/// The lanes that a permutation does not write keep their value in carry operations too; their carry is 0.
#[test]
fn dpp_masks_carries() {
    let [a, b, old] = rows();
    let dpp = Dpp { ctrl: 0x111, row_mask: 0xd, bank_mask: 15, bound_ctrl: false };
    let (builder, mut modifiers) = start(Target::Gfx906, "v_add_co_u32", Encoding::Vop2Dpp);
    modifiers.dpp = Some(dpp);
    let builder = builder.operand(Role::Vdst, vgpr(2)).operand(Role::Sdst, VCC);
    let code = words(builder.operand(Role::Src0, vgpr(0)).operand(Role::Src1, vgpr(1)).modifiers(modifiers));
    let outcome = Machine::new(Target::Gfx906).run(&code, |regs, _| set(regs));
    let mut carries = 0u64;
    for lane in 0..64 {
        let source = permuted(&a, &dpp, lane).filter(|_| EXEC >> lane & 1 != 0);
        let expected = source.map_or(old[lane], |x| x.wrapping_add(b[lane]));
        assert_eq!(outcome.wave.vgprs[2][lane], expected, "lane {lane}");
        carries |= u64::from(source.is_some_and(|x| x.checked_add(b[lane]).is_none())) << lane;
    }
    assert_eq!(outcome.sgpr64(106), carries);
}

/// `row_newbcast` is the only permutation of 64-bit operands.
#[test]
fn dpp_broadcasts_pairs() {
    let (builder, mut modifiers) = start(Target::Gfx942, "v_mov_b64", Encoding::Vop1Dpp);
    modifiers.dpp = Some(Dpp { ctrl: 0x156, row_mask: 15, bank_mask: 15, bound_ctrl: false });
    let code =
        words(builder.operand(Role::Vdst, vgprs(2)).operand(Role::Src0, vgprs(0)).modifiers(modifiers));
    let all = |regs: &mut Registers| {
        set(regs);
        regs.set_uni64(registers::EXEC, !0);
    };
    let outcome = Machine::new(Target::Gfx942).run(&code, |regs, _| all(regs));
    for lane in 0..64 {
        let from = lane / 16 * 16 + 6;
        assert_eq!(outcome.wave.vgprs[2][lane], rows()[0][from]);
        assert_eq!(outcome.wave.vgprs[3][lane], rows()[1][from]);
    }
}

#[test]
fn op_sel_chooses_halves_and_keeps_the_other_half_of_the_result() {
    let [a, b, old] = rows();
    let half = |value: u32, high: u8| if high != 0 { value >> 16 } else { value & 0xffff };
    for op_sel in 0..16u8 {
        for (name, preserves) in [("v_add_i16", false), ("v_mad_u16", true), ("v_max3_u16", false)] {
            let op = Op::from_name(name).expect("it exists");
            let (mut builder, mut modifiers) = start(Target::Gfx906, name, Encoding::Vop3a);
            let three = op.row().operand(Role::Src2).is_some();
            modifiers.op_sel = if three { op_sel } else { op_sel & 0b1011 };
            builder = builder
                .operand(Role::Vdst, vgpr(2))
                .operand(Role::Src0, vgpr(0))
                .operand(Role::Src1, vgpr(1));
            if three {
                builder = builder.operand(Role::Src2, vgpr(2));
            }
            let code = words(builder.modifiers(modifiers));
            expect(Target::Gfx906, &code, &format!("{name} op_sel {op_sel:#06b}"), |lane| {
                let (x, y) = (half(a[lane], op_sel & 1), half(b[lane], op_sel & 2));
                let z = half(old[lane], op_sel & 4);
                let result = match name {
                    "v_add_i16" => x.wrapping_add(y),
                    "v_mad_u16" => x.wrapping_mul(y).wrapping_add(z),
                    _ => x.max(y).max(z),
                } & 0xffff;
                match (op_sel & 8 != 0, preserves) {
                    (true, _) => result << 16 | old[lane] & 0xffff,
                    (false, true) => result | old[lane] & 0xffff_0000,
                    (false, false) => result,
                }
            });
        }
    }
}

/// Bit 3 of OP_SEL in the "legacy" multiply-adds, which no assembly text sets. Vega ISA 12.12 says of V_MAD_LEGACY that
/// it selects the half of the destination, that the low half is kept with it, and that the high half is cleared without
/// it. AMD's pseudocode of gfx950 says so of all five, and of V_MAC_F16.
#[test]
fn legacy_multiply_adds_write_the_half_that_op_sel_names() {
    // 1.0, 2.0 and 3.0 with other high halves.
    let sources = [0xdead_3c00, 0xbeef_4000, 0x1234_4200];
    let run = |target, word: u32, rest: u32, old: u32| {
        let outcome = Machine::new(target).run(&[word, rest], |regs, _| {
            regs.set_uni64(registers::EXEC, !0);
            for (n, source) in (0..).zip(sources) {
                regs.set_row(registers::vgpr(n), &[source; 64]);
            }
            regs.set_row(registers::vgpr(3), &[old; 64]);
        });
        outcome.wave.vgprs[3][5]
    };
    for target in
        [Target::Gfx900, Target::Gfx906, Target::Gfx908, Target::Gfx90a, Target::Gfx942, Target::Gfx950]
    {
        for (word, result, what) in [
            (0xd1ea_0003, 0x4500, "v_mad_legacy_f16 v3, v0, v1, v2"),
            (0xd1eb_0003, 0x4200, "v_mad_legacy_u16 v3, v0, v1, v2"),
            (0xd1ec_0003, 0x4200, "v_mad_legacy_i16 v3, v0, v1, v2"),
            (0xd1ee_0003, 0x4500, "v_fma_legacy_f16 v3, v0, v1, v2"),
            (0xd1ef_0003, 0x3c00, "v_div_fixup_legacy_f16 v3, v0, v1, v2"),
        ] {
            for op_sel in 0..16 {
                let found = run(target, word | op_sel << 11, 0x040a_0300, 0xffff_ffff);
                let expected = if op_sel & 8 != 0 { result << 16 | 0xffff } else { result };
                assert_eq!(found, expected, "{what} on {target} with op_sel {op_sel:#06b}");
            }
        }
    }
    // v_mac_f16_e64 v3, v0, v1 with 3.0 in the low half of v3.
    for (target, op_sel, expected) in [
        (Target::Gfx950, 0, 0x0000_4500),
        (Target::Gfx950, 8, 0x4500_4200),
        // *Modelled*: the older manuals do not name the bit.
        (Target::Gfx906, 8, 0x1234_4500),
    ] {
        let found = run(target, 0xd123_0003 | op_sel << 11, 0x0002_0300, 0x1234_4200);
        assert_eq!(found, expected, "v_mac_f16 on {target} with op_sel {op_sel:#06b}");
    }
}

#[test]
fn packed_selects_arrange_halves() {
    let [a, b, _] = rows();
    let half = |value: u32, high: bool| if high { value >> 16 } else { value & 0xffff };
    for op_sel in 0..4u8 {
        for op_sel_hi in 0..4u8 {
            let change = |m: &mut Modifiers| (m.op_sel, m.op_sel_hi) = (op_sel, op_sel_hi);
            let pick =
                |value: u32, n: u8| (half(value, op_sel >> n & 1 != 0), half(value, op_sel_hi >> n & 1 != 0));
            let code = binary(Target::Gfx906, "v_pk_sub_i16", Encoding::Vop3p, [vgpr(0), vgpr(1)], change);
            expect(Target::Gfx906, &code, "v_pk_sub_i16", |lane| {
                let ((x, xh), (y, yh)) = (pick(a[lane], 0), pick(b[lane], 1));
                x.wrapping_sub(y) & 0xffff | xh.wrapping_sub(yh) << 16
            });
            // The amounts are in the first source.
            let code =
                binary(Target::Gfx906, "v_pk_lshlrev_b16", Encoding::Vop3p, [vgpr(0), vgpr(1)], change);
            expect(Target::Gfx906, &code, "v_pk_lshlrev_b16", |lane| {
                let ((n, nh), (y, yh)) = (pick(a[lane], 0), pick(b[lane], 1));
                y << (n & 15) & 0xffff | yh << (nh & 15) << 16
            });
            // Selects of dot products choose the halves of each product.
            let (builder, mut modifiers) = start(Target::Gfx906, "v_dot2_u32_u16", Encoding::Vop3p);
            change(&mut modifiers);
            let builder = builder.operand(Role::Vdst, vgpr(2)).operand(Role::Src0, vgpr(0));
            let builder = builder.operand(Role::Src1, vgpr(1)).operand(Role::Src2, Operand::Int(7));
            expect(Target::Gfx906, &words(builder.modifiers(modifiers)), "v_dot2_u32_u16", |lane| {
                let ((x, xh), (y, yh)) = (pick(a[lane], 0), pick(b[lane], 1));
                x.wrapping_mul(y).wrapping_add(xh.wrapping_mul(yh)).wrapping_add(7)
            });
        }
    }
}

#[test]
fn packed_moves_choose_dwords() {
    let rows = rows();
    for op_sel in 0..4u8 {
        let (builder, mut modifiers) = start(Target::Gfx90a, "v_pk_mov_b32", Encoding::Vop3p);
        modifiers.op_sel = op_sel;
        let builder = builder.operand(Role::Vdst, vgprs(2)).operand(Role::Src0, vgprs(0));
        let code = words(builder.operand(Role::Src1, vgprs(0)).modifiers(modifiers));
        let outcome = Machine::new(Target::Gfx90a).run(&code, |regs, _| set(regs));
        for lane in (0..64).filter(|lane| EXEC >> lane & 1 != 0) {
            let low = rows[usize::from(op_sel & 1)][lane];
            let high = rows[usize::from(op_sel >> 1)][lane];
            assert_eq!([outcome.wave.vgprs[2][lane], outcome.wave.vgprs[3][lane]], [low, high]);
        }
    }
}

/// V_CNDMASK_B32 moves bits, but applies the signs of f32 sources.
#[test]
fn conditional_moves_take_signs() {
    let [a, b, _] = rows();
    for modifiers in 0..16u8 {
        let (abs, neg) = (modifiers & 3, modifiers >> 2);
        let apply = |value: u32, n: u8| {
            let value = if abs >> n & 1 != 0 { value & 0x7fff_ffff } else { value };
            if neg >> n & 1 != 0 { value ^ 0x8000_0000 } else { value }
        };
        for encoding in [Encoding::Vop3a, Encoding::Vop2Sdwa, Encoding::Vop2Dpp] {
            let (builder, mut m) = start(Target::Gfx906, "v_cndmask_b32", encoding);
            (m.abs, m.neg) = (abs, neg);
            let mask = if encoding == Encoding::Vop3a { Operand::Sgpr { first: 20, dwords: 2 } } else { VCC };
            let builder = builder.operand(Role::Vdst, vgpr(2)).operand(Role::Src0, vgpr(0));
            let builder = builder.operand(Role::Src1, vgpr(1)).operand(Role::Src2, mask);
            expect(
                Target::Gfx906,
                &words(builder.modifiers(m)),
                &format!("{encoding:?} {modifiers}"),
                |lane| {
                    if MASK >> lane & 1 != 0 { apply(b[lane], 1) } else { apply(a[lane], 0) }
                },
            );
        }
    }
}

/// Inline constants have the format that the operation reads.
#[test]
fn inline_constants_have_the_format_of_the_operand() {
    let [_, b, _] = rows();
    let one = Operand::Float(InlineFloat::One);
    let half = Operand::Float(InlineFloat::InvTwoPi);
    type Case = (&'static str, Encoding, Operand, fn(u32) -> u32);
    let cases: [Case; 5] = [
        ("v_or_b32", Encoding::Vop2, one, |b| 0x3f80_0000 | b),
        ("v_xor_b32", Encoding::Vop2, Operand::Int(-16), |b| b ^ 0xffff_fff0),
        // A 16-bit integer operation reads the low half of the f32.
        ("v_add_u16", Encoding::Vop2, half, |b| b.wrapping_add(0xf983) & 0xffff),
        ("v_add_u16", Encoding::Vop2, Operand::Int(-1), |b| b.wrapping_sub(1) & 0xffff),
        // A packed one reads the whole 32-bit constant.
        ("v_pk_add_u16", Encoding::Vop3p, Operand::Int(-2), |b| {
            b.wrapping_sub(2) & 0xffff | (b & 0xffff_0000).wrapping_sub(1 << 16)
        }),
    ];
    for (name, encoding, constant, expected) in cases {
        let code = binary(Target::Gfx906, name, encoding, [constant, vgpr(1)], |_| {});
        expect(Target::Gfx906, &code, name, |lane| expected(b[lane]));
    }
}

#[test]
fn bitop3_is_any_function_of_three_bits() {
    let [a, b, c] = rows();
    for table in [0x00, 0x01, 0x80, 0x96, 0xe8, 0xca, 0x5a, 0xff] {
        let function = |x: u32, y: u32, z: u32| {
            (0..32).fold(0, |r, n| {
                let index = (x >> n & 1) << 2 | (y >> n & 1) << 1 | (z >> n & 1);
                r | (u32::from(table) >> index & 1) << n
            })
        };
        for (name, op_sel) in [("v_bitop3_b32", 0), ("v_bitop3_b16", 0), ("v_bitop3_b16", 0b1101)] {
            let (builder, mut modifiers) = start(Target::Gfx950, name, Encoding::Vop3a);
            (modifiers.bitop3, modifiers.op_sel) = (table, op_sel);
            let builder = builder.operand(Role::Vdst, vgpr(2)).operand(Role::Src0, vgpr(0));
            let builder = builder.operand(Role::Src1, vgpr(1)).operand(Role::Src2, vgpr(2));
            expect(
                Target::Gfx950,
                &words(builder.modifiers(modifiers)),
                &format!("{name} {table:#x}"),
                |lane| match (name, op_sel) {
                    ("v_bitop3_b32", _) => function(a[lane], b[lane], c[lane]),
                    (_, 0) => function(a[lane], b[lane], c[lane]) & 0xffff,
                    _ => function(a[lane] >> 16, b[lane], c[lane] >> 16) << 16 | c[lane] & 0xffff,
                },
            );
        }
    }
}
