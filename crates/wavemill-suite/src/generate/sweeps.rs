//! Every selection and modifier on a few instructions.

use wavemill_isa::gcn::{Dpp, DstUnused, Encoding, InlineFloat, Modifiers, Op, Operand, Role, SdwaSel};

use super::values::Random;
use super::vector::{Values, controls, instances, set, start};
use super::{Builder, MODE, TARGETS};
use crate::model::Gap;

const PARTS: [SdwaSel; 7] = [
    SdwaSel::Byte0,
    SdwaSel::Byte1,
    SdwaSel::Byte2,
    SdwaSel::Byte3,
    SdwaSel::Word0,
    SdwaSel::Word1,
    SdwaSel::Dword,
];

/// Adds an instruction with some modifiers, on all lanes that `exec` has.
fn one(
    builder: &mut Builder,
    name: &str,
    encoding: Encoding,
    mode: u32,
    exec: u64,
    replaced: &[(Role, Operand)],
    change: impl Fn(&mut Modifiers),
) {
    let Some(op) = Op::from_name(name) else { panic!("no {name}") };
    let instances = instances(op, encoding, |_, m| change(m), replaced);
    let set = set(builder, op, Values::Random(0));
    let mut random = Random::of(&format!("{name} {encoding:?}"));
    let start = start(op.row(), encoding, mode, set, &mut random).exec(exec);
    if let Err(Gap(reason)) = builder.add(&start, &instances) {
        panic!("{name} as {encoding:?}: {reason}");
    }
}

fn sdwa(builder: &mut Builder) {
    for src0 in PARTS {
        for src1 in PARTS {
            for (name, extended) in
                [("v_sub_u32", true), ("v_subrev_u16", true), ("v_ashrrev_i32", true), ("v_mul_f16", false)]
            {
                for sext in 0..if extended && src0 != SdwaSel::Dword { 2u8 } else { 1 } {
                    one(builder, name, Encoding::Vop2Sdwa, MODE, u64::MAX, &[], |m| {
                        if let Some(sdwa) = &mut m.sdwa {
                            (sdwa.src0_sel, sdwa.src1_sel) = (src0, src1);
                        }
                        m.sext = sext * 3;
                    });
                }
            }
        }
        for (name, encoding) in [
            ("v_mov_b32", Encoding::Vop1Sdwa),
            ("v_cvt_f32_f16", Encoding::Vop1Sdwa),
            ("v_cvt_f32_ubyte1", Encoding::Vop1Sdwa),
        ] {
            one(builder, name, encoding, MODE, u64::MAX, &[], |m| {
                if let Some(sdwa) = &mut m.sdwa {
                    sdwa.src0_sel = src0;
                }
            });
        }
    }
    for dst in PARTS {
        for unused in [DstUnused::Pad, DstUnused::Sext, DstUnused::Preserve] {
            for (name, encoding) in [
                ("v_xor_b32", Encoding::Vop2Sdwa),
                ("v_add_f16", Encoding::Vop2Sdwa),
                ("v_mul_f32", Encoding::Vop2Sdwa),
                ("v_add_co_u32", Encoding::Vop2Sdwa),
                ("v_cvt_f16_f32", Encoding::Vop1Sdwa),
                ("v_mov_b32", Encoding::Vop1Sdwa),
            ] {
                one(builder, name, encoding, MODE, 0xf7ff_fffd_0ff0_aa55, &[], |m| {
                    if let Some(sdwa) = &mut m.sdwa {
                        (sdwa.dst_sel, sdwa.dst_unused) = (dst, unused);
                    }
                });
            }
        }
    }
}

fn dpp(builder: &mut Builder) {
    // The targets from gfx90a on have more controls; instances without them are left out.
    for ctrl in controls(TARGETS[1], false) {
        for (row_mask, bank_mask) in [(15, 15), (0xa, 15), (15, 5), (6, 9)] {
            for bound_ctrl in [false, true] {
                for exec in [u64::MAX, 0xf7ff_fffd_0ff0_aa55] {
                    let change =
                        |m: &mut Modifiers| m.dpp = Some(Dpp { ctrl, row_mask, bank_mask, bound_ctrl });
                    one(builder, "v_mov_b32", Encoding::Vop1Dpp, MODE, exec, &[], change);
                    if row_mask == bank_mask {
                        one(builder, "v_subrev_u32", Encoding::Vop2Dpp, MODE, exec, &[], change);
                        one(builder, "v_mac_f32", Encoding::Vop2Dpp, MODE, exec, &[], change);
                        one(builder, "v_addc_co_u32", Encoding::Vop2Dpp, MODE, exec, &[], change);
                    }
                }
            }
        }
    }
}

fn halves(builder: &mut Builder) {
    for op_sel in 0..16u8 {
        for name in ["v_fma_f16", "v_mad_u16", "v_add_i16", "v_max3_i16", "v_mad_i32_i16", "v_mad_legacy_i16"]
        {
            let Some(op) = Op::from_name(name) else { panic!("no {name}") };
            let binary = op.row().operand(Role::Src2).is_none();
            if binary && op_sel & 4 != 0 || name == "v_mad_i32_i16" && op_sel & 0xc != 0 {
                continue;
            }
            if name == "v_mad_legacy_i16" && op_sel != 0 {
                continue;
            }
            one(builder, name, Encoding::Vop3a, MODE, 0xffff_ffff_0000_ffff, &[], |m| m.op_sel = op_sel);
        }
    }
    for op_sel in 0..8u8 {
        for op_sel_hi in 0..8u8 {
            for name in ["v_pk_fma_f16", "v_pk_mad_i16", "v_pk_fma_f32"] {
                one(builder, name, Encoding::Vop3p, MODE, u64::MAX, &[], |m| {
                    (m.op_sel, m.op_sel_hi) = (op_sel, op_sel_hi);
                });
            }
            one(builder, "v_fma_mix_f32", Encoding::Vop3p, MODE, u64::MAX, &[], |m| {
                (m.op_sel, m.op_sel_hi) = (op_sel & op_sel_hi, op_sel_hi);
            });
        }
    }
    for neg in 0..8u8 {
        for neg_hi in 0..8u8 {
            one(builder, "v_pk_fma_f16", Encoding::Vop3p, MODE, u64::MAX, &[], |m| {
                (m.neg, m.neg_hi) = (neg, neg_hi);
            });
            one(builder, "v_fma_f32", Encoding::Vop3a, MODE, u64::MAX, &[], |m| {
                (m.neg, m.abs) = (neg, neg_hi)
            });
        }
    }
}

fn outputs(builder: &mut Builder) {
    let names = [
        ("v_add_f32", Encoding::Vop3a),
        ("v_mul_f16", Encoding::Vop3a),
        ("v_mul_f64", Encoding::Vop3a),
        ("v_fma_f32", Encoding::Vop3a),
        ("v_cvt_f32_f16", Encoding::Vop3a),
        ("v_cvt_f64_f32", Encoding::Vop3a),
        ("v_max_f32", Encoding::Vop3a),
    ];
    // IEEE, DX10_CLAMP, flushed and kept denormals, rounding.
    for mode in [0x000, 0x100, 0x200, 0x300, 0x0f0, 0x1f0, 0x3f0, 0x00f, 0x10a, 0x010, 0x040, 0x150] {
        for (name, encoding) in names {
            for (omod, clamp) in (0..4u8).flat_map(|omod| [(omod, false), (omod, true)]) {
                one(builder, name, encoding, mode, u64::MAX, &[], |m| (m.omod, m.clamp) = (omod, clamp));
            }
        }
    }
}

/// Every rounding mode with every treatment of denormals in one set of fields, while the other set has the opposite;
/// and IEEE with DX10_CLAMP.
fn modes(builder: &mut Builder) {
    let names = [
        ("v_add_f32", Encoding::Vop2),
        ("v_mul_f32", Encoding::Vop2),
        ("v_mac_f32", Encoding::Vop2),
        ("v_fma_f32", Encoding::Vop3a),
        ("v_add_f16", Encoding::Vop2),
        ("v_mul_f16", Encoding::Vop2),
        ("v_fma_f16", Encoding::Vop3a),
        ("v_add_f64", Encoding::Vop3a),
        ("v_mul_f64", Encoding::Vop3a),
        ("v_fma_f64", Encoding::Vop3a),
        ("v_cvt_f16_f32", Encoding::Vop1),
        ("v_cvt_f32_f16", Encoding::Vop1),
        ("v_cvt_f32_f64", Encoding::Vop1),
        ("v_cvt_f64_f32", Encoding::Vop1),
        ("v_cvt_f32_i32", Encoding::Vop1),
        ("v_cvt_f16_i16", Encoding::Vop1),
        ("v_ldexp_f32", Encoding::Vop3a),
        ("v_ldexp_f64", Encoding::Vop3a),
        ("v_div_fmas_f32", Encoding::Vop3a),
        ("v_pk_fma_f16", Encoding::Vop3p),
        ("v_pk_fma_f32", Encoding::Vop3p),
        ("v_fma_mix_f32", Encoding::Vop3p),
        ("v_fma_mixlo_f16", Encoding::Vop3p),
        ("v_cvt_pk_f16_f32", Encoding::Vop3a),
        ("v_dot2_f32_f16", Encoding::Vop3p),
    ];
    for (name, encoding) in names {
        for (round, denorm) in (0..4u32).flat_map(|round| (0..4).map(move |denorm| (round, denorm))) {
            for double in [false, true] {
                let own = round | denorm << 4;
                let other = (3 - round) | (3 - denorm) << 4;
                let fields = if double { other | own << 2 } else { own | other << 2 };
                one(builder, name, encoding, 0x300 | fields, u64::MAX, &[], |_| {});
            }
        }
    }
    for ieee_and_clamp in 0..4u32 {
        for fields in [0xf0, 0x00, 0x50, 0xa0] {
            for (name, encoding) in [
                ("v_min_f32", Encoding::Vop2),
                ("v_max_f16", Encoding::Vop2),
                ("v_max_f64", Encoding::Vop3a),
                ("v_min3_f32", Encoding::Vop3a),
                ("v_med3_f16", Encoding::Vop3a),
                ("v_pk_max_f16", Encoding::Vop3p),
            ] {
                for clamp in [false, true] {
                    let mode = ieee_and_clamp << 8 | fields;
                    if encoding != Encoding::Vop2 || !clamp {
                        one(builder, name, encoding, mode, u64::MAX, &[], |m| m.clamp = clamp);
                    }
                }
            }
        }
    }
}

fn constants(builder: &mut Builder) {
    let integers = [0, 1, 2, 31, 32, 63, 64, -1, -2, -15, -16].map(Operand::Int);
    let floats = InlineFloat::ALL.iter().map(|float| Operand::Float(*float));
    for constant in integers.into_iter().chain(floats) {
        for (name, encoding) in [
            ("v_add_f32", Encoding::Vop2),
            ("v_add_f16", Encoding::Vop2),
            ("v_add_u32", Encoding::Vop2),
            ("v_add_u16", Encoding::Vop2),
            ("v_mul_lo_u16", Encoding::Vop2Sdwa),
            ("v_ldexp_f16", Encoding::Vop3a),
            ("v_add_f64", Encoding::Vop3a),
            ("v_mul_lo_u32", Encoding::Vop3a),
            ("v_lshlrev_b64", Encoding::Vop3a),
            ("v_mad_u64_u32", Encoding::Vop3b),
            ("v_pk_add_f16", Encoding::Vop3p),
            ("v_pk_add_u16", Encoding::Vop3p),
            ("v_pk_add_f32", Encoding::Vop3p),
            ("v_cmp_lt_f64", Encoding::Vopc),
            ("v_cmp_class_f16", Encoding::Vop3a),
        ] {
            let Some(op) = Op::from_name(name) else { panic!("no {name}") };
            for role in [Role::Src0, Role::Src1, Role::Src2] {
                let short = matches!(encoding, Encoding::Vop2 | Encoding::Vopc);
                if op.row().operand(role).is_none() || short && role != Role::Src0 {
                    continue;
                }
                one(builder, name, encoding, MODE, u64::MAX, &[(role, constant)], |_| {});
            }
        }
    }
}

fn masks(builder: &mut Builder) {
    let mut execs =
        vec![0, 1, 1 << 63, 0xaaaa_aaaa_aaaa_aaaa, 0x5555_5555_5555_5555, 0xffff_ffff, u64::MAX << 32];
    execs.extend([0x0000_ffff_0000_ffff, 0x8000_0001_8000_0001, 0x7fff_ffff_ffff_fffe, u64::MAX]);
    for exec in execs {
        for (name, encoding) in [
            ("v_add_u32", Encoding::Vop2),
            ("v_add_f64", Encoding::Vop3a),
            ("v_addc_co_u32", Encoding::Vop2),
            ("v_subb_co_u32", Encoding::Vop3b),
            ("v_cndmask_b32", Encoding::Vop3a),
            ("v_cmp_lt_f32", Encoding::Vopc),
            ("v_cmp_ne_u64", Encoding::Vop3a),
            ("v_cmpx_ge_i32", Encoding::Vopc),
            ("v_cmpx_u_f16", Encoding::Vop3a),
            ("v_mac_f32", Encoding::Vop2),
            ("v_mbcnt_lo_u32_b32", Encoding::Vop3a),
            ("v_mbcnt_hi_u32_b32", Encoding::Vop3a),
            ("v_div_scale_f32", Encoding::Vop3b),
            ("v_pk_add_f16", Encoding::Vop3p),
        ] {
            one(builder, name, encoding, MODE, exec, &[], |_| {});
        }
    }
}

pub(super) fn tests(builder: &mut Builder) {
    masks(builder);
    constants(builder);
    sdwa(builder);
    dpp(builder);
    halves(builder);
    outputs(builder);
    modes(builder);
}
