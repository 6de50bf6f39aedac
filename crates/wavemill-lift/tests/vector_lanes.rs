//! Instructions that move values between lanes, or between lanes and scalars, and moves of accumulation VGPRs.

use crate::common::{Machine, Outcome};
use wavemill_ir::{FaultKind, Uni};
use wavemill_isa::Target;
use wavemill_isa::gcn::{InlineFloat, Inst, Op, Operand, Role, Special};
use wavemill_lift::gcn::registers;
use wavemill_machine::{FaultCause, Registers};

/// Lanes that run.
const EXEC: u64 = 0xf7ff_fffd_0ff0_aa50;

fn vgpr(first: u8) -> Operand {
    Operand::Vgpr { first, dwords: 1 }
}

fn agpr(first: u8) -> Operand {
    Operand::Agpr { first, dwords: 1 }
}

fn sgpr(first: u8) -> Operand {
    Operand::Sgpr { first, dwords: 1 }
}

fn words(target: Target, name: &str, operands: &[(Role, Operand)]) -> Vec<u32> {
    let op = Op::from_name(name).expect("it exists");
    let encoding = op.row().encodings(target).next().expect("the target has it");
    let builder = Inst::build(target, op, encoding).expect("the form exists");
    let builder = operands.iter().fold(builder, |b, (role, operand)| b.operand(*role, *operand));
    let inst = builder.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    inst.words()[..inst.size() / 4].to_vec()
}

/// Lane `lane` of row `n` before the instruction.
fn before(n: u32, lane: usize) -> u32 {
    (n * 64 + lane as u32 + 1).wrapping_mul(0x9e37_79b9)
}

fn run(target: Target, exec: u64, code: &[u32]) -> Outcome {
    Machine::new(target).run(code, |regs: &mut Registers, _| {
        for n in 0..8u16 {
            regs.set_row(registers::vgpr(n), &std::array::from_fn(|lane| before(n.into(), lane)));
            regs.set_row(registers::acc(n), &std::array::from_fn(|lane| before(100 + u32::from(n), lane)));
        }
        regs.set_uni64(registers::EXEC, exec);
        regs.set_uni(Uni(30), 0x1234_5678);
        // Lane numbers are taken modulo 64.
        regs.set_uni(Uni(31), 64 + 37);
        regs.set_uni(registers::M0, 5);
    })
}

#[test]
fn the_first_active_lane_is_read() {
    for (exec, lane) in [(EXEC, 4), (!0, 0), (1 << 63, 63), (0, 0)] {
        for target in Target::GCN {
            let code = words(target, "v_readfirstlane_b32", &[(Role::Sdst, sgpr(10)), (Role::Src0, vgpr(3))]);
            assert_eq!(run(target, exec, &code).sgpr(10), before(3, lane), "EXEC {exec:#x}");
        }
    }
    let m0 = Operand::Special { reg: Special::M0, dwords: 1 };
    let code = words(Target::Gfx906, "v_readfirstlane_b32", &[(Role::Sdst, m0), (Role::Src0, vgpr(3))]);
    assert_eq!(run(Target::Gfx906, EXEC, &code).sgpr(124), before(3, 4));
}

#[test]
fn lanes_are_read_and_written_whether_active_or_not() {
    let m0 = Operand::Special { reg: Special::M0, dwords: 1 };
    for (select, lane) in [(Operand::Int(0), 0), (Operand::Int(63), 63), (sgpr(31), 37), (m0, 5)] {
        for target in [Target::Gfx906, Target::Gfx950] {
            let read = [(Role::Sdst, sgpr(10)), (Role::Src0, vgpr(3)), (Role::Src1, select)];
            assert_eq!(run(target, EXEC, &words(target, "v_readlane_b32", &read)).sgpr(10), before(3, lane));
            let values = if select == sgpr(31) {
                vec![(sgpr(31), 64 + 37)]
            } else {
                vec![(Operand::Int(-5), 0xffff_fffb), (Operand::Float(InlineFloat::One), 0x3f80_0000)]
            };
            for (source, value) in values {
                let write = [(Role::Vdst, vgpr(3)), (Role::Src0, source), (Role::Src1, select)];
                let outcome = run(target, EXEC, &words(target, "v_writelane_b32", &write));
                for n in 0..64 {
                    let expected = if n == lane { value } else { before(3, n) };
                    assert_eq!(outcome.wave.vgprs[3][n], expected, "lane {n}");
                }
            }
        }
    }
}

#[test]
fn registers_are_exchanged_in_active_lanes() {
    let code = words(Target::Gfx906, "v_swap_b32", &[(Role::Vdst, vgpr(2)), (Role::Src0, vgpr(5))]);
    let outcome = run(Target::Gfx906, EXEC, &code);
    for lane in 0..64 {
        let (a, b) = if EXEC >> lane & 1 != 0 { (5, 2) } else { (2, 5) };
        assert_eq!(outcome.wave.vgprs[2][lane], before(a, lane));
        assert_eq!(outcome.wave.vgprs[5][lane], before(b, lane));
    }
}

/// The encoding can name a scalar, but the instruction does not accept one: it has no effect.
#[test]
fn registers_are_not_exchanged_with_scalars() {
    // v_swap_b32 v2, s0
    let machine = Machine::new(Target::Gfx906);
    let refused = machine.try_run(&[0x7e04_a200], |_, _| {});
    assert_eq!(refused.unwrap_err(), FaultCause::Instruction(FaultKind::IllegalInstruction));
}

/// `v_permlane16_swap_b32` exchanges the odd rows of 16 lanes of the destination with the even ones
/// of the source, `v_permlane32_swap_b32` the upper half with the lower one.
#[test]
fn rows_of_lanes_are_exchanged() {
    for (name, width) in [("v_permlane16_swap_b32", 16), ("v_permlane32_swap_b32", 32)] {
        let code = words(Target::Gfx950, name, &[(Role::Vdst, vgpr(2)), (Role::Src0, vgpr(5))]);
        let outcome = run(Target::Gfx950, !0, &code);
        for lane in 0..64 {
            let odd = lane & width != 0;
            let (d, s) = if odd {
                (before(5, lane - width), before(5, lane))
            } else {
                (before(2, lane), before(2, lane + width))
            };
            assert_eq!(outcome.wave.vgprs[2][lane], d, "{name} lane {lane}");
            assert_eq!(outcome.wave.vgprs[5][lane], s, "{name} lane {lane}");
        }
    }
}

#[test]
fn accumulation_registers_move() {
    for target in [Target::Gfx908, Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        let active = |lane: usize| EXEC >> lane & 1 != 0;
        let read = words(target, "v_accvgpr_read_b32", &[(Role::Vdst, vgpr(2)), (Role::Src0, agpr(3))]);
        let outcome = run(target, EXEC, &read);
        for lane in 0..64 {
            let expected = if active(lane) { before(103, lane) } else { before(2, lane) };
            assert_eq!(outcome.wave.vgprs[2][lane], expected);
        }
        let constant = Operand::Float(InlineFloat::MinusTwo);
        for (source, value) in [(vgpr(6), None), (constant, Some(0xc000_0000))] {
            let write = words(target, "v_accvgpr_write_b32", &[(Role::Vdst, agpr(3)), (Role::Src0, source)]);
            let outcome = run(target, EXEC, &write);
            for lane in 0..64 {
                let new = value.unwrap_or(before(6, lane));
                assert_eq!(outcome.wave.accs[3][lane], if active(lane) { new } else { before(103, lane) });
            }
        }
        if target != Target::Gfx908 {
            let code = words(target, "v_accvgpr_mov_b32", &[(Role::Vdst, agpr(3)), (Role::Src0, agpr(4))]);
            let outcome = run(target, EXEC, &code);
            for lane in 0..64 {
                let expected = if active(lane) { before(104, lane) } else { before(103, lane) };
                assert_eq!(outcome.wave.accs[3][lane], expected);
            }
        }
    }
}

/// VCCZ, EXECZ and SCC are ordinary scalar sources of the vector ALU.
#[test]
fn flags_are_sources() {
    for (reg, value) in [(Special::Vccz, 1), (Special::Execz, 0), (Special::Scc, 0)] {
        let source = Operand::Special { reg, dwords: 1 };
        let code = words(Target::Gfx906, "v_mov_b32", &[(Role::Vdst, vgpr(2)), (Role::Src0, source)]);
        let outcome = run(Target::Gfx906, EXEC, &code);
        assert_eq!(outcome.wave.vgprs[2][4], value, "{}", reg.name());
    }
}
