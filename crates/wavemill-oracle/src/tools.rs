//! Finds and runs outside tools.

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::TRIPLE;

/// An outside tool that a test can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// libLLVM 22 with the AMDGPU target, loaded at run time (`WAVEMILL_LIBLLVM` sets another
    /// path).
    LibLlvm,
    /// LLVM's assembler driver, `llvm-mc-22`.
    LlvmMc,
    /// LLVM's object dumper, `llvm-objdump-22`.
    LlvmObjdump,
    /// The C and OpenCL compiler, `clang-22`.
    Clang,
    /// Any other program, by its name in `PATH`.
    Program(&'static str),
    /// A library, by the name with which the system loads it.
    Library(&'static str),
    /// A file, by its path, and the Debian package that contains it.
    File(&'static str, &'static str),
}

impl Tool {
    /// Checks that the tool is installed.
    ///
    /// # Errors
    /// [`OracleMissing`], with the name or path that was not found.
    pub fn require(self) -> Result<(), OracleMissing> {
        match self {
            Self::LibLlvm => crate::disasm::check_library(),
            // SAFETY: loading runs the library's own initialisation, which is safe for any program.
            Self::Library(name) => match unsafe { libloading::Library::new(name) } {
                Ok(_) => Ok(()),
                Err(error) => Err(OracleMissing::new(format!("{name} is not installed ({error})"))),
            },
            Self::File(path, _) if Path::new(path).is_file() => Ok(()),
            Self::File(path, package) => {
                Err(OracleMissing::new(format!("{path} is not there (package {package})")))
            }
            _ => self.path().map(drop),
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::LibLlvm => "libLLVM",
            Self::LlvmMc => "llvm-mc-22",
            Self::LlvmObjdump => "llvm-objdump-22",
            Self::Clang => "clang-22",
            Self::Program(name) | Self::Library(name) | Self::File(name, _) => name,
        }
    }

    /// The path of the program, from `PATH`.
    ///
    /// # Errors
    /// [`OracleMissing`] if no folder of `PATH` has it.
    pub fn path(self) -> Result<PathBuf, OracleMissing> {
        let name = self.program();
        let path: OsString = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
            .ok_or_else(|| OracleMissing::new(format!("{name} is not installed")))
    }
}

/// Why an oracle is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OracleMissing {
    reason: String,
}

impl OracleMissing {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl fmt::Display for OracleMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for OracleMissing {}

/// Why LLVM's assembler rejects a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The byte of the line that the message points to; 0 if it does not point to any.
    pub column: usize,
    /// The message.
    pub message: String,
}

impl Refusal {
    fn new(column: usize, message: impl Into<String>) -> Refusal {
        Refusal { column, message: message.into() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Assembles `lines` for `target`, all in one run of `llvm-mc-22`.
///
/// Returns one result per line, in order: the bytes of the line's instructions, or the reason why
/// the assembler rejects them. A line whose bytes depend on a relocation is an error, too, and so
/// are a line with an open quote and the line after it.
///
/// # Errors
/// [`OracleMissing`] if `llvm-mc-22` is absent or cannot be run.
pub fn assemble(target: &str, lines: &[String]) -> Result<Vec<Result<Vec<u8>, Refusal>>, OracleMissing> {
    let program = Tool::LlvmMc.path()?;
    let mut source = String::new();
    let mut results: Vec<Result<Vec<u8>, Refusal>> = Vec::with_capacity(lines.len());
    for (number, line) in lines.iter().enumerate() {
        // Each line follows its own label; source line 2 * number + 2 is its text.
        let single = !line.contains('\n');
        source += &format!("{MARK}{number}:\n{}\n", if single { line } else { "" });
        results.push(if single {
            Ok(Vec::new())
        } else {
            Err(Refusal::new(0, "the text has more than one line"))
        });
    }
    let mut child = Command::new(program)
        .args([&format!("-triple={TRIPLE}"), &format!("-mcpu={target}"), "-show-encoding", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| OracleMissing::new(format!("llvm-mc-22 does not start: {error}")))?;
    let mut stdin = child.stdin.take().ok_or_else(|| OracleMissing::new("llvm-mc-22 has no input"))?;
    // A separate thread writes, so that neither side blocks on a full pipe. A write error means
    // that the child died, which its missing output shows.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(source.as_bytes())));
    let output = child
        .wait_with_output()
        .map_err(|error| OracleMissing::new(format!("llvm-mc-22 cannot be read: {error}")))?;
    if feeder.join().is_err() {
        return Err(OracleMissing::new("the thread that feeds llvm-mc-22 failed"));
    }
    let mut seen = vec![false; lines.len()];
    let mut current = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(number) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(':')) {
            current = number.parse::<usize>().ok().filter(|number| *number < lines.len());
            if let Some(number) = current {
                seen[number] = true;
            }
        } else if let (Some(index), Some((_, list))) = (current, line.split_once("encoding: [")) {
            let list = list.split(']').next().unwrap_or_default();
            let bytes: Option<Vec<u8>> =
                list.split(',').map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok()).collect();
            match (&mut results[index], bytes) {
                (Ok(all), Some(bytes)) => all.extend(bytes),
                (result, None) => *result = Err(Refusal::new(0, format!("not plain bytes: [{list}]"))),
                (Err(_), Some(_)) => {}
            }
        }
    }
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let mut parts = line.splitn(4, ':');
        let (Some(_), Some(number), Some(column), Some(message)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if let (Ok(number), Some(message)) = (number.parse::<usize>(), message.strip_prefix(" error: "))
            && let Some(result) = number.checked_sub(2).and_then(|number| results.get_mut(number / 2))
        {
            // Columns count from 1.
            let column = column.parse::<usize>().unwrap_or(0).saturating_sub(1);
            *result = Err(Refusal::new(column, message));
        }
    }
    let lost = seen.iter().filter(|seen| !**seen).count();
    if lost * 1000 > lines.len() {
        return Err(OracleMissing::new(format!(
            "llvm-mc-22 answered {} of {} lines ({})",
            lines.len() - lost,
            lines.len(),
            output.status
        )));
    }
    // An open quote or comment hides the lines after it.
    for number in (0..lines.len()).filter(|number| !seen[*number]) {
        for line in [number.checked_sub(1), Some(number)].into_iter().flatten() {
            results[line] = Err(Refusal::new(0, "the text goes on in the next line"));
        }
    }
    Ok(results)
}

/// The label before each line that [`assemble`] sends.
const MARK: &str = "wavemill_line_";

/// The output of `llvm-objdump-22` for the file at `path` with `options` (such as `-d`).
///
/// # Errors
/// [`OracleMissing`] if the tool is absent, cannot be run, or fails on the file.
pub fn objdump(path: &Path, options: &[&str]) -> Result<String, OracleMissing> {
    let output = Command::new(Tool::LlvmObjdump.path()?)
        .args(options)
        .arg(path)
        .output()
        .map_err(|error| OracleMissing::new(format!("llvm-objdump-22 does not start: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(OracleMissing::new(format!("llvm-objdump-22: {} {message}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
