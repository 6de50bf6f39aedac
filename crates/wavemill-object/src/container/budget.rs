//! A common decompression budget for all bundles of a file.

use super::bundle::Bundle;
use crate::Limits;
use crate::error::{Error, Result};

/// Counts the decompressed bytes of a file. Each bundle of a file may be within its own limit:
/// without this budget, many of them would take unbounded time.
#[derive(Debug)]
pub(super) struct Budget<'l> {
    limits: &'l Limits,
    /// Bytes that all bundles together may decompress to.
    limit: u64,
    /// Bytes requested so far, refused requests included: after the first refusal, every request is
    /// refused.
    used: u64,
    /// Bytes that all bundles of the file decompress to according to their headers, except bundles
    /// that exceed their own limit.
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

    /// Charges the first `size` bytes of a decompressed bundle. Uncompressed bundles are free.
    pub(super) fn spend(&mut self, bundle: &Bundle<'_>, size: u64) -> Result<()> {
        // A bundle over its own limit is not decompressed at all.
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
