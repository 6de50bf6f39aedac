//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::PathBuf;

/// Where a fixture is.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The bytes of a fixture.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("fixture {name}: {error}"))
}

/// The code objects among the fixtures.
pub(crate) const CODE_OBJECTS: [&str; 9] = [
    "gfx906-v2.co",
    "gfx90a-v3.co",
    "gfx906-v4.co",
    "gfx906-v5-features.co",
    "gfx90a-v4.co",
    "gfx90a-v5.co",
    "gfx942-v5.co",
    "gfx950-v6.co",
    "gfx9-4-generic-v6.co",
];
