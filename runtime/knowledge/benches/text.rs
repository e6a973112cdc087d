//! Speed of the analyser and the chunker. `cargo bench -p groundwork-knowledge --bench text`.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use groundwork_config::{Chunking, Keyword};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::chunk::Chunker;
use groundwork_knowledge::document::{Format, NormalisedDocument};

fn main() {
    divan::main();
}

const WORDS: &[&str] = &[
    "the",
    "retrieval",
    "of",
    "documents",
    "is",
    "measured",
    "by",
    "ranking",
    "relevant",
    "passages",
    "before",
    "others",
    "and",
    "operators",
    "declare",
    "policies",
    "that",
    "limit",
    "running",
    "agents",
    "in",
    "a",
    "cluster",
    "HTTPServer",
    "max_retry_count",
    "AX-3000",
    "configuration",
    "2024",
    "values.yaml",
    "generalization",
];

/// About `bytes` of sentences in sections, the same on every run.
fn english(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut state = 0x2545_f491_u32;
    for count in 0.. {
        if text.len() >= bytes {
            break;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(WORDS[(state >> 16) as usize % WORDS.len()]);
        text.push_str(match count {
            _ if count % 600 == 599 => ".\n\n## Another section\n\n",
            _ if count % 90 == 89 => ".\n\n",
            _ if count % 15 == 14 => ". ",
            _ => " ",
        });
    }
    text
}

fn chinese(bytes: usize) -> String {
    "检索系统把文档切成段落，再按关键词和向量排序。每个回答都附有引用。\n\n".chars().cycle().take(bytes / 3).collect()
}

#[divan::bench(args = [true, false])]
fn analyse_english(bencher: Bencher<'_, '_>, fold_identifiers: bool) {
    let text = english(1 << 20);
    let analyser = Analyser::new(&Keyword { fold_identifiers, ..Keyword::default() });
    bencher.counter(BytesCount::of_str(&text)).bench(|| analyser.analyse(black_box(&text)));
}

#[divan::bench]
fn analyse_chinese(bencher: Bencher<'_, '_>) {
    let text = chinese(1 << 20);
    let analyser = Analyser::new(&Keyword::default());
    bencher.counter(BytesCount::of_str(&text)).bench(|| analyser.analyse(black_box(&text)));
}

#[divan::bench(args = ["a.md", "a.txt", "a.rs"])]
fn chunk_english(bencher: Bencher<'_, '_>, path: &str) {
    let format = match path {
        "a.md" => Format::Markdown,
        "a.txt" => Format::Text,
        _ => Format::Code,
    };
    let document = NormalisedDocument::new(format, english(1 << 20));
    let chunker = Chunker::new(&Chunking::default());
    bencher.counter(BytesCount::of_str(&document.body)).bench(|| chunker.chunk(path, black_box(&document)));
}

#[divan::bench]
fn chunk_chinese(bencher: Bencher<'_, '_>) {
    let document = NormalisedDocument::new(Format::Markdown, chinese(1 << 20));
    let chunker = Chunker::new(&Chunking::default());
    bencher.counter(BytesCount::of_str(&document.body)).bench(|| chunker.chunk("a.md", black_box(&document)));
}
