//! `wavemill asm`: what it writes, what it says, and that what it makes runs.

mod common;

use common::Folder;

const SOURCE: &str = include_str!("../../../examples/assembly/twice.s");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_assembled_runs() {
    let folder = Folder::new("asm_runs");
    folder.file("twice.s", SOURCE);
    let output = folder.run(&["asm", "twice.s", "-o", "twice.co"]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let line = ["run", "twice.co", "--kernel", "twice", "--grid", "1", "--block", "64", "data:f32[64]=iota"];
    let output = folder.run(&[&line[..], &["--print", "data[:4]"]].concat());
    assert_eq!(text(&output.stdout), "data[:4] = [0.0, 2.0, 4.0, 6.0]\n", "{output:?}");
    // The name says what to write; an option says it louder.
    for args in [
        &["asm", "twice.s", "-o", "twice.o"][..],
        &["asm", "twice.s", "--filetype", "obj", "-o", "twice.bin"],
    ] {
        let output = folder.run(args);
        assert!(output.status.success(), "{output:?}");
    }
    let (object, other) =
        (std::fs::read(folder.0.join("twice.o")), std::fs::read(folder.0.join("twice.bin")));
    let object = object.unwrap();
    assert_eq!(object, other.unwrap());
    // A relocatable file.
    assert_eq!(object.get(16..18), Some(&[1, 0][..]));
}

#[test]
fn text_assembles_to_the_same_again() {
    let folder = Folder::new("asm_text");
    folder.file("twice.s", SOURCE);
    let output = folder.run(&["asm", "twice.s", "-o", "first.o"]);
    assert!(output.status.success(), "{output:?}");
    let output = folder.run(&["asm", "twice.s", "--show-encoding"]);
    assert!(
        text(&output.stdout)
            .contains("\tv_add_f32_e32 v2, v2, v2               ; encoding: [0x02,0x05,0x04,0x02]\n")
    );
}

#[test]
fn mistakes() {
    let folder = Folder::new("asm_mistakes");
    folder.file(
        "bad.s",
        "\tv_add_f32 v0 v1 v2\n\ts_nop 0\n\tv_mov_b32 v256, 0\n\tv_mov_b32 v0, 0x123456789 ; too large\n",
    );
    folder.file("bytes.s", [0x73, 0xff]);
    folder.file("nothing.s", "s_nop 0\n");
    folder.file("outside.s", "\t.text\n\ts_add_u32 s0, s0, outside@rel32@lo+4\n");
    let mut all = String::new();
    let cases: [&[&str]; 12] = [
        &["asm"],
        &["asm", "bad.s", "--target", "gfx90a"],
        &["asm", "bad.s", "--target", "gfx90a", "--message-format", "json"],
        &["asm", "bad.s", "--target", "gfx90a", "--message-format", "short"],
        &["asm", "bad.s", "--target", "gfx1030"],
        &["asm", "nothing.s"],
        &["asm", "bytes.s", "--target", "gfx906"],
        &["asm", "none.s", "--target", "gfx906"],
        &["asm", "nothing.s", "--target", "gfx906", "-o", "nothing.s"],
        &["asm", "nothing.s", "--target", "gfx906", "--filetype", "obj", "--show-encoding", "-o", "x.o"],
        &["asm", "nothing.s", "--target", "gfx906", "-D", "1=x"],
        &["asm", "outside.s", "--target", "gfx906", "-o", "outside.co"],
    ];
    for args in cases {
        let output = folder.run(args);
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{args:?}: {output:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        all += &format!(
            "$ wavemill {}\n{}[exit code {}]\n\n",
            args.join(" "),
            text(&output.stderr),
            code.unwrap_or(-1)
        );
    }
    insta::assert_snapshot!("asm_mistakes", all);
    assert_eq!(std::fs::read(folder.0.join("nothing.s")).unwrap(), b"s_nop 0\n");
    assert!(!folder.0.join("outside.co").exists() && !folder.0.join("x.o").exists());
}

#[test]
fn objects_for_editors() {
    let folder = Folder::new("asm_json");
    folder.file("lines.s", "v_mov_b32_e32 v1, s1\nv_mov_b32 v1, bad.\nx: s_branch x\n\tds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"01pip\")\n");
    let output = folder.run(&["asm", "--target", "gfx90a", "--json", "lines.s"]);
    // A mistake is an answer, as the help page says.
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0], serde_json::json!({ "line": 1, "hex": "0102027e", "text": "v_mov_b32_e32 v1, s1" }));
    assert_eq!(lines[2]["hex"], "ffff82bf");
    assert_eq!(lines[3]["text"], "ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"01pip\")");
}

#[test]
fn undefined_symbols_and_warnings_for_editors() {
    let folder = Folder::new("asm_undefined");
    folder.file("lines.s", "s_add_u32 s0, s0, outside@rel32@lo+4\n.warning \"old\"\n.quad elsewhere\n");
    let output = folder.run(&["asm", "--target", "gfx90a", "--json", "lines.s"]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "{output:?}");
    assert_eq!(lines[1]["line"], 2);
    assert_eq!(lines[1]["warnings"][0]["message"], "old");
    assert_eq!(lines[2], serde_json::json!({ "undefined": ["outside", "elsewhere"] }));
    let args = ["asm", "--target", "gfx90a", "lines.s", "--filetype", "obj", "-o", "lines.o"];
    let output = folder.run(&[&args[..], &["--message-format", "short"]].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "lines.s:2:1: warning: old\n");
}

/// Symbols of other code objects are left to the loader where that is asked for.
#[test]
fn unresolved_symbols() {
    let folder = Folder::new("asm_unresolved");
    folder.file("lines.s", ".text\ns_endpgm\n.section .data\n.quad elsewhere\n");
    let args = ["asm", "--target", "gfx90a", "lines.s", "-o", "lines.co"];
    for (more, code) in [
        (&[][..], 3),
        (&["--unresolved-symbols", "report-all"], 3),
        (&["--unresolved-symbols", "ignore-all"], 0),
        (&["--unresolved-symbols", "ignore-all", "--filetype", "obj"], 2),
        (&["--unresolved-symbols=some"], 2),
    ] {
        let output = folder.run(&[&args[..], more].concat());
        assert_eq!(output.status.code(), Some(code), "{more:?}: {output:?}");
        if code == 3 {
            let text = text(&output.stderr);
            assert!(text.contains("undefined symbol `elsewhere`, used at .data+0x0"), "{text}");
            assert!(
                text.contains("`--unresolved-symbols ignore-all` leaves such symbols to the loader"),
                "{text}"
            );
        }
    }
    let output = folder.run(&["dis", "lines.co"]);
    assert!(text(&output.stdout).contains("\t.quad\telsewhere"), "{output:?}");
}

/// What `.loc` says is what a fault report shows.
#[test]
fn faults_name_lines_of_the_source() {
    let folder = Folder::new("asm_lines");
    let stored = "\tglobal_store_dword";
    assert_eq!(SOURCE.matches(stored).count(), 1);
    let source =
        SOURCE.replace(stored, &format!("\t.file 1 \"sources\" \"twice.cl\"\n\t.loc 1 7 5\n{stored}"));
    let load = "\tglobal_load_dword v[number], v[place], s[2:3]";
    assert_eq!(source.matches(load).count(), 1);
    let source = source.replace(load, "\tv_mov_b32 v[number], 1.0");
    let debug = "
        .section .debug_abbrev,\"\",@progbits
        ; A unit without children: its table of lines, where it begins and how long it is.
        .byte 1, 17, 0, 16, 23, 17, 1, 18, 6, 0, 0, 0
        .section .debug_info,\"\",@progbits
        .long .Linfo_end - .Linfo
    .Linfo:
        .short 4
        .long .debug_abbrev
        .byte 8, 1
        .long .Lline_table
        .quad twice
        .long .Lend - twice
    .Linfo_end:
        .section .debug_line,\"\",@progbits
    .Lline_table:
    ";
    folder.file("twice.s", format!("{source}{debug}"));
    let output = folder.run(&["asm", "twice.s", "-o", "twice.co"]);
    assert!(output.status.success(), "{output:?}");
    let line = ["run", "twice.co", "--kernel", "twice", "--grid", "1", "--block", "64", "data:f32[8]=iota"];
    let output = folder.run(&line);
    assert!(text(&output.stderr).contains("  source       sources/twice.cl:7:5\n"), "{output:?}");
}

#[test]
fn every_wrong_line_is_answered() {
    let folder = Folder::new("asm_json_many");
    folder.file("lines.s", "v_mov_b33 v1, v2\nv_mov_b32 v1, v2\n".repeat(1500));
    let output = folder.run(&["asm", "--target", "gfx90a", "--json", "lines.s"]);
    let out = text(&output.stdout);
    assert_eq!(out.lines().count(), 3000);
    assert_eq!(out.lines().filter(|line| line.contains("\"errors\"")).count(), 1500);
}
