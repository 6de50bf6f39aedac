//! The map in ARCHITECTURE.md: who may use whom, and who may talk to the outside.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use wavemill_isa::{cayman, gcn};

/// The layers with the crates that each may use, in the order of the map: those above first.
const LAYERS: [(&str, &[&str]); 14] = [
    ("wavemill-cli", &["wavemill", "wavemill-asm", "wavemill-isa", "wavemill-kernels", "wavemill-object"]),
    ("wavemill-python", &["wavemill", "wavemill-asm", "wavemill-c", "wavemill-isa", "wavemill-object"]),
    ("wavemill-c", &["wavemill", "wavemill-asm", "wavemill-object"]),
    (
        "wavemill",
        &[
            "wavemill-asm",
            "wavemill-interpreter",
            "wavemill-ir",
            "wavemill-isa",
            "wavemill-jit",
            "wavemill-lift",
            "wavemill-machine",
            "wavemill-object",
            "wavemill-reference-engine",
        ],
    ),
    ("wavemill-jit", &["wavemill-float", "wavemill-interpreter", "wavemill-ir", "wavemill-machine"]),
    ("wavemill-interpreter", &["wavemill-float", "wavemill-ir", "wavemill-machine"]),
    ("wavemill-reference-engine", &["wavemill-float", "wavemill-ir", "wavemill-machine"]),
    ("wavemill-machine", &["wavemill-float", "wavemill-ir"]),
    ("wavemill-lift", &["wavemill-isa", "wavemill-ir"]),
    ("wavemill-asm", &["wavemill-isa", "wavemill-object"]),
    ("wavemill-object", &["wavemill-isa"]),
    ("wavemill-isa", &[]),
    ("wavemill-float", &["wavemill-ir"]),
    ("wavemill-ir", &[]),
];

/// The crates beside the layers, with the crates that each may use. No layer uses one that its line lacks. The data of
/// the suite must not come from what it tests, so its crate uses no meaning, no arithmetic and no engine of the product.
const BESIDE: [(&str, &[&str]); 4] = [
    ("wavemill-kernels", &[]),
    ("wavemill-oracle", &[]),
    ("wavemill-reference", &[]),
    ("wavemill-suite", &["wavemill-asm", "wavemill-isa", "wavemill-reference"]),
];

/// Their names.
fn beside() -> impl Iterator<Item = &'static str> {
    BESIDE.into_iter().map(|(name, _)| name)
}

/// What may use every crate, and none uses.
const CHORES: &str = "xtask";

/// What libraries must not do: files, network, processes, environment, printing.
const OUTSIDE: [&str; 7] =
    ["std::fs", "std::net", "std::process", "std::env", "println!(", "print!(", "std::io::std"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates have a common folder").to_path_buf()
}

/// A file of the repository, by its path from the root.
fn file(path: &str) -> String {
    let path = crates().join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn manifest(text: &str) -> Table {
    text.parse().unwrap_or_else(|e| panic!("expected a manifest: {e}\n{text}"))
}

/// Packages that a manifest's `[dependencies]` and `[build-dependencies]` name, also those of targets. `workspace` has the
/// dependencies that members inherit.
fn dependencies(manifest: &Table, workspace: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables =
        [manifest].into_iter().chain(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let kinds = ["dependencies", "build-dependencies", "build_dependencies"];
    let lists = tables.flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()));
    let package = |(key, value): (&String, &Value)| {
        let inherits = value.get("workspace").and_then(Value::as_bool) == Some(true);
        let source = if inherits { workspace.get(key) } else { Some(value) };
        source.and_then(|value| value.get("package")?.as_str()).unwrap_or(key).to_owned()
    };
    lists.flatten().map(package).collect()
}

#[test]
fn dependencies_point_down() {
    let root = manifest(&file("Cargo.toml"));
    let workspace = root["workspace"]["dependencies"].as_table().expect("members inherit dependencies");
    let ours: BTreeSet<String> = folders().into_iter().collect();
    for (name, allowed) in LAYERS.into_iter().chain(BESIDE) {
        let manifest = manifest(&file(&format!("crates/{name}/Cargo.toml")));
        for used in dependencies(&manifest, workspace).intersection(&ours) {
            assert!(
                allowed.contains(&used.as_str()),
                "{name} uses {used}, which the map in ARCHITECTURE.md does not allow (allowed: {allowed:?})"
            );
        }
    }
}

/// Names of the folders in `crates`.
fn folders() -> Vec<String> {
    let entries = fs::read_dir(crates()).expect("crates have a common folder");
    let entries = entries.map(|entry| entry.expect("the folder can be read"));
    entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// A crate that no list has would be checked by nobody.
#[test]
fn every_crate_is_listed() {
    let listed = LAYERS.into_iter().map(|(name, _)| name).chain(beside()).chain([CHORES]);
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    assert_eq!(
        folders().into_iter().collect::<BTreeSet<_>>(),
        listed,
        "the folders in crates/, and the lists here"
    );
    for name in listed {
        let manifest = manifest(&file(&format!("crates/{name}/Cargo.toml")));
        assert_eq!(manifest["package"]["name"].as_str(), Some(&*name), "a package is called like its folder");
    }
}

/// The crates that the map has a paragraph for, and the paragraph about those beside the layers.
fn map(architecture: &str) -> (Vec<&str>, &str) {
    let (_, section) = architecture.split_once("\n## Map\n").expect("ARCHITECTURE.md has a map");
    let section = section.split("\n## ").next().unwrap_or(section);
    let (layers, beside) =
        section.split_once("\nBeside them:").expect("the map names crates beside the layers");
    let paragraphs = layers.split("\n\n").filter_map(|text| text.trim_start().strip_prefix("**`"));
    let names = paragraphs.map(|text| {
        assert!(text.contains("**Invariant:**"), "the paragraph has no invariant: {text}");
        text.split('`').next().unwrap_or(text)
    });
    (names.collect(), beside.split("\n\n").next().unwrap_or(beside))
}

#[test]
fn the_map_has_the_layers_in_their_order() {
    let architecture = file("ARCHITECTURE.md");
    let (rows, besides) = map(&architecture);
    assert_eq!(rows, LAYERS.map(|(name, _)| name), "the paragraphs of the map, and LAYERS");
    for name in beside().chain([CHORES]) {
        assert!(besides.contains(&format!("`{name}` (")), "the map does not say what {name} is: {besides}");
    }
    for (at, (name, allowed)) in LAYERS.into_iter().enumerate() {
        for used in allowed {
            let below = LAYERS[at + 1..].iter().any(|(name, _)| name == used);
            assert!(
                below || beside().any(|name| name == *used),
                "{name} may use {used}, which is not below it"
            );
        }
    }
}

/// Names of the tests that a folder `tests` has: its files, and its folders with a `main.rs` or `mod.rs`.
fn test_modules(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let has_code = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "rs")
            || ["main.rs", "mod.rs"].iter().any(|file| path.join(file).is_file())
    };
    let name = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    paths.filter(has_code).filter_map(name).collect()
}

/// Where a crate's tests are one binary, a file that nobody names would not run.
#[test]
fn every_test_file_is_named() {
    let mut suites = 0;
    for entry in fs::read_dir(crates()).expect("crates have a common folder") {
        let folder = entry.expect("the folder can be read").path();
        let Ok(suite) = fs::read_to_string(folder.join("tests/suite.rs")) else { continue };
        suites += 1;
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("every crate has a manifest");
        assert!(manifest.contains("autotests = false"), "{}: tests would run twice", folder.display());
        for name in test_modules(&folder.join("tests")) {
            assert!(
                suite.contains(&format!("\nmod {name};\n"))
                    || manifest.contains(&format!("[[test]]\nname = \"{name}\"\n")),
                "{}/tests: neither suite.rs nor Cargo.toml names `{name}`, so it does not run",
                folder.display()
            );
        }
    }
    assert!(suites > 5, "found {suites} crates whose tests are one binary");
}

/// Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// A source up to its module of unit tests: other things for tests alone may stand anywhere.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// Lines of a library that reach outside, without comments and unit tests.
fn reaching_out(text: &str) -> Vec<&str> {
    without_tests(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        // The number of the process is no input: it names the process whose memory a launch may use.
        .filter(|line| !line.contains("std::process::id()"))
        .filter(|line| OUTSIDE.iter().any(|word| line.contains(word)))
        .collect()
}

#[test]
fn libraries_do_no_input_or_output() {
    for (name, _) in LAYERS.iter().filter(|(name, _)| *name != "wavemill-cli") {
        let mut files = Vec::new();
        sources(&crates().join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let lines = reaching_out(&text);
            assert!(lines.is_empty(), "{}: only the command does I/O, found {lines:?}", file.display());
        }
    }
}

#[test]
fn the_checks_notice() {
    let workspace = manifest("lifter = { path = \"crates/wavemill-lift\", package = \"wavemill-lift\" }\n");
    for (text, expected) in [
        (
            "[dependencies]\nthiserror.workspace = true\nwavemill-isa.workspace = true\n",
            &["thiserror", "wavemill-isa"] as &[&str],
        ),
        ("[dev-dependencies]\nwavemill-lift = { path = \"../wavemill-lift\" }\n", &[]),
        ("[build-dependencies]\n  wavemill-ir = \"0.1\"\n", &["wavemill-ir"]),
        ("[dependencies.wavemill-ir]\npath = \"../wavemill-ir\"\n", &["wavemill-ir"]),
        ("[dependencies]\n\"wavemill-ir\" = \"0.1\"\n", &["wavemill-ir"]),
        ("dependencies = { wavemill-ir = \"0.1\" }\n", &["wavemill-ir"]),
        ("[dependencies]\nir = { package = \"wavemill-ir\", path = \"../wavemill-ir\" }\n", &["wavemill-ir"]),
        ("[dependencies]\nlifter.workspace = true\n", &["wavemill-lift"]),
        ("[target.'cfg(unix)'.dependencies]\nwavemill-ir = \"0.1\"\n", &["wavemill-ir"]),
        ("[target.'cfg(unix)'.build-dependencies.ir]\npackage = \"wavemill-ir\"\n", &["wavemill-ir"]),
        ("[target.'cfg(unix)'.dev-dependencies]\nwavemill-ir = \"0.1\"\n", &[]),
    ] {
        let found = dependencies(&manifest(text), &workspace);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
    }
    let text = "# A\n\n## Map\n\nX `y`.\n\n**`b`** is `c`. **Invariant:** b.\n\n**`a`** is.\n**Invariant:** a.\n\nBeside them: `d`\n(e).\n\nF\n\n## G\n\n**`h`** is.";
    assert_eq!(map(text), (vec!["b", "a"], " `d`\n(e)."));
    let source = "//! println!(1)\nfn f() { println!(\"2\"); }\n    // std::fs\nuse std::fs;\n#[cfg(test)]\nmod tests {\nuse std::env;\n";
    assert_eq!(reaching_out(source), ["fn f() { println!(\"2\"); }", "use std::fs;"]);
}

/// What only one instruction family has, or calls so, besides its mnemonics and processors.
const OF_A_FAMILY: [&str; 34] = [
    "AMDHSA",
    "AccVGPR",
    "Cayman",
    "DPP",
    "DX10_CLAMP",
    "DppCtrl",
    "EXEC",
    "FLAT_SCRATCH",
    "GPR_ALLOC",
    "HW_ID",
    "HwReg",
    "LDS_ALLOC",
    "M0",
    "MODE",
    "SCC",
    "SDWA",
    "SGPR",
    "SGPRs",
    "SH_MEM_CONFIG",
    "TRAPSTS",
    "TTMP0",
    "VCC",
    "VGPR",
    "VGPRs",
    "Vega",
    "XNACK_MASK",
    "accs",
    "amdhsa",
    "op_sel",
    "op_sel_hi",
    "sgprs",
    "vcc",
    "vgpr",
    "vgprs",
];

/// Whether a word begins like this, with a digit behind it: the processor `gfx90a`, the architecture `CDNA3`.
fn is_numbered(word: &str, start: &str) -> bool {
    word.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a word is the name of a processor or of an architecture.
fn is_generation(word: &str) -> bool {
    matches!(word, "GCN" | "CDNA" | "RDNA")
        || ["gfx", "GFX", "GCN", "CDNA", "RDNA"].iter().any(|start| is_numbered(word, start))
}

/// Whether a word is a mnemonic, or the beginning of some: what begins as only mnemonics do, and each name in the tables.
/// Operations of the IR have names like `buffer_load`, so what buffer instructions begin with is no sign of them.
fn is_mnemonic(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let begins = ["v_", "s_", "ds_"].iter().any(|start| lower.starts_with(start));
    let of_gcn = || gcn::Op::ALL.iter().flat_map(|op| op.row().mnemonics()).any(|&(_, name)| name == lower);
    // Some of Cayman's, such as `NOP` and `ADD`, are words of everybody.
    let of_cayman = || word.contains('_') && cayman::Op::from_name(word).is_some();
    begins || (lower.contains('_') && of_gcn()) || of_cayman()
}

/// Whether a part of a remark in parentheses cites a manual, or goes on to cite it: `CDNA4 ISA 7.3`, `8.1.5`, `table 4`.
fn is_citation(part: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    match part.split(' ').collect::<Vec<_>>()[..] {
        [section] => is_number(section),
        ["table", table] => is_number(table),
        ["tables", first, "and", last] => is_number(first) && is_number(last),
        [manual, "ISA", section] => (manual == "Vega" || is_numbered(manual, "CDNA")) && is_number(section),
        _ => false,
    }
}

/// A line without what it has in parentheses, where that cites sections of manuals and nothing else.
fn without_citations(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('(') {
        kept.push_str(before);
        rest = match behind.split_once(')') {
            Some((remark, after)) if remark.contains(" ISA ") && remark.split(", ").all(is_citation) => after,
            _ => {
                kept.push('(');
                behind
            }
        };
    }
    kept + rest
}

/// The words of a text that say something of one instruction family.
fn family_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(without_citations) {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named = |word: &&str| OF_A_FAMILY.contains(word) || is_generation(word) || is_mnemonic(word);
        found.extend(words.filter(named).map(str::to_owned));
    }
    found
}

#[test]
fn words_of_a_family_are_seen() {
    for (text, expected) in [
        ("reads M0, or (VCC) and mode", &["M0", "VCC"] as &[&str]),
        ("the gfx950 sequence, as on GFX9; a gfx", &["gfx950", "GFX9"]),
        (
            "`v_perm_b32`, a v_fma_mix, V_MAD; s_waitcnt, S_BARRIER; ds_append",
            &["v_perm_b32", "v_fma_mix", "V_MAD", "s_waitcnt", "S_BARRIER", "ds_append"],
        ),
        ("buffer_load_dword, but `buffer_load` of the IR", &["buffer_load_dword"]),
        (
            "BUFFER_STORE_BYTE, global_load_dword, flat_atomic_add, scratch_size",
            &["BUFFER_STORE_BYTE", "global_load_dword", "flat_atomic_add"],
        ),
        ("Cayman's LDS_READ_RET", &["Cayman", "LDS_READ_RET"]),
        ("as the manual has it (Vega ISA 12.5, 7.2.1, CDNA4 ISA 8.2.1.1, tables 48 and 49).", &[]),
        ("(Vega ISA 12.5, S_BARRIER)", &["Vega", "S_BARRIER"]),
        ("Vega ISA 12.5", &["Vega"]),
        ("(of Vega ISA 12.5)", &["Vega"]),
        ("(CDNA4) and CDNA", &["CDNA4", "CDNA"]),
    ] {
        assert_eq!(family_words(text), expected, "{text}");
    }
}

#[test]
fn the_ir_and_the_machine_know_no_instruction_family() {
    let mut files = 0;
    for name in [
        "wavemill-ir",
        "wavemill-machine",
        "wavemill-interpreter",
        "wavemill-jit",
        "wavemill-reference-engine",
    ] {
        let mut paths = Vec::new();
        sources(&crates().join(name).join("src"), &mut paths);
        for file in paths {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert_eq!(family_words(&text), [""; 0], "{}", file.display());
            files += 1;
        }
    }
    assert!(files > 60, "{files} files");
}

/// What only one ABI has, or calls so, and the folders that know none.
const OF_AN_ABI: [&str; 24] = [
    "AMDGPUUsage",
    "AQL",
    "AccVgprs",
    "DescriptorBuilder",
    "DirectiveError",
    "HSA",
    "KernelDescriptor",
    "SGPRs",
    "ValueKind",
    "amdgcn_target",
    "amdgpu_metadata",
    "amdhsa_code_object_version",
    "amdhsa_kernel",
    "descriptor",
    "dispatch_ptr",
    "end_amdgpu_metadata",
    "end_amdhsa_kernel",
    "hidden",
    "kd",
    "metadata",
    "packet",
    "queue",
    "rsrc1",
    "rsrc2",
];

/// The words of a text, its unit tests left out, that say something of one ABI.
fn abi_words<'a>(text: &'a str, words: &[&str]) -> Vec<&'a str> {
    let text = without_tests(text);
    let found = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    found.filter(|word| words.contains(word)).collect()
}

#[test]
fn launches_know_no_abi() {
    assert_eq!(abi_words("the AQL packets; a queue\n#[cfg(test)]\nmod HSA", &OF_AN_ABI), ["AQL", "queue"]);
    let mut paths = Vec::new();
    sources(&crates().join("wavemill/src/launch"), &mut paths);
    assert!(paths.len() > 4, "{} files", paths.len());
    for file in paths {
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert_eq!(abi_words(&text, &OF_AN_ABI), [""; 0], "{}", file.display());
    }
}

/// In the assembler, descriptors and metadata are its subject; what they are made of is the ABI's.
#[test]
fn the_assembler_knows_no_abi() {
    let general = ["descriptor", "hidden", "metadata", "AMDGPUUsage"];
    let words: Vec<&str> = OF_AN_ABI.into_iter().filter(|word| !general.contains(word)).collect();
    let mut paths = Vec::new();
    for folder in ["assemble", "source"] {
        sources(&crates().join("wavemill-asm/src").join(folder), &mut paths);
    }
    assert!(paths.len() > 30, "{} files", paths.len());
    for file in paths {
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        assert_eq!(abi_words(&code.join("\n"), &words), [""; 0], "{}", file.display());
    }
}

/// ARCHITECTURE.md leads from an instruction to the line that rounds its result, by files and words in them.
#[test]
fn the_way_of_an_instruction_leads_somewhere() {
    let root = crates().join("..");
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the map is there");
    let heading = "\nThe same for `v_fma_mix_f32`:\n";
    let (_, section) = map.split_once(heading).expect("the map follows an instruction");
    let section = section.split("\n## ").next().unwrap_or(section);
    let mut steps = 0;
    for line in section.lines().filter(|line| line.contains("crates/")) {
        let cells: Vec<&str> = line.split('`').collect();
        let [_, file, _, word, _] = cells[..] else { panic!("expected a file and a word, found {line}") };
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.contains(word), "{file} has no `{word}`");
        steps += 1;
    }
    assert_eq!(steps, 6);
}
