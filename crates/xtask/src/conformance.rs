//! The part of CONFORMANCE.md that follows from the rows: how exact the meanings of the instructions are.

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Fidelity, Format, Op, Row};

use crate::generated::{self, Options};

/// Lines around the generated part of the page.
const BEGIN: &str = "<!-- fidelity: written by `cargo run -p xtask -- conformance` -->\n";
const END: &str = "<!-- /fidelity -->\n";

const PAGE: &str = "CONFORMANCE.md";

/// The page with its generated part replaced.
fn updated(page: &str) -> Result<String, String> {
    let missing =
        || format!("expected a part between `{}` and `{}` in CONFORMANCE.md", BEGIN.trim(), END.trim());
    let (head, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok([head, BEGIN, &tables(), END, tail].concat())
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    generated::write(options, PAGE, "conformance", &updated(&generated::read(PAGE)?)?)
}

/// A line of a table.
pub(crate) fn line(out: &mut String, cells: impl IntoIterator<Item = String>) {
    for cell in cells {
        write!(out, "| {cell} ").expect("writing to a string");
    }
    out.push_str("|\n");
}

/// The head of a table whose columns but the first are numbers.
pub(crate) fn head(out: &mut String, columns: &[&str]) {
    line(out, columns.iter().map(|&column| column.to_owned()));
    let marks = (0..columns.len()).map(|n| if n == 0 { "---" } else { "---:" }.to_owned());
    out.push_str(&marks.fold(String::new(), |text, mark| text + "|" + &mark));
    out.push_str("|\n");
}

/// How many rows have each level, each row with a target of its own.
pub(crate) fn levels(rows: impl Iterator<Item = (&'static Row, Target)>) -> [usize; Fidelity::ALL.len()] {
    let mut counts = [0; Fidelity::ALL.len()];
    for (row, target) in rows {
        counts[row.fidelity(target) as usize] += 1;
    }
    counts
}

/// Counts and their sum, as cells of a table.
pub(crate) fn numbers(counts: [usize; Fidelity::ALL.len()]) -> Vec<String> {
    let total = counts.iter().sum::<usize>();
    counts.into_iter().chain([total]).map(|n| n.to_string()).collect()
}

/// The table of levels.
fn tables() -> String {
    let rows = || Op::ALL.iter().map(|op| op.row());
    let newest = |row: &'static Row| row.targets.iter().last().map(|target| (row, target));
    let names: Vec<&str> = Fidelity::ALL.iter().map(|level| level.name()).collect();
    let mut out = String::from(
        "\nInstructions by format; each counts once, with its level on the newest target that has it.\n\n",
    );
    head(&mut out, &[&["format"], &names[..], &["all"]].concat());
    for format in Format::ALL {
        let counts = levels(rows().filter(|row| row.format == *format).filter_map(newest));
        line(&mut out, [vec![format.name().to_owned()], numbers(counts)].concat());
    }
    line(&mut out, [vec!["all".to_owned()], numbers(levels(rows().filter_map(newest)))].concat());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let page = generated::read(PAGE).expect(PAGE);
        assert!(
            updated(&page).expect("its generated part") == page,
            "run `cargo run -p xtask -- conformance`"
        );
    }

    #[test]
    fn a_page_without_the_part_is_refused() {
        assert!(updated("# Conformance\n").unwrap_err().contains("expected a part between"));
        let old = format!("head\n{BEGIN}stale part\n{END}tail\n");
        let new = updated(&old).expect("a page with the part");
        assert!(new.starts_with("head\n") && new.ends_with("tail\n") && !new.contains("stale part"), "{new}");
        assert_eq!(updated(&new).as_deref(), Ok(&new[..]));
    }
}
