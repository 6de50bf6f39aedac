//! Tables for notebooks.

/// A table with a caption, as HTML. All texts are escaped.
#[derive(Debug)]
pub(crate) struct Html(String);

impl Html {
    /// A table without rows.
    pub(crate) fn table(caption: &str) -> Self {
        let mut html = Html("<table><caption>".to_owned());
        html.text(caption);
        html.0 += "</caption>";
        html
    }

    /// Adds a row of names of columns.
    pub(crate) fn head(&mut self, cells: &[&str]) {
        self.cells(cells, "th");
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.cells(cells, "td");
    }

    fn cells(&mut self, cells: &[&str], element: &str) {
        self.0 += "<tr>";
        for cell in cells {
            self.0 += &format!("<{element} style=\"text-align: left\">");
            self.text(cell);
            self.0 += &format!("</{element}>");
        }
        self.0 += "</tr>";
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0 += "&amp;",
                '<' => self.0 += "&lt;",
                '>' => self.0 += "&gt;",
                '"' => self.0 += "&quot;",
                '\'' => self.0 += "&#39;",
                c => self.0.push(c),
            }
        }
    }

    /// The text of the table.
    pub(crate) fn end(self) -> String {
        self.0 + "</table>"
    }
}
