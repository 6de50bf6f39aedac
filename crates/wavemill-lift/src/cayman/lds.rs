//! Accesses to LDS (HD 6900 ISA 7.3, 8.6).
//!
//! Addresses count bytes, and their bits below the size of the datum are ignored. IDX_OFFSET counts
//! dwords. Loaded and old values go to the queues.

use wavemill_ir::{AtomicOp, Attrs, IntOp, MemType, Op as IrOp, Operand, Row as IrRow, Space, Width};
use wavemill_isa::cayman::{FieldId as F, Flag, Group, Op};

use super::alu::Slot;
use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::queue::Queues;

const DWORD: MemType = MemType::Dwords(1);

/// What an instruction does. Sources are an address, and then data unless noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Read(MemType),
    Write(MemType),
    /// An atomic operation; the old value goes to queue A if the row says so.
    Atomic(AtomicOp),
    /// The same with a mask or a comparand before the datum.
    Atomic2(AtomicOp),
    /// Reads two dwords that are IDX_OFFSET apart.
    ReadApart,
    /// Writes two dwords that are IDX_OFFSET times a number of dwords apart.
    WriteApart(i32),
    /// The same, and the old values go to the queues.
    ExchangeApart(i32),
    /// Reads at two addresses.
    ReadTwo,
    /// Reads at one address, and writes at another.
    ReadWrite,
}

/// The access of an instruction.
const fn access(op: Op) -> Option<Access> {
    use Access::{Atomic, Atomic2, ExchangeApart, Read, ReadApart, ReadTwo, ReadWrite, Write, WriteApart};
    Some(match op {
        Op::LdsAdd | Op::LdsAddRet => Atomic(AtomicOp::Add),
        Op::LdsSub | Op::LdsSubRet => Atomic(AtomicOp::Sub),
        Op::LdsRsub | Op::LdsRsubRet => Atomic(AtomicOp::Rsub),
        Op::LdsInc | Op::LdsIncRet => Atomic(AtomicOp::IncWrap),
        Op::LdsDec | Op::LdsDecRet => Atomic(AtomicOp::DecWrap),
        Op::LdsMinInt | Op::LdsMinIntRet => Atomic(AtomicOp::MinI),
        Op::LdsMaxInt | Op::LdsMaxIntRet => Atomic(AtomicOp::MaxI),
        Op::LdsMinUint | Op::LdsMinUintRet => Atomic(AtomicOp::MinU),
        Op::LdsMaxUint | Op::LdsMaxUintRet => Atomic(AtomicOp::MaxU),
        Op::LdsAnd | Op::LdsAndRet => Atomic(AtomicOp::And),
        Op::LdsOr | Op::LdsOrRet => Atomic(AtomicOp::Or),
        Op::LdsXor | Op::LdsXorRet => Atomic(AtomicOp::Xor),
        Op::LdsXchgRet => Atomic(AtomicOp::Swap),
        Op::LdsMskor | Op::LdsMskorRet => Atomic2(AtomicOp::MaskOr),
        Op::LdsCmpStore | Op::LdsCmpXchgRet => Atomic2(AtomicOp::CmpSwap),
        Op::LdsCmpStoreSpf | Op::LdsCmpXchgSpfRet => Atomic2(AtomicOp::CmpSwapF),
        Op::LdsWrite => Write(DWORD),
        Op::LdsByteWrite => Write(MemType::U8),
        Op::LdsShortWrite => Write(MemType::U16),
        Op::LdsReadRet => Read(DWORD),
        Op::LdsByteReadRet => Read(MemType::I8),
        Op::LdsUbyteReadRet => Read(MemType::U8),
        Op::LdsShortReadRet => Read(MemType::I16),
        Op::LdsUshortReadRet => Read(MemType::U16),
        Op::LdsReadRelRet => ReadApart,
        Op::LdsWriteRel => WriteApart(1),
        Op::LdsWrite2 => WriteApart(64),
        Op::LdsXchgRelRet => ExchangeApart(1),
        Op::LdsXchg2Ret => ExchangeApart(64),
        Op::LdsRead2Ret => ReadTwo,
        Op::LdsReadwriteRet => ReadWrite,
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// An access to LDS. Results go to the queues, behind their last entries.
    pub(super) fn lds_access(&mut self, slot: &Slot, queues: Queues) -> Result<(), Refused> {
        let access = access(slot.inst.op()).ok_or(UNSUPPORTED)?;
        let [first, second, third] = slot.sources;
        let dwords = slot.inst.get(F::IdxOffset) as i32;
        let [queue_a, queue_b] = [0, 1].map(|queue| queues.tail(queue));
        let returns = slot.inst.row().has(Flag::PushesA);
        let old = if returns { queue_a.into() } else { Operand::None };
        match access {
            Access::Read(ty) => {
                let address = self.lds_address(first, ty.bytes());
                self.lds_load(ty, queue_a, address, 4 * dwords);
            }
            Access::Write(ty) => {
                let address = self.lds_address(first, ty.bytes());
                self.lds_store(ty, address, second, 4 * dwords);
            }
            Access::Atomic(op) => {
                let address = self.lds_address(first, 4);
                self.lds_atomic(op, old, address, [second, Operand::None], 4 * dwords);
            }
            Access::Atomic2(op) => {
                let address = self.lds_address(first, 4);
                // MSKOR has the mask first; the others have the comparand second.
                let data = if op == AtomicOp::MaskOr { [second, third] } else { [third, second] };
                self.lds_atomic(op, old, address, data, 4 * dwords);
            }
            Access::ReadApart => {
                let address = self.lds_address(first, 4);
                self.lds_load(DWORD, queue_a, address, 0);
                self.lds_load(DWORD, queue_b, address, 4 * dwords);
            }
            Access::WriteApart(scale) => {
                let address = self.lds_address(first, 4);
                self.lds_store(DWORD, address, second, 0);
                self.lds_store(DWORD, address, third, 4 * dwords * scale);
            }
            Access::ExchangeApart(scale) => {
                let address = self.lds_address(first, 4);
                let none = Operand::None;
                self.lds_atomic(AtomicOp::Swap, queue_a.into(), address, [second, none], 0);
                let imm = 4 * dwords * scale;
                self.lds_atomic(AtomicOp::Swap, queue_b.into(), address, [third, none], imm);
            }
            Access::ReadTwo => {
                let addresses = [first, second].map(|source| self.lds_address(source, 4));
                for (queue, address) in [queue_a, queue_b].into_iter().zip(addresses) {
                    self.lds_load(DWORD, queue, address, 4 * dwords);
                }
            }
            Access::ReadWrite => {
                let [from, to] = [first, second].map(|source| self.lds_address(source, 4));
                self.lds_load(DWORD, queue_a, from, 4 * dwords);
                self.lds_store(DWORD, to, third, 4 * dwords);
            }
        }
        Ok(())
    }

    /// The address of a datum of some bytes.
    fn lds_address(&mut self, source: Operand, bytes: u32) -> Operand {
        if bytes == 1 {
            return source;
        }
        let address = self.b.row_temp(1);
        let mask = Operand::Const(u64::from(!(bytes - 1)));
        self.push(IrOp::Int(IntOp::And), address, &[source, mask], Attrs::default());
        address.into()
    }

    fn lds_load(&mut self, ty: MemType, result: IrRow, address: Operand, imm: i32) {
        let attrs = Attrs { imm, ..Attrs::default() };
        self.push(IrOp::Load(Space::Lds, ty), result, &[address], attrs);
    }

    fn lds_store(&mut self, ty: MemType, address: Operand, data: Operand, imm: i32) {
        let attrs = Attrs { imm, ..Attrs::default() };
        self.push(IrOp::Store(Space::Lds, ty), Operand::None, &[address, Operand::None, data], attrs);
    }

    fn lds_atomic(&mut self, op: AtomicOp, old: Operand, address: Operand, data: [Operand; 2], imm: i32) {
        let attrs = Attrs { imm, fp: self.fp, ..Attrs::default() };
        let [first, second] = data;
        let atomic = IrOp::Atomic(op, Space::Lds, Width::W32);
        self.push(atomic, old, &[address, Operand::None, first, second], attrs);
    }

    /// A direct read of LDS, whose address has a stride from lane to lane (HD 6900 ISA 7.3.1).
    pub(super) fn direct_read(&mut self, group: &Group, bus: u8) -> Result<Operand, Refused> {
        let read = group.direct_read().ok_or(UNSUPPORTED)?;
        let [offset, stride, relative] = match bus {
            0 => [F::OffsetA, F::StrideA, F::ThreadRelA],
            _ => [F::OffsetB, F::StrideB, F::ThreadRelB],
        }
        .map(|field| read.field(field).unwrap_or(0));
        // The manual does not say what THREAD_REL does.
        if relative != 0 {
            return Err(UNSUPPORTED);
        }
        let address = self.b.row_temp(1);
        if stride == 0 {
            self.copy(address, Operand::Const(0));
        } else {
            let all = Operand::Const(u32::MAX.into());
            let counts = [(IntOp::MaskCountLo, Operand::Const(0)), (IntOp::MaskCountHi, address.into())];
            for (count, sum) in counts {
                self.push(IrOp::Int(count), address, &[all, sum], Attrs::default());
            }
            let bytes = Operand::Const(u64::from(4 * stride));
            self.push(IrOp::Int(IntOp::MulU24), address, &[address.into(), bytes], Attrs::default());
        }
        self.lds_load(DWORD, address, address.into(), 4 * offset as i32);
        Ok(address.into())
    }
}
