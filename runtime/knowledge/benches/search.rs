//! Search over 100,000 seeded passages with given vectors: hybrid, each arm alone, and bare tantivy beside the keyword
//! arm. Run by `make bench`; `GROUNDWORK_BENCH_PASSAGES` changes the number.

use async_trait::async_trait;
use groundwork_config::{Contract, Keyword, Retrieval, RetrievalMode};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::chunk::{Chunk, ChunkedDocument, Parent};
use groundwork_knowledge::document::{Format, Locator, Metadata, NormalisedDocument};
use groundwork_knowledge::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile};
use groundwork_knowledge::identity::{DocumentId, TextHash};
use groundwork_knowledge::search::{SearchRequest, Searcher};
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
use groundwork_knowledge::store::{DocumentWrite, KnowledgeStore, Principal};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument, Term};
use uuid::Uuid;

const DIMENSIONS: usize = 384;
const WORDS: usize = 60;
const QUERIES: usize = 64;
/// Names the folder of a store to the process that only opens it.
const OPEN: &str = "GROUNDWORK_BENCH_OPEN";

fn main() {
    if let Some(folder) = std::env::var_os(OPEN) {
        return report_start(folder.as_ref());
    }
    let prepared = &*PREPARED;
    eprintln!("{} passages ingested in {:.1} s", passages(), prepared.ingest_seconds);
    prepared.report_percentiles();
    divan::main();
}

fn passages() -> usize {
    std::env::var("GROUNDWORK_BENCH_PASSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

/// Knuth's MMIX generator: the same corpus everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Frequent words are frequent, as in text.
    fn word(&mut self) -> String {
        let scale = self.next() % 20_000 + 1;
        let number = self.next() % scale;
        number.to_string().bytes().map(|digit| char::from(b'b' + digit - b'0')).collect()
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn vector(&mut self) -> Vec<f32> {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| (self.next() % 2001) as f32 / 1000.0 - 1.0).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }
}

/// Gives each text a vector seeded by its hash.
struct Given(EmbedderProfile);

#[async_trait]
impl Embedder for Given {
    fn profile(&self) -> &EmbedderProfile {
        &self.0
    }

    async fn embed(&self, _kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let seed =
            |text: &String| TextHash::of(text).0[..8].iter().fold(0, |seed, &byte| (seed << 8) | u64::from(byte));
        Ok(texts.iter().map(|text| Random(seed(text)).vector()).collect())
    }
}

fn write(number: usize, random: &mut Random) -> DocumentWrite {
    let body = random.text(WORDS);
    let chunk = Chunk { span: 0..body.len(), context: String::new() };
    let parent = Parent {
        span: 0..body.len(),
        heading_path: Vec::new(),
        locator: Locator::Lines { first: 1, last: 1 },
        tokens: 100,
        chunks: vec![chunk],
    };
    let path = format!("{}/{number}.md", number % 10);
    DocumentWrite {
        id: DocumentId::new(Uuid::nil(), "bench", &path),
        source: "bench".into(),
        content: TextHash::of(&body),
        stamp: None,
        chunked: ChunkedDocument { title: path.clone(), parents: vec![parent] },
        path,
        document: NormalisedDocument {
            body,
            format: Format::Text,
            front_matter: None,
            title: None,
            metadata: Metadata::default(),
            marks: Vec::new(),
            notes: Vec::new(),
        },
    }
}

struct Prepared {
    runtime: tokio::runtime::Runtime,
    searcher: Searcher,
    queries: Vec<(String, Vec<f32>)>,
    bare: (Index, tantivy::schema::Field),
    ingest_seconds: f64,
    _folder: tempfile::TempDir,
}

static PREPARED: LazyLock<Prepared> = LazyLock::new(Prepared::new);

impl Prepared {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        let start = Instant::now();
        runtime.block_on(ingest(folder.path()));
        let ingest_seconds = start.elapsed().as_secs_f64();
        let mut random = Random(7);
        let queries: Vec<_> = (0..QUERIES).map(|_| (random.text(6), random.vector())).collect();
        in_a_new_process(folder.path());
        let searcher = runtime.block_on(open(folder.path()));
        let bare = bare_index(&folder.path().join("bare"));
        Self { runtime, searcher, queries, bare, ingest_seconds, _folder: folder }
    }

    fn request(&self, number: usize, mode: RetrievalMode) -> SearchRequest {
        SearchRequest { mode, top_k: 10, ..SearchRequest::new(&self.queries[number].0, &Retrieval::default()) }
    }

    fn search(&self, number: usize, mode: RetrievalMode) -> usize {
        let (request, vector) = (self.request(number, mode), &self.queries[number].1);
        let search = self.searcher.search_with_vector(&request, vector);
        self.runtime.block_on(search).expect("the search runs").hits.len()
    }

    fn report_percentiles(&self) {
        for mode in [RetrievalMode::Hybrid, RetrievalMode::Keyword, RetrievalMode::Vector] {
            let mut times: Vec<f64> = (0..3 * QUERIES)
                .map(|number| {
                    let start = Instant::now();
                    self.search(number % QUERIES, mode);
                    start.elapsed().as_secs_f64() * 1000.0
                })
                .collect();
            times.sort_by(f64::total_cmp);
            eprintln!("{mode:?}: p50 {:.2} ms, p95 {:.2} ms", times[times.len() / 2], times[times.len() * 95 / 100]);
        }
    }
}

/// Start time and memory count in a process that has done nothing else.
fn in_a_new_process(folder: &std::path::Path) {
    let program = std::env::current_exe().expect("a program knows its path");
    let status = std::process::Command::new(program).env(OPEN, folder).status().expect("the program starts");
    assert!(status.success(), "{status}");
}

/// Opens what another process ingested, searches once, and prints how long that took and what it keeps in memory. Mapped
/// files count apart, for the system may drop them.
fn report_start(folder: &std::path::Path) {
    let start = Instant::now();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let searcher = runtime.block_on(open(folder));
    let opened = start.elapsed().as_secs_f64();
    let mut random = Random(7);
    let (query, vector) = (random.text(6), random.vector());
    let request = SearchRequest::new(&query, &Retrieval::default());
    runtime.block_on(searcher.search_with_vector(&request, &vector)).expect("the search runs");
    eprintln!("opened in {opened:.2} s, first hybrid search after {:.2} s", start.elapsed().as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let named = |line: &&str| ["VmHWM:", "VmRSS:", "RssAnon:", "RssFile:"].iter().any(|name| line.starts_with(name));
    status.lines().filter(named).for_each(|line| eprintln!("{line}"));
}

fn embedder() -> Given {
    Given(EmbedderProfile {
        identity: "given".into(),
        dimensions: DIMENSIONS,
        max_tokens: None,
        languages: None,
        fusion_weight: 0.2,
        max_batch: 256,
    })
}

async fn ingest(folder: &std::path::Path) {
    let store = EmbeddedStore::open(folder, EmbeddedOptions::default()).await.expect("the store opens");
    let lease = store.lease().await.expect("a lease is given");
    let maintainer = store.maintainer(&lease, &Contract::default()).await.expect("a maintainer is given");
    let mut random = Random(42);
    let numbers: Vec<usize> = (0..passages()).collect();
    for part in numbers.chunks(1000) {
        let documents = part.iter().map(|&number| write(number, &mut random)).collect();
        maintainer.write_documents(1, documents).await.expect("documents are written");
    }
    let embedder = embedder();
    while maintainer.embed_pending(&embedder, 1024).await.expect("chunks are embedded").remaining > 0 {}
    maintainer.activate().await.expect("the revision is activated");
    maintainer.flush().await.expect("indexes are flushed");
    store.close().await;
}

async fn open(folder: &std::path::Path) -> Searcher {
    let store = EmbeddedStore::open(folder, EmbeddedOptions::default()).await.expect("the store opens");
    let reader = store.reader(&Principal::local()).await.expect("the store answers").expect("a revision is active");
    Searcher { reader, analyser: Analyser::new(&Keyword::default()), embedder: Some(Arc::new(embedder())) }
}

/// The same texts in a plain tantivy index, with the same terms.
fn bare_index(folder: &std::path::Path) -> (Index, tantivy::schema::Field) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let mut schema = Schema::builder();
    let indexing =
        TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing) | STORED);
    let index = Index::create_in_dir(folder, schema.build()).expect("an index can be made");
    let mut writer = index.writer_with_num_threads(1, 15_000_000).expect("a writer opens");
    let (mut random, analyser) = (Random(42), Analyser::new(&Keyword::default()));
    for number in 0..passages() {
        let terms = analyser.analyse(&write(number, &mut random).document.body);
        let mut document = TantivyDocument::default();
        document.add_text(body, terms.into_iter().map(|token| token.term).collect::<Vec<_>>().join(" "));
        writer.add_document(document).expect("a document is added");
    }
    writer.commit().expect("the index commits");
    writer.wait_merging_threads().expect("merges end");
    (index, body)
}

#[divan::bench]
fn hybrid(bencher: divan::Bencher) {
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        PREPARED.search(number % QUERIES, RetrievalMode::Hybrid)
    });
}

#[divan::bench]
fn keyword(bencher: divan::Bencher) {
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        PREPARED.search(number % QUERIES, RetrievalMode::Keyword)
    });
}

#[divan::bench]
fn keyword_bare_tantivy(bencher: divan::Bencher) {
    let (index, body) = &PREPARED.bare;
    let searcher = index.reader().expect("a reader opens").searcher();
    let analyser = Analyser::new(&Keyword::default());
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let clause = |(term, _): (String, u32)| {
            let term = TermQuery::new(Term::from_field_text(*body, &term), IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn Query>)
        };
        let words = analyser.query(&PREPARED.queries[number % QUERIES].0).words;
        let query = BooleanQuery::new(words.into_iter().map(clause).collect());
        let top = searcher.search(&query, &TopDocs::with_limit(200).order_by_score()).expect("the search runs");
        let read = |(_, address): &(f32, tantivy::DocAddress)| searcher.doc::<TantivyDocument>(*address);
        top.iter().take(10).map(read).filter(Result::is_ok).count()
    });
}

#[divan::bench]
fn vector(bencher: divan::Bencher) {
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        PREPARED.search(number % QUERIES, RetrievalMode::Vector)
    });
}
