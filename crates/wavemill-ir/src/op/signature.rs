//! Signatures: the facts that the line of an operation declares.

use super::{FloatType, IntType, Space, Width};

/// Kind of a source or a result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Value {
    /// Nothing: the slot is not used.
    None,
    /// An integer or a bit pattern of each lane, in this many cells.
    Bits(u16),
    /// Two 16-bit integers of each lane, in a cell: selects name halves.
    Halves,
    /// Two bit patterns of each lane, a cell each: selects name cells.
    Pair,
    /// A float of each lane. Modifiers change the sign of a source, and scale and clamp a result.
    Float(FloatType),
    /// An f32, or one half of a cell as an f16, of each lane: modifiers select which.
    Mixed,
    /// A bit of each lane, in a pair of uniform cells.
    Mask,
    /// A value of the whole wave, in this many uniform cells.
    Uniform(u16),
    /// Address of each lane in a space: a whole address if the operation has no
    /// [base](Value::Base), else an offset from the base.
    Address(Space),
    /// Uniform base of an address in a space.
    Base(Space),
    /// This many rows: never a scalar.
    Rows(u16),
    /// Elements of `each` cells in this many rows; a scalar stands for all elements.
    Elements {
        /// Number of cells.
        cells: u16,
        /// Cells of an element.
        each: u16,
    },
}

impl Value {
    /// An integer of each lane.
    #[must_use]
    pub const fn int(ty: IntType) -> Value {
        Value::Bits(ty.dwords())
    }

    /// A uniform value of the width.
    #[must_use]
    pub const fn uniform(width: Width) -> Value {
        Value::Uniform(width.dwords())
    }

    /// Number of cells: rows, or uniform cells. An address counts as an offset.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            Value::None => 0,
            Value::Bits(dwords) | Value::Uniform(dwords) | Value::Rows(dwords) => dwords,
            Value::Elements { cells, .. } => cells,
            Value::Halves | Value::Mixed | Value::Address(_) => 1,
            Value::Pair | Value::Mask => 2,
            Value::Float(ty) => ty.dwords(),
            // LDS has no base.
            Value::Base(Space::Global | Space::Flat) => 2,
            Value::Base(Space::Scratch | Space::Lds | Space::Gds) => 1,
        }
    }

    /// Whether lanes have their own values, so that the value can be in a row.
    #[must_use]
    pub const fn is_varying(self) -> bool {
        !matches!(self, Value::None | Value::Mask | Value::Uniform(_) | Value::Base(_))
    }

    /// The float type whose sign modifiers change; `None` if they do not.
    #[must_use]
    pub const fn float_type(self) -> Option<FloatType> {
        match self {
            Value::Float(ty) => Some(ty),
            _ => None,
        }
    }
}

/// The effects of an operation besides computing results from sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Effects {
    /// It reads memory, LDS, private memory or the global data share.
    pub reads_memory: bool,
    /// It may write memory, LDS, private memory or the global data share.
    pub writes_memory: bool,
    /// It reads and writes atomically.
    pub atomic: bool,
    /// It orders memory accesses or has an effect outside the wave: such operations stay in order.
    pub ordered: bool,
    /// It may fault.
    pub may_fault: bool,
    /// Results of a lane depend on other lanes.
    pub crosses_lanes: bool,
    /// Its results depend on more than sources, registers and memory: on time, or on the wave's
    /// history.
    pub reads_surroundings: bool,
}

impl Effects {
    /// It only computes.
    pub const NONE: Effects = Effects {
        reads_memory: false,
        writes_memory: false,
        atomic: false,
        ordered: false,
        may_fault: false,
        crosses_lanes: false,
        reads_surroundings: false,
    };
    /// A load.
    pub const LOAD: Effects = Effects { reads_memory: true, may_fault: true, ..Effects::NONE };
    /// A store.
    pub const STORE: Effects = Effects { writes_memory: true, may_fault: true, ..Effects::NONE };
    /// A read-modify-write of memory.
    pub const ATOMIC: Effects =
        Effects { reads_memory: true, writes_memory: true, atomic: true, may_fault: true, ..Effects::NONE };
    /// Movement between lanes.
    pub const LANES: Effects = Effects { crosses_lanes: true, ..Effects::NONE };
    /// An operation on the synchronization state of the device.
    pub const SYNC: Effects = Effects { ordered: true, reads_surroundings: true, ..Effects::NONE };
    /// A fence or a message.
    pub const ORDER: Effects = Effects { ordered: true, ..Effects::NONE };
}

/// The sources, results and effects of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Name in the text form of the IR, without types.
    pub name: &'static str,
    /// The sentence that defines it, as Markdown.
    pub doc: &'static str,
    /// Sources in the order of the operands.
    pub sources: [Value; 5],
    /// Results in the order of the operands.
    pub results: [Value; 2],
    /// Whether clamping brings the exact integer result into the range of its type.
    pub saturates: bool,
    /// Whether the old first result is also a source. If the operation has two rows as results,
    /// both are.
    pub updates: bool,
    /// Which sources may be missing. An address or its base may always be missing.
    pub optional: [bool; 5],
    /// Whether lane sources must be rows, because the operation computes row numbers.
    pub wants_rows: bool,
    /// Its effects besides computing.
    pub effects: Effects,
}

impl Signature {
    /// The signature of an operation that computes.
    pub(super) const fn new(
        name: &'static str,
        doc: &'static str,
        sources: &[Value],
        results: &[Value],
    ) -> Signature {
        Signature {
            name,
            doc,
            sources: slots(sources),
            results: slots(results),
            saturates: false,
            updates: false,
            optional: [false; 5],
            wants_rows: false,
            effects: Effects::NONE,
        }
    }

    pub(super) const fn saturates(self) -> Signature {
        Signature { saturates: true, ..self }
    }

    pub(super) const fn updates(self) -> Signature {
        Signature { updates: true, ..self }
    }

    pub(super) const fn updates_if(self, updates: bool) -> Signature {
        Signature { updates, ..self }
    }

    pub(super) const fn optional(mut self, source: usize) -> Signature {
        self.optional[source] = true;
        self
    }

    pub(super) const fn wants_rows(self) -> Signature {
        Signature { wants_rows: true, ..self }
    }

    /// The same signature with a sentence, if it does not have one yet.
    pub(super) const fn or_doc(self, doc: &'static str) -> Signature {
        if self.doc.is_empty() { Signature { doc, ..self } } else { self }
    }

    pub(super) const fn with(self, effects: Effects) -> Signature {
        Signature { effects, ..self }
    }

    /// Whether the source may be missing.
    #[must_use]
    pub const fn is_optional(&self, source: usize) -> bool {
        let value = self.sources[source];
        self.optional[source] || matches!(value, Value::Address(_) | Value::Base(_)) || value.dwords() == 0
    }

    /// Number of sources.
    #[must_use]
    pub fn source_count(&self) -> usize {
        self.sources.iter().take_while(|value| **value != Value::None).count()
    }
}

const fn slots<const N: usize>(values: &[Value]) -> [Value; N] {
    let mut slots = [Value::None; N];
    let mut n = 0;
    while n < values.len() {
        slots[n] = values[n];
        n += 1;
    }
    slots
}

/// Short names of values, for the lines of operations.
pub(super) mod values {
    use super::{FloatType, Value};

    /// A cell of each lane.
    pub(crate) const B32: Value = Value::Bits(1);
    /// Two cells of each lane.
    pub(crate) const B64: Value = Value::Bits(2);
    /// Four cells of each lane.
    pub(crate) const B128: Value = Value::Bits(4);
    /// Two 16-bit integers of each lane.
    pub(crate) const PK16: Value = Value::Halves;
    /// Two cells of each lane that selects choose from.
    pub(crate) const PAIR: Value = Value::Pair;
    /// An f16 of each lane. The sign of a bf16 is at the same bit.
    pub(crate) const F16: Value = Value::Float(FloatType::F16);
    /// An f32 of each lane.
    pub(crate) const F32: Value = Value::Float(FloatType::F32);
    /// An f64 of each lane.
    pub(crate) const F64: Value = Value::Float(FloatType::F64);
    /// Two f16 of each lane.
    pub(crate) const PKF16: Value = Value::Float(FloatType::PkF16);
    /// An f32, or an f16 in either half.
    pub(crate) const MIXED: Value = Value::Mixed;
    /// A bit of each lane.
    pub(crate) const MASK: Value = Value::Mask;
    /// A uniform cell.
    pub(crate) const U32: Value = Value::Uniform(1);
    /// Two uniform cells.
    pub(crate) const U64: Value = Value::Uniform(2);
    /// A condition, 0 or 1.
    pub(crate) const FLAG: Value = Value::Uniform(1);
    /// No value.
    pub(crate) const NONE: Value = Value::None;
}
