//! Merges mergeable sections: keeps equal entries once.

use std::collections::HashMap;

use twox_hash::XxHash3_64;

/// The destination of an entry of an input section: its offset there, and in the merged section.
pub(super) type Piece = (u64, u64);

/// A merged section.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) bytes: Vec<u8>,
    /// The entries of each input section, in ascending order.
    pub(super) pieces: Vec<Vec<Piece>>,
}

/// Entries are grouped by the highest five bits of their hashes.
const SHARDS: usize = 32;

/// Merges the entries of `inputs`: zero-terminated strings in units of `entry_size` bytes, or
/// entries of that size. The order is that of `ld.lld` 22: by hash, then by first appearance.
pub(super) fn merge(inputs: &[&[u8]], entry_size: usize, strings: bool, align: u64) -> Merged {
    let mut shards: Vec<Vec<u8>> = vec![Vec::new(); SHARDS];
    let mut seen: HashMap<&[u8], (usize, u64)> = HashMap::new();
    let mut found: Vec<Vec<(u64, usize, u64)>> = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            let (size, hashed) = if strings { string(rest, entry_size) } else { (entry_size, entry_size) };
            let size = size.min(rest.len());
            let piece = &rest[..size];
            let (shard, offset) = *seen.entry(piece).or_insert_with(|| {
                let hash = XxHash3_64::oneshot(&piece[..hashed.min(size)]) as u32;
                let shard = (hash >> 27) as usize;
                let bytes = &mut shards[shard];
                let start = (bytes.len() as u64).next_multiple_of(align);
                bytes.resize(start as usize, 0);
                bytes.extend_from_slice(piece);
                (shard, start)
            });
            pieces.push((at as u64, shard, offset));
            at += size.max(1);
        }
        found.push(pieces);
    }
    let mut bytes = Vec::new();
    let mut starts = Vec::with_capacity(SHARDS);
    for shard in &shards {
        if !shard.is_empty() {
            bytes.resize((bytes.len() as u64).next_multiple_of(align) as usize, 0);
        }
        starts.push(bytes.len() as u64);
        bytes.extend_from_slice(shard);
    }
    let place = |(at, shard, offset): (u64, usize, u64)| (at, starts[shard] + offset);
    let pieces = found.into_iter().map(|pieces| pieces.into_iter().map(place).collect()).collect();
    Merged { bytes, pieces }
}

/// Length of the string at the start of `data` in bytes, with and without its terminator.
fn string(data: &[u8], unit: usize) -> (usize, usize) {
    let units = data.chunks_exact(unit.max(1)).position(|unit| unit.iter().all(|&byte| byte == 0));
    match units {
        Some(count) => ((count + 1) * unit, count * unit),
        None => (data.len(), data.len()),
    }
}

/// Whether `data` ends with a zero unit, as strings do.
pub(super) fn terminated(data: &[u8], unit: usize) -> bool {
    data.len() >= unit && data[data.len() - unit..].iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_entries_are_kept_once() {
        let merged = merge(&[b"one\0two\0one\0", b"two\0\0"], 1, true, 1);
        assert_eq!(merged.bytes.len(), 9);
        assert_eq!(merged.pieces[0][0].1, merged.pieces[0][2].1);
        assert_eq!(merged.pieces[0][1].1, merged.pieces[1][0].1);
        let at = |(_, to): Piece| &merged.bytes[to as usize..to as usize + 4];
        assert_eq!(at(merged.pieces[0][0]), b"one\0");
        assert_eq!(at(merged.pieces[1][0]), b"two\0");
        let merged = merge(&[&[1, 0, 2, 0, 1, 0]], 2, false, 4);
        assert_eq!(merged.bytes.iter().filter(|&&byte| byte == 1).count(), 1);
        assert!(merged.pieces[0].iter().all(|(_, to)| to % 4 == 0));
    }
}
