//! `--isa-coverage`: a file of the rows of the instruction table that runs have executed.

use crate::input::Shown as _;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};
use wavemill::stats::{RowCounts, rows_of};

use super::shared_file::{SharedFile, Turn};
use crate::failure::Failure;
use crate::message::{self, Kind, with_kind};
use crate::text::Grouped;

/// Executions by target name, then by row name.
type Targets = BTreeMap<String, BTreeMap<String, u64>>;

/// The rows of earlier runs and of this one.
#[derive(Debug)]
pub(super) struct Coverage {
    /// As the user wrote it.
    name: String,
    file: SharedFile,
    /// Contents of the file when it was last read or written.
    known: Targets,
    /// Counts that are not yet in the file.
    new: Targets,
}

/// Parses a coverage file.
fn parse(text: &str) -> Result<Targets, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value["kind"] != Kind::Coverage.name() {
        return Err("it is not a coverage file".to_owned());
    }
    if value["schema"] != message::SCHEMA {
        return Err(format!(
            "expected schema {}, found {}",
            message::SCHEMA,
            value["schema"].to_string().shown()
        ));
    }
    let targets = value["targets"].as_object().ok_or("`targets` is missing")?;
    let mut out = Targets::new();
    for (target, rows) in targets {
        let rows = rows
            .as_object()
            .ok_or_else(|| format!("`{target}` is not an object", target = target.shown()))?;
        let mut own = BTreeMap::new();
        for (name, count) in rows {
            let wrong = || {
                format!(
                    "`{name}` of {target} is {}; expected a number of executions",
                    count.to_string().shown(),
                    name = name.shown(),
                    target = target.shown()
                )
            };
            own.insert(name.clone(), count.as_u64().ok_or_else(wrong)?);
        }
        out.insert(target.clone(), own);
    }
    Ok(out)
}

/// Contents of the file, which other runs may have written; empty if there is no file.
fn read(name: &str, turn: &Turn<'_>) -> Result<Targets, Failure> {
    let text = turn.read().map_err(|error| failed(name, error))?;
    text.map_or(Ok(Targets::new()), |text| parse(&text)).map_err(|why| {
        failed(name, why).help("Name a file that an earlier run with --isa-coverage wrote, or a new one.")
    })
}

fn failed(name: &str, why: impl fmt::Display) -> Failure {
    Failure::input(format!("--isa-coverage {name}: {why}"))
}

impl Coverage {
    /// Reads the results of earlier runs from the file, if it exists, and checks that it can be
    /// written.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.shown().to_string();
        let file = SharedFile::at(path).map_err(|error| failed(&name, error))?;
        let known = file.turn().map_err(|error| failed(&name, error)).and_then(|turn| read(&name, &turn))?;
        Ok(Coverage { name, file, known, new: Targets::new() })
    }

    /// Adds the rows that a launch executed; returns how many of them are new.
    pub(super) fn add(&mut self, counts: &RowCounts) -> usize {
        let target = counts.target().name();
        let known = self.known.get(target);
        let new = self.new.entry(target.to_owned()).or_default();
        let mut first = 0;
        for row in counts.list() {
            if !new.contains_key(row.name) && known.is_none_or(|known| !known.contains_key(row.name)) {
                first += 1;
            }
            let sum = new.entry(row.name.to_owned()).or_default();
            *sum = sum.saturating_add(row.count);
        }
        first
    }

    /// Adds the new counts to the file, which other runs may have changed meanwhile.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        let write = |error| Failure::output(&self.name, &error);
        let turn = self.file.turn().map_err(write)?;
        let mut targets = read(&self.name, &turn)?;
        for (target, rows) in &self.new {
            let all = targets.entry(target.clone()).or_default();
            for (name, count) in rows {
                let sum = all.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        let text = format!("{:#}\n", with_kind(Kind::Coverage, json!({ "targets": targets })));
        turn.replace(&text).map_err(write)?;
        self.known = targets;
        self.new.clear();
        Ok(())
    }

    /// Prints a summary of the file.
    pub(super) fn report(&self) {
        let name = &self.name;
        let mut lines = Vec::new();
        let mut parts = Vec::new();
        for target in wavemill_isa::Target::ALL {
            let Some(rows) = self.known.get(target.name()) else { continue };
            let executed = rows_of(target).into_iter().filter(|(name, _)| rows.contains_key(*name)).count();
            let all = rows_of(target).len();
            lines.push(format!(
                "{} of the {} rows of {target} ({:.1} %)",
                Grouped(executed as u64),
                Grouped(all as u64),
                100.0 * executed as f64 / all as f64
            ));
            parts.push(json!({ "target": target.name(), "executed": executed, "rows": all }));
        }
        let parts = json!({ "file": name, "coverage": parts });
        message::say_with(Kind::Output, &format!("wrote {name}: executed {}", lines.join(", ")), &parts);
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
            ("{}", "it is not a coverage file"),
            (r#"{"kind":"coverage","schema":2}"#, "expected schema 1, found 2"),
            (r#"{"kind":"coverage","schema":1}"#, "`targets` is missing"),
            (r#"{"kind":"coverage","schema":1,"targets":{"a":1}}"#, "`a` is not an object"),
            (
                r#"{"kind":"coverage","schema":1,"targets":{"a":{"b":-1}}}"#,
                "`b` of a is -1; expected a number of executions",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
    }
}
