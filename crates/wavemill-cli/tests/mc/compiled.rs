//! `wavemill run` on sources: assembly, OpenCL C, HIP.

use std::path::{Path, PathBuf};

use wavemill_oracle::{Failed, Suite, Tool};

use crate::common::{Folder, ends, err, expect, out, repository, said};

const TARGETS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx950"];

/// Requirements of OpenCL C, as in Debian.
const OPENCL: [Tool; 3] =
    [Tool::Clang, Tool::Program("ld.lld-22"), Tool::File("/usr/lib/clc/amdgcn-amd-amdhsa.bc", "libclc-22")];

/// Requirements of HIP, as in Debian.
const HIP: [Tool; 4] = [
    Tool::Clang,
    Tool::Program("ld.lld-22"),
    Tool::File("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ockl.bc", "rocm-device-libs"),
    Tool::File("/usr/include/hip/hip_runtime.h", "libamdhip64-dev"),
];

/// Requirements of OpenCL C with images, as in Debian.
const IMAGES: [Tool; 3] = [
    Tool::Clang,
    Tool::Program("ld.lld-22"),
    Tool::File("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/opencl.bc", "rocm-device-libs"),
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
    suite.test("a clang that is interrupted", interrupted);
    suite.test("launch files that want more of clang than a kernel", bad_launch_files);
    suite.test("folders of ROCm that are none", rocm_paths);
    suite.test("sources for a generic processor", generic_processors);
    for target in TARGETS {
        suite.oracle_test(format!("OpenCL C for {target}"), &OPENCL, move || source("saxpy.cl", target));
        suite.oracle_test(format!("HIP for {target}"), &HIP, move || source("saxpy.hip", target));
    }
    suite.oracle_test("what HIP has beside arithmetic", &HIP, hip);
    suite.oracle_test("the line that is printed", &OPENCL, printed_line);
    suite.oracle_test("printf of OpenCL C", &OPENCL, printf);
    suite.oracle_test("errors in OpenCL C", &OPENCL, errors_in_opencl);
    suite.oracle_test("the line that is proposed for images", &OPENCL, proposed_for_images);
    suite.oracle_test("arguments for clang", &OPENCL, arguments_for_clang);
    suite.oracle_test("names that look like options", &OPENCL, names_like_options);
    suite.oracle_test("global offsets", &OPENCL, global_offsets);
    suite.oracle_test("global offsets with ROCm's library", &HIP, global_offsets_of_rocm);
    for target in ["gfx906", "gfx90a"] {
        suite.oracle_test(format!("images of OpenCL C for {target}"), &IMAGES, move || images(target));
    }
    suite.oracle_test("images of several samples", &IMAGES, images_of_samples);
}

/// A source of the examples, in its own folder with an empty folder for temporary files.
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
    // No file is left, neither there nor next to the source.
    same(&files(&folder.0.join("tmp"))?.len(), &0)?;
    same(&files(&folder.0)?.len(), &2)
}

/// Dynamic LDS, barriers, shuffles, atomics, mathematics and printf: each is from another part of
/// HIP's headers and ROCm's libraries.
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
    folder.file("plain.hip", "__global__ void k(int *a) { a[threadIdx.x] = 1; }\n");
    let text = said(&folder, 3, &["run", "plain.hip", "--target", "gfx942"]);
    contains(&text, "Add `#include <hip/hip_runtime.h>` to the source, which declares HIP's names.")
}

/// The printed command line can be copied, and creates a file that runs.
fn printed_line() -> Result<(), Failed> {
    let folder = example("compiled_line", "saxpy.cl")?;
    let said = err(&expect(&folder, 0, &[&["run", "saxpy.cl"][..], &SAXPY].concat()));
    let lines: Vec<&str> = said.lines().collect();
    contains(lines[0], "note: `saxpy.cl` is compiled for gfx942; pass --target for another target")?;
    ends(0, std::process::Command::new("sh").arg("-c").arg(lines[1]).current_dir(&folder.0));
    expect(&folder, 0, &[&["run", "saxpy.co"][..], &SAXPY].concat());
    // As JSON.
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

/// libclc does not provide room for the records of `printf`; the buffer's offset depends on the
/// code object version.
fn printf() -> Result<(), Failed> {
    let folder = Folder::new("compiled_printf");
    let text = "kernel void k(int n) {\n    if (get_local_id(0) == 3) printf(\"%d of %d\\n\", (int)get_group_id(0), n);\n}\n";
    folder.file("k.cl", text);
    for (target, version) in [("gfx906", ""), ("gfx90a", "4"), ("gfx942", "5"), ("gfx950", "6")] {
        let argument = format!("--clang-arg=-mcode-object-version={version}");
        let more = if version.is_empty() { &[][..] } else { &[argument.as_str()][..] };
        let run = ["run", "k.cl", "--target", target, "--grid", "1", "--block", "64", "n=7"];
        let output = expect(&folder, 0, &[&run[..], more].concat());
        same(&out(&output), &"0 of 7\n".to_owned())?;
        let said = err(&output);
        contains(&said, " -include printf_alloc.h -o k.co k.cl\n")?;
        same(&said.contains("undefined symbol"), &false)?;
    }
    // The handbook has the file, for users who copy the command line.
    let page = std::fs::read_to_string(repository().join("docs/compiling.md"))?;
    let (_, file) =
        page.split_once("`printf_alloc.h`:\n\n```c\n").ok_or("no printf_alloc.h in docs/compiling.md")?;
    folder.file("printf_alloc.h", file.split("```").next().unwrap_or_default());
    let run = ["run", "k.cl", "--target", "gfx942", "--grid", "1", "--block", "64", "n=7"];
    let said = err(&expect(&folder, 0, &run));
    let line = said.lines().find(|line| line.contains("-include printf_alloc.h")).ok_or("no line")?;
    ends(0, std::process::Command::new("sh").arg("-c").arg(line).current_dir(&folder.0));
    let output = expect(&folder, 0, &["run", "k.co", "--grid", "1", "--block", "64", "n=7"]);
    same(&out(&output), &"0 of 7\n".to_owned())
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

/// The line names a target that has image instructions, and runs.
fn proposed_for_images() -> Result<(), Failed> {
    let folder = Folder::new("compiled_proposed");
    let text = "kernel void first(read_only image2d_t from, global int *y) { y[get_global_id(0)] = 1; }\n";
    folder.file("k.cl", text);
    for target in [&[][..], &["--target", "gfx942"]] {
        let message = said(&folder, 2, &[&["run", "k.cl"][..], target].concat());
        contains(&message, "start from (gfx942 has no image instructions, but gfx906 has):\n")?;
        let line = message.lines().find(|line| line.contains("wavemill run k.cl")).ok_or("no line")?;
        contains(line, " --target gfx906 ")?;
        same(&line.contains("gfx942"), &false)?;
        let words = line.split_whitespace().skip(1).map(|word| word.trim_matches('\''));
        let words: Vec<&str> = words.chain(["--expect", "y=1"]).collect();
        expect(&folder, 0, &words);
    }
    Ok(())
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
    // The given arguments appear in proposed command lines and launch files.
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
    // A launch file is data: it cannot make clang run other programs.
    folder.file("plugin.toml", launch.replace("-DN=3", "-fplugin=evil.so"));
    let said = said(&folder, 2, &["run", "plugin.toml"]);
    contains(
        &said,
        "plugin.toml: clang-args: `-fplugin=evil.so` is refused; expected -DNAME, -UNAME, -IFOLDER,",
    )?;
    // A launch file that would be rejected is not written either.
    let line = ["run", "k.cl", "--clang-arg=-DN=3", "--clang-arg=-Iheaders", "--clang-arg=-fverbose-asm"];
    let said = err(&expect(&folder, 2, &[&line[..], &["a:i32[64]", "--init=no.toml"]].concat()));
    contains(&said, "error: --init: clang-args: `-fverbose-asm` is refused;")?;
    same(&folder.0.join("no.toml").exists(), &false)
}

/// File names that clang, or a process that it starts, would read as something else.
fn names_like_options() -> Result<(), Failed> {
    let folder = example("compiled_names", "saxpy.cl")?;
    let source = std::fs::read(folder.0.join("saxpy.cl"))?;
    for name in ["-x.cl", "-fplugin=x.cl", "K.CL", "a b.cl", "=x.cl"] {
        folder.file(name, &source);
        let launch = format!(
            "object = '{name}'\ngrid = 4\nblock = 64\nargs = ['a=2', 'x[250]=iota', 'y[250]=ones', 'n=250']\nexpect = ['y=iota(1,2)']\n"
        );
        folder.file("k.toml", launch);
        expect(&folder, 0, &["run", "k.toml"]);
    }
    // The printed command line can be copied.
    let said = err(&expect(&folder, 0, &[&["run", "./-x.cl"][..], &SAXPY].concat()));
    let line = said.lines().nth(1).unwrap_or_default();
    contains(line, " -o ./-x.co ./-x.cl")?;
    ends(0, std::process::Command::new("sh").arg("-c").arg(line).current_dir(&folder.0));
    same(&folder.0.join("-x.co").exists(), &true)
}

/// The warning about `--offset` appears if and only if global ids are wrong, and says where they
/// begin.
fn global_offsets() -> Result<(), Failed> {
    let folder = Folder::new("compiled_offsets");
    folder.file("k.cl", OFFSET_KERNELS);
    for level in ["-O0", "-O2"] {
        // The printed command line creates the code object for all launches.
        let text = said(&folder, 2, &["run", "k.cl", &format!("--clang-arg={level}")]);
        let line = text.lines().nth(1).unwrap_or_default();
        ends(0, std::process::Command::new("sh").arg("-c").arg(line).current_dir(&folder.0));
        // The kernel, the offset, and the first wrong ids: libclc (LLVM 22) reads the upper half of
        // X in X, the lower half of Y in Y, and the upper half of Y in Z.
        for (kernel, offset, ids, warning) in [
            ("xy", "0,5", [0, 5, 0], None),
            ("xy", "5", [0, 0, 0], Some("get_global_id(0) begins at 0, not at 5")),
            ("y", "0,5", [0, 5, 0], None),
            ("y", "5", [0, 0, 0], None),
            ("y", "0,0,5", [0, 0, 0], None),
            ("x", "0,5", [0, 0, 0], None),
            ("x", "5", [0, 0, 0], Some("get_global_id(0) begins at 0, not at 5")),
            ("x", "21474836480", [5, 0, 0], Some("get_global_id(0) begins at 5, not at 21474836480")),
            ("y", "0,21474836487", [0, 7, 0], Some("get_global_id(1) begins at 7, not at 21474836487")),
            ("z", "0,5", [0, 0, 0], None),
            ("z", "0,0,5", [0, 0, 0], Some("get_global_id(2) begins at 0, not at 5")),
            ("z", "0,21474836480,5", [0, 0, 5], None),
        ] {
            let line = ["run", "k.co", "--kernel", kernel, "--offset", offset, "--grid", "1", "--block", "1"];
            let output = expect(&folder, 0, &[&line[..], &["a:u64[3]", "--print", "a"]].concat());
            let case = format!("{level} {kernel} {offset}");
            same(&(&case, out(&output)), &(&case, format!("a = {ids:?}\n")))?;
            match warning {
                Some(warning) => contains(&err(&output), warning)?,
                None => same(&(&case, err(&output).contains("warning: ")), &(&case, false))?,
            }
        }
    }
    Ok(())
}

const OFFSET_KERNELS: &str = "
kernel void x(global ulong *a) { a[0] = get_global_id(0); }
kernel void y(global ulong *a) { a[1] = get_global_id(1); }
kernel void z(global ulong *a) { a[2] = get_global_id(2); }
kernel void xy(global ulong *a) { a[0] = get_global_id(0); a[1] = get_global_id(1); }
";

/// The workaround that the warning names.
fn global_offsets_of_rocm() -> Result<(), Failed> {
    let folder = Folder::new("compiled_offsets_rocm");
    folder.file("k.cl", OFFSET_KERNELS);
    let line = [
        "run",
        "k.cl",
        "--rocm-path",
        "/usr",
        "--kernel",
        "xy",
        "--offset",
        "5,6",
        "--grid",
        "1",
        "--block",
        "1",
    ];
    let output = expect(&folder, 0, &[&line[..], &["a:u64[3]", "--expect", "a=[5,6,0]"]].concat());
    contains(&err(&output), "/opencl.bc ")?;
    same(&err(&output).contains("warning: "), &false)
}

/// Kernels whose only words of images are the types of depths and of buffers, and a sum of reads.
const IMAGE_KERNELS: &str = "
kernel void depth(read_only image2d_depth_t image, global float *out) { out[0] = read_imagef(image, (int2)(1, 0)); }
kernel void depths(read_only image2d_array_depth_t image, global float *out) {
    out[0] = read_imagef(image, (int4)(1, 0, 1, 0));
}
kernel void buffer(read_only image1d_buffer_t image, global float *out) { out[0] = read_imagef(image, 2).y; }
";

fn images(target: &str) -> Result<(), Failed> {
    // The blur of a picture of one colour is the same picture.
    let folder = example(&format!("compiled_images_{target}"), "images.cl")?;
    let line = [
        "run",
        "images.cl",
        "--target",
        target,
        "--kernel",
        "blur",
        "--global-size",
        "8x8",
        "--block",
        "8x8",
    ];
    let args = ["from:image2d[rgba8,8x8]=100", "smooth:sampler[linear,normalized]", "to:image2d[bgra8,8x8]"];
    expect(&folder, 0, &[&line[..], &args, &["radius=3", "--expect", "to=100"]].concat());
    // A file for each, because one type must be enough to find the right library.
    for (kernel, image, expected) in [
        ("depth", "image2d[depth32f,2x1]=[1,2.5]", "out=2.5"),
        ("depths", "image2d_array[depth32f,2x1x2]=[1,2,3,4.5]", "out=4.5"),
        ("buffer", "image1d_buffer[rg32f,3]=iota", "out=5"),
    ] {
        let end = IMAGE_KERNELS.find(&format!("kernel void {kernel}(")).ok_or("a kernel")?;
        let source = &IMAGE_KERNELS[end..];
        folder.file("k.cl", &source[..source[1..].find("kernel").map_or(source.len(), |at| at + 1)]);
        let line = ["run", "k.cl", "--target", target, "--grid", "1", "--block", "1"];
        let image = format!("image:{image}");
        expect(&folder, 0, &[&line[..], &[image.as_str(), "out:f32[1]", "--expect", expected]].concat());
    }
    Ok(())
}

/// ROCm's libraries do not read them.
fn images_of_samples() -> Result<(), Failed> {
    let folder = Folder::new("compiled_images_samples");
    folder.file(
        "k.cl",
        "#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable
kernel void k(read_only image2d_msaa_t image, global float4 *out) { out[0] = read_imagef(image, (int2)(0, 0), 1); }
",
    );
    let args = [
        "run",
        "k.cl",
        "--target",
        "gfx906",
        "--grid",
        "1",
        "--block",
        "1",
        "image:image2d[4x4,samples=2]",
        "out[1]",
    ];
    contains(
        &said(&folder, 3, &args),
        "ROCm's device libraries have no functions for images with several samples",
    )
}

fn assembly() -> Result<(), Failed> {
    let folder = example("compiled_assembly", "twice.s")?;
    let line =
        ["run", "twice.s", "--grid", "1", "--block", "64", "data:f32[64]=iota", "--expect", "data=iota(0,2)"];
    let output = expect(&folder, 0, &line);
    same(&err(&output), &"1x1x1 workgroups x 64 = 64 work-items\n".to_owned())?;
    // In a launch file too, with the source next to it.
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
    contains(&text, "error: OpenCL C needs clang, which was not found: looked for --clang, ")?;
    // An empty variable names nothing.
    let empty = err(&ends(3, command.env("CLANG", "")));
    same(&empty, &text)?;
    contains(&text, "apt install clang-22 lld-22 libclc-22")
}

/// A generic processor has no libraries.
fn generic_processors() -> Result<(), Failed> {
    let folder = Folder::new("compiled_generic");
    for name in ["k.cl", "k.hip"] {
        folder.file(name, "");
        let text = said(&folder, 2, &["run", name, "--target", "gfx9-generic", "--clang", "nowhere/clang"]);
        contains(
            &text,
            &format!("error: `{name}` cannot be compiled for gfx9-generic, which covers several"),
        )?;
        contains(&text, "Pass one of these to --target: ")?;
        contains(&text, "gfx906 (")?;
        same(&text.contains("gfx90a"), &false)?;
        let text = said(&folder, 2, &["run", name, "--target", "gfx9-4-generic", "--clang", "nowhere/clang"]);
        contains(&text, "gfx942")?;
        contains(&text, "gfx950")?;
    }
    Ok(())
}

/// Output of a stand-in for clang, when asked where things are.
#[cfg(unix)]
const KNOWN: &str = "-print-resource-dir) echo /usr/lib/clang/22 ;; -print*) echo /bin/sh ;;";

/// A named folder of ROCm must have everything; nothing replaces it.
#[cfg(unix)]
fn rocm_paths() -> Result<(), Failed> {
    let folder = Folder::new("compiled_rocm");
    stand_in(&folder, &format!("case $1 in {KNOWN} *) echo > ran ;; esac"))?;
    std::fs::create_dir(folder.0.join("empty"))?;
    std::fs::create_dir_all(folder.0.join("libraries/amdgcn/bitcode"))?;
    folder.file("libraries/amdgcn/bitcode/ockl.bc", "");
    for name in ["k.cl", "k.hip"] {
        folder.file(name, "");
        let run = |path: &str| said(&folder, 3, &["run", name, "--clang", "./clang", "--rocm-path", path]);
        contains(&run("nowhere"), "error: --rocm-path: there is no folder `nowhere`\n")?;
        let text = run("empty");
        contains(&text, "error: --rocm-path: `empty` has no device libraries; looked for ockl.bc in its ")?;
        contains(&text, "amdgcn/bitcode, ")?;
    }
    let run = |name: &str| said(&folder, 3, &["run", name, "--clang", "./clang", "--rocm-path", "libraries"]);
    contains(&run("k.hip"), "HIP needs the header hip/hip_runtime.h, which is not in libraries/include\n")?;
    contains(&run("k.cl"), "the device libraries in `libraries/amdgcn/bitcode` have no opencl.bc\n")?;
    same(&folder.0.join("ran").exists(), &false)
}

/// Running another user's launch file runs a kernel, and nothing else.
#[cfg(unix)]
fn bad_launch_files() -> Result<(), Failed> {
    let folder = Folder::new("compiled_bad_launch_files");
    stand_in(&folder, "echo > ran")?;
    folder.file("k.cl", "kernel void k(global int *a) {}\n");
    // A file with arguments, for programs that read the name after the @ as one.
    folder.file("x.cl", "-fplugin=evil.so\n");
    folder.file("@x.cl", "kernel void k(global int *a) {}\n");
    let run = |code: i32, object: &str, argument: &str| {
        let launch = format!(
            "object = '{object}'\nclang-args = ['{argument}']\ngrid = 1\nblock = 64\nargs = ['a[64]']\n"
        );
        folder.file("k.toml", launch);
        said(&folder, code, &["run", "k.toml", "--clang", "./clang"])
    };
    for argument in [
        // Plugins, other programs, files with arguments, input files, output files, other sources.
        "-fplugin=evil.so",
        "-Xclang",
        "-fno-integrated-as",
        "-Wa,-x",
        "-B.",
        "-fuse-ld=evil",
        "--config=x.cl",
        "@x.cl",
        "-D@x.cl",
        "-include",
        "-o",
        "-ok.toml",
        "-save-temps",
        "-ftime-trace=x",
        "x.cl",
        "",
    ] {
        contains(
            &run(2, "k.cl", argument),
            &format!("k.toml: clang-args: `{argument}` is refused; expected -DNAME, "),
        )?;
    }
    let folders = folder.0.join("sub");
    std::fs::create_dir(&folders)?;
    std::fs::copy(folder.0.join("@x.cl"), folders.join("@x.cl"))?;
    for object in ["@x.cl", "./@x.cl", "sub/@x.cl"] {
        let text = run(3, object, "-O1");
        contains(&text, "is not compiled: clang treats a name that begins with @ as a file of arguments\n")?;
        contains(&text, "Rename the file.")?;
    }
    same(&folder.0.join("ran").exists(), &false)
}

/// A program in the folder that replaces clang.
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
    contains(&text, "error: `./clang` cannot find ld.lld, which links code objects\n")?;
    contains(&text, "apt install lld-21")
}

/// Beats once, and continues in a separate process, as clang's compiler does under its driver.
#[cfg(unix)]
const WITHOUT_END: &str = "echo > beat; (while :; do echo > beat; sleep 0.05; done) & wait";

/// Whether a process still beats.
#[cfg(unix)]
fn still_beats(folder: &Folder) -> Result<bool, Failed> {
    let beat = folder.0.join("beat");
    std::fs::remove_file(&beat)?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    Ok(beat.exists())
}

/// `--timeout` ends clang with the processes that it has started, also while Wavemill queries its
/// folders.
#[cfg(unix)]
fn without_end() -> Result<(), Failed> {
    let folder = Folder::new("compiled_without_end");
    folder.file("k.cl", "kernel void k() {}\n");
    folder.file("libclc.bc", "");
    std::fs::create_dir(folder.0.join("tmp"))?;
    let line = ["run", "k.cl", "--clang", "./clang", "--libclc", "libclc.bc", "--timeout", "2"];
    // A driver may end before the processes that it started.
    let left = WITHOUT_END.replace("wait", "exit 0");
    for asked in [
        format!("{KNOWN} *) {WITHOUT_END} ;;"),
        format!("*) {WITHOUT_END} ;;"),
        format!("{KNOWN} *) {left} ;;"),
        format!("*) {left} ;;"),
    ] {
        stand_in(&folder, &format!("case $1 in {asked} esac"))?;
        let mut command = folder.command();
        let said = err(&ends(124, command.env("TMPDIR", folder.0.join("tmp")).args(line)));
        contains(&said, "the run was stopped while it compiled `k.cl`\n")?;
        same(&still_beats(&folder)?, &false)?;
        same(&files(&folder.0.join("tmp"))?.len(), &0)?;
    }
    Ok(())
}

/// Ctrl-C ends clang before it ends Wavemill.
#[cfg(unix)]
fn interrupted() -> Result<(), Failed> {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    let folder = Folder::new("compiled_interrupted");
    folder.file("k.cl", "kernel void k() {}\n");
    folder.file("libclc.bc", "");
    std::fs::create_dir(folder.0.join("tmp"))?;
    stand_in(&folder, &format!("case $1 in {KNOWN} *) {WITHOUT_END} ;; esac"))?;
    let mut command = folder.command();
    command.env("TMPDIR", folder.0.join("tmp")).stderr(Stdio::null());
    command.args(["run", "k.cl", "--clang", "./clang", "--libclc", "libclc.bc"]);
    // POSIX: SIGHUP is 1, SIGINT is 2. A shell passes them on, or ignores them from the start.
    for (name, number) in [("INT", 2), ("HUP", 1)] {
        let shell = |trap: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{trap} exec \"$@\""), "sh"]).arg(command.get_program());
            shell.args(command.get_args()).current_dir(&folder.0).stderr(Stdio::null());
            shell.env("TMPDIR", folder.0.join("tmp"));
            shell
        };
        let begun = |mut shell: Command| -> Result<_, Failed> {
            let run = shell.spawn()?;
            for _ in 0..6000 {
                if folder.0.join("beat").exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            ends(0, Command::new("sh").args(["-c", &format!("kill -{name} {}", run.id())]));
            Ok(run)
        };
        // A signal that is ignored when the tests begin cannot be tested.
        let heard = Command::new("sh").args(["-c", &format!("kill -{name} $$; exit 7")]).status()?;
        if heard.signal() == Some(number) {
            same(&begun(shell(""))?.wait()?.signal(), &Some(number))?;
            same(&still_beats(&folder)?, &false)?;
            same(&files(&folder.0.join("tmp"))?.len(), &0)?;
        } else {
            eprintln!("not tested: SIG{name} is ignored where these tests run");
        }
        let mut deaf = begun(shell(&format!("trap '' {name};")))?;
        std::thread::sleep(std::time::Duration::from_millis(200));
        same(&deaf.try_wait()?.is_none(), &true)?;
        ends(0, Command::new("sh").args(["-c", &format!("kill -TERM {}", deaf.id())]));
        same(&deaf.wait()?.signal(), &Some(15))?;
        same(&still_beats(&folder)?, &false)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn without_linker() -> Result<(), Failed> {
    Ok(())
}

#[cfg(not(unix))]
fn without_end() -> Result<(), Failed> {
    Ok(())
}

#[cfg(not(unix))]
fn interrupted() -> Result<(), Failed> {
    Ok(())
}

#[cfg(not(unix))]
fn bad_launch_files() -> Result<(), Failed> {
    Ok(())
}

#[cfg(not(unix))]
fn rocm_paths() -> Result<(), Failed> {
    Ok(())
}
