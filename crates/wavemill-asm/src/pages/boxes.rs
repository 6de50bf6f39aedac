//! Draws words as boxes, one for each field.

use std::fmt::{self, Write};

/// The widest line of a drawing.
const WIDTH: usize = 100;

/// A box: a field and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Name of the field.
    pub(crate) name: &'static str,
    /// Highest and lowest bit, counted from the lowest bit of the first word.
    pub(crate) high: u8,
    pub(crate) low: u8,
    /// Its bits, where they are known.
    pub(crate) bits: String,
}

impl Cell {
    /// The bits of the box, counted within the word.
    pub(crate) fn range(&self) -> String {
        let (high, low) = (self.high % 32, self.low % 32);
        if high == low { high.to_string() } else { format!("{high}:{low}") }
    }

    fn width(&self) -> usize {
        self.name.len().max(self.bits.len()).max(self.range().len()) + 2
    }
}

/// Draws words, indented by two blanks. A word that is too wide takes several rows.
pub(crate) fn draw(f: &mut impl Write, cells: &[Cell]) -> fmt::Result {
    let mut rest = cells;
    let mut last = None;
    while let Some(first) = rest.first() {
        let word = first.low / 32;
        let mut width = 3;
        let mut count = 0;
        for cell in rest.iter().take_while(|cell| cell.low / 32 == word) {
            width += cell.width() + 1;
            if count != 0 && width > WIDTH {
                break;
            }
            count += 1;
        }
        let (row, others) = rest.split_at(count);
        if last != Some(word) {
            writeln!(f, "  word {word}")?;
        }
        last = Some(word);
        row_of_boxes(f, row)?;
        rest = others;
    }
    Ok(())
}

fn row_of_boxes(f: &mut impl Write, row: &[Cell]) -> fmt::Result {
    let mut line = |edge: char, fill: char, text: &dyn Fn(&Cell) -> String| {
        let mut out = String::from("  ");
        for cell in row {
            out.push(edge);
            let text = text(cell);
            // Writing to a String cannot fail.
            let _ = match fill {
                ' ' => write!(out, "{text:^width$}", width = cell.width()),
                _ => write!(out, "{}", "-".repeat(cell.width())),
            };
        }
        out.push(edge);
        writeln!(f, "{}", out.trim_end())
    };
    line(' ', ' ', &Cell::range)?;
    line('+', '-', &|_| String::new())?;
    line('|', ' ', &|cell| cell.name.to_owned())?;
    if row.iter().any(|cell| !cell.bits.is_empty()) {
        line('|', ' ', &|cell| cell.bits.clone())?;
    }
    line('+', '-', &|_| String::new())
}
