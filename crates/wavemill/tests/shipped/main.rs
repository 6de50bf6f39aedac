//! Runs kernels from the libraries of public packages: loaded as users load them, given arguments,
//! run on every target that a library has code for, and compared with references written from the
//! publications of their algorithms.
//!
//! The repository does not contain the packages. `.ci/shipped` downloads them and runs this. To run
//! it by hand, name a folder of unpacked packages, or several with `:` between them:
//!
//! ```text
//! WAVEMILL_SHIPPED=folder cargo test --release -p wavemill --test shipped
//! ```
//!
//! The last line names libraries that are not in the folder; `WAVEMILL_SHIPPED_ALL=1` makes a
//! missing library a failure.

mod bitsandbytes;
mod blit;
mod compare;
mod gpu;
mod jax;
mod random;
mod reference;
mod rocrand;
mod rocsparse;
mod xla;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use gpu::{Gpu, Library, Test};

/// A test of some kernels of a library.
struct Case {
    /// Beginning of the file's name.
    library: &'static str,
    name: &'static str,
    test: Test,
}

/// Beginnings of the libraries' file names.
const ROCRAND: &str = "librocrand.so";
const ROCSPARSE: &str = "librocsparse.so";
const BITSANDBYTES: &str = "libbitsandbytes_rocm";

/// Fewest distinct kernels that have to run when nothing is left out.
const KERNELS: usize = 20;

/// Whether a file name is a name of the library, apart from version suffixes.
fn is_of(library: &str, name: &str) -> bool {
    name.starts_with(library) && name.contains(".so")
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |library, tests: &[(&'static str, Test)]| {
        cases.extend(tests.iter().map(|(name, test)| Case { library, name, test: *test }));
    };
    add(
        ROCRAND,
        &[
            ("philox_integers", rocrand::philox_integers),
            ("philox_floats", rocrand::philox_floats),
            ("philox_normal", rocrand::philox_normal),
            ("philox_poisson", rocrand::philox_poisson),
            ("xorwow", rocrand::xorwow),
            ("mrg32k3a", rocrand::mrg32k3a),
            ("mtgp32", rocrand::mtgp32),
            ("sobol32", rocrand::sobol32),
            ("sobol64", rocrand::sobol64),
        ],
    );
    add("_prng.so", &[("threefry", jax::threefry)]);
    add(
        "_linalg.so",
        &[
            ("pivots_to_permutation", jax::pivots_to_permutation),
            ("tridiagonal_solve", jax::tridiagonal_solve),
            ("cholesky_update", jax::cholesky_update),
        ],
    );
    add("_solver.so", &[("batch_pointers", jax::batch_pointers), ("householder", jax::householder)]);
    add(
        BITSANDBYTES,
        &[
            ("quantise_blocks", bitsandbytes::quantise_blocks),
            ("dequantise_blocks", bitsandbytes::dequantise_blocks),
            ("optimisers", bitsandbytes::optimisers::steps),
            ("int8_rows", bitsandbytes::int8_rows),
            ("dequantise_products", bitsandbytes::dequantise_products),
            ("matrices_of_4_bits", bitsandbytes::products::matrices),
            ("vector_times_4_bits", bitsandbytes::products::vector),
            ("elementwise", bitsandbytes::elementwise),
        ],
    );
    add("xla_rocm_plugin.so", &[("bias_activation", xla::bias_activation)]);
    add("libhsa-runtime64.so", &[("image_copies", blit::copies), ("image_clears", blit::clears)]);
    add(ROCSPARSE, rocsparse::CASES);
    cases
}

/// Libraries below a folder, in order of their names. Links are not followed.
fn libraries(folder: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            libraries(&entry.path(), out)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().contains(".so") {
            out.push(entry.path());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let Some(folder) = std::env::var_os("WAVEMILL_SHIPPED") else {
        println!(
            "shipped: not run, because WAVEMILL_SHIPPED names no folder of unpacked packages (.ci/shipped fetches them)"
        );
        return ExitCode::SUCCESS;
    };
    let mut files = Vec::new();
    for folder in std::env::split_paths(&folder) {
        if let Err(error) = libraries(&folder, &mut files) {
            println!("error: {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    }
    let mut trials = Vec::new();
    let mut missing = Vec::new();
    let mut opened: Vec<Arc<Library>> = Vec::new();
    let cases = cases();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if cases.iter().any(|case| is_of(case.library, &name)) {
            match Library::open(&path) {
                Ok(library) => opened.push(Arc::new(library)),
                Err(error) => {
                    println!("error: {error}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    if opened.is_empty() {
        println!("error: {}: there is none of the libraries", Path::new(&folder).display());
        return ExitCode::FAILURE;
    }
    for case in cases {
        let mut found = false;
        for library in opened.iter().filter(|library| is_of(case.library, &library.name())) {
            found = true;
            for target in library.targets.clone() {
                let name = format!("{}::{}::{target}", case.name, library.name());
                let library = library.clone();
                trials.push(Trial::test(name, move || (case.test)(&Gpu::new(library, &target)?)));
            }
        }
        if !found && !missing.contains(&case.library) {
            missing.push(case.library);
        }
    }
    for library in &opened {
        for target in library.targets.clone() {
            let (name, library) = (format!("offsets::{}::{target}", library.name()), library.clone());
            trials.push(Trial::test(name, move || gpu::right_offsets(&library, &target)));
        }
    }
    let everything = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    let ran = gpu::ran();
    println!("shipped: {} distinct kernels have run, out of {} libraries", ran.len(), opened.len());
    if !missing.is_empty() {
        println!("shipped: not run, because they are not in the folder: {}", missing.join(", "));
    }
    let all = std::env::var_os("WAVEMILL_SHIPPED_ALL").is_some_and(|value| value == "1");
    if conclusion.has_failed() || all && (!missing.is_empty() || everything && ran.len() < KERNELS) {
        return ExitCode::from(101);
    }
    ExitCode::SUCCESS
}
