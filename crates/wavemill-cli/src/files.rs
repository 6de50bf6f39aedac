//! Files that commands write: which path is which file, however it is spelt, and that none is the
//! log.

use crate::input::Shown as _;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::logging;

/// Most links to follow, as in Linux.
const LINKS: usize = 40;

/// The file that a path leads to: paths with the same identity are one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// An existing file: its device and number, which hard links share.
    #[cfg(unix)]
    There(u64, u64),
    /// A path without links, where no file exists yet, or where files have no numbers.
    Path(PathBuf),
}

/// The end of a chain of symbolic links; it need not exist.
///
/// # Errors
/// The links form a cycle.
pub(crate) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            // It is not a link, or does not exist.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// The identity of a file; `None` for devices and pipes, which several programs may write, and for
/// folders.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return None,
        #[cfg(unix)]
        Ok(metadata) => {
            use std::os::unix::fs::MetadataExt as _;
            return Some(Identity::There(metadata.dev(), metadata.ino()));
        }
        _ => {}
    }
    // A link may lead to a file that does not exist yet.
    let end = behind_links(path).ok();
    let path = end.as_deref().unwrap_or(path);
    let absent = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    Some(Identity::Path(path.canonicalize().ok().or_else(absent).unwrap_or_else(|| path.to_owned())))
}

/// A file for results whose errors name it.
#[derive(Debug)]
pub(crate) struct NamedFile {
    file: File,
    path: PathBuf,
}

/// Why a [`NamedFile`] could not be written.
#[derive(Debug)]
pub(crate) struct WriteError {
    path: PathBuf,
    error: io::Error,
}

impl NamedFile {
    /// Creates the file, or empties an existing one.
    ///
    /// # Errors
    /// As [`create`].
    pub(crate) fn create(path: &Path) -> Result<NamedFile, Failure> {
        Ok(NamedFile { file: create(path)?, path: path.to_owned() })
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), WriteError { path: self.path.clone(), error })
    }
}

impl io::Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(error))
    }
}

impl WriteError {
    /// The failure that the command reports.
    pub(crate) fn failure(&self) -> Failure {
        Failure::output(&format!("`{}`", self.path.shown()), &self.error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.shown(), self.error)
    }
}

impl std::error::Error for WriteError {}

/// Creates a file for results, or empties an existing one.
///
/// # Errors
/// The file is the log, or cannot be written.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    logging::refuse(path)?;
    File::create(path).map_err(|error| Failure::output(&format!("`{}`", path.shown()), &error))
}

/// Writes a file of results.
///
/// # Errors
/// As [`create`].
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    let failed = |error| Failure::output(&format!("`{}`", path.shown()), &error);
    create(path)?.write_all(contents.as_ref()).map_err(failed)
}
