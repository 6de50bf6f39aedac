//! Rows and lifter agree on which instructions have a meaning. If a row is supported on a target,
//! all its legal instances lift to operations that the engine runs. If it is not, none does.
//!
//! Legal means that the words decode and break no rule (`Inst::broken_rule`). A form is an encoding
//! of a row on a target. Every form is tried with its plainest instance and with random ones. All
//! fields are random then, and so are the fields of MODE that code depends on. [`EXCEPTIONS`] lists
//! the instances of supported rows that do not run, with their facets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wavemill_interpreter::{Tier, operation_costs};
use wavemill_ir::{FaultKind, Terminator, verify};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Fidelity, FieldId, Form, Format, Inst, Op, Operand, Role, decode};
use wavemill_lift::gcn::registers::PRIVILEGED;
use wavemill_lift::gcn::{Context, MODE_KEY, lift_block};
use wavemill_oracle::{SplitMix64, whole_suites};

/// MODE as kernels start with it: denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;

/// The bit of MODE for GPR indexing.
const GPR_IDX_EN: u32 = 1 << 27;

/// Number of random instances of a row, over all its forms.
fn instances_of_a_row() -> usize {
    if whole_suites() { 10_000 } else { 200 }
}

/// Number of random instances of each form, however many forms the row has.
const LEAST: usize = 8;

/// Most random words for each wanted instance. Fields with few legal values make most words illegal.
const WORDS: usize = 12_500;

/// What happens when a wave reaches an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Runs,
    /// The wave stops with a fault, because the instruction halts it.
    Halts,
    /// A fault says that the instruction is not supported.
    Unsupported,
}

/// A set of legal instances of supported rows that do not run.
struct Exception {
    /// The facet that says so. It is one of the instances' facets.
    facet: &'static str,
    /// The formats that have such instances. Each of them has to meet one.
    formats: &'static [Format],
    /// Whether it is in the set, with this MODE. All instances of the set have the outcome.
    applies: fn(&Inst, u32) -> bool,
    outcome: Outcome,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        facet: "matrix_indexing",
        formats: &[Format::Mai, Format::MaiScaled],
        applies: |_, mode| mode & GPR_IDX_EN != 0,
        outcome: Outcome::Unsupported,
    },
    Exception { facet: "halt", formats: &[Format::Sopp], applies: halts, outcome: Outcome::Halts },
];

/// Whether the instruction halts its wave: S_SETHALT with bit 0 set, or any S_SENDMSGHALT (Vega ISA 12.5),
/// outside a trap handler.
fn halts(inst: &Inst, mode: u32) -> bool {
    mode & PRIVILEGED == 0
        && match inst.op() {
            Op::SSethalt => {
                inst.operand(Role::Simm16).is_some_and(|simm| matches!(simm, Operand::Imm(n) if n & 1 != 0))
            }
            _ => true,
        }
}

/// The bytes of an instance of the form: zeros except for fixed bits. If zeros are not a legal
/// instance, the first legal one with up to three bits set.
pub(crate) fn plainest(target: Target, form: &Form) -> Option<[u8; 16]> {
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

/// `wanted` legal instances of the form with random operands and modifiers. Some forms have fields
/// of which few values are legal. So half of the words are legal ones with a few other bits.
fn random(target: Target, form: &Form, wanted: usize, source: &mut SplitMix64) -> Vec<[u8; 16]> {
    let free = form.used & !form.fixed;
    let mut found: Vec<u128> = Vec::new();
    for n in 0..WORDS * wanted {
        if found.len() == wanted {
            break;
        }
        let (random, mask) = (thin(source, 0), thin(source, 0));
        // Sparse fillings are more often legal.
        let sparse = match n / 2 % 4 {
            0 => random,
            1 => random & mask,
            2 => random & mask << 64,
            _ => random & mask & mask.rotate_left(17),
        };
        let words = match found.get(source.index(found.len())) {
            Some(legal) if n % 2 != 0 => legal ^ sparse & thin(source, 3) & free,
            _ => form.value | sparse & free,
        };
        let is_legal = decode(target, &words.to_le_bytes())
            .is_ok_and(|inst| inst.form() == form && inst.broken_rule().is_none());
        if is_legal {
            found.push(words);
        }
    }
    found.into_iter().map(u128::to_le_bytes).collect()
}

/// Random bits; one in 2 is set, and half as many for each step of `thinness`.
fn thin(source: &mut SplitMix64, thinness: u32) -> u128 {
    (0..=thinness)
        .map(|_| u128::from(source.next_u64()) | u128::from(source.next_u64()) << 64)
        .fold(u128::MAX, |all, random| all & random)
}

/// MODE with random values in the fields that code depends on. Instructions are not skipped.
fn random_mode(source: &mut SplitMix64) -> u32 {
    const VSKIP: u32 = 1 << 28;
    source.next_u64() as u32 & MODE_KEY & !VSKIP
}

/// What happens when a wave with this MODE reaches an instance.
fn outcome(target: Target, mode: u32, bytes: [u8; 16]) -> Outcome {
    let size = decode(target, &bytes).map_or(0, |i| i.size());
    let context = Context::new(target, mode, false);
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
    match block.terminator {
        Terminator::Fault(FaultKind::Unsupported) => Outcome::Unsupported,
        Terminator::Fault(FaultKind::Halted) => Outcome::Halts,
        Terminator::Fault(FaultKind::IllegalInstruction) => panic!("{target:?} {bytes:02x?} is illegal"),
        _ if refused => Outcome::Unsupported,
        // `NoCode` among them: nothing follows the instruction.
        _ => Outcome::Runs,
    }
}

/// The text of an instance, for errors.
fn text(target: Target, bytes: &[u8; 16]) -> String {
    let Ok(inst) = decode(target, bytes) else { return String::new() };
    let words = bytes[..inst.size()].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut text = format!("{words} ");
    wavemill_asm::gcn::print(&mut text, &inst).unwrap();
    text
}

/// Targets as a row file writes them.
fn set(targets: &[Target]) -> String {
    targets.iter().map(|target| &target.name()[3..]).collect::<Vec<_>>().join(",")
}

/// Errors of the format's rows: a line for each instruction.
fn disagreements(format: Format) -> String {
    let mut wrong = String::new();
    let mut source = SplitMix64::new(format as u64);
    let exceptions: Vec<&Exception> = EXCEPTIONS.iter().filter(|e| e.formats.contains(&format)).collect();
    let mut used = vec![0; exceptions.len()];
    for row in Op::ALL.iter().map(|op| op.row()).filter(|row| row.format == format) {
        let (mut lifted, mut wrong_on) = (Vec::new(), BTreeMap::<String, Vec<Target>>::new());
        let forms = || {
            let of = |target| row.forms().iter().filter(move |form| form.targets.contains(target));
            row.targets.iter().flat_map(move |target| of(target).map(move |form| (target, form)))
        };
        let wanted = instances_of_a_row().div_ceil(forms().count()).max(LEAST);
        for (target, form) in forms() {
            let supported = row.fidelity(target) != Fidelity::Unsupported;
            let mut instances = random(target, form, wanted, &mut source);
            instances.extend(plainest(target, form));
            assert!(
                instances.len() > wanted,
                "{} legal instances of {} found on {target}, expected {}",
                instances.len(),
                row.name(),
                wanted + 1
            );
            let mut failures = 0;
            for (n, bytes) in instances.iter().enumerate() {
                let mode = if n % 2 == 0 { MODE } else { random_mode(&mut source) };
                let inst = decode(target, bytes).unwrap();
                let has = |facet: &str| inst.facets().any(|f| f.name == facet);
                let exception = exceptions.iter().position(|e| has(e.facet) && (e.applies)(&inst, mode));
                let expected = match (supported, exception) {
                    (false, _) => Outcome::Unsupported,
                    (true, Some(n)) => {
                        used[n] += 1;
                        exceptions[n].outcome
                    }
                    (true, None) => Outcome::Runs,
                };
                let found = outcome(target, mode, *bytes);
                if found == expected {
                    continue;
                }
                if !supported {
                    lifted.push(target);
                    break;
                }
                failures += 1;
                if failures <= 2 {
                    let text = text(target, bytes);
                    let instance = format!("{text} (MODE {mode:#x}): {found:?}, expected {expected:?}");
                    wrong_on.entry(instance).or_default().push(target);
                }
            }
        }
        let file = format!("crates/wavemill-isa/rows/gcn/{}.rows", format.name());
        if !lifted.is_empty() {
            writeln!(
                wrong,
                "{} is lifted on {}: change its fidelity from `unsupported` to `exact`, `rounded` or \
                 `modelled` there ({file})",
                row.name(),
                set(&lifted)
            )
            .unwrap();
        }
        for (instance, targets) in wrong_on {
            let targets = set(&targets);
            writeln!(
                wrong,
                "{} on {targets}: {instance}; lift it, say `unsupported@{targets}` ({file}), or correct the exceptions",
                row.name()
            )
            .unwrap();
        }
    }
    for (exception, count) in exceptions.iter().zip(used) {
        if count == 0 {
            writeln!(wrong, "no instance needs the exception of facet {}", exception.facet).unwrap();
        }
    }
    wrong
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
