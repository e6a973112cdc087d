//! Opening an instance: this process's own, or that of a running `up`.

use groundwork_knowledge::load::{ExtractionOptions, ExtractionPool};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use groundwork_knowledge::sync::DeleteGuard;

use super::data::{DataFolder, canonical_folder};
use super::follow::Vectors;
use super::instance::{Access, Instance};
use super::lock::{Attempt, Holder, Lock, serving};
use super::remote::Remote;
use super::service::{Service, ServiceError};
use super::setup::{Setup, SetupArgs, place, refuse_data_among_documents};
use crate::cli::PlaceArgs;
use crate::output::Problem;

/// How long a short command waits for another one to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who does a writer's work.
pub(crate) enum Target {
    /// A running `up` of the same data.
    Remote(Remote),
    /// This process.
    Local(Box<Instance>, Box<Setup>),
}

/// Opens the documents that a question is about: through a running `up` where there is one.
pub(crate) async fn open_for_reading(args: &PlaceArgs, command: &str) -> anyhow::Result<Arc<dyn Service>> {
    if let Some(url) = &args.url {
        return Ok(Arc::new(Remote::new(url)?));
    }
    let data = find(args)?;
    if let Some(url) = serving(&data).await.and_then(|holder| holder.url) {
        return Ok(Arc::new(Remote::new(&url)?));
    }
    let record = data.record()?;
    let lock = match Lock::wait(&data, &Holder::this_process(command, &record.folder), PATIENCE).await? {
        Attempt::Locked(lock) => lock,
        Attempt::Held(Some(Holder { url: Some(url), .. })) => return Ok(Arc::new(Remote::new(&url)?)),
        Attempt::Held(holder) => return Err(held(&data, holder.as_ref()).into()),
    };
    Ok(Arc::new(Instance::open(record.config, &record.folder, &data, Access::Read, lock).await?))
}

/// The running `up` that serves these documents, if one does.
pub(crate) async fn running(args: &PlaceArgs) -> anyhow::Result<Option<Arc<dyn Service>>> {
    if let Some(url) = &args.url {
        return Ok(Some(Arc::new(Remote::new(url)?)));
    }
    let Ok(data) = find(args) else { return Ok(None) };
    match serving(&data).await.and_then(|holder| holder.url) {
        Some(url) => Ok(Some(Arc::new(Remote::new(&url)?))),
        None => Ok(None),
    }
}

/// Ingests a folder to the end into the data folder that `args` name, and keeps it open.
pub(crate) async fn ingest_scratch(args: &SetupArgs, command: &str) -> anyhow::Result<Instance> {
    let (setup, lock, _) = claim(args, command).await?;
    let instance = open_claimed(&setup, lock).await?;
    instance.ingest(DeleteGuard::Enforced, Vectors::Made).await?;
    Ok(instance)
}

/// The data folder that a reading command means.
fn find(args: &PlaceArgs) -> Result<DataFolder, Problem> {
    if let Some(path) = &args.data_dir {
        let data = DataFolder::at(path);
        return if data.is_used() { Ok(data) } else { Err(no_index_in(path)) };
    }
    let start = canonical_folder(args.dir.as_deref().unwrap_or(Path::new(".")))?;
    DataFolder::find_from(&start)?.ok_or_else(|| nothing_for(&start))
}

fn nothing_for(folder: &Path) -> Problem {
    Problem::new(format!("nothing is ingested for {} or a folder above it", folder.display()))
        .fix("run `groundwork ingest DIR` once or `groundwork up DIR`, or name the folder with `--dir DIR`")
}

/// A data folder that was named is the only place that is looked at.
fn no_index_in(data: &Path) -> Problem {
    let path = data.display();
    Problem::new(format!("nothing is ingested into the data folder {path}")).fix(format!(
        "run `groundwork ingest DIR --data-dir {path}` once, or leave out `--data-dir` and GROUNDWORK_DATA_DIR to mean the \
         folder you are in"
    ))
}

/// Opens a folder to bring it up to date: through a running `up` where there is one.
pub(crate) async fn open_for_writing(args: &SetupArgs, command: &str) -> anyhow::Result<Target> {
    let (folder, data) = place(args)?;
    data.refuse_other(&folder)?;
    if let Some(url) = serving(&data).await.and_then(|holder| holder.url) {
        return Ok(Target::Remote(Remote::new(&url)?));
    }
    refuse_data_among_documents(args, &folder, &data)?;
    data.create()?;
    let lock = match Lock::wait(&data, &Holder::this_process(command, &folder), PATIENCE).await? {
        Attempt::Locked(lock) => lock,
        Attempt::Held(Some(Holder { url: Some(url), .. })) => return Ok(Target::Remote(Remote::new(&url)?)),
        Attempt::Held(holder) => return Err(held(&data, holder.as_ref()).into()),
    };
    let setup = Setup::resolve(args, folder, data).await?;
    let instance = open_claimed(&setup, lock).await?;
    Ok(Target::Local(Box::new(instance), Box::new(setup)))
}

/// Takes a folder's lock for a process that goes on serving it. Refused where another one does.
pub(crate) async fn claim(args: &SetupArgs, command: &str) -> Result<(Setup, Lock, Holder), Problem> {
    let (folder, data) = place(args)?;
    refuse_data_among_documents(args, &folder, &data)?;
    data.create()?;
    let holder = Holder::this_process(command, &folder);
    match Lock::wait(&data, &holder, PATIENCE).await? {
        Attempt::Locked(lock) => Ok((Setup::resolve(args, folder, data).await?, lock, holder)),
        Attempt::Held(other) => Err(held(&data, other.as_ref())),
    }
}

/// Opens the instance of a claimed folder and remembers its configuration for later commands.
pub(crate) async fn open_claimed(setup: &Setup, lock: Lock) -> Result<Instance, Problem> {
    setup.data.write_record(&setup.record())?;
    let pool = extraction()?;
    Instance::open(setup.config.clone(), &setup.folder, &setup.data, Access::Write(Some(pool)), lock).await
}

/// Documents are extracted by this program itself, in processes of their own.
pub(super) fn extraction() -> Result<ExtractionPool, Problem> {
    let program =
        std::env::current_exe().map_err(|error| Problem::new("failed to find this program's file").because(error))?;
    Ok(ExtractionPool::new(ExtractionOptions::new(program)))
}

/// Another process has the data folder.
pub(super) fn held(data: &DataFolder, holder: Option<&Holder>) -> Problem {
    match holder {
        Some(Holder { pid, url: Some(url), folder, .. }) => {
            Problem::new(format!("{} is already served at {url} (process {pid})", folder.display()))
                .fix(format!("use that address, or end it with `kill {pid}`"))
        }
        Some(Holder { pid, command, folder, .. }) => {
            Problem::new(format!("`groundwork {command}` (process {pid}) is working on {}", folder.display()))
                .fix("wait until it has ended")
        }
        None => Problem::new(format!("another process is working on the data folder {}", data.path().display()))
            .fix("wait until it has ended"),
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        Self::new(error.detail.message.clone())
    }
}
