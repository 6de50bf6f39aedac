//! What each float instruction does to one lane, in terms of the exact scalar library: which operation on which
//! source, under which part of MODE.

use wavemill_float::{cvt, div_fmas, div_scale, float_op};
use wavemill_ir::{CvtOp as C, FloatOp as F, FloatType, FpEnv};

/// What an instruction reads in a lane, source modifiers applied.
pub(crate) struct Sources {
    pub(crate) s: [u64; 3],
    /// The destination before.
    pub(crate) old: u64,
    /// The mode of f32 operations.
    pub(crate) single: FpEnv,
    /// The mode of f16 and f64 operations.
    pub(crate) double: FpEnv,
    /// The lane's bit of VCC.
    pub(crate) vcc: bool,
}

/// The result of a lane and its bit of the mask beside it.
pub(crate) struct Outcome {
    pub(crate) bits: u64,
    pub(crate) mask: bool,
}

impl Sources {
    fn float<const N: usize>(&self, op: F, ty: FloatType, order: [usize; N]) -> Outcome {
        self.on(op, ty, order.map(|n| self.s[n]))
    }

    /// An operation on other values than the sources.
    fn on<const N: usize>(&self, op: F, ty: FloatType, values: [u64; N]) -> Outcome {
        let env = if ty == FloatType::F32 { self.single } else { self.double };
        let mut s = [0; 3];
        s[..N].copy_from_slice(&values);
        only(float_op(op, ty, s, env).expect("the library has the operation"))
    }

    fn f16<const N: usize>(&self, op: F, order: [usize; N]) -> Outcome {
        self.float(op, FloatType::F16, order)
    }

    fn f32<const N: usize>(&self, op: F, order: [usize; N]) -> Outcome {
        self.float(op, FloatType::F32, order)
    }

    fn f64<const N: usize>(&self, op: F, order: [usize; N]) -> Outcome {
        self.float(op, FloatType::F64, order)
    }

    fn cvt(&self, op: C, env: FpEnv) -> Outcome {
        only(cvt(op, self.s, env))
    }

    /// Inputs flushed as f32, results rounded and flushed as f16 or f64.
    fn single_to_double(&self) -> FpEnv {
        FpEnv { denorm_in: self.single.denorm_in, ..self.double }
    }

    /// Inputs flushed as f16 or f64, results rounded and flushed as f32.
    fn double_to_single(&self) -> FpEnv {
        FpEnv { denorm_in: self.double.denorm_in, ..self.single }
    }

    fn div_scale(&self, ty: FloatType, env: FpEnv) -> Outcome {
        let (bits, mask) = div_scale(ty, self.s[0], self.s[1], self.s[2], env).expect("f32 or f64");
        Outcome { bits, mask }
    }

    fn div_fmas(&self, ty: FloatType, env: FpEnv) -> Outcome {
        only(div_fmas(ty, self.s, self.vcc, env).expect("f32 or f64"))
    }
}

fn only(bits: u64) -> Outcome {
    Outcome { bits, mask: false }
}

/// An instruction and its meaning.
pub(crate) struct Reference {
    pub(crate) name: &'static str,
    pub(crate) apply: fn(&Sources) -> Outcome,
}

macro_rules! references {
    ($($name:literal |$x:ident| $code:expr;)*) => {
        /// All references.
        pub(crate) const REFERENCES: &[Reference] = &[$(Reference { name: $name, apply: |$x| $code }),*];
    };
}

references! {
    // VOP1.
    "v_cvt_i32_f64" |x| x.cvt(C::I32F64, x.double);
    "v_cvt_f64_i32" |x| x.cvt(C::F64I32, x.double);
    "v_cvt_f32_i32" |x| x.cvt(C::F32I32, x.single);
    "v_cvt_f32_u32" |x| x.cvt(C::F32U32, x.single);
    "v_cvt_u32_f32" |x| x.cvt(C::U32F32, x.single);
    "v_cvt_i32_f32" |x| x.cvt(C::I32F32, x.single);
    "v_cvt_f16_f32" |x| x.cvt(C::F16F32, x.single_to_double());
    "v_cvt_f32_f16" |x| x.cvt(C::F32F16, x.double_to_single());
    "v_cvt_rpi_i32_f32" |x| x.cvt(C::RpiI32F32, x.single);
    "v_cvt_flr_i32_f32" |x| x.cvt(C::FlrI32F32, x.single);
    "v_cvt_off_f32_i4" |x| x.cvt(C::OffF32I4, x.single);
    "v_cvt_f32_f64" |x| x.cvt(C::F32F64, x.double_to_single());
    "v_cvt_f64_f32" |x| x.cvt(C::F64F32, x.single_to_double());
    "v_cvt_f32_ubyte0" |x| x.cvt(C::F32Ubyte0, x.single);
    "v_cvt_f32_ubyte1" |x| x.cvt(C::F32Ubyte1, x.single);
    "v_cvt_f32_ubyte2" |x| x.cvt(C::F32Ubyte2, x.single);
    "v_cvt_f32_ubyte3" |x| x.cvt(C::F32Ubyte3, x.single);
    "v_cvt_u32_f64" |x| x.cvt(C::U32F64, x.double);
    "v_cvt_f64_u32" |x| x.cvt(C::F64U32, x.double);
    "v_trunc_f64" |x| x.f64(F::Trunc, [0]);
    "v_ceil_f64" |x| x.f64(F::Ceil, [0]);
    "v_rndne_f64" |x| x.f64(F::RoundEven, [0]);
    "v_floor_f64" |x| x.f64(F::Floor, [0]);
    "v_fract_f32" |x| x.f32(F::Fract, [0]);
    "v_trunc_f32" |x| x.f32(F::Trunc, [0]);
    "v_ceil_f32" |x| x.f32(F::Ceil, [0]);
    "v_rndne_f32" |x| x.f32(F::RoundEven, [0]);
    "v_floor_f32" |x| x.f32(F::Floor, [0]);
    "v_exp_f32" |x| x.f32(F::Exp2, [0]);
    "v_log_f32" |x| x.f32(F::Log2, [0]);
    "v_rcp_f32" |x| x.f32(F::Rcp, [0]);
    "v_rcp_iflag_f32" |x| x.f32(F::Rcp, [0]);
    "v_rsq_f32" |x| x.f32(F::Rsq, [0]);
    "v_rcp_f64" |x| x.f64(F::Rcp, [0]);
    "v_rsq_f64" |x| x.f64(F::Rsq, [0]);
    "v_sqrt_f32" |x| x.f32(F::Sqrt, [0]);
    "v_sqrt_f64" |x| x.f64(F::Sqrt, [0]);
    "v_sin_f32" |x| x.f32(F::Sin, [0]);
    "v_cos_f32" |x| x.f32(F::Cos, [0]);
    "v_frexp_exp_i32_f64" |x| x.f64(F::FrexpExp, [0]);
    "v_frexp_mant_f64" |x| x.f64(F::FrexpMant, [0]);
    "v_fract_f64" |x| x.f64(F::Fract, [0]);
    "v_frexp_exp_i32_f32" |x| x.f32(F::FrexpExp, [0]);
    "v_frexp_mant_f32" |x| x.f32(F::FrexpMant, [0]);
    "v_cvt_f16_u16" |x| x.cvt(C::F16U16, x.double);
    "v_cvt_f16_i16" |x| x.cvt(C::F16I16, x.double);
    "v_cvt_u16_f16" |x| x.cvt(C::U16F16, x.double);
    "v_cvt_i16_f16" |x| x.cvt(C::I16F16, x.double);
    "v_rcp_f16" |x| x.f16(F::Rcp, [0]);
    "v_sqrt_f16" |x| x.f16(F::Sqrt, [0]);
    "v_rsq_f16" |x| x.f16(F::Rsq, [0]);
    "v_log_f16" |x| x.f16(F::Log2, [0]);
    "v_exp_f16" |x| x.f16(F::Exp2, [0]);
    "v_frexp_mant_f16" |x| x.f16(F::FrexpMant, [0]);
    "v_frexp_exp_i16_f16" |x| x.f16(F::FrexpExp, [0]);
    "v_floor_f16" |x| x.f16(F::Floor, [0]);
    "v_ceil_f16" |x| x.f16(F::Ceil, [0]);
    "v_trunc_f16" |x| x.f16(F::Trunc, [0]);
    "v_rndne_f16" |x| x.f16(F::RoundEven, [0]);
    "v_fract_f16" |x| x.f16(F::Fract, [0]);
    "v_sin_f16" |x| x.f16(F::Sin, [0]);
    "v_cos_f16" |x| x.f16(F::Cos, [0]);
    "v_exp_legacy_f32" |x| x.f32(F::Exp2, [0]);
    "v_log_legacy_f32" |x| x.f32(F::Log2, [0]);
    "v_cvt_norm_i16_f16" |x| x.cvt(C::NormI16F16, x.double);
    "v_cvt_norm_u16_f16" |x| x.cvt(C::NormU16F16, x.double);
    "v_cvt_f32_bf16" |x| x.cvt(C::F32Bf16, x.single);
    // VOP2.
    "v_add_f32" |x| x.f32(F::Add, [0, 1]);
    "v_sub_f32" |x| x.f32(F::Sub, [0, 1]);
    "v_subrev_f32" |x| x.f32(F::Sub, [1, 0]);
    "v_mul_legacy_f32" |x| x.f32(F::MulLegacy, [0, 1]);
    "v_fmac_f64" |x| x.on(F::Fma, FloatType::F64, [x.s[0], x.s[1], x.old]);
    "v_mul_f32" |x| x.f32(F::Mul, [0, 1]);
    "v_min_f32" |x| x.f32(F::Min, [0, 1]);
    "v_max_f32" |x| x.f32(F::Max, [0, 1]);
    "v_mac_f32" |x| x.on(F::Mad, FloatType::F32, [x.s[0], x.s[1], x.old]);
    "v_dot2c_f32_bf16" |x| x.on(F::Dot2Bf16, FloatType::F32, [x.s[0], x.s[1], x.old]);
    "v_add_f16" |x| x.f16(F::Add, [0, 1]);
    "v_sub_f16" |x| x.f16(F::Sub, [0, 1]);
    "v_subrev_f16" |x| x.f16(F::Sub, [1, 0]);
    "v_mul_f16" |x| x.f16(F::Mul, [0, 1]);
    "v_mac_f16" |x| x.on(F::Mad, FloatType::F16, [x.s[0], x.s[1], x.old]);
    "v_max_f16" |x| x.f16(F::Max, [0, 1]);
    "v_min_f16" |x| x.f16(F::Min, [0, 1]);
    "v_ldexp_f16" |x| x.f16(F::Ldexp, [0, 1]);
    "v_dot2c_f32_f16" |x| x.on(F::Dot2F16, FloatType::F32, [x.s[0], x.s[1], x.old]);
    "v_fmac_f32" |x| x.on(F::Fma, FloatType::F32, [x.s[0], x.s[1], x.old]);
    // VOP3.
    "v_mad_legacy_f32" |x| x.f32(F::MadLegacy, [0, 1, 2]);
    "v_mad_f32" |x| x.f32(F::Mad, [0, 1, 2]);
    "v_cubeid_f32" |x| x.f32(F::CubeId, [0, 1, 2]);
    "v_cubesc_f32" |x| x.f32(F::CubeSc, [0, 1, 2]);
    "v_cubetc_f32" |x| x.f32(F::CubeTc, [0, 1, 2]);
    "v_cubema_f32" |x| x.f32(F::CubeMa, [0, 1, 2]);
    "v_fma_f32" |x| x.f32(F::Fma, [0, 1, 2]);
    "v_fma_f64" |x| x.f64(F::Fma, [0, 1, 2]);
    "v_min3_f32" |x| x.f32(F::Min3, [0, 1, 2]);
    "v_max3_f32" |x| x.f32(F::Max3, [0, 1, 2]);
    "v_med3_f32" |x| x.f32(F::Med3, [0, 1, 2]);
    "v_cvt_pk_u8_f32" |x| x.cvt(C::PkU8F32, x.single);
    "v_div_fixup_f32" |x| x.f32(F::DivFixup, [0, 1, 2]);
    "v_div_fixup_f64" |x| x.f64(F::DivFixup, [0, 1, 2]);
    "v_div_scale_f32" |x| x.div_scale(FloatType::F32, x.single);
    "v_div_scale_f64" |x| x.div_scale(FloatType::F64, x.double);
    "v_div_fmas_f32" |x| x.div_fmas(FloatType::F32, x.single);
    "v_div_fmas_f64" |x| x.div_fmas(FloatType::F64, x.double);
    "v_mad_legacy_f16" |x| x.f16(F::Mad, [0, 1, 2]);
    "v_fma_legacy_f16" |x| x.f16(F::Fma, [0, 1, 2]);
    "v_div_fixup_legacy_f16" |x| x.f16(F::DivFixup, [0, 1, 2]);
    "v_cvt_pkaccum_u8_f32" |x| only(cvt(C::PkU8F32, [x.s[0], x.s[1], x.old], x.single));
    "v_min3_f16" |x| x.f16(F::Min3, [0, 1, 2]);
    "v_max3_f16" |x| x.f16(F::Max3, [0, 1, 2]);
    "v_med3_f16" |x| x.f16(F::Med3, [0, 1, 2]);
    "v_mad_f16" |x| x.f16(F::Mad, [0, 1, 2]);
    "v_fma_f16" |x| x.f16(F::Fma, [0, 1, 2]);
    "v_div_fixup_f16" |x| x.f16(F::DivFixup, [0, 1, 2]);
    "v_cvt_pk_f16_f32" |x| x.cvt(C::PkF16F32, x.single_to_double());
    "v_cvt_pk_bf16_f32" |x| x.cvt(C::PkBf16F32, x.single);
    "v_add_f64" |x| x.f64(F::Add, [0, 1]);
    "v_mul_f64" |x| x.f64(F::Mul, [0, 1]);
    "v_min_f64" |x| x.f64(F::Min, [0, 1]);
    "v_max_f64" |x| x.f64(F::Max, [0, 1]);
    "v_ldexp_f64" |x| x.f64(F::Ldexp, [0, 1]);
    "v_ldexp_f32" |x| x.f32(F::Ldexp, [0, 1]);
    "v_trig_preop_f64" |x| x.f64(F::TrigPreop, [0, 1]);
    "v_cvt_pknorm_i16_f32" |x| x.cvt(C::PkNormI16F32, x.single);
    "v_cvt_pknorm_u16_f32" |x| x.cvt(C::PkNormU16F32, x.single);
    "v_cvt_pkrtz_f16_f32" |x| x.cvt(C::PkRtzF16F32, x.single_to_double());
    "v_cvt_pknorm_i16_f16" |x| x.cvt(C::PkNormI16F16, x.double);
    "v_cvt_pknorm_u16_f16" |x| x.cvt(C::PkNormU16F16, x.double);
    "v_pack_b32_f16" |x| x.cvt(C::PackF16, x.double);
    "v_minimum3_f32" |x| x.f32(F::Minimum3, [0, 1, 2]);
    "v_maximum3_f32" |x| x.f32(F::Maximum3, [0, 1, 2]);
}
