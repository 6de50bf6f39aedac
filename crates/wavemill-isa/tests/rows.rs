//! The row files: errors are rejected with a message that gives location and cause, and no two rows
//! share an encoding.

// The build script's modules are compiled in again; this test uses parts of them.
#![allow(dead_code, unreachable_pub)]

#[path = "../build/cayman.rs"]
mod cayman_table;
#[path = "../build/facets.rs"]
mod facets;
#[path = "../build/forms.rs"]
mod forms;
#[path = "../src/cayman"]
mod cayman {
    pub mod fields;
    pub mod vocabulary;
}
#[path = "../src/gcn"]
mod gcn {
    pub mod encoding;
    pub mod fields;
    pub mod vocabulary;
}
#[path = "../build/table.rs"]
mod table;
#[path = "../src/target/mod.rs"]
mod target;

use table::When;
use wavemill_isa::gcn::{
    Access, Encoding, Facet, FacetKind, Fidelity, FieldId, Flag, Format, Op, Role, Row, decode,
};
use wavemill_isa::{GcnFacts, Target};

/// The messages for a table with these rows.
fn messages(text: &str) -> String {
    let errors = match table::parse("bad.rows", text) {
        Ok(rows) => forms::check(&rows, &forms::forms(&rows)),
        Err(errors) => errors,
    };
    assert!(!errors.is_empty(), "this table must be refused:\n{text}");
    errors.iter().map(|error| format!("{error}\n")).collect()
}

/// A VOP2 table with these rows.
fn vop2(rows: &str) -> String {
    format!("%format vop2\n%fidelity exact\n%columns vdst src0 src1\n%default reads:exec\n{rows}")
}

/// Each table with its messages.
fn listing(tables: &[String]) -> String {
    tables
        .iter()
        .map(|table| format!("{table}\n--> {}\n", messages(table).trim_end().replace('\n', "\n    ")))
        .collect()
}

#[test]
fn good_rows_are_accepted() {
    let text = "%format vop2\n%fidelity exact\n%manual Vega 12.7\n%columns vdst src0 src1\n%default reads:exec\n\
                1 all v_add_f32 f32 f32 f32 fp clamp omod e64 sdwa dpp # a comment\n\
                2@900-908,3@90a+ all v_one@900,v_two@906+ u32 u32 u32 !reads:exec note: an erratum\n";
    let rows = table::parse("good.rows", text).expect("these rows are right");
    assert_eq!(rows.len(), 2);
    assert_eq!(forms::check(&rows, &forms::forms(&rows)), []);
    assert_eq!((rows[1].name(), rows[1].note.as_deref()), ("v_two", Some("an erratum")));
    assert!(rows[1].reads.is_empty() && !rows[0].reads.is_empty());
}

#[test]
fn structural_errors_are_refused() {
    insta::assert_snapshot!(listing(&[
        "1 all v_add_f32 f32 f32 f32".to_owned(),
        "%format vop9".to_owned(),
        "%format vop2\n%format vop1".to_owned(),
        "%colums vdst".to_owned(),
        "%format vop2\n%columns vdst srcO".to_owned(),
        "%format vop2\n%columns vdst vdst".to_owned(),
        vop2("1 all"),
        vop2("1 all v_add_f32 f32 f32"),
    ]));
}

#[test]
fn bad_cells_are_refused() {
    insta::assert_snapshot!(listing(&[
        vop2("x all v_add_f32 f32 f32 f32"),
        vop2("64 all v_add_f32 f32 f32 f32"),
        vop2("1 901 v_add_f32 f32 f32 f32"),
        vop2("1 908-900 v_add_f32 f32 f32 f32"),
        vop2("1 906,906+ v_add_f32 f32 f32 f32"),
        vop2("1@900 906+ v_add_f32 f32 f32 f32"),
        vop2("1@906 906+ v_add_f32 f32 f32 f32"),
        vop2("1 all V_ADD_F32 f32 f32 f32"),
        vop2("1 all v_add_f32 f33 f32 f32"),
        vop2("1 all v_add_f32 f32x1 f32 f32"),
        vop2("1 all v_add_f32 f64x32 f32 f32"),
        vop2("1 all v_add_f32 branchx2 f32 f32"),
    ]));
}

#[test]
fn bad_attributes_are_refused() {
    insta::assert_snapshot!(listing(&[
        vop2("1 all v_add_f32 f32 f32 f32 clmap"),
        vop2("1 all v_add_f32 f32 f32 f32 clamp clamp"),
        vop2("1 906 v_add_f32 f32 f32 f32 clamp@908+"),
        vop2("1 all v_add_f32 f32 f32 f32 !clamp"),
        vop2("1 all v_add_f32 f32 f32 f32 reads:scd"),
        vop2("1 all v_add_f32 f32 f32 f32 mem:fetch.lds"),
        vop2("1 all v_add_f32 f32 f32 f32 mem:load.moon"),
        vop2("1 all v_add_f32 f32 f32 f32 mods:0,3"),
        vop2("1 all v_add_f32 f32 f32 f32 width:3"),
        vop2("1 all v_add_f32 f32 f32 f32 alias:V_ADD"),
    ]));
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    insta::assert_snapshot!(listing(&[
        vop2("1 all v_a f32 f32 f32\n1 906+ v_b f32 f32 f32"),
        vop2("1 all v_a f32 f32 f32\n2 all v_a f32 f32 f32"),
        vop2(
            "1 906 v_a f32 f32 f32\n2 all v_b f32 f32 f32 alias:v_a@908+ alias:v_c\n3 all v_d f32 f32 f32 alias:v_a alias:v_c@906"
        ),
        "%format vop1\n%fidelity exact\n%columns vdst src0 src1\n3 all v_a f32 f32 f32".to_owned(),
        "%format sop1\n%fidelity exact\n%columns sdst src0\n3 all s_a b32x32 b32".to_owned(),
        "%format vop1\n%fidelity exact\n%columns vdst src0\n3 all v_a texel f32".to_owned(),
        vop2("1 all v_a f32 f32 f32 e64\n9,vop3:257@90a+ all v_b f32 f32 f32"),
    ]));
}

/// A matrix table with these rows.
fn mai(rows: &str) -> String {
    format!("%format mai\n%fidelity unsupported\n%columns shape vdst src0 src1 src2\n{rows}")
}

#[test]
fn matrices_whose_shape_is_not_that_of_the_operands_are_refused() {
    let good = "1 908+ v_mfma_a 32x32x4x2 f32x32 f16x4 f16x4 f32x32 fp\n2 942+ v_smfmac_a 32x32x16 +f32x16 f16x4 f16x8 b32 fp sparse";
    let rows = table::parse("good.rows", &mai(good)).expect("these rows are right");
    assert_eq!(forms::check(&rows, &forms::forms(&rows)), []);
    insta::assert_snapshot!(listing(&[
        mai("1 908+ v_mfma_a"),
        mai("1 908+ v_mfma_a 32x32 f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a 32x32x4x1 f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a 32x0x4 f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a - f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a 32x32x4 f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a 32x32x8x2 f32x32 f16x4 f16x4 f32x32 fp"),
        mai("1 908+ v_mfma_a 32x32x4x2 f32x32 f16x4 f16x4 f32x16 fp"),
        mai("1 908+ v_mfma_a 32x32x4x2 f32x32 f16x4 - f32x32 fp"),
        mai("1 942+ v_smfmac_a 32x32x16 +f32x16 f16x8 f16x8 b32 fp sparse"),
        "%format vop2\n%fidelity exact\n%columns shape vdst src0 src1\n1 all v_a 4x4x4 f32 f32 f32"
            .to_owned(),
    ]));
}

#[test]
fn rows_without_a_clear_fidelity_are_refused() {
    let none = |rows: &str| format!("%format vop2\n%columns vdst src0 src1\n{rows}");
    insta::assert_snapshot!(listing(&[
        none("1 all v_a f32 f32 f32"),
        none("1 all v_a f32 f32 f32 exact@900-908"),
        vop2("1 all v_a f32 f32 f32 exact rounded@908+"),
        vop2("1 all v_a f32 f32 f32 modelled"),
        vop2("1 all v_a f32 f32 f32 modelled@900-908 facet:why@900"),
        vop2("1 all v_a f32 f32 f32 modelled:why"),
        vop2("1 906 v_a f32 f32 f32 rounded@908+"),
        "%format vop2\n%fidelity good".to_owned(),
        "%format vop2\n%fidelity modelled".to_owned(),
    ]));
}

/// The facets of the only row of a table, on each target with this name.
fn facets_of(text: &str, targets: &[Target], when: When) -> Vec<Vec<String>> {
    let rows = table::parse("good.rows", text).expect("this table is right");
    let short = |target: &Target| {
        let known = rows[0].targets.iter().find(|known| known.name() == target.name());
        known.expect("a target of the row")
    };
    let names = |target| rows[0].facet_names(short(target), when).into_iter().map(str::to_owned).collect();
    targets.iter().map(names).collect()
}

#[test]
fn facets_hold_on_targets_and_by_rule() {
    let (old, new) = (Target::Gfx906, Target::Gfx950);
    let header = "%format vop2\n%fidelity exact\n%facet fp nan\n%facet half half@900-942\n%facet keeps_half kept\n%facet lds lds\n%facet omod omod\n\
                  %columns vdst src0 src1\n1 all v_a ";
    let facets = |row: &str, when| facets_of(&format!("{header}{row}"), &[old, new], when);
    // A float source and a float result, with the flag.
    assert_eq!(facets("f32 f32 f32 fp", When::Always), [["nan"], ["nan"]]);
    let none: [[&str; 0]; 2] = [[], []];
    for row in
        ["f32 f32 f32", "f32 i32 i32 fp", "i32 f32 f32 fp", "f32 f32 f32 fp !facet:nan", "+f16 u16 u16"]
    {
        assert_eq!(facets(row, When::Always), none, "{row}");
    }
    assert_eq!(facets("u16 u16 u16", When::Always), [vec!["half"], vec![]]);
    assert_eq!(facets("f16 u16 u16 keeps_half@900-942 !facet:half", When::Always), [vec!["kept"], vec![]]);
    assert_eq!(facets("u32 u32 u32 mem:load.global mem:store.lds", When::Always), [["lds"], ["lds"]]);
    assert_eq!(facets("u32 u32 u32 mem:load.flat", When::Always), none);
    assert_eq!(facets("u32 u32 u32 omod", When::Always), none);
    assert_eq!(facets("u32 u32 u32 omod", When::WithModifier), [["omod"], ["omod"]]);
    // The row's own facets come first, and no rule reaches an unsupported target.
    assert_eq!(
        facets("f32 f32 f32 fp facet:a,b@950 facet:c", When::Always),
        [vec!["c", "nan"], vec!["a", "b", "c", "nan"]]
    );
    assert_eq!(facets("f32 f32 f32 fp unsupported@908+", When::Always), [vec!["nan"], vec![]]);
}

#[test]
fn facets_that_say_nothing_are_refused() {
    let header = "%format vop2\n%fidelity exact\n%columns vdst src0 src1\n";
    insta::assert_snapshot!(listing(&[
        vop2("1 all v_a f32 f32 f32 facet:a facet:a"),
        vop2("1 all v_a f32 f32 f32 facet:a,b@906+ facet:b@950"),
        vop2("1 906 v_a f32 f32 f32 facet:a@950"),
        vop2("1 all v_a f32 f32 f32 !facet:a"),
        format!("{header}%facet fp nan\n1 all v_a i32 f32 f32 fp !facet:nan"),
        format!("{header}%facet fp nan\n1 all v_a f32 f32 f32 fp facet:nan"),
        format!("{header}%facet all nan"),
        format!("{header}%facet fp"),
        format!("{header}%facet fp nan half"),
        format!("{header}%facet fp nan@901"),
    ]));
}

#[test]
fn facets_and_rows_belong_together() {
    let row = "1 all v_a f32 f32 f32 modelled@906+ facet:why@906+ unsupported@900";
    let rows = table::parse("good.rows", &vop2(row)).expect("this row is right");
    let errors = |text: &str| match facets::parse("some.reasons", text) {
        Ok(facets) => facets::check("some.reasons", &facets, &rows),
        Err(errors) => errors,
    };
    assert_eq!(errors("# a comment\n\nwhy: value: it wraps; settled by: a test"), []);
    let listing: String = [
        "",
        "why: value: it wraps; settled by: a test\nwhat: nan: unused; settled by: nothing",
        "why: value: a; settled by: b\nwhy: nan: a; settled by: b",
        "Why: value: a; settled by: b",
        "why because",
        "why: because; settled by: b",
        "why: cause: a; settled by: b",
        "why: value: it wraps",
        "why: value: it wraps; settled by: ",
        "why: value: ; settled by: a test",
    ]
    .into_iter()
    .map(|text| {
        let found = errors(text).iter().map(|error| format!("    {error}\n")).collect::<String>();
        assert!(!found.is_empty(), "these facets must be refused:\n{text}");
        format!("{text}\n-->\n{found}")
    })
    .collect();
    insta::assert_snapshot!(listing);

    // An unsupported row has no exceptions to a meaning that it does not have.
    let row = "1 all v_a f32 f32 f32 facet:why unsupported@900";
    let rows = table::parse("good.rows", &vop2(row)).expect("this row is right");
    let facets = facets::parse("some.reasons", "why: value: a; settled by: b").expect("this line is right");
    let errors: Vec<String> =
        facets::check("some.reasons", &facets, &rows).iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        ["good.rows:5: expected no facet on targets where the row is unsupported, found `why`"]
    );
}

/// The names of facets.
fn names(facets: &[&'static Facet]) -> Vec<&'static str> {
    facets.iter().map(|facet| facet.name).collect()
}

#[test]
fn levels_and_facets_differ_by_target_and_modifier() {
    let row = |name| Op::from_name(name).expect("a mnemonic").row();
    let max = row("s_max_i32");
    assert_eq!((max.fidelity(Target::Gfx906), max.facets(Target::Gfx906)), (Fidelity::Exact, &[][..]));
    assert_eq!(max.fidelity(Target::Gfx942), Fidelity::Exact);
    let [scc] = max.facets(Target::Gfx942) else { panic!("one facet") };
    assert_eq!((scc.name, scc.kind), ("scc_of_max", FacetKind::Scc));
    assert!(scc.open.starts_with("SCC is 1") && !scc.settled_by.is_empty());
    assert_eq!(row("v_sqrt_f32").fidelity(Target::Gfx90a), Fidelity::Rounded);
    assert_eq!(row("s_getreg_b32").fidelity(Target::Gfx90a), Fidelity::Modelled);
    // The target has no such instruction.
    assert_eq!(row("v_fmac_f64").fidelity(Target::Gfx906), Fidelity::Unsupported);
    assert_eq!(row("v_fmac_f64").facets(Target::Gfx906), [] as [&Facet; 0]);

    // v_add_f32_e64 v0, v0, v0, without and with mul:2. The CDNA4 manual fixes what the latter does.
    for (target, omod, facets) in [
        (Target::Gfx906, 0, &["nan_choice", "exceptions"][..]),
        (Target::Gfx906, 1, &["nan_choice", "exceptions", "output_modifier"]),
        (Target::Gfx950, 1, &["nan_choice", "exceptions"]),
    ] {
        let form = row("v_add_f32").form(target, Encoding::Vop3a).expect("the 64-bit form");
        let word = form.value | 0x100 << 32 | 0x100 << 41 | omod << 59;
        let inst = decode(target, &word.to_le_bytes()).expect("an instruction");
        assert_eq!(
            (inst.fidelity(), &names(&inst.facets().collect::<Vec<_>>())[..]),
            (Fidelity::Exact, facets)
        );
    }
}

/// Facets that concern some instances of their rows only.
#[test]
fn instances_have_the_facets_that_concern_them() {
    use Target::{Gfx90a, Gfx906, Gfx942};
    let of = |target, words: [u32; 2]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        decode(target, &bytes).expect("an instruction")
    };
    for (facet, target, without, with) in [
        // v_lshl_add_u64 v[0:1], v[2:3], 4 and 5, v[4:5]
        ("wide_shift", Gfx942, [0xd208_0000, 0x0411_0902], [0xd208_0000, 0x0411_0b02]),
        // ... and by a register
        ("wide_shift", Gfx942, [0xd208_0000, 0x0411_0102], [0xd208_0000, 0x0412_0102]),
        // v_alignbyte_b32 v0, v0, v0, 3 and 4
        ("align_byte", Gfx942, [0xd1cf_0000, 0x020e_0100], [0xd1cf_0000, 0x0212_0100]),
        // s_store_dword s0, s[2:3], 0x10 and s7
        ("scalar_offset", Gfx906, [0xc042_0001, 0x10], [0xc040_0001, 7]),
        // ... m0 and s7
        ("scalar_offset", Gfx906, [0xc040_0001, 0x7c], [0xc040_0001, 7]),
        // s_buffer_load_dword s0, s[4:7], 0x10 and -0x10
        ("scalar_immediate", Gfx906, [0xc022_0002, 0x10], [0xc022_0002, 0x1f_fff0]),
        // v_fma_mix_f32 v0, v0, v0, v0 and v0, v0, 1.0, v0
        ("mix_constants", Gfx906, [0xd3a0_0000, 0x0402_0100], [0xd3a0_0000, 0x0401_e500]),
        // v_pk_fma_f32 v[0:1], v[0:1], v[0:1], v[0:1] and 1.0
        ("packed_constants", Gfx90a, [0xd3b0_4000, 0x1c02_0100], [0xd3b0_4000, 0x1bca_0100]),
        // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2) and hwreg(HW_REG_MODE, 12, 7)
        ("trap_entry", Gfx906, [0xba00_0901, 3], [0xba00_3301, 3]),
        ("trap_causes", Gfx906, [0xba00_0901, 3], [0xba00_3301, 3]),
        // s_getreg_b32 s0, hwreg(HW_REG_MODE), hwreg(HW_REG_TRAPSTS) and hwreg(HW_REG_HW_ID)
        ("trap_causes", Gfx906, [0xb880_f801, 0], [0xb880_f803, 0]),
        ("hwregs", Gfx906, [0xb880_f801, 0], [0xb880_f804, 0]),
        // s_sethalt 0 and 1
        ("halt", Gfx906, [0xbf8d_0000, 0], [0xbf8d_0001, 0]),
        // s_sendmsg sendmsg(MSG_INTERRUPT) and sendmsg(MSG_GET_DOORBELL)
        ("doorbell", Gfx906, [0xbf90_0001, 0], [0xbf90_000a, 0]),
    ] {
        let has = |words| names(&of(target, words).facets().collect::<Vec<_>>()).contains(&facet);
        assert!(!has(without), "{facet} of {without:x?}");
        assert!(has(with), "{facet} of {with:x?}");
    }
    // Nothing is open about the rounding and denormal fields of MODE.
    assert_eq!(of(Gfx906, [0xba00_0901, 3]).fidelity(), Fidelity::Exact);
    assert_eq!(of(Gfx906, [0xba00_3301, 3]).fidelity(), Fidelity::Modelled);
}

/// Questions that the manuals leave open, and that no public measurement on GFX9 answers.
#[test]
fn open_questions_are_facets() {
    use Target::{Gfx90a, Gfx906, Gfx942, Gfx950};
    for (name, target, wanted) in [
        ("v_mul_f32", Gfx906, FacetKind::Nan),
        ("v_pk_fma_f32", Gfx90a, FacetKind::Nan),
        ("v_cvt_f32_f64", Gfx906, FacetKind::RoundField),
        ("v_cvt_pk_f16_f32", Gfx950, FacetKind::RoundField),
        ("v_fma_mix_f32", Gfx906, FacetKind::DenormField),
        ("v_fma_mixlo_f16", Gfx942, FacetKind::RoundField),
        ("v_dot2_f32_f16", Gfx950, FacetKind::Order),
        ("v_add_f16", Gfx906, FacetKind::UpperHalf),
        ("ds_min_f32", Gfx942, FacetKind::DenormField),
        ("ds_read_b32", Gfx906, FacetKind::Range),
        ("global_atomic_add_f32", Gfx942, FacetKind::DenormField),
        ("v_minimum3_f32", Gfx950, FacetKind::Nan),
        ("s_max_u32", Gfx90a, FacetKind::Scc),
        ("buffer_load_dword", Gfx906, FacetKind::Range),
        ("v_permlane16_swap_b32", Gfx950, FacetKind::Exec),
        ("s_memtime", Gfx906, FacetKind::Time),
        ("exp", Gfx906, FacetKind::Environment),
    ] {
        let row = Op::from_name(name).expect("a mnemonic").row();
        let kinds: Vec<FacetKind> = row.facets(target).iter().map(|facet| facet.kind).collect();
        assert!(kinds.contains(&wanted), "{name} on {target}: {kinds:?}");
    }
    // These results are no NaN, or the manual says which; only their exceptions are open.
    for name in ["v_cmp_lt_f32", "v_cvt_i32_f32", "v_cvt_f32_i32", "v_min_f32"] {
        let facets = Op::from_name(name).expect("a mnemonic").row().facets(Gfx906);
        assert_eq!(facets.iter().map(|facet| facet.name).collect::<Vec<_>>(), ["exceptions"], "{name}");
    }
    for name in ["v_add_u32", "v_mov_b32"] {
        let facets = Op::from_name(name).expect("a mnemonic").row().facets(Gfx906);
        assert_eq!(facets, [] as [&Facet; 0], "{name}");
    }
}

/// A result of 16 bits leaves half of a VGPR open. A row has a facet on it unless a manual or AMD's
/// pseudocode of the target specifies that half. Rows whose OP_SEL selects the half read the other.
#[test]
fn results_of_half_a_register_specify_the_other_half() {
    use Target::{Gfx900, Gfx906, Gfx950};
    let is_specified = |name: &str, target| match name {
        // Vega ISA 12.12.
        "v_mad_f16" | "v_mad_u16" | "v_mad_i16" | "v_fma_f16" | "v_div_fixup_f16" | "v_interp_p2_f16"
        | "v_mad_legacy_f16" | "v_mad_legacy_u16" | "v_mad_legacy_i16" => true,
        // Vega ISA 12.8.
        "v_sat_pk_u8_i16" => [Gfx900, Gfx906].contains(&target),
        // AMD's pseudocode of gfx950.
        "v_mac_f16" | "v_madmk_f16" | "v_madak_f16" | "v_fma_legacy_f16" | "v_div_fixup_legacy_f16" => {
            target == Gfx950
        }
        _ => false,
    };
    let mut facets = 0;
    for row in Op::ALL.iter().map(|op| op.row()) {
        let Some(result) = row.operand(Role::Vdst) else { continue };
        if result.ty.bits() != 16 || ![Format::Vop1, Format::Vop2, Format::Vop3].contains(&row.format) {
            continue;
        }
        for target in row.targets.iter() {
            let name = row.name();
            let is_open = row.facets(target).iter().any(|facet| facet.kind == FacetKind::UpperHalf);
            assert_eq!(is_open, !is_specified(name, target), "{name} on {target}");
            facets += u32::from(is_open);
            if row.has(Flag::Opsel, target) || row.has(Flag::DstHalf, target) {
                assert_eq!(result.access, Access::ReadWrite, "{name} on {target}");
            }
        }
    }
    assert!(facets > 200, "{facets} rows and targets");
}

/// Where a facet depends on a fact about the target, both say the same.
#[test]
fn facets_follow_the_facts_of_their_targets() {
    type Fact = fn(&GcnFacts) -> bool;
    let table: [(&str, Fact); 2] =
        [("gds_range", |facts| facts.gds), ("memory_add_flush", |facts| !facts.atomic_f32_keeps_denormals)];
    for (name, holds) in table {
        let has = |row: &Row, target| names(row.facets_with_modifier(target)).contains(&name);
        let rows = Op::ALL.iter().map(|op| op.row());
        let rows: Vec<&Row> = rows.filter(|row| row.targets.iter().any(|target| has(row, target))).collect();
        assert!(!rows.is_empty(), "{name}");
        for row in rows {
            for target in row.targets.iter() {
                assert_eq!(has(row, target), holds(target.facts()), "{name} of {} on {target}", row.name());
            }
        }
    }
}

#[test]
fn every_modelled_row_has_a_facet() {
    let mut modelled = 0;
    for row in Op::ALL.iter().map(|op| op.row()) {
        for target in row.targets.iter() {
            let facets = row.facets(target);
            assert!(
                facets.iter().all(|facet| row.facets_with_modifier(target).contains(facet)),
                "{}",
                row.name()
            );
            if row.fidelity(target) == Fidelity::Modelled {
                modelled += 1;
                assert!(!facets.is_empty(), "{} on {target}", row.name());
            }
        }
    }
    assert!(modelled > 100, "{modelled} rows");
}

#[test]
fn no_two_rows_share_an_encoding() {
    for target in Target::GCN {
        let mut taken = std::collections::HashMap::new();
        for &op in Op::ALL {
            for form in op.row().forms().iter().filter(|form| form.targets.contains(target)) {
                // Opcode and constant bits: the decoder's key.
                let key = (form.encoding.fields().as_ptr(), form.code, form.value & 0xFC00_C1FF);
                if let Some(other) = taken.insert(key, op) {
                    panic!("{target}: {op} and {other} share {form:?}");
                }
            }
        }
        assert!(taken.len() > 1400, "{target} has only {} forms", taken.len());
    }
}

#[test]
fn every_form_is_found_by_its_own_bits() {
    for &op in Op::ALL {
        for form in op.row().forms() {
            for target in form.targets.iter() {
                let mut word = form.value;
                // Some sources must be vector registers; every 9-bit source may be one.
                for field in form.encoding.fields().iter().filter(|field| field.width == 9) {
                    if field.mask() & form.fixed == 0 && field.id != FieldId::DppCtrl {
                        word |= 256 << field.lo;
                    }
                }
                // The only lane permutation of 64-bit operands is the row broadcast.
                if let Some(field) = form.encoding.field(target, FieldId::DppCtrl)
                    && target.has_unified_vgprs()
                {
                    word |= 0x150 << field.lo;
                }
                let bytes = word.to_le_bytes();
                let inst = wavemill_isa::gcn::decode(target, &bytes)
                    .unwrap_or_else(|error| panic!("{target} {op} {:?}: {error}", form.encoding));
                assert_eq!((inst.op(), inst.encoding()), (op, form.encoding), "{target}");
            }
        }
    }
}

#[test]
fn numbers_of_instructions_are_the_manuals() {
    // Vega: 1,185 rows in all (Vega ISA 13); CDNA3: chapter 13 of its manual.
    let mut table = String::new();
    for &format in Format::ALL {
        let of_format = |target| {
            Op::ALL.iter().filter(|op| op.row().format == format && op.row().targets.contains(target)).count()
        };
        let counts: Vec<usize> = Target::GCN.into_iter().map(of_format).collect();
        table += &format!("{:12} {counts:?}\n", format.name());
    }
    insta::assert_snapshot!(table);
}

/// The messages for a table of Cayman.
fn cayman_messages(text: &str) -> String {
    let errors = match cayman_table::parse("bad.rows", text) {
        Ok(rows) => cayman_table::check(&rows),
        Err(errors) => errors,
    };
    errors.iter().map(|error| format!("{error}\n")).collect()
}

#[test]
fn errors_in_rows_of_cayman_are_refused() {
    let op2 = "%format op2\n%manual HD 6900 ISA 8.2\n%fidelity exact\n%columns src0 src1 src2 dst\n";
    assert_eq!(
        cayman_messages(&format!("{op2}0 ADD f32 f32 - f32 # a comment\n52 ADD_INT i32 i32 - i32\n")),
        ""
    );
    for (rows, message) in [
        (
            "0 ADD f32 f32 - f32\n0 SUB f32 f32 - f32",
            "6: expected a unique opcode, found the opcode of `ADD`",
        ),
        ("0 ADD f32 f32 - f32\n1 ADD f32 f32 - f32", "6: expected a unique name, found the name of `ADD`"),
        ("2048 ADD f32 f32 - f32", "5: expected an opcode below 2048 in op2, found 2048"),
        ("0:1 ADD f32 f32 - f32", "5: expected an opcode of one part in op2, found `0:1`"),
        ("0 add f32 f32 - f32", "5: expected a mnemonic, found `add`"),
        (
            "0 ADD f32 f65 - f32",
            "5: expected a type, found `f65` (known: f32, i32, u32, b32, f64, f16, i24, u24, u8x4)",
        ),
        ("0 ADD f32 f32", "5: expected the type in column `src2`, found the end of the line"),
        ("0 ADD f32 f32 - f32 modelled", "5: expected `facet:NAME` on the modelled row, found none"),
        (
            "0 ADD f32 f32 - f32 modelled:why",
            "5: expected alias:, facet:, slots:, chain:, addr:, stages:, flags:, exact, rounded, modelled or unsupported, found `modelled:why`",
        ),
        ("0 ADD f32 f32 - f32 facet:a facet:a", "5: expected each facet once, found `a` twice"),
        ("0 ADD f32 f32 - f32 exact exact", "5: expected one fidelity, found `exact` in addition to another"),
        (
            "0 ADD - - - - slots:q",
            "5: expected slots, found `q` (known: any, x, w, xyz, x_or_y, pair, xy, zw, three, all)",
        ),
        ("0 ADD - - - - slots:x slots:x", "5: expected `slots:` once, found it twice"),
        ("0 ADD - - - - chain:next", "5: expected slots: whose chain exists, found `any`"),
        ("0 ADD - - - - flags:kill,kill", "5: expected a flag once, found `kill` twice"),
        ("0 ADD - - - - stages:cs", "5: expected a stage, found `cs` (known: ps, vs, gs, hs)"),
        (
            "0 ADD - - - - addr:alu",
            "5: expected addr: in rows of formats with an address only, found it in op2",
        ),
    ] {
        assert_eq!(cayman_messages(&format!("{op2}{rows}\n")), format!("bad.rows:{message}\n"));
    }
    for (row, message) in [
        ("1 TEX slots:x", "expected slots: or chain: in rows of ALU slots only, found it in cf"),
        (
            "%columns src0\n1 TEX b32",
            "expected types of sources in rows of ALU slots and of the global data share only, found some",
        ),
    ] {
        let text = format!("%format cf\n%manual HD 6900 ISA 8.1\n%fidelity exact\n{row}\n");
        let line = text.lines().count();
        assert_eq!(cayman_messages(&text), format!("bad.rows:{line}: {message}\n"));
    }
    let without = "%format cf\n%manual HD 6900 ISA 8.1\n1 TEX\n";
    let message = "bad.rows:3: expected a fidelity of the row, or `%fidelity LEVEL` before it, found none\n";
    assert_eq!(cayman_messages(without), message);
}
