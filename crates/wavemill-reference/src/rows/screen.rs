//! V_SCREEN_PARTITION_4SE_B32, pixel by pixel (Vega ISA 12.8, opcode 55).

/// The mask of shader engines that a rectangle of pixels touches. With tiles of 32 pixels, the one of
/// pixel (x, y) is `{x[5] ^ y[6], y[5] ^ x[6]}`. The argument has bits 6:5 of the first and the last
/// pixel: first x, first y, last x, last y from the top. Positions repeat after 128 pixels.
pub(super) fn shader_engines(corners: i128) -> i128 {
    let corner = |shift: u32| 32 * (corners >> shift & 3);
    let (x0, y0, mut x1, mut y1) = (corner(6), corner(4), corner(2), corner(0));
    if x1 < x0 {
        x1 += 128;
    }
    if y1 < y0 {
        y1 += 128;
    }
    let mut mask = 0;
    let bit = |value: i128, n: u32| value >> n & 1;
    for x in (x0..=x1).step_by(16) {
        for y in (y0..=y1).step_by(16) {
            let engine = (bit(x, 5) ^ bit(y, 6)) << 1 | bit(y, 5) ^ bit(x, 6);
            mask |= 1 << engine;
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::shader_engines;

    /// The manual prints the instruction's table of 256 values: this is its FNV-1a hash, a byte a value.
    const MANUAL: u64 = 0xc8aa_fd3b_7792_ec75;

    #[test]
    fn the_manuals_table_is_this() {
        let hash = (0..256).fold(0xcbf2_9ce4_8422_2325u64, |hash, corners| {
            (hash ^ shader_engines(corners) as u64).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(hash, MANUAL);
    }
}
