//! Accesses whose addresses are known to follow from those of one lane, or of one lane of each strip, if all lanes are active.

use iced_x86::{Code, Instruction, Register};
use wavemill_ir::LANES as ALL_LANES;
use wavemill_ir::analysis::Lanes;

use super::lanes::{Address, LaneAccess, narrow_load};
use super::{HOST, Handler, LIMIT, OFFSET};
use crate::emit::Emitter;
use crate::emit::assembler::{in_file, memory};
use crate::emit::registers::{STRIPS, of_group};

/// Lanes of a strip.
const STRIP: usize = ALL_LANES / STRIPS;
/// The largest distance of a lane from the first one. Displacements and indices of the host have 32 bits.
const MOST: u64 = 1 << 24;
/// The host pointers of strips.
const POINTERS: [Register; STRIPS] = [Register::R8, Register::R9, Register::R10, Register::R11];

/// How an access moves the dwords of a strip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moves {
    /// They are consecutive.
    Consecutive,
    /// All lanes have one address.
    Equal,
    /// By a gather or a scatter.
    Apart,
}

/// The lanes whose addresses are checked.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Bases {
    /// The first lane of the wave. These are the distances of the lanes in bytes from the lowest one.
    Wave(Box<[u32; ALL_LANES]>),
    /// The first lane of each strip.
    Strips,
}

/// A known form of an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    bases: Bases,
    moves: Moves,
}

impl Form {
    /// The form of an access with such addresses; `None` if inline code has to look at the addresses.
    pub(crate) fn new(access: &LaneAccess, lanes: Lanes) -> Option<Form> {
        if access.atomic.is_some() {
            return None;
        }
        let is_lds = matches!(access.address, Address::Lds { .. });
        let signed = |value: u64| if is_lds { i64::from(value as u32 as i32) } else { value as i64 };
        let (size, dwords) = (i64::from(access.size()), access.data.len());
        let (stride, strips) = match lanes {
            Lanes::Wave { stride, strips } => (signed(stride), Some(strips)),
            Lanes::Strip { stride } => (signed(stride), None),
            Lanes::Varying => return None,
        };
        let moves = match stride {
            // Three dwords of each lane are no vectors.
            _ if stride == size && dwords != 3 => Moves::Consecutive,
            0 if !access.is_store => Moves::Equal,
            _ if access.narrow.is_none() && dwords != 3 => Moves::Apart,
            _ => return None,
        };
        let Some([second, third, fourth]) = strips else {
            return (moves != Moves::Apart).then_some(Form { bases: Bases::Strips, moves });
        };
        let firsts = [0, signed(second), signed(third), signed(fourth)];
        // The absolute value of the least number is none that a signed number can have.
        if firsts.iter().any(|first| first.unsigned_abs() > MOST)
            || stride.unsigned_abs() > MOST / STRIP as u64
        {
            return None;
        }
        let from_first: [i64; ALL_LANES] =
            std::array::from_fn(|lane| firsts[lane / STRIP] + stride * (lane % STRIP) as i64);
        let lowest = from_first.into_iter().min()?;
        let distances = from_first.map(|distance| (distance - lowest) as u32);
        if access.is_store {
            // No two lanes store to one byte.
            let mut ascending = distances;
            ascending.sort_unstable();
            if ascending.windows(2).any(|two| i64::from(two[1] - two[0]) < size) {
                return None;
            }
        }
        // Aligned pairs do not tear, and more than two dwords have such a pair in the middle otherwise.
        let pairs = !is_lds && dwords > 2 && moves != Moves::Consecutive;
        if pairs && distances.iter().any(|distance| distance % 8 != 0) {
            return None;
        }
        Some(Form { bases: Bases::Wave(Box::new(distances)), moves })
    }
}

impl Emitter<'_> {
    /// Emits an access of a known form by all lanes. Returns whether there were enough registers.
    pub(super) fn formed(&mut self, access: &LaneAccess, form: &Form, at: usize) -> bool {
        let Some((data, pinned)) = self.data_groups(&access.sources(), &access.data, at, access.is_store)
        else {
            return false;
        };
        let offsets = match form.moves {
            Moves::Apart => match self.group(at, pinned) {
                Some(group) => Some(group),
                None => return false,
            },
            _ => None,
        };
        let is_lds = matches!(access.address, Address::Lds { .. });
        let refused = self.handler_labels();
        let before = self.rows.clone();
        if !is_lds {
            self.load_operation(at);
        }
        match &form.bases {
            Bases::Wave(distances) => {
                let span = distances.iter().max().copied().unwrap_or(0) + access.size();
                self.host_pointer(access, form.moves, 0, distances[0], span, refused);
                if !is_lds && access.is_store {
                    self.note_store();
                }
                self.move_fixed(access, form.moves, distances, &data, offsets);
            }
            Bases::Strips => {
                let span = match form.moves {
                    Moves::Equal => access.size(),
                    _ => STRIP as u32 * access.size(),
                };
                for (strip, pointer) in POINTERS.into_iter().enumerate() {
                    self.host_pointer(access, form.moves, strip, 0, span, refused);
                    self.asm.put(Instruction::with2(Code::Mov_r64_rm64, pointer, OFFSET));
                }
                if !is_lds && access.is_store {
                    self.note_store();
                }
                let (different, done) = (self.asm.label(), self.asm.label());
                if form.moves == Moves::Equal {
                    let [first, others @ ..] = POINTERS;
                    for other in others {
                        self.asm.put(Instruction::with2(Code::Cmp_r64_rm64, first, other));
                        self.asm.jump(Code::Jne_rel32_64, different);
                    }
                    self.load_for_all(access, &data, first);
                    self.asm.jump(Code::Jmp_rel32_64, done);
                }
                self.asm.bind(different);
                for (strip, pointer) in POINTERS.into_iter().enumerate() {
                    self.move_of_strip(access, form.moves, &data, strip, pointer, 0);
                }
                self.asm.bind(done);
            }
        }
        self.asm.bind(refused.back);
        let results = access.results().iter().copied().zip(data.iter().copied()).collect();
        self.handler_later(at, refused, before, results);
        for (row, group) in access.results().iter().zip(data) {
            self.rows.hold(group, *row, true);
        }
        true
    }

    /// Puts a host pointer to the lowest byte of `span` bytes into [`OFFSET`], all of which the access may reach. They begin so
    /// many bytes below those of the first lane of a strip. The operation is in [`OPERATION`](super::OPERATION).
    fn host_pointer(
        &mut self,
        access: &LaneAccess,
        moves: Moves,
        strip: usize,
        below: u32,
        span: u32,
        refused: Handler,
    ) {
        let is_lds = matches!(access.address, Address::Lds { .. });
        match access.address {
            Address::Pair { low, high } => {
                self.first_lane(Register::EAX, low, strip);
                self.first_lane(Register::ECX, high, strip);
                self.asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RCX, 32));
                self.asm.put(Instruction::with2(Code::Or_r64_rm64, OFFSET, Register::RCX));
            }
            Address::Offset { row, base } => {
                self.first_lane(Register::EAX, row, strip);
                self.asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, in_file(base)));
            }
            Address::Lds { row } => self.first_lane(Register::EAX, row, strip),
        }
        let from_first = i64::from(access.offset) - i64::from(below);
        match i32::try_from(from_first) {
            Ok(0) => {}
            Ok(from_first) => {
                self.asm.put(Instruction::with2(Code::Add_rm64_imm32, OFFSET, from_first));
            }
            Err(_) => {
                self.asm.put(Instruction::with2(Code::Mov_r64_imm64, LIMIT, from_first));
                self.asm.put(Instruction::with2(Code::Add_r64_rm64, OFFSET, LIMIT));
            }
        }
        if is_lds {
            self.check_lds(span, refused.entry);
            return;
        }
        self.check_site(span, refused.entry);
        if access.data.len() > 2 && moves != Moves::Consecutive {
            self.asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::EAX, 7));
            self.asm.jump(Code::Jne_rel32_64, refused.entry);
        }
    }

    /// Moves the data of all lanes, the lowest of which accesses memory at [`OFFSET`].
    fn move_fixed(
        &mut self,
        access: &LaneAccess,
        moves: Moves,
        distances: &[u32; ALL_LANES],
        data: &[usize],
        offsets: Option<usize>,
    ) {
        let firsts: [u32; STRIPS] = std::array::from_fn(|strip| distances[STRIP * strip]);
        let Some(offsets) = offsets else {
            if moves == Moves::Equal && firsts == [0; STRIPS] {
                return self.load_for_all(access, data, OFFSET);
            }
            for (strip, first) in firsts.into_iter().enumerate() {
                self.move_of_strip(access, moves, data, strip, OFFSET, first.into());
            }
            return;
        };
        self.asm.put(Instruction::with2(Code::Mov_r64_rm64, HOST, OFFSET));
        for strip in 0..STRIPS {
            let indices = self.asm.vector(std::array::from_fn(|lane| distances[STRIP * strip + lane]));
            let load = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
            self.asm.put(Instruction::with2(load, of_group(offsets, strip), indices));
        }
        match (access.is_store, data) {
            (true, [row]) => {
                (0..STRIPS).for_each(|strip| self.scatter_dwords(*row, 0, offsets, strip, false));
            }
            (true, _) => self.scatter_wide(data, offsets, false),
            (false, [row]) => {
                (0..STRIPS).for_each(|strip| self.gather_dwords(*row, 0, offsets, strip, false));
            }
            (false, _) => self.gather_wide(data, offsets, false),
        }
    }

    /// Loads the data of all lanes from one address, once: all get the same, whatever others write.
    fn load_for_all(&mut self, access: &LaneAccess, data: &[usize], pointer: Register) {
        if access.narrow.is_none() {
            return self.broadcast_dwords(data, 0, pointer, false);
        }
        let from = memory(pointer, 0, false);
        self.asm.put(Instruction::with2(narrow_load(access.narrow), Register::ECX, from));
        self.broadcast(data[0], Register::ECX, false);
    }

    /// Moves the data of a strip whose first lane accesses memory at a pointer.
    fn move_of_strip(
        &mut self,
        access: &LaneAccess,
        moves: Moves,
        data: &[usize],
        strip: usize,
        pointer: Register,
        displacement: i64,
    ) {
        if moves == Moves::Consecutive {
            return self.move_consecutive(access, data, strip, pointer, displacement);
        }
        let from = |n: usize| memory(pointer, displacement + 4 * n as i64, false);
        let row = |n: usize| of_group(data[n], strip);
        const FROM_REGISTER: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        const FROM_MEMORY: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        if access.narrow.is_some() {
            self.asm.put(Instruction::with2(narrow_load(access.narrow), Register::ECX, from(0)));
            self.asm.put(Instruction::with2(FROM_REGISTER, row(0), Register::ECX));
            return;
        }
        for n in (0..data.len()).step_by(2) {
            if n + 1 == data.len() {
                self.asm.put(Instruction::with2(FROM_MEMORY, row(n), from(n)));
                continue;
            }
            // A pair does not tear.
            self.asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RCX, from(n)));
            self.asm.put(Instruction::with2(FROM_REGISTER, row(n), Register::ECX));
            self.asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::RCX, 32));
            self.asm.put(Instruction::with2(FROM_REGISTER, row(n + 1), Register::ECX));
        }
    }
}
