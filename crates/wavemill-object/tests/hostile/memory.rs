//! Memory and text grow in proportion to the file, whatever it declares.
//!
//! If the reader trusted the declared sizes, counts and offsets, each file here would need dozens
//! to thousands of times its size. The limit is far below that and far above the actual need.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wavemill_object::report::{FileReport, Filter};
use wavemill_object::write::{
    Contents, Module, Relocation, Section, SectionFlags, SectionId, Symbol, SymbolId, write_relocatable,
};
use wavemill_object::{
    Binding, CodeObject, CodeObjectVersion, Container, Limits, RelocationKind, disassemble_metadata,
    loadable, unlink,
};

use crate::support::fixture;
use crate::support::hostile::{
    ID, bundle, compressed, kernel_with_arguments, list, map, section_headers, set, text, with_note, word,
    zlib, zstd,
};

/// Memory for reading and reporting a file, as a multiple of its size.
const MOST: usize = 40;
/// Additional memory, in bytes.
const BASE: usize = 4 << 20;

/// The system's allocator, with a count of the bytes of each thread.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // The thread is ending: the count no longer matters.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        PEAK.try_with(|peak| peak.set(peak.get().max(now.get())))
    });
}

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The peak memory of `work`, in bytes.
fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before).max(0) as usize
}

/// Uses all functions on a file, and compares their memory with its size.
fn check(name: &str, data: &[u8]) {
    let limits = Limits::default();
    let mut printed = 0;
    let all: [(&str, &mut dyn FnMut()); 5] = [
        ("parse", &mut || drop(CodeObject::parse(data))),
        ("unlink", &mut || drop(unlink(data))),
        ("loadable", &mut || drop(loadable(data, &limits).map_err(|error| error.to_string()))),
        ("select", &mut || {
            let target = "gfx942".parse().expect("a target");
            if let Ok(container) = Container::parse(data) {
                drop(container.find_kernel(&target, "nobody", &limits));
                for selected in container.select(&target, &limits).unwrap_or_default() {
                    drop(container.read(&selected, &limits));
                }
            }
        }),
        ("report", &mut || {
            printed = match FileReport::new(data, &Filter::default(), &limits) {
                Ok(report) => report.to_string().len(),
                Err(error) => error.to_string().len(),
            };
        }),
    ];
    for (what, work) in all {
        let taken = peak(work);
        println!("{name}: {} bytes, {what} takes {taken}", data.len());
        assert!(taken <= MOST * data.len() + BASE, "{name} of {} bytes: {what} takes {taken}", data.len());
    }
    println!("{name}: {} bytes, {printed} printed", data.len());
    assert!(printed <= MOST * data.len(), "{name} of {} bytes: {printed} are printed", data.len());
}

/// A code object with this MessagePack as its metadata.
fn with_metadata(metadata: &[u8]) -> Vec<u8> {
    crate::support::hostile::with_metadata(fixture("gfx942-v5.co"), metadata)
}

#[test]
fn lists_of_metadata() {
    let argument =
        map(&[(".size", &[0]), (".offset", &[0]), (".value_kind", &text("by_value")), (".name", &text("x"))]);
    for (name, metadata) in [
        ("nils that nobody knows", list("x", 4_000_000, &[0xc0])),
        ("empty maps", list("x", 4_000_000, &[0x80])),
        ("maps with one entry", list("x", 1_000_000, &[0x81, 0xa0, 0xc0])),
        ("empty formats", list("amdhsa.printf", 4_000_000, &[0xa0])),
        ("formats of one byte", list("amdhsa.printf", 2_000_000, &[0xa1, b'\n'])),
        ("kernels that are nothing", list("amdhsa.kernels", 4_000_000, &[0xc0])),
        ("kernels without entries", list("amdhsa.kernels", 4_000_000, &[0x80])),
        ("kernels with a name only", list("amdhsa.kernels", 400_000, &map(&[(".name", &[0xa1, b'k'])]))),
        ("a list that is longer than the file", [&list("x", 0, &[])[..8], &[0xff; 4]].concat()),
    ] {
        check(name, &with_metadata(&metadata));
    }
    let arguments = |count: u32, item: &[u8]| list("", count, item)[4..].to_vec();
    let kernel = |count, argument: &[u8]| with_metadata(&kernel_with_arguments("scale_add", count, argument));
    check("arguments", &kernel(4096, &argument));
    let strange = [&[0x85][..], &argument[1..], &text(""), &arguments(60, &[0xc0])].concat();
    check("arguments with more", &kernel(4096, &strange));
    check("arguments that are too many", &kernel(20_000, &strange));
    let wide = map(&[
        (".size", &[0]),
        (".offset", &[0]),
        (".value_kind", &text(&"k".repeat(60_000))),
        (".name", &text(&"n".repeat(60_000))),
        (".type_name", &text(&"t".repeat(60_000))),
    ]);
    let widest = [wide, argument.repeat(4095)].concat();
    let mut metadata = kernel_with_arguments("scale_add", 4096, &[]);
    metadata.extend(widest);
    check("one wide argument", &with_metadata(&metadata));
}

/// A kernel with more arguments than any real kernel is treated as unknown.
#[test]
fn arguments_that_are_too_many() {
    let argument = map(&[(".size", &[4]), (".offset", &[0]), (".value_kind", &text("by_value"))]);
    let kernel = |count, argument: &[u8]| kernel_with_arguments("scale_add", count, argument);
    let usual = with_metadata(&kernel(4096, &argument));
    let usual = CodeObject::parse(&usual).expect("so many are read");
    let metadata = usual.kernel("scale_add").and_then(|kernel| kernel.metadata.clone());
    assert_eq!(metadata.map(|metadata| metadata.args.len()), Some(4096));

    for (count, argument) in [(4097, &argument), (300_000, &map(&[(".name", &text("x"))]))] {
        let metadata = kernel(count, argument);
        assert_eq!(disassemble_metadata(&metadata), None);
        let data = with_metadata(&metadata);
        let taken = peak(|| {
            let object = CodeObject::parse(&data).expect("the kernels are usable");
            let problem = format!(
                "the metadata of kernel 0 (`scale_add`) is ignored: it lists {count} arguments, and a kernel has 4096 at most; \
                 the file is damaged"
            );
            assert!(object.problems().contains(&problem), "{:?}", object.problems());
            assert!(object.kernel("scale_add").is_some_and(|kernel| kernel.metadata.is_none()));
        });
        assert!(taken < 256 << 10, "{count} arguments take {taken} bytes");
    }

    let yaml = |count: usize| {
        let argument = "      - { Size: 4, Align: 4, ValueKind: ByValue }\n";
        format!("---\nKernels:\n  - Name: k\n    Args:\n{}...\n", argument.repeat(count))
    };
    let parse = |text: String| {
        let data = with_note(fixture("gfx906-v2.co"), b"AMD\0", 10, text.as_bytes());
        CodeObject::parse(&data).map(|object| object.metadata().map(|data| data.kernels[0].args.len()))
    };
    assert_eq!(parse(yaml(4096)).expect("so many are read"), Some(4096));
    let error = parse(yaml(4097)).unwrap_err().to_string();
    assert!(
        error
            .ends_with("line 4101, column 9: more than 4096 arguments are listed, and no kernel has so many"),
        "{error}"
    );
}

/// Oversized data is rejected before any of it is kept.
#[test]
fn metadata_is_measured_before_it_is_read() {
    let item = [&[0x81, 0xa5][..], b"abcde", &[0x93, 1, 2, 3]].concat();
    for (name, metadata) in [
        ("lists in maps", list("x", 800_000, &item)),
        ("kernels", list("amdhsa.kernels", 800_000, &[0x81, 0xa0, 0xa0])),
        ("a map", [&[0xdf][..], &1_000_000_u32.to_be_bytes(), &[0xa0, 0xc0].repeat(1_000_000)].concat()),
    ] {
        let data = with_metadata(&metadata);
        let taken = peak(|| {
            let error = CodeObject::parse(&data).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("the items of its lists and maps need more than"), "{error}");
        });
        assert!(taken < 64 << 10, "{name}: {taken} bytes are taken for what is refused");
    }
}

#[test]
fn metadata_of_a_kernel_is_not_kept_twice() {
    let argument = map(&[
        (".size", &[8]),
        (".offset", &[8]),
        (".value_kind", &text("global_buffer")),
        (".address_space", &text("global")),
    ]);
    let mut arguments = vec![0xdc, 0, 8];
    arguments.extend(argument.repeat(8));
    let kernel = map(&[(".name", &text("k")), (".args", &arguments), (".kernarg_segment_size", &[64])]);
    let data = with_metadata(&list("amdhsa.kernels", 10_000, &kernel));
    let object = CodeObject::parse(&data).expect("usual metadata is within all bounds");
    assert_eq!(object.metadata().map(|metadata| metadata.kernels.len()), Some(10_000));
    check("many kernels", &data);
}

#[test]
fn lists_of_yaml() {
    let yaml = |text: &str| with_note(fixture("gfx906-v2.co"), b"AMD\0", 10, text.as_bytes());
    for (name, data) in [
        ("nils", yaml(&format!("---\nx: [{}~]\n...\n", "~,".repeat(1_000_000)))),
        ("numbers", yaml(&format!("---\nx: [{}1]\n...\n", "1,".repeat(1_000_000)))),
        ("empty lists", yaml(&format!("---\nx: [{}[]]\n...\n", "[],".repeat(500_000)))),
        ("empty items", yaml(&format!("---\nx:\n{}...\n", " -\n".repeat(500_000)))),
        ("kernels", yaml(&format!("---\nKernels:\n{}...\n", " - Name: k\n".repeat(100_000)))),
        ("brackets", yaml(&format!("---\nx: {}\n", "[".repeat(300_000)))),
    ] {
        check(name, &data);
    }
}

/// The kernels of a real code object, many times over.
#[test]
fn usual_yaml_is_within_all_bounds() {
    let data = fixture("gfx906-v2.co");
    let start = data.windows(4).position(|window| window == b"---\n").expect("YAML");
    let end = start + data[start..].windows(4).position(|window| window == b"...\n").expect("an end");
    let text = std::str::from_utf8(&data[start..end]).expect("text");
    let (head, kernels) = text.split_once("Kernels:\n").expect("kernels");
    let count = kernels.lines().filter(|line| line.starts_with("  - Name:")).count();
    let many = format!("{head}Kernels:\n{}...\n", kernels.repeat(300));
    assert!(many.len() > 500_000);
    let data = with_note(fixture("gfx906-v2.co"), b"AMD\0", 10, many.as_bytes());
    let object = CodeObject::parse(&data).expect("usual metadata is within all bounds");
    assert_eq!(object.metadata().map(|metadata| metadata.kernels.len()), Some(300 * count));
}

#[test]
fn entries_that_share_their_code() {
    let code = fixture("gfx942-v5.co");
    let size = code.len() as u64;
    let count = 20_000;
    let same = bundle((0..count).map(|_| (0, size, ID.to_owned())), &code);
    check("the same row", &same);
    let report = FileReport::new(&same, &Filter::default(), &Limits::default()).expect("a report");
    let [entry] = &report.bundles[0].entries[..] else { panic!("one entry") };
    assert_eq!((entry.repeated, entry.object.is_some()), (count - 1, true));

    let ids = bundle((0..count).map(|n| (0, size, format!("{ID}:xnack+-{n}"))), &code);
    check("the same code", &ids);
    let others = bundle((0..count).map(|n| (0, size, format!("hip-amdgcn-amd-amdhsa--gfx{n}"))), &code);
    check("the same code for other targets", &others);
    let long = (0..count).map(|n| (0, size, if n == 0 { "i".repeat(4096) } else { ID.to_owned() }));
    check("a long id", &bundle(long, &code));
    let shifted = bundle((0..count as u64).map(|n| (0, size - n % size, ID.to_owned())), &code);
    check("code that overlaps", &shifted);
    let error = Container::parse(&shifted).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("overlaps others"), "{error}");

    // Two targets that share their code, as compilers may emit them.
    let shared = bundle(
        [ID, "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic"].iter().map(|id| (0, size, (*id).into())),
        &code,
    );
    let report = FileReport::new(&shared, &Filter::default(), &Limits::default()).expect("a report");
    let entries = &report.bundles[0].entries;
    assert!(entries[0].object.is_some() && entries[1].object.is_none());
    assert_eq!((entries[1].same_as, entries[1].repeated), (Some(0), 0));
    assert!(report.to_string().contains(", same code as entry 1\n"), "{report}");
}

#[test]
fn bundles_that_unfold() {
    let size = 256_u64 << 20;
    let table = bundle(std::iter::once((0, size, ID.to_owned())), &[]);
    let declared = table.len() as u64 + size;
    let blocks = (size >> 17) as usize;
    for (method, contents) in [(0, zlib(&table, size as usize)), (1, zstd(&table, blocks))] {
        let honest = compressed(method, declared, &contents);
        check("a bundle that is mostly zeros", &honest);
        let container = Container::parse(&honest).expect("a bundle");
        let error = container.bundles()[0].open(&Limits::default()).unwrap_err();
        assert_eq!(error.over_limit(), Some(("max_decompressed", declared)));
        let message = error.to_string();
        let expected = format!("the decompressed bundle needs {declared} bytes, and the limit is ");
        // Only the program that reads the file knows its own name of the limit.
        assert!(message.contains(&expected) && !message.contains("max_decompressed"), "{message}");
        // A caller can raise the limit, and pays for a part only the price of the part.
        let raised = Limits::with_decompressed(declared);
        let entries = container.bundles()[0].entries(&raised).expect("a table");
        assert_eq!(entries.len(), 1);
        let taken = peak(|| drop(container.bundles()[0].entries(&raised)));
        assert!(taken < 8 << 20, "the table takes {taken} bytes");
        // More than the header declares, and less.
        check("a bundle that declares less", &compressed(method, 1 << 20, &contents));
        check("a bundle that declares more", &compressed(method, 1 << 40, &contents));
        // In a host program, the reader checks the beginning of each bundle.
        let host = [b"MZ".to_vec(), vec![0; 510], compressed(method, u64::MAX, &contents)].concat();
        check("a bundle in a host program", &host);
    }
    // Data that is not a bundle is rejected at its beginning, whatever the limit.
    let zeros = [0; 4096];
    for (method, contents) in [(0, zlib(&zeros, size as usize)), (1, zstd(&zeros, blocks))] {
        let data = compressed(method, zeros.len() as u64 + size, &contents);
        let container = Container::parse(&data).expect("a bundle");
        let raised = Limits::with_decompressed(4 * size);
        let taken = peak(|| {
            let error = container.bundles()[0].open(&raised).unwrap_err().to_string();
            assert!(error.ends_with("it does not begin with __CLANG_OFFLOAD_BUNDLE__"), "{error}");
        });
        assert!(taken < 8 << 20, "{taken} bytes are taken for zeros");
    }
    // A declared window of 2 GiB: not a single segment, exponent 21.
    let window = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3][..], &[0x01, 0, 0]].concat();
    check("a large window", &compressed(1, 2 << 30, &window));
}

/// A code object with `count` symbols whose names are parts of `names`; the first `step` bytes apart.
fn with_symbols(count: usize, names: &[u8], name: impl Fn(usize) -> u32) -> Vec<u8> {
    let mut data = fixture("gfx942-v5.co");
    data.resize(data.len().next_multiple_of(8), 0);
    let (sections, symbols) = (word(&data, 40), data.len());
    let header = |index: usize| sections + 64 * index;
    // .symtab and .strtab, as readelf has them.
    let (table, strings) = (16, 18);
    let first = word(&data, header(table) + 24);
    // A symbol like the first descriptor.
    let entries = word(&data, header(table) + 32) / 24;
    let descriptor = (0..entries)
        .map(|index| data[first + 24 * index..][..24].to_vec())
        .find(|entry| word(entry, 16) == 64 && entry[4] & 15 == 1)
        .expect("a descriptor");
    data.extend([0; 24]);
    for index in 0..count {
        data.extend(name(index).to_le_bytes());
        data.extend(&descriptor[4..]);
    }
    set(&mut data, header(table) + 24, symbols);
    set(&mut data, header(table) + 32, 24 * (count + 1));
    data[header(table) + 44..][..4].copy_from_slice(&1_u32.to_le_bytes());
    let at = data.len();
    set(&mut data, header(strings) + 24, at);
    set(&mut data, header(strings) + 32, names.len());
    data.extend(names);
    data
}

#[test]
fn symbols_that_share_their_names() {
    let count = 20_000_usize;
    // Each name is a suffix of the previous one.
    let names = [&[0][..], &b"n".repeat(60_000), b".kd\0"].concat();
    check("long names", &with_symbols(count, &names, |index| 1 + index as u32));
    // The same with invalid UTF-8.
    let names = [&[0][..], &[0xff; 60_000], b".kd\0"].concat();
    check("long names that are no text", &with_symbols(count, &names, |_| 1));
    // Short names that expand to long ones.
    let mut names = vec![0];
    let mut places = Vec::new();
    for index in 0..count {
        places.push(names.len() as u32);
        names.extend(format!("_Z1fI1a{:05}", index).as_bytes());
        names.extend(b"N1bI1cI1dI1eEEEE");
        names.extend(b"EvT_S0_S0_S0_S0_S0_S0_S0_S0_S0_S0_.kd\0");
    }
    check("names that unfold", &with_symbols(count, &names, |index| places[index]));
    let mut names = vec![0];
    let mut places = Vec::new();
    for index in 0..count {
        places.push(names.len() as u32);
        // Pairs of pairs of pairs.
        names.extend(format!("_Z1fI1xI1pILi{index}EEE").as_bytes());
        names.extend(b"vT_1qIS1_S1_E1rIS2_S2_E1sIS3_S3_E1tIS4_S4_E1uIS5_S5_E1vIS6_S6_E1wIS7_S7_E.kd\0");
    }
    check("names that unfold twice over", &with_symbols(count, &names, |index| places[index]));
    // All of them kernels with one descriptor.
    let names: Vec<u8> = std::iter::once(vec![0])
        .chain((0..count).map(|index| format!("k{index:05}.kd\0").into_bytes()))
        .flatten()
        .collect();
    check("kernels of one descriptor", &with_symbols(count, &names, |index| 1 + 10 * index as u32));
}

#[test]
fn alignments_and_sizes_that_are_absurd() {
    let data = fixture("gfx942-v5.co");
    let header = 64 + 56;
    for (at, number, expected) in [
        (48, 1 << 50, "an alignment of 1125899906842624 bytes is more than 1073741824 bytes"),
        (48, 1 << 63, "an alignment of 9223372036854775808 bytes is more than 1073741824 bytes"),
        (48, 3, "an alignment of 3 bytes is not a power of two"),
        (40, 1 << 50, "overlaps"),
    ] {
        let mut data = data.clone();
        set(&mut data, header + at, number);
        let error = CodeObject::parse(&data).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // A last segment of a petabyte that is not in the file.
    let mut data = data.clone();
    set(&mut data, 64 + 56 * 4 + 40, 1 << 50);
    let object = CodeObject::parse(&data).expect("the file is right");
    let taken = peak(|| {
        let error = object.image(&Limits::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.over_limit().map(|(parameter, _)| parameter), Some("max_image"));
    });
    assert!(taken < 1 << 20, "{taken}");
}

/// A module with code that refers to its symbols, by symbol.
fn module(symbols: Vec<Symbol>, kind: RelocationKind, count: u64) -> Module {
    let mut module = Module::new("gfx942".parse().expect("a target"), CodeObjectVersion::V5);
    let flags = SectionFlags::ALLOC | SectionFlags::EXECUTE;
    let mut text = Section::new(".text", flags, 4, vec![0; 64]);
    let names = symbols.len() as u64;
    text.relocations = (0..count)
        .map(|at| Relocation { offset: at % 8 * 8, kind, symbol: SymbolId((at % names) as usize), addend: 4 })
        .collect();
    module.add_section(text);
    module.symbols = symbols;
    module
}

/// Relocatable files: what they make the linker do is bounded.
#[test]
fn relocatable_files() {
    let checked = |name: &str, module: &Module| {
        check(name, &write_relocatable(module).expect("a module that can be written"));
    };
    let long = "n".repeat(60_000);
    let own = || Symbol { binding: Binding::Global, ..Symbol::in_section(long.clone(), SectionId(0), 0) };
    let count = 50_000;
    let undefined = vec![Symbol::undefined(long.clone())];
    checked("uses of a symbol with a long name", &module(undefined, RelocationKind::Rel32Lo, count));
    checked("problems with a long name", &module(vec![own()], RelocationKind::Abs32, count));
    let names = (0..count).map(|at| Symbol::undefined(format!("u{at}"))).collect();
    checked("many undefined symbols", &module(names, RelocationKind::Rel32Lo, count));
    checked("entries of the global offset table", &{
        let name =
            |at| Symbol { binding: Binding::Global, ..Symbol::in_section(format!("s{at}"), SectionId(0), 0) };
        module((0..count).map(name).collect(), RelocationKind::GotPcRel, count)
    });

    let empty = || module(vec![own()], RelocationKind::Rel32, 1);
    let with = |name: &str, sections: &mut dyn Iterator<Item = Section>| {
        let mut module = empty();
        module.sections.extend(sections);
        checked(name, &module);
    };
    let section = |align, size| Section::new(".data", SectionFlags::ALLOC, align, vec![1; size]);
    with("sections with large alignments", &mut (0..300).map(|_| section(16 << 20, 4)));
    with("sections that are pages apart", &mut (0..4000).map(|_| section(4096, 1)));
    let mergeable = |align, size| Section {
        flags: SectionFlags::ALLOC | SectionFlags::MERGE,
        entry_size: 4,
        contents: Contents::Bytes((0..size).flat_map(u32::to_le_bytes).collect()),
        ..section(align, 0)
    };
    for align in [4, 256, 4096, 1 << 20] {
        with("entries with an alignment", &mut (0..8).map(|_| mergeable(align, 4000)));
    }
    let zeros = |size| Section {
        contents: Contents::Zeros(size),
        ..Section::new(".bss", SectionFlags::ALLOC | SectionFlags::WRITE, 4, Vec::new())
    };
    with("zeros", &mut (0..100).map(|_| zeros(1 << 50)));
    with("zeros without an end", &mut (0..4).map(|_| zeros(u64::MAX / 2)));
    let debug = |size| Section {
        contents: Contents::Zeros(size),
        ..Section::new(".debug_zeros", SectionFlags::default(), 1, Vec::new())
    };
    with("zeros that are not loaded", &mut std::iter::once(debug(1 << 40)));

    // Every section has the same long name.
    let mut named = empty();
    named.sections.extend((0..5000).map(|_| section(4, 4)));
    named.sections[0].name = long;
    let mut data = write_relocatable(&named).expect("a module that can be written");
    let headers = section_headers(&data);
    let name = word(&data, headers.iter().find(|header| header.name.len() > 50_000).expect("it").header);
    for header in headers.iter().filter(|header| header.name == ".data") {
        let kind = word(&data, header.header) >> 32;
        set(&mut data, header.header, (name & 0xffff_ffff) | kind << 32);
    }
    check("a name of many sections", &data);
}

/// Compressed debug information is measured before it is decompressed.
#[test]
fn sections_that_unfold() {
    const COMPRESSED: u64 = 0x800;
    let limits = Limits::default();
    let size = 256_usize << 20;
    for (method, contents) in [(1_u32, zlib(&[], size)), (2, zstd(&[], size >> 17))] {
        for declared in [size as u64, 1 << 40, 1 << 20] {
            let mut module = module(vec![Symbol::in_section("s", SectionId(0), 0)], RelocationKind::Rel32, 1);
            let header = [method.to_le_bytes(), [0; 4]].concat();
            let bytes = [&header[..], &declared.to_le_bytes(), &1_u64.to_le_bytes(), &contents].concat();
            module.add_section(Section::new(".debug_str", SectionFlags(COMPRESSED), 8, bytes));
            let data = write_relocatable(&module).expect("a module that can be written");
            let taken = peak(|| {
                let error = loadable(&data, &limits).map(drop).unwrap_err();
                let expected = (declared > 1 << 20).then_some(("max_decompressed", declared));
                assert_eq!(error.over_limit(), expected, "{error}");
            });
            assert!(taken <= MOST * data.len() + BASE, "{taken} bytes for {}", data.len());
        }
    }
}
