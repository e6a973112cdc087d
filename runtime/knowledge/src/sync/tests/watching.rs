use std::time::Duration;
use tokio::time::timeout;

use super::*;

/// Far above what a change takes to be noticed; only a failing test waits for it.
const LONG: Duration = Duration::from_secs(20);

async fn notices(watcher: &Watcher) -> bool {
    timeout(LONG, watcher.changed()).await.is_ok()
}

#[tokio::test]
async fn changes_are_noticed_also_in_new_folders() {
    let bench = Bench::new(&[("a.md", "alpha")]);
    let watcher = Watcher::start(&bench.knowledge_base.sources).await;
    bench.write("a.md", "ALPHA");
    assert!(notices(&watcher).await, "a changed file");
    bench.write("new/deep/b.md", "beta");
    assert!(notices(&watcher).await, "a new folder");
    bench.write("new/deep/b.md", "BETA");
    assert!(notices(&watcher).await, "a file in the new folder");
    bench.remove("a.md");
    assert!(notices(&watcher).await, "a removed file");
}

#[tokio::test]
async fn reading_and_left_out_folders_are_no_change() {
    let bench = Bench::new(&[("a.md", "alpha"), ("node_modules/x/a.js", "x")]);
    let watcher = Watcher::start(&bench.knowledge_base.sources).await;
    fs::read(bench.path("a.md")).unwrap();
    bench.write("node_modules/x/a.js", "y");
    assert!(timeout(Duration::from_millis(900), watcher.changed()).await.is_err());
}

#[tokio::test]
async fn a_folder_that_is_missing_is_noticed_when_it_comes() {
    let mut bench = Bench::new(&[]);
    bench.knowledge_base.sources = vec![folder_source("docs", &bench.path("docs"))];
    let watcher = Watcher::start(&bench.knowledge_base.sources).await;
    bench.write("docs/a.md", "alpha");
    assert!(notices(&watcher).await);
    bench.write("docs/a.md", "ALPHA");
    assert!(notices(&watcher).await);
}

#[tokio::test]
async fn polling_notices_too_and_says_why_it_polls() {
    let bench = Bench::new(&[("a.md", "alpha")]);
    let watcher = Watcher::polling(&bench.knowledge_base.sources, Duration::from_millis(20)).await;
    assert!(matches!(watcher.mode(), WatchMode::Polling { .. }));
    bench.write("b.md", "beta");
    assert!(notices(&watcher).await);
}
