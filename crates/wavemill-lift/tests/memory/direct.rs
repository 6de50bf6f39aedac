//! LDS as a source of the vector ALU: M0 selects one element for all lanes.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};

use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

/// Byte `n` of LDS.
fn byte(n: u32) -> u8 {
    (n * 37 + 0x5b) as u8
}

#[test]
fn types_and_places() {
    const SIZE: u32 = 256;
    let target = Target::Gfx906;
    let mut machine = Machine::new(target);
    machine.lds_size = SIZE;
    let fill = home_words(target, Op::DsWriteB32, &[(F::Addr, 30), (F::Data0, 31)]);
    // s_mov_b32 m0, s20; v_mov_b32 v1, src_lds_direct; v_add_u32 v2, src_lds_direct, v3;
    // v_readfirstlane_b32 s4, src_lds_direct.
    let code = [&fill[..], &[0xbefc_0014, 0x7e02_02fe, 0x6804_06fe, 0x7e08_04fe]].concat();
    for at in [0, 4, 37, 38, 120, SIZE - 4, SIZE - 2, SIZE - 1, SIZE, 0xfffe] {
        for ty in 0..8 {
            let outcome = machine.run(&code, |regs, _| {
                regs.set_uni64(registers::EXEC, !0);
                regs.set_uni(Uni(20), 0xfff8_0000 | ty << 16 | at);
                regs.set_row(registers::vgpr(3), &[1; 64]);
                regs.set_row(registers::vgpr(30), &std::array::from_fn(|lane| 4 * lane as u32));
                let dword = |lane| std::array::from_fn(|n| byte(4 * lane as u32 + n as u32));
                regs.set_row(
                    registers::vgpr(31),
                    &std::array::from_fn(|lane| u32::from_le_bytes(dword(lane))),
                );
            });
            let bytes = |n: u32| (at + n <= SIZE).then(|| (0..n).map(|k| byte(at + k)).collect::<Vec<_>>());
            let expected = match ty {
                0 => bytes(1).map(|b| u32::from(b[0])),
                1 => bytes(2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]]))),
                2 => bytes(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
                4 => bytes(1).map(|b| b[0] as i8 as u32),
                5 => bytes(2).map(|b| i16::from_le_bytes([b[0], b[1]]) as u32),
                _ => None,
            };
            let expected = expected.unwrap_or(0);
            let what = format!("type {ty} at {at}");
            assert_eq!(outcome.wave.vgprs[1], [expected; 64], "{what}");
            assert_eq!(outcome.wave.vgprs[2], [expected.wrapping_add(1); 64], "{what}");
            assert_eq!(outcome.sgpr(4), expected, "{what}");
        }
    }
}
