//! Reads the row files under `rows/`, checks them and writes the static tables that the crate includes.

// The build script uses parts of these modules only.
#![allow(dead_code, unreachable_pub)]

#[path = "build/cayman.rs"]
mod cayman_table;
#[path = "build/emit.rs"]
mod emit;
#[path = "build/facets.rs"]
mod facets;
#[path = "build/forms.rs"]
mod forms;
#[path = "src/cayman"]
mod cayman {
    pub mod fields;
    pub mod vocabulary;
}
#[path = "src/gcn"]
mod gcn {
    pub mod codes;
    pub mod encoding;
    pub mod fields;
    pub mod names;
    pub mod operand;
    pub mod vocabulary;
}
#[path = "build/table.rs"]
mod table;
#[path = "src/target/mod.rs"]
mod target;
#[path = "build/windows.rs"]
mod windows;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The row files in the manual's order of formats.
const FILES: [&str; 22] = [
    "sop2",
    "sopk",
    "sop1",
    "sopc",
    "sopp",
    "smem",
    "vop2",
    "vop1",
    "vopc",
    "vop3",
    "vop3p",
    "mai",
    "mai_scaled",
    "vintrp",
    "ds",
    "mubuf",
    "mtbuf",
    "mimg",
    "flat",
    "global",
    "scratch",
    "exp",
];

/// The facets that rows refer to.
const FACETS: &str = "rows/gcn/facets.reasons";

/// The row files of Cayman, in the manual's order, and their facets.
const CAYMAN_FILES: [&str; 4] = ["cf", "alu", "fetch", "gds"];
const CAYMAN_FACETS: &str = "rows/cayman/facets.reasons";

fn main() {
    println!("cargo::rerun-if-changed=rows");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/target");
    println!("cargo::rerun-if-changed=src/cayman/fields.rs");
    println!("cargo::rerun-if-changed=src/cayman/vocabulary.rs");
    println!("cargo::rerun-if-changed=src/gcn/vocabulary.rs");
    println!("cargo::rerun-if-changed=src/gcn/encoding.rs");
    println!("cargo::rerun-if-changed=src/gcn/fields.rs");
    println!("cargo::rerun-if-changed=src/gcn/codes.rs");
    println!("cargo::rerun-if-changed=src/gcn/names.rs");
    println!("cargo::rerun-if-changed=src/gcn/operand.rs");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut errors = Vec::new();
    let (rows, facets) = read_family(&root, "gcn", &FILES, table::parse, FACETS, &mut errors);
    let forms = forms::forms(&rows);
    errors.extend(forms::check(&rows, &forms));
    let (cayman, cayman_facets) =
        read_family(&root, "cayman", &CAYMAN_FILES, cayman_table::parse, CAYMAN_FACETS, &mut errors);
    errors.extend(cayman_table::check(&cayman));
    if !errors.is_empty() {
        for error in &errors {
            eprintln!("{error}");
        }
        process::exit(1);
    }
    fs::write(out.join("gcn_tables.rs"), emit::emit(&rows, &forms, &facets)).expect("OUT_DIR is writable");
    let text = cayman_table::emit(&cayman, &cayman_facets);
    fs::write(out.join("cayman_tables.rs"), text).expect("OUT_DIR is writable");
}

/// The rows of a family, and the facets that they refer to.
fn read_family<R: facets::Faceted>(
    root: &Path,
    family: &str,
    files: &[&str],
    parse: impl Fn(&str, &str) -> Result<Vec<R>, Vec<table::RowError>>,
    facets_file: &str,
    errors: &mut Vec<table::RowError>,
) -> (Vec<R>, Vec<facets::SourceFacet>) {
    let before = errors.len();
    let mut rows = Vec::new();
    for name in files {
        let file = format!("rows/{family}/{name}.rows");
        match parse(&file, &read(&root.join(&file))) {
            Ok(parsed) => rows.extend(parsed),
            Err(found) => errors.extend(found),
        }
    }
    match facets::parse(facets_file, &read(&root.join(facets_file))) {
        // Without all rows, facets may seem unused.
        Ok(facets) if errors.len() == before => {
            errors.extend(facets::check(facets_file, &facets, &rows));
            (rows, facets)
        }
        Ok(facets) => (rows, facets),
        Err(found) => {
            errors.extend(found);
            (rows, Vec::new())
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
