//! Conformance of ALU operations: every lane of a group against a scalar reference, on special and
//! random sources, under all modes and with all modifiers.
//!
//! References are those of `wavemill_reference::cayman`, which follow the pages of HD 6900 ISA 8.2.
//! Where the manual leaves bits open, the documented choice counts. The conformance suite has the
//! same references, and leaves such bits out.

mod chains;
mod double;
mod single;

use std::collections::BTreeSet;

use wavemill_isa::cayman::{Elem, FieldId as F, Format as WordFormat, Inst, Op, Slots, SourceField};
use wavemill_isa::gcn::Fidelity;
use wavemill_oracle::SplitMix64;
use wavemill_reference::cayman::{self as reference, Operation, environment};
use wavemill_reference::{Env, F32, Format};

use super::machine::{Machine, Outcome, clause_code, set_gpr};

/// The register that slots write.
const RESULT: u32 = 4;

/// Floats of 32 bits that are special to some operation.
const FLOATS: &[u32] = &[
    0x0000_0000,
    0x8000_0000, // zeros
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4000_0000,
    0xc000_0000,
    0x4020_0000,
    0xc020_0000, // halfway between integers
    0x3f80_0001,
    0x3f7f_ffff,
    0x4b00_0001,
    0x4b7f_ffff,
    0xcb00_0001,
    0x4b80_0000, // integers with the last digit
    0x4effffff,
    0x4f00_0000,
    0xcf00_0000,
    0xcf00_0001,
    0x4f7f_ffff,
    0x4f80_0000, // the ends of 32-bit integers
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x807f_ffff, // denormals
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x0100_0000, // the smallest normal numbers
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f00_0000,
    0x7f80_0000,
    0xff80_0000, // the largest numbers, infinities
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
    0xff92_3456,
    0x7fff_ffff, // NaNs, quiet and signalling
    0x3e80_0000,
    0x3e00_0000,
    0x4380_0000,
    0xc380_0000,
    0x4380_0001,
    0x43c8_0000, // parts of a turn, the range of angles
    0x3380_0000,
    0xb280_0000,
    0x477f_e000,
    0x477f_f000,
    0x3880_0000,
    0x3300_0000, // the ends of f16
];

/// Integers that are special to some operation.
const INTEGERS: &[u32] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    23,
    24,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7f_ffff,
    0x80_0000,
    0xff_ffff,
    0x100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    0xffff_ff80,
    0x00ff_00ff,
    0xff00_ff00,
    0x0123_4567,
    0x0100_0001,
    0x0100_0003,
];

/// A source of a type: every second one is special.
pub(super) fn source(elem: Elem, random: &mut SplitMix64) -> u32 {
    let bits = random.next_u64() as u32;
    let special = |list: &[u32], random: &mut SplitMix64| list[random.below(list.len() as u64) as usize];
    match (elem, random.below(4)) {
        (Elem::F32, 0 | 1) => special(FLOATS, random),
        // Near one, so that sums and products are in range.
        (Elem::F32, 2) => bits & 0x80ff_ffff | 0x3f00_0000 | bits >> 8 & 0x0080_0000,
        (Elem::F32, _) => bits,
        (_, 0 | 1) => special(INTEGERS, random),
        (_, 2) => bits & 0xff,
        _ => bits,
    }
}

/// A slot with sources from channel X of the registers 0, 1 and 2, and its result in a channel of
/// [`RESULT`].
pub(super) fn slot(op: Op, channel: u32) -> Inst {
    let fields = [(F::DstGpr, RESULT), (F::DstChan, channel), (F::Src1Sel, 1), (F::Src2Sel, 2)];
    fields.into_iter().fold(Inst::new(op), |inst, (field, value)| inst.with(field, value).unwrap_or(inst))
}

/// The slot with another value of a field that it has.
pub(super) fn with(inst: Inst, field: F, value: u32) -> Inst {
    inst.with(field, value).unwrap_or_else(|error| panic!("{inst:?}: {error}"))
}

/// The slot with a source from a channel of a register.
pub(super) fn reading(inst: Inst, index: usize, register: u32, channel: u32) -> Inst {
    let field = &SourceField::ALL[index];
    with(with(inst, field.select, register), field.channel, channel)
}

/// Runs a group on lanes of registers: `inputs[register][channel][lane]`.
pub(super) fn run(slots: &[Inst], inputs: &[[[u32; 64]; 4]], context: u32) -> Outcome {
    let mut slots = slots.to_vec();
    let last = slots.pop().expect("a slot");
    slots.push(with(last, F::Last, 1));
    let words: Vec<u64> = slots.iter().map(|slot| slot.word() as u64).collect();
    let machine = Machine { context: Some(context), ..Machine::default() };
    machine.run_code(&clause_code(&words), |registers, _| {
        for (register, channels) in inputs.iter().enumerate() {
            for (channel, lanes) in channels.iter().enumerate() {
                set_gpr(registers, register as u16, channel as u16, |lane| lanes[lane as usize]);
            }
        }
    })
}

/// Modifiers of a slot, as far as its row takes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modifiers {
    negate: [bool; 3],
    absolute: [bool; 3],
    omod: u32,
    clamp: bool,
}

impl Modifiers {
    pub(super) fn random(op: Op, random: &mut SplitMix64) -> Modifiers {
        let row = op.row();
        let mut one_of = |count: u64| random.below(count) == 0;
        Modifiers {
            negate: [0, 1, 2].map(|n| one_of(3) && row.takes_negation(n)),
            absolute: [0, 1, 2].map(|n| one_of(4) && row.takes_absolute(n)),
            omod: if one_of(2) && row.takes_output_modifier() { random.below(4) as u32 } else { 0 },
            clamp: random.below(4) == 0 && row.takes_clamp(),
        }
    }

    pub(super) fn on(&self, mut inst: Inst) -> Inst {
        for (n, field) in SourceField::ALL.iter().enumerate() {
            if self.negate[n] {
                inst = with(inst, field.negate, 1);
            }
            if let (true, Some(absolute)) = (self.absolute[n], field.absolute) {
                inst = with(inst, absolute, 1);
            }
        }
        for (field, value) in [(F::Omod, self.omod), (F::Clamp, self.clamp.into())] {
            if value != 0 {
                inst = with(inst, field, value);
            }
        }
        inst
    }

    /// None.
    pub(super) fn none() -> Modifiers {
        Modifiers { negate: [false; 3], absolute: [false; 3], omod: 0, clamp: false }
    }

    /// Whether OMOD or CLAMP changes the result.
    pub(super) fn changes_result(&self) -> bool {
        self.omod != 0 || self.clamp
    }

    /// A source after ABS, then NEG.
    pub(super) fn source(&self, n: usize, bits: u32) -> u32 {
        let bits = if self.absolute[n] { bits & 0x7fff_ffff } else { bits };
        if self.negate[n] { bits ^ 0x8000_0000 } else { bits }
    }

    /// The result after OMOD and CLAMP.
    pub(super) fn result(&self, bits: u32, env: Env) -> u32 {
        self.output(F32, bits.into(), env) as u32
    }

    /// The same of a format.
    pub(super) fn output(&self, format: Format, bits: u64, env: Env) -> u64 {
        reference::output(format, bits, self.omod, self.clamp, env)
    }
}

/// Checks instructions against their references. Instructions that take several slots have the same
/// sources in all of them.
pub(super) fn conform(table: &[Operation]) {
    for (number, &(name, reference)) in table.iter().enumerate() {
        let op = Op::from_name(name).unwrap_or_else(|| panic!("no instruction {name}"));
        let mut random = SplitMix64::new(number as u64);
        for round in 0..64 {
            let (context, chosen) = (round % 16, Modifiers::random(op, &mut random));
            let env = environment(context);
            let inputs: Vec<[[u32; 64]; 4]> = (0..3)
                .map(|n| {
                    let elem = op.row().sources.get(n).copied().unwrap_or(Elem::B32);
                    [std::array::from_fn(|_| source(elem, &mut random)), [0; 64], [0; 64], [0; 64]]
                })
                .collect();
            let channels: Vec<u32> = match op.row().slots {
                Slots::All => vec![0, 1, 2, 3],
                Slots::Three => (0..3 + round % 2).collect(),
                _ => vec![random.below(4) as u32],
            };
            let slots: Vec<Inst> = channels.iter().map(|channel| chosen.on(slot(op, *channel))).collect();
            let outcome = run(&slots, &inputs, context);
            for channel in channels {
                let found = outcome.gpr(RESULT as usize, channel as usize);
                for lane in 0..64 {
                    let given = [0, 1, 2].map(|n| inputs[n][0][lane]);
                    let sources = [0, 1, 2].map(|n| chosen.source(n, given[n]));
                    let want = chosen.result(reference(sources, env).result.chosen() as u32, env);
                    assert_eq!(
                        found[lane], want,
                        "{op:?} of {given:x?} with {chosen:?}, context {context:#x}, channel {channel}: \
                         found {:#x}, not {want:#x}",
                        found[lane],
                    );
                }
            }
        }
    }
}

/// Every instruction of ALU slots that has a meaning is in a table or has a test of its own.
#[test]
fn every_supported_instruction_is_tested() {
    let own = chains::TESTED.iter().chain(double::TESTED).chain(&[Op::Nop]).map(|op| op.row().name);
    let tested: BTreeSet<&str> =
        single::TABLES.iter().flat_map(|table| table.iter()).map(|(name, _)| *name).chain(own).collect();
    for &op in Op::ALL {
        let row = op.row();
        // Accesses to LDS have tests beside those of memory, MOVA with the control flow, and
        // interpolations with exports.
        let is_operation =
            matches!(row.format, WordFormat::Op2 | WordFormat::Op3) && !OF_CLAUSES.contains(&op);
        let is_operation = is_operation && !op.row().name.starts_with("INTERP_");
        if is_operation && row.fidelity != Fidelity::Unsupported {
            assert!(tested.contains(row.name), "{}", row.name);
        }
    }
}

/// Instructions that change the state of the clause instead of computing a result.
const OF_CLAUSES: &[Op] =
    &[Op::GroupBarrier, Op::SetMode, Op::SetLdsSize, Op::StoreFlags, Op::LoadStoreFlags];
