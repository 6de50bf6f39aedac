//! Launch files: what `wavemill run` does, as TOML.

use crate::input::Shown as _;
use std::path::Path;

use serde::Deserialize;

use super::amount::{BytesText, SecondsText, Whole};
use super::geometry::Size;
use crate::failure::Failure;
use crate::input;

/// The contents of a launch file. All texts are those of the options of the same names.
///
/// With `[[launch]]` tables it says several launches, in order; what the tables do not say is then taken from here.
/// `args` are arguments for all launches that take them, and `print`, `out` and `expect` come after the last one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct LaunchFile {
    /// The code object, or a source; `{target}` in it stands for the target.
    pub object: String,
    /// Arguments for clang, which compiles sources in OpenCL C and HIP.
    pub clang_args: Vec<String>,
    /// Commands that get the code objects if they are not there, to be printed; `{folder}` in them stands for the folder
    /// of this file.
    pub download: Vec<String>,
    /// The target, unless the command line has another one.
    pub target: Option<String>,
    pub kernel: Option<String>,
    pub global_size: Option<SizeText>,
    pub grid: Option<SizeText>,
    pub block: Option<SizeText>,
    pub offset: Option<SizeText>,
    pub dynamic_lds: Option<BytesText>,
    pub stack: Option<BytesText>,
    pub args: Vec<String>,
    pub print: Vec<String>,
    pub out: Vec<String>,
    pub expect: Vec<ExpectText>,
    pub tolerance: Option<String>,
    pub repeat: Option<Whole>,
    pub launch: Option<Vec<LaunchTable>>,
    pub stats: Option<StatsText>,
    pub threads: Option<Whole>,
    pub tier: Option<String>,
    pub max_instructions: Option<Whole>,
    pub timeout: Option<SecondsText>,
    pub deterministic: bool,
    pub poison: Option<PoisonText>,
    pub strict: Option<StrictText>,
    pub cooperative: bool,
    pub printf_buffer: Option<BytesText>,
    pub heap: Option<BytesText>,
    pub address_mode: Option<String>,
}

/// A launch of several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct LaunchTable {
    pub object: Option<String>,
    pub kernel: Option<String>,
    pub global_size: Option<SizeText>,
    pub grid: Option<SizeText>,
    pub block: Option<SizeText>,
    pub offset: Option<SizeText>,
    pub dynamic_lds: Option<BytesText>,
    pub stack: Option<BytesText>,
    pub cooperative: Option<bool>,
    pub args: Vec<String>,
    pub print: Vec<String>,
    pub out: Vec<String>,
    pub expect: Vec<ExpectText>,
    pub tolerance: Option<String>,
    /// How often it runs, one time after the other, on the same buffers.
    pub repeat: Option<Whole>,
}

/// What is filled into what nobody wrote: `true`, or a word such as `0xfffafffa`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, or a 32-bit word such as 0xfffafffa")]
pub(crate) enum PoisonText {
    Flag(bool),
    Word(u32),
}

/// What is a fault although the chip says nothing: `true`, or rules such as `"lds,buffers"`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, or rules such as \"lds,buffers\"")]
pub(crate) enum StrictText {
    Flag(bool),
    Rules(String),
}

/// What is reported of launches: `true`, which is `"basic"`, or `"full"`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, \"basic\" or \"full\"")]
pub(crate) enum StatsText {
    Flag(bool),
    Level(StatsLevel),
}

/// How much is reported of launches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatsLevel {
    // No documentation comments here: clap would show each on lines of its own.
    // What counting blocks shows, which costs little.
    Basic,
    // Accesses to memory, too.
    Full,
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

    /// The numbers of an offset, which may be zero.
    pub(crate) fn offset(&self) -> Result<[u64; 3], Failure> {
        match self {
            SizeText::One(x) => Ok([*x, 0, 0]),
            SizeText::List(list) if (1..=3).contains(&list.len()) => {
                Ok(std::array::from_fn(|d| list.get(d).copied().unwrap_or(0)))
            }
            SizeText::List(_) => Err(Failure::usage("expected one to three numbers")),
            SizeText::Text(text) => Size::offset(text),
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

/// Bytes of a launch file: the reader of TOML takes several times as many of memory.
const MOST_BYTES: usize = 16 << 20;

/// What the reader of TOML says, with the names of keys as messages quote them: they may have anything in them.
fn quoting_keys(message: &str) -> String {
    // It puts what it quotes first, in front of what it expects.
    let quoted = message.split_once('`').and_then(|(before, rest)| {
        let end = rest.rfind("`, expected").or_else(|| rest.rfind('`'))?;
        let (key, behind) = rest.split_at(end);
        Some(format!("{before}`{}{behind}", key.shown()))
    });
    quoted.unwrap_or_else(|| message.to_owned())
}

impl LaunchFile {
    /// Reads a launch file.
    ///
    /// # Errors
    /// A message with line, column and the line itself.
    pub(crate) fn read(path: &Path) -> Result<LaunchFile, Failure> {
        LaunchFile::parse(&input::open_or_stdin(path)?, Path::new(&input::shown(path)))
    }

    /// Reads the contents of a launch file; `path` is its name in messages.
    ///
    /// # Errors
    /// As [`LaunchFile::read`].
    pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<LaunchFile, Failure> {
        if bytes.len() > MOST_BYTES {
            return Err(Failure::input(format!(
                "`{}` has {} bytes: a launch file has {MOST_BYTES} at most",
                path.shown(),
                bytes.len()
            ))
            .help("Keep what buffers begin with in files of their own: init = \"data.npy\", or raw bytes."));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Failure::input(format!("`{}` is no launch file: it is no text", path.shown())))?;
        let file: LaunchFile = toml::from_str(text).map_err(|error| {
            let message = error.to_string().replace(error.message(), &quoting_keys(error.message()));
            Failure::usage(format!("{}: {}", path.shown(), message.trim_end()))
        })?;
        let launches = file.launch.as_deref().unwrap_or_default();
        if file.launch.is_some() {
            file.check_launches(launches).map_err(|failure| failure.within(path.shown()))?;
        }
        if file.object.is_empty() && launches.is_empty() {
            return Err(Failure::usage(format!(
                "{}: `object` is missing: the code object to run",
                path.shown()
            ))
            .help("Write object = \"kernel.co\"; the path is relative to the launch file."));
        }
        Ok(file)
    }

    /// What can be wrong with a file of several launches as such.
    fn check_launches(&self, launches: &[LaunchTable]) -> Result<(), Failure> {
        if launches.is_empty() {
            return Err(Failure::usage("`launch` is empty: there is nothing to run")
                .help("Write a [[launch]] table for each launch, or no `launch` at all."));
        }
        if self.repeat.is_some() {
            return Err(Failure::usage("`repeat` belongs into a [[launch]] table: which one is repeated?"));
        }
        match launches.iter().position(|launch| launch.object.is_none()) {
            Some(index) if self.object.is_empty() => Err(Failure::usage(format!(
                "launch {}: `object` is missing: the code object to run",
                index + 1
            ))
            .help("Write object = \"kernel.co\" in its table, or above all tables for all launches.")),
            _ => Ok(()),
        }
    }

    /// The launches: the tables completed with what is said for all of them, or else the file as the only one.
    pub(crate) fn launches(&self) -> Vec<LaunchTable> {
        let base = LaunchTable {
            object: Some(self.object.clone()),
            kernel: self.kernel.clone(),
            global_size: self.global_size.clone(),
            grid: self.grid.clone(),
            block: self.block.clone(),
            offset: self.offset.clone(),
            dynamic_lds: self.dynamic_lds.clone(),
            stack: self.stack.clone(),
            cooperative: Some(self.cooperative),
            tolerance: self.tolerance.clone(),
            ..LaunchTable::default()
        };
        let Some(launches) = &self.launch else {
            let (args, print, out) = (self.args.clone(), self.print.clone(), self.out.clone());
            return vec![LaunchTable {
                args,
                print,
                out,
                expect: self.expect.clone(),
                repeat: self.repeat,
                ..base
            }];
        };
        let complete = |own: &LaunchTable| {
            let mut own = own.clone();
            if own.grid.is_none() && own.global_size.is_none() {
                (own.grid, own.global_size) = (base.grid.clone(), base.global_size.clone());
            }
            LaunchTable {
                object: own.object.or_else(|| base.object.clone()),
                kernel: own.kernel.or_else(|| base.kernel.clone()),
                block: own.block.or_else(|| base.block.clone()),
                offset: own.offset.or_else(|| base.offset.clone()),
                dynamic_lds: own.dynamic_lds.or_else(|| base.dynamic_lds.clone()),
                stack: own.stack.or_else(|| base.stack.clone()),
                cooperative: own.cooperative.or(base.cooperative),
                tolerance: own.tolerance.or_else(|| base.tolerance.clone()),
                ..own
            }
        };
        launches.iter().map(complete).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field() {
        let text = r#"
            object = "{target}/k.co"
            clang-args = ["-DN=3"]
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
            timeout = 2.5
            repeat = 3
            deterministic = true
            poison = 0xfffafffa
            cooperative = true
            printf-buffer = 4096
            heap = "64K"
        "#;
        let file: LaunchFile = toml::from_str(text).unwrap();
        assert_eq!(file.grid.unwrap().size().unwrap(), Size { n: [4, 2, 1], dims: 2 });
        assert_eq!(file.block.unwrap().size().unwrap(), Size { n: [16, 16, 1], dims: 2 });
        assert_eq!(file.poison, Some(PoisonText::Word(0xfffa_fffa)));
        assert!(matches!(&file.expect[1], ExpectText::WithTolerance { that, .. } if that == "y[0]=0"));
        assert_eq!((file.repeat.map(Whole::get), file.timeout.map(SecondsText::get)), (Some(3), Some(2.5)));
        for bad in [
            "repeat = -1",
            "heap = true",
            "launch = 1",
            "[[launch]]\nthreads = 1",
            "kernal = 'k'",
            "grid = 'x'\nblock = -1",
            "print = 'y'",
            "[object]",
            "poison = -1",
        ] {
            let read: Result<LaunchFile, _> = toml::from_str(bad);
            assert!(read.is_err() || read.is_ok_and(|file| file.grid.unwrap().size().is_err()), "{bad}");
        }
    }

    #[test]
    fn launches_take_what_they_do_not_say_from_above() {
        let text = r#"
            object = "k.co"
            grid = 4
            block = 64
            tolerance = "ulp=1"
            args = ["y:f32[4]"]
            print = ["y"]
            [[launch]]
            kernel = "one"
            [[launch]]
            kernel = "two"
            object = "l.co"
            global-size = 7
            block = 8
            repeat = 2
            args = ["x=&y"]
        "#;
        let file: LaunchFile = toml::from_str(text).unwrap();
        let [one, two] = &file.launches()[..] else { panic!("two launches") };
        assert_eq!((one.object.as_deref(), one.kernel.as_deref()), (Some("k.co"), Some("one")));
        assert!(
            one.grid.is_some() && one.global_size.is_none() && one.print.is_empty() && one.args.is_empty()
        );
        assert_eq!((two.object.as_deref(), two.kernel.as_deref()), (Some("l.co"), Some("two")));
        // The size of a grid is said in one way only.
        assert!(two.grid.is_none() && two.global_size.is_some());
        assert_eq!(two.block.as_ref().unwrap().size().unwrap().n[0], 8);
        assert_eq!((two.tolerance.as_deref(), &two.args[..]), (Some("ulp=1"), &["x=&y".to_owned()][..]));
        // A file without tables is one launch with everything that it says.
        let [only] = &LaunchFile { launch: None, ..file }.launches()[..] else { panic!("one launch") };
        assert_eq!((only.args.len(), only.print.len()), (1, 1));
    }
}
