//! Chunks of guest memory, 64 bytes, in vector registers: assembly, as other threads may access the
//! memory. The host moves aligned dwords, and aligned pairs of them, as wholes.

/// For hosts with AVX2: a chunk is two registers.
pub mod avx2 {
    use std::arch::{asm, x86_64::__m256i};

    /// Loads a chunk.
    ///
    /// # Safety
    /// The host has AVX2. `p` is valid for reads of 64 bytes and stays so during the call; others
    /// may write it.
    #[inline]
    #[must_use]
    #[target_feature(enable = "avx2")]
    pub unsafe fn load_chunk(p: *const u8) -> [__m256i; 2] {
        let (low, high);
        // SAFETY: the assembly reads 64 bytes at `p`.
        unsafe {
            asm!(
                "vmovdqu {low}, [{p}]", "vmovdqu {high}, [{p} + 32]",
                p = in(reg) p, low = out(ymm_reg) low, high = lateout(ymm_reg) high,
                options(nostack, preserves_flags, readonly),
            );
        }
        [low, high]
    }

    /// Stores a chunk.
    ///
    /// # Safety
    /// The host has AVX2. `p` is valid for writes of 64 bytes and stays so during the call; others
    /// may access it.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn store_chunk(p: *mut u8, v: [__m256i; 2]) {
        // SAFETY: the assembly writes 64 bytes at `p`.
        unsafe {
            asm!(
                "vmovdqu [{p}], {low}", "vmovdqu [{p} + 32], {high}",
                p = in(reg) p, low = in(ymm_reg) v[0], high = in(ymm_reg) v[1],
                options(nostack, preserves_flags),
            );
        }
    }

    /// Stores the dwords of a chunk whose sign bits are set in `active`. Others are not accessed.
    ///
    /// # Safety
    /// The host has AVX2. The memory of the active dwords is valid for writes and stays so during the
    /// call; others may access all of it.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn store_active(p: *mut u8, active: [__m256i; 2], v: [__m256i; 2]) {
        // SAFETY: the assembly writes the active dwords of the 64 bytes at `p`.
        unsafe {
            asm!(
                "vpmaskmovd [{p}], {low_mask}, {low}", "vpmaskmovd [{p} + 32], {high_mask}, {high}",
                p = in(reg) p, low_mask = in(ymm_reg) active[0], low = in(ymm_reg) v[0],
                high_mask = in(ymm_reg) active[1], high = in(ymm_reg) v[1],
                options(nostack, preserves_flags),
            );
        }
    }
}

/// For hosts with AVX-512: a chunk is one register.
pub mod avx512 {
    use std::arch::{asm, x86_64::__m512i};

    /// Loads a chunk.
    ///
    /// # Safety
    /// The host has AVX-512 F. `p` is valid for reads of 64 bytes and stays so during the call;
    /// others may write it.
    #[inline]
    #[must_use]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn load_chunk(p: *const u8) -> __m512i {
        let v;
        // SAFETY: the assembly reads 64 bytes at `p`.
        unsafe {
            asm!(
                "vmovdqu32 {v}, [{p}]",
                p = in(reg) p, v = out(zmm_reg) v,
                options(nostack, preserves_flags, readonly),
            );
        }
        v
    }

    /// Stores a chunk.
    ///
    /// # Safety
    /// The host has AVX-512 F. `p` is valid for writes of 64 bytes and stays so during the call;
    /// others may access it.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn store_chunk(p: *mut u8, v: __m512i) {
        // SAFETY: the assembly writes 64 bytes at `p`.
        unsafe {
            asm!(
                "vmovdqu32 [{p}], {v}",
                p = in(reg) p, v = in(zmm_reg) v,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Loads the dwords at `p` plus the signed byte offsets of the lanes whose bits are set in `active`;
    /// the others become 0, and their memory is not accessed.
    ///
    /// # Safety
    /// The host has AVX-512 F. The dwords of the active lanes are valid for reads and stay so during
    /// the call; others may write them.
    #[inline]
    #[must_use]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn gather(p: *const u8, offsets: __m512i, active: u16) -> __m512i {
        let v;
        // SAFETY: the assembly reads the dwords of the active lanes. It clears the mask.
        unsafe {
            asm!(
                "vpxord {v}, {v}, {v}",
                "vpgatherdd {v}{{{active}}}, [{p} + {offsets}]",
                p = in(reg) p, offsets = in(zmm_reg) offsets, active = inout(kreg) active => _,
                v = out(zmm_reg) v,
                options(nostack, preserves_flags, readonly),
            );
        }
        v
    }

    /// Stores the dwords of a chunk whose bits are set in `active`. Others are not accessed.
    ///
    /// # Safety
    /// The host has AVX-512 F. The memory of the active dwords is valid for writes and stays so during
    /// the call; others may access all of it.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn store_active(p: *mut u8, active: u16, v: __m512i) {
        // SAFETY: the assembly writes the active dwords of the 64 bytes at `p`.
        unsafe {
            asm!(
                "vmovdqu32 [{p}]{{{active}}}, {v}",
                p = in(reg) p, active = in(kreg) active, v = in(zmm_reg) v,
                options(nostack, preserves_flags),
            );
        }
    }
}
