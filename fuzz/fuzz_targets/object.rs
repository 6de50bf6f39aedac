//! Any file is read or refused: containers, code objects, images, reports.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{CodeObject, Container, Limits};

fuzz_target!(|data: &[u8]| {
    let limits = Limits { max_decompressed: 1 << 24, max_image: 1 << 24, ..Limits::default() };
    if let Ok(object) = CodeObject::parse(data) {
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
