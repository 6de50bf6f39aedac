//! Triton's output for the kernels in `kernels/triton`: its assembly becomes the same code object
//! as from Triton, with equal sections, segments, symbols and debug information.
//!
//! A few are committed (`tests/triton/sample`, made by `kernels/triton/compile.py`).
//! `WAVEMILL_TRITON` names a folder with more, filled by the same script.

#[path = "../support/mod.rs"]
mod support;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flate2::read::GzDecoder;
use support::assembled;
use wavemill_asm::Options;
use wavemill_object::write::link;
use wavemill_oracle::{Failed, Suite, same_linked};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/triton/sample");
    let folders = [Some(sample), std::env::var_os("WAVEMILL_TRITON").map(PathBuf::from)];
    for folder in folders.into_iter().flatten() {
        let sources = sources(&folder);
        assert!(!sources.is_empty(), "{} has no sources", folder.display());
        for source in sources {
            let name = source.strip_prefix(&folder).unwrap_or(&source).display().to_string();
            suite.test(name, move || check(&source));
        }
    }
    suite.run()
}

/// The assembly files of a folder, which has one folder for each target.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries =
            std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<_>>()
    };
    let mut files: Vec<_> =
        entries(folder).iter().filter(|path| path.is_dir()).flat_map(|path| entries(path)).collect();
    files.retain(|file| {
        let name = file.to_string_lossy();
        name.ends_with(".s") || name.ends_with(".s.gz")
    });
    files.sort();
    files
}

/// The contents of a file, decompressed if needed.
fn read(path: &Path) -> Result<Vec<u8>, Failed> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    GzDecoder::new(&*bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

fn check(source: &Path) -> Result<(), Failed> {
    let text = String::from_utf8(read(source)?)?;
    // The source names its target.
    let module = assembled(&text, &Options::default())?;
    let object = source.to_string_lossy().replace(".s", ".co");
    same_linked(&read(Path::new(&object))?, &link(&module)?)
}
