//! Exports: every target and every field of the encoding (Vega ISA 13.8).

use wavemill_ir::{ExportOp, ExportTarget, Op, Operand, Row};
use wavemill_isa::Target;

use crate::common::lift;

/// The words of an export of v5, v6, v7 and v8.
fn words(target: u32, components: u8, [halves, last, valid]: [bool; 3]) -> [u32; 2] {
    let bit = |set: bool, at: u32| u32::from(set) << at;
    let first = 0b110001 << 26 | u32::from(components) | target << 4;
    [first | bit(halves, 10) | bit(last, 11) | bit(valid, 12), 0x0807_0605]
}

/// The only operation of an export, and its sources.
fn exported(words: [u32; 2]) -> (ExportOp, [Operand; 4]) {
    let block = lift(Target::Gfx906, &words);
    let [inst] = &block.insts[..] else { panic!("expected one operation, found {:?}", block.insts) };
    let Op::Export(op) = inst.op else { panic!("expected an export, found {:?}", inst.op) };
    (op, [0, 1, 2, 3].map(|n| inst.src[n]))
}

#[test]
fn targets_have_their_numbers() {
    for number in 0..64 {
        let n = number as u8;
        let wanted = match number {
            0..=7 => ExportTarget::Colour(n),
            8 => ExportTarget::Depth,
            9 => ExportTarget::Nothing,
            12..=15 => ExportTarget::Position(n - 12),
            32..=63 => ExportTarget::Parameter(n - 32),
            _ => ExportTarget::Other(n),
        };
        assert_eq!(exported(words(number, 15, [false; 3])).0.target, wanted, "target {number}");
    }
}

#[test]
fn fields_say_what_is_sent() {
    for components in 0..16 {
        for flags in 0..8 {
            let [halves, last, valid] = [0, 1, 2].map(|bit| flags >> bit & 1 != 0);
            let (op, sources) = exported(words(0, components, [halves, last, valid]));
            let wanted = ExportOp { target: ExportTarget::Colour(0), components, halves, last, valid };
            assert_eq!(op, wanted);
            // A source of halves has two components.
            let sent = |source: u8| match halves {
                true => source < 2 && components >> (2 * source) & 3 != 0,
                false => components >> source & 1 != 0,
            };
            let wanted = [0u8, 1, 2, 3].map(|n| match sent(n) {
                true => Operand::Row(Row(5 + u16::from(n))),
                false => Operand::None,
            });
            assert_eq!(sources, wanted, "components {components:#b}, halves {halves}");
        }
    }
}
