//! Registers that instances read and write.

use wavemill_isa::Target;
use wavemill_isa::gcn::{
    DstUnused, Encoding, Inst, MemOp, MemSpace, Modifiers, Op, Operand, RegisterFile, RegisterSet, Role,
    Sdwa, SdwaSel, Special, decode,
};

const TARGET: Target = Target::Gfx906;

fn v(first: u8, dwords: u8) -> Operand {
    Operand::Vgpr { first, dwords }
}

fn s(first: u8, dwords: u8) -> Operand {
    Operand::Sgpr { first, dwords }
}

fn build(op: Op, encoding: Encoding, modifiers: Option<Modifiers>, operands: &[(Role, Operand)]) -> Inst {
    let mut builder = Inst::build(TARGET, op, encoding).expect("gfx906 has it");
    if let Some(modifiers) = modifiers {
        builder = builder.modifiers(modifiers);
    }
    let builder = operands.iter().fold(builder, |builder, &(role, operand)| builder.operand(role, operand));
    builder.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// The set as sorted text, such as `exec s[2:3] v0`.
fn text(set: RegisterSet) -> String {
    let mut names: Vec<String> = set
        .iter()
        .map(|range| {
            let (first, last) = (range.first, range.first + range.count - 1);
            match range.file {
                RegisterFile::Special => {
                    let reg = Special::from_code(first.into()).expect("a special register");
                    format!("{}*{}", reg.name(), range.count)
                }
                file => format!("{}{first}-{last}", format!("{file:?}").to_lowercase()),
            }
        })
        .collect();
    names.sort();
    names.join(" ")
}

#[test]
fn carry_uses_vcc_in_the_short_form_and_a_named_pair_in_the_long_one() {
    let operands = [(Role::Vdst, v(0, 1)), (Role::Src0, v(1, 1)), (Role::Src1, v(2, 1))];
    let short = build(Op::VAddcCoU32, Encoding::Vop2, None, &operands);
    assert_eq!(text(short.reads()), "exec_lo*2 vcc_lo*2 vgpr1-1 vgpr2-2");
    assert_eq!(text(short.writes()), "vcc_lo*2 vgpr0-0");
    let mut named = operands.to_vec();
    named.extend([(Role::Sdst, s(4, 2)), (Role::Src2, s(6, 2))]);
    let long = build(Op::VAddcCoU32, Encoding::Vop3b, None, &named);
    assert_eq!(text(long.reads()), "exec_lo*2 sgpr6-7 vgpr1-1 vgpr2-2");
    assert_eq!(text(long.writes()), "sgpr4-5 vgpr0-0");
}

#[test]
fn scalar_state_is_listed() {
    let save =
        build(Op::SAndSaveexecB64, Encoding::Sop1, None, &[(Role::Sdst, s(0, 2)), (Role::Src0, s(2, 2))]);
    assert_eq!(text(save.reads()), "exec_lo*2 sgpr2-3");
    assert_eq!(text(save.writes()), "exec_lo*2 sgpr0-1 src_scc*1");
    let cmp =
        build(Op::SCmpEqU32, Encoding::Sopc, None, &[(Role::Src0, s(0, 1)), (Role::Src1, Operand::Int(3))]);
    assert_eq!((text(cmp.reads()), text(cmp.writes())), ("sgpr0-0".into(), "src_scc*1".into()));
    let branch = build(Op::SCbranchVccz, Encoding::Sopp, None, &[(Role::Simm16, Operand::Imm(-2))]);
    assert!(
        branch.reads().contains(RegisterFile::Special, 106)
            && branch.reads().contains(RegisterFile::Special, 107)
    );
}

#[test]
fn compares_that_write_exec_say_so() {
    let cmpx = build(Op::VCmpxLtF32, Encoding::Vopc, None, &[(Role::Src0, v(0, 1)), (Role::Src1, v(1, 1))]);
    assert_eq!(text(cmpx.writes()), "exec_lo*2 vcc_lo*2");
}

#[test]
fn accumulators_and_kept_parts_are_read() {
    let mac = build(
        Op::VFmacF32,
        Encoding::Vop2,
        None,
        &[(Role::Vdst, v(0, 1)), (Role::Src0, v(1, 1)), (Role::Src1, v(2, 1))],
    );
    assert!(mac.reads().contains(RegisterFile::Vgpr, 0));
    let form = Op::VAddF32.row().form(TARGET, Encoding::Vop2Sdwa).expect("SDWA");
    let operands = [(Role::Vdst, v(0, 1)), (Role::Src0, v(1, 1)), (Role::Src1, v(2, 1))];
    for (dst_unused, kept) in [(DstUnused::Pad, false), (DstUnused::Preserve, true)] {
        let plain = Modifiers::plain(form);
        let sdwa = plain.sdwa.map(|sdwa| Sdwa { dst_sel: SdwaSel::Word1, dst_unused, ..sdwa });
        let add = build(Op::VAddF32, Encoding::Vop2Sdwa, Some(Modifiers { sdwa, ..plain }), &operands);
        assert_eq!(add.reads().contains(RegisterFile::Vgpr, 0), kept, "{dst_unused:?}");
    }
}

#[test]
fn atomics_write_what_they_return() {
    let operands = [(Role::Vaddr, v(2, 2)), (Role::Vdata, v(4, 1)), (Role::Saddr, Operand::Off)];
    let silent = build(Op::GlobalAtomicAdd, Encoding::Flat, None, &operands);
    assert_eq!(text(silent.reads()), "exec_lo*2 vgpr2-3 vgpr4-4");
    assert!(silent.writes().is_empty());
    let mut with = operands.to_vec();
    with.push((Role::Vdst, v(9, 1)));
    let glc = Modifiers { glc: true, ..Modifiers::default() };
    let returning = build(Op::GlobalAtomicAdd, Encoding::Flat, Some(glc), &with);
    assert_eq!(text(returning.writes()), "vgpr9-9");
    assert_eq!(returning.memory().map(|access| access.op).collect::<Vec<_>>(), [MemOp::Atomic]);
}

#[test]
fn loads_to_lds_need_m0_and_no_vgpr() {
    let lds = Modifiers { lds: true, offen: true, ..Modifiers::default() };
    let load = build(
        Op::BufferLoadDword,
        Encoding::Mubuf,
        Some(lds),
        &[(Role::Vaddr, v(1, 1)), (Role::Srsrc, s(4, 4)), (Role::Soffset, Operand::Int(0))],
    );
    assert_eq!(text(load.reads()), "exec_lo*2 m0*1 sgpr4-7 vgpr1-1");
    assert!(load.writes().is_empty());
    let spaces: Vec<_> = load.memory().map(|access| access.space).collect();
    assert_eq!(spaces, [MemSpace::Buffer, MemSpace::Lds]);
}

#[test]
fn every_result_of_an_instance_is_a_register() {
    // Decoded words never have a constant where they write.
    for &op in Op::ALL {
        for form in op.row().forms() {
            for target in form.targets.iter() {
                let Ok(inst) = decode(target, &form.value.to_le_bytes()) else { continue };
                for range in inst.writes().iter() {
                    assert!(range.count > 0, "{inst:?}");
                }
            }
        }
    }
}
