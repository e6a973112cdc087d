//! One process opens a data folder at a time. The lock is the operating system's (`flock`), so that it ends with its
//! holder, however that ends; the file's text only says who holds it.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::data::DataFolder;
use crate::output::Problem;

const LOCK: &str = "lock";
const POLL: Duration = Duration::from_millis(20);
/// Between taking the lock and saying who took it lie two system calls.
const GRACE: Duration = Duration::from_secs(2);
/// Looking whether somebody serves holds a shared lock for an instant; an address that a killed process left behind must
/// not be believed because of that.
const LOOK: Duration = Duration::from_millis(100);

/// Who holds a data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// Process id.
    pub(crate) pid: u32,
    /// The command it runs.
    pub(crate) command: String,
    /// Where it answers, once it does.
    pub(crate) url: Option<String>,
    /// The folder it holds.
    pub(crate) folder: PathBuf,
}

impl Holder {
    /// This process.
    pub(crate) fn this_process(command: &str, folder: &Path) -> Self {
        Self { pid: std::process::id(), command: command.to_owned(), url: None, folder: folder.to_owned() }
    }
}

/// The right to open a data folder; ends when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

/// What trying to lock gave.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It is ours.
    Locked(Lock),
    /// Another process has it; `None` where it has not said yet who it is.
    Held(Option<Holder>),
}

impl Lock {
    /// Takes the data folder's lock if nobody has it.
    pub(crate) fn attempt(data: &DataFolder, holder: &Holder) -> Result<Attempt, Problem> {
        let path = data.path().join(LOCK);
        let failed = |error: std::io::Error| {
            Problem::new(format!("failed to lock the data folder {}", data.path().display())).because(error)
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                let mut lock = Self { file, path };
                lock.announce(holder)?;
                Ok(Attempt::Locked(lock))
            }
            Err(TryLockError::WouldBlock) => Ok(Attempt::Held(read_holder(&file))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Takes the lock, waiting up to `patience` for short commands to end. A serving holder is returned at once.
    pub(crate) async fn wait(data: &DataFolder, holder: &Holder, patience: Duration) -> Result<Attempt, Problem> {
        let start = Instant::now();
        loop {
            let attempt = Self::attempt(data, holder)?;
            let over = match &attempt {
                Attempt::Locked(_) => true,
                Attempt::Held(Some(other)) if other.command == "up" => {
                    start.elapsed() > if other.url.is_some() { LOOK } else { GRACE }
                }
                Attempt::Held(_) => start.elapsed() > patience,
            };
            if over {
                return Ok(attempt);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Writes who holds it into the file, for people and for other processes.
    pub(crate) fn announce(&mut self, holder: &Holder) -> Result<(), Problem> {
        let json = serde_json::to_vec(holder).expect("a holder holds only strings, numbers and paths in UTF-8");
        let written = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        written
            .and_then(|_| self.file.write_all(&json))
            .map_err(|error| Problem::new(format!("failed to write {}", self.path.display())).because(error))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The next holder overwrites the text; without it, nobody mistakes an old address for a live one.
        let _ = self.file.set_len(0);
    }
}

/// Who serves the data folder right now, if somebody does.
pub(crate) async fn serving(data: &DataFolder) -> Option<Holder> {
    let file = File::open(data.path().join(LOCK)).ok()?;
    let start = Instant::now();
    while matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        match read_holder(&file) {
            Some(holder) if holder.url.is_some() => return Some(holder),
            Some(holder) if holder.command != "up" => return None,
            _ if start.elapsed() > GRACE => return None,
            _ => tokio::time::sleep(POLL).await,
        }
    }
    None
}

fn read_holder(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> (tempfile::TempDir, DataFolder) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let data = DataFolder::at(place.path());
        (place, data)
    }

    fn holder(command: &str) -> Holder {
        Holder::this_process(command, Path::new("/documents"))
    }

    fn lock(data: &DataFolder, command: &str) -> Lock {
        match Lock::attempt(data, &holder(command)).expect("no error") {
            Attempt::Locked(lock) => lock,
            Attempt::Held(other) => unreachable!("held by {other:?}"),
        }
    }

    #[tokio::test]
    async fn the_second_attempt_learns_who_holds_it_and_where_it_answers() {
        let (_place, data) = data();
        let mut first = lock(&data, "up");
        let announced = Holder { url: Some("http://127.0.0.1:7377".into()), ..holder("up") };
        first.announce(&announced).expect("announced");
        match Lock::attempt(&data, &holder("up")).expect("no error") {
            Attempt::Held(other) => assert_eq!(other, Some(announced.clone())),
            Attempt::Locked(_) => unreachable!("two processes must not hold it"),
        }
        assert_eq!(serving(&data).await, Some(announced));
    }

    #[tokio::test]
    async fn a_lock_ends_with_its_holder() {
        let (_place, data) = data();
        drop(lock(&data, "up"));
        assert_eq!(serving(&data).await, None);
        drop(lock(&data, "ingest"));
    }

    #[tokio::test]
    async fn text_that_a_killed_process_left_behind_is_not_believed() {
        let (_place, data) = data();
        let left = Holder { url: Some("http://127.0.0.1:7377".into()), ..holder("up") };
        std::fs::write(data.path().join(LOCK), serde_json::to_vec(&left).expect("JSON")).expect("written");
        assert_eq!(serving(&data).await, None);
        drop(lock(&data, "up"));
    }

    #[tokio::test]
    async fn a_short_command_is_waited_for() {
        let (_place, data) = data();
        let first = lock(&data, "ask");
        let waiting = tokio::spawn({
            let data = data.clone();
            async move { Lock::wait(&data, &holder("ask"), Duration::from_secs(30)).await }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(matches!(waiting.await.expect("not panicked"), Ok(Attempt::Locked(_))));
    }
}
