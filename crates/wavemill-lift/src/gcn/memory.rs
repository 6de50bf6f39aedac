//! Code shared by the memory formats: types of data, atomics, fences, lane numbers.

use wavemill_ir::{
    AtomicOp, Attrs, CmpPred, FenceScope, FpEnv, IntOp, IntType, LaneMask, MemType, MemoryScope, Op as IrOp,
    Operand, Row, ScalarOp, Space, Status, Width,
};
use wavemill_isa::gcn::{Elem, Flag, Inst, Modifiers, Op, Type};
use wavemill_isa::{CacheWords, Target};

use super::lifter::Lifter;
use super::registers::M0;

/// The memory type of a load or store of this data, with the D16 property of the row.
pub(super) fn memory_type(inst: &Inst, data: Type) -> MemType {
    let (low, high) = (inst.row().has(Flag::D16, inst.target()), inst.row().has(Flag::D16Hi, inst.target()));
    match (data.elem, data.count) {
        (Elem::U8 | Elem::B8, 1) if high => MemType::D16HiU8,
        (Elem::U8 | Elem::B8, 1) if low => MemType::D16U8,
        (Elem::U8 | Elem::B8, 1) => MemType::U8,
        (Elem::I8, 1) if high => MemType::D16HiI8,
        (Elem::I8, 1) if low => MemType::D16I8,
        (Elem::I8, 1) => MemType::I8,
        (Elem::U16 | Elem::B16 | Elem::I16, 1) if high => MemType::D16HiB16,
        (Elem::U16 | Elem::B16 | Elem::I16, 1) if low => MemType::D16B16,
        (Elem::U16 | Elem::B16, 1) => MemType::U16,
        (Elem::I16, 1) => MemType::I16,
        _ => MemType::Dwords(data.dwords()),
    }
}

/// The scope of a memory operation, from its cache bits (AMDGPUUsage, "Memory Model GFX9", "GFX90A"
/// and "GFX942"). On an atomic, GLC and SC0 mean that it returns a value; the atomic runs in the L2
/// cache, which the whole device shares.
pub(super) fn scope(target: Target, op: IrOp, modifiers: &Modifiers) -> MemoryScope {
    let is_atomic = op.signature().effects.atomic;
    match (target.facts().cache_words, modifiers.glc && !is_atomic, modifiers.scc) {
        (_, true, true) | (CacheWords::Policy, _, true) => MemoryScope::System,
        (CacheWords::Scope, _, true) if is_atomic => MemoryScope::System,
        (CacheWords::Scope, false, true) | (CacheWords::Policy, true, false) => MemoryScope::Agent,
        _ if is_atomic => MemoryScope::Agent,
        (CacheWords::Scope, true, false) => MemoryScope::Workgroup,
        (_, false, false) => MemoryScope::Wave,
    }
}

/// The form of a 16-bit load that clears the other half of the register: the load of the whole
/// register, and the operation that follows it.
fn clearing_load(ty: MemType) -> Option<(MemType, Option<(IntOp, u64)>)> {
    Some(match ty {
        MemType::D16U8 => (MemType::U8, None),
        MemType::D16B16 => (MemType::U16, None),
        MemType::D16I8 => (MemType::I8, Some((IntOp::And, 0xffff))),
        MemType::D16HiU8 => (MemType::U8, Some((IntOp::Shl, 16))),
        MemType::D16HiI8 => (MemType::I8, Some((IntOp::Shl, 16))),
        MemType::D16HiB16 => (MemType::U16, Some((IntOp::Shl, 16))),
        _ => return None,
    })
}

/// Width of the memory that an atomic with this data changes.
pub(super) fn atomic_width(data: Type) -> Width {
    if data.elem.bits() == 64 { Width::W64 } else { Width::W32 }
}

/// The operation of a flat, global, buffer, image or scalar memory atomic (Vega ISA 12.6, 12.14 to
/// 12.16, 12.18).
pub(super) fn atomic_op(op: Op) -> Option<AtomicOp> {
    use Op as O;
    /// The integer atomics exist in five families and two widths; those on images have both widths.
    macro_rules! families {
        ($($flat:ident $global:ident $buffer:ident $scalar:ident $scalar_buffer:ident $($image:ident)? => $atomic:ident,)*
         + $($($float:ident)|* => $float_atomic:ident,)*) => {
            match op {
                $(O::$flat | O::$global | O::$buffer | O::$scalar | O::$scalar_buffer $(| O::$image)? => AtomicOp::$atomic,)*
                $($(O::$float)|* => AtomicOp::$float_atomic,)*
                _ => return None,
            }
        };
    }
    Some(families! {
        FlatAtomicSwap GlobalAtomicSwap BufferAtomicSwap SAtomicSwap SBufferAtomicSwap ImageAtomicSwap => Swap,
        FlatAtomicCmpswap GlobalAtomicCmpswap BufferAtomicCmpswap SAtomicCmpswap SBufferAtomicCmpswap ImageAtomicCmpswap => CmpSwap,
        FlatAtomicAdd GlobalAtomicAdd BufferAtomicAdd SAtomicAdd SBufferAtomicAdd ImageAtomicAdd => Add,
        FlatAtomicSub GlobalAtomicSub BufferAtomicSub SAtomicSub SBufferAtomicSub ImageAtomicSub => Sub,
        FlatAtomicSmin GlobalAtomicSmin BufferAtomicSmin SAtomicSmin SBufferAtomicSmin ImageAtomicSmin => MinI,
        FlatAtomicUmin GlobalAtomicUmin BufferAtomicUmin SAtomicUmin SBufferAtomicUmin ImageAtomicUmin => MinU,
        FlatAtomicSmax GlobalAtomicSmax BufferAtomicSmax SAtomicSmax SBufferAtomicSmax ImageAtomicSmax => MaxI,
        FlatAtomicUmax GlobalAtomicUmax BufferAtomicUmax SAtomicUmax SBufferAtomicUmax ImageAtomicUmax => MaxU,
        FlatAtomicAnd GlobalAtomicAnd BufferAtomicAnd SAtomicAnd SBufferAtomicAnd ImageAtomicAnd => And,
        FlatAtomicOr GlobalAtomicOr BufferAtomicOr SAtomicOr SBufferAtomicOr ImageAtomicOr => Or,
        FlatAtomicXor GlobalAtomicXor BufferAtomicXor SAtomicXor SBufferAtomicXor ImageAtomicXor => Xor,
        FlatAtomicInc GlobalAtomicInc BufferAtomicInc SAtomicInc SBufferAtomicInc ImageAtomicInc => IncWrap,
        FlatAtomicDec GlobalAtomicDec BufferAtomicDec SAtomicDec SBufferAtomicDec ImageAtomicDec => DecWrap,
        FlatAtomicSwapX2 GlobalAtomicSwapX2 BufferAtomicSwapX2 SAtomicSwapX2 SBufferAtomicSwapX2 => Swap,
        FlatAtomicCmpswapX2 GlobalAtomicCmpswapX2 BufferAtomicCmpswapX2 SAtomicCmpswapX2 SBufferAtomicCmpswapX2
            => CmpSwap,
        FlatAtomicAddX2 GlobalAtomicAddX2 BufferAtomicAddX2 SAtomicAddX2 SBufferAtomicAddX2 => Add,
        FlatAtomicSubX2 GlobalAtomicSubX2 BufferAtomicSubX2 SAtomicSubX2 SBufferAtomicSubX2 => Sub,
        FlatAtomicSminX2 GlobalAtomicSminX2 BufferAtomicSminX2 SAtomicSminX2 SBufferAtomicSminX2 => MinI,
        FlatAtomicUminX2 GlobalAtomicUminX2 BufferAtomicUminX2 SAtomicUminX2 SBufferAtomicUminX2 => MinU,
        FlatAtomicSmaxX2 GlobalAtomicSmaxX2 BufferAtomicSmaxX2 SAtomicSmaxX2 SBufferAtomicSmaxX2 => MaxI,
        FlatAtomicUmaxX2 GlobalAtomicUmaxX2 BufferAtomicUmaxX2 SAtomicUmaxX2 SBufferAtomicUmaxX2 => MaxU,
        FlatAtomicAndX2 GlobalAtomicAndX2 BufferAtomicAndX2 SAtomicAndX2 SBufferAtomicAndX2 => And,
        FlatAtomicOrX2 GlobalAtomicOrX2 BufferAtomicOrX2 SAtomicOrX2 SBufferAtomicOrX2 => Or,
        FlatAtomicXorX2 GlobalAtomicXorX2 BufferAtomicXorX2 SAtomicXorX2 SBufferAtomicXorX2 => Xor,
        FlatAtomicIncX2 GlobalAtomicIncX2 BufferAtomicIncX2 SAtomicIncX2 SBufferAtomicIncX2 => IncWrap,
        FlatAtomicDecX2 GlobalAtomicDecX2 BufferAtomicDecX2 SAtomicDecX2 SBufferAtomicDecX2 => DecWrap,
        +
        FlatAtomicAddF32 | GlobalAtomicAddF32 | BufferAtomicAddF32 => AddF,
        FlatAtomicPkAddF16 | GlobalAtomicPkAddF16 | BufferAtomicPkAddF16 => PkAddF16,
        FlatAtomicAddF64 | GlobalAtomicAddF64 | BufferAtomicAddF64 => AddF,
        FlatAtomicMinF64 | GlobalAtomicMinF64 | BufferAtomicMinF64 => MinF,
        FlatAtomicMaxF64 | GlobalAtomicMaxF64 | BufferAtomicMaxF64 => MaxF,
        FlatAtomicPkAddBf16 | GlobalAtomicPkAddBf16 | BufferAtomicPkAddBf16 => PkAddBf16,
    })
}

/// The locations in LDS of the lanes of a load to LDS.
#[derive(Clone, Copy, Debug)]
pub(super) struct LdsByLane {
    /// The address of each lane.
    address: Row,
    /// The active lanes whose data fits into LDS. Only these load (Vega ISA 3.11 and 8.1.9, CDNA4 ISA 3.11).
    pub(super) lanes: LaneMask,
}

impl Lifter {
    /// Attributes of an atomic on memory, which does not follow MODE: all atomics keep denormals
    /// except the f32 addition of targets whose facts say so.
    ///
    /// *Modelled*: lanes of a flat atomic that access LDS follow the same rule.
    pub(super) fn memory_atomic_attrs(&self, atomic: AtomicOp, width: Width, offset: i32) -> Attrs {
        let keeps = self.context.target.facts().atomic_f32_keeps_denormals;
        let flushes = atomic == AtomicOp::AddF && width == Width::W32 && !keeps;
        let fp = FpEnv { denorm_in: !flushes, denorm_out: !flushes, ..FpEnv::DEFAULT };
        Attrs { imm: offset, fp, ..Attrs::default() }
    }

    /// A load to registers; `load` pushes the operation for the type that it receives.
    pub(super) fn load(&mut self, ty: MemType, result: Operand, load: impl FnOnce(&mut Self, MemType)) {
        let clearing = if self.context.sramecc { clearing_load(ty) } else { None };
        let (ty, then) = clearing.unwrap_or((ty, None));
        load(self, ty);
        if let (Some((op, by)), Operand::Row(row)) = (then, result) {
            self.int(op, row, [row.into(), Operand::Const(by), Operand::None]);
        }
    }

    /// Orders memory operations.
    pub(super) fn fence(&mut self, scope: FenceScope) {
        self.b.push(IrOp::Fence(scope), [Operand::None; 2], [Operand::None; 4], Attrs::default());
    }

    /// A varying integer operation on plain operands.
    pub(super) fn int(&mut self, op: IntOp, result: Row, sources: [Operand; 3]) {
        let [a, b, c] = sources;
        let result = [result.into(), Operand::None];
        self.b.push(IrOp::Int(op), result, [a, b, c, Operand::None], Attrs::default());
    }

    /// Sets a row to the number of each lane.
    pub(super) fn lane_numbers(&mut self, row: Row) {
        let [all, none] = [u64::from(u32::MAX), 0].map(Operand::Const);
        self.int(IntOp::MaskCountLo, row, [all, none, Operand::None]);
        self.int(IntOp::MaskCountHi, row, [all, row.into(), Operand::None]);
    }

    /// A fresh row with `lane * stride + M0[bits-1:0]` in each lane: the LDS address of loads to LDS and of the DS
    /// instructions without an address register (Vega ISA 8.1.9, 12.13).
    pub(super) fn lane_lds_address(&mut self, stride: u32, bits: u32) -> Row {
        self.lane_lds_address_at(stride, bits, 0)
    }

    /// [`Lifter::lane_lds_address`] plus an offset, modulo 2^32.
    fn lane_lds_address_at(&mut self, stride: u32, bits: u32, offset: i32) -> Row {
        let row = self.b.row_temp(1);
        let base = self.b.uni_temp(1);
        let constant = |value: u32| Operand::Const(u64::from(value));
        let base_bits = [M0.into(), constant((1 << bits) - 1)];
        self.b.scalar(ScalarOp::And, Width::W32, base, &base_bits);
        if offset != 0 {
            self.b.scalar(ScalarOp::AddCarryOut, Width::W32, base, &[base.into(), constant(offset as u32)]);
        }
        self.lane_numbers(row);
        self.int(IntOp::MadU24, row, [row.into(), constant(stride), base.into()]);
        row
    }

    /// Where a load to LDS stores: lane `i` at M0 + `offset` + `i` times the size of the data. Narrow data is extended
    /// to a dword (LLVM gives the store four bytes).
    pub(super) fn lds_by_lane(&mut self, dwords: u16, offset: i32) -> LdsByLane {
        let bytes = 4 * u32::from(dwords);
        let bits = self.context.target.facts().lds_address_bits;
        let address = self.lane_lds_address_at(bytes, bits, offset);
        // The first address at which the data does not fit.
        let end = self.status_of(Status::LdsEnd);
        let constant = |value: u32| Operand::Const(u64::from(value));
        self.b.scalar(ScalarOp::SubBorrowOut, Width::W32, end, &[end.into(), constant(bytes - 1)]);
        self.b.scalar(ScalarOp::MaxI, Width::W32, end, &[end.into(), constant(0)]);
        let lanes = self.b.uni_temp(2);
        let sources = [address.into(), end.into(), Operand::None, Operand::None];
        let compare = IrOp::IntCmp(CmpPred::Lt, IntType::U32);
        self.b.push(compare, [lanes.into(), Operand::None], sources, Attrs::default());
        LdsByLane { address, lanes: LaneMask::Given(lanes) }
    }

    /// The second half of a load to LDS: stores the `dwords` rows at `data`. It tries the lanes without a location,
    /// too, so that engines count what leaves LDS.
    pub(super) fn store_lds_by_lane(&mut self, to: LdsByLane, data: Row, dwords: u16) {
        let op = IrOp::Store(Space::Lds, MemType::Dwords(dwords as u8));
        let sources = [to.address.into(), Operand::None, data.into(), Operand::None];
        self.b.push(op, [Operand::None; 2], sources, Attrs::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AMDGPUUsage, "AMDHSA Memory Model Code Sequences": the bits that compilers set for each scope.
    #[test]
    fn scopes_are_those_that_compilers_mean() {
        let bits = |glc, scc| Modifiers { glc, scc, ..Modifiers::default() };
        let load = IrOp::Load(Space::Global, MemType::Dwords(1));
        let atomic = IrOp::Atomic(AtomicOp::Add, Space::Global, Width::W32);
        use MemoryScope::{Agent, System, Wave, Workgroup};
        use Target::{Gfx90a, Gfx906, Gfx942, Gfx950};
        for (target, op, glc, scc, expected) in [
            (Gfx906, load, false, false, Wave),
            (Gfx906, load, true, false, Agent),
            (Gfx90a, load, true, false, Agent),
            (Gfx90a, load, true, true, System),
            (Gfx942, load, false, false, Wave),
            (Gfx942, load, true, false, Workgroup),
            (Gfx942, load, false, true, Agent),
            (Gfx950, load, true, true, System),
            // GLC and SC0 of an atomic: it returns a value.
            (Gfx906, atomic, false, false, Agent),
            (Gfx906, atomic, true, false, Agent),
            (Gfx942, atomic, false, false, Agent),
            (Gfx942, atomic, true, false, Agent),
            (Gfx942, atomic, false, true, System),
            (Gfx942, atomic, true, true, System),
        ] {
            assert_eq!(scope(target, op, &bits(glc, scc)), expected, "{target} {op:?} {glc} {scc}");
        }
    }
}
