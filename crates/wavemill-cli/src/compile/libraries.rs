//! Finds the bitcode libraries that kernels are linked with, where packages install them.

use std::path::{Path, PathBuf};

use wavemill_object::TargetId;

use super::clang::Clang;
use super::{CompileArgs, Own, ROCM_VARIABLE, variable};
use crate::failure::Failure;
use crate::input::Shown as _;

/// The folders of libclc on Debian and Ubuntu, Fedora, Arch, and from manual builds.
const LIBCLC_FOLDERS: &[&str] = &["/usr/lib/clc", "/usr/share/clc", "/usr/lib64/clc", "/usr/local/share/clc"];

/// File names of libclc for code objects, the newest first.
const LIBCLC_NAMES: &[&str] = &["amdgcn-amd-amdhsa.bc", "amdgcn--amdhsa.bc"];

/// The folders of ROCm's device libraries, in a folder of ROCm and in a system folder.
const DEVICE_FOLDERS: &[&str] = &[
    "amdgcn/bitcode",
    "lib/llvm/amdgcn/bitcode",
    "lib/x86_64-linux-gnu/amdgcn/bitcode",
    "lib/aarch64-linux-gnu/amdgcn/bitcode",
    "lib64/amdgcn/bitcode",
    "lib/amdgcn/bitcode",
    "share/amdgcn/bitcode",
];

/// The library that every set of device libraries has.
const DEVICE_LIBRARY: &str = "ockl.bc";

/// libclc for code objects: from the command line, the compiler, or the system. If the user names a
/// folder of ROCm, its library is used instead.
///
/// # Errors
/// The command line names something that is not a file.
pub(super) fn libclc(clang: &Clang, args: &CompileArgs) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = &args.libclc {
        return match path.is_file() {
            true => Ok(Some(path.clone())),
            false => Err(Failure::input(format!("--libclc: there is no file `{}`", path.shown()))),
        };
    }
    if args.rocm_path.is_some() {
        return Ok(None);
    }
    let own = clang.resources.join("lib/amdgcn-amd-amdhsa/libclc.bc");
    let system = LIBCLC_FOLDERS
        .iter()
        .flat_map(|folder| LIBCLC_NAMES.iter().map(move |name| Path::new(folder).join(name)));
    Ok([own].into_iter().chain(system).find(|path| path.is_file()))
}

/// Rejects a folder of ROCm that does not exist.
///
/// # Errors
/// The command line names something that is not a folder.
pub(super) fn check_rocm_path(args: &CompileArgs) -> Result<(), Failure> {
    match &args.rocm_path {
        Some(path) if !path.is_dir() => {
            Err(Failure::input(format!("--rocm-path: there is no folder `{}`", path.shown())))
        }
        _ => Ok(()),
    }
}

/// Possible folders of ROCm: the command line's alone, or the ones from the environment and
/// packages.
pub(super) fn rocm_folders(args: &CompileArgs) -> Vec<PathBuf> {
    match &args.rocm_path {
        Some(path) => vec![path.clone()],
        None => variable(ROCM_VARIABLE).into_iter().chain(["/opt/rocm", "/usr"].map(PathBuf::from)).collect(),
    }
}

/// The folder of ROCm's device libraries.
///
/// # Errors
/// The command line names a folder of ROCm without them.
pub(super) fn device_libraries(clang: &Clang, args: &CompileArgs) -> Result<Option<PathBuf>, Failure> {
    let rocm = rocm_folders(args).into_iter();
    let rocm = rocm.flat_map(|root| DEVICE_FOLDERS.iter().map(move |folder| root.join(folder)));
    // The folder of ROCm's own clang, and of distributions that have a set for each release.
    let own = clang.resources.join("lib/amdgcn/bitcode");
    let own = args.rocm_path.as_ref().is_none_or(|root| is_within(&own, root)).then_some(own);
    let found = rocm.chain(own).find(|folder| folder.join(DEVICE_LIBRARY).is_file());
    match (&args.rocm_path, found) {
        (Some(path), None) => Err(Failure::input(format!(
            "--rocm-path: `{}` has no device libraries; looked for {DEVICE_LIBRARY} in its {}",
            path.shown(),
            DEVICE_FOLDERS.join(", ")
        ))
        .help("Name a ROCm folder with device libraries, or omit --rocm-path.")),
        (_, found) => Ok(found),
    }
}

/// Whether a path leads into a folder, whatever links are on the way.
fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.canonicalize(), folder.canonicalize());
    path.is_ok_and(|path| folder.is_ok_and(|folder| path.starts_with(folder)))
}

/// The library that tells the device libraries their target: the newest processor in the set with
/// the same first digits that is not newer than the target.
fn isa_library(folder: &Path, target: &TargetId) -> Option<PathBuf> {
    let number = |name: &str| u32::from_str_radix(name, 16).ok();
    let wanted = target.processor.name();
    let wanted = number(wanted.strip_prefix("gfx")?)?;
    let known = std::fs::read_dir(folder).ok()?.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        number(name.strip_prefix("oclc_isa_version_")?.strip_suffix(".bc")?)
    });
    // The last two digits are the minor version and the stepping.
    let nearest = known.filter(|known| known >> 8 == wanted >> 8 && *known <= wanted).max()?;
    Some(folder.join(format!("oclc_isa_version_{nearest:x}.bc")))
}

/// Links ROCm's device libraries, with settings that follow IEEE 754.
///
/// # Errors
/// The set in the folder is not complete.
pub(super) fn link_device_libraries(
    own: &mut Own,
    folder: &Path,
    first: &[&str],
    target: &TargetId,
) -> Result<(), Failure> {
    let settings = [
        "oclc_abi_version_500.bc",
        "oclc_wavefrontsize64_on.bc",
        "oclc_finite_only_off.bc",
        "oclc_unsafe_math_off.bc",
        "oclc_daz_opt_off.bc",
        "oclc_correctly_rounded_sqrt_on.bc",
    ];
    let incomplete = |what: &str| {
        Failure::input(format!("the device libraries in `{}` have no {what}", folder.shown()))
            .help("They are too old; ROCm 5.2 or later is needed. --rocm-path names another ROCm folder.")
    };
    for name in first.iter().chain(&["ocml.bc", DEVICE_LIBRARY]) {
        let path = folder.join(name);
        if !path.is_file() {
            return Err(incomplete(name));
        }
        own.link(&path);
    }
    let isa = isa_library(folder, target);
    own.link(&isa.ok_or_else(|| incomplete(&format!("oclc_isa_version_*.bc for {target}")))?);
    for name in settings {
        let path = folder.join(name);
        match path.is_file() {
            true => own.link(&path),
            // Newer sets lack settings that clang decides now.
            false if name != "oclc_abi_version_500.bc" => {}
            false => return Err(incomplete(name)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_older_processor_stands_for_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["906", "908", "90a", "940", "1030"] {
            std::fs::write(folder.path().join(format!("oclc_isa_version_{name}.bc")), "").unwrap();
        }
        let found = |target: &str| {
            let path = isa_library(folder.path(), &target.parse().unwrap())?;
            Some(path.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(found("gfx906").as_deref(), Some("oclc_isa_version_906.bc"));
        assert_eq!(found("gfx90a:xnack-").as_deref(), Some("oclc_isa_version_90a.bc"));
        assert_eq!(found("gfx942").as_deref(), Some("oclc_isa_version_940.bc"));
        assert_eq!(found("gfx950").as_deref(), Some("oclc_isa_version_940.bc"));
        assert_eq!(found("gfx900"), None);
    }
}
