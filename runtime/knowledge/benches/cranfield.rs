//! Groundwork's side of the comparison with Python packages on Cranfield; `hack/bench/peers.py` is the other side.
//!
//! `export DIR` writes documents, questions and their vectors; `search DIR` times hybrid search for given query vectors
//! with a filter, payload returned; `ingest DIR` times cutting, indexing and embedding. Both print one JSON object.

use groundwork_config::{Chunking, ChunkingStrategy, Contract, Embedding, Retrieval};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::chunk::{Chunker, indexed_text};
use groundwork_knowledge::document::{Format, Metadata, NormalisedDocument};
use groundwork_knowledge::embed::{EmbedKind, Embedder, HashingEmbedder};
use groundwork_knowledge::identity::{DocumentId, TextHash};
use groundwork_knowledge::search::{SearchRequest, Searcher};
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
use groundwork_knowledge::store::{DocumentWrite, Filter, KnowledgeStore, Principal, Reader};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

const DIMENSIONS: u32 = 384;
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [command, folder] = &arguments[..] else {
        return println!("cranfield: give export, search or ingest, and a folder");
    };
    let folder = PathBuf::from(folder);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match command.as_str() {
        "export" => runtime.block_on(export(&folder)),
        "search" => runtime.block_on(search(&folder)),
        "ingest" => runtime.block_on(ingest(&folder)),
        other => println!("cranfield: {other} is not export, search or ingest"),
    }
}

/// A line of `documents.jsonl` or `queries.jsonl`.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Line {
    id: String,
    text: String,
    tag: String,
}

fn embedder() -> HashingEmbedder {
    HashingEmbedder::new(DIMENSIONS as usize)
}

async fn export(folder: &Path) {
    let root = groundwork_tests::datasets::eval_data().expect("GROUNDWORK_EVAL_DATA names the evaluation data");
    let set = groundwork_tests::datasets::load(&root, "cranfield").expect("cranfield can be read");
    let tag = |index: usize| if index.is_multiple_of(2) { "even".to_owned() } else { "odd".to_owned() };
    let documents = set.documents.iter().enumerate().map(|(index, document)| Line {
        id: document.id.clone(),
        text: document.title_and_text(),
        tag: tag(index),
    });
    // A handful of documents of this collection have no text at all.
    let documents: Vec<Line> = documents.filter(|line| !line.text.trim().is_empty()).collect();
    let queries = set.queries.iter().map(|query| Line { id: query.id.clone(), text: query.text.clone(), tag: tag(0) });
    let queries: Vec<Line> = queries.collect();
    std::fs::create_dir_all(folder).expect("the folder can be made");
    write(folder, "documents", EmbedKind::Passage, &documents).await;
    write(folder, "queries", EmbedKind::Query, &queries).await;
    std::fs::write(folder.join("shape.json"), json!({ "dimensions": DIMENSIONS }).to_string()).expect("written");
}

async fn write(folder: &Path, name: &str, kind: EmbedKind, lines: &[Line]) {
    let text: String = lines.iter().map(|line| json!(line).to_string() + "\n").collect();
    std::fs::write(folder.join(format!("{name}.jsonl")), text).expect("written");
    let texts: Vec<String> = lines.iter().map(indexed).collect();
    let mut bytes = Vec::new();
    for batch in texts.chunks(embedder().profile().max_batch) {
        let vectors = embedder().embed(kind, batch).await.expect("hashing does not fail");
        bytes.extend(vectors.iter().flatten().flat_map(|value| value.to_le_bytes()));
    }
    std::fs::write(folder.join(format!("{name}.f32")), bytes).expect("written");
}

/// What the store embeds of a document: its identity stands for the title.
fn indexed(line: &Line) -> String {
    indexed_text(&line.id, &line.text)
}

fn read(folder: &Path, name: &str) -> Vec<Line> {
    let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).expect("exported before");
    text.lines().map(|line| serde_json::from_str(line).expect("exported before")).collect()
}

fn vectors(folder: &Path, name: &str) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(folder.join(format!("{name}.f32"))).expect("exported before");
    let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    values.chunks(DIMENSIONS as usize).map(<[f32]>::to_vec).collect()
}

fn contract(strategy: ChunkingStrategy) -> Contract {
    Contract {
        chunking: Chunking { strategy, ..Chunking::default() },
        embedding: Embedding::Hashing { dimensions: DIMENSIONS },
        ..Contract::default()
    }
}

async fn filled(folder: &Path, contract: &Contract, lines: &[Line]) -> EmbeddedStore {
    let store = EmbeddedStore::open(folder, EmbeddedOptions::default()).await.expect("a new store opens");
    let lease = store.lease().await.expect("a lease");
    let maintainer = store.maintainer(&lease, contract).await.expect("a maintainer");
    let chunker = Chunker::new(&contract.chunking);
    for batch in lines.chunks(256) {
        let writes = batch.iter().map(|line| document(&chunker, line)).collect();
        maintainer.write_documents(0, writes).await.expect("written");
    }
    while maintainer.embed_pending(&embedder(), 512).await.expect("embedded").remaining > 0 {}
    maintainer.flush().await.expect("flushed");
    maintainer.activate().await.expect("activated");
    store
}

fn document(chunker: &Chunker, line: &Line) -> DocumentWrite {
    let document = NormalisedDocument {
        body: line.text.clone(),
        format: Format::Text,
        front_matter: None,
        title: Some(line.id.clone()),
        metadata: Metadata { date: None, tags: vec![line.tag.clone()] },
        marks: Vec::new(),
        notes: Vec::new(),
    };
    DocumentWrite {
        id: DocumentId::new(Uuid::NAMESPACE_URL, "cranfield", &line.id),
        source: "cranfield".into(),
        path: line.id.clone(),
        stamp: None,
        content: TextHash::of(&line.text),
        chunked: chunker.chunk(&line.id, &document),
        document,
    }
}

async fn search(folder: &Path) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let contract = contract(ChunkingStrategy::Whole);
    let store = filled(place.path(), &contract, &read(folder, "documents")).await;
    let reader: Arc<dyn Reader> = store.reader(&Principal::local()).await.expect("a reader").expect("it is active");
    let searcher =
        Searcher { reader, analyser: Analyser::new(&contract.keyword), embedder: Some(Arc::new(embedder())) };
    let (queries, vectors) = (read(folder, "queries"), vectors(folder, "queries"));
    let filter = Filter { tags: vec!["even".into()], ..Filter::default() };
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let mut times = Vec::with_capacity(queries.len());
        for (query, vector) in queries.iter().zip(&vectors) {
            let request = SearchRequest {
                top_k: 10,
                filter: filter.clone(),
                ..SearchRequest::new(query.text.as_str(), &Retrieval::default())
            };
            let start = Instant::now();
            let found = searcher.search_with_vector(&request, vector).await.expect("found");
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            assert!(!found.hits.is_empty() && found.hits.len() <= 10);
        }
        times.sort_by(f64::total_cmp);
        rounds.push(times);
    }
    let median = |times: &Vec<f64>| times[times.len() / 2];
    rounds.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let best = &rounds[0];
    let report = json!({
        "median_ms": median(best),
        "p95_ms": best[best.len() * 95 / 100],
        "spread_ms": [median(&rounds[0]), median(&rounds[ROUNDS - 1])],
    });
    println!("{report}");
}

async fn ingest(folder: &Path) {
    let lines = read(folder, "documents");
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let place = tempfile::tempdir().expect("a temporary folder");
        let start = Instant::now();
        filled(place.path(), &contract(ChunkingStrategy::Structural), &lines).await.close().await;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{}", json!({ "documents_per_second": lines.len() as f64 / best, "seconds": seconds }));
}
