//! Offload bundles, plain and compressed, alone and inside host files.

use std::io::Write;

use wavemill_object::container::{BundleFormat, Compression, ContainerKind, EntryId, OffloadKind};
use wavemill_object::report::{FileReport, Filter};
use wavemill_object::{CodeObject, Container, Error, Limits, TargetId};

use crate::support::fixture;

fn target(text: &str) -> TargetId {
    text.parse().unwrap()
}

/// Every container of the same code objects gives the same bytes.
#[test]
fn all_containers_hold_the_same() {
    let limits = Limits::default();
    let plain = fixture("plain.bundle");
    let plain = Container::parse(&plain).unwrap();
    assert_eq!(*plain.kind(), ContainerKind::Bundle);
    let expected = plain.bundles()[0].open(&limits).unwrap();
    let ids: Vec<_> = expected.entries().iter().map(|entry| entry.id.text.as_str()).collect();
    assert_eq!(
        ids,
        [
            "host-x86_64-unknown-linux-unknown-",
            "hipv4-amdgcn-amd-amdhsa--gfx906",
            "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
        ]
    );
    assert_eq!(expected.entries()[0].id.kind, OffloadKind::Host);
    for (name, count) in [("compressed-v2.bundle", 1), ("compressed-v3.bundle", 1), ("host-library.so", 2)] {
        let data = fixture(name);
        let container = Container::parse(&data).unwrap();
        assert_eq!(container.bundles().len(), count, "{name}");
        for bundle in container.bundles() {
            let BundleFormat::Compressed(header) = bundle.format() else {
                panic!("{name} is not compressed")
            };
            assert_eq!(header.method, Compression::Zstd);
            assert_eq!(header.file_size, Some(bundle.size()));
            let open = bundle.open(&limits).unwrap();
            assert_eq!(open.entries(), expected.entries(), "{name}");
            assert_eq!(bundle.entries(&limits).unwrap(), expected.entries(), "{name}");
            for entry in expected.entries() {
                let bytes = expected.read(entry).unwrap();
                assert_eq!(open.read(entry).unwrap(), bytes, "{name}");
                assert_eq!(bundle.read(entry, &limits).unwrap(), bytes, "{name}");
            }
        }
    }
}

#[test]
fn bundles_of_a_host_library_follow_one_another() {
    let data = fixture("host-library.so");
    let container = Container::parse(&data).unwrap();
    assert!(
        matches!(container.kind(), ContainerKind::Host { description } if description.contains("x86-64"))
    );
    let [first, second] = container.bundles() else { panic!("two bundles") };
    assert_eq!(first.section(), Some(".hip_fatbin"));
    let versions = [first, second].map(|bundle| match bundle.format() {
        BundleFormat::Compressed(header) => header.version,
        _ => 0,
    });
    assert_eq!(versions, [2, 3]);
    assert!(second.offset() >= first.offset() + first.size());
    assert!(data[first.offset() as usize..].starts_with(b"CCOB"));
}

/// Without the section's name, bundles and bare embedded code objects are found by their contents.
#[test]
fn a_search_finds_what_no_section_names() {
    let mut data = fixture("host-library.so");
    let at = data.windows(11).position(|window| window == b".hip_fatbin").unwrap();
    data[at..at + 11].copy_from_slice(b".other_name");
    assert_eq!(Container::parse(&data).unwrap().bundles().len(), 2);

    let mut data = b"MZ".to_vec();
    data.resize(512, 0);
    data.extend(fixture("plain.bundle"));
    data.extend(fixture("compressed-v3.bundle"));
    let container = Container::parse(&data).unwrap();
    let offsets: Vec<_> = container.bundles().iter().map(|bundle| bundle.offset()).collect();
    assert_eq!(offsets, [512, 512 + fixture("plain.bundle").len() as u64]);

    let mut data = fixture("host-without-gpu-code.so");
    let host = data.len() as u64;
    let code = fixture("gfx950-v6.co");
    // Data that only looks like the beginning of a bundle does not count.
    data.extend(b"CCOB is not a bundle, nor is __CLANG_OFFLOAD_BUNDLE__");
    let start = data.len() as u64;
    data.extend(&code);
    data.extend([7; 100]);
    let container = Container::parse(&data).unwrap();
    let [bundle] = container.bundles() else { panic!("{:?}", container.bundles()) };
    assert!(start > host && bundle.offset() == start);
    assert_eq!(bundle.size(), code.len() as u64);
    assert_eq!(*bundle.format(), BundleFormat::CodeObject);
    let selected = container.select(&target("gfx950"), &Limits::default()).unwrap();
    assert_eq!(container.read(&selected[0], &Limits::default()).unwrap(), code);
}

#[test]
fn the_best_fit_is_selected() {
    let limits = Limits::default();
    let data = fixture("host-library.so");
    let container = Container::parse(&data).unwrap();
    for (device, expected) in [("gfx906", "gfx906"), ("gfx906:xnack+", "gfx906"), ("gfx90a", "gfx90a:xnack-")]
    {
        let selected = container.select(&target(device), &limits).unwrap();
        assert_eq!(selected.len(), 2, "one of each bundle for {device}");
        for selected in selected {
            assert_eq!(selected.entry.id.target.as_ref().unwrap().to_string(), expected);
            let bytes = container.read(&selected, &limits).unwrap();
            assert_eq!(CodeObject::parse(&bytes).unwrap().target().to_string(), expected);
        }
    }
    let error = container.select(&target("gfx90a:xnack+"), &limits).unwrap_err();
    assert_eq!(error.to_string(), "no code for gfx90a:xnack+; the file has code for gfx906, gfx90a:xnack-");

    let generic = fixture("gfx9-4-generic-v6.co");
    let generic = Container::parse(&generic).unwrap();
    assert_eq!(*generic.kind(), ContainerKind::CodeObject);
    assert_eq!(generic.select(&target("gfx950"), &limits).unwrap().len(), 1);
    assert!(generic.select(&target("gfx90a"), &limits).is_err());
}

/// A bundle with an old header, compressed with zlib; another one follows it.
fn zlib_bundle() -> Vec<u8> {
    let plain = fixture("plain.bundle");
    let mut data = b"CCOB\x01\0\x00\0".to_vec();
    data.extend((plain.len() as u32).to_le_bytes());
    data.extend(0x0123_4567_89ab_cdef_u64.to_le_bytes());
    let mut encoder = flate2::write::ZlibEncoder::new(data, flate2::Compression::default());
    encoder.write_all(&plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn old_headers_and_zlib() {
    let limits = Limits::default();
    let mut data = zlib_bundle();
    let first = data.len() as u64;
    data.extend(fixture("compressed-v2.bundle"));
    let container = Container::parse(&data).unwrap();
    let [old, new] = container.bundles() else { panic!("two bundles") };
    assert_eq!((old.offset(), old.size(), new.offset()), (0, first, first));
    let (old, new) = (old.open(&limits).unwrap(), new.open(&limits).unwrap());
    assert_eq!(old.entries(), new.entries());
    for entry in old.entries() {
        assert_eq!(old.read(entry).unwrap(), new.read(entry).unwrap());
    }
}

#[test]
fn a_bundle_may_not_unfold_beyond_its_header_or_the_limit() {
    let data = zlib_bundle();
    let strict = Limits { max_decompressed: 1000, ..Limits::default() };
    let container = Container::parse(&data).unwrap();
    let error = container.bundles()[0].open(&strict).unwrap_err();
    assert!(
        matches!(&error, Error::Within { source, .. } if matches!(**source, Error::OverLimit { limit: 1000, .. }))
    );

    // The header declares less, or more, than there is.
    for name in ["compressed-v2.bundle", "compressed-v3.bundle"] {
        let data = fixture(name);
        let at = if name.contains("v2") { 12 } else { 16 };
        let size = u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
        for wrong in [size - 1, size + 1, 0] {
            let mut data = data.clone();
            data[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
            let container = Container::parse(&data).unwrap();
            let error = container.bundles()[0].open(&Limits::default()).unwrap_err();
            assert!(error.to_string().contains("bytes than the"), "{name}: {error}");
        }
    }

    // A megabyte of zeros after a header that declares a gigabyte.
    let mut bomb = b"CCOB\x01\0\x00\0".to_vec();
    bomb.extend((1u32 << 30).to_le_bytes());
    bomb.extend([0; 8]);
    let mut encoder = flate2::write::ZlibEncoder::new(bomb, flate2::Compression::default());
    encoder.write_all(&vec![0; 1 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    assert!(Container::parse(&bomb).unwrap().bundles()[0].open(&Limits::default()).is_err());
}

/// The limit applies to the whole file: after the first excess, no compressed bundle is
/// decompressed.
#[test]
fn bundles_of_a_file_share_its_limit() {
    let one = fixture("compressed-v3.bundle");
    let size = u64::from_le_bytes(one[16..24].try_into().unwrap());
    let (count, fit) = (10, 4);
    let data = one.repeat(count);
    let container = Container::parse(&data).unwrap();
    let readable = |limits: &Limits| -> Vec<bool> {
        container.open_all(limits).map(|(_, opened)| opened.is_ok()).collect()
    };
    assert_eq!(readable(&Limits::default()), [true; 10]);
    assert_eq!(readable(&Limits::with_decompressed(count as u64 * size)), [true; 10]);
    let tight = Limits::with_decompressed((fit as u64 + 1) * size - 1);
    assert_eq!(readable(&tight), [true, true, true, true, false, false, false, false, false, false]);

    // The message states the limit that would suffice.
    let report = FileReport::new(&data, &Filter::default(), &tight).unwrap();
    assert_eq!(report.bundles.iter().filter(|bundle| bundle.error.is_none()).count(), fit);
    let (over, needed) = (&report.bundles[fit], count as u64 * size);
    assert_eq!(over.over_limit, Some(("max_decompressed", needed)));
    assert_eq!(
        over.error.as_deref().unwrap(),
        format!(
            "in the compressed offload bundle at offset {:#x}: the decompression of all bundles of the file needs {needed} \
             bytes, and the limit is {} bytes",
            fit * one.len(),
            (fit as u64 + 1) * size - 1
        )
    );

    // Bundles that are read only up to an entry count only for that part.
    let selected = container.select(&target("gfx90a"), &Limits::default()).unwrap();
    let ends: Vec<u64> = selected.iter().map(|one| one.entry.offset + one.entry.size).collect();
    let parts = Limits { max_decompressed_in_all: ends[..fit].iter().sum(), ..Limits::default() };
    let read = container.read_all(&selected, &parts).filter(|(_, bytes)| bytes.is_ok()).count();
    assert_eq!((selected.len(), read), (count, fit));
}

#[test]
fn ids_are_shown_without_control_characters() {
    let id = EntryId::parse("hipv4-amdgcn-amd-amdhsa--gfx9420\x1b[31m\n\u{202e}x");
    let target = id.target.clone().unwrap();
    assert_eq!(id.to_string(), r"hipv4-amdgcn-amd-amdhsa--gfx9420\u{1b}[31m\n\u{202e}x");
    assert_eq!(target.to_string(), r"gfx9420\u{1b}[31m\n\u{202e}x");
}

#[test]
fn tables_that_lie() {
    let limits = Limits::default();
    let data = fixture("plain.bundle");
    let with = |at: usize, value: u64| {
        let mut data = data.clone();
        data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        Container::parse(&data)
            .map(|container| container.bundles()[0].entries(&limits).map(|entries| entries.len()))
    };
    assert_eq!(with(24, 3).unwrap().unwrap(), 3);
    // An absurd count, offset, size or id length; sums that overflow.
    for (at, value) in
        [(24, u64::MAX), (24, 1 << 40), (32, u64::MAX), (40, u64::MAX), (32, 1 << 40), (48, 1 << 40)]
    {
        let error = with(at, value).unwrap_err().to_string();
        assert!(
            error.starts_with("in the offload bundle at offset 0x0: malformed offload bundle table"),
            "{error}"
        );
    }
    let empty = with(24, 0).unwrap().unwrap();
    assert_eq!(empty, 0);
}
