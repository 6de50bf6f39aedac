//! Comparisons, of floats and of integers: the mask, and EXEC where it is written.

use std::cmp::Ordering;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, Format, Inst, Modifiers, Op, Operand, Role};
use wavemill_reference::{F16, F32, F64, Field, Mode, class, compare};

use crate::common::vector::{EXEC, MASK_SGPR, Random, SOURCE_VGPRS, place};
use crate::common::{MODE, Machine};
use crate::vector_float::modified;
use crate::vector_float::values::Inputs;
use wavemill_lift::gcn::registers;

/// The code of a predicate by its name in mnemonics (Vega ISA 6.9, table 48).
fn predicate(name: &str) -> u32 {
    const CODES: [&str; 16] =
        ["f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"];
    let name = match name {
        "ne" => "lg",
        "t" => "tru",
        name => name,
    };
    CODES.iter().position(|code| *code == name).unwrap_or_else(|| panic!("no predicate {name}")) as u32
}

/// An integer comparison.
fn integers(code: u32, a: i128, b: i128) -> bool {
    let relation = match a.cmp(&b) {
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 4,
    };
    // Integers have no unordered predicates: the last one is always true (table 49).
    code & relation != 0
}

/// Whether the instruction with this mnemonic holds for the values.
fn holds(name: &str, mode: u32, [a, b]: [u64; 2]) -> bool {
    let mut parts = name.trim_start_matches("v_cmpx_").trim_start_matches("v_cmp_").split('_');
    let (pred, ty) = (parts.next().expect("a predicate"), parts.next().expect("a type"));
    let bits: u32 = ty[1..].parse().expect("a width");
    if ty.starts_with('f') {
        let (format, field) = match bits {
            16 => (F16, Field::Double),
            32 => (F32, Field::Single),
            _ => (F64, Field::Double),
        };
        let [a, low] = [a, b].map(|x| x & (u64::MAX >> (64 - bits)));
        return match pred {
            "class" => b >> class(format, a) & 1 != 0,
            _ => compare(format, predicate(pred), a, low, Mode(mode).env(field)),
        };
    }
    let number = |value: u64| {
        let value = i128::from(value) & ((1 << bits) - 1);
        if ty.starts_with('i') && value >> (bits - 1) != 0 { value - (1 << bits) } else { value }
    };
    integers(predicate(pred), number(a), number(b))
}

fn check(target: Target, op: Op, encoding: Encoding, mode: u32, random: &mut Random) {
    let row = op.row();
    let mut m = Modifiers::plain(row.form(target, encoding).expect("the target has the form"));
    if matches!(encoding, Encoding::Vop3a | Encoding::VopcSdwa) {
        let r = random.next();
        (m.abs, m.neg) = (r as u8 & row.float_mods & 3, (r >> 8) as u8 & row.float_mods & 3);
    }
    let mut builder = Inst::build(target, op, encoding).expect("the target has the form").modifiers(m);
    for spec in row.operands {
        builder = builder.operand(spec.role, place(spec.role, spec.ty, encoding).expect("a place"));
    }
    let inst = builder.finish().unwrap_or_else(|error| panic!("{op} as {}: {error}", encoding.name()));
    let mut inputs = Inputs::new(row, random);
    inputs.repeat(SOURCE_VGPRS[0], SOURCE_VGPRS[1], random);
    inputs.plant_nans(row);
    let mut machine = Machine::new(target);
    machine.mode = mode;
    let outcome = machine.run(&inst.words()[..inst.size() / 4], |regs, _| inputs.set(regs));
    let mut mask = 0u64;
    for lane in 0..64 {
        let source = |role, n: usize| {
            let spec = row.operand(role).expect("two sources");
            let value = inputs.value(SOURCE_VGPRS[n], spec.ty.dwords(), lane);
            modified(value, spec.ty, m.abs >> n & 1 != 0, m.neg >> n & 1 != 0)
        };
        let bit = holds(row.name(), mode, [source(Role::Src0, 0), source(Role::Src1, 1)]);
        mask |= u64::from(bit && EXEC >> lane & 1 != 0) << lane;
    }
    let found = match inst.operand(Role::Sdst) {
        Some(Operand::Sgpr { first: MASK_SGPR, .. }) => outcome.sgpr64(usize::from(MASK_SGPR)),
        _ => outcome.sgpr64(usize::from(registers::VCC.0)),
    };
    let what = format!("{op} as {} on {}, mode {mode:#x}", encoding.name(), target.name());
    assert_eq!(found, mask, "{what}: {found:#018x} instead of {mask:#018x}");
    let exec = if row.name().starts_with("v_cmpx") { mask } else { EXEC };
    assert_eq!(outcome.wave.exec(), exec, "EXEC after {what}");
}

#[test]
fn comparisons() {
    let mut random = Random(0xda3e_39cb_94b9_5bdb);
    let mut instances = 0;
    for op in Op::ALL.iter().copied().filter(|op| op.row().format == Format::Vopc) {
        // The rows are the same on all targets.
        for target in [Target::Gfx906, Target::Gfx942] {
            for encoding in op.row().encodings(target) {
                for mode in [MODE, 0x3c0, 0x300, 0x330] {
                    check(target, op, encoding, mode, &mut random);
                    instances += 1;
                }
            }
        }
    }
    assert!(instances > 3000, "{instances}");
}
