//! Sobol's sequence in Gray code order (Antonov and Saleev 1979; direction numbers as in Bratley and Fox, "Algorithm 659",
//! ACM TOMS 14, 1988).

/// Direction numbers of a dimension with `bits` bits, left-aligned: of the primitive polynomial of that degree, with the
/// inner coefficients `inner`, from the first odd numbers `m`. Without any, the van der Corput sequence.
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
