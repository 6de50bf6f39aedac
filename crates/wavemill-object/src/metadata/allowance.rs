//! How much memory metadata may take.

/// Memory that the items of metadata may still take, in bytes.
///
/// An item of one byte becomes a node of some dozen bytes: without a bound, a file of megabytes takes gigabytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    left: usize,
    all: usize,
}

/// Any metadata may take so much, in bytes.
const BASE: usize = 4 << 20;

/// What the allocator needs beside the bytes of a text or a list.
const ALLOCATION: usize = 16;

impl Allowance {
    /// No bound: what is stepped over takes no memory.
    pub(super) const UNLIMITED: Allowance = Allowance { left: usize::MAX, all: usize::MAX };

    /// `factor` times the size of the metadata in bytes, and a little more.
    pub(super) fn new(size: usize, factor: usize) -> Self {
        let all = size.saturating_mul(factor).saturating_add(BASE);
        Allowance { left: all, all }
    }

    /// Takes the memory of so many items of a type.
    ///
    /// # Errors
    /// What is wrong with the metadata, when there is not so much memory left.
    pub(super) fn spend<T>(&mut self, count: usize) -> Result<(), String> {
        self.spend_bytes(count.saturating_mul(size_of::<T>()))
    }

    /// Takes the memory of a list of so many items of a type.
    ///
    /// # Errors
    /// As [`Allowance::spend`].
    pub(super) fn spend_list<T>(&mut self, length: usize) -> Result<(), String> {
        self.spend_text(length.saturating_mul(size_of::<T>()))
    }

    /// Takes the memory of a text that has so many bytes.
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

    /// What is left; [`Allowance::give_back`] takes it as the state to go back to.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The items that were read since [`Allowance::left`] said `left` are gone.
    pub(super) fn give_back(&mut self, left: usize) {
        self.left = left;
    }
}
