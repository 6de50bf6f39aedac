//! String tables.

use std::collections::HashMap;

/// A string table in the making: each string once, in the order in which they came.
#[derive(Debug)]
pub(super) struct StringTable {
    bytes: Vec<u8>,
    offsets: HashMap<String, u32>,
}

impl StringTable {
    /// A table with the empty string.
    pub(super) fn new() -> Self {
        StringTable { bytes: vec![0], offsets: HashMap::from([(String::new(), 0)]) }
    }

    /// Where `text` stands. A table of 4 GiB or more is refused when the file's size is checked.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        if let Some(&offset) = self.offsets.get(text) {
            return offset;
        }
        let offset = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.offsets.insert(text.to_owned(), offset);
        offset
    }

    /// The contents of the section.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
