//! How exact an instruction is in a context.

use wavemill_isa::gcn::{Elem, Facet, Fidelity, Inst, Role};

use super::{Context, MatrixRule, registers};

/// The level of an instruction in a context, and the facets that matter to it there. `collects` is
/// whether code reads the floating-point exceptions that TRAPSTS collects
/// ([`reads_exceptions`](super::reads_exceptions)).
#[must_use]
pub fn exactness(inst: &Inst, context: &Context, collects: bool) -> (Fidelity, Vec<&'static Facet>) {
    let row = inst.row();
    let matters = |facet: &&Facet| matters(facet, inst, context, collects);
    // Fast sums are not the chip's, whatever is known about those.
    if context.matrix == MatrixRule::Fast && row.has_fast_sums(context.target) {
        let facets = row.facets_with_modifier(context.target).iter().copied();
        return (Fidelity::Modelled, facets.filter(matters).collect());
    }
    let facets: Vec<_> = inst.facets().filter(matters).collect();
    match inst.fidelity() {
        // Facets name all that is open.
        Fidelity::Modelled if facets.is_empty() => (Fidelity::Exact, facets),
        level => (level, facets),
    }
}

/// Whether a facet of the instruction can matter in the context.
fn matters(facet: &Facet, inst: &Inst, context: &Context, collects: bool) -> bool {
    let [single, double] = [context.fp32(), context.fp16_64()];
    let [flushes_single, flushes_double] = [single, double].map(|env| !(env.denorm_in && env.denorm_out));
    // Exceptions that nobody collects and that no trap delivers change nothing.
    let raises = collects || context.mode >> registers::MODE_EXCP_EN & 0x7f != 0;
    match facet.name {
        // It also says what becomes of tiny results that are rounded up to a normal number.
        "exceptions" => raises || flushes_single || flushes_double,
        "approximate_exceptions" | "division_exceptions" | "double_exceptions" => raises,
        "outside_handler" => context.mode & registers::PRIVILEGED == 0,
        "sramecc_half" => context.sramecc,
        // Denormals that MODE keeps are kept in all readings.
        "elementary_denormals" => {
            let ty = inst.row().operand(Role::Vdst).map(|spec| spec.ty.elem);
            if ty == Some(Elem::F32) { flushes_single } else { flushes_double }
        }
        "bf16_widening" => flushes_single,
        "mix_denormals" => flushes_single || flushes_double,
        "wide_round_field" => single.round != double.round,
        "matrix_overflow" | "matrix_saturation" => single.fp16_ovfl,
        "minimum_clamp" => single.dx10_clamp,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use wavemill_isa::Target;
    use wavemill_isa::gcn::decode;

    use super::*;

    /// The facets of an instruction in a MODE.
    fn facets(target: Target, words: [u32; 2], mode: u32, sramecc: bool) -> Vec<&'static str> {
        facets_if(target, words, mode, sramecc, false)
    }

    /// The same, and whether code reads exceptions.
    fn facets_if(
        target: Target,
        words: [u32; 2],
        mode: u32,
        sramecc: bool,
        collects: bool,
    ) -> Vec<&'static str> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decode(target, &bytes).expect("an instruction");
        let (_, facets) = exactness(&inst, &Context::new(target, mode, sramecc), collects);
        facets.iter().map(|facet| facet.name).collect()
    }

    #[test]
    fn facets_depend_on_the_context() {
        use Target::{Gfx90a, Gfx906, Gfx942, Gfx950};
        /// Denormals kept, DX10_CLAMP, IEEE.
        const MODE: u32 = 0x3f0;
        for (facet, target, words, without, with) in [
            // s_rfe_b64 s[0:1]
            ("outside_handler", Gfx906, [0xbe80_1f00, 0], MODE | registers::PRIVILEGED, MODE),
            // v_rcp_f16 v0, v0: the field of f16
            ("elementary_denormals", Gfx906, [0x7e00_7b00, 0], MODE & !0x30, MODE & !0x40),
            ("elementary_denormals", Gfx906, [0x7e00_7b00, 0], MODE, MODE & !0x80),
            // v_sin_f32 v0, v0: the field of f32
            ("elementary_denormals", Gfx906, [0x7e00_5300, 0], MODE & !0xc0, MODE & !0x20),
            // v_cvt_f32_f64 v0, v[0:1]: two fields that differ
            ("wide_round_field", Gfx906, [0x7e00_1f00, 0], MODE | 0xf, MODE | 0x3),
            // v_fma_mix_f32 v0, v0, v0, v0
            ("mix_denormals", Gfx906, [0xd3a0_0000, 0x0402_0100], MODE, MODE & !0xc0),
            // v_cvt_f32_bf16 v0, v0
            ("bf16_widening", Gfx950, [0x7e00_b700, 0], MODE & !0xc0, MODE & !0x30),
            // v_mfma_f32_32x32x1_2b_f32 and v_mfma_i32_32x32x4_2b_i8
            ("matrix_overflow", Gfx942, [0xd3c0_0000, 0x0402_0100], MODE, MODE | 1 << 23),
            ("matrix_saturation", Gfx90a, [0xd3d0_0000, 0x0402_0100], MODE, MODE | 1 << 23),
            // v_minimum3_f32 v0, v0, v0, v0
            ("minimum_clamp", Gfx950, [0xd2a8_0000, 0x0402_0100], MODE & !0x100, MODE),
            // v_add_f32 v0, v0, v0: flushes, and enables an exception
            ("exceptions", Gfx906, [0x0200_0100, 0], MODE, MODE & !0x20),
            ("exceptions", Gfx906, [0x0200_0100, 0], MODE, MODE | 1 << 18),
            // v_rcp_f32 v0, v0 and v_div_fmas_f32 v0, v0, v0, v0
            ("approximate_exceptions", Gfx906, [0x7e00_4500, 0], MODE & !0xf0, MODE | 1 << 12),
            ("division_exceptions", Gfx906, [0xd1e2_0000, 0x0402_0100], MODE & !0xf0, MODE | 1 << 14),
        ] {
            assert!(!facets(target, words, without, false).contains(&facet), "{facet} in {without:#x}");
            assert!(facets(target, words, with, false).contains(&facet), "{facet} in {with:#x}");
        }
        for (facet, words) in [
            ("exceptions", [0x0200_0100, 0]),
            ("approximate_exceptions", [0x7e00_4500, 0]),
            ("division_exceptions", [0xd1e2_0000, 0x0402_0100]),
        ] {
            for collects in [false, true] {
                let found = facets_if(Gfx906, words, MODE, false, collects);
                assert_eq!(found.contains(&facet), collects, "{found:?}");
            }
        }
        // ds_read_u16_d16 v0, v0
        for sramecc in [false, true] {
            let found = facets(Gfx90a, [0xd8b4_0000, 0], MODE, sramecc);
            assert_eq!(found.contains(&"sramecc_half"), sramecc, "{found:?}");
        }
    }
}
