//! Pages as HTML.

use std::fmt::Write as _;

use super::boxes::Cell;
use super::document::{Block, Document, Inline};

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8885;--soft:#8882}\
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem}\
table{border-collapse:collapse;display:block;overflow-x:auto;margin:.5rem 0 1rem}\
th,td{border:1px solid var(--line);padding:.15rem .5rem;text-align:left;vertical-align:top}\
th{background:var(--soft)}\
code,pre,.word{font-family:ui-monospace,monospace;font-size:.9em}\
pre{overflow-x:auto;background:var(--soft);padding:.5rem}\
.word td{text-align:center;padding:.15rem .2rem;min-width:.6rem}\
.word .range td{border:0;font-size:.8em;padding-bottom:0}\
.word .bits td{background:var(--soft)}\
nav{font-size:.9em}";

/// A page as HTML that is well-formed XML.
pub(super) fn write(document: &Document) -> String {
    let mut out = String::new();
    let title = escaped(&document.title);
    let index = document.way_to("index");
    out += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n";
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
    out += &format!("<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n");
    if document.path != "index" {
        out += &format!("<nav><a href=\"{index}.html\">All instructions</a></nav>\n");
    }
    out += &format!("<h1>{title}</h1>\n");
    for block in &document.blocks {
        write_block(&mut out, document, block);
    }
    out += "</body>\n</html>\n";
    out
}

fn write_block(out: &mut String, document: &Document, block: &Block) {
    match block {
        Block::Heading(level, text) => *out += &format!("<h{level}>{}</h{level}>\n", escaped(text)),
        Block::Paragraph(line) => *out += &format!("<p>{}</p>\n", inline(document, line)),
        Block::Preformatted(text) => *out += &format!("<pre>{}</pre>\n", escaped(text)),
        Block::Words(cells) => words(out, cells),
        Block::Table { head, rows } => {
            *out += "<table>\n";
            if head.iter().any(|text| !text.is_empty()) {
                let head: String = head.iter().map(|text| format!("<th>{}</th>", escaped(text))).collect();
                *out += &format!("<tr>{head}</tr>\n");
            }
            for row in rows {
                let cells: String =
                    row.iter().map(|line| format!("<td>{}</td>", inline(document, line))).collect();
                *out += &format!("<tr>{cells}</tr>\n");
            }
            *out += "</table>\n";
        }
    }
}

/// One table for each word: a column for each bit.
fn words(out: &mut String, cells: &[Cell]) {
    for word in cells.chunk_by(|a, b| a.low / 32 == b.low / 32) {
        let row = |class: &str, text: &dyn Fn(&Cell) -> String| {
            let cells: String = word
                .iter()
                .map(|cell| {
                    format!("<td colspan=\"{}\">{}</td>", cell.high - cell.low + 1, escaped(&text(cell)))
                })
                .collect();
            format!("<tr class=\"{class}\">{cells}</tr>\n")
        };
        *out += "<table class=\"word\">\n";
        *out += &row("range", &Cell::range);
        *out += &row("name", &|cell| cell.name.to_owned());
        *out += &row("bits", &|cell| cell.bits.clone());
        *out += "</table>\n";
    }
}

fn inline(document: &Document, line: &[Inline]) -> String {
    let mut out = String::new();
    for piece in line {
        // Writing to a String cannot fail.
        let _ = match piece {
            Inline::Text(text) => write!(out, "{}", escaped(text)),
            Inline::Code(text) => write!(out, "<code>{}</code>", escaped(text)),
            Inline::Link(text, path) => {
                write!(out, "<a href=\"{}.html\">{}</a>", document.way_to(path), escaped(text))
            }
        };
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
