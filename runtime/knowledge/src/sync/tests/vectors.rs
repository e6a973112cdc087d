use async_trait::async_trait;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile};

/// Counts texts, and fails in the given ways first.
struct Scripted {
    profile: EmbedderProfile,
    texts: AtomicUsize,
    failures: Mutex<Vec<EmbedError>>,
}

impl Scripted {
    fn new(failures: Vec<EmbedError>) -> Arc<Self> {
        let profile = EmbedderProfile {
            identity: "scripted".into(),
            dimensions: 2,
            max_tokens: None,
            languages: None,
            fusion_weight: 0.1,
            max_batch: 16,
        };
        Arc::new(Self { profile, texts: AtomicUsize::new(0), failures: Mutex::new(failures) })
    }
}

#[async_trait]
impl Embedder for Scripted {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, _: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let Some(error) = self.failures.lock().unwrap().pop() {
            return Err(error);
        }
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(vec![vec![1.0, 0.0]; texts.len()])
    }
}

fn unavailable() -> EmbedError {
    EmbedError::Unavailable { identity: "scripted".into(), reason: "connection refused".into() }
}

fn quick() -> EmbedOptions {
    let delay = Duration::from_millis(1);
    EmbedOptions { first_delay: delay, longest_delay: delay * 4, patience: None }
}

async fn embed(synchroniser: &Synchroniser, embedder: &Arc<Scripted>, options: &EmbedOptions) -> EmbedReport {
    let embedder: Arc<dyn Embedder> = embedder.clone();
    synchroniser.embed_all(&embedder, options, &(), &CancellationToken::new()).await.unwrap()
}

fn many() -> Bench {
    let files: Vec<_> = (0..40).map(|n| (format!("{n:02}.md"), format!("text number {n}"))).collect();
    Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

#[tokio::test]
async fn vectors_follow_and_unchanged_text_is_never_embedded_again() {
    let bench = many();
    let (synchroniser, embedder) = (bench.open().await, Scripted::new(Vec::new()));
    sync(&synchroniser, DeleteGuard::Enforced).await;
    let report = embed(&synchroniser, &embedder, &quick()).await;
    assert_eq!((report.state, report.embedded, report.remaining), (EmbedState::Complete, 40, 0));
    bench.write("07.md", "another text");
    bench.write("08.md", "text number 8");
    sync(&synchroniser, DeleteGuard::Enforced).await;
    assert_eq!(embed(&synchroniser, &embedder, &quick()).await.embedded, 1);
    assert_eq!(embedder.texts.load(Ordering::Relaxed), 41);
}

#[tokio::test]
async fn an_embedder_that_comes_back_is_waited_for() {
    let bench = many();
    let (synchroniser, embedder) = (bench.open().await, Scripted::new(vec![unavailable(), unavailable()]));
    sync(&synchroniser, DeleteGuard::Enforced).await;
    assert_eq!(embed(&synchroniser, &embedder, &quick()).await.state, EmbedState::Complete);
}

#[tokio::test]
async fn patience_ends_the_wait_with_what_happened_last() {
    let bench = many();
    let failures = (0..50).map(|_| unavailable()).collect();
    let (synchroniser, embedder) = (bench.open().await, Scripted::new(failures));
    sync(&synchroniser, DeleteGuard::Enforced).await;
    let options = EmbedOptions { patience: Some(Duration::from_millis(5)), ..quick() };
    let report = embed(&synchroniser, &embedder, &options).await;
    assert_eq!(report.state, EmbedState::Unavailable { reason: "connection refused".into() });
}

#[tokio::test]
async fn a_refusal_ends_it_and_says_what_was_refused() {
    let bench = many();
    let reason = "it has 3 dimensions, 2 were declared".to_owned();
    let refusal = EmbedError::Refused { identity: "scripted".into(), texts: 16, reason };
    let (synchroniser, embedder) = (bench.open().await, Scripted::new(vec![refusal]));
    sync(&synchroniser, DeleteGuard::Enforced).await;
    match embed(&synchroniser, &embedder, &quick()).await.state {
        EmbedState::Refused { reason } => assert!(reason.contains("3 dimensions"), "{reason}"),
        state => panic!("{state:?}"),
    }
}

#[tokio::test]
async fn a_cancelled_wait_ends_at_once() {
    let bench = many();
    let embedder: Arc<dyn Embedder> = Scripted::new(vec![unavailable()]);
    let synchroniser = bench.open().await;
    sync(&synchroniser, DeleteGuard::Enforced).await;
    struct StopWhenWaiting(CancellationToken);
    impl SyncObserver for StopWhenWaiting {
        fn waiting(&self, _: &str, delay: Duration) {
            assert!(delay >= Duration::from_secs(1));
            self.0.cancel();
        }
    }
    let cancel = CancellationToken::new();
    let observer = StopWhenWaiting(cancel.clone());
    let report = synchroniser.embed_all(&embedder, &EmbedOptions::default(), &observer, &cancel).await.unwrap();
    assert_eq!(report.state, EmbedState::Cancelled);
}

#[tokio::test]
async fn a_rebuilt_revision_is_switched_to_when_its_vectors_are_complete() {
    let mut bench = many();
    let embedder = Scripted::new(Vec::new());
    let first = sync(&bench.open().await, DeleteGuard::Enforced).await;
    bench.knowledge_base.contract.chunking.child_tokens = 50;
    let synchroniser = bench.open().await;
    let rebuilt = sync(&synchroniser, DeleteGuard::Enforced).await;
    assert_eq!((changes(&rebuilt), rebuilt.serving), ([40, 0, 0, 0, 0], Serving::RevisionBefore));
    assert_eq!(bench.store.state().active.as_ref(), Some(&first.revision));
    embed(&synchroniser, &embedder, &quick()).await;
    assert_eq!(bench.store.state().active.as_ref(), Some(&rebuilt.revision));
    assert_eq!(sync(&synchroniser, DeleteGuard::Enforced).await.serving, Serving::ThisRevision);
}

#[tokio::test]
async fn a_rebuilt_revision_that_lost_most_documents_is_held() {
    let mut bench = many();
    let embedder = Scripted::new(Vec::new());
    let first = sync(&bench.open().await, DeleteGuard::Enforced).await;
    bench.knowledge_base.contract.chunking.child_tokens = 50;
    (0..20).for_each(|n| bench.remove(&format!("{n:02}.md")));
    let synchroniser = bench.open().await;
    sync(&synchroniser, DeleteGuard::Enforced).await;
    let report = embed(&synchroniser, &embedder, &quick()).await;
    assert!(report.note.is_some_and(|note| note.contains("20 documents where the one before has 40")));
    assert_eq!(sync(&synchroniser, DeleteGuard::Enforced).await.serving, Serving::Held);
    assert_eq!(bench.store.state().active.as_ref(), Some(&first.revision));
    assert_eq!(sync(&synchroniser, DeleteGuard::Accepted).await.serving, Serving::ThisRevision);
}

#[tokio::test]
async fn a_rebuild_without_a_dense_arm_needs_no_vectors() {
    let mut bench = many();
    bench.sync().await;
    bench.knowledge_base.contract.embedding = groundwork_config::Embedding::None;
    let report = bench.sync().await;
    assert_eq!((report.serving, report.pending_vectors), (Serving::ThisRevision, 0));
}
