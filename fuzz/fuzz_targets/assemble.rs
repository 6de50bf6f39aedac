//! Any text is assembled, for each target: it becomes a module that can be written and linked, or messages that point into
//! it. Nothing hangs, and what a source can make is limited.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use wavemill_asm::{Options, assemble_with};
use wavemill_fuzz::text::mutate_text;
use wavemill_isa::Target;
use wavemill_object::write::{link, write_relocatable};

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    // Sources may name another, which is refused then.
    let target = Target::ALL[data.len() % Target::ALL.len()];
    let id = target.name().parse().expect("every target has a name");
    let include = |name: &str| match name {
        "bytes" => Ok(vec![0xFF, 0, 1]),
        "text" => Ok(b"s_nop 0\n".to_vec()),
        _ => Err("there are two files".to_owned()),
    };
    let options = Options { target: Some(id), include: &include, ..Options::default() };
    let mut lines = 0;
    let assembled = assemble_with(source, &options, &mut |_| lines += 1);
    for report in assembled.reports.iter().chain(&assembled.warnings) {
        let diagnostic = &report.diagnostic;
        assert!(!diagnostic.message.is_empty() && !diagnostic.message.contains('\n'), "{report:?}");
        assert!(report.text.is_char_boundary(diagnostic.span.start), "{report:?}");
        assert!(diagnostic.span.start <= diagnostic.span.end, "{report:?}");
        if let Some(fix) = &diagnostic.fix {
            assert!(fix.applied(&report.text).is_some(), "{report:?}");
        }
    }
    if let Ok(module) = assembled.finished() {
        // What is read without mistakes can be written, but for what no file can hold, which the errors say.
        let _ = write_relocatable(&module);
        let _ = link(&module);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_text(data, size, max_size, seed)
});
