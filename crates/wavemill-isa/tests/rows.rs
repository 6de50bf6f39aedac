//! The row files: mistakes are refused with a message that says where and what, and no two rows share an encoding.

// The build script's modules are compiled in again; this test uses parts of them.
#![allow(dead_code, unreachable_pub)]

#[path = "../build/forms.rs"]
mod forms;
#[path = "../src/gcn"]
mod gcn {
    pub mod encoding;
    pub mod fields;
    pub mod vocabulary;
}
#[path = "../build/table.rs"]
mod table;
#[path = "../src/target.rs"]
mod target;

use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId, Format, Op};

/// The messages that a table with these rows gets.
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
    format!("%format vop2\n%columns vdst src0 src1\n%default reads:exec\n{rows}")
}

/// Each table with the messages that it gets.
fn listing(tables: &[String]) -> String {
    tables
        .iter()
        .map(|table| format!("{table}\n--> {}\n", messages(table).trim_end().replace('\n', "\n    ")))
        .collect()
}

#[test]
fn good_rows_are_accepted() {
    let text = "%format vop2\n%manual Vega 12.7\n%columns vdst src0 src1\n%default reads:exec\n\
                1 all v_add_f32 f32 f32 f32 fp clamp omod e64 sdwa dpp # a comment\n\
                2@900-908,3@90a+ all v_one@900,v_two@906+ u32 u32 u32 !reads:exec note: an erratum\n";
    let rows = table::parse("good.rows", text).expect("these rows are right");
    assert_eq!(rows.len(), 2);
    assert_eq!(forms::check(&rows, &forms::forms(&rows)), []);
    assert_eq!((rows[1].name(), rows[1].note.as_deref()), ("v_two", Some("an erratum")));
    assert!(rows[1].reads.is_empty() && !rows[0].reads.is_empty());
}

#[test]
fn structural_mistakes_are_refused() {
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
    ]));
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    insta::assert_snapshot!(listing(&[
        vop2("1 all v_a f32 f32 f32\n1 906+ v_b f32 f32 f32"),
        vop2("1 all v_a f32 f32 f32\n2 all v_a f32 f32 f32"),
        "%format vop1\n%columns vdst src0 src1\n3 all v_a f32 f32 f32".to_owned(),
        "%format sop1\n%columns sdst src0\n3 all s_a b32x32 b32".to_owned(),
        "%format vop1\n%columns vdst src0\n3 all v_a texel f32".to_owned(),
        vop2("1 all v_a f32 f32 f32 e64\n9,vop3:257@90a+ all v_b f32 f32 f32"),
    ]));
}

#[test]
fn no_two_rows_share_an_encoding() {
    for target in Target::ALL {
        let mut taken = std::collections::HashMap::new();
        for &op in Op::ALL {
            for form in op.row().forms().iter().filter(|form| form.targets.contains(target)) {
                // Opcode and constant bits: what the decoder goes by.
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
                // Some sources must be vector registers, and all 9-bit sources may be.
                for field in form.encoding.fields().iter().filter(|field| field.width == 9) {
                    if field.mask() & form.fixed == 0 && field.id != FieldId::DppCtrl {
                        word |= 256 << field.lo;
                    }
                }
                // Of the lane permutations, 64-bit operands take the row broadcast only.
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
        let counts: Vec<usize> = Target::ALL.into_iter().map(of_format).collect();
        table += &format!("{:12} {counts:?}\n", format.name());
    }
    insta::assert_snapshot!(table);
}
