//! Accesses of the lanes to guest memory and LDS.

use iced_x86::Code;
use wavemill_ir::{Inst, LaneMask, MemType, Op, Operand, Space};
use wavemill_machine::registers::RegisterCounts;

use super::atomic::Update;
use super::form::Form;
use super::is_plain;
use crate::emit::Emitter;
use crate::unit::cells;

/// Where the lanes access memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    /// Guest memory at a 64-bit address in two rows.
    Pair { low: u32, high: u32 },
    /// Guest memory at an offset in a row, from a base in a pair of cells.
    Offset { row: u32, base: u32 },
    /// LDS at an address in a row.
    Lds { row: u32 },
}

impl Address {
    /// Its rows.
    fn rows(self) -> impl Iterator<Item = u32> {
        let (first, second) = match self {
            Address::Pair { low, high } => (low, Some(high)),
            Address::Offset { row, .. } | Address::Lds { row } => (row, None),
        };
        [Some(first), second].into_iter().flatten()
    }
}

/// An access of the lanes to dwords.
#[derive(Clone, Debug)]
pub(crate) struct LaneAccess {
    pub address: Address,
    pub offset: i32,
    /// Rows with the dwords; of an atomic, those that receive the old ones, if it has a result.
    pub data: Vec<u32>,
    /// What an atomic does.
    pub atomic: Option<Update>,
    pub is_store: bool,
    /// Bytes of each lane, if they are less than a dword, and whether a load extends their sign.
    pub narrow: Option<(u32, bool)>,
    /// How the lanes are known to access memory if all are active.
    pub form: Option<Form>,
    all_lanes: bool,
}

impl LaneAccess {
    /// Bytes of each lane.
    pub(super) fn size(&self) -> u32 {
        match (self.narrow, self.atomic) {
            (Some((bytes, _)), _) => bytes,
            (None, Some(update)) => 4 * u32::from(update.width.dwords()),
            (None, None) => 4 * self.data.len() as u32,
        }
    }

    /// Rows that it reads.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let data = if self.is_store { &self.data[..] } else { &[] };
        let atomic = self.atomic.into_iter().flat_map(Update::rows);
        self.address.rows().chain(data.iter().copied()).chain(atomic).collect()
    }

    /// Rows that it writes.
    pub(crate) fn results(&self) -> &[u32] {
        if self.is_store { &[] } else { &self.data }
    }
}

/// The dwords of an element, and the bytes of one that is less than a dword and whether a load extends their sign. `None`
/// if inline code does not move them.
pub(super) fn dwords_of(ty: MemType) -> Option<(u8, Option<(u32, bool)>)> {
    Some(match ty {
        MemType::Dwords(n) => (n, None),
        MemType::U8 => (1, Some((1, false))),
        MemType::I8 => (1, Some((1, true))),
        MemType::U16 => (1, Some((2, false))),
        MemType::I16 => (1, Some((2, true))),
        _ => return None,
    })
}

/// The instruction that loads a dword, or so many bytes with or without their sign.
pub(super) const fn narrow_load(narrow: Option<(u32, bool)>) -> Code {
    match narrow {
        None => Code::Mov_r32_rm32,
        Some((1, false)) => Code::Movzx_r32_rm8,
        Some((1, true)) => Code::Movsx_r32_rm8,
        Some((_, false)) => Code::Movzx_r32_rm16,
        Some((_, true)) => Code::Movsx_r32_rm16,
    }
}

/// The access of an operation that inline code does; `None` if the interpreter does it.
pub(crate) fn lane_access(inst: &Inst, counts: RegisterCounts) -> Option<LaneAccess> {
    let (space, ty, is_store, what) = match inst.op {
        Op::Load(space, ty) => (space, ty, false, None),
        Op::Store(space, ty) => (space, ty, true, None),
        Op::Atomic(op, space, width) => {
            (space, MemType::Dwords(width.dwords() as u8), false, Some((op, width)))
        }
        _ => return None,
    };
    let (dwords, narrow) = dwords_of(ty)?;
    let all_lanes = match inst.mask {
        LaneMask::Active => false,
        LaneMask::All => true,
        LaneMask::Given(_) => return None,
    };
    if !is_plain(inst) {
        return None;
    }
    let rows = |operand: Operand, n: u16| match operand {
        Operand::Row(row) if counts.has(row, n) => {
            (0..n).map(|k| counts.offset(row.plus(k))).collect::<Option<Vec<u32>>>()
        }
        _ => None,
    };
    let address = match (space, inst.src[1]) {
        (Space::Global | Space::Flat, Operand::None) => {
            let rows = rows(inst.src[0], 2)?;
            Address::Pair { low: rows[0], high: rows[1] }
        }
        (Space::Global | Space::Flat, base) => {
            Address::Offset { row: rows(inst.src[0], 1)?[0], base: cells(base, 2, counts)? }
        }
        (Space::Lds, Operand::None) => Address::Lds { row: rows(inst.src[0], 1)?[0] },
        _ => return None,
    };
    let data = match if is_store { inst.src[2] } else { inst.dst[0] } {
        Operand::None if what.is_some() => Vec::new(),
        operand => rows(operand, dwords.into())?,
    };
    let atomic = match what {
        Some((op, width)) => {
            let first = |operand: Operand| Some(rows(operand, dwords.into())?[0]);
            let second = match inst.src[3] {
                Operand::None => None,
                operand => Some(first(operand)?),
            };
            Some(Update::new(op, width, first(inst.src[2])?, second)?)
        }
        None => None,
    };
    Some(LaneAccess {
        address,
        offset: inst.attrs.imm,
        data,
        atomic,
        is_store,
        narrow,
        form: None,
        all_lanes,
    })
}

impl Emitter<'_> {
    /// Emits an access of lanes. Returns whether there were enough registers.
    pub(in crate::emit) fn lane_access(&mut self, access: &LaneAccess, at: usize) -> bool {
        let masked = !access.all_lanes && !self.full;
        if masked {
            self.load_masks();
        }
        if let (false, Some(form)) = (masked, &access.form) {
            return self.formed(access, form, at);
        }
        let Some((data, pinned)) =
            self.data_groups(&access.sources(), &access.data, at, access.is_store || masked)
        else {
            return false;
        };
        let Some(offsets) = self.group(at, pinned) else { return false };
        if let Some(update) = access.atomic {
            // One lane after the other accesses them there.
            access.data.iter().copied().chain(update.rows()).for_each(|row| self.bring_home(row));
        }
        let refused = self.handler_labels();
        let before = self.rows.clone();
        // Three dwords of each lane are no vectors.
        if masked || data.len() == 3 || access.atomic.is_some() {
            self.lanes_apart(access, at, &data, offsets, masked, refused);
        } else {
            let apart = self.asm.label();
            self.consecutive(access, at, &data, apart);
            let access = access.clone();
            let (groups, rows, version) = (data.clone(), self.rows.clone(), self.version);
            let back = refused.back;
            self.later.push(Box::new(move |e| {
                (e.rows, e.version) = (rows, version);
                e.asm.bind(apart);
                e.lanes_apart(&access, at, &groups, offsets, false, refused);
                e.asm.jump(Code::Jmp_rel32_64, back);
            }));
        }
        self.asm.bind(refused.back);
        let results = access.results().iter().copied().zip(data.iter().copied()).collect();
        self.handler_later(at, refused, before, results);
        for (row, group) in access.results().iter().zip(data) {
            self.rows.hold(group, *row, true);
        }
        true
    }
}
