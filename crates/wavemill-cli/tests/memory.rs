//! Measures how much memory the command needs in addition to the buffers of a kernel.
//!
//! This program is also the command: it starts itself again for each run, and then reports its peak
//! memory from Linux's `/proc`.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use wavemill_oracle::{Failed, Suite};

#[path = "../../wavemill-object/tests/support/hostile.rs"]
mod hostile;

/// Set in the process that runs as the command.
const CHILD: &str = "WAVEMILL_TEST_MEMORY";
/// Precedes the peak in KiB.
const PEAK: &str = "peak KiB: ";
const MIB: u64 = 1 << 20;

/// Most memory of the command in addition to the buffers.
const MOST: u64 = 30 * MIB;

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        let code = wavemill_cli::main();
        if let Some(peak) = peak() {
            eprintln!("{PEAK}{peak}");
        }
        return code;
    }
    let mut suite = Suite::from_args();
    if peak().is_none() {
        println!("skipped: this host has no /proc/self/status that tells the peak of resident memory");
        return suite.run();
    }
    suite.test("vector add takes little beside its buffers", || vector_add(20));
    suite.test("vector add of large buffers takes no more", || vector_add(24));
    suite.test("a million workgroups take no more than a hundred", many_workgroups);
    suite.test("with private memory, too", many_workgroups_with_private_memory);
    suite.test("and such that run for long", many_long_workgroups);
    suite.test("printing a large buffer takes little beside it", large_print);
    suite.test("of a large file only what is used is read", large_file);
    suite.test("of a large file on the standard input, too", large_standard_input);
    for (name, command, make) in HOSTILE {
        suite.test(format!("hostile: {name}"), move || hostile_file(name, command, &make()?));
    }
    suite.run()
}

/// The peak memory of this process in KiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The command, with these arguments.
fn command(args: &[&str]) -> Result<Command, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(CHILD, "1").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).args(args);
    Ok(command)
}

/// Peak bytes of a command, which must end with one of these exit codes.
fn peak_of(mut command: Command, codes: &[i32]) -> Result<u64, Failed> {
    let output = command.stderr(Stdio::piped()).output()?;
    let said = String::from_utf8(output.stderr)?;
    let peak = said.lines().find_map(|line| line.strip_prefix(PEAK));
    match (output.status.code().filter(|code| codes.contains(code)), peak) {
        (Some(_), Some(peak)) => Ok(1024 * peak.parse::<u64>()?),
        _ => Err(format!("{:?}: {said}", output.status).into()),
    }
}

/// Peak bytes of `wavemill run`.
fn taken(args: &[&str]) -> Result<u64, Failed> {
    peak_of(command(&[&["run", "--threads", "2"], args].concat())?, &[0])
}

/// Fails if `found` is more than `most`.
fn at_most(what: &str, found: u64, most: u64) -> Result<(), Failed> {
    println!("{what}: {} KiB, {} KiB at most", found / 1024, most / 1024);
    match found <= most {
        true => Ok(()),
        false => Err(format!("{what}: {found} bytes were resident, expected {most} at most").into()),
    }
}

/// Vector add of 2^n floats, with contents, a check of all results, and printed elements.
fn vector_add(n: u32) -> Result<(), Failed> {
    let count = 1u64 << n;
    let [a, b, c] =
        [format!("a:f32[{count}]=iota"), format!("b:f32[{count}]=random(7)"), format!("c:f32[{count}]")];
    let (length, grid) = (format!("n:u32={count}"), (count / 256).to_string());
    let object = "kernels/bin/gfx942/vector_add.co";
    let launch = [object, "--grid", &grid, "--block", "256", &a, &b, &c, &length];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [whole, part] = [("c", "whole"), ("c[::2]", "part")]
        .map(|(what, name)| (what, folder.join(format!("vector_add_{n}_{name}.bin"))));
    let out = [&whole, &part].map(|(what, path)| format!("{what}={}", path.display()));
    // The sums are checked elsewhere; this only reads all of the largest buffer.
    let wanted = ["--expect", "a=iota", "--print", "c[:4]", "--out", &out[0], "--out", &out[1]];
    let found = taken(&[&launch[..], &wanted].concat())?;
    for ((_, path), size) in [(whole, 4 * count), (part, 2 * count)] {
        let written = std::fs::metadata(&path)?.len();
        std::fs::remove_file(&path)?;
        if written != size {
            return Err(format!("{}: {written} bytes, expected {size}", path.display()).into());
        }
    }
    at_most("vector add", found, 3 * 4 * count + MOST)
}

/// Largest allowed growth of memory for a thousand times as many workgroups. If each workgroup left
/// memory behind, the growth would be in the hundreds. The layout of pages differs between runs.
const GROWTH: u64 = 2;

fn many_workgroups() -> Result<(), Failed> {
    let run = |grid: &str| {
        let launch = ["kernels/bin/gfx942/vector_add.co", "--grid", grid, "--block", "64"];
        let arguments =
            ["a:f32[1000]=iota", "b:f32[1000]=iota", "c:f32[1000]", "n:u32=1000", "--print", "c[999]"];
        taken(&[&launch[..], &arguments].concat())
    };
    at_most("a million workgroups", run("1000000")?, GROWTH * run("100")?)
}

fn many_workgroups_with_private_memory() -> Result<(), Failed> {
    let run = |grid: &str| {
        let object = "kernels/bin/gfx906/scratch.co";
        let launch = [object, "--kernel", "scratch_bytes", "--grid", grid, "--block", "256"];
        // The first hundred workgroups have work; the others have private memory and no work.
        let arguments = ["swaps:u8[25600]=random(1)", "y:u32[25600]", "n:u32=25600", "count:u32=4"];
        taken(&[&launch[..], &arguments].concat())
    };
    at_most("a hundred thousand workgroups", run("100000")?, GROWTH * run("100")?)
}

fn many_long_workgroups() -> Result<(), Failed> {
    let run = |grid: u64| {
        let launch = ["kernels/bin/gfx942/mandelbrot.co", "--grid", &format!("{grid},1"), "--block", "64"];
        let pixels = grid * 64;
        let arguments = [&format!("steps:u32[{pixels}]"), &format!("width={pixels}"), "height=1"];
        // Every item computes one point that never escapes: each workgroup has several turns.
        let point = ["left=0", "top=0", "step=0", "limit=40000"];
        taken(&[&launch[..], &arguments, &point].concat())
    };
    at_most("two thousand workgroups that run for long", run(2000)?, GROWTH * run(20)?)
}

fn large_print() -> Result<(), Failed> {
    let count = 4 * MIB;
    let [a, b, c] = [format!("a:f32[{count}]=iota"), "b:f32[1]".to_owned(), "c:f32[1]".to_owned()];
    let launch = ["kernels/bin/gfx942/vector_add.co", "--grid", "1", "--block", "64", &a, &b, &c, "n:u32=1"];
    at_most("a buffer that is printed", taken(&[&launch[..], &["--print", "a"]].concat())?, 4 * count + MOST)
}

fn large_file() -> Result<(), Failed> {
    let path = bundle("large.bundle", 400 * MIB)?;
    let path = path.to_str().ok_or("the folder has a strange name")?;
    let launch = [path, "--target", "gfx942", "--grid", "4", "--block", "256"];
    let arguments = ["a:f32[1000]=iota", "b:f32[1000]=iota", "c:f32[1000]", "n:u32=1000"];
    let found = taken(&[&launch[..], &arguments].concat());
    std::fs::remove_file(path)?;
    at_most("a bundle of 400 MiB", found?, MOST)
}

/// A bundle whose first entry, for another target, has this many bytes: a hole that uses no disk.
/// (Clang Offload Bundler, "Bundled Code Object Layout".)
fn bundle(name: &str, hole: u64) -> Result<PathBuf, Failed> {
    let object = code_object()?;
    let ids = ["hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx942"];
    let start = 4096;
    let places = [(start, hole), (start + hole, object.len() as u64)];
    let mut header = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    header.extend((ids.len() as u64).to_le_bytes());
    for (id, (offset, size)) in ids.iter().zip(places) {
        for number in [offset, size, id.len() as u64] {
            header.extend(number.to_le_bytes());
        }
        header.extend(id.as_bytes());
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut file = File::create(&path)?;
    file.write_all(&header)?;
    file.seek(SeekFrom::Start(start + hole))?;
    file.write_all(&object)?;
    Ok(path)
}

fn large_standard_input() -> Result<(), Failed> {
    let path = bundle("input.bundle", 400 * MIB)?;
    let mut info = command(&["info", "--target", "gfx942", "-"])?;
    info.stdin(File::open(&path)?);
    let found = peak_of(info, &[0]);
    std::fs::remove_file(path)?;
    at_most("a bundle of 400 MiB on the standard input", found?, MOST)
}

/// Generates the bytes of a file.
type Make = fn() -> Result<Vec<u8>, Failed>;

/// Files that declare more than they contain: their names, options of the commands that read them,
/// and their bytes.
const HOSTILE: [(&str, &[&str], Make); 8] = [
    ("a list of 40 million nils", &[], || metadata(&hostile::list("x", 40_000_000, &[0xc0]))),
    ("a list of 4 million maps with lists", &[], || {
        metadata(&hostile::list("x", 4_000_000, b"\x81\xa5abcde\x93\x01\x02\x03"))
    }),
    ("4 million kernels without arguments", &[], || {
        metadata(&hostile::list("amdhsa.kernels", 4_000_000, b"\x81\xa5.name\xa1k"))
    }),
    ("a kernel with 3 million arguments", &[], || {
        let argument = hostile::map(&[(".name", b"\xa3abc")]);
        metadata(&hostile::kernel_with_arguments("vector_add", 3_000_000, &argument))
    }),
    ("2 GiB of zeros in zstd", &["--max-decompressed", "4G"], || {
        Ok(hostile::compressed(1, 4096 + (2 << 30), &hostile::zstd(&[0; 4096], 2 << 13)))
    }),
    ("256 MiB of zeros in zlib", &["--max-decompressed", "4G"], || {
        Ok(hostile::compressed(0, 4096 + (256 << 20), &hostile::zlib(&[0; 4096], 256 << 20)))
    }),
    ("200 bundles of 16 MiB each", &[], || {
        let size = 127 << 17;
        let table = hostile::bundle(std::iter::once((0, size, hostile::ID.to_owned())), &[]);
        let declared = table.len() as u64 + size;
        Ok(hostile::compressed(1, declared, &hostile::zstd(&table, 127)).repeat(200))
    }),
    ("200,000 entries that share an object", &[], || {
        let code = code_object()?;
        let row = (0, code.len() as u64, hostile::ID.to_owned());
        Ok(hostile::bundle(std::iter::repeat_n(row, 200_000), &code))
    }),
];

/// The code object with this metadata.
fn metadata(metadata: &[u8]) -> Result<Vec<u8>, Failed> {
    Ok(hostile::with_metadata(code_object()?, metadata))
}

fn code_object() -> Result<Vec<u8>, Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin/gfx942/vector_add.co");
    Ok(std::fs::read(path)?)
}

/// Memory that any bundle may use: 16 MiB decompressed, and as much in the decoder, which later
/// blocks may refer to.
const BUNDLE: u64 = 2 * 16 * MIB;

/// Memory of `info` and `dis` for a file: it is mapped, and `dis` has three copies of a section
/// that it writes as data.
fn hostile_file(name: &str, options: &[&str], data: &[u8]) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.hostile", name.replace(' ', "_")));
    std::fs::write(&path, data)?;
    let file = path.to_str().ok_or("the folder has a strange name")?;
    let size = data.len() as u64;
    println!("{name}: {size} bytes");
    let results = ["info", "dis"].map(|which| -> Result<(), Failed> {
        let started = Instant::now();
        let mut reader = command(&[&[which, file], options].concat())?;
        reader.stdout(Stdio::null());
        let found = peak_of(reader, &[0, 3])?;
        println!("{which}: {:.1} s", started.elapsed().as_secs_f64());
        at_most(which, found, 5 * size + BUNDLE + MOST)
    });
    std::fs::remove_file(&path)?;
    results.into_iter().collect()
}
