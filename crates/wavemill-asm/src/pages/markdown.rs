//! Pages as Markdown.

use super::boxes::draw;
use super::document::{Block, Document, Inline};

/// A page as Markdown, in the dialect of GitHub.
pub(super) fn write(document: &Document) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    if document.path != "index" {
        out += &format!("\n[All instructions]({}.md)\n", document.way_to("index"));
    }
    for block in &document.blocks {
        out.push('\n');
        match block {
            Block::Heading(level, text) => {
                out += &format!("{} {}\n", "#".repeat(usize::from(*level)), escaped(text));
            }
            Block::Paragraph(line) => out += &format!("{}\n", inline(document, line)),
            Block::Preformatted(text) => out += &format!("```text\n{}\n```\n", text.trim_end()),
            Block::Words(cells) => {
                let mut drawing = String::new();
                // Writing to a String cannot fail.
                let _ = draw(&mut drawing, cells);
                out += &format!("```text\n{}\n```\n", drawing.trim_end());
            }
            Block::Table { head, rows } => {
                out += &format!(
                    "| {} |\n",
                    head.iter().map(|text| escaped(text)).collect::<Vec<_>>().join(" | ")
                );
                out += &format!("|{}\n", "---|".repeat(head.len()));
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|line| inline(document, line)).collect();
                    out += &format!("| {} |\n", cells.join(" | "));
                }
            }
        }
    }
    out
}

fn inline(document: &Document, line: &[Inline]) -> String {
    let piece = |piece: &Inline| match piece {
        Inline::Text(text) => escaped(text),
        // In tables, bars end cells even within code.
        Inline::Code(text) => format!("`{}`", text.replace('|', "\\|")),
        Inline::Link(text, path) => format!("[{}]({}.md)", escaped(text), document.way_to(path)),
    };
    line.iter().map(piece).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
