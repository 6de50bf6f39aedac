//! The register file of a wave: one block of host memory with all cells and rows.

mod absent;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

use wavemill_ir::{LANES, Row, Uni};

/// Bytes of a row.
pub const ROW_BYTES: u32 = 4 * LANES as u32;
/// Offset of a 64-bit cell that is always all ones: the mask of operations on all lanes.
pub const ALL_LANES: u32 = 1168;
/// Offset of a 64-bit mask for an engine's own use, such as that of a lane permutation for the operation behind it.
pub const STEP_MASK: u32 = 1176;
/// Offset of the cells that uniform results which nobody wants go to; there is room for the widest one.
pub const DUMP: u32 = 1184;
/// Offset of the cells that uniform results go to which are for cells that the wave lacks: later operations of the guest
/// instruction read them there ([`Registers::lost`]).
pub const LOST: u32 = DUMP + 4 * WIDEST;
/// Cells of the widest uniform result.
const WIDEST: u32 = 16;
/// Offset of the first row.
const ROWS: u32 = 1344;
/// Rows behind the IR temporaries that engines use for steps of their own: 32 for copies of the widest sources, and 12 for
/// what the attributes of an operation ask for.
pub const STEP_ROWS: u32 = 44;
/// Rows that results for registers which the wave lacks go to. Operations with such results are not compiled; this
/// keeps offsets inside the register file whatever happens.
const DUMP_ROWS: u32 = 4;

/// Two cells next to each other that instruction families can have. Engines look at them unchecked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct CellPair(Uni);

impl CellPair {
    /// The pair that begins at an even cell.
    ///
    /// # Panics
    /// If families have no such cells: they end in front of [`Uni::ACTIVE`].
    #[must_use]
    pub const fn new(first: Uni) -> CellPair {
        assert!(first.0.is_multiple_of(2) && first.0 < Uni::ACTIVE.0, "families have no such pair of cells");
        CellPair(first)
    }

    /// Its first cell.
    #[must_use]
    pub const fn first(self) -> Uni {
        self.0
    }
}

/// Which registers a wave has; decides where its rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RegisterCounts {
    /// Cells from 0 on that hold registers of the instruction family.
    pub cells: u16,
    /// Cells among them that instructions can name, but that the wave was not allocated: the first one, and the one behind
    /// the last one. They read as cell 0, and what is written there is lost.
    pub absent: (Uni, Uni),
    /// The pair of cells that holds the address of the wave's private memory.
    pub private_base: CellPair,
    /// Rows that the wave was allocated of each bank. One that it lacks reads as the first one of all, and what is written
    /// there is lost.
    pub rows: [u16; Row::BANKS],
}

impl RegisterCounts {
    /// All cells that a family can have, and so many rows of each bank.
    #[must_use]
    pub const fn of_rows(rows: [u16; Row::BANKS]) -> RegisterCounts {
        RegisterCounts {
            cells: Uni::ACTIVE.0,
            absent: (Uni::ACTIVE, Uni::ACTIVE),
            private_base: CellPair::new(Uni(Uni::ACTIVE.0 - 2)),
            rows,
        }
    }

    /// Rows of both banks.
    fn persistent_rows(self) -> u32 {
        self.rows.iter().map(|rows| u32::from(*rows)).sum()
    }

    /// Bytes of a register file.
    pub fn bytes(self) -> usize {
        let own = u32::from(Row::TEMPS) + STEP_ROWS + DUMP_ROWS;
        (ROWS + (self.persistent_rows() + own) * ROW_BYTES) as usize
    }

    fn temp0(self) -> u32 {
        ROWS + self.persistent_rows() * ROW_BYTES
    }

    /// The cells that live as long as the wave, in ascending order.
    pub fn persistent_cells(self) -> impl Iterator<Item = Uni> {
        (0..self.cells.min(Uni::ACTIVE.0)).map(Uni).chain([Uni::ACTIVE, Uni::ACTIVE.plus(1)])
    }

    /// The rows that live as long as the wave, in ascending order.
    pub fn all_rows(self) -> impl Iterator<Item = Row> {
        let [first, second] = self.rows;
        (0..first.min(Row::BANK)).map(Row).chain((0..second.min(Row::BANK)).map(Row::second))
    }

    /// Offset of a row that is read.
    pub fn source(self, row: Row) -> u32 {
        self.source_nth(row, 0)
    }

    /// Offset of the row that is read as register `n` of an operand that begins at `row`. The rule for registers that
    /// the wave lacks holds for each register of an operand (*modelled*: manuals speak of single registers).
    pub fn source_nth(self, row: Row, n: u16) -> u32 {
        if self.has(row, n + 1) { self.offset(row.plus(n)).unwrap_or(ROWS) } else { ROWS }
    }

    /// Whether the wave has the `n` registers from `row` on. The last row of a bank is not followed by the next bank.
    pub fn has(self, row: Row, n: u16) -> bool {
        row.bank().is_none_or(|(bank, first)| first.saturating_add(n) <= self.rows[bank])
    }

    /// Whether the wave lacks a cell.
    pub fn lacks(self, cell: Uni) -> bool {
        (self.absent.0..self.absent.1).contains(&cell)
    }

    /// Offset of the cells that are read. An operand that begins at a cell that the wave lacks reads as if it began at cell 0
    /// (*modelled* for pairs and wider ones, as manuals speak of single registers).
    pub fn uniform_source(self, cell: Uni) -> u32 {
        uni_offset(if self.lacks(cell) { Uni(0) } else { cell })
    }

    /// Offset of the cells that are written; what would go to a cell that the wave lacks is [lost](LOST).
    pub fn uniform_dest(self, cell: Uni) -> u32 {
        if self.lacks(cell) { LOST } else { uni_offset(cell) }
    }

    /// The engine's own row `n` as a row of the IR, where it follows the temporaries.
    pub fn step(n: u16) -> Row {
        Row::temp(Row::TEMPS + n)
    }

    /// Offset of a row that is written; writes to a row that the wave lacks go nowhere.
    pub fn dest(self, row: Row) -> u32 {
        self.offset(row).unwrap_or(self.dump_row())
    }

    /// Offset of the row, if the wave has it.
    pub fn offset(self, row: Row) -> Option<u32> {
        match row.bank() {
            Some((bank, n)) => {
                let before: u32 = self.rows[..bank].iter().map(|rows| u32::from(*rows)).sum();
                (n < self.rows[bank]).then(|| ROWS + (before + u32::from(n)) * ROW_BYTES)
            }
            None => Some(self.temp0() + u32::from(row.0 - Row::TEMP0.0) * ROW_BYTES),
        }
    }

    /// Offset of the engine's own row `n`.
    pub fn step_row(self, n: u32) -> u32 {
        debug_assert!(n < STEP_ROWS);
        self.temp0() + (u32::from(Row::TEMPS) + n) * ROW_BYTES
    }

    fn dump_row(self) -> u32 {
        self.temp0() + (u32::from(Row::TEMPS) + STEP_ROWS) * ROW_BYTES
    }
}

/// Offset of a uniform cell.
pub const fn uni_offset(u: Uni) -> u32 {
    4 * u.0 as u32
}

/// The register file of one wave.
#[derive(Debug)]
pub struct Registers {
    ptr: *mut u8,
    counts: RegisterCounts,
}

// SAFETY: the block belongs to the value alone.
unsafe impl Send for Registers {}

const ALIGN: usize = 64;

impl Registers {
    /// A register file in which everything is zero.
    #[must_use]
    pub fn new(counts: RegisterCounts) -> Self {
        let layout = Self::layout(counts);
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: inside the block and aligned.
        unsafe { (ptr.add(ALL_LANES as usize) as *mut u64).write(!0) };
        Registers { ptr, counts }
    }

    fn layout(counts: RegisterCounts) -> Layout {
        Layout::from_size_align(counts.bytes(), ALIGN).expect("a register file has less than 34 megabytes")
    }

    /// Makes all cells and rows of the family zero again, and the mask of active lanes. Temporaries keep what they have: a
    /// block writes them before it reads them.
    pub fn clear(&mut self) {
        let cells = uni_offset(Uni::ACTIVE.plus(2)) as usize;
        let rows = ROWS as usize..self.counts.temp0() as usize;
        // SAFETY: the cells end in front of the first row, and the rows in front of the temporaries; the whole block is ours.
        unsafe {
            self.ptr.write_bytes(0, cells);
            self.ptr.add(rows.start).write_bytes(0, rows.len());
        }
    }

    /// Register counts.
    #[must_use]
    pub fn counts(&self) -> RegisterCounts {
        self.counts
    }

    /// Host pointer of the register file, which offsets count from.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.ptr
    }

    /// Value of a uniform cell; 0 for one that does not exist.
    #[must_use]
    pub fn uni(&self, u: Uni) -> u32 {
        if u.0 >= Uni::COUNT {
            return 0;
        }
        // SAFETY: cells are inside the block and aligned.
        unsafe { (self.ptr.add(uni_offset(u) as usize) as *const u32).read() }
    }

    /// Writes a uniform cell; one that does not exist is ignored.
    pub fn set_uni(&mut self, u: Uni, value: u32) {
        if u.0 < Uni::COUNT {
            // SAFETY: cells are inside the block and aligned.
            unsafe { (self.ptr.add(uni_offset(u) as usize) as *mut u32).write(value) };
        }
    }

    /// Value of a pair of uniform cells.
    #[must_use]
    pub fn uni64(&self, u: Uni) -> u64 {
        u64::from(self.uni(u)) | u64::from(self.uni(u.plus(1))) << 32
    }

    /// Writes a pair of uniform cells.
    pub fn set_uni64(&mut self, u: Uni, value: u64) {
        self.set_uni(u, value as u32);
        self.set_uni(u.plus(1), (value >> 32) as u32);
    }

    /// The lanes of a row; zeros for a row that the wave lacks.
    #[must_use]
    pub fn row(&self, row: Row) -> [u32; LANES] {
        match self.counts.offset(row) {
            // SAFETY: rows are inside the block and aligned.
            Some(offset) if row.0 < Row::COUNT => unsafe {
                (self.ptr.add(offset as usize) as *const [u32; LANES]).read()
            },
            _ => [0; LANES],
        }
    }

    /// The lanes of the row that is read as register `n` of an operand that begins at `row`
    /// ([`RegisterCounts::source_nth`]).
    #[must_use]
    pub fn source_row(&self, row: Row, n: u16) -> [u32; LANES] {
        if row.0.saturating_add(n) >= Row::COUNT {
            return [0; LANES];
        }
        let offset = self.counts.source_nth(row, n);
        // SAFETY: rows that are read are inside the block and aligned; there is a first row even if it is a temporary.
        unsafe { (self.ptr.add(offset as usize) as *const [u32; LANES]).read() }
    }

    /// Cell `n` of the last result that went to cells which the wave lacks
    /// ([`RegisterCounts::lacking_result`]); 0 behind the widest one.
    #[must_use]
    pub fn lost(&self, n: u16) -> u32 {
        if u32::from(n) >= WIDEST {
            return 0;
        }
        // SAFETY: the cells are inside the block and aligned.
        unsafe { (self.ptr.add(LOST as usize) as *const u32).add(n.into()).read() }
    }

    /// Keeps cell `n` of such a result.
    pub fn set_lost(&mut self, n: u16, value: u32) {
        if u32::from(n) < WIDEST {
            // SAFETY: the cells are inside the block and aligned.
            unsafe { (self.ptr.add(LOST as usize) as *mut u32).add(n.into()).write(value) };
        }
    }

    /// Writes the lanes of a row; a row that the wave lacks is ignored.
    pub fn set_row(&mut self, row: Row, lanes: &[u32; LANES]) {
        if row.0 < Row::COUNT
            && let Some(offset) = self.counts.offset(row)
        {
            // SAFETY: rows are inside the block and aligned.
            unsafe { (self.ptr.add(offset as usize) as *mut [u32; LANES]).write(*lanes) };
        }
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, Self::layout(self.counts)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_rows_do_not_overlap() {
        assert!(uni_offset(Uni(Uni::COUNT)) <= ALL_LANES);
        let counts = RegisterCounts::of_rows([8, 4]);
        let mut regs = Registers::new(counts);
        for n in 0..Uni::COUNT {
            regs.set_uni(Uni(n), 1000 + u32::from(n));
        }
        let rows: Vec<Row> = counts.all_rows().chain((0..16).map(Row::temp)).collect();
        for (i, row) in rows.iter().enumerate() {
            regs.set_row(*row, &[i as u32; LANES]);
        }
        for n in 0..Uni::COUNT {
            assert_eq!(regs.uni(Uni(n)), 1000 + u32::from(n));
        }
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(regs.row(*row), [i as u32; LANES]);
        }
    }

    /// Engines read the pair with the address of private memory unchecked.
    #[test]
    fn a_pair_of_cells_is_one_of_a_family() {
        assert_eq!(CellPair::new(Uni(Uni::ACTIVE.0 - 2)).first(), Uni(Uni::ACTIVE.0 - 2));
        for first in [33, Uni::ACTIVE.0 - 1, Uni::ACTIVE.0, Uni::COUNT, u16::MAX] {
            assert!(std::panic::catch_unwind(|| CellPair::new(Uni(first))).is_err(), "{first}");
        }
    }

    #[test]
    fn what_is_read_in_place_of_rows_and_cells_that_the_wave_lacks() {
        let mut regs = Registers::new(RegisterCounts::of_rows([2, 0]));
        regs.set_row(Row(0), &[10; LANES]);
        regs.set_row(Row(1), &[11; LANES]);
        regs.set_row(Row::temp(3), &[12; LANES]);
        let read = |row, n| regs.source_row(row, n)[5];
        assert_eq!([read(Row(0), 1), read(Row(1), 0), read(Row(1), 1), read(Row(7), 0)], [11, 11, 10, 10]);
        assert_eq!([read(Row::temp(2), 1), read(Row(u16::MAX), 3), read(Row::temp(15), 1)], [12, 0, 0]);
        for n in 0..16 {
            regs.set_lost(n, 100 + u32::from(n));
        }
        regs.set_lost(16, 1);
        assert!((0..16).all(|n| regs.lost(n) == 100 + u32::from(n)));
        assert_eq!((regs.lost(16), regs.row(Row(0))), (0, [10; LANES]));
    }

    #[test]
    fn registers_that_the_wave_lacks() {
        let counts = RegisterCounts::of_rows([8, 0]);
        assert_eq!(counts.source(Row(8)), counts.source(Row(0)));
        assert_eq!(counts.source_nth(Row(7), 0), counts.source(Row(7)));
        assert_eq!(counts.source_nth(Row(7), 1), counts.source(Row(0)));
        assert!(counts.has(Row(4), 4) && !counts.has(Row(4), 5));
        let full = RegisterCounts::of_rows([256, 4]);
        assert!(full.has(Row(255), 1) && !full.has(Row(255), 2));
        assert!(full.has(Row::second(0), 4) && !full.has(Row::second(3), 2));
        assert_eq!(counts.offset(RegisterCounts::step(3)), Some(counts.step_row(3)));
        let dump = counts.dest(Row(9));
        assert!((0..8).all(|n| counts.dest(Row(n)) != dump));
        assert!(dump + ROW_BYTES <= counts.bytes() as u32);
    }
}
