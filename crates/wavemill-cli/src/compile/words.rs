//! Paths as words of a command line that no program can read as an option.

use std::path::{Path, PathBuf};

/// The same file under a path that is neither an option (`-x.cl`) nor a file with arguments (`@x.cl`).
pub(super) fn path_word(path: &Path) -> PathBuf {
    let first = path.as_os_str().as_encoded_bytes().first();
    let is_plain = first.is_none_or(|first| first.is_ascii_alphanumeric() || b"_./".contains(first));
    match is_plain || path.is_absolute() {
        true => path.to_path_buf(),
        false => Path::new(".").join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_options() {
        for (path, word) in [
            ("k.cl", "k.cl"),
            ("a/-k.cl", "a/-k.cl"),
            ("/tmp/k.cl", "/tmp/k.cl"),
            ("../k.cl", "../k.cl"),
            ("-x.cl", "./-x.cl"),
            ("-fplugin=a/x.cl", "./-fplugin=a/x.cl"),
            ("@x.bc", "./@x.bc"),
            ("@a/x.cl", "./@a/x.cl"),
            ("=x", "./=x"),
            ("ä.cl", "./ä.cl"),
        ] {
            assert_eq!(path_word(Path::new(path)), Path::new(word));
        }
    }
}
