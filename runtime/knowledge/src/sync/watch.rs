//! Noticing that a folder changed.

use groundwork_config::{Source, SourceKind};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::source::{self, Listing};

/// Quiet time after which a burst of changes counts as one.
const QUIET: Duration = Duration::from_millis(300);
/// Longest time that a burst is waited for.
const LONGEST_BURST: Duration = Duration::from_secs(2);
/// Time between two looks where the system does not tell of changes; also between looks for a source's folder itself.
const POLL: Duration = Duration::from_secs(2);

/// Watches the folders of a knowledge base's sources. Only folders that a listing enters are watched, so that a build
/// or an installation beside the documents costs nothing.
#[derive(Debug)]
pub struct Watcher {
    signal: Arc<Notify>,
    mode: Arc<Mutex<WatchMode>>,
    _task: AbortOnDropHandle<()>,
}

/// How changes are noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// The system tells.
    Notified,
    /// The folders are looked at every few seconds.
    Polling {
        /// Why, and what helps.
        reason: String,
    },
}

impl Watcher {
    /// Starts to watch; a change after this returned is noticed. Must be called inside a Tokio runtime.
    pub async fn start(sources: &[Source]) -> Self {
        let folders = Folders::of(sources);
        let dirty = Arc::new(Notify::new());
        match Native::new(folders.clone(), Arc::clone(&dirty)).await {
            Ok(native) => Self::run(WatchMode::Notified, |signal, mode| native.run(dirty, signal, mode)),
            Err(reason) => Self::poll(folders, reason, POLL).await,
        }
    }

    /// Looks at the folders every `interval` instead of asking the system, for file systems that do not tell (network
    /// mounts).
    pub async fn polling(sources: &[Source], interval: Duration) -> Self {
        Self::poll(Folders::of(sources), "polling was asked for".to_owned(), interval).await
    }

    /// How changes are noticed now.
    pub fn mode(&self) -> WatchMode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until something may have changed since the last call. Changes within a short time count as one.
    pub async fn changed(&self) {
        self.signal.notified().await;
    }

    async fn poll(folders: Folders, reason: String, interval: Duration) -> Self {
        let seen = folders.fingerprint().await;
        Self::run(WatchMode::Polling { reason }, |signal, _| poll(folders, seen, interval, signal))
    }

    fn run<F>(mode: WatchMode, task: impl FnOnce(Arc<Notify>, Arc<Mutex<WatchMode>>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (signal, mode) = (Arc::new(Notify::new()), Arc::new(Mutex::new(mode)));
        let task = tokio::spawn(task(Arc::clone(&signal), Arc::clone(&mode)));
        Self { signal, mode, _task: AbortOnDropHandle::new(task) }
    }
}

async fn poll(folders: Folders, mut seen: [u8; 32], interval: Duration, signal: Arc<Notify>) {
    let mut pause = interval;
    loop {
        tokio::time::sleep(pause).await;
        let clock = Instant::now();
        let now = folders.fingerprint().await;
        // A look at a large tree on a slow mount must not become the main work of the process.
        pause = interval.max(clock.elapsed() * 20);
        if now != seen {
            seen = now;
            signal.notify_one();
        }
    }
}

/// The sources that are folders.
#[derive(Clone)]
struct Folders {
    sources: Arc<Vec<Source>>,
}

impl Folders {
    fn of(sources: &[Source]) -> Self {
        let folders = sources.iter().filter(|source| matches!(source.kind, SourceKind::Folder { .. }));
        Self { sources: Arc::new(folders.cloned().collect()) }
    }

    /// Every folder to be watched.
    async fn list(&self) -> BTreeSet<PathBuf> {
        let sources = Arc::clone(&self.sources);
        let listed = tokio::task::spawn_blocking(move || sources.iter().flat_map(source::folders).collect());
        listed.await.unwrap_or_default()
    }

    /// Hash of every listed path and stamp.
    async fn fingerprint(&self) -> [u8; 32] {
        let sources = Arc::clone(&self.sources);
        tokio::task::spawn_blocking(move || fingerprint(&sources)).await.unwrap_or_default()
    }

    fn roots_present(&self) -> Vec<bool> {
        let present = |source: &Source| matches!(&source.kind, SourceKind::Folder { path } if path.is_dir());
        self.sources.iter().map(present).collect()
    }
}

fn fingerprint(sources: &[Source]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for source in sources {
        let listing = Listing::of(source, &|_, _| true);
        for file in &listing.files {
            hash.update(format!("{}\0{:?}\0", file.path, file.stamp));
        }
        hash.update(format!("{:?}", listing.problems));
    }
    hash.finalize().into()
}

/// Watching by the system's own means.
struct Native {
    folders: Folders,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    /// Which sources' folders were there when they were looked at last: the system tells nothing of a missing one.
    present: Vec<bool>,
}

impl Native {
    async fn new(folders: Folders, dirty: Arc<Notify>) -> Result<Self, String> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Reading the documents is no change of them.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                dirty.notify_one();
            }
        });
        let watcher = watcher.map_err(|error| explain(&error))?;
        let present = folders.roots_present();
        let mut native = Self { folders, watcher, watched: BTreeSet::new(), present };
        native.refresh().await?;
        Ok(native)
    }

    async fn run(mut self, dirty: Arc<Notify>, signal: Arc<Notify>, mode: Arc<Mutex<WatchMode>>) {
        loop {
            self.wait(&dirty).await;
            // New folders are watched before the signal, so that what the sync does not see yet makes another one.
            let refreshed = self.refresh().await;
            signal.notify_one();
            if let Err(reason) = refreshed {
                *mode.lock().unwrap_or_else(PoisonError::into_inner) = WatchMode::Polling { reason };
                let Self { folders, .. } = self;
                // What it looks like now is not known to have been synced: the first look reports a change.
                return poll(folders, [0; 32], POLL, signal).await;
            }
        }
    }

    /// Waits for the end of a burst of changes, or for a source's folder to come or go.
    async fn wait(&mut self, dirty: &Notify) {
        while timeout(POLL, dirty.notified()).await.is_err() {
            let present = self.folders.roots_present();
            if present != self.present {
                self.present = present;
                return;
            }
        }
        let burst = Instant::now();
        while burst.elapsed() < LONGEST_BURST && timeout(QUIET, dirty.notified()).await.is_ok() {}
    }

    async fn refresh(&mut self) -> Result<(), String> {
        let wanted = self.folders.list().await;
        for gone in self.watched.difference(&wanted) {
            // The system forgets a removed folder by itself.
            let _ = self.watcher.unwatch(gone);
        }
        for folder in &wanted {
            match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                Err(error) if !is_gone(&error) => return Err(explain(&error)),
                _ => {}
            }
        }
        self.watched = wanted;
        Ok(())
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn explain(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the system's limit of watched folders is reached; raise fs.inotify.max_user_watches \
                                     to be told of changes at once"
            .to_owned(),
        ErrorKind::Io(io) if io.raw_os_error() == Some(24) => {
            "the system's limit of watchers is reached; raise fs.inotify.max_user_instances to be told of changes at once"
                .to_owned()
        }
        _ => format!("the system cannot tell of changes here: {error}"),
    }
}
