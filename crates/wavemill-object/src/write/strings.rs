//! String tables.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// A string table under construction: each string once, in order of insertion.
#[derive(Debug)]
pub(super) struct StringTable {
    bytes: Vec<u8>,
    /// The offsets of the strings, by their hashes. Each table has its own hash seed.
    strings: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl StringTable {
    /// A table with only the empty string.
    pub(super) fn new() -> Self {
        StringTable::with_capacity(0)
    }

    /// A table with the empty string and capacity for this many others.
    pub(super) fn with_capacity(strings: usize) -> Self {
        let (strings, hasher) = (HashTable::with_capacity(strings), DefaultHashBuilder::default());
        StringTable { bytes: vec![0], strings, hasher }
    }

    /// The offset of `text`, which has no zero byte. The check of the file's size rejects a table
    /// of 4 GiB or more.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let (text, hash) = (text.as_bytes(), self.hasher.hash_one(text.as_bytes()));
        let from = |offset: u32| self.bytes.get(offset as usize..).unwrap_or_default();
        let same =
            |&offset: &u32| from(offset).strip_prefix(text).is_some_and(|behind| behind.first() == Some(&0));
        let hash_again = |&offset: &u32| {
            let there = from(offset);
            let end = memchr::memchr(0, there).unwrap_or(there.len());
            self.hasher.hash_one(there.get(..end).unwrap_or_default())
        };
        match self.strings.entry(hash, same, hash_again) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let offset = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
                place.insert(offset);
                self.bytes.extend_from_slice(text);
                self.bytes.push(0);
                offset
            }
        }
    }

    /// The contents of the section.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::StringTable;

    #[test]
    fn strings_are_there_once() {
        let mut table = StringTable::new();
        let names: Vec<String> = (0..3000).map(|n| format!("name{n}")).collect();
        // Prefixes, suffixes and substrings of others are separate strings.
        let more = ["name", "ame1", "n", "name10", "name1\u{e4}"];
        let all = || names.iter().map(String::as_str).chain(more);
        let first: Vec<u32> = all().map(|name| table.add(name)).collect();
        let size = table.bytes().len();
        assert_eq!(all().map(|name| table.add(name)).collect::<Vec<u32>>(), first);
        // One of them is twice in the list.
        assert_eq!(table.bytes().len(), size);
        assert_eq!(
            size,
            1 + names
                .iter()
                .map(String::as_str)
                .chain(["name", "ame1", "n", "name1\u{e4}"])
                .map(|name| name.len() + 1)
                .sum::<usize>()
        );
        for (name, offset) in all().zip(first) {
            let there = &table.bytes()[offset as usize..];
            assert!(there.starts_with(name.as_bytes()) && there[name.len()] == 0, "{name}");
        }
        assert_eq!((table.add(""), table.bytes()[0]), (0, 0));
    }
}
