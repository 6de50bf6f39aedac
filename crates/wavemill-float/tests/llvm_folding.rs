//! Differential test against LLVM's constant folding: of the AMDGPU intrinsics that it folds, and of the generic
//! operations, whose arithmetic (APFloat) has nothing in common with ours. NaNs are compared as such: their payloads
//! are pinned elsewhere.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use common::Random;
use wavemill_float::{F16, F32, F64, Format, class, cvt, float_op};
use wavemill_ir::{CvtOp, FloatOp, FloatType, FpEnv};
use wavemill_oracle::{Failed, Suite, Tool};

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
}

impl Source {
    fn pattern(self, random: &mut Random) -> u64 {
        match self {
            Source::Half => random.pattern::<F16>(),
            Source::Float => random.pattern::<F32>(),
            Source::Double => random.pattern::<F64>(),
            Source::Int(bits) => random.below(1 << bits),
        }
    }

    fn text(self, bits: u64) -> String {
        match self {
            Source::Half => format!("half bitcast (i16 {bits} to half)"),
            Source::Float => format!("float bitcast (i32 {bits} to float)"),
            Source::Double => format!("double bitcast (i64 {bits} to double)"),
            Source::Int(_) => format!("i32 {bits}"),
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

    fn agree(self, a: u64, b: u64) -> bool {
        fn same<F: Format>(a: u64, b: u64) -> bool {
            a == b || (F::is_nan(a) && F::is_nan(b))
        }
        match self {
            Kind::Half => same::<F16>(a, b),
            Kind::Float => same::<F32>(a, b),
            Kind::Double => same::<F64>(a, b),
            Kind::Halves => same::<F16>(a & 0xffff, b & 0xffff) && same::<F16>(a >> 16, b >> 16),
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
    /// Omits sources for which LLVM does not model the hardware.
    skip: fn([u64; 3]) -> bool,
}

macro_rules! float {
    ($op:ident, $ty:ident) => {
        |s| float_op(FloatOp::$op, FloatType::$ty, s, ENV).unwrap_or_default()
    };
}

fn never(_: [u64; 3]) -> bool {
    false
}

fn any_nan(s: [u64; 3]) -> bool {
    s.iter().any(|&x| F32::is_nan(x))
}

fn rows() -> Vec<Row> {
    use Source::{Double, Float, Half, Int};
    let row = |name, ir, sources, result, ours| Row { name, ir, sources, result, ours, skip: never };
    let unless = |row: Row, skip| Row { skip, ..row };
    vec![
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
            |s| F32::is_denormal(s[0]) || s[0] & F32::MAGNITUDE > 0x7e80_0000,
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
        // With a NaN LLVM picks by the kernel's IEEE mode, which is not what the manual says.
        unless(
            row(
                "med3.f32",
                "call float @llvm.amdgcn.fmed3.f32(%)",
                &[Float, Float, Float],
                Kind::Float,
                float!(Med3, F32),
            ),
            any_nan,
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
            |s| F64::is_nan(s[0]),
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
    ]
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
    while all.len() < CASES {
        let mut s = [0; 3];
        for (s, source) in s.iter_mut().zip(row.sources) {
            *s = source.pattern(&mut random);
        }
        if !(row.skip)(s) {
            function(row, all.len(), s, &mut module);
            all.push(s);
        }
    }
    let mask = u64::MAX >> (64 - row.result.bits());
    let mut folded = 0;
    for (s, theirs) in all.iter().zip(fold(module, CASES)?) {
        let Some(theirs) = theirs else { continue };
        folded += 1;
        let (ours, theirs) = ((row.ours)(*s), theirs as u64 & mask);
        if !row.result.agree(ours, theirs) {
            return Err(format!("{} of {s:x?}: ours {ours:#x}, LLVM's {theirs:#x}", row.name).into());
        }
    }
    // LLVM leaves only some NaN cases unfolded.
    if folded < CASES / 4 {
        return Err(format!("{}: LLVM folds only {folded} of {CASES}", row.name).into());
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
