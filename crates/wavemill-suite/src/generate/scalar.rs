//! Scalar ALU instructions: each case has its own registers.

use wavemill_isa::gcn::{Elem, Format, InlineFloat, Inst, Modifiers, Op, Operand, Role};

use super::values::{Random, bits};
use super::{Builder, MODE, Start, TARGETS, test};
use crate::data::{Kind, LANES, Lanes, Row};
use crate::model::{self, EXEC, Gap, M0, Wave};

/// SGPRs of the sources and the destination.
const PLACES: [(Role, u8); 3] = [(Role::Src0, 0), (Role::Src1, 4), (Role::Sdst, 8)];

/// The scalar registers of a set: sources, old destination, SCC, EXEC.
fn set(builder: &mut Builder, n: usize) -> usize {
    let name = format!("scalar {n}");
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let mut rows = Vec::new();
        for first in [0, 4, 8, EXEC] {
            let values: [u64; LANES] = std::array::from_fn(|_| match random.below(8) {
                // Offsets and widths of bit fields.
                0 | 1 if first == 4 => (random.below(72) << 16 | random.below(64)) as u64,
                _ => bits(&mut random),
            });
            rows.push((Row::Scalar(first), values.map(|v| v as u32)));
            rows.push((Row::Scalar(first + 1), values.map(|v| (v >> 32) as u32)));
        }
        // Equal sources in some cases.
        for lane in (0..LANES).step_by(9) {
            for dword in 0..2 {
                rows[2 + dword].1[lane] = rows[dword].1[lane];
            }
        }
        rows.push((Row::Scc, std::array::from_fn(|_| random.below(2) as u32)));
        // Even, because it also selects pairs.
        rows.push((Row::Scalar(M0), std::array::from_fn(|_| 2 * random.below(5) as u32)));
        rows
    })
}

fn instances(op: Op, constant: i32, replaced: Option<(Role, Operand)>) -> Vec<Inst> {
    let row = op.row();
    let build = |target| {
        let encoding = row.encodings(target).next()?;
        let mut builder =
            Inst::build(target, op, encoding).ok()?.modifiers(Modifiers::plain(row.form(target, encoding)?));
        for spec in row.operands {
            let place = PLACES.iter().find(|(role, _)| *role == spec.role);
            let operand = match (replaced, place) {
                (Some((role, operand)), _) if role == spec.role => operand,
                (_, Some((_, first))) => Operand::Sgpr { first: *first, dwords: spec.ty.dwords() },
                _ => match spec.ty.elem {
                    Elem::Simm16 => Operand::Imm(constant),
                    Elem::Uimm16 => Operand::Imm(constant & 0xffff),
                    _ => return None,
                },
            };
            builder = builder.operand(spec.role, operand);
        }
        let (inst, broken) = builder.finish_with_rule().ok()?;
        broken.is_none().then_some(inst)
    };
    TARGETS.into_iter().filter(|t| row.targets.contains(*t)).filter_map(build).collect()
}

/// The result of each case.
fn add(builder: &mut Builder, set: usize, instances: &[Inst]) -> Result<(), Gap> {
    let start = Start { kind: Kind::Scalar, ..Start::new(MODE, set) };
    let first = builder.file.tests.len();
    for inst in instances {
        let inputs = builder.file.sets[set].rows.clone();
        let mut changed: Vec<(Row, Lanes)> = Vec::new();
        for case in 0..LANES {
            let mut wave = Wave::new(MODE);
            for (row, values) in &inputs {
                match row {
                    Row::Scalar(code) => wave.scalars[usize::from(*code)] = values[case],
                    Row::Scc => wave.scc = values[case] != 0,
                    _ => {}
                }
            }
            let before = wave.clone();
            model::execute(inst, &mut wave)?;
            for (cell, value) in wave.changes(&before).1 {
                let row = match cell {
                    crate::data::Cell::Scalar(code) => Row::Scalar(code),
                    _ => Row::Scc,
                };
                let at = match changed.iter().position(|(known, _)| *known == row) {
                    Some(at) => at,
                    None => {
                        let old = inputs.iter().find(|(known, _)| *known == row);
                        changed.push((row, old.map_or([0; LANES], |(_, values)| *values)));
                        changed.len() - 1
                    }
                };
                changed[at].1[case] = value;
            }
        }
        changed.sort_by_key(|(row, _)| *row);
        builder.push(test(&start, inst, changed, Vec::new()), first);
    }
    Ok(())
}

pub(super) fn tests(builder: &mut Builder) {
    let formats = [Format::Sop1, Format::Sop2, Format::Sopc, Format::Sopk];
    for op in Op::ALL.iter().copied().filter(|op| formats.contains(&op.row().format)) {
        let constants: &[i32] =
            if op.row().format == Format::Sopk { &[0, 1, -1, 0x7fff, -0x8000, 0x1234] } else { &[0] };
        let mut random = Random::of(op.row().name());
        for (n, constant) in constants.iter().enumerate() {
            let set = set(builder, n % 2);
            // What has no meaning here stays on the list of uncovered instructions.
            if add(builder, set, &instances(op, *constant, None)).is_err() {
                break;
            }
        }
        for (n, role) in [Role::Src0, Role::Src1].into_iter().enumerate() {
            if op.row().operand(role).is_none() {
                continue;
            }
            let set = set(builder, 1);
            let constants = [
                Operand::Int(random.pick(&[0, 1, 5, 64])),
                Operand::Int(random.pick(&[-1, -16])),
                Operand::Float(random.pick(InlineFloat::ALL)),
                Operand::Literal(bits(&mut random) as u32),
            ];
            let constant = constants[(n + random.below(4)) % 4];
            // The reason is the same as above.
            let _ = add(builder, set, &instances(op, 0, Some((role, constant))));
        }
    }
}
