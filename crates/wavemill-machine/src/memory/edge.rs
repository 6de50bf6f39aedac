//! Aligned dwords of which only some bytes are in memory that a guest may access.
//!
//! No target has atomics on 8 or 16 bits in memory. Compilers use those on the aligned dword around
//! the value, and leave its other bytes as they are. At the end of an allocation, or at its
//! beginning, some of these bytes are outside. Such an atomic works as if they were 0: they are not
//! read, and it is refused if it might change them.

use wavemill_ir::AtomicOp;

use super::MemoryMap;
use crate::fault::Access;
use crate::raw;

/// An aligned dword that is not in one allocation, with at least one byte that is in some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Host pointer of the dword.
    dword: *mut u8,
    /// For each byte the number of its allocation among those of the dword, from 1 on; 0 for bytes
    /// outside.
    parts: [u8; 4],
}

impl MemoryMap {
    /// The dword at an address, if some of its bytes allow the access and they are not in one
    /// allocation with all others. `None` for addresses that are no multiple of 4.
    #[must_use]
    pub fn edge(&self, address: u64, access: Access) -> Option<Edge> {
        if !address.is_multiple_of(4) {
            return None;
        }
        let (mut parts, mut dword, mut last, mut count) = ([0; 4], None, None, 0);
        for (n, part) in parts.iter_mut().enumerate() {
            let at = address + n as u64;
            let Some(allocation) = self.find(at) else { continue };
            let Some(allowed) = allocation.allowed(at, access) else { continue };
            let host = allocation.host().wrapping_add((at - allocation.start) as usize).wrapping_sub(n);
            // Bytes of two allocations are one dword only if they are one on the host, too.
            if *dword.get_or_insert(host) != host {
                continue;
            }
            if last.replace(allowed.start) != Some(allowed.start) {
                count += 1;
            }
            *part = count;
        }
        let dword = dword.filter(|host| host.addr().is_multiple_of(4))?;
        (parts != [1; 4]).then_some(Edge { dword, parts })
    }
}

impl Edge {
    /// Bit `n` is set if byte `n` is in an allocation.
    fn inside(self) -> u32 {
        (0..4).filter(|n| self.parts[*n] != 0).map(|n| 1 << n).sum()
    }

    /// The bits of the dword that are in an allocation.
    fn bits(self) -> u32 {
        u32::from_le_bytes(self.parts.map(|part| if part == 0 { 0 } else { 0xff }))
    }

    /// Whether an atomic with these data changes bytes of one allocation at most, and none outside.
    #[must_use]
    pub fn allows(self, op: AtomicOp, data: u32, second: u32) -> bool {
        let bytes = changed_bits(op, data, second).to_le_bytes();
        let mut changed = (0..4).filter(|n| bytes[*n] != 0).map(|n| self.parts[n]);
        match changed.next() {
            None => true,
            Some(first) => first != 0 && changed.all(|part| part == first),
        }
    }

    /// The value of the dword; bytes outside are 0.
    ///
    /// # Safety
    /// The view that it comes from exists, and allows loads there.
    #[must_use]
    pub unsafe fn load(self) -> u32 {
        let at = |n: usize| self.dword.wrapping_add(n);
        // SAFETY: the bytes are in allocations, which the view keeps.
        unsafe {
            match self.inside() {
                0b0011 => raw::load_u16(at(0)).into(),
                0b1100 => u32::from(raw::load_u16(at(2))) << 16,
                0b1111 => raw::load_u32(at(0)),
                inside => (0..4)
                    .filter(|n| inside >> n & 1 != 0)
                    .map(|n| u32::from(raw::load_u8(at(n))) << (8 * n))
                    .sum(),
            }
        }
    }

    /// Replaces the bytes in allocations with those of the result of `next`, as one sequentially
    /// consistent step, and returns the old value. `next` receives 0 for bytes outside, and may be
    /// called several times.
    ///
    /// Bytes outside are not accessed if the others are one byte, or an aligned half. Else they are
    /// part of an exchange of the host that puts back what it finds: what others write there
    /// meanwhile is not lost.
    ///
    /// # Safety
    /// The view that it comes from exists, and allows atomics there.
    pub unsafe fn update(self, next: impl Fn(u32) -> u32) -> u32 {
        let (inside, bits) = (self.inside(), self.bits());
        let at = |n: u32| self.dword.wrapping_add(n as usize);
        // SAFETY: the bytes are in allocations, which the view keeps. Those outside are in the same aligned dword, so
        // they are in the same page; the pointer to them may access what the host knows there.
        unsafe {
            match inside {
                0b0011 | 0b1100 => {
                    let first = inside.trailing_zeros();
                    let shift = 8 * first;
                    let old =
                        raw::update_u16(at(first), |old| (next(u32::from(old) << shift) >> shift) as u16);
                    u32::from(old) << shift
                }
                0b0001 | 0b0010 | 0b0100 | 0b1000 => {
                    let first = inside.trailing_zeros();
                    let shift = 8 * first;
                    let old = raw::update_u8(at(first), |old| (next(u32::from(old) << shift) >> shift) as u8);
                    u32::from(old) << shift
                }
                _ => {
                    let whole = std::ptr::with_exposed_provenance_mut(self.dword.expose_provenance());
                    raw::update_u32(whole, |old| next(old & bits) & bits | old & !bits) & bits
                }
            }
        }
    }
}

/// The bits that an atomic may change of a dword, if they are 0 before. Of operations that no compiler uses for smaller
/// values: all.
fn changed_bits(op: AtomicOp, data: u32, second: u32) -> u32 {
    match op {
        AtomicOp::CmpSwap => data ^ second,
        AtomicOp::And => !data,
        AtomicOp::Or | AtomicOp::Xor => data,
        // Adding a zero of either sign changes nothing.
        AtomicOp::PkAddF16 | AtomicOp::PkAddBf16 => {
            [0xffff, 0xffff_0000].into_iter().filter(|half| data & half & 0x7fff_7fff != 0).sum()
        }
        _ => !0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AddressMode, GuestMemory};
    use super::*;

    /// Memory of the host, of which the guest has the bytes from `first` on.
    fn imported(host: &mut [u64; 2], first: usize, size: u64) -> (GuestMemory, u64) {
        let memory = GuestMemory::new(AddressMode::Identity);
        let start = host.as_mut_ptr().cast::<u8>();
        // SAFETY: the tests keep the memory, and access it by `Edge` alone meanwhile.
        let address = unsafe { memory.import("a", start.add(first), size) }.unwrap();
        (memory, address - first as u64)
    }

    #[test]
    fn bytes_outside_read_as_zero_and_stay() {
        for first in 0..4usize {
            for end in first + 1..=4 {
                let mut host = [0x8877_6655_4433_2211u64, 0];
                let (memory, start) = imported(&mut host, first, (end - first) as u64);
                let map = memory.snapshot();
                let edge = map.edge(start, Access::Atomic);
                if (first, end) == (0, 4) {
                    assert!(edge.is_none());
                    continue;
                }
                let edge = edge.unwrap();
                let bits = (first..end).map(|n| 0xff << (8 * n)).sum::<u32>();
                // SAFETY: the view exists.
                let (loaded, old) = unsafe { (edge.load(), edge.update(|old| !old)) };
                assert_eq!((loaded, old), (0x4433_2211 & bits, 0x4433_2211 & bits), "{first}..{end}");
                // SAFETY: as above.
                assert_eq!(unsafe { edge.load() }, !0x4433_2211 & bits, "{first}..{end}");
                drop((map, memory));
                assert_eq!(host[0], 0x8877_6655_4433_2211 ^ u64::from(bits), "{first}..{end}");
            }
        }
    }

    #[test]
    fn only_a_dword_that_memory_has_a_part_of_is_an_edge() {
        let mut host = [0; 2];
        let (memory, start) = imported(&mut host, 0, 6);
        let map = memory.snapshot();
        assert!(map.edge(start, Access::Load).is_none(), "it is inside");
        assert!(map.edge(start + 4, Access::Load).is_some());
        assert!(map.edge(start + 8, Access::Load).is_none(), "it is outside");
        assert!(
            map.edge(start + 5, Access::Load).is_none() && map.edge(u64::MAX - 3, Access::Load).is_none()
        );
        memory.protect(start..start + 6, "code").unwrap();
        let map = memory.snapshot();
        assert!(map.edge(start + 4, Access::Load).is_some() && map.edge(start + 4, Access::Atomic).is_none());
    }

    #[test]
    fn an_atomic_changes_one_allocation_at_most() {
        let mut host = [0; 2];
        let start = host.as_mut_ptr().cast::<u8>();
        let memory = GuestMemory::new(AddressMode::Identity);
        // SAFETY: the memory outlives the test, which does not access it.
        let a = unsafe { memory.import("a", start, 6) }.unwrap();
        // SAFETY: as above.
        unsafe { memory.import("b", start.add(6), 6) }.unwrap();
        let edge = memory.snapshot().edge(a + 4, Access::Atomic).unwrap();
        let or = |data| edge.allows(AtomicOp::Or, data, 0);
        assert!(or(0) && or(0xffff) && or(0xffff_0000) && !or(0x0001_8000) && !or(!0));
    }

    #[test]
    fn operations_of_smaller_values_keep_the_bytes_outside() {
        let mut host = [0; 2];
        let (memory, start) = imported(&mut host, 0, 6);
        let edge = memory.snapshot().edge(start + 4, Access::Atomic).unwrap();
        for (op, data, second, allowed) in [
            (AtomicOp::CmpSwap, 0x1234, 0x5678, true),
            (AtomicOp::CmpSwap, 0x7777_1234, 0x7777_5678, true),
            (AtomicOp::CmpSwap, 0x0001_0000, 0, false),
            (AtomicOp::And, 0xffff_0000, 0, true),
            (AtomicOp::And, 0xfffe_0000, 0, false),
            (AtomicOp::Or, 0xffff, 0, true),
            (AtomicOp::Or, 0x8000_0000, 0, false),
            (AtomicOp::Xor, 0x1_0000, 0, false),
            (AtomicOp::PkAddF16, 0x8000_3c00, 0, true),
            (AtomicOp::PkAddF16, 0x3c00_3c00, 0, false),
            (AtomicOp::PkAddBf16, 0x3f80, 0, true),
            (AtomicOp::PkAddBf16, 0x0001_3f80, 0, false),
            // A value of 32 bits that is not in memory as a whole.
            (AtomicOp::Add, 1, 0, false),
            (AtomicOp::Swap, 0, 0, false),
            (AtomicOp::AddF, 0, 0, false),
        ] {
            assert_eq!(edge.allows(op, data, second), allowed, "{op:?} {data:#x} {second:#x}");
        }
    }
}
