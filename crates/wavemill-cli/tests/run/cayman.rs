//! Programs of Cayman run, and their faults name the control flow word, the clause, the group and
//! the slot.

use serde_json::{Value, json};

use crate::common::{Folder, err, expect, out, repository, said};

/// The sources, by name.
const SOURCES: [(&str, &str); 8] = [
    ("atomic.s", include_str!("cayman/atomic.s")),
    ("endless.s", include_str!("cayman/endless.s")),
    ("far.s", include_str!("cayman/far.s")),
    ("illegal.s", include_str!("cayman/illegal.s")),
    ("kcache.s", include_str!("cayman/kcache.s")),
    ("lds.s", include_str!("cayman/lds.s")),
    ("lines.s", include_str!("cayman/lines.s")),
    ("stack.s", include_str!("cayman/stack.s")),
];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (name, source) in SOURCES {
        folder.file(name, source);
    }
    folder
}

#[test]
fn the_example_gives_its_numbers() {
    let path = repository().join("examples/cayman/saxpy.toml");
    let folder = Folder::new("cayman_run_example");
    for more in [&[][..], &["--engine", "reference"], &["--tier", "portable"], &["--block", "100"]] {
        let line = [&["run", path.to_str().unwrap()], more].concat();
        assert_eq!(out(&expect(&folder, 0, &line)), "y: 200 elements as expected\n", "{more:?}");
    }
    // The object file does the same as its source.
    let source = repository().join("examples/cayman/saxpy.s");
    expect(&folder, 0, &["asm", source.to_str().unwrap(), "--target", "cayman", "-o", "saxpy.o"]);
    let line = ["run", "saxpy.o", "--global-size", "70", "--block", "64"];
    let arguments = ["x:f32[70]=iota", "y:f32[70]=1", "a:f32=2", "n:u32=69", "--print", "y[67:]"];
    let text = out(&expect(&folder, 0, &[&line[..], &arguments].concat()));
    assert_eq!(text, "y[67:] = [135.0, 137.0, 1.0]\n");
}

/// Atomic operations add up, and pointers have 32 bits.
#[test]
fn pointers_have_32_bits() {
    let folder = folder("cayman_run_pointers");
    let line = ["run", "atomic.s", "--target", "hd6950", "--global-size", "301", "--block", "128"];
    let text = out(&expect(&folder, 0, &[&line[..], &["counts:u32[2]", "--print", "counts"]].concat()));
    // Workgroups of 128, 128 and 45 work-items: the last has 23 even ids.
    assert_eq!(text, "counts = [151, 150]\n");
    let message = said(&folder, 2, &[&line[..], &["counts:u32[2]", "--address-mode", "identity"]].concat());
    assert!(message.contains("pointers of cayman have 32 bits"), "{message}");
}

#[test]
fn faults_name_clause_group_and_slot() {
    let folder = folder("cayman_run_faults");
    let mut all = String::new();
    for (source, code) in
        [("far.s", 4), ("illegal.s", 4), ("kcache.s", 4), ("lds.s", 4), ("lines.s", 4), ("stack.s", 4)]
    {
        let line = [
            "run",
            source,
            "--target",
            "cayman",
            "--grid",
            "1",
            "--block",
            "64",
            "--strict",
            "counts:u32[2]",
        ];
        let message = err(&expect(&folder, code, &line));
        all += &format!("{source}\n{message}\n");
    }
    let line = ["run", "endless.s", "--target", "cayman", "--grid", "1", "--block", "64"];
    all += &err(&expect(&folder, 124, &[&line[..], &["--max-instructions", "1000"]].concat()));
    let line =
        ["run", "lds.s", "--target", "cayman", "--grid", "1", "--block", "64", "--strict", "--registers"];
    all += &err(&expect(&folder, 4, &line));
    insta::assert_snapshot!(all);
}

#[test]
fn faults_as_json() {
    let folder = folder("cayman_run_json");
    let line = ["run", "lds.s", "--target", "cayman", "--grid", "1", "--block", "64", "--strict"];
    let text = err(&expect(&folder, 4, &[&line[..], &["--message-format", "json"]].concat()));
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let clause = &last["fault"]["clause"];
    assert_eq!(
        *clause,
        json!({
            "control": 0, "control_text": "alu @2 count:3", "kind": "alu", "address": 2, "number": 2,
            "slot": "x", "constants": null,
        })
    );
    assert_eq!(last["fault"]["registers"]["gprs"], json!(3));
    assert_eq!(last["fault"]["registers"]["active"], json!("0xffffffffffffffff"));
}

#[test]
fn traces_and_statistics_have_the_names_of_cayman() {
    let folder = folder("cayman_run_trace");
    let line = ["run", "atomic.s", "--target", "cayman", "--grid", "1", "--block", "64", "counts:u32[2]"];
    let text = err(&expect(&folder, 0, &[&line[..], &["--trace"]].concat()));
    assert!(text.contains("T1.X={") && text.contains(" atomic 4 bytes buffer "), "{text}");
    let text = err(&expect(&folder, 0, &[&line[..], &["--stats"]].concat()));
    assert!(text.contains("\n  rat ") && text.contains("mem_rat add 1"), "{text}");
    let text = err(&expect(&folder, 0, &[&line[..], &["--isa-coverage", "rows.json"]].concat()));
    assert!(text.contains("cayman"), "{text}");
}
