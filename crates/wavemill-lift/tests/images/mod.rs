//! MIMG instructions run on a wave, against a reference that works lane by lane on byte arrays.

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

pub(crate) mod reference;

use wavemill_ir::{Row, Uni};
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Op};
use wavemill_machine::FaultCause;
use wavemill_oracle::SplitMix64;

use crate::common::{Machine, Outcome, home_words};
use reference::{
    CUBE, D1, D1_ARRAY, D2_ARRAY, D3, Image, SAMPLES, Sampler, addressed, display, rgba8, sampled, set,
    standard, volume,
};

const TARGET: Target = Target::Gfx906;
/// First registers: the resource, the sampler, the address, the data.
const RESOURCE: u32 = 8;
const SAMPLER: u32 = 16;
const ADDRESS: u32 = 2;
const DATA: u32 = 20;

/// An access to run.
struct Access<'a> {
    op: Op,
    fields: Vec<(F, u32)>,
    words: &'a (dyn Fn(u64) -> [u32; 8] + Sync),
    sampler: [u32; 4],
    /// Rows of the address.
    address: Vec<[u32; 64]>,
    data: Vec<[u32; 64]>,
    exec: u64,
}

impl<'a> Access<'a> {
    fn new(op: Op, image: &'a (dyn Fn(u64) -> [u32; 8] + Sync), address: Vec<[u32; 64]>) -> Access<'a> {
        Access {
            op,
            fields: vec![(F::Dmask, 15)],
            words: image,
            sampler: [0; 4],
            address,
            data: Vec::new(),
            exec: !0,
        }
    }

    fn with(mut self, fields: &[(F, u32)]) -> Self {
        for (id, value) in fields {
            self.fields.retain(|(other, _)| other != id);
            self.fields.push((*id, *value));
        }
        self
    }

    fn run(&self, memory: &[u8]) -> Result<Outcome, FaultCause> {
        self.run_on(TARGET, memory)
    }

    fn run_on(&self, target: Target, memory: &[u8]) -> Result<Outcome, FaultCause> {
        let mut machine = Machine::new(target);
        machine.buffers = vec![memory.to_vec()];
        let mut fields = vec![(F::Vaddr, ADDRESS), (F::Vdata, DATA), (F::Srsrc, RESOURCE / 4)];
        if self.op.row().operands.len() > 3 {
            fields.push((F::Ssamp, SAMPLER / 4));
        }
        fields.extend(&self.fields);
        machine.try_run(&home_words(target, self.op, &fields), |regs, buffers| {
            for (n, word) in (self.words)(buffers[0]).into_iter().enumerate() {
                regs.set_uni(Uni(RESOURCE as u16 + n as u16), word);
            }
            for (n, word) in self.sampler.into_iter().enumerate() {
                regs.set_uni(Uni(SAMPLER as u16 + n as u16), word);
            }
            for (n, row) in self.address.iter().enumerate() {
                regs.set_row(Row(ADDRESS as u16 + n as u16), row);
            }
            for (n, row) in self.data.iter().enumerate() {
                regs.set_row(Row(DATA as u16 + n as u16), row);
            }
            regs.set_uni64(Uni::ACTIVE, self.exec);
        })
    }
}

fn result(outcome: &Outcome, lane: usize) -> [u32; 4] {
    [0, 1, 2, 3].map(|n| outcome.wave.vgprs[DATA as usize + n][lane])
}

pub(crate) fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut source = SplitMix64::new(seed);
    (0..bytes).map(|_| source.next_u64() as u8).collect()
}

/// Rows with random values below the limits, and some far outside.
fn random_rows(seed: u64, limits: &[u32]) -> Vec<[u32; 64]> {
    let mut source = SplitMix64::new(seed);
    let one = |limit: &u32| {
        std::array::from_fn(|_| match source.next_u64() % 8 {
            0 => *limit,
            1 => u32::MAX - (source.next_u64() % 3) as u32,
            _ => source.next_u64() as u32 % limit,
        })
    };
    limits.iter().map(one).collect()
}

/// The channels of a texel, by format numbers; the formats that need no rounding table.
fn channels(image: &Image, bytes: &[u8]) -> [u32; 4] {
    let unorm = |n: u64, of: f64| ((n as f64 / of) as f32).to_bits();
    let mut value = [0, 0, 0, if matches!(image.num_format, 4 | 5) { 1 } else { 1f32.to_bits() }];
    let width = match image.data_format {
        1 | 3 | 10 => 1,
        2 | 5 | 12 => 2,
        _ => 4,
    };
    for (n, part) in bytes.chunks(width).enumerate() {
        let raw = part.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        let bits = 8 * width as u32;
        let signed = ((raw << (64 - bits)) as i64) >> (64 - bits);
        value[n] = match image.num_format {
            _ if width == 4 => raw as u32,
            0 => unorm(raw, (1u64 << bits) as f64 - 1.0),
            1 => ((signed as f64 / ((1u64 << (bits - 1)) as f64 - 1.0)).max(-1.0) as f32).to_bits(),
            2 => (raw as f32).to_bits(),
            3 => (signed as f32).to_bits(),
            5 => signed as u32,
            _ => raw as u32,
        };
    }
    value
}

fn selected(image: &Image, channels: [u32; 4]) -> [u32; 4] {
    let one = if matches!(image.num_format, 4 | 5) { 1 } else { 1f32.to_bits() };
    [0, 1, 2, 3].map(|n| match image.select[n] {
        0 => 0,
        1 => one,
        c => channels[c as usize - 4],
    })
}

const FORMATS: [(u64, usize); 9] =
    [(1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (10, 4), (11, 8), (12, 8), (14, 16)];

#[test]
fn loads_of_all_dimensions_and_formats() {
    for (n, (data_format, bytes)) in FORMATS.into_iter().enumerate() {
        for (kind, size, da) in [
            (D1, [19, 1, 1], 0),
            (reference::D2, [9, 7, 1], 0),
            (D3, [5, 4, 3], 0),
            (CUBE, [6, 6, 12], 1),
            (D1_ARRAY, [17, 1, 5], 1),
            (D2_ARRAY, [7, 3, 4], 1),
            // Without an index, slice 0.
            (D2_ARRAY, [7, 3, 4], 0),
            // An index that the image does not have.
            (reference::D2, [9, 7, 1], 1),
        ] {
            let num_format = [0, 1, 2, 3, 4, 5][(n + kind as usize) % 6];
            let image = Image {
                kind,
                data_format,
                num_format,
                bytes,
                size,
                pitch: size[0].next_multiple_of(256 / bytes as u32),
                swizzle: 0,
                select: [[4, 5, 6, 7], [6, 5, 4, 1], [0, 7, 1, 4]][n % 3],
            };
            let memory = random(n as u64, image.length());
            let axes = match kind {
                D1 | D1_ARRAY => 1,
                D3 => 3,
                _ => 2,
            };
            let mut limits = size[..axes].to_vec();
            if da == 1 {
                limits.push(size[2]);
            }
            let rows = random_rows(17 + kind, &limits);
            let words = |base| image.words(base);
            let access = Access::new(Op::ImageLoad, &words, rows.clone()).with(&[(F::Da, da)]);
            let outcome = access.run(&memory).unwrap();
            for lane in 0..64 {
                let mut at = [0; 3];
                (0..axes).for_each(|axis| at[axis] = rows[axis][lane]);
                if da == 1 && kind != reference::D2 {
                    at[2] = rows[axes][lane];
                }
                let inside = (0..3).all(|axis| at[axis] < size[axis]);
                let bytes = match inside {
                    true => memory[image.at(at)..][..bytes].to_vec(),
                    false => vec![0; bytes],
                };
                let wanted = selected(&image, channels(&image, &bytes));
                assert_eq!(result(&outcome, lane), wanted, "{image:?} {at:?}");
            }
        }
    }
}

#[test]
fn masks_halves_and_short_addresses() {
    let image = rgba8(9, 7);
    let memory = random(3, image.length());
    let words = |base| image.words(base);
    let rows = random_rows(5, &[9, 7]);
    let whole = Access::new(Op::ImageLoad, &words, rows.clone()).run(&memory).unwrap();
    for dmask in 0..16u32 {
        let access = Access::new(Op::ImageLoad, &words, rows.clone());
        let outcome = access.with(&[(F::Dmask, dmask), (F::Tfe, 1)]).run(&memory).unwrap();
        // No channel is the first one.
        let wanted: Vec<usize> = (0..4).filter(|n| dmask.max(1) >> n & 1 != 0).collect();
        for lane in 0..64 {
            let full = result(&whole, lane);
            for (n, channel) in wanted.iter().enumerate() {
                assert_eq!(outcome.wave.vgprs[DATA as usize + n][lane], full[*channel], "{dmask:#x} {lane}");
            }
            assert_eq!(outcome.wave.vgprs[DATA as usize + wanted.len()][lane], 0, "the status");
        }
    }
    // Integers, as the halves of floats are tested with the conversions.
    let image = Image { num_format: 4, ..image };
    let words = |base| image.words(base);
    let whole = Access::new(Op::ImageLoad, &words, rows.clone()).run(&memory).unwrap();
    // Coordinates that fit into halves, but the ones far outside.
    let short: [u32; 64] = std::array::from_fn(|lane| rows[0][lane] & 0xffff | rows[1][lane] << 16);
    let access =
        Access::new(Op::ImageLoad, &words, vec![short]).with(&[(F::A16, 1), (F::D16, 1), (F::Dmask, 13)]);
    let outcome = access.run(&memory).unwrap();
    for lane in 0..64 {
        let [r, _, b, a] = result(&whole, lane);
        assert_eq!(result(&outcome, lane)[..3], [r | b << 16, a, 0], "{lane}");
    }
}

#[test]
fn stores() {
    let image = Image { select: [6, 5, 4, 7], ..rgba8(9, 7) };
    let memory = random(4, image.length());
    let words = |base| image.words(base);
    let rows = random_rows(6, &[9, 7]);
    let value = |lane: usize, n: usize| (lane * 4 + n) as f32 / 255.0;
    let data: Vec<[u32; 64]> = (0..4).map(|n| std::array::from_fn(|lane| value(lane, n).to_bits())).collect();
    let exec = 0xf0f0_ffff_1234_5678;
    for dmask in [15u32, 5, 8] {
        let access =
            Access::new(Op::ImageStore, &words, rows.clone()).with(&[(F::Dmask, dmask), (F::Unorm, 1)]);
        let outcome = Access { data: data.clone(), exec, ..access }.run(&memory).unwrap();
        let mut wanted = memory.clone();
        for lane in (0..64).filter(|lane| exec >> lane & 1 != 0) {
            let at = [rows[0][lane], rows[1][lane], 0];
            if at[0] >= 9 || at[1] >= 7 {
                continue;
            }
            // Red, green, blue and alpha go to bytes 2, 1, 0 and 3; those without data are 0.
            let mut rgba = [0; 4];
            let enabled = (0..4).filter(|n| dmask >> n & 1 != 0);
            enabled.enumerate().for_each(|(n, channel)| rgba[channel] = (lane * 4 + n) as u8);
            wanted[image.at(at)..][..4].copy_from_slice(&[rgba[2], rgba[1], rgba[0], rgba[3]]);
        }
        assert!(outcome.buffers[0] == wanted, "{dmask:#x}");
    }
    // The bits as they are.
    let access = Access::new(Op::ImageStorePck, &words, rows.clone()).with(&[(F::Dmask, 1)]);
    let outcome = Access { data: data.clone(), ..access }.run(&memory).unwrap();
    let lane = (0..64).rfind(|lane| rows[0][*lane] < 9 && rows[1][*lane] < 7).unwrap();
    let at = image.at([rows[0][lane], rows[1][lane], 0]);
    assert_eq!(outcome.buffers[0][at..at + 4], data[0][lane].to_le_bytes());
}

#[test]
fn raw_loads() {
    let image = Image { data_format: 2, num_format: 0, bytes: 2, pitch: 128, ..rgba8(9, 7) };
    let memory = random(8, image.length());
    let words = |base| image.words(base);
    let rows = random_rows(9, &[9, 7]);
    for (op, signed) in [(Op::ImageLoadPck, false), (Op::ImageLoadPckSgn, true)] {
        let outcome = Access::new(op, &words, rows.clone()).with(&[(F::Dmask, 1)]).run(&memory).unwrap();
        for lane in 0..64 {
            let at = [rows[0][lane], rows[1][lane], 0];
            let raw = match at[0] < 9 && at[1] < 7 {
                true => u16::from_le_bytes(memory[image.at(at)..][..2].try_into().unwrap()),
                false => 0,
            };
            let wanted = if signed { raw as i16 as u32 } else { raw.into() };
            assert_eq!(result(&outcome, lane)[0], wanted);
        }
    }
}

type Update = fn(u64, u64, u64) -> u64;

#[test]
fn atomics() {
    use Op::*;
    let ops: [(Op, Update); 13] = [
        (ImageAtomicSwap, |_, data, _| data),
        (ImageAtomicCmpswap, |old, data, cmp| if old == cmp { data } else { old }),
        (ImageAtomicAdd, |old, data, _| old.wrapping_add(data)),
        (ImageAtomicSub, |old, data, _| old.wrapping_sub(data)),
        (ImageAtomicSmin, |old, data, _| (old as i32).min(data as i32) as u64),
        (ImageAtomicUmin, |old, data, _| old.min(data)),
        (ImageAtomicSmax, |old, data, _| (old as i32).max(data as i32) as u64),
        (ImageAtomicUmax, |old, data, _| old.max(data)),
        (ImageAtomicAnd, |old, data, _| old & data),
        (ImageAtomicOr, |old, data, _| old | data),
        (ImageAtomicXor, |old, data, _| old ^ data),
        (ImageAtomicInc, |old, data, _| if old >= data { 0 } else { old + 1 }),
        (ImageAtomicDec, |old, data, _| if old == 0 || old > data { data } else { old - 1 }),
    ];
    let image = Image { data_format: 4, num_format: 4, ..rgba8(3, 2) };
    let words = |base| image.words(base);
    let memory = random(11, image.length());
    let rows = random_rows(12, &[3, 2]);
    let mut source = SplitMix64::new(13);
    let data: Vec<[u32; 64]> =
        (0..2).map(|_| std::array::from_fn(|_| source.next_u64() as u32 % 5)).collect();
    for (op, update) in ops {
        let dmask = if op == ImageAtomicCmpswap { 3 } else { 1 };
        let access = Access::new(op, &words, rows.clone()).with(&[(F::Dmask, dmask), (F::Glc, 1)]);
        let outcome = Access { data: data.clone(), ..access }.run(&memory).unwrap();
        let mut wanted = memory.clone();
        for lane in 0..64 {
            let at = [rows[0][lane], rows[1][lane], 0];
            if at[0] >= 3 || at[1] >= 2 {
                assert_eq!(result(&outcome, lane)[0], 0, "{op}");
                continue;
            }
            let place = &mut wanted[image.at(at)..][..4];
            let old = u32::from_le_bytes(place[..].try_into().unwrap());
            assert_eq!(result(&outcome, lane)[0], old, "{op} {lane}");
            let new = update(old.into(), data[0][lane].into(), data[1][lane].into()) as u32;
            place.copy_from_slice(&new.to_le_bytes());
        }
        assert!(outcome.buffers[0] == wanted, "{op}");
    }
    // 64 bits.
    let image = Image { data_format: 11, num_format: 4, bytes: 8, pitch: 32, ..rgba8(3, 2) };
    let words = |base| image.words(base);
    let zero = vec![[0; 64]; 2];
    let access = Access::new(ImageAtomicAdd, &words, zero).with(&[(F::Dmask, 3)]);
    let all = random(14, image.length());
    let outcome = Access { data: vec![[0xffff_ffff; 64], [1; 64]], ..access }.run(&all).unwrap();
    let old = u64::from_le_bytes(all[..8].try_into().unwrap());
    let new = old.wrapping_add(0x1_ffff_ffff_u64.wrapping_mul(64));
    assert_eq!(outcome.buffers[0][..8], new.to_le_bytes());
}

/// A resource of zeros is an unbound texture (Vega ISA 8.1.8): loads and queries give 0, stores and
/// atomics do nothing. Other resources of a type that is no image are faults.
#[test]
fn resources_of_zeros_are_unbound() {
    use Op::{
        ImageAtomicAdd, ImageGather4, ImageGetResinfo, ImageLoad, ImageLoadMip, ImageLoadPck, ImageSample,
        ImageSampleC, ImageStore, ImageStorePck,
    };
    let memory = random(77, 4096);
    let exec = 0xffff_0000_5555_aaaa;
    let data: Vec<[u32; 64]> = vec![[0x1234_5678; 64]; 4];
    let zeros = |_| [0; 8];
    for (op, results) in [
        (ImageLoad, 4),
        (ImageLoadMip, 4),
        (ImageLoadPck, 4),
        (ImageGetResinfo, 4),
        (ImageSample, 4),
        (ImageSampleC, 4),
        (ImageGather4, 4),
        (ImageAtomicAdd, 1),
        (ImageStore, 0),
        (ImageStorePck, 0),
    ] {
        let dmask = if matches!(op, ImageAtomicAdd | ImageGather4) { 1 } else { 15 };
        let glc = u32::from(op == ImageAtomicAdd);
        let run = |words: &(dyn Fn(u64) -> [u32; 8] + Sync)| {
            let access = Access::new(op, words, vec![[0; 64]; 4]);
            let access = access.with(&[(F::Dmask, dmask), (F::Glc, glc)]);
            Access { data: data.clone(), exec, ..access }.run(&memory)
        };
        let outcome = run(&zeros).unwrap_or_else(|cause| panic!("{op}: {cause:?}"));
        assert!(outcome.buffers[0] == memory, "{op} changes memory");
        for lane in 0..64 {
            let read = if exec >> lane & 1 != 0 { results } else { 0 };
            let wanted: [u32; 4] = std::array::from_fn(|n| if n < read { 0 } else { 0x1234_5678 });
            assert_eq!(result(&outcome, lane), wanted, "{op}, lane {lane}");
        }
        for bit in [0, 40, 96, 255] {
            let others = |_| std::array::from_fn(|n| if n == bit / 32 { 1 << (bit % 32) } else { 0 });
            let refused = run(&others);
            assert!(matches!(refused, Err(FaultCause::Descriptor(_))), "{op} with bit {bit}");
        }
    }
}

#[test]
fn sizes_of_levels() {
    let image = Image { kind: D2_ARRAY, size: [40, 12, 5], ..rgba8(40, 12) };
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 108, 4, 1);
        set(&mut words, 112, 4, 3);
        set(&mut words, 188, 4, 4);
        set(&mut words, 160, 13, 2);
        words
    };
    let rows = vec![std::array::from_fn(|lane| lane as u32 % 4)];
    let outcome = Access::new(Op::ImageGetResinfo, &words, rows).run(&[0; 256]).unwrap();
    // The view begins at level 1 and at slice 2.
    for (lane, wanted) in [[20, 6, 3, 3], [10, 3, 3, 3], [5, 1, 3, 3], [0, 0, 0, 3]].into_iter().enumerate() {
        assert_eq!(result(&outcome, lane), wanted);
    }
}

#[test]
fn levels_are_below_each_other_in_linear_images() {
    // 5 x 5, 2 x 2, 1 x 1: rows 0 to 4, 5 to 7 (half, rounded up), 8 and 9.
    let image = Image { data_format: 4, num_format: 4, ..rgba8(5, 5) };
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 2);
        set(&mut words, 188, 4, 2);
        words
    };
    let memory: Vec<u8> = (0..64 * 12u32).flat_map(u32::to_le_bytes).collect();
    let lanes = [(4, 4, 0), (1, 1, 1), (0, 0, 2), (2, 0, 1), (0, 0, 3)];
    let row = |f: fn((u32, u32, u32)) -> u32| std::array::from_fn(|n| f(lanes[n % lanes.len()]));
    let rows = vec![row(|l| l.0), row(|l| l.1), row(|l| l.2)];
    let outcome = Access::new(Op::ImageLoadMip, &words, rows).with(&[(F::Dmask, 1)]).run(&memory).unwrap();
    for (lane, wanted) in [4 * 64 + 4, 6 * 64 + 1, 8 * 64, 0, 0].into_iter().enumerate() {
        assert_eq!(result(&outcome, lane)[0], wanted, "{lane}");
    }
}

/// Blocks in the standard order, against Direct3D's description of it.
#[test]
fn standard_blocks() {
    for (code, block_log2) in [(1, 8), (5, 12), (9, 16)] {
        for (data_format, bytes_log2) in [(1, 0), (2, 1), (4, 2), (11, 3), (14, 4)] {
            let texels_log2: u32 = block_log2 - bytes_log2;
            let (width, height) = (1 << texels_log2.div_ceil(2), 1 << (texels_log2 / 2));
            // Where rows and columns are not equal, the test finds out which is longer.
            let across = (0..).find(|n| standard(block_log2, bytes_log2, 1 << n, 0) == 0).unwrap_or(32);
            let (width, height) = match (1u32 << across.min(16)).cmp(&width) {
                std::cmp::Ordering::Less => (height, width),
                _ => (width, height),
            };
            let image = Image {
                kind: reference::D2,
                data_format,
                num_format: 4,
                bytes: 1 << bytes_log2,
                size: [2 * width, 2 * height, 1],
                pitch: 2 * width,
                swizzle: code,
                select: [4, 5, 6, 7],
            };
            let memory = random(code + data_format, 4 << block_log2);
            let words = |base| image.words(base);
            let rows = random_rows(code, &image.size[..2]);
            let outcome = Access::new(Op::ImageLoad, &words, rows.clone()).run(&memory).unwrap();
            for lane in 0..64 {
                let [x, y] = [rows[0][lane], rows[1][lane]];
                if x >= 2 * width || y >= 2 * height {
                    continue;
                }
                let block = u64::from(y / height * 2 + x / width);
                let within = standard(block_log2, bytes_log2, x % width, y % height);
                let at = ((block << block_log2) + within) as usize;
                let wanted = channels(&image, &memory[at..at + image.bytes]);
                assert_eq!(result(&outcome, lane), wanted, "mode {code}, {} bytes: {x} {y}", image.bytes);
            }
        }
    }
}

/// Blocks in display order, and blocks of volumes, against the other form of their equations that
/// the address library has.
#[test]
fn display_blocks_and_volumes() {
    for (code, block_log2) in [(2, 8), (6, 12), (10, 16)] {
        for (data_format, bytes_log2) in [(1, 0), (2, 1), (4, 2), (11, 3), (14, 4)] {
            let texels_log2: u32 = block_log2 - bytes_log2;
            // Blocks are as wide as high, or twice as wide.
            let size = [1 << texels_log2.div_ceil(2), 1 << (texels_log2 / 2), 1];
            let image = Image {
                data_format,
                num_format: 4,
                bytes: 1 << bytes_log2,
                size,
                pitch: size[0],
                swizzle: code,
                ..rgba8(1, 1)
            };
            let memory = random(code + data_format, 1 << block_log2);
            let words = |base| image.words(base);
            let rows = random_rows(code, &size[..2]);
            let outcome = Access::new(Op::ImageLoad, &words, rows.clone()).run(&memory).unwrap();
            for lane in 0..64 {
                let [x, y] = [rows[0][lane], rows[1][lane]];
                if x < size[0] && y < size[1] {
                    let at = display(block_log2, bytes_log2, x, y) as usize;
                    let wanted = channels(&image, &memory[at..at + image.bytes]);
                    assert_eq!(result(&outcome, lane), wanted, "mode {code}, {} bytes: {x} {y}", image.bytes);
                }
            }
        }
    }
    for (code, block_log2) in [(5, 12), (9, 16)] {
        for (data_format, bytes_log2) in [(1, 0), (2, 1), (4, 2), (11, 3), (14, 4)] {
            // A volume smaller than any block: one block.
            let size = [7, 6, 5];
            let image = Image {
                kind: D3,
                data_format,
                num_format: 4,
                bytes: 1 << bytes_log2,
                size,
                pitch: 64,
                swizzle: code,
                ..rgba8(1, 1)
            };
            let memory = random(code + data_format, 64 << block_log2);
            let words = |base| image.words(base);
            let rows = random_rows(code, &size);
            let outcome = Access::new(Op::ImageLoad, &words, rows.clone()).run(&memory).unwrap();
            for lane in 0..64 {
                let at = [rows[0][lane], rows[1][lane], rows[2][lane]];
                if (0..3).all(|axis| at[axis] < size[axis]) {
                    // The smallest blocks have four texels along each axis.
                    let byte = volume(block_log2, bytes_log2, at) as usize;
                    if at.iter().all(|part| *part < 4) || block_log2 == 16 {
                        let wanted = channels(&image, &memory[byte..byte + image.bytes]);
                        assert_eq!(
                            result(&outcome, lane),
                            wanted,
                            "mode {code}, {} bytes: {at:?}",
                            image.bytes
                        );
                    }
                }
            }
        }
    }
}

/// Coordinates of 16 bits with a sampler: derivatives of a direction and a bias have cells of their
/// own, an offset and a reference are whole cells (LLVM's rules for packing addresses).
#[test]
fn short_addresses_of_samples() {
    let (image, memory) = mip_image();
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 4);
        set(&mut words, 188, 4, 4);
        words
    };
    const HALF: u32 = 0x3800;
    const QUARTER: u32 = 0x3400;
    let both = |low: u32, high: u32| [low | high << 16; 64];
    let sampler = Sampler { unnormalised: false, mip: 2, ..Sampler::POINT };
    for (op, rows, level) in [
        // x, y; the level.
        (Op::ImageSampleL, vec![both(HALF, HALF), both(0x4000, 0xdead)], 2.0),
        // dx and dy to the right, then downwards: 4 texels.
        (Op::ImageSampleD, vec![both(QUARTER, 0), both(0, 0), both(HALF, HALF)], 2.0),
        // The offset; a bias of 1 on no derivatives is nothing.
        (Op::ImageSampleBO, vec![[0; 64], both(0x3c00, 0xdead), both(HALF, HALF)], 0.0),
        // A lower limit of 3.
        (Op::ImageSampleCl, vec![both(HALF, HALF), both(0x4200, 0)], 3.0),
    ] {
        let access = Access::new(op, &words, rows).with(&[(F::Dmask, 1), (F::A16, 1)]);
        let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
        assert_eq!(f32::from_bits(result(&outcome, 9)[0]), 10.0 * level, "{op}");
    }
}

#[test]
fn filters_and_address_modes() {
    let image = rgba8(5, 4);
    let memory = random(21, image.length());
    let words = |base| image.words(base);
    let mut source = SplitMix64::new(22);
    for clamp in 0..8 {
        for (bilinear, unnormalised, border) in
            [(false, true, 1), (true, true, 1), (true, false, 2), (false, false, 0)]
        {
            let sampler = Sampler { clamp, bilinear, unnormalised, border, ..Sampler::POINT };
            // Multiples of 1/256 of a texel are exact; sizes that are no powers of two are not.
            let parts: Vec<[i64; 64]> =
                (0..2).map(|_| std::array::from_fn(|_| source.next_u64() as i64 % 2500)).collect();
            let rows: Vec<[u32; 64]> = (0..2)
                .map(|axis| {
                    let size = if unnormalised { 1.0 } else { image.size[axis] as f32 };
                    parts[axis].map(|part| (part as f32 / 256.0 / size).to_bits())
                })
                .collect();
            let access = Access::new(Op::ImageSampleLz, &words, rows);
            let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
            for lane in 0..64 {
                let at = [parts[0][lane], parts[1][lane]];
                for channel in 0..4 {
                    let colour = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [1.0; 4]][border as usize][channel];
                    let wanted = sampled(sampler, [5, 4], at, |texel| match texel {
                        Some([x, y]) => {
                            let byte = memory[image.at([x as u32, y as u32, 0]) + channel];
                            f64::from((f64::from(byte) / 255.0) as f32)
                        }
                        None => colour,
                    });
                    let found = f32::from_bits(result(&outcome, lane)[channel]);
                    assert!((f64::from(found) - wanted).abs() < 1e-6, "{sampler:?} {at:?}: {found} {wanted}");
                    if !bilinear {
                        assert_eq!(found, wanted as f32, "a texel is not changed");
                    }
                }
            }
        }
    }
}

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
    let holds: [fn(f32, f32) -> bool; 8] = [
        |_, _| false,
        |r, t| r < t,
        |r, t| r == t,
        |r, t| r <= t,
        |r, t| r > t,
        |r, t| r != t,
        |r, t| r >= t,
        |_, _| true,
    ];
    for (compare, holds) in (0..).zip(holds) {
        let sampler = Sampler { compare, ..Sampler::POINT };
        let reference = |lane: usize| [0.25f32, 0.5, 0.75, 1.0][lane / 4 % 4];
        let rows = vec![
            std::array::from_fn(|lane| reference(lane).to_bits()),
            std::array::from_fn(|lane| ((lane % 2) as f32 + 0.5).to_bits()),
            std::array::from_fn(|lane| ((lane / 2 % 2) as f32 + 0.5).to_bits()),
        ];
        let access = Access::new(Op::ImageSampleCLz, &words, rows);
        let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
        for lane in 0..64 {
            let wanted = if holds(reference(lane), values[lane % 4]) { 1.0f32 } else { 0.0 };
            assert_eq!(result(&outcome, lane), [wanted.to_bits(), 0, 0, 1f32.to_bits()], "{compare} {lane}");
        }
    }
    // Two of four comparisons hold: the filter gives a half.
    let sampler = Sampler { compare: 1, bilinear: true, ..Sampler::POINT };
    let access = Access::new(
        Op::ImageSampleCLz,
        &words,
        vec![[0.4f32.to_bits(); 64], [1f32.to_bits(); 64], [1f32.to_bits(); 64]],
    );
    let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
    assert_eq!(f32::from_bits(result(&outcome, 0)[0]), 0.5);
}

#[test]
fn gathers_and_offsets() {
    let image = Image { num_format: 4, ..rgba8(8, 8) };
    let memory = random(31, image.length());
    let words = |base| image.words(base);
    let byte = |x: i64, y: i64, channel: usize| {
        let [x, y] = [x, y].map(|at| addressed(0, at, 8).unwrap() as u32);
        u32::from(memory[image.at([x, y, 0]) + channel])
    };
    let sampler = Sampler { clamp: 0, ..Sampler::POINT };
    // Offsets of 6 bits with a sign: -3 and 2.
    let offset = 0x3d | 2 << 8;
    let (x, y) = (3.25f32, 6.5f32);
    let rows = vec![[offset; 64], [x.to_bits(); 64], [y.to_bits(); 64]];
    for channel in 0..4 {
        let access = Access::new(Op::ImageGather4LzO, &words, rows.clone()).with(&[(F::Dmask, 1 << channel)]);
        let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
        // 2.75 and 6.0 from the centres of texels.
        let (x, y) = (2 - 3, 6 + 2);
        let c = channel as usize;
        let wanted = [byte(x, y + 1, c), byte(x + 1, y + 1, c), byte(x + 1, y, c), byte(x, y, c)];
        assert_eq!(result(&outcome, 5), wanted);
    }
    let access = Access::new(Op::ImageGather4h, &words, rows[1..].to_vec()).with(&[(F::Dmask, 2)]);
    let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
    assert_eq!(result(&outcome, 0), [0, 1, 2, 3].map(|n| byte(3 + n, 6, 1)));
}

/// Level n of the image has the value 10 n in every texel.
pub(crate) fn mip_image() -> (Image, Vec<u8>) {
    let image = Image { data_format: 4, num_format: 7, ..rgba8(16, 16) };
    let mut memory = Vec::new();
    for (level, rows) in [16, 8, 4, 2, 1].into_iter().enumerate() {
        memory.extend((10.0 * level as f32).to_le_bytes().repeat(64 * rows));
    }
    (image, memory)
}

#[test]
fn levels_of_detail() {
    let (image, memory) = mip_image();
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 4);
        set(&mut words, 188, 4, 4);
        words
    };
    let level_of = |op: Op, mip: u64, rows: Vec<[u32; 64]>, lane: usize| {
        let sampler = Sampler { unnormalised: false, mip, ..Sampler::POINT };
        let access = Access::new(op, &words, rows).with(&[(F::Dmask, 1)]);
        let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
        f32::from_bits(result(&outcome, lane)[0]) / 10.0
    };
    let half = || [0.5f32.to_bits(); 64];
    for (lod, nearest, linear) in
        [(0.0f32, 0.0, 0.0), (1.25, 1.0, 1.25), (2.5, 3.0, 2.5), (9.0, 4.0, 4.0), (-3.0, 0.0, 0.0)]
    {
        let rows = || vec![half(), half(), [lod.to_bits(); 64]];
        assert_eq!(level_of(Op::ImageSampleL, 1, rows(), 0), nearest, "{lod}");
        assert_eq!(level_of(Op::ImageSampleL, 2, rows(), 0), linear, "{lod}");
        assert_eq!(level_of(Op::ImageSampleL, 0, rows(), 0), 0.0, "{lod}");
    }
    // A quad steps 4 texels to the right and 2 downwards: the longer one is 2 levels.
    let quad = |lane: usize| (lane % 2, lane / 2 % 2);
    let rows = || {
        vec![
            std::array::from_fn(|lane| (0.1 + 0.25 * quad(lane).0 as f32).to_bits()),
            std::array::from_fn(|lane| (0.1 + 0.125 * quad(lane).1 as f32).to_bits()),
        ]
    };
    let near = |found: f32, wanted: f32| assert!((found - wanted).abs() <= 1.0 / 128.0, "{found} {wanted}");
    for lane in [0, 3, 62] {
        near(level_of(Op::ImageSample, 2, rows(), lane), 2.0);
    }
    let biased = [vec![[0.5f32.to_bits(); 64]], rows()].concat();
    near(level_of(Op::ImageSampleB, 2, biased, 1), 2.5);
    // A lower limit of the level.
    let limited = [rows(), vec![[3.0f32.to_bits(); 64]]].concat();
    near(level_of(Op::ImageSampleCl, 2, limited, 1), 3.0);
    // Derivatives: 8 texels along y of the first, 1 along x of the second.
    let gradients =
        |lane: usize| if lane.is_multiple_of(4) { [0.0, 0.5, 0.0625, 0.0] } else { [0.0625, 0.0, 0.0, 0.0] };
    let rows = || {
        let mut rows: Vec<[u32; 64]> =
            (0..4).map(|n| std::array::from_fn(|lane| (gradients(lane)[n] as f32).to_bits())).collect();
        rows.extend([half(), half()]);
        rows
    };
    near(level_of(Op::ImageSampleD, 2, rows(), 4), 3.0);
    near(level_of(Op::ImageSampleD, 2, rows(), 5), 0.0);
    // The first lane counts for the quad.
    near(level_of(Op::ImageSampleCd, 2, rows(), 5), 3.0);
    // What a sample would use, and what it was before.
    let sampler = Sampler { unnormalised: false, mip: 2, ..Sampler::POINT };
    let rows = vec![std::array::from_fn(|lane| (4.0 * (lane % 2) as f32).to_bits()), [0; 64]];
    let access = Access::new(Op::ImageGetLod, &words, rows).with(&[(F::Dmask, 3)]);
    let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
    let [clamped, raw, ..] = result(&outcome, 0).map(f32::from_bits);
    assert_eq!((clamped, raw), (4.0, 6.0));
}

/// A cube samples the face that the direction names; next to an edge, the neighbour takes part.
#[test]
fn cubes() {
    // Every texel of face n has the value n.
    let image = Image { kind: CUBE, data_format: 4, num_format: 7, size: [4, 4, 6], ..rgba8(4, 4) };
    let memory: Vec<u8> = (0..6).flat_map(|face| (face as f32).to_le_bytes().repeat(64 * 4)).collect();
    let words = |base| image.words(base);
    let sample = |face: f32, x: f32, y: f32| {
        let rows = [x, y, face].map(|v| [v.to_bits(); 64]).to_vec();
        let sampler = Sampler { unnormalised: false, bilinear: true, ..Sampler::POINT };
        let access = Access::new(Op::ImageSampleLz, &words, rows).with(&[(F::Da, 1), (F::Dmask, 1)]);
        let outcome = Access { sampler: sampler.words(), ..access }.run(&memory).unwrap();
        f32::from_bits(result(&outcome, 0)[0])
    };
    for face in 0..6 {
        assert_eq!(sample(face as f32, 1.5, 1.5), face as f32, "the middle");
    }
    // The neighbours of +X: +Z to the left, -Z to the right, +Y above, -Y below.
    for (x, y, neighbour) in [(1.0, 1.5, 4.0), (1.999_999, 1.5, 5.0), (1.5, 1.0, 2.0), (1.5, 1.999_999, 3.0)]
    {
        let found = sample(0.0, x, y);
        assert!((found - neighbour / 2.0).abs() < 0.01, "{x} {y}: {found}");
    }
}

#[test]
fn samples_of_texels() {
    // 4 KiB blocks of four samples: 1 KiB each.
    let image =
        Image { kind: SAMPLES, swizzle: 5, data_format: 4, num_format: 4, pitch: 16, ..rgba8(16, 16) };
    let words = |base| {
        let mut words = image.words(base);
        set(&mut words, 112, 4, 2);
        set(&mut words, 188, 4, 2);
        words
    };
    let memory: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
    let rows = vec![[1; 64], [0; 64], std::array::from_fn(|lane| lane as u32 % 5)];
    let outcome = Access::new(Op::ImageLoad, &words, rows).with(&[(F::Dmask, 1)]).run(&memory).unwrap();
    for (lane, wanted) in [1, 257, 513, 769, 0].into_iter().enumerate() {
        assert_eq!(result(&outcome, lane)[0], wanted);
    }
}

#[test]
fn fields_without_a_meaning_are_faults_that_name_them() {
    let image = rgba8(4, 4);
    let memory = vec![0; image.length()];
    for (low, width, value, field) in [
        (116, 5, 25, "SW_MODE"),
        (124, 4, 0, "TYPE"),
        (52, 6, 37, "DATA_FORMAT"),
        (58, 4, 6, "NUM_FORMAT"),
        (96, 3, 2, "DST_SEL_X"),
        (213, 1, 1, "COMPRESSION_EN"),
        (112, 4, 1, "LAST_LEVEL"),
    ] {
        let words = |base| {
            let mut words = image.words(base);
            set(&mut words, low, width, value);
            words
        };
        match Access::new(Op::ImageLoad, &words, vec![[0; 64]; 2]).run(&memory) {
            Err(FaultCause::Descriptor(problem)) => {
                assert_eq!((problem.field, problem.value, problem.bits.0), (field, value as u32, low as u16));
            }
            other => panic!("{field}: {other:?}"),
        }
    }
    // A border colour that the device does not have matters only where the border is.
    let sampler = Sampler { clamp: 6, border: 3, ..Sampler::POINT };
    let words = |base| image.words(base);
    let run = |x: f32| {
        let access = Access::new(Op::ImageSampleLz, &words, vec![[x.to_bits(); 64], [0; 64]]);
        Access { sampler: sampler.words(), ..access }.run(&memory)
    };
    assert!(run(1.0).is_ok());
    assert!(matches!(run(4.0), Err(FaultCause::Descriptor(problem)) if problem.field == "BORDER_COLOR_PTR"));
    // Texels outside memory.
    let access = Access::new(Op::ImageLoad, &words, vec![[0; 64], std::array::from_fn(|n| n as u32 % 4)]);
    match access.run(&memory[..512]) {
        Err(FaultCause::Memory { size: 4, lanes, .. }) => assert_eq!(lanes.len(), 32),
        other => panic!("{other:?}"),
    }
}

/// The instructions that gfx90a has.
#[test]
fn cdna2_loads_stores_and_samples() {
    let image = Image { num_format: 4, ..rgba8(4, 4) };
    let memory = random(41, image.length());
    let words = |base| image.words(base);
    let rows = || vec![[2; 64], [3; 64]];
    let at = image.at([2, 3, 0]);
    let wanted: Vec<u32> = memory[at..at + 4].iter().map(|byte| u32::from(*byte)).collect();
    let outcome = Access::new(Op::ImageLoad, &words, rows()).run_on(Target::Gfx90a, &memory).unwrap();
    assert_eq!(result(&outcome, 7)[..], wanted);
    let rows = vec![[2.5f32.to_bits(); 64], [3.5f32.to_bits(); 64]];
    let access = Access::new(Op::ImageSample, &words, rows);
    let outcome =
        Access { sampler: Sampler::POINT.words(), ..access }.run_on(Target::Gfx90a, &memory).unwrap();
    assert_eq!(result(&outcome, 7)[..], wanted);
}
