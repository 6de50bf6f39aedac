//! Detects kernels that read their global offset from the wrong hidden argument.
//!
//! libclc (as of LLVM 22) reads the global offset of dimension `d` as dword `1 + d` of the hidden
//! arguments. Up to code object version 4 the hidden arguments begin with the offsets, 64 bits
//! each. libclc then reads the upper half of X, the lower half of Y and the upper half of Y: the
//! right value for Y only, and 0 for X and Z. From version 5 on they begin with the number of
//! workgroups in X, Y and Z. Global ids then begin at the number of workgroups in Y, most often 1
//! (AMDGPUUsage, "Code Object V4 Metadata" and "V5 Metadata"). The kernel runs as its compiler
//! built it; this module only makes a warning possible.
//!
//! The analysis follows sums through optimised code: each register holds a sum of known values with
//! coefficients, modulo 2³². A global id with the wrong offset is the sum of the wrong dword, the
//! id of the work-item in the workgroup, and the product of the workgroup's number and the
//! workgroup size from the dispatch packet, all with the same coefficient. Unoptimised code calls
//! libclc's functions by name.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::OnceLock;

use wavemill_ir::{Block, Inst, IntOp, MemType, Op, Operand, ScalarOp, Space, Terminator, Uni, Width};
use wavemill_machine::{Registers, WaveInit as _};
use wavemill_object::ValueKind;

use super::entry_skip;
use super::state::{InitialState, initial_mode};
use crate::module::Kernel;
use crate::registers;
use crate::traps::TrapSetup;

/// A kernel reads a global offset from the wrong hidden argument.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # let object = given::built("faults/offset.co")?;
/// # let kernel = wavemill::Module::load(&given::device()?, &object)?.kernel("offset_x")?;
/// // `kernel` calls get_global_id(0), and clang linked it with libclc of LLVM 22.
/// let misread = kernel.misread_global_offset([0, 0, 0]).ok_or("the kernel reads the right arguments")?;
/// assert_eq!(misread.dimension, 0);
/// if misread.block_count {
///     eprintln!("warning: global ids begin at the number of workgroups");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisreadOffset {
    /// The dimension, 0 to 2.
    pub dimension: usize,
    /// Whether the kernel reads the number of workgroups (code object version 5 and later), so that
    /// all global ids are wrong. Up to version 4 it reads half of an offset, and is wrong where
    /// that half differs from the offset.
    pub block_count: bool,
    /// Up to version 4: what the kernel reads in place of the offset.
    pub reads: Option<u64>,
    /// Whether the kernel certainly reads the offset of this dimension. Unoptimised code may hide
    /// which dimensions it requests.
    pub is_certain: bool,
}

/// The values that libclc reads as the offset of each dimension, where 64-bit offsets come first.
fn halves(offset: [u64; 3]) -> [u64; 3] {
    let dwords = offset.map(|offset| [offset & u64::from(u32::MAX), offset >> 32]);
    let dwords = dwords.as_flattened();
    [dwords[1], dwords[2], dwords[3]]
}

/// libclc functions that read the offset, as they appear in unoptimised code.
const FUNCTIONS: [&str; 2] = ["_Z13get_global_idj", "_Z17get_global_offsetj"];

/// Most IR operations to examine, so that no kernel takes longer than a few milliseconds.
const MOST_OPERATIONS: usize = 1 << 17;

/// Most terms of a sum to keep.
const MOST_TERMS: usize = 12;

/// Bytes of the dispatch packet before the workgroup sizes, which are 16 bits each (HSA Runtime
/// 2.9.6, `hsa_kernel_dispatch_packet_t`).
const PACKET_SIZES: u32 = 4;

/// A value of known origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Atom {
    /// The dword at this offset of the kernel's arguments.
    Argument(u32),
    /// Lower halves of two addresses: the kernel's arguments and the dispatch packet.
    Arguments,
    Packet,
    /// The dword at this offset of the dispatch packet.
    PacketDword(u32),
    /// Size of a workgroup in a dimension.
    Size(u8),
    /// Number of the workgroup in a dimension.
    Workgroup(u8),
    /// Number of the workgroup times its size.
    Span(u8),
    /// Id of the work-item in its workgroup.
    Item(u8),
    /// All three ids in one register, 10 bits each, shifted right by this many bits.
    PackedItems(i8),
    /// The result of operation number `.1` of the block at address `.0`.
    Value(u64, u32),
}

/// A sum of atoms with coefficients, and a constant, modulo 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    terms: Vec<(Atom, u32)>,
    constant: u32,
}

impl Sum {
    fn constant(constant: u32) -> Sum {
        Sum { terms: Vec::new(), constant }
    }

    fn atom(atom: Atom) -> Sum {
        Sum { terms: vec![(atom, 1)], constant: 0 }
    }

    fn coefficient(&self, atom: Atom) -> u32 {
        self.terms.iter().find(|(own, _)| *own == atom).map_or(0, |(_, factor)| *factor)
    }

    fn as_constant(&self) -> Option<u32> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom and its coefficient, if there is nothing else.
    fn single(&self) -> Option<(Atom, u32)> {
        match self.terms[..] {
            [term] if self.constant == 0 => Some(term),
            _ => None,
        }
    }

    /// The offset from an address.
    fn offset_from(&self, base: Atom) -> Option<u32> {
        (self.terms == [(base, 1)]).then_some(self.constant)
    }

    /// `self + factor * other`; `None` if it has too many terms.
    fn plus(mut self, other: &Sum, factor: u32) -> Option<Sum> {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (atom, own) in &other.terms {
            let more = own.wrapping_mul(factor);
            match self.terms.iter_mut().find(|(known, _)| known == atom) {
                Some((_, coefficient)) => *coefficient = coefficient.wrapping_add(more),
                None => self.terms.push((*atom, more)),
            }
        }
        self.terms.retain(|(_, coefficient)| *coefficient != 0);
        self.terms.sort_unstable();
        (self.terms.len() <= MOST_TERMS).then_some(self)
    }

    fn times(&self, factor: u32) -> Option<Sum> {
        Sum::default().plus(self, factor)
    }

    /// The product, if it is a sum or the size of all workgroups before this one.
    fn product(&self, other: &Sum) -> Option<Sum> {
        if let Some(factor) = self.as_constant() {
            return other.times(factor);
        }
        if let Some(factor) = other.as_constant() {
            return self.times(factor);
        }
        let ((one, a), (two, b)) = (self.single()?, other.single()?);
        match (one, two) {
            (Atom::Workgroup(d), Atom::Size(size)) | (Atom::Size(size), Atom::Workgroup(d)) if d == size => {
                Sum::atom(Atom::Span(d)).times(a.wrapping_mul(b))
            }
            _ => None,
        }
    }

    /// The value shifted to the right.
    fn shifted_right(&self, by: u32) -> Option<Sum> {
        if let Some(constant) = self.as_constant() {
            return Some(Sum::constant(constant >> by));
        }
        match self.single()? {
            (Atom::PackedItems(already), 1) => {
                Some(Sum::atom(Atom::PackedItems(already.checked_add(by as i8)?)))
            }
            // The sizes in X and Y share a dword.
            (Atom::PacketDword(PACKET_SIZES), 1) if by == 16 => Some(Sum::atom(Atom::Size(1))),
            _ => None,
        }
    }

    /// The bits of the value that the mask keeps.
    fn masked(&self, mask: u32) -> Option<Sum> {
        if let Some(constant) = self.as_constant() {
            return Some(Sum::constant(constant & mask));
        }
        let (low, width) = (mask.trailing_zeros(), mask.count_ones());
        match self.single()? {
            (Atom::PacketDword(at), 1)
                if mask == 0xffff && (at == PACKET_SIZES || at == PACKET_SIZES + 4) =>
            {
                Some(Sum::atom(Atom::Size(if at == PACKET_SIZES { 0 } else { 2 })))
            }
            // Exactly one ten-bit field.
            (Atom::PackedItems(shift), 1) if width == 10 && mask.checked_shr(low) == Some(0x3ff) => {
                item(i32::from(shift) + low as i32)?.times(1 << low)
            }
            // An id on its own has no other bits.
            (Atom::Item(_), factor) if factor.is_power_of_two() => {
                (mask & (0x3ff * factor) == 0x3ff * factor).then(|| self.clone())
            }
            _ => None,
        }
    }
}

/// The id of the work-item that begins at this bit of the packed ids.
fn item(bit: i32) -> Option<Sum> {
    matches!(bit, 0 | 10 | 20).then(|| Sum::atom(Atom::Item((bit / 10) as u8)))
}

/// Known values of registers: the cells of the wave, and rows from [`FIRST_ROW`] on.
type State = HashMap<u16, Sum>;

const FIRST_ROW: u16 = 1 << 10;

fn cell(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Uni(cell) => Some(cell.0),
        Operand::Row(row) => Some(FIRST_ROW + row.0),
        _ => None,
    }
}

/// Follows the operations of one block.
struct Follow<'a> {
    state: State,
    /// Address of the block and number of the operation, which name values.
    at: (u64, u32),
    /// Called with every computed sum.
    seen: &'a mut dyn FnMut(&Sum),
}

impl Follow<'_> {
    /// The value of an operand; a new atom if it is unknown.
    fn get(&self, inst: &Inst, source: usize) -> Sum {
        match inst.src[source] {
            Operand::Const(value) => Sum::constant(value as u32),
            operand => {
                let known = cell(operand).and_then(|cell| self.state.get(&cell)).cloned();
                // The atom includes the operand's number.
                known.unwrap_or_else(|| Sum::atom(Atom::Value(self.at.0, self.at.1 * 8 + 1 + source as u32)))
            }
        }
    }

    /// A constant operand.
    fn number(&self, inst: &Inst, source: usize) -> Option<u32> {
        self.get(inst, source).as_constant()
    }

    /// Sets the cells of a result; cells without a value become unknown.
    fn set(&mut self, result: Operand, cells: u16, values: &[Option<Sum>]) {
        let Some(first) = cell(result) else { return };
        for n in 0..cells {
            match values.get(usize::from(n)).cloned().flatten() {
                Some(sum) => {
                    (self.seen)(&sum);
                    self.state.insert(first + n, sum);
                }
                None => _ = self.state.remove(&(first + n)),
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let named = Some(Sum::atom(Atom::Value(self.at.0, self.at.1 * 8)));
        let plain = inst.attrs.is_plain();
        match inst.op {
            Op::Scalar(op, width) => {
                let low = self.scalar(op, width, inst).or(named);
                let high = self.high_of_move(inst, op == ScalarOp::Mov && width == Width::W64);
                self.set(inst.dst[0], inst.result_dwords(0), &[low, high]);
            }
            Op::Int(op) => {
                let low = if plain { self.int(op, inst) } else { None };
                let high = self.high_of_move(inst, plain && op == IntOp::Mov64);
                self.set(inst.dst[0], inst.result_dwords(0), &[low.or(named), high]);
            }
            Op::Lane(wavemill_ir::LaneOp::ReadFirstLane) => {
                let value = self.get(inst, 0);
                self.set(inst.dst[0], 1, &[Some(value)]);
            }
            Op::ScalarLoad(dwords) => {
                let address = self.scalar_address(inst);
                self.load(inst, u16::from(dwords), address);
            }
            Op::Load(space, ty) => {
                let address = match (space, ty) {
                    (Space::Global | Space::Flat, MemType::Dwords(_)) => self.address(inst),
                    _ => None,
                };
                self.load(inst, ty.dwords(), address);
            }
            Op::ScalarBufferLoad(dwords) => self.load(inst, u16::from(dwords), None),
            Op::BufferLoad(ty, _) => self.load(inst, ty.dwords(), None),
            Op::BufferLoadTexel(texel, _) => self.load(inst, texel.dwords(), None),
            Op::IntCmp(..) if plain => {
                // Compilers compare an id with a number by subtracting them.
                if let Some(difference) = self.get(inst, 0).plus(&self.get(inst, 1), u32::MAX) {
                    (self.seen)(&difference);
                }
                self.set(inst.dst[0], 2, &[]);
            }
            Op::IndexedWrite(_) | Op::LaneIndexedWrite(_) | Op::MoveRelDest(..) => self.state.clear(),
            _ => self.set(inst.dst[0], inst.result_dwords(0), &[named]),
        }
        self.set(inst.dst[1], inst.result_dwords(1), &[]);
    }

    /// The upper half of the value that a 64-bit move moves.
    fn high_of_move(&self, inst: &Inst, moves: bool) -> Option<Sum> {
        if !moves {
            return None;
        }
        match inst.src[0] {
            Operand::Const(value) => Some(Sum::constant((value >> 32) as u32)),
            operand => self.state.get(&(cell(operand)? + 1)).cloned(),
        }
    }

    /// The lower half of a scalar result.
    fn scalar(&mut self, op: ScalarOp, width: Width, inst: &Inst) -> Option<Sum> {
        use ScalarOp as S;
        let (a, b) = (self.get(inst, 0), self.get(inst, 1));
        let narrow = width == Width::W32;
        match op {
            S::Mov => Some(a),
            S::AddCarryOut | S::AddOverflow => a.plus(&b, 1),
            S::SubBorrowOut | S::SubOverflow => a.plus(&b, u32::MAX),
            S::Mul => a.product(&b),
            S::Shl => shifted_left(&a, b.as_constant()?, width),
            S::ShlAdd => shifted_left(&a, inst.attrs.imm as u32, width)?.plus(&b, 1),
            S::And => masked(&a, &b),
            S::Or => self.alternative(&a, &b),
            S::Shr if narrow => a.shifted_right(b.as_constant()? % 32),
            // Offset in the lower bits of the second source, width in 22:16.
            S::BfeU if narrow => {
                let field = b.as_constant()?;
                a.shifted_right(field % 32)?.masked(1u32.checked_shl(field >> 16 & 0x7f)?.wrapping_sub(1))
            }
            _ => None,
        }
    }

    /// A test whether a sum without negative terms is zero may OR the terms. Other results of OR
    /// are unknown.
    fn alternative(&mut self, a: &Sum, b: &Sum) -> Option<Sum> {
        (self.seen)(&a.clone().plus(b, 1)?);
        None
    }

    /// The lower half of a lane result.
    fn int(&mut self, op: IntOp, inst: &Inst) -> Option<Sum> {
        use IntOp as I;
        let [a, b, c] = [0, 1, 2].map(|source| self.get(inst, source));
        let shift = |source: usize| self.number(inst, source);
        match op {
            I::Mov | I::Mov64 => Some(a),
            I::Add | I::AddI | I::AddCo => a.plus(&b, 1),
            I::Sub | I::SubI | I::SubCo => a.plus(&b, u32::MAX),
            I::Add3 => a.plus(&b, 1)?.plus(&c, 1),
            I::MulLo | I::MulU24 => a.product(&b),
            I::MadU24 | I::MadU64U32 => {
                let named = || Sum::atom(Atom::Value(self.at.0, self.at.1 * 8));
                a.product(&b).unwrap_or_else(named).plus(&c, 1)
            }
            I::Shl => shifted_left(&a, shift(1)?, Width::W32),
            I::Shl64 => shifted_left(&a, shift(1)?, Width::W64),
            I::ShlAdd => shifted_left(&a, shift(1)?, Width::W32)?.plus(&c, 1),
            I::ShlAdd64 => shifted_left(&a, shift(1)?, Width::W64)?.plus(&c, 1),
            I::AddShl => shifted_left(&a.plus(&b, 1)?, shift(2)?, Width::W32),
            I::And => masked(&a, &b),
            I::Or => self.alternative(&a, &b),
            I::Shr => a.shifted_right(shift(1)? % 32),
            I::BfeU => {
                let mask = 1u32.checked_shl(shift(2)? % 32)?.wrapping_sub(1);
                a.shifted_right(shift(1)? % 32)?.masked(mask)
            }
            _ => None,
        }
    }

    /// Base and offset of a scalar load.
    fn scalar_address(&self, inst: &Inst) -> Option<Sum> {
        let base = self.get(inst, 0);
        let base = if inst.src[1].is_none() { base } else { base.plus(&self.get(inst, 1), 1)? };
        base.plus(&Sum::constant(inst.attrs.imm as u32), 1)
    }

    /// Base and offset of a lane load.
    fn address(&self, inst: &Inst) -> Option<Sum> {
        let own = if inst.src[0].is_none() { Sum::default() } else { self.get(inst, 0) };
        let base = if inst.src[1].is_none() { own } else { own.plus(&self.get(inst, 1), 1)? };
        base.plus(&Sum::constant(inst.attrs.imm as u32), 1)
    }

    /// A load of dwords from an address, if the address is known.
    fn load(&mut self, inst: &Inst, cells: u16, address: Option<Sum>) {
        let word = |n: u32| {
            let address = address.as_ref()?;
            let at = |offset: u32| offset.wrapping_add(4 * n);
            let argument = address.offset_from(Atom::Arguments).map(|offset| Atom::Argument(at(offset)));
            let packet = address.offset_from(Atom::Packet).map(|offset| Atom::PacketDword(at(offset)));
            argument.or(packet).map(Sum::atom)
        };
        let words: Vec<_> = (0..u32::from(cells)).map(word).collect();
        self.set(inst.dst[0], cells, &words);
    }
}

/// The lower half of a value shifted to the left.
fn shifted_left(value: &Sum, by: u32, width: Width) -> Option<Sum> {
    let by = by % (32 * u32::from(width.dwords()));
    if let (Some((Atom::PackedItems(already), 1)), 1..32) = (value.single(), by) {
        return Some(Sum::atom(Atom::PackedItems(already.checked_sub(by as i8)?)));
    }
    value.times(1u32.checked_shl(by).unwrap_or(0))
}

fn masked(a: &Sum, b: &Sum) -> Option<Sum> {
    match (a.as_constant(), b.as_constant()) {
        (_, Some(mask)) => a.masked(mask),
        (Some(mask), _) => b.masked(mask),
        _ => None,
    }
}

/// Addresses where execution continues after a block, with the values known there. A call with a
/// known target has two: the function, and the code after the call with nothing known. A call with
/// an unknown target has only the code after the call.
fn successors(block: &Block, after: State) -> Vec<(u64, State)> {
    let end = block.next;
    let targets = match block.terminator {
        Terminator::Jump(to)
        | Terminator::Barrier(to)
        | Terminator::Yield(to)
        | Terminator::InvalidateCode(to)
        | Terminator::SetContext { next: to, .. } => vec![to],
        Terminator::Branch { taken, next, .. } => vec![taken, next],
        Terminator::Indirect(_) => {
            let behind = is_call(block, &after).then(|| (end, State::new()));
            let target = known_target(block, &after).map(|target| (target, after));
            return target.into_iter().chain(behind).collect();
        }
        Terminator::End | Terminator::Resume { .. } | Terminator::Trap(_) | Terminator::Fault(_) => {
            Vec::new()
        }
    };
    targets.into_iter().map(|target| (target, after.clone())).collect()
}

/// Target of the jump at the end of a block, if its register is known. `after` is the state after
/// the block.
fn known_target(block: &Block, after: &State) -> Option<u64> {
    let Terminator::Indirect(target) = block.terminator else { return None };
    let low = after.get(&target.0)?.as_constant()?;
    // Code is loaded in one piece, well below 4 GiB in size.
    Some(block.start & !u64::from(u32::MAX) | u64::from(low))
}

/// Whether the jump at the end of a block is a call: a call leaves the address after it in a
/// register. Other jumps do not return.
fn is_call(block: &Block, after: &State) -> bool {
    let end = block.next;
    matches!(block.terminator, Terminator::Indirect(_))
        && after.values().any(|sum| sum.as_constant() == Some(end as u32))
}

/// Follows a block from a state, and calls `seen` with every computed sum.
fn follow(block: &Block, state: State, seen: &mut dyn FnMut(&Sum)) -> State {
    let mut follow = Follow { state, at: (block.start, 0), seen };
    for (number, inst) in block.insts.iter().enumerate() {
        follow.at.1 = number as u32;
        follow.inst(inst);
    }
    follow.state
}

impl Kernel {
    /// Whether the kernel's global ids, as OpenCL defines them, begin at a wrong hidden argument in
    /// a launch with this global offset. Either the kernel was linked with a libclc that does not
    /// know its code object version, or it reads offsets in part. `None` means that no such read
    /// was found; it proves nothing.
    #[must_use]
    pub fn misread_global_offset(&self, offset: [u64; 3]) -> Option<MisreadOffset> {
        let arguments = &self.metadata()?.args;
        let find = |kind: ValueKind| arguments.iter().find(|argument| argument.value_kind == kind);
        let counts = find(ValueKind::HiddenBlockCountX);
        let halves = halves(offset);
        let is_wrong = [0, 1, 2].map(|d| counts.is_some() || halves[d] != offset[d]);
        if is_wrong == [false; 3] {
            return None;
        }
        let hidden = counts.or_else(|| find(ValueKind::HiddenGlobalOffsetX))?.offset;
        // libclc reads the workgroup size from the dispatch packet; newer code does not use the
        // packet.
        if !self.hsa()?.descriptor.properties.dispatch_ptr() {
            return None;
        }
        let block_count = counts.is_some();
        let (dimension, is_certain) = self.misread_dimension(hidden, is_wrong)?;
        let reads = (!block_count).then_some(halves[dimension]);
        Some(MisreadOffset { dimension, block_count, reads, is_certain })
    }

    /// MODE at the start of its waves.
    fn first_mode(&self) -> u32 {
        self.hsa().map_or(0, |kernel| initial_mode(&kernel.descriptor))
    }

    /// The first affected dimension, and whether it is certain. `is_wrong` marks the dimensions for
    /// which libclc reads a wrong value.
    fn misread_dimension(&self, hidden: u32, is_wrong: [bool; 3]) -> Option<(usize, bool)> {
        let states = self.states()?;
        let of_calls = self.dimension_of_calls(&states, is_wrong);
        if of_calls.is_some() {
            return of_calls;
        }
        let map = self.module.device.memory.snapshot();
        let mode = self.first_mode();
        let mut found = None;
        for (at, state) in states {
            let block = self.module.device.code.block(&map, at, mode);
            follow(&block, state, &mut |sum| {
                found = found.or_else(|| misread(sum, hidden, is_wrong));
            });
            if found.is_some() {
                break;
            }
        }
        found.map(|dimension| (dimension, true))
    }

    /// Known values at the start of each reachable block; `None` if there are too many.
    fn states(&self) -> Option<HashMap<u64, State>> {
        let map = self.module.device.memory.snapshot();
        let mode = self.first_mode();
        let entry = self.entry() + entry_skip(self);
        let mut states = HashMap::from([(entry, self.first_state()?)]);
        let mut open = VecDeque::from([entry]);
        let mut operations = 0;
        while let Some(at) = open.pop_front() {
            let block = self.module.device.code.block(&map, at, mode);
            operations += block.insts.len() + 1;
            if operations > MOST_OPERATIONS {
                return None;
            }
            let after = follow(&block, states.get(&at).cloned().unwrap_or_default(), &mut |_| {});
            for (next, after) in successors(&block, after) {
                match states.get_mut(&next) {
                    None => _ = states.insert(next, after),
                    // Values that hold on all paths to the block.
                    Some(known) => {
                        let before = known.len();
                        known.retain(|cell, sum| after.get(cell) == Some(sum));
                        if known.len() == before {
                            continue;
                        }
                    }
                }
                open.push_back(next);
            }
        }
        Some(states)
    }

    /// Known values of registers at the start. A wave started with numbers that occur nowhere else
    /// reveals them.
    fn first_state(&self) -> Option<State> {
        const ARGUMENTS: u64 = 0x0a11_5eed_0000_1000;
        const PACKET: u64 = 0x0b22_5eed_0000_2000;
        const WORDS: u32 = 0x0c33_0000;
        const WORKGROUP: [u32; 3] = [0x0d44_0001, 0x0d44_0002, 0x0d44_0003];
        let descriptor = self.hsa()?.descriptor;
        let init = InitialState {
            target: self.module.device.target,
            product: self.module.device.product,
            waves: 1,
            resident: 1,
            descriptor,
            workgroup_size: [1; 3],
            global_size: [u64::from(u32::MAX); 3],
            kernarg: ARGUMENTS,
            user_sgprs: None,
            kernarg_words: (0..0x1000).map(|n| WORDS + n).collect(),
            packet: PACKET,
            queue: 0,
            scratch: 0,
            scratch_per_wave: 0,
            scratch_size: 0,
            dispatch_id: 0,
            lds_allocated: 0,
            traps: TrapSetup::default(),
            chip: OnceLock::new(),
        };
        let mut initial = Registers::new(registers::counts(registers::MAX_SGPRS, 4, 0));
        init.init(WORKGROUP, 0, 0, &mut initial);
        let mut state = State::new();
        for number in 0..registers::FLAT_SCRATCH.0 {
            let value = initial.uni(Uni(number));
            let atom = match value {
                _ if value == ARGUMENTS as u32 => Atom::Arguments,
                _ if value == PACKET as u32 => Atom::Packet,
                _ if (WORDS..WORDS + 0x1000).contains(&value) => Atom::Argument(4 * (value - WORDS)),
                _ => match WORKGROUP.iter().position(|workgroup| *workgroup == value) {
                    Some(dimension) => Atom::Workgroup(dimension as u8),
                    None => continue,
                },
            };
            state.insert(number, Sum::atom(atom));
        }
        let dimensions = descriptor.rsrc2.workitem_id().min(2) as u8 + 1;
        let row = |n: u8| FIRST_ROW + registers::vgpr(u16::from(n)).0;
        if init.packed_ids() && dimensions > 1 {
            state.insert(row(0), Sum::atom(Atom::PackedItems(0)));
        } else {
            state.extend((0..dimensions).map(|d| (row(d), Sum::atom(Atom::Item(d)))));
        }
        Some(state)
    }

    /// The first wrong dimension for which unoptimised code calls libclc's functions, and whether
    /// this is certain. A call for an unknown dimension may be for any.
    fn dimension_of_calls(&self, states: &HashMap<u64, State>, is_wrong: [bool; 3]) -> Option<(usize, bool)> {
        let functions = self.functions_of_libclc(|at| states.contains_key(&at));
        if functions.is_empty() {
            return None;
        }
        let map = self.module.device.memory.snapshot();
        let mode = self.first_mode();
        let (mut called, mut is_hidden) = ([false; 3], false);
        for (at, state) in states {
            let block = self.module.device.code.block(&map, *at, mode);
            let after = follow(&block, state.clone(), &mut |_| {});
            if !is_call(&block, &after) {
                continue;
            }
            // The first argument.
            let dimension = after.get(&(FIRST_ROW + registers::vgpr(0).0)).and_then(Sum::as_constant);
            let dimension = dimension.map(|dimension| dimension as usize);
            // An unknown target comes from an earlier call, through a register that is not tracked
            // here.
            if known_target(&block, &after).is_some_and(|target| !functions.contains(&target)) {
                continue;
            }
            match dimension {
                Some(dimension) => {
                    called.iter_mut().skip(dimension).take(1).for_each(|called| *called = true)
                }
                None => is_hidden = true,
            }
        }
        let known = (0..3).find(|d| called[*d] && is_wrong[*d]);
        let possible = (0..3).find(|d| is_hidden && is_wrong[*d]);
        known.map(|dimension| (dimension, true)).or(possible.map(|dimension| (dimension, false)))
    }

    /// Addresses of reachable libclc functions. They load dwords beyond the first one as offsets;
    /// all other libraries load offsets as 64 bits.
    fn functions_of_libclc(&self, is_reached: impl Fn(u64) -> bool) -> Vec<u64> {
        let device = &self.module.device;
        let map = device.memory.snapshot();
        let mode = self.first_mode();
        let reads_offset = |range: &Range<u64>| {
            let mut loads = Vec::new();
            let mut at = range.start;
            while at < range.end {
                let block = device.code.block(&map, at, mode);
                loads.extend(block.insts.iter().filter_map(|inst| match inst.op {
                    Op::Load(Space::Global | Space::Flat, ty) => Some((ty, inst.attrs.imm)),
                    _ => None,
                }));
                at = block.next.max(at + 4);
            }
            loads.contains(&(MemType::Dwords(1), 4)) && loads.iter().all(|(ty, _)| *ty == MemType::Dwords(1))
        };
        let functions = self.functions();
        let named = functions.iter().filter(|(name, _)| FUNCTIONS.contains(&name.as_str()));
        let reached = named.map(|(_, range)| range).filter(|range| is_reached(range.start));
        reached.filter(|range| reads_offset(range)).map(|range| range.start).collect()
    }
}

/// The dimension in which a sum is a global id with the wrong offset.
fn misread(sum: &Sum, hidden: u32, is_wrong: [bool; 3]) -> Option<usize> {
    (0..3u8)
        .find(|d| {
            let offset = sum.coefficient(Atom::Argument(hidden + 4 + 4 * u32::from(*d)));
            is_wrong[usize::from(*d)]
                && offset != 0
                && [Atom::Item(*d), Atom::Span(*d)].iter().all(|atom| sum.coefficient(*atom) == offset)
        })
        .map(usize::from)
}
