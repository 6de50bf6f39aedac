//! Address spaces, types, atomics and scopes of memory operations.

use crate::TexelFormat;

/// Address space of a memory operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Space {
    /// Global memory only.
    Global,
    /// Global memory, LDS or scratch; the aperture of each lane's address decides.
    Flat,
    /// The local data share of the workgroup.
    Lds,
    /// The private memory of each lane.
    Scratch,
    /// The global data share: memory of the device outside guest addresses, 64 KiB.
    Gds,
}

/// What an operation on a counter in a data share does. The old value goes to all active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CounterOp {
    /// Adds the number of active lanes.
    Append,
    /// Subtracts the number of active lanes.
    Consume,
    /// Adds the datum of the first active lane.
    Add,
    /// Stores the datum of the first active lane.
    Swap,
}

impl CounterOp {
    /// Whether it has a datum.
    #[must_use]
    pub const fn has_datum(self) -> bool {
        matches!(self, CounterOp::Add | CounterOp::Swap)
    }

    /// The new value of the counter.
    #[must_use]
    pub const fn next(self, old: u32, datum: u32, active: u64) -> u32 {
        match self {
            CounterOp::Append => old.wrapping_add(active.count_ones()),
            CounterOp::Consume => old.wrapping_sub(active.count_ones()),
            CounterOp::Add => old.wrapping_add(datum),
            CounterOp::Swap => datum,
        }
    }
}

/// What an operation on the synchronization state of the device does. A resource is a counter with
/// a queue of waiting waves; there are 64. Its value is 12 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SyncOp {
    /// Sets the counter of a resource to the datum.
    Init,
    /// If the counter is not 0, subtracts 1 and waits until a wave finds 0 there. The wave that does
    /// sets the counter to its datum, and all waves that wait continue with it.
    Barrier,
    /// Waits until as many waves wait there as the datum says, this one among them. The counter does
    /// not matter.
    Gather,
    /// Adds 1 to the counter. Then waves that wait in [`SyncOp::Lower`] continue in the order of
    /// their arrival, and each subtracts 1, as long as the counter is not 0.
    Raise,
    /// The same with the datum in place of 1.
    RaiseBy,
    /// Waits until the counter is not 0 and no earlier wave waits there, and subtracts 1.
    Lower,
    /// All waves that wait in [`SyncOp::Lower`] continue, and the counter is 0. Without such waves,
    /// nothing happens.
    ReleaseAll,
    /// Waits until it is the turn of a number in one of four orders. A turn is 11 bits wide. Each
    /// launch begins with turn 0 in all orders.
    Turn,
    /// Ends the turn in an order: it is the turn of the next number.
    Pass,
}

impl SyncOp {
    /// Whether a wave may have to wait there. Such an operation is the first one of its guest
    /// instruction: a wave that waits has not begun the instruction.
    #[must_use]
    pub const fn may_wait(self) -> bool {
        matches!(self, SyncOp::Barrier | SyncOp::Gather | SyncOp::Lower | SyncOp::Turn)
    }

    /// Whether it has a datum.
    #[must_use]
    pub const fn has_datum(self) -> bool {
        matches!(self, SyncOp::Init | SyncOp::Barrier | SyncOp::Gather | SyncOp::RaiseBy)
    }
}

/// The data that a load or store moves per lane, and how a load fills its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MemType {
    /// One byte, zero-extended by a load.
    U8,
    /// One byte, sign-extended by a load.
    I8,
    /// Two bytes, zero-extended by a load.
    U16,
    /// Two bytes, sign-extended by a load.
    I16,
    /// One to four dwords.
    Dwords(u8),
    /// One byte; a load zero-extends it into bits 15:0 and keeps the others, a store takes bits 7:0.
    D16U8,
    /// One byte; a load zero-extends it into bits 31:16 and keeps the others, a store takes bits 23:16.
    D16HiU8,
    /// One byte; a load sign-extends it into bits 15:0 and keeps the others.
    D16I8,
    /// One byte; a load sign-extends it into bits 31:16 and keeps the others.
    D16HiI8,
    /// Two bytes; a load puts them into bits 15:0 and keeps the others, a store takes bits 15:0.
    D16B16,
    /// Two bytes; a load puts them into bits 31:16 and keeps the others, a store takes bits 31:16.
    D16HiB16,
}

impl MemType {
    /// All of them.
    pub const ALL: [MemType; 14] = [
        MemType::U8,
        MemType::I8,
        MemType::U16,
        MemType::I16,
        MemType::D16U8,
        MemType::D16HiU8,
        MemType::D16I8,
        MemType::D16HiI8,
        MemType::D16B16,
        MemType::D16HiB16,
        MemType::Dwords(1),
        MemType::Dwords(2),
        MemType::Dwords(3),
        MemType::Dwords(4),
    ];

    /// Number of bytes in memory.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            MemType::U8
            | MemType::I8
            | MemType::D16U8
            | MemType::D16HiU8
            | MemType::D16I8
            | MemType::D16HiI8 => 1,
            MemType::U16 | MemType::I16 | MemType::D16B16 | MemType::D16HiB16 => 2,
            MemType::Dwords(n) => 4 * n as u32,
        }
    }

    /// Whether a load keeps one half of its cell.
    #[must_use]
    pub const fn keeps_half(self) -> bool {
        !matches!(self, MemType::U8 | MemType::I8 | MemType::U16 | MemType::I16 | MemType::Dwords(_))
    }

    /// Number of cells that the value occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            MemType::Dwords(n) => n as u16,
            _ => 1,
        }
    }
}

ops! {
    /// Read-modify-write operations on memory: `old op data`.
    pub enum AtomicOp of data {
        /// `data`.
        Swap = "swap" (data) -> (data);
        /// `old == cmp ? data : old`.
        CmpSwap = "cmpswap" (data, data) -> (data);
        /// `old + data`.
        Add = "add" (data) -> (data);
        /// `old - data`.
        Sub = "sub" (data) -> (data);
        /// `data - old`.
        Rsub = "rsub" (data) -> (data);
        /// Signed minimum.
        MinI = "min.i" (data) -> (data);
        /// Unsigned minimum.
        MinU = "min.u" (data) -> (data);
        /// Signed maximum.
        MaxI = "max.i" (data) -> (data);
        /// Unsigned maximum.
        MaxU = "max.u" (data) -> (data);
        /// `old & data`.
        And = "and" (data) -> (data);
        /// `old | data`.
        Or = "or" (data) -> (data);
        /// `old ^ data`.
        Xor = "xor" (data) -> (data);
        /// `old >= data ? 0 : old + 1`.
        IncWrap = "inc" (data) -> (data);
        /// `old == 0 || old > data ? data : old - 1`.
        DecWrap = "dec" (data) -> (data);
        /// `(old & ~data) | data2`.
        MaskOr = "mskor" (data, data) -> (data);
        /// `old >= data ? old - data : old + data2`.
        Wrap = "wrap" (data, data) -> (data);
        /// Float addition, nearest even.
        AddF = "add.f" (data) -> (data);
        /// Float minimum.
        MinF = "min.f" (data) -> (data);
        /// Float maximum.
        MaxF = "max.f" (data) -> (data);
        /// `old == cmp ? data : old` with float comparison.
        CmpSwapF = "cmpswap.f" (data, data) -> (data);
        /// Packed f16 addition.
        PkAddF16 = "pk_add.f16" (data) -> (data);
        /// Packed bf16 addition.
        PkAddBf16 = "pk_add.bf16" (data) -> (data);
    }
}

impl AtomicOp {
    /// Whether there is a second datum.
    #[must_use]
    pub const fn has_second_datum(self) -> bool {
        !matches!(self.signature(crate::Value::Bits(1)).sources[1], crate::Value::None)
    }

    /// Whether the operation depends on the floating-point mode (which decides whether denormals
    /// are kept; rounding is to nearest even).
    #[must_use]
    pub const fn is_float(self) -> bool {
        use AtomicOp::*;
        matches!(self, AddF | MinF | MaxF | CmpSwapF | PkAddF16 | PkAddBf16)
    }
}

/// The rows that form the address of a buffer access; `src[0]` names the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BufferAddr {
    /// The address uses an offset (after the index if it uses both).
    pub offen: bool,
    /// The address uses an index.
    pub idxen: bool,
    /// The resource is a base and a number of bytes: its last dword is not looked at, so there is a
    /// buffer whatever it says. Texels have the format of the operation.
    pub plain: bool,
}

impl BufferAddr {
    /// The source value: the index and the offset of each lane.
    pub(super) const fn value(self) -> crate::Value {
        crate::Value::Bits(self.idxen as u16 + self.offen as u16)
    }
}

/// The cells of the components of texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TexelCells {
    /// A component in each cell: an f32 or a dword.
    Dwords,
    /// Two components in each cell, the first one in bits 15:0: f16 or integers of 16 bits. A load
    /// clears the other half of the last cell if it has only one.
    Halves,
    /// One component in bits 31:16 of the cell; a load keeps the others.
    UpperHalf,
}

/// An access that converts texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct TexelAccess {
    /// Format of the texels; `None`: that of the resource.
    pub format: Option<TexelFormat>,
    /// Number of components, 1 to 4. The first one is X.
    pub count: u8,
    /// The cells of the components.
    pub cells: TexelCells,
}

impl TexelAccess {
    /// Number of cells that the components occupy.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self.cells {
            TexelCells::Dwords => self.count as u16,
            TexelCells::Halves => self.count.div_ceil(2) as u16,
            TexelCells::UpperHalf => 1,
        }
    }

    /// Whether a load keeps one half of its cell.
    #[must_use]
    pub const fn keeps_half(self) -> bool {
        matches!(self.cells, TexelCells::UpperHalf)
    }

    /// Whether the access exists.
    pub(super) const fn is_defined(self) -> bool {
        match self.cells {
            TexelCells::UpperHalf => self.count == 1,
            _ => matches!(self.count, 1..=4),
        }
    }
}

/// Scope of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FenceScope {
    /// The wave waits for its own memory operations.
    Wave,
    /// Caches of the agent are written back or invalidated.
    Agent,
}
