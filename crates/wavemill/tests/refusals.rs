//! Instructions that decode and cannot run: the report says why.

use wavemill::fault::{FaultCause, FaultReport, Refusal, Rule};
use wavemill::launch::Engine;
use wavemill::{Arg, Error, Launch};
use wavemill_ir::FaultKind;
use wavemill_kernels::Target;

use crate::assembled::Source;

/// The report of a kernel that runs into its fault, on both engines.
fn report(target: Target, body: &str) -> Box<FaultReport> {
    let [first, second] = [Engine::default(), Engine::Reference].map(|engine| {
        let (device, module) = Source { body, ..Source::default() }.load(target);
        let kernel = module.kernel("kernel").expect("the kernel");
        let out = device.buffer("out", 4096).expect("a buffer");
        match Launch::new(&kernel).engine(engine).args([Arg::from(&out)]).run() {
            Err(Error::Fault(report)) => report,
            other => panic!("{body} on {target:?}: expected a fault, got {other:?}"),
        }
    });
    assert_eq!(first.to_string(), second.to_string());
    first
}

fn headline(report: &FaultReport) -> String {
    report.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The words are those of an instruction of the target with one more bit set.
#[test]
fn words_that_break_a_rule_are_illegal() {
    use Target::{Gfx90a, Gfx942, Gfx950};
    let no_gds = "the target has no memory of the global data share";
    let blocks = "`cbsz` must form groups of at most all blocks of the product, and `abid` must name a block of a group";
    let formats = "`cbsz` and `blgp` name formats 0 to 4: no others exist";
    let signs = "the target has no signs for products of doubles: `blgp` must be 0";
    for (targets, words, rule, sentence) in [
        // v_mfma_f32_32x32x2f32 v[0:15], v0, v1, v[0:15] cbsz:1
        (&[Gfx90a, Gfx942, Gfx950][..], "0xd3c40100, 0x04020300", Rule::MatrixBroadcast, blocks),
        // v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3] cbsz:6
        (&[Gfx950], "0xd3ad0600, 0x04021904", Rule::MatrixFormat, formats),
        // v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7] blgp:1
        (&[Gfx90a], "0xd3ee0000, 0x24021508", Rule::MatrixSigns, signs),
        // ds_add_u32 v1, v2 gds, ds_read_b32 v1, v2 gds, ds_read2_b32 v[2:3], v1 gds and ds_append v1 gds
        (&[Gfx90a, Gfx942, Gfx950], "0xd8010000, 0x00000201", Rule::GlobalDataShare, no_gds),
        (&[Gfx90a, Gfx942, Gfx950], "0xd86d0000, 0x01000002", Rule::GlobalDataShare, no_gds),
        (&[Gfx90a, Gfx942, Gfx950], "0xd86f0000, 0x02000001", Rule::GlobalDataShare, no_gds),
        (&[Gfx90a, Gfx942, Gfx950], "0xd97d0000, 0x01000000", Rule::GlobalDataShare, no_gds),
    ] {
        for &target in targets {
            let report = report(target, &format!(".long {words}"));
            assert_eq!(headline(&report), format!("illegal instruction: {sentence}"));
            let Some(Refusal::BrokenRule(broken)) = report.refusal else { panic!("{report}") };
            assert_eq!(broken.rule, rule);
            assert!(!report.is_unsupported(), "{report}");
        }
    }
}

/// The sentence of a rule about operands needs the operand.
#[test]
fn rules_about_operands_name_the_operand() {
    // v_swap_b32 v2, s0
    let report = report(Target::Gfx906, ".long 0x7e04a200");
    let expected = "illegal instruction: `src0`: only vector registers are allowed here";
    assert_eq!(headline(&report), expected);
}

/// A product is legal under VGPR indexing, and no manual says what it does.
#[test]
fn products_under_indexing_are_unsupported() {
    // The instruction turns indices on for no operand.
    let body = "s_set_gpr_idx_on s2, gpr_idx()\n v_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]";
    let report = report(Target::Gfx90a, body);
    assert_eq!(report.fault.cause, FaultCause::Instruction(FaultKind::Unsupported));
    assert_eq!(report.refusal, Some(Refusal::IndexedProduct));
    let headline = headline(&report);
    assert!(headline.contains("(facet matrix_indexing)"), "{headline}");
    assert!(headline.ends_with("turn it off before the product, with `s_set_gpr_idx_off`"), "{headline}");
    // Before the product, the remedy is legal.
    let off = body.replace('\n', "\n s_set_gpr_idx_off\n");
    let (device, module) = Source { body: &off, ..Source::default() }.load(Target::Gfx90a);
    let kernel = module.kernel("kernel").expect("the kernel");
    let out = device.buffer("out", 4096).expect("a buffer");
    Launch::new(&kernel).args([Arg::from(&out)]).run().expect("it runs");
}
