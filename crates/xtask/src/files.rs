//! Code objects in files and folders.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use wavemill_asm::InstructionSet;
use wavemill_isa::Target;
use wavemill_object::{Container, Limits};

/// A code object for a known instruction set, and where it is from.
pub(crate) struct Found<'a> {
    /// The file.
    pub path: &'a Path,
    /// Where the file has the bundle, and what the bundle calls the object.
    pub place: String,
    pub target: Target,
    pub bytes: &'a [u8],
}

/// What a chore says of a code object.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Calls `each` for the code objects in files, and in all files under folders, in the order of their names. A file that is
/// named must have GPU code; of those in folders, others are passed over.
pub(crate) fn for_each_object(paths: &[PathBuf], mut each: impl FnMut(Found<'_>) -> Outcome) -> Outcome {
    paths.iter().try_for_each(|path| in_path(path, true, &mut each))
}

fn in_path(path: &Path, named: bool, each: &mut dyn FnMut(Found<'_>) -> Outcome) -> Outcome {
    if path.is_dir() {
        let mut inside = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        inside.sort_by_key(|entry| entry.path());
        return inside.iter().try_for_each(|entry| match entry.file_type()?.is_symlink() {
            true => Ok(()),
            false => in_path(&entry.path(), false, each),
        });
    }
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    // SAFETY: nobody changes the files of a chore while it runs; the bytes are only read.
    let data = unsafe { Mmap::map(&file)? };
    let limits = Limits::default();
    let container = match Container::parse(&data) {
        Ok(container) => container,
        Err(error) if named => return Err(format!("{}: {error}", path.display()).into()),
        // Not every file of a package holds GPU code.
        Err(_) => return Ok(()),
    };
    for bundle in container.bundles() {
        let opened = bundle.open(&limits)?;
        for entry in opened.entries().iter().filter(|entry| entry.size != 0) {
            let id = entry.id.target.as_ref();
            if let Some(target) = id.and_then(InstructionSet::of).map(InstructionSet::target) {
                let place = format!("{:#x}: {}", bundle.offset(), entry.id);
                each(Found { path, place, target, bytes: opened.read(entry)? })?;
            }
        }
    }
    Ok(())
}
