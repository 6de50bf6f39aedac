//! Shared helpers of the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod hostile;

use std::path::PathBuf;

use proptest::test_runner::{Config, RngSeed};

/// The path of a fixture.
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

/// The relocatable files among the fixtures.
pub(crate) const RELOCATABLE: [&str; 4] =
    ["gfx906-unlinked.o", "gfx942-relocatable.o", "gfx90a-relocatable.o", "gfx950-llc.o"];

/// The number of random cases, with the same cases in every run, so that a test that passes keeps
/// passing. `WAVEMILL_FUZZ_FACTOR` multiplies the number and draws new cases in every run.
pub(crate) fn random_cases(usual: u32) -> Config {
    let factor = std::env::var("WAVEMILL_FUZZ_FACTOR").ok();
    let (rng_seed, factor) = match factor {
        None => (RngSeed::Fixed(0), 1),
        Some(factor) => (RngSeed::Random, factor.parse().expect("WAVEMILL_FUZZ_FACTOR should be a number")),
    };
    Config { cases: usual.saturating_mul(factor), rng_seed, failure_persistence: None, ..Config::default() }
}
