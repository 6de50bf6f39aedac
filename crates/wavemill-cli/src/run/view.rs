//! Parts of a buffer: `y`, `y[:4]`, `y[10:20:2]`, `y[0,:4]`.

use crate::input::Shown as _;
use std::ops::Range;

use super::element::{Element, ElementText as _};
use super::elements::PIECE;
use crate::failure::Failure;
use crate::text::{Extent, Plural, whole_number};

/// A part with at least one selected element in this many is copied whole; elements of sparser
/// parts are copied one by one.
const SPARSE: u64 = 8;

/// A buffer's declaration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub name: String,
    pub element: Element,
    pub dims: Vec<u64>,
}

impl Shape {
    pub(crate) fn count(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Size in bytes; `None` if no memory could be so large.
    pub(crate) fn size(&self) -> Option<u64> {
        self.count().checked_mul(self.element.size() as u64).filter(|size| *size <= isize::MAX as u64)
    }
}

/// Some elements of a buffer. Their indices are computed when needed, as there may be many.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    /// The selection along each dimension.
    along: Vec<Along>,
    /// Shape of the part; dimensions with a single index are omitted.
    pub shape: Vec<u64>,
}

/// A selection along a dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Along {
    start: u64,
    step: u64,
    count: u64,
    /// Elements of the buffer from one index to the next.
    stride: u64,
}

/// Splits `:x`, the format of values, off the end of a view. Returns the view, and whether values
/// are in hexadecimal.
///
/// # Errors
/// Another format.
pub(crate) fn split_format(text: &str) -> Result<(&str, bool), Failure> {
    match text.trim().rsplit_once(':') {
        // Slices have colons of their own.
        Some((view, format))
            if !format.contains(']') && (view.trim_end().ends_with(']') || !view.contains('[')) =>
        {
            match format.trim() {
                "x" => Ok((view, true)),
                other => Err(Failure::usage(format!(
                    "there is no format `:{}`; expected nothing after the view, or :x for values in hexadecimal",
                    other.shown()
                ))),
            }
        }
        _ => Ok((text.trim(), false)),
    }
}

/// Splits `y[0,:4]` into the name and the text between the brackets.
pub(crate) fn split(text: &str) -> Result<(&str, Option<&str>), Failure> {
    match text.trim().split_once('[') {
        None => Ok((text.trim(), None)),
        Some((name, rest)) => match rest.trim_end().strip_suffix(']') {
            Some(inside) => Ok((name.trim(), Some(inside))),
            None => Err(Failure::usage(match rest.rsplit_once(']') {
                Some((_, behind)) => {
                    format!(
                        "expected nothing after the `]` of `{}`, found `{}`",
                        text.trim().shown(),
                        behind.trim().shown()
                    )
                }
                None => format!("`{}` has no `]` at its end", text.trim().shown()),
            })),
        },
    }
}

impl View {
    /// The part of a buffer that the brackets select; all of it without brackets.
    pub(crate) fn parse(shape: &Shape, inside: Option<&str>) -> Result<View, Failure> {
        let parts: Vec<&str> = inside.map_or(Vec::new(), |inside| inside.split(',').collect());
        if parts.len() > shape.dims.len() {
            let declared = Extent(&shape.dims);
            return Err(Failure::usage(format!(
                "`{}` has {} ({declared}), but {} indices were given",
                shape.name.shown(),
                Plural(shape.dims.len() as u64, "dimension"),
                parts.len()
            )));
        }
        let mut view = View { along: Vec::with_capacity(shape.dims.len()), shape: Vec::new() };
        // A buffer without elements may have large dimensions besides the one that is zero.
        let empty = shape.count() == 0;
        for (d, &size) in shape.dims.iter().enumerate() {
            let (range, step, kept) = match parts.get(d) {
                Some(part) => range(shape, part.trim(), size)?,
                None => (0..size, 1, true),
            };
            let count = (range.end - range.start).div_ceil(step);
            if kept {
                view.shape.push(count);
            }
            view.along.push(match empty {
                true => Along { start: 0, step: 0, count: 0, stride: 0 },
                false => {
                    let stride = shape.dims[d + 1..].iter().product();
                    Along { start: range.start, step, count, stride }
                }
            });
        }
        Ok(view)
    }

    /// Number of elements.
    pub(crate) fn count(&self) -> u64 {
        // At most the elements of the buffer.
        self.along.iter().map(|along| along.count).product()
    }

    /// Index in the buffer of the part's element `number`, which must be below the count.
    pub(crate) fn index(&self, number: u64) -> u64 {
        let mut rest = number;
        let mut index = 0;
        for along in self.along.iter().rev() {
            index += (along.start + rest % along.count * along.step) * along.stride;
            rest /= along.count;
        }
        index
    }

    /// Copies elements of `size` bytes each, from the part's element `number` on, until `into` is
    /// full. `read` copies bytes of the buffer from an offset on.
    ///
    /// # Errors
    /// As `read`.
    pub(crate) fn copy(
        &self,
        number: u64,
        size: usize,
        into: &mut [u8],
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(last) = (into.len() / size).checked_sub(1) else { return Ok(()) };
        let first = self.index(number);
        // Indices ascend.
        let span = self.index(number + last as u64) - first + 1;
        if span == last as u64 + 1 {
            return read(first * size as u64, into);
        }
        let elements = (number..).zip(into.chunks_exact_mut(size));
        if span <= SPARSE * (last as u64 + 1) {
            let mut all = vec![0; span as usize * size];
            read(first * size as u64, &mut all)?;
            for (number, one) in elements {
                one.copy_from_slice(&all[(self.index(number) - first) as usize * size..][..size]);
            }
            return Ok(());
        }
        for (number, one) in elements {
            read(self.index(number) * size as u64, one)?;
        }
        Ok(())
    }

    /// Passes the bytes of all elements of `size` bytes each to `take`, piece by piece; `read` is
    /// as for [`View::copy`].
    ///
    /// # Errors
    /// As `read` and `take`.
    pub(crate) fn each_piece(
        &self,
        size: usize,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
        mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let per_piece = (PIECE / size) as u64;
        let mut piece = Vec::new();
        let mut at = 0;
        while at < self.count() {
            let n = per_piece.min(self.count() - at);
            piece.resize(n as usize * size, 0);
            self.copy(at, size, &mut piece, &mut read)?;
            take(&piece)?;
            at += n;
        }
        Ok(())
    }
}

/// The indices that a part of a slice selects, the distance between them, and whether it is a
/// range.
fn range(shape: &Shape, part: &str, size: u64) -> Result<(Range<u64>, u64, bool), Failure> {
    let name = &shape.name;
    let bad = || {
        Failure::usage(format!(
            "`{part}` is not an index into `{name}`; expected a number such as 7 or -1, or a slice such as :4, 10:20 or 0:100:10{}",
            whole_number(part),
            part = part.shown(),
            name = name.shown()
        ))
    };
    let outside = |index: i64| {
        let there = if shape.dims.len() == 1 { "" } else { " there" };
        let range = match size {
            0 => String::new(),
            size => format!(": 0 to {}, or -{size} to -1 from the end", size - 1),
        };
        Failure::usage(format!(
            "index {index} is outside `{name}`, which has {}{there}{range}",
            Plural(size, "element"),
            name = name.shown()
        ))
    };
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| bad());
    // Negative indices count from the end.
    let place = |index: i64, most: u64| {
        let from_end = if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index as u64) };
        from_end.filter(|place| *place <= most).ok_or_else(|| outside(index))
    };
    let fields: Vec<&str> = part.split(':').collect();
    if let [index] = fields[..] {
        let index = number(index)?;
        let Some(last) = size.checked_sub(1) else { return Err(outside(index)) };
        let index = place(index, last)?;
        return Ok((index..index + 1, 1, false));
    }
    if fields.len() > 3 {
        return Err(bad());
    }
    let field = |index: usize| fields.get(index).map(|text| text.trim()).filter(|text| !text.is_empty());
    let start = field(0).map_or(Ok(0), |text| place(number(text)?, size))?;
    let end = field(1).map_or(Ok(size), |text| place(number(text)?, size))?;
    let step = field(2).map_or(Ok(1), number)?;
    let step = u64::try_from(step).ok().filter(|step| *step > 0);
    let step = step.ok_or_else(|| {
        Failure::usage(format!("`{part}`: the step must be 1 or more", part = part.shown()))
    })?;
    Ok((start..end.max(start), step, true))
}

/// Longest line of printed values.
const WIDTH: usize = 100;

/// Writes the values of a part as text: on one line if they fit, else in rows that begin with the
/// index of their first value. It reads them twice, piece by piece, as there may be many; `read` is
/// as for [`View::copy`].
///
/// # Errors
/// As `read`.
pub(crate) fn print(
    title: &str,
    shape: &Shape,
    view: &View,
    hex: bool,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
    mut write: impl FnMut(&str),
) -> Result<(), Failure> {
    let size = shape.element.size();
    let value = |bytes: &[u8]| if hex { shape.element.hex(bytes) } else { shape.element.shown(bytes) };
    let mut widest = 0;
    let mut length = title.len() as u64 + 5;
    view.each_piece(size, &mut read, |piece| {
        for bytes in piece.chunks_exact(size) {
            let characters = value(bytes).len();
            widest = widest.max(characters);
            length += characters as u64 + 2;
        }
        Ok(())
    })?;
    if view.shape.is_empty() || view.shape.len() == 1 && length <= WIDTH as u64 {
        let mut values = Vec::new();
        view.each_piece(size, &mut read, |piece| {
            values.extend(piece.chunks_exact(size).map(value));
            Ok(())
        })?;
        let values = values.join(", ");
        write(&if view.shape.is_empty() {
            format!("{title} = {values}\n")
        } else {
            format!("{title} = [{values}]\n")
        });
        return Ok(());
    }
    let place = |number: u64| place(view.index(number), &shape.dims);
    // No index is longer than the last one.
    let margin = view.count().checked_sub(1).map_or(0, |last| place(last).len());
    let per_line = (WIDTH.saturating_sub(margin + 4) / (widest + 2)).max(1);
    // A power of two is easier to count.
    let per_line = 1 << per_line.ilog2();
    let row = view.shape.last().copied().unwrap_or(1).max(1);
    let mut text = format!("{title} =\n");
    let mut number = 0;
    view.each_piece(size, &mut read, |piece| {
        for bytes in piece.chunks_exact(size) {
            if number % row % per_line == 0 {
                if number > 0 {
                    text.push('\n');
                }
                text += &format!("  {:>margin$}", place(number));
            }
            text += &format!("  {:>widest$}", value(bytes));
            number += 1;
        }
        write(&text);
        text.clear();
        Ok(())
    })?;
    // The rest is the title of a part without elements.
    write(if number > 0 { "\n" } else { &text });
    Ok(())
}

/// The indices of an element in every dimension: `[3]`, `[0,3]`.
pub(crate) fn place(index: u64, dims: &[u64]) -> String {
    let parts: Vec<String> = indices(index, dims).iter().map(u64::to_string).collect();
    format!("[{}]", parts.join(","))
}

/// The indices of an element in every dimension.
pub(crate) fn indices(index: u64, dims: &[u64]) -> Vec<u64> {
    let mut rest = index;
    let mut parts = Vec::with_capacity(dims.len());
    for size in dims.iter().rev() {
        parts.push(rest % size.max(&1));
        rest /= size.max(&1);
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(dims: &[u64], inside: &str) -> Result<(Vec<u64>, Vec<u64>), String> {
        let shape = Shape { name: "y".to_owned(), element: Element::U8, dims: dims.to_vec() };
        match View::parse(&shape, Some(inside)) {
            Ok(view) => Ok(((0..view.count()).map(|number| view.index(number)).collect(), view.shape)),
            Err(failure) => Err(failure.message),
        }
    }

    #[test]
    fn slices() {
        for (dims, inside, indices, shape) in [
            (&[10][..], ":4", &[0, 1, 2, 3][..], &[4][..]),
            (&[10], "2:8:3", &[2, 5], &[2]),
            (&[10], "-2:", &[8, 9], &[2]),
            (&[10], "-1", &[9], &[]),
            (&[10], "5:5", &[], &[0]),
            (&[3, 4], "1", &[4, 5, 6, 7], &[4]),
            (&[3, 4], ":,1", &[1, 5, 9], &[3]),
            (&[3, 4], "0,:2", &[0, 1], &[2]),
            (&[2, 2, 2], ":,0,1", &[1, 5], &[2]),
        ] {
            assert_eq!(view(dims, inside), Ok((indices.to_vec(), shape.to_vec())), "{dims:?} [{inside}]");
        }
        for (dims, inside) in [
            (&[10][..], "10"),
            (&[10], "-11"),
            (&[10], ":11"),
            (&[10], "::0"),
            (&[10], "::-1"),
            (&[10], "a"),
            (&[10], "1:2:3:4"),
            (&[10], "1,2"),
            (&[0], "0"),
            (&[10], ""),
        ] {
            assert!(view(dims, inside).is_err(), "{dims:?} [{inside}]");
        }
    }

    #[test]
    fn long_values_come_in_rows() {
        let shape = Shape { name: "y".to_owned(), element: Element::U8, dims: vec![2, 40] };
        let bytes: Vec<u8> = (0..80).collect();
        let all = View::parse(&shape, None).unwrap();
        let mut text = String::new();
        let read = |offset: u64, into: &mut [u8]| {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            Ok(())
        };
        print("y", &shape, &all, false, read, |more| text += more).unwrap();
        assert_eq!(text.lines().count(), 1 + 2 * 3);
        assert!(text.contains("\n  [1,16]  56  57"), "{text}");
    }
}
