//! The denormal fields of MODE that LLVM's back end relies on, against the references.
//!
//! `llvm.canonicalize` flushes denormals where a function has `denormal-fp-math=preserve-sign`. LLVM
//! drops it behind an instruction that does so itself (`SITargetLowering::isCanonicalized`). Such an
//! instruction must not give a denormal in a mode that flushes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Op, Role, Type};
use wavemill_oracle::{Failed, Suite, TRIPLE, Tool};
use wavemill_reference::rows::{float, packed};
use wavemill_reference::{F16, F32, F64, Field, Format, Mode};

const LLC: Tool = Tool::Program("llc-22");

/// Instructions, and LLVM IR that becomes them: a result and arguments `%a`, `%b`, `%c` by letter, and lines that define
/// `%y`. `h` is half, `f` float, `d` double, `v` and `w` pairs of half and float, `b` a pair of bfloat, `i` i32 and
/// `j` i16. `@F` calls the intrinsic `llvm.F`, and `=O` is the operation O on all arguments.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("v_cvt_f64_i32", "d i", "%y = sitofp i32 %a to double"),
    ("v_cvt_f64_u32", "d i", "%y = uitofp i32 %a to double"),
    ("v_cvt_f32_i32", "f i", "%y = sitofp i32 %a to float"),
    ("v_cvt_f32_u32", "f i", "%y = uitofp i32 %a to float"),
    ("v_cvt_f16_u16", "h j", "%y = uitofp i16 %a to half"),
    ("v_cvt_f16_i16", "h j", "%y = sitofp i16 %a to half"),
    ("v_cvt_f32_ubyte0", "f i", "%x = and i32 %a, 255; %y = uitofp i32 %x to float"),
    ("v_cvt_f32_ubyte1", "f i", "%s = lshr i32 %a, 8; %x = and i32 %s, 255; %y = uitofp i32 %x to float"),
    ("v_cvt_f32_ubyte2", "f i", "%s = lshr i32 %a, 16; %x = and i32 %s, 255; %y = uitofp i32 %x to float"),
    ("v_cvt_f32_ubyte3", "f i", "%x = lshr i32 %a, 24; %y = uitofp i32 %x to float"),
    ("v_cvt_off_f32_i4", "f i", "@amdgcn.cvt.off.f32.i4"),
    ("v_cvt_f16_f32", "h f", "%y = fptrunc float %a to half"),
    ("v_cvt_f32_f16", "f h", "%y = fpext half %a to float"),
    ("v_cvt_f32_f64", "f d", "%y = fptrunc double %a to float"),
    ("v_cvt_f64_f32", "d f", "%y = fpext float %a to double"),
    ("v_cvt_pkrtz_f16_f32", "v ff", "@amdgcn.cvt.pkrtz"),
    ("v_cvt_pk_f16_f32", "v w", "%y = fptrunc <2 x float> %a to <2 x half>"),
    ("v_trunc_f64", "d d", "@trunc.f64"),
    ("v_ceil_f64", "d d", "@ceil.f64"),
    ("v_rndne_f64", "d d", "@rint.f64"),
    ("v_floor_f64", "d d", "@floor.f64"),
    ("v_fract_f64", "d d", "@amdgcn.fract.f64"),
    ("v_trunc_f32", "f f", "@trunc.f32"),
    ("v_ceil_f32", "f f", "@ceil.f32"),
    ("v_rndne_f32", "f f", "@rint.f32"),
    ("v_floor_f32", "f f", "@floor.f32"),
    ("v_fract_f32", "f f", "@amdgcn.fract.f32"),
    ("v_trunc_f16", "h h", "@trunc.f16"),
    ("v_ceil_f16", "h h", "@ceil.f16"),
    ("v_rndne_f16", "h h", "@rint.f16"),
    ("v_floor_f16", "h h", "@floor.f16"),
    ("v_fract_f16", "h h", "@amdgcn.fract.f16"),
    ("v_exp_f32", "f f", "@amdgcn.exp2.f32"),
    ("v_log_f32", "f f", "@amdgcn.log.f32"),
    ("v_rcp_f32", "f f", "@amdgcn.rcp.f32"),
    ("v_rsq_f32", "f f", "@amdgcn.rsq.f32"),
    ("v_sqrt_f32", "f f", "@amdgcn.sqrt.f32"),
    ("v_sin_f32", "f f", "@amdgcn.sin.f32"),
    ("v_cos_f32", "f f", "@amdgcn.cos.f32"),
    ("v_rcp_f64", "d d", "@amdgcn.rcp.f64"),
    ("v_rsq_f64", "d d", "@amdgcn.rsq.f64"),
    ("v_sqrt_f64", "d d", "@amdgcn.sqrt.f64"),
    ("v_rcp_f16", "h h", "@amdgcn.rcp.f16"),
    ("v_rsq_f16", "h h", "@amdgcn.rsq.f16"),
    ("v_sqrt_f16", "h h", "@amdgcn.sqrt.f16"),
    ("v_exp_f16", "h h", "@amdgcn.exp2.f16"),
    ("v_log_f16", "h h", "@amdgcn.log.f16"),
    ("v_sin_f16", "h h", "@amdgcn.sin.f16"),
    ("v_cos_f16", "h h", "@amdgcn.cos.f16"),
    ("v_frexp_mant_f64", "d d", "@amdgcn.frexp.mant.f64"),
    ("v_frexp_mant_f32", "f f", "@amdgcn.frexp.mant.f32"),
    ("v_frexp_mant_f16", "h h", "@amdgcn.frexp.mant.f16"),
    ("v_add_f32", "f ff", "=fadd"),
    ("v_sub_f32", "f ff", "=fsub"),
    ("v_mul_f32", "f ff", "=fmul"),
    ("v_mul_legacy_f32", "f ff", "@amdgcn.fmul.legacy"),
    ("v_min_f32", "f ff", "@minnum.f32"),
    ("v_max_f32", "f ff", "@maxnum.f32"),
    ("v_add_f16", "h hh", "=fadd"),
    ("v_sub_f16", "h hh", "=fsub"),
    ("v_mul_f16", "h hh", "=fmul"),
    ("v_min_f16", "h hh", "@minnum.f16"),
    ("v_max_f16", "h hh", "@maxnum.f16"),
    ("v_add_f64", "d dd", "=fadd"),
    ("v_mul_f64", "d dd", "=fmul"),
    ("v_min_f64", "d dd", "@minnum.f64"),
    ("v_max_f64", "d dd", "@maxnum.f64"),
    ("v_ldexp_f64", "d di", "@ldexp.f64.i32"),
    ("v_ldexp_f32", "f fi", "@ldexp.f32.i32"),
    ("v_ldexp_f16", "h hj", "@ldexp.f16.i16"),
    ("v_fma_f32", "f fff", "@fma.f32"),
    ("v_fma_f64", "d ddd", "@fma.f64"),
    ("v_fma_f16", "h hhh", "@fma.f16"),
    ("v_fmac_f64", "d ddd", "@fma.f64"),
    ("v_mad_f32", "f fff", "@amdgcn.fmad.ftz.f32"),
    ("v_mad_legacy_f16", "h hhh", "@amdgcn.fmad.ftz.f16"),
    ("v_cubeid_f32", "f fff", "@amdgcn.cubeid"),
    ("v_cubesc_f32", "f fff", "@amdgcn.cubesc"),
    ("v_cubetc_f32", "f fff", "@amdgcn.cubetc"),
    ("v_cubema_f32", "f fff", "@amdgcn.cubema"),
    (
        "v_min3_f32",
        "f fff",
        "%m = call float @llvm.minnum.f32(float %a, float %b); %y = call float @llvm.minnum.f32(float %m, float %c)",
    ),
    (
        "v_max3_f32",
        "f fff",
        "%m = call float @llvm.maxnum.f32(float %a, float %b); %y = call float @llvm.maxnum.f32(float %m, float %c)",
    ),
    (
        "v_min3_f16",
        "h hhh",
        "%m = call half @llvm.minnum.f16(half %a, half %b); %y = call half @llvm.minnum.f16(half %m, half %c)",
    ),
    (
        "v_max3_f16",
        "h hhh",
        "%m = call half @llvm.maxnum.f16(half %a, half %b); %y = call half @llvm.maxnum.f16(half %m, half %c)",
    ),
    (
        "v_minimum3_f32",
        "f fff",
        "%m = call float @llvm.minimum.f32(float %a, float %b); %y = call float @llvm.minimum.f32(float %m, float %c)",
    ),
    (
        "v_maximum3_f32",
        "f fff",
        "%m = call float @llvm.maximum.f32(float %a, float %b); %y = call float @llvm.maximum.f32(float %m, float %c)",
    ),
    ("v_med3_f32", "f fff", "@amdgcn.fmed3.f32"),
    ("v_med3_f16", "h hhh", "@amdgcn.fmed3.f16"),
    ("v_div_fixup_f32", "f fff", "@amdgcn.div.fixup.f32"),
    ("v_div_fixup_f64", "d ddd", "@amdgcn.div.fixup.f64"),
    ("v_div_fixup_f16", "h hhh", "@amdgcn.div.fixup.f16"),
    (
        "v_div_scale_f32",
        "f ff",
        "%p = call {float, i1} @llvm.amdgcn.div.scale.f32(float %a, float %b, i1 true); \
         %y = extractvalue {float, i1} %p, 0",
    ),
    (
        "v_div_scale_f64",
        "d dd",
        "%p = call {double, i1} @llvm.amdgcn.div.scale.f64(double %a, double %b, i1 true); \
         %y = extractvalue {double, i1} %p, 0",
    ),
    (
        "v_div_fmas_f32",
        "f fff",
        "%y = call float @llvm.amdgcn.div.fmas.f32(float %a, float %b, float %c, i1 false)",
    ),
    (
        "v_div_fmas_f64",
        "d ddd",
        "%y = call double @llvm.amdgcn.div.fmas.f64(double %a, double %b, double %c, i1 false)",
    ),
    ("v_trig_preop_f64", "d di", "@amdgcn.trig.preop.f64"),
    (
        "v_dot2c_f32_f16",
        "f vvf",
        "%y = call float @llvm.amdgcn.fdot2(<2 x half> %a, <2 x half> %b, float %c, i1 false)",
    ),
    (
        "v_dot2c_f32_bf16",
        "f bbf",
        "%y = call float @llvm.amdgcn.fdot2.f32.bf16(<2 x bfloat> %a, <2 x bfloat> %b, float %c, i1 false)",
    ),
    ("v_pk_add_f16", "v vv", "=fadd"),
    ("v_pk_mul_f16", "v vv", "=fmul"),
    ("v_pk_fma_f16", "v vvv", "@fma.v2f16"),
    ("v_pk_min_f16", "v vv", "@minnum.v2f16"),
    ("v_pk_max_f16", "v vv", "@maxnum.v2f16"),
    (
        "v_pk_minimum3_f16",
        "v vvv",
        "%m = call <2 x half> @llvm.minimum.v2f16(<2 x half> %a, <2 x half> %b); \
         %y = call <2 x half> @llvm.minimum.v2f16(<2 x half> %m, <2 x half> %c)",
    ),
    (
        "v_pk_maximum3_f16",
        "v vvv",
        "%m = call <2 x half> @llvm.maximum.v2f16(<2 x half> %a, <2 x half> %b); \
         %y = call <2 x half> @llvm.maximum.v2f16(<2 x half> %m, <2 x half> %c)",
    ),
    ("v_pk_add_f32", "w ww", "=fadd"),
    ("v_pk_mul_f32", "w ww", "=fmul"),
    ("v_pk_fma_f32", "w www", "@fma.v2f32"),
];

/// Instructions with a float result that no IR selects, or none whose result can be made canonical.
const UNREACHABLE: &[(&str, &str)] = &[
    ("v_rcp_iflag_f32", "part of the division of integers"),
    ("v_exp_legacy_f32", "no intrinsic on GFX9"),
    ("v_log_legacy_f32", "no intrinsic on GFX9"),
    ("v_cvt_f32_bf16", "LLVM shifts the bits"),
    ("v_cvt_pk_bf16_f32", "a bfloat is made canonical as a float"),
    ("v_subrev_f32", "operands of v_sub_f32 in the other order"),
    ("v_subrev_f16", "operands of v_sub_f16 in the other order"),
    ("v_mac_f32", "v_mad_f32 with the destination as an operand"),
    ("v_mac_f16", "v_mad_f16 with the destination as an operand"),
    ("v_mad_legacy_f32", "no intrinsic"),
    ("v_mad_f16", "LLVM selects v_mad_legacy_f16"),
    ("v_fmac_f32", "v_fma_f32 with the destination as an operand"),
    ("v_fma_legacy_f16", "the form of older generations"),
    ("v_div_fixup_legacy_f16", "the form of older generations"),
    ("v_pack_b32_f16", "a move of two halves"),
];

/// Instructions behind which LLVM keeps `llvm.canonicalize`, so that a row that it knows nothing of is seen.
const KEPT: [&str; 3] = ["v_trunc_f32", "v_cvt_f32_i32", "v_cubema_f32"];

fn ty(letter: char) -> &'static str {
    match letter {
        'h' => "half",
        'f' => "float",
        'd' => "double",
        'v' => "<2 x half>",
        'w' => "<2 x float>",
        'b' => "<2 x bfloat>",
        'i' => "i32",
        _ => "i16",
    }
}

/// The function of an instruction, with `llvm.canonicalize` behind it.
fn function(name: &str, signature: &str, program: &str) -> String {
    let (result, arguments) = signature.split_once(' ').expect("a result and arguments");
    let result = result.chars().next().expect("one letter");
    let arguments: Vec<String> = arguments
        .chars()
        .zip("abc".chars())
        .map(|(letter, name)| format!("{} %{name}", ty(letter)))
        .collect();
    let (to, arguments) = (ty(result), arguments.join(", "));
    let program = match program.split_at(1) {
        ("@", intrinsic) => format!("%y = call {to} @llvm.{intrinsic}({arguments})"),
        ("=", operation) => format!("%y = {operation} {to} %a, %b"),
        _ => program.replace(';', "\n "),
    };
    let suffix = match result {
        'h' => "f16",
        'f' => "f32",
        'd' => "f64",
        'v' => "v2f16",
        _ => "v2f32",
    };
    format!(
        "define {to} @{name}({arguments}) #0 {{\n  {program}\n  %z = call {to} @llvm.canonicalize.{suffix}({to} %y)\n  \
         ret {to} %z\n}}\n"
    )
}

/// An instruction: its mnemonic without the encoding, and its operands.
type Line = (String, Vec<String>);

/// What llc-22 makes of functions, by name.
fn compile(target: Target, functions: &[String]) -> Result<BTreeMap<String, Vec<Line>>, Failed> {
    let mut input = functions.concat();
    input += "attributes #0 = { \"denormal-fp-math\"=\"preserve-sign,preserve-sign\" \
              \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }\n";
    let mut child = Command::new(LLC.path()?)
        .args([&format!("-mtriple={TRIPLE}"), &format!("-mcpu={}", target.name()), "-o", "-", "-"])
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
    let (mut found, mut name) = (BTreeMap::<String, Vec<Line>>::new(), None);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let code = line.split(';').next().unwrap_or_default();
        if let Some((label, "")) = code.trim_end().split_once(':') {
            name = (!label.starts_with('.')).then(|| label.to_owned());
        } else if let (Some(name), Some((mnemonic, operands))) = (&name, code.trim().split_once(' ')) {
            let short = mnemonic.strip_suffix("_e32").or_else(|| mnemonic.strip_suffix("_e64"));
            let operands = operands.split(", ").map(|text| text.trim().to_owned()).collect();
            found.entry(name.clone()).or_default().push((short.unwrap_or(mnemonic).to_owned(), operands));
        }
    }
    Ok(found)
}

/// Whether an instruction makes a value canonical: the maximum of a register with itself.
fn makes_canonical((mnemonic, operands): &Line) -> bool {
    let maximum = mnemonic.starts_with("v_max_f") || mnemonic.starts_with("v_pk_max_f");
    maximum && matches!(operands.as_slice(), [_, a, b, ..] if a == b)
}

/// Whether LLVM drops `llvm.canonicalize` behind the instruction; `None` if it selects another one.
fn drops(name: &str, body: &[Line]) -> Result<Option<bool>, Failed> {
    let is_row = |inst: &Line| inst.0 == name && !makes_canonical(inst);
    let Some(at) = body.iter().rposition(is_row) else { return Ok(None) };
    let mut after = body[at + 1..].iter().filter(|(mnemonic, _)| mnemonic.starts_with("v_"));
    let other = after.clone().find(|inst| !makes_canonical(inst) && !inst.0.starts_with("v_mov_b"));
    match other {
        Some((mnemonic, _)) => Err(format!("{mnemonic} behind {name}").into()),
        None => Ok(Some(!after.any(makes_canonical))),
    }
}

fn format_of(ty: Type) -> Option<Format> {
    match ty.elem {
        Elem::F16 => Some(F16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

/// Sources of a type: around the smallest numbers, around 1, and the largest ones. A pair has a
/// value twice.
fn sources(ty: Type) -> Vec<u64> {
    let Some(f) = format_of(ty) else { return vec![0, 1, 20, 0xffff_fff0, 0xffff_ffff] };
    let (one, hidden) = (f.one(), 1 << f.mantissa);
    let mut all =
        vec![0, 1, hidden / 2, hidden - 1, hidden, hidden + 1, 3 * hidden, one - 1, one, one + 4 * hidden];
    all.extend([f.largest() - hidden, f.largest(), f.infinity()]);
    let negative: Vec<u64> = all.iter().map(|bits| bits | f.sign()).collect();
    all.extend(negative);
    if ty.dwords() == 1 && f.bits == 16 {
        all = all.into_iter().map(|bits| bits | bits << 16).collect();
    }
    all
}

/// A denormal that the reference of an instruction gives although MODE flushes all of them: its
/// sources and the result.
fn denormal(name: &str) -> Result<Option<String>, Failed> {
    /// MODE with both denormal fields 0.
    const FLUSHING: u32 = 0x300;
    let op = Op::from_name(name).ok_or_else(|| format!("{name} is no instruction"))?;
    let row = op.row();
    let result = row.operand(Role::Vdst).ok_or_else(|| format!("{name} has no result"))?;
    let f = format_of(result.ty).ok_or_else(|| format!("{name} has no float result"))?;
    let reference = float::REFERENCES.iter().find(|reference| reference.name == name);
    let element = packed::PACKED.iter().find(|(packed, _)| *packed == name);
    let apply = |s: [u64; 3]| match (reference, element) {
        (Some(reference), _) => {
            let env = reference.env(FLUSHING);
            let given = float::Sources { s, old: s[2], env, vcc: false, dot_keeps: true };
            Some(reference.apply(&given).bits)
        }
        (None, Some((_, element))) => {
            let field = if f.bits == 32 { Field::Single } else { Field::Double };
            Some(element(f, s.map(|bits| bits & (f.sign() | f.magnitude())), Mode(FLUSHING).env(field)))
        }
        (None, None) => None,
    };
    let of = |role| row.operand(role).map_or(vec![0], |spec| sources(spec.ty));
    let third = match row.operand(Role::Src2) {
        Some(spec) => sources(spec.ty),
        None => sources(result.ty),
    };
    for a in of(Role::Src0) {
        for b in of(Role::Src1) {
            for c in &third {
                let bits = apply([a, b, *c]).ok_or_else(|| format!("{name} has no reference"))?;
                for half in [bits, bits >> 16].into_iter().take(if f.bits == 16 { 2 } else { 1 }) {
                    if f.is_denormal(half & (f.sign() | f.magnitude())) {
                        return Ok(Some(format!("{name} of {a:#x}, {b:#x}, {c:#x} is {bits:#x}")));
                    }
                }
            }
        }
    }
    Ok(None)
}

fn denormal_results() -> Result<(), Failed> {
    let known: BTreeSet<&str> =
        PROGRAMS.iter().map(|(name, ..)| *name).chain(UNREACHABLE.iter().map(|(name, _)| *name)).collect();
    let names = float::REFERENCES.iter().map(|reference| reference.name);
    let missing: Vec<&str> = names
        .chain(packed::PACKED.iter().map(|(name, _)| *name))
        .filter(|name| {
            Op::from_name(name)
                .and_then(|op| op.row().operand(Role::Vdst))
                .is_some_and(|spec| format_of(spec.ty).is_some())
        })
        .filter(|name| !known.contains(name))
        .collect();
    if !missing.is_empty() {
        return Err(format!("no program for {missing:?}").into());
    }
    let mut dropped = BTreeMap::<&str, bool>::new();
    for target in [Target::Gfx906, Target::Gfx90a, Target::Gfx950] {
        let here = PROGRAMS
            .iter()
            .filter(|(name, ..)| Op::from_name(name).is_some_and(|op| op.row().targets.contains(target)));
        let functions: Vec<String> =
            here.map(|(name, signature, program)| function(name, signature, program)).collect();
        let found = compile(target, &functions)?;
        for (name, ..) in PROGRAMS {
            let Some(body) = found.get(*name) else { continue };
            if let Some(drops) = drops(name, body)? {
                *dropped.entry(name).or_default() |= drops;
            }
        }
    }
    let mut errors = String::new();
    for (name, ..) in PROGRAMS {
        match dropped.get(name) {
            None => writeln!(errors, "{name}: llc-22 selects something else")?,
            Some(false) => {}
            Some(true) => {
                if let Some(case) = denormal(name)? {
                    writeln!(errors, "LLVM relies on flushing by MODE, but {case}")?;
                }
            }
        }
    }
    for name in KEPT {
        if dropped.get(name) != Some(&false) {
            writeln!(errors, "LLVM drops llvm.canonicalize behind {name}")?;
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.oracle_test("denormal results that LLVM relies on to be flushed", &[LLC], denormal_results);
    suite.run()
}
