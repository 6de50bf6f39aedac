//! The rounding field of MODE that LLVM's back end relies on, against the fields of the references.
//!
//! LLVM's pass SIModeRegister keeps track of MODE\[3:2\]. An instruction before the one in question asks for another
//! rounding; if LLVM restores MODE\[3:2\] in between, the instruction obeys that field.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use wavemill_isa::Target;
use wavemill_isa::gcn::{Access, Format, Op, Role, Type};
use wavemill_oracle::{Failed, Suite, TRIPLE, Tool};
use wavemill_reference::rows::float;

const LLC: Tool = Tool::Program("llc-22");

/// Instances that the plain rules of [`instance`] do not write: other names in LLVM, and operands with modifiers of
/// their own.
const WRITTEN: &[(&str, &str)] = &[
    ("v_ldexp_f64", "$vgpr0_vgpr1 = V_LDEXP_F64_e64 0, $vgpr2_vgpr3, 0, $vgpr4, 0, 0"),
    ("v_ldexp_f32", "$vgpr0 = V_LDEXP_F32_e64 0, $vgpr2, 0, $vgpr4, 0, 0"),
    ("v_div_fmas_f32", "$vgpr0 = V_DIV_FMAS_F32_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, implicit $vcc"),
    (
        "v_div_fmas_f64",
        "$vgpr0_vgpr1 = V_DIV_FMAS_F64_e64 0, $vgpr2_vgpr3, 0, $vgpr4_vgpr5, 0, $vgpr6_vgpr7, 0, 0, implicit $vcc",
    ),
    ("v_div_scale_f32", "$vgpr0, $vcc = V_DIV_SCALE_F32_e64 0, $vgpr2, 0, $vgpr2, 0, $vgpr6, 0, 0"),
    (
        "v_div_scale_f64",
        "$vgpr0_vgpr1, $vcc = V_DIV_SCALE_F64_e64 0, $vgpr2_vgpr3, 0, $vgpr2_vgpr3, 0, $vgpr6_vgpr7, 0, 0",
    ),
    ("v_min3_f16", "$vgpr0 = V_MIN3_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_max3_f16", "$vgpr0 = V_MAX3_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_med3_f16", "$vgpr0 = V_MED3_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_mad_legacy_f16", "$vgpr0 = V_MAD_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0"),
    ("v_fma_legacy_f16", "$vgpr0 = V_FMA_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0"),
    ("v_div_fixup_legacy_f16", "$vgpr0 = V_DIV_FIXUP_F16_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0"),
    ("v_mad_f16", "$vgpr0 = V_MAD_F16_gfx9_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_fma_f16", "$vgpr0 = V_FMA_F16_gfx9_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_div_fixup_f16", "$vgpr0 = V_DIV_FIXUP_F16_gfx9_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0, 0, 0"),
    ("v_trig_preop_f64", "$vgpr0_vgpr1 = V_TRIG_PREOP_F64_e64 0, $vgpr2_vgpr3, 0, $vgpr4, 0, 0"),
    ("v_cvt_pknorm_i16_f16", "$vgpr0 = V_CVT_PKNORM_I16_F16_e64 0, $vgpr2, 0, $vgpr4, 0, 0"),
    ("v_cvt_pknorm_u16_f16", "$vgpr0 = V_CVT_PKNORM_U16_F16_e64 0, $vgpr2, 0, $vgpr4, 0, 0"),
    ("v_cvt_pknorm_i16_f32", "$vgpr0 = V_CVT_PKNORM_I16_F32_e64 0, $vgpr2, 0, $vgpr4, 0"),
    ("v_cvt_pknorm_u16_f32", "$vgpr0 = V_CVT_PKNORM_U16_F32_e64 0, $vgpr2, 0, $vgpr4, 0"),
    ("v_pack_b32_f16", "$vgpr0 = V_PACK_B32_F16_e64 0, $vgpr2, 0, $vgpr4, 0, 0"),
    ("v_cvt_pk_u8_f32", "$vgpr0 = V_CVT_PK_U8_F32_e64 0, $vgpr2, 0, $vgpr4, 0, $vgpr6, 0"),
    ("v_pk_fma_f16", "$vgpr0 = V_PK_FMA_F16 8, $vgpr2, 8, $vgpr4, 8, $vgpr6, 0, 0, 0, 0, 0"),
    ("v_pk_add_f16", "$vgpr0 = V_PK_ADD_F16 8, $vgpr2, 8, $vgpr4, 0, 0, 0, 0, 0"),
    ("v_pk_mul_f16", "$vgpr0 = V_PK_MUL_F16 8, $vgpr2, 8, $vgpr4, 0, 0, 0, 0, 0"),
    ("v_pk_min_f16", "$vgpr0 = V_PK_MIN_F16 8, $vgpr2, 8, $vgpr4, 0, 0, 0, 0, 0"),
    (
        "v_pk_fma_f32",
        "$vgpr0_vgpr1 = V_PK_FMA_F32 8, $vgpr2_vgpr3, 8, $vgpr4_vgpr5, 8, $vgpr6_vgpr7, 0, 0, 0, 0, 0",
    ),
    ("v_fma_mix_f32", "$vgpr0 = V_FMA_MIX_F32 8, $vgpr2, 8, $vgpr4, 8, $vgpr6, 0, 0, 0"),
    ("v_fma_mixlo_f16", "$vgpr0 = V_FMA_MIXLO_F16 8, $vgpr2, 8, $vgpr4, 8, $vgpr6, 0, $vgpr0, 0, 0"),
    ("v_dot2_f32_f16", "$vgpr0 = V_DOT2_F32_F16 8, $vgpr2, 8, $vgpr4, 8, $vgpr6, 0, 0, 0, 0, 0"),
];

/// Packed and mixed instructions, which have no line among the references: whether they round by MODE\[3:2\].
const PACKED: [(&str, bool); 8] = [
    ("v_pk_fma_f16", true),
    ("v_pk_add_f16", true),
    ("v_pk_mul_f16", true),
    ("v_pk_min_f16", false),
    ("v_pk_fma_f32", false),
    ("v_fma_mix_f32", false),
    ("v_fma_mixlo_f16", true),
    ("v_dot2_f32_f16", false),
];

/// Where the two differ, and why.
const DISAGREEMENTS: [(&str, &str); 7] = [
    (
        "v_cvt_f32_f64",
        "the flag is missing: llvm.fptrunc.round sets MODE[3:2] for this instruction (next test)",
    ),
    ("v_fmac_f64", "the flag is missing: v_fma_f64, the same operation, has it"),
    ("v_mac_f16", "the flag is missing: v_mad_f16, the same operation, has it"),
    ("v_div_scale_f64", "LLVM has the flag, but a scaled source loses no digits"),
    ("v_div_fixup_f16", "LLVM has the flag, but no result is rounded"),
    ("v_div_fixup_f64", "LLVM has the flag, but no result is rounded"),
    ("v_div_fixup_legacy_f16", "LLVM has the flag, but no result is rounded"),
];

fn registers(first: u8, ty: Type) -> String {
    match ty.dwords() {
        2 => format!("$vgpr{first}_vgpr{}", first + 1),
        _ => format!("$vgpr{first}"),
    }
}

/// An instance in LLVM's machine IR.
fn instance(op: Op) -> Option<String> {
    let row = op.row();
    if let Some((_, text)) = WRITTEN.iter().find(|(name, _)| *name == row.name()) {
        return Some((*text).to_owned());
    }
    let result = row.operand(Role::Vdst)?;
    let short = matches!(row.format, Format::Vop1 | Format::Vop2);
    let mut operands = Vec::new();
    for (role, first) in [(Role::Src0, 2), (Role::Src1, 4), (Role::Src2, 6)] {
        let Some(spec) = row.operand(role) else { continue };
        if !short {
            operands.push("0".to_owned());
        }
        operands.push(registers(first, spec.ty));
    }
    if short && result.access == Access::ReadWrite {
        operands.push(registers(0, result.ty));
    }
    if !short {
        operands.extend(["0".to_owned(), "0".to_owned()]);
    }
    let (name, encoding) = (row.name().to_uppercase(), if short { "e32" } else { "e64" });
    Some(format!("{} = {name}_{encoding} {}", registers(0, result.ty), operands.join(", ")))
}

/// The output of the pass for functions with these names and instructions.
fn pass(target: Target, functions: &BTreeMap<&str, String>) -> Result<BTreeMap<String, String>, Failed> {
    let mut input = String::new();
    for (name, text) in functions {
        input += &format!(
            "---\nname: {name}\nbody: |\n  bb.0:\n    $vgpr9 = FPTRUNC_ROUND_F16_F32_PSEUDO $vgpr1, 1, implicit-def $mode, \
             implicit $mode, implicit $exec\n    {text}, implicit $mode, implicit $exec\n    S_ENDPGM 0\n...\n"
        );
    }
    let arguments = [
        &format!("-mtriple={TRIPLE}"),
        &format!("-mcpu={}", target.name()),
        "-run-pass=si-mode-register",
        "-x",
        "mir",
        "-",
        "-o",
        "-",
    ];
    let mut child = Command::new(LLC.path()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("llc-22 has no input")?;
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    let _ = feeder.join();
    if !output.status.success() {
        return Err(format!("llc-22 failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let functions = text.split("\nname:").skip(1).map(|function| {
        let (name, body) = function.split_once('\n').unwrap_or((function, ""));
        (name.trim().to_owned(), body.to_owned())
    });
    Ok(functions.collect())
}

/// The fields of MODE that a function sets, in order: first bit and size, from the immediates of `s_setreg_imm32_b32`.
fn settings(body: &str) -> Vec<(u32, u32)> {
    let immediates = body.lines().filter_map(|line| line.trim().strip_prefix("S_SETREG_IMM32_B32 "));
    let immediates =
        immediates.filter_map(|line| line.split(", ").nth(1)?.split(',').next()?.parse::<u32>().ok());
    immediates.map(|imm| (imm >> 6 & 31, (imm >> 11) + 1)).collect()
}

fn rounding_fields() -> Result<(), Failed> {
    let mut expected: BTreeMap<&str, bool> = PACKED.into_iter().collect();
    for reference in float::REFERENCES {
        // The rounding that MODE[3:2] asks for.
        let obeys = reference.env(0x3f0).round != reference.env(0x3fc).round;
        expected.insert(reference.name, obeys);
    }
    let listed: BTreeMap<&str, &str> = DISAGREEMENTS.into_iter().collect();
    let (mut compared, mut differ) = (0, BTreeSet::new());
    for target in [Target::Gfx90a, Target::Gfx950] {
        let ops = expected.keys().filter_map(|name| Op::from_name(name));
        let here = ops.filter(|op| {
            let set = op.row().targets;
            set.contains(target) && (target == Target::Gfx90a || !set.contains(Target::Gfx90a))
        });
        let functions: BTreeMap<&str, String> = here
            // LLVM has no machine instruction for it.
            .filter(|op| op.row().name() != "v_cvt_pkaccum_u8_f32")
            .filter_map(|op| Some((op.row().name(), instance(op)?)))
            .collect();
        let found = pass(target, &functions)?;
        for name in functions.keys() {
            let body = found.get(*name).ok_or_else(|| format!("llc-22 lost {name}"))?;
            let obeys = settings(body).len() > 1;
            compared += 1;
            if obeys != expected[name] {
                differ.insert(*name);
            }
        }
    }
    let known: BTreeSet<&str> = listed.keys().copied().collect();
    if compared < 130 || differ != known {
        return Err(format!("{compared} compared; differ: {differ:?}; listed: {known:?}").into());
    }
    Ok(())
}

/// `llvm.fptrunc.round` sets MODE\[3:2\] for both conversions.
fn rounding_of_truncations() -> Result<(), Failed> {
    let text = "$vgpr0 = FPTRUNC_ROUND_F32_F64_PSEUDO $vgpr2_vgpr3, 2, implicit-def $mode";
    let found = pass(Target::Gfx90a, &BTreeMap::from([("both", text.to_owned())]))?;
    let fields = settings(&found["both"]);
    if fields != [(2, 1), (2, 2)] {
        return Err(format!("fields of MODE: {fields:?}").into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.oracle_test("the rounding field that LLVM relies on", &[LLC], rounding_fields);
    suite.oracle_test("rounding of truncations", &[LLC], rounding_of_truncations);
    suite.run()
}
