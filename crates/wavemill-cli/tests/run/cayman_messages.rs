//! Messages about programs of Cayman: reports in its own words, machine code alone, launch files.

use serde_json::{Value, json};

use crate::common::{Folder, err, expect, out, repository, said};

fn folder(name: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(name);
    for (file, text) in files {
        folder.file(file, text);
    }
    folder
}

/// LDS of the stages that are no kernels: the lanes write and read it.
#[test]
fn lds_belongs_to_all_stages() {
    for stage in ["ps", "vs", "gs"] {
        let source = format!(
            "        .program p\n        .stage {stage}\n        .lds 4096\n        .gprs 8\n        alu c\n        \
             export_done param0, r6.xyzw\n        end\n\
             c:      x: lshl_int r5.x, r0.x, 2\n        y: add_int r5.y, r0.x, 0x10 ;;\n        \
             x: lds_write r5.x, r5.y ;;\n        x: lds_read_ret r5.x ;;\n        x: mov r6.x, oqa.pop ;;\n"
        );
        let folder = folder(&format!("cayman_lds_{stage}"), &[("p.s", &source)]);
        expect(&folder, 0, &["asm", "p.s", "--target", "cayman", "-o", "p.o"]);
        let text = out(&expect(&folder, 0, &["info", "p.o"]));
        assert!(text.contains("LDS         4096 bytes"), "{text}");
        let text = out(&expect(&folder, 0, &["dis", "p.o"]));
        assert!(text.contains(".lds 4096"), "{text}");
        for file in ["p.s", "p.o"] {
            let line = ["run", file, "--target", "cayman", "--grid", "1", "--block", "4", "o:u32[4,4]"];
            let more = ["--bind", "param0=o", "--print", "o[:,0]"];
            let output = expect(&folder, 0, &[&line[..], &more].concat());
            assert_eq!(out(&output), "o[:,0] = [16, 17, 18, 19]\n", "{stage}");
            assert!(!err(&output).contains("beyond"), "{}", err(&output));
        }
    }
}

/// Machine code alone runs with the registers and the stack that the assembler computes.
#[test]
fn machine_code_runs() {
    let folder = Folder::new("cayman_machine_code");
    let source = repository().join("examples/cayman/saxpy.s");
    expect(&folder, 0, &["asm", source.to_str().unwrap(), "--target", "cayman", "-o", "saxpy.bin"]);
    let arguments = ["x:f32[70]=iota", "y:f32[70]=1", "a:f32=2", "n:u32=69", "--print", "y[67:]"];
    let line = ["run", "saxpy.bin", "--target", "cayman", "--global-size", "70", "--block", "64"];
    assert_eq!(out(&expect(&folder, 0, &[&line[..], &arguments].concat())), "y[67:] = [135.0, 137.0, 1.0]\n");
    // A call of itself has no bound on the stack.
    folder.file("endless.s", "here:   call @here\n        end\n");
    expect(&folder, 0, &["asm", "endless.s", "--target", "cayman", "-o", "endless.bin"]);
    let run = |file: &'static str| ["run", file, "--target", "cayman", "--grid", "1", "--block", "4"];
    let message = said(&folder, 3, &run("endless.bin"));
    assert!(message.contains("the stack that the machine code needs is not known"), "{message}");
    assert!(message.contains("object file (`-o k.o`) of a source with `.stack N`"), "{message}");
    // Other data is none.
    folder.file("other.bin", [0xff; 24]);
    let message = said(&folder, 3, &run("other.bin"));
    assert!(message.contains("unknown data that begins with the bytes [ff, ff, ff, ff]"), "{message}");
    assert!(
        message.contains("no machine code of Cayman either") && message.contains("byte 0x0"),
        "{message}"
    );
}

#[test]
fn advice_is_that_of_cayman() {
    let folder = folder(
        "cayman_advice",
        &[
            ("table.s", "        .program t\n        .long 1, 2, 3\n"),
            (
                "gds.s",
                "        .program p\n        alu i\n        gds g\n        end\ni:      x: mov r2.x, 0x10000 ;;\n\
                 g:      gds_write r2.xyz\n",
            ),
            (
                "sync.s",
                "        .program p\n        global_wave_sync barrier value:9 resource:2\n        end\n",
            ),
            ("group.s", "        .program p\n        alu c\n        end\nc:      x: group_barrier ;;\n"),
        ],
    );
    let run = |file: &'static str| ["run", file, "--target", "cayman", "--grid", "1", "--block", "64"];
    let message = said(&folder, 3, &run("table.s"));
    assert!(message.contains("only tables of constants") && message.contains("examples/cayman"), "{message}");
    assert!(!message.contains("amdhsa"), "{message}");
    let message = said(&folder, 4, &run("gds.s"));
    assert!(message.contains("at byte 65536 of the global data share, which has 65536 bytes"), "{message}");
    assert!(!message.contains("M0"), "{message}");
    let message = said(&folder, 4, &run("sync.s"));
    assert!(
        message.contains("VALUE of `global_wave_sync`") && !message.contains("--cooperative"),
        "{message}"
    );
    assert!(message.contains("control flow word @0"), "{message}");
    let line = [&run("group.s")[..], &["x[100]=iota"]].concat();
    let message = said(&folder, 2, &line);
    assert!(
        message.contains("no code object describes it") && message.contains("x:TYPE[COUNT]"),
        "{message}"
    );
    assert!(!message.contains("8 bytes"), "{message}");
}

/// Stopped waves are in a clause, and the report says where.
#[test]
fn limits_name_clause_and_group() {
    let source = "        .program forever\n        loop_start_dx10 @3\n        alu     step\n        loop_end @1\n        end\n\
                  step:   x: add_int r2.x, r2.x, 1 ;;\n";
    let folder = folder("cayman_limits", &[("forever.s", source)]);
    let line = ["run", "forever.s", "--target", "cayman", "--grid", "1", "--block", "64"];
    let limit = ["--max-instructions", "1000"];
    let message = said(&folder, 124, &[&line[..], &limit].concat());
    let place = "control flow word @1 (alu @4 count:0), ALU clause @4, group 1, slot x";
    assert!(message.contains(place), "{message}");
    let json = [&line[..], &limit, &["--message-format", "json"]].concat();
    let text = said(&folder, 124, &json);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        last["waves"][0]["clause"],
        json!({
            "control": 1, "control_text": "alu @4 count:0", "kind": "alu", "address": 4, "number": 1,
            "slot": "x", "constants": null,
        }),
        "{last}"
    );
}

/// Each group of a clause has its own address in a trace.
#[test]
fn traces_have_the_addresses_of_groups() {
    let source = "        .program p\n        alu c\n        end\nc:      x: mov r2.x, 1 ;;\n        x: mov r2.x, 2 ;;\n        \
                  x: mov r3.x, 0 ;;\n";
    let folder = folder("cayman_trace", &[("p.s", source)]);
    let line = ["run", "p.s", "--target", "cayman", "--grid", "1", "--block", "4", "--trace"];
    let text = said(&folder, 0, &line);
    // Two words of control flow; the literal 2 takes a word.
    for (offset, word) in
        [("0x0000", "alu"), ("0x0010", "x: mov"), ("0x0018", "x: mov"), ("0x0028", "x: mov")]
    {
        assert!(text.contains(&format!("p+{offset}  {word}")), "{text}");
    }
}

/// Arguments above the launches are for all of them.
#[test]
fn launches_share_arguments() {
    let folder = folder(
        "cayman_launches",
        &[
            (
                "p.s",
                "        .program p\n        .gprs 6\n        alu c\n        export_done param0, r5.xyzw\n        end\n\
                 c:      x: add_int r5.x, r2.x, 1 ;;\n",
            ),
            (
                "bound.toml",
                "object = \"p.s\"\ntarget = \"cayman\"\ngrid = 1\nblock = 4\n\
                 args = [\"i:u32[4]=iota\", \"o:u32[4,4]\"]\nprint = [\"o[:,0]\"]\n\
                 [[launch]]\nbind = [\"r2.x=i\", \"param0=o\"]\n\
                 [[launch]]\nbind = [\"r2.x=7\", \"param0=o\"]\n\
                 [[launch]]\nargs = [\"q:u32[4,4]\"]\nbind = [\"r2.x=i\", \"param0=q\"]\nprint = [\"q[:,0]\"]\n",
            ),
            (
                "positional.toml",
                "object = \"SAXPY\"\ntarget = \"cayman\"\nglobal-size = 4\nblock = 4\n\
                 args = [\"x:f32[4]=iota\", \"y:f32[4]=1\", \"a:f32=2\", \"n:u32=4\"]\nprint = [\"y\"]\n\
                 [[launch]]\n[[launch]]\n",
            ),
            (
                "unused.toml",
                "object = \"p.s\"\ntarget = \"cayman\"\ngrid = 1\nblock = 4\n\
                 args = [\"o:u32[4,4]\", \"more:u32[4]\"]\n[[launch]]\nbind = [\"param0=o\"]\n",
            ),
        ],
    );
    let source = repository().join("examples/cayman/saxpy.s");
    std::fs::copy(source, folder.0.join("saxpy.s")).expect("a copy");
    let text = std::fs::read_to_string(folder.0.join("positional.toml")).expect("a file");
    folder.file("positional.toml", text.replace("SAXPY", "saxpy.s"));
    let text = out(&expect(&folder, 0, &["run", "bound.toml"]));
    assert_eq!(text, "q[:,0] = [1, 2, 3, 4]\no[:,0] = [8, 8, 8, 8]\n");
    // y = 2 x + y, twice.
    let text = out(&expect(&folder, 0, &["run", "positional.toml"]));
    assert_eq!(text, "y = [1.0, 5.0, 9.0, 13.0]\n");
    let message = said(&folder, 2, &["run", "unused.toml"]);
    assert!(message.contains("argument `more:u32[4]`: no launch uses it"), "{message}");
}

/// A group that reads constants of a buffer that the launch does not have.
#[test]
fn absent_constant_buffers_have_their_names() {
    let folder = folder(
        "cayman_absent_constants",
        &[
            (
                "direct.s",
                "        .program p\n        alu c, kc0=cb3[16:31]\n        end\nc:      x: mov r2.x, kc0[1].y ;;\n",
            ),
            (
                "indexed.s",
                "        .program p\n        alu i\n        alu_extended alu c, kc0=cb3+idx0[0:15]\n        end\n\
                 i:      x: mova_int cf_idx0, r2.x ;;\nc:      x: mov r2.x, kc0[1].x ;;\n",
            ),
        ],
    );
    let run = |file: &'static str, bindings: &[&'static str]| {
        let line = ["run", file, "--target", "cayman", "--grid", "1", "--block", "4", "k:u32[64]"];
        said(&folder, 4, &[&line[..], bindings].concat())
    };
    // Line 1 begins at byte 256; constant 1 is 16 bytes later, its channel y 4 more.
    let message = run("direct.s", &["--bind", "cb0=k"]);
    let first = "illegal load of 4 bytes at byte 276 of constant buffer 3, which the launch does not have";
    assert!(message.contains(first), "{message}");
    assert!(message.contains("kc0 is in cb3, which the launch does not have: bind a buffer"), "{message}");
    assert!(message.contains("such as cb3=NAME") && !message.contains("kernel arguments"), "{message}");
    let message = run("direct.s", &[]);
    assert!(message.contains("without bindings, a launch has cb0 alone"), "{message}");
    // An index register adds to the number of the buffer.
    let message = run("indexed.s", &["--bind", "cb0=k", "--bind", "r2.x=2"]);
    assert!(message.contains("byte 16 of constant buffer 5"), "{message}");
    let message = run("indexed.s", &["--bind", "cb0=k", "--bind", "r2.x=20"]);
    assert!(message.contains("cb23") && message.contains("the last is cb15"), "{message}");
    // A buffer that is too short is another fault.
    let message = run("direct.s", &["--bind", "cb3=k"]);
    assert!(message.contains("past the end of `k`") && !message.contains("constants  "), "{message}");
}

/// What the manual leaves without a meaning is illegal, in the words of the rule that it breaks; the
/// assembler warns in the same words.
#[test]
fn broken_rules_are_no_missing_features() {
    let texts = [
        // (name, clause or control flow, rule, location in the report)
        ("format", "tc c", "vfetch r2.xyzw, r0.x, buf:1", "found 0 (FMT_INVALID)", "fetch 1"),
        ("buffer", "tc c", "vfetch r2.xyzw, r0.x, buf:200 fmt:32 int", "from 0 to 159", "fetch 1"),
        ("texture", "tc c", "ld r2.xyzw, r0.xyzw, res:176 ct:uuuu", "found 176", "fetch 1"),
        ("modifier", "tc c", "ld r2.xyzw, r0.xyzw, res:1 ct:uuuu inst_mod:3", "(0, 1), found 3", "fetch 1"),
        ("queue", "alu c", "x: mov r2.x, oqa.pop ;;", "an entry in LDS queue A", "slot x"),
        ("temporary", "alu c", "y: mov r2.y, r[ar+125].x ;;", "found one of r125", "slot y"),
        ("target", "export pix8, r0.xyzw", "x: nop ;;", "from 0 to 7 or 61", "control flow word @0"),
        ("window", "alu c, kc0=cb0[0:15]", "x: mov r2.x, kc0[16].x ;;", "found kc0[16]", "slot x"),
    ];
    for (name, word, clause, rule, location) in texts {
        let source =
            format!("        .program p\n        .gprs 4\n        {word}\n        end\nc:      {clause}\n");
        let folder = folder(&format!("cayman_illegal_{name}"), &[("p.s", &source)]);
        let warning = err(&expect(&folder, 0, &["asm", "p.s", "--target", "cayman", "-o", "p.o"]));
        assert!(warning.contains("warning: expected") && warning.contains(rule), "{name}: {warning}");
        let message = said(&folder, 4, &["run", "p.o", "--grid", "1", "--block", "4"]);
        assert!(message.contains("illegal instruction: ") && message.contains(rule), "{name}: {message}");
        assert!(message.contains(location), "{name}: {message}");
        assert!(!message.contains("does not implement"), "{name}: {message}");
    }
}

/// Rules of the stack and of clause temporaries are warnings; a program that breaks them may run.
#[test]
fn stacks_loops_and_temporaries_have_rules() {
    for (name, source, rule) in [
        (
            "pop",
            "pop @1 pop:1\n        end\n",
            "expected a push for each pop, found 1 popped or read of 0 pushed",
        ),
        ("loop", "loop_start_dx10 @1\n        end\n", "expected a LOOP_END for the loop, found none"),
        ("break", "loop_break @1\n        end\n", "expected LOOP_START* before the word"),
        (
            "clauses",
            "alu a\n        alu b\n        end\na:      x: mov r127.x, 7 ;;\nb:      x: mov r1.x, r127.x ;;\n",
            "expected a write of clause temporary r127.x in an earlier group of the clause",
        ),
        (
            "export",
            "alu a\n        export_done param0, r126.xyzw\n        end\na:      x: mov r126.x, 7 ;;\n",
            "expected a register that keeps its value between clauses, found clause temporary r126",
        ),
    ] {
        let source = format!("        .program p\n        .gprs 4\n        {source}");
        let folder = folder(&format!("cayman_rule_{name}"), &[("p.s", &source)]);
        let warning = err(&expect(&folder, 0, &["asm", "p.s", "--target", "cayman", "-o", "p.o"]));
        assert_eq!(warning.matches("warning:").count(), 1, "{name}: {warning}");
        assert!(warning.contains(rule), "{name}: {warning}");
        let text = out(&expect(&folder, 0, &["info", "p.o"]));
        assert!(text.contains("rule: ") && text.contains(rule), "{name}: {text}");
    }
}
