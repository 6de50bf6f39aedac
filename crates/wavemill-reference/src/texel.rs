//! Texels: components and their bits in memory. Formats are given by the names of the manuals.
//!
//! Rounding, NaNs and values out of range are Wavemill's documented choice (facets of the rows).

use std::cmp::Ordering;

use num_bigint::BigInt;

use crate::convert::{float_to_float, float_to_int, float_to_norm};
use crate::env::{Env, Round};
use crate::format::{Datum, F16, F32, Format, Specials};
use crate::number::Number;

const NEAREST: Env = Env::DEFAULT;
const TRUNCATE: Env = Env { round: Round::Zero, ..Env::DEFAULT };

/// Floats of 11 and 10 bits without a sign, with one above them.
const F11: Format = Format { bits: 12, mantissa: 6, bias: 15, specials: Specials::Ieee };
const F10: Format = Format { bits: 11, mantissa: 5, bias: 15, specials: Specials::Ieee };

/// The widths of the channels from the lowest bit on. A name begins with the uppermost bits.
#[must_use]
pub fn widths(data: &str) -> Vec<u32> {
    let digits = data.trim_start_matches(['x', 'X']);
    let mut widths: Vec<u32> = digits.split('_').map(|width| width.parse().expect("a width")).rev().collect();
    match digits {
        // The exponent is no channel.
        "5_9_9_9" => widths.truncate(3),
        "24_8_32" if digits != data => widths.truncate(2),
        _ => {}
    }
    widths
}

/// Bytes of a texel.
#[must_use]
pub fn bytes(data: &str) -> usize {
    let digits = data.trim_start_matches(['x', 'X']);
    digits.split('_').map(|width| width.parse::<usize>().expect("a width")).sum::<usize>() / 8
}

/// The number format of a channel.
fn number_of<'n>(data: &str, number: &'n str, channel: usize) -> &'n str {
    match (number, channel) {
        ("srgb", 3) => "unorm",
        ("float", 1) if data.eq_ignore_ascii_case("x24_8_32") => "uint",
        _ => number,
    }
}

/// The largest unsigned and signed integer of a width.
fn limits(width: u32) -> (i64, i64) {
    ((1 << width) - 1, (1 << (width - 1)) - 1)
}

fn f32_of(value: &Number) -> u32 {
    F32.encode(value, false, NEAREST) as u32
}

fn int(value: i64) -> Number {
    Number::new(value, 0)
}

/// The linear value of a fraction `numerator / 510` of the codes of sRGB, compared with a number.
fn compare_linear(numerator: i64, value: &Number) -> Ordering {
    // Below the corner it is s / 12.92.
    if numerator * 100_000 <= 4_045 * 510 {
        return (&int(numerator) * &int(100)).cmp(&(&int(510 * 1_292) * value));
    }
    if value.is_negative() {
        return Ordering::Greater;
    }
    // ((s + 0.055) / 1.055)^2.4, so both sides to the fifth power.
    let power = |number: Number, n: usize| (0..n).fold(int(1), |product, _| &product * &number);
    let (above, below) = (int(numerator * 1_000 + 55 * 510), int(1_055 * 510));
    power(above, 12).cmp(&(&power(below, 12) * &power(value.clone(), 5)))
}

/// The linear value of a code of sRGB, as the nearest f32.
fn linear(code: i64) -> u32 {
    let value = |bits: u32| match F32.decode(bits.into(), true) {
        Datum::Finite { value, .. } => value,
        _ => unreachable!("numbers up to 1"),
    };
    // The largest f32 that is not above it: patterns have the order of their numbers.
    let (mut low, mut high) = (0, F32.one() as u32 + 1);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if compare_linear(2 * code, &value(middle)).is_ge() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let halfway = (&value(low) + &value(low + 1)).times_power(-1);
    if compare_linear(2 * code, &halfway).is_gt() { low + 1 } else { low }
}

/// A channel's bits as a component. Those of 32 bits are copied, unless dwords are converted, too.
fn component(number: &str, bits: i64, width: u32, dwords: Dwords) -> u32 {
    if width == 32 && (dwords == Dwords::Copied || number == "float") {
        return bits as u32;
    }
    let (unsigned, most) = limits(width);
    let value = if bits > most { bits - unsigned - 1 } else { bits };
    match number {
        "uint" => bits as u32,
        "sint" => value as i32 as u32,
        "uscaled" => f32_of(&int(bits)),
        "sscaled" => f32_of(&int(value)),
        "unorm" => f32_of(&int(bits).over(&int(unsigned))),
        "snorm" => f32_of(&int(value.max(-most.max(1))).over(&int(most.max(1)))),
        "srgb" => linear(bits),
        _ => {
            let from = [F10, F11, F16][[10, 11, 16].iter().position(|w| *w == width).expect("a float")];
            float_to_float(from, F32, bits as u64, NEAREST) as u32
        }
    }
}

/// A component as a channel's bits.
fn channel(number: &str, component: u32, width: u32) -> i64 {
    let (unsigned, most) = limits(width);
    let bits = u64::from(component);
    let value = match number {
        _ if width == 32 => component.into(),
        "uint" => i64::from(component).min(unsigned),
        "sint" => i64::from(component as i32).clamp(-most - 1, most),
        "uscaled" => float_to_int(F32, bits, Round::Zero, [0, unsigned], NEAREST),
        "sscaled" => float_to_int(F32, bits, Round::Zero, [-most - 1, most], NEAREST),
        "unorm" => float_to_norm(F32, bits, [0, unsigned], NEAREST),
        "snorm" => float_to_norm(F32, bits, [-most, most], NEAREST),
        "srgb" => match F32.decode(bits, true) {
            Datum::Finite { value, .. } => {
                (1..=unsigned).take_while(|code| compare_linear(2 * code - 1, &value).is_le()).count() as i64
            }
            Datum::Infinite { negative: false } => unsigned,
            _ => 0,
        },
        _ if width == 16 => float_to_float(F32, F16, bits, TRUNCATE) as i64,
        _ => {
            let to = if width == 11 { F11 } else { F10 };
            match F32.decode(bits, true) {
                datum if datum.is_negative() => 0,
                _ => (float_to_float(F32, to, bits, TRUNCATE) & to.magnitude()) as i64,
            }
        }
    };
    value & if width == 32 { 0xffff_ffff } else { unsigned }
}

/// What fetches do with channels of 32 bits in formats of normalised and scaled numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dwords {
    /// They copy them, as the texel units of GCN do.
    Copied,
    /// They convert them (HD 6900 ISA 9.3, NUM_FORMAT_ALL).
    Converted,
}

/// The components of a texel in the bits of an integer: f32 values or integers. The ones that the
/// format lacks are 0, 0, 0 and 1.
#[must_use]
pub fn unpack(data: &str, number: &str, texel: u128) -> [u32; 4] {
    unpack_with(data, number, texel, Dwords::Copied)
}

/// The same, for fetches that do this with channels of 32 bits.
#[must_use]
pub fn unpack_with(data: &str, number: &str, texel: u128, dwords: Dwords) -> [u32; 4] {
    let one = if matches!(number, "uint" | "sint") { 1 } else { F32.one() as u32 };
    let mut components = [0, 0, 0, one];
    let mut low = 0;
    for (n, width) in widths(data).into_iter().enumerate() {
        let bits = (texel >> low) as i64 & ((1 << width) - 1);
        low += width;
        components[n] = if data == "5_9_9_9" {
            // The exponent is biased by 15, and the significands are fractions of 9 bits.
            f32_of(&Number::new(bits, (texel as i64 >> 27 & 31) - 15 - 9))
        } else {
            component(number_of(data, number, n), bits, width, dwords)
        };
    }
    components
}

/// The texel of these components.
#[must_use]
pub fn pack(data: &str, number: &str, components: [u32; 4]) -> u128 {
    if data == "5_9_9_9" {
        return shared(components);
    }
    let (mut texel, mut low) = (0, 0);
    for (n, width) in widths(data).into_iter().enumerate() {
        texel |= (channel(number_of(data, number, n), components[n], width) as u128) << low;
        low += width;
    }
    texel
}

/// Three components with the smallest exponent that holds all of them, rounded half up
/// (`EXT_texture_shared_exponent`).
fn shared(components: [u32; 4]) -> u128 {
    let largest = int(511 * 128);
    let values: Vec<Number> = components[..3]
        .iter()
        .map(|&component| match F32.decode(component.into(), true) {
            Datum::Infinite { negative: false } => largest.clone(),
            Datum::Finite { negative: false, value } => value.min(largest.clone()),
            _ => int(0),
        })
        .collect();
    let half = Number::new(1, -1);
    let rounded =
        |value: &Number, exponent: i64| (&value.times_power(24 - exponent) + &half).round_to(0, Round::Down);
    let fits = |exponent: &i64| values.iter().all(|value| rounded(value, *exponent) <= BigInt::from(511));
    let exponent = (0..32).find(fits).expect("the largest value fits");
    let units = |n: usize| u128::try_from(rounded(&values[n], exponent)).expect("not negative");
    units(0) | units(1) << 9 | units(2) << 18 | (exponent as u128) << 27
}

/// A component as a D16 load returns it: the nearest f16, or the low bits of an integer.
#[must_use]
pub fn to_half(number: &str, component: u32) -> u16 {
    match number {
        "uint" | "sint" => component as u16,
        _ => float_to_float(F32, F16, component.into(), NEAREST) as u16,
    }
}

/// The component that 16 bits of a D16 store are.
#[must_use]
pub fn from_half(number: &str, half: u16) -> u32 {
    match number {
        "uint" => half.into(),
        "sint" => i32::from(half as i16) as u32,
        _ => float_to_float(F16, F32, half.into(), NEAREST) as u32,
    }
}

/// The registers of the components of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cells {
    /// A register each.
    Dwords,
    /// Two in a register.
    Halves,
    /// One in the upper half of a register.
    UpperHalf,
}

/// What each selection of a resource names in a load, by the number of components of the format: a
/// constant or a component. A test program for the GPU of the PlayStation 4 found this.
const LOADED: [&[u8; 8]; 4] = [b"011XXXXX", b"0110XYXY", b"0110XYZX", b"0110XYZW"];

/// The component or constant of a letter.
fn named(letter: u8, components: &[u32], one: u32) -> u32 {
    match letter {
        b'0' => 0,
        b'1' => one,
        letter => {
            let n = b"XYZW".iter().position(|other| *other == letter).expect("a component");
            components.get(n).copied().unwrap_or(0)
        }
    }
}

/// The registers that a typed load writes, upper halves that are kept as 0. `select` are the
/// selections of the resource, if the format is the resource's; `texel` is `None` out of range.
#[must_use]
pub fn load(
    [data, number]: [&str; 2],
    select: Option<[u32; 4]>,
    (count, cells): (usize, Cells),
    texel: Option<u128>,
) -> Vec<u32> {
    let channels = widths(data).len();
    let one = unpack("32", number, 0)[3];
    let texel = texel.map_or([0; 4], |texel| unpack(data, number, texel));
    let components: Vec<u32> = (0..count)
        .map(|n| match select {
            None => texel[..channels].get(n).copied().unwrap_or(0),
            Some(select) => named(LOADED[channels - 1][select[n] as usize], &texel, one),
        })
        .collect();
    let halves = || components.iter().map(|component| u32::from(to_half(number, *component)));
    match cells {
        Cells::Dwords => components,
        Cells::Halves => {
            let halves: Vec<u32> = halves().collect();
            halves.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 16).collect()
        }
        Cells::UpperHalf => halves().map(|half| half << 16).collect(),
    }
}

/// The components of the data that a store with these selections writes, in the order of the
/// texel's components. The same test program found the orders.
fn stored(channels: usize, count: usize, select: [u32; 4]) -> Vec<u8> {
    /// Each selection of a format of three or four components.
    const NAMED: &[u8; 8] = b"0110XYZW";
    const FROM_THE_END: &[u8; 8] = b"0110WZYX";
    let [x, y, z, w] = select.map(|select| select as usize);
    match channels {
        1 if count == 1 => vec![b"0110XXXX"[x]],
        1 => vec![if x == 4 { b'X' } else { b'W' }],
        2 => {
            // What x names (a constant, X, another component), and whether y and z name components.
            let orders = match (x, y >= 4, z >= 4) {
                (4, true, false) => "XY",
                (4, ..) => "XW",
                (_, _, true) => "WX",
                (_, true, false) => "YX",
                (_, false, false) => "XW",
            };
            orders.as_bytes().to_vec()
        }
        3 => [x, y, z].map(|select| NAMED[select]).to_vec(),
        _ if y == 5 => [x, y, z, w].map(|select| NAMED[select]).to_vec(),
        _ => [w, z, y, x].map(|select| FROM_THE_END[select]).to_vec(),
    }
}

/// The texel that a typed store of these registers writes.
#[must_use]
pub fn store(
    [data, number]: [&str; 2],
    select: Option<[u32; 4]>,
    (count, cells): (usize, Cells),
    registers: &[u32],
) -> u128 {
    let half = |n: usize| from_half(number, (registers[n / 2] >> (16 * (n % 2))) as u16);
    let components: Vec<u32> = match cells {
        Cells::Dwords => registers[..count].to_vec(),
        Cells::Halves => (0..count).map(half).collect(),
        Cells::UpperHalf => vec![half(1)],
    };
    let one = unpack("32", number, 0)[3];
    let channels = widths(data).len();
    let order = select.map_or_else(|| b"XYZW".to_vec(), |select| stored(channels, count, select));
    let mut texel = [0; 4];
    for (component, letter) in texel.iter_mut().zip(order) {
        *component = named(letter, &components, one);
    }
    pack(data, number, texel)
}
