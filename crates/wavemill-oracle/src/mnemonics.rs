//! Lists the mnemonics that LLVM's AMDGPU assembler accepts, for all processors.
//!
//! The assembler's table of mnemonics in libLLVM is one run of names, each after a byte with its
//! length.

use std::path::PathBuf;

use crate::tools::{OracleMissing, Tool};

/// A name of the table that follows its length in no other table of the library.
const KNOWN: &[u8] = b"\x08s_endpgm";
/// Most bytes of the table before [`KNOWN`].
const BEFORE: usize = 1 << 17;
/// Least number of names in the table.
const FEWEST: usize = 2000;

/// Every mnemonic of every AMDGPU processor in the assembler of libLLVM 22, except aliases, which
/// it replaces before the lookup.
///
/// # Errors
/// [`OracleMissing`] if the library or its table is not found.
pub fn mnemonics() -> Result<Vec<String>, OracleMissing> {
    Tool::LibLlvm.require()?;
    let file = loaded().ok_or_else(|| OracleMissing::new("the file of libLLVM is not found"))?;
    let bytes =
        std::fs::read(&file).map_err(|error| OracleMissing::new(format!("{}: {error}", file.display())))?;
    let tables = bytes.windows(KNOWN.len()).enumerate().filter(|(_, window)| *window == KNOWN);
    let longest = tables.map(|(at, _)| around(&bytes, at)).max_by_key(Vec::len).unwrap_or_default();
    if longest.len() < FEWEST {
        return Err(OracleMissing::new(format!("{} has no table of mnemonics", file.display())));
    }
    Ok(longest)
}

/// The file of libLLVM that this process has loaded.
fn loaded() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path =
        maps.lines().find_map(|line| line.get(line.find('/')?..).filter(|path| path.contains("libLLVM")))?;
    Some(PathBuf::from(path))
}

/// The name whose length byte is at `at`.
fn name(bytes: &[u8], at: usize) -> Option<&str> {
    let length = usize::from(*bytes.get(at)?);
    let name = bytes.get(at + 1..at + 1 + length)?;
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.".contains(byte);
    (length > 1 && name.iter().all(plain)).then(|| std::str::from_utf8(name).ok()).flatten()
}

/// The longest run of names that contains the one at `at`.
fn around(bytes: &[u8], at: usize) -> Vec<String> {
    let start = at.saturating_sub(BEFORE);
    // Number of names between each offset and `at`, if they form a run; computed from the last to
    // the first.
    let mut runs = vec![None; at + 1 - start];
    runs[at - start] = Some(0usize);
    let mut first = at;
    for offset in (start..at).rev() {
        let next = name(bytes, offset).map(|name| offset + 1 + name.len());
        let run = next.filter(|next| *next <= at).and_then(|next| runs[next - start]).map(|run| run + 1);
        runs[offset - start] = run;
        if run > runs[first - start] {
            first = offset;
        }
    }
    let mut names = Vec::new();
    let mut offset = first;
    while let Some(name) = name(bytes, offset) {
        offset += 1 + name.len();
        names.push(name.to_owned());
    }
    names
}
