//! Runs the built command in a separate folder.
#![allow(dead_code, unreachable_pub, reason = "every test program uses its part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder for a test, with copies of some of the project's code objects.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // It may be there from an earlier run.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Copies a code object from `kernels/bin` into the folder.
    pub fn object(&self, target: &str, name: &str) {
        let from = repository().join("kernels/bin").join(target).join(format!("{name}.co"));
        self.file(&format!("{name}.co"), std::fs::read(from).unwrap());
    }

    /// Writes a file.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), contents).unwrap();
    }

    /// The command, with the folder as its working directory.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavemill"));
        command.current_dir(&self.0).env_remove("COLUMNS");
        command
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }
}

/// The standard output of a command.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The standard error of a command.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command and expects an exit code.
pub fn ends(code: i32, command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{}{}", out(&output), err(&output));
    output
}

/// Runs `wavemill` in the folder and expects an exit code.
pub fn expect(folder: &Folder, code: i32, args: &[&str]) -> Output {
    ends(code, folder.command().args(args))
}

/// The standard error of `wavemill`, which must end with this exit code.
pub fn said(folder: &Folder, code: i32, args: &[&str]) -> String {
    err(&expect(folder, code, args))
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
