//! Random accesses to images on both engines, handed over before and after.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavemill_ir::{
    AtomicOp, Attrs, Block, ImageData, ImageGather, ImageKind, ImageLevel, ImageOp, Inst, LaneMask, Op,
    Operand, Row, Terminator, Uni, Width, verify,
};
use wavemill_machine::image::{
    AddressMode, BorderColour, Compare, Dimensions, IDENTITY, MipFilter, Reduction, Resource, Sampler,
    Surface, Tiling,
};
use wavemill_machine::{CellPair, RegisterCounts, Strict};
use wavemill_oracle::SplitMix64;

use crate::common::Bench;

/// The wave lacks some of the rows that an address may have.
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 40,
    absent: (Uni(36), Uni(38)),
    private_base: CellPair::new(Uni(38)),
    rows: [20, 6],
};
const RESOURCE: Uni = Uni(8);
const SAMPLER: Uni = Uni(16);

fn operation(random: &mut SplitMix64) -> ImageOp {
    loop {
        let flag = |random: &mut SplitMix64| random.one_in(3);
        let level = random.pick(&[
            ImageLevel::Quad,
            ImageLevel::Bias,
            ImageLevel::Given,
            ImageLevel::Zero,
            ImageLevel::Gradients { coarse: true },
            ImageLevel::Gradients { coarse: false },
            ImageLevel::BiasedGradients,
        ]);
        let data =
            random.pick(&[ImageData::Converted, ImageData::Converted, ImageData::Raw, ImageData::RawSigned]);
        let mip = random.one_in(2);
        let kind = match random.below(8) {
            0 | 1 => ImageKind::Load { data, mip },
            2 => ImageKind::Store { data, mip },
            3 => ImageKind::Atomic(random.pick(AtomicOp::ALL), random.pick(&[Width::W32, Width::W64])),
            4 => random.pick(&[ImageKind::Size, ImageKind::Level]),
            5 => ImageKind::Gather(
                level,
                random.pick(&[
                    ImageGather::Square,
                    ImageGather::SquareOrPoint,
                    ImageGather::Row,
                    ImageGather::PackedRow(4),
                    ImageGather::PackedRow(8),
                ]),
            ),
            _ => ImageKind::Sample(level),
        };
        let op = ImageOp {
            offset: flag(random),
            compare: flag(random),
            clamp: flag(random),
            half: flag(random),
            short: flag(random),
            array: flag(random),
            unnormalised: random.pick(&[0, 0, 7, 3, 5]),
            coordinates: random.pick(&[0, 0, 0, 2, 3]),
            ..ImageOp::new(kind, random.below(16) as u8)
        };
        if op.is_defined() {
            return op;
        }
    }
}

fn resource(random: &mut SplitMix64, base: u64, has_sampler: bool) -> [u32; 8] {
    let (data, number) = random.pick(&[(1, 0), (4, 4), (4, 7), (10, 0), (10, 9), (11, 4), (5, 1), (16, 0)]);
    // The format comes from the words, so that numbers of formats are tested, too.
    let mut words = [0u32; 8];
    words[1] = data << 20 | number << 26;
    words[3] = 9 << 28 | 4 | 5 << 3 | 6 << 6 | 7 << 9;
    let Ok(plain) = Resource::decode(&words) else { panic!("{data} {number}") };
    let dimensions = random.pick(&[
        Dimensions::D1,
        Dimensions::D2,
        Dimensions::D2,
        Dimensions::D3,
        Dimensions::Cube,
        Dimensions::D1Array,
        Dimensions::D2Array,
        Dimensions::Samples,
        Dimensions::SamplesArray,
    ]);
    // Some images have an arrangement that cannot hold them, and some with samples are sampled: both
    // are faults.
    let is_wrong = random.one_in(12);
    let dimensions = match dimensions {
        samples if samples.has_samples() && has_sampler && !is_wrong => Dimensions::D2,
        dimensions => dimensions,
    };
    let has_samples = dimensions.has_samples();
    let tiling = match dimensions {
        _ if is_wrong => random.index(4),
        _ if has_samples => 3 + random.index(2),
        Dimensions::D1 | Dimensions::D1Array => 0,
        Dimensions::D3 => random.pick(&[0, 3]),
        _ => random.index(4),
    };
    let levels = if has_samples { 1 } else { random.pick(&[1, 1, 3]) };
    let surface = Surface {
        tiling: Tiling::ALL[tiling].2,
        width: 1 + random.below(9) as u32,
        height: if dimensions.axes() == 1 { 1 } else { 1 + random.below(4) as u32 },
        depth: match dimensions {
            Dimensions::Cube => 6,
            Dimensions::D1 | Dimensions::D2 | Dimensions::Samples => 1,
            _ => 1 + random.below(3) as u32,
        },
        is_volume: dimensions == Dimensions::D3,
        levels,
        samples_log2: if has_samples { random.below(4) as u32 } else { 0 },
        ..plain.surface
    };
    let surface = Surface { pitch: surface.least_pitch(), ..surface };
    Resource {
        base,
        dimensions,
        surface,
        select: random.pick(&[IDENTITY, plain.select]),
        levels: (random.below(2).min(u64::from(levels) - 1) as u32, levels - 1),
        slices: (0, surface.depth),
        ..plain
    }
    .encode()
}

fn sampler(random: &mut SplitMix64) -> [u32; 4] {
    Sampler {
        address: [0; 3].map(|_| random.pick(&AddressMode::ALL)),
        compare: random.pick(&Compare::ALL),
        unnormalised: random.one_in(2),
        truncates: random.one_in(2),
        faces_apart: random.one_in(2),
        reduction: random.pick(&[Reduction::Blend, Reduction::Min, Reduction::Max]),
        levels: (random.below(300) as i32, random.pick(&[4095, 300])),
        bias: random.below(512) as i32 - 256,
        bilinear: [random.one_in(2), random.one_in(2)],
        linear_depth: random.pick(&[None, Some(true), Some(false)]),
        mip: random.pick(&[MipFilter::None, MipFilter::Point, MipFilter::Linear]),
        rounds_first: random.one_in(2),
        border: random.pick(&[
            BorderColour::TransparentBlack,
            BorderColour::OpaqueBlack,
            BorderColour::White,
            BorderColour::Table(0),
        ]),
    }
    .encode()
}

fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(COUNTS, !seed);
    let op = operation(&mut random);
    let present = |present: bool, operand: Operand| if present { operand } else { Operand::None };
    let result = present(op.result_cells() > 0, Row(random.below(16) as u16).into());
    let address = random.below(14) as u16;
    let is_atomic = matches!(op.kind, ImageKind::Atomic(..));
    let inst = Inst {
        op: Op::Image(op),
        dst: [if is_atomic && random.one_in(2) { Operand::None } else { result }, Operand::None],
        src: [
            Row(address).into(),
            RESOURCE.into(),
            present(op.has_sampler(), SAMPLER.into()),
            present(op.source_cells() > 0, Row(random.below(14) as u16).into()),
            Operand::None,
        ],
        attrs: Attrs::default(),
        mask: LaneMask::Active,
        guest: 0,
    };
    let block = Block {
        start: 0x1000,
        next: 0x2000,
        ranges: std::iter::once(0x1000..0x2000).collect(),
        insts: vec![inst],
        guest: vec![0x1000],
        terminator: Terminator::End,
    };
    verify(&block).expect("the access is well formed");
    bench.block = Arc::new(block);
    let words = resource(&mut random, bench.buffer, op.has_sampler());
    bench.cells[8..16].copy_from_slice(&words);
    // Sometimes a bit is wrong.
    if random.one_in(12) {
        bench.cells[8 + random.index(8)] ^= 1 << random.below(32);
    }
    bench.cells[16..20].copy_from_slice(&sampler(&mut random));
    if random.one_in(2) {
        bench.strict = Strict { lds: random.one_in(2), buffers: random.one_in(2), images: true };
    }
    // Half of the strict runs have coordinates that are inside most images.
    let is_near = bench.strict.images && random.one_in(2);
    for lane in 0..64 {
        for row in &mut bench.rows[..20] {
            row[lane] = match random.below(4) {
                _ if is_near && !op.has_sampler() => 0,
                0 | 1 if op.has_sampler() => (random.below(640) as f32 / 64.0 - 1.0).to_bits(),
                0..3 => random.below(9) as u32,
                _ => row[lane],
            };
        }
    }
    // Most of them have some lanes outside, in the coordinate in one of four cells.
    if is_near && !op.has_sampler() {
        let cell = usize::from(address) + random.pick(&[0, 1, 2, 2, 2, 3]);
        let value = 1 + random.below(12) as u32;
        let value = if random.one_in(4) { value << 16 } else { value };
        for lane in (0..64).filter(|_| random.one_in(3)) {
            bench.rows[cell][lane] = value;
        }
    }
    bench
}

#[test]
fn random_accesses_are_the_same_on_both_engines() {
    let count = if std::env::var("WAVEMILL_TESTS").as_deref() == Ok("all") { 40_000 } else { 4_000 };
    let mut exits = BTreeMap::<String, usize>::new();
    let mut plain = 0;
    // Runs that end, and faults, by the coordinate outside the image.
    let mut strict = BTreeMap::<String, usize>::new();
    let mut failed = Vec::new();
    for seed in 0..count {
        let bench = bench(seed);
        plain += usize::from(!bench.strict.images);
        match bench.compare() {
            Ok(exit) => {
                let coordinate = exit.split_once("coordinate: ").and_then(|(_, rest)| rest.split(',').next());
                if bench.strict.images && (exit == "End" || coordinate.is_some()) {
                    *strict.entry(coordinate.unwrap_or("inside").to_owned()).or_default() += 1;
                }
                assert!(bench.strict.images || coordinate.is_none(), "access {seed}: {exit}");
                if !bench.strict.images {
                    *exits.entry(exit.chars().take(24).collect()).or_default() += 1;
                }
            }
            Err(difference) => failed.push(format!("access {seed}: {difference}")),
        }
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(8)].join("\n"));
    // Most accesses run.
    assert!(exits.get("End").copied().unwrap_or(0) > plain / 2, "{exits:#?}");
    // Strict runs end for every reason.
    let rare = ["inside", "X", "Y", "Z", "Slice", "Face", "Sample", "Level"]
        .map(|name| (name, strict.get(name).copied().unwrap_or(0)));
    assert!(rare.iter().all(|(_, n)| *n >= count as usize / 1000), "{rare:?}");
}
