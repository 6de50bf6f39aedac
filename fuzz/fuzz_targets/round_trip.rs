//! Checks that the text of instructions is faithful. The text of a word assembles to a word with
//! the same text, or is rejected. If an arbitrary text assembles, its bytes print as a text that
//! assembles to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavemill_asm::gcn::{parse, print};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, Operand, decode};

fn text(inst: &Inst) -> String {
    let mut text = String::new();
    print(&mut text, inst).expect("a String takes any text");
    text
}

/// The bytes of an instruction, encoded field by field.
fn bytes(inst: &Inst) -> Vec<u8> {
    let (bytes, size) = inst.encode();
    bytes[..size].to_vec()
}

/// The bytes that a text assembles to print as a text that assembles to the same bytes.
fn stable(target: Target, source: &str) {
    let Ok(inst) = parse(target, source) else { return };
    let printed = text(&inst);
    let again = parse(target, &printed);
    let again = again.unwrap_or_else(|error| panic!("{target}: `{source}` prints as `{printed}`: {error}"));
    assert_eq!(bytes(&inst), bytes(&again), "{target}: `{source}` prints as `{printed}`");
}

/// Whether a compressed export enables half of a register, which no text can express.
fn halves_of_exports(inst: &Inst) -> bool {
    let enabled = inst.words().first().map_or(0, |word| word & 0xF);
    let compressed = text(inst).contains(" compr");
    inst.mnemonic() == "exp"
        && compressed
        && [enabled & 3, enabled >> 2].iter().any(|pair| *pair != 0 && *pair != 3)
}

/// Whether a 16-bit literal has an upper half, which LLVM does not print, and no text can express.
fn upper_half_of_literal(inst: &Inst) -> bool {
    inst.operands().any(|(spec, operand)| match operand {
        Operand::Literal(value) => spec.ty.bits() == 16 && value >> 16 != 0,
        _ => false,
    })
}

/// Whether the upper half of a 64-bit float is a literal that LLVM prints like an integer constant:
/// its text means the constant. Source texts use `.long` instead.
fn literal_like_integer(inst: &Inst) -> bool {
    inst.operands().any(|(spec, operand)| match operand {
        Operand::Literal(value) => spec.ty.bits() == 64 && spec.ty.elem.is_float() && value <= 64,
        _ => false,
    })
}

fuzz_target!(|data: &[u8]| {
    for target in Target::GCN {
        let unsayable = |inst: &Inst| {
            halves_of_exports(inst) || upper_half_of_literal(inst) || literal_like_integer(inst)
        };
        let sayable = |inst: &Inst| !unsayable(inst);
        if let Some(inst) = decode(target, data).ok().filter(sayable) {
            let printed = text(&inst);
            // Words that no text produces: ignored fields, and words that the manuals forbid.
            if let Ok(again) = parse(target, &printed) {
                assert_eq!(printed, text(&again), "{target}: {:02x?}", bytes(&inst));
                stable(target, &printed);
            }
        }
        if let Ok(source) = std::str::from_utf8(data) {
            stable(target, source);
        }
    }
});
