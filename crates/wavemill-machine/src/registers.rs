//! The register file of a wave: one block of host memory with all cells and rows.

mod absent;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use wavemill_ir::analysis::RegisterSet;
use wavemill_ir::{LANES, Operand, Row, Uni};

/// Bytes of a row.
pub const ROW_BYTES: u32 = 4 * LANES as u32;
/// Offset of a 64-bit cell that is always all ones: the mask of operations on all lanes.
pub const ALL_LANES: u32 = 1168;
/// Offset of a 64-bit mask for an engine's own use, such as the mask of a lane permutation for the
/// next operation.
pub const STEP_MASK: u32 = 1176;
/// Offset of the cells for unused uniform results; they hold the widest one.
pub const DUMP: u32 = 1184;
/// Offset of the cells for uniform results whose destination the wave lacks: later operations of
/// the guest instruction read them there ([`Registers::lost`]).
pub const LOST: u32 = DUMP + 4 * WIDEST;
/// Cells of the widest uniform result.
const WIDEST: u32 = 16;
/// Offset of the first row.
const ROWS: u32 = 1344;
/// Rows after the IR temporaries for steps of engines. Copies of the widest sources take 48: those
/// of a matrix product. The attributes of an operation take 12.
pub const STEP_ROWS: u32 = 60;
/// Rows for results whose destination the wave lacks. Operations with such results are not
/// compiled; these rows keep offsets inside the register file in any case.
const DUMP_ROWS: u32 = 4;

/// Two adjacent cells that instruction families can have. Engines access them unchecked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct CellPair(Uni);

impl CellPair {
    /// The pair that begins at an even cell.
    ///
    /// # Panics
    /// If families do not have these cells: their cells end before [`Uni::ACTIVE`].
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

/// The registers that a wave has; determines the offsets of its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RegisterCounts {
    /// Number of cells, from 0 on, that hold registers of the instruction family.
    pub cells: u16,
    /// The range of cells that instructions can name but that the wave was not allocated: the first
    /// cell, and the cell after the last. They read as cell 0, and writes to them are lost.
    pub absent: (Uni, Uni),
    /// The pair of cells that holds the address of the wave's private memory.
    pub private_base: CellPair,
    /// Rows of each bank that the wave was allocated. A row that it lacks reads as the very first
    /// row, and writes to it are lost.
    pub rows: [u16; Row::BANKS],
}

impl RegisterCounts {
    /// All cells that a family can have, and this many rows of each bank.
    #[must_use]
    pub const fn of_rows(rows: [u16; Row::BANKS]) -> RegisterCounts {
        RegisterCounts {
            cells: Uni::ACTIVE.0,
            absent: (Uni::ACTIVE, Uni::ACTIVE),
            private_base: CellPair::new(Uni(Uni::ACTIVE.0 - 2)),
            rows,
        }
    }

    /// The number of cells, from 0 on, that the wave was allocated of those that instructions name.
    #[must_use]
    pub const fn allocated_cells(self) -> u16 {
        self.absent.0.0
    }

    /// Rows of both banks.
    fn persistent_rows(self) -> u32 {
        self.rows.iter().map(|rows| u32::from(*rows)).sum()
    }

    /// Size of a register file in bytes.
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

    /// Offset for reads of a row.
    pub fn source(self, row: Row) -> u32 {
        self.source_nth(row, 0)
    }

    /// Offset for reads of register `n` of an operand that begins at `row`. The rule for registers
    /// that the wave lacks applies to each register of an operand (*modelled*: manuals describe
    /// single registers).
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

    /// Offset for reads of cells. An operand that begins at a cell that the wave lacks reads as if
    /// it began at cell 0 (*modelled* for pairs and wider operands: manuals describe single
    /// registers).
    pub fn uniform_source(self, cell: Uni) -> u32 {
        uni_offset(if self.lacks(cell) { Uni(0) } else { cell })
    }

    /// Offset for writes of cells; writes to a cell that the wave lacks are [lost](LOST).
    pub fn uniform_dest(self, cell: Uni) -> u32 {
        if self.lacks(cell) { LOST } else { uni_offset(cell) }
    }

    /// The engine's own row `n` as a row of the IR, after the temporaries.
    pub fn step(n: u16) -> Row {
        Row::temp(Row::TEMPS + n)
    }

    /// Offset for writes of a row; writes to a row that the wave lacks are discarded.
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

/// Registers that waves need zeroed at their start ([`Registers::clear_only`]).
#[derive(Clone, Debug)]
pub struct ClearedRegisters {
    counts: RegisterCounts,
    /// Where they are in the register file.
    ranges: Vec<Range<usize>>,
}

impl ClearedRegisters {
    /// Those of a set that the waves have and that live as long as a wave.
    #[must_use]
    pub fn new(counts: RegisterCounts, set: RegisterSet) -> ClearedRegisters {
        let cells = counts.persistent_cells().filter(|cell| set.contains(*cell));
        let cells = cells.map(|cell| (uni_offset(cell), 4));
        let rows = counts.all_rows().filter(|row| set.contains(*row));
        let rows = rows.filter_map(|row| Some((counts.offset(row)?, ROW_BYTES)));
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (start, bytes) in cells.chain(rows) {
            let (start, end) = (start as usize, (start + bytes) as usize);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ClearedRegisters { counts, ranges }
    }

    /// Bytes that are cleared.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Bytes of a cache line. Register files begin at one.
const LINE: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; LINE / 8]);

/// What registers have in common that many waves start with ([`Registers::copy_image`]).
#[derive(Clone, Debug)]
pub struct RegisterImage {
    counts: RegisterCounts,
    /// The first line of each range in the register file, and how many there are.
    ranges: Vec<(usize, usize)>,
    /// The lines of all ranges.
    lines: Vec<Line>,
    /// The rows in them that may be other than zero.
    rows: Vec<Row>,
}

impl RegisterImage {
    /// An image of registers of a wave, with those next to them. Temporaries are not among them.
    #[must_use]
    pub fn new(from: &Registers, registers: &ClearedRegisters) -> RegisterImage {
        const SMALL_GAP: usize = 2;
        let active = uni_offset(Uni::ACTIVE) as usize;
        let mut parts: Vec<Range<usize>> = registers.ranges.clone();
        parts.push(active..active + 8);
        parts.sort_unstable_by_key(|part| part.start);
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for part in parts {
            let (first, end) = (part.start / LINE, part.end.div_ceil(LINE));
            match ranges.last_mut() {
                Some((start, count)) if first <= *start + *count + SMALL_GAP => {
                    *count = (*count).max(end - *start);
                }
                _ => ranges.push((first, end - first)),
            }
        }
        let line = |n: usize| {
            // SAFETY: the ranges are inside the block, which is aligned; all of it is initialised.
            unsafe { *(from.ptr.add(LINE * n) as *const Line) }
        };
        let lines = ranges.iter().flat_map(|(first, count)| (*first..first + count).map(line)).collect();
        let rows = from.written.rows.rows().collect();
        RegisterImage { counts: from.counts, ranges, lines, rows }
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
    /// Apart, as waves exchange their register files.
    written: Box<Written>,
}

/// The rows of a register file that may be other than zero: only those are cleared.
#[derive(Debug, Default)]
struct Written {
    rows: RegisterSet,
    /// Where they are, and how many bytes.
    ranges: Vec<Range<usize>>,
    bytes: usize,
    /// The version of the rows that were noted last.
    version: u64,
}

impl Written {
    #[cold]
    fn add(&mut self, counts: RegisterCounts, more: &WrittenRows) {
        self.version = more.version;
        self.set(counts, self.rows.union(more.rows));
    }

    fn set(&mut self, counts: RegisterCounts, rows: RegisterSet) {
        if rows != self.rows {
            let without_cells = rows.rows().map(Operand::Row).collect();
            let cleared = ClearedRegisters::new(counts, without_cells);
            (self.bytes, self.ranges) = (cleared.bytes(), cleared.ranges);
            self.rows = rows;
        }
    }
}

/// The rows that the code of an engine may write, in a growing set.
#[derive(Debug, Default)]
pub struct WrittenRows {
    rows: RegisterSet,
    /// Different for all sets that are not empty.
    version: u64,
}

impl WrittenRows {
    /// Adds registers.
    pub fn add(&mut self, more: RegisterSet) {
        static VERSIONS: AtomicU64 = AtomicU64::new(1);
        let all = self.rows.union(more);
        if all != self.rows {
            self.rows = all;
            self.version = VERSIONS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: only this value owns the block.
unsafe impl Send for Registers {}

const ALIGN: usize = LINE;

impl Registers {
    /// A zeroed register file.
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
        Registers { ptr, counts, written: Box::default() }
    }

    fn layout(counts: RegisterCounts) -> Layout {
        Layout::from_size_align(counts.bytes(), ALIGN).expect("a register file has less than 34 megabytes")
    }

    /// Zeroes all cells and rows of the family, and the mask of active lanes. Temporaries keep
    /// their values: a block writes them before it reads them.
    pub fn clear(&mut self) {
        let cells = uni_offset(Uni::ACTIVE.plus(2)) as usize;
        // SAFETY: the cells end before the first row, and the ranges are rows before the temporaries;
        // this value owns the whole block.
        unsafe {
            self.ptr.write_bytes(0, cells);
            for range in &self.written.ranges {
                self.ptr.add(range.start).write_bytes(0, range.len());
            }
        }
        debug_assert!(
            self.counts.all_rows().all(|row| self.row(row) == [0; LANES]),
            "code has written a row that was not noted"
        );
    }

    /// Bytes that [`Registers::clear`] writes.
    #[must_use]
    pub fn bytes_to_clear(&self) -> usize {
        uni_offset(Uni::ACTIVE.plus(2)) as usize + self.written.bytes
    }

    /// Takes note of rows that code may have written through [`Registers::base`].
    #[inline]
    pub fn note_written(&mut self, rows: &WrittenRows) {
        if self.written.version != rows.version {
            self.written.add(self.counts, rows);
        }
    }

    /// Zeroes these registers alone, and the mask of active lanes.
    ///
    /// # Panics
    /// If they are those of other counts.
    pub fn clear_only(&mut self, cleared: &ClearedRegisters) {
        assert_eq!(cleared.counts, self.counts, "the registers are those of other waves");
        for range in &cleared.ranges {
            // SAFETY: the ranges are inside the block for these counts; this value owns it.
            unsafe { self.ptr.add(range.start).write_bytes(0, range.len()) };
        }
        self.set_uni64(Uni::ACTIVE, 0);
    }

    /// Sets the registers of an image.
    ///
    /// # Panics
    /// If they are those of other counts.
    pub fn copy_image(&mut self, image: &RegisterImage) {
        assert_eq!(image.counts, self.counts, "the registers are those of other waves");
        let mut lines = image.lines.iter();
        for (first, count) in &image.ranges {
            for (n, line) in (*first..first + count).zip(&mut lines) {
                // SAFETY: the ranges are inside the block for these counts, which is aligned; this value owns it.
                unsafe { (self.ptr.add(LINE * n) as *mut Line).write(*line) };
            }
        }
        for row in &image.rows {
            self.note_row(*row);
        }
    }

    /// Whether another register file has the same in these registers.
    pub(crate) fn are_equal_in(&self, other: &Registers, registers: &ClearedRegisters) -> bool {
        let bytes = |regs: &Registers, range: &Range<usize>| {
            // SAFETY: the ranges are inside the block for these counts, all of which is initialised.
            unsafe { std::slice::from_raw_parts(regs.ptr.add(range.start), range.len()).to_vec() }
        };
        let same = |range| bytes(self, range) == bytes(other, range);
        self.counts == other.counts && self.counts == registers.counts && registers.ranges.iter().all(same)
    }

    /// Copies these registers from a register file, and the mask of active lanes.
    pub fn copy_only(&mut self, from: &Registers, set: RegisterSet) {
        for cell in self.counts.persistent_cells().filter(|cell| *cell >= Uni::ACTIVE || set.contains(*cell))
        {
            self.set_uni(cell, from.uni(cell));
        }
        for row in self.counts.all_rows().filter(|row| set.contains(*row)) {
            self.set_row(row, &from.row(row));
        }
    }

    /// Register counts.
    #[must_use]
    pub fn counts(&self) -> RegisterCounts {
        self.counts
    }

    /// Host pointer to the register file; offsets are relative to it.
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

    /// The lanes of register `n` of an operand that begins at `row`, as reads see them
    /// ([`RegisterCounts::source_nth`]).
    #[must_use]
    pub fn source_row(&self, row: Row, n: u16) -> [u32; LANES] {
        if row.0.saturating_add(n) >= Row::COUNT {
            return [0; LANES];
        }
        let offset = self.counts.source_nth(row, n);
        // SAFETY: rows for reads are inside the block and aligned; the first row exists, even if it
        // is a temporary.
        unsafe { (self.ptr.add(offset as usize) as *const [u32; LANES]).read() }
    }

    /// Cell `n` of the last result whose destination the wave lacks
    /// ([`RegisterCounts::lacking_result`]); 0 after the widest one.
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
            self.note_row(row);
        }
    }

    /// Takes note that a row may be other than zero.
    #[inline]
    fn note_row(&mut self, row: Row) {
        if !self.written.rows.contains(row) {
            let mut rows = self.written.rows;
            rows.insert(row);
            self.written.set(self.counts, rows);
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

    /// Engines read the pair with the address of private memory without a check.
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
