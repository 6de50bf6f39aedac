//! `wavemill dis --format objdump` against `llvm-objdump-22 -d` on real code objects.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use wavemill_object::CodeObject;
use wavemill_oracle::Tool;

use crate::files::{Found, for_each_object};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Files and folders with code objects, bundles, host programs and libraries; other files in folders are passed over
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Compare only every Nth code object
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Differing lines to show per code object
    #[arg(long, value_name = "N", default_value_t = 3)]
    show: usize,
    /// Lines that may differ: one text of an instruction per line, without address and encoding; either listing's
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
}

/// Sums of a run, by target.
#[derive(Default)]
struct Sums {
    objects: u64,
    lines: u64,
    different: u64,
    known: u64,
    unknown_words: u64,
}

struct Comparison<'a> {
    options: &'a Options,
    known: Vec<String>,
    /// Where objects are written for llvm-objdump.
    folder: PathBuf,
    seen: u64,
    sums: BTreeMap<String, Sums>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    Tool::LlvmObjdump.require()?;
    let known = match &options.known {
        Some(path) => std::fs::read_to_string(path)?.lines().map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let folder = std::env::temp_dir().join(format!("wavemill-compare-objdump-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut comparison = Comparison { options, known, folder, seen: 0, sums: BTreeMap::new() };
    let result = for_each_object(&options.paths, |found| comparison.found(&found));
    std::fs::remove_dir_all(&comparison.folder)?;
    result?;
    let mut failed = comparison.sums.is_empty();
    println!("target       objects       lines   different   of them known   unknown words in functions");
    for (target, sums) in &comparison.sums {
        let Sums { objects, lines, different, known, unknown_words } = sums;
        println!("{target:10} {objects:>9} {lines:>11} {different:>11} {known:>15} {unknown_words:>28}");
        failed |= different != known || *unknown_words != 0;
    }
    if comparison.sums.is_empty() {
        println!("nothing was compared: no code object for any known target");
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Comparison<'_> {
    fn found(&mut self, found: &Found<'_>) -> Result<(), Box<dyn Error>> {
        self.seen += 1;
        match self.seen.is_multiple_of(self.options.every) {
            true => self.object(&format!("{} at {}", found.path.display(), found.place), found.bytes),
            false => Ok(()),
        }
    }

    fn object(&mut self, name: &str, object: &[u8]) -> Result<(), Box<dyn Error>> {
        let target = CodeObject::parse(object)?.target().processor.name().into_owned();
        let file = self.folder.join("object.co");
        std::fs::write(&file, object)?;
        let mut child =
            Command::new(Tool::LlvmObjdump.path()?).arg("-d").arg(&file).stdout(Stdio::piped()).spawn()?;
        let theirs = child.stdout.take().ok_or("llvm-objdump-22 has no output")?;
        let mut ours = Vec::new();
        wavemill_cli::write_objdump(&mut ours, &file.display().to_string(), object, false)?;
        let sums = self.sums.entry(target).or_default();
        sums.objects += 1;
        let mut shown = 0;
        let mut ours = ours.split(|&byte| byte == b'\n');
        let mut in_function = false;
        for theirs in BufReader::new(theirs).split(b'\n') {
            let theirs = theirs?;
            let ours = ours.next().unwrap_or_default();
            sums.lines += 1;
            let unknown = ours.starts_with(b"\t.long");
            // Data behind the end of a function is no fault.
            in_function = if ours.ends_with(b">:") { true } else { in_function && !is_end(ours) };
            let counted = unknown && in_function;
            sums.unknown_words += u64::from(counted);
            if ours == theirs && !counted {
                continue;
            }
            let [ours, theirs] = [ours, &theirs[..]].map(String::from_utf8_lossy);
            if ours != theirs {
                sums.different += 1;
                if [&ours, &theirs].into_iter().any(|line| self.known.iter().any(|known| known == text(line)))
                {
                    sums.known += 1;
                    continue;
                }
            }
            if shown < self.options.show {
                if shown == 0 {
                    println!("{name}");
                }
                println!("  ours   {}\n  theirs {}", ours.trim_start(), theirs.trim_start());
            }
            shown += 1;
        }
        let extra = ours.filter(|line| !line.is_empty()).count();
        if extra != 0 {
            println!("{name}\n  ours has {extra} lines more");
            sums.different += extra as u64;
        }
        let status = child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("{name}: llvm-objdump-22 ended with {status}").into()),
        }
    }
}

/// Whether a line is an instruction behind which a function may end.
fn is_end(line: &[u8]) -> bool {
    let text = line.strip_prefix(b"\t").unwrap_or(line);
    [&b"s_endpgm"[..], b"s_setpc_b64", b"s_branch", b"s_trap"].iter().any(|end| text.starts_with(end))
}

/// The text of an instruction in a line of a listing.
fn text(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}
