//! `wavemill asm`: its output, its messages, and that its code objects run.

use crate::common::Folder;

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
    // The file name decides the output; an option overrides it.
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

/// Means and variances of the rows are small integers, and the variances plus 3 are powers of 4, so
/// nothing is rounded.
#[test]
fn a_layer_norm_with_constants_of_mixed_precision() {
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let folder = Folder::new(&format!("asm_layer_norm_{target}"));
        folder.file("norm.s", include_str!("layer_norm.s").replace("TARGET", target));
        let output = folder.run(&["asm", "norm.s", "-o", "norm.co"]);
        assert!(output.status.success(), "{output:?}");
        let line = [
            "run",
            "norm.co",
            "--grid",
            "1",
            "--block",
            "3",
            "x:f16[12]=[3,5,5,3,-1,-3,-3,-1,15,5,11,9]",
            "y:f16[12]=zeros",
            "--expect",
            "y=[0,2,2,0,2,0,0,2,3.5,-1.5,1.5,0.5]",
        ];
        let output = folder.run(&line);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stdout), "y: 12 elements as expected\n");
    }
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
    // An error is an answer, as the help page says.
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
    assert_eq!(lines.len(), 4, "{output:?}");
    assert_eq!(
        lines[1],
        serde_json::json!({ "line": 3, "hex": "0000000000000000", "text": ".quad elsewhere" })
    );
    assert_eq!(lines[2]["line"], 2);
    assert_eq!(lines[2]["warnings"][0]["message"], "old");
    assert_eq!(lines[3], serde_json::json!({ "undefined": ["outside", "elsewhere"] }));
    let args = ["asm", "--target", "gfx90a", "lines.s", "--filetype", "obj", "-o", "lines.o"];
    let output = folder.run(&[&args[..], &["--message-format", "short"]].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "lines.s:2:1: warning: old\n");
}

/// Symbols of other code objects are left to the loader on request.
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
            assert!(text.contains("undefined symbol `elsewhere`"), "{text}");
            assert!(
                text.contains("`--unresolved-symbols ignore-all` leaves such symbols to the loader"),
                "{text}"
            );
        }
    }
    let output = folder.run(&["dis", "lines.co"]);
    assert!(text(&output.stdout).contains("\t.quad\telsewhere"), "{output:?}");
}

/// Errors that only linking can find are reported at the statements that cause them.
#[test]
fn mistakes_that_linking_finds() {
    let folder = Folder::new("asm_linking");
    let source = ".macro go\ns_branch lopp\n.endm\nloop:\ngo\ns_mov_b32 s0, loop@abs32@lo\n v_add_f32 v0, V1, v2\n\
                  s_add_u32 s0, s0, far@rel32@lo+4\n.globl loop\n";
    folder.file("lines.s", source);
    let args = ["asm", "--target", "gfx90a", "lines.s", "-o", "lines.co"];
    let mut all = String::new();
    for form in ["human", "short", "json"] {
        let output = folder.run(&[&args[..], &["--message-format", form]].concat());
        assert_eq!(output.status.code(), Some(3), "{form}: {output:?}");
        all += &format!("{form}\n{}\n", text(&output.stderr));
    }
    insta::assert_snapshot!(all);
}

/// A fault report shows the positions of `.loc`.
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

#[test]
fn every_statement_is_answered() {
    let folder = Folder::new("asm_json_statements");
    let source = ".macro m\ns_nop 1\ns_nop bad.\n.endm\n\t.globl x\nx: .long 1, x - 4\nm\n.rept 2\n.byte 7\n.endr\n.ascii \"\u{ff}\"\n";
    let mut bytes = source.as_bytes().to_vec();
    // As Latin-1.
    let at = source.find('\u{ff}').expect("the character");
    bytes.splice(at..at + 2, [0xff]);
    bytes.extend(b"v_\xff\ny = 3\n");
    folder.file("lines.s", bytes);
    let output = folder.run(&["asm", "--target", "gfx90a", "--json", "lines.s"]);
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 9, "{out}");
    assert_eq!(lines[0], r#"{"line":5,"hex":"","text":".globl x"}"#);
    assert!(lines[1].starts_with(r#"{"line":6,"hex":"01000000"#), "{out}");
    assert_eq!(lines[2], r#"{"line":7,"hex":"010080bf","text":"s_nop 1"}"#);
    // After the results of the line.
    assert!(lines[3].starts_with(r#"{"line":7,"errors":[{"col":7,"len":4,"message":""#), "{out}");
    for line in &lines[4..6] {
        assert_eq!(*line, r#"{"line":8,"hex":"07","text":".byte 7"}"#);
    }
    assert_eq!(lines[6], r#"{"line":11,"hex":"ff","text":".ascii \"\\377\""}"#);
    assert!(
        lines[7].starts_with(r#"{"line":12,"errors":[{"col":3,"len":1,"message":"expected UTF-8"#),
        "{out}"
    );
    assert_eq!(lines[8], r#"{"line":13,"hex":"","text":"y = 3"}"#);
}

#[test]
fn errors_in_included_files_have_their_lines() {
    let folder = Folder::new("asm_included");
    std::fs::create_dir_all(folder.0.join("sub")).unwrap();
    folder.file("main.s", "s_nop 0\n.include \"inc.s\"\ns_nop wrong.\n");
    folder.file("sub/inc.s", "\n\ns_nop 5\n\n\ts_nop also.\n");
    let asm = |options: &[&str]| {
        let output = folder.run(&[&["asm", "--target", "gfx90a", "-I", "sub", "main.s"], options].concat());
        (text(&output.stdout), text(&output.stderr))
    };
    let (_, human) = asm(&[]);
    let place = " --> sub/inc.s:5:8\n     included at main.s:2\n";
    assert!(human.contains(place) && human.contains(" --> main.s:3:7\n"), "{human}");
    assert!(human.find("sub/inc.s:5:8") < human.find("main.s:3:7"), "in the order of the source: {human}");
    let (_, short) = asm(&["--message-format", "short"]);
    let lines: Vec<&str> = short.lines().collect();
    assert!(lines[0].starts_with("sub/inc.s:5:8: error: ") && lines[0].ends_with(" [included at main.s:2]"));
    assert!(lines[1].starts_with("main.s:3:7: error: ") && !lines[1].contains("included"), "{short}");
    let (_, json) = asm(&["--message-format", "json"]);
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().unwrap_or_default()).expect("JSON");
    assert_eq!(first["file"], serde_json::json!("sub/inc.s"));
    assert_eq!(first["line"], serde_json::json!(5));
    assert_eq!(first["included"], serde_json::json!([{ "file": "main.s", "line": 2 }]));
    let (objects, _) = asm(&["--json"]);
    let lines: Vec<&str> = objects.lines().collect();
    assert_eq!(lines.len(), 4, "{objects}");
    assert_eq!(lines[1], r#"{"line":3,"file":"sub/inc.s","hex":"050080bf","text":"s_nop 5"}"#);
    assert!(lines[2].starts_with(r#"{"line":5,"file":"sub/inc.s","errors":["#), "{objects}");
    assert!(lines[3].starts_with(r#"{"line":3,"errors":["#), "{objects}");
}

/// Text output reports an error from macros and repetitions once.
#[test]
fn the_same_mistake_is_told_once() {
    let folder = Folder::new("asm_repeated");
    folder.file(
        "lines.s",
        ".rept 5\nv_mov_b33 v0, v1\n.endr\n.macro m to\nv_mov_b32 \\to, v300\n.endm\nm v0\nm v0\nm v0\n\
         .irp r, v1, v2\nv_mov_b32 \\r\n.endr\nv_nothing v0\nv_nothing v0\n",
    );
    let asm = |options: &[&str]| {
        let output = folder.run(&[&["asm", "--target", "gfx90a", "lines.s"], options].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        text(&output.stderr)
    };
    insta::assert_snapshot!("mistakes_that_are_repeated", asm(&[]));
    // Once for each line that produces it; the lines of `.irp` differ.
    let short = asm(&["--message-format", "short"]);
    let lines: Vec<&str> = short.lines().filter_map(|line| line.strip_prefix("lines.s:")).collect();
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(lines, ["1", "7", "8", "9", "10", "13", "14"], "{short}");
    let json = asm(&["--message-format", "json"]);
    assert_eq!(json.lines().filter(|line| line.contains("\"kind\":\"source_error\"")).count(), 12, "{json}");
}

/// Files that cannot be included: folders, and files that include themselves.
#[test]
fn what_cannot_be_included() {
    let folder = Folder::new("asm_cannot_include");
    std::fs::create_dir_all(folder.0.join("sub")).unwrap();
    folder.file("folder.s", ".include \"sub\"\n.incbin \"sub\"\n.include \"none.s\"\n.include none.s\n");
    folder.file("self.s", "s_nop 0\n.include \"self.s\"\n");
    let mut all = String::new();
    for file in ["folder.s", "self.s"] {
        let output = folder.run(&["asm", "--target", "gfx90a", file]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        all += &text(&output.stderr);
    }
    insta::assert_snapshot!("what_cannot_be_included", all);
}

/// Without a target, instructions cannot be assembled; this is reported once.
#[test]
fn a_missing_target_is_told_once() {
    let folder = Folder::new("asm_no_target");
    folder.file(
        "lines.s",
        "s_nop 0\ns_nop 1\n.long 1\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 4\n.end_amdhsa_kernel\n",
    );
    let output = folder.run(&["asm", "--json", "lines.s"]);
    let out = text(&output.stdout);
    assert_eq!(out.matches("the target is missing").count(), 1, "{out}");
    assert_eq!(out.matches("\"errors\"").count(), 1, "{out}");
    let output = folder.run(&["asm", "lines.s"]);
    assert!(text(&output.stderr).ends_with("error: `lines.s` has an error\n"), "{output:?}");
}
