//! Inline constants against registers: every vector ALU instruction, in every encoding, with every
//! source and all selects and signs, gives the same result for a constant as for a register that
//! holds the bits of the constant.
//!
//! The test computes the bits from the types of the operands, by the rules of the manuals and of
//! LLVM's assembler.

use std::collections::BTreeMap;

use wavemill_interpreter::Tier;
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Access, Elem, Encoding, Fidelity, Flag, Form, Format, InlineFloat, Inst, Modifiers, Op, Operand, Role,
    SdwaSel, Special, State, Type,
};
use wavemill_machine::FaultCause;

use crate::common::Machine;
use wavemill_lift::gcn::registers;

const FORMATS: [Format; 5] = [Format::Vop1, Format::Vop2, Format::Vopc, Format::Vop3, Format::Vop3p];

/// Integers at the edges of the operand codes 128 to 208.
const INTEGERS: [i8; 6] = [0, 1, 63, 64, -1, -16];

/// Bits of the floats with the codes 240 to 248: half, single, double (IEEE 754; the last is 1 / (2 pi)).
const FLOATS: [(u16, u32, u64); 9] = [
    (0x3800, 0x3f00_0000, 0x3fe0_0000_0000_0000),
    (0xb800, 0xbf00_0000, 0xbfe0_0000_0000_0000),
    (0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000),
    (0xbc00, 0xbf80_0000, 0xbff0_0000_0000_0000),
    (0x4000, 0x4000_0000, 0x4000_0000_0000_0000),
    (0xc000, 0xc000_0000, 0xc000_0000_0000_0000),
    (0x4400, 0x4080_0000, 0x4010_0000_0000_0000),
    (0xc400, 0xc080_0000, 0xc010_0000_0000_0000),
    (0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
];

/// Instructions whose integer next to a half counts as a half (Vega ISA 12.7, V_LDEXP_F16; 12.9,
/// V_CMP_CLASS_F16).
const BESIDE_HALVES: [&str; 3] = ["v_ldexp_f16", "v_cmp_class_f16", "v_cmpx_class_f16"];

/// Registers of operands: sources, results of the instruction with the constant and of the one with
/// the register.
const SOURCES: [u8; 3] = [0, 4, 8];
const VALUE: u8 = 16;
const SCRATCH: u8 = 20;
const RESULTS: [u8; 2] = [32, 64];
const OLD: u8 = 96;
/// The difference of all results so far.
const DIFFERENCE: u8 = 22;
const CARRY: u8 = 20;
const EXEC_COPY: u8 = 22;
const MASKS: [u8; 2] = [24, 26];
const MASK_DIFFERENCE: u8 = 28;
const MASK_SCRATCH: u8 = 30;
const SCALAR_VALUE: u8 = 40;

fn vgprs(first: u8, dwords: u8) -> Operand {
    Operand::Vgpr { first, dwords }
}

fn sgprs(first: u8, dwords: u8) -> Operand {
    Operand::Sgpr { first, dwords }
}

const VCC: Operand = Operand::Special { reg: Special::VccLo, dwords: 2 };
const EXEC: Operand = Operand::Special { reg: Special::ExecLo, dwords: 2 };

/// All constants: the integers, then the floats.
fn constants() -> impl Iterator<Item = Operand> {
    let floats = (240..=248).map(|code| Operand::Float(InlineFloat::from_code(code).expect("a float")));
    INTEGERS.into_iter().map(Operand::Int).chain(floats)
}

/// The bits that a source of this type reads. `half` is the meaning of OP_SEL_HI for a source of
/// mixed precision.
fn bits(constant: Operand, elem: Elem, beside_half: bool, half: bool) -> u64 {
    let float = match constant {
        // Integers have the width of the operation that reads them, and are signed (Vega ISA
        // 6.2.1).
        Operand::Int(value) => return i64::from(value) as u64,
        Operand::Float(float) => FLOATS[float.code() as usize - 240],
        other => panic!("{other:?} is no inline constant"),
    };
    match elem {
        Elem::F16 => float.0.into(),
        Elem::Mix if half => float.0.into(),
        Elem::U16 | Elem::I16 if beside_half => float.0.into(),
        // The upper half of the single, in the low half of the operand.
        Elem::Bf16 => u64::from(float.1 >> 16),
        Elem::F64 | Elem::B64 | Elem::U64 | Elem::I64 => float.2,
        // Singles, integers of 32 bits and, truncated, of 16 bits. Packed elements: the first one
        // has it, the others are 0.
        _ => float.1.into(),
    }
}

/// An instruction with a constant, and the same with a register in its place.
struct Pair {
    with: [Inst; 2],
    /// The value of the register.
    value: u64,
}

/// A source of a form.
struct Place<'a> {
    target: Target,
    form: &'a Form,
    role: Role,
    ty: Type,
}

impl Place<'_> {
    fn build(&self, source: Operand, side: usize, modifiers: Modifiers) -> Option<Inst> {
        let op = self.form.op;
        let wide = matches!(self.form.encoding, Encoding::Vop3a | Encoding::Vop3b);
        let mut builder = Inst::build(self.target, op, self.form.encoding).ok()?.modifiers(modifiers);
        for spec in op.row().operands {
            let dwords = spec.ty.dwords();
            let operand = match spec.role {
                role if role == self.role => source,
                Role::Vdst => vgprs(RESULTS[side], dwords),
                Role::Sdst if wide || dwords == 1 => sgprs(MASKS[side], dwords),
                Role::Sdst => VCC,
                Role::Src2 if spec.ty.elem == Elem::Mask && wide => sgprs(CARRY, 2),
                Role::Src2 if spec.ty.elem == Elem::Mask => VCC,
                Role::Src0 => vgprs(SOURCES[0], dwords),
                Role::Src1 if spec.ty.elem == Elem::Lane => Operand::Int(3),
                Role::Src1 => vgprs(SOURCES[1], dwords),
                Role::Src2 => vgprs(SOURCES[2], dwords),
                Role::Literal => Operand::Literal(0x4049_4248),
                _ => return None,
            };
            builder = builder.operand(spec.role, operand);
        }
        builder.finish().ok().filter(|inst| inst.broken_rule().is_none())
    }

    /// The pair for a constant; `None` if the constant is not allowed here, or not with these
    /// modifiers.
    fn pair(&self, constant: Operand, modifiers: Modifiers) -> Option<Pair> {
        let constantly = self.build(constant, 0, modifiers)?;
        let dwords = self.ty.dwords();
        let register = [vgprs(VALUE, dwords), sgprs(SCALAR_VALUE, dwords)];
        let register = register.into_iter().find_map(|register| self.build(register, 1, modifiers));
        let register =
            register.unwrap_or_else(|| panic!("{constantly:?}: a constant is legal, and no register"));
        let row = self.form.op.row();
        let half = modifiers.op_sel_hi >> self.number() & 1 != 0;
        let beside = BESIDE_HALVES.contains(&row.name());
        Some(Pair { with: [constantly, register], value: bits(constant, self.ty.elem, beside, half) })
    }

    fn number(&self) -> u8 {
        self.role.source().expect("a source")
    }

    /// Modifiers that affect the source: all selects of halves, parts, and signs.
    fn modifiers(&self) -> Vec<Modifiers> {
        let plain = Modifiers::plain(self.form);
        let row = self.form.op.row();
        let bit = 1u8 << self.number();
        let mut all = vec![plain];
        match self.form.encoding {
            Encoding::Vop3p => {
                let sources = row.operands.iter().filter(|spec| spec.role.source().is_some()).count();
                let mask = (1u8 << sources) - 1;
                for selects in 0..=u8::MAX >> 2 {
                    let (op_sel, op_sel_hi) = (selects & 7, selects >> 3);
                    if op_sel & !mask == 0 && op_sel_hi & !mask == plain.op_sel_hi & !mask {
                        all.push(Modifiers { op_sel, op_sel_hi, ..plain });
                    }
                }
                for op_sel_hi in [0, 7] {
                    all.push(Modifiers { op_sel_hi, neg: bit, ..plain });
                    all.push(Modifiers { op_sel_hi, abs: bit, ..plain });
                    all.push(Modifiers { op_sel_hi, neg_hi: bit, ..plain });
                }
            }
            Encoding::Vop3a if row.has(Flag::Opsel, self.target) => {
                all.extend((1..16).map(|op_sel| Modifiers { op_sel, ..plain }));
            }
            _ => {}
        }
        if let Some(sdwa) = plain.sdwa {
            for &part in SdwaSel::ALL.iter().filter(|part| **part != SdwaSel::Reserved) {
                let mut sdwa = sdwa;
                *(if self.role == Role::Src0 { &mut sdwa.src0_sel } else { &mut sdwa.src1_sel }) = part;
                all.push(Modifiers { sdwa: Some(sdwa), ..plain });
                all.push(Modifiers { sdwa: Some(sdwa), sext: bit, ..plain });
            }
        }
        all.push(Modifiers { neg: bit, ..plain });
        all.push(Modifiers { abs: bit, ..plain });
        all
    }

    fn pairs(&self) -> Vec<Pair> {
        let modifiers = self.modifiers();
        constants().flat_map(|c| modifiers.iter().filter_map(move |m| self.pair(c, *m))).collect()
    }
}

/// A program, as words.
#[derive(Default)]
struct Program(Vec<u32>);

impl Program {
    fn push(&mut self, inst: &Inst) {
        self.0.extend(&inst.words()[..inst.size() / 4]);
    }

    fn op(&mut self, name: &str, operands: &[Operand]) {
        let op = Op::from_name(name).expect("it exists");
        let encoding = op.row().encodings(Target::Gfx906).next().expect("an encoding");
        let mut builder = Inst::build(Target::Gfx906, op, encoding).expect("it has the form");
        for (spec, operand) in op.row().operands.iter().zip(operands) {
            builder = builder.operand(spec.role, *operand);
        }
        self.push(&builder.finish().expect("it can be built"));
    }

    /// Runs both instructions of the pair, and adds the differences of their results to the earlier
    /// ones.
    fn pair(&mut self, pair: &Pair, old_value: &mut Option<u64>) {
        if old_value.replace(pair.value) != Some(pair.value) {
            for n in 0..2 {
                let part = Operand::Literal((pair.value >> (32 * n)) as u32);
                self.op("v_mov_b32", &[vgprs(VALUE + n, 1), part]);
                self.op("s_mov_b32", &[sgprs(SCALAR_VALUE + n, 1), part]);
            }
        }
        let row = pair.with[0].row();
        let result = row.operand(Role::Vdst).map_or(0, |spec| spec.ty.dwords());
        let old = row.operand(Role::Vdst).is_some_and(|spec| spec.access == Access::ReadWrite);
        let mask = pair.with[0].operand(Role::Sdst);
        for (side, inst) in pair.with.iter().enumerate() {
            for n in 0..if old { result } else { 0 } {
                self.op("v_mov_b32", &[vgprs(RESULTS[side] + n, 1), vgprs(OLD + n, 1)]);
            }
            self.op("s_mov_b64", &[VCC, sgprs(CARRY, 2)]);
            self.push(inst);
            if mask == Some(VCC) {
                self.op("s_mov_b64", &[sgprs(MASKS[side], 2), VCC]);
            }
            if row.writes.contains(State::Exec) {
                self.op("s_mov_b64", &[EXEC, sgprs(EXEC_COPY, 2)]);
            }
        }
        for n in 0..result {
            self.op("v_xor_b32", &[vgprs(SCRATCH, 1), vgprs(RESULTS[0] + n, 1), vgprs(RESULTS[1] + n, 1)]);
            self.op("v_or_b32", &[vgprs(DIFFERENCE, 1), vgprs(DIFFERENCE, 1), vgprs(SCRATCH, 1)]);
        }
        if mask.is_some() {
            self.op("s_xor_b64", &[sgprs(MASK_SCRATCH, 2), sgprs(MASKS[0], 2), sgprs(MASKS[1], 2)]);
            let difference = sgprs(MASK_DIFFERENCE, 2);
            self.op("s_or_b64", &[difference, difference, sgprs(MASK_SCRATCH, 2)]);
        }
    }
}

/// The dword of a register in a lane: small integers, arbitrary bits, singles and upper halves of
/// doubles, pairs of halves.
fn filling(register: u8, lane: u32) -> u32 {
    let any = (u32::from(register) * 64 + lane + 1).wrapping_mul(0x9e37_79b9);
    let any = (any ^ any >> 15).wrapping_mul(0x85eb_ca6b);
    let float = |n: u32| FLOATS[(any >> n) as usize % FLOATS.len()];
    match lane % 5 {
        0 => (any % 90).wrapping_sub(20),
        1 => any,
        2 => float(3).1,
        3 => (float(5).2 >> 32) as u32,
        _ => u32::from(float(3).0) | u32::from(float(9).0) << 16,
    }
}

/// Whether both instructions of each pair do the same.
fn agree(target: Target, pairs: &[Pair]) -> bool {
    let mut program = Program::default();
    let mut value = None;
    for pair in pairs {
        program.pair(pair, &mut value);
    }
    let mut machine = Machine::new(target);
    machine.registers.vgprs = 128;
    // Other tests compare tiers with each other.
    let tier = Tier::ALL.into_iter().rfind(|tier| tier.is_available()).expect("one is always there");
    let outcome = machine.run_on(tier, &program.0, &|regs, _| {
        for first in SOURCES.iter().chain(&RESULTS[..1]).chain(&[OLD]) {
            for n in 0..4 {
                let register = if *first == RESULTS[0] { OLD } else { *first } + n;
                regs.set_row(
                    registers::vgpr(u16::from(first + n)),
                    &std::array::from_fn(|l| filling(register, l as u32)),
                );
            }
        }
        for n in 0..4 {
            let row = std::array::from_fn(|lane| filling(OLD + n, lane as u32));
            regs.set_row(registers::vgpr(u16::from(RESULTS[1] + n)), &row);
        }
        regs.set_uni64(registers::EXEC, !0);
        regs.set_uni64(Uni(u16::from(EXEC_COPY)), !0);
        regs.set_uni64(Uni(u16::from(CARRY)), 0x3c5a_9966_f0f0_1203);
    });
    let outcome = match outcome {
        // Some combinations of modifiers have no meaning, so their constants cannot be tested.
        Err(FaultCause::Instruction(_)) if pairs.len() == 1 => return true,
        Err(FaultCause::Instruction(_)) => {
            return pairs.iter().all(|pair| agree(target, std::slice::from_ref(pair)));
        }
        outcome => outcome.expect("no memory is touched"),
    };
    let rows = outcome.wave.vgprs[usize::from(DIFFERENCE)].iter().all(|lane| *lane == 0);
    rows && outcome.sgpr64(usize::from(MASK_DIFFERENCE)) == 0
}

/// Compares every source of every instruction that runs on the target.
fn compare(target: Target) {
    let mut wrong = Vec::new();
    let mut places: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let runs = Op::ALL.iter().map(|op| op.row()).filter(|row| {
        FORMATS.contains(&row.format)
            && row.targets.contains(target)
            && row.fidelity(target) != Fidelity::Unsupported
    });
    for form in runs.flat_map(|row| row.forms()).filter(|form| form.targets.contains(target)) {
        for spec in form.op.row().operands.iter().filter(|spec| spec.role.source().is_some()) {
            let pairs = Place { target, form, role: spec.role, ty: spec.ty }.pairs();
            if pairs.is_empty() {
                continue;
            }
            let [sources, all] = places.entry(form.encoding.name()).or_default();
            (*sources, *all) = (*sources + 1, *all + pairs.len());
            if !agree(target, &pairs) {
                let first = pairs.iter().find(|pair| !agree(target, std::slice::from_ref(pair)));
                wrong.extend(first.map(|pair| {
                    format!("{:?} and {:x?} with {:#x}", pair.with[0], pair.with[1].words(), pair.value)
                }));
            }
        }
    }
    println!("{target:?}: sources and comparisons: {places:?}");
    assert!(wrong.is_empty(), "{} sources differ:\n{}", wrong.len(), wrong.join("\n"));
    // All encodings that accept constants; those with lane permutations do not.
    let sources: usize = places.values().map(|[sources, _]| sources).sum();
    assert!(places.len() == 10 && sources > 1600, "{sources} sources: {places:?}");
}

/// `v_fma_mix_f32 v2, v1, 1.0, v1` with 3.0 in the low half of v1 and 2.0 in the high half: a half
/// reads the bits of 1.0 in its low half and 0 in its high half, a single reads a single 1.0.
#[test]
fn constants_of_mixed_precision_are_what_op_sel_hi_says() {
    let cases: [(&str, [u32; 2], f32); 4] = [
        ("op_sel:[0,0,1] op_sel_hi:[1,1,1]", [0xd3a0_6002, 0x1c05_e501], 5.0),
        ("op_sel:[0,1,1] op_sel_hi:[1,1,1]", [0xd3a0_7002, 0x1c05_e501], 2.0),
        ("op_sel:[0,0,1] op_sel_hi:[1,0,1]", [0xd3a0_6002, 0x0c05_e501], 5.0),
        ("op_sel:[0,1,1] op_sel_hi:[1,0,1]", [0xd3a0_7002, 0x0c05_e501], 5.0),
    ];
    for target in [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        for (modifiers, words, expected) in cases {
            let outcome = Machine::new(target).run(&words, |regs, _| {
                regs.set_row(registers::vgpr(1), &[0x4000_4200; 64]);
                regs.set_uni64(registers::EXEC, !0);
            });
            let found = f32::from_bits(outcome.wave.vgprs[2][7]);
            assert_eq!(found, expected, "{modifiers} on {target}");
        }
    }
}

#[test]
fn constants_are_registers_with_their_bits_on_gfx906() {
    compare(Target::Gfx906);
}

#[test]
fn constants_are_registers_with_their_bits_on_gfx90a() {
    compare(Target::Gfx90a);
}

#[test]
fn constants_are_registers_with_their_bits_on_gfx942() {
    compare(Target::Gfx942);
}

#[test]
fn constants_are_registers_with_their_bits_on_gfx950() {
    compare(Target::Gfx950);
}
