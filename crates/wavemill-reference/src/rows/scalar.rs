//! Scalar ALU instructions (Vega ISA 12.1 to 12.4).

/// The inputs of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    /// The sources, zero-extended; a 16-bit constant is the last one, extended as its type says.
    pub s: [u64; 2],
    /// The old destination.
    pub old: u64,
    /// SCC.
    pub scc: bool,
    /// EXEC.
    pub exec: u64,
    /// `s_max` sets SCC for equal sources (AMD's machine-readable tables for CDNA; Vega ISA 12.1 says greater).
    pub max_of_equals: bool,
}

impl Sources {
    fn u(&self, n: usize) -> u64 {
        self.s[n] & 0xffff_ffff
    }

    fn i(&self, n: usize) -> i64 {
        i64::from(self.s[n] as u32 as i32)
    }

    /// The low `bits` of source `n`, as an amount.
    fn n(&self, n: usize, bits: u32) -> u32 {
        (self.s[n] & ((1 << bits) - 1)) as u32
    }
}

/// The effect of an instruction; `None` is no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The destination.
    pub bits: Option<u64>,
    /// SCC.
    pub scc: Option<bool>,
    /// EXEC.
    pub exec: Option<u64>,
}

/// A 32-bit result; SCC stays.
fn word(value: i128) -> Outcome {
    Outcome { bits: Some((value & 0xffff_ffff) as u64), ..Outcome::default() }
}

/// A 64-bit result; SCC stays.
fn pair(value: u64) -> Outcome {
    Outcome { bits: Some(value), ..Outcome::default() }
}

/// SCC alone.
fn flag(scc: bool) -> Outcome {
    Outcome { scc: Some(scc), ..Outcome::default() }
}

impl Outcome {
    fn with(self, scc: bool) -> Outcome {
        Outcome { scc: Some(scc), ..self }
    }

    /// SCC says whether the result is not zero.
    fn nonzero(self) -> Outcome {
        self.with(self.bits != Some(0))
    }
}

/// A logical operation on 32 bits.
fn logic(value: u64) -> Outcome {
    word(i128::from(value)).nonzero()
}

/// A logical operation on 64 bits.
fn logic64(value: u64) -> Outcome {
    pair(value).nonzero()
}

/// An unsigned sum or difference; SCC is the carry or borrow.
fn carries(exact: i128) -> Outcome {
    word(exact).with(!(0..1 << 32).contains(&exact))
}

/// A signed sum or difference; SCC is the overflow.
fn overflows(exact: i128) -> Outcome {
    word(exact).with(!(-(1i128 << 31)..1 << 31).contains(&exact))
}

/// A bit field: offset and width are in the second source (bits 22:16).
fn field(value: i128, x: &Sources, offset_bits: u32, signed: bool, bits: u32) -> Outcome {
    // No value has more than 64 bits.
    let (offset, width) = (x.n(1, offset_bits), (x.s[1] >> 16 & 0x7f).min(96));
    let part = value >> offset & ((1i128 << width) - 1);
    let part = if signed && width > 0 && part >> (width - 1) & 1 != 0 { part - (1 << width) } else { part };
    let result = (part & ((1i128 << bits) - 1)) as u64;
    pair(result).nonzero()
}

/// EXEC after a logical operation; the destination receives the old EXEC.
fn saves(x: &Sources, exec: u64) -> Outcome {
    Outcome { bits: Some(x.exec), scc: Some(exec != 0), exec: Some(exec) }
}

/// EXEC and the destination receive the same.
fn writes(exec: u64) -> Outcome {
    Outcome { bits: Some(exec), scc: Some(exec != 0), exec: Some(exec) }
}

fn quads(value: u64, f: impl Fn(u64, u32) -> u64) -> u64 {
    (0..16).fold(0, |r, n| r | if value >> (4 * n) & 15 != 0 { f(1, n) } else { 0 })
}

/// The position of the first bit that is `wanted`, from bit 0 upwards; -1 if there is none.
fn first(value: u64, bits: u32, wanted: u64) -> Outcome {
    word((0..bits).find(|n| value >> n & 1 == wanted).map_or(-1, i128::from))
}

/// As [`first`], from the top downwards, for a 1.
fn leading(value: u64, bits: u32) -> Outcome {
    word((0..bits).find(|n| value >> (bits - 1 - n) & 1 == 1).map_or(-1, i128::from))
}

/// The distance from the top of the first bit that is not the sign; -1 if there is none.
fn leading_sign(value: u64, bits: u32) -> Outcome {
    let bit = |n: u32| value >> (bits - 1 - n) & 1;
    word((1..bits).find(|n| bit(*n) != bit(0)).map_or(-1, i128::from))
}

fn bits_of(value: u64, bits: u32, wanted: u64) -> Outcome {
    word((0..bits).filter(|n| value >> n & 1 == wanted).count() as i128).nonzero()
}

/// An instruction and its meaning.
#[derive(Debug)]
pub struct Reference {
    /// The mnemonic.
    pub name: &'static str,
    /// The effect.
    pub apply: fn(&Sources) -> Outcome,
}

macro_rules! references {
    ($($name:literal |$x:ident| $code:expr;)*) => {
        /// All references.
        pub const REFERENCES: &[Reference] = &[$(Reference { name: $name, apply: |$x| $code }),*];
    };
}

references! {
    // SOP2.
    "s_add_u32" |x| carries(i128::from(x.u(0)) + i128::from(x.u(1)));
    "s_sub_u32" |x| carries(i128::from(x.u(0)) - i128::from(x.u(1)));
    "s_add_i32" |x| overflows(i128::from(x.i(0)) + i128::from(x.i(1)));
    "s_sub_i32" |x| overflows(i128::from(x.i(0)) - i128::from(x.i(1)));
    "s_addc_u32" |x| carries(i128::from(x.u(0)) + i128::from(x.u(1)) + i128::from(x.scc));
    "s_subb_u32" |x| carries(i128::from(x.u(0)) - i128::from(x.u(1)) - i128::from(x.scc));
    "s_min_i32" |x| word(x.i(0).min(x.i(1)).into()).with(x.i(0) < x.i(1));
    "s_min_u32" |x| word(x.u(0).min(x.u(1)).into()).with(x.u(0) < x.u(1));
    "s_max_i32" |x| word(x.i(0).max(x.i(1)).into()).with(x.i(0) > x.i(1) || x.max_of_equals && x.i(0) == x.i(1));
    "s_max_u32" |x| word(x.u(0).max(x.u(1)).into()).with(x.u(0) > x.u(1) || x.max_of_equals && x.u(0) == x.u(1));
    "s_cselect_b32" |x| word((if x.scc { x.u(0) } else { x.u(1) }).into());
    "s_cselect_b64" |x| pair(if x.scc { x.s[0] } else { x.s[1] });
    "s_and_b32" |x| logic(x.u(0) & x.u(1));
    "s_and_b64" |x| logic64(x.s[0] & x.s[1]);
    "s_or_b32" |x| logic(x.u(0) | x.u(1));
    "s_or_b64" |x| logic64(x.s[0] | x.s[1]);
    "s_xor_b32" |x| logic(x.u(0) ^ x.u(1));
    "s_xor_b64" |x| logic64(x.s[0] ^ x.s[1]);
    "s_andn2_b32" |x| logic(x.u(0) & !x.u(1));
    "s_andn2_b64" |x| logic64(x.s[0] & !x.s[1]);
    "s_orn2_b32" |x| logic(x.u(0) | !x.u(1));
    "s_orn2_b64" |x| logic64(x.s[0] | !x.s[1]);
    "s_nand_b32" |x| logic(!(x.u(0) & x.u(1)));
    "s_nand_b64" |x| logic64(!(x.s[0] & x.s[1]));
    "s_nor_b32" |x| logic(!(x.u(0) | x.u(1)));
    "s_nor_b64" |x| logic64(!(x.s[0] | x.s[1]));
    "s_xnor_b32" |x| logic(!(x.u(0) ^ x.u(1)));
    "s_xnor_b64" |x| logic64(!(x.s[0] ^ x.s[1]));
    "s_lshl_b32" |x| logic(x.u(0) << x.n(1, 5));
    "s_lshl_b64" |x| logic64(x.s[0] << x.n(1, 6));
    "s_lshr_b32" |x| logic(x.u(0) >> x.n(1, 5));
    "s_lshr_b64" |x| logic64(x.s[0] >> x.n(1, 6));
    "s_ashr_i32" |x| logic((x.i(0) >> x.n(1, 5)) as u64);
    "s_ashr_i64" |x| logic64((x.s[0] as i64 >> x.n(1, 6)) as u64);
    "s_bfm_b32" |x| word((((1i128 << x.n(0, 5)) - 1) << x.n(1, 5)) & 0xffff_ffff);
    "s_bfm_b64" |x| pair(((1u64 << x.n(0, 6)) - 1) << x.n(1, 6));
    "s_mul_i32" |x| word(i128::from(x.i(0)) * i128::from(x.i(1)));
    "s_bfe_u32" |x| field(x.u(0).into(), x, 5, false, 32);
    "s_bfe_i32" |x| field(x.i(0).into(), x, 5, true, 32);
    "s_bfe_u64" |x| field(x.s[0].into(), x, 6, false, 64);
    "s_bfe_i64" |x| field((x.s[0] as i64).into(), x, 6, true, 64);
    // The difference has 32 bits before its sign goes (Vega ISA 12.1, examples).
    "s_absdiff_i32" |x| {
        let difference = (x.s[0] as i32).wrapping_sub(x.s[1] as i32);
        logic(u64::from(difference.wrapping_abs() as u32))
    };
    "s_mul_hi_u32" |x| word((i128::from(x.u(0)) * i128::from(x.u(1))) >> 32);
    "s_mul_hi_i32" |x| word((i128::from(x.i(0)) * i128::from(x.i(1))) >> 32);
    "s_lshl1_add_u32" |x| carries((i128::from(x.u(0)) << 1) + i128::from(x.u(1)));
    "s_lshl2_add_u32" |x| carries((i128::from(x.u(0)) << 2) + i128::from(x.u(1)));
    "s_lshl3_add_u32" |x| carries((i128::from(x.u(0)) << 3) + i128::from(x.u(1)));
    "s_lshl4_add_u32" |x| carries((i128::from(x.u(0)) << 4) + i128::from(x.u(1)));
    "s_pack_ll_b32_b16" |x| pair(x.u(0) & 0xffff | (x.u(1) & 0xffff) << 16);
    "s_pack_lh_b32_b16" |x| pair(x.u(0) & 0xffff | x.u(1) >> 16 << 16);
    "s_pack_hh_b32_b16" |x| pair(x.u(0) >> 16 | x.u(1) >> 16 << 16);
    // SOP1.
    "s_mov_b32" |x| pair(x.u(0));
    "s_mov_b64" |x| pair(x.s[0]);
    "s_cmov_b32" |x| pair(if x.scc { x.u(0) } else { x.old });
    "s_cmov_b64" |x| pair(if x.scc { x.s[0] } else { x.old });
    "s_not_b32" |x| logic(!x.u(0));
    "s_not_b64" |x| logic64(!x.s[0]);
    "s_wqm_b32" |x| logic64(quads(x.u(0), |one, n| (one * 15) << (4 * n)));
    "s_wqm_b64" |x| logic64(quads(x.s[0], |one, n| (one * 15) << (4 * n)));
    "s_brev_b32" |x| pair((0..32).fold(0, |r, n| r | (x.u(0) >> n & 1) << (31 - n)));
    "s_brev_b64" |x| pair((0..64).fold(0, |r, n| r | (x.s[0] >> n & 1) << (63 - n)));
    "s_bcnt0_i32_b32" |x| bits_of(x.u(0), 32, 0);
    "s_bcnt0_i32_b64" |x| bits_of(x.s[0], 64, 0);
    "s_bcnt1_i32_b32" |x| bits_of(x.u(0), 32, 1);
    "s_bcnt1_i32_b64" |x| bits_of(x.s[0], 64, 1);
    "s_ff0_i32_b32" |x| first(x.u(0), 32, 0);
    "s_ff0_i32_b64" |x| first(x.s[0], 64, 0);
    "s_ff1_i32_b32" |x| first(x.u(0), 32, 1);
    "s_ff1_i32_b64" |x| first(x.s[0], 64, 1);
    "s_flbit_i32_b32" |x| leading(x.u(0), 32);
    "s_flbit_i32_b64" |x| leading(x.s[0], 64);
    "s_flbit_i32" |x| leading_sign(x.u(0), 32);
    "s_flbit_i32_i64" |x| leading_sign(x.s[0], 64);
    "s_sext_i32_i8" |x| word(i128::from(x.s[0] as i8));
    "s_sext_i32_i16" |x| word(i128::from(x.s[0] as i16));
    "s_bitset0_b32" |x| pair(x.old & !(1 << x.n(0, 5)));
    "s_bitset0_b64" |x| pair(x.old & !(1 << x.n(0, 6)));
    "s_bitset1_b32" |x| pair(x.old | 1 << x.n(0, 5));
    "s_bitset1_b64" |x| pair(x.old | 1 << x.n(0, 6));
    "s_and_saveexec_b64" |x| saves(x, x.s[0] & x.exec);
    "s_or_saveexec_b64" |x| saves(x, x.s[0] | x.exec);
    "s_xor_saveexec_b64" |x| saves(x, x.s[0] ^ x.exec);
    "s_andn2_saveexec_b64" |x| saves(x, x.s[0] & !x.exec);
    "s_orn2_saveexec_b64" |x| saves(x, x.s[0] | !x.exec);
    "s_nand_saveexec_b64" |x| saves(x, !(x.s[0] & x.exec));
    "s_nor_saveexec_b64" |x| saves(x, !(x.s[0] | x.exec));
    "s_xnor_saveexec_b64" |x| saves(x, !(x.s[0] ^ x.exec));
    "s_quadmask_b32" |x| logic64(quads(x.u(0), |one, n| one << n));
    "s_quadmask_b64" |x| logic64(quads(x.s[0], |one, n| one << n));
    "s_abs_i32" |x| logic(x.i(0).unsigned_abs());
    "s_andn1_saveexec_b64" |x| saves(x, !x.s[0] & x.exec);
    "s_orn1_saveexec_b64" |x| saves(x, !x.s[0] | x.exec);
    "s_andn1_wrexec_b64" |x| writes(!x.s[0] & x.exec);
    "s_andn2_wrexec_b64" |x| writes(x.s[0] & !x.exec);
    "s_bitreplicate_b64_b32" |x| pair((0..32).fold(0, |r, n| r | ((x.u(0) >> n & 1) * 3) << (2 * n)));
    // SOPC.
    "s_cmp_eq_i32" |x| flag(x.i(0) == x.i(1));
    "s_cmp_lg_i32" |x| flag(x.i(0) != x.i(1));
    "s_cmp_gt_i32" |x| flag(x.i(0) > x.i(1));
    "s_cmp_ge_i32" |x| flag(x.i(0) >= x.i(1));
    "s_cmp_lt_i32" |x| flag(x.i(0) < x.i(1));
    "s_cmp_le_i32" |x| flag(x.i(0) <= x.i(1));
    "s_cmp_eq_u32" |x| flag(x.u(0) == x.u(1));
    "s_cmp_lg_u32" |x| flag(x.u(0) != x.u(1));
    "s_cmp_gt_u32" |x| flag(x.u(0) > x.u(1));
    "s_cmp_ge_u32" |x| flag(x.u(0) >= x.u(1));
    "s_cmp_lt_u32" |x| flag(x.u(0) < x.u(1));
    "s_cmp_le_u32" |x| flag(x.u(0) <= x.u(1));
    "s_bitcmp0_b32" |x| flag(x.u(0) >> x.n(1, 5) & 1 == 0);
    "s_bitcmp1_b32" |x| flag(x.u(0) >> x.n(1, 5) & 1 == 1);
    "s_bitcmp0_b64" |x| flag(x.s[0] >> x.n(1, 6) & 1 == 0);
    "s_bitcmp1_b64" |x| flag(x.s[0] >> x.n(1, 6) & 1 == 1);
    "s_cmp_eq_u64" |x| flag(x.s[0] == x.s[1]);
    "s_cmp_lg_u64" |x| flag(x.s[0] != x.s[1]);
    // SOPK: the register is source 0, the constant source 1.
    "s_movk_i32" |x| word(x.i(1).into());
    "s_cmovk_i32" |x| pair(if x.scc { x.u(1) } else { x.old });
    "s_cmpk_eq_i32" |x| flag(x.i(0) == x.i(1));
    "s_cmpk_lg_i32" |x| flag(x.i(0) != x.i(1));
    "s_cmpk_gt_i32" |x| flag(x.i(0) > x.i(1));
    "s_cmpk_ge_i32" |x| flag(x.i(0) >= x.i(1));
    "s_cmpk_lt_i32" |x| flag(x.i(0) < x.i(1));
    "s_cmpk_le_i32" |x| flag(x.i(0) <= x.i(1));
    "s_cmpk_eq_u32" |x| flag(x.u(0) == x.u(1));
    "s_cmpk_lg_u32" |x| flag(x.u(0) != x.u(1));
    "s_cmpk_gt_u32" |x| flag(x.u(0) > x.u(1));
    "s_cmpk_ge_u32" |x| flag(x.u(0) >= x.u(1));
    "s_cmpk_lt_u32" |x| flag(x.u(0) < x.u(1));
    "s_cmpk_le_u32" |x| flag(x.u(0) <= x.u(1));
    "s_addk_i32" |x| overflows(i128::from(x.old as i32) + i128::from(x.i(1)));
    "s_mulk_i32" |x| word(i128::from(x.old as i32) * i128::from(x.i(1)));
}
