//! No file of the user is lost. Logs and results replace no file that is read or compared, and not
//! each other. Failed writes are reported.

use std::process::Stdio;

use crate::common::{Folder, err, said};

/// Files that commands read; each keeps its contents, whatever the options.
const KEPT: [&str; 6] = ["vector_add.co", "k.toml", "in.bin", "ref.bin", "source.s", "host.txt"];

const RUN: [&str; 10] = [
    "run",
    "vector_add.co",
    "--grid",
    "1",
    "--block",
    "64",
    "a:f32[64]=@in.bin",
    "b:f32[64]",
    "c:f32[64]",
    "n=64",
];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.object("gfx942", "vector_add");
    folder.file(
        "k.toml",
        "object = 'vector_add.co'\ngrid = 1\nblock = 64\n\
         args = ['a:f32[64]=@in.bin', 'b:f32[64]', 'c:f32[64]', 'n=64']\nexpect = ['c=@ref.bin']\n",
    );
    folder.file("in.bin", [0; 256]);
    folder.file("ref.bin", [0; 256]);
    folder.file("source.s", "s_endpgm\n");
    folder.file("host.txt", "a file of somebody\n");
    folder
}

fn contents(folder: &Folder) -> Vec<Vec<u8>> {
    KEPT.iter().map(|name| std::fs::read(folder.0.join(name)).unwrap()).collect()
}

#[test]
fn a_log_replaces_logs_only() {
    let folder = folder("log_replaces");
    let before = contents(&folder);
    let commands: [&[&str]; 8] = [
        &["dis", "vector_add.co"],
        &["info", "vector_add.co"],
        &["asm", "source.s", "--target", "gfx942"],
        &["explain", "s_endpgm"],
        &["targets"],
        &["isa", "--out", "pages"],
        &["run", "k.toml"],
        &[&RUN[..], &["--expect", "c=@ref.bin"]].concat(),
    ];
    for command in commands {
        for file in KEPT {
            let message = said(&folder, 2, &[command, &["--log-file", file]].concat());
            let wanted = format!(
                "error: --log-file: `{file}` already exists and is not a log, so it is not overwritten\n"
            );
            assert!(message.starts_with(&wanted), "{message}");
            assert_eq!(contents(&folder), before, "{command:?} {file}");
        }
    }
    assert!(!folder.0.join("pages").exists());
    // New files, empty ones and earlier logs become logs, whatever their format.
    folder.file("empty.log", "");
    for format in ["human", "json", "human"] {
        for log in ["new.log", "empty.log"] {
            said(&folder, 0, &["run", "k.toml", "--log-file", log, "--message-format", format]);
            let text = std::fs::read_to_string(folder.0.join(log)).unwrap();
            assert!(text.contains("log of wavemill ") && text.contains("instructions in "), "{text}");
            assert_eq!(text.starts_with('{'), format == "json", "{text}");
            assert_eq!(text.matches("log of wavemill ").count(), 1, "{text}");
        }
    }
    // A rejected command leaves an earlier log unchanged, and creates no new one.
    let earlier = std::fs::read(folder.0.join("new.log")).unwrap();
    for log in ["new.log", "other.log"] {
        said(&folder, 3, &["info", "none.co", "--log-file", log]);
    }
    assert_eq!(std::fs::read(folder.0.join("new.log")).unwrap(), earlier);
    assert!(!folder.0.join("other.log").exists());
}

#[test]
fn a_log_is_not_what_the_command_writes() {
    let folder = folder("log_and_results");
    let both = |args: &[&str], log: &str| {
        let message = said(&folder, 2, &[args, &["--log-file", log]].concat());
        assert!(message.starts_with("error: --log-file: `"), "{message}");
        message
    };
    assert!(both(&[&RUN[..], &["--out", "c=f.npy"]].concat(), "./f.npy").contains("is also --out"));
    assert!(!folder.0.join("f.npy").exists());
    both(&[&RUN[..], &["--trace", "--trace-file", "t"]].concat(), "t");
    both(&[&RUN[..], &["--isa-coverage", "t"]].concat(), "t");
    both(&["asm", "source.s", "--target", "gfx942", "--out", "x.o"], "x.o");
    std::fs::create_dir_all(folder.0.join("pages/man")).unwrap();
    both(&["man", "--out", "pages/man"], "pages/man/wavemill-run.1");
    both(&["isa", "--out", "pages"], "pages/index.html");
    // Nor an input, even if it is empty.
    folder.file("nothing.s", "");
    both(&["asm", "nothing.s", "--target", "gfx942"], "nothing.s");
    #[cfg(unix)]
    {
        // A file has many names.
        folder.file("one.npy", "");
        std::fs::hard_link(folder.0.join("one.npy"), folder.0.join("two.npy")).unwrap();
        both(&[&RUN[..], &["--out", "c=one.npy"]].concat(), "two.npy");
        std::os::unix::fs::symlink("three.npy", folder.0.join("link")).unwrap();
        both(&[&RUN[..], &["--out", "c=three.npy"]].concat(), "link");
        let log = std::fs::File::create(folder.0.join("out.log")).unwrap();
        let output =
            folder.command().args(["targets", "--log-file", "out.log"]).stdout(log).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains("`out.log` is also the standard output"), "{}", err(&output));
    }
}

#[test]
fn results_do_not_replace_what_they_are_compared_with() {
    let folder = folder("out_and_expect");
    let before = contents(&folder);
    let outs = ["c=ref.bin", "c=./ref.bin", "a=ref.bin"];
    for out in outs {
        let message = said(&folder, 2, &[&RUN[..], &["--expect", "c=@ref.bin", "--out", out]].concat());
        assert!(message.contains("ref.bin` is also a file with expected contents"), "{message}");
        // The launch file also expects it.
        let message = said(&folder, 2, &["run", "k.toml", "--out", out]);
        assert!(message.contains("ref.bin` is also a file with expected contents"), "{message}");
    }
    assert_eq!(contents(&folder), before);
}

#[test]
fn no_two_results_go_to_one_file() {
    let folder = folder("two_outputs");
    let absolute = format!("a={}", folder.0.join("o.npy").display());
    for other in ["a=o.npy", "a=./o.npy", "c[0]=o.npy", &absolute] {
        let message = said(&folder, 2, &[&RUN[..], &["--out", "c=o.npy", "--out", other]].concat());
        assert!(message.contains("o.npy` is written more than once"), "{message}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("o.npy", folder.0.join("link.npy")).unwrap();
        let message = said(&folder, 2, &[&RUN[..], &["--out", "c=o.npy", "--out", "a=link.npy"]].concat());
        assert!(message.contains("`link.npy` is written more than once"), "{message}");
    }
    let head = "object = 'vector_add.co'\ngrid = 1\nblock = 64\nargs = ['a:f32[64]', 'b:f32[64]', 'c:f32[64]', 'n=64']\n";
    for (above, first, second) in [
        ("", "a=o.npy", "a=o.npy"),
        ("", "a=o.npy", "c=./o.npy"),
        ("out = ['c=o.npy']\n", "b=p.npy", "a=o.npy"),
    ] {
        let tables = [first, second].map(|out| format!("[[launch]]\nout = ['{out}']\n")).concat();
        folder.file("two.toml", format!("{head}{above}{tables}"));
        let message = said(&folder, 2, &["run", "two.toml"]);
        assert!(message.contains("o.npy` is written more than once"), "{message}");
    }
    assert!(!folder.0.join("o.npy").exists());
}

/// Without disk space, nothing is written, and the failure is reported.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_an_error() {
    let folder = folder("full");
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    for args in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["targets"],
        &["man", "run"],
        &["completions", "bash"],
        &["info", "vector_add.co"],
        &["dis", "vector_add.co"],
        &["explain", "s_endpgm"],
        &[&RUN[..], &["--print", "c"]].concat(),
    ] {
        let output = folder.command().args(args).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", err(&output));
        assert!(err(&output).contains("cannot write the standard output: "), "{args:?}: {}", err(&output));
    }
    let message = said(&folder, 3, &[&RUN[..], &["--log-file", "/dev/full"]].concat());
    assert!(message.contains("error: --log-file: cannot write `/dev/full`: "), "{message}");
    let trace = [&RUN[..], &["--trace"]].concat();
    let message = said(&folder, 3, &[&trace[..], &["--trace-file", "/dev/full"]].concat());
    assert!(message.contains("error: cannot write `/dev/full`: "), "{message}");
    // The run ends with the trace.
    let long = ["--trace-file", "/dev/full", "--repeat", "1000000000"];
    let message = said(&folder, 3, &[&trace[..], &long].concat());
    assert!(message.contains("error: cannot write `/dev/full`: "), "{message}");
    let output = folder.command().args(trace).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "a trace that nobody could see");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_found_before_the_launch() {
    let folder = folder("no_new_files");
    let message = said(&folder, 3, &[&RUN[..], &["--out", "c=/proc/wavemill.npy"]].concat());
    assert!(message.starts_with("error: --out: cannot write `/proc/wavemill.npy`: "), "{message}");
    // A folder that accepts files contains only the result.
    let before = std::fs::read_dir(&folder.0).unwrap().count();
    said(&folder, 0, &[&RUN[..], &["--out", "c=c.npy"]].concat());
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), before + 1);
}

#[test]
fn arguments_for_a_compiler_that_does_not_run_are_warned_of() {
    let folder = folder("no_compiler");
    let message = said(&folder, 0, &[&RUN[..], &["--clang-arg=-DN=3"]].concat());
    let warning = "warning: arguments for clang (--clang-arg, clang-args) have no effect: no launch has a source in OpenCL C or HIP\n";
    assert!(message.starts_with(warning), "{message}");
}
