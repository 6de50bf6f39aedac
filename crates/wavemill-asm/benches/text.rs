//! Measures decoding, printing, parsing and assembling: one thread, the code of the kernels for
//! gfx942, and a source whose lines are each a label and a branch to it.
//!
//! `cargo bench -p wavemill-asm --bench text`
//!
//! After criterion's numbers, it prints a table that compares the same work with `llvm-objdump-22
//! -d` and `llvm-mc-22 -filetype=obj`, if they are installed. The tools take turns, so other load
//! on the machine affects all of them. The time of LLVM's tools is the time of the process, less
//! the time of a process with one instruction. Linux counts processor time, which excludes waiting,
//! in hundredths of a second over all rounds. `--test` runs each once.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group};
use object::{Object, ObjectSection};
use wavemill_asm::gcn::{parse, print};
use wavemill_asm::{Options, assemble};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, decode};
use wavemill_object::write::{Module, write_relocatable};
use wavemill_oracle::Tool;

const TARGET: Target = Target::Gfx942;

/// How many turns each tool takes.
const ROUNDS: usize = 15;

/// How often our part repeats per turn, to make it measurable.
const DECODED: usize = 100;
const PRINTED: usize = 20;
const ASSEMBLED: usize = 5;

/// Lines of the source that is all labels and branches.
const LABELS: usize = 300_000;

/// The code of all kernels, as instructions.
fn instructions() -> Vec<Inst> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin/gfx942");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the kernels are there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "co") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the kernel can be read");
        let file = object::File::parse(&*bytes).expect("a code object");
        let text = file.section_by_name(".text").expect("code").data().expect("code").to_vec();
        let mut rest = &text[..];
        while !rest.is_empty() {
            match decode(TARGET, rest) {
                Ok(inst) => {
                    rest = &rest[inst.size()..];
                    all.push(inst);
                }
                Err(_) => rest = rest.get(4..).unwrap_or_default(),
            }
        }
    }
    all
}

fn text_of(inst: &Inst) -> String {
    let mut text = String::new();
    print(&mut text, inst).expect("a String takes any text");
    text
}

/// The input of the work.
struct Input {
    bytes: Vec<u8>,
    instructions: usize,
    lines: Vec<String>,
    source: String,
    labels: String,
}

impl Input {
    fn new() -> Input {
        let instructions = instructions();
        let bytes = instructions.iter().flat_map(|inst| inst.encode().0[..inst.size()].to_vec()).collect();
        // Lines that the assembler rejects are not part of the source.
        let lines: Vec<String> =
            instructions.iter().map(text_of).filter(|line| parse(TARGET, line).is_ok()).collect();
        let labels: Vec<String> = (0..LABELS).map(|n| format!("l{n}: s_branch l{n}")).collect();
        let (labels, source) = (source(&labels.join("\n")), source(&lines.join("\n")));
        Input { bytes, instructions: instructions.len(), lines, source, labels }
    }

    fn decode(&self) {
        let mut rest = &self.bytes[..];
        while let Ok(inst) = decode(TARGET, rest) {
            rest = &rest[inst.size()..];
            black_box(inst);
        }
    }

    fn disassemble(&self, out: &mut String) {
        out.clear();
        let mut rest = &self.bytes[..];
        while let Ok(inst) = decode(TARGET, rest) {
            rest = &rest[inst.size()..];
            print(out, &inst).expect("a String takes any text");
            out.push('\n');
        }
        black_box(out.len());
    }

    fn assemble(&self) {
        assert!(black_box(assemble(&self.source, &Options::default())).is_ok());
    }

    fn assemble_labels(&self) -> Module {
        black_box(assemble(&self.labels, &Options::default())).expect("the source is right")
    }

    /// Symbols take time in the file, too.
    fn assemble_and_write_labels(&self) {
        assert!(black_box(write_relocatable(&self.assemble_labels())).is_ok());
    }
}

fn source(lines: &str) -> String {
    format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n{lines}\n")
}

fn benches(criterion: &mut Criterion) {
    let input = Input::new();
    let mut group = criterion.benchmark_group("text");
    group.sample_size(20);
    group.throughput(Throughput::Elements(input.instructions as u64));
    group.bench_function("decode", |bencher| bencher.iter(|| input.decode()));
    group.bench_function("decode and print", |bencher| {
        let mut out = String::new();
        bencher.iter(|| input.disassemble(&mut out));
    });
    group.throughput(Throughput::Elements(input.lines.len() as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            for line in &input.lines {
                let _ = black_box(parse(TARGET, line));
            }
        });
    });
    group.bench_function("assemble", |bencher| bencher.iter(|| input.assemble()));
    group.throughput(Throughput::Elements(LABELS as u64));
    group.bench_function("assemble labels", |bencher| bencher.iter(|| input.assemble_labels()));
    group.bench_function("assemble and write labels", |bencher| {
        bencher.iter(|| input.assemble_and_write_labels());
    });
    group.finish();
}

/// Wall-clock seconds and, where available, processor seconds.
#[derive(Clone, Copy)]
struct Time {
    clock: f64,
    processor: Option<f64>,
}

/// The user and system time of this process, or of its finished children.
fn processor_time(children: bool) -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may contain anything: the state and ten more, then utime, stime,
    // cutime, cstime (proc(5)).
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let first = if children { 13 } else { 11 };
    let ticks: u64 = fields.get(first..first + 2)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    // Linux counts in hundredths of a second here, whatever the frequency of its own clock.
    Some(ticks as f64 / 100.0)
}

/// The time that `work` takes: of this process, or of a process that it runs.
fn time(children: bool, work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Time, Box<dyn Error>> {
    let processor = processor_time(children);
    let start = Instant::now();
    work()?;
    let clock = start.elapsed().as_secs_f64();
    let processor = processor.zip(processor_time(children)).map(|(before, after)| after - before);
    Ok(Time { clock, processor })
}

/// The time that `work` takes when repeated.
fn repeated(times: usize, mut work: impl FnMut()) -> Result<Time, Box<dyn Error>> {
    time(false, || {
        for _ in 0..times {
            work();
        }
        Ok(())
    })
}

/// Runs a program and discards its output.
fn process(program: &Path, arguments: &[&str], file: &Path) -> Result<(), Box<dyn Error>> {
    let status = Command::new(program).args(arguments).arg(file).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", program.display()).into()) }
}

/// One of LLVM's tools on the whole input, and on a minimal input.
struct Other {
    program: PathBuf,
    arguments: Vec<&'static str>,
    all: PathBuf,
    little: PathBuf,
}

impl Other {
    fn time(&self) -> Result<Time, Box<dyn Error>> {
        let all = time(true, || process(&self.program, &self.arguments, &self.all))?;
        let little = time(true, || process(&self.program, &self.arguments, &self.little))?;
        Ok(Time {
            clock: all.clock - little.clock,
            processor: all.processor.zip(little.processor).map(|(all, little)| all - little),
        })
    }
}

/// Times of one kind of work, and the amount of work in each.
struct Row {
    name: &'static str,
    elements: usize,
    times: Vec<Time>,
}

impl Row {
    fn new(name: &'static str, elements: usize) -> Row {
        Row { name, elements, times: Vec::new() }
    }

    /// Millions per second: by the median and the minimum of the wall-clock times, and by processor
    /// time.
    fn rates(&self) -> Option<(f64, f64, Option<f64>)> {
        let mut clock: Vec<f64> = self.times.iter().map(|time| time.clock).collect();
        clock.sort_by(f64::total_cmp);
        let rate = |seconds: f64| self.elements as f64 / seconds / 1e6;
        let processor: Option<f64> = self.times.iter().map(|time| time.processor).sum();
        let mean = processor.map(|all| all / self.times.len() as f64).filter(|mean| *mean > 0.0);
        Some((rate(*clock.get(clock.len() / 2)?), rate(*clock.first()?), mean.map(rate)))
    }
}

/// Our rates next to LLVM's.
fn beside_llvm(rounds: usize) -> Result<String, Box<dyn Error>> {
    let input = Input::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = |name: &str, contents: &[u8]| {
        let file = folder.join(name);
        std::fs::write(&file, contents).map(|()| file)
    };
    let object = |source: &str| -> Result<Vec<u8>, Box<dyn Error>> {
        let module = assemble(source, &Options::default()).map_err(|reports| format!("{reports:?}"))?;
        Ok(write_relocatable(&module)?)
    };
    let little = source("s_nop 0");
    let objdump = Other {
        program: Tool::LlvmObjdump.path()?,
        arguments: vec!["-d", "--no-show-raw-insn"],
        all: write("text-all.o", &object(&input.source)?)?,
        little: write("text-little.o", &object(&little)?)?,
    };
    let mc = |all: PathBuf| -> Result<Other, Box<dyn Error>> {
        Ok(Other {
            program: Tool::LlvmMc.path()?,
            arguments: vec!["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o", "/dev/null"],
            all,
            little: write("text-little.s", little.as_bytes())?,
        })
    };
    let mc_labels = mc(write("text-labels.s", input.labels.as_bytes())?)?;
    let mc = mc(write("text-all.s", input.source.as_bytes())?)?;
    let (instructions, lines) = (input.instructions, input.lines.len());
    let mut rows = [
        Row::new("decode", DECODED * instructions),
        Row::new("decode and print", PRINTED * instructions),
        Row::new("llvm-objdump-22 -d", lines),
        Row::new("assemble", ASSEMBLED * lines),
        Row::new("llvm-mc-22 -filetype=obj", lines),
        Row::new("labels: assemble", LABELS),
        Row::new("labels: assemble, write", LABELS),
        Row::new("labels: llvm-mc-22 (obj)", LABELS),
    ];
    let mut out = String::new();
    for _ in 0..rounds {
        let times = [
            repeated(DECODED, || input.decode())?,
            repeated(PRINTED, || input.disassemble(&mut out))?,
            objdump.time()?,
            repeated(ASSEMBLED, || input.assemble())?,
            mc.time()?,
            repeated(1, || drop(input.assemble_labels()))?,
            repeated(1, || input.assemble_and_write_labels())?,
            mc_labels.time()?,
        ];
        for (row, time) in rows.iter_mut().zip(times) {
            row.times.push(time);
        }
    }
    let mut table = format!(
        "\n{instructions} instructions, {lines} lines, {LABELS} of labels, {rounds} rounds; millions per second\n\
         {:26} {:>8} {:>8} {:>10}\n",
        "", "median", "best", "processor"
    );
    for row in &rows {
        let Some((median, best, processor)) = row.rates() else { continue };
        let processor = processor.map_or("-".to_owned(), |rate| format!("{rate:.2}"));
        writeln!(table, "{:26} {median:>8.2} {best:>8.2} {processor:>10}", row.name)?;
    }
    Ok(table)
}

criterion_group!(text, benches);

fn main() {
    text();
    Criterion::default().configure_from_args().final_summary();
    let once = std::env::args().any(|argument| argument == "--test");
    match beside_llvm(if once { 1 } else { ROUNDS }) {
        Ok(table) => println!("{table}"),
        Err(error) => println!("\nno comparison with LLVM: {error}"),
    }
}
