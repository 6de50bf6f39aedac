//! Exports of pixels and vertices, kills, and interpolation of parameters (HD 6900 ISA 3.4.1, 3.6,
//! 7.3.2, 8.1, 8.2).

use wavemill_ir::{ExportOp, ExportTarget};
use wavemill_lift::cayman::registers;
use wavemill_machine::Registers;
use wavemill_machine::engine::Export;
use wavemill_oracle::SplitMix64;

use super::machine::{Machine, Outcome, assembled, set_active, set_gpr};

const ONE: u32 = 0x3f80_0000;

/// A value that tells lane, register and channel.
fn value(register: u16, channel: u16, lane: u32) -> u32 {
    1_000_000 * u32::from(register) + 1000 * u32::from(channel) + lane
}

fn run(source: &str, more: impl Fn(&mut Registers) + Sync) -> Outcome {
    Machine::default().run_code(&assembled(source), |registers, _| {
        for register in 0..8 {
            (0..4).for_each(|channel| {
                set_gpr(registers, register, channel, |lane| value(register, channel, lane))
            });
        }
        more(registers);
    })
}

/// An export of these lanes. Sources are channels of registers, or constants.
fn exported(target: ExportTarget, last: bool, active: u64, sources: [Option<Source>; 4]) -> Export {
    let components = (0..4).filter(|n| sources[*n].is_some()).map(|n| 1 << n).sum();
    let valid = matches!(target, ExportTarget::Colour(_) | ExportTarget::Depth);
    let op = ExportOp { target, components, halves: false, last, valid };
    let lanes = |source: Source| {
        std::array::from_fn(|lane| match source {
            _ if active >> lane & 1 == 0 => 0,
            Source::Channel(register, channel) => value(register, channel, lane as u32),
            Source::Constant(bits) => bits,
        })
    };
    Export { op, active, sources: sources.into_iter().flatten().map(lanes).collect() }
}

#[derive(Clone, Copy)]
enum Source {
    Channel(u16, u16),
    Constant(u32),
}

fn channels(register: u16, channels: [u16; 4]) -> [Option<Source>; 4] {
    channels.map(|channel| Some(Source::Channel(register, channel)))
}

/// Targets, bursts, selections, and the last export of a kind.
#[test]
fn exports_of_all_kinds() {
    let outcome = run(
        "export pix0, r1.xyzw
        export pix6, r2.w_01 burst:1
        export_done pix61, r0.x___
        export pos60, r3.wzyx burst:3
        export_done param30, r2.xyzw burst:1
        end",
        |_| (),
    );
    assert_eq!(outcome.fault, None);
    let of = |register| {
        [Some(Source::Channel(register, 3)), None, Some(Source::Constant(0)), Some(Source::Constant(ONE))]
    };
    let wanted = vec![
        exported(ExportTarget::Colour(0), false, !0, channels(1, [0, 1, 2, 3])),
        exported(ExportTarget::Colour(6), false, !0, of(2)),
        exported(ExportTarget::Colour(7), false, !0, of(3)),
        exported(ExportTarget::Depth, true, !0, [Some(Source::Channel(0, 0)), None, None, None]),
        exported(ExportTarget::Position(0), false, !0, channels(3, [3, 2, 1, 0])),
        exported(ExportTarget::Position(1), false, !0, channels(4, [3, 2, 1, 0])),
        exported(ExportTarget::Position(2), false, !0, channels(5, [3, 2, 1, 0])),
        exported(ExportTarget::Position(3), false, !0, channels(6, [3, 2, 1, 0])),
        exported(ExportTarget::Parameter(30), false, !0, channels(2, [0, 1, 2, 3])),
        exported(ExportTarget::Parameter(31), true, !0, channels(3, [0, 1, 2, 3])),
    ];
    assert_eq!(outcome.exports, wanted);
}

/// Only pixels that are active and valid are exported. Killed pixels stay active, except where
/// VALID_PIXEL_MODE leaves them out.
#[test]
fn killed_pixels_are_not_exported() {
    let source = "alu test
        alu count
        alu_valid_pixel_mode count
        tc loads vpm
        export_done pix0, r1.xyzw
        halt
        test: x: kille_int _.x, r0.x, 2 ;;
        count: y: add_int r7.y, r7.y, 1 ;;
        loads: vfetch r6.1___, r0.x, buf:1 fmt:32 int
        vfetch r6._1__, r0.x, buf:1 fmt:32 int\n";
    // Lanes 6, 10, 14 and so on have 2 in T0.X, but only active ones are tested.
    let active = 0x0fff_ffff_0fff_ffff;
    let invalid = 0xff;
    let set = |registers: &mut Registers| {
        set_gpr(registers, 0, 0, |lane| lane % 4);
        set_gpr(registers, 7, 1, |_| 0);
        set_active(registers, active);
        registers.set_uni64(registers::INVALID, invalid);
        registers.set_uni(registers::bytes_of(registers::buffer(1)), 0);
    };
    let killed = (0..64).filter(|lane| lane % 4 == 2).map(|lane| 1u64 << lane).sum::<u64>() & active;
    let outcome = run(source, set);
    for lane in 0..64 {
        let is = |mask: u64| mask >> lane & 1 != 0;
        let is_valid = is(active) && !is(invalid | killed);
        let counted = u32::from(is(active)) + u32::from(is_valid);
        assert_eq!(outcome.gpr(7, 1)[lane], counted, "lane {lane}");
        for channel in [0, 1] {
            let fetched = if is_valid { ONE } else { value(6, channel, lane as u32) };
            assert_eq!(outcome.gpr(6, channel.into())[lane], fetched, "lane {lane}");
        }
    }
    let outcome = run(&source.replace("halt", "end"), set);
    let wanted =
        exported(ExportTarget::Colour(0), true, active & !invalid & !killed, channels(1, [0, 1, 2, 3]));
    assert_eq!(outcome.exports, [wanted]);
}

/// Dwords that are filled in LDS, in which parameters begin at this byte.
const DWORDS: u32 = 128;
const BASE: u32 = 32;

/// Fills LDS with numbers from lanes, and runs a clause. T0.x and T0.y are I and J.
fn interpolate(groups: &str, lds: &[f32], primitives: u32, i: &[f32; 64], j: &[f32; 64]) -> Outcome {
    let source = format!(
        "alu fill\nalu body\nhalt
        fill: x: lds_write r1.x, r1.y ;;\nx: lds_write r1.z, r1.w ;;
        body: {groups}\n"
    );
    let machine = Machine { lds: 4 * DWORDS, ..Machine::default() };
    machine.run_code(&assembled(&source), |registers, _| {
        for (first, channel) in [(0, 0), (64, 2)] {
            set_gpr(registers, 1, channel, |lane| 4 * (first + lane));
            set_gpr(registers, 1, channel + 1, |lane| lds[(first + lane) as usize].to_bits());
        }
        set_gpr(registers, 0, 0, |lane| i[lane as usize].to_bits());
        set_gpr(registers, 0, 1, |lane| j[lane as usize].to_bits());
        registers.set_uni(registers::PARAMETERS, BASE | primitives);
    })
}

/// A channel of a part of a parameter: of the primitive of a lane (HD 6900 ISA 7.3.3).
fn parameter(lds: &[f32], primitives: u32, number: usize, part: usize, channel: usize, lane: usize) -> f32 {
    let begins = |quad: usize| quad == 0 || primitives >> (15 + quad) & 1 != 0;
    let count = (0..16).filter(|quad| begins(*quad)).count();
    let primitive = (0..=lane / 4).filter(|quad| begins(*quad)).count() - 1;
    lds[BASE as usize / 4 + number * count * 12 + primitive * 12 + 4 * part + channel]
}

#[test]
fn parameters_are_interpolated() {
    let mut random = SplitMix64::new(17);
    let mut number = || (random.below(2000) as f32 - 1000.0) * 2f32.powi(random.below(9) as i32 - 12);
    let lds: Vec<f32> = (0..DWORDS).map(|_| number()).collect();
    let (i, j): ([f32; 64], [f32; 64]) =
        (std::array::from_fn(|_| number()), std::array::from_fn(|_| number()));
    // Quads 3 and 9 begin a primitive.
    let primitives = 1 << 18 | 1 << 24;
    // The slots X and Z have J, the others I; each instruction has two results.
    let all = |op: &str, results: [&str; 4]| {
        let slot = |n: usize| {
            let (letter, coordinate) = (["x", "y", "z", "w"][n], ["y", "x", "y", "x"][n]);
            format!("{letter}: {op} {}.{letter}, r0.{coordinate}, param2.x", results[n])
        };
        (0..4).map(slot).collect::<Vec<_>>().join("\n") + " ;;\n"
    };
    let groups = all("interp_xy", ["r2", "r2", "_", "_"])
        + &all("interp_zw", ["_", "_", "r2", "r2"])
        + "x: interp_x r3.x, r0.y, param1.x\ny: interp_x _.y, r0.x, param1.x ;;
        z: interp_z r3.z, r0.y, param1.x\nw: interp_z _.w, r0.x, param1.x ;;
        x: interp_load_p0 r4.x, param0.x\ny: interp_load_p10 r4.y, param1.y
        z: interp_load_p20 r4.z, param2.z\nw: interp_load_p20 r4.w, -param0.w mul:2 ;;
        x: mov r5.x, param_base_addr\ny: mov r5.y, new_prim_mask
        z: mov r5.z, prim_mask_hi\nw: mov r5.w, prim_mask_lo ;;\n";
    let outcome = interpolate(&groups, &lds, primitives, &i, &j);
    for lane in 0..64 {
        let part = |number, part, channel| parameter(&lds, primitives, number, part, channel, lane);
        let sum = |number: usize, channel: usize| {
            let [first, right, down] = [0, 1, 2].map(|n| f64::from(part(number, n, channel)));
            // Products of two f32 are exact in f64. The sum is rounded at its end.
            let sum = f64::from(i[lane]).mul_add(right, first);
            (f64::from(j[lane]).mul_add(down, sum)) as f32
        };
        for channel in 0..4 {
            let found = f32::from_bits(outcome.gpr(2, channel)[lane]);
            assert_eq!(found, sum(2, channel), "lane {lane}, channel {channel}");
        }
        assert_eq!(f32::from_bits(outcome.gpr(3, 0)[lane]), sum(1, 0), "lane {lane}");
        assert_eq!(f32::from_bits(outcome.gpr(3, 2)[lane]), sum(1, 2), "lane {lane}");
        let loaded = [part(0, 0, 0), part(1, 1, 1), part(2, 2, 2), -2.0 * part(0, 2, 3)];
        for (channel, wanted) in loaded.into_iter().enumerate() {
            assert_eq!(
                f32::from_bits(outcome.gpr(4, channel)[lane]),
                wanted,
                "lane {lane}, channel {channel}"
            );
        }
    }
    let quads = [0, 3, 9];
    let mask = quads.iter().fold(0, |mask, quad| mask | 1 << quad);
    assert_eq!((outcome.value(5, 0), outcome.value(5, 1)), (BASE, mask));
    // The expansion to 64 bits has those of all lanes of a quad.
    let lanes = quads.iter().fold(0u64, |mask, quad| mask | 0xf << (4 * quad));
    let wanted = ((lanes >> 32) as u32, lanes as u32);
    assert_eq!((outcome.value(5, 2), outcome.value(5, 3)), wanted);
}
