//! No bytes make the reader panic, loop or allocate without bound.

use proptest::prelude::*;
use wavemill_object::container::ContainerKind;
use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{CodeObject, Container, Limits, is_relocatable, loadable, may_define};

mod memory;

use crate::support::{CODE_OBJECTS, RELOCATABLE, fixture, random_cases};

/// Small limits, so that a test with unbounded expansion fails.
const LIMITS: Limits = Limits {
    max_decompressed: 1 << 20,
    max_expansion: 128,
    max_decompressed_in_all: 1 << 24,
    max_image: 1 << 20,
};

/// Uses every function of the crate on a file.
fn exercise(data: &[u8]) -> bool {
    if let Ok(linked) = loadable(data, &LIMITS)
        && let Ok(object) = CodeObject::parse(&linked)
    {
        if let Ok(mut image) = object.image(&LIMITS) {
            let _ = image.relocate(0x7000_0000_0000, object.relocations(), |_| Some(0x1234));
        }
        for symbol in object.symbols() {
            let _ = object.read(symbol.address, symbol.size);
        }
    }
    let device = "gfx906".parse().expect("a target");
    let _ = may_define(data, "scale_add");
    let report = FileReport::new(data, &Filter::default(), &LIMITS);
    if let Ok(container) = Container::parse(data) {
        if *container.kind() != ContainerKind::CodeObject {
            let _ = container.find_kernel(&device, "scale_add", &LIMITS);
        }
        for bundle in container.bundles() {
            for entry in bundle.entries(&LIMITS).unwrap_or_default() {
                let _ = bundle.read(&entry, &LIMITS);
            }
        }
    }
    match report {
        Ok(report) => !report.to_string().is_empty(),
        Err(error) => !error.to_string().is_empty(),
    }
}

/// Every file, truncated at every length.
#[test]
fn truncation_at_every_length() {
    let objects = ["gfx906-v2.co", "gfx942-v5.co", "gfx942-relocatable.o"];
    for name in objects.into_iter().chain(["plain.bundle", "compressed-v2.bundle", "host-library.so"]) {
        let data = fixture(name);
        // The headers matter most; a stride is enough for the rest.
        let lengths = (0..data.len().min(1500)).chain((1500..data.len()).step_by(37));
        for length in lengths {
            assert!(exercise(&data[..length]), "{name} cut to {length} bytes");
        }
    }
}

/// Many program headers that all point to the same large table.
#[test]
fn tables_on_top_of_one_another() {
    const NOTE: [u8; 16] = [4, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, b'X', b'Y', b'Z', 0];
    let headers: u16 = 5000;
    let mut data = fixture("gfx942-v5.co");
    let load = data[64 + 56..64 + 112].to_vec();
    let at = data.len() as u64;
    data[32..40].copy_from_slice(&at.to_le_bytes());
    data[56..58].copy_from_slice(&headers.to_le_bytes());
    data.extend(load);
    let notes_at = at + u64::from(headers) * 56;
    let notes: Vec<u8> = NOTE.repeat(10_000);
    for _ in 1..headers {
        data.extend(4u32.to_le_bytes());
        data.extend(4u32.to_le_bytes());
        data.extend(notes_at.to_le_bytes());
        data.extend([0; 16]);
        data.extend((notes.len() as u64).to_le_bytes());
        data.extend([0; 16]);
    }
    data.extend(notes);
    let error = CodeObject::parse(&data).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("there are more of them than the file has bytes"), "{error}");
}

/// A string table without a terminator; every symbol points into it.
#[test]
fn names_without_an_end() {
    let mut data = fixture("gfx942-v5.co");
    let sections = u64::from_le_bytes(data[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(data[60..62].try_into().unwrap()));
    let at = data.len() as u64;
    for section in 0..count {
        let header = sections + section * 64;
        // SHT_STRTAB
        if data[header + 4..header + 8] == 3u32.to_le_bytes() {
            data[header + 24..header + 32].copy_from_slice(&at.to_le_bytes());
            data[header + 32..header + 40].copy_from_slice(&(1u64 << 20).to_le_bytes());
        }
    }
    data.resize(data.len() + (1 << 20) - 1, 0xff);
    data.push(0);
    let error = CodeObject::parse(&data).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("exceeds the limit of 65536 bytes"), "{error}");
}

/// Every byte of the headers and of the metadata, set to edge values.
#[test]
fn every_byte_changed() {
    for name in ["gfx906-v2.co", "gfx90a-v4.co", "gfx950-llc.o", "compressed-v3.bundle"] {
        let mut data = fixture(name);
        // The tables of relocatable files are at the end.
        let places: Vec<usize> = match is_relocatable(&data) {
            true => (0..64).chain(data.len() - 2048..data.len()).collect(),
            false => (0..data.len().min(4096)).collect(),
        };
        for at in places {
            let old = data[at];
            for new in [0, 0xff, 0x80, old ^ 1] {
                data[at] = new;
                assert!(exercise(&data), "{name} with {new:#x} at {at:#x}");
            }
            data[at] = old;
        }
    }
}

fn any_fixture() -> impl Strategy<Value = Vec<u8>> {
    let more = ["plain.bundle", "compressed-v2.bundle", "compressed-v3.bundle", "host-library.so"];
    let names: Vec<_> = CODE_OBJECTS.into_iter().chain(RELOCATABLE).chain(more).collect();
    proptest::sample::select(names).prop_map(fixture)
}

proptest! {
    #![proptest_config(random_cases(512))]

    /// Words overwritten with numbers that tend to overflow sums.
    #[test]
    fn words_overwritten(
        mut data in any_fixture(),
        changes in proptest::collection::vec(
            (any::<proptest::sample::Index>(), prop_oneof![
                Just(u64::MAX), Just(0), Just(1 << 63), Just(u64::from(u32::MAX)), 0..0x1_0000_u64, any::<u64>(),
            ], 1..=8_usize),
            1..12,
        ),
    ) {
        for (index, value, width) in changes {
            // The first bytes matter more than the rest, and so do the last ones of relocatable files.
            let (start, end) = match (value & 2 == 0, is_relocatable(&data)) {
                (true, false) => (0, data.len().min(600)),
                (true, true) => (data.len().saturating_sub(3000), data.len()),
                (false, _) => (0, data.len()),
            };
            let at = start + index.index(end - start - 8);
            data[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        prop_assert!(exercise(&data));
    }

    /// Bytes removed, so that everything after them is at the wrong offset.
    #[test]
    fn a_piece_missing(data in any_fixture(), from in any::<proptest::sample::Index>(), length in 1..200_usize) {
        let from = from.index(data.len());
        let to = (from + length).min(data.len());
        let rest: Vec<_> = data[..from].iter().chain(&data[to..]).copied().collect();
        prop_assert!(exercise(&rest));
    }

    /// Arbitrary bytes after each of the recognised magics.
    #[test]
    fn any_bytes(
        magic in proptest::sample::select(vec![
            &b""[..], b"\x7fELF", b"\x7fELF\x02\x01\x01\x40\x03\0\0\0\0\0\0\0\x03\0\xe0\0", b"CCOB\x02\0\x01\0",
            b"CCOB\x03\0\x00\0", b"CCOB\x01\0\x01\0", b"__CLANG_OFFLOAD_BUNDLE__\x02\0\0\0\0\0\0\0", b"MZ",
        ]),
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        prop_assert!(exercise(&[magic, &rest].concat()));
    }
}

proptest! {
    #![proptest_config(random_cases(20_000))]

    /// Names that look mangled.
    #[test]
    fn names(name in "_(Z|R)[NSTEILZXKPRvifjdCDaboltGAFMQUWgsnpc0-9_]{0,80}(\\.kd)?") {
        prop_assert!(wavemill_object::demangle(&name).is_none_or(|text| text.len() <= 1 << 16));
    }
}
