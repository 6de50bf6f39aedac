//! Integer instructions of the vector ALU against references written from the manual, on every target, in every
//! encoding, with and without clamp, under EXEC with holes, on every tier of the interpreter.

use crate::common::vector::{
    CARRY, CARRY_SGPR, DST_VGPR, EXEC, Random, SOURCE_VGPRS, first_source_lane, identity, place,
};
use crate::common::{EDGES, EDGES64, MODE, Machine};
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Access, Elem, Encoding, Flag, Format, Inst, Modifiers, Op, Operand, Role, State};
use wavemill_lift::gcn::registers;
use wavemill_machine::Registers;
use wavemill_reference::rows::integer::{REFERENCES, Reference, Sources};

/// A value that is often an edge, sometimes a pair of 16-bit edges, sometimes arbitrary.
fn integer(random: &mut Random) -> u64 {
    let r = random.next();
    let edge = |n: u64| u64::from(EDGES[n as usize % EDGES.len()]);
    match r & 7 {
        0..=2 => edge(r >> 8) | edge(r >> 16) << 32,
        3 | 4 => EDGES64[(r >> 8) as usize % EDGES64.len()],
        5 => (edge(r >> 8) & 0xffff) | (edge(r >> 16) & 0xffff) << 16 | edge(r >> 24) << 32,
        _ => random.next(),
    }
}

/// The instruction in an encoding, with modifiers that change nothing except the clamp; `None` if
/// the encoding lacks a requested clamp.
fn build(target: Target, op: Op, encoding: Encoding, clamp: bool) -> Option<Inst> {
    let clampable = matches!(
        encoding,
        Encoding::Vop3a | Encoding::Vop3b | Encoding::Vop3p | Encoding::Vop1Sdwa | Encoding::Vop2Sdwa
    );
    if clamp && !clampable {
        return None;
    }
    let mut builder = Inst::build(target, op, encoding).expect("the target has the form");
    for spec in op.row().operands {
        let operand = place(spec.role, spec.ty, encoding).expect("a place for every role");
        builder = builder.operand(spec.role, operand);
    }
    let form = op.row().form(target, encoding).expect("the target has the form");
    let modifiers = Modifiers { clamp, ..identity(form) };
    match builder.modifiers(modifiers).finish() {
        Ok(inst) => Some(inst),
        Err(error) => panic!("{op} as {} on {}: {error}", encoding.name(), target.name()),
    }
}

/// Values of the registers before the instruction.
struct Inputs {
    rows: [[u32; 64]; 16],
}

impl Inputs {
    fn new(random: &mut Random) -> Inputs {
        let mut rows = [[0; 64]; 16];
        for pair in rows.chunks_exact_mut(2) {
            let [low, high] = pair else { unreachable!("pairs") };
            for (l, h) in low.iter_mut().zip(high) {
                let value = integer(random);
                (*l, *h) = (value as u32, (value >> 32) as u32);
            }
        }
        Inputs { rows }
    }

    /// The value of up to four registers in a lane.
    fn value(&self, first: u8, dwords: u8, lane: usize) -> u128 {
        (0..dwords).fold(0, |v, d| v | u128::from(self.rows[usize::from(first + d)][lane]) << (32 * d))
    }

    fn set(&self, regs: &mut Registers) {
        for (n, row) in self.rows.iter().enumerate() {
            regs.set_row(registers::vgpr(n as u16), row);
        }
        regs.set_uni64(Uni(u16::from(CARRY_SGPR)), CARRY);
        regs.set_uni64(registers::VCC, CARRY);
        regs.set_uni64(registers::EXEC, EXEC);
    }
}

/// Runs one instance on several sets of inputs and compares all lanes with the reference.
fn check(target: Target, inst: &Inst, reference: &Reference, clamp: bool, random: &mut Random) {
    let op = inst.op();
    let row = op.row();
    let words: Vec<u32> = inst.words()[..inst.size() / 4].to_vec();
    let mut machine = Machine::new(target);
    machine.mode = MODE;
    let masked = row.operand(Role::Sdst).is_some();
    let result_dwords = row.operand(Role::Vdst).map_or(0, |spec| spec.ty.dwords());
    for _ in 0..6 {
        let inputs = Inputs::new(random);
        let outcome = machine.run(&words, |regs, _| inputs.set(regs));
        let mut mask = 0u64;
        for lane in 0..64 {
            let source = |role, n: usize| {
                row.operand(role).filter(|spec| spec.ty.elem != Elem::Mask).map_or(0, |spec| {
                    let lane = if n == 0 { first_source_lane(inst.form(), lane) } else { lane };
                    inputs.value(SOURCE_VGPRS[n], spec.ty.dwords(), lane)
                })
            };
            let old = inputs.value(DST_VGPR, result_dwords, lane);
            let sources = Sources {
                s: [source(Role::Src0, 0), source(Role::Src1, 1), source(Role::Src2, 2)],
                old,
                carry: CARRY >> lane & 1 != 0,
                lane: lane as u32,
            };
            let result = (reference.apply)(&sources);
            let active = EXEC >> lane & 1 != 0;
            let expected = if active { result.bits(clamp) } else { old };
            let found = (0..result_dwords).fold(0u128, |v, d| {
                v | u128::from(outcome.wave.vgprs[usize::from(DST_VGPR + d)][lane]) << (32 * d)
            });
            assert_eq!(
                found,
                expected,
                "{op} as {} on {}, clamp {clamp}, lane {lane}: {found:#x} instead of {expected:#x} from {:x?}",
                inst.encoding().name(),
                target.name(),
                sources.s,
            );
            mask |= u64::from(active && result.mask) << lane;
        }
        if masked {
            let found = match inst.operand(Role::Sdst) {
                Some(Operand::Sgpr { first, .. }) => outcome.sgpr64(usize::from(first)),
                _ => outcome.sgpr64(usize::from(registers::VCC.0)),
            };
            assert_eq!(found, mask, "mask of {op} as {} on {}", inst.encoding().name(), target.name());
        }
        if row.writes.contains(State::Exec) {
            assert_eq!(outcome.wave.exec(), mask, "{op} writes EXEC");
        } else {
            assert_eq!(outcome.wave.exec(), EXEC);
        }
    }
}

/// Checks all references whose name `chosen` accepts; returns how many instances ran.
fn check_all(chosen: impl Fn(&str) -> bool) -> usize {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut instances = 0;
    for reference in REFERENCES.iter().filter(|r| chosen(r.name)) {
        let op = Op::from_name(reference.name).unwrap_or_else(|| panic!("no {}", reference.name));
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
            for encoding in op.row().encodings(target) {
                for clamp in [false, true] {
                    if clamp && !op.row().has(Flag::Clamp, target) {
                        continue;
                    }
                    if let Some(inst) = build(target, op, encoding, clamp) {
                        check(target, &inst, reference, clamp, &mut random);
                        instances += 1;
                    }
                }
            }
        }
    }
    instances
}

fn is_packed(name: &str) -> bool {
    name.starts_with("v_pk_") || name.starts_with("v_dot")
}

#[test]
fn scalar_types() {
    assert!(check_all(|name| !is_packed(name)) > 1000);
}

#[test]
fn packed_types_and_dot_products() {
    assert!(check_all(is_packed) > 100);
}

/// Every integer instruction has a reference: one that reads and writes VGPRs, with integer or untyped operands only.
#[test]
fn no_integer_instruction_is_left_out() {
    let by_other_tests = [
        "v_cndmask_b32",
        "v_bitop3_b16",
        "v_bitop3_b32",
        "v_swap_b32",
        "v_permlane16_swap_b32",
        "v_permlane32_swap_b32",
        "v_writelane_b32",
        "v_pk_mov_b32",
        "v_accvgpr_mov_b32",
        "v_accvgpr_read_b32",
        "v_accvgpr_write_b32",
    ];
    let no_meaning = ["v_mfma_ld_scale_b32"];
    for op in Op::ALL {
        let row = op.row();
        let vector = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p);
        let integer =
            row.operand(Role::Vdst).is_some() && row.operands.iter().all(|spec| !spec.ty.elem.is_float());
        let listed = REFERENCES.iter().any(|r| r.name == row.name())
            || by_other_tests.contains(&row.name())
            || no_meaning.contains(&row.name());
        assert!(!vector || !integer || listed, "{} has no reference", row.name());
    }
    assert!(REFERENCES.iter().all(|r| Op::from_name(r.name).is_some()));
    assert!(Op::ALL.iter().any(|op| op.row().operands.iter().any(|s| s.access == Access::ReadWrite)));
}
