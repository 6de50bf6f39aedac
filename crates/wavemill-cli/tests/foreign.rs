//! Names and texts from outside: control characters for terminals are escaped, and long text is
//! cut.

use crate::common::{Folder, err, out};

/// Characters that no output may contain: a change of the writing direction, an invisible
/// character, and the start of a terminal command.
const HOSTILE: [char; 4] = ['\u{202e}', '\u{200b}', '\u{2066}', '\u{1b}'];

/// The output of a command contains no hidden characters, and no line that begins with a name.
fn check(folder: &Folder, args: &[&str], shows: &str) {
    let output = folder.run(args);
    let said = format!("{}{}", out(&output), err(&output));
    assert!(!said.contains(HOSTILE), "{args:?}: {said:?}");
    assert!(!said.lines().any(|line| line.starts_with("forged")), "{args:?}: {said}");
    assert!(said.contains(shows), "{args:?}: expected {shows}, found {said}");
}

/// `vector_add` with its kernel renamed to a name of the same length.
fn renamed(name: &str) -> Vec<u8> {
    let folder = Folder::new("foreign_object");
    folder.object("gfx942", "vector_add");
    let old = b"vector_add";
    assert_eq!(name.len(), old.len());
    let mut data = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    while let Some(at) = data.windows(old.len()).position(|window| window == old) {
        data[at..at + old.len()].copy_from_slice(name.as_bytes());
    }
    data
}

#[test]
fn names_of_kernels() {
    let folder = Folder::new("foreign_kernels");
    // Ten bytes each.
    folder.file("line.co", renamed("a\nforged b"));
    folder.file("marks.co", renamed("a\u{202e}\u{200b}\u{2066}"));
    folder.file("terminal.co", renamed("a\u{1b}[31mbcde"));
    for (file, shown) in [
        ("line.co", r"a\nforged b"),
        ("marks.co", r"a\u{202e}\u{200b}\u{2066}"),
        ("terminal.co", r"a\u{1b}[31mbcde"),
    ] {
        check(&folder, &["info", file], shown);
        check(&folder, &["dis", file, "--format", "listing"], shown);
        check(&folder, &["dis", file], "s_endpgm");
        check(&folder, &["run", file], shown);
        check(&folder, &["run", file, "--kernel", "other"], shown);
        check(&folder, &["info", file, "--kernel", "other"], "no kernel's name contains");
        let fault =
            ["run", file, "--grid", "1", "--block", "64", "a:f32[4]", "b:f32[4]", "c:f32[4]", "n:u32=64"];
        check(&folder, &fault, shown);
        check(&folder, &[&fault[..], &["--stats"]].concat(), shown);
        let trace = [&fault[..], &["--trace"]].concat();
        check(&folder, &trace, shown);
        check(&folder, &["run", file, "--init"], "object =");
    }
}

#[test]
fn names_of_files_and_arguments() {
    let folder = Folder::new("foreign_files");
    let source = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\nv_mov_b33 v0, v1\n";
    for (name, shown) in [
        ("a\nforged", r"a\nforged"),
        ("a\u{202e}b\u{200b}\u{2066}", r"a\u{202e}b\u{200b}\u{2066}"),
        ("a\u{1b}[31m", r"a\u{1b}[31m"),
    ] {
        check(&folder, &["info", name], shown);
        check(&folder, &["run", name], shown);
        check(&folder, &[name], "unrecognized subcommand");
        folder.file(name, "text");
        for args in [&["info", name][..], &["dis", name], &["run", name], &["info", name, "--target", name]] {
            check(&folder, args, "error:");
        }
        folder.file(name, source);
        check(&folder, &["asm", name], shown);
        check(&folder, &["asm", "--message-format", "short", name], shown);
        folder.object("gfx942", "vector_add");
        std::fs::rename(folder.0.join("vector_add.co"), folder.0.join(name)).unwrap();
        check(&folder, &["run", name], "missing:");
        check(&folder, &["run", name, "--grid", "1", &format!("{name}:f32[4]=iota")], "error:");
        check(&folder, &["dis", name], "s_endpgm");
        check(&folder, &["dis", name, "--format", "listing"], shown);
    }
}

/// A text with a line end, a terminal's command and a change of the writing direction, and how messages quote it.
const TEXT: &str = "a\nforged\u{1b}[31m\u{202e}b";
const QUOTED: &str = r"a\nforged\u{1b}[31m\u{202e}b";

/// A failing command quotes the text on one line, as text and as JSON.
fn quotes(folder: &Folder, args: &[&str]) {
    check(folder, args, QUOTED);
    let said = err(&folder.run(&[&["--message-format", "json"], args].concat()));
    assert!(!said.contains(HOSTILE), "{args:?}: {said:?}");
    let last: serde_json::Value = serde_json::from_str(said.lines().last().unwrap_or_default()).unwrap();
    let text = format!("{}{}", last["message"], last["help"]);
    // JSON doubles backslashes.
    assert!(last["kind"] == "error" && text.contains(&QUOTED.replace('\\', "\\\\")), "{args:?}: {said}");
}

const ADD: [&str; 10] =
    ["run", "vector_add.co", "--grid", "1", "--block", "64", "a:f32[64]", "b:f32[64]", "c:f32[64]", "n=64"];

#[test]
fn values_of_options() {
    let folder = Folder::new("foreign_values");
    folder.object("gfx942", "vector_add");
    let with = |before: &str, after: &str| format!("{before}{TEXT}{after}");
    for option in [
        "--kernel=",
        "--offset=",
        "--dynamic-lds=",
        "--stack=",
        "--repeat=",
        "--target=",
        "--print=",
        "--print=c:",
        "--print=c[:4]:",
        "--print=c[",
        "--out=",
        "--out=c=",
        "--out=c=c.png,range=",
        "--out=c=c.png,palette=",
        "--out=c=nowhere/",
        "--expect=",
        "--expect=c=",
        "--expect=c[",
        "--expect=c[:4]",
        "--printf-buffer=",
        "--strict=",
        "--poison=",
        "--timeout=",
        "--max-instructions=",
        "--isa-coverage=nowhere/",
        "--stats=",
        "--threads=",
        "--tier=",
        "--engine=",
        "--heap=",
        "--max-decompressed=",
        "--address-mode=",
        "--log-file=nowhere/",
        "--color=",
        "--no-such-option-",
    ] {
        quotes(&folder, &[&ADD[..], &[&with(option, "")]].concat());
    }
    for end in ["]", "]=0"] {
        quotes(&folder, &[&ADD[..], &[&with("--expect=c[", end)]].concat());
        quotes(&folder, &[&ADD[..], &[&with("--print=c[", end)]].concat());
    }
    for option in ["--grid=", "--global-size=", "--block="] {
        quotes(&folder, &["run", "vector_add.co", &with(option, "")]);
    }
    for option in
        ["--trace-workgroup=", "--trace-wave=", "--trace-pc=", "--trace-pc=vector_add+0..", "--trace-format="]
    {
        quotes(&folder, &[&ADD[..], &["--trace", &with(option, "")]].concat());
    }
    quotes(&folder, &[&ADD[..], &["--expect", "c=0", &with("--tolerance=", "")]].concat());
    for (before, after) in [
        ("", ""),
        ("a:", "[4]=1"),
        ("a:f32[", "]=1"),
        ("a:f32[4]=", ""),
        ("a:f32[4]=@", ""),
        ("a=&", ""),
        ("a=local:", ""),
        ("a=bytes:", ""),
        ("a:f32[4]=iota(", ")"),
        ("a:f32[4]=random(", ")"),
        ("a:f32[4]=[1,2,3,", "]"),
        ("", "=1"),
        ("n:u32=", ""),
    ] {
        let argument = with(before, after);
        quotes(&folder, &[&ADD[..6], &[&argument], &ADD[7..]].concat());
    }
    for args in [
        &["mc", "-mcpu", TEXT][..],
        &["mc", "-triple", TEXT],
        &["mc", "-mcpu=gfx942", TEXT],
        &["asm", "--target", TEXT, "-"],
        &["asm", "-D", &with("x=", ""), "-"],
        &["explain", "v_add_f32", TEXT],
        &["man", TEXT],
        &["bench", "--kernel", TEXT],
        &["info", "vector_add.co", "--kernel", TEXT],
        &["dis", "vector_add.co", "--kernel", TEXT],
        &["dis", "vector_add.co", "--format", TEXT],
        &["completions", TEXT],
    ] {
        quotes(&folder, args);
    }
    // An object is not a source, whatever its name.
    std::fs::rename(folder.0.join("vector_add.co"), folder.0.join(TEXT)).unwrap();
    quotes(&folder, &["asm", TEXT]);
}

#[test]
fn values_of_launch_files() {
    let folder = Folder::new("foreign_keys");
    folder.object("gfx942", "vector_add");
    let text = r#""a\nforged\u001b[31m\u202Eb""#;
    let rest = "object = 'vector_add.co'\ngrid = 1\nblock = 64\nargs = ['a:f32[64]', 'b:f32[64]', 'c:f32[64]', 'n=64']\n";
    for key in [
        "kernel",
        "target",
        "offset",
        "dynamic-lds",
        "stack",
        "tier",
        "engine",
        "address-mode",
        "heap",
        "printf-buffer",
        "strict",
    ] {
        folder.file("key.toml", format!("{key} = {text}\n{rest}"));
        quotes(&folder, &["run", "key.toml"]);
    }
    for key in ["print", "out", "expect"] {
        folder.file("list.toml", format!("{key} = [{text}]\n{rest}"));
        quotes(&folder, &["run", "list.toml"]);
    }
    for line in [
        format!("object = {text}"),
        format!("object = 'none.co'\ndownload = [{text}]"),
        format!("object = 'vector_add.co'\ngrid = {text}"),
        format!("object = 'vector_add.co'\ntolerance = {text}\nexpect = ['c=0']"),
        format!("object = 'vector_add.co'\nargs = [{text}]"),
        format!("object = 'vector_add.co'\n{text} = 1"),
        format!("object = 'vector_add.co'\n[[launch]]\n{text} = 1"),
    ] {
        folder.file("line.toml", line);
        quotes(&folder, &["run", "line.toml"]);
    }
    let name = format!("{TEXT}.toml");
    folder.file(&name, "grid = 1");
    quotes(&folder, &["run", &name]);
    folder.file("other.toml", "grid = 1");
    quotes(&folder, &["run", &name, "other.toml"]);
}

/// The id of a bundle's entry may be any text.
#[test]
fn ids_of_entries() {
    let folder = Folder::new("foreign_ids");
    folder.object("gfx942", "vector_add");
    let object = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let id = format!("hip{TEXT}-amdgcn-amd-amdhsa--gfx942");
    // Magic, number of entries; for the entry: offset, size, length of the id, id.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for number in [1, 4096, object.len() as u64, id.len() as u64] {
        bundle.extend(number.to_le_bytes());
    }
    bundle.extend(id.as_bytes());
    bundle.resize(4096, 0);
    bundle.extend(&object);
    folder.file("a.hipfb", bundle);
    for args in [
        &["info", "a.hipfb"][..],
        &["dis", "a.hipfb"],
        &["dis", "a.hipfb", "--format", "listing"],
        &["dis", "a.hipfb", "--format", "objdump"],
    ] {
        check(&folder, args, QUOTED);
    }
}

/// A message with a long quoted text still has its own words, and says once how much is omitted.
#[test]
fn reasons_stay_whole() {
    let folder = Folder::new("foreign_reasons");
    folder.object("gfx942", "vector_add");
    let long = "(".repeat(100_000);
    let argument = format!("a:f32[{long}]=iota");
    let target = format!("--target={long}");
    for (args, reason) in [
        (
            &["run", "vector_add.co", "--grid", &long][..],
            "is not a size; expected X, X,Y or XxYxZ, such as 64 or 16x16",
        ),
        (
            &["run", "vector_add.co", &argument],
            "is not a size; expected the number of elements, such as [1024] or [64,64]",
        ),
        (
            &["run", "vector_add.co", "--heap", &long],
            "is not a number of bytes; expected a number such as 65536",
        ),
        (&["run", "vector_add.co", &target], "(`wavemill targets` lists all targets)"),
        (&["explain", &long], "expected machine code in hexadecimal or a mnemonic, found `("),
        (&["run", &long], "cannot read `("),
    ] {
        for format in ["human", "json"] {
            let said = err(&folder.run(&[&["--message-format", format], args].concat()));
            assert!(said.contains(reason), "{reason}: {said}");
            assert!(!said.contains("more)..."), "{reason}: {said}");
        }
    }
    let long = "(".repeat(6_000_000);
    let rest = "object = 'vector_add.co'\ngrid = 1\n";
    for (line, reason) in [
        (format!("heap = '{long}'"), "is not a number of bytes; expected a number such as 65536"),
        (format!("args = ['a:f32[{long}]=0']"), "is not a size; expected the number of elements"),
        (format!("'{long}' = 1"), "expected one of `object`"),
    ] {
        folder.file("long.toml", format!("{rest}{line}\n"));
        let args = ["run", "long.toml", "--block", "64"];
        for format in ["human", "json"] {
            let said = err(&folder.run(&[&["--message-format", format], &args[..]].concat()));
            assert!(said.contains(reason), "{reason}: {said}");
            assert!((20..40_000).contains(&said.len()), "{reason}: {} bytes", said.len());
        }
    }
    // Sources: both forms of JSON are as short as the text, and have the reason.
    let long = "a".repeat(6_000_000);
    folder.file("long.s", format!("{long}\n.include \"{long}\"\ns_mov_b32 s0, {}\n", "9".repeat(6_000_000)));
    let reasons =
        ["there is no instruction `a", "in the folders of sources", "integers have at most 64 bits"];
    for args in [
        &["--message-format", "human"][..],
        &["--message-format", "short"],
        &["--message-format", "json"],
        &["--json"],
    ] {
        let output = folder.run(&[&["asm", "--target", "gfx942", "long.s"], args].concat());
        let said = format!("{}{}", out(&output), err(&output));
        assert!(reasons.iter().all(|reason| said.contains(reason)), "{args:?}: {said}");
        assert!((20..40_000).contains(&said.len()), "{args:?}: {} bytes", said.len());
    }
}

/// Messages stay short, whatever the user writes.
#[test]
fn long_texts_are_cut() {
    let folder = Folder::new("foreign_long");
    folder.object("gfx942", "vector_add");
    folder.file("a.s", "s_nop 0\n");
    let long = "(".repeat(100_000);
    let argument = format!("a:f32[{long}]=iota");
    let instruction = format!("v_mov_b32 v0, {long}");
    let defined = format!("a={long}");
    for args in [
        &["explain", &long][..],
        &["explain", "--target", "gfx942", &instruction],
        &["info", &long],
        &["info", "vector_add.co", "--kernel", &long],
        &["info", "vector_add.co", "--target", &long],
        &["dis", "vector_add.co", "--kernel", &long],
        &["run", "vector_add.co", "--grid", "1", &argument],
        &["run", "vector_add.co", "--kernel", &long],
        &["run", "vector_add.co", "--grid", &long],
        &[&long],
        &["asm", "--target", "gfx942", "--define", &defined, "a.s"],
    ] {
        for format in ["human", "json"] {
            let output = folder.run(&[&["--message-format", format], args].concat());
            let said = err(&output);
            assert!(!output.status.success());
            assert!((20..20_000).contains(&said.len()), "{}: {} bytes", args[0], said.len());
            assert!(said.contains("bytes more)"), "{}: {said}", args[0]);
        }
    }
    // Texts in files may be longer still.
    let long = "(".repeat(6_000_000);
    folder.file("long.toml", format!("object = \"vector_add.co\"\ngrid = 1\nargs = [\"a:f32[{long}]\"]\n"));
    folder.file("lines.toml", format!("object = \"{}\"\n", "\\n".repeat(3_000_000)));
    folder.file(
        "long.s",
        format!("v_mov_b32 v0, {long}\n.if {long}\n.set a, {long}\n{long}\n{}\n", "a".repeat(6_000_000)),
    );
    for args in [&["run", "long.toml"][..], &["run", "lines.toml"], &["asm", "--target", "gfx942", "long.s"]]
    {
        let said = err(&folder.run(args));
        assert!((20..80_000).contains(&said.len()), "{args:?}: {} bytes", said.len());
    }
}

#[test]
fn sources_that_are_none() {
    let folder = Folder::new("foreign_sources");
    folder.object("gfx942", "vector_add");
    let said = err(&folder.run(&["asm", "vector_add.co"]));
    assert_eq!(
        said,
        "error: `vector_add.co` is an ELF object with GPU code, not a source\n\n`wavemill dis vector_add.co` prints its source, \
         `wavemill info vector_add.co` shows its contents, `wavemill run vector_add.co` runs one of its kernels.\n"
    );
    for (name, language, help) in [
        ("k.cl", "OpenCL C", "`wavemill run k.cl` compiles it and runs a kernel."),
        ("k.hip.cpp", "HIP", "`wavemill run k.hip.cpp` compiles it and runs a kernel."),
        ("k.cpp", "C++", "A HIP source has a name that ends in .hip or .hip.cpp"),
        ("K.PY", "Python", "docs/compiling.md describes how to compile a Triton kernel"),
    ] {
        folder.file(name, "void f() {}\n");
        let said = crate::common::said(&folder, 3, &["asm", name]);
        let wanted = format!("error: `{name}` is a source ({language}), expected assembly\n\n{help}");
        assert!(said.starts_with(&wanted), "{said}");
    }
    // From the standard input, and for `mc`; the contents decide, not the name of a source.
    let object = std::fs::File::open(folder.0.join("vector_add.co")).unwrap();
    let said = err(&folder.command().args(["asm", "-"]).stdin(object).output().unwrap());
    let found =
        "error: `<stdin>` is an ELF object with GPU code, not a source\n\n`wavemill dis -` prints its source";
    assert!(said.starts_with(found), "{said}");
    for more in [&[][..], &["-disassemble"]] {
        let said =
            crate::common::said(&folder, 1, &[&["mc", "-mcpu=gfx942", "vector_add.co"], more].concat());
        assert!(
            said.starts_with("error: `vector_add.co` is an ELF object with GPU code, not a source\n"),
            "{said}"
        );
    }
    std::fs::copy(folder.0.join("vector_add.co"), folder.0.join("v.s")).unwrap();
    check(&folder, &["dis", "v.s"], "s_endpgm");
    check(&folder, &["info", "v.s"], "vector_add");
    check(&folder, &["run", "v.s"], "is an ELF object with GPU code, not a source");
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    for (file, expected) in [
        ("folder", "`folder` is a folder; expected a file"),
        #[cfg(target_os = "linux")]
        ("/dev/zero", "`/dev/zero` is a device; expected a regular file"),
        #[cfg(target_os = "linux")]
        ("/proc/self/fd/0", "expected a file: save it as one first"),
        ("nothing", "there is no file `nothing` in the folders of sources"),
    ] {
        folder.file("a.s", format!(".incbin \"{file}\"\n"));
        let mut command = folder.command();
        command.args(["asm", "--target", "gfx942", "a.s"]).stdin(std::process::Stdio::piped());
        let said = err(&command.output().unwrap());
        assert!(said.contains(expected), "{file}: {said}");
    }
    folder.file("late.s", ".if later == 3\n.endif\n.rept later\n.endr\n.if never\n.endif\nlater = 3\n");
    let said = err(&folder.run(&["asm", "--target", "gfx942", "late.s"]));
    let note = "note: `later` gets its value later, in line 7\n";
    assert_eq!(said.matches(note).count(), 2, "{said}");
    assert_eq!(said.matches("gets its value").count(), 2, "{said}");
}
