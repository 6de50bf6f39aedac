//! Conversions of varying values.

ops! {
    /// Varying conversions, named by result and source.
    pub enum CvtOp {
        /// f32 from i32.
        F32I32 = "f32.i32" (B32) -> (F32);
        /// f32 from u32.
        F32U32 = "f32.u32" (B32) -> (F32);
        /// i32 from f32, towards zero, saturating, NaN gives 0.
        I32F32 = "i32.f32" (F32) -> (B32);
        /// u32 from f32, towards zero, saturating, NaN gives 0.
        U32F32 = "u32.f32" (F32) -> (B32);
        /// i32 from `floor(f32 + 0.5)`.
        RpiI32F32 = "rpi.i32.f32" (F32) -> (B32);
        /// i32 from `floor(f32)`.
        FlrI32F32 = "flr.i32.f32" (F32) -> (B32);
        /// f32 from the signed nibble `src0[3:0]`, divided by 16.
        OffF32I4 = "off.f32.i4" (B32) -> (F32);
        /// f32 from byte 0.
        F32Ubyte0 = "f32.ubyte0" (B32) -> (F32);
        /// f32 from byte 1.
        F32Ubyte1 = "f32.ubyte1" (B32) -> (F32);
        /// f32 from byte 2.
        F32Ubyte2 = "f32.ubyte2" (B32) -> (F32);
        /// f32 from byte 3.
        F32Ubyte3 = "f32.ubyte3" (B32) -> (F32);
        /// f16 from f32.
        F16F32 = "f16.f32" (F32) -> (F16);
        /// f32 from f16.
        F32F16 = "f32.f16" (F16) -> (F32);
        /// f64 from f32.
        F64F32 = "f64.f32" (F32) -> (F64);
        /// f32 from f64.
        F32F64 = "f32.f64" (F64) -> (F32);
        /// f64 from i32.
        F64I32 = "f64.i32" (B32) -> (F64);
        /// f64 from u32.
        F64U32 = "f64.u32" (B32) -> (F64);
        /// i32 from f64, towards zero, saturating, NaN gives 0.
        I32F64 = "i32.f64" (F64) -> (B32);
        /// u32 from f64, towards zero, saturating, NaN gives 0.
        U32F64 = "u32.f64" (F64) -> (B32);
        /// f16 from u16.
        F16U16 = "f16.u16" (B32) -> (F16);
        /// f16 from i16.
        F16I16 = "f16.i16" (B32) -> (F16);
        /// u16 from f16.
        U16F16 = "u16.f16" (F16) -> (B32);
        /// i16 from f16.
        I16F16 = "i16.f16" (F16) -> (B32);
        /// Signed normalised i16 from f16.
        NormI16F16 = "norm.i16.f16" (F16) -> (B32);
        /// Unsigned normalised u16 from f16.
        NormU16F16 = "norm.u16.f16" (F16) -> (B32);
        /// Two f16, rounded towards zero, from f32 `src0` and `src1`.
        PkRtzF16F32 = "pkrtz.f16.f32" (F32, F32) -> (PKF16);
        /// Two f16, nearest even, from f32 `src0` and `src1`.
        PkF16F32 = "pk.f16.f32" (F32, F32) -> (PKF16);
        /// Two bf16, nearest even, from f32 `src0` and `src1`.
        PkBf16F32 = "pk.bf16.f32" (F32, F32) -> (B32);
        /// f32 from the bf16 in the selected half. Denormals are kept, whatever the mode says.
        F32Bf16 = "f32.bf16" (F16) -> (F32);
        /// Two signed normalised i16 from f32 `src0` and `src1`.
        PkNormI16F32 = "pknorm.i16.f32" (F32, F32) -> (B32);
        /// Two unsigned normalised u16 from f32 `src0` and `src1`.
        PkNormU16F32 = "pknorm.u16.f32" (F32, F32) -> (B32);
        /// Two signed normalised i16 from f16 `src0` and `src1`.
        PkNormI16F16 = "pknorm.i16.f16" (F16, F16) -> (B32);
        /// Two unsigned normalised u16 from f16 `src0` and `src1`.
        PkNormU16F16 = "pknorm.u16.f16" (F16, F16) -> (B32);
        /// Two u16 from u32 `src0` and `src1`, saturating.
        PkU16U32 = "pk.u16.u32" (B32, B32) -> (B32);
        /// Two i16 from i32 `src0` and `src1`, saturating.
        PkI16I32 = "pk.i16.i32" (B32, B32) -> (B32);
        /// u8 from f32 `src0`, put into byte `src1[1:0]` of `src2`.
        PkU8F32 = "pk.u8.f32" (F32, B32, B32) -> (B32);
        /// `{src1.f16, src0.f16}`.
        PackF16 = "pack.f16" (F16, F16) -> (PKF16);
    }
}
