//! Pins the text of every instruction in every encoding. Results that the comparison with LLVM has
//! verified stay fixed where LLVM is not installed, and a change of any text is visible in review.

use std::fmt::{self, Write};

use crate::support::{example, text};
use wavemill_asm::gcn::{parse, print, print_with};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Inst, Op, Row, decode};

/// The texts of all rows of a format: per form, on the oldest and the newest target that have it.
fn texts(format: Format) -> String {
    let mut all = String::new();
    for form in Op::ALL.iter().map(|op| op.row()).filter(|row| row.format == format).flat_map(Row::forms) {
        let mut targets: Vec<Target> = form.targets.iter().collect();
        targets.dedup();
        let (first, last) = (targets[0], targets[targets.len() - 1]);
        let (old, new) = (text(&example(form, first)), text(&example(form, last)));
        let encoding = form.encoding.name();
        if old == new {
            writeln!(all, "{encoding:12} {first}-{last} {new}").expect("a String takes any text");
        } else {
            writeln!(all, "{encoding:12} {first}        {old}").expect("a String takes any text");
            writeln!(all, "{encoding:12} {last}        {new}").expect("a String takes any text");
        }
    }
    all
}

#[test]
fn texts_are_pinned() {
    for &format in Format::ALL {
        insta::assert_snapshot!(format.name(), texts(format));
    }
}

#[test]
fn texts_stand_on_one_line_without_stray_blanks() {
    for form in Op::ALL.iter().flat_map(|op| op.row().forms()) {
        for target in form.targets.iter() {
            let text = text(&example(form, target));
            assert!(!text.contains(['\n', '\t']) && text.trim() == text, "[{text}]");
            assert!(text.starts_with(form.op.row().mnemonic(target)), "[{text}]");
        }
    }
}

/// LLVM prints no suffix for a multiply-add with a constant, and accepts `_e32`.
#[test]
fn multiply_adds_with_a_constant_accept_a_suffix() {
    for (target, name, sources) in [
        (Target::Gfx906, "v_madmk_f32", "v1, 0x1234, v2"),
        (Target::Gfx906, "v_madak_f32", "v1, v2, 0x1234"),
        (Target::Gfx90a, "v_madmk_f16", "v1, 0x1234, v2"),
        (Target::Gfx950, "v_madak_f16", "v1, v2, 0x1234"),
        (Target::Gfx942, "v_fmamk_f32", "v1, 0x1234, v2"),
        (Target::Gfx950, "v_fmaak_f32", "v1, v2, 0x1234"),
    ] {
        let inst = |suffix| parse(target, &format!("{name}{suffix} v0, {sources}"));
        let plain = inst("").expect("LLVM accepts it");
        assert_eq!(inst("_e32").expect("LLVM accepts it").words(), plain.words(), "{name}");
        assert_eq!(text(&plain), format!("{name} v0, {sources}"));
        for suffix in ["_e64", "_sdwa", "_dpp"] {
            assert!(inst(suffix).is_err(), "{name}{suffix}");
        }
    }
}

/// Compilers name all registers of an address, how many there are depends on the descriptor.
#[test]
fn addresses_of_images_may_name_more_registers() {
    let bytes = |text: &str| parse(Target::Gfx906, text).map(|inst| inst.encode());
    let names = |mnemonic: &str, sampler: &str, first: u8, last: u8| {
        let address = if first == last { format!("v{first}") } else { format!("v[{first}:{last}]") };
        bytes(&format!("{mnemonic} v[20:23], {address}, s[0:7]{sampler} dmask:0xf"))
    };
    let sampler = ", s[8:11]";
    for (mnemonic, sampler, least, most) in [
        ("image_load", "", 1, 4),
        ("image_store_mip", "", 1, 4),
        ("image_sample_lz", sampler, 1, 4),
        ("image_sample_c_b_cl", sampler, 3, 6),
        ("image_sample_d", sampler, 2, 9),
        ("image_sample_c_cd_cl_o", sampler, 4, 12),
    ] {
        let named = |count: u8| names(mnemonic, sampler, 4, 3 + count);
        let first = named(least).expect(mnemonic);
        for count in least..=most {
            assert_eq!(named(count).as_ref().ok(), Some(&first), "{mnemonic} {count}");
        }
        assert!(named(most + 1).is_err() && (least == 1 || named(least - 1).is_err()), "{mnemonic}");
    }
    assert_eq!(
        names("image_sample_c_b_cl", sampler, 4, 11).ok(),
        names("image_sample_c_b_cl", sampler, 4, 6).ok()
    );
}

fn branch(distance: i16) -> Inst {
    let [low, high] = distance.to_le_bytes();
    decode(Target::Gfx942, &[low, high, 0x82, 0xbf]).expect("s_branch")
}

#[test]
fn branches_take_names_from_the_caller() {
    let names = |out: &mut dyn Write, distance: i16| match distance {
        -2 => out.write_str("loop").map(|()| true),
        _ => Ok(false),
    };
    let with_names = |inst: &Inst| {
        let mut text = String::new();
        print_with(&mut text, inst, &names).expect("a String takes any text");
        text
    };
    assert_eq!(with_names(&branch(-2)), "s_branch loop");
    assert_eq!(with_names(&branch(-3)), "s_branch 65533");
    assert_eq!(text(&branch(5)), "s_branch 5");
}

/// A sink with room for some bytes.
struct Room(usize);

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[test]
fn errors_of_the_sink_are_handed_on() {
    let inst = branch(1);
    let length = text(&inst).len();
    assert!(print(&mut Room(length), &inst).is_ok());
    for room in 0..length {
        assert!(print(&mut Room(room), &inst).is_err(), "{room} bytes");
    }
}
