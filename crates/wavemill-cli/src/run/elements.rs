//! Checked contents, generated piece by piece: they need no memory in addition to their buffer.

use super::element::{Element, ElementText as _, Number};
use crate::failure::Failure;

/// This many elements of a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elements {
    element: Element,
    count: u64,
    kind: Kind,
}

/// How the elements are generated.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// All elements are these bytes.
    Same(Vec<u8>),
    /// start, start + step, ... Floats are computed in double precision, and then rounded.
    Iota(Number, Number),
    /// Random integers are over the whole range of the type, or between two inclusive ends. Random
    /// floats are from 0 or the first end, up to but excluding 1 or the second end, before they are
    /// rounded to the type.
    Random(u64, Option<(Number, Number)>),
    /// Existing bytes.
    Bytes(Vec<u8>),
}

/// Most bytes of a piece.
pub(crate) const PIECE: usize = 1 << 16;

impl Elements {
    /// The same number everywhere.
    pub(crate) fn same(element: Element, count: u64, number: Number) -> Result<Self, Failure> {
        let mut one = Vec::new();
        element.put(number, &mut one)?;
        Self::sound(element, count, Kind::Same(one))
    }

    /// start, start + step, ...
    pub(crate) fn iota(element: Element, count: u64, start: Number, step: Number) -> Result<Self, Failure> {
        // A monotonic sequence is in range everywhere if both ends are.
        for index in [0, count.saturating_sub(1)].into_iter().filter(|index| *index < count) {
            element
                .put(iota(start, step, index), &mut Vec::new())
                .map_err(|failure| failure.within(format_args!("element {index} of iota")))?;
        }
        Self::sound(element, count, Kind::Iota(start, step))
    }

    /// Random numbers, over the whole range of the type or between two ends.
    pub(crate) fn random(
        element: Element,
        count: u64,
        seed: u64,
        range: Option<(Number, Number)>,
    ) -> Result<Self, Failure> {
        let wide = match range {
            Some((low, high)) => {
                element.put(low, &mut Vec::new())?;
                element.put(high, &mut Vec::new())?;
                match (low, high) {
                    (Number::Int(low), Number::Int(high)) if low <= high => false,
                    (Number::Float(low), Number::Float(high)) if low <= high => !(high - low).is_finite(),
                    (Number::Float(low), Number::Float(high)) if low.is_nan() || high.is_nan() => {
                        return Err(Failure::usage("an end of the range of `random` is not a number"));
                    }
                    _ => {
                        return Err(Failure::usage(
                            "the range of `random` is empty: its low end is above its high end",
                        ));
                    }
                }
            }
            None => false,
        };
        if wide {
            return Err(Failure::usage("the range of `random` is wider than any float"));
        }
        Self::sound(element, count, Kind::Random(seed, range))
    }

    /// Existing elements; `bytes` holds whole elements.
    pub(crate) fn bytes(element: Element, bytes: Vec<u8>) -> Self {
        Elements { element, count: (bytes.len() / element.size()) as u64, kind: Kind::Bytes(bytes) }
    }

    fn sound(element: Element, count: u64, kind: Kind) -> Result<Self, Failure> {
        let size = count.checked_mul(element.size() as u64);
        match size.is_some_and(|size| isize::try_from(size).is_ok()) {
            true => Ok(Elements { element, count, kind }),
            false => Err(Failure::usage(format!("{} do not fit into memory", element.count(count)))),
        }
    }

    /// Passes all bytes to `take`, in pieces of whole elements.
    ///
    /// # Errors
    /// As `take`.
    pub(crate) fn each_piece(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let element = self.element;
        let size = element.size();
        let per_piece = (PIECE / size) as u64;
        if let Kind::Bytes(bytes) = &self.kind {
            return bytes.chunks(PIECE).try_for_each(take);
        }
        let mut generator = match &self.kind {
            Kind::Random(seed, _) => SplitMix64(*seed),
            _ => SplitMix64(0),
        };
        let mut piece = match &self.kind {
            Kind::Same(one) => one.repeat(per_piece.min(self.count) as usize),
            _ => Vec::with_capacity(per_piece.min(self.count) as usize * size),
        };
        let mut at = 0;
        while at < self.count {
            let n = per_piece.min(self.count - at);
            match &self.kind {
                Kind::Same(_) | Kind::Bytes(_) => {}
                Kind::Iota(start, step) => {
                    piece.clear();
                    put_iota(element, *start, *step, at, n, &mut piece)?;
                }
                Kind::Random(_, range) => {
                    piece.clear();
                    for _ in 0..n {
                        put_random(element, *range, &mut generator, &mut piece)?;
                    }
                }
            }
            take(&piece[..n as usize * size])?;
            at += n;
        }
        Ok(())
    }

    /// All bytes at once.
    ///
    /// # Errors
    /// The host does not have the memory for them.
    pub(crate) fn to_vec(&self) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        // It was checked before that this fits.
        let size = self.count as usize * self.element.size();
        if out.try_reserve_exact(size).is_err() {
            let all = self.element.count(self.count);
            return Err(Failure::usage(format!("{all} do not fit into memory")));
        }
        self.each_piece(|piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }
}

/// The number at an index.
fn iota(start: Number, step: Number, index: u64) -> Number {
    match (start, step) {
        // A number that does not fit in 128 bits fits in no type, and neither does the largest
        // number.
        (Number::Int(start), Number::Int(step)) => {
            Number::Int(start.saturating_add(step.saturating_mul(i128::from(index))))
        }
        (Number::Float(start), Number::Float(step)) => Number::Float(start + step * index as f64),
        // Both were parsed as the same type.
        (start, _) => start,
    }
}

/// Appends `n` numbers from an index on.
fn put_iota(
    element: Element,
    start: Number,
    step: Number,
    first: u64,
    n: u64,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let indices = first..first + n;
    match (start, step) {
        (Number::Int(start), Number::Int(step)) => {
            let (start, step) = (start as u64, step as u64);
            let word = |index: u64| start.wrapping_add(step.wrapping_mul(index));
            match element.size() {
                1 => out.extend(indices.map(|index| word(index) as u8)),
                2 => out.extend(indices.flat_map(|index| (word(index) as u16).to_le_bytes())),
                4 => out.extend(indices.flat_map(|index| (word(index) as u32).to_le_bytes())),
                _ => out.extend(indices.flat_map(|index| word(index).to_le_bytes())),
            }
        }
        (Number::Float(start), Number::Float(step)) if element == Element::F32 => {
            let value = |index: u64| (start + step * index as f64) as f32;
            out.extend(indices.flat_map(|index| value(index).to_le_bytes()));
        }
        _ => indices.into_iter().try_for_each(|index| element.put(iota(start, step, index), out))?,
    }
    Ok(())
}

/// SplitMix64: small, fast, and the same everywhere (Steele, Lea and Flood 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// At least 0 and less than 1, in steps of 2^-53.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Appends a random number.
fn put_random(
    element: Element,
    range: Option<(Number, Number)>,
    generator: &mut SplitMix64,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    match range {
        None if element.is_float() => element.put(Number::Float(generator.fraction()), out)?,
        None => out.extend(&generator.next().to_le_bytes()[..element.size()]),
        Some((Number::Float(low), Number::Float(high))) => {
            element.put(Number::Float(low + generator.fraction() * (high - low)), out)?;
        }
        Some((Number::Int(low), Number::Int(high))) => {
            let span = (high - low).unsigned_abs() + 1;
            // For spans of up to 64 bits, the bias of the remainder is below 2^-64 of the span's
            // share.
            let wide = u128::from(generator.next()) << 64 | u128::from(generator.next());
            element.put(Number::Int(low + (wide % span) as i128), out)?;
        }
        // Both were parsed as the same type.
        Some((low, _)) => element.put(low, out)?,
    }
    Ok(())
}
