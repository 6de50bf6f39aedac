//! Instructions that move values between lanes, and between lanes and scalars.

use wavemill_isa::gcn::{InlineFloat, Inst, Modifiers, Op, Operand, Role, Special};

use super::values::Random;
use super::vector::random_row;
use super::{Builder, MODE, Start, TARGETS};
use crate::data::{LANES, Lanes, Row};
use crate::model::{Gap, M0};

const EXECS: [u64; 7] =
    [u64::MAX, 0, 1, 1 << 63, 0xf7ff_fffd_0ff0_aa50, 0xaaaa_aaaa_aaaa_aaaa, 0xffff_0000_0000_ffff];

fn vgpr(first: u8) -> Operand {
    Operand::Vgpr { first, dwords: 1 }
}

fn agpr(first: u8) -> Operand {
    Operand::Agpr { first, dwords: 1 }
}

fn sgpr(first: u8) -> Operand {
    Operand::Sgpr { first, dwords: 1 }
}

const M0_OPERAND: Operand = Operand::Special { reg: Special::M0, dwords: 1 };

fn instances(name: &str, operands: &[(Role, Operand)], change: impl Fn(&mut Modifiers)) -> Vec<Inst> {
    let Some(op) = Op::from_name(name) else { panic!("no {name}") };
    let build = |target| {
        let encoding = op.row().encodings(target).next()?;
        let mut m = Modifiers::plain(op.row().form(target, encoding)?);
        change(&mut m);
        let builder = Inst::build(target, op, encoding).ok()?.modifiers(m);
        operands.iter().fold(builder, |b, (role, operand)| b.operand(*role, *operand)).finish().ok()
    };
    TARGETS.into_iter().filter(|t| op.row().targets.contains(*t)).filter_map(build).collect()
}

/// Random VGPRs and accumulation VGPRs.
fn registers(builder: &mut Builder) -> usize {
    builder.set("lanes".to_owned(), || {
        let vgprs = (0..4).map(Row::Vgpr).chain((0..4).map(Row::Agpr));
        vgprs.map(|row| (row, random_row(&format!("lanes {row}")))).collect()
    })
}

fn add(builder: &mut Builder, start: Start, exec: u64, instances: &[Inst]) {
    assert!(!instances.is_empty(), "no target has the instruction");
    match builder.add(&start.exec(exec), instances) {
        Ok(()) | Err(Gap("lanes are exchanged with inactive ones" | "a rotation with a mask")) => {}
        Err(Gap(reason)) => panic!("{:?}: {reason}", instances[0]),
    }
}

/// Addresses in bytes, with high bits and with remainders.
fn addresses(builder: &mut Builder, n: usize) -> usize {
    let name = format!("addresses {n}");
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let row: Lanes = std::array::from_fn(|lane| match n {
            0 => 4 * (63 - lane as u32),
            1 => 4 * random.below(LANES) as u32,
            2 => random.next() as u32,
            _ => 4 * (lane as u32 / 2) + random.below(4) as u32,
        });
        vec![
            (Row::Vgpr(0), row),
            (Row::Vgpr(1), random_row("lane data")),
            (Row::Vgpr(2), random_row("lane old")),
        ]
    })
}

pub(super) fn tests(builder: &mut Builder) {
    let set = registers(builder);
    let plain = |_: &mut Modifiers| {};
    for exec in EXECS {
        for to in [sgpr(10), Operand::Special { reg: Special::VccHi, dwords: 1 }] {
            let first = instances("v_readfirstlane_b32", &[(Role::Sdst, to), (Role::Src0, vgpr(3))], plain);
            add(builder, Start::new(MODE, set), exec, &first);
        }
        let swap = instances("v_swap_b32", &[(Role::Vdst, vgpr(1)), (Role::Src0, vgpr(2))], plain);
        add(builder, Start::new(MODE, set), exec, &swap);
        for name in ["v_permlane16_swap_b32", "v_permlane32_swap_b32"] {
            let swap = instances(name, &[(Role::Vdst, vgpr(1)), (Role::Src0, vgpr(2))], plain);
            add(builder, Start::new(MODE, set), exec, &swap);
        }
        let read = instances("v_accvgpr_read_b32", &[(Role::Vdst, vgpr(1)), (Role::Src0, agpr(2))], plain);
        add(builder, Start::new(MODE, set), exec, &read);
        for source in [vgpr(2), Operand::Int(-7), Operand::Float(InlineFloat::MinusTwo)] {
            let write =
                instances("v_accvgpr_write_b32", &[(Role::Vdst, agpr(1)), (Role::Src0, source)], plain);
            add(builder, Start::new(MODE, set), exec, &write);
        }
        let mov = instances("v_accvgpr_mov_b32", &[(Role::Vdst, agpr(1)), (Role::Src0, agpr(2))], plain);
        add(builder, Start::new(MODE, set), exec, &mov);
        for n in 0..4 {
            let set = addresses(builder, n);
            for offset in [0, 4, 65_535] {
                for name in ["ds_bpermute_b32", "ds_permute_b32"] {
                    let operands = [(Role::Vdst, vgpr(2)), (Role::Addr, vgpr(0)), (Role::Data0, vgpr(1))];
                    let permute = instances(name, &operands, |m| m.offset = offset);
                    add(builder, Start::new(MODE, set), exec, &permute);
                }
            }
        }
        let patterns = [
            0x001f, 0x041f, 0x7c1f, 0x0000, 0x03e0, 0x0513, 0x8000, 0x801b, 0x80b1, 0x80e4, 0xbfff, 0xe000,
            0xe010, 0xe018, 0xe01f, 0xc020, 0xc440, 0xc3e0, 0xc7e0, 0xc600,
        ];
        for pattern in patterns {
            let operands = [(Role::Vdst, vgpr(2)), (Role::Addr, vgpr(1))];
            let swizzle = instances("ds_swizzle_b32", &operands, |m| m.offset = pattern);
            add(builder, Start::new(MODE, set), exec, &swizzle);
        }
    }
    for lane in 0..LANES as u32 + 8 {
        let start = || {
            let start = Start::new(MODE, set).with(31, (lane * 7919) ^ 0x1357_0000);
            start.with(M0, lane | 0xffff_ff00).with(30, 0xdead_0000 | lane)
        };
        for select in [Operand::Int((lane % 65) as i8), sgpr(31), M0_OPERAND] {
            let exec = EXECS[lane as usize % EXECS.len()];
            let operands = [(Role::Sdst, sgpr(10)), (Role::Src0, vgpr(3)), (Role::Src1, select)];
            add(builder, start(), exec, &instances("v_readlane_b32", &operands, plain));
            let source = if lane % 3 == 0 { Operand::Int(-5) } else { sgpr(30) };
            let source = if select == sgpr(31) && lane % 3 != 0 { sgpr(31) } else { source };
            let source = if select == M0_OPERAND && lane % 3 != 0 { M0_OPERAND } else { source };
            let operands = [(Role::Vdst, vgpr(3)), (Role::Src0, source), (Role::Src1, select)];
            add(builder, start(), exec, &instances("v_writelane_b32", &operands, plain));
        }
    }
}
