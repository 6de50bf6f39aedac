//! Values of registers: special ones, and random ones near the edges of formats.

use wavemill_isa::gcn::{Elem, Type};
use wavemill_reference::{BF16, F16, F32, F64, Format};

/// SplitMix64 (Steele, Lea, Flood 2014), so that every run makes the same files.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Numbers that a name decides.
    pub(super) fn of(name: &str) -> Random {
        // FNV-1a.
        Random(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Whether one of that many draws hits.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The format of an element that is a float of 16 bits or more.
pub(super) fn format_of(elem: Elem) -> Option<Format> {
    match elem {
        Elem::F16 => Some(F16),
        Elem::Bf16 => Some(BF16),
        Elem::F32 | Elem::Mix => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

/// The special values of a format.
pub(super) fn specials(f: Format) -> [u64; 20] {
    let (sign, one, ulp) = (f.sign(), f.one(), 1);
    let normal = 1 << f.mantissa;
    let half = one - normal;
    let payload = (f.quiet() / 2) | 5;
    [
        0,
        sign,
        ulp,
        sign | ulp,
        normal - ulp,
        sign | (normal - ulp),
        normal,
        sign | normal,
        one - ulp,
        one,
        sign | one,
        one + ulp,
        half,
        sign | one | (normal / 2),
        f.largest(),
        sign | f.largest(),
        f.infinity(),
        sign | f.infinity(),
        f.infinity() | f.quiet() | payload,
        sign | f.infinity() | payload,
    ]
}

/// Exponents at which integers and narrower formats end, or begin to round.
const EXPONENTS: [i64; 26] = [
    -150, -149, -148, -127, -126, -125, -26, -25, -24, -16, -15, -14, -9, -2, -1, 0, 1, 7, 8, 14, 15, 16, 31,
    32, 127, 128,
];

/// A float at an edge of another format: its exponent there, or half way between two numbers of it.
fn edge(f: Format, random: &mut Random) -> u64 {
    let exponent = f.bias + random.pick(&EXPONENTS);
    let kept = random.pick(&[0, 1, 2, 3, 7, 10, 23]).min(f.mantissa - 1);
    let middle = 1u64 << (f.mantissa - 1 - kept);
    let full = normal(f) - 1;
    let above = random.next() & full & !(2 * middle - 1);
    let fraction = match random.below(6) {
        0 => above,
        1 => above | middle,
        2 => above | (middle - 1),
        3 => above | (middle + 1) & full,
        4 => full,
        _ => above | 1,
    };
    let magnitude = if (1..2 * f.bias).contains(&exponent) {
        (exponent as u64) << f.mantissa | fraction
    } else {
        random.next() & f.magnitude()
    };
    random.next() & f.sign() | magnitude
}

fn normal(f: Format) -> u64 {
    1 << f.mantissa
}

/// A random float: special, at an edge, near one, or any bits.
pub(super) fn float(f: Format, random: &mut Random) -> u64 {
    match random.below(8) {
        0 | 1 => random.pick(&specials(f)),
        2 | 3 => edge(f, random),
        4 => {
            let exponent = (f.bias + random.below(16) as i64 - 8) as u64;
            random.next() & f.sign() | exponent << f.mantissa | random.next() & (normal(f) - 1)
        }
        // Another NaN, and another denormal.
        5 => {
            let payload = random.next() & (normal(f) - 1) | 1;
            random.next() & f.sign() | payload | if random.one_in(2) { f.infinity() } else { 0 }
        }
        _ => random.next() & (f.sign() | f.magnitude()),
    }
}

/// 32-bit integers at which operations change their behaviour.
const WORDS: [u32; 20] = [
    0,
    1,
    2,
    7,
    31,
    32,
    63,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x0010_0008,
    0x00ff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];

/// Random bits, often at the edges of integers.
pub(super) fn bits(random: &mut Random) -> u64 {
    let word = |random: &mut Random| u64::from(random.pick(&WORDS));
    match random.below(8) {
        0..=2 => word(random) | word(random) << 32,
        3 => word(random) & 0xffff | (word(random) & 0xffff) << 16 | word(random) << 32,
        4 => 1 << random.below(64),
        5 => random.next() >> random.below(64),
        _ => random.next(),
    }
}

/// An exponent for scaling, or a scale.
pub(super) fn exponent(random: &mut Random) -> u32 {
    (random.below(96) as u32).wrapping_sub(48)
}

/// One element of a type.
pub(super) fn element(elem: Elem, random: &mut Random) -> u64 {
    match format_of(elem) {
        Some(f) => float(f, random),
        None => bits(random) & (u64::MAX >> (64 - elem.bits().clamp(1, 64))),
    }
}

/// The dwords of a value of a type. Narrow types fill a register: with more elements, or with any bits above a single
/// one.
pub(super) fn dwords(ty: Type, random: &mut Random) -> Vec<u32> {
    let width = ty.elem.bits().clamp(1, 64);
    let dwords = usize::from(ty.dwords().max(1));
    if ty.elem == Elem::Mix && random.one_in(2) {
        let [low, high] = [float(F16, random), float(F16, random)];
        return vec![(low | high << 16) as u32];
    }
    if ty.count == 1 && width < 32 {
        let value = element(ty.elem, random);
        // The other half has a number of the same kind.
        let other = if width == 16 { element(ty.elem, random) << 16 } else { random.next() << width };
        return vec![(value | other) as u32];
    }
    match width {
        64 => {
            let value = element(ty.elem, random);
            vec![value as u32, (value >> 32) as u32]
        }
        // Elements that cross registers.
        6 => (0..dwords).map(|_| random.next() as u32).collect(),
        _ => (0..dwords)
            .map(|_| (0..32 / width).fold(0, |v, n| v | (element(ty.elem, random) << (n * width)) as u32))
            .collect(),
    }
}
