//! `wavemill run` on sources: assembly, OpenCL C, HIP.

use std::path::{Path, PathBuf};

use wavemill_oracle::{Failed, Suite, Tool};

use crate::common::{Folder, ends, err, expect, out, repository, said};

const TARGETS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx950"];

/// What OpenCL C needs, as Debian has it.
const OPENCL: [Tool; 3] =
    [Tool::Clang, Tool::Program("ld.lld-22"), Tool::File("/usr/lib/clc/amdgcn-amd-amdhsa.bc", "libclc-22")];

/// What HIP needs, as Debian has it.
const HIP: [Tool; 4] = [
    Tool::Clang,
    Tool::Program("ld.lld-22"),
    Tool::File("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ockl.bc", "rocm-device-libs"),
    Tool::File("/usr/include/hip/hip_runtime.h", "libamdhip64-dev"),
];

/// A launch of `saxpy` of the examples, whose result is `y = 2 x + y` for `x = 0, 1, ...` and `y = 1`.
const SAXPY: [&str; 10] = [
    "--grid",
    "4",
    "--block",
    "64",
    "a:f32=2",
    "x:f32[250]=iota",
    "y:f32[250]=ones",
    "n:u32=250",
    "--expect",
    "y=iota(1,2)",
];

pub(crate) fn add(suite: &mut Suite) {
    suite.test("assembly runs as it is", assembly);
    suite.test("errors in assembly end the run", errors_in_assembly);
    suite.test("sources are no code objects", no_code_objects);
    suite.test("a machine without clang", without_clang);
    suite.test("a clang without a linker", without_linker);
    suite.test("a clang that does not end", without_end);
    for target in TARGETS {
        suite.oracle_test(format!("OpenCL C for {target}"), &OPENCL, move || source("saxpy.cl", target));
        suite.oracle_test(format!("HIP for {target}"), &HIP, move || source("saxpy.hip", target));
    }
    suite.oracle_test("what HIP has beside arithmetic", &HIP, hip);
    suite.oracle_test("the line that is printed", &OPENCL, printed_line);
    suite.oracle_test("errors in OpenCL C", &OPENCL, errors_in_opencl);
    suite.oracle_test("arguments for clang", &OPENCL, arguments_for_clang);
}

/// A source of the examples, in a folder of its own with an empty folder for temporary files.
fn example(folder: &str, name: &str) -> Result<Folder, Failed> {
    let folder = Folder::new(folder);
    let parent = if name.ends_with(".s") { "assembly" } else { "source" };
    folder.file(name, std::fs::read(repository().join("examples").join(parent).join(name))?);
    std::fs::create_dir(folder.0.join("tmp"))?;
    Ok(folder)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    Ok(std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), Failed> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("found {found:?}, expected {expected:?}").into()),
    }
}

fn contains(text: &str, part: &str) -> Result<(), Failed> {
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("no `{part}` in:\n{text}").into()),
    }
}

fn source(name: &str, target: &str) -> Result<(), Failed> {
    let folder = example(&format!("compiled_{name}_{target}"), name)?;
    let mut command = folder.command();
    command.env("TMPDIR", folder.0.join("tmp")).args(["run", name, "--target", target]).args(SAXPY);
    let output = ends(0, &mut command);
    same(&out(&output), &"y: 250 elements as expected\n".to_owned())?;
    let said = err(&output);
    same(&said.lines().count(), &2)?;
    contains(&said, &format!("={target} "))?;
    contains(&said, &format!(" -o saxpy.co {name}\n"))?;
    // Nothing is left, neither there nor beside the source.
    same(&files(&folder.0.join("tmp"))?.len(), &0)?;
    same(&files(&folder.0)?.len(), &2)
}

/// Dynamic LDS, barriers, shuffles, atomics, mathematics and printf: each comes from another part of HIP's headers and ROCm's
/// libraries.
const HIP_KERNELS: &str = r#"
#include <hip/hip_runtime.h>

__global__ void sum(const float *x, float *out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k)
            part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, part[0]);
}

__global__ void lanes(int *a) {
    int v = threadIdx.x;
    for (int d = 32; d > 0; d /= 2)
        v += __shfl_down(v, d);
    if (threadIdx.x == 0) {
        a[0] = v;
        a[1] = (int)sqrt((double)v * v);
        printf("%d lanes of block %d\n", (int)blockDim.x, (int)blockIdx.x);
    }
}
"#;

fn hip() -> Result<(), Failed> {
    let folder = Folder::new("compiled_hip");
    folder.file("k.hip", HIP_KERNELS);
    for target in ["gfx906", "gfx950"] {
        let run = ["run", "k.hip", "--target", target, "--block", "64"];
        let sum = ["--kernel", "_Z3sumPKfPfi", "--grid", "4", "--dynamic-lds", "256"];
        let arguments = ["f32[250]=iota", "out:f32[1]", "i32=250", "--expect", "out=31125"];
        expect(&folder, 0, &[&run[..], &sum, &arguments].concat());
        // The sum of 0 to 63 is 2016.
        let lanes = ["--kernel", "_Z5lanesPi", "--grid", "1", "a:i32[2]", "--expect", "a=[2016,2016]"];
        let output = expect(&folder, 0, &[&run[..], &lanes].concat());
        same(&out(&output), &"64 lanes of block 0\na: 2 elements as expected\n".to_owned())?;
    }
    Ok(())
}

/// What is printed can be copied, and makes a file that runs.
fn printed_line() -> Result<(), Failed> {
    let folder = example("compiled_line", "saxpy.cl")?;
    let said = err(&expect(&folder, 0, &[&["run", "saxpy.cl"][..], &SAXPY].concat()));
    let lines: Vec<&str> = said.lines().collect();
    contains(lines[0], "note: `saxpy.cl` is compiled for gfx942; --target names another target")?;
    ends(0, std::process::Command::new("sh").arg("-c").arg(lines[1]).current_dir(&folder.0));
    expect(&folder, 0, &[&["run", "saxpy.co"][..], &SAXPY].concat());
    // For programs.
    let line = ["run", "saxpy.cl", "--message-format", "json", "--target", "mi210"];
    let said = err(&expect(&folder, 0, &[&line[..], &SAXPY].concat()));
    let first: serde_json::Value = serde_json::from_str(said.lines().next().unwrap_or_default())?;
    same(&first["kind"], &serde_json::Value::from("compile"))?;
    same(&first["command"][0], &serde_json::Value::from("clang-22"))?;
    let command = first["command"].as_array().ok_or("no list")?;
    match command.contains(&serde_json::Value::from("-mcpu=gfx90a")) {
        true => Ok(()),
        false => Err(format!("{command:?}").into()),
    }
}

fn errors_in_opencl() -> Result<(), Failed> {
    let folder = Folder::new("compiled_errors");
    std::fs::create_dir(folder.0.join("tmp"))?;
    folder.file("bad.cl", "kernel void k(global int *a) { a[0] = nowhere; }\n");
    let mut command = folder.command();
    let output = ends(3, command.env("TMPDIR", folder.0.join("tmp")).args(["run", "bad.cl"]));
    contains(&err(&output), "bad.cl:1:39: error: use of undeclared identifier 'nowhere'")?;
    contains(&err(&output), "error: `bad.cl` does not compile: clang-22 ended with exit status: 1\n")?;
    same(&files(&folder.0.join("tmp"))?.len(), &0)?;
    let json = said(&folder, 3, &["run", "bad.cl", "--message-format", "json"]);
    let kinds: Result<Vec<serde_json::Value>, _> = json.lines().map(serde_json::from_str).collect();
    let kinds: Vec<_> = kinds?.iter().map(|message| message["kind"].clone()).collect();
    same(&kinds, &["note", "compile", "compiler", "error"].map(serde_json::Value::from).to_vec())?;
    let old = said(&folder, 3, &["run", "bad.cl", "--clang-arg=-mcpu=gfx99"]);
    contains(&old, "name a newer clang with --clang, or another target with --target")
}

fn arguments_for_clang() -> Result<(), Failed> {
    let folder = Folder::new("compiled_arguments");
    std::fs::create_dir(folder.0.join("headers"))?;
    folder.file("headers/add.h", "#define ADD 100\n");
    folder.file(
        "k.cl",
        "#include \"add.h\"\nkernel void k(global int *a) { a[get_global_id(0)] = ADD + N; }\n",
    );
    let launch = "object = 'k.cl'\nclang-args = ['-DN=3', '-Iheaders']\ngrid = 1\nblock = 64\nargs = ['a[64]']\nprint = ['a[:1]']\n";
    folder.file("k.toml", launch);
    // Paths of a launch file are relative to it.
    let folder_of_tests = Folder::new("compiled_arguments_elsewhere");
    let file = folder.0.join("k.toml").display().to_string();
    let print = |line: &[&str]| out(&expect(&folder_of_tests, 0, line));
    same(&print(&["run", &file]), &"a[:1] = [103]\n".to_owned())?;
    same(&print(&["run", &file, "--clang-arg=-UN", "--clang-arg=-DN=4"]), &"a[:1] = [104]\n".to_owned())?;
    // What is given goes into lines and launch files to start from.
    let text = said(&folder, 2, &["run", "k.cl", "--clang-arg=-DN=3", "--clang-arg=-Iheaders"]);
    contains(
        &text,
        "wavemill run k.cl --kernel k --clang-arg=-DN=3 --clang-arg=-Iheaders --grid 4 --block 256",
    )?;
    let line = [
        "run",
        "k.cl",
        "--clang-arg=-DN=3",
        "--clang-arg=-Iheaders",
        "--grid",
        "1",
        "--block",
        "64",
        "a:i32[64]",
        "--init=init.toml",
    ];
    expect(&folder, 0, &line);
    expect(&folder, 0, &["run", "init.toml"]);
    // A launch file is data: it cannot make clang run something else.
    folder.file("plugin.toml", launch.replace("-DN=3", "-fplugin=evil.so"));
    let said = said(&folder, 2, &["run", "plugin.toml"]);
    contains(&said, "plugin.toml: clang-args: `-fplugin=evil.so` is refused; expected one of -D, -U, -I, -O,")
}

fn assembly() -> Result<(), Failed> {
    let folder = example("compiled_assembly", "twice.s")?;
    let line =
        ["run", "twice.s", "--grid", "1", "--block", "64", "data:f32[64]=iota", "--expect", "data=iota(0,2)"];
    let output = expect(&folder, 0, &line);
    same(&err(&output), &"1x1x1 workgroups x 64 = 64 work-items\n".to_owned())?;
    // In a launch file, too, beside which the source is.
    folder.file(
        "twice.toml",
        "object = 'twice.s'\ngrid = 1\nblock = 64\nargs = ['data:f32[64]=ones']\nexpect = ['data=2']\n",
    );
    let elsewhere = Folder::new("compiled_assembly_elsewhere");
    expect(&elsewhere, 0, &["run", &folder.0.join("twice.toml").display().to_string()]);
    // The target of the source counts.
    let said = said(&folder, 3, &["run", "twice.s", "--target", "gfx942"]);
    contains(&said, "gfx90a")
}

fn errors_in_assembly() -> Result<(), Failed> {
    let folder = Folder::new("compiled_bad_assembly");
    folder.file("bad.s", "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n\tv_add_f33 v0, v1, v2\n");
    let text = said(&folder, 3, &["run", "bad.s"]);
    contains(&text, "bad.s:2:2")?;
    contains(&text, "error: `bad.s` has an error\n")
}

fn no_code_objects() -> Result<(), Failed> {
    let folder = Folder::new("compiled_no_objects");
    for name in ["k.cl", "k.hip", "k.s", "k.cpp", "k.py"] {
        folder.file(name, "text\n");
    }
    for command in ["info", "dis"] {
        let text = said(&folder, 3, &[command, "k.cl"]);
        contains(&text, "error: `k.cl` is a source (OpenCL C), expected a code object\n")?;
        contains(&text, &format!("run that line, then: wavemill {command} k.co\n"))?;
        let text = said(&folder, 3, &[command, "k.s"]);
        contains(
            &text,
            &format!("Assemble it first: wavemill asm k.s -o k.co && wavemill {command} k.co\n"),
        )?;
    }
    contains(&said(&folder, 3, &["run", "k.cpp"]), "a name that ends in .hip or .hip.cpp: rename k.cpp")?;
    contains(&said(&folder, 3, &["run", "k.py"]), "docs/compiling.md")?;
    contains(&said(&folder, 3, &["run", "absent.cl"]), "error: there is no file `absent.cl`\n")
}

fn without_clang() -> Result<(), Failed> {
    let folder = Folder::new("compiled_without_clang");
    folder.file("k.cl", "kernel void k() {}\n");
    let text = said(&folder, 3, &["run", "k.cl", "--clang", "nowhere/clang"]);
    contains(&text, "error: cannot run `nowhere/clang`: ")?;
    let mut command = folder.command();
    let text = err(&ends(3, command.args(["run", "k.cl"]).env("CLANG", "nowhere/other")));
    contains(&text, "error: cannot run `nowhere/other`: ")?;
    if Path::new("/opt/rocm").exists() {
        return Ok(());
    }
    let mut command = folder.command();
    command.args(["run", "k.cl"]).env("PATH", "").env_remove("CLANG").env_remove("ROCM_PATH");
    let text = err(&ends(3, &mut command));
    contains(&text, "error: OpenCL C needs clang, and there is none: looked for --clang, ")?;
    contains(&text, "apt install clang-22 lld-22 libclc-22")
}

/// A program in the folder that stands for clang.
#[cfg(unix)]
fn stand_in(folder: &Folder, script: &str) -> Result<(), Failed> {
    use std::os::unix::fs::PermissionsExt;
    folder.file("clang", format!("#!/bin/sh\n{script}\n"));
    Ok(std::fs::set_permissions(folder.0.join("clang"), PermissionsExt::from_mode(0o755))?)
}

#[cfg(unix)]
fn without_linker() -> Result<(), Failed> {
    let folder = Folder::new("compiled_without_linker");
    folder.file("k.cl", "kernel void k() {}\n");
    stand_in(
        &folder,
        "case $1 in -print-resource-dir) echo /usr/lib/llvm-21/lib/clang/21 ;; *) echo no-such-lld ;; esac",
    )?;
    let text = said(&folder, 3, &["run", "k.cl", "--clang", "./clang"]);
    contains(&text, "error: `./clang` finds no ld.lld, which links code objects\n")?;
    contains(&text, "apt install lld-21")
}

/// `--timeout` ends clang, too.
#[cfg(unix)]
fn without_end() -> Result<(), Failed> {
    let folder = Folder::new("compiled_without_end");
    folder.file("k.cl", "kernel void k() {}\n");
    folder.file("libclc.bc", "");
    stand_in(
        &folder,
        "case $1 in -print-resource-dir) echo /usr/lib/clang/22 ;; -print*) echo /bin/sh ;; *) exec sleep 1000 ;; esac",
    )?;
    let line = ["run", "k.cl", "--clang", "./clang", "--libclc", "libclc.bc", "--timeout", "0.3"];
    contains(&said(&folder, 124, &line), "the run was stopped while it compiled `k.cl`\n")
}

#[cfg(not(unix))]
fn without_linker() -> Result<(), Failed> {
    Ok(())
}

#[cfg(not(unix))]
fn without_end() -> Result<(), Failed> {
    Ok(())
}
