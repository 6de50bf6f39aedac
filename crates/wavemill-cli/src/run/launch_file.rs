//! Launch files: TOML files that describe what `wavemill run` does.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::options::RunArgs;
use super::options::key::{Key, Scope, Value};
use super::options::keys;
use crate::failure::Failure;
use crate::input::{self, Shown as _};

/// The contents of a launch file. All texts are written as for the options of the same names.
///
/// With `[[launch]]` tables it describes several launches, in order. Settings that a table omits
/// come from here. `args` are arguments for all launches that use them. `print`, `out` and `expect`
/// apply after the last one.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchFile {
    /// Settings above all tables.
    pub own: LaunchTable,
    /// Commands that download missing code objects, to be printed. `{folder}` in them stands for
    /// the folder of this file.
    pub download: Vec<String>,
    pub launch: Option<Vec<LaunchTable>>,
}

/// A launch of several, or the settings above them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchTable {
    /// The code object, or a source; `{target}` in it stands for the target.
    pub object: Option<String>,
    pub args: Vec<String>,
    /// Its options.
    options: Vec<(&'static Key, Value)>,
}

impl LaunchTable {
    fn names_object(&self) -> bool {
        self.object.as_ref().is_some_and(|object| !object.is_empty())
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(key, _)| key.name == name)
    }

    /// Adds the options in `scopes` to `args`.
    ///
    /// # Errors
    /// The first invalid value.
    pub(crate) fn add_to(
        &self,
        args: &mut RunArgs,
        base: &Path,
        scopes: impl Fn(Scope) -> bool,
    ) -> Result<(), Failure> {
        // In the order of the options, so that messages do not depend on the order in the file.
        for key in keys().filter(|key| scopes(key.scope)) {
            if let Some((_, value)) = self.options.iter().find(|(own, _)| own.name == key.name) {
                key.take(value, args, base)?;
            }
        }
        Ok(())
    }

    /// The table, completed with settings above all tables that it omits.
    fn completed(&self, above: &LaunchTable) -> LaunchTable {
        let mut table = self.clone();
        table.object = table.object.or_else(|| above.object.clone());
        let missing = |key: &Key| match key.scope {
            Scope::Launch { unless } => !self.has(key.name) && !self.has(unless),
            Scope::EveryEnd => !self.has(key.name),
            Scope::Run | Scope::OneLaunch { .. } | Scope::End => false,
        };
        table.options.extend(above.options.iter().filter(|(key, _)| missing(key)).cloned());
        table
    }
}

/// Keys that are not options.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Download,
    Args,
    Launch,
}

/// The keys that are not options, with their ranks in messages that list all keys of a file, and
/// all keys of a `[[launch]]` table.
const PARTS: [(&str, Part, u8, Option<u8>); 4] = [
    ("object", Part::Object, 0, Some(0)),
    ("download", Part::Download, 2, None),
    ("args", Part::Args, 11, Some(9)),
    ("launch", Part::Launch, 17, None),
];

/// A key.
enum Named {
    Part(Part),
    Option(&'static Key),
}

/// A table to read: the whole file, or one of its `[[launch]]` tables.
#[derive(Clone, Copy)]
struct Table {
    is_file: bool,
}

impl Table {
    /// The names of all keys, for messages.
    fn names(self) -> &'static [&'static str] {
        static FILE: OnceLock<Vec<&str>> = OnceLock::new();
        static LAUNCH: OnceLock<Vec<&str>> = OnceLock::new();
        let sorted = |mut names: Vec<(u8, &'static str)>| {
            names.sort_unstable();
            names.into_iter().map(|(_, name)| name).collect()
        };
        match self.is_file {
            true => FILE.get_or_init(|| {
                let parts = PARTS.iter().map(|(name, _, rank, _)| (*rank, *name));
                sorted(parts.chain(keys().map(|key| (key.listed.0, key.name))).collect())
            }),
            false => LAUNCH.get_or_init(|| {
                let parts = PARTS.iter().filter_map(|(name, _, _, rank)| Some(((*rank)?, *name)));
                let keys = keys().filter(|key| key.scope.is_of_launches());
                sorted(parts.chain(keys.map(|key| (key.listed.1, key.name))).collect())
            }),
        }
    }

    fn find(self, name: &str) -> Option<Named> {
        let part = PARTS
            .iter()
            .find(|(known, _, _, in_launch)| *known == name && (self.is_file || in_launch.is_some()));
        let key = || keys().find(|key| key.name == name && (self.is_file || key.scope.is_of_launches()));
        part.map(|(_, part, ..)| Named::Part(*part)).or_else(|| key().map(Named::Option))
    }
}

impl<'de> DeserializeSeed<'de> for Table {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Named, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

/// Names of keys.
impl Visitor<'_> for Table {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Named, E> {
        self.find(name).ok_or_else(|| E::unknown_field(name, self.names()))
    }
}

impl Table {
    /// Reads all entries of a table.
    fn read<'de, M: MapAccess<'de>>(self, mut map: M) -> Result<LaunchFile, M::Error> {
        let mut file = LaunchFile::default();
        while let Some(named) = map.next_key_seed(self)? {
            match named {
                Named::Part(Part::Object) => file.own.object = Some(map.next_value()?),
                Named::Part(Part::Download) => file.download = map.next_value()?,
                Named::Part(Part::Args) => file.own.args = map.next_value()?,
                Named::Part(Part::Launch) => file.launch = Some(map.next_value()?),
                Named::Option(key) => file.own.options.push((key, key.value(&mut map)?)),
            }
        }
        Ok(file)
    }
}

/// Contents of a file.
struct File;

impl<'de> Visitor<'de> for File {
    type Value = LaunchFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct LaunchFile")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<LaunchFile, M::Error> {
        Table { is_file: true }.read(map)
    }
}

impl<'de> Deserialize<'de> for LaunchFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(File)
    }
}

/// Contents of a `[[launch]]` table.
struct Launch;

impl<'de> Visitor<'de> for Launch {
    type Value = LaunchTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct LaunchTable")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<LaunchTable, M::Error> {
        Table { is_file: false }.read(map).map(|file| file.own)
    }
}

impl<'de> Deserialize<'de> for LaunchTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Launch)
    }
}

/// Whether a path has the name of a launch file.
pub(crate) fn is_launch_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Whether the contents are a launch file, whatever its name is.
pub(crate) fn looks_like_launch_file(bytes: &[u8]) -> bool {
    let text = bytes.get(..1 << 20).unwrap_or(bytes);
    let names_object = |line: &str| {
        let value = line.trim_start().strip_prefix("object");
        value.is_some_and(|value| value.trim_start().starts_with('='))
    };
    std::str::from_utf8(text).is_ok_and(|text| text.lines().any(names_object))
}

/// Most bytes of a launch file: the TOML parser needs several times as much memory.
const MOST_BYTES: usize = 16 << 20;

/// The message of the TOML parser, with names of keys quoted as in other messages: they may contain
/// anything.
fn quoting_keys(message: &str) -> String {
    // The parser quotes the key first, before the keys that it expects.
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
            .help(
                "Put initial contents of buffers into separate files: init = \"data.npy\", or raw bytes.",
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| {
            Failure::input(format!("`{}` is not a launch file: it is not text", path.shown()))
        })?;
        let file: LaunchFile = toml::from_str(text).map_err(|error| {
            let message = error.to_string().replace(error.message(), &quoting_keys(error.message()));
            Failure::usage(format!("{}: {}", path.shown(), message.trim_end()))
        })?;
        let launches = file.launch.as_deref().unwrap_or_default();
        if file.launch.is_some() {
            file.check_launches(launches).map_err(|failure| failure.within(path.shown()))?;
        }
        if !file.own.names_object() && launches.is_empty() {
            return Err(Failure::usage(format!(
                "{}: `object` is missing: the code object to run",
                path.shown()
            ))
            .help("Write object = \"kernel.co\"; the path is relative to the launch file."));
        }
        Ok(file)
    }

    /// Checks the rules for files with several launches.
    fn check_launches(&self, launches: &[LaunchTable]) -> Result<(), Failure> {
        if launches.is_empty() {
            return Err(Failure::usage("`launch` is empty: there is nothing to run")
                .help("Write a [[launch]] table for each launch, or no `launch` at all."));
        }
        for (key, _) in &self.own.options {
            if let Scope::OneLaunch { question } = key.scope {
                let message = format!("`{}` belongs in a [[launch]] table: {question}", key.name);
                return Err(Failure::usage(message));
            }
        }
        match launches.iter().position(|launch| launch.object.is_none()) {
            Some(index) if !self.own.names_object() => Err(Failure::usage(format!(
                "launch {}: `object` is missing: the code object to run",
                index + 1
            ))
            .help("Write object = \"kernel.co\" in its table, or above all tables for all launches.")),
            _ => Ok(()),
        }
    }

    /// The launches: the tables, completed with the settings for all of them, or else the file as
    /// the only one.
    pub(crate) fn launches(&self) -> Vec<LaunchTable> {
        match &self.launch {
            Some(launches) => launches.iter().map(|launch| launch.completed(&self.own)).collect(),
            None => vec![self.own.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::run::size::Size;

    /// The options of a table without launches.
    fn options(table: &LaunchTable) -> Result<RunArgs, String> {
        let mut args = RunArgs::default();
        let added = table.add_to(&mut args, Path::new(""), |_| true);
        added.and_then(|()| args.complete()).map_err(|failure| failure.message)?;
        Ok(args)
    }

    fn read(text: &str) -> Result<RunArgs, String> {
        let file: LaunchFile = toml::from_str(text).map_err(|error| error.to_string())?;
        options(&file.own)
    }

    #[test]
    fn every_field() {
        let text = r#"
            object = "{target}/k.co"
            clang-args = ["-DN=3"]
            target = "gfx942"
            kernel = "k"
            block = "16x16"
            global-size = [7, 2]
            offset = 1
            dynamic-lds = 64
            args = ["y:f32[4]=zeros"]
            print = ["y"]
            out = ["y=y.npy"]
            expect = ["y=zeros", { that = "y[0]=0", tolerance = "ulp=1" }]
            tolerance = "abs=1"
            stats = true
            fidelity = true
            threads = 2
            tier = "portable"
            max-instructions = 1000
            timeout = 2.5
            repeat = 3
            deterministic = true
            poison = 0xfffafffa
            cooperative = true
            printf-buffer = 4096
            heap = "64K"
        "#;
        let args = read(text).unwrap();
        assert_eq!(args.launch.grid(), None);
        assert_eq!(args.launch.global_size(), Some(Size { n: [7, 2, 1], dims: 2 }));
        assert_eq!(args.launch.block(), Some(Size { n: [16, 16, 1], dims: 2 }));
        assert_eq!((args.checks.poison(), args.engine.heap), (Some(0xfffa_fffa), Some(64 << 10)));
        let expect = &args.results.wanted.expect;
        assert_eq!((expect[0].tolerance.abs, expect[1].tolerance.ulp), (1.0, 1));
        assert_eq!((args.launch.times(), args.checks.timeout), (3, Some(Duration::from_millis(2500))));
        assert!(args.launch.cooperative && args.engine.deterministic && args.trace.fidelity);
        // The grid is given only once.
        let both = read(&format!("{text}\ngrid = 1")).unwrap_err();
        assert!(both.contains("are both given"), "{both}");
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
            assert!(read(bad).is_err(), "{bad}");
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
        assert_eq!((one.object.as_deref(), two.object.as_deref()), (Some("k.co"), Some("l.co")));
        assert_eq!((one.args.len(), &two.args[..]), (0, &["x=&y".to_owned()][..]));
        assert!(two.has("tolerance") && !one.has("print"));
        let add = |table: &LaunchTable| {
            let mut args = RunArgs::default();
            table.add_to(&mut args, Path::new(""), Scope::is_of_launches).unwrap();
            args.launch
        };
        let (first, second) = (add(one), add(two));
        assert_eq!((first.kernel.as_deref(), second.kernel.as_deref()), (Some("one"), Some("two")));
        assert!(first.grid().is_some() && first.global_size().is_none());
        // The size of a grid is given in only one form.
        assert!(second.grid().is_none() && second.global_size().is_some());
        assert_eq!((second.block().map(|size| size.n[0]), second.times()), (Some(8), 2));
        // A file without tables is one launch with all its settings.
        let [only] = &LaunchFile { launch: None, ..file }.launches()[..] else { panic!("one launch") };
        assert!(only.args.len() == 1 && only.has("print"));
    }
}
