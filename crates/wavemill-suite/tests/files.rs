//! The committed files are what the generator writes.

use std::path::PathBuf;

use wavemill_suite::data::File;

/// A committed file.
pub(crate) fn committed(name: &str) -> File {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "conformance", &format!("{name}.txt.gz")].iter().collect();
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    File::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
