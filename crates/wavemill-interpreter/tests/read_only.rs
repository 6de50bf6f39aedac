//! Memory that the guest must not write.

use crate::common::{Setup, fault_of, inst, registers_after, runners, s, v};
use wavemill_ir::{AtomicOp, Attrs, BufferAddr, Inst, MemType, Op, Operand, Row, Space, Uni, Width};
use wavemill_machine::{Access, FaultCause, GuestMemory, Nearest};

const SIZE: u64 = 4096;
/// The second half is read-only.
const HALF: u64 = SIZE / 2;

fn memory() -> (GuestMemory, u64) {
    let memory = GuestMemory::default();
    let start = memory.allocate("object", SIZE, 256).unwrap();
    memory.write(start, &[0xee; SIZE as usize]).unwrap();
    memory.protect(start + HALF..start + SIZE, "constants").unwrap();
    (memory, start)
}

/// Lanes access dwords starting at `first`, `step` bytes apart; the resource begins with the
/// allocation.
fn setup(start: u64, first: u64, step: u64, exec: u64) -> Setup {
    let mut setup = Setup::one_wave(exec);
    let at = |l: usize| first + step * l as u64;
    setup.rows = vec![
        (Row(0), std::array::from_fn(|l| (start + at(l)) as u32)),
        (Row(1), std::array::from_fn(|l| ((start + at(l)) >> 32) as u32)),
        (Row(2), std::array::from_fn(|l| at(l) as u32)),
        (Row(8), [0x5555_5555; 64]),
    ];
    let resource = [start as u32, (start >> 32) as u32, SIZE as u32, 4 << 15];
    setup.cells = (4..).map(Uni).zip(resource).collect();
    let address = start + first;
    setup.cells.extend([(Uni(10), address as u32), (Uni(11), (address >> 32) as u32)]);
    setup
}

const OFFEN: BufferAddr = BufferAddr { offen: true, idxen: false, plain: false };

fn writes() -> Vec<(Access, Inst)> {
    let dword = MemType::Dwords(1);
    let one = |op, src: &[Operand]| inst(op, Operand::None, src, Attrs::default());
    let vector = [v(0), Operand::None, v(8)];
    let buffer = [v(2), s(4), Operand::None, v(8)];
    let add = Op::Atomic(AtomicOp::Add, Space::Global, Width::W32);
    vec![
        (Access::Store, one(Op::Store(Space::Global, dword), &vector)),
        (Access::Store, one(Op::Store(Space::Global, MemType::U8), &vector)),
        (Access::Store, one(Op::Store(Space::Flat, dword), &vector)),
        (Access::Store, one(Op::BufferStore(dword, OFFEN), &buffer)),
        (Access::Atomic, one(add, &vector)),
        (Access::Atomic, one(Op::BufferAtomic(AtomicOp::Swap, Width::W32, OFFEN), &buffer)),
    ]
}

#[test]
fn stores_and_atomics_are_refused() {
    for runner in runners() {
        for (kind, write) in writes() {
            for (first, step, exec, refused) in [
                // All lanes contiguous, some lanes, and lanes on both sides of the boundary.
                (HALF, 4, !0, 0),
                (HALF + 64, 12, 0x0f00, 8),
                (HALF - 8, 4, !0, 2),
            ] {
                let (memory, start) = memory();
                let fault = fault_of(&[write], &setup(start, first, step, exec), &memory, runner);
                let FaultCause::Memory { access, lanes, nearest, .. } = fault.cause else {
                    panic!("{write}: {:?}", fault.cause)
                };
                assert_eq!((access, lanes[0].lane), (kind, refused), "{write}");
                let (name, what) = ("object".to_owned(), "constants".to_owned());
                let offset = first + step * u64::from(refused);
                assert_eq!(nearest, Nearest::ReadOnly { name, offset, what }, "{write}");
                let mut now = [0; SIZE as usize];
                memory.read(start, &mut now).unwrap();
                assert_eq!(now, [0xee; SIZE as usize], "{write}");
            }
        }
    }
}

#[test]
fn scalar_stores_are_refused() {
    for runner in runners() {
        let (memory, start) = memory();
        let store = inst(Op::ScalarStore(4), Operand::None, &[s(10), Operand::None, s(4)], Attrs::default());
        // The access begins before the boundary.
        let fault = fault_of(&[store], &setup(start, HALF - 8, 4, 1), &memory, runner);
        let FaultCause::Memory { access: Access::Store, nearest, .. } = fault.cause else {
            panic!("{:?}", fault.cause)
        };
        assert_eq!(nearest.to_string(), "byte 2048 of `object` is read-only (constants)");
        registers_after(&[store], &setup(start, HALF - 16, 4, 1), &memory, runner);
    }
}

#[test]
fn the_rest_is_not() {
    for runner in runners() {
        for (_, write) in writes() {
            let (memory, start) = memory();
            let load = Op::Load(Space::Global, MemType::Dwords(1));
            let load = inst(load, v(9), &[v(0), Operand::None], Attrs::default());
            // Writes up to the boundary, and loads from beyond it.
            registers_after(&[write], &setup(start, HALF - 256, 4, !0), &memory, runner);
            let after = registers_after(&[load], &setup(start, HALF - 128, 4, !0), &memory, runner);
            assert_eq!(after.rows[0][9][32..], [0xeeee_eeee; 32]);
            assert_ne!(after.rows[0][9][..32], [0xeeee_eeee; 32], "{write}");
        }
    }
}
