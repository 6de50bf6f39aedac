//! The header that programs include is the one that cbindgen makes from the sources.

use std::fs;
use std::path::Path;

/// Set to 1 to write the header.
const WRITE: &str = "WAVEMILL_WRITE_HEADER";

/// The header that cbindgen makes. It follows the modules of the crate.
fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("UTF-8")
}

#[test]
fn it_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/wavemill.h");
    let generated = generated();
    if std::env::var_os(WRITE).is_some_and(|value| value == "1") {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).expect("the header is there");
    assert!(
        committed == generated,
        "{} is out of date; run `{WRITE}=1 cargo test -p wavemill-c --test suite header`",
        path.display()
    );
}

/// cbindgen leaves out what it cannot follow.
#[test]
fn every_function_is_in_it_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(root.join("include/wavemill.h")).expect("the header is there");
    let mut functions = 0;
    for entry in fs::read_dir(root.join("src")).expect("there are sources") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a source");
        for after in text.split("extern \"C\" fn wm_").skip(1) {
            let name = after.split('(').next().expect("a name");
            let declared = header.matches(&format!("const char *wm_{name}(")).count();
            assert_eq!(declared, 1, "declarations of wm_{name}");
            functions += 1;
        }
    }
    assert!(functions > 20, "found {functions} functions");
}
