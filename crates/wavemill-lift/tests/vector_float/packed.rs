//! Packed, mixed and dot-product instructions with their selects and signs, and instructions with a
//! constant.

use wavemill_isa::Target;
use wavemill_isa::gcn::{DstUnused, Elem, Encoding, Inst, Modifiers, Op, Operand, Role, Sdwa, SdwaSel, Type};
use wavemill_reference::rows::packed::{ACCUMULATING, DOTS, MIXED, MIXED_GFX900, PACKED, WITH_LITERAL};
use wavemill_reference::{
    BF16, Dot, F16, F32, Field, Format, Mode, Wide, dot2, float_to_float, fma, fma_mix, mad, mul,
};

use crate::common::vector::{DST_VGPR, EXEC, Random, SOURCE_VGPRS, place};
use crate::common::{MODE, Machine};
use crate::vector_float::values::{Inputs, value};
use crate::vector_float::{MODES, modified_output};
use wavemill_lift::gcn::registers;

/// Whether a test here has the instruction.
pub(crate) fn covers(name: &str) -> bool {
    ACCUMULATING.contains(&name)
        || MIXED.contains(&name)
        || MIXED_GFX900.contains(&name)
        || PACKED.iter().any(|(packed, _)| *packed == name)
        || DOTS.iter().any(|(dot, ..)| *dot == name)
}

/// Whether dot products of f16 keep denormal factors: measured on gfx90a, which flushes, and on gfx950 and others, which
/// keep them (`llvm/llvm-project` pull request 205101).
pub(crate) fn dot_keeps(target: Target) -> bool {
    target != Target::Gfx90a
}

/// The instruction with its test operands.
fn build(target: Target, op: Op, m: Modifiers) -> Vec<u32> {
    build_as(target, op, op.row().encodings(target).next().expect("an encoding"), m)
}

fn build_as(target: Target, op: Op, encoding: Encoding, m: Modifiers) -> Vec<u32> {
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
    // Modifiers of missing sources keep the assembler's values.
    m.op_sel_hi = (r >> 8) as u8 & mask | m.op_sel_hi & !mask;
    m.neg = (r >> 16) as u8 & mask;
    m.neg_hi = (r >> 24) as u8 & mask;
    m.clamp = r >> 32 & 3 == 0;
    m
}

#[test]
fn packed_floats() {
    let mut random = Random(0x1405_7b7e_f767_814f);
    for (name, element) in PACKED {
        let op = Op::from_name(name).expect("it exists");
        let row = op.row();
        let ty = row.operand(Role::Vdst).expect("a result").ty;
        let (format, field) = if ty.elem == Elem::F32 { (F32, Field::Single) } else { (F16, Field::Double) };
        for target in Target::GCN.into_iter().filter(|t| row.targets.contains(*t)) {
            for mode in MODES.into_iter().flat_map(|mode| [mode; 3]) {
                let m = random_modifiers(target, op, &mut random);
                let words = build(target, op, m);
                let inputs = Inputs::new(row, &mut random);
                let env = Mode(mode).env(field);
                compare(target, op, &words, mode, &inputs, |lane| {
                    let result = |high| {
                        let s = [0, 1, 2].map(|n| half_of(&inputs, &m, format, n, high, lane));
                        element(format, s, env)
                    };
                    modified_output(ty, &m, result(false) | result(true) << format.bits, env)
                });
            }
        }
    }
}

/// The element of source `n` that the low or the high result reads, with its sign.
fn half_of(inputs: &Inputs, m: &Modifiers, format: Format, n: usize, high: bool, lane: usize) -> u64 {
    let dwords = if format.bits == 32 { 2 } else { 1 };
    let value = inputs.value(SOURCE_VGPRS[n], dwords, lane);
    let (select, negate) = if high { (m.op_sel_hi, m.neg_hi) } else { (m.op_sel, m.neg) };
    part(value, select >> n & 1 != 0, format.bits) ^ u64::from(negate >> n & 1) << (format.bits - 1)
}

#[test]
fn dot_products() {
    let mut random = Random(0x2405_7b7e_f767_814f);
    for (name, format, order, signs) in DOTS {
        let op = Op::from_name(name).expect("it exists");
        let row = op.row();
        let ty = row.operand(Role::Vdst).expect("a result").ty;
        for target in Target::GCN.into_iter().filter(|t| row.targets.contains(*t)) {
            let keeps = format == F16 && dot_keeps(target);
            for mode in MODES.into_iter().flat_map(|mode| [mode; 3]) {
                let mut m = random_modifiers(target, op, &mut random);
                // The addend is one f32: it has no selects.
                (m.op_sel, m.op_sel_hi) = (m.op_sel & 3, m.op_sel_hi | 4);
                let words = build(target, op, m);
                let inputs = Inputs::new(row, &mut random);
                compare(target, op, &words, mode, &inputs, |lane| {
                    let half = |n, high| half_of(&inputs, &m, format, n, high, lane);
                    let whole = |n| half(n, false) | half(n, true) << 16;
                    let sign = if signs { u64::from(m.neg >> 2 & 1) << 31 } else { 0 };
                    let addend = inputs.value(SOURCE_VGPRS[2], 1, lane) ^ sign;
                    let sum = dot2(format, order, [whole(0), whole(1), addend], keeps);
                    modified_output(ty, &m, sum, Mode(mode).env(Field::Single))
                });
            }
        }
    }
}

/// In the 64-bit encoding the absolute value bits of accumulating dot products negate the high halves
/// of their factors.
#[test]
fn signs_of_an_accumulating_dot_product() {
    let mut random = Random(0x3405_7b7e_f767_814f);
    for (name, format) in [("v_dot2c_f32_bf16", BF16), ("v_dot2c_f32_f16", F16)] {
        let op = Op::from_name(name).expect("it exists");
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
            let Some(form) = op.row().form(target, Encoding::Vop3a) else { continue };
            let keeps = format == F16 && dot_keeps(target);
            for (neg, abs) in (0..4).flat_map(|neg| (0..4).map(move |abs| (neg, abs))) {
                let mut m = Modifiers::plain(form);
                (m.neg, m.abs) = (neg, abs);
                let words = build_as(target, op, Encoding::Vop3a, m);
                let inputs = Inputs::new(op.row(), &mut random);
                compare(target, op, &words, MODE, &inputs, |lane| {
                    let factor = |n: usize| {
                        let signs = u64::from(neg >> n & 1) << 15 | u64::from(abs >> n & 1) << 31;
                        inputs.value(SOURCE_VGPRS[n], 1, lane) ^ signs
                    };
                    let addend = inputs.value(DST_VGPR, 1, lane);
                    dot2(format, Dot::AddendFirst, [factor(0), factor(1), addend], keeps)
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
            compare(Target::Gfx90a, op, &inst.words()[..2], MODE, &inputs, |lane| {
                let value = inputs.value(DST_VGPR, 2, lane);
                let result = |select: u8| {
                    let s = [part(value, select & 1 != 0, 32), part(value, select & 2 != 0, 32)];
                    mul(F32, s, Mode(MODE).env(Field::Single))
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
    for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
        for mode in MODES {
            let words = build(target, op, Modifiers::plain(&op.row().forms()[0]));
            let inputs = Inputs::new(op.row(), &mut random);
            compare(target, op, &words, mode, &inputs, |lane| {
                let s = [SOURCE_VGPRS[0], SOURCE_VGPRS[1], DST_VGPR].map(|v| inputs.value(v, 1, lane));
                let result = |high| fma(F16, s.map(|x| part(x, high, 16)), Mode(mode).env(Field::Double));
                result(false) | result(true) << 16
            });
        }
    }
}

/// Signs and parts of the sources of the packed accumulation, as for dot products: negation is the
/// sign of the low half, the absolute value bit that of the high half. SDWA selects a part first.
#[test]
fn packed_accumulation_of_signed_parts() {
    let op = Op::from_name("v_pk_fmac_f16").expect("it exists");
    let mut random = Random(0x1eed_5eed_1234_5678);
    let env = Mode(MODE).env(Field::Double);
    let accumulate = |sources: [u64; 3]| {
        let result = |high| fma(F16, sources.map(|x| part(x, high, 16)), env);
        result(false) | result(true) << 16
    };
    for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
        if let Some(form) = op.row().form(target, Encoding::Vop3a) {
            for (neg, abs) in (0..4).flat_map(|neg| (0..4).map(move |abs| (neg, abs))) {
                let mut m = Modifiers::plain(form);
                (m.neg, m.abs) = (neg, abs);
                let words = build_as(target, op, Encoding::Vop3a, m);
                let inputs = Inputs::new(op.row(), &mut random);
                compare(target, op, &words, MODE, &inputs, |lane| {
                    let source = |n: usize| {
                        let signs = u64::from(neg >> n & 1) << 15 | u64::from(abs >> n & 1) << 31;
                        inputs.value(SOURCE_VGPRS[n], 1, lane) ^ signs
                    };
                    accumulate([source(0), source(1), inputs.value(DST_VGPR, 1, lane)])
                });
            }
        }
        let form = op.row().form(target, Encoding::Vop2Sdwa).expect("the form");
        for (src0_sel, at, bits) in [
            (SdwaSel::Word1, 16, 16),
            (SdwaSel::Byte2, 16, 8),
            (SdwaSel::Word0, 0, 16),
            (SdwaSel::Dword, 0, 32),
        ] {
            let mut m = Modifiers::plain(form);
            m.sdwa = Some(sdwa(src0_sel));
            let words = build_as(target, op, Encoding::Vop2Sdwa, m);
            let inputs = Inputs::new(op.row(), &mut random);
            compare(target, op, &words, MODE, &inputs, |lane| {
                let [a, b, c] =
                    [SOURCE_VGPRS[0], SOURCE_VGPRS[1], DST_VGPR].map(|v| inputs.value(v, 1, lane));
                accumulate([a >> at & ((1 << bits) - 1), b, c])
            });
        }
    }
}

/// SDWA that selects a part of the first source only.
fn sdwa(src0_sel: SdwaSel) -> Sdwa {
    let (src1_sel, dst_sel) = (SdwaSel::Dword, SdwaSel::Dword);
    Sdwa { src0_sel, src1_sel, dst_sel, dst_unused: DstUnused::Pad, named_sdst: false }
}

/// `a * b + c` of gfx900: halves are converted to f32, product and sum are rounded to f32, and an f16
/// result is rounded again. Denormals of both formats are flushed in every mode.
fn mad_mix(to: Format, s: [Wide; 3], mode: Mode) -> u64 {
    let single = mode.env(Field::Single).flushing();
    let s = s.map(|source| match source {
        Wide::Single(bits) => bits,
        Wide::Half(bits) => float_to_float(F16, F32, bits, single),
    });
    let sum = mad(F32, s, single);
    match to == F32 {
        true => sum,
        false => float_to_float(F32, F16, sum, mode.env(Field::Double).flushing()),
    }
}

#[test]
fn mixed_precision() {
    let mut random = Random(0xabcd_ef01_2345_6789);
    for name in MIXED.into_iter().chain(MIXED_GFX900) {
        let op = Op::from_name(name).expect("it exists");
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
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
                // f32 sources obey the fields of f32, f16 ones those of f16 (measured on gfx90a and gfx950:
                // `llvm/llvm-project` pull request 205101), results those of their type.
                let mode_of = Mode(mode);
                let to_single = name.ends_with("mix_f32");
                let (to, field) = if to_single { (F32, Field::Single) } else { (F16, Field::Double) };
                let ty = op.row().operand(Role::Vdst).expect("a result").ty;
                compare(target, op, &words, mode, &inputs, |lane| {
                    let s = [0, 1, 2].map(|n| {
                        let bit = |mask: u8| mask >> n & 1 != 0;
                        let value = inputs.value(SOURCE_VGPRS[n], 1, lane);
                        let half = bit(m.op_sel_hi);
                        let (bits, sign) = if half {
                            (part(value, bit(m.op_sel), 16), 0x8000)
                        } else {
                            (value, 0x8000_0000)
                        };
                        let bits = if bit(m.abs) { bits & !sign } else { bits };
                        let bits = if bit(m.neg) { bits ^ sign } else { bits };
                        if half { Wide::Half(bits) } else { Wide::Single(bits) }
                    });
                    let singles = mode_of.keeps_inputs(Field::Single);
                    let halves = mode_of.keeps_inputs(Field::Double);
                    let exact = match name.contains("fma") {
                        true => fma_mix(to, s, singles, halves, mode_of.env(field)),
                        false => mad_mix(to, s, mode_of),
                    };
                    let result = modified_output(ty, &m, exact, mode_of.env(field));
                    let old = inputs.value(DST_VGPR, 1, lane);
                    match name {
                        _ if to_single => result,
                        "v_fma_mixlo_f16" | "v_mad_mixlo_f16" => old & 0xffff_0000 | result,
                        _ => old & 0xffff | result << 16,
                    }
                });
            }
        }
    }
}

#[test]
fn constants_behind_the_instruction() {
    let mut random = Random(0x5555_0000_aaaa_1111);
    for (name, element, format) in WITH_LITERAL {
        let op = Op::from_name(name).expect("it exists");
        let half = format == F16;
        let field = if half { Field::Double } else { Field::Single };
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
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
                    let exact = element(format, s, Mode(mode).env(field));
                    let kept = if half && target != Target::Gfx950 { 0xffff_0000 } else { 0 };
                    exact | inputs.value(DST_VGPR, 1, lane) & kept
                });
            }
        }
    }
}

/// Signs of conversions: each element of a source changes (CDNA4 ISA 7.3 has no rule), and
/// conversions from small formats ignore signs and sign extension (CDNA4 ISA 7.3). Numbers by hand:
/// 1 and -2 as halves, singles, and 8-bit floats.
#[test]
fn signs_of_small_conversions() {
    let run = |name: &str, encoding, set: &dyn Fn(&mut Modifiers), source: [u32; 2], scale: u32| {
        let op = Op::from_name(name).expect("it exists");
        let mut m = Modifiers::plain(op.row().form(Target::Gfx950, encoding).expect("the form"));
        set(&mut m);
        let outcome =
            Machine::new(Target::Gfx950).run(&build_as(Target::Gfx950, op, encoding, m), |regs, _| {
                let first = u16::from(SOURCE_VGPRS[0]);
                for (n, value) in source.into_iter().enumerate() {
                    regs.set_row(registers::vgpr(first + n as u16), &[value; 64]);
                }
                for source in &SOURCE_VGPRS[1..] {
                    regs.set_row(registers::vgpr(u16::from(*source)), &[scale; 64]);
                }
            });
        [0, 1].map(|n| outcome.wave.vgprs[usize::from(DST_VGPR) + n][0])
    };
    const ONE: u32 = 0x3f80_0000;
    for (neg, abs, fp8, fp4) in
        [(0, 0, 0xc038, 0xc2), (1, 0, 0x40b8, 0x4a), (0, 1, 0x4038, 0x42), (1, 1, 0xc0b8, 0xca)]
    {
        let set = |m: &mut Modifiers| (m.neg, m.abs) = (neg, abs);
        let [found, _] = run("v_cvt_scalef32_pk_fp8_f16", Encoding::Vop3a, &set, [0xc000_3c00, 0], ONE);
        assert_eq!(found & 0xffff, fp8, "f16: neg {neg} abs {abs}");
        let [found, _] = run("v_cvt_scalef32_pk_fp8_bf16", Encoding::Vop3a, &set, [0xc000_3f80, 0], ONE);
        assert_eq!(found & 0xffff, fp8, "bf16: neg {neg} abs {abs}");
        // The random number, which is the scale's register, does not matter: the values are exact.
        let source = [ONE, 0xc000_0000];
        let [found, _] = run("v_cvt_scalef32_sr_pk_fp4_f32", Encoding::Vop3a, &set, source, ONE);
        assert_eq!(found & 0xff, fp4, "f32: neg {neg} abs {abs}");
    }
    let set = |m: &mut Modifiers| (m.sext, m.sdwa) = (1, Some(sdwa(SdwaSel::Word1)));
    let found = run("v_cvt_pk_f32_fp8", Encoding::Vop1Sdwa, &set, [0xc038_0000, 0], ONE);
    assert_eq!(found, [ONE, 0xc000_0000], "sign extension");
}
