//! Fills the free bits of a machine word, deterministically.

/// The SplitMix64 generator: tiny, fast, and the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator whose whole sequence depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index below `length`; 0 if `length` is 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// One of several items.
    ///
    /// # Panics
    /// If the slice is empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// True with a probability of one in `cases`.
    pub fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }
}

/// A bit field of a word: `width` bits from bit `lo` up (bit 0 is the lowest bit of the first byte).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Lowest bit.
    pub lo: u8,
    /// Number of bits, 1 to 64.
    pub width: u8,
}

/// Operand codes at which the meaning of the scalar operand space of the GCN and CDNA families
/// changes: the last SGPRs, the special registers, the ends of the inline integers and floats, the
/// apertures, SDWA, DPP and literal escapes.
const EDGE_CODES: &[u64] = &[
    0, 1, 2, 3, 4, 8, 12, 16, 62, 63, 92, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 110,
    112, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 143, 191, 192, 193, 200, 208, 209, 230, 234,
    235, 236, 237, 238, 239, 240, 241, 247, 248, 249, 250, 251, 252, 253, 254, 255, 256, 257, 258, 259, 264,
    480, 496, 508, 509, 510, 511,
];

/// Fills the free bits of words with a mixture that reaches both common and rare decodings.
///
/// LLVM rejects some instructions whose unused fields are not zero, so uniformly random bits would
/// rarely reach their text. Each word therefore has a temper (mostly zero, mixed, or wild). Each
/// field is zero, a small number, an operand code at which the meaning changes, one of the field's
/// largest numbers, or plain random bits.
#[derive(Clone, Debug)]
pub struct Filler {
    random: SplitMix64,
}

impl Filler {
    /// A filler whose whole sequence depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// The generator of the fillings, for other choices of the same test.
    pub fn random(&mut self) -> &mut SplitMix64 {
        &mut self.random
    }

    /// A 128-bit little-endian word that equals `fixed` in the bits of `mask`, with its other bits
    /// filled field by field.
    ///
    /// Bits that no span covers are filled in groups of 8, so an incomplete field list only makes the mixture coarser.
    pub fn fill(&mut self, fixed: u128, mask: u128, fields: &[Span]) -> [u8; 16] {
        // Of 8 words: 3 mostly zero, 3 half zero, 2 with a value in every field.
        let zero_of_8 = match self.random.below(8) {
            0..3 => 7,
            3..6 => 4,
            _ => 1,
        };
        let mut word = 0u128;
        let mut covered = 0u128;
        for &Span { lo, width } in fields {
            let value = u128::from(self.field(width, zero_of_8));
            word |= value.checked_shl(u32::from(lo)).unwrap_or(0);
            covered |= ones(width).checked_shl(u32::from(lo)).unwrap_or(0);
        }
        let mut rest = 0u128;
        for byte in 0..16 {
            rest |= u128::from(self.field(8, zero_of_8)) << (8 * byte);
        }
        word |= rest & !covered;
        ((word & !mask) | (fixed & mask)).to_le_bytes()
    }

    fn field(&mut self, width: u8, zero_of_8: u64) -> u64 {
        let top = ones(width) as u64;
        if self.random.below(8) < zero_of_8 {
            return 0;
        }
        match self.random.below(8) {
            0 | 1 => self.random.below(16) & top,
            2..5 => EDGE_CODES[self.random.below(EDGE_CODES.len() as u64) as usize] & top,
            5 => top - self.random.below(4).min(top),
            _ => self.random.next_u64() & top,
        }
    }
}

fn ones(width: u8) -> u128 {
    (1u128 << width.min(64)) - 1
}
