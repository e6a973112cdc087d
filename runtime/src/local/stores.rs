//! Which store a knowledge base is kept in.

use groundwork_config::{KnowledgeBase, Qdrant, Revision, Store};
use groundwork_knowledge::store::KnowledgeStore;
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
use std::path::Path;
use std::sync::Arc;

use super::tools::Tools;
use crate::output::Problem;

/// An open store.
pub(super) enum OpenStore {
    Embedded(Arc<EmbeddedStore>),
    #[cfg(feature = "qdrant")]
    Qdrant(Arc<groundwork_knowledge::store::qdrant::QdrantStore>),
}

impl OpenStore {
    /// Opens the store that the configuration names; what this process alone needs of it lies in the folder `state`.
    pub(super) async fn open(config: &KnowledgeBase, state: &Path, tools: &Arc<Tools>) -> Result<Self, Problem> {
        match &config.store {
            Store::Embedded => open_embedded(&config.name, state, tools).await,
            Store::Qdrant(server) => open_qdrant(config, server, state).await,
        }
    }

    /// Opens one revision in a server, for reading.
    pub(super) async fn pinned(config: &KnowledgeBase, revision: &Revision) -> Result<Self, Problem> {
        match &config.store {
            Store::Embedded => Err(Problem::new(format!(
                "{} is kept in a file, which one process alone opens: a pod reads knowledge bases in Qdrant \
                 (spec.vectorStore)",
                config.name
            ))),
            Store::Qdrant(server) => pin_qdrant(config, server, revision).await,
        }
    }

    pub(super) fn get(&self) -> Arc<dyn KnowledgeStore> {
        match self {
            Self::Embedded(store) => Arc::clone(store) as _,
            #[cfg(feature = "qdrant")]
            Self::Qdrant(store) => Arc::clone(store) as _,
        }
    }

    /// Closes its files. Calls that come later fail.
    pub(super) async fn close(&self) {
        match self {
            Self::Embedded(store) => store.close().await,
            #[cfg(feature = "qdrant")]
            Self::Qdrant(store) => store.close().await,
        }
    }
}

async fn open_embedded(name: &str, path: &Path, tools: &Arc<Tools>) -> Result<OpenStore, Problem> {
    let analysers = Arc::clone(tools);
    let options = EmbeddedOptions { analyser: Arc::new(move |keyword| analysers.tokenise(keyword)) };
    let store = EmbeddedStore::open(path, options).await.map_err(|error| {
        Problem::new(format!("failed to open the index of {name} in {}", path.display())).because(error)
    })?;
    Ok(OpenStore::Embedded(Arc::new(store)))
}

#[cfg(not(feature = "qdrant"))]
async fn open_qdrant(config: &KnowledgeBase, _: &Qdrant, _: &Path) -> Result<OpenStore, Problem> {
    Err(no_client(config))
}

#[cfg(not(feature = "qdrant"))]
async fn pin_qdrant(config: &KnowledgeBase, _: &Qdrant, _: &Revision) -> Result<OpenStore, Problem> {
    Err(no_client(config))
}

#[cfg(not(feature = "qdrant"))]
fn no_client(config: &KnowledgeBase) -> Problem {
    Problem::new(format!(
        "{} is kept in Qdrant (spec.vectorStore), and this build has no client of it: build with --features qdrant, or \
         remove vectorStore to keep it in a file",
        config.name
    ))
}

#[cfg(feature = "qdrant")]
async fn open_qdrant(config: &KnowledgeBase, server: &Qdrant, state: &Path) -> Result<OpenStore, Problem> {
    use groundwork_knowledge::store::qdrant::QdrantStore;
    let store = QdrantStore::open(options(config, server).await?, state).await;
    let store = store.map_err(|error| Problem::new(failed(config, server)).because(error))?;
    Ok(OpenStore::Qdrant(Arc::new(store)))
}

#[cfg(feature = "qdrant")]
async fn pin_qdrant(config: &KnowledgeBase, server: &Qdrant, revision: &Revision) -> Result<OpenStore, Problem> {
    use groundwork_knowledge::store::qdrant::QdrantStore;
    let store = QdrantStore::pinned(options(config, server).await?, revision.clone());
    let store = store.map_err(|error| Problem::new(failed(config, server)).because(error))?;
    Ok(OpenStore::Qdrant(Arc::new(store)))
}

/// How the server is reached, with its key, and how new collections are laid out.
#[cfg(feature = "qdrant")]
pub(super) async fn options(
    config: &KnowledgeBase,
    server: &Qdrant,
) -> Result<groundwork_knowledge::store::qdrant::QdrantOptions, Problem> {
    use groundwork_knowledge::store::qdrant::{Graph, QdrantOptions};
    let api_key = match &server.api_key_file {
        Some(file) => Some(key(file).await.map_err(|problem| Problem::new(failed(config, server)).because(problem))?),
        None => None,
    };
    Ok(QdrantOptions {
        api_key,
        graph: Graph { m: server.hnsw_m, ef_construct: server.hnsw_ef_construct },
        shards: server.shards,
        replicas: server.replicas,
        ..QdrantOptions::new(&server.url, config.data_id)
    })
}

/// The key in a file.
#[cfg(feature = "qdrant")]
pub(super) async fn key(file: &Path) -> Result<String, Problem> {
    let read = tokio::fs::read_to_string(file).await;
    let key =
        read.map_err(|error| Problem::new(format!("failed to read the key in {}", file.display())).because(error))?;
    Ok(key.trim().to_owned())
}

#[cfg(feature = "qdrant")]
pub(super) fn failed(config: &KnowledgeBase, server: &Qdrant) -> String {
    format!("failed to open the store of {} at {}", config.name, server.url)
}
