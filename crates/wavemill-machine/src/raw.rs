//! All accesses to guest memory.
//!
//! Guest programs may race; a guest race must not be undefined behaviour of the host. Host memory
//! that backs guest memory is therefore never borrowed as `&` or `&mut`. Naturally aligned accesses
//! of 1, 2, 4 and 8 bytes use raw pointers and relaxed atomics, and never tear. Other accesses go
//! byte by byte. Whole rows use inline assembly, which the compiler cannot reason about.
//!
//! An access of several dwords moves every aligned pair of them as a whole ([`load_dwords`],
//! [`store_dwords`], [`copy_chunk`], [`avx2`], [`avx512`]), so it never sees half of a 64-bit atomic's
//! write. Vector moves of x86 do not tear aligned pairs: they are split at most where cache lines end.

#[cfg(target_arch = "x86_64")]
mod vector;

#[cfg(target_arch = "x86_64")]
pub use vector::{avx2, avx512};

use std::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

macro_rules! accessors {
    ($load:ident, $store:ident, $int:ty, $atomic:ty) => {
        /// Loads a little-endian value.
        ///
        /// # Safety
        /// `p` is valid for reads of the value's size and stays so during the call; others may write it.
        #[inline(always)]
        pub unsafe fn $load(p: *const u8) -> $int {
            // SAFETY: the caller guarantees validity; the code tests alignment before it makes the
            // atomic view.
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
        pub unsafe fn $store(p: *mut u8, value: $int) {
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

/// Replaces an aligned little-endian value and returns the old one, with sequentially consistent
/// ordering. Earlier writes of this thread are visible to a reader of the new value, and writes
/// before the old value are visible to this thread.
///
/// # Safety
/// `p` is aligned to 8 bytes, valid for reads and writes of 8 bytes and stays so during the call; others may access it.
pub unsafe fn swap_u64(p: *mut u8, value: u64) -> u64 {
    // SAFETY: the caller's promise.
    u64::from_le(unsafe { AtomicU64::from_ptr(p.cast()) }.swap(value.to_le(), SeqCst))
}

/// Replaces an aligned little-endian value with the result of `next`, as one sequentially
/// consistent step, and returns the old value. `next` may be called several times.
///
/// # Safety
/// `p` is aligned to 4 bytes, valid for reads and writes of 4 bytes and stays so during the call; others may access it.
pub unsafe fn update_u32(p: *mut u8, next: impl Fn(u32) -> u32) -> u32 {
    // SAFETY: the caller's promise.
    let cell = unsafe { AtomicU32::from_ptr(p.cast()) };
    let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, |old| Some(next(u32::from_le(old)).to_le()));
    u32::from_le(old)
}

/// Like [`update_u32`], for one byte.
///
/// # Safety
/// `p` is valid for reads and writes of one byte and stays so during the call; others may access it.
pub unsafe fn update_u8(p: *mut u8, next: impl Fn(u8) -> u8) -> u8 {
    // SAFETY: the caller's promise.
    let cell = unsafe { AtomicU8::from_ptr(p) };
    let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, |old| Some(next(old)));
    old
}

/// Like [`update_u32`], for 2 bytes.
///
/// # Safety
/// `p` is aligned to 2 bytes, valid for reads and writes of 2 bytes and stays so during the call; others may access it.
pub unsafe fn update_u16(p: *mut u8, next: impl Fn(u16) -> u16) -> u16 {
    // SAFETY: the caller's promise.
    let cell = unsafe { AtomicU16::from_ptr(p.cast()) };
    let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, |old| Some(next(u16::from_le(old)).to_le()));
    u16::from_le(old)
}

/// Like [`update_u32`], for 8 bytes.
///
/// # Safety
/// `p` is aligned to 8 bytes, valid for reads and writes of 8 bytes and stays so during the call; others may access it.
pub unsafe fn update_u64(p: *mut u8, next: impl Fn(u64) -> u64) -> u64 {
    // SAFETY: the caller's promise.
    let cell = unsafe { AtomicU64::from_ptr(p.cast()) };
    let (Ok(old) | Err(old)) = cell.fetch_update(SeqCst, SeqCst, |old| Some(next(u64::from_le(old)).to_le()));
    u64::from_le(old)
}

/// Loads dwords; each aligned pair of them moves as a whole.
///
/// # Safety
/// `p` is valid for reads of `4 * into.len()` bytes and stays so during the call; others may write it.
#[inline(always)]
pub unsafe fn load_dwords(p: *const u8, into: &mut [u32]) {
    // Copy one dword first if the pairs begin at odd dwords. If even the dwords are unaligned,
    // there is no guarantee.
    let head = usize::from(p as usize & 4 != 0).min(into.len());
    let (front, rest) = into.split_at_mut(head);
    let mut at = p;
    // SAFETY: `at` stays inside the range that the caller guarantees.
    unsafe {
        for dword in front {
            *dword = load_u32(at);
            at = at.add(4);
        }
        let mut pairs = rest.chunks_exact_mut(2);
        for pair in &mut pairs {
            let value = load_u64(at);
            (pair[0], pair[1]) = (value as u32, (value >> 32) as u32);
            at = at.add(8);
        }
        for dword in pairs.into_remainder() {
            *dword = load_u32(at);
        }
    }
}

/// Stores dwords; each aligned pair of them moves as a whole.
///
/// # Safety
/// `p` is valid for writes of `4 * from.len()` bytes and stays so during the call; others may access it.
#[inline(always)]
pub unsafe fn store_dwords(p: *mut u8, from: &[u32]) {
    let (front, rest) = from.split_at(usize::from(p as usize & 4 != 0).min(from.len()));
    let mut at = p;
    // SAFETY: `at` stays inside the range that the caller guarantees.
    unsafe {
        for dword in front {
            store_u32(at, *dword);
            at = at.add(4);
        }
        let pairs = rest.chunks_exact(2);
        let last = pairs.remainder();
        for pair in pairs {
            store_u64(at, u64::from(pair[0]) | u64::from(pair[1]) << 32);
            at = at.add(8);
        }
        for dword in last {
            store_u32(at, *dword);
        }
    }
}

/// Loads a byte.
///
/// # Safety
/// `p` is valid for reads of one byte.
#[inline(always)]
pub unsafe fn load_u8(p: *const u8) -> u8 {
    // SAFETY: the caller's promise.
    unsafe { AtomicU8::from_ptr(p as *mut u8).load(Relaxed) }
}

/// Stores a byte.
///
/// # Safety
/// `p` is valid for writes of one byte.
#[inline(always)]
pub unsafe fn store_u8(p: *mut u8, value: u8) {
    // SAFETY: the caller's promise.
    unsafe { AtomicU8::from_ptr(p).store(value, Relaxed) }
}

/// Copies the 256 bytes of a row between guest memory and a register row, as [`copy_chunk`] does.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of 256 bytes; the ranges do not overlap.
#[inline(always)]
pub unsafe fn copy_row(dst: *mut u8, src: *const u8) {
    for at in [0, 64, 128, 192] {
        // SAFETY: within the 256 bytes that the caller guarantees.
        unsafe { copy_chunk(dst.add(at), src.add(at)) };
    }
}

/// Copies 64 bytes between guest memory and a register row. Each aligned dword, and each aligned pair
/// of dwords, moves as a whole.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of 64 bytes; the ranges do not overlap.
#[inline(always)]
pub unsafe fn copy_chunk(dst: *mut u8, src: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the assembly reads 64 bytes at `src` and writes 64 bytes at `dst`, as the caller allows, and clobbers
    // only the registers that it names.
    unsafe {
        std::arch::asm!(
            "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {c}, [{s} + 32]", "movups {d}, [{s} + 48]",
            "movups [{t}], {a}", "movups [{t} + 16], {b}", "movups [{t} + 32], {c}", "movups [{t} + 48], {d}",
            s = in(reg) src, t = in(reg) dst,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's promise.
    unsafe {
        copy_chunk_by_pairs(dst, src);
    }
}

/// [`copy_chunk`] for hosts without vector moves here.
///
/// # Safety
/// As for [`copy_chunk`].
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
unsafe fn copy_chunk_by_pairs(dst: *mut u8, src: *const u8) {
    let mut dwords = [0; 16];
    // SAFETY: within the 64 bytes that the caller guarantees.
    unsafe {
        load_dwords(src, &mut dwords);
        store_dwords(dst, &dwords);
    }
}

/// Splits a copy of `len` bytes at the guest address `p`: the number of bytes before the first
/// aligned eight, and the number of bytes in whole eights.
fn split(p: *const u8, len: usize) -> (usize, usize) {
    let head = ((p as usize).wrapping_neg() % 8).min(len);
    (head, (len - head) & !7)
}

/// Copies fewer than eight bytes out of guest memory, in the largest aligned pieces.
///
/// # Safety
/// `src` is valid for reads of `dst.len()` bytes.
unsafe fn read_few(src: *const u8, dst: &mut [u8]) {
    let mut at = 0;
    while at < dst.len() {
        // SAFETY: within `dst.len()` bytes.
        unsafe {
            let p = src.add(at);
            let fits = |n: usize| (p as usize).is_multiple_of(n) && dst.len() - at >= n;
            let (value, n) = if fits(4) {
                (load_u32(p), 4)
            } else if fits(2) {
                (u32::from(load_u16(p)), 2)
            } else {
                (u32::from(load_u8(p)), 1)
            };
            dst[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]);
            at += n;
        }
    }
}

/// Copies fewer than eight bytes into guest memory, in the largest aligned pieces.
///
/// # Safety
/// `dst` is valid for writes of `src.len()` bytes.
unsafe fn write_few(dst: *mut u8, src: &[u8]) {
    let mut at = 0;
    while at < src.len() {
        // SAFETY: within `src.len()` bytes.
        unsafe {
            let p = dst.add(at);
            let fits = |n: usize| (p as usize).is_multiple_of(n) && src.len() - at >= n;
            at += match src[at..] {
                [a, b, c, d, ..] if fits(4) => {
                    store_u32(p, u32::from_le_bytes([a, b, c, d]));
                    4
                }
                [a, b, ..] if fits(2) => {
                    store_u16(p, u16::from_le_bytes([a, b]));
                    2
                }
                _ => {
                    store_u8(p, src[at]);
                    1
                }
            };
        }
    }
}

/// Copies bytes out of guest memory; each aligned eight of them moves as a whole.
///
/// # Safety
/// `src` is valid for reads of `dst.len()` bytes.
pub unsafe fn read_bytes(src: *const u8, dst: &mut [u8]) {
    let (head, eights) = split(src, dst.len());
    let (front, rest) = dst.split_at_mut(head);
    let (middle, back) = rest.split_at_mut(eights);
    // SAFETY: all within `dst.len()` bytes.
    unsafe {
        read_few(src, front);
        for (i, chunk) in middle.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&load_u64(src.add(head + 8 * i)).to_le_bytes());
        }
        read_few(src.add(head + eights), back);
    }
}

/// Whether guest memory contains the bytes.
///
/// # Safety
/// `p` is valid for reads of `bytes.len()` bytes.
pub unsafe fn equal(p: *const u8, bytes: &[u8]) -> bool {
    let mut block = [0; 256];
    bytes.chunks(block.len()).enumerate().all(|(i, chunk)| {
        let copy = &mut block[..chunk.len()];
        // SAFETY: within `bytes.len()` bytes.
        unsafe { read_bytes(p.add(256 * i), copy) };
        copy == chunk
    })
}

/// Copies bytes into guest memory; each aligned eight of them moves as a whole.
///
/// # Safety
/// `dst` is valid for writes of `src.len()` bytes.
pub unsafe fn write_bytes(dst: *mut u8, src: &[u8]) {
    let (head, eights) = split(dst, src.len());
    let (front, rest) = src.split_at(head);
    let (middle, back) = rest.split_at(eights);
    // SAFETY: all within `src.len()` bytes.
    unsafe {
        write_few(dst, front);
        for (i, chunk) in middle.chunks_exact(8).enumerate() {
            let value = u64::from_le_bytes([
                chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
            ]);
            store_u64(dst.add(head + 8 * i), value);
        }
        write_few(dst.add(head + eights), back);
    }
}

/// Number of bytes that [`wipe`] compares at a time.
const PIECE: usize = 4096;

/// Fills every dword of a range with a word; bytes after the last whole dword are unchanged. Pieces
/// that already hold the word are only read: most of a big stack is never touched, and its pages
/// need not become resident.
///
/// # Safety
/// `p` is valid for reads and writes of `size` bytes.
pub unsafe fn wipe(p: *mut u8, size: usize, word: u32) {
    let both = u64::from(word) << 32 | u64::from(word);
    for start in (0..size).step_by(PIECE) {
        let bytes = PIECE.min(size - start);
        // SAFETY: within `size` bytes.
        unsafe {
            let piece = p.add(start);
            let holds = |n: usize| load_u64(piece.add(8 * n)) == both;
            if (0..bytes / 8).all(holds) && (bytes & 4 == 0 || load_u32(piece.add(bytes & !7)) == word) {
                continue;
            }
            for n in 0..bytes / 8 {
                store_u64(piece.add(8 * n), both);
            }
            if bytes & 4 != 0 {
                store_u32(piece.add(bytes & !7), word);
            }
        }
    }
}

/// A number that depends on `seed` and on every byte of a range.
///
/// # Safety
/// `p` is valid for reads of `size` bytes.
pub unsafe fn digest(p: *const u8, size: usize, seed: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    // Multiplication by an odd number and the shift are invertible, so a single changed word always
    // changes the digest. Four interleaved sums keep the multiplier busy.
    let mix = |sum: u64, word: u64| {
        let x = (sum ^ word).wrapping_mul(FACTOR);
        x ^ x >> 29
    };
    let mut sums = [seed, !seed, seed.rotate_left(21), size as u64];
    for n in 0..size / 8 {
        // SAFETY: within `size` bytes.
        sums[n % 4] = mix(sums[n % 4], unsafe { load_u64(p.add(8 * n)) });
    }
    for n in size & !7..size {
        // SAFETY: within `size` bytes.
        sums[n % 4] = mix(sums[n % 4], u64::from(unsafe { load_u8(p.add(n)) }));
    }
    sums.into_iter().fold(0, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 64]);

    #[test]
    fn copies_of_every_length_at_every_alignment() {
        let pattern: [u8; 64] = std::array::from_fn(|i| 3 * i as u8 + 1);
        for start in 0..9 {
            for len in 0..40 {
                let mut memory = Aligned([0xee; 64]);
                let p = memory.0.as_mut_ptr();
                let mut back = vec![0; len];
                // SAFETY: inside the 64 bytes.
                unsafe {
                    write_bytes(p.add(start), &pattern[..len]);
                    read_bytes(p.add(start), &mut back);
                }
                assert_eq!(back, pattern[..len]);
                let around = memory.0.iter().enumerate().filter(|(i, _)| !(start..start + len).contains(i));
                assert!(around.into_iter().all(|(_, b)| *b == 0xee), "{len} bytes at {start}");
            }
        }
    }

    #[test]
    fn updates_of_several_threads_are_all_seen() {
        struct Shared(*mut u8);
        // SAFETY: the pointer is used only for atomic accesses while the memory is alive.
        unsafe impl Sync for Shared {}
        let mut memory = Aligned([0; 64]);
        let shared = Shared(memory.0.as_mut_ptr());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let Shared(p) = &shared;
                    for _ in 0..2000 {
                        // SAFETY: inside the 64 bytes, and aligned.
                        unsafe {
                            update_u32(*p, |old| old + 3);
                            update_u64(p.add(8), |old| old + (1 << 32) + 5);
                        }
                    }
                });
            }
        });
        assert_eq!(memory.0[..4], 18_000u32.to_le_bytes());
        assert_eq!(memory.0[8..16], ((6000u64 << 32) + 30_000).to_le_bytes());
    }

    /// Copies of a chunk never contain a half of what another thread stores as a whole.
    #[test]
    fn chunks_have_whole_pairs() {
        type Copy = unsafe fn(*mut u8, *const u8);
        struct Shared(*mut u8);
        // SAFETY: the pointer is used only for atomic accesses while the memory is alive.
        unsafe impl Sync for Shared {}
        let whole = |chunk: &[u8]| chunk.chunks_exact(8).all(|pair| pair[..4] == pair[4..]);
        for copy in [copy_chunk as Copy, copy_chunk_by_pairs as Copy] {
            for start in [0, 40] {
                let mut memory = [Aligned([0; 64]), Aligned([0; 64])];
                // SAFETY: inside the 128 bytes.
                let shared = Shared(unsafe { memory.as_mut_ptr().cast::<u8>().add(start) });
                let stop = std::sync::atomic::AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let Shared(p) = &shared;
                        let mut value = 0u64;
                        while !stop.load(Relaxed) {
                            value = value.wrapping_add(0x0000_0001_0000_0001);
                            // SAFETY: inside the 128 bytes, and aligned.
                            (0..8).for_each(|n| unsafe { store_u64(p.add(8 * n), value) });
                        }
                    });
                    let (mut halves, mut changes, mut last) = (0, 0, [0; 64]);
                    let begin = std::time::Instant::now();
                    // Until enough has been stored meanwhile, as far as the host has time for that.
                    let enough = if cfg!(miri) { 20 } else { 5000 };
                    while changes == 0 || changes < enough && begin.elapsed().as_millis() < 500 {
                        let mut chunk = [0u8; 64];
                        // SAFETY: both have 64 bytes.
                        unsafe { copy(chunk.as_mut_ptr(), shared.0) };
                        halves += u32::from(!whole(&chunk));
                        changes += u32::from(chunk != last);
                        last = chunk;
                    }
                    stop.store(true, Relaxed);
                    assert_eq!(halves, 0, "of {changes} at {start}");
                });
            }
        }
    }

    #[test]
    fn chunks_at_every_alignment() {
        let pattern: [u8; 64] = std::array::from_fn(|i| 3 * i as u8 + 1);
        for start in 0..9 {
            let mut memory = [0xee; 80];
            let mut back = [0; 64];
            // SAFETY: inside the 80 bytes.
            unsafe {
                copy_chunk_by_pairs(memory.as_mut_ptr().add(start), pattern.as_ptr());
                copy_chunk_by_pairs(back.as_mut_ptr(), memory.as_ptr().add(start));
            }
            assert_eq!(back, pattern);
            let around = memory.iter().enumerate().filter(|(i, _)| !(start..start + 64).contains(i));
            assert!(around.into_iter().all(|(_, b)| *b == 0xee), "at {start}");
        }
    }

    #[test]
    fn dwords_at_every_alignment() {
        for start in 0..9 {
            for n in 0..9 {
                let mut memory = Aligned([0xee; 64]);
                let data: Vec<u32> = (0..n).map(|i| 0x0102_0304 * (i + 1)).collect();
                let mut back = vec![0; data.len()];
                // SAFETY: inside the 64 bytes.
                unsafe {
                    store_dwords(memory.0.as_mut_ptr().add(start), &data);
                    load_dwords(memory.0.as_ptr().add(start), &mut back);
                }
                assert_eq!(back, data);
                let bytes: Vec<u8> = data.iter().flat_map(|d| d.to_le_bytes()).collect();
                assert_eq!(memory.0[start..start + bytes.len()], bytes);
                assert!(memory.0[start + bytes.len()..].iter().all(|b| *b == 0xee));
            }
        }
    }
}
