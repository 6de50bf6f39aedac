//! Explanations: full texts for one case of each kind, and properties that hold for every form on
//! every target.

use std::collections::BTreeSet;

use crate::support::{example, text};
use wavemill_asm::gcn::explain::{
    Explanation, FieldKind, InstructionFacts, MatrixReport, Mnemonic, SameBytes, explain, mnemonics,
};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, FieldId, Form, Inst, Modifiers, Op, decode};
use wavemill_oracle::SplitMix64;

/// An instruction of each kind: name of the snapshot, target, words.
const CASES: [(&str, Target, &[u32]); 24] = [
    ("sop2_literal", Target::Gfx906, &[0x8000_ff01, 0x1234_5678]),
    ("sopp_waitcnt", Target::Gfx906, &[0xbf8c_0170]),
    ("sopp_branch", Target::Gfx906, &[0xbf85_0004]),
    ("sopk_literal", Target::Gfx906, &[0xba00_3801, 0x0000_00f0]),
    ("smem_load", Target::Gfx90a, &[0xc00a_0100, 0x0000_0010]),
    ("vop1", Target::Gfx906, &[0x7e02_0302]),
    ("vop2_sdwa", Target::Gfx906, &[0x0202_06f9, 0x1605_3102]),
    ("vop1_dpp", Target::Gfx90a, &[0x7e02_02fa, 0xf309_0102]),
    ("vop2_literal", Target::Gfx906, &[0x3000_0501, 0x4049_0fdb]),
    ("vop3", Target::Gfx942, &[0xd1cb_8100, 0x2809_e501]),
    ("vop3_compare", Target::Gfx906, &[0xd061_0004, 0x0001_e900]),
    ("vop3_bitop3", Target::Gfx950, &[0xd234_0400, 0xe40e_0501]),
    ("vop3p", Target::Gfx942, &[0xd3b0_4800, 0x5c1a_0902]),
    ("ds_atomic", Target::Gfx90a, &[0xd840_0010, 0x0000_0201]),
    ("ds_two_offsets", Target::Gfx906, &[0xd8ee_0201, 0x0000_0004]),
    ("mubuf", Target::Gfx90a, &[0xe050_7004, 0x0801_0002]),
    ("mubuf_lds", Target::Gfx906, &[0xe051_1000, 0x8001_0001]),
    ("mtbuf", Target::Gfx906, &[0xeba0_a000, 0x8001_0002]),
    ("global_atomic", Target::Gfx942, &[0xdd35_9ff0, 0x0004_0201]),
    ("mimg", Target::Gfx906, &[0xf080_1f00, 0x0082_0004]),
    ("vintrp", Target::Gfx906, &[0xd400_0d01]),
    ("exp", Target::Gfx906, &[0xc400_180f, 0x0302_0100]),
    ("mai", Target::Gfx908, &[0xd3c2_0a00, 0x6402_0300]),
    ("mai_scaled", Target::Gfx950, &[0xd3ac_0800, 0x1002_2b14, 0xd3ad_0800, 0x8442_1904]),
];

/// Decodes words.
fn inst(target: Target, words: &[u32]) -> Inst {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    decode(target, &bytes).unwrap_or_else(|error| panic!("{words:x?} on {target}: {error}"))
}

/// Every form of every row, with each target that has it.
fn all_forms() -> impl Iterator<Item = (&'static Form, Target)> {
    let forms = Op::ALL.iter().flat_map(|op| op.row().forms());
    forms.flat_map(|form| form.targets.iter().map(move |target| (form, target)))
}

#[test]
fn explanations_are_pinned() {
    for (name, target, words) in CASES {
        insta::assert_snapshot!(name, explain(&inst(target, words)).to_string());
    }
}

#[test]
fn facts_are_pinned() {
    for name in ["v_add_f32", "v_cndmask_b32_e64", "s_barrier", "v_mul_legacy_f32", "buffer_atomic_add_f64"] {
        let mnemonic = Mnemonic::parse(name).unwrap_or_else(|| panic!("no {name}"));
        insta::assert_snapshot!(
            format!("facts_{name}"),
            InstructionFacts::of_mnemonic(mnemonic, None).to_string()
        );
    }
    let only = InstructionFacts::of(Op::from_name("global_load_dword").unwrap(), Some(Target::Gfx942));
    insta::assert_snapshot!("facts_of_one_target", only.to_string());
}

#[test]
fn layouts_are_pinned() {
    let plain = |name| MatrixReport::with(Op::from_name(name).unwrap(), &Modifiers::default()).unwrap();
    for name in [
        "v_mfma_f32_32x32x8_f16",
        "v_mfma_f32_4x4x4_16b_f16",
        "v_mfma_f64_16x16x4_f64",
        "v_smfmac_f32_16x16x64_bf16",
        "v_mfma_f32_32x32x1_2b_f32",
    ] {
        insta::assert_snapshot!(format!("lanes_{name}"), plain(name).by_lanes().to_string());
    }
    insta::assert_snapshot!("elements", plain("v_mfma_f32_4x4x4_16b_f16").by_elements().to_string());
    // With registers, a broadcast of block 1 of every four, and lanes of B rotated by 16.
    let broadcast = MatrixReport::of(&inst(Target::Gfx908, &[0xd3c2_0a00, 0x6402_0300])).unwrap();
    insta::assert_snapshot!("lanes_broadcast", broadcast.by_lanes().to_string());
    // 8 bits and 4 bits, a scale in byte 1 and one in byte 2.
    let scaled = inst(Target::Gfx950, &[0xd3ac_0800, 0x1002_2b14, 0xd3ad_0800, 0x8442_1904]);
    insta::assert_snapshot!("lanes_scaled", MatrixReport::of(&scaled).unwrap().by_lanes().to_string());
    // 6 bits across registers.
    let narrow = Modifiers { cbsz: 2, blgp: 3, ..Modifiers::default() };
    let narrow = MatrixReport::with(Op::from_name("v_mfma_f32_32x32x64_f8f6f4").unwrap(), &narrow).unwrap();
    insta::assert_snapshot!("lanes_of_six_bits", narrow.by_lanes().to_string());
    assert!(narrow.by_elements().to_string().contains("v0.[31:30]+v1.[3:0]{0}"));
    // C is a constant.
    let constant = MatrixReport::of(&inst(Target::Gfx942, &[0xd3ef_0000, 0x23ca_0902])).unwrap();
    let c = constant.matrices.iter().find(|matrix| matrix.name == "C").unwrap();
    assert!(c.constant && c.elements.is_empty() && c.operand.as_deref() == Some("1.0"), "{c:?}");
}

/// The bits of an instance, put together from its fields.
fn bits_of(explanation: &Explanation) -> u128 {
    explanation.fields.iter().fold(0, |all, field| all | u128::from(field.value) << field.low)
}

#[test]
fn every_form_is_explained_whole() {
    let mut seen = 0;
    for (form, target) in all_forms() {
        let inst = example(form, target);
        let explanation = explain(&inst);
        let words = inst.words().iter().rev().fold(0u128, |all, &word| all << 32 | u128::from(word));
        let name = &explanation.text;
        assert_eq!(bits_of(&explanation), words, "{name}");
        let widths: u32 = explanation.fields.iter().map(|field| u32::from(field.high - field.low) + 1).sum();
        assert_eq!(widths as usize, 8 * inst.size(), "{name}");
        assert_eq!(explanation.text, text(&inst).trim_end());
        assert_eq!(explanation.operands.len(), inst.operands().count(), "{name}");
        for operand in &explanation.operands {
            // Exports write `off` for disabled values.
            let shown = explanation.text.contains(&operand.text) || explanation.mnemonic == "exp";
            let implied = operand.text == "0" && explanation.mnemonic == "s_endpgm";
            assert!(shown || implied, "{name}: {operand:?}");
            assert!(operand.read || operand.written || operand.kind == "none", "{name}: {operand:?}");
        }
        for field in &explanation.fields {
            assert!(!field.meaning.is_empty(), "{name}: {field:?}");
        }
        // Bits that the fields call free belong to an operand, a modifier or a selector, and vice
        // versa.
        for field in &explanation.fields {
            let mask = ((1u128 << (field.high - field.low + 1)) - 1) << field.low;
            let free = form.used & !form.fixed & mask != 0;
            let says = matches!(field.kind, FieldKind::Operand | FieldKind::Modifier | FieldKind::Selector);
            let literal = field.name == FieldId::Literal.name();
            assert!(free == says || literal, "{name}: {field:?} {free}");
        }
        let own = explanation.targets.iter().find(|on| on.target == target.name()).unwrap();
        assert_eq!(own.same_bytes, SameBytes::Same, "{name}");
        assert_eq!(own.opcode, Some(form.code), "{name}");
        seen += 1;
    }
    assert!(seen > 8000, "only {seen} forms");
}

/// The words that show a modifier in the text.
fn keywords(syntax: &str) -> Vec<&str> {
    match syntax {
        "|src|" => vec!["|", "abs("],
        "-src" => vec!["-", "neg("],
        "sext(src)" => vec!["sext("],
        "mul:2, mul:4, div:2" => vec!["mul:2", "mul:4", "div:2"],
        "fi:1, bound_ctrl:1" => vec!["fi:1", "bound_ctrl:1"],
        "quad_perm:[n,n,n,n], row_shl:n and others" => vec!["quad_perm:", "row_", "wave_"],
        // Not every pattern has a name.
        "offset:swizzle(...)" => vec!["offset:"],
        other => vec![other.split(['n', 'N']).next().unwrap_or(other).split(':').next().unwrap_or(other)],
    }
}

#[test]
fn modifiers_in_use_are_in_the_text() {
    let mut seen = BTreeSet::new();
    let mut missing = Vec::new();
    for (form, target) in all_forms() {
        let explanation = explain(&example(form, target));
        for modifier in explanation.modifiers.iter().filter(|modifier| modifier.in_use) {
            let Some(syntax) = modifier.facts.syntax else { continue };
            let silent = form.op.row().format.name() == "mubuf" && form.op.row().memory.is_empty();
            // Signs of integers and of small floats have no meaning and are not written.
            let sign = matches!(syntax, "|src|" | "-src") || modifier.facts.field.starts_with("neg");
            let sdwa = form.encoding.name().ends_with("sdwa");
            let signless = |role: &str| {
                let spec = form.op.row().operands.iter().find(|spec| spec.role.name() == role);
                let signed = |elem: Elem| {
                    elem.is_float() && elem.bits() >= 16 || matches!(elem, Elem::B16 | Elem::B32 | Elem::B64)
                };
                spec.is_some_and(|spec| !signed(spec.ty.elem) || spec.ty.count > 1 && sdwa)
            };
            if sign && ["src0", "src1", "src2"].into_iter().any(signless) {
                continue;
            }
            let shown = keywords(syntax).iter().any(|word| explanation.text.contains(word));
            if !shown && !silent {
                missing.push(format!("{} on {target}: {modifier:?}", explanation.text));
            }
            seen.insert(modifier.facts.field);
        }
    }
    assert!(
        missing.is_empty(),
        "{} missing, such as\n{}",
        missing.len(),
        missing[..missing.len().min(60)].join("\n")
    );
    assert!(seen.len() > 40, "only {seen:?}");
}

/// Everything that decodes can be explained and laid out: reserved values, invalid broadcasts,
/// registers beyond the file.
#[test]
fn any_instruction_is_explained() {
    let mut random = SplitMix64::new(11);
    let (mut explained, mut laid_out) = (0, 0);
    for round in 0..8_000u32 {
        let mut bytes = [0u8; 16];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        // Matrix words would be too rare otherwise.
        if round % 4 == 0 {
            bytes[3] = 0xd3;
            bytes[2] |= 0x80;
        }
        for target in Target::GCN {
            let Ok(inst) = decode(target, &bytes) else { continue };
            let explanation = explain(&inst);
            assert!(explanation.to_string().starts_with(&explanation.text));
            explained += 1;
            if let Ok(report) = MatrixReport::of(&inst) {
                assert!(report.by_lanes().to_string().starts_with(&explanation.text));
                assert!(!report.by_elements().to_string().is_empty());
                laid_out += 1;
            }
        }
    }
    assert!(explained > 10_000 && laid_out > 20, "{explained} {laid_out}");
}

#[test]
fn other_meanings_of_bytes_are_reported() {
    // Opcode 84 of VOP3P is an integer product on CDNA 1 and 2, invalid on CDNA 3, and an f16
    // product on CDNA 4.
    let explanation = explain(&inst(Target::Gfx950, &[0xd3d4_0000, 0x0402_0902]));
    let on = |name| explanation.targets.iter().find(|on| on.target == name).unwrap();
    assert!(matches!(on("gfx906").same_bytes, SameBytes::NoInstruction { .. }));
    let there = &on("gfx90a").same_bytes;
    assert!(
        matches!(there, SameBytes::AnotherInstruction { text, size: 8 } if text.starts_with("v_mfma_i32_32x32x8i8 ")),
        "{there:?}"
    );
    assert_eq!(on("gfx942").mnemonic, None);
    // One bit, two names.
    let atomic = explain(&inst(Target::Gfx942, &[0xdd35_9ff0, 0x0004_0201]));
    let old = atomic.targets.iter().find(|on| on.target == "gfx90a").unwrap();
    assert!(
        matches!(&old.same_bytes, SameBytes::SameInstruction { text } if text.ends_with("glc")),
        "{old:?}"
    );
}

#[test]
fn mnemonics_are_read_with_and_without_suffix() {
    let parsed = |text| Mnemonic::parse(text).map(|mnemonic| (mnemonic.op.row().name(), mnemonic.suffix));
    assert_eq!(parsed("v_add_f32"), Some(("v_add_f32", "")));
    assert_eq!(parsed("V_ADD_F32_e64"), Some(("v_add_f32", "_e64")));
    assert_eq!(parsed("v_add_f32_dpp"), Some(("v_add_f32", "_dpp")));
    // An old name of CDNA 1.
    assert_eq!(parsed("v_mfma_f32_32x32x8f16"), Some(("v_mfma_f32_32x32x8_f16", "")));
    for none in ["", "v_add_f33", "s_add_u32_e64", "v_add_f32_e128", "_e64", "s_mov_b32_sdwa"] {
        assert_eq!(parsed(none), None, "{none}");
    }
    for name in mnemonics(None) {
        let mnemonic = Mnemonic::parse(name).unwrap_or_else(|| panic!("{name}"));
        assert!(mnemonic.op.row().mnemonics().iter().any(|&(_, known)| known == name));
    }
    assert!(mnemonics(Some(Target::Gfx906)).all(|name| !name.starts_with("v_mfma")));
    // Each suffix selects exactly the forms that it names.
    for suffix in ["_e32", "_e64", "_sdwa", "_dpp"] {
        let mnemonic = Mnemonic::parse(&format!("v_add_f32{suffix}")).unwrap();
        let facts = InstructionFacts::of_mnemonic(mnemonic, None);
        assert!(!facts.forms.is_empty());
        assert!(facts.forms.iter().all(|form| form.mnemonic == format!("v_add_f32{suffix}")));
    }
}

#[test]
fn facts_hold_for_every_row() {
    for &op in Op::ALL {
        let all = InstructionFacts::of(op, None);
        for target in op.row().targets.iter() {
            let forms = all.forms.iter().filter(|form| form.targets.contains(&target.name())).count();
            assert_eq!(forms, op.row().encodings(target).count(), "{op} on {target}");
            let one = InstructionFacts::of(op, Some(target));
            assert_eq!(one.targets, [target.name()]);
            assert_eq!(one.forms.len(), forms, "{op} on {target}");
            assert!(one.fidelity.len() == 1 && one.mnemonics.len() == 1);
        }
        for form in &all.forms {
            let widths: u32 = form.fields.iter().map(|field| u32::from(field.width())).sum();
            assert_eq!(widths, 8 * u32::from(form.bytes), "{op} {}", form.encoding);
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn explanations_are_data_too() {
    let value = serde_json::to_value(explain(&inst(Target::Gfx942, &[0xd1cb_8100, 0x2809_e501]))).unwrap();
    assert_eq!(value["text"], "v_fma_f32 v0, -|v1|, 1.0, s2 clamp mul:2");
    assert_eq!(value["operands"][2]["value"], "0x3f800000 = 1.0");
    assert_eq!(
        value["operands"][3]["registers"],
        serde_json::json!({ "file": "sgpr", "first": 2, "count": 1 })
    );
    assert_eq!(value["targets"][0]["bytes_are"], "same");
    let layout =
        MatrixReport::with(Op::from_name("v_mfma_f32_4x4x1_16b_f32").unwrap(), &Modifiers::default());
    let layout = serde_json::to_value(layout.unwrap()).unwrap();
    assert_eq!(layout["matrices"][3]["elements"][5]["lane"], 1);
}
