//! Arguments and libraries for OpenCL C.

use wavemill_object::TargetId;

use super::clang::Clang;
use super::{CompileArgs, Own, libraries};
use crate::failure::Failure;

/// clang arguments for an OpenCL C kernel.
///
/// # Errors
/// There is no library with OpenCL's functions.
pub(super) fn arguments(clang: &Clang, target: &TargetId, args: &CompileArgs) -> Result<Own, Failure> {
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
    if let Some(library) = libraries::libclc(clang, args)? {
        // libclc reads the global offset where version 4 code objects have it.
        own.arguments.push("-mcode-object-version=4".into());
        own.link(&library);
        return Ok(own);
    }
    let Some(folder) = libraries::device_libraries(clang, args)? else {
        let message = "OpenCL C needs a library with OpenCL's functions, but neither libclc (amdgcn-amd-amdhsa.bc) \
                       nor ROCm's device libraries (opencl.bc) were found";
        return Err(Failure::input(message).help(format!(
            "Debian and Ubuntu: apt install {}. Fedora and Arch: the package libclc. --libclc names the file.",
            clang.package("libclc")
        )));
    };
    own.arguments.extend(["-mcode-object-version=5", "-Wno-linker-warnings"].map(Into::into));
    libraries::link_device_libraries(&mut own, &folder, &["opencl.bc"], target)?;
    Ok(own)
}
