//! Arguments and libraries for OpenCL C.

use wavemill_object::TargetId;

use super::clang::Clang;
use super::{CompileArgs, Own, libraries};
use crate::failure::Failure;

/// Whether a source has a word that only kernels with images need.
fn names_images(source: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] = [
        b"sampler_t",
        b"image1d_t",
        b"image2d_t",
        b"image3d_t",
        b"image1d_array_t",
        b"image2d_array_t",
        b"image1d_buffer_t",
    ];
    let mut words = source.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    words.any(|word| WORDS.contains(&word))
}

/// clang arguments for an OpenCL C kernel.
///
/// # Errors
/// There is no library with OpenCL's functions.
pub(super) fn arguments(
    clang: &Clang,
    target: &TargetId,
    args: &CompileArgs,
    source: &[u8],
) -> Result<Own, Failure> {
    let cpu = format!("-mcpu={target}");
    let mut own = Own::new(&[
        "-x",
        "cl",
        "-cl-std=CL2.0",
        "-target",
        "amdgcn-amd-amdhsa",
        &cpu,
        "-O2",
        "-g",
        // Names and types of arguments.
        "-cl-kernel-arg-info",
        "-nogpulib",
    ]);
    // libclc has no functions of images for code objects.
    let images = args.libclc.is_none() && names_images(source);
    if let Some(library) = libraries::libclc(clang, args)?.filter(|_| !images) {
        // libclc reads the global offset where version 4 code objects have it.
        own.arguments.push("-mcode-object-version=4".into());
        own.link(&library);
        return Ok(own);
    }
    let Some(folder) = libraries::device_libraries(clang, args)? else {
        let message = "OpenCL C needs a library with OpenCL's functions, but neither libclc (amdgcn-amd-amdhsa.bc) \
                       nor ROCm's device libraries (opencl.bc) were found";
        if images {
            let message = "a kernel with images needs ROCm's device libraries (opencl.bc, ockl.bc), which were not found: \
                           libclc has no functions of images";
            return Err(Failure::input(message).help(
                "Debian and Ubuntu: apt install rocm-device-libs. --rocm-path names another ROCm folder.",
            ));
        }
        return Err(Failure::input(message).help(format!(
            "Debian and Ubuntu: apt install {}. Fedora and Arch: the package libclc. --libclc names the file.",
            clang.package("libclc")
        )));
    };
    own.arguments.extend(["-mcode-object-version=5", "-Wno-linker-warnings"].map(Into::into));
    libraries::link_device_libraries(&mut own, &folder, &["opencl.bc"], target)?;
    Ok(own)
}
