//! Runs the command on many cases and validates all JSON that it writes with the schemas in
//! docs/schemas.

mod strict;

use std::process::Output;
use std::sync::LazyLock;

use serde_json::{Value, json};
use wavemill::device::AddressMode;
use wavemill::launch::Strict;

use crate::common::{Folder, ends, err, out, repository};
use crate::faults::{self, Case};
use strict::Schemas;

/// Parts of the schemas that do not occur in these tests, as [`Schemas::unused`] reports them, and
/// the reason.
const UNUSED: [(&str, &str); 10] = [
    ("bench.schema.json#/against never occurs", "needs pocl; tests/bench.rs has it"),
    ("bench.schema.json#/$defs/peer/", "needs pocl; tests/bench.rs has it"),
    ("bench.schema.json#/$defs/pocl/", "needs pocl; tests/bench.rs has it"),
    ("bench.schema.json#/$defs/kernel/oneOf/0/pocl never occurs", "needs pocl; tests/bench.rs has it"),
    ("bench.schema.json#/$defs/kernel/oneOf/1/", "no kernel of the corpus fails"),
    ("bench.schema.json#/$defs/host/cpu is never null", "Linux names the processor"),
    ("messages.schema.json#/$defs/inlined/at is never null", "clang writes the position of each call"),
    (
        "messages.schema.json#/$defs/jump/instruction is never null",
        "the branch has run, so it can be decoded",
    ),
    (
        "messages.schema.json#/$defs/wave/instruction is never null",
        "waves stop at instructions that can be decoded",
    ),
    ("messages.schema.json#/$defs/source_warning/fix is always null", "no warning has a correction yet"),
];

/// Runs commands and validates their output.
struct Cases {
    schemas: Schemas,
    /// Number of commands.
    commands: usize,
}

impl Cases {
    /// Validates the objects in a text: one object, or one on each line.
    fn check(&mut self, schema: &str, text: &str, of: &str) -> Vec<Value> {
        let whole = serde_json::from_str::<Value>(text).map(|object| vec![object]);
        let read = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{of}: {error} in `{line}`"))
        };
        let all = whole.unwrap_or_else(|_| text.lines().map(read).collect());
        for object in &all {
            self.schemas.check(schema, object).unwrap_or_else(|error| panic!("{of}\n{error}"));
        }
        all
    }

    /// Runs the command, expects an exit code, and validates its messages.
    fn command(&mut self, folder: &Folder, code: i32, args: &[&str], log: &str) -> (Output, Vec<Value>) {
        let mut command = folder.command();
        command.args(args).args(["--message-format", "json"]).env("WAVEMILL_LOG", log);
        let output = ends(code, &mut command);
        self.commands += 1;
        let messages = self.check("messages.schema.json", &err(&output), &args.join(" "));
        // Steps have a schema of their own, too.
        messages.iter().filter(|message| message["kind"] == "step").for_each(|step| {
            self.schemas.check("step.schema.json", step).unwrap();
        });
        assert_eq!(code != 0, messages.last().is_some_and(|last| last["kind"] == "error"), "{messages:?}");
        (output, messages)
    }

    /// The same with a command line as one text.
    fn run(&mut self, folder: &Folder, code: i32, line: &str) -> Vec<Value> {
        self.command(folder, code, &line.split(' ').collect::<Vec<_>>(), "").1
    }

    /// The same, and validates the standard output.
    fn writes(&mut self, schema: &str, folder: &Folder, code: i32, line: &str) -> Vec<Value> {
        let (output, _) = self.command(folder, code, &line.split(' ').collect::<Vec<_>>(), "");
        self.check(schema, &out(&output), line)
    }
}

/// Copies a code object out of `kernels/bin`.
fn object(folder: &Folder, path: &str) {
    let name = path.rsplit('/').next().unwrap();
    folder.file(name, std::fs::read(repository().join("kernels/bin").join(path)).unwrap());
}

const ADD: &str = "run vector_add.co --grid 2 --block 64 a[128]=iota b[128] c[128] n=128";

/// A launch with LDS, without the argument `y` of 1,024 elements.
const SUMS: &str =
    "run scan.co --kernel scan_groups --grid 4 --block 256 n=1024 x:u32[1024]=iota totals:u32[4]";

fn launches(cases: &mut Cases) {
    let folder = Folder::new("schemas_launches");
    for path in ["vector_add.co", "mandelbrot.co", "layer_norm.co", "black_scholes.co", "scan.co"] {
        object(&folder, &format!("gfx942/{path}"));
    }
    object(&folder, "gfx942/faults/offset.co");
    for more in [
        "--out c=c.npy --print c[:2]",
        "--stats",
        "--stats=full",
        "--fidelity",
        "--stats --fidelity",
        "--stats --engine reference --repeat 3",
        "--stats --engine jit",
        "--clang-arg=-O1",
        "--init=add.toml",
        "--isa-coverage rows.json",
        "--isa-coverage rows.json --stats",
    ] {
        cases.run(&folder, 0, &format!("{ADD} {more}"));
    }
    let rows = std::fs::read_to_string(folder.0.join("rows.json")).unwrap();
    cases.check("coverage.schema.json", &rows, "rows.json");
    cases.run(&folder, 0, "isa --out pages --format md --target gfx906");
    let options = "call:f32[64] put:f32[64] price:f32[64]=100 strike:f32[64]=90 years:f32[64]=1 n=64";
    let options = format!("run black_scholes.co --grid 1 --block 64 {options} rate=0.02 volatility=0.3");
    cases.run(&folder, 0, &format!("{options} --stats"));
    cases.run(&folder, 0, &format!("{SUMS} y:u32[1024] --stats=full"));
    // A kernel without vector instructions, and one that reads a wrong argument.
    folder.file("nothing.s", NOTHING);
    cases.run(&folder, 0, "asm nothing.s -o nothing.co");
    cases.run(&folder, 0, "run nothing.co --grid 1 --block 64 --stats");
    cases.run(&folder, 0, "run offset.co --kernel offset_x --grid 1 --block 64 a:u32[64] n:u32=64");
    // Errors in the command line and in files.
    cases.run(&folder, 2, "run vector_add.co --grid 1 --block 64");
    cases.run(&folder, 2, "run");
    cases.run(&folder, 2, "info vector_add.co --kernel none");
    cases.run(&folder, 3, "info none.co");
    // Stopped launches.
    let endless =
        "run mandelbrot.co --grid 30 --block 64 steps:u32[1920] width=1920 height=1 left=0 top=0 step=0";
    let endless = format!("{endless} limit=0xffffffff --threads 1");
    cases.run(&folder, 124, &format!("{endless} --max-instructions 100000"));
    cases.run(&folder, 124, &format!("{endless} --timeout 0.2"));
}

/// A kernel of one instruction.
const NOTHING: &str = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"
nothing:
\ts_endpgm
.Lend:
\t.size nothing, .Lend-nothing
\t.type nothing,@function
\t.globl nothing
\t.amdhsa_kernel nothing
\t\t.amdhsa_next_free_vgpr 1
\t\t.amdhsa_next_free_sgpr 8
\t.end_amdhsa_kernel
";

fn expectations(cases: &mut Cases) {
    let folder = Folder::new("schemas_expectations");
    object(&folder, "gfx942/vector_add.co");
    object(&folder, "gfx942/scan.co");
    for expected in ["c[:3]=[0,0.5,inf]", "c=1", "c=nan", "c[5]=nan", "c[:3]=[-inf,nan,9]"] {
        cases.run(&folder, 1, &format!("{ADD} --expect {expected}"));
        cases.run(&folder, 1, &format!("{ADD} --expect {expected} --tolerance abs=1e-6,ulp=2"));
    }
    cases.run(&folder, 1, &format!("{SUMS} y:u32[32,32] --expect y=7"));
    // After one launch and after all launches; before a fault.
    let launches = |more: &str| {
        let arguments = "args = ['a[64]', 'b[64]', 'c[64]', 'n=64']\nexpect = ['c=1']";
        let all = format!("object = 'vector_add.co'\nblock = 64\n{arguments}\n");
        format!("{all}[[launch]]\ngrid = 1\nexpect = ['c=1']\n[[launch]]\n{more}\n")
    };
    folder.file("two.toml", launches("grid = 1"));
    cases.run(&folder, 1, "run two.toml");
    folder.file("fault.toml", launches("grid = 2\nargs = ['n=128']"));
    let last = cases.run(&folder, 4, "run fault.toml").pop().unwrap();
    assert!(last["fault"].is_object() && last["expectations"].is_array(), "{last:#}");
}

fn faults(cases: &mut Cases) {
    for target in ["gfx906", "gfx942"] {
        let folder = faults::folder("schemas", target);
        // Reports show source lines of files that are older than the code object.
        std::fs::create_dir_all(folder.0.join("kernels/faults")).unwrap();
        for name in ["source.cl", "recursion.cl"] {
            let text = std::fs::read(repository().join("kernels/faults").join(name)).unwrap();
            folder.file(&format!("kernels/faults/{name}"), text);
        }
        for name in ["source.co", "recursion.co"] {
            let object = std::fs::File::options().append(true).open(folder.0.join(name)).unwrap();
            object.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
        }
        let mut run = |case: &Case, line: &[String]| {
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            let last = cases.command(&folder, case.exit, &line, "").1.pop().unwrap();
            assert!(last["fault"].is_object() != last["waves"].is_array(), "{last:#}");
        };
        for case in faults::cases(target) {
            let line = case.line(AddressMode::Sandbox);
            run(&case, &line);
            // A recursion without an end, and the largest stack.
            if ["recursion", "stack"].contains(&case.object) {
                let deeper = line.iter().map(|word| match word.starts_with("depth:") {
                    true => "depth:i32=2147483647".to_owned(),
                    false => word.clone(),
                });
                run(&case, &deeper.chain(["--stack=131056".to_owned()]).collect::<Vec<_>>());
            }
        }
    }
}

/// A lane with an enabled exception.
fn exceptions(cases: &mut Cases) {
    let folder = Folder::new("schemas_exceptions");
    folder.file("reciprocal.s", include_str!("../../../examples/assembly/reciprocal.s"));
    let line = "run reciprocal.s --grid 1 --block 4 x:f32[4] y:f32[4] --exceptions div0";
    let last = cases.run(&folder, 4, line).pop().unwrap();
    assert_eq!(last["fault"]["lanes"][3], json!({ "lane": 3, "exceptions": ["div0"] }));
}

/// A load outside an image.
fn image_accesses(cases: &mut Cases) {
    let folder = crate::run::images::copying("schemas_images");
    let line =
        "run k.s --grid 1 --block 8x8 from:image2d=@in.png to:image2d[rgba8,8x8] offset:i32=3 --strict";
    let last = cases.run(&folder, 4, line).pop().unwrap();
    assert_eq!(last["fault"]["image"]["coordinate"], json!("x"));
}

/// Accesses past LDS without `--strict`.
fn warnings(cases: &mut Cases) {
    let folder = faults::folder("schemas_warnings", "gfx950");
    for case in faults::cases("gfx950").into_iter().filter(|case| case.strict.lds) {
        let line = Case { strict: Strict::default(), ..case }.line(AddressMode::Sandbox);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let (_, messages) = cases.command(&folder, 0, &line, "");
        assert_eq!(messages[1]["kind"], "warning");
    }
}

/// A program of Cayman: its clause and registers, a trace, rows.
fn clauses(cases: &mut Cases) {
    let folder = Folder::new("schemas_clauses");
    folder.file("kcache.s", include_str!("run/cayman/kcache.s"));
    folder.file("atomic.s", include_str!("run/cayman/atomic.s"));
    let line = |source: &str| format!("run {source} --target cayman --grid 1 --block 64");
    let last = cases.run(&folder, 4, &line("kcache.s")).pop().unwrap();
    assert!(last["fault"]["clause"]["constants"].is_string(), "{last:#}");
    assert!(last["fault"]["registers"]["control"].is_object(), "{last:#}");
    // A control flow word has no clause.
    folder.file("far.s", include_str!("run/cayman/far.s"));
    let last = cases.run(&folder, 4, &line("far.s")).pop().unwrap();
    assert!(last["fault"]["clause"]["kind"].is_null(), "{last:#}");
    // A stopped wave is in one.
    folder.file("endless.s", include_str!("run/cayman/endless.s"));
    let last =
        cases.run(&folder, 124, &format!("{} --max-instructions 1000", line("endless.s"))).pop().unwrap();
    assert_eq!(last["waves"][0]["clause"]["kind"], "alu", "{last:#}");
    for more in ["--trace", "--stats=full", "--isa-coverage rows.json"] {
        cases.run(&folder, 0, &format!("{} counts:u32[2] {more}", line("atomic.s")));
    }
    let rows = std::fs::read_to_string(folder.0.join("rows.json")).unwrap();
    cases.check("coverage.schema.json", &rows, "rows.json");
}

/// Kernels whose reports and descriptions lack some fields.
fn odd_kernels(cases: &mut Cases) {
    let folder = Folder::new("schemas_odd");
    folder.file("odd.s", include_str!("schemas/odd.s"));
    cases.run(&folder, 0, "asm odd.s -o odd.co");
    cases.writes("info.schema.json", &folder, 0, "info --json odd.co");
    folder.file("names.s", include_str!("schemas/names.s"));
    cases.run(&folder, 0, "asm names.s -o names.co --unresolved-symbols ignore-all");
    cases.writes("info.schema.json", &folder, 0, "info --json names.co");
    cases.run(&folder, 4, "run odd.co --kernel cannot --grid 1 --block 64");
    cases.run(&folder, 4, "run odd.co --kernel past --grid 1 --block 64 x:u32[4]");
    cases.run(&folder, 4, "run odd.co --kernel away --grid 1 --block 64 --trace");
    cases.run(&folder, 4, "run odd.co --kernel hole --grid 1 --block 64");
    cases.run(&folder, 4, "run odd.co --kernel forever --grid 1 --block 64");
    cases.run(
        &folder,
        124,
        "run odd.co --kernel forever --grid 1 --block 64 --max-instructions 1000 --threads 1",
    );
    folder.file("unsupported.s", include_str!("schemas/unsupported.s"));
    let last = cases.run(&folder, 5, "run unsupported.s --grid 1 --block 64").pop().unwrap();
    assert_eq!(last["fault"]["unsupported"], json!(true));
    folder.file("gds.s", include_str!("schemas/gds.s"));
    let last = cases.run(&folder, 4, "run gds.s --grid 1 --block 1").pop().unwrap();
    assert_eq!((&last["fault"]["access"], &last["fault"]["space"]), (&json!("load"), &json!("gds")));
    assert_eq!(last["fault"]["lanes"], json!([{ "lane": 0, "offset": 16 }]));
    // A launch that is not cooperative, though the kernel synchronises the grid.
    object(&folder, "gfx942/hip/hip_grid_sync.co");
    let line = "run hip_grid_sync.co --kernel hip_grid_steps_in_memory --grid 2 --block 64";
    let last = cases.run(&folder, 4, &format!("{line} u32*[128] u32*[128] u32=128 u32=1")).pop().unwrap();
    assert_eq!(last["fault"]["needs_cooperative"], json!(true));
    // An access to memory that was freed.
    let folder = faults::folder("schemas_freed", "gfx942");
    let launch =
        |kernel: &str| format!("[[launch]]\nkernel = '{kernel}'\nargs = ['&before', '&data', '&after']\n");
    let all = "object = 'freed.co'\ngrid = 1\nblock = 64\n\
               args = ['before:u8[301]', 'data:u64[4]', 'after:u8[301]']\n";
    folder.file("freed.toml", format!("{all}{}{}", launch("keep_pointer"), launch("store_through")));
    cases.run(&folder, 4, "run freed.toml");
}

fn traces(cases: &mut Cases) {
    let folder = Folder::new("schemas_traces");
    for path in ["vector_add.co", "scan.co", "atomics_local32.co", "faults/private.co", "faults/access.co"] {
        object(&folder, &format!("gfx90a/{path}"));
    }
    cases.run(&folder, 0, &format!("{ADD} --trace --trace-workgroup 1 --repeat 2 --stats"));
    let one = "--trace --trace-workgroup 0 --trace-wave 0";
    let steps = cases.run(&folder, 0, &format!("{SUMS} y:u32[1024] {one}"));
    let changed = |name: &str| {
        let mut names =
            steps.iter().filter_map(|step| step["registers"].as_object()).flat_map(|all| all.keys());
        names.any(|changed| changed.starts_with(name))
    };
    ["s1", "v1", "vcc", "exec", "scc"].into_iter().for_each(|name| assert!(changed(name), "{name}"));
    let accesses = "before:u8[301] data:u8[256] offset:i64=0 lanes:u64=0xff stride:u32=4 \
                    records:u32=0xffffffff after:u8[301]";
    for (object, kernels) in [
        (
            "private",
            &["scratch_store_dwordx2", "flat_load_dwordx2", "flat_atomic_add", "buffer_load_dwordx2"][..],
        ),
        (
            "access",
            &["s_load_dword", "buffer_store_dword", "flat_lds_atomic", "ds_read2_b32", "global_atomic_add"],
        ),
    ] {
        for kernel in kernels {
            let line = format!("run {object}.co --kernel {kernel} --grid 1 --block 64 {accesses}");
            cases.run(&folder, 0, &format!("{line} --trace --trace-file steps.jsonl --stats=full"));
            let steps = std::fs::read_to_string(folder.0.join("steps.jsonl")).unwrap();
            cases.check("step.schema.json", &steps, &line);
        }
    }
}

/// printf, assertions, and the log.
fn services(cases: &mut Cases) {
    let folder = Folder::new("schemas_services");
    object(&folder, "gfx906/printf.co");
    object(&folder, "gfx942/hip/hip_assert.co");
    object(&folder, "gfx942/vector_add.co");
    let printf = "run printf.co --kernel printf_items --grid 2 --block 64 printed[100] n=100 every=1";
    cases.run(&folder, 0, &format!("{printf} --printf-buffer 64"));
    cases.run(&folder, 4, "run hip_assert.co --grid 2 --block 64 u32*[128]=iota u32=128 u32=126");
    let add: Vec<&str> = ADD.split(' ').collect();
    let (_, messages) = cases.command(&folder, 0, &add, "trace");
    assert!(messages.iter().any(|message| message["level"] == "debug"), "{messages:?}");
    cases.command(&folder, 0, &[&add[..], &["--log-file", "run.log"]].concat(), "debug");
    let log = std::fs::read_to_string(folder.0.join("run.log")).unwrap();
    assert!(cases.check("messages.schema.json", &log, "run.log").len() > 3);
}

/// Messages name their launch file if there are several.
fn launch_files(cases: &mut Cases) {
    let folder = faults::folder("schemas_launch_files", "gfx942");
    object(&folder, "gfx906/printf.co");
    object(&folder, "gfx942/hip/hip_assert.co");
    object(&folder, "gfx942/vector_add.co");
    let add = "object = 'vector_add.co'\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\n";
    folder.file("add.toml", format!("{add}out = ['c=c.npy']\nexpect = ['c=1']\n"));
    folder.file("assert.toml", "object = 'hip_assert.co'\nargs = ['u32*[64]=iota', 'u32=64', 'u32=60']\n");
    let printf = "object = 'printf.co'\nkernel = 'printf_items'\nprintf-buffer = 64\n";
    folder.file("printf.toml", format!("{printf}args = ['printed[64]', 'n=64', 'every=1']\n"));
    let lds = "['before:u8[301]', 'data:u8[256]', 'offset:i64=2000', 'lanes:u64=1', 'stride:u32=4', \
               'records:u32=0', 'after:u8[301]']";
    folder.file("lds.toml", format!("object = 'access.co'\nkernel = 'ds_read_b32'\nargs = {lds}\n"));
    folder.file(
        "wrong.s",
        "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.warning \"old\"\nv_mov_b33 v0, v1\n",
    );
    folder.file("wrong.toml", "object = 'wrong.s'\nargs = []\n");
    let mut names = vec!["add", "assert", "printf", "lds", "wrong"];
    let stand_in = stand_in_for_clang(&folder);
    if stand_in {
        folder.file("compile.toml", format!("{}target = 'gfx942'\n", add.replace("vector_add.co", "k.cl")));
        names.push("compile");
    }
    for name in &names {
        let file = folder.0.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("grid = 1\nblock = 64\n{text}")).unwrap();
    }
    let files: Vec<String> = names.iter().map(|name| format!("{name}.toml")).collect();
    let last = cases
        .run(&folder, 1, &format!("run {} --stats --clang ./clang --libclc k.cl", files.join(" ")))
        .pop()
        .unwrap();
    assert_eq!(last["failed"], json!(["add.toml", "assert.toml", "wrong.toml"]));
    assert!(last.get("launch_file").is_none());
    if stand_in {
        cases.run(&folder, 2, "run k.cl --clang ./clang --libclc k.cl");
    }
}

/// A program in the place of clang, which warns and copies a code object, if this host has scripts.
fn stand_in_for_clang(folder: &Folder) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let known = "-print-resource-dir) echo /usr/lib/clang/22 ;; -print*) echo /bin/sh ;;";
        let warn = "echo 'k.cl:1:1: warning: old' >&2";
        let copy = "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && cp vector_add.co \"$2\"; shift; done";
        folder.file("clang", format!("#!/bin/sh\ncase $1 in {known} *) {warn}; {copy} ;; esac\n"));
        folder.file("k.cl", "kernel void vector_add() {}\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.0.join("clang"), mode).unwrap();
    }
    cfg!(unix)
}

fn assembly(cases: &mut Cases) {
    let folder = Folder::new("schemas_assembly");
    let right = "x: v_add_f32 v0, v1, v2\n.long 1, y\n.globl z\n.print \"text\"\n\
                 ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)\n";
    let wrong = ".macro m\nv_mov_b32 v0, v300\n.warning \"made\"\n.endm\nm\n\
                 .include \"part.s\"\n.warning \"old\"\nv_add_f32 v0, v1\n";
    let part = "v_mov_b33 v0, v1\n.warning \"part\"\n.print \"part\"\ns_nop 1\n";
    // A warning about the whole source: only some files have an MD5 sum.
    let files = ".file 1 \"a\" \"b.c\" md5 0x00112233445566778899aabbccddeeff\n\
                 .file 2 \"a\" \"c.c\"\n.loc 1 1\ns_nop 0\n";
    for (name, text) in [("right.s", right), ("wrong.s", wrong), ("part.s", part), ("files.s", files)] {
        folder.file(name, text);
    }
    let asm = "asm --target gfx90a";
    for name in ["right.s", "wrong.s", "files.s"] {
        cases.writes("asm-line.schema.json", &folder, 0, &format!("{asm} --json {name}"));
    }
    cases.run(&folder, 0, &format!("{asm} right.s --filetype obj -o right.o"));
    cases.run(&folder, 3, &format!("{asm} right.s -o right.co"));
    cases.run(&folder, 3, &format!("{asm} wrong.s -o wrong.co"));
    cases.run(&folder, 0, &format!("{asm} files.s -o files.o --filetype obj"));
    let code = format!("0102027e\nffffffff\n7e\nno digits\n\n0081cbd101e50928\n{}\n", "0".repeat(70_000));
    folder.file("code.txt", code);
    let lines = cases.writes("dis-line.schema.json", &folder, 0, "dis --target gfx90a --json code.txt");
    assert_eq!(lines.len(), 7);
    // The source of a code object before version 4 comes with a note.
    let fixtures = repository().join("crates/wavemill-object/tests/fixtures");
    folder.file("old.co", std::fs::read(fixtures.join("gfx90a-v3.co")).unwrap());
    let (output, _) = cases.command(&folder, 0, &["dis", "old.co"], "");
    assert!(!output.stdout.is_empty());
}

fn files(cases: &mut Cases) {
    let folder = Folder::new("schemas_files");
    let fixtures = repository().join("crates/wavemill-object/tests/fixtures");
    let fixture = |name: &str| std::fs::read(fixtures.join(name)).unwrap();
    let schema = "info.schema.json";
    for name in [
        "gfx906-v2.co",
        "gfx906-v4.co",
        "gfx906-v5-features.co",
        "gfx90a-v3.co",
        "gfx942-v5.co",
        "gfx950-v6.co",
        "gfx9-4-generic-v6.co",
        "gfx942-relocatable.o",
        "gfx950-llc.o",
        "plain.bundle",
        "compressed-v2.bundle",
        "compressed-v3.bundle",
        "host-library.so",
    ] {
        folder.file(name, fixture(name));
        cases.writes(schema, &folder, 0, &format!("info --json {name}"));
    }
    for path in ["hip/hip_printf.co", "printf.co", "preload.co", "dgemm.co", "scan.co", "recursion.co"] {
        let path = if path == "recursion.co" { "faults/recursion.co" } else { path };
        object(&folder, &format!("gfx942/{path}"));
        let name = path.rsplit('/').next().unwrap();
        cases.writes(schema, &folder, 0, &format!("info --json {name}"));
    }
    cases.writes(schema, &folder, 0, "info --json host-library.so --target gfx90a --kernel sum");
    cases.writes(schema, &folder, 3, "info --json compressed-v3.bundle --max-decompressed 1000");
    // A bundle with a damaged entry, and a bundle with shared code and a repeated row.
    let mut damaged = fixture("plain.bundle");
    let at = damaged.windows(4).position(|window| window == b"\x7fELF").unwrap();
    damaged[at + 8] = 77;
    folder.file("damaged.bundle", damaged);
    cases.writes(schema, &folder, 3, "info --json damaged.bundle");
    let code = fixture("gfx942-v5.co");
    let ids = ["hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"];
    let rows = [ids[0], ids[1], ids[0]];
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__\x03\0\0\0\0\0\0\0".to_vec();
    for id in rows {
        [4096, code.len(), id.len()].iter().for_each(|number| bundle.extend((*number as u64).to_le_bytes()));
        bundle.extend(id.bytes());
    }
    bundle.resize(4096, 0);
    bundle.extend(code);
    folder.file("shared.bundle", bundle);
    cases.writes(schema, &folder, 0, "info --json shared.bundle");
    // A processor with an unknown number in the ELF header.
    let mut unknown = fixture("gfx942-v5.co");
    unknown[48] = 0x7f;
    folder.file("unknown.co", unknown);
    cases.writes(schema, &folder, 0, "info --json unknown.co");
    cases.writes("targets.schema.json", &folder, 0, "targets --json");
}

fn explanations(cases: &mut Cases) {
    let folder = Folder::new("schemas_explanations");
    // The instruction is one argument.
    let explain = |cases: &mut Cases, before: &[&str], words: &str| {
        let (instruction, target) = words.split_once(" --target ").unwrap_or((words, "gfx950"));
        let known = words.contains(" --target ").then_some(["--target", target]);
        let line = [before, &known.iter().flatten().copied().collect::<Vec<_>>(), &[instruction]].concat();
        let (output, _) = cases.command(&folder, 0, &line, "");
        cases.check("explain.schema.json", &out(&output), words);
    };
    for words in [
        "v_add_f32",
        "v_add_f32_e64 --target gfx942",
        "v_mfma_f32_32x32x8_f16",
        "v_smfmac_f32_16x16x32_f16",
        "v_mfma_scale_f32_16x16x128_f8f6f4",
        "buffer_load_dword",
        "global_load_lds_dword",
        "global_atomic_add",
        "s_load_dword",
        "s_waitcnt",
        "s_setreg_b32",
        "ds_swizzle_b32",
        "image_sample",
        "exp",
        "v_interp_p1_f32",
        "v_bitop3_b32",
        "v_lshl_add_u64",
        "v_rcp_f32",
        "v_div_scale_f32",
        "v_exp_f32",
        "v_pk_fma_f32",
        "v_add_f32 v0, -v1, s2",
        "v_add_f32 v0, 1.0, v2",
        "v_add_f32 v0, 0x12345678, v2",
        "v_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_PAD",
        "v_cndmask_b32 v0, v1, v2, vcc",
        "v_interp_p1_f32 v0, v1, attr0.x --target gfx906",
        "buffer_load_dword v0, off, s[4:7], 0",
        "flat_atomic_add v1, v[2:3], v4 glc",
        "s_waitcnt vmcnt(0)",
        "s_setpc_b64 s[2:3]",
        "s_mov_b32 m0, s2",
        "0xd2080000 0x04010004",
        "0081cbd101e50928",
        "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, 1.0",
        "s_movrels_b32",
        "s_movrels_b32 s0, s1",
        "ds_add_f32 v0, v1",
        // Bytes that mean something else on other targets.
        "v_mul_legacy_f32 v0, v1, v2 --target gfx906",
        "v_mul_legacy_f32_e64 v0, v1, v2 --target gfx906",
        "v_mfma_f32_32x32x4_2b_bf16 a[0:31], v[0:1], v[2:3], a[0:31] --target gfx942",
        "0xd3d40000 0x04020300 --target gfx90a",
    ] {
        explain(cases, &["explain", "--json"], words);
    }
    for words in [
        "v_mfma_f32_4x4x1f32",
        "v_smfmac_f32_16x16x32_f16",
        "v_mfma_scale_f32_16x16x128_f8f6f4",
        "v_mfma_f32_16x16x128_f8f6f4 cbsz:2 blgp:3",
        "0xd3c20a00 0x64020300 --target gfx908",
        "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, 1.0",
    ] {
        explain(cases, &["explain", "--json", "--layout"], words);
    }
    cases.run(&folder, 3, "explain --json v_nothing");
}

fn cayman(cases: &mut Cases) {
    let folder = Folder::new("schemas_cayman");
    let schema = "cayman.schema.json";
    let explain = |cases: &mut Cases, clause: &str, words: &str| {
        let line = ["explain", "--target", "cayman", "--json", "--clause", clause, words];
        let (output, _) = cases.command(&folder, 0, &line, "");
        cases.check(schema, &out(&output), words);
    };
    for name in
        ["add", "dot", "kille", "jump", "ashr_int", "recip_64", "store_flags", "vfetch", "nop", "mul_prev"]
    {
        explain(cases, "cf", name);
    }
    for words in ["jump @5 pop:1", "end cond:3", "x: mov r0.x, 0x7", "x: add r0.x, r1.x, pv.y ;;"] {
        explain(cases, "cf", words);
    }
    // A slot that clamps an integer, and two that read one element in one cycle.
    explain(cases, "alu", "01200080901a0000");
    explain(cases, "alu", "x: add_int r0.x, r1.x, r2.x clamp");
    explain(cases, "alu", "x: mul_prev r0.x, r1.x, r2.x");
    cases.run(&folder, 3, "explain --target cayman --json mvo");
    folder.file("k.s", crate::cayman::SOURCE);
    cases.run(&folder, 0, "asm --target cayman k.s -o k.o");
    cases.writes(schema, &folder, 0, "info --json k.o");
    // Words alone: END, then a loop that only pushes, then a word that is no instruction.
    for (name, digits) in [
        ("end.txt", "0000000000000088"),
        ("push.txt", "010000000100c082 0000000000000082"),
        ("wrong.txt", "00000000000000ff 0000000000000088"),
    ] {
        folder.file(name, digits);
        cases.writes(schema, &folder, 0, &format!("info --json --target cayman {name}"));
    }
}

fn benches(cases: &mut Cases) {
    let folder = Folder::new("schemas_benches");
    let bench = "bench --json --small --runs 2 --kernel vector_add sgemm";
    cases.writes("bench.schema.json", &folder, 0, &format!("{bench} --check --threads 1"));
    cases.writes("bench.schema.json", &folder, 0, &format!("{bench} --scaling --threads 2"));
    cases.writes("bench.schema.json", &folder, 0, &format!("{bench} --engine jit --threads 1"));
    let bench = "bench --json --small --runs 2 --kernel vector_add mandelbrot --target cayman";
    cases.writes("bench.schema.json", &folder, 0, bench);
}

/// All cases. They run once.
static CASES: LazyLock<Cases> = LazyLock::new(|| {
    let mut cases = Cases { schemas: Schemas::read(), commands: 0 };
    for part in [
        launches,
        expectations,
        faults,
        exceptions,
        image_accesses,
        warnings,
        odd_kernels,
        clauses,
        traces,
        services,
        launch_files,
        assembly,
        files,
        explanations,
        cayman,
        benches,
    ] {
        part(&mut cases);
    }
    cases
});

#[test]
fn output_matches_the_schemas() {
    let Cases { schemas, commands } = &*CASES;
    println!("{commands} commands, {} objects", schemas.valid);
    assert!(*commands > 300 && schemas.valid > 1000, "{commands} commands, {} objects", schemas.valid);
}

/// A schema describes no field that does not exist, and declares no field optional or nullable that
/// always has a value. On other systems, some fields differ.
#[test]
#[cfg(target_os = "linux")]
fn schemas_describe_existing_fields_only() {
    let unused = CASES.schemas.unused();
    // Hosts without AVX-512 make no machine code.
    let has_code = wavemill::launch::Tier::detect().name() == "avx512";
    let known = |one: &String| {
        UNUSED.iter().any(|(start, _)| one.starts_with(start)) || !has_code && one.contains("machine_code")
    };
    let unknown: Vec<&String> = unused.iter().filter(|one| !known(one)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    for (start, _) in UNUSED {
        assert!(unused.iter().any(|one| one.starts_with(start)), "no longer unused: {start}");
    }
}

/// Validation rejects missing fields, unknown fields, and values of a wrong type.
#[test]
fn changed_objects_are_rejected() {
    let changes = CASES.schemas.reject_changes();
    println!("{changes} changes");
    assert!(changes > 4000, "{changes}");
}

/// The schemas as they are published accept unknown fields.
#[test]
fn published_schemas_allow_more_fields() {
    let schemas = Schemas::read();
    let targets = Folder::new("schemas_published");
    let output = ends(0, targets.command().args(["targets", "--json"]));
    let mut object: Value = serde_json::from_str(&out(&output)).unwrap();
    object["added"] = json!(1);
    object["targets"][0]["added"] = json!("later");
    let name = "targets.schema.json";
    assert!(!schemas.accepts(name, &object));
    assert!(schemas.published(name).is_valid(&object));
    object["targets"][0]["name"] = json!(1);
    assert!(!schemas.published(name).is_valid(&object));
}

#[test]
fn schemas_are_documented() {
    let schemas = Schemas::read();
    let page = std::fs::read_to_string(repository().join("docs/json.md")).unwrap();
    for (name, schema) in schemas.files() {
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        let id = format!("https://raw.githubusercontent.com/wavemill/wavemill/main/docs/schemas/{name}");
        assert_eq!(schema["$id"], id);
        let link = format!("https://github.com/wavemill/wavemill/blob/main/docs/schemas/{name}");
        assert!(page.contains(&link), "docs/json.md does not link to {name}");
    }
    schemas.each_property(|place, schema| {
        let text = schema["description"].as_str().unwrap_or_default();
        let is_sentence = text.ends_with('.') && !text.contains(". ") && text.contains(char::is_alphabetic);
        assert!(is_sentence, "{place}: expected a description of one sentence, found {text:?}");
    });
}
