//! MRG32k3a (L'Ecuyer: "Good parameters and implementations for combined multiple recursive random number generators",
//! Operations Research 47, 1999), and jumps ahead in it.

/// Moduli of the two components.
pub(crate) const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

type Matrix = [[u64; 3]; 3];

/// The recursions as matrices: each row gives a word of the next state.
const A1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
const A2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];

fn dot(row: [u64; 3], column: [u64; 3], modulus: u64) -> u64 {
    (0..3).map(|n| row[n] * column[n] % modulus).sum::<u64>() % modulus
}

fn apply(a: &Matrix, s: [u64; 3], modulus: u64) -> [u64; 3] {
    a.map(|row| dot(row, s, modulus))
}

fn square(a: &Matrix, modulus: u64) -> Matrix {
    a.map(|row| [0, 1, 2].map(|column| dot(row, a.map(|row| row[column]), modulus)))
}

/// State of both components, oldest words first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mrg32k3a {
    pub g1: [u64; 3],
    pub g2: [u64; 3],
}

impl Mrg32k3a {
    /// The state that rocRAND derives from a seed of up to 32 bits.
    pub(crate) fn seeded(seed: u32) -> Self {
        let seed = u64::from(seed);
        let [x, y] = [seed ^ 0x5555_5555, 0xaaaa_aaaa];
        Mrg32k3a { g1: [x, y, x].map(|n| n * seed % M1), g2: [y, x, y].map(|n| n * seed % M2) }
    }

    /// The state `number` subsequences of 2^76 numbers later: L'Ecuyer's substreams (rocRAND's
    /// headers say 2^67).
    pub(crate) fn subsequence(mut self, number: usize) -> Self {
        let (mut a1, mut a2) = (A1, A2);
        for _ in 0..76 {
            (a1, a2) = (square(&a1, M1), square(&a2, M2));
        }
        let mut rest = number;
        while rest != 0 {
            if rest & 1 != 0 {
                (self.g1, self.g2) = (apply(&a1, self.g1, M1), apply(&a2, self.g2, M2));
            }
            (a1, a2) = (square(&a1, M1), square(&a2, M2));
            rest >>= 1;
        }
        self
    }

    /// A number from 1 to M1.
    pub(crate) fn next(&mut self) -> u64 {
        self.g1 = apply(&A1, self.g1, M1);
        self.g2 = apply(&A2, self.g2, M2);
        let (a, b) = (self.g1[2], self.g2[2]);
        if a > b { a - b } else { a + M1 - b }
    }
}
