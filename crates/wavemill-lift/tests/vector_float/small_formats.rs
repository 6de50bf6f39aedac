//! Conversions to and from small float formats. The reference derives each conversion from its mnemonic;
//! the lifter derives it from the types of its operands.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Encoding, Inst, Op, Operand, Role, SdwaSel, Type};
use wavemill_reference::rows::small::{bits, element, next_seed, parse};
use wavemill_reference::scale_of;

use crate::common::Machine;
use crate::common::vector::{EXEC, Random, first_source_lane, identity};
use crate::vector_float::MODES;
use crate::vector_float::values::{nan, nan_lanes, value};
use wavemill_lift::gcn::registers;

/// First VGPRs of the sources and of the destination.
const PLACES: [(Role, u8); 4] = [(Role::Src0, 0), (Role::Src1, 32), (Role::Src2, 64), (Role::Vdst, 96)];

/// Bits `at..at + width` of packed registers of a lane.
fn field(rows: &[[u32; 64]], first: u8, at: u32, width: u32, lane: usize) -> u64 {
    (0..width).fold(0, |v, n| {
        let bit = at + n;
        v | u64::from(rows[usize::from(first) + bit as usize / 32][lane] >> (bit % 32) & 1) << n
    })
}

fn check(target: Target, op: Op, encoding: Encoding, mode: u32, random: &mut Random) {
    let row = op.row();
    let c = parse(row.name()).expect("a conversion");
    let mut m = identity(row.form(target, encoding).expect("the form"));
    let source_width = if c.interleaved { 0 } else { c.count * bits(c.from) };
    let result_width = c.count * bits(c.to);
    let widens = bits(c.from) < 16;
    // Which byte of source 0 and of the destination.
    let (mut from_byte, mut to_byte) = (0, 0);
    let r = random.next();
    if encoding == Encoding::Vop3a && row.has(wavemill_isa::gcn::Flag::Opsel, target) {
        match source_width {
            8 if widens => m.op_sel |= r as u8 & 3,
            16 if widens => m.op_sel |= r as u8 & 1,
            _ => {}
        }
        match result_width {
            8 => m.op_sel |= (r >> 8) as u8 & 0xc,
            16 => m.op_sel |= (r >> 8) as u8 & 8,
            _ => {}
        }
        from_byte = if source_width == 16 { 2 * u32::from(m.op_sel & 1) } else { u32::from(m.op_sel & 3) };
        from_byte = if widens { from_byte } else { 0 };
        to_byte = if result_width < 32 { u32::from(m.op_sel >> 2) } else { 0 };
    }
    if let Some(sdwa) = &mut m.sdwa {
        (sdwa.src0_sel, from_byte) = match (c.count, r & 3) {
            (1, n) => {
                ([SdwaSel::Byte0, SdwaSel::Byte1, SdwaSel::Byte2, SdwaSel::Byte3][n as usize], n as u32)
            }
            (_, n) => ([SdwaSel::Word0, SdwaSel::Word1][n as usize & 1], 2 * (n as u32 & 1)),
        };
    }
    let mut builder = Inst::build(target, op, encoding).expect("the form").modifiers(m);
    for spec in row.operands {
        let (_, first) = PLACES.into_iter().find(|(role, _)| *role == spec.role).expect("a place");
        builder = builder.operand(spec.role, Operand::Vgpr { first, dwords: spec.ty.dwords() });
    }
    let inst = builder.finish().unwrap_or_else(|error| panic!("{op} as {}: {error}", encoding.name()));

    let mut rows = vec![[0u32; 64]; 128];
    for (role, first) in PLACES {
        let Some(spec) = row.operand(role) else { continue };
        let elements = Type { elem: spec.ty.elem, count: (32 / spec.ty.elem.bits().min(32)) as u8 };
        for lane in rows[usize::from(first)..][..usize::from(spec.ty.dwords())].iter_mut().flatten() {
            *lane = match spec.ty.elem {
                Elem::F16 | Elem::Bf16 | Elem::F32 => value(elements, random) as u32,
                _ => random.next() as u32,
            };
        }
    }
    for (role, first) in PLACES.into_iter().filter(|(role, _)| matches!(role, Role::Src0 | Role::Src1)) {
        let Some(spec) = row.operand(role) else { continue };
        let dwords = usize::from(spec.ty.dwords());
        for (lane, set, signalling) in nan_lanes() {
            for (n, cells) in rows[usize::from(first)..][..dwords].iter_mut().enumerate() {
                let number = u64::from(first) + 2 * n as u64 + u64::from(role == Role::Src1);
                cells[lane] = match (nan(spec.ty.elem, number, signalling), spec.ty.elem.bits()) {
                    (Some(nan), 32) => nan as u32,
                    (Some(nan), _) => nan as u32 | (nan as u32 ^ 0x8002) << 16,
                    // The NaNs of the 8-bit formats; narrower ones have none.
                    (None, 8) => [0x7f80_ff7d, 0xfe7f_807e, 0x80ff_fd7f, 0x7e7d_feff][set as usize & 3],
                    _ => continue,
                };
            }
        }
    }
    let operands = row.operands.iter().filter(|s| s.role != Role::Vdst).count();
    let scale_at = PLACES[operands - 1].1;
    if c.scaled {
        for lane in &mut rows[usize::from(scale_at)] {
            let r = random.next();
            let exponent = if r & 7 == 0 { r >> 8 & 0xff } else { 119 + (r >> 8 & 15) };
            *lane = (exponent << 23 | r >> 40 & 0x7f_ffff) as u32;
        }
    }

    let mut machine = Machine::new(target);
    machine.mode = mode;
    machine.registers.vgprs = 128;
    let outcome = machine.run(&inst.words()[..inst.size() / 4], |regs, _| {
        for (n, lanes) in rows.iter().enumerate() {
            regs.set_row(registers::vgpr(n as u16), lanes);
        }
        regs.set_uni64(registers::EXEC, EXEC);
    });
    let mut expected = rows.clone();
    for lane in (0..64).filter(|lane| EXEC >> lane & 1 != 0) {
        let scale = if c.scaled { scale_of(rows[usize::from(scale_at)][lane]) } else { 0 };
        let mut seed = rows[32][lane];
        for n in 0..c.count {
            let (first, index) = if c.interleaved { (32 * (n & 1) as u8, n / 2) } else { (0, n) };
            let from = if first == 0 { first_source_lane(inst.form(), lane) } else { lane };
            let x = field(&rows, first, 8 * from_byte + index * bits(c.from), bits(c.from), from);
            let y = element(&c, target == Target::Gfx942, mode, x, seed, scale);
            seed = next_seed(seed);
            for b in 0..bits(c.to) {
                let at = 8 * to_byte + n * bits(c.to) + b;
                let cell = &mut expected[96 + at as usize / 32][lane];
                *cell = *cell & !(1 << (at % 32)) | (y as u32 >> b & 1) << (at % 32);
            }
        }
    }
    for (n, lanes) in expected.iter().enumerate() {
        assert_eq!(
            &outcome.wave.vgprs[n],
            lanes,
            "v{n} after {op} as {} on {}, mode {mode:#x}, {m:?}",
            encoding.name(),
            target.name()
        );
    }
}

#[test]
fn small_formats() {
    let mut random = Random(0x0bad_cafe_dead_10cc);
    let mut instances = 0;
    for op in Op::ALL.iter().copied().filter(|op| parse(op.row().name()).is_some()) {
        for target in Target::GCN.into_iter().filter(|t| op.row().targets.contains(*t)) {
            for encoding in op.row().encodings(target) {
                for mode in MODES {
                    check(target, op, encoding, mode, &mut random);
                    instances += 1;
                }
            }
        }
    }
    assert!(instances > 500, "{instances}");
}
