//! Fetches from textures, against the scalar reference of images (HD 6900 ISA 5, 8.3, 9.4).

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

use wavemill_ir::FaultKind;
use wavemill_lift::cayman::registers;
use wavemill_machine::{FaultCause, Registers};
use wavemill_oracle::SplitMix64;

use super::machine::{Machine, Outcome, assembled, set_active, set_gpr};
use crate::images::reference::{
    CUBE, D1, D1_ARRAY, D2_ARRAY, D3, Image, SAMPLES, Sampler, addressed, rgba8, sampled, set,
};
use crate::images::{mip_image, random};

/// The numbers of the resource and of the sampler.
const RESOURCE: usize = 7;
const SAMPLER: usize = 3;

/// A texture: memory, and the words of its resource for an address.
struct Texture<'a> {
    memory: &'a [u8],
    words: &'a dyn Fn(u64) -> [u32; 8],
    sampler: [u32; 4],
}

fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|dword| u32::from_le_bytes(*dword)).collect()
}

/// Runs fetches on a texture. T0 has the source of each lane; T1 is 7 in all channels.
fn run_with(
    texture: &Texture<'_>,
    source: &str,
    lanes: &[[u32; 4]; 64],
    more: impl Fn(&mut Registers) + Sync,
) -> Outcome {
    let machine = Machine { buffers: vec![dwords(texture.memory)], ..Machine::default() };
    let tables = |addresses: &[u64]| {
        let (mut resources, mut samplers) = (vec![0; 8 * 12], vec![0; 4 * 6]);
        resources[8 * RESOURCE..][..8].copy_from_slice(&(texture.words)(addresses[0]));
        samplers[4 * SAMPLER..][..4].copy_from_slice(&texture.sampler);
        vec![resources, samplers]
    };
    machine.run_with_tables(&assembled(source), tables, |registers, addresses| {
        for channel in 0..4 {
            set_gpr(registers, 0, channel, |lane| lanes[lane as usize][usize::from(channel)]);
            set_gpr(registers, 1, channel, |_| 7);
        }
        registers.set_uni64(registers::RESOURCE_TABLE, addresses[1]);
        registers.set_uni64(registers::SAMPLER_TABLE, addresses[2]);
        more(registers);
    })
}

fn run(texture: &Texture<'_>, fetches: &str, lanes: &[[u32; 4]; 64]) -> Outcome {
    run_with(texture, &program(fetches), lanes, |_| ())
}

fn program(fetches: &str) -> String {
    format!("tc loads\nhalt\nloads: {fetches}\n")
}

/// T1 of a lane.
fn result(outcome: &Outcome, lane: usize) -> [u32; 4] {
    [0, 1, 2, 3].map(|channel| outcome.gpr(1, channel)[lane])
}

fn floats(outcome: &Outcome, lane: usize) -> [f32; 4] {
    result(outcome, lane).map(f32::from_bits)
}

fn each_lane(f: impl FnMut(usize) -> [u32; 4]) -> [[u32; 4]; 64] {
    let mut f = f;
    std::array::from_fn(&mut f)
}

fn same(source: [f32; 4]) -> [[u32; 4]; 64] {
    [source.map(f32::to_bits); 64]
}

/// Loads name texels by integers; Z is the depth or the slice, also of an array of lines. Outside
/// is 0.
#[test]
fn loads() {
    for (kind, size) in
        [(D1, [9, 1, 1]), (9, [9, 5, 1]), (D3, [9, 5, 3]), (D1_ARRAY, [9, 1, 4]), (D2_ARRAY, [9, 5, 4])]
    {
        let image = Image { kind, num_format: 4, size, ..rgba8(9, 5) };
        let memory = random(kind, image.length());
        let words = |base| image.words(base);
        let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
        let mut source = SplitMix64::new(kind);
        let at: Vec<[u32; 3]> =
            (0..64).map(|_| size.map(|n| source.below(u64::from(n) + 1) as u32)).collect();
        let has = [true, matches!(kind, 9 | D3 | D2_ARRAY), matches!(kind, D3 | D1_ARRAY | D2_ARRAY)];
        let lanes = each_lane(|lane| {
            // Coordinates that the image lacks do not matter.
            let [x, y, z] = std::array::from_fn(|n| if has[n] { at[lane][n] } else { 77 });
            [x, y, z, 0]
        });
        let outcome = run(&texture, "ld r1.xyzw, r0.xyzw, res:7 smp:0", &lanes);
        for lane in 0..64 {
            let inside = (0..3).all(|n| !has[n] || at[lane][n] < size[n]);
            let texel: [u32; 3] = std::array::from_fn(|n| if has[n] { at[lane][n] } else { 0 });
            let wanted: [u32; 4] = std::array::from_fn(|n| match inside {
                true => u32::from(memory[image.at(texel) + n]),
                false => 0,
            });
            assert_eq!(result(&outcome, lane), wanted, "type {kind}, {:?}", at[lane]);
        }
    }
}

/// Selections of the source and of the result, and offsets of texels.
#[test]
fn loads_select_and_move() {
    let image = Image { num_format: 4, ..rgba8(8, 8) };
    let memory = random(5, image.length());
    let words = |base| image.words(base);
    let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
    let lanes = each_lane(|lane| [90, lane as u32 % 8, lane as u32 / 8, 91]);
    // X of the texel is Z, Y is Y; the slice and the level are 0.
    let outcome = run(&texture, "ld r1.w_01, r0.zy00, res:7 smp:0 offset_x:-4 offset_y:6", &lanes);
    for lane in 0..64 {
        let (x, y) = (lane as i64 / 8 - 2, lane as i64 % 8 + 3);
        let inside = (0..8).contains(&x) && (0..8).contains(&y);
        let w = if inside { memory[image.at([x as u32, y as u32, 0]) + 3] } else { 0 };
        assert_eq!(result(&outcome, lane), [u32::from(w), 7, 0, 1f32.to_bits()], "{x} {y}");
    }
    // Coordinates in order, moved on every axis.
    let image = Image { kind: D3, num_format: 4, size: [8, 8, 3], ..rgba8(8, 8) };
    let memory = random(6, image.length());
    let words = |base| image.words(base);
    let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
    let lanes = each_lane(|lane| [lane as u32 % 7, lane as u32 / 10, lane as u32 % 2, 0]);
    let outcome = run(&texture, "ld r1.xyzw, r0.xyzw, res:7 smp:0 offset_x:2 offset_y:2 offset_z:2", &lanes);
    for lane in 0..64 {
        let [x, y, z, _] = lanes[lane];
        let first = image.at([x + 1, y + 1, z + 1]);
        let wanted: [u32; 4] = std::array::from_fn(|n| u32::from(memory[first + n]));
        assert_eq!(result(&outcome, lane), wanted, "{:?}", lanes[lane]);
    }
    // A position between texels.
    let outcome = run(&texture, "ld r1.xyzw, r0.xyzw, res:7 smp:0 offset_x:1", &lanes);
    assert!(matches!(outcome.fault, Some((_, FaultCause::Instruction(FaultKind::Unsupported), _))));
}

/// The mip level is in W, and a texture with samples has the sample there.
#[test]
fn levels_and_samples_are_in_w() {
    let (image, memory) = mip_image();
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 4);
        set(&mut words, 188, 4, 4);
        words
    };
    let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
    let lanes = each_lane(|lane| [0, 0, 50, lane as u32 % 6]);
    let outcome = run(&texture, "ld r1.x___, r0.xyzw, res:7 smp:0", &lanes);
    for lane in 0..64 {
        let wanted = if lane % 6 < 5 { 10.0 * (lane % 6) as f32 } else { 0.0 };
        assert_eq!(floats(&outcome, lane)[0], wanted);
    }
    let image =
        Image { kind: SAMPLES, swizzle: 5, data_format: 4, num_format: 4, pitch: 16, ..rgba8(16, 16) };
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 2);
        set(&mut words, 188, 4, 2);
        words
    };
    // 4 KiB blocks of four samples: 1 KiB each.
    let memory: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
    let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
    let lanes = each_lane(|lane| [1, 0, 50, lane as u32 % 5]);
    let fetches = "ld r1.x___, r0.xyzw, res:7 smp:0\nget_number_of_samples r2.xyzw, r0.zzzz, res:7 smp:0";
    let lanes = lanes.map(|[x, y, _, w]| [x, y, 0, w]);
    let outcome = run(&texture, fetches, &lanes);
    for lane in 0..64 {
        assert_eq!(result(&outcome, lane)[0], [1, 257, 513, 769, 0][lane % 5]);
    }
    assert_eq!([0, 1, 2, 3].map(|channel| outcome.value(2, channel)), [16, 16, 1, 4]);
}

/// Points and linear filters with coordinates of each type, through all address modes.
#[test]
fn samples() {
    let image = rgba8(5, 4);
    let memory = random(21, image.length());
    let words = |base| image.words(base);
    let mut source = SplitMix64::new(22);
    for clamp in 0..8 {
        for (bilinear, types) in [(false, "nnnn"), (true, "unuu"), (true, "nunn"), (false, "uuuu")] {
            let sampler = Sampler { clamp, bilinear, unnormalised: false, border: 1, ..Sampler::POINT };
            let parts: Vec<[i64; 2]> =
                (0..64).map(|_| [0, 1].map(|_| source.next_u64() as i64 % 2500)).collect();
            let lanes = each_lane(|lane| {
                let [x, y] = [0, 1].map(|axis| {
                    let size = if types.as_bytes()[axis] == b'u' { 1.0 } else { image.size[axis] as f32 };
                    (parts[lane][axis] as f32 / 256.0 / size).to_bits()
                });
                // The third coordinate and W do not matter.
                [x, y, 0x4300_0000, 0x4300_0000]
            });
            let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
            let fetch = format!("sample_lz r1.xyzw, r0.xyzw, res:7 smp:3 offset_x:-2 ct:{types}");
            let outcome = run(&texture, &fetch, &lanes);
            for lane in 0..64 {
                for channel in 0..4 {
                    let wanted = filtered(sampler, &image, &memory, parts[lane], channel);
                    let found = floats(&outcome, lane)[channel];
                    assert!(
                        (f64::from(found) - wanted).abs() < 1e-6,
                        "{sampler:?} {types}: {found} {wanted}"
                    );
                }
            }
        }
    }
}

/// A sample one texel to the left of a position in parts of a texel.
fn filtered(sampler: Sampler, image: &Image, memory: &[u8], at: [i64; 2], channel: usize) -> f64 {
    let size = [image.size[0], image.size[1]];
    // An offset moves the texels that the address mode names, so the picture is moved the other way.
    let wanted = |texel: Option<[i64; 2]>| match texel {
        Some([x, y]) => {
            f64::from((f64::from(memory[image.at([x as u32, y as u32, 0]) + channel]) / 255.0) as f32)
        }
        None => [0.0, 0.0, 0.0, 1.0][channel],
    };
    if matches!(sampler.clamp, 4 | 5) {
        // These modes limit the position before the offset is added.
        let limit = 256 * i64::from(size[0]);
        let x = at[0].clamp(if sampler.clamp == 4 { 0 } else { -limit }, limit);
        let edge = i64::from(!sampler.bilinear && x == limit);
        let mode = Sampler { clamp: if sampler.clamp == 4 { 6 } else { 7 }, ..sampler };
        let y = at[1]
            .clamp(if sampler.clamp == 4 { 0 } else { -256 * i64::from(size[1]) }, 256 * i64::from(size[1]));
        let edge_y = i64::from(!sampler.bilinear && y == 256 * i64::from(size[1]));
        return sampled(mode, size, [x - 256 - 256 * edge, y - 256 * edge_y], wanted);
    }
    sampled(sampler, size, [at[0] - 256, at[1]], wanted)
}

/// The level of detail: from the quad, from W, zero, from gradients, and with bias.
#[test]
fn levels_of_detail() {
    let (image, memory) = mip_image();
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 4);
        set(&mut words, 188, 4, 4);
        words
    };
    let level = |fetches: &str, lanes: &[[u32; 4]; 64], lane: usize| {
        let sampler = Sampler { unnormalised: false, mip: 2, ..Sampler::POINT };
        let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
        floats(&run(&texture, fetches, lanes), lane)[0] / 10.0
    };
    let near = |found: f32, wanted: f32| assert!((found - wanted).abs() <= 1.0 / 128.0, "{found} {wanted}");
    // W is the level, or nothing.
    for (w, wanted) in [(0.0, 0.0), (1.25, 1.25), (9.0, 4.0), (-3.0, 0.0)] {
        let lanes = same([0.5, 0.5, 9.0, w]);
        near(level("sample_l r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &lanes, 5), wanted);
        near(level("sample_lz r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &lanes, 5), 0.0);
        // Without differences in the quad, the finest level.
        near(level("sample r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &lanes, 5), 0.0);
    }
    // A quad steps 4 texels to the right and 2 downwards: the longer one is 2 levels.
    let quad = each_lane(|lane| {
        let (x, y) = (lane % 2, lane / 2 % 2);
        [0.1 + 0.25 * x as f32, 0.1 + 0.125 * y as f32, 0.0, 0.5].map(f32::to_bits)
    });
    for lane in [0, 3, 62] {
        near(level("sample r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &quad, lane), 2.0);
        // The bias is W, plus that of the instruction in 1/16.
        near(level("sample_lb r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &quad, lane), 2.5);
        near(level("sample_lb r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn lod_bias:-20", &quad, lane), 1.25);
        // Coordinates that count texels have level 0.
        near(level("sample r1.xyzw, r0.xyzw, res:7 smp:3 ct:uunn", &quad, lane), 0.0);
    }
    // Lanes that are not active take part in differences, whether the source is in order or not.
    for fetch in [
        "sample r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn",
        "sample r1.x___, r0.yxzw, res:7 smp:3 ct:nnnn",
        "sample_lb r1.xyzw, r0.xyz0, res:7 smp:3 ct:nnnn",
        "get_comp_tex_lod r1.x___, r0.yxzw, res:7 smp:3 ct:nnnn",
    ] {
        let sampler = Sampler { unnormalised: false, mip: 2, ..Sampler::POINT };
        let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
        let active = 0x8421_0000_8421_8421;
        let outcome = run_with(&texture, &program(fetch), &quad, |registers| set_active(registers, active));
        for lane in (0..64).filter(|lane| active >> lane & 1 != 0) {
            let level = floats(&outcome, lane)[0];
            near(if fetch.starts_with("get") { level } else { level / 10.0 }, 2.0);
        }
        assert_eq!(result(&outcome, 1), [7; 4]);
    }
    // Gradients of 8 texels along y to the right, and of 2 along x downwards.
    let gradients = "set_gradients_h r1.____, r2.xyzw, res:7 smp:3 ct:nnnn
        set_gradients_v r1.____, r2.zwxy, res:7 smp:3 ct:nnnn";
    let sampler = Sampler { unnormalised: false, mip: 2, ..Sampler::POINT };
    for (fetch, wanted) in [("sample_g", 3.0), ("sample_g_lb", 3.5), ("sample_g", 3.0)] {
        let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
        let source = program(&format!("{gradients}\n{fetch} r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn"));
        let outcome = run_with(&texture, &source, &same([0.5, 0.5, 0.0, 0.5]), |registers| {
            for (channel, value) in [0.0f32, 0.5, 0.125, 0.0].into_iter().enumerate() {
                set_gpr(registers, 2, channel as u16, |_| value.to_bits());
            }
        });
        near(floats(&outcome, 9)[0] / 10.0, wanted);
    }
    // KEEP_GRADIENTS are those of the quad.
    let kept = "keep_gradients r1.____, r0.xyzw, res:7 smp:3 ct:nnnn
        sample_g r1.xyzw, r0.zzzz, res:7 smp:3 ct:nnnn";
    near(level(kept, &quad, 7), 2.0);
    // What a sample would use, and what it was before.
    let lanes = each_lane(|lane| [4.0 * (lane % 2) as f32, 0.0, 0.0, 0.0].map(f32::to_bits));
    let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
    let outcome = run(&texture, "get_comp_tex_lod r1.xyz_, r0.xyzw, res:7 smp:3 ct:nnnn", &lanes);
    assert_eq!(floats(&outcome, 0)[..3], [4.0, 6.0, 0.0]);
    // Sizes of the level in X.
    let lanes = each_lane(|lane| [lane as u32 % 3, 0, 0, 0]);
    let outcome = run(&texture, "get_texture_resinfo r1.xyzw, r0.xyzw, res:7 smp:0", &lanes);
    for lane in 0..64 {
        assert_eq!(result(&outcome, lane), [16 >> (lane % 3), 16 >> (lane % 3), 1, 5]);
    }
}

/// GET_GRADIENTS: differences in quads, one for the quad or one for each pair of lanes, of all
/// lanes.
#[test]
fn gradients() {
    let mut source = SplitMix64::new(4);
    let lanes = each_lane(|_| std::array::from_fn(|_| (source.below(1000) as f32).to_bits()));
    let texture = Texture { memory: &[], words: &|_| [0; 8], sampler: [0; 4] };
    for (name, fine, pair) in [
        ("get_gradients_h", false, (|_| (0, 1)) as fn(usize) -> (usize, usize)),
        ("get_gradients_v", false, |_| (0, 2)),
        ("get_gradients_h", true, |lane| (lane & 2, lane & 2 | 1)),
        ("get_gradients_v", true, |lane| (lane & 1, lane & 1 | 2)),
    ] {
        let fetch = format!("{name} r1.xyzw, r0.xyzw, res:7 smp:0 ct:nnnn inst_mod:{}", u32::from(fine));
        let active = 0x7777_0f0f_ffff_1248;
        let outcome = run_with(&texture, &program(&fetch), &lanes, |registers| set_active(registers, active));
        for lane in 0..64 {
            let (from, to) = pair(lane % 4);
            let wanted = std::array::from_fn(|n| {
                let value = |other: usize| f32::from_bits(lanes[lane / 4 * 4 + other][n]);
                value(to) - value(from)
            });
            let is_active = active >> lane & 1 != 0;
            let wanted = if is_active { wanted.map(f32::to_bits) } else { [7; 4] };
            assert_eq!(result(&outcome, lane), wanted, "{fetch}, lane {lane}");
        }
    }
}

/// Comparisons have the reference in W; where W is a level or a bias, in Z.
#[test]
fn comparisons() {
    let image = Image { data_format: 4, num_format: 7, select: [4, 0, 0, 1], ..rgba8(2, 2) };
    let values = [0.25f32, 0.5, 0.75, f32::NAN];
    let mut memory = vec![0; image.length()];
    for (n, value) in values.into_iter().enumerate() {
        let at = image.at([n as u32 % 2, n as u32 / 2, 0]);
        memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let words = |base| image.words(base);
    let holds: [fn(f32, f32) -> bool; 4] = [|r, t| r < t, |r, t| r <= t, |r, t| r > t, |r, t| r >= t];
    for (compare, holds) in [1, 3, 4, 6].into_iter().zip(holds) {
        let sampler = Sampler { compare, unnormalised: false, ..Sampler::POINT };
        let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
        let reference = |lane: usize| [0.25f32, 0.5, 0.75, 1.0][lane / 4 % 4];
        for (fetch, is_in_z) in [
            ("sample_c", false),
            ("sample_c_lz", false),
            ("sample_c_g", false),
            ("sample_c_l", true),
            ("sample_c_lb", true),
            ("sample_c_g_lb", true),
        ] {
            let lanes = each_lane(|lane| {
                let (x, y) = ((lane % 2) as f32 / 2.0 + 0.25, (lane / 2 % 2) as f32 / 2.0 + 0.25);
                let (z, w) = if is_in_z { (reference(lane), 0.0) } else { (8.0, reference(lane)) };
                [x, y, z, w].map(f32::to_bits)
            });
            let outcome = run(&texture, &format!("{fetch} r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn"), &lanes);
            for lane in 0..64 {
                let wanted = if holds(reference(lane), values[lane % 4]) { 1.0f32 } else { 0.0 };
                assert_eq!(
                    result(&outcome, lane),
                    [wanted.to_bits(), 0, 0, 1f32.to_bits()],
                    "{fetch} {lane}"
                );
            }
        }
        // Gathers compare each texel: lower left, lower right, upper right, upper left.
        for fetch in ["gather4_c", "gather4_c_o"] {
            let fetch = format!("{fetch} r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn");
            let outcome = run(&texture, &fetch, &same([0.5, 0.5, 3.0, 0.5]));
            let wanted = [values[2], values[3], values[1], values[0]];
            let wanted = wanted.map(|value| if holds(0.5, value) { 1.0 } else { 0.0 });
            assert_eq!(floats(&outcome, 3), wanted, "{fetch}");
        }
    }
    // The reference is the third coordinate, so there is none for a slice.
    let words = |base| Image { kind: D2_ARRAY, ..image.clone() }.words(base);
    let texture = Texture { memory: &memory, words: &words, sampler: Sampler::POINT.words() };
    let outcome = run(&texture, "sample_c_l r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnun", &same([0.0; 4]));
    assert!(
        matches!(outcome.fault, Some((_, FaultCause::Descriptor(problem), _)) if problem.field == "TYPE")
    );
}

/// Gathers: the texels around a position, moved by offsets of the instruction or of each lane. In
/// images of integers, the first one is the texel of the position.
#[test]
fn gathers() {
    gathers_of(0, [2, 6], |byte| (byte as f32 / 255.0).to_bits());
    gathers_of(4, [3, 6], |byte| byte);
}

/// Gathers of an image with this number format, around these first texels.
fn gathers_of(num_format: u64, [first, upper]: [i64; 2], component: fn(u32) -> u32) {
    let image = Image { num_format, ..rgba8(8, 8) };
    let memory = random(31, image.length());
    let words = |base| image.words(base);
    let byte = |x: i64, y: i64, channel: usize| {
        let [x, y] = [x, y].map(|at| addressed(0, at, 8).expect("it wraps") as u32);
        component(memory[image.at([x, y, 0]) + channel].into())
    };
    let sampler = Sampler { clamp: 0, unnormalised: false, ..Sampler::POINT };
    let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
    // 2.75 and 6.0 from the centres of texels.
    let lanes = same([3.25 / 8.0, 6.5 / 8.0, 0.0, 0.0]);
    for element in 0..4 {
        let around = |x: i64, y: i64| {
            let c = element as usize;
            [byte(x, y + 1, c), byte(x + 1, y + 1, c), byte(x + 1, y, c), byte(x, y, c)]
        };
        let fetch = format!("r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn inst_mod:{element}");
        let moved = format!("gather4 {fetch} offset_x:-6 offset_y:4");
        let outcome = run(&texture, &moved, &lanes);
        assert_eq!(result(&outcome, 5), around(first - 3, upper + 2));
        // Offsets in registers: 6 bits with a sign. Those of the instruction are ignored.
        let source = program(&format!(
            "set_texture_offsets r1.____, r2.xy0w, res:7 smp:3\n gather4_o {fetch} offset_x:-6"
        ));
        let outcome = run_with(&texture, &source, &lanes, |registers| {
            set_gpr(registers, 2, 0, |lane| lane.wrapping_sub(32));
            set_gpr(registers, 2, 1, |lane| 31u32.wrapping_sub(lane));
        });
        for lane in 0..64 {
            assert_eq!(
                result(&outcome, lane),
                around(first + lane as i64 - 32, upper + 31 - lane as i64),
                "{lane}"
            );
        }
    }
}

/// The number of a slice, and of a face, is Z.
#[test]
fn slices_and_faces() {
    let image = Image { kind: CUBE, data_format: 4, num_format: 7, size: [4, 4, 6], ..rgba8(4, 4) };
    let memory: Vec<u8> = (0..6).flat_map(|face| (face as f32).to_le_bytes().repeat(64 * 4)).collect();
    let sampler = Sampler { unnormalised: false, ..Sampler::POINT };
    for (kind, types, at) in
        [(CUBE, "nnnn", 1.5), (CUBE, "nnun", 1.5), (D2_ARRAY, "nnun", 0.5), (D1_ARRAY, "nnun", 0.5)]
    {
        let size = if kind == D1_ARRAY { [4, 1, 24] } else { image.size };
        let words = |base| Image { kind, size, ..image.clone() }.words(base);
        let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
        let lanes = each_lane(|lane| [at, at, (lane % 6) as f32, 0.0].map(f32::to_bits));
        let fetch = format!("sample_lz r1.xyzw, r0.xyzw, res:7 smp:3 ct:{types}");
        let outcome = run(&texture, &fetch, &lanes);
        for lane in 0..64 {
            // A line is a quarter of a face here.
            let wanted = if kind == D1_ARRAY { (lane % 6) / 4 } else { lane % 6 };
            assert_eq!(floats(&outcome, lane)[0], wanted as f32, "type {kind}, {types}");
        }
    }
    // Slices have numbers, whatever their count.
    let words = |base| Image { kind: D2_ARRAY, ..image.clone() }.words(base);
    let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
    let outcome = run(&texture, "sample_lz r1.xyzw, r0.xyzw, res:7 smp:3 ct:nnnn", &same([0.5; 4]));
    assert!(
        matches!(outcome.fault, Some((_, FaultCause::Descriptor(problem), _)) if problem.field == "TYPE")
    );
}

/// Without a table, and with an entry of zeros, nothing is bound: results are 0.
#[test]
fn nothing_is_bound() {
    let texture = Texture { memory: &[], words: &|_| [0; 8], sampler: [0; 4] };
    for fetch in ["ld", "sample", "gather4", "get_texture_resinfo"] {
        let fetch = format!("{fetch} r1.xyz1, r0.xyzw, res:7 smp:3");
        for table in [false, true] {
            let outcome = run_with(&texture, &program(&fetch), &same([0.5; 4]), |registers| {
                if !table {
                    registers.set_uni64(registers::RESOURCE_TABLE, 0);
                    registers.set_uni64(registers::SAMPLER_TABLE, 0);
                }
            });
            assert_eq!(result(&outcome, 0), [0, 0, 0, 1f32.to_bits()], "{fetch}");
        }
    }
    // There are 176 resources and 18 samplers.
    for (fetch, exists) in [
        ("ld r1.xyzw, r0.xyzw, res:175 smp:0", true),
        ("ld r1.xyzw, r0.xyzw, res:176 smp:0", false),
        ("sample r1.xyzw, r0.xyzw, res:0 smp:17", true),
        ("sample r1.xyzw, r0.xyzw, res:0 smp:18", false),
    ] {
        let outcome = run_with(&texture, &program(fetch), &same([0.5; 4]), |registers| {
            registers.set_uni64(registers::RESOURCE_TABLE, 0);
            registers.set_uni64(registers::SAMPLER_TABLE, 0);
        });
        let value = outcome.fault.as_ref().map(|(_, _, wave)| wave.rows[0][4][0]);
        assert_eq!(value, Some(if exists { 0 } else { 7 }), "{fetch}");
    }
}

/// Index registers are added to the numbers of resources and samplers. Beyond the last one is the
/// first one.
#[test]
fn numbers_are_indexed() {
    let image = Image { num_format: 4, ..rgba8(4, 4) };
    let memory = [5u8, 6, 7, 8].repeat(256);
    let words = |base| image.words(base);
    // The border is white.
    let sampler = Sampler { clamp: 6, border: 2, ..Sampler::POINT };
    let texture = Texture { memory: &memory, words: &words, sampler: sampler.words() };
    for (index, resource, found) in [(5, 2, 5), (4, 2, 0), (3, 4, 5), (200, 2, 0)] {
        let source = format!(
            "alu set\ntc loads\nhalt
            set: x: mova_int cf_idx1, r2.x ;;
            loads: ld r1.xyzw, r0.0000, res:{resource}+idx1 smp:0\n"
        );
        let outcome = run_with(&texture, &source, &same([0.0; 4]), |registers| {
            set_gpr(registers, 2, 0, |_| index);
        });
        assert_eq!(result(&outcome, 0)[0], found, "{index}");
    }
    for (index, is_white) in [(3, true), (2, false), (18, false)] {
        let source = "alu set\ntc loads\nhalt
            set: x: mova_int cf_idx0, r2.x ;;
            loads: sample_lz r1.xyzw, r0.xyzw, res:7 smp:0+idx0 ct:uuuu\n";
        let outcome = run_with(&texture, source, &same([-9.0, 0.0, 0.0, 0.0]), |registers| {
            set_gpr(registers, 2, 0, |_| index);
        });
        // The sampler of zeros repeats the image.
        assert_eq!(result(&outcome, 0)[0], if is_white { 1 } else { 5 }, "{index}");
    }
}

/// FETCH_WHOLE_QUAD fetches for quads with an active and valid lane; registers of a fetch can be
/// relative to the loop index.
#[test]
fn quads_and_relative_registers() {
    let image = Image { num_format: 4, ..rgba8(4, 4) };
    let memory = random(8, image.length());
    let words = |base| image.words(base);
    let texture = Texture { memory: &memory, words: &words, sampler: [0; 4] };
    let lanes = each_lane(|lane| [lane as u32 % 4, lane as u32 / 4 % 4, 0, 0]);
    let texel = |lane: usize| {
        let at = image.at([lane as u32 % 4, lane as u32 / 4 % 4, 0]);
        std::array::from_fn(|n| u32::from(memory[at + n]))
    };
    let active = 0x0000_0000_0001_8302;
    let fetch = "ld r1.xyzw, r0.xyzw, res:7 smp:0 fetch_whole_quad";
    let outcome = run_with(&texture, &program(fetch), &lanes, |registers| {
        set_active(registers, active);
        registers.set_uni64(registers::INVALID, 1 << 15);
    });
    for lane in 0..64 {
        let is_fetched = matches!(lane, 0..4 | 8..12 | 15..20);
        assert_eq!(result(&outcome, lane), if is_fetched { texel(lane) } else { [7; 4] }, "lane {lane}");
    }
    // The loop index is 3, and then beyond the registers: the source and the result are T0.
    for (index, to) in [(3, 4), (200, 0)] {
        let source = "loop_start @end const:0\ntc loads\nend: halt
            loads: ld r[al+1].xyzw, r[al+2].xyzw, res:7 smp:0\n";
        let outcome = run_with(&texture, source, &lanes, |registers| {
            let mut constants = [0; 64];
            constants[0] = 1 | index << 12;
            registers.set_row(registers::LOOP_CONSTANTS, &constants);
            (0..4).for_each(|channel| {
                set_gpr(registers, 5, channel, |lane| lanes[lane as usize][usize::from(channel)])
            });
        });
        for lane in 0..64 {
            assert_eq!([0, 1, 2, 3].map(|channel| outcome.gpr(to, channel)[lane]), texel(lane), "{index}");
        }
    }
}
