//! Compares the types of the sources in the rows with LLVM's.
//!
//! LLVM encodes a number as the inline constant with the same bits in the type of the operand:
//! `0x3c00` as 1.0 for f16, `0x3f800000` as 1.0 for f32. So the numbers that it encodes this way
//! reveal the type that it uses.

use std::collections::BTreeMap;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Encoding, Inst, Operand, Role, decode};
use wavemill_oracle::{Failed, assemble};

use crate::texts;

/// The bits of 1.0, with the operand widths in which they mean 1.0 (IEEE 754; the second is the
/// upper half of an f32).
const ONES: [(&str, Width); 4] = [
    ("0x3c00", Width::Half),
    ("0x3f80", Width::Brain),
    ("0x3f800000", Width::Single),
    ("0x3ff0000000000000", Width::Double),
];

/// The operand code of the inline constant 1.0 (Vega ISA 6.2.1).
const ONE: u32 = 242;

/// How an operand reads inline floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Half,
    Brain,
    Single,
    Double,
}

/// Instances of each form: other fields may prevent a constant in one of them.
const INSTANCES: usize = 4;

/// Sources with a different type in LLVM than in the row: instruction, source, LLVM's type, and the
/// reason.
const OTHERS: [(&str, Role, Width, &str); 5] = [
    ("v_ldexp_f16", Role::Src1, Width::Half, "an integer beside a half counts as one (Vega ISA 12.7)"),
    ("v_qsad_pk_u16_u8", Role::Src0, Width::Double, "eight bytes are one operand of 64 bits for LLVM"),
    ("v_mqsad_pk_u16_u8", Role::Src0, Width::Double, "eight bytes are one operand of 64 bits for LLVM"),
    ("v_mqsad_u32_u8", Role::Src0, Width::Double, "eight bytes are one operand of 64 bits for LLVM"),
    ("v_mqsad_pk_u16_u8", Role::Src2, Width::Double, "four sums are one operand of 64 bits for LLVM"),
];

/// The instruction whose first source LLVM does not encode as a constant. It encodes the low bits
/// as a register: see `disagreements.txt`.
const WITHOUT_CONSTANTS: (&str, Role) = ("v_cvt_scalef32_sr_pk_fp4_f32", Role::Src0);

/// How a source reads inline floats, by its type in the row.
fn width(name: &str, role: Role, elem: Elem) -> Width {
    if let Some((.., width, _)) = OTHERS.iter().find(|other| (other.0, other.1) == (name, role)) {
        return *width;
    }
    match elem {
        // LLVM has one type for both precisions: f16.
        Elem::F16 | Elem::Mix => Width::Half,
        Elem::Bf16 => Width::Brain,
        Elem::F64 | Elem::B64 | Elem::U64 | Elem::I64 => Width::Double,
        _ => Width::Single,
    }
}

fn has_types(encoding: Encoding) -> bool {
    use Encoding as E;
    matches!(encoding, E::Vop1 | E::Vop2 | E::Vopc | E::Vop3a | E::Vop3b | E::Vop3p)
}

/// A query: LLVM's result for a number in a source.
struct Asked {
    inst: Inst,
    role: Role,
    elem: Elem,
    number: Width,
}

fn questions(target: Target) -> (Vec<Asked>, Vec<String>) {
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for form in texts::forms(target).filter(|form| has_types(form.encoding)) {
        for inst in texts::instances(form, target, 200).take(INSTANCES) {
            let Some((mnemonic, operands, modifiers)) = texts::parts(&texts::text(&inst)) else { continue };
            let specs = form.op.row().operands;
            if specs.len() != operands.len() {
                continue;
            }
            for (at, spec) in specs.iter().enumerate().filter(|(_, spec)| spec.role.source().is_some()) {
                for (number, width) in ONES {
                    let mut operands = operands.clone();
                    operands[at] = number.to_owned();
                    let mut line = mnemonic.clone();
                    texts::join(&mut line, &operands, &modifiers);
                    lines.push(line);
                    all.push(Asked { inst, role: spec.role, elem: spec.ty.elem, number: width });
                }
            }
        }
    }
    (all, lines)
}

/// Compares the types of all sources.
pub(crate) fn agree(target: Target) -> Result<(), Failed> {
    let (asked, lines) = questions(target);
    let answers = assemble(target.name(), &lines).map_err(|missing| missing.to_string())?;
    let mut sources = 0;
    let mut differences: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for ((asked, line), answer) in asked.iter().zip(&lines).zip(&answers) {
        let Ok(bytes) = answer else { continue };
        let is_one = decode(target, bytes).is_ok_and(
            |inst| matches!(inst.operand(asked.role), Some(Operand::Float(float)) if float.code() == ONE),
        );
        let name = asked.inst.row().name();
        if (name, asked.role) == WITHOUT_CONSTANTS {
            continue;
        }
        let wanted = width(name, asked.role, asked.elem) == asked.number;
        sources += usize::from(is_one);
        // If LLVM rejects the number, it gives no information: the source allows no constant, or no
        // literal.
        if is_one != wanted {
            let verb = if is_one { "reads" } else { "does not read" };
            let what = format!("{name} {:?} {:?} {verb} {:?}", asked.role, asked.elem, asked.number);
            differences.entry(what).or_insert((0, line.clone())).0 += 1;
        }
    }
    let shown: Vec<String> =
        differences.iter().map(|(what, (count, line))| format!("{count:4} x {what}: {line}")).collect();
    assert!(sources > 1000, "{sources} sources");
    match shown.is_empty() {
        true => Ok(()),
        false => Err(format!("{} differences:\n{}", shown.len(), shown.join("\n")).into()),
    }
}
