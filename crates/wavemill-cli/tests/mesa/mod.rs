//! Shaders that Mesa's own compiler made (`kernels/cayman/mesa`) run from its dumps, and give what
//! their sources say: expected values are computed here from the GLSL.
//!
//! Seven programs are not run. Mesa compiles `arrays` and `wide_loads` wrongly (docs/cayman.md names
//! both defects). `texels` reads fragments of a texture with samples, which is unsupported. `cube`,
//! `gradients`, `interpolation` and `packing` have no reference here. One vertex shader runs; the
//! launch makes the fetch program that it calls.

mod compute;
mod pixels;
mod vertices;

use crate::common::{Folder, expect, repository};

/// A run of a shader.
struct Run {
    folder: Folder,
    args: Vec<String>,
    /// Where the outputs are.
    outputs: Vec<String>,
}

impl Run {
    /// A run of the last shader of a dump: that of the compute or pixel stage.
    fn new(name: &str) -> Run {
        let dump =
            std::fs::read_to_string(repository().join(format!("kernels/cayman/mesa/dumps/{name}.txt")))
                .unwrap();
        Run::of(name, dump.matches("\nbytecode ").count() - 1)
    }

    /// A run of a shader of a dump, by its number.
    fn of(name: &str, shader: usize) -> Run {
        let folder = Folder::new(&format!("mesa_{name}_{shader}"));
        let dump =
            std::fs::read_to_string(repository().join(format!("kernels/cayman/mesa/dumps/{name}.txt")))
                .unwrap();
        folder.file("dump.txt", dump);
        let mut run = Run { folder, args: Vec::new(), outputs: Vec::new() };
        run.add("run dump.txt --target cayman");
        run.add(&format!("--kernel shader{shader}"));
        run
    }

    /// Adds arguments of the command, which have no spaces inside.
    fn add(&mut self, args: &str) -> &mut Run {
        self.args.extend(args.split_whitespace().map(str::to_owned));
        self
    }

    /// An argument with dwords, and where it is bound.
    fn dwords(&mut self, name: &str, words: &[u32], locations: &[&str]) -> &mut Run {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.folder.file(&format!("{name}.bin"), bytes);
        self.add(&format!("{name}:u32[{}]=@{name}.bin", words.len()));
        self.bind(name, locations)
    }

    /// As [`Self::dwords`], with floats.
    fn floats(&mut self, name: &str, values: &[f32], locations: &[&str]) -> &mut Run {
        let words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        self.dwords(name, &words, locations)
    }

    fn bind(&mut self, name: &str, locations: &[&str]) -> &mut Run {
        for location in locations {
            let (place, inside) = location.split_once('[').unwrap_or((location, ""));
            let inside = if inside.is_empty() { String::new() } else { format!("[{inside}") };
            self.add(&format!("--bind {place}={name}{inside}"));
        }
        self
    }

    /// The argument is written to a file behind the run.
    fn out(&mut self, name: &str) -> &mut Run {
        self.outputs.push(name.to_owned());
        self.add(&format!("--out {name}={name}.out.bin"))
    }

    /// Runs, and gives the dwords of the outputs.
    fn run(&self) -> Vec<Vec<u32>> {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        expect(&self.folder, 0, &args);
        let read = |name: &String| std::fs::read(self.folder.0.join(format!("{name}.out.bin"))).unwrap();
        let words = |bytes: Vec<u8>| {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        self.outputs.iter().map(|name| words(read(name))).collect()
    }
}

/// Numbers that look random, the same ones for the same seed.
fn numbers(seed: u32, count: usize) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..count).map(|_| next()).collect()
}

/// Floats from `low` to `high` that look random.
fn floats(seed: u32, count: usize, low: f32, high: f32) -> Vec<f32> {
    numbers(seed, count)
        .into_iter()
        .map(|n| low + (high - low) * (n >> 8) as f32 / (1 << 24) as f32)
        .collect()
}

/// Compares all dwords.
fn same(what: &str, found: &[u32], expected: &[u32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{what}, dword {index}: found {found:#x}, expected {expected:#x}");
    }
}

/// Compares floats; they may differ by `error` times the expected size, or by `error` near 0.
fn near(what: &str, found: &[u32], expected: &[f64], error: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let found = f64::from(f32::from_bits(*found));
        assert!(
            (found - expected).abs() <= error * expected.abs().max(1.0),
            "{what}, float {index}: found {found}, expected {expected}"
        );
    }
}
