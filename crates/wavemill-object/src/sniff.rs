//! Identifies files that are not what the caller expected.

use crate::bytes;
use crate::error::Error;

/// ELF machine of AMD GPUs.
pub(crate) const EM_AMDGPU: u16 = 224;

/// Advice on LLVM IR.
const LLVM: &str =
    "compile it first, with `clang --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib FILE -o kernel.co`";

/// The words that lines of LLVM IR begin with.
const LLVM_LINES: &[&str] =
    &["; ModuleID", "source_filename =", "target triple =", "target datalayout =", "define ", "declare "];

/// The first bytes of files that people pass by mistake, with advice.
const MAGICS: &[(&[u8], &str, &str)] = &[
    (b"BC\xc0\xde", "LLVM bitcode", LLVM),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode", LLVM),
    (b"\x03\x02\x23\x07", "a SPIR-V module", "compile it for a GPU first"),
    (b"\x07\x23\x02\x03", "a big-endian SPIR-V module", "compile it for a GPU first"),
    (b"!<arch>\n", "an archive", "unpack it (`ar x`, or `dpkg -x` for a package) and read its members"),
    (b"!<thin>\n", "a thin archive", "read the object files that it lists"),
    (b"PK\x03\x04", "a ZIP archive or Python wheel", "unpack it and read the libraries inside"),
    (b"\x1f\x8b", "gzip data", "decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "decompress it first"),
    (b"\xfd7zXZ\0", "xz data", "decompress it first"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O file", "it has no AMD GPU code"),
    (b"\x50\xed\x55\xba", "a CUDA fat binary", "it has code for NVIDIA GPUs only"),
    (b"\x10\xff\x10\xad", "an LLVM offload package", "extract its images with clang-offload-packager first"),
    (b"MZ", "a Windows executable", "no offload bundle was found in it"),
    (b"//", "source text", "compile it first"),
    (b"#!", "a script", ""),
];

/// A description of `data`, and advice on such a file.
pub(crate) fn describe(data: &[u8]) -> (String, &'static str) {
    if data.is_empty() {
        return ("an empty file".to_owned(), "");
    }
    if data.starts_with(b"\x7fELF") {
        return describe_elf(data);
    }
    if data.starts_with(crate::container::PLAIN_MAGIC) {
        return ("an offload bundle".to_owned(), "read one of its entries");
    }
    if data.starts_with(crate::container::COMPRESSED_MAGIC) {
        return ("a compressed offload bundle".to_owned(), "read one of its entries");
    }
    if let Some((_, name, advice)) = MAGICS.iter().find(|(magic, ..)| data.starts_with(magic)) {
        return ((*name).to_owned(), advice);
    }
    let head = &data[..data.len().min(256)];
    if head.iter().all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e)) {
        let mut lines = head.split(|&byte| byte == b'\n');
        if lines.any(|line| LLVM_LINES.iter().any(|word| line.starts_with(word.as_bytes()))) {
            return ("LLVM IR".to_owned(), LLVM);
        }
        let advice = "assembly or source text must be assembled or compiled first";
        return ("text".to_owned(), advice);
    }
    let first = &data[..data.len().min(4)];
    (format!("unknown data that begins with the bytes {first:02x?}"), "")
}

fn describe_elf(data: &[u8]) -> (String, &'static str) {
    let (Some(class), Ok(machine)) = (data.get(4), bytes::u16(data, 18, "ELF header")) else {
        return ("the beginning of an ELF file".to_owned(), "the file is incomplete");
    };
    let bits = match class {
        1 => "32-bit",
        2 => "64-bit",
        _ => "damaged",
    };
    let machine = match machine {
        3 => "i386".to_owned(),
        21 => "PowerPC64".to_owned(),
        40 => "Arm".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        190 => "CUDA".to_owned(),
        243 => "RISC-V".to_owned(),
        EM_AMDGPU => "AMD GPU".to_owned(),
        other => format!("machine {other}"),
    };
    (format!("a {bits} ELF file for {machine}"), "")
}

/// An error that describes `data`, given instead of `expected`.
pub(crate) fn foreign(expected: &'static str, data: &[u8]) -> Error {
    let (found, advice) = describe(data);
    Error::Foreign { expected, found, advice }
}
