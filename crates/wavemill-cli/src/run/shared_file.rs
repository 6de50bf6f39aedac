//! A file that several processes may replace at the same time, each with a new version of the
//! contents.

use crate::input::Shown as _;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::files::behind_links;

/// A file that can be replaced, whether it exists yet or not.
#[derive(Debug)]
pub(super) struct SharedFile {
    /// After all symbolic links: the links stay, and their target is replaced.
    path: PathBuf,
    /// The file for the next contents. A process that has it locked may replace the file.
    new: PathBuf,
}

/// The right to replace the file. Others wait until it is used or dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    shared: &'a SharedFile,
    next: File,
    /// Whether `next` has become the file.
    replaced: bool,
}

impl SharedFile {
    /// The file at a path.
    ///
    /// # Errors
    /// The file cannot be replaced.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let path = behind_links(path)?;
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("it is not a regular file")),
            // A process that may not write to a file must not replace it.
            Ok(_) => drop(OpenOptions::new().append(true).open(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !name.is_empty() => {}
            Err(error) => return Err(error),
        }
        name.push(".wavemill-new");
        let shared = SharedFile { new: path.with_file_name(name), path };
        // Fails now rather than when there is something to lose.
        shared.turn()?;
        Ok(shared)
    }

    /// Waits until no other process is replacing the file.
    ///
    /// # Errors
    /// The file cannot be replaced.
    pub(super) fn turn(&self) -> io::Result<Turn<'_>> {
        loop {
            // It is not emptied before it is locked: another process may be using it.
            let next =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.new)?;
            match next.lock() {
                // On systems without locks, a single process still works.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                result => result?,
            }
            // The process that had it locked has renamed it to the file, or has removed it.
            let found = match fs::symlink_metadata(&self.new) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?,
            };
            if !found.is_file() {
                return Err(io::Error::other(format!("`{}` is in the way", self.new.shown())));
            }
            match Handle::from_path(&self.new) {
                Ok(there) if there == Handle::from_file(next.try_clone()?)? => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => continue,
            }
            return Ok(Turn { shared: self, next, replaced: false });
        }
    }
}

impl Turn<'_> {
    /// The contents; `None` if there is no file.
    ///
    /// # Errors
    /// Reading fails.
    pub(super) fn read(&self) -> io::Result<Option<String>> {
        let mut file = match File::open(&self.shared.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // The last writer may not have closed it yet; Windows does not let others read it until
        // then.
        match file.lock_shared() {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            result => result?,
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Some(text))
    }

    /// Replaces the file. Readers never see partial contents.
    ///
    /// # Errors
    /// Writing fails; then the file is unchanged.
    pub(super) fn replace(mut self, text: &str) -> io::Result<()> {
        let SharedFile { path, new } = self.shared;
        // A process may have been killed while writing it.
        self.next.set_len(0)?;
        self.next.write_all(text.as_bytes())?;
        if let Ok(metadata) = fs::metadata(path) {
            self.next.set_permissions(metadata.permissions())?;
        }
        fs::rename(new, path)?;
        self.replaced = true;
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.replaced {
            // Before it is unlocked, as another process may own it afterwards. If it cannot be
            // removed, the next one reuses it.
            let _ = fs::remove_file(&self.shared.new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("wavemill-shared-file-{}-{name}", std::process::id()));
        // It may be there from an earlier run.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_that_is_added_at_the_same_time_is_lost() {
        let folder = folder("count");
        let path = folder.join("count");
        // Leftovers of a killed process do no harm.
        fs::write(folder.join("count.wavemill-new"), "9999 and more").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let shared = SharedFile::at(&path).unwrap();
                    for _ in 0..50 {
                        let turn = shared.turn().unwrap();
                        let before = turn.read().unwrap().map_or(0, |text| text.parse::<u32>().unwrap());
                        turn.replace(&(before + 1).to_string()).unwrap();
                        // Not every turn is used.
                        shared.turn().unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "400");
        assert_eq!(names(&folder), ["count"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_cannot_be_replaced_is_refused() {
        let folder = folder("refused");
        fs::write(folder.join("file"), "").unwrap();
        fs::create_dir(folder.join("taken.wavemill-new")).unwrap();
        for (name, kind) in [
            ("none/file", io::ErrorKind::NotFound),
            ("file/file", io::ErrorKind::NotADirectory),
            (".", io::ErrorKind::IsADirectory),
            ("taken", io::ErrorKind::IsADirectory),
        ] {
            assert_eq!(SharedFile::at(&folder.join(name)).unwrap_err().kind(), kind, "{name}");
        }
        assert!(SharedFile::at(Path::new("")).is_err());
        assert_eq!(names(&folder), ["file", "taken.wavemill-new"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        fs::create_dir(folder.join("inner")).unwrap();
        symlink("inner/middle", folder.join("outer")).unwrap();
        symlink("../end", folder.join("inner/middle")).unwrap();
        for text in ["new", "again"] {
            let shared = SharedFile::at(&folder.join("outer")).unwrap();
            shared.turn().unwrap().replace(text).unwrap();
            assert_eq!(fs::read_to_string(folder.join("end")).unwrap(), text);
            fs::set_permissions(folder.join("end"), fs::Permissions::from_mode(0o640)).unwrap();
        }
        assert_eq!(fs::metadata(folder.join("end")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(folder.join("outer").is_symlink() && folder.join("inner/middle").is_symlink());
        assert_eq!(names(&folder), ["end", "inner", "outer"]);

        symlink("b", folder.join("a")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        let error = SharedFile::at(&folder.join("a")).unwrap_err();
        assert_eq!(error.to_string(), "too many levels of symbolic links");
        // A symbolic link must not lead to another file.
        fs::write(folder.join("victim"), "own").unwrap();
        symlink("victim", folder.join("end.wavemill-new")).unwrap();
        let error = SharedFile::at(&folder.join("end")).unwrap_err().to_string();
        assert!(error.ends_with("end.wavemill-new` is in the way"), "{error}");
        assert_eq!(fs::read(folder.join("victim")).unwrap(), b"own");
        fs::remove_dir_all(folder).unwrap();
    }
}
