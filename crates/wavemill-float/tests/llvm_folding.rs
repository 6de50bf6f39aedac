//! Differential test against LLVM's constant folding: of the AMDGPU intrinsics that it folds, and of the generic
//! operations, whose arithmetic (APFloat) has nothing in common with ours. NaNs are compared as such: their payloads
//! are pinned elsewhere.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use common::Random;
use wavemill_float::{F16, F32, F64, Format, class, cvt, float_op, int_op, scalar_op};
use wavemill_ir::{CvtOp, FloatOp, FloatType, FpEnv, IntOp, ScalarOp, Width};
use wavemill_oracle::{Failed, Suite, Tool};
use wavemill_reference::{self as reference, Env};

const ENV: FpEnv = FpEnv::DEFAULT;
/// Random cases of each operation.
const CASES: usize = 2_000;

const OPT: Tool = Tool::Program("opt-22");

/// What one source is in LLVM IR.
#[derive(Clone, Copy)]
enum Source {
    Half,
    Float,
    Double,
    /// A small i32, or the low bits of one.
    Int(u32),
    /// An i32 between the negated number and the number.
    Between(i32),
    Long,
    /// A float between -160 and 130.
    Exponential,
}

impl Source {
    fn pattern(self, random: &mut Random) -> u64 {
        match self {
            Source::Half => random.pattern::<F16>(),
            Source::Float => random.pattern::<F32>(),
            Source::Double => random.pattern::<F64>(),
            Source::Int(bits) => random.below(1 << bits),
            Source::Between(reach) => {
                let value = random.below(2 * reach as u64 + 1) as i32 - reach;
                u64::from(value as u32)
            }
            Source::Long => random.next(),
            Source::Exponential => {
                let value = random.below(290 << 12) as f32 / 4096.0 - 160.0;
                u64::from(value.to_bits())
            }
        }
    }

    fn text(self, bits: u64) -> String {
        match self {
            Source::Half => format!("half bitcast (i16 {bits} to half)"),
            Source::Float | Source::Exponential => format!("float bitcast (i32 {bits} to float)"),
            Source::Double => format!("double bitcast (i64 {bits} to double)"),
            Source::Int(_) | Source::Between(_) => format!("i32 {bits}"),
            Source::Long => format!("i64 {bits}"),
        }
    }
}

/// How the result is compared.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The patterns are equal, or both are NaN of the format.
    Half,
    Float,
    Double,
    /// Two halves.
    Halves,
    /// Equal integers of that many bits.
    Int(u32),
}

impl Kind {
    fn ir_type(self) -> &'static str {
        match self {
            Kind::Half => "half",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Halves => "<2 x half>",
            Kind::Int(1) => "i1",
            Kind::Int(16) => "i16",
            Kind::Int(64) => "i64",
            Kind::Int(_) => "i32",
        }
    }

    fn bits(self) -> u32 {
        match self {
            Kind::Half => 16,
            Kind::Float | Kind::Halves => 32,
            Kind::Double => 64,
            Kind::Int(bits) => bits,
        }
    }

    /// Whether results are at most some last places apart.
    fn agree(self, a: u64, b: u64, places: u64) -> bool {
        fn same<F: Format>(a: u64, b: u64, places: u64) -> bool {
            if F::is_nan(a) || F::is_nan(b) {
                return F::is_nan(a) && F::is_nan(b);
            }
            (a ^ b) & F::SIGN == 0 && a.abs_diff(b) <= places
        }
        match self {
            Kind::Half => same::<F16>(a, b, places),
            Kind::Float => same::<F32>(a, b, places),
            Kind::Double => same::<F64>(a, b, places),
            Kind::Halves => same::<F16>(a & 0xffff, b & 0xffff, 0) && same::<F16>(a >> 16, b >> 16, 0),
            Kind::Int(_) => a == b,
        }
    }
}

/// One operation: how LLVM spells it (`%` stands for the comma-separated sources, `%0` and so on
/// for single ones), its types, and our result.
struct Row {
    name: &'static str,
    ir: &'static str,
    sources: &'static [Source],
    result: Kind,
    ours: fn([u64; 3]) -> u64,
    /// Last places that the results may differ by: LLVM calls the host's mathematical library.
    places: u64,
    /// The value where LLVM does not model the hardware, from the sources. Some of LLVM's results have to differ there.
    instead: fn([u64; 3]) -> Option<u64>,
}

macro_rules! float {
    ($op:ident, $ty:ident) => {
        |s| float_op(FloatOp::$op, FloatType::$ty, s, ENV).unwrap_or_default()
    };
}

fn never(_: [u64; 3]) -> Option<u64> {
    None
}

/// V_MAD_LEGACY_F32, where LLVM's operation is another one: it is fused and keeps denormals.
fn unfused([a, b, c]: [u64; 3]) -> Option<u64> {
    let s = [a, b, c];
    let [x, y, z] = s.map(|bits| f64::from(f32::from_bits(bits as u32)));
    let tiny = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    // The product of two f32 is exact in f64.
    let rounded = (x * y).is_finite() && f64::from((x * y) as f32) != x * y;
    let other = rounded || tiny(x * y) || tiny(x * y + z) || s.iter().any(|&x| F32::is_denormal(x));
    other.then(|| reference::mad_legacy(reference::F32, s, Env::DEFAULT))
}

/// An integer operation on a lane.
fn int(op: IntOp, s: [u64; 3]) -> u64 {
    int_op(op, s.map(u128::from), 0, 0, false).value as u64
}

fn rows() -> Vec<Row> {
    use Source::{Between, Double, Exponential, Float, Half, Int, Long};
    let row =
        |name, ir, sources, result, ours| Row { name, ir, sources, result, ours, places: 0, instead: never };
    let unless = |row: Row, instead| Row { instead, ..row };
    let within = |places, row: Row| Row { places, ..row };
    let mut rows = vec![
        row("add.f16", "fadd half %", &[Half, Half], Kind::Half, float!(Add, F16)),
        row("mul.f16", "fmul half %", &[Half, Half], Kind::Half, float!(Mul, F16)),
        row("fma.f16", "call half @llvm.fma.f16(%)", &[Half, Half, Half], Kind::Half, float!(Fma, F16)),
        row("add.f32", "fadd float %", &[Float, Float], Kind::Float, float!(Add, F32)),
        row("sub.f32", "fsub float %", &[Float, Float], Kind::Float, float!(Sub, F32)),
        row("mul.f32", "fmul float %", &[Float, Float], Kind::Float, float!(Mul, F32)),
        row("fma.f32", "call float @llvm.fma.f32(%)", &[Float, Float, Float], Kind::Float, float!(Fma, F32)),
        row(
            "fma.f64",
            "call double @llvm.fma.f64(%)",
            &[Double, Double, Double],
            Kind::Double,
            float!(Fma, F64),
        ),
        row("floor.f64", "call double @llvm.floor.f64(%)", &[Double], Kind::Double, float!(Floor, F64)),
        row("rndne.f32", "call float @llvm.roundeven.f32(%)", &[Float], Kind::Float, float!(RoundEven, F32)),
        row("minimum.f32", "call float @llvm.minimum.f32(%)", &[Float, Float], Kind::Float, |s| {
            float_op(FloatOp::Minimum3, FloatType::F32, [s[0], s[1], s[1]], ENV).unwrap_or_default()
        }),
        // The instruction flushes; LLVM folds the exact quotient.
        unless(
            row("rcp.f32", "call float @llvm.amdgcn.rcp.f32(%)", &[Float], Kind::Float, float!(Rcp, F32)),
            |s| {
                let sign = s[0] & F32::SIGN;
                let huge = (0x7e80_0001..=F32::INF).contains(&(s[0] & F32::MAGNITUDE));
                if F32::is_denormal(s[0]) { Some(sign | F32::INF) } else { huge.then_some(sign) }
            },
        ),
        row("rcp.f64", "call double @llvm.amdgcn.rcp.f64(%)", &[Double], Kind::Double, float!(Rcp, F64)),
        row("fract.f32", "call float @llvm.amdgcn.fract.f32(%)", &[Float], Kind::Float, float!(Fract, F32)),
        row(
            "fract.f64",
            "call double @llvm.amdgcn.fract.f64(%)",
            &[Double],
            Kind::Double,
            float!(Fract, F64),
        ),
        row(
            "mant.f32",
            "call float @llvm.amdgcn.frexp.mant.f32(%)",
            &[Float],
            Kind::Float,
            float!(FrexpMant, F32),
        ),
        row(
            "mant.f64",
            "call double @llvm.amdgcn.frexp.mant.f64(%)",
            &[Double],
            Kind::Double,
            float!(FrexpMant, F64),
        ),
        row(
            "exp.f32",
            "call i32 @llvm.amdgcn.frexp.exp.i32.f32(%)",
            &[Float],
            Kind::Int(32),
            float!(FrexpExp, F32),
        ),
        row(
            "exp.f64",
            "call i32 @llvm.amdgcn.frexp.exp.i32.f64(%)",
            &[Double],
            Kind::Int(32),
            float!(FrexpExp, F64),
        ),
        row(
            "ldexp.f32",
            "call float @llvm.ldexp.f32.i32(%)",
            &[Float, Int(9)],
            Kind::Float,
            float!(Ldexp, F32),
        ),
        row(
            "med3.f32",
            "call float @llvm.amdgcn.fmed3.f32(%)",
            &[Float, Float, Float],
            Kind::Float,
            float!(Med3, F32),
        ),
        // With a NaN the result is the minimum, as in AMD's pseudocode; LLVM folds some minima with -inf to the
        // other source.
        unless(
            row(
                "med3.f16",
                "call half @llvm.amdgcn.fmed3.f16(%)",
                &[Half, Half, Half],
                Kind::Half,
                float!(Med3, F16),
            ),
            |s| {
                let differs = s.iter().any(|&x| F16::is_nan(x)) && s.contains(&(F16::SIGN | F16::INF));
                differs.then(|| reference::med3(reference::F16, s, Env::DEFAULT))
            },
        ),
        row(
            "legacy.f32",
            "call float @llvm.amdgcn.fmul.legacy(%)",
            &[Float, Float],
            Kind::Float,
            float!(MulLegacy, F32),
        ),
        row(
            "cubeid",
            "call float @llvm.amdgcn.cubeid(%)",
            &[Float, Float, Float],
            Kind::Float,
            float!(CubeId, F32),
        ),
        row(
            "cubesc",
            "call float @llvm.amdgcn.cubesc(%)",
            &[Float, Float, Float],
            Kind::Float,
            float!(CubeSc, F32),
        ),
        row(
            "cubetc",
            "call float @llvm.amdgcn.cubetc(%)",
            &[Float, Float, Float],
            Kind::Float,
            float!(CubeTc, F32),
        ),
        row(
            "cubema",
            "call float @llvm.amdgcn.cubema(%)",
            &[Float, Float, Float],
            Kind::Float,
            float!(CubeMa, F32),
        ),
        // LLVM passes a NaN on; the manual checks only the exponent.
        unless(
            row(
                "preop",
                "call double @llvm.amdgcn.trig.preop.f64(%)",
                &[Double, Int(5)],
                Kind::Double,
                float!(TrigPreop, F64),
            ),
            |s| F64::is_nan(s[0]).then(|| reference::trig_preop(s[0], s[1], reference::Env::DEFAULT)),
        ),
        row("class.f16", "call i1 @llvm.amdgcn.class.f16(%)", &[Half, Int(10)], Kind::Int(1), |s| {
            class(FloatType::F16, s[0], s[1] as u32).into()
        }),
        row("class.f32", "call i1 @llvm.amdgcn.class.f32(%)", &[Float, Int(10)], Kind::Int(1), |s| {
            class(FloatType::F32, s[0], s[1] as u32).into()
        }),
        row("pkrtz", "call <2 x half> @llvm.amdgcn.cvt.pkrtz(%)", &[Float, Float], Kind::Halves, |s| {
            cvt(CvtOp::PkRtzF16F32, s, ENV)
        }),
        row("f16.f32", "fptrunc %0 to half", &[Float], Kind::Half, |s| cvt(CvtOp::F16F32, s, ENV)),
        row("f32.f64", "fptrunc %0 to float", &[Double], Kind::Float, |s| cvt(CvtOp::F32F64, s, ENV)),
        row("i32.f32", "call i32 @llvm.fptosi.sat.i32.f32(%)", &[Float], Kind::Int(32), |s| {
            cvt(CvtOp::I32F32, s, ENV)
        }),
        row("u32.f64", "call i32 @llvm.fptoui.sat.i32.f64(%)", &[Double], Kind::Int(32), |s| {
            cvt(CvtOp::U32F64, s, ENV)
        }),
    ];
    rows.extend([
        row(
            "ldexp.f16",
            "call half @llvm.ldexp.f16.i32(%)",
            &[Half, Between(45)],
            Kind::Half,
            float!(Ldexp, F16),
        ),
        row(
            "ldexp.f32.both",
            "call float @llvm.ldexp.f32.i32(%)",
            &[Float, Between(300)],
            Kind::Float,
            float!(Ldexp, F32),
        ),
        row(
            "ldexp.f64",
            "call double @llvm.ldexp.f64.i32(%)",
            &[Double, Between(2200)],
            Kind::Double,
            float!(Ldexp, F64),
        ),
        row("rcp.f16", "call half @llvm.amdgcn.rcp.f16(%)", &[Half], Kind::Half, float!(Rcp, F16)),
        row("fract.f16", "call half @llvm.amdgcn.fract.f16(%)", &[Half], Kind::Half, float!(Fract, F16)),
        row(
            "mant.f16",
            "call half @llvm.amdgcn.frexp.mant.f16(%)",
            &[Half],
            Kind::Half,
            float!(FrexpMant, F16),
        ),
        row(
            "exp.f16",
            "call i16 @llvm.amdgcn.frexp.exp.i16.f16(%)",
            &[Half],
            Kind::Int(16),
            float!(FrexpExp, F16),
        ),
        row("class.f64", "call i1 @llvm.amdgcn.class.f64(%)", &[Double, Int(10)], Kind::Int(1), |s| {
            class(FloatType::F64, s[0], s[1] as u32).into()
        }),
        unless(
            row("sqrt.f32", "call float @llvm.sqrt.f32(%)", &[Float], Kind::Float, float!(Sqrt, F32)),
            // The instruction flushes.
            |s| F32::is_denormal(s[0]).then_some(s[0] & F32::SIGN),
        ),
        row("sqrt.f16", "call half @llvm.sqrt.f16(%)", &[Half], Kind::Half, float!(Sqrt, F16)),
        row("sqrt.f64", "call double @llvm.sqrt.f64(%)", &[Double], Kind::Double, float!(Sqrt, F64)),
        // Ours keeps the sign of zero, as AMD's pseudocode does; LLVM takes whole turns from a table.
        unless(
            within(
                1,
                row("sin.f32", "call float @llvm.amdgcn.sin.f32(%)", &[Float], Kind::Float, float!(Sin, F32)),
            ),
            |s| (s[0] == F32::SIGN).then_some(F32::SIGN),
        ),
        within(
            1,
            row("cos.f32", "call float @llvm.amdgcn.cos.f32(%)", &[Float], Kind::Float, float!(Cos, F32)),
        ),
        unless(
            within(
                1,
                row("sin.f16", "call half @llvm.amdgcn.sin.f16(%)", &[Half], Kind::Half, float!(Sin, F16)),
            ),
            |s| (s[0] == F16::SIGN).then_some(F16::SIGN),
        ),
        within(1, row("cos.f16", "call half @llvm.amdgcn.cos.f16(%)", &[Half], Kind::Half, float!(Cos, F16))),
        // The instruction flushes denormal results.
        unless(
            within(
                1,
                row(
                    "exp2.f32",
                    "call float @llvm.exp2.f32(%)",
                    &[Exponential],
                    Kind::Float,
                    float!(Exp2, F32),
                ),
            ),
            |s| (-150.0..-126.0).contains(&f32::from_bits(s[0] as u32)).then_some(0),
        ),
        within(1, row("exp2.f16", "call half @llvm.exp2.f16(%)", &[Half], Kind::Half, float!(Exp2, F16))),
        unless(
            within(
                1,
                row("log2.f32", "call float @llvm.log2.f32(%)", &[Float], Kind::Float, float!(Log2, F32)),
            ),
            // The instruction flushes, and the logarithm of zero is an infinity.
            |s| F32::is_denormal(s[0]).then_some(F32::SIGN | F32::INF),
        ),
        within(1, row("log2.f16", "call half @llvm.log2.f16(%)", &[Half], Kind::Half, float!(Log2, F16))),
        unless(
            row(
                "mad_legacy.f32",
                "call float @llvm.amdgcn.fma.legacy(%)",
                &[Float, Float, Float],
                Kind::Float,
                float!(MadLegacy, F32),
            ),
            unfused,
        ),
        row("perm", "call i32 @llvm.amdgcn.perm(%)", &[Int(32), Int(32), Int(32)], Kind::Int(32), |s| {
            int(IntOp::Perm, s)
        }),
        row("bfe_u32", "call i32 @llvm.amdgcn.ubfe.i32(%)", &[Int(32), Int(6), Int(6)], Kind::Int(32), |s| {
            int(IntOp::BfeU, s)
        }),
        row("bfe_i32", "call i32 @llvm.amdgcn.sbfe.i32(%)", &[Int(32), Int(6), Int(6)], Kind::Int(32), |s| {
            int(IntOp::BfeI, s)
        }),
        unless(
            row(
                "s_bfe_u64",
                "call i64 @llvm.amdgcn.ubfe.i64(%)",
                &[Long, Int(7), Int(7)],
                Kind::Int(64),
                |s| scalar_op(ScalarOp::BfeU, Width::W64, [s[0], s[1] | s[2] << 16, 0], 0).value,
            ),
            // The width has 7 bits in AMD's pseudocode; the intrinsic uses 6 of them.
            |s| (s[2] >= 64).then_some(s[0] >> (s[1] & 63)),
        ),
        unless(
            row(
                "s_bfe_i64",
                "call i64 @llvm.amdgcn.sbfe.i64(%)",
                &[Long, Int(7), Int(7)],
                Kind::Int(64),
                |s| scalar_op(ScalarOp::BfeI, Width::W64, [s[0], s[1] | s[2] << 16, 0], 0).value,
            ),
            |s| (s[2] >= 64).then_some((s[0] as i64 >> (s[1] & 63)) as u64),
        ),
        row("cvt_off", "call float @llvm.amdgcn.cvt.off.f32.i4(%)", &[Int(32)], Kind::Float, |s| {
            cvt(CvtOp::OffF32I4, s, ENV)
        }),
        row("s_wqm_b32", "call i32 @llvm.amdgcn.s.wqm.i32(%)", &[Int(32)], Kind::Int(32), |s| {
            scalar_op(ScalarOp::WholeQuad, Width::W32, s, 0).value
        }),
        row("s_wqm_b64", "call i64 @llvm.amdgcn.s.wqm.i64(%)", &[Long], Kind::Int(64), |s| {
            scalar_op(ScalarOp::WholeQuad, Width::W64, s, 0).value
        }),
        row("s_quadmask_b32", "call i32 @llvm.amdgcn.s.quadmask.i32(%)", &[Int(32)], Kind::Int(32), |s| {
            scalar_op(ScalarOp::QuadMask, Width::W32, s, 0).value
        }),
        row("s_quadmask_b64", "call i64 @llvm.amdgcn.s.quadmask.i64(%)", &[Long], Kind::Int(64), |s| {
            scalar_op(ScalarOp::QuadMask, Width::W64, s, 0).value
        }),
        row("s_bitreplicate", "call i64 @llvm.amdgcn.s.bitreplicate(%)", &[Int(32)], Kind::Int(64), |s| {
            scalar_op(ScalarOp::BitReplicate, Width::W64, s, 0).value
        }),
    ]);
    rows
}

/// A function that returns the bits of one operation on constants.
fn function(row: &Row, index: usize, s: [u64; 3], module: &mut String) {
    let texts: Vec<String> = row.sources.iter().zip(s).map(|(source, bits)| source.text(bits)).collect();
    let mut sources = texts.join(", ");
    if !row.ir.starts_with("call") {
        // Operators name the type once.
        sources = sources.replace(", half ", ", ").replace(", float ", ", ");
        sources = sources.trim_start_matches("half ").trim_start_matches("float ").to_owned();
    }
    let operation = row.ir.replace("%0", &texts[0]).replace('%', &sources);
    let (ty, bits) = (row.result.ir_type(), row.result.bits());
    // Writing to a string does not fail.
    let _ = match row.result {
        Kind::Int(_) => writeln!(module, "define {ty} @f{index}() {{\n %r = {operation}\n ret {ty} %r\n}}"),
        _ => writeln!(
            module,
            "define i{bits} @f{index}() {{\n %r = {operation}\n %b = bitcast {ty} %r to i{bits}\n ret i{bits} %b\n}}"
        ),
    };
}

/// The integers that the functions of a module return, where LLVM folds them.
fn fold(module: String, count: usize) -> Result<Vec<Option<i64>>, Failed> {
    let mut child = Command::new(OPT.path()?)
        .args(["-S", "-passes=instcombine", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let feeder = std::thread::spawn(move || stdin.write_all(module.as_bytes()));
    let output = child.wait_with_output()?;
    feeder.join().map_err(|_| "the feeder failed")??;
    if !output.status.success() {
        return Err("opt-22 refuses the module".into());
    }
    let mut results = vec![None; count];
    let mut current = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((_, rest)) = line.split_once("define ") {
            let name = rest.split_once("@f").and_then(|(_, rest)| rest.split_once('('));
            current = name.and_then(|(number, _)| number.parse::<usize>().ok());
        } else if let (Some(rest), Some(index)) = (line.trim().strip_prefix("ret i"), current) {
            results[index] = match rest.split_once(' ').map(|(_, value)| value) {
                Some("true") => Some(1),
                Some("false") => Some(0),
                Some(value) => value.parse().ok(),
                None => None,
            };
        }
    }
    Ok(results)
}

fn check(row: &Row, seed: u64) -> Result<(), Failed> {
    let mut random = Random::new(seed);
    let mut module = String::from("target triple = \"amdgcn-amd-amdhsa\"\n");
    let mut all = Vec::new();
    let mut compared = 0;
    while compared < CASES {
        let mut s = [0; 3];
        for (s, source) in s.iter_mut().zip(row.sources) {
            *s = source.pattern(&mut random);
        }
        function(row, all.len(), s, &mut module);
        all.push(s);
        compared += usize::from((row.instead)(s).is_none());
    }
    let mask = u64::MAX >> (64 - row.result.bits());
    let (mut folded, mut others, mut differ) = (0, 0, 0);
    let count = all.len();
    for (s, theirs) in all.into_iter().zip(fold(module, count)?) {
        let Some(theirs) = theirs else { continue };
        let (ours, theirs) = ((row.ours)(s), theirs as u64 & mask);
        let agree = row.result.agree(ours, theirs, row.places);
        if let Some(expected) = (row.instead)(s) {
            others += 1;
            differ += usize::from(!agree);
            if !row.result.agree(ours, expected, 0) {
                return Err(format!("{} of {s:x?}: ours {ours:#x}, expected {expected:#x}", row.name).into());
            }
            continue;
        }
        folded += 1;
        if !agree {
            return Err(format!("{} of {s:x?}: ours {ours:#x}, LLVM's {theirs:#x}", row.name).into());
        }
    }
    // LLVM leaves only some NaN cases unfolded.
    if folded < CASES / 4 {
        return Err(format!("{}: LLVM folds only {folded} of {CASES}", row.name).into());
    }
    if others > 0 && differ == 0 {
        return Err(format!("{}: none of the {others} exceptions differs", row.name).into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    for (seed, row) in rows().into_iter().enumerate() {
        suite.oracle_test(row.name, &[OPT], move || check(&row, seed as u64));
    }
    suite.run()
}
