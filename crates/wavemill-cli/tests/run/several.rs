//! Several launch files in one run, and launch files from the standard input.

use std::io::Write as _;
use std::process::Stdio;

use crate::common::{Folder, ends, err, expect, out, said};

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.object("gfx942", "vector_add");
    let launch = |expected: &str| {
        format!(
            "object = 'vector_add.co'\ngrid = 1\nblock = 64\nexpect = ['{expected}']\n\
             args = ['a:f32[64]=iota', 'b:f32[64]', 'c:f32[64]', 'n=64']\n"
        )
    };
    folder.file("good.toml", launch("c=iota"));
    folder.file("wrong.toml", launch("c[:2]=[0,2]"));
    folder.file("fault.toml", launch("c=iota").replace("c:f32[64]", "c:f32[60]"));
    folder
}

/// Runs the command with something on its standard input.
fn piped(folder: &Folder, code: i32, args: &[&str], input: &[u8]) -> (String, String) {
    let mut command = folder.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    (out(&output), err(&output))
}

#[test]
fn launch_files_run_one_after_the_other() {
    let folder = folder("several");
    let output = expect(&folder, 0, &["run", "good.toml", "good.toml", "--print", "c[:2]"]);
    let one = "==> good.toml <==\nc[:2] = [0.0, 1.0]\nc: 64 elements as expected\n";
    assert_eq!(out(&output), [one, one].concat());
    assert!(err(&output).starts_with("good.toml: 1x1x1 workgroups x 64"), "{}", err(&output));
    // Launch files after a failing one run too; the exit code is the first failure's.
    let output = expect(&folder, 1, &["run", "wrong.toml", "fault.toml", "none.toml", "good.toml"]);
    assert!(out(&output).ends_with("==> good.toml <==\nc: 64 elements as expected\n"), "{}", out(&output));
    let messages = err(&output);
    for wanted in [
        "error: wrong.toml: c",
        "error: fault.toml: illegal store",
        "error: none.toml: there is no file",
        "error: 3 of 4 launch files failed: wrong.toml, fault.toml, none.toml\n",
    ] {
        assert!(messages.contains(wanted), "{wanted}: {messages}");
    }
    said(&folder, 4, &["run", "fault.toml", "wrong.toml"]);
    // Options and arguments apply to all of them.
    let message = said(&folder, 2, &["run", "good.toml", "good.toml", "x=1"]);
    assert!(message.contains("the kernel has no parameter `x`") && message.contains("2 of 2"), "{message}");
    let message = said(&folder, 2, &["run", "good.toml", "wrong.toml", "--out", "c=c.npy"]);
    assert!(message.starts_with("error: --out: 2 launch files would write the same file"), "{message}");
    assert!(!folder.0.join("c.npy").exists());
    let json = ["run", "good.toml", "wrong.toml", "--message-format", "json"];
    let messages = said(&folder, 1, &json);
    assert!(messages.lines().next().unwrap().contains("\"launch_file\":\"good.toml\""), "{messages}");
    assert!(messages.lines().last().unwrap().contains("\"failed\":[\"wrong.toml\"]"), "{messages}");
}

#[test]
fn the_standard_input_is_a_file() {
    let folder = folder("stdin");
    let object = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let launch = std::fs::read(folder.0.join("good.toml")).unwrap();
    let by_name = expect(&folder, 0, &["info", "vector_add.co"]);
    let (info, _) = piped(&folder, 0, &["info", "-"], &object);
    assert_eq!(info.lines().skip(1).collect::<Vec<_>>(), out(&by_name).lines().skip(1).collect::<Vec<_>>());
    let arguments =
        ["--grid", "1", "--block", "64", "a[64]=iota", "b[64]", "c[64]", "n=64", "--expect", "c=iota"];
    piped(&folder, 0, &[&["run", "-"], &arguments[..]].concat(), &object);
    let (_, message) = piped(&folder, 2, &["run", "-"], &object);
    assert!(message.contains("wavemill run - --kernel vector_add"), "{message}");
    // The paths of a launch file are relative to the current folder.
    piped(&folder, 0, &["run", "-"], &launch);
    let from_stdin = String::from_utf8(launch).unwrap().replace("vector_add.co", "-");
    folder.file("stdin.toml", &from_stdin);
    piped(&folder, 0, &["run", "stdin.toml"], &object);
    let (_, message) = piped(&folder, 3, &["run", "-"], b"nothing");
    assert!(message.starts_with("error: <stdin>: "), "{message}");
    let (_, message) = piped(&folder, 2, &["run", "-"], b"object = 'vector_add.co'\nblok = 4\n");
    assert!(message.starts_with("error: <stdin>: TOML parse error"), "{message}");
}

#[test]
fn disassembly_goes_to_a_file() {
    let folder = folder("dis_out");
    let text = out(&expect(&folder, 0, &["dis", "vector_add.co"]));
    for option in ["-o", "--out"] {
        let output = expect(&folder, 0, &["dis", "vector_add.co", option, "k.s"]);
        assert!(output.stdout.is_empty());
        assert_eq!(std::fs::read_to_string(folder.0.join("k.s")).unwrap(), text);
        std::fs::remove_file(folder.0.join("k.s")).unwrap();
    }
    assert_eq!(out(&expect(&folder, 0, &["dis", "vector_add.co", "-o", "-"])), text);
    let before = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let message = said(&folder, 2, &["dis", "vector_add.co", "-o", "./vector_add.co"]);
    assert!(message.starts_with("error: --out: `./vector_add.co` is also the input file"), "{message}");
    assert_eq!(std::fs::read(folder.0.join("vector_add.co")).unwrap(), before);
    let message = said(&folder, 3, &["dis", "vector_add.co", "-o", "nowhere/k.s"]);
    assert!(message.starts_with("error: cannot write `nowhere/k.s`: "), "{message}");
    #[cfg(target_os = "linux")]
    {
        let mut command = folder.command();
        let message = err(&ends(3, command.args(["dis", "vector_add.co", "-o", "/dev/full"])));
        assert!(message.contains("cannot write `/dev/full`: "), "{message}");
    }
}
