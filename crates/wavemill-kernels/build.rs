//! Finds the folder with the sources and code objects, and lists the sources.
//!
//! Packages hold the folder as `kernels`, next to this script. In the repository, that name is a
//! link to the folder at the root. If links are not checked out as links (Windows), the script uses
//! the folder itself.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    let name = if here.join("kernels/bin").is_dir() { "kernels" } else { "../../kernels" };
    println!("cargo::rustc-env=WAVEMILL_KERNELS={name}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={name}");

    let folder = here.join(name);
    let mut table = String::from("&[\n");
    for prefix in ["", "twins/"] {
        let folder = folder.join(prefix);
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "cl" || e == "h") {
                files.push(path);
            }
        }
        files.sort();
        for path in &files {
            let name = path.file_name().and_then(|n| n.to_str()).ok_or("a name that is not Unicode")?;
            writeln!(table, "    (\"{prefix}{name}\", include_str!({path:?})),")?;
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(Path::new(&out).join("sources.rs"), table)?;
    Ok(())
}
