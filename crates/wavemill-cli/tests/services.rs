//! Output, assertions and allocations of kernels, from the command line.

use crate::common::{Folder, repository};

/// Runs the command, and returns all of its output.
fn shown(folder: &Folder, args: &[&str]) -> String {
    let output = folder.run(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "$ wavemill {}\nexit code {}\n--- standard output\n{}--- standard error\n{}",
        args.join(" "),
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr)
    )
}

fn hip(folder: &Folder, target: &str, name: &str) {
    let from = repository().join(format!("kernels/bin/{target}/hip/{name}.co"));
    folder.file(&format!("{name}.co"), std::fs::read(from).unwrap());
}

#[test]
fn printf_comes_before_what_was_asked_for() {
    let folder = Folder::new("services_printf");
    folder.object("gfx942", "printf");
    insta::assert_snapshot!(shown(
        &folder,
        &[
            "run",
            "printf.co",
            "--kernel",
            "printf_items",
            "--grid",
            "2",
            "--block",
            "64",
            "--threads",
            "1",
            "printed[100]",
            "n=100",
            "every=20",
            "--print",
            "printed[38:42]",
        ],
    ));
}

#[test]
fn a_full_printf_buffer_is_told() {
    let folder = Folder::new("services_printf_full");
    folder.object("gfx906", "printf");
    insta::assert_snapshot!(shown(
        &folder,
        &[
            "run",
            "printf.co",
            "--kernel",
            "printf_items",
            "--grid",
            "2",
            "--block",
            "64",
            "--threads",
            "1",
            "printed[100]",
            "n=100",
            "every=1",
            "--printf-buffer",
            "64",
        ],
    ));
}

/// Two items exceed the limit.
const ASSERT: [&str; 3] = ["u32*[128]=iota", "u32=128", "u32=126"];

#[test]
fn failed_assertions_are_messages_in_json() {
    let folder = Folder::new("services_assert_json");
    hip(&folder, "gfx942", "hip_assert");
    let line = "run hip_assert.co --grid 2 --block 64 --threads 1 --message-format json";
    let shown = |more: &[&str]| folder.run(&[&line.split(' ').collect::<Vec<_>>()[..], more].concat());
    let output = shown(&ASSERT);
    let text = String::from_utf8(output.stderr).unwrap();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let all: Vec<serde_json::Value> = text.lines().map(read).collect();
    let failed: Vec<&str> =
        all.iter().filter(|m| m["kind"] == "assertion").filter_map(|m| m["message"].as_str()).collect();
    assert_eq!(failed.len(), 2, "{text}");
    assert!(failed.iter().all(|message| message.contains("Device-side assertion `")), "{text}");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn a_failed_assertion_is_a_fault() {
    let folder = Folder::new("services_assert");
    hip(&folder, "gfx942", "hip_assert");
    insta::assert_snapshot!(shown(
        &folder,
        &[
            "run",
            "hip_assert.co",
            "--grid",
            "2",
            "--block",
            "64",
            "--threads",
            "1",
            "u32*[128]=iota",
            "u32=128",
            "u32=126",
        ],
    ));
}

#[test]
fn malloc_has_a_heap_of_the_given_size() {
    let folder = Folder::new("services_malloc");
    hip(&folder, "gfx950", "hip_malloc");
    insta::assert_snapshot!(shown(
        &folder,
        &[
            "run",
            "hip_malloc.co",
            "--kernel",
            "hip_malloc_list",
            "--grid",
            "1",
            "--block",
            "64",
            "--threads",
            "1",
            "sums:u32*[64]",
            "u32=64",
            "--print",
            "sums[28:36]",
        ],
    ));
    insta::assert_snapshot!(shown(
        &folder,
        &[
            "run",
            "hip_malloc.co",
            "--kernel",
            "hip_malloc_list",
            "--grid",
            "1",
            "--block",
            "64",
            "--threads",
            "1",
            "sums:u32*[64]",
            "u32=64",
            "--print",
            "sums[28:36]:x",
            "--heap",
            "64K",
        ],
    ));
}
