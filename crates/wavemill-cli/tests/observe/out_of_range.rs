//! Accesses that the chip ignores silently: warnings, statistics, and what `wavemill info` reports
//! before a kernel runs.

use serde_json::{Value, json};

use super::{err, objects};
use crate::common::{Folder, expect, out};

const SOURCE: &str = include_str!("out_of_range.s");
/// Targets with the allocation granule of LDS in bytes.
const TARGETS: [(&str, &str); 4] =
    [("gfx906", "512"), ("gfx90a", "512"), ("gfx942", "512"), ("gfx950", "1,280")];

/// The kernels, with the bytes of LDS that they declare.
const KERNELS: [(&str, u32); 9] = [
    ("reverse", 0),
    ("half", 0),
    ("faulty", 0),
    ("endless", 0),
    ("once", 0),
    ("declared", 128),
    ("argument", 0),
    ("caller", 0),
    ("direct", 0),
];

/// Metadata of a kernel: all have a buffer, and one has LDS as an argument.
fn metadata(kernel: &str, lds: u32) -> String {
    let local = match kernel {
        "argument" => {
            "      - {.name: tmp, .address_space: local, .offset: 8, .size: 4, .value_kind: dynamic_shared_pointer, .pointee_align: 4}\n"
        }
        _ => "",
    };
    format!(
        "  - .name: {kernel}
    .symbol: {kernel}.kd
    .args:
      - {{.name: x, .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}}
{local}    .group_segment_fixed_size: {lds}
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 40
    .vgpr_count: 8
    .wavefront_size: 64
"
    )
}

/// A folder with the assembled kernels.
fn folder(name: &str, target: &str) -> Folder {
    let folder = Folder::new(&format!("out_of_range_{name}_{target}"));
    let accum_offset = if target == "gfx906" { "" } else { ".amdhsa_accum_offset 8" };
    let kernels: String = KERNELS.iter().map(|(kernel, lds)| metadata(kernel, *lds)).collect();
    let source = SOURCE.replace("TARGET", target).replace("ACCUM_OFFSET", accum_offset);
    folder.file("k.s", source.replace("KERNELS", &kernels));
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    folder
}

/// Runs a kernel on waves of 64 lanes.
fn run(folder: &Folder, exit: i32, kernel: &str, groups: &str, more: &[&str]) -> String {
    let launch = ["run", "k.co", "--kernel", kernel, "--grid", groups, "--block", "64", "x:u32[64]"];
    err(&expect(folder, exit, &[&launch[..], more].concat()))
}

#[test]
fn lds_that_the_launch_does_not_give() {
    for (target, granule) in TARGETS {
        let folder = folder("lds", target);
        let missing = run(&folder, 0, "reverse", "32", &["--expect", "x=0"]);
        let warning = "warning: 4,096 LDS accesses beyond the workgroup's 0 bytes read 0 or were dropped; pass \
                       `--dynamic-lds BYTES`\n";
        assert!(missing.ends_with(warning), "{missing}");
        let reversed = ["--expect", "x[:4]=[63,62,61,60]", "--dynamic-lds"];
        let right = run(&folder, 0, "reverse", "32", &[&reversed[..], &["256"]].concat());
        assert!(!right.contains("warning"), "{right}");
        // Bytes of the granule beyond the request are usable: 31 lanes write beyond 132 bytes, and
        // as many read.
        let granular = run(&folder, 0, "reverse", "1", &[&reversed[..], &["132"]].concat());
        let warning = format!(
            "warning: 62 LDS accesses beyond the workgroup's 132 bytes reached the rest of the {granule} bytes that the chip \
             allocates; `--dynamic-lds 132` may be too small\n"
        );
        assert!(granular.ends_with(&warning), "{granular}");
        // Strict runs ignore granules.
        let strict = run(&folder, 4, "reverse", "1", &["--dynamic-lds", "132", "--strict=lds"]);
        assert!(strict.contains("at byte 132 of LDS (the workgroup has 132 bytes)"), "{strict}");
    }
}

#[test]
fn warnings_of_launch_files_and_as_json() {
    let folder = folder("launches", "gfx942");
    let launch = "[[launch]]\nkernel = \"reverse\"\n";
    let head = "object = \"k.co\"\ngrid = 2\nblock = 64\n\n";
    let (first, second) = ("args = [\"x:u32[64]\"]\ndynamic-lds = 256\n", "args = [\"x=&x\"]\n");
    folder.file("k.toml", format!("{head}{launch}{first}\n{launch}{second}"));
    let text = err(&expect(&folder, 0, &["run", "k.toml"]));
    let warnings: Vec<&str> = text.lines().filter(|line| line.starts_with("warning")).collect();
    let [warning] = warnings[..] else { panic!("{text}") };
    assert!(warning.contains("launch 2") && warning.contains("256 LDS accesses beyond"), "{warning}");
    let text = err(&expect(&folder, 0, &["run", "k.toml", "--message-format", "json"]));
    let messages = objects(&text);
    let warnings: Vec<&Value> = messages.iter().filter(|message| message["kind"] == "warning").collect();
    let [warning] = warnings[..] else { panic!("{text}") };
    let fields =
        ["launch", "kernel", "lds_size", "lds_allocated", "lds_accesses_dropped", "lds_accesses_in_granule"];
    let found = fields.map(|field| warning[field].clone());
    assert_eq!(found, [json!(2), json!("reverse"), json!(0), json!(0), json!(256), json!(0)]);
}

/// Work-items that read beyond LDS may fault because of it, or never end; a later round may read
/// nothing beyond.
#[test]
fn a_launch_that_does_not_end_is_warned_of_too() {
    let warned = |text: &str| {
        let warnings: Vec<&str> = text.lines().filter(|line| line.starts_with("warning")).collect();
        let [warning] = warnings[..] else { panic!("{text}") };
        let beyond =
            "LDS accesses beyond the workgroup's 0 bytes read 0 or were dropped; pass `--dynamic-lds BYTES`";
        assert!(warning.contains(beyond), "{text}");
        assert!(text.find("warning") < text.find("error"), "{text}");
    };
    let folder = folder("ends", "gfx942");
    warned(&run(&folder, 4, "faulty", "1", &[]));
    assert!(!run(&folder, 0, "faulty", "1", &["--dynamic-lds", "256"]).contains("warning"));
    warned(&run(&folder, 124, "endless", "1", &["--max-instructions", "100000"]));
    warned(&run(&folder, 124, "endless", "1", &["--timeout", "1"]));
    assert!(!run(&folder, 0, "endless", "1", &["--dynamic-lds", "256"]).contains("warning"));
    // Only the first round leaves LDS: it writes a flag that keeps the second one from it.
    let text = run(&folder, 0, "once", "1", &["--repeat", "2"]);
    assert!(text.contains("warning: 64 LDS accesses beyond the workgroup's 0 bytes"), "{text}");
}

/// The advice depends on where the LDS comes from.
#[test]
fn warnings_know_declared_bytes_and_local_arguments() {
    let folder = folder("declared", "gfx942");
    let text = run(&folder, 0, "declared", "1", &[]);
    let cure = "beyond the workgroup's 128 bytes reached the rest of the 512 bytes that the chip allocates; pass \
                `--dynamic-lds BYTES` if the kernel uses more LDS than it declares\n";
    assert!(text.ends_with(&format!("warning: 64 LDS accesses {cure}")), "{text}");
    let strict = run(&folder, 4, "declared", "1", &["--strict=lds"]);
    assert!(
        strict.contains("at byte 128 of LDS (the workgroup has 128 bytes): the chip allocates 512"),
        "{strict}"
    );
    let launch =
        ["run", "k.co", "--kernel", "argument", "--grid", "1", "--block", "64", "x:u32[64]", "tmp=local:128"];
    let text = err(&expect(&folder, 0, &launch));
    assert!(text.ends_with("allocates; the 128 bytes of `local:` arguments may be too few\n"), "{text}");
}

#[test]
fn statistics_count_what_is_out_of_range() {
    for (target, _) in TARGETS {
        let folder = folder("statistics", target);
        let text = run(&folder, 0, "half", "3", &["--stats"]);
        assert!(
            text.contains("\nout of range  96 accesses beyond the range of a buffer resource\n"),
            "{text}"
        );
        assert!(!text.contains("warning"), "masks of Triton are made of such accesses: {text}");
        let text = run(&folder, 0, "half", "3", &["--stats", "--message-format", "json"]);
        let stats =
            objects(&text).into_iter().find(|message| message["kind"] == "stats").expect("statistics");
        assert_eq!(stats["out_of_range"], json!({ "lds": 0, "lds_granule": 0, "buffer": 96, "image": 0 }));
        let text = run(&folder, 0, "reverse", "3", &["--stats"]);
        assert!(text.contains("\nout of range  384 accesses beyond LDS\n"), "{text}");
    }
}

#[test]
fn info_reads_the_code() {
    for (target, _) in TARGETS {
        let folder = folder("stopped", target);
        let text = out(&expect(&folder, 0, &["info", "k.co"]));
        let of = |kernel: &str| {
            let start = text.find(&format!("kernel {kernel}\n")).expect("it is there");
            text[start..].split("\n\n").next().unwrap_or_default().to_owned()
        };
        let lds =
            "0 bytes LDS per workgroup and more at launch (its code has 2 instructions that access LDS)";
        assert!(of("reverse").contains(lds), "{text}");
        assert!(!of("half").contains("more at launch"), "{text}");
        // Called functions are checked too.
        for kernel in ["caller", "direct"] {
            let lds = "more at launch (its code has 1 instruction that access LDS)";
            assert!(of(kernel).contains(lds), "{text}");
        }
        let json = out(&expect(&folder, 0, &["info", "k.co", "--json"]));
        let json: Value = serde_json::from_str(&json).unwrap();
        let kernels = json["bundles"][0]["entries"][0]["object"]["kernels"].as_array().unwrap();
        let reverse = kernels.iter().find(|kernel| kernel["name"] == "reverse").unwrap();
        assert_eq!((&reverse["dynamic_lds"], &reverse["lds"]), (&json!(true), &json!(0)));
    }
}
