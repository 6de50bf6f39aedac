//! `wavemill explain` and `wavemill isa`: their output, files, and error messages.

use std::path::Path;

use crate::common::Folder;
use serde_json::Value;

fn out(folder: &Folder, args: &[&str]) -> String {
    let output = folder.run(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(folder: &Folder, args: &[&str]) -> Value {
    let text = out(folder, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn machine_code_is_explained() {
    let folder = Folder::new("explain");
    let text = out(&folder, &["explain", "0x7e020302", "--target", "gfx906"]);
    insta::assert_snapshot!("machine_code", text);
    // Every notation, and products as targets.
    for same in [&["02", "03", "02", "7e"][..], &["0203027E"], &["[0x02,0x03,0x02,0x7e]"]] {
        let args = [&["explain"][..], same, &["--target", "radeon-vii"]].concat();
        assert_eq!(out(&folder, &args), text, "{same:?}");
    }
    // The newest target that has them.
    let newest = out(&folder, &["explain", "0x7e020302"]);
    assert!(newest.starts_with("v_mov_b32_e32 v1, v2\n  target    gfx950\n"), "{newest}");
    // Only gfx942 has XF32 products.
    let only = json(&folder, &["explain", "--json", "0xd3be8000", "0x04020902"]);
    assert_eq!(
        (&only["schema"], &only["kind"], &only["target"]),
        (&1.into(), &"explanation".into(), &"gfx942".into())
    );
    assert_eq!(only["operands"].as_array().map(Vec::len), Some(4));
    assert_eq!(only["targets"][5]["bytes_are"], "no_instruction");
}

#[test]
fn mnemonics_are_explained() {
    let folder = Folder::new("explain_mnemonic");
    insta::assert_snapshot!("mnemonic", out(&folder, &["explain", "s_barrier"]));
    let all = json(&folder, &["explain", "v_add_f32", "--json"]);
    assert_eq!((&all["kind"], &all["format"]), (&"instruction".into(), &"vop2".into()));
    assert_eq!(all["forms"].as_array().map(Vec::len), Some(4));
    let one = json(&folder, &["explain", "V_ADD_F32_E64", "--json", "--target", "mi210"]);
    assert_eq!(one["forms"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["forms"][0]["targets"], serde_json::json!(["gfx90a"]));
}

#[test]
fn layouts_are_shown() {
    let folder = Folder::new("layout");
    let lanes = out(&folder, &["explain", "v_mfma_f32_16x16x4f32", "--layout"]);
    insta::assert_snapshot!("layout", lanes);
    assert_eq!(out(&folder, &["explain", "v_mfma_f32_16x16x4_f32", "--layout=lanes"]), lanes);
    let elements = out(&folder, &["explain", "v_mfma_f32_16x16x4_f32", "--layout=elements"]);
    assert!(elements.contains("v0{48}") && elements.lines().count() > 50, "{elements}");
    let narrow =
        json(&folder, &["explain", "v_mfma_f32_16x16x128_f8f6f4 cbsz:4 blgp:2", "--layout", "--json"]);
    assert_eq!((&narrow["kind"], &narrow["depth"]), (&"matrix_layout".into(), &128.into()));
    assert_eq!(
        (&narrow["matrices"][0]["type"], &narrow["matrices"][1]["type"]),
        (&"fp4".into(), &"fp6".into())
    );
    assert_eq!(narrow["matrices"][0]["elements"].as_array().map(Vec::len), Some(16 * 128));
    let code = out(&folder, &["explain", "0xd3c20a00", "0x64020300", "--target", "gfx908", "--layout"]);
    assert!(code.starts_with("v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3] cbsz:2 abid:1 blgp:3\n"), "{code}");
}

#[test]
fn wrong_instructions() {
    let folder = Folder::new("explain_wrong");
    let cases: [&[&str]; 26] = [
        &["explain"],
        &["explain", ""],
        &["explain", "v_ad_f32"],
        &["explain", "v_pk_fma_f64", "--target", "gfx906"],
        &["explain", "nothing_like_it"],
        &["explain", "s_add_u32_e64"],
        &["explain", "v_fma_f32_dpp"],
        &["explain", "v_mfma_f32_32x32x8_f16", "--target", "gfx906"],
        &["explain", "v_add_f32", "v0, s1, s2"],
        &["explain", "0x7e0203022"],
        &["explain", "0x7e02030g"],
        &["explain", "7e02030"],
        &["explain", "02 03 v_add_f32"],
        &["explain", "0x7e"],
        &["explain", "0xd1cb8100"],
        &["explain", "0x7e020302", "0xbf810000"],
        &["explain", "7e0203ff"],
        &["explain", "0xffffffff"],
        &["explain", "0xd3be8000", "0x04020902", "--target", "gfx906"],
        &["explain", "0x7e020302", "--target", "gfx1030"],
        &["explain", "v_add_f32", "--layout"],
        &["explain", "v_mfma_f32_16x16x128_f8f6f4", "cbsz:5", "--layout"],
        &["explain", "v_mfma_f32_32x32x1_2b_f32", "cbsz:2", "--layout"],
        &["explain", "v_mfma_f32_32x32x1_2b_f32", "--layout=registers"],
        &["isa"],
        &["isa", "--out", "pages", "--format", "pdf"],
    ];
    let mut all = String::new();
    for args in cases {
        let output = folder.run(args);
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{args:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
        let shown: Vec<_> = args
            .iter()
            .map(
                |arg| {
                    if arg.is_empty() || arg.contains(' ') { format!("'{arg}'") } else { (*arg).to_owned() }
                },
            )
            .collect();
        all += &format!("$ wavemill {}\n", shown.join(" "));
        all += &String::from_utf8_lossy(&output.stderr);
        all += &format!("[exit code {}]\n\n", code.unwrap_or(-1));
    }
    insta::assert_snapshot!("wrong_instructions", all);
}

/// The number of files below a folder.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[test]
fn pages_are_written() {
    let folder = Folder::new("isa");
    for (format, ending) in [("html", "html"), ("md", "md")] {
        let output = folder.run(&[
            "isa",
            "--out",
            format,
            "--format",
            format,
            "--target",
            "mi300x",
            "--message-format",
            "json",
        ]);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        let message: Value = serde_json::from_slice(&output.stderr).unwrap();
        let pages = message["pages"].as_u64().unwrap();
        assert!(pages > 1000, "{message}");
        assert_eq!(files(&folder.0.join(format)) as u64, pages);
        assert!(Path::new(&folder.0).join(message["file"].as_str().unwrap()).is_file(), "{message}");
        let page = folder.0.join(format).join(format!("instruction/v_add_f32.{ending}"));
        assert!(std::fs::read_to_string(page).unwrap().contains("vop3a"));
    }
    // A file at the path is an error, and an existing folder is not.
    folder.file("file", "");
    let output = folder.run(&["isa", "--out", "file"]);
    assert_eq!(output.status.code(), Some(3));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: cannot write `file/format`"), "{message}");
    assert!(folder.run(&["isa", "--out", "md", "--target", "gfx900"]).status.success());
}

#[test]
fn help_pages_of_explain_and_isa() {
    let folder = Folder::new("explain_help");
    for page in ["explain", "isa"] {
        insta::assert_snapshot!(format!("help_{page}"), out(&folder, &[page, "--help"]));
    }
}
