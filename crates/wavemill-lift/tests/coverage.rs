//! Rows and lifter agree on which instructions have a meaning: a row is `unsupported` on a target
//! if and only if no instance of it lifts there to operations that the engine runs.
//!
//! Every form of every row (each encoding on each target) is tried with its plainest instance and
//! with random ones. A list pins the forms of supported rows whose plainest instance does not run.

use std::fmt::Write as _;

use wavemill_interpreter::{Tier, operation_costs};
use wavemill_ir::{FaultKind, Terminator, verify};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Fidelity, FieldId, Form, Format, Op, decode};
use wavemill_lift::gcn::{Context, lift_block};
use wavemill_oracle::SplitMix64;

/// MODE as kernels start with it: denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;

/// Number of random instances of each form.
const FILLINGS: usize = 40;

/// The bytes of an instance of the form: zeros except for fixed bits. If zeros are not a legal
/// instance, the first legal one with up to three bits set.
fn plainest(target: Target, form: &Form) -> Option<[u8; 16]> {
    let legal = |words: u128| {
        let bytes = words.to_le_bytes();
        decode(target, &bytes).ok().filter(|i| i.form() == form && i.broken_rule().is_none()).map(|_| bytes)
    };
    let free = form.used & !form.fixed;
    let bits = || (0..128u32).filter(|n| free >> n & 1 != 0).map(|n| 1u128 << n);
    // The only lane permutation of 64-bit operands.
    let broadcast = form.encoding.field(target, FieldId::DppCtrl).map_or(0, |field| 0x150u128 << field.lo);
    legal(form.value)
        .or_else(|| legal(form.value | broadcast))
        .or_else(|| bits().find_map(|a| legal(form.value | a)))
        .or_else(|| bits().find_map(|a| bits().find_map(|b| legal(form.value | a | b))))
        // 64-bit DPP accepts few of the lane permutations.
        .or_else(|| {
            bits().find_map(|a| bits().find_map(|b| bits().find_map(|c| legal(form.value | a | b | c))))
        })
}

/// Instances of the form with random operands and modifiers, except on the global data share, which
/// no launch has.
fn random(target: Target, form: &Form, source: &mut SplitMix64) -> Vec<[u8; 16]> {
    let fill = |n: usize, source: &mut SplitMix64| {
        let free = u128::from(source.next_u64()) | u128::from(source.next_u64()) << 64;
        // Sparse fillings are more often legal.
        let sparse = u128::from(source.next_u64()) << (n % 3 * 32);
        let free = if n.is_multiple_of(2) { free } else { free & sparse };
        (form.value | (free & form.used & !form.fixed)).to_le_bytes()
    };
    let legal = |bytes: &[u8; 16]| {
        decode(target, bytes)
            .is_ok_and(|inst| inst.form() == form && !inst.modifiers().gds && inst.broken_rule().is_none())
    };
    (0..FILLINGS).map(|n| fill(n, source)).filter(legal).collect()
}

/// Whether the instance has a meaning that the engine runs.
fn runs(target: Target, bytes: [u8; 16]) -> bool {
    let size = decode(target, &bytes).map_or(0, |i| i.size());
    let context = Context::new(target, MODE, false);
    let block = lift_block(&context, 0x1000, &mut |pc, out| {
        let at = (pc - 0x1000) as usize;
        let n = size.saturating_sub(at);
        out[..n].copy_from_slice(&bytes[at..at + n]);
        n
    });
    if let Err(error) = verify(&block) {
        panic!("{target:?} {bytes:02x?}: {error}");
    }
    let refused = operation_costs(&block, Tier::Portable).iter().any(|cost| cost.unsupported);
    block.terminator != Terminator::Fault(FaultKind::Unsupported) && !refused
}

/// Targets as a row file writes them.
fn set(targets: &[Target]) -> String {
    targets.iter().map(|target| &target.name()[3..]).collect::<Vec<_>>().join(",")
}

/// Errors of the format's rows: a line for each instruction.
fn disagreements(format: Format) -> String {
    let mut text = String::new();
    let mut source = SplitMix64::new(format as u64);
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.format == format) {
        let (mut lifted, mut missing) = (Vec::new(), Vec::new());
        for target in row.targets.iter() {
            let any = row.forms().iter().filter(|form| form.targets.contains(target)).any(|form| {
                let mut instances = random(target, form, &mut source);
                instances.extend(plainest(target, form));
                assert!(!instances.is_empty(), "{} has no legal instance on {target}", row.name());
                instances.into_iter().any(|bytes| runs(target, bytes))
            });
            match (any, row.fidelity(target)) {
                (true, Fidelity::Unsupported) => lifted.push(target),
                (false, Fidelity::Exact | Fidelity::Rounded | Fidelity::Modelled) => missing.push(target),
                _ => {}
            }
        }
        let file = format!("crates/wavemill-isa/rows/gcn/{}.rows", format.name());
        if !lifted.is_empty() {
            writeln!(
                text,
                "{} is lifted on {}: change its fidelity from `unsupported` to `exact`, `rounded` or \
                 `modelled` there ({file})",
                row.name(),
                set(&lifted)
            )
            .unwrap();
        }
        if !missing.is_empty() {
            let targets = set(&missing);
            writeln!(
                text,
                "{} has no meaning on {targets}: lift it, or say `unsupported@{targets}` ({file})",
                row.name()
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn forms_that_do_not_run_though_their_rows_do() {
    let mut text = String::new();
    for row in Op::ALL.iter().map(|op| op.row()) {
        for target in row.targets.iter().filter(|target| row.fidelity(*target) != Fidelity::Unsupported) {
            for form in row.forms().iter().filter(|form| form.targets.contains(target)) {
                if !plainest(target, form).is_some_and(|bytes| runs(target, bytes)) {
                    writeln!(text, "{} {} {target}", row.name(), form.encoding.name()).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(text);
}

/// A test per format.
macro_rules! coverage {
    ($($name:ident $format:ident;)*) => {
        $(#[test]
        fn $name() {
            let wrong = disagreements(Format::$format);
            assert!(wrong.is_empty(), "rows and lifter disagree:\n{wrong}");
        })*

        #[test]
        fn every_format_is_compared() {
            assert_eq!([$(Format::$format),*].len(), Format::ALL.len());
        }
    };
}

coverage! {
    sop1 Sop1;
    sop2 Sop2;
    sopc Sopc;
    sopk Sopk;
    sopp Sopp;
    smem Smem;
    vop1 Vop1;
    vop2 Vop2;
    vopc Vopc;
    vop3 Vop3;
    vop3p Vop3p;
    mai Mai;
    mai_scaled MaiScaled;
    vintrp Vintrp;
    ds Ds;
    mubuf Mubuf;
    mtbuf Mtbuf;
    mimg Mimg;
    flat Flat;
    global Global;
    scratch Scratch;
    exp Exp;
}
