//! Arbitrary texts as sources of Cayman: they assemble, or the messages point into the source. What
//! assembles prints as a text that assembles to the same programs.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use wavemill_asm::cayman::{Listing, Options, assemble, is_dump, print_program, read_dump};
use wavemill_fuzz::report::check;
use wavemill_fuzz::text::mutate_text;

fuzz_target!(|data: &[u8]| {
    if let Some(text) = std::str::from_utf8(data).ok().filter(|text| is_dump(text)) {
        let _ = read_dump(text);
    }
    for whole in [true, false] {
        let assembled = assemble(data, &Options { whole, ..Options::default() });
        assembled.reports.iter().chain(&assembled.warnings).for_each(check);
        if !whole || !assembled.reports.is_empty() {
            continue;
        }
        let listing = Listing { addresses: false };
        let texts = assembled.programs.iter().map(|program| print_program(program, &listing));
        let text = texts.collect::<Vec<_>>().join("\n");
        let again = assemble(text.as_bytes(), &Options::default());
        assert!(again.reports.is_empty(), "{:?}\n{text}", again.reports);
        for (before, after) in assembled.programs.iter().zip(&again.programs) {
            assert_eq!(before.bytes, after.bytes, "{text}");
        }
        assert_eq!(assembled.programs.len(), again.programs.len(), "{text}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_text(data, size, max_size, seed)
});
