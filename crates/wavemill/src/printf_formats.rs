//! Formats of printf from the metadata of a code object.

use std::collections::BTreeMap;

/// Formats in the metadata of a code object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Formats {
    /// OpenCL formats, by number.
    pub numbered: BTreeMap<u32, Format>,
    /// HIP formats, by hash.
    pub hashed: BTreeMap<u64, Vec<u8>>,
}

/// A format of OpenCL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bytes of the arguments.
    pub sizes: Vec<u32>,
    /// The text.
    pub text: Vec<u8>,
}

impl Format {
    /// Bytes of its records.
    pub(crate) fn record(&self) -> u64 {
        4 + self.sizes.iter().map(|n| u64::from(*n)).sum::<u64>()
    }
}

/// Undoes LLVM's escapes in OpenCL formats: `
/// ` and similar, and `\72` for a colon.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, used) = match (first, tail) {
            (b'\\', [b'a', ..]) => (7, 2),
            (b'\\', [b'b', ..]) => (8, 2),
            (b'\\', [b'f', ..]) => (12, 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'v', ..]) => (11, 2),
            (b'\\', [b'7', b'2', ..]) => (b':', 3),
            (byte, _) => (*byte, 1),
        };
        out.push(byte);
        rest = &rest[used..];
    }
    out
}

impl Formats {
    /// Parses `amdhsa.printf`. Malformed entries are omitted: their records are reported as
    /// unknown.
    pub(crate) fn parse(entries: &[String]) -> Formats {
        let mut formats = Formats::default();
        for entry in entries {
            if let Some(rest) = entry.strip_prefix("0:0:") {
                let parsed = rest.split_once(',');
                if let Some((Ok(hash), text)) = parsed.map(|(h, text)| (u64::from_str_radix(h, 16), text)) {
                    formats.hashed.insert(hash, text.as_bytes().to_vec());
                }
                continue;
            }
            let fields: Vec<&str> = entry.split(':').collect();
            let [number, _, sizes @ .., text] = &fields[..] else { continue };
            let sizes: std::result::Result<Vec<u32>, _> = sizes.iter().map(|n| n.parse()).collect();
            if let (Ok(number), Ok(sizes)) = (number.parse(), sizes) {
                formats.numbered.insert(number, Format { sizes, text: unescape(text) });
            }
        }
        formats
    }

    /// Whether records are in HIP's format.
    pub(crate) fn is_hip(&self) -> bool {
        self.numbered.is_empty()
    }
}
