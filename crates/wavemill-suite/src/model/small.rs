//! Conversions to and from small float formats, which read and write parts of registers.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Encoding, Flag, Inst, Operand, Role};
use wavemill_reference::rows::small::{bits, element, next_seed, parse};
use wavemill_reference::scale_of;

use super::operands::{Feed, feed, part_of};
use super::{EXEC, Gap, Wave};

/// Bits `at..at + width` of consecutive VGPRs of a lane.
fn bits_at(wave: &Wave, first: usize, at: u32, width: u32, lane: usize) -> u64 {
    (0..width).fold(0, |v, n| {
        let bit = at + n;
        v | u64::from(wave.vgprs[first + bit as usize / 32][lane] >> (bit % 32) & 1) << n
    })
}

/// Runs the instruction if it is one of these.
pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<bool, Gap> {
    let row = inst.row();
    let Some(c) = parse(row.name()) else { return Ok(false) };
    let m = inst.modifiers();
    if m.abs != 0 || m.neg != 0 || m.sext != 0 || m.clamp || m.omod != 0 {
        return Err(Gap("signs or output modifiers of a small conversion"));
    }
    let first = |role| -> Result<usize, Gap> {
        match inst.operand(role) {
            Some(Operand::Vgpr { first, .. }) => Ok(first.into()),
            None => Ok(0),
            Some(_) => Err(Gap("an operand of a small conversion is no VGPR")),
        }
    };
    let places = [first(Role::Src0)?, first(Role::Src1)?, first(Role::Src2)?];
    let destination = first(Role::Vdst)?;
    let source_width = if c.interleaved { 0 } else { c.count * bits(c.from) };
    let result_width = c.count * bits(c.to);
    let (mut from_bit, mut to_bit) = (0, 0);
    if inst.encoding() == Encoding::Vop3a && row.has(Flag::Opsel, inst.target()) {
        // The first two bits choose a byte or half of the source, the others one of the destination.
        if bits(c.from) < 16 {
            from_bit =
                if source_width == 16 { 16 * u32::from(m.op_sel & 1) } else { 8 * u32::from(m.op_sel & 3) };
        }
        if result_width < 32 {
            to_bit = 8 * u32::from(m.op_sel >> 2);
        }
    }
    if let Some(sdwa) = &m.sdwa {
        from_bit = part_of(sdwa.src0_sel).0;
    }
    let sources = row.operands.iter().filter(|spec| spec.role != Role::Vdst).count();
    let scale_at = places[sources - 1];
    let exec = wave.pair(EXEC);
    let before = wave.clone();
    let result = row.operand(Role::Vdst).map_or(Elem::B32, |spec| spec.ty.elem);
    // A single result fills its register; parts of a register keep the rest.
    let fills = result == Elem::F32;
    for lane in (0..64usize).filter(|lane| exec >> lane & 1 != 0) {
        let from_lane = match feed(m.dpp.as_ref(), lane, exec) {
            Feed::Lane(from) => Some(from),
            Feed::Zero => None,
            Feed::Off => continue,
        };
        let scale = if c.scaled { scale_of(before.vgprs[scale_at][lane]) } else { 0 };
        let mut seed = before.vgprs[places[1]][lane];
        for n in 0..c.count {
            let (place, index) = if c.interleaved { ((n & 1) as usize, n / 2) } else { (0, n) };
            let x = match (place, from_lane) {
                (0, None) => 0,
                (0, Some(from)) => {
                    bits_at(&before, places[0], from_bit + index * bits(c.from), bits(c.from), from)
                }
                _ => bits_at(&before, places[1], index * bits(c.from), bits(c.from), lane),
            };
            let y = element(&c, inst.target() == Target::Gfx942, before.mode, x, seed, scale) as u32;
            seed = next_seed(seed);
            if fills {
                wave.vgprs[destination + n as usize][lane] = y;
                continue;
            }
            for b in 0..bits(c.to) {
                let at = to_bit + n * bits(c.to) + b;
                let cell = &mut wave.vgprs[destination + at as usize / 32][lane];
                *cell = *cell & !(1 << (at % 32)) | (y >> b & 1) << (at % 32);
            }
        }
    }
    Ok(true)
}
