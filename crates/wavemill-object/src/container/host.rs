//! Bundles inside host programs, libraries and object files.

use object::{Object, ObjectSection};

use super::bundle::{self, Bundle, PLAIN_MAGIC};
use super::compressed;
use crate::bytes;
use crate::error::{Error, Result};
use crate::sniff;

/// Sections where the HIP linker puts bundles; Windows truncates section names to 8 bytes.
const BUNDLE_SECTIONS: [&str; 2] = [".hip_fatbin", ".hip_fat"];

/// The first bytes of a code object: ELF, 64 bits, little-endian, version 1, AMD HSA.
const CODE_OBJECT_MAGIC: &[u8] = b"\x7fELF\x02\x01\x01\x40";

/// Finds the bundles in a host file.
pub(super) fn find(data: &[u8]) -> Result<Vec<Bundle<'_>>> {
    let mut bundles = Vec::new();
    let mut offload_packages = false;
    let mut cuda = false;
    if let Ok(file) = object::File::parse(data) {
        for section in file.sections() {
            let Ok(name) = section.name() else { continue };
            offload_packages |= name == ".llvm.offloading";
            cuda |= name == ".nv_fatbin";
            if BUNDLE_SECTIONS.contains(&name)
                && let Some((offset, size)) = section.file_range()
            {
                let contents = bytes::slice(data, offset, size, "section .hip_fatbin")?;
                bundles.extend(bundle::parse_all(contents, offset, Some(name))?);
            }
        }
    }
    if bundles.is_empty() && may_embed(data) {
        bundles = scan(data);
    }
    if !bundles.is_empty() {
        return Ok(bundles);
    }
    if offload_packages {
        return Err(Error::Unsupported {
            what: "host file",
            detail: "it has LLVM offload packages (section .llvm.offloading, as OpenMP uses) and no \
                     offload bundle; extract the code objects with clang-offload-packager first"
                .to_owned(),
        });
    }
    Err(match sniff::foreign("AMD GPU code", data) {
        Error::Foreign { expected, found, advice: "" } => {
            let advice = match cuda {
                true => "it has code for NVIDIA GPUs only",
                false => {
                    "it has no AMD GPU code: neither a section .hip_fatbin nor an offload bundle or \
                     code object anywhere"
                }
            };
            Error::Foreign { expected, found, advice }
        }
        other => other,
    })
}

/// Whether to scan the data for bundles: yes for programs and unknown data, no for files that must
/// be unpacked first.
fn may_embed(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF") || data.starts_with(b"MZ") || sniff::describe(data).0.starts_with("unknown")
}

/// Scans for anything that is a bundle or a code object. Skips data that only begins like one:
/// compilers contain these magics too.
fn scan(data: &[u8]) -> Vec<Bundle<'_>> {
    let mut starts: Vec<usize> = [PLAIN_MAGIC, compressed::MAGIC, CODE_OBJECT_MAGIC]
        .iter()
        .flat_map(|magic| memchr::memmem::find_iter(data, magic))
        .collect();
    starts.sort_unstable();
    let mut bundles = Vec::new();
    let mut end = 0;
    for start in starts.into_iter().filter(|&start| start != 0) {
        // Skip code objects inside bundles.
        if start < end {
            continue;
        }
        let (rest, offset) = (&data[start..], start as u64);
        let found = if rest.starts_with(CODE_OBJECT_MAGIC) {
            code_object_size(rest)
                .and_then(|size| rest.get(..size))
                .filter(|code| crate::CodeObject::parse(code).is_ok())
                .map(|code| Bundle::code_object(code, offset, None))
        } else {
            bundle::parse_one(rest, offset, None).ok().filter(Bundle::is_genuine)
        };
        if let Some(bundle) = found {
            end = start.saturating_add(usize::try_from(bundle.size()).unwrap_or(usize::MAX));
            bundles.push(bundle);
        }
    }
    bundles
}

/// The length of the ELF file at the start of `data`: up to the end of its section headers or of
/// its last section, whichever is later.
fn code_object_size(data: &[u8]) -> Option<usize> {
    use object::read::elf::{FileHeader, SectionHeader};
    let header = object::elf::FileHeader64::<object::LittleEndian>::parse(data).ok()?;
    let endian = object::LittleEndian;
    let sections = header.section_headers(endian, data).ok()?;
    let headers_end = header.e_shoff(endian).checked_add(std::mem::size_of_val(sections) as u64)?;
    let ends = sections.iter().filter_map(|section| section.file_range(endian));
    let end = ends.map(|(at, size)| at.saturating_add(size)).fold(headers_end, u64::max);
    usize::try_from(end).ok()
}
