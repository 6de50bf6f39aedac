//! `wavemill dis`: sources that assemble to the same file, machine code without a file, answers
//! line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Output, Stdio};

use crate::common::Folder;
use serde_json::{Value, json};
use wavemill_object::unlink;

#[path = "../../wavemill-object/tests/support/hostile.rs"]
mod hostile;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the command with a standard input.
fn with_input(folder: &Folder, args: &[&str], input: &[u8]) -> Output {
    let mut command = folder.command();
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // From a separate thread, so that neither side waits on a full pipe. A command that rejects its
    // arguments does not read.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

fn succeed(output: Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    text(&output.stdout)
}

#[test]
fn a_source_is_the_code_object_again() {
    let folder = Folder::new("dis_source");
    for (target, name) in [("gfx942", "vector_add"), ("gfx90a", "function_pointers"), ("gfx906", "crc32")] {
        folder.object(target, name);
        let object = format!("{name}.co");
        for options in [&[][..], &["--no-show-raw-insn"], &["--format", "asm", "--target", target]] {
            let source = succeed(folder.run(&[&["dis", &object], options].concat()));
            folder.file("again.s", source);
            succeed(folder.run(&["asm", "again.s", "-o", "again.co"]));
            let [first, second] = [object.as_str(), "again.co"]
                .map(|file| unlink(&std::fs::read(folder.0.join(file)).unwrap()).unwrap());
            assert_eq!(first.differences(&second), Vec::<String>::new(), "{name}");
        }
    }
    // It runs, and it can be read from the standard input.
    folder.object("gfx942", "vector_add");
    let object = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let source = succeed(with_input(&folder, &["dis", "-"], &object));
    assert!(source.starts_with("// <stdin>: gfx942, code object v6\n"), "{source}");
    let object = with_input(&folder, &["asm", "-", "--filetype", "co"], source.as_bytes()).stdout;
    folder.file("again.co", object);
    let line =
        ["run", "again.co", "--grid", "1", "--block", "64", "a[64]=iota", "b[64]=iota", "c[64]", "n=64"];
    let output = folder.run(&[&line[..], &["--print", "c[:3]"]].concat());
    assert_eq!(text(&output.stdout), "c[:3] = [0.0, 2.0, 4.0]\n");
    insta::assert_snapshot!(
        "source",
        succeed(folder.run(&["dis", "vector_add.co", "--kernel", "vector_add"]))
    );
}

/// A relocatable file becomes the same relocatable file: relocations are written with symbols. The
/// source of an old code object assembles to a newer one; the source and a note say so.
#[test]
fn old_versions_are_told() {
    let folder = Folder::new("dis_old");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../wavemill-object/tests/fixtures");
    for (name, version) in [("gfx906-v2.co", "v2"), ("gfx90a-v3.co", "v3")] {
        let output = folder.run(&["dis", &format!("{fixtures}/{name}")]);
        let note = format!("is a code object {version}, but its source assembles to a code object v4");
        assert!(output.status.success() && text(&output.stderr).contains(&note), "{output:?}");
        let source = text(&output.stdout);
        let remark = format!("// This code object is {version}; assemblers write v4 or later");
        assert!(source.contains(&remark), "{source}");
        assert!(source.contains("\t.amdhsa_code_object_version 4\n"), "{source}");
    }
    let output = folder.run(&["dis", &format!("{fixtures}/gfx90a-v4.co")]);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_relocatable_file_is_the_same_again() {
    let folder = Folder::new("dis_relocatable");
    folder.file("first.s", RELOCATED);
    succeed(folder.run(&["asm", "first.s", "-o", "first.o"]));
    let source = succeed(folder.run(&["dis", "first.o", "--no-show-raw-insn"]));
    folder.file("second.s", &source);
    succeed(folder.run(&["asm", "second.s", "-o", "second.o"]));
    let [first, second] =
        ["first.o", "second.o"].map(|file| unlink(&std::fs::read(folder.0.join(file)).unwrap()).unwrap());
    assert_eq!(first.differences(&second), Vec::<String>::new(), "{source}");
    insta::assert_snapshot!("relocatable", source);
}

/// Every relocation that a source can have, symbols of every kind, data, and names that need care.
const RELOCATED: &str = r#"
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:xnack-"
	.amdhsa_code_object_version 5
	.set number, 0x1234
	.globl number
	.weak maybe
	.comm shared, 64, 4
	.amdgpu_lds scratch, 256, 8
	.text
	.globl vcc
	.p2align 8
	.type vcc,@function
vcc:
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, outside@gotpcrel32@lo+4
	s_addc_u32 s5, s5, outside@gotpcrel32@hi+12
	s_getpc_b64 s[6:7]
	s_add_u32 s6, s6, table@rel32@lo+8
	s_addc_u32 s7, s7, table@rel32@hi+16
	s_mov_b32 s0, scratch@abs32@lo
	s_mov_b32 s1, maybe@abs32@hi
	s_branch elsewhere
	s_cbranch_scc0 "a name"
	v_mov_b32 v0, outside
"a name":
	v_mov_b32 v0, lit(0)
	s_endpgm
	.long 0xffffffff
	.size vcc, .-vcc
	.p2align 8
	.type other,@function
other:
	s_branch "vcc"
	s_setpc_b64 s[30:31]
	.size other, .-other
	.section .rodata,"a",@progbits
	.p2align 3
	.type table,@object
	.hidden table
table:
	.quad outside
	.long outside-.
	.long other@rel32@lo+4
	.long table
	.quad vcc@rel64+16
	.ascii "text of a table\n\"quoted\"\\\000"
	.zero 40
	.byte 1, 2, 3
	.size table, .-table
	.section .text.second,"ax",@progbits
elsewhere:
	s_endpgm
	.bss
	.globl zeros
	.type zeros,@object
zeros:
	.zero 100
	.size zeros, 100
"#;

#[test]
fn machine_code_alone() {
    let folder = Folder::new("dis_raw");
    let expected = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n\t.amdhsa_code_object_version 6\n\n\t.text\n\t.p2align\t2\n\
                    \tv_mov_b32_e32 v1, s1\n\ts_endpgm\n";
    let bytes = [1, 2, 2, 0x7e, 0, 0, 0x81, 0xbf];
    folder.file("code.bin", bytes);
    for input in [
        &bytes[..],
        b"0102027e 000081bf",
        b"0102027e000081bf\n",
        b"0x01,0x02,0x02,0x7e\n[0x00,0x00,0x81,0xbf] # the end\n",
    ] {
        let args = ["dis", "--target", "gfx90a", "--no-show-raw-insn", "-"];
        assert_eq!(succeed(with_input(&folder, &args, input)), expected, "{:?}", text(input));
    }
    let args = ["dis", "--target", "mi210", "--no-show-raw-insn", "code.bin"];
    assert_eq!(succeed(folder.run(&args)), expected);
    assert_eq!(succeed(folder.run(&[&args[..], &["--raw"]].concat())), expected);
    // Text that looks like digits is code on request: these are four characters.
    let output = with_input(&folder, &["dis", "--target", "gfx90a", "--raw", "-"], b"0102");
    assert!(succeed(output).contains("// 000000000000: 32303130"));
    let mut all = String::new();
    let inputs: [(&[&str], &[u8]); 7] = [
        (&["dis", "-"], b"0102027e"),
        (&["dis", "--target", "gfx90a", "-"], b"0102027e\n0x7e020201\n"),
        (&["dis", "--target", "gfx90a", "--format", "objdump", "-"], b"0102027e"),
        (&["dis", "--target", "gfx1030", "-"], b"0102027e"),
        (&["dis", "--raw", "code.bin"], b""),
        (&["dis", "--json", "-"], b""),
        (&["dis", "--target", "gfx90a", "--json", "--format", "listing", "-"], b""),
    ];
    for (args, input) in inputs {
        let output = with_input(&folder, args, input);
        let code = output.status.code().unwrap_or(-1);
        assert!((code == 2 || code == 3) && output.stdout.is_empty(), "{args:?}: {output:?}");
        all += &format!("$ wavemill {}\n{}[exit code {code}]\n\n", args.join(" "), text(&output.stderr));
    }
    insta::assert_snapshot!("wrong_machine_code", all);
}

#[test]
fn every_line_is_answered() {
    let folder = Folder::new("dis_json");
    let mut child = folder
        .command()
        .args(["dis", "--target", "gfx90a", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let swizzle = "ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"01pip\")";
    for (line, answer) in [
        ("0102027e", json!({ "hex": "0102027e", "size": 4, "text": "v_mov_b32_e32 v1, s1" })),
        (
            "0102027E 000081bf",
            json!({ "hex": "0102027e000081bf", "size": 4, "text": "v_mov_b32_e32 v1, s1" }),
        ),
        ("", json!({ "hex": "", "error": "truncated instruction: 4 bytes needed" })),
        ("0100", json!({ "hex": "0100", "error": "truncated instruction: 4 bytes needed" })),
        ("ffffffff", json!({ "hex": "ffffffff", "error": "unknown instruction word 0xffffffff" })),
        ("\"", json!({ "hex": "\"", "error": "expected hexadecimal digits, found `\\\"`" })),
        (
            "[0x06,0x09,0x7a,0xd8,0x01,0x00,0x00,0x00]",
            json!({ "hex": "06097ad801000000", "size": 8, "text": swizzle }),
        ),
    ] {
        // Each is answered before the next one is sent.
        writeln!(input, "{line}").unwrap();
        let mut answered = String::new();
        output.read_line(&mut answered).unwrap();
        let answered: Value = serde_json::from_str(&answered).unwrap();
        if line.starts_with('[') {
            assert_eq!(answered["size"], answer["size"], "{answered}");
            assert!(answered["text"].as_str().unwrap().contains("ds_swizzle_b32"), "{answered}");
        } else {
            assert_eq!(answered, answer);
        }
    }
    // A line without an end, and one that is too long.
    write!(input, "{}\n0102027e", "0".repeat(1 << 17)).unwrap();
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["error"].as_str().unwrap().contains("65536 bytes"), "{rest}");
    assert_eq!(lines[1]["text"], "v_mov_b32_e32 v1, s1");
    assert!(child.wait().unwrap().success());
    // Many lines arrive in chunks that end anywhere.
    let many = "0102027e\n000081bf\n".repeat(20_000);
    let answers =
        succeed(with_input(&folder, &["dis", "--target", "gfx906", "--json", "-"], many.as_bytes()));
    assert_eq!(answers.lines().count(), 40_000);
    assert!(
        answers
            .lines()
            .skip(1)
            .step_by(2)
            .all(|line| line == "{\"hex\":\"000081bf\",\"size\":4,\"text\":\"s_endpgm\"}")
    );
}

/// Code before a label may grow, so the source refers to the label, not to a section and an offset.
#[test]
fn labels_at_computed_addresses_are_named() {
    let folder = Folder::new("dis_labels");
    let source = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
\t.text
\t.globl code
\t.type code,@function
code:
\ts_getpc_b64 s[0:1]
\ts_add_u32 s0, s0, second@rel32@lo+4
\ts_addc_u32 s1, s1, second@rel32@hi+12
\ts_endpgm
\t.size code, .-code
\t.section .rodata,\"a\",@progbits
first:
\t.long 1
second:
\t.long 2
";
    folder.file("first.s", source);
    succeed(folder.run(&["asm", "first.s", "-o", "first.co"]));
    let text = succeed(folder.run(&["dis", "first.co", "--no-show-raw-insn"]));
    assert!(text.contains("s_add_u32 s0, s0, second@rel32@lo+4"), "{text}");
    assert!(text.contains("s_addc_u32 s1, s1, second@rel32@hi+12"), "{text}");
    folder.file("second.s", &text);
    succeed(folder.run(&["asm", "second.s", "-o", "second.co"]));
    let [first, second] =
        ["first.co", "second.co"].map(|file| unlink(&std::fs::read(folder.0.join(file)).unwrap()).unwrap());
    assert_eq!(first.differences(&second), Vec::<String>::new());
}

#[test]
fn names_that_are_near_are_suggested() {
    let folder = Folder::new("dis_near");
    folder.object("gfx90a", "vector_add");
    for (name, wanted) in [("vector_ad", "; did you mean `vector_add`?"), ("nothing_of_the_kind", "")] {
        for options in [&[][..], &["--format", "listing"]] {
            let output = folder.run(&[&["dis", "vector_add.co", "--kernel", name], options].concat());
            let message = text(&output.stderr);
            let wanted = format!("there is no kernel or function `{name}`{wanted}\n");
            assert!(output.status.code() == Some(2) && message.contains(&wanted), "{message}");
        }
    }
}

/// Ids of entries are text from a file: none of them moves the cursor of a terminal or begins a
/// line.
#[test]
fn ids_of_entries_are_escaped() {
    let folder = Folder::new("dis_ids");
    folder.object("gfx942", "vector_add");
    let code = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let size = code.len() as u64;
    let ids = ["hip-\x1b[31m-amdgcn-amd-amdhsa--gfx942", "hip-amdgcn-amd-amdhsa--gfx9420\n\u{202e}x"];
    let rows = ids.iter().enumerate().map(|(at, id)| (at as u64 * size, size, (*id).to_owned()));
    folder.file("ids.bundle", hostile::bundle(rows, &code.repeat(2)));
    for args in [
        &["dis", "ids.bundle"][..],
        &["dis", "ids.bundle", "--format", "listing"],
        &["dis", "ids.bundle", "--format", "objdump"],
        &["info", "ids.bundle"],
    ] {
        let output = folder.run(args);
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() || args[0] == "info", "{args:?}: {said}");
        assert!(out.contains(r"hip-\u{1b}[31m-amdgcn-amd-amdhsa--gfx942"), "{args:?}: {out}");
        let all = out + &said;
        assert!(all.contains(r"gfx9420\n\u{202e}x"), "{args:?}: {all}");
        assert!(!all.contains(['\x1b', '\u{202e}']), "{args:?}: {all}");
    }
}

/// An exceeded limit is reported once, with the option of the command.
#[test]
fn the_limit_of_decompression_has_the_name_of_its_option() {
    let folder = Folder::new("dis_limit");
    let declared = 4096 + (1 << 30);
    folder.file("zeros.bundle", hostile::compressed(1, declared, &hostile::zstd(&[0; 4096], 1 << 13)));
    for which in ["info", "dis"] {
        let output = folder.run(&[which, "zeros.bundle"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        let help = format!("If the file is valid, raise the limit with `--max-decompressed {declared}`.");
        assert_eq!(said.matches("raise").count(), 1, "{said}");
        assert!(said.contains(&help) && !(said + &text(&output.stdout)).contains("max_decompressed"));
    }
}
