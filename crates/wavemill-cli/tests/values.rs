//! Values of options, of keys of launch files, and names from files: each has one check, wherever
//! it comes from.

use crate::common::{Folder, err, said};

const RUN: [&str; 10] =
    ["run", "vector_add.co", "--grid", "1", "--block", "64", "a:f32[64]", "b:f32[64]", "c:f32[64]", "n=64"];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.object("gfx942", "vector_add");
    folder
}

/// A kernel for a target with a setting.
const XNACK: &str = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a:xnack+\"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_endpgm
.size k, .-k
.section .rodata,\"a\",@progbits
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 1
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
";

/// Runs with a key in a launch file.
fn with_key(folder: &Folder, code: i32, line: &str) -> String {
    let rest = "object = 'vector_add.co'\ngrid = 1\nblock = 64\nargs = ['a:f32[64]', 'b:f32[64]', 'c:f32[64]', 'n=64']\n";
    folder.file("k.toml", format!("{line}\n{rest}"));
    said(folder, code, &["run", "k.toml"])
}

#[test]
fn keys_and_options_take_the_same_values() {
    let folder = folder("keys_and_options");
    for (name, good, bad) in [
        (
            "heap",
            &["4096", "65536", "64K", "1G", "64KiB", "0x10000"][..],
            &["0", "100", "64X", "64KB", "-1", "1.5"][..],
        ),
        ("printf-buffer", &["64", "64K", "4294967295"], &["0", "4", "63", "8G", "4294967296", "-1"]),
        ("threads", &["1", "1024"], &["0", "1025", "5000", "99999", "-1"]),
        ("repeat", &["1", "2"], &["0", "-1", "4294967296"]),
        ("dynamic-lds", &["0", "64", "16K", "16KiB", "0x100"], &["-1", "4294967296", "4G"]),
        ("timeout", &["10", "1e6"], &["0", "-1", "1e300", "nan"]),
    ] {
        let option = |value: &str| format!("--{name}={value}");
        let bytes = ["heap", "printf-buffer", "dynamic-lds"].contains(&name);
        // Numbers as numbers, and other values as the text of the option.
        let key = |value: &str| match value.parse::<f64>() {
            Ok(_) => format!("{name} = {value}"),
            Err(_) => format!("{name} = '{value}'"),
        };
        for value in good {
            said(&folder, 0, &[&RUN[..], &[&option(value)]].concat());
            with_key(&folder, 0, &key(value));
            if bytes {
                with_key(&folder, 0, &format!("{name} = '{value}'"));
            }
        }
        for value in bad {
            let messages = [
                said(&folder, 2, &[&RUN[..], &[&option(value)]].concat()),
                with_key(&folder, 2, &key(value)),
            ];
            for message in messages {
                for word in ["u32", "u64", "usize", "f64", "i128", "nonzero", "non-zero", "00000000000000"] {
                    assert!(!message.contains(word), "{name} {value}: {message}");
                }
            }
        }
    }
    let message = with_key(&folder, 2, "threads = 5000");
    assert!(
        message.contains("threads: expected a number of threads from 1 to 1024, found `5000`"),
        "{message}"
    );
    said(&folder, 2, &["bench", "--small", "--kernel", "vector_add", "--threads", "100000"]);
    let message = said(&folder, 2, &["bench", "--runs", "0"]);
    assert!(message.contains("expected a 32-bit number, 1 or more"), "{message}");
    let message = said(&folder, 2, &[&RUN[..6], &["a:f32[64]=random(1,nan,2)"], &RUN[7..]].concat());
    assert!(message.contains("an end of the range of `random` is not a number"), "{message}");
}

#[test]
fn traces_of_no_instruction_are_refused() {
    let folder = folder("trace_ranges");
    let traced =
        |code, range: &str| said(&folder, code, &[&RUN[..], &["--trace", "--trace-pc", range]].concat());
    for range in
        ["0x0..0x10", "0xffffffffffff0000..0xffffffffffffffff", "vector_add+0x1", "vector_add+1..3", "5"]
    {
        let message = traced(2, range);
        assert!(
            message.contains("--trace-pc: no instruction of the code of `vector_add` begins in"),
            "{message}"
        );
    }
    for range in ["vector_add+0x80..0x10", "0x80..0x10", "vector_add+4..4"] {
        let message = traced(2, range);
        assert!(message.contains("is not a range of instructions: its end, "), "{message}");
    }
    for range in ["vector_add", "vector_add+0", "vector_add+0..1", "vector_add+0x0..0x20"] {
        let lines = traced(0, range);
        assert!(lines.lines().count() > 1, "{range}: {lines}");
    }
}

#[test]
fn settings_of_a_target_are_said_once() {
    let folder = folder("target_settings");
    for target in ["gfx90a:xnack+:xnack-", "gfx942:sramecc+:sramecc+", "mi210:xnack-:xnack-"] {
        let message = said(&folder, 2, &[&RUN[..], &["--target", target]].concat());
        assert!(message.contains("is not a setting of target features"), "{message}");
    }
    // The hint for code that needs a setting contains the setting.
    folder.file("xnack.s", XNACK);
    said(&folder, 0, &["asm", "xnack.s", "--out", "xnack.co"]);
    let line = ["run", "xnack.co", "--grid", "1", "--block", "64", "--target", "gfx90a:xnack-"];
    let message = said(&folder, 3, &line);
    assert!(message.contains("is for gfx90a:xnack+, which does not run on gfx90a:xnack-"), "{message}");
    assert!(message.contains("It runs on gfx90a:xnack+ ("), "{message}");
}

/// A name must not tell the terminal what to do.
#[test]
fn names_out_of_code_objects_stay_on_their_lines() {
    let folder = folder("names");
    let mut object = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    let (old, new) = (b"vector_add", b"ve\x1b[31m\nad");
    for at in 0..object.len() - old.len() {
        if object[at..].starts_with(old) {
            object[at..at + old.len()].copy_from_slice(new);
        }
    }
    folder.file("vector_add.co", object);
    let shown = r"ve\u{1b}[31m\nad";
    let message = said(&folder, 0, &[&RUN[..], &["--trace"]].concat());
    assert!(!message.contains('\x1b') && message.contains(shown), "{message}");
    assert!(message.lines().skip(1).all(|line| line.starts_with("(0,0,0) wave 0  ")), "{message}");
    let short = ["c:f32[60]", "n=64"];
    let message = said(&folder, 4, &[&RUN[..8], &short].concat());
    assert!(message.contains(&format!("\n  kernel       {shown} + 0x")), "{message}");
    let table = "[[launch]]\n[[launch]]\n";
    folder.file(
        "k.toml",
        format!("object = 'vector_add.co'\ngrid = 1\nblock = 64\nargs = ['a:f32[64]', 'b:f32[64]', 'c:f32[64]', 'n:u32=64']\n{table}"),
    );
    let message = said(&folder, 0, &["run", "k.toml"]);
    assert!(message.starts_with(&format!("launch 1 (`{shown}`): ")), "{message}");
}

#[test]
fn a_bundle_that_cannot_be_read_is_an_error() {
    let folder = folder("bad_bundle");
    // A compressed bundle: magic, version 2, method zstd, sizes of file and contents, hash; but no
    // zstd data after it.
    let mut bundle = b"CCOB".to_vec();
    bundle.extend([2, 0, 1, 0]);
    bundle.extend(64u32.to_le_bytes());
    bundle.extend(4096u32.to_le_bytes());
    bundle.resize(64, 0x55);
    folder.file("bad.hipfb", bundle);
    let output = folder.run(&["info", "bad.hipfb"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).starts_with("error: bad.hipfb: "), "{}", err(&output));
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_told() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = folder("no_text");
    let output =
        folder.command().args(RUN).arg("--out").arg(OsStr::from_bytes(b"c=\xff.npy")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let wanted = "error: expected UTF-8 text, found `c=\u{fffd}.npy`\n";
    assert!(err(&output).starts_with(wanted), "{}", err(&output));
}

#[test]
fn contents_of_buffers_are_no_values() {
    let folder = folder("values_contents");
    for text in ["n=iota", "n=iota(3)", "n=random(1)"] {
        let mut run = RUN;
        run[9] = text;
        let message = said(&folder, 2, &run);
        let expected = "parameter `n` is a value: iota and random are contents of buffers; expected a number";
        assert!(message.contains(expected), "{message}");
    }
}
