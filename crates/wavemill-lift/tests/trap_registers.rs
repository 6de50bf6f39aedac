//! Trap temporaries belong to the trap handler (Vega ISA 3.10), and these waves are never in one.

use crate::common::{CODE, Machine, Outcome};
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;

/// The value of trap temporary `n`.
const fn held(n: u32) -> u32 {
    0x7700_0000 + n
}

const EXEC: u64 = 0xffff_0000_1234_5678;
const FIRST: u64 = 0x00ff_00ff_00ff_00ff;

fn run(target: Target, code: &[u32]) -> Outcome {
    let machine = Machine { buffers: vec![vec![0xab; 64]], ..Machine::new(target) };
    machine.run(code, |regs, addresses| {
        for n in 0..16 {
            regs.set_uni(registers::TTMP0.plus(n), held(n.into()));
        }
        regs.set_uni64(Uni(0), FIRST);
        regs.set_uni64(Uni(40), addresses[0]);
        regs.set_uni64(registers::EXEC, EXEC);
        regs.set_uni(registers::M0, 0);
        regs.set_row(registers::vgpr(0), &std::array::from_fn(|lane| lane as u32 % 3));
        regs.set_row(registers::vgpr(1), &[1; 64]);
    })
}

/// Lanes whose number is 1 modulo 3.
fn equal() -> u64 {
    (0..64).filter(|lane| lane % 3 == 1).fold(0, |mask, lane| mask | 1 << lane)
}

#[test]
fn writes_are_ignored_and_everything_else_happens() {
    let unchanged = |outcome: &Outcome| (outcome.wave.scalars[126], outcome.wave.scalars[127]);
    let exec = |value: u64| (value as u32, (value >> 32) as u32);
    for target in [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        for (code, after, what) in [
            (&[0xbeec_0085][..], EXEC, "s_mov_b32 ttmp0, 5"),
            (&[0xbeee_01c1], EXEC, "s_mov_b64 ttmp[2:3], -1"),
            (&[0xb76c_0001], EXEC, "s_addk_i32 ttmp0, 1"),
            (&[0xc012_1b14, 0], EXEC, "s_load_dwordx16 ttmp[0:15], s[40:41], 0"),
            (&[0xbeec_2000], EXEC & FIRST, "s_and_saveexec_b64 ttmp[0:1], s[0:1]"),
            (&[0xbeec_3500], EXEC & !FIRST, "s_andn1_wrexec_b64 ttmp[0:1], s[0:1]"),
            (&[0xd0da_006c, 0x0002_0300], EXEC & equal(), "v_cmpx_eq_u32 ttmp[0:1], v0, v1"),
            (&[0xd0ca_006c, 0x0002_0300], EXEC, "v_cmp_eq_u32 ttmp[0:1], v0, v1"),
            (&[0xd289_006c, 0x0001_0300], EXEC, "v_readlane_b32 ttmp0, v0, 1"),
            (&[0x7ed8_0500], EXEC, "v_readfirstlane_b32 ttmp0, v0"),
            (&[0xb8ec_f801], EXEC, "s_getreg_b32 ttmp0, hwreg(HW_REG_MODE)"),
            (&[0xbeec_2c01], EXEC, "s_movreld_b32 ttmp0, s1"),
            (&[0xbaee_0000], EXEC, "s_call_b64 ttmp[2:3], 0"),
            (&[0xbeee_1c00], EXEC, "s_getpc_b64 ttmp[2:3]"),
            (&[0xd119_7002, 0x0002_0300], EXEC, "v_add_co_u32 v2, ttmp[4:5], v0, v1"),
        ] {
            let outcome = run(target, code);
            for n in 0..16 {
                assert_eq!(outcome.sgpr(108 + n), held(n as u32), "ttmp{n} after {what} on {target:?}");
            }
            assert_eq!(unchanged(&outcome), exec(after), "{what} on {target:?}");
            assert_eq!(outcome.sgpr64(0), FIRST, "{what} on {target:?}");
        }
    }
    let outcome = run(Target::Gfx906, &[0x806c_0100]); // s_add_u32 ttmp0, s0, s1
    assert!(!outcome.wave.scc);
    let outcome = run(Target::Gfx906, &[0xbe80_00c1, 0x806c_0000]); // s_mov_b32 s0, -1; s_add_u32 ttmp0, s0, s0
    assert!(outcome.wave.scc, "the flag is written");
    let outcome = run(Target::Gfx906, &[0xd119_7002, 0x0002_0300]);
    assert_eq!(outcome.wave.vgprs[2][4], 2, "the result beside the carries is written");
}

#[test]
fn a_jump_can_be_linked_to_them() {
    // s_getpc_b64 s[4:5]; s_add_u32 s4, s4, 16; s_swappc_b64 ttmp[0:1], s[4:5]; s_mov_b32 s6, 1 twice.
    let code = [0xbe84_1c00, 0x8004_9004, 0xbeec_1e04, 0xbe86_0081, 0xbe86_0081, 0xbe87_0081];
    let outcome = run(Target::Gfx906, &code);
    assert_eq!([6, 7].map(|n| outcome.sgpr(n)), [0, 1]);
    assert_eq!(outcome.sgpr64(4), CODE + 20);
    assert_eq!(outcome.sgpr(108), held(0));
}

#[test]
fn reads_give_zero_from_gfx942_on_and_the_contents_before() {
    // s_mov_b32 s4, ttmp1; s_mov_b64 s[6:7], ttmp[2:3]; v_add_u32 v1, ttmp1, v0.
    let code = [0xbe84_006d, 0xbe86_016e, 0x6802_006d];
    for (target, contents) in [
        (Target::Gfx906, [held(1), held(2), held(3), held(1) + 1]),
        (Target::Gfx90a, [held(1), held(2), held(3), held(1) + 1]),
        (Target::Gfx942, [0, 0, 0, 1]),
        (Target::Gfx950, [0, 0, 0, 1]),
    ] {
        let outcome = run(target, &code);
        let v1 = outcome.wave.vgprs[1][4];
        assert_eq!([outcome.sgpr(4), outcome.sgpr(6), outcome.sgpr(7), v1], contents, "{target:?}");
    }
}
