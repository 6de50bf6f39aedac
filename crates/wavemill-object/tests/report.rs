//! The output of `wavemill info` for the fixtures.

use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{Limits, Result};

use crate::support::fixture;

fn report(name: &str, filter: &Filter) -> Result<FileReport> {
    FileReport::new(&fixture(name), filter, &Limits::default())
}

#[test]
fn texts() {
    for name in [
        "gfx906-v2.co",
        "gfx90a-v3.co",
        "gfx90a-v5.co",
        "gfx942-v5.co",
        "gfx950-v6.co",
        "gfx9-4-generic-v6.co",
        "plain.bundle",
    ] {
        insta::assert_snapshot!(name, report(name, &Filter::default()).unwrap());
    }
}

#[test]
fn a_host_library_filtered() {
    let filter = Filter {
        target: Some("gfx90a".parse().unwrap()),
        kernel: Some("sum".to_owned()),
        ..Filter::default()
    };
    insta::assert_snapshot!(report("host-library.so", &filter).unwrap());
    let filter = Filter { target: Some("gfx942".parse().unwrap()), ..Filter::default() };
    let error = report("host-library.so", &filter).unwrap_err();
    assert_eq!(error.to_string(), "no code for gfx942; the file has code for gfx906, gfx90a:xnack-");
}

/// One damaged entry does not hide the others.
#[test]
fn a_damaged_entry() {
    let mut data = fixture("plain.bundle");
    let elf = |data: &[u8]| data.windows(4).position(|window| window == b"\x7fELF").unwrap();
    let at = elf(&data);
    data[at + 8] = 77;
    let report = FileReport::new(&data, &Filter::default(), &Limits::default()).unwrap();
    let entries = &report.bundles[0].entries;
    assert!(entries[0].object.is_none() && entries[0].error.is_none());
    assert!(entries[1].error.as_ref().unwrap().contains("ABI version is 77"));
    assert_eq!(entries[2].object.as_ref().unwrap().kernels.len(), 3);
}

/// A damaged bundle that can still be decompressed.
#[test]
fn a_wrong_checksum() {
    let mut data = fixture("compressed-v2.bundle");
    let text =
        |data: &[u8]| FileReport::new(data, &Filter::default(), &Limits::default()).unwrap().to_string();
    assert!(!text(&data).contains("checksum"));
    data[16] ^= 1;
    assert!(text(&data).contains("do not match the checksum"));
}

/// Names in the file cannot control a terminal.
#[test]
fn control_characters_are_escaped() {
    let mut data = fixture("gfx90a-v5.co");
    let at = data.windows(6).position(|window| window == b"rounds").unwrap();
    data[at..at + 6].copy_from_slice(b"\x1b[31mx");
    let text = FileReport::new(&data, &Filter::default(), &Limits::default()).unwrap().to_string();
    assert!(text.contains(r"\u{1b}[31mx") && !text.contains('\x1b'), "{text}");
}

#[cfg(feature = "serde")]
#[test]
fn a_report_can_be_serialised() {
    let json = serde_json::to_value(report("gfx942-v5.co", &Filter::default()).unwrap()).unwrap();
    let kernel = &json["bundles"][0]["entries"][0]["object"]["kernels"][0];
    assert_eq!(kernel["name"], "scale_add");
    assert_eq!(kernel["arguments"][3]["size"], 4);
}
