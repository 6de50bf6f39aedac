//! Packed, mixed and dot-product instructions with their selects and signs, and those with a constant behind them.

use wavemill_float::{MixSource, apply_output, float_op, fma_mix_f16, fma_mix_f32};
use wavemill_ir::{FloatOp, FloatType, Omod};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Encoding, Inst, Modifiers, Op, Operand, Role, Type};

use crate::common::Machine;
use crate::common::vector::{DST_VGPR, EXEC, Random, SOURCE_VGPRS, place};
use crate::vector_float::MODES;
use crate::vector_float::values::{Inputs, env, value};

/// VOP2 instructions with packed operands.
pub(crate) const NAMES: [&str; 1] = ["v_pk_fmac_f16"];

/// Instructions whose sources are f32 or halves.
const MIXED: [&str; 3] = ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"];

/// Whether a test here has the instruction.
pub(crate) fn covers(name: &str) -> bool {
    NAMES.contains(&name) || MIXED.contains(&name) || PACKED.iter().any(|(packed, _)| *packed == name)
}

const PACKED: [(&str, FloatOp); 12] = [
    ("v_pk_fma_f16", FloatOp::Fma),
    ("v_pk_add_f16", FloatOp::Add),
    ("v_pk_mul_f16", FloatOp::Mul),
    ("v_pk_min_f16", FloatOp::Min),
    ("v_pk_max_f16", FloatOp::Max),
    ("v_pk_minimum3_f16", FloatOp::Minimum3),
    ("v_pk_maximum3_f16", FloatOp::Maximum3),
    ("v_pk_fma_f32", FloatOp::Fma),
    ("v_pk_mul_f32", FloatOp::Mul),
    ("v_pk_add_f32", FloatOp::Add),
    ("v_dot2_f32_f16", FloatOp::Dot2F16),
    ("v_dot2_f32_bf16", FloatOp::Dot2Bf16),
];

/// The instruction with its operands in their places.
fn build(target: Target, op: Op, m: Modifiers) -> Vec<u32> {
    let encoding = op.row().encodings(target).next().expect("an encoding");
    let mut builder = Inst::build(target, op, encoding).expect("the target has the form").modifiers(m);
    for spec in op.row().operands {
        builder = builder.operand(spec.role, place(spec.role, spec.ty, encoding).expect("a place"));
    }
    let inst = builder.finish().unwrap_or_else(|error| panic!("{op} on {}: {error}", target.name()));
    inst.words()[..inst.size() / 4].to_vec()
}

/// Part `high` of a value of two elements of `bits` bits.
fn part(value: u64, high: bool, bits: u32) -> u64 {
    value >> if high { bits } else { 0 } & ((1 << bits) - 1)
}

/// Runs the words and compares the destination of all lanes.
fn compare(
    target: Target,
    op: Op,
    words: &[u32],
    mode: u32,
    inputs: &Inputs,
    expected: impl Fn(usize) -> u64,
) {
    let mut machine = Machine::new(target);
    machine.mode = mode;
    let outcome = machine.run(words, |regs, _| inputs.set(regs));
    let dwords = op.row().operand(Role::Vdst).expect("a result").ty.dwords();
    for lane in 0..64 {
        let old = inputs.value(DST_VGPR, dwords, lane);
        let expected = if EXEC >> lane & 1 != 0 { expected(lane) } else { old };
        let found = (0..dwords).fold(0u64, |v, d| {
            v | u64::from(outcome.wave.vgprs[usize::from(DST_VGPR + d)][lane]) << (32 * d)
        });
        assert_eq!(
            found,
            expected,
            "{op} on {}, mode {mode:#x}, lane {lane}: {found:#x} instead of {expected:#x}, words {words:08x?}",
            target.name()
        );
    }
}

/// Random selects and signs for the sources that the instruction has.
fn random_modifiers(target: Target, op: Op, random: &mut Random) -> Modifiers {
    let mut m = Modifiers::plain(op.row().form(target, Encoding::Vop3p).expect("the form"));
    let sources =
        [Role::Src0, Role::Src1, Role::Src2].iter().filter(|r| op.row().operand(**r).is_some()).count();
    let mask = (1u8 << sources) - 1;
    let r = random.next();
    m.op_sel = r as u8 & mask;
    // Sources that are not there keep what the assembler writes.
    m.op_sel_hi = (r >> 8) as u8 & mask | m.op_sel_hi & !mask;
    m.neg = (r >> 16) as u8 & mask;
    m.neg_hi = (r >> 24) as u8 & mask;
    m.clamp = r >> 32 & 3 == 0;
    m
}

#[test]
fn packed_floats_and_dot_products() {
    let mut random = Random(0x1405_7b7e_f767_814f);
    for (name, float) in PACKED {
        let op = Op::from_name(name).expect("it exists");
        let row = op.row();
        let dot = matches!(float, FloatOp::Dot2F16 | FloatOp::Dot2Bf16);
        for target in Target::ALL.into_iter().filter(|t| row.targets.contains(*t)) {
            for (mode, _) in MODES.into_iter().flat_map(|mode| [(mode, 0), (mode, 1), (mode, 2)]) {
                let mut m = random_modifiers(target, op, &mut random);
                if dot {
                    // The addend is one f32: its sign counts, its selects do not.
                    (m.op_sel, m.op_sel_hi, m.neg_hi) = (m.op_sel & 3, m.op_sel_hi | 4, m.neg_hi & 3);
                }
                let words = build(target, op, m);
                let inputs = Inputs::new(row, &mut random);
                let bits = row.operand(Role::Src0).expect("a source").ty.elem.bits();
                // Source `n` for the low or high result.
                let source = |n: usize, high: bool, lane: usize| {
                    let value = inputs.value(SOURCE_VGPRS[n], if bits == 32 { 2 } else { 1 }, lane);
                    let (select, negate) = if high { (m.op_sel_hi, m.neg_hi) } else { (m.op_sel, m.neg) };
                    part(value, select >> n & 1 != 0, bits) ^ u64::from(negate >> n & 1) << (bits - 1)
                };
                compare(target, op, &words, mode, &inputs, |lane| {
                    if dot {
                        let whole = |n| source(n, false, lane) | source(n, true, lane) << 16;
                        let addend = inputs.value(SOURCE_VGPRS[2], 1, lane) ^ u64::from(m.neg >> 2 & 1) << 31;
                        let fp = env(mode, 0);
                        let sum = float_op(float, FloatType::F32, [whole(0), whole(1), addend], fp);
                        return apply_output(
                            FloatType::F32,
                            sum.expect("a dot product"),
                            Omod::None,
                            m.clamp,
                            fp,
                        );
                    }
                    let (ty, fp) = match bits {
                        32 => (FloatType::F32, env(mode, 0)),
                        _ => (FloatType::F16, env(mode, 2)),
                    };
                    let result = |high| {
                        let s = [0, 1, 2].map(|n| source(n, high, lane));
                        let exact = float_op(float, ty, s, fp).expect("an operation");
                        apply_output(ty, exact, Omod::None, m.clamp, fp)
                    };
                    result(false) | result(true) << bits
                });
            }
        }
    }
}

/// A packed f32 instruction may overwrite its own sources, crosswise too.
#[test]
fn packed_singles_in_place() {
    let op = Op::from_name("v_pk_mul_f32").expect("it exists");
    let mut random = Random(0x0ddc_0ffe_e0dd_f00d);
    let inputs = Inputs::new(op.row(), &mut random);
    let pair = |first| Operand::Vgpr { first, dwords: 2 };
    for op_sel in 0..4u8 {
        for op_sel_hi in 0..4u8 {
            let mut m = Modifiers::plain(op.row().form(Target::Gfx90a, Encoding::Vop3p).expect("the form"));
            (m.op_sel, m.op_sel_hi) = (op_sel, m.op_sel_hi & 4 | op_sel_hi);
            let builder = Inst::build(Target::Gfx90a, op, Encoding::Vop3p).expect("the form").modifiers(m);
            let builder = builder.operand(Role::Vdst, pair(DST_VGPR)).operand(Role::Src0, pair(DST_VGPR));
            let inst = builder.operand(Role::Src1, pair(DST_VGPR)).finish().expect("it is legal");
            compare(Target::Gfx90a, op, &inst.words()[..2], MODES[0], &inputs, |lane| {
                let value = inputs.value(DST_VGPR, 2, lane);
                let result = |select: u8| {
                    let s = [part(value, select & 1 != 0, 32), part(value, select & 2 != 0, 32), 0];
                    float_op(FloatOp::Mul, FloatType::F32, s, env(MODES[0], 0)).expect("a product")
                };
                result(op_sel) | result(op_sel_hi) << 32
            });
        }
    }
}

#[test]
fn packed_accumulation() {
    let op = Op::from_name("v_pk_fmac_f16").expect("it exists");
    let mut random = Random(0xfeed_5eed_1234_5678);
    for target in Target::ALL.into_iter().filter(|t| op.row().targets.contains(*t)) {
        for mode in MODES {
            let words = build(target, op, Modifiers::plain(&op.row().forms()[0]));
            let inputs = Inputs::new(op.row(), &mut random);
            compare(target, op, &words, mode, &inputs, |lane| {
                let s = [SOURCE_VGPRS[0], SOURCE_VGPRS[1], DST_VGPR].map(|v| inputs.value(v, 1, lane));
                float_op(FloatOp::Fma, FloatType::PkF16, s, env(mode, 2)).expect("an operation")
            });
        }
    }
}

#[test]
fn mixed_precision() {
    let mut random = Random(0xabcd_ef01_2345_6789);
    for name in MIXED {
        let op = Op::from_name(name).expect("it exists");
        for target in Target::ALL.into_iter().filter(|t| op.row().targets.contains(*t)) {
            for mode in MODES.into_iter().flat_map(|mode| [mode; 4]) {
                let mut m = random_modifiers(target, op, &mut random);
                (m.abs, m.neg_hi) = (m.neg_hi, 0);
                let words = build(target, op, m);
                let mut inputs = Inputs::new(op.row(), &mut random);
                inputs.fill(
                    &SOURCE_VGPRS,
                    |random| match random.next() & 1 {
                        0 => value(Type::one(Elem::F32), random) as u32,
                        _ => value(Type { elem: Elem::F16, count: 2 }, random) as u32,
                    },
                    &mut random,
                );
                inputs.fill_nans(&SOURCE_VGPRS);
                let (single, double) = (env(mode, 0), env(mode, 2));
                compare(target, op, &words, mode, &inputs, |lane| {
                    let s = [0, 1, 2].map(|n| {
                        let bit = |mask: u8| mask >> n & 1 != 0;
                        let value = inputs.value(SOURCE_VGPRS[n], 1, lane);
                        if bit(m.op_sel_hi) {
                            let half = part(value, bit(m.op_sel), 16) as u16;
                            let half = if bit(m.abs) { half & 0x7fff } else { half };
                            MixSource::F16(half ^ u16::from(bit(m.neg)) << 15)
                        } else {
                            let word = value as u32;
                            let word = if bit(m.abs) { word & 0x7fff_ffff } else { word };
                            MixSource::F32(word ^ u32::from(bit(m.neg)) << 31)
                        }
                    });
                    let old = inputs.value(DST_VGPR, 1, lane);
                    if name == "v_fma_mix_f32" {
                        let exact = fma_mix_f32(s, single);
                        return apply_output(FloatType::F32, exact.into(), Omod::None, m.clamp, single);
                    }
                    let fp = wavemill_ir::FpEnv { denorm_in: single.denorm_in, ..double };
                    let exact = fma_mix_f16(s, fp);
                    let half = apply_output(FloatType::F16, exact.into(), Omod::None, m.clamp, fp);
                    match name {
                        "v_fma_mixlo_f16" => old & 0xffff_0000 | half,
                        _ => old & 0xffff | half << 16,
                    }
                });
            }
        }
    }
}

#[test]
fn constants_behind_the_instruction() {
    let mut random = Random(0x5555_0000_aaaa_1111);
    let cases = [
        ("v_madmk_f32", FloatOp::Mad, FloatType::F32),
        ("v_madak_f32", FloatOp::Mad, FloatType::F32),
        ("v_fmamk_f32", FloatOp::Fma, FloatType::F32),
        ("v_fmaak_f32", FloatOp::Fma, FloatType::F32),
        ("v_madmk_f16", FloatOp::Mad, FloatType::F16),
        ("v_madak_f16", FloatOp::Mad, FloatType::F16),
    ];
    for (name, float, ty) in cases {
        let op = Op::from_name(name).expect("it exists");
        let half = ty == FloatType::F16;
        for target in Target::ALL.into_iter().filter(|t| op.row().targets.contains(*t)) {
            for mode in MODES {
                let elem = if half { Elem::F16 } else { Elem::F32 };
                let constant = value(Type::one(elem), &mut random);
                let encoding = op.row().encodings(target).next().expect("an encoding");
                let mut builder = Inst::build(target, op, encoding).expect("the form");
                for spec in op.row().operands {
                    let operand = place(spec.role, spec.ty, encoding);
                    builder =
                        builder.operand(spec.role, operand.unwrap_or(Operand::Literal(constant as u32)));
                }
                let inst = builder.finish().unwrap_or_else(|error| panic!("{op}: {error}"));
                let inputs = Inputs::new(op.row(), &mut random);
                compare(target, op, &inst.words()[..inst.size() / 4], mode, &inputs, |lane| {
                    let mask = if half { 0xffff } else { 0xffff_ffff };
                    let [a, b] = [0, 1].map(|n: usize| inputs.value(SOURCE_VGPRS[n], 1, lane) & mask);
                    let s = if name.contains("mk") { [a, constant, b] } else { [a, b, constant] };
                    let exact =
                        float_op(float, ty, s, env(mode, if half { 2 } else { 0 })).expect("an operation");
                    let old = inputs.value(DST_VGPR, 1, lane);
                    if half { exact | old & 0xffff_0000 } else { exact }
                });
            }
        }
    }
}
