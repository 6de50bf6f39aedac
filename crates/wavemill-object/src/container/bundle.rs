//! Offload bundles and their entries.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use super::compressed::{self, CompressedHeader};
use crate::Limits;
use crate::bytes;
use crate::elf::version_and_target;
use crate::error::{Error, Result};
use crate::printable::Printable;
use crate::target::TargetId;

/// The first bytes of a plain bundle.
pub(crate) const PLAIN_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// Longest entry id that is read, in bytes; real ids have a few dozen.
const LONGEST_ID: u64 = 4096;

/// The range of [`PLAIN_MAGIC`].
const HEAD: Range<u64> = 0..PLAIN_MAGIC.len() as u64;

/// Name of the table at the start of a plain bundle, for messages.
const TABLE: &str = "offload bundle table";

/// Name of an entry, for messages.
const ENTRY: &str = "offload bundle entry";

/// Bytes of a table row without its id.
const ROW: u64 = 24;

/// The language an entry was compiled from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OffloadKind {
    /// Not for a GPU: the host's part, usually empty.
    Host,
    /// HIP, code object v2 and v3.
    Hip,
    /// HIP, code object v4 and later.
    HipV4,
    /// OpenMP.
    OpenMp,
    /// A code object without a bundle around it.
    Bare,
    /// A kind that this crate does not know.
    Other(String),
}

/// The name of an entry: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-` (Clang
/// Offload Bundler, "Bundle Entry ID").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryId {
    /// As the bundle spells it.
    pub text: String,
    /// The language it was compiled from.
    pub kind: OffloadKind,
    /// The GPU it is for; `None` for the host and for code of GPUs of other vendors.
    pub target: Option<TargetId>,
}

impl EntryId {
    /// Reads an entry id.
    pub fn parse(text: &str) -> Self {
        let (kind, rest) = text.split_once('-').unwrap_or((text, ""));
        let kind = match kind {
            "host" => OffloadKind::Host,
            "hip" => OffloadKind::Hip,
            "hipv4" => OffloadKind::HipV4,
            "openmp" => OffloadKind::OpenMp,
            other => OffloadKind::Other(other.to_owned()),
        };
        let target = (kind != OffloadKind::Host).then(|| TargetId::parse(rest)).flatten();
        EntryId { text: text.to_owned(), kind, target }
    }
}

/// Prints on one line and escapes terminal control characters.
impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(&self.text).fmt(f)
    }
}

/// An entry of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// Where it starts in the decompressed bundle, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl Entry {
    /// The entry's part of the decompressed bundle.
    fn slice<'b>(&self, bundle: &'b [u8]) -> Result<&'b [u8]> {
        bytes::slice(bundle, self.offset, self.size, ENTRY)
    }
}

/// How a bundle is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleFormat {
    /// A code object without a bundle around it.
    CodeObject,
    /// A table and the entries.
    Plain,
    /// The same, compressed.
    Compressed(CompressedHeader),
}

/// A bundle within a file.
#[derive(Debug, Clone)]
pub struct Bundle<'a> {
    data: &'a [u8],
    offset: u64,
    section: Option<String>,
    format: BundleFormat,
}

/// A bundle with its contents decompressed.
#[derive(Debug, Clone)]
pub struct OpenBundle<'a> {
    contents: Cow<'a, [u8]>,
    entries: Vec<Entry>,
    checksum_matches: Option<bool>,
}

impl OpenBundle<'_> {
    /// The entries, in the order of the table.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether the contents match the checksum in the header of the compressed bundle; `None` for a
    /// bundle without one. On a mismatch, the file is damaged, or its compiler computes the
    /// checksum in another way.
    pub fn checksum_matches(&self) -> Option<bool> {
        self.checksum_matches
    }

    /// The bytes of an entry.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the entry reaches past the end of the bundle.
    pub fn read(&self, entry: &Entry) -> Result<&[u8]> {
        entry.slice(&self.contents)
    }
}

impl<'a> Bundle<'a> {
    /// A bare code object as a bundle.
    pub(super) fn code_object(data: &'a [u8], offset: u64, section: Option<&str>) -> Self {
        Bundle { data, offset, section: section.map(str::to_owned), format: BundleFormat::CodeObject }
    }

    /// Where the bundle starts in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The size of the bundle in the file, in bytes.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// The section of the host file that contains it.
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }

    /// How it is stored.
    pub fn format(&self) -> &BundleFormat {
        &self.format
    }

    /// The table of entries. Only the beginning of a compressed bundle is decompressed.
    ///
    /// # Errors
    /// Fails if the table or the compressed data is invalid.
    pub fn entries(&self, limits: &Limits) -> Result<Vec<Entry>> {
        self.read_entries(limits).map_err(|error| error.within(self.place()))
    }

    fn read_entries(&self, limits: &Limits) -> Result<Vec<Entry>> {
        match &self.format {
            BundleFormat::CodeObject => Ok(vec![self.bare_entry()?]),
            BundleFormat::Plain => parse_table(self.data, self.size()).map(|(entries, _)| entries),
            BundleFormat::Compressed(header) => {
                let total = header.uncompressed_size;
                // Tables are short, but their length is not known in advance.
                let mut length = 1 << 14;
                loop {
                    let start = compressed::decompress(self.data, header, 0..length, limits)?;
                    match parse_table(&start, total) {
                        Err(Error::Truncated { .. }) if length < total => length = length.saturating_mul(8),
                        result => return result.map(|(entries, _)| entries),
                    }
                }
            }
        }
    }

    /// The bytes of one entry. A compressed bundle is decompressed up to the end of the entry, and
    /// only the entry is kept. To read several entries, [`open`](Self::open) the bundle.
    ///
    /// # Errors
    /// Fails if the compressed data is invalid, or with [`Error::Truncated`].
    pub fn read(&self, entry: &Entry, limits: &Limits) -> Result<Cow<'a, [u8]>> {
        self.read_entry(entry, limits).map_err(|error| error.within(self.place()))
    }

    fn read_entry(&self, entry: &Entry, limits: &Limits) -> Result<Cow<'a, [u8]>> {
        match &self.format {
            BundleFormat::CodeObject | BundleFormat::Plain => entry.slice(self.data).map(Cow::Borrowed),
            BundleFormat::Compressed(header) => {
                let end = entry.offset.saturating_add(entry.size);
                if end > header.uncompressed_size {
                    let (offset, needed, end) = (entry.offset, entry.size, header.uncompressed_size);
                    return Err(Error::Truncated { what: ENTRY, offset, needed, end });
                }
                compressed::decompress(self.data, header, entry.offset..end, limits).map(Cow::Owned)
            }
        }
    }

    /// Decompresses the whole bundle, if it is compressed.
    ///
    /// # Errors
    /// Fails if the table or the compressed data is invalid.
    pub fn open(&self, limits: &Limits) -> Result<OpenBundle<'a>> {
        self.open_contents(limits).map_err(|error| error.within(self.place()))
    }

    fn open_contents(&self, limits: &Limits) -> Result<OpenBundle<'a>> {
        let (contents, entries, checksum_matches) = match &self.format {
            BundleFormat::CodeObject | BundleFormat::Plain => {
                (Cow::Borrowed(self.data), self.read_entries(limits)?, None)
            }
            BundleFormat::Compressed(header) => {
                // Check the magic first: data that is not a bundle is not worth the memory that its
                // header declares.
                let head = compressed::decompress(self.data, header, HEAD, limits)?;
                if head.len() == PLAIN_MAGIC.len() {
                    check_magic(&head)?;
                }
                let whole = 0..header.uncompressed_size;
                let contents = compressed::decompress(self.data, header, whole, limits)?;
                let (entries, _) = parse_table(&contents, header.uncompressed_size)?;
                let matches = header.matches(&contents);
                (Cow::Owned(contents), entries, Some(matches))
            }
        };
        Ok(OpenBundle { contents, entries, checksum_matches })
    }

    /// Whether this is a bundle, not data that only begins like one. Only the first words of a
    /// compressed bundle are decompressed.
    pub(super) fn is_genuine(&self) -> bool {
        match &self.format {
            BundleFormat::CodeObject => true,
            BundleFormat::Plain => parse_table(self.data, self.size())
                .is_ok_and(|(entries, _)| entries.iter().any(|entry| entry.id.target.is_some())),
            BundleFormat::Compressed(header) => {
                let any_size = Limits::with_decompressed(u64::MAX);
                compressed::decompress(self.data, header, HEAD, &any_size)
                    .is_ok_and(|start| start == PLAIN_MAGIC)
            }
        }
    }

    /// Decompressed size of a compressed bundle, according to its header.
    pub(super) fn decompressed_size(&self) -> Option<u64> {
        match &self.format {
            BundleFormat::Compressed(header) => Some(header.uncompressed_size),
            _ => None,
        }
    }

    /// The bundle's name in messages.
    pub(super) fn place(&self) -> String {
        place(&self.format, self.offset)
    }

    /// The entry that stands for a bare code object.
    fn bare_entry(&self) -> Result<Entry> {
        let (_, target) = version_and_target(self.data)?;
        let text = target.to_string();
        let id = EntryId { text, kind: OffloadKind::Bare, target: Some(target) };
        Ok(Entry { id, offset: 0, size: self.size() })
    }
}

/// Rejects data that does not begin like a plain bundle.
fn check_magic(data: &[u8]) -> Result<()> {
    match bytes::slice(data, 0, PLAIN_MAGIC.len() as u64, TABLE)? == PLAIN_MAGIC {
        true => Ok(()),
        false => Err(Error::malformed(TABLE, 0, "it does not begin with __CLANG_OFFLOAD_BUNDLE__")),
    }
}

/// Reads the table of a plain bundle of `total` bytes; `data` is its beginning. Also returns the
/// end of the last entry.
fn parse_table(data: &[u8], total: u64) -> Result<(Vec<Entry>, u64)> {
    const WHAT: &str = TABLE;
    check_magic(data)?;
    let magic = PLAIN_MAGIC.len() as u64;
    let count = bytes::u64(data, magic, WHAT)?;
    if count > total / ROW {
        let detail = format!("{count} entries do not fit into {total} bytes");
        return Err(Error::malformed(WHAT, magic, detail));
    }
    let mut entries = Vec::new();
    // Several targets may share an entry. Entries that overlap in another way would be read again
    // and again.
    let mut places = HashSet::new();
    let mut left = total;
    let mut at = magic + 8;
    let mut end = at;
    for index in 0..count {
        let (offset, size) = (bytes::u64(data, at, WHAT)?, bytes::u64(data, at + 8, WHAT)?);
        let id_size = bytes::u64(data, at + 16, WHAT)?;
        if id_size > LONGEST_ID {
            let detail = format!("the id of entry {index} would have {id_size} bytes");
            return Err(Error::malformed(WHAT, at + 16, detail));
        }
        let id = bytes::slice(data, at + ROW, id_size, WHAT)?;
        if offset.checked_add(size).is_none_or(|end| end > total) {
            let detail = format!(
                "entry {index} ({}) has {size} bytes at {offset:#x}, but the bundle ends at {total:#x}; \
                 the file is incomplete or damaged",
                String::from_utf8_lossy(id)
            );
            return Err(Error::malformed(WHAT, at, detail));
        }
        if size != 0 && places.insert((offset, size)) {
            left = left.checked_sub(size).ok_or_else(|| {
                let detail = format!("entry {index} ({}) overlaps others", String::from_utf8_lossy(id));
                Error::malformed(WHAT, at, detail)
            })?;
        }
        at += ROW + id_size;
        end = end.max(at).max(offset + size);
        entries.push(Entry { id: EntryId::parse(&String::from_utf8_lossy(id)), offset, size });
    }
    Ok((entries, end))
}

/// The name for messages of the bundle at `offset` in the file.
fn place(format: &BundleFormat, offset: u64) -> String {
    let what = match format {
        BundleFormat::CodeObject => "code object",
        BundleFormat::Plain => "offload bundle",
        BundleFormat::Compressed(_) => "compressed offload bundle",
    };
    format!("the {what} at offset {offset:#x}")
}

/// Reads the bundle at the start of `data`; `data` begins at `offset` in the file.
pub(super) fn parse_one<'a>(data: &'a [u8], offset: u64, section: Option<&str>) -> Result<Bundle<'a>> {
    find_extent(data, offset, section)
        .map_err(|error| error.within(format!("the offload bundle at offset {offset:#x}")))
}

fn find_extent<'a>(data: &'a [u8], offset: u64, section: Option<&str>) -> Result<Bundle<'a>> {
    let section = section.map(str::to_owned);
    if data.starts_with(compressed::MAGIC) {
        let header = CompressedHeader::parse(data)?;
        let data = match header.file_size {
            Some(size) => bytes::slice(data, 0, size, "compressed offload bundle")?,
            // Version 1 has no size field: take everything up to the next bundle or the end.
            None => &data[..next_magic(data, 4).unwrap_or(data.len())],
        };
        return Ok(Bundle { data, offset, section, format: BundleFormat::Compressed(header) });
    }
    let (_, end) = parse_table(data, data.len() as u64)?;
    let data = bytes::slice(data, 0, end, "offload bundle")?;
    Ok(Bundle { data, offset, section, format: BundleFormat::Plain })
}

/// Reads the consecutive bundles in `region`, which begins at `base` in the file. Zeros between
/// them are padding.
pub(super) fn parse_all<'a>(region: &'a [u8], base: u64, section: Option<&str>) -> Result<Vec<Bundle<'a>>> {
    let mut bundles = Vec::new();
    let mut at = 0;
    loop {
        let zeros = region[at..].iter().take_while(|&&byte| byte == 0).count();
        at += zeros;
        let rest = &region[at..];
        if rest.is_empty() {
            return Ok(bundles);
        }
        if !is_magic(rest) {
            // There is other data between two bundles, or after the last one.
            match next_magic(region, at) {
                Some(next) => at = next,
                None => return Ok(bundles),
            }
            continue;
        }
        let bundle = parse_one(rest, base + at as u64, section)?;
        // A bundle is never empty, so the loop ends.
        at += bundle.data.len().max(1);
        bundles.push(bundle);
    }
}

fn is_magic(data: &[u8]) -> bool {
    data.starts_with(PLAIN_MAGIC) || data.starts_with(compressed::MAGIC)
}

/// The start of the next apparent bundle, from `start` on.
fn next_magic(data: &[u8], start: usize) -> Option<usize> {
    // One pass finds both magics, so that many bundles do not need many passes.
    let rest = data.get(start..)?;
    let mut firsts = memchr::memchr2_iter(PLAIN_MAGIC[0], compressed::MAGIC[0], rest).map(|at| start + at);
    firsts.find(|&at| is_magic(&data[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_ids_of_every_kind() {
        let id = EntryId::parse("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-");
        assert_eq!(id.kind, OffloadKind::HipV4);
        assert_eq!(id.target.unwrap().to_string(), "gfx90a:xnack-");
        let id = EntryId::parse("hip-amdgcn-amd-amdhsa-gfx906+sram-ecc");
        assert_eq!(
            (id.kind, id.target.unwrap().to_string()),
            (OffloadKind::Hip, "gfx906:sramecc+".to_owned())
        );
        let id = EntryId::parse("hipv4-amdgpu9.42-amd-amdhsa--");
        assert_eq!(id.target.unwrap().to_string(), "gfx942");
        assert_eq!(EntryId::parse("host-x86_64-unknown-linux--").target, None);
        assert_eq!(EntryId::parse("openmp-nvptx64-nvidia-cuda--sm_80").target, None);
        let id = EntryId::parse("hip-spirv64-amd-amdhsa--amdgcnspirv");
        assert_eq!((id.kind, id.target), (OffloadKind::Hip, None));
        assert_eq!(EntryId::parse("").kind, OffloadKind::Other(String::new()));
    }
}
