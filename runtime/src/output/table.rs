use comfy_table::{ContentArrangement, presets};

/// A table for people: headings, rows, no lines; cells wrap at the terminal's width.
pub(crate) struct Table {
    inner: comfy_table::Table,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(headings);
        Self { inner }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.inner.add_row(cells);
    }

    /// The whole table with a line end after each row and no space at the end of lines.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for line in self.inner.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
