//! What a sync costs where almost nothing changed: 10,000 files, then one changed, with the embedder's calls counted.

use groundwork_config::{Contract, Embedding, KnowledgeBase, MetadataKeys, Source, SourceKind, SyncPolicy};
use groundwork_knowledge::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile};
use groundwork_knowledge::identity::TextHash;
use groundwork_knowledge::load::{Loader, LoaderOptions};
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
use groundwork_knowledge::sync::{EmbedOptions, SyncOptions, Synchroniser};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const FILES: usize = 10_000;
const DIMENSIONS: usize = 256;

#[tokio::main]
async fn main() {
    let root = TempDir::new().expect("a folder for the files");
    let docs = root.path().join("docs");
    (0..FILES).for_each(|n| write(&docs, n, "as it was"));
    let store = EmbeddedStore::open(root.path().join("store"), EmbeddedOptions::default()).await.expect("a store");
    let loader = Loader::new(LoaderOptions { metadata: MetadataKeys::default(), extraction: None });
    let synchroniser =
        Synchroniser::open(Arc::new(knowledge_base(&docs)), Arc::new(store), loader).await.expect("open");
    let embedder: Arc<dyn Embedder> = Arc::new(HashBytes::new());
    round("first", &synchroniser, &embedder).await;
    // Stamps prove something only when they are older than the time step of file systems.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    round("nothing changed, stamps too young", &synchroniser, &embedder).await;
    round("nothing changed", &synchroniser, &embedder).await;
    write(&docs, 4321, "changed");
    round("one changed", &synchroniser, &embedder).await;
}

async fn round(name: &str, synchroniser: &Synchroniser, embedder: &Arc<dyn Embedder>) {
    let (clock, cancel) = (Instant::now(), CancellationToken::new());
    let report = synchroniser.sync(&SyncOptions::default(), &(), &cancel).await.expect("a sync");
    let keywords = clock.elapsed();
    let vectors = synchroniser.embed_all(embedder, &EmbedOptions::default(), &(), &cancel).await.expect("vectors");
    let total = report.total;
    println!(
        "{name}: keywords after {keywords:.0?}, vectors after {:.0?} more; {} added, {} updated, {} unchanged; {} chunks, \
         {} embedded, {} reused",
        clock.elapsed() - keywords,
        total.added,
        total.updated,
        total.unchanged,
        report.chunks,
        vectors.embedded,
        vectors.reused
    );
}

fn write(docs: &Path, n: usize, state: &str) {
    let folder = docs.join(format!("{:02}", n % 100));
    let words = |line| format!("Line {line} of file {n} speaks of item{} and topic{}.\n", n * 7 % 1013, n * 11 % 503);
    let body: String = (0..8).map(words).collect();
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{n}.md")), format!("# File {n} {state}\n\n{body}")).expect("a file");
}

fn knowledge_base(docs: &Path) -> KnowledgeBase {
    let kind = SourceKind::Folder { path: docs.to_owned() };
    KnowledgeBase {
        name: "bench".into(),
        data_id: Uuid::from_u128(7),
        sources: vec![Source { name: "docs".into(), kind, include: Vec::new(), exclude: Vec::new() }],
        metadata: MetadataKeys::default(),
        contract: Contract { embedding: Embedding::Hashing { dimensions: DIMENSIONS as u32 }, ..Contract::default() },
        sync: SyncPolicy::default(),
        store: groundwork_config::Store::default(),
    }
}

/// An embedder that costs nothing, so that the rest is seen: the bytes of the text's hash, scaled to length 1.
struct HashBytes {
    profile: EmbedderProfile,
}

impl HashBytes {
    fn new() -> Self {
        let profile = EmbedderProfile {
            identity: "hash-bytes".into(),
            dimensions: DIMENSIONS,
            max_tokens: None,
            languages: None,
            fusion_weight: 0.1,
            max_batch: 512,
        };
        Self { profile }
    }
}

#[async_trait::async_trait]
impl Embedder for HashBytes {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, _: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let hash = TextHash::of(text).0;
    let vector: Vec<f32> = (0..DIMENSIONS).map(|at| f32::from(hash[at % hash.len()]) + 1.0).collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
