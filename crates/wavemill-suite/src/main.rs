//! Writes conformance/: the data files of the suite.

use std::path::PathBuf;
use std::process::ExitCode;

use wavemill_suite::data::File;
use wavemill_suite::generate;

const USAGE: &str = "usage: cargo run -p wavemill-suite -- [--check] [FILE...]";

fn run(arguments: &[String]) -> Result<(), String> {
    let check = arguments.iter().any(|argument| argument == "--check");
    let named: Vec<&String> = arguments.iter().filter(|argument| *argument != "--check").collect();
    if let Some(other) = named.iter().find(|name| !generate::FILES.contains(&name.as_str())) {
        let files = generate::FILES.join(", ");
        return Err(format!("expected the name of a file ({files}), found `{other}`\n{USAGE}"));
    }
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "conformance"].iter().collect();
    let (mut tests, mut lanes, mut bytes) = (0, 0, 0);
    for name in generate::FILES {
        if !named.is_empty() && !named.iter().any(|chosen| *chosen == name) {
            continue;
        }
        let file = generate::file(name);
        let (path, compressed) = (folder.join(format!("{name}.txt.gz")), file.compressed());
        // Another version of the compressor may give other bytes for the same text.
        let same = std::fs::read(&path).is_ok_and(|old| File::read(&old).is_ok_and(|old| old == file));
        if !same && check {
            return Err(format!("{} is out of date; run this without --check", path.display()));
        }
        if !same {
            std::fs::write(&path, &compressed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let cases: usize = file.tests.iter().map(|test| test.targets.len() * 64).sum();
        let state = if same { "is up to date" } else { "is written" };
        println!(
            "{name} {state}: {} tests, {cases} cases by target, {} bytes",
            file.tests.len(),
            compressed.len()
        );
        tests += file.tests.len();
        lanes += cases;
        bytes += compressed.len();
    }
    println!("{tests} tests, {lanes} cases by target, {bytes} bytes");
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
