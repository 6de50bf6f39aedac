//! Slots that compute together: instructions of two and of four slots, instructions that every slot
//! repeats, and chains (HD 6900 ISA 8.2).

use wavemill_ir::{Operand, Row as IrRow, Uni};
use wavemill_isa::cayman::{FieldId as F, Format, Op, Slots};

use super::{Slot, double, operation};
use crate::cayman::lifter::{ILLEGAL, Lifter, Refused, UNSUPPORTED};

/// The slots of a group by channel, without accesses to LDS.
pub(super) type Channels<'s> = [Option<&'s Slot>; 4];

/// What slots that compute together have computed, in temporaries and constants. The slots of the
/// other channels are for [`Lifter::operation`].
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::cayman) struct Joint {
    /// The result of each channel.
    pub(in crate::cayman) results: [Option<Operand>; 4],
    /// The masks as [`Lifter::operation`] gives them, at the first channel of the instruction.
    pub(in crate::cayman) masks: [Option<Uni>; 4],
    /// Which channels of PV later groups read.
    is_read: [bool; 4],
    /// The sums of channels before they are rounded.
    pub(super) unrounded: [Option<IrRow>; 4],
}

impl Lifter<'_, '_> {
    /// Computes the results of the slots of a group that compute together. `is_read` says which
    /// channels of PV later groups read. Nothing but temporaries
    /// is written.
    pub(in crate::cayman) fn joint_results(
        &mut self,
        slots: &[Slot],
        is_read: [bool; 4],
    ) -> Result<Joint, Refused> {
        let mut channels: Channels<'_> = [None; 4];
        for slot in slots.iter().filter(|slot| slot.inst.format() != Format::Lds) {
            channels[slot.inst.get(F::DstChan) as usize & 3] = Some(slot);
        }
        let mut joint = Joint { is_read, ..Joint::default() };
        // Chains read channels behind their own.
        for channel in (0..4).rev() {
            if let Some(slot) = channels[channel] {
                self.joint_result(slot, channel, &channels, &mut joint)?;
            }
        }
        Ok(joint)
    }

    fn joint_result(
        &mut self,
        slot: &Slot,
        channel: usize,
        channels: &Channels<'_>,
        joint: &mut Joint,
    ) -> Result<(), Refused> {
        let row = slot.inst.row();
        match row.slots {
            Slots::Pair => {
                let first = channel & 2;
                let [high, low] = all_of(slot.inst.op(), [first, first + 1], channels)?;
                if channel == first {
                    let ([x, y], mask) = self.double_pair(high, low)?;
                    (joint.results[first], joint.results[first + 1]) = (Some(x), Some(y));
                    joint.masks[first] = mask;
                }
            }
            Slots::All if !is_repeated(slot.inst.op()) => {
                let slots = all_of(slot.inst.op(), [0, 1, 2, 3], channels)?;
                if channel == 0 {
                    joint.results = self.four_slots(slots)?.map(Some);
                }
            }
            Slots::All | Slots::Three => self.repeated(slot, channel, channels, joint)?,
            Slots::Xy | Slots::Zw => {
                let first = channel & 2;
                let slots = all_of(slot.inst.op(), [first, first + 1], channels)?;
                if channel == first {
                    let mut own = [None; 4];
                    (own[first], own[first + 1]) = (Some(slots[0]), Some(slots[1]));
                    let results = self.interpolation(slot.inst.op(), own)?;
                    joint.results[first] = Some(results[first]);
                    joint.results[first + 1] = Some(results[first + 1]);
                }
            }
            Slots::Any | Slots::X | Slots::W | Slots::NotW | Slots::XOrY => {
                if let Some(chain) = row.chain {
                    let producer = chain.producer(channel as u8).ok_or(ILLEGAL)?;
                    joint.results[channel] =
                        Some(self.chained(slot, usize::from(producer), channels, joint)?);
                }
            }
        }
        Ok(())
    }

    /// An instruction that several slots repeat: slots with the same sources share a result.
    fn repeated(
        &mut self,
        slot: &Slot,
        channel: usize,
        channels: &Channels<'_>,
        joint: &mut Joint,
    ) -> Result<(), Refused> {
        let same = |other: usize| channels[other].is_some_and(|other| repeats(slot, other));
        if let Some(function) = double::function(slot.inst.op()) {
            // The low dword is 0, in the channels that have low dwords of doubles.
            joint.results[channel] = match channel {
                0 | 2 => Some(Operand::Const(0)),
                1 if same(3) => joint.results[3],
                _ => Some(self.double_function(slot, function).into()),
            };
            return Ok(());
        }
        let is_needed = |channel: usize| {
            joint.is_read[channel] || channels[channel].is_some_and(|slot| slot.inst.bit(F::WriteMask))
        };
        // Compilers want one of the results only.
        if (0..4).filter(|other| same(*other) && is_needed(*other)).count() < 2 {
            return Ok(());
        }
        joint.results[channel] = match (channel + 1..4).find(|other| same(*other)) {
            Some(shared) => joint.results[shared],
            None if (0..channel).any(same) => {
                let result = self.b.row_temp(1);
                self.operation(slot, result)?;
                Some(result.into())
            }
            None => None,
        };
        Ok(())
    }

    fn four_slots(&mut self, slots: [&Slot; 4]) -> Result<[Operand; 4], Refused> {
        let op = slots[0].inst.op();
        Ok(match op {
            Op::Dot4 | Op::Dot4Ieee => [self.dot4(slots).into(); 4],
            Op::Max4 => [self.max4(slots).into(); 4],
            Op::Cube => self.cube(slots),
            Op::FltToUint4 => [self.pack_bytes(slots).into(); 4],
            Op::Mul64 | Op::Mul64R700 | Op::Fma64 => self.double_product(slots),
            Op::Frexp64 => self.double_parts(slots)?,
            Op::InterpXy | Op::InterpZw => self.interpolation(op, slots.map(Some))?,
            _ => return Err(UNSUPPORTED),
        })
    }
}

/// Whether each of its four slots computes the whole result from its own sources.
const fn is_repeated(op: Op) -> bool {
    matches!(op, Op::MulloInt | Op::MulhiInt | Op::MulloUint | Op::MulhiUint)
}

/// The slots of channels that must have one instruction.
fn all_of<'s, const N: usize>(
    op: Op,
    wanted: [usize; N],
    channels: &Channels<'s>,
) -> Result<[&'s Slot; N], Refused> {
    let mut slots = Vec::with_capacity(N);
    for channel in wanted {
        slots.push(channels[channel].filter(|slot| slot.inst.op() == op).ok_or(ILLEGAL)?);
    }
    slots.try_into().map_err(|_| ILLEGAL)
}

/// Whether two slots compute the same.
fn repeats(slot: &Slot, other: &Slot) -> bool {
    let sources = |slot: &Slot| {
        let inst = slot.inst;
        let of = move |(_, field, source): (_, &wavemill_isa::cayman::SourceField, _)| {
            let absolute = field.absolute.is_some_and(|absolute| inst.bit(absolute));
            (source, inst.bit(field.relative), inst.bit(field.negate), absolute)
        };
        slot.inst.sources().map(of).collect::<Vec<_>>()
    };
    let rest = |slot: &Slot| (slot.inst.op(), slot.inst.get(F::IndexMode));
    let output = |slot: &Slot| operation::Output::of(&slot.inst);
    rest(slot) == rest(other) && output(slot) == output(other) && sources(slot) == sources(other)
}
