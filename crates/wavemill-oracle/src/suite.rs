//! Test suites whose tests may need a tool that is not installed.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

pub use libtest_mimic::Failed;

use crate::tools::{OracleMissing, Tool};

/// The environment variable that turns a skipped oracle test into a failed one.
pub const REQUIRE_VARIABLE: &str = "WAVEMILL_REQUIRE_ORACLES";

/// True if a missing oracle must fail a test rather than skip it (`WAVEMILL_REQUIRE_ORACLES=1`).
pub fn oracles_required() -> bool {
    std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1")
}

/// The environment variable that makes suites run completely instead of a sample.
pub const EXTENT_VARIABLE: &str = "WAVEMILL_TESTS";

/// True if suites run completely (`WAVEMILL_TESTS=all`). By default they run a sample, as a quick
/// check of the machine and of a change. The closing line counts the omitted tests
/// ([`Suite::left_out`]).
///
/// # Panics
/// If the variable has an invalid value.
pub fn whole_suites() -> bool {
    match std::env::var(EXTENT_VARIABLE).as_deref() {
        Ok("all") => true,
        Ok("" | "sample") | Err(_) => false,
        Ok(other) => panic!("{EXTENT_VARIABLE} is `{other}`; expected `sample` or `all`"),
    }
}

/// The tests of one binary (`harness = false`), some of which need outside tools.
///
/// The libtest harness hides a skip that a passing test prints. Here, a test whose tool is missing
/// is listed as ignored, with the reason in its name, and the last line of the output counts such
/// tests.
///
/// ```no_run
/// use std::process::ExitCode;
/// use wavemill_oracle::{LlvmOracle, Suite, Tool};
///
/// fn main() -> ExitCode {
///     let mut suite = Suite::from_args();
///     suite.test("plain", || Ok(()));
///     suite.oracle_test("with libLLVM", &[Tool::LibLlvm], || {
///         let mut llvm = LlvmOracle::open("gfx906")?;
///         assert_eq!(llvm.disassemble(&[[0, 0, 0x81, 0xbf]]).len(), 1);
///         Ok(())
///     });
///     suite.run()
/// }
/// ```
#[derive(Debug)]
pub struct Suite {
    arguments: Arguments,
    trials: Vec<Trial>,
    missing: Vec<OracleMissing>,
    oracle_tests: usize,
    left_out: usize,
    whole: &'static str,
}

/// The setting that runs all tests of most suites.
const WHOLE: &str = "WAVEMILL_TESTS=all";

impl Suite {
    /// An empty suite that follows the command line of `cargo test` for a test binary.
    pub fn from_args() -> Self {
        Self {
            arguments: Arguments::from_args(),
            trials: Vec::new(),
            missing: Vec::new(),
            oracle_tests: 0,
            left_out: 0,
            whole: WHOLE,
        }
    }

    /// Adds a test that needs no outside tools.
    pub fn test(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ) {
        self.trials.push(Trial::test(name, body));
    }

    /// Adds a test that needs all of `tools`.
    ///
    /// If one is missing, the test does not run: it is listed as ignored with the reason, or fails
    /// with the reason if [`oracles_required`] is true.
    pub fn oracle_test(
        &mut self,
        name: impl Into<String>,
        tools: &[Tool],
        body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ) {
        self.oracle_tests += 1;
        let name = name.into();
        let Some(missing) = tools.iter().find_map(|tool| tool.require().err()) else {
            self.trials.push(Trial::test(name, body));
            return;
        };
        if oracles_required() {
            let message = format!("{missing} ({REQUIRE_VARIABLE}=1 forbids a skip)");
            self.trials.push(Trial::test(name, move || Err(Failed::from(message))));
        } else {
            let name = format!("{name} [skipped: {missing}]");
            self.trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
            self.missing.push(missing);
        }
    }

    /// Counts tests that the sample omits ([`whole_suites`]).
    pub fn left_out(&mut self, tests: usize) {
        self.left_out += tests;
    }

    /// Names the setting that runs all tests, for the closing line. Without a call, it is
    /// `WAVEMILL_TESTS=all`.
    pub fn runs_all_with(&mut self, setting: &'static str) {
        self.whole = setting;
    }

    /// Runs the tests and prints the closing line: the number of skipped oracle tests, and the
    /// reasons.
    pub fn run(mut self) -> ExitCode {
        // A skipped test has no body: `--ignored` and `--include-ignored` must not make it pass.
        if self.arguments.ignored || self.arguments.include_ignored {
            self.trials.retain(|trial| !trial.name().contains("[skipped: "));
        }
        let listing = self.arguments.list;
        let conclusion = libtest_mimic::run(&self.arguments, self.trials);
        if !listing {
            let mut reasons: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
            reasons.sort();
            reasons.dedup();
            let tally = Tally {
                skipped: self.missing.len(),
                of: self.oracle_tests,
                left_out: self.left_out,
                whole: if self.left_out == 0 { Vec::new() } else { vec![self.whole.to_owned()] },
                reasons,
            };
            println!("{tally}");
            tally.record();
        }
        conclusion.exit_code()
    }
}

/// The number of skipped oracle tests, and the reasons.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Number of skipped tests.
    pub skipped: usize,
    /// Number of all tests that need an oracle.
    pub of: usize,
    /// Number of tests that samples omit.
    pub left_out: usize,
    /// The settings that run them, sorted, each once.
    pub whole: Vec<String>,
    /// The reasons, sorted, each once.
    pub reasons: Vec<String>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oracle tests skipped: {} of {}", self.skipped, self.of)?;
        if !self.reasons.is_empty() {
            write!(f, " ({})", self.reasons.join("; "))?;
        }
        match (self.left_out, &*self.whole) {
            (0, _) => Ok(()),
            (n, [setting]) => write!(f, "; tests left out of samples: {n} ({setting} runs them)"),
            (n, settings) => {
                write!(f, "; tests left out of samples: {n} ({} run them)", settings.join(" and "))
            }
        }
    }
}

impl Tally {
    /// The folder for the tallies of all suites of one build folder, and the name of this binary
    /// there.
    fn place() -> Option<(PathBuf, String)> {
        let exe = std::env::current_exe().ok()?;
        // A test binary is target/<profile>/deps/<name>-<hash>.
        let folder = exe.parent()?.parent()?.join("oracle-tallies");
        let name = exe.file_stem()?.to_str()?;
        let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
        Some((folder, name.to_owned()))
    }

    /// Saves the tally for [`Tally::total`]. If the build folder is not writable, only the total is
    /// lost.
    fn record(&self) {
        if let Some((folder, name)) = Self::place() {
            let text = self.to_file();
            let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), text));
        }
    }

    fn to_file(&self) -> String {
        let whole = self.whole.join(" ");
        format!("{} {} {}\n{whole}\n{}", self.skipped, self.of, self.left_out, self.reasons.join("\n"))
    }

    fn parse(text: &str) -> Option<Tally> {
        let mut lines = text.lines();
        let mut counts = lines.next()?.split(' ').map_while(|count| count.parse().ok());
        let (skipped, of, left_out) = (counts.next()?, counts.next()?, counts.next()?);
        let whole = lines.next()?.split_whitespace().map(str::to_owned).collect();
        let reasons = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
        Some(Tally { skipped, of, left_out, whole, reasons })
    }

    /// The sum over the last runs of all suites in this build folder.
    pub fn total() -> Tally {
        let mut total = Tally::default();
        let folder = Self::place().and_then(|(folder, _)| std::fs::read_dir(folder).ok());
        for entry in folder.into_iter().flatten().flatten() {
            if let Some(tally) = std::fs::read_to_string(entry.path()).ok().as_deref().and_then(Tally::parse)
            {
                total.skipped += tally.skipped;
                total.of += tally.of;
                total.left_out += tally.left_out;
                total.whole.extend(tally.whole);
                total.reasons.extend(tally.reasons);
            }
        }
        for list in [&mut total.whole, &mut total.reasons] {
            list.sort();
            list.dedup();
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_survives_its_file() {
        let reasons = vec!["no llvm-mc-22".into(), "no libLLVM".into()];
        let tally = Tally { skipped: 2, of: 5, reasons, ..Tally::default() };
        assert_eq!(Tally::parse(&tally.to_file()), Some(tally.clone()));
        assert_eq!(tally.to_string(), "oracle tests skipped: 2 of 5 (no llvm-mc-22; no libLLVM)");
        let mut sample = Tally { left_out: 7, whole: vec![WHOLE.into()], ..Tally::default() };
        assert_eq!(Tally::parse(&sample.to_file()), Some(sample.clone()));
        assert_eq!(
            sample.to_string(),
            "oracle tests skipped: 0 of 0; tests left out of samples: 7 (WAVEMILL_TESTS=all runs them)"
        );
        sample.whole.insert(0, "WAVEMILL_KERNELS=all".into());
        assert_eq!(Tally::parse(&sample.to_file()), Some(sample.clone()));
        let text = sample.to_string();
        assert!(text.ends_with(" 7 (WAVEMILL_KERNELS=all and WAVEMILL_TESTS=all run them)"), "{text}");
        assert_eq!(Tally::parse("x"), None);
    }
}
