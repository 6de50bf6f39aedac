//! At a fault, registers are as they were before the guest instruction.

use crate::common::{Setup, fault_of, inst, runners, v};
use wavemill_ir::{AtomicOp, Attrs, FaultKind, Inst, IntOp, Op, Operand, Row, Space, Width};
use wavemill_machine::{FaultCause, GuestMemory};

/// An operation that no engine supports: there are no atomics on private memory.
fn unsupported(guest: u32) -> Inst {
    let op = Op::Atomic(AtomicOp::Add, Space::Scratch, Width::W32);
    Inst { guest, ..inst(op, v(3), &[v(0), Operand::None, v(1)], Attrs::default()) }
}

fn set(register: u16, value: u64, guest: u32) -> Inst {
    let op = Op::Int(IntOp::Mov);
    Inst { guest, ..inst(op, v(register), &[Operand::Const(value)], Attrs::default()) }
}

#[test]
fn an_instruction_of_several_operations_with_an_unsupported_one_has_no_effect() {
    for runner in runners() {
        let setup = Setup { rows: vec![(Row(1), [10; 64]), (Row(2), [20; 64])], ..Setup::one_wave(!0) };
        let code = [set(1, 11, 0), set(2, 21, 1), set(1, 12, 1), unsupported(1)];
        let fault = fault_of(&code, &setup, &GuestMemory::default(), runner);
        assert_eq!(fault.cause, FaultCause::Instruction(FaultKind::Unsupported));
        assert_eq!(
            fault.snapshot.rows[0][1], [11; 64],
            "the instruction before it has taken effect ({runner})"
        );
        assert_eq!(fault.snapshot.rows[0][2], [20; 64], "its first operation has not ({runner})");
    }
}
