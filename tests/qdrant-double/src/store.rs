//! Collections by name, each a folder of the engine.

use qdrant_edge::{EdgeConfig, EdgeShard, OperationError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use tonic::Status;

type Shard = Arc<Mutex<EdgeShard>>;

/// All collections. One call at a time works on a collection: the engine cannot flush beside an update.
pub struct Store {
    folder: PathBuf,
    collections: Mutex<BTreeMap<String, Shard>>,
}

impl Store {
    /// Opens what an earlier double left in the folder.
    pub fn open(folder: PathBuf) -> Result<Self, Box<dyn std::error::Error>> {
        std::fs::create_dir_all(&folder)?;
        let mut collections = BTreeMap::new();
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).ok_or("a name is not UTF-8")?;
            let shard = EdgeShard::load(&path, None).map_err(|error| error.to_string())?;
            collections.insert(name.to_owned(), Arc::new(Mutex::new(shard)));
        }
        Ok(Self { folder, collections: Mutex::new(collections) })
    }

    /// Makes everything durable.
    pub fn flush(&self) {
        for shard in lock(&self.collections).values() {
            lock(shard).flush();
        }
    }

    pub fn names(&self) -> Vec<String> {
        lock(&self.collections).keys().cloned().collect()
    }

    pub fn contains(&self, name: &str) -> bool {
        lock(&self.collections).contains_key(name)
    }

    pub fn create(&self, name: &str, config: EdgeConfig) -> Result<(), Status> {
        if !Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_))) {
            return Err(Status::invalid_argument(format!("{name} is no name of a collection")));
        }
        let mut collections = lock(&self.collections);
        if collections.contains_key(name) {
            return Err(Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")));
        }
        let path = self.folder.join(name);
        std::fs::create_dir_all(&path).map_err(|error| Status::internal(error.to_string()))?;
        let shard = EdgeShard::new(&path, config).map_err(|error| status(&error))?;
        collections.insert(name.to_owned(), Arc::new(Mutex::new(shard)));
        Ok(())
    }

    pub fn drop_collection(&self, name: &str) -> Result<bool, Status> {
        let removed = lock(&self.collections).remove(name);
        let existed = removed.is_some();
        drop(removed);
        if existed {
            std::fs::remove_dir_all(self.folder.join(name)).map_err(|error| Status::internal(error.to_string()))?;
        }
        Ok(existed)
    }

    /// Runs `work` on a collection beside the runtime's threads.
    pub async fn on<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&EdgeShard) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let shard = lock(&self.collections).get(name).cloned();
        let shard = shard.ok_or_else(|| Status::not_found(format!("Not found: Collection `{name}` doesn't exist!")))?;
        let run = move || work(&lock(&shard));
        tokio::task::spawn_blocking(run).await.map_err(|error| Status::internal(error.to_string()))?
    }
}

/// A panic in one call is that call's failure.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The engine's error as the server would report it.
pub fn status(error: &OperationError) -> Status {
    match error {
        OperationError::PointIdError { .. } => Status::not_found(error.to_string()),
        OperationError::ServiceError { .. } => Status::internal(error.to_string()),
        _ => Status::invalid_argument(error.to_string()),
    }
}
