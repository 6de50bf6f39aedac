//! Accesses outside the permitted memory.

use wavemill::device::AddressMode;
use wavemill::launch::Strict;

use crate::common::repository;
use crate::faults::case::Value::{self, Buffer, I32, I64, U32, U64, Zeros};
use crate::faults::case::{Case, DATA, folder, without_addresses};
use crate::faults::{TARGETS, check};

/// Bytes of the accessed buffer: one dword for each lane of a wave.
const SIZE: i64 = 256;

/// A kernel of `access.s`: the lanes of the mask access byte `offset + stride * lane`.
fn access(name: &'static str, kernel: &'static str, offset: i64, stride: u32, lanes: u64) -> Case {
    let args = [
        ("data", Buffer(SIZE as usize)),
        ("offset", I64(offset)),
        ("lanes", U64(lanes)),
        ("stride", U32(stride)),
        ("records", U32(u32::MAX)),
    ];
    Case::new(name, "access", kernel, &args)
}

const ALL: u64 = u64::MAX;

fn global() -> Vec<Case> {
    vec![
        access("load_1_byte_past_the_end", "global_load_ubyte", 4, 4, ALL),
        access("store_1_byte_past_the_end", "global_store_byte", 4, 4, ALL),
        access("store_runs_1_byte_past_the_end", "global_store_dword", 1, 4, ALL),
        access("store_straddles_the_end", "global_store_dwordx2", 0, 4, ALL),
        access("load_straddles_the_start", "global_load_dwordx4", -8, 0, 1),
        access("store_1_byte_below_the_start", "global_store_byte", -1, 0, 1 << 63),
        access("atomic_in_one_lane_only", "global_atomic_add", SIZE - 4 * 37, 4, 1 << 37 | 1 << 36 | 1),
        access("wide_atomic_below_the_start", "global_atomic_cmpswap_x2", -8, 8, 0xff),
        access("misaligned_atomic", "global_atomic_add", 2, 4, 0xf0),
        access("address_of_lds", "global_to_lds", 16, 4, ALL),
    ]
}

fn flat() -> Vec<Case> {
    vec![
        access("load_past_the_end", "flat_load_dwordx2", SIZE, 0, ALL),
        access("load_runs_past_the_end", "flat_load_dwordx2", SIZE - 7, 0, 2),
        access("store_runs_1_byte_past_the_end", "flat_store_short", SIZE - 1, 0, 1),
        access("atomic_below_the_start", "flat_atomic_umax", -4, 4, 0x7),
    ]
}

fn buffer() -> Vec<Case> {
    vec![
        access("load_straddles_the_end", "buffer_load_dwordx2", 0, 4, ALL),
        access("store_past_the_end", "buffer_store_dword", 4, 4, ALL),
        access("store_below_the_start", "buffer_store_dword", -4, 4, 0x3),
        access("atomic_in_one_lane_only", "buffer_atomic_or", SIZE - 4, 4, 0x3),
    ]
}

fn scalar(target: &str) -> Vec<Case> {
    let mut cases = vec![
        access("load_past_the_end", "s_load_dword", SIZE, 0, ALL),
        access("load_below_the_start", "s_load_dword", -4, 0, ALL),
        access("wide_load_straddles_the_end", "s_load_dwordx8", SIZE - 16, 0, ALL),
        access("buffer_load_straddles_the_end", "s_buffer_load_dwordx2", SIZE - 4, 0, ALL),
    ];
    let mut shorter = access("load_runs_1_byte_past_the_end", "s_load_dword", SIZE - 4, 0, ALL);
    shorter.args[0] = ("data", Buffer(SIZE as usize - 1));
    cases.push(shorter);
    if target == "gfx906" {
        cases.push(access("store_past_the_end", "s_store_dword", SIZE, 0, ALL));
    }
    cases
}

/// Private memory, of which a lane has 64 bytes.
fn scratch(target: &str) -> Vec<Case> {
    const END: i64 = 64;
    let access = |name, kernel, offset: i64, stride, lanes| Case {
        object: "private",
        ..access(name, kernel, offset, stride, lanes)
    };
    let mut cases = vec![
        access("load_1_byte_past_the_end", "scratch_load_ubyte", END, 0, ALL),
        access("load_runs_1_byte_past_the_end", "scratch_load_dword", END - 3, 0, ALL),
        access("wide_load_straddles_the_end", "scratch_load_dwordx4", END - 8, 0, 1 << 63),
        // One byte past the end in lane 37, inside in the others.
        access("store_in_one_lane_only", "scratch_store_byte", END - 37, 1, 1 << 37 | 1 << 36 | 1),
        access("store_straddles_the_end", "scratch_store_dwordx2", END - 4, 0, ALL),
        access("store_1_byte_below_the_start", "scratch_store_byte", -1, 0, ALL),
        access("flat_load_straddles_the_end", "flat_load_dwordx2", END - 4, 0, ALL),
        access("flat_store_1_byte_past_the_end", "flat_store_byte", END, 0, 0xf0),
        access("flat_atomic_past_the_end", "flat_atomic_add", END - 12, 4, 0xf),
        access("misaligned_flat_atomic", "flat_atomic_add", 2, 4, 0xf0),
        access("wide_flat_atomic_past_the_end", "flat_atomic_swap_x2", END, 0, 0xf),
    ];
    if ["gfx906", "gfx90a"].contains(&target) {
        cases.extend([
            access("buffer_load_straddles_the_end", "buffer_load_dwordx2", END - 4, 0, ALL),
            access("buffer_store_runs_1_byte_past_the_end", "buffer_store_short", END - 1, 0, ALL),
            access("buffer_store_1_byte_below_the_start", "buffer_store_short", -1, 0, 1 << 9),
            access("buffer_atomic_past_the_end", "buffer_atomic_add", END - 12, 4, 0xf),
            // It names no vector register, but lanes are rejected.
            access("load_to_lds_past_the_end", "buffer_load_lds", 64 * END, 0, 0xff00),
        ]);
    }
    cases
}

/// Compiled code with private arrays, and source lines.
fn private() -> Vec<Case> {
    let index = |name, at: i32, lane: i32| {
        let args = [("out", Buffer(SIZE as usize)), ("at", I32(at)), ("lane", I32(lane))];
        Case::new(name, "source", "private_index", &args)
    };
    let recursion = [("out", Buffer(SIZE as usize)), ("depth", I32(37))];
    vec![
        index("past_the_end", 1000, -1),
        index("in_one_lane_only", 1000, 41),
        index("below_the_start", -1000, -1),
        Case::new("stack_overflow", "source", "recursion", &recursion),
    ]
}

/// A recursive function, compiled and assembled: each item sums the numbers up to the depth.
fn recursions() -> Vec<Case> {
    let depth = Value::I32(RECURSION);
    let case =
        |object| Case::new(object, object, "sums_up", &[("out", Buffer(SIZE as usize)), ("depth", depth)]);
    vec![case("recursion"), case("stack")]
}

/// The depth of the recursion.
const RECURSION: i32 = 70;

/// Compiled code with calls that are inlined.
fn source() -> Vec<Case> {
    let args = [("out", Buffer(SIZE as usize)), ("lane", I32(37))];
    vec![Case::new("in_one_lane_only", "source", "one_lane", &args)]
}

/// LDS has 1024 bytes; the accesses of lanes 60 to 63 begin after it.
fn lds() -> Vec<Case> {
    let strict = |case: Case| Case { strict: Strict { lds: true, ..Strict::default() }, ..case };
    let start = 1024 - 4 * 60;
    let kernels = [
        "ds_read_b32",
        "ds_read_b64",
        "ds_read2_b32",
        "ds_write_b32",
        "ds_write2_b32",
        "ds_add_rtn_u32",
        "ds_wrxchg2_rtn_b32",
        "flat_lds_load",
        "flat_lds_store",
        "flat_lds_atomic",
    ];
    let mut cases: Vec<Case> = kernels.iter().map(|k| access(k, k, start, 4, ALL)).collect();
    cases.push(access("below_the_start", "ds_read_b32", -4, 4, 0x3));
    cases.push(access("one_byte_past_the_end", "ds_read_b32", 1021, 0, 1 << 9));
    cases.push(access("buffer_load_lds", "buffer_load_lds", start, 4, ALL));
    cases.push(access("ds_append", "ds_append", 1024, 4, 0xff00));
    cases.into_iter().map(strict).collect()
}

/// Buffers whose resources end before the accesses.
fn ranges() -> Vec<Case> {
    let ranged = |kernel: &'static str, records: u32| {
        let mut case = access(kernel, kernel, 0, 4, ALL);
        case.args[4] = ("records", U32(records));
        case.strict = Strict { buffers: true, ..Strict::default() };
        case
    };
    vec![
        ranged("buffer_load_dwordx2", 248),
        ranged("buffer_store_dword", 240),
        ranged("buffer_atomic_or", 255),
        ranged("s_buffer_load_dwordx2", 4),
    ]
}

/// All of them on a target.
pub(crate) fn cases(target: &str) -> Vec<Case> {
    [
        global(),
        flat(),
        buffer(),
        scalar(target),
        scratch(target),
        private(),
        recursions(),
        source(),
        lds(),
        ranges(),
    ]
    .concat()
}

#[test]
fn global_accesses() {
    TARGETS.iter().for_each(|target| check("global", target, &global()));
}

#[test]
fn flat_accesses() {
    TARGETS.iter().for_each(|target| check("flat", target, &flat()));
}

#[test]
fn buffer_accesses() {
    TARGETS.iter().for_each(|target| check("buffer", target, &buffer()));
}

#[test]
fn scalar_accesses() {
    TARGETS.iter().for_each(|target| check("scalar", target, &scalar(target)));
}

#[test]
fn private_accesses() {
    TARGETS.iter().for_each(|target| check("private", target, &private()));
}

#[test]
fn accesses_past_private_memory() {
    TARGETS.iter().for_each(|target| check("scratch", target, &scratch(target)));
}

/// A report proposes a stack size that the launch accepts; following it repeatedly leads to the
/// result.
#[test]
fn larger_stacks_are_those_that_reports_propose() {
    for target in TARGETS {
        check("recursion", target, &recursions());
        let folder = folder("larger", target);
        for case in recursions() {
            let sum = format!("out={}", RECURSION * (RECURSION + 1) / 2);
            let mut options: Vec<String> = Vec::new();
            let mut tries = 0;
            loop {
                let line = [&case.line(AddressMode::Sandbox)[..], &options].concat();
                let output = folder.command().args(&line).args(["--expect", &sum]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                if output.status.code() == Some(0) {
                    break;
                }
                assert_eq!(output.status.code(), Some(4), "{} on {target}: {said}", case.name);
                tries += 1;
                assert!(tries < 6, "{} on {target}: {said}", case.name);
                let proposed = said.split_once("\nPass --stack ").and_then(|(_, rest)| rest.split_once(' '));
                options =
                    vec!["--stack".to_owned(), proposed.unwrap_or_else(|| panic!("{said}")).0.to_owned()];
            }
            assert!(tries > 0, "{} on {target}", case.name);
        }
        // The largest possible stack is reached.
        for case in recursions() {
            let endless = Case { args: vec![case.args[0], ("depth", Value::I32(i32::MAX))], ..case };
            let said = endless.command(&folder, AddressMode::Sandbox, &["--stack", "131056"]);
            assert!(said.contains("stack overflow") && !said.contains("\nPass --stack"), "{said}");
            assert!(said.contains("\nThe stack is at its maximum"), "{said}");
        }
    }
}

#[test]
fn inlined_calls() {
    TARGETS.iter().for_each(|target| check("source", target, &source()));
}

#[test]
fn lds_accesses_of_strict_runs() {
    TARGETS.iter().for_each(|target| check("lds", target, &lds()));
}

#[test]
fn buffer_ranges_of_strict_runs() {
    TARGETS.iter().for_each(|target| check("ranges", target, &ranges()));
}

#[test]
fn accesses_after_free() {
    let kernels = [
        "global_load_ubyte",
        "global_store_dword",
        "flat_atomic_umax",
        "buffer_load_dwordx2",
        "s_load_dword",
    ];
    for target in TARGETS {
        let mut all = String::new();
        for kernel in kernels {
            for (what, offset) in [("inside", 8), ("past the end", SIZE + 8)] {
                let case = access(kernel, kernel, offset, 4, 0x3);
                let [said, identity] = [AddressMode::Sandbox, AddressMode::Identity]
                    .map(|mode| case.after_free(target, mode).expect_err(kernel).to_string());
                let first = said.lines().next().unwrap_or_default();
                assert!(first.contains("`data`, which was freed"), "{first}");
                assert_eq!(without_addresses(&said, false), without_addresses(&identity, false));
                all += &format!("# {kernel}, {what}\n{}\n\n", said.trim_end());
            }
        }
        insta::assert_snapshot!(format!("freed_{target}"), all);
    }
}

/// A launch of a launch file uses a pointer that an earlier launch left.
#[test]
fn accesses_after_free_between_launches() {
    let kernels = ["load_through", "store_through", "atomic_through", "scalar_load_through"];
    for target in TARGETS {
        let folder = folder("freed", target);
        let mut all = String::new();
        for kernel in kernels {
            let launch = |kernel: &str| {
                format!("[[launch]]\nkernel = \"{kernel}\"\nargs = [\"&before\", \"&data\", \"&after\"]\n\n")
            };
            let text = format!(
                "object = \"freed.co\"\ngrid = 1\nblock = 64\ndeterministic = true\n\
                 args = [\"before:u8[301]=90\", \"data:u64[4]=0\", \"after:u8[301]=165\"]\n\n{}{}",
                launch("keep_pointer"),
                launch(kernel)
            );
            folder.file("freed.toml", &text);
            let output = folder.run(&["run", "freed.toml"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(4), "{kernel} on {target}\n{said}");
            all += &format!("# {kernel}\n{}\n\n", said.trim_end());
        }
        insta::assert_snapshot!(format!("freed_launches_{target}"), all);
    }
}

/// Without `--strict`, reads out of range return 0 (Vega ISA 3.6.1), and a warning counts them;
/// reads in range return the poison. gfx950 allocates 1,280 bytes for 1,024, so the bytes after
/// 1,024 are in range there.
#[test]
fn without_strict_there_is_a_warning() {
    const POISON: u32 = 0x7b7b_7b7b;
    /// Number of lanes that read inside, and of accesses outside: lane 60 begins at byte 1,024.
    fn inside_and_beyond(kernel: &str) -> (usize, usize) {
        match kernel {
            // An access that begins inside and ends outside is out of range.
            "ds_read_b64" => (59, 5),
            // Two accesses each, of which the second one is a lane ahead. The first one is checked.
            "ds_read2_b32" | "ds_write2_b32" | "ds_wrxchg2_rtn_b32" => (60, 4 + 5),
            // One lane is beyond, or the wave adds once for all lanes.
            "below_the_start" | "one_byte_past_the_end" | "ds_append" => (0, 1),
            _ => (60, 4),
        }
    }
    let loads =
        ["ds_read_b32", "ds_read_b64", "ds_read2_b32", "ds_add_rtn_u32", "flat_lds_load", "flat_lds_atomic"];
    for target in TARGETS {
        for case in lds() {
            let case = Case { strict: Strict::default(), exit: 0, ..case };
            let (inside, beyond) = inside_and_beyond(case.name);
            let reached = target == "gfx950" && case.name != "below_the_start";
            let fate = match (reached, beyond) {
                (true, _) => "reached the rest of the 1,280 bytes that the chip allocates",
                (false, 1) => "read 0 or was dropped",
                (false, _) => "read 0 or were dropped",
            };
            let accesses = if beyond == 1 { "access" } else { "accesses" };
            let said = case.command(&folder("warned", target), AddressMode::Sandbox, &[]);
            let warnings: Vec<&str> = said.lines().skip(1).collect();
            let warning = format!(
                "warning: {beyond} LDS {accesses} beyond the workgroup's 1,024 bytes {fate}; pass `--dynamic-lds BYTES` if the kernel uses more \
                 LDS than it declares"
            );
            assert_eq!(warnings, [warning], "{} on {target}", case.name);
            let (result, data) = case.library(target, AddressMode::Sandbox, Some(POISON));
            result.unwrap();
            if !loads.contains(&case.name) {
                continue;
            }
            let data = data.expect(case.name);
            assert_eq!(data.len() as i64, SIZE);
            for (lane, value) in data.chunks_exact(4).enumerate() {
                let want = if reached || lane < inside { POISON } else { 0 };
                assert_eq!(value, want.to_le_bytes(), "{} in lane {lane} on {target}", case.name);
            }
        }
        for case in ranges() {
            let case = Case { strict: Strict::default(), exit: 0, ..case };
            case.command(&folder("silent", target), AddressMode::Sandbox, &[]);
            let (result, data) = case.library(target, AddressMode::Sandbox, None);
            result.unwrap();
            let dropped = match case.name {
                "buffer_store_dword" => 240,
                // The last dword is out of range by a byte.
                "buffer_atomic_or" => 252,
                _ => 0,
            };
            let data = data.expect(case.name);
            assert_eq!(data.len() as i64, SIZE);
            let (written, left) = data.split_at(dropped);
            assert!(written.iter().all(|byte| *byte != DATA), "{} on {target}", case.name);
            assert!(left.iter().all(|byte| *byte == DATA), "{} on {target}", case.name);
        }
    }
}

/// Launch files have the option too, and `--init` keeps it.
#[test]
fn strict_launch_files() {
    let folder = folder("launch_files", "gfx942");
    let case = lds().remove(0);
    let line = case.line(AddressMode::Sandbox);
    let shown = folder.command().args(&line).arg("--init").output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("\nstrict = \"lds,images\"\n"), "{text}");
    for (strict, code) in [
        ("\"lds\"", 4),
        ("true", 4),
        ("\"lds,buffers\"", 4),
        ("\"buffers\"", 0),
        ("\"images,buffers\"", 0),
        ("false", 0),
    ] {
        folder.file("strict.toml", text.replace("strict = \"lds,images\"", &format!("strict = {strict}")));
        let output = folder.run(&["run", "strict.toml"]);
        assert_eq!(output.status.code(), Some(code), "{strict}: {}", String::from_utf8_lossy(&output.stderr));
    }
    folder.file("strict.toml", text.replace("strict = \"lds,images\"", "strict = \"lsd\""));
    let output = folder.run(&["run", "strict.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("strict: there is no rule `lsd`; expected any of lds, images, buffers"), "{said}");
}

/// Reports have twelve lines with advice, unless the user requests the rest.
#[test]
fn long_reports() {
    let cases: Vec<Case> =
        [global().remove(3), scalar("gfx942").remove(0), private().remove(1), lds().remove(4)].into();
    for target in TARGETS {
        let folder = folder("long", target);
        let mut all = String::new();
        for case in &cases {
            case.command(&folder, AddressMode::Sandbox, &[]);
            let long = case.command(&folder, AddressMode::Sandbox, &["--registers"]);
            all += &format!("# {} {}\n{}\n\n", case.kernel, case.name, long.trim_end());
        }
        insta::assert_snapshot!(format!("long_{target}"), all);
    }
}

/// The text of the source line is shown if the file exists.
#[test]
fn lines_of_sources() {
    let folder = folder("lines", "gfx942");
    let text = std::fs::read_to_string(repository().join("kernels/faults/source.cl")).unwrap();
    std::fs::create_dir_all(folder.0.join("kernels/faults")).unwrap();
    folder.file("kernels/faults/source.cl", &text);
    let text = std::fs::read_to_string(repository().join("kernels/faults/recursion.cl")).unwrap();
    folder.file("kernels/faults/recursion.cl", text);
    // A code object older than its source may come from another version.
    let [object, recursion] = ["source.co", "recursion.co"]
        .map(|name| std::fs::File::options().append(true).open(folder.0.join(name)).unwrap());
    for object in [&object, &recursion] {
        object.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    }
    let mut all = String::new();
    let waiting = Case::new("spin", "source", "wait_for_flag", &[("flag", Zeros(64))]);
    for case in
        [private().remove(1), private().remove(3), source().remove(0), recursions().remove(0), waiting]
    {
        let said = case.command(&folder, AddressMode::Sandbox, &[]);
        all += &format!("# {} {}\n{}\n\n", case.kernel, case.name, said.trim_end());
    }
    object.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let said = source().remove(0).command(&folder, AddressMode::Sandbox, &[]);
    assert!(said.contains("(the file is newer than the code object)"), "{said}");
    insta::assert_snapshot!("lines", all);
}

/// The same reports, as JSON.
#[test]
fn reports_as_json() {
    let pick = |cases: Vec<Case>, name: &str| cases.into_iter().find(|case| case.name == name).unwrap();
    let cases = [
        pick(global(), "store_straddles_the_end"),
        pick(scalar("gfx942"), "load_past_the_end"),
        pick(private(), "in_one_lane_only"),
        pick(source(), "in_one_lane_only"),
        pick(lds(), "ds_write2_b32"),
        pick(ranges(), "buffer_store_dword"),
    ];
    for target in TARGETS {
        let folder = folder("json", target);
        let mut all = String::new();
        for case in &cases {
            let said = case.command(&folder, AddressMode::Sandbox, &["--message-format", "json"]);
            let message = said.lines().last().unwrap_or_default();
            let mut message: serde_json::Value = serde_json::from_str(message).unwrap();
            // Other snapshots have this text.
            let text = message["message"].take();
            assert!(
                text.as_str()
                    .is_some_and(|text| text.starts_with(message["fault"]["what"].as_str().unwrap()))
            );
            all += &format!("# {} {}\n{message:#}\n\n", case.kernel, case.name);
        }
        insta::assert_snapshot!(format!("json_{target}"), all);
    }
}
