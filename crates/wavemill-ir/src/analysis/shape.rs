//! How the values of the lanes of a row relate to each other.

use std::fmt;

use crate::LANES;

/// Lanes of a strip.
pub const STRIP: usize = 16;
/// Strips of a wave.
const STRIPS: usize = LANES / STRIP;

/// How the value of a lane depends on the lane. Sums and products wrap at the width of the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// `base + strips[lane / 16 - 1] + stride * (lane % 16)`, with one base for the wave; the first
    /// strip adds nothing. All zeros: the lanes are equal.
    Wave {
        /// Difference from one lane of a strip to the next.
        stride: u64,
        /// Differences of the first lanes of strips 1 to 3 from the first lane of strip 0.
        strips: [u64; 3],
    },
    /// `base + stride * (lane % 16)`, with a base for each strip.
    Strip {
        /// Difference from one lane of a strip to the next.
        stride: u64,
    },
    /// Anything.
    Varying,
}

/// What is known of the values of a row, or of two rows as 64-bit values, in some lanes: usually the
/// active ones.
///
/// A cell is a value that is the same in all lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// 32 or 64.
    width: u8,
    lanes: Lanes,
    /// Number of low bits that are known: of the base, or of every lane's value if it is varying.
    known: u8,
    /// These bits.
    low: u64,
    /// The least and the largest value that a lane may have, unsigned.
    range: (u64, u64),
}

/// The ones of the lowest `bits` bits.
const fn ones(bits: u32) -> u64 {
    if bits >= 64 { !0 } else { (1 << bits) - 1 }
}

/// Values of the lanes without what is unknown: each lane's value is a multiple of `1 << bits` that is
/// the same in all lanes (or in all lanes of its strip) plus the lane's value here, which has fewer
/// bits. The multiple is known if `bits` is the width.
struct Split {
    bits: u32,
    values: [u64; LANES],
    per_strip: bool,
}

impl Shape {
    /// Nothing is known.
    #[must_use]
    pub const fn varying(width: u8) -> Shape {
        Shape { width, lanes: Lanes::Varying, known: 0, low: 0, range: (0, ones(width as u32)) }
    }

    /// The same unknown value in all lanes.
    #[must_use]
    pub const fn uniform(width: u8) -> Shape {
        Shape { lanes: Lanes::Wave { stride: 0, strips: [0; 3] }, ..Shape::varying(width) }
    }

    /// The same unknown value in all lanes of a strip.
    #[must_use]
    pub const fn strip_uniform(width: u8) -> Shape {
        Shape { lanes: Lanes::Strip { stride: 0 }, ..Shape::varying(width) }
    }

    /// A constant.
    #[must_use]
    pub const fn constant(width: u8, value: u64) -> Shape {
        let value = value & ones(width as u32);
        Shape { known: width, low: value, range: (value, value), ..Shape::uniform(width) }
    }

    /// These 32-bit values.
    #[must_use]
    pub fn exact(values: &[u32; LANES]) -> Shape {
        Shape::of_values(32, &values.map(u64::from))
    }

    /// These 32-bit values in the lanes of a mask; what others have does not matter.
    #[must_use]
    pub fn exact_in(values: &[u32; LANES], mask: u64) -> Shape {
        let mut values = values.map(u64::from);
        let stride = values[1].wrapping_sub(values[0]);
        for lane in 0..LANES {
            if mask >> lane & 1 == 0 {
                // As the lanes before it go on, or else as a lane in the mask.
                values[lane] = match lane {
                    0 | 1 => values[mask.trailing_zeros() as usize % LANES],
                    _ if lane % STRIP == 0 => {
                        values[lane - STRIP].wrapping_add(stride.wrapping_mul(STRIP as u64))
                    }
                    _ => values[lane - 1].wrapping_add(stride),
                };
            }
        }
        Shape::of_values(32, &values)
    }

    /// The values of one of these rows, such as those of all waves of a workgroup.
    #[must_use]
    pub fn any_of<'a>(rows: impl IntoIterator<Item = &'a [u32; LANES]>) -> Shape {
        rows.into_iter().map(Shape::exact).reduce(Shape::join).unwrap_or(Shape::varying(32))
    }

    /// The same shape with values in a range only.
    #[must_use]
    pub fn in_range(self, least: u64, largest: u64) -> Shape {
        Shape { range: (self.range.0.max(least), self.range.1.min(largest)), ..self }
    }

    /// The same shape with a base that is a multiple of a power of two.
    #[must_use]
    pub fn aligned(self, bits: u8) -> Shape {
        if self.known >= bits { self } else { Shape { known: bits.min(self.width), low: 0, ..self } }
    }

    /// Width of the values in bits: 32 or 64.
    #[must_use]
    pub const fn width(&self) -> u8 {
        self.width
    }

    /// How values depend on lanes.
    #[must_use]
    pub const fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The least and the largest value that a lane may have, unsigned.
    #[must_use]
    pub const fn range(&self) -> (u64, u64) {
        self.range
    }

    /// The low bits of the base that are known, and their number. The base is the value of the first
    /// lane of the wave or of a strip; of a varying value, every lane is a base.
    #[must_use]
    pub const fn low_bits(&self) -> (u64, u8) {
        (self.low, self.known)
    }

    /// Whether all lanes have the same value.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.lanes == Lanes::Wave { stride: 0, strips: [0; 3] }
    }

    /// Whether the lanes of each strip have the same value.
    #[must_use]
    pub fn is_strip_uniform(&self) -> bool {
        self.stride() == Some(0)
    }

    /// The difference from one lane of a strip to the next, if it is constant.
    #[must_use]
    pub const fn stride(&self) -> Option<u64> {
        match self.lanes {
            Lanes::Wave { stride, .. } | Lanes::Strip { stride } => Some(stride),
            Lanes::Varying => None,
        }
    }

    /// The value of all lanes, if it is known.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        (self.is_uniform() && self.known == self.width).then_some(self.low)
    }

    /// The values of the lanes, if they are known.
    #[must_use]
    pub fn values(&self) -> Option<[u64; LANES]> {
        let all = self.known == self.width && matches!(self.lanes, Lanes::Wave { .. });
        all.then(|| std::array::from_fn(|lane| self.low.wrapping_add(self.offset(lane)) & self.ones()))
    }

    /// Whether the unsigned values of a strip do not wrap: they rise or fall from lane to lane, as
    /// exact numbers, by the stride as a signed one.
    #[must_use]
    pub fn does_not_wrap(&self) -> bool {
        !matches!(self.zero_extended().lanes, Lanes::Varying)
    }

    /// Whether a set of values, of the lanes in a mask, can be of this shape.
    #[must_use]
    pub fn admits(&self, values: &[u64; LANES], mask: u64) -> bool {
        if *self == Shape::varying(self.width) {
            return true;
        }
        let active = |lane: &usize| mask >> lane & 1 != 0;
        let value = |lane: usize| values[lane] & self.ones();
        let based = |lanes: std::ops::Range<usize>| {
            let mut bases =
                lanes.filter(active).map(|lane| value(lane).wrapping_sub(self.offset(lane)) & self.ones());
            let first = bases.next();
            first.is_none_or(|first| {
                (first ^ self.low) & ones(self.known.into()) == 0 && bases.all(|base| base == first)
            })
        };
        let in_range = |lane: usize| (self.range.0..=self.range.1).contains(&value(lane));
        let related = match self.lanes {
            Lanes::Wave { .. } => based(0..LANES),
            Lanes::Strip { .. } => (0..STRIPS).all(|strip| based(strip * STRIP..(strip + 1) * STRIP)),
            Lanes::Varying => (0..LANES).all(|lane| based(lane..lane + 1)),
        };
        let wraps = |lane: usize| {
            let (a, b) = (value(lane), value(lane + 1));
            match self.stride() {
                Some(stride) => i128::from(b) - i128::from(a) != i128::from(self.signed(stride)),
                None => false,
            }
        };
        let pairs = (0..LANES - 1).filter(|lane| lane % STRIP != STRIP - 1);
        let neighbours = pairs.filter(|lane| active(lane) && active(&(lane + 1)));
        let exact = !self.does_not_wrap() || neighbours.into_iter().all(|lane| !wraps(lane));
        (0..LANES).filter(active).all(in_range) && related && exact
    }

    /// Whether all lanes can have a value.
    #[must_use]
    pub fn admits_value(&self, value: u64) -> bool {
        let in_range = (self.range.0..=self.range.1).contains(&value);
        let base = (value ^ self.low) & ones(self.known.into()) == 0;
        in_range && base && self.is_strip_uniform() || self.admits(&[value; LANES], !0)
    }

    const fn ones(&self) -> u64 {
        ones(self.width as u32)
    }

    const fn signed(&self, value: u64) -> i64 {
        if self.width == 32 { value as u32 as i32 as i64 } else { value as i64 }
    }

    /// The difference of a lane from its base.
    fn offset(&self, lane: usize) -> u64 {
        let (strip, place) = (lane / STRIP, (lane % STRIP) as u64);
        match self.lanes {
            Lanes::Wave { stride, strips } => {
                let first = if strip == 0 { 0 } else { strips[strip - 1] };
                first.wrapping_add(stride.wrapping_mul(place))
            }
            Lanes::Strip { stride } => stride.wrapping_mul(place),
            Lanes::Varying => 0,
        }
    }

    /// The difference of a lane from its base, with differences of neighbours as signed numbers.
    fn signed_offset(&self, lane: usize) -> i128 {
        let first = self.offset(lane / STRIP * STRIP);
        let stride = i128::from(self.signed(self.stride().unwrap_or(0)));
        i128::from(self.signed(first)) + stride * (lane % STRIP) as i128
    }

    /// Values whose differences are known.
    fn differences(width: u8, values: &[u64; LANES]) -> Lanes {
        let mask = ones(width.into());
        let stride = values[1].wrapping_sub(values[0]) & mask;
        let strips = [1, 2, 3].map(|strip| values[strip * STRIP].wrapping_sub(values[0]) & mask);
        let lanes = Lanes::Wave { stride, strips };
        let shape = Shape { lanes, ..Shape::varying(width) };
        let fits =
            |lane: usize| values[0].wrapping_add(shape.offset(lane)).wrapping_sub(values[lane]) & mask == 0;
        if (0..LANES).all(fits) { lanes } else { Lanes::Varying }
    }

    /// Values that are known.
    fn of_values(width: u8, values: &[u64; LANES]) -> Shape {
        let values = values.map(|value| value & ones(width.into()));
        let range = values.iter().fold((!0, 0), |(a, b), value| (a.min(*value), b.max(*value)));
        match Shape::differences(width, &values) {
            Lanes::Varying => {
                let differ = values.iter().fold(0, |bits, value| bits | (value ^ values[0]));
                let known = differ.trailing_zeros().min(width.into());
                let low = values[0] & ones(known);
                Shape { width, lanes: Lanes::Varying, known: known as u8, low, range }
            }
            lanes => Shape { width, lanes, known: width, low: values[0], range },
        }
    }

    fn split(&self) -> Option<Split> {
        let shape = match self.lanes {
            Lanes::Varying => return None,
            Lanes::Wave { .. } if self.known == self.width => {
                return Some(Split { bits: self.width.into(), values: self.values()?, per_strip: false });
            }
            _ => self,
        };
        let (bits, per_strip) = (u32::from(shape.known), matches!(shape.lanes, Lanes::Strip { .. }));
        // Differences as signed numbers: the low bits do not carry if all sums stay in their range.
        let mut values = [0; LANES];
        for (lane, value) in values.iter_mut().enumerate() {
            let sum = i128::from(shape.low) + shape.signed_offset(lane);
            *value = u64::try_from(sum).ok().filter(|sum| *sum <= ones(bits))?;
        }
        Some(Split { bits, values, per_strip })
    }

    /// From values of `bits` low bits and an unknown multiple of a power of two.
    fn from_split(width: u8, split: &Split, range: (u64, u64)) -> Shape {
        if split.bits >= width.into() && !split.per_strip {
            let shape = Shape::of_values(width, &split.values);
            return shape.in_range(range.0, range.1);
        }
        // Sums with the multiple do not carry, so differences are those of the low bits.
        let lanes = match Shape::differences(64, &split.values) {
            Lanes::Wave { stride, strips } => {
                let [stride, a, b, c] =
                    [stride, strips[0], strips[1], strips[2]].map(|x| x & ones(width.into()));
                if split.per_strip {
                    Lanes::Strip { stride }
                } else {
                    Lanes::Wave { stride, strips: [a, b, c] }
                }
            }
            lanes => lanes,
        };
        let known = match lanes {
            Lanes::Varying => {
                let differ = split.values.iter().fold(0, |bits, value| bits | (value ^ split.values[0]));
                split.bits.min(differ.trailing_zeros())
            }
            _ => split.bits,
        };
        Shape { width, lanes, known: known as u8, low: split.values[0] & ones(known), range }
    }

    /// Forgets how the strips differ.
    fn per_strip(&self) -> Shape {
        match self.lanes {
            Lanes::Wave { stride, strips } => {
                let known =
                    strips.iter().fold(u32::from(self.known), |known, s| known.min(s.trailing_zeros()));
                Shape {
                    lanes: Lanes::Strip { stride },
                    known: known as u8,
                    low: self.low & ones(known),
                    ..*self
                }
            }
            _ => *self,
        }
    }

    /// Forgets how the lanes differ.
    #[must_use]
    pub fn forget_lanes(&self) -> Shape {
        match self.per_strip() {
            Shape { lanes: Lanes::Strip { stride }, known, low, .. } => {
                let known = u32::from(known).min(stride.trailing_zeros());
                Shape { lanes: Lanes::Varying, known: known as u8, low: low & ones(known), ..*self }
            }
            varying => varying,
        }
    }

    /// The low bits that two bases have in common.
    fn common_bits(&self, other: &Shape) -> (u8, u64) {
        let differ = (self.low ^ other.low).trailing_zeros();
        let known = u32::from(self.known.min(other.known)).min(differ);
        (known as u8, self.low & ones(known))
    }

    /// Either of two: the wave took one of two paths.
    #[must_use]
    pub fn join(self, other: Shape) -> Shape {
        if self == other {
            return self;
        }
        let range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        let (a, b) = match (self.lanes, other.lanes) {
            (a, b) if a == b => (self, other),
            _ if self.stride().is_some() && self.stride() == other.stride() => {
                (self.per_strip(), other.per_strip())
            }
            _ => (self.forget_lanes(), other.forget_lanes()),
        };
        let (known, low) = a.common_bits(&b);
        Shape { width: self.width, lanes: a.lanes, known, low, range }
    }

    /// Either of two in each lane: some lanes have been overwritten.
    #[must_use]
    pub fn mix(self, other: Shape) -> Shape {
        if self == other && self.values().is_some() {
            return self;
        }
        if let (Some(a), Some(b)) = (self.values(), other.values())
            && a == b
        {
            return self;
        }
        let (a, b) = (self.forget_lanes(), other.forget_lanes());
        a.join(b)
    }

    /// The join, with a range that grows at most twice.
    pub(super) fn widened(self, new: Shape) -> Shape {
        let joined = self.join(new);
        let least = if joined.range.0 < self.range.0 { 0 } else { joined.range.0 };
        let largest = if joined.range.1 > self.range.1 { self.ones() } else { joined.range.1 };
        Shape { range: (least, largest), ..joined }
    }

    fn with_range(self, range: Option<(u64, u64)>) -> Shape {
        match self.values() {
            Some(values) => Shape::of_values(self.width, &values),
            None => Shape { range: range.unwrap_or((0, self.ones())), ..self },
        }
    }

    /// Both with the same kind of lanes.
    fn alike(self, other: Shape) -> (Shape, Shape) {
        match (self.lanes, other.lanes) {
            (Lanes::Varying, _) | (_, Lanes::Varying) => (self.forget_lanes(), other.forget_lanes()),
            (Lanes::Strip { .. }, _) | (_, Lanes::Strip { .. }) => (self.per_strip(), other.per_strip()),
            _ => (self, other),
        }
    }

    /// Applies a linear function to differences.
    fn linear(a: Lanes, b: Lanes, width: u8, f: impl Fn(u64, u64) -> u64) -> Lanes {
        let f = |a, b| f(a, b) & ones(width.into());
        match (a, b) {
            (Lanes::Wave { stride: s, strips: p }, Lanes::Wave { stride: t, strips: q }) => {
                Lanes::Wave { stride: f(s, t), strips: std::array::from_fn(|n| f(p[n], q[n])) }
            }
            (Lanes::Strip { stride: s }, Lanes::Strip { stride: t }) => Lanes::Strip { stride: f(s, t) },
            _ => Lanes::Varying,
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Shape) -> Shape {
        let (a, b) = self.alike(other);
        let known = a.known.min(b.known);
        let low = a.low.wrapping_add(b.low) & ones(known.into());
        let lanes = Shape::linear(a.lanes, b.lanes, a.width, u64::wrapping_add);
        let largest = a.range.1.checked_add(b.range.1).filter(|sum| *sum <= a.ones());
        let range = largest.map(|largest| (a.range.0 + b.range.0, largest));
        Shape { lanes, known, low, ..a }.with_range(range)
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Shape) -> Shape {
        let (a, b) = self.alike(other);
        let known = a.known.min(b.known);
        let low = a.low.wrapping_sub(b.low) & ones(known.into());
        let lanes = Shape::linear(a.lanes, b.lanes, a.width, u64::wrapping_sub);
        let range = (a.range.0 >= b.range.1).then(|| (a.range.0 - b.range.1, a.range.1 - b.range.0));
        Shape { lanes, known, low, ..a }.with_range(range)
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Shape) -> Shape {
        let range = self.range.1.checked_mul(other.range.1).filter(|largest| *largest <= self.ones());
        let range = range.map(|largest| (self.range.0 * other.range.0, largest));
        if let Some(by) = other.value() {
            return self.scaled(by).with_range(range);
        }
        if let Some(by) = self.value() {
            return other.scaled(by).with_range(range);
        }
        let lanes = match (self.is_uniform(), other.is_uniform()) {
            (true, true) => Lanes::Wave { stride: 0, strips: [0; 3] },
            _ if self.is_strip_uniform() && other.is_strip_uniform() => Lanes::Strip { stride: 0 },
            _ => Lanes::Varying,
        };
        let (a, b) = match lanes {
            Lanes::Wave { .. } => (self, other),
            Lanes::Strip { .. } => (self.per_strip(), other.per_strip()),
            Lanes::Varying => (self.forget_lanes(), other.forget_lanes()),
        };
        // Zeros at the end of both add up.
        let zeros = |shape: &Shape| match shape.low {
            0 => u32::from(shape.known),
            low => low.trailing_zeros(),
        };
        let both = (zeros(&a) + zeros(&b)).min(self.width.into());
        let known = u32::from(a.known.min(b.known));
        let (known, low) =
            if both > known { (both, 0) } else { (known, a.low.wrapping_mul(b.low) & ones(known)) };
        Shape { width: self.width, lanes, known: known as u8, low, range: (0, self.ones()) }.with_range(range)
    }

    /// The product with a constant.
    fn scaled(self, by: u64) -> Shape {
        let mask = self.ones();
        let known = (u32::from(self.known) + by.trailing_zeros()).min(self.width.into());
        let known = if by & mask == 0 { self.width.into() } else { known };
        let low = self.low.wrapping_mul(by) & ones(known) & mask;
        let lanes = Shape::linear(self.lanes, self.lanes, self.width, |x, _| x.wrapping_mul(by));
        let lanes = if by & mask == 0 { Lanes::Wave { stride: 0, strips: [0; 3] } } else { lanes };
        Shape { lanes, known: known as u8, low, range: (0, mask), ..self }
    }

    /// Shifted left by a constant.
    #[must_use]
    pub fn shifted_left(self, by: u32) -> Shape {
        let by = by % u32::from(self.width);
        self.times(Shape::constant(self.width, 1 << by))
    }

    /// Shifted right by a constant, zeros shifted in.
    #[must_use]
    pub fn shifted_right(self, by: u32) -> Shape {
        let by = by % u32::from(self.width);
        let range = (self.range.0 >> by, self.range.1 >> by);
        match self.split() {
            Some(split) => {
                // Without known bits left, all that is left is the same in all lanes.
                let whole = split.bits == self.width.into();
                let bits = if whole { split.bits } else { split.bits.saturating_sub(by) };
                let split = Split { bits, values: split.values.map(|value| value >> by), ..split };
                Shape::from_split(self.width, &split, range)
            }
            None => self.any_function(range),
        }
    }

    /// Shifted right by a constant, the sign shifted in.
    #[must_use]
    pub fn shifted_right_signed(self, by: u32) -> Shape {
        let by = by % u32::from(self.width);
        if self.range.1 <= self.ones() >> 1 {
            return self.shifted_right(by);
        }
        let all = (0, self.ones());
        match self.split() {
            Some(split) if split.bits == self.width.into() && !split.per_strip => {
                let values = split.values.map(|value| (self.signed(value) >> by) as u64);
                Shape::of_values(self.width, &values)
            }
            Some(split) if split.bits < self.width.into() => {
                let values = split.values.map(|value| value >> by);
                let bits = split.bits.saturating_sub(by);
                Shape::from_split(self.width, &Split { bits, values, ..split }, all)
            }
            _ => self.any_function(all),
        }
    }

    /// Any function of each lane's value: equal values stay equal.
    #[must_use]
    pub fn any_function(self, range: (u64, u64)) -> Shape {
        let shape = match self.lanes {
            _ if self.is_uniform() => Shape::uniform(self.width),
            _ if self.is_strip_uniform() => Shape::strip_uniform(self.width),
            _ => Shape::varying(self.width),
        };
        Shape { range, ..shape }
    }

    /// Any function of the values of both in a lane.
    #[must_use]
    pub fn any_function_of(self, other: Shape) -> Shape {
        let range = (0, self.ones());
        let lanes = if self.is_uniform() { other } else { self };
        if self.is_uniform() || other.is_uniform() || self.is_strip_uniform() && other.is_strip_uniform() {
            return lanes.any_function(range);
        }
        Shape { range, ..Shape::varying(self.width) }
    }

    /// A bitwise function; `range` is that of the result.
    fn bitwise(self, other: Shape, range: (u64, u64), f: impl Fn(u64, u64) -> u64) -> Shape {
        let fallback = || Shape { range, ..self.any_function_of(other) };
        let (a, b) = self.alike(other);
        let (Some(mut x), Some(mut y)) = (a.split(), b.split()) else {
            let varying = (self.forget_lanes(), other.forget_lanes());
            let known = varying.0.known.min(varying.1.known);
            let low = f(varying.0.low, varying.1.low) & ones(known.into());
            let result = fallback();
            return if result.lanes == Lanes::Varying { Shape { known, low, ..result } } else { result };
        };
        // Known zeros above the low bits.
        for (shape, split) in [(&a, &mut x), (&b, &mut y)] {
            if split.bits < shape.width.into() && shape.range.1 <= ones(split.bits) {
                *split = Split { bits: shape.width.into(), values: split.values, per_strip: false };
            }
        }
        let width = u32::from(self.width);
        let bits = x.bits.min(y.bits);
        let high = |split: &Split| {
            // The bits above the common low ones, if they are the same in all lanes.
            let first = split.values[0] >> (bits % 64);
            let same = bits == 64 || split.values.iter().all(|value| value >> (bits % 64) == first);
            (same, (split.bits == width && !split.per_strip && bits < 64).then_some(first))
        };
        let per_strip = x.per_strip || y.per_strip;
        if bits == width && !per_strip {
            let values = std::array::from_fn(|lane| f(x.values[lane], y.values[lane]));
            return Shape::of_values(self.width, &values);
        }
        let ((same_x, high_x), (same_y, high_y)) = (high(&x), high(&y));
        // A constant above may decide alone: zeros of a conjunction, ones of a disjunction.
        let above = ones(width - bits);
        let decides = |known: Option<u64>| {
            let known = known?;
            let (zeros, all) = (f(known, 0) & above, f(known, above) & above);
            (zeros == all).then_some(zeros)
        };
        let swapped = |known: Option<u64>| {
            let known = known?;
            let (zeros, all) = (f(0, known) & above, f(above, known) & above);
            (zeros == all).then_some(zeros)
        };
        let decided = decides(high_x.filter(|_| same_x)).or_else(|| swapped(high_y.filter(|_| same_y)));
        let low = std::array::from_fn(|lane| f(x.values[lane], y.values[lane]) & ones(bits));
        match decided {
            Some(high) if bits < 64 => {
                let values = low.map(|value: u64| value | high << bits);
                if per_strip {
                    let split = Split { bits, values: low, per_strip };
                    return Shape::from_split(self.width, &split, range);
                }
                Shape::of_values(self.width, &values)
            }
            _ if same_x && same_y => {
                Shape::from_split(self.width, &Split { bits, values: low, per_strip }, range)
            }
            _ => fallback(),
        }
    }

    /// The bits of both.
    #[must_use]
    pub fn and(self, other: Shape) -> Shape {
        let range = (0, self.range.1.min(other.range.1));
        for (value, mask) in [(self, other), (other, self)] {
            // A mask that keeps all bits that may be set.
            let bits = ones(64 - value.range.1.leading_zeros());
            if mask.value().is_some_and(|mask| mask & bits == bits) {
                return value;
            }
        }
        self.bitwise(other, range, |a, b| a & b)
    }

    /// The bits of either.
    #[must_use]
    pub fn or(self, other: Shape) -> Shape {
        let largest = ones(64 - (self.range.1 | other.range.1).leading_zeros());
        self.bitwise(other, (self.range.0.max(other.range.0), largest), |a, b| a | b)
    }

    /// The bits of one of the two.
    #[must_use]
    pub fn xor(self, other: Shape) -> Shape {
        let largest = ones(64 - (self.range.1 | other.range.1).leading_zeros());
        self.bitwise(other, (0, largest), |a, b| a ^ b)
    }

    /// The 64-bit value of an unsigned 32-bit one.
    #[must_use]
    pub fn zero_extended(self) -> Shape {
        self.extended(|value| value)
    }

    /// The 64-bit value of a signed 32-bit one.
    #[must_use]
    pub fn sign_extended(self) -> Shape {
        if self.range.1 <= ones(31) {
            return self.zero_extended();
        }
        let Shape { range, .. } = Shape::varying(64);
        // With all bits known or the sign among the common ones, differences are exact.
        let shape = match self.split() {
            Some(Split { bits, .. }) if bits <= 31 => self.extended(|value| value),
            Some(Split { bits: 32, values, per_strip: false }) => {
                return Shape::of_values(64, &values.map(|value| self.signed(value) as u64));
            }
            _ => self.any_function(range),
        };
        Shape {
            width: 64,
            known: shape.known.min(32),
            low: shape.low & ones(shape.known.min(32).into()),
            range,
            ..shape
        }
    }

    fn extended(self, whole: impl Fn(u64) -> u64) -> Shape {
        if self.width == 64 {
            return if self.wraps_in_strips() {
                Shape { lanes: Lanes::Varying, ..self.forget_lanes() }
            } else {
                self
            };
        }
        if self.is_uniform() && self.known < 32 {
            return Shape { width: 64, ..self };
        }
        if let Some(values) = self.values() {
            return Shape::of_values(64, &values.map(whole));
        }
        let sign = |x: u64| x as u32 as i32 as i64 as u64;
        let known = self.known.min(32);
        let base = Shape { width: 64, known, low: self.low & ones(known.into()), ..self };
        // Without carries out of known bits, or in a range that is too short for a wrap, differences
        // are exact.
        let short = |shape: &Shape| {
            let near = |lane: usize| shape.signed_offset(lane).unsigned_abs() < 1 << 30;
            shape.range.1 - shape.range.0 < 1 << 31 && (0..LANES).all(near)
        };
        match self.lanes {
            Lanes::Wave { stride, strips } if self.split().is_some() || short(&self) => {
                Shape { lanes: Lanes::Wave { stride: sign(stride), strips: strips.map(sign) }, ..base }
            }
            _ => {
                let strip = self.per_strip();
                let base = Shape { width: 64, known: strip.known, low: strip.low, ..self };
                match strip.lanes {
                    Lanes::Strip { stride: 0 } => Shape { lanes: Lanes::Strip { stride: 0 }, ..base },
                    Lanes::Strip { stride } if strip.split().is_some() || short(&strip) => {
                        Shape { lanes: Lanes::Strip { stride: sign(stride) }, ..base }
                    }
                    _ => {
                        let varying = self.forget_lanes();
                        Shape { width: 64, ..varying }
                    }
                }
            }
        }
    }

    /// Whether 64-bit values of a strip may wrap.
    fn wraps_in_strips(&self) -> bool {
        if let Some(values) = self.values() {
            let stride = i128::from(self.stride().map_or(0, |stride| self.signed(stride)));
            let exact =
                |strip: &[u64]| strip.windows(2).all(|two| i128::from(two[1]) - i128::from(two[0]) == stride);
            return !values.chunks(STRIP).all(exact);
        }
        let short = self.range.1 - self.range.0 < 1 << 63;
        !(short || self.is_strip_uniform() || self.split().is_some())
    }

    /// The 64-bit value of two halves.
    #[must_use]
    pub fn combined(low: Shape, high: Shape) -> Shape {
        if high.value() == Some(0) {
            return low.zero_extended();
        }
        let wide = low.zero_extended();
        let range = match high.value() {
            Some(high) => (wide.range.0 | high << 32, wide.range.1 | high << 32),
            None => (high.range.0 << 32, high.range.1 << 32 | ones(32)),
        };
        let known = if high.value().is_some() && wide.known == 64 { 64 } else { wide.known.min(32) };
        let bits = wide.low | high.value().unwrap_or(0) << 32;
        let base = Shape { known, low: bits & ones(known.into()), range, ..wide };
        if high.is_uniform() {
            return base;
        }
        let strip = Shape { range, ..wide.per_strip() };
        let strip =
            Shape { known: strip.known.min(32), low: strip.low & ones(strip.known.min(32).into()), ..strip };
        if high.is_strip_uniform() {
            strip
        } else {
            let v = strip.forget_lanes();
            Shape { range, ..v }
        }
    }

    /// The low 32 bits of a 64-bit value.
    #[must_use]
    pub fn low_half(self) -> Shape {
        let known = self.known.min(32);
        let lanes = Shape::linear(self.lanes, self.lanes, 32, |x, _| x);
        let range = if self.range.1 <= ones(32) { self.range } else { (0, ones(32)) };
        let shape = Shape { width: 32, lanes, known, low: self.low & ones(known.into()), range };
        shape.with_range(Some(range))
    }

    /// The high 32 bits of a 64-bit value.
    #[must_use]
    pub fn high_half(self) -> Shape {
        let high = self.shifted_right(32);
        let known = high.known.min(32);
        let lanes = Shape::linear(high.lanes, high.lanes, 32, |x, _| x);
        Shape { width: 32, lanes, known, low: high.low & ones(known.into()), range: high.range }
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Shape {
    /// For people: `0x40`, `uniform`, `lane*4 + 64k+3`, `strip + lane*4`, `varying`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.value() {
            return write!(f, "{value:#x}");
        }
        match self.lanes {
            _ if self.is_uniform() => f.write_str("uniform")?,
            Lanes::Wave { stride, strips } => {
                let stride = self.signed(stride);
                let even = (0..3).all(|n| {
                    let far = stride.wrapping_mul(16 * (n as i64 + 1)) as u64;
                    strips[n] == far & self.ones()
                });
                if even {
                    write!(f, "lane*{stride}")?;
                } else {
                    write!(f, "strips[0")?;
                    for strip in strips {
                        write!(f, ",{}", self.signed(strip))?;
                    }
                    write!(f, "]")?;
                    if stride != 0 {
                        write!(f, "+place*{stride}")?;
                    }
                }
            }
            Lanes::Strip { stride: 0 } => f.write_str("strip-uniform")?,
            Lanes::Strip { stride } => write!(f, "strip+place*{}", self.signed(stride))?,
            Lanes::Varying => f.write_str("varying")?,
        }
        if self.known == self.width {
            write!(f, " from {:#x}", self.low)?;
        } else if self.known > 0 {
            write!(f, " mod {:#x}={:#x}", 1u64 << self.known, self.low)?;
        }
        if self.range != (0, self.ones()) && self.known != self.width {
            write!(f, " in {:#x}..={:#x}", self.range.0, self.range.1)?;
        }
        if self.stride().is_some_and(|stride| stride != 0) && !self.does_not_wrap() {
            f.write_str(" may wrap")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            // SplitMix64.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }

        fn pick<T: Copy>(&mut self, of: &[T]) -> T {
            of[self.below(of.len() as u64) as usize]
        }

        /// A number as programs have them.
        fn number(&mut self) -> u64 {
            let any = self.next();
            self.pick(&[
                0,
                1,
                4,
                16,
                63,
                64,
                255,
                0x100,
                0x3ff,
                0x400,
                any & 0xffff,
                any,
                !any,
                !0,
                1 << 31,
                1 << 30,
            ])
        }
    }

    /// A shape of 32 or 64 bits, and values of it in all lanes.
    fn member(random: &mut Random, width: u8) -> (Shape, [u64; LANES]) {
        let mask = ones(width.into());
        let small =
            |random: &mut Random| random.pick(&[0, 0, 1, 1, 4, 16, 64, 256, 0xffff_ffff_ffff_ffff]) & mask;
        let lanes = match random.below(6) {
            0 => Lanes::Varying,
            1 => Lanes::Strip { stride: small(random) },
            2 => {
                let stride = small(random);
                let far = stride.wrapping_mul(16);
                Lanes::Wave {
                    stride,
                    strips: [far & mask, far.wrapping_mul(2) & mask, far.wrapping_mul(3) & mask],
                }
            }
            3 => Lanes::Wave { stride: 0, strips: [0; 3] },
            4 => Lanes::Wave { stride: small(random), strips: [16, 0, 16] },
            _ => Lanes::Wave { stride: small(random), strips: [0; 3].map(|_: u64| random.number() & mask) },
        };
        let known = random.pick(&[0, 0, 2, 6, 8, width]);
        let low = random.number() & ones(known.into());
        let shape = Shape { width, lanes, known, low, range: (0, mask) };
        let base = |random: &mut Random| (random.number() & mask & !ones(known.into())) | low;
        let bases: [u64; 4] = std::array::from_fn(|_| base(random));
        let values: [u64; LANES] = std::array::from_fn(|lane| {
            let base = match lanes {
                Lanes::Wave { .. } => bases[0],
                Lanes::Strip { .. } => bases[lane / STRIP],
                Lanes::Varying => base(random),
            };
            base.wrapping_add(shape.offset(lane)) & mask
        });
        let range = match random.below(3) {
            0 => (0, mask),
            _ => (values.iter().copied().min().unwrap(), values.iter().copied().max().unwrap()),
        };
        (Shape { range, ..shape }, values)
    }

    type Binary = (&'static str, fn(Shape, Shape) -> Shape, fn(u64, u64) -> u64);

    /// Every operation on shapes gives a shape of the results of all values of the sources' shapes.
    #[test]
    fn results_are_of_the_shape_that_operations_give() {
        let mut random = Random(1);
        let binary: [Binary; 8] = [
            ("add", Shape::plus, u64::wrapping_add),
            ("sub", Shape::minus, u64::wrapping_sub),
            ("mul", Shape::times, u64::wrapping_mul),
            ("and", Shape::and, |a, b| a & b),
            ("or", Shape::or, |a, b| a | b),
            ("xor", Shape::xor, |a, b| a ^ b),
            ("any", Shape::any_function_of, |a, b| a.wrapping_mul(0x1234_5677) ^ b.rotate_left(9)),
            ("low", |a, _| a, |a, _| a),
        ];
        let (mut varying, mut all) = (0, 0);
        for round in 0..30_000 {
            let width = if round % 3 == 0 { 64 } else { 32 };
            let (a, x) = member(&mut random, width);
            let (b, y) = member(&mut random, width);
            let active = random.pick(&[!0, !0, 0xffff, !0 << 20, 1, 0x0f0f_f0f0_ffff_0001]);
            assert!(a.admits(&x, !0), "{a} {x:x?}");
            let check = |name: &str, shape: Shape, values: [u64; LANES]| {
                assert!(
                    shape.admits(&values, active),
                    "{name} of {a} and {b}: {shape}\n{x:x?}\n{y:x?}\n{values:x?}"
                );
            };
            for (name, on_shapes, on_values) in binary {
                let shape = on_shapes(a, b);
                check(name, shape, std::array::from_fn(|n| on_values(x[n], y[n]) & ones(width.into())));
                all += 1;
                varying += u32::from(shape.lanes == Lanes::Varying);
            }
            let by =
                random.pick(&[0, 1, 2, 6, 10, 16, 20, 30, 31, u32::from(width) - 1, u32::from(width) / 2]);
            check("shl", a.shifted_left(by), x.map(|x| x << by & ones(width.into())));
            check("shr", a.shifted_right(by), x.map(|x| x >> by));
            check(
                "sar",
                a.shifted_right_signed(by),
                x.map(|x| (a.signed(x) >> by) as u64 & ones(width.into())),
            );
            check("join", a.join(b), x);
            check("join", b.join(a), x);
            check("widened", b.widened(a), x);
            check("widened", a.widened(b), x);
            check("forget", a.forget_lanes(), x);
            check("per strip", a.per_strip(), x);
            check(
                "any",
                a.any_function((0, ones(width.into()))),
                x.map(|x| x.wrapping_mul(77) & ones(width.into())),
            );
            let chosen = random.next();
            check("mix", a.mix(b), std::array::from_fn(|n| if chosen >> n & 1 != 0 { x[n] } else { y[n] }));
            if width == 32 {
                check("zero", a.zero_extended(), x);
                check("sign", a.sign_extended(), x.map(|x| x as u32 as i32 as i64 as u64));
                check("combined", Shape::combined(a, b), std::array::from_fn(|n| x[n] | y[n] << 32));
                check("exact", Shape::exact_in(&x.map(|x| x as u32), active), x);
            } else {
                check("low", a.low_half(), x.map(|x| x & ones(32)));
                check("high", a.high_half(), x.map(|x| x >> 32));
            }
        }
        // The shapes say something.
        assert!(varying * 3 < all * 2, "{varying} of {all}");
    }

    /// A shape admits nothing but what it says.
    #[test]
    fn other_values_are_not_of_a_shape() {
        let lane: [u64; LANES] = std::array::from_fn(|n| n as u64);
        let shape = Shape::exact(&lane.map(|n| n as u32));
        assert_eq!((shape.stride(), shape.range(), shape.value()), (Some(1), (0, 63), None));
        assert!(shape.admits(&lane, !0) && !shape.admits(&lane.map(|n| n + 1), !0));
        let based = shape.plus(Shape::uniform(32));
        assert!(based.admits(&lane.map(|n| n + 1), !0) && !based.admits(&lane.map(|n| 2 * n), !0));
        assert!(based.admits(&lane.map(|n| 2 * n), 1) && !based.admits(&lane.map(|n| 2 * n), 3));
        assert!(!Shape::uniform(32).admits(&lane, !0) && Shape::uniform(32).admits(&lane.map(|_| 9), !0));
        let strip = Shape::strip_uniform(32);
        assert!(strip.admits(&lane.map(|n| n / 16), !0) && !strip.admits(&lane.map(|n| n / 8), !0));
        assert!(!Shape::varying(32).in_range(0, 62).admits(&lane, !0));
        assert!(!Shape::uniform(32).aligned(3).admits(&lane.map(|_| 9), !0));
    }

    #[test]
    fn work_items_of_workgroups() {
        let ids = |f: fn(u32) -> u32, waves: u32| {
            let rows: Vec<[u32; LANES]> =
                (0..waves).map(|wave| std::array::from_fn(|lane| f(64 * wave + lane as u32))).collect();
            Shape::any_of(&rows)
        };
        // 256 x 1: the number of the item.
        let x = ids(|n| n, 4);
        assert_eq!(
            (x.to_string(), x.does_not_wrap()),
            ("lane*1 mod 0x40=0x0 in 0x0..=0xff".to_owned(), true)
        );
        // The first item of the workgroup, a multiple of 256, does not make it wrap.
        let global = Shape::uniform(32).shifted_left(8).plus(x);
        assert_eq!((global.stride(), global.does_not_wrap()), (Some(1), true));
        assert!(!Shape::uniform(32).plus(x).does_not_wrap());
        let bytes = Shape::combined(global, Shape::constant(32, 0)).shifted_left(2);
        assert_eq!((bytes.stride(), bytes.width(), bytes.is_uniform()), (Some(4), 64, false));
        assert!(
            global.shifted_right_signed(31).is_uniform()
                && Shape::combined(global, global.shifted_right_signed(31)).stride() == Some(1)
        );
        // 32 x 8, packed: ten bits for each.
        let packed = ids(|n| (n % 32) | ((n / 32) << 10), 4);
        let x = packed.and(Shape::constant(32, 0x3ff));
        assert_eq!(x, ids(|n| n % 32, 4));
        assert_eq!(x.lanes(), Lanes::Wave { stride: 1, strips: [16, 0, 16] });
        let y = packed.shifted_right(10).and(Shape::constant(32, 0x3ff));
        assert_eq!((y.lanes(), y.range()), (Lanes::Wave { stride: 0, strips: [0, 1, 1] }, (0, 7)));
        // Disjoint bits.
        assert_eq!(y.shifted_left(5).or(x).lanes(), Lanes::Wave { stride: 1, strips: [16, 32, 48] });
        // A row of pixels at an unknown pitch.
        assert_eq!(y.times(Shape::uniform(32)).plus(x).lanes(), Lanes::Strip { stride: 1 });
    }
}
