use super::*;
use crate::document::{Begins, Mark};

fn sizes(parent_tokens: u32, child_tokens: u32, overlap_tokens: u32) -> Chunker {
    Chunker::new(&Chunking { strategy: ChunkingStrategy::Structural, parent_tokens, child_tokens, overlap_tokens })
}

/// Text and context of each chunk.
fn shown(body: &str, chunked: &ChunkedDocument) -> Vec<(String, String)> {
    let chunks = chunked.parents.iter().flat_map(|parent| &parent.chunks);
    chunks.map(|chunk| (body[chunk.span.clone()].to_owned(), chunk.context.clone())).collect()
}

const HANDBOOK: &str = "---\ntitle: x\n---\n# Handbook\n\nWelcome to the company.\n\n## Leave\n\nYou have 30 days. Ask \
                        early.\n\n### Sick leave\n\nCall before nine.\n\n## Travel\n\nBook trains first.\n";

#[test]
fn sections_carry_their_heading_path_and_share_small_parents() {
    let mut handbook = NormalisedDocument::new(Format::Markdown, HANDBOOK);
    handbook.front_matter = Some(0..17);
    let chunked = sizes(600, 100, 20).chunk("docs/handbook.md", &handbook);
    assert_eq!(chunked.title, "Handbook");
    let contexts: Vec<_> = shown(HANDBOOK, &chunked).into_iter().map(|(_, context)| context).collect();
    let expected = ["Handbook", "Handbook\nLeave", "Handbook\nLeave > Sick leave", "Handbook\nTravel"];
    assert_eq!(contexts, expected);
    assert_eq!(chunked.parents.len(), 2, "the front matter and one parent");
    assert!(chunked.parents[0].chunks.is_empty());
    assert_eq!(chunked.parents[1].span, 17..HANDBOOK.len());
    assert_eq!(chunked.parents[1].locator, Locator::Lines { first: 4, last: 18 });
    assert_eq!(chunked.parents[1].heading_path, Vec::<String>::new());
}

#[test]
fn a_section_too_large_for_siblings_stands_alone() {
    let chunked = sizes(14, 14, 0).chunk("handbook.md", &NormalisedDocument::new(Format::Markdown, &HANDBOOK[17..]));
    let paths: Vec<_> = chunked.parents.iter().map(|parent| parent.heading_path.join("/")).collect();
    assert_eq!(paths, ["", "Leave", "Leave/Sick leave", "Travel"]);
}

#[test]
fn headings_without_text_join_the_section_below() {
    let body = "# Guide\n\n## Install\n\nRun it.\n";
    let chunked = sizes(600, 100, 20).chunk("guide.md", &NormalisedDocument::new(Format::Markdown, body));
    assert_eq!(shown(body, &chunked), [(body.trim().to_owned(), "Guide\nInstall".to_owned())]);
}

#[test]
fn windows_break_at_sentences_and_overlap() {
    let sentences: Vec<_> = (0..12).map(|n| format!("Sentence number {n} has exactly these words.")).collect();
    let body = sentences.join(" ");
    let chunked = sizes(600, 40, 12).chunk("a.txt", &NormalisedDocument::new(Format::Text, &body));
    let texts: Vec<_> = shown(&body, &chunked).into_iter().map(|(text, _)| text).collect();
    assert!(texts.len() > 3);
    assert!(texts.iter().all(|text| text.starts_with("Sentence") && text.ends_with("words.")), "{texts:?}");
    assert!(texts.windows(2).all(|pair| pair[0].ends_with(pair[1].split_inclusive('.').next().unwrap())), "{texts:?}");
}

#[test]
fn code_fences_and_lists_stay_whole_where_they_fit() {
    let list = "- one apple\n- two pears\n- three plums";
    let fence = "```sh\ngroundwork up docs\n\ngroundwork ask why\n```";
    let body =
        format!("# T\n\n{}\n\n{list}\n\n{}\n\n{fence}\n", "Some words here. ".repeat(6), "More words. ".repeat(8));
    let chunked = sizes(600, 40, 8).chunk("t.md", &NormalisedDocument::new(Format::Markdown, &body));
    let texts: Vec<_> = shown(&body, &chunked).into_iter().map(|(text, _)| text).collect();
    assert!(texts.iter().any(|text| text.contains(list)) && texts.iter().any(|text| text.contains(fence)), "{texts:?}");
}

#[test]
fn table_rows_carry_their_header() {
    let rows: Vec<_> = (0..20).map(|n| format!("| AX-{n} | {n} kg | in stock |\n")).collect();
    let body = format!("# Parts\n\n| Part | Weight | State |\n| --- | --- | --- |\n{}", rows.concat());
    let chunked = sizes(600, 60, 10).chunk("parts.md", &NormalisedDocument::new(Format::Markdown, &body));
    let chunks = shown(&body, &chunked);
    assert!(chunks.len() > 2);
    assert!(chunks.iter().any(|(text, context)| text.starts_with("| Part") && !context.contains('|')));
    for (text, context) in chunks.iter().filter(|(text, _)| text.starts_with("| AX")) {
        assert_eq!(context, "Parts\nPart | Weight | State");
        assert!(text.ends_with('|'), "{text}");
    }
}

#[test]
fn csv_rows_carry_header_and_row_numbers() {
    let rows: Vec<_> = (2..42).map(|n| format!("{n},\"line\nbreak\",ok\n")).collect();
    let body = format!("id,note,state\n{}", rows.concat());
    let chunked = sizes(100, 40, 10).chunk("rows.csv", &NormalisedDocument::new(Format::Csv, &body));
    let rows: Vec<_> = chunked.parents.iter().map(|parent| parent.locator.clone()).collect();
    assert!(matches!(rows.first(), Some(Locator::Rows { sheet: None, first: 1, .. })), "{rows:?}");
    assert!(matches!(rows.last(), Some(Locator::Rows { sheet: None, last: 41, .. })), "{rows:?}");
    let chunks = shown(&body, &chunked);
    assert!(chunks.iter().skip(1).all(|(_, context)| context == "rows.csv\nid | note | state"), "{chunks:?}");
}

#[test]
fn json_lines_are_not_cut() {
    let body: String = (0..30).map(|n| format!("{{\"id\": {n}, \"name\": \"item {n}\"}}\n")).collect();
    let chunked = sizes(120, 50, 10).chunk("a.jsonl", &NormalisedDocument::new(Format::JsonLines, &body));
    let chunks = shown(&body, &chunked);
    assert!(chunks.len() > 4 && chunks.iter().all(|(text, _)| text.starts_with('{') && text.ends_with('}')));
}

#[test]
fn code_carries_the_enclosing_symbol() {
    let lines: String = (0..40).map(|n| format!("        let value_{n} = compute({n});\n")).collect();
    let body = format!("use std::fmt;\n\nimpl<T> Server<T> {{\n    pub fn start(&self) {{\n{lines}    }}\n}}\n");
    let chunked = sizes(200, 60, 10).chunk("src/server.rs", &NormalisedDocument::new(Format::Code, &body));
    let contexts: Vec<_> = shown(&body, &chunked).into_iter().map(|(_, context)| context).collect();
    assert_eq!(chunked.title, "server.rs");
    assert_eq!(contexts.last().unwrap(), "server.rs\nServer<T> > start");
}

#[test]
fn symbols_are_found_in_common_languages() {
    let rows = [
        ("a.rs", "pub(crate) async fn start(&self) {", Some("start")),
        ("a.rs", "impl fmt::Display for Locator {", Some("fmt::Display for Locator")),
        ("a.py", "class Session(Base):", Some("Session")),
        ("a.py", "async def run(self):", Some("run")),
        ("a.go", "func (s *Server) Serve(l net.Listener) error {", Some("Server.Serve")),
        ("a.ts", "export const load = async (path: string) => {", Some("load")),
        ("a.java", "public static void main(String[] args) {", Some("main")),
        ("a.c", "static int *parse(const char *text) {", Some("parse")),
        ("a.c", "if (ready) {", None),
        ("a.rs", "let value = compute(3);", None),
        ("a.yaml", "template:", Some("template")),
        ("a.yaml", "name: x", None),
        ("a.toml", "[dependencies]", Some("dependencies")),
    ];
    for (path, line, name) in rows {
        assert_eq!(symbol::defined(path, line).as_deref(), name, "{line}");
    }
}

#[test]
fn pages_come_from_marks() {
    let body = "First page text.\n\nStill first.\n\nSecond page text.\n";
    let mut pdf = NormalisedDocument::new(Format::Pdf, body);
    let second = body.find("Second").unwrap();
    pdf.marks = vec![Mark { offset: 0, begins: Begins::Page(1) }, Mark { offset: second, begins: Begins::Page(2) }];
    let chunked = sizes(600, 100, 20).chunk("a.pdf", &pdf);
    assert_eq!(chunked.parents[0].locator, Locator::Pages { first: 1, last: 2 });
    let chunked = sizes(8, 8, 0).chunk("a.pdf", &pdf);
    assert_eq!(chunked.parents.last().unwrap().locator, Locator::Pages { first: 2, last: 2 });
}

#[test]
fn sheets_and_rows_come_from_marks() {
    let body = "## Prices\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n## Stock\n\n| c |\n| --- |\n| 5 |\n";
    let row = |text: &str, sheet: &str, row| Mark {
        offset: body.find(text).unwrap(),
        begins: Begins::Row { sheet: sheet.to_owned(), row },
    };
    let rows = |sheet: &str, first, last| Locator::Rows { sheet: Some(sheet.to_owned()), first, last };
    let every = vec![
        row("| a", "Prices", 1),
        row("| 1", "Prices", 2),
        row("| 3", "Prices", 3),
        row("| c", "Stock", 1),
        row("| 5", "Stock", 2),
    ];
    let first = vec![row("| a", "Prices", 1), row("| c", "Stock", 1)];
    for marks in [every, first] {
        let workbook = NormalisedDocument { marks, ..NormalisedDocument::new(Format::Xlsx, body) };
        let chunked = sizes(600, 100, 20).chunk("a.xlsx", &workbook);
        let locators: Vec<_> = chunked.parents.iter().map(|parent| parent.locator.clone()).collect();
        assert_eq!(locators, [rows("Prices", 1, 3), rows("Stock", 1, 2)]);
    }
}

#[test]
fn the_whole_document_is_one_chunk_where_asked() {
    let chunking = Chunking { strategy: ChunkingStrategy::Whole, ..Chunking::default() };
    let body = "# A\n\ntext\n\n# B\n\nmore\n";
    let chunked = Chunker::new(&chunking).chunk("a.md", &NormalisedDocument::new(Format::Markdown, body));
    assert_eq!(shown(body, &chunked), [(body.trim().to_owned(), "A".to_owned())]);
}

#[test]
fn sizes_are_those_of_the_tokenizer_for_alphabetic_text() {
    // Counts by OpenAI's cl100k_base.
    for (text, tokens) in [("hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10), ("", 0)] {
        assert_eq!(token::count(text), tokens, "{text}");
    }
}
