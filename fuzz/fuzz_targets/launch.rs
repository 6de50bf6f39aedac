//! Arbitrary launch files are planned or rejected, for the kernels of the examples: parsing,
//! arguments, sizes, views and expectations. Nothing runs, and no buffer is allocated.
#![no_main]

use std::path::Path;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use wavemill_cli::check_launch_file;
use wavemill_fuzz::text::mutate_text;

/// The assumed path of the file: the examples' code objects are found relative to it.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/fuzzed.toml");

fuzz_target!(|data: &[u8]| {
    // Special files of the host may be endless, or block.
    let text = String::from_utf8_lossy(data);
    if ["/dev", "/proc", "/sys"].iter().any(|folder| text.contains(folder)) {
        return;
    }
    if let Err(failure) = check_launch_file(data, Path::new(FILE)) {
        assert!(!failure.message.is_empty());
        let _ = failure.to_string();
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_text(data, size, max_size, seed)
});
