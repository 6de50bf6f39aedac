//! Words that have no meaning or are not code are reported when they are reached, and have no
//! effect.

use wavemill_ir::FaultKind;
use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::{Position, registers};
use wavemill_machine::FaultCause;

use super::accesses::{bytes, with};
use super::machine::{CODE, Machine, assembled, set_gpr};

/// The fault of a program whose T0.X is 5, and that register at the fault.
fn fault(code: &[u8]) -> (u64, FaultCause, u32) {
    let outcome = Machine::default().run_code(code, |registers, _| set_gpr(registers, 0, 0, |_| 5));
    let (position, cause, snapshot) = outcome.fault.expect("a fault");
    (position, cause, snapshot.rows[0][0][0])
}

/// A clause directly behind the word that calls it, which says that it has this many words.
fn called(count: u32, clause: &[Inst]) -> Vec<u8> {
    let call = with(Inst::new(Op::Alu), &[(F::Addr, 1), (F::Count, count - 1)]);
    bytes(&[&[call], clause].concat())
}

/// A slot that moves 1 to a channel of T0.
fn one(channel: u32, is_last: bool) -> Inst {
    let fields = [(F::Src0Sel, 250), (F::DstChan, channel), (F::Last, is_last.into())];
    with(Inst::new(Op::Mov), &fields)
}

#[test]
fn faults_have_positions() {
    use FaultKind::{Halted, IllegalInstruction as Illegal, NoCode, Unsupported};
    let clause = |word| Position { control: CODE, word: Some(word) }.number();
    let quad = |word: u64| word.to_le_bytes().to_vec();
    let rest = [&called(1, &[])[..], &[0; 4]].concat();
    let text = |source: &str| assembled(source);
    let slot = |op: Op, fields: &[(F, u32)]| {
        called(1, &[with(with(Inst::new(op), &[(F::Src0Sel, 250), (F::Last, 1)]), fields)])
    };
    for (number, (code, position, kind, value)) in [
        // RAT_INST 2 is reserved. The returning form of the combined access has no address for it.
        (quad(0x9580_f000_0000_a020), CODE, Illegal, 5),
        (text("mem_rat_combined_cacheless nop_rtn rat0, r0.xyzw, [r0.x]"), CODE, Unsupported, 5),
        (text("halt"), CODE, Halted, 5),
        (text("interrupt_and_sleep"), CODE, Halted, 5),
        // The program ends without an end, before its clause, and in a group.
        (called(1, &[])[..8].to_vec(), clause(0), NoCode, 5),
        (rest, clause(0), NoCode, 5),
        (called(2, &[one(0, false)]), clause(0), NoCode, 5),
        // The clause ends in a group; slots are out of order.
        (called(1, &[one(0, false), one(1, true)]), clause(0), Illegal, 5),
        (called(2, &[one(1, false), one(0, true)]), clause(0), Illegal, 5),
        // The first group takes effect, the second does not.
        (
            text("alu c\nc: x: mov r0.x, 1 ;;\nx: mov r0.x, -1\ny: mov r0.y, oqa.pop ;;"),
            clause(1),
            Illegal,
            1,
        ),
        (text("alu c\nc: x: mov r0.x, 1 ;;\nx: mov r0.x, kc0[0].x ;;"), clause(1), Illegal, 1),
        (
            text("alu c, kc0=cb0[0:15]\nc: x: mov r0.x, 1 ;;\nx: mov r0.x, kc0[16].x ;;"),
            clause(1),
            Illegal,
            1,
        ),
        (slot(Op::Mov, &[(F::Src0Rel, 1)]), clause(0), Unsupported, 5),
        (slot(Op::LdsReadRet, &[(F::DstChan, 1)]), clause(0), Illegal, 5),
        (slot(Op::AddInt, &[(F::Clamp, 1)]), clause(0), Illegal, 5),
        // The reserved code of PRED_SEL, and an update of the predicate without a comparison.
        (slot(Op::Mov, &[(F::PredSel, 1)]), clause(0), Illegal, 5),
        (slot(Op::Mov, &[(F::UpdatePred, 1)]), clause(0), Illegal, 5),
        // A parameter, and only interpolations have these.
        (slot(Op::Mov, &[(F::Src0Sel, 448)]), clause(0), Unsupported, 5),
        // A reserved kind of index, and the format of a texture.
        (text("tc l\nl: vfetch r0.x___, r0.x, buf:1 fmt:32 int fetch_type:3"), clause(0), Illegal, 5),
        (text("tc l\nl: vfetch r0.x___, r0.x, buf:1 fmt:bc1 int"), clause(0), Unsupported, 5),
        // No format, and resources that no stage has.
        (text("tc l\nl: vfetch r0.x___, r0.x, buf:1"), clause(0), Illegal, 5),
        (text("tc l\nl: vfetch r0.x___, r0.x, buf:176 fmt:32 int"), clause(0), Illegal, 5),
        (text("tc l\nl: ld r0.x___, r0.xyzw, res:200 ct:uuuu"), clause(0), Illegal, 5),
        (text("tc l\nl: ld r0.x___, r0.xyzw, res:20 ct:uuuu inst_mod:2"), clause(0), Illegal, 5),
        // One of fragment pointers has a meaning, which is not implemented.
        (text("tc l\nl: ld r0.x___, r0.xyzw, res:20 ct:uuuu inst_mod:1"), clause(0), Unsupported, 5),
        (text("mem_rat_cacheless store_dword rat0, r0.x_z_, [r0.x] type:write_ind"), CODE, Unsupported, 5),
        (text("mem_rat_cacheless store_dword rat0, r0.x, [r0.x] type:write"), CODE, Unsupported, 5),
        // Targets of exports, and elements of three dwords.
        (text("export pix8, r0.xyzw"), CODE, Illegal, 5),
        (text("mem_ring r0.xyzw, [r1.x] type:write elem_size:2"), CODE, Illegal, 5),
    ]
    .into_iter()
    .enumerate()
    {
        let (found, cause, now) = fault(&code);
        let wanted = (position, FaultCause::Instruction(kind), value);
        assert_eq!((found, cause, now), wanted, "case {number}: {code:x?}");
    }
}

/// No register changes if a constant or an element is outside of memory.
#[test]
fn refused_accesses_take_no_effect() {
    for source in [
        "alu c, kc0=cb0[0:15]\nc: x: mov r0.x, 1\ny: mov r0.y, kc0[0].x ;;",
        "tc l\nl: vfetch r0.x___, r0.x, buf:0 fmt:32 int",
        "mem_rat_cacheless store_dword rat0, r0.x, [r0.x] type:write_ind",
    ] {
        let (_, cause, value) = fault(&assembled(source));
        assert!(matches!(cause, FaultCause::Memory { .. }), "{source}: {cause:?}");
        assert_eq!(value, 5, "{source}");
    }
    // An index whose byte offset does not fit in 32 bits reaches no other address.
    let machine = Machine { buffers: vec![vec![9; 4]], ..Machine::default() };
    let store = "mem_rat_cacheless store_dword rat0, r0.x, [r0.x] type:write_ind\nend\n";
    let outcome = machine.run(store, |registers, addresses| {
        set_gpr(registers, 0, 0, |_| 1 << 30);
        registers.set_uni64(registers::random_access_target(0), addresses[0]);
    });
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.buffers[0], [9; 4]);
}
