//! Float instructions of the vector ALU against exact arithmetic: every instruction on every target in every encoding, with
//! random source and output modifiers, under all rounding and denormal fields, on every tier of the interpreter.

mod compare;
mod packed;
mod reference;
mod silicon;
mod small;
mod values;

use crate::common::vector::{
    CARRY, DST_VGPR, EXEC, Random, SOURCE_VGPRS, first_source_lane, identity, place,
};
use crate::common::{MODE, Machine};
use reference::{REFERENCES, Reference, Sources};
use values::Inputs;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Access, Elem, Encoding, Flag, Format, Inst, Modifiers, Op, Operand, Role, Type};
use wavemill_lift::gcn::registers;
use wavemill_reference::{F16, F32, F64, Field};

/// Modes: the mode at kernel start; flushed f32; everything flushed; IEEE and DX10_CLAMP off, where
/// output modifiers have an effect; overflow of f16 saturates; pairs of rounding modes; denormals
/// kept on one side only.
const MODES: [u32; 14] =
    [MODE, 0x3c0, 0x300, 0x0f0, 0x80_03f0, 0x000, 0x3f1, 0x3f4, 0x3e8 | 2, 0x3d7, 0x39b, 0x06e, 0x3ac, 0x353];

/// Instructions whose 16-bit result keeps the upper half of the destination on all targets;
/// `v_mac_f16` keeps it before gfx950.
const KEEPS_UPPER_HALF: [&str; 3] = ["v_mad_f16", "v_fma_f16", "v_div_fixup_f16"];

/// Random modifiers that the form accepts.
fn modifiers(target: Target, op: Op, encoding: Encoding, random: &mut Random) -> Modifiers {
    let row = op.row();
    let mut m = identity(row.form(target, encoding).expect("the target has the form"));
    let r = random.next();
    let wide = matches!(encoding, Encoding::Vop3a | Encoding::Vop3b);
    let sdwa = matches!(encoding, Encoding::Vop1Sdwa | Encoding::Vop2Sdwa);
    let dpp = matches!(encoding, Encoding::Vop1Dpp | Encoding::Vop2Dpp);
    // The effect of signs on packed sources of VOP2 instructions is not documented; integer ones
    // ignore them.
    let packed = row.operands.iter().any(|s| s.ty.elem.is_float() && s.ty.count > 1 && s.role != Role::Vdst);
    let floats = [Role::Src0, Role::Src1].iter().enumerate().fold(0, |mask, (n, role)| {
        mask | u8::from(row.operand(*role).is_some_and(|spec| spec.ty.elem.is_float())) << n
    });
    let takes = if wide { row.float_mods } else { row.float_mods & floats };
    if (wide || sdwa || dpp) && !packed {
        m.neg = r as u8 & takes;
        if encoding != Encoding::Vop3b {
            m.abs = (r >> 8) as u8 & takes;
        }
    }
    if wide || sdwa {
        m.clamp = row.has(Flag::Clamp, target) && r >> 16 & 3 == 0;
        let float = row.operand(Role::Vdst).is_some_and(|spec| spec.ty.elem.is_float());
        if float && row.has(Flag::Omod, target) && r >> 18 & 1 == 0 {
            m.omod = (r >> 20) as u8 & 3;
        }
    }
    m
}

/// The format of a value's elements, if output modifiers act on it.
fn float_format(ty: Type) -> Option<wavemill_reference::Format> {
    Some(match ty.elem {
        Elem::F16 => F16,
        Elem::F32 => F32,
        Elem::F64 => F64,
        _ => return None,
    })
}

/// The fields of MODE that apply to a type.
fn field_of(ty: Type) -> Field {
    if matches!(ty.elem, Elem::F16 | Elem::F64) { Field::Double } else { Field::Single }
}

/// The result after output modifiers, each element of a packed one separately.
pub(crate) fn modified_output(ty: Type, m: &Modifiers, result: u64, env: wavemill_reference::Env) -> u64 {
    let Some(format) = float_format(ty) else { return result };
    let mask = u64::MAX >> (64 - format.bits);
    (0..u32::from(ty.count)).fold(0, |value, n| {
        let element = result >> (n * format.bits) & mask;
        let scaled = wavemill_reference::omod(format, element, [0, 1, 2, -1][usize::from(m.omod)], env);
        let element = if m.clamp { wavemill_reference::clamp(format, scaled, env) } else { scaled };
        value | element << (n * format.bits)
    })
}

/// A source after `abs` and `neg`; integer sources have neither.
fn modified(value: u64, ty: Type, abs: bool, neg: bool) -> u64 {
    if !ty.elem.is_float() {
        return value;
    }
    let sign = 1u64 << (ty.elem.bits() - 1);
    let value = if abs { value & !sign } else { value };
    if neg { value ^ sign } else { value }
}

fn check(target: Target, encoding: Encoding, reference: &Reference, mode: u32, random: &mut Random) {
    let op = Op::from_name(reference.name).expect("it exists");
    let row = op.row();
    let m = modifiers(target, op, encoding, random);
    let mut builder = Inst::build(target, op, encoding).expect("the target has the form").modifiers(m);
    for spec in row.operands {
        builder = builder.operand(spec.role, place(spec.role, spec.ty, encoding).expect("a place"));
    }
    let inst = match builder.finish() {
        Ok(inst) => inst,
        Err(error) => panic!("{op} as {} on {}: {error}", encoding.name(), target.name()),
    };
    let words: Vec<u32> = inst.words()[..inst.size() / 4].to_vec();
    let mut machine = Machine::new(target);
    machine.mode = mode;
    let inputs = Inputs::new(row, random);
    let outcome = machine.run(&words, |regs, _| inputs.set(regs));
    let result = row.operand(Role::Vdst).expect("a vector result").ty;
    let source_type = row.operand(Role::Src0).map_or(result, |spec| spec.ty);
    let float_source = if source_type.elem.is_float() { source_type } else { result };
    let float_result = if result.elem.is_float() { result } else { float_source };
    let (env, out_env) =
        (reference.env(mode), reference.output_env(mode, field_of(float_source), field_of(float_result)));
    let mut mask = 0u64;
    for lane in 0..64 {
        let active = EXEC >> lane & 1 != 0;
        let old = inputs.value(DST_VGPR, result.dwords(), lane);
        let source = |role, n: usize| {
            row.operand(role).map_or(0, |spec| {
                let lane = if n == 0 { first_source_lane(inst.form(), lane) } else { lane };
                let value = inputs.value(SOURCE_VGPRS[n], spec.ty.dwords(), lane);
                modified(value, spec.ty, m.abs >> n & 1 != 0, m.neg >> n & 1 != 0)
            })
        };
        let sources = Sources {
            s: [source(Role::Src0, 0), source(Role::Src1, 1), source(Role::Src2, 2)],
            old,
            env,
            vcc: CARRY >> lane & 1 != 0,
            dot_keeps: packed::dot_keeps(target),
        };
        let exact = reference.apply(&sources);
        let mut expected = modified_output(result, &m, exact.bits, out_env);
        let keeps = KEEPS_UPPER_HALF.contains(&reference.name)
            || reference.name == "v_mac_f16" && target != Target::Gfx950;
        if keeps {
            expected |= old & 0xffff_0000;
        }
        let expected = if active { expected } else { old };
        let found = (0..result.dwords()).fold(0u64, |v, d| {
            v | u64::from(outcome.wave.vgprs[usize::from(DST_VGPR + d)][lane]) << (32 * d)
        });
        assert_eq!(
            found,
            expected,
            "{op} as {} on {}, mode {mode:#x}, lane {lane}, {m:?}: {found:#x} instead of {expected:#x} from {:x?}, old {old:#x}",
            encoding.name(),
            target.name(),
            sources.s,
        );
        mask |= u64::from(active && exact.mask) << lane;
    }
    if let Some(Operand::Sgpr { first, .. }) = inst.operand(Role::Sdst) {
        assert_eq!(outcome.sgpr64(usize::from(first)), mask, "mask of {op}");
    }
    assert_eq!(outcome.sgpr64(usize::from(registers::VCC.0)), CARRY, "{op} does not write VCC");
}

/// Checks all references whose name `chosen` accepts; returns how many instances ran.
fn check_all(chosen: impl Fn(&str) -> bool) -> usize {
    let mut random = Random(0x853c_49e6_748f_ea9b);
    let mut instances = 0;
    for reference in REFERENCES.iter().filter(|r| chosen(r.name)) {
        let op = Op::from_name(reference.name).unwrap_or_else(|| panic!("no {}", reference.name));
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
            for encoding in op.row().encodings(target) {
                for mode in MODES {
                    check(target, encoding, reference, mode, &mut random);
                    instances += 1;
                }
            }
        }
    }
    instances
}

fn is_conversion(name: &str) -> bool {
    name.contains("_cvt_") || name.contains("_pack_")
}

#[test]
fn arithmetic() {
    assert!(check_all(|name| !is_conversion(name)) > 4000);
}

#[test]
fn conversions() {
    assert!(check_all(is_conversion) > 1500);
}

/// Float instructions without a meaning, and so without a reference.
const NOT_LIFTED: [&str; 7] = [
    "v_interp_p1ll_f16",
    "v_interp_p1lv_f16",
    "v_interp_p2_legacy_f16",
    "v_interp_p2_f16",
    "v_mad_mix_f32",
    "v_mad_mixlo_f16",
    "v_mad_mixhi_f16",
];

/// Every float instruction of the vector ALU is run by a test here or in one of the other files, so
/// the next test gives it NaNs.
#[test]
fn no_float_instruction_is_left_out() {
    for op in Op::ALL {
        let (row, name) = (op.row(), op.row().name());
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p);
        let float = row.operands.iter().any(|spec| spec.ty.elem.is_float());
        let references = [
            small::parse(name).is_some(),
            packed::covers(name),
            values::WITH_LITERAL.contains(&name),
            REFERENCES.iter().any(|r| r.name == name),
        ];
        let expected = usize::from(vector && float && !NOT_LIFTED.contains(&name));
        let found = references.into_iter().filter(|listed| *listed).count();
        // Conversions from integers and the like are listed too.
        assert!(found >= expected && found <= 1, "{name} has {found} references instead of {expected}");
    }
}

/// The sources of every float instruction receive distinct NaNs, quiet and signalling, alone and
/// together.
#[test]
fn every_float_instruction_gets_distinct_nans() {
    let is_nan = |ty: Type, bits: u64| match ty.elem {
        Elem::F16 => bits & 0x7fff > 0x7c00,
        Elem::Bf16 => bits & 0x7fff > 0x7f80,
        Elem::F32 | Elem::Mix => bits & 0x7fff_ffff > 0x7f80_0000,
        Elem::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    let mut random = Random(3);
    let mut rows = 0;
    for op in Op::ALL {
        let row = op.row();
        let vector =
            matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc);
        let floats: Vec<_> = values::NAN_PLACES
            .into_iter()
            .filter_map(|(role, first)| Some((row.operand(role)?, first)))
            .filter(|(spec, _)| spec.access != Access::Write && spec.ty.elem.is_float())
            .collect();
        if !vector || floats.is_empty() || small::parse(row.name()).is_some() {
            continue;
        }
        rows += 1;
        let inputs = Inputs::new(row, &mut random);
        for set in 1..1u32 << floats.len() {
            for signalling in [false, true] {
                let fits = |lane: usize| {
                    let mut seen = Vec::new();
                    EXEC >> lane & 1 != 0
                        && floats.iter().enumerate().all(|(n, (spec, first))| {
                            let bits = spec.ty.elem.bits();
                            let value = inputs.value(*first, spec.ty.dwords(), lane);
                            let element = value & (u64::MAX >> (64 - bits));
                            let quiet = match spec.ty.elem {
                                Elem::F16 => 1 << 9,
                                Elem::Bf16 => 1 << 6,
                                Elem::F32 | Elem::Mix => 1 << 22,
                                _ => 1 << 51,
                            };
                            seen.push(element);
                            set >> n & 1 == 0
                                || is_nan(spec.ty, element)
                                    && (element & quiet == 0) == signalling
                                    && !seen[..n].contains(&element)
                        })
                };
                assert!((0..64).any(fits), "{op}: no lane for the sources {set:#b}, signalling {signalling}");
            }
        }
    }
    assert!(rows > 200, "{rows}");
}
