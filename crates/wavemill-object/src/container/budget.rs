//! What the bundles of a file may decompress to, taken together.

use super::bundle::Bundle;
use crate::Limits;
use crate::error::{Error, Result};

/// Counts what is decompressed of a file. Without it, many bundles that are within the limit each would take time without end.
#[derive(Debug)]
pub(super) struct Budget<'l> {
    limits: &'l Limits,
    /// Bytes that all of it may decompress to.
    limit: u64,
    /// Bytes that were asked for, refused ones included: behind the first that is refused, all are.
    used: u64,
    /// Bytes that all bundles of the file decompress to, by their headers, but for those that are refused by themselves.
    all: u64,
}

impl<'l> Budget<'l> {
    /// The budget of a file with these bundles.
    pub(super) fn new(limits: &'l Limits, bundles: &[Bundle<'_>]) -> Self {
        let (mut compressed, mut all) = (0_u64, 0_u64);
        for (bundle, size) in bundles.iter().filter_map(|bundle| Some((bundle, bundle.decompressed_size()?)))
        {
            compressed = compressed.saturating_add(bundle.size());
            if size <= limits.decompressed(bundle.size()) {
                all = all.saturating_add(size);
            }
        }
        Budget { limits, limit: limits.decompressed_in_all(compressed), used: 0, all }
    }

    /// Takes the first `size` bytes of a decompressed bundle. Nothing is taken of bundles that are not compressed.
    pub(super) fn spend(&mut self, bundle: &Bundle<'_>, size: u64) -> Result<()> {
        // What is too large by itself is not decompressed at all.
        let whole =
            bundle.decompressed_size().filter(|&whole| whole <= self.limits.decompressed(bundle.size()));
        let Some(whole) = whole else { return Ok(()) };
        self.used = self.used.saturating_add(size.min(whole));
        match self.used > self.limit {
            false => Ok(()),
            true => Err(Error::OverLimit {
                what: "the decompression of all bundles of the file",
                size: self.all,
                limit: self.limit,
                parameter: "max_decompressed",
            }
            .within(bundle.place())),
        }
    }
}
