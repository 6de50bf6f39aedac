//! Checks that the cases match the code objects: symbols, arguments, workgroup sizes, and metadata.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use rmpv::Value as Pack;
use wavemill_kernels::{
    Arg, Case, KERNELS, Level, OBJECTS, Size, Target, Value, case, fixture, fixture_at, opencl_options,
    source, twin, why_absent,
};

/// Every target of GCN at every level.
fn builds() -> impl Iterator<Item = (Target, Level)> {
    Target::GCN.into_iter().flat_map(|target| Level::ALL.map(|level| (target, level)))
}

fn there(target: Target, level: Level, object: &str) -> Cow<'static, [u8]> {
    fixture_at(target, level, object).expect("a committed object")
}

fn field<'a>(map: &'a Pack, key: &str) -> Option<&'a Pack> {
    map.as_map()?.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, value)| value)
}

/// The metadata of the kernel from the note of the code object.
fn metadata(elf: &object::File<'_>, kernel: &str) -> Pack {
    let note = elf.section_by_name(".note").expect("a note").uncompressed_data().expect("readable");
    // Name size, description size, type, "AMDGPU\0" padded to 8.
    let size = u32::from_le_bytes(note[4..8].try_into().expect("four bytes")) as usize;
    let whole = rmpv::decode::read_value(&mut &note[20..20 + size]).expect("msgpack");
    field(&whole, "amdhsa.kernels")
        .and_then(Pack::as_array)
        .and_then(|all| all.iter().find(|k| field(k, ".name").and_then(Pack::as_str) == Some(kernel)))
        .unwrap_or_else(|| panic!("metadata of {kernel}"))
        .clone()
}

fn small(kernel: &wavemill_kernels::KernelCase) -> Case {
    kernel.make(Size::Small)
}

#[test]
fn the_table_names_exactly_the_committed_objects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let sources: BTreeSet<String> = std::fs::read_dir(&folder)
        .expect("kernels/")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".cl")?.to_owned()))
        .collect();
    assert_eq!(sources, OBJECTS.iter().map(|name| (*name).to_owned()).collect());
    for target in Target::GCN {
        assert_eq!(Target::from_name(target.name()), Some(target));
        let objects = folder.join("bin").join(target.name());
        let files = |folder: &Path| std::fs::read_dir(folder).expect("a folder").count();
        // Next to the objects of -O2 are four folders: two of other levels, one for HIP, and one
        // for faulty kernels. Targets with images have one for these.
        let has_images = matches!(target, Target::Gfx906 | Target::Gfx90a);
        assert_eq!(files(&objects), OBJECTS.len() + 4 + usize::from(has_images), "{}", target.name());
        for level in [Level::O0, Level::O3] {
            assert_eq!(Level::from_name(level.name()), Some(level));
            // The HIP objects.
            assert_eq!(
                files(&objects.join(level.name())),
                OBJECTS.len() + 1,
                "{} {}",
                target.name(),
                level.name()
            );
        }
    }
    assert_eq!(fixture(Target::Gfx906, "no such kernel"), None);
    for level in Level::ALL {
        let error = fixture_at(Target::Gfx906, level, "no such kernel").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no such kernel.co"), "{error}");
    }
    for target in Target::ALL {
        assert_eq!(Target::from_name(target.name()), Some(target));
    }
    assert!(case("no such kernel", Size::Small).is_none());
}

/// The kernels of each case are in the object, or the list says why not, and nothing else is there.
#[test]
fn objects_of_cayman_have_the_kernels_that_the_list_does_not_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bin/cayman");
    let mut kernels = 0;
    for object in OBJECTS {
        let path = folder.join(format!("{object}.o"));
        let committed = std::fs::read(&path).ok();
        assert_eq!(fixture(Target::Cayman, object), committed.as_deref(), "{}", path.display());
        let mut found = BTreeSet::new();
        if let Some(bytes) = &committed {
            let elf = object::File::parse(&**bytes).expect("an ELF file");
            let object::FileFlags::Elf { e_flags, .. } = elf.flags() else { panic!("not ELF") };
            assert_eq!(e_flags.0, 0xf, "{object}");
            let functions = elf.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
            found.extend(functions.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())));
        }
        let cases = KERNELS.iter().map(small).filter(|case| case.object == *object);
        let expected: BTreeSet<String> = cases
            .filter(|case| why_absent(Target::Cayman, object, case.kernel).is_none())
            .map(|case| case.kernel.to_owned())
            .collect();
        assert_eq!(found, expected, "{object}");
        kernels += found.len();
    }
    assert!(kernels >= 50, "{kernels}");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 36);
    let reason = why_absent(Target::Cayman, "daxpy", "daxpy");
    assert_eq!(reason, Some("llc: unsupported library call operation"));
    assert!(why_absent(Target::Cayman, "printf", "printf_kinds").is_some());
    assert_eq!(why_absent(Target::Gfx906, "daxpy", "daxpy"), None);
}

#[test]
fn objects_are_for_their_targets() {
    // e_flags: the processor, and any xnack and sramecc if it has them (AMDGPUUsage, "ELF code
    // object").
    for (target, machine) in
        [(Target::Gfx906, 0x2f), (Target::Gfx90a, 0x3f), (Target::Gfx942, 0x4c), (Target::Gfx950, 0x4f)]
    {
        for (level, object) in
            Level::ALL.into_iter().flat_map(|level| OBJECTS.iter().map(move |o| (level, o)))
        {
            let bytes = there(target, level, object);
            let elf = object::File::parse(&*bytes).expect("an ELF file");
            let object::FileFlags::Elf { e_flags, abi_version, .. } = elf.flags() else { panic!("not ELF") };
            assert_eq!(e_flags.0 & 0xff, machine, "{object} for {}", target.name());
            assert_eq!(abi_version, 4, "code object version 6");
            // Without optimisation and with debug info, the kernels with every atomic operation
            // have 106 KiB.
            let most = if level == Level::O0 { 112 << 10 } else { 16 << 10 };
            assert!(bytes.len() < most, "{object} is small");
        }
    }
}

#[test]
fn only_unoptimised_objects_tell_of_their_sources_and_none_of_the_host() {
    for (target, level) in builds() {
        for object in OBJECTS {
            let bytes = there(target, level, object);
            let elf = object::File::parse(&*bytes).expect("an ELF file");
            let strings: Vec<String> = [".debug_str", ".debug_line_str"]
                .into_iter()
                .filter_map(|name| elf.section_by_name(name)?.uncompressed_data().ok())
                .flat_map(|data| {
                    String::from_utf8_lossy(&data).split('\0').map(str::to_owned).collect::<Vec<_>>()
                })
                .collect();
            let about = format!("{object} for {} at {}", target.name(), level.name());
            assert_eq!(strings.contains(&format!("{object}.cl")), level == Level::O0, "{about}");
            assert_eq!(strings.iter().any(|s| s == "kernels"), level == Level::O0, "{about}");
            assert_eq!(elf.section_by_name(".debug_line").is_some(), level == Level::O0, "{about}");
            assert!(strings.iter().all(|s| !s.starts_with('/')), "{about}");
        }
    }
}

#[test]
fn every_kernel_has_a_case_and_every_case_a_kernel() {
    let all: Vec<Case> = KERNELS.iter().map(small).collect();
    for (target, level) in builds() {
        for object in OBJECTS {
            let bytes = there(target, level, object);
            let elf = object::File::parse(&*bytes).expect("an ELF file");
            let symbols: BTreeSet<String> = elf
                .dynamic_symbols()
                .filter_map(|symbol| Some(symbol.name().ok()?.strip_suffix(".kd")?.to_owned()))
                .collect();
            let cases: BTreeSet<String> =
                all.iter().filter(|case| case.object == *object).map(|case| case.kernel.to_owned()).collect();
            assert_eq!(symbols, cases, "{object} for {}", target.name());
        }
    }
}

#[test]
fn arguments_and_workgroups_are_those_of_the_kernels() {
    for kernel in KERNELS {
        let case = small(kernel);
        assert_eq!(case.name, kernel.name);
        for (target, level) in builds() {
            let bytes = there(target, level, case.object);
            let elf = object::File::parse(&*bytes).expect("an ELF file");
            let about = metadata(&elf, case.kernel);
            let all = field(&about, ".args").and_then(Pack::as_array).expect("arguments");
            let explicit: Vec<(String, String)> = all
                .iter()
                .filter_map(|arg| {
                    let kind = field(arg, ".value_kind")?.as_str()?;
                    if kind.starts_with("hidden_") {
                        return None;
                    }
                    let (name, ty) = (field(arg, ".name")?.as_str()?, field(arg, ".type_name")?.as_str()?);
                    Some((name.to_owned(), format!("{kind} {ty}")))
                })
                .collect();
            assert_eq!(explicit.len(), case.args.len(), "arguments of {}", case.name);
            for (Arg { name, value }, (expected, kind)) in case.args.iter().zip(&explicit) {
                assert_eq!(name, expected, "argument of {}", case.name);
                let fits = match value {
                    Value::Buffer { .. } => kind.starts_with("global_buffer "),
                    Value::Local(_) => kind.starts_with("dynamic_shared_pointer "),
                    Value::U32(_) => kind == "by_value uint" || kind == "by_value int",
                    Value::U64(_) => kind == "by_value ulong",
                    Value::F32(_) => kind == "by_value float",
                    Value::F64(_) => kind == "by_value double",
                    Value::Bytes(_) => kind == "by_value block",
                };
                assert!(fits, "{name} of {} is {kind}, not {value:?}", case.name);
            }
            let items = case.local.iter().product::<u32>();
            let most = field(&about, ".max_flat_workgroup_size").and_then(Pack::as_u64).expect("a limit");
            assert!(u64::from(items) <= most, "{}", case.name);
            if let Some(required) = field(&about, ".reqd_workgroup_size").and_then(Pack::as_array) {
                let required: Vec<Option<u64>> = required.iter().map(Pack::as_u64).collect();
                assert_eq!(required, case.local.map(|size| Some(u64::from(size))), "{}", case.name);
                // A compiler may rely on whole groups if the size is fixed.
                assert!((0..3).all(|d| case.global[d].is_multiple_of(case.local[d])), "{}", case.name);
            }
        }
    }
}

#[test]
fn small_cases_fill_many_workgroups_and_are_the_same_each_time() {
    for kernel in KERNELS {
        let case = small(kernel);
        assert!(case.group_count() >= 64, "{} has {} workgroups", case.name, case.group_count());
        assert_eq!(case.args, small(kernel).args, "{}", case.name);
        assert!(case.dims >= 1 && (case.dims..3).all(|d| case.global[d as usize] == 1), "{}", case.name);
    }
}

#[test]
fn inputs_alone_are_never_taken_for_results() {
    for kernel in KERNELS {
        let case = small(kernel);
        let before: Vec<&[u8]> = case.buffers().map(|buffer| buffer.data).collect();
        let error = case.check(&before).expect_err(case.name).to_string();
        assert!(error.starts_with(case.name), "{error}");
    }
}

#[test]
fn sources_are_whole() {
    for object in OBJECTS {
        let text = source(object).unwrap_or_else(|| panic!("{object} has a source"));
        assert!(!text.contains("#include"), "{object} includes a file that is not in its text");
        for kernel in KERNELS.iter().map(small).filter(|case| case.object == *object) {
            // Macros build some names.
            let parts = kernel.kernel.split('_').all(|part| text.contains(part));
            assert!(parts, "{object} has no kernel {}", kernel.kernel);
        }
    }
    // Those of twins, too, and each twin is of a source. `printf` has none.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/twins");
    let files = std::fs::read_dir(folder).expect("kernels/twins").count();
    let twins: Vec<String> = OBJECTS.iter().filter_map(|object| twin(object)).collect();
    assert_eq!(twins.len(), files);
    for text in twins {
        assert!(!text.contains("#include"), "a twin includes a file that is not in its text: {text}");
    }
    // The text of a header replaces its name.
    assert!(source("atomics_local32").is_some_and(|text| text.contains("#define EVERY_SCOPE")));
    assert_eq!(source("no such kernel"), None);
}

/// Runs `flags_of` of the build script for an object.
#[cfg(unix)]
#[test]
fn options_are_those_of_the_build_script() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/build.sh");
    let text = std::fs::read_to_string(script).expect("the build script");
    let start = text.find("flags_of() {").expect("flags_of");
    let end = start + text[start..].find("\n}\n").expect("its end") + 3;
    for object in OBJECTS {
        let output = std::process::Command::new("bash")
            .args(["-c", &format!("{}\nflags_of {object}", &text[start..end])])
            .output()
            .expect("bash");
        assert!(output.status.success(), "{object}");
        let flags = String::from_utf8(output.stdout).expect("text");
        let flags: Vec<&str> = flags.split_whitespace().filter(|flag| flag.starts_with("-cl-")).collect();
        assert_eq!(opencl_options(object), flags, "{object}");
    }
}
