//! The handle of a sync.
//!
//! A write goes to the server first and is committed in the file afterwards, so that the file never says of a document
//! what the server has not. A process that dies in between leaves the file behind the server: what it was writing is
//! noted before ([`progress::intend`]), and the next sync writes it again.

use async_trait::async_trait;
use groundwork_config::{Contract, Embedding};
use qdrant_client::qdrant::Filter;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;

use super::collection::{Collection, DENSE, Wanted};
use super::payload::{self, Kind, StatePayload};
use super::points::new_point;
use super::{Averages, Shared, filter, progress};
use crate::analyse::Tokenise;
use crate::embed::Embedder;
use crate::identity::DocumentId;
use crate::store::state::database::{Database, Write, raise_generation};
use crate::store::state::documents::{self, Target, TextPlace};
use crate::store::state::{revisions, rows};
use crate::store::{
    Counts, DocumentFailure, DocumentWrite, EmbedProgress, FileStamp, Maintainer, ManifestEntry, StoreError,
};

/// Chunks that vanished remembered at most, the newest; as many as the file remembers.
const REMEMBERED: i64 = 100_000;
/// Documents named in one filter.
const NAMED: usize = 1000;

/// Writes one revision under one lease.
pub(super) struct QdrantMaintainer {
    pub(super) shared: Arc<Shared>,
    /// Row key.
    pub(super) key: i64,
    hash: String,
    pub(super) contract: Contract,
    pub(super) collection: Collection,
    pub(super) tokenise: Tokenise,
    token: u64,
}

impl QdrantMaintainer {
    pub(super) async fn new(shared: Arc<Shared>, hash: &str, token: u64) -> Result<Self, StoreError> {
        let (key, contract) = revisions::open(shared.state()?, hash).await?;
        let collection = shared.collection(&shared.collection_name(hash));
        let tokenise = (shared.options.analyser)(&contract.keyword);
        Ok(Self { shared, key, hash: hash.to_owned(), contract, collection, tokenise, token })
    }

    /// Makes the collection ready, clears away what a process that died left of documents that were new, and reads the
    /// manifest back where the file was lost.
    pub(super) async fn provision(&self) -> Result<(), StoreError> {
        let dimensions = (self.shared.options.dimensions)(&self.contract.embedding);
        self.collection.provision(&self.shared.options, dimensions).await?;
        let _writing = self.shared.writing.lock().await;
        let strangers = progress::strangers(self.database()?, self.key).await?;
        if !strangers.is_empty() {
            self.delete_points("clear away an unfinished write", &strangers).await?;
            let write = self.begin("clear away an unfinished write").await?;
            self.finish("clear away an unfinished write", write, &strangers).await?;
        }
        // What readers are told stays as it is until the documents that were read back are written again.
        if self.recover().await? { Ok(()) } else { self.publish().await }
    }

    pub(super) fn database(&self) -> Result<&Database, StoreError> {
        self.shared.state()
    }

    /// Begins a change of the file under the lease.
    pub(super) async fn begin(&self, action: &'static str) -> Result<Write, StoreError> {
        self.database()?.begin_leased(action, self.token).await
    }

    /// Refuses a lease that is not the newest, before anything is sent.
    pub(super) async fn check_lease(&self, action: &'static str) -> Result<(), StoreError> {
        let write = self.begin(action).await?;
        self.database()?.commit(action, write).await
    }

    async fn finish(&self, action: &'static str, mut write: Write, documents: &[DocumentId]) -> Result<(), StoreError> {
        let database = self.database()?;
        progress::finish(&mut write, self.key, documents).await.map_err(database.failed(action))?;
        database.commit(action, write).await
    }

    /// Where a document is written in the file.
    pub(super) async fn target(&self, write: &mut Write, sync_started_ns: i64) -> Result<Target, sqlx::Error> {
        let generation = raise_generation(write, self.key).await?;
        let vector_state = if self.contract.embedding == Embedding::None { rows::NEVER } else { rows::PENDING };
        Ok(Target { revision: self.key, generation, sync_started_ns, vector_state, text: TextPlace::Elsewhere })
    }

    pub(super) async fn averages(&self) -> Result<Option<Averages>, StoreError> {
        progress::averages(self.database()?, self.key).await
    }

    /// Removes all points of documents.
    async fn delete_points(&self, action: &'static str, ids: &[DocumentId]) -> Result<(), StoreError> {
        for part in ids.chunks(NAMED) {
            let named = filter::any_id("document", part.iter().map(|id| id.0));
            self.collection.delete(action, Filter::must([named])).await?;
        }
        Ok(())
    }

    /// Says of documents that are there whether a newer state failed to load.
    pub(super) async fn mark(&self, action: &'static str, ids: &[DocumentId], stale: bool) -> Result<(), StoreError> {
        for part in ids.chunks(NAMED) {
            let named = filter::any_id("document", part.iter().map(|id| id.0));
            let documents = Filter::must([filter::kind(Kind::Document), named]);
            self.collection.set(action, documents, HashMap::from([("stale".to_owned(), stale.into())])).await?;
        }
        Ok(())
    }

    /// Tells the collection what readers ask of the file: counts, the embedder, and, once the revision is the one that
    /// they read, what vanished.
    pub(super) async fn publish(&self) -> Result<(), StoreError> {
        let action = "publish the revision's state";
        let database = self.database()?;
        let failed = database.failed(action);
        let mut read = database.readers().acquire().await.map_err(&failed)?;
        let counts = rows::counts(&mut read, self.key).await.map_err(&failed)?;
        let embedder = rows::embedder(&mut read, self.key).await.map_err(&failed)?.map(|(_, embedder)| embedder);
        let probes = match &embedder {
            Some(embedder) => rows::probes(&mut *read, &embedder.identity).await.map_err(&failed)?,
            None => None,
        };
        drop(read);
        let state = StatePayload { kind: Kind::State, counts, embedder, probes: probes.map(|probes| probes.0) };
        let mut points = vec![new_point(payload::state_point(), HashMap::new(), &state, 0)];
        let vanished = match revisions::active(database).await? {
            Some(active) if active == self.hash => progress::vanished(database, self.key).await?,
            _ => Vec::new(),
        };
        let newest = vanished.last().map(|(_, gone)| gone.sequence);
        points.extend(
            vanished.iter().map(|(chunk, gone)| new_point(payload::gone_point(*chunk), HashMap::new(), gone, 0)),
        );
        self.collection.upsert(action, points).await?;
        match newest {
            Some(newest) => self.forget(action, newest).await,
            None => Ok(()),
        }
    }

    async fn forget(&self, action: &'static str, newest: i64) -> Result<(), StoreError> {
        if newest > REMEMBERED {
            let old = filter::up_to("sequence", newest - REMEMBERED);
            self.collection.delete(action, Filter::must([filter::kind(Kind::Gone), old])).await?;
        }
        progress::told(self.database()?, self.key, newest).await
    }
}

#[async_trait]
impl Maintainer for QdrantMaintainer {
    fn revision(&self) -> String {
        self.hash.clone()
    }

    async fn is_active(&self) -> Result<bool, StoreError> {
        Ok(revisions::active(self.database()?).await?.is_some_and(|active| active == self.hash))
    }

    async fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        let database = self.database()?;
        documents::manifest(database.readers(), self.key).await.map_err(database.failed("list the known documents"))
    }

    async fn write_documents(&self, sync_started_ns: i64, documents: Vec<DocumentWrite>) -> Result<(), StoreError> {
        self.write(sync_started_ns, documents).await
    }

    async fn touch_documents(
        &self,
        sync_started_ns: i64,
        stamps: Vec<(DocumentId, FileStamp)>,
    ) -> Result<(), StoreError> {
        let action = "record file stamps";
        let database = self.database()?;
        let mut write = self.begin(action).await?;
        documents::touch(&mut write, self.key, sync_started_ns, &stamps).await.map_err(database.failed(action))?;
        fail::fail_point!("store::touch_documents::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::touch_documents::after");
        Ok(())
    }

    async fn record_failures(&self, sync_started_ns: i64, failures: Vec<DocumentFailure>) -> Result<(), StoreError> {
        let action = "record failures";
        let database = self.database()?;
        let _writing = self.shared.writing.lock().await;
        self.check_lease(action).await?;
        let ids: Vec<_> = failures.iter().map(|failure| failure.id).collect();
        self.mark(action, &ids, true).await?;
        let mut write = self.begin(action).await?;
        let target = self.target(&mut write, sync_started_ns).await.map_err(database.failed(action))?;
        for failure in &failures {
            documents::record_failure(&mut write, target, failure).await.map_err(database.failed(action))?;
        }
        fail::fail_point!("store::record_failures::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::record_failures::after");
        self.publish().await
    }

    async fn delete_documents(&self, ids: &[DocumentId]) -> Result<u64, StoreError> {
        let action = "delete documents";
        let database = self.database()?;
        let _writing = self.shared.writing.lock().await;
        self.check_lease(action).await?;
        self.delete_points(action, ids).await?;
        fail::fail_point!("store::delete_points::after");
        let mut write = self.begin(action).await?;
        let generation = raise_generation(&mut write, self.key).await.map_err(database.failed(action))?;
        let mut count = 0;
        for &id in ids {
            let gone = documents::delete_document(&mut write, (self.key, generation), id).await;
            count += u64::from(gone.map_err(database.failed(action))?);
        }
        fail::fail_point!("store::delete_documents::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::delete_documents::after");
        self.publish().await?;
        Ok(count)
    }

    async fn embed_pending(&self, embedder: &dyn Embedder, limit: usize) -> Result<EmbedProgress, StoreError> {
        self.embed(embedder, limit).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        // Every write waits until the server has applied it.
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let failed = self.database()?.failed("count documents");
        let mut read = self.database()?.readers().acquire().await.map_err(&failed)?;
        rows::counts(&mut read, self.key).await.map_err(&failed)
    }

    async fn record_report(&self, report: serde_json::Value) -> Result<(), StoreError> {
        let action = "store the report";
        let database = self.database()?;
        let mut write = self.begin(action).await?;
        revisions::record_report(&mut write, self.key, &report).await.map_err(database.failed(action))?;
        fail::fail_point!("store::record_report::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::record_report::after");
        Ok(())
    }

    async fn activate(&self) -> Result<(), StoreError> {
        let action = "activate the revision";
        let database = self.database()?;
        let _writing = self.shared.writing.lock().await;
        self.check_lease(action).await?;
        let known = self.averages().await?;
        let averages = match known {
            Some(_) => None,
            None => self.weigh_all().await?,
        };
        let mut write = self.begin(action).await?;
        if let Some(averages) = averages {
            progress::freeze(&mut write, self.key, averages).await.map_err(database.failed(action))?;
        }
        revisions::activate(&mut write, self.key).await.map_err(database.failed(action))?;
        fail::fail_point!("store::activate::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::activate::after");
        self.publish().await?;
        let descriptor = self.shared.descriptor(&self.hash).await?;
        self.shared.set_active(descriptor);
        Ok(())
    }

    /// The manifest of the file and every point of a document. The write that a point is of is left out.
    async fn digest(&self) -> Result<String, StoreError> {
        let action = "compute the digest";
        let mut hash = Sha256::new();
        for entry in self.manifest().await? {
            let line = (entry.id, &entry.source, &entry.path, entry.content.to_string(), entry.version, &entry.failure);
            hash.update(rows::json(&line));
        }
        let kinds = [Kind::Chunk, Kind::Parent, Kind::Document].map(|kind| kind.name().to_owned());
        let documents = Filter::must([filter::any("kind", kinds)]);
        for mut point in self.collection.scroll(action, &documents, Wanted::All).await? {
            point.payload.remove("write");
            let mut fields = serde_json::Value::from(qdrant_client::Payload::from(point.payload));
            fields.sort_all_objects();
            hash.update(rows::json(&(payload::uuid(point.id), fields)));
            for value in payload::dense(point.vectors.as_ref(), DENSE) {
                hash.update(((value * 1e5).round() as i32).to_le_bytes());
            }
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
