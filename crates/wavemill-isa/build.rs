//! Reads the row files under `rows/`, checks them and writes the static tables that the crate includes.

// The build script uses parts of these modules only.
#![allow(dead_code, unreachable_pub)]

#[path = "build/cayman.rs"]
mod cayman_table;
#[path = "build/emit.rs"]
mod emit;
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
#[path = "build/reasons.rs"]
mod reasons;
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

/// The reasons that modelled rows refer to.
const REASONS: &str = "rows/gcn/modelled.reasons";

/// The row files of Cayman, in the manual's order, and their reasons.
const CAYMAN_FILES: [&str; 3] = ["cf", "alu", "fetch"];
const CAYMAN_REASONS: &str = "rows/cayman/modelled.reasons";

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
    let (rows, reasons) = read_family(&root, "gcn", &FILES, table::parse, REASONS, &mut errors);
    let forms = forms::forms(&rows);
    errors.extend(forms::check(&rows, &forms));
    let (cayman, cayman_reasons) =
        read_family(&root, "cayman", &CAYMAN_FILES, cayman_table::parse, CAYMAN_REASONS, &mut errors);
    errors.extend(cayman_table::check(&cayman));
    if !errors.is_empty() {
        for error in &errors {
            eprintln!("{error}");
        }
        process::exit(1);
    }
    fs::write(out.join("gcn_tables.rs"), emit::emit(&rows, &forms, &reasons)).expect("OUT_DIR is writable");
    let text = cayman_table::emit(&cayman, &cayman_reasons);
    fs::write(out.join("cayman_tables.rs"), text).expect("OUT_DIR is writable");
}

/// The rows of a family, and the reasons that they refer to.
fn read_family<R: reasons::Reasoned>(
    root: &Path,
    family: &str,
    files: &[&str],
    parse: impl Fn(&str, &str) -> Result<Vec<R>, Vec<table::RowError>>,
    reasons_file: &str,
    errors: &mut Vec<table::RowError>,
) -> (Vec<R>, Vec<reasons::Reason>) {
    let mut rows = Vec::new();
    for name in files {
        let file = format!("rows/{family}/{name}.rows");
        match parse(&file, &read(&root.join(&file))) {
            Ok(parsed) => rows.extend(parsed),
            Err(found) => errors.extend(found),
        }
    }
    let reasons = match reasons::parse(reasons_file, &read(&root.join(reasons_file))) {
        Ok(reasons) => reasons,
        Err(found) => {
            errors.extend(found);
            Vec::new()
        }
    };
    errors.extend(reasons::check(reasons_file, &reasons, &rows));
    (rows, reasons)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
