//! The committed code objects.

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
}

impl Target {
    /// Every target, oldest first.
    pub const ALL: [Target; 4] = [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

    /// The name that compilers use, such as `gfx906`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx906 => "gfx906",
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx950 => "gfx950",
        }
    }

    /// The target of that name, if there are fixtures for it.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

macro_rules! fixtures {
    ($($name:literal),+ $(,)?) => {
        /// The names of the code objects, each built for every target: the names of the files in `kernels/` without
        /// `.cl`. One object may hold several kernels.
        pub const OBJECTS: &[&str] = &[$($name),+];

        /// The code object `object` (one of [`OBJECTS`]) for a target, or `None` if there is none of that name.
        pub fn fixture(target: Target, object: &str) -> Option<&'static [u8]> {
            match (target, object) {
                $(
                    (Target::Gfx906, $name) => Some(fixtures!(@file "gfx906", $name)),
                    (Target::Gfx90a, $name) => Some(fixtures!(@file "gfx90a", $name)),
                    (Target::Gfx942, $name) => Some(fixtures!(@file "gfx942", $name)),
                    (Target::Gfx950, $name) => Some(fixtures!(@file "gfx950", $name)),
                )+
                _ => None,
            }
        }
    };
    (@file $target:literal, $name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/bin/", $target, "/", $name, ".co"))
            .as_slice()
    };
}

fixtures!(
    "atomics_classic",
    "atomics_flag",
    "atomics_float",
    "atomics_global32",
    "atomics_global64",
    "atomics_local32",
    "atomics_local64",
    "atomics_packed",
    "bitonic_sort",
    "bytecode",
    "call_chain",
    "callee",
    "crc32",
    "divide64",
    "explicit_stack",
    "flat",
    "flushed",
    "function_pointers",
    "handoff",
    "histogram",
    "launch_state",
    "life",
    "litmus",
    "lockstep",
    "mandelbrot",
    "nbody",
    "preload",
    "reduction",
    "rounded",
    "scratch",
    "sgemm",
    "sha256",
    "softmax",
    "string_search",
    "transpose",
    "vector_add",
    "xorshift",
);
