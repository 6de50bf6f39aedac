//! Cayman in the command: programs are assembled, disassembled and described.

use std::io::Write as _;
use std::process::Stdio;

use crate::common::{Folder, err, expect, out, said};

/// Two programs and a table, in the form of the printer.
pub(crate) const SOURCE: &str = "        .program store
        .gprs 3
        .stack 1
        .lds 64
        .reloc 0x44
        alu_push_before alu6, kc0=cb0[0:31]
        jump @l4 pop:1
        tc tc12
        mem_rat_cacheless store_dword rat0, r0.x, [r1.x] type:write_ind
l4:     pop @l5 pop:1
l5:     end
alu6:   x: pred_sete_int _.x, kc0[1].z, 0 exec ;;
        w: add_int r0.w, r0.x, 0x100 ;;
        x: mov r1.x, pv.w
        y: mov r1.y, 2.5 ;;
tc12:   vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none

        .program fill
        .stage ps
        .gprs 1
        .stack 0
        export_done pix0, r0.xyzw
        end

        .program table
        .quad 0x0000000b00000007
";

#[test]
fn commands_for_other_targets_refuse_cayman() {
    let folder = Folder::new("cayman");
    folder.object("gfx942", "vector_add");
    folder.file("words.s", "        end\n");
    folder.file("named.s", ".amdgcn_target \"r600-unknown-unknown-unknown-cayman\"\n\ts_endpgm\n");
    folder.file("k.cl", "kernel void k(void) {}\n");
    for args in [
        &["run", "vector_add.co", "--target", "cayman"][..],
        &["run", "k.cl", "--target", "cayman"],
        &["asm", "named.s", "-o", "words.co"],
        &["mc", "-mcpu=cayman", "words.s"],
    ] {
        let output = folder.run(args);
        let message = err(&output);
        assert!(matches!(output.status.code(), Some(1..=64)), "{args:?}: {:?} {message}", output.status);
        assert!(message.contains("cayman"), "{args:?}: {message}");
        assert!(!message.contains("panicked"), "{args:?}: {message}");
        assert_eq!(out(&output), "", "{args:?}");
    }
    let listed = out(&folder.run(&["targets"]));
    assert!(listed.contains("hd6970") && listed.contains("\ncayman\n"), "{listed}");
}

#[test]
fn sources_objects_and_binaries_are_the_same_programs() {
    let folder = Folder::new("cayman_files");
    folder.file("k.s", SOURCE);
    expect(&folder, 0, &["asm", "--target", "cayman", "k.s", "-o", "k.o"]);
    let text = out(&expect(&folder, 0, &["dis", "k.o", "--no-show-raw-insn"]));
    assert_eq!(text, SOURCE);
    // With addresses, it assembles to the same file.
    expect(&folder, 0, &["dis", "k.o", "-o", "again.s"]);
    expect(&folder, 0, &["asm", "--target", "hd6970", "again.s", "-o", "again.o"]);
    assert_eq!(
        std::fs::read(folder.0.join("k.o")).unwrap(),
        std::fs::read(folder.0.join("again.o")).unwrap()
    );
    // One program as machine code alone, as digits, and as the source again.
    let one = out(&expect(&folder, 0, &["dis", "k.o", "--kernel", "fill"]));
    folder.file("fill.s", one);
    expect(&folder, 0, &["asm", "--target", "cayman", "fill.s", "-o", "fill.bin"]);
    let bytes = std::fs::read(folder.0.join("fill.bin")).unwrap();
    // EXPORT_DONE is 84, SEL_W, SEL_Z and SEL_Y are 3, 2 and 1; END is 32; BARRIER is bit 31.
    let words: [u64; 2] = [1 << 63 | 84 << 54 | 3 << 41 | 2 << 38 | 1 << 35, 1 << 63 | 32 << 54];
    assert_eq!(bytes, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
    folder.file("fill.txt", digits);
    let expected = "        .gprs 1\n        export_done pix0, r0.xyzw\n        end\n";
    for file in ["fill.bin", "fill.txt"] {
        let args = ["dis", "--target", "cayman", file, "--no-show-raw-insn"];
        assert_eq!(out(&expect(&folder, 0, &args)), expected, "{file}");
    }
    folder.file(
        "dump.txt",
        "bytecode 2 dw -- 3 gprs -- 2 nstack ---\nshader 0 -- C\n0000 00000000 88000000  CF_END @0\n",
    );
    let dumped = out(&expect(&folder, 0, &["dis", "--target", "cayman", "dump.txt", "--no-show-raw-insn"]));
    assert_eq!(dumped, "        .program shader0\n        .gprs 3\n        .stack 2\n        end\n");
    let info = out(&expect(&folder, 0, &["info", "k.o"]));
    assert!(info.contains("program store: 112 bytes, stage compute"), "{info}");
    assert!(info.contains("program fill: 16 bytes, stage ps"), "{info}");
    assert!(info.contains("table table: 8 bytes"), "{info}");
}

#[test]
fn lines_are_answered_as_json() {
    let folder = Folder::new("cayman_json");
    let answers = |args: &[&str], input: &str| -> Vec<serde_json::Value> {
        let mut command = folder.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", err(&output));
        out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let asm = ["asm", "--target", "cayman", "--json", "-"];
    for (clause, lines) in [
        ("cf", &["end", "jump @5 pop:1", "alu_extended alu @8 count:0, kc2=cb1[0:15]"][..]),
        ("alu", &["x: mov r0.x, 0x7 ;;", "x: mov r0.x, r1.x z: mov r0.z, r1.y bs:021 ;;"]),
        ("vtx", &["vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none"]),
        ("tex", &["sample r2.xyzw, r3.xyzz, res:0 smp:0 ct:nnnn"]),
        ("gds", &["gds_add_ret r1.x___, r2.xy0"]),
    ] {
        let made = answers(&asm, &lines.join("\n"));
        let texts: Vec<&str> = made.iter().map(|line| line["text"].as_str().unwrap()).collect();
        assert_eq!(texts, lines);
        let hex: Vec<&str> = made.iter().map(|line| line["hex"].as_str().unwrap()).collect();
        let back =
            answers(&["dis", "--target", "cayman", "--clause", clause, "--json", "-"], &hex.join("\n"));
        for ((made, back), line) in made.iter().zip(&back).zip(lines) {
            assert_eq!(back["text"], *line);
            assert_eq!(back["hex"], made["hex"]);
            assert_eq!(back["size"], made["hex"].as_str().unwrap().len() / 2);
        }
        assert_eq!(back.len(), lines.len());
    }
    // END is 32 in bits 29:22 of the second dword, BARRIER its last bit.
    let end = answers(&["dis", "--target", "cayman", "--json", "-"], "0000000000000088\n00\nxyz\n");
    assert_eq!(end[0], serde_json::json!({ "hex": "0000000000000088", "size": 8, "text": "end" }));
    assert!(end[1]["error"].as_str().unwrap().contains("truncated"), "{}", end[1]);
    assert!(end[2]["error"].as_str().unwrap().contains("expected hexadecimal digits"), "{}", end[2]);
    let wrong = answers(&asm, "end\njmp @5\nx: add_int r0.x, -r1.x, r1.x ;;\n");
    assert_eq!(wrong[1]["line"], 2);
    assert!(wrong[1]["errors"][0]["message"].as_str().unwrap().contains("`jmp`"), "{}", wrong[1]);
}

#[test]
fn errors_and_warnings_are_reported() {
    let folder = Folder::new("cayman_errors");
    folder.file("wrong.s", "        alu bdy\n        end\nbody:   x: mov r0.x, r1.x ;;\n");
    let message = said(&folder, 3, &["asm", "--target", "cayman", "wrong.s", "-o", "k.o"]);
    assert!(message.contains("there is no label `bdy`") && message.contains("wrong.s:1:13"), "{message}");
    assert!(message.contains("try") && message.contains("alu body"), "{message}");
    assert!(!folder.0.join("k.o").exists());
    folder.file("rule.s", "        alu body\n        end\nbody:   x: mov r0.x, kc0[0].x ;;\n");
    let message = said(&folder, 0, &["asm", "--target", "cayman", "rule.s", "-o", "k.o"]);
    assert!(message.contains("warning") && message.contains("in group 1 of clause `body`"), "{message}");
    for (args, part) in [
        (&["dis", "k.o", "--format", "objdump"][..], "--format is not for cayman"),
        (&["dis", "k.o", "--kernel", "no"], "there is no program `no`"),
        (&["explain", "--target", "cayman", "mvo"], "`mvo`"),
        (&["explain", "--target", "cayman", "--clause", "alu", "0000"], "truncated"),
        (&["asm", "rule.s", "--target", "gfx906", "--filetype", "bin"], "--filetype bin is for cayman"),
    ] {
        let output = folder.run(args);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{args:?}: {:?}", output.status);
        assert!(err(&output).contains(part), "{args:?}: {}", err(&output));
    }
}

#[test]
fn instructions_are_described() {
    let folder = Folder::new("cayman_explain");
    let explain = |words: &[&str]| {
        let args = [&["explain", "--target", "cayman"], words].concat();
        out(&expect(&folder, 0, &args))
    };
    let row = explain(&["MULADD_IEEE"]);
    assert!(row.contains("opcode     24") && row.contains("sources    f32, f32, f32"), "{row}");
    let word = explain(&["0x05,0x00,0x00,0x00,0x01,0x00,0x80,0x82"]);
    assert!(word.starts_with("jump @5 pop:1\n"), "{word}");
    assert!(word.lines().any(|line| line.split_whitespace().eq(["pop", "34:32", "1"])), "{word}");
    let group = explain(&["x: mov r0.x, 0x7"]);
    assert!(group.contains("literal x: 0x00000007"), "{group}");
    for (format, ending) in [("md", "md"), ("html", "html")] {
        expect(&folder, 0, &["isa", "--target", "cayman", "--format", format, "--out", "pages"]);
        let read =
            |page: &str| std::fs::read_to_string(folder.0.join(format!("pages/{page}.{ending}"))).unwrap();
        let [code, name] = [read("instruction/op3_muladd_ieee"), read("format/rat")];
        assert!(code.contains("24") && code.contains("f32, f32, f32"), "{code}");
        assert!(name.contains("86:1"), "{name}");
    }
}
