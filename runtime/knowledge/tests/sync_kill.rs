//! Ends a process in the middle of a sync, runs it again, and compares what is stored with an uninterrupted run: same
//! ids, texts, vectors and manifest, same hits, nothing twice.
//!
//! This proves that a store survives the death of its process (a crash, `kill -9`, out of memory). It does not prove
//! that it survives a power cut: what the process had handed to the kernel is never lost here.

#![cfg(feature = "failpoints")]
#![allow(clippy::unwrap_used)]

use groundwork_config::{
    Chunking, Contract, Embedding, Keyword, KnowledgeBase, MetadataKeys, Source, SourceKind, SyncPolicy,
};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile};
use groundwork_knowledge::identity::TextHash;
use groundwork_knowledge::load::{Loader, LoaderOptions};
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
#[cfg(feature = "qdrant")]
use groundwork_knowledge::store::qdrant::{Accuracy, QdrantOptions, QdrantStore};
use groundwork_knowledge::store::{Filter, KnowledgeStore, Principal};
use groundwork_knowledge::sync::{EmbedOptions, EmbedState, Serving, SyncOptions, Synchroniser};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Every point before and after a durable step.
const POINTS: &[&str] = &[
    "store::write_documents::before",
    "store::write_documents::after",
    "store::touch_documents::before",
    "store::touch_documents::after",
    "store::record_failures::before",
    "store::record_failures::after",
    "store::delete_documents::before",
    "store::delete_documents::after",
    "store::write_vectors::before",
    "store::write_vectors::after",
    "store::record_report::before",
    "store::record_report::after",
    "store::activate::before",
    "store::activate::after",
    "store::set_embedder::before",
    "store::set_embedder::after",
    "store::keyword_commit::before",
    "store::keyword_commit::after",
    "store::matrix_append::before",
    "store::matrix_append::after",
    "store::matrix_rename::before",
    "store::matrix_rename::after",
    "store::intend::after",
    "store::upsert_points::after",
    "store::delete_earlier::after",
    "store::delete_points::after",
    "store::set_vectors::after",
    "store::weigh::after",
];

const DIMENSIONS: usize = 64;
const CHILD: &str = "GROUNDWORK_KILL_CHILD";
const AT: &str = "GROUNDWORK_KILL_AT";
/// Address of the server where the knowledge base is to be in one.
const SERVER: &str = "GROUNDWORK_KILL_SERVER";
/// Random kills; each costs about one run.
const RANDOM_ROUNDS: u32 = 6;

// ---- the child -----------------------------------------------------------------------------------------------------

/// Not a test by itself: the process that is killed.
#[test]
fn child() {
    let Some(place) = std::env::var_os(CHILD) else { return };
    let at = std::env::var(AT).ok().and_then(|at| at.parse().ok());
    let hits = Arc::new(AtomicUsize::new(0));
    let passed = Arc::new(Mutex::new(Vec::new()));
    for point in POINTS {
        let (hits, passed) = (Arc::clone(&hits), Arc::clone(&passed));
        let hit = move || {
            if Some(hits.fetch_add(1, Ordering::SeqCst) + 1) == at {
                std::process::abort();
            }
            passed.lock().unwrap().push(*point);
        };
        fail::cfg_callback(*point, hit).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let result = runtime.block_on(script(Path::new(&place)));
    println!("\nRESULT {} {result}", passed.lock().unwrap().join(","));
}

/// The folder at the end of each step, and the size of chunks.
fn steps() -> Vec<(BTreeMap<String, String>, u32)> {
    let mut files: BTreeMap<String, String> = (0..6).map(|n| (format!("{n}.md"), text(n))).collect();
    files.insert("empty.md".into(), String::new());
    let added = files.clone();
    files.insert("1.md".into(), text(1).replace("paragraph", "section"));
    files.insert("6.md".into(), text(6));
    files.insert("sub/0.md".into(), files["0.md"].clone());
    files.remove("0.md");
    files.remove("2.md");
    files.insert("3.md".into(), String::new());
    let changed = files.clone();
    files.insert("empty.md".into(), "It has a text now.".into());
    files.insert("3.md".into(), text(33));
    let healed = files.clone();
    files.insert("7.md".into(), text(7));
    vec![(added, 40), (changed, 40), (healed, 40), (files, 60)]
}

fn text(n: usize) -> String {
    let paragraph =
        |p| format!("## Part {p}\n\nThis paragraph {p} of document {n} speaks of topic{p} and of item{n}.\n");
    format!("# Document {n}\n\n{}", (0..4).map(paragraph).collect::<Vec<_>>().join("\n"))
}

async fn script(place: &Path) -> String {
    let at = place.join("step");
    let first: usize = fs::read_to_string(&at).ok().and_then(|step| step.parse().ok()).unwrap_or(0);
    let mut result = String::new();
    let steps = steps();
    // A process that died after the last step does that one again, which must change nothing.
    let first = first.min(steps.len() - 1);
    for (number, (files, child_tokens)) in steps.into_iter().enumerate().skip(first) {
        arrange(&place.join("docs"), &files);
        result = step(place, child_tokens).await;
        fs::write(place.join("step.new"), (number + 1).to_string()).unwrap();
        fs::rename(place.join("step.new"), &at).unwrap();
    }
    result
}

/// Makes the folder hold exactly these files, writing only what differs.
fn arrange(docs: &Path, files: &BTreeMap<String, String>) {
    for (path, content) in files {
        let path = docs.join(path);
        if fs::read_to_string(&path).ok().as_ref() != Some(content) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
    for entry in fs::read_dir(docs).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        if !files.contains_key(entry.file_name().to_str().unwrap()) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

async fn open(place: &Path) -> Arc<dyn KnowledgeStore> {
    #[cfg(feature = "qdrant")]
    if let Ok(url) = std::env::var(SERVER) {
        let mut options = QdrantOptions::new(url, sum(&place.display().to_string()));
        options.accuracy = Accuracy::Exact;
        return Arc::new(QdrantStore::open(options, place.join("store")).await.unwrap());
    }
    Arc::new(EmbeddedStore::open(place.join("store"), EmbeddedOptions::default()).await.unwrap())
}

async fn step(place: &Path, child_tokens: u32) -> String {
    let store = open(place).await;
    let loader = Loader::new(LoaderOptions { metadata: MetadataKeys::default(), extraction: None });
    let knowledge_base = Arc::new(knowledge_base(&place.join("docs"), child_tokens));
    let synchroniser = Synchroniser::open(knowledge_base, Arc::clone(&store), loader).await.unwrap();
    let (cancel, options) = (CancellationToken::new(), SyncOptions { batch_documents: 3, ..SyncOptions::default() });
    synchroniser.sync(&options, &(), &cancel).await.unwrap();
    let embedder: Arc<dyn Embedder> = Arc::new(WordHashes::new());
    let embedded = synchroniser.embed_all(&embedder, &EmbedOptions::default(), &(), &cancel).await.unwrap();
    assert_eq!((embedded.state, embedded.note), (EmbedState::Complete, None));
    assert_eq!(synchroniser.sync(&options, &(), &cancel).await.unwrap().serving, Serving::ThisRevision);
    let digest = synchroniser.maintainer().digest().await.unwrap();
    format!("{digest} {}", hits(&*store, &*embedder).await)
}

/// What searches find, from the derived indexes.
async fn hits(store: &dyn KnowledgeStore, embedder: &dyn Embedder) -> String {
    let reader = store.reader(&Principal::local()).await.unwrap().unwrap();
    let analyser = Analyser::new(&Keyword::default());
    let mut found = Vec::new();
    // A server counts what was deleted in its statistics until it tidies up: its scores depend on the way.
    let scored = std::env::var_os(SERVER).is_none();
    for term in ["topic2", "item3", "section", "document"] {
        let query = analyser.query(term);
        let mut hits = reader.search_keywords(&query, &Filter::default(), 100).await.unwrap();
        if !scored {
            hits.sort_by_key(|hit| hit.chunk);
            hits.iter_mut().for_each(|hit| hit.score = 0.0);
        }
        found.extend(hits.iter().map(|hit| format!("{}:{:.4}", hit.chunk, hit.score)));
    }
    let query = embedder.embed(EmbedKind::Query, &["topic2 of item3".to_owned()]).await.unwrap().remove(0);
    for hit in reader.search_vectors(&query, &Filter::default(), 100).await.unwrap() {
        found.push(format!("{}:{:.4}", hit.chunk, hit.score));
    }
    let counts = reader.counts().await.unwrap();
    format!("{}-hits-of-{}-chunks-{}", found.len(), counts.chunks, sum(&found.join(" ")))
}

fn sum(text: &str) -> Uuid {
    Uuid::new_v5(&Uuid::nil(), text.as_bytes())
}

fn knowledge_base(docs: &Path, child_tokens: u32) -> KnowledgeBase {
    let chunking = Chunking { child_tokens, overlap_tokens: 0, ..Chunking::default() };
    let embedding = Embedding::Hashing { dimensions: DIMENSIONS as u32 };
    let kind = SourceKind::Folder { path: docs.to_owned() };
    KnowledgeBase {
        name: "kill".into(),
        data_id: Uuid::from_u128(7),
        sources: vec![Source { name: "docs".into(), kind, include: Vec::new(), exclude: Vec::new() }],
        metadata: MetadataKeys::default(),
        contract: Contract { chunking, embedding, ..Contract::default() },
        sync: SyncPolicy::default(),
        store: groundwork_config::Store::default(),
    }
}

/// Counts words by hash, in batches so small that a step needs several.
struct WordHashes {
    profile: EmbedderProfile,
}

impl WordHashes {
    fn new() -> Self {
        let profile = EmbedderProfile {
            identity: "word-hashes".into(),
            dimensions: DIMENSIONS,
            max_tokens: None,
            languages: None,
            fusion_weight: 0.1,
            max_batch: 16,
        };
        Self { profile }
    }
}

#[async_trait::async_trait]
impl Embedder for WordHashes {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, _: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.split_whitespace() {
        vector[usize::from(TextHash::of(word).0[0]) % DIMENSIONS] += 1.0;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

// ---- the parent ----------------------------------------------------------------------------------------------------

/// The end of an uninterrupted run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// Names of the durable steps in their order.
    passed: Vec<String>,
    result: String,
}

fn command(place: &Path, at: Option<usize>, server: Option<&str>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, place).stderr(Stdio::piped()).stdout(Stdio::piped());
    match at {
        Some(at) => command.env(AT, at.to_string()),
        None => command.env_remove(AT),
    };
    match server {
        Some(url) => command.env(SERVER, url),
        None => command.env_remove(SERVER),
    };
    command
}

/// Runs to the end; `None` if the process died.
fn run(place: &Path, at: Option<usize>, server: Option<&str>) -> Option<Run> {
    let output = command(place, at, server).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("RESULT ")) else {
        assert!(output.status.code().is_none(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        return None;
    };
    let (passed, result) = line.split_once(' ').unwrap();
    Some(Run { passed: passed.split(',').map(str::to_owned).collect(), result: result.to_owned() })
}

fn place() -> (TempDir, PathBuf) {
    let root = TempDir::new().unwrap();
    let path = root.path().to_owned();
    (root, path)
}

fn uninterrupted(server: Option<&str>) -> Run {
    let (_root, place) = place();
    run(&place, None, server).expect("nothing ends this run")
}

#[test]
fn a_sync_that_dies_at_any_step_ends_in_the_same_state() {
    let expected = uninterrupted(None);
    assert!(expected.passed.len() > 40, "only {} durable steps were passed", expected.passed.len());
    die_at(&(1..=expected.passed.len()).collect::<Vec<_>>(), &expected, None);
}

/// Dies at each of the steps and checks what the next run makes of it. Beside a server how documents fall into batches
/// depends on time, so that a run may end before its step comes.
fn die_at(steps: &[usize], expected: &Run, server: Option<&str>) {
    let (next, survived) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&at) = steps.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let (_root, place) = place();
                    let step = &expected.passed[at - 1];
                    let first = run(&place, Some(at), server);
                    survived.fetch_add(usize::from(first.is_some()), Ordering::SeqCst);
                    let resumed = run(&place, None, server).expect("the second run is not interrupted");
                    assert_eq!(resumed.result, expected.result, "after dying at step {at}, {step}");
                }
            });
        }
    });
    let survived = survived.into_inner();
    let tolerated = if server.is_some() { steps.len() / 4 } else { 0 };
    assert!(survived <= tolerated, "{survived} of {} runs ended before their step came", steps.len());
    println!("died at {} of {} durable steps", steps.len() - survived, steps.len());
}

/// The last of each kind of step: what came before is then there to be confused with.
#[cfg(feature = "qdrant")]
#[tokio::test(flavor = "multi_thread")]
async fn a_sync_into_a_server_that_dies_at_any_kind_of_step_ends_in_the_same_state() {
    let Some(server) = groundwork_tests::Qdrant::start("sync_kill of a server").await else { return };
    let url = server.url().to_owned();
    let deaths = move || {
        let clock = Instant::now();
        let expected = uninterrupted(Some(&url));
        println!("an uninterrupted run took {:?}", clock.elapsed());
        let last: BTreeMap<&String, usize> = expected.passed.iter().zip(1..).collect();
        let mut steps: Vec<usize> = last.into_values().collect();
        steps.sort_unstable();
        assert!(steps.len() > 18, "only {} kinds of steps were passed", steps.len());
        die_at(&steps, &expected, Some(&url));
    };
    tokio::task::spawn_blocking(deaths).await.unwrap();
}

#[test]
fn a_sync_that_is_killed_at_any_time_ends_in_the_same_state() {
    let clock = Instant::now();
    let expected = uninterrupted(None);
    let whole = clock.elapsed();
    for round in 0..RANDOM_ROUNDS {
        let (_root, place) = place();
        let mut kills = 0;
        for _ in 0..3 {
            let share =
                f64::from(u32::from_be_bytes(Uuid::new_v4().as_bytes()[..4].try_into().unwrap())) / f64::from(u32::MAX);
            let mut child = command(&place, None, None).spawn().unwrap();
            kills += u32::from(kill_after(&mut child, whole.mul_f64(share)));
        }
        let resumed = run(&place, None, None).expect("the last run is not interrupted");
        assert_eq!(resumed.result, expected.result, "round {round} after {kills} kills");
    }
}

/// Whether the child was still alive.
fn kill_after(child: &mut Child, time: Duration) -> bool {
    std::thread::sleep(time);
    let alive = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    alive
}
