mod memory;
mod vectors;
mod watching;

use groundwork_config::{Contract, InlineDocument, MetadataKeys, Source, SourceKind, SyncPolicy};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::load::{LoaderOptions, SkipReason};
use crate::source::Listing;
use memory::{Memory, MemoryStore};

/// A knowledge base of one folder, with a store that outlives its synchronisers.
struct Bench {
    root: TempDir,
    store: Arc<MemoryStore>,
    knowledge_base: KnowledgeBase,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = TempDir::new().unwrap();
        let sources = vec![folder_source("docs", root.path())];
        let bench = Self { store: Arc::default(), knowledge_base: knowledge_base(sources), root };
        files.iter().for_each(|(path, content)| bench.write(path, content));
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    async fn open(&self) -> Synchroniser {
        let options = LoaderOptions { metadata: MetadataKeys::default(), extraction: None };
        let store = Arc::new(Memory(Arc::clone(&self.store)));
        Synchroniser::open(Arc::new(self.knowledge_base.clone()), store, Loader::new(options)).await.unwrap()
    }

    async fn sync(&self) -> SyncReport {
        sync(&self.open().await, DeleteGuard::Enforced).await
    }

    /// `source/path` and version of every document that can be found.
    fn documents(&self) -> Vec<(String, u32)> {
        let state = self.store.state();
        let kept = state.revisions.values().flat_map(|revision| revision.documents.values());
        let found = kept.filter(|kept| kept.document.is_some());
        let mut found: Vec<_> =
            found.map(|kept| (format!("{}/{}", kept.entry.source, kept.entry.path), kept.entry.version)).collect();
        found.sort();
        found
    }

    fn names(&self) -> Vec<String> {
        self.documents().into_iter().map(|(name, _)| name).collect()
    }
}

fn knowledge_base(sources: Vec<Source>) -> KnowledgeBase {
    KnowledgeBase {
        name: "handbook".into(),
        data_id: Uuid::from_u128(7),
        sources,
        metadata: MetadataKeys::default(),
        contract: Contract::default(),
        sync: SyncPolicy::default(),
        store: groundwork_config::Store::default(),
    }
}

fn folder_source(name: &str, path: &Path) -> Source {
    let kind = SourceKind::Folder { path: path.to_owned() };
    Source { name: name.into(), kind, include: Vec::new(), exclude: Vec::new() }
}

async fn sync(synchroniser: &Synchroniser, deletes: DeleteGuard) -> SyncReport {
    let options = SyncOptions { deletes, ..SyncOptions::default() };
    synchroniser.sync(&options, &(), &CancellationToken::new()).await.unwrap()
}

/// Added, updated, removed, unchanged, failed.
fn changes(report: &SyncReport) -> [u64; 5] {
    let total = &report.total;
    [total.added, total.updated, total.removed, total.unchanged, total.failed]
}

#[tokio::test]
async fn a_first_sync_adds_everything_and_goes_live() {
    let bench = Bench::new(&[("a.md", "# A\n\nalpha"), ("b/c.txt", "gamma"), ("x.png", "no")]);
    let report = bench.sync().await;
    assert_eq!(changes(&report), [2, 0, 0, 0, 0]);
    assert_eq!((report.serving, report.documents, report.total.skipped), (Serving::ThisRevision, 2, 1));
    assert_eq!(report.sources[0].skipped_by_reason[&SkipReason::Binary].examples, ["x.png"]);
    assert!(report.chunks >= 2 && report.pending_vectors == report.chunks);
    assert_eq!(bench.names(), ["docs/a.md", "docs/b/c.txt"]);
    let stored: SyncReport = serde_json::from_value(bench.store.state().reports[0].clone()).unwrap();
    assert_eq!(stored, report);
}

#[tokio::test]
async fn only_what_changed_is_written_again() {
    let bench = Bench::new(&[("a.md", "one"), ("b.md", "two"), ("c.md", "three"), ("d.md", "four")]);
    bench.sync().await;
    bench.write("b.md", "TWO");
    bench.write("c.md", "three");
    bench.remove("d.md");
    bench.write("e.md", "five");
    assert_eq!(changes(&bench.sync().await), [1, 1, 1, 2, 0]);
    let expected = [("docs/a.md", 1), ("docs/b.md", 2), ("docs/c.md", 1), ("docs/e.md", 1)];
    assert_eq!(bench.documents(), expected.map(|(name, version)| (name.to_owned(), version)));
    assert_eq!(changes(&bench.sync().await), [0, 0, 0, 4, 0]);
}

/// Same size, and the modification time put back: the change time gives it away.
#[tokio::test]
async fn a_change_that_hides_its_time_is_seen() {
    let bench = Bench::new(&[("a.md", "one")]);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let set = |time| fs::File::open(bench.path("a.md")).unwrap().set_modified(time).unwrap();
    set(old);
    bench.sync().await;
    bench.write("a.md", "two");
    set(old);
    assert_eq!(changes(&bench.sync().await), [0, 1, 0, 0, 0]);
}

#[test]
fn a_stamp_proves_something_only_if_it_was_old_when_the_sync_began() {
    let second = 1_000_000_000;
    let stamp = FileStamp { size: 3, mtime_ns: 100 * second, ctime_ns: 100 * second, inode: 9 };
    let entry = |synced_at_ns| crate::store::ManifestEntry {
        id: DocumentId::new(Uuid::nil(), "s", "p"),
        source: "s".into(),
        path: "p".into(),
        stamp: Some(stamp.clone()),
        content: crate::identity::TextHash::of("x"),
        synced_at_ns,
        version: 1,
        failure: None,
    };
    assert!(plan::is_unchanged(&entry(103 * second), &stamp));
    assert!(!plan::is_unchanged(&entry(101 * second), &stamp), "within the file system's time step");
    assert!(!plan::is_unchanged(&entry(99 * second), &stamp), "changed after the sync began");
    for other in [
        FileStamp { size: 4, ..stamp.clone() },
        FileStamp { mtime_ns: 99 * second, ..stamp.clone() },
        FileStamp { ctime_ns: 99 * second, ..stamp.clone() },
        FileStamp { inode: 8, ..stamp.clone() },
    ] {
        assert!(!plan::is_unchanged(&entry(103 * second), &other), "{other:?}");
    }
}

#[tokio::test]
async fn bad_documents_are_named_and_the_rest_goes_on() {
    let bench = Bench::new(&[("good.md", "fine"), ("empty.md", ""), ("blank.txt", " \n\n")]);
    fs::write(bench.path("broken.txt"), b"\xff\xfea\0\xd8").unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path("dangling.md")).unwrap();
    let report = bench.sync().await;
    assert_eq!(changes(&report), [1, 0, 0, 0, 3]);
    let named: Vec<_> = report.sources[0].failures.iter().map(|failure| failure.path.as_str()).collect();
    assert_eq!(named, ["blank.txt", "broken.txt", "empty.md"]);
    assert_eq!(report.sources[0].problems[0].path, "dangling.md");
    let again = bench.sync().await;
    assert_eq!(changes(&again), [0, 0, 0, 1, 3], "still failing, still named");
    assert_eq!(again.sources[0].failures, report.sources[0].failures);
    bench.write("empty.md", "not any more");
    assert_eq!(changes(&bench.sync().await), [1, 0, 0, 1, 2]);
}

#[tokio::test]
async fn a_document_that_fails_keeps_its_last_good_version() {
    let bench = Bench::new(&[("a.md", "good")]);
    bench.sync().await;
    bench.write("a.md", "");
    let report = bench.sync().await;
    assert_eq!((report.total.failed, report.total.stale, report.total.removed), (1, 1, 0));
    assert!(report.sources[0].failures[0].stale);
    assert_eq!(bench.documents(), [("docs/a.md".to_owned(), 1)]);
    bench.write("a.md", "good");
    assert_eq!(changes(&bench.sync().await), [0, 1, 0, 0, 0]);
}

/// Without extraction processes a PDF fails for a reason outside the file.
#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again() {
    let bench = Bench::new(&[("a.pdf", "%PDF-1.7")]);
    let report = bench.sync().await;
    assert_eq!(changes(&report), [0, 0, 0, 0, 1]);
    let stamp = |bench: &Bench| {
        let state = bench.store.state();
        state.revisions.values().next().unwrap().documents.values().next().unwrap().entry.stamp.clone()
    };
    assert_eq!(stamp(&bench), None, "no stamp says that it is not to be read again");
}

#[tokio::test]
async fn a_mass_removal_is_held_back_until_it_is_accepted() {
    let files: Vec<_> = (0..40).map(|n| (format!("{n:02}.md"), format!("text {n}"))).collect();
    let bench = Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let synchroniser = bench.open().await;
    sync(&synchroniser, DeleteGuard::Enforced).await;
    (0..13).for_each(|n| bench.remove(&format!("{n:02}.md")));
    bench.write("new.md", "new");
    let held = sync(&synchroniser, DeleteGuard::Enforced).await;
    assert_eq!(held.held, Some(HeldDeletes { gone: 13, of: 40, max_delete_percent: 30 }));
    assert_eq!((changes(&held), held.total.kept), ([1, 0, 0, 27, 0], 13));
    assert!(held.notes[0].contains("13 of 40") && held.notes[0].contains("accept-deletes"), "{:?}", held.notes);
    let accepted = sync(&synchroniser, DeleteGuard::Accepted).await;
    assert_eq!((changes(&accepted), accepted.total.kept), ([0, 0, 13, 28, 0], 0));
    assert_eq!(bench.documents().len(), 28);
}

#[test]
fn a_mass_removal_is_more_than_ten_and_more_than_the_share() {
    use super::prune::too_many;
    assert!(!too_many(10, 10, 30), "ten are always allowed");
    assert!(!too_many(12, 40, 30), "exactly the share");
    assert!(too_many(13, 40, 30));
    assert!(too_many(11, 11, 99));
    assert!(!too_many(11, 11, 100));
}

#[tokio::test]
async fn a_moved_folder_is_no_mass_removal() {
    let files: Vec<_> = (0..20).map(|n| (format!("old/{n}.md"), format!("text {n}"))).collect();
    let bench = Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    bench.sync().await;
    fs::rename(bench.path("old"), bench.path("new")).unwrap();
    let report = bench.sync().await;
    assert_eq!((changes(&report), report.held), ([20, 0, 20, 0, 0], None));
    assert_eq!(bench.documents().len(), 20);
}

#[tokio::test]
async fn nothing_is_removed_after_an_incomplete_listing() {
    let bench = Bench::new(&[("docs/a.md", "alpha")]);
    let mut gone = Bench { store: Arc::clone(&bench.store), ..Bench::new(&[]) };
    gone.knowledge_base.sources = vec![folder_source("docs", &bench.path("docs"))];
    gone.sync().await;
    fs::rename(bench.path("docs"), bench.path("away")).unwrap();
    let report = gone.sync().await;
    assert_eq!((changes(&report), report.total.kept), ([0, 0, 0, 0, 0], 1));
    assert!(!report.sources[0].complete && report.sources[0].problems[0].reason.contains("does not exist"));
    assert_eq!(report.notes, ["1 document that is gone is kept, because docs could not be listed completely"]);
    assert_eq!(gone.names(), ["docs/a.md"]);
    fs::rename(bench.path("away"), bench.path("docs")).unwrap();
    let found_again = gone.sync().await;
    assert_eq!(changes(&found_again), [0, 0, 0, 1, 0]);
    assert!(found_again.notes.is_empty(), "{:?}", found_again.notes);
}

#[tokio::test]
async fn a_source_that_left_the_manifest_is_removed() {
    let mut bench = Bench::new(&[("a.md", "alpha")]);
    let document = InlineDocument { path: "a.md".into(), content: "note".into() };
    let kind = SourceKind::Inline { documents: vec![document] };
    bench.knowledge_base.sources.push(Source { name: "notes".into(), kind, include: vec![], exclude: vec![] });
    assert_eq!(changes(&bench.sync().await), [2, 0, 0, 0, 0]);
    assert_eq!(bench.names(), ["docs/a.md", "notes/a.md"], "the same path in two sources is two documents");
    assert_eq!(changes(&bench.sync().await), [0, 0, 0, 2, 0], "a text of the manifest is compared by its hash");
    bench.knowledge_base.sources.remove(0);
    let report = bench.sync().await;
    assert_eq!(changes(&report), [0, 0, 1, 1, 0]);
    assert_eq!((report.sources[1].source.as_str(), report.sources[1].changes.removed), ("docs", 1));
}

#[tokio::test]
async fn names_that_differ_in_case_are_two_documents() {
    let bench = Bench::new(&[("Readme.md", "upper")]);
    bench.sync().await;
    fs::rename(bench.path("Readme.md"), bench.path("readme.md")).unwrap();
    assert_eq!(changes(&bench.sync().await), [1, 0, 1, 0, 0]);
    assert_eq!(bench.names(), ["docs/readme.md"]);
    bench.remove("readme.md");
    assert_eq!(changes(&bench.sync().await), [0, 0, 1, 0, 0]);
    bench.write("readme.md", "upper");
    assert_eq!(changes(&bench.sync().await), [1, 0, 0, 0, 0], "one that comes back is new");
}

/// Removes a file when it is told that the source was listed.
struct RemoveAfterListing(PathBuf);

impl SyncObserver for RemoveAfterListing {
    fn listed(&self, _: &Listing) {
        fs::remove_file(&self.0).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_vanishes_after_listing_is_a_removed_one() {
    let bench = Bench::new(&[("a.md", "alpha"), ("b.md", "beta")]);
    let synchroniser = bench.open().await;
    sync(&synchroniser, DeleteGuard::Enforced).await;
    bench.write("b.md", "BETA");
    let observer = RemoveAfterListing(bench.path("b.md"));
    let report = synchroniser.sync(&SyncOptions::default(), &observer, &CancellationToken::new()).await.unwrap();
    assert_eq!(changes(&report), [0, 0, 1, 1, 0]);
}

#[tokio::test]
async fn a_full_disk_stops_the_sync_and_the_next_one_resumes() {
    let files: Vec<_> = (0..9).map(|n| (format!("{n}.md"), format!("text {n}"))).collect();
    let bench = Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let options = SyncOptions { batch_documents: 3, ..SyncOptions::default() };
    bench.store.state().room = Some(2);
    let synchroniser = bench.open().await;
    let error = synchroniser.sync(&options, &(), &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(bench.documents().len(), 6);
    bench.store.state().room = None;
    let report = synchroniser.sync(&options, &(), &CancellationToken::new()).await.unwrap();
    assert_eq!(changes(&report), [3, 0, 0, 6, 0]);
    assert_eq!(bench.store.state().batches, [3, 3, 3]);
}

/// Stops the sync at the first file, and keeps what it was told.
#[derive(Default)]
struct Observer {
    stop: CancellationToken,
    seen: Mutex<Vec<(Phase, u64, u64)>>,
}

impl SyncObserver for Observer {
    fn progress(&self, progress: &Progress<'_>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push((progress.phase, progress.done, progress.total));
        if progress.phase == Phase::Reading {
            self.stop.cancel();
        }
    }
}

#[tokio::test]
async fn a_stopped_sync_says_so_and_the_next_one_goes_on() {
    let bench = Bench::new(&[("a.md", "alpha"), ("b.md", "beta")]);
    let synchroniser = bench.open().await;
    let observer = Observer::default();
    let stopped = synchroniser.sync(&SyncOptions::default(), &observer, &observer.stop).await;
    assert!(matches!(stopped, Err(SyncError::Cancelled)));
    assert_eq!(bench.store.state().active, None);
    assert_eq!(changes(&sync(&synchroniser, DeleteGuard::Enforced).await), [2, 0, 0, 0, 0]);
}

#[tokio::test]
async fn an_observer_sees_every_phase_up_to_its_end() {
    let bench = Bench::new(&[("a.md", "alpha"), ("b.md", "beta")]);
    let observer = Observer::default();
    let synchroniser = bench.open().await;
    synchroniser.sync(&SyncOptions::default(), &observer, &CancellationToken::new()).await.unwrap();
    let seen = observer.seen.into_inner().unwrap();
    for last in [(Phase::Listing, 1, 1), (Phase::Reading, 2, 2), (Phase::Finishing, 1, 1)] {
        assert!(seen.contains(&last), "{last:?} in {seen:?}");
    }
}

#[tokio::test]
async fn a_read_only_touch_is_no_change() {
    let bench = Bench::new(&[("a.md", "alpha")]);
    bench.sync().await;
    fs::File::open(bench.path("a.md")).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    assert_eq!(changes(&bench.sync().await), [0, 0, 0, 1, 0]);
    assert!(bench.store.state().touched >= 1);
}
