//! The effect of each instruction on one lane, written from the manual's text in unbounded
//! arithmetic.

/// The inputs of an instruction in a lane.
#[derive(Debug)]
pub struct Sources {
    /// The sources, zero-extended.
    pub s: [u128; 3],
    /// The old destination.
    pub old: u128,
    /// The lane's bit of the mask source.
    pub carry: bool,
    /// The lane number.
    pub lane: u32,
}

impl Sources {
    /// The low `bits` of source `n` as an unsigned number.
    fn u(&self, n: usize, bits: u32) -> i128 {
        (self.s[n] & ((1 << bits) - 1)) as i128
    }

    /// The low `bits` of source `n` as a signed number.
    fn i(&self, n: usize, bits: u32) -> i128 {
        signed(self.u(n, bits), bits)
    }

    /// Field `k` of `bits` bits of source `n`, unsigned.
    fn uf(&self, n: usize, k: u32, bits: u32) -> i128 {
        (self.s[n] >> (k * bits)) as i128 & ((1 << bits) - 1)
    }

    /// Field `k` of `bits` bits of source `n`, signed.
    fn sf(&self, n: usize, k: u32, bits: u32) -> i128 {
        signed(self.uf(n, k, bits), bits)
    }

    /// Shift amount: the low `bits` of source `n`.
    fn n(&self, n: usize, bits: u32) -> u32 {
        self.u(n, bits) as u32
    }

    fn carry(&self) -> i128 {
        i128::from(self.carry)
    }
}

fn signed(value: i128, bits: u32) -> i128 {
    if value >> (bits - 1) & 1 != 0 { value - (1 << bits) } else { value }
}

/// An exact result with the type that it is converted to.
#[derive(Clone, Copy, Debug)]
struct Field {
    exact: i128,
    bits: u32,
    signed: bool,
}

/// The result of a lane: fields from the lowest bit upwards, and the bit of the mask.
#[derive(Debug)]
pub struct Outcome {
    fields: Vec<Field>,
    /// The lane's bit of the mask result.
    pub mask: bool,
}

impl Outcome {
    /// The bits of the result; with `clamp` saturated to the types.
    #[must_use]
    pub fn bits(&self, clamp: bool) -> u128 {
        let mut at = 0;
        self.fields.iter().fold(0, |bits, f| {
            let (low, high) = if f.signed {
                (-(1 << (f.bits - 1)), (1 << (f.bits - 1)) - 1)
            } else {
                (0, (1 << f.bits) - 1)
            };
            let value = if clamp { f.exact.clamp(low, high) } else { f.exact };
            let placed = ((value & ((1 << f.bits) - 1)) as u128) << at;
            at += f.bits;
            bits | placed
        })
    }

    fn with(mut self, mask: bool) -> Outcome {
        self.mask = mask;
        self
    }
}

fn unsigned(bits: u32, exact: i128) -> Outcome {
    Outcome { fields: vec![Field { exact, bits, signed: false }], mask: false }
}

fn integer(bits: u32, exact: i128) -> Outcome {
    Outcome { fields: vec![Field { exact, bits, signed: true }], mask: false }
}

/// Bits without a type, never clamped.
fn raw(bits: u32, value: i128) -> Outcome {
    unsigned(bits, value & ((1 << bits) - 1))
}

/// `count` fields of `bits` bits.
fn fields(count: u32, bits: u32, signed: bool, f: impl Fn(u32) -> i128) -> Outcome {
    Outcome { fields: (0..count).map(|k| Field { exact: f(k), bits, signed }).collect(), mask: false }
}

/// Both halves, as untyped bits.
fn halves(f: impl Fn(u32) -> i128) -> Outcome {
    fields(2, 16, false, |k| f(k) & 0xffff)
}

/// Sum of absolute differences of bytes `k..k+4` of source 0 and the bytes of source 1; with
/// `masked`, without bytes whose source 1 byte is zero.
fn sad(x: &Sources, k: u32, masked: bool) -> i128 {
    (0..4)
        .map(|n| (x.uf(0, k + n, 8), x.uf(1, n, 8)))
        .filter(|(_, b)| !masked || *b != 0)
        .map(|(a, b)| (a - b).abs())
        .sum()
}

/// Dot product of `count` fields plus `addend`.
fn dot(x: &Sources, count: u32, bits: u32, is_signed: bool, addend: i128) -> Outcome {
    let part = |n, k| if is_signed { x.sf(n, k, bits) } else { x.uf(n, k, bits) };
    let sum = (0..count).map(|k| part(0, k) * part(1, k)).sum::<i128>() + addend;
    if is_signed { integer(32, sum) } else { unsigned(32, sum) }
}

fn median(mut v: [i128; 3]) -> i128 {
    v.sort_unstable();
    v[1]
}

fn count_ones(value: i128) -> i128 {
    i128::from(value.count_ones())
}

/// Length of the run of equal bits at the top of a 32-bit value, or -1 if it is the whole value.
fn sign_run(value: i128) -> i128 {
    let bit = |n: u32| value >> (31 - n) & 1;
    (1..32).find(|n| bit(*n) != bit(0)).map_or(-1, i128::from)
}

/// The bytes that V_PERM_B32 chooses from.
fn perm(x: &Sources) -> i128 {
    let data = x.u(0, 32) << 32 | x.u(1, 32);
    let byte = |n: i128| data >> (8 * n) & 0xff;
    (0..4).fold(0, |r, k| {
        let chosen = match x.uf(2, k, 8) {
            n @ 0..=7 => byte(n),
            n @ 8..=11 => (byte(2 * (n - 8) + 1) >> 7) * 0xff,
            12 => 0,
            _ => 0xff,
        };
        r | chosen << (8 * k)
    })
}

/// An instruction and its meaning.
#[derive(Debug)]
pub struct Reference {
    /// The mnemonic.
    pub name: &'static str,
    /// The result of a lane.
    pub apply: fn(&Sources) -> Outcome,
}

macro_rules! references {
    ($($name:literal |$x:ident| $code:expr;)*) => {
        /// All references.
        pub const REFERENCES: &[Reference] = &[$(Reference { name: $name, apply: |$x| $code }),*];
    };
}

references! {
    // VOP1.
    "v_mov_b32" |x| raw(32, x.u(0, 32));
    "v_not_b32" |x| raw(32, !x.u(0, 32));
    "v_bfrev_b32" |x| raw(32, (0..32).fold(0, |r, n| r | (x.u(0, 32) >> n & 1) << (31 - n)));
    "v_ffbh_u32" |x| raw(32, (0..32).find(|n| x.u(0, 32) >> (31 - n) & 1 != 0).unwrap_or(-1));
    "v_ffbl_b32" |x| raw(32, (0..32).find(|n| x.u(0, 32) >> n & 1 != 0).unwrap_or(-1));
    "v_ffbh_i32" |x| raw(32, sign_run(x.u(0, 32)));
    "v_mov_b64" |x| raw(64, x.u(0, 64));
    "v_sat_pk_u8_i16" |x| raw(32, x.sf(0, 0, 16).clamp(0, 255) | x.sf(0, 1, 16).clamp(0, 255) << 8);
    "v_screen_partition_4se_b32" |x| raw(32, super::screen::shader_engines(x.u(0, 8)));
    "v_prng_b32" |x| raw(32, x.u(0, 32) << 1 ^ if x.u(0, 32) >> 31 != 0 { 197 } else { 0 });
    // VOP2.
    "v_mul_i32_i24" |x| integer(32, x.i(0, 24) * x.i(1, 24));
    "v_mul_hi_i32_i24" |x| raw(32, (x.i(0, 24) * x.i(1, 24)) >> 32);
    "v_mul_u32_u24" |x| unsigned(32, x.u(0, 24) * x.u(1, 24));
    "v_mul_hi_u32_u24" |x| raw(32, (x.u(0, 24) * x.u(1, 24)) >> 32);
    "v_min_i32" |x| raw(32, x.i(0, 32).min(x.i(1, 32)));
    "v_max_i32" |x| raw(32, x.i(0, 32).max(x.i(1, 32)));
    "v_min_u32" |x| raw(32, x.u(0, 32).min(x.u(1, 32)));
    "v_max_u32" |x| raw(32, x.u(0, 32).max(x.u(1, 32)));
    "v_lshrrev_b32" |x| raw(32, x.u(1, 32) >> x.n(0, 5));
    "v_ashrrev_i32" |x| raw(32, x.i(1, 32) >> x.n(0, 5));
    "v_lshlrev_b32" |x| raw(32, x.u(1, 32) << x.n(0, 5));
    "v_and_b32" |x| raw(32, x.u(0, 32) & x.u(1, 32));
    "v_or_b32" |x| raw(32, x.u(0, 32) | x.u(1, 32));
    "v_xor_b32" |x| raw(32, x.u(0, 32) ^ x.u(1, 32));
    "v_xnor_b32" |x| raw(32, !(x.u(0, 32) ^ x.u(1, 32)));
    "v_add_co_u32" |x| {
        let sum = x.u(0, 32) + x.u(1, 32);
        unsigned(32, sum).with(sum >> 32 != 0)
    };
    "v_sub_co_u32" |x| {
        let difference = x.u(0, 32) - x.u(1, 32);
        unsigned(32, difference).with(difference < 0)
    };
    "v_subrev_co_u32" |x| {
        let difference = x.u(1, 32) - x.u(0, 32);
        unsigned(32, difference).with(difference < 0)
    };
    "v_addc_co_u32" |x| {
        let sum = x.u(0, 32) + x.u(1, 32) + x.carry();
        unsigned(32, sum).with(sum >> 32 != 0)
    };
    "v_subb_co_u32" |x| {
        let difference = x.u(0, 32) - x.u(1, 32) - x.carry();
        unsigned(32, difference).with(difference < 0)
    };
    "v_subbrev_co_u32" |x| {
        let difference = x.u(1, 32) - x.u(0, 32) - x.carry();
        unsigned(32, difference).with(difference < 0)
    };
    "v_add_u16" |x| fields(2, 16, false, |k| if k == 0 { x.u(0, 16) + x.u(1, 16) } else { 0 });
    "v_sub_u16" |x| fields(2, 16, false, |k| if k == 0 { x.u(0, 16) - x.u(1, 16) } else { 0 });
    "v_subrev_u16" |x| fields(2, 16, false, |k| if k == 0 { x.u(1, 16) - x.u(0, 16) } else { 0 });
    "v_mul_lo_u16" |x| raw(32, (x.u(0, 16) * x.u(1, 16)) & 0xffff);
    "v_lshlrev_b16" |x| raw(32, x.u(1, 16) << x.n(0, 4) & 0xffff);
    "v_lshrrev_b16" |x| raw(32, x.u(1, 16) >> x.n(0, 4));
    "v_ashrrev_i16" |x| raw(32, x.i(1, 16) >> x.n(0, 4) & 0xffff);
    "v_max_u16" |x| raw(32, x.u(0, 16).max(x.u(1, 16)));
    "v_max_i16" |x| raw(32, x.i(0, 16).max(x.i(1, 16)) & 0xffff);
    "v_min_u16" |x| raw(32, x.u(0, 16).min(x.u(1, 16)));
    "v_min_i16" |x| raw(32, x.i(0, 16).min(x.i(1, 16)) & 0xffff);
    "v_add_u32" |x| unsigned(32, x.u(0, 32) + x.u(1, 32));
    "v_sub_u32" |x| unsigned(32, x.u(0, 32) - x.u(1, 32));
    "v_subrev_u32" |x| unsigned(32, x.u(1, 32) - x.u(0, 32));
    "v_dot2c_i32_i16" |x| dot(x, 2, 16, true, signed(x.old as i128, 32));
    "v_dot4c_i32_i8" |x| dot(x, 4, 8, true, signed(x.old as i128, 32));
    "v_dot8c_i32_i4" |x| dot(x, 8, 4, true, signed(x.old as i128, 32));
    // VOP3.
    "v_mad_i32_i24" |x| integer(32, x.i(0, 24) * x.i(1, 24) + x.i(2, 32));
    "v_mad_u32_u24" |x| unsigned(32, x.u(0, 24) * x.u(1, 24) + x.u(2, 32));
    "v_bfe_u32" |x| raw(32, x.u(0, 32) >> x.n(1, 5) & ((1 << x.n(2, 5)) - 1));
    "v_bfe_i32" |x| {
        let width = x.n(2, 5);
        let field = x.i(0, 32) >> x.n(1, 5) & ((1 << width) - 1);
        raw(32, if width == 0 { 0 } else { signed(field, width) })
    };
    "v_bfi_b32" |x| raw(32, x.u(0, 32) & x.u(1, 32) | !x.u(0, 32) & x.u(2, 32));
    "v_lerp_u8" |x| fields(4, 8, false, |k| (x.uf(0, k, 8) + x.uf(1, k, 8) + (x.uf(2, k, 8) & 1)) >> 1);
    "v_alignbit_b32" |x| raw(32, (x.u(0, 32) << 32 | x.u(1, 32)) >> x.n(2, 5));
    "v_alignbyte_b32" |x| raw(32, (x.u(0, 32) << 32 | x.u(1, 32)) >> (8 * x.n(2, 2)));
    "v_min3_i32" |x| raw(32, x.i(0, 32).min(x.i(1, 32)).min(x.i(2, 32)));
    "v_min3_u32" |x| raw(32, x.u(0, 32).min(x.u(1, 32)).min(x.u(2, 32)));
    "v_max3_i32" |x| raw(32, x.i(0, 32).max(x.i(1, 32)).max(x.i(2, 32)));
    "v_max3_u32" |x| raw(32, x.u(0, 32).max(x.u(1, 32)).max(x.u(2, 32)));
    "v_med3_i32" |x| raw(32, median([x.i(0, 32), x.i(1, 32), x.i(2, 32)]));
    "v_med3_u32" |x| raw(32, median([x.u(0, 32), x.u(1, 32), x.u(2, 32)]));
    "v_sad_u8" |x| unsigned(32, sad(x, 0, false) + x.u(2, 32));
    "v_sad_hi_u8" |x| unsigned(32, (sad(x, 0, false) << 16) + x.u(2, 32));
    "v_sad_u16" |x| {
        let difference = |k| (x.uf(0, k, 16) - x.uf(1, k, 16)).abs();
        unsigned(32, difference(0) + difference(1) + x.u(2, 32))
    };
    "v_sad_u32" |x| unsigned(32, (x.u(0, 32) - x.u(1, 32)).abs() + x.u(2, 32));
    "v_msad_u8" |x| unsigned(32, sad(x, 0, true) + x.u(2, 32));
    "v_qsad_pk_u16_u8" |x| fields(4, 16, false, |k| sad(x, k, false) + x.uf(2, k, 16));
    "v_mqsad_pk_u16_u8" |x| fields(4, 16, false, |k| sad(x, k, true) + x.uf(2, k, 16));
    "v_mqsad_u32_u8" |x| fields(4, 32, false, |k| sad(x, k, true) + x.uf(2, k, 32));
    "v_mad_u64_u32" |x| {
        let sum = x.u(0, 32) * x.u(1, 32) + x.u(2, 64);
        unsigned(64, sum).with(sum >> 64 & 1 != 0)
    };
    "v_mad_i64_i32" |x| {
        let sum = x.i(0, 32) * x.i(1, 32) + x.i(2, 64);
        integer(64, sum).with(sum >> 64 & 1 != 0)
    };
    "v_mad_legacy_u16" |x| fields(2, 16, false, |k| if k == 0 { x.u(0, 16) * x.u(1, 16) + x.u(2, 16) } else { 0 });
    "v_mad_legacy_i16" |x| fields(2, 16, true, |k| if k == 0 { x.i(0, 16) * x.i(1, 16) + x.i(2, 16) } else { 0 });
    "v_perm_b32" |x| raw(32, perm(x));
    "v_mad_u32_u16" |x| unsigned(32, x.u(0, 16) * x.u(1, 16) + x.u(2, 32));
    "v_mad_i32_i16" |x| integer(32, x.i(0, 16) * x.i(1, 16) + x.i(2, 32));
    "v_xad_u32" |x| raw(32, (x.u(0, 32) ^ x.u(1, 32)) + x.u(2, 32));
    "v_min3_i16" |x| raw(32, x.i(0, 16).min(x.i(1, 16)).min(x.i(2, 16)) & 0xffff);
    "v_min3_u16" |x| raw(32, x.u(0, 16).min(x.u(1, 16)).min(x.u(2, 16)));
    "v_max3_i16" |x| raw(32, x.i(0, 16).max(x.i(1, 16)).max(x.i(2, 16)) & 0xffff);
    "v_max3_u16" |x| raw(32, x.u(0, 16).max(x.u(1, 16)).max(x.u(2, 16)));
    "v_med3_i16" |x| raw(32, median([x.i(0, 16), x.i(1, 16), x.i(2, 16)]) & 0xffff);
    "v_med3_u16" |x| raw(32, median([x.u(0, 16), x.u(1, 16), x.u(2, 16)]));
    "v_lshl_add_u32" |x| raw(32, (x.u(0, 32) << x.n(1, 5)) + x.u(2, 32));
    "v_add_lshl_u32" |x| raw(32, (x.u(0, 32) + x.u(1, 32)) << x.n(2, 5));
    "v_add3_u32" |x| raw(32, x.u(0, 32) + x.u(1, 32) + x.u(2, 32));
    "v_lshl_or_b32" |x| raw(32, x.u(0, 32) << x.n(1, 5) | x.u(2, 32));
    "v_and_or_b32" |x| raw(32, x.u(0, 32) & x.u(1, 32) | x.u(2, 32));
    "v_or3_b32" |x| raw(32, x.u(0, 32) | x.u(1, 32) | x.u(2, 32));
    // The upper half of the destination is kept.
    "v_mad_u16" |x| fields(2, 16, false, |k| {
        if k == 0 { x.u(0, 16) * x.u(1, 16) + x.u(2, 16) } else { x.old as i128 >> 16 }
    });
    "v_mad_i16" |x| fields(2, 16, true, |k| {
        if k == 0 { x.i(0, 16) * x.i(1, 16) + x.i(2, 16) } else { signed(x.old as i128 >> 16, 16) }
    });
    // The manual does not describe amounts above 4; they act as 0 here.
    "v_lshl_add_u64" |x| raw(64, (x.u(0, 64) << if x.n(1, 3) > 4 { 0 } else { x.n(1, 3) }) + x.u(2, 64));
    // AMD's pseudocode assigns the lower half only; the upper one is cleared (facet half_unassigned).
    "v_ashr_pk_i8_i32" |x| {
        let part = |n| (x.i(n, 32) >> x.n(2, 5)).clamp(-128, 127) & 0xff;
        raw(32, part(0) | part(1) << 8)
    };
    "v_ashr_pk_u8_i32" |x| {
        let part = |n| (x.i(n, 32) >> x.n(2, 5)).clamp(0, 255);
        raw(32, part(0) | part(1) << 8)
    };
    "v_mul_lo_u32" |x| raw(32, x.u(0, 32) * x.u(1, 32));
    "v_mul_hi_u32" |x| raw(32, (x.u(0, 32) * x.u(1, 32)) >> 32);
    "v_mul_hi_i32" |x| raw(32, (x.i(0, 32) * x.i(1, 32)) >> 32);
    "v_bcnt_u32_b32" |x| raw(32, count_ones(x.u(0, 32)) + x.u(1, 32));
    "v_mbcnt_lo_u32_b32" |x| {
        let below = (1i128 << x.lane) - 1;
        raw(32, count_ones(x.u(0, 32) & below & 0xffff_ffff) + x.u(1, 32))
    };
    "v_mbcnt_hi_u32_b32" |x| {
        let below = (1i128 << x.lane) - 1;
        raw(32, count_ones(x.u(0, 32) & below >> 32) + x.u(1, 32))
    };
    "v_lshlrev_b64" |x| raw(64, x.u(1, 64) << x.n(0, 6));
    "v_lshrrev_b64" |x| raw(64, x.u(1, 64) >> x.n(0, 6));
    "v_ashrrev_i64" |x| raw(64, x.i(1, 64) >> x.n(0, 6));
    "v_bfm_b32" |x| raw(32, ((1 << x.n(0, 5)) - 1) << x.n(1, 5));
    "v_cvt_pk_u16_u32" |x| halves(|k| x.u(k as usize, 32).min(0xffff));
    "v_cvt_pk_i16_i32" |x| halves(|k| x.i(k as usize, 32).clamp(-0x8000, 0x7fff));
    "v_add_i32" |x| integer(32, x.i(0, 32) + x.i(1, 32));
    "v_sub_i32" |x| integer(32, x.i(0, 32) - x.i(1, 32));
    "v_add_i16" |x| fields(2, 16, true, |k| if k == 0 { x.i(0, 16) + x.i(1, 16) } else { 0 });
    "v_sub_i16" |x| fields(2, 16, true, |k| if k == 0 { x.i(0, 16) - x.i(1, 16) } else { 0 });
    // VOP3P.
    "v_pk_mad_i16" |x| fields(2, 16, true, |k| x.sf(0, k, 16) * x.sf(1, k, 16) + x.sf(2, k, 16));
    "v_pk_mul_lo_u16" |x| fields(2, 16, false, |k| x.uf(0, k, 16) * x.uf(1, k, 16));
    "v_pk_add_i16" |x| fields(2, 16, true, |k| x.sf(0, k, 16) + x.sf(1, k, 16));
    "v_pk_sub_i16" |x| fields(2, 16, true, |k| x.sf(0, k, 16) - x.sf(1, k, 16));
    "v_pk_lshlrev_b16" |x| halves(|k| x.uf(1, k, 16) << (x.uf(0, k, 16) & 15));
    "v_pk_lshrrev_b16" |x| halves(|k| x.uf(1, k, 16) >> (x.uf(0, k, 16) & 15));
    "v_pk_ashrrev_i16" |x| halves(|k| x.sf(1, k, 16) >> (x.uf(0, k, 16) & 15));
    "v_pk_max_i16" |x| halves(|k| x.sf(0, k, 16).max(x.sf(1, k, 16)));
    "v_pk_min_i16" |x| halves(|k| x.sf(0, k, 16).min(x.sf(1, k, 16)));
    "v_pk_mad_u16" |x| fields(2, 16, false, |k| x.uf(0, k, 16) * x.uf(1, k, 16) + x.uf(2, k, 16));
    "v_pk_add_u16" |x| fields(2, 16, false, |k| x.uf(0, k, 16) + x.uf(1, k, 16));
    "v_pk_sub_u16" |x| fields(2, 16, false, |k| x.uf(0, k, 16) - x.uf(1, k, 16));
    "v_pk_max_u16" |x| halves(|k| x.uf(0, k, 16).max(x.uf(1, k, 16)));
    "v_pk_min_u16" |x| halves(|k| x.uf(0, k, 16).min(x.uf(1, k, 16)));
    "v_dot2_i32_i16" |x| dot(x, 2, 16, true, x.i(2, 32));
    "v_dot2_u32_u16" |x| dot(x, 2, 16, false, x.u(2, 32));
    "v_dot4_i32_i8" |x| dot(x, 4, 8, true, x.i(2, 32));
    "v_dot4_u32_u8" |x| dot(x, 4, 8, false, x.u(2, 32));
    "v_dot8_i32_i4" |x| dot(x, 8, 4, true, x.i(2, 32));
    "v_dot8_u32_u4" |x| dot(x, 8, 4, false, x.u(2, 32));
}
