//! Reads code objects from the compiler and checks their contents.

use wavemill_object::{
    CodeObject, CodeObjectVersion, Error, Feature, Limits, RelocationKind, SymbolPlace, ValueKind,
};

use crate::support::{CODE_OBJECTS, fixture};

#[test]
fn versions_and_targets() {
    use CodeObjectVersion::*;
    let expected = [
        ("gfx906-v2.co", V2, "gfx906:sramecc-:xnack-"),
        ("gfx90a-v3.co", V3, "gfx90a:sramecc+:xnack+"),
        ("gfx906-v4.co", V4, "gfx906"),
        ("gfx906-v5-features.co", V5, "gfx906:sramecc-:xnack+"),
        ("gfx90a-v4.co", V4, "gfx90a:xnack-"),
        ("gfx90a-v5.co", V5, "gfx90a:xnack-"),
        ("gfx942-v5.co", V5, "gfx942"),
        ("gfx950-v6.co", V6, "gfx950"),
        ("gfx9-4-generic-v6.co", V6, "gfx9-4-generic"),
    ];
    assert_eq!(expected.map(|(name, ..)| name), CODE_OBJECTS);
    for (name, version, target) in expected {
        let data = fixture(name);
        let object = CodeObject::parse(&data).unwrap();
        assert_eq!(object.version(), version, "{name}");
        assert_eq!(object.target().to_string(), target, "{name}");
        assert_eq!(object.generic_version(), name.starts_with("gfx9-4").then_some(1), "{name}");
        assert!(object.problems().is_empty(), "{name}: {:?}", object.problems());
    }
}

#[test]
fn metadata_agrees_with_descriptors() {
    for name in CODE_OBJECTS {
        let data = fixture(name);
        let object = CodeObject::parse(&data).unwrap();
        let metadata = object.metadata().unwrap();
        assert_eq!(object.kernels().len(), metadata.kernels.len(), "{name}");
        assert!(metadata.extra.is_empty(), "{name}: {:?}", metadata.extra);
        for kernel in object.kernels() {
            let data = kernel.metadata.as_ref().unwrap();
            let descriptor = &kernel.descriptor;
            let place = format!("{name}: {}", kernel.name);
            assert!(descriptor.reserved_is_zero, "{place}");
            assert_eq!(data.group_segment_fixed_size, Some(descriptor.group_segment_fixed_size), "{place}");
            assert_eq!(
                data.private_segment_fixed_size,
                Some(descriptor.private_segment_fixed_size),
                "{place}"
            );
            assert_eq!(data.kernarg_segment_size, Some(kernel.kernarg_size()), "{place}");
            assert_eq!(data.wavefront_size, Some(descriptor.wavefront_size()), "{place}");
            assert!(data.extra.is_empty(), "{place}: {:?}", data.extra);
            assert_eq!(kernel.entry_address % 256, 0, "{place}");
            let registers = descriptor.registers(&object.target().processor).unwrap();
            assert_eq!(
                data.vgpr_count.unwrap().div_ceil(registers.vgpr_granule) * registers.vgpr_granule,
                registers.vgprs
            );
            // The metadata omits the registers that hardware adds for page-fault replay.
            assert!(registers.sgprs >= data.sgpr_count.unwrap(), "{place}");
            let mut end = 0;
            for arg in &data.args {
                assert!(arg.offset >= end, "{place}: arguments overlap");
                end = arg.offset + arg.size;
                assert!(arg.extra.is_empty(), "{place}: {:?}", arg.extra);
                assert!(!matches!(arg.value_kind, ValueKind::Other(_)), "{place}: {}", arg.value_kind);
            }
            assert!(end <= kernel.kernarg_size(), "{place}");
        }
    }
}

#[test]
fn arguments_of_a_kernel() {
    let data = fixture("gfx90a-v5.co");
    let object = CodeObject::parse(&data).unwrap();
    let kernel = object.kernel("block_sum").unwrap();
    let metadata = kernel.metadata.as_ref().unwrap();
    assert_eq!(metadata.reqd_workgroup_size, Some([64, 1, 1]));
    let explicit: Vec<_> = metadata
        .args
        .iter()
        .filter(|arg| !arg.is_hidden())
        .map(|arg| {
            (
                arg.name.as_deref().unwrap(),
                arg.type_name.as_deref().unwrap(),
                arg.offset,
                arg.size,
                arg.is_const,
            )
        })
        .collect();
    let expected =
        [("out", "int*", 0, 8, false), ("in", "int*", 8, 8, true), ("extra", "int*", 16, 4, false)];
    assert_eq!(explicit, expected);
    assert_eq!(metadata.args[2].value_kind, ValueKind::DynamicSharedPointer);
    let lds = metadata.args.iter().find(|arg| arg.value_kind == ValueKind::HiddenDynamicLdsSize).unwrap();
    assert_eq!((lds.offset, lds.size), (24 + 120, 4));
    assert!(object.kernel("block").is_none());
}

/// Version 2 states alignments; the offsets must match the compiler's layout of the arguments for
/// version 3.
#[test]
fn arguments_of_code_object_v2_have_offsets() {
    let (old, new) = (fixture("gfx906-v2.co"), fixture("gfx90a-v3.co"));
    let (old, new) = (CodeObject::parse(&old).unwrap(), CodeObject::parse(&new).unwrap());
    for (old, new) in old.kernels().iter().zip(new.kernels()) {
        assert_eq!(old.name, new.name);
        let (old, new) = (old.metadata.as_ref().unwrap(), new.metadata.as_ref().unwrap());
        assert_eq!(old.args, new.args);
        assert_eq!(old.reqd_workgroup_size, new.reqd_workgroup_size);
        assert_eq!(old.vec_type_hint, new.vec_type_hint);
        assert_eq!(old.language_version, new.language_version);
    }
}

#[test]
fn an_image_is_relocated_to_its_place() {
    const BASE: u64 = 0x7f12_3456_0000;
    for (name, kind) in
        [("gfx90a-v5.co", RelocationKind::Relative64), ("gfx942-v5.co", RelocationKind::Abs64)]
    {
        let data = fixture(name);
        let object = CodeObject::parse(&data).unwrap();
        let address = |symbol: &str| object.globals().find(|global| global.name == symbol).unwrap().address;
        let mut image = object.image(&Limits::default()).unwrap();
        assert!(object.relocations().iter().all(|relocation| relocation.kind == kind), "{name}");
        image.relocate(BASE, object.relocations(), |_| None).unwrap();
        // `cursor` points to the fifth counter.
        let at = (address("cursor") - image.start) as usize;
        let pointer = u64::from_le_bytes(image.bytes[at..at + 8].try_into().unwrap());
        assert_eq!(pointer, BASE + address("counters") + 16 - image.start, "{name}");
        // Constants are at their addresses, variables without contents are 0.
        let at = (address("weights") - image.start) as usize;
        let weights: Vec<_> = image.bytes[at..at + 16]
            .chunks(4)
            .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(weights, [0.5, 0.25, 0.125, 0.0625], "{name}");
        let at = (address("counters") - image.start) as usize;
        assert_eq!(image.bytes[at..at + 64], [0; 64], "{name}");
        assert!(object.read(address("counters"), 64).is_none());
        assert_eq!(object.read(address("weights"), 4), Some(&0.5f32.to_le_bytes()[..]));
    }
}

#[test]
fn a_symbol_that_nobody_defines_is_asked_for() {
    let data = fixture("gfx942-v5.co");
    let object = CodeObject::parse(&data).unwrap();
    let mut relocations = object.relocations().to_vec();
    relocations.truncate(1);
    relocations[0].symbol.as_mut().unwrap().place = SymbolPlace::Undefined;
    let mut image = object.image(&Limits::default()).unwrap();
    let error = image.relocate(0x1000, &relocations, |_| None).unwrap_err();
    assert!(error.to_string().contains("`weights`, which no loaded code object defines"), "{error}");
    image.relocate(0x1000, &relocations, |name| (name == "weights").then_some(0x1122_3344_5566)).unwrap();
    let at = (relocations[0].address - image.start) as usize;
    assert_eq!(image.bytes[at..at + 8], 0x1122_3344_5566u64.to_le_bytes());
    // The other widths.
    let mut check = |kind, expected: &[u8]| {
        relocations[0].kind = kind;
        relocations[0].addend = 2;
        image.relocate(0x1000, &relocations, |_| Some(0x1122_3344_5566)).unwrap();
        assert_eq!(&image.bytes[at..at + expected.len()], expected, "{kind}");
    };
    check(RelocationKind::Abs32Lo, &0x3344_5568u32.to_le_bytes());
    check(RelocationKind::Abs32Hi, &0x1122u32.to_le_bytes());
    let place = 0x1000 + object.relocations()[0].address;
    check(RelocationKind::Rel64, &(0x1122_3344_5568 - place).to_le_bytes());
    check(RelocationKind::Relative64, &0x1002u64.to_le_bytes());
    relocations[0].address = u64::MAX - 3;
    assert!(matches!(image.relocate(0, &relocations, |_| Some(0)), Err(Error::Malformed { .. })));
    relocations[0].kind = RelocationKind::Other(7);
    assert!(matches!(image.relocate(0, &relocations, |_| Some(0)), Err(Error::Unsupported { .. })));
}

#[test]
fn sections_by_name() {
    let data = fixture("gfx942-v5.co");
    let object = CodeObject::parse(&data).unwrap();
    let text = object.section(".text").unwrap();
    assert!(text.executable && text.loaded && !text.writable);
    for kernel in object.kernels() {
        let size = kernel.code_size.unwrap();
        let at = (kernel.entry_address - text.address) as usize;
        assert_eq!(object.read(kernel.entry_address, size), text.contents.get(at..at + size as usize));
    }
    let bss = object.section(".bss").unwrap();
    assert_eq!((bss.contents.len(), bss.size, bss.writable), (0, 64, true));
    assert!(!object.section(".comment").unwrap().loaded);
    assert!(object.section(".debug_line").is_none());
}

#[test]
fn arguments_in_registers() {
    let data = fixture("gfx950-v6.co");
    let object = CodeObject::parse(&data).unwrap();
    let preloaded = |name: &str| {
        let descriptor = object.kernel(name).unwrap().descriptor;
        (descriptor.kernarg_preload.offset(), descriptor.kernarg_preload.length())
    };
    // The first six arguments: two pointers, a float, an integer, two hidden counts.
    assert_eq!(preloaded("scale_add"), (0, 8));
}

/// A file without section headers can be loaded, but it has no kernels or symbols to find.
#[test]
fn an_object_without_sections() {
    let mut data = fixture("gfx906-v4.co");
    data[40..48].fill(0);
    data[58..64].fill(0);
    let object = CodeObject::parse(&data).unwrap();
    assert!(object.problems()[0].contains("no section headers"), "{:?}", object.problems());
    assert!(object.kernels().is_empty());
    assert_eq!(object.metadata().unwrap().kernels.len(), 3);
}

#[test]
fn a_large_image_needs_leave() {
    let data = fixture("gfx906-v4.co");
    let limits = Limits { max_image: 1 << 10, ..Limits::default() };
    let object = CodeObject::parse(&data).unwrap();
    assert!(matches!(object.image(&limits), Err(Error::OverLimit { limit: 1024, .. })));
}

#[test]
fn features_of_a_stripped_object() {
    let data = fixture("plain.bundle");
    let container = wavemill_object::Container::parse(&data).unwrap();
    let bundle = container.bundles()[0].open(&Limits::default()).unwrap();
    let object = CodeObject::parse(bundle.read(&bundle.entries()[1]).unwrap()).unwrap();
    assert_eq!(object.target().xnack, Feature::Any);
    let names: Vec<_> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["scale_add", "block_sum", "shuffle"]);
}

/// Metadata of a later compiler: the target in the new spelling, and unknown keys.
#[test]
fn metadata_of_later_compilers() {
    let old = "amdgcn-amd-amdhsa--gfx942";
    let mut data = fixture("gfx942-v5.co");
    let at = data.windows(old.len()).position(|window| window == old.as_bytes()).unwrap();
    // The note has a fixed length, so the new spelling is one without vendor and system names.
    let new = "amdgpu9.42-amd-hsa-gfx942";
    data[at..at + old.len()].copy_from_slice(new.as_bytes());
    let key = b".agpr_count";
    let at = data.windows(key.len()).position(|window| window == key).unwrap();
    data[at..at + key.len()].copy_from_slice(b".new_count!");
    let object = CodeObject::parse(&data).unwrap();
    assert!(object.problems().is_empty(), "{:?}", object.problems());
    assert_eq!(object.metadata().unwrap().target.as_deref(), Some(new));
    let extra = &object.kernels()[0].metadata.as_ref().unwrap().extra;
    assert_eq!(extra[0].0, ".new_count!");

    // A target that contradicts the ELF header is reported as a problem.
    let at = data.windows(6).rposition(|window| window == b"gfx942").unwrap();
    let at = data[..at + 6].windows(6).position(|window| window == b"gfx942").unwrap_or(at);
    data[at..at + 6].copy_from_slice(b"gfx950");
    let object = CodeObject::parse(&data).unwrap();
    assert!(object.problems()[0].contains("the ELF header says gfx942"), "{:?}", object.problems());
}
