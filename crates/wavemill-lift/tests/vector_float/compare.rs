//! Comparisons, of floats and of integers: the mask, and EXEC where it is written.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, Format, Inst, Modifiers, Op, Operand, Role};
use wavemill_reference::rows::compare::holds;

use crate::common::vector::{EXEC, MASK_SGPR, Random, SOURCE_VGPRS, place};
use crate::common::{MODE, Machine};
use crate::vector_float::modified;
use crate::vector_float::values::Inputs;
use wavemill_lift::gcn::registers;

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
