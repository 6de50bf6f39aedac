//! Finds kernels in files with many code objects, and reads no more than necessary.

use wavemill_object::{CodeObject, Container, Error, Limits, TargetId, may_define};

use crate::support::{CODE_OBJECTS, fixture};

/// Replaces all occurrences of a text with one of the same length.
fn replaced(mut data: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> = (0..=data.len() - old.len()).filter(|at| data[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    for at in places {
        data[at..at + new.len()].copy_from_slice(new);
    }
    data
}

/// Damages the metadata, so that the code object cannot be read.
fn spoiled(data: Vec<u8>) -> Vec<u8> {
    let data = replaced(data, b"AMDGPU\0\0\x83", b"AMDGPU\0\0\xc1");
    assert!(CodeObject::parse(&data).is_err());
    data
}

/// A plain bundle with one entry.
fn bundle(target: &str, object: &[u8]) -> Vec<u8> {
    let id = format!("hipv4-amdgcn-amd-amdhsa--{target}");
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for number in [1, 4096, object.len() as u64, id.len() as u64] {
        out.extend(number.to_le_bytes());
    }
    out.extend(id.as_bytes());
    out.resize(4096, 0);
    out.extend(object);
    out
}

#[test]
fn only_the_code_object_with_the_kernel_is_read() {
    let good = fixture("gfx906-v4.co");
    let other = |name: &[u8; 9]| spoiled(replaced(good.clone(), b"scale_add", name));
    let file = [
        bundle("gfx906", &other(b"scale_one")),
        bundle("gfx90a", &spoiled(good.clone())),
        bundle("gfx906", &good),
        bundle("gfx906", &other(b"scale_two")),
        bundle("gfx906", &spoiled(good.clone())),
    ]
    .concat();
    let container = Container::parse(&file).unwrap();
    assert_eq!(container.bundles().len(), 5);
    let limits = Limits::default();
    let device: TargetId = "gfx906".parse().unwrap();
    for name in ["scale_add", "scale_add.kd"] {
        let found = container.find_kernel(&device, name, &limits).unwrap().unwrap();
        assert_eq!((found.selected.bundle, found.kernel.as_str()), (2, "scale_add"));
        assert_eq!(found.bytes, good);
        // The result borrows from the file.
        assert!(file.as_ptr_range().contains(&found.bytes.as_ptr()));
    }
    assert_eq!(container.find_kernel(&device, "scale_three", &limits).unwrap(), None);
    // A code object that may have the kernel is read, and its error is reported.
    for name in ["scale_one", "scale_two"] {
        let error = container.find_kernel(&device, name, &limits).unwrap_err();
        assert!(error.to_string().contains("metadata"), "{error}");
    }
    let gfx942: TargetId = "gfx942".parse().unwrap();
    let error = container.find_kernel(&gfx942, "scale_add", &limits).unwrap_err();
    assert!(matches!(error, Error::NoMatch { .. }), "{error}");
}

/// A name that omits parts is looked up in all code objects that can have it, and nowhere else.
#[test]
fn names_of_the_source_are_found_among_all_code_objects() {
    let good = fixture("gfx906-v4.co");
    let named = |symbol: &[u8; 9]| replaced(good.clone(), b"scale_add", symbol);
    // fill(int), fill(unsigned int), and one that cannot be read.
    let objects =
        [named(b"_Z4fillPi"), named(b"_Z4fillPj"), spoiled(named(b"something")), named(b"_Z4fillPi")];
    let file = objects.iter().map(|object| bundle("gfx906", object)).collect::<Vec<_>>().concat();
    let container = Container::parse(&file).unwrap();
    let limits = Limits::default();
    let device: TargetId = "gfx906".parse().unwrap();
    for (name, index, symbol) in
        [("fill(int *)", 0, "_Z4fillPi"), ("fill(unsigned*)", 1, "_Z4fillPj"), ("_Z4fillPj", 1, "_Z4fillPj")]
    {
        let found = container.find_kernel(&device, name, &limits).unwrap().unwrap();
        assert_eq!((found.selected.bundle, found.kernel.as_str()), (index, symbol), "{name}");
        assert_eq!(found.bytes, objects[index], "{name}");
    }
    let error = container.find_kernel(&device, "fill", &limits).unwrap_err();
    let wanted =
        "`fill` matches `fill(int*)` or `fill(unsigned int*)`; add scopes, template arguments or parameters";
    assert_eq!(error.to_string(), wanted);
    assert_eq!(container.find_kernel(&device, "fill(float*)", &limits).unwrap(), None);
}

#[test]
fn kernels_are_found_in_compressed_bundles() {
    let data = fixture("host-library.so");
    let container = Container::parse(&data).unwrap();
    let limits = Limits::default();
    let device: TargetId = "gfx90a:xnack-".parse().unwrap();
    let found = container.find_kernel(&device, "block_sum", &limits).unwrap().unwrap();
    assert_eq!((found.selected.bundle, found.kernel.as_str()), (0, "block_sum"));
    let object = CodeObject::parse(&found.bytes).unwrap();
    assert!(object.kernel("block_sum").is_some());
    // A function that is not a kernel is not found.
    assert_eq!(container.find_kernel(&device, "weights", &limits).unwrap(), None);
}

#[test]
fn string_tables_tell_what_code_objects_have() {
    for name in CODE_OBJECTS {
        let data = fixture(name);
        let object = CodeObject::parse(&data).unwrap();
        assert!(!object.symbols().is_empty());
        for symbol in object.symbols() {
            assert!(may_define(&data, &symbol.name), "{name}: {}", symbol.name);
        }
        assert!(!may_define(&data, "no_such_kernel"), "{name}");
        assert!(!may_define(&data, "void ns::no_such_kernel<int>(float*)"), "{name}");
    }
    // If the string table cannot decide, the answer is yes.
    for data in [&b""[..], b"\x7fELF", &fixture("gfx906-v4.co")[..5000]] {
        assert!(may_define(data, "no_such_kernel"));
    }
}
