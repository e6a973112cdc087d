use proptest::prelude::*;

use super::*;
use crate::identity::TextHash;

/// Tokens by which a chunk may exceed its limit when it is counted as a whole instead of piece by piece.
const SLACK: usize = 4;

fn check(chunker: &Chunker, path: &str, document: &NormalisedDocument) -> ChunkedDocument {
    let body = document.body.as_str();
    let chunked = chunker.chunk(path, document);
    let mut at = 0;
    let mut covered = vec![false; body.len()];
    let front = document.front_matter.clone().unwrap_or(0..0);
    for parent in &chunked.parents {
        assert_eq!(parent.span.start, at, "parents tile the body");
        at = parent.span.end;
        for chunk in &parent.chunks {
            let text = body.get(chunk.span.clone()).expect("a chunk lies on character boundaries");
            assert!(parent.span.start <= chunk.span.start && chunk.span.end <= parent.span.end);
            assert!(!text.trim().is_empty() && text.trim() == text);
            assert!(chunk.span.start >= front.end, "no chunk touches the front matter");
            covered[chunk.span.clone()].fill(true);
        }
    }
    assert_eq!(at, body.len(), "parents tile the body");
    let missing = body.char_indices().find(|(at, c)| !c.is_whitespace() && *at >= front.end && !covered[*at]);
    assert_eq!(missing, None, "every character lies in a chunk");
    assert_eq!(chunked, chunker.chunk(path, document), "equal documents are cut equally");
    chunked
}

fn check_sizes(chunking: &Chunking, body: &str, chunked: &ChunkedDocument) {
    let tokens = |text: &str| tiktoken_rs::cl100k_base_singleton().count_ordinary(text);
    for parent in &chunked.parents {
        assert!(parent.chunks.is_empty() || parent.tokens <= chunking.parent_tokens.max(chunking.child_tokens));
        for chunk in &parent.chunks {
            let size = tokens(&body[chunk.span.clone()]);
            assert!(size <= chunking.child_tokens as usize + SLACK, "{size} tokens: {:?}", &body[chunk.span.clone()]);
        }
    }
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (1..4_usize, "[a-zA-Z0-9 `*]{1,20}").prop_map(|(level, text)| format!("{} {text}\n\n", "#".repeat(level))),
        6 => "([A-Z][a-z]{1,9}( [a-z0-9,-]{1,9}){0,14}[.!?] ){1,6}\n\n",
        2 => "([一-十ぁ-ん]{3,30}[。！？]){1,6}\n\n",
        2 => "(- [a-z ]{1,40}\n){1,8}\n",
        1 => "```\n([a-z_(){}; ]{0,40}\n){0,12}```\n\n",
        1 => "(> )?\\PC{0,60}\n",
        1 => "\n{1,4}",
        1 => (1..12_usize).prop_map(|n| format!("| a | b |\n|---|---|\n{}\n", "| x y | 12 |\n".repeat(n))),
        1 => "[ \t\r\n\u{3000}\u{a0}]{1,6}",
    ]
}

fn body() -> impl Strategy<Value = String> {
    prop::collection::vec(block(), 0..24).prop_map(|blocks| blocks.concat())
}

fn chunking() -> impl Strategy<Value = Chunking> {
    let strategy = prop_oneof![4 => Just(ChunkingStrategy::Structural), 1 => Just(ChunkingStrategy::Fixed)];
    (strategy, 20..120_u32, 1..8_u32, 0..12_u32).prop_map(|(strategy, child_tokens, factor, overlap_tokens)| Chunking {
        strategy,
        parent_tokens: child_tokens * factor,
        child_tokens,
        overlap_tokens,
    })
}

const FORMATS: [(Format, &str); 5] = [
    (Format::Markdown, "a.md"),
    (Format::Text, "a.txt"),
    (Format::Code, "a.rs"),
    (Format::Csv, "a.csv"),
    (Format::JsonLines, "a.jsonl"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn invariants_hold_for_every_format(body in body(), chunking in chunking(), format in 0..5_usize) {
        let (format, path) = FORMATS[format];
        let chunked = check(&Chunker::new(&chunking), path, &NormalisedDocument::new(format, &body));
        check_sizes(&chunking, &body, &chunked);
    }

    #[test]
    fn front_matter_is_in_no_chunk(body in body(), chunking in chunking()) {
        let front = "---\ntitle: Secret words\n---\n";
        let mut document = NormalisedDocument::new(Format::Markdown, format!("{front}{body}"));
        document.front_matter = Some(0..front.len());
        check(&Chunker::new(&chunking), "a.md", &document);
    }

    #[test]
    fn editing_one_section_leaves_the_others_alone(
        texts in prop::collection::vec("([A-Z][a-z]{2,9}( [a-z]{1,9}){2,14}[.] ){1,9}", 3..9),
        edited in 0..9_usize,
        new in "([A-Z][a-z]{2,9}( [a-z]{1,9}){2,14}[.] ){1,12}",
        chunking in chunking(),
    ) {
        prop_assume!(chunking.strategy == ChunkingStrategy::Structural);
        let edited = edited % texts.len();
        let compose = |texts: &[String]| -> String {
            texts.iter().enumerate().map(|(n, text)| format!("## Section {n}\n\n{text}\n\n")).collect()
        };
        let chunker = Chunker::new(&chunking);
        let hashes = |body: &str| {
            let chunked = check(&chunker, "a.md", &NormalisedDocument::new(Format::Markdown, body));
            let chunks = chunked.parents.into_iter().flat_map(|parent| parent.chunks);
            chunks.map(|chunk| (TextHash::of(&body[chunk.span.clone()]), chunk.context)).collect::<Vec<_>>()
        };
        let mut changed = texts.clone();
        changed[edited] = new;
        let (before, after) = (hashes(&compose(&texts)), hashes(&compose(&changed)));
        let mark = format!("Section {edited}");
        let others = |hashes: Vec<(TextHash, String)>| -> Vec<_> {
            let of_edited = |context: &str| context.ends_with(&mark) || edited == 0 && !context.contains('\n');
            hashes.into_iter().filter(|(_, context)| !of_edited(context)).collect()
        };
        prop_assert_eq!(others(before), others(after));
    }
}

#[test]
fn extreme_texts_are_cut() {
    let texts = [
        ("one line of words", "word ".repeat(200_000)),
        ("one word", "a".repeat(1_000_000)),
        ("headings", "# h\n".repeat(100_000)),
        ("headings with text", "# h\n\ntext\n\n".repeat(30_000)),
        ("line ends", "\n".repeat(1_000_000)),
        ("spaces", " ".repeat(1_000_000)),
        ("quotes", "> ".repeat(20_000)),
        ("brackets", "[".repeat(100_000)),
        ("stars", "*a_ ".repeat(50_000)),
        ("Chinese", "汉字".repeat(150_000)),
        ("emoji", "👩\u{200d}💻".repeat(30_000)),
        ("backquotes", "```\n".repeat(50_000)),
        ("list", "- a\n".repeat(100_000)),
        ("nested list", (0..2_000).map(|n| format!("{}- a\n", " ".repeat(2 * (n % 200)))).collect()),
        ("open quote", format!("a,b\n\"{}", "1,2\n".repeat(100_000))),
        ("indents", (0..20_000).map(|n| format!("{}fn f{n}() {{\n", " ".repeat(n % 300))).collect()),
    ];
    for (name, text) in texts {
        for (format, path) in FORMATS {
            // Whole as Markdown; a part shows the other formats' faults as well.
            let part = if format == Format::Markdown { text.len() } else { text.floor_char_boundary(100_000) };
            let text = &text[..part.min(text.len())];
            let chunked = Chunker::new(&Chunking::default()).chunk(path, &NormalisedDocument::new(format, text));
            let bytes: usize = chunked.parents.iter().map(|parent| parent.span.len()).sum();
            assert_eq!(bytes, text.len(), "{name} as {format:?}");
        }
    }
}
