//! `--coverage`: a file of the rows of the instruction table that runs have executed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wavemill::{RowCounts, rows_of};

use super::text::Grouped;
use crate::failure::Failure;
use crate::message::{self, Kind, with_kind};

/// Executions by name of the row.
type Rows = BTreeMap<String, u64>;

/// The rows of earlier runs and of this one.
#[derive(Debug)]
pub(super) struct Coverage {
    path: PathBuf,
    /// By name of the target.
    targets: BTreeMap<String, Rows>,
}

/// What a file of coverage says.
fn parse(text: &str) -> Result<BTreeMap<String, Rows>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value["kind"] != "coverage" {
        return Err("it is no file of coverage".to_owned());
    }
    if value["schema"] != message::SCHEMA {
        return Err(format!("expected schema {}, found {}", message::SCHEMA, value["schema"]));
    }
    let targets = value["targets"].as_object().ok_or("`targets` is missing")?;
    let mut out = BTreeMap::new();
    for (target, rows) in targets {
        let rows = rows.as_object().ok_or_else(|| format!("`{target}` is no object"))?;
        let mut own = Rows::new();
        for (name, count) in rows {
            let wrong = || format!("`{name}` of {target} is {count}; expected a number of executions");
            own.insert(name.clone(), count.as_u64().ok_or_else(wrong)?);
        }
        out.insert(target.clone(), own);
    }
    Ok(out)
}

impl Coverage {
    /// What earlier runs have left in the file; nothing if there is none.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |why: String| Failure::input(format!("--coverage {}: {why}", path.display()));
        let targets = match fs::read_to_string(path) {
            Ok(text) => parse(&text).map_err(|why| {
                failed(why).help("Name a file that an earlier run with --coverage wrote, or a new one.")
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        Ok(Coverage { path: path.to_owned(), targets })
    }

    /// Adds what a launch executed; how many of its rows no earlier one had.
    pub(super) fn add(&mut self, counts: &RowCounts) -> usize {
        let rows = self.targets.entry(counts.target().name().to_owned()).or_default();
        let before = rows.len();
        for row in counts.list() {
            let sum = rows.entry(row.name.to_owned()).or_default();
            *sum = sum.saturating_add(row.count);
        }
        rows.len() - before
    }

    /// Writes the file anew. It is never there in part.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let name = self.path.display().to_string();
        let text = format!("{:#}\n", with_kind("coverage", json!({ "targets": self.targets })));
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &self.path))
            .map_err(|error| Failure::output(&name, &error))
    }

    /// Tells what is in the file.
    pub(super) fn tell(&self) {
        let name = self.path.display().to_string();
        let mut lines = Vec::new();
        let mut parts = Vec::new();
        for target in wavemill_isa::Target::ALL {
            let Some(rows) = self.targets.get(target.name()) else { continue };
            let executed = rows_of(target).filter(|(name, _)| rows.contains_key(*name)).count();
            let all = rows_of(target).count();
            lines.push(format!(
                "{} of the {} rows of {target} ({:.1} %)",
                Grouped(executed as u64),
                Grouped(all as u64),
                100.0 * executed as f64 / all as f64
            ));
            parts.push(json!({ "target": target.name(), "executed": executed, "rows": all }));
        }
        let parts = json!({ "file": name, "coverage": parts });
        message::say_with(Kind::Output, &format!("wrote {name}: executed are {}", lines.join(", ")), &parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_coverage_is_refused() {
        let text = r#"{"schema":1,"kind":"coverage","targets":{"gfx906":{"s_endpgm":4}}}"#;
        assert_eq!(parse(text).unwrap()["gfx906"]["s_endpgm"], 4);
        for (text, why) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("{}", "it is no file of coverage"),
            (r#"{"kind":"coverage","schema":2}"#, "expected schema 1, found 2"),
            (r#"{"kind":"coverage","schema":1}"#, "`targets` is missing"),
            (r#"{"kind":"coverage","schema":1,"targets":{"a":1}}"#, "`a` is no object"),
            (
                r#"{"kind":"coverage","schema":1,"targets":{"a":{"b":-1}}}"#,
                "`b` of a is -1; expected a number of executions",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
    }
}
