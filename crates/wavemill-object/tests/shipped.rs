//! Reads shipped libraries: every code object in them must be readable and consistent.
//!
//! They are too large for this repository. Unpack some into a folder, for example the Debian
//! packages librocrand1 and librocsparse0 and the Python wheels jax-rocm7-plugin and bitsandbytes,
//! and run
//!
//! ```text
//! WAVEMILL_SHIPPED=folder cargo test --release -p wavemill-object --test suite shipped:: -- --ignored --nocapture
//! ```

use std::fs::File;
use std::path::{Path, PathBuf};

use wavemill_object::{
    CodeObject, Container, Generation, Kernel, Limits, Processor, ValueKind, is_called, may_define,
};

/// All files in a folder and its subfolders, sorted by name. Does not follow links.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), out);
        } else if kind.is_file() && entry.metadata().unwrap().len() != 0 {
            out.push(entry.path());
        }
    }
}

/// The contradictions of a kernel.
fn contradictions(object: &CodeObject<'_>, kernel: &Kernel) -> Vec<String> {
    let mut out = Vec::new();
    let mut check = |what: &str, fine: bool| {
        if !fine {
            out.push(format!("{}: {what}", kernel.name));
        }
    };
    let descriptor = &kernel.descriptor;
    check("reserved bytes", descriptor.reserved_is_zero);
    check("entry alignment", kernel.entry_address.is_multiple_of(256));
    check("code size", kernel.code_size.is_some());
    let Some(registers) = descriptor.registers(&object.target().processor) else {
        return vec![format!("{}: unknown registers", kernel.name)];
    };
    let Some(data) = &kernel.metadata else { return vec![format!("{}: no metadata", kernel.name)] };
    check("LDS", data.group_segment_fixed_size == Some(descriptor.group_segment_fixed_size));
    check("scratch", data.private_segment_fixed_size == Some(descriptor.private_segment_fixed_size));
    check("kernarg size", data.kernarg_segment_size == Some(kernel.kernarg_size()));
    check("wave size", data.wavefront_size == Some(descriptor.wavefront_size()));
    let vgprs = data.vgpr_count.unwrap_or(0);
    let least = vgprs.max(1).next_multiple_of(registers.vgpr_granule);
    check("VGPRs", registers.vgprs >= least);
    if object.target().processor.generation() <= Some(Generation::Gfx940) {
        check("SGPRs", registers.sgprs >= data.sgpr_count.unwrap_or(u32::MAX));
    }
    if let (Some(offset), Some(agprs)) = (registers.accum_offset, data.agpr_count) {
        check("AGPRs", offset + agprs <= registers.vgprs.max(offset));
    }
    let mut end = 0;
    for arg in &data.args {
        check("arguments overlap", arg.offset >= end);
        end = arg.offset.saturating_add(arg.size);
        check("kind of an argument", !matches!(arg.value_kind, ValueKind::Other(_)));
        check("unknown keys of an argument", arg.extra.is_empty());
    }
    check("arguments past the end", end <= kernel.kernarg_size());
    // Keys of later generations only.
    const LATER: [&str; 2] = [".workgroup_processor_mode", ".gfx1250_revision"];
    for (key, _) in &data.extra {
        check(&format!("unknown key {key}"), LATER.contains(&key.as_str()));
    }
    out
}

#[test]
#[ignore = "needs libraries in the folder that WAVEMILL_SHIPPED names"]
fn shipped_libraries() {
    let folder = std::env::var_os("WAVEMILL_SHIPPED").expect("WAVEMILL_SHIPPED names a folder");
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    let limits = Limits::default();
    let (mut objects, mut kernels, mut skipped) = (0, 0, 0);
    let mut wrong = Vec::new();
    for path in paths {
        let file = File::open(&path).unwrap();
        // SAFETY: the file does not change while the test runs.
        let data = unsafe { memmap2::Mmap::map(&file).unwrap() };
        let container = match Container::parse(&data) {
            Ok(container) => container,
            Err(wavemill_object::Error::Foreign { .. }) => {
                skipped += 1;
                continue;
            }
            Err(error) => {
                wrong.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        for bundle in container.bundles() {
            let place = format!("{} at {:#x}", path.display(), bundle.offset());
            let open = match bundle.open(&limits) {
                Ok(open) => {
                    if open.checksum_matches() == Some(false) {
                        wrong.push(format!("{place}: the checksum does not match"));
                    }
                    open
                }
                Err(error) => {
                    wrong.push(format!("{place}: {error}"));
                    continue;
                }
            };
            for entry in open.entries() {
                let Some(target) = entry.id.target.as_ref().filter(|_| entry.size != 0) else { continue };
                let object = match open.read(entry).and_then(CodeObject::parse) {
                    Ok(object) => object,
                    Err(error) => {
                        wrong.push(format!("{place}: {}: {error}", entry.id));
                        continue;
                    }
                };
                objects += 1;
                kernels += object.kernels().len();
                let place = format!("{place}: {}", entry.id);
                // A kernel is found by its usual names.
                for kernel in object.kernels() {
                    let called = kernel.demangled_name();
                    for name in [Some(&kernel.name), called.as_ref()].into_iter().flatten() {
                        if !may_define(object.data(), name) || !is_called(&kernel.name, name) {
                            wrong.push(format!("{place}: {} is not found as {name}", kernel.name));
                        }
                    }
                }
                wrong.extend(object.problems().iter().map(|problem| format!("{place}: {problem}")));
                if object.target().to_string() != target.to_string() {
                    wrong.push(format!("{place}: the code object is for {}", object.target()));
                }
                if !matches!(object.target().processor, Processor::Known(_)) {
                    wrong.push(format!("{place}: unknown processor"));
                }
                if object.image(&limits).is_err() {
                    wrong.push(format!("{place}: no image"));
                }
                let faults = object.kernels().iter().flat_map(|kernel| contradictions(&object, kernel));
                wrong.extend(faults.map(|fault| format!("{place}: {fault}")));
            }
        }
    }
    println!("{objects} code objects, {kernels} kernels; {skipped} files without AMD GPU code");
    assert!(objects > 0, "no code object below {}", Path::new(&folder).display());
    let shown: Vec<_> = wrong.iter().take(30).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} contradictions, such as:\n{}", wrong.len(), shown.join("\n"));
}
