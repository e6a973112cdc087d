//! Writing Markdown block by block.

/// Spaces a list level is indented by: more than any marker up to `99. `, fewer than a code block below it.
const INDENT: usize = 4;

/// Markdown under construction.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    text: String,
    /// Whether the last block is a list item, which the next item follows without an empty line.
    after_item: bool,
}

impl Markdown {
    /// A heading; level 1 to 6.
    pub(crate) fn heading(&mut self, level: usize, text: &str) {
        let text = crate::one_line(text);
        if !text.is_empty() {
            self.block();
            self.text.push_str(&"#".repeat(level.clamp(1, 6)));
            self.text.push(' ');
            self.text.push_str(&text);
            self.text.push('\n');
        }
    }

    /// A paragraph inside `quotes` block quotes and `lists` list items; its line feeds stay.
    pub(crate) fn paragraph(&mut self, text: &str, quotes: usize, lists: usize) {
        if !text.trim().is_empty() {
            self.block();
            self.lines(text, &"> ".repeat(quotes), &" ".repeat(lists * INDENT));
        }
    }

    /// A list item with its marker (`-`, `3.`) at `level`, from 0.
    pub(crate) fn item(&mut self, marker: &str, text: &str, quotes: usize, level: usize) {
        if text.trim().is_empty() {
            return;
        }
        if !self.after_item {
            self.block();
        }
        let quote = "> ".repeat(quotes);
        let indent = " ".repeat(level * INDENT);
        let mut lines = text.trim().lines();
        let first = lines.next().unwrap_or_default().trim();
        self.text.push_str(&format!("{quote}{indent}{marker} {}\n", escaped(first)));
        for line in lines {
            self.lines(line, &quote, &" ".repeat((level + 1) * INDENT));
        }
        self.after_item = true;
    }

    /// A fenced code block, verbatim.
    pub(crate) fn code(&mut self, language: &str, text: &str) {
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.block();
        self.text.push_str(&format!("{fence}{language}\n{text}\n{fence}\n"));
    }

    /// A table whose first row is the header. Gives back the offset of each row's line.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> Vec<usize> {
        let width = rows.iter().map(|row| used(row)).max().unwrap_or(0);
        if width == 0 {
            return Vec::new();
        }
        self.block();
        let mut offsets = Vec::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            offsets.push(self.text.len());
            for column in 0..width {
                let cell = row.get(column).map(String::as_str).unwrap_or_default();
                self.text.push_str("| ");
                self.text.push_str(&crate::one_line(cell).replace('|', "\\|"));
                self.text.push_str(if cell.is_empty() { "" } else { " " });
            }
            self.text.push_str("|\n");
            if index == 0 {
                self.text.push_str(&"| --- ".repeat(width));
                self.text.push_str("|\n");
            }
        }
        offsets
    }

    /// The length so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Leaves an empty line before the next block.
    fn block(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.after_item = false;
    }

    fn lines(&mut self, text: &str, quote: &str, indent: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.text.push_str(&format!("{quote}{indent}{}\n", escaped(line)));
        }
    }
}

/// Cells up to the last one with text.
fn used(row: &[String]) -> usize {
    row.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |last| last + 1)
}

/// Escapes a line that would read as a heading, quote, fence or rule although the document has none there. A number or
/// dash at its start stays: as a list it says the same.
fn escaped(line: &str) -> String {
    let heading = line.trim_start_matches('#');
    let is_heading = heading.len() < line.len() && (heading.is_empty() || heading.starts_with(' '));
    let is_rule = line.len() > 1 && (line.chars().all(|c| c == '-') || line.chars().all(|c| c == '='));
    if is_heading || is_rule || line.starts_with('>') || line.starts_with("```") || line.starts_with("~~~") {
        format!("\\{line}")
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_set_apart_and_items_are_not() {
        let mut markdown = Markdown::default();
        markdown.heading(2, " A\n title ");
        markdown.paragraph("one\ntwo", 0, 0);
        markdown.item("-", "first\nmore", 0, 0);
        markdown.item("1.", "inner", 0, 1);
        markdown.paragraph("still inner", 0, 2);
        markdown.paragraph("quoted", 1, 0);
        markdown.code("rust", "\nlet x = `a`;\n");
        assert_eq!(
            markdown.finish(),
            "## A title\n\none\ntwo\n\n- first\n    more\n    1. inner\n\n        still inner\n\n> quoted\n\n```rust\nlet x = `a`;\n```\n"
        );
    }

    #[test]
    fn tables_have_as_many_columns_as_text_needs() {
        let mut markdown = Markdown::default();
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let offsets = markdown.table(&[row(&["a|b", "", " "]), row(&["1", "x\ny"])]);
        assert_eq!(offsets, [0, 25]);
        assert_eq!(markdown.finish(), "| a\\|b | |\n| --- | --- |\n| 1 | x y |\n");
    }

    #[test]
    fn lines_that_look_like_structure_are_escaped() {
        for (line, expected) in [
            ("# not a heading", "\\# not a heading"),
            ("#tag", "#tag"),
            ("---", "\\---"),
            ("> x", "\\> x"),
            ("```", "\\```"),
            ("1. Purpose", "1. Purpose"),
            ("snake_case * 2", "snake_case * 2"),
        ] {
            assert_eq!(escaped(line), expected);
        }
    }
}
