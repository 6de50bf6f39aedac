//! Arbitrary files are read, linked or rejected: containers, code objects, images, reports.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use wavemill_fuzz::files::change_number;
use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{CodeObject, Container, Limits, loadable};
use wavemill_oracle::SplitMix64;

fuzz_target!(|data: &[u8]| {
    let limits = Limits { max_decompressed: 1 << 24, max_image: 1 << 24, ..Limits::default() };
    if let Ok(linked) = loadable(data, &limits)
        && let Ok(object) = CodeObject::parse(&linked)
    {
        if let Ok(mut image) = object.image(&limits) {
            let _ = image.relocate(0x10_0000_0000, object.relocations(), |_| None);
        }
    }
    if let Ok(container) = Container::parse(data) {
        for bundle in container.bundles() {
            for entry in bundle.entries(&limits).unwrap_or_default() {
                let _ = bundle.read(&entry, &limits);
            }
        }
    }
    if let Ok(report) = FileReport::new(data, &Filter::default(), &limits) {
        let _ = report.to_string();
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = SplitMix64::new(seed.into());
    if size == 0 || random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    change_number(&mut data[..size], &mut random);
    size
});
