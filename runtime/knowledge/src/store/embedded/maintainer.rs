//! The handle of a sync.

use async_trait::async_trait;
use groundwork_config::Embedding;
use std::sync::Arc;

use super::Shared;
use super::derived::blocking;
use super::revision::Revision;
use super::{digest, vectors};
use crate::embed::Embedder;
use crate::identity::DocumentId;
use crate::store::state::database::{Write, raise_generation};
use crate::store::state::documents::{self, Target, TextPlace};
use crate::store::state::{self, revisions, rows};
use crate::store::{
    Counts, DocumentFailure, DocumentWrite, EmbedProgress, FileStamp, Maintainer, ManifestEntry, StoreError,
};

/// Writes one revision under one lease.
pub(super) struct EmbeddedMaintainer {
    shared: Arc<Shared>,
    revision: Arc<Revision>,
    token: u64,
}

impl EmbeddedMaintainer {
    pub(super) fn new(shared: Arc<Shared>, revision: Arc<Revision>, token: u64) -> Self {
        Self { shared, revision, token }
    }

    /// Begins a write that raises the generation.
    async fn begin(&self, action: &'static str) -> Result<(Write, i64), StoreError> {
        let database = &self.shared.database;
        let mut write = database.begin_leased(action, self.token).await?;
        let generation = raise_generation(&mut write, self.revision.key).await.map_err(database.failed(action))?;
        Ok((write, generation))
    }

    async fn commit(&self, action: &'static str, write: Write, generation: i64) -> Result<(), StoreError> {
        self.shared.database.commit(action, write).await?;
        self.revision.committed(generation);
        Ok(())
    }

    fn target(&self, generation: i64, sync_started_ns: i64) -> Target {
        let vector_state =
            if self.revision.contract.embedding == Embedding::None { rows::NEVER } else { rows::PENDING };
        Target { revision: self.revision.key, generation, sync_started_ns, vector_state, text: TextPlace::Here }
    }
}

#[async_trait]
impl Maintainer for EmbeddedMaintainer {
    fn revision(&self) -> String {
        self.revision.hash.clone()
    }

    async fn is_active(&self) -> Result<bool, StoreError> {
        Ok(self.shared.active().is_some_and(|active| active.key == self.revision.key))
    }

    async fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        let database = &self.shared.database;
        documents::manifest(database.readers(), self.revision.key)
            .await
            .map_err(database.failed("list the known documents"))
    }

    async fn write_documents(&self, sync_started_ns: i64, documents: Vec<DocumentWrite>) -> Result<(), StoreError> {
        let action = "write documents";
        let prepare = || documents.into_iter().map(documents::prepare).collect::<Result<Vec<_>, _>>();
        let prepared = blocking(prepare).await?;
        let (mut write, generation) = self.begin(action).await?;
        let target = self.target(generation, sync_started_ns);
        for document in &prepared {
            documents::write_document(&mut write, target, document)
                .await
                .map_err(self.shared.database.failed(action))?;
        }
        fail::fail_point!("store::write_documents::before");
        self.commit(action, write, generation).await?;
        fail::fail_point!("store::write_documents::after");
        Ok(())
    }

    async fn touch_documents(
        &self,
        sync_started_ns: i64,
        stamps: Vec<(DocumentId, FileStamp)>,
    ) -> Result<(), StoreError> {
        let action = "record file stamps";
        let database = &self.shared.database;
        let mut write = database.begin_leased(action, self.token).await?;
        documents::touch(&mut write, self.revision.key, sync_started_ns, &stamps)
            .await
            .map_err(database.failed(action))?;
        fail::fail_point!("store::touch_documents::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::touch_documents::after");
        Ok(())
    }

    async fn record_failures(&self, sync_started_ns: i64, failures: Vec<DocumentFailure>) -> Result<(), StoreError> {
        let action = "record failures";
        let (mut write, generation) = self.begin(action).await?;
        let target = self.target(generation, sync_started_ns);
        for failure in &failures {
            documents::record_failure(&mut write, target, failure)
                .await
                .map_err(self.shared.database.failed(action))?;
        }
        fail::fail_point!("store::record_failures::before");
        self.commit(action, write, generation).await?;
        fail::fail_point!("store::record_failures::after");
        Ok(())
    }

    async fn delete_documents(&self, ids: &[DocumentId]) -> Result<u64, StoreError> {
        let action = "delete documents";
        let (mut write, generation) = self.begin(action).await?;
        let mut count = 0;
        for &id in ids {
            let gone = documents::delete_document(&mut write, (self.revision.key, generation), id)
                .await
                .map_err(self.shared.database.failed(action))?;
            count += u64::from(gone);
        }
        fail::fail_point!("store::delete_documents::before");
        self.commit(action, write, generation).await?;
        fail::fail_point!("store::delete_documents::after");
        Ok(count)
    }

    async fn embed_pending(&self, embedder: &dyn Embedder, limit: usize) -> Result<EmbedProgress, StoreError> {
        let action = "write vectors";
        let database = &self.shared.database;
        self.adopt(embedder).await?;
        let batch = vectors::gather(database, self.revision.key, embedder, limit).await?;
        let progress = batch.progress();
        if progress != EmbedProgress::default() {
            let (mut write, generation) = self.begin(action).await?;
            vectors::store(&mut write, generation, &batch).await.map_err(database.failed(action))?;
            fail::fail_point!("store::write_vectors::before");
            self.commit(action, write, generation).await?;
            fail::fail_point!("store::write_vectors::after");
        }
        let remaining = state::vectors::pending(database, self.revision.key).await?;
        Ok(EmbedProgress { remaining, ..progress })
    }

    async fn flush(&self) -> Result<(), StoreError> {
        self.revision.save(&self.shared).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let failed = self.shared.database.failed("count documents");
        let mut read = self.shared.database.readers().acquire().await.map_err(&failed)?;
        rows::counts(&mut read, self.revision.key).await.map_err(&failed)
    }

    async fn record_report(&self, report: serde_json::Value) -> Result<(), StoreError> {
        let action = "store the report";
        let database = &self.shared.database;
        let mut write = database.begin_leased(action, self.token).await?;
        revisions::record_report(&mut write, self.revision.key, &report).await.map_err(database.failed(action))?;
        fail::fail_point!("store::record_report::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::record_report::after");
        Ok(())
    }

    async fn activate(&self) -> Result<(), StoreError> {
        let action = "activate the revision";
        let database = &self.shared.database;
        self.revision.fresh(&self.shared).await?;
        let mut write = database.begin_leased(action, self.token).await?;
        revisions::activate(&mut write, self.revision.key).await.map_err(database.failed(action))?;
        fail::fail_point!("store::activate::before");
        database.commit(action, write).await?;
        fail::fail_point!("store::activate::after");
        self.shared.set_active(Arc::clone(&self.revision));
        Ok(())
    }

    async fn digest(&self) -> Result<String, StoreError> {
        let failed = self.shared.database.failed("compute the digest");
        let mut read = self.shared.database.readers().begin().await.map_err(&failed)?;
        digest::digest(&mut read, self.revision.key).await.map_err(&failed)
    }
}

impl EmbeddedMaintainer {
    /// Makes `embedder` the one of this revision; where another was, all its vectors are pending again.
    async fn adopt(&self, embedder: &dyn Embedder) -> Result<(), StoreError> {
        let action = "set the embedder";
        let database = &self.shared.database;
        let failed = database.failed(action);
        let profile = embedder.profile();
        let mut read = database.readers().acquire().await.map_err(&failed)?;
        let known = rows::embedder(&mut read, self.revision.key).await.map_err(&failed)?;
        if known.is_some_and(|(_, known)| known.identity == profile.identity) {
            return Ok(());
        }
        let (mut write, generation) = self.begin(action).await?;
        state::vectors::adopt(&mut write, self.revision.key, &profile.identity, profile.dimensions)
            .await
            .map_err(&failed)?;
        fail::fail_point!("store::set_embedder::before");
        self.commit(action, write, generation).await?;
        fail::fail_point!("store::set_embedder::after");
        Ok(())
    }
}
