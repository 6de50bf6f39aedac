//! Limits the memory that metadata may use.

/// Memory that the items of metadata may still take, in bytes.
///
/// An item of one byte becomes a node of several dozen bytes: without a bound, a file of megabytes
/// would need gigabytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    left: usize,
    all: usize,
}

/// Any metadata may use this much, in bytes.
const BASE: usize = 4 << 20;

/// The allocator's overhead per text or list, in bytes.
const ALLOCATION: usize = 16;

impl Allowance {
    /// No bound: skipping uses no memory.
    pub(super) const UNLIMITED: Allowance = Allowance { left: usize::MAX, all: usize::MAX };

    /// `factor` times the size of the metadata in bytes, and a little more.
    pub(super) fn new(size: usize, factor: usize) -> Self {
        let all = size.saturating_mul(factor).saturating_add(BASE);
        Allowance { left: all, all }
    }

    /// Charges the memory of `count` items of a type.
    ///
    /// # Errors
    /// Fails with the reason if not enough memory is left.
    pub(super) fn spend<T>(&mut self, count: usize) -> Result<(), String> {
        self.spend_bytes(count.saturating_mul(size_of::<T>()))
    }

    /// Charges the memory of a list of `length` items of a type.
    ///
    /// # Errors
    /// As [`Allowance::spend`].
    pub(super) fn spend_list<T>(&mut self, length: usize) -> Result<(), String> {
        self.spend_text(length.saturating_mul(size_of::<T>()))
    }

    /// Charges the memory of a text of `length` bytes.
    ///
    /// # Errors
    /// As [`Allowance::spend`].
    pub(super) fn spend_text(&mut self, length: usize) -> Result<(), String> {
        self.spend_bytes(if length == 0 { 0 } else { length.saturating_add(ALLOCATION) })
    }

    fn spend_bytes(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let all = self.all;
            format!("the items of its lists and maps need more than {all} bytes of memory; no compiler writes so many")
        })?;
        Ok(())
    }

    /// The memory that is left; pass it to [`Allowance::give_back`] to restore this state.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Frees the items that were read since [`Allowance::left`] returned `left`.
    pub(super) fn give_back(&mut self, left: usize) {
        self.left = left;
    }
}
