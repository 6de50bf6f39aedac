//! The committed code objects.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// A GPU that the fixtures are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Vega, 7 nm.
    Gfx906,
    /// MI200, CDNA 2.
    Gfx90a,
    /// MI300, CDNA 3.
    Gfx942,
    /// MI350, CDNA 4.
    Gfx950,
    /// Radeon HD 6900, VLIW4. LLVM's r600 backend compiles a part of the kernels ([`why_absent`]).
    Cayman,
}

impl Target {
    /// Every target, those of [`Target::GCN`] first.
    pub const ALL: [Target; 5] =
        [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950, Target::Cayman];

    /// The targets that every kernel is built for at every level, oldest first.
    pub const GCN: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

    /// The name that compilers use, such as `gfx906`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx906 => "gfx906",
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx950 => "gfx950",
            Target::Cayman => "cayman",
        }
    }

    /// The target of that name, if it has fixtures.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// The optimisation level of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// None, with debug info: for stepping through code.
    O0,
    /// The level of [`fixture`].
    O2,
    /// The highest, without names except those of kernels.
    O3,
}

impl Level {
    /// Every level, least optimised first.
    pub const ALL: [Level; 3] = [Level::O0, Level::O2, Level::O3];

    /// The name, which is the compiler's option without the dash, such as `O2`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::O0 => "O0",
            Level::O2 => "O2",
            Level::O3 => "O3",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The code object `object` (one of [`OBJECTS`]) for a target at a level. Those of [`Level::O2`]
/// are part of the crate. The others are many times as large and are read from the folder that the
/// crate was built in. Cayman has none at other levels.
///
/// # Errors
/// Fails if there is no object of that name ([`io::ErrorKind::NotFound`]), or if its file cannot be
/// read; the message has the path.
pub fn fixture_at(target: Target, level: Level, object: &str) -> io::Result<Cow<'static, [u8]>> {
    let path = path_of(target, level, object);
    let describe = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if !OBJECTS.contains(&object) {
        return Err(describe(io::ErrorKind::NotFound.into()));
    }
    match fixture(target, object) {
        Some(bytes) if level == Level::O2 => Ok(Cow::Borrowed(bytes)),
        _ => std::fs::read(&path).map(Cow::Owned).map_err(describe),
    }
}

/// The code object of that name for a target, which `kernels/hip/build.sh` compiles from a HIP
/// source at a level.
///
/// # Errors
/// Fails if its file cannot be read; the message has the path.
pub fn hip_fixture(target: Target, level: Level, object: &str) -> io::Result<Vec<u8>> {
    read(&path_of(target, level, &format!("hip/{object}")))
}

/// The code object of that name for a target, which `kernels/images/build.sh` compiles from an
/// OpenCL C source with images. Only gfx906 and gfx90a have image instructions.
///
/// # Errors
/// Fails if its file cannot be read; the message has the path.
pub fn image_fixture(target: Target, object: &str) -> io::Result<Vec<u8>> {
    read(&path_of(target, Level::O2, &format!("images/{object}")))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// The path of an object's file.
fn path_of(target: Target, level: Level, object: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(env!("WAVEMILL_KERNELS")).join("bin").join(target.name());
    let folder = if level == Level::O2 { folder } else { folder.join(level.name()) };
    let extension = if target == Target::Cayman { "o" } else { "co" };
    folder.join(format!("{object}.{extension}"))
}

macro_rules! fixtures {
    ([$($name:literal),+ $(,)?], cayman [$($cayman:literal),+ $(,)?]) => {
        /// The names of the code objects, which are the files in `kernels/` without `.cl`. Each is
        /// built for every target of [`Target::GCN`]. One object may hold several kernels.
        pub const OBJECTS: &[&str] = &[$($name),+];

        /// The code objects of [`Target::GCN`]. Those of one name have much in common. Next to each other, they make
        /// the command a tenth of a megabyte smaller in archives, whose compression looks back 32 KB.
        static GCN: &[(&str, [&[u8]; Target::GCN.len()])] = &[$((
            $name,
            [
                fixtures!(@file "gfx906", $name),
                fixtures!(@file "gfx90a", $name),
                fixtures!(@file "gfx942", $name),
                fixtures!(@file "gfx950", $name),
            ],
        )),+];

        static CAYMAN: &[(&str, &[u8])] = &[$(($cayman, fixtures!(@file "cayman", $cayman, ".o"))),+];
    };
    (@file $target:literal, $name:literal) => {
        fixtures!(@file $target, $name, ".co")
    };
    (@file $target:literal, $name:literal, $extension:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/",
            env!("WAVEMILL_KERNELS"),
            "/bin/",
            $target,
            "/",
            $name,
            $extension
        ))
        .as_slice()
    };
}

/// The code object `object` (one of [`OBJECTS`]) for a target, compiled with `-O2`; `None` if there is
/// none of that name. For [`Target::Cayman`], objects have the kernels without [`why_absent`] only,
/// and there is none if it would have none.
pub fn fixture(target: Target, object: &str) -> Option<&'static [u8]> {
    match Target::GCN.iter().position(|other| *other == target) {
        Some(at) => GCN.iter().find(|(name, _)| *name == object).map(|(_, objects)| objects[at]),
        None => CAYMAN.iter().find(|(name, _)| *name == object).map(|(_, object)| *object),
    }
}

/// What `kernels/cayman/build.sh` could not compile.
const ABSENT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", env!("WAVEMILL_KERNELS"), "/cayman/ABSENT"));

/// Why no object of a target has a kernel of `object` (one of [`OBJECTS`]): the compiler, and its
/// error. `None` if [`fixture`] has it. Only [`Target::Cayman`] lacks kernels.
pub fn why_absent(target: Target, object: &str, kernel: &str) -> Option<&'static str> {
    let mut lines = ABSENT.lines().filter(|line| target == Target::Cayman && !line.starts_with('#'));
    lines.find_map(|line| {
        let mut parts = line.splitn(3, ' ');
        let is_object = parts.next() == Some(object);
        let is_kernel = parts.next().is_some_and(|name| name == kernel || name == "*");
        parts.next().filter(|_| is_object && is_kernel)
    })
}

/// The names of the sources in OpenCL C, of their twins and of the headers, with their texts.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The text of `<object>.cl`, the OpenCL C source of a code object (one of [`OBJECTS`]); `None` if
/// there is none. The headers that it includes are expanded in the text. The headers that the build
/// includes before every source are omitted, because they replace functions that are special only
/// on the target.
pub fn source(object: &str) -> Option<String> {
    expanded(&format!("{object}.cl"))
}

/// The text of `twins/<object>.cl`: kernels that do the same as those of [`source`], in OpenCL C
/// 1.2; `None` if there is none. Sources that are OpenCL C 1.2 themselves have no twin.
pub fn twin(object: &str) -> Option<String> {
    expanded(&format!("twins/{object}.cl"))
}

/// The text of a file, with the texts of those that it includes in their lines.
fn expanded(name: &str) -> Option<String> {
    let (_, text) = SOURCES.iter().find(|(other, _)| *other == name)?;
    let line = |line: &str| {
        let included = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
        included.and_then(expanded).unwrap_or_else(|| line.to_owned() + "\n")
    };
    Some(text.lines().map(line).collect())
}

/// The options of OpenCL itself that a code object is compiled with, without target-specific ones.
pub fn opencl_options(object: &str) -> &'static [&'static str] {
    match object {
        "softmax" | "nbody" | "preload" => &[],
        "flushed" => &["-cl-fp32-correctly-rounded-divide-sqrt", "-cl-denorms-are-zero"],
        _ => &["-cl-fp32-correctly-rounded-divide-sqrt"],
    }
}

fixtures!(
    [
        "atomics_classic",
        "atomics_flag",
        "atomics_float",
        "atomics_global32",
        "atomics_global64",
        "atomics_local32",
        "atomics_local64",
        "atomics_packed",
        "bitonic_sort",
        "black_scholes",
        "blend_half",
        "bytecode",
        "call_chain",
        "callee",
        "convolution",
        "crc32",
        "daxpy",
        "dgemm",
        "divide64",
        "explicit_stack",
        "fft1024",
        "flat",
        "flushed",
        "function_pointers",
        "gemv_i8",
        "handoff",
        "histogram",
        "launch_state",
        "layer_norm",
        "life",
        "litmus",
        "lockstep",
        "mandelbrot",
        "nbody",
        "preload",
        "printf",
        "reduction",
        "reduction_two_pass",
        "rounded",
        "scan",
        "scratch",
        "sgemm",
        "sgemm_naive",
        "sha256",
        "softmax",
        "spmv",
        "string_search",
        "transpose",
        "vector_add",
        "xorshift",
    ],
    cayman [
        "atomics_local32",
        "bitonic_sort",
        "black_scholes",
        "blend_half",
        "bytecode",
        "call_chain",
        "convolution",
        "crc32",
        "divide64",
        "explicit_stack",
        "fft1024",
        "flushed",
        "gemv_i8",
        "handoff",
        "histogram",
        "layer_norm",
        "life",
        "litmus",
        "lockstep",
        "mandelbrot",
        "nbody",
        "preload",
        "reduction",
        "reduction_two_pass",
        "rounded",
        "scan",
        "scratch",
        "sgemm",
        "sgemm_naive",
        "sha256",
        "softmax",
        "spmv",
        "string_search",
        "transpose",
        "vector_add",
        "xorshift",
    ]
);
