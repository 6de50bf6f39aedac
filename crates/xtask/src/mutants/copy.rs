//! A copy of the workspace with all mutants, its build, and its test programs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::{Judge, Mutant, Verdict};

/// The switch, in the crate that all changed crates use.
const SWITCH: &str = r#"
/// Whether mutant `n` is on.
pub fn mutant(n: usize) -> bool {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static ON: OnceLock<(Option<usize>, Option<String>)> = OnceLock::new();
    static SEEN: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    let (on, seen) = ON.get_or_init(|| {
        let on = std::env::var("WAVEMILL_MUTANT").ok().and_then(|n| n.parse().ok());
        (on, std::env::var("WAVEMILL_MUTANTS_SEEN").ok())
    });
    if let Some(folder) = seen
        && !SEEN[n].swap(true, Ordering::Relaxed)
    {
        let _ = std::fs::write(format!("{folder}/{n}"), "");
    }
    *on == Some(n)
}
"#;

/// The file that gets the switch.
const SWITCH_FILE: &str = "crates/wavemill-ir/src/lib.rs";

/// A test program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) path: PathBuf,
    /// The folder of its package.
    folder: PathBuf,
    /// What the names of its tests have.
    filter: Option<&'static str>,
}

/// The copy, and the folder with everything about it.
pub(super) struct Copy {
    state: PathBuf,
    judges: &'static [Judge],
}

/// The files of the repository under a folder.
pub(super) fn tracked(folder: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let output = Command::new("git").args(["ls-files", "-z", folder]).output()?;
    if !output.status.success() {
        return Err("git ls-files failed: run xtask in a clone of the repository".into());
    }
    let names = String::from_utf8(output.stdout)?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_string).collect())
}

/// Writes a file unless it has that text: the build starts from time stamps.
fn update(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

/// Makes a symbolic link unless there is one.
fn link(target: &Path, to: &Path) -> std::io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, to);
    #[cfg(not(unix))]
    return Err(std::io::Error::other(format!("{}: no symbolic links on this system", target.display())));
}

impl Copy {
    pub(super) fn new(state: &Path, judges: &'static [Judge]) -> Result<Copy, Box<dyn std::error::Error>> {
        fs::create_dir_all(state)?;
        Ok(Copy { state: state.canonicalize()?, judges })
    }

    fn tree(&self) -> PathBuf {
        self.state.join("tree")
    }

    /// Writes the workspace with these mutants.
    pub(super) fn write(&self, mutants: &[Mutant]) -> Result<(), Box<dyn std::error::Error>> {
        let mut changes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (n, mutant) in mutants.iter().enumerate() {
            changes.entry(&mutant.file).or_default().push(n);
        }
        for name in tracked(".")? {
            let to = self.tree().join(&name);
            if fs::symlink_metadata(&name).is_ok_and(|file| file.is_symlink()) {
                link(&fs::read_link(&name)?, &to)?;
                continue;
            }
            let mut bytes = match fs::read(&name) {
                Ok(bytes) => bytes,
                // Deleted, and not yet committed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{name}: {error}").into()),
            };
            if let Some(numbers) = changes.get_mut(name.as_str()) {
                // The last change first, so that the ranges of the others stay.
                numbers.sort_by_key(|n| std::cmp::Reverse(mutants[*n].site.range.start));
                for n in numbers {
                    let site = &mutants[*n].site;
                    // On one line, so that errors keep their line.
                    let text = format!(
                        "(if wavemill_ir::mutant({n}) {{ {} }} else {{ {} }})",
                        site.after, site.before
                    );
                    bytes.splice(site.range.clone(), text.into_bytes());
                }
            }
            if name == SWITCH_FILE {
                bytes.extend(SWITCH.bytes());
            }
            update(&to, &bytes)?;
        }
        Ok(())
    }

    /// Builds the test programs, or finds the changes that do not compile.
    pub(super) fn build(
        &self,
        mutants: &[Mutant],
    ) -> Result<Result<Vec<Program>, Vec<usize>>, Box<dyn std::error::Error>> {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(self.tree())
            .env("CARGO_TARGET_DIR", self.state.join("build"))
            .env("RUSTFLAGS", "-Awarnings");
        cargo.args(["test", "--no-run", "--message-format", "json"]);
        cargo.args(self.judges.iter().flat_map(|judge| ["-p", judge.package]));
        let mut tests: Vec<&str> = self.judges.iter().filter_map(|judge| judge.test).collect();
        tests.dedup();
        cargo.args(tests.iter().flat_map(|test| ["--test", test]));
        let output = cargo.output()?;
        let messages: Vec<Value> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|l| serde_json::from_str(l).ok())
            .collect();
        if output.status.success() {
            return Ok(Ok(messages.iter().filter_map(|message| self.program(message)).collect()));
        }
        let mut broken: Vec<usize> = Vec::new();
        for message in messages.iter().filter(|m| m["message"]["level"] == "error") {
            for span in message["message"]["spans"].as_array().into_iter().flatten() {
                broken.extend(self.mutant_at(span, mutants)?);
            }
        }
        broken.sort_unstable();
        broken.dedup();
        if broken.is_empty() {
            let texts = messages.iter().filter_map(|m| m["message"]["rendered"].as_str());
            let texts: String = texts.collect();
            // A manifest that cargo refuses has no messages.
            let texts = if texts.is_empty() { String::from_utf8_lossy(&output.stderr).into() } else { texts };
            return Err(format!("the copy does not compile: {texts}").into());
        }
        Ok(Err(broken))
    }

    /// The mutant that a compiler message points at: the last switch before it, in the text of the copy.
    fn mutant_at(
        &self,
        span: &Value,
        mutants: &[Mutant],
    ) -> Result<Option<usize>, Box<dyn std::error::Error>> {
        let (Some(file), Some(end)) = (span["file_name"].as_str(), span["byte_end"].as_u64()) else {
            return Ok(None);
        };
        if mutants.iter().all(|mutant| mutant.file != file) {
            return Ok(None);
        }
        let text = fs::read_to_string(self.tree().join(file))?;
        let before = text.get(..end as usize).unwrap_or(&text);
        let Some(at) = before.rfind("wavemill_ir::mutant(") else { return Ok(None) };
        let digits = &text[at + "wavemill_ir::mutant(".len()..];
        Ok(digits.split(')').next().and_then(|n| n.parse().ok()))
    }

    fn command(&self, program: &Program) -> Command {
        let mut command = Command::new(&program.path);
        command.args(program.filter);
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        // All data files take some seconds. A sample of them missed the SCC of `s_max_i32`.
        if program.package == "wavemill-suite" {
            command.env("WAVEMILL_TESTS", "all");
        }
        command
    }

    /// Runs a program without a mutant, and returns the mutants that it reaches.
    pub(super) fn record(&self, program: &Program) -> Result<Vec<usize>, Box<dyn std::error::Error>> {
        let folder = self.state.join("seen");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let status = self.command(program).env("WAVEMILL_MUTANTS_SEEN", &folder).status()?;
        if !status.success() {
            return Err(format!("{} fails without a mutant: {status}", program.path.display()).into());
        }
        let mut seen = Vec::new();
        for entry in fs::read_dir(&folder)? {
            seen.extend(entry?.file_name().to_str().and_then(|name| name.parse::<usize>().ok()));
        }
        Ok(seen)
    }

    /// Runs a program with a mutant until its first failing test: whether it succeeds, or nothing
    /// after the time limit.
    pub(super) fn run(
        &self,
        program: &Program,
        n: usize,
        limit: Duration,
    ) -> Result<Option<bool>, Box<dyn std::error::Error>> {
        let mut command = self.command(program);
        let mut child = command.env("WAVEMILL_MUTANT", n.to_string()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("the output of a test program is a pipe")?;
        let (failed, failure) = mpsc::channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
            // Reads to the end, so that the program never waits for its reader.
            if lines.any(|line| line.starts_with(b"test ") && line.ends_with(b"FAILED")) {
                let _ = failed.send(());
                lines.for_each(drop);
            }
        });
        // The channel closes with the output of the program.
        let verdict = match failure.recv_timeout(limit) {
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(child.wait()?.success())),
            Ok(()) => Some(false),
            Err(RecvTimeoutError::Timeout) => None,
        };
        child.kill()?;
        child.wait()?;
        Ok(verdict)
    }

    fn broken_file(&self) -> PathBuf {
        self.state.join("broken.txt")
    }

    /// The changes that did not compile in an interrupted run ([`Mutant::location`]).
    pub(super) fn broken(&self) -> std::io::Result<Vec<String>> {
        match fs::read_to_string(self.broken_file()) {
            Ok(text) => Ok(text.lines().map(str::to_string).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn save_broken(&self, broken: &[String]) -> std::io::Result<()> {
        fs::write(self.broken_file(), broken.iter().map(|line| format!("{line}\n")).collect::<String>())
    }

    fn verdict_file(&self) -> PathBuf {
        self.state.join("verdicts.txt")
    }

    /// The verdicts of an interrupted run.
    pub(super) fn verdicts(
        &self,
        mutants: &[Mutant],
    ) -> Result<BTreeMap<String, Verdict>, Box<dyn std::error::Error>> {
        let text = match fs::read_to_string(self.verdict_file()) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        let mut verdicts = BTreeMap::new();
        for line in text.lines() {
            let found = Verdict::ALL
                .into_iter()
                .find_map(|v| Some((v, line.strip_prefix(v.name())?.strip_prefix(": ")?)));
            if let Some((verdict, key)) = found
                && mutants.iter().any(|mutant| mutant.key() == key)
            {
                verdicts.insert(key.to_string(), verdict);
            }
        }
        Ok(verdicts)
    }

    pub(super) fn save(&self, verdicts: &BTreeMap<String, Verdict>) -> std::io::Result<()> {
        let text: String =
            verdicts.iter().map(|(key, verdict)| format!("{}: {key}\n", verdict.name())).collect();
        fs::write(self.verdict_file(), text)
    }

    /// A test program that cargo reports, if it must notice mutants.
    fn program(&self, message: &Value) -> Option<Program> {
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let package = folder.file_name()?.to_str()?.to_string();
        let name = message["target"]["name"].as_str()?;
        let is_this = |judge: &&Judge| judge.package == package && judge.test.is_none_or(|test| test == name);
        let judge = self.judges.iter().find(is_this)?;
        Some(Program { package, path, folder, filter: judge.filter })
    }
}
