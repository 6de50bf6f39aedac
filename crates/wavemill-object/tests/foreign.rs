//! Other files cause an error that identifies them and gives advice.

use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{CodeObject, Container, Limits, unlink};

use crate::support::fixture;

/// The errors for a wrong file, read as a container and as a code object.
fn answers(data: &[u8]) -> String {
    let container = FileReport::new(data, &Filter::default(), &Limits::default())
        .map(|report| report.to_string())
        .expect_err("not a file with GPU code");
    let object = CodeObject::parse(data).map(|_| ()).expect_err("not a code object");
    format!("container: {container}\nobject:    {object}")
}

#[test]
fn wrong_files() {
    let host = fixture("host-without-gpu-code.so");
    let code = fixture("gfx906-v4.co");
    let patched = |at: usize, bytes: &[u8]| {
        let mut data = code.clone();
        data[at..at + bytes.len()].copy_from_slice(bytes);
        data
    };
    let files: [(&str, Vec<u8>); 18] = [
        ("empty", Vec::new()),
        ("x86-64 library", host.clone()),
        ("x86-64 library, first bytes", host[..18].to_vec()),
        ("32-bit ELF", patched(4, &[1])),
        ("big-endian ELF", patched(5, &[2])),
        ("graphics driver", patched(7, &[65])),
        ("no platform", patched(7, &[0])),
        ("future version", patched(8, &[9])),
        ("AArch64", patched(18, &[183, 0])),
        ("CUDA", patched(18, &[190, 0])),
        ("bitcode", b"BC\xc0\xde\x35\x14\x00\x00".to_vec()),
        ("SPIR-V", b"\x03\x02\x23\x07\0\0\x01\0".to_vec()),
        ("Windows executable", b"MZ\x90\0\x03\0\0\0".to_vec()),
        ("archive", b"!<arch>\n/               0".to_vec()),
        ("wheel", b"PK\x03\x04\x14\0\0\0".to_vec()),
        ("assembly", b"\ts_endpgm\n".to_vec()),
        ("unknown", vec![1, 2, 3, 4, 5]),
        ("first bytes of a code object", code[..40].to_vec()),
    ];
    let text: Vec<_> = files.iter().map(|(name, data)| format!("== {name}\n{}", answers(data))).collect();
    insta::assert_snapshot!(text.join("\n\n"));
}

/// A file that ends inside its tables was cut short, whoever reads it.
#[test]
fn cut_files() {
    for name in ["gfx906-v2.co", "gfx906-v4.co", "gfx942-v5.co"] {
        let data = fixture(name);
        // The section headers are the last part of the file.
        for length in [64, 65, 200, 300, data.len() / 2, data.len() - 1] {
            let cut = &data[..length];
            let table = if length < 64 + 56 { "program" } else { "" };
            for error in [
                CodeObject::parse(cut).map(|_| ()).unwrap_err().to_string(),
                unlink(cut).map(|_| ()).unwrap_err().to_string(),
            ] {
                assert!(error.starts_with(&format!("truncated: the {table}")), "{name}, {length}: {error}");
                assert!(error.ends_with("the file is incomplete or damaged"), "{name}, {length}: {error}");
            }
        }
    }
}

#[test]
fn a_bundle_is_not_a_code_object() {
    for name in ["plain.bundle", "compressed-v2.bundle"] {
        let data = fixture(name);
        let error = CodeObject::parse(&data).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("offload bundle; read one of its entries"), "{error}");
        assert!(Container::parse(&data).is_ok());
    }
}
