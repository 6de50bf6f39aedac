//! The only place where guest memory is touched.
//!
//! Guest programs may race; a race of theirs must not become undefined behaviour of ours. So host memory that backs
//! guest memory is never borrowed as `&` or `&mut`: it is read and written through raw pointers, with relaxed atomics
//! for naturally aligned 1, 2, 4 and 8-byte accesses (they never tear), byte by byte otherwise, and with inline
//! assembly, which the compiler cannot reason about, for whole rows.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

macro_rules! accessors {
    ($load:ident, $store:ident, $int:ty, $atomic:ty) => {
        /// Loads a little-endian value.
        ///
        /// # Safety
        /// `p` is valid for reads of the value's size and stays so during the call; others may write it.
        #[inline(always)]
        pub(crate) unsafe fn $load(p: *const u8) -> $int {
            // SAFETY: validity is the caller's promise; alignment is tested before the atomic view is made.
            unsafe {
                if (p as usize).is_multiple_of(size_of::<$int>()) {
                    <$int>::from_le(<$atomic>::from_ptr(p as *mut $int).load(Relaxed))
                } else {
                    let mut bytes = [0u8; size_of::<$int>()];
                    for (i, b) in bytes.iter_mut().enumerate() {
                        *b = AtomicU8::from_ptr(p.add(i) as *mut u8).load(Relaxed);
                    }
                    <$int>::from_le_bytes(bytes)
                }
            }
        }

        /// Stores a value in little-endian order.
        ///
        /// # Safety
        /// `p` is valid for writes of the value's size and stays so during the call; others may access it.
        #[inline(always)]
        pub(crate) unsafe fn $store(p: *mut u8, value: $int) {
            // SAFETY: as above.
            unsafe {
                if (p as usize).is_multiple_of(size_of::<$int>()) {
                    <$atomic>::from_ptr(p as *mut $int).store(value.to_le(), Relaxed);
                } else {
                    for (i, b) in value.to_le_bytes().into_iter().enumerate() {
                        AtomicU8::from_ptr(p.add(i)).store(b, Relaxed);
                    }
                }
            }
        }
    };
}

accessors!(load_u16, store_u16, u16, AtomicU16);
accessors!(load_u32, store_u32, u32, AtomicU32);
accessors!(load_u64, store_u64, u64, AtomicU64);

/// Loads a byte.
///
/// # Safety
/// `p` is valid for reads of one byte.
#[inline(always)]
pub(crate) unsafe fn load_u8(p: *const u8) -> u8 {
    // SAFETY: the caller's promise.
    unsafe { AtomicU8::from_ptr(p as *mut u8).load(Relaxed) }
}

/// Stores a byte.
///
/// # Safety
/// `p` is valid for writes of one byte.
#[inline(always)]
pub(crate) unsafe fn store_u8(p: *mut u8, value: u8) {
    // SAFETY: the caller's promise.
    unsafe { AtomicU8::from_ptr(p).store(value, Relaxed) }
}

/// Copies the 256 bytes of a row between guest memory and a register row. Each aligned dword moves as a whole.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of 256 bytes; the ranges do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_row(dst: *mut u8, src: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the assembly reads 256 bytes at `src` and writes 256 bytes at `dst`, as the caller allows, and clobbers
    // only the registers that it names.
    unsafe {
        std::arch::asm!(
            "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {c}, [{s} + 32]", "movups {d}, [{s} + 48]",
            "movups [{t}], {a}", "movups [{t} + 16], {b}", "movups [{t} + 32], {c}", "movups [{t} + 48], {d}",
            "movups {a}, [{s} + 64]", "movups {b}, [{s} + 80]", "movups {c}, [{s} + 96]", "movups {d}, [{s} + 112]",
            "movups [{t} + 64], {a}", "movups [{t} + 80], {b}", "movups [{t} + 96], {c}", "movups [{t} + 112], {d}",
            "movups {a}, [{s} + 128]", "movups {b}, [{s} + 144]", "movups {c}, [{s} + 160]", "movups {d}, [{s} + 176]",
            "movups [{t} + 128], {a}", "movups [{t} + 144], {b}", "movups [{t} + 160], {c}", "movups [{t} + 176], {d}",
            "movups {a}, [{s} + 192]", "movups {b}, [{s} + 208]", "movups {c}, [{s} + 224]", "movups {d}, [{s} + 240]",
            "movups [{t} + 192], {a}", "movups [{t} + 208], {b}", "movups [{t} + 224], {c}", "movups [{t} + 240], {d}",
            s = in(reg) src, t = in(reg) dst,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    for i in 0..64 {
        // SAFETY: within the 256 bytes that the caller vouches for.
        unsafe { store_u32(dst.add(4 * i), load_u32(src.add(4 * i))) };
    }
}

/// Copies bytes out of guest memory.
///
/// # Safety
/// `src` is valid for reads of `dst.len()` bytes.
pub(crate) unsafe fn read_bytes(src: *const u8, dst: &mut [u8]) {
    let (head, tail) = dst.split_at_mut(dst.len() & !7);
    for (i, chunk) in head.chunks_exact_mut(8).enumerate() {
        // SAFETY: within `dst.len()` bytes.
        chunk.copy_from_slice(&unsafe { load_u64(src.add(8 * i)) }.to_le_bytes());
    }
    for (i, b) in tail.iter_mut().enumerate() {
        // SAFETY: within `dst.len()` bytes.
        *b = unsafe { load_u8(src.add(head.len() + i)) };
    }
}

/// Copies bytes into guest memory.
///
/// # Safety
/// `dst` is valid for writes of `src.len()` bytes.
pub(crate) unsafe fn write_bytes(dst: *mut u8, src: &[u8]) {
    let (head, tail) = src.split_at(src.len() & !7);
    for (i, chunk) in head.chunks_exact(8).enumerate() {
        let value = u64::from_le_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        // SAFETY: within `src.len()` bytes.
        unsafe { store_u64(dst.add(8 * i), value) };
    }
    for (i, b) in tail.iter().enumerate() {
        // SAFETY: within `src.len()` bytes.
        unsafe { store_u8(dst.add(head.len() + i), *b) };
    }
}
