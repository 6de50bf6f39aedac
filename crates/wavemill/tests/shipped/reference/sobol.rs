//! Sobol's sequence in Gray code order (Antonov and Saleev 1979; direction numbers as in Bratley and Fox, "Algorithm 659",
//! ACM TOMS 14, 1988).

/// Left-aligned direction numbers with `bits` bits of one dimension. The primitive polynomial has
/// the inner coefficients `inner`; `m` are the first odd numbers, and their count is its degree. An
/// empty `m` gives the van der Corput sequence.
pub(crate) fn directions(bits: usize, inner: u64, m: &[u64]) -> Vec<u64> {
    let degree = m.len();
    let mut m = m.to_vec();
    for k in degree..bits {
        if degree == 0 {
            m.push(1);
            continue;
        }
        let mut next = m[k - degree] ^ m[k - degree] << degree;
        for j in 1..degree {
            if inner >> (degree - 1 - j) & 1 != 0 {
                next ^= m[k - j] << j;
            }
        }
        m.push(next);
    }
    m.iter().enumerate().map(|(k, m)| m << (bits - 1 - k)).collect()
}

/// The point of that index.
pub(crate) fn point(directions: &[u64], index: u64) -> u64 {
    let gray = index ^ index >> 1;
    let used = directions.iter().enumerate().filter(|(bit, _)| gray >> bit & 1 != 0);
    used.fold(0, |sum, (_, direction)| sum ^ direction)
}
