//! Elements to Markdown blocks.

use scraper::ElementRef;

use super::visible;
use crate::markdown::Markdown;

/// Levels that are followed one by one; below, an element counts as its text.
const MAX_DEPTH: usize = 300;

/// The Markdown of an element's content.
pub(super) fn write(element: ElementRef<'_>) -> String {
    let mut writer = Writer::default();
    writer.children(element, 0);
    writer.flush();
    writer.markdown.finish()
}

#[derive(Default)]
struct Writer {
    markdown: Markdown,
    /// The paragraph being collected; white space is folded as it comes.
    line: String,
    quotes: usize,
    lists: Vec<List>,
    /// The marker of an item whose text has not come yet.
    marker: Option<String>,
}

struct List {
    /// Number of the next item; none in a bullet list.
    next: Option<i64>,
}

impl Writer {
    fn children(&mut self, element: ElementRef<'_>, depth: usize) {
        for node in element.children() {
            if let Some(text) = node.value().as_text() {
                self.text(text);
            } else if let Some(child) = ElementRef::wrap(node).filter(|child| !visible::is_left_out(*child)) {
                self.element(child, depth + 1);
            }
        }
    }

    fn element(&mut self, element: ElementRef<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.text(&format!(" {} ", visible::text(element)));
        }
        match element.value().name() {
            "h1" => self.heading(1, element),
            "h2" => self.heading(2, element),
            "h3" => self.heading(3, element),
            "h4" => self.heading(4, element),
            "h5" => self.heading(5, element),
            "h6" => self.heading(6, element),
            "br" => self.line.push('\n'),
            "img" => self.text(element.attr("alt").unwrap_or_default()),
            "code" | "kbd" | "samp" | "tt" => self.code_span(element),
            "pre" => self.preformatted(element),
            "ul" => self.list(element, None, depth),
            "ol" => {
                let first = element.attr("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.list(element, Some(first), depth);
            }
            "li" => self.item(element, depth),
            "table" => self.table(element, depth),
            "blockquote" => self.quote(element, depth),
            "td" | "th" => {
                self.children(element, depth);
                self.text(" ");
            }
            name if visible::is_block(name) || name == "tr" => self.block(element, depth),
            _ => self.children(element, depth),
        }
    }

    fn text(&mut self, text: &str) {
        for c in text.chars().filter(|c| *c != '\u{AD}' && (!c.is_control() || c.is_whitespace())) {
            if !c.is_whitespace() {
                self.line.push(c);
            } else if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
                self.line.push(' ');
            }
        }
    }

    /// Ends the paragraph being collected.
    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() {
            return;
        }
        match self.marker.take() {
            Some(marker) => self.markdown.item(&marker, &line, self.quotes, self.lists.len().saturating_sub(1)),
            None => self.markdown.paragraph(&line, self.quotes, self.lists.len()),
        }
    }

    fn block(&mut self, element: ElementRef<'_>, depth: usize) {
        self.flush();
        self.children(element, depth);
        self.flush();
    }

    /// Inside a list, a heading is the item's text: Markdown has no headings that end with a list.
    fn heading(&mut self, level: usize, element: ElementRef<'_>) {
        self.flush();
        let text = visible::text(element);
        if self.lists.is_empty() {
            self.markdown.heading(level, &text);
        } else {
            self.text(&text);
            self.flush();
        }
    }

    fn code_span(&mut self, element: ElementRef<'_>) {
        let text = crate::one_line(&visible::text(element));
        if text.is_empty() || text.contains('`') {
            self.text(&text);
        } else {
            self.line.push_str(&format!("`{text}`"));
        }
    }

    fn preformatted(&mut self, element: ElementRef<'_>) {
        self.flush();
        let text = visible::text(element).replace("\r\n", "\n").replace('\r', "\n");
        let classes = element.child_elements().next().map(|child| child.value().classes()).into_iter().flatten();
        let language = element.value().classes().chain(classes).find_map(|class| class.strip_prefix("language-"));
        let language = language.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "+-#".contains(c)));
        self.markdown.code(language.unwrap_or_default(), &text);
    }

    fn list(&mut self, element: ElementRef<'_>, next: Option<i64>, depth: usize) {
        self.flush();
        self.lists.push(List { next });
        self.children(element, depth);
        self.flush();
        self.lists.pop();
        self.marker = None;
    }

    fn item(&mut self, element: ElementRef<'_>, depth: usize) {
        self.flush();
        self.marker = Some(match self.lists.last_mut().and_then(|list| list.next.as_mut()) {
            Some(number) => {
                *number = number.saturating_add(1);
                format!("{}.", number.saturating_sub(1))
            }
            None => "-".to_owned(),
        });
        self.children(element, depth);
        self.flush();
        self.marker = None;
    }

    fn quote(&mut self, element: ElementRef<'_>, depth: usize) {
        self.flush();
        self.quotes += 1;
        self.children(element, depth);
        self.flush();
        self.quotes -= 1;
    }

    /// A table of data becomes a table; one that only arranges blocks (a cell with a table or a list, a single column)
    /// is followed like any block.
    fn table(&mut self, element: ElementRef<'_>, depth: usize) {
        self.flush();
        let rows = rows(element);
        let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let arranges = element.attr("role") == Some("presentation")
            || widest < 2
            || rows.iter().flatten().any(|cell| holds_blocks(*cell));
        if arranges {
            self.children(element, depth);
            return self.flush();
        }
        for caption in element.child_elements().filter(|child| child.value().name() == "caption") {
            self.children(caption, depth);
            self.flush();
        }
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().flat_map(|cell| cell_texts(*cell)).collect()).collect();
        self.markdown.table(&cells);
    }
}

/// The cells of each row that has some, header groups first as written.
fn rows(table: ElementRef<'_>) -> Vec<Vec<ElementRef<'_>>> {
    let groups = table.child_elements().flat_map(|child| match child.value().name() {
        "tr" => vec![child],
        "thead" | "tbody" | "tfoot" => child.child_elements().filter(|row| row.value().name() == "tr").collect(),
        _ => Vec::new(),
    });
    groups
        .filter(|row| !visible::is_left_out(*row))
        .map(|row| row.child_elements().filter(|cell| matches!(cell.value().name(), "td" | "th")).collect::<Vec<_>>())
        .filter(|cells| !cells.is_empty())
        .collect()
}

fn holds_blocks(cell: ElementRef<'_>) -> bool {
    cell.descendent_elements()
        .any(|inner| matches!(inner.value().name(), "table" | "ul" | "ol" | "pre" | "h1" | "h2" | "h3"))
}

/// The cell's text, and empty cells for the columns it spans beyond its own.
fn cell_texts(cell: ElementRef<'_>) -> Vec<String> {
    let span = cell.attr("colspan").and_then(|span| span.trim().parse::<usize>().ok()).unwrap_or(1).clamp(1, 50);
    let mut texts = vec![visible::text(cell)];
    texts.resize(span, String::new());
    texts
}
