//! Interpolation of parameters in LDS, against the layout of AMD's RDNA3 ISA 12.2.1 and exact
//! arithmetic.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};
use wavemill_reference::{F16, F32, Field, Mode, float_to_float, mad};

use super::lds::{LDS, OWN, filled};
use super::reference::{MASKS, Numbers, set_rows};
use crate::common::{MODE, Machine, home_words};
use wavemill_lift::gcn::registers;

const TARGETS: [Target; 3] = [Target::Gfx900, Target::Gfx906, Target::Gfx908];
/// VGPRs: the coordinate, a further source, and the result.
const COORDINATE: u32 = 5;
const THIRD: u32 = 6;
const RESULT: u32 = 9;

/// Floats of ordinary size, so that sums do not overflow.
fn float(bits: u32) -> u32 {
    let exponent = 0x3f00_0000 + (bits >> 24 & 3) * 0x0040_0000;
    bits & 0x803f_ffff | exponent
}

/// The parameters in LDS: two halves of ordinary size in each dword, if asked for.
fn contents(numbers: &mut Numbers, halves: bool) -> Vec<u8> {
    let dwords = (0..LDS / 4).map(|_| {
        let bits = numbers.row()[0];
        if halves { bits & 0xb7ff_b7ff | 0x2000_2000 } else { float(bits) }
    });
    dwords.flat_map(u32::to_le_bytes).collect()
}

/// The dword of a lane's parameter.
fn parameter(lds: &[u8], m0: u32, attribute: usize, part: usize, channel: usize, lane: usize) -> u32 {
    // Quad n of 1 to 15 begins a primitive if bit n of the upper half of M0, moved up by one, is set.
    let begins = |quad: usize| quad == 0 || m0 >> (15 + quad) & 1 != 0;
    let primitives = (0..16).filter(|quad| begins(*quad)).count();
    let primitive = (0..=lane / 4).filter(|quad| begins(*quad)).count() - 1;
    let at = (m0 & 0xffff) as usize + attribute * primitives * 48 + primitive * 48 + part * 16 + channel * 4;
    lds.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

struct Setup {
    m0: u32,
    exec: u64,
    mode: u32,
    lds: Vec<u8>,
    coordinate: [u32; 64],
    third: [u32; 64],
    old: [u32; 64],
}

fn setup(numbers: &mut Numbers, m0: u32, exec: u64, halves: bool) -> Setup {
    let lds = contents(numbers, halves);
    let mode = if exec & 1 != 0 { MODE } else { MODE | 0xf };
    let [coordinate, third, old] = std::array::from_fn(|_| numbers.row().map(float));
    Setup { m0, exec, mode, lds, coordinate, third, old }
}

/// The result register after an instruction.
fn run(target: Target, code: &[u32], setup: &Setup) -> [u32; 64] {
    let mut machine = Machine::new(target);
    machine.lds_size = LDS as u32;
    machine.mode = setup.mode;
    machine.buffers = vec![setup.lds.clone()];
    let set_mask = [0xbefe_0160]; // s_mov_b64 exec, s[96:97]
    let outcome = machine.run(&[&filled(target)[..], &set_mask, code].concat(), |regs, buffers| {
        regs.set_uni64(Uni(90), buffers[0]);
        regs.set_uni64(Uni(96), setup.exec);
        regs.set_uni(registers::M0, setup.m0);
        set_rows(regs, OWN as u16, &[std::array::from_fn(|lane| 64 * lane as u32)]);
        set_rows(regs, COORDINATE as u16, &[setup.coordinate]);
        set_rows(regs, THIRD as u16, &[setup.third]);
        set_rows(regs, RESULT as u16, &[setup.old]);
    });
    outcome.wave.vgprs[RESULT as usize]
}

fn compare(name: &str, setup: &Setup, found: &[u32; 64], expected: impl Fn(usize) -> u32) {
    for (lane, found) in found.iter().enumerate() {
        let wanted = if setup.exec >> lane & 1 != 0 { expected(lane) } else { setup.old[lane] };
        assert_eq!(*found, wanted, "{name}, lane {lane}, M0 {:#x}", setup.m0);
    }
}

/// One primitive; many; all; parameters that begin in the middle and go beyond the end of LDS.
const M0: [u32; 4] = [0, 0x0412_0040, 0x7fff_0000, 0x0001_0f80];

#[test]
fn single_precision() {
    let mut numbers = Numbers::new(21);
    for target in TARGETS {
        for (m0, exec) in M0.into_iter().flat_map(|m0| MASKS.map(|exec| (m0, exec))) {
            let setup = setup(&mut numbers, m0, exec, false);
            let env = Mode(setup.mode).env(Field::Single).flushing();
            let fields = |attribute, channel, source| {
                [(F::Vdst, RESULT), (F::Vsrc, source), (F::Attr, attribute), (F::AttrChan, channel)]
            };
            let value =
                |attribute, part, channel, lane| parameter(&setup.lds, m0, attribute, part, channel, lane);
            let sum = |a: u32, b: u32, c: u32| mad(F32, [a, b, c].map(u64::from), env) as u32;
            let code = home_words(target, Op::VInterpP1F32, &fields(1, 2, COORDINATE));
            compare("p1", &setup, &run(target, &code, &setup), |lane| {
                sum(value(1, 1, 2, lane), setup.coordinate[lane], value(1, 0, 2, lane))
            });
            let code = home_words(target, Op::VInterpP2F32, &fields(0, 1, COORDINATE));
            compare("p2", &setup, &run(target, &code, &setup), |lane| {
                sum(value(0, 2, 1, lane), setup.coordinate[lane], setup.old[lane])
            });
            for (slot, part) in [(0, 1), (1, 2), (2, 0)] {
                let code = home_words(target, Op::VInterpMovF32, &fields(2, 3, slot));
                compare("mov", &setup, &run(target, &code, &setup), |lane| value(2, part, 3, lane));
            }
        }
    }
}

#[test]
fn half_precision() {
    let mut numbers = Numbers::new(22);
    for (target, high) in TARGETS.into_iter().flat_map(|target| [(target, 0), (target, 1)]) {
        for (m0, exec) in M0.into_iter().flat_map(|m0| MASKS.map(|exec| (m0, exec))) {
            let setup = setup(&mut numbers, m0, exec, true);
            let mode = Mode(setup.mode);
            let (single, double) = (mode.env(Field::Single), mode.env(Field::Double));
            let fields = [
                (F::Vdst, RESULT),
                (F::Attr, 1),
                (F::AttrChan, 0),
                (F::High, high),
                (F::Vsrc, 256 + COORDINATE),
                (F::Src2, 256 + THIRD),
            ];
            let without_third = &fields[..5];
            let widen =
                |dword: u32| float_to_float(F16, F32, u64::from(dword >> (16 * high) & 0xffff), double);
            let value = |part, lane| widen(parameter(&setup.lds, m0, 1, part, 0, lane));
            let sum = |a: u64, lane: usize, c: u64| {
                mad(F32, [a, setup.coordinate[lane].into(), c], single.flushing())
            };
            let words = |op, fields: &[_]| home_words(target, op, fields);
            let code = words(Op::VInterpP1llF16, without_third);
            compare("p1ll", &setup, &run(target, &code, &setup), |lane| {
                sum(value(1, lane), lane, value(0, lane)) as u32
            });
            let code = words(Op::VInterpP1lvF16, &fields);
            compare("p1lv", &setup, &run(target, &code, &setup), |lane| {
                sum(value(1, lane), lane, widen(setup.third[lane])) as u32
            });
            for (op, keeps) in [(Op::VInterpP2LegacyF16, 0), (Op::VInterpP2F16, 0xffff_0000)] {
                let code = words(op, &fields);
                compare(op.row().name(), &setup, &run(target, &code, &setup), |lane| {
                    let sum = sum(value(2, lane), lane, setup.third[lane].into());
                    let env = wavemill_reference::Env { keeps_inputs: single.keeps_inputs, ..double };
                    float_to_float(F32, F16, sum, env) as u32 | setup.old[lane] & keeps
                });
            }
        }
    }
}
