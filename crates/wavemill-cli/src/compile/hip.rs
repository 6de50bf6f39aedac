//! Arguments and libraries for HIP.

use std::ffi::OsString;
use std::path::PathBuf;

use wavemill_object::TargetId;

use super::clang::Clang;
use super::words::path_word;
use super::{CompileArgs, Own, libraries};
use crate::failure::Failure;

/// Advice when HIP's headers are missing.
pub(super) const HEADERS: &str = "Debian and Ubuntu: apt install --no-install-recommends libamdhip64-dev. --rocm-path \
     names another ROCm folder.";

/// Whether clang's messages show that the source does not include HIP's header: a name that the
/// header always declares is unknown.
pub(super) fn lacks_include(said: &str) -> bool {
    const NAMES: [&str; 8] = [
        "threadIdx",
        "blockIdx",
        "blockDim",
        "gridDim",
        "__syncthreads",
        "dim3",
        "hipThreadIdx_x",
        "hipBlockIdx_x",
    ];
    const UNKNOWN: [&str; 2] = ["use of undeclared identifier", "unknown type name"];
    said.lines().any(|line| {
        UNKNOWN.iter().any(|unknown| line.contains(unknown))
            && NAMES.iter().any(|name| line.contains(&format!("'{name}'")))
    })
}

/// The folder with `include/hip/hip_runtime.h`.
fn headers(args: &CompileArgs) -> Option<PathBuf> {
    let has = |folder: &PathBuf| folder.join("include/hip/hip_runtime.h").is_file();
    libraries::rocm_folders(args).into_iter().find(has)
}

/// clang arguments for the kernels of a HIP source.
///
/// # Errors
/// There are no headers or device libraries.
pub(super) fn arguments(clang: &Clang, target: &TargetId, args: &CompileArgs) -> Result<Own, Failure> {
    let Some(folder) = libraries::device_libraries(clang, args)? else {
        return Err(Failure::input(
            "HIP needs ROCm's device libraries (amdgcn/bitcode/ockl.bc), which are neither in a ROCm folder nor in the \
             folders of distributions",
        )
        .help(
            "Debian 12 and Ubuntu: apt install rocm-device-libs. Newer Debian: rocm-device-libs-21 or amd-device-libs-21. AMD's \
             ROCm: rocm-device-libs. --rocm-path names another ROCm folder.",
        ));
    };
    let Some(headers) = headers(args) else {
        let folders = libraries::rocm_folders(args).into_iter();
        let folders: Vec<String> = folders.map(|folder| format!("{}/include", folder.display())).collect();
        let message =
            format!("HIP needs the header hip/hip_runtime.h, which is not in {}", folders.join(", "));
        return Err(Failure::input(message).help(HEADERS));
    };
    let arch = format!("--offload-arch={target}");
    let mut rocm = OsString::from("--rocm-path=");
    rocm.push(path_word(&headers));
    let mut own = Own::new(&[
        "-x",
        "hip",
        &arch,
        "--offload-device-only",
        "--no-gpu-bundle-output",
        "-nogpulib",
        "-fuse-cuid=none",
        "-mcode-object-version=5",
        "-O2",
        "-g",
        // Headers older than clang 20 expect the compiler to define it.
        "-D__AMDGCN_WAVEFRONT_SIZE=64",
        "-Wno-linker-warnings",
    ]);
    own.arguments.push(rocm);
    // Fences that older headers call and newer ones define.
    let fences = folder.join("hip.bc");
    if fences.is_file() {
        own.link(&fences);
    }
    libraries::link_device_libraries(&mut own, &folder, &[], target)?;
    Ok(own)
}
