//! A bounded set of extraction processes that are used again and again.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

use super::child::{Child, Death, Failure, Reply};
use super::{Extraction, accept, short};
use crate::document::Format;
use crate::load::LoadError;

/// How extraction processes are started and bounded.
#[derive(Clone, Debug)]
pub struct ExtractionOptions {
    /// The program; it must speak the protocol of [`super::serve`] on its standard input and output.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Processes at the same time, at least 1.
    pub processes: usize,
    /// Wall time of one job, after which its process is killed.
    pub time_limit: Duration,
    /// Memory that a process may have, in bytes. The process sets its limit itself when it starts; here it is named in
    /// failures.
    pub memory_limit: u64,
    /// Jobs after which a process is replaced, so that what leaks or fragments does not add up.
    pub jobs_per_process: u32,
}

impl ExtractionOptions {
    /// Limits for documents as people have them: 60 s and 1 GiB a job, one process per core but one.
    ///
    /// `program` is the `groundwork` binary; it is started as `groundwork extract --memory-bytes N`.
    pub fn new(program: PathBuf) -> Self {
        let memory_limit: u64 = 1 << 30;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            program,
            arguments: vec!["extract".into(), "--memory-bytes".into(), memory_limit.to_string().into()],
            processes: cores.saturating_sub(1).max(1),
            time_limit: Duration::from_secs(60),
            memory_limit,
            jobs_per_process: 100,
        }
    }
}

/// Extraction processes, started when they are first needed. Clones share them; dropping the last clone kills them.
#[derive(Clone)]
pub struct ExtractionPool {
    shared: Arc<Shared>,
}

struct Shared {
    options: ExtractionOptions,
    turns: Semaphore,
    idle: Mutex<Vec<Child>>,
    busy: Mutex<Vec<u32>>,
}

impl fmt::Debug for ExtractionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractionPool").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl ExtractionPool {
    /// A pool without a process yet.
    pub fn new(options: ExtractionOptions) -> Self {
        let turns = Semaphore::new(options.processes.max(1));
        Self { shared: Arc::new(Shared { options, turns, idle: Mutex::default(), busy: Mutex::default() }) }
    }

    /// Process ids of the processes that work on a job now.
    pub fn busy_processes(&self) -> Vec<u32> {
        self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Extracts one file. Waits while all processes are busy; a process that dies, hangs or misbehaves is replaced and
    /// fails this file only.
    ///
    /// # Errors
    /// See the variants of [`LoadError`] about extraction.
    pub async fn extract(&self, format: Format, payload: Vec<u8>) -> Result<Extraction, LoadError> {
        let _turn = self.shared.turns.acquire().await.expect("the semaphore is never closed");
        let mut child = self.take()?;
        let busy = Busy::new(&self.shared, child.id());
        let outcome = tokio::time::timeout(self.shared.options.time_limit, child.run(format, &payload)).await;
        drop(busy);
        match outcome {
            Err(_) => Err(LoadError::TimedOut { seconds: self.shared.options.time_limit.as_secs() }),
            Ok(Err(Failure::Protocol(what))) => Err(LoadError::Protocol(what)),
            Ok(Err(Failure::Pipe)) => Err(self.death(child.post_mortem().await)),
            Ok(Ok(Reply::Refused(reason))) => {
                self.give_back(child);
                Err(LoadError::Refused(short(&reason)))
            }
            Ok(Ok(Reply::Extracted { markdown, title, marks, notes })) => {
                let accepted = accept(title, marks, notes, markdown).map_err(LoadError::Protocol)?;
                self.give_back(child);
                Ok(accepted)
            }
        }
    }

    fn take(&self) -> Result<Child, LoadError> {
        let mut idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut child) = idle.pop() {
            if child.is_alive() {
                return Ok(child);
            }
        }
        Child::start(&self.shared.options).map_err(LoadError::Start)
    }

    fn give_back(&self, child: Child) {
        if child.jobs < self.shared.options.jobs_per_process {
            self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        }
    }

    /// Rust aborts where an allocation fails, and says so on standard error.
    fn death(&self, death: Death) -> LoadError {
        if death.complaints.contains("memory allocation of") {
            return LoadError::OutOfMemory { limit_mib: self.shared.options.memory_limit >> 20 };
        }
        match death.complaints.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => LoadError::Died(short(&format!("{}: {line}", death.status))),
            None => LoadError::Died(death.status),
        }
    }
}

/// Names a process as busy while it lives, also where its job is cancelled.
struct Busy<'a> {
    shared: &'a Shared,
    id: Option<u32>,
}

impl<'a> Busy<'a> {
    fn new(shared: &'a Shared, id: Option<u32>) -> Self {
        shared.busy.lock().unwrap_or_else(PoisonError::into_inner).extend(id);
        Self { shared, id }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| Some(*id) != self.id);
    }
}
