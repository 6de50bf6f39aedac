//! Assembles arbitrary bytes for each target. The result is a module that can be written and
//! linked, or messages that point into the source. Assembly does not hang, and the size of its
//! output is limited.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use wavemill_asm::{IncludedFile, Options, assemble_with};
use wavemill_fuzz::report::check;
use wavemill_fuzz::text::mutate_text;
use wavemill_isa::Target;
use wavemill_object::write::{LinkError, link, write_relocatable};

fuzz_target!(|data: &[u8]| {
    // Sources may name another target, which is then rejected.
    let target = Target::GCN[data.len() % Target::GCN.len()];
    let id = target.name().parse().expect("every target has a name");
    let file = |bytes: &[u8]| IncludedFile { path: "included".to_owned(), bytes: bytes.to_vec() };
    let include = |name: &str| match name {
        "bytes" => Ok(file(&[0xFF, 0, 1])),
        "text" => Ok(file(b"s_nop 0\n")),
        _ => Err("there are two files".to_owned()),
    };
    let options = Options { target: Some(id), include: &include, ..Options::default() };
    let mut lines = 0;
    let assembled = assemble_with(data, &options, &mut |_| lines += 1);
    assembled.reports.iter().chain(&assembled.warnings).for_each(check);
    if let Some(module) = assembled.module.as_ref().filter(|_| assembled.reports.is_empty()) {
        // A module without errors can be written, unless no file can hold it, which the error
        // reports.
        let _ = write_relocatable(module);
        if let Err(LinkError::Problems(problems)) = link(module) {
            assembled.link_reports(&problems).iter().for_each(check);
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_text(data, size, max_size, seed)
});
