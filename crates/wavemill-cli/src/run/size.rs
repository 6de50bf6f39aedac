//! Sizes of grids and workgroups as users write them.

use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;
use crate::input::Shown as _;
use crate::text::Extent;

/// A size in one to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Missing dimensions are 1.
    pub n: [u64; 3],
    /// How many were given.
    pub dims: u16,
}

impl Size {
    pub(crate) fn from_list(list: &[u64]) -> Result<Size, Failure> {
        let fail = |what: &str| Err(Failure::usage(format!("{list:?} is not a size: {what}")));
        if list.is_empty() || list.len() > 3 {
            return fail("expected one to three numbers");
        }
        if let Some(n) = list.iter().find(|n| **n == 0 || **n > u64::from(u32::MAX)) {
            return fail(&format!("{n} is not between 1 and {}", u32::MAX));
        }
        let mut n = [1; 3];
        n[..list.len()].copy_from_slice(list);
        Ok(Size { n, dims: list.len() as u16 })
    }

    /// Numbers that may be zero, for offsets.
    pub(crate) fn offset(text: &str) -> Result<[u64; 3], Failure> {
        let list = numbers(text)?;
        match list.len() {
            1..=3 => Ok(std::array::from_fn(|d| list.get(d).copied().unwrap_or(0))),
            _ => Err(Failure::usage(format!(
                "`{text}` is not a position in the grid; expected one to three numbers: X, X,Y or X,Y,Z",
                text = text.shown()
            ))),
        }
    }

    /// As launch files have it.
    pub(crate) fn toml(&self) -> String {
        format!("{:?}", &self.n[..usize::from(self.dims)])
    }

    /// The size in 32-bit numbers; it was checked to fit.
    pub(crate) fn words(&self) -> [u32; 3] {
        self.n.map(|n| n as u32)
    }
}

fn numbers(text: &str) -> Result<Vec<u64>, Failure> {
    let part = |part: &str| part.trim().replace('_', "").parse().ok();
    let list: Option<Vec<u64>> = text.split([',', 'x', 'X']).map(part).collect();
    list.ok_or_else(|| {
        Failure::usage(format!(
            "`{text}` is not a size; expected X, X,Y or XxYxZ, such as 64 or 16x16",
            text = text.shown()
        ))
    })
}

impl FromStr for Size {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        Size::from_list(&numbers(text)?)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Extent(&self.n[..usize::from(self.dims)]).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |n, dims| Some(Size { n, dims });
        for (text, wanted) in [
            ("4", size([4, 1, 1], 1)),
            ("4,2", size([4, 2, 1], 2)),
            ("4x2X3", size([4, 2, 3], 3)),
            ("1_024", size([1024, 1, 1], 1)),
            ("0", None),
            ("-1", None),
            ("4294967296", None),
            ("1,2,3,4", None),
            ("", None),
            ("four", None),
        ] {
            assert_eq!(text.parse::<Size>().ok(), wanted, "{text}");
        }
        assert_eq!(Size::offset("0,7").unwrap(), [0, 7, 0]);
    }
}
