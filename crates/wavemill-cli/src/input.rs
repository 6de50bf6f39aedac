//! Files that the user names.

use std::fs::{File, Metadata};
use std::path::Path;

use memmap2::Mmap;
use wavemill_object::TargetId;

use crate::failure::Failure;

/// The bytes of a file: mapped, so that only what is used is read.
#[derive(Debug)]
pub(crate) enum FileBytes {
    Mapped(Mmap),
    /// What cannot be mapped (pipes) or is empty.
    Read(Vec<u8>),
}

impl std::ops::Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(map) => map,
            FileBytes::Read(bytes) => bytes,
        }
    }
}

/// Opens a file for reading.
///
/// # Errors
/// A message that names the file.
pub(crate) fn open(path: &Path) -> Result<FileBytes, Failure> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::input(format!("there is no file `{}`", path.display())),
        _ => Failure::input(format!("cannot read `{}`: {error}", path.display())),
    };
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Failure::input(format!("`{}` is a directory, not a file", path.display())));
    }
    if metadata.is_file() && metadata.len() > 0 {
        // SAFETY: if another process shortens the file while we read it, the access ends this process with a signal, as
        // it does in every tool that maps its input; nothing is written through the mapping, and what it shows is
        // treated as untrusted bytes.
        if let Ok(map) = unsafe { Mmap::map(&file) } {
            return Ok(FileBytes::Mapped(map));
        }
    }
    if is_device(&metadata) {
        return Err(Failure::input(format!("`{}` is a device, not a file", path.display())));
    }
    // Nobody knows how long a pipe goes on.
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_READ + 1), &mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_READ {
        return Err(Failure::input(format!(
            "`{}` goes on behind {MAX_READ} bytes, and is no file that could be mapped",
            path.display()
        ))
        .help("Save it as a file first."));
    }
    Ok(FileBytes::Read(bytes))
}

/// Bytes of what cannot be mapped.
const MAX_READ: u64 = 4 << 30;

/// Whether it is a device, such as `/dev/zero`, which never ends.
#[cfg(unix)]
fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

/// Reads a target id from the command line, for clap.
pub(crate) fn parse_target(text: &str) -> Result<TargetId, String> {
    TargetId::parse(text)
        .filter(|id| id.processor.info().is_some())
        .ok_or_else(|| "expected a target such as gfx942 or gfx90a:xnack-".to_owned())
}
