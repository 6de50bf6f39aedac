//! Rules of ALU groups.

use super::{BrokenRule, Rule};
use crate::cayman::group::{DirectRead, Group};
use crate::cayman::inst::Inst;
use crate::cayman::ports::{constant_conflict, register_conflict, required_swizzle};
use crate::cayman::row::Op;
use crate::cayman::source::{Source, SourceField};
use crate::cayman::vocabulary::{Elem, FieldId as F, Flag, Format, Slots};

/// INDEX_MODE of the loop index (HD 6900 ISA 9.2, ALU_WORD0).
pub(super) const INDEX_LOOP: u32 = 4;
/// INDEX_MODE of AR.
pub(super) const INDEX_AR: u32 = 0;
/// INDEX_MODE with AR: INDEX_AR_X and INDEX_GLOBAL_AR_X.
const WITH_AR: [u32; 2] = [INDEX_AR, 6];

/// Whether a slot writes a register.
pub(super) fn writes(slot: &Inst) -> bool {
    slot.row().result.is_some() && slot.field(F::WriteMask) != Some(0)
}

impl Inst {
    fn channel(&self) -> u8 {
        self.get(F::DstChan) as u8
    }

    /// Whether a register or constant of the slot is indexed by AR.
    pub(super) fn uses_ar(&self) -> bool {
        let reads = || self.sources().any(|(_, field, _)| self.bit(field.relative));
        WITH_AR.contains(&self.get(F::IndexMode)) && (self.bit(F::DstRel) || reads())
    }

    fn is_unmodified(&self) -> bool {
        !self.bit(F::Omod) && !self.bit(F::Clamp)
    }
}

impl Op {
    /// Whether the instruction, which has a chain, continues the result of another, which must have
    /// been made for that (HD 6900 ISA 8.2).
    pub fn continues(self, producer: Op) -> bool {
        match self {
            Op::Dot | Op::DotIeee => matches!(producer, Op::Mul | Op::MulIeee | Op::Dot | Op::DotIeee),
            Op::BcntAccumPrevInt => matches!(producer, Op::BcntInt | Op::BcntAccumPrevInt),
            Op::Mbcnt32loAccumPrevInt => producer == Op::Mbcnt32hiInt,
            Op::SadAccumPrevUint => {
                matches!(producer, Op::SadAccumUint | Op::SadAccumHiUint | Op::SadAccumPrevUint)
            }
            Op::MulPrev | Op::MulIeeePrev => matches!(producer, Op::Mul | Op::MulIeee),
            _ => producer.row().result == Some(Elem::F32),
        }
    }

    /// Whether the instruction, which has a chain, takes the result of another before its OMOD and
    /// CLAMP: the pages say that these are "not applied". ADD_PREV and MULADD_PREV allow neither (HD
    /// 6900 ISA 8.2).
    const fn takes_unmodified(self) -> bool {
        matches!(self, Op::MulPrev | Op::MulIeeePrev | Op::MuladdIeeePrev)
    }
}

impl Group {
    /// The rules that the group breaks, with those that its slots break on their own.
    pub fn broken_rules(&self) -> Vec<BrokenRule> {
        let mut broken = Vec::new();
        for slot in self.slots.iter().flatten() {
            let own = slot.broken_rules().into_iter();
            broken.extend(own.map(|rule| BrokenRule { slot: Some(slot.channel()), ..rule }));
        }
        self.broken_slots(&mut broken);
        self.broken_chains(&mut broken);
        self.broken_predicates(&mut broken);
        self.broken_indices(&mut broken);
        self.broken_sources(&mut broken);
        self.broken_ports(&mut broken);
        broken
    }

    fn slots(&self) -> impl Iterator<Item = &Inst> {
        self.slots.iter().flatten()
    }

    /// The channels in which an instruction stands.
    fn channels_of(&self, op: Op) -> u8 {
        self.slots().filter(|slot| slot.op() == op).fold(0, |all, slot| all | 1 << slot.channel())
    }

    fn broken_slots(&self, broken: &mut Vec<BrokenRule>) {
        for slot in self.slots() {
            let channels = self.channels_of(slot.op());
            let row = slot.row();
            let own = 1 << slot.channel();
            // What several slots share is reported once, at the first of them.
            let found = if row.slots.is_several() { channels } else { own };
            let is_first = channels.trailing_zeros() == u32::from(slot.channel());
            if !row.slots.allow(found) && (is_first || !row.slots.is_several()) {
                let rule = Rule::Slots { needed: row.slots, found };
                broken.push(BrokenRule::slot(rule, slot.channel()));
            }
            let mut others = self.slots().filter(|other| other.op() == slot.op());
            let parameter = |slot: &Inst| slot.get(F::Src1Sel);
            let is_interpolation = slot.op().is_interpolation();
            if is_interpolation && is_first && others.any(|other| parameter(other) != parameter(slot)) {
                broken.push(BrokenRule::slot(Rule::Parameters, slot.channel()));
            }
            let modifiers = |slot: &Inst| (slot.get(F::Omod), slot.get(F::Clamp));
            let mut same = self.slots().filter(|other| other.op() == slot.op());
            if row.has(Flag::Reduction) && is_first && same.any(|other| modifiers(other) != modifiers(slot)) {
                broken.push(BrokenRule::slot(Rule::ReductionModifiers, slot.channel()));
            }
        }
    }

    fn broken_chains(&self, broken: &mut Vec<BrokenRule>) {
        for slot in self.slots() {
            // A channel without a producer is not among the slots of the row.
            let Some(channel) = slot.row().chain.and_then(|chain| chain.producer(slot.channel())) else {
                continue;
            };
            let producer = self.slots[usize::from(channel & 3)];
            let found = producer.map(|producer| producer.op());
            if !found.is_some_and(|producer| slot.op().continues(producer)) {
                broken.push(BrokenRule::slot(Rule::Producer { channel, found }, slot.channel()));
            } else if !slot.op().takes_unmodified()
                && producer.is_some_and(|producer| !producer.is_unmodified())
            {
                broken.push(BrokenRule::slot(Rule::ProducerModifier { channel }, slot.channel()));
            }
        }
    }

    fn broken_predicates(&self, broken: &mut Vec<BrokenRule>) {
        let mut first: Option<Op> = None;
        for slot in self.slots().filter(|slot| slot.row().updates_masks()) {
            // An instruction of several slots is one, and pages allow two of them in a group.
            let again = |before: Op| before != slot.op() || slot.row().slots != Slots::Pair;
            match first {
                Some(first) if again(first) => {
                    broken.push(BrokenRule::slot(Rule::Predicates { first }, slot.channel()));
                }
                Some(_) => {}
                None => first = Some(slot.op()),
            }
        }
        let movas = self.slots().filter(|slot| slot.format() == Format::Op2Mova);
        broken.extend(movas.skip(1).map(|slot| BrokenRule::slot(Rule::Movas, slot.channel())));
    }

    fn broken_indices(&self, broken: &mut Vec<BrokenRule>) {
        let has_mova = self.slots().any(|slot| slot.format() == Format::Op2Mova);
        for slot in self.slots() {
            if has_mova && slot.uses_ar() {
                broken.push(BrokenRule::slot(Rule::IndexBesideMova, slot.channel()));
            }
            for (_, field, source) in slot.sources() {
                let mode = slot.get(F::IndexMode);
                let indexed = slot.bit(field.relative) && matches!(source, Source::Constant(..));
                if indexed && mode != INDEX_LOOP {
                    broken.push(BrokenRule::source(Rule::ConstantIndex { mode }, slot.channel(), field));
                }
            }
        }
    }

    fn broken_sources(&self, broken: &mut Vec<BrokenRule>) {
        let mut pops: Option<bool> = None;
        let direct = self.direct_read();
        if let Some(address) = &direct {
            self.broken_address(address, broken);
        }
        for slot in self.slots() {
            let channel = slot.channel();
            for (index, (_, field, source)) in slot.sources().enumerate() {
                let rule = match source {
                    Source::Queue(_, pop) if *pops.get_or_insert(pop) != pop => Rule::QueueMix,
                    Source::Literal(0 | 1) if direct.is_some() => Rule::DirectLiteral,
                    _ if source.direct_read().is_some_and(|bus| usize::from(bus) != index) => {
                        Rule::DirectSource
                    }
                    _ => continue,
                };
                broken.push(BrokenRule::source(rule, channel, field));
            }
            let found = slot.get(F::BankSwizzle);
            if let Some(expected) = required_swizzle(slot).filter(|expected| *expected != found) {
                let rule = Rule::BankSwizzle { expected, found };
                broken.push(BrokenRule { rule, slot: Some(channel), field: Some(F::BankSwizzle) });
            }
        }
    }

    /// The strides with which lanes do not meet in a bank of LDS, and reserved bits.
    fn broken_address(&self, address: &DirectRead, broken: &mut Vec<BrokenRule>) {
        let is_used = |bus: u8| {
            self.slots().any(|slot| slot.sources().any(|(.., source)| source.direct_read() == Some(bus)))
        };
        let all_banks = address.field(F::DirectRead32) == Some(1);
        for (bus, id) in [F::StrideA, F::StrideB].into_iter().enumerate() {
            let stride = address.field(id).unwrap_or(0);
            let is_legal = stride == 0 || if all_banks { !stride.is_multiple_of(4) } else { stride % 2 == 1 };
            if !is_legal && is_used(bus as u8) {
                broken.push(BrokenRule::field(Rule::Stride { found: stride }, id));
            }
        }
        for id in [F::Reserved0, F::Reserved1, F::Reserved2, F::Reserved3] {
            if let Some(value @ 1..) = address.field(id) {
                broken.push(BrokenRule::field(Rule::Reserved { value }, id));
            }
        }
    }

    fn broken_ports(&self, broken: &mut Vec<BrokenRule>) {
        let swizzles = self.slots.map(|slot| slot.map_or(0, |slot| slot.get(F::BankSwizzle)));
        let conflicts = [register_conflict(self, swizzles), constant_conflict(self)];
        for conflict in conflicts.into_iter().flatten() {
            let (first, second) = (conflict.first, conflict.second);
            let rule = match conflict.port {
                Some((cycle, channel)) => Rule::ReadPort { cycle, channel, first, second },
                None => Rule::ConstantPort { select: second },
            };
            broken.push(BrokenRule::source(rule, conflict.slot, conflict.source));
        }
    }

    /// The registers that the group reads, with whether AR indexes them.
    pub(super) fn register_reads(&self) -> impl Iterator<Item = (u8, bool, u8, &'static SourceField)> + '_ {
        self.slots().flat_map(|slot| {
            slot.sources().filter_map(|(_, field, source)| match source {
                Source::Gpr(register, _) => {
                    let by_ar = slot.bit(field.relative) && WITH_AR.contains(&slot.get(F::IndexMode));
                    Some((register, by_ar, slot.channel(), field))
                }
                _ => None,
            })
        })
    }

    /// The registers that the group writes, with whether AR indexes them.
    pub(super) fn register_writes(&self) -> impl Iterator<Item = (u8, bool)> + '_ {
        self.slots().filter(|slot| writes(slot)).map(|slot| {
            let by_ar = slot.bit(F::DstRel) && WITH_AR.contains(&slot.get(F::IndexMode));
            (slot.get(F::DstGpr) as u8, by_ar)
        })
    }
}
