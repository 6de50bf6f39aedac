//! Arguments and libraries for OpenCL C.

use wavemill_object::TargetId;

use super::clang::Clang;
use super::{CompileArgs, Own, libraries};
use crate::failure::Failure;

/// OpenCL C's types of images and samplers.
const TYPES: [&str; 13] = [
    "image1d_t",
    "image1d_array_t",
    "image1d_buffer_t",
    "image2d_t",
    "image2d_array_t",
    "image2d_depth_t",
    "image2d_array_depth_t",
    "image2d_msaa_t",
    "image2d_array_msaa_t",
    "image2d_msaa_depth_t",
    "image2d_array_msaa_depth_t",
    "image3d_t",
    "sampler_t",
];

/// Whether a source has a word that only kernels with images need.
fn names_images(source: &[u8]) -> bool {
    let mut words = source.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    words.any(|word| TYPES.iter().any(|name| name.as_bytes() == word))
}

/// Whether the linker misses functions of images with several samples.
pub(super) fn misses_samples(said: &str) -> bool {
    said.contains("undefined hidden symbol") && said.contains("_msaa_")
}

/// Extensions that ROCm's runtime enables, or that types of images need. clang's own list for AMD's
/// GPUs lacks them.
const IMAGE_EXTENSIONS: &str = "-cl-ext=+cl_khr_depth_images,+cl_khr_gl_msaa_sharing";

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
    if images {
        own.arguments.extend(["-Xclang", IMAGE_EXTENSIONS].map(Into::into));
    }
    libraries::link_device_libraries(&mut own, &folder, &["opencl.bc"], target)?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_images_is_found_as_a_word() {
        for name in TYPES {
            let source = format!("kernel void k(read_only {name} image) {{}}");
            assert!(names_images(source.as_bytes()), "{name}");
            assert!(!names_images(source.replace(name, &format!("my_{name}")).as_bytes()), "{name}");
        }
    }
}
