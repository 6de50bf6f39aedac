//! Reads and writes NumPy's `.npy` files (NumPy Enhancement Proposal 1, versions 1 to 3),
//! little-endian, of the element types.
//!
//! bf16 has the type that the Python package ml_dtypes writes: `V2`.

use super::element::Element;
use crate::input::Shown as _;

/// An array from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub element: Element,
    pub shape: Vec<u64>,
    /// Elements in row-major order, little-endian.
    pub bytes: Vec<u8>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

fn descr(element: Element) -> &'static str {
    match element {
        Element::I8 => "|i1",
        Element::U8 => "|u1",
        Element::I16 => "<i2",
        Element::U16 => "<u2",
        Element::I32 => "<i4",
        Element::U32 => "<u4",
        Element::I64 => "<i8",
        Element::U64 => "<u8",
        Element::F16 => "<f2",
        Element::Bf16 => "<V2",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
    }
}

/// Reads a file.
///
/// # Errors
/// The file is malformed, or has something unsupported.
pub(crate) fn read(data: &[u8]) -> Result<Array, String> {
    let rest = data.strip_prefix(MAGIC).ok_or("it does not begin like an .npy file")?;
    let cut = || "the header is cut short".to_owned();
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk::<2>().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest)),
        2 | 3 => rest.split_first_chunk::<4>().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest)),
        other => return Err(format!("version {other} of the format is not supported")),
    }
    .ok_or_else(cut)?;
    let (header, contents) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    let value = |key: &str| {
        let (_, after) =
            header.split_once(&format!("'{key}'")).or_else(|| header.split_once(&format!("\"{key}\"")))?;
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    };
    let missing = |key: &str| format!("the header has no `{key}`");
    let dtype = value("descr").ok_or_else(|| missing("descr"))?;
    let quote = dtype.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let dtype = quote.and_then(|quote| dtype[1..].split(quote).next());
    let dtype = dtype.ok_or("it contains records; only plain numbers are supported")?;
    let element = Element::ALL
        .into_iter()
        .find(|element| descr(*element)[1..] == dtype[1.min(dtype.len())..] && !dtype.starts_with('>'))
        .or_else(|| (dtype == "|b1").then_some(Element::U8))
        .ok_or_else(|| {
            format!(
                "its elements are `{dtype}`; only little-endian integers and floats are supported",
                dtype = dtype.shown()
            )
        })?;
    if !value("fortran_order").ok_or_else(|| missing("fortran_order"))?.starts_with("False") {
        return Err("it is in Fortran order; convert it with numpy.ascontiguousarray first".to_owned());
    }
    let shape = value("shape").ok_or_else(|| missing("shape"))?;
    let shape = shape.strip_prefix('(').and_then(|shape| shape.split(')').next());
    let shape = shape
        .and_then(|shape| {
            let numbers = shape.split(',').map(str::trim).filter(|n| !n.is_empty());
            numbers.map(|n| n.trim_end_matches('L').parse::<u64>().ok()).collect::<Option<Vec<_>>>()
        })
        .ok_or("its shape cannot be read")?;
    let size = shape.iter().try_fold(element.size() as u64, |size, n| size.checked_mul(*n));
    if size != Some(contents.len() as u64) {
        return Err(format!("its shape is {shape:?}, but {} bytes follow the header", contents.len()));
    }
    Ok(Array { element, shape, bytes: contents.to_vec() })
}

/// The bytes before the elements in a file with an array of this shape.
pub(crate) fn header(element: Element, shape: &[u64]) -> Vec<u8> {
    let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        descr(element),
        dims.join(", ")
    );
    // The contents begin at a multiple of 64 bytes, the header ends with a newline.
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    // A buffer has few dimensions, so the header has few bytes.
    out.extend((padded as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(element: Element, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
        [&header(element, shape), bytes].concat()
    }

    #[test]
    fn arrays_survive() {
        for element in Element::ALL {
            for shape in [vec![], vec![0], vec![3], vec![2, 3], vec![1, 2, 3]] {
                let count: u64 = shape.iter().product();
                let bytes: Vec<u8> = (0..count as usize * element.size()).map(|n| n as u8).collect();
                let file = write(element, &shape, &bytes);
                let contents = file.len() - bytes.len();
                assert_eq!(contents % 64, 0);
                assert_eq!(read(&file), Ok(Array { element, shape, bytes }));
            }
        }
    }

    #[test]
    fn what_numpy_writes() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{header:117}\n").as_bytes());
        file.extend([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
        let array = read(&file).unwrap();
        assert_eq!((array.element, &array.shape[..]), (Element::F32, &[2, 1][..]));
        assert_eq!(write(array.element, &array.shape, &array.bytes), file);
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = write(Element::I32, &[4], &[0; 16]);
        for end in 0..good.len() {
            assert!(read(&good[..end]).is_err(), "{end} bytes");
        }
        let text = String::from_utf8_lossy(&good[10..]).into_owned();
        for (from, to) in
            [("<i4", ">i4"), ("<i4", "<c8"), ("False", "True "), ("(4,)", "(x,)"), ("(4,)", "(5,)")]
        {
            let mut bad = good[..10].to_vec();
            bad.extend(text.replace(from, to).as_bytes());
            assert!(read(&bad).is_err(), "{to}");
        }
    }
}
