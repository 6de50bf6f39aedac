//! Dwords at the edge of an allocation: exchanges of 8 and 16 bits work there, and nothing else.

use crate::common::{FLAG, Runner, Setup, fault_of, inst, registers_after, runners, s, v};
use wavemill_ir::{AtomicOp, Attrs, Inst, IntOp, MemType, Op, Operand, Row, Space, Uni, Width};
use wavemill_machine::{Access, AddressMode, FaultCause, GuestMemory};

const LOAD: Op = Op::Load(Space::Global, MemType::Dwords(1));
const SWAP: Op = Op::Atomic(AtomicOp::CmpSwap, Space::Global, Width::W32);
const NONE: Operand = Operand::None;

/// Memory with the first bytes of an array of the host; those after them are not part of it.
struct Memory {
    host: Box<[u64; 2]>,
    guest: GuestMemory,
    /// Address of the second dword.
    dword: u64,
}

/// The bytes of the host before a run.
const BEFORE: u64 = 0x8877_6655_4433_2211;

impl Memory {
    /// The first `size` bytes; in the sandbox, or at their own addresses.
    fn new(size: u64, mode: AddressMode) -> Memory {
        let mut host = Box::new([BEFORE; 2]);
        let guest = GuestMemory::new(mode);
        // SAFETY: the array lives as long as the memory, and is accessed after it was freed.
        let start = unsafe { guest.import("a", host.as_mut_ptr().cast(), size) }.unwrap();
        Memory { host, guest, dword: start + 4 }
    }

    /// The first eight bytes of the host.
    fn bytes(self) -> u64 {
        drop(self.guest);
        self.host[0]
    }
}

fn at(n: u32, inst: Inst) -> Inst {
    Inst { guest: n, ..inst }
}

fn imm(imm: i32) -> Attrs {
    Attrs { imm, ..Attrs::default() }
}

/// Loads the dword at v[0:1], changes it, and exchanges it.
fn exchange(change: u32) -> Vec<Inst> {
    let plain = Attrs::default();
    vec![
        at(0, inst(LOAD, v(2), &[v(0)], plain)),
        at(1, inst(Op::Int(IntOp::Xor), v(4), &[v(2), Operand::Const(change.into())], plain)),
        at(2, inst(SWAP, v(5), &[v(0), NONE, v(4), v(2)], plain)),
    ]
}

/// The address of the dword in v[0:1] of one lane, and in s[0:1].
fn setup(memory: &Memory) -> Setup {
    let halves = [memory.dword as u32, (memory.dword >> 32) as u32];
    let mut setup = Setup::one_wave(1 << 9);
    setup.rows = (0..2).map(|n| (Row(n), [halves[usize::from(n)]; 64])).collect();
    setup.cells = vec![(Uni(0), halves[0]), (Uni(1), halves[1])];
    setup
}

fn refused(insts: &[Inst], setup: &Setup, memory: &Memory, runner: Runner) -> Access {
    match fault_of(insts, setup, &memory.guest, runner).cause {
        FaultCause::Memory { access, size: 4, lanes, .. } => {
            assert_eq!(lanes[0].address, memory.dword, "{runner}");
            access
        }
        other => panic!("{other:?} on {runner}"),
    }
}

#[test]
fn an_exchange_changes_the_bytes_inside() {
    for runner in runners() {
        for mode in AddressMode::ALL {
            // The number of bytes of the dword that are inside, and a change of them.
            for (inside, change) in [(1, 0xff), (2, 0xff0f), (2, 0), (3, 0x0010_0001)] {
                let memory = Memory::new(4 + inside, mode);
                let setup = setup(&memory);
                let after = registers_after(&exchange(change), &setup, &memory.guest, runner);
                let bits = (1u64 << (8 * inside)) - 1;
                let old = (BEFORE >> 32 & bits) as u32;
                assert_eq!([2, 5].map(|row| after.rows[0][row][9]), [old; 2], "{inside} on {runner}");
                let changed = BEFORE ^ u64::from(change) << 32;
                assert_eq!(memory.bytes(), changed, "{inside} bytes, {mode}, {runner}");
            }
        }
    }
}

#[test]
fn an_exchange_must_not_change_the_bytes_outside() {
    for runner in runners() {
        for (inside, change) in [(1, 0x0100), (2, 0x0001_0000), (2, u32::MAX), (3, 1 << 31)] {
            let memory = Memory::new(4 + inside, AddressMode::Identity);
            let access = refused(&exchange(change), &setup(&memory), &memory, runner);
            assert_eq!((access, memory.bytes()), (Access::Atomic, BEFORE), "{inside} on {runner}");
        }
    }
}

#[test]
fn a_load_that_begins_no_exchange_is_refused() {
    let [load, change, swap] = exchange(1).try_into().expect("three operations");
    let plain = Attrs::default();
    let mov = |to, from| inst(Op::Int(IntOp::Mov), to, &[from], plain);
    let other_address = inst(SWAP, v(5), &[v(0), NONE, v(4), v(2)], imm(-4));
    let other_comparand = inst(SWAP, v(5), &[v(0), NONE, v(4), v(7)], plain);
    let other_operation =
        inst(Op::Atomic(AtomicOp::Swap, Space::Global, Width::W32), v(5), &[v(0), NONE, v(4)], plain);
    let cases = [
        vec![load],
        vec![load, change],
        vec![load, at(1, other_address)],
        vec![load, change, at(2, other_comparand)],
        vec![load, change, at(2, other_operation)],
        // The value is lost, or the address is another one.
        vec![load, at(1, mov(v(2), Operand::Const(7))), at(2, swap)],
        vec![load, at(1, mov(v(0), v(8))), at(2, swap)],
        // More than a dword.
        vec![inst(Op::Load(Space::Global, MemType::Dwords(2)), v(2), &[v(0)], plain), at(1, swap)],
    ];
    for runner in runners() {
        for (n, insts) in cases.iter().enumerate() {
            let memory = Memory::new(6, AddressMode::Identity);
            let setup = setup(&memory);
            let fault = fault_of(insts, &setup, &memory.guest, runner);
            assert_eq!(fault.pc, 0x1000, "case {n} on {runner}");
            assert!(matches!(fault.cause, FaultCause::Memory { access: Access::Load, .. }), "{fault:?}");
        }
        let memory = Memory::new(6, AddressMode::Identity);
        let store = inst(Op::Store(Space::Global, MemType::Dwords(1)), NONE, &[v(0), NONE, v(2)], plain);
        assert_eq!(refused(&[store], &setup(&memory), &memory, runner), Access::Store);
        assert_eq!(memory.bytes(), BEFORE);
    }
}

#[test]
fn a_load_of_the_wave_can_begin_an_exchange() {
    let plain = Attrs::default();
    let zero = inst(Op::Int(IntOp::Mov), v(6), &[Operand::Const(0)], plain);
    let value = inst(Op::Int(IntOp::Mov), v(2), &[Operand::Uni(FLAG)], plain);
    let change = inst(Op::Int(IntOp::Xor), v(4), &[v(2), Operand::Const(0x101)], plain);
    let swap = inst(SWAP, v(5), &[v(6), s(0), v(4), v(2)], plain);
    let heads = [
        inst(Op::ScalarLoad(1), Operand::Uni(FLAG), &[s(0)], plain),
        // The offsets of the lanes are 0.
        inst(LOAD, v(2), &[v(8), s(0)], plain),
    ];
    for runner in runners() {
        for head in heads {
            let value = if head.op == LOAD {
                at(1, inst(Op::Int(IntOp::Mov), v(9), &[v(2)], plain))
            } else {
                at(1, value)
            };
            for zeroed in [true, false] {
                let insts = [at(0, head), value, at(2, change)].into_iter();
                let insts = insts.chain(zeroed.then_some(at(3, zero))).chain([at(4, swap)]);
                let insts: Vec<Inst> = insts.enumerate().map(|(n, inst)| at(n as u32, inst)).collect();
                // v6 is 0 at the load already, or not in the lane.
                for offset in [0, 8] {
                    let memory = Memory::new(6, AddressMode::Identity);
                    let mut setup = setup(&memory);
                    setup.rows.push((Row(6), [offset; 64]));
                    if zeroed || offset == 0 {
                        registers_after(&insts, &setup, &memory.guest, runner);
                        assert_eq!(memory.bytes(), BEFORE ^ 0x101 << 32, "{runner}");
                    } else {
                        assert_eq!(refused(&insts, &setup, &memory, runner), Access::Load, "{runner}");
                    }
                }
            }
        }
    }
}

#[test]
fn bits_and_packed_sums_of_one_half_work() {
    let plain = Attrs::default();
    let cases = [
        (AtomicOp::Or, 0xf0f0, Some(0x6655 | 0xf0f0)),
        (AtomicOp::Xor, 0xffff, Some(0x6655 ^ 0xffff)),
        (AtomicOp::And, 0xffff_0f0f, Some(0x6655 & 0x0f0f)),
        // 0x6655 is 1621 as f16, and 1 is added.
        (AtomicOp::PkAddF16, 0x3c00, Some(0x6656)),
        (AtomicOp::PkAddF16, 0x8000_3c00, Some(0x6656)),
        (AtomicOp::Or, 0x0001_0000, None),
        (AtomicOp::And, 0x0f0f, None),
        (AtomicOp::PkAddF16, 0x3c00_3c00, None),
        (AtomicOp::Add, 1, None),
        (AtomicOp::Swap, 1, None),
        (AtomicOp::AddF, 0, None),
    ];
    for runner in runners() {
        for (op, data, expected) in cases {
            let memory = Memory::new(6, AddressMode::Identity);
            let mut setup = setup(&memory);
            setup.rows.push((Row(4), [data; 64]));
            let atomic = inst(Op::Atomic(op, Space::Flat, Width::W32), v(5), &[v(0), NONE, v(4)], plain);
            match expected {
                Some(half) => {
                    registers_after(&[atomic], &setup, &memory.guest, runner);
                    let expected = BEFORE & !0xffff_0000_0000 | half << 32;
                    assert_eq!(memory.bytes(), expected, "{op:?} on {runner}");
                }
                None => {
                    assert_eq!(refused(&[atomic], &setup, &memory, runner), Access::Atomic, "{op:?}");
                    assert_eq!(memory.bytes(), BEFORE, "{op:?} on {runner}");
                }
            }
        }
    }
}
