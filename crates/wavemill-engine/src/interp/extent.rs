//! How many rows the operands of an operation take.

use wavemill_ir::{AtomicOp, Inst, IntType, LaneOp, Op, Space, Width};

use super::Tier;
use super::float;

/// Rows of the operands of an operation that are rows; of no meaning for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    /// Of the results.
    pub dst: [u16; 2],
    /// Of the sources.
    pub src: [u16; 4],
}

/// Rows of an integer of the type.
pub(super) fn int_rows(ty: IntType) -> u16 {
    match ty {
        IntType::I64 | IntType::U64 => 2,
        IntType::I16 | IntType::U16 | IntType::I32 | IntType::U32 => 1,
    }
}

/// Rows of the address of a load, store or atomic.
fn address_rows(inst: &Inst, space: Space) -> u16 {
    let wide = match space {
        Space::Global | Space::Flat => inst.src[1].is_none(),
        Space::Lds | Space::Scratch => false,
    };
    if wide { Width::W64.dwords() } else { Width::W32.dwords() }
}

impl Extent {
    /// The extent of an operation.
    pub(super) fn of(inst: &Inst, tier: Tier) -> Extent {
        let value = |dst: u16, src: [u16; 3]| Extent { dst: [dst, 0], src: [src[0], src[1], src[2], 1] };
        match inst.op {
            Op::Load(space, ty) => {
                Extent { dst: [ty.dwords(), 0], src: [address_rows(inst, space), 0, 0, 0] }
            }
            Op::Store(space, ty) => {
                Extent { dst: [0; 2], src: [address_rows(inst, space), 0, ty.dwords(), 0] }
            }
            Op::Atomic(_, space, width) => {
                let n = width.dwords();
                Extent { dst: [n, 0], src: [address_rows(inst, space), 0, n, n] }
            }
            Op::BufferLoad(ty, addr) => Extent {
                dst: [ty.dwords(), 0],
                src: [u16::from(addr.idxen) + u16::from(addr.offen), 0, 0, 0],
            },
            Op::BufferStore(ty, addr) => Extent {
                dst: [0; 2],
                src: [u16::from(addr.idxen) + u16::from(addr.offen), 0, 0, ty.dwords()],
            },
            Op::BufferAtomic(op, width, addr) => {
                let n = width.dwords();
                let data = if op == AtomicOp::CmpSwap { 2 * n } else { n };
                Extent { dst: [n, 0], src: [u16::from(addr.idxen) + u16::from(addr.offen), 0, 0, data] }
            }
            Op::Int(op) => value(op.result_dwords(), op.source_dwords()),
            Op::IntCmp(_, ty) => value(0, [int_rows(ty); 3]),
            Op::Float(..) | Op::FloatCmp(..) | Op::FloatClass(_) | Op::Cvt(_) => float::plan(inst, tier)
                .map_or(value(1, [1; 3]), |plan| {
                    value(plan.result.dwords, plan.sources.map(|source| source.dwords))
                }),
            Op::FormatCvt(cvt) => {
                let n = cvt.source_dwords();
                value(cvt.result_dwords(), [n, n, 1])
            }
            Op::Lane(LaneOp::Swap | LaneOp::Permlane16Swap | LaneOp::Permlane32Swap) => {
                Extent { dst: [1; 2], src: [0; 4] }
            }
            Op::Transpose(bits) => {
                let n = Op::transposed_rows(bits);
                value(n, [n, 0, 0])
            }
            Op::Lane(_) | Op::LdsAppend(_) => value(1, [1; 3]),
            // Which VGPRs these touch shows when they run.
            Op::IndexedRead(n) => value(u16::from(n), [0; 3]),
            Op::IndexedWrite(n) => value(0, [u16::from(n), 0, 0]),
            Op::Scalar(..)
            | Op::ScalarCmp(..)
            | Op::ScalarLoad(_)
            | Op::ScalarBufferLoad(_)
            | Op::ScalarStore(_)
            | Op::Fence(_)
            | Op::ReadStatus(_)
            | Op::WriteStatus(_)
            | Op::Message
            | Op::MoveRelSource(_)
            | Op::MoveRelDest(_)
            | Op::LdsDirect => Extent::default(),
        }
    }
}
