//! Philox and Threefry (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).

/// Philox4x32 with ten rounds.
pub(crate) fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let mut c = counter;
    for round in 0..10 {
        let key = [0, 1].map(|n| key[n].wrapping_add(WEYL[n].wrapping_mul(round)));
        let products = [MULTIPLIERS[0] * u64::from(c[0]), MULTIPLIERS[1] * u64::from(c[2])];
        let [high, low] = [products.map(|p| (p >> 32) as u32), products.map(|p| p as u32)];
        c = [high[1] ^ c[1] ^ key[0], low[1], high[0] ^ c[3] ^ key[1], low[0]];
    }
    c
}

/// Threefry2x32 with twenty rounds.
pub(crate) fn threefry2x32_20(counter: [u32; 2], key: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
    const PARITY: u32 = 0x1bd1_1bda;
    let schedule = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let mut x = [counter[0].wrapping_add(key[0]), counter[1].wrapping_add(key[1])];
    for round in 0..20usize {
        x[0] = x[0].wrapping_add(x[1]);
        x[1] = x[1].rotate_left(ROTATIONS[round % 8]) ^ x[0];
        if round % 4 == 3 {
            let injection = round / 4 + 1;
            x[0] = x[0].wrapping_add(schedule[injection % 3]);
            x[1] = x[1].wrapping_add(schedule[(injection + 1) % 3]).wrapping_add(injection as u32);
        }
    }
    x
}

/// The references themselves give the known answers that the paper's authors publish (Random123, `kat_vectors`).
pub(crate) fn known_answers() -> Result<(), wavemill_oracle::Failed> {
    let philox = [
        philox4x32_10([0; 4], [0; 2]),
        philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
        philox4x32_10([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
    ];
    let expected = [
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ];
    crate::compare::same("Philox", &philox, &expected)?;
    let threefry = [
        threefry2x32_20([0; 2], [0; 2]),
        threefry2x32_20([u32::MAX; 2], [u32::MAX; 2]),
        threefry2x32_20([0x243f_6a88, 0x85a3_08d3], [0x1319_8a2e, 0x0370_7344]),
    ];
    let expected = [[0x6b20_0159, 0x99ba_4efe], [0x1cb9_96fc, 0xbb00_2be7], [0xc492_3a9c, 0x483d_f7a0]];
    crate::compare::same("Threefry", &threefry, &expected)
}
