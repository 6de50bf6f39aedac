//! Loads of 16 bits with and without error correction of registers.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Flag, Format, MemOp, Op};

use super::reference::{Data, Numbers, set_exec, set_rows};
use crate::common::{Machine, home_words};

const ADDRESS: u32 = 4;
const RESULT: u32 = 8;
const SADDR: u32 = 20;
const EXEC: u64 = 0xffff_0000_5555_ffff;

/// The D16 loads of a format.
fn loads(format: Format) -> Vec<Op> {
    let is_d16 = |op: &Op| {
        let row = op.row();
        let has = |flag| row.has(flag, Target::Gfx906);
        row.format == format
            && row.memory.first().is_some_and(|m| m.op == MemOp::Load)
            && (has(Flag::D16) || has(Flag::D16Hi))
    };
    Op::ALL.iter().copied().filter(is_d16).collect()
}

#[test]
fn the_other_half_is_kept_or_cleared() {
    let mut numbers = Numbers::new(77);
    let mut checked = 0;
    for (format, fields) in [
        (Format::Global, [(F::Vdst, RESULT), (F::Vaddr, ADDRESS), (F::Saddr, SADDR)]),
        (Format::Flat, [(F::Vdst, RESULT), (F::Vaddr, ADDRESS), (F::Offset, 0)]),
        (Format::Ds, [(F::Vdst, RESULT), (F::Addr, ADDRESS), (F::Offset0, 0)]),
    ] {
        for op in loads(format) {
            let data = Data::of(op.row().name()).expect("a kind of data");
            for sramecc in [false, true] {
                let mut machine = Machine { sramecc, lds_size: 1024, ..Machine::new(Target::Gfx906) };
                machine.buffers = vec![numbers.bytes(1024)];
                let old = numbers.row();
                let outcome = machine.run(&home_words(Target::Gfx906, op, &fields), |regs, buffers| {
                    set_exec(regs, EXEC);
                    regs.set_uni64(Uni(SADDR as u16), buffers[0]);
                    let base = if format == Format::Flat { buffers[0] } else { 0 };
                    let low = std::array::from_fn(|lane| (base as u32) + 8 * lane as u32);
                    set_rows(regs, ADDRESS as u16, &[low, [(base >> 32) as u32; 64]]);
                    set_rows(regs, RESULT as u16, &[old]);
                });
                for (lane, (before, now)) in
                    old.into_iter().zip(outcome.wave.vgprs[RESULT as usize]).enumerate()
                {
                    // LDS holds zeros.
                    let bytes = match format {
                        Format::Ds => [0; 2].as_slice(),
                        _ => &machine.buffers[0][8 * lane..],
                    };
                    let other_half = if sramecc { 0 } else { before };
                    let expected = match EXEC >> lane & 1 {
                        1 => data.load(&bytes[..data.bytes], &[other_half])[0],
                        _ => before,
                    };
                    assert_eq!(now, expected, "{op}, lane {lane}, ECC {sramecc}");
                }
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 2 * 3 * 6, "six loads in each format");
}
