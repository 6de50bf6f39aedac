//! Texels of typed buffers and images against the exact reference.

use crate::common::{Random, cases};
use wavemill_float::F32;
use wavemill_float::texel;
use wavemill_float::texel::BufferTexel;
use wavemill_ir::{DataFormat, TexelAccess, TexelCells, TexelFormat, TexelNumber};
use wavemill_reference::texel as reference;
use wavemill_reference::texel::Cells;

/// All formats.
fn formats() -> Vec<TexelFormat> {
    let pairs =
        DataFormat::ALL.iter().flat_map(|&data| TexelNumber::ALL.iter().map(move |&number| (data, number)));
    pairs.filter_map(|(data, number)| TexelFormat::new(data, number)).collect()
}

fn words(texel: u128) -> [u32; 4] {
    [0, 32, 64, 96].map(|low| (texel >> low) as u32)
}

fn texel(words: [u32; 4]) -> u128 {
    words.into_iter().rev().fold(0, |texel, word| texel << 32 | u128::from(word))
}

fn name(format: TexelFormat) -> String {
    format!("{}.{}", format.data.name(), format.number.name())
}

/// Checks what a texel reads as, and what its components are stored as.
fn check_load(format: TexelFormat, bits: u128) {
    let (data, number) = (format.data.name(), format.number.name());
    let expected = reference::unpack(data, number, bits);
    let found = texel::unpack(format, words(bits));
    assert_eq!(found, expected, "{} of {bits:#x}: {found:x?}, expected {expected:x?}", name(format));
    let halves = expected.map(|component| reference::to_half(number, component));
    assert_eq!(texel::unpack_halves(format, words(bits)), halves, "halves of {} of {bits:#x}", name(format));
    check_store(format, expected);
}

/// Checks what components are stored as.
fn check_store(format: TexelFormat, components: [u32; 4]) {
    let (data, number) = (format.data.name(), format.number.name());
    let expected = reference::pack(data, number, components);
    let found = texel(texel::pack(format, components));
    assert_eq!(found, expected, "{} of {components:x?}: {found:#x}, expected {expected:#x}", name(format));
    let halves = components.map(|component| (component >> 8) as u16);
    let expected = reference::pack(data, number, halves.map(|half| reference::from_half(number, half)));
    assert_eq!(texel(texel::pack_halves(format, halves)), expected, "{} of halves {halves:x?}", name(format));
}

#[test]
fn the_formats_have_the_sizes_that_their_names_say() {
    for &data in DataFormat::ALL {
        let widths: Vec<u32> = data.channels().iter().map(|&(_, width)| width).collect();
        assert_eq!(widths, reference::widths(data.name()), "{}", data.name());
        assert_eq!(data.bytes() as usize, reference::bytes(data.name()), "{}", data.name());
    }
    assert_eq!(DataFormat::OF_BUFFERS.last(), Some(&DataFormat::D32_32_32_32));
    let codes = |n| (0..n).filter_map(DataFormat::from_code).collect::<Vec<_>>();
    assert_eq!((codes(16), codes(64)), (DataFormat::OF_BUFFERS.to_vec(), DataFormat::ALL.to_vec()));
    let numbers: Vec<_> = (0..16).filter_map(TexelNumber::from_code).collect();
    assert_eq!(numbers, TexelNumber::ALL);
}

#[test]
fn pairs_of_formats_are_those_of_the_hardware() {
    let of = |data, number| TexelFormat::of_buffer(data, number);
    let pairs = (0..16).flat_map(|data| (0..8).map(move |number| (data, number)));
    let defined = pairs.filter(|&(data, number)| of(data, number).is_some()).count();
    // All have six integer formats; nine of them floats.
    assert_eq!(defined, 14 * 6 + 9);
    assert!(of(0, 4).is_none() && of(15, 4).is_none() && of(4, 6).is_none() && of(1, 7).is_none());
    assert!(of(17, 0).is_none_or(|format| format.data == DataFormat::D1_5_5_5));
    assert!(of(1, 9).is_none(), "sRGB is for images");
}

#[test]
fn every_pattern_of_a_narrow_channel() {
    for format in formats() {
        for &(low, width) in format.data.channels() {
            if width > 16 {
                continue;
            }
            // The other channels have patterns, too.
            let step = if width == 16 && cfg!(debug_assertions) { 37 } else { 1 };
            for bits in (0..1u128 << width).step_by(step) {
                let others = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) & !(0xffff << low);
                let size = 8 * format.data.bytes();
                check_load(format, (bits << low | others) & (u128::MAX >> (128 - size)));
            }
        }
    }
}

#[test]
fn random_texels_and_components() {
    let mut random = Random::new(2401);
    for format in formats() {
        for _ in 0..cases(1_000) {
            let bits = u128::from(random.next()) << 64 | u128::from(random.next());
            check_load(format, bits & (u128::MAX >> (128 - 8 * format.data.bytes())));
            check_store(format, [(); 4].map(|()| random.pattern::<F32>() as u32));
            // Around the steps of the channels, and between them.
            let near = [(); 4].map(|()| {
                let steps = (1u64 << (1 + random.below(24))) as f32;
                let value = random.below(1 << 24) as f32 / 2.0 / steps;
                value.to_bits().wrapping_add(random.below(3) as u32).wrapping_sub(1)
                    | (random.below(2) as u32) << 31
            });
            check_store(format, near);
        }
    }
}

/// Values that the specifications give.
#[test]
fn known_values() {
    let format = |data, number| TexelFormat::new(data, number).expect("a format");
    let float = |x: f32| x.to_bits();
    let rgba8 = format(DataFormat::D8_8_8_8, TexelNumber::Unorm);
    assert_eq!(
        texel::unpack(rgba8, [0xff80_0001, 0, 0, 0]),
        [float(1.0 / 255.0), 0, float(128.0 / 255.0), float(1.0)]
    );
    assert_eq!(texel::pack(rgba8, [0.0, 0.5, 2.0, f32::NAN].map(f32::to_bits)), [0x00ff_8000, 0, 0, 0]);
    let snorm = format(DataFormat::D8_8, TexelNumber::Snorm);
    assert_eq!(texel::unpack(snorm, [0x7f80, 0, 0, 0]), [float(-1.0), float(1.0), 0, float(1.0)]);
    assert_eq!(texel::unpack(snorm, [0x8181, 0, 0, 0])[0], float(-1.0));
    let packed = format(DataFormat::D2_10_10_10, TexelNumber::Sint);
    assert_eq!(texel::unpack(packed, [0xc000_0201, 0, 0, 0]), [0xffff_fe01, 0, 0, 0xffff_ffff]);
    let floats = format(DataFormat::D10_11_11, TexelNumber::Float);
    // 1.0 is 15 << 6 in 11 bits and 15 << 5 in 10 bits.
    let ones = 0x3c0 | 0x3c0 << 11 | 0x1e0 << 22;
    assert_eq!(texel::unpack(floats, [ones, 0, 0, 0]), [float(1.0); 4]);
    assert_eq!(texel::pack(floats, [float(1.0); 4]), [ones, 0, 0, 0]);
    let most = texel::pack(floats, [float(1e9), float(f32::INFINITY), float(-1.0), 0]);
    assert_eq!(most, [0x7bf | 0x7c0 << 11, 0, 0, 0]);
    let shared = format(DataFormat::D5_9_9_9, TexelNumber::Float);
    assert_eq!(texel::pack(shared, [float(1.0), float(0.5), 0, 0]), [0x100 | 0x80 << 9 | 16 << 27, 0, 0, 0]);
    let srgb = format(DataFormat::D8_8_8_8, TexelNumber::Srgb);
    let [grey, .., alpha] = texel::unpack(srgb, [0x8000_0080, 0, 0, 0]).map(f32::from_bits);
    assert!((grey - 0.215_860_5).abs() < 1e-6 && alpha == 128.0 / 255.0, "{grey} {alpha}");
    let wide = format(DataFormat::D32_32, TexelNumber::Unorm);
    assert_eq!(texel::unpack(wide, [7, 0xffff_ffff, 1, 1]), [7, 0xffff_ffff, 0, float(1.0)]);
}

/// A code of sRGB begins at the first float whose transfer function rounds to it.
#[test]
fn codes_of_srgb_begin_where_the_function_rounds_to_them() {
    let srgb = TexelFormat { data: DataFormat::D8_8_8_8, number: TexelNumber::Srgb };
    let code = |bits: u32| texel::pack(srgb, [bits, 0, 0, 0])[0];
    for number in 1..=255u32 {
        let signal = (f64::from(number) - 0.5) / 255.0;
        let linear = if signal <= 0.04045 { signal / 12.92 } else { ((signal + 0.055) / 1.055).powf(2.4) };
        let near = (linear as f32).to_bits();
        let first = if f64::from(f32::from_bits(near)) < linear { near + 1 } else { near };
        assert_eq!((code(first - 1), code(first)), (number - 1, number), "code {number}");
    }
}

/// All numbers of cells and kinds of cells.
fn accesses(format: Option<TexelFormat>) -> Vec<(TexelAccess, (usize, Cells))> {
    let counts = (1..=4).flat_map(|count| {
        [(count, TexelCells::Dwords, Cells::Dwords), (count, TexelCells::Halves, Cells::Halves)]
    });
    let all = counts.chain([(1, TexelCells::UpperHalf, Cells::UpperHalf)]);
    all.map(|(count, cells, expected)| (TexelAccess { format, count, cells }, (count.into(), expected)))
        .collect()
}

/// Every selection of a resource, for formats of one to four components.
#[test]
fn selections_of_resources() {
    let components = [0x4142, 0x5152, 0x6162, 0x7172];
    let texel = texel([0x4142, 0x5152, 0x6162, 0x7172]);
    for (code, data) in [(4, "32"), (11, "32_32"), (13, "32_32_32"), (14, "32_32_32_32")] {
        for (access, shape) in accesses(None) {
            for selections in 0..1u32 << 12 {
                let select = Some([0, 3, 6, 9].map(|low| selections >> low & 7));
                let word = code << 15 | 4 << 12 | selections;
                let found = BufferTexel::new(access, word);
                assert_eq!(found.bytes() as usize, reference::bytes(data));
                for (bytes, words) in [(Some(texel), Some(components)), (None, None)] {
                    let expected = reference::load([data, "uint"], select, shape, bytes);
                    let loaded = found.load(words);
                    assert_eq!(loaded[..expected.len()], expected, "{access:?} {word:#x}, {words:x?}");
                    assert!(loaded[expected.len()..].iter().all(|cell| *cell == 0));
                }
                let expected = reference::store([data, "uint"], select, shape, &components);
                assert_eq!(self::texel(found.store(components)), expected, "{access:?} {word:#x}");
            }
        }
    }
}

/// The constant 1 has the type of the number format, and 16 bits in a D16 load.
#[test]
fn constants_of_selections() {
    let one = |number: u32, cells| {
        let access = TexelAccess { format: None, count: 1, cells };
        BufferTexel::new(access, 1 << 15 | number << 12 | 1).load(None)[0]
    };
    for (number, format) in TexelNumber::ALL.iter().enumerate().take(6) {
        let (dword, half) = if format.is_integer() { (1, 1) } else { (0x3f80_0000, 0x3c00) };
        let found = [TexelCells::Dwords, TexelCells::Halves, TexelCells::UpperHalf]
            .map(|cells| one(number as u32, cells));
        assert_eq!(found, [dword, half, half << 16], "{format:?}");
    }
}

/// Formats in instructions: components that the format lacks read as 0, and absent ones are stored
/// as 0. Formats that do not exist have no bytes.
#[test]
fn formats_in_instructions_and_formats_that_do_not_exist() {
    let mut random = Random::new(2402);
    for format in formats() {
        for (access, shape) in accesses(Some(format)) {
            // The resource has no say.
            let found = BufferTexel::new(access, random.next() as u32);
            let names = [format.data.name(), format.number.name()];
            for _ in 0..4 {
                let bits = u128::from(random.next()) << 64 | u128::from(random.next());
                let bits = bits & (u128::MAX >> (128 - 8 * format.data.bytes()));
                let expected = reference::load(names, None, shape, Some(bits));
                assert_eq!(
                    found.load(Some(words(bits)))[..expected.len()],
                    expected,
                    "{access:?} of {bits:#x}"
                );
                let cells = [(); 4].map(|()| random.pattern::<F32>() as u32);
                let expected = reference::store(names, None, shape, &cells);
                assert_eq!(texel(found.store(cells)), expected, "{access:?} of {cells:x?}");
            }
        }
    }
    for (data, number) in (0..16).flat_map(|data| (0..8).map(move |number| (data, number))) {
        if TexelFormat::of_buffer(data, number).is_none() {
            let access = TexelAccess { format: None, count: 4, cells: TexelCells::Dwords };
            let found = BufferTexel::new(access, data << 15 | number << 12 | 0xfac);
            assert_eq!((found.bytes(), found.load(None)), (0, [0; 4]), "{data} {number}");
        }
    }
}
