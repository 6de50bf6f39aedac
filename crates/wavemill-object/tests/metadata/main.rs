//! Compares metadata as text and as MessagePack with the output of `llvm-mc`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use object::{Object as _, ObjectSection as _};
use wavemill_object::{assemble_metadata, disassemble_metadata};
use wavemill_oracle::{Failed, Suite, Tool};

const READELF: Tool = Tool::Program("llvm-readelf-22");

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("messages", messages);
    suite.test("hostile texts", hostile);
    suite.oracle_test("scalars", &[Tool::LlvmMc], scalars);
    suite.oracle_test("verdicts on every key", &[Tool::LlvmMc], verdicts);
    suite.oracle_test("constructs", &[Tool::LlvmMc], constructs);
    suite.oracle_test("the kernels' metadata", &[Tool::LlvmMc, READELF], kernels);
    suite.run()
}

/// The MessagePack that `llvm-mc` makes from a text; `None` if it rejects the text.
fn llvm(yaml: &str) -> Result<Option<Vec<u8>>, Failed> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("wavemill-metadata-{}-{number}", std::process::id()));
    let object = file.with_extension("o");
    let text = format!(".amdgpu_metadata\n{yaml}\n.end_amdgpu_metadata\n");
    std::fs::write(&file, text)?;
    let output = Command::new(Tool::LlvmMc.path()?)
        .args(["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj"])
        .arg(&file)
        .arg("-o")
        .arg(&object)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !said.contains("expected directive .end_amdgpu_metadata not found"),
        "no verdict on YAML: {yaml}"
    );
    let result = match output.status.success() {
        false => None,
        true => {
            let data = std::fs::read(&object)?;
            let read = object::File::parse(&*data)?;
            let note = read.section_by_name(".note").ok_or("no note")?.data()?.to_vec();
            let size = u32::from_le_bytes(note[4..8].try_into()?) as usize;
            Some(note[20..20 + size].to_vec())
        }
    };
    // Leftover files do no harm.
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&object));
    Ok(result)
}

/// A valid document with one more entry at the top level.
fn with(entry: &str) -> String {
    format!("amdhsa.version: [ 1, 2 ]\namdhsa.kernels: []\n{entry}")
}

/// Both produce the same MessagePack from a text, and it can be turned into text and back.
fn same(yaml: &str) -> Result<bool, Failed> {
    let theirs = llvm(yaml)?;
    match (assemble_metadata(yaml), &theirs) {
        (Ok(ours), Some(theirs)) => {
            assert_eq!(&ours, theirs, "{yaml}");
            let text = disassemble_metadata(&ours).ok_or_else(|| format!("no text for {yaml}"))?;
            assert_eq!(llvm(&text)?.as_ref(), Some(theirs), "{yaml} printed as {text}");
        }
        (Err(_), None) => {}
        (ours, theirs) => return Err(format!("{yaml}\nours: {ours:?}\ntheirs: {theirs:?}").into()),
    }
    Ok(theirs.is_some())
}

/// Texts that are numbers, booleans or neither, plain, quoted and tagged.
fn scalars() -> Result<(), Failed> {
    let texts = [
        "0",
        "1",
        "-1",
        "127",
        "128",
        "255",
        "256",
        "65535",
        "65536",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-31",
        "-32",
        "-33",
        "-128",
        "-129",
        "-32768",
        "-32769",
        "-2147483648",
        "-2147483649",
        "-9223372036854775808",
        "-9223372036854775809",
        "-0",
        "00",
        "+5",
        "+-5",
        "0x",
        "0x10",
        "0X1f",
        "-0x10",
        "0xg",
        "0b11",
        "0B1",
        "0b2",
        "0o17",
        "0O7",
        "010",
        "-010",
        "08",
        "09.5",
        "1_000",
        "true",
        "yEs",
        "YES",
        "oN",
        "On",
        "tRUE",
        "Y",
        "fALSE",
        "False",
        "nO",
        "OFF",
        "é",
        "false",
        "True",
        "TRUE",
        "yes",
        "no",
        "y",
        "n",
        "on",
        "off",
        "null",
        "~",
        "Null",
        "1.5",
        "1.1",
        ".5",
        "5.",
        ".",
        "1e3",
        "1E3",
        "1e",
        "1e+3",
        "1e-3",
        "1e999",
        "-1e999",
        "1e-320",
        "4.9e-324",
        "3.5e38",
        "1e-38",
        "1.17549435e-38",
        "1.1754943e-38",
        "3.4028235e38",
        "inf",
        "-inf",
        "+inf",
        "INF",
        "infinity",
        "Infinity",
        "nan",
        "NaN",
        "-nan",
        ".inf",
        ".nan",
        "0x1p3",
        "0x1.8",
        "0x1.8p-1",
        "0x.8p1",
        "-0x1p-1074",
        "0x1p",
        "0xffffffffffffffffff",
        "text",
        "two words",
        "a.b",
        "a-b",
        "-a",
        "_Z3fooPKc",
        "k.kd",
        "gfx90a:xnack-",
        "a/b",
        "1:1:4:%d\\\\n",
        "2024-01-01",
    ];
    let mut entries = Vec::new();
    for text in texts {
        // Not in single quotes: `llvm-mc` treats some of these as its own syntax before it reads
        // YAML.
        for form in [
            "{}",
            "\"{}\"",
            "!str {}",
            "!str \"{}\"",
            "!!str {}",
            "!!int {}",
            "!int {}",
            "!bool {}",
            "!float {}",
        ] {
            entries.push(form.replace("{}", text));
        }
    }
    let empty = ["\"\"", "\" 1\"", "\"1 \"", "\" \"", "!str \"\"", "\"\\t2\"", "!nil x", "!foo 1", "! 1", ""];
    entries.extend(empty.map(str::to_owned));
    // Accepted entries share one document; rejected ones have one document each.
    let (taken, refused): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| assemble_metadata(&with(&format!("a: {entry}"))).is_ok());
    assert!(taken.len() > 500 && refused.len() > 100, "{} {}", taken.len(), refused.len());
    let lines: Vec<_> =
        taken.iter().enumerate().map(|(index, entry)| format!("a{index:04}: {entry}\n")).collect();
    let all = with(&lines.concat());
    if llvm(&all)? != assemble_metadata(&all).ok() {
        // Find the entry that differs.
        for entry in &taken {
            same(&with(&format!("a: {entry}")))?;
        }
    }
    assert!(same(&all)?);
    // Each needs its own run, so test only some.
    for entry in refused.iter() {
        assert!(!same(&with(&format!("a: {entry}")))?, "{entry}");
    }
    Ok(())
}

/// Keys with their values.
type Entries = Vec<(&'static str, &'static str)>;

/// A kernel and an argument that have every key.
fn full() -> (Entries, Entries) {
    let kernel = vec![
        (".name", "k"),
        (".symbol", "k.kd"),
        (".language", "OpenCL C"),
        (".language_version", "[ 2, 0 ]"),
        (".reqd_workgroup_size", "[ 1, 2, 3 ]"),
        (".workgroup_size_hint", "[ 1, 2, 3 ]"),
        (".vec_type_hint", "int"),
        (".device_enqueue_symbol", "e"),
        (".kernarg_segment_size", "8"),
        (".group_segment_fixed_size", "0"),
        (".private_segment_fixed_size", "0"),
        (".uses_dynamic_stack", "false"),
        (".workgroup_processor_mode", "1"),
        (".kernarg_segment_align", "8"),
        (".wavefront_size", "64"),
        (".sgpr_count", "4"),
        (".vgpr_count", "4"),
        (".agpr_count", "0"),
        (".max_flat_workgroup_size", "256"),
        (".sgpr_spill_count", "0"),
        (".vgpr_spill_count", "0"),
        (".uniform_work_group_size", "1"),
        (".kind", "init"),
        (".cluster_dims", "[ 1, 1, 1 ]"),
        (".own", "[ { a: 1 } ]"),
    ];
    let argument = vec![
        (".name", "a"),
        (".type_name", "'float*'"),
        (".size", "8"),
        (".offset", "0"),
        (".value_kind", "global_buffer"),
        (".value_type", "f32"),
        (".pointee_align", "4"),
        (".address_space", "global"),
        (".access", "read_only"),
        (".actual_access", "read_write"),
        (".is_const", "true"),
        (".is_restrict", "false"),
        (".is_volatile", "true"),
        (".is_pipe", "false"),
        (".own", "x"),
    ];
    (kernel, argument)
}

fn document(kernel: &[(&str, &str)], argument: &[(&str, &str)]) -> String {
    let mut out = String::from(
        "amdhsa.version: [ 1, 2 ]\namdhsa.printf: [ '1:1:4:%d' ]\namdhsa.kernels:\n  - own: 1\n",
    );
    for (key, value) in kernel {
        out += &format!("    {key}: {value}\n");
    }
    out += "    .args:\n      - own: 1\n";
    for (key, value) in argument {
        out += &format!("        {key}: {value}\n");
    }
    out
}

/// Every key omitted, and with values of every type.
fn verdicts() -> Result<(), Failed> {
    const VALUES: [&str; 16] = [
        "7",
        "-7",
        "'7'",
        "!str 7",
        "true",
        "!str true",
        "1.5",
        "word",
        "[]",
        "[ 1 ]",
        "[ 1, 2 ]",
        "[ !str 1, 2, 3 ]",
        "[ 1, 2, a ]",
        "{ a: 1 }",
        "HIP",
        "hidden_none",
    ];
    let (kernel, argument) = full();
    assert!(same(&document(&kernel, &argument))?);
    let (mut taken, mut refused) = (0, 0);
    let mut ask = |kernel: &[(&str, &str)], argument: &[(&str, &str)]| -> Result<(), Failed> {
        if same(&document(kernel, argument))? {
            taken += 1
        } else {
            refused += 1
        }
        Ok(())
    };
    for index in 0..kernel.len() {
        let mut changed = kernel.clone();
        changed.remove(index);
        ask(&changed, &argument)?;
        for value in VALUES {
            changed = kernel.clone();
            changed[index].1 = value;
            ask(&changed, &argument)?;
        }
    }
    for index in 0..argument.len() {
        let mut changed = argument.clone();
        changed.remove(index);
        ask(&kernel, &changed)?;
        for value in VALUES {
            changed = argument.clone();
            changed[index].1 = value;
            ask(&kernel, &changed)?;
        }
    }
    for (key, values) in [
        (".value_kind", &["by_value", "pipe", "hidden_queue_ptr", "hidden_heap_v1", "hidden_tea"][..]),
        (".address_space", &["private", "constant", "local", "generic", "region", "shared"]),
        (".access", &["write_only", "default"]),
    ] {
        let index = argument.iter().position(|(other, _)| *other == key).ok_or("a key")?;
        for value in values {
            let mut changed = argument.clone();
            changed[index].1 = value;
            ask(&kernel, &changed)?;
        }
    }
    assert!(taken > 200 && refused > 200, "{taken} {refused}");
    Ok(())
}

/// The grammar, to the extent that people use it.
fn constructs() -> Result<(), Failed> {
    let texts = [
        with("a: >\n  folded\n  text\n\n  more\nb: |-\n  x\nc: |\n  y\n"),
        with("a: plain\n  continued\n"),
        with("a: \"esc \\t \\n \\x41 \\u00e9 \\\" \\\\ \\e \\0\"\nb: 'it''s'\nc: é\n"),
        with("a: {b: 1, c: [1,2], d: {}}\ne: [ [ 1, 2 ], [ 3 ], [] ]\n"),
        with("a:\n  - - 1\n    - 2\n  - b: 1\n    c:\n    - 1\n    - 2\n"),
        with("# comment\na: 1 # x\nb: \"#\"\nc: a#b\n"),
        with("a: [1,\n 2]\n"),
        with("a:\nb: 1\n"),
        with("zz: 1\nZ: 2\n_: 3\n.a: 4\na b: 5\n'quoted key': 6\n"),
        with("a: 1\na: 2\n"),
        with("a: &x 1\nb: *x\n"),
        with("a: &x 1\n"),
        with(&format!("a: {}\nb: {}\nc: {}\n", "x".repeat(31), "x".repeat(32), "x".repeat(255))),
        with(&format!("a: {}\nb: {}\n", "x".repeat(256), "x".repeat(70000))),
        with(&format!("a: [{}]\n", "1, ".repeat(15) + "1")),
        with(&format!("a: [{}]\n", "1, ".repeat(70000) + "1")),
        format!("---\n{}\n...\n", with("a: 1")),
        format!("{}\n---\nb: 1\n", with("a: 1")),
        String::new(),
        "text".to_owned(),
        "- 1\n- 2\n".to_owned(),
        "amdhsa.version: [ 1, 2 ]\n".to_owned(),
        "amdhsa.kernels: []\n".to_owned(),
        "amdhsa.version: 1\namdhsa.kernels: []\n".to_owned(),
        "amdhsa.version: [ 1 ]\namdhsa.kernels: []\n".to_owned(),
        "amdhsa.version: [ 1, x ]\namdhsa.kernels: []\n".to_owned(),
        "amdhsa.version: [ 1, !str 2 ]\namdhsa.kernels:\n".to_owned(),
        "amdhsa.version: [ 1, 2 ]\namdhsa.kernels: {}\n".to_owned(),
        "amdhsa.version: [ 1, 2 ]\namdhsa.kernels: [ 1 ]\n".to_owned(),
        with("amdhsa.printf: [ 1 ]\n"),
        with("amdhsa.printf: [ a, 'b: c' ]\n"),
        with("amdhsa.printf: x\n"),
        with("amdhsa.target: 1\n"),
    ];
    let mut taken = 0;
    for text in texts {
        taken += usize::from(same(&text)?);
    }
    assert!(taken > 15, "{taken}");
    Ok(())
}

fn code_objects() -> Result<Vec<PathBuf>, Failed> {
    let mut out = Vec::new();
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "co") => out.push(path),
                false => {}
            }
        }
    }
    out.sort();
    Ok(out)
}

fn note(data: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
    let read = object::File::parse(data)?;
    let Some(section) = read.section_by_name(".note") else { return Ok(None) };
    let note = section.data()?;
    let size = u32::from_le_bytes(note[4..8].try_into()?) as usize;
    Ok(Some(note[20..20 + size].to_vec()))
}

/// The notes of all committed code objects, to text and back. LLVM also assembles every distinct
/// text once and prints it.
fn kernels() -> Result<(), Failed> {
    let mut seen = BTreeMap::new();
    let mut count = 0;
    for path in code_objects()? {
        let data = std::fs::read(&path)?;
        let Some(bytes) = note(&data)? else { continue };
        let text = disassemble_metadata(&bytes).ok_or_else(|| format!("no text for {}", path.display()))?;
        assert_eq!(assemble_metadata(&text), Ok(bytes.clone()), "{}", path.display());
        count += 1;
        // The name of the source almost always distinguishes objects with different metadata.
        let name = path.file_name().unwrap_or_default().to_owned();
        if seen.insert((name, text.len()), ()).is_none() {
            assert_eq!(llvm(&text)?, Some(bytes), "{}", path.display());
            let output = Command::new(READELF.path()?).arg("--notes").arg(&path).output()?;
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let start = printed.find("---\n").ok_or("no text")?;
            let end = printed[start..].find("\n...\n").ok_or("no end")? + start + 5;
            assert_eq!(text, printed[start..end], "{}", path.display());
        }
    }
    assert!(count > 300 && seen.len() > 80, "{count} {}", seen.len());
    Ok(())
}

fn messages() -> Result<(), Failed> {
    let (kernel, argument) = full();
    let changed = |list: &[(&'static str, &'static str)], key: &str, value: Option<&'static str>| {
        list.iter()
            .filter(|(other, _)| *other != key || value.is_some())
            .map(|&(other, old)| (other, if other == key { value.unwrap_or(old) } else { old }))
            .collect::<Vec<_>>()
    };
    let texts = [
        String::new(),
        "amdhsa.version: [ 1, 2 ]".to_owned(),
        "word".to_owned(),
        with("a: [ 1"),
        with("a: 'open"),
        with("\tb: 1"),
        with("a: 1\na: 2"),
        with("a: *x"),
        with("[ 1 ]: 2"),
        with("7: x"),
        with("a: !int x"),
        with("a: {b: [ {1: x} ]}"),
        document(&changed(&kernel, ".sgpr_count", None), &argument),
        document(&changed(&kernel, ".name", None), &argument),
        document(&changed(&kernel, ".name", Some("7")), &argument),
        document(&changed(&kernel, ".vgpr_count", Some("many")), &argument),
        document(&changed(&kernel, ".language", Some("Rust")), &argument),
        document(&changed(&kernel, ".reqd_workgroup_size", Some("[ 1, 2 ]")), &argument),
        document(&kernel, &changed(&argument, ".value_kind", Some("global_bufer"))),
        document(&kernel, &changed(&argument, ".is_const", Some("yes"))),
        document(&kernel, &changed(&argument, ".size", None)),
        format!("{}a: x", "- ".repeat(40)),
    ];
    let mut out = String::new();
    for text in texts {
        let error = assemble_metadata(&text).err().ok_or_else(|| format!("{text} is taken"))?;
        out += &format!("{error}\n");
    }
    insta::assert_snapshot!(out);
    Ok(())
}

/// No text and no bytes cause a panic.
fn hostile() -> Result<(), Failed> {
    let (kernel, argument) = full();
    let text = document(&kernel, &argument);
    let mut random = wavemill_oracle::SplitMix64::new(0x9a11);
    let pieces = [
        "\n", " ", "- ", ": ", "{", "}", "[", "]", "'", "\"", "!", "&a ", "*a ", "|\n", ">\n", "#", "? ",
        "\t", "é", "\0", "%", "0x",
    ];
    let mut taken = 0;
    for _ in 0..20_000 {
        let mut changed = text.clone();
        for _ in 0..1 + random.next_u64() % 4 {
            let at = random.next_u64() as usize % changed.len().max(1);
            let at = (0..=at).rev().find(|&at| changed.is_char_boundary(at)).unwrap_or(0);
            match random.next_u64() % 3 {
                0 => changed.insert_str(at, pieces[random.next_u64() as usize % pieces.len()]),
                1 if at < changed.len() => drop(changed.remove(at)),
                _ => changed.truncate(at.max(1)),
            }
        }
        taken += usize::from(assemble_metadata(&changed).is_ok());
    }
    assert!(taken > 100, "{taken}");
    let bytes = assemble_metadata(&text)?;
    for at in 0..bytes.len() {
        for value in [0, 0x7f, 0x80, 0xc0, 0xc1, 0xca, 0xdc, 0xdf, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if let Some(text) = disassemble_metadata(&changed) {
                assert_eq!(assemble_metadata(&text)?, changed);
            }
        }
    }
    Ok(())
}
