//! Addresses that code computes from the program counter.
//!
//! `s_getpc_b64` gives the address behind itself; `s_add_u32` and `s_addc_u32` add the distance to what is meant. In a
//! linked file the distance is a number; here it becomes a symbol again.

use wavemill_isa::gcn::{Elem, Inst, Op, Operand, RegisterFile, Role};
use wavemill_object::write::{SectionId, SymbolType};

use super::{Writer, is_preemptible};

/// Additions that are more instructions behind `s_getpc_b64` than this are not looked for.
const FAR: u32 = 64;

/// Looks for the instructions that belong together.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    open: Vec<Open>,
}

/// A program counter in registers.
#[derive(Debug)]
struct Open {
    /// The register of the low half; the next one has the high half.
    register: u8,
    /// The offset in the section of what the registers point to.
    anchor: u64,
    /// The addition to the low half: the offset of its literal, and the literal.
    low: Option<(u64, u32)>,
    age: u32,
}

/// A computed address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computed {
    /// The offset in the section that the distance counts from.
    pub(super) anchor: u64,
    pub(super) distance: i64,
    /// The offset of the literal that is added to the low half.
    pub(super) low: u64,
    /// That of the high half, if it is a literal.
    pub(super) high: Option<u64>,
}

/// The register that is added to, and the number that is added.
fn addition(inst: &Inst) -> Option<(u8, Operand)> {
    match (inst.operand(Role::Src0)?, inst.operand(Role::Src1)?) {
        (Operand::Sgpr { first, dwords: 1 }, number @ (Operand::Literal(_) | Operand::Int(_)))
        | (number @ (Operand::Literal(_) | Operand::Int(_)), Operand::Sgpr { first, dwords: 1 }) => {
            Some((first, number))
        }
        _ => None,
    }
}

impl Tracker {
    /// Takes the next instruction, which stands at `offset`.
    pub(super) fn step(&mut self, inst: &Inst, offset: u64) -> Option<Computed> {
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
        // Literals stand behind the first word.
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
                            low,
                            high: place,
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

    /// Something else begins.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    fn forget(&mut self, first: u8, count: u8) {
        let (first, end) = (u16::from(first), u16::from(first) + u16::from(count));
        self.open.retain(|open| {
            let own = u16::from(open.register);
            own + 1 < first || own >= end
        });
    }
}

/// What an address is said by.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// A symbol or a section, and the distance from it.
    Symbol(String, i64),
    /// The entry of a symbol in the global offset table.
    Got(String),
    /// A place in the section itself that no symbol names.
    Own(u64),
}

impl Writer<'_> {
    /// What to call an address of a linked file, seen from a section.
    pub(super) fn base(&self, own: SectionId, address: u64) -> Option<Base> {
        if let Ok(at) = self.unlinked.got.binary_search_by_key(&address, |entry| entry.address) {
            let entry = self.unlinked.got.get(at)?;
            return Some(Base::Got(self.names.of(entry.symbol).to_owned()));
        }
        let ranges = || {
            self.module.sections.iter().zip(&self.unlinked.addresses).enumerate().filter_map(
                |(index, (section, &start))| {
                    let offset = address.checked_sub(start)?;
                    Some((SectionId(index), section, offset))
                },
            )
        };
        let (id, section, offset) =
            ranges()
                .find(|(_, section, offset)| *offset < section.contents.size())
                .or_else(|| ranges().find(|(_, section, offset)| *offset == section.contents.size()))?;
        let symbols = self.bounds.symbols(id);
        let behind = symbols.partition_point(|(at, _)| *at <= offset);
        // The last ones before it; what is far may contain it too, but then another name will do.
        let near = || {
            symbols.get(..behind).unwrap_or_default().iter().rev().take(8).filter_map(|(at, symbol_id)| {
                let symbol = self.module.symbols.get(symbol_id.0)?;
                let name = self.names.of(*symbol_id);
                (!is_preemptible(symbol) && !name.is_empty()).then_some((*at, symbol, name))
            })
        };
        let is_typed = |kind| matches!(kind, SymbolType::Object | SymbolType::Function);
        // A label at the place itself moves with it, whatever its type; that goes before what begins earlier.
        let found = near()
            .find(|(at, symbol, _)| *at == offset && is_typed(symbol.kind))
            .or_else(|| near().find(|(at, symbol, _)| *at == offset && symbol.kind == SymbolType::None))
            .or_else(|| near().find(|(at, symbol, _)| is_typed(symbol.kind) && offset - at < symbol.size));
        if let Some((at, _, name)) = found {
            return Some(Base::Symbol(name.to_owned(), (offset - at) as i64));
        }
        if id == own {
            return Some(Base::Own(offset));
        }
        let plain = super::names::section_in_expression(&section.name);
        Some(Base::Symbol(plain, offset as i64))
    }
}
