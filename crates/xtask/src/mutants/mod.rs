//! Mutants of the lifting rules, of the float operations and of the makers of machine code: changes that the tests must notice.
//!
//! A copy of the workspace has all drawn changes at once, each behind a switch that an environment variable sets at run
//! time. The copy is built once. Each mutant then runs the test programs that reach it, until one fails.

mod copy;
mod sites;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use self::copy::{Copy, Program};
use self::sites::Site;

/// What is changed, and what must notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// The lifting rules of GCN and CDNA, and the float operations
    #[default]
    Gcn,
    /// The lifting rules of Cayman
    Cayman,
    /// What makes machine code
    Jit,
}

impl Subject {
    /// Folders whose sources are changed. Their crates depend on `wavemill-ir`, which has the switch.
    const fn folders(self) -> &'static [&'static str] {
        match self {
            Subject::Gcn => &["crates/wavemill-float/src", "crates/wavemill-lift/src/gcn"],
            Subject::Cayman => &["crates/wavemill-lift/src/cayman"],
            Subject::Jit => &["crates/wavemill-jit/src"],
        }
    }

    /// Test programs that must notice.
    const fn judges(self) -> &'static [Judge] {
        match self {
            Subject::Gcn => &OF_GCN,
            Subject::Cayman => &OF_CAYMAN,
            Subject::Jit => &OF_JIT,
        }
    }
}

const OF_GCN: [Judge; 5] = [
    Judge::all("wavemill-float"),
    Judge::all("wavemill-lift"),
    Judge::all("wavemill-interpreter"),
    Judge::all("wavemill-suite"),
    Judge::all("wavemill"),
];

/// The tests of the lifting rules, the conformance suite, the kernels of the corpus.
const OF_CAYMAN: [Judge; 3] = [
    Judge { package: "wavemill-lift", test: Some("suite"), filter: Some("cayman") },
    Judge { package: "wavemill-suite", test: Some("suite"), filter: Some("run::") },
    Judge { package: "wavemill", test: Some("kernels"), filter: Some("cayman") },
];

/// Random programs and blocks of kernels next to the interpreter, the tests of operations, and every kernel.
const OF_JIT: [Judge; 3] = [
    Judge { package: "wavemill-reference-engine", test: Some("suite"), filter: None },
    Judge { package: "wavemill-interpreter", test: Some("suite"), filter: None },
    Judge { package: "wavemill", test: Some("kernels"), filter: Some("same_bits") },
];

/// Tests that must notice: those of a package, of one test program of it, with this in their name.
#[derive(Clone, Copy, Debug)]
struct Judge {
    package: &'static str,
    test: Option<&'static str>,
    filter: Option<&'static str>,
}

impl Judge {
    const fn all(package: &'static str) -> Judge {
        Judge { package, test: None, filter: None }
    }
}

#[derive(Args)]
pub(crate) struct Options {
    /// The rules that are changed
    #[arg(long, value_enum, default_value_t)]
    subject: Subject,
    /// Number of mutants
    #[arg(long, default_value_t = 300)]
    count: usize,
    /// Seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the copy of the workspace, its build and the results so far: an interrupted run continues there
    #[arg(long, default_value = "target/mutants")]
    state: PathBuf,
}

/// The survivors that have an explanation: file, function, expression, change, which of the equal changes
/// of its line it is if not the first (`#2`), the line, reason; separated by ` | `.
const EXPLAINED: &str = include_str!("survivors.txt");

/// A change of a file.
#[derive(Clone, Debug)]
struct Mutant {
    file: String,
    site: Site,
}

impl Mutant {
    /// What identifies its expression in this state of the file.
    fn location(&self) -> String {
        let Site { range, .. } = &self.site;
        format!("{}: {}..{}", self.file, range.start, range.end)
    }

    /// What identifies it after other changes of the file.
    fn key(&self) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Site { function, before, after, within: (line, number), .. } = &self.site;
        let number = if *number == 1 { String::new() } else { format!("#{number} | ") };
        format!("{} | {function} | {} | {} | {number}{line}", self.file, one_line(before), one_line(after))
    }
}

/// What the tests made of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Killed,
    TimedOut,
    Survived,
    NotReached,
}

impl Verdict {
    const ALL: [Verdict; 4] = [Verdict::Killed, Verdict::TimedOut, Verdict::Survived, Verdict::NotReached];

    fn name(self) -> &'static str {
        match self {
            Verdict::Killed => "killed",
            Verdict::TimedOut => "timed out",
            Verdict::Survived => "survived",
            Verdict::NotReached => "not reached",
        }
    }
}

/// The next number of a fixed sequence (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// All changes, in the order of the draw.
fn shuffled(subject: Subject, seed: u64) -> Result<Vec<Mutant>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for folder in subject.folders() {
        let mut files = copy::tracked(folder)?;
        files.sort();
        for file in files.into_iter().filter(|file| file.ends_with(".rs")) {
            let source = fs::read_to_string(&file)?;
            let sites = sites::find(&source).map_err(|error| format!("{file}: {error}"))?;
            all.extend(sites.into_iter().map(|site| Mutant { file: file.clone(), site }));
        }
    }
    let mut state = seed;
    for n in (1..all.len()).rev() {
        all.swap(n, (random(&mut state) % (n as u64 + 1)) as usize);
    }
    Ok(all)
}

/// The first `count` changes that do not overlap.
fn draw(candidates: &[Mutant], count: usize) -> Vec<Mutant> {
    let mut drawn: Vec<Mutant> = Vec::new();
    for mutant in candidates {
        let overlaps = drawn.iter().any(|other| {
            other.file == mutant.file
                && other.site.range.start < mutant.site.range.end
                && mutant.site.range.start < other.site.range.end
        });
        if !overlaps {
            drawn.push(mutant.clone());
        }
        if drawn.len() == count {
            break;
        }
    }
    drawn
}

/// Draws, builds, runs, and prints the survivors.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut candidates = shuffled(options.subject, options.seed)?;
    let sites = candidates.len();
    let copy = Copy::new(&options.state, options.subject.judges())?;
    // Changes that do not compile are replaced by others. They are kept, as an interrupted run must
    // not build them again.
    let mut broken = copy.broken()?;
    let (mutants, programs) = loop {
        candidates.retain(|mutant| !broken.contains(&mutant.location()));
        let mutants = draw(&candidates, options.count);
        copy.write(&mutants)?;
        match copy.build(&mutants)? {
            Ok(programs) => break (mutants, programs),
            Err(found) => {
                eprintln!("{} changes do not compile; others replace them", found.len());
                broken.extend(found.iter().map(|n| mutants[*n].location()));
                copy.save_broken(&broken)?;
            }
        }
    };
    let mut verdicts = copy.verdicts(&mutants)?;
    let mut reached = BTreeMap::new();
    for program in &programs {
        let start = Instant::now();
        let seen = copy.record(program)?;
        reached.insert(program.path.clone(), (seen, start.elapsed()));
    }
    for (n, mutant) in mutants.iter().enumerate() {
        if verdicts.contains_key(&mutant.key()) {
            continue;
        }
        let verdict = judge(&copy, n, &mutants, &programs, &reached)?;
        eprintln!("{:4} of {}: {}: {}", n + 1, mutants.len(), verdict.name(), mutant.key());
        verdicts.insert(mutant.key(), verdict);
        copy.save(&verdicts)?;
    }
    report(&mutants, &verdicts, sites)
}

/// Runs the programs that reach a mutant, those of its own package first.
fn judge(
    copy: &Copy,
    n: usize,
    mutants: &[Mutant],
    programs: &[Program],
    reached: &BTreeMap<PathBuf, (Vec<usize>, Duration)>,
) -> Result<Verdict, Box<dyn std::error::Error>> {
    let mut order: Vec<&Program> = programs.iter().filter(|p| reached[&p.path].0.contains(&n)).collect();
    order.sort_by_key(|p| (!mutants[n].file.contains(&format!("/{}/", p.package)), reached[&p.path].1));
    let mut verdict = if order.is_empty() { Verdict::NotReached } else { Verdict::Survived };
    for program in order {
        // The recording is slower than a plain run.
        let limit = reached[&program.path].1 * 3 + Duration::from_secs(30);
        match copy.run(program, n, limit)? {
            Some(true) => {}
            Some(false) => return Ok(Verdict::Killed),
            None => verdict = Verdict::TimedOut,
        }
        if verdict == Verdict::TimedOut {
            break;
        }
    }
    Ok(verdict)
}

/// Prints the counts and the survivors; fails if one has no explanation.
fn report(
    mutants: &[Mutant],
    verdicts: &BTreeMap<String, Verdict>,
    sites: usize,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    println!("{} mutants of {sites} expressions", mutants.len());
    for verdict in Verdict::ALL {
        println!("{}: {}", verdict.name(), mutants.iter().filter(|m| verdicts[&m.key()] == verdict).count());
    }
    let mut unexplained = String::new();
    for mutant in mutants {
        let key = mutant.key();
        if matches!(verdicts[&key], Verdict::Survived | Verdict::NotReached) {
            match EXPLAINED.lines().find_map(|line| line.strip_prefix(&key)?.strip_prefix(" | ")) {
                Some(reason) => println!("{}:{}: {key}: {reason}", mutant.file, mutant.site.line),
                None => writeln!(unexplained, "{}:{}: {key}", mutant.file, mutant.site.line)?,
            }
        }
    }
    if unexplained.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nsurvivors without an explanation:\n{}", unexplained.trim_end());
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// An explanation of an expression that has changed explains nothing.
    #[test]
    fn every_explanation_has_its_expression() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for line in EXPLAINED.lines() {
            let file = line.split(" | ").next().unwrap_or_default();
            let source =
                fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            let sites = sites::find(&source).unwrap_or_else(|error| panic!("{file}: {error}"));
            let mutants = sites.into_iter().map(|site| Mutant { file: file.to_owned(), site });
            let found = mutants.filter(|mutant| line.starts_with(&format!("{} | ", mutant.key()))).count();
            assert_eq!(found, 1, "expressions of `{line}`");
        }
    }
}
