//! Arbitrary bytes as words, groups and programs of Cayman: they decode or are refused, encode to the
//! same bytes, and come back from their text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavemill_asm::cayman::{Listing, Options, assemble, disassemble, parse, parse_group, print, print_group};
use wavemill_isa::cayman::{
    Declared, Inst, Stage, decode_control, decode_fetch, decode_gds, decode_group, decode_program, decode_slot,
};

/// The bytes of a word, encoded field by field.
fn bytes(inst: &Inst) -> Vec<u8> {
    let (bytes, size) = inst.encode();
    bytes[..size].to_vec()
}

/// A word encodes to the same bytes, and comes back from its text.
fn word(data: &[u8], inst: &Inst) {
    assert_eq!(bytes(inst), data[..inst.size()]);
    let text = print(inst);
    let again = parse(&text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    assert_eq!(bytes(&again), bytes(inst), "{text}");
}

fuzz_target!(|data: &[u8]| {
    for inst in [decode_control(data), decode_fetch(data), decode_gds(data)].into_iter().flatten() {
        word(data, &inst);
        let _ = inst.broken_rules();
    }
    if let Ok(slot) = decode_slot(data) {
        assert_eq!(bytes(&slot), data[..slot.size()]);
    }
    if let Ok(group) = decode_group(data) {
        let text = print_group(&group, "\n");
        let again = parse_group(&text).unwrap_or_else(|error| panic!("`{text}`: {error:?}"));
        assert_eq!(again, group, "{text}");
        let _ = group.broken_rules();
    }
    let program = decode_program(data, 0);
    for stage in [Stage::Ps, Stage::Vs, Stage::Gs] {
        for gprs in [None, Some(8), Some(126)] {
            let _ = program.broken_rules_as(Declared { stage: Some(stage), gprs });
        }
    }
    let _ = program.stack_need(0);
    // A program is a number of words.
    let whole = &data[..data.len() / 8 * 8];
    let text = disassemble(whole, &Listing::default());
    let assembled = assemble(text.as_bytes(), &Options::default());
    assert!(assembled.reports.is_empty(), "{:?}\n{text}", assembled.reports);
    if !whole.is_empty() {
        assert_eq!(assembled.programs[0].bytes, whole, "{text}");
    }
});
