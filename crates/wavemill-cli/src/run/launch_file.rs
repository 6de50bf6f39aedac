//! Launch files: what `wavemill run` is told, as TOML.

use std::path::Path;

use serde::Deserialize;

use super::geometry::Size;
use crate::failure::Failure;
use crate::input;

/// The contents of a launch file. All texts are those of the options of the same names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct LaunchFile {
    /// The code object; `{target}` in it stands for the target.
    pub object: String,
    /// The target, unless the command line has another one.
    pub target: Option<String>,
    pub kernel: Option<String>,
    pub global_size: Option<SizeText>,
    pub grid: Option<SizeText>,
    pub block: Option<SizeText>,
    pub offset: Option<SizeText>,
    pub dynamic_lds: Option<u32>,
    pub args: Vec<String>,
    pub print: Vec<String>,
    pub out: Vec<String>,
    pub expect: Vec<ExpectText>,
    pub tolerance: Option<String>,
    pub stats: bool,
    pub threads: Option<usize>,
    pub tier: Option<String>,
    pub max_instructions: Option<u64>,
    pub deterministic: bool,
    pub poison: Option<PoisonText>,
    pub cooperative: bool,
    pub printf_buffer: Option<u64>,
    pub heap: Option<u64>,
}

/// What is filled into what nobody wrote: `true`, or a word such as `0xfffafffa`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, or a 32-bit word such as 0xfffafffa")]
pub(crate) enum PoisonText {
    Flag(bool),
    Word(u32),
}

/// A size: `4`, `[4, 2]` or `"4x2"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a size such as 4, [4, 2] or \"4x2x1\"")]
pub(crate) enum SizeText {
    One(u64),
    List(Vec<u64>),
    Text(String),
}

impl SizeText {
    pub(crate) fn size(&self) -> Result<Size, Failure> {
        match self {
            SizeText::One(n) => Size::from_list(&[*n]),
            SizeText::List(list) => Size::from_list(list),
            SizeText::Text(text) => text.parse(),
        }
    }
}

/// An expectation: `"y=ref.npy"`, or with a tolerance of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected \"y=ref.npy\" or { that = \"y=ref.npy\", tolerance = \"ulp=1\" }")]
pub(crate) enum ExpectText {
    Plain(String),
    WithTolerance { that: String, tolerance: String },
}

impl LaunchFile {
    /// Reads a launch file.
    ///
    /// # Errors
    /// A message with line, column and the line itself.
    pub(crate) fn read(path: &Path) -> Result<LaunchFile, Failure> {
        let bytes = input::open(path)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Failure::input(format!("`{}` is no launch file: it is no text", path.display())))?;
        let file: LaunchFile = toml::from_str(text).map_err(|error| {
            Failure::usage(format!("{}: {}", path.display(), error.to_string().trim_end()))
        })?;
        if file.object.is_empty() {
            return Err(Failure::usage(format!(
                "{}: `object` is missing: the code object to run",
                path.display()
            ))
            .help("Write object = \"kernel.co\"; the path is relative to the launch file."));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field() {
        let text = r#"
            object = "{target}/k.co"
            target = "gfx942"
            kernel = "k"
            grid = [4, 2]
            block = "16x16"
            global-size = 7
            offset = 1
            dynamic-lds = 64
            args = ["y:f32[4]=zeros"]
            print = ["y"]
            out = ["y=y.npy"]
            expect = ["y=zeros", { that = "y[0]=0", tolerance = "ulp=1" }]
            tolerance = "abs=1"
            stats = true
            threads = 2
            tier = "avx2"
            max-instructions = 1000
            deterministic = true
            poison = 0xfffafffa
            cooperative = true
            printf-buffer = 4096
            heap = 65536
        "#;
        let file: LaunchFile = toml::from_str(text).unwrap();
        assert_eq!(file.grid.unwrap().size().unwrap(), Size { n: [4, 2, 1], dims: 2 });
        assert_eq!(file.block.unwrap().size().unwrap(), Size { n: [16, 16, 1], dims: 2 });
        assert_eq!(file.poison, Some(PoisonText::Word(0xfffa_fffa)));
        assert!(matches!(&file.expect[1], ExpectText::WithTolerance { that, .. } if that == "y[0]=0"));
        for bad in ["kernal = 'k'", "grid = 'x'\nblock = -1", "print = 'y'", "[object]", "poison = -1"] {
            let read: Result<LaunchFile, _> = toml::from_str(bad);
            assert!(read.is_err() || read.is_ok_and(|file| file.grid.unwrap().size().is_err()), "{bad}");
        }
    }
}
