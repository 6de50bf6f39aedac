//! Test suites whose tests may need a tool that is not installed.

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

/// The tests of one binary (`harness = false`), some of which need outside tools.
///
/// A skip that is printed from inside a passing libtest test is swallowed by the harness; here a test whose tool is
/// missing shows up as ignored with the reason in its name, and the last line of the output counts them.
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
}

impl Suite {
    /// An empty suite that obeys the command line `cargo test` gives to a test binary.
    pub fn from_args() -> Self {
        Self { arguments: Arguments::from_args(), trials: Vec::new(), missing: Vec::new(), oracle_tests: 0 }
    }

    /// Adds a test that needs nothing from outside.
    pub fn test(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ) {
        self.trials.push(Trial::test(name, body));
    }

    /// Adds a test that needs all of `tools`.
    ///
    /// If one is absent the test is not run: it is listed as ignored with the reason, or fails with the reason when
    /// [`oracles_required`] says so.
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

    /// Runs the tests and prints the closing line: how many oracle tests were skipped, and why.
    pub fn run(mut self) -> ExitCode {
        // A skipped test has no body to run: `--ignored` and `--include-ignored` must not make it look passed.
        if self.arguments.ignored || self.arguments.include_ignored {
            self.trials.retain(|trial| !trial.name().contains("[skipped: "));
        }
        let listing = self.arguments.list;
        let conclusion = libtest_mimic::run(&self.arguments, self.trials);
        if !listing {
            let mut reasons: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
            reasons.sort();
            reasons.dedup();
            match reasons.is_empty() {
                true => println!("oracle tests skipped: 0 of {}", self.oracle_tests),
                false => println!("oracle tests skipped: {} ({})", self.missing.len(), reasons.join("; ")),
            }
        }
        conclusion.exit_code()
    }
}
