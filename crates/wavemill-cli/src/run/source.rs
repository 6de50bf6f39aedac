//! Source lines for reports.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wavemill::fault::SourceLocation;

/// Most bytes of a source to read: the code object chooses the file name, so it may be any file.
const LONGEST: u64 = 64 << 20;
/// Most characters of a line to show.
const WIDTH: usize = 120;
/// Most lines to look up for one report.
const LINES: usize = 64;

/// The sources of a code object, as its debug information names them.
#[derive(Debug)]
pub(super) struct Sources<'a> {
    object: &'a Path,
    lines: HashMap<(String, u32), Option<String>>,
}

impl<'a> Sources<'a> {
    /// The sources of a code object. Relative names are relative to the current folder, or else to
    /// the code object's folder.
    pub(super) fn beside(object: &'a Path) -> Self {
        Sources { object, lines: HashMap::new() }
    }

    /// The text of a line without the blanks around it, if the file exists and has the line. Adds a
    /// remark if the file has changed since the code object was built.
    pub(super) fn line(&mut self, at: &SourceLocation) -> Option<String> {
        let key = (at.file.clone(), at.line);
        if let Some(known) = self.lines.get(&key) {
            return known.clone();
        }
        if self.lines.len() >= LINES || at.line == 0 {
            return None;
        }
        let text = self.read(at);
        self.lines.insert(key, text.clone());
        text
    }

    fn read(&self, at: &SourceLocation) -> Option<String> {
        let (file, newer) = self.open(&at.file)?;
        let mut bytes = BufReader::new(file.take(LONGEST));
        let mut line = Vec::new();
        for _ in 0..at.line {
            line.clear();
            if bytes.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        let mut shown: String = text.chars().take(WIDTH).collect();
        if shown.len() < text.len() {
            shown += "...";
        }
        if newer && !shown.is_empty() {
            shown += "  (the file is newer than the code object)";
        }
        (!shown.is_empty()).then_some(shown)
    }

    /// The file with this name, and whether it is newer than the code object. Devices and pipes are
    /// not sources.
    fn open(&self, name: &str) -> Option<(File, bool)> {
        let folder = self.object.parent().unwrap_or(Path::new(""));
        let changed = |path: &Path| -> Option<SystemTime> {
            std::fs::metadata(path).ok().filter(|data| data.is_file())?.modified().ok()
        };
        let places: [PathBuf; 2] = [PathBuf::from(name), folder.join(name)];
        let (path, time) = places.iter().find_map(|path| Some((path, changed(path)?)))?;
        let newer = changed(self.object).is_some_and(|object| object < time);
        Some((File::open(path).ok()?, newer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_that_are_there() {
        let folder = std::env::temp_dir().join(format!("wavemill_sources_{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("k.cl"), format!("one\n\t two\r\n\n\x1b[2J{}", "x".repeat(200))).unwrap();
        let object = folder.join("k.co");
        std::fs::write(&object, "").unwrap();
        let mut sources = Sources::beside(&object);
        let mut line =
            |file: &str, line| sources.line(&SourceLocation { file: file.into(), line, column: 1 });
        assert_eq!(line("k.cl", 1).as_deref(), Some("one"));
        assert_eq!(line("k.cl", 2).as_deref(), Some("two"));
        assert_eq!(line("k.cl", 3), None);
        assert!(line("k.cl", 4).is_some_and(|text| text.ends_with("xxx...") && text.len() == WIDTH + 3));
        for (file, number) in [("k.cl", 0), ("k.cl", 5), ("other.cl", 1), ("/dev/zero", 1), ("", 1)] {
            assert_eq!(line(file, number), None, "{file}:{number}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
