//! Which scalar registers scalar memory operations and moves with a register index reach.

use crate::common::{Setup, fault_of, inst, registers_after, s};
use wavemill_engine::{Access, FaultCause, GuestMemory, Tier, WaveSnapshot};
use wavemill_ir::{Attrs, Inst, Op, Operand, Uni, Width};

/// Every scalar register holds its number and something that tells it from a result.
fn numbered() -> Setup {
    let mut setup = Setup::one_wave(0xdead_0000_0000_beef);
    setup.cells = (0..124).map(|n| (Uni(n), 0x5000 + u32::from(n))).collect();
    setup
}

fn old(n: usize) -> u32 {
    0x5000 + n as u32
}

/// Registers that do not hold what they held before.
fn changed(after: &WaveSnapshot) -> Vec<usize> {
    (0..124).filter(|n| after.scalars[*n] != old(*n)).collect()
}

fn put64(setup: &mut Setup, first: u16, value: u64) {
    setup.cells.push((Uni(first), value as u32));
    setup.cells.push((Uni(first + 1), (value >> 32) as u32));
}

#[test]
fn a_refused_scalar_load_writes_nothing() {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("short", 24, 256).unwrap();
    memory.write(buffer, &[0xee; 24]).unwrap();
    for dwords in [2u8, 4, 8, 16] {
        for resource in [false, true] {
            let mut setup = numbered();
            // All but the last dword of the access are in the allocation, as far as they fit.
            let first = buffer + 24 - 4 * (u64::from(dwords) - 1).min(6);
            put64(&mut setup, 4, first);
            if resource {
                setup.cells.push((Uni(6), 1000));
                setup.cells.push((Uni(7), 4 << 15));
            }
            let op = if resource { Op::ScalarBufferLoad(dwords) } else { Op::ScalarLoad(dwords) };
            let load = inst(op, s(16), &[s(4)], Attrs::default());
            let fault = fault_of(&[load], &setup, &memory, Tier::detect());
            let FaultCause::Memory { access: Access::Load, lanes, .. } = fault.cause else {
                panic!("{:?}", fault.cause)
            };
            let refused = if resource { buffer + 24 } else { first };
            assert_eq!(lanes[0].address, refused, "{load}");
            let kept: Vec<u32> = (16..32).map(old).collect();
            assert_eq!(fault.snapshot.scalars[16..32], kept, "{load}");
        }
    }
}

#[test]
fn scalar_loads_do_not_write_trap_registers() {
    let memory = GuestMemory::default();
    let buffer = memory.allocate("sixteen dwords", 64, 256).unwrap();
    memory.write(buffer, &[0xee; 64]).unwrap();
    for (first, written) in [(96, (96..108).collect()), (106, vec![106, 107]), (108, vec![]), (116, vec![])] {
        for resource in [false, true] {
            let mut setup = numbered();
            put64(&mut setup, 4, buffer);
            setup.cells.push((Uni(6), 64));
            setup.cells.push((Uni(7), 4 << 15));
            let op = if resource { Op::ScalarBufferLoad(16) } else { Op::ScalarLoad(16) };
            let load = inst(op, s(first), &[s(4)], Attrs::default());
            let after = registers_after(&[load], &setup, &memory, Tier::detect());
            let found: Vec<usize> = changed(&after).into_iter().filter(|n| *n > 7).collect();
            assert_eq!(found, written, "{load}");
            assert!(written.iter().all(|n| after.scalars[*n] == 0xeeee_eeee), "{load}");
            // M0 and EXEC are behind the trap registers.
            assert_eq!((after.scalars[124], after.exec()), (0, 0xdead_0000_0000_beef), "{load}");
        }
    }
}

/// Runs a move with the index in M0.
fn moved(op: Op, dst: Operand, src: Operand, m0: u32) -> WaveSnapshot {
    let mut setup = numbered();
    setup.cells.push((Uni::M0, m0));
    let mov: Inst = inst(op, dst, &[src], Attrs::default());
    registers_after(&[mov], &setup, &GuestMemory::default(), Tier::detect())
}

#[test]
fn a_register_index_out_of_range_writes_nothing_and_reads_the_first_register() {
    let vcc = || Operand::Uni(Uni::VCC);
    let ttmp = |n| Operand::Uni(Uni::TTMP0.plus(n));
    // Base, M0, register that is written.
    for (base, m0, hit) in [
        (s(5), 10, Some(15)),
        (s(1), 100, Some(101)),
        (s(101), 0, Some(101)),
        (s(2), 100, None),
        (s(5), 101, None),
        (s(5), 0xffff_ffff, Some(4)),
        (s(5), 0xffff_fffa, None),
        (s(5), 0x8000_0000, None),
        // The index stays in the register that the instruction names.
        (vcc(), 0, Some(106)),
        (vcc(), 1, Some(107)),
        (vcc(), 2, None),
        (Operand::Uni(Uni::FLAT_SCRATCH), 4, None),
        // Trap registers are not for the program to write.
        (ttmp(0), 3, None),
    ] {
        let after = moved(Op::MoveRelDest(Width::W32), base, Operand::Const(7), m0);
        assert_eq!(changed(&after), hit.into_iter().collect::<Vec<_>>(), "{base:?} + {m0:#x}");
        assert_eq!((after.scalars[124], after.exec()), (m0, 0xdead_0000_0000_beef), "{base:?} + {m0:#x}");
        if let Some(n) = hit {
            assert_eq!(after.scalars[n], 7);
        }
        let after = moved(Op::MoveRelSource(Width::W32), s(40), base, m0);
        let from = if base == ttmp(0) { Some(111) } else { hit };
        assert_eq!(after.scalars[40], old(from.unwrap_or(0)), "{base:?} + {m0:#x}");
    }
}

#[test]
fn a_register_pair_is_in_range_as_a_whole() {
    let value = 0x1111_1111_2222_2222;
    for (base, m0, hit) in [
        (s(4), 10, Some(14)),
        (s(0), 100, Some(100)),
        (s(2), 100, None),
        (s(0), 101, None),
        (Operand::Uni(Uni::VCC), 0, Some(106)),
        (Operand::Uni(Uni::VCC), 1, None),
    ] {
        let after = moved(Op::MoveRelDest(Width::W64), base, Operand::Const(value), m0);
        let written = hit.map_or(vec![], |n| vec![n, n + 1]);
        assert_eq!(changed(&after), written, "{base:?} + {m0}");
        if let Some(n) = hit {
            assert_eq!(after.scalars[n..n + 2], [0x2222_2222, 0x1111_1111]);
        }
        let after = moved(Op::MoveRelSource(Width::W64), s(40), base, m0);
        let from = hit.unwrap_or(0);
        assert_eq!(after.scalars[40..42], [old(from), old(from + 1)], "{base:?} + {m0}");
    }
}
