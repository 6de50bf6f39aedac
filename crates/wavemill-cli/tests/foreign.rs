//! Names and texts of others: what a terminal would obey is escaped, and what is long is cut.

use crate::common::{Folder, err, out};

/// A line end, a change of the writing direction, nothing visible, the start of a terminal's command: what no output has.
const HOSTILE: [char; 4] = ['\u{202e}', '\u{200b}', '\u{2066}', '\u{1b}'];

/// All that a command prints has nothing hidden, and no line that a name has begun.
fn check(folder: &Folder, args: &[&str], shows: &str) {
    let output = folder.run(args);
    let said = format!("{}{}", out(&output), err(&output));
    assert!(!said.contains(HOSTILE), "{args:?}: {said:?}");
    assert!(!said.lines().any(|line| line.starts_with("forged")), "{args:?}: {said}");
    assert!(said.contains(shows), "{args:?}: expected {shows}, found {said}");
}

/// `vector_add` with another name of its kernel, which has as many bytes.
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

/// Whatever people write, a message is no longer than they can read.
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
    // In files, texts may be longer still.
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
        "error: `vector_add.co` is an ELF object with GPU code, and no source\n\n`wavemill dis vector_add.co` prints its source, \
         `wavemill run vector_add.co` runs a kernel of it, `wavemill info vector_add.co` says what it holds.\n"
    );
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    for (file, expected) in [
        ("folder", "`folder` is a folder; expected a file"),
        #[cfg(target_os = "linux")]
        ("/dev/zero", "`/dev/zero` is a device; expected a file, which has an end"),
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
    let note = "note: `later` gets its value in line 7; it is needed before\n";
    assert_eq!(said.matches(note).count(), 2, "{said}");
    assert_eq!(said.matches("gets its value").count(), 2, "{said}");
}
