//! Runs commands as a reader of the documents would: in a shell, at the root of the repository.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What documents call the folder in which their commands run.
const HOME: &str = "/home/you/wavemill";

/// A folder that looks like the root of the repository, for files that commands write. It goes with the value.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Result<Folder, Box<dyn Error>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let folder = tempfile::tempdir()?;
        for name in ["examples", "kernels"] {
            std::os::unix::fs::symlink(root.join(name), folder.path().join(name))?;
        }
        Ok(Folder(folder))
    }

    /// What a script prints, on both streams in their order.
    pub(crate) fn run(&self, script: &str) -> Result<String, Box<dyn Error>> {
        let output = Command::new("bash")
            .args(["--norc", "-c", &format!("exec 2>&1\n{script}")])
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        Ok(String::from_utf8(output.stdout)?.replace(&*self.0.path().to_string_lossy(), HOME))
    }
}
