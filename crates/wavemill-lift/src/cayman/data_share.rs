//! Accesses to the data shares: LDS and the global data share have the same operations (HD 6900 ISA
//! 8.5, 8.6, table 8.11).
//!
//! Addresses count bytes, and their bits below the size of the datum are ignored. Offsets count
//! dwords.

use wavemill_ir::{
    AtomicOp, Attrs, CmpPred, IntOp, IntType, MemType, Op as IrOp, Operand, Row as IrRow, ScalarOp, Space,
    Uni, Width,
};
use wavemill_isa::cayman::Op;

use super::BOUNDED_SHARE;
use super::lifter::Lifter;
use super::masks::ACTIVE;
use super::registers::SHARE_SIZE;

pub(super) const DWORD: MemType = MemType::Dwords(1);

/// What an instruction does. Sources are an address, and then data unless noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read(MemType),
    Write(MemType),
    /// An atomic operation.
    Atomic(AtomicOp),
    /// The same with a mask or a comparand before the datum.
    Atomic2(AtomicOp),
    /// Reads two dwords that are the offset apart.
    ReadApart,
    /// Writes two dwords that are the offset times a number apart.
    WriteApart(i32),
    /// The same, and returns the old values.
    ExchangeApart(i32),
    /// Reads at two addresses.
    ReadTwo,
    /// Reads at one address, and writes at another.
    ReadWrite,
}

impl Access {
    /// Number of values that it can return.
    pub(super) const fn results(self) -> u32 {
        match self {
            Access::ReadApart | Access::ExchangeApart(_) | Access::ReadTwo => 2,
            Access::Write(_) | Access::WriteApart(_) => 0,
            Access::Read(_) | Access::Atomic(_) | Access::Atomic2(_) | Access::ReadWrite => 1,
        }
    }
}

/// The access of an instruction.
pub(super) const fn access(op: Op) -> Option<Access> {
    use Access::{Atomic, Atomic2, ExchangeApart, Read, ReadApart, ReadTwo, ReadWrite, Write, WriteApart};
    Some(match op {
        Op::LdsAdd | Op::GdsAdd | Op::LdsAddRet | Op::GdsAddRet => Atomic(AtomicOp::Add),
        Op::LdsSub | Op::GdsSub | Op::LdsSubRet | Op::GdsSubRet => Atomic(AtomicOp::Sub),
        Op::LdsRsub | Op::GdsRsub | Op::LdsRsubRet | Op::GdsRsubRet => Atomic(AtomicOp::Rsub),
        Op::LdsInc | Op::GdsInc | Op::LdsIncRet | Op::GdsIncRet => Atomic(AtomicOp::IncWrap),
        Op::LdsDec | Op::GdsDec | Op::LdsDecRet | Op::GdsDecRet => Atomic(AtomicOp::DecWrap),
        Op::LdsMinInt | Op::GdsMinInt | Op::LdsMinIntRet | Op::GdsMinIntRet => Atomic(AtomicOp::MinI),
        Op::LdsMaxInt | Op::GdsMaxInt | Op::LdsMaxIntRet | Op::GdsMaxIntRet => Atomic(AtomicOp::MaxI),
        Op::LdsMinUint | Op::GdsMinUint | Op::LdsMinUintRet | Op::GdsMinUintRet => Atomic(AtomicOp::MinU),
        Op::LdsMaxUint | Op::GdsMaxUint | Op::LdsMaxUintRet | Op::GdsMaxUintRet => Atomic(AtomicOp::MaxU),
        Op::LdsAnd | Op::GdsAnd | Op::LdsAndRet | Op::GdsAndRet => Atomic(AtomicOp::And),
        Op::LdsOr | Op::GdsOr | Op::LdsOrRet | Op::GdsOrRet => Atomic(AtomicOp::Or),
        Op::LdsXor | Op::GdsXor | Op::LdsXorRet | Op::GdsXorRet => Atomic(AtomicOp::Xor),
        Op::LdsXchgRet | Op::GdsXchgRet => Atomic(AtomicOp::Swap),
        Op::LdsMskor | Op::GdsMskor | Op::LdsMskorRet | Op::GdsMskorRet => Atomic2(AtomicOp::MaskOr),
        Op::LdsCmpStore | Op::GdsCmpStore | Op::LdsCmpXchgRet | Op::GdsCmpXchgRet => {
            Atomic2(AtomicOp::CmpSwap)
        }
        Op::LdsCmpStoreSpf | Op::GdsCmpStoreSpf | Op::LdsCmpXchgSpfRet | Op::GdsCmpXchgSpfRet => {
            Atomic2(AtomicOp::CmpSwapF)
        }
        Op::LdsWrite | Op::GdsWrite => Write(DWORD),
        Op::LdsByteWrite | Op::GdsByteWrite => Write(MemType::U8),
        Op::LdsShortWrite | Op::GdsShortWrite => Write(MemType::U16),
        Op::LdsReadRet | Op::GdsReadRet => Read(DWORD),
        Op::LdsByteReadRet | Op::GdsByteReadRet => Read(MemType::I8),
        Op::LdsUbyteReadRet | Op::GdsUbyteReadRet => Read(MemType::U8),
        Op::LdsShortReadRet | Op::GdsShortReadRet => Read(MemType::I16),
        Op::LdsUshortReadRet | Op::GdsUshortReadRet => Read(MemType::U16),
        Op::LdsReadRelRet | Op::GdsReadRelRet => ReadApart,
        Op::LdsWriteRel | Op::GdsWriteRel => WriteApart(1),
        Op::LdsWrite2 | Op::GdsWrite2 => WriteApart(64),
        Op::LdsXchgRelRet | Op::GdsXchgRelRet => ExchangeApart(1),
        Op::LdsXchg2Ret | Op::GdsXchg2Ret => ExchangeApart(64),
        Op::LdsRead2Ret | Op::GdsRead2Ret => ReadTwo,
        Op::LdsReadwriteRet | Op::GdsReadwriteRet => ReadWrite,
        _ => return None,
    })
}

/// A data share, and the uniform operand that says which part of it a wave may access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) space: Space,
    pub(super) base: Operand,
}

impl Share {
    pub(super) const LDS: Share = Share { space: Space::Lds, base: Operand::None };
    /// All of it.
    pub(super) const GDS: Share = Share { space: Space::Gds, base: Operand::None };
}

impl Lifter<'_, '_> {
    /// Appends an access with these sources and this offset. The values that it returns go to the
    /// rows `results`; an atomic operation returns the old value only if `returns`.
    pub(super) fn share_access(
        &mut self,
        share: Share,
        access: Access,
        sources: [Operand; 3],
        offset: u32,
        results: [IrRow; 2],
        returns: bool,
    ) {
        let [first, second, third] = sources;
        let [result, second_result] = results;
        let imm = 4 * offset as i32;
        let old = if returns { result.into() } else { Operand::None };
        match access {
            Access::Read(ty) => {
                let address = self.share_address(first, ty.bytes());
                self.share_load(share, ty, result, address, imm);
            }
            Access::Write(ty) => {
                let address = self.share_address(first, ty.bytes());
                self.share_store(share, ty, address, second, imm);
            }
            Access::Atomic(op) => {
                let address = self.share_address(first, 4);
                self.share_atomic(share, op, old, address, [second, Operand::None], imm);
            }
            Access::Atomic2(op) => {
                let address = self.share_address(first, 4);
                // MSKOR has the mask first; the others have the comparand second.
                let data = if op == AtomicOp::MaskOr { [second, third] } else { [third, second] };
                self.share_atomic(share, op, old, address, data, imm);
            }
            Access::ReadApart => {
                let address = self.share_address(first, 4);
                self.share_load(share, DWORD, result, address, 0);
                self.share_load(share, DWORD, second_result, address, imm);
            }
            Access::WriteApart(scale) => {
                let address = self.share_address(first, 4);
                self.share_store(share, DWORD, address, second, 0);
                self.share_store(share, DWORD, address, third, imm * scale);
            }
            Access::ExchangeApart(scale) => {
                let address = self.share_address(first, 4);
                let none = Operand::None;
                self.share_atomic(share, AtomicOp::Swap, result.into(), address, [second, none], 0);
                let data = [third, none];
                self.share_atomic(share, AtomicOp::Swap, second_result.into(), address, data, imm * scale);
            }
            Access::ReadTwo => {
                let addresses = [first, second].map(|source| self.share_address(source, 4));
                for (result, address) in results.into_iter().zip(addresses) {
                    self.share_load(share, DWORD, result, address, imm);
                }
            }
            Access::ReadWrite => {
                let [from, to] = [first, second].map(|source| self.share_address(source, 4));
                self.share_load(share, DWORD, result, from, imm);
                self.share_store(share, DWORD, to, third, imm);
            }
        }
    }

    /// The address of a datum of some bytes.
    pub(super) fn share_address(&mut self, source: Operand, bytes: u32) -> Operand {
        if bytes == 1 {
            return source;
        }
        let address = self.b.row_temp(1);
        let mask = Operand::Const(u64::from(!(bytes - 1)));
        self.push(IrOp::Int(IntOp::And), address, &[source, mask], Attrs::default());
        address.into()
    }

    /// Leaves only lanes active whose datum is in LDS as SET_LDS_SIZE has made it: its first byte is.
    /// Gives the lanes that were active before, and those that are; `None` if the size is not set.
    fn lanes_in_share(&mut self, share: Share, address: Operand, imm: i32) -> Option<[Uni; 2]> {
        if share.space != Space::Lds || self.context & BOUNDED_SHARE == 0 {
            return None;
        }
        let (first, lanes, inside) = (self.b.row_temp(1), self.b.uni_temp(2), self.b.uni_temp(2));
        let offset = Operand::Const(u64::from(imm as u32));
        self.push(IrOp::Int(IntOp::Add), first, &[address, offset], Attrs::default());
        let below = IrOp::IntCmp(CmpPred::Lt, IntType::U32);
        self.push(below, inside, &[first.into(), SHARE_SIZE.into()], Attrs::default());
        self.copy_mask(lanes, ACTIVE);
        self.copy_mask(ACTIVE, inside);
        Some([lanes, inside])
    }

    /// Makes the value 0 in the lanes that an access has left out, and the others active again.
    fn all_lanes(&mut self, masks: Option<[Uni; 2]>, value: Operand) {
        let Some([lanes, inside]) = masks else { return };
        if let Operand::Row(row) = value {
            self.scalar64(ScalarOp::AndNot, ACTIVE, &[lanes.into(), inside.into()]);
            self.copy(row, Operand::Const(0));
        }
        self.copy_mask(ACTIVE, lanes);
    }

    /// Loads a datum.
    pub(super) fn share_load(
        &mut self,
        share: Share,
        ty: MemType,
        result: IrRow,
        address: Operand,
        imm: i32,
    ) {
        let attrs = Attrs { imm, ..Attrs::default() };
        let masks = self.lanes_in_share(share, address, imm);
        self.push(IrOp::Load(share.space, ty), result, &[address, share.base], attrs);
        self.all_lanes(masks, result.into());
    }

    pub(super) fn share_store(
        &mut self,
        share: Share,
        ty: MemType,
        address: Operand,
        data: Operand,
        imm: i32,
    ) {
        let attrs = Attrs { imm, ..Attrs::default() };
        let masks = self.lanes_in_share(share, address, imm);
        self.push(IrOp::Store(share.space, ty), Operand::None, &[address, share.base, data], attrs);
        self.all_lanes(masks, Operand::None);
    }

    fn share_atomic(
        &mut self,
        share: Share,
        op: AtomicOp,
        old: Operand,
        address: Operand,
        [first, second]: [Operand; 2],
        imm: i32,
    ) {
        let attrs = Attrs { imm, fp: self.fp, ..Attrs::default() };
        let atomic = IrOp::Atomic(op, share.space, Width::W32);
        let masks = self.lanes_in_share(share, address, imm);
        self.push(atomic, old, &[address, share.base, first, second], attrs);
        self.all_lanes(masks, old);
    }
}
