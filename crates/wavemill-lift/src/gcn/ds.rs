//! DS instructions (Vega ISA 12.13, addresses in 10).

use wavemill_ir::{
    AtomicOp, Attrs, CounterOp, FpEnv, IntOp, LaneOp, LanePattern, MemType, Op as IrOp, Operand, Row, Space,
    SyncOp, Width,
};
use wavemill_isa::gcn::{Inst, MemOp, Op, OperandSpec, Role};

use super::lifter::{Lifted, Lifter};
use super::memory::{atomic_width, memory_type};
use super::registers::M0;

/// The unit of the offsets of ST64 forms, in elements.
const ST64: i32 = 64;

/// The operation of an LDS atomic with one address, as `memory op data`. The rows define which ones
/// have data and results.
fn atomic(op: Op) -> Option<AtomicOp> {
    use Op as O;
    Some(match op {
        O::DsAddU32 | O::DsAddRtnU32 | O::DsAddU64 | O::DsAddRtnU64 => AtomicOp::Add,
        O::DsSubU32 | O::DsSubRtnU32 | O::DsSubU64 | O::DsSubRtnU64 => AtomicOp::Sub,
        O::DsRsubU32 | O::DsRsubRtnU32 | O::DsRsubU64 | O::DsRsubRtnU64 => AtomicOp::Rsub,
        O::DsIncU32 | O::DsIncRtnU32 | O::DsIncU64 | O::DsIncRtnU64 => AtomicOp::IncWrap,
        O::DsDecU32 | O::DsDecRtnU32 | O::DsDecU64 | O::DsDecRtnU64 => AtomicOp::DecWrap,
        O::DsMinI32 | O::DsMinRtnI32 | O::DsMinI64 | O::DsMinRtnI64 => AtomicOp::MinI,
        O::DsMaxI32 | O::DsMaxRtnI32 | O::DsMaxI64 | O::DsMaxRtnI64 => AtomicOp::MaxI,
        O::DsMinU32 | O::DsMinRtnU32 | O::DsMinU64 | O::DsMinRtnU64 => AtomicOp::MinU,
        O::DsMaxU32 | O::DsMaxRtnU32 | O::DsMaxU64 | O::DsMaxRtnU64 => AtomicOp::MaxU,
        O::DsAndB32 | O::DsAndRtnB32 | O::DsAndB64 | O::DsAndRtnB64 => AtomicOp::And,
        O::DsOrB32 | O::DsOrRtnB32 | O::DsOrB64 | O::DsOrRtnB64 => AtomicOp::Or,
        O::DsXorB32 | O::DsXorRtnB32 | O::DsXorB64 | O::DsXorRtnB64 => AtomicOp::Xor,
        O::DsMskorB32 | O::DsMskorRtnB32 | O::DsMskorB64 | O::DsMskorRtnB64 => AtomicOp::MaskOr,
        O::DsWrxchgRtnB32 | O::DsWrxchgRtnB64 => AtomicOp::Swap,
        O::DsCmpstB32 | O::DsCmpstRtnB32 | O::DsCmpstB64 | O::DsCmpstRtnB64 => AtomicOp::CmpSwap,
        O::DsCmpstF32 | O::DsCmpstRtnF32 | O::DsCmpstF64 | O::DsCmpstRtnF64 => AtomicOp::CmpSwapF,
        O::DsMinF32 | O::DsMinRtnF32 | O::DsMinF64 | O::DsMinRtnF64 => AtomicOp::MinF,
        O::DsMaxF32 | O::DsMaxRtnF32 | O::DsMaxF64 | O::DsMaxRtnF64 => AtomicOp::MaxF,
        O::DsAddF32 | O::DsAddRtnF32 | O::DsAddF64 | O::DsAddRtnF64 => AtomicOp::AddF,
        O::DsPkAddF16 | O::DsPkAddRtnF16 => AtomicOp::PkAddF16,
        O::DsPkAddBf16 | O::DsPkAddRtnBf16 => AtomicOp::PkAddBf16,
        O::DsWrapRtnB32 => AtomicOp::Wrap,
        _ => return None,
    })
}

/// The data share that an instruction accesses.
#[derive(Clone, Copy)]
struct Share {
    space: Space,
    /// The base of addresses: for the global data share, M0.
    base: Operand,
}

impl Share {
    fn of(inst: &Inst) -> Share {
        match inst.modifiers().gds {
            true => Share { space: Space::Gds, base: M0.into() },
            false => Share { space: Space::Lds, base: Operand::None },
        }
    }
}

/// The operation of global wave sync.
fn sync(op: Op) -> Option<SyncOp> {
    Some(match op {
        Op::DsGwsInit => SyncOp::Init,
        Op::DsGwsBarrier => SyncOp::Barrier,
        Op::DsGwsSemaV => SyncOp::Raise,
        Op::DsGwsSemaBr => SyncOp::RaiseBy,
        Op::DsGwsSemaP => SyncOp::Lower,
        Op::DsGwsSemaReleaseAll => SyncOp::ReleaseAll,
        _ => return None,
    })
}

/// Whether a wave may have to wait at the instruction. Such an instruction begins a block, so that
/// a wave that waits is at the beginning of one.
pub(super) fn may_wait(op: Op) -> bool {
    op == Op::DsOrderedCount || sync(op).is_some_and(SyncOp::may_wait)
}

/// The operation of an LDS atomic that reads its data from another LDS address (`None`: a plain
/// store), and its width.
fn source_in_lds(op: Op) -> Option<(Option<AtomicOp>, Width)> {
    use Op as O;
    let (atomic, width) = match op {
        O::DsAddSrc2U32 => (AtomicOp::Add, Width::W32),
        O::DsSubSrc2U32 => (AtomicOp::Sub, Width::W32),
        O::DsRsubSrc2U32 => (AtomicOp::Rsub, Width::W32),
        O::DsIncSrc2U32 => (AtomicOp::IncWrap, Width::W32),
        O::DsDecSrc2U32 => (AtomicOp::DecWrap, Width::W32),
        O::DsMinSrc2I32 => (AtomicOp::MinI, Width::W32),
        O::DsMaxSrc2I32 => (AtomicOp::MaxI, Width::W32),
        O::DsMinSrc2U32 => (AtomicOp::MinU, Width::W32),
        O::DsMaxSrc2U32 => (AtomicOp::MaxU, Width::W32),
        O::DsAndSrc2B32 => (AtomicOp::And, Width::W32),
        O::DsOrSrc2B32 => (AtomicOp::Or, Width::W32),
        O::DsXorSrc2B32 => (AtomicOp::Xor, Width::W32),
        O::DsWriteSrc2B32 => return Some((None, Width::W32)),
        O::DsMinSrc2F32 => (AtomicOp::MinF, Width::W32),
        O::DsMaxSrc2F32 => (AtomicOp::MaxF, Width::W32),
        O::DsAddSrc2F32 => (AtomicOp::AddF, Width::W32),
        O::DsAddSrc2U64 => (AtomicOp::Add, Width::W64),
        O::DsSubSrc2U64 => (AtomicOp::Sub, Width::W64),
        O::DsRsubSrc2U64 => (AtomicOp::Rsub, Width::W64),
        O::DsIncSrc2U64 => (AtomicOp::IncWrap, Width::W64),
        O::DsDecSrc2U64 => (AtomicOp::DecWrap, Width::W64),
        O::DsMinSrc2I64 => (AtomicOp::MinI, Width::W64),
        O::DsMaxSrc2I64 => (AtomicOp::MaxI, Width::W64),
        O::DsMinSrc2U64 => (AtomicOp::MinU, Width::W64),
        O::DsMaxSrc2U64 => (AtomicOp::MaxU, Width::W64),
        O::DsAndSrc2B64 => (AtomicOp::And, Width::W64),
        O::DsOrSrc2B64 => (AtomicOp::Or, Width::W64),
        O::DsXorSrc2B64 => (AtomicOp::Xor, Width::W64),
        O::DsWriteSrc2B64 => return Some((None, Width::W64)),
        O::DsMinSrc2F64 => (AtomicOp::MinF, Width::W64),
        O::DsMaxSrc2F64 => (AtomicOp::MaxF, Width::W64),
        _ => return None,
    };
    Some((Some(atomic), width))
}

impl Lifter {
    pub(super) fn ds(&mut self, inst: &Inst) -> Lifted {
        let modifiers = inst.modifiers();
        if let Some(sync) = sync(inst.op()) {
            return self.ds_sync(inst, sync);
        }
        // There is no memory to access (CDNA2 ISA 1.3).
        if modifiers.gds && !self.context.target.facts().gds {
            return Lifted::Unsupported;
        }
        match inst.op() {
            Op::DsNop => Lifted::Next,
            Op::DsWrite2B32 | Op::DsWrite2B64 => self.ds_write2(inst, 1),
            Op::DsWrite2st64B32 | Op::DsWrite2st64B64 => self.ds_write2(inst, ST64),
            Op::DsRead2B32 | Op::DsRead2B64 => self.ds_read2(inst, 1),
            Op::DsRead2st64B32 | Op::DsRead2st64B64 => self.ds_read2(inst, ST64),
            Op::DsWrxchg2RtnB32 | Op::DsWrxchg2RtnB64 => self.ds_exchange2(inst, 1),
            Op::DsWrxchg2st64RtnB32 | Op::DsWrxchg2st64RtnB64 => self.ds_exchange2(inst, ST64),
            Op::DsWriteAddtidB32 => {
                let address = self.ds_lane_address(inst).into();
                self.ds_store(inst, address, Role::Data0, modifiers.offset)
            }
            Op::DsReadAddtidB32 => {
                let address = self.ds_lane_address(inst).into();
                self.ds_load(inst, address)
            }
            Op::DsSwizzleB32 => self.ds_swizzle(inst),
            Op::DsPermuteB32 => self.ds_lane(inst, LaneOp::Permute),
            Op::DsBpermuteB32 => self.ds_lane(inst, LaneOp::BackPermute),
            Op::DsCondxchg32RtnB64 => self.ds_conditional_exchange(inst),
            Op::DsConsume => self.ds_append(inst, CounterOp::Consume),
            Op::DsAppend => self.ds_append(inst, CounterOp::Append),
            Op::DsOrderedCount => self.ds_ordered_count(inst),
            op => {
                if let Some(atomic) = atomic(op) {
                    return self.ds_atomic(inst, atomic);
                }
                if let Some((atomic, width)) = source_in_lds(op) {
                    return self.ds_source_in_lds(inst, atomic, width);
                }
                let address = self.get(inst, Role::Addr);
                match inst.row().memory.first().map(|access| access.op) {
                    Some(MemOp::Load) if inst.row().operand(Role::Vdst).is_some_and(is_transposed) => {
                        self.ds_transposed(inst, address)
                    }
                    Some(MemOp::Load) => self.ds_load(inst, address),
                    Some(MemOp::Store) => self.ds_store(inst, address, Role::Data0, modifiers.offset),
                    _ => Lifted::Unsupported,
                }
            }
        }
    }

    fn ds_load(&mut self, inst: &Inst, address: Operand) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Vdst) else { return Lifted::Unsupported };
        let result = self.get(inst, Role::Vdst);
        let share = Share::of(inst);
        self.ds_load_dwords(share, memory_type(inst, spec.ty), result, address, inst.modifiers().offset);
        Lifted::Next
    }

    /// A load whose elements go to other lanes.
    ///
    /// *Modelled*: the manual defines which part of a matrix a pair of these loads reads (CDNA4 ISA
    /// 11.4), not which element goes to which lane. This layout fits both the MFMA layouts and the
    /// code of compilers: 16 lanes load the rows of a matrix of 16 columns one after the other, and
    /// lane `n` of them gets column `n`.
    fn ds_transposed(&mut self, inst: &Inst, address: Operand) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Vdst) else { return Lifted::Unsupported };
        let (bits, dwords) = (spec.ty.elem.bits() as u8, spec.ty.dwords());
        let result = self.get(inst, Role::Vdst);
        let loaded = self.b.row_temp(dwords.into());
        let (share, offset) = (Share::of(inst), inst.modifiers().offset);
        self.ds_load_dwords(share, MemType::Dwords(dwords), loaded.into(), address, offset);
        let sources = [loaded.into(), Operand::None, Operand::None, Operand::None];
        self.b.push(IrOp::Transpose(bits), [result, Operand::None], sources, Attrs::default());
        Lifted::Next
    }

    fn ds_store(&mut self, inst: &Inst, address: Operand, data: Role, offset: i32) -> Lifted {
        let Some(spec) = inst.row().operand(data) else { return Lifted::Unsupported };
        let value = self.get(inst, data);
        let Share { space, base } = Share::of(inst);
        let op = IrOp::Store(space, memory_type(inst, spec.ty));
        let sources = [address, base, value, Operand::None];
        self.b.push(op, [Operand::None; 2], sources, Self::imm(offset));
        Lifted::Next
    }

    /// A load from a data share.
    fn ds_load_dwords(&mut self, share: Share, ty: MemType, result: Operand, address: Operand, offset: i32) {
        let sources = [address, share.base, Operand::None, Operand::None];
        self.load(ty, result, |lifter, ty| {
            let op = IrOp::Load(share.space, ty);
            lifter.b.push(op, [result, Operand::None], sources, Self::imm(offset));
        });
    }

    /// The byte offsets of an instruction with two offsets; the fields count elements of the data,
    /// or units of 64 elements.
    fn two_offsets(inst: &Inst, dwords: u16, unit: i32) -> [i32; 2] {
        let modifiers = inst.modifiers();
        let bytes = 4 * i32::from(dwords) * unit;
        [modifiers.offset * bytes, i32::from(modifiers.offset1) * bytes]
    }

    /// Two stores. With equal offsets only the first one happens (CDNA 3 ISA 11.2).
    fn ds_write2(&mut self, inst: &Inst, unit: i32) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Data0) else { return Lifted::Unsupported };
        let offsets = Self::two_offsets(inst, u16::from(spec.ty.dwords()), unit);
        let address = self.get(inst, Role::Addr);
        let first = self.ds_store(inst, address, Role::Data0, offsets[0]);
        if offsets[0] == offsets[1] {
            return first;
        }
        self.ds_store(inst, address, Role::Data1, offsets[1])
    }

    /// Two loads into the halves of the result; the half that holds the address is loaded last.
    fn ds_read2(&mut self, inst: &Inst, unit: i32) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Vdst) else { return Lifted::Unsupported };
        let dwords = u16::from(spec.ty.dwords()) / 2;
        let offsets = Self::two_offsets(inst, dwords, unit);
        let (result, address) = (self.get(inst, Role::Vdst), self.get(inst, Role::Addr));
        let ty = MemType::Dwords(dwords as u8);
        let mut order = [(result, offsets[0]), (result.dword(dwords), offsets[1])];
        if overlap(result, dwords, address, 1) {
            order.reverse();
        }
        for (half, offset) in order {
            self.ds_load_dwords(Share::of(inst), ty, half, address, offset);
        }
        Lifted::Next
    }

    /// Two exchanges. The first old value waits in a temporary while the second exchange needs the registers.
    fn ds_exchange2(&mut self, inst: &Inst, unit: i32) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Data0) else { return Lifted::Unsupported };
        let width = atomic_width(spec.ty);
        let dwords = width.dwords();
        let offsets = Self::two_offsets(inst, dwords, unit);
        let [result, address, first, second] =
            [Role::Vdst, Role::Addr, Role::Data0, Role::Data1].map(|role| self.get(inst, role));
        let kept = self.b.row_temp(dwords);
        for (old, data, offset) in
            [(kept.into(), first, offsets[0]), (result.dword(dwords), second, offsets[1])]
        {
            let Share { space, base } = Share::of(inst);
            let op = IrOp::Atomic(AtomicOp::Swap, space, width);
            let sources = [address, base, data, Operand::None];
            self.b.push(op, [old, Operand::None], sources, Self::imm(offset));
        }
        if let Operand::Row(result) = result {
            let op = if dwords == 2 { IntOp::Mov64 } else { IntOp::Mov };
            self.int(op, result, [kept.into(), Operand::None, Operand::None]);
        }
        Lifted::Next
    }

    /// The compare-and-stores compare with DATA0 and store DATA1: the reverse of flat and buffer atomics. Float
    /// operations in LDS obey the denormal mode.
    fn ds_atomic(&mut self, inst: &Inst, atomic: AtomicOp) -> Lifted {
        let Some(spec) = inst.row().operand(Role::Data0) else { return Lifted::Unsupported };
        let width = atomic_width(spec.ty);
        let [result, address, data0, data1] =
            [Role::Vdst, Role::Addr, Role::Data0, Role::Data1].map(|role| self.get(inst, role));
        let (data, second) = match atomic {
            AtomicOp::CmpSwap | AtomicOp::CmpSwapF => (data1, data0),
            _ => (data0, data1),
        };
        let attrs = self.lds_atomic_attrs(atomic, width, inst.modifiers().offset);
        let Share { space, base } = Share::of(inst);
        let op = IrOp::Atomic(atomic, space, width);
        self.b.push(op, [result, Operand::None], [address, base, data, second], attrs);
        Lifted::Next
    }

    /// Of MODE, float atomics in LDS follow only the denormal fields; bf16 follows the f32 ones
    /// (*modelled*).
    fn lds_atomic_attrs(&self, atomic: AtomicOp, width: Width, offset: i32) -> Attrs {
        let single = width == Width::W32 && atomic != AtomicOp::PkAddF16;
        let mode = if single { self.fp32() } else { self.fp16_64() };
        let fp = FpEnv { denorm_in: mode.denorm_in, denorm_out: mode.denorm_out, ..FpEnv::DEFAULT };
        Attrs { imm: offset, fp, ..Attrs::default() }
    }

    /// Each dword of the data whose bit 31 is set replaces its dword in memory, without that bit;
    /// the address is aligned to the pair. This is a masked OR whose masks are the sign bits spread
    /// out.
    fn ds_conditional_exchange(&mut self, inst: &Inst) -> Lifted {
        let [result, register, data] = [Role::Vdst, Role::Addr, Role::Data0].map(|role| self.get(inst, role));
        let (address, masks, values) = (self.b.row_temp(1), self.b.row_temp(2), self.b.row_temp(2));
        let constant = |bits: u32| Operand::Const(u64::from(bits));
        let offset = constant(inst.modifiers().offset as u32);
        self.int(IntOp::Add, address, [register, offset, Operand::None]);
        self.int(IntOp::And, address, [address.into(), constant(!7), Operand::None]);
        for n in 0..2 {
            let (mask, value) = (masks.plus(n), values.plus(n));
            self.int(IntOp::Sar, mask, [data.dword(n), constant(31), Operand::None]);
            self.int(IntOp::And, value, [data.dword(n), constant(0x7fff_ffff), Operand::None]);
            self.int(IntOp::And, value, [value.into(), mask.into(), Operand::None]);
        }
        let Share { space, base } = Share::of(inst);
        let op = IrOp::Atomic(AtomicOp::MaskOr, space, Width::W64);
        let sources = [address.into(), base, masks.into(), values.into()];
        self.b.push(op, [result, Operand::None], sources, Attrs::default());
        Lifted::Next
    }

    /// An atomic at address A with the data at B, or a store of B's data at A. B is A plus a signed number of dwords:
    /// the low 15 bits of the offset field, or, if its top bit is set, bits 31:17 of the address register, and then
    /// only bits 16:0 are A (Vega ISA 10.3).
    fn ds_source_in_lds(&mut self, inst: &Inst, atomic: Option<AtomicOp>, width: Width) -> Lifted {
        let register = self.get(inst, Role::Addr);
        let field = inst.modifiers().offset as u32;
        let (a, b, distance) = if field & 0x8000 != 0 {
            let (a, b) = (self.b.row_temp(1), self.b.row_temp(1));
            self.int(IntOp::And, a, [register, Operand::Const(0x1_ffff), Operand::None]);
            self.int(IntOp::Sar, b, [register, Operand::Const(17), Operand::None]);
            self.int(IntOp::ShlAdd, b, [b.into(), Operand::Const(2), a.into()]);
            (a.into(), b.into(), 0)
        } else {
            (register, register, ((field << 17) as i32 >> 17) * 4)
        };
        let dwords = width.dwords();
        let data = self.b.row_temp(dwords);
        let ty = MemType::Dwords(dwords as u8);
        let share = Share::of(inst);
        self.ds_load_dwords(share, ty, data.into(), b, distance);
        let sources = [a, share.base, data.into(), Operand::None];
        let (op, attrs) = match atomic {
            Some(atomic) => {
                let attrs = self.lds_atomic_attrs(atomic, width, 0);
                (IrOp::Atomic(atomic, share.space, width), attrs)
            }
            None => (IrOp::Store(share.space, ty), Attrs::default()),
        };
        self.b.push(op, [Operand::None; 2], sources, attrs);
        Lifted::Next
    }

    /// A permutation by a pattern, which is in the offset field. Its data is the address operand.
    fn ds_swizzle(&mut self, inst: &Inst) -> Lifted {
        let [result, data] = [Role::Vdst, Role::Addr].map(|role| self.get(inst, role));
        let op = IrOp::Swizzle(swizzle_pattern(inst.modifiers().offset as u16));
        let sources = [data, Operand::None, Operand::None, Operand::None];
        self.b.push(op, [result, Operand::None], sources, Attrs::default());
        Lifted::Next
    }

    /// Movement between lanes; it accesses no memory.
    fn ds_lane(&mut self, inst: &Inst, op: LaneOp) -> Lifted {
        let [result, address, data] = [Role::Vdst, Role::Addr, Role::Data0].map(|role| self.get(inst, role));
        let attrs = Self::imm(inst.modifiers().offset);
        self.b.push(
            IrOp::Lane(op),
            [result, Operand::None],
            [address, data, Operand::None, Operand::None],
            attrs,
        );
        Lifted::Next
    }

    /// A fresh row with the address of the instructions without an address register: 4 times the
    /// lane number plus the low half of M0. In the global data share, M0 is the base.
    fn ds_lane_address(&mut self, inst: &Inst) -> Row {
        match Share::of(inst).space {
            Space::Gds => {
                let row = self.b.row_temp(1);
                self.lane_numbers(row);
                self.int(IntOp::Shl, row, [row.into(), Operand::Const(2), Operand::None]);
                row
            }
            _ => self.lane_lds_address(4, 16),
        }
    }

    fn ds_append(&mut self, inst: &Inst, op: CounterOp) -> Lifted {
        let result = self.get(inst, Role::Vdst);
        let attrs = Self::imm(inst.modifiers().offset);
        let op = IrOp::Counter(op, Share::of(inst).space);
        self.b.push(op, [result, Operand::None], [M0.into()], attrs);
        Lifted::Next
    }

    /// Global wave sync: the resource is M0[21:16] plus the offset, modulo 64 (Vega ISA 12.13; LLVM,
    /// `SelectDS_GWS`, has the part of M0 that the manual lacks).
    fn ds_sync(&mut self, inst: &Inst, op: SyncOp) -> Lifted {
        let datum = self.get(inst, Role::Addr);
        let attrs = Self::imm(inst.modifiers().offset & 0x3f);
        self.b.push(IrOp::Sync(op), [Operand::None; 2], [M0.into(), datum], attrs);
        Lifted::Next
    }

    /// The ordered count. M0 has the address of the counter in its upper half and the number of the
    /// wave in the order in its lower one. The first offset is the number of the order times 4, and
    /// is added to the address. Of the second offset, bit 0 ends the wave's turn, and bit 4 is set if
    /// the counter is swapped, not added to (LLVM, `llvm.amdgcn.ds.ordered.add` and
    /// `llvm.amdgcn.ds.ordered.swap`).
    ///
    /// *Modelled*: waves are numbered in the order of launch.
    fn ds_ordered_count(&mut self, inst: &Inst) -> Lifted {
        let [result, datum] = [Role::Vdst, Role::Addr].map(|role| self.get(inst, role));
        let offset = inst.modifiers().offset;
        let order = Self::imm(offset >> 2 & 3);
        let bit = |n: u32| offset >> (8 + n) & 1 != 0;
        self.b.push(IrOp::Sync(SyncOp::Turn), [Operand::None; 2], [M0.into()], order);
        let counter = if bit(4) { CounterOp::Swap } else { CounterOp::Add };
        let counter = IrOp::Counter(counter, Space::Gds);
        let attrs = Self::imm(offset & 0xff);
        self.b.push(counter, [result, Operand::None], [M0.into(), datum], attrs);
        if bit(0) {
            self.b.push(IrOp::Sync(SyncOp::Pass), [Operand::None; 2], [M0.into()], order);
        }
        Lifted::Next
    }
}

/// The permutation that the offset of `ds_swizzle_b32` names (Vega ISA 12.13, DS_SWIZZLE_B32).
fn swizzle_pattern(offset: u16) -> LanePattern {
    let five = |shift: u32| (offset >> shift) as u8 & 0x1f;
    match offset {
        0xe000.. => LanePattern::BitReverse { keep: five(0) },
        0xc000.. => {
            let amount = five(5) as i8;
            LanePattern::RotateMasked {
                keep: five(0),
                by: if offset & 0x400 != 0 { -amount } else { amount },
            }
        }
        0x8000.. => LanePattern::Quad(std::array::from_fn(|n| (offset >> (2 * n)) as u8 & 3)),
        _ => LanePattern::Masked { and: five(0), or: five(5), xor: five(10) },
    }
}

/// Whether a load distributes elements to other lanes: only loads of several sub-dword elements do.
fn is_transposed(result: &OperandSpec) -> bool {
    result.ty.count > 1 && result.ty.elem.bits() < 32
}

/// Whether two runs of rows overlap.
fn overlap(a: Operand, a_rows: u16, b: Operand, b_rows: u16) -> bool {
    match (a, b) {
        (Operand::Row(Row(a)), Operand::Row(Row(b))) => a < b + b_rows && b < a + a_rows,
        _ => false,
    }
}
