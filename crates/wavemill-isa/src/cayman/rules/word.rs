//! Rules of single words.

use super::{BrokenRule, Rule};
use crate::cayman::inst::Inst;
use crate::cayman::row::Op;
use crate::cayman::source::{Source, SourceField};
use crate::cayman::vocabulary::{Address, FieldId as F, Flag, Format, Stage};

/// A clause of fetches has at most this many instructions (HD 6900 ISA 3.3).
const FETCHES: u32 = 16;

/// Resources of a stage and of its fetch program (HD 6900 ISA 9.4, TEX_WORD0).
const RESOURCES: u32 = 176;
/// FMT_INVALID (HD 6900 ISA 9.3, VTX_WORD1_GPR).
const INVALID: u32 = 0;

/// The codes of a field that the manual lists, one bit for each; `None` for fields whose values are
/// numbers.
const fn codes(op: Op, id: F) -> Option<u64> {
    /// The codes from 0 to one less than `end`.
    const fn below(end: u32) -> u64 {
        (1 << end) - 1
    }
    Some(match id {
        F::BankSwizzle | F::JumptableSel | F::SrcSelX | F::SrcSelY | F::SrcSelZ | F::SrcSelW => below(6),
        F::PredSel | F::ElemSize => below(4) & !(if matches!(id, F::PredSel) { 1 << 1 } else { 1 << 2 }),
        F::IndexMode => 1 << 0 | 1 << 4 | 1 << 5 | 1 << 6,
        F::MovaDst => below(8),
        F::RatIndexMode
        | F::ResourceIndexMode
        | F::SamplerIndexMode
        | F::BufferIndexMode
        | F::UavIndexMode
        | F::RsrcIndexMode
        | F::KcacheBankIndexMode0
        | F::KcacheBankIndexMode1
        | F::KcacheBankIndexMode2
        | F::KcacheBankIndexMode3
        | F::FetchType
        | F::StructuredRead
        | F::EndianSwap
        | F::NumFormatAll
        | F::SrcRelMode
        | F::DstRelMode => below(3),
        F::SamplerId => below(18),
        // Gathers have four; others do not look at it.
        F::InstMod if matches!(op, Op::TexLd | Op::TexGetGradientsH | Op::TexGetGradientsV) => below(2),
        F::DstSelX | F::DstSelY | F::DstSelZ | F::DstSelW | F::SelX | F::SelY | F::SelZ | F::SelW => {
            below(8) & !(1 << 6)
        }
        // FMT_RESERVED_4, 33, 36 and 63.
        F::DataFormat => !(1 << 4 | 1 << 33 | 1 << 36 | 1 << 63),
        _ => return None,
    })
}

const fn is_reserved(id: F) -> bool {
    matches!(id, F::Reserved0 | F::Reserved1 | F::Reserved2 | F::Reserved3 | F::Reserved4 | F::Padding)
}

impl Inst {
    /// The rules that the word breaks on its own.
    pub fn broken_rules(&self) -> Vec<BrokenRule> {
        let mut broken = self.broken_fields();
        if self.format().is_alu() {
            self.broken_slot(&mut broken);
        } else {
            self.broken_control(&mut broken);
            self.broken_fetch(&mut broken);
        }
        broken
    }

    /// As [`Inst::broken_rules`], with the rules of a stage.
    pub fn broken_rules_in(&self, stage: Stage) -> Vec<BrokenRule> {
        let mut broken = self.broken_rules();
        broken.extend(self.broken_stage(stage));
        broken
    }

    /// The rules of a stage: instructions that it lacks, and fields that only pixel shaders set (HD
    /// 6900 ISA 9.1, 9.3).
    pub(super) fn broken_stage(&self, stage: Stage) -> impl Iterator<Item = BrokenRule> + use<> {
        let stages = self.row().stages;
        let is_here = stages.is_empty() || stages.contains(&stage);
        let rule = move |expected| Rule::Stage { expected, found: stage };
        let inst = *self;
        let of_pixels = [F::WholeQuadMode, F::ValidPixelMode, F::FetchWholeQuad].into_iter();
        let fields = of_pixels.filter(move |id| stage != Stage::Ps && inst.bit(*id));
        let whole = (!is_here).then(|| BrokenRule::of(rule(stages)));
        whole.into_iter().chain(fields.map(move |id| BrokenRule::field(rule(&[Stage::Ps]), id)))
    }

    fn broken_fields(&self) -> Vec<BrokenRule> {
        let mut broken = Vec::new();
        for field in self.format().fields() {
            let value = self.get(field.id);
            if is_reserved(field.id) && value != 0 {
                broken.push(BrokenRule::field(Rule::Reserved { value }, field.id));
            }
            // Values without a bit are not listed.
            if let Some(listed) = codes(self.op(), field.id)
                && listed.checked_shr(value).unwrap_or(0) & 1 == 0
            {
                broken.push(BrokenRule::field(Rule::Code { listed, value }, field.id));
            }
        }
        broken
    }

    fn broken_slot(&self, broken: &mut Vec<BrokenRule>) {
        let row = self.row();
        for (index, (_, field, source)) in self.sources().enumerate() {
            if !source.is_listed() {
                let select = self.get(field.select);
                broken.push(BrokenRule::field(Rule::Source { select }, field.select));
            }
            let negation = (Some(field.negate), row.takes_negation(index));
            let absolute = (field.absolute, row.takes_absolute(index));
            for (id, takes) in [negation, absolute] {
                if let Some(id) = id.filter(|id| !takes && self.bit(*id)) {
                    broken.push(BrokenRule::field(Rule::SourceModifier, id));
                }
            }
        }
        let modifiers = [(F::Omod, row.takes_output_modifier()), (F::Clamp, row.takes_clamp())];
        for (id, takes) in modifiers {
            if !takes && self.bit(id) {
                broken.push(BrokenRule::field(Rule::OutputModifier, id));
            }
        }
        // A literal that no source needs still follows the group.
        for field in SourceField::ALL.iter().skip(row.sources.len()) {
            let reads_literal =
                |source: Source| matches!(source, Source::Literal(_)) || source.is_direct_read();
            // SET_MODE has its modes there.
            if self.op() != Op::SetMode && field.of(self).is_some_and(reads_literal) {
                broken.push(BrokenRule::field(Rule::UnusedLiteral, field.select));
            }
        }
        let updates = [F::UpdatePred, F::UpdateExecMask].into_iter();
        for id in updates.filter(|id| !row.updates_masks() && self.bit(*id)) {
            broken.push(BrokenRule::field(Rule::MaskUpdate, id));
        }
        if self.format() == Format::Op2Mova && self.bit(F::WriteMask) {
            broken.push(BrokenRule::field(Rule::MovaResult, F::WriteMask));
        }
    }

    fn broken_fetch(&self, broken: &mut Vec<BrokenRule>) {
        for id in [F::ResourceId, F::BufferId] {
            if let Some(found) = self.field(id).filter(|found| *found >= RESOURCES) {
                broken.push(BrokenRule::field(Rule::Resource { found }, id));
            }
        }
        // GET_BUFFER_RESINFO reads no data.
        let reads = matches!(self.format(), Format::Vtx | Format::VtxSemantic | Format::MemRd)
            && self.op() != Op::GetBufferResinfo;
        if reads && self.field(F::DataFormat) == Some(INVALID) && !self.bit(F::UseConstFields) {
            broken.push(BrokenRule::field(Rule::NoFormat, F::DataFormat));
        }
    }

    fn broken_control(&self, broken: &mut Vec<BrokenRule>) {
        let row = self.row();
        let mut add = |rule, id| broken.push(BrokenRule::field(rule, id));
        let condition = self.get(F::Cond);
        if condition != 0 && !row.has(Flag::Condition) {
            add(Rule::Condition { value: condition }, F::Cond);
        }
        let expected = match self.op() {
            Op::Call | Op::CallFs => Some(0),
            Op::PopWqm => Some(1),
            _ => None,
        };
        let found = self.get(F::PopCount);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            add(Rule::PopCount { expected, found }, F::PopCount);
        }
        // The field holds one less.
        let count = self.get(F::Count) + 1;
        if matches!(row.address, Some(Address::FetchClause | Address::GdsClause)) && count > FETCHES {
            add(Rule::ClauseSize { found: count }, F::Count);
        }
        let is_valid_pixel = matches!(self.op(), Op::AluValidPixelMode | Op::AluExtendedAluValidPixelMode);
        if is_valid_pixel && self.bit(F::WholeQuadMode) {
            add(Rule::QuadAndValid, F::WholeQuadMode);
        }
        // MEM_EXPORT_COMBINED is 91, MEM_RAT_COMBINED_CACHELESS 92.
        if self.format().opcode() == Some(F::CfInst) && matches!(row.code, 91 | 92) {
            let found = self.get(F::BurstCount);
            if found != 0 {
                add(Rule::Burst { found }, F::BurstCount);
            }
            // WRITE_IND and WRITE_IND_ACK are odd.
            if self.get(F::Type) & 1 != 0 {
                add(Rule::IndexedWrite, F::Type);
            }
        }
        if self.format() == Format::ExportSwiz {
            let (kind, base) = (self.get(F::Type), self.get(F::ArrayBase));
            // Pixels go to eight targets, and Z to number 61; positions, parameters.
            let is_there = match kind {
                0 => matches!(base, 0..=7 | 61),
                1 => matches!(base, 60..=63),
                2 => base < 32,
                _ => false,
            };
            if !is_there {
                add(Rule::ExportTarget { kind, base }, F::ArrayBase);
            }
        }
        if self.op() == Op::GdsAtomicOrderedAllocRet && !self.bit(F::BcastFirstReq) {
            add(Rule::Broadcast, F::BcastFirstReq);
        }
        let found = self.get(F::ElemSize);
        if matches!(self.op(), Op::MemWrScratch | Op::MemRdScratch) && found != 3 {
            add(Rule::ScratchElement { found }, F::ElemSize);
        }
    }
}
