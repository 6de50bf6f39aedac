//! Which instructions have a meaning: a pinned list of those that have none yet, per format.
//!
//! Every form of every row (each encoding on each target) is lifted once. A row that lifts in one of its forms but not
//! in another shows the encoding.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wavemill_ir::{FaultKind, Terminator, verify};
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId, Form, Format, Op, decode};
use wavemill_lift::gcn::{Context, lift_block};

/// MODE as kernels start with it: denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;

/// The bytes of an instance of the form: zeros but for what is fixed, or, where zeros are no legal instance, the first
/// legal one found by setting up to three bits.
fn instance(target: Target, form: &Form) -> Option<[u8; 16]> {
    let legal = |words: u128| {
        let bytes = words.to_le_bytes();
        decode(target, &bytes).ok().filter(|i| i.form() == form).map(|_| bytes)
    };
    let free = form.used & !form.fixed;
    let bits = || (0..128u32).filter(|n| free >> n & 1 != 0).map(|n| 1u128 << n);
    // The only lane permutation of 64-bit operands.
    let broadcast = form.encoding.field(target, FieldId::DppCtrl).map_or(0, |field| 0x150u128 << field.lo);
    legal(form.value)
        .or_else(|| legal(form.value | broadcast))
        .or_else(|| bits().find_map(|a| legal(form.value | a)))
        .or_else(|| bits().find_map(|a| bits().find_map(|b| legal(form.value | a | b))))
        // 64-bit DPP takes few of the lane permutations.
        .or_else(|| {
            bits().find_map(|a| bits().find_map(|b| bits().find_map(|c| legal(form.value | a | b | c))))
        })
}

/// Whether the instance has a meaning.
fn lifts(target: Target, bytes: [u8; 16]) -> bool {
    let size = decode(target, &bytes).map_or(0, |i| i.size());
    let context = Context { target, mode: MODE };
    let block = lift_block(&context, 0x1000, &mut |pc, out| {
        let at = (pc - 0x1000) as usize;
        let n = size.saturating_sub(at);
        out[..n].copy_from_slice(&bytes[at..at + n]);
        n
    });
    if let Err(error) = verify(&block) {
        panic!("{target:?} {bytes:02x?}: {error}");
    }
    block.terminator != Terminator::Fault(FaultKind::Unsupported)
}

/// One line for each instruction of the format that does not lift, with the targets and, if it is not all of them, the
/// encodings.
fn missing(format: Format) -> String {
    let mut text = String::new();
    for op in Op::ALL.iter().filter(|op| op.row().format == format) {
        let row = op.row();
        let mut by_encoding: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut forms = 0;
        let mut refused = 0;
        for target in Target::ALL {
            for form in row.forms().iter().filter(|f| f.targets.contains(target)) {
                let Some(bytes) = instance(target, form) else {
                    panic!("{} has no legal instance on {}", row.name(), target.name());
                };
                forms += 1;
                if !lifts(target, bytes) {
                    refused += 1;
                    by_encoding.entry(form.encoding.name()).or_default().push(target.name());
                }
            }
        }
        if refused == forms {
            writeln!(text, "{}", row.name()).unwrap();
        } else {
            for (encoding, targets) in by_encoding {
                writeln!(text, "{} {encoding} {}", row.name(), targets.join(" ")).unwrap();
            }
        }
    }
    if text.is_empty() { "none\n".to_owned() } else { text }
}

/// A test per format; the snapshot is the list of what is missing.
macro_rules! coverage {
    ($($name:ident $format:ident;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(concat!("missing_", stringify!($name)), missing(Format::$format));
        }
    )*};
}

coverage! {
    sop1 Sop1;
    sop2 Sop2;
    sopc Sopc;
    sopk Sopk;
    sopp Sopp;
    smem Smem;
    ds Ds;
    mubuf Mubuf;
    flat Flat;
    global Global;
    scratch Scratch;
    vop1 Vop1;
    vop2 Vop2;
    vopc Vopc;
    vop3 Vop3;
    vop3p Vop3p;
}
