//! Texts of instructions mean what they say: what a word prints as assembles to a word that prints the same, or is refused;
//! and what any text assembles to prints as a text that assembles to the same bytes.
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

/// The bytes of an instruction, each field of it.
fn bytes(inst: &Inst) -> Vec<u8> {
    let (bytes, size) = inst.encode();
    bytes[..size].to_vec()
}

/// What a text assembles to prints as a text that assembles to the same.
fn stable(target: Target, source: &str) {
    let Ok(inst) = parse(target, source) else { return };
    let printed = text(&inst);
    let again = parse(target, &printed);
    let again = again.unwrap_or_else(|error| panic!("{target}: `{source}` prints as `{printed}`: {error}"));
    assert_eq!(bytes(&inst), bytes(&again), "{target}: `{source}` prints as `{printed}`");
}

/// Whether a compressed export enables half of a register, which no text can say.
fn halves_of_exports(inst: &Inst) -> bool {
    let enabled = inst.words().first().map_or(0, |word| word & 0xF);
    let compressed = text(inst).contains(" compr");
    inst.mnemonic() == "exp"
        && compressed
        && [enabled & 3, enabled >> 2].iter().any(|pair| *pair != 0 && *pair != 3)
}

/// Whether a literal of 16 bits has an upper half, which LLVM does not print, and no text can say.
fn upper_half_of_literal(inst: &Inst) -> bool {
    inst.operands().any(|(spec, operand)| match operand {
        Operand::Literal(value) => spec.ty.bits() == 16 && value >> 16 != 0,
        _ => false,
    })
}

/// Whether the upper half of a 64-bit float is a literal that LLVM prints as an integer constant is printed: its text means the
/// constant. Source texts have `.long` in its place.
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
            // Words that no text makes: fields that are not looked at, and what the manuals forbid.
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
