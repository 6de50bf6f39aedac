//! Read ports of the register file and of constant buffers, and the search for bank swizzles (HD
//! 6900 ISA 4.7.4 to 4.7.8).

use super::group::Group;
use super::inst::Inst;
use super::source::{Source, SourceField};
use super::vocabulary::FieldId;

/// The cycle in which each source is read, by BANK_SWIZZLE (HD 6900 ISA 4.7.7).
const CYCLES: [[u8; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]];
/// VEC_012: a direct read of LDS takes cycle 0 for the first source and 1 for the second (HD 6900
/// ISA 7.3.1).
pub(super) const OF_DIRECT_READS: u32 = 0;
/// VEC_210: interpolation reads its register in the third cycle (HD 6900 ISA 7.3.2).
pub(super) const OF_INTERPOLATION: u32 = 5;

/// A register or constant as the ports see it: its code, whether an index is added, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) select: u16,
    pub(super) index: Option<u8>,
}

/// A read that finds its port in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The channel of the slot that reads.
    pub(super) slot: u8,
    /// The source.
    pub(super) source: &'static SourceField,
    /// The cycle and the channel of the port; `None` for a port of constants.
    pub(super) port: Option<(u8, u8)>,
    /// The register that the port already reads.
    pub(super) first: u16,
    /// The register or constant that does not get a port.
    pub(super) second: u16,
}

/// The ports of the registers: for each cycle and channel, what is read.
#[derive(Clone, Copy, Default)]
struct Registers([[Option<Read>; 4]; 3]);

impl Registers {
    /// Reads the sources of a slot in the order of a swizzle.
    fn add(&mut self, inst: &Inst, swizzle: u32) -> Result<(), Conflict> {
        let Some(cycles) = CYCLES.get(swizzle as usize) else { return Ok(()) };
        let mut first = None;
        for (index, (field, source)) in sources(inst).enumerate() {
            let Source::Gpr(register, channel) = source else { continue };
            let read = read_of(inst, field, register.into());
            // The second source shares the port of the first if both are the same.
            if index == 1 && first == Some((read, channel)) {
                continue;
            }
            if index == 0 {
                first = Some((read, channel));
            }
            let cycle = cycles[index];
            let Some(port) =
                self.0.get_mut(cycle as usize).and_then(|ports| ports.get_mut(usize::from(channel)))
            else {
                continue;
            };
            match *port {
                None => *port = Some(read),
                Some(other) if other == read => {}
                Some(other) => {
                    return Err(Conflict {
                        slot: inst.get(FieldId::DstChan) as u8,
                        source: field,
                        port: Some((cycle, channel)),
                        first: other.select,
                        second: read.select,
                    });
                }
            }
        }
        Ok(())
    }
}

/// The sources that a slot reads.
fn sources(inst: &Inst) -> impl Iterator<Item = (&'static SourceField, Source)> + '_ {
    inst.sources().map(|(_, field, source)| (field, source))
}

fn read_of(inst: &Inst, field: &SourceField, select: u16) -> Read {
    let index = inst.bit(field.relative).then(|| inst.get(FieldId::IndexMode) as u8);
    Read { select, index }
}

/// The first read of a group that finds its port of the registers in use, given a swizzle for each
/// slot.
pub(super) fn register_conflict(group: &Group, swizzles: [u32; 4]) -> Option<Conflict> {
    let mut ports = Registers::default();
    let slots =
        group.slots.iter().zip(swizzles).filter_map(|(slot, swizzle)| Some((slot.as_ref()?, swizzle)));
    slots.into_iter().find_map(|(slot, swizzle)| ports.add(slot, swizzle).err())
}

/// The first constant of a group that gets no port: there are two, each for one half of a constant.
pub(super) fn constant_conflict(group: &Group) -> Option<Conflict> {
    let mut ports: [Option<(Read, u8)>; 2] = [None; 2];
    for slot in group.slots.iter().flatten() {
        for (field, source) in sources(slot) {
            let Source::Constant(_, _, channel) = source else { continue };
            let select = slot.get(field.select) as u16;
            let wanted = (read_of(slot, field, select), channel / 2);
            match ports.iter_mut().find(|port| port.is_none_or(|port| port == wanted)) {
                Some(port) => *port = Some(wanted),
                None => {
                    return Some(Conflict {
                        slot: slot.get(FieldId::DstChan) as u8,
                        source: field,
                        port: None,
                        first: ports[0].map_or(0, |(read, _)| read.select),
                        second: select,
                    });
                }
            }
        }
    }
    None
}

/// The swizzle that an instruction requires, whatever else its group reads.
pub(super) fn required_swizzle(inst: &Inst) -> Option<u32> {
    if sources(inst).any(|(_, source)| source.is_direct_read()) {
        return Some(OF_DIRECT_READS);
    }
    inst.op().is_interpolation().then_some(OF_INTERPOLATION)
}

/// Values of BANK_SWIZZLE with which no two reads of the group need the same port of the register
/// file; 0 for slots that the group lacks. `None` if there are none: the group must be split.
///
/// The current values do not matter. Among the solutions this is the first in the order of slots
/// and values.
pub fn search_bank_swizzles(group: &Group) -> Option<[u32; 4]> {
    let mut swizzles = [0; 4];
    // The ports before each slot.
    let mut ports = [Registers::default(); 5];
    let mut slot = 0;
    loop {
        if slot == 4 {
            return Some(swizzles);
        }
        let fits = match &group.slots[slot] {
            None => (swizzles[slot] == 0).then_some(ports[slot]),
            Some(inst) => try_swizzle(ports[slot], inst, swizzles[slot]),
        };
        if let Some(after) = fits {
            slot += 1;
            ports[slot] = after;
            if slot < 4 {
                swizzles[slot] = 0;
            }
            continue;
        }
        // Go on with the next value, of this slot or of one before it.
        loop {
            swizzles[slot] += 1;
            if (swizzles[slot] as usize) < CYCLES.len() {
                break;
            }
            slot = slot.checked_sub(1)?;
        }
    }
}

fn try_swizzle(ports: Registers, inst: &Inst, swizzle: u32) -> Option<Registers> {
    if required_swizzle(inst).is_some_and(|required| required != swizzle) {
        return None;
    }
    let mut after = ports;
    after.add(inst, swizzle).ok().map(|()| after)
}
