//! The effect of each float instruction on one lane: the operation, its sources, and the fields of
//! MODE that it obeys.
//!
//! The three letters
//! after a name are the fields of MODE that rounding, denormal sources and denormal results obey
//! (Vega ISA 6.4, table 22, and the descriptions in chapter 12):
//!
//! - `S`: the f32 fields, MODE\[1:0\] and \[5:4\]; `D`: the f16 and f64 fields, MODE\[3:2\] and
//!   \[7:6\];
//! - `N`: to nearest even in every mode, `Z`: towards zero in every mode;
//! - `K`: denormals are kept in every mode, `F`: they are flushed in every mode;
//! - `-`: the result is exact, or cannot involve denormals.
//!
//! Where source and result are of different kinds, rounding obeys `D` if one of them is f16 or f64: LLVM's pass
//! SIModeRegister sets these bits for V_CVT_F16_F32 and V_CVT_F32_F64 (`llvm.fptrunc.round`), and its instruction tables
//! mark V_CVT_F16_U16, V_CVT_F16_I16 and all arithmetic of f16 and f64. V_CVT_PK_F16_F32 and V_CVT_PK_BF16_F32 round to
//! nearest even (AMD's machine-readable CDNA4 tables; LLVM has them read no MODE).

use crate::{
    BF16, Cube, Dot, Env, Extreme, F16, F32, F64, Field, Format, Mode, Round, add, cube, div_fixup, div_fmas,
    div_scale, dot2, exp2, extreme, float_to_float, float_to_int, float_to_norm, fma, fract, frexp_exp,
    frexp_mant, int_to_float, ldexp, log2, mad, mad_legacy, med3, minimum3, mul, mul_legacy, rcp,
    round_half_up, rsq, sine, sqrt, sub, to_integral, trig_preop,
};

/// The sources of an instruction in a lane, with source modifiers applied.
#[derive(Debug)]
pub struct Sources {
    /// The sources.
    pub s: [u64; 3],
    /// The old destination.
    pub old: u64,
    /// The environment that the operation obeys.
    pub env: Env,
    /// The lane's bit of VCC.
    pub vcc: bool,
    /// Whether dot products keep denormal halves.
    pub dot_keeps: bool,
}

/// The result of a lane and its bit of the mask result.
#[derive(Debug)]
pub struct Outcome {
    /// The result.
    pub bits: u64,
    /// The lane's bit of the mask result.
    pub mask: bool,
}

impl From<u64> for Outcome {
    fn from(bits: u64) -> Outcome {
        Outcome { bits, mask: false }
    }
}

/// An instruction and its meaning.
#[derive(Debug)]
pub struct Reference {
    /// The mnemonic.
    pub name: &'static str,
    /// The fields that rounding, sources and results obey.
    fields: &'static str,
    apply: fn(&Sources) -> Outcome,
}

/// A field by its letter.
fn field(letter: char) -> Option<Field> {
    match letter {
        'S' => Some(Field::Single),
        'D' => Some(Field::Double),
        _ => None,
    }
}

impl Reference {
    fn letter(&self, n: usize) -> char {
        self.fields.chars().nth(n).expect("three letters")
    }

    /// The environment that the operation obeys in a mode.
    #[must_use]
    pub fn env(&self, mode: u32) -> Env {
        let mode = Mode(mode);
        let any = mode.env(Field::Single);
        let keeps = |letter, of: fn(Mode, Field) -> bool| match field(letter) {
            Some(field) => of(mode, field),
            None => letter != 'F',
        };
        let round = match field(self.letter(0)) {
            Some(field) => mode.round(field),
            None if self.letter(0) == 'Z' => Round::Zero,
            None => Round::NearestEven,
        };
        Env {
            round,
            keeps_inputs: keeps(self.letter(1), Mode::keeps_inputs),
            keeps_outputs: keeps(self.letter(2), Mode::keeps_outputs),
            ..any
        }
    }

    /// The environment that output modifiers obey: the same, with the fields of the types if the
    /// operation obeys none.
    #[must_use]
    pub fn output_env(&self, mode: u32, source: Field, result: Field) -> Env {
        let wide = if source == Field::Double { source } else { result };
        let or = |n, other| field(self.letter(n)).unwrap_or(other);
        let mode = Mode(mode);
        Env {
            round: mode.round(or(0, wide)),
            keeps_inputs: mode.keeps_inputs(or(1, source)),
            keeps_outputs: mode.keeps_outputs(result),
            ..mode.env(result)
        }
    }

    /// The result of a lane.
    #[must_use]
    pub fn apply(&self, sources: &Sources) -> Outcome {
        (self.apply)(sources)
    }
}

const I16: [i64; 2] = [-0x8000, 0x7fff];
const U16: [i64; 2] = [0, 0xffff];
const I32: [i64; 2] = [-0x8000_0000, 0x7fff_ffff];
const U32: [i64; 2] = [0, 0xffff_ffff];
const NORM_I16: [i64; 2] = [-0x7fff, 0x7fff];

fn pair(low: u64, high: u64) -> u64 {
    low & 0xffff | (high & 0xffff) << 16
}

impl Sources {
    /// A float conversion of source `n`.
    fn float(&self, n: usize, from: Format, to: Format) -> u64 {
        float_to_float(from, to, self.s[n] & (from.sign() | from.magnitude()), self.env)
    }

    /// A conversion to an integer between the limits, towards zero.
    fn int(&self, from: Format, limits: [i64; 2]) -> u64 {
        let mask = if limits[1] <= 0xffff { 0xffff } else { 0xffff_ffff };
        let bits = self.s[0] & (from.sign() | from.magnitude());
        float_to_int(from, bits, Round::Zero, limits, self.env) as u64 & mask
    }

    fn norm(&self, n: usize, from: Format, limits: [i64; 2]) -> u64 {
        let bits = self.s[n] & (from.sign() | from.magnitude());
        float_to_norm(from, bits, limits, self.env) as u64 & 0xffff
    }

    fn byte(&self, n: u32) -> u64 {
        int_to_float(F32, (self.s[0] >> (8 * n) & 0xff) as i64, self.env)
    }

    /// V_CVT_PK_U8_F32 into a byte of a value.
    fn byte_of(&self, old: u64) -> u64 {
        let byte = float_to_int(F32, self.s[0], self.env.round, [0, 0xff], self.env) as u64;
        let at = 8 * (self.s[1] & 3);
        old & 0xffff_ffff & !(0xff << at) | byte << at
    }

    fn one(&self, f: Format) -> u64 {
        self.s[0] & (f.sign() | f.magnitude())
    }

    fn two(&self, f: Format) -> [u64; 2] {
        [0, 1].map(|n| self.s[n] & (f.sign() | f.magnitude()))
    }

    fn three(&self, f: Format) -> [u64; 3] {
        self.s.map(|s| s & (f.sign() | f.magnitude()))
    }

    /// Factors, and the destination as the addend.
    fn onto(&self, f: Format) -> [u64; 3] {
        [self.s[0], self.s[1], self.old].map(|s| s & (f.sign() | f.magnitude()))
    }

    fn rounded(&self, f: Format, round: Round) -> u64 {
        to_integral(f, self.one(f), round, self.env)
    }

    fn reversed(&self, f: Format) -> [u64; 2] {
        let [a, b] = self.two(f);
        [b, a]
    }

    fn scaled(&self, f: Format) -> Outcome {
        let (bits, mask) = div_scale(f, self.three(f), self.env);
        Outcome { bits, mask }
    }

    fn signed32(&self, n: usize) -> i64 {
        i64::from(self.s[n] as u32 as i32)
    }
}

macro_rules! references {
    ($($name:literal $fields:literal |$x:ident| $code:expr;)*) => {
        /// All references.
        pub const REFERENCES: &[Reference] =
            &[$(Reference { name: $name, fields: $fields, apply: |$x| Outcome::from($code) }),*];
    };
}

references! {
    // VOP1: conversions.
    "v_cvt_i32_f64" "-D-" |x| x.int(F64, I32);
    "v_cvt_f64_i32" "---" |x| int_to_float(F64, x.signed32(0), x.env);
    "v_cvt_f32_i32" "S--" |x| int_to_float(F32, x.signed32(0), x.env);
    "v_cvt_f32_u32" "S--" |x| int_to_float(F32, i64::from(x.s[0] as u32), x.env);
    "v_cvt_u32_f32" "-S-" |x| x.int(F32, U32);
    "v_cvt_i32_f32" "-S-" |x| x.int(F32, I32);
    "v_cvt_f16_f32" "DSD" |x| x.float(0, F32, F16);
    "v_cvt_f32_f16" "-D-" |x| x.float(0, F16, F32);
    "v_cvt_rpi_i32_f32" "-S-" |x| round_half_up(F32, x.s[0], I32, x.env) as u64 & 0xffff_ffff;
    "v_cvt_flr_i32_f32" "-S-" |x| float_to_int(F32, x.s[0], Round::Down, I32, x.env) as u64 & 0xffff_ffff;
    "v_cvt_off_f32_i4" "---" |x| ldexp(F32, int_to_float(F32, ((x.s[0] as i64) << 60) >> 60, x.env), -4, x.env);
    "v_cvt_f32_f64" "DDS" |x| x.float(0, F64, F32);
    "v_cvt_f64_f32" "-S-" |x| x.float(0, F32, F64);
    "v_cvt_f32_ubyte0" "---" |x| x.byte(0);
    "v_cvt_f32_ubyte1" "---" |x| x.byte(1);
    "v_cvt_f32_ubyte2" "---" |x| x.byte(2);
    "v_cvt_f32_ubyte3" "---" |x| x.byte(3);
    "v_cvt_u32_f64" "-D-" |x| x.int(F64, U32);
    "v_cvt_f64_u32" "---" |x| int_to_float(F64, i64::from(x.s[0] as u32), x.env);
    "v_cvt_f16_u16" "D-D" |x| int_to_float(F16, i64::from(x.s[0] as u16), x.env);
    "v_cvt_f16_i16" "D-D" |x| int_to_float(F16, i64::from(x.s[0] as i16), x.env);
    "v_cvt_u16_f16" "-D-" |x| x.int(F16, U16);
    "v_cvt_i16_f16" "-D-" |x| x.int(F16, I16);
    "v_cvt_norm_i16_f16" "-D-" |x| x.norm(0, F16, NORM_I16);
    "v_cvt_norm_u16_f16" "-D-" |x| x.norm(0, F16, U16);
    "v_cvt_f32_bf16" "-KK" |x| x.float(0, BF16, F32);
    // VOP1: the rest. Reciprocals, roots, powers, logarithms and angles obey no rounding field (Vega ISA 12.8). Of f32, all
    // but angles flush. The rest obey a denormal field, as all operations do unless otherwise specified (Vega ISA 12).
    "v_trunc_f64" "-DD" |x| x.rounded(F64, Round::Zero);
    "v_ceil_f64" "-DD" |x| x.rounded(F64, Round::Up);
    "v_rndne_f64" "-DD" |x| x.rounded(F64, Round::NearestEven);
    "v_floor_f64" "-DD" |x| x.rounded(F64, Round::Down);
    "v_fract_f32" "SSS" |x| fract(F32, x.one(F32), x.env);
    "v_trunc_f32" "-SS" |x| x.rounded(F32, Round::Zero);
    "v_ceil_f32" "-SS" |x| x.rounded(F32, Round::Up);
    "v_rndne_f32" "-SS" |x| x.rounded(F32, Round::NearestEven);
    "v_floor_f32" "-SS" |x| x.rounded(F32, Round::Down);
    "v_exp_f32" "NFF" |x| exp2(F32, x.one(F32), x.env);
    "v_log_f32" "NFF" |x| log2(F32, x.one(F32), x.env);
    "v_rcp_f32" "NFF" |x| rcp(F32, x.one(F32), x.env);
    "v_rcp_iflag_f32" "NFF" |x| rcp(F32, x.one(F32), x.env);
    "v_rsq_f32" "NFF" |x| rsq(F32, x.one(F32), x.env);
    "v_rcp_f64" "NDD" |x| rcp(F64, x.one(F64), x.env);
    "v_rsq_f64" "NDD" |x| rsq(F64, x.one(F64), x.env);
    "v_sqrt_f32" "NFF" |x| sqrt(F32, x.one(F32), x.env);
    "v_sqrt_f64" "NDD" |x| sqrt(F64, x.one(F64), x.env);
    "v_sin_f32" "NSS" |x| sine(F32, x.one(F32), 0, x.env);
    "v_cos_f32" "NSS" |x| sine(F32, x.one(F32), 1, x.env);
    "v_frexp_exp_i32_f64" "-D-" |x| frexp_exp(F64, x.one(F64), x.env);
    "v_frexp_mant_f64" "-DD" |x| frexp_mant(F64, x.one(F64), x.env);
    "v_fract_f64" "DDD" |x| fract(F64, x.one(F64), x.env);
    "v_frexp_exp_i32_f32" "-S-" |x| frexp_exp(F32, x.one(F32), x.env);
    "v_frexp_mant_f32" "-SS" |x| frexp_mant(F32, x.one(F32), x.env);
    "v_rcp_f16" "NDD" |x| rcp(F16, x.one(F16), x.env);
    "v_sqrt_f16" "NDD" |x| sqrt(F16, x.one(F16), x.env);
    "v_rsq_f16" "NDD" |x| rsq(F16, x.one(F16), x.env);
    "v_log_f16" "NDD" |x| log2(F16, x.one(F16), x.env);
    "v_exp_f16" "NDD" |x| exp2(F16, x.one(F16), x.env);
    "v_frexp_mant_f16" "-DD" |x| frexp_mant(F16, x.one(F16), x.env);
    "v_frexp_exp_i16_f16" "-D-" |x| frexp_exp(F16, x.one(F16), x.env);
    "v_floor_f16" "-DD" |x| x.rounded(F16, Round::Down);
    "v_ceil_f16" "-DD" |x| x.rounded(F16, Round::Up);
    "v_trunc_f16" "-DD" |x| x.rounded(F16, Round::Zero);
    "v_rndne_f16" "-DD" |x| x.rounded(F16, Round::NearestEven);
    "v_fract_f16" "DDD" |x| fract(F16, x.one(F16), x.env);
    "v_sin_f16" "NDD" |x| sine(F16, x.one(F16), 0, x.env);
    "v_cos_f16" "NDD" |x| sine(F16, x.one(F16), 1, x.env);
    "v_exp_legacy_f32" "NFF" |x| exp2(F32, x.one(F32), x.env);
    "v_log_legacy_f32" "NFF" |x| log2(F32, x.one(F32), x.env);
    // VOP2. V_MAC and V_MAD flush denormals in every mode (Vega ISA 12.7); dot products obey no field (CDNA4 ISA 6.4).
    "v_add_f32" "SSS" |x| add(F32, x.two(F32), x.env);
    "v_sub_f32" "SSS" |x| sub(F32, x.two(F32), x.env);
    "v_subrev_f32" "SSS" |x| sub(F32, x.reversed(F32), x.env);
    "v_mul_legacy_f32" "SSS" |x| mul_legacy(F32, x.two(F32), x.env);
    "v_fmac_f64" "DDD" |x| fma(F64, x.onto(F64), x.env);
    "v_mul_f32" "SSS" |x| mul(F32, x.two(F32), x.env);
    "v_min_f32" "-SS" |x| extreme(F32, Extreme::Min, x.two(F32), x.env);
    "v_max_f32" "-SS" |x| extreme(F32, Extreme::Max, x.two(F32), x.env);
    "v_mac_f32" "SFF" |x| mad(F32, x.onto(F32), x.env);
    "v_dot2c_f32_bf16" "NFF" |x| dot2(BF16, Dot::AddendFirst, x.onto(F32), false);
    "v_add_f16" "DDD" |x| add(F16, x.two(F16), x.env);
    "v_sub_f16" "DDD" |x| sub(F16, x.two(F16), x.env);
    "v_subrev_f16" "DDD" |x| sub(F16, x.reversed(F16), x.env);
    "v_mul_f16" "DDD" |x| mul(F16, x.two(F16), x.env);
    "v_mac_f16" "DFF" |x| mad(F16, x.onto(F16), x.env);
    "v_max_f16" "-DD" |x| extreme(F16, Extreme::Max, x.two(F16), x.env);
    "v_min_f16" "-DD" |x| extreme(F16, Extreme::Min, x.two(F16), x.env);
    "v_ldexp_f16" "DDD" |x| ldexp(F16, x.one(F16), i64::from(x.s[1] as i16), x.env);
    "v_dot2c_f32_f16" "NKF" |x| dot2(F16, Dot::AddendFirst, x.onto(F32), x.dot_keeps);
    "v_fmac_f32" "SSS" |x| fma(F32, x.onto(F32), x.env);
    // VOP3.
    "v_mad_legacy_f32" "SFF" |x| mad_legacy(F32, x.three(F32), x.env);
    "v_mad_f32" "SFF" |x| mad(F32, x.three(F32), x.env);
    "v_cubeid_f32" "-SS" |x| cube(Cube::Id, x.three(F32), x.env);
    "v_cubesc_f32" "-SS" |x| cube(Cube::Sc, x.three(F32), x.env);
    "v_cubetc_f32" "-SS" |x| cube(Cube::Tc, x.three(F32), x.env);
    "v_cubema_f32" "SSS" |x| cube(Cube::Ma, x.three(F32), x.env);
    "v_fma_f32" "SSS" |x| fma(F32, x.three(F32), x.env);
    "v_fma_f64" "DDD" |x| fma(F64, x.three(F64), x.env);
    "v_min3_f32" "-SS" |x| extreme(F32, Extreme::Min, x.three(F32), x.env);
    "v_max3_f32" "-SS" |x| extreme(F32, Extreme::Max, x.three(F32), x.env);
    "v_med3_f32" "-SS" |x| med3(F32, x.three(F32), x.env);
    "v_cvt_pk_u8_f32" "SS-" |x| x.byte_of(x.s[2]);
    "v_div_fixup_f32" "-SS" |x| div_fixup(F32, x.three(F32), x.env);
    "v_div_fixup_f64" "-DD" |x| div_fixup(F64, x.three(F64), x.env);
    "v_div_scale_f32" "-SK" |x| x.scaled(F32);
    "v_div_scale_f64" "-DK" |x| x.scaled(F64);
    "v_div_fmas_f32" "SKS" |x| div_fmas(F32, x.three(F32), x.vcc, x.env);
    "v_div_fmas_f64" "DKD" |x| div_fmas(F64, x.three(F64), x.vcc, x.env);
    "v_mad_legacy_f16" "DFF" |x| mad(F16, x.three(F16), x.env);
    "v_fma_legacy_f16" "DDD" |x| fma(F16, x.three(F16), x.env);
    "v_div_fixup_legacy_f16" "-DD" |x| div_fixup(F16, x.three(F16), x.env);
    "v_cvt_pkaccum_u8_f32" "SS-" |x| x.byte_of(x.old);
    "v_min3_f16" "-DD" |x| extreme(F16, Extreme::Min, x.three(F16), x.env);
    "v_max3_f16" "-DD" |x| extreme(F16, Extreme::Max, x.three(F16), x.env);
    "v_med3_f16" "-DD" |x| med3(F16, x.three(F16), x.env);
    "v_mad_f16" "DFF" |x| mad(F16, x.three(F16), x.env);
    "v_fma_f16" "DDD" |x| fma(F16, x.three(F16), x.env);
    "v_div_fixup_f16" "-DD" |x| div_fixup(F16, x.three(F16), x.env);
    "v_cvt_pk_f16_f32" "NSD" |x| pair(x.float(0, F32, F16), x.float(1, F32, F16));
    "v_cvt_pk_bf16_f32" "NSS" |x| pair(x.float(0, F32, BF16), x.float(1, F32, BF16));
    "v_add_f64" "DDD" |x| add(F64, x.two(F64), x.env);
    "v_mul_f64" "DDD" |x| mul(F64, x.two(F64), x.env);
    "v_min_f64" "-DD" |x| extreme(F64, Extreme::Min, x.two(F64), x.env);
    "v_max_f64" "-DD" |x| extreme(F64, Extreme::Max, x.two(F64), x.env);
    "v_ldexp_f64" "DDD" |x| ldexp(F64, x.one(F64), x.signed32(1), x.env);
    "v_ldexp_f32" "SSS" |x| ldexp(F32, x.one(F32), x.signed32(1), x.env);
    "v_trig_preop_f64" "--D" |x| trig_preop(x.s[0], x.s[1], x.env);
    "v_cvt_pknorm_i16_f32" "-S-" |x| pair(x.norm(0, F32, NORM_I16), x.norm(1, F32, NORM_I16));
    "v_cvt_pknorm_u16_f32" "-S-" |x| pair(x.norm(0, F32, U16), x.norm(1, F32, U16));
    "v_cvt_pkrtz_f16_f32" "ZSD" |x| pair(x.float(0, F32, F16), x.float(1, F32, F16));
    "v_cvt_pknorm_i16_f16" "-D-" |x| pair(x.norm(0, F16, NORM_I16), x.norm(1, F16, NORM_I16));
    "v_cvt_pknorm_u16_f16" "-D-" |x| pair(x.norm(0, F16, U16), x.norm(1, F16, U16));
    "v_pack_b32_f16" "-DD" |x| pair(x.float(0, F16, F16), x.float(1, F16, F16));
    "v_minimum3_f32" "-SS" |x| minimum3(F32, Extreme::Min, x.three(F32), x.env);
    "v_maximum3_f32" "-SS" |x| minimum3(F32, Extreme::Max, x.three(F32), x.env);
}
