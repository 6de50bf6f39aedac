//! MIMG instructions (Vega ISA 12.16, addresses in 8.2 to 8.4).
//!
//! Every sample and gather is the same operation with other flags ([`ImageAddress`]).

use wavemill_ir::{
    AtomicOp, Attrs, ImageData, ImageGather, ImageKind, ImageLevel, ImageOp, IntOp, Op as IrOp, Operand,
    Width,
};
use wavemill_isa::gcn::{Flag, ImageAddress, Inst, LevelOfDetail, MemOp, Role, Row};

use super::lifter::{Lifted, Lifter};
use super::memory::atomic_op;

/// Where the level of detail comes from.
fn level(level: LevelOfDetail) -> ImageLevel {
    match level {
        LevelOfDetail::Quad => ImageLevel::Quad,
        LevelOfDetail::Bias => ImageLevel::Bias,
        LevelOfDetail::Given => ImageLevel::Given,
        LevelOfDetail::Zero => ImageLevel::Zero,
        LevelOfDetail::Gradients => ImageLevel::Gradients { coarse: false },
        LevelOfDetail::CoarseGradients => ImageLevel::Gradients { coarse: true },
    }
}

/// What an instruction does. `atomic` is the operation of an atomic.
fn operation(row: &Row, channels: u8, atomic: Option<AtomicOp>) -> Option<ImageOp> {
    let name = row.name().strip_prefix("image_")?;
    let address = row.image_address()?;
    let plain = |kind| Some(ImageOp::new(kind, channels));
    if let Some(atomic) = atomic {
        // DMASK counts the registers of the data.
        let cells = channels.count_ones() as u16 / if atomic.has_second_datum() { 2 } else { 1 };
        let width = if cells == 2 { Width::W64 } else { Width::W32 };
        return plain(ImageKind::Atomic(atomic, width));
    }
    let of_data = |name: &str| {
        let (name, mip) = match name.strip_prefix("_mip") {
            Some(rest) => (rest.to_owned(), true),
            None => (name.to_owned(), false),
        };
        let data = match &*name {
            "" => ImageData::Converted,
            "_pck" => ImageData::Raw,
            "_pck_sgn" => ImageData::RawSigned,
            _ => return None,
        };
        Some((data, mip))
    };
    if let Some(rest) = name.strip_prefix("load") {
        let (data, mip) = of_data(rest)?;
        return plain(ImageKind::Load { data, mip });
    }
    if let Some(rest) = name.strip_prefix("store") {
        let (data, mip) = of_data(rest)?;
        return plain(ImageKind::Store { data, mip });
    }
    let sampled = |kind| {
        let ImageAddress { offset, compare, clamp, .. } = address;
        Some(ImageOp { offset, compare, clamp, ..ImageOp::new(kind, channels) })
    };
    let level = level(address.level);
    if name.starts_with("sample") {
        return sampled(ImageKind::Sample(level));
    }
    let gathers = [
        ("gather8h_pck", ImageGather::PackedRow(8)),
        ("gather4h_pck", ImageGather::PackedRow(4)),
        ("gather4h", ImageGather::Row),
        ("gather4", ImageGather::Square),
    ];
    if let Some((_, shape)) = gathers.into_iter().find(|(gather, _)| name.starts_with(gather)) {
        return sampled(ImageKind::Gather(level, shape));
    }
    match name {
        "get_resinfo" => plain(ImageKind::Size),
        "get_lod" => plain(ImageKind::Level),
        _ => None,
    }
}

impl Lifter {
    pub(super) fn mimg(&mut self, inst: &Inst) -> Lifted {
        let modifiers = inst.modifiers();
        let is_atomic = inst.row().memory.iter().any(|access| access.op == MemOp::Atomic);
        let atomic = if is_atomic { atomic_op(inst.op()) } else { None };
        let Some(op) = operation(inst.row(), modifiers.dmask, atomic) else {
            return Lifted::Unsupported;
        };
        let op = ImageOp {
            half: modifiers.d16 && inst.row().has(Flag::TexelD16, inst.target()),
            short: modifiers.a16,
            array: modifiers.da,
            unnormalised: if modifiers.unorm { 7 } else { 0 },
            ..op
        };
        let [data, address, resource, sampler] =
            [Role::Vdata, Role::Vaddr, Role::Srsrc, Role::Ssamp].map(|role| self.get(inst, role));
        let stored = if op.source_cells() > 0 { data } else { Operand::None };
        let result = match op.kind {
            ImageKind::Store { .. } => Operand::None,
            ImageKind::Atomic(..) if !modifiers.glc => Operand::None,
            _ => data,
        };
        let sources = [address, resource, sampler, stored];
        self.b.push(IrOp::Image(op), [result, Operand::None], sources, Attrs::default());
        // The status of a texture fail enable follows the result: 0, as all texels are resident.
        if modifiers.tfe
            && let Operand::Row(status) = result.dword(op.result_cells())
        {
            self.int(IntOp::Mov, status, [Operand::Const(0), Operand::None, Operand::None]);
        }
        Lifted::Next
    }
}

#[cfg(test)]
mod tests {
    use wavemill_isa::gcn::{Format, Op};

    use super::*;

    #[test]
    fn every_mnemonic_has_an_operation() {
        let mut count = 0;
        for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.format == Format::Mimg) {
            let atomic = row.memory.iter().any(|access| access.op == MemOp::Atomic);
            let channels = if row.name().contains("cmpswap") { 3 } else { 1 };
            let op = operation(row, channels, if atomic { atomic_op(row.op) } else { None });
            assert!(op.is_some_and(|op| op.is_defined()), "{}", row.name());
            count += 1;
        }
        assert_eq!(count, 92);
        let op = operation(Op::ImageSampleCCdClO.row(), 15, None).unwrap();
        assert_eq!(op.to_string(), "sample.coarse.compare.clamp.offset.rgba");
        assert_eq!(op.address_cells(), 12);
    }
}
