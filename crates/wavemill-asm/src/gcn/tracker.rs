//! Addresses that code computes from the program counter.
//!
//! `s_getpc_b64` returns the address after itself. `s_add_u32` and `s_addc_u32` add the distance to
//! the target.

use wavemill_isa::gcn::{Elem, Inst, Op, Operand, RegisterFile, Role};

use crate::family::{AddressPart, AddressTracker, Computed, Instruction};

/// Additions more than this many instructions after `s_getpc_b64` are ignored.
const FAR: u32 = 64;

/// The low half of an address.
const LOW: AddressPart = AddressPart { symbol: "rel32@lo", table: "gotpcrel32@lo" };
/// The high half.
const HIGH: AddressPart = AddressPart { symbol: "rel32@hi", table: "gotpcrel32@hi" };

/// Finds the instructions that compute an address together.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    open: Vec<Open>,
}

/// A program counter in registers.
#[derive(Debug)]
struct Open {
    /// The register of the low half; the next one has the high half.
    register: u8,
    /// The section offset that the registers point to.
    anchor: u64,
    /// The addition to the low half: the offset of its literal, and the literal.
    low: Option<(u64, u32)>,
    age: u32,
}

/// The register of an addition, and the number added to it.
fn addition(inst: &Inst) -> Option<(u8, Operand)> {
    match (inst.operand(Role::Src0)?, inst.operand(Role::Src1)?) {
        (Operand::Sgpr { first, dwords: 1 }, number @ (Operand::Literal(_) | Operand::Int(_)))
        | (number @ (Operand::Literal(_) | Operand::Int(_)), Operand::Sgpr { first, dwords: 1 }) => {
            Some((first, number))
        }
        _ => None,
    }
}

impl AddressTracker for Tracker {
    fn step(&mut self, inst: &Instruction, offset: u64) -> Option<Computed> {
        let Instruction::Gcn(inst) = inst;
        if inst.op() == Op::SGetpcB64 {
            if let Some(Operand::Sgpr { first, dwords: 2 }) = inst.operand(Role::Sdst) {
                self.forget(first, 2);
                let anchor = offset + inst.size() as u64;
                self.open.push(Open { register: first, anchor, low: None, age: 0 });
            }
            return None;
        }
        if self.open.is_empty() {
            return None;
        }
        for open in &mut self.open {
            open.age += 1;
        }
        self.open.retain(|open| open.age < FAR);
        let mut found = None;
        // Literals are after the first word.
        let literal = offset + 4;
        let mut kept = None;
        if matches!(inst.op(), Op::SAddU32 | Op::SAddcU32)
            && let Some((register, number)) = addition(inst)
        {
            match (inst.op(), number) {
                (Op::SAddU32, Operand::Literal(value)) => {
                    for open in self.open.iter_mut().filter(|open| open.register == register) {
                        open.low = Some((literal, value));
                        kept = Some(register);
                    }
                }
                (Op::SAddcU32, number) => {
                    let high = match number {
                        Operand::Literal(value) => Some((value, Some(literal))),
                        Operand::Int(value) => Some((value as u32, None)),
                        _ => None,
                    };
                    let position = self.open.iter().position(|open| {
                        open.low.is_some() && open.register.checked_add(1) == Some(register)
                    });
                    if let (Some((high, place)), Some(position)) = (high, position) {
                        let open = self.open.remove(position);
                        found = open.low.map(|(low, value)| Computed {
                            anchor: open.anchor,
                            distance: (u64::from(high) << 32 | u64::from(value)) as i64,
                            parts: [Some((low, LOW)), place.map(|place| (place, HIGH))],
                        });
                    }
                }
                _ => {}
            }
        }
        if inst.operands().any(|(spec, _)| spec.ty.elem == Elem::Branch) {
            self.open.clear();
        }
        for range in inst.writes().iter().filter(|range| range.file == RegisterFile::Sgpr) {
            if kept.is_none_or(|register| range.first != register) {
                self.forget(range.first, range.count);
            }
        }
        found
    }

    fn clear(&mut self) {
        self.open.clear();
    }
}

impl Tracker {
    fn forget(&mut self, first: u8, count: u8) {
        let (first, end) = (u16::from(first), u16::from(first) + u16::from(count));
        self.open.retain(|open| {
            let own = u16::from(open.register);
            own + 1 < first || own >= end
        });
    }
}
